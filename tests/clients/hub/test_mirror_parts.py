"""A long file of the mirrored hub is stored in parts, so that a daemon that was stopped or killed continues after the
last part."""

import contextlib
import hashlib
import json
import os
import random
import re
import subprocess
import threading
from http.client import HTTPException

import cairn
import pytest
from upstream import Slow

MB = 1 << 20
CONTENT = os.urandom(80 * MB + 4321)
PATH = "/far/model/resolve/main/weights.bin"
PART = 16 * MB  # a part is a fourth of the spools, at most
SPOOLS = {"mirror_spool_max": "64M"}


def firsts_of(heads):
    """Returns the first byte of the range of each request."""
    return [int(first) for head in heads for first in re.findall(rb"\r\nRange: bytes=(\d+)-\d+\r\n", head)]


def parts(server):
    return cairn.rows(server.data, "SELECT p.first, f.size FROM mirror_part p JOIN file f ON f.id = p.file ORDER BY p.first")


def end_of_parts(server):
    """Returns how many bytes are in parts, which follow each other."""
    end = 0
    for first, size in parts(server):
        assert first == end and size <= PART + MB
        end += size
    return end


def await_parts(server, n):
    cairn.wait_until(f"{n} parts", lambda: len(parts(server)) >= n)


def ask(server):
    """Asks for the file, until the daemon ends."""

    def read():
        try:
            return server.get(PATH).status
        except (OSError, HTTPException):
            return None

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def fetch(server):
    """Asks until the answer is not "later"."""
    replies = []
    cairn.wait_until("the file", lambda: replies.append(server.get(PATH)) or replies[-1].status != 429, 60)
    return replies[-1]


def ended(server, how):
    """Ends a daemon, and starts it again at the same address."""
    how()
    server.command[server.command.index("--listen") + 1] = f"127.0.0.1:{server.port}"
    server.start()


def fsck(server):
    command = [cairn.CAIRN, "fsck", "--json", "--data-dir", str(server.data)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60).stdout)["problems"]


def check_here(server):
    """Checks that the file is here, and that no part of it remains."""
    cairn.wait_until("the file", lambda: "X-Xet-Hash" in server.request("HEAD", PATH).headers)
    reply = server.get(PATH)
    assert reply.body == CONTENT and reply.headers["X-Cairn-Mirror"] == "here"
    assert parts(server) == []


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_fetch_goes_on_from_the_last_part(start, how):
    with Slow(CONTENT, come=50 * MB) as upstream:
        server = start(mirror=upstream.url, drain="1s", **SPOOLS)
        asked = ask(server)
        await_parts(server, 2)
        ended(server, getattr(server, how))
        asked.join()
        end = end_of_parts(server)
        assert 2 * (PART - MB) <= end < 50 * MB
        before = len(upstream.asked)
        upstream.comes_to(end + 2 * MB)
        with contextlib.closing(server.connect()) as connection:
            connection.request("GET", PATH)
            reply = connection.getresponse()
            assert reply.status == 200 and reply.headers["X-Cairn-Mirror"] == "fetching"
            assert reply.read(end + MB) == CONTENT[: end + MB]  # from parts, then from the spool
            middle = server.get(PATH, headers={"Range": f"bytes={PART - 5}-{PART + 4}"})
            assert (middle.status, middle.body) == (206, CONTENT[PART - 5 : PART + 5])
            upstream.comes_to(len(CONTENT))
            assert reply.read() == CONTENT[end + MB :]
        assert min(firsts_of(upstream.asked[before:])) == end
        check_here(server)
        if not cairn.INDEX:
            server.stop()
            assert fsck(server) == []


@pytest.mark.sqlite
def test_fsck_and_a_collection_leave_parts(start, clock, issuer):
    """The parts of a file count as needed, as long as the file has not come. Afterwards the next collection takes their files."""
    with Slow(CONTENT, come=40 * MB) as upstream:
        server = start(mirror=upstream.url, test_clock=clock.path, epoch="60s", gc_grace="120s", hub_upload_grace="0s", drain="1s", token_key=issuer.folder, **SPOOLS)
        asked = ask(server)
        await_parts(server, 2)
        server.stop()
        asked.join()
        assert fsck(server) == []
        server.start()
        admin = issuer.token("admin", expires_s=10**8)
        end = end_of_parts(server)
        for s in (1000, 2000):
            clock.move(s)
            assert server.post("/v1/gc", b"", token=admin).status == 200
        assert end_of_parts(server) == end > 0
        before = len(upstream.asked)
        upstream.comes_to(len(CONTENT))
        assert fetch(server).body == CONTENT
        assert min(firsts_of(upstream.asked[before:])) == end
        check_here(server)
        clock.move(3000)
        assert server.post("/v1/gc", b"", token=admin).status == 200
        assert cairn.look(server.data, "SELECT count(*) FROM file") == 1
        assert server.get(PATH).body == CONTENT
        server.stop()
        assert fsck(server) == []


