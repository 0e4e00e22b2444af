"""The types of the package, as mypy sees them."""
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("mypy")

CODE = """
import numpy as np
import cornerturn as ct
x = np.zeros((2, 3), np.float32)
reveal_type(ct.matrix_transpose(x))
reveal_type(ct.plan(x)(x))
reveal_type(ct.batch([x])())
ct.permute_dims(x, (1, 0), alpha=2, beta=1j, dtype="f2", threads=2, second=x, conj=True)
ct.matrix_transpose("x")
ct.permute_dims(3, (1, 0))
ct.transpose_inplace_([[1]])
ct.matrix_transpose(x, threads="2")
ct.rearrange(x, (1, 0))
ct.rearrange(x, "(a b) c -> a b c", a=2)
"""


def test_types(tmp_path):
    (tmp_path / "code.py").write_text(CODE)
    found = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path), str(tmp_path / "code.py")],
                           cwd=pathlib.Path(__file__).resolve().parents[2], capture_output=True, text=True)
    lines = [line.split("code.py:", 1)[1] for line in found.stdout.splitlines() if "code.py:" in line]
    errors = [int(line.split(":", 1)[0]) for line in lines if ": error:" in line]
    assert errors == [9, 10, 11, 12, 13], found.stdout
    revealed = [line for line in lines if "Revealed type" in line]
    assert len(revealed) == 3 and all("float32" in line or "floating" in line for line in revealed[:2])
    assert 'cannot be "str"' in next(line for line in lines if line.startswith("9:"))
