"""PyTorch: the operator ``torch.ops.cornerturn.permute_dims``, and a switch that makes PyTorch's own copies use it.

`cornerturn.permute_dims` also takes tensors. It passes plain tensors directly to the library. Tensors that record a
gradient, vmapped tensors and fake tensors use the operator of this module, which supports all of these features.
Code for ``torch.compile`` should call the functions of this module: they do not break its graph.
"""
from __future__ import annotations

import operator
import re
import threading
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from . import _core
from ._frameworks import _check_cuda_stream, _kind

__all__ = ["accelerate", "matrix_transpose", "permute_dims", "rearrange", "transpose_inplace_"]

_LEGACY_STREAM = 1  # the default stream in CUDA


def _memory(x: torch.Tensor) -> object:
    """Describe a tensor that the C++ module cannot read: PyTorch is too old, or it is no plain memory."""
    if x.layout != torch.strided or x.is_nested:
        _check_strided(x)
    if x.device.type not in ("cpu", "cuda"):
        raise ValueError(f"x is on {x.device}. Wanted: the CPU or a CUDA device")
    size = x.element_size()
    lanes = re.search(r"x(\d+)$", str(x.dtype))  # float4_e2m1fn_x2, bits2x4
    _core._check_element("x", str(x.dtype), 8 * size, int(lanes[1]) if lanes else 1)
    return x.data_ptr(), tuple(x.shape), tuple(step * size for step in x.stride()), size, x.is_cuda


def _current_stream(x: torch.Tensor) -> int | None:
    return torch.cuda.current_stream(x.device).cuda_stream if x.is_cuda else None


def _move(x: torch.Tensor, out: torch.Tensor, axes: Sequence[int], plan: _core.plan | None = None) -> None:
    _core._move_memory(x, out, axes, _current_stream(x), plan)


# ---- tensors that are refused, with a sentence ----

def _check_strided(x: Any, name: str = "x") -> None:
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name} is a {_kind(x)}. Wanted: a torch.Tensor")
    if x.is_quantized:
        raise TypeError(f"{name} is a quantized tensor, whose scales may belong to an axis. Wanted: {name}.int_repr()")
    if x.is_nested:
        raise TypeError(f"{name} is a nested tensor, whose parts have different shapes. Wanted: a tensor of its own for each "
                        f"part, as {name}.unbind() returns them, and cornerturn.batch for all of them")
    if x.layout != torch.strided:
        raise TypeError(f"{name} has layout {x.layout}, which has no strides. Wanted: torch.strided, as {name}.to_dense() "
                        "returns it")


def _check_stored(out: torch.Tensor) -> None:
    """Refuse a lazy conjugate or negative: its memory does not hold its values."""
    if out.is_conj() or out.is_neg():
        raise ValueError(f"out is a lazy {'conjugate' if out.is_conj() else 'negative'} of another tensor, so its memory "
                         "does not hold its values. Wanted: a tensor without a pending operation, as out.clone() returns it")


def _is_transformed() -> bool:
    return torch._C._functorch.peek_interpreter_stack() is not None or forward_ad._current_level >= 0


def _check_unrecorded(x: torch.Tensor, name: str, work: str) -> None:
    if torch.is_grad_enabled() and x.requires_grad:
        raise ValueError(f"{name} requires a gradient, which {work} does not record. Wanted: torch.no_grad(), or a call "
                         "without it")
    if _is_transformed() and (torch._C._functorch.peek_interpreter_stack() is not None or _has_tangent(x)):
        raise ValueError(f"{name} is in a transformation or has a tangent, which {work} does not support. Wanted: a call "
                         "without it")


def _check_arithmetic(x: Any, name: str = "x") -> None:
    _check_strided(x, name)
    _check_unrecorded(x, name, "arithmetic")


def _check_batch_item(x: Any, name: str) -> None:
    _check_strided(x, name)
    _check_unrecorded(x, name, "a batch")
    if x.is_conj() or x.is_neg():
        raise ValueError(f"{name} is a lazy {'conjugate' if x.is_conj() else 'negative'} of another tensor. Wanted: "
                         f"{name}.resolve_conj().resolve_neg()")


