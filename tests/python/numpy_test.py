"""NumPy arrays: every dtype, shape and layout against numpy.transpose, and the error sentences."""
import inspect
import multiprocessing
import pickle
import random
import sys
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest
from conftest import random_axes, same_bits, unique
from hypothesis import given, settings
from hypothesis import strategies as st

import cornerturn as ct

RECORD = np.dtype([("id", "<i2"), ("position", "<f8", 3), ("flag", "?")])  # packed: 27 bytes
DTYPES = ["?", "u1", "<i2", ">i2", "f2", "<u4", "f4", ">f4", "f8", "i8", "c8", "c16", np.longdouble, np.clongdouble,
          "M8[ns]", "m8[s]", "S5", "U3", "V7", "V16", "V24", RECORD, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn,
          ml_dtypes.float8_e5m2, ml_dtypes.int4]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(3, 5), (1, 7), (64, 65), (130, 257), (0, 4)])
def test_every_dtype(dtype, shape):
    x = unique(shape, dtype)
    y = ct.matrix_transpose(x)
    assert same_bits(y, np.ascontiguousarray(x.T))
    assert type(y) is np.ndarray and y.flags.c_contiguous and y.flags.writeable and y.base is None


@st.composite
def views(draw):
    """A view of an array, with steps, gaps, negative and zero strides."""
    shape = draw(st.lists(st.integers(0, 9), min_size=0, max_size=6))
    dtype = np.dtype(draw(st.sampled_from(["u1", "u2", "f4", "c8", "c16", "V3", "V12", "V24"])))
    steps = [draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2])) for _ in shape]
    x = unique([n * abs(s) + 1 for n, s in zip(shape, steps, strict=True)], dtype)
    x = np.asarray(x[tuple(slice(None, n * s, s) if s > 0 else slice(n * -s, 0, s)
                           for n, s in zip(shape, steps, strict=True))])
    x = x.transpose(random_axes(x.ndim, draw(st.integers(0, 99))))
    if draw(st.booleans()):
        x = np.broadcast_to(x, (draw(st.integers(0, 3)), *x.shape))
    return x


@settings(deadline=None, max_examples=400)
@given(x=views(), seed=st.integers(0, 999), negative=st.booleans())
def test_views(x, seed, negative):
    axes = random_axes(x.ndim, seed)
    given_axes = [k - x.ndim for k in axes] if negative else axes
    assert same_bits(ct.permute_dims(x, given_axes), np.ascontiguousarray(x.transpose(axes)).reshape(
        tuple(x.shape[k] for k in axes)))


@settings(deadline=None, max_examples=200)
@given(x=views(), seed=st.integers(0, 999), gap=st.integers(0, 2), flip=st.booleans())
def test_out_of_any_strides(x, seed, gap, flip):
    axes = random_axes(x.ndim, seed)
    shape = tuple(x.shape[k] for k in axes)
    roomy = [n + 2 * gap for n in shape]
    whole = np.full(int(np.prod(roomy)) * x.itemsize, 0xA5, np.uint8).view(x.dtype).reshape(roomy)
    inside = tuple(slice(gap, gap + n) for n in shape) or ...
    out = whole[inside]
    if flip:
        out = np.flip(out) if out.ndim else out
    assert ct.permute_dims(x, axes, out=out) is out
    assert np.ascontiguousarray(out).tobytes() == np.ascontiguousarray(x.transpose(axes)).tobytes()
    guard = np.ones(whole.shape, bool)
    guard[inside] = False
    assert set(np.ascontiguousarray(whole[guard]).tobytes()) <= {0xA5}


def test_there_and_back():
    x = unique((6, 5, 4, 3), "f4")
    axes = (2, 0, 3, 1)
    assert same_bits(ct.permute_dims(ct.permute_dims(x, axes), np.argsort(axes)), x)


@pytest.mark.parametrize("shape,axes", [((1000, 1300), (1, 0)), ((40, 50, 60, 7), (0, 3, 1, 2)), ((300, 7, 400), (2, 1, 0))])
@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "c8", "c16", "V12"])
def test_large(shape, axes, dtype):
    x = unique(shape, dtype)
    assert same_bits(ct.permute_dims(x, axes), np.ascontiguousarray(x.transpose(axes)))


