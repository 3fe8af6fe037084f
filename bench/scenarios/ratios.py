"""What `bench/run --quick` judges: figures that neighbours cannot make better, and some that they cannot move at all."""

import json
import random
import re
import shutil
from contextlib import contextmanager

from harness.bench import LeftOut, Slower
from harness.measure import in_turns
from harness.server import Server
from harness.table import kept
from scenarios.query import chunk_path
from scenarios.shards import SHAPES, Prepared

# Of the figure in the table, and of rounds until one comes up to that: a build that is slower never does.
LEAST, ROUNDS, TRIES, SECONDS = 0.9, 4, 4, 0.3
ALL_S = 60  # shards are sent once, all of them: what one costs depends on how many were before
# Shapes of shards, and how many. What the bare daemon takes for longer bodies moves twofold on a machine with neighbours.
N_SHARDS = {"small: 1 xorb of 20 chunks, 1 file": 1200, "1 xorb of 1,000 chunks, 10 files": 400}
COLUMN = "CPU of bare, of ours"
INSTRUCTIONS = "instructions a request"
COUNTED = 400  # requests of each path, from one connection
# Functions that a request runs in, and none of which calls another. What other threads do meanwhile is not counted.
COUNTED_IN = ("http_on_uri", "http_on_request", "http_on_done", "route_job_work")


def _load(bench, server, targets, connections):
    return bench.load(server, targets, connections, SECONDS, warm_ms=20)


def _shards(numbers, n):
    @contextmanager
    def sides(bench):
        of = Prepared(bench, numbers, n if bench.measures else 10, ALL_S)
        with bench.bare(200, 12) as bare:
            yield {"cairnd": lambda: of.load(32), "bare": lambda: _load(bench, bare, of.targets, 32)}

    return sides


PATHS = {f"shards: {name}": _shards(SHAPES[name][0], n) for name, n in N_SHARDS.items()}


def _least_us(runs):
    return min(run.cpu_us for run in runs)


def _ratio(bench, sides, wanted):
    """Of the least processor times of all rounds; with something to come up to, no more rounds than that takes."""
    runs = {name: [] for name in sides}
    for _ in range(TRIES if bench.measures else 1):
        for name, more in in_turns(bench, ROUNDS if bench.measures else 1, sides).items():
            runs[name] += more
        ratio = _least_us(runs["bare"]) / _least_us(runs["cairnd"])
        if wanted and ratio >= wanted:
            break
    return ratio, runs


def _timed(bench, before):
    for name, path in PATHS.items():
        wanted = LEAST * float(before.get(name) or 0)
        with path(bench) as sides:
            ratio, runs = _ratio(bench, sides, wanted)
        row = {"path": name, "CPU µs a request": f"{_least_us(runs['cairnd']):.1f}", COLUMN: f"{ratio:.3g}"}
        yield row, f"{ratio:.3g} of {before.get(name)}" if ratio < wanted else None


# --- instructions -----------------------------------------------------------------------------------------------------


class _Seed:
    """A data folder with what is asked for, and the targets of each path."""

    def __init__(self, bench):
        self.bench, self.data = bench, bench.folder("counted")
        stored = bench.make("counted-uploads", COUNTED, 1, 20, 10, 1, store=True)
        with bench.cairnd(self.data, syncs=bench.syncs(-1)) as server:
            bench.load(server, stored / "xorbs.tsv", 8)
            bench.load(server, stored / "shards.tsv", 8)
            files = (stored / "files").read_text().split()[:COUNTED]
            chunks = (stored / "chunks").read_text().split()
            fetches = [self._fetch(server, file) for file in files]
        numbers = random.Random(1)
        nobody = [f"{numbers.getrandbits(256):064x}" for _ in range(COUNTED)]
        self.paths = {
            "chunk query: miss": [("GET", chunk_path(c), None, None, 404) for c in nobody],
            # An answer is made once, and then kept.
            "chunk query: hit": [("GET", chunk_path(c), None, None, 200) for c in 10 * chunks],
            "plan of 1 term": [("GET", f"/v2/reconstructions/{file}", None, None, 200) for file in files],
            "signed range": [("GET", url, header, None, 206) for url, header in fetches],
            "shard sent again": stored / "shards.tsv",
        }

    @staticmethod
    def _fetch(server, file):
        """@return URL and header of a file's bytes"""
        ((fetch,),) = json.loads(server.get(f"/v2/reconstructions/{file}"))["xorbs"].values()
        ((first, last),) = [(r["bytes"]["start"], r["bytes"]["end"]) for r in fetch["ranges"]]
        return fetch["url"][len(server.url) :], f"Range: bytes={first}-{last}"

    def targets(self, name):
        of = self.paths[name]
        return of if not isinstance(of, list) else self.bench.targets("counted", of)


def _instructions(bench, data, targets):
    """Of a request, outside of the kernel and of what the library does by itself, by valgrind's callgrind."""
    out = bench.tmp / "callgrind.out"
    counter = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", *(f"--toggle-collect={f}" for f in COUNTED_IN)]
    with Server([*counter, *bench.cairnd_argv(data, "--sandbox", "off")], log=bench.tmp / "counted.log") as server:
        n = bench.load(server, targets, 1).requests
    return int(re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.M)[1]) / n


def _counted(bench, before):
    if b"libasan" in (bench.build / "server/cairnd").read_bytes():
        return  # valgrind runs none that has sanitizers
    seed = _Seed(bench)
    for name in seed.paths if bench.measures else list(seed.paths)[:1]:
        n = _instructions(bench, seed.data, seed.targets(name))
        wanted = float(before.get(name) or 0)
        row = {"path": name, INSTRUCTIONS: f"{n:.0f}"}
        yield row, f"{n:.0f} instructions instead of {wanted:.0f}" if 0 < wanted < LEAST * n else None


def ratios(bench):
    """A figure for each path, to be compared with later; with --quick it is, and a tenth less is a failure."""
    if not shutil.which("valgrind"):
        raise LeftOut("there is no valgrind")
    slower = []
    for judged, column in ((_timed, COLUMN), (_counted, INSTRUCTIONS)):
        before = kept("ratios", column) if bench.judges else {}
        for row, found in judged(bench, before):
            if before.get(row["path"]):
                row["table"] = before[row["path"]]
            if found:
                slower.append(f"{row['path']}: {found}")
            yield row
    if slower:
        raise Slower(f"more than a tenth below bench/RESULTS.md: {'; '.join(slower)}")
