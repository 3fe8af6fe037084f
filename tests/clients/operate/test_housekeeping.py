"""Periodic work of the daemon, on a clock that the test moves: collections, and removing old telemetry. Also how it learns of backups."""

import json
import signal
import subprocess
import time

import cairn
import pytest

DAY = 86400


def gc_runs(server):
    return server.metrics().get("cairn_gc_last_run_timestamp_seconds", 0)


def passes(server):
    """Waits until the daemon has checked twice for work that is due. It reads the note of a backup each time, and its metric shows that."""
    for n in (1, 2):
        (server.data / "notes").mkdir(exist_ok=True)
        (server.data / "notes" / "backup").write_text(f"ran {n}\n")
        cairn.wait_until("the check for due work", lambda n=n: server.metrics().get("cairn_backup_last_run_timestamp_seconds") == n)


@pytest.mark.files
def test_collections_by_interval(start, make, clock):
    server = start(gc_schedule="6h", test_clock=clock.path, epoch="1m", gc_grace="2m")
    assert server.put_xorb(make([9000], 1)).status == 200
    clock.move(5 * 3600)
    passes(server)
    assert gc_runs(server) == 0, "no collection runs before its time"
    clock.move(7 * 3600)
    cairn.wait_until("the first collection", lambda: gc_runs(server) > 0)
    first = gc_runs(server)
    assert first >= time.time() + 6 * 3600 and server.metrics()["cairn_gc_last_run_successful"] == 1
    assert [e["retired"] for e in server.events("gc")] == [1]
    server.stop()
    server.start()
    assert gc_runs(server) == first, "the time of the last collection outlasts the daemon"
    clock.move(14 * 3600)
    cairn.wait_until("the next collection", lambda: gc_runs(server) > first)
    assert server.metrics()["cairn_gc_swept_xorbs_total"] == 1
    server.stop()
    assert not server.left_overs()


@pytest.mark.files
def test_off_and_on_again(start, clock, tmp_path):
    conf = tmp_path / "conf"
    conf.write_text("gc_schedule = off\n")
    server = start(config=conf, test_clock=clock.path, variables={"CAIRN_GC_SCHEDULE": ""})
    clock.move(30 * DAY)
    passes(server)
    assert gc_runs(server) == 0
    clock.move(32 * DAY - int(time.time()) % DAY - 90)  # half a minute before the window ends
    conf.write_text("gc_schedule = 00:00-23:59\n")
    server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("a collection", lambda: gc_runs(server) > 0)
    assert "gc_schedule=00:00-23:59" in server.events("reload")[0]["changed"]


def test_old_telemetry_goes(start, clock):
    server = start(test_clock=clock.path, telemetry_age="10d")
    assert server.post("/v1/telemetry", b'{"event":"x","metrics":{}}').status == 200
    cairn.wait_until("the first message", lambda: server.get("/v1/telemetry").json()["telemetry"])
    clock.move(6 * DAY)
    assert server.post("/v1/telemetry", b'{"event":"y","metrics":{}}').status == 200
    cairn.wait_until("both messages", lambda: len(server.get("/v1/telemetry").json()["telemetry"]) == 2)
    server.stop()
    clock.move(11 * DAY)
    server.start()
    cairn.wait_until("the removal of the old message", lambda: server.metrics()["cairn_telemetry_trimmed_total"] == 1)
    assert [row["body"]["event"] for row in server.get("/v1/telemetry").json()["telemetry"]] == ["y"]


def test_revoked_keys_go(start, clock, issuer):
    admin = issuer.token("admin", expires_s=365 * DAY)
    server = start(test_clock=clock.path, token_key=issuer.folder)
    made = [server.post("/v1/keys", json.dumps({"name": name, "scope": "read"}).encode(), token=admin).json() for name in "abc"]
    for key in made[:2]:
        assert server.request("DELETE", f"/v1/keys/{key['id']}", token=admin).json() == {"revoked": True}
        clock.move(60 * DAY)
    server.stop()
    clock.move(100 * DAY)
    server.start()
    cairn.wait_until("the removal of the key", lambda: server.events("keys_trimmed"))
    assert [key["name"] for key in server.get("/v1/keys", token=admin).json()["keys"]] == ["b", "c"]


@pytest.mark.files
def test_backups_are_heard_of(server, make, tmp_path):
    def backup(name):
        command = [cairn.CAIRN, "backup", "--data-dir", server.data, tmp_path / name]
        return subprocess.run(command, capture_output=True, timeout=60).returncode

    def told(what):
        return server.metrics().get(f"cairn_backup_last_{what}")

    assert server.put_xorb(make([9000], 1)).status == 200 and told("run_successful") is None
    assert backup("a.fold") == 0
    cairn.wait_until("the backup to be reported as successful", lambda: told("run_successful") == 1)
    assert told("success_bytes") == (tmp_path / "a.fold").stat().st_size
    good = told("success_timestamp_seconds")
    assert good == told("run_timestamp_seconds") and abs(good - time.time()) < 60
    assert backup("a.fold") == 73
    cairn.wait_until("the backup to be reported as failed", lambda: told("run_successful") == 0)
    assert told("success_timestamp_seconds") == good and not server.left_overs()


def test_an_invalid_schedule_is_refused(tmp_path):
    assert "01:00-05:00" in cairn.refused(tmp_path, "--gc-schedule", "1:00-2:00", code=64)
