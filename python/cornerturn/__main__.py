"""``python -m cornerturn``: bench, doctor."""
from __future__ import annotations

import argparse

import cornerturn


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m cornerturn", description=cornerturn.__doc__)
    parser.add_argument("--version", action="version", version=cornerturn.__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    bench = commands.add_parser("bench", help="measure cornerturn and the installed frameworks",
                                description="Times permutations with each installed framework, checks every result, "
                                            "and prints GB/s (bytes read and written) and the share of a copy.")
    bench.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    bench.add_argument("--mib", type=float, help="size of an array (default: 64 on the CPU, 512 on CUDA)")
    bench.add_argument("--seconds", type=float, default=0.3, help="approximate time for one number (default: 0.3)")
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
    return measured.run(device=chosen.device, mib=chosen.mib or {"cpu": 64, "cuda": 512}[chosen.device],
                        seconds=chosen.seconds, allocate=chosen.allocate, only=chosen.only, plot=chosen.plot,
                        json_on_stdout=chosen.json, output=chosen.output)


if __name__ == "__main__":
    raise SystemExit(main())
