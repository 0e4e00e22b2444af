"""bench/merge.py, and the output of bench/compare for its files."""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import merge  # noqa: E402
from result_file import PEERS  # noqa: E402

ROOF = 4000.0  # GB/s
BYTES = 1 << 28


def spread(value):
    return {"q1": 0.99 * value, "median": value, "q3": 1.01 * value}


def one(name, role, gb_s, wrong=""):
    row = {"name": name, "role": role, "gb_s": spread(gb_s), "ns": spread(2 * BYTES / gb_s), "samples": 7,
           "calls_per_sample": 1, "sliced": False, "verified": not wrong}
    return {**row, "wrong": wrong} if wrong else row


def case(name, share, place=None, peer=1000.0, wrong=""):
    contenders = [one("cornerturn", "ours", share * ROOF, wrong), one("copy_a", "roof", ROOF),
                  one("copy_b", "roof", 3000.0), one("cublas_geam", "peer", peer)]
    return {"name": name, "set": name.split("/")[0], "shape": name.split("/")[2], "element_bytes": 4, "extents": [8, 8],
            "axes": [1, 0], "note": "", "bytes": BYTES, "hot": False, "threads": 0, "pairs": 3, "other_cpus": 0,
            "kernel": "gpu_tile_b4_64x64_r4_xor", "share": spread(share), "contenders": contenders,
            "place_shares": {"lowest": place or share, "median": share, "highest": share}, "device": "cuda:0"}


def run(*cases):
    return {"context": {"date": "2026-11-21T12:00:00+0000", "host_name": "h"},
            "cornerturn": {"format": [1, 0, 0], "version": "0", "git_revision": "abc", "method": {"rounds": 7},
                           "machine": {"gpu": {"name": "NVIDIA H200", "runtime": "13.0"}}, "cases": list(cases)}}


def peers(*rows, name="pytorch"):
    return {"host_name": "h", "peers": [{"peer": name, "version": "2", "method": "m", "cases": [
        {"name": of, "threads": 0, "verified": right, "gb_s": spread(gb_s), "ns": spread(2 * BYTES / gb_s)}
        for of, gb_s, right in rows]}]}


def five(*shares, **more):
    return [run(case("pow2/b4/8192x8192", share, **more)) for share in shares]


def verdicts(own):
    return {line.split("  ")[1].split(": ")[0] + ("" if "geometric" not in line else " mean"): line.split("  ")[0]
            for line in merge.check(own)[0] if not line.startswith(" ")}


class Merging(unittest.TestCase):
    def test_median_and_worst_of_the_processes(self):
        own = merge.merged(five(0.99, 0.95, 0.97, 0.93, 0.98, place=0.91), [])["cornerturn"]
        found = own["cases"][0]
        self.assertEqual(found["share"], {"q1": 0.95, "median": 0.97, "q3": 0.98})
        self.assertEqual(found["worst"], {"process": 0.93, "place": 0.91})
        self.assertEqual([c["name"] for c in found["contenders"]], ["cornerturn", "copy_a", "cublas_geam"])
        self.assertEqual(found["contenders"][0]["gb_s"]["median"], 3880)

    def test_files_of_a_cpu(self):
        runs = five(0.5, 0.7, 0.6)
        for each in runs:
            each["cornerturn"]["machine"] = {"model": "a CPU"}
            del each["cornerturn"]["cases"][0]["place_shares"]
        found = merge.merged(runs, [])["cornerturn"]["cases"][0]
        self.assertEqual((found["share"]["median"], found["worst"]), (0.6, {"process": 0.5, "place": 0.5}))
        with self.assertRaisesRegex(SystemExit, "not of one kind of machine: NVIDIA H200, a CPU"):
            merge.merged(runs[:1] + five(0.5), [])

    def test_wrong_in_one_process_is_wrong(self):
        runs = five(0.99, 0.99, 0.99, 0.99) + five(0.99, wrong="an element differs")
        own = merge.merged(runs, [])["cornerturn"]
        self.assertEqual(own["cases"][0]["share"]["median"], 0)
        self.assertEqual(own["cases"][0]["contenders"][0]["wrong"], "an element differs")
        self.assertEqual(verdicts(own)["pow2"], "MISSED")
        self.assertEqual(verdicts(own)["faster than cublas_geam"], "MISSED")

    def test_peers_are_added_and_wrong_ones_do_not_count(self):
        name = "pow2/b4/8192x8192"
        own = merge.merged(five(*[0.97] * 5), [peers((name, 2000.0, True)), peers((name, 2200.0, True)),
                                               peers((name, 9000.0, False), name="cupy"),
                                               peers(("pow2/elsewhere", 1.0, True), name="jax")])["cornerturn"]
        found = {c["name"]: c for c in own["cases"][0]["contenders"]}
        self.assertEqual(found["pytorch"]["gb_s"]["median"], 2100)
        self.assertFalse(found["cupy"]["verified"])
        self.assertNotIn("jax", found)
        self.assertEqual(verdicts(own)["faster than pytorch"], "passed")

    def test_a_faster_peer_is_listed(self):
        own = merge.merged(five(*[0.97] * 5), [peers(("pow2/b4/8192x8192", 3900.0, True))])["cornerturn"]
        lines, missed = merge.check(own)
        self.assertTrue(missed)
        self.assertTrue(any("0.995 of its speed  pow2/b4/8192x8192" in line for line in lines), lines)

    def test_seeds_of_the_random_set(self):
        def drawn(seed, share):
            return {**case("random_copy/b4/64x32x16/102", share), "note": f"seed {seed} index 0", "extents": [64, 32, 16]}
        own = merge.merged([run(drawn(1, 0.9)), run(drawn(1, 0.8)), run(drawn(2, 0.5))], [])["cornerturn"]
        self.assertEqual([(c["note"], c["processes"], c["share"]["median"]) for c in own["cases"]],
                         [("seed 1 index 0", 2, 0.85), ("seed 2 index 0", 1, 0.5)])
        self.assertEqual((own["cases"][0]["extents"], own["cases"][0]["axes"]), ([64, 32, 16], [1, 0]))

    def test_files_of_several_revisions_are_refused(self):
        runs = five(0.97, 0.97)
        runs[1]["cornerturn"]["git_revision"] = "def"
        with self.assertRaises(SystemExit):
            merge.merged(runs, [])


