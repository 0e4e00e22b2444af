"""PyTorch's own copies by cornerturn: which ones, with which results, and the switch under threads."""
import importlib.util
import os
import pathlib
import random

import pytest

torch = pytest.importorskip("torch")
import cornerturn as ct  # noqa: E402
import cornerturn.torch as ctt  # noqa: E402


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


class Counter:
    """How many calls of aten::copy_ cornerturn took since the last question."""

    def __init__(self):
        self.last = ct._core._copies()

    def __call__(self):
        before, self.last = self.last, ct._core._copies()
        return self.last - before


@pytest.fixture
def moved():
    yield Counter()
    ctt.accelerate(False)
    ctt._switches.clear()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.uint8, torch.complex64], ids=str)
def test_accelerate_is_bit_for_bit_the_same(moved, dtype):
    x = unique((130, 210, 7), dtype)
    image = unique((4, 3, 90, 80), dtype)
    calls = {
        "contiguous": lambda: x.permute(2, 0, 1).contiguous(),
        "clone": lambda: x.transpose(0, 1).clone(memory_format=torch.contiguous_format),
        "channels last": lambda: image.contiguous(memory_format=torch.channels_last),
        "and back": lambda: image.contiguous(memory_format=torch.channels_last).contiguous(),
        "reshape": lambda: x.permute(1, 2, 0).reshape(-1),
        "copy_": lambda: torch.empty(7, 210, 130, dtype=dtype).copy_(x.permute(2, 1, 0)),
        "into a slice": lambda: torch.zeros(9, 210, 130, dtype=dtype)[1:8].copy_(x.permute(2, 1, 0)),
    }
    wanted = {name: call() for name, call in calls.items()}
    assert moved() == 0
    with ctt.accelerate(devices=("cpu",)):
        for name, call in calls.items():
            moved()
            found = call()
            assert moved() >= 1, name
            assert same_bits(found, wanted[name]) and found.stride() == wanted[name].stride(), name
    moved()
    calls["contiguous"]()
    assert moved() == 0


def test_accelerate_leaves_the_rest_alone(moved):
    x = unique((300, 200))
    conjugate = torch.randn(300, 200, dtype=torch.complex64).conj()
    same = torch.randn(200, 200)
    with ctt.accelerate(devices=("cpu",)):
        for call, wanted in [
            (lambda: x.clone(), x),
            (lambda: x[:, :100].contiguous(), x[:, :100]),
            (lambda: x.t().clone(), x.t()),
            (lambda: x[:8, :8].t().contiguous(), x[:8, :8].t()),
            (lambda: x[0].expand(300, 200).contiguous(), x[0].expand(300, 200)),
            (lambda: x.t().to(torch.float64), x.t().double()),
            (lambda: torch.empty(200, 300, dtype=torch.float64).copy_(x.t()), x.t().double()),
            (lambda: torch.empty(2, 200, 300).copy_(x.t()), x.t().expand(2, 200, 300)),
            (lambda: conjugate.t().contiguous(), conjugate.t()),
            (lambda: same.clone().copy_(same), same),
        ]:
            moved()
            found = call()
            assert moved() == 0
            assert torch.equal(found, wanted)


def test_accelerate_leaves_views_that_it_might_slow_down(moved):
    """The elements of src, or of dst, are a step apart."""
    bytes_, floats = unique((900, 1200), torch.uint8), unique((900, 1200))
    with ctt.accelerate(devices=("cpu",)):
        for x, takes in [(bytes_[:, ::2], 1), (bytes_[::3], 1), (unique((9000, 120), torch.uint8)[:, ::6], 0), (floats[:, ::2], 0),
                         (floats.view(torch.int16)[:, ::2], 1)]:
            wanted = x.clone().numpy().T
            moved()
            found = x.t().contiguous()
            assert moved() == takes, x.shape
            assert (found.numpy() == wanted).all()
        apart = torch.zeros(1200, 1800, dtype=torch.uint8)
        moved()
        apart[:, ::2].copy_(bytes_.t())
        assert moved() == 0
        assert torch.equal(apart[:, ::2], bytes_.t()) and not apart[:, 1::2].any()


def test_accelerate_where_memory_is_shared(moved):
    with ctt.accelerate(devices=("cpu",)):
        x = torch.randn(200, 200)
        with pytest.raises(RuntimeError, match="refer to a single memory location"):  # PyTorch's own sentence
            x.copy_(x.t())
    assert moved() == 0


def test_accelerate_knows_wrapped_numbers(moved):
    """A number that PyTorch converted to a tensor reaches a Python kernel as a number."""
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    with ctt.accelerate(devices=("cpu",)):
        (x.mean() / 3).backward()
        assert torch.equal(x.grad, torch.full((3, 4), 1 / 12 / 3, dtype=torch.float64))
        for value in (True, 2**40 + 1, 1 / 3, 1j / 3):
            out = torch.empty(3, dtype=torch.complex128)
            out[:] = value
            assert out.tolist() == [value] * 3


