"""Each sync is needed: without it a loss of power takes something acknowledged, and with all of them nothing is lost. The daemon and the command do their
work once, and a trace has every sync with the line that called it. Then the folder is rebuilt as a disk would have it at each answer, without the syncs
of one line. Something acknowledged must be missing then. A line that no work here reaches fails the test."""

import functools
import hashlib
import os
import re
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import cairn
import faults
import ledger
import power
import pytest
import xet
from clocks import Clock

GRACE = 120
HELPERS = {"cairn_fd_sync_parent", "cairn_fd_make_folder", "writer_sync_folder", "packs_sync", "delete_sync"}
HELPERS |= {"cairn_sys_fsync", "cairn_sys_fdatasync", "cairn_sys_syncfs"}  # their callers count as the site
CALL = re.compile(rf"\b(?:fsync|fdatasync|syncfs|{'|'.join(HELPERS)})\(")
# Lines that are not tested: power.py does not model the rename of a folder (a whole TileDB array), and there is no remote store here.
NOT_HERE = ("lib/archive/tiledb/writer.c:", "cli/export/export_tiledb.c:", "lib/data_dir/elsewhere.c:")
BY_HAND = "sync(1)"
SPARE = (
    "sqlite index.sqlite-journal",  # SQLite's own, while it creates an empty database
    "identity_make folder",  # the note that a running backup leaves for the daemon syncs the same folder, where it can be written
    "make_folder folder",  # cairn init as a user: settings and data folder sync the same folder; only root keeps keys elsewhere
    "store_fs_folders_durable folder",  # SQLite syncs this folder with its log, unless it was built without that
)
# These three sync the same folder: the first when a sandbox keeps the second from opening it, the second for every program but the daemon, the third for a
# folder that gets a secret before it is opened.
TWINS = ("main_confine folder", "data_dir_lock folder", "move_place_secret folder")


