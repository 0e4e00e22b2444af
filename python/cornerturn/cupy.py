"""CuPy: a switch that makes CuPy's own copies of permuted arrays use cornerturn."""
from __future__ import annotations

import sys
import threading
from typing import Any

import cupy

from . import _core, _frameworks

__all__ = ["accelerate"]

# A call takes 3 microseconds more of the host than CuPy's own, which is 0.75 to 0.9 of its speed for shorter copies. Longer ones
# that are taken are 2.0 times as fast, at worst 1.03 (8 of 26 random views, CuPy 14.2, H200, 2026-11-27).
_FEWEST_BYTES = 1 << 22
_MODULES = ("cupy._core.core", "cupy._core._routines_indexing", "cupy._core._routines_manipulation")
_lock = threading.Lock()
_installed: dict[str, Any] = {}  # name of a module: its own elementwise_copy


class _Copy:
    """CuPy's ``elementwise_copy``, but cornerturn executes copies between different orders of the axes."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        if len(arrays) == 2 and not options and _copied(*arrays):
            return arrays[1]
        return self._original(*arrays, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # cupy.fuse asks whether it is a ufunc
        return type(self._original)


def _copied(src: Any, dst: Any) -> bool:
    if not (isinstance(src, cupy.ndarray) and isinstance(dst, cupy.ndarray)):
        return False
    if src.nbytes < _FEWEST_BYTES or src.dtype != dst.dtype or src.shape != dst.shape:
        return False
    if not src.data.device_id == dst.data.device_id == cupy.cuda.runtime.getDevice():
        return False
    return _core._copy_permuted_memory(_frameworks._memory_of_cupy(dst), _frameworks._memory_of_cupy(src),
                                       cupy.cuda.get_current_stream().ptr)


def _install(on: bool) -> None:
    if on == bool(_installed):
        return
    if not on:
        for name, original in _installed.items():
            setattr(sys.modules[name], "elementwise_copy", original)
        _installed.clear()
        return
    missing = [name for name in _MODULES if not hasattr(sys.modules.get(name), "elementwise_copy")]
    if missing:
        raise RuntimeError(f"accelerate found CuPy {cupy.__version__}, which has no elementwise_copy in {missing[0]}. "
                           "Wanted: CuPy 12 to 14")
    _core.matrix_transpose(cupy.empty((2, 2)))  # loads kernels now: impossible while a stream is captured
    for name in _MODULES:
        _installed[name] = sys.modules[name].elementwise_copy
        setattr(sys.modules[name], "elementwise_copy", _Copy(_installed[name]))


class accelerate:
    """Make CuPy use cornerturn for its own copies of permuted arrays.

    ``ascontiguousarray()``, ``copy()``, ``reshape()``, ``ravel()``, ``a[...] = b`` and similar calls
    use one function of CuPy. With this switch, cornerturn executes a copy between two arrays with
    equal device, dtype and shape and different orders of the axes in memory. CuPy executes all other
    copies. The resulting bits and the stream do not change.

    Parameters
    ----------
    mode : bool, default True
        On, or off.

    Notes
    -----
    The switch affects all threads, from the call on. As a context manager it restores the previous
    state at its end. CuPy still executes copies of less than 4 MiB, copies of
    ``cupy.asfortranarray`` for which it calls cuBLAS, and copies to or from elements that are a step
    apart, unless both arrays have long axes and the copy is packed.

    Raises
    ------
    RuntimeError
        This version of CuPy copies in another way.

    Examples
    --------
    >>> import cupy, cornerturn.cupy  # doctest: +SKIP
    >>> with cornerturn.cupy.accelerate():  # doctest: +SKIP
    ...     y = cupy.ascontiguousarray(cupy.zeros((300, 200)).T)
    """

    def __init__(self, mode: bool = True) -> None:
        with _lock:
            self._before = bool(_installed)
            _install(mode)

    def __enter__(self) -> accelerate:
        return self

    def __exit__(self, *exception: object) -> None:
        with _lock:
            _install(self._before)
