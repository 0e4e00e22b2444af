"""Arrays of frameworks that the package does not know, by DLPack and __cuda_array_interface__."""
import sys

import numpy as np
import pytest
from conftest import same_bits, unique

import cornerturn as ct


class Namespace:
    """The part of the array API standard that these tests need."""

    @staticmethod
    def empty(shape, *, dtype, device):
        assert device == "cpu"
        return Foreign(np.empty(shape, dtype))


class Foreign:
    """An array that describes itself by the array API's names only."""

    device = "cpu"

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __array_namespace__(self):
        return Namespace


class Old(Foreign):
    """An array from before DLPack had versions, of a framework without the array API."""

    __array_namespace__ = property()

    def __dlpack__(self, stream=None):
        assert stream is None
        return self.array.__dlpack__()


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x[::2, ::-1], lambda x: x.transpose(1, 2, 0), lambda x: x[:, :0]],
                         ids=["packed", "steps", "permuted", "empty"])
@pytest.mark.parametrize("dtype", ["u1", "f4", "c16"])
def test_dlpack(make, dtype):
    x = make(unique((4, 6, 5), dtype))
    y = ct.rearrange(Foreign(x), "a b c -> c a b")
    assert isinstance(y, Foreign)
    assert same_bits(y.array, np.ascontiguousarray(x.transpose(2, 0, 1)).reshape(y.shape))


def test_out():
    x, out = unique((30, 40), "f4"), Foreign(np.empty((40, 30), "f4"))
    assert ct.matrix_transpose(Old(x), out=out) is out
    assert same_bits(out.array, np.ascontiguousarray(x.T))
    plan = ct.plan(Old(x))
    out.array[:] = 0
    plan(Old(x), out=out)
    assert same_bits(out.array, np.ascontiguousarray(x.T))


def test_read_only_out():
    locked = np.zeros((40, 30), "f4")
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="^out is read-only$"):
        ct.matrix_transpose(Foreign(unique((30, 40), "f4")), out=Foreign(locked))
    assert not locked.any()


