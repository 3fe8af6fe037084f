"""Daemons that share an index in PostgreSQL and a store in S3: whose copy of a xorb counts, and who removes it."""

import contextlib

import cairn
import ledger
import pytest
import s3
import xet

GRACE = 120
NONE = not (cairn.ENGINE and cairn.INDEX and cairn.STORE == "s3")

pytestmark = pytest.mark.skipif(NONE, reason="that takes CAIRN_INDEX=postgres and CAIRN_STORE=s3")


def bucket_of(server):
    return s3.Bucket(cairn.s3_url(server.data))


def collect(server, clock, times=2):
    for i in range(times):
        clock.move((i + 1) * (GRACE + 1))
        assert server.post("/v1/gc").status == 200


def test_a_row_names_its_copy(start):
    """A later copy of the same hash is that of another daemon, whose row may follow; it is not read by this one's row."""
    server = start()
    file, book = ledger.new_file(1), ledger.Ledger()
    assert book.upload(server, file).status == 200
    bucket = bucket_of(server)
    (name,) = bucket.objects()
    other = f"{name[:-32]}{'f' * 32}"
    assert bucket.request("PUT", other, body=bytes(len(file.terms[0][0].body())))[0] == 200
    server.stop()
    server.start()
    book.check(server)
    assert server.get("/metrics").body.count(b"cairn_xorbs_lost_total 0") == 1
    assert book.upload(server, file).status == 200
    assert sorted(bucket.objects()) == sorted([name, other])


def test_an_upload_leaves_the_copies_of_others(start):
    server = start()
    file, book = ledger.new_file(2), ledger.Ledger()
    bucket, xorb = bucket_of(server), file.terms[0][0]
    other = f"x/{xet.text(xorb.hash)[:2]}/{xet.text(xorb.hash)}.{'0' * 31}1"
    assert bucket.request("PUT", other, body=b"on its way")[0] == 200
    assert book.upload(server, file).status == 200
    assert other in bucket.objects() and len(bucket.objects()) == 2
    book.check(server)


def test_a_collection_removes_what_is_dead_alone(start, clock):
    server = start(test_clock=clock.path, epoch="60s", gc_grace=f"{GRACE}s")
    kept, gone, book = ledger.new_file(3), ledger.new_file(4), ledger.Ledger()
    assert book.upload(server, kept).status == 200 and book.upload(server, gone).status == 200
    bucket = bucket_of(server)
    names = bucket.objects()
    (name,) = [n for n in names if xet.text(gone.terms[0][0].hash) in n]
    other = f"{name[:-32]}{'f' * 32}"
    assert bucket.request("PUT", other, body=b"on its way")[0] == 200
    assert book.forget(server, gone).status == 200
    del book.xorbs[gone.terms[0][0].hash]
    collect(server, clock)
    assert sorted(bucket.objects()) == sorted([n for n in names if n != name] + [other])
    book.check(server)
    assert book.upload(server, gone).status == 200
    book.check(server)


@pytest.mark.parametrize("step", ["gc-swept", "gc-removed"])
def test_a_collection_is_killed(tmp_path, start, clock, step):
    """What it did not come to is removed by the next one."""
    crash = tmp_path / "crash"
    crash.write_text("")
    server = start(test_clock=clock.path, epoch="60s", gc_grace=f"{GRACE}s", variables={"CAIRND_CRASH_FILE": str(crash)})
    gone, book = ledger.new_file(5, xorbs=3), ledger.Ledger()
    assert book.upload(server, gone).status == 200
    assert book.forget(server, gone).status == 200
    book.xorbs.clear()
    collect(server, clock, 1)
    clock.move(2 * (GRACE + 1))
    crash.write_text(step)
    with contextlib.suppress(*ledger.GONE):
        server.post("/v1/gc")
    assert server.ended(seconds=20) == -9, server.log()
    assert step != "gc-swept" or len(bucket_of(server).objects()) == 3
    crash.write_text("")
    server.start()
    assert server.post("/v1/gc").status == 200
    assert bucket_of(server).objects() == []
    assert book.upload(server, gone).status == 200
    book.check(server)
