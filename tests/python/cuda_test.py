"""On a GPU: every framework's arrays, streams raced on purpose, graphs, autograd and accelerate. tools/gpu_check runs it."""
import numpy as np
import pytest
from conftest import cuda_of, random_axes, same_bits, unique

import cornerturn as ct

pytestmark = pytest.mark.cuda

CYCLES = 400_000_000  # for torch.cuda._sleep: at least a fifth of a second
DTYPES = ["bool", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128", "float8_e4m3fn", "float8_e5m2"]
SHAPES = [((3, 5), (1, 0)), ((1000, 1300), (1, 0)), ((4, 33, 65, 7), (0, 2, 3, 1)), ((0, 4), (1, 0)), ((2, 3, 4, 5, 6), (4, 2, 0, 3, 1))]


@pytest.fixture
def torch():
    return cuda_of("torch")


@pytest.fixture
def cupy():
    return cuda_of("cupy")


@pytest.fixture
def jax():
    found = cuda_of("jax")
    if found.default_backend() != "gpu":
        pytest.skip("JAX sees no GPU")
    return found


def bits(torch, x):
    packed = x.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    return packed.reshape(-1).view(torch.uint8) if x.numel() else packed


def random_tensor(torch, shape, dtype="float32"):
    kind = getattr(torch, dtype)
    size = torch.empty(0, dtype=kind).element_size()
    raw = torch.randint(0, 2 if dtype == "bool" else 256, (torch.Size(shape).numel() * size,), device="cuda").to(torch.uint8)
    return raw.view(kind).reshape(shape)


# ---- PyTorch ----

@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape,axes", SHAPES)
def test_torch(torch, dtype, shape, axes):
    x = random_tensor(torch, shape, dtype)
    y = ct.permute_dims(x, axes)
    assert y.is_contiguous() and y.device == x.device and y.shape == x.permute(axes).shape
    assert torch.equal(bits(torch, y), bits(torch, x.permute(axes)))
    out = torch.zeros_like(y)
    assert ct.permute_dims(x, axes, out=out) is out
    assert torch.equal(bits(torch, out), bits(torch, y))


@pytest.mark.parametrize("seed", range(20))
def test_torch_views(torch, seed):
    shape = [1 + (seed * 7 + k * 5) % 13 for k in range(1 + seed % 5)]
    x = random_tensor(torch, [3 * n for n in shape])[tuple(slice(k % 2, None, 3) for k in range(len(shape)))]
    x = x.permute(random_axes(x.ndim, seed + 50))
    axes = random_axes(x.ndim, seed)
    assert torch.equal(bits(torch, ct.permute_dims(x, axes)), bits(torch, x.permute(axes)))
    wide = torch.zeros([2 * n for n in x.permute(axes).shape], device="cuda")
    ct.permute_dims(x, axes, out=wide[tuple(slice(None, None, 2) for _ in axes)])
    assert torch.equal(bits(torch, wide[tuple(slice(None, None, 2) for _ in axes)]), bits(torch, x.permute(axes)))
    assert wide.count_nonzero() <= x.numel()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (1000, 1000), (4, 33, 33), (0, 4), (1, 9), (30, 40), (3, 700, 50), (5003, 2003)])
def test_torch_in_place(torch, dtype, shape):
    x = random_tensor(torch, shape, dtype)
    wanted, at = bits(torch, x.transpose(-1, -2)), x.data_ptr()
    y = ct.transpose_inplace_(x)
    assert y.data_ptr() == at and y.shape == (*shape[:-2], shape[-1], shape[-2]) and torch.equal(bits(torch, y), wanted)
    assert (y is x) == (shape[-1] == shape[-2])


def test_torch_in_place_of_any_strides(torch):
    whole = random_tensor(torch, (3, 400, 5, 300))
    x = whole.permute(0, 2, 3, 1)[..., ::2, :300:2]
    before, wanted = whole.clone(), x.transpose(-1, -2).clone()
    assert ct.transpose_inplace_(x) is x and torch.equal(bits(torch, x), bits(torch, wanted))
    x.copy_(wanted.transpose(-1, -2))
    assert torch.equal(bits(torch, whole), bits(torch, before))


