"""Backups whose content is not what they say: rotten objects, wrong names, foreign files, and archives and indexes made by hand."""

import contextlib
import json
import shutil
import sqlite3
import subprocess

import cairn
import pytest
from backups import Restored, backup, command, forget, listed, prune, put, rename, rewrite

pytestmark = pytest.mark.files


@pytest.fixture
def restored(start, tmp_path):
    return Restored(start, tmp_path)


def rotten(chunk):
    """Flips a byte in the first chunk of the first object. All lengths and offsets stay right."""
    if chunk[1] == "XORB":
        chunk[2] = chunk[2][:100] + bytes([chunk[2][100] ^ 1]) + chunk[2][101:]


def verify(folder, expect=0):
    return json.loads(command("backups", "verify", "--json", folder, expect=expect).stdout)


# --- rotten objects: their bytes do not match their hash ---


def flip(path, at=100):
    whole = path.read_bytes()
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])


@pytest.mark.parametrize("incremental", [True, False])
def test_a_rotten_object_does_not_count_as_saved(start, restored, incremental):
    """The backup saves the other objects and fails. It makes no moment that could not be restored. Once the object is repaired, the next backup saves it."""
    server, folder = start(), restored.tmp_path / "backups"
    files = [put(server, 1)]
    [path] = server.data.glob("objects/*/*/*")
    files.append(put(server, 2))
    good = path.read_bytes()
    flip(path)
    options = ("--incremental", folder) if incremental else (folder,)
    said = command("backup", "--data-dir", server.data, "--json", *options, expect=65).stderr
    assert "backup.object" in said and path.name in said, said
    if incremental:
        assert [a["kind"] for a in listed(folder)] == ["objects"], "there is no moment that could not be restored"
    else:
        assert not folder.exists()
    path.write_bytes(good)
    if incremental:
        done = backup(server, folder)
        assert (done["objects"], done["objects_earlier"]) == (1, 1)
        assert verify(folder)["bad"] == []
    else:
        done = json.loads(command("backup", "--data-dir", server.data, "--json", *options).stdout)
        assert (done["objects"], done["objects_kept"]) == (2, 1)
    restored.serves(folder, "back", files)


def test_a_rotten_copy_in_an_archive(start, restored):
    """An archive of an older Cairn contains a rotten object, which its catalog does not say. Verifying reports it, and restoring uses a sound copy of
    another archive."""
    server, folder = start(), restored.tmp_path / "backups"
    files = [put(server, i) for i in range(2)]
    [first, *_] = told = [backup(server, folder)]
    early = folder / f"{first['moment']}.objects.fold"
    aside = folder.parent / early.name
    early.rename(aside)
    told.append(backup(server, folder))
    aside.rename(early)
    assert verify(folder)["bad"] == []
    rewrite(early, rotten)
    [bad] = verify(folder, expect=65)["bad"]
    assert bad["file"] == early.name and bad["rule"] == "backup.object"
    assert restored.serves(folder, "elsewhere", files)["objects_damaged"] == 1
    # If no other archive has it, the moments that need it fail, too. Nothing else is reported.
    (folder / f"{told[1]['moment']}.objects.fold").unlink()
    assert [b["rule"] for b in verify(folder, expect=65)["bad"]] == ["backup.object"] + ["restore.missing"] * 2
    assert "restore.missing" in command("restore", "--data-dir", folder.parent / "x", folder, expect=65).stderr


def test_pruning_does_not_rely_on_a_rotten_copy(start, restored):
    """The newest archive with an object normally counts. If its copy is rotten, pruning keeps the older archive."""
    server, folder = start(), restored.tmp_path / "backups"
    files = [put(server, i) for i in range(2)]
    early = folder / f"{backup(server, folder)['moment']}.objects.fold"
    aside = folder.parent / early.name
    early.rename(aside)
    late = folder / f"{backup(server, folder)['moment']}.objects.fold"
    aside.rename(early)
    rewrite(late, rotten)
    said = command("backups", "prune", "--keep-last", 1, folder, expect=65).stderr
    assert late.name in said and "backup.object" in said and early.exists()
    restored.serves(folder, "back", files)


