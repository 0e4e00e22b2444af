"""Shardings: JAX's own transpose has the same results, types and collective operations. See jax_sharding_test.py."""
import functools
import random
import re

import jax
import jax.numpy as jnp
import jax_programs
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import cornerturn as ct
import cornerturn.jax as ctj
from cornerturn import _jax_sharding

COLLECTIVE = re.compile(r"(all-gather|all-to-all|collective-permute|all-reduce|reduce-scatter|collective-broadcast)"
                        r"(?:-start)?\(")
AXIS_TYPES = [jax.sharding.AxisType.Auto, jax.sharding.AxisType.Explicit] if hasattr(jax.sharding, "AxisType") else [None]
shard_map = getattr(jax, "shard_map", None)
if shard_map is None:
    from jax.experimental.shard_map import shard_map


@pytest.fixture(autouse=True)
def eight_devices():
    assert jax.device_count() == 8


def mesh_of(shape, names="ijk", types=None):
    devices = np.array(jax.devices()[:int(np.prod(shape))]).reshape(shape)
    if types is None or types[0] is None:
        return Mesh(devices, tuple(names[:len(shape)]))
    return Mesh(devices, tuple(names[:len(shape)]), axis_types=tuple(types))


def context(mesh):
    enter = getattr(jax, "set_mesh", None) or getattr(jax.sharding, "use_mesh", None)
    return enter(mesh) if enter else mesh


def compiled(f, *x, **how):
    made = jax.jit(f, **how).lower(*x).compile()
    return made(*x), made.as_text()


def check(program, *x, eager=True, **how):
    """Compare program(permute, *x) with and without jit: numbers, types, shardings and collective operations."""
    ours, its = functools.partial(program, ctj.permute_dims), functools.partial(program, jnp.transpose)
    found, text = compiled(ours, *x, **how)
    wanted, its_text = compiled(its, *x, **how)
    assert jax_programs.same(found, wanted)
    ours_moves, its_moves = sorted(COLLECTIVE.findall(text)), sorted(COLLECTIVE.findall(its_text))
    if not jax.config.jax_use_shardy_partitioner:  # GSPMD may need two exchanges where both shardings are given
        ours_moves, its_moves = sorted(set(ours_moves)), sorted(set(its_moves))
    assert ours_moves == its_moves
    assert str(jax.eval_shape(ours, *x)) == str(jax.eval_shape(its, *x))
    if eager:
        assert jax_programs.same(ours(*x), its(*x))
    return text


def test_automatic_mesh():
    mesh = mesh_of((4, 2))
    x = jax.device_put(jnp.arange(32.0).reshape(8, 4), NamedSharding(mesh, P("i", None)))
    for transpose in (ctj.matrix_transpose, ct.matrix_transpose, ct.plan(x)):
        for y in (jax.jit(transpose)(x), transpose(x)):
            assert y.sharding.spec == P(None, "i") and {one.data.shape for one in y.addressable_shards} == {(4, 2)}
    _, text = compiled(ctj.matrix_transpose, x)
    assert not COLLECTIVE.search(text)
    if _jax_sharding.present:  # the library permutes each shard
        assert re.search(r"f32\[4,2\]\S* custom-call\(.*cornerturn_permute_dims", text)


@pytest.mark.skipif(AXIS_TYPES == [None], reason="this JAX has no explicit axes")
def test_explicit_mesh():
    mesh = mesh_of((4,), types=AXIS_TYPES[1:])
    with context(mesh):
        for shape in ((8, 8), (8, 3)):
            x = jax.device_put(jnp.arange(8.0 * shape[1]).reshape(shape), NamedSharding(mesh, P("i", None)))
            for transpose in (ctj.matrix_transpose, ct.matrix_transpose, jax.jit(ctj.matrix_transpose), ct.plan(x)):
                assert jax.typeof(transpose(x)) == jax.typeof(x.mT)
        x = jax.device_put(jnp.ones((8, 8)), P(None, "i"))
        assert (ctj.matrix_transpose(x) + x.mT).sharding.spec == P("i", None)
        types = []

        def inside(x):
            types.append(jax.typeof(ctj.matrix_transpose(x)))
            return ctj.matrix_transpose(x) * 2

        assert jnp.array_equal(jax.jit(inside)(x), x.mT * 2)
        assert types[0].sharding.spec == P("i", None)
        assert jax.typeof(jax.grad(lambda x: (ctj.matrix_transpose(x) ** 2).sum())(x)) == jax.typeof(x)


