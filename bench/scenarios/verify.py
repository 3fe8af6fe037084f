"""Verification of a shard alone."""

import json
import subprocess

from harness.measure import Goal, Spread


def verify(bench):
    """Verification of a shard, against BLAKE3 alone: one thread, processor time. The program measures both in turns."""
    runs = []
    for _ in range(bench.rounds(5)):
        bench.quiet.wait()
        runs.append(json.loads(subprocess.check_output([bench.program("bench_verify"), bench.pick("7", "1")])))
    shard = f"{runs[0]['shard_bytes'] / 1e6:.1f} MB, {runs[0]['node_messages']:,} nodes, {runs[0]['range_messages']:,} ranges"
    for xorbs, took, key in (("known to the index", "verify_ms", "ratio"), ("`external`", "verify_external_ms", "ratio_external")):
        ratio = Spread(r[key] for r in runs)
        yield {
            "shard of": shard,
            "xorbs": xorbs,
            "BLAKE3 alone, ms": Spread(r["blake3_ms"] for r in runs),
            "verification, ms": Spread(r[took] for r in runs),
            "speed, of BLAKE3's": ratio,
            "goal": Goal(ratio, 0.7, "of BLAKE3"),
        }
