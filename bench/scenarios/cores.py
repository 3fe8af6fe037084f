"""The limits to the daemon's growth with processors: the work that one thread alone does for each path, and the time under one lock.

If a single thread does a tenth of the work, the daemon uses at most ten processors, however many the machine has. The same holds for a lock that is held
for a tenth of the time. The shares are measured on the processors that there are."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

from harness.measure import median
from scenarios.paths import asked, sent

ALONE = ("index-writer", "checkpoint", "log", "sweeper")  # the threads that exist only once
SHARDS = (
    ("shard of 20 chunks", (20000, 1, 20, 1, 1), (40, 1, 20, 1, 1)),
    ("shard of 1,000 chunks and 10 files", (2000, 1, 1000, 10, 1), (10, 1, 1000, 10, 1)),
    ("shard of 1,000 files", (200, 1, 1000, 1000, 1), (4, 1, 1000, 1000, 1)),
)


def _threads_ns(server):
    """Processor time in nanoseconds, by the thread's name."""
    found = Counter()
    for task in Path(f"/proc/{server.pid}/task").iterdir():
        found[(task / "comm").read_text().strip()] += int((task / "schedstat").read_text().split()[0])
    return found


def _name(at, path):
    """Returns the function at an address, if the file has line numbers (otherwise the name is only the nearest one that is known); else the file."""
    if shutil.which("addr2line"):
        function, line = subprocess.check_output(["addr2line", "-f", "-e", path, at], text=True).splitlines()[:2]
        if not line.startswith("??"):
            return f"`{function}`"
    return Path(path).name.split(".so")[0]


def _longest_lock(file):
    """@return the function that holds a lock longest in all, and the nanoseconds"""
    lines = [line.split() for line in file.read_text().splitlines()]
    at, _, held_ns, _, _, path = max(lines, key=lambda fields: int(fields[2]))
    return _name(at, path), int(held_ns)


def _run(bench, path, locks=None):
    env = {"LD_PRELOAD": bench.program("libbench_locks.so"), "BENCH_LOCKS_FILE": str(locks)} if locks else {}
    with bench.cairnd(bench.folder("data"), *path.options, "--sandbox", "off", env=env) as server:
        for uploads in path.prepare:
            bench.load(server, uploads, 8)
        before = _threads_ns(server)
        result = bench.load(server, path.targets, 32) if path.uploads else bench.load(server, path.targets, 64, bench.seconds)
        return result, _threads_ns(server) - before


def _row(bench, path):
    runs = [_run(bench, path) for _ in range(bench.rounds(3))]
    thread, share = max(((t, median(ns[t] / ns.total() for _, ns in runs)) for t in ALONE), key=lambda of: of[1])
    file = bench.tmp / "locks"
    result, threads = _run(bench, path, file)
    lock, held_ns = _longest_lock(file)
    held = held_ns / threads.total()
    return {
        "path": path.name,
        "CPU µs a request": f"{median(run.cpu_us for run, _ in runs):.1f}",
        "busiest of the threads that are one": thread,
        "its share": f"{share:.3f}",
        "processors it feeds": f"{1 / max(share, 1e-4):,.0f}",
        "lock that is held longest": lock,
        "share of the time": f"{held:.3f}",
        "processors it lets work": f"{1 / max(held, 1e-4):,.0f}",
        "cores used by others": f"{median(run.foreign for run, _ in runs):.2f}",
    }


def cores(bench):
    """For each path, the share of work that only one thread or one lock can do, and so the most processors that it can use."""
    for paths in (asked(bench), sent(bench, SHARDS, bench.pick(4000, 40))):
        for path in paths:
            yield _row(bench, path)
