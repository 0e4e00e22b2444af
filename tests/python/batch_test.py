"""cornerturn.batch: many arrays of any shapes in one call."""
import multiprocessing
import pickle

import numpy as np
import pytest
from conftest import random_axes, same_bits, unique
from hypothesis import given, settings
from hypothesis import strategies as st

import cornerturn as ct


def turned(x, axes):
    return np.ascontiguousarray(x.transpose(axes)).reshape(tuple(x.shape[k] for k in axes))


def test_images_of_different_sizes():
    images = [unique((20 + k, 30 + 2 * k, 3), "u1") for k in range(50)]
    batch = ct.batch(images, "h w c -> c h w")
    planes = batch()
    assert len(batch) == len(planes) == 50
    assert all(same_bits(y, turned(x, (2, 0, 1))) for x, y in zip(images, planes, strict=True))
    assert batch.bytes_moved == 2 * sum(x.nbytes for x in images) and batch.threads >= 1
    assert "50 items" in batch.explain() and "50 items" in repr(batch)


@settings(deadline=None, max_examples=100)
@given(rank=st.integers(2, 4), count=st.integers(0, 12), seed=st.integers(0, 999))
def test_any_shapes_and_types(rank, count, seed):
    random = np.random.default_rng(seed)
    kinds = ["u1", "f2", "f4", "c8", "V3", "V12", "c16"]
    xs = [unique(random.integers(0, 20, rank), kinds[random.integers(len(kinds))]) for _ in range(count)]
    xs = [x.transpose(random_axes(rank, seed + k)) if k % 2 else x[::-1] for k, x in enumerate(xs)]
    axes = random_axes(rank, seed)
    assert all(same_bits(y, turned(x, axes)) for x, y in zip(xs, ct.batch(xs, axes)(), strict=True))


def test_calls_read_the_present_content():
    xs = [np.zeros((30, 40), "f4") for _ in range(3)]
    batch = ct.batch(xs)
    first = batch()
    for k, x in enumerate(xs):
        x[:] = np.arange(1200).reshape(30, 40) + k
    again = batch()
    assert all(a is b and same_bits(a, x.T.copy()) for a, b, x in zip(first, again, xs, strict=True))


def test_into_existing_arrays():
    xs = [unique((5, 6), "f4"), unique((7, 3), "f4")]
    whole = np.zeros((20, 20), "f4")
    outs = [whole[:6, :5], whole[10:13, 4:18:2]]
    made = ct.batch(xs, out=outs, threads=1)()
    assert all(a is b and np.array_equal(a, x.T) for a, b, x in zip(made, outs, xs, strict=True))
    assert np.count_nonzero(whole) <= 5 * 6 + 7 * 3


def test_an_empty_batch():
    batch = ct.batch([])
    assert batch() == [] and len(batch) == 0 and batch.bytes_moved == 0


def test_keeps_its_arrays():
    batch = ct.batch([unique((300, 200), "f8") for _ in range(4)])
    assert all(same_bits(y, unique((300, 200), "f8").T.copy()) for y in batch())


def read_only(x):
    x.flags.writeable = False
    return x


X = np.arange(12, dtype="f4").reshape(3, 4)


@pytest.mark.parametrize("call,kind,sentence", [
    (lambda: ct.batch([X, [1]]), TypeError, "item 1: x is a list. Wanted: an array of NumPy, PyTorch or CuPy"),
    (lambda: ct.batch([X, X[0]]), ValueError, "item 1: x has 1 axis, wanted 2 or more"),
    (lambda: ct.batch([X, X], (0, 2)), ValueError, r"item 0: axes\[1\] is 2"),
    (lambda: ct.batch([X], "a -> a"), ValueError, "item 0: pattern is 'a -> a', which is for 1 axis"),
    (lambda: ct.batch([X, X], out=[X.T.copy()]), ValueError, "out has 1 arrays, but xs has 2"),
    (lambda: ct.batch([X], out=[X.copy()]), ValueError, r"item 0: out has shape \(3, 4\), wanted \(4, 3\)"),
    (lambda: ct.batch([X], out=[np.zeros((4, 3))]), ValueError, "item 0: out has dtype float64, but x has float32"),
    (lambda: ct.batch([X], out=[[1]]), TypeError, "item 0: out is a list, but x is a numpy.ndarray"),
    (lambda: ct.batch([X], out=[read_only(np.zeros((4, 3), "f4"))]), ValueError, "item 0: out is read-only"),
    (lambda: ct.batch([X], out=[X.T]), ValueError, "item 0: "),
    (lambda: ct.batch([X, np.array([[object()]])]), TypeError, "^item 1: x has dtype object, whose elements refer"),
    (lambda: ct.batch([X], out=[np.ma.zeros((4, 3), "f4")]), TypeError, "^item 0: out is a masked array"),
    (lambda: ct.batch([X], (1.5, 0)), TypeError, r"^item 0: axes\[0\] is a float. Wanted: an integer"),
    (lambda: ct.batch(3), TypeError, "^xs is a int. Wanted: an iterable of arrays$"),
    (lambda: ct.batch([X], out=3), TypeError, "^out is a int. Wanted: an iterable of arrays$"),
    (lambda: ct.batch([X], threads=-1), ValueError, "threads is -1"),
    (lambda: ct.batch([X], threads="1"), TypeError, "^threads is a str. Wanted: an integer$"),
    (lambda: ct.batch([X])(stream=3), TypeError, "stream is given, but x is a numpy.ndarray"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_refuses_with_a_sentence(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call()


def in_a_child(queue, batch):
    queue.put(all(same_bits(y, x.T.copy()) for x, y in zip(batch._xs, batch(), strict=True)))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
def test_after_fork():
    """A child has none of its parent's threads; it must not wait for them."""
    batch = ct.batch([unique((900, 800), "f4") for _ in range(4)], threads=3)
    batch()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=in_a_child, args=(queue, batch))
    child.start()
    try:
        assert queue.get(timeout=60)
    finally:
        child.kill()
        child.join()


def test_pickles():
    """A batch pickles its arrays and its axes, not their addresses."""
    xs = [unique((3, 4), "f4"), unique((6, 5), "f8")[::2]]
    made = ct.batch(xs, "a b -> b a", threads=1)
    other = pickle.loads(pickle.dumps(made))
    assert other.bytes_moved == made.bytes_moved and other.threads == 1
    for y, x in zip(other(), xs, strict=True):
        assert same_bits(y, np.ascontiguousarray(x.T))
    assert not any(np.shares_memory(a, b) for a, b in zip(other(), made(), strict=True))
