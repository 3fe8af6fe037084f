"""A long file of the mirrored hub is sent while it is being fetched. test_mirror_long.py tests the fetch itself, and its failures."""

import concurrent.futures
import contextlib
import hashlib
import os
import sqlite3
import subprocess
import sys
from http.client import HTTPConnection, IncompleteRead

import cairn
import pytest
from clocks import Clock
from upstream import SHA, Slow

MB = 1 << 20
WEIGHTS = os.urandom(40 * MB + 12345)
PATH = "/far/model/resolve/main/weights.bin"
ETAG = f'"{hashlib.sha256(WEIGHTS).hexdigest()}"'
HELD_BACK = 64 << 10


class Far(Slow):
    """A hub whose long file is WEIGHTS."""

    def __init__(self, come=None, false=None, **more):
        super().__init__(WEIGHTS, come, false, **more)


@contextlib.contextmanager
def reply_of(server, path=PATH, timeout=60, **headers):
    """Returns the reply to a GET, with its body unread."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=timeout)
    connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def waiting(server):
    return server.metrics()["cairn_mirror_waiting_clients"]


def await_waiting(server, n):
    cairn.wait_until(f"{n} waiting clients", lambda: waiting(server) == n)


def test_bytes_are_sent_while_they_come(start):
    with Far(come=3 * MB) as upstream:
        server = start(mirror=upstream.url)
        head = server.request("HEAD", PATH)
        assert (head.status, head.headers["ETag"], head.headers["Content-Length"]) == (200, ETAG, str(len(WEIGHTS))) and "X-Xet-Hash" not in head.headers
        with reply_of(server) as reply:
            assert (reply.status, reply.headers["ETag"], reply.headers["Content-Length"], reply.headers["X-Repo-Commit"]) == (200, ETAG, str(len(WEIGHTS)), SHA)
            assert (reply.headers["X-Cairn-Mirror"], reply.headers["Accept-Ranges"]) == ("fetching", "bytes") and "X-Xet-Hash" not in reply.headers
            assert reply.read(3 * MB) == WEIGHTS[: 3 * MB]
            await_waiting(server, 1)
            with reply_of(server, Range="bytes=0-0") as one:
                assert (one.status, one.headers["Content-Range"], one.read()) == (206, f"bytes 0-0/{len(WEIGHTS)}", WEIGHTS[:1])
            with reply_of(server, Range=f"bytes={2 * MB}-{3 * MB - 1}", If_Range=ETAG) as some:
                assert (some.status, some.read()) == (206, WEIGHTS[2 * MB : 3 * MB])
            with reply_of(server, Range="bytes=5-9", If_Range='"another"') as whole:
                assert (whole.status, whole.read(10)) == (200, WEIGHTS[:10])
            assert server.get(PATH, headers={"If-None-Match": ETAG}).status == 304
            assert server.get(PATH, headers={"If-Match": '"another"'}).status == 412
            past = server.get(PATH, headers={"Range": f"bytes={len(WEIGHTS)}-"})
            assert (past.status, past.headers["Content-Range"]) == (416, f"bytes */{len(WEIGHTS)}")
            upstream.comes_to(len(WEIGHTS))
            assert reply.read() == WEIGHTS[3 * MB :]
        cairn.wait_until("the file", lambda: "X-Xet-Hash" in server.request("HEAD", PATH).headers)
        here = server.get(PATH)
        assert (here.body, here.headers["X-Cairn-Mirror"]) == (WEIGHTS, "here")
        assert upstream.sent == len(WEIGHTS)
        metrics = server.metrics()
        assert metrics['cairn_mirror_served_bytes_total{from="upstream"}'] >= len(WEIGHTS)
        assert metrics['cairn_mirror_served_bytes_total{from="here"}'] == len(WEIGHTS)
        assert metrics['cairn_mirror_fetched_bytes_total{source="plain"}'] >= len(WEIGHTS) and metrics["cairn_mirror_up"] == 1


def test_many_clients_cause_one_fetch(start):
    with Far(come=MB) as upstream:
        server = start(mirror=upstream.url)
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            replies = [pool.submit(server.get, PATH) for _ in range(40)]
            await_waiting(server, 40)
            upstream.comes_to(len(WEIGHTS))
            assert all(reply.result().body == WEIGHTS for reply in replies)
        assert upstream.sent == len(WEIGHTS)


def test_waiting_clients_hold_nobody_up(start):
    with Far(come=MB) as upstream, contextlib.ExitStack() as clients:
        server = start(mirror=upstream.url)
        for _ in range(200):
            reply = clients.enter_context(reply_of(server))
            assert reply.status == 200
        await_waiting(server, 200)
        assert server.get("/health").status == 200
        assert server.get("/far/model/resolve/main/config.json").body == b"{}"
        assert upstream.sent < 9 * MB
    await_waiting(server, 0)


def test_false_bytes_are_never_whole(start):
    """Clients get the last 64 KiB only after the whole file was verified. A false file is answered by an error, for an hour."""
    false = WEIGHTS[: 20 * MB] + b"\0" + WEIGHTS[20 * MB + 1 :]
    with Far(come=len(WEIGHTS) - 1, false=false) as upstream:
        server = start(mirror=upstream.url)
        resumed = f"bytes={len(WEIGHTS) - HELD_BACK - 1000}-"  # with it, a client that was cut off has the whole file
        with reply_of(server) as reply, reply_of(server, Range=f"bytes={len(WEIGHTS) - 2 * MB}-") as rest, reply_of(server, Range=resumed) as last:
            assert reply.read(len(WEIGHTS) - HELD_BACK) == false[:-HELD_BACK]
            assert rest.read(2 * MB - HELD_BACK) == false[-2 * MB : -HELD_BACK]
            with reply_of(server, Range=f"bytes={len(WEIGHTS) - MB}-{len(WEIGHTS) - 2}") as end:
                assert end.read() == false[-MB:-1]
            assert last.read(1000) == false[-HELD_BACK - 1000 : -HELD_BACK]
            await_waiting(server, 3)
            upstream.comes_to(len(WEIGHTS))
            for cut in (reply, rest, last):
                with pytest.raises((IncompleteRead, ConnectionError)) as how:
                    assert cut.read() == b"" and cut.length == 0
                assert not isinstance(how.value, IncompleteRead) or how.value.partial == b""
        sent = upstream.sent
        reply = server.get(PATH)
        assert (reply.status, reply.json()["code"]) == (502, "mirror.wrong"), reply
        assert upstream.sent == sent
        assert server.metrics()['cairn_mirror_failures_total{why="wrong"}'] == 1


def test_a_client_that_leaves_ends_no_fetch(start):
    with Far(come=2 * MB) as upstream:
        server = start(mirror=upstream.url)
        with reply_of(server) as reply:
            assert reply.read(2 * MB) == WEIGHTS[: 2 * MB]
            await_waiting(server, 1)
        await_waiting(server, 0)
        upstream.comes_to(len(WEIGHTS))
        cairn.wait_until("the file", lambda: "X-Xet-Hash" in server.request("HEAD", PATH).headers)
        assert server.get(PATH).body == WEIGHTS and upstream.sent == len(WEIGHTS)


def test_a_stop_cuts_waiting_replies(start):
    with Far(come=2 * MB) as upstream:
        server = start(mirror=upstream.url, drain="1s")
        with reply_of(server) as reply:
            assert reply.read(2 * MB) == WEIGHTS[: 2 * MB]
            await_waiting(server, 1)
            server.stop()
            with pytest.raises((IncompleteRead, ConnectionError)):
                reply.read()


@pytest.mark.skipif(bool(cairn.INDEX), reason="the test writes to the index of SQLite")
def test_the_right_to_read_is_checked_again(start, issuer):
    """A client that loses the right to read gets at most 16 MiB more."""
    with Far(come=20 * MB) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        with reply_of(server) as reply:
            assert reply.read(20 * MB) == WEIGHTS[: 20 * MB]
            await_waiting(server, 1)
            with contextlib.closing(sqlite3.connect(server.data / "index.sqlite")) as index, index:
                assert index.execute("UPDATE repo SET gate = 2").rowcount == 1
            upstream.comes_to(len(WEIGHTS))
            with pytest.raises(IncompleteRead) as cut:
                reply.read()
            assert len(cut.value.partial) < 16 * MB


def curl(server, to, *arguments):
    return subprocess.Popen(["curl", "-sS", "--fail", "-o", to, *arguments, server.url + PATH])


def size_of(path):
    return path.stat().st_size if path.exists() else 0


def test_curl_goes_on_where_it_stopped(start, tmp_path):
    at = tmp_path / "weights"
    with Far(come=5 * MB) as upstream:
        server = start(mirror=upstream.url)
        first = curl(server, at)
        cairn.wait_until("some bytes", lambda: size_of(at) > MB)
        first.kill()
        first.wait()
        again = curl(server, at, "-C", "-")
        await_waiting(server, 1)
        upstream.comes_to(len(WEIGHTS))
        assert again.wait(60) == 0
        assert at.read_bytes() == WEIGHTS and upstream.sent == len(WEIGHTS)


def hf(server, folder, *more):
    """hf download, in a process of its own."""
    variables = {**os.environ, "HF_ENDPOINT": server.url, "HF_HUB_CACHE": str(folder), "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_TOKEN": ""}
    program = os.path.join(os.path.dirname(sys.executable), "hf")
    return subprocess.Popen([program, "download", "far/model", "--revision", SHA, *more], env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def weights_in(folder):
    return next(p for p in folder.rglob("weights.bin")).read_bytes()


def test_hf_downloads_while_it_comes(start, tmp_path):
    """Two clients download at the same time. One is killed, and continues where it stopped."""
    with Far(come=5 * MB) as upstream:
        server = start(mirror=upstream.url)
        killed, other = hf(server, tmp_path / "a"), hf(server, tmp_path / "b")
        await_waiting(server, 2)
        killed.kill()
        killed.wait()
        await_waiting(server, 1)
        again = hf(server, tmp_path / "a")
        await_waiting(server, 2)
        upstream.comes_to(len(WEIGHTS))
        for client in (again, other):
            assert client.wait(120) == 0, client.stdout.read()
        assert weights_in(tmp_path / "a") == weights_in(tmp_path / "b") == WEIGHTS
        assert upstream.sent == len(WEIGHTS)


def test_a_killed_daemon_goes_on(start, tmp_path):
    """The client retries by itself from its position; the daemon fetches the bytes that it had not kept."""
    with Far(come=12 * MB) as upstream:
        server = start(mirror=upstream.url)
        client = hf(server, tmp_path / "a")
        await_waiting(server, 1)
        server.kill()
        server.command[server.command.index("--listen") + 1] = f"127.0.0.1:{server.port}"
        server.start()
        upstream.comes_to(len(WEIGHTS))
        assert client.wait(120) == 0, client.stdout.read()
        assert weights_in(tmp_path / "a") == WEIGHTS
        assert server.get(PATH).body == WEIGHTS


@pytest.mark.parametrize("rule, why, step_s", [("mirror.silent", "silent", 3600), ("mirror.cut", "unreachable", 17)])
def test_an_upstream_falls_silent_or_is_lost_in_mid_file(start, tmp_path, rule, why, step_s):
    """After a minute without bytes, or seven lost connections, the clients are cut off, and the next request is put off. Later the fetch resumes behind the last part."""
    come, clock = 24 * MB, Clock(tmp_path / "shift")
    with contextlib.ExitStack() as there:
        upstream = there.enter_context(Far(come))
        server = start(mirror=upstream.url, mirror_spool_max="64M", variables=clock.of_thread("mirror"))
        with reply_of(server) as reply:
            assert reply.read(come) == WEIGHTS[:come]
            await_waiting(server, 1)
            cairn.wait_until("a part", lambda: cairn.look(server.data, "SELECT count(*) FROM mirror_part") == 1)
            if rule == "mirror.cut":
                there.close()
            steps = iter(range(1, 1000))
            cairn.wait_until("the cut", lambda: clock.move(step_s * next(steps)) or waiting(server) == 0)
            with pytest.raises((IncompleteRead, ConnectionError)):
                reply.read()
        assert server.metrics()[f'cairn_mirror_failures_total{{why="{why}"}}'] == 1
        later = server.get(PATH)
        assert (later.status, later.json()["code"]) == (429, rule) and later.headers["Retry-After"] == "30", later
        server.stop()  # so that the daemon forgets the failure
        clock.move(0)
        there.close()
        upstream = there.enter_context(Far(port=upstream.port))
        server.start()
        assert server.get(PATH).body == WEIGHTS
        assert upstream.sent < len(WEIGHTS) - 15 * MB  # a part has a fourth of mirror_spool_max


def test_stale_answers_say_so(start):
    with Far() as upstream:
        server = start(mirror=upstream.url)
        assert server.get("/api/models/far/model").headers["X-Cairn-Mirror"] == "here"
        assert server.get(PATH).body == WEIGHTS
    server.stop()
    server.start()
    for path in ("/api/models/far/model", "/api/models/far/model/tree/main", PATH):
        for _ in range(2):
            assert server.get(path).headers["X-Cairn-Mirror"] == "stale"
    assert server.get(f"/far/model/resolve/{SHA}/weights.bin").headers["X-Cairn-Mirror"] == "here"
    metrics = server.metrics()
    assert metrics["cairn_mirror_stale_answers_total"] == 6 and metrics["cairn_mirror_up"] == 0
    assert sum(value for name, value in metrics.items() if name.startswith("cairn_mirror_failures_total")) == 1