PROGRAMS = {
    "alone": lambda permute, x: permute(x, (2, 0, 1)),
    "negative axes": lambda permute, x: permute(x, (-1, 0, -2)),
    "between": lambda permute, x: permute(x + x, (2, 1, 0)) + 1,
    "chain": lambda permute, x: permute(permute(x, (2, 0, 1)) * 2, (1, 0, 2)).sum(0),
    "grad": lambda permute, x: jax.grad(lambda x: (permute(x, (1, 2, 0)) ** 2).sum())(x),
    "jvp": lambda permute, x: jax.jvp(lambda x: permute(x, (1, 2, 0)), (x,), (x + x,)),
    "vjp": lambda permute, x: jax.vjp(lambda x: permute(x, (1, 2, 0)), x)[1](jnp.transpose(x, (1, 2, 0))),
    "linearize": lambda permute, x: jax.linearize(lambda x: permute(x, (1, 2, 0)), x)[1](x),
    "vmap": lambda permute, x: jax.vmap(lambda x: permute(x, (1, 0)), in_axes=1, out_axes=-1)(x),
    "vmap twice": lambda permute, x: jax.vmap(jax.vmap(lambda x: permute(x, (0,))))(x),
    "scan": lambda permute, x: jax.lax.scan(lambda count, x: (count + 1, permute(x, (1, 0))), jnp.int32(0), x),
    "cond": lambda permute, x: jax.lax.cond(x.sum() > 0, lambda x: permute(x, (2, 1, 0)), lambda x: permute(x + 1, (2, 1, 0)), x),
    "checkpoint": lambda permute, x: jax.grad(jax.checkpoint(lambda x: (permute(x, (1, 2, 0)) ** 2).sum()))(x),
}
SPECS = [P("i"), P("i", "j"), P(None, "j", "i"), P(("i", "j")), P(None, None, ("j", "i")), P()]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("types", AXIS_TYPES, ids=str)
def test_programs(program, types):
    if types is not None and "scan" in program and types == AXIS_TYPES[-1]:
        specs = SPECS[2:3]  # JAX itself refuses a scan over a sharded axis
    else:
        specs = random.Random(program).sample(SPECS, 2)
    mesh = mesh_of((4, 2), types=[types, types])
    with context(mesh):
        for spec in specs:
            x = jax.device_put(jnp.arange(8.0 * 16 * 24).reshape(8, 16, 24) % 7, NamedSharding(mesh, spec))
            check(PROGRAMS[program], x)


def test_types_on_a_mesh():
    for dtype in jax_programs.DTYPES:
        x = jax.device_put(jnp.arange(16 * 24).reshape(16, 24).astype(dtype), NamedSharding(mesh_of((4, 2)), P("i", "j")))
        assert "custom-call" in check(lambda permute, x: permute(x, (1, 0)), x) or not _jax_sharding.present


@pytest.mark.parametrize("shape,spec", [((), P()), ((8,), P("i")), ((0, 8), P(None, "i")), ((2,) * 9, P(*[None] * 8, "j")),
                                        ((1, 8, 1), P(None, ("i", "j"), None))], ids=str)
def test_ranks(shape, spec):
    axes = tuple(reversed(range(len(shape))))
    x = jax.device_put(jnp.arange(float(np.prod(shape))).reshape(shape), NamedSharding(mesh_of((4, 2)), spec))
    check(lambda permute, x: permute(x, axes), x)


@pytest.mark.parametrize("before", [P(), P("i"), P("i", "j")], ids=str)
@pytest.mark.parametrize("after", [P(), P("i", "j", None), P("j", None, "i"), P(None, None, ("i", "j"))], ids=str)
def test_given_shardings(before, after):
    mesh = mesh_of((4, 2))
    x = jnp.arange(16.0 * 24 * 8).reshape(16, 24, 8)
    inside, outside = NamedSharding(mesh, before), NamedSharding(mesh, after)
    check(lambda permute, x: permute(x, (2, 0, 1)), jax.device_put(x, inside), eager=False, out_shardings=outside)
    check(lambda permute, x: permute(x, (2, 0, 1)), x, eager=False, in_shardings=inside, out_shardings=outside)

    def constrained(permute, x):
        return jax.lax.with_sharding_constraint(permute(x, (2, 0, 1)), outside) + 1
    check(constrained, jax.device_put(x, inside), eager=False)


