#!/usr/bin/env python3
"""Times the transposes of PyTorch, CuPy and JAX on one GPU, on the cases of gpu_cases.inc, as docs/measuring.md says.

    cornerturn bench --device cuda:0 --set bars --list -o cases.json
    bench/cuda_peers.py cases.json -o peers.json --seconds 90
    bench/merge.py RESULT.json... --peers peers.json -o bench/results/NAME.json

A framework that is not installed is listed and left out. The cases alternate between the sets, so that each set has some
results after an early end.
"""
import argparse
import functools
import json
import math
import os
import platform
import random
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cuda_frameworks  # noqa: E402  (beside this file)

ALL_PLACES = 65536  # in arrays of up to this many elements, all elements are checked
SOME_PLACES = 1024  # in larger arrays, this many
WARM_CALLS = 3


def packed(extents):
    return [math.prod(extents[k + 1:]) for k in range(len(extents))]


def span(extents, strides):
    return 1 + sum((extent - 1) * stride for extent, stride in zip(extents, strides))


class Task:
    """A case in words of 1 to 16 bytes. Several words of an element are one more axis, the last one of src and dst."""

    def __init__(self, case):
        self.name, self.set, self.hot, self.bytes = case["name"], case["set"], case["hot"], case["bytes"]
        self.word = math.gcd(case["element_bytes"], 16)
        words = case["element_bytes"] // self.word
        self.extents, self.axes = list(case["extents"]), list(case["axes"])
        self.src_strides = [words * stride for stride in case["src_strides"]]
        self.dst_strides = [words * stride for stride in case["dst_strides"]]
        if words > 1:
            self.axes.append(len(self.extents))
            self.extents.append(words)
            self.src_strides.append(1)
            self.dst_strides.append(1)
        self.dst_extents = [self.extents[axis] for axis in self.axes]
        self.src_span = span(self.extents, self.src_strides)
        self.dst_span = span(self.dst_extents, self.dst_strides)
        self.is_packed = self.src_strides == packed(self.extents) and self.dst_strides == packed(self.dst_extents)
        self.beyond = self.beyond_frameworks(case)

    def beyond_frameworks(self, case):
        """Why no framework does what the case asks; None if they do."""
        if "in_place" in case["set"]:
            return "it does not work in place"
        if any(case.get("shift_bytes", ())):
            return "its arrays begin at other addresses"
        longer = [(extent, self.src_strides[axis]) for extent, axis in zip(self.dst_extents, self.axes) if extent > 1]
        if self.is_packed and [stride for _, stride in longer] == packed([extent for extent, _ in longer]):
            return "it returns the array itself, which has this order already"
        return None

    @functools.cached_property
    def places(self):
        """Offsets in src and in dst of the words to compare, computed by division without any framework."""
        count = math.prod(self.extents)
        if count <= ALL_PLACES:
            chosen = range(count)
        else:
            dice = random.Random(self.name)
            chosen = [0, count - 1] + [dice.randrange(count) for _ in range(SOME_PLACES - 2)]
        pairs = []
        for place in chosen:
            src = dst = 0
            for k in reversed(range(len(self.axes))):
                place, index = divmod(place, self.dst_extents[k])
                src += index * self.src_strides[self.axes[k]]
                dst += index * self.dst_strides[k]
            pairs.append((src, dst))
        return pairs

    def calls_in_graph(self):  # as bench/cuda/measure.cpp
        return min(200, max(8, int(5e-4 / (2e-6 + 2 * self.bytes / 3.5e12))))