class Bars(unittest.TestCase):
    def test_each_bar_is_read(self):
        bars = merge.read_bars()
        text = (BENCH / "gpu_bars.inc").read_text(encoding="utf-8")
        self.assertEqual(len(bars), sum(line[:1].isupper() for line in text.splitlines()))
        self.assertIn(("SHARE", "rank_n", 0.80), bars)

    def test_place_and_share_and_mean(self):
        good = verdicts(merge.merged(five(*[0.97] * 5), [])["cornerturn"])
        self.assertEqual((good["pow2"], good["pow2 mean"]), ("passed", "passed"))
        own = merge.merged(five(0.97, 0.97, 0.97, 0.97, 0.91), [])["cornerturn"]
        lines, missed = merge.check(own)
        self.assertTrue(missed, "one process below the bar of the worst process")
        self.assertTrue(any("0.910  pow2/b4/8192x8192  [gpu_tile" in line for line in lines), lines)
        low = verdicts(merge.merged(five(*[0.95] * 5), [])["cornerturn"])
        self.assertEqual((low["pow2 mean"]), "MISSED")

    def test_few_processes_never_pass(self):
        self.assertTrue(merge.check(merge.merged(five(*[0.99] * 4), [])["cornerturn"])[1])
        runs = five(*[0.99] * 5)
        runs[0]["cornerturn"]["cases"].append(case("pow2/b4/2x2", 0.99))
        self.assertTrue(merge.check(merge.merged(runs, [])["cornerturn"])[1], "a case of one process only")

    def test_time_over_a_copy(self):
        runs = [run(case("small/b4/256x256", 0.92)) for _ in range(5)]
        self.assertEqual(verdicts(merge.merged(runs, [])["cornerturn"])["small"], "passed")
        runs = [run(case("small/b4/256x256", 0.90)) for _ in range(5)]
        self.assertEqual(verdicts(merge.merged(runs, [])["cornerturn"])["small"], "MISSED")


def said_by(*command):
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)


class Files(unittest.TestCase):
    def test_small_and_read_again(self):
        name = "rank_n/b4/512x14x14x16x16x3/051324-%d"
        runs = [run(*[case(name % i, 0.97) for i in range(280)]) for _ in range(5)]
        rivals = [peers(*[(name % i, 2000.0, True) for i in range(280)], name=peer) for peer in PEERS]
        whole = merge.merged(runs, rivals[:6])
        text = merge.text_of(whole)
        self.assertLess(len(text), 250_000)
        self.assertEqual(json.loads(text), whole)

    def test_compare(self):
        whole = merge.merged(five(*[0.97] * 5), [peers(("pow2/b4/8192x8192", 2000.0, True))])
        with tempfile.TemporaryDirectory() as scratch:
            path, other = pathlib.Path(scratch, "a.json"), pathlib.Path(scratch, "b.json")
            path.write_text(merge.text_of(whole), encoding="utf-8")
            other.write_text(json.dumps(peers(("pow2/b4/8192x8192", 1940.0, True))), encoding="utf-8")
            said = said_by(BENCH / "compare", path, other)
            self.assertIn("ratio 0.500 over 1 cases", said.stdout)
            worse = copy.deepcopy(whole)
            worse["cornerturn"]["cases"][0]["contenders"][0]["ns"] = spread(1e6)
            other.write_text(merge.text_of(worse), encoding="utf-8")
            said = said_by(BENCH / "compare", path, other, "--fail")
            self.assertEqual((said.returncode, "SLOWER" in said.stdout), (1, True))
            said = said_by(BENCH / "merge.py", path, "--check")
            self.assertIn("passed  pow2: geometric mean", said.stdout)


if __name__ == "__main__":
    unittest.main()
