#!/usr/bin/env python3
"""Turns a result file of `cornerturn bench -o` into a markdown table.

    bench/table.py RESULT.json                               # to stdout
    bench/table.py RESULT.json --short --into README.md --mark table:cpu # between <!-- table:cpu --> and its end
    bench/table.py MERGED.json --groups --into README.md --mark table:cuda # a file of merge.py: one line a set
"""
import argparse
import json
import math
import sys


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values and min(values) > 0 else 0.0


def load(path):
    with open(path, encoding="utf-8") as file:
        own = json.load(file).get("cornerturn")
    if not own:
        sys.exit(f"{path}: no block `cornerturn`: not a result file of this bench")
    if own["format"][0] != 1:
        sys.exit(f"{path}: format {own['format']}: this script reads format 1")
    return own


def peer_cell(case):
    right = [c for c in case["contenders"] if c["role"] == "peer" and c.get("verified", True)]
    if not right:
        return "-"
    best = max(right, key=lambda c: c["gb_s"]["median"])
    return f"{best['name']}{' (sliced)' if best.get('sliced') else ''} {best['gb_s']['median']:.1f}"


def row(case):
    ours = case["contenders"][0]
    roof = max((c["gb_s"]["median"] for c in case["contenders"] if c["role"] == "roof"), default=0)
    share, rate = case["share"], ours["gb_s"]["median"]
    cells = [case["shape"], case["element_bytes"], case["threads"], f"`{case['kernel']}`"]
    if case["hot"]:
        cells += [f"{ours['ns']['median']:.1f} ns", "-", "in cache"]
    else:
        cells += [f"{rate:.1f}", f"{roof:.1f}", f"{share['median']:.2f} ({share['q1']:.2f}-{share['q3']:.2f})"]
    cells.append(peer_cell(case))
    return "| " + " | ".join(map(str, cells)) + (" | WRONG |" if not ours.get("verified", True) else " |")


def table(own, sets, date):
    machine, method = own["machine"], own["method"]
    lines = [f"{machine['model']}, {machine['simd']}, {date}, revision {own['git_revision'] or 'unknown'}, "
             f"{'2 MiB' if method['huge_pages'] else '4 KiB'} pages, median of {method['rounds']} rounds.", ""]
    for name in dict.fromkeys(case["set"] for case in own["cases"]):
        if sets and name not in sets:
            continue
        cases = [case for case in own["cases"] if case["set"] == name]
        lines += [f"**{name}**", "", "| case | bytes | threads | kernel | GB/s | roof | share (quartiles) | best peer |",
                  "|---|---:|---:|---|---:|---:|---|---|"]
        lines += [row(case) for case in cases]
        for threads in sorted({case["threads"] for case in cases if not case["hot"]}):
            mean = geometric_mean([case["share"]["median"] for case in cases if case["threads"] == threads])
            lines.append(f"| geometric mean | | {threads} | | | | {mean:.2f} | |")
        lines.append("")
    return "\n".join(lines)


def short_table(own, sets, date):
    """One line a case: shares of the roof, ours on each number of threads and the best peer's on the same."""
    machine = own["machine"]
    cases = [case for case in own["cases"] if not case["hot"] and (not sets or case["set"] in sets)]
    threads = sorted({case["threads"] for case in cases})
    lines = [f"Share of the copy roof, {machine['model']}, {machine['simd']}, {date} (in brackets the best of the linked "
             "peers; a name and its axes as in `numpy.transpose`):", "",
             "| case | bytes | " + " | ".join(f"{n} thread{'s' if n > 1 else ''}" for n in threads) + " |",
             "|---|---:|" + "---|" * len(threads)]
    for name in dict.fromkeys((case["shape"], case["element_bytes"]) for case in cases):
        cells = [name[0], str(name[1])]
        for n in threads:
            one = next((c for c in cases if (c["shape"], c["element_bytes"], c["threads"]) == (*name, n)), None)
            peers = [c["gb_s"]["median"] for c in one["contenders"] if c["role"] == "peer" and c.get("verified", True)] if one else []
            roof = max(c["gb_s"]["median"] for c in one["contenders"] if c["role"] == "roof") if one else 1
            cells.append(f"**{one['share']['median']:.2f}**" + (f" ({max(peers) / roof:.2f})" if peers else "") if one else "-")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


