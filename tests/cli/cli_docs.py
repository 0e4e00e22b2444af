#!/usr/bin/env python3
"""Compares docs/cli.md with the command: every block that begins with "$ cornerturn ... --help" is the exact output.

    cli_docs.py COMMAND docs/cli.md            fails when a block differs or a subcommand has none
    cli_docs.py COMMAND docs/cli.md --write    updates the blocks
"""
import argparse
import difflib
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^```text\n\$ cornerturn (?P<words>[^\n]*--help)\n(?P<text>.*?)^```$", re.M | re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()

    def said(words):
        return subprocess.run([options.command, *words.split()], stdout=subprocess.PIPE, check=True).stdout.decode()

    before = options.page.read_text()
    shown = [match["words"] for match in BLOCK.finditer(before)]
    listed = re.search(r"^Subcommands:\n(.*?)\n\n", said("--help"), re.M | re.S)[1]
    wanted = ["--help"] + [line.split()[0] + " --help" for line in listed.splitlines() if line[2] != " "]
    missing = [words for words in wanted if words not in shown]
    if missing:
        print(f"{options.page}: no block for: {', '.join('cornerturn ' + words for words in missing)}")
        return 1
    refused = subprocess.run([options.command, "explain", "8x8", "--machine", "?"], capture_output=True, text=True, check=False)
    for machine in refused.stderr.splitlines()[0].split("wanted one of: ")[1].split(", "):
        if not re.search(rf"--machine.*?\b{re.escape(machine)}\b", re.sub(BLOCK, "", before), re.S):
            print(f"{options.page}: the machine {machine} of `explain --machine` is not named")
            return 1
    after = BLOCK.sub(lambda match: f"```text\n$ cornerturn {match['words']}\n{said(match['words'])}```", before)
    if options.write:
        options.page.write_text(after)
        return 0
    if after != before:
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), str(options.page), "the command", "", "")
        print("\n".join(lines))
        print(f"\nTo update it: {sys.argv[0]} {options.command} {options.page} --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
