"""cornerturn.files: arrays from file to file, in boxes."""
import contextlib
import gc
import os
import random
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import random_axes, same_bits, unique

from cornerturn import _boxes, _stores, files


class Noted:
    """An array-like of no known package, which notes the boxes that it writes. `fail_after`: the boxes until an error."""

    def __init__(self, array, chunks=None, fail_after=None):
        self.array, self.chunks, self.fail_after, self.boxes = array, chunks, fail_after, []
        self.shape, self.dtype = array.shape, array.dtype

    def __getitem__(self, box):
        return self.array[box]

    def __setitem__(self, box, value):
        if len(self.boxes) == self.fail_after:
            raise OSError("the disk is full")
        self.boxes.append(box)
        self.array[box] = value


def wanted(x, axes):
    return np.transpose(x, axes).copy()


@pytest.mark.parametrize("dtype", ["u1", "?", "<f2", ">f4", "c16", "S7", "M8[s]", [("a", "<i4"), ("b", "u1")]], ids=str)
def test_elements(dtype):
    x = unique((7, 8, 9), dtype) if np.dtype(dtype).names is None else unique((7, 8, 9), "V5").view(dtype)
    assert same_bits(files.transpose(x, axes=(2, 0, 1)), wanted(x, (2, 0, 1)))


