"""Figures that `bench/run --quick` judges. They do not depend on other load of the machine."""

import json
import os
import random
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

from harness.bench import LeftOut, Slower
from harness.server import Server
from harness.table import kept
from scenarios.hub import REPOSITORY, _import, _small_files
from scenarios.query import chunk_path
from scenarios.shards import SHAPES

LEAST = 0.9  # least share of the table's figure
COLUMN = "instructions a request"
HUB_FILES = 100
COUNTED = 400  # requests for each path, on one connection
# Functions in which a request runs, none of which calls another. Work of other threads meanwhile is not counted.
REQUEST = ("http_on_uri", "http_on_request", "http_on_done", "route_job_work")
WRITER = ("writer_commit",)  # the additional work of a write, on the index's thread
# Not counted: its first call opens a connection to the index, which costs as much as hundreds of requests, unless another thread happens to have left one
# idle.
LEFT_OUT = "cairn_pool_take"
NEW_SHARDS = {"small: 1 xorb of 20 chunks, 1 file": 200, "1 xorb of 1,000 chunks, 10 files": 100}  # how many shards of each shape
# Settings that make the cost of a request constant: no verification runs beside it, and an epoch's last hour, in which answers are made anew, never comes.
ALONE = ("--sandbox", "off", "--proof-rate", "0", "--epoch", "365d", "--gc-grace", "730d")
# Keeps the C library from using string instructions. valgrind counts such an instruction once for each repetition, and their use depends on the processor
# and on addresses.
BY_VECTORS = {"GLIBC_TUNABLES": f"glibc.cpu.x86_rep_movsb_threshold={1 << 30}:glibc.cpu.x86_rep_stosb_threshold={1 << 30}"}
AT_ONCE = min(2, os.cpu_count() or 1)  # counting instructions does not need a quiet machine


class _Seed:
    """A data folder with data to request, and for each path its targets with the functions to count in."""

    def __init__(self, bench):
        self.bench, self.data = bench, bench.folder("counted")
        stored = bench.make("counted-uploads", COUNTED, 1, 20, 10, 1, store=True)
        new = {name: bench.make(f"counted-new{i}", n, *SHAPES[name][0], store=True) for i, (name, n) in enumerate(NEW_SHARDS.items())}
        with bench.cairnd(self.data, syncs=bench.syncs(-1)) as server:
            for made in (stored, *new.values()):
                bench.load(server, made / "xorbs.tsv", 8)
            bench.load(server, stored / "shards.tsv", 8)
            files = (stored / "files").read_text().split()[:COUNTED]
            chunks = (stored / "chunks").read_text().split()
            fetches = [self._fetch(server, file) for file in files]
            commit = _import(bench, server, _small_files(bench, HUB_FILES))
        numbers = random.Random(1)
        nobody = [f"{numbers.getrandbits(256):064x}" for _ in range(COUNTED)]
        self.paths = {
            "chunk query: miss": ([("GET", chunk_path(c), None, None, 404) for c in nobody], REQUEST),
            # The first answer of each is made; later ones come from the cache.
            "chunk query: hit": ([("GET", chunk_path(c), None, None, 200) for c in 10 * chunks[: COUNTED // 10]], REQUEST),
            "plan of 1 term": ([("GET", f"/v2/reconstructions/{file}", None, None, 200) for file in files], REQUEST),
            "signed range": ([("GET", url, header, None, 206) for url, header in fetches], REQUEST),
            "shard sent again": (stored / "shards.tsv", REQUEST),
            "hub: HEAD of a file": ([("HEAD", f"/{REPOSITORY}/resolve/{commit}/{i:04}.json", None, None, 200) for i in range(HUB_FILES)], REQUEST),
            "hub: a page of a tree": ([("GET", f"/api/models/{REPOSITORY}/tree/main?limit=10", None, None, 200)] * HUB_FILES, REQUEST),
            "hub: no such repository": ([("GET", f"/api/models/nobody/{i}", None, None, 404) for i in range(HUB_FILES)], REQUEST),
            **{f"shards: {name}": (made / "shards.tsv", REQUEST + WRITER) for name, made in new.items()},
        }

    @staticmethod
    def _fetch(server, file):
        """@return the URL and the Range header of a file's bytes"""
        ((fetch,),) = json.loads(server.get(f"/v2/reconstructions/{file}"))["xorbs"].values()
        ((first, last),) = [(r["bytes"]["start"], r["bytes"]["end"]) for r in fetch["ranges"]]
        return fetch["url"][len(server.url) :], f"Range: bytes={first}-{last}"

    def count(self, name):
        """Counts on a new daemon, on a copy of the folder. @return instructions a request"""
        targets, functions = self.paths[name]
        label = f"counted-{list(self.paths).index(name)}"
        if isinstance(targets, list):
            targets = self.bench.targets(label, targets)
        return _instructions(self.bench, self.bench.copy(self.data, label), targets, functions)


def _check_names(program, functions):
    """Checks that the program has these functions. One that the compiler has inlined would count nothing."""
    names = set(subprocess.check_output(["nm", program], text=True).split())
    missing = [f for f in functions if f not in names]
    if missing:
        raise RuntimeError(f"{program} has no function {', '.join(missing)}: name others in bench/scenarios/ratios.py")


def _instructions(bench, data, targets, functions):
    """@return instructions a request, counted by valgrind's callgrind outside of the kernel and of the HTTP library's own work"""
    out = data.with_suffix(".callgrind")
    counter = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", *(f"--toggle-collect={f}" for f in functions)]
    argv = [*counter, *bench.cairnd_argv(data, *ALONE)]
    with Server(argv, log=data.with_suffix(".log"), env=BY_VECTORS) as server:
        n = bench.load(server, targets, 1).requests
    whole = subprocess.check_output(["callgrind_annotate", "--inclusive=yes", "--threshold=100", out], text=True)
    total, *left_out = (int(text.replace(",", "")) for text in re.findall(rf"^ *([\d,]+) .*(?:PROGRAM TOTALS|:{LEFT_OUT}\b)", whole, re.M))
    return (total - sum(left_out)) / n


def _judged(bench, before):
    """Yields (row, what is worse or None) for each path."""
    program = bench.build / "server/cairnd"
    if b"libasan" in program.read_bytes():
        return  # valgrind cannot run a program with sanitizers
    _check_names(program, (*REQUEST, *WRITER, LEFT_OUT))
    seed = _Seed(bench)
    names = list(seed.paths) if bench.measures else list(seed.paths)[:1]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for name, n in zip(names, pool.map(seed.count, names)):
            wanted = float(before.get(name) or 0)
            row = {"path": name, COLUMN: f"{n:.0f}"}
            yield row, f"{n:.0f} instructions instead of {wanted:.0f}" if 0 < wanted < LEAST * n else None


def ratios(bench):
    """A figure for each path to compare with later. With --quick, a figure more than a tenth above the table's fails."""
    if not shutil.which("valgrind"):
        raise LeftOut("there is no valgrind")
    slower = []
    before = kept("ratios", COLUMN) if bench.judges else {}
    for row, found in _judged(bench, before):
        if bench.judges and not before.get(row["path"]):
            raise RuntimeError(f"bench/RESULTS.md has no figure of {row['path']}: ./dev bench ratios")
        if before.get(row["path"]):
            row["table"] = before[row["path"]]
        if found:
            slower.append(f"{row['path']}: {found}")
        yield row
    if slower:
        raise Slower(f"more than a tenth above bench/RESULTS.md: {'; '.join(slower)}")
