"""Daemons over PostgreSQL and S3, against programs that use these engines directly."""

import hashlib
import json
import subprocess
import time

from harness.engines import Cluster, Engines, bare_postgres
from harness.measure import Goal, Spread, in_turns
from scenarios.query import misses
from scenarios.plan import N_TERMS

SHARD, FILES = (1, 1000, 10, 1), 10  # the uploads: a xorb of 1,000 chunks, 10 files
CONNECTIONS = 32
IN_FLIGHT = 256  # look-ups on one connection; more gave no higher rate
XORB_CONNECTIONS, RANGE_CONNECTIONS = 4, 8
RANGE_BYTES = 16 << 20


def _row(what, ours, theirs, unit, goal, **more):
    """A row that compares two sides. @param ours, theirs  figures of the same rounds"""
    ratio = Spread(a / b for a, b in zip(ours, theirs))
    rate = lambda values: f"{Spread(values).median:,.0f}"
    return {"what": what, "unit": unit, "Cairn": rate(ours), "bare": rate(theirs), "ratio": ratio, **more, "goal": goal(ratio)}


class _Shards:
    """Shards whose xorbs are stored. Each round uploads the next part of them."""

    def __init__(self, bench, n_rounds, n):
        self.bench, self.n, self.used = bench, n, 0
        self.made = bench.make("uploads", n_rounds * n, *SHARD, store=True)
        self.lines = (self.made / "shards.tsv").read_text().splitlines(keepends=True)

    def store(self, server):
        self.bench.load(server, self.made / "xorbs.tsv", CONNECTIONS)

    def load(self, server):
        targets = self.bench.tmp / "round.tsv"
        targets.write_text("".join(self.lines[self.used : self.used + self.n]))
        self.used += self.n
        return self.bench.load(server, targets, CONNECTIONS)


def _shards(bench, engines):
    """Uploads of shards to three daemons and to one on the same index, against a program that writes the same rows directly into another index in
    PostgreSQL."""
    rounds = bench.rounds(5)
    of = _Shards(bench, 2 * rounds, bench.pick(900, 20))  # about a second, as long as the program: a new file of PostgreSQL's log takes a tenth of a second
    with Cluster(engines, 1) as empty:
        bare_index = empty.index
    later = ("--proof-rate", "0")  # no verification of claimed SHA-256 in the background
    with Cluster(engines, 3, None, *later) as three, Cluster(engines, 1, (three.index, three.store), *later) as one:
        of.store(three)
        before = three.metric("cairn_index_commits_total")
        bare = lambda: bare_postgres(bench, "shards", bare_index, bench.seconds, CONNECTIONS, FILES)
        runs = in_turns(bench, rounds, {"three": lambda: of.load(three), "one": lambda: of.load(one), "bare": bare})
        shards_a_commit = f"{rounds * of.n / (three.metric('cairn_index_commits_total') - before):.1f}"
    three, one, bare = [r.rate for r in runs["three"]], [r.rate for r in runs["one"]], runs["bare"]
    cpu_us = Spread(r.cpu_us for r in runs["three"])
    yield _row(
        f"shards of 1 xorb of 1,000 chunks, 10 files, {CONNECTIONS} connections at 3 daemons",
        three,
        bare,
        "shards/s",
        lambda ratio: Goal(ratio, 0.7, "of a program that sends the same arrays"),
        **{"shards a commit": shards_a_commit, "CPU µs of the daemons": f"{cpu_us.median:,.0f}"},
    )
    yield _row("the same, 3 daemons beside one", three, one, "shards/s", lambda ratio: Goal(ratio, 0.85, "of one daemon's"))


