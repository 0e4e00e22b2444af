"""The interpreters that the package refuses."""
import subprocess
import sys

import pytest


@pytest.mark.parametrize("is_on", [True, False])
def test_the_lock_of_a_free_threaded_python(is_on):
    code = f"import sys; sys._is_gil_enabled = lambda: {is_on}; import cornerturn"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (found.returncode == 0) == is_on
    assert is_on or "ImportError: cornerturn found a Python whose global interpreter lock is off, wanted it on" in found.stderr
