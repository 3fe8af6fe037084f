"""Tokens of each algorithm on each route, and the chunks that repositories must not see of each other."""

import base64
import os
import re
import time

import cairn
import jwt
import pytest
import xet

HASH = "12" * 32
# (method, path, scope that the token must have)
ROUTES = [
    ("POST", "/v1/shards", "write"),
    ("POST", "/v2/shards", "write"),
    ("POST", f"/v1/xorbs/default/{HASH}", "write"),
    ("POST", f"/v1/xorb-grants/default/{HASH}", "write"),
    ("HEAD", f"/v1/xorbs/default/{HASH}", "read"),
    ("GET", f"/v1/chunks/default/{HASH}", "read"),
    ("GET", "/v1/files", "read"),
    ("HEAD", f"/v1/files/{HASH}", "read"),
    ("GET", f"/v1/files/by-sha256/{HASH}", "read"),
    ("GET", f"/v1/info/{HASH}", "read"),
    ("GET", f"/v1/reconstructions/{HASH}", "read"),
    ("GET", f"/v2/reconstructions/{HASH}", "read"),
    ("GET", f"/v1/reconstructions?file_id={HASH}", "read"),
    ("POST", "/v1/reconstructions", "read"),
    ("GET", f"/v2/file-chunk-hashes/{HASH}", "read"),
    ("POST", "/shards", "write"),
    ("POST", f"/shard/default/{HASH}", "write"),
    ("POST", f"/xorbs/default/{HASH}", "write"),
    ("POST", f"/xorb/default/{HASH}", "write"),
    ("HEAD", f"/xorbs/default/{HASH}", "read"),
    ("HEAD", f"/xorb/default/{HASH}", "read"),
    ("GET", f"/chunks/default/{HASH}", "read"),
    ("GET", f"/chunk/default/{HASH}", "read"),
    ("GET", f"/reconstructions/{HASH}", "read"),
    ("GET", f"/reconstruction/{HASH}", "read"),
    ("GET", f"/reconstructions?file_id={HASH}", "read"),
    ("POST", "/reconstructions", "read"),
    ("POST", "/v1/telemetry", "read"),
    ("GET", "/v1/telemetry", "admin"),
    ("DELETE", f"/v1/files/{HASH}", "admin"),
    ("POST", f"/v1/files/{HASH}/share", "admin"),
    ("POST", "/v1/gc", "admin"),
    ("POST", "/v1/packs", "admin"),
    ("GET", "/v1/packs", "admin"),
    ("GET", "/v1/stats", "admin"),
    ("GET", "/v1/usage", "admin"),
    ("GET", "/v1/false-claims", "admin"),
    ("GET", "/v1/jobs", "admin"),
    ("GET", "/v1/mirror", "admin"),
    ("GET", "/v1/mirror/repositories", "admin"),
    ("GET", "/v1/mirror/repositories/models/far/model", "admin"),
    ("POST", "/v1/mirror/repositories/models/far/model", "admin"),
    ("POST", "/v1/mirror/repositories/models/far/model/prune", "admin"),
    ("POST", "/v1/mirror/prune?to=0", "admin"),
    ("DELETE", "/v1/mirror/repositories/models/far/model", "admin"),
    ("POST", "/v1/mirror/repositories/models/far/model/refresh", "admin"),
    ("DELETE", "/v1/mirror/namespaces/far", "admin"),
    ("GET", "/v1/scrub", "admin"),
    ("POST", "/v1/scrub/start", "admin"),
    ("POST", "/v1/scrub/pause", "admin"),
    ("GET", "/v1/lost-xorbs", "admin"),
    ("POST", "/v1/accounts", "admin"),
    ("GET", "/v1/accounts", "admin"),
    ("POST", "/v1/accounts/ann", "admin"),
    ("GET", "/v1/accounts/ann/members", "admin"),
    ("POST", "/v1/accounts/ann/members", "admin"),
    ("GET", "/v1/quotas", "admin"),
    ("POST", "/v1/quotas", "admin"),
    ("POST", "/v1/keys", "admin"),
    ("GET", "/v1/keys", "admin"),
    ("DELETE", "/v1/keys/1", "admin"),
    ("GET", f"/v2/file-chunk-hashes/{HASH}", "read"),
    ("GET", "/health", None),
    ("GET", "/ready", None),
]


