"""JAX on eight devices: each partitioner in a process of its own, because a process chooses its devices once."""
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("jax")
CASES = pathlib.Path(__file__).with_name("jax_sharding_cases.py")


@pytest.mark.parametrize("partitioner", ["shardy", "gspmd"])
def test_eight_devices(partitioner):
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "2",
                   "JAX_USE_SHARDY_PARTITIONER": str(int(partitioner == "shardy"))}
    ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(CASES)], env=environment,
                         capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr[-5_000:]
    assert " passed" in ran.stdout
