"""Ctrl-C during a long call."""
import signal

import numpy as np
import pytest

import cornerturn as ct


class Stop(Exception):
    pass


def stop(*_):
    raise Stop


@pytest.fixture
def soon():
    """Sends this process a signal a few milliseconds later, whose handler raises."""
    before = signal.signal(signal.SIGALRM, stop)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.005)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


N = 16384  # 256 MiB: no machine copies it with two threads in the milliseconds until the signal is seen


@pytest.mark.parametrize("threads", [1, 2])
def test_a_signal_ends_a_long_copy(soon, threads):
    x = np.broadcast_to(np.full((1, N), 7, np.uint8), (N, N))  # has no memory of its own
    out = np.zeros((N, N), np.uint8)
    with pytest.raises(Stop):
        soon()
        ct.matrix_transpose(x, out=out, threads=threads)
    # The second thread may end the copy while the system lets this one wait.
    assert threads > 1 or (out[::16, ::4096] != 7).any()


def test_a_signal_ends_a_plan(soon):
    x = np.broadcast_to(np.full((1, N), 7, np.uint8), (N, N))
    out = np.zeros((N, N), np.uint8)
    plan = ct.plan(x, out=out, threads=1)
    with pytest.raises(Stop):
        soon()
        plan(x, out=out)
    assert (out[::16, ::4096] != 7).any()


def test_handlers_that_return_change_nothing():
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    try:
        x = np.random.default_rng(1).integers(0, 256, (6000, 6001), np.uint8)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        y = ct.matrix_transpose(x, threads=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen and np.array_equal(y, x.T)
