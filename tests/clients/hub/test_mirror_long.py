"""Long files are fetched from the mirrored hub in blocks, through the spool."""

import concurrent.futures
import hashlib
import http.client
import itertools
import os
import re
import socket
import threading
from pathlib import Path

import cairn
import pytest
from clocks import Clock
from huggingface_hub import hf_hub_download
from people import publish
from upstream import Hub, Repo, Upstream, answer, part

MB = 1 << 20
WEIGHTS = os.urandom(40 * MB + 12345)
PATH = "/far/model/resolve/main/weights.bin"


def hub(content=WEIGHTS, **more):
    return Hub({"far/model": Repo({"weights.bin": content, "config.json": b"{}"}, stored={"weights.bin"})}, **more)


def fetch(server, path=PATH, seconds=60, **more):
    """Asks until the answer is neither "later" nor cut off."""
    replies = []

    def has_come():
        try:
            replies.append(server.get(path, **more))
        except http.client.IncompleteRead as cut:
            assert len(cut.partial) <= len(WEIGHTS) - 65536  # a client never gets a whole false file
            return False
        return replies[-1].status != 429 or replies[-1].json()["code"] != "mirror.later"

    cairn.wait_until("the file", has_come, seconds)
    return replies[-1]


def ranges_of(heads):
    """The ranges of the requests: [(first, end)]."""
    return [(int(first), int(last) + 1) for head in heads for first, last in re.findall(rb"\r\nRange: bytes=(\d+)-(\d+)\r\n", head)]


def check_each_byte_once(asked, size=len(WEIGHTS)):
    asked = sorted(asked)
    assert asked[0][0] == 0 and asked[-1][1] == size
    assert all(one[1] == next_one[0] for one, next_one in zip(asked, asked[1:], strict=False)), asked


def spooled(server):
    """Bytes of the daemon's open files without a name."""
    total = 0
    for entry in os.scandir(f"/proc/{server.process.pid}/fd"):
        try:
            if "(deleted)" in os.readlink(entry.path) and "/tmp/" in os.readlink(entry.path):
                total += os.stat(entry.path).st_blocks * 512
        except FileNotFoundError:
            pass
    return total


def test_a_long_file_comes_once_by_blocks(start):
    with hub() as upstream:
        server = start(mirror=upstream.url)
        assert server.request("HEAD", PATH).headers["Content-Length"] == str(len(WEIGHTS))
        assert fetch(server).body == WEIGHTS
        asked = ranges_of(upstream.asked)
        check_each_byte_once(asked)
        assert max(end - first for first, end in asked) <= 32 * MB
        assert spooled(server) == 0
        count = len(upstream.asked)
    assert server.get(PATH).body == WEIGHTS
    assert server.get(PATH, headers={"Range": "bytes=7-99"}).body == WEIGHTS[7:100]
    assert len(upstream.asked) == count
    server.stop()
    server.start()
    assert server.get(PATH).body == WEIGHTS


def test_a_long_file_of_another_daemon(start, tmp_path):
    upstream = start("upstream")
    publish(upstream, "team/one", [("weights.bin", WEIGHTS)])
    here = start(mirror=upstream.url)
    assert fetch(here, "/team/one/resolve/main/weights.bin").body == WEIGHTS
    upstream.stop()
    at = hf_hub_download("team/one", "weights.bin", endpoint=here.url, token=False, cache_dir=tmp_path)
    assert hashlib.sha256(Path(at).read_bytes()).digest() == hashlib.sha256(WEIGHTS).digest()


def sends(change):
    """Makes a hub answer with change(whole, first, end) instead of the requested range."""

    def serve(connection, head):
        first, end = ranges_of([head])[0]
        end = min(end, len(WEIGHTS))
        connection.sendall(change(WEIGHTS, first, end))

    return serve


def ranged(body, first, end, size=len(WEIGHTS)):
    return answer(206, body, Content_Range=f"bytes {first}-{end - 1}/{size}")


