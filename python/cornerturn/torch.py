"""PyTorch: the operators of ``torch.ops.cornerturn``, and a switch that makes PyTorch's own copies use cornerturn.

`cornerturn.permute_dims` also takes tensors. One gate (``_core``, torch.cpp) decides for each call: it passes plain tensors
directly to the library. All other tensors use the operators of this module: tensors with gradients or tangents, lazy, fake
and distributed tensors, and all tensors under a mode, a transform, a tracer or the profiler. Code for ``torch.compile``
should call the functions of this module: they do not break its graph.
"""
from __future__ import annotations

import contextlib
import operator
import re
import sys
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from . import _core, _patterns
from ._core import _kind
from ._frameworks import _check_cuda_stream

__all__ = ["accelerate", "matrix_transpose", "permute_dims", "rearrange", "transpose_inplace_"]

_LEGACY_STREAM = 1  # the default stream in CUDA


def _memory(x: torch.Tensor) -> object:
    """Describe a tensor that the C++ module cannot read: PyTorch is too old, or it is no plain memory."""
    if x.layout != torch.strided or x.is_nested:
        _check_strided(x)
    if x.device.type not in ("cpu", "cuda"):
        raise ValueError(f"x is on {x.device}. Wanted: the CPU or a CUDA device")
    _check_element(x, "x")
    size = x.element_size()
    try:
        address = x.data_ptr()
    except RuntimeError:  # a fake tensor: a plan needs no address, and a copy is refused
        address = 0
    return address, tuple(map(int, x.shape)), tuple(int(step) * size for step in x.stride()), size, x.is_cuda


def _current_stream(x: torch.Tensor) -> int | None:
    return torch.cuda.current_stream(x.device).cuda_stream if x.is_cuda else None


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


def _check_element(x: torch.Tensor, name: str) -> None:
    lanes = re.search(r"[\d_]x(\d+)$", str(x.dtype))  # float4_e2m1fn_x2, bits2x4
    _core._check_element(name, str(x.dtype), 8 * x.element_size(), int(lanes[1]) if lanes else 1)


def _check_stored(out: torch.Tensor) -> None:
    """Refuse a lazy conjugate or negative: its memory does not hold its values."""
    if out.is_conj() or out.is_neg():
        raise ValueError(f"out is a lazy {'conjugate' if out.is_conj() else 'negative'} of another tensor, so its memory "
                         "does not hold its values. Wanted: a tensor without a pending operation, as out.clone() returns it")


def _check_writable(out: torch.Tensor, name: str = "out") -> None:
    if out.is_inference() and not torch.is_inference_mode_enabled():
        raise RuntimeError(f"{name} is an inference tensor. Wanted: torch.inference_mode(), or {name}.clone()")


def _is_transformed() -> bool:
    return torch._C._functorch.peek_interpreter_stack() is not None


def _has_tangent(*tensors: torch.Tensor) -> bool:
    if not (forward_ad._current_level >= 0 or _is_transformed()):
        return False
    return any(torch._VF._unpack_dual(x, level=0)[1] is not None for x in tensors)


def _is_distributed(x: object) -> bool:
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(x, module.DTensor)


def _check_unrecorded(x: torch.Tensor, name: str, work: str) -> None:
    """Refuse a tensor for work that only permutes memory: a plan, a batch, arithmetic."""
    if _is_distributed(x):
        raise ValueError(f"{name} is a DTensor, which {work} does not support. Wanted: cornerturn.permute_dims without it, or "
                         f"{name}.to_local()")
    if torch.is_grad_enabled() and x.requires_grad:
        raise ValueError(f"{name} requires a gradient, which {work} does not record. Wanted: torch.no_grad(), or a call "
                         "without it")
    if _is_transformed() or _has_tangent(x):
        raise ValueError(f"{name} is in a transformation or has a tangent, which {work} does not support. Wanted: a call "
                         "without it")


def _check_arithmetic(x: Any, name: str = "x") -> None:
    _check_strided(x, name)
    _check_unrecorded(x, name, "arithmetic")
    if x.device.type not in ("cpu", "cuda"):
        raise ValueError(f"{name} is on {x.device}. Wanted: the CPU or a CUDA device")