def test_fields_of_records_are_strides():
    """The stride of this field is no multiple of its size, and the field is not copied first."""
    x = unique((30, 40), RECORD)
    for field in ("id", "flag"):
        assert same_bits(ct.matrix_transpose(x[field]), np.ascontiguousarray(x[field].T))
    positions = x["position"]
    assert same_bits(ct.permute_dims(positions, (2, 0, 1)), np.ascontiguousarray(positions.transpose(2, 0, 1)))
    out = np.zeros((40, 30), RECORD)
    ct.matrix_transpose(x["id"], out=out["id"])
    assert np.array_equal(out["id"], x["id"].T) and not out["position"].any()


def test_matrices_in_a_stack():
    x = unique((2, 3, 4, 5), "f8")
    assert same_bits(ct.matrix_transpose(x), np.ascontiguousarray(x.swapaxes(-1, -2)))


def test_many_axes():
    short = unique((1,) * 40 + (3, 1, 4), "f4")
    assert same_bits(ct.matrix_transpose(short), np.ascontiguousarray(short.swapaxes(-1, -2)))


@pytest.mark.parametrize("rank", [17, 20, 24])
@pytest.mark.parametrize("seed", range(4))
def test_folds_many_axes(rank, seed):
    """More than 16 axes are folded where both arrays are contiguous."""
    cuts = sorted({0, rank, *(int(k) for k in np.random.default_rng(seed).integers(1, rank, 5))})
    runs = [list(range(a, b)) for a, b in zip(cuts, cuts[1:])]
    axes = [k for one in random_axes(len(runs), seed) for k in runs[one]]
    x = unique((2,) * rank, "u2")
    assert same_bits(ct.permute_dims(x, axes), np.ascontiguousarray(x.transpose(axes)))
    assert ct.plan(x, axes).bytes_moved == 2 * x.nbytes
    out = np.zeros((2,) * rank, "u2").transpose(axes)  # any order of its axes
    if rank < 20:
        assert ct.permute_dims(x, axes, out=out) is out and np.array_equal(out, x.transpose(axes))


def test_folds_views():
    x = unique((2,) * 10 + (3, 6) + (2,) * 8, "f4")[..., ::-1, :, :, :, :][(slice(None),) * 11 + (slice(None, None, 2),)]
    axes = (*range(10, 20), *range(10))
    assert same_bits(ct.permute_dims(x, axes), np.ascontiguousarray(x.transpose(axes)))
    empty = np.zeros((2,) * 10 + (0,) + (2,) * 9, "f4")
    assert ct.permute_dims(empty, axes).shape == empty.transpose(axes).shape


def test_folds_many_axes_in_place():
    """A stack of 18 axes of squares of 2 x 2."""
    x = unique((2,) * 20, "u1")
    wanted = np.ascontiguousarray(x.swapaxes(-1, -2))
    assert ct.transpose_inplace_(x) is x and same_bits(x, wanted)


def test_classes_that_derive_from_ndarray(tmp_path):
    mapped = np.memmap(tmp_path / "x", "f4", "w+", shape=(50, 60))
    mapped[:] = unique((50, 60), "f4")
    assert type(ct.matrix_transpose(mapped)) is np.ndarray
    assert same_bits(ct.matrix_transpose(mapped), np.ascontiguousarray(np.asarray(mapped).T))
    with pytest.raises(TypeError, match="masked array, whose mask would be lost"):
        ct.matrix_transpose(np.ma.masked_equal([[1, 2], [3, 4]], 2))


class Measured(np.ndarray):
    """Numbers with a unit, as NumPy's manual writes such classes, and with a name for each axis."""

    def __new__(cls, values, unit, names):
        made = np.asarray(values).view(cls)
        made.unit, made.names = unit, names
        return made

    def __array_finalize__(self, of):
        self.unit, self.names = getattr(of, "unit", None), getattr(of, "names", None)

    def transpose(self, *axes):
        made = super().transpose(*axes)
        made.names = "".join(self.names[k] for k in (axes[0] if len(axes) == 1 else axes))
        return made


class Wrapped(np.ndarray):
    """Numbers with a unit that only the method __array_wrap__ passes on."""

    def __array_wrap__(self, made, context=None, return_scalar=False):
        made = made.view(Wrapped)
        made.unit = self.unit
        return made

    def transpose(self, *axes):
        return self.__array_wrap__(super().transpose(*axes))


