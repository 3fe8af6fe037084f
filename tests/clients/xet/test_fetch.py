"""Bytes of xorbs by the addresses of a plan: ranges, conditional requests, and misuse of an address."""

import http.client

import cairn
import plans
import pytest
import xet


class Granted:
    """A server with a xorb, and the address that a plan gave for three ranges of it."""

    def __init__(self, server, xorb):
        self.server, self.xorb, self.body = server, xorb, xorb.body()
        file = xet.File([(xorb, 0, 2), (xorb, 4, 5), (xorb, 8, 10)])
        assert server.put_xorb(xorb).status == 200
        assert server.post("/v1/shards", xet.shard([file], [xorb])).status == 200
        plan = server.get(f"/v2/reconstructions/{xet.text(file.hash())}").json()
        [(url, self.ranges)] = plans.fetches_of(plan)[xet.text(xorb.hash)]
        self.path = plans.path_of(url)
        self.etag = f'"{xet.text(xorb.hash)}"'

    def get(self, range_=None, method="GET", path=None, **headers):
        headers = {k.replace("_", "-"): v for k, v in headers.items()} | ({"Range": range_} if range_ else {})
        return self.server.request(method, path or self.path, headers=headers)


@pytest.fixture(scope="module", params=["files", "memory"])
def granted(tmp_path_factory, request):
    """A store with file descriptors to send from, and one without."""
    with cairn.Daemon(tmp_path_factory.mktemp("fetch"), store=request.param) as server:
        yield Granted(server, xet.Xorb([bytes([i]) * (1000 + i) for i in range(12)]))


def is_part(granted, reply, first, last):
    assert reply.status == 206, reply
    assert reply.headers["Content-Range"] == f"bytes {first}-{last}/{len(granted.body)}"
    assert reply.headers["Content-Type"] == "application/octet-stream"
    assert reply.headers["ETag"] == granted.etag and reply.headers["Accept-Ranges"] == "bytes"
    assert reply.body == granted.body[first : last + 1]


def test_each_signed_range(granted):
    """Each signed range can be fetched without a token, and nothing else."""
    assert len(granted.ranges) == 3
    for _, _, first, last in granted.ranges:
        is_part(granted, granted.get(f"bytes={first}-{last}"), first, last)


def test_parts_of_a_signed_range(granted):
    _, _, first, last = granted.ranges[1]
    for a, b in ((first, first), (last, last), (first + 3, last - 4)):
        is_part(granted, granted.get(f"bytes={a}-{b}"), a, b)


def test_many_ranges(granted):
    reply = granted.get(plans.range_of(granted.ranges))
    assert reply.status == 206
    assert int(reply.headers["Content-Length"]) == len(reply.body)
    parts = plans.parts_of(reply)
    assert parts == [((a, b, len(granted.body)), granted.body[a : b + 1]) for _, _, a, b in granted.ranges]


def test_many_ranges_in_the_order_asked(granted):
    """Ranges are answered in the order of the request, also if they descend or overlap, or if there are blanks between them."""
    (_, _, a, b), (_, _, c, d), (_, _, e, f) = granted.ranges
    asked = [(e, f), (a, b), (a, a), (a + 1, b), (c, d)]
    reply = granted.get("bytes=" + " , ".join(f"{x}-{y}" for x, y in asked))
    assert [p[0][:2] for p in plans.parts_of(reply)] == asked
    assert [p[1] for p in plans.parts_of(reply)] == [granted.body[x : y + 1] for x, y in asked]


def test_without_a_range_the_signed_bytes_come(granted):
    assert [p[0][:2] for p in plans.parts_of(granted.get())] == [r[2:] for r in granted.ranges]


def test_range_not_signed(granted):
    (_, _, a, b), (_, _, c, d), _ = granted.ranges
    for text in (f"bytes={a}-{b + 1}", f"bytes={c - 1}-{d}", f"bytes={a}-{d}", f"bytes={b + 1}-{c - 1}", "bytes=0-", f"bytes=-{len(granted.body)}"):
        cairn.is_error(granted.get(text), 403, "fetch.range")
        cairn.is_error(granted.get(f"bytes={a}-{b},{text[6:]}"), 403, "fetch.range")
    reply = granted.get(f"bytes={len(granted.body)}-")
    cairn.is_error(reply, 416)
    assert reply.headers["Content-Range"] == f"bytes */{len(granted.body)}"


def test_head(granted):
    _, _, first, last = granted.ranges[0]
    for range_ in (f"bytes={first}-{last}", plans.range_of(granted.ranges), None):
        full, head = granted.get(range_), granted.get(range_, method="HEAD")
        assert head.status == 206 and head.body == b""
        assert head.headers["Content-Length"] == full.headers["Content-Length"]
        assert head.headers["Content-Range"] == full.headers["Content-Range"]
        assert head.headers["ETag"] == granted.etag
    assert granted.get("bytes=0-", method="HEAD").status == 403


