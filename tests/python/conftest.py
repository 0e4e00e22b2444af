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


def cuda_of(framework):
    """The framework, with a GPU that it and cornerturn see. Without one the test is skipped."""
    import cornerturn
    module = pytest.importorskip(framework)
    cuda = next(one for one in cornerturn.backends() if one["name"] == "cuda")
    if not cuda["present"]:
        pytest.skip(f"no CUDA engine here: {cuda['detail']}")
    return module