def _misses(bench, engines):
    targets = bench.targets("misses", misses(1))
    with Cluster(engines, 3) as three, Cluster(engines, 1, (three.index, three.store)) as one, bench.bare(404, 0) as library:
        sides = {
            "three": lambda: bench.load(three, targets, 128, bench.seconds),
            "one": lambda: bench.load(one, targets, 128, bench.seconds),
            "library": lambda: bench.load(library, targets, 128, bench.seconds),
            "bare": lambda: bare_postgres(bench, "misses", three.index, bench.seconds, IN_FLIGHT),
        }
        runs = in_turns(bench, bench.rounds(5), sides)
    asked = "chunk queries that find nothing, 128 connections at"
    for name, what, goal in (
        ("three", f"{asked} 3 daemons", 0.6),
        ("one", f"{asked} one", None),
        ("library", "HTTP library alone: an empty 404 that nobody is asked for, 128 connections", None),
    ):
        yield _row(
            what,
            [r.rate for r in runs[name]],
            runs["bare"],
            "queries/s",
            lambda ratio: Goal(ratio, goal, f"of look-ups on one connection, {IN_FLIGHT} in flight") if goal else "",
            **{"CPU µs of the daemons": f"{Spread(r.cpu_us for r in runs[name]).median:,.0f}"},
        )


def _plan(bench, engines):
    """The plan of a file of 10,000 terms over 500 xorbs."""
    made = bench.make("uploads", 1, bench.pick(500, 20), 1000, 1, N_TERMS, store=True)
    file = (made / "files").read_text().strip()
    targets = bench.targets("plan", [("GET", f"/v2/reconstructions/{file}", None, None, 200)])
    with Cluster(engines, 1) as cluster, bench.cairnd(bench.folder("data")) as server:
        for side in (cluster, server):
            bench.load(side, made / "xorbs.tsv", 8)
            bench.load(side, made / "shards.tsv", 1)
            if len(json.loads(side.get(f"/v2/reconstructions/{file}"))["terms"]) != N_TERMS:
                raise RuntimeError(f"a plan does not have its {N_TERMS} terms")
        sides = {name: lambda of=of: bench.load(of, targets, 1, bench.seconds) for name, of in (("cairn", cluster), ("sqlite", server))}
        runs = in_turns(bench, bench.rounds(5), sides)
    times = {name: [1000 / r.rate for r in of] for name, of in runs.items()}
    ratio = Spread(a / b for a, b in zip(times["cairn"], times["sqlite"]))
    yield {
        "what": f"a plan of {N_TERMS:,} terms over {bench.pick(500, 20)} xorbs, one after the other",
        "unit": "ms",
        "Cairn": f"{Spread(times['cairn']).median:.2f}",
        "bare": f"SQLite's {Spread(times['sqlite']).median:.2f}",
        "ratio": ratio,
        "CPU µs of the daemons": f"{Spread(r.cpu_us for r in runs['cairn']).median:,.0f}",
        "goal": Goal(ratio, 3, "times SQLite's", most=True),
    }


class _Curl:
    """Runs curl, the same client for both sides, with a list of requests, some in parallel."""

    def __init__(self, bench, parallel):
        self.bench, self.parallel = bench, parallel

    def run(self, requests, n_bytes):
        """@param requests  [{option of curl: its value, or several values}] @return MB/s"""
        lines = []
        for request in requests:
            lines += ["next"] if lines else ["parallel", f"parallel-max = {self.parallel}", "parallel-immediate"]
            lines += ["silent", "fail", 'output = "/dev/null"']
            for name, values in request.items():
                lines += [f'{name} = "{value}"' for value in (values if isinstance(values, (list, tuple)) else [values])]
        config = self.bench.tmp / "curl"
        config.write_text("\n".join(lines) + "\n")
        began = time.monotonic()
        subprocess.run(["curl", "-K", config], check=True, stderr=subprocess.DEVNULL)
        return n_bytes / 1e6 / (time.monotonic() - began)


