"""The clock of the PostgreSQL server is wrong while daemons work: it was set by hand, or the new leader has another clock. Nothing is lost."""

import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import cairn
import cluster
import ledger
import pytest
from clocks import LIBRARY
from cluster import files_of, standing_still

GRACE, HOUR = 120, 3600
NONE = not (cairn.ENGINE and cairn.INDEX and cairn.STORE == "s3" and cluster.HAPROXY.exists())
pytestmark = pytest.mark.skipif(NONE, reason="that takes CAIRN_INDEX=postgres, CAIRN_STORE=s3 and haproxy")


class Database:
    """A PostgreSQL server of this test, whose clock is some seconds off. The user that it runs as can read its folders."""

    def __init__(self, folder):
        folder.chmod(0o755)
        self.folder, self.file, library = folder / "postgresql", folder / "shift", folder / LIBRARY.name
        shutil.copy(LIBRARY, library)
        library.chmod(0o755)
        self.set(0)
        self.file.chmod(0o644)
        self.environment = os.environ | {"LD_PRELOAD": str(library), "SHIFT_CLOCK": str(self.file)}
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.run("start", port)
        self.url = f"postgres://cairn@127.0.0.1:{port}/cairn?schema=shifted"

    def run(self, command, *more):
        script = cairn.ROOT / "tests/engines/postgresql.sh"
        done = subprocess.run([script, command, self.folder, *map(str, more)], env=self.environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def sql(self, statement):
        return self.run("sql", f"SET search_path TO shifted; {statement}").split("\n")[1]

    def set(self, seconds):
        with open(self.file, "r+b" if self.file.exists() else "w+b") as file:
            file.write(struct.pack("=q", seconds))

    def step(self, seconds):
        """Moves the clock while the server runs."""
        self.set(seconds)

    def fail_over(self, seconds):
        """Replaces the server by one with the same data and another clock."""
        self.run("kill")
        self.set(seconds)
        self.run("revive")

    def ahead(self):
        return float(self.sql("SELECT extract(epoch FROM clock_timestamp())")) - time.time()

    def let_pass(self, seconds):
        self.sql(f"UPDATE xorb SET at = at - {seconds}, retired = retired - {seconds}; SELECT 1")


@pytest.fixture
def database():
    with tempfile.TemporaryDirectory() as folder:
        one = Database(Path(folder))
        yield one
        one.run("stop")


def collect(daemons, seconds=30):
    cairn.wait_until("a collection", lambda: any(daemon.post("/v1/gc").status == 200 for daemon in daemons), seconds)


@pytest.mark.parametrize("how", ["step", "fail_over"])
@pytest.mark.parametrize("hours", [-1, 1])
def test_the_clock_jumps_by_an_hour(tmp_path, database, hours, how):
    """The clock jumps by an hour during a collection. Uploads go on. Nothing is collected until the clocks agree again; then everything that is due is."""
    crash, book = tmp_path / "crash", ledger.Ledger()
    crash.write_text("")
    variables = {"CAIRN_INDEX": database.url, "CAIRND_CRASH_FILE": str(crash)}
    one = cluster.Cluster(tmp_path / "two", n=2, variables=variables, epoch="60s", gc_grace=f"{GRACE}s").start()
    first, second = one.daemons
    kept, gone = files_of(range(380, 383)), files_of(range(383, 386))
    for file in kept + gone:
        assert book.upload(first, file).status == 200
    for file in gone:
        assert book.forget(first, file).status == 200
        del book.xorbs[file.terms[0][0].hash]
    database.let_pass(GRACE + 1)
    with standing_still(first, crash, "gc-marked", lambda: first.post("/v1/gc", timeout=60)) as under_way:
        getattr(database, how)(hours * HOUR)
        assert abs(database.ahead() - hours * HOUR) < 5
        cluster.soon("a clock that is off", lambda: "index.clock" in second.get("/ready").body.decode(), 10)
        assert cairn.is_error(second.post("/v1/gc"), 409, "index.clock")
        cairn.wait_until("an upload", lambda: book.upload(second, ledger.new_file(386)).status == 200)
    assert under_way.result().status in (200, 503)
    cluster.soon("a clock that is off", lambda: "index.clock" in first.get("/ready").body.decode(), 10)
    for daemon in one.daemons:
        assert cairn.is_error(daemon.post("/v1/gc"), 409, "index.clock")
        assert book.upload(daemon, ledger.new_file(387 + daemon.port)).status == 200
        book.check(daemon)
    assert len(one.bucket().objects()) == len(kept + gone) + 3
    getattr(database, how)(0)
    for daemon in one.daemons:
        cluster.soon("the clock", lambda daemon=daemon: daemon.get("/ready").status == 200, 10)
    for _ in range(2):
        database.let_pass(GRACE + 1)
        collect(one.daemons)
    assert len(one.bucket().objects()) == len(kept) + 3
    for daemon in one.daemons:
        book.check(daemon)
    one.stop()
