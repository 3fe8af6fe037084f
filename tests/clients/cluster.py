"""Several daemons that share an index in PostgreSQL and a store in S3, behind HAProxy, which gives each request to the next daemon. A test uses them as one
server."""

import concurrent.futures
import contextlib
import secrets
import signal
import socket
import subprocess
import time
from pathlib import Path

import cairn
import ledger
import postgres
import s3

NONE = not (cairn.ENGINE and cairn.INDEX and cairn.STORE == "s3")

HAPROXY = Path("/usr/sbin/haproxy")
CONFIGURATION = """
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  option redispatch 1
  retries 3
frontend all
  bind fd@{fd}
  default_backend daemons
backend daemons
  balance roundrobin
  option httpchk GET /health
"""


# Are the counters that commits keep in the index equal to the counts of its tables?
COUNTS_AGREE = (
    "SELECT (files, xorbs, shards, stored_bytes) ="
    " ((SELECT count(*) FROM file), (SELECT count(*) FROM xorb), (SELECT count(*) FROM shard), (SELECT sum(stored) FROM xorb)) FROM state"
)


class Cluster(cairn.Daemon):
    """Daemons with shared index and store. The options apply to each daemon."""

    def __init__(self, folder, n=3, variables=None, **options):
        super().__init__(folder)
        self.data = self.folder / "0" / "data"
        self.folder.mkdir(parents=True)
        secret = self.folder / "secret"
        secret.write_bytes(secrets.token_bytes(32))
        secret.chmod(0o600)
        shared = {"CAIRN_INDEX": cairn.postgres_url(self.data), "CAIRN_STORE": cairn.s3_url(self.data), "CAIRN_SECRET_FILE": str(secret)}
        self.daemons = [cairn.Daemon(self.folder / str(i), variables=shared | (variables or {}), **options) for i in range(n)]
        self.balancer = None

    def start(self):
        for daemon in self.daemons:
            daemon.start()
        self.balance()
        return self

    def balance(self):
        listening = socket.create_server(("127.0.0.1", 0))
        self.port = listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        lines = [f"  server d{i} 127.0.0.1:{d.port} check inter 200ms fall 1 rise 1" for i, d in enumerate(self.daemons)]
        file = self.folder / "haproxy.cfg"
        file.write_text(CONFIGURATION.format(fd=listening.fileno()) + "\n".join(lines) + "\n")
        with open(self.folder / "haproxy.log", "wb") as log:
            self.balancer = subprocess.Popen([HAPROXY, "-db", "-f", str(file)], stdout=log, stderr=log, pass_fds=[listening.fileno()])
        listening.close()
        cairn.wait_until("the balancer", lambda: self.get("/health").status == 200)

    def revive(self, i):
        """Starts a daemon again on the port that the balancer knows."""
        daemon = self.daemons[i]
        daemon.command[daemon.command.index("--listen") + 1] = f"127.0.0.1:{daemon.port}"
        daemon.start()

    def end_balancer(self):
        if self.balancer:
            self.balancer.kill()
            self.balancer.wait()
            self.balancer = None

    def stop(self, expect=0):
        self.end_balancer()
        for daemon in self.daemons:
            daemon.stop(expect)

    def kill(self):
        self.end_balancer()
        for daemon in self.daemons:
            daemon.kill()

    def metrics(self):
        """The metrics of all daemons, added up."""
        out = {}
        for daemon in self.daemons:
            for name, value in daemon.metrics().items():
                out[name] = out.get(name, 0) + value
        return out

    def log(self):
        return "".join(daemon.log() for daemon in self.daemons)

    def settle_log(self):
        for daemon in self.daemons:
            daemon.settle_log()

    def left_overs(self):
        return [path for daemon in self.daemons for path in daemon.left_overs()]

    def bucket(self):
        return s3.Bucket(cairn.s3_url(self.data))


def soon(what, check, seconds=3.0):
    """Waits for something that one daemon has committed: the others know it a second later. @return how long it took"""
    began = time.monotonic()
    cairn.wait_until(what, check, seconds)
    return time.monotonic() - began


def bucket_of(server):
    return s3.Bucket(cairn.s3_url(server.data))


def sql(server, statement):
    """Runs a statement in the schema of the cluster's index."""
    schema = cairn.postgres_url(server.data).split("schema=")[1]
    return postgres.engine("sql", f'SET search_path TO "{schema}"; {statement}').split("\n")[1].strip()


def files_of(seeds):
    return [ledger.new_file(seed) for seed in seeds]


def let_pass(server, seconds):
    """Moves all times in the index back by this long. (A moved daemon's clock would be refused, because it differs from the index's.)"""
    sql(server, f"UPDATE xorb SET at = at - {seconds}, retired = retired - {seconds}; SELECT 1")


def collect_somewhere(one, seconds=30):
    """Runs a collection. The daemon that collected before may stand still, so this waits until its lease has expired."""
    cairn.wait_until("a collection", lambda: one.post("/v1/gc").status == 200, seconds)


def stopped(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


@contextlib.contextmanager
def standing_still(daemon, file, step, begin):
    """Lets a daemon stand still at a step that begin() reaches, until the end of the block."""
    file.write_text(f"{step}:1:stop")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(begin)
        try:
            cairn.wait_until(step, lambda: stopped(daemon.process.pid))
            file.write_text("")
            yield under_way
        finally:
            file.write_text("")
            daemon.process.send_signal(signal.SIGCONT)
