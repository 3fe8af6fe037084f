"""The other end of tests/support/faults.c, which makes calls of a daemon fail and writes down what they did."""

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
CALLS += ["truncate", "mmap", "stat", "readdir"]
WRITING = {"open", "mkdir", "write", "pwrite", "fsync", "fdatasync", "link", "rename", "truncate", "mmap"}
EIO, ENOSPC, EINTR, SHORT, KILL, HOLD = errno.EIO, errno.ENOSPC, errno.EINTR, 1000, 1001, 1002  # HOLD: until disarm()
KINDS, FIRST, LAST, ACTION, SEEN, FIRED = range(6)
FOR_EVER = 1 << 62


def preloads(binary, library=LIBRARY):
    """The sanitizers' library must come first where the daemon has one."""
    assert os.path.exists(library), f"{library} is not built"
    linked = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    return [found for found in re.findall(r"=> (\S*lib[at]san\S*)", linked)] + [str(library)]


class Faults:
    """A daemon whose calls on its data folder fail as told. trace: a file for records of what they did (power.py)."""

    def __init__(self, folder, trace=None, **options):
        folder.mkdir(exist_ok=True)
        path = folder / "control"
        path.write_bytes(bytes(48))
        self.file = open(path, "r+b")  # noqa: SIM115: as long as this
        self.map = mmap.mmap(self.file.fileno(), 48)
        variables = {"FAULTS_CONTROL": str(path), "FAULTS_FOLDER": str(folder / "server" / "data")}
        if trace:  # also of the data folder's own name
            variables |= {"FAULTS_TRACE": str(trace), "FAULTS_FOLDER": str(folder / "server")}
        self.server = cairn.Daemon(folder / "server", variables=variables, **options)
        variables["LD_PRELOAD"] = ":".join(preloads(self.server.command[0]))

    def put(self, at, value):
        struct.pack_into("<Q", self.map, 8 * at, value)

    def get(self, at):
        return struct.unpack_from("<Q", self.map, 8 * at)[0]

    def arm(self, calls, action, first, last):
        """Of the calls named, the first-th to the last-th from now on do as told instead."""
        self.put(KINDS, 0)
        if action == HOLD:
            fcntl.flock(self.file, fcntl.LOCK_EX)
        for at, value in ((FIRST, first), (LAST, last), (ACTION, action), (SEEN, 0), (FIRED, 0)):
            self.put(at, value)
        self.put(KINDS, sum(1 << CALLS.index(name) for name in calls))

    def fired(self):
        return self.get(FIRED)

    def disarm(self):
        """@return how many calls did as told"""
        self.put(KINDS, 0)
        fcntl.flock(self.file, fcntl.LOCK_UN)
        return self.get(FIRED)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))
