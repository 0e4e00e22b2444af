"""Boxes for a transpose between two stores of chunks: how large they are, and the threads that read, transpose and write them."""
from __future__ import annotations

import contextlib
import itertools
import math
import mmap
import operator
import os
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy

from . import _core
from ._zarr import ThreadArray, ThreadLoop

_REQUEST_BYTES = 64 << 10  # a run of n bytes costs as much time as n + _REQUEST_BYTES bytes of a long run
_BOX_COST_BYTES = 1 << 20  # and a box as much as this many bytes: the calls of Python and of the formats
_SMALLEST_BYTES = 16 << 20  # smaller boxes only where the memory is small
# A box is read and written in parts of one chunk, or of several small ones. Zarr gives all chunks of a call to as many threads at a time.
# Calls of 4 chunks of 3.4 MiB with zstd on 2 busy cores took 2.9 s of CPU for 108 chunks, calls of one 1.9 s; NumPy permuted them
# (2026-11-27). Parts of 1, 4 and 16 MiB take equal times for chunks of 1 MiB.
_PART_BYTES = 4 << 20
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}


@dataclass(frozen=True)
class Store:
    """An array-like, and the properties that decide how it is read or written. `chunk` is empty for a store without chunks."""

    array: Any
    shape: tuple[int, ...]
    dtype: numpy.dtype[Any]
    chunk: tuple[int, ...]
    direct: bool  # is a numpy.ndarray, so the kernel reads or writes its memory
    threads: bool  # its reads or writes may run in several threads
    all_chunks: Any = None  # of Zarr: the same array, which also writes chunks of nothing but the fill value
    local: bool = False  # an array of Zarr in local files, which each thread reads or writes alone

    @contextlib.contextmanager
    def of_thread(self) -> Iterator[Store]:
        """Yield the store for the calling thread."""
        if not self.local:
            yield self
            return
        with contextlib.closing(ThreadLoop()) as loop:
            whole = None if self.all_chunks is None else ThreadArray(self.all_chunks, loop)
            yield replace(self, array=ThreadArray(self.array, loop), all_chunks=whole)


def axes_of(axes: Sequence[int] | None, rank: int, name: str) -> tuple[int, ...]:
    """Return the permutation of the axes of the array `name`. None reverses them, and negative numbers count from the end."""
    if axes is None:
        return tuple(range(rank))[::-1]
    try:
        given = [operator.index(axis) for axis in axes]
    except TypeError:
        raise TypeError(f"axes is {axes!r}. Wanted: a sequence of integers, one for each axis of {name}") from None
    order = tuple(axis + rank if axis < 0 else axis for axis in given)
    if sorted(order) != list(range(rank)):
        raise ValueError(f"axes is {tuple(given)}, wanted a permutation of the {rank} axes of {name}, 0 to {rank - 1}")
    return order


def bytes_of(memory: int | str | None) -> int:
    """Return the bytes that ``memory`` gives: a number, a text such as "4GiB", or None for half of the available memory."""
    if memory is None:
        return _core._available_memory() // 2
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([A-Za-z]*)\s*", memory)
        unit = _UNITS.get(found[2].upper()) if found else None
        if not found or unit is None:
            raise ValueError(f"memory is {memory!r}. Wanted: bytes, or a text such as '512MiB' or '4GiB'")
        memory = int(float(found[1]) * unit)
    if not isinstance(memory, int) or isinstance(memory, bool):
        raise TypeError(f"memory is a {type(memory).__name__}. Wanted: an integer of bytes, or a text such as '4GiB'")
    if memory < 1:
        raise ValueError(f"memory is {memory} bytes, wanted 1 or more")
    return memory


