"""JAX on the CPU: eager, jit, vmap, grad and their compositions against jax.numpy.transpose."""
import numpy as np
import pytest
from conftest import random_axes
from hypothesis import given, settings
from hypothesis import strategies as st

import cornerturn as ct

jax = pytest.importorskip("jax")
jnp = jax.numpy
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
    assert ct.plan(x).kernel.startswith("cpu_" if on_cpu else "cuda_")
    assert not on_cpu or ct.plan(x).kernel == ct.plan(np.asarray(x)).kernel


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
    (lambda x: ct.plan(x)(x), TypeError, "plan is given, but x is a JAX array"),
    (lambda x: ctj.matrix_transpose(x.astype("int4")), TypeError, "x has dtype int4. Wanted: elements of whole bytes"),
    (lambda x: ctj.matrix_transpose(jax.random.split(jax.random.key(0), 4).reshape(2, 2)), TypeError, "x has dtype key"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_refuses_with_a_sentence(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call(unique((3, 4)))
