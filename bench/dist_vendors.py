#!/usr/bin/env python3
"""Times NVIDIA's libraries that transpose a matrix spread over GPUs in slabs of rows, beside `cornerturn bench --dist`:

    python3 bench/dist_vendors.py cutensormg --gpus 2 -o mg.json                    one process
    torchrun --nproc-per-node 2 bench/dist_vendors.py cublasmp -o mp.json           one process for each GPU

    cutensormg   cutensorMgCopy of the wheel cutensor-cu13
    cublasmp     cublasMpGeadd of the wheel nvidia-cublasmp-cu13, C = op(A)

The libraries are found by the loader (LD_LIBRARY_PATH). Every element is compared. The result is the bytes that leave a GPU in a
second, the local part included in the time: the median of the rounds, of the slowest GPU.
"""
import argparse
import ctypes
import json
import os
import statistics

import torch
import torch.distributed as dist

# bytes of an element: PyTorch's type, the number of cudaDataType_t, the numbers of a one and of a zero
TYPES = {2: (torch.float16, 2), 4: (torch.float32, 0), 8: (torch.float64, 1), 16: (torch.complex128, 5)}
SCALARS = {2: ctypes.c_uint16, 4: ctypes.c_float, 8: ctypes.c_double, 16: ctypes.c_double * 2}
ONE = {2: ctypes.c_uint16(0x3C00), 4: ctypes.c_float(1), 8: ctypes.c_double(1), 16: (ctypes.c_double * 2)(1, 0)}


def checked(library, name):
    function = getattr(library, name)

    def call(*arguments):
        status = function(*arguments)
        if status != 0:
            raise RuntimeError(f"{name}: status {status}")
    return call


def slab(side, ranks, rank, dtype, turned=False):
    """Rows of a matrix whose element (i, j) is (31 i + 7 j) % 251, or of its transpose."""
    i = torch.arange(side // ranks, device=f"cuda:{torch.cuda.current_device()}").unsqueeze(1) + rank * (side // ranks)
    j = torch.arange(side, device=i.device)
    rows = []
    for part in i.split(1024):  # the numbers are of 8 bytes, so only some rows of them exist at a time
        rows.append(((part * 7 + j * 31 if turned else part * 31 + j * 7) % 251).to(dtype))
    return torch.cat(rows)


def side_of(options, size, ranks):
    return int((options.gibibytes * 2**30 * ranks / size) ** 0.5) // (64 * ranks) * (64 * ranks)


class CuTensorMg:
    """All GPUs in one process."""

    def __init__(self, gpus):
        self.gpus = gpus
        self.devices = (ctypes.c_int32 * gpus)(*range(gpus))
        ctypes.CDLL("libcutensor.so.2", mode=ctypes.RTLD_GLOBAL)
        library = ctypes.CDLL("libcutensorMg.so.2")
        self.call = lambda name, *arguments: checked(library, "cutensorMg" + name)(*arguments)
        self.handle = ctypes.c_void_p()
        self.call("Create", ctypes.byref(self.handle), ctypes.c_uint32(gpus), self.devices)

    def descriptor(self, side, number):
        made, rows = ctypes.c_void_p(), side // self.gpus
        pair = ctypes.c_int64 * 2
        self.call("CreateTensorDescriptor", self.handle, ctypes.byref(made), ctypes.c_uint32(2), pair(side, side), pair(side, 1),
                  pair(rows, side), pair(rows * side, side), (ctypes.c_int32 * 2)(self.gpus, 1), ctypes.c_uint32(self.gpus),
                  self.devices, ctypes.c_int(number))
        return made

    def prepare(self, side, size):
        number = TYPES[size][1]
        into, source = self.descriptor(side, number), self.descriptor(side, number)
        modes = ctypes.c_int32 * 2
        self.copy = ctypes.c_void_p()
        self.call("CreateCopyDescriptor", self.handle, ctypes.byref(self.copy), into, modes(1, 0), source, modes(0, 1))
        sizes, host = (ctypes.c_int64 * self.gpus)(), ctypes.c_int64()
        self.call("CopyGetWorkspace", self.handle, self.copy, sizes, ctypes.byref(host))
        self.plan = ctypes.c_void_p()
        self.call("CreateCopyPlan", self.handle, ctypes.byref(self.plan), self.copy, sizes, host)
        self.workspace_bytes = max(sizes)
        self.space = [torch.empty(max(int(n), 1), dtype=torch.uint8, device=f"cuda:{g}") for g, n in enumerate(sizes)]
        self.host = torch.empty(max(host.value, 1), dtype=torch.uint8, pin_memory=True)
        self.streams = [torch.cuda.Stream(device=g) for g in range(self.gpus)]

    def run(self, src, dst):
        pointers = ctypes.c_void_p * self.gpus
        self.call("Copy", self.handle, self.plan, pointers(*[d.data_ptr() for d in dst]), pointers(*[s.data_ptr() for s in src]),
                  pointers(*[w.data_ptr() for w in self.space]), ctypes.c_void_p(self.host.data_ptr()),
                  pointers(*[s.cuda_stream for s in self.streams]))

    def measure(self, options, size):
        side, dtype = side_of(options, size, self.gpus), TYPES[size][0]
        src, dst, wanted = [], [], []
        for gpu in range(self.gpus):
            torch.cuda.set_device(gpu)
            src.append(slab(side, self.gpus, gpu, dtype))
            wanted.append(slab(side, self.gpus, gpu, dtype, turned=True))
            dst.append(torch.zeros_like(src[-1]))
        self.prepare(side, size)
        times = []
        for _ in range(options.rounds + 2):
            for gpu in range(self.gpus):
                torch.cuda.synchronize(gpu)
            events = []
            for gpu, stream in enumerate(self.streams):
                events.append((torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)))
                events[-1][0].record(stream)
            self.run(src, dst)
            for (_, end), stream in zip(events, self.streams):
                end.record(stream)
            for gpu in range(self.gpus):
                torch.cuda.synchronize(gpu)
            times.append(max(begin.elapsed_time(end) for begin, end in events) / 1e3)
        good = all(torch.equal(a, b) for a, b in zip(dst, wanted))
        return side, good, statistics.median(times[2:])