def _check_batch_item(x: Any, name: str) -> None:
    _check_strided(x, name)
    _check_element(x, name)
    _check_unrecorded(x, name, "a batch")
    if x.is_conj() or x.is_neg():
        raise ValueError(f"{name} is a lazy {'conjugate' if x.is_conj() else 'negative'} of another tensor. Wanted: "
                         f"{name}.resolve_conj().resolve_neg()")
    if name == "out":
        _check_writable(x)


def _check_out(x: torch.Tensor, axes: Sequence[int], out: torch.Tensor) -> None:
    wanted = tuple(x.shape[k] for k in axes)
    for name, found, value in (("shape", tuple(out.shape), wanted), ("dtype", out.dtype, x.dtype),
                               ("device", out.device, x.device)):
        if found != value:
            raise ValueError(f"out has {name} {found}, wanted {value}")


# ---- the operators ----
#
# Each has a kernel, which may also run in a graph or a trace, a fake kernel, and rules for autograd (also forward mode and
# torch.func), vmap and version counters. PyTorch derives its functional form.

_library = torch.library.Library("cornerturn", "DEF")


def _define(schema: str, kernel: Callable[..., Any], fake: Callable[..., Any], autograd: Callable[..., Any],
            vmap: Callable[..., Any], writes: int | None = None) -> Any:
    """Define an operator; `writes` is the number of the argument that it changes."""
    name = schema.partition("(")[0]
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    made = getattr(torch.ops.cornerturn, name).default

    def below(keyset: Any, *args: Any, **named: Any) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return made.redispatch(keyset & torch._C._after_autograd_keyset, *args, **named)

    def count(keyset: Any, *args: Any, **named: Any) -> Any:
        torch.autograd.graph.increment_version(args[writes])  # type: ignore[index]
        return made.redispatch(keyset & torch._C._after_ADInplaceOrView_keyset, *args, **named)

    _library.impl(name, kernel, "CompositeExplicitAutograd")
    _library.impl(name, torch.library.fallthrough_kernel, "ZeroTensor")  # else a trace takes lazy zeros for a constant
    _library.impl(name, lambda keyset, *args, **named: autograd(below, keyset, *args, **named), "Autograd", with_keyset=True)
    if writes is not None:
        _library.impl(name, count, "ADInplaceOrView", with_keyset=True)
    torch.library.register_fake(f"cornerturn::{name}", fake, lib=_library)
    torch.library.register_vmap(f"cornerturn::{name}", vmap, lib=_library)
    return made


def _only_moves(what: str, wanted: str) -> Callable[..., Any]:
    """Return the rule for autograd of an operator that has no derivative."""
    def rule(below: Callable[..., Any], keyset: Any, *args: Any, **named: Any) -> Any:
        given = [one for one in (*args, *named.values()) if isinstance(one, torch.Tensor)]
        if torch.is_grad_enabled() and any(one.requires_grad for one in given):
            raise RuntimeError(f"a tensor requires a gradient, which {what} does not record. Wanted: {wanted}, or "
                               "torch.no_grad()")
        if _has_tangent(*given):
            raise RuntimeError(f"a tensor has a tangent, which {what} does not propagate. Wanted: {wanted}")
        return below(keyset, *args, **named)
    return rule


def _no_vmap(what: str, wanted: str) -> Callable[..., Any]:
    def rule(*_: Any) -> Any:
        raise RuntimeError(f"x is in torch.vmap, which {what} does not support. Wanted: {wanted}")
    return rule


def _permuted(x: torch.Tensor, axes: Sequence[int], dtype: torch.dtype | None = None) -> torch.Tensor:
    shape = [x.shape[k] for k in _core._axes_of_sequence(axes, x.ndim)]
    return x.new_empty(shape, dtype=x.dtype if dtype is None else dtype)


def _inverse(axes: Sequence[int]) -> list[int]:
    positive = [k % len(axes) for k in axes]
    return [positive.index(k) for k in range(len(positive))]