def late_values(torch, stream):
    """x on the GPU, which gets its values in `stream` after a long kernel, and these values."""
    old = torch.zeros(512, 768, device="cuda")
    ct.matrix_transpose(old)  # so that first-use work is done
    values = torch.rand(512, 768, device="cuda") + 1
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(CYCLES)
        old.copy_(values)
    return old, values


def test_waits_for_the_current_stream(torch):
    side = torch.cuda.Stream()
    x, values = late_values(torch, side)
    with torch.cuda.stream(side):
        y = ct.matrix_transpose(x)
        wanted = values.t().contiguous()
    assert not side.query()  # the call did not wait for the GPU
    side.synchronize()
    assert torch.equal(y, wanted)


@pytest.mark.parametrize("as_number", [False, True])
def test_runs_on_the_stream_that_is_given(torch, as_number):
    side = torch.cuda.Stream()
    out = torch.zeros(768, 512, device="cuda")
    ct.matrix_transpose(torch.zeros(512, 768, device="cuda"), stream=side)  # so that first-use work is done
    torch.cuda.synchronize()
    x, values = late_values(torch, side)
    y = ct.matrix_transpose(x, stream=side.cuda_stream if as_number else side)
    ct.matrix_transpose(x, out=out, stream=side)
    assert not side.query()
    side.synchronize()
    assert torch.equal(y, values.t()) and torch.equal(out, values.t())


@pytest.mark.parametrize("given", [False, True])
def test_in_place_follows_the_stream(torch, given):
    side = torch.cuda.Stream()
    ct.transpose_inplace_(torch.zeros(512, 512, device="cuda"))
    x, values = (whole[:, :512] for whole in late_values(torch, side))
    if given:
        ct.transpose_inplace_(x, stream=side)
    else:
        with torch.cuda.stream(side):
            ct.transpose_inplace_(x)
    assert not side.query()
    side.synchronize()
    assert torch.equal(x, values.t())


def test_another_stream_does_not_wait(torch):
    """The race itself: without it, the two tests above would prove nothing."""
    side, other = torch.cuda.Stream(), torch.cuda.Stream()
    x, values = late_values(torch, side)
    y = ct.matrix_transpose(x, stream=other)
    other.synchronize()
    assert not side.query()
    assert torch.count_nonzero(y) == 0
    side.synchronize()


def test_memory_is_not_handed_out_again_too_soon(torch):
    side = torch.cuda.Stream()
    x, values = late_values(torch, side)
    y = ct.matrix_transpose(x, stream=side)
    del x
    again = torch.full((512, 768), -1.0, device="cuda")  # on the current stream: the allocator may reuse x's memory
    torch.cuda.synchronize()
    assert torch.equal(y, values.t()) and bool((again == -1).all())


def test_torch_graph(torch):
    x = random_tensor(torch, (640, 480))
    ct.rearrange(x, "a b -> b a")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = ct.rearrange(x, "a b -> b a")
        z = ct.matrix_transpose(y.reshape(480, 20, 32))
    for seed in (1, 2):
        x.copy_(torch.rand(640, 480, generator=torch.Generator("cuda").manual_seed(seed), device="cuda"))
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(y, x.t()) and torch.equal(z, x.t().reshape(480, 20, 32).transpose(1, 2))


def test_torch_operator(torch):
    import cornerturn.torch as ctt
    x = random_tensor(torch, (30, 40, 5), "int32").float()
    torch.library.opcheck(torch.ops.cornerturn.permute_dims.default, (x.clone().requires_grad_(), [2, 0, 1]))
    torch.library.opcheck(torch.ops.cornerturn.permute_dims_out.default, (x, [2, 0, 1], x.new_empty(5, 30, 40)))
    compiled = torch.compile(lambda x: ctt.permute_dims(x * 2, (2, 0, 1)) + 1, fullgraph=True)
    assert torch.equal(compiled(x), (x * 2).permute(2, 0, 1) + 1)
    reduced = torch.compile(lambda x: ctt.permute_dims(x * 2, (2, 0, 1)) + 1, fullgraph=True, mode="reduce-overhead")
    for _ in range(3):
        assert torch.equal(reduced(x), (x * 2).permute(2, 0, 1) + 1)


