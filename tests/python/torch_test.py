"""PyTorch on the CPU: plain tensors, the operators under autograd, vmap, torch.compile and opcheck."""
import numpy as np
import pytest
from conftest import expect_equal_checks, random_axes
from hypothesis import given, settings
from hypothesis import strategies as st

import cornerturn as ct

torch = pytest.importorskip("torch")
import cornerturn.torch as ctt  # noqa: E402

DTYPES = [torch.bool, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
          torch.float64, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2]


def unique(shape, dtype=torch.float32):
    size = torch.empty(0, dtype=dtype).element_size()
    count = torch.Size(shape).numel()
    raw = (torch.arange(count * size) * 37 + torch.arange(count * size) // 251) % 251
    return (raw % 2 if dtype is torch.bool else raw).to(torch.uint8).view(dtype).reshape(shape)


def same_bits(a, b):
    if a.dtype != b.dtype or a.shape != b.shape or a.numel() == 0:
        return a.dtype == b.dtype and a.shape == b.shape
    a, b = (x.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format).reshape(-1) for x in (a, b))
    return torch.equal(a.view(torch.uint8), b.view(torch.uint8))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(3, 5), (130, 257), (0, 4), (1, 9)])
def test_every_dtype(dtype, shape):
    x = unique(shape, dtype)
    y = ct.matrix_transpose(x)
    assert type(y) is torch.Tensor and y.shape == x.T.shape and y.is_contiguous() and y.device == x.device
    assert same_bits(y, x.t())
    assert y.untyped_storage().resizable()  # PyTorch's own memory, not imported memory


@settings(deadline=None, max_examples=150)
@given(shape=st.lists(st.integers(0, 7), max_size=5), seed=st.integers(0, 99), step=st.integers(1, 3), given_out=st.booleans())
def test_views(shape, seed, step, given_out):
    x = unique([n * step for n in shape])[tuple(slice(None, None, step) for _ in shape)]
    x = x.permute(random_axes(x.ndim, seed + 1))
    axes = random_axes(x.ndim, seed)
    wanted = x.permute(axes)
    out = torch.empty([2 * n for n in wanted.shape])[tuple(slice(n) for n in wanted.shape)] if given_out else None
    y = ct.permute_dims(x, axes, out=out)
    assert (y is out) if given_out else y.is_contiguous()
    assert y.shape == wanted.shape and same_bits(y, wanted)


def test_expanded():
    x = unique((5, 1, 3)).expand(5, 4, 3)
    assert same_bits(ct.permute_dims(x, (2, 1, 0)), x.permute(2, 1, 0))


def test_pending_conjugates_and_negatives():
    """conj() and its imaginary part are lazy views."""
    x = torch.randn(3, 4, dtype=torch.complex64).conj()
    assert x.is_conj() and x.imag.is_neg()
    assert same_bits(ct.matrix_transpose(x), x.t())
    assert same_bits(ct.matrix_transpose(x.imag), x.imag.t())


def test_grad():
    x = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: ct.permute_dims(x, (2, 0, -2)), x)
    assert torch.autograd.gradgradcheck(lambda x: ct.permute_dims(x, (2, 0, -2)), x)
    weight = torch.nn.Parameter(torch.randn(3, 4))
    ct.matrix_transpose(weight).mul(torch.arange(3.0)).sum().backward()
    assert torch.equal(weight.grad, torch.arange(3.0)[:, None].expand(3, 4))
    with torch.no_grad():
        assert not ct.matrix_transpose(weight).requires_grad


def test_out_is_not_recorded():
    x, out = torch.randn(3, 4, requires_grad=True), torch.empty(4, 3)
    with pytest.raises(ValueError, match="out is given, but x or out requires a gradient"):
        ct.matrix_transpose(x, out=out)
    with torch.no_grad():
        assert same_bits(ct.matrix_transpose(x, out=out), x.t())


