"""Engines that several daemons can share, and daemons over them: PostgreSQL with two standbys, one of which must confirm each commit, and Ceph's S3
service. The scripts of tests/engines start them."""

import json
import os
import random
import secrets
import subprocess

from harness.bench import ROOT, LeftOut

SCRIPTS = ROOT / "tests/engines"


class Engines:
    """The engines: started here, or those named by the environment variables of the engines' tests. They sync, as in production."""

    def __init__(self, bench):
        self.bench, self.started, self.n_used = bench, [], 0
        bench.quiet.left_s = 0  # the engines themselves are never quiet
        self.variables = dict(os.environ)
        if "CAIRN_TEST_POSTGRES" in os.environ and "CAIRN_TEST_S3" in os.environ:
            return
        if bench.quick:
            raise LeftOut("engines take half a minute to start, and none are running")
        bench.tmp.chmod(0o755)  # the engines' user must be able to enter it
        self._start("replicas", str(random.randint(20000, 24000)), "on")
        self._start("ceph", str(random.randint(25000, 29000)))

    def _start(self, name, *arguments):
        folder = self.bench.tmp / name
        self.started.append((name, folder))
        done = subprocess.run([SCRIPTS / f"{name}.sh", "start", folder, *arguments], stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            self.stop()
            raise LeftOut(f"{name}.sh: {done.stderr.strip()}")
        for line in (folder / "environment").read_text().splitlines():
            self.variables |= dict(pair.split("=", 1) for pair in line.removeprefix("export ").split())

    def stop(self):
        for name, folder in self.started:
            subprocess.run([SCRIPTS / f"{name}.sh", "stop", folder])
        self.started = []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()

    def place(self):
        """@return the URLs of a new index and of a new store"""
        self.n_used += 1
        name = f"bench{os.getpid()}n{self.n_used}"
        endpoint = self.variables["CAIRN_TEST_S3"]
        return f"{self.variables['CAIRN_TEST_POSTGRES']}?schema={name}", f"s3://cairn/{name}?endpoint={endpoint}"

    def signed(self, sha256):
        """Options of curl that sign a request to S3. @param sha256  of the request's body, or the text that S3 accepts instead"""
        key = f"{self.variables['AWS_ACCESS_KEY_ID']}:{self.variables['AWS_SECRET_ACCESS_KEY']}"
        return {"aws-sigv4": "aws:amz:us-east-1:s3", "user": key, "header": [f"x-amz-content-sha256: {sha256}"]}


class Cluster:
    """Daemons that share an index and a store. A load uses them as one server, and spreads its connections over them."""

    syncs = None

    def __init__(self, engines, n, place=None, *options):
        bench = engines.bench
        place = place or engines.place()
        engines.n_used += 1  # daemons get new folders, too
        self.index, self.store = place
        secret = bench.tmp / "secret"
        if not secret.exists():
            secret.write_bytes(secrets.token_bytes(32))
            secret.chmod(0o600)
        options = ("--index", self.index, "--store", self.store, "--secret-file", str(secret), *options)
        self.daemons = []
        for i in range(n):
            self.daemons.append(bench.cairnd(bench.folder(f"daemon{engines.n_used}-{i}"), *options, env=engines.variables))
        self.port = ",".join(str(daemon.port) for daemon in self.daemons)

    def pids(self):
        return [daemon.pid for daemon in self.daemons]

    def cpu_s(self):
        return sum(daemon.cpu_s() for daemon in self.daemons)

    def settle(self):
        """Does not wait: the daemons poll for changes each second, so they never rest."""

    def metric(self, name):
        return sum(daemon.metric(name) for daemon in self.daemons)

    def get(self, path):
        return self.daemons[0].get(path)

    def stop(self):
        for daemon in self.daemons:
            daemon.stop()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()


def bare_postgres(bench, kind, index, seconds, *numbers):
    """Runs bench_postgres.c in the schema of an index. @return requests a second"""
    url, schema = index.split("?schema=")
    url += f"?target_session_attrs=read-write&options=-csearch_path%3D{schema}%20-cplan_cache_mode%3Dforce_generic_plan%20-cjit%3Doff"
    argv = [bench.program("bench_postgres"), kind, url, str(seconds), *map(str, numbers)]
    out = json.loads(subprocess.check_output(argv, text=True))
    return out["requests"] / out["seconds"]
