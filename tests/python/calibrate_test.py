"""cornerturn.calibrate: the measurement of this machine."""
import json
import subprocess
import sys

import cornerturn as ct
import pytest

# In a process of its own: the constants count for all later plans of a process.
PROGRAM = """
import json, sys
import cornerturn as ct
for minutes in (0.2, 0.5, 1.5):  # a slow machine measures few problems
    try:
        found = ct.calibrate(minutes=minutes, seed=3, file=sys.argv[1])
        break
    except ValueError as short:
        assert "wanted more --minutes" in str(short), short
print(json.dumps(found))
"""


def test_writes_the_file_of_this_machine(tmp_path):
    file = tmp_path / "machine.json"
    ran = subprocess.run([sys.executable, "-c", PROGRAM, str(file)], capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout)
    assert ran.stderr == ""
    assert found["file"] == str(file)
    assert json.loads(file.read_text())["name"] == found["machine"]
    assert found["fitted"] >= 20 and found["held_out"] >= 1
    assert 1 <= found["after"]["mean"] <= found["before"]["mean"] <= found["before"]["worst"]
    ct.load_machine(str(file))  # it is a machine file


@pytest.mark.parametrize("wrong", [{"minutes": -1}, {"minutes": 0}, {"minutes": float("nan")}, {"threads": 0}, {"device": "tpu"},
                                   {"seed": -1}])
def test_refuses(wrong, tmp_path):
    name = next(iter(wrong))
    with pytest.raises(ValueError, match=f"--{name} is .*, wanted") as refused:
        ct.calibrate(file=tmp_path / "machine.json", **wrong)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "machine.json").exists()


def test_a_folder_that_does_not_exist_is_refused_at_once(tmp_path):
    with pytest.raises(RuntimeError, match="no folder: cannot be written: No such file or directory"):
        ct.calibrate(minutes=600, file=tmp_path / "no folder" / "machine.json")
