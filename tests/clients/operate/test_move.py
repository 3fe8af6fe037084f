"""cairn migrate-store moves a whole store to other engines and back, while it is read. It is killed in between, or finds damage."""

import contextlib
import hashlib
import json
import os
import re
import sqlite3
import subprocess

import cairn
import hf_client
import ledger
import pytest
import xet
from hub_calls import commit, done, make, stored, text, tree, upload

pytestmark = [pytest.mark.files, pytest.mark.sqlite]

STEPS = ["move-object", "move-object:3", "move-rows", "move-rows:6", "move-frozen", "move-ended"]
# Tables that are not moved, because they belong to an index and not to the store that it describes: counters, codes that programs wait with, and data that
# is read from README.md again.
OWN = {"state", "sqlite_sequence", "device_code", "card", "tag", "unregistered"}


def engines(folder):
    """--index and --store for a folder with the other engines, PostgreSQL and S3, as far as they run here."""
    out = {}
    if cairn.POSTGRES:
        out["index"] = cairn.postgres_url(folder)
    if cairn.ENGINE:
        out["store"] = cairn.s3_url(folder)
    return out


def move(source, target, *options, elsewhere=False, code=0, **variables):
    """Runs the command. @param source, target: folders of daemons @return its JSON output"""
    target.mkdir(exist_ok=True)
    command = [cairn.CAIRN, "migrate-store", "--data-dir", str(source / "data"), "--to", str(target / "data"), "--json", *options]
    for name, url in (engines(target / "data") if elsewhere else {}).items():
        command += [f"--{name}", url]
    done_ = subprocess.run(command, capture_output=True, text=True, timeout=240, env=os.environ | variables)
    assert not cairn.REPORTS.search(done_.stderr), done_.stderr
    assert done_.returncode == code, (done_.returncode, done_.stdout, done_.stderr)
    return json.loads(done_.stdout) if done_.stdout else None


