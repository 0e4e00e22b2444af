"""Arrays larger than --memory: files_test.py COMMAND [unittest arguments]"""
import json
import os
import random
import re
import signal
import subprocess
import time
import unittest

from command_case import COMMAND, Case, npy, split

MIB = 1 << 20


class LargeFile(Case):
    """An array of 96 MiB of uint32, and 40 MiB of memory."""
    shape = (3001, 97, 86)
    count = shape[0] * shape[1] * shape[2]
    memory = 40 * MIB

    @classmethod
    def setUpClass(cls):
        cls.data = random.Random(3).randbytes(4 * cls.count)

    def setUp(self):
        super().setUp()
        self.write("in.npy", npy("'<u4'", self.shape, self.data))

    def peak(self, *words):
        """Runs the command, and returns the largest resident memory that the kernel noted."""
        done = subprocess.Popen([COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        most = 0
        while done.poll() is None:
            try:
                with open(f"/proc/{done.pid}/status") as status:
                    for line in status:
                        if line.startswith("VmHWM:"):
                            most = max(most, int(line.split()[1]) * 1024)
            except OSError:
                break
            time.sleep(0.005)
        out, err = done.communicate()
        self.assertEqual(done.returncode, 0, err)
        return most, out.decode(), err.decode()

    def element(self, index, axes, order="C"):
        """The element of the output at an index, and the one that is wanted."""
        shape = [self.shape[k] for k in axes]
        offset, stride = 0, 1
        for k in reversed(range(3)) if order == "C" else range(3):
            offset += index[k] * stride
            stride *= shape[k]
        with open(self.path("out.npy"), "rb") as file:
            file.seek(-4 * (self.count - offset), os.SEEK_END)
            found = file.read(4)
        at = [0, 0, 0]
        for k, axis in enumerate(axes):
            at[axis] = index[k]
        from_ = 4 * ((at[0] * self.shape[1] + at[1]) * self.shape[2] + at[2])
        return found, self.data[from_:from_ + 4]

    def check_elements(self, axes, order="C"):
        chosen = random.Random(1)
        shape = [self.shape[k] for k in axes]
        for index in [[0, 0, 0], [extent - 1 for extent in shape]] + [[chosen.randrange(extent) for extent in shape]
                                                                     for _ in range(500)]:
            found, wanted = self.element(index, axes, order)
            self.assertEqual(found, wanted, index)

    def test_resident_memory_stays_below_the_limit(self):
        for axes in [(2, 1, 0), (1, 2, 0), (2, 0, 1)]:
            most, out, err = self.peak("transpose", self.path("in.npy"), self.path("out.npy"), "--axes",
                                       ",".join(map(str, axes)), "--memory", self.memory, "--verify", "--no-sync")
            self.assertLessEqual(most, self.memory)
            self.assertIn("verified", out)
            self.check_elements(axes)

    def test_fortran_order(self):
        most, _, _ = self.peak("transpose", self.path("in.npy"), self.path("out.npy"), "--axes", "1,2,0", "--order", "F",
                               "--memory", self.memory, "--verify", "--no-sync")
        self.assertLessEqual(most, self.memory)
        self.check_elements((1, 2, 0), "F")

    def test_metadata_only_stays_below_the_limit(self):
        most, _, _ = self.peak("transpose", self.path("in.npy"), self.path("out.npy"), "--metadata-only", "--memory",
                               self.memory, "--no-sync")
        self.assertLessEqual(most, self.memory)
        with open(self.path("in.npy"), "rb") as one, open(self.path("out.npy"), "rb") as two:
            self.assertEqual(split(one.read())[1], split(two.read())[1])

    def test_bytes_in_two_passes(self):
        # A matrix of bytes: memory is far below (I/O request)^2.
        source = self.path("in.npy")
        offset = os.path.getsize(source) - 4 * self.count
        rows, cols = 4 * self.shape[0], self.shape[1] * self.shape[2]
        most, out, err = self.peak("transpose", source, self.path("out.raw"), "--shape", f"{rows}x{cols}", "--dtype", "u1",
                                   "--offset", offset, "--memory", self.memory, "--verify", "--no-sync")
        self.assertLessEqual(most, self.memory)
        self.assertIn("written twice", err)
        self.assertIn("verified", out)
        self.assertEqual(os.path.getsize(self.path("out.raw")), rows * cols)
        chosen = random.Random(2)
        with open(self.path("out.raw"), "rb") as file:
            for _ in range(500):
                i, j = chosen.randrange(rows), chosen.randrange(cols)
                file.seek(j * rows + i)
                self.assertEqual(file.read(1)[0], self.data[i * cols + j], (i, j))
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.npy", "out.raw"])

    def change_during_the_run(self, change, *options, after=MIB):
        """Stops the command after some bytes are written, calls `change`, and returns its exit code and its sentence."""
        words = ["transpose", self.path("in.npy"), self.path("out.npy"), "--memory", self.memory, "--quiet", *options]
        one = subprocess.Popen([COMMAND, *map(str, words)], stderr=subprocess.PIPE)
        try:
            written = 0
            while written < after and one.poll() is None:
                with open(f"/proc/{one.pid}/io") as counts:
                    written = int(re.search(r"^wchar: (\d+)", counts.read(), re.M)[1])
            one.send_signal(signal.SIGSTOP)
            change(one.pid)
        finally:
            one.send_signal(signal.SIGCONT)
            sentence = one.communicate()[1].decode()
        return one.returncode, sentence

    def test_a_source_that_changes(self):
        def touched(_):
            with open(self.path("in.npy"), "r+b") as file:
                file.seek(-1, os.SEEK_END)
                file.write(b"x")

        code, sentence = self.change_during_the_run(touched)
        self.assertEqual(code, 1)
        self.assertIn("in.npy: the file changed during the transpose; there is no output", sentence)
        self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_a_source_that_shrinks(self):
        code, sentence = self.change_during_the_run(lambda _: os.truncate(self.path("in.npy"), MIB))
        self.assertEqual(code, 1)
        self.assertRegex(sentence, "^cornerturn: .*in.npy: ends at byte .*: the file shrank\n$")
        self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def output_of(self, process):
        """The path of the output, which has no name yet."""
        folder = f"/proc/{process}/fd"
        outputs = [one for one in os.listdir(folder) if os.readlink(f"{folder}/{one}").startswith(f"{self.folder}/#")]
        self.assertEqual(len(outputs), 1)
        return f"{folder}/{outputs[0]}"

    def test_verify_finds_a_damaged_byte(self):
        def damage(process):
            with open(self.output_of(process), "r+b") as file:
                file.seek(128 + 4 * 7)  # written by now: it is in the first box
                byte = file.read(1)[0]
                file.seek(128 + 4 * 7)
                file.write(bytes([byte ^ 16]))

        code, sentence = self.change_during_the_run(damage, "--axes", "2,0,1", "--verify", after=48 * MIB)
        self.assertEqual(code, 1)
        self.assertIn("out.npy: verification failed: the element at (0, 0, 7) differs from the input", sentence)
        self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_verify_compares_a_sample(self):
        words = ["transpose", self.path("in.npy"), self.path("out.npy"), "--axes", "2,0,1", "--memory", self.memory, "--json",
                 "--no-sync", "--verify", "--sample"]
        report = json.loads(self.run_command(*words, "2MiB").stdout)
        self.assertEqual(report["verified_bytes"], 2 * MIB)
        self.assertEqual(json.loads(self.run_command(*words, "1GiB").stdout)["verified_bytes"], 4 * self.count)
        self.assertIn("--verify", self.run_command(*words[:-2], "--sample", 1, code=2).stderr)
        os.remove(self.path("out.npy"))

        def damage(process):
            with open(self.output_of(process), "r+b") as file:
                file.seek(128)
                file.write(bytes(24 * MIB))  # written by now, and more than one part of the sample

        code, sentence = self.change_during_the_run(damage, "--axes", "2,0,1", "--verify", "--sample", "2MiB",
                                                    after=48 * MIB)
        self.assertEqual(code, 1)
        self.assertIn("out.npy: verification failed: the element at", sentence)
        self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_a_finished_first_pass_is_not_repeated(self):
        source, target = self.path("in.npy"), self.path("out.raw")
        offset = os.path.getsize(source) - 4 * self.count
        rows, cols = 4 * self.shape[0], self.shape[1] * self.shape[2]
        words = ["transpose", source, target, "--shape", f"{rows}x{cols}", "--dtype", "u1", "--offset", offset, "--memory",
                 self.memory, "--resume"]

        def kill_in_second_pass():
            """Kills a run after its first pass, and returns the words of its journal about this pass."""
            one = subprocess.Popen([COMMAND, *map(str, words)], stderr=subprocess.DEVNULL)
            found = ""
            while one.poll() is None and "scratch ends" not in found:
                if os.path.exists(target + ".part.journal"):
                    found = self.read("out.raw.part.journal").decode()
            self.assertIsNone(one.poll(), "the run has ended")
            one.kill()
            one.wait()
            return re.findall("^scratch (.*)$", self.read("out.raw.part.journal").decode(), re.M)

        self.assertEqual(kill_in_second_pass(), ["begins", "ends"])
        self.assertEqual(os.path.getsize(target + ".part.scratch"), rows * cols)
        done = subprocess.run([COMMAND, *map(str, words), "--verify"], capture_output=True, text=True, check=True)
        self.assertIn("which an earlier run has written", done.stderr)
        self.assertIn("verified", done.stdout)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.npy", "out.raw"])
        good = self.read("out.raw")
        # Without the scratch file, the first pass is repeated, also after a second kill.
        os.remove(target)
        kill_in_second_pass()
        os.remove(target + ".part.scratch")
        words.append("--quiet")
        self.assertTrue(self.interrupt(*words, after=0.02))
        self.run_command(*words)
        self.assertEqual(self.read("out.raw"), good)

    def interrupt(self, *words, after):
        """Kills a run once its journal has boxes, or `after` seconds later. Returns true if it was killed."""
        one = subprocess.Popen([COMMAND, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            one.wait(after)
            return False
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()
            return True

    def test_resume_after_kills_at_random_moments(self):
        words = ["transpose", self.path("in.npy"), self.path("out.npy"), "--axes", "2,0,1", "--memory", self.memory,
                 "--resume", "--quiet"]
        moments = random.Random(5)
        for _ in range(6):
            self.interrupt(*words, after=moments.uniform(0.01, 0.3))
            if os.path.exists(self.path("out.npy")):  # it ended, or was killed after it had published the output
                self.check_elements((2, 0, 1))
                break
        self.run_command(*words, "--verify", "--force")
        self.check_elements((2, 0, 1))
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.npy", "out.npy"])

    def test_resume_checks_what_an_earlier_run_wrote(self):
        words = ["transpose", self.path("in.npy"), self.path("out.npy"), "--memory", self.memory, "--resume", "--quiet"]
        self.run_command(*words, "--verify")
        good = self.read("out.npy")
        # An earlier run: some boxes are listed, and one of them is damaged.
        journal = self.path("out.npy.part.journal")
        listed = 0
        for attempt in range(1, 30):
            self.interrupt(*words, after=0.01 * attempt)
            if os.path.exists(journal):
                with open(journal) as lines:
                    listed = max(0, len(lines.readlines()) - 3)
            if listed:
                break
        if not listed:
            self.skipTest("no run was interrupted after its first box")
        with open(self.path("out.npy.part"), "r+b") as file:
            file.seek(5000)
            file.write(b"damaged!")
        other = self.run_command(*words, "--axes", "1,0,2", code=1)
        self.assertIn("is of another transpose", other.stderr)
        self.run_command(*words)
        self.assertEqual(self.read("out.npy"), good)

    def test_parts_of_several_processes(self):
        words = ["transpose", self.path("in.npy"), self.path("out.npy"), "--axes", "1,0,2", "--memory", "64MiB"]
        running = [subprocess.Popen([COMMAND, *words, "--part", part, "--quiet"]) for part in ("3/3", "1/3")]
        for one in running:
            self.assertEqual(one.wait(), 0)
        self.assertFalse(os.path.exists(self.path("out.npy")))
        done = self.run_command(*words, "--finish", 3, code=1)
        self.assertIn("of part 2 of 3 is missing or damaged", done.stderr)
        self.run_command(*words, "--part", "2/3", "--quiet")
        # A damaged byte is found, and its part repairs it.
        with open(self.path("out.npy.part"), "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last[0] ^ 1]))
        self.assertIn("of part 3 of 3 is missing or damaged", self.run_command(*words, "--finish", 3, code=1).stderr)
        self.run_command(*words, "--part", "3/3", "--quiet")
        self.run_command(*words, "--finish", 3, "--verify", "--quiet")
        self.check_elements((1, 0, 2))
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.npy", "out.npy"])
        self.assertIn("out.npy.part: is missing", self.run_command(*words, "--finish", 3, code=1).stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.npy", "out.npy"])

    def test_a_part_is_refused(self):
        words = ["transpose", self.path("in.npy"), self.path("out.npy")]
        for part in ("0/3", "4/3", "3", "a/b", "1/", "/2", ""):
            self.assertIn("--part", self.run_command(*words, "--memory", "64MiB", "--part", part, code=2).stderr)
        self.assertIn("--memory", self.run_command(*words, "--part", "1/2", code=2).stderr)
        self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_a_stream_must_fit(self):
        with open(self.path("in.npy"), "rb") as stream:
            piped = subprocess.Popen(["cat"], stdin=stream, stdout=subprocess.PIPE)
            done = self.run_command("transpose", "-", self.path("out.npy"), "--memory", self.memory, code=1,
                                    stdin=piped.stdout)
            piped.stdout.close()
            piped.wait()
        self.assertIn("is a stream, which is held in memory", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_dry_run(self):
        done = self.run_command("transpose", self.path("in.npy"), self.path("out.npy"), "--memory", self.memory,
                                "--dry-run")
        self.assertIn("pass 1 of ", done.stdout)
        self.assertIn("predicted: ", done.stdout)
        plan = json.loads(self.run_command("transpose", self.path("in.npy"), self.path("out.npy"), "--memory",
                                           self.memory, "--dry-run", "--json").stdout)
        self.assertEqual(plan["bytes"], 4 * self.count)
        self.assertFalse(plan["in_memory"])
        self.assertGreater(plan["passes"][0]["boxes"], 1)
        self.assertLess(2 * plan["passes"][0]["box_bytes"], self.memory)
        self.assertTrue(json.loads(self.run_command("transpose", self.path("in.npy"), self.path("out.npy"), "--memory",
                                                    "4GiB", "--dry-run", "--json").stdout)["in_memory"])
        self.assertEqual(os.listdir(self.folder), ["in.npy"])


class Disk(Case):
    def test_the_speed_of_the_disk_is_remembered(self):
        source = self.write("in.npy", npy("'<u4'", (2000, 1500), bytes(12000000)))
        words = ["transpose", source, self.path("out.npy"), "--memory", "40MiB", "--dry-run"]
        here = dict(os.environ, XDG_CACHE_HOME=self.path("cache"))
        self.assertIn("cornerturn roof --disk", self.run_command(*words, env=here).stdout)
        report = json.loads(self.run_command("roof", "--disk", self.folder, "--size", "8MiB", "--json", env=here).stdout)
        self.assertGreater(report["gb_s"], 0)
        self.assertEqual(report["file"], self.path("cache/cornerturn/disks"))
        self.assertNotIn("cornerturn roof --disk", self.run_command(*words, env=here).stdout)
        plan = json.loads(self.run_command(*words, "--json", env=here).stdout)
        self.assertTrue(plan["measured_disk"])
        # No request is free. The copy of one box has no overlap of reads and writes, so a pass of many boxes takes half of its time.
        self.assertGreaterEqual(plan["seconds"], plan["bytes"] / (report["gb_s"] * 1e9) * 0.99)
        self.run_command("roof", "--disk", self.folder, "--size", "8MiB", env=here)
        self.assertEqual(self.read("cache/cornerturn/disks").count(b"\n"), 2)
        # A damaged file is no speed.
        self.write("cache/cornerturn/disks", b"cornerturn-disks 1\nnothing 1 2 x\n")
        self.assertIn("cornerturn roof --disk", self.run_command(*words, env=here).stdout)

    def test_refused(self):
        done = self.run_command("roof", "--disk", self.path("missing"), code=1)
        self.assertIn("missing: cannot be opened", done.stderr)


class Raw(Case):
    def test_raw_to_raw_and_to_npy(self):
        source = self.write("in.raw", b"head" + bytes(range(6)))
        options = ["--shape", "2x3", "--dtype", "uint8", "--offset", "4"]
        self.run_command("transpose", source, self.path("out.raw"), *options)
        self.assertEqual(self.read("out.raw"), bytes([0, 3, 1, 4, 2, 5]))
        self.run_command("transpose", source, self.path("out.npy"), *options, "--verify")
        header, data = split(self.read("out.npy"))
        self.assertEqual(data, bytes([0, 3, 1, 4, 2, 5]))
        self.assertIn("'|u1'", header)
        self.assertIn("(3, 2)", header)

    def test_refused(self):
        source = self.write("in.raw", bytes(24))
        for options, part, code in [(["--shape", "5x5", "--dtype", "u1"], "at byte 25", 1),
                                    (["--shape", "2x3", "--dtype", "<f4", "--offset", "1"], "at byte 25", 1),
                                    (["--shape", "2x3", "--dtype", "x9"], "--dtype", 2),
                                    (["--shape", "2x3", "--dtype", "O"], "--dtype", 2),
                                    (["--shape", "2x3"], "--dtype", 2), (["--dtype", "u1"], "--shape", 2)]:
            done = self.run_command("transpose", source, self.path("out.raw"), *options, code=code)
            self.assertIn(part, done.stderr)
        self.assertEqual(os.listdir(self.folder), ["in.raw"])

    def test_too_little_memory(self):
        source = self.write("in.npy", npy("'<u4'", (2, 3), bytes(24)))
        done = self.run_command("transpose", source, self.path("out.npy"), "--memory", "1MiB", code=1)
        self.assertIn("--memory is 1.00 MiB, wanted at least ", done.stderr)


if __name__ == "__main__":
    unittest.main()
