#!/usr/bin/env python3
"""Merges the result files of several processes on one kind of GPU, or CPU, and the file of cuda_peers.py, and checks the bars.

    bench/merge.py RUN1.json ... RUN5.json --peers PEERS.json -o bench/results/NAME.json --check
    bench/merge.py bench/results/NAME.json --check                      # the bars of gpu_bars.inc, once more

Files of one seed or of several seeds of `--set random` are merged too; bench/readme.py reads random-h200.json.

A share is the median of the shares of all processes; each is relative to the roof of its own process. `worst` is the lowest
median of one process, or of one place of one process. A wrong result in one process makes the case wrong. --check lists the
cases that miss each bar. A miss, or fewer than five processes, gives exit code 1.
"""
import argparse
import json
import math
import os
import re
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LEAST_PROCESSES = 5
KEPT = ("name", "set", "shape", "element_bytes", "bytes", "hot", "threads")
KEPT_OF_RANDOM = ("note", "extents", "axes")  # the class of a random case, and how to draw it again


def rounded(value):
    return float(f"{value:.4g}")


def quartiles(values):
    low, median, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {"q1": rounded(low), "median": rounded(median), "q3": rounded(high)}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values and min(values) > 0 else 0.0


def median_gb_s(contenders):
    return rounded(statistics.median(one["gb_s"]["median"] for one in contenders))


def best(contenders, role):
    right = [one for one in contenders if one["role"] == role and one.get("verified", True)]
    return max(right, key=lambda one: one["gb_s"]["median"], default=None)


def named(case, name):
    return next((one for one in case["contenders"] if one["name"] == name), None)


def contender(found, role, wrong):
    """The merged row of one contender from all processes. If one result was wrong, it has no speed."""
    row = {"name": found[0]["name"], "role": role, "gb_s": {"median": 0.0 if wrong else median_gb_s(found)}}
    if wrong:
        row.update(verified=False, wrong=wrong)
    return row


def wrongs(found):
    return next((one.get("wrong") or "wrong" for one in found if not one.get("verified", True)), "")


def merged_case(cases):
    """cases: one case, as each process measured it."""
    first = cases[0]
    ours = [case["contenders"][0] for case in cases]
    wrong = wrongs(ours)
    row = {key: first[key] for key in KEPT + (KEPT_OF_RANDOM if first["set"].startswith("random") else ())}
    row["kernel"] = "; ".join(dict.fromkeys(case["kernel"] for case in cases))
    row["processes"] = len(cases)
    shares = [0.0] if wrong else [case["share"]["median"] for case in cases]
    places = [0.0] if wrong else [case.get("place_shares", {"lowest": case["share"]["median"]})["lowest"] for case in cases]  # only a GPU has places
    row["share"] = quartiles(shares)
    row["worst"] = {"process": rounded(min(shares)), "place": rounded(min(places))}
    roofs = [roof for roof in (best(case["contenders"], "roof") for case in cases) if roof is not None]
    mine = contender(ours, "ours", wrong)
    mine["ns"] = quartiles([one["ns"]["median"] for one in ours])
    row["contenders"] = [mine]
    if roofs:
        names = [roof["name"] for roof in roofs]
        most = max(dict.fromkeys(names), key=names.count)
        row["contenders"].append({"name": most, "role": "roof", "gb_s": {"median": median_gb_s(roofs)}})
    for name in dict.fromkeys(one["name"] for case in cases for one in case["contenders"] if one["role"] == "peer"):
        found = [one for one in (named(case, name) for case in cases) if one is not None]
        row["contenders"].append(contender(found, "peer", wrongs(found)))
    return row


def add_peers(rows, files):
    """Adds the cases of each framework: the median over the files that have the case."""
    methods = {}
    by_name = {row["name"]: row for row in rows}
    found = {}
    for file in files:
        for peer in file["peers"]:
            methods[peer["peer"]] = {"version": peer["version"], "method": peer["method"]}
            for case in peer["cases"]:
                found.setdefault((case["name"], peer["peer"]), []).append({"name": peer["peer"], **{
                    key: case[key] for key in ("gb_s", "verified")}})
    for (name, _), several in found.items():
        if name in by_name:
            by_name[name]["contenders"].append(contender(several, "peer", wrongs(several)))
    return methods


def merged(runs, peer_files):
    own = [run["cornerturn"] for run in runs]
    machines = {one["machine"].get("gpu", {}).get("name") or one["machine"]["model"] for one in own}
    revisions = {one["git_revision"] for one in own}
    if len(machines) != 1:
        sys.exit(f"the files are not of one kind of machine: {', '.join(sorted(machines))}")
    if len(revisions) != 1:
        sys.exit(f"the files are not of one revision: {', '.join(sorted(revisions))}")
    by_name = {}
    for one in own:
        for case in one["cases"]:
            by_name.setdefault((case["name"], case.get("note", "")), []).append(case)  # two seeds may draw one problem
    rows = [merged_case(cases) for cases in by_name.values()]
    methods = add_peers(rows, peer_files)
    return {"context": {"date": max(run["context"]["date"] for run in runs),
                        "host_name": runs[0]["context"]["host_name"]},
            "cornerturn": {"format": [1, 1, 0], "merged": len(runs), "version": own[0]["version"],
                           "git_revision": own[0]["git_revision"], "machine": own[0]["machine"],
                           "method": own[0]["method"], "peers": methods, "cases": rows}}


