"""API keys, and the tokens that the hub endpoints give for them."""

import base64
import contextlib
import json
import re
import signal
import sqlite3
import time

import cairn
import jwt
import pytest
import xet
from hub_calls import READ, WRITE, ask, make_key, token_of
from plain_calls import read, seen, upload


def test_key_is_told_once(guarded, admin):
    made = make_key(guarded, admin, name="laptop", repo="alice/one", scope="read write")
    assert re.fullmatch("hf_[A-Za-z0-9]{49}", made["key"]), "@huggingface/hub and llama.cpp send only keys of this form"
    assert {k: made[k] for k in ("name", "repo", "scope")} == {"name": "laptop", "repo": "models/alice/one", "scope": "read write"}
    make_key(guarded, admin, name="laptop")
    listed = guarded.get("/v1/keys", token=admin)
    assert made["key"] not in listed.body.decode()
    first, second = listed.json()["keys"]
    assert first["id"] == made["id"] and first["name"] == "laptop" and first["revoked"] is False
    assert abs(first["created"] - time.time()) < 300
    assert (second["repo"], second["scope"]) == ("", "read")
    guarded.stop()
    held = b"".join(p.read_bytes() for p in guarded.data.rglob("*") if p.is_file())
    secret = made["key"].removeprefix("hf_")
    assert secret.encode() not in held, "only the digest of a key is kept"
    assert secret not in guarded.log()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"name"',
        b"{}",
        b'{"name":""}',
        b'{"name":1}',
        b'{"name":"x","repo":"x"}',
        b'{"name":"x","repo":"a/b/c"}',
        b'{"name":"x","repo":7}',
        b'{"name":"x","repo":""}',
        b'{"name":"x","repo":null}',
        b'{"name":"x","account":null}',
        b'{"name":"x","scope":""}',
        b'{"name":"x","scope":"delete"}',
        b'{"name":"x","scope":"read delete"}',
        b'{"name":"x","scope":["read"]}',
        b'{"name":"\xff"}',
        json.dumps({"name": "x" * 256}).encode(),
    ],
    ids=lambda b: b[:24].decode(errors="replace"),
)
def test_bad_orders_of_keys(guarded, admin, body):
    cairn.is_error(guarded.post("/v1/keys", body, token=admin), 400, "key.body")
    assert guarded.get("/v1/keys", token=admin).json()["keys"] == []


def test_limits_of_keys(guarded, admin):
    assert make_key(guarded, admin, name="x" * 255)["name"] == "x" * 255
    assert make_key(guarded, admin, name='"\\\u00e4\n')["name"] == '"\\\u00e4\n'
    assert guarded.get("/v1/keys", token=admin).json()["keys"][1]["name"] == '"\\\u00e4\n'
    body = json.dumps({"name": "x"}).encode()
    assert guarded.post("/v1/keys", body + b" " * (4096 - len(body)), token=admin).status == 200
    assert guarded.post("/v1/keys", body + b" " * (4097 - len(body)), token=admin).status == 413


@pytest.mark.sqlite
def test_many_keys(start, issuer, admin):
    """More keys than fit into the memory of one answer."""
    server = start(token_key=issuer.folder)
    server.stop()
    with contextlib.closing(sqlite3.connect(server.data / "index.sqlite")) as index, index:
        rows = [(n.to_bytes(32, "big"), f"{n} " + "x" * 240) for n in range(14_000)]
        index.executemany("INSERT INTO api_key(digest, name, repo, scopes, created) VALUES (?, ?, '', 'read', 0)", rows)
    server.start()
    reply = server.get("/v1/keys", token=admin)
    assert len(reply.body) > 4 << 20 and reply.headers["Cache-Control"] == "no-store"
    assert [k["name"] for k in reply.json()["keys"]] == [name for _, name in rows]


def test_a_revoked_key_ends_its_tokens(guarded, admin):
    """The tokens of a revoked key are refused at once, also after a restart. Other tokens are not."""
    made, other = make_key(guarded, admin), make_key(guarded, admin)
    path = f"/v1/files/{'12' * 32}"
    token, kept = token_of(ask(guarded, made["key"])), token_of(ask(guarded, other["key"]))
    assert jwt.decode(token, options={"verify_signature": False})["cairn_key"] == made["id"]
    assert guarded.request("HEAD", path, token=token).status == 404
    assert guarded.request("DELETE", f"/v1/keys/{made['id']}", token=admin).json() == {"revoked": True}
    cairn.is_error(guarded.get(path.replace("files", "reconstructions"), token=token), 401, "token.revoked")
    assert guarded.request("HEAD", path, token=kept).status == 404
    guarded.stop()
    guarded.start()
    assert guarded.request("HEAD", path, token=token).status == 401
    assert guarded.request("HEAD", path, token=kept).status == 404