def test_uneven_shards():
    mesh = mesh_of((4, 2))
    for spec in (P("i", "j"), P(("i", "j")), P(None, "i")):
        check(lambda permute, x, spec=spec: permute(jax.lax.with_sharding_constraint(x * 2, NamedSharding(mesh, spec)), (1, 0)) + 1,
              jnp.arange(7.0 * 5).reshape(7, 5), eager=False, out_shardings=NamedSharding(mesh, P()))


def test_two_meshes():
    x = jnp.arange(16.0 * 24 * 8).reshape(16, 24, 8)
    a = jax.device_put(x, NamedSharding(mesh_of((4, 2)), P("i", "j")))
    b = jax.device_put(x, NamedSharding(mesh_of((2, 2, 2), "abc"), P("a", None, ("b", "c"))))
    check(lambda permute, a, b: (permute(a, (2, 0, 1)), permute(b, (2, 0, 1))), a, b)


def test_orders_of_devices():
    x = jnp.arange(16.0 * 24).reshape(16, 24)
    for devices in (np.array(jax.devices())[[3, 1, 2, 0, 7, 5, 6, 4]].reshape(4, 2), np.array(jax.devices()).reshape(2, 4).T,
                    np.array(jax.devices()[2:4]).reshape(2, 1)):
        for spec in (P("j", "i"), P(("j", "i"), None), P(("i", "j"))):
            check(lambda permute, x: permute(x, (1, 0)), jax.device_put(x, NamedSharding(Mesh(devices, ("i", "j")), spec)))


SHARD_MAPS = {
    "all": (dict(in_specs=P("i", "j"), out_specs=P(None, "i", "j")), lambda permute, x: permute(x, (2, 0, 1))),
    "reduced": (dict(in_specs=P("i", "j"), out_specs=P(None, "i")),
                lambda permute, x: jax.lax.psum(permute(x, (2, 0, 1)), "j")),
    "replicated": (dict(in_specs=P(), out_specs=P()), lambda permute, x: permute(x, (2, 0, 1))),
    "one axis": (dict(in_specs=P("i"), out_specs=P(None, "i"), axis_names={"i"}),
                 lambda permute, x: permute(x * 2, (2, 0, 1))),
    "other axis": (dict(in_specs=P(None, "j"), out_specs=P(None, None, "j"), axis_names={"j"}),
                   lambda permute, x: permute(x * 2, (2, 0, 1)) + 1),
}


@pytest.mark.parametrize("name", SHARD_MAPS)
def test_shard_map(name):
    mesh = mesh_of((4, 2))
    how, body = SHARD_MAPS[name]
    if "axis_names" in how and not hasattr(jax, "shard_map"):
        pytest.skip("this JAX has no axis_names")
    x = jax.device_put(jnp.arange(16.0 * 24 * 8).reshape(16, 24, 8), NamedSharding(mesh, P("i", "j")))

    def program(permute, x):
        return shard_map(functools.partial(body, permute), mesh=mesh, **how)(x)

    def gradient(permute, x):
        return jax.grad(lambda x: (program(permute, x) ** 2).sum())(x)

    for one in (program, gradient, lambda permute, x: jax.vmap(functools.partial(program, permute))(x[None])):
        check(one, x, eager=one is program and "axis_names" not in how)


@pytest.mark.parametrize("types", AXIS_TYPES, ids=str)
def test_vmap_over_a_mesh_axis(types):
    mesh = mesh_of((4, 2), types=[types, types])
    with context(mesh):
        x = jax.device_put(jnp.arange(16.0 * 24 * 8).reshape(16, 24, 8), NamedSharding(mesh, P("i")))

        def inner(permute, x):
            y = permute(x, (1, 0))
            return jax.lax.with_sharding_constraint(y, NamedSharding(mesh, P("j", None))) if types != AXIS_TYPES[-1] or len(
                AXIS_TYPES) == 1 else y
        check(lambda permute, x: jax.vmap(functools.partial(inner, permute), spmd_axis_name="i")(x), x)


def test_pmap():
    x = jnp.arange(8.0 * 3 * 5).reshape(8, 3, 5)
    found = jax.pmap(ctj.matrix_transpose)(x)
    assert jax_programs.same(found, jax.pmap(jnp.matrix_transpose)(x))
    assert jax_programs.same(ctj.matrix_transpose(found), jnp.matrix_transpose(found))


def test_exports():
    export = pytest.importorskip("jax.export")
    x = jax.device_put(jnp.arange(32.0).reshape(8, 4), NamedSharding(mesh_of((4, 2)), P("i", "j")))
    made = export.export(jax.jit(ctj.matrix_transpose))(x)
    if jax.config.jax_use_shardy_partitioner or jax.__version_info__ < (0, 7):  # JAX itself cannot call it with GSPMD
        assert jnp.array_equal(made.call(x), x.T) and made.call(x).sharding.is_equivalent_to(x.T.sharding, 2)


