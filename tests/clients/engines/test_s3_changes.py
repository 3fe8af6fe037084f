"""Somebody changes objects in the bucket after they were stored or read. The daemon serves nothing wrong, such xorbs count as lost, and they are whole once
they are uploaded again. The engine is real, started by tests/engines/s3.sh."""

import cairn
import hf_client
import ledger
import plans
import pytest
import s3
import xet

pytestmark = pytest.mark.skipif(not cairn.ENGINE, reason="there is no S3 service; tests/engines/s3.sh starts one")

CHANGES = {
    "one byte": lambda body: body[:100] + bytes([body[100] ^ 1]) + body[101:],
    "truncated": lambda body: body[: len(body) // 2],
    "emptied": lambda body: b"",
    "replaced": lambda body: body[::-1],
    "longer": lambda body: body + b"more",
    "deleted": lambda body: None,
}
each_change = pytest.mark.parametrize("change", CHANGES)


@pytest.fixture
def stored(start, tmp_path):
    """stored(...) starts a daemon with one file of one xorb. @return it, the file, the ledger, and a function that changes the object in the bucket"""

    def begin(**options):
        store = cairn.s3_url(tmp_path / "server" / "data")
        server, bucket = start(store=store, **options), s3.Bucket(store)
        file, book = ledger.new_file(31), ledger.Ledger()
        assert book.upload(server, file).status == 200
        (name,) = bucket.objects()

        def spoil(change):
            body = CHANGES[change](file.terms[0][0].body())
            status, _ = bucket.request("DELETE", name) if body is None else bucket.request("PUT", name, body=body)
            assert status in (200, 204)

        return server, file, book, spoil

    return begin


def fetch_of(server, file):
    """The URL and headers of the only fetch of a file's plan."""
    plan = server.get(f"/v2/reconstructions/{ledger.name(file)}").json()
    ((url, ranges),) = plans.fetches_of(plan)[xet.text(file.terms[0][0].hash)]
    return url, {"Range": plans.range_of(ranges)}


def check_lost(server, path, headers):
    """Asks twice: the first answer comes from reading the object, the second from the mark that the first one left."""
    for _ in range(2):
        reply = server.get(path, headers=headers)
        assert cairn.is_error(reply, 410)["code"].startswith("object."), reply
    assert server.metrics()["cairn_xorbs_lost_total"] == 1


@each_change
def test_after_it_was_read(stored, change):
    server, file, book, spoil = stored()
    book.check(server)
    url, headers = fetch_of(server, file)
    path = plans.path_of(url)
    assert server.request("HEAD", path, headers=headers).status == 206
    spoil(change)
    check_lost(server, path, headers)
    assert server.request("HEAD", path, headers=headers).status == 410
    assert book.upload(server, file).status == 200
    book.check(server)


@each_change
def test_a_head_alone_notices(stored, change):
    server, file, book, spoil = stored()
    book.check(server)
    url, headers = fetch_of(server, file)
    spoil(change)
    assert server.request("HEAD", plans.path_of(url), headers=headers).status == 410


@each_change
def test_sent_again_before_anybody_reads_it(stored, change):
    server, file, book, spoil = stored()
    book.check(server)
    spoil(change)
    assert book.upload(server, file).status == 200
    book.check(server)


def test_the_real_client(stored, tmp_path):
    """The client believes what it gets, so it must not get wrong bytes."""
    server, file, book, spoil = stored()
    size = len(plans.content(file))
    get = {"hash": ledger.name(file), "size": size, "how": "file"}
    (got,) = hf_client.download(server, tmp_path / "first", [get])
    assert got["bytes"] == size
    spoil("one byte")
    (got,) = hf_client.download(server, tmp_path / "second", [get])
    assert "error" in got, got
    assert book.upload(server, file).status == 200
    (got,) = hf_client.download(server, tmp_path / "third", [get])
    assert got["bytes"] == size


@each_change
def test_a_changed_object_shows_once_its_addresses_expire(stored, clock, change):
    """Clients are sent to the bucket, which serves whatever it has. Once the first addresses have expired, a plan leads to the daemon, which finds the
    damage."""
    server, file, book, spoil = stored(variables={"CAIRN_PROVE_READS": "no"}, fetch_from_store=True, test_clock=clock.path)
    url, headers = fetch_of(server, file)
    assert url.startswith(cairn.ENGINE)
    spoil(change)
    clock.move(301)
    url, headers = fetch_of(server, file)
    assert url.startswith(server.url), url
    check_lost(server, plans.path_of(url), headers)
    assert book.upload(server, file).status == 200
    assert fetch_of(server, file)[0].startswith(cairn.ENGINE)
