"""Random calls: (function, shape, axes, dtype) x (kind of tensor) x (mode), each compared with PyTorch's own permutation.

Numbers, gradients, tangents and version counters are equal, or the call is refused in a sentence. A function without out,
plan, batch or arithmetic is never refused. CORNERTURN_RANDOM_CALLS sets the number of calls, CORNERTURN_RANDOM_SEED the seed.
"""
import os
import random

import pytest

import cornerturn as ct

torch = pytest.importorskip("torch")
import cornerturn.torch as ctt  # noqa: E402

forward_ad = torch.autograd.forward_ad
pytestmark = pytest.mark.filterwarnings("ignore")
CALLS = int(os.environ.get("CORNERTURN_RANDOM_CALLS", "400"))
SEED = int(os.environ.get("CORNERTURN_RANDOM_SEED", "1"))
GROUPS = 8


class Marked(torch.Tensor):
    pass


def pattern_of(axes):
    names = [f"a{k}" for k in range(len(axes))]
    return f"{' '.join(names)} -> {' '.join(names[k] for k in axes)}"


def into(call):
    def made(x, axes):
        out = x.new_empty([x.shape[k] for k in axes])
        return call(x, axes, out)
    return made


# name: (function of (x, axes), the same by PyTorch, may it be refused)
FUNCTIONS = {
    "permute_dims": (ct.permute_dims, None, False),
    "cornerturn.torch": (ctt.permute_dims, None, False),
    "rearrange": (lambda x, axes: ctt.rearrange(x, pattern_of(axes)), None, False),
    "operator": (lambda x, axes: torch.ops.cornerturn.permute_dims(x, list(axes)), None, False),
    "threads": (lambda x, axes: ct.permute_dims(x, axes, threads=1), None, True),
    "plan": (lambda x, axes: ct.plan(x, axes)(x), None, True),
    "plan and out": (into(lambda x, axes, out: ct.plan(x, axes, out=out)(x, out=out)), None, True),
    "out": (into(lambda x, axes, out: ct.permute_dims(x, axes, out=out)), None, True),
    "out of cornerturn.torch": (into(lambda x, axes, out: ctt.permute_dims(x, axes, out=out)), None, True),
    "batch": (lambda x, axes: ct.batch([x], axes)()[0], None, True),
    "alpha": (lambda x, axes: ct.permute_dims(x, axes, alpha=2), lambda y: 2 * y, True),
    "dtype": (lambda x, axes: ct.permute_dims(x, axes, dtype=torch.complex128 if x.is_complex() else torch.float32),
              lambda y: y.to(torch.complex128 if y.is_complex() else torch.float32), True),
}


def wanted(y, change):
    if y._is_zerotensor():  # arithmetic on lazy zeros is a constant in PyTorch's traces; a clone has memory
        y = y.clone()
    y = y.contiguous() if change is None else change(y).contiguous()
    return y.resolve_conj().resolve_neg()


def lazy_negative(x):
    return torch._neg_view(x)


KINDS = {
    "plain": lambda x: x, "slice": lambda x: x[tuple(slice(None, None, 1 + (n > 3)) for n in x.shape)],
    "reversed": lambda x: x.permute(*reversed(range(x.ndim))), "conjugate": lambda x: x.conj(),
    "negative": lazy_negative, "subclass": lambda x: x.as_subclass(Marked), "leaf": lambda x: x.requires_grad_(),
    "no leaf": lambda x: x.requires_grad_() * 1, "parameter": torch.nn.Parameter, "zeros": lambda x: torch._efficientzerotensor(x.shape, dtype=x.dtype),
    "expanded": lambda x: x[:1].expand(x.shape) if x.ndim and x.shape[0] else x,
}


def in_dispatch_mode(f, x):
    from torch.utils.flop_counter import FlopCounterMode
    with FlopCounterMode(display=False):
        return f(x)


def in_function_mode(f, x):
    from torch.overrides import TorchFunctionMode

    class Nothing(TorchFunctionMode):
        def __torch_function__(self, function, kinds, arguments=(), named=None):
            return function(*arguments, **(named or {}))

    with Nothing():
        return f(x)


def dual(f, x):
    with forward_ad.dual_level():
        y = forward_ad.unpack_dual(f(forward_ad.make_dual(x.detach(), x.detach() + 1)))
        assert y.tangent is not None
        return y.primal + 0, y.tangent + 0


def level_without_tangents(f, x):
    with forward_ad.dual_level():
        return f(x)


def without_gradients(f, x):
    with torch.no_grad():
        return f(x)


