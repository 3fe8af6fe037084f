"""kill -9 at each named step (lib/base/crash_point.h) of opening, migrating, uploading, collecting and repairing."""

import contextlib
import json
import os
import re
import sqlite3
import struct
import subprocess
import threading

import cairn
import ledger
import plans
import pytest
import xet
from crashes import Doomed

NAMES = set(re.findall(r'\] = "([a-z-]+)"', (cairn.ROOT / "lib/base/crash_point.c").read_text()))
GRACE = 120
VERSIONS = sorted((cairn.ROOT / "schema").glob("0*.sql"))
INDEX = ["index-begun", "index-applied", "index-committed", "index-answered"]

# The steps of work on a running daemon, each with the action that reaches it, and where in that action.
REACHED = {
    "xorb": ["put-begun", "put-written", "xorb-verified", "xorb-cleared", "put-synced", "put-folder-made"]
    + ["put-folder-made:2", "put-linked", "put-durable", "xorb-stored", *INDEX],
    "crowd": ["xorb-verified:3", "put-folder-made:5", "put-synced:4", "put-linked:3", "put-durable:4", "xorb-stored:3", "index-applied:2", "index-answered:2"],
    "left_over": ["remove-unlinked", "xorb-cleared", "put-linked"],
    "lost": ["index-committed", "xorb-disowned", "xorb-stored", "index-committed:2"],
    "shard": ["shard-spooled", "shard-verified", *INDEX],
    "forget": INDEX,
    "collect": ["gc-marked", *INDEX, "gc-marked:2", "gc-swept:2", "remove-unlinked", "gc-removed", "gc-removed:2"]
    + [f"{step}:4" for step in INDEX],
    "pack": ["pack-copied", "pack-copied:2", "pack-written", "pack-linked", "pack-durable", "pack-moved", "pack-moved:2"],
    "collect_packed": ["pack-buried", "pack-buried:2", "pack-zeroed"],
    "pause": ["note-written"],
}
STARTS = ["folder-locked", "secret-written", "secret-named", "folders-made"]
MIGRATES = ["migrate-begun", "migrate-run", "migrate-stamped", "migrate-done"]
ELSEWHERE = {"commit-edited", "pull-opened", "merge-committed", "prune-written", "prune-named", "prune-removed", "move-object", "move-rows", "move-frozen", "move-ended", "gc-listed", "check-row", "index-ahead"}  # tests/contract/index_history_contract.c; test_pulls_crash.py; test_backups_prune.py; test_move.py; test_left_overs.py; test_cluster_commands.py; test_cluster.py
REPAIRS = ["aside-moved", "aside-durable", "index-committed"]


def act_xorb(doomed):
    file = doomed.next_file()
    yield
    doomed.ledger.upload(doomed.server, file)


def act_crowd(doomed):
    """Uploads several files at once, so that they are at different steps when the daemon dies."""
    files = [doomed.next_file() for _ in range(8)]
    yield

    def upload(file):
        with contextlib.suppress(*ledger.GONE):
            doomed.ledger.upload(doomed.server, file)

    threads = [threading.Thread(target=upload, args=(f,)) for f in files]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def act_left_over(doomed):
    """Puts an object that no row names, with wrong bytes, where an upload's object belongs."""
    file = doomed.next_file()
    object_ = doomed.server.object_of(xet.text(file.terms[0][0].hash))
    object_.parent.mkdir(parents=True, exist_ok=True)
    object_.write_bytes(b"left over")
    yield
    doomed.ledger.upload(doomed.server, file)


def act_lost(doomed):
    file = doomed.next_file()
    assert doomed.ledger.put_xorb(doomed.server, file.terms[0][0]).status == 200
    doomed.server.object_of(xet.text(file.terms[0][0].hash)).unlink()
    doomed.ledger.xorbs.clear()
    yield
    doomed.ledger.upload(doomed.server, file)


def act_shard(doomed):
    file = doomed.next_file()
    for xorb, _, _ in file.terms:
        assert doomed.ledger.put_xorb(doomed.server, xorb).status == 200
    yield
    doomed.ledger.put_shard(doomed.server, file)


