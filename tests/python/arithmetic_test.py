"""Arithmetic, conversions and threads, against NumPy and ml_dtypes."""
import itertools

import ml_dtypes
import numpy as np
import pytest
from conftest import expect_equal_checks, same_bits, unique

import cornerturn as ct

FLOATS = ["f2", ml_dtypes.bfloat16, "f4", "f8", "c8", "c16"]
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def values(shape, dtype, seed=1):
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    made = random.standard_normal(shape) * 10
    return (made + 1j * random.standard_normal(shape) if dtype.kind == "c" else made).astype(dtype)


def close(a, b):
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    digits = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6, "complex64": 1e-6}.get(a.dtype.name, 1e-14)
    return a.shape == b.shape and np.allclose(a.astype(wide), b.astype(wide), rtol=digits, atol=digits * 40)


def wide(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(3, 5), (130, 257), (2, 40, 33)])
def test_alpha_beta(dtype, shape):
    x = values(shape, dtype)
    turned = wide(x).swapaxes(-1, -2)
    y = ct.matrix_transpose(x, alpha=-2.5)
    assert y.dtype == x.dtype and y.flags.c_contiguous and close(y, -2.5 * turned)
    out = values(turned.shape, dtype, 2)
    before = wide(out)
    assert ct.matrix_transpose(x, out=out, alpha=0.5, beta=3) is out
    assert close(out, 0.5 * turned + 3 * before)
    second = values(turned.shape, dtype, 3)
    kept = second.copy()
    assert close(ct.matrix_transpose(x, beta=1, second=second), turned + wide(second))
    assert close(ct.matrix_transpose(x, alpha=2, beta=-1, second=second), 2 * turned - wide(second))
    assert same_bits(second, kept)


def test_alpha_times_float32_is_one_rounding():
    x = values((70, 90), "f4")
    assert same_bits(ct.matrix_transpose(x, alpha=1 / 3), np.ascontiguousarray((np.float32(1 / 3) * x).T))


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex(dtype):
    x, second = values((40, 50), dtype), values((50, 40), dtype, 2)
    assert same_bits(ct.matrix_transpose(x, conj=True), np.ascontiguousarray(x.conj().T))
    assert close(ct.matrix_transpose(x, conj=True, alpha=2 - 1j, beta=1j, second=second),
                 (2 - 1j) * wide(x).conj().T + 1j * wide(second))


@pytest.mark.parametrize("pair", list(itertools.permutations(INTEGERS, 2)), ids="-".join)
def test_integers(pair):
    x = values((33, 65), pair[0])
    limits = np.iinfo(pair[1])
    clipped = [[min(max(int(v), int(limits.min)), int(limits.max)) for v in row] for row in x.T]
    assert same_bits(ct.matrix_transpose(x, dtype=pair[1]), np.array(clipped, pair[1]))
    assert same_bits(ct.matrix_transpose(x, dtype=pair[1], saturate=False), np.ascontiguousarray(x.T.astype(pair[1])))


@pytest.mark.parametrize("other", ["f2", ml_dtypes.bfloat16, "f8"], ids=str)
def test_floats(other):
    x = values((130, 70), "f4")
    assert same_bits(ct.matrix_transpose(x, dtype=other), np.ascontiguousarray(x.T.astype(other)))
    back = values((130, 70), other)
    assert same_bits(ct.matrix_transpose(back, dtype="f4"), np.ascontiguousarray(back.T.astype("f4")))
    assert close(ct.matrix_transpose(x, dtype=other, alpha=3), (3 * wide(x).T).astype(other))
    out = np.zeros((70, 130), other)
    assert ct.matrix_transpose(x, out=out, dtype=other) is out and same_bits(out, np.ascontiguousarray(x.T.astype(other)))


def test_saturate():
    x = np.array([[1e6, -np.inf, 1.0]], "f4")
    assert ct.matrix_transpose(x, dtype="f2").tolist() == [[65504.0], [-65504.0], [1.0]]
    assert ct.matrix_transpose(x, dtype="f2", saturate=False).tolist() == [[np.inf], [-np.inf], [1.0]]


@pytest.mark.parametrize("kind,largest", [("float8_e4m3fn", 448), ("float8_e5m2", 57344)])
@pytest.mark.parametrize("source", ["f4", "f2", ml_dtypes.bfloat16], ids=str)
def test_float8(kind, largest, source):
    dtype = getattr(ml_dtypes, kind)
    x = values((60, 40), source)
    assert same_bits(ct.matrix_transpose(x, dtype=dtype), np.ascontiguousarray(x.T.astype("f4").astype(dtype)))
    for scale in (4, np.float32(4), np.array([4], "f4"), np.array(4, "f4")):
        assert same_bits(ct.matrix_transpose(x, dtype=dtype, scale=scale),
                         np.ascontiguousarray((4 * x.T.astype("f4")).astype(dtype)))
    big = np.full((2, 3), 60000, source)
    assert ct.matrix_transpose(big, dtype=dtype).astype("f4").max() == largest