@functools.cache
def lines_of(module, offset):
    """[(function, "lib/x.c:12")] of a return address, the innermost inlined function first."""
    command = ["addr2line", "-f", "-i", "-e", module, hex(int(offset, 16) - 1)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    found = []
    for function, place in zip(out[::2], out[1::2], strict=False):
        inside = re.search(r"/\.\./((?:lib|cli|server)/\S+:\d+)", place)  # the path, below whatever folder it was built in
        found.append((function.split(".")[0], inside[1] if inside else ""))
    return found


@functools.cache
def site_of(callers, path, is_folder):
    """The line and the function that called a sync. For SQLite's own syncs, the file that was synced."""
    for caller in callers.decode().splitlines():
        module, _, offset = caller.rpartition(" ")
        if module.endswith("/sync"):
            return BY_HAND
        if "libsqlite3" in module:
            return f"sqlite {'folder' if is_folder else Path(path).name}"
        for function, place in lines_of(module, offset):
            if place and function not in HELPERS:
                return f"{place} {function}{' folder' if is_folder else ''}"
    raise AssertionError(f"who synced {path}? {callers}")


def site(r):
    return site_of(r.data, r.path, r.kind != power.SYNCED)


def lines_in_source():
    found = set()
    for part in ("lib", "cli", "server"):
        for path in (cairn.ROOT / part).rglob("*.c"):
            inside = None
            for n, line in enumerate(path.read_text().splitlines(), 1):
                function = re.match(r"[a-z][^;=]*?(\w+)\(", line)
                if function:
                    inside = function[1]
                elif CALL.search(line.split("/*")[0]) and inside not in HELPERS:
                    found.add(f"{path.relative_to(cairn.ROOT)}:{n}")
    return found


class Work:
    """A folder in which the daemon and the command work, and what they acknowledged, as marks among the records of the disk."""

    def __init__(self, folder, clock, **options):
        self.trace = folder / "trace"
        self.clock, self.now, self.told, self.bodies, self.n_packs = clock, 0, [], {}, 0
        self.needs = {}  # for each moment of a folder of backups, the archive with its objects
        self.identity = None  # by which archives name their store
        self.either = {}  # for each moment, archives of which one must be there, each with its bytes
        folder.mkdir()
        self.trace.write_bytes(b"")
        self.crash = folder / "crash"
        self.crash.write_text("")
        self.server = faults.Faults(folder / "faults", trace=self.trace, test_clock=clock.path, epoch="60s", gc_grace=f"{GRACE}s").server
        self.server.variables["CAIRND_CRASH_FILE"] = str(self.crash)
        self.root = self.server.folder
        self.secret = None

    def tell(self, *what):
        """Notes what must hold from now on. @return it"""
        self.told.append(what)
        power.mark(self.trace, str(len(self.told) - 1))
        return what

    def start(self):
        self.server.start()
        if self.secret is None:
            self.secret = (self.server.data / "secret").read_bytes()
        self.tell("whole", "data/secret", self.secret)

    def put_xorb(self, xorb):
        self.bodies[xet.text(xorb.hash)] = xorb.body()
        assert self.server.put_xorb(xorb).status == 200
        self.tell("xorb", xet.text(xorb.hash))

    def upload(self, seed, xorbs=1):
        file = ledger.new_file(seed, xorbs)
        for xorb, _, _ in file.terms:
            self.put_xorb(xorb)
        assert self.server.post("/v1/shards", xet.shard([file], [x for x, _, _ in file.terms])).status == 200
        self.tell("file", ledger.name(file))
        return file

    def forget(self, file):
        self.tell("unsure", ledger.name(file))
        assert self.server.request("DELETE", f"/v1/files/{ledger.name(file)}").status == 200
        self.tell("forgotten", ledger.name(file))

    def collect(self):
        self.tell("collected", "")  # from now on, unreferenced xorbs may go
        for _ in range(2):
            self.now += GRACE + 1
            self.clock.move(self.now)
            assert self.server.post("/v1/gc").status == 200
            self.tell("nothing", "")

    def pack(self):
        self.n_packs += 1
        try:
            assert self.server.post(f"/v1/packs?name={self.n_packs}.shard").status == 202
            cairn.wait_until("the pack", lambda: not self.server.get("/v1/packs").json()["job"]["running"])
        except ledger.GONE:
            return
        self.tell("nothing", "")

    def dies(self, step, do):
        self.crash.write_text(step)
        try:
            do()
        except ledger.GONE:
            pass
        assert self.server.ended(seconds=20) == -9, f"{step} was never reached"
        self.crash.write_text("")

    def run(self, *arguments, expect=0, server=None, program=cairn.CAIRN):
        variables = self.server.variables | ({} if program == cairn.CAIRN else {"LD_PRELOAD": faults.LIBRARY})
        command = [program, *map(str, arguments)]
        more = {"CAIRN_SERVER": self.server.url} if server else {}
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | variables | more, cwd=self.root)
        assert done.returncode == expect, (arguments, done.returncode, done.stdout, done.stderr)
        return done

    def copy(self, source, target):
        self.run(f"if={source}", f"of={target}", "status=none", program="/bin/dd")

    def whole(self, *paths):
        """Notes that these files were made and must stay as they are."""
        for path in paths:
            self.tell("whole", path, (self.root / path).read_bytes())

    def damage(self, path, at, n):
        """Overwrites n bytes of a file durably, as a failing disk would."""
        content = bytearray(path.read_bytes())
        content[at : at + n] = bytes(b ^ 0xFF for b in content[at : at + n])
        path.write_bytes(content)
        inode = path.stat().st_ino
        with open(self.trace, "ab", buffering=0) as f:
            f.write(power.HEAD.pack(power.WRITTEN, inode, at, 0, n) + content[at : at + n])
            f.write(power.HEAD.pack(power.SYNCED, inode, 0, 0, 0))


