"""Clients that behave badly, and many at once: they are slow, hang up, announce wrong lengths, or all send the same."""

import json
import random
import subprocess
import threading
import time

import cairn
import hf_client
import pytest
import xet


def head(path, *lines):
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def status_of(reply):
    return int(reply.split(b" ", 2)[1]) if reply.startswith(b"HTTP/1.1 ") else None


@pytest.fixture
def upload(make):
    """A xorb of three chunks, and the shard of a file on it."""
    xorb = make([9000, 12000, 15000], 42)
    return xorb, xet.shard([xet.File([(xorb, 0, 3)])], [xorb])


def in_threads(n, work):
    results = [None] * n
    ready = threading.Barrier(n)

    def one(i):
        ready.wait()
        results[i] = work(i)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results


def quiet(server):
    """Waits until the daemon has freed everything that it held of an upload."""
    cairn.wait_until("spooled bytes to go", lambda: server.metrics().get("cairn_spool_bytes", 0) == 0)
    assert server.left_overs() == []


@pytest.mark.files
def test_identical_uploads_at_once(server, upload):
    xorb, shard = upload
    replies = in_threads(24, lambda i: server.put_xorb(xorb))
    assert {r.status for r in replies} == {200}, replies
    assert sum(r.json()["was_inserted"] for r in replies) == 1
    replies = in_threads(24, lambda i: server.post("/v1/shards", shard))
    assert {r.status for r in replies} == {200}, replies
    assert sum(r.json()["result"] for r in replies) == 1
    assert len(server.objects()) == 1
    quiet(server)


def test_slow_body_is_cut(start, upload):
    xorb, _ = upload
    server = start(request_timeout="2s", idle_timeout="60s")
    body = xorb.body()
    with server.socket(timeout=20) as s:
        s.sendall(head(xorb.path(), f"Content-Length: {len(body)}"))
        s.settimeout(0.2)
        reply, sent = b"", 0
        while sent < 100:  # sends a byte, then waits a while for an answer: far slower than the least rate
            try:
                s.sendall(body[sent : sent + 1])
                sent += 1
                reply = s.recv(4096)
                break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        assert sent < 100, "the connection was not cut after 2 s"
        assert status_of(reply) in (None, 408)
    assert server.request("HEAD", xorb.path()).status == 404
    quiet(server)


def test_a_body_faster_than_the_least_rate_is_not_cut(start, upload):
    """However long a body takes, it is cut only if it is slower than the least rate, measured over the whole body."""
    server = start(request_timeout="1s", idle_timeout="60s")
    whole = xet.Xorb([random.Random(i).randbytes(100_000) for i in range(6)])
    body = whole.body()
    with server.socket(timeout=20) as s:
        began = time.monotonic()
        s.sendall(head(whole.path(), f"Content-Length: {len(body)}") + body[:400_000])
        cairn.wait_until("more than request_timeout, and two looks of the sweeper", lambda: time.monotonic() > began + 3)
        s.sendall(body[400_000:])
        assert status_of(s.recv(4096)) == 200
    quiet(server)


BAD_BYTES = 60 << 20


def bad_xorb(tmp_path):
    """A file of 60 MiB that is recognisably no xorb from its first byte on."""
    path = tmp_path / "bad"
    path.write_bytes(b"\xff" * BAD_BYTES)
    return path, "/v1/xorbs/default/" + "ab" * 32


def curl(server, path, body, *arguments):
    """Sends a body with curl. @return the reply's body, its status, and how much was sent"""
    command = ["curl", "-s", "-X", "POST", "-H", "Expect:", "-T", body, "-w", "\n%{http_code} %{size_upload}", *arguments, server.url + path]
    done = subprocess.run(command, capture_output=True, timeout=120)
    reply, numbers = done.stdout.rsplit(b"\n", 1)
    return (json.loads(reply), *(int(n) for n in numbers.split()))


def test_curl_is_told_in_the_middle_of_a_body(server, tmp_path):
    body, path = bad_xorb(tmp_path)
    error, status, sent = curl(server, path, body, "--limit-rate", "4M")
    assert (status, error["error"]["code"]) == (400, "xorb.chunk_version"), error
    assert sent < BAD_BYTES // 4
    quiet(server)


