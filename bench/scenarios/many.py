"""How the daemon's rate grows with processors: the same load on a daemon that may use 1, 2, 4 or 8 of them. The load runs on other processors."""

import json
import os
import resource
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass

from harness.bench import LeftOut
from harness.measure import Spread, median
from harness.server import Server
from scenarios.paths import asked, sent

SIZES = (1, 2, 4, 8)
LOADS_MAX = 8  # load programs, each on a processor of its own
CONNECTIONS_A_LOAD = 16
SHARDS = (  # more shards than a run sends
    ("shard of 20 chunks", (30000, 1, 20, 1, 1), (400, 1, 20, 1, 1)),
    ("shard of 1,000 chunks and 10 files", (6000, 1, 1000, 10, 1), (100, 1, 1000, 10, 1)),
)


def _split():
    """@return (processors of the daemon, processors of the load)"""
    all_ = sorted(os.sched_getaffinity(0))
    n_loads = min(LOADS_MAX, len(all_) // 2)
    if n_loads < 2:
        raise LeftOut(f"the daemon and the load take two processors each at least, and there are {len(all_)}")
    return all_[:-n_loads], all_[-n_loads:]


def _on(processors, argv):
    return ["taskset", "-c", ",".join(map(str, processors)), *argv]


def _children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass
class _Run:
    rate: float  # requests a second
    used: float  # processors that the daemon was busy on
    load: float  # how busy the load's processors were; near 1 the load is the limit, not the daemon


def _run(bench, server, path, processors):
    """Runs one load program on each processor, at the same time."""
    lines, seconds = path.targets.read_text().splitlines(keepends=True), bench.seconds * 2 / 3
    before, children_s, running = server.cpu_s(), _children_s(), []
    for i, processor in enumerate(processors):
        targets = bench.tmp / f"load{i}.tsv"
        targets.write_text("".join(lines[i :: len(processors)] if path.uploads else lines))
        argv = [bench.program("bench_load"), "-c", str(CONNECTIONS_A_LOAD), "-e", "200", "-s", str(seconds)]
        argv += (["-o"] if path.uploads else ["-w", "100"]) + ["127.0.0.1", str(server.port), str(targets)]
        running.append(subprocess.Popen(_on([processor], argv), stdout=subprocess.PIPE, text=True))
    results = [json.loads(load.communicate()[0]) for load in running]
    if any(load.returncode != 0 for load in running) or any(r["wrong"] or r["broken"] for r in results):
        raise RuntimeError(f"not all replies were right: {results}")
    took_s = max(r["seconds"] for r in results) + (0 if path.uploads else 0.1)
    load = (_children_s() - children_s) / took_s / len(processors)
    return _Run(sum(r["requests"] / r["seconds"] for r in results), (server.cpu_s() - before) / took_s, load)


def _cairnd(bench, path, processors):
    """Starts a daemon on a folder of its own. Some file systems (ext4 without a journal) take time to reuse a folder that was just removed."""
    data = bench.folder(f"data{time.monotonic_ns()}")
    server = Server(_on(processors, bench.cairnd_argv(data, *path.options)), log=bench.tmp / "cairnd.log")
    for uploads in path.prepare:
        bench.load(server, uploads, 8)
    return server


def _bare(bench, path, processors):
    return Server(_on(processors, [bench.program("bench_bare"), *map(str, path.bare)]), stdin=subprocess.PIPE)


def _runs(bench, path, make, size, rounds):
    mine, of_load = _split()
    runs = []
    with ExitStack() as servers:
        server = None
        for _ in range(rounds):
            if server is None or path.uploads:
                servers.close()
                server = servers.enter_context(make(bench, path, mine[:size]))
                server.settle()
            runs.append(_run(bench, server, path, of_load))
    return runs


def _row(bench, path, sizes):
    runs = {size: _runs(bench, path, _cairnd, size, bench.rounds(3)) for size in sizes}
    rate = {size: median(run.rate for run in of) for size, of in runs.items()}
    first, last = sizes[0], sizes[-1]
    spread = Spread(run.rate for run in runs[first])
    row = {"path": path.name, f"requests/s on {first}": f"{spread.median:,.0f} ({spread.low:,.0f}–{spread.high:,.0f})"}
    row |= {f"times that on {size}": f"{rate[size] / rate[first]:.2f}" for size in sizes[1:]}
    row[f"busy of {last}"] = f"{median(run.used for run in runs[last]):.1f}"
    if path.bare:
        bare = {size: median(run.rate for run in _runs(bench, path, _bare, size, bench.rounds(3))) for size in sizes}
        row[f"of the bare daemon's rate on {', '.join(map(str, sizes))}"] = ", ".join(f"{rate[s] / bare[s]:.2f}" for s in sizes)
    row["how busy the load was at last"] = f"{median(run.load for run in runs[last]):.2f}"
    return row


def many(bench):
    """How the daemon's rate grows with processors, beside libmicrohttpd alone on as many."""
    mine, _ = _split()
    sizes = [size for size in SIZES if size <= len(mine)]
    for paths in (asked(bench), sent(bench, SHARDS, bench.pick(6000, 100))):
        for path in paths:
            yield _row(bench, path, sizes)
