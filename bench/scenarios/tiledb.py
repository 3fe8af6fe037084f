"""The export for analytics: its time and memory, and how fast TileDB reads the result."""

import json
import os
import shutil
import subprocess
import time

from harness.measure import Goal, Spread, in_turns

CHUNKS_A_XORB = 8000
QUERY = os.path.join(os.path.dirname(__file__), "../harness/tiledb_query.py")


def _index(bench, chunks):
    data, targets = bench.folder("index"), bench.folder("targets")
    xorbs = max(2, chunks // CHUNKS_A_XORB)
    made = [bench.program("bench_make_index"), "-x", str(xorbs), "-c", str(min(CHUNKS_A_XORB, chunks // xorbs)), "-f", "20"]
    subprocess.run([*made, data, targets], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return data


def _export(bench, data, form, out):
    """Exports. @return rows of chunks, seconds, processor seconds, peak MiB"""
    shutil.rmtree(out, ignore_errors=True)
    argv = [bench.build / "cli/cairn", "export", "--data-dir", data, "--format", form, "--quiet", "--json", out]
    began, child = time.monotonic(), subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    tables = json.loads(child.stdout.read())["tables"]
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError("the export failed")
    return tables[0]["rows"], time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def _ask(bench, array):
    seconds = bench.pick("1.0", "0.05")
    return json.loads(subprocess.check_output([bench.python(), QUERY, "ask", seconds, array], text=True))


def tiledb(bench):
    """Exports, and TileDB's queries of our arrays beside arrays that it wrote of the same rows."""
    for chunks in bench.pick((1_000_000, 10_000_000), (20_000,)):
        data = _index(bench, chunks)
        for form in ("tiledb", "csv"):
            bench.quiet.wait()
            rows, wall, cpu, peak = _export(bench, data, form, bench.tmp / form)
            disk = sum(f.stat().st_size for f in (bench.tmp / form).rglob("*") if f.is_file())
            yield {"what": f"export, {form}", "chunk rows": f"{rows:,}", "seconds": f"{wall:.1f}", "CPU seconds": f"{cpu:.1f}",
                   "peak MiB": f"{peak:.0f}", "bytes a row": f"{disk / rows:.0f}"}
        ours, peer = bench.tmp / "tiledb/chunks", bench.tmp / "peer"
        shutil.rmtree(peer, ignore_errors=True)
        subprocess.run([bench.python(), QUERY, "copy", ours, peer], check=True)
        runs = in_turns(bench, bench.rounds(5), {"ours": lambda: _ask(bench, ours), "peer": lambda: _ask(bench, peer)})
        for name in runs["ours"][0]:
            if any(run[name][0] != runs["ours"][0][name][0] for side in runs.values() for run in side):
                raise RuntimeError(f"{name}: TileDB answers otherwise from its own array")
            ratios = [Spread(a[name][i] / b[name][i] for a, b in zip(runs["ours"], runs["peer"])) for i in (1, 2)]
            yield {"what": f"TileDB-Py: {name}", "chunk rows": f"{rows:,}",
                   "ms": f"{1000 * Spread(run[name][1] for run in runs['ours']).median:.1f}",
                   "time, of TileDB's own array": ratios[0], "CPU, of TileDB's own array": ratios[1],
                   "goal": Goal(ratios[1], 1.2, "of the CPU", most=True)}
