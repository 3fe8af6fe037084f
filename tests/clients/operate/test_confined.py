"""The daemon confined: the sandbox is on by default, and root becomes another user."""

import ctypes
import os
import pwd
import random
import re
import shutil
import socket
import sqlite3
import tempfile
from pathlib import Path

import cairn
import pytest
import seccomp
import xet

EXIT_USAGE = 64
LIBC = ctypes.CDLL(None)
NICE = 10  # the niceness of background threads
NOBODY = "nobody"
SCHEMA = cairn.ROOT / "schema"
FIONREAD = 0x541B
CALLS = 600  # more than Linux has
CONNECTING = {"socket": (41, socket.AF_INET), "connect": (42,), "recvmmsg": (299,), "sendmmsg": (307,), "ioctl": (16, 0, FIONREAD)}
FILES = 80_000  # so many that SQLite does not sort their claims in memory
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def status_of(server):
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def parts_on(server):
    return {re.search(r'part="(\w+)"', k)[1] for k, v in server.metrics().items() if k.startswith("cairn_sandbox{") and v == 1}


@pytest.fixture
def open_folder():
    """A folder that other users can enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="cairn-confined-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_the_sandbox_is_on_by_default(start):
    """The log, /metrics and the kernel agree that the sandbox is on."""
    server = start()
    listening = server.events("listening")[0]
    on = parts_on(server)
    assert set(listening["sandbox"].split()) - {"none"} == on
    missing = "".join(e["missing"] for e in server.events("sandbox"))
    assert {p for p in ("files", "calls", "code") if p + " (" in missing} == {"files", "calls", "code"} - on
    status = status_of(server)
    if "calls" in on:
        assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"


def test_threads_have_names(start):
    """An operator sees the names in top -H. The sandbox allows each thread to set its own name."""
    server = start()
    tasks = Path(f"/proc/{server.process.pid}/task")
    wanted = {"cairnd", "worker", "disk", "long", "index-writer", "checkpoint", "housekeeping", "prover", "log", "sweeper"}
    # A thread sets its name when it runs for the first time.
    cairn.wait_until("names of threads", lambda: wanted <= {(task / "comm").read_text().strip() for task in tasks.iterdir()})


def test_the_prover_gives_way(start):
    """The thread that verifies claims uses disk (class 3: idle) and processor only when others do not, also within the sandbox."""
    server = start()
    tasks = Path(f"/proc/{server.process.pid}/task")

    def prover():
        return [task for task in tasks.iterdir() if (task / "comm").read_text().strip() == "prover"]

    def nice_of(task):
        return int((task / "stat").read_text().rsplit(")", 1)[1].split()[16])

    cairn.wait_until("the prover to give way", lambda: [nice_of(task) for task in prover()] == [NICE])
    assert {nice_of(task) for task in tasks.iterdir()} - {NICE} == {os.nice(0)}
    assert os.uname().machine != "x86_64" or LIBC.syscall(252, 1, int(prover()[0].name)) >> 13 == 3  # ioprio_get


def test_off(start):
    server = start(sandbox="off")
    assert server.events("listening")[0]["sandbox"] == "off" and parts_on(server) == set()
    assert not server.events("sandbox")


@pytest.mark.sqlite
@pytest.mark.files
def test_only_a_mirror_opens_connections(start):
    """Without a mirrored hub the daemon may make no call that connects. With one, it may make these calls and no others."""
    alone, mirror = start("alone"), start("mirror", mirror="http://127.0.0.1:1")
    of_alone, of_mirror = seccomp.filter_of(alone.process.pid), seccomp.filter_of(mirror.process.pid)
    if not (of_alone and of_mirror):
        pytest.skip("the kernel does not show the filter of another process")
    assert not any(seccomp.allows(of_alone, *call) for call in CONNECTING.values())
    assert all(seccomp.allows(of_mirror, *call) for call in CONNECTING.values())
    more = {number for number in range(CALLS) if seccomp.allows(of_mirror, number) and not seccomp.allows(of_alone, number)}
    assert more == {CONNECTING[name][0] for name in ("connect", "recvmmsg", "sendmmsg")}
    of_sanitizers = {"execve": 59, "ptrace": 101} if not cairn.is_sanitized() else {}  # those stop other threads, and start a program
    for call, number in {"bind": 49, "listen": 50, "fork": 57, **of_sanitizers}.items():
        assert not (seccomp.allows(of_alone, number) or seccomp.allows(of_mirror, number)), call


def test_migration_sorts_in_the_data_folder(start, tmp_path):
    """SQLite sorts a new database index in temporary files, and would put them into folders that the sandbox has closed."""
    data, source = tmp_path / "server" / "data", random.Random(1)
    data.mkdir(parents=True)
    db = sqlite3.connect(data / "index.sqlite")
    db.executescript("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL")
    for script in sorted(SCHEMA.glob("000[123]_*.sql")):
        db.executescript(script.read_text())
    db.executemany("INSERT INTO file VALUES(?, ?, ?, 0, x'', 0)", ((i, source.randbytes(32), source.randbytes(32)) for i in range(1, FILES + 1)))
    db.executescript("INSERT INTO file_owner SELECT id, 0 FROM file; PRAGMA user_version = 3")
    db.close()
    server = start()
    server.stop()
    db = sqlite3.connect(data / "index.sqlite")
    assert db.execute("SELECT count(*) FROM file_owner INDEXED BY file_owner_claim").fetchone() == (FILES,)
    db.close()
    assert not list(data.glob("*spill*"))


def test_relative_and_linked_folders(start, make, tmp_path, issuer):
    """Data and keys behind symbolic links stay accessible, and so do keys that are replaced by renaming."""
    real = tmp_path / "elsewhere"
    real.mkdir()
    key_folder = tmp_path / "mounted"
    key_folder.mkdir()
    (key_folder / "key").symlink_to(issuer.folder / "hs256")
    server = cairn.Daemon(tmp_path / "s", token_key=key_folder / "key")
    server.folder.mkdir()
    server.data.symlink_to(real)
    with server:
        xorb = make([9000], 1)
        assert server.put_xorb(xorb, token=issuer.token()).status == 200
        shard = xet.shard([xet.File([(xorb, 0, 1)])], [xorb])
        assert server.post("/v1/shards", shard, token=issuer.token()).status == 200
        fresh = issuer.folder / "fresh"
        fresh.write_bytes((issuer.folder / "hs256").read_bytes())
        fresh.chmod(0o600)
        fresh.rename(issuer.folder / "hs256")
        server.process.send_signal(1)
        cairn.wait_until("the keys to be read again", lambda: server.events("reload") or server.events("reload_failed"))
        assert server.events("reload"), server.log()
        assert server.request("HEAD", xorb.path(), token=issuer.token()).status == 200


@only_root
def test_root_becomes_a_user(open_folder, make):
    server = cairn.Daemon(open_folder / "s", user=NOBODY)
    server.folder.mkdir(mode=0o755)
    with server:
        nobody = pwd.getpwnam(NOBODY)
        status = status_of(server)
        assert status["Uid"].split() == [str(nobody.pw_uid)] * 4
        assert status["Gid"].split() == [str(nobody.pw_gid)] * 4
        assert status["Groups"].strip() == ""
        assert int(status["CapEff"], 16) == 0 and int(status["CapPrm"], 16) == 0
        assert not server.events("root")
        assert server.put_xorb(make([9000], 2)).status == 200
        assert server.data.stat().st_uid == nobody.pw_uid
    server.start()
    server.stop()


@only_root
def test_running_as_root_is_logged(start):
    assert start().events("root")


@only_root
def test_a_folder_of_somebody_else(open_folder):
    data = open_folder / "data"
    data.mkdir(mode=0o700)
    assert str(data) in cairn.refused(open_folder, "--listen", "127.0.0.1:0", "--data-dir", str(data), "--user", NOBODY)


@pytest.mark.parametrize(
    "arguments, rule",
    [
        (["--user", "no-such-user-x"], "no-such-user-x"),
        (["--user", NOBODY, "--group", "no-such-group-x"], "no-such-group-x"),
        (["--group", "nogroup"], "without user"),
        (["--user", "root"], "root"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_users_that_are_refused(tmp_path, arguments, rule):
    assert rule in cairn.refused(tmp_path, "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "d"), *arguments, code=EXIT_USAGE)
