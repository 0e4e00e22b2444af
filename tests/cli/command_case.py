"""The command under test, and what its tests share: SCRIPT COMMAND [unittest arguments]"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
except ImportError:
    numpy = None

COMMAND = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "cornerturn"


def npy(descr, shape, data=b"", order="False", version=1, text=None):
    """The bytes of an .npy file; `text` replaces the dict."""
    if text is None:
        text = "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)
    text = text.encode("latin1" if version < 3 else "utf8")
    front = 10 if version == 1 else 12
    text += b" " * (-(front + len(text) + 1) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + data


def split(content):
    """Header text and data of an .npy file."""
    wide = content[6] > 1
    (length,) = struct.unpack("<I" if wide else "<H", content[8:12 if wide else 10])
    start = (12 if wide else 10) + length
    return content[start - length:start].decode("latin1").strip(), content[start:]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cornerturn-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, leaf):
        return os.path.join(self.folder, leaf)

    def write(self, leaf, content):
        with open(self.path(leaf), "wb") as file:
            file.write(content)
        return self.path(leaf)

    def read(self, leaf):
        with open(self.path(leaf), "rb") as file:
            return file.read()

    def run_command(self, *words, code=0, **options):
        done = subprocess.run([COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                              **options)
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        if code == 0:
            self.assertEqual(done.stderr, "")
        return done

    def refused(self, content, part, *options, code=1):
        """The file is refused with one sentence that names it and holds `part`, and there is no output."""
        source = self.write("in.npy", content)
        done = self.run_command("transpose", source, self.path("out.npy"), *options, code=code)
        self.assertIn(part, done.stderr)
        self.assertIn(source, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual(done.stdout, "")
        self.assertEqual(os.listdir(self.folder), ["in.npy"])
