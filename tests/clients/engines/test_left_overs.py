"""Objects that killed uploads leave in a bucket, and which daemon removes them: the rules of lib/store/README.md, "Copies in an S3 service"."""

import concurrent.futures
import contextlib
import os
import random
import signal
import time

import cairn
import ledger
import pytest
import s3
from cluster import bucket_of, collect_somewhere, sql, standing_still, stopped

GRACE, HOUR, DAY = 120, 3600, 86400
PAGE, LISTED = 512, 1300  # objects listed in one piece; a number that takes three pieces, and two requests of at most 1,000 names
NONE = not (cairn.ENGINE and cairn.INDEX and cairn.STORE == "s3")

pytestmark = pytest.mark.skipif(NONE, reason="that takes CAIRN_INDEX=postgres and CAIRN_STORE=s3")


def gc(server):
    """Runs a collection. @return how many left-overs it removed, and how many bytes that freed"""
    reply = server.post("/v1/gc")
    assert reply.status == 200, reply
    return reply.json()["left_overs"], reply.json()["bytes_freed"]


def test_only_old_copies_without_a_row_are_removed(start):
    """Old copies that no row names are removed. A row's own copy stays, however old it is, and so does a copy that an upload under way may have made."""
    server = start(epoch="60s", gc_grace=f"{GRACE}s")
    file, book = ledger.new_file(700), ledger.Ledger()
    assert book.upload(server, file).status == 200
    bucket, kept, other = bucket_of(server), file.terms[0][0], ledger.new_file(701).terms[0][0]
    (first,) = bucket.objects()
    # The row now names a copy that is three days old. The copy of the upload just now has no row, and stays because it is young.
    old = s3.copy_name(kept, 3 * DAY)
    assert bucket.request("PUT", old, body=kept.body())[0] == 200
    assert sql(server, f"UPDATE xorb SET copy = '\\x{old[-32:]}' RETURNING 1") == "1"
    spare, lone, young = s3.copy_name(kept, 2 * DAY), s3.copy_name(other, 2 * DAY), s3.copy_name(other, HOUR)
    for name in (spare, lone, young):
        assert bucket.request("PUT", name, body=b"left over")[0] == 200
    server.stop()
    server.start()
    assert gc(server) == (2, 18)
    assert sorted(bucket.objects()) == sorted([first, old, young])
    assert server.metrics()["cairn_gc_left_overs_total"] == 2 and server.metrics()["cairn_gc_freed_bytes_total"] == 18
    server.settle_log()
    assert '"left_overs":2' in server.log()
    book.check(server)
    # A PUT that the client had given up takes effect only now.
    assert bucket.request("PUT", lone, body=b"late")[0] == 200
    assert gc(server) == (1, 4) and gc(server) == (0, 0)
    assert sorted(bucket.objects()) == sorted([first, old, young])
    book.check(server)


def test_all_copies_of_a_lost_xorb_stay(start):
    """All copies of a lost xorb stay until it is stored again, because some of their bytes may be needed."""
    server = start(epoch="60s", gc_grace=f"{GRACE}s")
    file, book = ledger.new_file(702), ledger.Ledger()
    assert book.upload(server, file).status == 200
    bucket, xorb = bucket_of(server), file.terms[0][0]
    damaged = s3.copy_name(xorb, 2 * DAY)
    assert bucket.request("PUT", damaged, body=b"damaged")[0] == 200
    assert sql(server, "UPDATE xorb SET copy = NULL, stored = NULL RETURNING 1") == "1"
    assert gc(server) == (0, 0)
    assert damaged in bucket.objects()
    assert book.upload(server, file).status == 200
    assert gc(server) == (1, 7)
    assert damaged not in bucket.objects()
    book.check(server)


def test_an_upload_goes_on(tmp_path, start_cluster):
    """The object of an upload that stands still between its PUT and its row is no left-over. The upload is acknowledged when it goes on."""
    crash, book, file = tmp_path / "crash", ledger.Ledger(), ledger.new_file(703)
    crash.write_text("")
    one = start_cluster(n=2, epoch="60s", gc_grace=f"{GRACE}s", variables={"CAIRND_CRASH_FILE": str(crash)})
    first, second = one.daemons
    with standing_still(first, crash, "xorb-stored", lambda: book.put_xorb(first, file.terms[0][0])) as under_way:
        assert gc(second) == (0, 0)
        assert len(one.bucket().objects()) == 1
    assert under_way.result().status == 200
    assert book.upload(second, file).status == 200
    book.check(second)


