"""Files of the mirrored hub that nobody has read for long make room for others (mirror_bytes_max)."""

import concurrent.futures
import contextlib
import hashlib
import json
import os

import cairn
import ledger
import plans
import pytest
import xet
from hub_calls import make_key
from test_mirror_operate import EXIT_DATA, EXIT_NO_INPUT, EXIT_USAGE, mirror
from upstream import Hub, Repo, Slow, answer

MB = 1 << 20
DAY_S = 86400
SIZES = {"old": 3 * MB, "used": 3 * MB, "new": 3 * MB, "more": 3 * MB // 2, "large": 2 * MB}
FILES = {f"{name}.bin": os.urandom(size) for name, size in SIZES.items()}


def hub():
    return Hub({"far/model": Repo({**FILES, "config.json": b"{}"}, stored=set(FILES))})


def fetch(server, name):
    return server.get(f"/far/model/resolve/main/{name}.bin")


def is_here(server, name):
    return server.request("HEAD", f"/far/model/resolve/main/{name}.bin").headers["X-Cairn-Mirror"] == "here"


def here(server):
    return [name for name in SIZES if is_here(server, name)]


def wait_until_bytes(server, least, most):
    cairn.wait_until("the bytes that are here", lambda: least <= server.metrics().get("cairn_mirror_bytes", 0) <= most)


@pytest.mark.skipif(cairn.DAEMONS, reason="each daemon evicts by its own clock")
def test_files_that_nobody_read_for_long_make_room(start, clock):
    with hub() as upstream:
        server = start(mirror=upstream.url, mirror_bytes_max="11M", test_clock=clock.path)
        for name in ("old", "used", "new"):
            assert fetch(server, name).body == FILES[f"{name}.bin"]
        clock.move(3 * DAY_S)
        assert is_here(server, "used") and fetch(server, "new").status == 200
        assert fetch(server, "more").status == 200
        wait_until_bytes(server, 7 * MB, 8 * MB)
        assert server.metrics()["cairn_mirror_evicted_bytes_total"] == 3 * MB
        assert server.metrics()['cairn_mirror_files{state="here"}'] == 3
        assert here(server) == ["used", "new", "more"]
        cairn.wait_until("the eviction in the log", lambda: '"event":"mirror_evict"' in server.log())
        assert fetch(server, "old").body == FILES["old.bin"] and len(upstream.paths("old.bin")) == 2
        wait_until_bytes(server, 10 * MB, 11 * MB)  # nothing may be evicted: all files were read today
        refused = fetch(server, "large")
        assert refused.status == 507 and refused.json()["code"] == "mirror.room" and str(2 * MB) in refused.json()["error"]
        assert not upstream.paths("large.bin") and server.metrics()['cairn_mirror_failures_total{why="room"}'] == 1
        assert b"Failed: the mirror holds as much as it may" in server.get("/admin").body
        assert server.get("/far/model/resolve/main/config.json").body == b"{}"


def room_refused(server, **headers):
    reply = server.request("GET", "/far/model/resolve/main/large.bin", headers=headers)
    assert reply.status == 507, reply
    return reply.json()["error"]


@pytest.mark.parametrize("settings, limit", [({"mirror_bytes_max": "1M"}, "mirror_bytes_max"), ({"reserve_bytes": "1000G"}, "reserve_bytes")])
def test_a_refusal_names_the_limit_to_operators(start, issuer, settings, limit):
    """The refusal names the limit, the room and the length of the file. Others learn neither limit nor room."""
    with hub() as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder, **settings)
        operator = make_key(server, issuer.token("admin"), scope="read")["key"]
        assert server.get("/far/model/resolve/main/config.json").status == 200
        metrics = lambda: server.request("GET", "/metrics", token=issuer.token("admin")).body.splitlines()
        cairn.wait_until("the room", lambda: any(line.startswith(b"cairn_mirror_bytes ") and line != b"cairn_mirror_bytes 0" for line in metrics()))
        text = room_refused(server, Authorization=f"Bearer {operator}")
        assert [name for name in ("mirror_bytes_max", "reserve_bytes") if name in text] == [limit] and str(2 * MB) in text, text
        text = room_refused(server)
        assert "no room" in text and not any(c.isdigit() for c in text) and "_bytes" not in text, text