def test_matrix_is_complete():
    """The matrix has every route of the code that needs a token, by each of its paths."""
    values = {"hash": HASH, "sha256": HASH, "prefix": "default", "id": "1", "account": "ann", "type": "models", "namespace": "far", "name": "model"}
    coded = set()
    for method, pattern, older, scope in cairn.routes():
        for path in [pattern, *older] if scope else []:
            coded.add((method, re.sub(r"\{(\w+)\}", lambda found: values[found[1]], path), scope))
    assert coded == {(method, path.split("?")[0], scope) for method, path, scope in ROUTES if scope}


def status_of(server, method, path, **more):
    return server.request(method, path, body=b"" if method in ("POST", "DELETE") else None, **more).status


@pytest.mark.parametrize("method, path, scope", ROUTES, ids=lambda v: str(v).split("/12")[0])
def test_matrix(guarded, issuer, method, path, scope):
    refused = (401, 403)
    if scope is None:
        assert status_of(guarded, method, path) == 200
        return
    assert status_of(guarded, method, path) == 401
    assert status_of(guarded, method, path, token=issuer.token(scope, expires_s=-600)) == 401
    assert status_of(guarded, method, path, token=issuer.token(scope, key=b"x" * 32)) == 401
    assert status_of(guarded, method, path, token="not-a-token") == 401
    assert status_of(guarded, method, path, headers={"Authorization": "Basic dGVzdDp0ZXN0"}) == 401
    assert status_of(guarded, method, path, token=issuer.token("read")) == 403 or scope == "read"
    assert status_of(guarded, method, path, token=issuer.token("nothing")) == 403
    assert status_of(guarded, method, path, token=issuer.token("write")) == 403 or scope in ("read", "write")
    for enough in {"read": ("read", "write", "admin"), "write": ("write", "admin"), "admin": ("admin",)}[scope]:
        assert status_of(guarded, method, path, token=issuer.token(enough)) not in refused
    if scope == "admin":
        cairn.is_error(guarded.request(method, path, body=b"", token=issuer.token("admin", repo="ann/cat")), 403, "token.repo")


def test_challenge_and_body_of_a_refusal(guarded, issuer):
    reply = guarded.get(f"/v1/chunks/default/{HASH}")
    cairn.is_error(reply, 401)
    assert reply.headers["WWW-Authenticate"].startswith("Bearer")
    cairn.is_error(guarded.post("/v1/shards", b"x", token=issuer.token("read")), 403)


@pytest.mark.parametrize("algorithm", ["HS256", "RS256", "ES256", "EdDSA"])
def test_algorithms(guarded, issuer, algorithm):
    good = issuer.token("read", algorithm)
    assert guarded.get(f"/v1/chunks/default/{HASH}", token=good).status == 404
    head, body, signature = good.split(".")
    middle = len(signature) // 2
    bent = signature[:middle] + ("A" if signature[middle] != "A" else "B") + signature[middle + 1 :]
    assert guarded.get(f"/v1/chunks/default/{HASH}", token=f"{head}.{body}.{bent}").status == 401
    assert guarded.get(f"/v1/chunks/default/{HASH}", token=f"{head}.{body}.").status == 401


