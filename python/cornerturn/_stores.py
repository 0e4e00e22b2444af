"""The stores that `cornerturn.files` reads and writes: array-likes as they are, and paths of .npy, Zarr and HDF5."""
from __future__ import annotations

import contextlib
import ctypes
import errno
import importlib
import json
import os
import pathlib
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy

from ._boxes import Store

_IN_THREADS = ("numpy", "zarr", "h5py", "tensorstore")  # their reads and writes may run in several threads
_HDF5 = (".h5", ".hdf5", ".hdf", ".he5", ".nc")
_LINKS = {"DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "DIMENSION_LABELS"}  # HDF5's own, of dimension scales
_XARRAY = "_ARRAY_DIMENSIONS"  # the names of the dimensions in Zarr v2


def module(name: str) -> Any:
    """Import an optional package."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"the package {name} is not installed. It is needed for this path: pip install {name}") from error


def kind_of(path: str, name: str) -> str:
    """Return "npy", "zarr" or "hdf5"."""
    file = path.partition("::")[0]
    if pathlib.Path(file).suffix.lower() in _HDF5:
        if not path.partition("::")[2].strip("/"):
            raise ValueError(f"{name} is '{path}'. Wanted: the dataset of the file too, such as '{file}::/dataset'")
        return "hdf5"
    if path.endswith(".npy"):
        return "npy"
    folder = pathlib.Path(path)
    if any(part.endswith(".zarr") for part in folder.parts) or any((folder / one).exists() for one in ("zarr.json", ".zarray")):
        return "zarr"
    raise ValueError(f"{name} is '{path}'. Wanted: a path that ends in .npy or .zarr, or 'file.h5::/dataset'")


def store(array: Any, name: str, chunk: Sequence[int] | None = None) -> Store:
    """Return an array-like with its properties. `chunk` overrides the chunk that it names."""
    missing = [one for one in ("shape", "dtype", "__getitem__" if name == "src" else "__setitem__") if not hasattr(array, one)]
    if missing:
        raise TypeError(f"{name} is a {type(array).__name__}, which has no {missing[0]}. Wanted: an array-like such as a "
                        "numpy.memmap, an array of zarr or a dataset of h5py, or a path")
    shape = tuple(int(extent) for extent in array.shape)
    found = getattr(array.dtype, "numpy_dtype", array.dtype)  # of tensorstore
    try:
        dtype = numpy.dtype(found)
    except TypeError:
        raise TypeError(f"{name} has dtype {found}. Wanted: a dtype of NumPy") from None
    if dtype.hasobject or dtype.itemsize == 0:
        raise TypeError(f"{name} has dtype {dtype}. Wanted: elements of a fixed size")
    family = type(array).__module__.partition(".")[0]
    if chunk is None:
        chunk = _chunk_of(array, name)
    return Store(array, shape, dtype, tuple(chunk) if len(chunk) == len(shape) else (), isinstance(array, numpy.ndarray),
                 family in _IN_THREADS, _with_all_chunks(array, dtype) if family == "zarr" and name == "dst" else None)


def _with_all_chunks(array: Any, dtype: numpy.dtype[Any]) -> Any:
    """Return an array of Zarr that writes each chunk, or None if `array` does so already or its chunks cannot be compared."""
    comparable = dtype.kind in "biuf" and array.fill_value == array.fill_value  # not NaN, and not None of version 2
    if not comparable or array.fill_value is None or array.shards is not None or array.config.write_empty_chunks:
        return None
    return array.with_config({"write_empty_chunks": True})


def _chunk_of(array: Any, name: str) -> tuple[int, ...]:
    """Return the smallest box that is read or written alone: a shard of a written array, or a chunk; () if there is none."""
    layout = getattr(array, "chunk_layout", None)  # of tensorstore
    if layout is not None:
        chunk = (layout.read_chunk if name == "src" else layout.write_chunk).shape
    else:
        chunk = getattr(array, "shards", None) if name == "dst" else None
        chunk = getattr(array, "chunks", None) if chunk is None else chunk
    if not isinstance(chunk, (tuple, list)) or not all(isinstance(one, int) and one > 0 for one in chunk):
        return ()  # also of dask, whose chunks have several extents for each axis
    return tuple(chunk)


# ---- paths to read ----

@contextlib.contextmanager
def opened(path: str) -> Iterator[Any]:
    """Open the array of a path to read."""
    kind = kind_of(path, "src")
    file, _, inside = path.partition("::")
    if not os.path.exists(file):
        raise FileNotFoundError(f"src is '{file}', which does not exist")
    if kind == "npy":
        yield numpy.load(file, mmap_mode="r", allow_pickle=False)
    elif kind == "zarr":
        zarr = module("zarr")
        found = zarr.open(path, mode="r")
        if not hasattr(found, "shape"):
            raise ValueError(f"src is '{path}', which is a group of Zarr. Wanted: an array in it, such as '{path}/name'")
        yield found
    else:
        with module("h5py").File(file, "r") as opened_file:
            yield _dataset(opened_file, file, inside)


def _dataset(file: Any, path: str, inside: str) -> Any:
    found = file.get(inside)
    if not hasattr(found, "chunks"):
        raise ValueError(f"src is '{path}::{inside}', wanted a dataset: the file has no dataset of this name")
    return found


# ---- paths to write ----

@contextlib.contextmanager
def made(path: str, src: Any, like: Store, axes: Sequence[int], chunks: tuple[int, ...] | None, overwrite: bool,
         options: Mapping[str, Any]) -> Iterator[Any]:
    """Make the array of `path` beside it, and give it its name at the end. An exception removes it."""
    kind = kind_of(path, "dst")
    file, _, inside = path.partition("::")
    target = pathlib.Path(os.path.abspath(file))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"dst is '{file}', and its folder does not exist")
    if kind == "hdf5" and target.exists():  # other datasets of the file would be lost
        raise FileExistsError(f"dst is '{file}', which exists. Wanted: a new file, or a dataset of h5py in this file")
    if target.exists() and not overwrite:
        raise FileExistsError(f"dst is '{file}', which exists. Wanted: a new path, or overwrite=True")
    if kind == "zarr" and target.exists() and not any((target / one).exists() for one in ("zarr.json", ".zarray")):
        raise FileExistsError(f"dst is '{file}', which is no array of Zarr, so overwrite=True does not remove it")
    if kind == "zarr" and target.exists():
        _check_exchange(target.parent, file)
    if kind == "npy" and (options or chunks is not None):
        name = "chunks" if chunks is not None else next(iter(options))
        raise TypeError(f"{name} is given, but dst is '{file}'. Wanted: no {name}, because .npy has no chunks and codecs")
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part{'.zarr' if kind == 'zarr' else ''}")
    make = {"npy": _made_npy, "zarr": _made_zarr, "hdf5": _made_hdf5}[kind]
    try:
        with make(beside, inside, src, like, axes, chunks, options) as array:
            yield array
        if beside.is_dir():
            _sync_file_system(beside)
        if beside.is_dir() and target.exists():
            _exchange(beside, target)  # and the old array is removed below
        else:
            os.replace(beside, target)
        _sync(target.parent)
    finally:
        if beside.is_dir():
            shutil.rmtree(beside, ignore_errors=True)
        else:
            beside.unlink(missing_ok=True)


def _sync(path: pathlib.Path) -> None:
    """Return after the bytes of a file, or the names in a folder, are on the disk."""
    opened_path = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened_path)
    finally:
        os.close(opened_path)


def _sync_file_system(folder: pathlib.Path) -> None:
    """Return after all chunks below a folder are on the disk. One call for the file system is faster than one for each chunk."""
    opened_folder = os.open(folder, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(opened_folder) != 0:
            error = ctypes.get_errno()
            raise OSError(error, f"the chunks cannot be written to the disk: {os.strerror(error)}", str(folder))
    finally:
        os.close(opened_folder)


def _exchange(new: pathlib.Path, old: pathlib.Path) -> None:
    """Exchange the names of two folders in one step, so that at each moment one of them has the name."""
    exchange, at_cwd = 2, -100  # RENAME_EXCHANGE, AT_FDCWD
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is not None and rename(at_cwd, os.fsencode(new), at_cwd, os.fsencode(old), exchange) == 0:
        return
    error = ctypes.get_errno() if rename is not None else errno.ENOSYS
    raise OSError(error, os.strerror(error), str(old))


def _check_exchange(folder: pathlib.Path, name: str) -> None:
    """Find out before the work whether the file system can exchange two folders."""
    with tempfile.TemporaryDirectory(prefix=".cornerturn.", dir=folder) as inside:
        one, other = pathlib.Path(inside, "one"), pathlib.Path(inside, "other")
        one.mkdir()
        other.mkdir()
        try:
            _exchange(one, other)
        except OSError as error:
            raise OSError(error.errno, f"dst is '{name}', which exists, and its file system cannot exchange two folders in one "
                                       "step. Wanted: a new path, or remove the old one") from error


@contextlib.contextmanager
def _made_npy(beside: pathlib.Path, inside: str, src: Any, like: Store, axes: Sequence[int], chunks: tuple[int, ...] | None,
              options: Mapping[str, Any]) -> Iterator[Any]:
    shape = tuple(like.shape[axis] for axis in axes)
    array = numpy.lib.format.open_memmap(beside, mode="w+", dtype=like.dtype, shape=shape)
    with open(beside, "r+b") as file:
        # A full disk is an error here, and would be a signal when a page of the mapping is written.
        os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
        yield array
        array.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _made_zarr(beside: pathlib.Path, inside: str, src: Any, like: Store, axes: Sequence[int], chunks: tuple[int, ...] | None,
               options: Mapping[str, Any]) -> Iterator[Any]:
    zarr = module("zarr")
    is_zarr = type(src).__module__.partition(".")[0] == "zarr"
    made = dict(options)
    if is_zarr:
        made.setdefault("zarr_format", src.metadata.zarr_format)
    version = made.setdefault("zarr_format", 3)
    names, attributes = _names_of(src), _attributes_of(src)
    if is_zarr and version == src.metadata.zarr_format:
        _keep_codecs(src, made, axes, chunks)
    if is_zarr:
        made.setdefault("fill_value", src.fill_value)
    if names is not None and version == 3:
        made.setdefault("dimension_names", [names[axis] for axis in axes])
    elif names is not None:
        attributes[_XARRAY] = [names[axis] for axis in axes]
    attributes.update(made.pop("attributes", None) or {})
    shape = tuple(like.shape[axis] for axis in axes)
    if chunks is None and like.chunk:
        chunks = tuple(like.chunk[axis] for axis in axes)
    made.setdefault("chunks", "auto" if chunks is None or 0 in shape else chunks)
    yield zarr.create_array(str(beside), shape=shape, dtype=like.dtype, attributes=attributes, **made)


def _keep_codecs(src: Any, made: dict[str, Any], axes: Sequence[int], chunks: tuple[int, ...] | None) -> None:
    """Fill `made` with the codecs of a Zarr array of the same version, where the caller gives none."""
    if not {"compressors", "filters", "serializer"} & made.keys():
        made["filters"], made["compressors"] = list(src.filters) or None, list(src.compressors) or None
        if made["zarr_format"] == 3:
            made["serializer"] = src.serializer
    if made["zarr_format"] == 2:
        made.setdefault("order", src.order)
        made.setdefault("chunk_key_encoding", {"name": "v2", "separator": src.metadata.dimension_separator})
        return
    made.setdefault("chunk_key_encoding", src.metadata.chunk_key_encoding)
    if src.shards is None or "shards" in made:
        return
    shards = tuple(src.shards[axis] for axis in axes)
    if chunks is not None and any(shard % chunk for shard, chunk in zip(shards, chunks)):
        raise ValueError(f"chunks is {chunks}, and the shards of src become {shards}. Wanted: chunks that divide them, or shards=")
    made["shards"] = shards


@contextlib.contextmanager
def _made_hdf5(beside: pathlib.Path, inside: str, src: Any, like: Store, axes: Sequence[int], chunks: tuple[int, ...] | None,
               options: Mapping[str, Any]) -> Iterator[Any]:
    h5py = module("h5py")
    shape = tuple(like.shape[axis] for axis in axes)
    made = dict(options)
    if chunks is None and like.chunk:
        chunks = tuple(like.chunk[axis] for axis in axes)
    if chunks is not None and 0 not in shape:
        made.setdefault("chunks", tuple(min(chunk, extent) for chunk, extent in zip(chunks, shape)))
    if isinstance(src, h5py.Dataset):
        made.setdefault("fillvalue", src.fillvalue)
        for name in ("compression", "compression_opts", "shuffle", "fletcher32"):
            if not {"compression", "compression_opts"} & options.keys() and "chunks" in made:
                made.setdefault(name, getattr(src, name))
    with h5py.File(beside, "w") as file:
        array = file.create_dataset(inside, shape=shape, dtype=like.dtype, **made)
        for name, value in _attributes_of(src).items():
            try:
                array.attrs[name] = value
            except (TypeError, ValueError):  # a dict or a list of different things, from Zarr
                array.attrs[name] = json.dumps(value)
        for axis, label in enumerate(_permuted(_names_of(src), axes)):
            if label:
                array.dims[axis].label = label
        yield array
    _sync(beside)


# ---- attributes ----

def _permuted(names: Sequence[Any] | None, axes: Sequence[int]) -> list[Any]:
    return [] if names is None else [names[axis] for axis in axes]


def _names_of(src: Any) -> list[Any] | None:
    """Return the names of the axes of src, or None."""
    family = type(src).__module__.partition(".")[0]
    names: Any = None
    if family == "zarr":
        names = getattr(src.metadata, "dimension_names", None) or src.attrs.get(_XARRAY)
    elif family == "h5py":
        names = [axis.label or None for axis in src.dims]
    return list(names) if names is not None and len(names) == len(src.shape) and any(names) else None


def _attributes_of(src: Any) -> dict[str, Any]:
    """Return the attributes that any format can have, without names of axes."""
    family = type(src).__module__.partition(".")[0]
    if family == "zarr":
        return {name: value for name, value in dict(src.attrs).items() if name != _XARRAY}
    if family != "h5py":
        return {}
    found = {}
    for name, value in src.attrs.items():
        if name in _LINKS or name.startswith("_Netcdf4") or getattr(value, "dtype", None) == object:
            continue
        if isinstance(value, (numpy.ndarray, numpy.generic)):
            value = value.tolist()
        found[name] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return found