LIES = {
    "other": (lambda w, a, z: ranged(bytes(z - a), a, z), 502, "mirror.wrong"),
    "one_byte": (lambda w, a, z: ranged(w[a : z - 1] + bytes([w[z - 1] ^ 1]), a, z), 502, "mirror.wrong"),
    "another_range": (lambda w, a, z: ranged(w[a + 1 : z + 1], a + 1, z + 1), 502, "mirror.wrong"),
    "another_size": (lambda w, a, z: ranged(w[a:z], a, z, len(w) + 1), 502, "mirror.wrong"),
    "no_range": (lambda w, a, z: answer(206, w[a:z]), 502, "mirror.wrong"),
    "longer": (lambda w, a, z: ranged(w[a:z] + b"x", a, z), 502, "mirror.wrong"),
    "whole": (lambda w, a, z: answer(200, w), 504, "mirror.answer"),
    "denied": (lambda w, a, z: answer(403), 403, "mirror.denied"),
    "gone": (lambda w, a, z: answer(404, b"{}", X_Error_Code="EntryNotFound"), 404, "mirror.unknown"),
    "no_such_range": (lambda w, a, z: answer(416), 504, "mirror.answer"),
    "failed": (lambda w, a, z: answer(503), 429, "mirror.busy"),
    "later": (lambda w, a, z: answer(429, Retry_After="7"), 429, "mirror.busy"),
    "elsewhere": (lambda w, a, z: answer(302, Location="http://127.0.0.2/x"), 504, "mirror.elsewhere"),
}


@pytest.mark.parametrize("how", LIES)
def test_an_upstream_lies_about_a_long_file(start, how):
    """False bytes are not kept, and the upstream is not asked again at once."""
    change, status, rule = LIES[how]
    with hub() as upstream:
        upstream.ranged["/resolve/"] = sends(change)
        server = start(mirror=upstream.url)
        reply = fetch(server)
        assert (reply.status, reply.json()["code"]) == (status, rule), reply
        count = len(upstream.asked)
        assert server.get(PATH).status in (status, 429) and len(upstream.asked) == count
        assert spooled(server) == 0
        assert server.request("HEAD", PATH).status == 200


def test_a_block_goes_on_where_it_broke_off(start):
    """The upstream refuses each block once, and once it breaks off in the middle. Each byte comes once."""
    came, lock, seen = [], threading.Lock(), {}

    def serve(connection, head):
        first, end = ranges_of([head])[0]
        with lock:
            turn = seen[end] = seen.get(end, 1 if first == 0 else 0) + 1  # the rest of a block has the same end
        if turn == 1:
            return connection.sendall(answer(503))
        half = first + (end - first) // 2 if turn == 2 and end - first > 1 else end
        reply = part(WEIGHTS, head)
        came.append((first, half))
        connection.sendall(reply[: len(reply) - (end - half)])
        if half < end:
            connection.shutdown(socket.SHUT_RDWR)

    with hub() as upstream:
        upstream.ranged["/resolve/"] = serve
        server = start(mirror=upstream.url)
        assert fetch(server).body == WEIGHTS
        check_each_byte_once(came)


def test_an_upstream_that_falls_silent(start, tmp_path):
    """After a minute of silence the fetch ends. The upstream is not asked again for half a minute."""
    clock, hours = Clock(tmp_path / "shift"), itertools.count()
    with hub() as upstream, concurrent.futures.ThreadPoolExecutor() as pool:
        held = Held(upstream)
        server = start(mirror=upstream.url, variables=clock.of_thread("mirror"))
        asked = pool.submit(fetch, server)
        cairn.wait_until("the request for a block", lambda: held.most > 0)
        cairn.wait_until("the end of the fetch", lambda: clock.move(3600 * next(hours)) or asked.done())
        reply = asked.result()
        assert (reply.status, reply.json()["code"]) == (429, "mirror.silent"), reply
        cairn.wait_until("all connections to end", lambda: spooled(server) == 0)
        held.may_go.set()


def test_signed_addresses(start):
    """A file is on another host, at an address that expires after three answers. The daemon then asks for a new
    address."""
    grants, lock = [], threading.Lock()

    def sign(connection):
        with lock:
            grants.append(3)
            connection.sendall(answer(302, Location=f"http://127.0.0.2:{upstream.port}/signed/{len(grants) - 1}"))

    def serve(connection, head):
        at = int(head.split(b" ")[1].rsplit(b"/", 1)[1])
        with lock:
            grants[at] -= 1
            over = grants[at] < 0
        connection.sendall(answer(403) if over else part(WEIGHTS, head))

    with hub() as upstream, Upstream(b"", host="127.0.0.2", port=upstream.port) as files:
        upstream.instead["/resolve/"] = sign
        files.reply = serve
        server = start(mirror=upstream.url, mirror_hosts="127.0.0.2")
        assert fetch(server).body == WEIGHTS
        assert len(grants) > 1 and min(grants) < 0
        assert not any(b"authorization" in head.lower() for head in files.asked)
        server.stop()
        # The host is not listed; then a new address does not help.
    with hub() as upstream, Upstream(b"", host="127.0.0.2", port=upstream.port) as files:
        upstream.instead["/resolve/"] = lambda c: c.sendall(answer(302, Location=f"http://127.0.0.2:{upstream.port}/x"))
        files.reply = lambda connection, _head: connection.sendall(answer(403))
        for name, hosts, rule in (("unlisted", "127.0.0.3", "mirror.elsewhere"), ("refused", "127.0.0.2", "mirror.denied")):
            assert fetch(start(name, mirror=upstream.url, mirror_hosts=hosts)).json()["code"] == rule
        assert len(files.asked) == 1


