"""cornerturn.transpose_inplace_ of NumPy's arrays: squares of any strides, packed rectangles, and refusals."""
import inspect
import multiprocessing
import pickle
import sys

import numpy as np
import pytest
from conftest import random_axes, same_bits, unique
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy_test import DTYPES, RECORD, strings

import cornerturn as ct


def swapped(x):
    return np.ascontiguousarray(x.swapaxes(-1, -2)).reshape(*x.shape[:-2], x.shape[-1], x.shape[-2])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (130, 130), (3, 33, 33), (3, 5), (1, 7), (64, 65), (130, 257),
                                   (2, 3, 40, 9), (0, 4), (0, 0), (0, 3, 5)])
def test_every_dtype(dtype, shape):
    x = unique(shape, dtype)
    wanted, at = swapped(x), x.ctypes.data
    y = ct.transpose_inplace_(x)
    assert same_bits(y, wanted) and y.flags.c_contiguous and y.flags.writeable
    assert y.ctypes.data == at and x.shape == shape
    assert (y is x) == (shape[-1] == shape[-2])
    assert x.reshape(-1).tobytes() == wanted.tobytes()


@settings(deadline=None, max_examples=300)
@given(batch=st.lists(st.integers(0, 4), max_size=3), n=st.integers(0, 70), seed=st.integers(0, 99),
       steps=st.lists(st.sampled_from([1, 1, 2, 3, -1, -2]), min_size=5, max_size=5), gap=st.integers(0, 2),
       dtype=st.sampled_from(["u1", "u2", "f4", "c8", "c16", "V3", "V12", "V24"]))
def test_squares_of_any_strides(batch, n, seed, steps, gap, dtype):
    """The axes have any order in memory, with steps and gaps. The bytes between the elements must not change."""
    shape = (*batch, n, n)
    order = random_axes(len(shape), seed)
    roomy = [shape[k] * abs(steps[k]) + gap for k in order]
    whole = unique(roomy, dtype)
    inside = whole.transpose(np.argsort(order))[tuple(
        slice(None, n * s, s) if s > 0 else slice(n * -s - 1, None, s) for n, s in zip(shape, steps, strict=False))]
    x = inside[tuple(slice(n) for n in shape)]
    wanted = whole.copy()
    if x.size:
        np.ndarray(x.shape, x.dtype, wanted, x.ctypes.data - whole.ctypes.data, x.strides)[...] = swapped(x)
    assert ct.transpose_inplace_(x) is x
    assert same_bits(whole, wanted)


@settings(deadline=None, max_examples=300)
@given(batch=st.lists(st.integers(1, 4), max_size=2), rows=st.integers(1, 150), cols=st.integers(1, 150),
       dtype=st.sampled_from(["u1", "u2", "f4", "c8", "c16", "V3", "V12", "V24"]))
def test_rectangles(batch, rows, cols, dtype):
    guarded = unique((int(np.prod([*batch, rows, cols])) + 2,), dtype)
    first, last = guarded[:1].tobytes(), guarded[-1:].tobytes()
    x = guarded[1:-1].reshape(*batch, rows, cols)
    wanted = swapped(x)
    y = ct.transpose_inplace_(x)
    assert same_bits(y, wanted) and y.ctypes.data == x.ctypes.data
    assert guarded[:1].tobytes() == first and guarded[-1:].tobytes() == last


@pytest.mark.parametrize("shape", [(2000, 2000), (1500, 1000), (1000, 1501), (3, 700, 900), (8, 100_003)])
@pytest.mark.parametrize("dtype", ["u1", "f4", "c16", "V12"])
def test_large(shape, dtype):
    x = unique(shape, dtype)
    wanted = swapped(x)
    y = ct.transpose_inplace_(x)
    assert same_bits(y, wanted)
    assert same_bits(ct.transpose_inplace_(y), unique(shape, dtype))


def test_parts_of_arrays():
    whole = unique((40, 50), RECORD)
    before = whole.copy()
    ct.transpose_inplace_(whole["id"][:, 5:45])
    ct.transpose_inplace_(whole["position"][:, 5:45].transpose(2, 0, 1))
    for field in ("id", "position"):
        before[field][:, 5:45] = before[field][:, 5:45].swapaxes(0, 1).copy()
    assert same_bits(whole, before)


def test_classes_that_derive_from_ndarray(tmp_path):
    mapped = np.memmap(tmp_path / "x", "f4", "w+", shape=(50, 60))
    mapped[:] = unique((50, 60), "f4")
    turned = ct.transpose_inplace_(mapped)
    assert type(turned) is np.memmap
    turned.flush()
    assert (tmp_path / "x").read_bytes() == swapped(unique((50, 60), "f4")).tobytes()
    with pytest.raises(TypeError, match="masked array, whose mask would be lost"):
        ct.transpose_inplace_(np.ma.masked_equal([[1, 2], [3, 4]], 2))


