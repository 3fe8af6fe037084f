"""Daemons that share an index in PostgreSQL and a store in S3: which copy of a xorb counts, and which daemon removes the others."""

import concurrent.futures
import contextlib
import os
import random
import signal
import subprocess
import time
import types

import cairn
import cluster
import ledger
import plans
import pytest
import xet
from between import Between
from cluster import NONE, bucket_of, collect_somewhere, files_of, let_pass, sql, standing_still
from relay import Relay

GRACE = 120
pytestmark = pytest.mark.skipif(NONE, reason="that takes CAIRN_INDEX=postgres and CAIRN_STORE=s3")


def collect(server, clock, times=2):
    for i in range(times):
        clock.move((i + 1) * (GRACE + 1))
        assert server.post("/v1/gc").status == 200


def test_a_row_names_its_copy(start):
    """The daemon reads the copy of a xorb that the row names, not a later copy of the same hash. The later copy may belong to another daemon, whose row is
    not written yet."""
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


@pytest.mark.parametrize("outcome", [404, 200, "drop"])
def test_a_proxy_s_answer_does_not_make_a_xorb_lost(start, tmp_path, outcome):
    """A proxy answers in place of the S3 service. The daemon does not take that for a lost xorb: it answers 503 store.silent, and the file is whole
    afterwards."""
    file, book, wrong = ledger.new_file(6), ledger.Ledger(), []
    service = types.SimpleNamespace(port=int(cairn.ENGINE.rsplit(":", 1)[1]))
    with Between(service, lambda request, before: outcome if wrong and request.method == "GET" and "/x/" in request.path else None) as between:
        server = start(store=cairn.s3_url(tmp_path / "data", between.url))
        assert book.upload(server, file).status == 200
        server.stop()
        server.start()  # forgets the cached object
        plan = server.get(f"/v1/reconstructions/{ledger.name(file)}").json()
        ((fetch, *_),) = plan["fetch_info"].values()
        ask = lambda: server.get(plans.path_of(fetch["url"]), headers={"Range": "bytes={start}-{end}".format(**fetch["url_range"])})
        wrong.append(True)
        reply = ask()
        assert cairn.is_error(reply, 503, "store.silent") and int(reply.headers["Retry-After"]) > 0
        wrong.clear()
        assert ask().status == 206
        book.check(server)
        assert server.metrics()["cairn_xorbs_lost_total"] == 0 and server.metrics()["cairn_objects_damaged_total"] == 0
        server.stop()


def test_an_upload_leaves_the_copies_of_others(start):
    server = start()
    file, book = ledger.new_file(2), ledger.Ledger()
    bucket, xorb = bucket_of(server), file.terms[0][0]
    other = f"x/{xet.text(xorb.hash)[:2]}/{xet.text(xorb.hash)}.{'0' * 31}1"
    assert bucket.request("PUT", other, body=b"on its way")[0] == 200
    assert book.upload(server, file).status == 200
    assert other in bucket.objects() and len(bucket.objects()) == 2
    book.check(server)


def test_a_collection_removes_only_dead_copies(start, clock):
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
    """The next collection removes what the killed one had not removed yet."""
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


def counts_agree(server):
    """Are the counters that each commit updates equal to the counts of the tables? If two commits had interleaved, they would differ."""
    return sql(server, cluster.COUNTS_AGREE) == "t"


def test_each_daemon_serves_what_another_acknowledged(start_cluster):
    """Every daemon serves at once whatever one of them has acknowledged."""
    one = start_cluster()
    book = ledger.Ledger()
    for daemon, file in zip(one.daemons, files_of(range(100, 103))):
        assert book.upload(daemon, file).status == 200
    for daemon in one.daemons:
        book.check(daemon)
        assert daemon.put_xorb(book.xorbs[next(iter(book.xorbs))]).json()["was_inserted"] is False
    for file in files_of(range(103, 109)):
        assert book.upload(one, file).status == 200
    book.check(one)
    assert all(daemon.metrics()["cairn_index_commits_total"] > 0 for daemon in one.daemons)