def test_a_rotten_object_is_not_rewritten(start, clock, restored):
    server, folder = start(test_clock=clock.path, epoch="60s", gc_grace="120s"), restored.tmp_path / "backups"
    files = [put(server, i) for i in range(8)]
    path = folder / f"{backup(server, folder)['moment']}.objects.fold"
    rewrite(path, rotten)
    for file in files[1:]:
        forget(server, file)
    for n in range(2):
        clock.move(121 * (n + 1))
        assert server.post("/v1/gc").status == 200
    backup(server, folder)
    said = command("backups", "prune", "--keep-last", 1, folder, expect=65).stderr
    assert path.name in said and "backup.object" in said and path.exists()


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.sqlite
def test_an_empty_mark_in_a_store_in_use(start, restored):
    """A file `restore` that is empty belongs to a restore that had not begun to write. So whatever else is in the folder is a store in use, and the restore
    is refused."""
    server, folder = start(), restored.tmp_path / "backups"
    first = put(server, 1)
    backup(server, folder)
    put(server, 2)
    server.kill()
    (server.data / "restore").touch()
    before = contents(server.data)
    assert (server.data / "index.sqlite-wal").stat().st_size > 0
    assert "restore.folder" in command("restore", "--data-dir", server.data, folder, expect=73).stderr
    assert contents(server.data) == before
    # A folder with this file alone can be restored into.
    data = restored.folder("back")
    data.mkdir()
    (data / "restore").touch()
    command("restore", "--data-dir", data, folder)
    again = restored.start("back")
    assert again.get(f"/v1/reconstructions/{first}").status == 200


@pytest.mark.sqlite
@pytest.mark.parametrize("end", ["wal", "shm", "journal"])
def test_a_log_of_another_index(start, restored, end):
    """A log of another index is in the folder of an interrupted restore. SQLite would apply it to the restored index, so the restore is refused."""
    server, folder = start(), restored.tmp_path / "backups"
    put(server, 1)
    path = folder / f"{backup(server, folder)['moment']}.objects.fold"
    aside = folder.parent / path.name
    path.rename(aside)
    data = restored.folder("back")
    command("restore", "--data-dir", data, folder, expect=65)
    aside.rename(path)
    log = data / f"index.sqlite-{end}"
    log.write_bytes(b"of another")
    said = command("restore", "--data-dir", data, folder, expect=73).stderr
    assert "restore.folder" in said and log.name in said
    assert log.read_bytes() == b"of another" and not (data / "index.sqlite").exists()
    log.unlink()
    (data / f"index.sqlite.part-{end}").write_bytes(b"of a killed one")
    command("restore", "--data-dir", data, folder)
    assert not list(data.glob("*.part*"))


# --- verifying and restoring must agree on these ---


def renamed(name):
    def change(chunk):
        if chunk[0] == "objects/000000":
            chunk[0] = name

    return change


@pytest.mark.parametrize("name", ["objects/999999", "objects/qwerty", "objects/0", "objects/"])
def test_a_bundle_of_another_name(start, restored, name):
    server, folder = start(), restored.tmp_path / "backups"
    put(server, 1)
    path = folder / f"{backup(server, folder)['moment']}.objects.fold"
    rewrite(path, renamed(name))
    assert [b["rule"] for b in verify(folder, expect=65)["bad"]] == ["backup.catalog", "restore.missing"]
    command("restore", "--data-dir", restored.folder("back"), folder, expect=65)


def with_index(path, tmp_path, *statements):
    """Runs these statements on the index of a moment, and writes the archive anew."""
    pieces, at = [], tmp_path / "changed.sqlite"

    def gather(chunk):
        if chunk[1] == "SQLT":
            at.write_bytes(chunk[2])
            with contextlib.closing(sqlite3.connect(at, isolation_level=None)) as db:
                for statement in statements:
                    db.execute(statement)
            chunk[2] = at.read_bytes()
            pieces.append(chunk)

    rewrite(path, gather)
    assert len(pieces) == 1


@pytest.mark.parametrize(
    ("statement", "code", "rule"),
    [
        ("DROP TABLE shard", 65, "restore.damaged"),
        ("UPDATE file SET terms = zeroblob(length(terms))", 65, "restore.damaged"),
        ("PRAGMA user_version = 999", 73, "index.newer"),
    ],
)
def test_verifying_refuses_what_restoring_refuses(start, restored, statement, code, rule):
    server, folder = start(), restored.tmp_path / "backups"
    put(server, 1)
    path = folder / f"{backup(server, folder)['moment']}.moment.fold"
    with_index(path, restored.tmp_path, statement)
    assert [b["rule"] for b in verify(folder, expect=65)["bad"]] == [rule]
    assert rule in command("restore", "--data-dir", restored.folder("back"), folder, expect=code).stderr


