"""A mirror of another hub: two daemons with a wide-area line between them, and the same client directly over that line."""

import contextlib
import hashlib
import http.client
import json
import os
import random
import shutil
import sqlite3
import subprocess
import time
import urllib.request

from harness.line import Line
from harness.measure import Goal, Memory, Spread, in_turns, median
from harness.table import Goals
from scenarios.fetch import _hf, _in_memory, _took
from scenarios.hub import _import, _sha256

LARGE, SHRINKS, LESS = "far/large", "far/shrinks", "far/less"
MEMORY_FILES, CLIENTS, WAITING, KILLS = 4, 100, 200, 20
PARTS = "SELECT ifnull(sum(f.size), 0) FROM mirror_part p JOIN file f ON f.id = p.file"


def _write(path, n_mib, seed, shrinks=False):
    """Makes a file of random bytes. @param shrinks  one half of them compresses to a half, so Xet sends 0.75 of the file"""
    numbers = random.Random(seed)
    with open(path, "wb") as f:
        for i in range(n_mib):
            block = bytearray(numbers.randbytes(1 << 20))
            if shrinks and i < n_mib // 2:
                for at in range(0, 1 << 20, 1024):
                    block[at : at + 512] = bytes(512)
            f.write(block)


def _change(path, seed):
    """Changes a hundredth of a file, at three places."""
    numbers, size = random.Random(seed), path.stat().st_size
    with open(path, "r+b") as f:
        for place in (0.11, 0.48, 0.83):
            f.seek(int(size * place))
            f.write(numbers.randbytes(size // 300))


class _Upstream:
    """The hub that is mirrored: a daemon with default settings, and repositories {name: MiB of their file}."""

    def __init__(self, bench):
        self.bench, self.folder = bench, bench.folder("upstream-files")
        large, self.mib_less = int(os.environ.get("CAIRN_BENCH_MIRROR_MIB", bench.pick(480, 40))), bench.pick(60, 34)
        self.mib = {LARGE: large, SHRINKS: large // 2, LESS: large // 4}
        self.sha256 = {}
        self.server = bench.cairnd(bench.folder("upstream"))
        body = json.dumps({"kind": "organisation", "name": "far"}).encode()
        urllib.request.urlopen(urllib.request.Request(self.server.url + "/v1/accounts", body)).close()
        for seed, (repository, mib) in enumerate(self.mib.items()):
            self.file(repository).parent.mkdir(parents=True)
            _write(self.file(repository), mib, seed, repository == SHRINKS)
        for i in range(MEMORY_FILES):
            _write(self.file(LARGE).with_name(f"file{i}"), self.mib_less, 10 + i)
        for name in ("config.json", "tokenizer.json"):
            self.file(LARGE).with_name(name).write_text(json.dumps({"model_type": name}))
        for repository in self.mib:
            self.commit(repository)

    def file(self, repository):
        return self.folder / repository / "file"

    def commit(self, repository):
        _import(self.bench, self.server, self.folder / repository, repository)
        self.sha256[repository] = _sha256(self.file(repository))

    def line(self, **how):
        return Line(self.bench, self.server, **how)

    def mirror(self, line, folder=None):
        """Returns a daemon that mirrors the hub over this line. It has nothing yet, unless it gets the folder of a former one."""
        return self.bench.cairnd(folder or self.bench.folder("mirror"), "--mirror", line.url)


def _path(name, revision="main"):
    return f"/{LARGE}/resolve/{revision}/{name}"


def _download(bench, upstream, server, repository=LARGE):
    """Downloads a file with huggingface_hub. @return the seconds that it took"""
    out = _in_memory(bench)
    out.mkdir()
    seconds, _ = _took(_hf(bench, "hf_hub.py", "download", server.url, repository, out))
    right = _sha256(out / "file") == upstream.sha256[repository]
    shutil.rmtree(out)
    if not right:
        raise RuntimeError("the file that came is not the file that was sent")
    return seconds


def _direct(bench, upstream, line, repository):
    """@return seconds of a download without a mirror, by Xet, and the bytes on the line"""
    line.n_down()
    return _download(bench, upstream, line, repository), line.n_down()


def _cold(bench, upstream, line, repository):
    """@return seconds of the first download through a mirror, of the second, and the bytes on the line of the first"""
    with upstream.mirror(line) as mirror:
        line.n_down()
        cold = _download(bench, upstream, mirror, repository)
        n_down = line.n_down()
        return cold, _download(bench, upstream, mirror, repository), n_down


def _cold_row(bench, upstream, repository, goal, **how):
    size = upstream.mib[repository] << 20
    with upstream.line(**how) as line:
        sides = {side: lambda get=get: get(bench, upstream, line, repository) for side, get in (("direct", _direct), ("mirror", _cold))}
        runs = in_turns(bench, bench.rounds(3), sides)
    ratio = Spread(a[0] / b[0] for a, b in zip(runs["direct"], runs["mirror"]))
    on_line = median(b[2] for b in runs["mirror"]) / size
    what = f"{how['mbit']:,} Mbit/s, 40 ms" + (f", windows of {how['window_kib']} KiB" if "window_kib" in how else "")
    return {
        "what": f"first download of {size >> 20} MiB" + (", of which Xet sends 0.75" if repository == SHRINKS else "") + f"; {what}",
        "s": f"{median(b[0] for b in runs['mirror']):.1f}",
        "s directly": f"{median(a[0] for a in runs['direct']):.1f}",
        "s once it is here": f"{median(b[1] for b in runs['mirror']):.1f}",
        "bytes on the line, of the file's": f"{on_line:.4f}",
        "the same directly": f"{median(a[1] for a in runs['direct']) / size:.4f}",
        "speed, of direct's": ratio,
        "goal": Goals([Goal(ratio, goal, "of direct"), Goal(on_line, 1.01, "of the bytes", most=True)]),
    }


def _crowd(bench, upstream, line, targets, n):
    """Downloads a file with n clients at once, before the mirror has it and afterwards. @return the seconds before, the bytes on the line meanwhile, and the
    seconds afterwards"""
    with upstream.mirror(line) as mirror:
        line.n_down()
        cold = bench.load(mirror, targets, n).seconds
        n_down = line.n_down()
        return cold, n_down, bench.load(mirror, targets, n).seconds


def _crowd_row(bench, upstream, mbit):
    n, size = bench.pick(CLIENTS, 10), upstream.mib_less << 20
    one, all_ = (bench.targets(f"get{k}", [("GET", _path("file0"), None, None, 200)] * k) for k in (1, n))
    with upstream.line(mbit=mbit) as line:
        runs = in_turns(bench, bench.rounds(3), {"one": lambda: _crowd(bench, upstream, line, one, 1), "all": lambda: _crowd(bench, upstream, line, all_, n)})
    ratio = Spread(a[0] / max(b[0], a[2]) for a, b in zip(runs["all"], runs["one"]))
    on_line = max(a[1] for a in runs["all"]) / size
    return {
        "what": f"{n} clients at once for a file of {upstream.mib_less} MiB; {mbit} Mbit/s",
        "s": f"{median(a[0] for a in runs['all']):.1f}",
        "s of one alone": f"{median(b[0] for b in runs['one']):.1f}",
        "s once it is here": f"{median(a[2] for a in runs['all']):.1f}",
        "bytes on the line, of the file's": f"{on_line:.4f}",
        "time, of the longer one's": ratio,
        "goal": Goals([Goal(ratio, 1.2, "of the longer one", most=True), Goal(on_line, 1.01, "of the bytes", most=True)]),
    }


def _first_byte_s(server, path):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    with contextlib.closing(connection):
        began = time.monotonic()
        connection.request("GET", path)
        reply = connection.getresponse()
        first = reply.read(1)
        if reply.status != 200 or len(first) != 1:
            raise RuntimeError(f"{path}: {reply.status}")
        return time.monotonic() - began


def _first_bytes(bench, upstream, line, unknown, known):
    with upstream.mirror(line) as mirror:
        mirror.get("/health")
        return _first_byte_s(mirror, _path(unknown)), _first_byte_s(mirror, _path(known))


def _first_byte_rows(bench, upstream):
    with upstream.line() as line:
        for what, unknown, known in (("small file", "config.json", "tokenizer.json"), ("long file", "file0", "file1")):
            runs = in_turns(bench, bench.rounds(5), {"": lambda: _first_bytes(bench, upstream, line, unknown, known)})[""]
            for i, (state, trips, more_s) in enumerate((("an unknown", 8, 0.5), ("a known", 3, 0.1))):
                seconds = Spread(run[i] for run in runs)
                yield {
                    "what": f"first byte of a {what} of {state} repository, 40 ms",
                    "s": f"{seconds.median:.3f}",
                    "round trips": f"{seconds.median / line.rtt_s:.1f}",
                    "goal": Goal(seconds, round(trips * line.rtt_s + more_s, 2), "s", most=True),
                }


def _revision_row(bench, upstream):
    """Measures a second version of the file, of which a hundredth has changed."""
    size, file = upstream.mib[LARGE] << 20, upstream.file(LARGE)
    with upstream.line() as line, upstream.mirror(line) as mirror:
        _download(bench, upstream, mirror)
        _change(file, 99)
        upstream.commit(LARGE)
        commit = json.loads(upstream.server.get(f"/api/models/{LARGE}"))["sha"]
        line.n_down()
        began = time.monotonic()
        if hashlib.sha256(mirror.get(_path("file", commit))).hexdigest() != upstream.sha256[LARGE]:
            raise RuntimeError("the second version is not the one that was sent")
        seconds, n_down = time.monotonic() - began, line.n_down()
    return {
        "what": f"a version of which 1 % is other, of {size >> 20} MiB",
        "s": f"{seconds:.1f}",
        "bytes on the line, of the file's": f"{n_down / size:.4f}",
        "goal": Goal(n_down / size, 0.03, "of the bytes", most=True),
    }


def _anonymous_mib(server):
    with Memory(server.pids()) as memory:
        return memory.anon_mib


def _memory_row(bench, upstream):
    targets = bench.targets("files", [("GET", _path(f"file{i}"), None, None, 200) for i in range(MEMORY_FILES)])
    with upstream.line(mbit=240) as line, upstream.mirror(line) as mirror:
        mirror.get(_path("config.json"))
        before = _anonymous_mib(mirror)
        each = (bench.load(mirror, targets, MEMORY_FILES).anon_mib - before) / MEMORY_FILES
    return {"what": f"memory for each of {MEMORY_FILES} files under way, with a client", "anonymous MiB": f"{each:.1f}", "goal": Goal(each, 8, "MiB", most=True)}


def _ms_of(server, path):
    began = time.monotonic()
    server.get(path)
    return 1000 * (time.monotonic() - began)


def _waiting_rows(bench, upstream):
    """Measures clients that wait for bytes, and what other clients get meanwhile."""
    n = bench.pick(WAITING, 20)
    with upstream.line(mbit=1) as line, upstream.mirror(line) as mirror, contextlib.ExitStack() as stack:
        mirror.get(_path("config.json"))
        for i in range(1, n + 1):
            connection = stack.enter_context(contextlib.closing(http.client.HTTPConnection("127.0.0.1", mirror.port)))
            connection.request("GET", _path("file0"))
            if i in (1, n):
                while mirror.metric("cairn_mirror_waiting_clients") < i:
                    time.sleep(0.01)
                anonymous = [before, _anonymous_mib(mirror)] if i > 1 else [_anonymous_mib(mirror)]
                before = anonymous[0]
        tries = bench.rounds(50)
        health = Spread(_ms_of(mirror, "/health") for _ in range(tries))
        worker = Spread(_ms_of(mirror, "/api/models?author=far") for _ in range(tries))
    each = 1024 * (anonymous[1] - anonymous[0]) / (n - 1)
    yield {"what": f"/health while {n} clients wait", "ms": health, "goal": Goal(health.high, 50, "ms", most=True)}
    yield {"what": f"a list, made by a worker, while {n} clients wait", "ms": worker, "goal": Goal(worker.high, 50, "ms", most=True)}
    yield {"what": "memory for each of them", "anonymous MiB": f"{each / 1024:.3f}", "goal": Goal(each, 64, "KiB", most=True)}


def _parts_bytes(data):
    with contextlib.closing(sqlite3.connect(data / "index.sqlite")) as index:
        return index.execute(PARTS).fetchone()[0]


class _Client:
    """curl, which resumes where it was cut off."""

    def __init__(self, out):
        self.out, self.url = out, None

    def download(self, url, seconds):
        """@return whether it has the whole file within these seconds"""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            argv = ["curl", "-sf", "-C", "-", "-o", self.out, "--max-time", f"{left:.2f}", url]
            if subprocess.run(argv).returncode == 0:
                return True
            time.sleep(min(0.2, max(0.0, until - time.monotonic())))
        return False


def _killed(bench, upstream, line, numbers, n):
    """Downloads the file through a mirror that is killed at most n times. @return the bytes that were fetched again for each kill"""
    data, out = bench.folder("mirror"), bench.tmp / "kept"
    out.unlink(missing_ok=True)
    client, again, kept, whole = _Client(out), [], 0, False
    line.n_down()
    while not whole:
        mirror = upstream.mirror(line, data)
        whole = client.download(mirror.url + _path("file"), numbers.uniform(1, 4) if len(again) < n else 300)
        if whole:
            mirror.stop()
            break
        mirror.kill()
        before, kept = kept, _parts_bytes(data)
        again.append(before + line.n_down() - kept)
    if _sha256(out) != upstream.sha256[LARGE]:
        raise RuntimeError("the file that came is not the file that was sent")
    out.unlink()
    return again


def _kills_row(bench, upstream):
    again, numbers, n = [], random.Random(11), bench.pick(KILLS, 1)
    with upstream.line(mbit=240) as line:
        while len(again) < n:
            again += _killed(bench, upstream, line, numbers, n - len(again))
    spread = Spread(one / 2**20 for one in again)
    return {"what": f"killed {n} times at random, 240 Mbit/s", "MiB fetched again for each": spread, "goal": Goal(spread, 64, "MiB", most=True)}


def mirror(bench):
    """A mirror, against the same client that downloads directly over the same line."""
    upstream = _Upstream(bench)
    yield _cold_row(bench, upstream, LARGE, 0.9, mbit=1000)
    if not bench.quick:
        yield _cold_row(bench, upstream, SHRINKS, 0.9, mbit=1000)
        yield _cold_row(bench, upstream, LESS, 1.2, mbit=240, window_kib=256)
        yield _crowd_row(bench, upstream, 60)
    yield _crowd_row(bench, upstream, 240)
    yield from _first_byte_rows(bench, upstream)
    yield _memory_row(bench, upstream)
    yield from _waiting_rows(bench, upstream)
    yield _kills_row(bench, upstream)
    yield _revision_row(bench, upstream)
    upstream.server.stop()
