"""Transposes matrices and permutes array axes at the speed of a plain copy.

The functions take arrays of NumPy, PyTorch, CuPy and JAX, on the CPU or on an NVIDIA GPU. The result is an array of the
framework of the argument. `cornerturn.torch`, `cornerturn.jax`, `cornerturn.dask` and `cornerturn.xarray` contain functions for
one framework only. `cornerturn.files` transposes arrays larger than memory, from file to file.
"""
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import _core  # python/src/module.cpp
from ._batch import batch
from ._calibrate import calibrate
from ._core import backends, load_machine, matrix_transpose, permute_dims, plan, rearrange, transpose_inplace_

__all__ = ["__version__", "backends", "batch", "calibrate", "load_machine", "matrix_transpose", "permute_dims", "plan", "rearrange", "transpose_inplace_"]
__version__: str = _core._version

if _TYPE_CHECKING:
    from . import files as files
else:
    def __getattr__(name: str) -> object:  # `cornerturn.files` needs NumPy, so its first use imports it
        if name == "files":
            from importlib import import_module
            return import_module(".files", __name__)
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


class _SignatureOfPlan:
    def __get__(self, made: object, kind: object = None) -> object:
        import inspect
        return inspect.signature(lambda x, axes=None, *, out=None, threads=0, kernel=None, measure=False: None)


plan.__signature__ = _SignatureOfPlan()  # type: ignore[attr-defined]  # inspect finds none for a class of C++

# A free-threaded Python turns the lock on when it imports a module like _core, unless PYTHON_GIL=0 or -X gil=0 forbids it.
if not getattr(_sys, "_is_gil_enabled", lambda: True)():
    raise ImportError("cornerturn found a Python whose global interpreter lock is off, wanted it on: unset PYTHON_GIL and -X gil")
