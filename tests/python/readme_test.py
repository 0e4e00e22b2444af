"""The Python cells of README.md run in order, in one namespace, and print the block below them."""
import contextlib
import io
import pathlib
import re

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
CELL = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```\n", re.M | re.S)


def test_readme():
    cells = CELL.findall(README.read_text(encoding="utf-8"))
    assert len(cells) == README.read_text(encoding="utf-8").count("```python") >= 2
    names = {}
    for code, expected in cells:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, README.name, "exec"), names)
        assert printed.getvalue() == expected, code