def keep_a_store(work):
    """A first start, uploads, a packing that dies and one that continues it, collections, stops and repairs."""
    work.start()
    kept = [work.upload(i, xorbs=2) for i in range(3)]
    work.put_xorb(ledger.new_file(50).terms[0][0])
    work.forget(work.upload(60))
    work.dies("pack-linked", work.pack)
    work.start()
    work.pack()
    gone = work.upload(61)
    kept.append(work.upload(62))
    work.pack()
    work.forget(gone)
    work.collect()
    work.upload(63)
    work.server.stop()
    work.tell("nothing", "")
    work.start()
    work.upload(64)
    lone = ledger.new_file(65).terms[0][0]
    work.bodies[xet.text(lone.hash)] = lone.body()
    work.dies("put-linked", lambda: work.server.put_xorb(lone))
    work.run("fsck", "--repair", "--data-dir", work.server.data)
    work.tell("xorb", xet.text(lone.hash))


def start_again(work):
    """The first start dies when the index's log has a name that is not synced yet. The next start finds the log there."""
    work.root.mkdir(parents=True)
    work.crash.write_text("migrate-begun")
    work.server.launch()
    assert work.server.ended(seconds=20) == -9
    work.crash.write_text("")
    work.start()
    work.upload(1)


def bring_by_hand(work):
    """An operator copies an object and a pack into the folder, and syncs neither."""
    work.bodies["by hand"] = True  # so the copy may be damaged until the daemon relies on it
    work.start()
    file = work.upload(1)
    text = xet.text(file.terms[0][0].hash)
    kept, at = work.root / "kept", work.server.object_of(text)
    work.copy(at, kept)
    work.pack()
    work.copy(work.server.data / "packs" / "1.shard", work.server.data / "packs" / "copy.shard")
    work.run(kept, program="/bin/sync")
    work.run(kept, at, program="/bin/ln")
    work.run(at.parent, program="/bin/sync")
    work.run(work.server.data / "packs" / "1.shard", program="/bin/rm")
    work.pack()
    assert not at.exists()
    work.server.stop()
    lone = ledger.new_file(2).terms[0][0]
    text = xet.text(lone.hash)
    work.bodies[text] = lone.body()
    kept = work.root / "kept2"
    kept.write_bytes(lone.body())
    work.run("-p", work.server.object_of(text).parent, program="/bin/mkdir")
    work.copy(kept, work.server.object_of(text))
    work.run("fsck", "--repair", "--data-dir", work.server.data)
    work.tell("xorb", text)


def repair_a_store(work):
    """fsck sets aside the unreadable objects of the folder and of a pack. Their bytes can still be examined."""
    work.start()
    packed = xet.text(work.upload(1).terms[0][0].hash)
    work.pack()
    loose = xet.text(work.upload(2).terms[0][0].hash)
    work.server.stop()
    pack = work.server.data / "packs" / "1.shard"
    for x, path, at in ((loose, work.server.object_of(loose), 0), (packed, pack, pack.read_bytes().index(work.bodies[packed]))):
        work.tell("lost", x)
        work.damage(path, at, len(work.bodies[x]))  # the whole chunk area: an object of which a chunk can be read stays in place
        work.run("fsck", "--repair", "--data-dir", work.server.data, expect=65)
        work.tell("somewhere", (work.server.data / "damaged" / x).read_bytes())


def back_up(work):
    """A backup, and a restore that is killed after an object got its name, and is then continued."""
    work.start()
    files = [work.upload(i, xorbs=2) for i in range(2)]
    work.server.stop()
    work.restored = {ledger.name(f) for f in files}
    work.run("backup", "--with-secret", "--data-dir", work.server.data, "b.fold")
    work.whole("b.fold")
    work.crash.write_text("put-linked:2")
    work.run("restore", "--data-dir", "data2", "b.fold", expect=-9)
    work.crash.write_text("")
    work.run("restore", "--data-dir", "data2", "b.fold")
    work.tell("restored", "data2")
    work.tell("whole", "data2/secret", work.secret)


