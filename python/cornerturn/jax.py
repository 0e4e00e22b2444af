"""JAX: `permute_dims` as a primitive, for ``jit``, ``vmap``, ``grad`` and their compositions.

XLA calls the library directly, on the CPU and on CUDA. Under ``jit``, XLA itself fuses a transpose with adjacent
operations. These functions are for large transposes that XLA cannot fuse.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from . import _core
from ._frameworks import _kind

__all__ = ["matrix_transpose", "permute_dims", "rearrange"]

_handlers = _core._jax_handlers()
if not _handlers:
    raise ImportError("this build of cornerturn has no handlers for JAX: it was built without jaxlib's headers. "
                      "Wanted: a build with jaxlib installed")
_platforms = {"cpu": "cpu", "CUDA": "cuda"} if any(one["name"] == "cuda" and one["present"] for one in _core.backends()) \
    else {"cpu": "cpu"}

_permute = Primitive("cornerturn_permute_dims")


def _inverse(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(axes.index(k) for k in range(len(axes)))


def _abstract(x: Any, *, axes: tuple[int, ...]) -> Any:
    return x.update(shape=tuple(x.shape[k] for k in axes))


def _lower(ctx: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    return jax.ffi.ffi_lowering("cornerturn_permute_dims")(ctx, x, axes=numpy.array(axes, dtype=numpy.int64))


def _backward(cotangent: Any, x: Any, *, axes: tuple[int, ...]) -> list[Any]:
    if isinstance(cotangent, ad.Zero):
        return [ad.Zero(x.aval)]
    return [_permute.bind(cotangent, axes=_inverse(axes))]


def _batch(operands: Sequence[Any], dims: Sequence[int], *, axes: tuple[int, ...]) -> tuple[Any, int]:
    (x,), (batch,) = operands, dims
    mapped = tuple(k + (k >= batch) for k in axes)  # positions of the other axes in x
    return _permute.bind(x, axes=(batch, *mapped)), 0


for _platform, _name in _platforms.items():
    jax.ffi.register_ffi_target("cornerturn_permute_dims", _handlers[_platform], platform=_platform)
    mlir.register_lowering(_permute, _lower, platform=_name)
_permute.def_impl(jax.jit(_permute.bind, static_argnames="axes"))
_permute.def_abstract_eval(_abstract)
ad.deflinear2(_permute, _backward)
batching.primitive_batchers[_permute] = _batch


def _is_whole_bytes(dtype: Any) -> bool:
    if jax.dtypes.issubdtype(dtype, jax.dtypes.extended):  # such as the keys of jax.random
        return False
    if jax.dtypes.issubdtype(dtype, numpy.integer):
        return bool(jax.numpy.iinfo(dtype).bits % 8 == 0)
    return bool(dtype == bool or jax.numpy.finfo(dtype).bits % 8 == 0)


def _array(x: Any) -> Any:
    if not hasattr(x, "shape"):
        raise TypeError(f"x is a {_kind(x)}. Wanted: an array of JAX or NumPy")
    try:
        return jax.numpy.asarray(x)
    except TypeError:
        raise TypeError(f"x is a {_kind(x)} of dtype {getattr(x, 'dtype', None)}. Wanted: a dtype of JAX") from None


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


def _permuted(x: Any, order: tuple[int, ...]) -> jax.Array:
    if not _is_whole_bytes(x.dtype):
        raise TypeError(f"x has dtype {x.dtype}. Wanted: elements of whole bytes")
    made: jax.Array = _permute.bind(x, axes=order)
    return made


def matrix_transpose(x: jax.Array) -> jax.Array:
    """Transpose the last two axes; see `permute_dims`."""
    x = _array(x)
    return _permuted(x, _core._resolve_axes(None, x.ndim))


def rearrange(x: jax.Array, pattern: str) -> jax.Array:
    """Permute the axes by name, as in ``"n c h w -> n h w c"``; see `permute_dims`."""
    x = _array(x)
    return _permuted(x, _core._axes_of_pattern(pattern, x.ndim))
