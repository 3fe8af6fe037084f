"""Measurements: clocks and memory of processes, quiet moments of the machine, several sides in turns, ratios, goals."""

import os
import statistics
import struct
import threading
import time
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pid):
    """Processor time of a process with all its threads. Uses the process's own clock, because /proc counts in steps of 10 ms."""
    return time.clock_gettime((~pid << 3) | 2)


def user_s(pid):
    """Processor time of a process outside of the kernel, in steps of 10 ms."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11]) / TICKS


def busy_s():
    """Processor time of the whole machine that was not idle."""
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS


class Quiet:
    """Waits until other processes use less than a tenth of a core. The time of each wait and of all together is limited: a machine that is never quiet is
    measured as it is, and the tables say what others used."""

    ONCE_S = 10

    def __init__(self, budget_s):
        self.left_s = budget_s

    def wait(self):
        began = time.monotonic()
        while time.monotonic() - began < min(self.ONCE_S, self.left_s):
            before = busy_s()
            time.sleep(0.25)
            if busy_s() - before < 0.025:
                break
        self.left_s -= time.monotonic() - began


class Syncs:
    """Counts the calls of fdatasync() and fsync() of a server started with env(). The calls can be made to take a least time, or be left out (least_ms
    below 0) while something is prepared."""

    def __init__(self, bench, least_ms=0):
        self.file = bench.tmp / f"syncs-{time.monotonic_ns()}"
        self.file.write_bytes(bytes(16))
        self.library = bench.program("libbench_syncs.so")
        self.least_ms = least_ms

    def env(self):
        return {
            "LD_PRELOAD": self.library,
            "BENCH_SYNC_FILE": str(self.file),
            "BENCH_SYNC_MS": str(self.least_ms),
        }

    def read(self):
        return sum(struct.unpack("<QQ", self.file.read_bytes()))


def disk_syncs_a_second(folder, seconds=0.3):
    """The rate of syncs of the disk alone: appends 4 KiB to a file and syncs it, again and again."""
    path, block, n = Path(folder) / "synced", bytes(4096), 0
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            os.write(fd, block)
            os.fdatasync(fd)
            n += 1
        return n / (time.monotonic() - began)
    finally:
        os.close(fd)
        path.unlink()


class Memory:
    """The highest resident and anonymous memory of processes, in MiB, while the block runs."""

    EVERY_S = 0.05  # sampling more often costs a hundredth of two cores, which only our side of a comparison would pay

    def __init__(self, pids):
        self.pids = pids
        self.rss_mib = self.anon_mib = 0.0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch)

    def _look(self):
        sums = {"VmRSS": 0, "RssAnon": 0}
        for pid in self.pids:
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                name, _, value = line.partition(":")
                if name in sums:
                    sums[name] += int(value.split()[0])
        self.rss_mib = max(self.rss_mib, sums["VmRSS"] / 1024)
        self.anon_mib = max(self.anon_mib, sums["RssAnon"] / 1024)

    def _watch(self):
        while not self.ended.wait(self.EVERY_S):
            self._look()

    def __enter__(self):
        self._look()
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.ended.set()
        self.thread.join()


@dataclass
class Run:
    """The result of one load on one server."""

    requests: int
    seconds: float
    p50_us: int
    p99_us: int
    p999_us: int
    received_bytes: int
    sent_bytes: int
    cpu_s: float
    rss_mib: float
    anon_mib: float
    foreign: float  # cores that other processes used meanwhile
    syncs: int | None = None
    disk_syncs: float | None = None

    @property
    def rate(self):
        return self.requests / self.seconds

    @property
    def mb_s(self):
        return (self.received_bytes + self.sent_bytes) / 1e6 / self.seconds

    @property
    def cpu_us(self):
        return 1e6 * self.cpu_s / self.requests


def in_turns(bench, rounds, sides):
    """Runs each side once in each round, beginning with another one each time. @param sides {name: function} @return {name: [result]}"""
    names, results = list(sides), {name: [] for name in sides}
    for i in range(rounds):
        bench.quiet.wait()
        first = i % len(names)
        for name in names[first:] + names[:first]:
            results[name].append(sides[name]())
    return results


def median(values):
    return statistics.median(values)


class Spread:
    """Figures of several rounds. As text: the median, with the lowest and the highest in brackets."""

    def __init__(self, values):
        values = list(values)
        self.median, self.low, self.high = median(values), min(values), max(values)

    def __str__(self):
        digits = 2 if self.median >= 0.1 else 3
        return f"{self.median:.{digits}f} ({self.low:.{digits}f}–{self.high:.{digits}f})"


REACHED, MISSED = ": reached", ": **missed**"


class Goal:
    """A goal for a figure, as text of a table and as a mark of a chart."""

    def __init__(self, value, wanted, what="", most=False):
        value = value.median if isinstance(value, Spread) else value
        self.reached = value <= wanted if most else value >= wanted
        self.wanted, self.what = wanted, what

    def __str__(self):
        text = f"{self.wanted:g} {self.what}".strip()
        return text + (REACHED if self.reached else MISSED)
