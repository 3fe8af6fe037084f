"""Malicious clients: decompression bombs, malformed heads, endless pipelines, readers that never read, paths that lead out of the folder."""

import contextlib
import re
import time

import cairn
import plans
import pytest
import xet
from rates import cost

CHUNK = 131072
MIB = 1024 * 1024


def lz4_zeros(n):
    """An LZ4 frame of n zeros in blocks of 4 MiB: a literal, one match of the full length, five literals."""
    frame = bytearray(bytes.fromhex("04224d18607073"))
    while n > 0:
        part = min(n, 4 * MIB)
        n -= part
        longer = part - 1 - 5 - 19
        block = b"\x1f\0\1\0" + b"\xff" * (longer // 255) + bytes([longer % 255]) + b"\x50" + bytes(5)
        frame += len(block).to_bytes(4, "little") + block
    return bytes(frame + bytes(4))


def packed(raw_bytes, data):
    return b"\0" + len(data).to_bytes(3, "little") + b"\1" + raw_bytes.to_bytes(3, "little") + data


def test_a_chunk_that_unpacks_to_more_than_it_says(server):
    """The chunk unpacks to one byte more than announced, or to a GiB more. It is refused before all of it is unpacked."""
    hash_ = xet.text(xet.chunk_hash(bytes(CHUNK)))
    costs = []
    for n in (CHUNK + 1, 64 * MIB, 1024 * MIB):
        frame = lz4_zeros(n)
        reply = server.post(f"/v1/xorbs/default/{hash_}", packed(CHUNK, frame if len(frame) < 1 << 24 else frame[: (1 << 24) - 1]))
        cairn.is_error(reply, 400)
        costs.append(cost(server))
    (first_s, first_mib), _, (last_s, last_mib) = costs
    assert last_mib - first_mib < 32 and cairn.in_time(last_s - first_s, 3), costs
    assert server.post(f"/v1/xorbs/default/{hash_}", packed(CHUNK, lz4_zeros(CHUNK))).status == 200


def test_the_largest_bomb_there_can_be(server):
    """8,192 chunks of 128 KiB: a GiB in 4.6 MB. This is a valid xorb, and accepted. It takes time, but no memory."""
    nodes = [(xet.chunk_hash(bytes(CHUNK)), CHUNK)] * 8192
    body = packed(CHUNK, lz4_zeros(CHUNK)) * 8192
    before_s, before_mib = cost(server)
    assert server.post(f"/v1/xorbs/default/{xet.text(xet.merkle_root(nodes))}", body).json() == {"was_inserted": True}
    after_s, after_mib = cost(server)
    print(f"{len(body)} bytes: {after_s - before_s:.2f} s, {after_mib - before_mib:.0f} MiB")
    assert after_mib - before_mib < 64


SECOND = "GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n"
FRAMINGS = [
    ("Content-Length: +3",),
    ("Content-Length: 0x3",),
    ("Content-Length: 3, 3",),
    ("Content-Length: 3 3",),
    ("Content-Length:",),
    ("Content-Length: 3\tx",),
    ("Content-Length : 3",),
    ("Content-Length: 3", "content-length: 4"),
    ("Transfer-Encoding: chunked, chunked",),
    ("Transfer-Encoding: identity",),
    ("Transfer-Encoding: xchunked",),
    ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
    ("Transfer-Encoding : chunked",),
    ("Transfer-Encoding: chunked", "Content-Length: 3"),
    ("X: y", " Content-Length: 3"),
    ("no colon here", "Content-Length: 3"),
    ("Host: one", "Host: two"),
    ("Authorization: Bearer a", "Authorization: Bearer b"),
]


@pytest.mark.parametrize("lines", FRAMINGS, ids=repr)
def test_a_body_is_never_taken_for_a_request(server, lines):
    """If the end of a request is ambiguous, no second request is answered after it."""
    head = "\r\n".join(["POST /v1/telemetry HTTP/1.1", "Host: localhost", *lines, "", ""])
    reply = server.raw((head + "0\r\n\r\n" + SECOND).encode(), timeout=3)
    assert b"eligible_chunks" not in reply and b" 200 " not in reply.split(b"\r\n")[0], reply


@pytest.mark.parametrize("size", ["-1", "0x5", "5 ", "fffffffffffffffff", "ffffffffffffffff", "5;" + "x" * 70000, "", "g"])
def test_chunk_sizes(server, size):
    head = "POST /v1/telemetry HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    reply = server.raw((head + size + "\r\n{\"a\":\r\n0\r\n\r\n" + SECOND).encode(), timeout=3)
    assert b" 200 " not in reply.split(b"\r\n")[0], reply
    assert b"eligible_chunks" not in reply or size == "5 ", reply
    assert server.get("/health").status == 200


