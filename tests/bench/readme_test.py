"""README.md: its numbers and pictures are of the result files, and bench/readme.py tells what they say."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "bench"))
import readme  # noqa: E402
import result_file  # noqa: E402

README = (TREE / "README.md").read_text(encoding="utf-8")


def measured(name, share, processes=5, **peers):
    rows = [("cornerturn", "ours", 4000.0 * share), ("copy", "roof", 4000.0)]
    rows += [(peer, "peer", 4000.0 * of) for peer, of in peers.items()]
    return {"name": name, "set": name.split("/")[0], "element_bytes": int(name.split("/")[1][1:]), "hot": False, "bytes": 70_000_000,
            "threads": 0, "shape": name.split("/")[2], "processes": processes, "share": {"median": share},
            "extents": [int(side) for side in name.split("/")[2].split("x")],
            "contenders": [{"name": a, "role": b, "gb_s": {"median": c}} for a, b, c in rows]}


def result(*cases, revision="abc"):
    return {"context": {"date": "2026-11-24T12:00:00+0000"},
            "cornerturn": {"format": [1, 1, 0], "merged": 5, "git_revision": revision, "peers": {}, "cases": list(cases),
                           "machine": {"gpu": {"name": "NVIDIA H200", "runtime": "13.0", "peers": {}}}}}


class Readme(unittest.TestCase):
    def test_it_agrees_with_the_result_files(self):
        said = subprocess.run([sys.executable, TREE / "bench/readme.py", "--check"], capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def test_no_number_is_written_by_hand(self):
        prose = re.sub(r"<!-- (\S+) -->.*?<!-- /\1 -->", "", README, flags=re.S)
        prose = re.sub(r"^```.*?^```$|`[^`]*`", "", prose, flags=re.M | re.S)
        for found in re.finditer(r"(?<![\d.])0\.\d+\b|\b\d[\d.,]*\s?(?:%|x faster|times|GB/s|[mnµu]s\b|microseconds|seconds)", prose):
            self.fail(f"'{found[0]}' in README.md is of no result file: {prose[found.start() - 60:found.end() + 40]!r}")

    def test_links_lead_somewhere(self):
        headings = {re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-")
                    for line in re.findall(r"^#+ (.*)$", README, re.M)}
        targets = re.findall(r"\]\(([^)\s]+)\)", README) + re.findall(r'(?:src|srcset|href)="([^"]+)"', README)
        self.assertGreater(len(targets), 15)
        for target in targets:
            path, _, anchor = target.partition("#")
            if path:
                self.assertTrue((TREE / path).exists(), target)
            else:
                self.assertIn(anchor, headings)


class Sources(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_a_dirty_tree_is_refused(self):
        for revision, right in (("abc", True), ("abc-dirty", False), ("", False)):
            (self.folder / "a.json").write_text(json.dumps(result(revision=revision)))
            if right:
                self.assertEqual(readme.read(self.folder, "a.json")["date"], "2026-11-24")
            else:
                with self.assertRaisesRegex(SystemExit, "wanted a committed one"):
                    readme.read(self.folder, "a.json")

    def test_other_files_are_refused(self):
        for text in ('{"context": {"date": "2026-11-24"}}', json.dumps({**result(), "cornerturn": {"format": [2, 0]}})):
            (self.folder / "a.json").write_text(text)
            with self.assertRaises(SystemExit):
                result_file.load(self.folder / "a.json")


class Tables(unittest.TestCase):
    def test_cases(self):
        cases = [measured("odd/b4/99x99", 0.9, cublas_geam=0.45), measured("odd/b4/97x99", 0.4, cublas_geam=0.8, jax=0.9)]
        gpu = result(*cases)["cornerturn"] | {"date": "2026-11-24"}
        text = readme.cases_table(gpu, {})
        self.assertIn("| matrices, odd sides or leading dimensions, 4 to 16 bytes | 2 | **0.60** | 0.40 | JAX 0.90 (1) |", text)
        self.assertIn("faster in 1 of 2 cases, by 125 % at most (JAX, `97x99` of 4 bytes).", text)
        self.assertIn("no other library is faster in any of 1 cases", readme.ahead({**gpu, "cases": cases[:1]}))
        gpu["cases"].append(measured("odd/b4/95x99", 0.6))  # a peer of a third of the cases is not named
        self.assertIn("| 3 | **0.60** | 0.40 | cuBLAS 0.60 (2) |", readme.cases_table(gpu, {}))

    def test_no_set_is_left_out(self):
        gpu = result(measured("new_set/b4/99x99", 0.9))["cornerturn"] | {"date": "2026-11-24"}
        with self.assertRaisesRegex(SystemExit, "no class for the set new_set"):
            readme.cases_table(gpu, {})

    def test_faster(self):
        cases = [measured("odd/b4/99x99", 0.8, cublas_geam=0.4, jax=0.1), measured("odd/b4/97x99", 0.8, cublas_geam=0.1)]
        gpu = result(*cases)["cornerturn"] | {"date": "2026-11-24"}
        self.assertIn("cornerturn is **4.0 x** faster than cuBLAS, **8.0 x** faster than JAX.", readme.faster(gpu))
        self.assertRegex(readme.charts.speed(gpu, "dark"), r"(?s)JAX<.*>1 cases<.*>0\.10<.*>8\.0 x faster<")

        self.assertIn("with cold caches and arrays of 70 MB and more", readme.faster(gpu))

    def test_arrays_in_cache(self):
        cases = [measured("random_matrix/b4/99x99", share, textbook_tile=0.5) | {"bytes": size, "hot": True}
                 for share, size in ((0.9, 40_000), (0.4, 262_144), (0.8, 262_145))]
        gpu = result(*cases)["cornerturn"] | {"date": "2026-11-24"}
        text = readme.hot_table([gpu])
        self.assertIn("| **NVIDIA H200, 2026-11-24, abc** | | | | |", text)
        self.assertIn("| up to 256 KiB | 2 | **0.60** | 0.40 | textbook tile 0.50, cornerturn 0.60 (2) |", text)
        self.assertIn("| up to 2 MiB | 1 | **0.80** | 0.80 |", text)

    def test_wrong_results_do_not_count(self):
        one = measured("odd/b4/99x99", 0.8, cublas_geam=0.9)
        one["contenders"][2]["verified"] = False
        self.assertEqual(result_file.peers_of([one]), [])

    def test_classes_of_the_sweep(self):
        classes = {
            "random_matrix/b4/999x777": "matrices and rank 3 to 7, elements of 4, 8, 16 and 32 bytes",
            "random_rank/b2/99x7x77": "matrices and rank 3 to 7, 2 bytes",
            "random_rank/b1/99x7x77": "matrices and rank 3 to 7, 1 byte",
            "random_matrix/b6/99x777": "elements of 3, 6, 12 and 24 bytes, any shape",
            "random_odd/b24/3x777": "elements of 3, 6, 12 and 24 bytes, any shape",
            "random_skinny/b3/3x777": "one side of at most 64 elements",
            "random_copy/b4/9x7x16": "copies of runs of 64 bytes and more",
            "random_copy/b4/9x7x15": "copies of shorter runs",
            "random_batch/b3/999x7x16": "batches, elements of 3 bytes and more",
            "random_batch/b2/999x7x16": "batches, 1 and 2 bytes",
            "random_in_place/b32/9x77x77": "squares in place, 4, 8, 16 and 32 bytes",
            "random_in_place/b2/77x77": "squares in place, 2 bytes",
            "random_in_place/b1/77x77": "squares in place, 1 byte",
            "random_in_place/b12/77x77": "squares in place, 3, 6, 12 and 24 bytes",
            "random_in_place/b12/77x78": "rectangles in place; 0.5 is two passes",
        }
        cases = [measured(name, 0.5, processes=3 + len(name) % 2, cutensor=0.25) for name in classes]
        for case, wanted in zip(cases, classes.values()):
            self.assertEqual(readme.class_of(case), wanted, case["name"])
        text = readme.random_table(result(*cases)["cornerturn"] | {"date": "2026-11-24"})
        self.assertEqual(text.count("** | "), len(readme.CLASSES), "every class has a line")
        self.assertIn("| elements of 3, 6, 12 and 24 bytes, any shape | 2 | **0.50** | 0.50 | cuTENSOR 0.25, cornerturn 0.50 (2) |", text)
        self.assertIn("median of 3 to 4 processes, revision abc.", text)
        alone = readme.random_table(result(*[measured(name, 0.5) for name in classes])["cornerturn"] | {"date": "2026-11-24"})
        self.assertIn("| elements of 3, 6, 12 and 24 bytes, any shape | 2 | **0.50** | 0.50 |\n", alone)
        self.assertNotIn("other library", alone)


if __name__ == "__main__":
    unittest.main()
