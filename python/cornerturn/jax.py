"""JAX: `permute_dims` as a primitive, for ``jit``, ``vmap``, ``grad`` and their compositions.

XLA calls the library directly, on the CPU and on CUDA. Under ``jit``, XLA itself fuses a transpose with adjacent
operations. These functions are for large transposes that XLA cannot fuse.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from . import _core, _jax_sharding, _patterns
from ._core import _kind

__all__ = ["matrix_transpose", "permute_dims", "rearrange"]

_TARGET = "cornerturn_permute_dims"  # of XLA's foreign function interface
_handlers = _core._jax_handlers()
if not _handlers:
    raise ImportError("this build of cornerturn has no handlers for JAX: it was built without jaxlib's headers. "
                      "Wanted: a build with jaxlib installed")
_platforms = {"cpu": "cpu", "CUDA": "cuda"} if any(one["name"] == "cuda" and one["present"] for one in _core.backends()) \
    else {"cpu": "cpu"}

_permute = Primitive(_TARGET)


def _type(x: Any, *, axes: tuple[int, ...]) -> Any:
    """Return the type of the result. JAX's own rule also permutes its sharding, and keeps whatever else a type has."""
    return jax.lax.transpose_p.abstract_eval(x, permutation=axes)[0]


_compiled = jax.jit(_permute.bind, static_argnames="axes")


def _run(x: Any, *, axes: tuple[int, ...]) -> Any:
    if jax.config.jax_disable_jit:  # jit would call this function again
        with jax.disable_jit(False):
            return _compiled(x, axes=axes)
    return _compiled(x, axes=axes)


_lower_to_xla = mlir.lower_fun(lambda x, axes: jax.lax.transpose(x, axes), multiple_results=False)