@pytest.mark.skipif(not _jax_sharding.present, reason="XLA divides no call with this JAX")
@pytest.mark.parametrize("shapes,axes", [([(16, 8)], [7, 9]), ([(16, 8)], [1, 0, 2]), ([(16, 8)], range(100_000)), ([(16, 8)], []),
                                         ([(16, 8)], [1, 1]), ([(16, 8)] * 2, [1, 0]), ([(8, 16)], [1, 0])], ids=str)
@pytest.mark.parametrize("operands", [1, 2])
def test_target_refuses(shapes, axes, operands):
    x = jax.device_put(jnp.ones((8, 16)), NamedSharding(mesh_of((4, 2)), P("i", "j")))
    made = [jax.ShapeDtypeStruct(shape, x.dtype) for shape in shapes]
    call = jax.ffi.ffi_call("cornerturn_permute_dims", made[0] if len(made) == 1 else made)
    with pytest.raises(Exception, match="cornerturn: "):
        jax.block_until_ready(jax.jit(lambda x: call(*[x] * operands, axes=np.asarray(axes, np.int64)))(x))


def test_without_the_interfaces_of_jax(monkeypatch):
    monkeypatch.setattr(_jax_sharding, "present", False)
    x = jax.device_put(jnp.arange(128.0).reshape(8, 16), NamedSharding(mesh_of((4, 2)), P("i", "j")))
    assert "custom-call" not in check(lambda permute, x: permute(x, (1, 0)) + 3, x)


def random_program(seed):
    """Return a text, a function of `permute` that makes the program, the mesh, and the argument."""
    rng = random.Random(seed)
    shape = rng.choice([(8,), (4, 2), (2, 4), (2, 2, 2), (2, 2), (2,)])
    mesh = mesh_of(shape, types=[rng.choice(AXIS_TYPES) for _ in shape])
    rank = rng.choice([1, 2, 2, 3, 3, 4])
    extents = tuple(8 * rng.choice([1, 2, 3]) for _ in range(rank))
    free, spec = list("ijk"[:len(shape)]), []
    for _ in range(rank):
        taken = [free.pop(rng.randrange(len(free))) for _ in range(min(len(free), rng.choice([0, 0, 1, 1, 2])))]
        spec.append(tuple(taken) if len(taken) > 1 else taken[0] if taken else None)
    rng.shuffle(spec)
    dtype = rng.choice(jax_programs.DTYPES)
    x = jax.device_put(jax_programs.array(rng, extents, dtype), NamedSharding(mesh, P(*spec)))
    possible = [jax_programs.in_jit, jax_programs.in_vmap, jax_programs.in_checkpoint, jax_programs.in_cond,
                jax_programs.in_disable_jit]
    if jax_programs.is_real(dtype):
        possible += [jax_programs.in_jvp, jax_programs.in_vjp, jax_programs.in_linearize, jax_programs.in_linear_transpose]
    steps = [rng.choice(possible) for _ in range(rng.choice([0, 1, 1, 2]))]
    rank = max(0, rank - steps.count(jax_programs.in_vmap))
    axes = tuple(rng.sample(range(rank), rank))
    around = rng.random() < 0.5 and dtype != "bool"

    def make(permute):
        def f(x):
            return permute(x + x if around else x, axes)
        again, shape = random.Random(seed), extents[:rank]
        for step in steps:
            f, shape = step(again, f, shape, dtype)
        return f
    text = f"{seed}: {[step.__name__ for step in steps]} axes {axes} of {dtype}{extents} {spec} on {mesh}"
    return text, make, mesh, x


def check_random(seed):
    text, make, mesh, x = random_program(seed)
    ours, its = make(ctj.permute_dims), make(jnp.transpose)
    with context(mesh):
        try:
            wanted = its(x)
        except Exception as refused:  # JAX itself refuses, such as a sharding that is ambiguous
            with pytest.raises(type(refused)):
                ours(x)
            return
        assert jax_programs.same(ours(x), wanted), text
        if "disable_jit" not in text:
            (found, our_text), (wanted, its_text) = compiled(ours, x), compiled(its, x)
            assert jax_programs.same(found, wanted), text
            assert sorted(COLLECTIVE.findall(our_text)) == sorted(COLLECTIVE.findall(its_text)), text


@pytest.mark.parametrize("seed", range(16))
def test_random(seed):
    check_random(seed)