def test_plan_on_the_gpu(torch):
    x = random_tensor(torch, (640, 480))
    plan = ct.plan(x)
    assert plan.kernel.startswith("gpu_") and plan.kernel in plan.explain()
    assert torch.equal(bits(torch, plan(x)), bits(torch, x.t()))


def test_two_places(torch):
    x = random_tensor(torch, (3, 4))
    with pytest.raises(ValueError, match="out is on cpu, but x is on cuda:0"):
        ct.matrix_transpose(x, out=torch.empty(4, 3))


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float32", "complex64"])
def test_accelerate(torch, dtype):
    import cornerturn.torch as ctt
    x = random_tensor(torch, (130, 210, 70), dtype)
    calls = [lambda: x.permute(2, 0, 1).contiguous(), lambda: x.transpose(0, 1).clone(memory_format=torch.contiguous_format),
             lambda: x[None].permute(0, 3, 1, 2).contiguous(memory_format=torch.contiguous_format),
             lambda: torch.empty_like(x).copy_(x), lambda: x.to(torch.float64 if not x.is_complex() else torch.complex128),
             lambda: x.cpu().cuda(), lambda: x.permute(1, 2, 0).reshape(-1), lambda: x[:, ::2].contiguous()]
    wanted = [call() for call in calls]
    with ctt.accelerate(), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        found = [call() for call in calls]
        torch.cuda.synchronize()
    assert all(torch.equal(bits(torch, a), bits(torch, b)) and a.stride() == b.stride()
               for a, b in zip(found, wanted, strict=True))
    if profile.key_averages():  # a machine may refuse access to its counters
        assert any("cornerturn" in one.key for one in profile.key_averages())