def _is_too_deep(shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Return whether more than 16 axes longer than 1 are left where neighbours in both arrays are one axis."""
    longer = [k for k in axes if shape[k] != 1]
    place = {k: number for number, k in enumerate(sorted(longer))}
    return sum(place[k] != place[before] + 1 for before, k in zip(longer, longer[1:], strict=False)) >= 16


def _device_count(context: Any) -> int:
    """Return the number of devices among which XLA divides the program. In a manual region one device has all its data."""
    if isinstance(context, mlir.SPMDAxisContext):
        return 1 if set(context.manual_axes) == set(context.mesh.axis_names) else int(context.mesh.size)
    return context.num_devices if isinstance(context, mlir.ShardingContext) else 1


def _call_with_operand(x: Any, *, axes: tuple[int, ...]) -> Any:
    made = jax.ShapeDtypeStruct(tuple(x.shape[k] for k in axes), x.dtype)
    return jax.ffi.ffi_call(_TARGET + "_by_operand", made)(x, numpy.array(axes, dtype=numpy.int32))


_lower_with_operand = mlir.lower_fun(_call_with_operand, multiple_results=False)


def _lower(ctx: Any, x: Any, *, axes: tuple[int, ...], by_operand: bool = False) -> Any:
    module = ctx.module_context
    divided = _device_count(module.axis_context) > 1
    # An exported program must run where cornerturn is not installed, and may have symbols in its shapes.
    if (module.lowering_parameters.for_export or _is_too_deep(ctx.avals_in[0].shape, axes)
            or (divided and not _jax_sharding.present)):
        return _lower_to_xla(ctx, x, axes=axes)
    if by_operand:
        return _lower_with_operand(ctx, x, axes=axes)
    made = jax.ffi.ffi_lowering(_TARGET)(ctx, x, axes=numpy.array(axes, dtype=numpy.int64))
    if divided and jax.config.jax_use_shardy_partitioner:
        made[0].owner.attributes["sdy.sharding_rule"] = _jax_sharding.rule(ctx.avals_in[0].shape, axes)
    return made


def _backward(cotangent: Any, x: Any, *, axes: tuple[int, ...]) -> list[Any]:
    return [_permute.bind(cotangent, axes=tuple(axes.index(k) for k in range(len(axes))))]


def _batch(operands: Sequence[Any], dims: Sequence[int], *, axes: tuple[int, ...]) -> tuple[Any, int]:
    (x,), (batch,) = operands, dims
    mapped = tuple(k + (k >= batch) for k in axes)  # positions of the other axes in x
    return _permute.bind(x, axes=(batch, *mapped)), 0


_permute.def_impl(_run)
_permute.def_abstract_eval(_type)
ad.deflinear2(_permute, _backward)
batching.primitive_batchers[_permute] = _batch
mlir.register_lowering(_permute, _lower_to_xla)  # on other platforms
for _platform, _name in _platforms.items():
    jax.ffi.register_ffi_target(_TARGET, _handlers[_platform], platform=_platform)
    mlir.register_lowering(_permute, _lower, platform=_name)
_jax_sharding.register(_TARGET)

if jax.__version_info__ < (0, 7, 2):
    # The compiler for the CPU ends the process at a call with attributes whose operand is a concatenation.
    jax.ffi.register_ffi_target(_TARGET + "_by_operand", _handlers["cpu by operand"], platform="cpu")
    mlir.register_lowering(_permute, functools.partial(_lower, by_operand=True), platform="cpu")
if jax.__version_info__ < (0, 6):
    from jax.experimental import shard_map
    shard_map.register_standard_check(_permute)
    shard_map.register_standard_rewrite(_permute)


@functools.cache
def _is_whole_bytes(dtype: Any) -> bool:
    if jax.dtypes.issubdtype(dtype, jax.dtypes.extended) or dtype == jax.dtypes.float0:  # keys of jax.random; no tangent
        return False
    if jax.dtypes.issubdtype(dtype, numpy.integer):
        return bool(jax.numpy.iinfo(dtype).bits % 8 == 0)
    return bool(dtype == bool or jax.numpy.finfo(dtype).bits % 8 == 0)


def _array(x: Any) -> Any:
    if isinstance(x, jax.Array):
        return x
    if not hasattr(x, "shape") and not hasattr(x, "__jax_array__"):
        raise TypeError(f"x is a {_kind(x)}. Wanted: an array of JAX or NumPy")
    if isinstance(x, getattr(jax, "Ref", ())):
        raise TypeError("x is a reference. Wanted: an array, such as x[...]")
    try:
        return jax.numpy.asarray(x)
    except TypeError:
        raise TypeError(f"x is a {_kind(x)} of dtype {getattr(x, 'dtype', None)}. Wanted: a dtype of JAX") from None


def _memory(x: Any) -> tuple[int, tuple[int, ...], tuple[int, ...], int, bool]:
    """Describe `x` for a plan, by its type alone: a tracer has no memory yet."""
    _check(x)
    platform = jax.default_backend() if isinstance(x, jax.core.Tracer) else next(iter(x.devices())).platform
    if platform not in ("cpu", "gpu"):
        raise TypeError(f"x is a JAX array on a {platform}. Wanted: the CPU or a CUDA device, for a plan")
    size = x.dtype.itemsize
    strides = tuple(size * math.prod(x.shape[k + 1:]) for k in range(x.ndim))
    return 0, x.shape, strides, size, platform == "gpu"


def permute_dims(x: jax.Array, axes: Sequence[int]) -> jax.Array:
    """Permute the axes into a new array.

    Parameters
    ----------
    x : jax.Array
        On the CPU or a CUDA device; any element type of whole bytes.
    axes : sequence of int
        A permutation of ``0 ... x.ndim - 1``; negative numbers count from the end.

    Returns
    -------
    jax.Array
        Axis ``k`` is axis ``axes[k]`` of `x`.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, cornerturn.jax
    >>> swap = jax.jit(lambda x: cornerturn.jax.permute_dims(x, (1, 0)))
    >>> swap(jnp.zeros((3, 5))).shape
    (5, 3)
    """
    x = _array(x)
    return _permuted(x, _core._axes_of_sequence(axes, x.ndim))


def _check(x: Any) -> None:
    if not _is_whole_bytes(x.dtype):
        raise TypeError(f"x has dtype {x.dtype}. Wanted: elements of whole bytes")


def _permuted(x: Any, order: tuple[int, ...]) -> jax.Array:
    _check(x)
    made: jax.Array = _permute.bind(x, axes=order)
    return made


def matrix_transpose(x: jax.Array) -> jax.Array:
    """Transpose the last two axes; see `permute_dims`."""
    x = _array(x)
    return _permuted(x, _core._resolve_axes(None, x.ndim))


def rearrange(x: jax.Array, pattern: str, /, **sizes: int) -> jax.Array:
    """Permute, split and join the axes by name, as in ``"b (h w) c -> b c h w", h=8``; see `cornerturn.rearrange`."""
    x = _array(x)
    if sizes or _core._splits_or_joins(pattern):
        found = _core._parts_of_pattern(pattern, x.ndim)
        parts, axes, joined = _patterns.extents(found, x.shape, pattern, sizes)
        return _permuted(x.reshape(parts), axes).reshape(joined)
    return _permuted(x, _core._axes_of_pattern(pattern, x.ndim))