def read_only(shape):
    x = unique(shape, "f4")
    x.flags.writeable = False
    return x


def overlapping(shape, strides):
    return np.lib.stride_tricks.as_strided(np.zeros(99, "f4"), shape, strides)


@pytest.mark.parametrize("make,kind,sentence", [
    (lambda: read_only((3, 3)), ValueError, "x is read-only"),
    (lambda: read_only((3, 4)), ValueError, "x is read-only"),
    (lambda: np.broadcast_to(np.zeros(3, "f4"), (3, 3)), ValueError, "x is read-only"),
    (lambda: overlapping((3, 3), (4, 4)), ValueError, "elements of x share memory, wanted separate elements"),
    (lambda: overlapping((2, 3, 3), (0, 12, 4)), ValueError, "elements of x share memory.* has dst stride 0"),
    (lambda: overlapping((4, 3), (4, 4)), ValueError, "is not C-contiguous. Wanted: C-contiguous, or equal extents"),
    (lambda: np.zeros((4, 6))[:, ::2], ValueError, r"x has shape \(4, 3\) and is not C-contiguous"),
    (lambda: np.zeros((3, 4), order="F"), ValueError, "is not C-contiguous"),
    (lambda: np.zeros((4, 3, 5))[::2], ValueError, "is not C-contiguous"),
    (lambda: np.zeros(3), ValueError, "x has 1 axis, wanted 2 or more"),
    (lambda: np.float32(3), TypeError, "x is a numpy.float32. Wanted: a mutable array of NumPy, PyTorch or CuPy"),
    (lambda: np.lib.stride_tricks.as_strided(np.zeros(60), (2,) * 17, (24,) * 17), ValueError,
     "elements of x share memory, wanted separate elements"),
    (lambda: np.array([[object()]]), TypeError, "x has dtype object, whose elements refer to Python objects"),
    (strings, TypeError, "whose elements refer to Python objects"),
    (lambda: [[1, 2]], TypeError, "x is a list. Wanted: a mutable array of NumPy, PyTorch or CuPy"),
    (lambda: memoryview(b"ab"), TypeError, "x is a memoryview. Wanted"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_refuses_with_a_sentence(make, kind, sentence):
    x = make()
    before = x.tobytes() if isinstance(x, np.ndarray) and not x.dtype.hasobject else None
    with pytest.raises(kind, match=sentence):
        ct.transpose_inplace_(x)
    assert before is None or x.tobytes() == before


@pytest.mark.parametrize("call,sentence", [
    (lambda x: ct.transpose_inplace_(), "transpose_inplace_ is called without the argument x"),
    (lambda x: ct.transpose_inplace_(x, x), "takes 1 positional argument, found 2. Wanted: the others by name"),
    (lambda x: ct.transpose_inplace_(x, out=x), "transpose_inplace_ has no keyword argument 'out'"),
])
def test_refuses_arguments(call, sentence):
    with pytest.raises(TypeError, match=sentence):
        call(np.zeros((3, 3)))


def test_is_a_function_as_python_knows_them():
    assert pickle.loads(pickle.dumps(ct.transpose_inplace_)) is ct.transpose_inplace_
    assert list(inspect.signature(ct.transpose_inplace_).parameters) == ["x", "stream", "threads"]
    x = unique((3, 3), "f4")
    assert same_bits(ct.transpose_inplace_(x, stream=None), swapped(unique((3, 3), "f4")))


def test_keeps_no_reference():
    square, rectangle = unique((40, 40), "f4"), unique((40, 30), "f4")
    before = sys.getrefcount(square), sys.getrefcount(rectangle), sys.getrefcount(square.dtype)
    for _ in range(100):
        ct.transpose_inplace_(square)
        ct.transpose_inplace_(rectangle)
    assert (sys.getrefcount(square), sys.getrefcount(rectangle), sys.getrefcount(square.dtype)) == before


def in_a_child(queue):
    queue.put(all(same_bits(ct.transpose_inplace_(unique(shape, "f8")), swapped(unique(shape, "f8")))
                  for shape in ((1500, 1500), (1500, 1000))))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
def test_after_fork():
    ct.transpose_inplace_(unique((1500, 1000), "f8"))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=in_a_child, args=(queue,))
    child.start()
    try:
        assert queue.get(timeout=60)
    finally:
        child.kill()
        child.join()
