"""One run of the benchmarks: its folders, the programs that it starts, and the load on them."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from harness.measure import Memory, Quiet, Run, Syncs, busy_s, disk_syncs_a_second
from harness.server import Server, free_port

ROOT = Path(__file__).resolve().parents[2]
QUIET_S = 300  # most seconds that a whole run waits for quiet moments


class LeftOut(Exception):
    """Something that a scenario needs is not installed."""


class Slower(Exception):
    """A figure is worse than the one in RESULTS.md."""


class Bench:
    """@param quick  runs each path once and briefly, to see that it works; the figures say nothing about speed
    @param judges  the scenario "ratios" compares its figures with RESULTS.md, although the run is quick"""

    def __init__(self, build, quick=False, judges=False):
        self.build = Path(build).resolve()
        self.quick = quick
        self.judges = judges
        self.measures = judges or not quick
        self.quiet = Quiet(0 if quick else QUIET_S)
        self.seconds = 0.2 if quick else 1.5
        self.tmp = Path(tempfile.mkdtemp(prefix="cairn-bench-", dir=os.environ.get("CAIRN_BENCH_DIR")))
        peer = Path(os.environ.get("CAIRN_BENCH_PEER", self.build / "peer/bin/local_cas_server"))
        self.peer_program = peer if os.access(peer, os.X_OK) else None

    def kill_servers(self):
        """Kills servers that a failed scenario left running."""
        for server in list(Server.running):
            server.kill()

    def close(self):
        self.kill_servers()
        shutil.rmtree(self.tmp)

    def pick(self, full, quick):
        return quick if self.quick else full

    def rounds(self, full):
        return 1 if self.quick else full

    def program(self, name):
        return str(self.build / "bench" / name)

    def folder(self, name):
        path = self.tmp / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path

    def copy(self, folder, name):
        path = self.tmp / name
        shutil.rmtree(path, ignore_errors=True)
        subprocess.run(["cp", "-a", folder, path], check=True)
        return path

    def make(self, name, *numbers, store=False):
        """Makes uploads with bench_make.c. @param numbers  SHARDS XORBS CHUNKS FILES TERMS @return their folder"""
        path = self.folder(name)
        subprocess.run([self.program("bench_make"), path, *map(str, numbers), *(["store"] if store else [])], check=True)
        return path

    def targets(self, name, lines):
        """Writes the requests for load() into a file. @param lines  [(method, path, header or None, body file or None, status)]"""
        path = self.tmp / f"{name}.tsv"
        with open(path, "w") as f:
            f.writelines("\t".join(str(field or "-") for field in line) + "\n" for line in lines)
        return path

    def python(self):
        """A Python interpreter that has hf_xet: the one of the client tests."""
        python = os.environ.get("CAIRN_PYTHON", str(ROOT / ".venv/bin/python"))
        if not os.access(python, os.X_OK):
            raise LeftOut(f"there is no {python}; ./dev bench makes it")
        return python

    def cairnd_argv(self, data, *options):
        """The command of a daemon with default settings, except for these options."""
        return [str(self.build / "server/cairnd"), "--data-dir", str(data), "--listen", "127.0.0.1:0", *options]

    def cairnd(self, data, *options, syncs=None, env=None):
        return Server(self.cairnd_argv(data, *options), log=self.tmp / "cairnd.log", syncs=syncs, env=env)

    def bare(self, status, n_bytes, n_replies=1, n_threads=None):
        """The bare daemon: libmicrohttpd alone, which gives n_replies fixed replies in turn. It has its own threads, or n_threads as cairnd has them."""
        threads = [str(n_threads)] if n_threads else []
        return Server([self.program("bench_bare"), str(status), str(n_bytes), str(n_replies), *threads], stdin=subprocess.PIPE)

    def peer(self, data=None):
        """The reference's test server. Without a folder it keeps everything in memory."""
        port = free_port()
        where = ["--data-directory", str(data)] if data else ["--in-memory"]
        argv = [self.peer_program, "--port", str(port), *where]
        return Server(argv, port=port, log=self.tmp / "peer.log", syncs=self.syncs())

    def syncs(self, least_ms=0):
        return Syncs(self, least_ms)

    def load(self, server, targets, connections, seconds=None, once=False, expect=200, warm_ms=None, give_up_s=None):
        """Runs bench_load.c. Without seconds, each target is sent once. With seconds, targets are repeated for that time; with once, too, each is sent at
        most once. @return a Run; None when it was given up"""
        argv = [self.program("bench_load"), "-c", str(connections), "-e", str(expect)]
        if seconds:
            argv += ["-s", str(seconds)] + (["-o"] if once else ["-w", str(self.pick(200, 20) if warm_ms is None else warm_ms)])
        argv += ["127.0.0.1", str(server.port), str(targets)]
        server.settle()
        disk_syncs = disk_syncs_a_second(self.tmp, 0.1) if server.syncs else None
        synced = server.syncs.read() if server.syncs else 0
        before, busy, began = server.cpu_s(), busy_s(), time.monotonic()
        with Memory(server.pids()) as memory:
            out, own, status = self._load_wait(argv, give_up_s)
        if give_up_s and status == -signal.SIGKILL:
            return None
        if status != 0:
            raise RuntimeError("bench_load failed")
        result = json.loads(out)
        if result.pop("wrong") or result.pop("broken"):
            raise RuntimeError(f"not all replies were right: {out}")
        result.pop("wrong_status")
        if result["requests"] == 0 and self.quick and seconds:
            return self.load(server, self._first_of(targets), 1, expect=expect, give_up_s=give_up_s)
        if result["requests"] == 0:
            raise RuntimeError("no reply came in the time measured")
        cpu_s = server.cpu_s() - before
        foreign = max(0.0, busy_s() - busy - cpu_s - own.ru_utime - own.ru_stime) / (time.monotonic() - began)
        return Run(
            **result,
            cpu_s=cpu_s,
            rss_mib=memory.rss_mib,
            anon_mib=memory.anon_mib,
            foreign=foreign,
            syncs=server.syncs.read() - synced if server.syncs else None,
            disk_syncs=disk_syncs,
        )

    def _first_of(self, targets):
        """Returns the first target alone. The load sends it without a time limit, because on a busy machine no reply might come within one."""
        path = self.tmp / "first.tsv"
        with open(targets) as lines:
            path.write_text(lines.readline())
        return path

    @staticmethod
    def _load_wait(argv, give_up_s):
        child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        timer = threading.Timer(give_up_s or 3600, child.kill)
        timer.start()
        out = child.stdout.read()
        timer.cancel()
        _, status, own = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        child.stdout.close()
        return out, own, child.returncode
