"""Daemons that share an index and a store do opposite things to the same rows at once."""

import concurrent.futures
import random
import threading

import cairn
import cluster
import ledger
import pytest
import xet
from cluster import let_pass, sql

GRACE = 120
UPLOADERS = 16
NONE = not (cairn.ENGINE and cairn.INDEX and cairn.STORE == "s3" and cluster.HAPROXY.exists())

pytestmark = pytest.mark.skipif(NONE, reason="that takes CAIRN_INDEX=postgres, CAIRN_STORE=s3 and haproxy")


def judge(one, books):
    """Checks that each daemon has everything acknowledged, that the counters are right, and that no row names a dead copy."""
    for i, book in enumerate(books):
        book.check(one.daemons[i % len(one.daemons)])
    tables = "(SELECT count(*) FROM file), (SELECT count(*) FROM xorb), (SELECT count(*) FROM shard), (SELECT coalesce(sum(stored), 0) FROM xorb)"
    assert sql(one, f"SELECT (files, xorbs, shards, stored_bytes) = ({tables}) FROM state") == "t"
    assert sql(one, "SELECT count(*) FROM xorb JOIN dead USING (copy)") == "0"


def test_connections_are_ended(start_cluster):
    """PostgreSQL ends connections before, during and after commits, while several clients send the same files. Each file is registered once, and
    acknowledged only after that."""
    one = start_cluster()
    shared = [ledger.new_file(f"ended {i}") for i in range(8)]
    books = [ledger.Ledger() for _ in range(UPLOADERS)]
    done = threading.Event()

    def end_them():
        n = 0
        while not done.wait(0.02):
            n += int(sql(one, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'cairn'"))
        return n

    def work(i):
        """Uploads each file until it is acknowledged."""
        for file in random.Random(i).sample(shared, len(shared)) + [ledger.new_file(f"ended by {i}")]:
            cairn.wait_until("an upload", lambda file=file: books[i].upload(one, file).status == 200, 60)

    with concurrent.futures.ThreadPoolExecutor(UPLOADERS + 1) as pool:
        ended = pool.submit(end_them)
        try:
            list(pool.map(work, range(UPLOADERS)))
        finally:
            done.set()
    assert ended.result() > 20
    judge(one, books)
    assert sql(one, "SELECT files FROM state") == str(len(shared) + UPLOADERS)


def test_a_file_is_forgotten_and_sent_again(start_cluster):
    """One daemon forgets a file while others receive it. An upload that was acknowledged after the last DELETE was answered is kept."""
    one = start_cluster()
    file, book = ledger.new_file("forgotten"), ledger.Ledger()
    first, second, third = one.daemons
    assert book.upload(first, file).status == 200
    shard = xet.shard([file], [x for x, _, _ in file.terms])
    for _ in range(40):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            gone = pool.submit(first.request, "DELETE", f"/v1/files/{ledger.name(file)}")
            sent = [pool.submit(daemon.post, "/v1/shards", shard) for daemon in (second, third)]
            assert gone.result().status in (200, 404) and [reply.result().status for reply in sent] == [200, 200]
        assert third.post("/v1/shards", shard).status == 200
        assert all(ledger.read(daemon, file) for daemon in one.daemons)
    judge(one, [book])


def test_sweeps_against_uploads(start_cluster):
    """Shards name xorbs that are about to be swept. Each shard is refused, or acknowledged and its xorbs are kept."""
    one = start_cluster(epoch="60s", gc_grace=f"{GRACE}s")
    files = [ledger.new_file(f"swept {i}") for i in range(48)]
    book = ledger.Ledger()
    for file in files:
        assert book.upload(one, file).status == 200
    kept = []
    for round_ in range(3):
        for file in files:
            assert book.forget(one, file).status in (200, 404)
        book = ledger.Ledger()
        let_pass(one, GRACE + 1)
        assert one.daemons[0].post("/v1/gc").json()["retired"] > 0
        let_pass(one, GRACE + 1)
        books = [ledger.Ledger() for _ in range(UPLOADERS)]

        def name(i, round_=round_, books=books):
            for file in files[i::UPLOADERS]:
                reply = books[i].put_shard(one.daemons[(i + round_) % 3], file)
                assert reply.status in (200, 400, 404, 409, 422, 503), reply

        with concurrent.futures.ThreadPoolExecutor(UPLOADERS + 1) as pool:
            swept = pool.submit(one.daemons[round_].post, "/v1/gc")
            list(pool.map(name, range(UPLOADERS)))
            assert swept.result().status == 200
        judge(one, books)
        kept.append(sum(len(b.files) for b in books))
        for file in files:
            assert book.upload(one, file).status == 200
        book.check(one)
    assert sum(kept) > 0, "every shard came after a sweep, so the test shows nothing"
