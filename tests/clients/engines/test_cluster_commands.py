"""Commands beside daemons that share an index in PostgreSQL and a store in S3: cairn fsck, cairn export, and commands that refuse to run."""

import concurrent.futures
import csv
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import cairn
import cluster
import ledger
import pytest
import s3
import tiledb
import xet
from cluster import bucket_of, files_of, sql, stopped

DAY = 86400
NONE = not (cairn.ENGINE and cairn.INDEX and cairn.STORE == "s3")

pytestmark = pytest.mark.skipif(NONE, reason="that takes CAIRN_INDEX=postgres and CAIRN_STORE=s3")


def run(data, name, *options, code=0):
    done = subprocess.run([cairn.CAIRN, name, "--data-dir", str(data), *map(str, options)], capture_output=True, text=True, timeout=120)
    assert not cairn.REPORTS.search(done.stderr), done.stderr
    assert done.returncode == code, (done.returncode, done.stdout[-500:], done.stderr)
    return done


def fsck(server, *options, code=0):
    """Runs fsck. @return its findings: [(kind, repaired)]"""
    found = json.loads(run(server.data, "fsck", "--json", *options, code=code).stdout)
    assert found["problems_found"] == len(found["problems"]), found
    return [(problem["kind"], problem["repaired"]) for problem in found["problems"]]


def grown_old(server, xorb, age_s=3 * DAY):
    """Replaces the copy that a xorb's row names by one of this age. @return its name"""
    name, bucket = s3.copy_name(xorb, age_s), bucket_of(server)
    (now,) = [n for n in bucket.objects() if xet.text(xorb.hash) in n]
    assert bucket.request("PUT", name, body=xorb.body())[0] == 200 and bucket.request("DELETE", now)[0] == 204
    assert sql(server, f"UPDATE xorb SET copy = '\\x{name[-32:]}' WHERE hash = '\\x{xorb.hash.hex()}' RETURNING 1") == "1"
    return name


def fsck_meanwhile(tmp_path, server, step, do, *options, code=0):
    """Runs fsck, stops it at a step, calls do(), and lets it go on. @return what it found"""
    crash = tmp_path / "crash of fsck"
    crash.write_text(f"{step}:1:stop")
    command = [cairn.CAIRN, "fsck", "--json", "--data-dir", str(server.data), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"CAIRND_CRASH_FILE": str(crash)}) as process:
        cairn.wait_until(step, lambda: stopped(process.pid))
        crash.write_text("")
        do()
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == code, (out, err)
    return [(problem["kind"], problem["repaired"]) for problem in json.loads(out)["problems"]]


def test_fsck_of_a_row_that_changes_meanwhile(tmp_path, start_cluster):
    """After fsck has read the row, the row gets another copy and the first copy is removed. fsck reports nothing wrong."""
    one, book = start_cluster(n=2), ledger.Ledger()
    file, first = ledger.new_file(841), one.daemons[0]
    assert book.upload(one, file).status == 200
    assert fsck_meanwhile(tmp_path, first, "check-row", lambda: grown_old(first, file.terms[0][0])) == []
    assert one.bucket().request("DELETE", one.bucket().objects()[0])[0] == 204
    assert ("xorb.missing", False) in fsck(first, code=65)


def test_fsck_adopts_an_object_that_is_removed(tmp_path, start_cluster):
    """The object is deleted after fsck --repair has read it and before it writes the row. fsck takes the row back, and the xorb must be uploaded again."""
    one, book = start_cluster(n=2), ledger.Ledger()
    file, first = ledger.new_file(842), one.daemons[0]
    xorb = file.terms[0][0]
    lone = s3.copy_name(xorb, 2 * DAY)
    assert one.bucket().request("PUT", lone, body=xorb.body())[0] == 200
    remove = lambda: one.bucket().request("DELETE", lone)
    assert fsck_meanwhile(tmp_path, first, "index-applied", remove, "--repair", code=65) == [("object.alone", False)]
    assert first.request("HEAD", xorb.path()).status == 404
    assert book.upload(one, file).status == 200
    assert fsck(first) == []
    book.check(first)


