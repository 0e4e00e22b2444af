"""The pictures of README.md as SVG text, each for a light and a dark page."""
import re
from html import escape

from result_file import PEERS, geometric_mean, peers_of, share

THEMES = {
    "light": {"ink": "#1b2230", "quiet": "#57606f", "line": "#d5dae1", "track": "#eef1f4", "ours": "#1f5fd0",
              "peer": "#c2762f", "copy": "#8a94a3"},
    "dark": {"ink": "#e8ecf1", "quiet": "#a2adba", "line": "#39424e", "track": "#222a34", "ours": "#6ea3ff",
             "peer": "#e09a55", "copy": "#7d8897"},
}
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


def picture(width, height, label, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'role="img" aria-label="{escape(label)}" font-family="{FONT}" font-size="16">\n'
            f"<title>{escape(label)}</title>\n" + "\n".join(body) + "\n</svg>\n")


def text(x, y, words, colour, more=""):
    return f'<text x="{x}" y="{y}" fill="{colour}"{" " + more if more else ""}>{escape(words)}</text>'


def rect(x, y, width, height, colour, more=""):
    return f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}" fill="{colour}"{" " + more if more else ""}/>'


def cold(own):
    return [case for case in own["cases"] if not case["hot"]]


def peers_in_chart(own):
    return [one for one in peers_of(cold(own)) if one.name != "cutensor_jit"]


def speed(own, theme):
    """A bar a library: its mean share of the copy. A tick on the bar: our share in the library's cases."""
    colour, cases = THEMES[theme], cold(own)
    left, full, top, step, height = 118, 330, 66, 42, 24
    ours = geometric_mean([share(case) for case in cases])
    rows = [("a copy", 1.0, None, "", "", "copy"), ("cornerturn", ours, None, "", f"{len(cases)} cases", "ours")]
    rows += [(PEERS[one.name], one.theirs, one.ours, f"{one.faster:.1f} x faster", f"{one.cases} cases", "peer")
             for one in peers_in_chart(own)]
    bottom = top + step * len(rows)
    device = own["machine"]["gpu"]["name"]
    body = [text(0, 20, f"Transposes on an {device}, relative to a copy", colour["ink"], 'font-size="18" font-weight="600"'),
            text(left + full + 58, top - 16, "cornerturn is", colour["quiet"])]
    for quarter in range(5):
        x = left + full * quarter / 4
        body.append(f'<path d="M{x:g} {top - 8}V{bottom - 6}" stroke="{colour["line"]}"/>')
        body.append(text(f"{x:g}", top - 16, f"{quarter / 4:g}", colour["quiet"], 'text-anchor="middle"'))
    for at, (name, mean, mark, words, count, kind) in enumerate(rows):
        y = top + step * at
        weight = 'font-weight="600" ' if kind == "ours" else ""
        body.append(text(left - 12, y + (13 if count else 17), name, colour["ink"], f'{weight}text-anchor="end"'))
        body.append(text(left - 12, y + 30, count, colour["quiet"], 'font-size="13" text-anchor="end"'))
        body.append(rect(left, y, full * mean, height, colour[kind], 'rx="3"'))
        if mark:
            body.append(rect(left + full * mark - 1.5, y - 3, 3, height + 6, colour["ours"]))
        body.append(text(left + full + 14, y + 17, f"{mean:.2f}", colour["ink"], weight.strip()))
        body.append(text(left + full + 58, y + 17, words, colour["ink"]))
    body.append(text(0, bottom + 20, "Bar: speed over the speed of the best copy, geometric mean of the cases.", colour["quiet"]))
    body.append(rect(0, bottom + 29, 3, 16, colour["ours"]))
    body.append(text(10, bottom + 42, f"cornerturn in the same cases. Cold L2, {own['merged']} processes, {own['date']}.",
                     colour["quiet"]))
    label = f"Share of the copy on an {device}: cornerturn {ours:.2f}; " + "; ".join(
        f"{name} {mean:.2f}" for name, mean, *_ in rows[2:])
    return picture(620, bottom + 52, label, body)


def transpose(theme):
    """A 2 x 3 array and its transpose, each as a grid and as its bytes in memory."""
    colour = THEMES[theme]
    fills = [colour["ours"], colour["peer"]]
    cell, body = 40, []

    def draw(x, y, number):
        body.append(rect(x, y, cell - 3, cell - 3, fills[number // 3], 'rx="5"'))
        body.append(text(x + (cell - 3) / 2, y + 25, str(number), "#fff" if theme == "light" else "#10151b",
                         'text-anchor="middle" font-weight="600"'))

    def grid(left, top, numbers, title):
        body.append(text(left, 18, title, colour["ink"], 'font-weight="600"'))
        for i, row in enumerate(numbers):
            for j, number in enumerate(row):
                draw(left + cell * j, top + cell * i, number)

    def memory(left, numbers):
        body.append(text(left, 196, "in memory", colour["quiet"], 'font-size="14"'))
        for k, number in enumerate(numbers):
            draw(left + cell * k, 206, number)

    rows = [[0, 1, 2], [3, 4, 5]]
    columns = [list(column) for column in zip(*rows)]
    grid(0, 32, rows, "x, 2 x 3")
    grid(350, 32, columns, "ct.matrix_transpose(x), 3 x 2")
    memory(0, sum(rows, []))
    memory(350, sum(columns, []))
    for y in (70, 224):
        body.append(f'<path d="M268 {y}H318M308 {y - 7}L320 {y}L308 {y + 7}" fill="none" stroke="{colour["quiet"]}" '
                    'stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round"/>')
    return picture(620, 252, "A 2 x 3 array with rows 0 1 2 and 3 4 5 becomes a 3 x 2 array with rows 0 3, 1 4 and 2 5. "
                   "Its memory changes from 0 1 2 3 4 5 to 0 3 1 4 2 5.", body)


def found(pattern, path):
    return re.search(pattern, path.read_text(encoding="utf-8"))[1]


def badges(tree):
    """Facts of the tree, in a row."""
    facts = [
        ("version", found(r'VERSION_STRING "([^"]+)"', tree / "include/cornerturn/version.h")),
        ("licence", "Apache-2.0"),
        ("C++", found(r"cxx_std_(\d+)", tree / "CMakeLists.txt")),
        ("Python", "\u2265 " + found(r'requires-python = ">=([\d.]+)"', tree / "pyproject.toml")),
        ("CUDA", "\u2265 " + found(r"lowest_nvcc ([\d]+)", tree / "cmake/cuda.cmake")),
        ("Linux", "x86-64, aarch64"),
    ]
    body, x = [], 0
    for name, value in facts:
        first, second = (14 + round(7.4 * len(words)) for words in (name, value))
        body.append(f'<path d="M{x + 4} 0h{first - 4}v22h{4 - first}a4 4 0 0 1-4-4v-14a4 4 0 0 1 4-4z" fill="#3b4452"/>')
        body.append(f'<path d="M{x + first} 0h{second - 4}a4 4 0 0 1 4 4v14a4 4 0 0 1-4 4h{4 - second}z" fill="#1f5fd0"/>')
        for left, width, words in ((x, first, name), (x + first, second, value)):
            body.append(text(f"{left + width / 2:g}", 15.5, words, "#fff", 'font-size="12" text-anchor="middle"'))
        x += first + second + 6
    return picture(x - 6, 22, ", ".join(" ".join(pair) for pair in facts), body)