def test_unsafe_token_algorithms_are_refused(guarded, issuer):
    claims = {"scope": "admin", "exp": int(time.time()) + 600}
    none = jwt.encode(claims, None, algorithm="none")
    assert guarded.get(f"/v1/chunks/default/{HASH}", token=none).status == 401
    # A public key used as an HMAC secret. The token is signed by hand, because the library refuses to do that.
    import hashlib
    import hmac
    import json

    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")

    message = part({"alg": "HS256", "typ": "JWT"}) + b"." + part(claims)
    for name in ("rs256.pem", "es256.pem", "eddsa.pem"):
        mac = hmac.new((issuer.folder / name).read_bytes(), message, hashlib.sha256).digest()
        mixed = (message + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")).decode()
        assert guarded.get(f"/v1/chunks/default/{HASH}", token=mixed).status == 401
    assert guarded.get(f"/v1/chunks/default/{HASH}", token=issuer.token("read", algorithm="HS512", key=issuer.secret)).status == 401


def test_expiry_is_needed_and_obeyed(guarded, issuer):
    forever = jwt.encode({"scope": "read"}, issuer.secret, algorithm="HS256")
    assert guarded.get(f"/v1/chunks/default/{HASH}", token=forever).status == 401
    later = issuer.token("read", nbf=int(time.time()) + 600)
    assert guarded.get(f"/v1/chunks/default/{HASH}", token=later).status == 401


def put_file(server, xorb, token):
    assert server.put_xorb(xorb, token=token).status == 200
    file = xet.File([(xorb, 0, len(xorb.nodes))])
    reply = server.post("/v1/shards", xet.shard([file], [xorb]), token=token)
    assert reply.status == 200, reply
    return xet.text(file.hash()), f"/v1/chunks/default/{xet.text(xorb.nodes[0][0])}"


@pytest.mark.parametrize("scope, friend", [("repository", 404), ("namespace", 200), ("global", 200)])
def test_dedupe_scopes(start, issuer, make, scope, friend):
    """friend: the status for another repository of the same namespace. A repository of another namespace counts as a stranger."""
    server = start(token_key=issuer.folder, dedupe_scope=scope)
    a, b, c = (issuer.token(repo=r) for r in ("alice/one", "alice/two", "bob/one"))
    _, chunk = put_file(server, make([9000, 9001], 1), a)
    assert server.get(chunk, token=a).status == 200
    assert server.get(chunk, token=b).status == friend
    assert server.get(chunk, token=c).status == (200 if scope == "global" else 404)


def test_dedupe_keys_differ_between_scopes(start, issuer, make):
    server = start(token_key=issuer.folder, dedupe_scope="repository")
    xorb = make([9000, 9001], 2)
    keys = set()
    for repo in ("alice/one", "bob/one"):
        token = issuer.token(repo=repo)
        _, chunk = put_file(server, xorb, token)
        keys.add(xet.parse_answer(server.get(chunk, token=token).body).key)
    assert len(keys) == 2


def test_claim_overrides_the_setting(guarded, issuer, make):
    token = issuer.token(repo="alice/one", dedupe="repository")
    _, chunk = put_file(guarded, make([9000], 3), token)
    assert guarded.get(chunk, token=token).status == 200
    assert guarded.get(chunk, token=issuer.token(repo="bob/one")).status == 404


def test_files_belong_to_their_repository(guarded, issuer, make):
    a, b = issuer.token(repo="alice/one"), issuer.token(repo="bob/one")
    file, _ = put_file(guarded, make([9000, 10000], 4), a)
    path = f"/v1/files/{file}"
    assert guarded.request("HEAD", path, token=a).status == 200
    assert guarded.request("HEAD", path, token=b).status == 404
    assert guarded.request("HEAD", path, token=issuer.token()).status == 200, "the operator's token reads all files"
    put_file(guarded, make([9000, 10000], 4), b)
    assert guarded.request("HEAD", path, token=b).status == 200, "the other repository registered the same file itself"


def test_rotation(start, issuer, tmp_path):
    """A new key is added and the old one is removed. SIGHUP reads the folder again, without a restart."""
    import signal

    server = start(token_key=issuer.folder)
    path = f"/v1/chunks/default/{HASH}"
    old = issuer.token("read")
    fresh = os.urandom(32)
    new = issuer.token("read", key=fresh)
    assert (server.get(path, token=old).status, server.get(path, token=new).status) == (404, 401)
    issuer.write("hs256-new", base64.urlsafe_b64encode(fresh).rstrip(b"=") + b"\n")
    server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("the new key", lambda: server.get(path, token=new).status == 404)
    assert server.get(path, token=old).status == 404
    (issuer.folder / "hs256").unlink()
    server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("the old key to go", lambda: server.get(path, token=old).status == 401)
    assert server.get(path, token=new).status == 404


def test_secrets_are_not_logged(guarded, issuer):
    token = issuer.token("read")
    guarded.get(f"/v1/chunks/default/{HASH}", token=token)
    guarded.get(f"/v1/chunks/default/{HASH}", token="sekrit-wrong-token")
    guarded.stop()
    log = guarded.log()
    assert token not in log and token.split(".")[2] not in log and "sekrit" not in log
    assert base64.urlsafe_b64encode(issuer.secret).decode()[:20] not in log


def test_strangers_cannot_forge_or_garble_the_log(server):
    """The log contains bytes that strangers send. They can neither change how a terminal shows the log, nor begin a new line."""
    agent = "a\u009b31m\u202eb\u2066c\u2028d\x9b"
    for path in ("/v1/fetch/x?signature=SECRET", "/v1/fetch/x%3Fsignature=SECRET", "/v1/fetch/x?%73ignature=SECRET", "/v1/fetch/x?a;signature=SECRET"):
        server.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {agent}\r\nConnection: close\r\n\r\n".encode())
    server.stop()
    log = server.log_path.read_bytes()
    assert b"SECRET" not in log
    shown = [e["user_agent"] for e in server.events("request")]
    assert shown == [agent] * 4
    for raw in ("\u009b", "\u202e", "\u2066", "\u2028"):
        assert raw.encode() not in log


# A page of another site may make its own host name resolve to this machine after it was loaded (DNS rebinding). Then the browser would pass the
# server's answers to that page. So a server without tokens checks the host name.

HERE = ["localhost", "LOCALHOST:1", "127.0.0.1", "127.9.9.9:8080", "[::1]", "[::1]:8080"]
ADDRESSES = ["192.0.2.7", "192.0.2.7:8080", "[2001:db8::7]:8080"]
ELSEWHERE = ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "cairn"]