def _batched(dim: int | None, x: torch.Tensor, size: int) -> torch.Tensor:
    return x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)


def _batched_axes(axes: Sequence[int]) -> list[int]:
    return [0, *(k % len(axes) + 1 for k in axes)]


def _with_memory(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros(x.shape, dtype=x.dtype, device=x.device) if x._is_zerotensor() else x


def _copy(x: torch.Tensor, axes: Sequence[int], out: torch.Tensor, threads: int = 0) -> None:
    if x._is_zerotensor():  # lazy zeros have no memory
        out.zero_()
        return
    _core._move_memory(x, out, axes, _current_stream(x), None, 0 if x.is_cuda else threads)


def _permute_kernel(x: torch.Tensor, axes: Sequence[int], threads: int = 0) -> torch.Tensor:
    _check_strided(x)
    made = _permuted(x, axes)
    _copy(x, axes, made, threads)
    return made


class _Permutation(_SingleLevelFunction):  # type: ignore[misc]
    """The derivatives of the operator. PyTorch runs it once for each level of torch.func."""

    @staticmethod
    def forward(x: torch.Tensor, axes: Sequence[int], made: Callable[[], torch.Tensor]) -> torch.Tensor:
        return made()

    @staticmethod
    def setup_context(ctx: Any, inputs: Sequence[Any], output: torch.Tensor) -> None:
        ctx.axes = list(inputs[1])

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return permute_dims(grad, _inverse(ctx.axes)), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor, *_: None) -> torch.Tensor:
        return permute_dims(tangent, ctx.axes)


def _differentiated(below: Callable[..., Any], keyset: Any, x: torch.Tensor, axes: Sequence[int],
                    threads: int = 0) -> torch.Tensor:
    if _is_distributed(x):
        _register_sharding()
    records, propagates = torch.is_grad_enabled(), torch._C._is_fwd_grad_enabled()

    def made() -> torch.Tensor:
        # A function of autograd turns both off in its forward, but the outer levels of torch.func need them there.
        with torch.set_grad_enabled(records), forward_ad._set_fwd_grad_enabled(propagates):
            return below(keyset, x, axes, threads)

    allowed = torch._C._functorch.get_single_level_autograd_function_allowed()
    torch._C._functorch.set_single_level_autograd_function_allowed(True)
    try:
        result: torch.Tensor = _Permutation.apply(x, axes, made)
    finally:
        torch._C._functorch.set_single_level_autograd_function_allowed(allowed)
    return result


def _permute_vmap(info: Any, in_dims: Sequence[Any], x: torch.Tensor, axes: Sequence[int],
                  threads: int = 0) -> tuple[torch.Tensor, int]:
    return _op(_batched(in_dims[0], x, info.batch_size), _batched_axes(axes), threads), 0


def _out_kernel(x: torch.Tensor, axes: Sequence[int], out: torch.Tensor, threads: int = 0) -> None:
    _check_strided(x)
    _check_strided(out, "out")
    _check_writable(out)
    _check_out(x, _core._axes_of_sequence(axes, x.ndim), out)
    _copy(x, axes, out, threads)


def _out_fake(x: torch.Tensor, axes: Sequence[int], out: torch.Tensor, threads: int = 0) -> None:
    _check_out(x, _core._axes_of_sequence(axes, x.ndim), out)
    if x.numel() != 0 and torch._C._overlaps(x, out):
        raise ValueError("x and out share memory, wanted separate arrays")


def _out_vmap(info: Any, in_dims: Sequence[Any], x: torch.Tensor, axes: Sequence[int], out: torch.Tensor,
              threads: int = 0) -> tuple[None, None]:
    if in_dims[2] is None:
        raise RuntimeError("x is in torch.vmap, but out is not. Wanted: an out of the same torch.vmap, or no out")
    _op_out(_batched(in_dims[0], x, info.batch_size), _batched_axes(axes), out.movedim(in_dims[2], 0), threads)
    return None, None


