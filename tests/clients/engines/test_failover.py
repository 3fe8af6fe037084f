"""Engines lose a part of themselves while daemons work. Nothing acknowledged is lost, and nothing hangs. Each test prints for how long nothing was
acknowledged, beside the engine's own outage. The engines are real; tests/engines/failover.sh starts them."""

import concurrent.futures
import contextlib
import os
import signal
import subprocess
from pathlib import Path

import cairn
import cluster
import ledger
import pytest
from fails_over import Work

REPLICAS = os.environ.get("CAIRN_TEST_REPLICAS")
CEPH = os.environ.get("CAIRN_TEST_CEPH")
pytestmark = pytest.mark.skipif(not (REPLICAS and CEPH and cluster.HAPROXY.exists()), reason="tests/engines/failover.sh starts what it takes")


def postgres(*command, timeout=60):
    script = cairn.ROOT / "tests/engines/replicas.sh"
    done = subprocess.run([script, command[0], REPLICAS, *map(str, command[1:])], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def ceph(*command, timeout=120):
    script = cairn.ROOT / "tests/engines/ceph.sh"
    done = subprocess.run([script, command[0], CEPH, *command[1:]], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr


def leader():
    with open(f"{REPLICAS}/leader") as file:
        return int(file.read())


def standbys():
    return [n for n in range(3) if n != leader()]


def asks_postgres():
    """Commits a row of its own on whichever server leads."""
    script = cairn.ROOT / "tests/engines/replicas.sh"
    with contextlib.suppress(subprocess.TimeoutExpired):
        return subprocess.run([script, "probe", REPLICAS], capture_output=True, timeout=3).returncode == 0
    return False


def asks_s3(bucket):
    def ask():
        with contextlib.suppress(*ledger.GONE):
            return bucket.request("PUT", "probe", body=b"x", timeout=3)[0] == 200
        return False

    return ask


@pytest.fixture
def replicas():
    """Makes sure that all three servers run, before a test and after it."""
    yield
    for n in range(3):
        with contextlib.suppress(AssertionError):
            postgres("resume", n)
    for n in standbys():
        postgres("follow", n)
    postgres("whole")


@pytest.fixture
def work(three, tmp_path):
    return Work(three, tmp_path, asks_postgres)


def sql(server, statement):
    schema = cairn.postgres_url(server.data).split("schema=")[1]
    return postgres("sql", leader(), f'SET search_path TO "{schema}"; {statement}').split("\n")[1]


def counts_agree(server):
    """Are the counters equal to the counts of the tables, whichever server led when they were written?"""
    return sql(server, cluster.COUNTS_AGREE) == "t"


def test_leader_is_killed(replicas, three, work, capsys):
    with work:
        postgres("kill", leader())
        postgres("promote")
        work.go_on()
    work.judge(capsys, "leader killed")
    assert counts_agree(three)


def test_leader_is_cut_off(replicas, three, work, capsys):
    """The old leader does not know that it was replaced. When it runs again, it acknowledges nothing to anybody."""
    with work:
        former = leader()
        postgres("pause", former)
        postgres("promote")
        work.go_on()
        postgres("resume", former)
        work.go_on()
        postgres("follow", former)
        work.go_on()
    work.judge(capsys, "leader cut off, and back")
    assert counts_agree(three)


def test_leader_is_demoted(replicas, three, work, capsys):
    with work:
        postgres("switch")
        work.go_on()
    work.judge(capsys, "leader demoted")
    assert counts_agree(three)


def test_a_standby_is_lost(replicas, three, work, capsys):
    """One standby is enough. Without any, nothing is acknowledged, and reads go on."""
    one, other = standbys()
    with work:
        postgres("kill", one)
        work.go_on()
        postgres("kill", other)
        cairn.wait_until("the end of commits", lambda: three.daemons[0].get("/ready").status == 503)
        files = sum(work.files())
        read = next(iter(work.books[0].files.values()))
        assert ledger.read(three, read)
        assert sum(work.files()) == files
        postgres("revive", other)
        work.go_on()
    work.judge(capsys, "standbys lost")
    assert counts_agree(three)


def waiting(do="count(*)"):
    """Counts the daemons' commits that wait for a standby, or selects another SQL expression of them."""
    return postgres("sql", leader(), f"SELECT {do} FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'cairn'")


def lose_leader(daemon):
    """Replaces the leader by a standby that was down while the leader wrote. Returns when the daemon has found the new leader."""
    away = standbys()
    postgres("kill", leader())
    for n in away:
        postgres("revive", n)
    postgres("promote")
    cairn.wait_until("the index", lambda: daemon.get("/ready").status == 200)


def test_a_commit_without_a_standby_is_not_acknowledged(replicas, three):
    """The commit is visible, and a client that sends it again finds everything known. Even so it is answered 503. Then the only server that has it is lost."""
    file, book = ledger.new_file("unreplicated"), ledger.Ledger()
    first = three.daemons[0]
    assert book.put_xorb(first, file.terms[0][0]).status == 200
    for n in standbys():
        postgres("kill", n)
    for _ in range(2):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(book.put_shard, first, file)
            cairn.wait_until("the commit", lambda: asked.done() or waiting() != "0")
            waiting("pg_terminate_backend(pid)")
            assert asked.result().status == 503
        assert ledger.read(first, file), "the commit is visible"
    lose_leader(first)
    assert not ledger.read(first, file), "the new leader has the commit, so the test shows nothing"
    book.check(three)
    assert book.upload(three, file).status == 200
    for daemon in three.daemons:
        book.check(daemon)


def stands_still(daemon):
    return Path(f"/proc/{daemon.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_a_commit_lost_with_its_leader_is_not_acknowledged(replicas, tmp_path):
    """The commit is visible but on no standby when the leader is lost, so the new leader does not have it. Nobody gets an acknowledgement, whether the
    daemon was waiting for a standby or had not asked for one yet."""
    sent, waits, book = ledger.new_file("ahead"), ledger.new_file("waits"), ledger.Ledger()
    crash = tmp_path / "crash"
    crash.write_text("")
    three = cluster.Cluster(tmp_path / "three", variables={"CAIRND_CRASH_FILE": str(crash)}).start()
    first, second = three.daemons[:2]
    for file in (sent, waits):
        assert book.put_xorb(first, file.terms[0][0]).status == 200
    for n in standbys():
        postgres("kill", n)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        crash.write_text("index-ahead:1:stop")
        asked = [pool.submit(book.put_shard, first, sent)]
        cairn.wait_until("the commit", lambda: stands_still(first))
        crash.write_text("")
        asked.append(pool.submit(book.put_shard, second, waits))
        cairn.wait_until("the rows", lambda: all(ledger.read(second, file) for file in (sent, waits)))
        lose_leader(second)
        os.kill(first.process.pid, signal.SIGCONT)
        assert [each.result().status for each in asked] == [503, 503]
    assert not any(ledger.read(second, file) for file in (sent, waits)), "the new leader has a commit, so the test shows nothing"
    for file in (sent, waits):
        assert book.upload(three, file).status == 200
    for daemon in three.daemons:
        book.check(daemon)
    assert counts_agree(three)
    three.stop()


def test_daemons_are_killed(replicas, three, work, capsys):
    """One daemon is killed during uploads, then two of the three at once."""
    with work:
        three.daemons[0].kill()
        work.go_on()
        three.daemons[1].kill()
        work.go_on()
        for i in range(2):
            three.revive(i)
        work.go_on()
    work.judge(capsys, "daemons killed")
    assert counts_agree(three)


@pytest.fixture
def osds():
    yield
    for name in ("osd0", "osd1", "osd2"):
        ceph("resume", name)
    ceph("whole")


@pytest.fixture
def store_work(three, tmp_path):
    return Work(three, tmp_path, asks_s3(three.bucket()))


def test_osd_is_killed(osds, three, store_work, capsys):
    with store_work as work:
        ceph("kill", "osd0")
        work.go_on()
        ceph("revive", "osd0")
    work.judge(capsys, "OSD killed")


def test_osd_is_cut_off(osds, three, store_work, capsys):
    with store_work as work:
        ceph("pause", "osd1")
        work.go_on()
        ceph("resume", "osd1")
        work.go_on()
    work.judge(capsys, "OSD cut off")


def test_below_min_size(osds, three, store_work, capsys):
    """Two of the three replicas of an object cannot be written. Uploads are refused with that reason, and go on when one is back."""
    with store_work as work:
        for name in ("osd0", "osd1"):
            ceph("pause", name)
        cairn.wait_until("the end of uploads", lambda: three.daemons[0].get("/ready").status == 503)
        for name in ("osd0", "osd1"):
            ceph("resume", name)
        work.go_on()
    work.judge(capsys, "below min_size")
