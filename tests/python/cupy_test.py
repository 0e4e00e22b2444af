"""accelerate() of cornerturn.cupy on a stand-in for CuPy: its arrays are in host memory. cuda_test.py uses CuPy itself."""
import importlib
import sys
import types

import numpy as np
import pytest
from conftest import same_bits, unique

import cornerturn as ct
from cornerturn import _core, _frameworks


class Array:
    """An array with the attributes of cupy.ndarray that cornerturn reads."""

    def __init__(self, host, device=0):
        self.host, self.dtype, self.shape, self.nbytes = host, host.dtype, host.shape, host.nbytes
        self.strides, self.itemsize = host.strides, host.itemsize
        self.data = types.SimpleNamespace(ptr=host.__array_interface__["data"][0], device_id=device)


class Ufunc:
    """CuPy's ufunc of copies; it counts its calls."""

    nin, calls = 1, 0

    def __call__(self, src, dst, **options):
        type(self).calls += 1
        assert not options.pop("_where", None)
        np.copyto(dst.host, src.host, casting="unsafe")
        return dst


@pytest.fixture
def cupy(monkeypatch):
    """The stand-in, as modules that import CuPy's function of copies by name, and cornerturn.cupy on top."""
    Ufunc.calls = 0
    copy = Ufunc()
    stand_in = types.ModuleType("cupy")
    stand_in.ndarray, stand_in.__version__ = Array, "14.0"
    stand_in.empty = lambda shape: np.empty(shape)  # for the first call, which loads kernels
    stand_in.cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(getDevice=lambda: 0),
                                          get_current_stream=lambda: types.SimpleNamespace(ptr=0))
    monkeypatch.setitem(sys.modules, "cupy", stand_in)
    parts = {}
    for name in ("core", "_routines_indexing", "_routines_manipulation"):
        parts[name] = types.ModuleType(f"cupy._core.{name}")
        parts[name].elementwise_copy = copy
        monkeypatch.setitem(sys.modules, f"cupy._core.{name}", parts[name])
    monkeypatch.setattr(_frameworks, "_memory_of_cupy", lambda x: (x.data.ptr, x.shape, x.strides, x.itemsize, False))
    monkeypatch.delitem(sys.modules, "cornerturn.cupy", raising=False)
    stand_in.parts, stand_in.original = parts, copy
    stand_in.accelerate = importlib.import_module("cornerturn.cupy").accelerate
    yield stand_in
    stand_in.accelerate(False)
    sys.modules.pop("cornerturn.cupy", None)
    if hasattr(ct, "cupy"):
        del ct.cupy


def copy_with(cupy, part, src, dst, **options):
    return cupy.parts[part].elementwise_copy(src, dst, **options)


@pytest.mark.parametrize("part", ["core", "_routines_indexing", "_routines_manipulation"])
def test_takes_permuted_copies(cupy, part):
    x = unique((130, 210, 70), "f4")
    y = Array(np.zeros((70, 130, 210), "f4"))
    with cupy.accelerate():
        assert copy_with(cupy, part, Array(x.transpose(2, 0, 1)), y) is y
    assert Ufunc.calls == 0
    assert same_bits(y.host, np.ascontiguousarray(x.transpose(2, 0, 1)))


def test_leaves_other_copies_to_cupy(cupy):
    x = np.arange(1320000, dtype="f4").reshape(1200, 1100)
    cases = {
        "no permutation": (x, np.zeros((1200, 1100), "f4"), {}),
        "one order, another stride": (x[:, :1000], np.zeros((1200, 1000), "f4"), {}),
        "a conversion": (x.T, np.zeros((1100, 1200), "f8"), {}),
        "a broadcast": (x.T[0], np.zeros((1100, 1200), "f4"), {}),
        "small": (x[:1000, :1000].T, np.zeros((1000, 1000), "f4"), {}),
        "elements apart": (x.T, np.zeros((1100, 2400), "f4")[:, ::2], {}),
        "an option": (x.T, np.zeros((1100, 1200), "f4"), {"_where": None}),
        "shared memory": (x.T[:1100, :1100], x[:1100, :1100].copy(), {}),
    }
    with cupy.accelerate():
        for number, (name, (src, dst, options)) in enumerate(cases.items(), 1):
            if name == "shared memory":
                src = dst.T
                copy_with(cupy, "core", Array(src), Array(dst), **options)
            else:
                copy_with(cupy, "core", Array(src), Array(dst), **options)
                assert np.array_equal(dst, np.broadcast_to(src, dst.shape).astype(dst.dtype)), name
            assert Ufunc.calls == number, name
        copy_with(cupy, "core", Array(x.T, device=1), Array(np.zeros((1100, 1200), "f4")))
        copy_with(cupy, "core", Array(x.T, device=1), Array(np.zeros((1100, 1200), "f4"), device=1))
    assert Ufunc.calls == len(cases) + 2


def test_switches(cupy):
    def is_on():
        return all(part.elementwise_copy is not cupy.original for part in cupy.parts.values())

    assert not is_on()
    cupy.accelerate()
    assert is_on()
    with cupy.accelerate(False):
        assert not is_on()
        with cupy.accelerate():
            assert is_on()
        assert not is_on()
    assert is_on()
    cupy.accelerate(False)
    assert all(part.elementwise_copy is cupy.original for part in cupy.parts.values())


def test_is_a_ufunc_for_fusion(cupy):
    with cupy.accelerate():
        found = cupy.parts["core"].elementwise_copy
        assert isinstance(found, Ufunc) and found.nin == 1


def test_refuses_another_cupy(cupy):
    del cupy.parts["_routines_indexing"].elementwise_copy
    with pytest.raises(RuntimeError, match="CuPy 14.0, which has no elementwise_copy in cupy._core._routines_indexing"):
        cupy.accelerate()
    assert cupy.parts["core"].elementwise_copy is cupy.original


def test_copy_permuted_memory_follows_its_conditions():
    x = unique((300, 200), "f4")

    def memory(a):
        return a.__array_interface__["data"][0], a.shape, a.strides, a.itemsize, False

    out = np.zeros((200, 300), "f4")
    assert _core._copy_permuted_memory(memory(out), memory(x.T), 0) and same_bits(out, x.T.copy())
    for dst in (np.zeros((300, 200), "f4"), np.zeros((200, 300), "f8"), np.zeros((200, 300, 1), "f4")):
        assert not _core._copy_permuted_memory(memory(dst), memory(x.T), 0) and not dst.any()
