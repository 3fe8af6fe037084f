"""Memory of the daemon: idle, with idle connections, and with large uploads at once."""

import math
import resource
import socket

from harness.measure import Goal, Memory

SHARD_BYTES = 64 * 1024 * 1024
N_SHARDS = 16
XORBS_MAX = 16384  # the default of xorbs_max


def _shape(chunks, files_per_xorb, terms):
    """The shape of a shard of 64 MiB: how many xorbs and files fit."""
    each = 48 * (1 + chunks + files_per_xorb * (2 + 2 * terms))
    return math.floor((SHARD_BYTES - 48 * 3) / each)


def _shapes():
    """{name: XORBS CHUNKS FILES TERMS}"""
    realistic, full = _shape(1000, 1, 3), _shape(8192, 8, 10)
    one_term = (SHARD_BYTES - 48 * 9000) // (48 * 4)
    return {
        "xorbs of 1,000 chunks, a file each, 3 terms a file": (realistic, 1000, realistic, 3),
        "xorbs of 8,192 chunks, 8 files each, 10 terms a file": (full, 8192, full * 8, 10),
        "hostile: 16,384 xorbs of one chunk, one file": (XORBS_MAX, 1, 1, 1000),
        "hostile: one xorb, files of one term": (1, 8192, one_term, 1),
    }


def _shards_row(bench, name, numbers, n):
    made = bench.make("uploads", n, *numbers)
    size = (made / "s0").stat().st_size
    with bench.cairnd(bench.folder("data"), "--xorbs", "external") as server:
        result = bench.load(server, made / "shards.tsv", n, give_up_s=90)
        if result and server.metric("cairn_index_shards") != n:
            raise RuntimeError(f"not all of the {n} shards were registered")
        if not result:
            server.kill()
            return {"what": f"{n} shards of {size / 2**20:.1f} MiB at once; {name}", "took s": "stopped after 90"}
    return {
        "what": f"{n} shards of {size / 2**20:.1f} MiB at once; {name}",
        "took s": f"{result.seconds:.1f}",
        "RSS MiB": f"{result.rss_mib:.0f}",
        "anonymous MiB": f"{result.anon_mib:.0f}",
        "goal": Goal(result.anon_mib, 96, "MiB anonymous", most=True),
    }


def _idle_row(bench):
    with bench.cairnd(bench.folder("data")) as server, Memory(server.pids()) as memory:
        server.get("/health")
        memory.ended.wait(0.2)
    return {
        "what": "idle",
        "RSS MiB": f"{memory.rss_mib:.1f}",
        "anonymous MiB": f"{memory.anon_mib:.1f}",
        "goal": Goal(memory.rss_mib, 20, "MiB resident", most=True),
    }


def _wait_in_line(server, n):
    """Opens n connections. Each has had one answer and is idle. They come from several addresses, as if from many clients."""
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    connections = []
    for i in range(n):
        s = socket.socket()
        s.bind((f"127.0.{i // 250 + 1}.1", 0))
        s.connect(("127.0.0.1", server.port))
        s.sendall(request)
        connections.append(s)
    for s in connections:
        if not s.recv(4096).startswith(b"HTTP/1.1 200"):
            raise RuntimeError("an idle connection had no answer")
    return connections


def _connections_row(bench, n):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    n = min(n, most - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    options = ("--connections-max", str(max(16, n + 112)), "--idle-timeout", "10m")
    with bench.cairnd(bench.folder("data"), *options) as server:
        with Memory(server.pids()) as before:
            server.get("/health")
        connections = _wait_in_line(server, n)
        with Memory(server.pids()) as memory:
            server.get("/health")
        for s in connections:
            s.close()
    a_connection = 1024 * (memory.rss_mib - before.rss_mib) / n
    return {
        "what": f"{n:,} idle connections, {a_connection:.1f} KiB each",
        "RSS MiB": f"{memory.rss_mib:.0f}",
        "anonymous MiB": f"{memory.anon_mib:.0f}",
        "goal": Goal(memory.rss_mib, 800, "MiB resident", most=True),
    }


def memory(bench):
    """Memory of a daemon that is idle, has idle connections, or receives 16 shards of nearly 64 MiB at once, in several shapes."""
    yield _idle_row(bench)
    yield _connections_row(bench, bench.pick(10000, 100))
    for name, numbers in bench.pick(_shapes(), {"small": (2, 100, 2, 3)}).items():
        yield _shards_row(bench, name, numbers, bench.pick(N_SHARDS, 2))