GROUPS = {  # readable names for the sets of gpu_cases.inc
    "pow2": "matrices, powers of two and multiples of 64",
    "odd": "matrices, odd sides or leading dimensions, 4 to 16 bytes",
    "odd_small": "the same, 1 and 2 bytes",
    "skinny": "2 to 64 columns or rows",
    "batched": "batches of 8 x 8 to 128 x 128",
    "rank_n": "permutations of rank 3 to 6",
    "rank_many": "permutations of rank 7 to 16",
    "odd_elements": "elements of 3 to 40 bytes",
    "small": "256 x 256 to 4096 x 4096 in a CUDA graph",
}
PEERS = {"cublas_geam": "cuBLAS", "cutensor": "cuTENSOR", "cutensor_jit": "cuTENSOR JIT", "pytorch": "PyTorch",
         "cupy": "CuPy", "jax": "JAX"}


def gb_s(case, role, name=None):
    """The best of a role, or the one of that name; 0 where there is no right one."""
    return max((c["gb_s"]["median"] for c in case["contenders"]
                if c["role"] == role and c.get("verified", True) and name in (None, c["name"])), default=0)


def peer_group(cases, name):
    both = [(gb_s(case, "peer", name), gb_s(case, "roof")) for case in cases]
    shares = [peer / roof for peer, roof in both if peer > 0 and roof > 0]
    part = "" if len(shares) == len(cases) else f" ({len(shares)})"
    return f"{geometric_mean(shares):.2f}{part}" if shares else "-"


def group_table(own, sets, date):
    """One line a set: ours, and each peer's geometric mean."""
    gpu, processes = own["machine"]["gpu"], own["merged"]
    peers = [name for name in PEERS if any(gb_s(case, "peer", name) for case in own["cases"])]
    known = {**gpu.get("peers", {}), **own["peers"]}  # of the process of the library, and of cuda_peers.py
    versions = ", ".join(f"{PEERS.get(name, name)} {known[name]['version']}" for name in known
                         if known[name].get("version") and not known[name].get("absence"))
    lines = [f"Share of the copy roof, {gpu['name']}, CUDA {gpu['runtime']}, {date}, cold L2, median of {processes} "
             f"processes ({versions + '; ' if versions else ''}a peer's is its geometric mean, in brackets of how many "
             "cases where not of all):", "",
             "| cases | | geometric mean | worst case | its worst process or place | "
             + " | ".join(PEERS[name] for name in peers) + " |",
             "|---|---:|---:|---:|---:|" + "---:|" * len(peers)]
    for name in dict.fromkeys(case["set"] for case in own["cases"]):
        cases = [case for case in own["cases"] if case["set"] == name]
        if sets and name not in sets:
            continue
        shares = [case["share"]["median"] for case in cases]
        cells = [GROUPS.get(name, name), str(len(cases)), f"**{geometric_mean(shares):.3f}**", f"{min(shares):.3f}",
                 f"{min(min(case['worst'].values()) for case in cases):.3f}"]
        lines.append("| " + " | ".join(cells + [peer_group(cases, peer) for peer in peers]) + " |")
    return "\n".join(lines) + "\n"


def put_between(path, mark, text):
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    with open(path, encoding="utf-8") as file:
        page = file.read()
    if page.count(begin) != 1 or page.count(end) != 1:
        sys.exit(f"{path}: wants {begin} and {end} once each")
    head, rest = page.split(begin)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--set", action="append", help="only this set; may be repeated")
    parser.add_argument("--short", action="store_true", help="one table, one line a case, shares only")
    parser.add_argument("--groups", action="store_true", help="one table, one line a set, of a file of merge.py")
    parser.add_argument("--into", help="a markdown file to change in place")
    parser.add_argument("--mark", default="bench", help="the name of the markers (bench)")
    given = parser.parse_args()
    with open(given.result, encoding="utf-8") as file:
        date = json.load(file)["context"]["date"][:10]
    make = group_table if given.groups else short_table if given.short else table
    text = make(load(given.result), given.set, date)
    if given.into:
        put_between(given.into, given.mark, text)
    else:
        print(text)


if __name__ == "__main__":
    main()
