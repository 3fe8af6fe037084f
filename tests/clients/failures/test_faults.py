"""The disk fails, is full, or writes less than asked, at each call in turn. What was acknowledged stays, the answer is an error that clients retry, and the
daemon goes on when the disk does."""

import hashlib
import random
import sqlite3

import cairn
import hf_client
import plans
import pytest
from faults import CALLS, EINTR, EIO, ENOSPC, FOR_EVER, SHORT, TWICE, WRITING, Faults
from hub_calls import account, make_key
from ledger import GONE, Ledger, name, new_file
from visitors import Visitor

RETRIED = {500, 503, 507}  # stock clients try these again, up to five times
AT_MOST = 200  # more calls than one round of work makes


class Refused(Exception):
    """One request of several was refused with a status that clients retry."""


class Asking:
    def __init__(self, server):
        self.server = server

    def get(self, path, **more):
        reply = self.server.get(path, **more)
        if reply.status in RETRIED:
            raise Refused(reply.status)
        return reply


class Work:
    """Rounds of work: upload a file, fetch one, forget the one before, collect. Each round can be repeated until all of it has succeeded."""

    def __init__(self, folder, clock, **options):
        self.faults = Faults(folder, test_clock=clock.path, epoch="60s", gc_grace="120s", **options)
        self.server, self.ledger, self.clock = self.faults.server, Ledger(), clock
        self.now = self.n = self.refused = 0
        self.last, self.kept = None, new_file(0, xorbs=2)

    def begin(self):
        self.server.start()
        assert self.ledger.upload(self.server, self.kept).status == 200

    def answer(self, ask, *args):
        """@return the status, 200 or one that clients retry; None: the connection was cut"""
        try:
            status = ask(*args).status
        except GONE:
            return None
        except Refused as refused:
            status = refused.args[0]
        assert status == 200 or status in RETRIED, (ask, status)
        self.refused += status != 200
        return status

    def round(self, file, old):
        """@return the statuses of one round; a file that was forgotten already counts as 200"""
        steps = [(self.ledger.upload, self.server, file), (self.fetch, self.kept)]
        if old:
            steps.append((self.forget, old))
        steps.append((self.server.post, "/v1/gc"))
        return [self.answer(*step) for step in steps]

    def forget(self, file):
        reply = self.ledger.forget(self.server, file)
        reply.status = 200 if reply.status == 404 else reply.status
        return reply

    def fetch(self, file):
        asking = Asking(self.server)
        reply = asking.get(f"/v2/reconstructions/{name(file)}")
        if reply.status == 200:
            assert plans.download(asking, reply.json()) == plans.content(file), "wrong bytes"
        return reply

    def try_with(self, calls, action, first, last):
        """Runs a round while these calls fail, then again without faults. @return how many calls failed"""
        self.n += 1
        file, old, self.last = new_file(self.n), self.last, None
        self.now += 200
        self.clock.move(self.now)
        self.ledger.xorbs.clear()  # of unfinished uploads, which are collected when they are old enough
        self.faults.arm(calls, action, first, last)
        self.round(file, old)
        fired = self.faults.disarm()
        assert self.server.process.poll() is None, self.server.log()[-3000:]
        assert self.round(file, old) == [200] * (4 if old else 3), "the work succeeds when the disk works again"
        self.last = file
        return fired


@pytest.fixture
def work(tmp_path, clock, request):
    w = Work(tmp_path / "faults", clock, **getattr(request, "param", {}))
    w.begin()
    yield w
    w.ledger.check(w.server)
    w.server.kill()
    w.server.start()
    w.ledger.xorbs.clear()
    w.ledger.check(w.server)
    w.server.stop()
    assert w.server.left_overs() == []


def sweep(work, calls, action, last=None):
    """Makes the n-th call fail, for n = 1, 2, ... until there is no n-th call. @return how many calls there were"""
    work.try_with([], action, 1, 1)
    before = None
    for n in range(1, AT_MOST):
        if work.try_with(calls, action, n, last or n) == 0:
            # The pool may have opened one more connection for reading, of two descriptors, and the figures after a collection another one.
            assert work.faults.descriptors() <= before + 4, "descriptors leak"
            return n - 1
        before = before or work.faults.descriptors()
    raise AssertionError("there is no end to it")


def test_one_call_fails(work):
    assert sweep(work, CALLS, EIO) > 20
    assert work.refused > 10


def test_no_room_for_one_call(work):
    assert sweep(work, WRITING, ENOSPC) > 10
    assert work.refused > 5


def test_no_room_from_one_call_on(work):
    sweep(work, WRITING, ENOSPC, last=FOR_EVER)
    assert work.refused > 5


def test_disk_dies_at_one_call(work):
    sweep(work, CALLS, EIO, last=FOR_EVER)
    assert work.refused > 10


def test_short_and_interrupted_calls(work):
    """Short and interrupted calls are no errors, so no client sees them."""
    sweep(work, {"write", "pwrite", "read", "pread"}, SHORT)
    sweep(work, {"write", "pwrite", "read", "pread"}, EINTR)
    assert work.refused == 0