def test_accelerate_in_training(torch):
    """A small transformer: losses and weights must be equal bit by bit."""
    import cornerturn.torch as ctt

    def train():
        torch.manual_seed(3)
        torch.use_deterministic_algorithms(True, warn_only=True)
        model = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True), 2,
                                            enable_nested_tensor=False).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for step in range(5):
            x = torch.randn(16, 64, 128, device="cuda", generator=torch.Generator("cuda").manual_seed(step))
            loss = model(x.transpose(0, 1).contiguous().transpose(0, 1)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        torch.use_deterministic_algorithms(False)
        return [*losses, *(p.detach().clone() for p in model.parameters())]

    plain = train()
    with ctt.accelerate():
        fast = train()
    assert all(torch.equal(a, b) for a, b in zip(plain, fast, strict=True))


def test_accelerate_follows_streams_and_graphs(torch):
    import cornerturn.torch as ctt
    with ctt.accelerate():
        side = torch.cuda.Stream()
        x, values = late_values(torch, side)
        with torch.cuda.stream(side):
            y = x.t().contiguous()
        side.synchronize()
        assert torch.equal(y, values.t())
        x.t().contiguous()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x.t().contiguous()
        x.fill_(5)
        graph.replay()
        torch.cuda.synchronize()
        assert bool((y == 5).all())


def test_torch_arithmetic(torch):
    x = torch.rand(300, 500, device="cuda") - 0.5
    assert torch.equal(ct.matrix_transpose(x, alpha=0.25), 0.25 * x.t())
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        assert torch.equal(ct.matrix_transpose(x, dtype=dtype), x.t().to(dtype))
    for scale in (2, torch.tensor([2.0], device="cuda")):
        found = ct.matrix_transpose(x, dtype=torch.float8_e4m3fn, scale=scale)
        assert torch.equal(bits(torch, found), bits(torch, (2 * x.t()).to(torch.float8_e4m3fn)))
    second, out = torch.rand(500, 300, device="cuda"), torch.rand(500, 300, device="cuda")
    assert torch.allclose(ct.matrix_transpose(x, alpha=2, beta=-3, second=second), 2 * x.t() - 3 * second)
    wanted = x.t() + 3 * out
    assert ct.matrix_transpose(x, beta=3, out=out) is out and torch.allclose(out, wanted)
    z = torch.view_as_complex(torch.rand(30, 40, 2, device="cuda"))
    assert torch.equal(ct.matrix_transpose(z, conj=True), z.mH)
    with pytest.raises(ValueError, match="second is on cpu, but x is on cuda:0"):
        ct.matrix_transpose(x, beta=1, second=second.cpu())


@pytest.mark.parametrize("given", [False, True])
def test_torch_arithmetic_follows_the_stream(torch, given):
    side = torch.cuda.Stream()
    ct.matrix_transpose(torch.zeros(512, 768, device="cuda"), alpha=2)  # so that first-use work is done
    x, values = late_values(torch, side)
    if given:
        y = ct.matrix_transpose(x, alpha=2, stream=side)
    else:
        with torch.cuda.stream(side):
            y = ct.matrix_transpose(x, alpha=2)
    assert not side.query()
    side.synchronize()
    assert torch.equal(y, 2 * values.t())


@pytest.mark.parametrize("given", [False, True])
def test_torch_batch(torch, given):
    side = torch.cuda.Stream()
    late, values = late_values(torch, side)
    xs = [random_tensor(torch, (20 + k, 3 * k, 5), dtype) for k, dtype in enumerate(["uint8", "float32", "bfloat16"] * 7)]
    torch.cuda.current_stream().synchronize()
    batch = ct.batch([late[:, None], *xs], (2, 0, 1))
    if given:
        outs = batch(stream=side)
    else:
        with torch.cuda.stream(side):
            outs = batch()
    side.synchronize()
    assert torch.equal(outs[0], values[:, None].permute(2, 0, 1))
    assert all(torch.equal(bits(torch, y), bits(torch, x.permute(2, 0, 1))) for x, y in zip(xs, outs[1:], strict=True))
    with pytest.raises(ValueError, match="item 1: x is on another device than item 0"):
        ct.batch([xs[0], xs[1].cpu()])


def test_torch_batch_looks_at_its_tensors_again(torch):
    for change in (lambda x: setattr(x, "data", torch.ones(3, 4, device="cuda")), lambda x: x.set_(),
                   lambda x: x.untyped_storage().resize_(0), lambda x: x.untyped_storage().resize_(64), lambda x: x.t_()):
        for which in (0, 1):
            arrays = random_tensor(torch, (300, 400)), torch.zeros(400, 300, device="cuda")
            batch = ct.batch([random_tensor(torch, (3, 4)), arrays[0]], out=[torch.zeros(4, 3, device="cuda"), arrays[1]])
            batch()
            change(arrays[which])
            with pytest.raises(ValueError, match="^item 1: "):
                batch()
            torch.cuda.synchronize()


def test_torch_graph_keeps_its_batch(torch):
    """A graph replays the tables and the addresses of a batch that the program dropped."""
    xs = [random_tensor(torch, (20 + k, 30), "int32") for k in range(50)]
    values = [x.clone() for x in xs]
    batch = ct.batch(xs)
    outs = batch()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        batch()
    del batch, xs
    others = [torch.full((1 << 20,), -1.0, device="cuda") for _ in range(20)]  # would get the freed memory
    for y in outs:
        y.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert all(torch.equal(y, x.t()) for x, y in zip(values, outs, strict=True))
    assert all(bool((one == -1).all()) for one in others)


class Interface:
    """A tensor's memory by __cuda_array_interface__ alone, as for Numba's arrays."""

    def __init__(self, tensor, stream=None):
        self.tensor, self.shape = tensor, tuple(tensor.shape)
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, "stream": stream}


def test_cuda_array_interface_refuses(torch):
    x, out = random_tensor(torch, (300, 500)), torch.zeros(500, 300, device="cuda")
    for change, sentence in (({"data": (out.data_ptr(), True)}, "out is read-only"), ({"typestr": "<i4"}, "different element types"),
                             ({"typestr": "|V4"}, "different element types"), ({"typestr": ">f4"}, "different element types")):
        target = Interface(out)
        target.__cuda_array_interface__.update(change)
        with pytest.raises(ValueError, match=sentence):
            ct.matrix_transpose(Interface(x), out=target)
    torch.cuda.synchronize()
    assert not out.any()