def test_out_is_known_to_have_changed():
    kept = torch.ones(4, 3, requires_grad=True)
    out = kept.detach().clone().requires_grad_()
    product = (out * kept).sum()  # keeps out for the gradient of kept
    with torch.no_grad():
        ct.matrix_transpose(torch.zeros(3, 4), out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


@pytest.mark.parametrize("axes", [(2, 0, 1), (-1, 1, 0), (0, 1, 2)])
def test_opcheck(axes):
    x = torch.randn(2, 3, 4)
    torch.library.opcheck(torch.ops.cornerturn.permute_dims.default, (x.clone().requires_grad_(), axes))
    torch.library.opcheck(torch.ops.cornerturn.permute_dims.default, (x.permute(1, 2, 0), axes))
    out = torch.empty([x.shape[k] for k in axes])
    torch.library.opcheck(torch.ops.cornerturn.permute_dims_out.default, (x, axes, out))


def test_transformations():
    x = torch.randn(3, 5, 4)
    for dim in range(3):
        assert same_bits(torch.vmap(ct.matrix_transpose, in_dims=dim)(x), x.movedim(dim, 0).transpose(1, 2))
    def loss(x):
        return (ct.matrix_transpose(x) ** 3).sum()
    assert torch.allclose(torch.func.grad(loss)(x), 3 * x**2)
    assert torch.allclose(torch.vmap(torch.func.grad(loss))(x), 3 * x**2)
    assert same_bits(torch.func.jvp(ct.matrix_transpose, (x,), (2 * x,))[1], 2 * x.transpose(1, 2))
    assert torch.func.hessian(loss)(x[0]).shape == (5, 4, 5, 4)


@pytest.mark.parametrize("shape", [(3, 4), (2, 5, 3)])
def test_forward_mode(shape):
    forward_ad = torch.autograd.forward_ad
    axes = (*range(len(shape) - 2), -1, -2)
    x, tangent = torch.randn(shape), torch.randn(shape)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        for moved in (ct.matrix_transpose, ctt.matrix_transpose, lambda x: ct.permute_dims(x, axes)):
            y = forward_ad.unpack_dual(moved(dual))
            assert same_bits(y.primal, x.mT) and same_bits(y.tangent, tangent.mT)
            assert forward_ad.unpack_dual(moved(x)).tangent is None and same_bits(moved(x), x.mT)
        weight = torch.randn(shape, requires_grad=True)
        y = ct.matrix_transpose(forward_ad.make_dual(weight, tangent))
        (seen,) = torch.autograd.grad((forward_ad.unpack_dual(y).tangent * y).sum(), weight)
        assert torch.equal(seen, tangent)
        out = torch.empty(x.mT.shape)
        for x_given, out_given in ((dual, out), (x, forward_ad.make_dual(out, out))):
            with pytest.raises(ValueError, match="x or out has a tangent"):
                ct.matrix_transpose(x_given, out=out_given)
        assert same_bits(ct.matrix_transpose(x, out=out), x.mT)
        with pytest.raises(ValueError, match="x or out has a tangent, which a plan does not propagate"):
            ct.plan(x, axes)(dual)
        with pytest.raises(RuntimeError, match="x has a tangent"):
            ct.transpose_inplace_(dual)
        assert same_bits(forward_ad.unpack_dual(dual).primal, x)
    assert same_bits(ct.matrix_transpose(x), x.mT)


def test_fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        y = ct.rearrange(torch.empty(2, 3, 4, dtype=torch.float16), "a b c -> c a b")
    assert y.shape == (4, 2, 3) and y.dtype == torch.float16 and y.is_contiguous()


def test_subclass():
    class Marked(torch.Tensor):
        pass

    x = torch.randn(3, 4).as_subclass(Marked)
    assert same_bits(ct.matrix_transpose(x).as_subclass(torch.Tensor), x.as_subclass(torch.Tensor).t())


def test_patterns_that_split_and_join():
    einops = pytest.importorskip("einops")
    x = torch.randn(6, 4, 8, dtype=torch.float64, requires_grad=True)
    wanted = einops.rearrange(x, "(a b) c d -> b (c a) 1 d", a=2)
    for function in (ct.rearrange, ctt.rearrange):
        y = function(x, "(a b) c d -> b (c a) 1 d", a=2)
        assert torch.equal(y, wanted) and y.is_contiguous()
        assert torch.autograd.gradcheck(lambda x, f=function: f(x, "a (b c) d -> (d c) (a b)", b=2), x)
        assert torch.equal(torch.vmap(lambda x, f=function: f(x, "(a b) c -> a (c b)", a=2))(x),
                           einops.rearrange(x, "n (a b) c -> n a (c b)", a=2))
        out = torch.zeros(3, 8, 1, 8, 2, dtype=torch.float64)[..., 0]
        assert function(x.detach(), "(a b) c d -> b (c a) 1 d", out=out, a=2) is out and torch.equal(out, wanted)
        with pytest.raises(ValueError, match=r"out has shape \(2, 3\), wanted \(3, 8, 1, 8\)"):
            function(x.detach(), "(a b) c d -> b (c a) 1 d", out=torch.zeros(2, 3), a=2)
        with pytest.raises(ValueError, match="Wanted: a multiple of 5"):
            function(x, "(a b) c d -> b (c a) 1 d", a=5)
    for dynamic in (False, True):
        compiled = torch.compile(lambda x: ctt.rearrange(x.sin(), "(a b) c d -> b (c a) 1 d", a=2) + 1, fullgraph=True,
                                 backend="aot_eager", dynamic=dynamic)
        assert torch.equal(compiled(x), einops.rearrange(x.sin(), "(a b) c d -> b (c a) 1 d", a=2) + 1)


def test_compile():
    x = torch.randn(6, 4, 8)
    compiled = torch.compile(lambda x: ctt.rearrange(x.sin(), "a b c -> c a b") + 1, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), x.sin().permute(2, 0, 1) + 1)
    broken = torch.compile(lambda x: ct.permute_dims(x.sin(), (2, 0, 1)) + 1, backend="aot_eager")
    assert torch.equal(broken(x), x.sin().permute(2, 0, 1) + 1)


