"""Calls with arithmetic or a conversion: finds the element types, allocates the result, and orders the work.

A call of NumPy or of PyTorch on the CPU whose arguments are all usual does not come here: numpy.cpp and torch.cpp execute it.
They reject each call that may be wrong, so all errors in the arguments of arithmetic are raised here.

`_Framework` is the part that differs: one subclass for each framework whose arrays the calls accept.
"""
from __future__ import annotations

import contextlib
import numbers
from collections.abc import Hashable
from typing import Any

from . import _core
from ._core import _kind
from ._frameworks import _check_cuda_stream, _is, _is_jax, _memory_of_cupy, check_meaning, dressed, from_array, transposed_view

_TYPES = _core._element_types()
_FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
_known: dict[Hashable, str] = {}  # the results of _Framework.type_name


class _Framework:
    """NumPy's arrays."""

    name = "numpy.ndarray"
    on_cuda = False

    def __init__(self, x: Any) -> None:
        self.x = x

    def ready(self) -> Any:
        """Return `x` for arithmetic, after checks."""
        return self.check(self.x, "x")

    def is_one(self, other: object) -> bool:
        return _is(other, *self.name.split("."))

    def dtype(self, wanted: Any) -> Any:
        import numpy
        try:
            return numpy.dtype(wanted)
        except TypeError:
            raise TypeError(f"dtype is {_core._shown(wanted)}. Wanted: a dtype of NumPy") from None

    def name_of(self, dtype: Any) -> str:
        if not dtype.isnative:
            raise TypeError(f"the element type is {dtype.str}, in the byte order of another machine. Wanted: the byte "
                            "order of this machine, for arithmetic")
        return str(dtype.name)

    def type_name(self, dtype: Any) -> str:
        """Return the name of a type that has arithmetic or conversions."""
        found = _known.get(dtype)
        if found is None:
            found = self.name_of(dtype)
            if found not in _TYPES:
                raise TypeError(f"the element type is {dtype}, which has no arithmetic and no conversions. Wanted: one of "
                                + ", ".join(_TYPES))
            _known[dtype] = found
        return found

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        import numpy
        return numpy.empty(shape, dtype)

    def check(self, other: Any, name: str) -> Any:
        """Return the array, after checks of its kind; `name` is x, out, second or scale."""
        if not self.is_one(other):
            raise TypeError(f"{name} is a {_kind(other)}, but x is a {self.name}. Wanted: a {self.name}")
        if hasattr(other, "filled"):
            raise TypeError(f"{name} is a masked array, whose mask would be lost. Wanted: {name}.filled()")
        check_meaning(other, (name, "Arithmetic"))
        if name == "out" and not self.read(other, "flags").writeable:
            raise ValueError("out is read-only")
        return other

    def read(self, x: Any, name: str) -> Any:
        """Return dtype, shape or flags of NumPy's own array: a derived class may replace the attribute."""
        import numpy
        return getattr(numpy.ndarray, name).__get__(x)

    def memory(self, x: Any) -> object:
        """Return the array or its description, for the C++ module."""
        return x

    def scale(self, value: Any) -> Any:
        import numpy
        return numpy.asarray(value, numpy.float32) if isinstance(value, numbers.Real) else value

    def ordered(self, stream: object) -> contextlib.AbstractContextManager[object]:
        """A context in which `stream` is the current stream."""
        return contextlib.nullcontext()

    def current_stream(self) -> object:
        return None

    def wrote(self, out: Any, stream: object, *read: Any) -> None:
        """Tell the framework that `out` has changed and that `stream` uses the arrays."""

    def apply(self, x: Any, axes: tuple[int, ...], out: Any, shape: tuple[int, ...], dtype: Any, types: tuple[str, str],
              stream: object, second: Any, scale: Any, threads: int, math: dict[str, Any]) -> Any:
        """Execute the checked call; without `out` into a new array."""
        made = self.empty(shape, dtype) if out is None else out
        _core._apply_memory(self.memory(x), self.memory(made), None if second is None else self.memory(second), axes,
                            types, **math, scale=None if scale is None else self.memory(scale), stream=self.current_stream(),
                            threads=threads)
        self.wrote(made, stream, x, *(one for one in (second, scale) if one is not None))
        return dressed(made, transposed_view(x, axes)) if out is None and _is(x, "numpy", "ndarray") else made