def text_of(whole):
    """One case a line, so that files stay small and their diffs are readable."""
    head = json.dumps({**whole, "cornerturn": {**whole["cornerturn"], "cases": []}}, indent=1)
    cut = head.rindex("[]")
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in whole["cornerturn"]["cases"])
    return head[:cut] + "[\n" + lines + "\n]" + head[cut + 2:] + "\n"


def read_bars():
    with open(os.path.join(HERE, "gpu_bars.inc"), encoding="utf-8") as file:
        return [(kind, name, float(bar)) for kind, name, bar in
                re.findall(r"^(GEOMEAN|SHARE|PLACE|OVER_COPY)\((\w+), ([\d.]+)\)", file.read(), re.M)]


def check_each(bar_text, bar, at_least, cases, value):
    found = [(value(case), case) for case in cases]
    missed = [(is_, case) for is_, case in found if (is_ < bar if at_least else is_ > bar)]
    worst = (min if at_least else max)((is_ for is_, _ in found), default=0)
    lines = [f"{'MISSED' if missed else 'passed'}  {bar_text}: worst {worst:.3f}, "
             f"{len(cases) - len(missed)} of {len(cases)} reach it"]
    for is_, case in sorted(missed, key=lambda pair: pair[0], reverse=not at_least):
        lines.append(f"          {is_:.3f}  {case['name']}  [{case['kernel']}]"
                     f"{'' if case['contenders'][0].get('verified', True) else '  WRONG'}")
    return lines, bool(missed)


def check_peers(cases):
    lines, missed = [], False
    names = dict.fromkeys(one["name"] for case in cases for one in case["contenders"] if one["role"] == "peer")
    for name in names:
        slower = []
        both = [(case, named(case, name)) for case in cases if named(case, name)]
        both = [(case, peer) for case, peer in both if peer.get("verified", True)]
        for case, peer in both:
            ours = case["contenders"][0]["gb_s"]["median"]
            if ours <= peer["gb_s"]["median"]:
                slower.append(f"          {ours / peer['gb_s']['median']:.3f} of its speed  {case['name']}  "
                              f"[{case['kernel']}]")
        lines.append(f"{'MISSED' if slower else 'passed'}  faster than {name}: in {len(both) - len(slower)} of "
                     f"{len(both)}, {len(cases) - len(both)} not compared")
        lines += slower
        missed |= bool(slower)
    if not names:
        lines.append("no peer was measured")
    return lines, missed


def check(own):
    """The lines to print, and whether any bar is missed."""
    lines, any_missed = [], own.get("merged", 1) < LEAST_PROCESSES
    if any_missed:
        lines.append(f"MISSED  {own.get('merged', 1)} processes: the bars want {LEAST_PROCESSES}")
    few = [case["name"] for case in own["cases"] if case["processes"] < own["merged"]]
    if few:
        lines.append(f"MISSED  not measured by every process: {', '.join(few[:5])}{' ...' if len(few) > 5 else ''}")
        any_missed = True
    for kind, name, bar in read_bars():
        cases = [case for case in own["cases"] if case["set"] == name]
        if not cases:
            lines.append(f"not measured  {name} ({kind} {bar})")
            continue
        if kind == "GEOMEAN":
            mean = geometric_mean([case["share"]["median"] for case in cases])
            more, missed = [f"{'passed' if mean >= bar else 'MISSED'}  {name}: geometric mean >= {bar}: {mean:.3f} of "
                            f"{len(cases)} cases"], mean < bar
        elif kind == "SHARE":
            more, missed = check_each(f"{name}: every share >= {bar}", bar, True, cases,
                                      lambda case: case["share"]["median"])
        elif kind == "PLACE":
            more, missed = check_each(f"{name}: every process and place >= {bar}", bar, True, cases,
                                      lambda case: min(case["worst"].values()))
        else:
            more, missed = check_each(f"{name}: every time <= {bar} x the best copy's", bar, False, cases,
                                      lambda case: 1 / max(case["share"]["median"], 1e-3))
        lines += more
        any_missed |= missed
    more, missed = check_peers(own["cases"])
    return lines + more, any_missed or missed


def read(path):
    with open(path, encoding="utf-8") as file:
        whole = json.load(file)
    for key in ("cornerturn", "peers"):
        if key in whole:
            return whole
    sys.exit(f"{path}: no result file of this bench")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", help="of cornerturn bench --device cuda:0 -o FILE; or one merged file")
    parser.add_argument("--peers", action="append", default=[], help="of cuda_peers.py; may be repeated")
    parser.add_argument("-o", "--output", metavar="FILE", help="the merged file")
    parser.add_argument("--check", action="store_true", help="compare it with the bars; a slower result is exit code 1")
    given = parser.parse_args()
    runs = [read(path) for path in given.results]
    whole = runs[0] if "merged" in runs[0]["cornerturn"] else merged(runs, [read(path) for path in given.peers])
    if given.output:
        with open(given.output, "w", encoding="utf-8") as file:
            file.write(text_of(whole))
    if not given.check:
        return
    lines, missed = check(whole["cornerturn"])
    print("\n".join(lines))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
