"""Each documented limit, exactly at it and one past it, with small limits configured."""

import contextlib
import hashlib
import json
import random

import cairn
import pytest
import xet


def shard_of(*xorbs):
    return xet.shard([xet.File([(x, 0, len(x.nodes))]) for x in xorbs], list(xorbs))


def test_shard_bytes(start, make):
    x = make([8192] * 100, 1)
    body = shard_of(x)
    for limit, status in ((len(body), 200), (len(body) - 1, 413)):
        server = start(f"s{limit}", shard_bytes_max=limit)
        assert server.put_xorb(x).status == 200
        for path in ("/v1/shards", "/v2/shards"):
            reply = server.post(path, body)
            assert reply.status == status, reply
            if status == 413:
                cairn.is_error(reply, 413)
        assert server.left_overs() == []


def test_xorb_bytes(start, make):
    x = make([8192, 8192], 2)
    for limit, status in ((len(x.body()), 200), (len(x.body()) - 1, 413)):
        server = start(f"s{limit}", xorb_bytes_max=limit)
        reply = server.put_xorb(x)
        assert reply.status == status, reply
        assert server.request("HEAD", x.path()).status == (200 if status == 200 else 404)


def test_xorb_bytes_chunked_body(start, make):
    """The limit also holds for a body without a Content-Length."""
    x = make([200000] * 8, 3)
    server = start(xorb_bytes_max="64K")
    with server.socket() as s:
        s.sendall(f"POST {x.path()} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        with contextlib.suppress(ConnectionError):
            s.sendall(b"%x\r\n%b\r\n0\r\n\r\n" % (len(x.body()), x.body()))
        reply = cairn.read_all(s)
    assert reply.startswith(b"HTTP/1.1 413 "), reply[:300]
    assert server.request("HEAD", x.path()).status == 404


def test_xorb_chunks(start, make):
    server = start(xorb_chunks_max=5)
    assert server.put_xorb(make([8192] * 5, 4)).status == 200
    cairn.is_error(server.put_xorb(make([8192] * 6, 5)), 400)


def test_xorb_chunks_of_the_format(server):
    most = xet.Xorb([bytes([i % 256, i // 256]) for i in range(8192)])
    assert server.put_xorb(most).status == 200
    assert server.post("/v1/shards", shard_of(most)).status == 200
    cairn.is_error(server.put_xorb(xet.Xorb([*most.data, b"x"])), 400)


def test_files(start, make):
    server = start(files_max=3)
    xorbs = [make([9000], 10 + i) for i in range(4)]
    for x in xorbs:
        assert server.put_xorb(x).status == 200
    assert server.post("/v1/shards", shard_of(*xorbs[:3])).status == 200
    cairn.is_error(server.post("/v1/shards", shard_of(*xorbs)), 400)


def test_xorbs(start, make):
    server = start(xorbs_max=3, xorbs="external")
    xorbs = [make([9000], 15 + i) for i in range(4)]
    assert server.post("/v1/shards", shard_of(*xorbs[:3])).status == 200
    cairn.is_error(server.post("/v1/shards", shard_of(*xorbs)), 400, "limit.xorbs")


@pytest.mark.parametrize("setting, terms", [("terms_max", 3), ("term_chunks_max", 3)])
def test_terms(start, make, setting, terms):
    server = start(**{setting: terms})
    x = make([9000], 20)
    assert server.put_xorb(x).status == 200
    for n, status in ((terms, 200), (terms + 1, 400)):
        reply = server.post("/v1/shards", xet.shard([xet.File([(x, 0, 1)] * n)], [x]))
        assert reply.status == status, reply


def test_list_chunks(start, make):
    """The limit holds for the chunks in the lists of stored xorbs that verifying a shard reads. The refusal does not reveal how many chunks they
    have."""
    server = start(list_chunks_max=4)
    xorbs = [make([9000, 9000], 24 + i) for i in range(3)]
    for x in xorbs:
        assert server.put_xorb(x).status == 200
    terms = [(x, 0, 1) for x in xorbs]
    assert server.post("/v1/shards", xet.shard([xet.File(terms[:2])], [])).status == 200
    reply = server.post("/v1/shards", xet.shard([xet.File(terms)], []))
    error = cairn.is_error(reply, 400, "limit.list_chunks")
    assert "expected" not in error and "actual" not in error, error


def test_edit_chunks(start, make):
    """The limit holds for the chunks that planning a change visits, plus those of the lists that it reads: 3 and 2 here."""
    x = make([9000, 9000], 27)
    file = xet.File([(x, 0, 2), (x, 0, 1)])
    for limit, status in ((5, 200), (4, 501)):
        server = start(f"s{limit}", edit_chunks_max=limit)
        assert server.put_xorb(x).status == 200
        assert server.post("/v1/shards", xet.shard([file], [])).status == 200
        reply = server.get(f"/v2/file-chunk-hashes/{xet.text(file.hash())}", headers={"X-Range-Dirty": "bytes=0-1"})
        assert reply.status == status, reply
        if status == 501:
            cairn.is_error(reply, 501, "dirty.too_long")


def test_head_bytes(start):
    server = start(head_bytes_max="8K")
    assert server.get("/health", headers={"X-Long": "x" * 4000}).status == 200
    assert server.get("/health", headers={"X-Long": "x" * 9000}).status == 431
    assert server.get("/health?" + "x" * 9000).status in (414, 431)
    assert server.get("/health").status == 200


def test_connections_of_one_address(start):
    server = start(connections_per_address_max=4)
    with contextlib.ExitStack() as held:
        connections = [held.enter_context(contextlib.closing(server.connect())) for _ in range(4)]
        for c in connections:
            assert server.get("/metrics", connection=c).status == 200
        cairn.is_error(server.get("/metrics"), 429, "connections")
        assert server.get("/metrics", connection=connections[0]).status == 200
        # A proxy's health check comes from an address that has too many connections already.
        with contextlib.closing(server.connect()) as probe:
            for path in ("/health", "/ready"):
                reply = server.get(path, connection=probe)
                assert reply.status == 200 and reply.headers["Connection"] == "close", path
            assert server.request("HEAD", "/health").status == 200
    cairn.wait_until("the connections to be gone", lambda: _status(server) == 200)


def _status(server):
    try:
        return server.get("/metrics").status
    except ConnectionError:
        return None


def test_spooled_bytes(start, make):
    """The bytes of bodies in flight are limited. Uploads beyond the limit get 503 with Retry-After, until the other bodies are gone."""
    server = start(spool_bytes_max="1M", xorb_bytes_max="1M", shard_bytes_max="1M")
    big = make([100000] * 9, 30)
    small = make([100000] * 3, 31)
    with server.socket() as held:
        body = big.body()
        held.sendall(f"POST {big.path()} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:-10])
        under_way(server, len(body) - 10)
        refused = server.put_xorb(small)
        cairn.is_error(refused, 503)
        assert int(refused.headers["Retry-After"]) > 0
    cairn.wait_until("room again", lambda: server.metrics()["cairn_spool_bytes"] == 0)
    assert server.put_xorb(small).status == 200


def chunked(server, path, piece, token=None):
    """Sends the beginning of a body without a length. @return the open socket"""
    s = server.socket()
    bearer = f"Authorization: Bearer {token}\r\n" if token else ""
    s.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{bearer}Transfer-Encoding: chunked\r\n\r\n".encode())
    s.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
    return s


def under_way(server, n_bytes):
    cairn.wait_until(f"{n_bytes} bytes under way", lambda: server.metrics()["cairn_spool_bytes"] == n_bytes)


def test_slow_bodies_without_a_length(start, make):
    """Each body takes room for the bytes that have come, not for those that may follow. 128 of them leave room for an upload."""
    server = start(spool_bytes_max="128M")
    x = make([100000] * 3, 32)
    with contextlib.ExitStack() as held:
        for _ in range(128):
            held.enter_context(chunked(server, "/v1/shards", bytes(1024)))
        under_way(server, 128 * 1024)
        assert server.put_xorb(x).status == 200
        assert server.post("/v1/shards", shard_of(x)).status == 200
    under_way(server, 0)


def all_or_nothing(server, ask, bodies):
    """Announces many bodies at once, of which only some have room. These are received in full, in parallel; the others are refused with 503 before
    their bodies. ask(body): method and path of its request. @return how many bodies had room"""
    with contextlib.ExitStack() as held:
        sockets, codes = [], []
        for body in bodies:
            s = held.enter_context(server.socket())
            s.sendall(f"{ask(body)} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n".encode())
            sockets.append(s)
            codes.append(s.recv(4096).split()[1])
        n = codes.count(b"100")
        assert codes == [b"100"] * n + [b"503"] * (len(bodies) - n) and 1 < n < len(bodies), codes
        admitted = list(zip(bodies, sockets, strict=True))[:n]
        for body, s in admitted:
            s.sendall(body[:-1])
        for body, s in admitted:
            s.sendall(body[-1:])
        answers = [s.recv(4096).split()[1] for _, s in admitted]
        assert answers == [b"200"] * n, answers
    cairn.wait_until("all room to be free", lambda: room_taken(server) == 0)
    return n


def test_announced_bodies_have_their_room(start, make):
    server = start(spool_bytes_max="4M", spool_share_percent=100, xorb_bytes_max="1M", shard_bytes_max="1M")
    xorbs = {x.body(): x for x in (make([100000] * 9, 50 + i) for i in range(8))}
    bodies = list(xorbs)
    assert all_or_nothing(server, lambda body: f"POST {xorbs[body].path()}", bodies) == 4
    with server.socket() as s:
        head = f"POST {xorbs[bodies[5]].path()} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(bodies[5])}\r\nExpect: 100-continue\r\n\r\n"
        s.sendall(head.encode())
        assert s.recv(4096).split()[1] == b"100"
        assert server.metrics()["cairn_spool_reserved_bytes"] == len(bodies[5])
        s.sendall(bodies[5][:1000])  # the rest never comes
    cairn.wait_until("all room to be free", lambda: room_taken(server) == 0)
    assert server.put_xorb(xorbs[bodies[5]]).status == 200


@pytest.mark.parametrize("kib", [700, 2500])
def test_announced_objects_of_git_lfs_have_their_room(start, kib):
    """The server makes xorbs and a shard of an object's content. These need room, too."""
    server = start(spool_bytes_max="16M", spool_share_percent=100, xorb_bytes_max="4M", shard_bytes_max="4M")
    assert server.post("/api/repos/create", b'{"name":"one"}').status == 200
    bodies = [random.Random(i).randbytes(kib << 10) for i in range(8)]
    objects = [{"oid": hashlib.sha256(body).hexdigest(), "size": len(body)} for body in bodies]
    reply = server.post("/operator/one.git/info/lfs/objects/batch", json.dumps({"operation": "upload", "objects": objects}).encode())
    places = [one["actions"]["upload"]["href"].removeprefix(server.url) for one in reply.json()["objects"]]
    place_of = dict(zip(bodies, places, strict=True))
    assert all_or_nothing(server, lambda body: f"PUT {place_of[body]}", bodies) == (3 if kib == 2500 else 5)
    assert server.request("PUT", places[-1], body=bodies[-1]).status == 200


def test_announced_commits_have_their_room(start):
    """Each commit is on a branch of its own, and has files in its body."""
    server = start(spool_bytes_max="8M", spool_share_percent=100, xorb_bytes_max="4M", shard_bytes_max="4M")
    assert server.post("/api/repos/create", b'{"name":"one"}').status == 200
    bodies, branch_of = [], {}
    for i in range(8):
        assert server.post(f"/api/models/operator/one/branch/b{i}", b"{}").status == 200
        files = [{"key": "file", "value": {"path": f"{i}/{n}", "content": "x" * 50_000, "encoding": "utf-8"}} for n in range(40)]
        bodies.append(b"\n".join(json.dumps(line).encode() for line in [{"key": "header", "value": {"summary": f"{i}"}}, *files]))
        branch_of[bodies[-1]] = f"b{i}"
    assert all_or_nothing(server, lambda body: f"POST /api/models/operator/one/commit/{branch_of[body]}", bodies) == 4
    assert server.post("/api/models/operator/one/commit/b7", bodies[7]).status == 200


def room_taken(server):
    metrics = server.metrics()
    return metrics["cairn_spool_bytes"] + metrics["cairn_spool_reserved_bytes"]


def test_a_share_of_the_spool(start, make, issuer):
    """When an account's uploads under way have reached a share of the spool, further ones are refused, with any token of the account. Others go on."""
    server = start(token_key=issuer.folder, spool_bytes_max="4M", xorb_bytes_max="1M", shard_bytes_max="1M")
    ann, ann_too, bob = (issuer.token(scope="write", sub=sub, jti=str(i)) for i, sub in enumerate(("ann", "ann", "bob")))
    nobody, nobody_else = (issuer.token(scope="write", sub="", jti=str(i)) for i in range(2))
    body = make([100000] * 9, 33)
    small = [make([100000] * 3, 34 + i) for i in range(4)]
    with contextlib.ExitStack() as held:
        for token in (ann, nobody):
            held.enter_context(chunked(server, body.path(), body.body()[:-10], token))
        under_way(server, 2 * (len(body.body()) - 10))
        for token in (ann, ann_too, nobody):
            refused = server.put_xorb(small[0], token=token)
            error = cairn.is_error(refused, 503, "spool.share")
            assert int(refused.headers["Retry-After"]) > 0
            assert error["expected"] == str(1 << 20), error
            assert error["actual"] == str(len(body.body()) - 10 + len(small[0].body())), error
        for token, x in ((bob, small[1]), (nobody_else, small[2])):
            assert server.put_xorb(x, token=token).status == 200
    under_way(server, 0)
    assert server.put_xorb(small[3], token=ann).status == 200


def test_telemetry_counts(start, issuer):
    server = start(token_key=issuer.folder, spool_bytes_max="4M", xorb_bytes_max="1M", shard_bytes_max="1M")
    ann, bob = (issuer.token(scope="write", sub=sub) for sub in ("ann", "bob"))
    body = b'{"event":"e","metrics":{}}'
    with chunked(server, "/v1/telemetry", bytes(1000000), ann):
        under_way(server, 1000000)
        assert server.post("/v1/telemetry", body, token=bob).status == 200
        cairn.is_error(server.post("/v1/telemetry", bytes(60000), token=ann), 503, "spool.share")
    under_way(server, 0)
    assert server.post("/v1/telemetry", body, token=ann).status == 200


@pytest.mark.files
def test_telemetry_leaves_the_reserve(start):
    server = start(reserve_bytes="1024G")
    assert server.post("/v1/telemetry", b'{"event":"e","metrics":{}}').status == 200
    assert server.get("/v1/telemetry").json()["telemetry"] == []


@pytest.mark.files
def test_reserve(start, make):
    """The free space is below the reserve. Uploads are refused, reading and /health go on, and /ready says no."""
    server = start(reserve_bytes="1024G")
    cairn.is_error(server.put_xorb(make([9000], 40)), 507)
    cairn.is_error(server.get("/ready"), 503)
    assert server.get("/health").status == 200
    assert server.get("/v1/chunks/default/" + "12" * 32).status == 404


def test_answer_bytes(start, make):
    """An answer always has the queried xorb as a whole, and its neighbours as far as they fit."""
    xorbs = [make([8192 + i for i in range(60)], 50 + k) for k in range(4)]
    counts = []
    for i, limit in enumerate(("4K", "64M")):
        server = start(f"s{i}", answer_bytes_max=limit)
        for x in xorbs:
            assert server.put_xorb(x).status == 200
        assert server.post("/v1/shards", shard_of(*xorbs)).status == 200
        reply = server.get(f"/v1/chunks/default/{xet.text(xorbs[2].nodes[0][0])}")
        answer = xet.parse_answer(reply.body)
        assert len(answer.xorbs[xorbs[2].hash]) == 60
        counts.append(len(answer.xorbs))
    assert counts == [1, 4]


def test_strict(start, make):
    server = start(strict=True)
    x = make([9000], 60)
    assert server.put_xorb(x).status == 200
    cairn.is_error(server.post("/v1/shards", xet.shard([xet.File([(x, 0, 1)])], [x])), 400)
    assert server.post("/v1/shards", xet.shard([xet.File([(x, 0, 1)], sha256=bytes(32))], [x])).status == 200


def test_external_xorbs(start, make):
    """The server keeps only an index, so it accepts shards without seeing the xorbs."""
    server = start(xorbs="external")
    x = make([9000, 9001], 61)
    assert server.post("/v1/shards", shard_of(x)).json() == {"result": 1}
    assert server.put_xorb(x).status == 501
    file = xet.text(xet.File([(x, 0, 1)]).hash())
    assert server.get(f"/v2/reconstructions/{file}").status == 501
    assert x.hash in xet.parse_answer(server.get(f"/v1/chunks/default/{xet.text(x.nodes[0][0])}").body).xorbs


def test_xorb_must_be_stored(server, make):
    x = make([9000, 9001], 62)
    error = cairn.is_error(server.post("/v1/shards", shard_of(x)), 400)
    assert xet.text(x.hash) in str(error)
    assert server.put_xorb(x).status == 200
    assert server.post("/v1/shards", shard_of(x)).status == 200