def _transpose_kernel(x: torch.Tensor, threads: int = 0) -> None:
    _check_strided(x)
    _check_writable(x, "x")
    _core._transpose_memory(x, x, _current_stream(x), 0 if x.is_cuda else threads)


def _apply_kernel(x: torch.Tensor, axes: Sequence[int], dtype: torch.dtype, alpha: complex, beta: complex, conj: bool,
                  saturate: bool, second: torch.Tensor | None = None, scale: torch.Tensor | None = None,
                  threads: int = 0) -> torch.Tensor:
    made = _permuted(x, axes, dtype)
    _apply_out_kernel(x, axes, made, alpha, beta, conj, saturate, second, scale, threads)
    return made


def _apply_out_kernel(x: torch.Tensor, axes: Sequence[int], out: torch.Tensor, alpha: complex, beta: complex, conj: bool,
                      saturate: bool, second: torch.Tensor | None = None, scale: torch.Tensor | None = None,
                      threads: int = 0) -> None:
    from ._arithmetic import _Torch
    x, second = _with_memory(x), None if second is None else _with_memory(second)
    framework = _Torch(x)
    for name, one in (("x", x), ("out", out), ("second", second), ("scale", scale)):
        if one is not None:
            framework.check(one, name)
    _core._apply_memory(x, out, second, axes, (framework.type_name(x.dtype), framework.type_name(out.dtype)),
                        alpha=alpha, beta=beta, conj=conj, saturate=saturate, scale=scale, stream=_current_stream(x),
                        threads=threads)


_MATH = "Scalar alpha, Scalar beta, bool conj, bool saturate, Tensor? second=None, Tensor? scale=None, int threads=0"
_op = _define("permute_dims(Tensor x, int[] axes, int threads=0) -> Tensor", _permute_kernel,
              lambda x, axes, threads=0: _permuted(x, axes), _differentiated, _permute_vmap)
_op_out = _define("permute_dims_out(Tensor x, int[] axes, Tensor(a!) out, int threads=0) -> ()", _out_kernel, _out_fake,
                  _only_moves("a copy to out", "no out"), _out_vmap, writes=2)
_op_inplace = _define("transpose_inplace_(Tensor(a!) x, int threads=0) -> ()", _transpose_kernel, lambda x, threads=0: None,
                      _only_moves("a transpose in place", "matrix_transpose"),
                      _no_vmap("a transpose in place", "matrix_transpose"), writes=0)
# Transpose the stored bits: a lazy conjugate or negative stays one.
_library.impl("transpose_inplace_", lambda x, threads=0: _op_inplace(x.conj(), threads), "Conjugate")
_library.impl("transpose_inplace_", lambda x, threads=0: _op_inplace(torch._neg_view(x), threads), "Negative")
_op_apply = _define(f"apply(Tensor x, int[] axes, ScalarType dtype, {_MATH}) -> Tensor", _apply_kernel,
                    lambda x, axes, dtype, *_, **named: _permuted(x, axes, dtype),
                    _only_moves("arithmetic", "a call without it"), _no_vmap("arithmetic", "a call without it"))
_op_apply_out = _define(f"apply_out(Tensor x, int[] axes, Tensor(a!) out, {_MATH}) -> ()", _apply_out_kernel,
                        lambda x, axes, out, *_, **named: None, _only_moves("arithmetic", "a call without it"),
                        _no_vmap("arithmetic", "a call without it"), writes=2)


def _register_sharding() -> None:
    """Teach DTensor that a permutation permutes the sharded axes, and that nothing is exchanged."""
    if _sharding:
        return
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
    from torch.distributed.tensor._op_schema import RuntimeSchemaInfo
    from torch.distributed.tensor.experimental import register_sharding

    @register_sharding(_op)  # type: ignore[untyped-decorator]
    def rule(x: Any, axes: Sequence[int], threads: int = 0) -> list[tuple[list[Any], list[Any]]]:
        rest = [None] * (1 if threads == 0 else 2)
        positions = _inverse(axes)
        placements = [(Shard(positions[k]), Shard(k)) for k in range(len(positions))]
        placements += [(one, one) for one in (Replicate(), *(Partial(name) for name in ("sum", "avg", "max", "min")))]
        return [([after], [before, *rest]) for after, before in placements]

    # The rule depends on axes, so they belong to the key of DTensor's cache.
    DTensor._op_dispatcher.sharding_propagator.op_to_schema_info[_op] = RuntimeSchemaInfo(1, needs_pytree=True)
    _sharding.append(rule)


