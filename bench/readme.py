#!/usr/bin/env python3
"""Writes every number and every picture of README.md from the result files of bench/results.

    bench/readme.py            # writes README.md between its markers <!-- NAME --> and <!-- /NAME -->, and docs/figures
    bench/readme.py --check    # only names the parts that differ; a difference is exit code 1

Files from a build with uncommitted changes are refused: their numbers belong to no revision.
"""
import argparse
import json
import pathlib
import re
import sys

import charts
from result_file import PEERS, gb_s, geometric_mean, load, peers_of, share

TREE = pathlib.Path(__file__).resolve().parents[1]
GPU, RANDOM = "cuda-h200.json", "random-h200.json"
HOT = ("hot-gpu.json", "hot-cpu.json")  # of `bench --set random --hot`
SYSTEMS = "distributions.json"  # of tools/try_distribution
CPUS = {"cpu-intel-avx512.json": "Intel Xeon, AVX-512", "cpu-amd-zen4.json": "AMD EPYC, Zen 4"}

GPU_CLASSES = {  # the sets of bench/gpu_cases.inc
    "pow2": "matrices, powers of two and multiples of 64",
    "odd": "matrices, odd sides or leading dimensions, 4 to 16 bytes",
    "odd_small": "matrices, odd sides or leading dimensions, 1 and 2 bytes",
    "skinny": "2 to 64 columns or rows",
    "batched": "batches of 8 x 8 to 128 x 128",
    "rank_n": "permutations of rank 3 to 6",
    "rank_many": "permutations of rank 7 to 16",
    "odd_elements": "elements of 3 to 40 bytes",
    "small": "256 x 256 to 4096 x 4096 in a CUDA graph, in L2",
}
CPU_CLASSES = {  # the sets of bench/cases.inc
    "plain": "matrices, sides with many factors of two",
    "pow2": "matrices, powers of two",
    "odd": "matrices, odd sides",
    "small_types": "matrices, 1 and 2 bytes",
    "skinny": "2 to 64 columns or rows",
    "batched": "batches of small matrices",
    "rank_n": "permutations of rank 3 to 6",
    "odd_elements": "elements of 3 to 40 bytes",
    "in_place_square": "squares in place, of a rewrite of their bytes",
    "in_place_rectangle": "rectangles in place, of a rewrite of their bytes",
}


def refuse_unknown_source(own, path):
    revision = own.get("git_revision") or ""
    if not revision or revision.endswith("-dirty"):
        sys.exit(f"{path}: measured at revision '{revision}', wanted a committed one: commit, build and measure again")


def read(folder, name):
    own = load(folder / name)
    refuse_unknown_source(own, folder / name)
    return own


def peer_cell(cases):
    """The peer with the highest mean among the peers of at least half of the cases."""
    found = [one for one in peers_of(cases) if 2 * one.cases >= len(cases)]
    if not found:
        return "-"
    some = f" ({found[0].cases})" if found[0].cases < len(cases) else ""
    return f"{PEERS[found[0].name]} {found[0].theirs:.2f}{some}"


def class_line(title, cases):
    shares = [share(case) for case in cases]
    return f"| {title} | {len(cases)} | **{geometric_mean(shares):.2f}** | {min(shares):.2f} | {peer_cell(cases)} |"


def machine_lines(title, classes, cases):
    by_set = {name: [case for case in cases if case["set"] == name] for name in classes}
    if unknown := {case["set"] for case in cases} - set(classes):
        sys.exit(f"{title}: the table has no class for the set {', '.join(sorted(unknown))}")
    return [f"| **{title}** | | | | |"] + [class_line(classes[name], some) for name, some in by_set.items() if some]


def cases_table(gpu, cpus):
    """One line a class, machine after machine."""
    lines = ["| share of a copy | cases | typical | worst | best other library |", "|---|---:|---:|---:|---|"]
    title = f"{gpu['machine']['gpu']['name']}, {gpu['merged']} processes, {gpu['date']}, {gpu['git_revision']}"
    lines += machine_lines(title, GPU_CLASSES, gpu["cases"])
    for name, own in cpus.items():
        threads = max(case["threads"] for case in own["cases"])
        title = f"{CPUS[name]}, {threads} threads, {own['date']}, {own['git_revision']}"
        lines += machine_lines(title, CPU_CLASSES, [case for case in own["cases"] if case["threads"] == threads and not case["hot"]])
    return "\n".join(lines) + f"\n\n{ahead(gpu)}"


def ahead(gpu):
    """In how many cases another library is faster, and the largest lead."""
    leads = [(gb_s(case, "peer") / gb_s(case, "ours"), case) for case in gpu["cases"] if gb_s(case, "ours") > 0]
    lead, case = max(leads, key=lambda pair: pair[0])
    if lead <= 1:
        return f"On the {gpu['machine']['gpu']['name']} no other library is faster in any of {len(leads)} cases."
    peer = next(one["name"] for one in case["contenders"] if one["gb_s"]["median"] == gb_s(case, "peer"))
    return (f"On the {gpu['machine']['gpu']['name']} another library is faster in {sum(each > 1 for each, _ in leads)} of "
            f"{len(leads)} cases, by {100 * (lead - 1):.0f} % at most ({PEERS[peer]}, `{case['shape']}` of "
            f"{case['element_bytes']} bytes).")