def test_tokens_of_a_key_share_its_rate(start, issuer, admin):
    server = start(token_key=issuer.folder, rate_per_token=1, rate_burst="40s", token_ttl="1h")  # asking for 30 tokens counts, too
    made, other = make_key(server, admin), make_key(server, admin)
    tokens = {token_of(ask(server, made["key"], repo=f"models/alice/{n}")) for n in range(30)}
    assert len(tokens) == 30
    path = f"/v1/chunks/default/{'12' * 32}"
    asked = [server.get(path, token=token).status for token in tokens]
    assert asked[:10] == [404] * 10 and asked.count(429) > 10, "more tokens do not allow more requests"
    assert server.get(path, token=token_of(ask(server, other["key"]))).status == 404


def test_tokens_are_for_the_service_and_of_its_issuer(start, issuer, admin):
    server = start(token_key=issuer.folder, token_audience="https://cas.example", token_issuer="hub")
    bound = {"aud": ["other", "https://cas.example"], "iss": "hub"}
    path = f"/v1/chunks/default/{'12' * 32}"
    assert server.get(path, token=issuer.token("read", **bound)).status == 404
    cairn.is_error(server.get(path, token=issuer.token("read")), 401, "token.audience")
    cairn.is_error(server.get(path, token=issuer.token("read", **bound | {"aud": "other"})), 401, "token.audience")
    other = server.get(path, token=issuer.token("read", **bound | {"iss": "another"}))
    cairn.is_error(other, 401, "token.issuer")
    assert b'"hub"' in other.body and b'"another"' in other.body, other  # both issuers are named
    made = make_key(server, issuer.token("admin", **bound))
    token = token_of(ask(server, made["key"]))
    assert server.get(path, token=token).status == 404
    claims = jwt.decode(token, options={"verify_signature": False})
    assert (claims["aud"], claims["iss"]) == ("https://cas.example", "hub")
    server.stop()
    assert not server.events("tokens_not_bound")


@pytest.mark.parametrize("settings, missing", [
    ({}, "token_audience token_issuer"),
    ({"token_issuer": "hub"}, "token_audience"),
    ({"token_audience": "any"}, "token_issuer"),
])
def test_a_missing_audience_or_issuer_is_logged(start, issuer, settings, missing):
    """A service without an audience accepts no token that names one. Its log warns which of audience and issuer it does not check."""
    server = start(token_key=issuer.folder, **settings)
    path = f"/v1/chunks/default/{'12' * 32}"
    token = issuer.token("read", iss="hub")
    assert server.get(path, token=token).status == 404
    foreign = server.get(path, token=issuer.token("read", iss="hub", aud="https://other.example"))
    if "token_audience" in settings:
        assert foreign.status == 404
    else:
        cairn.is_error(foreign, 401, "token.audience")
    server.stop()
    [told] = server.events("tokens_not_bound")
    assert told["level"] == "warning" and told["missing"] == missing


def test_an_empty_repository_is_none(guarded, issuer):
    """An empty repository name is a value that somebody forgot to fill in. It must not open all repositories."""
    for path in (f"/v1/chunks/default/{'12' * 32}", "/v1/keys"):
        cairn.is_error(guarded.get(path, token=issuer.token("admin", repo="")), 401, "token.malformed")


def test_revoked_key(guarded, admin):
    made = make_key(guarded, admin)
    assert ask(guarded, made["key"]).status == 200
    path = f"/v1/keys/{made['id']}"
    assert guarded.request("DELETE", path, token=admin).json() == {"revoked": True}
    cairn.is_hub_error(ask(guarded, made["key"]), 401, "key.unknown")
    assert guarded.request("DELETE", path, token=admin).json() == {"revoked": False}
    assert guarded.get("/v1/keys", token=admin).json()["keys"][0]["revoked"] is True
    cairn.is_error(guarded.request("DELETE", "/v1/keys/999", token=admin), 404, "key.unknown")
    for wrong in ("x", "0", "-1", "1x", "99999999999999999999"):
        cairn.is_error(guarded.request("DELETE", f"/v1/keys/{wrong}", token=admin), 400, "key.id")
    guarded.stop()
    guarded.start()
    assert ask(guarded, made["key"]).status == 401


