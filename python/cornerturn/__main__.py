"""``python -m cornerturn``: bench, doctor."""
from __future__ import annotations

import argparse
import math
import re

import cornerturn


def _device(text: str) -> str:
    if not re.fullmatch(r"cpu|cuda(:\d{1,3})?", text):
        raise argparse.ArgumentTypeError(f"it is '{text}', wanted cpu, cuda or cuda:N")
    return text


def _positive(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise argparse.ArgumentTypeError(f"it is '{text}', wanted a number above 0")
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m cornerturn", description=cornerturn.__doc__)
    parser.add_argument("--version", action="version", version=cornerturn.__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    bench = commands.add_parser("bench", help="measure cornerturn and the installed frameworks",
                                description="Times permutations with each installed framework, checks every result, "
                                            "and prints GB/s (bytes read and written) and the share of a copy.")
    bench.add_argument("--device", metavar="cpu|cuda[:N]", type=_device, default="cpu", help="default: cpu")
    bench.add_argument("--mib", type=_positive, help="size of an array (default: 64 on the CPU, 512 on CUDA)")
    bench.add_argument("--seconds", type=_positive, default=0.3, help="approximate time for one number (default: 0.3)")
    bench.add_argument("--allocate", action="store_true", help="each call allocates its result, without out")
    bench.add_argument("--only", default="", help="only run cases with this text in their name")
    bench.add_argument("--plot", metavar="FILE", help="draw the table into a .svg, .png or .pdf file; needs matplotlib")
    bench.add_argument("--json", action="store_true", help="print one JSON value on stdout; the table goes to stderr")
    bench.add_argument("-o", "--output", metavar="FILE", help="write the numbers to this JSON file")
    commands.add_parser("doctor", help="describe this build and this machine")
    chosen = parser.parse_args(arguments)
    if chosen.command == "doctor":
        print(f"cornerturn {cornerturn.__version__}")
        for backend in cornerturn.backends():
            print(f"{backend['name']:<5} {'yes' if backend['present'] else 'no':<4} {backend['detail']}")
        return 0
    from . import bench as measured
    return measured.run(device=chosen.device, mib=chosen.mib or (64 if chosen.device == "cpu" else 512),
                        seconds=chosen.seconds, allocate=chosen.allocate, only=chosen.only, plot=chosen.plot,
                        json_on_stdout=chosen.json, output=chosen.output)


if __name__ == "__main__":
    raise SystemExit(main())
