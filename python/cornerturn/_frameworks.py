"""Arrays that the C++ module does not handle itself: finds their framework and memory, and allocates results.

A description of memory is a DLPack capsule, the dict of a __cuda_array_interface__, or a tuple (pointer, shape, strides in
bytes, bytes of an element, is it on CUDA). The C++ module checks each of them: see memory.hpp.
"""
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import _kind

_HOST, _CUDA, _CUDA_MANAGED = 1, 2, 13  # device types of DLPack
_LEGACY_STREAM = 1  # the default stream in CUDA and DLPack


def _is(x: object, framework: str, name: str) -> bool:
    """Return whether `x` is an instance of the class. A framework that is not imported has no instances.

    An object whose ``__class__`` only says so is none: its memory would be read as if it were one.
    """
    module = sys.modules.get(framework)
    kind = getattr(module, name, None)
    return isinstance(kind, type) and type.__subclasscheck__(kind, type(x))


def _is_jax(x: object) -> bool:
    """Return whether `x` is an array of JAX, whose own ``isinstance`` also knows its tracers."""
    kind = getattr(sys.modules.get("jax"), "Array", None)
    return isinstance(kind, type) and isinstance(x, kind)


# Arrays whose elements are not in memory: an access reads a file or computes them, so the caller shall write it.
_ELSEWHERE = {"dask": "x.compute(), or cornerturn.dask.permute_dims, which computes nothing yet", "h5py": "x[:], which reads the file",
              "netCDF4": "x[:], which reads the file", "tables": "x[:], which reads the file",
              "tensorstore": "x.read().result()", "zarr": "x[:], which reads the chunks"}


def _wanted(x: object, wanted: str) -> str:
    """Return what the caller of a refused `x` can pass instead, for the end of a sentence."""
    module = type(x).__module__.partition(".")[0]
    if module in _ELSEWHERE:
        return _ELSEWHERE[module]
    if module == "xarray":
        return "x.values" if hasattr(x, "ndim") else "the values of one of its arrays"
    reads_as_numpy = hasattr(type(x), "__array__") and not hasattr(x, "__dlpack__") and module != "numpy"
    return "numpy.asarray(x)" if reads_as_numpy else wanted


def from_array(x: Any) -> Any:
    """Return the NumPy array of an object that has `__array__` and no other way to its memory; else `x`.

    xarray reads and keeps the elements of a file. It computes elements of dask again in each call, so the caller shall write that.
    """
    kind = type(x)
    if (not hasattr(kind, "__array__") or hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__") or _is_jax(x)
            or any(_is(x, *known) for known in (("numpy", "ndarray"), ("torch", "Tensor"), ("cupy", "ndarray")))):
        return x
    module = kind.__module__.partition(".")[0]
    if module in _ELSEWHERE or (module == "xarray" and getattr(x, "chunks", None)):
        raise TypeError(f"x is a {_kind(x)}, whose elements are not in memory. Wanted: {_wanted(x, '')}")
    import numpy
    return numpy.asarray(x)


def _check_cuda_stream(stream: object, x: Any, kind: str, on_cuda: bool) -> None:
    if stream is not None and not on_cuda:
        raise TypeError(f"stream is given, but x is a {kind}, which is in host memory. Wanted: no stream")


def permute(x: Any, axes: tuple[int, ...], out: Any, stream: object, plan: _core.plan | None, threads: int) -> Any:
    """`permute_dims` for all arrays except NumPy arrays and plain tensors."""
    if _is(x, "torch", "Tensor"):
        from . import torch as with_torch
        return with_torch._permute(x, axes, out, stream, plan, threads)
    if _is_jax(x):
        from . import jax as with_jax
        _refuse_for_jax(out=out, stream=stream, threads=threads or None)
        if plan is not None:
            _core._check_plan(plan, with_jax._memory(x))
        return with_jax.permute_dims(x, axes)
    if _is(x, "cupy", "ndarray"):
        return _permute_cupy(x, axes, out, stream, plan)
    if (array := from_array(x)) is not x:
        how = {"out": out, "stream": stream}
        return _core.permute_dims(array, axes, **how, threads=threads) if plan is None else plan(array, **how)
    return _permute_other(x, axes, out, stream, plan, threads)


