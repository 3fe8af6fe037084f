"""Downloads: signed ranges of xorbs, and whole files by the stock client."""

import json
import os
import random
import shutil
import subprocess
import urllib.request
from pathlib import Path

from harness.measure import Goal, Spread, in_turns, median
from harness.server import Nginx, nginx_objects
from harness.table import Goals, load_row

HARNESS = Path(__file__).resolve().parents[1] / "harness"


def _hf(bench, script, *arguments, lines=""):
    home = bench.folder("home")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "XET_"))}
    env |= {"HOME": str(home), "HF_HOME": str(home), "HF_XET_CACHE": str(home)}
    return subprocess.check_output([bench.python(), HARNESS / script, *map(str, arguments)], env=env, input=lines, text=True).strip()


def _took(printed):
    """The two printed numbers: seconds, and processor seconds."""
    return tuple(map(float, printed.split()))


def _bytes_of(size):
    numbers = random.Random(7)
    return (numbers.randbytes(1 << 20) for _ in range(size >> 20))


def _in_memory(bench):
    """A path in memory, so that the disk is not measured."""
    return (Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else bench.tmp) / f"cairn-bench-{os.getpid()}"


def _stored_file(bench, data, size):
    """Uploads random bytes with hf_xet. @return the file's hash"""
    path = bench.tmp / "file"
    with open(path, "wb") as f:
        f.writelines(_bytes_of(size))
    with bench.cairnd(data) as server:
        name = _hf(bench, "hf_put.py", server.url, path)
    path.unlink()
    return name


def _fetches(server, name, size, n_bytes, n):
    """The signed URLs and ranges to download n pieces of the file at random places, each with all chunks that it overlaps."""
    numbers = random.Random(3)
    found = []
    for _ in range(n):
        start = numbers.randrange(size - n_bytes)
        body = server.get(f"/v2/reconstructions/{name}", {"Range": f"bytes={start}-{start + n_bytes - 1}"})
        for fetch in [f for of in json.loads(body)["xorbs"].values() for f in of]:
            ranges = [(r["bytes"]["start"], r["bytes"]["end"]) for r in fetch["ranges"]]
            found.append((fetch["url"][len(server.url) :], ranges))
    return found


def _header(ranges):
    return "Range: bytes=" + ",".join(f"{start}-{end}" for start, end in ranges)


def _check(server, data, fetches):
    """Checks that the bytes of one fetch are those of the stored object."""
    path, ranges = next(f for f in fetches if len(f[1]) == 1)
    xorb = path.split("?")[0].rsplit("/", 1)[1]
    stored = (data / "objects" / xorb[:2] / xorb[2:4] / xorb).read_bytes()
    start, end = ranges[0]
    name, value = _header(ranges).split(": ")
    with urllib.request.urlopen(urllib.request.Request(server.url + path, headers={name: value})) as reply:
        if reply.read() != stored[start : end + 1]:
            raise RuntimeError("not the bytes of the stored xorb")


def fetch(bench):
    """Signed ranges of stored xorbs, against nginx that sends the same bytes of the same files."""
    data, size = bench.folder("data"), bench.pick(256, 8) << 20
    name = _stored_file(bench, data, size)
    with bench.cairnd(data) as server:
        nginx = Nginx(bench, nginx_objects(data)) if Nginx.installed else None
        pieces = {"64 KiB": 1 << 16, "1 MiB": 1 << 20, "16 MiB": 1 << 24}
        for label, n_bytes in bench.pick(pieces, {"64 KiB": 1 << 16}).items():
            fetches = _fetches(server, name, size, n_bytes, bench.pick(200, 20))
            _check(server, data, fetches)
            targets = bench.targets("fetch", [("GET", path, _header(ranges), None, 206) for path, ranges in fetches])
            for connections in bench.pick((16, 64), (16,)):
                sides = {"cairnd": lambda: bench.load(server, targets, connections, bench.seconds)}
                if nginx:
                    sides["nginx"] = lambda: bench.load(nginx, targets, connections, bench.seconds)
                runs = in_turns(bench, bench.rounds(5), sides)
                yield load_row({"pieces of": label, "connections": connections}, runs, "MB/s", [("nginx", 0.8)])
        if nginx:
            nginx.stop()