def wanted_pairs(task, l2_bytes, free_bytes):
    """At least three pairs, and enough for 4 x L2 of other traffic before a pair is used again; fewer if memory is short."""
    wanted = 1 if task.hot else max(3, math.ceil(4 * l2_bytes / (2 * task.bytes)) + 1)
    each = (task.src_span + task.dst_span) * task.word + (4 << 20)
    return max(0, min(wanted, int(free_bytes * 0.85) // each))


def round_the_sets(tasks):
    by_set = {}
    for task in tasks:
        by_set.setdefault(task.set, []).append(task)
    longest = max((len(group) for group in by_set.values()), default=0)
    return [group[i] for i in range(longest) for group in by_set.values() if i < len(group)]


def right(task, work):
    pairs = task.places
    expected = work.read_src([src for src, _ in pairs])
    return expected == work.read_dst([dst for _, dst in pairs]), len(pairs)


def quartiles(samples):
    return statistics.quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else samples * 3


def row_of(task, samples, verified, checked, work):
    low, median, high = quartiles(samples)
    return {"name": task.name, "threads": 0, "verified": verified, "checked": checked, "samples": len(samples),
            "calls_per_sample": work.calls, "pairs": work.pairs, "clock": work.clock,
            "ns": {"q1": low * 1e9, "median": median * 1e9, "q3": high * 1e9},
            "gb_s": {"q1": 2e-9 * task.bytes / high, "median": 2e-9 * task.bytes / median,
                     "q3": 2e-9 * task.bytes / low}}


def measure(task, framework, rounds):
    """One row. Raises cuda_frameworks.Unsupported, or any exception of the framework."""
    if task.beyond:
        raise cuda_frameworks.Unsupported(task.beyond)
    if not task.is_packed and not framework.has_strides:
        raise cuda_frameworks.Unsupported("it has no strides")
    pairs = wanted_pairs(task, framework.l2_bytes, framework.free_bytes())
    if pairs == 0:
        raise cuda_frameworks.Unsupported("it does not fit")
    work = framework.prepare(task, pairs)
    try:
        work.warm_up(max(WARM_CALLS, pairs))  # compiles and allocates as well
        verified, checked = right(task, work)
        samples = work.sample(rounds)
        verified = verified and right(task, work)[0]
        return row_of(task, samples, verified, checked, work)
    finally:
        work.release()
        del work
        framework.free()


def run(framework, tasks, rounds, deadline, clock=time.monotonic, say=print):
    rows, left_out = [], {}
    for task in round_the_sets(tasks):
        if clock() >= deadline:
            left_out[task.name] = "time"
            continue
        try:
            rows.append(measure(task, framework, rounds))
        except cuda_frameworks.Unsupported as reason:
            left_out[task.name] = str(reason)
            continue
        except Exception as failure:  # a framework may raise anything: out of memory, too many axes, no such kernel
            left_out[task.name] = f"{type(failure).__name__}: {failure}".splitlines()[0][:200]
            say(f"{framework.name:<8} {task.name:<56} failed: {left_out[task.name]}")
            framework.free()
            continue
        say(f"{framework.name:<8} {task.name:<56} {rows[-1]['gb_s']['median']:8.1f} GB/s "
            f"{rows[-1]['ns']['median'] / 1e3:10.2f} us{'' if rows[-1]['verified'] else '  WRONG'}")
    place = {task.name: i for i, task in enumerate(tasks)}
    return sorted(rows, key=lambda row: place[row["name"]]), left_out


def run_all(makers, tasks, given, clock=time.monotonic, say=print):
    """Each framework gets an equal share of the remaining time. Time that one does not need goes to the next ones."""
    begin = clock()
    results, absent = [], {}
    for i, (name, make) in enumerate(makers):
        try:
            framework = make()
        except Exception as reason:  # not installed, or no device, or a library of its own is missing
            absent[name] = f"{type(reason).__name__}: {reason}".splitlines()[0][:200]
            say(f"{name}: absent, {absent[name]}")
            continue
        left = given.seconds - (clock() - begin)
        rows, left_out = run(framework, tasks, given.rounds, clock() + max(left, 0) / (len(makers) - i), clock, say)
        results.append({"peer": framework.name, "version": framework.version, "method": framework.method,
                        "cases": rows, "left_out": left_out})
        framework.close()
        late = sum(reason == "time" for reason in left_out.values())
        say(f"{framework.name} {framework.version}: {len(rows)} cases, {len(left_out) - late} it cannot do, "
            f"{late} for which there was no time")
    return results, absent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", help="from cornerturn bench --device cuda:0 --set NAME --list -o FILE")
    parser.add_argument("-o", "--output", default="", metavar="FILE", help="the result file")
    parser.add_argument("--only", default="", help="frameworks, by commas: pytorch,cupy,jax")
    parser.add_argument("--case", default="", help="only cases whose name has this in it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=90, help="for all of it (90)")
    given = parser.parse_args()
    with open(given.cases, encoding="utf-8") as file:
        tasks = [Task(case) for case in json.load(file) if given.case in case["name"]]
    if not tasks:
        sys.exit("no case is left")
    names = [name for name in given.only.split(",") if name]
    makers = [(name, make) for name, make in cuda_frameworks.makers(tasks) if not names or name in names]
    results, absent = run_all(makers, tasks, given)
    if given.output:
        with open(given.output, "w", encoding="utf-8") as file:
            json.dump({"format": [1, 0, 0], "host_name": platform.node(), "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
                       "peers": results, "absent": absent}, file, indent=1)
    sys.exit(0 if all(row["verified"] for one in results for row in one["cases"]) else 1)


if __name__ == "__main__":
    main()