def test_accelerate_in_backward(moved):
    def train():
        torch.manual_seed(1)
        weight = torch.randn(256, 128, requires_grad=True)
        x = torch.randn(64, 128)
        loss = (weight.t().contiguous()[None] * x[:, :, None]).permute(2, 0, 1).contiguous().square().mean()
        loss.backward()
        return loss.detach(), weight.grad

    plain = train()
    with ctt.accelerate(devices=("cpu",)):
        fast = train()
    assert moved() >= 3
    assert all(same_bits(a, b) for a, b in zip(plain, fast, strict=True))


def test_accelerate_switches(moved):
    x = torch.randn(300, 200)

    def is_on():
        moved()
        x.t().contiguous()
        return moved() == 1

    assert not is_on()
    ctt.accelerate(devices=("cpu",))
    assert is_on()
    with ctt.accelerate(False):
        assert not is_on()
        with ctt.accelerate(devices=("cpu",)):
            assert is_on()
        assert not is_on()
    assert is_on()
    ctt.accelerate(False)
    assert not is_on()


def test_accelerate_counts_blocks(moved):
    """Blocks that are repeated, nested, overlapping and in several threads."""
    import threading
    x = torch.randn(300, 200)

    def is_on():
        moved()
        x.t().contiguous()
        return moved() == 1

    block = ctt.accelerate(devices=("cpu",))
    for _ in range(3):
        with block:
            assert is_on()
            with block:
                assert is_on()
            assert is_on()
        assert not is_on()
    entered, second_entered, first_left = (threading.Event() for _ in range(3))
    found = []

    def first():
        with ctt.accelerate(devices=("cpu",)):
            entered.set()
            second_entered.wait()
        first_left.set()

    def second():
        entered.wait()
        with ctt.accelerate(devices=("cpu",)):
            second_entered.set()
            first_left.wait()
            found.append(is_on())

    threads = [threading.Thread(target=one) for one in (first, second)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [True] and not is_on() and not ctt._installed
    for _ in range(50):
        ctt.accelerate(devices=("cpu",))
        ctt.accelerate(False)
    assert len(ctt._switches) <= 3


NUMBERS = (0, 1, -1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 0.1, 1e300, float("inf"), True, 1j, -0.0)


def test_accelerate_takes_numbers_as_pytorch_does(moved):
    kinds = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.uint16, torch.int32, torch.int64, torch.uint64, torch.float16,
             torch.float32, torch.float64, torch.complex64, torch.complex128)

    def results():
        for kind in kinds:
            for number in NUMBERS:
                for write in (lambda x, n: x.copy_(n), lambda x, n: x.__setitem__(0, n), lambda x, n: x.__setitem__(..., n)):
                    x = torch.zeros(3, dtype=kind)
                    try:
                        write(x, number)
                    except Exception as found:
                        yield type(found), str(found)
                    else:
                        yield str(x)

    plain = list(results())
    with ctt.accelerate(devices=("cpu",)):
        assert list(results()) == plain


def test_accelerate_leaves_lazy_clones_shared(moved):
    base = torch.randn(300, 300)
    with ctt.accelerate(devices=("cpu",)):
        lazy = torch._lazy_clone(base)
        assert torch.equal(lazy.t().contiguous(), base.t()) and moved() >= 1
        assert torch._C._is_cow_tensor(lazy)
        lazy.copy_(base.t())
        assert not torch.equal(base, base.t())


def in_a_process(code):
    import subprocess
    import sys
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert found.returncode == 0 and "terminate" not in found.stderr, (found.returncode, found.stderr[-2000:])
    return found.stdout


def test_accelerate_is_toggled_beside_copying_threads():
    assert "ok" in in_a_process("""
import threading, torch, cornerturn.torch as ctt
stop = False
x = torch.randn(300, 300)
wanted, wrong = x.t().clone(), []
def work():
    while not stop:
        if not torch.equal(x.t().contiguous(), wanted): wrong.append(1)
threads = [threading.Thread(target=work) for _ in range(8)]
for one in threads: one.start()
for n in range(1000):
    with ctt.accelerate(devices=("cpu",)): pass
stop = True
for one in threads: one.join()
assert not wrong
print("ok")
""")


def test_the_process_ends_while_threads_copy():
    for _ in range(3):
        in_a_process("""
import threading, time, torch, cornerturn.torch as ctt
ctt.accelerate(devices=("cpu",))
w = torch.randn(256, 256, requires_grad=True)
def work():
    while True: (w.t().contiguous() * 2).sum().backward()
for _ in range(3): threading.Thread(target=lambda: [torch.randn(300, 300).t().contiguous() for _ in range(50)]).start()
""")


def test_another_library_that_goes_away():
    in_a_process("""
import torch, cornerturn.torch as ctt
library = torch.library.Library("aten", "IMPL")
kernel = torch.library.get_kernel(torch.ops.aten.copy_.default, "CPU")
library.impl("copy_", lambda keys, dst, src, nb=False: kernel.call_boxed(keys, dst, src, nb), "CPU", with_keyset=True)
ctt.accelerate(devices=("cpu",))
library._destroy()
x = torch.randn(2, 2)
assert torch.equal(x.t().contiguous(), x.t())
ctt.accelerate(False)
assert torch.equal(x.t().contiguous(), x.t())
""")


