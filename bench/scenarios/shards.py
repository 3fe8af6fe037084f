"""Uploads of shards: small, large, with many files, and sent again; and how many shards one commit combines."""

from harness.measure import Goal, in_turns
from harness.table import load_row

# The shape of a shard (XORBS CHUNKS FILES TERMS), and the number of shards made, which is more than a run sends.
SHAPES = {
    "small: 1 xorb of 20 chunks, 1 file": ((1, 20, 1, 1), 8000),
    "1 xorb of 1,000 chunks, 10 files": ((1, 1000, 10, 1), 3000),
    "many files: 1 xorb of 1,000 chunks, 1,000 files": ((1, 1000, 1000, 1), 400),
    "large: 20 xorbs of 1,000 chunks, 100 files of 10 terms": ((20, 1000, 100, 10), 400),
}
GOAL_SHAPE = "1 xorb of 1,000 chunks, 10 files"
QUICK = ((1, 20, 2, 1), 40)


class Prepared:
    """Shards of one shape, and a data folder with their xorbs. Each run uses a copy of the folder."""

    def __init__(self, bench, numbers, n):
        self.bench, self.n, self.seconds = bench, n, bench.seconds
        self.made = bench.make("uploads", n, *numbers, store=True)
        self.targets = self.made / "shards.tsv"
        self.data = bench.folder("prepared")
        with bench.cairnd(self.data, syncs=bench.syncs(-1)) as server:
            bench.load(server, self.made / "xorbs.tsv", 32)

    def load(self, connections):
        """Uploads into a new copy. Afterwards the daemon is killed, and the next daemon must have every acknowledged shard."""
        bench = self.bench
        data = bench.copy(self.data, "data")
        with bench.cairnd(data, syncs=bench.syncs()) as server:
            result = bench.load(server, self.targets, connections, self.seconds, once=True)
            server.kill()
        with bench.cairnd(data) as server:
            known = server.metric("cairn_index_shards")
        if known != result.requests:
            raise RuntimeError(f"{result.requests} shards were acknowledged, {known:.0f} are there after a kill")
        return result

    def load_again(self, connections):
        """Uploads the same shards of the same owner once more."""
        bench = self.bench
        data = bench.copy(self.data, "data")
        with bench.cairnd(data, syncs=bench.syncs()) as server:
            first = bench.load(server, self.targets, 32, once=True)
            again = bench.load(server, self.targets, connections, self.seconds)
            if server.metric("cairn_index_shards") != first.requests:
                raise RuntimeError("a shard that was sent again was registered again")
        return again

    def load_bare(self, connections):
        """Sends the same bodies to libmicrohttpd alone, which discards them."""
        with self.bench.bare(200, 12) as server:
            return self.bench.load(server, self.targets, connections, self.seconds, once=True)

    def load_peer(self, connections, on_disk):
        with self.bench.peer(self.bench.folder("peer") if on_disk else None) as server:
            return self.bench.load(server, self.targets, connections, self.seconds, once=True)


def _row(bench, of, name, connections, load, in_memory=False, goals=()):
    sides = {"cairnd": lambda: load(connections), "bare": lambda: of.load_bare(connections)}
    if bench.peer_program:
        sides["peer"] = lambda: of.load_peer(connections, on_disk=True)
        if in_memory:
            sides["peer in memory"] = lambda: of.load_peer(connections, on_disk=False)
    runs = in_turns(bench, bench.rounds(3), sides)
    return load_row({"shard": name, "connections": connections}, runs, goals=goals)


def shards(bench):
    """Uploads of shards whose xorbs are stored, each shard once, into an empty index; against libmicrohttpd alone that discards them."""
    for name, (numbers, n) in bench.pick(SHAPES, {"small": QUICK}).items():
        of = Prepared(bench, numbers, n)
        for connections in bench.pick((1, 8, 32, 128), (8,)):
            special = connections == 32 and name == GOAL_SHAPE
            goals = [("peer", 2)] if connections == 32 else []
            yield _row(bench, of, name, connections, of.load, in_memory=special, goals=goals)
    of = Prepared(bench, *bench.pick(SHAPES[GOAL_SHAPE], QUICK))
    for connections in bench.pick((1, 32), (8,)):
        yield _row(bench, of, f"sent again: {GOAL_SHAPE}", connections, of.load_again)


def _commit_row(bench, of, mode, least_ms):
    data = bench.copy(of.data, "data") if mode == "store" else bench.folder("data")
    bench.quiet.wait()
    with bench.cairnd(data, "--xorbs", mode, syncs=bench.syncs(least_ms)) as server:
        commits = server.metric("cairn_index_commits_total")
        result = bench.load(server, of.targets, 32)
        commits = server.metric("cairn_index_commits_total") - commits
        server.kill()
    with bench.cairnd(data) as server:
        known = server.metric("cairn_index_shards")
    if known != of.n:
        raise RuntimeError(f"{of.n} shards were acknowledged, {known:.0f} are there after a kill")
    a_sync = of.n / result.syncs
    return {
        "xorbs": mode,
        "fdatasync lasts at least": f"{least_ms} ms" if least_ms else "as it is",
        "disk's own fdatasyncs/s": f"{result.disk_syncs:,.0f}",
        "shards/s": f"{result.rate:,.0f}",
        "p50 / p99 / p99.9 ms": f"{result.p50_us / 1000:.0f} / {result.p99_us / 1000:.0f} / {result.p999_us / 1000:.0f}",
        "shards a commit": f"{of.n / commits:.1f}",
        "shards a sync": f"{a_sync:.1f}",
        "goal": Goal(a_sync, 6),
    }


def commit(bench):
    """32 uploaders of shards of one xorb with 1,000 chunks and 10 files: how many shards one sync makes durable."""
    of = Prepared(bench, *bench.pick((SHAPES[GOAL_SHAPE][0], 2000), QUICK))
    for mode in ("store", "external"):
        for least_ms in (0, 4.3):
            yield _commit_row(bench, of, mode, least_ms)
