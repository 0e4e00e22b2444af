#!/usr/bin/env python3
"""Files and streams of the cornerturn command, from outside: cli_test.py COMMAND [unittest arguments]"""
import fcntl
import itertools
import json
import os
import pty
import random
import resource
import select
import shutil
import signal
import stat
import struct
import subprocess
import termios
import time
import unittest

from command_case import COMMAND, Case, npy, numpy, split


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
        # As bytes without fields: NumPy's copies leave the padding between fields undefined.
        as_bytes = numpy.dtype(f"V{array.dtype.itemsize}") if array.dtype.itemsize else array.dtype
        self.assertEqual(moved.view(as_bytes).tobytes(), wanted.view(as_bytes).tobytes())
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
        self.refused(self.good + self.good, f"Another array begins at byte {len(self.good)}: "
                     f"`tail -c +{len(self.good) + 1}` of the file prints it")

    def test_fields(self):
        self.refused(npy("'|O'", "(2,)", bytes(16)), "object dtype")
        self.refused(npy("'<f5'", "(2,)", bytes(10)), "header field 'descr' is '<f5', wanted a dtype of fixed size")
        self.refused(npy("'<f4'", "(2, -3)", bytes(24)), "header field 'shape[1]' is -3, wanted an integer >= 0")
        self.refused(npy("'<f4'", "(4294967296, 4294967296)"), "fewer than 2^63 bytes")
        self.refused(npy("'<f4'", "(99999999999999999999,)"), "an integer below 2^63")
        self.refused(npy("'<f4'", "(2, 3)", bytes(24), order="Maybe"), "malformed header")
        self.refused(npy("'<f4'", "6", bytes(24)), "header field 'shape' is 6, wanted a tuple")

    def test_dict(self):
        self.refused(npy("'|u1'", str((1,) * 65), bytes(1)), "1, 1..., wanted at most 64 integers")
        self.refused(npy("", "", text="{'descr': '<f4', 'shape': (2,)}"), "header has no key 'fortran_order'")
        self.refused(npy("", "", text="{'descr': '<f4', 'fortran_order': False}"), "header has no key 'shape'")
        self.refused(npy("", "", text="{'shape': (2,), 'fortran_order': False}"), "header has no key 'descr'")
        self.refused(npy("", "", text="[]"), "wanted a dict")
        self.refused(npy("", "", text="{'descr': open('x')}"), "malformed header")

    def test_axes(self):
        self.refused(self.good, "--axes 0,0 names axis 0 twice", "--axes", "0,0")
        self.refused(self.good, "--axes 0,-2 names axis 0 twice", "--axes", "0,-2")
        self.refused(self.good, "--axes 0,2 has axis 2, wanted -2 to 1", "--axes", "0,2")
        self.refused(self.good, "--axes 0 names 1 axis, wanted 2", "--axes", "0")
        self.refused(self.good, "--axes 2,1,0 names 3 axes, wanted 2", "--axes", "2,1,0")
        self.refused(self.good, '--axes "" names 0 axes, wanted 2', "--axes", "")

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

    def test_same_file_through_stdout(self):
        source = self.write("in.npy", self.good)
        for flags in (os.O_WRONLY | os.O_APPEND, os.O_RDWR):
            for name in ("-", "/dev/stdout", "/dev/fd/1"):
                descriptor = os.open(source, flags)
                done = subprocess.run([COMMAND, "transpose", source, name], stdout=descriptor, stderr=subprocess.PIPE,
                                      check=False)
                os.close(descriptor)
                self.assertEqual(done.returncode, 1)
                self.assertIn(b"is the same file as the input", done.stderr)
                self.assertEqual(self.read("in.npy"), self.good)

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

    def test_a_slow_pipe_is_no_disk(self):
        source = self.write("in.npy", npy("'|u1'", "(1000, 1001)", bytes(1001000)))
        with subprocess.Popen([COMMAND, "transpose", source, "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as done:
            time.sleep(0.1)  # the command waits for a reader: a pipe has 64 KiB
            _, said = done.communicate(timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertIn("read + written", said.decode())
        self.assertNotIn("on the disk", said.decode())

    def test_stdin_begins_at_its_position(self):
        good = npy("'<f4'", "(2, 3)", bytes(range(24)))
        both = self.write("both.npy", good + good)
        with open(both, "rb") as file:
            file.seek(len(good))
            self.run_command("transpose", "-", self.path("out.npy"), stdin=file)
        alone = self.write("alone.npy", good)
        self.run_command("transpose", alone, self.path("wanted.npy"))
        self.assertEqual(self.read("out.npy"), self.read("wanted.npy"))

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

    def test_streams_without_an_end(self):
        """A stream is read up to the size in its header, or up to the end of one piece without a header."""
        def fed(begin, more):
            with subprocess.Popen([COMMAND, "transpose", "-", self.path("out.npy")], stdin=subprocess.PIPE,
                                  stderr=subprocess.PIPE, bufsize=0) as running:
                with self.assertRaises(BrokenPipeError):
                    running.stdin.write(begin)
                    for _ in range(1000):
                        running.stdin.write(more)
                return running.stderr.read().decode()

        piece = bytes(1 << 16)
        self.assertIn(f"trailing data: the stream goes on after {len(self.good)} bytes, where its array ends", fed(self.good, piece))
        self.assertIn("header length is 4294967295, wanted at most 1048576", fed(b"\x93NUMPY\x02\0\xff\xff\xff\xff", piece))
        self.assertIn("header length is 1048628, wanted at most 1048576", fed(npy("", "", text=" " * (1 << 20), version=2), piece))
        self.assertIn("malformed header", fed(npy("", "", text="(" * 2000, version=2), piece))
        self.assertIn("not an .npy file", fed(b"\x93NUMPX", piece))
        self.assertIn("the header of this stream announces 64.0 TiB, but this machine has",
                      fed(npy("'|u1'", "(%d,)" % 2**46), piece))
        self.assertIn("the header of this stream announces", fed(npy("'|u1'", "(%d,)" % (2**63 - 1)), piece))
        self.assertEqual(os.listdir(self.folder), [])

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

    def test_the_kernel_follows_links(self):
        """Where the kernel refuses to follow a link, the command neither reads nor replaces its target."""
        if shutil.which("strace") is None or subprocess.run(["strace", "-o", "/dev/null", "true"], stderr=subprocess.PIPE).returncode:
            self.skipTest("strace makes system calls fail")
        source, link = self.write("in.npy", self.good), self.path("link.npy")
        self.write("target.npy", b"before")
        os.symlink("target.npy", link)
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}  # which wants to trace, too
        failures = 0
        for call in ("openat", "newfstatat"):
            for when in (1, 2, 3):
                done = subprocess.run(["strace", "-o", "/dev/null", "-P", link, "-e", f"inject={call}:error=EACCES:when={when}",
                                       COMMAND, "transpose", "--quiet", source, link], stderr=subprocess.PIPE, env=environment)
                self.assertTrue(os.path.islink(link))
                if done.returncode != 0:
                    failures += 1
                    self.assertIn(b"cornerturn: " + link.encode() + b": cannot be opened: Permission denied\n", done.stderr)
                    self.assertEqual(self.read("target.npy"), b"before")
                self.write("target.npy", b"before")
        self.assertGreaterEqual(failures, 2)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.npy", "link.npy", "target.npy"])

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

    def test_names_and_dtypes_are_escaped(self):
        """No byte of a name or of a file reaches the terminal as a control."""
        good = npy("'<f4'", "(2, 3)", bytes(24))
        forbidden = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
        for name in (b"e\x1b]0;x\x07.npy", b"\xc2\x9b31m.npy", b"\xe2\x80\xaeypn.npy", b"\xff\xfe.npy", b"a\nb.npy"):
            source = os.path.join(os.fsencode(self.folder), name)
            with open(source, "wb") as file:
                file.write(good)
            for words in ([source, source + b"o"], [source, source], [source + b"?", source], [source, source + b"o", "--json"]):
                done = subprocess.run([COMMAND, "transpose", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      timeout=60)
                self.assertNotRegex(done.stdout.decode() + done.stderr.decode(), forbidden)
        fields = npy("[('\x9b31m\x1b', '<f4')]", "(2, 3)", bytes(24))
        done = self.run_command("transpose", self.write("f.npy", fields), self.path("o.npy"))
        self.assertNotRegex(done.stdout, forbidden)

    def test_units_of_time(self):
        for unit in ("[ns]", "[25s]", "[7D/3]", "[generic]", ""):
            source = self.write("in.npy", npy(f"'<M8{unit}'", "(2, 3)", bytes(48)))
            self.run_command("transpose", source, self.path("out.npy"), "--quiet")
        os.remove(self.path("out.npy"))
        for unit in ("[\x1b]", "[]", "[5]", "[parsec]", "[s/]", "[s/x]", "[s]]", "[ s]"):
            self.refused(npy(f"'<M8{unit}'", "(2, 3)", bytes(48)), "wanted a dtype of fixed size")

    def test_places_that_cannot_be_written(self):
        source = self.write("in.npy", self.good)
        for target in (self.path("none/out.npy"), self.folder, self.path("in.npy/out.npy")):
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

    def a_bar(self, *words, **more):
        """Like stderr_on_a_terminal, but a few more times if the machine is suddenly too fast for a bar."""
        for _ in range(6):
            seen = self.stderr_on_a_terminal(*words, **more)
            if seen:
                break
        return seen

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
        plain = self.a_bar(*words, NO_COLOR="1")
        narrow = self.a_bar(*words, columns=40, NO_COLOR="1")
        self.assertLess(max(len(text) for text in narrow.split("\r")), 40)
        self.assertRegex(plain, r"\d+%")
        self.assertNotIn("\x1b", plain)
        for silent in (["--quiet"], ["--json"]):
            self.assertEqual(self.stderr_on_a_terminal(*words, *silent), "")
        self.assertEqual(self.stderr_on_a_terminal(*words, TERM="dumb"), "")

if __name__ == "__main__":
    unittest.main()