def test_fsck_of_a_sound_store(start_cluster):
    """While others upload and collect, fsck reports no false problem."""
    one = start_cluster(n=2, epoch="60s", gc_grace="120s")
    book = ledger.Ledger()
    files = [ledger.new_file(seed) for seed in range(800, 824)]
    assert book.upload(one, files[0]).status == 200
    first = one.daemons[0]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        uploads = [pool.submit(book.upload, one, file) for file in files[1:]]
        for options in ((), ("--skip-data",), ("--repair",)):
            assert fsck(first, *options) == []
            assert one.post("/v1/gc").status == 200
        assert {done.result().status for done in uploads} == {200}
    assert json.loads(run(first.data, "fsck", "--json").stdout)["xorbs"] == len(files)
    book.check(one)


def test_fsck_repairs_beside_daemons(start_cluster):
    """fsck --repair reports lost xorbs, which come back with the next upload, and registers whole ones again."""
    one = start_cluster(n=2)
    book, bucket, first = ledger.Ledger(), one.bucket(), one.daemons[0]
    missing, damaged, listed = files = [ledger.new_file(seed) for seed in range(830, 833)]
    for file in files:
        assert book.upload(one, file).status == 200
    names = [grown_old(first, file.terms[0][0]) for file in files]
    lone, young = ledger.new_file(833).terms[0][0], ledger.new_file(834).terms[0][0]
    for xorb, age_s in ((lone, 2 * DAY), (young, 60)):
        assert bucket.request("PUT", s3.copy_name(xorb, age_s), body=xorb.body())[0] == 200
    assert fsck(first, code=65) == [("object.alone", False)]
    assert bucket.request("DELETE", names[0])[0] == 204
    assert bucket.request("PUT", names[1], body=bytes(len(damaged.terms[0][0].body())))[0] == 200
    of_listed = f"xorb = (SELECT id FROM xorb WHERE hash = '\\x{listed.terms[0][0].hash.hex()}')"
    assert sql(one, f"UPDATE list SET spans = set_byte(spans, 0, get_byte(spans, 0) # 1) WHERE {of_listed} RETURNING 1") == "1"
    kinds = sorted(kind for kind, repaired in fsck(first, code=65) if not repaired)
    assert {"xorb.missing", "xorb.damaged", "xorb.list", "object.alone", "file.lost"} <= set(kinds), kinds
    assert "xorb.missing" in dict(fsck(first, "--skip-data", code=65))
    repaired = dict(fsck(first, "--repair", code=65))
    assert [repaired[kind] for kind in ("xorb.missing", "xorb.damaged", "xorb.list", "object.alone")] == [True] * 4
    assert set(dict(fsck(first, code=65))) == {"file.lost"}
    for file in (missing, damaged):
        assert book.upload(one, file).status == 200
    assert fsck(first) == []
    for daemon in one.daemons:
        book.check(daemon)
    assert sql(one, f"SELECT count(*) FROM xorb WHERE hash = '\\x{lone.hash.hex()}' AND stored > 0") == "1"


def test_fsck_of_an_index_that_one_daemon_has(start):
    """fsck reads the index beside its daemon, and repairs only after the daemon has stopped."""
    server, book = start(), ledger.Ledger()
    assert book.upload(server, ledger.new_file(840)).status == 200
    assert fsck(server) == []
    assert "index.taken" in run(server.data, "fsck", "--repair", code=73).stderr
    server.stop()
    assert fsck(server, "--repair") == []
    server.start()
    book.check(server)


