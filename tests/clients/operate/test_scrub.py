"""A scrub of a running daemon finds damage and reports it. `cairn repair` restores lost xorbs from any place that has a copy."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import time

import cairn
import pytest
import xet

MB = 1 << 20


def run(server, *args, code=0, token=None):
    env = {**os.environ, "CAIRN_SERVER": server.url} | ({"CAIRN_TOKEN": token} if token else {})
    done = subprocess.run([cairn.CAIRN, *map(str, args)], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout


def put(server, make, n, size=9000):
    """Uploads n xorbs, each with a file."""
    made = [make([size] * 3, 100 + i) for i in range(n)]
    for x in made:
        assert server.put_xorb(x).status == 200
        assert server.post("/v1/shards", xet.shard([xet.File([(x, 0, 3)])], [x])).status == 200
    return made


def damage(path, at=5000):
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.chmod(0o600)
    path.write_bytes(content)


def status(server):
    return server.get("/v1/scrub").json()


def scrub(server):
    """Runs a scrub from now to its end. @return its result"""
    assert server.post("/v1/scrub/start").json()["now"] is not None
    cairn.wait_until("the scrub", lambda: status(server)["now"] is None)
    return status(server)["last"]


@pytest.mark.files
def test_objects_moved_away_while_open(server, make, tmp_path):
    """The daemon has the file of an object open while it is moved elsewhere or replaced. The scrub notices that."""
    moved, exchanged, sound = put(server, make, 3)
    assert scrub(server)["lost"] == 0
    server.object_of(xet.text(moved.hash)).rename(tmp_path / "moved")
    server.object_of(xet.text(exchanged.hash)).rename(tmp_path / "exchanged")
    server.object_of(xet.text(exchanged.hash)).write_bytes(b"something else")
    last = scrub(server)
    assert [last[n] for n in ("xorbs", "damaged", "lost", "unread")] == [3, 1, 2, 0]
    assert server.request("HEAD", sound.path()).status == 200
    assert server.get("/ready").status == 200
    (server.data / "objects").rename(tmp_path / "objects")
    (server.data / "objects").mkdir()
    cairn.wait_until("the missing object to be noticed", lambda: server.get("/ready").status == 503)
    assert "store.replaced" in server.get("/ready").body.decode()
    (server.data / "objects").rmdir()
    (tmp_path / "objects").rename(server.data / "objects")
    cairn.wait_until("the returned object to be noticed", lambda: server.get("/ready").status == 200)


@pytest.mark.files
def test_a_pass_counts_damaged_and_missing_xorbs(server, make):
    sound, flipped, missing = put(server, make, 3)
    last = scrub(server)
    assert (last["xorbs"], last["bytes"], last["whole"]) == (3, last["total_bytes"], True)
    assert [last[n] for n in ("damaged", "mended", "lost", "unread")] == [0, 0, 0, 0]
    damage(server.object_of(xet.text(flipped.hash)))
    server.object_of(xet.text(missing.hash)).unlink()
    time_before = int(time.time())
    last = scrub(server)
    assert [last[n] for n in ("xorbs", "damaged", "mended", "lost", "unread")] == [3, 1, 0, 2, 0]
    assert time_before <= last["started"] <= last["ended"] <= time.time()
    for x in (flipped, missing):
        assert server.request("HEAD", x.path()).status == 404, "the xorb must be sent again"
    assert server.request("HEAD", sound.path()).status == 200
    metrics = server.metrics()
    assert metrics["cairn_scrub_last_run_damaged_objects"] == 1 and metrics["cairn_scrub_last_run_lost_xorbs"] == 2
    assert metrics["cairn_scrub_last_run_successful"] == 1 and metrics["cairn_scrub_xorbs_total"] == 6
    assert metrics["cairn_scrub_last_run_timestamp_seconds"] == metrics["cairn_scrub_last_success_timestamp_seconds"] == last["ended"]
    assert metrics["cairn_objects_damaged_total"] == 1 and metrics["cairn_xorbs_lost_total"] == 2
    event = server.events("scrub")[-1]
    assert (event["level"], event["status"], event["damaged"], event["lost"]) == ("warning", "ok", 1, 2)
    assert [e["xorb"] for e in server.events("object_damaged")] == [xet.text(flipped.hash)]
    for x in (flipped, missing):
        assert server.put_xorb(x).json()["was_inserted"] is True
    assert scrub(server)["lost"] == 0


@pytest.mark.files
def test_a_row_that_is_wrong_is_made_anew(start, make):
    server = start()
    [xorb] = put(server, make, 1)
    server.stop()
    with contextlib.closing(sqlite3.connect(server.data / "index.sqlite")) as db, db:
        db.execute("UPDATE list SET hashes = CAST(zeroblob(32) || substr(hashes, 33) AS BLOB)")
    server.start()
    last = scrub(server)
    assert [last[n] for n in ("damaged", "mended", "lost")] == [0, 1, 0]
    assert scrub(server)["mended"] == 0
    assert server.request("HEAD", xorb.path()).status == 200


def test_uploads_during_a_pass_are_counted(start, make):
    """A running or finished scrub never reports more bytes read than there are to read."""
    server = start()
    put(server, make, 12, size=120_000)
    assert server.post("/v1/scrub/start").status == 200
    cairn.wait_until("some xorbs to be read", lambda: status(server)["now"]["xorbs"] >= 2)
    for i in range(12):
        assert server.put_xorb(make([120_000], 1000 + i)).status == 200
    now = status(server)["now"]
    assert now["total_bytes"] >= 24 * 120_000 and now["bytes"] <= now["total_bytes"]
    assert server.post("/v1/scrub/start?within=1").status == 200
    cairn.wait_until("the end", lambda: status(server)["now"] is None)
    last = status(server)["last"]
    assert last["xorbs"] == 24 and last["bytes"] <= last["total_bytes"]


@pytest.mark.files
def test_it_goes_on_after_a_restart(start, make):
    """At one MiB a second, only the first blocks are read before the test looks."""
    server = start(log_level="info")
    put(server, make, 12, size=120_000)
    assert server.post("/v1/scrub/start").json()["now"]["total_bytes"] > 2 * MB
    cairn.wait_until("some xorbs to be read", lambda: status(server)["now"]["xorbs"] >= 2)
    began = status(server)["now"]["started"]
    server.stop()
    server.start()
    now = status(server)["now"]
    assert now["xorbs"] >= 2 and now["started"] == began and len(server.events("scrub_begun")) == 0
    assert server.post("/v1/scrub/start?within=1").status == 200
    cairn.wait_until("the end", lambda: status(server)["now"] is None)
    last = status(server)["last"]
    assert last["xorbs"] == 12 and last["bytes"] == last["total_bytes"] and last["started"] == began
    server.stop()  # it may still write its note
    assert not server.left_overs()


@pytest.mark.files
def test_the_rate_and_a_pause(start, make):
    server = start()
    put(server, make, 12, size=120_000)
    assert server.post("/v1/scrub/start").status == 200
    cairn.wait_until("a xorb to be read", lambda: status(server)["now"]["xorbs"] >= 1)
    assert server.post("/v1/scrub/pause").json()["state"] == "paused"
    cairn.wait_until("the note", lambda: "paused 1" in (server.data / "notes" / "scrub").read_text())
    paused = status(server)["now"]
    assert server.metrics()["cairn_scrub_paused"] == 1
    server.stop()
    server.start()
    assert status(server)["state"] == "paused" and status(server)["now"]["xorbs"] == paused["xorbs"]
    assert server.get("/ready").status == 200  # it needs a commit; meanwhile a scrub would have read more
    assert status(server)["now"]["xorbs"] == paused["xorbs"] < 12
    assert server.post("/v1/scrub/start?within=1").json()["now"]["within_s"] == 1
    cairn.wait_until("the end", lambda: status(server)["now"] is None, seconds=20)


@pytest.mark.files
def test_once_a_period(start, make, clock):
    server = start(scrub_period="7d", test_clock=clock.path)
    assert status(server)["state"] == "waiting" and status(server)["last"] is None, "there is nothing to read"
    put(server, make, 2)
    cairn.wait_until("the first scrub", lambda: status(server)["last"] is not None)
    first = status(server)
    assert first["state"] == "waiting" and first["next"] == first["last"]["started"] + 7 * 86400
    clock.move(6 * 86400)
    assert server.get("/ready").status == 200
    assert status(server)["last"] == first["last"]
    clock.move(7 * 86400 + 5)
    cairn.wait_until("the second scrub", lambda: status(server)["last"]["started"] > first["last"]["started"])
    server.stop()
    clock.move(0)  # a clock that was wrong does not prevent reading
    server.start()
    cairn.wait_until("the third scrub", lambda: status(server)["last"]["started"] < first["last"]["started"] + 86400)


def test_arguments_of_scrub(start, make):
    server = start()
    for value in ("0", "x", "-1", "", "1.5", "%201", "%2B1", "99999999999"):
        cairn.is_error(server.post(f"/v1/scrub/start?within={value}"), 400, "scrub.within")
    for value in ("x", "-1", "", "1x", "%201", "99999999999999999999"):
        cairn.is_error(server.get(f"/v1/lost-xorbs?after={value}"), 400, "lost.after")
    assert status(server)["state"] == "off" and status(server)["now"] is None
    assert run(server, "scrub", "status") == "off\n"
    assert "paused" in run(server, "scrub", "pause")
    assert json.loads(run(server, "scrub", "start", "--within", "2h", "--json"))["now"]["within_s"] == 7200
    for args in (["start", "--within", "x"], ["status", "--within", "1h"], [], ["status", "start"], ["stop"]):
        run(server, "scrub", *args, code=64)


def test_a_store_without_xorbs_refuses_to_scrub(start):
    server = start(xorbs="external", scrub_period="1s")
    assert server.post("/v1/scrub/start").status == 501 and server.post("/v1/scrub/pause").status == 501
    assert status(server)["state"] == "off" and server.get("/v1/lost-xorbs").json() == {"xorbs": [], "next": None}


@pytest.fixture
def copies(start, make, tmp_path):
    """A server, its xorbs, and the places that have copies: {kind: path}. The objects of the first two xorbs are damaged or gone on the server."""
    other = start("other")
    xorbs = put(other, make, 4)
    run(other, "backup", "--data-dir", other.data, tmp_path / "b.fold")
    run(other, "backup", "--data-dir", other.data, "--incremental", tmp_path / "backups")
    assert other.post("/v1/packs?name=p.shard").status == 202
    cairn.wait_until("the pack", lambda: not other.get("/v1/packs").json()["job"]["running"])
    shutil.copy(other.data / "packs" / "p.shard", tmp_path / "p.shard")
    server = start()
    assert put(server, make, 4)[0].hash == xorbs[0].hash
    damage(server.object_of(xet.text(xorbs[0].hash)))
    server.object_of(xet.text(xorbs[1].hash)).unlink()
    assert scrub(server)["lost"] == 2
    return server, xorbs, {"folder": other.data, "backup": tmp_path / "b.fold", "pack": tmp_path / "p.shard", "backups": tmp_path / "backups"}


@pytest.mark.files
@pytest.mark.parametrize("source", ["folder", "backup", "pack", "backups", "archive"])
def test_repair(copies, source):
    server, xorbs, places = copies
    places["archive"] = next(places["backups"].glob("*.objects.fold"))
    (places["backups"] / "20990101T000000Z.objects.fold").write_bytes(b"cut")  # a damaged archive is skipped
    lost = sorted(xet.text(x.hash) for x in xorbs[:2])
    told = server.get("/v1/lost-xorbs").json()
    assert sorted(x["hash"] for x in told["xorbs"]) == lost and told["next"] is None
    assert all(x["needed"] and x["unpacked_bytes"] == 27000 for x in told["xorbs"])
    done = json.loads(run(server, "repair", "--from", places[source], "--json"))
    assert sorted(done["repaired"]) == lost and done["lost"] == [] and done["damaged_copies"] == 0
    assert server.get("/v1/lost-xorbs").json()["xorbs"] == [] and scrub(server)["lost"] == 0
    assert run(server, "repair", "--from", places[source]).startswith("0 xorbs"), "nothing is lost any more"


@pytest.mark.files
def test_repair_from_equally_damaged_copies(copies, tmp_path):
    server, xorbs, places = copies
    poor = tmp_path / "poor" / "objects"
    one, two = (xet.text(x.hash) for x in xorbs[:2])
    for name, content in ((one, xorbs[0].body()[:-9]), (two, xorbs[1].body())):
        (poor / name[:2] / name[2:4]).mkdir(parents=True)
        (poor / name[:2] / name[2:4] / name).write_bytes(content)
    before = sorted(p.as_posix() for p in poor.parent.rglob("*"))
    out = run(server, "repair", "--from", poor.parent, code=65)
    assert out.splitlines()[:2] == [f"repaired {two}", f"lost {one}"] and "1 copies" in out
    assert sorted(p.as_posix() for p in poor.parent.rglob("*")) == before, "nothing is made in the source"
    run(server, "repair", "--from", tmp_path / "absent", code=66)
    run(server, "repair", code=64)
    (tmp_path / "empty").mkdir()
    run(server, "repair", "--from", tmp_path / "empty", code=65)
    assert list((tmp_path / "empty").iterdir()) == []
    [moment] = places["backups"].glob("*.moment.fold")
    run(server, "repair", "--from", moment, code=65)
    (tmp_path / "text").write_text("no archive")
    run(server, "repair", "--from", tmp_path / "text", code=65)


@pytest.mark.files
def test_scrubbing_needs_admin(start, issuer, make):
    server = start(token_key=issuer.folder)
    for path, method in (("/v1/scrub", "GET"), ("/v1/scrub/start", "POST"), ("/v1/scrub/pause", "POST"), ("/v1/lost-xorbs", "GET")):
        assert server.request(method, path).status == 401
        assert server.request(method, path, token=issuer.token("write")).status == 403
        assert server.request(method, path, token=issuer.token("admin")).status == 200