def test_an_old_moment_under_a_new_name(start, restored):
    """An old moment is renamed to a later time. It would then be restored by default, and pruning would keep only it."""
    server, folder = start(), restored.tmp_path / "backups"
    files, told = [], []
    for i in range(2):
        files.append(put(server, i))
        told.append(backup(server, folder)["moment"])
    copy = folder / "20991231T235959Z.moment.fold"
    shutil.copy(folder / f"{told[0]}.moment.fold", copy)
    [bad] = verify(folder, expect=65)["bad"]
    assert bad["file"] == copy.name and bad["rule"] == "backup.name" and told[0] in bad["message"]
    before = listed(folder)
    for arguments in (("restore", "--data-dir", folder.parent / "x"), ("backups", "prune", "--keep-last", 1)):
        said = command(*arguments, folder, expect=73).stderr
        assert "backup.name" in said and copy.name in said and told[0] in said
    assert listed(folder) == before and not (folder.parent / "x").exists()
    restored.serves(folder, "back", files, (), "--at", told[1])
    copy.unlink()
    assert verify(folder)["bad"] == []


@pytest.mark.parametrize("kind", ["objects", "moment"])
def test_files_of_another_store(start, restored, kind):
    folders, identities, file = [], [], None
    for name in ("first", "second"):
        server, folder = start(name), restored.tmp_path / f"backups-{name}"
        file = put(server, name)
        backup(server, folder)
        folders.append(folder)
        identities.append((server.data / "identity").read_text().strip())
    [theirs] = folders[0].glob(f"*.{kind}.fold")
    mine = folders[1]
    there = mine / f"19990101T000000Z.{kind}.fold"
    shutil.copy(theirs, there)
    rewrite(there, lambda chunk: None, moment="19990101T000000Z")
    assert "backup.store" in [b["rule"] for b in verify(mine, expect=65)["bad"]]
    before = listed(mine)
    for arguments in (("restore", "--data-dir", mine.parent / "x"), ("backups", "prune", "--keep-last", 1)):
        said = command(*arguments, mine, expect=73).stderr
        assert "backup.store" in said and all(i in said for i in identities)
    assert listed(mine) == before
    there.unlink()
    restored.serves(mine, "back", [file])


def test_archives_of_older_versions_say_less(start, restored):
    """Archives of older versions do not contain the identity of their store, or the time of their moment."""
    server, folder = start(), restored.tmp_path / "backups"
    files = [put(server, 1)]
    backup(server, folder)
    for path in folder.glob("*.fold"):
        rewrite(path, lambda chunk: None, store=None, moment=None)
    files.append(put(server, 2))
    backup(server, folder)
    assert verify(folder)["bad"] == []
    restored.serves(folder, "back", files)
    assert prune(folder, "--keep-last", 1)["moments_kept"] == 1


ADDED = [
    ("CREATE TRIGGER evil AFTER INSERT ON file BEGIN UPDATE xorb SET stored = 0; END", "trigger evil"),
    ("CREATE VIEW evil AS SELECT * FROM file", "view evil"),
    ("CREATE TABLE evil(a)", "table evil"),
    ("CREATE INDEX evil ON file(size)", "index evil"),
]


@pytest.mark.sqlite
@pytest.mark.parametrize(("statement", "name"), ADDED)
def test_a_moment_with_sql_in_it(start, restored, statement, name):
    server, folder = start(), restored.tmp_path / "backups"
    put(server, 1)
    path = folder / f"{backup(server, folder)['moment']}.moment.fold"
    with_index(path, restored.tmp_path, statement)
    [bad] = verify(folder, expect=65)["bad"]
    assert bad["rule"] == "index.schema" and name in bad["message"]
    for arguments in (("restore", "--data-dir", restored.folder("back")), ("backups", "prune", "--keep-last", 1)):
        said = command(*arguments, folder, expect=73).stderr
        assert "index.schema" in said and name in said