@pytest.mark.parametrize("forgotten", [False, True])
def test_an_upload_sleeps_for_too_long(tmp_path, start_cluster, clock, forgotten):
    """An upload stands still for so long that its copy is written off and removed, and perhaps even the record of that. It is refused and must be sent
    again."""
    crash, book, file = tmp_path / "crash", ledger.Ledger(), ledger.new_file(704)
    crash.write_text("")
    variables = {"CAIRND_CRASH_FILE": str(crash)}
    one = start_cluster(test_clock=clock.path, n=1, epoch="60s", gc_grace=f"{GRACE}s", variables=variables)
    (first,) = one.daemons
    second = cairn.Daemon(tmp_path / "second", variables=first.variables, epoch="60s", gc_grace=f"{GRACE}s").start()
    clock.move(-2 * DAY)
    with standing_still(first, crash, "xorb-stored", lambda: first.put_xorb(file.terms[0][0])) as under_way:
        clock.move(0)
        assert gc(second)[0] == 1
        assert one.bucket().objects() == []
        assert sql(one, "SELECT count(*) FROM dead WHERE buried") == "1"
        if forgotten:
            assert sql(one, "DELETE FROM dead RETURNING 1") == "1"
    assert cairn.is_error(under_way.result(), 503, "xorb.late" if forgotten else "xorb.replaced")
    assert book.upload(first, file).status == 200
    book.check(second)
    assert gc(second) == (0, 0)
    book.check(first)
    second.stop()


def test_a_paused_collection_writes_nothing_off(tmp_path, start_cluster):
    """The daemon has listed the copies to write off, and pauses. Another daemon takes over and removes them, and the xorb is uploaded again. The first one
    then writes nothing off."""
    crash, book, file = tmp_path / "crash", ledger.Ledger(), ledger.new_file(705)
    crash.write_text("")
    one = start_cluster(n=2, epoch="60s", gc_grace=f"{GRACE}s", variables={"CAIRND_CRASH_FILE": str(crash)})
    first, second = one.daemons
    left = s3.copy_name(file.terms[0][0], 2 * DAY)
    assert one.bucket().request("PUT", left, body=file.terms[0][0].body())[0] == 200
    with standing_still(first, crash, "gc-listed", lambda: first.post("/v1/gc", timeout=120)) as under_way:
        collect_somewhere(second)
        assert one.bucket().objects() == []
        assert book.upload(second, file).status == 200
    assert cairn.is_error(under_way.result(), 503, "lease.over")
    assert sql(one, "SELECT count(*) FROM dead WHERE NOT buried") == "0", "the first daemon writes nothing off"
    assert len(one.bucket().objects()) == 1
    book.check(first)


def test_a_collection_is_killed(tmp_path, start):
    """The next collection removes what the killed one had not removed yet."""
    crash, book = tmp_path / "crash", ledger.Ledger()
    crash.write_text("")
    server = start(epoch="60s", gc_grace=f"{GRACE}s", variables={"CAIRND_CRASH_FILE": str(crash)})
    assert book.upload(server, ledger.new_file(706)).status == 200
    bucket = bucket_of(server)
    kept = bucket.objects()
    for seed in range(707, 710):
        xorb = ledger.new_file(seed).terms[0][0]
        assert bucket.request("PUT", s3.copy_name(xorb, 2 * DAY), body=xorb.body())[0] == 200
    crash.write_text("gc-listed")
    with contextlib.suppress(*ledger.GONE):
        server.post("/v1/gc")
    assert server.ended(seconds=20) == -9, server.log()
    crash.write_text("")
    server.start()
    gc(server)
    assert bucket.objects() == kept
    book.check(server)


