"""Chunk queries: misses, hits with and without the cache, both mixed, and conditional queries."""

import os
import random
import urllib.error
import urllib.request
from contextlib import ExitStack

from harness.measure import in_turns
from harness.table import load_row

SHAPES = {"small": (200, 1, 20, 1, 1), "large": (200, 1, 1000, 10, 1)}  # SHARDS XORBS CHUNKS FILES TERMS
N_MISSES = 5000


def chunk_path(chunk):
    return f"/v1/chunks/default/{chunk}"


def misses(seed):
    numbers = random.Random(seed)
    return [("GET", chunk_path(f"{numbers.getrandbits(256):064x}"), None, None, 404) for _ in range(N_MISSES)]


def _ask(server, chunk):
    """@return body and ETag of an answer"""
    with urllib.request.urlopen(server.url + chunk_path(chunk)) as reply:
        return reply.read(), reply.headers["ETag"]


def _check_miss(server):
    """Checks that a miss is a 404 without a body."""
    try:
        server.get(misses(1)[0][1])
    except urllib.error.HTTPError as e:
        if e.code == 404 and e.read() == b"":
            return
    raise RuntimeError("a chunk that nobody stored was found, or its absence has a body")


def _check(server, made):
    """Checks that an answer is a shard, and the same for a second query. @return its length"""
    chunk = (made / "chunks").read_text().split()[0]
    body, etag = _ask(server, chunk)
    if body[:14] != b"HFRepoMetaData" or _ask(server, chunk) != (body, etag):
        raise RuntimeError("an answer is no shard, or not the same twice")
    return len(body)


class _Hits:
    """A daemon with an index of one shape, and the requests to it."""

    def __init__(self, bench, shape, *options, data="data"):
        made = bench.make("uploads", *SHAPES[shape])
        self.bench, self.shape, self.made = bench, shape, made
        self.server = bench.cairnd(bench.folder(data), "--xorbs", "external", *options)
        bench.load(self.server, made / "shards.tsv", 8)
        chunks = (made / "chunks").read_text().split()
        self.hits = [("GET", chunk_path(chunk), None, None, 200) for chunk in chunks]
        self.n_bytes = _check(self.server, made)
        _check_miss(self.server)
        self.chunks = chunks

    def conditional(self):
        tags = [_ask(self.server, chunk)[1] for chunk in self.chunks]
        return [("GET", chunk_path(c), f"If-None-Match: {tag}", None, 304) for c, tag in zip(self.chunks, tags)]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.server.stop()


def _threads(connections):
    """The number of threads among which cairnd divides this many connections (http_accept.h)."""
    return max(2, os.cpu_count(), connections // 32)


def _row(bench, name, of, lines, status, n_bytes, connections, wanted=None, peer=False):
    targets = bench.targets("queries", lines)
    any_status = bench.targets("queries-bare", [(*line[:4], status) for line in lines])
    with ExitStack() as servers:
        replies = (status, n_bytes, len(lines) if status == 200 else 1)
        bare = servers.enter_context(bench.bare(*replies, _threads(connections)))
        sides = {
            "cairnd": lambda: bench.load(of.server, targets, connections, bench.seconds),
            "bare": lambda: bench.load(bare, any_status, connections, bench.seconds),
        }
        if wanted:
            pool = servers.enter_context(bench.bare(*replies))
            sides["pool"] = lambda: bench.load(pool, any_status, connections, bench.seconds)
        if peer and bench.peer_program:
            double = servers.enter_context(bench.peer(bench.folder("peer")))
            bench.load(double, of.made / "shards.tsv", 8)
            sides["peer"] = lambda: bench.load(double, targets, connections, bench.seconds)
        runs = in_turns(bench, bench.rounds(5), sides)
    return load_row({"query": name, "connections": connections}, runs, goals=[("bare", wanted)] if wanted else ())


def _small(bench):
    for connections in bench.pick((16, 128), (16,)):
        with _Hits(bench, "small") as of:
            miss, hit = misses(1), of.hits
            peer = connections == 16
            yield _row(bench, "miss", of, miss, 404, 0, connections, 0.85, peer)
            yield _row(bench, f"hit, {of.n_bytes:,} bytes", of, hit, 200, of.n_bytes, connections, 0.95, peer)
            if connections == 16:
                mixed = [line for pair in zip(miss, hit * (N_MISSES // len(hit))) for line in pair]
                yield _row(bench, "miss and hit in turns", of, mixed, 404, 0, connections)
                yield _row(bench, "conditional (304)", of, of.conditional(), 304, 0, connections)


def _log(bench):
    """The cost of logging requests: runs with the log, which is the default, and without it take turns."""
    with _Hits(bench, "small") as of, _Hits(bench, "small", "--no-access-log", data="data-without") as without:
        for name, lines in {"miss": misses(1), f"hit, {of.n_bytes:,} bytes": of.hits}.items():
            targets = bench.targets("queries", lines)
            sides = {
                "cairnd": lambda: bench.load(of.server, targets, 16, bench.seconds),
                "itself without log": lambda: bench.load(without.server, targets, 16, bench.seconds),
            }
            runs = in_turns(bench, bench.rounds(9), sides)
            yield load_row({"query": f"{name}, log on and off", "connections": 16}, runs, goals=[("itself without log", 0.95)])


def query(bench):
    """Chunk queries, against libmicrohttpd alone that answers the same bytes, or none for a miss."""
    yield from _small(bench)
    with _Hits(bench, "large") as of:
        for connections in bench.pick((16, 128), (16,)):
            yield _row(bench, f"hit, {of.n_bytes:,} bytes", of, of.hits, 200, of.n_bytes, connections, 0.8)
    for shape in bench.pick(SHAPES, ("large",)):
        with _Hits(bench, shape, "--cache-bytes-max", "0") as of:
            yield _row(bench, f"hit, {of.n_bytes:,} bytes, not cached", of, of.hits, 200, of.n_bytes, 16)
    yield from _log(bench)
