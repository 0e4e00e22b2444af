"""The script ``cornerturn``: runs the command in this process."""
from __future__ import annotations

import signal
import sys

from . import _core


def main() -> int:
    for one in (signal.SIGINT, signal.SIGPIPE):  # the command ends at Ctrl-C and at the end of a pipe, as programs in C++ do
        signal.signal(one, signal.SIG_DFL)
    code = _core._run_command(["cornerturn", *sys.argv[1:]])
    if code == -1:
        print("cornerturn: this build has no command: it was built with CORNERTURN_CLI=OFF. Wanted: a wheel, or a build "
              "with CLI11, fmt and nlohmann-json", file=sys.stderr)
        return 1
    return code