def test_another_library_comes_later_and_goes_away():
    in_a_process("""
import torch, cornerturn.torch as ctt
x = torch.randn(300, 200)
def check():
    y = torch.zeros(200, 300)
    y.copy_(x.t())
    assert torch.equal(y, x.t())
def theirs(self, src, non_blocking=False):
    self.numpy()[...] = src.numpy()
    return self
with ctt.accelerate(devices=("cpu",)):
    check()
    library = torch.library.Library("aten", "IMPL")
    library.impl("copy_", theirs, "CPU")
    check()
    library._destroy()
    check()
check()
""")


# ---- random programs; CORNERTURN_RANDOM_PROGRAMS sets their number ----

PROGRAMS = int(os.environ.get("CORNERTURN_RANDOM_PROGRAMS", "30"))
KINDS = [torch.float32, torch.float64, torch.bfloat16, torch.complex64, torch.int32, torch.uint8, torch.bool]


def shuffled(chosen, x):
    return x.permute(chosen.sample(range(x.ndim), x.ndim))


def strided(chosen, x):
    at = chosen.randrange(x.ndim)
    return x[(slice(None),) * at + (slice(chosen.randint(0, 1), None, chosen.randint(1, 2)),)]


def reshaped(chosen, x):
    at = chosen.randrange(x.ndim - 1)
    return x.reshape(*x.shape[:at], -1, *x.shape[at + 2:])


def written(chosen, x):
    y = shuffled(chosen, torch.zeros_like(x))
    return y.copy_(x.detach().permute(sorted(range(x.ndim), key=lambda k: -x.shape[k])).reshape(y.shape), non_blocking=chosen.random() < 0.3)


def written_in_part(chosen, x):
    y = x.new_zeros([n + 2 for n in x.shape])
    part = y[tuple(slice(1, n + 1) for n in x.shape)]
    part[...] = x
    return y


def written_as(chosen, x):
    return torch.empty_like(x, dtype=chosen.choice(KINDS[:3]) if not x.is_complex() else torch.complex128).copy_(x)


STEPS = [
    shuffled, strided, reshaped, written, written_in_part, written_as,
    lambda chosen, x: shuffled(chosen, x).contiguous(), lambda chosen, x: shuffled(chosen, x).contiguous(),
    lambda chosen, x: shuffled(chosen, x).clone(memory_format=torch.contiguous_format), lambda chosen, x: x.clone(),
    lambda chosen, x: x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x.mT.contiguous(),
    lambda chosen, x: x.conj(), lambda chosen, x: x.flip(0), lambda chosen, x: x + x, lambda chosen, x: x[None].expand(2, *x.shape)[1],
    lambda chosen, x: torch.cat([x, x.contiguous()], 0), lambda chosen, x: x.detach(), lambda chosen, x: torch.stack([x.mT, x.mT])[0],
]


def results(seed):
    """Run a program; return its arrays with their gradients, strides and version counters."""
    chosen = random.Random(seed)
    torch.manual_seed(seed)
    kind = chosen.choice(KINDS)
    shape = chosen.choice([(150, 140), (33, 17, 40), (5, 7, 30, 31), (3, 4, 5, 6, 70), (40, 50)])
    leaf = (torch.randn(shape) * 50).to(kind)
    if chosen.random() < 0.6 and (kind.is_floating_point or kind.is_complex):
        leaf.requires_grad_()
    made, x = [leaf], leaf
    for _ in range(chosen.randint(2, 7)):
        step = chosen.choice(STEPS)
        if x.ndim < 2 or x.numel() > 1 << 18:
            break
        try:
            x = step(chosen, x)
        except (RuntimeError, TypeError) as refusal:
            made.append(torch.tensor([ord(one) for one in f"{type(refusal)} {refusal}"[:200]]))
            break
        made.append(x)
    if x.requires_grad:
        (x * x.detach()).sum().abs().backward()
        made.append(leaf.grad)
    return [(one, one.stride(), one._version, one.is_conj()) for one in made]


@pytest.mark.filterwarnings("ignore")
def test_random_programs(moved):
    used = 0
    for seed in range(PROGRAMS):
        wanted = results(seed)
        moved()
        with ctt.accelerate(devices=("cpu",)):
            found = results(seed)
        used += moved() > 0
        assert len(found) == len(wanted), seed
        for (a, *rest), (b, *other) in zip(found, wanted, strict=True):
            assert rest == other and same_bits(a, b), seed
    assert used > PROGRAMS // 5


def test_example(capsys):
    """A vision transformer trains to equal bits with and without accelerate."""
    file = pathlib.Path(__file__).resolve().parents[2] / "python" / "examples" / "vision_transformer.py"
    spec = importlib.util.spec_from_file_location("vision_transformer", file)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    assert example.main(["--device", "cpu", "--steps", "1", "--batch", "4", "--size", "64"]) == 0
    assert "losses and weights: bitwise equal" in capsys.readouterr().out
