"""Kills `cornerturn transpose` at random moments, and injects faults of its disk. Each output is right, or there is one sentence
and no output: faults_test.py COMMAND LIBRARY [--seed N] [--kills N] [--faults N] [--folder FOLDER] [--verbose]

LIBRARY is made of faulty_disk.c. Equal seeds give equal faults, but a kill by time depends on the machine."""
import argparse
import errno
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SHAPE = (801, 97, 86)  # of uint32
BYTES = 4 * SHAPE[0] * SHAPE[1] * SHAPE[2]
MATRIX = (4 * SHAPE[0], SHAPE[1] * SHAPE[2])  # of bytes
CUBE = ["--shape", "x".join(map(str, SHAPE)), "--dtype", "<u4", "--axes", "2,1,0"]
MEMORY = ["--memory", "32MiB"]
OLD = b"an older output"

# The commands of each job, one after another.
JOBS = {
    "one pass": [CUBE + MEMORY + ["--resume", "--verify"]],
    "two passes": [["--shape", "x".join(map(str, MATRIX)), "--dtype", "u1", *MEMORY, "--resume"]],
    "parts": [CUBE + ["--memory", "64MiB", *part] for part in (["--part", "1/2"], ["--part", "2/2"], ["--finish", "2"])],
    "not kept": [CUBE + MEMORY],
    "in memory": [CUBE],
}
KEPT = ["one pass", "two passes", "parts"]  # a later run goes on
READING = ["one pass", "two passes", "parts", "not kept"]  # with pread


def transposed(data):
    """The wanted output for the cube, and for the matrix."""
    words = memoryview(data).cast("I")
    _, middle, last = SHAPE
    cube = b"".join(words[j * last + k::middle * last].tobytes() for k in range(last) for j in range(middle))
    return cube, b"".join(data[j::MATRIX[1]] for j in range(MATRIX[1]))


class Wrong(Exception):
    """A case does not end as it must."""