def move_a_store(work):
    """Moves the store to another folder while the daemon runs."""
    work.start()
    files = {ledger.name(work.upload(i, xorbs=2)) for i in range(90, 92)}
    work.run("migrate-store", "--data-dir", work.server.data, "--to", "data3", "--finish")
    work.tell("moved", "data3", files)
    work.tell("whole", "data3/secret", work.secret)


def new_archives(work, known):
    """The new archives, those of objects before those of moments."""
    return sorted({f"backups/{p.name}" for p in (work.root / "backups").glob("*.fold")} - set(known), key=lambda name: "moment" in name)


def keep_backups(work):
    """Backs up into a folder twice. A pruning then removes a moment, and after it the archive that only that moment needs."""
    work.start()
    file, made = work.upload(70), []
    for seed in (71, 72):
        work.run("backup", "--data-dir", work.server.data, "--incremental", "backups")
        objects, moment = new_archives(work, made)
        made += [objects, moment]
        work.needs[moment] = objects
        work.whole(objects, moment)
        if file:
            work.forget(file)
            work.collect()
            file = None
            work.upload(seed)
    for name in made[:2]:
        work.tell("may go", name)
    work.run("backups", "prune", "--keep-last", "1", "backups")
    assert not any((work.root / name).exists() for name in made[:2])


def rewrite_backups(work):
    """A pruning copies what is still needed of an archive into a new one, and then removes the old one."""
    work.start()
    gone, made = work.upload(80, xorbs=3), []
    work.upload(81)
    for seed in (82, None):
        work.run("backup", "--data-dir", work.server.data, "--incremental", "backups")
        work.identity = (work.server.data / "identity").read_bytes()
        made.append(new_archives(work, sum(made, [])))
        if seed:
            work.forget(gone)
            work.collect()
            work.upload(seed)
    (old, before), (_, moment) = made
    work.either[moment] = {old: (work.root / old).read_bytes()}
    work.tell("may go", before)
    work.run("backups", "prune", "--keep-last", "1", "backups")
    [new] = new_archives(work, sum(made, []))
    assert not (work.root / old).exists()
    work.either[moment][new] = (work.root / new).read_bytes()
    work.whole(new)


def write_files(work):
    """Files that the command writes and reports as written."""
    work.start()
    file = work.upload(1)
    xorb_hash = xet.text(file.terms[0][0].hash)
    assert work.server.post("/v1/gc").status == 200
    work.whole("data/notes/gc")
    work.run("token", "--new-key", "key")
    work.whole("key")
    work.run("init", "ann", "--dir", "store")
    work.whole("store/cairnd.conf", "store/keys/1")
    work.run("pull", ledger.name(file), "-o", "pulled", server=True)
    work.whole("pulled")
    (work.root / "folder").mkdir()
    (work.root / "folder" / "a").write_bytes(b"a" * 100)
    (work.root / "folder" / "a").chmod(0o755)
    work.run("push", "--manifest", "manifest", "folder", server=True)
    work.whole("manifest")
    work.run("pull", "manifest", "-o", "pulled2", server=True)
    work.whole("pulled2/a")
    work.pack()
    work.run("pack", "get", "data/packs/1.shard", xorb_hash, "-o", "got")
    work.whole("got")
    work.run("export", "--data-dir", "data", "--format", "csv", "out")
    work.whole("out/xorbs.csv", "out/files.csv")
    work.server.stop()
    work.run("backup", "--parity", "16", "--data-dir", work.server.data, "b.fold")
    work.run("fold", "repair", "b.fold", "-o", "c.fold")
    work.whole("c.fold")
    work.run("fold", "extract", "b.fold", "objects/000000", "-o", "extracted")
    work.whole("extracted")
    work.tell("lost", xorb_hash)
    work.run("pack", "delete", "data/packs/1.shard", xorb_hash)
    work.tell("zeroed", "data/packs/1.shard", xorb_hash)


