#!/usr/bin/env python3
"""The command line of cornerturn, from outside: usage_test.py COMMAND [unittest arguments]"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from command_case import COMMAND, Case, npy, numpy

GOOD = npy("'<f4'", "(2, 3)", bytes(24))


class Usage(Case):
    def test_exit_codes(self):
        source = self.write("in.npy", GOOD)
        for words in ([], ["nonsense"], ["transpose"], ["transpose", source], ["transpose", source, "b", "c"],
                      ["transpose", source, "b", "--axes", "x"], ["transpose", source, "b", "--threads", "0"],
                      ["transpose", source, "b", "--device", "tpu"], ["transpose", source, "b", "--what"],
                      ["explain"], ["explain", "3y4"], ["bench", "3y4"], ["explain", "3x4", "--bytes", "0"],
                      ["explain", "3x4x5", "--src-ld", "9"], ["completion", "tcsh"], ["roof", "--size", "-1"]):
            with self.subTest(words=words):
                done = self.run_command(*words, code=2)
                self.assertTrue(done.stderr.startswith("cornerturn: "), done.stderr)
                self.assertEqual(done.stdout, "")

    def test_help_and_version(self):
        self.assertRegex(self.run_command("--version").stdout, r"^cornerturn \d+\.\d+\.\d+\n$")
        for words in (["--help"], ["transpose", "--help"], ["bench", "--help"], ["make-sample", "--help"]):
            self.assertIn("Usage", self.run_command(*words).stdout)

    def missing_instructions(self):
        """Of those that notes of kernels name: what this build or this machine does not have."""
        targets = json.loads(self.run_command("doctor", "--json").stdout)["cpu"]["simd_targets"]
        if not any("AVX-512" in name for name in targets):
            return [b"AVX-512"]
        with open("/proc/cpuinfo") as file:
            return [] if "avx512_vbmi" in file.read() else [b"AVX-512 VBMI"]

    def says(self, words, *parts, code=2):
        with self.subTest(words=words):
            done = self.run_command(*words, code=code)
            first = done.stderr.splitlines()[0]
            self.assertTrue(first.startswith("cornerturn: "), first)
            for part in parts:
                self.assertIn(part, first)
            self.assertLess(len(first), 400)
            self.assertEqual(done.stdout, "")

    def test_wrong_words_are_named(self):
        self.says(["tranpose", "a", "b"], '"tranpose" is no command', "did you mean transpose?")
        self.says(["--versoin"], "--versoin is no option", "did you mean --version?")
        self.says(["-V"], "-V is no option", "did you mean --version?")
        self.says(["help"], '"help" is no command', "did you mean --help?")
        self.says(["zzz"], '"zzz" is no command', "wanted one of transpose, explain, bench")
        self.says([], "no command is given, wanted one of transpose")
        self.says(["doctor", "--jsn"], "--jsn is no option of `cornerturn doctor`", "did you mean --json?")
        self.says(["bench", "--round", "3"], "did you mean --rounds?")
        self.says(["--json", "doctor"], "--json precedes the command, wanted `cornerturn doctor")
        self.says(["transpose", "a"], "OUT is missing, wanted `cornerturn transpose [OPTIONS] IN OUT`")
        self.says(["transpose", "a", "b", "c"], '"c" is one argument too many')
        self.says(["transpose", "-a.npy", "b"], "-a.npy is no option of `cornerturn transpose`; write ./-a.npy for a file")
        self.says(["explain", "30_paded"], '"30_paded" is no kernel', "did you mean 30_padded?")
        self.says(["explain", "4096x"], 'is "4096x", wanted a shape such as 4096x2048')
        self.says(["bench", "--kernel", "cpu_cop", "8x8"], '--kernel is "cpu_cop"', "did you mean cpu_copy?")
        self.says(["ladder", "--json", "out.json"], '"out.json"', "-o FILE")
        self.says(["bench", "8x8", "--json", "out.json"], 'SHAPE is "out.json"', "-o")

    def test_values_found_and_wanted(self):
        self.says(["bench", "--rounds", "0"], '--rounds is "0", wanted an integer from 1 to 100000')
        self.says(["roof", "--threads", "x"], '--threads is "x", wanted an integer from 1 to 4096')
        self.says(["roof", "--threads"], "--threads has no value")
        self.says(["roof", "--threads", "1", "--threads", "2"], "--threads is given more than once")
        self.says(["roof", "--size", "1Mb1"], '--size is "1Mb1", wanted a number of bytes', "64K")
        self.says(["doctor", "--json=x"], "--json has a value, wanted none")
        self.says(["explain", "--all", "8x8"], "--all and SHAPE|KERNEL are both given")
        self.says(["explain", "8x8", "--svg", "x"], "--svg is given with the shape 8x8")
        self.says(["explain", "30_padded", "--machine", "H200"], "--machine is given with a kernel")
        self.says(["explain", "30_padded", "--arch", "sm_1"], '--arch is "sm_1", wanted one of sm_75')
        self.says(["report", "-o", "x", "--quick", "--from", "y"], "are both given")
        self.says(["transpose", "a", "b", "--device", "tpu"], '--device is "tpu", wanted auto, cpu, cuda or cuda:N')
        for device in ("cuda:", "cuda:-1", "cuda:x", "cpu:0", ""):
            self.says(["bench", "--device", device], f'--device is "{device}", wanted auto, cpu, cuda or cuda:N')

    def test_empty_names_of_files(self):
        for words, name in ((["transpose", "", "o.npy"], "IN"), (["transpose", "i.npy", ""], "OUT"),
                            (["bench", "8x8", "-o", ""], "--output"), (["explain", "30_padded", "--svg", ""], "--svg"),
                            (["ladder", "--device", "emulated", ""], "FILE"), (["report", "-o", "r", "--from", ""], "--from")):
            self.says(words, f'{name} is "", an empty name, wanted the name of a file')

    def test_sizes_with_suffixes(self):
        report = json.loads(self.run_command("roof", "--size", "1.5MiB", "--threads", "1", "--json").stdout)
        self.assertEqual((report["bytes"], report["device"], report["threads"]), (3 << 19, "cpu", 1))
        report = json.loads(self.run_command("explain", "30x40", "--bytes", "1K", "--json").stdout)
        self.assertEqual(report["element_bytes"], 1024)

    def test_help_fits_80_columns(self):
        commands = [command for command in re.findall(r"^  ([a-z]+)", self.run_command("--help").stdout, re.M)]
        self.assertIn("bench", commands)
        for words in ([], *[[command] for command in commands]):
            text = self.run_command(*words, "--help").stdout
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)
                self.assertEqual(line.count("`") % 2, 0, line)  # a command is not broken
            self.assertRegex(text, r"[^\n]\n\Z")
        text = self.run_command("--help").stdout
        for word in ("cornerturn ladder", "docs/learn"):
            self.assertIn(word, text)

    def test_threads_of_openmp(self):
        limited = {**os.environ, "OMP_NUM_THREADS": "1"}
        source = self.write("in.npy", npy("'<f4'", "(2048, 2048)", bytes(16 << 20)))
        words = ["transpose", source, self.path("out.npy"), "--json"]
        self.assertEqual(json.loads(self.run_command(*words, env=limited).stdout)["threads"], 1)
        self.assertEqual(json.loads(self.run_command(*words, "--threads", "2", env=limited).stdout)["threads"], 2)
        report = json.loads(self.run_command("roof", "--size", "1M", "--json", env=limited).stdout)
        self.assertEqual(report["threads"], 1)
        report = json.loads(self.run_command("doctor", "--json", env=limited).stdout)
        self.assertEqual(report["cpu"]["default_threads"], 1)
        bound = json.loads(self.run_command("doctor", "--json", env={**os.environ, "OMP_PROC_BIND": "true"}).stdout)
        self.assertEqual(bound["cpu"]["threads"], report["cpu"]["threads"])  # not one, to which this thread is bound
        if report["cpu"]["threads"] > 1:
            self.assertIn("OMP_NUM_THREADS limits them to 1", self.run_command("doctor", env=limited).stdout)

    def test_tuning_file_of_the_environment(self):
        """Plans ignore a file that is no tuning file; doctor says why, and no command waits for it."""
        good = self.write("good", b"cornerturn-tuning 1\n")
        os.mkfifo(self.path("pipe"))
        large = self.write("large", b"# " + b"x" * (5 << 20))
        source = self.write("in.npy", GOOD)
        for file, found in ((good, good + ": 0 findings"), (self.path("none"), "cannot be read: No such file"),
                            (self.path("pipe"), "is a pipe, wanted a file"), ("/dev/zero", "is a character device"),
                            (large, "has more than 4194304 bytes"), (self.write("x\x1b", b"P\x07NG"), 'begins with "P\\x07NG"')):
            environment = {**os.environ, "CORNERTURN_TUNE_FILE": file}
            text = self.run_command("doctor", env=environment).stdout
            self.assertIn(found, text)
            self.assertNotIn("\x1b", text)
            self.assertIn("tuning", json.loads(self.run_command("doctor", "--json", env=environment).stdout))
            self.run_command("transpose", source, self.path("out.npy"), "--quiet", env=environment)

    def test_patterns_of_cases(self):
        for pattern, found in (("(" * 60000, "--case has 60000 characters, wanted at most 200"),
                               ("(){50000}", "such as 'skinny.*b4', without braces"),
                               ("(" * 150 + ")" * 150, "--case has 300"),
                               ("(" * 200, "wanted a regular expression"),
                               ("(?=.*(?=.*!))", "wanted a regular expression, such as 'skinny.*b4', without lookahead"),
                               ("(.)\\1", "wanted a regular expression")):
            self.says(["bench", "--list", "--case", pattern], found)
        for pattern in ("(.|.)*!", "(.*)*!", ".*" * 63 + "!"):  # 2^n steps for a name of n letters, or n^63
            self.says(["bench", "--case", pattern], f'--case is "{pattern}", but no chosen case matches')
        self.assertEqual(self.run_command("bench", "--list", "--json", "--case", "(" * 90 + "a" + ")" * 90).stdout[:1], "[")

    def test_words_of_others_are_escaped(self):
        for words in (["explain", "\x1b]0;x\x07"], ["bench", "--kernel", "\u009b31m"], ["\u202eelif"], ["--\x7f"],
                      ["explain", "8x8", "--machine", "H\u2066"], ["doctor", b"\xff\xfe"], ["ladder", "--rung", "\x1b["]):
            done = subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
            self.assertIn(done.returncode, (1, 2, 3))
            self.assertNotRegex(done.stderr.decode(), "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

    def test_no_such_device(self):
        backends = {row["name"]: row for row in json.loads(self.run_command("doctor", "--json").stdout)["backends"]}
        source = self.write("in.npy", GOOD)
        if not backends.get("cuda", {}).get("present"):
            said = set()
            for words in (["transpose", source, self.path("out.npy")], ["bench", "8x8"], ["ladder"], ["roof"],
                          ["report", "-o", self.path("out.html")]):
                for device in ("cuda", "cuda:1"):
                    done = self.run_command(*words, "--device", device, code=3)
                    said.add(done.stderr)
            self.assertEqual(said, {f"cornerturn: --device is cuda, but {backends['cuda']['detail']}. Wanted auto or cpu\n"})
        for device in ("auto", "cpu"):
            self.run_command("transpose", source, self.path("out.npy"), "--device", device)

    def test_shapes_that_were_meant(self):
        for word in ("4096X2048", "4096,2048", "4096*2048", "(4096, 2048)", "[4096,2048]"):
            self.says(["explain", word], "did you mean 4096x2048?")

    def test_tune(self):
        file = self.path("tuning")
        report = json.loads(self.run_command("tune", "64x70", "--seconds", "0", "--threads", "1", "-o", file, "--json").stdout)
        self.assertEqual(report["file"], file)
        seconds = [one["seconds"] for one in report["trials"]]
        self.assertEqual(seconds, sorted(seconds))
        self.assertIn(report["trials"][0]["kernel"], pathlib.Path(file).read_text())
        with_file = os.environ | {"CORNERTURN_TUNE_FILE": file}
        plan = json.loads(self.run_command("explain", "64x70", "--threads", "1", "--json", env=with_file).stdout)
        self.assertEqual(plan["kernel"], report["trials"][0]["kernel"])
        text = self.run_command("tune", "6x7x8", "--axes", "2,0,1", "--bytes", "3", "--seconds", "0", env=with_file).stdout
        # A first run of the choice that another process delays by a factor of three drops it.
        self.assertLessEqual(sum("the planner's choice" in line for line in text.splitlines()), 2, "once for each number of threads")
        self.assertIn("later plans of programs with CORNERTURN_TUNE_FILE=" + file, text)
        self.assertIn("2 findings", self.run_command("doctor", env=with_file).stdout)
        without = {name: value for name, value in os.environ.items() if name != "CORNERTURN_TUNE_FILE"}
        self.assertIn("stored in no file, wanted -o FILE", self.run_command("tune", "64x70", "--seconds", "0", env=without).stdout)
        self.says(["tune", "5x5", "-o", "-"], "-: is no file, wanted the name of a tuning file for -o")
        self.says(["tune", "0x5"], "0x5: has no elements, wanted extents of 1 or more")
        self.says(["tune", "5x5", "--axes", "0,0"], "names axis 0 twice")

    def test_ladder_checks_in_json(self):
        done = subprocess.run([COMMAND, "ladder", "--device", "cpu", "--check", "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120, check=True)
        self.assertEqual(json.loads(done.stdout), {"device": "cpu", "wrong": 0})

    def test_roof_takes_auto(self):
        report = json.loads(self.run_command("roof", "--size", "1M", "--device", "auto", "--json").stdout)
        self.assertEqual(report["device"], "cpu")

    def test_doctor_and_kernels(self):
        report = json.loads(self.run_command("doctor", "--json").stdout)
        self.assertGreaterEqual(report["cpu"]["threads"], 1)
        rows = json.loads(self.run_command("kernels", "--json").stdout)
        self.assertEqual(report["kernels"], len(rows))
        text = self.run_command("doctor").stdout
        for word in ("compiler", "simd", "caches", "pages", "cpu"):
            self.assertRegex(text, re.compile("^" + word + " ", re.M))
        self.assertEqual(len(self.run_command("kernels").stdout.splitlines()), len(rows) + 1)

    def test_explain(self):
        text = self.run_command("explain", "4096x2048").stdout
        report = json.loads(self.run_command("explain", "4096x2048", "--json").stdout)
        self.assertEqual(report["explain"].strip(), text.strip())
        self.assertIn(report["kernel"], text)
        self.assertEqual(report["bytes_moved"], 2 * 4 * 4096 * 2048)
        self.run_command("explain", "64x56x56x256", "--axes", "0,3,1,2", "--bytes", "2", "--threads", "1")
        self.run_command("explain", "100x200", "--src-ld", "256", "--dst-ld", "128")
        on_cpu = self.run_command("explain", "100x200", "--machine", "cpu", "--threads", "1").stdout
        self.assertIn("offers     predicted time, 1 = a copy of the same bytes; the limit of the kernel", on_cpu)
        self.assertIn("threads    1 over", on_cpu)
        self.assertIn("H200, sm_90", self.run_command("explain", "100x200", "--machine", "H200").stdout)
        done = self.run_command("explain", "100x200", "--machine", "abacus", code=2)
        self.assertIn('machine is "abacus", wanted one of: cpu, A100, B200, cascade_lake, emerald_rapids, generic, H200, neoverse_n1, RTX 4090, sapphire_rapids, zen3, zen4', done.stderr)
        offers = json.loads(self.run_command("explain", "100x200", "--machine", "H200", "--json").stdout)["offers"]
        self.assertGreater(len(offers), 1)
        self.assertLessEqual(offers[0]["time"], offers[1]["time"])
        done = self.run_command("explain", "100x200", "--src-ld", "100", code=2)
        self.assertIn("src_ld", done.stderr)
        done = self.run_command("explain", "3x4", "--axes", "0,0", code=2)
        self.assertIn("names axis 0 twice", done.stderr)

    def test_explain_of_a_gpu_row(self):
        done = self.run_command("explain", "gpu_no_such_row", code=2)
        self.assertIn('"gpu_no_such_row" is no kernel', done.stderr)
        done = self.run_command("explain", "gpu_tile_b4_64x64_r4_xr", code=2)
        self.assertIn("did you mean gpu_tile_b4_64x64_r4_xor?", done.stderr)
        row = "gpu_tile_b4_64x64_r4_xor"
        words = ["explain", row, "--shape", "2x64x128", "--axes", "0,2,1"]
        done = subprocess.run([COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if b"cannot count a row" in done.stderr:
            self.skipTest("this build was not made by g++, or with a sanitizer")
        fused = self.run_command("explain", "gpu_tile_b4_64x64_r4_xor_fused").stdout
        self.assertTrue(fused.startswith("gpu_tile_b4_64x64_r4_xor_fused: "), fused)
        lines = self.run_command("explain", row).stdout.splitlines()
        self.assertRegex(lines[0], f"^{row}: 2048x2048, elements of 4 bytes, on sm_90 ")
        self.assertEqual(lines[1], "90_register_block of the ladder is this kernel.")
        asked = json.loads(self.run_command("explain", row, "--json").stdout)
        self.assertEqual((asked["kernel"], asked["rung"]), (row, "90_register_block"))
        self.run_command("explain", row, "--svg", self.path("row.svg"))
        self.assertIn(f"aria-label='{row}'".encode(), self.read("row.svg"))
        rung = self.run_command("explain", "register_block").stdout
        self.assertRegex(rung, "^90_register_block: ")
        self.assertNotIn("is this kernel", rung)
        report = json.loads(self.run_command(*words, "--json").stdout)
        self.assertEqual(report["load"]["sectors"], 2 * 64 * 128 * 4 // 32)
        self.assertEqual(report["store"]["sectors"], 2 * 64 * 128 * 4 // 32)
        self.assertFalse(report["scaled"])
        self.assertIn(f"all {report['blocks']} blocks", self.run_command(*words).stdout)
        large = self.run_command("explain", row, "--shape", "8192x8192", "--src-ld", "8200").stdout
        self.assertIn("scaled to all", large)
        done = self.run_command("explain", row, "--shape", "2x63x65", "--axes", "0,2,1", code=2)
        self.assertIn("cannot move", done.stderr)
        self.run_command("explain", row, "--shape", "64x64x3", "--svg", "x.svg", code=2)
        done = self.run_command("explain", "gpu_gather_b4", "--shape", "64x64", "--bytes", "1", code=2)
        self.assertIn("axes 1,0, elements of 1 byte: ", done.stderr)

    def test_explain_knows_every_kernel(self):
        rows = json.loads(self.run_command("kernels", "--json").stdout)
        missing = self.missing_instructions()
        kinds = {}
        for row in rows:  # one of each kind on the CPU, and of some families on a GPU: each takes up to seconds
            if row["backend"] == "cpu" or row["family"] in ("tile", "small", "strips"):
                kinds.setdefault((row["family"], re.sub(r"\d+", "", row["name"])), row)
        for row in kinds.values():
            with self.subTest(row=row["name"]):
                words = ["explain", row["name"]]
                done = subprocess.run([COMMAND, *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      check=False)
                if b"cannot count a row" in done.stderr:
                    continue
                if any(name in done.stderr for name in missing):
                    continue
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                report = json.loads(done.stdout)
                if row["element_bytes"] and "explain" in report:
                    self.assertEqual(report["element_bytes"], row["element_bytes"])
                self.assertEqual(report["kernel"], row["name"])
                if row["backend"] == "cpu":
                    self.assertIn(row["name"], report["explain"])

    def test_explain_all_as_json(self):
        rungs = json.loads(self.run_command("explain", "--all", "--json").stdout)
        self.assertEqual(rungs[0]["kernel"], "00_copy")
        by_name = {rung["kernel"]: rung for rung in rungs}
        self.assertEqual(by_name["30_padded"]["shared_load"]["conflicts"], 0)
        odd = json.loads(self.run_command("explain", "--all", "--json", "--shape", "1001x50").stdout)
        self.assertTrue(any("refusal" in rung for rung in odd))

    def test_bench(self):
        words = ["bench", "16x24", "24x16", "--rounds", "1", "--threads", "1", "--bytes", "1,2"]
        text = self.run_command(*words).stdout
        self.assertRegex(text, r"(?m)^24x16 +2 ")
        done = subprocess.run([COMMAND, *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        own = json.loads(done.stdout)["cornerturn"]
        self.assertEqual(own["argv"], ["cornerturn", *words, "--json"])
        self.assertEqual(len(own["cases"]), 4)
        self.assertIn(b"24x16", done.stderr)
        self.run_command(*words, "-o", self.path("out.json"))
        self.assertEqual(len(json.loads(self.read("out.json"))["cornerturn"]["cases"]), 4)
        listed = json.loads(self.run_command("bench", "--axes", "2,0,1", "64x64x3", "--list", "--json").stdout)
        self.assertEqual(listed[0]["axes"], [2, 0, 1])
        self.assertEqual(json.loads(self.run_command("bench", "4x5x6", "--axes=-1,0,1", "--list", "--json").stdout)[0]["axes"],
                         [2, 0, 1])
        random_cases = json.loads(self.run_command("bench", "--set", "random", "--size", "8KiB:64K", "--count", "7",
                                                   "--list", "--json").stdout)
        self.assertEqual(len(random_cases), 7)
        self.says(["bench", "--axes", "2", "0", "1", "64x64x3"], '--axes is "2" and "0" follows', "one word with commas")
        self.says(["bench", "64x64", "--axes", "-1", "-2"], '--axes is "-1" and "-2" follows', "one word with commas")
        self.says(["transpose", "a", "b", "--axes", "-1", "-2"], '--axes is "-1" and "-2" follows', "one word with commas")
        self.says(["explain", "--axes", "1", "0", "64x64"], '--axes is "1" and "0" follows', "one word with commas")
        self.says(["explain", "64x64", "--axes", ""], '--axes "" names 0 axes, wanted 2')
        self.says(["bench", "--axes", "1,0", "64x64x3"], "--axes 1,0 names 2 axes, wanted 3")
        self.says(["bench", "--axes", "1,0"], "--axes is given without a SHAPE")
        self.says(["bench", "0x4"], "shape 0x4 has an extent of 0")
        self.says(["bench", "--set", "nope"], '--set is "nope", wanted one of plain, odd')
        listed = json.loads(self.run_command("bench", "8x8", "--bytes", "1K,2", "--list", "--json").stdout)
        self.assertEqual([case["element_bytes"] for case in listed], [1024, 2])
        self.says(["bench", "8x8", "--bytes", "4,0"], '--bytes is "4,0", wanted a number of bytes from 1 to 1.00 TiB')
        for pattern in ("(", "a{99999}"):
            self.says(["bench", "--case", pattern], f"--case is \"{pattern}\", wanted a regular expression, such as 'skinny.*b4'")
        self.says(["bench", "--case", "zzz"], '--case is "zzz", but no chosen case matches')
        self.says(["bench", "--seed", "3"], "wanted --set random")
        self.says(["bench", "--set", "random", "--size", "1:2"], '--size is "1:2", wanted two sizes')
        self.says(["bench", "8x8", "-o", "/dev/full"], "/dev/full: cannot write: No space left", code=1)
        self.says(["bench", "8x8", "-o", "/no/such/file"], "cannot write to its directory", code=1)

    def test_more_axes_than_the_library_takes_are_folded(self):
        shape = "2x1x3" + "x1" * 13 + "x4x5"
        last_first = ["--axes", ",".join(map(str, [17, *range(17)]))]
        for words, extents, axes in (([], [2, 3, 4, 5], [3, 2, 1, 0]), (last_first, [24, 5], [1, 0])):
            listed = json.loads(self.run_command("bench", shape, *words, "--list", "--json").stdout)[0]
            self.assertEqual((listed["extents"], listed["axes"]), (extents, axes))
            report = json.loads(self.run_command("explain", shape, *words, "--json").stdout)
            plain = json.loads(self.run_command("explain", "x".join(map(str, extents)), "--axes", ",".join(map(str, axes)),
                                                "--json").stdout)
            self.assertEqual(len(report["shape"]), 18)
            self.assertEqual((report["kernel"], report["explain"]), (plain["kernel"], plain["explain"]))
        self.run_command("explain", shape, "--machine", "H200")
        self.run_command("explain", "cpu_reference", "--shape", shape)
        self.run_command("bench", shape, "--rounds", "1", "--threads", "1")
        for words in (["explain"], ["explain", "--machine", "H200"], ["explain", "cpu_reference", "--shape"], ["bench"]):
            self.says([*words, "x".join("2" * 17)], "the array has 17 axes that cannot be folded, wanted at most 16")

    def test_ladder_of_the_cpu(self):
        words = ["ladder", "--device", "cpu", "--repeat", "2"]
        text = self.run_command(*words, "--shape", "130x70", "-o", self.path("ladder.json")).stdout
        with open(self.path("ladder.json")) as file:
            report = json.load(file)
        printed = subprocess.run([COMMAND, *words, "--shape", "130x70", "--json"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, check=True)
        self.assertEqual(len(json.loads(printed.stdout)["rungs"]), len(report["rungs"]))
        self.assertIn(b"00_copy", printed.stderr)
        names = [rung["rung"] for rung in report["rungs"]]
        self.assertEqual((names[0], names[-1]), ("00_copy", "90_library"))
        for name in ("10_scattered_store", "20_scattered_load", "30_blocked", "40_simd"):
            self.assertIn(name, names)
        for rung in report["rungs"]:
            self.assertRegex(text, rf"(?m)^{rung['rung']} +4 +130x70 ")
            self.assertEqual(len(rung["milliseconds"]), 2)
            self.assertGreater(rung["gigabytes_per_second"], 0)
        self.assertRegex(self.run_command(*words, "--check").stdout, r"^\d{3,} cases, 0 failures\n$")
        self.run_command(*words, "--shape", "2x3x4", code=2)
        self.says([*words, "--rung", "nope"], '--rung is "nope", wanted one of 10_scattered_store, ')
        done = self.run_command(*words, "--shape", "3x4", "-o", "/no/such/file", code=1)
        self.assertNotIn("00_copy", done.stdout)  # nothing was measured in vain

    def test_completion(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.run_command("completion", shell).stdout
            for word in ("transpose", "metadata-only", "explain", "device"):
                self.assertIn(word, script)
            self.assertNotIn("make-sample", script)
            if shutil.which(shell):
                checked = subprocess.run([shell, "-n", "/dev/stdin"], input=script.encode(), stderr=subprocess.PIPE,
                                         check=False)
                self.assertEqual((checked.returncode, checked.stderr), (0, b""))

    def test_bash_completes(self):
        if not shutil.which("bash"):
            self.skipTest("no bash here")
        script = self.run_command("completion", "bash").stdout

        def complete(*words):
            line = script + "COMP_WORDS=(%s); COMP_CWORD=%d; _cornerturn; echo ${COMPREPLY[@]}\n" % (
                " ".join("'%s'" % word for word in words), len(words) - 1)
            return subprocess.run(["bash"], input=line.encode(), stdout=subprocess.PIPE,
                                  check=True).stdout.decode().split()

        self.assertEqual(complete("cornerturn", "tr"), ["transpose"])
        self.assertEqual(complete("cornerturn", "transpose", "--met"), ["--metadata-only"])
        self.assertEqual(complete("cornerturn", "transpose", "--device", "c"), ["cpu", "cuda"])
        self.assertEqual(complete("cornerturn", "bench", "--peers", ""), ["on", "off"])
        self.assertEqual(complete("cornerturn", "bench", "--reg"), ["--regret"])
        self.assertEqual(complete("cornerturn", "transpose", "a"), [])  # files: the shell's own completion
        self.assertEqual(complete("cornerturn", "completion", ""), ["bash", "zsh", "fish"])

    @unittest.skipIf(numpy is None, "no numpy here")
    def test_make_sample(self):
        self.run_command("make-sample", "matrix", self.path("m.npy"), "--shape", "300x200")
        self.run_command("make-sample", "cube", self.path("c.npy"), "--shape", "64x50x12")
        matrix, cube = numpy.load(self.path("m.npy")), numpy.load(self.path("c.npy"))
        self.assertEqual((matrix.shape, matrix.dtype.str), ((300, 200), "<f4"))
        self.assertEqual((cube.shape, cube.dtype.str), ((64, 50, 12), "<u2"))
        self.assertGreater(len(numpy.unique(matrix)), 50000)
        self.run_command("make-sample", "cube", self.path("c.npy"), "--shape", "64x50", code=2)

if __name__ == "__main__":
    unittest.main()