@pytest.mark.parametrize(("end", "shared"), [("killed", True), ("stopped", False)])
def test_a_list_goes_on(tmp_path, start, start_cluster, end, shared):
    """The list of left-overs takes more than one page and breaks off. The next collection continues it behind the pages that were done; the one after that
    begins anew."""
    crash, source = tmp_path / "crash", random.Random(7)
    crash.write_text("")
    options = {"epoch": "60s", "gc_grace": f"{GRACE}s", "variables": {"CAIRND_CRASH_FILE": str(crash)}}
    if shared:
        one = start_cluster(n=2, **options)
        bucket, (first, second) = one.bucket(), one.daemons
    else:
        first = second = start(**options)
        bucket = bucket_of(first)
    before, replies = bucket.objects(), []
    made_ms = int((time.time() - 2 * DAY) * 1000)
    digits = lambda: f"{source.getrandbits(252) + (1 << 252):064x}"  # none begins with 0, so that a name with 0 sorts first
    names = sorted(f"x/{d[:2]}/{d}.{made_ms:012x}7{source.getrandbits(76):019x}" for d in (digits() for _ in range(LISTED)))
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert {status for status, _ in pool.map(lambda name: bucket.request("PUT", name, body=b"x"), names)} == {200}
    crash.write_text("gc-listed:2" if end == "killed" else "gc-listed:2:stop")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(gc_at_any_cost, first)
        if end == "stopped":
            cairn.wait_until("a stop", lambda: stopped(first.process.pid))
            first.process.send_signal(signal.SIGTERM)
            first.process.send_signal(signal.SIGCONT)
        under_way.result()
    assert first.ended(seconds=30) == (-9 if end == "killed" else 0), first.log()
    crash.write_text("")
    first.start()
    low = f"x/00/{'0' * 63}1.{made_ms:012x}7{'0' * 19}"
    assert bucket.request("PUT", low, body=b"x")[0] == 200
    cairn.wait_until("a collection", lambda: (reply := second.post("/v1/gc")).status == 200 and replies.append(reply) is None)
    left = LISTED - PAGE * (1 if end == "killed" else 2)
    assert replies.pop().json()["left_overs"] == left
    assert sorted(bucket.objects()) == sorted([*before, low])
    assert gc(second) == (1, 1) and gc(second) == (0, 0)
    assert bucket.objects() == before


REFUSED = 8  # after so many equal refusals, before anything was removed, the daemon stops asking
LANES = 8  # objects removed at once


def bury(server, numbers, digit):
    """Registers dead copies of the xorb whose hash repeats one digit, with these numbers. The objects need not exist to be removed, or refused."""
    rows = f"SELECT decode(lpad(to_hex(i), 32, '0'), 'hex'), decode(repeat('{digit}', 64), 'hex'), 0 FROM generate_series({numbers.start}, {numbers.stop - 1}) i"
    sql(server, f"INSERT INTO dead(copy, hash, at) {rows}; SELECT 1")


def waiting(server, digit):
    return int(sql(server, f"SELECT count(*) FROM dead WHERE NOT buried AND hash = decode(repeat('{digit}', 64), 'hex')"))


def kept(digit):
    """The pattern of the names of all objects of that xorb."""
    return f"x/{digit}{digit}/*"


def unremoved(server):
    reply = server.post("/v1/gc", timeout=300)
    return cairn.is_error(reply, 500, "gc.unremoved")["message"]


@s3.needs_policies
def test_objects_that_cannot_be_removed_are_skipped(start):
    """More objects than fit a page cannot be removed. The same collection still removes the objects behind them, and reports that it failed."""
    server = start(epoch="60s", gc_grace=f"{GRACE}s")
    n = PAGE + 8
    bury(server, range(1, 1 + LANES), "b")
    bury(server, range(100, 100 + n), "a")
    bury(server, range(1000, 1004), "b")
    with bucket_of(server).keeping(kept("a")):
        told = unremoved(server)
        assert f"{n} objects" in told and "a" * 64 in told and "403" in told, told
        assert (waiting(server, "a"), waiting(server, "b")) == (n, 0)
        assert server.metrics()["cairn_gc_last_run_successful"] == 0
        server.settle_log()
        assert f'"unremoved":{n}' in server.log()
    assert server.post("/v1/gc", timeout=300).status == 200
    assert waiting(server, "a") == 0 and server.metrics()["cairn_gc_last_run_successful"] == 1