def test_plan():
    x = torch.randn(30, 40)
    plan = ct.plan(x)
    assert same_bits(plan(x), x.t())
    with pytest.raises(ValueError, match="the arrays do not fit the plan"):
        plan(x.t())
    with pytest.raises(ValueError, match="x requires a gradient, which a plan does not record"):
        plan(x.clone().requires_grad_())


# ---- in place ----

@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(5, 5), (130, 130), (2, 3, 33, 33), (3, 5), (130, 257), (2, 40, 9), (0, 4), (1, 9)])
def test_in_place(dtype, shape):
    x = unique(shape, dtype)
    wanted, at = x.transpose(-1, -2).clone(), x.data_ptr()
    y = ct.transpose_inplace_(x)
    assert type(y) is torch.Tensor and y.data_ptr() == at and y.is_contiguous() and same_bits(y, wanted)
    assert (y is x) == (shape[-1] == shape[-2]) and x.shape == shape


@settings(deadline=None, max_examples=150)
@given(batch=st.lists(st.integers(0, 4), max_size=2), n=st.integers(0, 40), step=st.integers(1, 3), seed=st.integers(0, 99))
def test_in_place_of_any_strides(batch, n, step, seed):
    shape = (*batch, n, n)
    order = random_axes(len(shape), seed)
    whole = unique([shape[k] * step + 1 for k in order])
    x = whole.permute([order.index(k) for k in range(len(shape))])[tuple(slice(None, n * step, step) for n in shape)]
    before, wanted = whole.clone(), x.transpose(-1, -2).clone()
    assert ct.transpose_inplace_(x) is x and same_bits(x, wanted)
    x.copy_(wanted.transpose(-1, -2))
    assert same_bits(whole, before)


def test_in_place_and_gradients():
    weight = torch.nn.Parameter(torch.randn(3, 3))
    with pytest.raises(RuntimeError, match="x requires a gradient, which a transpose in place does not record"):
        ct.transpose_inplace_(weight)
    before = weight.detach().t().clone()
    with torch.no_grad():
        assert ct.transpose_inplace_(weight) is weight
    assert same_bits(weight, before)
    for shape in ((3, 3), (3, 2)):
        x, kept = torch.ones(shape), torch.ones(shape, requires_grad=True)
        product = (x * kept).sum()
        ct.transpose_inplace_(x)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()


def test_in_place_of_pending_conjugates_and_negatives():
    for shape in ((3, 3), (3, 4)):
        x = torch.randn(shape, dtype=torch.complex64).conj()
        wanted = x.t().clone()
        y = ct.transpose_inplace_(x)
        assert y.is_conj() and same_bits(y, wanted)
    x = torch.randn(3, 3, dtype=torch.complex64).conj().imag
    wanted = x.t().clone()
    assert ct.transpose_inplace_(x).is_neg() and same_bits(x, wanted)


