"""PyTorch, CuPy and JAX behind one interface, for cuda_peers.py. A framework is imported when it is first used.

A framework: name, version, method, l2_bytes, has_strides, free_bytes(), prepare(task, pairs), free(), close().
A work is one prepared case: calls, pairs, clock, warm_up(n), sample(n) -> seconds per call, read_src(offsets) and
read_dst(offsets) -> words as integers, release().

Cold: each call takes the next of the pairs. The result of a pair is dropped just before its next call, so the
allocator of the framework hands out the same block again and destinations rotate with the sources.
"""
import math
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

UNIT = 2 << 20
CHUNK = (64 << 20) - 4096 + 16  # random bytes that are generated and repeated; the length is no multiple of a usual pitch
LEAD = 1 << 30  # bytes set before the timed calls: the host runs ahead meanwhile, and no data of a case stays in L2


class Unsupported(Exception):
    pass


def slot(task):
    return (task.src_span * task.word + UNIT - 1) // UNIT * UNIT


def arena_bytes(tasks, l2_bytes, free_bytes):
    """Enough for the sources of the largest case, but at most 40 % of the free memory."""
    wanted = (slot(task) * (1 if task.hot else max(3, math.ceil(2 * l2_bytes / task.bytes) + 1)) for task in tasks)
    return min(max(wanted), int(free_bytes * 0.4) // UNIT * UNIT)


def wake_up(framework):  # the clocks of an idle device rise slowly: a fifth of a second of untimed work
    for _ in range(800):
        framework.lead()
    framework.wait()


class EventWork:
    """The base of PyTorch and CuPy: an event before and after each sample. All are enqueued before the first one ends."""
    clock = "events"

    def __init__(self, owner, task, pairs):
        self.owner, self.task = owner, task
        self.pairs = min(pairs, owner.arena_size // slot(task))
        if self.pairs == 0:
            raise Unsupported("it does not fit")
        self.sources = [owner.source(task, i) for i in range(self.pairs)]
        reuses = task.hot or not task.is_packed  # otherwise the call allocates its result, as in usual code
        self.results = [owner.destination(task) if reuses else None for _ in range(self.pairs)]
        self.call_one = owner.into if reuses else owner.made
        self.next, self.calls, self.graph = 0, 1, None

    def call(self):
        k = self.next % self.pairs
        self.next += 1
        self.call_one(self.task, self.sources[k], self.results, k)

    def warm_up(self, count):
        for _ in range(count):
            self.call()
        self.owner.wait()
        if self.task.hot:
            self.calls = self.task.calls_in_graph()
            self.graph = self.owner.captured(self.call, self.calls)
            self.graph()
            self.owner.wait()

    def sample(self, rounds):
        go = self.graph or self.call
        self.owner.lead()
        for _ in range(2 if self.graph else self.pairs):
            go()
        events = []
        for _ in range(rounds):
            begin = self.owner.mark()
            go()
            events.append((begin, self.owner.mark()))
        self.owner.wait()
        return [self.owner.seconds(begin, end) / self.calls for begin, end in events]

    def read_src(self, offsets):
        return self.owner.words(self.owner.flat_source(self.task, (self.next - 1) % self.pairs), self.task, offsets)

    def read_dst(self, offsets):
        return self.owner.words(self.results[(self.next - 1) % self.pairs], self.task, offsets)

    def release(self):
        self.sources = self.results = self.graph = None


def halves(task, offsets):  # words of 16 bytes are compared as two of 8
    return [2 * o + h for o in offsets for h in (0, 1)] if task.word == 16 else offsets


class Torch:
    name, has_strides = "pytorch", True
    method = "src.permute(axes).contiguous(); dst.copy_() of it where dst has padding, and in a CUDA graph where hot"

    def __init__(self, tasks):
        import torch
        if not torch.cuda.is_available():
            raise RuntimeError("it finds no CUDA device")
        self.torch, self.version = torch, torch.__version__
        self.kinds = {1: torch.uint8, 2: torch.float16, 4: torch.float32, 8: torch.float64, 16: torch.complex128}
        self.integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.int64}
        self.l2_bytes = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 60 << 20)
        self.arena_size = arena_bytes(tasks, self.l2_bytes, self.free_bytes())
        self.arena = torch.empty(self.arena_size, dtype=torch.uint8, device="cuda")
        some = torch.randint(0, 256, (min(CHUNK, self.arena_size),), dtype=torch.uint8, device="cuda") & 0x9F | 0x20
        for at in range(0, self.arena_size, CHUNK):
            self.arena[at:at + CHUNK] = some[:self.arena_size - at]
        self.ahead = torch.empty(LEAD, dtype=torch.uint8, device="cuda")
        wake_up(self)

    def free_bytes(self):
        return self.torch.cuda.mem_get_info()[0]

    def flat_source(self, task, i):
        begin = i * slot(task)
        return self.arena[begin:begin + task.src_span * task.word].view(self.kinds[task.word])

    def source(self, task, i):
        return self.flat_source(task, i).as_strided(task.extents, task.src_strides)

    def destination(self, task):
        return self.torch.empty(task.dst_span, dtype=self.kinds[task.word], device="cuda")

    def prepare(self, task, pairs):
        return EventWork(self, task, pairs)

    @staticmethod
    def made(task, src, results, k):
        results[k] = None
        results[k] = src.permute(task.axes).contiguous()

    @staticmethod
    def into(task, src, results, k):
        results[k].as_strided(task.dst_extents, task.dst_strides).copy_(src.permute(task.axes))

    def captured(self, call, calls):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            for _ in range(calls):
                call()
        return graph.replay

    def mark(self):
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    @staticmethod
    def seconds(begin, end):
        return 1e-3 * begin.elapsed_time(end)

    def lead(self):
        self.ahead.zero_()

    def wait(self):
        self.torch.cuda.synchronize()

    def borrowed(self, array):
        return self.torch.from_dlpack(array)

    def words(self, array, task, offsets):
        if task.word == 16:
            array = self.torch.view_as_real(array.reshape(-1))
        flat = array.reshape(-1).view(self.integers[task.word])
        return flat[self.torch.tensor(halves(task, offsets), device="cuda")].tolist()

    def free(self):
        self.torch.cuda.empty_cache()

    def close(self):
        self.arena = self.ahead = None
        self.free()


