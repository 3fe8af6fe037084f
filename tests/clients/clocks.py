"""Clocks that tests move: the daemon's, and by a library the one of PostgreSQL."""

import os
import struct
from pathlib import Path

import cairn
import faults

LIBRARY = Path(os.environ.get("SHIFT_CLOCK_LIBRARY", cairn.ROOT / "build-asan/tests/support/libshift_clock.so"))


class Clock:
    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(8))

    def of_daemon(self):
        """@return variables of the environment with which a daemon has this clock"""
        return {"LD_PRELOAD": ":".join(faults.preloads(cairn.CAIRND, LIBRARY)), "SHIFT_CLOCK": str(self.path)}

    def of_thread(self, name):
        """@return variables with which one thread of a daemon has this clock, also as its monotonic one"""
        return {**self.of_daemon(), "SHIFT_THREAD": name}

    def move(self, seconds):
        with open(self.path, "r+b") as f:
            f.write(struct.pack("<q", seconds))