RESULTS = {
    "permute_dims": ct.permute_dims, "rearrange": lambda x, axes: ct.rearrange(x, "a b c -> " + " ".join("abc"[k] for k in axes)),
    "threads": lambda x, axes: ct.permute_dims(x, axes, threads=1), "plan": lambda x, axes: ct.plan(x, axes)(x),
    "same dtype": lambda x, axes: ct.permute_dims(x, axes, dtype=x.dtype),
}


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (0, 2, 1)], ids=str)
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_has_the_class_and_the_unit_of_numpys_transpose(name, axes):
    x = Measured(unique((3, 4, 5), "f4"), "m", "xyz")
    found, wanted = RESULTS[name](x, axes), np.transpose(x, axes)
    assert type(found) is Measured and (found.unit, found.names) == (wanted.unit, wanted.names)
    assert found.flags.c_contiguous and same_bits(found, np.ascontiguousarray(wanted))
    assert not np.shares_memory(found, x)
    x = unique((3, 4, 5), "f4").view(Wrapped)
    x.unit = "s"
    found = RESULTS[name](x, axes)
    assert type(found) is Wrapped and found.unit == "s" and same_bits(found, np.ascontiguousarray(np.transpose(x, axes)))


@pytest.mark.parametrize("make", [
    lambda: np.matrix([[1.0, 2], [3, 4]]), lambda: np.zeros((2, 3), "f4,i4").view(np.recarray), lambda: np.char.asarray([["a", "b"]]),
], ids=["matrix", "recarray", "chararray"])
def test_classes_of_numpy_stay(make):
    x = make()
    wanted = x.T.copy()
    for found in (ct.matrix_transpose(x), ct.plan(x)(x), ct.batch([x])()[0]):
        assert type(found) is type(wanted) and same_bits(found, wanted)
    ct.matrix_transpose(x, out=np.zeros_like(wanted))
    if x.dtype == np.float64:
        doubled = ct.matrix_transpose(x, alpha=2)
        assert type(doubled) is np.matrix and same_bits(doubled, 2 * x.T)


def test_units_are_refused_where_they_would_be_lost():
    x = Measured(unique((3, 4), "f4"), "m", "xy")
    plain, out = np.array(x), np.zeros((4, 3), "f4")
    with_unit = Measured(out.copy(), "km", "yx")
    for call in (lambda: ct.matrix_transpose(x, out=out), lambda: ct.matrix_transpose(x, out=with_unit),
                 lambda: ct.matrix_transpose(plain, out=with_unit), lambda: ct.plan(x, out=out)(x, out=out),
                 lambda: ct.plan(plain, out=out)(plain, out=with_unit), lambda: ct.batch([x]), lambda: ct.batch([plain, x]),
                 lambda: ct.batch([plain], out=[with_unit]), lambda: ct.matrix_transpose(x, alpha=2),
                 lambda: ct.matrix_transpose(x, dtype="f8"), lambda: ct.matrix_transpose(plain, beta=1, second=with_unit),
                 lambda: ct.matrix_transpose(plain, alpha=2, out=with_unit),
                 lambda: ct._core._move_memory(plain, with_unit, (1, 0), None)):
        with pytest.raises(TypeError, match=r"Measured, whose class gives a meaning to its numbers.*Wanted: .*\.view\(numpy.ndarray\)"):
            call()
        assert not out.any() and not with_unit.any()
    assert type(ct.transpose_inplace_(x)) is Measured and x.unit == "m"
    assert same_bits(np.array(ct.batch([np.array(x)])()[0]), np.array(x).T.copy())


def test_a_class_whose_transpose_is_another_thing():
    class Strange(np.ndarray):
        def __array_finalize__(self, of):
            pass

        def transpose(self, *axes):
            return [1, 2]

    with pytest.raises(TypeError, match="of which numpy.transpose makes no array with its axes permuted"):
        ct.matrix_transpose(np.zeros((2, 3)).view(Strange))


def test_an_object_that_passes_on_the_attributes_of_an_array():
    """As Pint's quantities do: a copy of the array alone would lose the unit."""
    class Quantity:
        def __init__(self, values):
            self.values = values

        def __getattr__(self, name):
            return getattr(self.values, name)

    x = Quantity(np.ones((2, 3)))
    for call in (lambda: ct.matrix_transpose(x), lambda: ct.matrix_transpose(x, out=np.zeros((3, 2))), lambda: ct.plan(x),
                 lambda: ct.batch([x]), lambda: ct.matrix_transpose(x, alpha=2), lambda: ct.transpose_inplace_(x)):
        with pytest.raises(TypeError, match=r"x is a \S*Quantity\. Wanted"):
            call()