class Bench:
    """A folder with in.raw, and the runs that make out.raw from it."""

    def __init__(self, command, library, seed, parent):
        self.command, self.library = os.path.abspath(command), os.path.abspath(library)
        self.random = random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="cornerturn-faults-", dir=parent)
        self.data = random.Random(1).randbytes(BYTES)
        self.cube, self.matrix = transposed(self.data)
        self.old = None
        self.told = ""  # the case
        self.seconds, self.calls = {}, {}  # of each step of a job without a fault
        for job, steps in JOBS.items():
            self.clear()
            self.seconds[job], self.calls[job] = [], []
            for step in range(len(steps)):
                start = time.monotonic()
                with tempfile.NamedTemporaryFile("r") as counts:
                    code, sentence = self.run(job, step, FAULT_COUNTS=counts.name)
                    self.calls[job].append({name: int(count) for name, count in map(str.split, counts)})
                if code != 0:
                    raise Wrong(f"{job} without a fault: {sentence}")
                self.seconds[job].append(time.monotonic() - start)

    def path(self, leaf=""):
        return os.path.join(self.folder, leaf)

    def put(self, leaf, content):
        with open(self.path(leaf), "wb") as file:
            file.write(content)

    def clear(self, old=None):
        """Leaves the input, and an older output if there is one."""
        for leaf in os.listdir(self.folder):
            os.remove(self.path(leaf))
        self.put("in.raw", self.data)
        self.old = old
        if old is not None:
            self.put("out.raw", old)

    def output(self):
        try:
            with open(self.path("out.raw"), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def start(self, job, step, fault="", **more):
        environment = dict(os.environ, LD_PRELOAD=self.library, FAULT=fault, FAULT_CLOCK="1",
                           FAULT_SEED=str(self.random.randrange(1 << 30)), **more)
        return subprocess.Popen([self.command, "transpose", self.path("in.raw"), self.path("out.raw"), "--quiet",
                                 *JOBS[job][step]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)

    def check(self, process, job, step):
        """Waits for the end of a run, and checks what it leaves. Returns its exit code and its sentence."""
        try:
            sentence = process.communicate(timeout=120)[1].decode()
        except subprocess.TimeoutExpired:
            process.kill()
            raise Wrong("the command does not end") from None
        code, output, files = process.returncode, self.output(), set(os.listdir(self.folder)) - {"in.raw", "out.raw"}
        if code not in (0, 1, -signal.SIGKILL):
            raise Wrong(f"exit code {code}: {sentence}")
        if bool(sentence) != (code == 1) or (code == 1 and not re.fullmatch(r"cornerturn: [^\n]+\n", sentence)):
            raise Wrong(f"exit code {code} and this sentence: {sentence!r}")
        is_last = step + 1 == len(JOBS[job])
        is_right = output == (self.matrix if job == "two passes" else self.cube)
        # The output may have its name already, and the folder is not on the disk yet.
        may_be_whole = code == -signal.SIGKILL or "cannot write its directory to the disk" in sentence
        if code == 0 and is_last and not is_right:
            raise Wrong("the output is wrong")
        if (code != 0 or not is_last) and output != self.old and not (is_last and may_be_whole and is_right):
            raise Wrong(f"there is an output, exit code {code}: {sentence}")
        if files and ((code == 0 and is_last) or (code == 1 and job not in KEPT)):
            raise Wrong(f"exit code {code}, and these files are left: {files}")
        return code, sentence

    def run(self, job, step, fault="", **more):
        return self.check(self.start(job, step, fault, **more), job, step)

    def finish(self, job, first=0):
        """All steps from `first` on end well."""
        for step in range(first, len(JOBS[job])):
            code, sentence = self.run(job, step)
            if code != 0:
                raise Wrong(f"a later run: {sentence}")

    def number(self, job, step, call):
        return self.random.randint(1, max(1, self.calls[job][step][call]))


def kill(bench):
    """One kill of a random job at a random moment, and sometimes more; then the job is completed."""
    job = bench.random.choice(KEPT)
    step = bench.random.randrange(len(JOBS[job]))
    bench.told = f"{job}, step {step + 1}"
    bench.clear(OLD if bench.random.random() < 0.5 else None)
    for earlier in range(step):
        if bench.run(job, earlier)[0] != 0:
            raise Wrong(f"step {earlier + 1} does not end well")
    kills = 0
    while kills == 0 or bench.random.random() < 0.4:
        how = bench.random.choice(["time", "kill", "lost"])
        if how == "time":
            seconds = bench.random.uniform(0, bench.seconds[job][step])
            process = bench.start(job, step)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
            bench.told += f", killed after {seconds:.3f} s"
        else:
            call = bench.random.choice(["pread", "pwrite", "sync", "rename"])
            fault = f"{call}:{bench.number(job, step, call)}:{1 << 30}:{how}"
            bench.told += f", {fault}"
            process = bench.start(job, step, fault)
        code, sentence = bench.check(process, job, step)
        if code == 1:
            raise Wrong(sentence)
        kills += code != 0
        if bench.output() != bench.old:  # it is published, and was checked
            break
        step += code == 0
    else:
        bench.finish(job, step)
    return kills


# Each kind of fault: jobs, call, how many calls ("one", "all", "rest": from one on), actions, and the end that is wanted.
CALLS = [
    (READING, "pread", "all", ["short"], "right"),
    (list(JOBS), "pwrite", "all", ["short"], "right"),
    (READING, "pread", "one", [errno.EINTR], "right"),
    (list(JOBS), "pwrite", "one", [errno.EINTR], "right"),
    (list(JOBS), "sync", "one", [errno.EINTR], "any"),
    (list(JOBS), "fallocate", "one", [errno.EINTR, errno.EOPNOTSUPP], "right"),
    (READING, "pread", "one", [errno.EIO, errno.ESTALE], "sentence"),
    (list(JOBS), "pwrite", "one", [errno.EIO], "sentence"),
    (list(JOBS), "pwrite", "rest", [errno.ENOSPC, errno.EDQUOT, errno.EROFS], "sentence"),
    (list(JOBS), "sync", "one", [errno.EIO, errno.ENOSPC], "sentence"),
    (list(JOBS), "fallocate", "all", [errno.ENOSPC, errno.EDQUOT], "sentence"),
    (list(JOBS), "openat", "one", [errno.EMFILE, errno.EACCES, errno.EROFS], "any"),
    (["not kept", "in memory"], "link", "all", [errno.EIO, errno.ENOSPC], "sentence"),
    (KEPT, "rename", "all", [errno.EIO, errno.ENOSPC], "sentence"),
    (list(JOBS), "thread", "all", [errno.EAGAIN], "right"),
    (READING, "input", "one", ["shrink"], "sentence"),
    (READING, "input", "one", ["change"], "sentence"),
]


def call_fails(bench):
    jobs, call, which, actions, wanted = bench.random.choice(CALLS)
    job = bench.random.choice([job for job in jobs if any(one[call] for one in bench.calls[job])])
    step = bench.random.choice([step for step, one in enumerate(bench.calls[job]) if one[call]])
    number = bench.number(job, step, call)
    first, last = {"one": (number, number), "rest": (number, 1 << 30), "all": (1, 1 << 30)}[which]
    action = bench.random.choice(actions)
    bench.told = f"{job}, step {step + 1}, {call} {first} to {last}: {errno.errorcode.get(action, action)}"
    bench.clear(OLD if bench.random.random() < 0.5 else None)
    for earlier in range(step):
        bench.run(job, earlier)
    code, sentence = bench.run(job, step, f"{call}:{first}:{last}:{action}")
    if (wanted == "right" and code != 0) or (wanted == "sentence" and code != 1):
        raise Wrong(f"exit code {code}: {sentence}")
    if action in ("shrink", "change"):
        bench.put("in.raw", bench.data)
        if job in KEPT:  # another input now, and so another journal
            code_again, again = bench.run(job, 0)
            if code_again == 1 and "is of another transpose" not in again:
                raise Wrong(f"the next run: {again}")
    elif code == 1 and job in KEPT and bench.output() == bench.old:
        bench.finish(job, step)
    return sentence or "right"


def damaged_files(bench):
    """The files of a killed run are damaged, or belong to another run."""
    job = bench.random.choice(["one pass", "two passes"])
    bench.clear(OLD if bench.random.random() < 0.5 else None)
    writes = bench.calls[job][0]["pwrite"]
    bench.run(job, 0, f"pwrite:{bench.random.randint(writes // 2, writes)}:{1 << 30}:kill")
    leaf = bench.random.choice([leaf for leaf in sorted(os.listdir(bench.folder)) if leaf.startswith("out.raw.part")])
    size = os.path.getsize(bench.path(leaf))
    place = bench.random.randrange(max(1, size))
    damages = ["cut", "removed", "other input"] + ([] if leaf.endswith("scratch") else ["one bit"])
    damage = bench.random.choice(damages)
    if damage == "cut":
        os.truncate(bench.path(leaf), place)
    elif damage == "removed":
        os.remove(bench.path(leaf))
    elif damage == "one bit" and size > 0:
        with open(bench.path(leaf), "r+b") as file:
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 1 << bench.random.randrange(8)]))
    else:
        bench.put("in.raw", bench.data[:-1] + b"?")
        bench.put("in.raw", bench.data)
    bench.told = f"{job}, {leaf}: {damage} at {place} of {size}"
    code, sentence = bench.run(job, 0)
    if code == 1:
        if "wanted" not in sentence:
            raise Wrong(f"the sentence has no remedy: {sentence}")
        for one in (leaf for leaf in os.listdir(bench.folder) if leaf.startswith("out.raw.part")):
            os.remove(bench.path(one))
        bench.finish(job)
    return sentence or "right"


