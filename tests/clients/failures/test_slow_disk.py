"""The disk is slow to write. Uploads wait for it; other requests do not."""

import os
import random
import select
import threading
import time

import cairn
import pytest
import xet
from authority import Authority
from faults import FOR_EVER, HOLD, Faults
from rates import pieces

N = 2 * os.cpu_count() + 2  # number of uploads: more than the threads that the daemon has for so few connections
CARD = b'{"content":"' + b"x" * 3_000_000 + b'"}'
QUERY = b"GET /v1/chunks/default/%064x HTTP/1.1\r\nHost: localhost\r\n\r\n" % 1


@pytest.fixture
def options():
    return {}


@pytest.fixture
def faults(tmp_path, options):
    found = Faults(tmp_path / "faults", workers=4, **options)
    found.server.start()
    yield found
    found.disarm()
    found.server.stop()


def large_xorb(seed, chunks=16):
    """A xorb so large that it is written in several pieces while it arrives."""
    source = random.Random(seed)
    return xet.Xorb([source.randbytes(100_000) for _ in range(chunks)])


def hold_writes(faults, last=FOR_EVER):
    faults.arm({"write"}, HOLD, 1, last)


class Uploads:
    """Uploads of these bodies at the same time, each on its own connection."""

    def __init__(self, server, bodies):
        self.server, self.statuses = server, [None] * len(bodies)
        self.threads = [threading.Thread(target=self._put, args=(i, *body)) for i, body in enumerate(bodies)]
        for t in self.threads:
            t.start()

    def _put(self, i, path, body):
        self.statuses[i] = self.server.post(path, body).status

    def end(self):
        for t in self.threads:
            t.join()
        return self.statuses


def xorbs(n, seed):
    return [(x.path(), x.body()) for x in map(large_xorb, range(100 * seed, 100 * seed + n))]


def wait_for_writes(faults, n):
    cairn.wait_until(f"{n} writes to be held", lambda: faults.fired() >= n)


def let_it_be_long():
    """Waits until the held write counts as slow, which is after 5 ms."""
    until = time.monotonic() + 0.02
    cairn.wait_until("a write to have taken long", lambda: time.monotonic() > until)


def slow_writes(faults):
    return faults.server.metrics()["cairn_slow_writes_total"]


def be_slow(faults):
    """Makes one write slow, so that the daemon knows that the disk is slow."""
    hold_writes(faults, last=1)
    upload = Uploads(faults.server, xorbs(1, 1))
    wait_for_writes(faults, 1)
    let_it_be_long()
    faults.disarm()
    assert upload.end() == [200]
    assert slow_writes(faults) >= 1


def answered(sockets, seconds=30):
    """Waits for the first answer. @return the sockets that have an answer"""
    return select.select(sockets, [], [], seconds)[0]


@pytest.mark.files
@pytest.mark.parametrize(
    ("bodies", "status"),
    [(xorbs(N, 2), 200), ([("/v1/shards", bytes(9_000_000))] * N, 400), ([("/api/validate-yaml", CARD)] * N, 200)],
    ids=["xorbs", "shards", "hub"],
)
def test_no_other_waits_for_a_slow_disk(faults, bodies, status):
    be_slow(faults)
    hold_writes(faults)
    uploads = Uploads(faults.server, bodies)
    wait_for_writes(faults, 2)
    for _ in range(4 * N):  # so many connections that each thread has some
        assert faults.server.get(f"/v1/chunks/default/{1:064x}", timeout=30).status == 404
    faults.disarm()
    assert uploads.end() == [status] * N


