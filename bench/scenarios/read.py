"""Files that the daemon sends as plain bytes: it unpacks and verifies their chunks itself."""

import json
import os
import resource
import subprocess
from pathlib import Path

from harness.measure import Goal, Spread


def _pull_user_s(bench, data, name, out):
    """Processor time of a pull outside of the kernel: unpacking, hashing, and the work around them."""
    with bench.cairnd(data) as server:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        pull = [bench.build / "cli/cairn", "pull", "--quiet", "--jobs", "1", "--server", server.url, name, "-o", out]
        subprocess.run(pull, check=True, stderr=subprocess.DEVNULL)
        took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    out.unlink()
    return took


def read(bench):
    """A file read whole, against a pull of it, and against unpacking and hashing, or LZ4 alone, of chunks in memory: processor time."""
    out = (Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else bench.tmp) / f"cairn-bench-{os.getpid()}"
    for kind in bench.pick(("text", "floats", "random"), ("floats",)):
        data, mib = bench.folder("data"), bench.pick(1024, 8)
        subprocess.run([bench.program("bench_xorb"), "file", out, str(mib), kind], check=True)
        with bench.cairnd(data) as server:
            push = [bench.build / "cli/cairn", "push", "--quiet", "--json", "--server", server.url, out]
            name = json.loads(subprocess.check_output(push))["files"][0]["hash"]
        out.unlink()
        runs, pulls = [], []
        for _ in range(bench.rounds(5)):
            bench.quiet.wait()
            runs.append(json.loads(subprocess.check_output([bench.program("bench_file_reader"), data, name, "1"])))
            pulls.append(_pull_user_s(bench, data, name, out))
        ratio = Spread(1e3 * p / r["reader_ms"] for p, r in zip(pulls, runs))
        yield {
            "file": f"{mib:,} MiB, {kind}",
            "GB/s of one core": Spread(r["file_bytes"] / r["reader_ms"] / 1e6 for r in runs),
            "memory, KiB": f"{max(r['heap_bytes'] for r in runs) / 1024:,.0f}",
            "speed, of pull's": ratio,
            "of unpacking and hashing alone": Spread(r["unpacked_and_hashed_ms"] / r["reader_ms"] for r in runs),
            "of LZ4 alone": Spread(r["unpacked_ms"] / r["reader_ms"] for r in runs),
            "goal": Goal(ratio, 0.8, "of pull"),
        }