_sharding: list[Any] = []


# ---- the functions ----

def _axes_or_refusal(kind: str, axes: Any, rank: int) -> tuple[Any, bool, str]:
    """Return the axes or the parts of a pattern, or whether a TypeError is due and its sentence."""
    try:
        if kind == "parts":
            return _core._parts_of_pattern(axes, rank), False, ""
        if kind == "pattern":
            return _core._axes_of_pattern(axes, rank), False, ""
        return _core._axes_of_sequence(axes, rank), False, ""
    except (TypeError, ValueError) as found:
        return None, isinstance(found, TypeError), str(found)


# The compiler calls it once and keeps the result. Equivalent to torch.compiler.assume_constant_result, without the seconds
# for the import of the compiler.
_axes_or_refusal._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _splits_or_joins(pattern: Any) -> bool:
    try:
        return _core._splits_or_joins(pattern)
    except (TypeError, ValueError):  # no text: the function that takes the pattern refuses it
        return False


_splits_or_joins._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _resolved(kind: str, axes: Any, rank: int) -> list[Any]:
    """Return a permutation, or the parts of a pattern. The compiler traces this function."""
    if kind == "axes":
        if isinstance(axes, (str, set, frozenset, dict)) or axes is None:
            raise TypeError(f"axes is a {type(axes).__name__}. Wanted: a sequence with one integer for each axis of x")
        axes = tuple(axes)
        for k in axes:  # some versions of the compiler do not hand on the error of operator.index
            if isinstance(k, (float, complex, str)):
                raise TypeError(f"'{type(k).__name__}' object cannot be interpreted as an integer")
        axes = tuple([operator.index(k) for k in axes])
    found, is_type, sentence = _axes_or_refusal(kind, axes, rank)
    if found is None:
        if is_type:
            raise TypeError(sentence)
        raise ValueError(sentence)
    return list(found)


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
        return _operate(x, _resolved("axes", axes, x.ndim), out)
    if axes is None or isinstance(axes, str):
        _core._axes_of_sequence(axes, 0)  # raises a TypeError
    plain: torch.Tensor | None = _core._permute_tensor(x, axes, out)
    if plain is not None:
        return plain
    _check_tensors(x, out)
    return _operate(x, list(_core._axes_of_sequence(axes, x.ndim)), out)


def _check_tensors(x: Any, out: Any) -> None:
    _check_strided(x)
    if out is not None:
        _check_strided(out, "out")
        _check_stored(out)