def test_every_call_is_interrupted_once(work):
    """The calls of a start, an upload, a download and a collection."""
    server = work.server
    server.stop()
    work.faults.arm(set(CALLS) - {"sendfile", "mmap"}, TWICE, 1, FOR_EVER)  # sendfile is called only by the HTTP library, mmap only by SQLite and is never interrupted
    server.start()
    file = new_file(1)
    for old in (None, file):
        assert work.round(new_file(1 if old is None else 2), old) == [200] * (4 if old else 3)
    work.last = new_file(2)
    server.stop()
    assert work.faults.disarm() > 200
    said = [line for line in server.log().splitlines() if line.startswith("faults:")]
    server.start()
    own = f"faults: call {CALLS.index('fdatasync')} of  "  # SQLite ignores whether this sync of the folder works; Cairn syncs the folder itself
    assert [line for line in said if not line.startswith(own)] == []


@pytest.mark.parametrize("work", [{"idle_timeout": "1s"}], indirect=True)
def test_disk_dies_in_the_middle_of_an_object(work):
    """The HTTP library takes a short sendfile() for a full socket and waits for the client. The idle timeout ends that."""
    assert work.answer(work.fetch, work.kept) == 200  # from now on the object counts as verified, and is sent without reading it first
    work.faults.arm({"sendfile"}, SHORT, 1, 1)
    assert work.answer(work.fetch, work.kept) is None, "the connection was cut"
    assert work.faults.disarm() == 1
    assert work.answer(work.fetch, work.kept) == 200


@pytest.mark.parametrize("action", [EIO, ENOSPC])
def test_stock_client_tries_again(work, tmp_path, action):
    """The client notices nothing if the disk is well again before its sixth try."""
    path = tmp_path / "file"
    path.write_bytes(random.Random(action).randbytes(200_000))
    work.faults.arm({"write", "fsync", "fdatasync"}, action, 2, 4)
    [info] = hf_client.upload(work.server, tmp_path / "up", [path], client_retry_base_delay="10ms")
    assert work.faults.disarm() == 3
    work.faults.arm({"pread", "open", "sendfile"}, action, 2, 3)
    [got] = hf_client.download(work.server, tmp_path / "down", [{"hash": info["hash"], "size": 200_000, "how": "file"}], client_retry_base_delay="10ms")
    assert work.faults.disarm() == 2
    assert got == {"bytes": 200_000, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def test_disk_dies_while_the_log_is_folded_in(tmp_path):
    """The kernel reports a lost page only once. So the log is kept whole until the next start, and uploads are refused until then."""
    faults, ledger = Faults(tmp_path / "faults"), Ledger()
    server = faults.server.start()
    assert ledger.upload(server, new_file(1)).status == 200
    index = sqlite3.connect(server.data / "index.sqlite", isolation_level=None)
    index.execute("PRAGMA wal_autocheckpoint = 0")
    index.execute("PRAGMA synchronous = OFF")
    for _ in range(33_000):  # pages of log, so that a checkpoint is due
        index.execute("UPDATE state SET probes = probes + 1")
    index.close()
    faults.arm({"fdatasync"}, EIO, 2, 2)  # the first one is the commit's own
    assert server.get("/ready").status == 200
    cairn.wait_until("the failure", lambda: server.events("index_checkpoint_failed"))
    assert faults.disarm() == 1
    cairn.wait_until("/ready", lambda: server.get("/ready").status == 503)
    cairn.is_error(server.get("/ready"), 503, "index.checkpoint")
    assert ledger.upload(server, new_file(2)).status == 200
    assert len(server.events("index_checkpoint_failed")) == 1
    server.stop()
    assert (server.data / "index.sqlite-wal").stat().st_size > 125 << 20
    server.start()
    assert server.get("/ready").status == 200
    ledger.check(server)
    server.stop()
    assert not (server.data / "index.sqlite-wal").exists()


def test_start(tmp_path, clock):
    """A start that meets a fault ends with an error, or goes on. The next start finds everything acknowledged."""
    work = Work(tmp_path / "faults", clock)
    server, refused = work.server, 0
    for n in range(1, AT_MOST):
        work.faults.arm(CALLS, EIO, n, n)
        try:
            server.start()
        except AssertionError:
            refused += 1
            assert server.process.returncode == 1 and "cannot" in server.log().lower(), (n, server.process.returncode, server.log())
            continue
        fired = work.faults.disarm()
        assert work.ledger.upload(server, new_file(n)).status == 200
        server.kill()
        if not fired and n > 1:
            break
    assert refused > 10
    server.start()
    work.ledger.check(server)
    server.stop()


def test_a_failed_sign_in_is_answered_by_an_error(issuer, tmp_path):
    """A sign-in that the disk keeps from its work does not lead on as if it had been done."""
    faults = Faults(tmp_path / "pages", token_key=issuer.folder)
    with faults.server as server:
        account(server, issuer.token("admin"), "ann")
        key = make_key(server, issuer.token("admin"), account="ann", scope="write")["key"]
    with faults.server as server:  # its caches are empty
        faults.arm(CALLS, EIO, 1, FOR_EVER)
        reply = Visitor(server).send("/login", key=key)
        assert faults.disarm() > 0
        assert reply.status in (500, 503) and "Location" not in reply.headers and b"That was not done" in reply.body, reply
        Visitor(server).sign_in(key)
