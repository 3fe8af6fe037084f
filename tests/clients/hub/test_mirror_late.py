"""Lookups that end late, names of this server, and the space for long files: cases that once went wrong in the
mirror."""

import concurrent.futures
import contextlib
import json
import os

import cairn
from upstream import SHA, Hub, Repo, Slow, answer

MB = 1 << 20
REFRESH = "/v1/mirror/repositories/models/{}/refresh"


def closed_before_the_answer(server, upstream, name, token):
    """Looks up another revision of a repository, and closes it by a lookup of main before the answer comes. @return whether the daemon still waited for
    the answer, as it does for 5 s"""
    go = []
    upstream.repos[name] = Repo({"a.txt": b"open"})
    assert server.get(f"/api/models/{name}").status == 200
    late = answer(200, json.dumps({"id": name, "sha": SHA, "private": False, "gated": False}).encode())
    upstream.instead[f"/{name}/revision/v1"] = lambda connection: (cairn.wait_until("the test", lambda: go), connection.sendall(late))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(server.get, f"/api/models/{name}/revision/v1")
        cairn.wait_until("the look", lambda: upstream.paths(f"/{name}/revision/v1"))
        upstream.repos[name].info["gated"] = "manual"
        assert server.post(REFRESH.format(name), b"", token=token).status == 200
        go.append(True)
        return asked.result().status == 200


def test_a_late_answer_opens_no_gate(start, issuer):
    """While an answer about another revision was on its way, a lookup of main closed the repository. The late answer
    must not open it again."""
    with Hub({}) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        names = (f"far/open{n}" for n in range(5))  # on a busy machine an answer may come too late for the daemon
        name = next(name for name in names if closed_before_the_answer(server, upstream, name, issuer.token("admin")))
        assert server.get(f"/api/models/{name}").json()["gated"] == "manual"
        assert server.get(f"/{name}/resolve/main/a.txt").headers["X-Error-Code"] == "GatedRepo" and not upstream.paths("/resolve/")


def test_the_mirrored_hub_is_not_asked_for_names_of_this_server(start):
    with Hub({"house/model": Repo({"a.txt": b"theirs"})}) as upstream:
        server = start(mirror=upstream.url)
        assert server.post("/v1/accounts", b'{"kind":"organisation","name":"house"}').status == 200
        for name in ("house/model", "HOUSE/model", "house/none"):
            reply = server.post(REFRESH.format(name), b"")
            assert reply.status == 404, (name, reply)
        assert not upstream.asked


def test_a_long_file_takes_room_for_what_lacks(start):
    """A file that continues from its parts needs space only for the rest. A file that others have begun needs none."""
    weights = os.urandom(60 * MB)
    path = "/far/model/resolve/main/weights.bin"
    with Slow(weights, come=40 * MB) as upstream:
        server = start(mirror=upstream.url, mirror_bytes_max="66M", mirror_spool_max="64M", drain="1s")
        with contextlib.closing(server.connect()) as connection, contextlib.closing(server.connect()) as other:
            for one in (connection, other):
                one.request("GET", path)
                assert one.getresponse().read(MB) == weights[:MB]
            cairn.wait_until("two parts", lambda: server.metrics().get("cairn_mirror_bytes", 0) > 20 * MB)
        server.stop()
        server.start()
        cairn.wait_until("a look at the room", lambda: server.metrics().get("cairn_mirror_bytes", 0) > 20 * MB)
        upstream.comes_to(len(weights))
        replies = []
        cairn.wait_until("the file", lambda: replies.append(server.get(path)) or replies[-1].status != 429, 60)
        assert replies[-1].body == weights, replies[-1].status
