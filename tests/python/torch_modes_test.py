"""PyTorch around the fast path: lazy bits, subclasses, modes, transforms, tracers, tangents and version counters.

Everything is compared with PyTorch's own permutation: numbers, gradients, tangents and version counters.
"""
import copy
import gc
import io
import pickle
import warnings

import pytest
from conftest import cuda_of

import cornerturn as ct

torch = pytest.importorskip("torch")
import cornerturn.torch as ctt  # noqa: E402

forward_ad = torch.autograd.forward_ad
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.*:FutureWarning", "ignore:.*torch.jit.*:DeprecationWarning",
                                        "ignore:.*TracerWarning.*")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def device(request):
    if request.param == "cuda":
        cuda_of("torch")
    return request.param


class Marked(torch.Tensor):
    pass


def wanted_of(x):
    return x.mT.contiguous()


def functions(x):
    """The ways to a transpose, for tensors with the layout of x."""
    plan = ct.plan(x)
    return {"matrix_transpose": ct.matrix_transpose, "operator": lambda x: torch.ops.cornerturn.permute_dims(x, [1, 0]),
            "cornerturn.torch": ctt.matrix_transpose, "plan": plan}


def lazy_tensors(device):
    z = torch.randn(3, 4, dtype=torch.complex64, device=device)
    return [z.conj(), z.mT.conj(), torch._neg_view(z.real.contiguous()), z.conj().imag, torch._neg_view(z.conj().imag)]


def test_lazy_conjugates_and_negatives(device):
    for x in lazy_tensors(device):
        for name, function in functions(x).items():
            assert torch.equal(function(x), x.mT), name
            out = torch.empty(x.mT.shape, dtype=x.dtype, device=device)
            if name != "operator" and not name == "plan":
                assert function(x, out=out) is out and torch.equal(out, x.mT)
        plan = ct.plan(x, out=torch.empty(x.mT.shape, dtype=x.dtype, device=device))
        out = torch.empty(x.mT.shape, dtype=x.dtype, device=device)
        assert plan(x, out=out) is out and torch.equal(out, x.mT)


# ---- version counters and out ----

def writers(device):
    x = torch.full((2, 2), 7.0, device=device)
    plan = ct.plan(x, out=torch.empty(2, 2, device=device))

    def in_level(y):
        with forward_ad.dual_level():
            plan(x, out=y)

    def in_mode(y):
        from torch.utils.flop_counter import FlopCounterMode
        with FlopCounterMode(display=False):
            plan(x, out=y)

    return {"function of a subclass": lambda y: ct.matrix_transpose(x.as_subclass(Marked), out=y),
            "plan": lambda y: plan(x, out=y), "plan of a subclass": lambda y: plan(x.as_subclass(Marked), out=y),
            "plan into a subclass": lambda y: plan(x, out=y.as_subclass(Marked)), "plan in a dual level": in_level,
            "plan in a mode": in_mode, "plan of a negative": lambda y: plan(torch._neg_view(x), out=y),
            "arithmetic": lambda y: ct.matrix_transpose(x, alpha=2, out=y), "batch": lambda y: ct.batch([x], out=[y])(),
            "operator": lambda y: torch.ops.cornerturn.permute_dims_out(x, [1, 0], y),
            "in place": ct.transpose_inplace_, "in place in a subclass": lambda y: ct.transpose_inplace_(y.as_subclass(Marked))}


