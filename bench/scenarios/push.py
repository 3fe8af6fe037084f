"""`cairn push` and `cairn pull` beside hf_xet: the same files up, into a new store each time, and a file down again."""

import contextlib
import filecmp
import os
import shutil
import subprocess
import time

from harness.measure import Goal, Spread, in_turns, median
from scenarios.fetch import HARNESS, _in_memory

MIB = 1 << 20
LARGE_MIB = 1000
# For each row: the number of files, the bytes of each, and the kind of content.
SHAPES = {
    f"one of {LARGE_MIB:,} MiB, random": (1, LARGE_MIB * MIB, "random"),
    "8 of 32 MiB, random": (8, 32 * MIB, "random"),
    "8 of 32 MiB, text": (8, 32 * MIB, "text"),
    "5,000 of 10 KB, random": (5000, 10_000, "random"),
    "5,000 of 10 KB, text": (5000, 10_000, "text"),
}
BRIEF = {"2 of 2 MiB, random": (2, 2 * MIB, "random"), "50 of 10 KB, text": (50, 10_000, "text")}


@contextlib.contextmanager
def _files(bench, n, n_bytes, kind):
    """Makes n files of n_bytes each in memory. @return their folder, and an empty folder for downloads"""
    work = _in_memory(bench)
    source, back = work / "source", work / "back"
    source.mkdir(parents=True)
    back.mkdir()
    try:
        whole = work / "whole"
        subprocess.run([bench.program("bench_xorb"), "file", whole, str(-(-n * n_bytes // MIB)), kind], check=True)
        with open(whole, "rb") as f:
            for i in range(n):
                (source / f"{i:05}").write_bytes(f.read(n_bytes))
        whole.unlink()
        yield source, back
    finally:
        shutil.rmtree(work)


def _client(bench, server, argv, lines=None):
    """Runs a client. @return the seconds that it took, the processor time of it and of the server, and its output"""
    home = bench.folder("home")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "XET_", "CAIRN_"))}
    env |= {"HOME": str(home), "HF_HOME": str(home), "HF_XET_CACHE": str(home)}
    server.settle()
    served, spent, began = server.cpu_s(), os.times(), time.monotonic()
    done = subprocess.run(list(map(str, argv)), env=env, check=True, input=lines, capture_output=True, text=True)
    seconds, now = time.monotonic() - began, os.times()
    cpu_s = now.children_user + now.children_system - spent.children_user - spent.children_system
    return seconds, cpu_s + server.cpu_s() - served, done


def _cairn(bench, server, *arguments):
    return _client(bench, server, [bench.build / "cli/cairn", *arguments, "--server", server.url])[:2]


def _hf_put(bench, server, path):
    """Uploads with hf_xet. Its seconds are the library's own, without Python's start."""
    _, cpu_s, done = _client(bench, server, [bench.python(), HARNESS / "hf_put.py", server.url, path])
    return float(done.stderr.split()[-1]), cpu_s, done.stdout.strip()


def _hf_get(bench, server, name, size, out):
    _, cpu_s, done = _client(bench, server, [bench.python(), HARNESS / "hf_get.py", server.url], f"{name} {size} {out}\n")
    return float(done.stdout.split()[0]), cpu_s


def _row(label, ours, took, wanted):
    time_of, cpu_of = (Spread(b[i] / a[i] for a, b in zip(took[ours], took["hf_xet"])) for i in range(2))
    return {
        "files": label,
        **{f"{name}: s / CPU s of client and server": " / ".join(f"{median(r[i] for r in runs):.2f}" for i in range(2)) for name, runs in took.items()},
        "rate, of hf_xet's": time_of,
        "CPU of hf_xet, of ours": cpu_of,
        "goal": Goal(time_of, wanted, "of hf_xet"),
    }


def push(bench):
    """Files uploaded by `cairn push`, against hf_xet, into a new store each time."""

    def on_new_store(client):
        with bench.cairnd(bench.folder("data")) as server:
            return client(server)

    for label, (n, n_bytes, kind) in bench.pick(SHAPES, BRIEF).items():
        with _files(bench, n, n_bytes, kind) as (source, _):
            paths = sorted(source.iterdir())
            sides = {
                "cairn push": lambda: on_new_store(lambda server: _cairn(bench, server, "push", "-q", *paths)),
                "hf_xet": lambda: on_new_store(lambda server: _hf_put(bench, server, source)),
            }
            yield _row(label, "cairn push", in_turns(bench, bench.rounds(3), sides), 1 if n == 1 else 0.9)


def pull(bench):
    """A file downloaded by `cairn pull`, against hf_xet, from a daemon that was just started, into memory."""
    data, size = bench.folder("data"), bench.pick(LARGE_MIB, 8) * MIB
    with _files(bench, 1, size, "random") as (source, back):
        out = back / "file"
        with bench.cairnd(data) as server:
            name = _hf_put(bench, server, source)[2]

        def from_store(client):
            with bench.cairnd(data) as server:
                took = client(server)
            if not filecmp.cmp(source / "00000", out, shallow=False):
                raise RuntimeError("the file that came is not the file that was sent")
            out.unlink()
            return took

        sides = {
            "cairn pull": lambda: from_store(lambda server: _cairn(bench, server, "pull", "-q", name, "-o", out)),
            "hf_xet": lambda: from_store(lambda server: _hf_get(bench, server, name, size, out)),
        }
        yield _row(f"one of {size // MIB:,} MiB, random", "cairn pull", in_turns(bench, bench.rounds(5), sides), 1)
