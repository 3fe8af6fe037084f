"""Collections during uploads: an hour of a busy server, compressed with a test clock. Everything acknowledged and not forgotten is read back whole.
Everything that no file needs is gone from the disk."""

import random
import subprocess
import threading
import time

import cairn
import plans
import pytest
import xet

EPOCH, GRACE = 60, 120
STEP = 15  # seconds of the test clock between two collections
UPLOADS_A_STEP = 4
WORTH, WORTH_MIN = 60 * 60, 10 * 60  # seconds of the test clock that the test is to cover; at least the second number on a slow machine, after SECONDS_MAX
SECONDS_MAX = 60
WORKERS, SHARED, FILES = 4, 24, 16


def random_xorb(seed):
    source = random.Random(seed)
    return xet.Xorb([source.randbytes(source.randint(500, 3000)) for _ in range(source.randint(4, 16))])


class Storm:
    """State that the threads share: the clock, and the pace that keeps the clock from running ahead of the uploads."""

    def __init__(self, server, clock):
        self.server, self.clock = server, clock
        self.shared = [random_xorb(i) for i in range(SHARED)]
        self.pace = threading.Condition()
        self.now = self.uploads = self.retries = self.swept = self.freed = self.offered = 0
        self.ends = time.monotonic() + SECONDS_MAX
        self.failures = []

    def over(self):
        return self.now >= WORTH or self.failures or time.monotonic() > self.ends

    def run(self, work, *args):
        try:
            work(*args)
        except BaseException as e:  # a thread's failure fails the test
            self.failures.append(e)
        with self.pace:
            self.pace.notify_all()


class Worker:
    """A client with its own files, over its own xorbs and shared ones."""

    def __init__(self, storm, number):
        self.storm, self.server = storm, storm.server
        self.source = random.Random(1000 + number)
        self.files, self.held = [], set()
        for k in range(FILES):
            common, own = storm.shared[(number + k) % SHARED], random_xorb(100 * (number + 1) + k)
            other = storm.shared[(number * 2 + k + 1) % SHARED]
            self.files.append(xet.File([(common, 0, len(common.nodes)), (own, 0, len(own.nodes)), (other, 0, 2), (own, k % 3, 3)]))

    def send(self, file, connection):
        """Uploads as stock clients do: ask whether the first chunk is known, send the xorbs that are not, then the shard."""
        described = []
        for xorb in {x.hash: x for x, _, _ in file.terms}.values():
            chunk = f"/v1/chunks/default/{xet.text(xorb.nodes[0][0])}"
            if self.server.get(chunk, connection=connection).status == 200:
                self.storm.offered += 1
                continue
            reply = self.server.post(xorb.path(), xorb.body(), connection=connection)
            if reply.status != 200:
                return reply
            described.append(xorb)
        return self.server.post("/v1/shards", xet.shard([file], described), connection=connection)

    def upload(self, k, connection):
        storm = self.storm
        while True:
            began = storm.now
            reply = self.send(self.files[k], connection)
            if reply.status == 200:
                break
            # Only a client that took longer than the grace time may be told to begin again.
            assert storm.now - began >= GRACE and reply.json()["error"]["code"] in ("xorb.not_stored", "xorb.unknown", "busy"), reply
            storm.retries += 1
        self.held.add(k)
        with storm.pace:
            storm.uploads += 1
            storm.pace.notify_all()

    def forget(self, k, connection):
        status = self.server.request("DELETE", f"/v1/files/{self.name(k)}", connection=connection).status
        assert status == (200 if k in self.held else 404)
        self.held.discard(k)

    def name(self, k):
        return xet.text(self.files[k].hash())

    def check(self, k):
        reply = self.server.get(f"/v2/reconstructions/{self.name(k)}")
        assert reply.status == (200 if k in self.held else 404), (k, self.held, reply)
        if k in self.held:
            assert plans.download(self.server, reply.json()) == plans.content(self.files[k])

    def work(self):
        connection = self.server.connect()
        while not self.storm.over():
            k = self.source.randrange(FILES)
            what = self.source.random()
            if what < 0.5:
                self.upload(k, connection)
            elif what < 0.9:
                self.forget(k, connection)
            else:
                self.check(k)
        connection.close()


def collect(storm):
    while not storm.over():
        with storm.pace:
            wanted = storm.uploads + UPLOADS_A_STEP
            storm.pace.wait_for(lambda: storm.uploads >= wanted or storm.over(), timeout=5)
            storm.now += STEP
        storm.clock.move(storm.now)
        reply = storm.server.post("/v1/gc")
        assert reply.status == 200, reply
        storm.swept += reply.json()["swept"]
        storm.freed += reply.json()["bytes_freed"]


def objects(server):
    return {p.name: p.read_bytes() for p in server.objects()}


def check_objects(server, needed):
    """Checks that exactly the needed xorbs are stored, and that each has the bytes of its name."""
    held = objects(server)
    assert set(held) == {xet.text(x.hash) for x in needed.values()}
    assert all(held[xet.text(x.hash)] == x.body() for x in needed.values())
    stats = server.get("/v1/stats").json()
    assert stats["stored_bytes"] == sum(len(body) for body in held.values())
    assert (stats["xorbs"], stats["unreferenced_xorbs"], stats["retired_xorbs"]) == (len(held), 0, 0)


def needed_by(workers):
    return {x.hash: x for w in workers for k in w.held for x, _, _ in w.files[k].terms}


def collect_all(storm):
    for _ in range(2):
        storm.now += GRACE + STEP
        storm.clock.move(storm.now)
        assert storm.server.post("/v1/gc").status == 200


@pytest.mark.files
def test_collections_among_uploads(start, clock):
    server = start(test_clock=clock.path, epoch=f"{EPOCH}s", gc_grace=f"{GRACE}s")
    storm = Storm(server, clock)
    workers = [Worker(storm, i) for i in range(WORKERS)]
    threads = [threading.Thread(target=storm.run, args=(w.work,)) for w in workers]
    threads.append(threading.Thread(target=storm.run, args=(collect, storm)))
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if storm.failures:
        raise storm.failures[0]
    told = f"{storm.now} s of the clock, {storm.uploads} uploads, {storm.offered} xorbs not sent again, {storm.swept} swept, {storm.freed} bytes freed, {storm.retries} retries"
    print(told)
    assert storm.now >= WORTH_MIN and storm.swept > 5 and storm.offered > 20, told
    for w in workers:
        for k in range(FILES):
            w.check(k)

    collect_all(storm)
    check_objects(server, needed_by(workers))
    server.stop()
    judged = subprocess.run([cairn.CAIRN, "fsck", "--data-dir", str(server.data)], capture_output=True, text=True, timeout=120)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    server.start()
    for w in workers:
        for k in range(FILES):
            w.check(k)
        w.forget(next(iter(w.held), 0), server.connect())
    before = sum(len(body) for body in objects(server).values())
    collect_all(storm)
    needed = needed_by(workers)
    check_objects(server, needed)
    assert sum(len(body) for body in objects(server).values()) < before, "the collections freed space"
    for w in workers:
        for k in range(FILES):
            w.check(k)
    assert server.left_overs() == []
