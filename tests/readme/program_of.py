"""Writes the one program in a language of a Markdown page to a file: program_of.py PAGE cpp|c FILE"""
import pathlib
import re
import sys

page, language, output = sys.argv[1:]
programs = re.findall(rf"^```{language}\n(.*?)^```$", pathlib.Path(page).read_text(encoding="utf-8"), re.M | re.S)
if len(programs) != 1:
    sys.exit(f"{page} has {len(programs)} blocks of {language}, wanted 1")
pathlib.Path(output).write_text(programs[0], encoding="utf-8")