@pytest.mark.parametrize("name", writers("cpu"))
def test_autograd_notices_each_write(device, name):
    weight, y = torch.ones(2, 2, requires_grad=True, device=device), torch.full((2, 2), 2.0, device=device)
    loss = (weight * y).sum()
    before = y._version
    writers(device)[name](y)
    assert y._version > before
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_out_that_records_a_gradient(device):
    """As for PyTorch's own out=: refused for leaves and others, unless gradients are off."""
    x = torch.full((2, 2), 7.0, device=device)
    plan = ct.plan(x, out=torch.empty(2, 2, device=device))
    calls = {"plan": lambda out: plan(x, out=out), "function": lambda out: ct.matrix_transpose(x, out=out),
             "subclass": lambda out: ct.matrix_transpose(x.as_subclass(Marked), out=out),
             "operator": lambda out: torch.ops.cornerturn.permute_dims_out(x, [1, 0], out),
             "arithmetic": lambda out: ct.matrix_transpose(x, alpha=2.0, out=out),
             "batch": lambda out: ct.batch([x], out=[out])()}
    for name, call in calls.items():
        leaf = torch.nn.Parameter(torch.zeros(2, 2, device=device))
        other = torch.zeros(2, 2, device=device, requires_grad=True) * 3
        for out in (leaf, other):
            with pytest.raises((ValueError, RuntimeError), match="requires a gradient"):
                call(out)
            assert torch.equal(out, torch.zeros(2, 2, device=device)), name
        with torch.no_grad():
            call(leaf)
        assert leaf._version == 1 and leaf[0, 0] > 0, name


@pytest.mark.parametrize("wrong", [torch.int32, torch.complex64])
def test_out_of_another_dtype(device, wrong):
    x, out = torch.ones(3, 3, device=device), torch.zeros(3, 3, dtype=wrong, device=device)
    plan = ct.plan(x)
    for call in (lambda: torch.ops.cornerturn.permute_dims_out(x, [1, 0], out), lambda: plan(x.as_subclass(Marked), out=out),
                 lambda: plan(x, out=out), lambda: ct.matrix_transpose(x.as_subclass(Marked), out=out)):
        with pytest.raises(ValueError, match="dtype"):
            call()
    assert not out.any()


def test_operators_check_their_arguments():
    x = torch.ones(2, 3)
    for call, sentence in ((lambda: torch.ops.cornerturn.permute_dims(x, [0, 0]), "repeats an axis"),
                           (lambda: torch.ops.cornerturn.permute_dims(x, [0]), "axes has 1 entries"),
                           (lambda: torch.ops.cornerturn.permute_dims_out(x, [1, 0], torch.ones(2, 3)), "out has shape"),
                           (lambda: torch.ops.cornerturn.permute_dims_out(x, [1, 0], x.mT), "share memory"),
                           (lambda: torch.ops.cornerturn.permute_dims(x.to("meta"), [0, 5]), "wanted -2 to 1")):
        with pytest.raises(ValueError, match=sentence):
            call()


def test_inference_tensors(device):
    with torch.inference_mode():
        x = torch.randn(3, 4, device=device)
        assert torch.equal(ct.matrix_transpose(x), x.mT)
        out = torch.empty(4, 3, device=device)
        assert torch.equal(ct.matrix_transpose(x, out=out), x.mT)
    assert torch.equal(ct.matrix_transpose(x), x.mT)
    for call in (lambda: ct.matrix_transpose(x, out=out), lambda: ct.transpose_inplace_(out)):
        with pytest.raises(RuntimeError, match="[Ii]nference"):
            call()


# ---- derivatives ----

TRANSFORMS = {
    "jvp": lambda f: lambda x: torch.func.jvp(f, (x,), (x + 1,)),
    "vjp": lambda f: lambda x: torch.func.vjp(f, x)[1](f(x) * 3),
    "grad": lambda f: torch.func.grad(lambda x: (f(x) ** 3).sum()),
    "jacfwd": lambda f: torch.func.jacfwd(lambda x: f(x) ** 2),
    "jacrev": lambda f: torch.func.jacrev(lambda x: f(x) ** 2),
    "hessian": lambda f: torch.func.hessian(lambda x: (f(x) ** 3).sum()),
    "forward over reverse": lambda f: torch.func.jacfwd(torch.func.jacrev(lambda x: f(x) ** 3)),
    "reverse over forward": lambda f: torch.func.jacrev(torch.func.jacfwd(lambda x: f(x) ** 3)),
    "vmap of grad": lambda f: torch.vmap(torch.func.grad(lambda x: (f(x[None]) ** 3).sum())),
    "linearize": lambda f: lambda x: torch.func.linearize(f, x)[1](x + 1),
}