def test_scrub_at_one_of_them(start_cluster):
    """All daemons know what one daemon's scrub has found, and a copy of any age is adopted again. test_cluster_jobs.py tests that another daemon continues
    a scrub."""
    one = start_cluster(n=2)
    book, bucket = ledger.Ledger(), one.bucket()
    first, second = one.daemons
    sound, damaged, listed = files = [ledger.new_file(seed) for seed in range(835, 838)]
    for file in files:
        assert book.upload(one, file).status == 200
    names = [grown_old(first, file.terms[0][0]) for file in files]
    assert bucket.request("PUT", names[1], body=bytes(len(damaged.terms[0][0].body())))[0] == 200
    of_listed = f"xorb = (SELECT id FROM xorb WHERE hash = '\\x{listed.terms[0][0].hash.hex()}')"
    assert sql(one, f"UPDATE list SET spans = set_byte(spans, 0, get_byte(spans, 0) # 1) WHERE {of_listed} RETURNING 1") == "1"
    assert first.post("/v1/scrub/start?within=1").status == 200
    cairn.wait_until("the scrub", lambda: first.get("/v1/scrub").json()["now"] is None)
    last = first.get("/v1/scrub").json()["last"]
    assert [last[n] for n in ("xorbs", "damaged", "mended", "lost", "unread", "whole")] == [3, 1, 1, 1, 0, True]
    cluster.soon("word of it", lambda: second.get("/v1/scrub").json()["last"] == last)
    assert second.request("HEAD", damaged.terms[0][0].path()).status == 404
    for file in (damaged, sound):
        assert book.upload(second, file).status == 200
    assert fsck(first) == []
    book.check(second)


def test_scrub_adopts_a_copy_that_is_removed(tmp_path, start_cluster):
    """The scrub finds and reads a copy of a lost xorb, but the copy is deleted before the row names it: the xorb stays lost, as with fsck."""
    crash, book, file = tmp_path / "crash", ledger.Ledger(), ledger.new_file(843)
    crash.write_text("")
    one = start_cluster(n=1, variables={"CAIRND_CRASH_FILE": str(crash)})
    (first,), xorb = one.daemons, file.terms[0][0]
    assert book.upload(one, file).status == 200
    assert sql(one, "UPDATE xorb SET copy = NULL, stored = NULL RETURNING 1; UPDATE state SET stored_bytes = 0") == "1"
    crash.write_text("index-applied:3:stop")  # the third transaction writes the row, after those for the order to scrub and for the lease
    assert first.post("/v1/scrub/start?within=1").status == 200
    cairn.wait_until("the row", lambda: stopped(first.process.pid))
    crash.write_text("")
    assert [one.bucket().request("DELETE", name)[0] for name in one.bucket().objects()] == [204]
    first.process.send_signal(signal.SIGCONT)
    cairn.wait_until("the scrub", lambda: first.get("/v1/scrub").json()["now"] is None)
    last = first.get("/v1/scrub").json()["last"]
    assert [last[n] for n in ("xorbs", "mended", "lost")] == [1, 0, 1]
    assert first.request("HEAD", xorb.path()).status == 404
    assert book.upload(one, file).status == 200
    book.check(first)


def test_export_misses_nothing(tmp_path, start_cluster):
    """Each export continues where the last one ended, while sixteen clients upload through three daemons."""
    one, book, files = start_cluster(), ledger.Ledger(), []
    data, done = one.daemons[0].data, threading.Event()

    def work(i):
        while not done.is_set():
            file = ledger.new_file(f"export {i} {len(files)}")
            assert book.upload(one, file).status == 200
            files.append(file)

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        uploaders = [pool.submit(work, i) for i in range(16)]
        try:
            for _ in range(6):
                run(data, "export", "--format", "tiledb", tmp_path / "out")
        finally:
            done.set()
        for uploader in uploaders:
            uploader.result()
    assert len(files) >= 16
    run(data, "export", "--format", "tiledb", tmp_path / "out")
    run(data, "export", "--format", "csv", tmp_path / "csv")
    for table, key, want in (
        ("files", "file_hash", [ledger.name(file) for file in files]),
        ("xorbs", "xorb_hash", [xet.text(xorb.hash) for file in files for xorb, _, _ in file.terms]),
    ):
        with tiledb.open(str(tmp_path / "out" / table)) as array:
            got = [name.decode() if isinstance(name, bytes) else str(name) for name in array[:][key].tolist()]
        with open(tmp_path / "csv" / f"{table}.csv", newline="") as text:
            rows = [row[key] for row in csv.DictReader(text)]
        assert sorted(got) == sorted(rows) == sorted(want)