def test_two_packings_at_once(start_cluster):
    """Each of three daemons gets the same xorb in another compression, at the same time. The row describes the copy that it names."""
    one = start_cluster()
    book, source = ledger.Ledger(), random.Random(7)
    for seed in range(8):
        xorb = xet.Xorb([source.randbytes(9000 + seed) for _ in range(3)])
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            sent = [pool.submit(daemon.post, xorb.path(), xet.packed(xorb, i)) for i, daemon in enumerate(one.daemons)]
            replies = [reply.result() for reply in sent]
        assert [reply.status for reply in replies] == [200] * 3
        assert sum(reply.json()["was_inserted"] for reply in replies) == 1
        file = xet.File([(xorb, 0, 3)], sha256=source.randbytes(32))
        assert book.put_shard(one, file).status == 200
    for daemon in one.daemons:
        book.check(daemon)
    assert one.metrics()["cairn_xorbs_lost_total"] == 0
    assert one.daemons[1].post("/v1/gc").status == 200
    assert len(one.bucket().objects()) == 8, "copies that no row names are removed"
    book.check(one)


def test_sixteen_uploaders(start_cluster):
    """Sixteen clients upload the same files in opposite orders through several daemons, one of which is killed meanwhile."""
    one = start_cluster()
    books = [ledger.Ledger() for _ in range(16)]
    shared = files_of(range(200, 206))

    def work(i):
        source = random.Random(i)
        for round_ in range(2):
            for file in source.sample(shared, len(shared)) + [ledger.new_file(1000 + 10 * i + round_)]:
                with contextlib.suppress(*ledger.GONE):
                    assert books[i].upload(one, file).status in (200, 502, 503, 504)
            if i == 0 and round_ == 0:
                one.daemons[2].kill()

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    one.daemons[2].start()
    assert counts_agree(one)
    assert sum(len(book.files) for book in books) > 16
    for daemon in one.daemons:
        for book in books:
            book.check(daemon)


def test_a_revoked_key(start_cluster, issuer):
    """A revoked key is refused by every daemon a second later. A new key works at every daemon, or the client is told to try again."""
    one = start_cluster(token_key=issuer.folder)
    first, other = one.daemons[:2]
    admin = issuer.token(scope="admin")
    key = first.post("/v1/keys", b'{"name":"k","repo":"a/b","scope":"write"}', token=admin).json()
    token = other.get("/api/models/a/b/xet-read-token/main", token=key["key"]).json()["accessToken"]
    asked = lambda: other.get("/v1/chunks/default/" + "12" * 32, token=token).status
    at_once = other.get("/v1/chunks/default/" + "12" * 32, token=token)
    assert at_once.status == 404 or cairn.is_error(at_once, 503, "token.api_key") and int(at_once.headers["Retry-After"]) > 0
    cluster.soon("the key", lambda: asked() == 404)
    assert first.request("DELETE", f"/v1/keys/{key['id']}", token=admin).status in (200, 204)
    assert first.get("/v1/chunks/default/" + "12" * 32, token=token).status == 401
    cluster.soon("its end", lambda: asked() == 401)
    assert other.get("/api/models/a/b/xet-read-token/main", token=key["key"]).status == 401


def test_answers_are_the_same_and_withdrawn(start_cluster):
    """All daemons answer a chunk query with equal bytes. When one finds the xorb lost, none offers it a second later."""
    one = start_cluster()
    file, book = ledger.new_file(300), ledger.Ledger()
    assert book.upload(one.daemons[0], file).status == 200
    path = f"/v1/chunks/default/{xet.text(file.terms[0][0].nodes[0][0])}"
    answers = {(daemon.get(path).status, daemon.get(path).body, daemon.get(path).headers["ETag"]) for daemon in one.daemons}
    assert len(answers) == 1 and next(iter(answers))[0] == 200
    assert one.bucket().request("DELETE", one.bucket().objects()[0])[0] == 204
    plan = one.daemons[0].get(f"/v1/reconstructions/{ledger.name(file)}").json()
    ((fetch, *_),) = plan["fetch_info"].values()
    address = "/" + fetch["url"].split("/", 3)[3]
    headers = {"Range": "bytes={start}-{end}".format(**fetch["url_range"])}
    assert one.daemons[0].get(address, headers=headers).status == 410
    for daemon in one.daemons:
        cluster.soon("the withdrawal", lambda daemon=daemon: daemon.get(path).status == 404)
    assert book.upload(one.daemons[1], file).status == 200
    for daemon in one.daemons:
        book.check(daemon)


