"""Scenarios of the upload side: verification, chunk queries, group commit, memory."""

import json
import math
import random
import subprocess

from harness import Memory, Syncs, compare, median, metric, spread, wait_for_quiet


def goal(value, wanted, more=True):
    return "reached" if (value >= wanted if more else value <= wanted) else "**missed**"


def verify(bench):
    """Verification against BLAKE3 alone, one thread, processor time; the program takes both in turns."""
    wait_for_quiet()
    runs = [json.loads(subprocess.check_output([bench.program("bench_verify")])) for _ in range(3)]
    ratio, external = (median(r[k] for r in runs) for k in ("ratio", "ratio_external"))
    yield from (
        "| shard of | BLAKE3 over the same messages | verification | ratio | goal 0.5 |",
        "|---|---|---|---|---|",
        f"| {runs[0]['shard_bytes'] / 1e6:.1f} MB, {runs[0]['node_messages']:,} nodes, {runs[0]['range_messages']:,} ranges"
        f" | 1 | xorbs known to the index | {ratio:.2f} | {goal(ratio, 0.5)} |",
        f"| the same | 1 | `xorbs = external` | {external:.2f} | {goal(external, 0.5)} |",
    )


def _query_row(bench, name, server, targets, status, body_bytes, connections, wanted, rounds=5):
    with bench.bare(status, body_bytes) as bare:
        pairs = compare(
            rounds,
            lambda: bench.load(server, targets, connections, seconds=2, expect=status),
            lambda: bench.load(bare, targets, connections, seconds=2, expect=status),
        )
    ratios = [a["rate"] / b["rate"] for a, b in pairs]
    cpu = median(b["server_cpu_s"] / b["requests"] / (a["server_cpu_s"] / a["requests"]) for a, b in pairs)
    p99 = median(a["p99_us"] / b["p99_us"] for a, b in pairs)
    foreign = median(x["foreign"] for pair in pairs for x in pair)
    return (
        f"| {name} | {connections} | {spread(ratios)} | {cpu:.2f} | {p99:.2f} | {foreign:.2f} | {wanted} "
        f"{goal(median(ratios), wanted)} |"
    )


def query(bench):
    """Chunk queries against the bare daemon that answers the same bytes."""
    yield from (
        "| query | connections | requests a second, of the bare daemon's | processor time of the bare daemon, of ours "
        "| p99, of the bare daemon's | cores used by others | goal |",
        "|---|---|---|---|---|---|---|",
    )
    numbers = random.Random(1)
    misses = bench.tmp / "misses.tsv"
    misses.write_text("".join(f"GET\t/v1/chunks/default/{numbers.getrandbits(256):064x}\t-\t-\n" for _ in range(5000)))
    shapes = {"small": (200, 1, 20, 1, 1), "large": (200, 1, 1000, 10, 1)}
    for log in ("--no-access-log", "--access-log"):
        for shape, numbers_of in shapes.items():
            uploads = bench.make("uploads", *numbers_of)
            hits = bench.tmp / "hits.tsv"
            chunks = (uploads / "chunks").read_text().split()
            hits.write_text("".join(f"GET\t/v1/chunks/default/{c}\t-\t-\n" for c in chunks))
            with bench.cairnd(bench.folder("data"), "--xorbs", "external", log) as server:
                bench.load(server, uploads / "shards.tsv", 8)
                answer = server.get(f"/v1/chunks/default/{chunks[0]}")
                label = "log on" if log == "--access-log" else "log off"
                for connections in (16, 128):
                    if shape == "small":
                        body = miss_bytes(server, misses)
                        yield (_query_row(bench, f"miss, {label}", server, misses, 404, body, connections, 0.75))
                    name = f"hit of {len(answer):,} bytes, {label}"
                    yield (_query_row(bench, name, server, hits, 200, len(answer), connections, 0.7))


def miss_bytes(server, misses):
    import urllib.error

    try:
        server.get(misses.read_text().split("\t", 2)[1])
    except urllib.error.HTTPError as e:
        return len(e.read())
    raise RuntimeError("a chunk that nobody stored was found")