def _download(bench, data, name, size, public_url=None):
    out = _in_memory(bench)
    with bench.cairnd(data, *(["--public-url", public_url] if public_url else [])) as server:
        seconds, _ = _took(_hf(bench, "hf_get.py", server.url, lines=f"{name} {size} {out}\n"))
    with open(out, "rb") as f:
        right = all(f.read(1 << 20) == block for block in _bytes_of(size)) and not f.read(1)
    out.unlink()
    if not right:
        raise RuntimeError("the file that came is not the file that was sent")
    return seconds


def download(bench):
    """A file downloaded with hf_xet. Plans always come from cairnd; bytes come from it, or from nginx by --public-url."""
    data, size = bench.folder("data"), bench.pick(1024, 8) << 20
    name = _stored_file(bench, data, size)
    sides = {"cairnd": lambda: _download(bench, data, name, size)}
    nginx = Nginx(bench, nginx_objects(data)) if Nginx.installed else None
    if nginx:
        sides["nginx"] = lambda: _download(bench, data, name, size, nginx.url)
    took = in_turns(bench, bench.rounds(7), sides)
    row = {"file": f"{size >> 20} MiB, random", "bytes from cairnd, MB/s": f"{size / 1e6 / median(took['cairnd']):.0f}"}
    if nginx:
        nginx.stop()
        ratio = Spread(b / a for a, b in zip(took["cairnd"], took["nginx"]))
        row["bytes from nginx, MB/s"] = f"{size / 1e6 / median(took['nginx']):.0f}"
        row["speed, of nginx's"] = ratio
        row["goal"] = Goal(ratio, 0.9, "of nginx")
    yield row


def _store_small(bench, data, folder, n, size):
    """Uploads n files of random bytes with hf_xet. @return lines for hf_get.py, without the paths"""
    numbers = random.Random(9)
    for i in range(n):
        (folder / f"{i:06}").write_bytes(numbers.randbytes(size))
    with bench.cairnd(data) as server:
        return [f"{name} {size}" for name in _hf(bench, "hf_put.py", server.url, folder).split()]


def _get_small(bench, data, folder, names, *options):
    """Downloads from a daemon that was just started, and has verified nothing yet. @return seconds, and the daemon's processor time"""
    out = _in_memory(bench)
    out.mkdir()
    lines = "".join(f"{name} {out}/{i:06}\n" for i, name in enumerate(names))
    with bench.cairnd(data, *options) as server:
        before = server.cpu_s()
        seconds, _ = _took(_hf(bench, "hf_get.py", server.url, lines=lines))
        cpu_s = server.cpu_s() - before
    if any((out / path.name).read_bytes() != path.read_bytes() for path in folder.iterdir()):
        raise RuntimeError("the files that came are not the files that were sent")
    shutil.rmtree(out)
    return seconds, cpu_s


def small(bench):
    """Many small files in few xorbs, downloaded with hf_xet: how much time verifying their bytes adds."""
    data, folder, n, size = bench.folder("data"), bench.folder("files"), bench.pick(10_000, 50), 10_000
    names = _store_small(bench, data, folder, n, size)
    sides = {
        "proofs": lambda: _get_small(bench, data, folder, names),
        "none": lambda: _get_small(bench, data, folder, names, "--no-prove-reads"),
    }
    took = in_turns(bench, bench.rounds(5), sides)
    time, cpu = (Spread(a[i] / b[i] for a, b in zip(took["proofs"], took["none"])) for i in range(2))
    yield {
        "files": f"{n:,} of {size // 1000} KB, random",
        **{f"{name}: s / server's CPU s": " / ".join(f"{median(r[i] for r in runs):.2f}" for i in range(2)) for name, runs in took.items()},
        "time with proofs, of that without": time,
        "CPU with proofs, of that without": cpu,
        "goal": Goals([Goal(time, 1.15, "of the time", most=True), Goal(cpu, 1.15, "of the CPU", most=True)]),
    }
