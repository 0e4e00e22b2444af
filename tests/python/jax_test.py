"""JAX on the CPU: eager, jit, vmap, grad and their compositions against jax.numpy.transpose."""
import numpy as np
import pytest
from conftest import random_axes
from hypothesis import given, settings
from hypothesis import strategies as st

import cornerturn as ct

jax = pytest.importorskip("jax")
jnp = jax.numpy
import jax_programs  # noqa: E402

import cornerturn.jax as ctj  # noqa: E402

DTYPES = ["bool", "uint8", "int16", "int32", "float16", "bfloat16", "float32", "complex64", "float8_e4m3fn", "float8_e5m2"]


def unique(shape, dtype="float32"):
    count = int(np.prod(shape))
    raw = (np.arange(count * 16, dtype=np.uint32) * 37 % 251).astype("u1")
    if dtype == "bool":
        raw %= 2
    return jnp.asarray(raw.view(jnp.dtype(dtype))[:count].reshape(shape))


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 5), (130, 257), (0, 4), (1, 9)])
def test_every_dtype(dtype, shape):
    x = unique(shape, dtype)
    y = ct.matrix_transpose(x)
    assert isinstance(y, jax.Array) and same_bits(y, x.T)


@settings(deadline=None, max_examples=40)
@given(shape=st.lists(st.integers(0, 6), max_size=5), seed=st.integers(0, 99))
def test_permutations(shape, seed):
    x = unique(shape)
    axes = random_axes(x.ndim, seed)
    assert same_bits(ct.permute_dims(x, axes), jnp.transpose(x, axes))
    assert same_bits(ctj.permute_dims(x, [k - x.ndim for k in axes]), jnp.transpose(x, axes))


def test_calls_the_library():
    x = unique((2, 3, 4))
    text = jax.jit(lambda x: ctj.permute_dims(x, (2, 0, 1))).lower(x).as_text()
    assert "cornerturn_permute_dims" in text and "stablehlo.transpose" not in text


def test_jit():
    x = unique((2, 3, 4), "int32")
    moved = jax.jit(lambda x: ct.rearrange(x * 2, "a b c -> c a b") + 1)
    assert same_bits(moved(x), jnp.transpose(x * 2, (2, 0, 1)) + 1)
    assert jax.eval_shape(ctj.matrix_transpose, x).shape == (2, 4, 3)


def test_patterns_that_split_and_join():
    x = unique((6, 4, 8), "float32")
    wanted = np.asarray(x).reshape(2, 3, 4, 8).transpose(1, 2, 0, 3).reshape(3, 8, 1, 8)
    for function in (ct.rearrange, ctj.rearrange):
        def call(x, function=function):
            return function(x, "(a b) c d -> b (c a) 1 d", a=2)
        assert same_bits(call(x), wanted) and same_bits(jax.jit(call)(x), wanted)
        assert same_bits(jax.vmap(lambda x, f=function: f(x, "(a b) c -> a (c b)", a=2))(x),
                         np.asarray(x).reshape(6, 2, 2, 8).transpose(0, 1, 3, 2).reshape(6, 2, 16))
        assert jax.grad(lambda x, f=function: f(x, "a (b c) d -> (d c) (a b)", b=2).sum())(x).shape == x.shape
        with pytest.raises(ValueError, match="Wanted: a multiple of 5"):
            function(x, "(a b) c d -> b (c a) 1 d", a=5)


@pytest.mark.parametrize("batch", [0, 1, 2, 3])
def test_vmap(batch):
    x = unique((2, 3, 4, 5))
    found = jax.vmap(lambda x: ctj.permute_dims(x, (2, 0, 1)), in_axes=batch)(x)
    assert same_bits(found, jnp.moveaxis(x, batch, 0).transpose(0, 3, 1, 2))
    twice = jax.jit(jax.vmap(jax.vmap(ctj.matrix_transpose, in_axes=1), in_axes=batch))(x)
    assert same_bits(twice, jnp.moveaxis(jnp.moveaxis(x, batch, 0), 2, 1).swapaxes(2, 3))


def test_grad():
    x = jnp.arange(24.0).reshape(2, 3, 4)
    weight = jnp.arange(24.0).reshape(4, 2, 3)

    def loss(x):
        return (ctj.permute_dims(x, (2, 0, 1)) ** 2 * weight).sum()

    assert jnp.array_equal(jax.grad(loss)(x), 2 * x * weight.transpose(1, 2, 0))
    assert jnp.array_equal(jax.jvp(ctj.matrix_transpose, (x,), (3 * x,))[1], 3 * x.swapaxes(1, 2))
    per_matrix = jax.vmap(jax.grad(lambda x: (ctj.matrix_transpose(x) ** 2).sum()))(x)
    assert jnp.array_equal(per_matrix, 2 * x)
    assert jax.hessian(lambda x: (ctj.matrix_transpose(x) ** 3).sum())(x[0]).shape == (3, 4, 3, 4)