def graphs(x):
    """The ways to a graph with the operator, and functions without a graph."""
    from torch.fx.experimental.proxy_tensor import make_fx

    class Module(torch.nn.Module):
        def forward(self, x):
            return ctt.matrix_transpose(x)

    return {"function": ct.matrix_transpose, "operator": lambda x: torch.ops.cornerturn.permute_dims(x, [1, 0]),
            "make_fx": make_fx(ct.matrix_transpose)(x), "make_fx of a plan": make_fx(ct.plan(x))(x),
            "jit.trace": torch.jit.trace(ct.matrix_transpose, (x,)),
            "export": torch.export.export(Module(), (x,)).module(),
            "subclass": lambda x: ct.matrix_transpose(x.as_subclass(Marked)).as_subclass(torch.Tensor)}


def equal(a, b):
    if isinstance(a, tuple):
        return len(a) == len(b) and all(equal(*both) for both in zip(a, b, strict=True))
    return a.shape == b.shape and torch.allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_derivatives(device, transform):
    x = torch.randn(2, 3, dtype=torch.float64, device=device)
    for name, function in graphs(x).items():
        if name == "subclass" and transform not in ("jvp", "grad"):
            continue  # as_subclass itself lacks rules
        if transform == "vmap of grad" and name in ("make_fx of a plan", "make_fx", "jit.trace", "export"):
            continue  # a graph has the shapes of its example
        assert equal(TRANSFORMS[transform](function)(x), TRANSFORMS[transform](wanted_of)(x)), name


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_derivatives(transform, backend):
    if transform == "linearize":
        pytest.skip("the compiler does not trace it")
    x = torch.randn(2, 3, dtype=torch.float64)
    compiled = torch.compile(TRANSFORMS[transform](ctt.matrix_transpose), backend=backend)
    assert equal(compiled(x), TRANSFORMS[transform](wanted_of)(x))


def test_tangents(device):
    """Of the operator, of graphs, and of gradients that are taken in a dual level."""
    x, tangent = torch.randn(2, 3, device=device), torch.randn(2, 3, device=device)
    for name, function in graphs(x).items():
        with forward_ad.dual_level():
            y = forward_ad.unpack_dual(function(forward_ad.make_dual(x, tangent)))
            assert torch.equal(y.primal, x.mT) and torch.equal(y.tangent, tangent.mT), name
    for kind in (torch.Tensor, Marked):
        weight = torch.ones(2, 3, device=device).as_subclass(kind).requires_grad_()
        y = ct.matrix_transpose(weight)
        with forward_ad.dual_level():
            (grad,) = torch.autograd.grad(y, weight, forward_ad.make_dual(x.mT, tangent.mT))
            assert torch.equal(forward_ad.unpack_dual(grad.as_subclass(torch.Tensor)).tangent, tangent)


def test_no_tangent_is_lost_in_out(device):
    x, out = torch.ones(2, 3, device=device), torch.empty(3, 2, device=device)

    def function(x, out):
        return ctt.matrix_transpose(x, out=out) * 2

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, x)
        for call in (function, torch.compile(function, backend="eager"), lambda x, out: ct.plan(x)(x, out=out),
                     lambda x, out: torch.ops.cornerturn.permute_dims_out(x, [1, 0], out),
                     lambda x, out: ct.matrix_transpose(x, alpha=2, out=out), lambda x, out: ct.batch([x], out=[out])()):
            with pytest.raises((ValueError, RuntimeError), match="has a tangent"):
                call(dual, out)
        assert torch.equal(function(x, out), 2 * x.mT)