def _refuse_for_jax(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise TypeError(f"{name} is given, but x is a JAX array: JAX arrays are immutable, and XLA orders and compiles "
                            f"the work. Wanted: no {name}")


def check_plan(x: Any, out: Any, threads: int, kernel: object) -> None:
    """Refuse the arguments of a plan that no call of it could obey."""
    if _is_jax(x):
        _refuse_for_jax(out=out, threads=threads or None, kernel=kernel)
    elif _is_jax(out):
        raise TypeError(f"out is a JAX array, which is immutable. Wanted: a mutable array, as x, which is a {_kind(x)}")


def transpose_inplace_(x: Any, stream: object, threads: int) -> Any:
    """`transpose_inplace_` for all arrays except NumPy arrays and plain tensors."""
    if _is(x, "torch", "Tensor"):
        from . import torch as with_torch
        return with_torch._transpose_inplace(x, stream, threads)
    if _is(x, "cupy", "ndarray"):
        import cupy
        with x.device:
            current = cupy.cuda.get_current_stream().ptr if stream is None else stream
            return _core._transpose_memory(x, _memory_of_cupy(x), current)
    if _is_jax(x):
        raise TypeError("x is a JAX array, which is immutable. Wanted: cornerturn.matrix_transpose")
    raise TypeError(f"x is a {_kind(x)}. Wanted: {_wanted(x, 'a mutable array of NumPy, PyTorch or CuPy')}")


def describe(x: Any) -> object:
    """Describe the memory of `x`, without access to it and without synchronization."""
    if _is(x, "torch", "Tensor"):
        from . import torch as with_torch
        return with_torch._memory(x)
    if _is(x, "cupy", "ndarray"):
        return _memory_of_cupy(x)
    if _is_jax(x):
        from . import jax as with_jax
        return with_jax._memory(x)
    return _borrow(x, None)[0]


def restored_plan(*state: Any) -> _core.plan:
    """Make the plan that pickle or copy describes."""
    return _core._restored_plan(*state)


def _check_out(x: Any, out: Any, kind: str) -> None:
    if not _is(out, *kind.split(".")):
        raise TypeError(f"out is a {_kind(out)}, but x is a {kind}. Wanted: a {kind}")
    for name in ("dtype", "device"):
        if getattr(out, name, None) != getattr(x, name, None):  # NumPy 1 has no device
            raise ValueError(f"out has {name} {getattr(out, name)}, but x has {getattr(x, name)}. Wanted: equal")


# ---- classes that derive from numpy.ndarray ----

# The methods by which a class gives a meaning to its numbers, such as a unit, and by which NumPy keeps this meaning.
_MEANING = {"__array_finalize__", "__array_wrap__", "__array_ufunc__", "__array_function__"}


def _has_meaning(x: object, own: bool = False) -> bool:
    """Return whether the class of `x` has such a method; `own`: also a class of NumPy itself, such as numpy.matrix."""
    import numpy
    for one in type(x).__mro__:
        if one is numpy.ndarray:
            return False
        if not _MEANING.isdisjoint(vars(one)) and (own or one.__module__.partition(".")[0] != "numpy"):
            return True
    return False


def check_meaning(x: Any, name_and_work: tuple[str, str]) -> None:
    """Refuse an array whose numbers have a meaning, for work that reads and writes numbers alone."""
    if _has_meaning(x):
        name, work = name_and_work
        raise TypeError(f"{name} is a {_kind(x)}, whose class gives a meaning to its numbers, such as a unit. {work} would "
                        f"ignore it. Wanted: {name}.view(numpy.ndarray)")


def transposed_view(x: Any, axes: tuple[int, ...]) -> Any:
    """Return numpy.transpose of `x`, whose class a result gets, or None if the class has no meaning."""
    if not _has_meaning(x, own=True):
        return None
    import numpy
    view = numpy.transpose(x, axes)
    shape = numpy.ndarray.shape.__get__
    if not _is(view, "numpy", "ndarray") or shape(view) != tuple(shape(x)[k] for k in axes):
        raise TypeError(f"x is a {_kind(x)}, of which numpy.transpose makes no array with its axes permuted. Wanted: "
                        "x.view(numpy.ndarray)")
    return view


def dressed(made: Any, view: Any) -> Any:
    """Return the new ndarray `made` as an array of the class of `view`, with its meaning."""
    return made if view is None or not _has_meaning(view, own=True) else view.__array_wrap__(made)


# ---- CuPy ----

def _memory_of_cupy(x: Any) -> object:
    import cupy

    def field(name: str) -> Any:  # of cupy.ndarray itself: a derived class may replace the attribute
        own = getattr(cupy.ndarray, name, None)
        return getattr(x, name) if own is None else own.__get__(x)

    return field("data").ptr, field("shape"), field("strides"), field("itemsize"), True


def _permute_cupy(x: Any, axes: tuple[int, ...], out: Any, stream: object, plan: _core.plan | None) -> Any:
    import cupy
    if stream is not None:  # CuPy's memory pool needs the stream that uses the allocation
        with x.device, cupy.cuda.ExternalStream(_core._stream_handle(stream)):
            return _permute_cupy(x, axes, out, None, plan)
    with x.device:
        if out is None:
            made = cupy.empty(tuple(x.shape[k] for k in axes), x.dtype)
        else:
            _check_out(x, out, "cupy.ndarray")
            made = out
        current = cupy.cuda.get_current_stream().ptr
        _core._move_memory(_memory_of_cupy(x), _memory_of_cupy(made), axes, current, plan)
        return made


# ---- all other arrays ----

def _borrow(x: Any, stream: int | None) -> tuple[object, int | None]:
    """Return the memory of `x` and the stream on which it is ready. `stream` is the stream that will use it."""
    interface = getattr(x, "__cuda_array_interface__", None)
    if interface is not None:
        if not isinstance(interface, dict):
            raise TypeError(f"__cuda_array_interface__ of a {_kind(x)} is a {_kind(interface)}. Wanted: a dict")
        return interface, interface.get("stream")
    # Looked up in the class: an object that passes on all attributes of an array, as Pint's quantities do, is another thing.
    if not hasattr(type(x), "__dlpack__") or not hasattr(type(x), "__dlpack_device__"):
        instead = _wanted(x, "an array of NumPy, PyTorch, CuPy or JAX, or an object with __cuda_array_interface__ or __dlpack__")
        raise TypeError(f"x is a {_kind(x)}. Wanted: {instead}")
    wanted: dict[str, Any] = {"stream": stream or _LEGACY_STREAM} if _is_on_cuda(x) else {}
    try:
        found = x.__dlpack__(**wanted, max_version=(1, 1))
    except TypeError:  # its __dlpack__ has no parameter max_version
        found = x.__dlpack__(**wanted)
    if type(found).__name__ != "PyCapsule":  # else the C++ module would describe it in its own way
        raise TypeError(f"__dlpack__ of a {_kind(x)} returned a {_kind(found)}. Wanted: a capsule of a tensor")
    return found, wanted.get("stream")


def _is_on_cuda(x: Any) -> bool:
    device = x.__dlpack_device__()
    if not isinstance(device, tuple) or len(device) != 2:
        raise TypeError(f"__dlpack_device__ of a {_kind(x)} returned a {_kind(device)}. Wanted: a tuple of two integers")
    return device[0] in (_CUDA, _CUDA_MANAGED)


def _empty(x: Any, shape: tuple[int, ...]) -> Any:
    if not hasattr(x, "__array_namespace__"):
        raise TypeError(f"x is a {_kind(x)}, whose framework lacks __array_namespace__. Wanted: an out")
    return x.__array_namespace__().empty(shape, dtype=x.dtype, device=x.device)


def _permute_other(x: Any, axes: tuple[int, ...], out: Any, stream: object, plan: _core.plan | None,
                   threads: int) -> Any:
    on_cuda = hasattr(x, "__cuda_array_interface__") or (hasattr(x, "__dlpack_device__") and _is_on_cuda(x))
    _check_cuda_stream(stream, x, _kind(x), on_cuda)
    handle = None if stream is None else _core._stream_handle(stream)
    source, its_stream = _borrow(x, handle)
    made = _empty(x, tuple(x.shape[k] for k in axes)) if out is None else out
    target, _ = _borrow(made, its_stream if handle is None else handle)
    _core._move_memory(source, target, axes, its_stream if handle is None else handle, plan, threads)
    return made