def test_conditions(granted):
    _, _, first, last = granted.ranges[0]
    range_ = f"bytes={first}-{last}"
    for known in (granted.etag, f'"x", {granted.etag}', "W/" + granted.etag, "*"):
        reply = granted.get(range_, If_None_Match=known)
        assert reply.status == 304 and reply.body == b"" and reply.headers["ETag"] == granted.etag, known
    is_part(granted, granted.get(range_, If_None_Match='"' + "0" * 64 + '"'), first, last)
    is_part(granted, granted.get(range_, If_Range=granted.etag), first, last)
    cairn.is_error(granted.get(range_, If_Range='"other"'), 412, "fetch.if_range")
    is_part(granted, granted.get(range_, If_Match=granted.etag), first, last)
    cairn.is_error(granted.get(range_, If_Match='"other"'), 412, "etag.other")
    assert granted.get(If_Range='"other"').status == 206, "If-Range does not matter without a Range"


def test_long_bodies_without_descriptors(start, make):
    """Bodies of many blocks, for a slow client, for several clients at once, and for clients that leave in the middle."""
    server = start(store="memory")
    xorb = make([120000] * 30, 5)
    granted = Granted(server, xorb)
    (_, _, a, b), (_, _, c, d), (_, _, e, f) = granted.ranges
    long = xet.File([(xorb, 0, 30)])
    assert server.post("/v1/shards", xet.shard([long], [xorb])).status == 200
    [(url, [(_, _, first, last)])] = plans.fetches_of(server.get(f"/v2/reconstructions/{xet.text(long.hash())}").json())[xet.text(xorb.hash)]
    path = plans.path_of(url)
    assert (first, last) == (0, len(granted.body) - 1)
    head = f"GET {path} HTTP/1.1\r\nHost: {server.url[7:]}\r\nRange: bytes=0-{last}\r\n\r\n".encode()
    sockets = [server.socket() for _ in range(24)]
    for s in sockets:
        s.sendall(head)
    for s in sockets[::2]:
        s.recv(1000)
        s.close()
    for s in sockets[1::2]:
        reply = http.client.HTTPResponse(s)
        reply.begin()
        assert reply.status == 206 and reply.read() == granted.body
        s.close()
    parts = plans.parts_of(granted.get())
    assert [p[1] for p in parts] == [granted.body[x : y + 1] for x, y in ((a, b), (c, d), (e, f))]


@pytest.mark.parametrize("part", ["ranges", "expires", "signature", "hash"])
def test_tampering(granted, part):
    place = {"ranges": "ranges=", "expires": "expires=", "signature": "signature=", "hash": "/v1/fetch/"}[part]
    at = granted.path.index(place) + len(place)
    for change in range(3):
        other = "1" if granted.path[at + change] != "1" else "2"
        path = granted.path[: at + change] + other + granted.path[at + change + 1 :]
        cairn.is_error(granted.get(path=path), 403, "fetch.signature")
    if part != "hash":
        cairn.is_error(granted.get(path=granted.path.replace(f"{part}=", "x=")), 403, "fetch.signature")


def test_more_ranges_than_an_address_has(granted):
    _, _, first, last = granted.ranges[0]
    at_limit = "bytes=" + ",".join([f"{first}-{first}"] * 256)
    assert len(plans.parts_of(granted.get(at_limit))) == 256
    cairn.is_error(granted.get(at_limit + f",{first}-{first}"), 400, "range.many")


def test_more_than_twice_the_signed_bytes(granted):
    """Overlapping ranges are answered, but one address cannot be used for many times the bytes that it was signed for."""
    twice = [r[2:] for r in granted.ranges] * 2
    signed = sum(last - first + 1 for first, last in twice) // 2
    at_limit = "bytes=" + ",".join(f"{first}-{last}" for first, last in twice)
    assert len(plans.parts_of(granted.get(at_limit))) == len(twice)
    first = twice[0][0]
    for method in ("GET", "HEAD"):
        reply = granted.get(at_limit + f",{first}-{first}", method=method)
        assert reply.status == 400
    error = cairn.is_error(granted.get(at_limit + f",{first}-{first}"), 400, "range.many")
    assert (error["expected"], error["actual"]) == (str(2 * signed), str(2 * signed + 1)), error


def test_tokens_are_neither_needed_nor_looked_at(start, issuer, make):
    server = start(token_key=issuer.folder)
    xorb = make([9000], 1)
    file, write = xet.File([(xorb, 0, 1)]), issuer.token("write")
    assert server.put_xorb(xorb, token=write).status == 200
    assert server.post("/v1/shards", xet.shard([file], [xorb]), token=write).status == 200
    path = f"/v2/reconstructions/{xet.text(file.hash())}"
    assert server.get(path).status == 401
    [(url, _)] = plans.fetches_of(server.get(path, token=issuer.token("read")).json())[xet.text(xorb.hash)]
    for headers in ({}, {"Authorization": "Bearer nonsense"}):
        assert server.get(plans.path_of(url), headers=headers).body == xorb.body()
