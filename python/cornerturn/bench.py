"""Times cornerturn and the installed frameworks; see ``python -m cornerturn bench --help``.

Each case also times a copy of the framework's arrays in this process: the upper bound, since a transpose also reads and
writes every byte once. Contenders alternate, so that disturbances of the machine affect all of them. A number is the
median of its rounds. Every result is compared with NumPy once.
"""
from __future__ import annotations

import importlib.util
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import cornerturn


class Case(NamedTuple):
    name: str
    shape: tuple[int, ...]  # an extent of 0 is replaced so that the array has the wanted size
    axes: tuple[int, ...]
    dtype: str


CASES = [
    Case("matrix uint8", (0, 4096), (1, 0), "u1"),
    Case("matrix float16", (0, 4096), (1, 0), "f2"),
    Case("matrix float32", (0, 4096), (1, 0), "f4"),
    Case("matrix float64", (0, 4096), (1, 0), "f8"),
    Case("matrix complex128", (0, 4096), (1, 0), "c16"),
    Case("odd matrix float32", (0, 7001), (1, 0), "f4"),
    Case("n h w c -> n c h w uint8", (0, 360, 640, 3), (0, 3, 1, 2), "u1"),
    Case("n c h w -> n h w c float32", (0, 64, 56, 56), (0, 2, 3, 1), "f4"),
    Case("attention 0213 float16", (0, 512, 16, 64), (0, 2, 1, 3), "f2"),
    Case("tensor 43210 float32", (0, 24, 20, 16, 12), (4, 3, 2, 1, 0), "f4"),
]

COPY = "copy"
OURS = "cornerturn"


class Framework:
    """Operations on arrays of one framework: conversion, permutation, copy, timing. If `out` is None, allocate it."""

    name = "NumPy"

    def array(self, x: np.ndarray[Any, Any]) -> Any:
        return x

    def numpy(self, y: Any) -> np.ndarray[Any, Any]:
        return np.asarray(y)

    def empty(self, shape: tuple[int, ...], like: Any) -> Any:
        out = np.empty(shape, like.dtype)
        out.fill(0)  # touch the pages before the measured calls
        return out

    def move(self, x: Any, axes: tuple[int, ...], out: Any) -> Any:
        if out is None:
            return np.ascontiguousarray(x.transpose(axes))
        np.copyto(out, x.transpose(axes))
        return out

    def copy(self, x: Any, out: Any) -> Any:
        if out is None:
            return x.copy()
        np.copyto(out, x)
        return out

    def seconds(self, call: Callable[[], Any]) -> float:
        begin = time.perf_counter()
        call()
        return time.perf_counter() - begin


class Torch(Framework):
    name = "PyTorch"

    def __init__(self, device: str) -> None:
        import torch
        self.torch, self.device = torch, device
        if device != "cpu":
            torch.cuda.set_device(ordinal_of(device))  # its current stream and its events

    def array(self, x: np.ndarray[Any, Any]) -> Any:
        return self.torch.from_numpy(x).to(self.device)

    def numpy(self, y: Any) -> np.ndarray[Any, Any]:
        return np.asarray(y.cpu())

    def empty(self, shape: tuple[int, ...], like: Any) -> Any:
        return like.new_zeros(shape)

    def move(self, x: Any, axes: tuple[int, ...], out: Any) -> Any:
        return x.permute(axes).contiguous() if out is None else out.copy_(x.permute(axes))

    def copy(self, x: Any, out: Any) -> Any:
        return x.clone() if out is None else out.copy_(x)

    def seconds(self, call: Callable[[], Any]) -> float:
        if self.device == "cpu":
            return super().seconds(call)
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3


class CuPy(Framework):
    name = "CuPy"

    def __init__(self, device: str) -> None:
        import cupy
        self.cupy = cupy
        cupy.cuda.Device(ordinal_of(device)).use()

    def array(self, x: np.ndarray[Any, Any]) -> Any:
        return self.cupy.asarray(x)

    def numpy(self, y: Any) -> np.ndarray[Any, Any]:
        return np.asarray(y.get())

    def empty(self, shape: tuple[int, ...], like: Any) -> Any:
        return self.cupy.zeros(shape, like.dtype)

    def move(self, x: Any, axes: tuple[int, ...], out: Any) -> Any:
        if out is None:
            return self.cupy.ascontiguousarray(x.transpose(axes))
        out[...] = x.transpose(axes)
        return out

    def copy(self, x: Any, out: Any) -> Any:
        if out is None:
            return x.copy()
        out[...] = x
        return out

    def seconds(self, call: Callable[[], Any]) -> float:
        begin, end = (self.cupy.cuda.Event() for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(begin, end)) / 1e3