def test_a_removed_repository_takes_its_parts_with_it(start):
    """A removed repository takes its parts with it, even while the file is being fetched."""
    with Slow(CONTENT, come=50 * MB) as upstream:
        server = start(mirror=upstream.url, **SPOOLS)
        asked = ask(server)
        await_parts(server, 2)
        subprocess.run([cairn.CAIRN, "mirror", "remove", "far/model"], env={**os.environ, "CAIRN_SERVER": server.url}, check=True, timeout=60)
        upstream.comes_to(len(CONTENT))
        asked.join()
        assert server.post("/v1/gc").status == 200
        cairn.wait_until("the parts to go", lambda: parts(server) == [])
        assert cairn.look(server.data, "SELECT count(*) FROM file") == 0
        assert fetch(server).body == CONTENT
        check_here(server)


def test_wrong_bytes_remove_the_parts(start):
    false = CONTENT[: 10 * MB] + b"\0" + CONTENT[10 * MB + 1 :]
    with Slow(CONTENT, come=50 * MB, false=false) as upstream:
        server = start(mirror=upstream.url, **SPOOLS)
        asked = ask(server)
        await_parts(server, 2)
        ended(server, server.kill)
        asked.join()
        upstream.comes_to(len(CONTENT))
        cairn.wait_until("the end", lambda: ask(server).join() or server.get(PATH).status == 502)
        assert parts(server) == []
        assert server.get(PATH).json()["code"] == "mirror.plan"  # the second daemon does not know which bytes the first one copied from other files
        ended(server, server.kill)
        upstream.false, before = CONTENT, len(upstream.asked)
        assert fetch(server).body == CONTENT
        assert min(firsts_of(upstream.asked[before:])) == 0
        check_here(server)


@pytest.mark.sqlite
@pytest.mark.files
def test_parts_that_cannot_be_read(start):
    """A fetch that meets a damaged part ends, and the next one begins anew."""
    with Slow(CONTENT, come=50 * MB) as upstream:
        server = start(mirror=upstream.url, **SPOOLS)
        asked = ask(server)
        await_parts(server, 2)
        server.kill()
        asked.join()
        for xorb in server.objects():
            xorb.chmod(0o600)
            with open(xorb, "r+b") as file:
                file.truncate(1000)
        server.start()
        upstream.comes_to(len(CONTENT))
        cairn.wait_until("the parts to go", lambda: ask(server).join() or parts(server) == [])
        ended(server, server.kill)
        assert fetch(server).body == CONTENT
        check_here(server)


def test_killed_at_random(start, tmp_path):
    """The client gets the right bytes, and few of them are fetched twice."""
    choice = random.Random(47)
    with Slow(CONTENT, come=0) as upstream:
        server = start(mirror=upstream.url, **SPOOLS)
        client = subprocess.Popen(["curl", "-sS", "--fail", "--retry", "100", "--retry-all-errors", "-C", "-", "-o", tmp_path / "w", server.url + PATH])
        for n in range(4):
            come = (n + 1) * 15 * MB + choice.randrange(5 * MB)
            with upstream.more:
                upstream.come = come
                upstream.more.notify_all()
            cairn.wait_until("bytes", lambda come=come: end_of_parts(server) + PART + MB > come)
            before = end_of_parts(server)
            ended(server, server.kill)
            assert end_of_parts(server) >= before
        upstream.comes_to(len(CONTENT))
        assert client.wait(100) == 0
        assert hashlib.sha256((tmp_path / "w").read_bytes()).digest() == hashlib.sha256(CONTENT).digest()
        check_here(server)
        assert upstream.sent < len(CONTENT) + 4 * (PART + 8 * 2 * MB)


def test_slow_bytes_become_parts_by_time(start):
    """Bytes become a part after five seconds, even if no more come."""
    with Slow(CONTENT, come=3 * MB + 1000) as upstream:
        server = start(mirror=upstream.url)
        asked = ask(server)
        cairn.wait_until("a part", lambda: end_of_parts(server) > 2 * MB)
        server.kill()
        asked.join()