def test_many_axes():
    x = unique((2,) * 20)
    axes = (*range(10, 20), *range(10))
    assert same_bits(ctj.permute_dims(x, axes), x.transpose(axes))
    assert same_bits(ct.permute_dims(x, axes), x.transpose(axes))


def test_explains():
    x = unique((30, 40))
    on_cpu = jax.default_backend() == "cpu"
    assert ct.plan(x).kernel.startswith("cpu_" if on_cpu else "gpu_")
    assert not on_cpu or ct.plan(x).kernel == ct.plan(np.asarray(x)).kernel


@pytest.mark.skipif(not hasattr(jnp, "float4_e2m1fn"), reason="this JAX has no such type")
def test_refuses_float4():
    with pytest.raises(TypeError, match="x has dtype float4_e2m1fn. Wanted: elements of whole bytes"):
        ctj.matrix_transpose(unique((3, 4)).astype("float4_e2m1fn"))


@pytest.mark.parametrize("seed", range(60))
def test_programs(seed):
    text, wanted, x = jax_programs.program(seed, jnp.transpose)
    _, found, _ = jax_programs.program(seed, ctj.permute_dims)
    assert jax_programs.same(found(x), wanted(x)), text


@pytest.mark.parametrize("transpose", [ct.matrix_transpose, ctj.matrix_transpose, lambda x: ct.plan(x)(x),
                                       lambda x: ct.rearrange(x, "a b -> b a"), lambda x: ctj.permute_dims(x, (-1, 0))])
def test_without_jit(transpose):
    x = unique((3, 5))
    with jax.disable_jit():
        assert same_bits(transpose(x), x.T)
        assert same_bits(jax.jit(transpose)(x), x.T)
        assert same_bits(jax.vmap(transpose)(x[None]), x.T[None])
        assert jax.config.jax_disable_jit
        weight = jnp.arange(15.0).reshape(5, 3)
        assert same_bits(jax.grad(lambda x: (transpose(x) * weight).sum())(jnp.zeros((3, 5))), weight.T)
    assert not jax.config.jax_disable_jit


def test_types():
    weak = jnp.asarray(2.0)
    assert weak.weak_type and ctj.permute_dims(weak, ()).weak_type
    x = unique((3, 5), "float16")
    for call in (ctj.matrix_transpose, ct.matrix_transpose):
        assert call(x).weak_type is False and call(x).sharding.is_equivalent_to(x.T.sharding, 2)
        shape = jax.eval_shape(call, x)
        assert (shape.shape, shape.dtype, shape.sharding) == ((5, 3), x.dtype, jax.eval_shape(jnp.matrix_transpose, x).sharding)


def test_plans_run():
    x = unique((3, 5, 7))
    for plan in (ct.plan(x, (2, 0, 1)), ct.plan(np.asarray(x), (2, 0, 1)), ct.plan(x, "a b c -> c a b")):
        wanted = x.transpose(2, 0, 1)
        assert plan.axes == (2, 0, 1)
        assert same_bits(plan(x), wanted) and isinstance(plan(x), jax.Array)
        assert same_bits(jax.jit(plan)(x + 1), wanted + 1)
        assert same_bits(jax.vmap(plan)(x[None]), wanted[None])
    assert plan(x.view("int32")).dtype == "int32"  # the layout counts, not the type

    def traced(x):
        plan = ct.plan(x, (2, 0, 1))
        assert plan.kernel and "7" in plan.explain()
        return plan(x)

    assert same_bits(jax.jit(traced)(x), wanted)
    assert same_bits(jax.vmap(traced)(x[None]), wanted[None])
    assert same_bits(jax.jvp(traced, (x,), (x + x,))[1], wanted + wanted)
    assert same_bits(jax.linearize(traced, x)[1](x), wanted)


def test_exports():
    export = pytest.importorskip("jax.export")
    x = unique((3, 5))
    made = export.export(jax.jit(lambda x: ctj.matrix_transpose(x) + 1))
    assert same_bits(made(x).call(x), x.T + 1)
    assert "@cornerturn" not in made(x).mlir_module()  # it runs where cornerturn is not installed
    rows, = export.symbolic_shape("rows")
    assert same_bits(made(jax.ShapeDtypeStruct((rows, 5), "float32")).call(x), x.T + 1)
    everywhere = export.export(jax.jit(ctj.matrix_transpose), platforms=("cpu", "cuda", "tpu"))
    assert everywhere(x).platforms == ("cpu", "cuda", "tpu") and same_bits(everywhere(x).call(x), x.T)