def test_an_extension_of_a_chunk_size(server, make):
    """The extension is ignored, or the request is refused (as libmicrohttpd 1.0.1 does). None of its bytes gets into the body."""
    x = make([9000, 10000], 1)
    body = x.body()
    head = f"POST {x.path()} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{len(body):x};name=value\r\n"
    reply = server.raw(head.encode() + body + b"\r\n0\r\n\r\n", timeout=3)
    assert reply.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 400 ")), reply
    stored = server.request("HEAD", x.path()).status
    assert stored == (200 if reply.startswith(b"HTTP/1.1 200 ") else 404)


def test_many_headers(start):
    server = start(head_bytes_max="64K")
    lines = "".join(f"a{i}: b\r\n" for i in range(9000))
    reply = server.raw(f"GET /health HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode(), timeout=10)
    assert re.match(rb"HTTP/1.1 (413|431) ", reply), reply[:100]
    assert server.get("/health").status == 200


def test_a_long_pipeline_that_nobody_reads(start):
    """The client sends requests as fast as it can and reads no reply. Others are served meanwhile, and memory stays bounded."""
    server = start(idle_timeout="2s", log_level="error")
    server.get("/metrics")
    before = cost(server)[1]
    request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200
    with server.socket(timeout=0.5) as s:
        sent = 0
        with contextlib.suppress(TimeoutError, ConnectionError):
            while sent < 64 * MIB:
                sent += s.send(request)
        assert sent < 64 * MIB, "the server does not stop reading requests"
        assert server.get("/health").status == 200
        assert cost(server)[1] - before < 64
        cairn.wait_until("the connection to be cut", lambda: server.metrics()["cairn_http_connections"] <= 1)


def test_a_client_that_reads_nothing_is_cut_off(start, make):
    server = start(idle_timeout="2s")
    xorb = make([CHUNK] * 128, 1)
    assert server.put_xorb(xorb).status == 200
    file = xet.File([(xorb, 0, 128)])
    assert server.post("/v1/shards", xet.shard([file], [xorb])).status == 200
    [(url, _)] = plans.fetches_of(server.get(f"/v2/reconstructions/{xet.text(file.hash())}").json())[xet.text(xorb.hash)]
    with server.socket() as s:
        s.sendall(f"GET {plans.path_of(url)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert s.recv(12) == b"HTTP/1.1 206"
        cairn.wait_until("the connection to be cut", lambda: server.metrics()["cairn_http_connections"] <= 1)


@pytest.mark.parametrize(
    "target",
    [
        "/../secret",
        "/v1/fetch/../../secret",
        "/v1/fetch/%2e%2e%2fsecret",
        "/v1/fetch/..%2f..%2f..%2fetc%2fpasswd",
        "/v1/fetch/" + "0" * 61 + "/..",
        "//etc/passwd",
        "/v1/xorbs/../chunks/default/" + "12" * 32,
        "/v1/chunks/default/" + "12" * 32 + "/",
        "/v1/chunks/default/" + "12" * 32 + "%00",
        "/v1/chunks/default/" + "12" * 32 + ";x",
        "/v1/chunks/default/" + "é" * 32,
        "/v1/chunks\\default\\" + "12" * 32,
        "/api/models/../a/xet-read-token/main",
        "/api/models/a/%2e%2e/xet-read-token/main",
        "/health%2f",
        "/HEALTH",
        "http://other/health",
        "*",
    ],
)
def test_paths_out_of_the_folder_are_refused(server, target):
    secret = (server.data / "secret").read_bytes()
    reply = server.raw(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode(), timeout=5)
    assert re.match(rb"HTTP/1.1 (400|403|404) ", reply), reply
    assert secret not in reply and b"root:" not in reply


def test_an_expired_address_is_good_for_nothing(start, make, issuer, clock):
    """An expired address is refused, however it is changed. A new plan has a valid address."""
    server = start(test_clock=clock.path, fetch_ttl="60s", token_key=issuer.folder)
    xorb, token = make([9000, 9001], 1), issuer.token("write", expires_s=3600)
    file = xet.File([(xorb, 0, 2)])
    assert server.put_xorb(xorb, token=token).status == 200
    assert server.post("/v1/shards", xet.shard([file], [xorb]), token=token).status == 200

    def address():
        [(url, _)] = plans.fetches_of(server.get(f"/v2/reconstructions/{xet.text(file.hash())}", token=token).json())[xet.text(xorb.hash)]
        return plans.path_of(url)

    old = address()
    assert server.get(old).body == xorb.body()
    clock.move(61)
    later = re.sub(r"expires=(\d+)", lambda m: f"expires={int(m[1]) + 600}", old)
    for more in ({}, {"token": token}, {"headers": {"Range": "bytes=0-9"}}, {"headers": {"If-None-Match": "*"}}):
        cairn.is_error(server.get(old, **more), 403, "fetch.expired")
        cairn.is_error(server.get(later, **more), 403, "fetch.signature")
    assert server.request("HEAD", old).status == 403
    cairn.is_error(server.get(old + "&expires=" + str(int(time.time()) + 600)), 403)
    assert server.get(address()).body == xorb.body()