@functools.lru_cache(maxsize=4096)
def rows(index, log):
    """@return ({xorb: stored bytes}, {files}); None: the index cannot be read"""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        path = Path(folder) / "index.sqlite"
        path.write_bytes(index)
        if log is not None:
            Path(f"{path}-wal").write_bytes(log)
        db = sqlite3.connect(path)
        try:
            if db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return None
            xorbs = {xet.text(h): n for h, n in db.execute("SELECT hash, stored FROM xorb WHERE stored > 0")}
            files = {xet.text(h) for (h,) in db.execute("SELECT hash FROM file f WHERE EXISTS(SELECT 1 FROM file_owner WHERE file = f.id)")}
            return xorbs, files
        except sqlite3.Error:
            return None
        finally:
            db.close()


def slots(pack):
    """{key as text: bytes} of the objects that a pack lists."""
    count, _, _, index_at, index_bytes = (int.from_bytes(pack[at : at + 8], "big") for at in (40, 48, 56, 64, 72))
    found = {}
    for at in range(index_at, index_at + index_bytes, 40):
        key, offset = pack[at : at + 32], int.from_bytes(pack[at + 32 : at + 40], "big")
        if offset != (1 << 64) - 1:
            size = int.from_bytes(pack[offset : offset + 8], "big")
            found[xet.text(key)] = pack[offset + 8 : offset + 8 + size] if size <= len(pack) else b""
    assert len(found) <= count
    return found


def judge_store(found, folder, bodies, xorbs, files, not_files):
    index = found.get(f"{folder}/index.sqlite")
    read = rows(bytes(index), bytes(found[f"{folder}/index.sqlite-wal"]) if f"{folder}/index.sqlite-wal" in found else None) if index else None
    if read is None:
        return ["the index is lost"] if xorbs or files or not_files else []
    wrong = [f"xorb {x} has no row" for x in xorbs - read[0].keys()]
    wrong += [f"file {f} is lost" for f in files - read[1]] + [f"file {f} is back" for f in not_files & read[1]]
    packs = [slots(bytes(c)) for p, c in found.items() if p.startswith(f"{folder}/packs/") and c is not None]
    for x, n in read[0].items():
        places = [found.get(f"{folder}/objects/{x[:2]}/{x[2:4]}/{x}")] + [p.get(x) for p in packs]
        content = next((c for c in places if c is not None), None)
        if content is None or len(content) != n or bytes(content) != bodies.get(x, content):
            wrong.append(f"the object {x} is {'lost' if content is None else 'not whole'}")
    wrong += [] if bodies.get("by hand") else [f"a pack has {x}, not whole" for p in packs for x, content in p.items() if bytes(content) != bodies.get(x, content)]
    return wrong


def judge(work, told, found):
    """Lists what is wrong with the folder that is left, given what was acknowledged."""
    xorbs, files, not_files, wrong = set(), set(), set(), []
    lost, may_go = ({x for what, x, *_ in told if what == it} for it in ("lost", "may go"))
    for what, key, *more in told:
        if what == "xorb":
            xorbs.add(key)
        elif what == "collected":
            xorbs.clear()
        elif what in ("file", "unsure", "forgotten"):
            files.discard(key)
            not_files.discard(key)
            if what != "unsure":
                (files if what == "file" else not_files).add(key)
        elif what == "whole" and found.get(key) != more[0] and key not in may_go:
            wrong.append(f"{key} is {'not whole' if key in found else 'lost'}")
        elif what == "somewhere" and key not in found.values():
            wrong.append("what was set aside is lost")
        elif what == "zeroed" and work.bodies[more[0]] in found[key]:
            wrong.append(f"{key} has still what was deleted from it")
        elif what == "moved":
            wrong += judge_store(found, key, work.bodies, set(), more[0], set())
        elif what == "restored":
            wrong += judge_store(found, key, work.bodies, set(), work.restored, set())
            wrong += ["the restored folder counts as half restored"] * (f"{key}/restore" in found)
    wrong += [f"{moment} lacks its objects" for moment, objects in work.needs.items() if moment in found and objects not in found]
    if work.identity and found.get("data/identity") != work.identity and any(re.fullmatch(r"backups/.*\.fold", path) for path in found):
        wrong.append("an archive has the name of a store that does not know it")
    wrong += [f"{moment} lacks what was taken over" for moment, either in work.either.items() if moment in found and all(found.get(path) != it for path, it in either.items())]
    if "data2/index.sqlite" in found and "data2/restore" not in found and not any(t[0] == "restored" for t in told):
        wrong += judge_store(found, "data2", work.bodies, set(), work.restored, set())
    if "data2/objects" in found and not {"data2/index.sqlite", "data2/restore"} & found.keys():
        wrong.append("half of a restore is taken for a folder of its own")
    if lost:
        return wrong
    return wrong + judge_store(found, "data", work.bodies, xorbs, files, not_files)


