"""Uploads by `cairn push` and by hf_xet: the same files, into a new store each time."""

import os
import random
import shutil
import subprocess
import time

from harness.measure import Goal, Spread, in_turns, median
from scenarios.fetch import HARNESS


def _push(bench, source, argv):
    """@return seconds from the start of the client to its end, and its and the server's processor time"""
    data, home = bench.folder("data"), bench.folder("home")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "XET_", "CAIRN_"))}
    env |= {"HOME": str(home), "HF_HOME": str(home), "HF_XET_CACHE": str(home)}
    with bench.cairnd(data) as server:
        server.settle()
        served, spent, began = server.cpu_s(), os.times(), time.monotonic()
        subprocess.run([*argv(server.url), *map(str, source)], env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds, now = time.monotonic() - began, os.times()
        cpu_s = now.children_user + now.children_system - spent.children_user - spent.children_system
        return seconds, cpu_s + server.cpu_s() - served


def push(bench):
    """Files of random bytes by cairn push, against hf_xet: from the client's start to its end, which takes hf_xet 0.3 s for Python alone."""
    numbers, folder = random.Random(5), bench.folder("files")
    shapes = {"one of 256 MiB": (1, 256), "8 of 32 MiB": (8, 32)}
    for label, (n, mib) in bench.pick(shapes, {"2 of 2 MiB": (2, 2)}).items():
        for path in folder.iterdir():
            path.unlink()
        piece = min(1 << 20, int(mib * (1 << 20)))
        for i in range(n):
            with open(folder / f"{i:05}", "wb") as f:
                f.writelines(numbers.randbytes(piece) for _ in range(int(mib * (1 << 20)) // piece))
        files = sorted(folder.iterdir())
        cairn = str(bench.build / "cli/cairn")
        sides = {
            "cairn push": lambda: _push(bench, files, lambda url: [cairn, "push", "-q", "--server", url]),
            "hf_xet": lambda: _push(bench, [folder], lambda url: [bench.python(), HARNESS / "hf_put.py", url]),
        }
        took = in_turns(bench, bench.rounds(3), sides)
        time_of, cpu_of = (Spread(b[i] / a[i] for a, b in zip(took["cairn push"], took["hf_xet"])) for i in range(2))
        yield {
            "files": f"{label}, random",
            **{f"{name}: s / CPU s of client and server": " / ".join(f"{median(r[i] for r in runs):.2f}" for i in range(2)) for name, runs in took.items()},
            "rate, of hf_xet's": time_of,
            "CPU of hf_xet, of ours": cpu_of,
            "goal": Goal(time_of, 0.9, "of hf_xet"),
        }
    shutil.rmtree(folder)
