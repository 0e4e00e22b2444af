"""Dask: `permute_dims` of arrays in chunks, which stays lazy.

Each block goes to a kernel of cornerturn. Dask's own ``rechunk`` exchanges the blocks between workers.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dask.array
import numpy

from . import _core
from ._boxes import axes_of

__all__ = ["permute_dims"]


def permute_dims(x: Any, axes: Sequence[int] | None = None, chunks: Any = None) -> Any:
    """Permute the axes of a Dask array, without computing it.

    Axis ``k`` of the result is axis ``axes[k]`` of `x`. Its blocks are contiguous in memory;
    ``dask.array.transpose`` makes views. A worker permutes a block in one thread, because Dask runs one task on each core.

    Parameters
    ----------
    x : dask.array.Array
        Its blocks are arrays of NumPy or CuPy, of any dtype but Python objects.
    axes : sequence of int, optional
        A permutation of the axes of `x`; negative numbers count from the end. None reverses the axes.
    chunks : optional
        The chunks of the result, as ``dask.array.rechunk`` takes them. None permutes the chunks of `x`. The blocks of `x` are
        rechunked before they are permuted: by messages between the workers (``"p2p"``) if Dask runs on a cluster.

    Returns
    -------
    dask.array.Array

    Raises
    ------
    TypeError
        `x` is no Dask array, or its blocks are no arrays that the kernels take.
    ValueError
        `axes` or `chunks` do not fit `x`.

    Examples
    --------
    >>> import dask.array, cornerturn.dask
    >>> x = dask.array.ones((400, 300, 20), chunks=(100, 300, 20))
    >>> y = cornerturn.dask.permute_dims(x, (2, 0, 1), chunks={0: 5, 1: -1})
    >>> y.shape, y.chunksize
    ((20, 400, 300), (5, 400, 300))
    """
    if not isinstance(x, dask.array.Array):
        raise TypeError(f"x is a {_core._kind(x)}. Wanted: an array of Dask")
    _check_blocks(x)
    order = axes_of(axes, x.ndim, "x")
    if chunks is not None:
        x = x.rechunk(_chunks_before(chunks, order))
    if order == tuple(range(x.ndim)):
        return x
    return dask.array.blockwise(_permute_block, order, x, tuple(range(x.ndim)), axes=order, dtype=x.dtype,
                                meta=x._meta.transpose(order), name=None, token="cornerturn-permute_dims")


def _permute_block(x: Any, *, axes: tuple[int, ...]) -> Any:
    """Permute a block. It may be a scalar of NumPy: Dask makes some from blocks of one element."""
    if isinstance(x, (numpy.ndarray, numpy.generic)):
        return _core.permute_dims(numpy.asanyarray(x), axes, threads=1)
    return _core.permute_dims(x, axes)


def _check_blocks(x: Any) -> None:
    meta = x._meta
    family = type(meta).__module__.partition(".")[0]
    if family not in ("numpy", "cupy") or isinstance(meta, numpy.ma.MaskedArray):
        raise TypeError(f"x has blocks of {_core._kind(meta)}. Wanted: blocks of NumPy or CuPy, or dask.array.transpose")
    if x.dtype.hasobject:
        raise TypeError(f"x has dtype {x.dtype}. Wanted: elements of a fixed size, or dask.array.transpose")


def _chunks_before(chunks: Any, order: tuple[int, ...]) -> Any:
    """Return the chunks of x for the chunks of the result. A number or a text is for all axes, so it stays."""
    rank = len(order)
    if isinstance(chunks, Mapping):
        wrong = [axis for axis in chunks if not -rank <= axis < rank]
        if wrong:
            raise ValueError(f"chunks has axis {wrong[0]}, wanted axes from 0 to {rank - 1} of the result")
        return {order[axis]: size for axis, size in chunks.items()}
    if isinstance(chunks, (tuple, list)) and rank > 1:
        if len(chunks) != rank:
            raise ValueError(f"chunks is {chunks!r}, wanted {rank} entries, one for each axis of the result")
        before = list(chunks)
        for axis, size in zip(order, chunks):
            before[axis] = size
        return tuple(before)
    return chunks
