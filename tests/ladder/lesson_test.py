#!/usr/bin/env python3
"""Runs the commands of docs/learn: lesson_test.py COMMAND docs/learn

Every command of a console block is run. The lines shown after it have to appear in its output in that order; "..." stands
for any lines. Every figure is drawn again and compared. Links lead to files. Other tests check `explain KERNEL`.

A build without CuTe refuses the rungs in CuTe. There, all that needs one of them counts as skipped. CMake sets
CORNERTURN_CUTE to 1 or 0, and a build that should have these rungs fails without them.
"""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # of tools/site
COMMAND = os.path.abspath(sys.argv.pop(1))
LEARN = pathlib.Path(sys.argv.pop(1)).resolve()
TREE = LEARN.parent.parent
LADDER = TREE / "bench/results/ladder-h200.json"
PAGES = sorted(LEARN.rglob("*.md"))
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
NO_DEVICE = 3


def run(words, **options):
    done = subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, **options)
    return done.returncode, done.stdout.decode() + done.stderr.decode()


HAS_CUTE = run(["explain", "30_cute_padded"])[0] == 0


def needs_cute(text):
    """Whether a command names a rung in CuTe, or a file includes one."""
    return "_cute_" in text or "cute/" in text


class Lesson(unittest.TestCase):
    def test_the_rungs_in_cute_are_in_builds_with_cute(self):
        if wanted := os.environ.get("CORNERTURN_CUTE"):
            self.assertEqual(HAS_CUTE, wanted == "1")

    def check_refusal(self, words):
        """A build without CuTe says in one sentence that it does not know this rung."""
        code, said = run(words)
        self.assertEqual((code, said.count("\n")), (2, 1), said)
        self.assertRegex(said, "is no kernel|wanted one of 00_copy")
        self.skipTest("this build has no CuTe")

    def check_command(self, words, shown, folder):
        code, said = run(words, cwd=folder)
        if code == NO_DEVICE and words[0] == "ladder":
            self.assertIn("cornerturn:", said)
            return
        lines, at, skip = said.splitlines(), 0, False
        for line in shown:
            if line == "...":
                skip = True
                continue
            found = next((k for k in range(at, len(lines)) if lines[k].rstrip() == line), None)
            self.assertIsNotNone(found, f"`{' '.join(words)}` does not say\n{line}\nbut\n{said}")
            self.assertTrue(skip or found == at, f"`{' '.join(words)}` says more before\n{line}")
            at, skip = found + 1, False
        self.assertTrue(code == 0 or said.startswith("cornerturn: ") or "\nFAULT on " in said, said)
        if not shown:
            self.assertEqual(code, 0, said)

    def test_every_command(self):
        commands = 0
        for page in PAGES:
            for block in BLOCK.findall(page.read_text()):
                lines = block.splitlines()
                starts = [k for k, line in enumerate(lines) if line.startswith("$ ")] + [len(lines)]
                self.assertEqual(starts[0], 0, page)
                for start, end in zip(starts, starts[1:]):
                    words = lines[start].split()[1:]
                    self.assertEqual(words[0], "cornerturn", page)
                    commands += 1
                    with self.subTest(page=page.name, command=" ".join(words)), tempfile.TemporaryDirectory() as folder:
                        if needs_cute(lines[start]) and not HAS_CUTE:
                            self.check_refusal(words[1:])
                        pathlib.Path(folder, "docs").symlink_to(TREE / "docs")
                        self.check_command(words[1:], lines[start + 1:end], folder)
        self.assertGreater(commands, len(PAGES))

    def test_every_rung_has_its_page_and_every_figure_is_the_command_s(self):
        rungs, cute = (re.findall(r"^RUNG\((\w+),", (TREE / "ladder" / name).read_text(), re.M)
                       for name in ("ladder.inc", "cute/cute.inc"))
        self.assertEqual(sorted(page.stem for page in LEARN.glob("[0-9]*.md")), sorted(rungs + cute))
        for name in ("README.md", "cute.md"):
            linked = re.findall(r"^\| \[(\w+)\]\(\1\.md\) \|", (LEARN / name).read_text(), re.M)
            self.assertEqual(linked, (rungs if name == "README.md" else []) + cute, name)
        self.assertLessEqual(set(rungs + cute), {one.stem for one in LEARN.glob("figures/*.svg")})
        for figure in sorted((LEARN / "figures").glob("*.svg")):
            with self.subTest(figure=figure.name), tempfile.TemporaryDirectory() as folder:
                drawn = pathlib.Path(folder, "drawn.svg")
                rung, _, arch = figure.stem.partition(".")  # 30_padded, or 30_padded.gfx942
                words = [rung] + (["--arch", arch] if arch else [])
                if needs_cute(rung) and not HAS_CUTE:
                    self.check_refusal(["explain", *words])
                self.assertEqual(run(["explain", *words, "--svg", str(drawn)])[0], 0)
                self.assertEqual(drawn.read_text(), figure.read_text(),
                                 f"draw it again: cornerturn explain {' '.join(words)} --svg {figure}")

    def test_every_rung_has_all_parts_of_a_lesson(self):
        for page in sorted(LEARN.glob("[0-9]*.md")):
            text, at = page.read_text(), 0
            code = f"<!-- code: ladder/{page.stem}.cuh -->"
            if needs_cute(page.stem):
                code = f"<!-- code: ladder/cute/rungs.cuh | struct {page.stem[3:]} "
            for part in (code, "**Predict**: ", "```console\n$ cornerturn explain ", "**See**: ",
                         "**Why**", f"(figures/{page.stem}.svg)", "**Exercise**: "):
                at = text.find(part, at)
                self.assertGreater(at, 0, f"{page.name} lacks {part}, or has it too early")
            self.assertRegex(text, r"H200", page.name)
            self.assertTrue("<summary>Solution" in text or "exercises/README.md#" in text, page.name)

    def test_what_was_measured_is_in_the_result_file(self):
        measured = shares_of_copy(json.loads(LADDER.read_text()))
        table = "\n".join(f"| {rung} | {100 * small:.0f} % | {100 * large:.0f} % |" for rung, (small, large) in measured.items())
        self.assertIn(table, (LEARN / "README.md").read_text(), f"the table of {LADDER} is\n{table}")
        for page in PAGES:
            shares = re.findall(r"(\d+) %\s+of\s+the\s+copy", page.read_text()) if page.stem in measured else []
            for found in shares:
                self.assertEqual(int(found), round(100 * measured[page.stem][1]), page.name)
            self.assertTrue(shares or not needs_cute(page.stem), page.name)

    def test_python_cells_print_what_is_shown(self):
        cells = 0
        for page in PAGES:
            for code, shown in re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page.read_text(), re.S):
                cells += 1
                environment = dict(os.environ, PYTHONPATH=str(TREE / "build/cutlass"))
                with self.subTest(page=page.name):
                    if "pycute" in code and subprocess.run([sys.executable, "-c", "import pycute"], env=environment,
                                                           stderr=subprocess.DEVNULL).returncode != 0:
                        self.skipTest("build/cutlass has no pycute")
                    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment, check=True)
                    self.assertEqual(done.stdout.decode(), shown)
        self.assertGreater(cells, 1)

    def test_shares_on_other_pages_are_measured(self):
        own = re.findall(r"^RUNG\((\w+),", (TREE / "ladder/ladder.inc").read_text(), re.M)  # without variants and the rungs in CuTe
        measured = {rung[:2]: large for rung, (_, large) in shares_of_copy(json.loads(LADDER.read_text())).items() if rung in own}
        shares = 0
        for page in [LEARN / "mistakes.md", LEARN / "production.md", *LEARN.glob("*_cute_*.md")]:
            name, text = page.name, page.read_text()
            for rung, share in re.findall(r"\[(?:[Rr]ung )?(\d\d)\]\([^)]*\)\s+has\s+(\d+) %", text):
                self.assertEqual(int(share), round(100 * measured[rung]), f"{name}: {rung}")
                shares += 1
        self.assertGreater(shares, 9)
        cute = re.findall(r"^\| \[(\d\d_cute_\w+)\].*\| (\d+) % \|$", (LEARN / "cute.md").read_text(), re.M)
        self.assertEqual(dict(cute), {rung: str(round(100 * large))
                                      for rung, (_, large) in shares_of_copy(json.loads(LADDER.read_text())).items() if "_cute_" in rung})

    def test_conflicts_of_the_rungs_in_cute(self):
        for rung, cell in re.findall(r"^\| \[(\d\d_cute_\w+)\].*\| ([^|]+) \| \d+ % \|$", (LEARN / "cute.md").read_text(), re.M):
            with self.subTest(rung=rung):
                if not HAS_CUTE:
                    self.check_refusal(["explain", rung])
                report = json.loads(run(["explain", rung, "--json"])[1])
                counts = {what: report[f"shared_{what}"]["conflicts"] / max(report[f"shared_{what}"]["requests"], 1)
                          for what in ("load", "store")}
                found = [f"{count:.0f} a {what}" for what, count in counts.items() if count] or \
                    ["0" if report["shared_load"]["requests"] else "-"]
                self.assertEqual([cell], found)

    def test_links_lead_somewhere(self):
        for page in PAGES:
            text = page.read_text()
            for target in re.findall(r"\]\(([^)#:]+)\)", text):
                self.assertTrue((page.parent / target).exists(), f"{page.name}: {target}")
            headings = {re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-")
                        for line in re.findall(r"^#+ (.*)$", text, re.M)}
            for target in re.findall(r"\]\(#([^)]+)\)", text):
                self.assertIn(target, headings, page.name)

    def test_build_commands_name_what_there_is(self):
        tree = LEARN.parent.parent
        presets = {one["name"] for one in json.loads((tree / "CMakePresets.json").read_text())["configurePresets"]}
        lists = [page for folder in ("cli", "ladder", "src", "tests") for page in (tree / folder).rglob("CMakeLists.txt")]
        programs = re.findall(r"add_executable\((\w+) |OUTPUT_NAME (\w+)\)", "".join(map(pathlib.Path.read_text, lists)))
        programs = {name for pair in programs for name in pair if name}
        pages = [*PAGES, tree / "docs/counters.md", tree / "tools/ncu_check", tree / "tools/rocprof_check"]
        found = [(page.name, *one) for page in pages
                 for one in re.findall(r"\bbuild/([\w/-]*)bin/(\w+)", page.read_text())]
        self.assertGreater(len(found), 4)
        for page, preset, program in found:
            self.assertIn(preset.rstrip("/"), presets, f"{page}: build/{preset}bin/{program}")
            self.assertIn(program, programs, f"{page}: build/{preset}bin/{program}")
        for page in PAGES:
            text = page.read_text()
            for block in re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S):
                for preset in re.findall(r"--preset (\w+)", block):
                    self.assertIn(preset, presets, page.name)
                for path in re.findall(r"^(?:python3 )?((?:tools|bench)/\S+|\./dev)\b", block, re.M):
                    self.assertTrue((tree / path).exists(), f"{page.name}: {path}")

    def test_words_of_the_field_are_defined(self):
        words = (LEARN / "README.md").read_text()
        for word in ("lane", "warp", "thread block", "barrier", "coalesced", "request", "sector", "bank", "occupancy",
                     "in flight"):
            self.assertIn(f"* **{word}**", words)
        for word in ("coalesced", "__syncthreads"):
            self.assertTrue(any(word in page.read_text() for page in PAGES if page.stem[0].isdigit()), word)

    def test_code_that_the_site_inserts_is_in_the_tree(self):
        loader = importlib.machinery.SourceFileLoader("site_pages", str(TREE / "tools/site"))
        site = importlib.util.module_from_spec(importlib.util.spec_from_loader("site_pages", loader))
        loader.exec_module(site)
        for page in PAGES:
            for marker in re.findall(r"^<!-- code: (.*?) -->$", page.read_text(), re.M):
                with self.subTest(page=page.name, marker=marker):
                    self.assertNotEqual(site.code_of(*(one.strip('"') for one in marker.split(" | "))), "")

    def test_code_is_that_of_the_file(self):
        blocks = 0
        for page in PAGES:
            for target, code in re.findall(r"From\s+\[[^]]+\]\(([^)]+)\):\n\n```cpp\n(.*?)^```$", page.read_text(), re.M | re.S):
                self.assertIn(code, (page.parent / target).read_text(), f"{page.name}: {target}")
                blocks += 1
            self.assertEqual(page.read_text().count("```cpp"), len(re.findall(r"\):\n\n```cpp", page.read_text())))
        self.assertGreater(blocks, 0)

    def test_every_page_about_hip_has_all_parts_of_a_lesson(self):
        pages = sorted((LEARN / "hip").glob("*.md"))
        self.assertEqual(re.findall(r"^\| \[(\w+)\]\(hip/\1.md\) \|", (LEARN / "hip.md").read_text(), re.M),
                         [page.stem for page in pages])
        for page in pages:
            text, at = page.read_text(), 0
            for part in ("<!-- code: ladder/", "**Predict**: ", f"```console\n$ cornerturn explain {page.stem} --arch gfx942\n", "**See**: ",
                         "**Why**", f"(../figures/{page.stem}.gfx942.svg)", "% of the copy (H200", "No AMD GPU has run this rung",
                         "**Exercise**: ", "<summary>Solution"):
                at = text.find(part, at)
                self.assertGreater(at, 0, f"{page.name} lacks {part}, or has it too early")

    def test_the_tiles_of_the_hip_page_have_the_model_s_numbers(self):
        measured = shares_of_copy(json.loads(LADDER.read_text()))
        rows = re.findall(r"^\| (\d+) x \d+, (\d+)(?: \(rung 30\))? \|(.*)\|$", (LEARN / "hip.md").read_text(), re.M)
        self.assertEqual(len(rows), 8)
        for side, threads, cells in rows:
            name = "30_padded" if (side, threads) == ("32", "256") else f"30_padded_tile{side}_threads{threads}"
            wanted = []
            for arch in ("gfx90a", "gfx942"):
                report = json.loads(run(["explain", name, "--arch", arch, "--json"])[1])
                load = report["load"]
                wanted += [f"{load['lines_per_request']:.0f}", f"{100 * load['useful']:.0f} %",
                           f"{100 * report['occupancy']:.0f} %", f"{report['bytes_in_flight'] / 2 ** 20:.1f} MiB"]
            wanted.append(f"{100 * measured[name][1]:.0f} %")
            self.assertEqual([cell.strip() for cell in cells.split("|")], wanted, name)