def act_forget(doomed):
    file = doomed.next_file()
    assert doomed.ledger.upload(doomed.server, file).status == 200
    yield
    doomed.ledger.forget(doomed.server, file)


def collect(doomed, file):
    assert doomed.ledger.forget(doomed.server, file).status == 200
    doomed.ledger.xorbs.clear()
    yield
    for _ in range(2):
        doomed.clock.move(doomed.now + GRACE + 1)
        doomed.now += GRACE + 1
        assert doomed.server.post("/v1/gc").status == 200


def act_collect(doomed):
    file = doomed.next_file()
    assert doomed.ledger.upload(doomed.server, file).status == 200
    yield from collect(doomed, file)


def make_pack(doomed):
    """Makes a pack. Returns when it is made or the daemon is dead."""
    doomed.packs = getattr(doomed, "packs", 0) + 1
    assert doomed.server.post(f"/v1/packs?name={doomed.packs}.shard").status == 202
    cairn.wait_until("the pack", lambda: not doomed.server.get("/v1/packs").json()["job"]["running"])


def act_pack(doomed):
    """Packs again after the kill, which uses up what the killed packing left."""
    assert doomed.ledger.upload(doomed.server, doomed.next_file()).status == 200
    yield
    make_pack(doomed)


def act_collect_packed(doomed):
    file = doomed.next_file()
    assert doomed.ledger.upload(doomed.server, file).status == 200
    make_pack(doomed)
    yield from collect(doomed, file)


def act_pause(doomed):
    yield
    assert doomed.server.post("/v1/scrub/pause").status == 200


def fsck(server, *options, variables=None):
    command = [cairn.CAIRN, "fsck", "--json", "--data-dir", str(server.data), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | (variables or {}))


def problems(server):
    return json.loads(fsck(server).stdout)["problems"]


def test_work(tmp_path, clock):
    """One folder goes through all steps. The daemon dies at each; the next start finds everything acknowledged, and goes on to the next step."""
    doomed = Doomed(tmp_path / "doomed", test_clock=clock.path, epoch="60s", gc_grace=f"{GRACE}s")
    doomed.clock, doomed.now = clock, 0
    for work, steps in REACHED.items():
        doomed.server.start()
        for step in steps:
            act = globals()["act_" + work](doomed)
            next(act)
            doomed.arm(step)
            try:
                next(act, None)
            except ledger.GONE:
                pass
            doomed.is_dead()
            doomed.server.start()
            doomed.ledger.check(doomed.server)
            for file in list(doomed.ledger.unsure.values()):
                assert doomed.ledger.upload(doomed.server, file).status == 200
            assert doomed.server.left_overs() == [], step
        doomed.server.stop()
        assert doomed.server.left_overs() == []
    doomed.server.start()
    doomed.ledger.check(doomed.server)
    doomed.server.stop()
    assert {p["kind"] for p in problems(doomed.server)} <= {"object.alone"}
    assert fsck(doomed.server, "--repair").returncode == 0 and problems(doomed.server) == []


def deaths(version):
    """The steps of one migration at which a start dies, in order. The first start also runs the migrations before it. A later start runs only this migration,
    as far as the last death left it undone."""
    return [f"{MIGRATES[0]}:{version + 1}", *MIGRATES[1:]]


def die_at(doomed, steps):
    """Kills each start at its step; the next one continues there."""
    doomed.server.folder.mkdir(exist_ok=True)
    for step in steps:
        doomed.arm(step)
        doomed.server.launch()
        doomed.is_dead()


def version_of(doomed):
    return cairn.look(doomed.server.data, "PRAGMA user_version")


@pytest.mark.parametrize("steps", [[step] for step in STARTS] + [deaths(i) for i in range(len(VERSIONS))], ids=lambda steps: steps[0])
def test_first_start(tmp_path, steps):
    doomed = Doomed(tmp_path / "doomed")
    die_at(doomed, steps)
    if steps[-1] == MIGRATES[-1]:
        assert steps[0] == f"{MIGRATES[0]}:{version_of(doomed)}", "all deaths were in the same migration, the last one after it was committed"
    doomed.server.start()
    assert doomed.ledger.upload(doomed.server, doomed.next_file()).status == 200
    doomed.ledger.check(doomed.server)
    doomed.server.stop()
    assert doomed.server.left_overs() == [] and problems(doomed.server) == []


