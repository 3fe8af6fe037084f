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

    def of_thread(self, name):
        """@return variables of the environment with which a daemon's thread has this clock, also as its monotonic one"""
        return {"LD_PRELOAD": ":".join(faults.preloads(cairn.CAIRND, LIBRARY)), "SHIFT_CLOCK": str(self.path), "SHIFT_THREAD": name}

    def move(self, seconds):
        with open(self.path, "r+b") as f:
            f.write(struct.pack("<q", seconds))