class Jax(Framework):
    """JAX has no out: it always allocates its result."""

    name = "JAX"

    def __init__(self, device: str) -> None:
        import jax
        jax.config.update("jax_enable_x64", True)
        self.jax, self.device = jax, jax.devices(device.partition(":")[0])[ordinal_of(device)]
        self.moves: dict[tuple[int, ...], Any] = {}

    def array(self, x: np.ndarray[Any, Any]) -> Any:
        return self.jax.device_put(x, self.device)

    def empty(self, shape: tuple[int, ...], like: Any) -> Any:
        return None

    def move(self, x: Any, axes: tuple[int, ...], out: Any) -> Any:
        if axes not in self.moves:
            self.moves[axes] = self.jax.jit(lambda x: self.jax.numpy.transpose(x, axes))
        return self.moves[axes](x).block_until_ready()


class Contender(NamedTuple):
    name: str
    framework: Framework
    call: Callable[[Any, tuple[int, ...], Any], Any]  # x, axes, out -> result


def ordinal_of(device: str) -> int:
    """Return the number of the device: 1 for ``cuda:1``."""
    return int(device.partition(":")[2] or 0)


def contenders(device: str) -> list[Contender]:
    """Return the copy and cornerturn on arrays of one framework, and each installed framework."""
    frameworks: list[Framework] = [Framework()] if device == "cpu" else []
    for module, make in (("torch", Torch), ("cupy", CuPy), ("jax", Jax)):
        if importlib.util.find_spec(module) is None or (module == "cupy" and device == "cpu"):
            continue
        try:
            one: Framework = make(device)
            one.numpy(one.array(np.zeros(2, "f4")))
        except Exception as found:  # installed, but not usable, for example without a GPU
            print(f"{make.name} is skipped: {found}", file=sys.stderr)
        else:
            frameworks.append(one)
    host = next((one for one in frameworks if type(one) is not Jax), None)
    if host is None:
        raise SystemExit(f"bench: no installed framework has arrays on {device}. Wanted: "
                         + ("NumPy" if device == "cpu" else "PyTorch or CuPy, with a GPU"))
    ours = Contender(OURS, host, lambda x, axes, out: cornerturn.permute_dims(x, axes, out=out))
    copy = Contender(COPY, host, lambda x, axes, out: host.copy(x, None if out is None else out.reshape(x.shape)))
    return [copy, ours, *(Contender(one.name, one, one.move) for one in frameworks)]


def sized(case: Case, mib: float) -> Case:
    rest = int(np.prod([n for n in case.shape if n])) * np.dtype(case.dtype).itemsize
    return case._replace(shape=tuple(n or max(1, round(mib * 2**20 / rest)) for n in case.shape))


def random_array(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    values = np.random.default_rng(1).integers(0, 255, size=(*shape, np.dtype(dtype).itemsize), dtype="u1")
    return (values & 0x3F).view(dtype).reshape(shape)  # excludes NaNs


def same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Compare the bytes of two arrays in C order. A comparison of floats or of strided arrays would take seconds."""
    return a.dtype == b.dtype and a.size == b.size and np.array_equal(a.reshape(-1).view("u1"), b.reshape(-1).view("u1"))


def measure(case: Case, among: list[Contender], seconds: float, allocate: bool) -> dict[str, float]:
    """Return the median time of each contender."""
    source = random_array(case.shape, case.dtype)
    wanted = np.ascontiguousarray(source.transpose(case.axes))
    calls: dict[str, Callable[[], Any]] = {}
    for name, framework, function in among:
        x = framework.array(source)
        out = None if allocate else framework.empty(wanted.shape, x)

        def call(x: Any = x, out: Any = out, function: Callable[..., Any] = function) -> Any:
            return function(x, case.axes, out)

        found = framework.numpy(call())
        if not (same_bits(found, source) if name == COPY else found.shape == wanted.shape and same_bits(found, wanted)):
            raise SystemExit(f"bench: {name} has a wrong result for {case.name}")
        calls[name] = call
    times: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end or len(times[OURS]) < 5:
        for name, framework, _ in among:
            times[name].append(framework.seconds(calls[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def overhead(among: list[Contender]) -> dict[str, float]:
    """Return the seconds of one call for a matrix of 2 x 2 with a new result: the best of several rounds."""
    best = {}
    for name, framework, function in among:
        x = framework.array(np.ones((2, 2), "f4"))
        rounds = []
        for _ in range(7):
            begin = time.perf_counter()
            for _ in range(1000):
                function(x, (1, 0), None)
            rounds.append((time.perf_counter() - begin) / 1000)
        best[name] = min(rounds)
    return best


def table(results: dict[str, dict[str, float]], bytes_moved: dict[str, int], small: dict[str, float]) -> str:
    names = list(small)
    lines = [" | ".join(["case", *names]), " | ".join(["---", *("---:" for _ in names)])]
    for case, times in results.items():
        rates = [f"{bytes_moved[case] / times[name] / 1e9:.1f}"
                 + ("" if name == COPY else f" ({times[COPY] / times[name]:.2f})") for name in names]
        lines.append(" | ".join([case, *rates]))
    lines.append(" | ".join(["call of 2 x 2, microseconds", *(f"{small[name] * 1e6:.2f}" for name in names)]))
    return "\n".join(f"| {line} |" for line in lines)


def draw(results: dict[str, dict[str, float]], file: str, title: str) -> None:
    """Draw a group of bars for each case: the share of the copy."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    names = [name for name in next(iter(results.values())) if name != COPY]
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.22 * len(results) * (len(names) + 1)), layout="constrained")
    height = 0.8 / len(names)
    for row, name in enumerate(names):
        positions = [k + (row - (len(names) - 1) / 2) * height for k in range(len(results))]
        shares = [times[COPY] / times[name] for times in results.values()]
        bars = axes.barh(positions, shares, height, label=name)
        axes.bar_label(bars, fmt="%.2f", fontsize=7, padding=2)
    axes.axvline(1, color="black", linewidth=0.8, linestyle="--")
    axes.set_yticks(range(len(results)), list(results))
    axes.invert_yaxis()
    axes.set_xlabel("share of the speed of a copy")
    axes.set_title(title)
    axes.legend(loc="lower right", fontsize=8)
    figure.savefig(file, dpi=150)


def processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "CPU")
    except OSError:
        return platform.processor() or "CPU"


def check_file(name: str) -> None:
    """Raise SystemExit if the file cannot be written: before the work, not after it. An old file keeps its content."""
    is_new = not os.path.lexists(name)
    try:
        with open(name, "ab", buffering=0) as file:
            file.write(b"")
    except OSError as found:
        raise SystemExit(f"bench: {name}: cannot write: {found.strerror}") from None
    if is_new:
        os.unlink(name)


def check_plot(name: str) -> None:
    kinds = (".svg", ".png", ".pdf")
    if not name.endswith(kinds):
        raise SystemExit(f"bench: --plot is '{name}', wanted a file that ends in {', '.join(kinds[:-1])} or {kinds[-1]}")
    if importlib.util.find_spec("matplotlib") is None:
        raise SystemExit("bench: --plot is given, but matplotlib is not installed. Wanted: pip install matplotlib")
    check_file(name)


def run(*, device: str, mib: float, seconds: float, allocate: bool, only: str, plot: str | None,
        json_on_stdout: bool = False, output: str | None = None) -> int:
    if output:
        check_file(output)
    if plot:
        check_plot(plot)
    among = contenders(device)
    cases = [sized(case, mib) for case in CASES if only in case.name]
    if not cases:
        raise SystemExit(f"bench: no case has '{only}' in its name. Wanted: a part of one of "
                         + ", ".join(f"'{case.name}'" for case in CASES))
    where = processor() if device == "cpu" else "CUDA"
    if device != "cpu" and isinstance(among[1].framework, Torch):
        where = among[1].framework.torch.cuda.get_device_name(ordinal_of(device))
    tables = sys.stderr if json_on_stdout else sys.stdout
    print(f"cornerturn {cornerturn.__version__} on {where}, arrays of {mib:g} MiB, "
          f"{'new results' if allocate else 'into out'}: GB/s read and written (share of the copy)\n", file=tables)
    results: dict[str, dict[str, float]] = {}
    for case in cases:
        print(f"  {case.name} {case.shape}", file=sys.stderr)
        results[case.name] = measure(case, among, seconds, allocate)
    moved = {case.name: 2 * int(np.prod(case.shape)) * np.dtype(case.dtype).itemsize for case in cases}
    small = overhead(among)
    print(table(results, moved, small), file=tables)
    if any(type(one.framework) is Jax for one in among) and not allocate:
        print("\nJAX arrays are immutable: JAX always allocates its results.", file=tables)
    numbers = {"format": 1, "cornerturn": cornerturn.__version__, "device": device, "machine": where, "mib": mib,
               "allocate": allocate, "date": time.strftime("%Y-%m-%d"), "bytes_moved": moved, "seconds": results,
               "call_seconds": small}
    if json_on_stdout:
        print(json.dumps(numbers))
    if output:
        with open(output, "w", encoding="utf-8") as file:
            json.dump(numbers, file, indent=1)
    if plot:
        draw(results, plot, f"Permutations on {where}, {mib:g} MiB")
        print(f"\n{plot}", file=tables)
    return 0