def old_folder(server, file):
    """A data folder of schema version 1 that holds a file: rows as they were then, and objects, whose form never changed."""
    (server.data / "objects").mkdir(parents=True)
    db = sqlite3.connect(server.data / "index.sqlite")
    db.executescript("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL;" + VERSIONS[0].read_text())
    terms = b""
    for i, (xorb, start, end) in enumerate(file.terms, 1):
        unpacked = sum(n for _, n in xorb.nodes)
        db.execute("INSERT INTO xorb VALUES(?, ?, ?, ?, ?, 0, NULL)", (i, xorb.hash, len(xorb.nodes), unpacked, len(xorb.body())))
        spans = b"".join(struct.pack("<II", n, at) for (_, n), at in zip(xorb.nodes, plans.places(xorb)[1:], strict=True))
        db.execute("INSERT INTO list VALUES(?, ?, ?)", (i, spans, b"".join(h for h, _ in xorb.nodes)))
        db.execute("INSERT INTO reference VALUES(?, 1)", (i,))
        terms += struct.pack("<QHHI", i, start, end, sum(n for _, n in xorb.nodes[start:end]))
        server.object_of(xet.text(xorb.hash)).parent.mkdir(parents=True, exist_ok=True)
        server.object_of(xet.text(xorb.hash)).write_bytes(xorb.body())
    size = sum(n for _, n in file.nodes())
    db.execute("INSERT INTO file VALUES(1, ?, ?, ?, ?, 0)", (file.hash(), file.sha256, size, terms))
    db.execute("INSERT INTO file_owner VALUES(1, 0)")
    db.execute("UPDATE state SET files = 1, xorbs = 2, stored_bytes = (SELECT sum(stored) FROM xorb)")
    db.executescript("PRAGMA user_version = 1")
    db.commit()
    db.close()


@pytest.mark.parametrize("steps", [deaths(i) for i in range(len(VERSIONS) - 1)], ids=lambda steps: steps[0])
def test_migration(tmp_path, steps):
    doomed = Doomed(tmp_path / "doomed")
    file = doomed.next_file()
    old_folder(doomed.server, file)
    die_at(doomed, steps)
    assert steps[0] == f"{MIGRATES[0]}:{version_of(doomed) - 1}"
    doomed.server.start()
    assert ledger.read(doomed.server, file)
    assert doomed.ledger.upload(doomed.server, doomed.next_file()).status == 200
    doomed.ledger.check(doomed.server)
    doomed.server.stop()
    assert problems(doomed.server) == []


@pytest.mark.parametrize("step", REPAIRS)
def test_repair(tmp_path, step):
    """The process that dies is `cairn fsck --repair`."""
    doomed = Doomed(tmp_path / "doomed")
    doomed.server.start()
    file, whole = doomed.next_file(), doomed.next_file()
    for f in (file, whole):
        assert doomed.ledger.upload(doomed.server, f).status == 200
    doomed.server.stop()
    object_ = doomed.server.object_of(xet.text(file.terms[0][0].hash))
    object_.write_bytes(bytes(object_.stat().st_size))  # zeros: no chunk of it can be read
    doomed.arm(step)
    done = fsck(doomed.server, "--repair", variables=doomed.server.variables)
    assert done.returncode == -9, f"{step} was never reached: {done.stdout} {done.stderr}"
    doomed.arm("")
    fsck(doomed.server, "--repair")
    doomed.server.start()
    assert ledger.read(doomed.server, whole)
    assert doomed.ledger.upload(doomed.server, file).status == 200
    doomed.ledger.check(doomed.server)
    doomed.server.stop()
    assert problems(doomed.server) == []


def test_every_step_is_reached():
    """Each crash point of the sources is named by a test."""
    steps = {step for steps in REACHED.values() for step in steps} | {*STARTS, *MIGRATES, *REPAIRS, *ELSEWHERE}
    assert {step.split(":")[0] for step in steps} == NAMES