class _Torch(_Framework):
    name = "torch.Tensor"

    def read(self, x: Any, name: str) -> Any:
        return getattr(x, name)

    def __init__(self, x: Any) -> None:
        from . import torch as with_torch
        super().__init__(x)
        self.on_cuda = x.is_cuda
        self.torch = with_torch

    def dtype(self, wanted: Any) -> Any:
        import torch
        found = wanted if isinstance(wanted, torch.dtype) else getattr(torch, str(wanted), None)
        if not isinstance(found, torch.dtype):
            raise TypeError(f"dtype is {_core._shown(wanted)}. Wanted: a torch.dtype")
        return found

    def name_of(self, dtype: Any) -> str:
        return str(dtype).removeprefix("torch.")

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.x.new_empty(shape, dtype=dtype)

    def check(self, other: Any, name: str) -> Any:
        if not self.is_one(other):
            raise TypeError(f"{name} is a {_kind(other)}, but x is a {self.name}. Wanted: a {self.name}")
        self.torch._check_arithmetic(other, name)
        if other.device != self.x.device:
            raise ValueError(f"{name} is on {other.device}, but x is on {self.x.device}. Wanted: one device")
        if name == "out":
            self.torch._check_stored(other)
            self.torch._check_writable(other)
            return other
        return other.resolve_conj().resolve_neg()

    def apply(self, x: Any, axes: tuple[int, ...], out: Any, shape: tuple[int, ...], dtype: Any, types: tuple[str, str],
              stream: object, second: Any, scale: Any, threads: int, math: dict[str, Any]) -> Any:
        given = [one for one in (x, out, second, scale) if one is not None]
        if _core._are_plain_tensors(given):
            return super().apply(x, axes, out, shape, dtype, types, stream, second, scale, threads, math)
        arguments = (*math.values(), second, scale, threads)
        if out is None:
            out = self.torch._op_apply(x, axes, dtype, *arguments)
        else:
            self.torch._op_apply_out(x, axes, out, *arguments)
        if stream is not None:
            self.torch._record_stream([out, *given], stream)
        return out

    def scale(self, value: Any) -> Any:
        import torch
        return torch.tensor(float(value), device=self.x.device) if isinstance(value, numbers.Real) else value

    def ordered(self, stream: object) -> contextlib.AbstractContextManager[object]:
        import torch
        if stream is None:
            return contextlib.nullcontext()
        return torch.cuda.stream(self.torch._side_stream(self.x, stream))  # type: ignore[no-any-return]

    def current_stream(self) -> object:
        return self.torch._current_stream(self.x)

    def wrote(self, out: Any, stream: object, *read: Any) -> None:
        import torch
        torch.autograd.graph.increment_version(out)
        if stream is not None:
            for used in (out, *read):
                used.record_stream(torch.cuda.current_stream(out.device))


class _CuPy(_Framework):
    name = "cupy.ndarray"
    on_cuda = True

    def read(self, x: Any, name: str) -> Any:
        return getattr(x, name)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        import cupy
        return cupy.empty(shape, dtype)

    def check(self, other: Any, name: str) -> Any:
        if not self.is_one(other):
            raise TypeError(f"{name} is a {_kind(other)}, but x is a {self.name}. Wanted: a {self.name}")
        if other.device != self.x.device:
            raise ValueError(f"{name} is on {other.device}, but x is on {self.x.device}. Wanted: one device")
        return other

    def memory(self, x: Any) -> object:
        return _memory_of_cupy(x)

    def scale(self, value: Any) -> Any:
        import cupy
        return cupy.asarray(value, "float32") if isinstance(value, numbers.Real) else value

    def ordered(self, stream: object) -> contextlib.AbstractContextManager[object]:
        import cupy
        both = contextlib.ExitStack()
        both.enter_context(self.x.device)
        if stream is not None:
            both.enter_context(cupy.cuda.ExternalStream(_core._stream_handle(stream)))
        return both

    def current_stream(self) -> object:
        import cupy
        return cupy.cuda.get_current_stream().ptr


