"""Uploads of xorbs."""

import subprocess

from harness.measure import Spread, disk_syncs_a_second, in_turns
from harness.table import load_row

N = 16


def _decode_us(bench, made, n):
    files = [made / f"x{i}" for i in range(n)]
    return 1e6 * float(subprocess.check_output([bench.program("bench_xorb"), "decode", *files])) / n


def _sides(bench, made, n, connections, before, after=lambda server, result: None):
    """Uploads each xorb once into an empty store, against libmicrohttpd alone and the reference's test server. @param before  called before each run of
    ours @param after  called with the daemon and the run's result"""

    def ours():
        before()
        with bench.cairnd(bench.folder("data"), syncs=bench.syncs()) as server:
            result = bench.load(server, made / "xorbs.tsv", connections)
            after(server, result)
            if server.metric("cairn_index_xorbs") != n:
                raise RuntimeError("not all xorbs are there")
        return result

    def bare():
        with bench.bare(200, 22) as server:
            return bench.load(server, made / "xorbs.tsv", connections)

    def peer():
        with bench.peer(bench.folder("peer")) as server:
            return bench.load(server, made / "xorbs.tsv", connections)

    return {"cairnd": ours, "bare": bare} | ({"peer": peer} if bench.peer_program else {})


def _row(bench, made, kind, n, connections):
    users, decodes = [], []
    sides = _sides(
        bench,
        made,
        n,
        connections,
        before=lambda: decodes.append(_decode_us(bench, made, n)),
        after=lambda server, result: users.append(1e6 * server.user_s() / result.requests),
    )
    runs = in_turns(bench, bench.rounds(3), sides)
    size = (made / "x0").stat().st_size / 1e6
    row = load_row({"xorbs of": f"{kind}, {size:.1f} MB sent", "connections": connections}, runs, "MB/s", [("peer", 0.9)])
    # The row also has the limit that no way of receiving can avoid.
    row["CPU of BLAKE3 + LZ4 alone, of ours"] = Spread(d / r.cpu_us for d, r in zip(decodes, runs["cairnd"]))
    row["the same, of ours outside of the kernel"] = Spread(d / max(1, u) for d, u in zip(decodes, users))
    return row


def _small_row(bench, made, n, connections):
    """Each small xorb costs two syncs and a part of a commit. So the row also has the disk's own rate of syncs."""
    disk = []
    sides = _sides(bench, made, n, connections, before=lambda: disk.append(disk_syncs_a_second(bench.tmp)))
    runs = in_turns(bench, bench.rounds(5), sides)
    size = (made / "x0").stat().st_size / 1e3
    row = load_row({"xorbs of": f"text, {size:.1f} KB sent", "connections": connections}, runs)
    row["rate, of the disk's fdatasyncs"] = Spread(r.rate / d for r, d in zip(runs["cairnd"], disk))
    return row


def small_xorbs(bench):
    """Uploads of xorbs of one chunk of 64 KiB, each once; against libmicrohttpd alone that discards them, and the disk's own rate of syncs."""
    for connections, n in bench.pick(((1, 500), (8, 2000), (32, 4000)), ((4, 40),)):
        made = bench.folder("uploads")
        subprocess.run([bench.program("bench_xorb"), "make", made, str(n), "text", "1"], check=True)
        yield _small_row(bench, made, n, connections)


def xorbs(bench):
    """Uploads of xorbs of 64 MiB of data, each once; against libmicrohttpd alone that discards them, and against unpacking and hashing alone."""
    n = bench.pick(N, 2)
    for kind in bench.pick(("text", "floats", "random"), ("text",)):
        made = bench.folder("uploads")
        subprocess.run([bench.program("bench_xorb"), "make", made, str(n), kind], check=True)
        for connections in bench.pick((1, 8), (2,)):
            yield _row(bench, made, kind, n, connections)