class Mounted:
    """A small file system in memory over the folder of the bench. Only root may mount."""

    def __init__(self, bench, size):
        self.bench, self.size = bench, size

    def __enter__(self):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.size}", "none", self.bench.folder], check=True)
        self.bench.clear()

    def __exit__(self, *_):
        subprocess.run(["umount", self.bench.folder], check=True)


def full_disk(bench):
    """The file system has no room before the run, or another program fills it meanwhile."""
    job = bench.random.choice(["one pass", "two passes", "not kept", "in memory"])
    if bench.random.random() < 0.3:
        bench.told = f"{job}, a full file system"
        with Mounted(bench, BYTES * 3 // 2):
            code, sentence = bench.run(job, 0)
        if code != 1 or " free" not in sentence:
            raise Wrong(f"exit code {code}: {sentence}")
        return sentence
    after = bench.random.randrange(BYTES // 2)
    bench.told = f"{job}, full after {after} bytes"
    with Mounted(bench, 4 * BYTES):
        # The space is not reserved.
        process = bench.start(job, 0, f"fallocate:1:{1 << 30}:{errno.EOPNOTSUPP}")
        while process.poll() is None and written_by(process) < after:
            pass
        process.send_signal(signal.SIGSTOP)
        with open(bench.path("filler"), "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(1 << 20))
            except OSError:
                pass
        process.send_signal(signal.SIGCONT)
        process.wait(120)
        os.remove(bench.path("filler"))
        code, sentence = bench.check(process, job, 0)
        if code == 1 and job in KEPT:
            bench.finish(job)
    return sentence or "right"


def written_by(process):
    try:
        with open(f"/proc/{process.pid}/io") as counts:
            return int(re.search(r"^wchar: (\d+)", counts.read(), re.M)[1])
    except OSError:
        return BYTES


def read_only(bench):
    job = bench.random.choice(list(JOBS))
    bench.told = f"{job}, a read-only folder"
    if os.geteuid() == 0:
        with Mounted(bench, 4 * BYTES):
            subprocess.run(["mount", "-o", "remount,ro", bench.folder], check=True)
            code, sentence = bench.run(job, 0)
    else:
        bench.clear()
        os.chmod(bench.folder, 0o555)
        code, sentence = bench.run(job, 0)
        os.chmod(bench.folder, 0o755)
    if code != 1:
        raise Wrong(f"exit code {code}")
    return sentence


def can_mount():
    """True if this user may mount; the test itself is wrong if a later mount fails."""
    folder = tempfile.mkdtemp()
    try:
        done = subprocess.run(["mount", "-t", "tmpfs", "none", folder], stderr=subprocess.DEVNULL)
        return done.returncode == 0 and subprocess.run(["umount", folder]).returncode == 0
    except OSError:
        return False
    finally:
        os.rmdir(folder)


def main():
    options = argparse.ArgumentParser(description=__doc__.split(":")[0])
    options.add_argument("command")
    options.add_argument("library")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--faults", type=int, default=50)
    options.add_argument("--folder", help="of the files, on the disk under test")
    options.add_argument("--verbose", action="store_true")
    options = options.parse_args()
    bench = Bench(options.command, options.library, options.seed, options.folder)
    kinds = [call_fails] * 5 + [damaged_files] * 3 + [read_only]
    if os.geteuid() != 0 or can_mount():
        kinds += [full_disk] * 2 if os.geteuid() == 0 else []
    else:
        kinds.remove(read_only)
    kills = faults = sentences = 0
    try:
        while kills < options.kills or faults < options.faults:
            if kills < options.kills:
                kills += kill(bench)
                ending = "right"
            else:
                ending = bench.random.choice(kinds)(bench)
                faults += 1
                sentences += ending != "right"
            if options.verbose:
                print(f"{bench.told}: {ending.strip()}", flush=True)
    except Wrong as wrong:
        sys.exit(f"seed {options.seed}, after {kills} kills and {faults} faults: {bench.told}: {wrong}")
    finally:
        shutil.rmtree(bench.folder, ignore_errors=True)
    print(f"{kills} kills: each output is right. {faults} faults: {faults - sentences} outputs are right, and {sentences} runs "
          "end with a sentence and no output")


if __name__ == "__main__":
    main()