def test_random_arrays():
    """Each chunk of dst is written once, boxes fit the memory, and no element is lost."""
    draw = random.Random(5)
    for seed in range(60):
        rank = draw.randint(1, 5)
        shape = tuple(draw.randint(1, 40 >> rank // 2) for _ in range(rank))
        axes = random_axes(rank, seed)
        x = unique(shape, "u2")
        y = np.zeros([shape[axis] for axis in axes], "u2")
        chunk = tuple(draw.randint(1, 6) for _ in range(rank))
        src = Noted(x, tuple(draw.randint(1, 6) for _ in range(rank)))
        dst = Noted(y, chunk)
        least = np.prod([min(one, extent) for one, extent in zip(chunk, y.shape)]) + np.prod(np.minimum(src.chunks, x.shape))
        memory = 8 * least.item() * draw.randint(1, 60)
        files.transpose(src, dst, axes, memory=memory, threads=draw.randint(1, 3))
        assert same_bits(y, wanted(x, axes))
        written = set()
        for box in dst.boxes:
            assert 2 * 2 * np.prod([one.stop - one.start for one in box]) <= memory
            for one, size, extent in zip(box, chunk, y.shape):
                assert one.start % size == 0 and (one.stop % size == 0 or one.stop == extent)
            written.add(tuple((one.start, one.stop) for one in box))
        assert len(written) == len(dst.boxes)


@pytest.mark.parametrize("shape,dtype,chunks", [((60, 40, 50), "f4", ((20, 20, 20), (15, 15, 15))),
                                                ((300, 200), "u1", ((7, 9), (11, 3))), ((4, 1000), "f8", ((1, 1000), (40, 4)))])
def test_chunks_are_read_and_written_one_by_one(shape, dtype, chunks):
    """With enough memory, each chunk of src is read once, and each chunk of dst is written once."""
    reads = []

    class Source(Noted):
        def __getitem__(self, box):
            reads.append(box)
            return super().__getitem__(box)

    x = unique(shape, dtype)
    dst = Noted(np.zeros(shape[::-1], dtype), chunks[1])
    files.transpose(Source(x, chunks[0]), dst, memory="1GiB", threads=1)
    assert same_bits(dst.array, wanted(x, None))
    for boxes, extents, chunk in ((reads, shape, chunks[0]), (dst.boxes, shape[::-1], chunks[1])):
        assert sum(np.prod([one.stop - one.start for one in box]) for box in boxes) == x.size
        assert all(one.start % size == 0 and (one.stop % size == 0 or one.stop == extent)
                   for box in boxes for one, size, extent in zip(box, chunk, extents))


def test_parts():
    """A part is one large chunk, or several small ones, and ends at the chunks of its store."""
    def store(shape, chunk):
        return _boxes.Store(None, shape, np.dtype("f4"), chunk, False, True)
    plan = _boxes.Plan(store((512, 512, 1024), (64, 64, 128)), store((1024, 512, 512), (8, 8, 16)), (2, 1, 0), 1 << 30, 4)
    assert plan.read_part == (128, 64, 128) and plan.write_part == (8, 256, 512)
    box = (slice(0, 20), slice(5, 12))
    found = list(_boxes._parts(box, (16, 4)))
    assert found == [(a, b) for a in (slice(0, 16), slice(16, 20)) for b in (slice(5, 8), slice(8, 12))]
    assert list(_boxes._parts(box, ())) == [box]


def test_boxes_follow_the_chunks_of_src():
    """With enough memory, no chunk of src is read twice."""
    src = _boxes.Store(None, (512, 512, 1024), np.dtype("f4"), (64, 64, 128), False, True)
    dst = _boxes.Store(None, (1024, 512, 512), np.dtype("f4"), (128, 64, 32), False, True)
    plan = _boxes.Plan(src, dst, (2, 1, 0), 256 << 20, 4)
    assert all(size % chunk == 0 for size, chunk in zip(plan.box, (128, 64, 64)))
    assert plan.threads * plan.bytes_for(plan.box) <= 256 << 20
    assert all(_boxes._touched(extent, part, chunk) == sum(len({i // chunk for i in range(first, min(first + part, extent))})
                                                           for first in range(0, extent, part))
               for extent in (1, 7, 24) for part in range(1, 25) for chunk in range(1, 26))


def test_boxes_are_equally_many_for_each_thread():
    """Nine boxes fit best, but one of two threads then ends a box later."""
    src = _boxes.Store(None, (512, 768, 512), np.dtype("f4"), (64, 64, 64), False, True)
    dst = _boxes.Store(None, (512, 768, 512), np.dtype("f4"), (128, 32, 64), False, True)
    plan = _boxes.Plan(src, dst, (2, 1, 0), 256 << 20, 2)
    assert plan.box == (512, 192, 192) and len(list(plan.boxes())) == 12


@pytest.mark.parametrize("src_chunk,dst_chunk,late", [((1, 24, 40), (8, 8, 16), True), ((8, 24, 16), (1, 24, 30), False),
                                                      ((1, 24, 40), (40, 24, 1), False), ((16, 24, 16), (16, 24, 16), False)])
def test_thin_chunks(monkeypatch, src_chunk, dst_chunk, late):
    """Boxes have the order of src if its chunks have few elements along the last axis of dst. Results never depend on it."""
    monkeypatch.setattr(_boxes, "_PART_BYTES", 4 << 10)
    x = unique((30, 24, 40), "f4")
    src, dst = Noted(x, src_chunk), Noted(np.zeros(x.shape[::-1], "f4"), dst_chunk)
    stores = [_boxes.Store(one, one.shape, x.dtype, one.chunks, False, True) for one in (src, dst)]
    plan = _boxes.Plan(*stores, (2, 1, 0), 1 << 20, 2)
    assert plan.late == late
    plan.run()
    assert same_bits(dst.array, wanted(x, None))


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (5, 0, 2)])
def test_small_arrays(tmp_path, shape):
    x = unique(shape, "f4")
    np.save(tmp_path / "a.npy", x)
    files.transpose(tmp_path / "a.npy", tmp_path / "b.npy")
    assert same_bits(np.load(tmp_path / "b.npy"), wanted(x, None))


def test_npy(tmp_path):
    x = unique((300, 200, 7), "f8")
    np.save(tmp_path / "a.npy", np.asfortranarray(x))
    target = tmp_path / "b.npy"
    assert files.transpose(tmp_path / "a.npy", target, (1, -1, 0), memory="64KiB") == target
    assert same_bits(np.load(target), wanted(x, (1, 2, 0)))
    with pytest.raises(FileExistsError, match="b.npy', which exists. Wanted: a new path, or overwrite=True"):
        files.transpose(tmp_path / "a.npy", target)
    files.transpose(target, target, (2, 0, 1), overwrite=True)
    assert same_bits(np.load(target), x)
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "b.npy"]


@pytest.mark.parametrize("version", [2, 3])
def test_zarr(tmp_path, version):
    zarr = pytest.importorskip("zarr", "3")
    x = unique((60, 41, 33), "f4")
    codec = zarr.codecs.ZstdCodec(level=3) if version == 3 else __import__("numcodecs").Zstd(level=3)
    names = {"dimension_names": ["t", "y", "x"]} if version == 3 else {}
    attributes = {"units": "K", **({"_ARRAY_DIMENSIONS": ["t", "y", "x"]} if version == 2 else {})}
    a = zarr.create_array(str(tmp_path / "a.zarr"), shape=x.shape, dtype=x.dtype, chunks=(16, 10, 33), compressors=[codec],
                          fill_value=7, zarr_format=version, attributes=attributes, **names)
    a[...] = x
    files.transpose(str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr"), (2, 0, 1), memory="1MiB")
    b = zarr.open_array(str(tmp_path / "b.zarr"), mode="r")
    assert same_bits(b[...], wanted(x, (2, 0, 1)))
    assert b.metadata.zarr_format == version and b.chunks == (33, 16, 10) and b.compressors == a.compressors
    assert b.fill_value == 7 and b.attrs["units"] == "K"
    assert (b.metadata.dimension_names if version == 3 else tuple(b.attrs["_ARRAY_DIMENSIONS"])) == ("x", "t", "y")
    files.transpose(a, tmp_path / "c.zarr", chunks=(5, 41, 20), compressors=None)
    c = zarr.open_array(str(tmp_path / "c.zarr"), mode="r")
    assert same_bits(c[...], wanted(x, None)) and c.chunks == (5, 41, 20) and c.compressors == ()
    files.transpose(a, tmp_path / "d.zarr", zarr_format=5 - version)
    d = zarr.open_array(str(tmp_path / "d.zarr"), mode="r")
    assert same_bits(d[...], wanted(x, None)) and d.metadata.zarr_format == 5 - version and d.attrs["units"] == "K"
    assert (d.metadata.dimension_names if version == 2 else tuple(d.attrs["_ARRAY_DIMENSIONS"])) == ("x", "y", "t")
    assert sorted(os.listdir(tmp_path)) == ["a.zarr", "b.zarr", "c.zarr", "d.zarr"]


@pytest.mark.parametrize("fill", [0, 5, float("nan")])
def test_zarr_leaves_out_chunks_of_the_fill_value(tmp_path, fill):
    zarr = pytest.importorskip("zarr", "3")
    x = np.full((40, 30), fill, "f4")
    x[3, 25] = x[10:20, :10] = x[39, 29] = 7  # one chunk begins with the fill value, another one is full
    a = zarr.create_array(str(tmp_path / "a.zarr"), shape=x.shape, dtype="f4", chunks=(10, 10), fill_value=fill)
    a[...] = x
    files.transpose(a, tmp_path / "b.zarr", memory="8KiB")
    b = zarr.open_array(str(tmp_path / "b.zarr"), mode="r")
    assert same_bits(b[...], wanted(x, None)) and b.nchunks_initialized == a.nchunks_initialized == 3


def test_zarr_in_local_files_stays_in_the_threads_that_ask(tmp_path):
    """No chunk is given to the threads of Zarr, and no event loop stays open."""
    zarr = pytest.importorskip("zarr", "3")
    threads = set()

    class Watched(zarr.storage.LocalStore):
        async def get(self, *args, **options):
            threads.add(threading.current_thread().name.partition("_")[0])
            return await super().get(*args, **options)

        async def set(self, *args, **options):
            threads.add(threading.current_thread().name.partition("_")[0])
            await super().set(*args, **options)

    x = unique((60, 41, 33), "f4")
    a = zarr.create_array(Watched(tmp_path / "a.zarr"), shape=x.shape, dtype=x.dtype, chunks=(16, 10, 33))
    b = zarr.create_array(Watched(tmp_path / "b.zarr"), shape=x.shape[::-1], dtype=x.dtype, chunks=(8, 20, 10))
    a[...] = x
    threads.clear()
    before = len(os.listdir("/proc/self/fd"))
    files.transpose(a, b, memory="1MiB", threads=3)
    assert threads == {"cornerturn"} and len(os.listdir("/proc/self/fd")) == before
    assert same_bits(b[...], wanted(x, None))


def test_zarr_of_damaged_chunks(tmp_path, caplog):
    """The error of one chunk ends the work in one sentence, and asyncio reports no task that was left."""
    zarr = pytest.importorskip("zarr", "3")
    a = zarr.create_array(str(tmp_path / "a.zarr"), shape=(400, 300), dtype="f4", chunks=(10, 10))
    a[...] = 7
    for row in range(40):
        (tmp_path / f"a.zarr/c/{row}/2").write_bytes(b"no frame of zstd")
    with pytest.raises(RuntimeError, match="Zstd"):
        files.transpose(tmp_path / "a.zarr", tmp_path / "b.zarr")
    assert os.listdir(tmp_path) == ["a.zarr"]
    gc.collect()
    assert not caplog.records


def test_zarr_shards(tmp_path):
    zarr = pytest.importorskip("zarr", "3")
    x = unique((64, 48), "i2")
    a = zarr.create_array(str(tmp_path / "a.zarr"), shape=x.shape, dtype=x.dtype, chunks=(8, 4), shards=(32, 16))
    a[...] = x
    files.transpose(a, tmp_path / "b.zarr", memory="20KiB")
    b = zarr.open_array(str(tmp_path / "b.zarr"), mode="r")
    assert same_bits(b[...], wanted(x, None)) and b.chunks == (4, 8) and b.shards == (16, 32)
    with pytest.raises(ValueError, match=r"chunks is \(5, 8\), and the shards of src become \(16, 32\)"):
        files.transpose(a, tmp_path / "c.zarr", chunks=(5, 8))
    files.transpose(a, tmp_path / "c.zarr", chunks=(5, 8), shards=(10, 8))
    assert zarr.open_array(str(tmp_path / "c.zarr"), mode="r").shards == (10, 8)
    with pytest.raises(ValueError, match="src is '.*d.zarr', which is a group of Zarr"):
        zarr.open_group(str(tmp_path / "d.zarr"), mode="w")
        files.transpose(tmp_path / "d.zarr")


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    x = unique((50, 40, 30), "f4")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        a = file.create_dataset("group/a", data=x, chunks=(10, 20, 30), compression="gzip", compression_opts=2, shuffle=True)
        a.attrs["units"] = "K"
        a.dims[2].label = "x"
    files.transpose(f"{tmp_path}/a.h5::/group/a", f"{tmp_path}/b.h5::/c/b", (1, 2, 0), memory="1MiB")
    with h5py.File(tmp_path / "b.h5", "r") as file:
        b = file["c/b"]
        assert same_bits(b[...], wanted(x, (1, 2, 0))) and b.chunks == (20, 30, 10)
        assert (b.compression, b.compression_opts, b.shuffle, b.attrs["units"]) == ("gzip", 2, True, "K")
        assert [axis.label for axis in b.dims] == ["", "x", ""]
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        again = file.create_dataset("again", (30, 40, 50), "f4", chunks=(7, 7, 7))
        assert files.transpose(file["group/a"], again) is again
        assert same_bits(again[...], wanted(x, None))
    with pytest.raises(FileExistsError, match="b.h5', which exists. Wanted: a new file, or a dataset of h5py"):
        files.transpose(x, f"{tmp_path}/b.h5::/c/d", overwrite=True)
    with pytest.raises(ValueError, match="wanted a dataset: the file has no dataset of this name"):
        files.transpose(f"{tmp_path}/a.h5::/group")
    files.transpose(f"{tmp_path}/a.h5::/group/a", f"{tmp_path}/e.npy")
    assert same_bits(np.load(tmp_path / "e.npy"), wanted(x, None))


def test_netcdf(tmp_path):
    """xarray sees the variable with permuted axes: its dimensions, coordinates, and attributes with their types."""
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    x = np.arange(60 * 41 * 33, dtype="f4").reshape(60, 41, 33)
    x[3, 5, 7] = np.nan
    times = np.arange(60).astype("M8[D]").astype("M8[ns]")
    given = xarray.DataArray(x, {"time": times, "lat": np.linspace(-90, 90, 41)}, ("time", "lat", "x"), "t2m",
                             {"units": "K", "levels": np.array([1, 2], "i2")})
    coding = {"dtype": "f4", "_FillValue": np.float32(-1), "zlib": True, "complevel": 2, "shuffle": True, "chunksizes": (16, 10, 33)}
    given.to_netcdf(tmp_path / "a.nc", engine="h5netcdf", encoding={"t2m": coding})
    files.transpose(f"{tmp_path}/a.nc::t2m", f"{tmp_path}/b.nc::t2m", (2, 0, 1), memory="1MiB")
    with xarray.open_dataset(tmp_path / "b.nc", engine="h5netcdf") as b:
        xarray.testing.assert_identical(b["t2m"].load(), given.transpose("x", "time", "lat"))
        coded = b["t2m"].encoding
        assert (coded["chunksizes"], coded["complevel"], coded["shuffle"]) == ((33, 16, 10), 2, True)
        assert coded["_FillValue"] == -1 and coded["_FillValue"].dtype == "f4" and b["t2m"].attrs["levels"].dtype == "i2"
    with pytest.raises(FileExistsError, match="b.nc', which exists. Wanted: a new file"):
        files.transpose(x, f"{tmp_path}/b.nc::other", overwrite=True)
    files.transpose(x, f"{tmp_path}/c.nc::/group/x", chunks=(5, 41, 20), compression="gzip")
    with xarray.open_dataset(tmp_path / "c.nc", engine="h5netcdf", group="group") as c:
        assert c["x"].dims == ("dim_0", "dim_1", "dim_2") and c["x"].encoding["chunksizes"] == (5, 41, 20)
        assert same_bits(c["x"].to_numpy(), wanted(x, None))
    assert sorted(os.listdir(tmp_path)) == ["a.nc", "b.nc", "c.nc"]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", ["f4", "i2"])
def test_between_netcdf_and_zarr(tmp_path, version, dtype):
    """The fill value of xarray passes both formats: absent elements are NaN before and after."""
    xarray, zarr = pytest.importorskip("xarray"), pytest.importorskip("zarr", "3")
    pytest.importorskip("h5netcdf")
    x = np.arange(120.0).reshape(10, 12)
    x[3, 5] = np.nan
    given = xarray.DataArray(x.astype("f4"), dims=("t", "y"), name="v", attrs={"units": "K", "scale": 2.5})
    given.to_netcdf(tmp_path / "a.nc", engine="h5netcdf", encoding={"v": {"dtype": dtype, "_FillValue": -9}})
    files.transpose(f"{tmp_path}/a.nc::v", tmp_path / "b.zarr", (1, 0), zarr_format=version)
    b = zarr.open_array(str(tmp_path / "b.zarr"), mode="r")
    assert b.dtype == dtype and dict(b.attrs)["scale"] == 2.5
    group = zarr.open_group(str(tmp_path / "c.zarr"), mode="w", zarr_format=version)  # xarray reads groups
    os.rename(tmp_path / "b.zarr", tmp_path / "c.zarr" / "v")
    assert "v" in group
    with xarray.open_zarr(tmp_path / "c.zarr", consolidated=False) as c:
        xarray.testing.assert_identical(c["v"].load().astype("f4"), given.transpose())
    files.transpose(f"{tmp_path}/c.zarr/v", f"{tmp_path}/d.nc::v", (1, 0))
    with xarray.open_dataset(tmp_path / "d.nc", engine="h5netcdf") as d:
        xarray.testing.assert_identical(d["v"].load().astype("f4"), given)


@pytest.mark.parametrize("dtype", ["u1", ">u2", "f4"])
def test_tiff(tmp_path, dtype):
    tifffile = pytest.importorskip("tifffile")
    x = unique((12, 40, 30), dtype)
    tifffile.imwrite(tmp_path / "a.tif", x, metadata={"axes": "ZYX"}, photometric="minisblack",
                     byteorder=">" if dtype[0] == ">" else "<")
    files.transpose(tmp_path / "a.tif", tmp_path / "b.tif", (1, 2, 0), memory="20KiB")
    with tifffile.TiffFile(tmp_path / "b.tif") as b:
        assert b.series[0].axes == "YXZ" and b.byteorder == (">" if dtype[0] == ">" else "<") and len(b.pages) == 40
        assert same_bits(b.series[0].asarray().astype(dtype), wanted(x, (1, 2, 0)))
    files.transpose(x, tmp_path / "b.tif", overwrite=True)
    assert same_bits(files.transpose(tmp_path / "b.tif"), x)
    flat = unique((12, 400, 3), "u1")  # no colours
    files.transpose(flat, tmp_path / "c.tif", (0, 1, 2))
    assert same_bits(tifffile.imread(tmp_path / "c.tif"), flat)
    with pytest.raises(ValueError):
        files.transpose(x, tmp_path / "d.tif", compression="zlib")
    assert sorted(os.listdir(tmp_path)) == ["a.tif", "b.tif", "c.tif"]


def test_tiff_with_codecs_and_stacks_of_files(tmp_path):
    tifffile, zarr = pytest.importorskip("tifffile"), pytest.importorskip("zarr", "3")
    x = unique((5, 64, 48), "u2")
    tifffile.imwrite(tmp_path / "a.tif", x, metadata={"axes": "TYX"}, photometric="minisblack", tile=(16, 32), compression="zlib")
    for number, image in enumerate(x):
        tifffile.imwrite(tmp_path / f"z{number}.tif", image)
    files.transpose(tmp_path / "a.tif", tmp_path / "b.zarr", memory="100KiB")
    b = zarr.open_array(str(tmp_path / "b.zarr"), mode="r")
    assert same_bits(b[...], wanted(x, None)) and b.chunks == (32, 16, 1) and b.metadata.dimension_names == ("X", "Y", "T")
    files.transpose(f"{tmp_path}/z*.tif", tmp_path / "c.npy", (2, 0, 1))
    assert same_bits(np.load(tmp_path / "c.npy"), wanted(x, (2, 0, 1)))


def test_between_zarr_and_hdf5(tmp_path):
    zarr, h5py = pytest.importorskip("zarr", "3"), pytest.importorskip("h5py")
    x = unique((20, 30), "f8")
    a = zarr.create_array(str(tmp_path / "a.zarr"), shape=x.shape, dtype=x.dtype, chunks=(8, 8), dimension_names=["t", "x"],
                          attributes={"units": "K", "more": {"deep": [1, "two"]}})
    a[...] = x
    files.transpose(tmp_path / "a.zarr", f"{tmp_path}/b.h5::b", chunks=(9, 50))
    files.transpose(f"{tmp_path}/b.h5::b", tmp_path / "c.zarr")
    c = zarr.open_array(str(tmp_path / "c.zarr"), mode="r")
    assert same_bits(c[...], x) and c.chunks == (20, 9) and c.metadata.dimension_names == ("t", "x")
    assert c.attrs["units"] == "K" and c.attrs["more"] == '{"deep": [1, "two"]}'
    with h5py.File(tmp_path / "b.h5", "r") as file:
        assert file["b"].chunks == (9, 20)


PACKAGES = {"b.npy": "numpy", "b.zarr": "zarr", "b.h5::b": "h5py", "b.nc::b": "h5netcdf", "b.tif": "tifffile"}


@pytest.mark.parametrize("name", PACKAGES)
def test_a_failure_leaves_no_path(tmp_path, name):
    pytest.importorskip(PACKAGES[name])

    class Broken(Noted):
        def __getitem__(self, box):
            if box[0].start:
                raise OSError("the disk is broken")
            return super().__getitem__(box)

    with pytest.raises(OSError, match="the disk is broken"):
        files.transpose(Broken(np.zeros((1000, 10))), f"{tmp_path}/{name}", memory=30000,
                        chunks=None if name in ("b.npy", "b.tif") else (10, 50))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a.npy", "a.h5::/x"])
def test_a_source_that_changes(tmp_path, name):
    x = unique((400, 300), "f4")
    if name == "a.npy":
        np.save(tmp_path / name, x)
    else:
        with pytest.importorskip("h5py").File(tmp_path / "a.h5", "w") as file:
            file["x"] = x
    path = tmp_path / name.partition("::")[0]

    class Target(Noted):
        def __setitem__(self, box, value):
            os.utime(path, ns=(0, len(self.boxes)))
            super().__setitem__(box, value)

    with pytest.raises(RuntimeError, match=f"src is '.*{name}', which changed during the transpose; there is no output"):
        files.transpose(f"{tmp_path}/{name}", Target(np.zeros((300, 400), "f4")))
    assert os.listdir(tmp_path) == [path.name]


def test_a_private_map_keeps_its_changes(tmp_path):
    x = unique((40, 30), "f4")
    np.save(tmp_path / "a.npy", x)
    private = np.load(tmp_path / "a.npy", mmap_mode="c")
    private[0] = 7
    changed = private.tobytes()
    assert same_bits(files.transpose(private, memory=3000), wanted(np.frombuffer(changed, "f4").reshape(40, 30), None))
    assert private.tobytes() == changed


def test_zarr_is_replaced_in_one_step(tmp_path, monkeypatch):
    """At each moment, the name belongs to the whole old array or to the whole new one."""
    zarr = pytest.importorskip("zarr", "3")
    x = unique((30, 20), "f4")
    a = zarr.create_array(str(tmp_path / "a.zarr"), shape=x.shape, dtype=x.dtype, chunks=(7, 20))
    a[...] = x
    seen = []

    def noted(function):
        def call(*arguments, **options):
            seen.append((function.__name__, zarr.open_array(str(tmp_path / "a.zarr"), mode="r").shape))
            result = function(*arguments, **options)
            seen.append((function.__name__, zarr.open_array(str(tmp_path / "a.zarr"), mode="r").shape))
            return result
        return call

    for name in ("_sync_file_system", "_exchange", "_sync"):
        monkeypatch.setattr(_stores, name, noted(getattr(_stores, name)))
    monkeypatch.setattr(_stores.shutil, "rmtree", noted(_stores.shutil.rmtree))
    files.transpose(tmp_path / "a.zarr", tmp_path / "a.zarr", overwrite=True)
    old, new = (30, 20), (20, 30)
    assert [one for one in seen if one[0] != "rmtree"][2:] == [
        ("_sync_file_system", old), ("_sync_file_system", old), ("_exchange", old), ("_exchange", new), ("_sync", new), ("_sync", new)]
    assert seen[-1] == ("rmtree", new) and os.listdir(tmp_path) == ["a.zarr"]
    assert same_bits(zarr.open_array(str(tmp_path / "a.zarr"), mode="r")[...], wanted(x, None))

    class Without:
        def __init__(self, name, use_errno=False):
            pass

        def __getattr__(self, name):
            raise AttributeError(name)

    monkeypatch.setattr(_stores.ctypes, "CDLL", Without)
    with pytest.raises(OSError, match="a.zarr', which exists, and its file system cannot exchange two folders in one step"):
        files.transpose(x, tmp_path / "a.zarr", overwrite=True)
    assert os.listdir(tmp_path) == ["a.zarr"]


MEASURED = """
import resource, sys
import numpy as np, zarr, h5py
import cornerturn.files
small = zarr.create_array(store=zarr.storage.MemoryStore(), shape=(64, 64), dtype="f4", chunks=(16, 16))
small[...] = 1
cornerturn.files.transpose(small, np.zeros((64, 64), "f4"), threads=2)  # imports, threads and codecs

def peak():
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmHWM:"))

before = peak()
cornerturn.files.transpose(sys.argv[1], sys.argv[2], (2, 0, 1), memory=sys.argv[3], threads=2)
print(peak() - before)
"""


@pytest.mark.parametrize("names", [("a.zarr", "b.zarr"), ("a.h5::a", "b.h5::b")], ids=str)
def test_resident_memory(tmp_path, names):
    """A transpose of 192 MiB in 48 MiB. The buffers stay below; allocators and packages may keep half as much."""
    zarr, h5py = pytest.importorskip("zarr", "3"), pytest.importorskip("h5py")
    shape, chunk = (192, 512, 512), (32, 64, 64)
    if names[0] == "a.zarr":
        a = zarr.create_array(str(tmp_path / "a.zarr"), shape=shape, dtype="f4", chunks=chunk)
        file = contextlib.nullcontext()
    else:
        file = h5py.File(tmp_path / "a.h5", "w")
        a = file.create_dataset("a", shape, "f4", chunks=chunk)
    with file:
        for first in range(0, shape[0], 32):
            a[first:first + 32] = np.random.default_rng(first).random((32, *shape[1:]), "f4")
    found = subprocess.run([sys.executable, "-c", MEASURED, *(f"{tmp_path}/{name}" for name in names), "48MiB"],
                           capture_output=True, text=True, check=True).stdout
    assert (8 << 20) < int(found) < (72 << 20)


def test_an_error_of_a_store_ends_all_threads():
    dst = Noted(np.zeros((100, 100)), chunks=(10, 10), fail_after=3)
    with pytest.raises(OSError, match="the disk is full"):
        files.transpose(np.zeros((100, 100)), dst, memory=10000, threads=3)
    assert len(dst.boxes) == 3


def refusals():
    x = np.zeros((4, 6), "f4")
    yield (x,), {"axes": (0, 0)}, ValueError, r"axes is \(0, 0\), wanted a permutation of the 2 axes of src, 0 to 1"
    yield (x,), {"axes": "yx"}, TypeError, "axes is 'yx'. Wanted: a sequence of integers"
    yield (x, np.zeros((4, 6), "f4")), {}, ValueError, r"dst has shape \(4, 6\), wanted \(6, 4\)"
    yield (x, np.zeros((6, 4), "f8")), {}, TypeError, "dst has dtype float64, wanted float32"
    yield (x, x.reshape(6, 4)), {}, ValueError, "dst shares memory with src"
    yield ([1, 2],), {}, TypeError, "src is a list, which has no shape. Wanted: an array-like"
    yield (np.array([{}]),), {}, TypeError, "src has dtype object. Wanted: elements of a fixed size"
    yield ("a.txt",), {}, ValueError, "src is 'a.txt'. Wanted: a path that ends in .npy, .zarr or .tif, or 'file.h5::/dataset'"
    yield ("a.h5",), {}, ValueError, "src is 'a.h5'. Wanted: the dataset of the file too, such as 'a.h5::/dataset'"
    yield ("a.npy",), {}, FileNotFoundError, "src is 'a.npy', which does not exist"
    yield (x, "no/b.npy"), {}, FileNotFoundError, "dst is 'no/b.npy', and its folder does not exist"
    yield (x, "b.npy"), {"chunks": (2, 2)}, TypeError, "chunks is given, but dst is 'b.npy'"
    yield (x, "b.tif"), {"chunks": (2, 2)}, TypeError, "chunks is given, but dst is 'b.tif'"
    yield ("z*.tif",), {}, FileNotFoundError, r"src is 'z\*.tif', which does not exist"
    yield (x, "b.nc"), {}, ValueError, "dst is 'b.nc'. Wanted: the dataset of the file too"
    yield (x,), {"shards": (2, 2)}, TypeError, "shards is given, but dst is no path"
    yield (x, "b.zarr"), {"chunks": (2,)}, ValueError, r"chunks is \(2,\), wanted 2 numbers of 1 or more"
    yield (x,), {"memory": "4 gallons"}, ValueError, "memory is '4 gallons'. Wanted: bytes, or a text such as"
    yield (x,), {"memory": 1.5}, TypeError, "memory is a float. Wanted: an integer of bytes"
    yield (x,), {"memory": 0}, ValueError, "memory is 0 bytes, wanted 1 or more"
    yield (Noted(x), Noted(x.T.copy(), (6, 4))), {"memory": 100}, ValueError, "memory is 100 bytes, wanted 384 or more"
    yield (x,), {"threads": -1}, ValueError, "threads is -1, wanted 0 or more"


@pytest.mark.parametrize("arguments,options,kind,sentence", list(refusals()))
def test_refusals(arguments, options, kind, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=sentence):
        files.transpose(*arguments, **options)
    assert os.listdir(tmp_path) == []


def test_memory_texts():
    assert [_boxes.bytes_of(text) for text in ("4GiB", "1.5 MiB", "2GB", "7", 9)] == [4 << 30, 3 << 19, 2 * 10**9, 7, 9]
    assert 1 << 20 < _boxes.bytes_of(None) < 1 << 50


def test_absent_packages():
    code = ("import sys; [sys.modules.__setitem__(one, None) for one in ('zarr', 'h5py', 'h5netcdf', 'tifffile')]\n"
            "import numpy, cornerturn.files as f\nfor path in ('b.zarr', 'b.h5::b', 'b.nc::b', 'b.tif'):\n try: f.transpose(numpy.zeros((2, 2)), path)\n except ImportError as e: print(e)")
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.splitlines() == [f"the package {one} is not installed. It is needed for this path: pip install {one}"
                                  for one in ("zarr", "h5py", "h5netcdf", "tifffile")]


def test_the_first_use_imports():
    code = ("import sys, cornerturn\nprint('numpy' in sys.modules, hasattr(cornerturn, 'filez'))\n"
            "print(cornerturn.files.transpose.__module__, [one for one in ('zarr', 'h5py') if one in sys.modules])")
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.splitlines() == ["False False", "cornerturn.files []"]