def in_inference_mode(f, x):
    with torch.inference_mode():
        return f(x).clone()


def backward(f, x):
    x = x.detach().clone().requires_grad_()
    y = f(x)
    y = (y * y.detach()).sum()
    return torch.autograd.grad(y.real if y.is_complex() else y, x)[0]


def fx(f, x, **how):
    from torch.fx.experimental.proxy_tensor import make_fx
    return make_fx(f, **how)(x.detach())(x.detach() + 1)


def trace(f, x):
    return torch.jit.trace(f, (x.detach(),), check_trace=False)(x.detach() + 1)


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def real_sum(y):
    y = (y * y * y).sum()
    return y.real if y.is_complex() else y


# name: (result of (f, x), works on floats only, the functions that the compiler traces only)
MODES = {
    "eager": (lambda f, x: f(x), False, False),
    "no_grad": (without_gradients, False, False),
    "inference": (in_inference_mode, False, False),
    "dispatch mode": (in_dispatch_mode, False, False),
    "function mode": (in_function_mode, False, False),
    "level": (level_without_tangents, False, False),
    "functionalize": (lambda f, x: torch.func.functionalize(f)(x), False, False),
    "make_fx": (fx, False, False),
    "make_fx before dispatch": (lambda f, x: fx(f, x, pre_dispatch=True), False, False),
    "make_fx of fakes": (lambda f, x: fx(f, x, tracing_mode="fake"), False, False),
    "jit.trace": (trace, False, False),
    "dual": (dual, True, False),
    "backward": (backward, True, False),
    "grad": (lambda f, x: torch.func.grad(lambda x: real_sum(f(x)))(x.detach()), True, False),
    "jvp": (lambda f, x: torch.func.jvp(f, (x.detach(),), (x.detach() + 1,)), True, False),
    "vjp": (lambda f, x: torch.func.vjp(f, x.detach())[1](f(x.detach()).detach() + 1), True, False),
    "jacfwd": (lambda f, x: torch.func.jacfwd(f)(x.detach()), True, False),
    "jacrev": (lambda f, x: torch.func.jacrev(f)(x.detach()), True, False),
    "hessian": (lambda f, x: torch.func.hessian(lambda x: real_sum(f(x)))(x.detach()), True, False),
    "vmap": (lambda f, x: torch.vmap(f)(torch.stack([x.detach(), x.detach() + 1])), False, False),
    "vmap of the last axis": (lambda f, x: torch.vmap(f, in_dims=-1)(torch.stack([x.detach(), x.detach() + 1], -1)), False, False),
    "compile eager": (lambda f, x: torch.compile(f, backend="eager")(x), False, True),
    "compile aot_eager": (lambda f, x: torch.compile(f, backend="aot_eager")(x), False, True),
    "compile jvp": (lambda f, x: torch.compile(lambda x: torch.func.jvp(f, (x,), (x + 1,)), backend="eager")(x.detach()), True, True),
    "export": (lambda f, x: torch.export.export(Module(f), (x.detach(),)).module()(x.detach() + 1), False, True),
}
TRACED = ("cornerturn.torch", "rearrange", "operator", "out of cornerturn.torch")
SLOW = ("compile eager", "compile aot_eager", "compile jvp", "export")


def flat(found):
    return [one for part in found for one in flat(part)] if isinstance(found, tuple) else [found]


def same(a, b):
    a, b = (x.detach().as_subclass(torch.Tensor).resolve_conj().resolve_neg() for x in (a, b))
    if a.shape != b.shape or a.dtype != b.dtype or a.device != b.device:
        return False
    return torch.equal(a, b) or torch.allclose(a, b, rtol=1e-10, atol=0, equal_nan=True)


def draw(number):
    """Return the names and the arguments of a call."""
    chosen = random.Random(SEED * 1_000_003 + number)
    mode = chosen.choice([one for one in MODES if one not in SLOW] * 3 + list(SLOW))
    function = chosen.choice(TRACED if MODES[mode][2] else list(FUNCTIONS))
    dtype = chosen.choice([torch.float64, torch.complex128] if MODES[mode][1] or mode == "vmap"
                          else [torch.float32, torch.float64, torch.complex64, torch.int32, torch.bfloat16, torch.bool])
    kinds = [one for one in KINDS if dtype.is_complex or one != "conjugate"]
    if not (dtype.is_floating_point or dtype.is_complex):
        kinds = ["plain", "slice", "reversed", "subclass", "expanded", "zeros"]
    kind = chosen.choice(kinds)
    shape = [chosen.choice((1, 2, 3, 4, 5) if chosen.random() < 0.9 else (0,)) for _ in range(chosen.randint(1, 3))]
    axes = list(range(len(shape)))
    chosen.shuffle(axes)
    axes = tuple(k - len(shape) if chosen.random() < 0.3 else k for k in axes)
    return mode, function, dtype, kind, shape, axes


