"""``python -m cornerturn``: bench, doctor."""
from __future__ import annotations

import argparse

import cornerturn


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m cornerturn", description=cornerturn.__doc__)
    parser.add_argument("--version", action="version", version=cornerturn.__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    bench = commands.add_parser("bench", help="measure cornerturn beside the frameworks that are installed",
                                description="Times permutations with each framework that is installed, checks every "
                                            "result, and prints GB/s (bytes read and written) and the share of a copy.")
    bench.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    bench.add_argument("--mib", type=float, help="size of an array (default: 64 on the CPU, 512 on CUDA)")
    bench.add_argument("--seconds", type=float, default=0.3, help="to spend on one number, about (default: 0.3)")
    bench.add_argument("--allocate", action="store_true", help="each call makes its result anew, instead of writing to out")
    bench.add_argument("--only", default="", help="the cases whose name contains this")
    bench.add_argument("--plot", metavar="FILE", help="draw the table: a name in .svg, .png or .pdf; wants matplotlib")
    bench.add_argument("--json", metavar="FILE", help="write the numbers")
    commands.add_parser("doctor", help="say what this build and this machine offer")
    chosen = parser.parse_args(arguments)
    if chosen.command == "doctor":
        print(f"cornerturn {cornerturn.__version__}")
        for backend in cornerturn.backends():
            print(f"{backend['name']:<5} {'yes' if backend['present'] else 'no':<4} {backend['detail']}")
        return 0
    from . import bench as measured
    return measured.run(device=chosen.device, mib=chosen.mib or {"cpu": 64, "cuda": 512}[chosen.device],
                        seconds=chosen.seconds, allocate=chosen.allocate, only=chosen.only, plot=chosen.plot,
                        json_file=chosen.json)


if __name__ == "__main__":
    raise SystemExit(main())
