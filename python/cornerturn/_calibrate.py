"""cornerturn.calibrate: the command ``cornerturn calibrate``, for programs in Python."""
from __future__ import annotations

import json
import os
import subprocess
import sys

from ._core import load_machine

_EXIT_USAGE = 2


def calibrate(device: str = "cpu", minutes: float = 3.0, *, threads: int = 1, seed: int = 1,
              file: str | os.PathLike[str] | None = None, quiet: bool = True) -> dict[str, object]:
    """Measure this machine for some minutes, and use its constants in later plans.

    Random problems run with each kernel that accepts them, in a process of its own. Constants of the kernel choice change if they
    choose faster kernels for problems that the fit did not see. Other programs that run meanwhile make the result worse.

    Args:
        device: "cpu", "cuda" or "cuda:N".
        minutes: Approximate time of the measurement.
        threads: Threads of each problem on the CPU.
        seed: The seed of the random problems.
        file: The machine file to write. None: a file that all later programs of this user read, in `XDG_CONFIG_HOME/cornerturn` or
            `~/.config/cornerturn`.
        quiet: Print no lines of progress on stderr.

    Returns:
        What the fit found: "machine", its name; "file"; "fitted" and "held_out", numbers of problems; "before" and "after", the
        regret of the held-out problems with the old and the new constants, each with "mean" and "worst"; "numbers", how many block
        sizes, limits and prefetch distances of a CPU changed; "changed", the number of kernels whose constants changed. Regret is the
        time of the chosen kernel over the fastest one's.

    Raises:
        ValueError: The arguments are not valid, or the time was too short for a fit.
        RuntimeError: The measurement failed. The message is the command's.
    """
    words = ["calibrate", "--json", "--device", str(device), "--minutes", str(minutes), "--threads", str(threads), "--seed", str(seed)]
    words += [f"--output={os.fsdecode(file)}"] if file is not None else []
    words += ["--quiet"] if quiet else []
    code = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); from cornerturn._command import main; sys.exit(main())"
    ran = subprocess.run([sys.executable, "-c", code, json.dumps(sys.path), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE if quiet else None, text=True, errors="replace")
    if ran.returncode != 0:
        said = (ran.stderr or "").partition("\nTry `")[0].strip().removeprefix("cornerturn: ")
        said = said or f"cornerturn calibrate ended with exit code {ran.returncode}"
        raise (ValueError if ran.returncode == _EXIT_USAGE else RuntimeError)(said)
    found: dict[str, object] = json.loads(ran.stdout)
    load_machine(str(found["file"]) if file is None else os.fsdecode(file))
    return found