@pytest.mark.skipif(cairn.DAEMONS, reason="each daemon evicts by its own clock")
def test_a_file_that_came_today_stays(start, clock):
    with hub() as upstream:
        server = start(mirror=upstream.url, mirror_bytes_max="1650K", test_clock=clock.path)
        assert fetch(server, "more").status == 200
        wait_until_bytes(server, MB, 2 * MB)
        assert is_here(server, "more")  # this file was fetched today
        clock.move(3 * DAY_S)
        wait_until_bytes(server, 1, MB)
        assert not is_here(server, "more") and server.metrics()["cairn_mirror_evicted_bytes_total"] == SIZES["more"]


def await_look(server):
    """Waits until the daemon has measured the free space."""
    assert server.get("/far/model/resolve/main/config.json").status == 200
    wait_until_bytes(server, 1, 100 * MB)


def test_room_is_given_out_once(start):
    """Bytes that fetches under way have yet to bring are not free for others, and neither are bytes fetched since space was last measured.
    Bytes that did not come are free again."""
    go = []
    with hub() as upstream:
        server = start(mirror=upstream.url, mirror_bytes_max="6200K")
        await_look(server)
        for name in ("old", "used"):
            upstream.instead[f"/{name}.bin"] = lambda connection, name=name: (cairn.wait_until("the test", lambda: go), connection.sendall(answer(200, FILES[f"{name}.bin"] if name == "old" else b"")))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            asked = [pool.submit(fetch, server, name) for name in ("old", "used")]
            cairn.wait_until("two requests", lambda: upstream.paths("/old.bin") and upstream.paths("/used.bin"))
            assert fetch(server, "new").json()["code"] == "mirror.room"
            go.append(True)
            assert [one.result().status for one in asked] == [200, 502]
        assert fetch(server, "new").body == FILES["new.bin"]  # at once, although there was no space a moment ago
        assert fetch(server, "more").json()["code"] == "mirror.room"
        wait_until_bytes(server, 6 * MB, 6200 << 10)
        assert fetch(server, "more").json()["code"] == "mirror.room"


def commit(upstream, server, path, content, sha):
    """Makes the next commit of the mirrored repository, and lets the server look at it."""
    repo = upstream.repos["far/model"]
    repo.files[path], repo.sha = content, sha
    repo.stored.add(path)
    assert server.post("/v1/mirror/repositories/models/far/model/refresh", b"").status == 200


@pytest.mark.skipif(cairn.DAEMONS, reason="each daemon evicts by its own clock")
def test_files_make_room_for_one_that_does_not_fit(start, clock):
    """Files are evicted for one that does not fit, even if less than 90 % of the space is used."""
    with hub() as upstream:
        server = start(mirror=upstream.url, mirror_bytes_max="11M", test_clock=clock.path)
        for name in ("old", "used", "new"):
            assert fetch(server, name).status == 200
        wait_until_bytes(server, 9 * MB, 10 * MB)
        clock.move(3 * DAY_S)
        for name in ("used", "new"):
            assert is_here(server, name)
        commit(upstream, server, "huge.bin", bytes(12 * MB), "f" * 40)
        assert fetch(server, "huge").json()["code"] == "mirror.room"  # it never fits, so nothing is evicted for it
        large = os.urandom(3 * MB)
        commit(upstream, server, "large.bin", large, "e" * 40)
        assert fetch(server, "large").json()["code"] == "mirror.room"
        wait_until_bytes(server, 6 * MB, 7 * MB)
        assert fetch(server, "large").body == large
        assert here(server) == ["used", "new", "large"]


def xorb_of(server, name):
    """Returns the only xorb of a file, from what a client that reads the file gets."""
    data = FILES[f"{name}.bin"]
    (file,) = server.get(f"/v1/info/{xet.text(xet.raw(hashlib.sha256(data).hexdigest()))}").json()["of_sha256"]
    return mirrored_xorb(server, file["hash"], data)


def mirrored_xorb(server, file, data):
    (fetch,) = next(iter(server.get(f"/v1/reconstructions/{file}").json()["fetch_info"].values()))
    body = server.get(plans.path_of(fetch["url"])).body
    chunks, at = [], 0
    while sum(map(len, chunks)) < len(data):
        first = sum(map(len, chunks))
        chunks.append(data[first : first + int.from_bytes(body[at + 5 : at + 8], "little")])
        at += 8 + int.from_bytes(body[at + 1 : at + 4], "little")
    return xet.Xorb(chunks)