def test_astropy():
    units = pytest.importorskip("astropy.units")
    x = unique((3, 4), "f8") * units.m
    found = ct.matrix_transpose(x)
    assert found.unit == units.m and np.array_equal(found, x.T) and found.flags.c_contiguous
    with pytest.raises(TypeError, match="Quantity, whose class gives a meaning"):
        ct.matrix_transpose(x, out=np.zeros((4, 3)) * units.km)


def test_reads_what_is_read_only():
    x = unique((20, 30), "f4")
    x.flags.writeable = False
    assert same_bits(ct.matrix_transpose(x), np.ascontiguousarray(x.T))


def strings():
    if not hasattr(np.dtypes, "StringDType"):
        pytest.skip("NumPy 2 has StringDType")
    return np.array([["a", "b"]], np.dtypes.StringDType())


@pytest.mark.parametrize("make", [lambda: np.array([[object()]]), lambda: np.zeros((2, 2), [("a", "i4"), ("b", "O")]),
                                  strings], ids=["object", "record", "string"])
def test_refuses_references(make):
    with pytest.raises(TypeError, match="x has dtype .* whose elements refer to Python objects"):
        ct.matrix_transpose(make())


def read_only(shape):
    out = np.zeros(shape, "f4")
    out.flags.writeable = False
    return out


X = np.arange(12, dtype="f4").reshape(3, 4)


