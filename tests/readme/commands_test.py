"""Runs the commands of README.md in order, in a folder with the files that they read: commands_test.py COMMAND README.md

Lines after a command have to appear in its output in this order; "..." stands for any lines.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

command, page = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
block, = re.findall(r"^```console\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
with tempfile.TemporaryDirectory() as folder:
    for kind, shape in (("matrix", "30x20"), ("cube", "10x8x3")):
        subprocess.run([command, "make-sample", kind, f"{kind}.npy", "--shape", shape], cwd=folder, check=True)
    ran = 0
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        line, *shown = part.splitlines()
        words = line.split()
        assert words[0] == "cornerturn", line
        done = subprocess.run([command, *words[1:]], cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
        printed = [text.rstrip() for text in done.stdout.splitlines()]
        at = 0
        for text in shown:
            if text != "...":
                assert text in printed[at:], f"{line} does not print\n{text}\nbut\n{done.stdout}"
                at = printed.index(text, at) + 1
        ran += 1
    made = sorted(os.listdir(folder))
    assert ran >= 4 and {"transposed.npy", "planes.npy", "report.html"} <= set(made), made
