"""cornerturn.xarray: the accessor of DataArray and Dataset."""
import numpy as np
import pytest
from conftest import unique

xr = pytest.importorskip("xarray")
import cornerturn.xarray  # noqa: E402, F401


def sample():
    x = unique((6, 5, 4), "f4")
    return xr.Dataset(
        {"v": (("t", "y", "x"), x, {"units": "K"}), "w": (("y", "x"), x[0]), "name": (("x", "y"), np.full((4, 5), "a", object)),
         "flat": ("t", np.arange(6))},
        coords={"t": np.arange(6) * 10, "lat": (("y", "x"), x[1]), "here": 3}, attrs={"title": "a sample"})


def is_contiguous(array):
    return array.values.flags.c_contiguous


@pytest.mark.parametrize("in_chunks", [False, True])
@pytest.mark.parametrize("dims", [(), ("x", "t", "y"), ("x", ...)])
def test_equal_to_xarray(in_chunks, dims):
    if in_chunks:
        pytest.importorskip("dask")
    a = sample().chunk({"t": 4}) if in_chunks else sample()
    b = a.cornerturn.transpose(*dims)
    assert b.identical(a.transpose(*dims)) and [b[name].dims for name in b] == [a.transpose(*dims)[name].dims for name in a]
    assert list(b.variables) == list(a.variables)
    assert b["v"].chunks == a.transpose(*dims)["v"].chunks
    one = a["v"].cornerturn.transpose(*dims)
    assert one.identical(a["v"].transpose(*dims)) and one.name == "v"
    assert all(is_contiguous(array) for array in (b["v"], b["w"], b["lat"], one, one.coords["lat"]))
    assert in_chunks or not is_contiguous(a["v"].transpose(*dims))  # so the test above can fail
    kept = a["v"].cornerturn.transpose(*dims, transpose_coords=False)
    assert kept.identical(a["v"].transpose(*dims, transpose_coords=False))


def test_it_stays_lazy_with_wanted_chunks():
    dask = pytest.importorskip("dask")

    def fail(block):
        raise AssertionError("a block is computed")

    a = sample().chunk({"t": 2})
    with dask.config.set(scheduler=fail):
        b = a.cornerturn.transpose("x", "y", "t", chunks={"t": -1, "x": 3})
        c = a["v"].cornerturn.transpose("x", "y", "t", chunks={"t": -1, "x": 3})
    assert b["v"].chunks == c.chunks == ((3, 1), (5,), (6,)) and b["w"].chunks == ((3, 1), (5,))
    assert b["v"].identical(c) and c.identical(a["v"].transpose("x", "y", "t"))


def test_the_encoding_is_permuted(tmp_path):
    zarr = pytest.importorskip("zarr", "3")
    pytest.importorskip("dask")
    sample().drop_vars("name").to_zarr(tmp_path / "a.zarr", encoding={"v": {"chunks": (2, 5, 3)}})
    a = xr.open_zarr(tmp_path / "a.zarr")
    a.cornerturn.transpose("x", "y", "t").to_zarr(tmp_path / "b.zarr")
    assert zarr.open(tmp_path / "b.zarr")["v"].chunks == (3, 5, 2)
    xr.open_dataset(tmp_path / "a.zarr", engine="zarr")["v"].cornerturn.transpose("x", "y", "t").to_zarr(tmp_path / "c.zarr")
    assert zarr.open(tmp_path / "c.zarr")["v"].chunks == (3, 5, 2)
    a.cornerturn.transpose("x", "y", "t", chunks={"t": 4, "x": 4}).to_zarr(tmp_path / "d.zarr")
    assert zarr.open(tmp_path / "d.zarr")["v"].chunks == (4, 5, 4)
    for name in "bcd":
        found = xr.open_zarr(tmp_path / f"{name}.zarr")["v"].load()
        assert found.identical(a["v"].transpose("x", "y", "t").load().drop_vars(set(a.coords) - set(found.coords)))


def test_arrays_with_a_meaning_stay_with_xarray():
    class Metres(np.lib.mixins.NDArrayOperatorsMixin):
        """An array of another package, which has a unit."""

        def __init__(self, array):
            self.array, self.shape, self.ndim, self.dtype = array, array.shape, array.ndim, array.dtype

        def __array_function__(self, function, kinds, arguments, options):
            return Metres(function(arguments[0].array, *arguments[1:], **options))

        def __array_ufunc__(self, *arguments, **options):
            return NotImplemented

        def __getitem__(self, place):
            return Metres(self.array[place])

        def __array__(self, dtype=None, copy=None):
            raise AssertionError("the unit is lost")

        def transpose(self, axes):
            return Metres(self.array.transpose(axes))

    a = xr.DataArray(Metres(unique((3, 4), "f4")), dims=("y", "x"))
    assert isinstance(a.cornerturn.transpose().data, Metres)


def refusals():
    yield ("q",), {}, "q"
    yield ("x", "y", "t"), {"chunks": {"q": 1}}, r"chunks has dimension 'q', wanted some of \['x', 'y', 't'\]"
    yield ("x", "y", "t"), {"chunks": {"x": 1}}, "chunks is given, but the array is not in chunks of Dask. Wanted: array.chunk"


@pytest.mark.parametrize("dims,options,sentence", list(refusals()))
def test_refusals(dims, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        sample()["v"].cornerturn.transpose(*dims, **options)