@pytest.mark.parametrize("call,kind,sentence", [
    (lambda: ct.matrix_transpose(np.zeros(3)), ValueError, "x has 1 axis, wanted 2 or more"),
    (lambda: ct.permute_dims(X, (0,)), ValueError, "axes has 1 entries, but x has 2 axes. Wanted: one entry for each axis"),
    (lambda: ct.permute_dims(X, (0, 2)), ValueError, r"axes\[1\] is 2, wanted -2 to 1"),
    (lambda: ct.permute_dims(X, (1, -1)), ValueError, r"axes\[1\] is -1, which repeats an axis"),
    (lambda: ct.permute_dims(X, (100, 0)), ValueError, r"axes\[0\] is 100, wanted -2 to 1"),
    (lambda: ct.permute_dims(X, 1), TypeError, "axes is a int. Wanted: a sequence with one integer for each axis of x"),
    (lambda: ct.permute_dims(X, {1, 0}), TypeError, "axes is a set. Wanted: a sequence"),  # it has no order
    (lambda: ct.permute_dims(X, "a b -> b a"), TypeError, "axes is a str. Wanted: a sequence of integers. A pattern is for"),
    (lambda: ct.permute_dims(X, ("a", "b")), TypeError, r"axes\[0\] is a str. Wanted: an integer"),
    (lambda: ct.permute_dims(X, (1, 0.0)), TypeError, r"axes\[1\] is a float. Wanted: an integer"),
    (lambda: ct.permute_dims(X, (2**70, 0)), ValueError, r"axes\[0\] is 1180591620717411303424, wanted -2 to 1"),
    (lambda: ct.matrix_transpose(X, out=np.zeros((3, 4), "f4")), ValueError, r"out has shape \(3, 4\), wanted \(4, 3\)"),
    (lambda: ct.matrix_transpose(X, out=np.zeros(12, "f4")), ValueError, r"out has shape \(12,\), wanted \(4, 3\)"),
    (lambda: ct.matrix_transpose(X, out=np.zeros((4, 3), "i4")), ValueError, "out has dtype int32, but x has float32"),
    (lambda: ct.matrix_transpose(X, out=np.zeros((4, 3), ">f4")), ValueError, "out has dtype >f4"),
    (lambda: ct.matrix_transpose(X, out=[[1]]), TypeError, "out is a list, but x is a numpy.ndarray"),
    (lambda: ct.matrix_transpose(X, out=read_only((4, 3))), ValueError, "out is read-only"),
    (lambda: ct.matrix_transpose(X, out=np.ma.zeros((4, 3), "f4")), TypeError, "out is a masked array, whose mask would be lost"),
    (lambda: ct.matrix_transpose(X, out=X.T), ValueError, "x and out share memory, wanted separate arrays"),
    (lambda: ct.matrix_transpose(X, out=np.lib.stride_tricks.as_strided(np.zeros(4, "f4"), (4, 3), (4, 0))), ValueError,
     "^elements of out share memory, wanted separate elements"),
    (lambda: ct.matrix_transpose(X, stream="x"), TypeError, "stream is given, but x is a numpy.ndarray"),
    (lambda: ct.matrix_transpose(X.view(np.recarray), stream=1), TypeError, "stream is given, but x is a numpy.ndarray"),
    (lambda: ct.transpose_inplace_(X.copy(), stream=1), TypeError, "stream is given, but x is a numpy.ndarray"),
    (lambda: ct.matrix_transpose(X, out=np.broadcast_to(np.zeros(3, "f4"), (4, 3))), ValueError, "read-only"),
    (lambda: ct.matrix_transpose([[1, 2]]), TypeError, "x is a list. Wanted: an array of NumPy"),
    (lambda: ct.matrix_transpose(None), TypeError, "x is a NoneType. Wanted: an array"),
    (lambda: ct.rearrange(X, "a b"), ValueError, "pattern is 'a b', wanted one '->'"),
    (lambda: ct.rearrange(X, "a b -> b"), ValueError, "'a' is missing on the right"),
    (lambda: ct.rearrange(X, "a b -> b a c"), ValueError, "'c' is missing on the left"),
    (lambda: ct.rearrange(X, "a a -> a a"), ValueError, "with 'a' twice on one side"),
    (lambda: ct.rearrange(X, "a b c -> c b a"), ValueError, "which is for 3 axes, but x has 2 axes"),
    (lambda: ct.rearrange(X, "a b c ... -> ... c b a"), ValueError, "which is for 3 axes or more, but x has 2"),
    (lambda: ct.rearrange(X, "(a b) c d -> a b c d"), ValueError, "which is for 3 axes, but x has 2"),
    (lambda: ct.rearrange(X, "... ... -> ..."), ValueError, "with '...' twice on one side"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_refuses_with_a_sentence(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call()


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x.T, lambda x: x[::-1, ::-1]])
def test_out_is_never_x(make):
    """A call with an out is out of place; it never becomes a call in place."""
    x = unique((30, 30), "f4")
    before = x.copy()
    with pytest.raises(ValueError, match="x and out share memory, wanted separate arrays"):
        ct.matrix_transpose(x, out=make(x))
    with pytest.raises(ValueError, match="x and out share memory|do not fit the plan"):
        ct.plan(x)(x, out=make(x))
    assert same_bits(x, before)


@pytest.mark.parametrize("pattern,axes", [
    ("n c h w -> n h w c", (0, 2, 3, 1)), ("n ... -> ... n", (1, 2, 3, 0)), ("... h w -> ... w h", (0, 1, 3, 2)),
    ("a ... b -> b ... a", (3, 1, 2, 0)), ("... -> ...", (0, 1, 2, 3)), ("a b c d ... -> ... d c b a", (3, 2, 1, 0)),
    ("long_1\tname2 c d->d c name2 long_1", (3, 2, 1, 0)),
])
def test_patterns(pattern, axes):
    x = unique((2, 3, 4, 5), "f4")
    assert same_bits(ct.rearrange(x, pattern), np.ascontiguousarray(x.transpose(axes)))


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="ab.->( )1", max_size=14))
def test_any_text_is_a_pattern_or_a_sentence(text):
    try:
        y = ct.rearrange(X, text)
    except ValueError as found:
        assert "pattern is" in str(found)
    else:
        assert y.shape in {(3, 4), (4, 3)}


def test_patterns_are_those_of_einops():
    einops = pytest.importorskip("einops")
    x = unique((2, 3, 4, 5), "i4")
    for pattern in ("n c h w -> n h w c", "... h w -> ... w h", "a ... b -> b ... a", "é ... b -> b ... é"):
        assert same_bits(ct.rearrange(x, pattern), np.ascontiguousarray(einops.rearrange(x, pattern)))


def test_keeps_no_reference():
    x, out = unique((40, 30), "f4"), np.empty((30, 40), "f4")
    before = sys.getrefcount(x), sys.getrefcount(out), sys.getrefcount(x.dtype)
    for _ in range(100):
        ct.matrix_transpose(x)
        ct.matrix_transpose(x, out=out)
    assert (sys.getrefcount(x), sys.getrefcount(out), sys.getrefcount(x.dtype)) == before