@pytest.mark.sqlite
def test_a_virtual_table_in_the_place_of_one(start, restored):
    server, folder = start(), restored.tmp_path / "backups"
    put(server, 1)
    path = folder / f"{backup(server, folder)['moment']}.moment.fold"
    with_index(path, restored.tmp_path, "DROP TABLE telemetry", "CREATE VIRTUAL TABLE telemetry USING rtree(a, b, c)")
    [bad] = verify(folder, expect=65)["bad"]
    assert bad["rule"] == "index.schema" and "telemetry" in bad["message"]


@pytest.mark.sqlite
@pytest.mark.parametrize(("statement", "name"), ADDED)
def test_a_store_with_sql_in_it(start, restored, statement, name):
    """fsck reports SQL code in the index (such as a trigger), and the daemon does not run it."""
    server = start()
    files = [put(server, 1)]
    server.stop()
    with contextlib.closing(sqlite3.connect(server.data / "index.sqlite", isolation_level=None)) as db:
        db.execute(statement)
    assert name in command("fsck", "--data-dir", server.data, expect=65).stdout
    again = start()
    files.append(put(again, 2))
    for file in files:
        assert again.get(f"/v1/reconstructions/{file}").status == 200
    again.stop()
    with contextlib.closing(sqlite3.connect(server.data / "index.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM xorb WHERE stored = 0").fetchone() == (0,)
    assert name in command("fsck", "--data-dir", server.data, expect=65).stdout


def test_a_catalog_that_claims_too_many_entries(start, restored):
    """The catalog claims more entries than the archive can have: compressed zeros. It is refused without unpacking it."""
    server, folder = start(), restored.tmp_path / "backups"
    put(server, 1)
    path = folder / f"{backup(server, folder)['moment']}.objects.fold"

    def fill(chunk):
        if chunk[0] == "catalog":
            chunk[2] = bytes(56 * (1 << 21))

    rewrite(path, fill, compress="zstd")
    assert path.stat().st_size < 1 << 20
    for arguments in (("backups", "verify"), ("restore", "--data-dir", restored.folder("back"))):
        said = command(*arguments, folder, expect=65)
        assert "more objects than the bundles have room for" in said.stdout + said.stderr


def bundle(objects):
    entries = b"".join(h + len(o).to_bytes(8, "big") for h, o in objects)
    return b"".join(o for _, o in objects) + entries + len(objects).to_bytes(4, "big") + b"CAIRNXB1"


@pytest.mark.parametrize("data", [b"", b"1234567"])
def test_bundles_without_whole_xorbs_are_refused(start, restored, data):
    server, out = start(), restored.tmp_path / "one.fold"
    put(server, 1)
    command("backup", "--data-dir", server.data, out)

    def fill(chunk):
        if chunk[1] == "XORB":
            chunk[2] = bundle([(bytes([7]) * 32, data)] * 1000)

    rewrite(out, fill)
    for pipe in (False, True):
        folder = restored.folder(f"back{pipe}")
        with open(out, "rb") as stream:
            done = subprocess.run([cairn.CAIRN, "restore", "--data-dir", folder, "-" if pipe else out], stdin=stream, capture_output=True, text=True, timeout=120)
        assert done.returncode == 65 and "backup.bundle" in done.stderr
        assert not [p for p in (folder / "objects").rglob("*") if p.is_file()]


def test_the_last_second_of_the_last_year(start, restored):
    """No name can be later than this one, so a new moment could not be found again. The backup is refused."""
    server, folder = start(), restored.tmp_path / "backups"
    put(server, 1)
    rename(folder, backup(server, folder)["moment"], "99991231T235959Z")
    put(server, 2)
    before = {p.name for p in folder.iterdir()}
    said = command("backup", "--data-dir", server.data, "--incremental", folder, expect=73).stderr
    assert "backup.time" in said and "99991231T235959Z" in said
    assert {p.name for p in folder.iterdir()} == before


def test_archives_without_a_moment(start, restored):
    server, folder = start(), restored.tmp_path / "backups"
    put(server, 1)
    (folder / f"{backup(server, folder)['moment']}.moment.fold").unlink()
    done = command("backups", "verify", "--json", folder, expect=66)
    assert json.loads(done.stdout)["bad"] == [] and "restore.moment" in done.stderr
    command("backups", "list", folder)
