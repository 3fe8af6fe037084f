"""Bodies of requests to the hub: short ones wait in memory, long ones in a file without a name."""

import contextlib
import json
import os
import threading

import cairn
import pytest
import xet
from faults import EINTR, EIO, ENOSPC, FOR_EVER, HOLD, SHORT, Faults
from hub_calls import begin, done, lines, make, text
from lean import LeanDaemon, Watch
from lfs import TYPE
from people import People
from visitors import form_of

KIB, MIB = 1 << 10, 1 << 20
MEMORY = 128 * KIB  # a body of at most this many bytes waits in memory
STALLED_KIB_MAX = 12 * KIB  # of 130 connections
LONGER_KIB_MAX = 16 * KIB  # by which the memory for all long bodies may exceed that for short ones

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def files_of(server):
    """The files without a name that the daemon has open in its data folder."""
    folder, found = f"/proc/{server.process.pid}/fd", 0
    for fd in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            path = os.readlink(f"{folder}/{fd}")
            found += path.startswith(f"{server.data}/tmp/") and path.endswith(" (deleted)")
    return found


def wait_until_gone(server):
    cairn.wait_until("all bodies to be gone", lambda: files_of(server) == 0 and server.metrics()["cairn_spool_bytes"] == 0)


def of_length(n, **fields):
    """JSON of exactly n bytes."""
    said = json.dumps(fields)
    return (said[:-1] + " " * (n - len(said)) + "}").encode()


