#!/usr/bin/env python3
"""Times PyTorch's way to transpose a matrix that is spread over GPUs in slabs of rows, beside `cornerturn bench --dist`:

    torchrun --nproc-per-node 2 bench/dist_frameworks.py --gibibytes 2 -o dist-torch.json

Two ways, each checked element by element:

    all_to_all   permute to packed blocks, all_to_all_single, permute
    dtensor      DTensor.redistribute from Shard(0) to Shard(1), and a local transpose

The result is the bytes that leave a GPU in a second, the local part included in the time: the median of the rounds, of the slowest
rank. A matrix has GIBIBYTES for each GPU. bench --dist measures as much.
"""
import argparse
import json
import os
import statistics

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard

TYPES = {1: torch.uint8, 2: torch.float16, 4: torch.float32, 8: torch.float64, 16: torch.complex128}


def all_to_all(x, ranks):
    """The slab of the transposed matrix, from a slab of rows."""
    rows, cols = x.shape
    packed = x.view(rows, ranks, cols // ranks).permute(1, 2, 0).contiguous()  # (to, cols / ranks, rows)
    arrived = torch.empty_like(packed)                                        # (from, cols / ranks, rows)
    numbers = torch.uint8 if packed.is_complex() else packed.dtype
    dist.all_to_all_single(arrived.view(numbers) if packed.is_complex() else arrived,
                           packed.view(numbers) if packed.is_complex() else packed)
    return arrived.permute(1, 0, 2).reshape(cols // ranks, ranks * rows)


def dtensor(x, mesh):
    spread = DTensor.from_local(x, mesh, [Shard(0)], run_check=False)
    return spread.redistribute(mesh, [Shard(1)]).to_local().t().contiguous()


def seconds_of(move, rounds):
    times = []
    for _ in range(rounds + 2):
        dist.barrier()
        torch.cuda.synchronize()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        move()
        end.record()
        torch.cuda.synchronize()
        slowest = torch.tensor(begin.elapsed_time(end), device="cuda")
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        times.append(slowest.item() / 1e3)
    return statistics.median(times[2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gibibytes", type=float, default=2, help="of a GPU (%(default)s)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    ranks = dist.get_world_size()
    mesh = init_device_mesh("cuda", (ranks,))
    results = []
    for size, dtype in TYPES.items():
        side = int((options.gibibytes * 2**30 * ranks / size) ** 0.5) // (16 * ranks) * (16 * ranks)
        rows = side // ranks
        number = (torch.arange(rows, device="cuda").unsqueeze(1) + rank * rows) * 31 + torch.arange(side, device="cuda") * 7
        x = (number % 251).to(dtype)  # element (i, j) is (31 i + 7 j) % 251
        del number
        turned = (torch.arange(side, device="cuda") * 31 + (torch.arange(rows, device="cuda").unsqueeze(1) + rank * rows) * 7) % 251
        wanted = turned.to(dtype)
        del turned
        for name, move in [("all_to_all", lambda: all_to_all(x, ranks)), ("dtensor", lambda: dtensor(x, mesh))]:
            try:
                good = torch.equal(move(), wanted)
                sent = x.numel() * size * (ranks - 1) / ranks
                one = {"how": name, "element_bytes": size, "side": side, "gb_s": sent / seconds_of(move, options.rounds) / 1e9}
                if not good:
                    one = {"how": name, "element_bytes": size, "error": "wrong elements"}
            except (RuntimeError, NotImplementedError) as failed:
                one = {"how": name, "element_bytes": size, "error": str(failed).splitlines()[0][:200]}
            results.append(one)
            if rank == 0:
                print(json.dumps(one), flush=True)
        del x, wanted
        torch.cuda.empty_cache()
    if rank == 0 and options.output:
        with open(options.output, "w") as out:
            json.dump({"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "ranks": ranks, "results": results}, out,
                      indent=1)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