def test_a_daemon_stands_still(start_cluster):
    """The others go on meanwhile. Afterwards the stopped daemon works as before."""
    one = start_cluster()
    files, book = files_of(range(330, 334)), ledger.Ledger()
    assert book.upload(one.daemons[0], files[0]).status == 200
    one.daemons[0].process.send_signal(signal.SIGSTOP)
    try:
        for daemon, file in zip(one.daemons[1:], files[1:]):
            assert book.upload(daemon, file).status == 200
            book.check(daemon)
    finally:
        one.daemons[0].process.send_signal(signal.SIGCONT)
    assert book.upload(one.daemons[0], files[3]).status == 200
    for daemon in one.daemons:
        book.check(daemon)


def test_an_address_of_one_is_good_at_all(start_cluster):
    one = start_cluster()
    file, book = ledger.new_file(301), ledger.Ledger()
    assert book.upload(one.daemons[0], file).status == 200
    plan = one.daemons[0].get(f"/v1/reconstructions/{ledger.name(file)}").json()
    ((fetch, *_),) = plan["fetch_info"].values()
    headers = {"Range": "bytes={start}-{end}".format(**fetch["url_range"])}
    bodies = {daemon.get("/" + fetch["url"].split("/", 3)[3], headers=headers).body for daemon in one.daemons}
    assert len(bodies) == 1


def test_collections_of_all_at_once(start_cluster):
    """Files are forgotten and uploaded again meanwhile. Nothing acknowledged is lost, and nothing stays that no file needs."""
    one = start_cluster(epoch="60s", gc_grace=f"{GRACE}s")
    kept, gone, book = files_of(range(310, 314)), files_of(range(320, 324)), ledger.Ledger()
    for file in kept + gone:
        assert book.upload(one, file).status == 200
    for file in gone:
        assert book.forget(one, file).status == 200
        del book.xorbs[file.terms[0][0].hash]
    for _ in range(2):
        let_pass(one, GRACE + 1)
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            replies = list(pool.map(lambda daemon: daemon.post("/v1/gc"), one.daemons))
        for reply in replies:
            assert reply.status == 200 or cairn.is_error(reply, 503, "gc.running"), reply
        assert 200 in {reply.status for reply in replies}
    assert one.daemons[0].post("/v1/gc").status == 200
    assert len(one.bucket().objects()) == len(kept)
    for daemon in one.daemons:
        book.check(daemon)
    for file in gone:
        assert book.upload(one, file).status == 200
    book.check(one)


@pytest.mark.parametrize("step", ["gc-marked", "gc-swept"])
def test_a_collection_stands_still(tmp_path, start_cluster, step):
    """Another daemon takes the collection over when its lease has expired. The stopped daemon changes nothing once it runs again."""
    file, book = tmp_path / "crash", ledger.Ledger()
    file.write_text("")
    one = start_cluster(epoch="60s", gc_grace=f"{GRACE}s", variables={"CAIRND_CRASH_FILE": str(file)})
    kept, gone = files_of(range(340, 342)), files_of(range(350, 353))
    for each in kept + gone:
        assert book.upload(one, each).status == 200
    for each in gone:
        assert book.forget(one, each).status == 200
        del book.xorbs[each.terms[0][0].hash]
    let_pass(one, GRACE + 1)
    if step == "gc-swept":
        collect_somewhere(one)
        let_pass(one, GRACE + 1)
    first, second = one.daemons[:2]
    with standing_still(first, file, step, lambda: first.post("/v1/gc", timeout=120)) as under_way:
        assert cairn.is_error(second.post("/v1/gc"), 503, "gc.running")
        collect_somewhere(second)
        for each in gone:
            assert book.upload(second, each).status == 200
        let_pass(one, GRACE + 1)
    cairn.is_error(under_way.result(), 503, "lease.over")
    for daemon in one.daemons:
        book.check(daemon)
    collect_somewhere(one)
    assert len(one.bucket().objects()) == len(kept + gone)
    book.check(one)


