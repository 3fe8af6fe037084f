"""`cairn push` over a slow connection: what its progress bar shows, and how many queries it sends at once."""

import contextlib
import fcntl
import json
import os
import random
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time

import cairn
from between import Between

MIB = 1 << 20
UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": MIB}
FRAME = re.compile(r"\[(#*) *\] ([\d.]+) (\w+) of ([\d.]+) (\w+)(.*)")


def environment(url):
    return {k: v for k, v in os.environ.items() if not k.startswith("CAIRN_")} | {"CAIRN_SERVER": url}


class Terminal:
    """A command whose standard error is a terminal, and the frames that its bar has shown."""

    def __init__(self, argv, url, columns=170):
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(argv, env=environment(url), stdout=subprocess.PIPE, stderr=slave, text=True)
        os.close(slave)
        self.text = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        os.close(self.master)

    def read(self, seconds):
        """Reads some output. @return false: there is no more"""
        ready, _, _ = select.select([self.master], [], [], seconds)
        with contextlib.suppress(OSError):  # the other end is closed
            if ready and (piece := os.read(self.master, 65536)):
                self.text += piece.decode()
                return True
        return False

    def frames(self):
        """The states that the bar has shown: [(cells, done bytes, total bytes, the rest)]. The last one may be incomplete."""
        found = [FRAME.search(part) for part in self.text.split("\r\x1b[K")[:-1]]
        size = lambda n, unit: float(n) * UNITS[unit]
        return [(len(f[1]), size(f[2], f[3]), size(f[4], f[5]), f[6]) for f in found if f]

    def read_until(self, check, seconds=60):
        end = time.monotonic() + seconds
        while not check():
            assert self.read(end - time.monotonic()), f"it never came: {self.text[-600:]!r}"

    def finish(self):
        while self.read(60):
            continue
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, self.text[-600:]
        return out


def test_the_bar_shows_bytes_that_the_server_received(start, tmp_path):
    server, held, let_go = start(), threading.Event(), threading.Event()
    (tmp_path / "large").write_bytes(random.Random(1).randbytes(40 * MIB))

    def rule(request, before):
        if request.method == "POST" and request.route == "/v1/xorbs":
            held.set()
            return lambda: let_go.wait(60) and None
        return None

    with Between(server, rule) as between, Terminal([cairn.CAIRN, "push", str(tmp_path / "large")], between.url) as push:
        push.read_until(held.is_set)
        seen = len(push.frames())
        push.read_until(lambda: len(push.frames()) >= seen + 5)  # the bar goes on while nothing can be read or sent
        before = push.frames()
        let_go.set()
        push.finish()
    assert all(total == 40 * MIB for _, _, total, _ in before), before
    assert all(done < total and cells < 30 for cells, done, total, _ in before), before
    assert before[-1][1] >= 30 * MIB, "sent bytes count, except for those that the kernel may still hold"
    assert "waiting for the server" in before[-1][3], before[-1]
    after = push.frames()[len(before) :]
    assert all(done <= total for _, done, total, _ in after), after


def test_an_interrupted_push_leaves_a_clean_line(start, tmp_path):
    server, held, let_go = start(), threading.Event(), threading.Event()
    (tmp_path / "large").write_bytes(random.Random(2).randbytes(4 * MIB))

    def rule(request, before):
        if request.method == "POST":
            held.set()
            return lambda: let_go.wait(60) and None
        return None

    with Between(server, rule) as between, Terminal([cairn.CAIRN, "push", str(tmp_path / "large")], between.url) as push:
        push.read_until(lambda: held.is_set() and push.frames())
        push.process.send_signal(signal.SIGINT)
        while push.read(60):
            continue
        assert push.process.wait(60) == -signal.SIGINT
        let_go.set()
    assert push.text.endswith("\r\x1b[Kcairn: interrupted\r\n"), push.text[-200:]


def small_files(folder, n, seed):
    numbers = random.Random(seed)
    folder.mkdir(exist_ok=True)
    for i in range(n):
        (folder / f"{i:04}").write_bytes(numbers.randbytes(2000))
    return folder


def push_folder(folder, url, *options):
    argv = [cairn.CAIRN, "push", "--json", "--manifest", str(folder) + ".json", *options, str(folder)]
    done = subprocess.run(argv, env=environment(url), capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Gate:
    """Passes 100 chunk queries, and holds the following ones until `wanted` of them wait at once."""

    def __init__(self, wanted):
        self.wanted, self.asked, self.waiting, self.most, self.changed = wanted, 0, 0, 0, threading.Condition()

    def rule(self, request, before):
        return self.enter if request.route == "/v1/chunks" and before >= 100 else None

    def enter(self):
        with self.changed:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.most >= self.wanted, timeout=20)
            self.waiting -= 1


def test_questions_about_small_files_are_asked_at_once(start, tmp_path):
    server, gate = start(), Gate(12)
    folder = small_files(tmp_path / "files", 300, 1)
    with Between(server, gate.rule) as between:
        told = push_folder(folder, between.url)
        assert gate.most >= 12
        assert len(between.statuses("/v1/chunks")) == 300 == told["queries"]
    assert (told["query_hits"], told["new_bytes"], told["shards_new"]) == (0, 600_000, 1)
    back = [cairn.CAIRN, "pull", str(folder) + ".json", "-o", str(tmp_path / "back")]
    subprocess.run(back, env=environment(server.url), check=True, capture_output=True, timeout=100)
    assert all((tmp_path / "back" / p.name).read_bytes() == p.read_bytes() for p in folder.iterdir())


def test_a_long_answer_saves_further_queries(start, tmp_path):
    server = start()
    folder = small_files(tmp_path / "files", 600, 2)
    assert push_folder(folder, server.url)["query_hits"] == 0
    told = push_folder(folder, server.url)
    assert (told["new_bytes"], told["xorbs_sent"]) == (0, 0)
    assert told["queries"] <= 2
    (folder / "0300").write_bytes(b"something else")
    told = push_folder(folder, server.url)
    assert (told["new_bytes"], told["queries"] - told["query_hits"]) == (14, 1)


def test_failed_queries_ahead_are_repeated(start, tmp_path):
    """Threads that query ahead give up at once. The push itself repeats the query."""
    folder = small_files(tmp_path / "files", 200, 3)
    with Between(start(), lambda request, before: 500 if request.route == "/v1/chunks" and 60 <= before < 70 else None) as between:
        told = push_folder(folder, between.url)
        assert between.statuses("/v1/chunks").count(500) == 10
    assert told["new_bytes"] == 400_000
    with Between(start("other"), lambda request, before: 403 if request.route == "/v1/chunks" and before >= 60 else None) as between:
        argv = [cairn.CAIRN, "push", str(folder)]
        done = subprocess.run(argv, env=environment(between.url), capture_output=True, text=True, timeout=100)
    assert done.returncode == 77, done.stderr
    assert done.stderr.count("does not permit") == 1, done.stderr


def test_pipes_are_not_read_ahead(start, tmp_path):
    """A pipe among the files is opened only once, by the push, and not to query ahead."""
    server = start()
    folder = small_files(tmp_path / "files", 40, 4)
    os.mkfifo(tmp_path / "pipe")
    names = sorted(map(str, folder.iterdir()))
    names[30:30] = [str(tmp_path / "pipe")]
    feeder = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"through the pipe",), daemon=True)
    feeder.start()
    done = subprocess.run([cairn.CAIRN, "push", "--json", *names], env=environment(server.url), capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["files"][30]["bytes"] == 16
