"""The stores that `cornerturn.files` reads and writes: array-likes as they are, and paths of .npy, Zarr, HDF5, NetCDF and TIFF."""
from __future__ import annotations

import contextlib
import ctypes
import errno
import glob
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

from ._attributes import FILL, XARRAY, attributes_of, coordinates_of, fill_text, json_value, names_of, permuted
from ._boxes import Store

_IN_THREADS = ("numpy", "zarr", "h5py", "tensorstore")  # their reads and writes may run in several threads
_HDF5 = (".h5", ".hdf5", ".hdf", ".he5")
_NETCDF = (".nc", ".nc4")
_TIFF = (".tif", ".tiff", ".btf")


def module(name: str) -> Any:
    """Import an optional package."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"the package {name} is not installed. It is needed for this path: pip install {name}") from error


def kind_of(path: str, name: str) -> str:
    """Return "npy", "zarr", "hdf5", "netcdf" or "tiff"."""
    file = path.partition("::")[0]
    suffix = pathlib.Path(file).suffix.lower()
    if suffix in _HDF5 + _NETCDF:
        if not path.partition("::")[2].strip("/"):
            raise ValueError(f"{name} is '{path}'. Wanted: the dataset of the file too, such as '{file}::/dataset'")
        return "hdf5" if suffix in _HDF5 else "netcdf"
    if suffix in _TIFF:
        return "tiff"
    if path.endswith(".npy"):
        return "npy"
    folder = pathlib.Path(path)
    if any(part.endswith(".zarr") for part in folder.parts) or any((folder / one).exists() for one in ("zarr.json", ".zarray")):
        return "zarr"
    raise ValueError(f"{name} is '{path}'. Wanted: a path that ends in .npy, .zarr or .tif, or 'file.h5::/dataset'")


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
                 family in _IN_THREADS, _with_all_chunks(array, dtype) if family == "zarr" and name == "dst" else None,
                 family == "zarr" and hasattr(array, "async_array") and isinstance(array.store, module("zarr.storage").LocalStore))


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
    if not files_of(path):
        raise FileNotFoundError(f"src is '{file}', which does not exist")
    if kind == "npy":
        yield numpy.load(file, mmap_mode="r", allow_pickle=False)
    elif kind == "zarr":
        zarr = module("zarr")
        found = zarr.open(path, mode="r")
        if not hasattr(found, "shape"):
            raise ValueError(f"src is '{path}', which is a group of Zarr. Wanted: an array in it, such as '{path}/name'")
        yield found
    elif kind == "tiff":
        with _opened_tiff(file) as found:
            yield found
    else:
        with module("h5py").File(file, "r") as opened_file:
            yield _dataset(opened_file, file, inside)


def files_of(path: str) -> list[str]:
    """Return the files or the folder of a path, which exist. Images of TIFF may have a pattern, such as "z*.tif"."""
    file = path.partition("::")[0]
    if os.path.exists(file):
        return [file]
    return sorted(glob.glob(file)) if pathlib.Path(file).suffix.lower() in _TIFF else []


@contextlib.contextmanager
def _opened_tiff(file: str) -> Iterator[Any]:
    """Open the first series of a file, or the images of a pattern. Pages that are packed one after the other are mapped."""
    tifffile = module("tifffile")
    with contextlib.ExitStack() as stack:
        if os.path.exists(file):
            series = stack.enter_context(tifffile.TiffFile(file)).series[0]
            if series.dataoffset is not None and series.keyframe.is_memmappable:
                mapped = tifffile.memmap(file, mode="r")
                mapped.dimension_names = tuple(series.axes)
                yield mapped
                return
            chunks = series.aszarr(level=0)
        else:
            chunks = tifffile.TiffSequence(file).aszarr()
        yield module("zarr").open_array(stack.enter_context(chunks), mode="r")


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
    if kind in ("hdf5", "netcdf") and target.exists():  # other datasets of the file would be lost
        raise FileExistsError(f"dst is '{file}', which exists. Wanted: a new file, or a dataset of h5py in this file")
    if target.exists() and not overwrite:
        raise FileExistsError(f"dst is '{file}', which exists. Wanted: a new path, or overwrite=True")
    if kind == "zarr" and target.exists() and not any((target / one).exists() for one in ("zarr.json", ".zarray")):
        raise FileExistsError(f"dst is '{file}', which is no array of Zarr, so overwrite=True does not remove it")
    if kind == "zarr" and target.exists():
        _check_exchange(target.parent, file)
    if chunks is not None and kind in ("npy", "tiff") or options and kind == "npy":
        name = "chunks" if chunks is not None else next(iter(options))
        raise TypeError(f"{name} is given, but dst is '{file}'. Wanted: no {name}, because this file is one packed array")
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part{'.zarr' if kind == 'zarr' else ''}")
    make = {"npy": _made_npy, "zarr": _made_zarr, "hdf5": _made_hdf5, "netcdf": _made_netcdf, "tiff": _made_tiff}[kind]
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
    yield from _mapped(beside, numpy.lib.format.open_memmap(beside, mode="w+", dtype=like.dtype, shape=shape))


@contextlib.contextmanager
def _made_tiff(beside: pathlib.Path, inside: str, src: Any, like: Store, axes: Sequence[int], chunks: tuple[int, ...] | None,
               options: Mapping[str, Any]) -> Iterator[Any]:
    shape = tuple(like.shape[axis] for axis in axes)
    made = {"photometric": "minisblack", "byteorder": ">" if like.dtype.str[0] == ">" else "<", **options}
    names = permuted(names_of(src), axes)
    if names and all(isinstance(name, str) and len(name) == 1 for name in names):  # TIFF has letters
        made.setdefault("metadata", {"axes": "".join(names).upper()})
    yield from _mapped(beside, module("tifffile").memmap(beside, shape=shape, dtype=like.dtype, **made))


def _mapped(beside: pathlib.Path, array: Any) -> Iterator[Any]:
    """Yield the map of a new file. Its bytes are on the disk afterwards."""
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
    # tifffile shows the images of a file as an array of Zarr without codecs.
    is_zarr = type(src).__module__.partition(".")[0] == "zarr" and type(src.store).__module__.partition(".")[0] != "tifffile"
    made = dict(options)
    if is_zarr:
        made.setdefault("zarr_format", src.metadata.zarr_format)
    version = made.setdefault("zarr_format", 3)
    names, attributes = names_of(src), {name: json_value(value) for name, value in attributes_of(src).items()}
    if FILL in attributes and version == 3 and like.dtype.kind == "f":
        attributes[FILL] = fill_text(attributes[FILL])
    elif FILL in attributes and version == 2:
        made.setdefault("fill_value", attributes.pop(FILL))
    if is_zarr and version == src.metadata.zarr_format:
        _keep_codecs(src, made, axes, chunks)
    if is_zarr:
        made.setdefault("fill_value", src.fill_value)
    if names is not None and version == 3:
        made.setdefault("dimension_names", [names[axis] for axis in axes])
    elif names is not None:
        attributes[XARRAY] = [names[axis] for axis in axes]
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
    made = _hdf5_options(src, like, axes, chunks, options)
    if isinstance(src, h5py.Dataset):
        made.setdefault("fillvalue", src.fillvalue)
    with h5py.File(beside, "w") as file:
        array = file.create_dataset(inside, shape=shape, dtype=like.dtype, **made)
        _set_attributes(array, attributes_of(src))
        for axis, label in enumerate(permuted(names_of(src), axes)):
            if label:
                array.dims[axis].label = label
        yield array
    _sync(beside)


@contextlib.contextmanager
def _made_netcdf(beside: pathlib.Path, inside: str, src: Any, like: Store, axes: Sequence[int], chunks: tuple[int, ...] | None,
                 options: Mapping[str, Any]) -> Iterator[Any]:
    """Make a variable, its dimensions, and the coordinates of these dimensions, which are variables of the dimensions' names."""
    h5netcdf = module("h5netcdf")
    made = _hdf5_options(src, like, axes, chunks, options)
    attributes = attributes_of(src)
    if FILL in attributes:
        made.setdefault("fillvalue", numpy.ravel(attributes.pop(FILL))[0])
    found = permuted(names_of(src), axes) or [None] * len(axes)
    names = [name or f"dim_{axis}" for axis, name in enumerate(found)]
    with h5netcdf.File(beside, "w") as file:
        folder, _, name = inside.strip("/").rpartition("/")
        group = file.create_group(folder) if folder else file
        for axis, one in zip(axes, names):
            if one not in group.dimensions:
                group.dimensions[one] = like.shape[axis]
            values = coordinates_of(src, axis)
            if values is not None and one != name and one not in group.variables:
                known = attributes_of(values)
                fill = numpy.ravel(known.pop(FILL))[0] if FILL in known else None
                copied = group.create_variable(one, (one,), values.dtype, data=values[...], fillvalue=fill)
                _set_attributes(copied, known)
        array = group.create_variable(name, names, like.dtype, **made)
        _set_attributes(array, attributes)
        yield array
    _sync(beside)


def _hdf5_options(src: Any, like: Store, axes: Sequence[int], chunks: tuple[int, ...] | None,
                  options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a new dataset of HDF5: the options of the caller, then the chunks and codecs of `src`."""
    made = dict(options)
    if chunks is None and like.chunk:
        chunks = tuple(like.chunk[axis] for axis in axes)
    if chunks is not None and 0 not in like.shape:
        made.setdefault("chunks", tuple(min(chunk, like.shape[axis]) for chunk, axis in zip(chunks, axes)))
    if type(src).__module__.partition(".")[0] == "h5py" and "chunks" in made:
        for name in ("compression", "compression_opts", "shuffle", "fletcher32"):
            if not {"compression", "compression_opts"} & options.keys():
                made.setdefault(name, getattr(src, name))
    return made


def _set_attributes(array: Any, attributes: Mapping[str, Any]) -> None:
    for name, value in attributes.items():
        try:
            array.attrs[name] = value
        except (TypeError, ValueError):  # a dict or a list of different things, from Zarr
            array.attrs[name] = json.dumps(value)
