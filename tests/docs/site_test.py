#!/usr/bin/env python3
"""Tests the documentation site in headless Chromium: site_test.py build/docs/site [--junit FILE]

Every page is opened from the disk at 1280 and 390 pixels: no page is wider than the window, and the console has no error. Every
link leads to a file or to a heading that exists. No page needs the network, and none with its own pictures has 1 MB.
"""
import html.parser
import pathlib
import re
import shutil
import sys
import unittest
import urllib.parse
import xml.etree.ElementTree as tree

from playwright.sync_api import sync_playwright

SITE = pathlib.Path(sys.argv.pop(1)).resolve()
JUNIT = pathlib.Path(sys.argv.pop(sys.argv.index("--junit") + 1)) if "--junit" in sys.argv else None
if JUNIT:
    sys.argv.remove("--junit")
TREE = pathlib.Path(__file__).resolve().parents[2]
PAGES = [page for page in sorted(SITE.rglob("*.html")) if page.name != "404.html"]
WIDTHS = (1280, 390)


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.names, self.loaded = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.names.update(values[name] for name in ("id", "name") if values.get(name))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        loaded = values.get("src") if tag in ("img", "script", "iframe") else values.get("href") if tag == "link" else None
        if loaded and (tag != "link" or values.get("rel") in ("stylesheet", "icon")):
            self.loaded.append(loaded)


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.read = {page: Links(page.read_text()) for page in PAGES}

    def target(self, page, link):
        """The file of a link inside the site, and the heading; None: the link leaves the site."""
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or parts.netloc:
            return None
        path = page if not parts.path else (page.parent / urllib.parse.unquote(parts.path))
        path = path.resolve()
        return (path / "index.html" if path.is_dir() else path), urllib.parse.unquote(parts.fragment)

    def test_every_link_resolves(self):
        followed = 0
        for page, has in self.read.items():
            for link in has.links:
                found = self.target(page, link)
                if found is None or found[0].suffix == "":
                    self.assertTrue(found is None, f"{page}: {link}")
                    continue
                file, heading = found
                self.assertTrue(file.is_file(), f"{page.relative_to(SITE)}: {link}")
                if heading and not heading.startswith("__") and file in self.read:
                    self.assertIn(heading, self.read[file].names, f"{page.relative_to(SITE)}: {link}")
                followed += 1
        self.assertGreater(followed, 1000)

    def test_pages_are_light_and_need_no_network(self):
        for page, has in self.read.items():
            weight = page.stat().st_size
            for link in has.loaded:
                found = self.target(page, link)
                if link.startswith("data:"):
                    continue
                self.assertIsNotNone(found, f"{page.relative_to(SITE)} loads {link}")
                weight += found[0].stat().st_size if "assets/" not in link else 0
            self.assertLess(weight, 1 << 20, page.relative_to(SITE))
        shared = sum(one.stat().st_size for one in (SITE / "assets").rglob("*.min.js") if "lunr" not in str(one))
        self.assertLess(shared, 1 << 20)

    def test_the_parts_of_the_site(self):
        for part in ("index", "learn/index", "learn/exercises/index", "learn/90_register_block", "python", "python_api",
                     "api/plan.hpp", "api/cornerturn.h", "cli", "measuring", "reports/h200", "design", "log/gpu", "HACKING"):
            self.assertIn(SITE / f"{part}.html", PAGES)

    def test_headers_are_complete_on_their_pages(self):
        for header in sorted((TREE / "include/cornerturn").glob("*.h*")):
            page = re.sub(r"<[^>]*>", "", (SITE / f"api/{header.name}.html").read_text())
            for mark, sign in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&")):
                page = page.replace(mark, sign)
            for line in header.read_text().splitlines():
                code = re.sub(r"\s*(//|/\*).*", "", line).strip()
                if code and not re.match(r'#|(inline )?namespace|\}( // namespace.*)?$|extern "C"|.*\*/$| {3}', line):
                    if re.match(r"[a-z]\w+ [\w ]+[.,]? ?\w*\.?$", code):  # a line of a comment
                        continue
                    self.assertIn(code, page, header.name)

    def test_every_page_in_the_browser(self):
        with sync_playwright() as tools:
            browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for width in WIDTHS:
                context = browser.new_context(viewport={"width": width, "height": 900},
                                              color_scheme="dark" if width == 390 else "light")
                tab, errors, outside = context.new_page(), [], []
                tab.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
                tab.on("pageerror", lambda error: errors.append(str(error)))
                tab.on("request", lambda request: outside.append(request.url) if request.url.startswith("http") else None)
                for page in PAGES:
                    with self.subTest(page=str(page.relative_to(SITE)), width=width):
                        errors.clear(), outside.clear()
                        tab.goto(page.as_uri())
                        wide = tab.evaluate("""() => {
                          const limit = document.documentElement.clientWidth;
                          if (document.documentElement.scrollWidth <= limit && document.body.scrollWidth <= limit) return '';
                          const wide = [...document.querySelectorAll('article *')].filter(
                            one => one.getBoundingClientRect().right > limit + 1);
                          return document.documentElement.scrollWidth + ' ' + (wide.length ? wide[0].outerHTML.slice(0, 200) : '');
                        }""")
                        self.assertEqual((wide, errors, outside), ("", [], []))
                context.close()
            browser.close()

    def test_the_bank_map(self):
        with sync_playwright() as tools:
            browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            tab = browser.new_page()
            tab.goto((SITE / "learn/bank_map.html").as_uri())
            for padding, xor, width, conflicts in ((0, "none", 1, "31"), (1, "none", 1, "0"), (0, "none", 4, "7"), (0, "row", 4, "0"),
                                                   (4, "none", 4, "3")):
                for name, value in (("padding", padding), ("xor", xor), ("width", width)):
                    tab.check(f"input[name={name}][value='{value}']")
                self.assertIn(f" {conflicts} a shared load", tab.inner_text("#bank-map p"))
                banks = tab.eval_on_selector_all("#bank-map rect[stroke]", "all => all.map(one => one.nextSibling.textContent)")
                self.assertEqual(len(banks), 32)
                self.assertEqual(max(banks.count(one) for one in banks), int(conflicts) + 1)
            for name, value in (("padding", 0), ("xor", "piece"), ("width", 4), ("access", "stores")):  # 65_async_copy
                tab.check(f"input[name={name}][value='{value}']")
            banks = tab.eval_on_selector_all("#bank-map rect[stroke]", "all => all.map(one => one.nextSibling.textContent)")
            self.assertEqual(sorted(map(int, banks)), list(range(32)))
            self.assertTrue((SITE / "learn" / tab.get_attribute("#bank-map p a", "href")).is_file())
            self.assertEqual(len(tab.query_selector_all("#bank-map rect:not([stroke])")), 1024 - 32 + 2 * 16 * 8)
            browser.close()

    def test_search_and_the_colours(self):
        with sync_playwright() as tools:
            browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            tab = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
            tab.goto((SITE / "index.html").as_uri())
            tab.keyboard.press("/")
            tab.keyboard.type("swizzled")
            tab.wait_for_selector(".md-search-result__link", timeout=20000)
            found = tab.eval_on_selector_all(".md-search-result__link", "links => links.map(one => one.href)")
            self.assertTrue(any("35_swizzled" in link for link in found), found)
            colours = {}
            for scheme, name in (("light", "default"), ("dark", "slate")):
                tab = browser.new_context(color_scheme=scheme).new_page()
                tab.goto((SITE / "learn/index.html").as_uri())
                self.assertEqual(tab.get_attribute("body", "data-md-color-scheme"), name)
                colours[scheme] = tab.evaluate("() => getComputedStyle(document.body).backgroundColor")
            self.assertEqual(len(set(colours.values())), 2, colours)
            tab.click("label[title=Light]")
            self.assertEqual(tab.get_attribute("body", "data-md-color-scheme"), "default")
            browser.close()


class Kept(unittest.TextTestResult):
    """Keeps the names of the tests for the JUnit file."""
    def startTest(self, test):
        self.names = [*getattr(self, "names", []), test.id()]
        super().startTest(test)


def main():
    """The JUnit file is for tools/test_totals."""
    runner = unittest.TextTestRunner(resultclass=Kept)
    result = unittest.main(exit=False, testRunner=runner).result
    if JUNIT:
        wrong = {getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors}
        suite = tree.Element("testsuite", name="site")
        for name in result.names:
            case = tree.SubElement(suite, "testcase", name=name)
            if name in wrong:
                tree.SubElement(case, "failure")
        JUNIT.write_bytes(tree.tostring(suite))
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