def offered(server, xorbs):
    """Returns the names of the xorbs that are offered, by any way in which a client may ask."""
    by_chunk = [name for name, x in xorbs.items() if server.get(f"/v1/chunks/default/{xet.text(x.nodes[0][0])}").status == 200]
    by_hash = [name for name, x in xorbs.items() if server.request("HEAD", x.path()).status == 200]
    by_info = [name for name, x in xorbs.items() if not server.get(f"/v1/info/{xet.text(x.hash)}").json()["xorb"]["withdrawn"]]
    return by_chunk if by_chunk == by_hash == by_info else None


@pytest.mark.skipif(cairn.DAEMONS, reason="each daemon evicts by its own clock")
def test_bytes_leave_the_disk_soon(start, clock):
    """With the usual epoch: a xorb that no client may rely on any more is removed a day after its file was evicted."""
    with hub() as upstream:
        server = start(mirror=upstream.url, gc_schedule="off", test_clock=clock.path, variables={"CAIRN_MIRROR_BYTES_MAX": "20M"})
        for name in ("old", "used", "new"):
            assert fetch(server, name).status == 200
        xorbs = {name: xorb_of(server, name) for name in ("old", "used", "new")}
        assert offered(server, xorbs) == ["old", "used", "new"]
        server.stop()
        server.variables["CAIRN_MIRROR_BYTES_MAX"] = "11M"
        server.start()
        clock.move(8 * DAY_S)
        cairn.wait_until("those that go first are withdrawn", lambda: offered(server, xorbs) == ["used"])

        assert is_here(server, "old")
        clock.move(8 * DAY_S + 2 * 3600)
        cairn.wait_until("what was read since is offered again", lambda: offered(server, xorbs) == ["old"])
        held = xet.File([(xorbs["used"], 1, 3)])  # a client has an answer from before
        assert server.post("/v1/shards", xet.shard([held], [])).json() == {"result": 1}
        assert offered(server, xorbs) == ["old", "used"]

        clock.move(23 * DAY_S)
        assert fetch(server, "more").status == 200
        cairn.wait_until("the eviction", lambda: server.metrics()["cairn_mirror_evicted_bytes_total"] == 3 * MB)
        assert server.post("/v1/gc").json()["swept"] == 0  # a plan may still name it
        clock.move(23 * DAY_S + 2 * 3600)
        gc = server.post("/v1/gc").json()
        assert (gc["retired"], gc["swept"]) == (0, 1) and gc["bytes_freed"] >= 3 * MB
        assert ledger.read(server, held)
        assert here(server) == ["old", "used", "more"]
        assert fetch(server, "new").body == FILES["new.bin"]


