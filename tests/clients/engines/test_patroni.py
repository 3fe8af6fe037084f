"""Daemons over three PostgreSQL servers, of which Patroni makes one the leader. As test_failover.py, but the agent finds out by itself that the leader is
gone. Started by tests/engines/failover.sh, where Patroni is installed."""

import contextlib
import os
import subprocess

import cairn
import cluster
import pytest
from fails_over import Work

PATRONI = os.environ.get("CAIRN_TEST_PATRONI")
SCRIPT = cairn.ROOT / "tests/engines/patroni.sh"

pytestmark = pytest.mark.skipif(not PATRONI, reason="tests/engines/failover.sh starts what it takes")


def patroni(*command, timeout=120):
    done = subprocess.run([SCRIPT, command[0], PATRONI, *map(str, command[1:])], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commits():
    with contextlib.suppress(subprocess.TimeoutExpired):
        return subprocess.run([SCRIPT, "probe", PATRONI], capture_output=True, timeout=3).returncode == 0
    return False


def counts_agree(server):
    schema = cairn.postgres_url(server.data).split("schema=")[1]
    statement = f'SET search_path TO "{schema}"; {cluster.COUNTS_AGREE}'
    return patroni("sql", patroni("leader"), statement).split("\n")[1] == "t"


class PatientWork(Work):
    """Uploads with the stock client again and again, because a failover of half a minute is longer than the client retries."""

    n_again = 0

    def send_by_client(self, path):
        while True:
            try:
                return super().send_by_client(path)
            except AssertionError as failed:
                assert "503 Service Unavailable" in str(failed), failed
                self.n_again += 1


def test_leader_is_killed(tmp_path, three, capsys):  # noqa: F811
    """Another server leads once the leader's lease is over. The former leader comes back as a standby."""
    with PatientWork(three, tmp_path, commits) as work:
        former = patroni("leader")
        patroni("kill", former)
        work.go_on()
        assert patroni("leader") != former
        patroni("revive", former)
        patroni("whole")
        work.go_on()
    work.judge(capsys, "Patroni's leader killed")
    with capsys.disabled():
        print(f", the stock client was begun again {work.n_again} times", end="")
    assert counts_agree(three)