def timed(ask):
    began = time.monotonic()
    cairn.is_error(ask(), 503)
    return time.monotonic() - began


@contextlib.contextmanager
def collection(start, tmp_path, relay):
    """Runs a collection on a daemon whose PostgreSQL stops answering meanwhile. Yields the daemon and the seconds until its 503."""
    secret, book = tmp_path / "secret", ledger.Ledger()
    secret.write_bytes(bytes(range(32)))
    secret.chmod(0o600)
    with relay:
        server = start(index=relay.url(tmp_path / "server/data"), secret_file=secret)
        assert book.upload(server, ledger.new_file(20)).status == 200
        seconds = timed(lambda: server.post("/v1/gc", timeout=60))
        assert relay.happened.is_set()
        yield server, seconds
        server.kill()


@pytest.mark.parametrize("words", ["SELECT max(l.id + 0)", "THEN terms END FROM file", "retired IS NULL AND (at", "WHERE retired <=", "FROM dead WHERE NOT buried"])
def test_a_collection_waits_once_for_a_silent_server(start, tmp_path, words):
    with collection(start, tmp_path, Relay(words)) as (_, seconds):
        assert cairn.in_time(seconds, 5)


def test_a_collection_waits_once_for_a_row(start, tmp_path):
    """Another connection locks the row that every write needs. The collection waits for it once; to return its lease it does not wait a second time."""
    schema = cairn.postgres_url(tmp_path / "server/data").split("=")[1]
    script = [cairn.ROOT / "tests/engines/postgresql.sh", "sql", os.environ["CAIRN_TEST_POSTGRES_FOLDER"]]
    holders = []

    def ask(question):
        return subprocess.run([*script, question], check=True, capture_output=True, text=True, timeout=60).stdout.strip()

    def hold():
        holding = [*script, f'BEGIN; SELECT 1 FROM "{schema}".state FOR UPDATE; SELECT pg_sleep(60)']
        holders.append(subprocess.Popen(holding, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        cairn.wait_until("the row to be held", lambda: ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1")

    try:
        with collection(start, tmp_path, Relay("THEN terms END FROM file", hold)) as (server, seconds):
            one_wait = timed(lambda: server.request("DELETE", f"/v1/files/{ledger.name(ledger.new_file(20))}", timeout=60))
            assert 0.5 * one_wait < seconds < 1.6 * one_wait, (seconds, one_wait)
    finally:
        ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
        for holder in holders:
            holder.wait(timeout=30)


@pytest.mark.parametrize("step", ["index-begun", "index-applied"])
def test_a_daemon_stands_still_in_a_transaction(tmp_path, start_cluster, step):
    """Writes of the others go on within 5 s, and none is refused. The stopped daemon's transaction is not half there."""
    file, book = tmp_path / "crash", ledger.Ledger()
    file.write_text("")
    one = start_cluster(variables={"CAIRND_CRASH_FILE": str(file)})
    files = files_of(range(360, 363))
    lost = ledger.Ledger()
    first = one.daemons[0]

    def begin():
        with contextlib.suppress(*ledger.GONE):
            return lost.upload(first, files[0]).status

    with standing_still(first, file, step, begin) as under_way:
        began = time.monotonic()
        assert book.upload(one.daemons[1], files[1]).status == 200
        assert cairn.in_time(time.monotonic() - began, 5)
        assert book.upload(one.daemons[2], files[2]).status == 200
    assert under_way.result() in (200, 503)
    assert book.upload(first, files[0]).status == 200
    assert counts_agree(one)
    for daemon in one.daemons:
        book.check(daemon)


def test_a_daemon_is_killed_before_it_acknowledges(tmp_path, start_cluster):
    """The daemon dies after a commit that it has not acknowledged yet. The shard is visible; any daemon acknowledges it when it is sent again."""
    file, book = tmp_path / "crash", ledger.Ledger()
    file.write_text("")
    one = start_cluster(variables={"CAIRND_CRASH_FILE": str(file)})
    first, second = one.daemons[:2]
    sent = ledger.new_file(365)
    assert book.put_xorb(first, sent.terms[0][0]).status == 200
    file.write_text("index-ahead")
    with pytest.raises(ledger.GONE):
        book.put_shard(first, sent)
    assert first.ended(seconds=20) == -9, "the daemon did not die between the commit and its answer"
    file.write_text("")
    assert ledger.read(second, sent), "the commit is not there, so the test shows nothing"
    reply = book.put_shard(second, sent)
    assert reply.status == 200 and reply.json()["result"] == 0, "the shard is known already"
    one.revive(0)
    assert book.put_shard(first, sent).status == 200
    assert counts_agree(one)
    for daemon in one.daemons:
        book.check(daemon)


def test_a_daemon_with_a_wrong_clock_does_not_collect(tmp_path, start_cluster, clock):
    """The daemon whose clock is wrong says so in /ready and refuses to collect, and would not start again. The other daemon goes on."""
    one = start_cluster(test_clock=clock.path, n=1)
    (first,) = one.daemons
    second = cairn.Daemon(tmp_path / "second", variables=first.variables).start()
    book = ledger.Ledger()
    assert book.upload(first, ledger.new_file(370)).status == 200
    for seconds in (600, -600):
        clock.move(seconds)
        ahead = lambda seconds=seconds: first.metrics()["cairn_index_clock_ahead_seconds"] - seconds
        cluster.soon("a clock that is off", lambda: abs(ahead()) < 5 and first.get("/ready").status == 503, 5)
        assert "index.clock" in first.get("/ready").body.decode()
        assert cairn.is_error(first.post("/v1/gc"), 409, "index.clock")
        assert second.get("/ready").status == 200 and second.post("/v1/gc").status == 200
        book.check(first)
        url, store = cairn.postgres_url(one.data), cairn.s3_url(one.data)
        secret = ["--secret-file", str(one.folder / "secret"), "--test-clock", str(clock.path)]
        assert "may be 60 s off at most" in refused(tmp_path, url, store, *secret)
    clock.move(0)
    cluster.soon("the clock", lambda: first.get("/ready").status == 200, 5)
    second.stop()


def refused(tmp_path, url, store, *more):
    common = ["--data-dir", str(tmp_path / "new"), "--listen", "127.0.0.1:0", "--no-hub", "--index", url, "--store", store]
    return cairn.refused(tmp_path, *common, *more)


def test_daemons_share_an_index_by_secret_and_store(tmp_path, start_cluster):
    """Daemons may share an index if they have the same secret and the same store. Others are refused, and so is a daemon that wants the index for itself."""
    one = start_cluster(n=2)
    url, store = cairn.postgres_url(one.data), cairn.s3_url(one.data)
    other = tmp_path / "other"
    other.write_bytes(bytes(32))
    other.chmod(0o600)
    for more in ([], ["--secret-file", str(other)]):
        line = refused(tmp_path, url, store, *more)
        assert "secret_file" in line and "another" in line, line
    elsewhere = cairn.s3_url(tmp_path / "elsewhere")
    assert "are not in that bucket" in refused(tmp_path, url, elsewhere, "--secret-file", str(one.folder / "secret"))
    assert not (tmp_path / "new" / "index").exists()
    # A folder that was one of them is refused, too, when its secret has changed: the other daemons would refuse its addresses.
    second = one.daemons[1]
    second.stop()
    common = ["--data-dir", str(second.data), "--listen", "127.0.0.1:0", "--index", url, "--store", store]
    for more in ([], ["--secret-file", str(other)]):
        line = cairn.refused(tmp_path, *common, *more)
        assert "secret_file" in line and str(second.data) in line, line
        assert not (second.data / "secret").exists()
    second.start()
