"""The command that pip installs."""
import pathlib
import signal
import subprocess
import sysconfig
import time

import numpy as np
import pytest

import cornerturn as ct
from cornerturn import _command, _core

COMMAND = pathlib.Path(sysconfig.get_path("scripts")) / "cornerturn"


@pytest.fixture(autouse=True)
def command():
    if not COMMAND.exists():
        pytest.skip("the package is installed without its scripts, as by pip install --target")
    if "this build has no command" in run("--version").stderr:
        pytest.skip("this build has no command: CORNERTURN_CLI is OFF")


def run(*arguments, **options):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=120, **options)


def test_is_the_command():
    found = run("--version")
    assert found.returncode == 0 and ct.__version__ in found.stdout
    assert "transpose" in run("--help").stdout


def test_transposes_a_file(tmp_path):
    x = np.arange(600, dtype="f4").reshape(20, 30)
    np.save(tmp_path / "a.npy", x)
    found = run("transpose", "a.npy", "b.npy", "--verify", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert np.array_equal(np.load(tmp_path / "b.npy"), x.T)


def test_exit_codes(tmp_path):
    assert run("transpose", "missing.npy", "b.npy", cwd=tmp_path).returncode == 1
    assert run("--no-such-option").returncode == 2


def test_ends_with_its_pipe():
    """Python ignores SIGPIPE; the command must not print a failure when its reader ends."""
    with subprocess.Popen([COMMAND, "kernels"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(60) in (0, -signal.SIGPIPE)


def runs_the_command(child):
    """Whether the module is loaded and Python's own handler of SIGINT is gone."""
    process = pathlib.Path("/proc") / str(child.pid)
    caught = int(next(line.split()[1] for line in (process / "status").read_text().splitlines() if line.startswith("SigCgt")), 16)
    return "_core." in (process / "maps").read_text() and not caught >> (signal.SIGINT - 1) & 1


def test_ends_at_ctrl_c(tmp_path):
    # A shell ignores SIGINT for what it runs in the background, so the tests may have inherited that.
    child = subprocess.Popen([COMMAND, "bench", "--set", "quick"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             cwd=tmp_path, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    end = time.monotonic() + 60
    while not runs_the_command(child) and time.monotonic() < end:
        time.sleep(0.02)
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    try:
        assert child.wait(30) != 0 and b"Traceback" not in child.stderr.read()
    finally:
        child.kill()


def test_a_build_without_the_command(monkeypatch, capsys):
    monkeypatch.setattr(_core, "_run_command", lambda arguments: -1)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert _command.main() == 1
    assert "this build has no command" in capsys.readouterr().err