@pytest.mark.skipif(cairn.DAEMONS, reason="each daemon evicts by its own clock")
def test_half_of_the_mirror_is_offered(start):
    """A file that would make more than half of the limit stay for gc_grace is never offered. The mirror itself uses its chunks, and an upload may name them."""
    with hub() as upstream:
        server = start(mirror=upstream.url, mirror_bytes_max="11M")
        await_look(server)
        for name in ("old", "used"):
            assert fetch(server, name).body == FILES[f"{name}.bin"]
        xorbs = {name: xorb_of(server, name) for name in ("old", "used")}
        assert offered(server, xorbs) == ["old"]
        cairn.wait_until("the figures", lambda: server.metrics()["cairn_mirror_withdrawn_bytes"] > 3 * MB)
        assert 3 * MB <= server.metrics()["cairn_mirror_offered_bytes"] < 4 * MB

        stored = server.metrics()["cairn_store_bytes"]
        commit(upstream, server, "next.bin", FILES["used.bin"] + os.urandom(MB // 2), "e" * 40)
        assert fetch(server, "next").status == 200
        assert server.metrics()["cairn_store_bytes"] < stored + MB
        assert offered(server, xorbs) == ["old"]
        held = xet.File([(xorbs["used"], 1, 3)])
        assert server.post("/v1/shards", xet.shard([held], [])).json() == {"result": 1}
        assert offered(server, xorbs) == ["old", "used"]


@pytest.mark.skipif(cairn.DAEMONS, reason="each daemon evicts by its own clock")
def test_a_small_disk_needs_no_shorter_epoch(start, clock):
    """The mirror reads three times its limit, for longer than gc_grace and half of it, without a collection by the schedule. What is on the disk stays below the
    limit, half of it for what somebody was offered, the file that was evicted last, and an upload that relies on an offer. The upload keeps the bytes."""
    limit, size, days, n = 2 * MB, 900_000, 4, 8
    contents = [os.urandom(size) for _ in range(n)]
    with Hub({f"far/model{i}": Repo({"model.bin": content}, stored={"model.bin"}) for i, content in enumerate(contents)}) as upstream:
        server = start(mirror=upstream.url, mirror_bytes_max="2M", gc_schedule="1000d", test_clock=clock.path)
        most, tuned = limit + limit // 2 + 2 * size + MB // 2, None
        for i, content in enumerate(contents):
            clock.move(i * days * DAY_S)
            path = f"/far/model{i}/resolve/main/model.bin"
            cairn.wait_until("room", lambda path=path: server.request("HEAD", path).status == 200 and server.get(path).status == 200)
            assert server.get(path).body == content
            cairn.wait_until("the bytes of evicted files to go", lambda: server.metrics()["cairn_store_bytes"] < most)
            if tuned is None:
                tuned = tuned_of(server, content)
        assert server.metrics()["cairn_mirror_evicted_bytes_total"] >= 2 * limit
        assert ledger.read(server, tuned)
        assert server.get("/far/model0/resolve/main/model.bin").status in (200, 507)


@pytest.mark.skipif(cairn.DAEMONS, reason="each daemon evicts by its own clock")
def test_a_restart_forgets_no_sweep(start, clock):
    """The daemon stops between an eviction and the time when its bytes may go. They go after the restart, without a collection by the schedule."""
    size = 600_000
    contents = [os.urandom(size) for _ in range(2)]
    with Hub({f"far/model{i}": Repo({"model.bin": content}, stored={"model.bin"}) for i, content in enumerate(contents)}) as upstream:
        server = start(mirror=upstream.url, mirror_bytes_max="1M", gc_schedule="1000d", test_clock=clock.path)
        for i in range(2):
            clock.move(2 * i * DAY_S)
            cairn.wait_until("room", lambda i=i: server.get(f"/far/model{i}/resolve/main/model.bin").status == 200)
        assert server.metrics()["cairn_store_bytes"] >= 2 * size
        server.stop()
        server.start()
        wait_until_bytes(server, size, 2 * size - 1)
        clock.move(2 * DAY_S + 2 * 3600)
        cairn.wait_until("the bytes of the evicted file to go", lambda: server.metrics()["cairn_store_bytes"] < 2 * size)


def tuned_of(server, content):
    """Uploads a file that needs chunks of a mirrored one, which are offered, and has others. @return it"""
    (file,) = server.get(f"/v1/info/{xet.text(xet.raw(hashlib.sha256(content).hexdigest()))}").json()["of_sha256"]
    base, own = mirrored_xorb(server, file["hash"], content), xet.Xorb([os.urandom(100_000) for _ in range(3)])
    assert server.get(f"/v1/chunks/default/{xet.text(base.nodes[0][0])}").status == 200
    assert server.post(own.path(), own.body()).status == 200
    tuned = xet.File([(base, 0, 2), (own, 0, 3)])
    assert server.post("/v1/shards", xet.shard([tuned], [own])).json() == {"result": 1}
    return tuned


@pytest.mark.sqlite
def test_parts_that_nobody_goes_on_from_make_room(start, clock):
    """Parts of a file whose fetch nobody has resumed for a day are evicted before any file."""
    weights, other = os.urandom(60 * MB), os.urandom(50 * MB)
    path = "/far/model/resolve/main/{}.bin"
    with Slow(weights, come=40 * MB) as upstream:
        upstream.repos["far/model"].files["other.bin"] = other
        upstream.repos["far/model"].stored.add("other.bin")
        server = start(mirror=upstream.url, mirror_bytes_max="66M", mirror_spool_max="64M", test_clock=clock.path, drain="1s")
        with contextlib.closing(server.connect()) as connection:
            connection.request("GET", path.format("weights"))
            assert connection.getresponse().read(MB) == weights[:MB]
            held = lambda: cairn.look(server.data, "SELECT count(*) FROM mirror_part")
            cairn.wait_until("two parts", lambda: held() >= 2)
        server.stop()
        server.start()
        wait_until_bytes(server, 16 * MB, 66 * MB)
        assert server.get(path.format("other")).json()["code"] == "mirror.room"
        clock.move(2 * DAY_S)
        cairn.wait_until("room", lambda: server.get(path.format("other")).status in (200, 429) and held() == 0)
        cairn.wait_until("the file", lambda: server.get(path.format("other")).body == other)


def test_the_operator_evicts_a_repository(start):
    with Hub({name: Repo({**FILES, "config.json": b"{}"}, stored=set(FILES)) for name in ("far/model", "far/other")}) as upstream:
        server = start(mirror=upstream.url)
        for name in ("old", "used"):
            assert fetch(server, name).status == 200
        assert server.get("/far/other/resolve/main/new.bin").status == 200
        assert mirror(server, "prune", "far/model") == "evicted 2 files, 6.0 MiB\n"
        assert here(server) == []
        assert server.get("/far/other/resolve/main/new.bin").headers["X-Cairn-Mirror"] == "here"
        assert json.loads(mirror(server, "prune", "FAR/model", "--json")) == {"evicted": 0, "bytes": 0}
        assert [(line["repo"], line["files"], line["bytes"]) for line in server.events("mirror_prune")] == [("models/far/model", 2, 6 * MB)]
        assert fetch(server, "old").body == FILES["old.bin"] and len(upstream.paths("far/model/resolve/")) == 3
        assert server.metrics()["cairn_mirror_evicted_bytes_total"] == 6 * MB


def test_the_operator_evicts_down_to_a_size(start, clock):
    with hub() as upstream:
        server = start(mirror=upstream.url, test_clock=clock.path)
        for name in ("old", "used", "new"):
            assert fetch(server, name).status == 200
        clock.move(3 * DAY_S)
        assert is_here(server, "used") and is_here(server, "new")
        cairn.wait_until("the days of reads to be written", lambda: cairn.look(server.data, "SELECT count(*) FROM mirror_file WHERE used > (SELECT min(used) FROM mirror_file)") == 2)
        assert mirror(server, "prune", "--to", "7M") == "evicted 1 file, 3.0 MiB\n"
        assert here(server) == ["used", "new"]
        assert json.loads(mirror(server, "prune", "--to", "1T", "--json"))["evicted"] == 0
        assert "are left: kept files" in mirror(server, "prune", "--to", "0", code=EXIT_DATA)
        assert here(server) == []


def test_what_is_kept_is_not_evicted(start, clock):
    with hub() as upstream:
        server = start(mirror=upstream.url, mirror_bytes_max="10M", test_clock=clock.path)
        assert mirror(server, "add", "far/model", "--include", "new.bin", "--include", "old.bin", "--include", "used.bin", "--keep")
        clock.move(3 * DAY_S)
        assert "mirror.kept" in mirror(server, "prune", "far/model", code=EXIT_DATA)
        assert "are left: kept files" in mirror(server, "prune", "--to", "1M", code=EXIT_DATA)
        wait_until_bytes(server, 9 * MB, 10 * MB)
        assert here(server) == ["old", "used", "new"] and "mirror_evict" not in server.log()
        assert mirror(server, "add", "far/model", "--include", "new.bin")
        assert mirror(server, "prune", "far/model") == "evicted 3 files, 9.0 MiB\n"


def test_nothing_else_is_evicted(start):
    server = start()
    assert "repo.unknown" in mirror(server, "prune", "far/model", code=EXIT_NO_INPUT)
    for arguments in (["prune"], ["prune", "far"], ["prune", "far/model", "--to", "1"], ["prune", "--to", "x"], ["list", "--to", "1"]):
        mirror(server, *arguments, code=EXIT_USAGE)
    assert mirror(server, "prune", "--to", "0") == "evicted 0 files, 0 bytes\n"
    for argument in ("", "?to=", "?to=x"):
        assert cairn.is_error(server.post(f"/v1/mirror/prune{argument}"), 400, "mirror.argument")
