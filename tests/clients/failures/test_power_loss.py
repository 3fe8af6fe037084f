"""Power fails, and everything that was not synced is lost. The folder is rebuilt as the disk would have it, and cairnd starts on it. Everything
acknowledged must be there."""

import json
import random
import subprocess
import threading

import cairn
import ledger
import power
from faults import Faults

GRACE = 120
UPLOADERS, UPLOADS = 3, 5
MOMENTS = 48


class Noted(ledger.Ledger):
    """A ledger that writes its entries among the records of the disk, so that it can tell what had been acknowledged by any record."""

    def __init__(self, trace):
        super().__init__()
        self.trace, self.known = trace, {}

    def note(self, what, ask, server, thing):
        key = thing.hash if what == "xorb" else ledger.name(thing)
        self.known[str(key)] = thing
        power.mark(self.trace, f"ask {what} {key}")
        reply = ask(server, thing)
        if reply.status in (200, 404):
            power.mark(self.trace, f"told {what} {key}")
        return reply

    def put_xorb(self, server, xorb):
        return self.note("xorb", super().put_xorb, server, xorb)

    def put_shard(self, server, file):
        return self.note("file", super().put_shard, server, file)

    def forget(self, server, file):
        return self.note("forget", super().forget, server, file)

    def at(self, records):
        """The ledger of what these records acknowledge."""
        then = ledger.Ledger()
        for r in records:
            if r.kind != power.MARK:
                continue
            told, what, key = r.data.decode().split(" ", 2)
            thing = self.known.get(key)
            if what == "xorb" and told == "told":
                then.xorbs[key] = thing
            elif what == "collect":
                then.xorbs.clear()
            elif what in ("file", "forget"):
                for group in (then.files, then.forgotten, then.unsure):
                    group.pop(key, None)
                group = then.unsure if told == "ask" else then.files if what == "file" else then.forgotten
                group[key] = thing
        return then


def upload_some(server, noted, number):
    files = [ledger.new_file(100 * number + i, xorbs=1 + i % 2) for i in range(UPLOADS)]
    for i, file in enumerate(files):
        assert noted.upload(server, file).status == 200
        if i % 3 == 2:
            assert noted.forget(server, files[i - 1]).status == 200


def work(faults, noted, clock):
    """A first start, concurrent uploads, a kill, a stop with its checkpoint, and collections."""
    server, now = faults.server, 0
    for start in range(3):
        server.start()
        threads = [threading.Thread(target=upload_some, args=(server, noted, 10 * start + i)) for i in range(UPLOADERS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for _ in range(2):
            now += GRACE + 1
            clock.move(now)
            power.mark(noted.trace, "ask collect -")
            assert server.post("/v1/gc").status == 200
        server.kill() if start == 0 else server.stop()


def check(folder, then, **options):
    """Starts cairnd on the folder, checks the ledger, and runs fsck."""
    server = cairn.Daemon(folder, **options)
    server.start()
    then.check(server)
    assert then.upload(server, ledger.new_file(999)).status == 200, "the daemon takes another upload"
    server.kill()
    judged = subprocess.run([cairn.CAIRN, "fsck", "--json", "--data-dir", str(server.data)], capture_output=True, text=True, timeout=60)
    assert {p["kind"] for p in json.loads(judged.stdout)["problems"]} <= {"object.alone"}, judged.stdout


def test_power_loss(tmp_path, clock):
    trace = tmp_path / "trace"
    trace.write_bytes(b"")
    options = {"test_clock": clock.path, "epoch": "60s", "gc_grace": f"{GRACE}s"}
    faults, noted = Faults(tmp_path / "faults", trace=trace, **options), Noted(trace)
    work(faults, noted, clock)
    records = power.read_trace(trace)
    source = random.Random(6)
    # Moments right before and after an acknowledgement, and at random.
    told = [i + 1 for i, r in enumerate(records) if r.kind == power.MARK and r.data.startswith(b"told")]
    moments = sorted(source.sample(told, MOMENTS // 2) + source.sample(range(1, len(records)), MOMENTS // 2))
    disk, at = power.Disk(), 0
    ways = [lambda: False, lambda: source.random() < 0.5, lambda: source.random() < 0.9]
    for n, moment in enumerate(moments):
        for r in records[at:moment]:
            disk.take(r)
        at = moment
        then = noted.at(records[:moment])
        folder = tmp_path / f"left{n}"
        folder.mkdir()
        disk.leave(folder, ways[n % 3])
        check(folder, then, **options)


def test_unrecorded_changes_count_as_not_synced(tmp_path):
    """A process may be killed between a call and its record. What it wrote is there until power fails, and may or may not be there afterwards."""
    folder, disk = tmp_path / "data", power.Disk()
    folder.mkdir()
    disk.take(power.Record(power.DIR_MADE, 0, 0, "data", b""))
    (folder / "log").write_bytes(b"a" * 600)
    inode = (folder / "log").stat().st_ino
    disk.take(power.Record(power.CREATED, inode, 0, "data/log", b""))
    disk.take(power.Record(power.WRITTEN, inode, 0, "data/log", b"a" * 500))
    disk.take(power.Record(power.ALL_SYNCED, 0, 0, "", b""))
    (folder / "new").write_bytes(b"n")
    disk.catch_up(tmp_path, folder)
    assert disk.left(lambda *_: True) == {"data": None, "data/log": b"a" * 600, "data/new": b"n"}
    assert disk.left(lambda *_: False) == {"data": None, "data/log": b"a" * 500}
    (folder / "log").rename(folder / "old")
    (folder / "new").unlink()
    disk.catch_up(tmp_path, folder)
    assert disk.left(lambda *_: True) == {"data": None, "data/old": b"a" * 600}
    disk.catch_up(tmp_path, folder)
    assert len(disk.since) == 3, "changes that the disk has already are not added again"