def test_cuda_array_interface(torch):
    x, out = random_tensor(torch, (300, 500)), torch.zeros(500, 300, device="cuda")
    torch.cuda.synchronize()
    ct.matrix_transpose(Interface(x[:, ::2]), out=Interface(out[::2]))
    torch.cuda.synchronize()
    assert torch.equal(bits(torch, out[::2]), bits(torch, x[:, ::2].t())) and torch.count_nonzero(out[1::2]) == 0


def test_cuda_array_interface_names_its_stream(torch):
    side = torch.cuda.Stream()
    x, values = late_values(torch, side)
    out = torch.zeros(768, 512, device="cuda")
    torch.cuda.current_stream().synchronize()
    ct.matrix_transpose(Interface(x, side.cuda_stream), out=Interface(out))
    side.synchronize()
    assert torch.equal(out, values.t())


# ---- CuPy ----

@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape,axes", SHAPES)
def test_cupy(cupy, dtype, shape, axes):
    host = unique(shape, dtype)
    x = cupy.asarray(host)
    y = ct.permute_dims(x, axes)
    assert isinstance(y, cupy.ndarray) and y.flags.c_contiguous
    assert same_bits(y.get(), np.ascontiguousarray(host.transpose(axes)).reshape(y.shape))
    out = cupy.zeros((*y.shape, 2), dtype)[..., 0]
    assert ct.permute_dims(x[::-1], axes, out=out) is out
    assert same_bits(out.get(), np.ascontiguousarray(host[::-1].transpose(axes)).reshape(y.shape))


def test_cupy_in_place(cupy):
    host = unique((4, 300, 300), "c8")
    for stream in (None, cupy.cuda.Stream(non_blocking=True)):
        x = cupy.asarray(host)
        cupy.cuda.Device().synchronize()
        assert ct.transpose_inplace_(x, stream=stream) is x
        cupy.cuda.Device().synchronize()
        assert same_bits(x.get(), np.ascontiguousarray(host.swapaxes(1, 2)))
    y = ct.transpose_inplace_(x[:, :200].copy())
    cupy.cuda.Device().synchronize()
    assert same_bits(y.get(), np.ascontiguousarray(x.get()[:, :200].swapaxes(1, 2)))


def test_cupy_streams(cupy):
    wait = cupy.RawKernel(r"""
extern "C" __global__ void wait(long long cycles) { const long long begin = clock64(); while (clock64() - begin < cycles); }
""", "wait")
    wait((1,), (1,), (np.int64(1000),))
    values = cupy.random.rand(512, 768)
    for given in (False, True):
        x = cupy.zeros((512, 768))
        side = cupy.cuda.Stream(non_blocking=True)
        cupy.cuda.Device().synchronize()
        with side:
            wait((1,), (1,), (np.int64(CYCLES),))
            x[...] = values
            if not given:
                y = ct.matrix_transpose(x)
        if given:
            y = ct.matrix_transpose(x, stream=side)
        side.synchronize()
        assert cupy.array_equal(y, values.T)


def test_cupy_arithmetic_and_batches(cupy):
    host = np.random.default_rng(1).random((300, 500), "f4")
    x = cupy.asarray(host)
    for stream in (None, cupy.cuda.Stream(non_blocking=True)):
        cupy.cuda.Device().synchronize()
        y = ct.matrix_transpose(x, alpha=0.5, dtype="f2", stream=stream)
        z = ct.matrix_transpose(x, beta=2, second=cupy.asarray(host.T.copy()))
        images = [x[:k + 3, :50 + k] for k in range(20)]
        batch = ct.batch(images, "h w -> w h")
        outs = batch(stream=stream)
        cupy.cuda.Device().synchronize()
        assert y.dtype == np.float16 and np.array_equal(y.get(), (np.float32(0.5) * host.T).astype("f2"))
        assert np.allclose(z.get(), 3 * host.T)
        assert all(np.array_equal(a.get(), b.get().T) for a, b in zip(outs, images, strict=True))


