#!/usr/bin/env python3
"""Tests docs/learn/cpu.md and docs/learn/cpu/: cpu_lines_test.py cornerturn_cpu_lines docs/learn

The program draws the pictures again and prints the table. Every rung has a page with all parts of a lesson. The measured
shares are in bench/results/ladder-cpu-*.json.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
LEARN = pathlib.Path(sys.argv.pop(1)).resolve()
RESULTS = sorted((LEARN.parent.parent / "bench/results").glob("ladder-cpu-*.json"))


class CpuPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = {page.stem: page.read_text() for page in sorted((LEARN / "cpu").glob("*.md"))}
        cls.introduction = (LEARN / "cpu.md").read_text()
        with tempfile.TemporaryDirectory() as folder:
            cls.table = subprocess.run([PROGRAM, folder], stdout=subprocess.PIPE, check=True).stdout.decode()
            cls.drawn = {one.name: one.read_text() for one in pathlib.Path(folder).glob("*.svg")}

    def test_pictures_and_counts_are_those_of_the_program(self):
        kept = {one.name: one.read_text() for one in (LEARN / "cpu/figures").glob("*.svg")}
        self.assertEqual(kept, self.drawn, "draw them again: cornerturn_cpu_lines docs/learn/cpu/figures")
        counts, more = self.table.split("\n\n")
        self.assertIn(counts, self.introduction, f"the table is\n{counts}")
        rows = re.findall(r"^\| \d\d_\w+, .*$", "\n".join(self.pages.values()), re.M)
        self.assertGreater(len(rows), 2)
        for row in rows:
            self.assertIn(row + "\n", more)

    def test_every_rung_has_all_parts_of_a_lesson(self):
        self.assertEqual([name + ".svg" for name in self.pages], sorted(self.drawn))
        for name, text in self.pages.items():
            at = 0
            for part in (f"<!-- code: ladder/cpu.cpp | void ", "**Predict**: ", f"```console\n$ cornerturn ladder --device cpu --rung {name} ",
                         "**See**: ", "**Why**", f"(figures/{name}.svg)", "**Measured**: ", "**Exercise**: ", "<summary>Solution"):
                at = text.find(part, at)
                self.assertGreater(at, 0, f"{name} lacks {part}, or has it too early")

    def test_what_was_measured_is_in_the_result_files(self):
        self.assertEqual("not measured yet" in self.introduction, not RESULTS)
        for file in RESULTS:
            result = json.loads(file.read_text())
            speed = {}
            for one in result["rungs"]:
                speed.setdefault(one["rung"], []).append(one["gigabytes_per_second"])
            table = "\n".join(f"| {rung} | " + " | ".join(f"{100 * own / roof:.0f} %" for own, roof in zip(all_shapes, speed["00_copy"])) + " |"
                              for rung, all_shapes in speed.items())
            self.assertIn(table, self.introduction, f"the table of {file} is\n{table}")
            self.assertIn(result["device"], self.introduction)
            self.assertIn(file.name, self.introduction)


if __name__ == "__main__":
    unittest.main()
