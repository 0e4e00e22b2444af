"""cornerturn.plan: its choice, and that it accepts only arrays like the ones it was made for."""
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


def test_for_the_strides_of_out():
    x = unique((30, 40), "f4")
    out = np.zeros((40, 64), "f4")[:, :30]
    plan = ct.plan(x, out=out)
    plan(x, out=out)
    assert same_bits(out.copy(), np.ascontiguousarray(x.T))
    with pytest.raises(ValueError, match="the arrays do not fit the plan"):
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