def square(case):
    return case["extents"][-1] == case["extents"][-2]


ODD = (3, 6, 12, 24)
# name, kinds of the sweep, condition on a case; the first class that fits has the case
CLASSES = [
    ("matrices and rank 3 to 7, elements of 4, 8, 16 and 32 bytes", ("matrix", "rank"),
     lambda case: case["element_bytes"] in (4, 8, 16, 32)),
    ("matrices and rank 3 to 7, 2 bytes", ("matrix", "rank"), lambda case: case["element_bytes"] == 2),
    ("matrices and rank 3 to 7, 1 byte", ("matrix", "rank"), lambda case: case["element_bytes"] == 1),
    ("elements of 3, 6, 12 and 24 bytes, any shape", ("matrix", "rank", "odd"), lambda case: case["element_bytes"] in ODD),
    ("one side of at most 64 elements", ("skinny",), lambda case: True),
    ("copies of runs of 64 bytes and more", ("copy",), lambda case: case["extents"][-1] * case["element_bytes"] >= 64),
    ("copies of shorter runs", ("copy",), lambda case: True),
    ("batches, elements of 3 bytes and more", ("batch",), lambda case: case["element_bytes"] > 2),
    ("batches, 1 and 2 bytes", ("batch",), lambda case: True),
    ("squares in place, 4, 8, 16 and 32 bytes", ("in_place",),
     lambda case: square(case) and case["element_bytes"] in (4, 8, 16, 32)),
    ("squares in place, 2 bytes", ("in_place",), lambda case: square(case) and case["element_bytes"] == 2),
    ("squares in place, 1 byte", ("in_place",), lambda case: square(case) and case["element_bytes"] == 1),
    ("squares in place, 3, 6, 12 and 24 bytes", ("in_place",), square),
    ("rectangles in place; 0.5 is two passes", ("in_place",), lambda case: True),
]


RANDOM_WORDS = "The shapes above were selected by hand. `bench --set random` draws shapes, axes, leading dimensions and addresses."
RANDOM_PEERS = """ The last
column has the best other library: its typical share, and the share of cornerturn in the cases that it supports. `-` means
that no other library was measured in a quarter of the cases or more."""


def class_of(case):
    kind = case["set"].removeprefix("random_")
    return next(name for name, kinds, fits in CLASSES if kind in kinds and fits(case))


def random_peer_cell(cases):
    found = [one for one in peers_of(cases) if 4 * one.cases >= len(cases)]
    return f"{PEERS[found[0].name]} {found[0].theirs:.2f}, cornerturn {found[0].ours:.2f} ({found[0].cases})" if found else "-"


def random_table(own):
    """One line a class of the random sweep."""
    by_class = {name: [] for name, _, _ in CLASSES}
    for case in own["cases"]:
        by_class[class_of(case)].append(case)
    peers = {name: random_peer_cell(cases) for name, cases in by_class.items()}
    has_peers = set(peers.values()) != {"-"}
    words = RANDOM_WORDS + (RANDOM_PEERS if has_peers else "")
    lines = ["| random problems | cases | typical | worst |" + " best other library, and cornerturn in its cases |" * has_peers,
             "|---|---:|---:|---:|" + "---|" * has_peers]
    for name, cases in by_class.items():
        if cases:
            shares = [share(case) for case in cases]
            lines.append(f"| {name} | {len(cases)} | **{geometric_mean(shares):.2f}** | {min(shares):.2f} |"
                         + f" {peers[name]} |" * has_peers)
    few, many = (pick(case["processes"] for case in own["cases"]) for pick in (min, max))
    runs = "one process" if many == 1 else f"median of {few if few == many else f'{few} to {many}'} processes"
    return words + "\n\n" + "\n".join(lines) + f"\n\n{own['machine']['gpu']['name']}: {own['date']}, {runs}, revision {own['git_revision']}."


HOT_WORDS = "`bench --set random --hot` draws arrays that stay in a cache: each is transposed again and again, on a GPU in a graph."
HOT_ENDS = {True: (256, 2048, 8192, 32768), False: (4, 64, 1024)}  # KiB of one array; True: of a GPU


