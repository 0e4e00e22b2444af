#!/usr/bin/env python3
"""Times numpy.copyto(dst, src.transpose(axes)) on the cases of cases.inc, by the method of docs/measuring.md.

    bench/numpy_peer.py --set quick -o numpy.json
    bench/compare RESULT.json numpy.json

One thread, because numpy.copyto uses no more. There is no roof: bench/compare joins the file by names of cases with a
result of the same machine.
"""
import argparse
import json
import math
import os
import platform
import re
import statistics
import sys
import time

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
ROW = re.compile(r'CASE\((\w+), (\d+), \(([\d, ]+)\), \(([\d, ]+)\), (\w+), "(.*)"\)$')
ROTATION = 1 << 30  # bytes of other traffic before a pair is met again; the C++ bench takes 4 x LLC where that is more


def joined(extents):
    parts, i = [], 0
    while i < len(extents):
        run = i
        while run < len(extents) and extents[run] == extents[i]:
            run += 1
        parts.append(f"{extents[i]}^{run - i}" if run - i >= 5 else str(extents[i]))
        i = run if run - i >= 5 else i + 1
    return "x".join(parts)


def read_cases():
    with open(os.path.join(HERE, "cases.inc"), encoding="utf-8") as file:
        for line in file:
            match = ROW.match(line.strip())
            if not match:
                continue
            extents = [int(x) for x in match[3].split(",")]
            axes = [int(x) for x in match[4].split(",")]
            if match[1].startswith("in_place"):
                continue
            name = f"{match[1]}/b{match[2]}/{joined(extents)}"
            if axes != [1, 0]:
                name += "/" + "".join("0123456789abcdef"[a] for a in axes)
            yield {"set": match[1], "bytes": int(match[2]), "extents": extents, "axes": axes, "name": name,
                   "hot": "hot" in match[5], "quick": "quick" in match[5]}


def chosen(cases, sets, pattern):
    for case in cases:
        member = any(s in ("all", case["set"]) or (s == "quick" and case["quick"])
                     or (s == "bars" and case["set"] != "odd_elements") for s in sets)
        if member and re.search(pattern, case["name"]):
            yield case


def free_bytes():
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))


def fill(buffer, seed):
    words = numpy.random.Generator(numpy.random.SFC64(seed)).integers(0, 256, min(buffer.size, 1 << 22), numpy.uint8)
    words = (words & 0x9F) | 0x20  # finite and normal in every IEEE format, as the C++ bench has it
    for at in range(0, buffer.size, words.size):
        buffer[at:at + words.size] = words[:buffer.size - at]


def right(case, src, dst):
    """Checks every element against a walk over indices, slab by slab, which does not use transpose."""
    expected_shape = [case["extents"][a] for a in case["axes"]]
    if list(dst.shape) != expected_shape:
        return False
    strides = [math.prod(case["extents"][a + 1:]) for a in case["axes"]]
    flat_src, flat_dst = src.reshape(-1), dst.reshape(-1)
    for at in range(0, flat_dst.size, 1 << 22):
        index = numpy.arange(at, min(flat_dst.size, at + (1 << 22)))
        source = numpy.zeros_like(index)
        for extent, stride in zip(reversed(expected_shape), reversed(strides)):
            source += index % extent * stride
            index //= extent
        found = numpy.ascontiguousarray(flat_dst[at:at + source.size])
        if not numpy.array_equal(flat_src[source].view(numpy.uint8), found.view(numpy.uint8)):
            return False
    return True


def measure(case, rounds):
    side = case["bytes"] * math.prod(case["extents"])
    pairs = max(1, min(math.ceil(ROTATION / (2 * side)) + 1, int(free_bytes() * 0.4) // (2 * side)))
    pairs = 1 if case["hot"] else pairs
    kind = numpy.dtype(f"u{case['bytes']}") if case["bytes"] in (1, 2, 4, 8) else numpy.dtype(f"V{case['bytes']}")
    srcs, dsts = [], []
    for i in range(pairs):
        raw = numpy.empty(side, numpy.uint8)
        fill(raw, i)
        srcs.append(raw.view(kind).reshape(case["extents"]))
        dsts.append(numpy.full(side, 0x5A, numpy.uint8).view(kind).reshape([case["extents"][a] for a in case["axes"]]))
    samples, verified, calls = [], True, 1
    for i in range(-1, rounds):
        src, dst = srcs[i % pairs], dsts[i % pairs]
        if i in (-1, rounds - 1):
            dst.reshape(-1).view(numpy.uint8)[:] = 0x5A
        turned = src.transpose(case["axes"])
        begin = time.perf_counter()
        for _ in range(calls):
            numpy.copyto(dst, turned)
        took = (time.perf_counter() - begin) / calls
        if i in (-1, rounds - 1):
            verified = verified and right(case, src, dst)
        if i >= 0:
            samples.append(took)
        elif case["hot"]:
            calls = max(1, int(1e-3 / took))
        elif took > 2:
            rounds = 1
    low, median, high = (statistics.quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else samples * 3)
    return {"name": case["name"], "threads": 1, "verified": verified, "samples": len(samples),
            "ns": {"q1": low * 1e9, "median": median * 1e9, "q3": high * 1e9},
            "gb_s": {"q1": 2e-9 * side / high, "median": 2e-9 * side / median, "q3": 2e-9 * side / low}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--case", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("-o", "--output", default="", metavar="FILE", help="the result file")
    given = parser.parse_args()
    rows = []
    for case in chosen(read_cases(), given.set or ["quick"], given.case):
        row = measure(case, given.rounds)
        rows.append(row)
        print(f"{row['name']:<56} {row['gb_s']['median']:8.2f} GB/s {row['ns']['median']:14.1f} ns"
              f"{'' if row['verified'] else '  WRONG'}", flush=True)
    if given.output:
        with open(given.output, "w", encoding="utf-8") as file:
            json.dump({"peer": "numpy", "version": numpy.__version__, "format": [1, 0, 0],
                       "host_name": platform.node(), "cases": rows}, file, indent=2)
    sys.exit(0 if all(row["verified"] for row in rows) else 1)


if __name__ == "__main__":
    main()
