"""Transposes matrices and permutes array axes at the speed of a plain copy.

The array may be NumPy's, PyTorch's, CuPy's or JAX's, on the CPU or on an NVIDIA GPU; the result is one of the same kind.
`cornerturn.torch` and `cornerturn.jax` have what is for one framework alone.
"""
from . import _core
from ._core import backends, matrix_transpose, permute_dims, plan, rearrange, transpose_inplace_

__all__ = ["__version__", "backends", "matrix_transpose", "permute_dims", "plan", "rearrange", "transpose_inplace_"]
__version__: str = _core._version