def test_in_place_operator():
    for x in (torch.randn(3, 3), torch.randn(2, 3, 5), torch.randn(4, 6)[:, :4]):
        torch.library.opcheck(torch.ops.cornerturn.transpose_inplace_.default, (x,))
    compiled = torch.compile(lambda x: ctt.transpose_inplace_(x).mul_(2), fullgraph=True, backend="aot_eager")
    for shape in ((3, 3), (2, 3, 5)):
        x = torch.randn(shape)
        wanted = 2 * x.transpose(-1, -2)
        y = compiled(x)
        assert y.data_ptr() == x.data_ptr() and torch.equal(y, wanted) and torch.equal(x.reshape(-1), wanted.reshape(-1))


@pytest.mark.parametrize("transformed", [
    torch.vmap, torch.func.grad, lambda f: lambda x: torch.func.jvp(lambda x: f(x * 1), (x,), (x,))])
def test_in_place_knows_no_transformations(transformed):
    with pytest.raises(RuntimeError, match="Wanted: matrix_transpose"):
        transformed(lambda x: ct.transpose_inplace_(x).sum())(torch.randn(2, 3, 3))


X = torch.zeros(3, 4)
Z = torch.zeros(3, 4, dtype=torch.complex64)


def nested(layout):
    return torch.nested.nested_tensor([torch.zeros(2, 3), torch.zeros(4, 3)], layout=layout)


def quantized():
    return torch.quantize_per_tensor(X, 1.0, 0, torch.qint8)