@pytest.mark.parametrize("kind", [READ, WRITE])
def test_answer(guarded, admin, kind):
    key = make_key(guarded, admin, scope="write")["key"]
    reply = ask(guarded, key, kind=kind)
    body = reply.json()
    assert body["casUrl"] == guarded.url
    assert 0 < body["exp"] - time.time() <= 3600
    assert (reply.headers["X-Xet-Access-Token"], int(reply.headers["X-Xet-Token-Expiration"]), reply.headers["X-Xet-Cas-Url"]) == (
        body["accessToken"],
        body["exp"],
        body["casUrl"],
    )
    assert "no-store" in reply.headers["Cache-Control"]
    claims = jwt.decode(body["accessToken"], options={"verify_signature": False})
    assert claims["exp"] == body["exp"] and claims["repo"] == "models/alice/one" and claims["sub"] == "test"
    assert "admin" not in claims["scope"] and ("write" in claims["scope"]) == (kind == WRITE)


def test_token_reads_its_repository_and_the_operators(guarded, admin, make):
    key = make_key(guarded, admin, repo="alice/one", scope="read write")["key"]
    stranger = make_key(guarded, admin, repo="bob/one", scope="read write")["key"]
    write, get = token_of(ask(guarded, key, kind=WRITE)), token_of(ask(guarded, key))
    theirs = token_of(ask(guarded, stranger, "models/bob/one"))
    file, public = upload(guarded, make([9000, 9001], 1), write), upload(guarded, make([9002], 2), admin)
    assert [seen(guarded, file, t) for t in (get, write, theirs, admin)] == [200, 200, 404, 200]
    assert [seen(guarded, public, t) for t in (get, write, theirs)] == [200] * 3
    assert read(guarded, file, get) == b"".join(file.terms[0][0].data)
    xorb = make([9003], 3)
    assert guarded.put_xorb(xorb, token=get).status == 403, "a read token is refused on a write route"
    assert guarded.post("/v1/shards", b"", token=get).status == 403
    assert guarded.request("DELETE", f"/v1/files/{xet.text(file.hash())}", token=write).status == 403


def test_a_key_is_refused_beyond_its_scope_and_repository(guarded, admin):
    reader = make_key(guarded, admin, repo="alice/one", scope="read")["key"]
    assert ask(guarded, reader).status == 200
    cairn.is_hub_error(ask(guarded, reader, kind=WRITE), 403, "key.scope")
    cairn.is_hub_error(ask(guarded, reader, "models/alice/two"), 403, "key.repo")
    cairn.is_hub_error(ask(guarded, reader, "datasets/alice/one"), 403, "key.repo")
    writer = make_key(guarded, admin, repo="datasets/alice/one", scope="write")["key"]
    assert ask(guarded, writer, "datasets/alice/one", WRITE).status == 200
    assert ask(guarded, writer, "datasets/alice/one", READ).status == 200, "a key that writes also reads"
    for repo in ("models/a/b", "datasets/c/d", "spaces/e/f"):
        assert ask(guarded, make_key(guarded, admin, scope="admin")["key"], repo, WRITE).status == 200


def test_malformed_and_foreign_keys_are_refused(guarded, admin, issuer):
    made = make_key(guarded, admin)["key"]
    refused = ask(guarded, None)
    cairn.is_hub_error(refused, 401)
    assert refused.headers["WWW-Authenticate"].startswith("Bearer")
    other = made[:-2] + ("A" if made[-2] != "A" else "B") + made[-1]
    for wrong in (other, made[:-1], made + "A", issuer.token("admin"), "cairn_", "hf_" + "A" * 46):
        cairn.is_hub_error(ask(guarded, wrong), 401)
    assert guarded.get("/v1/stats", token=made).status == 401, "a key is no token"
    assert guarded.get("/v1/keys", token=make_key(guarded, admin, scope="admin")["key"]).status == 401


def test_names_and_revisions(guarded, admin):
    key = make_key(guarded, admin, scope="read")["key"]
    for revision in ("main", "refs%2Fpr%2F1", "a%20b", "0123456789abcdef0123456789abcdef01234567", "v1.0"):
        assert ask(guarded, key, revision=revision).status == 200, revision
    for repo in ("things/a/b", "models/a/..", "models/%2e/b", "models/a%2Fb/c", "models/a/b%00", "models/a%20/b"):
        assert ask(guarded, key, repo).status in (400, 404), repo
    assert guarded.get("/api/models/a/b/xet-delete-token/main", headers={"Authorization": f"Bearer {key}"}).status == 404


def test_public_url(start, issuer, admin):
    server = start(token_key=issuer.folder, public_url="https://cas.example.org/xet")
    reply = ask(server, make_key(server, admin)["key"])
    assert reply.json()["casUrl"] == reply.headers["X-Xet-Cas-Url"] == "https://cas.example.org/xet"