def twice_and(a, b):  # cupy.fuse names its kernel after the function
    return a * 2 + b


def test_cupy_accelerate(cupy, monkeypatch):
    """Every way to copy a permuted array goes through cornerturn, with equal bits and strides."""
    import cornerturn.cupy as ctc
    taken = []
    real = ct._core._copy_permuted_memory
    monkeypatch.setattr(ct._core, "_copy_permuted_memory", lambda *how: taken.append(real(*how)) or taken[-1])
    x = cupy.asarray(unique((130, 210, 70), "f4"))

    def assigned():
        y = cupy.zeros((70, 130, 210), "f4")
        y[...] = x.transpose(2, 0, 1)
        return y

    calls = {
        "ascontiguousarray": lambda: cupy.ascontiguousarray(x.transpose(2, 0, 1)),
        "copy": lambda: x.transpose(1, 0, 2).copy(),
        "astype": lambda: x.transpose(2, 1, 0).astype("f4", order="C"),
        "array": lambda: cupy.array(x.T, order="C"),
        "reshape": lambda: x.transpose(1, 2, 0).reshape(-1),
        "ravel": lambda: x.transpose(1, 2, 0).ravel(),
        "assignment": assigned,
        "asfortranarray": lambda: cupy.asfortranarray(x),
    }
    wanted = {name: call() for name, call in calls.items()}
    assert not taken
    with ctc.accelerate():
        for name, call in calls.items():
            taken.clear()
            found = call()
            assert taken == [True], name
            assert found.strides == wanted[name].strides and same_bits(found.get(), wanted[name].get()), name
        taken.clear()
        for call in (lambda: x.copy(), lambda: x[:, ::2].copy(), lambda: x.T.astype("f8"), lambda: x[:4, :4].T.copy()):
            found, again = call(), call()
            assert not any(taken)
            assert same_bits(found.get(), again.get())  # get() may copy a permuted array
            taken.clear()
        assert cupy.array_equal(cupy.fuse()(twice_and)(x, x), 3 * x, equal_nan=True)
        side = cupy.cuda.Stream(non_blocking=True)
        with side:
            y = x.transpose(2, 0, 1).copy()
        side.synchronize()
        assert same_bits(y.get(), x.transpose(2, 0, 1).get())
    taken.clear()
    calls["copy"]()
    assert not taken


def test_cupy_refuses(cupy):
    x = cupy.zeros((3, 4))
    with pytest.raises(TypeError, match="out is a numpy.ndarray, but x is a cupy.ndarray"):
        ct.matrix_transpose(x, out=np.zeros((4, 3)))
    with pytest.raises(ValueError, match="out has dtype float32, but x has float64"):
        ct.matrix_transpose(x, out=cupy.zeros((4, 3), "f4"))


# ---- JAX ----

@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "bfloat16", "float32", "complex64", "float8_e4m3fn"])
@pytest.mark.parametrize("shape,axes", SHAPES)
def test_jax(jax, dtype, shape, axes):
    jnp = jax.numpy
    x = jnp.asarray(unique(shape, jnp.dtype(dtype)))
    assert same_bits(np.asarray(ct.permute_dims(x, axes)), np.asarray(jnp.transpose(x, axes)))


def test_jax_transformations(jax):
    import cornerturn.jax as ctj
    jnp = jax.numpy
    x = jax.random.uniform(jax.random.key(1), (6, 300, 200))
    step = jax.jit(lambda x: ctj.permute_dims(jnp.sin(x), (2, 0, 1)) + 1)
    for _ in range(3):  # the third is from a command buffer, where XLA makes one
        assert jnp.array_equal(step(x), jnp.transpose(jnp.sin(x), (2, 0, 1)) + 1)
    assert jnp.array_equal(jax.jit(jax.vmap(ctj.matrix_transpose, in_axes=1))(x), jnp.transpose(x, (1, 2, 0)))
    weight = jax.random.uniform(jax.random.key(2), (200, 6, 300))
    gradient = jax.grad(lambda x: (ctj.permute_dims(x, (2, 0, 1)) * weight).sum())(x)
    assert jnp.array_equal(gradient, weight.transpose(1, 2, 0))