def test_many_threads():
    """Several threads transpose at once; the lock of the interpreter does not serialize them."""
    arrays = [unique((400 + k, 300), "f4") for k in range(8)]
    wrong = []

    def work(x):
        for _ in range(10):
            if not same_bits(ct.matrix_transpose(x), np.ascontiguousarray(x.T)):
                wrong.append(x.shape)

    threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def in_a_child(queue):
    x = unique((1500, 1500), "f8")
    queue.put(same_bits(ct.matrix_transpose(x), np.ascontiguousarray(x.T)) and same_bits(ct.plan(x)(x), x.T.copy()))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
def test_after_fork():
    """A child has none of its parent's threads; it must not wait for them."""
    ct.matrix_transpose(unique((1500, 1500), "f8"))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=in_a_child, args=(queue,))
    child.start()
    try:
        assert queue.get(timeout=60)
    finally:
        child.kill()
        child.join()


def test_are_functions_as_python_knows_them():
    for function in (ct.matrix_transpose, ct.permute_dims, ct.rearrange):
        assert pickle.loads(pickle.dumps(function)) is function
        assert weakref.ref(function)() is function
        names = list(inspect.signature(function).parameters)
        assert names[names.index("out"):] == ["out", "stream", "threads", "dtype", "alpha", "beta", "conj", "second", "scale",
                                              "saturate"] + ["sizes"] * (function is ct.rearrange)


@pytest.mark.parametrize("call,sentence", [
    (lambda: ct.matrix_transpose(), "matrix_transpose is called without the argument x"),
    (lambda: ct.matrix_transpose(x=X), "matrix_transpose takes x by position only. Wanted: no name before it"),
    (lambda: ct.matrix_transpose(X, X), "matrix_transpose takes 1 positional argument, found 2. Wanted: the others by name"),
    (lambda: ct.permute_dims(X), "permute_dims is called without the argument axes"),
    (lambda: ct.permute_dims(X, (1, 0), axes=(1, 0)), "permute_dims is called with the argument axes twice"),
    (lambda: ct.permute_dims(X, (1, 0), order="C"), "permute_dims has no keyword argument 'order'. Wanted: one of axes, out"),
    (lambda: ct.rearrange(X, 3), "pattern is a int. Wanted: a str with the names of the axes"),
])
def test_refuses_arguments(call, sentence):
    with pytest.raises(TypeError, match=sentence):
        call()


def test_arguments_by_name():
    out = np.empty((4, 3), "f4")
    assert ct.permute_dims(X, axes=(1, 0), out=out, stream=None) is out
    assert same_bits(ct.rearrange(X, pattern="a b -> b a"), out)


def test_more_axes_than_a_problem_has():
    """17 to 64 axes that do not fold: the functions copy one problem for each index of the outer axes."""
    generator = random.Random(3)
    for rank in (17, 18, 20, 33, 64):
        longer = min(rank, 18)
        shape = [2] * longer + [1] * (rank - longer)
        generator.shuffle(shape)
        x = unique(shape, "u2")[tuple(slice(None, None, generator.choice([1, -1])) for _ in shape)]
        axes = list(range(rank))
        generator.shuffle(axes)
        wanted = np.ascontiguousarray(x.transpose(axes))
        assert same_bits(ct.permute_dims(x, axes), wanted)
        out = np.zeros((*wanted.shape[:-1], 3 * wanted.shape[-1]) if rank < 64 else wanted.shape, "u2")[..., ::-3 if rank < 64 else 1]
        assert ct.permute_dims(x, axes, out=out) is out and same_bits(out, wanted)
        assert same_bits(ct.permute_dims(x, axes, dtype="u4"), wanted.astype("u4"))
    x = np.arange(2**18, dtype="f4").reshape([2] * 18)
    axes = [*range(17, -1, -2), *range(0, 18, 2)]
    wanted = 2 * x.transpose(axes) + 1
    assert np.array_equal(ct.permute_dims(x, axes, alpha=2, beta=1, second=np.ones_like(wanted)), wanted)
    big = unique([3] + [2, 2] * 9, "u1")
    view = big[1:2].reshape([2] * 18).transpose(*range(17, -1, -2), *range(0, 18, 2))
    wanted = view.swapaxes(-1, -2).copy()
    assert ct.transpose_inplace_(view) is view and same_bits(view.copy(), wanted)
    assert same_bits(big[::2], unique([3] + [2, 2] * 9, "u1")[::2])