class _Uploads:
    """Uploads of xorbs of 64 MiB: as clients send them to a daemon, and as plain objects to S3."""

    def __init__(self, bench, engines):
        self.bench, self.engines, self.n = bench, engines, bench.pick(8, 2)
        self.made = bench.folder("uploads")
        subprocess.run([bench.program("bench_xorb"), "make", self.made, str(self.n), "random", *bench.pick((), ("4",))], check=True)
        self.paths = [line.split("\t")[1] for line in (self.made / "xorbs.tsv").read_text().splitlines()]
        self.files = [self.made / f"x{i}" for i in range(self.n)]
        self.digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in self.files]
        self.n_bytes = sum(path.stat().st_size for path in self.files)

    def cairn(self):
        with Cluster(self.engines, 1) as server:
            url = server.daemons[0].url
            sends = [{"url": url + path, "request": "POST", "upload-file": file, "header": "Expect:"} for path, file in zip(self.paths, self.files)]
            return self._run(sends)

    def bare(self):
        """Uploads plain objects. curl must send every header that it signs, also "Expect"."""
        _, store = self.engines.place()
        base = f"{self.engines.variables['CAIRN_TEST_S3']}/{store.removeprefix('s3://').split('?')[0]}"
        sends = []
        for i, (file, digest) in enumerate(zip(self.files, self.digests)):
            sends.append({"url": f"{base}/{i}", "upload-file": file, **self.engines.signed(digest)})
        return self._run(sends)

    def _run(self, sends):
        return _Curl(self.bench, XORB_CONNECTIONS).run(sends, self.n_bytes)


def _uploads(bench, engines):
    of = _Uploads(bench, engines)
    runs = in_turns(bench, bench.rounds(3), {"cairn": of.cairn, "bare": of.bare})
    head = f"uploads of {of.n} xorbs of {of.n_bytes / of.n / 1e6:.0f} MB, {XORB_CONNECTIONS} at once"
    yield _row(head, runs["cairn"], runs["bare"], "MB/s", lambda ratio: Goal(ratio, 0.8, "of bare PUTs"))


class _Ranges:
    """A file in a daemon, fetched by the addresses of its plan; and the same bytes by requests that are signed here."""

    def __init__(self, bench, engines, server):
        self.bench, self.engines, self.server = bench, engines, server
        path = bench.tmp / "file"
        subprocess.run([bench.program("bench_xorb"), "file", path, str(bench.pick(512, 8)), "random"], check=True)
        command = [bench.build / "cli/cairn", "push", "--server", server.daemons[0].url, path]
        self.file = subprocess.check_output(command, text=True, env=engines.variables).split()[0]
        path.unlink()

    def plan(self):
        """@return [(URL, "FIRST-LAST")] of all fetches, and the number of their bytes"""
        plan = json.loads(self.server.get(f"/v2/reconstructions/{self.file}"))
        fetches = [(f["url"], r["bytes"]) for xorb in plan["xorbs"].values() for f in xorb for r in f["ranges"]]
        return [(url, f"{r['start']}-{r['end']}") for url, r in fetches], sum(r["end"] - r["start"] + 1 for _, r in fetches)

    def cairn(self):
        began = time.monotonic()
        fetches, n_bytes = self.plan()
        return self._run([{"url": url, "range": bytes_} for url, bytes_ in fetches], n_bytes, time.monotonic() - began)

    def bare(self):
        fetches, n_bytes = self.plan()
        gets = [{"url": url.split("?")[0], "range": bytes_, **self.engines.signed("UNSIGNED-PAYLOAD")} for url, bytes_ in fetches]
        return self._run(gets, n_bytes, 0)

    def _run(self, gets, n_bytes, spent_s):
        return n_bytes / 1e6 / (n_bytes / 1e6 / _Curl(self.bench, RANGE_CONNECTIONS).run(gets, n_bytes) + spent_s)


def _downloads(bench, engines):
    with Cluster(engines, 1, None, "--fetch-from-store", "--no-prove-reads") as server:
        of = _Ranges(bench, engines, server)
        runs = in_turns(bench, bench.rounds(5), {"cairn": of.cairn, "bare": of.bare})
        n = len(of.plan()[0])
    head = f"a plan and its {n} ranges from the service, {RANGE_CONNECTIONS} at once"
    yield _row(head, runs["cairn"], runs["bare"], "MB/s", lambda ratio: Goal(ratio, 0.9, "of bare ranges"))


def scale(bench):
    """Daemons over S3 and over PostgreSQL with a synchronous standby, against programs that use these engines directly. Plans are compared with SQLite's."""
    with Engines(bench) as engines:
        for part in (_shards, _misses, _plan, _uploads, _downloads):
            yield from part(bench, engines)
