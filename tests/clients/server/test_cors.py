"""Requests from pages of other origins: the headers that a browser gets in preflights, replies and refusals."""

import subprocess

import cairn
import pytest
import xet

PAGE = "https://app.example"
HASH = "12" * 32


def preflight(server, path, method, origin=PAGE, headers="authorization,content-type"):
    ask = {"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": headers}
    return server.request("OPTIONS", path, headers=ask)


def told(reply):
    return {name.lower(): value for name, value in reply.headers.items() if name.lower().startswith("access-control-")}


@pytest.fixture
def closed(start, tmp_path):
    """A server that needs tokens, and serves pages of one origin."""
    key = tmp_path / "key"
    key.write_text("A" * 43 + "\n")
    key.chmod(0o600)
    return start(token_key=key, cors_origins=f"{PAGE}, http://localhost:3000")


@pytest.mark.parametrize(
    "path, method, methods",
    [
        (f"/v1/xorbs/default/{HASH}", "POST", {"GET", "HEAD", "POST"}),
        ("/v1/shards", "POST", {"POST"}),
        ("/v2/shards", "POST", {"POST"}),
        (f"/v1/chunks/default/{HASH}", "GET", {"GET", "HEAD"}),
        (f"/v2/reconstructions/{HASH}", "GET", {"GET", "HEAD"}),
        (f"/v2/file-chunk-hashes/{HASH}", "GET", {"GET", "HEAD"}),
        (f"/v1/fetch/{HASH}?ranges=0-1&expires=1&signature=x", "GET", {"GET", "HEAD"}),
    ],
)
def test_preflight_needs_no_token(closed, path, method, methods):
    reply = preflight(closed, path, method)
    assert reply.status == 204 and reply.body == b""
    assert reply.headers["Access-Control-Allow-Origin"] == PAGE
    assert reply.headers["Vary"] == "Origin"
    allowed = {name.strip() for name in reply.headers["Access-Control-Allow-Methods"].split(",")}
    assert method in allowed and allowed <= methods | {"DELETE"}, allowed
    accepted = reply.headers["Access-Control-Allow-Headers"].lower()
    for name in ("authorization", "content-type", "range", "x-xet-session-id", "x-request-id", "x-range-dirty"):
        assert name in accepted
    assert int(reply.headers["Access-Control-Max-Age"]) > 0


def test_refusals_can_be_read_by_the_page(closed):
    for method, path, status in (
        ("GET", f"/v2/reconstructions/{HASH}", 401),
        ("POST", "/v1/shards", 401),
        ("GET", "/no/such/thing", 404),
        ("PUT", "/health", 405),
        ("GET", f"/v1/fetch/{HASH}?ranges=0-1&expires=1&signature=x", None),
    ):
        reply = closed.request(method, path, headers={"Origin": PAGE})
        assert reply.status == status or (status is None and reply.status >= 400), reply
        assert reply.headers["Access-Control-Allow-Origin"] == PAGE and reply.headers["Vary"] == "Origin"
        exposed = reply.headers["Access-Control-Expose-Headers"]
        for name in ("Content-Range", "ETag", "X-Request-Id", "Accept-Ranges", "Content-Length", "X-Xet-Cas-Url"):
            assert name in exposed
    # the preflight of a path that does not exist is refused, too
    reply = preflight(closed, "/no/such/thing", "GET")
    assert reply.status == 404 and reply.headers["Access-Control-Allow-Origin"] == PAGE


def test_other_origins_are_told_nothing(closed):
    for origin in ("https://evil.example", "http://app.example", PAGE + ".evil.example", "null"):
        reply = closed.get("/health", headers={"Origin": origin})
        assert reply.status == 200 and told(reply) == {} and reply.headers["Vary"] == "Origin"
        reply = preflight(closed, "/v1/shards", "POST", origin=origin)
        assert reply.status == 405 and told(reply) == {}
    assert told(closed.get("/health")) == {}


def test_options_without_a_preflight_header_is_405(closed):
    reply = closed.request("OPTIONS", "/v1/shards", headers={"Origin": PAGE})
    cairn.is_error(reply, 405)
    assert reply.headers["Allow"] == "POST"


def test_none_is_the_default(server):
    reply = server.get("/health", headers={"Origin": PAGE})
    assert reply.status == 200 and told(reply) == {} and "Vary" not in reply.headers
    assert preflight(server, "/v1/shards", "POST").status == 405


def test_any_origin(start, make):
    server = start(cors_origins="*")
    assert server.put_xorb(make([9000], 1), headers={"Origin": PAGE}).headers["Access-Control-Allow-Origin"] == "*"
    reply = preflight(server, "/v1/shards", "POST", origin="null")
    assert reply.status == 204 and reply.headers["Access-Control-Allow-Origin"] == "*"


def test_streams_too(start, make):
    server = start(cors_origins=PAGE)
    xorb = make([9000], 1)
    assert server.put_xorb(xorb).status == 200
    reply = server.post("/v2/shards", xet.shard([xet.File([(xorb, 0, 1)])], [xorb]), headers={"Origin": PAGE})
    assert reply.status == 200 and b'"result"' in reply.body
    assert reply.headers["Access-Control-Allow-Origin"] == PAGE


def test_a_malformed_origin_setting_is_refused(tmp_path):
    done = subprocess.run(
        [cairn.CAIRND, "--data-dir", str(tmp_path), "--cors-origins", "app.example"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 64
    assert "cors_origins" in done.stderr and "app.example" in done.stderr and "is not an origin" in done.stderr


def test_a_page_that_may_not_call_cannot_write_blindly(start):
    """A plain POST needs no preflight. A server without tokens must not accept one from whatever page the operator opens."""
    server = start()
    body = b"x"
    for origin, status in (("https://evil.example", 403), ("null", 403), (None, 400)):
        headers = {"Content-Type": "text/plain"} | ({"Origin": origin} if origin else {})
        reply = server.request("POST", "/v1/shards", body, headers=headers)
        assert reply.status == status, (origin, reply.status)
    assert server.request("GET", "/health", headers={"Origin": "https://evil.example"}).status == 200


def test_its_own_pages_may_write(start):
    """Pages of the daemon itself, under whatever name it is called, may write."""
    server = start(public_url="https://cairn.example/store")
    here = f"127.0.0.1:{server.port}"
    for origin, host, status in (
        (f"http://{here}", here, 400),
        (f"http://LOCALHOST:{server.port}", f"localhost:{server.port}", 400),
        ("https://cairn.example", "cairn.example", 400),
        ("https://cairn.example", here, 400),
        (f"http://localhost:{server.port}", here, 403),
        (f"http://127.0.0.1:{server.port + 1}", here, 403),
        ("https://cairn.example.evil.example", here, 403),
        ("https://cairn.exampl", here, 403),
        ("https://", here, 403),
        ("null", here, 403),
    ):
        reply = server.request("POST", "/v1/shards", b"x", headers={"Origin": origin, "Host": host})
        assert reply.status == status, (origin, host, reply)