@pytest.mark.filterwarnings("ignore:.*[Nn]ested tensors.*", "ignore:Sparse CSR.*", "ignore:.*quantiz.*")
@pytest.mark.parametrize("call,kind,sentence", [
    (lambda: ct.matrix_transpose(X, out=torch.zeros(3, 4)), ValueError, r"out has shape \(3, 4\), wanted \(4, 3\)"),
    (lambda: ct.matrix_transpose(X, out=torch.zeros(4, 3, dtype=torch.int32)), ValueError, "out has dtype torch.int32"),
    (lambda: ct.matrix_transpose(X, out=X.t()), ValueError, "x and out share memory"),
    (lambda: ct.matrix_transpose(X, out=[1]), TypeError, "out is a list, but x is a torch.Tensor"),
    (lambda: ct.matrix_transpose(X[0]), ValueError, "x has 1 axis, wanted 2 or more"),
    (lambda: ct.permute_dims(X, (0, 0)), ValueError, "which repeats an axis"),
    (lambda: ct.matrix_transpose(X.to("meta"), out=torch.zeros(4, 3)), ValueError, "out has device cpu, wanted meta"),
    (lambda: ct.matrix_transpose(X.to_sparse()), TypeError, "x has layout torch.sparse_coo, which has no strides"),
    (lambda: ct.permute_dims(X.to_sparse_csr(), (1, 0)), TypeError, "x has layout torch.sparse_csr, which has no strides"),
    (lambda: ct.matrix_transpose(X.to_mkldnn()), TypeError, "x has layout torch._mkldnn, which has no strides"),
    (lambda: ct.transpose_inplace_(X.to_sparse()), TypeError, "x has layout torch.sparse_coo"),
    (lambda: ct.plan(X.to_sparse()), TypeError, "x has layout torch.sparse_coo"),
    (lambda: ct.matrix_transpose(X, out=X.to_sparse()), TypeError, "out has layout torch.sparse_coo"),
    (lambda: ctt.matrix_transpose(X.to_sparse()), TypeError, "x has layout torch.sparse_coo"),
    (lambda: ct.matrix_transpose(quantized()), TypeError, r"x is a quantized tensor, .* Wanted: x.int_repr\(\)"),
    (lambda: ct.transpose_inplace_(quantized()), TypeError, "x is a quantized tensor"),
    (lambda: ct.matrix_transpose(nested(torch.strided)), TypeError, "x is a nested tensor, whose parts have different shapes"),
    (lambda: ct.matrix_transpose(nested(torch.jagged)), TypeError, "x is a nested tensor, whose parts have different shapes"),
    (lambda: ct.transpose_inplace_(nested(torch.strided)), TypeError, "x is a nested tensor"),
    (lambda: ct.matrix_transpose(Z, out=torch.zeros_like(Z).t().contiguous().conj()), ValueError,
     "out is a lazy conjugate of another tensor, so its memory does not hold its values"),
    (lambda: ctt.matrix_transpose(Z, out=torch.zeros_like(Z).t().contiguous().conj()), ValueError, "out is a lazy conjugate"),
    (lambda: ct.matrix_transpose(Z.real, out=torch.zeros_like(Z).t().conj().imag), ValueError, "out is a lazy negative"),
    (lambda: ctt.permute_dims(X, (1.5, 0)), TypeError, r"axes\[0\] is a float. Wanted: an integer"),
    (lambda: ctt.permute_dims(torch.zeros(3, 4, requires_grad=True), (1.5, 0)), TypeError, r"axes\[0\] is a float"),
    (lambda: ctt.permute_dims(X.to("meta"), (0, 0)), ValueError, r"axes\[1\] is 0, which repeats an axis"),
    (lambda: ctt.permute_dims(X, None), TypeError, "axes is a NoneType. Wanted: a sequence"),
    (lambda: ctt.permute_dims(X, "a b -> b a"), TypeError, "axes is a str. Wanted: a sequence of integers"),
    (lambda: ctt.rearrange(X, (1, 0)), TypeError, "pattern is a tuple. Wanted: a str"),
    (lambda: ctt.permute_dims(X, (0, 2)), ValueError, r"axes\[1\] is 2, wanted -2 to 1"),
    (lambda: ctt.permute_dims([[1]], (1, 0)), TypeError, "x is a list. Wanted: a torch.Tensor"),
    (lambda: ctt.matrix_transpose(None), TypeError, "x is a NoneType. Wanted: a torch.Tensor"),
    (lambda: ct.matrix_transpose(X, stream=3), TypeError, "stream is given, but x is a torch.Tensor, which is in host memory"),
    (lambda: ct.transpose_inplace_(X.clone(), stream=3), TypeError, "stream is given, but x is a torch.Tensor"),
    (lambda: ct.matrix_transpose(torch.zeros(3, 4, requires_grad=True), threads=1), ValueError,
     "threads is given, but x records a gradient"),
    (lambda: ctt.matrix_transpose(X[0]), ValueError, "x has 1 axis, wanted 2 or more"),
    (lambda: ctt.matrix_transpose(X[0].to("meta")), ValueError, "x has 1 axis, wanted 2 or more"),
    (lambda: ctt.accelerate("cpu"), TypeError, "mode is 'cpu'. Wanted: True or False"),
    (lambda: ctt.accelerate(devices="cpu"), TypeError, "devices is 'cpu'. Wanted: a sequence"),
    (lambda: ctt.permute_dims(X, (1, 0), out=X), ValueError, r"out has shape \(3, 4\), wanted \(4, 3\)"),
    (lambda: ct.transpose_inplace_(torch.zeros(3).expand(3, 3)), ValueError, "elements of x share memory"),
    (lambda: ct.transpose_inplace_(X[:, :2]), ValueError, r"x has shape \(3, 2\) and is not C-contiguous"),
    (lambda: ct.transpose_inplace_(X[0]), ValueError, "x has 1 axis, wanted 2 or more"),
    (lambda: ctt.transpose_inplace_(X[0]), ValueError, "x has 1 axis, wanted 2 or more"),
    (lambda: ct.batch([X, np.zeros((3, 4))]), TypeError, "item 1: x is a numpy.ndarray, but item 0 is a torch.Tensor. Wanted"),
    (lambda: ct.batch([np.zeros((3, 4)), X]), TypeError, "item 1: x is a torch.Tensor, but item 0 is a numpy.ndarray. Wanted"),
    (lambda: ctt.accelerate(devices=("xpu",)), ValueError, "Wanted: 'cuda' and 'cpu' only"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_refuses_with_a_sentence(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call()


# ---- arithmetic, threads, batches ----

def test_arithmetic():
    x = torch.randn(30, 50)
    assert torch.equal(ct.matrix_transpose(x, alpha=0.25), 0.25 * x.t())
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        y = ct.matrix_transpose(x, dtype=dtype)
        assert y.is_contiguous() and same_bits(y, x.t().to(dtype))
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        for scale in (2, torch.tensor(2.0), torch.tensor([2.0])):
            assert same_bits(ct.matrix_transpose(x, dtype=dtype, scale=scale), (2 * x.t()).to(dtype))
    z = torch.randn(7, 9, dtype=torch.complex64)
    assert torch.equal(ct.matrix_transpose(z, conj=True), z.mH)
    assert torch.equal(ct.matrix_transpose(z.conj(), alpha=2), 2 * z.mH)  # a lazy conjugate
    second, out = torch.randn(50, 30), torch.randn(50, 30)
    wanted = 2 * x.t() - 3 * second
    assert torch.allclose(ct.matrix_transpose(x, alpha=2, beta=-3, second=second), wanted)
    wanted = x.t() + 3 * out
    assert ct.matrix_transpose(x, beta=3, out=out, threads=1) is out and torch.allclose(out, wanted, atol=1e-6)
    whole = torch.randint(-99999, 99999, (20, 30), dtype=torch.int32)
    assert torch.equal(ct.matrix_transpose(whole, dtype=torch.int8), whole.t().clamp(-128, 127).to(torch.int8))


ARITHMETIC = [
    {"dtype": torch.float64}, {"dtype": torch.float32}, {"dtype": torch.bfloat16}, {"dtype": torch.float8_e4m3fn}, {"dtype": torch.float8_e5m2, "scale": 2},
    {"dtype": torch.float8_e5m2, "scale": torch.ones(1, 1)}, {"alpha": 2}, {"alpha": np.float32(2)}, {"beta": 1, "second": X.t().clone()},
    {"alpha": 2.0, "saturate": False}, {"alpha": 1}]


@pytest.mark.parametrize("how", ARITHMETIC, ids=str)
def test_usual_arithmetic_runs_no_python_code(monkeypatch, how):
    from cornerturn import _arithmetic
    wanted = _arithmetic.permute(X, (1, 0), None, None, 0, **how)
    monkeypatch.delattr(_arithmetic, "permute")
    assert same_bits(ct.matrix_transpose(X, **how), wanted)
    out = torch.zeros_like(wanted)
    before = out._version
    assert ct.permute_dims(X, (1, 0), out=out, **how) is out and same_bits(out, wanted) and out._version > before
    with pytest.raises(AttributeError):
        ct.matrix_transpose(X, conj=1, **how)


# The first ones are usual. Others are refused, or need conversions by Python.
SOURCES = [lambda: X, lambda: Z + 1j, lambda: X.to(torch.int32), lambda: X.half(), lambda: X.double().t().contiguous().t(), lambda: X[:0],
           lambda: X.to(torch.float8_e5m2), lambda: X > 3, lambda: torch.nn.Parameter(X.clone()), lambda: (Z + 1j).conj(),
           lambda: torch._neg_view(X), lambda: X.to("meta"), lambda: X.to_sparse(), lambda: torch.inference_mode()(X.clone)()]
VALUES = {
    "dtype": [None, torch.float32, torch.float64, torch.float16, torch.int8, torch.complex64, torch.float8_e4m3fn, "float64", torch.qint8, "no"],
    "alpha": [1, 2.5, np.float32(2), 2 - 1j, torch.tensor(2.0), torch.tensor(2.0, requires_grad=True), None, 10**400],
    "beta": [None, 0, 3, 1j, torch.tensor(1), "1"],
    "conj": [False, True, 1],
    "scale": [None, 4, 0.25, torch.ones(()), torch.ones(2), torch.ones(1, dtype=torch.float64), torch.ones(1, requires_grad=True), np.ones(1, "f4")],
}


def random_case(seed):
    random = np.random.default_rng(seed)

    def pick(values):
        return values[int(len(values) * random.random() ** 3)]

    x = pick(SOURCES)()
    how = {name: pick(values) for name, values in VALUES.items() if random.random() < 0.4}
    wanted = how.get("dtype")
    made = torch.ones(x.t().shape if x.ndim == 2 else (), dtype=wanted if wanted in DTYPES else x.dtype)
    others = [made, made.clone().t().contiguous().t(), made[:, :1], made.real.to(torch.uint8), torch.nn.Parameter(made.clone(), made.is_floating_point()),
              made.to("meta"), made.numpy(force=True) if made.dtype.itemsize > 2 else None, [[1]], torch.inference_mode()(made.clone)(),
              torch.ones(made.shape, dtype=torch.complex64).conj()]
    if random.random() < 0.5:
        how["out"] = pick([others[0], None, *others[1:], x.t()])
    if random.random() < 0.4:
        how["second"] = pick([others[1].clone(), None, *others])
    return x, how


def result_of(call, out):
    try:
        made = call()
    except (TypeError, ValueError, RuntimeError) as found:
        return type(found), str(found)
    stored = made.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return type(made), made is out, made.requires_grad, made.dtype, made.shape, made.is_meta or stored.view(torch.uint8).tolist()


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_both_checks_of_arithmetic_agree(mode):
    with mode():
        expect_equal_checks(random_case, result_of, 1500)


def test_arithmetic_is_seen_by_autograd():
    x, kept = torch.ones(3, 3), torch.ones(3, 3, requires_grad=True)
    product = (x * kept).sum()
    ct.matrix_transpose(torch.ones(3, 3), out=x, alpha=2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


@pytest.mark.parametrize("call,kind,sentence", [
    (lambda: ct.matrix_transpose(torch.zeros(3, 4, requires_grad=True), alpha=2), ValueError,
     "x requires a gradient, which arithmetic does not record. Wanted: torch.no_grad"),
    (lambda: ct.matrix_transpose(X, alpha=torch.tensor(3.0, requires_grad=True)), ValueError, "alpha requires a gradient"),
    (lambda: ct.matrix_transpose(X, beta=1, second=torch.zeros(4, 3, requires_grad=True)), ValueError, "second requires a gradient"),
    (lambda: torch.vmap(lambda x: ct.matrix_transpose(x, alpha=2))(torch.zeros(2, 3, 4)), ValueError,
     "x is in a transformation or has a tangent, which arithmetic does not support"),
    (lambda: ct.matrix_transpose(X, dtype="nothing"), TypeError, "dtype is 'nothing'. Wanted: a torch.dtype"),
    (lambda: ct.matrix_transpose(X, beta=1, second=np.zeros((4, 3))), TypeError, "second is a numpy.ndarray, but x is a torch.Tensor"),
    (lambda: ct.matrix_transpose(X.to_sparse(), alpha=2), TypeError, "x has layout torch.sparse_coo"),
    (lambda: ct.matrix_transpose(X, dtype=torch.float64, out=torch.zeros(4, 3)), ValueError,
     "out has dtype torch.float32, wanted torch.float64"),
    (lambda: ct.matrix_transpose(X.to("meta"), alpha=2), ValueError, "x is on meta. Wanted: the CPU or a CUDA device"),
    (lambda: ct.batch([torch.zeros(3, 4, requires_grad=True)]), ValueError,
     "item 0: x requires a gradient, which a batch does not record"),
    (lambda: ct.batch([X, Z.conj()]), ValueError, "item 1: x is a lazy conjugate of another tensor"),
    (lambda: ct.batch([X], out=[torch.zeros(4, 3, dtype=torch.int32)]), ValueError, "item 0: out has dtype torch.int32"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_arithmetic_and_batches_refuse(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call()


def test_batch():
    xs = [unique((20 + k, 30, 3), dtype) for k, dtype in enumerate((torch.uint8, torch.float32, torch.bfloat16) * 5)]
    batch = ct.batch(xs, (2, 0, 1))
    assert all(type(y) is torch.Tensor and same_bits(y, x.permute(2, 0, 1)) for x, y in zip(xs, batch(), strict=True))
    with torch.no_grad():
        assert same_bits(ct.batch([torch.nn.Parameter(xs[1])], (2, 0, 1))()[0], xs[1].permute(2, 0, 1))
    x, kept = torch.ones(4, 3), torch.ones(4, 3, requires_grad=True)
    product = (x * kept).sum()
    ct.batch([torch.ones(3, 4)], out=[x])()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_plain_tensors_skip_the_dispatcher():
    """The dispatcher takes ten times as long as the plain function."""
    import timeit
    x, out = torch.zeros(2, 2), torch.zeros(2, 2)
    for function in (lambda module: module.permute_dims(x, (1, 0), out=out), lambda module: module.transpose_inplace_(x)):
        plain, operator = (min(timeit.repeat(lambda m=m: function(m), number=300, repeat=9)) for m in (ct, ctt))
        assert operator < 5 * plain


def test_gradients_of_gradients():
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    for function in (ct.matrix_transpose, ctt.matrix_transpose):
        assert torch.autograd.gradgradcheck(lambda x: function(x) ** 3, x)
    from torch._subclasses import FakeTensorMode
    with FakeTensorMode():
        assert ctt.permute_dims(torch.zeros(3, 4, requires_grad=True), (1, 0)).shape == (4, 3)


@pytest.mark.parametrize("name", ["x", "pattern"])
def test_sizes_may_have_the_names_of_parameters(name):
    x = torch.arange(12.0).reshape(2, 6)
    assert torch.equal(ctt.rearrange(x, f"b ({name} y) -> y b {name}", **{name: 2}), x.reshape(2, 2, 3).permute(2, 0, 1))