def test_views_and_permutations():
    whole = values((8, 40, 6, 30), "f4")
    x = whole[::2, ::-1, 1, ::3]
    canvas = np.full((40, 12, 5), 7, "f8")
    out = canvas[:, 1:11, :4]
    assert ct.permute_dims(x, (1, 2, 0), out=out, alpha=2, dtype="f8") is out
    assert np.array_equal(out, 2 * x.transpose(1, 2, 0).astype("f8"))
    assert (canvas[:, 0] == 7).all() and (canvas[:, 11] == 7).all() and (canvas[..., 4] == 7).all()
    row = values((10,), "f4", 4)
    assert close(ct.rearrange(x, "a b c -> b c a", beta=1, second=np.broadcast_to(row[None, :, None], (40, 10, 4))),
                 wide(x).transpose(1, 2, 0) + wide(row)[None, :, None])


def test_many_axes():
    x = values((2,) * 20, "f4")
    assert same_bits(ct.permute_dims(x, (*range(10, 20), *range(10)), dtype="f8"),
                     np.ascontiguousarray(x.transpose(*range(10, 20), *range(10)).astype("f8")))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (1, 7)])
def test_small(shape):
    x = values(shape, "f4")
    assert same_bits(ct.matrix_transpose(x, dtype="f8", alpha=2), np.ascontiguousarray(2 * x.T.astype("f8")))
    assert same_bits(ct.permute_dims(np.float32([3])[0:1], (0,), dtype="f8"), np.array([3.0]))


def test_without_effect_it_copies_any_element():
    x = unique((30, 40), "V12")
    assert same_bits(ct.matrix_transpose(x, alpha=1, beta=0, conj=False, dtype="V12"), np.ascontiguousarray(x.T))
    objects = np.array([[object(), object()]])
    for how in ({"alpha": 1}, {"dtype": object}, {"alpha": 2}):
        with pytest.raises(TypeError, match="refer to Python objects|the element type is object"):
            ct.matrix_transpose(objects, **how)
    for how in ({"alpha": 1}, {"alpha": 2.0}):
        with pytest.raises(TypeError, match="x is a masked array, whose mask would be lost"):
            ct.matrix_transpose(np.ma.masked_equal([[1.0, 2.0]], 2), **how)


X = np.arange(12, dtype="f4").reshape(3, 4)