def dump(folder):
    """{table: its rows} of an index in SQLite."""
    with contextlib.closing(sqlite3.connect(f"file:{folder}/data/index.sqlite?mode=ro", uri=True)) as db:
        names = [n for (n,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'") if n not in OWN]
        out = {name: sorted(map(repr, db.execute(f"SELECT * FROM {name}"))) for name in names}
        out["state"] = db.execute("SELECT collection, files, xorbs, shards, eligible, stored_bytes FROM state").fetchall()
        out["numbers"] = sorted(db.execute("SELECT name, seq FROM sqlite_sequence WHERE seq > 0"))
    return out


def same(a, b):
    before, after = dump(a), dump(b)
    for name, rows in before.items():
        assert after[name] == rows, name
    assert before.keys() == after.keys()


@pytest.fixture
def begin(tmp_path):
    """begin(name, elsewhere) starts a daemon on a folder that a store was moved to."""
    daemons = []

    def one(name, elsewhere=False, **options):
        daemon = cairn.Daemon(tmp_path / name, **(engines(tmp_path / name / "data") if elsewhere else {}), **options)
        daemons.append(daemon)
        return daemon.start()

    yield one
    for daemon in daemons:
        daemon.stop()


def fill(server, n=4, first=1):
    book = ledger.Ledger()
    for i in range(first, first + n):
        assert book.upload(server, ledger.new_file(i, xorbs=2)).status == 200
    return book


def more(book, server, n):
    file = ledger.new_file(n, xorbs=2)
    assert book.upload(server, file).status == 200
    return file


each_pair = pytest.mark.parametrize("elsewhere", [False, pytest.param(True, marks=pytest.mark.skipif(not (cairn.POSTGRES or cairn.ENGINE), reason="there are no other engines"))])


@each_pair
def test_a_refused_upload_leaves_nothing(start, begin, tmp_path, elsewhere):
    """A store that is still being filled refuses uploads, and keeps no object of them. (Its counters are right only after the move.)"""
    server = start()
    book = fill(server, 1)
    move(tmp_path / "server", tmp_path / "other", elsewhere=elsewhere)
    half = begin("other", elsewhere)
    for seed in (20, 21):
        error = cairn.is_error(ledger.Ledger().upload(half, ledger.new_file(seed)), 503, "index.frozen")
        assert error["message"].startswith("this store takes nothing new: it is being filled by"), error
    book.check(half)
    half.stop()
    command = [cairn.CAIRN, "fsck", "--json", "--data-dir", str(half.data)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert {problem["kind"] for problem in json.loads(done.stdout)["problems"]} <= {"index.count"}, done.stdout


@each_pair
def test_there_and_back(start, begin, tmp_path, elsewhere):
    """The store is read and written all the time, except for the last moment of the move, and catches up. Then it is moved back with what was uploaded
    there."""
    server = start()
    book = fill(server)
    first = move(tmp_path / "server", tmp_path / "other", elsewhere=elsewhere)
    assert not first["finished"] and first["objects"] == 8 and first["objects_damaged"] == 0
    more(book, server, 5)
    book.forget(server, ledger.new_file(1, xorbs=2))
    second = move(tmp_path / "server", tmp_path / "other")
    assert second["objects"] == 2 and second["rows_removed"] > 0
    assert move(tmp_path / "server", tmp_path / "other")["rows_written"] == 0
    more(book, server, 6)

    last = move(tmp_path / "server", tmp_path / "other", "--finish")
    assert last["finished"] and last["objects"] == 2
    assert last["tables"]["file"]["rows"] == 5 and last["tables"]["xorb"]["rows"] == 12
    refused = ledger.Ledger().upload(server, ledger.new_file(7))
    assert refused.status == 503 and refused.json()["error"]["code"] == "index.frozen", refused.body
    book.check(server)
    assert server.get("/ready").status == 200

    other = begin("other", elsewhere)
    book.check(other)
    more(book, other, 8)
    book.forget(other, ledger.new_file(2, xorbs=2))
    move(tmp_path / "server", tmp_path / "other", code=73)
    server.stop()

    back = move(tmp_path / "other", tmp_path / "server", "--finish") if not elsewhere else None
    move(tmp_path / "other", tmp_path / "third", *(["--finish"] if elsewhere else []), code=0 if elsewhere else 73)
    other.stop()
    if back:
        assert back["objects"] == 2, "objects that are there already are not copied"
        same(tmp_path / "other", tmp_path / "server")
    home = begin("server" if back else "third")
    book.check(home)
    more(book, home, 9)
    book.check(home)


@each_pair
def test_over_what_an_index_keeps_for_itself(start, begin, issuer, clock, tmp_path, elsewhere):
    """A xorb that counted for its uploader in an index is collected elsewhere. The store can be moved there again."""
    options = {"token_key": issuer.folder, "no_hub": True, "epoch": "60s", "gc_grace": "120s"}
    token, admin = issuer.token(repo="models/ann/cats", expires_s=10_000), issuer.token("admin", expires_s=10_000)
    server = start(test_clock=clock.path, **options)
    move(tmp_path / "server", tmp_path / "other", "--finish", elsewhere=elsewhere)
    server.stop()
    other = begin("other", elsewhere, **options)
    assert other.put_xorb(xet.Xorb([os.urandom(5000)]), token=token).status == 200
    other.stop()
    move(tmp_path / "other", tmp_path / "server", "--finish")
    server.start()
    for seconds in (121, 242):
        clock.move(seconds)
        assert server.post("/v1/gc", token=admin).status == 200
    server.stop()
    assert move(tmp_path / "server", tmp_path / "other", "--finish")["tables"]["xorb"]["rows"] == 0


@pytest.mark.parametrize("elsewhere", [False, pytest.param(True, marks=pytest.mark.skipif(not (cairn.POSTGRES or cairn.ENGINE), reason="there are no other engines"))])
def test_a_hub(people, begin, tmp_path, elsewhere):  # noqa: F811
    """A move copies people, their keys, organisations, repositories with their commits, buckets and files."""
    data = os.urandom(120_000)
    repo = make(people)
    sha256, _ = upload(people, data)
    first = done(commit(people, text("a/one.txt", "1"), text("\u00e9 two.txt", "2"), stored("big.bin", sha256, len(data))))
    done(commit(people, text("a/one.txt", "3")))
    people.api().create_branch(repo, branch="other", revision=first)
    people.api().create_tag(repo, tag="v1", revision=first)
    people.hf("buckets", "create", "ann/data")
    file = tmp_path / "file.bin"
    file.write_bytes(data[:100_000])
    people.hf("buckets", "cp", str(file), "hf://buckets/ann/data/some/file.bin")
    people.api().move_repo(repo, "ann/moved")
    make(people, "ann/one")
    for name in ("ann/moved", "ann/one"):
        people.api().update_repo_settings(name, gated="manual")
        people.api().grant_access(name, "bob"), people.api().grant_access(name, "rita")
    before = tree(people, "models/ann/moved")

    move(tmp_path / "server", tmp_path / "other", elsewhere=elsewhere)
    done(commit(people, text("late.txt", "4")))
    people.api().delete_repo("ann/one")
    people.api().reject_access_request("ann/moved", "rita", rejection_reason="late")
    people.server.stop()
    move(tmp_path / "server", tmp_path / "other", "--finish")
    options = {"token_key": str(people.server.command[people.server.command.index("--token-key") + 1])}
    people.server = begin("other", elsewhere, **options)
    assert tree(people, "models/ann/moved") == before
    folder = tmp_path / "got"
    people.hf("download", "ann/moved", "--revision", "v1", "--local-dir", str(folder))
    assert (folder / "big.bin").read_bytes() == data and (folder / "a/one.txt").read_bytes() == b"1"
    people.hf("buckets", "cp", "hf://buckets/ann/data/some/file.bin", str(tmp_path / "file.back"))
    assert (tmp_path / "file.back").read_bytes() == data[:100_000]
    done(commit(people, text("after.txt", "5"), repo="models/ann/moved"))
    assert [people.ask("GET", "/ann/moved/resolve/main/big.bin", who).status for who in ("bob", "rita", "adam")] == [200, 403, 403]
    people.api().grant_access("ann/moved", "adam")
    people.server.stop()

    move(tmp_path / "other", tmp_path / "back", "--finish")
    people.server = begin("back", **options)
    assert {e["path"] for e in tree(people, "models/ann/moved")} == {e["path"] for e in before} | {"after.txt"}
    people.server.stop()
    if elsewhere:
        move(tmp_path / "back", tmp_path / "again", "--finish")
        same(tmp_path / "back", tmp_path / "again")


def test_stock_clients(start, begin, tmp_path):
    """hf_xet downloads from the moved store what it uploaded to the first one."""
    server = start()
    paths = [tmp_path / f"file{i}" for i in range(3)]
    for i, path in enumerate(paths):
        path.write_bytes(os.urandom(5_000_000) if i else b"tiny")
    files = hf_client.upload(server, tmp_path / "up", paths)
    elsewhere = bool(cairn.POSTGRES or cairn.ENGINE)
    move(tmp_path / "server", tmp_path / "other", "--finish", elsewhere=elsewhere)
    other = begin("other", elsewhere)
    gets = [{"hash": f["hash"], "size": f["size"], "how": "file"} for f in files]
    for got, path in zip(hf_client.download(other, tmp_path / "down", gets), paths, strict=True):
        assert got.get("sha256") == hashlib.sha256(path.read_bytes()).hexdigest(), got


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("elsewhere", [False, pytest.param(True, marks=pytest.mark.skipif(not (cairn.POSTGRES or cairn.ENGINE), reason="there are no other engines"))])
def test_kill(start, begin, tmp_path, step, elsewhere):
    """kill -9 at each step of a move. The next command continues, and nothing is lost."""
    server = start()
    book = fill(server)
    armed = tmp_path / "crash"
    armed.write_text(step)
    move(tmp_path / "server", tmp_path / "other", "--finish", elsewhere=elsewhere, code=-9, CAIRND_CRASH_FILE=str(armed))
    frozen = ledger.Ledger().upload(server, ledger.new_file(20)).status
    assert frozen == (503 if step in ("move-frozen", "move-ended") else 200)
    book.check(server)
    server.stop()
    if step == "move-rows":
        other = begin("other", elsewhere)
        refused = other.put_xorb(ledger.new_file(21).terms[0][0])
        assert refused.status == 503 and refused.json()["error"]["code"] == "index.frozen", "a store that is half moved takes no uploads"
        other.stop()
    move(tmp_path / "server", tmp_path / "other", "--finish", elsewhere=elsewhere)
    other = begin("other", elsewhere)
    book.check(other)
    more(book, other, 22)


def test_damage(start, begin, tmp_path):
    """A damaged and a missing object are reported, and the move goes on. Uploaded again, they are whole."""
    server = start()
    book = fill(server)
    bad, gone = (ledger.new_file(i, xorbs=2).terms[0][0] for i in (2, 3))
    path = server.object_of(xet.text(bad.hash))
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    server.object_of(xet.text(gone.hash)).unlink()
    elsewhere = bool(cairn.POSTGRES or cairn.ENGINE)
    for finish in ([], ["--finish"]):
        said = move(tmp_path / "server", tmp_path / "other", *finish, elsewhere=elsewhere, code=65)
        assert sorted(d["hash"] for d in said["damaged"]) == sorted([xet.text(bad.hash), xet.text(gone.hash)])
        assert said["objects_damaged"] == 2
    server.stop()
    other = begin("other", elsewhere)
    for i in (1, 4):
        assert ledger.read(other, ledger.new_file(i, xorbs=2))
    for xorb in (bad, gone):
        assert other.request("HEAD", xorb.path()).status == 404
    for i in (2, 3):
        assert book.upload(other, ledger.new_file(i, xorbs=2)).status == 200
    book.check(other)


def test_refusals(start, begin, tmp_path):
    """A store in use is not overwritten, and only one move runs at a time."""
    server = start()
    book = fill(server, 1)
    used = start("used")
    fill(used, 1, first=30)
    used.stop()
    said = move(tmp_path / "server", tmp_path / "used", code=73)
    assert said["error"]["rule"] == "move.secret"
    (tmp_path / "used/data/secret").write_bytes((tmp_path / "server/data/secret").read_bytes())
    assert move(tmp_path / "server", tmp_path / "used", code=73)["error"]["rule"] == "move.target"
    assert move(tmp_path / "none", tmp_path / "other", code=66)["error"]["rule"] == "data_dir.missing"

    armed = tmp_path / "crash"
    armed.write_text("move-frozen")
    move(tmp_path / "server", tmp_path / "other", "--finish", code=-9, CAIRND_CRASH_FILE=str(armed))
    assert move(tmp_path / "server", tmp_path / "third", code=73)["error"]["rule"] == "move.source"
    assert move(tmp_path / "other", tmp_path / "third", code=73)["error"]["rule"] == "move.source"
    command = [cairn.CAIRN, "migrate-store", "--cancel", "--data-dir", str(server.data), "--to", str(tmp_path / "other/data")]
    assert subprocess.run(command, capture_output=True, text=True, timeout=60).returncode == 0
    more(book, server, 2)
    move(tmp_path / "server", tmp_path / "other", "--finish")
    done_ = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done_.returncode == 73 and "move.target" in done_.stderr, done_.stderr
    book.check(begin("other"))


def test_a_move_into_its_own_source_is_refused(start, tmp_path):
    """The target may not be in the store that is moved, by whatever path. Cancelling a move that never began makes no folder."""
    server = start()
    fill(server, 1)
    (tmp_path / "link").symlink_to(server.data)
    before = {p for p in server.data.iterdir()}
    for to in (server.data, server.data / "in", tmp_path / "link", tmp_path / "link/in"):
        for more_ in ((), ("--cancel",)) if to == server.data else ((),):
            command = [cairn.CAIRN, "migrate-store", *more_, "--data-dir", str(server.data), "--to", str(to)]
            done_ = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert done_.returncode == 64 and "move.folder" in done_.stderr, done_.stderr
    assert {p for p in server.data.iterdir()} == before
    (tmp_path / "empty").mkdir()
    for to in (tmp_path / "empty", tmp_path / "none"):
        command = [cairn.CAIRN, "migrate-store", "--cancel", "--data-dir", str(server.data), "--to", str(to)]
        done_ = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done_.returncode == 66 and "data_dir.missing" in done_.stderr, done_.stderr
    assert not list((tmp_path / "empty").iterdir()) and not (tmp_path / "none").exists()


def test_every_column_is_moved(server):
    """A schema migration that adds a column must add it to lib/index/tables.c, too."""
    known = {}
    for block in re.split(r"\[CAIRN_TABLE_\w+\] =", (cairn.ROOT / "lib/index/tables.c").read_text())[1:]:
        name, *columns = re.findall(r'"(\w+)"', block.split("};")[0])
        known[name] = set(columns)
    with contextlib.closing(sqlite3.connect(server.data / "index.sqlite")) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            columns = {row[1] for row in db.execute(f"PRAGMA table_info({name})")}
            assert name in OWN or columns <= known[name], (name, columns - known.get(name, set()))


@pytest.mark.sqlite
@pytest.mark.files
def test_a_backup_of_a_store_that_was_moved_out(start, begin, tmp_path):
    """The restored store takes no uploads, and every refusal says why. After --reopen it takes them."""

    def run(*words, code=0):
        done = subprocess.run([cairn.CAIRN, *map(str, words)], capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done
        return done

    def refused(server, words, state):
        reply = ledger.Ledger().upload(server, ledger.new_file(20))
        assert words in cairn.is_error(reply, 503, "index.frozen")["message"]
        [event] = server.events("index_frozen")
        assert (event["state"], event["level"]) == (state, "warning") and words in event["message"]

    server = start()
    book = fill(server, 2)
    assert not server.events("index_frozen")
    quiet = run("backup", "--json", "--data-dir", server.data, tmp_path / "before.fold")
    assert "frozen" not in quiet.stdout and not quiet.stderr
    move(tmp_path / "server", tmp_path / "other")
    half = begin("other", False)
    refused(half, "is being filled", "filling")
    half.stop()
    run("migrate-store", "--data-dir", half.data, "--reopen", code=73)
    move(tmp_path / "server", tmp_path / "other", "--finish")
    assert "was moved to another one" in cairn.is_error(ledger.Ledger().upload(server, ledger.new_file(20)), 503, "index.frozen")["message"]
    kept = run("backup", "--json", "--data-dir", server.data, tmp_path / "after.fold")
    assert json.loads(kept.stdout)["frozen"] == "moved" and "was moved to another one" in kept.stderr
    server.stop()
    (tmp_path / "third").mkdir()
    made = run("restore", "--json", "--data-dir", tmp_path / "third" / "data", tmp_path / "after.fold")
    assert json.loads(made.stdout)["frozen"] == "moved" and "--reopen" in made.stderr
    third = cairn.Daemon(tmp_path / "third").start()
    refused(third, "was moved to another one", "moved")
    run("migrate-store", "--data-dir", third.data, "--reopen", "--finish", code=64)
    run("migrate-store", "--data-dir", third.data, "--reopen")
    book.check(third)
    assert book.upload(third, ledger.new_file(21)).status == 200
    third.stop()