def _without_dispatcher(x: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
    made: torch.Tensor | None = _core._permute_tensor(x, axes, None)
    return _op(x, axes) if made is None else made


def _operate(x: torch.Tensor, order: list[int], out: torch.Tensor | None, threads: int = 0) -> torch.Tensor:
    """Permute the axes with an operator; `order` is a permutation."""
    compiling = torch.compiler.is_compiling()
    made: torch.Tensor
    if out is None:
        if not compiling and _core._records_only(x):  # 16 instead of 25 microseconds (PyTorch 2.15, EPYC, 2026-11-26)
            made = _Permutation.apply(x, order, lambda: _without_dispatcher(x, order))
            return made
        made = _op(x, order, threads) if threads else _op(x, order)
        return made
    _check_out(x, order, out)
    if not compiling and (_is_distributed(x) or _is_distributed(out)):
        raise ValueError("out is given, but x or out is a DTensor. Wanted: no out")
    if torch.is_grad_enabled() and (x.requires_grad or out.requires_grad):
        raise ValueError("out is given, but x or out requires a gradient, which a copy to out does not record. "
                         "Wanted: no out, or torch.no_grad()")
    if not compiling and not _is_transformed() and _has_tangent(x, out):
        raise ValueError("out is given, but x or out has a tangent, which a copy to out does not propagate. "
                         "Wanted: no out")
    if not compiling and (_is_transformed() or torch._is_functional_tensor(out)):
        out.copy_(_op(x, order))
    elif threads:
        _op_out(x, order, out, threads)
    else:
        _op_out(x.resolve_conj().resolve_neg() if compiling else x, order, out)
    return out


def matrix_transpose(x: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """Transpose the last two axes; see `permute_dims`."""
    if torch.compiler.is_compiling():
        if x.ndim < 2:
            raise ValueError(f"x has {x.ndim} {'axis' if x.ndim == 1 else 'axes'}, wanted 2 or more: the last two are swapped")
        return _operate(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2], out)
    plain: torch.Tensor | None = _core._permute_tensor(x, None, out)
    if plain is not None:
        return plain
    _check_tensors(x, out)
    return _operate(x, list(_core._resolve_axes(None, x.ndim)), out)


def rearrange(x: torch.Tensor, pattern: str, /, *, out: torch.Tensor | None = None, **sizes: int) -> torch.Tensor:
    """Permute, split and join the axes by name, as in ``"b (h w) c -> b c h w", h=8``; see `cornerturn.rearrange`."""
    if sizes or _splits_or_joins(pattern):
        _check_tensors(x, out)
        names, order, joins = _resolved("parts", pattern, x.ndim)
        parts, axes, joined = _patterns.extents((names, order, joins), x.shape, pattern, sizes)
        if out is None:
            return permute_dims(x.reshape(parts), axes).reshape(joined)
        permute_dims(x.reshape(parts), axes, out=_patterns.with_parts(out, "out", joined, [parts[k] for k in axes]))
        return out
    if torch.compiler.is_compiling():
        return _operate(x, _resolved("pattern", pattern, x.ndim), out)
    if isinstance(pattern, str):
        plain: torch.Tensor | None = _core._permute_tensor(x, pattern, out)
        if plain is not None:
            return plain
    _check_tensors(x, out)
    return _operate(x, list(_core._axes_of_pattern(pattern, x.ndim)), out)


def transpose_inplace_(x: torch.Tensor) -> torch.Tensor:
    """Transpose the last two axes in the memory of `x`; see `cornerturn.transpose_inplace_`."""
    if not torch.compiler.is_compiling():
        plain: torch.Tensor | None = _core._transpose_tensor(x)
        if plain is not None:
            return plain
    return _operate_inplace(x)


def _operate_inplace(x: torch.Tensor, threads: int = 0) -> torch.Tensor:
    compiling = torch.compiler.is_compiling()
    if not compiling:
        _check_strided(x)
    if x.ndim < 2:
        raise ValueError(f"x has {x.ndim} {'axis' if x.ndim == 1 else 'axes'}, wanted 2 or more: the last two are swapped")
    if torch.is_grad_enabled() and x.requires_grad:
        raise RuntimeError("x requires a gradient, which a transpose in place does not record. "
                           "Wanted: matrix_transpose, or torch.no_grad()")
    if not compiling:
        if _is_transformed():
            raise RuntimeError("x is in a transformation of torch.func. Wanted: matrix_transpose")
        if _has_tangent(x):
            raise RuntimeError("x has a tangent, which a transpose in place does not propagate. Wanted: matrix_transpose")
        if _is_distributed(x):
            raise RuntimeError("x is a DTensor, which a transpose in place does not support. Wanted: matrix_transpose")
    *batch, rows, cols = x.shape
    if compiling and x.dtype.is_complex:  # x may be a lazy conjugate, which the functional form of an operator does not take
        x.view(*batch, cols, rows).copy_(_op(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2]))
    elif threads:
        _op_inplace(x, threads)
    else:
        _op_inplace(x)
    if compiling:  # a dynamic extent must not become a constant
        from torch.fx.experimental.symbolic_shapes import statically_known_true
        is_square = statically_known_true(rows == cols)
    else:
        is_square = rows == cols
    return x if is_square else x.view(*batch, cols, rows)


