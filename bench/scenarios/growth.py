"""A large index, of 100 million chunks of which a million are eligible, beside one of ten thousand chunks.

CAIRN_BENCH_XORBS sets the size of the large one in thousands of chunks; the default is 100,000."""

import contextlib
import json
import os
import subprocess
import time

from harness.measure import Goal, Memory, in_turns
from harness.table import load_row

EMPTY_XORBS = 10  # the small index must have something to find
CONNECTIONS = {"query": 16, "upload": 32}
QUERIES = {"miss": ("misses.tsv", 404), "hit, cached": ("cached.tsv", 200)}
COLD = {"hit, cache off": ("cold.tsv", 200)}
UPLOADS = (1, 1000, 10, 1)  # of a shard: XORBS CHUNKS FILES TERMS
WARM_ROUNDS = 3  # of uploads
START_GOAL_S = 1
CHUNK_BYTES_GOAL = 44


class _Index:
    """A data folder with an index that bench_make_index.c made, and requests to it."""

    def __init__(self, bench, name, n_xorbs):
        self.bench, self.data, self.targets = bench, bench.folder(name), bench.folder(f"{name}-targets")
        argv = [bench.program("bench_make_index"), "-x", str(n_xorbs), self.data, self.targets]
        self.made = json.loads(subprocess.check_output(argv))
        self.file = self.data / "index.sqlite"

    def server(self, *options, syncs=None):
        """A daemon on the folder, without a scrub and without verifying SHA-256: both would find that its objects have no bytes."""
        return self.bench.cairnd(self.data, "--scrub-period", "0", "--proof-rate", "0", *options, syncs=syncs)

    def load(self, server, name, status):
        return self.bench.load(server, self.targets / name, CONNECTIONS["query"], self.bench.seconds, expect=status)

    def warm(self):
        """Reads the index into the page cache, as far as memory allows. Other work may have pushed it out."""
        with open(self.file, "rb", buffering=0) as f:
            while f.read(1 << 20):
                pass

    def evict(self):
        """Drops the index from the page cache, as after the machine's start."""
        fd = os.open(self.file, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def _queries(bench, large, empty, kinds, *options):
    with large.server(*options) as ours, empty.server(*options) as other:
        _await_filter(ours)
        large.warm()
        for name, (targets, status) in kinds.items():
            sides = {
                "cairnd": lambda: large.load(ours, targets, status),
                "an empty one": lambda: empty.load(other, targets, status),
            }
            runs = in_turns(bench, bench.rounds(5), sides)
            yield load_row({"what": name, "connections": CONNECTIONS["query"]}, runs, goals=[("an empty one", 0.6)])


def _cold_disk(large):
    """Queries with a cold page cache, so that each reads its lists from the disk."""
    large.evict()
    with large.server("--cache-bytes-max", "0") as server:
        run = large.load(server, "cold.tsv", 200)
    return load_row({"what": "hit, cache off, index not in memory", "connections": CONNECTIONS["query"]}, {"cairnd": [run]})


def _uploads(bench, large, empty):
    """Uploads shards of stored xorbs, other ones in each round, so that both indexes grow alike. The first uploads are not measured: they bring the pages
    at random places into memory that later ones use."""
    rounds, each = bench.rounds(6), bench.pick(600, 20)
    made = bench.make("uploads", (WARM_ROUNDS + rounds) * each, *UPLOADS, store=True)
    lines = (made / "shards.tsv").read_text().splitlines(keepends=True)
    with contextlib.ExitStack() as stack:
        servers = {
            name: stack.enter_context(index.server(syncs=bench.syncs()))
            for name, index in (("cairnd", large), ("an empty one", empty))
        }
        places = dict.fromkeys(servers, 0)

        def load(name):
            slice_of = bench.tmp / "uploads.tsv"
            slice_of.write_text("".join(lines[places[name] : places[name] + each]))
            places[name] += each
            return bench.load(servers[name], slice_of, CONNECTIONS["upload"])

        for server in servers.values():
            bench.load(server, made / "xorbs.tsv", CONNECTIONS["upload"])
        large.warm()
        for name in [*servers] * WARM_ROUNDS:
            load(name)
        runs = in_turns(bench, rounds, {name: lambda name=name: load(name) for name in servers})
        servers["cairnd"].kill()
    return load_row({"what": "upload of a shard", "connections": CONNECTIONS["upload"]}, runs, goals=[("an empty one", 0.7)])


def _await_filter(server):
    while server.metric("cairn_index_filter_complete") == 0:
        time.sleep(0.005)


def _start(what, index):
    began = time.monotonic()
    with index.server() as server:
        server.get("/health")
        first_s = time.monotonic() - began
        _await_filter(server)
        filter_s = time.monotonic() - began
        with Memory(server.pids()) as memory:
            filter_bytes = server.metric("cairn_index_filter_bytes")
    return {
        "what": what,
        "figure": f"first reply after {first_s:.3f} s; filter of {filter_bytes / 2**20:.1f} MiB filled after {filter_s:.2f} s",
        "peak RSS / anonymous MiB": f"{memory.rss_mib:.0f} / {memory.anon_mib:.0f}",
        "goal": Goal(first_s, START_GOAL_S, "s", most=True),
    }


def _size(index):
    made = index.made
    a_chunk = made["file_bytes"] / made["chunks"]
    return {
        "what": f"{made['chunks']:,} chunks, {made['eligible']:,} eligible, {made['files']:,} files",
        "figure": f"{a_chunk:.2f} bytes a chunk; made in {made['seconds']:.0f} s",
        "goal": Goal(a_chunk, CHUNK_BYTES_GOAL, "bytes", most=True),
    }


def _filter(bench, n, room):
    f = json.loads(subprocess.check_output([bench.program("bench_filter"), str(n), str(room)]))
    return {
        "what": f"filter of {n:,} eligible chunks, room for {room:,} at first",
        "figure": f"{f['bytes'] / n:.1f} bytes each, {f['false']:.2%} false, {f['ask_ns']:.0f} ns to ask, {f['add_ns']:.0f} to add",
    }


def growth(bench):
    """A large index (CAIRN_BENCH_XORBS thousand chunks, 100,000 by default) beside a small one, on the same daemon."""
    large = _Index(bench, "large", int(os.environ.get("CAIRN_BENCH_XORBS", bench.pick(100000, 200))))
    empty = _Index(bench, "empty", EMPTY_XORBS)
    yield _size(large)
    for n, room in bench.pick(((1000000, 1000000), (100000000, 100000000), (100000000, 1)), ((100000, 1),)):
        yield _filter(bench, n, room)
    yield _start("start", large)
    yield from _queries(bench, large, empty, QUERIES)
    yield from _queries(bench, large, empty, COLD, "--cache-bytes-max", "0")
    yield _uploads(bench, large, empty)
    yield _start("start after a kill", large)
    yield _cold_disk(large)
    large.evict()
    yield _start("start, index not in memory", large)