@pytest.mark.parametrize("call,kind,sentence", [
    (lambda: ct.matrix_transpose(X, beta=2), ValueError, "beta is 2, but neither second nor out is given"),
    (lambda: ct.matrix_transpose(X, dtype="i4"), ValueError, "^dtype converts float32 to int32, which no kernel supports. .* to float8_e4m3fn or"),
    (lambda: ct.matrix_transpose(X, dtype="nope"), TypeError, "^dtype is 'nope'. Wanted: a dtype of NumPy$"),
    (lambda: ct.matrix_transpose(X, dtype=ml_dtypes.float8_e4m3), TypeError, "^the element type is float8_e4m3, which has no"),
    (lambda: ct.matrix_transpose(X.astype("S5"), alpha=2), TypeError, r"^the element type is \|S5, which has no arithmetic"),
    (lambda: ct.matrix_transpose(X.astype("i4"), alpha=2), ValueError, "^alpha is 2, which is not supported for int32"),
    (lambda: ct.matrix_transpose(X, conj=True), ValueError, "^conj is set, but x is float32. Wanted: complex64 or complex128"),
    (lambda: ct.matrix_transpose(X, alpha="2"), TypeError, "^alpha is a str. Wanted: a number$"),
    (lambda: ct.matrix_transpose(X, alpha=None), TypeError, "^alpha is a NoneType. Wanted: a number$"),
    (lambda: ct.matrix_transpose(X, alpha=np.ones(1)), TypeError, "^alpha is a numpy.ndarray. Wanted: a number$"),
    (lambda: ct.matrix_transpose(X, beta="1", out=X.T.copy()), TypeError, "^beta is a str. Wanted: a number$"),
    (lambda: ct.matrix_transpose(X, alpha=1j), ValueError, "alpha"),
    (lambda: ct.matrix_transpose(X > 3, dtype="f4"), TypeError,
     "^the element type is bool, which has no arithmetic and no conversions. Wanted: one of float16, .*float8_e4m3fn"),
    (lambda: ct.matrix_transpose(X.astype(">f4"), alpha=2), TypeError, "in the byte order of another machine"),
    (lambda: ct.matrix_transpose(X, out=np.zeros((4, 3), "f8"), alpha=2), ValueError,
     "out has dtype float64, wanted float32"),
    (lambda: ct.matrix_transpose(X, out=np.zeros((3, 4), "f4"), alpha=2), ValueError, r"out has shape \(3, 4\), wanted \(4, 3\)"),
    (lambda: ct.matrix_transpose(X, second=np.zeros((4, 3), "f4")), ValueError, "second is given, but beta is not"),
    (lambda: ct.matrix_transpose(X, alpha=10**400), ValueError, "alpha is an integer of 1329 bits. Wanted: a number that fits"),
    (lambda: ct.matrix_transpose(X, beta=0, second=np.zeros((3, 4), "f4")), ValueError, r"second has shape \(3, 4\)"),
    (lambda: ct.matrix_transpose(X, beta=1, second=np.zeros((3, 4), "f4")), ValueError, r"second has shape \(3, 4\), wanted \(4, 3\)"),
    (lambda: ct.matrix_transpose(X, beta=1, second=np.zeros((4, 3))), ValueError, "second has dtype float64, wanted float32"),
    (lambda: ct.matrix_transpose(X, beta=1, second=[[1]]), TypeError, "second is a list, but x is a numpy.ndarray"),
    (lambda: ct.matrix_transpose(X, out=X.T, alpha=2), ValueError, "x and out share memory"),
    (lambda: ct.matrix_transpose(X, alpha=2, scale=3), ValueError, "scale is given, but the result has dtype float32"),
    (lambda: ct.matrix_transpose(X, dtype=ml_dtypes.float8_e5m2, scale=np.zeros(2, "f4")), ValueError,
     "scale has dtype float32 and 2 elements, wanted float32 and 1"),
    (lambda: ct.matrix_transpose(X, dtype=ml_dtypes.float8_e5m2, scale=np.zeros(1)), ValueError, "scale has dtype float64"),
    (lambda: ct.matrix_transpose(X, alpha=2, stream=1), TypeError, "stream is given, but x is a numpy.ndarray"),
    (lambda: ct.matrix_transpose([[1]], alpha=2), TypeError, "x is a list"),
    (lambda: ct.matrix_transpose(X, gamma=2), TypeError, 
     "matrix_transpose has no keyword argument 'gamma'. Wanted: one of out, stream, threads, dtype, alpha"),
    (lambda: ct.transpose_inplace_(X.copy(), alpha=2), TypeError, "has no keyword argument 'alpha'"),
    (lambda: ct.matrix_transpose(np.zeros((3, 4), [("a", "u1"), ("b", "f4")])["b"], alpha=2), ValueError,
     "x has a stride of 20 bytes|x has a stride of 5 bytes"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_refuses_with_a_sentence(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call()


def test_out_is_unchanged_where_it_is_refused():
    out = np.zeros((4, 3), "f4")
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        ct.matrix_transpose(X, out=out, alpha=2)


# ---- the calls that C++ checks and the calls that Python checks ----

class Derived(np.ndarray):
    pass


def read_only(x):
    x.flags.writeable = False
    return x


NOT_GIVEN = object()
SOURCES = [X, X.astype("c8") * (1 + 2j), X.astype("i4"), X.astype("f2"), X.astype(ml_dtypes.bfloat16), X.astype("f8")[:, ::-1], X[:0],
           X.astype(ml_dtypes.float8_e5m2), X.astype(ml_dtypes.int4), X.astype(np.longlong), X.astype("g"), X.astype(">f4"), X > 3,
           X.view(Derived), read_only(X.copy())]
# The first values are usual. Every other value is refused, or Python converts it.
VALUES = {
    "dtype": [NOT_GIVEN, None, "f4", np.float64, np.dtype("f2"), float, complex, "i1", np.longlong, ml_dtypes.bfloat16,
              ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, "nope", object, ml_dtypes.float8_e4m3, ">f4", "f4,f4", 3],
    "alpha": [NOT_GIVEN, 1, 2.5, True, -2, np.float32(2), np.float64(0.1), 1 + 0j, 2 - 1j, np.nan, np.int64(2), np.array(3), 10**400, None, "2"],
    "beta": [NOT_GIVEN, None, 0, -0.0, 3, np.float32(0.5), 1j, np.int64(2), "1"],
    "conj": [NOT_GIVEN, False, True, 1, None],
    "saturate": [NOT_GIVEN, True, False, 0],
    "scale": [NOT_GIVEN, None, 4, 0.25, np.float32(2), np.full((1, 1), 3, "f4"), np.array(3, "f4"), np.ones(2, "f4"), np.ones(1), 1e300, 2j,
              np.ones(1, "f4").view(Derived)],
}


def arrays(shape, dtype):
    made = np.arange(1, np.prod(shape) + 1).reshape(shape).astype(dtype)
    return [made, made.copy("F"), made[:, ::-1], made[:, :1], made.astype("u1"), made.astype(">f4"), made.view(Derived), read_only(made.copy()), [[1]]]


def random_case(seed):
    """Return x and the other arguments, most of them usual."""
    random = np.random.default_rng(seed)

    def pick(values):
        return values[int(len(values) * random.random() ** 3)]

    x = pick(SOURCES)
    how = {name: pick(values) for name, values in VALUES.items() if random.random() < 0.4}
    how = {name: value for name, value in how.items() if value is not NOT_GIVEN}
    try:
        dtype = np.dtype(how.get("dtype") or np.asarray(x).dtype)
    except TypeError:
        dtype = np.dtype("f4")
    made = arrays(np.shape(x)[::-1], "f4" if dtype.hasobject or dtype.names else dtype)
    if random.random() < 0.5:
        how["out"] = pick([made[0], None, *made[1:], np.transpose(x)])
    if random.random() < 0.4:
        how["second"] = pick([made[1], None, *made])
    return x, how


def result_of(call, out):
    try:
        made = call()
    except (TypeError, ValueError) as found:
        return type(found), str(found)
    return type(made), made is out, str(made.dtype), made.shape, made.tobytes()


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value", "ignore:Casting complex")
def test_both_checks_agree():
    expect_equal_checks(random_case, result_of, 6000)


@pytest.mark.parametrize("how", [
    {"dtype": np.float64}, {"dtype": np.dtype("f8")}, {"dtype": "f8"}, {"dtype": float}, {"dtype": ml_dtypes.bfloat16}, {"dtype": np.float32},
    {"dtype": ml_dtypes.float8_e4m3fn}, {"dtype": ml_dtypes.float8_e4m3fn, "scale": 2}, {"dtype": ml_dtypes.float8_e5m2, "scale": np.ones(1, "f4")},
    {"alpha": 2}, {"alpha": np.float32(2)}, {"beta": 1, "second": X.T.copy()}, {"alpha": 2.0, "saturate": False}, {"alpha": 1}], ids=str)
def test_usual_calls_run_no_python_code(monkeypatch, how):
    from cornerturn import _arithmetic
    wanted = _arithmetic.permute(X, (1, 0), None, None, 0, **how)
    monkeypatch.delattr(_arithmetic, "permute")
    assert same_bits(ct.matrix_transpose(X, **how), wanted)
    out = np.zeros_like(wanted)
    assert ct.permute_dims(X, (1, 0), out=out, **how) is out and same_bits(out, wanted)
    assert same_bits(ct.rearrange(X, "a b -> b a", **how), wanted)
    with pytest.raises(AttributeError):
        ct.matrix_transpose(X.view(Derived), **how)


# ---- threads ----

@pytest.mark.parametrize("threads", [0, 1, 2, 5])
def test_threads(threads):
    x = values((700, 900), "f4")
    assert same_bits(ct.matrix_transpose(x, threads=threads), x.T.copy())
    assert same_bits(ct.permute_dims(x, (1, 0), threads=threads, alpha=2), 2 * x.T.copy())
    square = values((600, 600), "f4")
    wanted = square.T.copy()
    assert ct.transpose_inplace_(square, threads=threads) is square and same_bits(square, wanted)


def test_threads_limit_the_team():
    """A copy on one thread leaves the process with the threads it had."""
    import subprocess
    import sys
    code = """if True:
        import os, numpy as np, cornerturn as ct
        x = np.zeros((3000, 3000), "f4")
        count = lambda: len(os.listdir("/proc/self/task"))
        before = count()
        ct.matrix_transpose(x, threads=1); ct.transpose_inplace_(x, threads=1); ct.matrix_transpose(x, threads=1, alpha=2)
        ct.batch([x], threads=1)()
        alone = count() - before
        ct.matrix_transpose(x, threads=3)
        print(alone, count() - before)
    """
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert found == ["0", "2"]


@pytest.mark.parametrize("value,kind,sentence", [
    (-1, ValueError, "threads is -1"), (1.5, TypeError, "^threads is a float. Wanted: an integer$"),
    ("2", TypeError, "threads is a str"), (None, TypeError, "threads is a NoneType")])
def test_threads_refuse(value, kind, sentence):
    with pytest.raises(kind, match=sentence):
        ct.matrix_transpose(X, threads=value)