def _side_stream(x: torch.Tensor, stream: object) -> Any:
    handle = _core._stream_handle(stream)
    if handle in (0, _LEGACY_STREAM):
        return torch.cuda.default_stream(x.device)
    return torch.cuda.ExternalStream(handle, device=x.device)


def _permute(x: torch.Tensor, axes: Sequence[int], out: torch.Tensor | None, stream: object,
             plan: _core.plan | None, threads: int = 0) -> torch.Tensor:
    """`cornerturn.permute_dims` for tensors that the gate rejects, and for a caller's stream."""
    _check_strided(x)
    if out is not None:
        if not isinstance(out, torch.Tensor):
            raise TypeError(f"out is a {_kind(out)}, but x is a torch.Tensor. Wanted: a torch.Tensor")
        _check_strided(out, "out")
        _check_stored(out)
    _check_cuda_stream(stream, x, "torch.Tensor", x.is_cuda)
    if threads != 0 and not x.is_cuda and (torch.is_grad_enabled() and x.requires_grad or _is_transformed()
                                           or _has_tangent(x)):
        raise ValueError("threads is given, but x records a gradient, is in a transformation, or has a tangent. Wanted: no "
                         "threads, or torch.no_grad()")
    if stream is not None:
        side = _side_stream(x, stream)
        with torch.cuda.stream(side):
            made = _permute(x, axes, out, None, plan)
        for used in (x, made):  # the allocator must not reuse their memory before the stream has finished
            used.record_stream(side)
        return made
    if plan is None:
        return _operate(x, list(axes), out, threads) if threads else permute_dims(x, axes, out=out)
    for one, name in ((x, "x"), (out, "out")):
        if one is not None and torch.is_grad_enabled() and one.requires_grad:
            raise ValueError(f"{name} requires a gradient, which a plan does not record. "
                             "Wanted: cornerturn.permute_dims, or torch.no_grad()")
    if not _is_transformed() and _has_tangent(x, x if out is None else out):
        raise ValueError("x or out has a tangent, which a plan does not propagate. Wanted: cornerturn.permute_dims")
    for one, name in ((x, "x"), (out, "out")):
        if one is not None:
            _check_unrecorded(one, name, "a plan")
    if out is not None:
        _check_out(x, axes, out)
    _core._check_plan(plan, x, out)
    if _core._are_plain_tensors([x] if out is None else [x, out]):  # for the caller's stream
        made = _core._permute_tensor(x, axes, out, plan)
        return made
    return _operate(x, list(axes), out)


def _transpose_inplace(x: torch.Tensor, stream: object, threads: int = 0) -> torch.Tensor:
    _check_strided(x)
    _check_cuda_stream(stream, x, "torch.Tensor", x.is_cuda)
    if stream is None:
        return _operate_inplace(x, threads)
    side = _side_stream(x, stream)
    with torch.cuda.stream(side):
        result = transpose_inplace_(x)
    x.record_stream(side)
    return result


# ---- batches and arithmetic ----

# The batches of captured graphs, for as long as the process: a graph replays their addresses, and its end is not known.
_captured: list[_core._batch] = []


def _hold_if_captured(held: _core._batch, first: torch.Tensor, stream: object) -> None:
    if not first.is_cuda:
        return
    with contextlib.nullcontext() if stream is None else torch.cuda.stream(_side_stream(first, stream)):
        if torch.cuda.is_current_stream_capturing():
            _captured.append(held)


def _execute_batch(items: Sequence[tuple[torch.Tensor, torch.Tensor]], axes: Sequence[int] | str | None,
                   stream: object) -> None:
    """Execute a batch whose tensors the gate rejects, one item after another."""
    for number, (x, out) in enumerate(items):
        for one, name in ((x, "x"), (out, "out")):
            try:
                _check_batch_item(one, name)
            except (TypeError, ValueError) as found:
                raise type(found)(f"item {number}: {found}") from None
    for x, out in items:
        _permute(x, _core._resolve_axes(axes, x.ndim), out, stream, None)


