"""Backups into one FOLD file."""

import os
import subprocess

from harness.measure import Goal, Spread

N = 6


def _cpu_s(argv):
    """Processor time of a command, in and outside of the kernel."""
    pid = os.posix_spawn(argv[0], [str(a) for a in argv], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, used = os.wait4(pid, 0)
    if status != 0:
        raise RuntimeError(f"{argv}: {status}")
    return used.ru_utime + used.ru_stime


def _row(bench, data, objects, kind, level):
    out = bench.folder("backup") / "b.fold"
    size = sum(o.stat().st_size for o in objects)
    bare, ours, parity = [], [], {16: [], 32: [], 64: []}

    def backup(*options):
        out.unlink(missing_ok=True)
        return _cpu_s([str(bench.build / "cli" / "cairn"), "backup", "--quiet", "--data-dir", data, "--zstd", level, *options, out])

    for _ in range(bench.rounds(5)):
        bench.quiet.wait()
        bare.append(float(subprocess.check_output([bench.program("bench_fold"), str(level), *objects])))
        ours.append(backup())
        file_bytes = out.stat().st_size
        for n, took in parity.items():
            took.append(backup("--parity", n))
    speed = Spread(b / o for b, o in zip(bare, ours))
    times = {n: Spread(p / o for p, o in zip(took, ours)) for n, took in parity.items()}
    out.unlink()
    return {
        "xorbs of": f"{kind}, {size / 1e6:.0f} MB",
        "zstd": level,
        "file, of the objects": f"{file_bytes / size:.3f}",
        "speed, of zstd's and SHA-256's": speed,
        "goal": Goal(speed, 0.8, "of zstd and SHA-256"),
    } | {f"time with rs({n}), of that without": t for n, t in times.items()} | {"goal with parity": Goal(max(t.median for t in times.values()), 2, "times at most", most=True)}


def fold(bench):
    """`cairn backup` of xorbs of 64 MiB, against reading, zstd at the same level and SHA-256 alone. Processor time; only ours includes kernel and writing.
    Then the factor by which parity slows it down."""
    n = bench.pick(N, 2)
    for kind in bench.pick(("text", "floats", "random"), ("text",)):
        made, data = bench.folder("uploads"), bench.folder("data")
        subprocess.run([bench.program("bench_xorb"), "make", made, str(n), kind], check=True)
        with bench.cairnd(data) as server:
            bench.load(server, made / "xorbs.tsv", 2, once=True)
        objects = sorted(p for p in (data / "objects").rglob("*") if p.is_file())
        for level in bench.pick((1, 3), (1,)):
            yield _row(bench, data, objects, kind, level)
