"""What the scenarios share: daemons under test, load, the clock of a process, quiet moments of the machine."""

import json
import os
import re
import shutil
import signal
import statistics
import struct
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent


def cpu_s(pid):
    """Processor time of a process, all its threads, from its own clock: /proc counts in steps of 10 ms."""
    return time.clock_gettime((~pid << 3) | 2)


def busy_s():
    """Processor time of the whole machine that was not idle."""
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def wait_for_quiet(limit_s=15):
    """Until others used less than a tenth of a core for half a second. Gives up after limit_s: results say what was seen."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        before = busy_s()
        time.sleep(0.5)
        if busy_s() - before < 0.1:
            return True
    return False


class Server:
    """A process that prints 'NAME listening on http://127.0.0.1:PORT' when it is ready."""

    def __init__(self, argv, stdin=None, stderr=None, env=None):
        self.process = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=env, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        if not found:
            raise RuntimeError(f"{argv[0]} did not start: {line!r}")
        self.port = int(found[1])
        self.pid = self.process.pid
        self.url = f"http://127.0.0.1:{self.port}"

    def get(self, path, headers=None):
        with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=headers or {})) as reply:
            return reply.read()

    def cpu_s(self):
        return cpu_s(self.pid)

    def user_s(self):
        """Of that, outside of the kernel; in steps of 10 ms."""
        return int(Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[11]) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        if self.process.stdin:
            self.process.stdin.close()
        elif self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()


class Bench:
    """Where things are, and a folder for the data of one run."""

    def __init__(self, build):
        self.build = Path(build).resolve()
        self.tmp = Path(tempfile.mkdtemp(prefix="cairn-bench-", dir=os.environ.get("CAIRN_BENCH_DIR")))

    def close(self):
        shutil.rmtree(self.tmp)

    def program(self, name):
        return str(self.build / "bench" / name)

    def folder(self, name):
        path = self.tmp / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path

    def make(self, name, *numbers, store=False):
        """Uploads as make_uploads.c says: SHARDS XORBS CHUNKS FILES TERMS."""
        path = self.folder(name)
        subprocess.run([self.program("bench_make"), path, *map(str, numbers), *(["store"] if store else [])], check=True)
        return path

    def cairnd(self, data, *options, env=None, core=None):
        log = open(self.tmp / "cairnd.log", "ab")
        prefix = ["taskset", "-c", str(core)] if core is not None else []
        argv = [*prefix, str(self.build / "server/cairnd"), "--data-dir", str(data), "--listen", "127.0.0.1:0", *options]
        with log:
            return Server(argv, stderr=log, env={**os.environ, **(env or {})})

    def bare(self, status, n_bytes):
        return Server([self.program("bench_bare"), str(status), str(n_bytes)], stdin=subprocess.PIPE)

    def load(self, server, targets, connections, seconds=None, expect=200, warm_ms=200, give_up_s=None):
        """One run of load.c. Without seconds each target is sent once. Adds the server's processor time, and how many cores
        others used meanwhile. None: given up."""
        argv = [self.program("bench_load"), "-c", str(connections), "-e", str(expect)]
        if seconds:
            argv += ["-s", str(seconds), "-w", str(warm_ms)]
        before, busy, began = server.cpu_s(), busy_s(), time.monotonic()
        child = subprocess.Popen([*argv, "127.0.0.1", str(server.port), str(targets)], stdout=subprocess.PIPE, text=True)
        timer = threading.Timer(give_up_s or 3600, child.kill)
        timer.start()
        out = child.stdout.read()
        timer.cancel()
        own = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(own[1])
        child.stdout.close()
        if give_up_s and child.returncode == -signal.SIGKILL:
            return None
        if child.returncode != 0:
            raise RuntimeError("bench_load failed")
        result = json.loads(out)
        used = server.cpu_s() - before
        mine = used + own[2].ru_utime + own[2].ru_stime
        result["server_cpu_s"] = used
        result["foreign"] = max(0.0, busy_s() - busy - mine) / (time.monotonic() - began)
        if result["wrong"] or result["broken"]:
            raise RuntimeError(f"not all replies were right: {out}")
        return result


class Syncs:
    """Counts of fdatasync() and fsync() of a daemon started with env()."""

    def __init__(self, bench, least_ms=0):
        self.file = bench.tmp / "syncs"
        self.file.write_bytes(bytes(16))
        self.library = bench.program("libbench_syncs.so")
        self.least_ms = least_ms

    def env(self):
        return {"LD_PRELOAD": self.library, "BENCH_SYNC_FILE": str(self.file), "BENCH_SYNC_MS": str(self.least_ms)}

    def read(self):
        return struct.unpack("<QQ", self.file.read_bytes())


class Memory:
    """Highest RssAnon and RssFile of a process while the block runs, looked at each 5 ms."""

    def __init__(self, pid):
        self.status = f"/proc/{pid}/status"
        self.peak = {"RssAnon": 0, "VmRSS": 0}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch)

    def _watch(self):
        while not self.ended.wait(0.005):
            for line in Path(self.status).read_text().splitlines():
                name, _, value = line.partition(":")
                if name in self.peak:
                    self.peak[name] = max(self.peak[name], int(value.split()[0]) * 1024)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.ended.set()
        self.thread.join()


def metric(server, name):
    return float(re.search(rf"^{name} (\S+)$", server.get("/metrics").decode(), re.M)[1])


def compare(rounds, a, b):
    """a() and b() in turns, the order changed each time: [(a, b), ...]."""
    pairs = []
    for i in range(rounds):
        wait_for_quiet()
        if i % 2:
            second = b()
            pairs.append((a(), second))
        else:
            first = a()
            pairs.append((first, b()))
    return pairs


def median(values):
    return statistics.median(values)


def spread(values):
    """Median, lowest and highest, as the tables show them."""
    values = list(values)
    return f"{median(values):.2f} ({min(values):.2f}–{max(values):.2f})"
