"""Floods of connections, of connections from one address, and of requests. The flooding client is held back; others are served."""

import base64
import contextlib
import http.client
import resource
import selectors
import socket
import sqlite3
import threading
import time

import cairn
import pytest
import xet

IDLE = 10_000  # connections; fewer where client and daemon may not open so many files


def raise_files_max():
    """The number of idle connections that this machine lets client and daemon hold."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(IDLE, hard - 2048)


def connect_from(server, address):
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=60, source_address=(address, 0))


def get_from(server, address, path="/health", **more):
    with contextlib.closing(connect_from(server, address)) as c:
        return server.get(path, connection=c, **more)


def test_ten_thousand_idle_connections(start):
    """Each connection has sent one request and stays open. New clients are served meanwhile, and the old ones afterwards."""
    n = raise_files_max()
    server = start(connections_max=16384, connections_per_address_max=16384, idle_timeout="10m", head_timeout="10m", no_access_log=True)
    ask = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with contextlib.ExitStack() as held, selectors.DefaultSelector() as selector:
        sockets = [held.enter_context(server.socket()) for _ in range(n)]
        for s in sockets:
            s.sendall(ask)
            selector.register(s, selectors.EVENT_READ)
        waiting = n
        while waiting > 0:
            ready = selector.select(timeout=60)
            assert ready, f"{waiting} of {n} connections were not answered"
            for key, _ in ready:
                assert key.fileobj.recv(4096).startswith(b"HTTP/1.1 200 ")
                selector.unregister(key.fileobj)
            waiting -= len(ready)
        assert server.metrics()["cairn_http_connections"] > n
        assert server.get("/ready").status == 200
        for s in sockets[:: n // 50]:
            s.sendall(ask)
            assert s.recv(4096).startswith(b"HTTP/1.1 200 ")
    cairn.wait_until("the connections to be gone", lambda: server.metrics()["cairn_http_connections"] < 10)


def test_connections_of_one_address_leave_room_for_others(start):
    """One address opens many more connections than it may. Connections remain for others."""
    server = start(connections_max=64, connections_per_address_max=8)
    with contextlib.ExitStack() as held:
        for _ in range(300):
            with contextlib.suppress(ConnectionError):
                held.enter_context(socket.create_connection(("127.0.0.1", server.port), 30, source_address=("127.0.0.2", 0)))
        for _ in range(3):
            assert get_from(server, "127.0.0.3").status == 200
    assert server.metrics()["cairn_http_connections_refused_total"] >= 250


def test_rate_of_an_address(start):
    server = start(rate_per_address=5, rate_burst="2s")
    with contextlib.closing(connect_from(server, "127.0.0.2")) as c:
        replies = [server.get("/health", connection=c) for _ in range(30)]
        refused = [r for r in replies if r.status == 429]
        assert [r.status for r in replies[:10]] == [200] * 10
        assert len(refused) >= 10
        for r in refused:
            cairn.is_error(r, 429, "rate.address")
            assert r.headers["Retry-After"] == "1"
        assert get_from(server, "127.0.0.3").status == 200, "other addresses are not held back"
        cairn.wait_until("the budget to be refilled", lambda: server.get("/health", connection=c).status == 200)
    assert server.metrics()["cairn_http_over_address_rate_total"] >= len(refused)


def status_from(server, *addresses):
    lines = "".join(f"X-Forwarded-For: {address}\r\n" for address in addresses)
    return int(server.raw(f"GET /v1/files HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{lines}\r\n".encode()).split()[1])


def test_the_log_has_the_client_behind_a_proxy(start):
    """For a trusted proxy, the line of the log has the address that the proxy gives. For any other peer it has the peer's own, whatever the peer
    sends."""
    server, other = start(hub_trusted_proxies="127.0.0.1"), start("other", hub_trusted_proxies="10.0.0.0/8")
    for client in ("203.0.113.9, 192.0.2.7", "2001:db8::1", "nobody"):
        for each in (server, other):
            status_from(each, client)
    for each, addresses in ((server, ["192.0.2.7", "2001:db8::1", "127.0.0.1"]), (other, ["127.0.0.1"] * 3)):
        cairn.wait_until("the lines", lambda each=each: len([e for e in each.events("request") if e["target"] == "/v1/files"]) == 3)
        assert [e["address"] for e in each.events("request") if e["target"] == "/v1/files"] == addresses


def test_rate_of_clients_behind_a_proxy(start):
    """The address that a trusted proxy adds last is counted. Addresses sent by its client do not count, nor do those from peers that are not
    trusted."""
    server = start(rate_per_address=1, rate_burst="10s", hub_trusted_proxies="127.0.0.1, 10.0.0.0/8")
    mallory = [status_from(server, f"203.0.113.{n}, 192.0.2.7") for n in range(12)]
    assert 429 in mallory and mallory[0] != 429
    assert status_from(server, "192.0.2.7, 10.0.0.1") == 429, "the client is known through a second trusted proxy"
    assert status_from(server, "198.51.100.1", "192.0.2.7") == 429, "the last header line counts, which the proxy added"
    assert status_from(server, "192.0.2.8") != 429
    assert status_from(server, "192.0.2.7", "2001:db8::1") != 429
    assert status_from(server) != 429, "the proxy's own address has used nothing up"
    other = start("other", rate_per_address=1, rate_burst="10s", hub_trusted_proxies="10.0.0.0/8")
    assert 429 in [status_from(other, f"192.0.2.{n}") for n in range(12)], "an address from an untrusted peer does not count"


def test_rate_of_an_address_for_uploads(start, make):
    """A large upload over the rate is refused before its body is read. Then the connection ends, as after other refusals."""
    x = make([100_000] * 20, 1)
    server = start(rate_per_address=1, rate_burst="5s")
    while server.get("/health").status == 200:
        pass
    reply = server.raw(f"POST {x.path()} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(x.body())}\r\n\r\n".encode())
    assert reply.startswith(b"HTTP/1.1 429 ") and b"Connection: close" in reply and b"rate.address" in reply
    cairn.wait_until("the budget to be refilled", lambda: server.request("HEAD", x.path()).status == 404)


def test_rate_of_a_token(start, issuer):
    server = start(token_key=issuer.folder, rate_per_token=5, rate_burst="2s")
    path = "/v1/chunks/default/" + "12" * 32
    one, other = issuer.token(sub="one"), issuer.token(sub="other")
    replies = [server.get(path, token=one) for _ in range(20)]
    assert [r.status for r in replies[:10]] == [404] * 10
    refused = [r for r in replies if r.status == 429]
    assert refused
    cairn.is_error(refused[0], 429, "rate.token")
    assert int(refused[0].headers["Retry-After"]) > 0
    assert server.get(path, token=other).status == 404
    assert server.get(path, token="x" * 40).status == 401, "an invalid token is refused, and uses up no token's budget"
    assert server.get("/health").status == 200
    cairn.wait_until("the budget to be refilled", lambda: server.get(path, token=one).status == 404)
    assert server.metrics()["cairn_http_over_token_rate_total"] >= len(refused)


def malleable(token):
    """Returns the same token with its other valid signature: anybody can turn an elliptic-curve signature (r, s) into (r, -s)."""
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # the order of P-256
    signed, signature = token.rsplit(".", 1)
    both = base64.urlsafe_b64decode(signature + "==")
    s = order - int.from_bytes(both[32:], "big")
    return signed + "." + base64.urlsafe_b64encode(both[:32] + s.to_bytes(32, "big")).rstrip(b"=").decode()


def test_rate_of_a_token_however_it_is_spelled(start, issuer):
    server = start(token_key=issuer.folder, rate_per_token=1, rate_burst="10s")
    path, token = "/v1/chunks/default/" + "12" * 32, issuer.token(algorithm="ES256")
    spelled = ["Bearer " + token, "bEARER " + token, "Bearer   " + token, f"Bearer {token} ", f"Bearer {token}\t ", "Bearer " + malleable(token)]
    asked = [server.get(path, headers={"Authorization": spelled[i % len(spelled)]}).status for i in range(30)]
    assert set(asked) == {404, 429} and asked[:10] == [404] * 10
    assert asked.count(404) < 20, "all spellings of a token share one budget"


@pytest.mark.parametrize("setting", [{}, {"rate_per_address": 0, "rate_per_token": 0}], ids=["default", "off"])
def test_no_rate_unless_asked_for(start, setting):
    """Stock clients use 64 connections and more at once, from one address."""
    server = start(**setting)
    with contextlib.closing(server.connect()) as c:
        assert {server.get("/health", connection=c).status for _ in range(2000)} == {200}


def test_ready_is_asked_by_many_while_a_check_hangs(start, make):
    """One request checks the index. The others get the last known state, and occupy no worker meanwhile."""
    server, xorb = start(workers=2), make([9000], 1)
    file = xet.File([(xorb, 0, 1)])
    assert server.put_xorb(xorb).status == 200
    assert server.post("/v1/shards", xet.shard([file], [xorb])).status == 200
    assert server.get("/ready").status == 200
    old, first = time.monotonic() + 1.1, []  # an answer is valid for a second
    cairn.wait_until("the remembered answer to be too old", lambda: time.monotonic() > old)
    with contextlib.closing(sqlite3.connect(server.data / "index.sqlite", isolation_level=None)) as index:
        index.execute("BEGIN IMMEDIATE")  # the daemon's trial write waits for this
        asker = threading.Thread(target=lambda: first.append(server.get("/ready").status))
        asker.start()
        cairn.wait_until("the check to run", lambda: server.metrics()["cairn_workers_pending"] == 1)
        assert [server.get("/ready").status for _ in range(4)] == [200] * 4
        assert server.get(f"/v2/reconstructions/{xet.text(file.hash())}").status == 200
        assert not first, "the first request still waits"
        asker.join()
        assert first == [503]
        index.execute("ROLLBACK")
    cairn.wait_until("the index to be written to again", lambda: server.get("/ready").status == 200)
