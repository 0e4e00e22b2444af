"""Random programs of JAX around one permutation, for the tests: cornerturn's against JAX's own."""
import random

import jax
import jax.numpy as jnp
import numpy as np

DTYPES = ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "complex64", "float8_e4m3fn", "float8_e5m2"]


def array(rng, shape, dtype):
    """Small integers, which every type and every order of additions holds exactly."""
    raw = np.random.RandomState(rng.randrange(2**31)).randint(-3, 4, shape)
    if dtype == "bool" or dtype.startswith("uint"):
        raw = abs(raw)
    return jnp.asarray(raw).astype(dtype)


def is_real(dtype):
    return jnp.issubdtype(dtype, jnp.floating) and jnp.finfo(dtype).bits > 8


def weights(like):
    return jnp.arange(like.size).reshape(like.shape).astype(like.dtype) % 5


# Each step wraps a function of an array of this shape in a transformation, and returns the new function and its shape.

def in_jit(rng, f, shape, dtype):
    return jax.jit(f), shape


def in_vmap(rng, f, shape, dtype):
    at = rng.randint(0, len(shape))
    mapped = jax.vmap(f, in_axes=rng.choice([at, at - len(shape) - 1]), out_axes=rng.choice([0, -1]))
    return mapped, (*shape[:at], rng.choice([1, 2, 3]), *shape[at:])


def in_jvp(rng, f, shape, dtype):
    return lambda x: jax.jvp(f, (x,), (x * 2,)), shape


def in_grad(rng, f, shape, dtype):
    def loss(x):
        return sum((one * weights(one)).sum() for one in jax.tree.leaves(f(x)) if jnp.issubdtype(one.dtype, jnp.floating))
    return jax.value_and_grad(loss), shape


def in_vjp(rng, f, shape, dtype):
    def pulled(x):
        y, back = jax.vjp(f, x)
        return y, back(jax.tree.map(weights, y))
    return pulled, shape


def in_linearize(rng, f, shape, dtype):
    def both(x):
        y, tangent = jax.linearize(f, x)
        return y, tangent(x + 1)
    return both, shape


def in_linear_transpose(rng, f, shape, dtype):
    def both(x):
        y = f(x)
        return y, jax.linear_transpose(f, x)(jax.tree.map(weights, y))
    return both, shape


def in_jacobian(rng, f, shape, dtype):
    return rng.choice([jax.jacfwd, jax.jacrev, jax.hessian])(f), shape


def in_scan(rng, f, shape, dtype):
    return lambda xs: jax.lax.scan(lambda count, x: (count + 1, f(x)), jnp.int32(0), xs), (rng.choice([1, 2, 3]), *shape)


def in_cond(rng, f, shape, dtype):
    def either(x):
        return jax.lax.cond((x == x).sum() > 2, f, lambda x: f(x + x), x)
    return either, shape


def in_map(rng, f, shape, dtype):
    return lambda xs: jax.lax.map(f, xs), (2, *shape)


def in_while(rng, f, shape, dtype):
    def repeated(x):
        return jax.lax.fori_loop(0, 2, lambda k, y: jax.tree.map(lambda one: one + one, y), f(x))
    return repeated, shape


def in_checkpoint(rng, f, shape, dtype):
    return jax.checkpoint(f), shape


def in_disable_jit(rng, f, shape, dtype):
    def eager(x):
        with jax.disable_jit():
            return f(x)
    return eager, shape


def in_closure(rng, f, shape, dtype):
    return lambda x: jax.closure_convert(f, x)[0](x), shape


ANY = [in_jit, in_vmap, in_scan, in_cond, in_map, in_checkpoint, in_disable_jit]
REAL = [in_jvp, in_grad, in_vjp, in_linearize, in_linear_transpose, in_jacobian]


def program(seed, permute):
    """Return a text, a function that uses `permute`, and its argument. The functions for one seed are equal but for `permute`."""
    rng = random.Random(seed)
    dtype = rng.choice(DTYPES)
    rank = rng.choice([0, 1, 2, 2, 3, 3, 4, 5, 8])
    shape = tuple(rng.choice([0, 1, 2, 3, 5] if rng.random() < 0.2 else [1, 2, 3]) for _ in range(rank))
    axes = rng.sample(range(rank), rank)
    given = tuple(k - rank if rng.random() < 0.3 else k for k in axes)
    around = rng.random() < 0.5 and dtype not in ("bool",)

    def f(x):
        return permute(x + x, given) if around else permute(x, given)

    steps, used = ANY + (REAL if is_real(dtype) else []), []
    for _ in range(rng.randint(0, 3)):
        step = rng.choice(steps)
        if step is in_jacobian and (int(np.prod(shape)) > 60 or step in used):
            continue
        if step is in_linear_transpose and {in_jvp, in_grad, in_vjp, in_linearize, in_cond, in_jacobian} & set(used):
            continue
        used.append(step)
        f, shape = step(rng, f, shape, dtype)
    x = array(rng, shape, dtype)
    return f"{seed}: {'.'.join(step.__name__ for step in used)} axes {given} of {dtype}{shape}", f, x


def same(found, wanted):
    """Return whether all numbers, dtypes, weak types and shardings are equal."""
    def equal(one, other):
        if (one.shape, one.dtype, one.weak_type) != (other.shape, other.dtype, other.weak_type):
            return False
        if isinstance(one, jax.Array) and not one.sharding.is_equivalent_to(other.sharding, one.ndim):
            return False
        return type(one) is type(other) and np.asarray(one).tobytes() == np.asarray(other).tobytes()

    a, b = jax.tree.flatten(found), jax.tree.flatten(wanted)
    return a[1] == b[1] and all(map(equal, a[0], b[0]))
