"""Packs: moving xorbs into a pack, and finding them there."""

import json
import subprocess

from harness.measure import Goal, Spread


def packs(bench):
    """Packing until the pack is durable and the command answers, against copying the same bytes into one file with fsync: wall time, in turns. Then
    look-ups in packs: processor time."""
    program = bench.program("bench_pack")
    for n, size, name in ((bench.pick(32, 2), 16 << 20, "16 MiB"), (bench.pick(5000, 50), 8192, "8 KiB")):
        runs = []
        for i in range(bench.rounds(5)):
            bench.quiet.wait()
            order = ("copy-first", "pack-first")[i % 2]
            runs.append(json.loads(subprocess.check_output([program, "create", bench.folder("pack"), str(n), str(size), order])))
        durable = Spread(r["durable_s"] / r["copy_s"] for r in runs)
        yield {
            "pack": f"{n:,} xorbs of {name}",
            "copy and fsync, s": Spread(r["copy_s"] for r in runs),
            "until durable, of copying": durable,
            "removal of what was packed, ms a xorb": Spread(1e3 * (r["pack_s"] - r["durable_s"]) / n for r in runs),
            "goal": Goal(durable, 1.5, "at most", most=True),
        }
    n = bench.pick(1000000, 1000)
    runs = [json.loads(subprocess.check_output([program, "find", bench.folder("pack"), str(n)])) for _ in range(bench.rounds(3))]
    hits = Spread(r["hits"] for r in runs)
    yield {
        "pack": f"{n:,} objects of 64 bytes",
        "written, CPU s": Spread(r["write_cpu_s"] for r in runs),
        "memory for it, MiB": Spread(r["write_mib"] for r in runs),
        "opened, CPU ms": Spread(r["open_ms"] for r in runs),
        "found/s": hits,
        "not found/s": Spread(r["misses"] for r in runs),
        "opened by the store/s": Spread(r["gets"] for r in runs),
        "length by the store/s": Spread(r["stats"] for r in runs),
        "goal": Goal(hits, 100000, "found/s"),
    }
