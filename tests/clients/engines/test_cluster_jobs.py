"""Work that one daemon does for all that share an index. Every daemon reports which one does it, and another continues it when that one is gone."""

import concurrent.futures
import signal
import socket

import cairn
import cluster
import pytest
import xet
from cluster import let_pass, standing_still
from visitors import Operator

GRACE = 120
XORBS, CHUNK = 40, 120_000  # 14 MB: 14 seconds at the lowest rate of a scrub
NONE = not (cairn.ENGINE and cairn.INDEX and cairn.STORE == "s3" and cluster.HAPROXY.exists())

pytestmark = pytest.mark.skipif(NONE, reason="that takes CAIRN_INDEX=postgres, CAIRN_STORE=s3 and haproxy")


def put(one, make, n, size=CHUNK, token=None):
    made = [make([size] * 3, 100 + i) for i in range(n)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert {reply.status for reply in pool.map(lambda x: one.put_xorb(x, token=token), made)} == {200}
    for x in made:
        assert one.post("/v1/shards", xet.shard([xet.File([(x, 0, 3)])], [x]), token=token).status == 200


def name(daemon):
    return f"{socket.gethostname()}:{daemon.port}"


def status(daemon):
    return daemon.get("/v1/scrub").json()


def looked_at(daemon):
    return daemon.metrics()["cairn_scrub_xorbs_total"]


def begun(one, make):
    """Starts a scrub and waits until every daemon reports that some xorbs were read. @return the daemon that scrubs, and another one"""
    put(one, make, XORBS)
    assert one.daemons[0].post("/v1/scrub/start").json()["now"]["xorbs"] == 0
    cairn.wait_until("all daemons to report progress", lambda: all((status(daemon)["now"] or {}).get("xorbs", 0) >= 2 for daemon in one.daemons))
    (told,) = {status(daemon)["daemon"] for daemon in one.daemons}
    (runner,) = [daemon for daemon in one.daemons if name(daemon) == told]
    return runner, next(daemon for daemon in one.daemons if daemon is not runner)


def ended(daemons, started, seconds=40):
    """Waits for the end of the scrub, which all daemons report."""
    for daemon in daemons:
        cairn.wait_until("the end of the scrub", lambda daemon=daemon: status(daemon)["now"] is None, seconds)
        last = status(daemon)["last"]
        assert (last["xorbs"], last["started"], last["whole"]) == (XORBS, started, True)
        assert [last[n] for n in ("damaged", "mended", "lost", "unread")] == [0, 0, 0, 0]
        assert status(daemon)["state"] == "off" and status(daemon)["daemon"] is None


def test_every_daemon_gets_the_order_to_scrub(start_cluster, make):
    """Every daemon gets the order to scrub at once. Everything is read only once."""
    one = start_cluster()
    put(one, make, XORBS, size=9000)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        replies = [reply.json() for reply in pool.map(lambda daemon: daemon.post("/v1/scrub/start?within=1"), one.daemons)]
    (started,) = {reply["now"]["started"] for reply in replies}
    ended(one.daemons, started)
    assert sum(looked_at(daemon) for daemon in one.daemons) == XORBS


def test_the_scrubbing_daemon_is_killed(start_cluster, make):
    """Another daemon continues the scrub from the same place."""
    one = start_cluster(n=2)
    runner, other = begun(one, make)
    started = status(other)["now"]["started"]
    runner.kill()
    assert status(other)["now"]["xorbs"] >= 2
    cairn.wait_until("another daemon to scrub", lambda: status(other)["daemon"] == name(other))
    assert other.post("/v1/scrub/start?within=1").json()["now"]["started"] == started
    ended([other], started)
    assert 0 < looked_at(other) <= XORBS - 2
    runner.start()
    assert status(runner)["last"] == status(other)["last"]


def test_the_scrubbing_daemon_stands_still(start_cluster, make):
    """Another daemon takes the scrub over. The first one leaves it to that daemon when it runs again."""
    one = start_cluster(n=2)
    runner, other = begun(one, make)
    started = status(other)["now"]["started"]
    runner.process.send_signal(signal.SIGSTOP)
    try:
        cairn.wait_until("another daemon to scrub", lambda: status(other)["daemon"] == name(other))
    finally:
        runner.process.send_signal(signal.SIGCONT)
    cluster.soon("word of it", lambda: status(runner)["daemon"] == name(other), 8)
    assert runner.metrics()["cairn_job_running{job=\"scrub\"}"] == 0 and other.metrics()["cairn_job_running{job=\"scrub\"}"] == 1
    n = looked_at(runner)
    assert runner.post("/v1/scrub/start?within=1").json()["now"]["started"] == started
    ended(one.daemons, started)
    assert looked_at(runner) == n


def test_another_daemon_pauses_the_scrub(start_cluster, make):
    """A daemon that does not scrub itself can pause the scrub and resume it. A daemon that starts meanwhile obeys, too."""
    one = start_cluster(n=2)
    runner, other = begun(one, make)
    started = status(other)["now"]["started"]
    assert other.post("/v1/scrub/pause").json()["state"] == "paused"
    cluster.soon("the pause", lambda: status(runner)["state"] == "paused", 5)
    cluster.soon("its place", lambda: status(runner)["now"] == status(other)["now"], 5)
    runner.stop()
    runner.start()
    assert status(runner)["state"] == "paused" and status(runner)["now"]["xorbs"] >= 2
    assert looked_at(runner) == 0
    assert other.post("/v1/scrub/start?within=1").json()["now"]["within_s"] == 1
    ended(one.daemons, started)


def test_every_daemon_tells_the_progress(tmp_path, start_cluster, issuer, make):
    """Every daemon reports the progress of a scrub and of a collection, whichever daemon runs them."""
    crash = tmp_path / "crash"
    crash.write_text("")
    begin = lambda **options: start_cluster(n=2, epoch="60s", gc_grace=f"{GRACE}s", variables={"CAIRND_CRASH_FILE": str(crash)}, **options)
    operator = Operator(begin, issuer, tmp_path / "home")
    one, admin = operator.server, operator.admin
    first, second = one.daemons
    jobs = lambda daemon: {job["name"]: job for job in daemon.get("/v1/jobs", token=admin).json()["jobs"]}
    put(one, make, XORBS, token=admin)
    assert [job["running"] for job in jobs(second).values()] == [False] * 4
    assert first.post("/v1/scrub/start", token=admin).status == 200
    for daemon in one.daemons:
        cluster.soon("where", lambda daemon=daemon: jobs(daemon)["scrub"].get("daemon") == name(first), 5)
        assert jobs(daemon)["scrub"]["total"] > 0
    for _ in one.daemons:  # each daemon in turn
        assert f"Under way at {name(first)}" in operator.row("Scrub")
    assert first.post("/v1/scrub/pause", token=admin).status == 200
    cluster.soon("the pause", lambda: not jobs(second)["scrub"]["running"], 5)
    let_pass(one, GRACE + 1)
    with standing_still(first, crash, "gc-marked", lambda: first.post("/v1/gc", token=admin, timeout=60)):
        cluster.soon("where", lambda: jobs(second)["collection"].get("daemon") == name(first), 5)
        told = jobs(second)["collection"]
        assert (told["running"], told["step"], told["done"], told["total"]) == (True, None, 0, 0) and told["started"] > 0
    for daemon in one.daemons:
        cluster.soon("the end", lambda daemon=daemon: not jobs(daemon)["collection"]["running"], 5)