class CuPy:
    name, has_strides = "cupy", True
    method = ("cupy.ascontiguousarray(src.transpose(axes)); dst[...] = it where dst has padding, and in a CUDA graph "
              "where hot")

    def __init__(self, tasks):
        import cupy
        self.cupy, self.version = cupy, cupy.__version__
        self.kinds = {1: "uint8", 2: "float16", 4: "float32", 8: "float64", 16: "complex128"}
        self.integers = {1: "uint8", 2: "int16", 4: "int32", 8: "int64", 16: "int64"}
        self.l2_bytes = int(cupy.cuda.Device().attributes.get("L2CacheSize", 60 << 20))
        self.stream = cupy.cuda.Stream(non_blocking=True)  # the legacy one cannot be captured
        self.stream.use()
        self.arena_size = arena_bytes(tasks, self.l2_bytes, self.free_bytes())
        self.arena = cupy.empty(self.arena_size, dtype="uint8")
        some = cupy.random.randint(0, 256, min(CHUNK, self.arena_size), dtype="uint8") & 0x9F | 0x20
        for at in range(0, self.arena_size, CHUNK):
            self.arena[at:at + CHUNK] = some[:self.arena_size - at]
        self.ahead = cupy.empty(LEAD, dtype="uint8")
        wake_up(self)

    def free_bytes(self):
        return self.cupy.cuda.runtime.memGetInfo()[0]

    def flat_source(self, task, i):
        begin = i * slot(task)
        return self.arena[begin:begin + task.src_span * task.word].view(self.kinds[task.word])

    def strided(self, flat, extents, strides, word):
        return self.cupy.lib.stride_tricks.as_strided(flat, extents, [word * stride for stride in strides])

    def source(self, task, i):
        return self.strided(self.flat_source(task, i), task.extents, task.src_strides, task.word)

    def destination(self, task):
        return self.cupy.empty(task.dst_span, dtype=self.kinds[task.word])

    def prepare(self, task, pairs):
        return EventWork(self, task, pairs)

    def made(self, task, src, results, k):
        results[k] = None
        results[k] = self.cupy.ascontiguousarray(src.transpose(task.axes))

    def into(self, task, src, results, k):
        self.strided(results[k], task.dst_extents, task.dst_strides, task.word)[...] = src.transpose(task.axes)

    def captured(self, call, calls):
        self.stream.begin_capture()
        try:
            for _ in range(calls):
                call()
        finally:
            graph = self.stream.end_capture()
        return lambda: graph.launch(self.stream)

    def mark(self):
        event = self.cupy.cuda.Event()
        event.record(self.stream)
        return event

    def seconds(self, begin, end):
        return 1e-3 * self.cupy.cuda.get_elapsed_time(begin, end)

    def lead(self):
        self.ahead.data.memset_async(0, LEAD, self.stream)

    def wait(self):
        self.stream.synchronize()

    def borrowed(self, array):
        return self.cupy.from_dlpack(array)

    def words(self, array, task, offsets):
        flat = array.reshape(-1).view(self.integers[task.word])
        return flat[self.cupy.asarray(halves(task, offsets))].tolist()

    def free(self):
        self.wait()
        self.cupy.get_default_memory_pool().free_all_blocks()

    def close(self):
        self.arena = self.ahead = None
        self.free()


