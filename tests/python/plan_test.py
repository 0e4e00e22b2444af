"""cornerturn.plan: its choice, and that it accepts only arrays like the ones it was made for."""
import inspect
import pickle

import numpy as np
import pytest
from conftest import same_bits, unique

import cornerturn as ct


def test_moves():
    x = unique((30, 40, 50), "f4")
    plan = ct.plan(x, (2, 0, 1))
    assert same_bits(plan(x), np.ascontiguousarray(x.transpose(2, 0, 1)))
    out = np.empty((50, 30, 40), "f4")
    assert plan(x, out=out) is out
    assert same_bits(out, np.ascontiguousarray(x.transpose(2, 0, 1)))
    other = unique((30, 40, 50), "i4")  # other contents, another type of four bytes
    assert same_bits(plan(other), np.ascontiguousarray(other.transpose(2, 0, 1)))


def test_says_why():
    x = np.zeros((300, 200), "f8")
    plan = ct.plan(x)
    assert plan.axes == (1, 0)
    assert plan.bytes_moved == 2 * x.nbytes
    assert plan.threads >= 1
    assert plan.kernel.startswith("cpu_") and plan.kernel in plan.explain() and plan.kernel in repr(plan)
    assert "8-byte elements, rank 2" in plan.explain()


def test_options():
    x = unique((700, 500), "f4")
    assert ct.plan(x, threads=1).threads == 1
    forced = ct.plan(x, kernel="cpu_reference")
    assert forced.kernel == "cpu_reference"
    assert same_bits(forced(x), np.ascontiguousarray(x.T))
    with pytest.raises(ValueError, match='kernel is "nothing", which is not the name of a kernel. Wanted: a name that `cornerturn kernels` lists'):
        ct.plan(x, kernel="nothing")
    with pytest.raises(ValueError, match="threads is -1"):
        ct.plan(x, threads=-1)


def test_a_plan_that_measures_itself_gives_equal_bits():
    x = unique((600, 900), "f4")
    plan = ct.plan(x, threads=1, measure=True)
    first = plan.kernel
    assert "\nmeasures   the first " in plan.explain()
    for _ in range(8):
        assert same_bits(plan(x), np.ascontiguousarray(x.T))
    assert f"\nmeasured   {plan.kernel} in " in plan.explain()
    assert "\nmeasure" not in ct.plan(x, threads=1).explain() and ct.plan(x, threads=1).kernel == first
    assert "\nmeasures " in pickle.loads(pickle.dumps(plan)).explain()


def test_for_the_strides_of_out():
    x = unique((30, 40), "f4")
    out = np.zeros((40, 64), "f4")[:, :30]
    plan = ct.plan(x, out=out)
    plan(x, out=out)
    assert same_bits(out.copy(), np.ascontiguousarray(x.T))
    with pytest.raises(ValueError, match="the arrays do not fit the plan: x has shape .*and x or out has other strides"):
        plan(x)
    with pytest.raises(ValueError, match=r"out has shape \(30, 40\), wanted \(40, 30\)"):
        ct.plan(x, out=x.copy())


@pytest.mark.parametrize("other", [np.zeros((40, 30), "f4"), np.zeros((30, 40), "f8"), np.zeros((30, 41), "f4")[:, :40],
                                   np.zeros((30, 40), "f4", order="F")], ids=["shape", "element", "gap", "order"])
def test_refuses_other_layouts(other):
    with pytest.raises(ValueError, match="the arrays do not fit the plan"):
        ct.plan(np.zeros((30, 40), "f4"))(other)


def test_refuses_what_has_other_axes():
    with pytest.raises(ValueError, match="axes has 2 entries, but x has 3 axes"):
        ct.plan(np.zeros((3, 4)))(np.zeros((3, 4, 5)))
    with pytest.raises(TypeError, match="x is a list"):
        ct.plan([[1, 2]])


@pytest.mark.parametrize("call,sentence", [
    (lambda x: ct.plan(), "plan is called without the argument x"),
    (lambda x: ct.plan(x, (1, 0), x), "plan takes 2 positional arguments, found 3. Wanted: the others by name"),
    (lambda x: ct.plan(x, kernal="a"), "plan has no keyword argument 'kernal'. Wanted: one of x, axes, out, threads, kernel, "
     "measure"),
    (lambda x: ct.plan(x, kernel=3), "kernel is a int. Wanted: a str, or None"),
    (lambda x: ct.plan(x, measure=1), "measure is a int. Wanted: a bool"),
    (lambda x: ct.plan(x, threads=1.5), "threads is a float. Wanted: an integer"),
    (lambda x: ct.plan(x, out=np.ma.zeros((40, 30), "f4")),
     "out is a masked array, whose mask would be lost. Wanted: out.data"),
    (lambda x: ct.plan(x)(), "a plan is called without the argument x"),
    (lambda x: ct.plan(x)(x, x), "a plan takes 1 positional argument, found 2. Wanted: the others by name"),
    (lambda x: ct.plan(x)(x, threads=1), "a plan has no keyword argument 'threads'. Wanted: one of x, out, stream"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_refuses_with_one_sentence(call, sentence):
    with pytest.raises(TypeError) as found:
        call(np.zeros((30, 40), "f4"))
    assert str(found.value) == sentence


@pytest.mark.parametrize("out,sentence", [
    (np.zeros((5, 4), "f4"), "out has dtype float32, but x has float64. Wanted: equal dtypes"),
    (np.zeros((5, 4), "i8"), "out has dtype int64, but x has float64"),
    (np.zeros((4, 5)), r"out has shape \(4, 5\), wanted \(5, 4\)"),
], ids=str)
def test_out_is_like_the_result(out, sentence):
    with pytest.raises(ValueError, match=sentence):
        ct.plan(np.zeros((4, 5)), out=out)


def test_takes_its_arguments_by_name():
    x = unique((30, 40), "f4")
    plan = ct.plan(x=x, axes="a b -> b a", threads=10**30)
    assert same_bits(plan(x=x), np.ascontiguousarray(x.T))


def test_a_misfit_names_both_shapes():
    plan = ct.plan(np.zeros((3, 4), "f8"))
    with pytest.raises(ValueError, match=r"x has shape \(4, 3\) and elements of 8 bytes, but the plan is for shape "
                                         r"\(3, 4\) and elements of 8 bytes$"):
        plan(np.zeros((4, 3), "f8"))
    with pytest.raises(ValueError, match=r"x has shape \(3, 4\) and elements of 1 byte, but the plan is for shape "
                                         r"\(3, 4\) and elements of 8 bytes$"):
        pickle.loads(pickle.dumps(plan))(np.zeros((3, 4), "u1"))


def test_signature():
    assert str(inspect.signature(ct.plan)) == "(x, axes=None, *, out=None, threads=0, kernel=None, measure=False)"
