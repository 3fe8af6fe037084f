"""Requests to the hub that take more than their share: of memory, of the threads that serve all, of the one writer."""

import contextlib
import json
import socket

import cairn
import lfs
from hub_calls import begin, commit, deleted, done, make, make_key, text, token_of
from rates import cost
from visitors import Visitor, people_of

SAID = {"name": "ann/x", "title": "x", "type": "model", "pullRequest": True, "tag": "t", "fromRepo": "ann/one", "toRepo": "ann/x", "private": True}


def test_a_long_answer_waits_on_the_disk(people):
    """Clients ask for a long answer and do not read it. The answers wait in files, however many there are."""
    make(people)
    done(commit(people, *(text(f"{'a' * 240}/{'b' * 240}/{i:05}{'x' * 200}", "") for i in range(6000))))
    path = "/api/models/ann/one"
    whole = people.ask("GET", path, "nobody")
    assert whole.status == 200 and len(whole.body) > 4_000_000
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(socket.socket()) for _ in range(8)]
        for s in readers:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect(("127.0.0.1", people.server.port))
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        cairn.wait_until("all wait on the disk", lambda: people.server.metrics()["cairn_spool_bytes"] >= 8 * len(whole.body))
        got = b""
        while piece := readers[0].recv(1 << 20):
            got += piece
        assert got.partition(b"\r\n\r\n")[2] == whole.body


def test_requests_without_a_key_are_refused_before_their_body(people):
    """A request that needs a key and has none is refused before its body has come, so it does not wait behind the commits of others."""
    make(people)
    keys = [None] if cairn.STORE or cairn.INDEX else [None, "hf_cairn_" + "A" * 43]  # with a remote index or store, a key is checked only after the body
    for method, path in (
        ("POST", "/api/models/ann/one/commit/main"),
        ("POST", "/api/models/ann/one/preupload/main"),
        ("POST", "/api/repos/create"),
        ("POST", "/api/models/ann/one/lfs-files/duplicate"),
        ("POST", "/api/buckets/ann/b/batch"),
    ):
        for key in keys:
            with begin(people.server, method, path, 2 << 20, key) as s:
                assert s.recv(12) == b"HTTP/1.1 401", (path, key)
    for method, path in (
        ("DELETE", "/api/repos/delete"),
        ("POST", "/api/repos/move"),
        ("PUT", "/api/models/ann/one/settings"),
        ("POST", "/api/models/ann/one/branch/b"),
        ("POST", "/api/models/ann/one/tag/main"),
        ("POST", "/api/models/ann/one/super-squash/main"),
        ("POST", "/api/models/ann/one/discussions"),
        ("POST", "/api/models/ann/one/discussions/1/merge"),
        ("POST", "/api/models/ann/one/discussions/1/status"),
        ("POST", "/api/models/ann/one/duplicate"),
        ("POST", "/api/models/ann/one/lfs-files/batch"),
        ("POST", "/api/buckets/ann/b"),
        ("PUT", "/api/buckets/ann/b/settings"),
    ):
        for key in keys:  # such a short body is read to keep the connection, and not parsed
            with begin(people.server, method, path, 9, key) as s:
                s.sendall(b"not json!")
                assert s.recv(12) == b"HTTP/1.1 401", (path, key)
    assert people.server.metrics()["cairn_spool_bytes"] == 0


def test_forbidden_requests_are_refused_before_their_body(people):
    """A request that this account may not make is refused before megabytes have come. With a remote index or store it is refused after its body."""
    make(people)
    make(people, "ann/hidden", private=True)
    assert people.ask("POST", "/api/buckets/ann/b", body={"private": True}).status == 200
    far = bool(cairn.STORE or cairn.INDEX)
    for path, who, status in (
        ("/api/models/ann/one/commit/main", "bob", 403),
        ("/api/models/ann/one/commit/main", "reading ann", 403),
        ("/api/models/ann/one/preupload/main", "bob", 403),
        ("/api/models/ann/hidden/commit/main", "bob", 404),
        ("/api/buckets/ann/b/batch", "bob", 404),
        ("/api/models/ann/hidden/paths-info/main", "nobody", 401),
        ("/api/buckets/ann/b/paths-info", "bob", 404),
    ):
        if not far:
            with begin(people.server, "POST", path, 2 << 20, people.keys[who]) as s:
                assert s.recv(12) == b"HTTP/1.1 %d" % status, (path, who)
        assert people.ask("POST", path, who, {}).status == status


def test_the_form_for_files_takes_no_body_from_others(people):
    make(people)
    ann, bob = (Visitor(people.server).sign_in(people.keys[who]) for who in ("ann", "bob"))

    def reply(visitor, origin, path="/ann/one/upload/main"):
        head = f"POST {path} HTTP/1.1\r\nHost: localhost:{people.server.port}\r\nContent-Length: {8 << 20}\r\nOrigin: {origin}\r\n"
        head += f"Cookie: cairn_session={visitor.session}\r\n" if visitor else ""
        with people.server.socket() as s:
            s.sendall(head.encode() + b"Content-Type: multipart/form-data; boundary=x\r\n\r\n")
            return s.recv(12)[9:]

    own = f"http://localhost:{people.server.port}"
    assert reply(ann, "http://other.example") == b"403"
    assert reply(None, own) in (b"404", b"401", b"403")
    if not (cairn.STORE or cairn.INDEX):
        assert reply(bob, own) == b"403"
    assert reply(None, own, "/ann/none/upload/main") == reply(None, own)


