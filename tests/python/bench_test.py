"""python -m cornerturn bench: its files and devices; a run with small arrays."""
import importlib.util
import json
import subprocess
import sys

import pytest

from cornerturn import bench


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "cornerturn", "bench", *arguments], capture_output=True, text=True,
                          timeout=300)


def test_writes_its_numbers(tmp_path):
    kept = tmp_path / "kept.json"
    kept.write_text("before")
    found = run("--mib", "0.1", "--seconds", "0.001", "--only", "complex128", "-o", str(kept))
    assert found.returncode == 0, found.stderr
    numbers = json.loads(kept.read_text())
    assert list(numbers["seconds"]) == ["matrix complex128"] and numbers["device"] == "cpu"


@pytest.mark.parametrize("option,name", [("-o", "/dev/full"), ("-o", "/no/such/folder/a"), ("--plot", "/no/such/folder/a.svg")])
def test_a_bad_file_fails_before_the_work(option, name):
    if option == "--plot" and importlib.util.find_spec("matplotlib") is None:
        pytest.skip("a plot needs matplotlib")
    found = run("--mib", "0.1", option, name)
    assert found.returncode == 1 and found.stdout == ""
    assert found.stderr.startswith(f"bench: {name}: cannot write: ") and found.stderr.count("\n") == 1


def test_the_check_of_a_file_leaves_no_trace(tmp_path):
    bench.check_file(str(tmp_path / "new.json"))
    (tmp_path / "old.json").write_text("before")
    bench.check_file(str(tmp_path / "old.json"))
    assert [one.name for one in tmp_path.iterdir()] == ["old.json"]
    assert (tmp_path / "old.json").read_text() == "before"


@pytest.mark.parametrize("arguments,sentence", [
    (["--plot", "a.txt"], "bench: --plot is 'a.txt', wanted a file that ends in .svg, .png or .pdf"),
    (["--device", "gpu"], "--device: it is 'gpu', wanted cpu, cuda or cuda:N"),
    (["--device", "cuda:"], "--device: it is 'cuda:', wanted cpu, cuda or cuda:N"),
    (["--device", "cuda:77"], "bench: no installed framework has arrays on cuda:77. Wanted: PyTorch or CuPy, with a GPU"),
    (["--mib", "0"], "--mib: it is '0', wanted a number above 0"),
    (["--mib", "nan"], "--mib: it is 'nan', wanted a number above 0"),
    (["--seconds=-1"], "--seconds: it is '-1', wanted a number above 0"),
])
def test_refuses_with_a_sentence(arguments, sentence):
    found = run(*arguments)
    assert found.returncode in (1, 2) and found.stdout == "" and found.stderr.splitlines()[-1].endswith(sentence)


def test_ordinal():
    assert [bench.ordinal_of(one) for one in ("cpu", "cuda", "cuda:0", "cuda:12")] == [0, 0, 0, 12]