def test_gradients_numerically(device):
    for kinds in ({"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}, {}):
        x = torch.randn(2, 3, 4, dtype=torch.float64, device=device, requires_grad=True)
        for function in (lambda x: ct.permute_dims(x, (2, 0, 1)), lambda x: torch.ops.cornerturn.permute_dims(x, [-1, 0, 1])):
            assert torch.autograd.gradcheck(function, x, **kinds)
            assert torch.autograd.gradgradcheck(lambda x: function(x) ** 3, x, check_fwd_over_rev=bool(kinds))


@pytest.mark.filterwarnings("ignore:.*")
def test_opcheck(device):
    check, ops = torch.library.opcheck, torch.ops.cornerturn
    x, z = torch.randn(2, 3, device=device), torch.randn(2, 3, dtype=torch.complex64, device=device)
    for one in (x, x.clone().requires_grad_(), x.mT.contiguous().mT, z, torch.randn(0, 3, device=device)):
        check(ops.permute_dims.default, (one, [1, 0]))
        check(ops.permute_dims.default, (one, [-1, 0], 1))
        if not one.requires_grad:
            check(ops.permute_dims_out.default, (one, [1, 0], torch.empty(one.mT.shape, dtype=one.dtype, device=device)))
            check(ops.transpose_inplace_.default, (one.contiguous().clone(),))
            check(ops.apply.default, (one, [1, 0], one.dtype, 2.0, 0.0, False, True))
            out, second = torch.zeros(one.mT.shape, dtype=one.dtype, device=device), torch.ones_like(one.mT)
            check(ops.apply_out.default, (one, [1, 0], out, 2.0, 1.0, False, True, second))


# ---- graphs and traces ----

def targets(graph_module):
    return [str(node.target).removesuffix(".default") for node in graph_module.graph.nodes if node.op == "call_function"]


def test_traces_hold_the_operator(device):
    """A trace of the allocation alone would return uninitialized memory."""
    from torch.fx.experimental.proxy_tensor import make_fx
    x, second = torch.randn(20, 30, device=device), torch.randn(30, 20, device=device)
    plan, other = ct.plan(x), torch.randn(20, 30, device=device)
    calls = {"cornerturn.permute_dims": [ct.matrix_transpose, lambda x: plan(x), lambda x: ct.rearrange(x, "a b -> b a")],
             "cornerturn.apply": [lambda x: ct.matrix_transpose(x, alpha=2.0), lambda x: ct.matrix_transpose(x, dtype=torch.float16),
                                  lambda x: ct.matrix_transpose(x, alpha=2.0, beta=0.5, second=second)],
             "cornerturn.permute_dims_out": [lambda x: ct.batch([x])()[0], lambda x: plan(x, out=torch.empty_like(second)),
                                             lambda x: ct.matrix_transpose(x, out=torch.empty_like(second))]}
    for target, functions_of_target in calls.items():
        for function in functions_of_target:
            for pre_dispatch in (False, True):
                graph = make_fx(function, pre_dispatch=pre_dispatch)(x)
                assert target in targets(graph)
                assert torch.equal(graph(other), function(other))
            traced = torch.jit.trace(function, (x,))
            assert target.replace(".", "::") in str(traced.graph)
            assert torch.equal(traced(other), function(other))


def test_in_place_in_a_trace():
    from torch.fx.experimental.proxy_tensor import make_fx
    for shape in ((3, 3), (2, 3, 5)):
        x, other = torch.randn(shape), torch.randn(shape)
        wanted = other.mT.clone()
        assert torch.equal(make_fx(lambda x: ct.transpose_inplace_(x.clone()))(x)(other), wanted)
        assert torch.equal(torch.jit.trace(lambda x: ct.transpose_inplace_(x.clone()), (x,))(other), wanted)


def test_fake_and_wrapped_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode
    x = torch.empty(2, 3)
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(x)
        assert ct.matrix_transpose(fake).shape == (3, 2) and ct.plan(fake)(fake).shape == (3, 2)
        assert ct.matrix_transpose(fake, alpha=2.0, dtype=torch.float16).dtype == torch.float16
        assert ct.batch([fake])()[0].shape == (3, 2)
        out = torch.empty(3, 2)
        assert ct.matrix_transpose(fake, out=out) is out
        with pytest.raises(ValueError, match="out has dtype"):
            ct.matrix_transpose(fake, out=torch.empty(3, 2, dtype=torch.int32))
    assert ct.matrix_transpose(fake).shape == (3, 2)  # outside of its mode
    functional = torch._to_functional_tensor(torch.ones(2, 3))
    assert torch._is_functional_tensor(ct.matrix_transpose(functional))


class Wrapper(torch.Tensor):
    """A tensor without memory of its own, as quantization libraries have it."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, kinds, arguments=(), named=None):
        made = function(*torch.utils._pytree.tree_map_only(cls, lambda one: one.inner, arguments), **(named or {}))
        return torch.utils._pytree.tree_map_only(torch.Tensor, cls, made)


def test_a_wrapper_without_an_address(device):
    x = torch.randn(3, 4, device=device)
    assert torch.equal(ct.matrix_transpose(Wrapper(x)).inner, x.mT)
    assert torch.equal(ct.plan(x)(Wrapper(x)).inner, x.mT)
    out = Wrapper(torch.empty(4, 3, device=device))
    assert ct.matrix_transpose(Wrapper(x), out=out) is out and torch.equal(out.inner, x.mT)
    assert torch.equal(ct.matrix_transpose(Wrapper(x), alpha=2.0).inner, 2 * x.mT)


def test_zero_tensors(device):
    x = torch._efficientzerotensor((2, 3), device=device)
    for function in functions(torch.zeros(2, 3, device=device)).values():
        assert torch.equal(function(x), torch.zeros(3, 2, device=device))
    out = torch.ones(3, 2, device=device)
    ct.matrix_transpose(x, out=out)
    assert not out.any()


def test_functionalize_and_vmap_with_out(device):
    x = torch.randn(4, 2, 3, device=device)

    def into(x):
        return ct.matrix_transpose(x, out=x.new_empty(x.mT.shape))

    assert torch.equal(torch.func.functionalize(into)(x[0]), x[0].mT)
    assert torch.equal(torch.vmap(into)(x), x.mT)
    assert torch.equal(torch.vmap(into, in_dims=1)(x), x.movedim(1, 0).mT)
    operator = torch.ops.cornerturn.permute_dims_out
    out = torch.empty(3, 4, 2, device=device)
    torch.vmap(lambda x, out: operator(x, [1, 0], out), in_dims=(0, 1), out_dims=None)(x, out)
    assert torch.equal(out, x.mT.movedim(0, 1))
    with pytest.raises(RuntimeError, match="out is not"):
        torch.vmap(lambda x: operator(x, [1, 0], torch.empty(3, 2, device=device)), out_dims=None)(x)


def test_modes_see_the_operator(device):
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode
    seen = []

    class Dispatch(TorchDispatchMode):
        def __torch_dispatch__(self, function, kinds, arguments=(), named=None):
            seen.append(str(function))
            return function(*arguments, **(named or {}))

    class Function(TorchFunctionMode):
        def __torch_function__(self, function, kinds, arguments=(), named=None):
            seen.append(str(function))
            return function(*arguments, **(named or {}))

    x = torch.randn(3, 3, device=device)
    plan, batch = ct.plan(x), ct.batch([x])
    for mode in (Dispatch, Function):
        for name, call in {"permute_dims": lambda: ct.matrix_transpose(x), "permute_dims ": lambda: plan(x),
                           "permute_dims_out": batch, "apply": lambda: ct.matrix_transpose(x, alpha=2.0),
                           "transpose_inplace_": lambda: ct.transpose_inplace_(x)}.items():
            seen.clear()
            with mode():
                call()
            assert any(name.strip() in one for one in seen), (mode, name)
    seen.clear()
    with torch.device(device):  # a mode that only affects allocations
        ct.matrix_transpose(x)
    assert not seen


@pytest.mark.filterwarnings("ignore:.*")
def test_the_profiler_shows_names():
    x = torch.randn(3, 3)
    batch = ct.batch([x])
    with torch.profiler.profile() as found:
        ct.matrix_transpose(x)
        ct.transpose_inplace_(x)
        ct.matrix_transpose(x, alpha=2.0)
        batch()
    names = {event.key for event in found.key_averages()}
    assert {"cornerturn::permute_dims", "cornerturn::transpose_inplace_", "cornerturn::apply",
            "cornerturn::permute_dims_out"} <= names


def test_threads_of_other_tensors():
    x = torch.randn(40, 50)
    z = torch.randn(40, 50, dtype=torch.complex64).conj()
    assert torch.equal(ct.matrix_transpose(z, threads=1), z.mT)
    assert torch.equal(ct.matrix_transpose(x.as_subclass(Marked), threads=1).as_subclass(torch.Tensor), x.mT)
    from torch.utils.flop_counter import FlopCounterMode
    with FlopCounterMode(display=False):
        assert torch.equal(ct.matrix_transpose(x, threads=1), x.mT)
        assert torch.equal(ct.transpose_inplace_(x.clone(), threads=1), x.mT)


# ---- the compiler ----

@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_errors_are_the_same(backend):
    x = torch.ones(2, 3)
    for call in (lambda x: ctt.rearrange(x, "a b c -> c b a"), lambda x: ctt.permute_dims(x, {0, 1}),
                 lambda x: ctt.permute_dims(x, (0, 0)), lambda x: ctt.permute_dims(x, (1.5, 0)),
                 lambda x: ctt.permute_dims(x, (0,)), lambda x: ctt.matrix_transpose(x[0]),
                 lambda x: ctt.permute_dims(x, "a b -> b a"),
                 lambda x: ctt.matrix_transpose(x, out=x.new_empty(2, 3))):
        with pytest.raises((ValueError, TypeError)) as eager:
            call(x)
        with pytest.raises(eager.type) as compiled:
            torch.compile(call, backend=backend)(x)
        assert str(eager.value)[:30] in str(compiled.value)


def test_compiled_out_that_overlaps():
    x = torch.randn(3, 3)
    with pytest.raises(Exception, match="share memory"):
        torch.compile(lambda x: ctt.matrix_transpose(x, out=x.mT), backend="aot_eager")(x)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_in_place(backend):
    for make in (lambda: torch.randn(3, 3), lambda: torch.randn(2, 3, 5), lambda: torch.randn(3, 3, dtype=torch.complex64).conj(),
                 lambda: torch.randn(2, 4, 5, dtype=torch.complex64).conj()):
        x = make()
        wanted, address = x.mT.clone(), x.data_ptr()
        y = torch.compile(ctt.transpose_inplace_, backend=backend, fullgraph=True)(x)
        assert torch.equal(y, wanted) and y.is_conj() == x.is_conj() and y.data_ptr() == address


def test_compiled_conjugates():
    x = torch.randn(3, 4, dtype=torch.complex64).conj()
    for one in (x, x.imag):
        out = torch.empty(4, 3, dtype=one.dtype)
        for backend in ("eager", "aot_eager"):
            assert torch.equal(torch.compile(ctt.matrix_transpose, backend=backend)(one), one.mT)
            torch.compile(lambda x, out: ctt.matrix_transpose(x, out=out), backend=backend)(one, out)
            assert torch.equal(out, one.mT)


def test_inductor():
    """One run with the default compiler: the operator, its out form, in place, and a gradient."""
    x, out = torch.randn(6, 8), torch.empty(8, 6)

    def step(x, out):
        y = ctt.matrix_transpose(x.sin()) + 1
        ctt.matrix_transpose(x.detach().cos(), out=out)
        return y * ctt.transpose_inplace_(x.detach() * 2)

    x.requires_grad_()
    y = torch.compile(step, fullgraph=True)(x, out)
    y.sum().backward()
    found, x.grad = x.grad, None
    wanted = (x.sin().mT + 1) * (x.detach() * 2).mT
    wanted.sum().backward()
    for one, other in ((y, wanted), (found, x.grad), (out, x.cos().mT)):  # the compiler's sine and cosine round otherwise
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 5, 5), (2, 4, 5)])
def test_export_with_dynamic_extents(shape):
    class Module(torch.nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, x):
            return self.function(x) + 1

    dynamic = torch.export.Dim.DYNAMIC
    for function in (ctt.transpose_inplace_, ctt.matrix_transpose, lambda x: ctt.rearrange(x, "... a b -> ... b a"),
                     lambda x: ctt.matrix_transpose(x, out=x.new_empty(x.mT.shape))):
        found = torch.export.export(Module(function), (torch.randn(shape),), dynamic_shapes=(dict.fromkeys(range(3), dynamic),))
        x = torch.randn(3, *(n + 2 for n in shape[1:]))
        wanted = x.mT + 1
        assert torch.equal(found.module()(x), wanted)


# ---- plans and batches as parts of modules ----

def test_modules_with_plans_and_batches(device):
    module = torch.nn.Module()
    x = torch.randn(3, 4, device=device)
    module.register_buffer("x", x)
    module.plan, module.batch, module.pattern = ct.plan(x), ct.batch([x]), ct.plan(x, "a b -> b a", threads=1)
    file = io.BytesIO()
    torch.save(module, file)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)),
                  torch.load(io.BytesIO(file.getvalue()), weights_only=False)):
        y = torch.randn(3, 4, device=device)
        assert torch.equal(other.plan(y), y.mT) and torch.equal(other.pattern(y), y.mT)
        assert other.plan.kernel == module.plan.kernel and other.plan.axes == module.plan.axes
        assert other.pattern.threads == module.pattern.threads
        other.x.copy_(y)  # the batch of a deep copy has the copied tensors
        assert torch.equal(other.batch()[0], y.mT)
    assert torch.equal(module.batch()[0], x.mT)
    with pytest.raises(ValueError, match="do not fit the plan"):
        copy.copy(module.plan)(torch.randn(4, 3, device=device))


def test_a_batch_asks_for_gradients_in_each_call(device):
    x = torch.randn(3, 4, device=device)
    batch = ct.batch([x])
    batch()
    x.requires_grad_()
    with pytest.raises(ValueError, match="item 0: x requires a gradient"):
        batch()
    with torch.no_grad():
        assert torch.equal(batch()[0], x.mT)
    with forward_ad.dual_level():
        assert torch.equal(ct.batch([x.detach()])()[0], x.mT)


def test_a_batch_from_a_mode_gets_a_plan_later(device):
    x = torch.randn(3, 4, device=device)
    with forward_ad.dual_level():
        batch = ct.batch([x])
        assert "operator" in batch.explain() and batch.bytes_moved == 96
    assert torch.equal(batch()[0], x.mT) and "operator" not in batch.explain()


def test_nothing_is_kept_alive(device):
    import weakref
    x = torch.randn(3, 4, device=device, requires_grad=True)
    seen = weakref.ref(x)
    ct.matrix_transpose(x).sum().backward()
    del x
    gc.collect()
    assert seen() is None


def test_warnings_are_not_needed():
    """An import and a call of the operator print nothing and do not import the compiler."""
    import subprocess
    import sys
    code = ("import sys, torch, cornerturn.torch as c; x = torch.ones(2, 3, requires_grad=True); c.matrix_transpose(x).sum().backward();"
            "torch.ops.cornerturn.permute_dims(x, [1, 0]); print('torch._dynamo' in sys.modules)")
    found = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False" and found.stderr == ""
    assert warnings.filters is not None