class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


class CuBlasMp:
    """One GPU in each process. One handle and one grid serve all types."""

    def __init__(self):
        dist.init_process_group("gloo")
        self.rank, self.gpus = dist.get_rank(), dist.get_world_size()
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        torch.zeros(1, device="cuda")  # the context of this GPU
        nccl, library = ctypes.CDLL("libnccl.so.2", mode=ctypes.RTLD_GLOBAL), ctypes.CDLL("libcublasmp.so.0")
        self.call = lambda name, *arguments: checked(library, "cublasMp" + name)(*arguments)
        number = Id()
        if self.rank == 0:
            checked(nccl, "ncclGetUniqueId")(ctypes.byref(number))
        shared = [bytes(number)]
        dist.broadcast_object_list(shared, 0)
        number = Id.from_buffer_copy(shared[0])
        communicator = ctypes.c_void_p()
        checked(nccl, "ncclCommInitRank")(ctypes.byref(communicator), ctypes.c_int(self.gpus), number, ctypes.c_int(self.rank))
        self.stream = torch.cuda.Stream()
        self.handle, self.grid = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("Create", ctypes.byref(self.handle), ctypes.c_void_p(self.stream.cuda_stream))
        # Slabs of rows in row-major order are slabs of columns of the transpose in column-major order.
        self.call("GridCreate", ctypes.c_int64(1), ctypes.c_int64(self.gpus), ctypes.c_int(0), communicator,
                  ctypes.byref(self.grid))

    def measure(self, options, size):
        side, (dtype, number) = side_of(options, size, self.gpus), TYPES[size]
        src, wanted = slab(side, self.gpus, self.rank, dtype), slab(side, self.gpus, self.rank, dtype, turned=True)
        dst = torch.zeros_like(src)
        whole, mine, zero_rank = ctypes.c_int64(side), ctypes.c_int64(side // self.gpus), ctypes.c_int64(0)
        described = []
        for _ in range(2):
            described.append(ctypes.c_void_p())
            self.call("MatrixDescriptorCreate", whole, whole, mine, mine, zero_rank, zero_rank, whole,
                      ctypes.c_int(number), self.grid, ctypes.byref(described[-1]))
        first = ctypes.c_int64(1)
        zero = SCALARS[size]()
        operands = [self.handle, ctypes.c_int(1), whole, whole,
                    ctypes.byref(ONE[size]), ctypes.c_void_p(src.data_ptr()), first, first, described[0],
                    ctypes.byref(zero), ctypes.c_void_p(dst.data_ptr()), first, first, described[1]]
        on_device, on_host = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("Geadd_bufferSize", *operands, ctypes.byref(on_device), ctypes.byref(on_host))
        self.workspace_bytes = on_device.value
        space = torch.empty(max(on_device.value, 1), dtype=torch.uint8, device="cuda")
        host = ctypes.create_string_buffer(max(on_host.value, 1))
        times = []
        for _ in range(options.rounds + 2):
            torch.cuda.synchronize()
            dist.barrier()
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record(self.stream)
            self.call("Geadd", *operands, ctypes.c_void_p(space.data_ptr()), on_device, host, on_host)
            end.record(self.stream)
            torch.cuda.synchronize()
            slowest = torch.tensor(begin.elapsed_time(end))
            dist.all_reduce(slowest, dist.ReduceOp.MAX)
            times.append(slowest.item() / 1e3)
        good = torch.tensor(int(torch.equal(dst, wanted)))
        dist.all_reduce(good, dist.ReduceOp.MIN)
        return side, bool(good), statistics.median(times[2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=["cutensormg", "cublasmp"])
    parser.add_argument("--gpus", type=int, default=2, help="of cutensormg (%(default)s)")
    parser.add_argument("--gibibytes", type=float, default=2, help="of a GPU (%(default)s)")
    parser.add_argument("--bytes", default="4,8,16,2", help="of an element (%(default)s)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    peer = CuTensorMg(options.gpus) if options.library == "cutensormg" else CuBlasMp()
    first = getattr(peer, "rank", 0) == 0
    results = []
    for size in map(int, options.bytes.split(",")):
        one = {"how": options.library, "element_bytes": size}
        try:
            side, good, seconds = peer.measure(options, size)
            one |= {"side": side, "workspace_bytes": peer.workspace_bytes}
            sent = side * side * size * (peer.gpus - 1) / peer.gpus**2
            one |= {"gb_s": sent / seconds / 1e9} if good else {"error": "wrong elements"}
        except RuntimeError as failed:
            one["error"] = str(failed).splitlines()[0][:200]
        results.append(one)
        if first:
            print(json.dumps(one), flush=True)
            if options.output:
                with open(options.output, "w") as out:
                    json.dump({"torch": torch.__version__, "gpu": torch.cuda.get_device_name(0), "ranks": peer.gpus,
                               "results": results}, out, indent=1)
        torch.cuda.empty_cache()
    os._exit(0)  # the libraries' own teardown is not measured


if __name__ == "__main__":
    main()
