#!/usr/bin/env python3
"""The page of `cornerturn report`: report_test.py COMMAND SOURCE_TREE [unittest arguments]

The numbers of the page equal the numbers of the result files. The page needs no other file. With Chromium, the test draws it
and inspects the picture.
"""
import html.parser
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

COMMAND = os.path.abspath(sys.argv.pop(1))
TREE = pathlib.Path(sys.argv.pop(1)).resolve()
H200 = TREE / "bench/results/cuda-h200.json"
LADDER = TREE / "bench/results/ladder-h200.json"
INTEL = TREE / "bench/results/cpu-intel-avx512.json"
KEPT = TREE / "docs/reports/h200.html"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser",
                                                "google-chrome"))), None)
EMULATED = int(os.environ.get("CORNERTURN_TEST_THIN", 1)) > 2  # the presets aarch64 and asan set it
VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}


class Page(html.parser.HTMLParser):
    """Collects text by section, by row of bars and by table, and nesting errors."""

    def __init__(self, text):
        super().__init__()
        self.open, self.faults, self.ids, self.uses, self.tags = [], [], [], [], set()
        self.rows, self.row_depth, self.sections, self.text = [], 0, {}, ""
        self.tables, self.joined, self.without_scope = {}, False, 0  # tables: {caption: [row: [cell]]}, headings first
        self.feed(text)
        self.faults += self.open

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []
        self.uses += [values["href"]] if "href" in values else []
        self.joined = tag == "wbr"
        if "row" in values.get("class", "").split():
            self.rows.append([])
            self.row_depth = len(self.open) + 1
        if tag in ("h2", "caption"):
            self.text = ""
        if tag == "tr":
            self.table.append([])
        if tag in ("th", "td"):
            self.table[-1].append("")
            self.without_scope += tag == "th" and "scope" not in values
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append("/" + tag)
        if len(self.open) < self.row_depth:
            self.row_depth = 0
        if tag == "h2":
            self.sections[self.text] = ""
        if tag == "caption":
            self.table = self.tables.setdefault(self.text, [])

    def handle_data(self, data):
        self.text += data
        if self.sections and "h2" not in self.open:
            self.sections[list(self.sections)[-1]] += data
        if "tr" in self.open:
            self.table[-1][-1] += data
        if self.row_depth and data.strip():
            if self.joined and self.rows[-1]:
                self.rows[-1][-1] += data.strip()
            else:
                self.rows[-1].append(data.strip())
        self.joined = False


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cornerturn-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.page = os.path.join(self.folder, "report.html")

    def write(self, leaf, content):
        path = os.path.join(self.folder, leaf)
        with open(path, "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def run_report(self, *words, code=0):
        done = subprocess.run([COMMAND, "report", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=500)
        self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode())
        return done.stderr.decode()

    def report(self, *words):
        self.run_report("-o", self.page, *words)
        return pathlib.Path(self.page).read_text()

    def assert_says(self, text, words):
        self.assertTrue(words in text, f"the page does not say {words!r}")

    def check_page(self, text):
        """The page is well formed and has no outside reference."""
        page = Page(text)
        self.assertEqual(page.faults, [])
        self.assertEqual(len(page.ids), len(set(page.ids)))
        self.assertEqual([use for use in page.uses if use.lstrip("#") not in page.ids], [])
        self.assertEqual(page.without_scope, 0)
        self.assertFalse(page.tags & {"script", "link", "img", "iframe", "object"})
        self.assertIsNone(re.search(r"https?:|url\(|@import|src=|\{\{|\bnan\b|\binf\b", text))
        self.assertIsNone(re.search(r"(?<![\d.,])1 (bytes|axes|cases|threads|banks)\b", text))
        return page


class Given(Case):
    def test_h200(self):
        text = self.report("--from", str(H200))
        page = self.check_page(text)
        cases = json.loads(H200.read_text())["cornerturn"]["cases"]
        self.assertEqual(list(page.sections), ["Beside other libraries", "The ten worst cases", "Spread",
                                               "Bandwidth against size", "Every case", "Predicted against measured",
                                               "Bank maps", "The machine", "How it was measured"])
        self.assertEqual(re.findall('<li><a href="#[a-z]+">([^<]+)</a>', text), list(page.sections))
        self.assert_says(text, "<h1>Transposes on NVIDIA H200</h1>")
        cold = [case["share"]["median"] for case in cases if not case["hot"]]
        self.assert_says(text, f"<b>{100 * mean(cold):.0f} %</b>")
        rows = [row for row in page.tables["Every case on NVIDIA H200"][1:] if len(row) > 1]
        self.assertEqual(len(rows), len(cases))
        for row, case in zip(rows, cases):
            ours = case["contenders"][0]["gb_s"]["median"]
            self.assertEqual(row[:3], [case["shape"], str(case["element_bytes"]), case["kernel"]])
            self.assertAlmostEqual(float(row[3]), ours, delta=max(0.5, 0.005 * ours))
            self.assertAlmostEqual(float(row[5].rstrip(" %")), 100 * case["share"]["median"], delta=0.06)
        skinny = [case["share"]["median"] for case in cases if case["set"] == "skinny"]
        row = next(row for row in page.rows if row[:2] == ["few columns or rows", f"{len(skinny)} cases"])
        self.assertAlmostEqual(float(row[2].rstrip(" %")), 100 * mean(skinny), delta=0.06)
        self.assertAlmostEqual(float(row[3].rstrip(" %")), 100 * min(skinny), delta=0.06)

    def test_worst_and_spread_of_the_h200(self):
        page = self.check_page(self.report("--from", str(H200)))
        cases = [case for case in json.loads(H200.read_text())["cornerturn"]["cases"] if not case["hot"]]
        worst = sorted(cases, key=lambda case: case["share"]["median"])[:10]
        rows = page.tables["The lowest shares on NVIDIA H200"][1:]
        self.assertEqual([row[0] for row in rows], [case["shape"] for case in worst])
        self.assertEqual([row[5] for row in rows], [f"{100 * case['share']['median']:.1f} %" for case in worst])
        batches = [case for case in cases if case["set"] == "batched"]
        widest = max(batches, key=lambda case: (case["share"]["q3"] - case["share"]["q1"]) / case["share"]["median"])
        row = next(row for row in page.tables["Spread over the processes on NVIDIA H200"] if row[0].startswith("batches"))
        self.assertEqual(row[4], widest["shape"])
        self.assertEqual(row[5:], [f"{100 * min(case['worst'][kind] for case in batches):.1f} %"
                                   for kind in ("process", "place")])

    def test_peers_and_floor_of_the_h200(self):
        page = self.check_page(self.report("--from", str(H200)))
        cases = json.loads(H200.read_text())["cornerturn"]["cases"]
        by_name = [{entry["name"]: entry["gb_s"]["median"] for entry in case["contenders"]} for case in cases if not case["hot"]]
        faster = [rates["cornerturn"] / rates["jax"] for rates in by_name if "jax" in rates]
        row = next(row for row in page.rows if row[:1] == ["JAX"])
        self.assertEqual(row[1], f"{len(faster)} cases")
        self.assertAlmostEqual(float(row[-1].rstrip(" x")), mean(faster), delta=0.006)
        row = next(row for row in page.tables["Our speed over the library's speed, over its cases"] if row[0] == "JAX")
        ahead = sum(each < 1 for each in faster)
        self.assertEqual(row[1:], [str(len(faster)), row[2], f"{min(faster):.2f} x", f"{max(faster):.2f} x",
                                   f"{ahead} case{'' if ahead == 1 else 's'}"])
        row = next(row for row in page.tables["Shares of the data sheet's rate"] if row[:2] == ["powers of two", "34"])
        rates = [case["contenders"][0]["gb_s"]["median"] for case in cases if case["set"] == "pow2"]
        self.assertAlmostEqual(float(row[3].rstrip(" %")), 100 * mean(rates) / 4800, delta=0.06)  # the data sheet's rate

    def test_change_since_an_earlier_run(self):
        result = json.loads(H200.read_text())
        cases = result["cornerturn"]["cases"]
        result["context"]["date"] = "2026-11-01T12:00:00+0000"
        cases[1]["share"]["median"] /= 1.25
        cases[2]["share"]["median"] /= 0.5
        now = [json.loads(H200.read_text())["cornerturn"]["cases"][k]["share"]["median"] for k in (1, 2)]
        before = self.write("before.json", result)
        page = self.check_page(self.report("--from", str(H200), "--since", before))
        self.assertEqual(list(page.sections)[2], "Change since the last run")
        self.assertIn("1 better by more than 2 %, 1 worse", page.sections["Change since the last run"])
        rows = page.tables["The largest changes"][1:]
        self.assertEqual([(row[0], row[4], row[5]) for row in rows[:2]],
                         [(cases[2]["shape"], f"{100 * now[1]:.1f} %", "-50.0 %"),
                          (cases[1]["shape"], f"{100 * now[0]:.1f} %", "+25.0 %")])
        said = self.run_report("-o", self.page, "--from", str(INTEL), "--since", before, code=1)
        self.assertRegex(said, r"^cornerturn: \S*before.json: measured on NVIDIA H200, but the page is about Intel")

    def test_a_cpu_has_no_bank_maps(self):
        page = self.check_page(self.report("--from", str(INTEL)))
        self.assertNotIn("Bank maps", page.sections)
        self.assertIn("Intel(R) Xeon(R) Processor, AVX-512, 2 threads", page.sections["The machine"])
        self.assertIn("The lowest shares on Intel(R) Xeon(R) Processor", page.tables)
        self.assertIn("Spread over the rounds on Intel(R) Xeon(R) Processor", page.tables)

    @unittest.skipIf(EMULATED, "another processor may round another way")
    def test_the_kept_report_is_of_its_file(self):
        self.assertTrue(self.report("--from", str(H200), "--from", str(LADDER)) == KEPT.read_text(),
                        f"make it again: cornerturn report --from {H200} --from {LADDER} -o {KEPT}")

    def test_ladder_of_a_gpu(self):
        def rung(name, *milliseconds):
            return {"rung": name, "element_bytes": 4, "rows": 1024, "cols": 1024, "batch": 1, "note": "<&\">",
                    "milliseconds": milliseconds}
        rungs = [rung("00_copy", 1, 2, 3), rung("20_load_conflicts", 4, 8, 9), rung("30_padded", 2, 3, 4)]
        name = self.write("gpu.json", {"device": "A <GPU>", "arch": "sm_90", "threads": 0, "method": "m", "rungs": rungs})
        text = self.report("--from", name)
        page = self.check_page(text)
        self.assert_says(text, "<h1>Transposes on A &lt;GPU></h1>")
        self.assertEqual(list(page.sections), ["The ladder", "Predicted against measured", "Bank maps", "The machine",
                                               "How it was measured"])
        self.assertIn(["20_load_conflicts", "<&\">", "1.05 GB/s", "25.0 %"], page.rows)
        predicted = page.tables["1024x1024, elements of 4 bytes"]
        self.assertIn(["20_load_conflicts", "4.0 100 %", "4.0 100 %", "31.0", "0.0", "100 %", "25.0 %"], predicted)
        self.assertIn(["30_padded", "4.0 100 %", "4.0 100 %", "0.0", "0.0", "100 %", "66.7 %"], predicted)

    def test_what_was_wrong_or_disturbed_is_said(self):
        result = json.loads(H200.read_text())
        result["cornerturn"]["cases"] = result["cornerturn"]["cases"][:3]
        result["cornerturn"]["cases"][0]["contenders"][0]["verified"] = False
        result["cornerturn"]["cases"][1]["other_cpus"] = 0.5
        text = self.report("--from", self.write("wrong.json", result))
        self.check_page(text)
        self.assert_says(text, "1 of 3 results were WRONG")
        self.assert_says(text, "1 of 3 cases were measured while other processes")

    def test_refusals(self):
        good = str(H200)
        ladder = {"device": "a", "arch": "", "threads": 0, "method": ""}
        rung = {"rung": "00_copy", "element_bytes": 4, "rows": 1, "cols": 1, "batch": 1, "note": "", "milliseconds": [1]}
        for content in ("", "{}", "[1]", "{\"rungs\": 3}", "{\"cornerturn\": {}}", "{\"cornerturn\": {\"format\": [9]}}",
                        json.dumps({**ladder, "rungs": []}),
                        json.dumps({**ladder, "rungs": [{**rung, "milliseconds": []}]}),
                        json.dumps({**ladder, "rungs": [{**rung, "rung": "30_padded"}]})):
            said = self.run_report("-o", self.page, "--from", self.write("bad.json", content), code=1)
            self.assertRegex(said, r"^cornerturn: \S*bad\.json: ")
            self.assertNotIn("json.exception", said)
        for name, found in (("/no/such/file", "cannot read: No such file or directory"),
                            (self.folder, "is a directory, wanted a result file")):
            for words in (["--from", name], ["--from", good, "--since", name]):
                said = self.run_report("-o", self.page, *words, code=1)
                self.assertEqual(said, f"cornerturn: {name}: {found}\n")
        self.assertFalse(os.path.exists(self.page))
        self.run_report("-o", "/no/such/folder/page.html", "--from", good, code=1)
        self.run_report("-o", self.page, "--from", good, "--quick", code=2)
        self.run_report("--from", good, code=2)


    def test_hostile_files(self):
        """Files that a program wrote by mistake or on purpose: a sentence, and neither a crash nor a page without end."""
        bench, ladder = json.loads(H200.read_text()), json.loads(LADDER.read_text())

        def changed(of, path, value):
            made = json.loads(json.dumps(of))
            at = made
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value
            return json.dumps(made)

        case, rung = ["cornerturn", "cases", 0], ["rungs", 0]
        deep = '{"x":' + "[" * 200000 + "]" * 200000 + "}"
        wrong = [changed(bench, ["cornerturn", "method"], "@").replace('"@"', deep), "[" * 1000000]
        for key in ("bytes", "element_bytes"):
            wrong += [changed(bench, [*case, key], value) for value in (0, -1, 2**62, 2**64, 1e300, 1.5, None, "1")]
        for value in (0, -1, 1e-320, 1e308, None, "fast", [], True):
            wrong.append(changed(bench, [*case, "contenders", 0, "gb_s", "median"], value))
        for value in (2**31, -1, 2**63, 1e20):
            wrong.append(changed(bench, [*case, "threads"], value))
        wrong += [changed(bench, [*case, "share", "median"], value) for value in (-1, 1e300, None)]
        for key in ("rows", "cols", "batch", "element_bytes"):
            wrong += [changed(ladder, [*rung, key], value) for value in (-2**63, 0, 2**62, 1e300, None)]
        wrong += [changed(ladder, [*rung, "milliseconds"], value) for value in ([0], [-1], [1e-320], ["1"], 7, {})]
        for text in wrong:
            said = self.run_report("-o", self.page, "--from", self.write("bad.json", text), code=1)
            self.assertRegex(said, r"^cornerturn: \S*bad\.json: [^\n]*\n$")
            self.assertNotIn("std::", said)
            self.assertLess(len(said), 400)
        self.assertFalse(os.path.exists(self.page))
        self.assertIn("is a character device, wanted a result file",
                      self.run_report("-o", self.page, "--from", "/dev/zero", code=1))
        os.mkfifo(os.path.join(self.folder, "fifo"))
        self.assertIn("is a pipe, wanted a result file",
                      self.run_report("-o", self.page, "--from", os.path.join(self.folder, "fifo"), code=1))
        odd = self.report("--from", self.write("odd.json", changed(bench, [*case, "shape"], "\u009b31m\u202e<b>")))
        self.assertNotRegex(odd, "[\u0080-\u009f\u202e]")
        self.check_page(odd)


@unittest.skipIf(EMULATED, "an emulator has nothing to measure")
class Measured(Case):
    def test_here(self):
        saved = os.path.join(self.folder, "saved.json")
        page = self.check_page(self.report("--quick", "--save", saved))
        self.assertEqual(list(page.sections), ["Beside other libraries", "The ten worst cases", "Spread",
                                               "Bandwidth against size", "Every case", "The ladder",
                                               "Predicted against measured", "The machine", "How it was measured"])
        names = [row[0] for row in page.rows if row]
        self.assertEqual(names.count("00_copy"), 1)
        beside = page.sections["Beside other libraries"]
        self.assertTrue("faster by" in beside or "python -m cornerturn bench" in beside, beside)
        cases = next(rows for caption, rows in page.tables.items() if caption.startswith("Every case on"))
        self.assertTrue({"512x512", "1024x1024"} <= {row[0] for row in cases})
        again = self.check_page(self.report("--from", saved, "--since", saved))
        self.assertRegex(again.sections["Change since the last run"], r"of \d+ cases changed by \+0\.0 %")


# Opens all folded parts. Reports the width of the page, the smallest text in pixels, and elements wider than their boxes.
ASKING = """
document.querySelectorAll('details').forEach(each => each.open = true);
let least = 1e9, texts = 0, cut = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const of = walk.currentNode.parentElement;
  if (!walk.currentNode.data.trim() || !of.getClientRects().length || of.tagName == 'SCRIPT') continue;
  const scale = of.ownerSVGElement ? of.getScreenCTM().a : 1;
  least = Math.min(least, scale * parseFloat(getComputedStyle(of).fontSize));
  texts += 1;
}
for (const each of document.querySelectorAll('section, .scroll, .row > .name, td, th, dd, h1, figcaption'))
  if (each.clientWidth && each.scrollWidth > each.clientWidth + 1) cut.push(each.className || each.tagName);
const root = document.documentElement;
document.title = `${root.scrollWidth} of ${innerWidth}; ${texts} texts, ${least} px; ${cut}`;
"""


@unittest.skipUnless(CHROMIUM, "no Chromium here")
class Drawn(Case):
    def chromium(self, *words):
        done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                               f"--user-data-dir={self.folder}/profile", *words],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120)
        return done.stdout.decode()

    def test_widths_and_colours(self):
        text = self.report("--from", str(H200), "--from", str(LADDER))
        probe = self.write("probe.html", text.replace("</body>", f"<script>{ASKING}</script></body>"))
        for width in (1280, 800, 390):
            said = self.chromium(f"--window-size={width},900", "--dump-dom", "file://" + probe)
            found = re.search(r"<title>(\d+) of (\d+); (\d+) texts, ([\d.]+) px; (.*?)</title>", said)
            self.assertIsNotNone(found, said[:500])
            self.assertLessEqual(int(found[1]), int(found[2]), "it has to be scrolled sideways")
            self.assertGreater(int(found[3]), 1000)
            self.assertGreaterEqual(float(found[4]), 11, "a text is too small")
            if width == 390:
                self.assertEqual(found[5], "", "words are cut")
            for scheme, name in (("0", "dark"), ("1", "light")):
                shot = os.path.join(self.folder, f"{width}-{name}.png")
                self.chromium(f"--blink-settings=preferredColorScheme={scheme}", f"--window-size={width},1200",
                              f"--screenshot={shot}", "file://" + self.page)
                size, corner, kinds = self.look_at(shot)
                self.assertEqual(size, (width, 1200), "a picture of another size")
                self.assertEqual(corner, (0x12, 0x16, 0x1c) if name == "dark" else (0xfb, 0xfb, 0xfa))
                self.assertGreater(kinds, 100, "rows of the picture are all alike")

    @staticmethod
    def look_at(path):
        """Width and height of a PNG, its first pixel, and how many different filtered rows it has."""
        data = pathlib.Path(path).read_bytes()
        width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
        channels = {2: 3, 6: 4}[kind]
        at, packed = 8, b""
        while at < len(data):
            (length,) = struct.unpack(">I", data[at:at + 4])
            packed += data[at + 8:at + 8 + length] if data[at + 4:at + 8] == b"IDAT" else b""
            at += 12 + length
        raw, line = zlib.decompress(packed), 1 + width * channels * depth // 8
        return (width, height), tuple(raw[1:4]), len({raw[k * line:(k + 1) * line] for k in range(height)})


if __name__ == "__main__":
    unittest.main()
