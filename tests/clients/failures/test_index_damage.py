"""The index has a damaged page or a flipped bit. Either fsck and backup report it, or everything is read right; and no collection ever removes anything
because of it."""

import contextlib
import random
import shutil
import sqlite3
import subprocess

import cairn
import ledger
import plans
import pytest
from hub_calls import commit, done, make, text
from visitors import Visitor

PAGE = 4096
FILES = 12
DAY = 86400


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a daemon that was stopped, its files, and the first page of each tree of its index."""
    server = cairn.Daemon(tmp_path_factory.mktemp("whole")).start()
    files = [ledger.new_file(i, xorbs=1 + i % 3) for i in range(FILES)]
    for file in files:
        assert ledger.Ledger().upload(server, file).status == 200
    server.stop()
    assert not (server.data / "index.sqlite-wal").exists()
    with contextlib.closing(sqlite3.connect(f"file:{server.data}/index.sqlite?immutable=1", uri=True)) as index:
        trees = dict(index.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0").fetchall())
    return server.data, files, trees


def copy_with(whole, folder, index, **options):
    """Makes a daemon on a copy of the folder, with this index; does not start it."""
    shutil.rmtree(folder, ignore_errors=True)
    server = cairn.Daemon(folder, **options)
    shutil.copytree(whole, server.data)
    (server.data / "index.sqlite").write_bytes(index)
    return server


def run(*arguments):
    done = subprocess.run([cairn.CAIRN, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert not cairn.REPORTS.search(done.stderr), done.stderr
    return done


def fsck(server, *options):
    return run("fsck", "--json", "--data-dir", server.data, *options)


def backup(server):
    return run("backup", "--data-dir", server.data, server.folder / "b.fold")


def is_well(server, files):
    """Checks that every file is read, and that a new one can be uploaded."""
    server.start()
    for file in files:
        reply = server.get(f"/v2/reconstructions/{ledger.name(file)}")
        assert reply.status == 200 and plans.download(server, reply.json()) == plans.content(file)
    assert ledger.Ledger().upload(server, ledger.new_file(1000)).status == 200
    assert server.get("/ready").status == 200
    server.stop()


class Copy:
    """A copy of a data folder whose index is replaced again and again, because copying all of it takes as long as fsck does. The daemon is not started."""

    def __init__(self, whole, folder):
        self.whole, self.server = whole, cairn.Daemon(folder)
        shutil.copytree(whole, self.server.data)
        self.names = set(self.server.folder.rglob("*"))

    def put(self, index):
        """Replaces the index, and removes what a backup added: the archive, its notes, the log of the index."""
        (self.server.data / "index.sqlite").write_bytes(index)
        for path in set(self.server.folder.rglob("*")) - self.names:
            path.unlink()

    def told(self, index, files):
        """Do fsck and backup both report the damage? If not, the daemon must read everything right."""
        self.put(index)
        checked, copied = fsck(self.server), backup(self.server)
        if checked.returncode == 0 or copied.returncode == 0:
            is_well(copy_with(self.whole, self.server.folder.with_name("well"), index), files)
            return False
        return True


def test_each_page(whole, tmp_path):
    """Overwrites one page after the other with random bytes."""
    data, files, _ = whole
    good, source = (data / "index.sqlite").read_bytes(), random.Random(11)
    copy = Copy(data, tmp_path / "copy")
    assert not copy.told(good, files)
    n_told = 0
    for page in range(len(good) // PAGE):
        bad = bytearray(good)
        bad[page * PAGE : (page + 1) * PAGE] = source.randbytes(PAGE)
        n_told += copy.told(bad, files)
    assert n_told > 20
    copy.put(good)
    assert contents(copy.server.data) == contents(data)


def flipped(good, page, source):
    """Flips one bit in the cells of a page."""
    at = (page - 1) * PAGE
    first = int.from_bytes(good[at + 5 : at + 7], "big")
    bad = bytearray(good)
    bad[at + source.randrange(first, PAGE)] ^= 1 << source.randrange(8)
    return bad


@pytest.mark.parametrize("tree", ["reference", "sqlite_autoindex_file_1", "sqlite_autoindex_xorb_1", "file_owner"])
def test_a_flipped_bit(whole, tmp_path, tree):
    """The bit is in a tree that repeats what another tree says. It is reported, nothing is collected because of it, and fsck repairs it."""
    data, files, trees = whole
    good, source = (data / "index.sqlite").read_bytes(), random.Random(tree)
    copy, n_told, n_mended = Copy(data, tmp_path / "copy"), 0, 0
    for _ in range(6):
        bad = flipped(good, trees[tree], source)
        n_told += copy.told(bad, files)
        server = copy_with(data, tmp_path / "server", bad)
        if fsck(server, "--repair").returncode == 0:
            assert fsck(server).returncode == 0
            is_well(server, files)
            n_mended += 1
    assert n_told >= {"file_owner": 4}.get(tree, 5), "only the time since when somebody has a file may change unnoticed, because file_owner alone has it"
    assert n_mended >= {"file_owner": 0, "reference": 1}.get(tree, 5), "fsck cannot always empty a damaged table"


@pytest.mark.parametrize("tree", ["reference", "sqlite_autoindex_xorb_1"])
def test_collections_lose_nothing(whole, tmp_path, clock, tree):
    """Runs two collections, the grace time apart, after each flipped bit."""
    data, files, trees = whole
    good, source = (data / "index.sqlite").read_bytes(), random.Random(tree)
    refused = 0
    for _ in range(6):
        server = copy_with(data, tmp_path / "server", flipped(good, trees[tree], source), test_clock=clock.path).start()
        objects = sorted(p.name for p in server.objects())
        for days in (15, 30):
            clock.move(days * DAY)
            reply = server.post("/v1/gc")
            refused += reply.status == 500
            if reply.status != 200:
                cairn.is_error(reply, 500, "gc.index")
        assert sorted(p.name for p in server.objects()) == objects
        if reply.status == 500:
            told = cairn.is_error(server.get("/ready"), 503)["code"]
            assert told in ("gc.index", "index.damaged"), "the collection or the check after the start reports it, whichever comes first"
            cairn.wait_until("the log", lambda server=server: server.events("index_failing"))
        server.kill()
    assert refused >= 6


def test_the_daemon_looks_by_itself(whole, tmp_path):
    """The daemon finds the damage soon after its start, without an upload or a collection."""
    data, _, trees = whole
    good = (data / "index.sqlite").read_bytes()
    server = copy_with(data, tmp_path / "server", flipped(good, trees["sqlite_autoindex_file_1"], random.Random(3))).start()
    cairn.wait_until("/ready", lambda: server.get("/ready").status == 503)
    cairn.is_error(server.get("/ready"), 503, "index.damaged")
    cairn.wait_until("the log", lambda: server.events("index_failing"))
    assert server.get("/health").status == 200
    told = server.metrics()
    assert (told["cairn_ready"], told["cairn_index_failing"]) == (0, 1)
    server.kill()


def contents(folder):
    """The files of a folder, each with its bytes."""
    return {name: held for name, (_, _, held) in everything(folder).items() if held is not None}


def everything(folder):
    """All names of a folder, each with its kind, its content and its time of change."""
    found = {}
    for path in sorted(folder.rglob("*")):
        st = path.lstat()
        found[str(path.relative_to(folder))] = (st.st_mode, st.st_mtime_ns, path.read_bytes() if path.is_file() else None)
    return found


def older_index(path, version):
    """Turns the index back into one that an older Cairn made."""
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as index:
        index.execute("PRAGMA journal_mode = WAL")
        for script in sorted((cairn.ROOT / "schema").glob("0*.sql"))[:version]:
            index.executescript(script.read_text())
        index.execute(f"PRAGMA user_version = {version}")
        index.commit()


def test_fsck_changes_nothing(whole, tmp_path):
    """fsck without --repair changes and makes nothing, whether the folder is of a stopped or killed daemon, a bare copy, or of an older version."""
    data, files, _ = whole
    good = (data / "index.sqlite").read_bytes()
    server = copy_with(data, tmp_path / "server", good)
    before = everything(server.data)
    assert fsck(server).returncode == 0 and everything(server.data) == before
    for name in ("lock", "secret", "hold"):
        (server.data / name).unlink(missing_ok=True)
    for name in ("tmp", "damaged", "packs"):
        (server.data / name).rmdir()
    before = everything(server.data)
    assert fsck(server).returncode == 0 and everything(server.data) == before

    server.start()
    assert ledger.Ledger().upload(server, ledger.new_file(77)).status == 200
    server.kill()
    assert (server.data / "index.sqlite-wal").stat().st_size > 0
    before = everything(server.data)
    checked = fsck(server)
    assert checked.returncode == 0 and f'"files":{len(files) + 1}' in checked.stdout, "fsck also checks what is in the log"
    after = everything(server.data)
    for either in (before, after):
        either.pop("index.sqlite-shm", None)
    assert after == before

    odd = tmp_path / "a folder?immutable=0#%41"
    shutil.copytree(data, odd)
    assert run("fsck", "--data-dir", odd).returncode == 0


def test_an_older_index(whole, tmp_path):
    """fsck refuses an index of an older version by name when it may change nothing. With --repair it migrates the index, and so does the daemon, which logs
    that."""
    server = copy_with(whole[0], tmp_path / "server", b"")
    shutil.rmtree(server.data / "objects")
    (server.data / "objects").mkdir()
    older_index(server.data / "index.sqlite", 2)
    before = everything(server.data)
    refused = fsck(server)
    assert refused.returncode == 73 and "index.older" in refused.stderr, refused
    assert everything(server.data) == before
    server.start()
    [event] = server.events("index_migrated")
    assert event["from"] == 2 and event["to"] >= 4, event
    server.stop()
    assert fsck(server).returncode == 0
    server.start()
    assert not server.events("index_migrated")
    server.stop()
    older_index(server.data / "index.sqlite", 3)
    assert fsck(server, "--repair").returncode == 0 and fsck(server).returncode == 0


def change(server, old, new):
    """Changes bytes of a small file, as a failing disk would."""
    server.stop()
    with contextlib.closing(sqlite3.connect(server.data / "index.sqlite")) as index, index:
        changed = index.execute("UPDATE content SET body = ? WHERE body = ?", (new, old)).rowcount
    assert changed == 1
    server.start()


@pytest.mark.sqlite
@pytest.mark.parametrize("damaged", [b'{"layers": 13}', b'{"layers": 1', b'{"layers": 12}\n', b""])
def test_a_small_file_is_damaged(people, tmp_path, damaged):
    """A damaged small file is never sent. fsck and the daemon report it, and an upload of the same bytes heals it. Other files are served."""
    server, good = people.server, b'{"layers": 12}'
    make(people), make(people, "ann/two")
    head = done(commit(people, text("a/config.json", good.decode()), text("README.md", "# One")))
    change(server, good, damaged)
    place = f"/ann/one/resolve/{head}/a/config.json"
    cairn.is_hub_error(people.ask("GET", place), 410, "content.damaged")
    cairn.is_hub_error(people.ask("GET", place, Range="bytes=0-3"), 410, "content.damaged")
    assert people.ask("GET", "/ann/one/raw/main/a/config.json").headers["Cache-Control"] == "no-store"
    assert people.ask("GET", "/ann/one/resolve/main/README.md").body == b"# One"
    assert people.ask("POST", "/api/models/ann/one/duplicate", body={"repository": "ann/copy"}).status == 410
    page = Visitor(server).sign_in(people.keys["ann"]).get("/ann/one/blob/main/a/config.json").body.decode()
    assert "This file is lost" in page and "layers" not in page
    assert server.metrics()["cairn_contents_damaged_total"] >= 4
    assert {event["rule"] for event in server.events("content_damaged")} == {"content.damaged"}
    assert server.get("/ready").status == 200, "uploads are accepted, and heal the file"
    told = server.metrics()
    assert (told["cairn_ready"], told["cairn_index_failing"]) == (1, 0)
    server.stop()
    checked = fsck(server)
    assert checked.returncode == 65 and '"index.content"' in checked.stdout and "ann/one the file a/config.json" in checked.stdout
    kept = backup(server)
    assert kept.returncode == 0 and "1 small files in the index" in kept.stderr, kept
    restored = run("restore", "--json", "--data-dir", tmp_path / "restored", server.folder / "b.fold")
    assert restored.returncode == 0 and '"contents_damaged":1' in restored.stdout and "1 small files" in restored.stderr, restored
    server.start()
    done(commit(people, text("a/config.json", good.decode())))
    assert people.ask("GET", place).body == good, "the file is also served at the commit that it was in"
    server.stop()
    assert fsck(server).returncode == 0
    server.start()
