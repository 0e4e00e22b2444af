"""Shared code of all tests of the Python package."""
import random

import numpy as np
import pytest


def unique(shape, dtype):
    """An array whose elements differ, as far as their bits can tell them apart."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    numbers = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(3)
    raw = np.zeros((count, dtype.itemsize), np.uint8)
    for k in range(dtype.itemsize):
        raw[:, k] = numbers >> np.uint64(8 * (k % 7)) & np.uint64(0xFF)
    if dtype == bool:
        raw &= 1
    return raw.reshape(-1).view(dtype).reshape(shape) if count else np.empty(shape, dtype)


def same_bits(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def random_axes(rank, seed):
    axes = list(range(rank))
    random.Random(seed).shuffle(axes)
    return tuple(axes)


def expect_equal_checks(random_case, result_of, seeds):
    """A call with arithmetic has the result or the error that it has where Python checks all its arguments.

    `random_case(seed)` returns x and the other arguments. `result_of(call, out)` returns a tuple, of length 2 for an error.
    """
    import cornerturn
    from cornerturn import _arithmetic
    errors = 0
    for seed in range(seeds):
        x, how = random_case(seed)
        found = result_of(lambda: cornerturn.matrix_transpose(x, **how), how.get("out"))
        again, how = random_case(seed)
        out = how.pop("out", None)
        wanted = result_of(lambda: _arithmetic.permute(again, (1, 0), out, None, 0, **how), out)
        assert found == wanted, (seed, x, how, out)
        errors += len(found) == 2
    assert seeds / 10 < errors < seeds * 0.9


def cuda_of(framework):
    """The framework, with a GPU that it and cornerturn see. Without one the test is skipped."""
    import cornerturn
    module = pytest.importorskip(framework)
    cuda = next(one for one in cornerturn.backends() if one["name"] == "cuda")
    if not cuda["present"]:
        pytest.skip(f"no CUDA engine here: {cuda['detail']}")
    return module