class Plan:
    """The boxes of `dst`, whose axis k is axis ``axes[k]`` of `src`, and the threads that work on them."""

    def __init__(self, src: Store, dst: Store, axes: Sequence[int], memory: int, threads: int) -> None:
        self.src, self.dst, self.axes = src, dst, tuple(axes)
        self.inverse = tuple(sorted(range(len(axes)), key=self.axes.__getitem__))
        self.shape = dst.shape
        self.item = src.dtype.itemsize
        # Both chunks in the order of the axes of dst.
        self.read_chunk = tuple(src.chunk[axis] for axis in axes) if src.chunk else ()
        self.write_chunk = dst.chunk
        most_part = min(_PART_BYTES, memory // (16 * threads))
        self.read_part = self._part(self.read_chunk, most_part)
        self.write_part = self._part(self.write_chunk, most_part)
        # A part of one or a few elements along the last axis of src or dst is slow to transpose. Boxes are read in the order of src
        # and transposed when parts are written if that has the longer runs.
        self.late = bool(self.read_part and self.write_part) and self._run(self.read_part) < self._run(self.write_part)
        self.box = tuple(min(chunk, extent) for chunk, extent in zip(dst.chunk, dst.shape)) or (1,) * len(self.shape)
        if self.bytes_for(self.box) > memory:
            chunk_of_src = f" and one chunk of src of {src.chunk}" if src.chunk else ""
            raise ValueError(f"memory is {memory} bytes, wanted {self.bytes_for(self.box)} or more, for one chunk of dst of "
                             f"{self.box}{chunk_of_src}")
        total = math.prod(self.shape) * self.item
        # Several boxes for each thread, so that reads and writes overlap.
        self._limit = max(total // (4 * threads), _SMALLEST_BYTES)
        self.box, self.threads = self._best(memory, threads)

    def bytes_for(self, box: Sequence[int]) -> int:
        """Return the bytes that a thread needs for a box: its buffers or mapped pages, and the parts in hand."""
        size = math.prod(box) * self.item
        needed = size if self.src.chunk else 2 * size
        if self.read_part:  # decoded chunks, and the part that the format returns
            needed += 2 * math.prod(self.read_part) * self.item
        if self.write_part:  # a part in the order of the format, and encoded
            needed += 2 * min(size, math.prod(self.write_part) * self.item)
        return needed

    def _part(self, chunk: tuple[int, ...], most_bytes: int) -> tuple[int, ...]:
        """Return a chunk, or several in a box if they are small; () if there are no chunks."""
        part = [min(size, extent) for size, extent in zip(chunk, self.shape)]
        for axis in reversed(range(len(part))):
            count = max(1, most_bytes // (math.prod(part) * self.item))
            part[axis] = min(part[axis] * count, self.shape[axis])
        return tuple(part)

    def _run(self, part: tuple[int, ...]) -> int:
        """Return the bytes of the shorter run of a part: along the last axis of src, or of dst. A cache line is long enough."""
        return min(part[self.axes.index(len(part) - 1)] * self.item, part[-1] * self.item, 64)

    def _cost(self, box: Sequence[int]) -> float:
        """Return the bytes that reads and writes by boxes of this size cost, as if they were one long run."""
        counts = [-(-extent // part) for extent, part in zip(self.shape, box)]
        cost = float(math.prod(counts) * _BOX_COST_BYTES)
        last_of_src = self.axes.index(len(self.axes) - 1)
        for chunk, last in ((self.read_chunk, last_of_src), (self.write_chunk, len(box) - 1)):
            if chunk:  # a chunk is read once for each box that has a part of it
                touched = [_touched(extent, part, size) for extent, part, size in zip(self.shape, box, chunk)]
                cost += math.prod(touched) * (math.prod(chunk) * self.item + _REQUEST_BYTES)
            else:  # a run is contiguous along the last axis of its store
                runs = math.prod(extent for axis, extent in enumerate(self.shape) if axis != last) * counts[last]
                cost += runs * _REQUEST_BYTES
        return cost

    def _best(self, memory: int, threads: int) -> tuple[tuple[int, ...], int]:
        """Return the box and the threads. Fewer threads have larger boxes, and pay where those save most of the reads."""
        least = self.box
        threads = max(1, min(threads, memory // self.bytes_for(least)))
        best = self._grown(least, memory // threads)
        while threads > 1:
            box = self._grown(least, memory // (threads // 2))
            if self._cost(box) > 0.6 * self._cost(best):
                break
            best, threads = box, threads // 2
        return self._even(best, threads), threads

    def _even(self, box: tuple[int, ...], threads: int) -> tuple[int, ...]:
        """Return the box, or one with a smaller extent if all threads then have more equal numbers of boxes."""
        def time(one: tuple[int, ...]) -> float:
            count = math.prod(-(-extent // part) for extent, part in zip(self.shape, one))
            return self._cost(one) * -(-count // threads) * threads / count
        candidates = [box]
        for axis, (extent, part) in enumerate(zip(self.shape, box)):
            step = self.write_chunk[axis] if self.write_chunk else 1
            count = -(-extent // part)
            for more in range(count + 1, count + 2 * threads + 1):
                smaller = -(-extent // (more * step)) * step
                if smaller < part:
                    candidates.append((*box[:axis], smaller, *box[axis + 1:]))
        return min(candidates, key=time)

    def _grown(self, start: tuple[int, ...], memory: int) -> tuple[int, ...]:
        """Return a box grown along the axes that save most for their growth, until nothing is saved or the memory is full."""
        result, cost = start, self._cost(start)
        while True:
            best: tuple[float, float, tuple[int, ...]] | None = None
            for axis, larger in self._larger(result):
                box = (*result[:axis], larger, *result[axis + 1:])
                size = math.prod(box) * self.item
                if size > self._limit or self.bytes_for(box) > memory:
                    continue
                found = self._cost(box)
                saved = math.log(cost / found) / math.log(larger / result[axis])
                if found < cost and (best is None or saved > best[0]):
                    best = (saved, found, box)
            if best is None:
                return result
            _, cost, result = best

    def _larger(self, box: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield larger extents for each axis: multiples of the chunk of dst, or the whole axis."""
        for axis, (extent, part) in enumerate(zip(self.shape, box)):
            step = self.write_chunk[axis] if self.write_chunk else 1
            both = math.lcm(step, self.read_chunk[axis]) if self.read_chunk else step
            for larger in {part + step, 2 * part, (part // both + 1) * both, extent}:
                larger = min(-(-larger // step) * step, extent)
                if larger > part:
                    yield axis, larger

    def boxes(self) -> Iterator[tuple[slice, ...]]:
        """Yield the index of each box in dst."""
        ranges = [[slice(first, min(first + part, extent)) for first in range(0, extent, part)]
                  for extent, part in zip(self.shape, self.box)]
        return itertools.product(*ranges)

    def run(self) -> None:
        """Transpose all boxes. The first exception stops all threads, and is raised after they have ended."""
        waiting = self.boxes()
        lock, reading, writing = threading.Lock(), threading.Lock(), threading.Lock()
        stop = threading.Event()
        kernel_threads = max(1, (os.cpu_count() or 1) // self.threads)

        def work() -> None:
            try:
                with self.src.of_thread() as src, self.dst.of_thread() as dst:
                    while not stop.is_set():
                        with lock:
                            box = next(waiting, None)
                        if box is None:
                            return
                        self._one(src, dst, box, reading, writing, kernel_threads)
            except BaseException:
                stop.set()
                raise

        with ThreadPoolExecutor(self.threads, "cornerturn") as pool:
            workers = [pool.submit(work) for _ in range(self.threads)]
            try:
                for worker in workers:
                    worker.result()
            finally:
                stop.set()  # an exception here can be a signal's, such as KeyboardInterrupt

    def _one(self, src: Store, dst: Store, box: tuple[slice, ...], reading: threading.Lock, writing: threading.Lock,
             threads: int) -> None:
        extents = [one.stop - one.start for one in box]
        if dst.direct:
            out = dst.array[box]
        elif self.late:  # a box in the order of src
            out = numpy.empty([extents[axis] for axis in self.inverse], src.dtype).transpose(self.axes)
        else:
            out = numpy.empty(extents, src.dtype)
        for part in _parts(box, self.read_part):
            self._read(src, part, out[_inside(part, box)], reading, threads)
        if not dst.direct:
            for part in _parts(box, self.write_part):
                self._write(dst, part, out[_inside(part, box)], writing, threads)
        self._release()

    def _read(self, src: Store, box: tuple[slice, ...], out: Any, reading: threading.Lock, threads: int) -> None:
        places = tuple(box[axis] for axis in self.inverse)
        with contextlib.nullcontext() if src.threads else reading:
            part = numpy.asarray(src.array[places])
        wanted = tuple(place.stop - place.start for place in places)
        if part.shape != wanted or part.dtype != src.dtype:
            raise ValueError(f"src has returned an array of {part.shape} and {part.dtype} for a box, "
                             f"wanted {wanted} and {src.dtype}")
        if self.late:
            out.transpose(self.inverse)[...] = part
        else:
            _permute(part, self.axes, out, threads)

    def _write(self, dst: Store, box: tuple[slice, ...], part: Any, writing: threading.Lock, threads: int) -> None:
        if self.late:
            packed = numpy.empty(part.shape, part.dtype)
            _permute(part.transpose(self.inverse), self.axes, packed, threads)
            part = packed
        array = dst.array
        # Zarr leaves out chunks of the fill value, and compares all elements to find them. That takes 0.4 of 2.2 s of CPU for
        # 216 chunks of 1 MiB and zstd. It is not needed if the first element of each chunk differs.
        if dst.all_chunks is not None:
            first = part[tuple(slice(None, None, size) for size in self.write_chunk)]
            array = dst.array if (first == self.dst.array.fill_value).any() else dst.all_chunks
        with contextlib.nullcontext() if dst.threads else writing:
            array[box] = part

    def _release(self) -> None:
        """Give the pages of mapped files back, whose bytes stay in the page cache. A private map would lose its changes."""
        for array in (self.src.array, self.dst.array):
            pages = getattr(array, "_mmap", None) if isinstance(array, numpy.memmap) else None
            if pages is not None and array.mode in ("r", "r+", "w+"):
                pages.madvise(mmap.MADV_DONTNEED)


def _parts(box: tuple[slice, ...], part: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Yield the parts of a box, which end at multiples of `part`; the box itself if this is ()."""
    if not part:
        return iter([box])
    ranges = [[slice(max(first, one.start), min(first + size, one.stop))
               for first in range(one.start // size * size, one.stop, size)] for one, size in zip(box, part)]
    return itertools.product(*ranges)


def _inside(part: tuple[slice, ...], box: tuple[slice, ...]) -> tuple[slice, ...]:
    return tuple(slice(one.start - all_of_it.start, one.stop - all_of_it.start) for one, all_of_it in zip(part, box))


def _touched(extent: int, part: int, chunk: int) -> int:
    """Return how many chunks the boxes of an axis touch, counting a chunk once for each of its boxes."""
    boxes = -(-extent // part)
    chunks = -(-extent // chunk)
    if part % chunk == 0:
        return chunks
    # A border between two boxes splits a chunk, but for the borders at multiples of both.
    return chunks + (boxes - 1) - (extent - 1) // math.lcm(part, chunk)


def _permute(src: Any, axes: tuple[int, ...], out: Any, threads: int) -> None:
    """Copy `src` with permuted axes to `out`. The kernels see raw elements, so any dtype of a fixed size is copied."""
    item = src.dtype.itemsize
    raw = numpy.dtype(f"u{item}" if item in (1, 2, 4, 8) else f"V{item}")
    _core.permute_dims(src.view(numpy.ndarray).view(raw), axes, out=out.view(numpy.ndarray).view(raw), threads=threads)