def test_few_values_are_kept_while_a_request_waits(people):
    """A parsed JSON value takes a hundred times the memory of its text. So a body with very many values is refused."""
    make(people)
    body = json.dumps(SAID | {"z": [{}] * 15_000}, separators=(",", ":")).encode()
    for method, path in (
        ("DELETE", "/api/repos/delete"),
        ("POST", "/api/repos/move"),
        ("PUT", "/api/models/ann/one/settings"),
        ("POST", "/api/models/ann/one/branch/x"),
        ("POST", "/api/models/ann/one/tag/main"),
        ("POST", "/api/models/ann/one/discussions"),
    ):
        assert people.ask(method, path, body=body).status == 400, path
    for method, path in (("POST", "/api/models/ann/one/tag/main"), ("PUT", "/api/models/ann/one/settings")):
        assert people.ask(method, path, body=SAID | {"z": [{}] * 50}).status == 200, path


def test_one_long_card_holds_up_nobody(people):
    """A worker checks the card, and reads no more entries of a list than anybody would write."""
    body = json.dumps({"content": "---\nlicense:\n" + "- other\n" * (4_000_000 // 10)}).encode()
    before_s, _ = cost(people.server)
    assert people.server.post("/api/validate-yaml", body).status == 200
    after_s, _ = cost(people.server)
    assert cairn.in_time(after_s - before_s, 0.4)


def test_a_commit_with_too_many_lookups_is_refused_soon(people):
    """Each deletion of a folder reads the rows of those before it. Too much of that is refused, after little processor time."""
    make(people)
    again = [line for i in range(2000) for line in (text(f"e/{i}", ""), deleted("e", "deletedFolder"))]
    before_s, _ = cost(people.server)
    reply = commit(people, *again)
    after_s, _ = cost(people.server)
    assert reply.status == 413 and cairn.in_time(after_s - before_s, 1.5), reply


def counted(ask, n=300):
    """Counts how many of n requests, sent one after the other, pass the rate limit."""
    return [ask().status for _ in range(n)].count(200)


def test_the_hub_counts_requests_by_account(start, issuer, tmp_path):
    """All keys of an account share one budget, counted once a key was found valid. Requests with an invalid key count for their address."""
    people = people_of(start, issuer, tmp_path / "home", rate_per_token=10, rate_burst="10s")
    make(people)
    keys = [make_key(people.server, issuer.token("admin"), account="bob", scope="read")["key"] for _ in range(2)]
    assert 90 <= counted(lambda: people.server.get("/api/whoami-v2", token=keys[0])) < 200
    assert people.server.get("/api/whoami-v2", token=keys[1]).status == 200, "the first request of a key counts for the address, because its account is not known yet"
    assert counted(lambda: people.server.get("/api/whoami-v2", token=keys[1])) < 100
    assert people.server.get("/api/models/ann/one").status == 200
    tokens = [token_of(people.server.get("/api/models/ann/one/xet-read-token/main")) for _ in range(60)]
    asked = iter(tokens * 5)
    statuses = [people.server.get(f"/v1/chunks/default/{'12' * 32}", token=next(asked)).status for _ in range(300)]
    assert 429 in statuses, "a new token has no budget of its own"


def test_sessions_and_signed_addresses_count_for_their_account(start, issuer, tmp_path):
    """All sessions of an account share one budget, and so do the Git LFS addresses that it got."""
    people = people_of(start, issuer, tmp_path / "home", rate_per_token=10, rate_burst="10s")
    make(people)
    bob, other = (Visitor(people.server).sign_in(people.keys["bob"]) for _ in range(2))
    assert 90 <= counted(lambda: bob.get("/settings/keys")) < 200
    assert other.get("/settings/keys").status == 200, "the first request of a session counts for the address, because its account is not known yet"
    assert counted(lambda: other.get("/settings/keys")) < 100
    assert Visitor(people.server).get("/ann/one").status == 200
    lfs.put(people, "ann/one", b"object")
    address = lfs.place(people, lfs.batch(people, "ann/one", "download", b"object"))
    assert counted(lambda: people.server.get(address)) < 200
    open_one = lfs.place(people, lfs.batch(people, "ann/one", "download", b"object", who="nobody"))
    assert counted(lambda: people.server.get(open_one)) == 300
    assert people.server.get(open_one.replace("by=k0", "by=u1")).status == 403


def test_a_user_named_by_a_proxy_counts_for_the_account(start, issuer, tmp_path):
    people = people_of(start, issuer, tmp_path / "home", rate_per_token=10, rate_burst="10s", hub_user_header="X-User", hub_trusted_proxies="127.0.0.1")
    make(people)
    assert 90 <= counted(lambda: Visitor(people.server, **{"X-User": "bob"}).get("/settings/keys")) < 200
    assert Visitor(people.server).get("/ann/one").status == 200
