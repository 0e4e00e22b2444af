"""Names of axes and attributes of stored arrays, which each format keeps in its own way."""
from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from typing import Any

import numpy

XARRAY = "_ARRAY_DIMENSIONS"  # the names of the dimensions in Zarr v2
FILL = "_FillValue"  # an attribute of NetCDF
_LINKS = {"DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "DIMENSION_LABELS"}  # HDF5's own, of dimension scales
_WITHOUT_VALUES = b"This is a netCDF dimension but not a netCDF variable"  # the begin of NAME of such a scale


def permuted(names: Sequence[Any] | None, axes: Sequence[int]) -> list[Any]:
    return [] if names is None else [names[axis] for axis in axes]


def names_of(src: Any) -> list[Any] | None:
    """Return the names of the axes of src, or None."""
    family = type(src).__module__.partition(".")[0]
    names: Any = getattr(src, "dimension_names", None)  # of TIFF
    if family == "zarr":
        names = getattr(src.metadata, "dimension_names", None) or src.attrs.get(XARRAY)
    elif family == "h5py":  # a label, or the scale of a NetCDF dimension
        names = [axis.label or (axis[0].name.rpartition("/")[2] if len(axis) else None) for axis in src.dims]
    return list(names) if names is not None and len(names) == len(src.shape) and any(names) else None


def coordinates_of(src: Any, axis: int) -> Any:
    """Return the coordinates of an axis of a dataset of HDF5: a scale of one axis, with values; or None."""
    if type(src).__module__.partition(".")[0] != "h5py" or not len(src.dims[axis]):
        return None
    found = src.dims[axis][0]
    is_empty = numpy.bytes_(found.attrs.get("NAME", b"")).startswith(_WITHOUT_VALUES)
    return None if is_empty or found.shape != (src.shape[axis],) else found


def attributes_of(src: Any) -> dict[str, Any]:
    """Return the attributes that any format can have, without names of axes. Numbers of HDF5 keep their types."""
    family = type(src).__module__.partition(".")[0]
    if family == "zarr":
        found = {name: value for name, value in dict(src.attrs).items() if name != XARRAY}
        fill, kind = found.get(FILL), src.dtype.kind
        if isinstance(fill, str) and kind == "f":  # as xarray writes it
            found[FILL] = struct.unpack("<d", base64.standard_b64decode(fill))[0]
        elif src.metadata.zarr_format == 2 and XARRAY in src.attrs and src.fill_value is not None and kind in "fiu":
            found[FILL] = src.fill_value
        return found
    if family != "h5py":
        return {}
    return {name: value.decode("utf-8", "replace") if isinstance(value, bytes) else value for name, value in src.attrs.items()
            if name not in _LINKS and not name.startswith("_Netcdf4") and getattr(value, "dtype", None) != object}


def json_value(value: Any) -> Any:
    """Return an attribute for the JSON of Zarr. An array of one number, which NetCDF has for each number, becomes a number."""
    if isinstance(value, numpy.ndarray) and value.shape == (1,):
        value = value[0]
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        value = value.tolist()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def fill_text(value: float) -> str:
    """Return the fill value of floating-point numbers as xarray writes it into Zarr v3."""
    return base64.standard_b64encode(struct.pack("<d", value)).decode()