def test_host_header_cannot_break_the_answer(guarded, admin):
    key = make_key(guarded, admin)["key"]
    for host in (b'a","casUrl":"http://evil', b"a\\", b"a b"):
        raw = guarded.raw(b"GET /api/models/a/b/xet-read-token/main HTTP/1.1\r\nHost: " + host + b"\r\nAuthorization: Bearer " + key.encode() + b"\r\nConnection: close\r\n\r\n")
        status = int(raw.split()[1])
        assert status == 400 or json.loads(raw.split(b"\r\n\r\n", 1)[1])["casUrl"] == "http://" + host.decode(), raw


def test_without_tokens_any_key_will_do(server, make):
    reply = ask(server, None, kind=WRITE)
    file = upload(server, make([9000], 1), token_of(reply))
    assert seen(server, file, token_of(ask(server, "anything"))) == 200
    assert reply.json()["casUrl"] == server.url


def test_a_server_without_a_signing_key_gives_no_token(start, issuer, admin):
    (issuer.folder / "hs256").unlink()
    server = start(token_key=issuer.folder)
    admin = issuer.token("admin", "ES256")
    key = make_key(server, admin)["key"]
    cairn.is_hub_error(ask(server, key), 500, "token.no_key")


def test_token_after_rotation(guarded, admin, issuer, make):
    """Tokens signed with the old key end with it. The same API key gets new ones."""
    key = make_key(guarded, admin, scope="write")["key"]
    old = token_of(ask(guarded, key, kind=WRITE))
    file = upload(guarded, make([9000], 1), old)
    issuer.write("hs256", base64.urlsafe_b64encode(b"n" * 32).rstrip(b"=") + b"\n")
    guarded.process.send_signal(signal.SIGHUP)
    path = f"/v2/reconstructions/{xet.text(file.hash())}"
    cairn.wait_until("the old key to go", lambda: guarded.get(path, token=old).status == 401)
    assert seen(guarded, file, token_of(ask(guarded, key))) == 200


def test_token_expires(start, issuer, clock):
    server = start(token_key=issuer.folder, test_clock=clock.path, token_ttl="60s")
    key = make_key(server, issuer.token("admin"))["key"]
    token = token_of(ask(server, key))
    path = "/v1/chunks/default/" + "12" * 32
    assert server.get(path, token=token).status == 404
    clock.move(200)
    assert server.get(path, token=token).status == 401
    assert server.get(path, token=token_of(ask(server, key))).status == 404


def test_a_key_expires(start, issuer, clock):
    server, admin = start(token_key=issuer.folder, test_clock=clock.path, token_ttl="1d"), issuer.token("admin", expires_s=10_000)
    made = make_key(server, admin, repo="alice/one", expires_s=3600)
    assert abs(made["expires"] - time.time() - 3600) < 300 and make_key(server, admin)["expires"] == 0
    token = token_of(ask(server, made["key"]))
    assert server.get("/v1/files", token=token).status == 200
    clock.move(3700)
    cairn.is_error(server.get("/v1/files", token=token), 401, "token.revoked")
    reply = ask(server, made["key"])
    assert cairn.is_hub_error(reply, 401, "key.expired") == "Invalid credentials in Authorization header"
    whoami = server.get("/api/whoami-v2", headers={"Authorization": f"Bearer {made['key']}"})
    assert whoami.status == 401 and b"key.expired" in whoami.body
    for wrong in (0, -1, "x", 0.5, 36500 * 86400 + 1):
        cairn.is_error(server.post("/v1/keys", json.dumps({"name": "n", "expires_s": wrong}).encode(), token=admin), 400, "key.body")


def test_when_a_key_was_used(start, issuer, clock):
    server, admin = start(token_key=issuer.folder, test_clock=clock.path), issuer.token("admin", expires_s=10_000)
    made = make_key(server, admin, repo="alice/one")

    def used():
        [key] = server.get("/v1/keys", token=admin).json()["keys"]
        return key["used"]

    def writes():
        return server.metrics()["cairn_index_writes_total"]

    assert used() == 0
    token_of(ask(server, made["key"]))
    cairn.wait_until("the first use to be written", lambda: used() > 0)
    first, before = used(), writes()
    assert abs(first - time.time()) < 300
    for _ in range(5):
        token_of(ask(server, made["key"]))
    assert used() == first and writes() == before, "a use is written at most once an hour"
    clock.move(3700)
    assert server.get("/api/whoami-v2", headers={"Authorization": f"Bearer {made['key']}"}).status == 200
    cairn.wait_until("a later use to be written", lambda: used() >= first + 3600)