def _record_stream(tensors: Iterable[torch.Tensor], stream: object) -> None:
    side = None
    for used in tensors:
        side = _side_stream(used, stream) if side is None else side
        used.record_stream(side)


def _increment_version(outs: Iterable[torch.Tensor]) -> None:
    torch.autograd.graph.increment_version(outs)


# ---- accelerate ----

_lock = threading.Lock()
_installed: frozenset[str] = frozenset()  # the types of devices that are switched on
# In the order of the calls: a switch, and each `with` block that has not ended. True: a block. A dead reference is a switch
# that can no longer become a block.
_switches: list[tuple[bool, weakref.ref[accelerate] | accelerate, frozenset[str]]] = []


def _apply_switches() -> None:
    global _installed
    on: frozenset[str] = frozenset()
    for is_block, _, devices in _switches:
        on = on | devices if is_block and devices else devices
    _core._switch_copies("cpu" in on, "cuda" in on)
    _installed = on


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
    The switch affects all threads, from the call on. As a context manager it affects them until the
    end of the block. Blocks may be nested, overlap, and run in several threads: a type of device is on
    until the last block that switched it on has ended. ``accelerate(False)`` switches all off, as a
    block until its end. PyTorch still executes copies of less than 64 KiB, and copies to elements that are
    a step apart. It also executes copies from such elements, unless both tensors have long axes and, on
    the CPU, elements of 1 or 2 bytes: only there cornerturn was faster in all measurements. On a GPU it
    also executes copies of broadcast tensors. Code compiled by
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
            raise TypeError(f"mode is {_core._shown(mode)}. Wanted: True or False, and the devices by name, as in "
                            "devices=('cpu',)")
        if isinstance(devices, str) or not isinstance(devices, Iterable):
            raise TypeError(f"devices is {_core._shown(devices)}. Wanted: a sequence, as in devices=('cuda', 'cpu')")
        devices = frozenset(devices)
        if unknown := devices - {"cuda", "cpu"}:
            raise ValueError(f"devices has {sorted(map(str, unknown))}. Wanted: 'cuda' and 'cpu' only")
        self._devices = devices if mode else frozenset()
        if "cuda" in self._devices and torch.cuda.is_initialized():  # load kernels now: impossible during a capture
            _core.matrix_transpose(torch.empty(2, 2, device="cuda"))
        with _lock:
            dead = [k for k, (is_block, of, _) in enumerate(_switches) if not is_block and of() is None]  # type: ignore[operator]
            for k in reversed(dead[:-1]):  # the last of them hides them for ever
                del _switches[k]
            _switches.append((False, weakref.ref(self), self._devices))
            try:
                _apply_switches()
            except BaseException:
                _switches.pop()
                raise

    def __enter__(self) -> accelerate:
        with _lock:
            _switches[:] = [one for one in _switches if one[0] or one[1]() is not self]  # type: ignore[operator]
            _switches.append((True, self, self._devices))
            _apply_switches()
        return self

    def __exit__(self, *exception: object) -> None:
        with _lock:
            for k in reversed(range(len(_switches))):
                if _switches[k][:2] == (True, self):
                    del _switches[k]
                    break
            _apply_switches()


# ---- the compiler ----

def _hide_from_compiler() -> None:
    """Keep the compiler away from frames of this module that run eagerly.

    It may compile such a frame alone, where torch.compiler.is_compiling() is true. A compiled function still inlines them.
    """
    try:
        from torch._C._dynamo.eval_frame import skip_code
    except ImportError:
        return
    seen: list[Any] = [*globals().values(), *vars(_Permutation).values()]
    for one in seen:
        one = getattr(one, "__func__", one)
        if getattr(one, "__module__", None) == __name__ and hasattr(one, "__code__") and one.__name__ not in __all__:
            skip_code(one.__code__)
            for inner in one.__code__.co_consts:
                if hasattr(inner, "co_code"):
                    skip_code(inner)


_hide_from_compiler()
