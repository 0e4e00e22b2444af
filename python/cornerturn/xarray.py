"""xarray: the accessor ``cornerturn`` of ``DataArray`` and ``Dataset``. An import of this module registers it."""
from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import xarray

from . import _core

__all__ = ["DataArrayAccessor", "DatasetAccessor"]

_SIZES_OF_CHUNKS = {"chunks", "preferred_chunks", "chunksizes", "shards"}  # of an encoding; xarray's transpose leaves them as they are


@xarray.register_dataarray_accessor("cornerturn")
class DataArrayAccessor:
    """The methods of ``array.cornerturn``."""

    def __init__(self, array: xarray.DataArray) -> None:
        self._array = array

    def transpose(self, *dim: Hashable, transpose_coords: bool = True, missing_dims: Any = "raise",
                  chunks: Mapping[Any, Any] | None = None) -> xarray.DataArray:
        """Permute the dimensions with the kernels of cornerturn.

        The result equals ``array.transpose(...)``, but its elements are contiguous in memory. An array of Dask stays
        lazy, and each block is contiguous. Other arrays are loaded and permuted at once. xarray makes a view of them,
        and a later operation copies it or reads it with large strides.

        Parameters
        ----------
        *dim : hashable
            The dimensions in the wanted order. Without them the order is reversed; ``...`` stands for all others.
        transpose_coords : bool, default True
            Whether coordinates of several dimensions are permuted too.
        missing_dims : {"raise", "warn", "ignore"}, default "raise"
            What happens if `dim` has a name that is no dimension.
        chunks : mapping, optional
            The chunks of the result for names of dimensions, as in ``array.chunk``. The array must be in chunks already.

        Returns
        -------
        xarray.DataArray

        Examples
        --------
        >>> import xarray, cornerturn.xarray
        >>> a = xarray.DataArray([[1, 2, 3], [4, 5, 6]], dims=("time", "x"))
        >>> b = a.cornerturn.transpose("x", "time")
        >>> b.dims, b.values.flags.c_contiguous
        (('x', 'time'), True)
        """
        found = self._array.transpose(*dim, transpose_coords=transpose_coords, missing_dims=missing_dims)
        _check_chunks(chunks, found.dims)
        data = _permuted(self._array.variable, found.variable, chunks)
        coords = {name: _permuted(self._array.coords[name].variable, coord.variable, None)
                  for name, coord in found.coords.items() if coord.dims != self._array.coords[name].dims}
        made = found.copy(deep=False, data=data.data).assign_coords(coords)
        made.encoding = data.encoding
        return made


@xarray.register_dataset_accessor("cornerturn")
class DatasetAccessor:
    """The methods of ``dataset.cornerturn``."""

    def __init__(self, dataset: xarray.Dataset) -> None:
        self._dataset = dataset

    def transpose(self, *dim: Hashable, missing_dims: Any = "raise",
                  chunks: Mapping[Any, Any] | None = None) -> xarray.Dataset:
        """Permute the dimensions of all arrays with the kernels of cornerturn.

        The result equals ``dataset.transpose(...)``, but the elements of each array are contiguous in memory. Arrays of
        Dask stay lazy. The other ones that change are loaded and permuted at once.

        Parameters
        ----------
        *dim : hashable
            The dimensions in the wanted order. Without them the order of each array is reversed.
        missing_dims : {"raise", "warn", "ignore"}, default "raise"
            What happens if `dim` has a name that is no dimension.
        chunks : mapping, optional
            The chunks of the result for names of dimensions, as in ``dataset.chunk``, for the arrays that are in chunks already.

        Returns
        -------
        xarray.Dataset

        Examples
        --------
        >>> import xarray, cornerturn.xarray
        >>> a = xarray.Dataset({"t": (("time", "x"), [[1, 2, 3], [4, 5, 6]])})
        >>> a.cornerturn.transpose("x", "time")["t"].dims
        ('x', 'time')
        """
        found = self._dataset.transpose(*dim, missing_dims=missing_dims)
        _check_chunks(chunks, found.dims)
        changed = {}
        for name, variable in found.variables.items():
            before = self._dataset.variables[name]
            in_chunks = before.chunks is not None
            if variable.dims != before.dims or (chunks and in_chunks):
                changed[name] = _permuted(before, variable, chunks if in_chunks else None)
        coords = {name: variable for name, variable in changed.items() if name in found.coords}
        return found.assign_coords(coords).assign({name: changed[name] for name in changed if name not in coords})


def _check_chunks(chunks: Mapping[Any, Any] | None, names: Iterable[Hashable]) -> None:
    known = list(names)
    unknown = [name for name in chunks or () if name not in known]
    if unknown:
        raise ValueError(f"chunks has dimension {unknown[0]!r}, wanted some of {known}")


def _permuted(before: xarray.Variable, after: xarray.Variable, chunks: Mapping[Any, Any] | None) -> xarray.Variable:
    """Return `after`, the transpose of `before` that xarray has made, with elements that a kernel permutes.

    xarray's own result remains for Python objects and for arrays of packages that give their numbers a meaning, such as pint.
    """
    axes = tuple(before.dims.index(name) for name in after.dims)
    sizes = {name: size for name, size in (chunks or {}).items() if name in after.dims}
    if sizes and before.chunks is None:
        raise ValueError("chunks is given, but the array is not in chunks of Dask. Wanted: array.chunk() first")
    data = before.data
    block = data if before.chunks is None else data._meta
    if before.dtype.hasobject or type(block).__module__.partition(".")[0] not in ("numpy", "cupy"):
        return after.chunk(sizes) if sizes else after
    if before.chunks is None:
        data = _core.permute_dims(data, axes)
    else:
        from . import dask
        data = dask.permute_dims(data, axes, {after.dims.index(name): size for name, size in sizes.items()} or None)
    made = after.copy(deep=False, data=data)
    made.encoding = {name: value for name, value in before.encoding.items() if not (sizes and name in _SIZES_OF_CHUNKS)}
    for name in _SIZES_OF_CHUNKS & made.encoding.keys():
        size = made.encoding[name]
        if isinstance(size, tuple) and len(size) == len(axes):
            made.encoding[name] = tuple(size[axis] for axis in axes)
    return made
