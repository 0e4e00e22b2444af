"""`cornerturn.batch`: many arrays in one call."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from . import _core
from ._core import _kind
from ._frameworks import _check_cuda_stream, _check_out, _is, _wanted, check_meaning, dressed, transposed_view


class batch:
    """Permutes many arrays in one call: images of different sizes, or many small matrices.

    The batch plans all its items once and binds the memory of their arrays. Each call of the batch
    then copies the present content of all `xs`. On a GPU a call launches a few kernels for
    each element size, and one for each large array.

    Parameters
    ----------
    xs : iterable of arrays
        Arrays of NumPy, or of PyTorch or CuPy on one device. Shapes, strides and element types may
        differ.
    axes : sequence of int or str, optional
        One permutation or one pattern for all items: see `permute_dims` and `rearrange`. By default
        the last two axes are swapped.
    out : iterable of arrays, optional
        One array for each item; see `matrix_transpose`. By default the batch allocates them.
    threads : int, default 0
        CPU only: the maximum number of threads; see `matrix_transpose`.

    Raises
    ------
    ValueError
        The sentence begins with the number of the item, as in ``item 17: axes[1] is 5``.
    TypeError
        An item is no array of NumPy, PyTorch or CuPy.

    Notes
    -----
    The batch holds its arrays. Each call refuses an array that got other memory, another shape or
    another dtype. A batch that a CUDA graph captured is never freed, because the graph replays it.

    No output may share memory with another array of the batch. The batch does not check this
    between different items. PyTorch records no gradient of a batch.

    Examples
    --------
    >>> import numpy as np, cornerturn as ct
    >>> images = [np.zeros((32, 48, 3)), np.zeros((20, 10, 3))]
    >>> to_planes = ct.batch(images, "h w c -> c h w")
    >>> [y.shape for y in to_planes()]
    [(3, 32, 48), (3, 20, 10)]
    """

    def __init__(self, xs: Iterable[Any], axes: Sequence[int] | str | None = None, *, out: Iterable[Any] | None = None,
                 threads: int = 0) -> None:
        self._xs = _listed(xs, "xs")
        axes = _axes_of(axes) if self._xs else None
        for number, x in enumerate(self._xs):
            _check_item(number, x, "x")
            kind, first = _framework_of(x), _framework_of(self._xs[0])
            if kind != first:
                raise TypeError(f"item {number}: x is a {kind}, but item 0 is a {first}. Wanted: arrays of one framework")
        if out is None:
            self._outs = [_empty(number, x, axes) for number, x in enumerate(self._xs)]
        else:
            self._outs = _listed(out, "out")
            if len(self._outs) != len(self._xs):
                raise ValueError(f"out has {len(self._outs)} arrays, but xs has {len(self._xs)}. Wanted: equal numbers")
            for number, (x, y) in enumerate(zip(self._xs, self._outs, strict=True)):
                try:
                    _check_out(x, y, _framework_of(x))
                except (TypeError, ValueError) as found:
                    raise _of_item(number, found) from None
                _check_item(number, y, "out")
        self._axes, self._threads = axes, threads
        self._of_torch = bool(self._xs) and _is(self._xs[0], "torch", "Tensor")
        self._all = [*self._xs, *self._outs]
        self._of_inference = self._of_torch and any(y.is_inference() for y in self._outs)
        # Tensors under a mode or without addresses have no plan, but an operator for each item.
        self._held = self._planned() if not self._of_torch or _core._are_plain_tensors(self._all) else None

    def _planned(self) -> _core._batch:
        return _core._batch(self._xs, self._outs, self._axes, self._threads)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._xs, self._axes, self._outs, self._threads)

    def __call__(self, *, stream: object = None) -> list[Any]:
        """Copy all items, and return their outputs.

        The outputs are the same arrays in each call. `stream` is as in `matrix_transpose`; by default it is the current
        stream of the framework of the first item.
        """
        if not self._xs:
            return []
        first = self._xs[0]
        if self._of_torch:
            self._execute_tensors(stream)
            return list(self._outs)
        assert self._held is not None
        _check_cuda_stream(stream, first, _framework_of(first), self._held.on_cuda)
        if _is(first, "cupy", "ndarray"):
            import cupy
            with first.device:
                current: Any = cupy.cuda.get_current_stream() if stream is None else stream
                if getattr(current, "is_capturing", bool)():
                    _captured.append(self._held)
                self._held.execute(current.ptr if stream is None else stream)
        else:
            self._held.execute()
        return list(self._outs)

    def _execute_tensors(self, stream: object) -> None:
        from . import torch as with_torch
        first = self._xs[0]
        _check_cuda_stream(stream, first, "torch.Tensor", first.is_cuda)
        if self._of_inference:
            for out in self._outs:
                with_torch._check_writable(out)
        if not _core._are_plain_tensors(self._all, memory=self._held is None):
            with_torch._execute_batch(list(zip(self._xs, self._outs, strict=True)), self._axes, stream)
            return
        if self._held is None:
            self._held = self._planned()
        with_torch._hold_if_captured(self._held, first, stream)
        self._held.execute(with_torch._current_stream(first) if stream is None else stream)
        if stream is not None:
            with_torch._record_stream(self._all, stream)
        with_torch._increment_version(self._outs)

    def __len__(self) -> int:
        return len(self._xs)

    def explain(self) -> str:
        """Return a text: items and bytes, and the number of items for each kernel."""
        if self._held is None:
            return f"{len(self)} items, each with an operator of PyTorch, which sees the tensors"
        return self._held.explain()

    @property
    def bytes_moved(self) -> int:
        """Bytes read and bytes written by one call."""
        if self._held is None:
            return sum(2 * x.numel() * x.element_size() for x in self._xs)
        return self._held.bytes_moved

    @property
    def threads(self) -> int:
        """Number of CPU threads; 0 on a GPU."""
        return 0 if self._held is None else self._held.threads

    def __repr__(self) -> str:
        return f"<cornerturn.batch: {len(self)} items, {self.bytes_moved} bytes>"


# The batches that CuPy captured, for as long as the process: a graph replays their addresses, and its end is not known.
_captured: list[_core._batch] = []


def _restored(xs: list[Any], axes: Any, outs: list[Any], threads: int) -> batch:
    return batch(xs, axes, out=outs, threads=threads)


def _listed(arrays: Iterable[Any], name: str) -> list[Any]:
    if not isinstance(arrays, Iterable):
        raise TypeError(f"{name} is a {_kind(arrays)}. Wanted: an iterable of arrays")
    return list(arrays)


def _axes_of(axes: Sequence[int] | str | None) -> Sequence[int] | str | None:
    """Return the axes, for use more than once: an iterator has its integers only once."""
    try:
        return _core._numbers_of_axes(axes)
    except (TypeError, ValueError) as found:
        raise _of_item(0, found) from None


def _of_item(number: int, found: Exception) -> Exception:
    return (TypeError if isinstance(found, TypeError) else ValueError)(f"item {number}: {found}")


def _framework_of(x: Any) -> str:
    for kind in ("numpy.ndarray", "torch.Tensor", "cupy.ndarray"):
        if _is(x, *kind.split(".")):
            return kind
    raise TypeError(f"x is a {_kind(x)}. Wanted: {_wanted(x, 'an array of NumPy, PyTorch or CuPy')}")


def _check_item(number: int, x: Any, name: str) -> None:
    try:
        kind = _framework_of(x)
        if kind == "torch.Tensor":
            from . import torch as with_torch
            with_torch._check_batch_item(x, name)
        elif kind == "numpy.ndarray":
            check_meaning(x, (name, "A batch"))
            if name == "out" and not x.flags.writeable:
                raise ValueError("out is read-only")
    except (TypeError, ValueError) as found:
        raise _of_item(number, found) from None


def _empty(number: int, x: Any, axes: Sequence[int] | str | None) -> Any:
    try:
        order = _core._resolve_axes(axes, x.ndim)
    except (TypeError, ValueError) as found:
        raise _of_item(number, found) from None
    shape = tuple(x.shape[k] for k in order)
    if _is(x, "torch", "Tensor"):
        return x.new_empty(shape)
    if _is(x, "cupy", "ndarray"):
        import cupy
        with x.device:
            return cupy.empty(shape, x.dtype)
    import numpy
    return dressed(numpy.empty(shape, x.dtype), transposed_view(x, order))
