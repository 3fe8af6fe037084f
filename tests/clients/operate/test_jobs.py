"""The progress of long jobs, reported to programs (/v1/jobs, the metrics) and on the operator's page. The job stands still at a known place meanwhile. The
unit test "garbage" looks at a collection between all its steps."""

import threading

import cairn
import pytest
from backups import piped, register
from faults import FOR_EVER, HOLD, Faults
from visitors import Operator

pytestmark = pytest.mark.files
GRACE, EVERY = 120, 240  # seconds


@pytest.fixture
def held(tmp_path, issuer, clock):
    """A server whose system calls can be held, so that a job stands still."""
    made = []

    def begin(**options):
        made.append(Faults(tmp_path / "faults", test_clock=clock.path, epoch="60s", gc_grace=f"{GRACE}s", gc_schedule=f"{EVERY}s", scrub_period="0", **options))
        return made[0].server.start()

    operator = Operator(begin, issuer, tmp_path / "home")
    operator.faults = made[0]
    yield operator
    operator.faults.disarm()
    operator.server.stop()


def test_a_packing(held, make):
    server = held.server
    for seed in range(4):
        assert server.put_xorb(make([9000], seed), token=held.admin).status == 200
    assert [job["running"] for job in held.jobs().values()] == [False] * 4
    held.faults.arm({"unlink"}, HOLD, 1, FOR_EVER)
    assert server.post("/v1/packs?name=cold.shard", token=held.admin).status in (200, 202)
    cairn.wait_until("the removal", lambda: held.jobs()["packing"].get("unit") == "xorbs")
    told = held.jobs()["packing"]
    assert (told["running"], told["unit"], told["done"], told["total"]) == (True, "xorbs", 0, 4), told
    assert "0 of 4 xorbs (0 %)" in held.row("Packing") and held.bar() == (0, "packing")
    assert held.metric("done_ratio", "packing") == 0
    held.faults.disarm()
    cairn.wait_until("the end of the packing", lambda: not held.jobs()["packing"]["running"])
    assert "done" in held.row("Packing")


def test_a_collection(held, make, clock):
    """A requested collection stands still where it records the first xorbs. A scheduled one stands still where it removes the first object."""
    server, replies = held.server, []
    for seed in range(4):
        assert server.put_xorb(make([9000], seed), token=held.admin).status == 200
    clock.move(GRACE + 10)
    held.faults.arm({"pwrite"}, HOLD, 1, FOR_EVER)
    asks = threading.Thread(target=lambda: replies.append(server.post("/v1/gc", token=held.admin)))
    asks.start()
    cairn.wait_until("the writing", lambda: held.faults.fired() > 0)
    told = held.jobs()["collection"]
    assert (told["running"], told["step"], told["done"], told["total"]) == (True, "looks at each xorb", 0, 4) and told["started"] > 0, told
    assert "Under way" in held.row("Collection") and "looks at each xorb (0 %)" in held.row("Collection") and held.bar() == (0, "collection")
    assert (held.metric("running", "collection"), held.metric("done_ratio", "collection")) == (1, 0)
    held.faults.disarm()
    asks.join()
    assert replies[0].json()["retired"] == 4
    assert not held.jobs()["collection"]["running"] and "Under way" not in held.row("Collection")

    held.faults.arm({"unlink"}, HOLD, 1, FOR_EVER)
    clock.move(GRACE + 10 + EVERY + EVERY // 5)
    cairn.wait_until("the removal", lambda: held.faults.fired() > 0)
    told = held.jobs()["collection"]
    assert (told["running"], told["unit"], told["done"], told["total"]) == (True, "xorbs", 0, 0), told
    assert "removes what nothing has needed for long" in held.row("Collection") and held.metric("running", "collection") == 1
    assert held.metric("done_ratio", "collection") is None, "the number of xorbs to remove is not known"
    held.faults.disarm()
    cairn.wait_until("the end of the collection", lambda: server.metrics()["cairn_gc_swept_xorbs_total"] == 4)
    assert not held.jobs()["collection"]["running"] and "36.0 kB freed since the start" in held.row("Collection")


@pytest.fixture
def free(start, issuer, tmp_path):
    return Operator(lambda **options: start(**options), issuer, tmp_path / "home")


def test_a_scrub(free, make):
    """The scrub reads one MiB a second."""
    for seed in range(5):
        assert free.server.put_xorb(make([120_000] * 10, seed), token=free.admin).status == 200
    total = free.server.post("/v1/scrub/start", token=free.admin).json()["now"]["total_bytes"]
    told = free.jobs()["scrub"]
    assert told["running"] and told["total"] == total and told["unit"] == "bytes" and told["started"] > 0
    assert free.bar()[1] == "scrub" and "of 6.0 MB read" in free.row("Scrub")
    assert free.server.post("/v1/scrub/pause", token=free.admin).status == 200
    assert not free.jobs()["scrub"]["running"] and "Paused" in free.row("Scrub")


def test_a_backup(free, make, tmp_path, monkeypatch):
    """Nobody reads its pipe, so the backup stands still. Then it is killed."""
    server, spool = free.server, tmp_path / "spool"
    spool.mkdir()
    with monkeypatch.context() as patch:
        real = server.request
        patch.setattr(server, "request", lambda *given, **more: real(*given, **{"token": free.admin} | more))
        register(server, [make([120_000] * 10, seed) for seed in range(3)])
    process = piped(server, spool)
    cairn.wait_until("the backup to be reported", lambda: free.jobs()["backup"]["running"])
    told = free.jobs()["backup"]
    assert told["unit"] == "bytes" and 3_600_000 <= told["total"] <= 3_700_000 and told["done"] <= told["total"] and told["started"] > 0, told
    assert free.bar()[1] == "backup" and "of 3.6 MB written" in free.row("Backup") and free.metric("running", "backup") == 1
    process.kill()
    process.communicate()
    cairn.wait_until("the end of the backup", lambda: not free.jobs()["backup"]["running"])
    assert "One broke off at" in free.row("Backup") and "No backup is known" in free.row("Backup")
    with (tmp_path / "all.fold").open("wb") as out:
        assert piped(server, spool, into=out).wait(60) == 0
    cairn.wait_until("the next backup to be reported", lambda: "ended well" in free.row("Backup"))
    assert "broke off" not in free.row("Backup") and not free.jobs()["backup"]["running"]