def _uploads_row(bench, uploads, mode, least_ms, n_shards):
    syncs = Syncs(bench, least_ms)
    with bench.cairnd(bench.folder("data"), "--xorbs", mode, "--no-access-log", env=syncs.env()) as server:
        if mode == "store":
            bench.load(server, uploads / "xorbs.tsv", 8)
        wait_for_quiet()
        before, commits = syncs.read(), metric(server, "cairn_index_commits_total")
        result = bench.load(server, uploads / "shards.tsv", 32)
        after, commits = syncs.read(), metric(server, "cairn_index_commits_total") - commits
        server.process.kill()
    n = [y - x for x, y in zip(before, after)]
    # All durable: killed right after the last answer, the next daemon must know each of them.
    with bench.cairnd(bench.tmp / "data") as server:
        known = metric(server, "cairn_index_shards")
    if known != n_shards:
        raise RuntimeError(f"{n_shards} shards were acknowledged, {known:.0f} are there after a kill")
    per_sync = n_shards / (n[0] + n[1])
    return (
        f"| {mode} | {f'{least_ms} ms' if least_ms else 'as it is'} | {n_shards / commits:.1f} | {per_sync:.1f} | "
        f"{n[0]} + {n[1]} | {result['rate']:.0f} | {result['p50_us'] / 1000:.0f} / {result['p99_us'] / 1000:.0f} | "
        f"{goal(per_sync, 6)} |"
    )


def uploads(bench):
    """32 uploaders of shards of one xorb with 1,000 chunks and 10 files."""
    yield from (
        "| xorbs | fdatasync lasts at least | shards a commit | shards a sync | fdatasync + fsync | shards/s "
        "| p50 / p99 ms | goal 6 |",
        "|---|---|---|---|---|---|---|---|",
    )
    n = 2000
    made = bench.make("uploads", n, 1, 1000, 10, 1, store=True)
    for mode in ("store", "external"):
        for least_ms in (0, 4.3):
            yield (_uploads_row(bench, made, mode, least_ms, n))


SHARD_BYTES = 64 * 1024 * 1024


def _shape(chunks, files_per_xorb, terms):
    """How many xorbs, with their files, fit 64 MiB."""
    each = 48 * (1 + chunks + files_per_xorb * (2 + 2 * terms))
    return math.floor((SHARD_BYTES - 48 * 3) / each)


def _memory_row(bench, name, numbers, *options):
    made = bench.make("uploads", 16, *numbers)
    size = (made / "s0").stat().st_size
    with bench.cairnd(bench.folder("data"), "--xorbs", "external", "--no-access-log", *options) as server:
        idle = Memory(server.pid)
        with idle:
            server.get("/health")
            idle.ended.wait(0.1)
        with Memory(server.pid) as memory:
            result = bench.load(server, made / "shards.tsv", 16, give_up_s=90)
        if result and metric(server, "cairn_index_shards") != 16:
            raise RuntimeError("not all of the 16 shards were registered")
        if not result:
            server.process.kill()
    peak = memory.peak["RssAnon"] / 2**20
    return (
        f"| {name} | {size / 2**20:.1f} | {idle.peak['RssAnon'] / 2**20:.0f} | {peak:.0f} | "
        f"{format(result['seconds'], '.1f') if result else 'stopped after 90'} | "
        f"{goal(peak, 96, more=False)} |"
    )


def memory(bench):
    """16 shards of nearly 64 MiB at once, in several shapes."""
    yield from (
        "| shape | MiB each | idle MiB | peak anonymous MiB | all 16 took s | goal 96 |",
        "|---|---|---|---|---|---|",
    )
    n = _shape(1000, 1, 3)
    yield (_memory_row(bench, "xorbs of 1,000 chunks, a file each, 3 terms a file", (n, 1000, n, 3)))
    n = _shape(8192, 8, 10)
    yield (_memory_row(bench, "xorbs of 8,192 chunks, 8 files each, 10 terms a file", (n, 8192, n * 8, 10)))
    n = (SHARD_BYTES - 48 * (2 + 1 + 2 * 1000 + 1)) // 96
    yield (_memory_row(bench, "hostile: xorbs of one chunk, one file", (n, 1, 1, 1000)))
    n = (SHARD_BYTES - 48 * 9000) // (48 * 4)
    yield (_memory_row(bench, "hostile: one xorb, files of one term", (1, 8192, n, 1)))