def test_more_axes_than_a_problem_has_keep_their_rules():
    x = unique([2] * 18, "u1")
    axes = [*range(17, -1, -2), *range(0, 18, 2)]
    with pytest.raises(ValueError, match="x and out share memory, wanted separate arrays"):
        ct.permute_dims(x, axes, out=x)
    with pytest.raises(ValueError, match="elements of out share memory, wanted separate elements"):
        out = np.lib.stride_tricks.as_strided(np.zeros(2**18, "u1"), x.shape, [1 << max(0, 16 - k) for k in range(18)])
        ct.permute_dims(x, axes, out=out)
    for call in (lambda: ct.plan(x, axes), lambda: ct.batch([x], axes)):
        with pytest.raises(ValueError, match="18 axes longer than 1 that do not fold, wanted 16 or fewer for a plan or a batch"):
            call()


@pytest.mark.parametrize("name,halves", [
    ("real and imaginary parts", lambda x: (x.view("f4")[:, ::2], x.view("f4")[:, 1::2])),
    ("even and odd rows", lambda x: (x[::2], x[1::2])),
    ("left and right half", lambda x: (x[:, :20], x[:, 20:])),
    ("left and right half, reversed", lambda x: (x[::-1, :20], x[:, :19:-1])),
    ("fields of records", lambda x: (x.view([("a", "f4"), ("b", "f4")])["b"], x.view([("a", "f4"), ("b", "f4")])["a"])),
    ("every third row", lambda x: (x[2::3, :13], x[::3, :13])),
])
@pytest.mark.parametrize("size", [40, 400])
def test_strides_show_that_arrays_share_no_byte(name, halves, size):
    whole = np.tile(unique((40, 40), "c8"), (size // 40, size // 40)) if size > 40 else unique((40, 40), "c8")
    before = whole.copy()
    x, out = halves(whole)
    x_before = halves(before)[0]
    if x.shape != out.shape[::-1]:
        x, out, x_before = x[:, :len(x)], out[:, :len(out)], x_before[:, :len(x_before)]
    side = min(*x.shape, *out.shape)
    x, out, x_before = x[:side, :side], out[:side, :side], x_before[:side, :side]
    wanted = x_before.T.copy()
    assert ct.matrix_transpose(x, out=out) is out
    assert same_bits(out.copy(), wanted) and same_bits(x.copy(), x_before.copy())
    halves(before)[1][:side, :side] = wanted
    assert same_bits(whole, before)


def test_arrays_whose_ranges_overlap_are_refused():
    x = unique((40, 40), "f4")
    for source, out in ((x[:, :20], x[:, 19:39]), (x[::2], x[::2, ::-1]), (x[:20], x[19:39]), (x[::2, ::2], x[1::2, ::2][:, ::-1].T)):
        if np.shares_memory(source, out):
            with pytest.raises(ValueError, match="x and out share memory, wanted separate arrays: the address ranges of src"):
                ct.permute_dims(source, (0, 1), out=out)


def test_random_views_of_one_array():
    """A copy is exact wherever it is accepted, and refused wherever views share a byte."""
    generator = random.Random(5)
    accepted = 0
    for _ in range(3000):
        base = np.arange(600, dtype="u1").astype(generator.choice(["u1", "u2", "f4"])).reshape(generator.choice([(20, 30), (5, 4, 30)]))
        def view():
            made = base[tuple(slice(generator.randrange(n), None, generator.choice([1, 1, 2, 3, -1, -2])) for n in base.shape)]
            return made.transpose(generator.sample(range(made.ndim), made.ndim))
        x, out = view(), view()
        shape = [min(a, b) for a, b in zip(x.shape, out.shape)]
        x, out = x[tuple(map(slice, shape))], out[tuple(map(slice, shape))]
        wanted = x.copy()
        try:
            ct.permute_dims(x, range(x.ndim), out=out)
        except ValueError as found:
            assert "share memory" in str(found)
            continue
        accepted += np.may_share_memory(x, out)
        assert not np.shares_memory(x, out) and same_bits(out.copy(), wanted)
    assert accepted > 20
