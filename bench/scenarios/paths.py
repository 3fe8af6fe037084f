"""Requests and uploads to a daemon whose growth with processors is measured (scenarios "cores" and "many")."""

import subprocess
from dataclasses import dataclass

from scenarios.query import SHAPES, chunk_path, misses

EXTERNAL = ("--xorbs", "external")


@dataclass
class Path:
    """One kind of request. @param prepare  uploads that a daemon gets before it is measured @param uploads  each target is sent once, to a new daemon"""

    name: str
    targets: object
    prepare: tuple = ()
    options: tuple = EXTERNAL
    uploads: bool = False
    bare: tuple = ()  # the replies of libmicrohttpd alone: status, bytes, how many


def asked(bench):
    """Yields chunk queries to a small index, and plans."""
    made = bench.make("asked", *SHAPES["small"])
    chunks = (made / "chunks").read_text().split()
    hits = bench.targets("hits", [("GET", chunk_path(chunk), None, None, 200) for chunk in chunks])
    shards = (made / "shards.tsv",)
    yield Path("miss", bench.targets("misses", misses(1)), shards, bare=(404, 0, 1))
    yield Path("hit", hits, shards, bare=(200, 1352, len(chunks)))
    yield Path("hit, not cached", hits, shards, (*EXTERNAL, "--cache-bytes-max", "0"))
    stored = bench.make("planned", bench.pick(200, 10), 1, 20, 10, 1, store=True)
    plans = [("GET", f"/v2/reconstructions/{file}", None, None, 200) for file in (stored / "files").read_text().split()]
    yield Path("plan of one term", bench.targets("plans", plans), (stored / "xorbs.tsv", stored / "shards.tsv"), ())


def sent(bench, shards, n_xorbs):
    """Yields uploads. @param shards  [(name, numbers for bench.make(), numbers for a quick run)]"""
    for name, full, quick in shards:
        yield Path(name, bench.make("uploads", *bench.pick(full, quick)) / "shards.tsv", uploads=True)
    small = bench.folder("small")
    subprocess.run([bench.program("bench_xorb"), "make", small, str(n_xorbs), "text", "1"], check=True)
    yield Path("xorb of 64 KiB", small / "xorbs.tsv", options=(), uploads=True)
