"""The examples of the documentation: the tutorial's cells, the examples of the docstrings, and the command."""
import contextlib
import doctest
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys

import pytest

import cornerturn as ct
from cornerturn import __main__ as command
from cornerturn import bench

TUTORIAL = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
CELL = re.compile(r"^```python ?(\w*)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)


def chapters():
    """The cells without a framework, and the cells of each framework. Each group runs in order, in one namespace."""
    cells = CELL.findall(TUTORIAL.read_text(encoding="utf-8"))
    assert len(cells) >= 10
    return {framework: [cell for cell in cells if cell[0] in ("", framework)] for framework in {cell[0] for cell in cells}}


@pytest.mark.parametrize("framework", sorted(chapters()), ids=lambda name: name or "numpy")
def test_tutorial(framework):
    if framework:
        pytest.importorskip(framework)
    names = {}
    for number, (_, code, expected) in enumerate(chapters()[framework]):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"cell {number} of {TUTORIAL.name}", "exec"), names)
        assert printed.getvalue() == expected, code


def documented():
    import cornerturn._frameworks  # noqa: F401
    found = {"cornerturn": [ct.batch, ct.matrix_transpose, ct.permute_dims, ct.rearrange, ct.transpose_inplace_, ct.plan, ct.calibrate]}
    for module, framework in (("torch", "torch"), ("jax", "jax"), ("dask", "dask"), ("xarray", "xarray"), ("files", "numpy")):
        if importlib.util.find_spec(framework):
            imported = importlib.import_module(f"cornerturn.{module}")
            found[module] = [getattr(imported, name) for name in imported.__all__]
    found["xarray"] = [one.transpose for one in found.get("xarray", ())]  # of the accessors
    return [(framework, one) for framework, all_of_it in found.items() for one in all_of_it]


@pytest.mark.parametrize("framework,thing", documented(), ids=lambda value: getattr(value, "__name__", value))
def test_docstrings(framework, thing):
    text = thing.__doc__
    assert text and text.strip().split("\n")[0].endswith((".", "`."))
    test = doctest.DocTestParser().get_doctest(text, {}, f"{framework}.{thing.__name__}", None, 0)
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_bench(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    arguments = ["bench", "--mib", "0.5", "--seconds", "0.01"]
    assert command.main([*arguments, "--plot", str(tmp_path / "a.svg"), "-o", str(tmp_path / "a.json")]) == 0
    printed = capsys.readouterr().out
    results = json.loads((tmp_path / "a.json").read_text())
    assert set(results["seconds"]) == {case.name for case in bench.CASES}
    for name, times in results["seconds"].items():
        assert f"| {name} |" in printed
        assert {"copy", "cornerturn", "NumPy"} <= set(times) and min(times.values()) > 0
        assert 0.2 < results["bytes_moved"][name] / 2**20 < 4
    picture = (tmp_path / "a.svg").read_text()
    assert "<svg" in picture and len(re.findall("<path", picture)) > 3 * len(bench.CASES)
    assert command.main([*arguments, "--only", "complex", "--allocate", "--plot", str(tmp_path / "a.png")]) == 0
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert "matrix uint8" not in capsys.readouterr().out
    assert command.main([*arguments, "--only", "complex", "--json"]) == 0  # on stdout, and nothing else there
    printed = capsys.readouterr()
    assert "complex" in next(iter(json.loads(printed.out)["seconds"]))
    assert "share of the copy" in printed.err


def test_bench_checks_results(monkeypatch):
    monkeypatch.setattr(bench.Framework, "move", lambda self, x, axes, out: x.T.copy()[::-1])
    with pytest.raises(SystemExit, match="NumPy has a wrong result for matrix uint8"):
        bench.run(device="cpu", mib=0.1, seconds=0.01, allocate=True, only="uint8", plot=None)


def test_bench_names_its_cases():
    with pytest.raises(SystemExit, match="no case has 'nothing' in its name. Wanted: a part of one of 'matrix uint8'"):
        command.main(["bench", "--only", "nothing"])


def test_doctor(capsys):
    assert command.main(["doctor"]) == 0
    assert re.search(r"^cpu +yes", capsys.readouterr().out, re.M)


def test_alone():
    """The package needs no framework, and imports none."""
    code = "import sys, cornerturn; print([name for name in ('numpy', 'torch', 'jax', 'cupy') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
    refused = "import cornerturn\ntry: cornerturn.matrix_transpose(b'x')\nexcept TypeError as e: print(e)"
    found = subprocess.run([sys.executable, "-c", refused], capture_output=True, text=True, check=True).stdout
    assert found.startswith("x is a bytes. Wanted: an array of NumPy")


def test_version():
    header = TUTORIAL.parents[1] / "include" / "cornerturn" / "version.h"
    assert f'"{ct.__version__}"' in header.read_text()
