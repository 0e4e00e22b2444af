"""Transposes matrices and permutes array axes at the speed of a plain copy.

The functions take arrays of NumPy, PyTorch, CuPy and JAX, on the CPU or on an NVIDIA GPU. The result is an array of the
framework of the argument. `cornerturn.torch` and `cornerturn.jax` contain functions for one framework only.
"""
from . import _core
from ._batch import batch
from ._core import backends, matrix_transpose, permute_dims, plan, rearrange, transpose_inplace_

__all__ = ["__version__", "backends", "batch", "matrix_transpose", "permute_dims", "plan", "rearrange", "transpose_inplace_"]
__version__: str = _core._version
