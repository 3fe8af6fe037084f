"""Controls tests/support/faults.c, which makes calls of a daemon fail and records what they did."""

import errno
import fcntl
import mmap
import os
import re
import struct
import subprocess

import cairn

LIBRARY = os.environ.get("FAULTS_LIBRARY", str(cairn.ROOT / "build-asan" / "tests" / "support" / "libfaults.so"))
CALLS = ["open", "mkdir", "write", "pwrite", "read", "pread", "sendfile", "fsync", "fdatasync", "link", "rename", "unlink"]
CALLS += ["truncate", "mmap", "stat", "readdir", "flock"]
MALLOC = "malloc"  # any allocation; not a call on a file
WRITING = {"open", "mkdir", "write", "pwrite", "fsync", "fdatasync", "link", "rename", "truncate", "mmap"}
EIO, ENOSPC, EINTR, SHORT, KILL, HOLD = errno.EIO, errno.ENOSPC, errno.EINTR, 1000, 1001, 1002  # HOLD: the call waits until disarm()
TWICE = 1003  # EINTR the first time that each call is made, then nothing
KINDS, FIRST, LAST, ACTION, SEEN, FIRED, GIVEN_UP, FREE_BYTES = range(8)
CONTROL_BYTES = 64
FOR_EVER = 1 << 62


def preloads(binary, library=LIBRARY):
    """The libraries to preload. The sanitizers' library must come first where the daemon has one."""
    assert os.path.exists(library), f"{library} is not built"
    linked = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    return [found for found in re.findall(r"=> (\S*lib[at]san\S*)", linked)] + [str(library)]


class Control:
    """Makes calls on files of a folder fail, in processes that have its environment variables."""

    def __init__(self, path, folder, binary):
        path.write_bytes(bytes(CONTROL_BYTES))
        self.file = open(path, "r+b")  # stays open as long as this object # noqa: SIM115
        self.map = mmap.mmap(self.file.fileno(), CONTROL_BYTES)
        self.variables = {"FAULTS_CONTROL": str(path), "FAULTS_FOLDER": str(folder), "LD_PRELOAD": ":".join(preloads(binary))}

    def put(self, at, value):
        struct.pack_into("<Q", self.map, 8 * at, value)

    def get(self, at):
        return struct.unpack_from("<Q", self.map, 8 * at)[0]

    def arm(self, calls, action, first, last):
        """Makes these calls do this action, from the first-th to the last-th, counted from now."""
        self.put(KINDS, 0)
        if action == HOLD:
            fcntl.flock(self.file, fcntl.LOCK_EX)
        for at, value in ((FIRST, first), (LAST, last), (ACTION, action), (SEEN, 0), (FIRED, 0), (GIVEN_UP, 0)):
            self.put(at, value)
        self.put(KINDS, sum(1 << [*CALLS, MALLOC].index(name) for name in calls))

    def leave_free(self, n):
        """Lets the disk say that so many bytes are free. 0: the truth"""
        self.put(FREE_BYTES, n)

    def fired(self):
        return self.get(FIRED)

    def given_up(self):
        """@return how many calls were not repeated after TWICE had interrupted them"""
        return self.get(GIVEN_UP)

    def disarm(self):
        """@return how many calls did what arm() said"""
        self.put(KINDS, 0)
        fcntl.flock(self.file, fcntl.LOCK_UN)
        return self.get(FIRED)


class Faults(Control):
    """A daemon whose calls on its data folder can be made to fail. below: only those on this folder in it. trace: a file for records of all that it
    did there (power.py)."""

    def __init__(self, folder, trace=None, below="", **options):
        folder.mkdir(exist_ok=True)
        super().__init__(folder / "control", folder / "server" / "data" / below, cairn.CAIRND)
        if trace:  # records need the folder's own name, too
            self.variables |= {"FAULTS_TRACE": str(trace), "FAULTS_FOLDER": str(folder / "server")}
        self.server = cairn.Daemon(folder / "server", variables=self.variables, **options)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))


class Command(Control):
    """The command `cairn`, whose calls on files of the folder can be made to fail."""

    def __init__(self, folder):
        super().__init__(folder.parent / f"{folder.name}.control", folder, cairn.CAIRN)

    def run(self, *arguments, expect=0, **variables):
        env = os.environ | self.variables | variables
        done = subprocess.run([cairn.CAIRN, *map(str, arguments)], env=env, capture_output=True, text=True, timeout=100)
        assert done.returncode == expect, (arguments, done.returncode, done.stdout[-500:], done.stderr[-3000:])
        return done