def test_many_axes_that_do_not_fold():
    x = unique((2,) * 17)
    axes = tuple(reversed(range(17)))
    assert same_bits(ctj.permute_dims(x, axes), x.transpose(axes))
    mapped = jax.vmap(lambda x: ctj.permute_dims(x, axes[1:]))
    assert same_bits(mapped(x), x.transpose(0, *axes[:-1]))
    for shape, axes, by_cornerturn in ((x.shape, axes, False), (x.shape, (*range(8, 17), *range(8)), True),
                                       (x.shape[1:], axes[1:], True), ((1, *x.shape[1:]), axes, True)):
        lowered = jax.jit(lambda x, axes=axes: ctj.permute_dims(x, axes)).lower(jnp.zeros(shape)).as_text()
        assert ("@cornerturn" in lowered) == by_cornerturn


def test_objects_with_an_array():
    class Holder:
        def __jax_array__(self):
            return unique((3, 5))
    assert same_bits(ctj.matrix_transpose(Holder()), unique((3, 5)).T)


def test_concatenation():
    x = unique((16, 24, 8))
    assert same_bits(jax.jit(lambda x: ctj.permute_dims(jnp.concatenate([x, x], 2), (2, 0, 1)))(x),
                     jnp.concatenate([x, x], 2).transpose(2, 0, 1))


def test_donates():
    x = jnp.arange(4096.0).reshape(64, 64)
    assert same_bits(jax.jit(ctj.matrix_transpose, donate_argnums=0)(x + 0), x.T)
    assert same_bits(jax.jit(lambda x: ctj.matrix_transpose(x) + x, donate_argnums=0)(x + 0), x.T + x)


def test_other_platforms():
    lowered = jax.jit(ctj.matrix_transpose).trace(unique((3, 5))).lower(lowering_platforms=("tpu",)).as_text()
    assert "stablehlo.transpose" in lowered and "custom_call" not in lowered


# The target is public: every program can call it, with any attributes.
@pytest.mark.parametrize("shape,axes,sentence", [
    ((4, 3), range(100_000), "axes has 100000 entries, but x has 2 axes. Wanted: one entry for each axis"),
    ((4, 3), [], "axes has 0 entries, but x has 2 axes"),
    ((4, 3), [57, 9_999_999], r"axes\[0\] is 57, wanted 0 to 1"),
    ((4, 3), [-1, 0], r"axes\[0\] is -1, wanted 0 to 1"),
    ((4, 3), [1, 2**32], r"axes\[1\] is 4294967296, wanted 0 to 1"),
    ((4, 3), [1, 1], r"axes\[1\] is 1, which repeats an axis"),
    ((1,), [1, 0], r"the result has shape \(1,\), wanted \(4, 3\)"),
    ((3, 4), [1, 0], r"the result has shape \(3, 4\), wanted \(4, 3\)"),
    ((4, 3, 1), [1, 0], r"the result has shape \(4, 3, 1\), wanted \(4, 3\)"),
])
@pytest.mark.parametrize("compiled", [True, False])
def test_target_refuses(shape, axes, sentence, compiled):
    def call(x):
        wanted = jax.ShapeDtypeStruct(shape, x.dtype)
        return jax.ffi.ffi_call("cornerturn_permute_dims", wanted)(x, axes=np.asarray(axes, np.int64))
    with pytest.raises(Exception, match="cornerturn: " + sentence):
        jax.block_until_ready((jax.jit(call) if compiled else call)(unique((3, 4))))


@pytest.mark.parametrize("x,wanted,sentence", [
    ("float32", "int32", "x and the result have different element types"),
    ("float32", "float64", "x and the result have different element types"),
    ("float32", "int8", "x and the result have different element types"),
    ("int4", "int4", "x has elements of an unknown size"),
    ("uint4", "uint8", "x has elements of an unknown size"),
])
def test_target_refuses_types(x, wanted, sentence):
    with jax.experimental.enable_x64() if hasattr(jax.experimental, "enable_x64") else jax.enable_x64(True):
        call = jax.ffi.ffi_call("cornerturn_permute_dims", jax.ShapeDtypeStruct((4, 3), jnp.dtype(wanted)))
        with pytest.raises(Exception, match="cornerturn: " + sentence):
            jax.block_until_ready(jax.jit(lambda x: call(x, axes=np.array([1, 0])))(jnp.ones((3, 4), x)))


def test_target_with_one_array_for_both():
    x = unique((3, 3))
    call = jax.ffi.ffi_call("cornerturn_permute_dims", jax.ShapeDtypeStruct((3, 3), jnp.float32), input_output_aliases={0: 0})
    try:
        assert same_bits(jax.jit(lambda x: call(x, axes=np.array([1, 0])))(x), x.T)  # XLA made a copy
    except Exception as found:
        assert "cornerturn: x and out share memory" in str(found)