def test_nothing_is_held_for_a_body_that_was_refused(server, tmp_path):
    """A modern HTTP client reads while it sends, and gets the refusal at once. Bytes that it sends afterwards take no room of the spool, and the
    connection is not reset."""
    _, path = bad_xorb(tmp_path)
    piece = b"\xff" * (1 << 20)
    with server.socket() as s:
        s.sendall(head(path, f"Content-Length: {BAD_BYTES}") + piece)
        reply = cairn.read_reply(s)
        assert reply.status == 400 and reply.headers["Connection"] == "close", reply
        assert cairn.is_error(reply, 400, "xorb.chunk_version")["offset"] == 0
        s.sendall(piece)
        cairn.wait_until("its room to be free", lambda: server.metrics()["cairn_spool_bytes"] == 0)
        for _ in range(BAD_BYTES // len(piece) - 2):
            s.sendall(piece)
        assert s.recv(1) == b"", "the connection is closed without a reset"
    quiet(server)


def test_a_client_that_reads_only_after_its_body_gets_the_refusal(server, tmp_path):
    _, path = bad_xorb(tmp_path)
    cairn.is_error(server.post(path, b"\xff" * BAD_BYTES), 400, "xorb.chunk_version")
    quiet(server)


def test_the_stock_client_is_told_in_the_middle_of_a_body(start, tmp_path):
    """The sixth chunk of the xorb exceeds the limit. How much the client has sent when it reads the refusal varies."""
    server = start(xorb_chunks_max=5)
    path = tmp_path / "file"
    path.write_bytes(random.Random(7).randbytes(48 << 20))
    with pytest.raises(AssertionError, match=r"400 Bad Request.*/v1/xorbs/"):
        hf_client.upload(server, tmp_path, [path])
    quiet(server)

    def uploads():
        return [e for e in server.events("request") if e["route"] == "xorbs"]

    cairn.wait_until("the upload to end", uploads)
    assert [e["status"] for e in uploads()] == [400], "the client does not try again"


def test_slow_head_is_cut(start):
    server = start(head_timeout="1s", idle_timeout="60s")
    with server.socket(timeout=0.3) as s:
        for _ in range(60):
            try:
                s.sendall(b"G")
                if s.recv(4096) is not None:
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            raise AssertionError("the connection was to be cut after 1 s")
    assert server.get("/health").status == 200


def test_idle_body_is_cut(start, upload):
    xorb, _ = upload
    server = start(idle_timeout="1s")
    reply = server.raw(head(xorb.path(), f"Content-Length: {len(xorb.body())}") + xorb.body()[:-1])
    assert status_of(reply) in (None, 408)
    assert server.request("HEAD", xorb.path()).status == 404
    quiet(server)


def test_a_client_that_vanishes_leaves_nothing_held(start, upload):
    xorb, shard = upload
    server = start(idle_timeout="2s")  # when a connection ends together with its last bytes, libmicrohttpd notices the end only after idle_timeout
    for path, body in ((xorb.path(), xorb.body()), ("/v1/shards", shard), ("/v2/shards", shard)):
        for cut in (0, 1, len(body) // 2, len(body) - 1):
            with server.socket() as s:
                s.sendall(head(path, f"Content-Length: {len(body)}") + body[:cut])
    quiet(server)
    assert server.request("HEAD", xorb.path()).status == 404
    assert server.put_xorb(xorb).json() == {"was_inserted": True}
    assert server.post("/v1/shards", shard).json() == {"result": 1}


def test_client_that_vanishes_before_the_answer(server, upload):
    xorb, shard = upload
    assert server.put_xorb(xorb).status == 200
    for path in ("/v1/shards", "/v2/shards"):
        with server.socket() as s:
            s.sendall(head(path, f"Content-Length: {len(shard)}") + shard)
    quiet(server)
    assert server.get("/health").status == 200


def test_body_longer_than_said(server, upload):
    xorb, _ = upload
    body = xorb.body()
    reply = server.raw(head(xorb.path(), f"Content-Length: {len(body)}", "Connection: close") + body + b"more than said")
    assert status_of(reply) == 200
    assert server.get("/health").status == 200


def test_body_said_too_short(server, upload):
    xorb, _ = upload
    body = xorb.body()
    reply = server.raw(head(xorb.path(), f"Content-Length: {len(body) - 1}", "Connection: close") + body)
    assert status_of(reply) == 400
    assert server.request("HEAD", xorb.path()).status == 404


def test_expect_continue(server, upload):
    xorb, _ = upload
    body = xorb.body()
    with server.socket() as s:
        s.sendall(head(xorb.path(), f"Content-Length: {len(body)}", "Expect: 100-continue", "Connection: close"))
        assert s.recv(4096).startswith(b"HTTP/1.1 100 ")
        s.sendall(body)
        assert status_of(cairn.read_all(s)) == 200


def test_expect_continue_is_refused_early(start, upload):
    xorb, _ = upload
    server = start(xorb_bytes_max="4K")
    with server.socket() as s:
        s.sendall(head(xorb.path(), "Content-Length: 60000000", "Expect: 100-continue"))
        assert status_of(s.recv(4096)) == 413


def test_chunked_bodies(server, upload):
    xorb, shard = upload

    def pieces(body, size):
        out = bytearray()
        for at in range(0, len(body), size):
            piece = body[at : at + size]
            out += b"%x\r\n%b\r\n" % (len(piece), piece)
        return bytes(out + b"0\r\n\r\n")

    chunked = ("Transfer-Encoding: chunked", "Connection: close")
    assert status_of(server.raw(head(xorb.path(), *chunked) + pieces(xorb.body(), 1000))) == 200
    reply = server.raw(head("/v1/shards", *chunked) + pieces(shard, 7))
    assert status_of(reply) == 200 and b'{"result":1}' in reply
    quiet(server)


@pytest.mark.parametrize(
    "lines, status",
    [
        (("Content-Length: 10", "Content-Length: 10"), 400),
        (("Content-Length: 10", "Content-Length: 11"), 400),
        (("Content-Length: 10", "Transfer-Encoding: chunked"), 400),
        (("Transfer-Encoding: gzip",), 501),
        (("Content-Length: 18446744073709551615",), 413),
        (("Content-Length: 99999999999999999999",), 413),
        (("Content-Length: -1",), 400),
        (("Content-Length: ten",), 400),
    ],
    ids=lambda v: v if isinstance(v, int) else " + ".join(v),
)
def test_ambiguous_lengths(server, lines, status):
    reply = server.raw(head("/v1/shards", *lines) + b"0123456789", timeout=10)
    assert status_of(reply) in {status, 400}, reply
    assert server.get("/health").status == 200


@pytest.mark.parametrize(
    "method, path, status",
    [
        ("GET", "/nothing", 404),
        ("GET", "/v1/nothing", 404),
        ("POST", "/v1/xorb-commits/default/" + "0" * 64 + "/grant/1", 404),
        ("DELETE", "/v1/shards", 405),
        ("GET", "/v1/shards", 405),
        ("POST", "/health", 405),
        ("BREW", "/health", 501),
        ("GET", "/v1//chunks", 404),
        ("GET", "/v1/chunks/default/..%2f..%2fsecret", 404),
        ("GET", "/v1/chunks/default/" + "a" * 600, 404),
        ("GET", "/v1/chunks/default/" + "g" * 64, 400),
        ("GET", "/v1/chunks/default/%00", 400),
    ],
)
def test_unknown_routes_are_not_friendly(server, method, path, status):
    reply = server.request(method, path, body=b"" if method == "POST" else None)
    cairn.is_error(reply, status)
    if status == 405:
        assert reply.headers["Allow"]


def test_garbage(server):
    for bytes_ in (b"\0" * 100, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET http://x/health HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"):
        reply = server.raw(bytes_, timeout=3)
        assert status_of(reply) != 200, reply
    assert server.get("/health").status == 200


def test_request_ids(server):
    assert server.get("/v1/nothing", headers={"X-Request-Id": "abc-123"}).json()["request_id"] == "abc-123"
    bad = server.get("/v1/nothing", headers={"X-Request-Id": 'x"<script>' + "y" * 500})
    assert "<" not in bad.json()["request_id"] and len(bad.json()["request_id"]) < 200
    assert server.get("/health").headers["X-Request-Id"] != server.get("/health").headers["X-Request-Id"]
    trace = {"X-Amzn-Trace-Id": "7f1c-trace"}
    assert server.get("/v1/nothing", headers=trace).json()["request_id"] == "7f1c-trace"
    assert server.get("/v1/nothing", headers=trace | {"X-Request-Id": "abc-123"}).headers["X-Request-Id"] == "abc-123"
    assert server.get("/v1/nothing", headers=trace | {"X-Request-Id": "a b"}).headers["X-Request-Id"] == "7f1c-trace"
    assert "=" not in server.get("/v1/nothing", headers={"X-Amzn-Trace-Id": "Root=1-67891233-abcdef"}).headers["X-Request-Id"]


def test_pipelining(server):
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert server.raw(request * 20 + last).count(b"HTTP/1.1 200 ") == 21


def test_frames_of_v2(server, upload):
    xorb, shard = upload
    assert server.put_xorb(xorb).status == 200
    reply = server.post("/v2/shards", shard)
    assert reply.status == 200 and reply.headers["Content-Type"] == "application/x-ndjson"
    frames = [json.loads(line) for line in reply.body.splitlines()]
    assert frames[-1]["type"] == "result"
    assert {f["type"] for f in frames[:-1]} <= {"validating", "committing"}
    for f in frames:
        if f["type"] == "validating":
            assert 0 <= f["verified"] <= f["total"]
