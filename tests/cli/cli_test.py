#!/usr/bin/env python3
"""The cornerturn command from outside: cli_test.py COMMAND [unittest arguments]"""
import fcntl
import json
import os
import pty
import random
import re
import resource
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import time
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


@unittest.skipIf(numpy is None, "no numpy here")
class Transpose(Case):
    def move(self, array, *options, axes=None, version=None):
        with open(self.path("in.npy"), "wb") as file:
            if version is None:
                numpy.lib.format.write_array(file, array)
            else:
                numpy.lib.format.write_array(file, array, version=version)
        words = [*options] if axes is None else [*options, "--axes=" + ",".join(map(str, axes))]
        self.run_command("transpose", self.path("in.npy"), self.path("out.npy"), "--verify", "--quiet", *words)
        moved = numpy.load(self.path("out.npy"))
        wanted = numpy.transpose(array, axes)
        self.assertEqual(moved.dtype, array.dtype)
        self.assertEqual(moved.shape, wanted.shape)
        self.assertEqual(moved.tobytes(), wanted.tobytes())
        return moved

    def test_every_dtype(self):
        rng = numpy.random.default_rng(1)
        names = ["|b1", "|i1", "|u1", "<f2", "<f4", "<f8", "<c8", "<c16", "|S1", "|S3", "|S33", "<U1", "<U5", "|V1",
                 "|V7", "|V12", "|V24", "|V100", "<M8[ns]", "<m8[25s]", numpy.longdouble, numpy.clongdouble]
        names += [order + kind + size for order in "<>" for kind in "iu" for size in "248"] + [">f4", ">c16", ">U3"]
        names.append([("x", "<f4"), ("y", ">i2", (3,)), ("in", [("a", "|u1"), ("b", "<f8", (2, 2))])])
        names.append(numpy.dtype([("a", "|u1"), ("b", "<f8")], align=True))
        for name in names:
            dtype = numpy.dtype(name)
            raw = rng.integers(0, 2 if dtype.kind == "b" else 100, 7 * 5 * dtype.itemsize, dtype=numpy.uint8)
            if dtype.kind == "U":
                raw = rng.integers(32, 127, 7 * 5 * dtype.itemsize // 4, dtype=numpy.uint32)
                raw = raw.astype(raw.dtype.newbyteorder(dtype.byteorder))
            with self.subTest(dtype=str(dtype)):
                self.move(raw.view(dtype).reshape(7, 5))

    def test_every_permutation(self):
        import itertools
        array = numpy.arange(3 * 4 * 5 * 6, dtype="<u4").reshape(3, 4, 5, 6)
        for axes in itertools.permutations(range(4)):
            with self.subTest(axes=axes):
                self.move(array, axes=axes)
                self.move(numpy.asfortranarray(array), axes=axes)

    def test_negative_axes(self):
        self.move(numpy.arange(24).reshape(2, 3, 4), axes=(-1, 0, -2))

    def test_versions(self):
        array = numpy.arange(12.0).reshape(3, 4)
        for version in [(1, 0), (2, 0), (3, 0)]:
            self.move(array, version=version)
            self.assertEqual(self.read("out.npy")[6], version[0])
        self.move(numpy.zeros((3, 2), dtype=[("größe \u4e2d", "<f4")]), version=(3, 0))

    def test_odd_shapes(self):
        for shape in [(), (1,), (7,), (0,), (0, 3), (3, 0, 2), (1, 1, 1), (1, 9), (9, 1), (2,) * 16, (1,) * 30 + (2, 3)]:
            with self.subTest(shape=shape):
                self.move(numpy.arange(numpy.prod(shape, dtype=int), dtype="<u2").reshape(shape))
        self.move(numpy.zeros((3, 2), dtype="|S0"))

    def test_larger_than_a_box(self):
        rng = numpy.random.default_rng(2)
        matrix = rng.integers(0, 2**32, (3001, 2503), dtype=numpy.uint32)
        for threads in (1, 2, 7):
            self.move(matrix, "--threads", str(threads))
        self.move(numpy.asfortranarray(matrix), axes=(0, 1))
        self.move(rng.integers(0, 2**16, (701, 503, 12), dtype=numpy.uint16), axes=(2, 0, 1))
        self.move(rng.integers(0, 2**8, (3, 1001, 1999), dtype=numpy.uint8), axes=(1, 2, 0))
        self.move(rng.integers(0, 2**8, (2000, 701, 3), dtype=numpy.uint8).view("V3")[..., 0])

    def test_metadata_only(self):
        array = numpy.arange(60, dtype=">i2").reshape(3, 4, 5)
        for order in "CF":
            moved = self.move(numpy.array(array, order=order), "--metadata-only")
            self.assertEqual(split(self.read("in.npy"))[1], split(self.read("out.npy"))[1])
            self.assertEqual(moved.flags.f_contiguous, order == "C")
        moved = self.move(array.reshape(3, 1, 4, 5), "--metadata-only", axes=(1, 0, 2, 3))
        self.assertTrue(moved.flags.c_contiguous)
        self.move(array.reshape(3, 1, 4, 5), "--metadata-only", axes=(3, 2, 0, 1))
        self.move(numpy.zeros((0, 3, 4)), "--metadata-only", axes=(1, 0, 2))
        os.remove(self.path("out.npy"))
        numpy.save(self.path("in.npy"), array)
        self.refused(self.read("in.npy"), "--metadata-only cannot express axes 0,2,1 of shape (3, 4, 5)",
                     "--metadata-only", "--axes", "0,2,1")

    def test_json(self):
        numpy.save(self.path("in.npy"), numpy.zeros((5, 3), "<f4"))
        done = self.run_command("transpose", self.path("in.npy"), self.path("out.npy"), "--json", "--verify",
                                "--threads", 1)
        report = json.loads(done.stdout)
        self.assertEqual(report["input_shape"], [5, 3])
        self.assertEqual(report["output_shape"], [3, 5])
        self.assertEqual(report["axes"], [1, 0])
        self.assertEqual(report["dtype"], "<f4")
        self.assertEqual(report["bytes"], 60)
        self.assertEqual(report["threads"], 1)
        self.assertIs(report["verified"], True)
        self.assertGreater(report["seconds"], 0)
        self.assertGreater(report["gb_s"], 0)
        names = [row["name"] for row in json.loads(self.run_command("kernels", "--json").stdout)]
        self.assertIn(report["kernel"], names)

    def test_text(self):
        numpy.save(self.path("in.npy"), numpy.zeros((5, 3), "<f4"))
        words = ["transpose", self.path("in.npy"), self.path("out.npy")]
        lines = self.run_command(*words).stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn("5x3", lines[0])
        self.assertIn("3x5", lines[0])
        self.assertIn("GB/s", lines[1])
        self.assertEqual(self.run_command(*words, "--quiet").stdout, "")


class BadInput(Case):
    good = npy("'<f4'", "(2, 3)", bytes(24))

    def test_not_an_npy(self):
        self.refused(b"", "the file is empty")
        self.refused(b"PK\3\4 a zip file", "is no .npy file, but a zip archive, as .npz files are")
        self.refused(b"\x89HDF\r\n\x1a\n" + bytes(99), "is no .npy file, but an HDF5 file")
        self.refused(b"\x1f\x8b\x08" + bytes(99), "compressed by gzip")
        self.refused(b"1.0 2.0\n3.0 4.0\n", 'it begins with the text "1.0 2.0"')
        self.refused(b"\1\2\3\4\5\6\7\x08", "it begins with 01 02 03 04 05 06, wanted 93 4e 55 4d 50 59")
        self.refused(b"\x93NUMPY", "truncated")
        self.refused(self.good[:6] + b"\7\0" + self.good[8:], "format version is 7.0")

    def test_truncated_header(self):
        self.refused(self.good[:9], "wanted the header length at bytes 8 to 9")
        self.refused(self.good[:40], "header length is 118, but only 30 bytes follow")

    def test_length_that_lies(self):
        self.refused(self.good[:8] + b"\xff\xff" + self.good[10:], "header length is 65535, but only 142 bytes")
        self.refused(self.good[:8] + b"\x10\x00" + self.good[10:], "malformed header")

    def test_data_of_another_size(self):
        self.refused(self.good[:-1], "truncated data: 23 bytes of data after the header, wanted 24")
        self.refused(self.good + b"x", "trailing data: 25 bytes of data after the header, wanted 24")

    def test_fields(self):
        self.refused(npy("'|O'", "(2,)", bytes(16)), "object dtype")
        self.refused(npy("'<f5'", "(2,)", bytes(10)), "header field 'descr' is '<f5', wanted a dtype of fixed size")
        self.refused(npy("'<f4'", "(2, -3)", bytes(24)), "header field 'shape[1]' is -3, wanted an integer >= 0")
        self.refused(npy("'<f4'", "(4294967296, 4294967296)"), "fewer than 2^63 bytes")
        self.refused(npy("'<f4'", "(99999999999999999999,)"), "an integer below 2^63")
        self.refused(npy("'<f4'", "(2, 3)", bytes(24), order="Maybe"), "malformed header")
        self.refused(npy("'<f4'", "6", bytes(24)), "header field 'shape' is 6, wanted a tuple")

    def test_dict(self):
        self.refused(npy("", "", text="{'descr': '<f4', 'shape': (2,)}"), "header has no key 'fortran_order'")
        self.refused(npy("", "", text="{'descr': '<f4', 'fortran_order': False}"), "header has no key 'shape'")
        self.refused(npy("", "", text="{'shape': (2,), 'fortran_order': False}"), "header has no key 'descr'")
        self.refused(npy("", "", text="[]"), "wanted a dict")
        self.refused(npy("", "", text="{'descr': open('x')}"), "malformed header")

    def test_axes(self):
        self.refused(self.good, "--axes 0,0 names axis 0 twice", "--axes", "0,0")
        self.refused(self.good, "--axes 0,-2 names axis 0 twice", "--axes", "0,-2")
        self.refused(self.good, "--axes 0,2 has axis 2, wanted -2 to 1", "--axes", "0,2")
        self.refused(self.good, "--axes 0 names 1 axes, wanted 2", "--axes", "0")
        self.refused(self.good, "--axes 2,1,0 names 3 axes, wanted 2", "--axes", "2,1,0")

    def test_too_many_axes(self):
        self.refused(npy("'|u1'", str((2,) * 17), bytes(2**17)), "17 axes that cannot be folded, wanted at most 16")

    def test_same_file(self):
        source = self.write("in.npy", self.good)
        os.link(source, self.path("hard.npy"))
        os.symlink("in.npy", self.path("soft.npy"))
        for name in ("in.npy", "hard.npy", "soft.npy"):
            done = self.run_command("transpose", source, self.path(name), code=1)
            self.assertIn("is the same file as the input", done.stderr)
        self.assertEqual(self.read("in.npy"), self.good)
        self.assertEqual(len(os.listdir(self.folder)), 3)

    def test_missing_and_directory(self):
        done = self.run_command("transpose", self.path("none.npy"), self.path("out.npy"), code=1)
        self.assertIn("none.npy: cannot open for reading: No such file", done.stderr)
        done = self.run_command("transpose", self.folder, self.path("out.npy"), code=1)
        self.assertIn("is a directory", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_name_with_a_newline(self):
        done = self.run_command("transpose", self.path("a\nb.npy"), self.path("out.npy"), code=1)
        self.assertIn("a\\x0ab.npy", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_latin1_names(self):
        text = "{'descr': [('gr\xf6\xdfe', '<f4')], 'fortran_order': False, 'shape': (2, 3), }"
        source = self.write("in.npy", npy("", "", bytes(24), text=text))
        done = self.run_command("transpose", source, self.path("out.npy"))
        self.assertIn("[('gr\xf6\xdfe', '<f4')]", done.stdout)
        done = self.run_command("transpose", source, self.path("out.npy"), "--json")
        self.assertEqual(json.loads(done.stdout)["dtype"], "[('gr\xf6\xdfe', '<f4')]")
        self.assertIn(b"gr\xf6\xdfe", self.read("out.npy"))


class Streams(Case):
    good = npy("'<u4'", "(2, 3)", struct.pack("<6I", *range(6)))
    turned = struct.pack("<6I", 0, 3, 1, 4, 2, 5)

    def test_pipes(self):
        for names in (["-", "-"], ["/dev/stdin", "/dev/stdout"], ["/dev/fd/0", "/proc/self/fd/1"]):
            done = subprocess.run([COMMAND, "transpose", *names, "--verify"], input=self.good, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=True)
            self.assertEqual(split(done.stdout)[1], self.turned)
            self.assertIn(b"verified", done.stderr)  # the summary does not mix with the data
        quiet = subprocess.run([COMMAND, "transpose", "-", "-", "--quiet"], input=self.good, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, check=True)
        self.assertEqual(quiet.stderr, b"")

    def test_larger_than_a_pipe(self):
        data = random.Random(5).randbytes(4 * 700 * 900)
        done = subprocess.run([COMMAND, "transpose", "-", "-", "--quiet"], input=npy("'<u4'", "(700, 900)", data),
                              stdout=subprocess.PIPE, check=True)
        back = subprocess.run([COMMAND, "transpose", "-", "-", "--quiet"], input=done.stdout, stdout=subprocess.PIPE,
                              check=True)
        self.assertEqual(split(back.stdout)[1], data)

    def test_fifos(self):
        os.mkfifo(self.path("from"))
        os.mkfifo(self.path("to"))
        with subprocess.Popen([COMMAND, "transpose", self.path("from"), self.path("to"), "--quiet"]) as running:
            with open(self.path("from"), "wb") as file:
                file.write(self.good)
            with open(self.path("to"), "rb") as file:
                self.assertEqual(split(file.read())[1], self.turned)
            self.assertEqual(running.wait(), 0)

    def test_stdin_may_be_a_file(self):
        with open(self.write("in.npy", self.good), "rb") as file:
            self.run_command("transpose", "-", self.path("out.npy"), stdin=file)
        self.assertEqual(split(self.read("out.npy"))[1], self.turned)

    def test_refused_in_one_sentence(self):
        source = self.write("in.npy", self.good)
        for words, part, code in (
                (["/dev/zero", self.path("out.npy")], "not an .npy file: it begins with 00 00 00", 1),
                ([source, "/dev/full"], "/dev/full: cannot write: No space left on device", 1),
                ([source, "-", "--json"], "--json and OUT both write to stdout", 2),
                ([source, "/dev/fd/77"], "/dev/fd/77: cannot write: Bad file descriptor", 1)):
            with self.subTest(words=words):
                done = self.run_command("transpose", *words, code=code)
                self.assertIn(part, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertEqual(done.stdout, "")
        self.assertEqual(os.listdir(self.folder), ["in.npy"])
        self.run_command("transpose", source, "/dev/null")
        empty = subprocess.run([COMMAND, "transpose", "-", "-"], input=b"", stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, check=False)
        self.assertEqual((empty.returncode, empty.stdout), (1, b""))
        self.assertIn(b"the file is empty", empty.stderr)

    def test_closed_descriptors(self):
        with open(COMMAND, "rb") as program:
            if program.read(2) == b"#!":
                self.skipTest("an emulator opens files of its own")
        source = self.write("in.npy", self.good)
        for closed in ((1,), (1, 2), (0, 1, 2)):
            def close(closed=closed):
                for descriptor in closed:
                    os.close(descriptor)

            done = subprocess.run([COMMAND, "transpose", source, self.path("out.npy")], preexec_fn=close,
                                  stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 1)
            if 2 not in closed:
                self.assertEqual(done.stderr, b"cornerturn: cannot write to stdout: Bad file descriptor\n")
            self.assertEqual(split(self.read("out.npy"))[1], self.turned)
            done = subprocess.run([COMMAND, "transpose", source, self.path("out.npy"), "--quiet"], preexec_fn=close,
                                  check=False)
            self.assertEqual(done.returncode, 0)

    def test_a_full_stdout_fails_before_the_work(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([COMMAND, "bench", "8x8", "--json"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, b"cornerturn: cannot write to stdout: No space left on device\n")

    def test_a_terminal_gets_no_binary_data(self):
        source = self.write("in.npy", self.good)
        leader, follower = pty.openpty()
        done = subprocess.run([COMMAND, "transpose", source, "-"], stdout=follower, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"is a terminal", done.stderr)
        done = subprocess.run([COMMAND, "transpose", "-", self.path("out.npy")], stdin=follower, stderr=subprocess.PIPE,
                              check=False)
        self.assertIn(b"is a terminal", done.stderr)
        os.close(leader)
        os.close(follower)


class Output(Case):
    good = BadInput.good

    def test_existing_output_is_replaced_whole(self):
        source = self.write("in.npy", self.good)
        self.write("out.npy", b"before")
        os.chmod(self.path("out.npy"), 0o640)
        self.run_command("transpose", source, self.path("out.npy"), "--quiet")
        self.assertEqual(split(self.read("out.npy"))[1], bytes(24))
        self.assertEqual(stat.S_IMODE(os.stat(self.path("out.npy")).st_mode), 0o640)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.npy", "out.npy"])

    def test_failure_keeps_the_existing_output(self):
        self.write("out.npy", b"before")
        source = self.write("in.npy", self.good[:-1])
        self.run_command("transpose", source, self.path("out.npy"), code=1)
        self.assertEqual(self.read("out.npy"), b"before")

    def test_mode_follows_umask(self):
        source = self.write("in.npy", self.good)
        self.run_command("transpose", source, self.path("out.npy"), "--quiet", preexec_fn=lambda: os.umask(0o027))
        self.assertEqual(stat.S_IMODE(os.stat(self.path("out.npy")).st_mode), 0o640)

    def test_places_that_cannot_be_written(self):
        source = self.write("in.npy", self.good)
        for target in (self.path("none/out.npy"), self.folder, self.path("in.npy/out.npy"), ""):
            done = self.run_command("transpose", source, target, code=1)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual(os.listdir(self.folder), ["in.npy"])

    @staticmethod
    def runs(**user):
        try:
            done = subprocess.run([COMMAND, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  check=False, **user)
        except PermissionError:  # it is below a folder that only its owner may enter
            return False
        return done.returncode == 0

    def as_another_user(self):
        """Arguments of run_command for an ordinary user, and that user's folder."""
        if os.geteuid() != 0:
            return {}, self.folder
        user = {"user": 65534, "group": 65534, "extra_groups": []}
        if not self.runs(**user):
            self.skipTest("the command cannot be run by another user")
        os.chmod(self.folder, 0o755)
        own = self.path("own")
        os.mkdir(own)
        os.chown(own, 65534, 65534)
        return user, own

    def test_read_only_output(self):
        source = self.write("in.npy", self.good)
        user, own = self.as_another_user()
        target = own + "/mine.npy"
        with open(target, "wb") as file:
            file.write(b"before")
        os.chmod(target, 0o444)
        if user:
            os.chown(target, 65534, 65534)
        done = self.run_command("transpose", source, target, code=1, **user)
        self.assertIn("mine.npy: exists and this user may not write it (mode 0444), wanted --force", done.stderr)
        with open(target, "rb") as file:
            self.assertEqual(file.read(), b"before")
        self.run_command("transpose", source, target, "--force", "--quiet", **user)
        with open(target, "rb") as file:
            self.assertEqual(split(file.read())[1], bytes(24))
        self.assertEqual(stat.S_IMODE(os.stat(target).st_mode), 0o444)

    def test_output_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a file of another user")
        source = self.write("in.npy", self.good)
        user, own = self.as_another_user()
        target = own + "/foreign.npy"
        with open(target, "wb") as file:
            file.write(b"before")
        os.chown(target, 1234, 1234)
        os.chmod(target, 0o4666)
        done = self.run_command("transpose", source, target, code=1, **user)
        self.assertIn("foreign.npy: belongs to user 1234 and group 1234, but the new file would belong to user 65534",
                      done.stderr)
        self.assertEqual(os.stat(target).st_uid, 1234)
        self.assertEqual(os.listdir(own), ["foreign.npy"])
        self.run_command("transpose", source, target, "--quiet")  # root keeps the owner
        about = os.stat(target)
        self.assertEqual((about.st_uid, about.st_gid, stat.S_IMODE(about.st_mode)), (1234, 1234, 0o666))
        self.run_command("transpose", source, target, "--force", "--quiet", **user)
        self.assertEqual(os.stat(target).st_uid, 65534)

    def test_unwritable_directory(self):
        source = self.write("in.npy", self.good)
        closed = self.path("closed")
        os.mkdir(closed)
        os.chmod(closed, 0o555)
        os.chmod(self.folder, 0o755)
        user, _ = self.as_another_user()
        done = self.run_command("transpose", source, closed + "/out.npy", code=1, **user)
        self.assertIn("cannot write to its directory: Permission denied", done.stderr)

    def test_file_size_limit(self):
        source = self.write("in.npy", npy("'<f4'", "(1024, 1024)", bytes(4 << 20)))

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        done = self.run_command("transpose", source, self.path("out.npy"), code=1, preexec_fn=limit)
        self.assertIn("out.npy: cannot reserve the space for the file: File too large", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_disk_full(self):
        source = self.write("in.npy", npy("'<f4'", "(1024, 1024)", bytes(4 << 20)))
        small = self.path("small")
        os.mkdir(small)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, check=False)
        if mounted.returncode:
            self.skipTest("cannot mount a small file system here")
        try:
            with open(small + "/out.npy", "wb") as file:
                file.write(b"before")
            done = self.run_command("transpose", source, small + "/out.npy", code=1)
            self.assertIn("out.npy: the file needs 4.00 MiB, but its file system has 10", done.stderr)
            self.assertEqual(os.listdir(small), ["out.npy"])
            with open(small + "/out.npy", "rb") as file:
                self.assertEqual(file.read(), b"before")
        finally:
            subprocess.run(["umount", small], check=False)

    def test_stdout_full(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([COMMAND, "kernels"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cannot write to stdout", done.stderr)

    def sparse(self, leaf, rows, cols):
        with open(self.path(leaf), "wb") as file:
            header = npy("'|u1'", "(%d, %d)" % (rows, cols))
            file.write(header)
            file.truncate(len(header) + rows * cols)
        return self.path(leaf)

    def test_killed_run_leaves_nothing(self):
        source = self.sparse("in.npy", 8192, 8192)
        size = os.path.getsize(source)
        dice = random.Random(3)
        for stop in [signal.SIGKILL] * 6 + [signal.SIGINT, signal.SIGTERM]:
            child = subprocess.Popen([COMMAND, "transpose", source, self.path("out.npy"), "--verify", "--threads", "1"],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(dice.uniform(0.002, 0.12))
            child.send_signal(stop)
            child.wait()
            left = sorted(os.listdir(self.folder))
            if child.returncode == 0:  # it ended before the signal arrived
                self.assertEqual(left, ["in.npy", "out.npy"])
                self.assertEqual(os.path.getsize(self.path("out.npy")), size)
                os.remove(self.path("out.npy"))
            else:
                self.assertEqual(child.returncode, -stop)
                self.assertEqual(left, ["in.npy"])

    def stderr_on_a_terminal(self, *words, columns=80, **environment):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        names = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
        child = subprocess.Popen([COMMAND, *words], stdout=subprocess.DEVNULL, stderr=theirs,
                                 env={**names, "TERM": "xterm", **environment})
        os.close(theirs)
        seen = b""
        while True:
            try:
                if not select.select([ours], [], [], 60)[0]:
                    break
                chunk = os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
            seen += chunk
        os.close(ours)
        self.assertEqual(child.wait(), 0)
        return seen.decode()

    def test_progress_bar(self):
        # Twice the size of the first file that takes long enough. Under a sanitizer or an emulator that file is small.
        seen = ""
        for rows in (512, 1024, 2048, 4096, 8192, 16384):
            source = self.sparse("in.npy", rows, 24576)
            words = ["transpose", source, self.path("out.npy"), "--verify", "--threads", "1"]
            ready = bool(seen)
            seen = self.stderr_on_a_terminal(*words)
            if ready:
                break
        if not seen:
            self.skipTest("too fast here for a bar")
        self.assertIn("\x1b[36m", seen)
        self.assertRegex(seen, r"\d+%")
        self.assertTrue(seen.endswith("\r"))  # erased
        self.assertIn(" left", seen)
        plain = self.stderr_on_a_terminal(*words, NO_COLOR="1")
        narrow = self.stderr_on_a_terminal(*words, columns=40, NO_COLOR="1")
        self.assertLess(max(len(text) for text in narrow.split("\r")), 40)
        self.assertRegex(plain, r"\d+%")
        self.assertNotIn("\x1b", plain)
        for silent in (["--quiet"], ["--json"]):
            self.assertEqual(self.stderr_on_a_terminal(*words, *silent), "")
        self.assertEqual(self.stderr_on_a_terminal(*words, TERM="dumb"), "")


class Usage(Case):
    def test_exit_codes(self):
        source = self.write("in.npy", BadInput.good)
        for words in ([], ["nonsense"], ["transpose"], ["transpose", source], ["transpose", source, "b", "c"],
                      ["transpose", source, "b", "--axes", "x"], ["transpose", source, "b", "--threads", "0"],
                      ["transpose", source, "b", "--device", "tpu"], ["transpose", source, "b", "--what"],
                      ["explain"], ["explain", "3y4"], ["bench", "3y4"], ["explain", "3x4", "--bytes", "0"],
                      ["explain", "3x4x5", "--src-ld", "9"], ["completion", "tcsh"], ["roof", "--size", "-1"]):
            with self.subTest(words=words):
                done = self.run_command(*words, code=2)
                self.assertTrue(done.stderr.startswith("cornerturn: "), done.stderr)
                self.assertEqual(done.stdout, "")

    def test_help_and_version(self):
        self.assertRegex(self.run_command("--version").stdout, r"^cornerturn \d+\.\d+\.\d+\n$")
        for words in (["--help"], ["transpose", "--help"], ["bench", "--help"], ["make-sample", "--help"]):
            self.assertIn("Usage", self.run_command(*words).stdout)

    def says(self, words, *parts, code=2):
        with self.subTest(words=words):
            done = self.run_command(*words, code=code)
            first = done.stderr.splitlines()[0]
            self.assertTrue(first.startswith("cornerturn: "), first)
            for part in parts:
                self.assertIn(part, first)
            self.assertLess(len(first), 400)
            self.assertEqual(done.stdout, "")

    def test_wrong_words_are_named(self):
        self.says(["tranpose", "a", "b"], '"tranpose" is no command', "did you mean transpose?")
        self.says(["--versoin"], "--versoin is no option", "did you mean --version?")
        self.says(["-V"], "-V is no option", "did you mean --version?")
        self.says(["help"], '"help" is no command', "did you mean --help?")
        self.says(["zzz"], '"zzz" is no command', "wanted one of transpose, explain, bench")
        self.says([], "no command is given, wanted one of transpose")
        self.says(["doctor", "--jsn"], "--jsn is no option of `cornerturn doctor`", "did you mean --json?")
        self.says(["bench", "--round", "3"], "did you mean --rounds?")
        self.says(["--json", "doctor"], "--json precedes the command, wanted `cornerturn doctor")
        self.says(["transpose", "a"], "OUT is missing, wanted `cornerturn transpose [OPTIONS] IN OUT`")
        self.says(["transpose", "a", "b", "c"], '"c" is one argument too many')
        self.says(["transpose", "-a.npy", "b"], "-a.npy is no option of `cornerturn transpose`; write ./-a.npy for a file")
        self.says(["explain", "30_paded"], '"30_paded" is no kernel', "did you mean 30_padded?")
        self.says(["explain", "4096x"], 'is "4096x", wanted a shape such as 4096x2048')
        self.says(["bench", "--kernel", "cpu_cop", "8x8"], '--kernel is "cpu_cop"', "did you mean cpu_copy?")
        self.says(["ladder", "--json", "out.json"], '"out.json"', "-o FILE")
        self.says(["bench", "8x8", "--json", "out.json"], 'SHAPE is "out.json"', "-o")

    def test_values_found_and_wanted(self):
        self.says(["bench", "--rounds", "0"], '--rounds is "0", wanted an integer from 1 to 100000')
        self.says(["roof", "--threads", "x"], '--threads is "x", wanted an integer from 1 to 4096')
        self.says(["roof", "--threads"], "--threads has no value")
        self.says(["roof", "--threads", "1", "--threads", "2"], "--threads is given more than once")
        self.says(["roof", "--size", "1Mb1"], '--size is "1Mb1", wanted a number of bytes', "64K")
        self.says(["doctor", "--json=x"], "--json has a value, wanted none")
        self.says(["explain", "--all", "8x8"], "--all and SHAPE|KERNEL are both given")
        self.says(["explain", "8x8", "--svg", "x"], "--svg is given with the shape 8x8")
        self.says(["explain", "30_padded", "--machine", "H200"], "--machine is given with a kernel")
        self.says(["explain", "30_padded", "--arch", "sm_1"], '--arch is "sm_1", wanted one of sm_75')
        self.says(["report", "-o", "x", "--quick", "--from", "y"], "are both given")
        self.says(["transpose", "a", "b", "--device", "tpu"], '--device is "tpu", wanted auto, cpu, cuda or cuda:N')
        for device in ("cuda:", "cuda:-1", "cuda:x", "cpu:0", ""):
            self.says(["bench", "--device", device], f'--device is "{device}", wanted auto, cpu, cuda or cuda:N')

    def test_sizes_with_suffixes(self):
        report = json.loads(self.run_command("roof", "--size", "1.5MiB", "--threads", "1", "--json").stdout)
        self.assertEqual((report["bytes"], report["device"], report["threads"]), (3 << 19, "cpu", 1))
        report = json.loads(self.run_command("explain", "30x40", "--bytes", "1K", "--json").stdout)
        self.assertEqual(report["element_bytes"], 1024)

    def test_help_fits_80_columns(self):
        commands = [command for command in re.findall(r"^  ([a-z]+)", self.run_command("--help").stdout, re.M)]
        self.assertIn("bench", commands)
        for words in ([], *[[command] for command in commands]):
            text = self.run_command(*words, "--help").stdout
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)
            self.assertRegex(text, r"[^\n]\n\Z")
        text = self.run_command("--help").stdout
        for word in ("cornerturn ladder", "docs/learn"):
            self.assertIn(word, text)

    def test_threads_of_openmp(self):
        limited = {**os.environ, "OMP_NUM_THREADS": "1"}
        source = self.write("in.npy", npy("'<f4'", "(2048, 2048)", bytes(16 << 20)))
        words = ["transpose", source, self.path("out.npy"), "--json"]
        self.assertEqual(json.loads(self.run_command(*words, env=limited).stdout)["threads"], 1)
        self.assertEqual(json.loads(self.run_command(*words, "--threads", "2", env=limited).stdout)["threads"], 2)
        report = json.loads(self.run_command("roof", "--size", "1M", "--json", env=limited).stdout)
        self.assertEqual(report["threads"], 1)
        report = json.loads(self.run_command("doctor", "--json", env=limited).stdout)
        self.assertEqual(report["cpu"]["default_threads"], 1)
        bound = json.loads(self.run_command("doctor", "--json", env={**os.environ, "OMP_PROC_BIND": "true"}).stdout)
        self.assertEqual(bound["cpu"]["threads"], report["cpu"]["threads"])  # not one, to which this thread is bound
        if report["cpu"]["threads"] > 1:
            self.assertIn("OMP_NUM_THREADS limits them to 1", self.run_command("doctor", env=limited).stdout)

    def test_no_such_device(self):
        backends = {row["name"]: row for row in json.loads(self.run_command("doctor", "--json").stdout)["backends"]}
        source = self.write("in.npy", BadInput.good)
        if not backends.get("cuda", {}).get("present"):
            said = set()
            for words in (["transpose", source, self.path("out.npy")], ["bench", "8x8"], ["ladder"], ["roof"],
                          ["report", "-o", self.path("out.html")]):
                for device in ("cuda", "cuda:1"):
                    done = self.run_command(*words, "--device", device, code=3)
                    said.add(done.stderr)
            self.assertEqual(said, {f"cornerturn: --device is cuda, but {backends['cuda']['detail']}. Wanted auto or cpu\n"})
        for device in ("auto", "cpu"):
            self.run_command("transpose", source, self.path("out.npy"), "--device", device)

    def test_doctor_and_kernels(self):
        report = json.loads(self.run_command("doctor", "--json").stdout)
        self.assertGreaterEqual(report["cpu"]["threads"], 1)
        rows = json.loads(self.run_command("kernels", "--json").stdout)
        self.assertEqual(report["kernels"], len(rows))
        text = self.run_command("doctor").stdout
        for word in ("compiler", "simd", "caches", "pages", "cpu"):
            self.assertRegex(text, re.compile("^" + word + " ", re.M))
        self.assertEqual(len(self.run_command("kernels").stdout.splitlines()), len(rows) + 1)

    def test_explain(self):
        text = self.run_command("explain", "4096x2048").stdout
        report = json.loads(self.run_command("explain", "4096x2048", "--json").stdout)
        self.assertEqual(report["explain"].strip(), text.strip())
        self.assertIn(report["kernel"], text)
        self.assertEqual(report["bytes_moved"], 2 * 4 * 4096 * 2048)
        self.run_command("explain", "64x56x56x256", "--axes", "0,3,1,2", "--bytes", "2", "--threads", "1")
        self.run_command("explain", "100x200", "--src-ld", "256", "--dst-ld", "128")
        on_cpu = self.run_command("explain", "100x200", "--machine", "cpu", "--threads", "1").stdout
        self.assertIn("offers     time: predicted, relative to a copy of as many bytes", on_cpu)
        self.assertIn("threads    1 over", on_cpu)
        self.assertIn("H200, sm_90", self.run_command("explain", "100x200", "--machine", "H200").stdout)
        done = self.run_command("explain", "100x200", "--machine", "abacus", code=2)
        self.assertIn('machine is "abacus", wanted one of: cpu, H200', done.stderr)
        offers = json.loads(self.run_command("explain", "100x200", "--machine", "H200", "--json").stdout)["offers"]
        self.assertGreater(len(offers), 1)
        self.assertLessEqual(offers[0]["time"], offers[1]["time"])
        done = self.run_command("explain", "100x200", "--src-ld", "100", code=2)
        self.assertIn("src_ld", done.stderr)
        done = self.run_command("explain", "3x4", "--axes", "0,0", code=2)
        self.assertIn("names axis 0 twice", done.stderr)

    def test_explain_of_a_gpu_row(self):
        done = self.run_command("explain", "cuda_no_such_row", code=2)
        self.assertIn('"cuda_no_such_row" is no kernel', done.stderr)
        done = self.run_command("explain", "cuda_tile_b4_64x64_r4_xr", code=2)
        self.assertIn("did you mean cuda_tile_b4_64x64_r4_xor?", done.stderr)
        row = "cuda_tile_b4_64x64_r4_xor"
        words = ["explain", row, "--shape", "2x64x128", "--axes", "0,2,1"]
        done = subprocess.run([COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if b"cannot count a row" in done.stderr:
            self.skipTest("this build was not made by g++, or with a sanitizer")
        fused = self.run_command("explain", "cuda_tile_b4_64x64_r4_xor_fused").stdout
        self.assertTrue(fused.startswith("cuda_tile_b4_64x64_r4_xor_fused: "), fused)
        self.assertIn("90_register_block", self.run_command("explain", row).stdout)
        report = json.loads(self.run_command(*words, "--json").stdout)
        self.assertEqual(report["load"]["sectors"], 2 * 64 * 128 * 4 // 32)
        self.assertEqual(report["store"]["sectors"], 2 * 64 * 128 * 4 // 32)
        self.assertFalse(report["scaled"])
        self.assertIn(f"all {report['blocks']} blocks", self.run_command(*words).stdout)
        large = self.run_command("explain", row, "--shape", "8192x8192", "--src-ld", "8200").stdout
        self.assertIn("scaled to all", large)
        done = self.run_command("explain", row, "--shape", "2x63x65", "--axes", "0,2,1", code=2)
        self.assertIn("cannot move", done.stderr)
        self.run_command("explain", row, "--shape", "64x64x3", "--svg", "x.svg", code=2)

    def test_explain_knows_every_kernel(self):
        rows = json.loads(self.run_command("kernels", "--json").stdout)
        kinds = {}
        for row in rows:  # one of each kind on the CPU, and of some families on a GPU: each takes up to seconds
            if row["backend"] == "cpu" or row["family"] in ("tile", "small", "strips"):
                kinds.setdefault((row["family"], re.sub(r"\d+", "", row["name"])), row)
        for row in kinds.values():
            with self.subTest(row=row["name"]):
                words = ["explain", row["name"]]
                done = subprocess.run([COMMAND, *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      check=False)
                if b"cannot count a row" in done.stderr:
                    continue
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                report = json.loads(done.stdout)
                if row["element_bytes"] and "explain" in report:
                    self.assertEqual(report["element_bytes"], row["element_bytes"])
                self.assertIn(report["kernel"], (row["name"], "90_register_block"))
                if row["backend"] == "cpu":
                    self.assertIn(row["name"], report["explain"])

    def test_explain_all_as_json(self):
        rungs = json.loads(self.run_command("explain", "--all", "--json").stdout)
        self.assertEqual(rungs[0]["kernel"], "00_copy")
        by_name = {rung["kernel"]: rung for rung in rungs}
        self.assertEqual(by_name["30_padded"]["shared_load"]["conflicts"], 0)
        odd = json.loads(self.run_command("explain", "--all", "--json", "--shape", "1001x50").stdout)
        self.assertTrue(any("refusal" in rung for rung in odd))

    def test_bench(self):
        words = ["bench", "16x24", "24x16", "--rounds", "1", "--threads", "1", "--bytes", "1,2"]
        text = self.run_command(*words).stdout
        self.assertRegex(text, r"(?m)^24x16 +2 ")
        done = subprocess.run([COMMAND, *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        own = json.loads(done.stdout)["cornerturn"]
        self.assertEqual(own["argv"], ["cornerturn", *words, "--json"])
        self.assertEqual(len(own["cases"]), 4)
        self.assertIn(b"24x16", done.stderr)
        self.run_command(*words, "-o", self.path("out.json"))
        self.assertEqual(len(json.loads(self.read("out.json"))["cornerturn"]["cases"]), 4)
        listed = json.loads(self.run_command("bench", "--axes", "2,0,1", "64x64x3", "--list", "--json").stdout)
        self.assertEqual(listed[0]["axes"], [2, 0, 1])
        self.assertEqual(json.loads(self.run_command("bench", "4x5x6", "--axes=-1,0,1", "--list", "--json").stdout)[0]["axes"],
                         [2, 0, 1])
        random_cases = json.loads(self.run_command("bench", "--set", "random", "--size", "8KiB:64K", "--count", "7",
                                                   "--list", "--json").stdout)
        self.assertEqual(len(random_cases), 7)
        self.says(["bench", "--axes", "2", "0", "1", "64x64x3"], '--axes is "2" and "0" follows', "one word with commas")
        self.says(["bench", "--axes", "1,0", "64x64x3"], "--axes 1,0 names 2 axes, wanted 3")
        self.says(["bench", "--axes", "1,0"], "--axes is given without a SHAPE")
        self.says(["bench", "0x4"], "shape 0x4 has an extent of 0")
        self.says(["bench", "--set", "nope"], '--set is "nope", wanted one of plain, odd')
        self.says(["bench", "--case", "("], '--case is "(", wanted a regular expression')
        self.says(["bench", "--case", "zzz"], '--case is "zzz", but no chosen case matches')
        self.says(["bench", "--seed", "3"], "wanted --set random")
        self.says(["bench", "--set", "random", "--size", "1:2"], '--size is "1:2", wanted two sizes')
        self.says(["bench", "8x8", "-o", "/dev/full"], "/dev/full: cannot write: No space left", code=1)
        self.says(["bench", "8x8", "-o", "/no/such/file"], "cannot write to its directory", code=1)

    def test_ladder_of_the_cpu(self):
        words = ["ladder", "--device", "cpu", "--repeat", "2"]
        text = self.run_command(*words, "--shape", "130x70", "-o", self.path("ladder.json")).stdout
        with open(self.path("ladder.json")) as file:
            report = json.load(file)
        printed = subprocess.run([COMMAND, *words, "--shape", "130x70", "--json"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, check=True)
        self.assertEqual(len(json.loads(printed.stdout)["rungs"]), len(report["rungs"]))
        self.assertIn(b"00_copy", printed.stderr)
        names = [rung["rung"] for rung in report["rungs"]]
        self.assertEqual((names[0], names[-1]), ("00_copy", "90_library"))
        for name in ("10_scattered_store", "20_scattered_load", "30_blocked", "40_simd"):
            self.assertIn(name, names)
        for rung in report["rungs"]:
            self.assertRegex(text, rf"(?m)^{rung['rung']} +4 +130x70 ")
            self.assertEqual(len(rung["milliseconds"]), 2)
            self.assertGreater(rung["gigabytes_per_second"], 0)
        self.assertRegex(self.run_command(*words, "--check").stdout, r"^\d{3,} cases, 0 failures\n$")
        self.run_command(*words, "--shape", "2x3x4", code=2)
        done = self.run_command(*words, "--shape", "3x4", "-o", "/no/such/file", code=1)
        self.assertNotIn("00_copy", done.stdout)  # nothing was measured in vain

    def test_completion(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.run_command("completion", shell).stdout
            for word in ("transpose", "metadata-only", "explain", "device"):
                self.assertIn(word, script)
            self.assertNotIn("make-sample", script)
            if shutil.which(shell):
                checked = subprocess.run([shell, "-n", "/dev/stdin"], input=script.encode(), stderr=subprocess.PIPE,
                                         check=False)
                self.assertEqual((checked.returncode, checked.stderr), (0, b""))

    def test_bash_completes(self):
        if not shutil.which("bash"):
            self.skipTest("no bash here")
        script = self.run_command("completion", "bash").stdout

        def complete(*words):
            line = script + "COMP_WORDS=(%s); COMP_CWORD=%d; _cornerturn; echo ${COMPREPLY[@]}\n" % (
                " ".join("'%s'" % word for word in words), len(words) - 1)
            return subprocess.run(["bash"], input=line.encode(), stdout=subprocess.PIPE,
                                  check=True).stdout.decode().split()

        self.assertEqual(complete("cornerturn", "tr"), ["transpose"])
        self.assertEqual(complete("cornerturn", "transpose", "--met"), ["--metadata-only"])
        self.assertEqual(complete("cornerturn", "transpose", "--device", "c"), ["cpu", "cuda"])
        self.assertEqual(complete("cornerturn", "bench", "--peers", ""), ["on", "off"])
        self.assertEqual(complete("cornerturn", "bench", "--reg"), ["--regret"])
        self.assertEqual(complete("cornerturn", "transpose", "a"), [])  # files: the shell's own completion
        self.assertEqual(complete("cornerturn", "completion", ""), ["bash", "zsh", "fish"])

    @unittest.skipIf(numpy is None, "no numpy here")
    def test_make_sample(self):
        self.run_command("make-sample", "matrix", self.path("m.npy"), "--shape", "300x200")
        self.run_command("make-sample", "cube", self.path("c.npy"), "--shape", "64x50x12")
        matrix, cube = numpy.load(self.path("m.npy")), numpy.load(self.path("c.npy"))
        self.assertEqual((matrix.shape, matrix.dtype.str), ((300, 200), "<f4"))
        self.assertEqual((cube.shape, cube.dtype.str), ((64, 50, 12), "<u2"))
        self.assertGreater(len(numpy.unique(matrix)), 50000)
        self.run_command("make-sample", "cube", self.path("c.npy"), "--shape", "64x50", code=2)


if __name__ == "__main__":
    unittest.main()