def call(mode, function, dtype, kind, shape, axes, ours):
    torch.manual_seed(7)
    x = KINDS[kind](torch.randn(shape).mul(50).to(dtype) if not dtype.is_complex else torch.randn(shape, dtype=dtype))
    work, change, _ = FUNCTIONS[function]
    return MODES[mode][0]((lambda x: work(x, axes)) if ours else (lambda x: wanted(x.permute(axes), change)), x)


def close_level():
    """Close the level that the compiler leaves open when a call in a compiled torch.func.jvp fails."""
    try:
        torch._C._exit_dual_level(level=0)
    except RuntimeError:
        pass  # it is closed


def check(number):
    """Return whether the call was refused."""
    names = draw(number)
    mode, function, _, kind, _, _ = names
    try:
        reference = flat(call(*names, ours=False))
    except Exception:  # PyTorch itself cannot, such as a subclass in a transform
        close_level()
        return None
    try:
        found = flat(call(*names, ours=True))
    except (ValueError, TypeError, RuntimeError, NotImplementedError) as refusal:
        sentence = str(refusal)
        # PyTorch's own: a proxy mode beside a subclass, and the functional form of an operator with lazy zeros
        own = kind in ("subclass", "zeros") and ("not_implemented" in sentence or "for HigherOrderOperator" in sentence)
        if mode == "compile jvp":
            close_level()
        assert FUNCTIONS[function][2] and ("Wanted" in sentence or "wanted" in sentence or own), f"{number} {names}: {sentence[:300]}"
        return True
    assert len(found) == len(reference), f"{number} {names}"
    for a, b in zip(found, reference, strict=True):
        assert same(a, b), f"{number} {names}: {a} instead of {b}"
    return False


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_calls(group):
    torch._dynamo.reset()
    results = [check(number) for number in range(group, CALLS, GROUPS)]
    assert results.count(False) > len(results) // 3


# ---- writes: version counters and what autograd knows of them ----

WRITES = {
    "out": lambda x, y: ct.matrix_transpose(x, out=y), "plan": lambda x, y: ct.plan(x, out=y)(x, out=y),
    "batch": lambda x, y: ct.batch([x], out=[y])(), "alpha": lambda x, y: ct.matrix_transpose(x, alpha=3, out=y),
    "operator": lambda x, y: torch.ops.cornerturn.permute_dims_out(x, [1, 0], y),
    "in place": lambda x, y: ct.transpose_inplace_(y), "in place operator": lambda x, y: torch.ops.cornerturn.transpose_inplace_(y),
}
TARGETS = {
    "plain": lambda y: y, "subclass": lambda y: y.as_subclass(Marked), "leaf": lambda y: y.requires_grad_(),
    "no leaf": lambda y: y.requires_grad_() * 1, "view": lambda y: torch.stack([y, y])[1], "detached": lambda y: y.requires_grad_().detach(),
}
AROUND = ("eager", "no_grad", "dispatch mode", "function mode", "level", "inference")


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", ["plain", "subclass", "negative", "leaf", "no leaf", "zeros"])
def test_writes(around, target, source):
    """A write bumps the version, has the right numbers and keeps no old graph, or leaves the target unchanged."""
    for name, write in WRITES.items():
        x = KINDS[source](torch.randn(4, 4))
        y = TARGETS[target](torch.full((4, 4), 2.0))
        before, version = y.detach().clone(), y._version
        recorded = around == "eager" and torch.is_grad_enabled() and (y.requires_grad or x.requires_grad and "place" not in name)
        wanted_here = before.mT if "place" in name else x.detach().mT * (3 if name == "alpha" else 1)
        try:
            MODES[around][0](lambda _, write=write, x=x, y=y: (write(x, y), y)[1], x)
        except (ValueError, RuntimeError, TypeError) as refusal:
            assert "anted" in str(refusal) or "inplace" in str(refusal), (name, str(refusal))
            assert torch.equal(y.detach(), before), name
            continue
        assert not recorded, (name, around, target, source)
        assert y._version > version, (name, around, target, source)
        assert torch.equal(y.detach().as_subclass(torch.Tensor), torch.as_tensor(wanted_here).as_subclass(torch.Tensor)), name