@pytest.mark.parametrize("call,kind,sentence", [
    (lambda x: ct.matrix_transpose(Old(x)), TypeError, "whose framework lacks __array_namespace__. Wanted: an out"),
    (lambda x: ct.matrix_transpose(Foreign(x), out=Foreign(x)), ValueError, r"out has shape \(3, 4\), wanted \(4, 3\)"),
    (lambda x: ct.matrix_transpose(Foreign(x), out=Foreign(np.zeros((4, 3)))), ValueError,
     "out and x have different element types"),
    (lambda x: ct.matrix_transpose(Foreign(x), out=Foreign(np.zeros((4, 3), "i4"))), ValueError,
     "out and x have different element types"),
    (lambda x: ct.permute_dims(Foreign(x), (0, 1), out=OnCuda()), ValueError,
     "x is in host memory, but out is not. Wanted: both on one device"),
    (lambda x: ct.matrix_transpose(Foreign(x), out=[[1]]), TypeError, "x is a list"),
    (lambda x: ct.matrix_transpose(Foreign(x), stream=1), TypeError, "stream is given, but x is a protocols_test.Foreign, which"),
    (lambda x: ct._core._stream_handle("a"), TypeError, "stream is a str. Wanted: None, an integer, or"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_refuses_with_a_sentence(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call(unique((3, 4), "f4"))


class OnCuda:
    """Memory that claims to be on a GPU. Without a CUDA engine, no code may touch it."""

    shape = (3, 4)

    def __init__(self, mask=None, typestr="<f4"):
        self.__cuda_array_interface__ = {"shape": self.shape, "typestr": typestr, "data": (4096, False), "version": 3,
                                         "strides": None, "stream": 1, "mask": mask}


def test_cuda_array_interface():
    with pytest.raises(TypeError, match="with a mask, which would be lost"):
        ct.matrix_transpose(OnCuda(mask=1), out=OnCuda())
    with pytest.raises(ValueError, match=r"out has shape \(3, 4\), wanted \(4, 3\)"):
        ct.matrix_transpose(OnCuda(), out=OnCuda())
    with pytest.raises(ValueError, match="x is on a CUDA device, but out is not"):
        ct.permute_dims(OnCuda(), (0, 1), out=Foreign(unique((3, 4), "f4")))
    with pytest.raises(ValueError, match="the elements of out and x have 8 and 4 bytes"):
        ct.permute_dims(OnCuda(), (0, 1), out=OnCuda(typestr="<f8"))
    if not next(one for one in ct.backends() if one["name"] == "cuda")["present"]:
        with pytest.raises(RuntimeError, match="x is on a CUDA device, but cornerturn found none: "):
            ct.permute_dims(OnCuda(), (0, 1), out=OnCuda())


def test_in_place_wants_to_know_the_framework():
    for x in (Foreign(unique((3, 3), "f4")), OnCuda()):
        with pytest.raises(TypeError, match="Wanted: a mutable array of NumPy, PyTorch or CuPy"):
            ct.transpose_inplace_(x)


class Stream:
    def __init__(self, name, value):
        setattr(self, name, value)


@pytest.mark.parametrize("stream,handle", [
    (0, 0), (2, 2), (np.int64(7), 7), (Stream("cuda_stream", 4096), 4096), (Stream("ptr", 512), 512),
    (Stream("__cuda_stream__", lambda: (0, 64)), 64),
], ids=["default", "per thread", "numpy integer", "torch", "cupy", "protocol"])
def test_streams(stream, handle):
    assert ct._core._stream_handle(stream) == handle


# ---- arrays of a fake CuPy on the CPU: the place of each allocation, and the stream of each transpose ----

class FakeCuPy:
    """The part of CuPy that the package uses; `log` records the calls."""

    def __init__(self):
        fake, self.log = self, []

        class Scope:
            def __init__(self, name):
                self.name = name

            def __enter__(self):
                fake.log.append(f"enter {self.name}")
                fake.scopes.append(self.name)

            def __exit__(self, *_):
                fake.scopes.pop()

        class ndarray:  # noqa: N801
            def __init__(self, array, device):
                self.array, self.device = array, device
                self.shape, self.strides, self.dtype = array.shape, array.strides, array.dtype
                self.itemsize = array.itemsize
                self.data = type("Pointer", (), {"ptr": array.ctypes.data})

            def reshape(self, shape):
                return ndarray(self.array.reshape(shape), self.device)

        self.ndarray, self.scopes, self.device = ndarray, [], Scope("device")
        self.cuda = type("cuda", (), {
            "ExternalStream": staticmethod(lambda handle: Scope(f"stream {handle}")),
            "get_current_stream": staticmethod(lambda: type("Stream", (), {"ptr": int(next(
                (one.split()[1] for one in reversed(fake.scopes) if one.startswith("stream")), 77))}))})

    def empty(self, shape, dtype):
        self.log.append("empty in " + ", ".join(self.scopes))
        return self.ndarray(np.empty(shape, dtype), self.device)


@pytest.fixture
def cupy(monkeypatch):
    fake = FakeCuPy()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    real = ct._core._move_memory

    def move_on_the_host(src, dst, axes, stream, plan):
        fake.log.append(f"move on {stream}")
        assert src[-1] is dst[-1] is True  # claims to be on CUDA
        real((*src[:-1], False), (*dst[:-1], False), axes, None, plan)

    monkeypatch.setattr(ct._core, "_move_memory", move_on_the_host)
    in_place = ct._core._transpose_memory

    def transpose_on_the_host(x, memory, stream):
        fake.log.append(f"move on {stream if isinstance(stream, int) else stream.ptr}")
        assert memory[-1] is True
        return in_place(x, (*memory[:-1], False))

    monkeypatch.setattr(ct._core, "_transpose_memory", transpose_on_the_host)
    return fake


def test_cupy(cupy):
    x = unique((6, 5, 8), "f4")[:, ::-1, ::2]
    y = ct.permute_dims(cupy.ndarray(x, cupy.device), (2, 0, 1))
    assert type(y) is cupy.ndarray and same_bits(y.array, np.ascontiguousarray(x.transpose(2, 0, 1)))
    assert cupy.log == ["enter device", "empty in device", "move on 77"]


def test_cupy_splits_and_joins_axes(cupy):
    x = unique((6, 8), "f4")[:, ::-1]
    wanted = np.ascontiguousarray(x.reshape(2, 3, 8).transpose(2, 1, 0)).reshape(8, 6)
    y = ct.rearrange(cupy.ndarray(x, cupy.device), "(a b) c -> c (b a)", a=2)
    assert type(y) is cupy.ndarray and same_bits(y.array, wanted)
    out = cupy.ndarray(np.zeros((8, 6), "f4"), cupy.device)
    assert ct.rearrange(cupy.ndarray(x, cupy.device), "(a b) c -> c (b a)", a=2, out=out, stream=Stream("ptr", 4096)) is out
    assert same_bits(out.array, wanted) and cupy.log[-1] == "move on 4096"


def test_cupy_in_place(cupy):
    x = unique((2, 10, 5), "f4")[:, ::2]
    wanted = np.ascontiguousarray(x.swapaxes(1, 2))
    y = cupy.ndarray(x, cupy.device)
    assert ct.transpose_inplace_(y) is y and same_bits(x.copy(), wanted)
    ct.transpose_inplace_(y, stream=Stream("ptr", 4096))
    assert cupy.log == ["enter device", "move on 77", "enter device", "move on 4096"]
    with pytest.raises(ValueError, match=r"x has shape \(2, 4, 5\) and is not C-contiguous"):
        ct.transpose_inplace_(cupy.ndarray(x[:, :4], cupy.device))


def test_cupy_stream_and_out(cupy):
    x = unique((6, 5), "c8")
    y = ct.matrix_transpose(cupy.ndarray(x, cupy.device), stream=Stream("ptr", 4096))
    assert same_bits(y.array, np.ascontiguousarray(x.T))
    assert cupy.log[2:] == ["enter device", "empty in device, stream 4096, device", "move on 4096"]
    out = cupy.ndarray(np.zeros((5, 6), "c8"), cupy.device)
    assert ct.rearrange(cupy.ndarray(x, cupy.device), "a b -> b a", out=out) is out
    assert same_bits(out.array, y.array)
    with pytest.raises(ValueError, match="out has dtype int64, but x has complex64"):
        ct.matrix_transpose(cupy.ndarray(x, cupy.device), out=cupy.ndarray(np.zeros((5, 6), int), cupy.device))
    with pytest.raises(TypeError, match="out is a numpy.ndarray, but x is a cupy.ndarray"):
        ct.matrix_transpose(cupy.ndarray(x, cupy.device), out=np.zeros((5, 6), "c8"))


def stand_in(module, name, **members):
    """An object of a class that has the names of another package's class."""
    class Array:
        def __init__(self):
            self.array = unique((4, 6), "f4")
            self.shape, self.ndim, self.dtype = self.array.shape, 2, self.array.dtype

        def __array__(self, dtype=None, copy=None):
            assert module not in ("h5py._hl.dataset", "zarr.core.array", "dask.array.core"), "it reads a file"
            return self.array

    made = type(name, (Array,), members)
    made.__module__ = module
    return made()


def test_arrays_that_wrap_an_array_of_numpy():
    x = stand_in("xarray.core.dataarray", "DataArray", chunks=None)
    wanted = np.ascontiguousarray(x.array.T)
    out = np.zeros((6, 4), "f4")
    assert same_bits(ct.matrix_transpose(x), wanted) and same_bits(ct.permute_dims(x, (1, 0), threads=1), wanted)
    assert same_bits(ct.rearrange(x, "a (b c) -> b (c a)", c=3), np.ascontiguousarray(wanted.reshape(2, 12)))
    assert same_bits(ct.matrix_transpose(x, alpha=2), 2 * wanted) and same_bits(ct.plan(x.array)(x), wanted)
    assert ct.matrix_transpose(x, out=out) is out and same_bits(out, wanted)
    with pytest.raises(TypeError, match="x is a xarray.core.dataarray.DataArray. Wanted: x.values$"):
        ct.transpose_inplace_(x)
    with pytest.raises(TypeError, match="x is a xarray.core.dataarray.DataArray. Wanted: x.values$"):
        ct.plan(x)
    with pytest.raises(TypeError, match="item 0: x is a xarray.core.dataarray.DataArray. Wanted: x.values$"):
        ct.batch([x])
    with pytest.raises(TypeError, match=r"x is a pandas.DataFrame. Wanted: numpy.asarray\(x\)$"):
        ct.transpose_inplace_(stand_in("pandas", "DataFrame"))


@pytest.mark.parametrize("module,name,members,wanted", [
    ("h5py._hl.dataset", "Dataset", {}, r"x\[:\], which reads the file"),
    ("zarr.core.array", "Array", {}, r"x\[:\], which reads the chunks"),
    ("dask.array.core", "Array", {"chunks": ((4,), (6,))}, r"x.compute\(\), or cornerturn.dask.permute_dims"),
    ("xarray.core.dataarray", "DataArray", {"chunks": ((4,), (6,))}, "x.values"),
])
def test_arrays_that_are_not_in_memory(module, name, members, wanted):
    x = stand_in(module, name, **members)
    for call in (ct.matrix_transpose, lambda x: ct.rearrange(x, "a b -> (a b)"), lambda x: ct.permute_dims(x, (1, 0), alpha=2),
                 ct.plan(x.array)):
        with pytest.raises(TypeError, match=f"x is a {module}.{name}, whose elements are not in memory. Wanted: {wanted}"):
            call(x)
    for call in (ct.transpose_inplace_, ct.plan, lambda x: ct.batch([x])):
        with pytest.raises(TypeError, match=f"x is a {module}.{name}. Wanted: {wanted}"):
            call(x)