@pytest.mark.parametrize("call,kind,sentence", [
    (lambda x: ctj.permute_dims(x, (1.5, 0)), TypeError, r"axes\[0\] is a float. Wanted: an integer"),
    (lambda x: ctj.permute_dims(x, "a b c -> c b a"), TypeError, "axes is a str. Wanted: a sequence of integers"),
    (lambda x: ctj.rearrange(x, (1, 0)), TypeError, "pattern is a tuple. Wanted: a str"),
    (lambda x: ctj.matrix_transpose(np.array([["a"]])), TypeError, "x is a numpy.ndarray of dtype <U1. Wanted: a dtype of JAX"),
    (lambda x: ctj.matrix_transpose([[1, 2]]), TypeError, "x is a list. Wanted: an array of JAX or NumPy"),
    (lambda x: ctj.permute_dims([[1, 2]], (1, 0)), TypeError, "x is a list. Wanted: an array of JAX or NumPy"),
    (lambda x: ctj.rearrange(None, "a b -> b a"), TypeError, "x is a NoneType"),
    (lambda x: ct.matrix_transpose(x, threads=2), TypeError, "threads is given, but x is a JAX array"),
    (lambda x: ct.matrix_transpose(x, alpha=2), TypeError, "Wanted: an array of NumPy, PyTorch or CuPy, for arithmetic"),
    (lambda x: ct.batch([x]), TypeError, "item 0: x is a .*Wanted: an array of NumPy, PyTorch or CuPy"),
    (lambda x: ctj.permute_dims(x, (0, 0)), ValueError, r"axes\[1\] is 0, which repeats an axis"),
    (lambda x: ctj.permute_dims(x, (0, -3)), ValueError, r"axes\[1\] is -3, wanted -2 to 1"),
    (lambda x: ctj.matrix_transpose(x[0]), ValueError, "x has 1 axis, wanted 2 or more"),
    (lambda x: ct.matrix_transpose(x, out=x), TypeError, "out is given, but x is a JAX array"),
    (lambda x: ct.matrix_transpose(x, stream=1), TypeError, "stream is given, but x is a JAX array"),
    (lambda x: ct.transpose_inplace_(x), TypeError, "x is a JAX array, which is immutable. Wanted: cornerturn.matrix"),
    (lambda x: jax.jit(ct.transpose_inplace_)(x), TypeError, "x is a JAX array, which is immutable"),
    (lambda x: ct.plan(x, threads=2), TypeError, "threads is given, but x is a JAX array"),
    (lambda x: ct.plan(x, kernel="cpu_reference"), TypeError, "kernel is given, but x is a JAX array"),
    (lambda x: ct.plan(x, out=x.T), TypeError, "out is given, but x is a JAX array"),
    (lambda x: ct.plan(np.ones((3, 4)), out=jnp.ones((4, 3))), TypeError, "out is a JAX array, which is immutable"),
    (lambda x: ct.plan(x)(x, out=x.T), TypeError, "out is given, but x is a JAX array"),
    (lambda x: ct.plan(x)(x.T), ValueError, r"the arrays do not fit the plan: x has shape \(4, 3\)"),
    (lambda x: ct.plan(x)(x.astype("int8")), ValueError, "the arrays do not fit the plan: .* elements of 1 byte"),
    (lambda x: ct.plan(x)(x[0]), ValueError, "axes has 2 entries, but x has 1 axis"),
    (lambda x: jax.jit(lambda x: ct.plan(x, (0, 0))(x))(x), ValueError, r"axes\[1\] is 0, which repeats an axis"),
    (lambda x: ct.plan(x.astype("int4")), TypeError, "x has dtype int4. Wanted: elements of whole bytes"),
    (lambda x: jax.jit(lambda x: ctj.matrix_transpose(x.astype("uint2")))(x), TypeError, "x has dtype uint2"),
    (lambda x: ctj.matrix_transpose(np.zeros((2, 3), jax.dtypes.float0)), TypeError, "x has dtype .*float0"),
    (lambda x: ctj.matrix_transpose(jax.ShapeDtypeStruct((3, 4), "float32")), TypeError, "x is a .*ShapeDtypeStruct"),
    (lambda x: ctj.matrix_transpose(x.astype("int4")), TypeError, "x has dtype int4. Wanted: elements of whole bytes"),
    (lambda x: ctj.matrix_transpose(jax.random.split(jax.random.key(0), 4).reshape(2, 2)), TypeError, "x has dtype key"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_refuses_with_a_sentence(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call(unique((3, 4)))