def hot_lines(own):
    """The bold line of a machine, and one line a size."""
    gpu = own["machine"].get("gpu")
    lines = [f"| **{gpu['name'] if gpu else own['machine']['model'] + ', one thread'}, {own['date']}, {own['git_revision']}** | | | | |"]
    least = 0
    for end in HOT_ENDS[gpu is not None]:
        cases = [case for case in own["cases"] if least < case["bytes"] <= end << 10]
        least = end << 10
        if cases:
            shares = [share(case) for case in cases]
            size = f"{end} KiB" if end < 1024 else f"{end >> 10} MiB"
            lines.append(f"| up to {size} | {len(cases)} | **{geometric_mean(shares):.2f}** | {min(shares):.2f} | {random_peer_cell(cases)} |")
    return lines


def hot_table(files):
    lines = ["| in cache, share of a copy in cache | cases | typical | worst | best other code, and cornerturn in its cases |",
             "|---|---:|---:|---:|---|"]
    return HOT_WORDS + "\n\n" + "\n".join(lines + [line for own in files for line in hot_lines(own)])


def faster(gpu):
    """The line under the chart."""
    peers = sorted(charts.peers_in_chart(gpu), key=lambda one: one.faster)
    words = ", ".join(f"**{one.faster:.1f} x** faster than {PEERS[one.name]}" for one in peers)
    known = {**gpu["machine"]["gpu"].get("peers", {}), **gpu["peers"]}
    versions = ", ".join(f"{PEERS[one.name]} {known[one.name]['version']}" for one in peers
                         if known.get(one.name, {}).get("version"))
    machine = gpu["machine"]["gpu"]
    least = min(case["bytes"] for case in gpu["cases"] if not case["hot"])
    return (f"On an {machine['name']} cornerturn is {words}.\n"
            f"These are geometric means over the cases that each library supports, with cold caches and arrays of {least / 1e6:.0f} MB "
            f"and more ({gpu['date']}, CUDA {machine['runtime']}; {versions}). In a cache others are closer: "
            f"[Performance](#performance) has these sizes, too.")


def duration(seconds):
    return f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"


def systems_table(entries):
    """A line for each system and compiler of tools/try_distribution."""
    lines = ["| system | compiler | CMake, Highway, fmt, CLI11 | `./dev demo` | `./dev test` | `pip install .`, its tests |",
             "|---|---|---|---|---|---|"]
    for one in entries:
        cells = []
        for command in ["./dev demo", "./dev test", "tools/try_python"]:
            found = [result for result in one["results"] if command in result["command"]]
            words = []
            for result in found:
                python = re.search(r"python(3[0-9.]+t?)$", result["command"])
                words.append((f"{python[1]}: " if python else "") +
                             (f"{result['passed']:,} passed" if result["passed"] is not None else duration(result["seconds"])) +
                             (f", {result['failed']:,} failed" if result["failed"] else "") +
                             ("" if result["ok"] else ", **failed**"))
            cells.append("; ".join(words) or "-")
        versions = ", ".join(one["versions"][name] for name in ["cmake", "hwy", "fmt", "cli11"])
        lines.append(f"| {one['system']} | {one['compiler']} | {versions} | {' | '.join(cells)} |")
    results = [result for one in entries for result in one["results"]]
    dates = sorted({result["date"] for result in results})
    return "\n".join(lines) + f"\n\nTried in bare systems, {dates[0]}{f' to {dates[-1]}' if len(dates) > 1 else ''}, " \
        f"{results[0]['threads']} threads. [CONTRIBUTING.md](CONTRIBUTING.md) tells how."


def blocks(folder):
    gpu = read(folder, GPU)
    made = {"faster": faster(gpu), "table:cases": cases_table(gpu, {name: read(folder, name) for name in CPUS})}
    made["table:random"] = random_table(read(folder, RANDOM)) if (folder / RANDOM).exists() else ""
    made["table:hot"] = hot_table([read(folder, name) for name in HOT if (folder / name).exists()])
    made["table:systems"] = systems_table(json.loads((folder / SYSTEMS).read_text())) if (folder / SYSTEMS).exists() else ""
    return made


def figures(folder):
    gpu = read(folder, GPU)
    made = {"badges.svg": charts.badges(TREE)}
    for theme in charts.THEMES:
        made[f"speed-{theme}.svg"] = charts.speed(gpu, theme)
        made[f"transpose-{theme}.svg"] = charts.transpose(theme)
    return made


def put_between(page, mark, text):
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        sys.exit(f"README.md: wants {begin} and {end} once each")
    head, rest = page.split(begin)
    return f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; name the parts that differ")
    parser.add_argument("--results", type=pathlib.Path, default=TREE / "bench/results", help="another folder of result files")
    given = parser.parse_args()
    wanted = {TREE / "docs/figures" / name: text for name, text in figures(given.results).items()}
    page = (TREE / "README.md").read_text(encoding="utf-8")
    for mark, text in blocks(given.results).items():
        page = put_between(page, mark, text)
    wanted[TREE / "README.md"] = page
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        print(f"{'differs' if given.check else 'wrote'}: {path.relative_to(TREE)}")
        if not given.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
    if given.check and stale:
        sys.exit("the result files say otherwise: run ./dev readme")


if __name__ == "__main__":
    main()