@pytest.mark.files
def test_a_hanging_write_holds_one_thread(faults):
    """The daemon does not know yet that the disk is slow. The next thread that wants to write learns it from the waiting thread."""
    hold_writes(faults)
    first = Uploads(faults.server, xorbs(1, 3))
    wait_for_writes(faults, 1)
    let_it_be_long()
    more = Uploads(faults.server, xorbs(N, 4))
    wait_for_writes(faults, 2)
    sockets = [faults.server.socket() for _ in range(N)]
    for s in sockets:
        s.sendall(QUERY)
    assert answered(sockets)
    faults.disarm()
    for s in sockets:
        assert s.recv(4096).startswith(b"HTTP/1.1 404")
        s.close()
    assert first.end() + more.end() == [200] * (N + 1)


@pytest.mark.files
def test_a_worker_refuses_a_bad_body_early(faults):
    """While a worker writes the body, it finds that the body is wrong, and answers before the rest has come."""
    be_slow(faults)
    x = large_xorb(500)
    path, body = x.path(), bytearray(x.body())
    body[300_000] ^= 1
    reply = faults.server.post(path, bytes(body))
    assert cairn.is_error(reply, 400)
    assert faults.server.request("HEAD", path).status == 404
    assert faults.server.put_xorb(x).status == 200
    assert faults.server.left_overs() == []


def begin(server, xorb, n):
    """Sends the head and the first n bytes of an upload. @return (socket, the rest of the body)"""
    body = bytes(xorb.body())
    s = server.socket()
    s.sendall(f"POST {xorb.path()} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:n])
    return s, body[n:]


class TestTime:
    @pytest.fixture
    def options(self):
        return {"request_timeout": "3s", "idle_timeout": "60s"}

    @pytest.mark.files
    def test_a_client_that_stops_sending_is_told(self, faults):
        """The client stops after a piece that was handed to a worker, and still gets the 408."""
        be_slow(faults)
        s, _ = begin(faults.server, large_xorb(700), 524288)
        with s:
            assert s.recv(4096).startswith(b"HTTP/1.1 408")

    @pytest.mark.files
    def test_the_disk_s_time_is_not_charged_to_the_client(self, faults):
        be_slow(faults)
        hold_writes(faults, last=1)
        x = large_xorb(701)
        s, rest = begin(faults.server, x, 524288)
        began = time.monotonic()
        wait_for_writes(faults, 1)
        cairn.wait_until("more than its time to be over", lambda: time.monotonic() > began + 4)
        before = slow_writes(faults)
        faults.disarm()
        cairn.wait_until("the write to end", lambda: slow_writes(faults) > before)
        ticks = time.monotonic() + 1.5  # the thread that ends late requests looks once a second
        cairn.wait_until("the thread that ends late requests to have looked", lambda: time.monotonic() > ticks)
        with s:
            s.sendall(rest)
            assert s.recv(4096).startswith(b"HTTP/1.1 200")


LENGTHS = {"even": [100_000], "odd": [1, 2, 65_535, 1, 31, 300_000, 8191], "bytes": [1] * 40 + [32_768]}


@pytest.mark.files
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(("path", "body"), [(x.path(), bytes(x.body())) for x in [large_xorb(800)]] + [("/api/validate-yaml", CARD)], ids=["xorb", "hub"])
def test_a_body_without_a_length_waits_too(faults, path, body, lengths):
    """The next request on the same connection is answered, even if it was read together with the end of the body."""
    be_slow(faults)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    chunked = head + pieces(body, LENGTHS[lengths])
    reply = faults.server.raw(chunked * 2 + b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert reply.count(b"HTTP/1.1 200") == 3, reply[:400]


class TestHttps:
    @pytest.fixture
    def options(self, tmp_path):
        authority = Authority(tmp_path / "authority")
        certificate, key = authority.issue("slow")
        return {"trust": authority.path, "tls_certificate": certificate, "tls_key": key}

    @pytest.mark.files
    def test_decrypted_bytes_are_not_left_unread(self, faults):
        """A TLS connection continues with the bytes that are decrypted already, although its socket has nothing more to read."""
        be_slow(faults)
        for seed in range(600, 610):
            assert faults.server.put_xorb(large_xorb(seed, 80), timeout=20).status == 200
