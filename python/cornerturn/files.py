"""Arrays larger than memory, from file to file: `.npy`, Zarr, HDF5, NetCDF-4, TIFF, and any two array-likes.

An array is read once and written once, in boxes that fit the memory. The package needs NumPy, and for other files zarr, h5py,
h5netcdf or tifffile.
"""
from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Sequence
from typing import Any

import numpy

from ._boxes import Plan, Store, axes_of, bytes_of
from ._stores import files_of, made, opened, store

__all__ = ["transpose"]


def transpose(src: Any, dst: Any = None, axes: Sequence[int] | None = None, *, chunks: Sequence[int] | None = None,
              memory: int | str | None = None, threads: int = 0, overwrite: bool = False, **options: Any) -> Any:
    """Permute the axes of a stored array into another store, box by box, in bounded memory.

    Axis ``k`` of `dst` is axis ``axes[k]`` of `src`. A box of `dst` begins and ends at its chunks, so each chunk is written
    once. Boxes follow the chunks of `src` as far as the memory allows. Several threads read, transpose and write.

    Parameters
    ----------
    src : path or array-like
        ``"a.npy"``, ``"a.zarr"`` (version 2 or 3), ``"a.zarr/name"``, ``"a.h5::/name"``, ``"a.nc::name"`` (NetCDF-4),
        ``"a.tif"``, ``"z*.tif"`` (one image each), or an object with `shape`, `dtype` and ``__getitem__``: a
        ``numpy.memmap``, an array of zarr or tensorstore, a dataset of h5py.
    dst : path or array-like, optional
        A path of these formats, which is made; an object with `shape`, `dtype` and ``__setitem__``. None: a new NumPy
        array, which `memory` does not include.
    axes : sequence of int, optional
        A permutation of the axes of `src`; negative numbers count from the end. None reverses the axes.
    chunks : sequence of int, optional
        The chunk of a new array of Zarr, HDF5 or NetCDF, in elements along each axis of `dst`. None permutes the chunk of `src`.
    memory : int or str, optional
        The most bytes of all buffers, or a text such as ``"4GiB"``. None is half of the available memory.
    threads : int, optional
        The threads that work on boxes. 0: one for each CPU, at least 2 and at most 8.
    overwrite : bool, optional
        Whether a path that exists is replaced after the new one is complete.
    options : optional
        More arguments for ``zarr.create_array``, such as ``compressors``, ``shards`` and ``zarr_format``, for
        ``create_dataset`` of h5py or ``create_variable`` of h5netcdf, such as ``compression``, or for ``tifffile.memmap``. By
        default the codecs, the attributes, the fill value and the names of the dimensions are taken from `src`.

    Returns
    -------
    path or array-like
        `dst`, or the new NumPy array.

    Raises
    ------
    RuntimeError
        The file `src` changed during the work.
    TypeError
        An argument has a wrong type, or the elements have no fixed size.
    ValueError
        `axes`, `chunks`, `memory` or the shape of `dst` do not fit.
    FileExistsError
        The path `dst` exists, and `overwrite` is False.
    ImportError
        The package of a format is not installed.

    Any exception, also one of a store, leaves no new path.

    Examples
    --------
    >>> import numpy as np, cornerturn.files
    >>> x = np.arange(6, dtype=np.int16).reshape(2, 3)
    >>> cornerturn.files.transpose(x, memory="1MiB").tolist()
    [[0, 3], [1, 4], [2, 5]]
    """
    limit = bytes_of(memory)
    workers = _threads(threads)
    with contextlib.ExitStack() as stack:
        path = _path(src)
        source = store(src if path is None else stack.enter_context(opened(path)), "src")
        before = None if path is None else _state_of(path)
        order = axes_of(axes, len(source.shape), "src")
        shape = tuple(source.shape[axis] for axis in order)
        size = _chunks(chunks, len(shape))
        target_path = _path(dst)
        if target_path is None and (options or size is not None):
            name = "chunks" if size is not None else next(iter(options))
            raise TypeError(f"{name} is given, but dst is no path. Wanted: no {name}, because dst is not made by this call")
        if target_path is not None:
            array = stack.enter_context(made(target_path, source.array, source, order, size, overwrite, options))
        else:
            array = dst if dst is not None else numpy.empty(shape, source.dtype)
        target = store(array, "dst")
        _check(source, target, shape)
        if not shape:
            target.array[()] = source.array[()]
        elif 0 not in shape:
            Plan(source, target, order, limit, workers).run()
        if path is not None and _state_of(path) != before:
            raise RuntimeError(f"src is '{path}', which changed during the transpose; there is no output")
        return array if dst is None else dst


def _path(given: Any) -> str | None:
    return os.fsdecode(given) if isinstance(given, (str, bytes, os.PathLike)) else None


def _state_of(path: str) -> tuple[int, ...]:
    """Return what a change of a file changes too. Of a folder of Zarr that is a new or a removed name."""
    found = [os.stat(one) for one in files_of(path)]
    return tuple(number for one in found for number in (one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns))


def _chunks(chunks: Sequence[int] | None, rank: int) -> tuple[int, ...] | None:
    if chunks is None:
        return None
    try:
        size = tuple(operator.index(one) for one in chunks)
    except TypeError:
        raise TypeError(f"chunks is {chunks!r}. Wanted: a sequence of integers, one for each axis of dst") from None
    if len(size) != rank or min(size, default=1) < 1:
        raise ValueError(f"chunks is {size}, wanted {rank} numbers of 1 or more, one for each axis of dst")
    return size


def _threads(threads: int) -> int:
    if not isinstance(threads, int) or isinstance(threads, bool):
        raise TypeError(f"threads is a {type(threads).__name__}. Wanted: an integer")
    if threads < 0:
        raise ValueError(f"threads is {threads}, wanted 0 or more")
    return threads or min(8, max(2, len(os.sched_getaffinity(0))))


def _check(src: Store, dst: Store, shape: tuple[int, ...]) -> None:
    if dst.shape != shape:
        raise ValueError(f"dst has shape {dst.shape}, wanted {shape}: the shape of src with its axes permuted")
    if dst.dtype != src.dtype:
        raise TypeError(f"dst has dtype {dst.dtype}, wanted {src.dtype}, the dtype of src")
    if src.direct and dst.direct and numpy.may_share_memory(src.array, dst.array):
        raise ValueError("dst shares memory with src. Wanted: another array")
