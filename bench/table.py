#!/usr/bin/env python3
"""Turns a result file of `cornerturn bench -o` into a markdown table.

    bench/table.py RESULT.json [--set NAME]...
"""
import argparse

from result_file import geometric_mean, load


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


def table(own, sets):
    machine, method = own["machine"], own["method"]
    lines = [f"{machine['model']}, {machine['simd']}, {own['date']}, revision {own['git_revision'] or 'unknown'}, "
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--set", action="append", help="only this set; may be repeated")
    given = parser.parse_args()
    print(table(load(given.result), given.set))


if __name__ == "__main__":
    main()