def commit_of(n):
    """A commit of exactly n bytes, with a file f, and others that fill it up. @return (the body, the file)"""
    files = [text("f", "x" * 1000)] + [text(f"g{i}", "y" * 50_000) for i in range(n // 50_200)]
    last = n - len(lines(*files, text("last", "")))
    return lines(*files, text("last", "z" * last)), b"x" * 1000


def stall(stack, server, path, n_bytes, key=None):
    """Sends a body without its last byte."""
    s = stack.enter_context(begin(server, "POST", path, n_bytes, key))
    s.sendall(b"[" * (n_bytes - 1))


def stalled_kib(people, most):
    """The daemon's memory while 130 bodies wait for their end, each of at most `most` bytes: some sent without a key, some with one."""
    server, total = people.server, 0
    with contextlib.ExitStack() as stack:
        for n, path, length, key in (
            (60, "/api/models/ann/one/paths-info/main", 2 * MIB, None),
            (30, "/ann/one.git/info/lfs/objects/batch", MIB, None),
            (30, "/api/validate-yaml", 2 * MIB, None),
            (10, "/api/models/ann/one/commit/main", 8 * MIB, people.keys["ann"]),
        ):
            length = min(length, most)
            for _ in range(n):
                stall(stack, server, path, length, key)
            total += n * (length - 1)
        cairn.wait_until("all to have come", lambda: server.metrics()["cairn_spool_bytes"] == total)
        kib = Watch(server.process.pid).now_kib()
        assert files_of(server) == 130
        assert people.ask("POST", "/api/models/ann/one/paths-info/main", body={"paths": []}).status == 200
    wait_until_gone(server)
    print(f"{total / MIB:.0f} MiB under way, {kib} KiB of memory")
    return kib


def test_bodies_that_do_not_end_take_no_memory(issuer, tmp_path):
    """A connection costs some memory, more with a sanitizer. The length of its body adds nothing."""
    with LeanDaemon(tmp_path / "server", token_key=issuer.folder) as server:
        people = People(server, issuer.token("admin"), tmp_path / "home")
        make(people)
        before = Watch(server.process.pid).now_kib()
        short = stalled_kib(people, MEMORY + 2)
        long = stalled_kib(people, 8 * MIB)
        assert long - short < LONGER_KIB_MAX, (before, short, long)
        assert cairn.is_sanitized() or long - before < STALLED_KIB_MAX, (before, short, long)


def test_shards_that_do_not_end_take_bounded_memory(tmp_path):
    """Of 12 long bodies, three wait in memory and the others in files. A shorter one still has room in memory."""
    with LeanDaemon(tmp_path / "server") as server, contextlib.ExitStack() as stack:
        before = Watch(server.process.pid).now_kib()
        for n in range(1, 13):
            stall(stack, server, "/v1/shards", 8 * MIB)
            came = n * (8 * MIB - 1)
            cairn.wait_until("the body to have come", lambda came=came: server.metrics()["cairn_spool_bytes"] == came)
        assert files_of(server) == 9
        stall(stack, server, "/v1/shards", 2 * MIB)
        cairn.wait_until("the shorter one", lambda: server.metrics()["cairn_spool_bytes"] == came + 2 * MIB - 1)
        assert files_of(server) == 9
        kib = Watch(server.process.pid).now_kib() - before
        assert cairn.is_sanitized() or kib < 26 * KIB + STALLED_KIB_MAX, kib
        stack.close()
        wait_until_gone(server)


def test_memory_of_bodies_is_kept_for_the_next_one_and_freed_later(start):
    server = start()

    def kept():
        return server.metrics()["cairn_spool_kept_bytes"]

    def is_kept():
        cairn.is_error(server.post("/v1/shards", bytes(8 * MIB)), 400)
        return kept() >= 8 * MIB

    cairn.wait_until("memory to be kept", is_kept)
    cairn.wait_until("memory to be freed", lambda: kept() == 0)


def ask_commit(people, n):
    body, content = commit_of(n)
    assert len(body) == n
    done(people.ask("POST", "/api/models/ann/one/commit/main", body=body))
    assert people.ask("GET", "/ann/one/resolve/main/f").body == content


def ask_page(people, n):
    """Uploads a file by a form, as a page of this server does."""
    headers = {"Content-Type": "multipart/form-data; boundary=7f", "Origin": people.server.url}
    content = bytes(n - len(form_of([("page", b"")])))
    reply = people.ask("POST", "/ann/one/upload/main", body=form_of([("page", content)]), **headers)
    assert reply.status == 303, reply
    assert people.ask("GET", "/ann/one/resolve/main/page").body == content


@pytest.mark.parametrize("n", [MEMORY - 1, MEMORY, MEMORY + 1, 700_001])
def test_a_body_of_any_length_is_read(people, n):  # noqa: F811
    make(people)
    ask_commit(people, n)
    ask_page(people, n)
    asked = people.ask("POST", "/api/models/ann/one/paths-info/main", body=of_length(n, paths=["f", "none"]))
    assert asked.status == 200 and [e["path"] for e in asked.json()] == ["f"], asked
    form = b"paths=" + b"y" * (n - 14) + b"&paths=f"
    assert len(form) == n
    asked = people.ask("POST", "/api/models/ann/one/paths-info/main", body=form, **FORM)
    assert asked.status == 200 and [e["path"] for e in asked.json()] == ["f"], asked
    asked = people.ask("POST", "/api/models/ann/one/preupload/main", body=of_length(n, files=[{"path": "g", "size": 1, "sample": "eA=="}]))
    assert asked.status == 200 and asked.json()["files"][0]["uploadMode"] == "regular", asked
    body = of_length(n, operation="download", objects=[{"oid": "0" * 64, "size": 1}])
    asked = people.ask("POST", "/ann/one.git/info/lfs/objects/batch", body=body, **{"Content-Type": TYPE, "Accept": TYPE})
    assert asked.status == 200 and asked.json()["objects"][0]["error"]["code"] == 404, asked
    asked = people.ask("POST", "/api/models/ann/one/lfs-files/duplicate", body=of_length(n, target={"type": "model", "name": "ann/one"}, files=[]))
    assert asked.status == 200 and asked.json() == {"failed": []}, asked
    asked = people.ask("POST", "/api/repos/create", body=of_length(n, name="two", files=[{"path": "notes", "content": "z"}]))
    assert asked.status == 200 and people.ask("GET", "/ann/two/resolve/main/notes").body == b"z", asked
    assert people.ask("POST", "/api/validate-yaml", "nobody", of_length(n, content="---\nlicense: mit\n---\n")).json() == {"errors": [], "warnings": []}
    assert people.ask("POST", "/api/buckets/ann/b", body={}).status == 200
    added = {"type": "addFile", "path": "f", "xetHash": "1" * 64}
    asked = people.ask("POST", "/api/buckets/ann/b/batch", body=json.dumps(added).encode() + b"\n" * (n - len(json.dumps(added))))
    assert asked.status == 422 and asked.json()["failed"][0]["path"] == "f", asked
    assert people.ask("POST", "/api/buckets/ann/b/paths-info", body=of_length(n, paths=["f"])).json() == []
    wait_until_gone(people.server)


@pytest.mark.parametrize("n", [MEMORY, MEMORY + 1, 700_001])
def test_a_body_that_does_not_say_how_long_it_is(people, n):  # noqa: F811
    make(people)
    body, content = commit_of(n)
    pieces = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in (body[at : at + 50_000] for at in range(0, n, 50_000)))
    head = f"POST /api/models/ann/one/commit/main HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\nAuthorization: Bearer {people.keys['ann']}\r\n\r\n"
    assert people.server.raw(head.encode() + pieces + b"0\r\n\r\n").startswith(b"HTTP/1.1 200")
    assert people.ask("GET", "/ann/one/resolve/main/f").body == content
    wait_until_gone(people.server)


@pytest.mark.parametrize("store", ["files", "memory"])
def test_long_bodies_wait_in_the_data_folder(start, store):
    """Bodies wait in the data folder, whatever the store is."""
    server = start(store=store)
    for n, files in ((MEMORY, 0), (MEMORY + 1, 1)):
        with begin(server, "POST", "/api/validate-yaml", n) as s:
            body = of_length(n, content="")
            s.sendall(body[:-1])
            cairn.wait_until("it to have come", lambda: server.metrics()["cairn_spool_bytes"] == n - 1)  # noqa: B023
            assert files_of(server) == files
            s.sendall(body[-1:])
            assert s.recv(12) == b"HTTP/1.1 200"
        wait_until_gone(server)


def test_telemetry_of_any_length(start):
    """A message that is too long for a row is refused, or accepted and not kept."""
    server = start()
    for n in (1000, MEMORY, MEMORY + 1):
        assert server.post("/v1/telemetry", of_length(n, event=f"{n}", metrics={})).status == 200
        cairn.is_error(server.post("/v1/telemetry", of_length(n, event="e")), 400, "telemetry.body")
    cairn.wait_until("the row", lambda: [t["body"]["event"] for t in server.get("/v1/telemetry").json()["telemetry"]] == ["1000"])
    wait_until_gone(server)


@pytest.mark.files
def test_a_full_disk_refuses_long_ones(start):
    """Long bodies are refused. Short ones, such as most requests that free space, are accepted."""
    server = start(reserve_bytes="1000G")
    assert server.post("/api/validate-yaml", of_length(MEMORY, content="")).status == 200
    reply = server.post("/api/validate-yaml", of_length(MEMORY + 1, content=""))
    assert reply.status == 507 and reply.json()["code"] == "disk.reserve", reply
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (MEMORY + 1, of_length(MEMORY + 1, content=""))
    told = server.raw(b"POST /api/validate-yaml HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + body)
    assert told.startswith(b"HTTP/1.1 507") and b"disk.reserve" in told, told
    wait_until_gone(server)


def test_they_count_as_the_sender_s(start):
    server = start(spool_bytes_max="80M", spool_share_percent=1, xorb_bytes_max="1M", shard_bytes_max="1M")
    with begin(server, "POST", "/api/validate-yaml", 900_000) as s:
        s.sendall(b" " * 800_000)
        cairn.wait_until("it to have come", lambda: server.metrics()["cairn_spool_bytes"] == 800_000)
        reply = server.post("/api/validate-yaml", of_length(300_000, content=""))
        assert reply.status == 503 and reply.json()["code"] == "spool.share", reply
    wait_until_gone(server)
    assert server.post("/api/validate-yaml", of_length(300_000, content="")).status == 200


@pytest.fixture
def faults(tmp_path):
    """Faults of the files of bodies. The index works as always. If it failed, the daemon would refuse a request before its body."""
    found = Faults(tmp_path / "faults", below="tmp")
    found.server.start()
    yield found
    found.disarm()
    found.server.stop()


@pytest.mark.files
@pytest.mark.parametrize(
    ("calls", "action", "first", "status", "rule"),
    [
        ({"open"}, ENOSPC, 2, 507, "full"),
        ({"open"}, EIO, 2, 500, "io"),
        ({"write"}, ENOSPC, 1, 507, "full"),
        ({"write"}, ENOSPC, 3, 507, "full"),
        ({"write"}, EIO, 3, 500, "io"),
        ({"pread"}, EIO, 1, 500, "io"),
        ({"write"}, EINTR, 2, 200, None),
        ({"write"}, SHORT, 2, 200, None),
    ],
)
def test_a_body_that_cannot_be_written(faults, calls, action, first, status, rule):
    """The disk fails while a body is written. The request is refused, nothing of it is committed, and the same request works afterwards."""
    server = faults.server
    assert server.post("/api/repos/create", b'{"name":"one"}').status == 200
    path, (body, content) = "/api/models/operator/one/commit/main", commit_of(2 * MIB)
    faults.arm(calls, action, first, first if status == 200 else FOR_EVER)
    reply = server.post(path, body)
    assert faults.disarm() > 0
    assert reply.status == status and (rule is None or reply.json()["code"] == rule), reply
    there = server.get("/operator/one/resolve/main/f")
    assert there.status == (200 if status == 200 else 404), there
    wait_until_gone(server)
    assert server.left_overs() == []
    assert server.post(path, body).status == 200
    assert server.get("/operator/one/resolve/main/f").body == content


def cut(server, n_bytes):
    """Truncates the file without a name that has n bytes. @return whether there is one"""
    folder = f"/proc/{server.process.pid}/fd"
    for fd in os.listdir(folder):
        path = f"{folder}/{fd}"
        with contextlib.suppress(FileNotFoundError):
            if os.readlink(path).startswith(f"{server.data}/tmp/") and os.stat(path).st_size == n_bytes:
                os.truncate(path, 100)
                return True
    return False


@pytest.mark.files
@pytest.mark.parametrize(
    ("path", "body", "after"),
    [
        ("/api/models/operator/one/commit/main", commit_of(2 * MIB)[0], 200),
        ("/v1/shards", xet.TAG + bytes(9 * MIB), 400),
    ],
)
def test_a_body_with_a_truncated_file(faults, path, body, after):
    """The daemon cannot read back what it wrote, as on a failing disk. The upload is answered 500, and the daemon goes on."""
    server, replies = faults.server, []
    assert server.post("/api/repos/create", b'{"name":"one"}').status == 200
    faults.arm({"pread", "mmap"}, HOLD, 1, FOR_EVER)
    asking = threading.Thread(target=lambda: replies.append(server.post(path, body)))
    asking.start()
    cairn.wait_until("the body to be read", lambda: faults.fired() and cut(server, len(body)))
    faults.disarm()
    asking.join()
    assert server.process.poll() is None, server.log()[-3000:]
    assert replies[0].status == 500, replies
    assert server.post(path, body).status == after