def _permuted(x: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
    return x.new_empty([x.shape[k] for k in axes])


def _has_tangent(*tensors: torch.Tensor) -> bool:
    return (not torch.compiler.is_compiling() and forward_ad._current_level >= 0
            and any(forward_ad.unpack_dual(x).tangent is not None for x in tensors))


# ---- the operators ----

def _permute_dims(x: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
    made = _permuted(x, axes)
    _move(x, made, axes)
    return made


def _permute_dims_out(x: torch.Tensor, axes: Sequence[int], out: torch.Tensor) -> None:
    _move(x, out, axes)


def _inverse(axes: Sequence[int]) -> list[int]:
    positive = [k % len(axes) for k in axes]
    return [positive.index(k) for k in range(len(positive))]


def _keep_axes(ctx: Any, inputs: tuple[torch.Tensor, Sequence[int]], output: torch.Tensor) -> None:
    ctx.inverse = _inverse(inputs[1])


def _backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
    return _op(grad, ctx.inverse), None


def _batched(in_dims: tuple[int | None, None], x: torch.Tensor, axes: Sequence[int]) -> tuple[torch.Tensor, list[int]]:
    return x.movedim(in_dims[0] or 0, 0), [0, *(k % len(axes) + 1 for k in axes)]


def _vmap(info: Any, in_dims: tuple[int | None, None], x: torch.Tensor, axes: Sequence[int]) -> tuple[torch.Tensor, int]:
    return _op(*_batched(in_dims, x, axes)), 0


_op = torch.library.custom_op("cornerturn::permute_dims", _permute_dims, mutates_args=(),
                              schema="(Tensor x, int[] axes) -> Tensor")
_op.register_fake(_permuted)
_op.register_autograd(_backward, setup_context=_keep_axes)
_op.register_vmap(_vmap)
_op_out = torch.library.custom_op("cornerturn::permute_dims_out", _permute_dims_out, mutates_args=("out",),
                                  schema="(Tensor x, int[] axes, Tensor(a!) out) -> ()")
_op_out.register_fake(lambda x, axes, out: None)


def _transpose(x: torch.Tensor) -> None:
    _core._transpose_memory(x, x, _current_stream(x))


_op_inplace = torch.library.custom_op("cornerturn::transpose_inplace_", _transpose, mutates_args=("x",),
                                      schema="(Tensor(a!) x) -> ()")
_op_inplace.register_fake(lambda x: None)


class _Recorded(torch.autograd.Function):  # type: ignore[misc]
    """Records a gradient outside of compilation, transformations and dispatch modes, in a sixth of the operator's time."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
        ctx.inverse = _inverse(axes)
        made: torch.Tensor | None = _core._permute_tensor(x, axes, None)
        return _op(x, axes) if made is None else made

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return permute_dims(grad, ctx.inverse), None


class _Transformed(torch.autograd.Function):  # type: ignore[misc]
    """The operator for `torch.func` transformations and forward mode, which custom operators of PyTorch 2.11 do not
    support."""

    @staticmethod
    def forward(x: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
        made: torch.Tensor = _op(x, axes)
        return made

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor, Sequence[int]], output: torch.Tensor) -> None:
        ctx.axes = list(inputs[1])

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return _Transformed.apply(grad, _inverse(ctx.axes)), None

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor, _: None) -> torch.Tensor:
        made: torch.Tensor = _Transformed.apply(tangent, ctx.axes)
        return made

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, None], x: torch.Tensor,
             axes: Sequence[int]) -> tuple[torch.Tensor, int]:
        return _Transformed.apply(*_batched(in_dims, x, axes)), 0


def _axes_of_pattern(pattern: str, rank: int) -> tuple[int, ...]:
    return _core._axes_of_pattern(pattern, rank)


# Equivalent to torch.compiler.assume_constant_result, without the seconds for the import of the compiler.
_axes_of_pattern._dynamo_marked_constant = True  # type: ignore[attr-defined]


# ---- the functions ----

def permute_dims(x: torch.Tensor, axes: Sequence[int], *, out: torch.Tensor | None = None) -> torch.Tensor:
    """Permute the axes into a new tensor: `cornerturn.permute_dims` as a PyTorch operator.

    Parameters
    ----------
    x : torch.Tensor
        On the CPU or a CUDA device; any strides, any element type.
    axes : sequence of int
        A permutation of ``0 ... x.ndim - 1``; negative numbers count from the end.
    out : torch.Tensor, optional
        The tensor for the result. Autograd does not record such a call.

    Returns
    -------
    torch.Tensor
        `out`, or a new contiguous tensor. Its backward is the inverse permutation.

    Examples
    --------
    >>> import torch, cornerturn.torch
    >>> x = torch.zeros(8, 3, 32, 64, requires_grad=True)
    >>> cornerturn.torch.permute_dims(x, (0, 2, 3, 1)).sum().backward()
    >>> x.grad.shape
    torch.Size([8, 3, 32, 64])
    """
    if torch.compiler.is_compiling():
        order = [operator.index(k) for k in axes]
        if sorted(k % max(x.ndim, 1) for k in order) != list(range(x.ndim)) or not all(-x.ndim <= k < x.ndim for k in order):
            raise ValueError(f"axes is {tuple(order)}, but x has {x.ndim} axes. Wanted: each axis once")
        return _recorded(x, order, out)
    if axes is None or isinstance(axes, str):
        _core._axes_of_sequence(axes, 0)  # raises a TypeError
    plain: torch.Tensor | None = _core._permute_tensor(x, axes, out)
    if plain is not None:
        return plain
    _check_tensors(x, out)
    return _recorded(x, list(_core._axes_of_sequence(axes, x.ndim)), out)


def _check_tensors(x: Any, out: Any) -> None:
    _check_strided(x)
    if out is not None:
        _check_strided(out, "out")
        _check_stored(out)


def _recorded(x: torch.Tensor, order: list[int], out: torch.Tensor | None) -> torch.Tensor:
    """Permute the axes with the operator, or with one of the classes that replace it; `order` is a permutation."""
    compiling = torch.compiler.is_compiling()
    if out is None:
        call = _op
        if not compiling and _is_transformed():
            call = _Transformed.apply
        elif not compiling and type(x) in (torch.Tensor, torch.nn.Parameter) and not torch._C._len_torch_dispatch_stack():
            call = _Recorded.apply
        made: torch.Tensor = call(x, order)
        return made
    wanted = tuple(x.shape[k] for k in order)
    for name, found, value in (("shape", tuple(out.shape), wanted), ("dtype", out.dtype, x.dtype),
                               ("device", out.device, x.device)):
        if found != value:
            raise ValueError(f"out has {name} {found}, wanted {value}")
    if torch.is_grad_enabled() and (x.requires_grad or out.requires_grad):
        raise ValueError("out is given, but x or out requires a gradient, which a copy to out does not record. "
                         "Wanted: no out, or torch.no_grad()")
    if _has_tangent(x, out):
        raise ValueError("out is given, but x or out has a tangent, which a copy to out does not propagate. "
                         "Wanted: no out")
    _op_out(x, order, out)
    return out


def matrix_transpose(x: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """Transpose the last two axes; see `permute_dims`."""
    if torch.compiler.is_compiling():
        if x.ndim < 2:
            raise ValueError(f"x has {x.ndim} axes, wanted 2 or more: the last two are swapped")
        return _recorded(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2], out)
    plain: torch.Tensor | None = _core._permute_tensor(x, None, out)
    if plain is not None:
        return plain
    _check_tensors(x, out)
    return _recorded(x, list(_core._resolve_axes(None, x.ndim)), out)


def rearrange(x: torch.Tensor, pattern: str, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """Permute the axes by name, as in ``"n c h w -> n h w c"``; see `permute_dims`."""
    if torch.compiler.is_compiling():
        return _recorded(x, list(_axes_of_pattern(pattern, x.ndim)), out)
    if isinstance(pattern, str):
        plain: torch.Tensor | None = _core._permute_tensor(x, pattern, out)
        if plain is not None:
            return plain
    _check_tensors(x, out)
    return _recorded(x, list(_axes_of_pattern(pattern, x.ndim)), out)


def transpose_inplace_(x: torch.Tensor) -> torch.Tensor:
    """Transpose the last two axes in the memory of `x`; see `cornerturn.transpose_inplace_`."""
    if not torch.compiler.is_compiling():
        plain: torch.Tensor | None = _core._transpose_tensor(x)
        if plain is not None:
            return plain
        _check_strided(x)
    if x.ndim < 2:
        raise ValueError(f"x has {x.ndim} axes, wanted 2 or more: the last two are swapped")
    if torch.is_grad_enabled() and x.requires_grad:
        raise RuntimeError("x requires a gradient, which a transpose in place does not record. "
                           "Wanted: matrix_transpose, or torch.no_grad()")
    if _has_tangent(x):
        raise RuntimeError("x has a tangent, which a transpose in place does not propagate. Wanted: matrix_transpose")
    bits = x
    if not torch.compiler.is_compiling():
        if torch._C._functorch.peek_interpreter_stack() is not None:
            raise RuntimeError("x is in a transformation of torch.func. Wanted: matrix_transpose")
        bits = x.conj() if x.is_conj() else x  # transpose the stored bits: the lazy conjugate or negation stays
        bits = torch._neg_view(bits) if bits.is_neg() else bits
    _op_inplace(bits)
    *batch, rows, cols = x.shape
    return x if rows == cols else x.view(*batch, cols, rows)


def _side_stream(x: torch.Tensor, stream: object) -> Any:
    handle = _core._stream_handle(stream)
    if handle in (0, _LEGACY_STREAM):
        return torch.cuda.default_stream(x.device)
    return torch.cuda.ExternalStream(handle, device=x.device)


def _permute(x: torch.Tensor, axes: Sequence[int], out: torch.Tensor | None, stream: object,
             plan: _core.plan | None, threads: int = 0) -> torch.Tensor:
    """`cornerturn.permute_dims` for tensors that are not plain memory, and for a caller's stream."""
    _check_strided(x)
    if out is not None:
        if not isinstance(out, torch.Tensor):
            raise TypeError(f"out is a {_kind(out)}, but x is a torch.Tensor. Wanted: a torch.Tensor")
        _check_strided(out, "out")
        _check_stored(out)
    _check_cuda_stream(stream, x, "torch.Tensor", x.is_cuda)
    if threads != 0 and not x.is_cuda:
        raise ValueError("threads is given, but x records a gradient, is in a transformation, or is no plain tensor in "
                         "memory. Wanted: no threads, or torch.no_grad()")
    if stream is None:
        if plan is None:
            return permute_dims(x, axes, out=out)
        if torch.is_grad_enabled() and x.requires_grad:
            raise ValueError("x requires a gradient, which a plan does not record. "
                             "Wanted: cornerturn.permute_dims, or torch.no_grad()")
        if _has_tangent(x, x if out is None else out):
            raise ValueError("x or out has a tangent, which a plan does not propagate. Wanted: cornerturn.permute_dims")
        made = _permuted(x, axes) if out is None else out
        _move(x, made, axes, plan)
        return made
    side = _side_stream(x, stream)
    with torch.cuda.stream(side):
        made = _permute(x, axes, out, None, plan)
    for used in (x, made):  # the allocator must not reuse their memory before the stream has finished
        used.record_stream(side)
    return made


def _transpose_inplace(x: torch.Tensor, stream: object, threads: int = 0) -> torch.Tensor:
    _check_strided(x)
    _check_cuda_stream(stream, x, "torch.Tensor", x.is_cuda)
    if stream is None:
        return transpose_inplace_(x)
    side = _side_stream(x, stream)
    with torch.cuda.stream(side):
        result = transpose_inplace_(x)
    x.record_stream(side)
    return result


# The batches of captured graphs, for as long as the process: a graph replays their addresses, and its end is not known.
_captured: list[_core._batch] = []


def _execute_batch(held: _core._batch, first: torch.Tensor, xs: Sequence[torch.Tensor], outs: Sequence[torch.Tensor],
                   stream: object) -> None:
    if stream is None:
        if held.on_cuda and torch.cuda.is_current_stream_capturing():
            _captured.append(held)
        held.execute(_current_stream(first))
    else:
        side = _side_stream(first, stream)
        with torch.cuda.stream(side):
            if torch.cuda.is_current_stream_capturing():
                _captured.append(held)
        held.execute(stream)
        for used in (*xs, *outs):
            used.record_stream(side)
    torch.autograd.graph.increment_version(outs)


# ---- accelerate ----

_lock = threading.Lock()
_WRAPPED = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
_installed: dict[str, Any] = {}  # device type: the library with its copy_


def _install(devices: frozenset[str]) -> None:
    for name in _installed.keys() - devices:
        _installed.pop(name)._destroy()
    for name in devices - _installed.keys():
        original = torch.library.get_kernel(torch.ops.aten.copy_.default, name.upper())

        def copy_(keys: Any, dst: torch.Tensor, src: Any, non_blocking: bool = False,
                  original: Any = original) -> torch.Tensor:
            if not isinstance(src, torch.Tensor):  # the dispatcher unwraps a Python number
                src = torch.scalar_tensor(src, dtype=_WRAPPED[type(src)])
            elif _core._copy_permuted_tensor(dst, src):
                return dst
            copied: torch.Tensor = original.call_boxed(keys, dst, src, non_blocking)
            return copied

        library = torch.library.Library("aten", "IMPL")
        library.impl("copy_", copy_, name.upper(), with_keyset=True)
        _installed[name] = library
        if name == "cuda" and torch.cuda.is_initialized():  # load kernels now: impossible during a capture
            _core.matrix_transpose(torch.empty(2, 2, device="cuda"))


class accelerate:
    """Make PyTorch use cornerturn for its own copies of permuted tensors.

    ``contiguous()``, ``clone(memory_format=...)``, ``reshape()`` and ``copy_()`` call one operator,
    ``aten::copy_``. With this switch, cornerturn executes a copy between two tensors with equal
    device, dtype and shape and different orders of the axes in memory, also in ``backward()``.
    PyTorch executes all other copies. The resulting bits and the stream do not change.

    Parameters
    ----------
    mode : bool, default True
        On, or off.
    devices : sequence of str, default ("cuda",)
        Types of devices to switch on: ``"cuda"``, ``"cpu"``.

    Notes
    -----
    The switch affects all threads, from the call on. As a context manager it restores the previous
    state at its end. PyTorch still executes copies of less than 64 KiB. Code compiled by
    ``torch.compile`` copies in its own kernels, so the switch has no effect on it.

    Raises
    ------
    RuntimeError
        PyTorch is older than 2.10.

    Examples
    --------
    >>> import torch, cornerturn.torch
    >>> with cornerturn.torch.accelerate(devices=("cpu",)):
    ...     y = torch.zeros(300, 200).t().contiguous()
    """

    def __init__(self, mode: bool = True, *, devices: Collection[str] = ("cuda",)) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"mode is {mode!r}. Wanted: True or False, and the devices by name, as in devices=('cpu',)")
        if isinstance(devices, str) or not isinstance(devices, Iterable):
            raise TypeError(f"devices is {devices!r}. Wanted: a sequence, as in devices=('cuda', 'cpu')")
        devices = frozenset(devices)
        if unknown := devices - {"cuda", "cpu"}:
            raise ValueError(f"devices has {sorted(map(str, unknown))}. Wanted: 'cuda' and 'cpu' only")
        if not hasattr(torch.library, "get_kernel") or not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
            raise RuntimeError(f"accelerate found PyTorch {torch.__version__}, wanted 2.10 or newer")
        with _lock:
            self._before = frozenset(_installed)
            _install(devices if mode else frozenset())

    def __enter__(self) -> accelerate:
        return self

    def __exit__(self, *exception: object) -> None:
        with _lock:
            _install(self._before)