def surviving():
    """Ways in which changes that were not synced survive a loss of power, from the harshest on."""
    in_index = lambda path: "index.sqlite" in path  # noqa: E731
    return [
        lambda what, path: False,
        lambda what, path: what == power.GONE,
        lambda what, path: what != power.BYTES,
        lambda what, path: what == power.BYTES,
        lambda what, path: in_index(path),
        lambda what, path: in_index(path) or what == power.GONE,
        lambda what, path: not in_index(path),
        lambda what, path: what == power.GONE and path.endswith(".objects.fold"),
        *(lambda what, path, salt=salt: hashlib.md5(f"{what}{path}{salt}".encode()).digest()[0] % 2 == 0 for salt in range(4)),
    ]


def moments(records):
    """Positions in the trace at which most is at stake: at each answer, and right before each sync."""
    return [i for i, r in enumerate(records, 1) if r.kind == power.MARK or (i < len(records) and records[i].kind in power.SYNCS)]


def losses(work, records, without=None):
    """Yields what is lost at any moment, in any way, when the syncs of a site (or of several) are left out."""
    disk, at, told = power.Disk(), 0, []
    for moment in moments(records):
        for r in records[at:moment]:
            disk.take(r, without and (lambda r: bool(r.data) and site(r).endswith(without)))
            if r.kind == power.MARK:
                told.append(work.told[int(r.data)])
        at = moment
        for n, survives in enumerate(surviving()):
            wrong = judge(work, told, disk.left(survives))
            if wrong:
                yield f"record {moment}, way {n}: {wrong[0]}"


WORK = {"start": start_again, "store": keep_a_store, "by_hand": bring_by_hand, "repair": repair_a_store, "backup": back_up, "backups": keep_backups, "rewrite": rewrite_backups, "move": move_a_store, "files": write_files}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Does all work once. @return {name: (work, records)}"""
    found = {}
    for name, do in WORK.items():
        folder = tmp_path_factory.mktemp(name)
        work = Work(folder / "work", Clock(folder / "clock"))
        work.restored = set()
        do(work)
        if work.server.process:
            work.server.stop()
        found[name] = (work, power.read_trace(work.trace))
    return found


@pytest.mark.parametrize("name", WORK)
def test_nothing_is_lost(done, name):
    work, records = done[name]
    found = list(losses(work, records))
    assert not found, found[:5]


def test_every_sync_is_reached(done):
    reached = {site(r).split(" ")[0] for _, records in done.values() for r in records if r.kind in power.SYNCS and r.data}
    missing = {line for line in lines_in_source() if line not in reached and not line.startswith(NOT_HERE)}
    assert not missing, sorted(missing)


def test_every_sync_is_needed(done):
    sites = {}
    for name, (_, records) in done.items():
        for r in records:
            if r.kind in power.SYNCS and r.data:
                s = site(r)
                sites.setdefault(TWINS if s.endswith(TWINS) else s, set()).add(name)
    judged = {s: names for s, names in sites.items() if s == TWINS or not s.endswith((BY_HAND, *SPARE))}
    found = {s: next((x for n in sorted(names) for x in losses(*done[n], s)), None) for s, names in judged.items()}
    print("\n".join(f"{s}: {loss}" for s, loss in found.items()))
    not_needed = [s for s, loss in found.items() if loss is None]
    assert not not_needed, not_needed