def _framework_of(x: Any) -> _Framework:
    for one in (_Framework, _Torch, _CuPy):
        if _is(x, *one.name.split(".")):
            return one(x)
    raise TypeError(f"x is a {_kind(x)}. Wanted: an array of NumPy, PyTorch or CuPy, for arithmetic and conversions"
                    + (". XLA fuses both with jax.numpy.transpose" if _is_jax(x) else ""))


def _number(value: Any, name: str) -> complex:
    if isinstance(value, numbers.Complex) or getattr(value, "shape", None) == ():
        if getattr(value, "requires_grad", False):
            raise ValueError(f"{name} requires a gradient, which arithmetic does not record. Wanted: a number, or {name}.detach()")
        try:
            return complex(value)
        except OverflowError:
            raise ValueError(f"{name} is an integer of {value.bit_length()} bits. Wanted: a number that fits a float64") from None
    raise TypeError(f"{name} is a {_kind(value)}. Wanted: a number")


def permute(x: Any, axes: tuple[int, ...], out: Any, stream: object, threads: int, *, dtype: Any = None,
            alpha: complex = 1, beta: complex | None = None, conj: bool = False, second: Any = None, scale: Any = None,
            saturate: bool = True) -> Any:
    """`permute_dims` with arithmetic; see `cornerturn.matrix_transpose`."""
    alpha = _number(alpha, "alpha")
    if beta is None and second is not None:
        raise ValueError("second is given, but beta is not. Wanted: both, such as beta=1 for a sum")
    beta = _number(0 if beta is None else beta, "beta")
    copies = alpha == 1 and beta == 0 and not conj and scale is None and second is None
    if copies and dtype is None:
        return _core.permute_dims(x, axes, out=out, stream=stream, threads=threads)
    x = from_array(x)
    framework = _framework_of(x)
    type_of_x = framework.read(x, "dtype")
    made_type = type_of_x if dtype is None else framework.dtype(dtype)
    if copies and made_type == type_of_x:
        return _core.permute_dims(x, axes, out=out, stream=stream, threads=threads)
    _check_cuda_stream(stream, x, framework.name, framework.on_cuda)
    x = framework.ready()
    if beta != 0 and second is None and out is None:
        raise ValueError(f"beta is {beta.real if beta.imag == 0 else beta:g}, but neither second nor out is given. Wanted: "
                         "the array that it multiplies")
    extents = framework.read(x, "shape")
    if len(axes) != len(extents):
        raise ValueError(f"x has {len(extents)} axes, and had {len(axes)} when this call began. Wanted: equal numbers")
    shape = tuple(extents[k] for k in axes)
    with framework.ordered(stream):
        target = None if out is None else framework.check(out, "out")
        if second is not None:
            second = framework.check(second, "second")
        for name, other in (("out", target), ("second", second)):
            if other is not None and framework.read(other, "dtype") != made_type:
                raise ValueError(f"{name} has dtype {framework.read(other, 'dtype')}, wanted {made_type}")
        if second is not None and tuple(framework.read(second, "shape")) != shape:
            raise ValueError(f"second has shape {tuple(framework.read(second, 'shape'))}, wanted {shape}")
        if beta == 0 and alpha == 1 and not conj and scale is None and made_type == type_of_x:
            return _core.permute_dims(x, axes, out=out, threads=threads)
        types = (framework.type_name(type_of_x), framework.type_name(made_type))
        if types[1] in _FLOAT8 and types[0] != types[1]:
            scale = framework.check(framework.scale(1 if scale is None else scale), "scale")
            found = str(framework.read(scale, "dtype")).removeprefix("torch."), _size(framework.read(scale, "shape"))
            if found != ("float32", 1):
                raise ValueError(f"scale has dtype {found[0]} and {found[1]} elements, wanted float32 and 1")
        elif scale is not None:
            raise ValueError(f"scale is given, but the result has dtype {made_type}. Wanted: no scale, or a dtype of "
                             "float8: alpha multiplies other results")
        math = {"alpha": alpha, "beta": beta, "conj": bool(conj), "saturate": bool(saturate)}
        return framework.apply(x, axes, target, shape, made_type, types, stream, second, scale, threads, math)


def _size(shape: Any) -> int:
    count = 1
    for extent in shape:
        count *= int(extent)
    return count