def shares_of_copy(result):
    """{rung: its shares of the copy at 8192 x 8192 and at 16384 x 16384}, from the output of `cornerturn ladder --json`."""
    speed = {(one["rung"], one["rows"]): one["gigabytes_per_second"] for one in result["rungs"] if one["batch"] == 1}
    return {rung: [speed[rung, side] / speed["00_copy", side] for side in (8192, 16384)]
            for rung, side in speed if side == 8192}


class Emulated(unittest.TestCase):
    """`cornerturn ladder --device emulated`. The page of the exercises has the output for each planted mistake."""
    EXERCISES = LEARN / "exercises"
    CLEAN = "Every access to global memory is coalesced, and shared memory has no bank conflicts."

    def setUp(self):
        code, said = run(["ladder", "--device", "emulated", "--rung", "30"])
        if code == NO_DEVICE:
            self.skipTest(said)
        self.assertEqual(code, 0, said)

    def emulate(self, *words, **options):
        return run(["ladder", "--device", "emulated", *map(str, words)], **options)

    def test_every_exercise_is_on_its_page_and_its_solution_passes(self):
        page = (self.EXERCISES / "README.md").read_text()
        exercises = sorted(self.EXERCISES.glob("*.cuh"))
        self.assertGreater(len(exercises), 8)
        self.assertEqual([one.name for one in exercises], sorted(one.name for one in self.EXERCISES.glob("solutions/*")))
        for one in exercises:
            with self.subTest(exercise=one.name):
                block = re.search(rf"^\$ cornerturn ladder --device emulated docs/learn/exercises/{one.name}.*?^```", page, re.M | re.S)
                self.assertRegex(block[0], "FAULT on|Bank conflicts at|Not coalesced at")
                self.assertRegex(block[0], rf"({one.name}|move.cuh):\d+")
                code, said = self.emulate(self.EXERCISES / "solutions" / one.name)
                self.assertEqual(code, 0, said)
                self.assertIn("Not coalesced" if one.stem == "missing_check" else self.CLEAN, said)

    def test_solutions_on_the_pages_of_the_rungs(self):
        solutions = 0
        for page in PAGES:
            for code, said in re.findall(r"```cuda\n(#include.*?)```\n\n```text\n(.*?)```", page.read_text(), re.S):
                with self.subTest(page=page.name), tempfile.TemporaryDirectory() as folder:
                    mine = pathlib.Path(folder, "mine.cuh")
                    solutions += 1
                    if needs_cute(code) and not HAS_CUTE:
                        self.skipTest("this build has no CuTe")
                    mine.write_text(code)
                    code, found = self.emulate(mine, "--shape", "256x256")
                    self.assertEqual(code, 1 if re.match("FAULT on|error: ", said) else 0, found)
                    self.assertIn(said if said.startswith("error: ") else "\n" + said, found)
        self.assertGreater(solutions, 14)

    def test_the_counts_are_those_of_the_model(self):
        for rung, more in (("20_load_conflicts", []), ("40_vector_conflicts", []), ("65_async_copy", ["--bytes", "8"])):
            code, said = self.emulate("--rung", rung, "--shape", "128x96", *more)
            self.assertEqual(code, 0, said)
            model = json.loads(run(["explain", rung, "--shape", "128x96", "--json", *more])[1])
            for access in ("load", "store"):
                rows = re.findall(rf"  global {access} +(\d+) +([\d.]+) ", said)
                if model[access]["requests"]:
                    self.assertEqual(sum(int(row[0]) for row in rows), model[access]["requests"], said)
                    self.assertEqual(float(rows[0][1]), model[access]["sectors_per_request"], said)
            conflicts = re.findall(r"  shared load +(\d+) +[\d.]+ +([\d.]+)$", said, re.M)
            self.assertEqual([(int(a), float(b)) for a, b in conflicts],
                             [(model["shared_load"]["requests"],
                               model["shared_load"]["conflicts"] / model["shared_load"]["requests"])])

    def test_refusals_are_one_sentence(self):
        with tempfile.TemporaryDirectory() as folder:
            empty = pathlib.Path(folder, "empty.cuh")
            empty.write_text("// nothing\n")
            for words, code, part in ((["--rung", "31"], 2, "wanted one of 00_copy"), (["no_such.cuh"], 2, "cannot be read"),
                                      ([empty], 2, "has no rung"), (["--rung", "75", "--shape", "3x4"], 2, "in place"),
                                      (["--rung", "65", "--bytes", "2"], 2, "wanted one of")):
                found, said = self.emulate(*words)
                self.assertEqual((found, said.count("\n")), (code, 1), said)
                self.assertIn(part, said)
            code, said = run(["ladder", "--device", "cpu", str(empty)])
            self.assertEqual((code, said.count("\n")), (2, 1), said)
            for cxx in ("", "no-such-compiler"):
                code, said = self.emulate("--rung", "30", env=dict(os.environ, PATH=folder, CXX=cxx))
                self.assertEqual((code, said.count("\n")), (NO_DEVICE, 1), said)
                self.assertIn("install g++", said)
            code, said = self.emulate("--rung", "30", "--shape", "64x64", env=dict(os.environ, CXX="no-such-compiler"))
            self.assertEqual(code, 0, said)
            for words in (["--threads", "2"], ["--repeat", "3"], ["--check"], ["--json"], ["-o", "times.json"]):
                code, said = self.emulate("--rung", "30", *words, cwd=folder)
                self.assertEqual((code, said.count("\n")), (2, 2), said)  # the second line names --help
                self.assertIn("with --device emulated", said)
                self.assertFalse(pathlib.Path(folder, "times.json").exists())
            alone = pathlib.Path(folder, "bin/cornerturn")  # as in a Python package: no sources beside the command
            alone.parent.mkdir()
            shutil.copy(COMMAND, alone)
            for words in ([], ["--rung", "30"], [empty]):
                done = subprocess.run([alone, "ladder", "--device", "emulated", *map(str, words)],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
                said = done.stdout.decode()
                self.assertEqual((done.returncode, said.count("\n")), (NO_DEVICE, 1), said)
                self.assertIn("a build of the source tree", said)
            empty.write_text('#include "30_padded.cuh"\ntemplate <int WordBytes>\nstruct mine : no_such<WordBytes> {};\n')
            code, said = self.emulate(empty)
            self.assertEqual(code, 1, said)
            self.assertRegex(said, r"(?m)^\S*empty.cuh:3:")  # the compiler's lines are lines
            self.assertTrue(said.endswith("cornerturn: the file does not compile; the compiler's messages are above\n"), said)

    def test_a_tile_beyond_an_edge_is_outside_of_every_array(self):
        text = (self.EXERCISES / "solutions/whole_tiles.cuh").read_text().replace("part_of<Rung, true>", "part_of<Rung, false>")
        with tempfile.TemporaryDirectory() as folder:
            mine = pathlib.Path(folder, "mine.cuh")
            mine.write_text(text)
            code, said = self.emulate(mine, "--shape", "1000x50")
            self.assertEqual(code, 1, said)
            self.assertIn("writes 4 bytes outside of every array, at byte 224000 of dst", said)

    def test_a_wild_address_and_an_endless_loop_end_with_a_sentence(self):
        text = (self.EXERCISES / "solutions/missing_check.cuh").read_text()
        for line, words in (("*reinterpret_cast<int*>(0) = 1;", "outside of every array, at address 0x0"),
                            ("for (volatile int k = 0; k == 0;) continue;", "does not end"),
                            ("if (e.row == 0) gpu::block_barrier();", "waits at the barrier of line")):
            with tempfile.TemporaryDirectory() as folder:
                mine = pathlib.Path(folder, "mine.cuh")
                mine.write_text(text.replace("    if (p.inside(e))", f"    {line}\n    if (p.inside(e))"))
                code, said = self.emulate(mine, "--shape", "64x64")
                self.assertEqual(code, 1, said)
                self.assertIn(words, said)
                self.assertIn("mine.cuh:14", said)


class Timed(unittest.TestCase):
    def test_one_rung_of_the_cpu(self):
        words = ["ladder", "--device", "cpu", "--shape", "130x70", "--repeat", "2", "--rung"]
        for name in ("30", "blocked", "30_blocked"):
            code, said = run([*words, name])
            self.assertEqual(code, 0, said)
            self.assertEqual(re.findall(r"^(\d\d_\w+) ", said, re.M), ["00_copy", "30_blocked"])
        code, said = run([*words, "31"])
        self.assertEqual((code, said.count("\n")), (2, 1), said)
        self.assertIn("30_blocked", said)


class Explain(unittest.TestCase):
    def report(self, *words):
        code, said = run(["explain", *words, "--json"])
        self.assertEqual(code, 0, said)
        return json.loads(said)

    def test_counts(self):
        report = self.report("20_load_conflicts")
        self.assertEqual(report["shared_load"]["conflicts"], 31 * 131072)
        self.assertEqual(report["load"], {"requests": 131072, "sectors": 524288, "sectors_per_request": 4.0, "useful": 1.0})
        self.assertEqual(self.report("05_scattered_store")["store"]["sectors"], 4194304)
        self.assertEqual(self.report("scattered_store", "--shape", "1000x50")["shape"], [1, 1000, 50])
        self.assertAlmostEqual(self.report("05_scattered_store", "--arch", "sm_86")["occupancy"], 2 / 3)

    def test_counts_of_amd(self):
        for arch, lanes, line, lines in (("gfx90a", 64, 64, 4), ("gfx942", 64, 128, 2), ("gfx1100", 32, 128, 1)):
            with self.subTest(arch=arch):
                report = self.report("20_load_conflicts", "--arch", arch)
                requests = 2048 * 2048 // lanes
                self.assertEqual(report["load"], {"requests": requests, "lines": lines * requests,
                                                  "lines_per_request": float(lines), "useful": 1.0})
                self.assertEqual((report["lanes"], report["line_bytes"]), (lanes, line))
                self.assertEqual(report["shared_load"]["conflicts"], 31 * lanes // 32 * requests)
                self.assertFalse(report["held_against_a_profiler"])
                self.assertEqual(self.report("65_async_copy", "--arch", arch)["async_load"]["requests"], 0)
                for words in (["30_padded"], ["--all"], ["30_padded_tile16_threads64"]):
                    code, said = run(["explain", *words, "--arch", arch])
                    self.assertEqual(code, 0, said)
                    self.assertIn(f"The counts for {arch} have not been compared with a profiler yet.", said)
                code, said = run(["explain", "80_tma_load", "--arch", arch])
                self.assertEqual((code, arch in said), (1, True), said)
        self.assertTrue(self.report("20_load_conflicts")["held_against_a_profiler"])

    def test_a_verdict_says_what_binds(self):
        measured = shares_of_copy(json.loads(LADDER.read_text()))
        self.assertIn("30_padded", measured)
        for rung, (small, _) in measured.items():
            code, said = run(["explain", rung, "--shape", "8192x8192", "--json"])
            if code != 0:  # a CuTe rung of another build
                self.assertIn("is no kernel", said)
                continue
            clean = any("only DRAM limits this kernel" in sentence for sentence in json.loads(said)["verdict"])
            self.assertEqual(clean, rung not in ("00_copy", "02_shared_copy") and small > 0.95, f"{rung}: {small:.2f} of the copy\n{said}")

    def test_no_more_than_all_bytes_are_useful(self):
        """Lanes of a tile that is wider than the matrix are inactive in the picture too."""
        for words, shown in ((["70_batched", "--shape", "7x50x20"], ["10 sectors, 100 %", "18 sectors, 22.22 %"]),
                             (["40_vector_conflicts", "--shape", "4x4"], ["2 sectors, 100 %", "2 sectors, 100 %"]),
                             (["00_copy", "--shape", "1x3"], ["1 sector, 12.5 %", "1 sector, 12.5 %"])):
            code, said = run(["explain", *words])
            self.assertEqual(code, 0, said)
            self.assertEqual(re.findall(r"(\d+ sectors?, [\d.]+ %) of (?:its|their) bytes useful$", said, re.M), shown, said)

    def test_a_ladder_without_its_device_says_why(self):
        for device, words in (("hip", ("HIP",)), ("cuda", ("CUDA",))):
            code, said = run(["ladder", "--device", device, "--shape", "64x64", "--repeat", "1"])
            if code != 0:  # a machine with this GPU has no reason to refuse
                self.assertEqual(code, NO_DEVICE, said)
                self.assertTrue(said.startswith("cornerturn: ") and all(word in said.upper() for word in words), said)
                self.assertEqual(said.count("\n"), 1, said)

    def test_refusals(self):
        for words, code in ((["no_such"], 2), (["30_padded", "--arch", "sm_1"], 2), (["30_padded", "--bytes", "3"], 2),
                            (["80_tma_load", "--shape", "1000x50"], 1), (["30_padded", "--shape", "0x4"], 2),
                            (["30_padded", "--shape", "2x3x4x5"], 2), (["30_padded", "--axes", "1,0"], 2),
                            (["75_in_place", "--shape", "3x4"], 1), (["4x4", "--shape", "3x4"], 2), (["4x4", "--all"], 2),
                            (["65_async_copy", "--bytes", "2"], 2), (["30_padded", "--svg", "/no/such/file"], 1),
                            (["--all", "--bytes", "3"], 2), ([], 2)):
            with self.subTest(words=words):
                found, said = run(["explain", *words])
                self.assertEqual(found, code, said)
                self.assertTrue(said.startswith("cornerturn: "), said)

    def test_large_shapes_are_predicted_not_walked(self):
        # A walk over these elements would not end before the timeout of run().
        for words in (["90_register_block", "--shape", "100000x70000", "--bytes", "1"],
                      ["55_full_tile", "--bytes", "1", "--shape", "1000000x700001"], ["--all", "--shape", "999999x700001"]):
            with self.subTest(words=words):
                self.assertEqual(run(["explain", *words])[0], 0)

    def test_colours_on_a_terminal_only(self):
        self.assertNotIn("\x1b", run(["explain", "30_padded"])[1])
        for no_color, wanted in (("", True), ("1", False)):
            environment = dict(os.environ, TERM="xterm-256color", NO_COLOR=no_color)
            leader, follower = os.openpty()
            self.assertEqual("\x1b[" in self.on_terminal(leader, follower, environment), wanted)

    @staticmethod
    def on_terminal(leader, follower, environment):
        child = subprocess.Popen([COMMAND, "explain", "30_padded"], stdout=follower, env=environment)
        os.close(follower)
        said = b""
        try:
            while True:
                some = os.read(leader, 65536)
                if not some:
                    break
                said += some
        except OSError:  # Linux reports a closed terminal this way
            pass
        os.close(leader)
        child.wait(timeout=60)
        return said.decode()


if __name__ == "__main__":
    unittest.main()