@s3.needs_policies
def test_a_key_that_may_not_delete(start):
    """If the key may not delete, the daemon tries only a few objects, not each one."""
    server = start(epoch="60s", gc_grace=f"{GRACE}s")
    bury(server, range(1, 101), "a")
    with bucket_of(server).keeping("*"):
        told = unremoved(server)
        assert "100 objects" in told and "does not remove any" in told, told
        assert REFUSED <= server.metrics()['cairn_store_requests_total{request="delete"}'] < REFUSED + LANES
    assert waiting(server, "a") == 100
    assert server.post("/v1/gc", timeout=300).status == 200
    assert waiting(server, "a") == 0


@s3.needs_policies
def test_others_are_tried_next_time(start):
    """A collection begins where the last one gave up. Otherwise the objects in front would keep it from the others for ever."""
    server = start(epoch="60s", gc_grace=f"{GRACE}s")
    n = 3 * REFUSED
    bury(server, range(1, 1 + n), "a")
    bury(server, range(100, 104), "b")
    with bucket_of(server).keeping(kept("a")):
        for _ in range(n // REFUSED + 1):
            unremoved(server)
        assert (waiting(server, "a"), waiting(server, "b")) == (n, 0)
    assert server.post("/v1/gc", timeout=300).status == 200
    assert waiting(server, "a") == 0


def test_a_silent_service_is_not_asked_for_each(start):
    """A service that does not answer has not refused. The collection reports silence, at once."""
    server = start(epoch="60s", gc_grace=f"{GRACE}s")
    bury(server, range(1, 101), "a")
    os.kill(int(os.environ["CAIRN_TEST_S3_PID"]), signal.SIGSTOP)
    try:
        began = time.monotonic()
        cairn.is_error(server.post("/v1/gc", timeout=120), 503, "store.silent")
        assert cairn.in_time(time.monotonic() - began, 20)
    finally:
        os.kill(int(os.environ["CAIRN_TEST_S3_PID"]), signal.SIGCONT)
    assert waiting(server, "a") == 100
    cairn.wait_until("the store", lambda: server.post("/v1/gc", timeout=120).status == 200)
    assert waiting(server, "a") == 0


def listed(server):
    """The place at which the list continues, and how often it has failed there."""
    lines = (server.data / "notes" / "listed").read_text().splitlines()
    fields = {name: int(value) for name, value in map(str.split, lines)}
    return tuple(fields[f"at_{c}"] for c in "abcd"), fields["failed"]


def test_a_list_that_fails_twice_at_a_place_begins_anew(start):
    """An object in the second page cannot be written off. The next list continues behind the first page. After it has failed there twice, it begins anew."""
    server, source = start(epoch="60s", gc_grace=f"{GRACE}s"), random.Random(8)
    bucket, made_ms = bucket_of(server), int((time.time() - 2 * DAY) * 1000)
    digits = sorted(f"{source.getrandbits(252) + (1 << 252):064x}" for _ in range(PAGE + 40))
    names = [f"x/{d[:2]}/{d}.{made_ms:012x}7{source.getrandbits(76):019x}" for d in digits]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert {status for status, _ in pool.map(lambda name: bucket.request("PUT", name, body=b"x"), names)} == {200}
    copy, refuse = names[-1][-32:], "BEGIN RAISE EXCEPTION 'no'; END"
    sql(server, f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $f${refuse}$f$; SELECT 1")
    sql(server, f"CREATE TRIGGER refuse BEFORE INSERT ON dead FOR EACH ROW WHEN (NEW.copy = decode('{copy}', 'hex')) EXECUTE FUNCTION refuse(); SELECT 1")
    failed = lambda: cairn.is_error(server.post("/v1/gc", timeout=300), 500)
    low = f"x/00/{'0' * 63}1.{made_ms:012x}7{'0' * 19}"
    failed()
    assert len(bucket.objects()) == 40, "the objects of the first page are removed"
    place, times = listed(server)
    assert any(place) and times == 0
    assert bucket.request("PUT", low, body=b"x")[0] == 200
    failed()
    assert listed(server) == (place, 1) and low in bucket.objects()
    failed()
    assert listed(server) == ((0, 0, 0, 0), 0) and low in bucket.objects()
    sql(server, "DROP TRIGGER refuse ON dead; SELECT 1")
    assert gc(server) == (41, 41) and bucket.objects() == []


def gc_at_any_cost(server):
    with contextlib.suppress(*ledger.GONE):
        server.post("/v1/gc", timeout=60)