class JaxWork:
    """Wall time of several calls, divided by their number. The host waits once, after the last call."""
    clock = "wall"

    def __init__(self, owner, task, pairs):
        self.owner, self.task = owner, task
        self.pairs = pairs if owner.lender is None else min(pairs, owner.lender.arena_size // slot(task))
        if self.pairs == 0:
            raise Unsupported("it does not fit")
        self.sources = [owner.source(task, i) for i in range(self.pairs)]
        axes = tuple(task.axes)
        self.turn = owner.jax.jit(lambda array: owner.jax.numpy.transpose(array, axes))
        self.results = [None] * self.pairs
        self.next, self.calls = 0, 1

    def row(self, count):
        begin = time.perf_counter()
        for _ in range(count):
            k = self.next % self.pairs
            self.next += 1
            self.results[k] = None
            self.results[k] = self.turn(self.sources[k])
        self.owner.jax.block_until_ready([one for one in self.results if one is not None])
        return (time.perf_counter() - begin) / count

    def warm_up(self, count):
        self.row(count)  # compiles
        self.calls = min(500 if self.task.hot else 40, max(2 * self.pairs, math.ceil(4e-3 / self.row(self.pairs))))

    def sample(self, rounds):
        self.row(self.calls)
        return [self.row(self.calls) for _ in range(rounds)]

    def read_src(self, offsets):
        return self.owner.words(self.sources[(self.next - 1) % self.pairs], self.task, offsets)

    def read_dst(self, offsets):
        return self.owner.words(self.results[(self.next - 1) % self.pairs], self.task, offsets)

    def release(self):
        self.sources = self.results = self.turn = None


class Jax:
    name, has_strides = "jax", False
    method = ("jax.jit(lambda x: jax.numpy.transpose(x, axes)): wall time of a row of calls, waited for with "
              "block_until_ready, over their number")

    def __init__(self, tasks):
        import jax
        import numpy
        jax.config.update("jax_enable_x64", True)
        if not any(device.platform == "gpu" for device in jax.devices()):
            raise RuntimeError("it finds no CUDA device")
        self.jax, self.numpy, self.version = jax, numpy, jax.__version__
        self.lender = None  # the framework that owns the sources and reports the free memory
        for make in (Torch, CuPy):
            try:
                self.lender = make([task for task in tasks if task.is_packed] or tasks)
                break
            except Exception:
                continue
        self.l2_bytes = 60 << 20 if self.lender is None else self.lender.l2_bytes
        self.integers = {1: "uint8", 2: "int16", 4: "int32", 8: "int64", 16: "int64"}
        self.kinds = {1: "uint8", 2: "float16", 4: "float32", 8: "float64", 16: "complex128"}

    def free_bytes(self):
        # Memory that JAX freed stays in its pool, so the unused part of the pool is free for JAX.
        stats = self.jax.devices()[0].memory_stats() or {}
        own = stats.get("pool_bytes", 0) - stats.get("bytes_in_use", 0)
        return (8 << 30 if self.lender is None else self.lender.free_bytes()) + max(own, 0)

    def source(self, task, i):
        if self.lender is not None:
            source = self.lender.source(task, i)
            self.lender.wait()
            return self.jax.dlpack.from_dlpack(source)
        dice = self.numpy.random.Generator(self.numpy.random.SFC64(i))
        some = dice.integers(0, 256, task.bytes, self.numpy.uint8) & 0x9F | 0x20
        return self.jax.device_put(some.view(self.kinds[task.word]).reshape(task.extents))

    def prepare(self, task, pairs):
        return JaxWork(self, task, pairs)

    def words(self, array, task, offsets):
        if self.lender is not None:  # selected on the device: copying the whole array to the host takes long
            return self.lender.words(self.lender.borrowed(array), task, offsets)
        flat = self.numpy.asarray(array).reshape(-1).view(self.integers[task.word])
        return flat[self.numpy.asarray(halves(task, offsets))].tolist()

    def free(self):
        self.jax.clear_caches()

    def close(self):
        self.free()
        if self.lender is not None:
            self.lender.close()


def makers(tasks):
    return [(make.name, lambda make=make: make(tasks)) for make in (Torch, CuPy, Jax)]
