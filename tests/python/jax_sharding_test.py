"""JAX on eight devices: each partitioner in a process of its own, because a process chooses its devices once."""
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("jax")
CASES = pathlib.Path(__file__).with_name("jax_sharding_cases.py")

PARTITIONERS = ["shardy", "gspmd"]


@pytest.fixture(scope="module")
def runs():
    """Processes of both partitioners, side by side."""
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(CASES)]
    made = {}
    for partitioner in PARTITIONERS:
        environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "2",
                       "JAX_USE_SHARDY_PARTITIONER": str(int(partitioner == "shardy"))}
        made[partitioner] = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    yield made
    for run in made.values():
        run.kill()
        run.wait()


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_eight_devices(runs, partitioner):
    said = runs[partitioner].communicate()[0]
    assert runs[partitioner].returncode == 0, said[-20_000:]
    assert " passed" in said