def called(server, host, path="/v1/keys"):
    return server.get(path, headers={"Host": host})


def is_misdirected(reply, host):
    error = cairn.is_error(reply, 421, "host.unknown")
    assert error["actual"] == host and "public_url" in error["message"], error


def test_a_name_that_resolves_here_gives_no_access(server):
    for host in HERE:
        assert called(server, host).status == 200, host
    for host in ADDRESSES + ELSEWHERE:
        for path in ("/v1/keys", "/v1/stats", "/metrics", "/health", "/nowhere"):
            is_misdirected(called(server, host, path), host)
        is_misdirected(server.post("/v1/keys", b'{"name":"x"}', headers={"Host": host}), host)
    assert server.get("/v1/keys").json()["keys"] == []
    assert server.raw(b"GET /v1/keys HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200 "), "every browser sends a Host, so this is a program"


def test_the_public_name_is_taken(start):
    server = start(public_url="https://Cas.example.org:8443/xet")
    for host in (*HERE, "cas.example.org", "CAS.EXAMPLE.ORG:8443", "cas.example.org:80"):
        assert called(server, host).status == 200, host
    for host in (*ADDRESSES, *ELSEWHERE, "x.cas.example.org", "cas.example.org.evil.example"):
        is_misdirected(called(server, host), host)


def test_served_to_others_without_tokens_it_is_called_by_address(start):
    """Health checks call the server by an address. An address cannot be made to resolve to another machine."""
    server = start(listen="0.0.0.0:0", insecure_no_auth=True)
    for host in (*HERE, *ADDRESSES):
        for path in ("/v1/keys", "/health", "/metrics"):
            assert called(server, host, path).status == 200, host
    for host in ELSEWHERE:
        is_misdirected(called(server, host), host)


def test_with_tokens_any_host_name_is_served(guarded):
    """A page of another site cannot misuse the server, because it has no token."""
    for host in (*HERE, *ADDRESSES, *ELSEWHERE):
        assert called(guarded, host, "/health").status == 200
        cairn.is_error(called(guarded, host), 401, "auth.missing")