class Held:
    """Makes a hub answer with the first MiB of a range, and with the rest only once may_go is set."""

    def __init__(self, upstream, first_bytes=MB):
        self.may_go = threading.Event()
        self.n, self.most, self.lock, self.first_bytes = 0, 0, threading.Lock(), first_bytes
        upstream.ranged["/resolve/"] = self.serve

    def serve(self, connection, head):
        first, end = ranges_of([head])[0]
        reply = part(WEIGHTS, head)
        with self.lock:
            self.n += 1
            self.most = max(self.n, self.most)
        connection.sendall(reply[: len(reply) - (end - first) + self.first_bytes])
        self.may_go.wait(200)
        with self.lock:
            self.n -= 1
        connection.sendall(reply[len(reply) - (end - first) + self.first_bytes :])


def test_small_files_do_not_wait_behind_long_ones(start):
    many = {f"weights{n}.bin": os.urandom(33 * MB) for n in range(9)}
    with Hub({"far/model": Repo({**many, "config.json": b"{}"}, stored=set(many))}) as upstream:
        may_go = threading.Event()
        upstream.ranged["/resolve/main/weights"] = upstream.ranged["/weights"] = lambda _connection, _head: may_go.wait(60)
        server = start(mirror=upstream.url)
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            asked = [pool.submit(server.get, f"/far/model/resolve/main/{name}") for name in many]
            cairn.wait_until("eight long files", lambda: len(ranges_of(upstream.asked)) == 8)
            assert server.get("/far/model/resolve/main/config.json").body == b"{}"
            assert len(ranges_of(upstream.asked)) == 8  # the sender's share
            may_go.set()
            assert {one.result().status for one in asked} <= {429, 504}


def test_the_spools_have_a_limit(start):
    """Blocks that are in the store leave the spool. The file is longer than all spools may be."""
    content = os.urandom(MB) * 150
    with hub(content) as upstream:
        server, most = start(mirror=upstream.url, mirror_spool_max="64M"), [0]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(fetch, server)
            cairn.wait_until("the file", lambda: most.append(spooled(server)) or asked.done(), 60)
            assert asked.result().body == content
        assert MB < max(most) <= 64 * MB
        check_each_byte_once(ranges_of(upstream.asked), len(content))


def test_at_most_eight_connections(start):
    with hub() as upstream:
        held = Held(upstream, first_bytes=100)
        server = start(mirror=upstream.url)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(fetch, server)
            cairn.wait_until("all connections", lambda: held.n == 8)
            held.may_go.set()
            assert asked.result().body == WEIGHTS
        assert held.most == 8
        check_each_byte_once(ranges_of(upstream.asked))


def test_stopped_and_killed_in_the_middle(start):
    """Nothing is left in the folder of spools. test_mirror_parts.py has what is left of the file."""
    with hub() as upstream:
        server = start(mirror=upstream.url, drain="1")
        for end in (lambda: server.stop(), lambda: server.kill(), lambda: server.stop()):
            held = Held(upstream)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                asked = pool.submit(lambda: cairn.wait_until("the end", lambda: not answers(server)))
                cairn.wait_until("bytes", lambda: spooled(server) >= MB)
                end()
                asked.result()
            held.may_go.set()
            assert not list((server.data / "tmp").iterdir())
            server.start()
        del upstream.ranged["/resolve/"]
        assert fetch(server).body == WEIGHTS
        server.stop()
        assert not list((server.data / "tmp").iterdir())


def answers(server):
    try:
        return server.get(PATH).status
    except http.client.IncompleteRead:
        return True
    except OSError:
        return None