def postgres(program, *options):
    """Runs one of PostgreSQL's own programs. @return its output"""
    (path, *_) = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), reverse=True)
    done = subprocess.run([path, *map(str, options)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def copy_bucket(source, target):
    for name in source.names():
        assert target.request("PUT", name, body=source.request("GET", name)[1])[0] == 200


def test_backup_and_restore(tmp_path, start_cluster):
    """A backup as docs/scale.md describes it: PostgreSQL's dump first, then the objects. In the other order, uploads between the two would be lost."""
    one, book = start_cluster(n=2), ledger.Ledger()
    url = cairn.postgres_url(one.data)
    before, later = files_of(range(900, 904)), files_of(range(904, 908))
    for file in before[:2]:
        assert book.upload(one, file).status == 200
    too_early = s3.Bucket(cairn.s3_url(tmp_path / "too early"))
    copy_bucket(one.bucket(), too_early)
    for file in before[2:]:
        assert book.upload(one, file).status == 200
    # The backup has everything acknowledged up to here. Uploads go on while it is made, and after it.
    others = ledger.Ledger()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        uploads = [pool.submit(others.upload, one, file) for file in later]
        postgres("pg_dump", "--format=custom", f"--schema={url.split('schema=')[1]}", f"--file={tmp_path / 'dump'}", url.split("?")[0])
        assert {done.result().status for done in uploads} == {200}
    copied = s3.Bucket(cairn.s3_url(tmp_path / "copied"))
    copy_bucket(one.bucket(), copied)
    secret = one.folder / "secret"
    one.stop()
    database = f"restored{int(time.time() * 1000)}"
    server = url.split("?")[0].rsplit("/", 1)[0]
    postgres("createdb", f"--maintenance-db={url.split('?')[0]}", "--encoding=UTF8", "--template=template0", database)
    postgres("pg_restore", f"--dbname={server}/{database}", tmp_path / "dump")
    for prefix, missing in (("too early", True), ("copied", False)):
        variables = {
            "CAIRN_INDEX": f"{server}/{database}?{url.split('?')[1]}",
            "CAIRN_STORE": cairn.s3_url(tmp_path / prefix),
            "CAIRN_SECRET_FILE": str(secret),
        }
        restored = cairn.Daemon(tmp_path / "restored" / prefix, variables=variables).start()
        found = fsck(restored, "--skip-data", code=65 if missing else 0)
        assert {kind for kind, _ in found} == ({"xorb.missing", "file.lost"} if missing else set())
        if not missing:
            book.check(restored)
            assert fsck(restored) == []
            for file in later:
                assert others.upload(restored, file).status == 200
            others.check(restored)
            assert restored.post("/v1/gc").status == 200
            book.check(restored)
        restored.stop()


def test_commands_refuse_an_index_in_postgresql(tmp_path, start):
    """Commands that work only with SQLite name the reason, and say what to do instead."""
    server = start()
    for name, *rest in (["backup", tmp_path / "out.fold"], ["backup", "--incremental", tmp_path / "folder"]):
        refused = run(server.data, name, *rest, code=73).stderr
        assert "data_dir.index" in refused and "back that up as PostgreSQL does" in refused and "migrate-store" in refused
    assert not (tmp_path / "out.fold").exists() and not (tmp_path / "folder").exists()
    assert "cairn_backup_last_run" not in server.get("/metrics").body.decode()
