#!/usr/bin/env python3
"""The command line of cornerturn_ladder, without a GPU: program_test.py PROGRAM"""
import os
import re
import subprocess
import sys
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))


def run(*words):
    done = subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Program(unittest.TestCase):
    def refused(self, words, sentence):
        with self.subTest(words=words):
            code, out, said = run(*words)
            self.assertEqual((code, out, said.splitlines()[0]), (2, "", f"cornerturn_ladder: {sentence}"))

    def test_every_option_of_the_help_exists(self):
        for word in ("--help", "-h"):
            code, usage, said = run(word)
            self.assertEqual((code, said), (0, ""))
            self.assertTrue(usage.startswith("cornerturn_ladder --check"), usage)
        self.assertLessEqual(max(map(len, usage.splitlines())), 120)
        usage = usage.partition("A shape is")[0]
        options = dict(re.findall(r"(--?[a-z]+)(?: ([A-Za-z][\w|]*|1\|2\|4\|8))?", usage))
        self.assertLessEqual({"--check", "--time", "--json", "-o", "--output", "--profile", "--predict", "--arch"}, set(options))
        values = {"RxC": "4x4", "1|2|4|8": "8", "N": "3", "FILE": "times.json", "RUNG|all": "all", "sm_90|gfx90a|": "sm_90"}
        for option, kind in options.items():
            words = [option, values[kind]] if kind else [option]
            self.refused([*words, "--no-such"], '"--no-such" is not an option')
            if kind:
                self.refused([option], f"{option} has no value")
                self.refused([option, ""], f"{option} has no value")

    def test_json_means_what_it_means_elsewhere(self):
        self.refused(["--time", "--json", "times.json"], '"times.json" is not an option')
        self.refused(["--check", "--json"], "--json or -o is given without --time, wanted both")
        self.refused(["--time", "--json", "-o", "-"], "--json and -o - both write to stdout, wanted one of them")

    def test_values(self):
        self.refused([], "nothing to do")
        self.refused(["--predict", "all", "--bytes", "3"], "--bytes is 3, wanted 1, 2, 4 or 8")
        self.refused(["--predict", "all", "--shape", "4"], '"4" is not a shape such as 1000x50')
        code, out, said = run("--predict", "30_padded", "--shape", "1000x50", "--bytes", "8", "--arch", "sm_80")
        self.assertEqual((code, said), (0, ""))
        self.assertIn("30_padded", out)


if __name__ == "__main__":
    unittest.main()
