"""The hub that a daemon mirrors (its upstream) answers, is out of reach, or is hostile."""

import concurrent.futures
import contextlib
import gzip
import json
import os
import select
import socket
import subprocess
from pathlib import Path

import cairn
import pytest
from authority import Authority
from upstream import NO_REPOSITORY, SHA, Upstream, answer

MB = 1 << 20
PROBE = "GET /api/models/cairn/is-the-line-up/revision/main HTTP/1.1"
EXIT_USAGE = 64


def line(server):
    reply = server.get("/v1/mirror")
    assert reply.status == 200 and reply.headers["Cache-Control"] == "no-store"
    return reply.json()


def status(server, *options):
    """The output of `cairn mirror status`."""
    done = subprocess.run([cairn.CAIRN, "mirror", "status", *options], env={**os.environ, "CAIRN_SERVER": server.url}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def threads_of(server):
    return {(task / "comm").read_text().strip() for task in Path(f"/proc/{server.process.pid}/task").iterdir()}


def test_without_the_setting_there_is_no_mirror(server):
    assert line(server) == {"upstream": None, "state": "off"}
    assert "the server mirrors no hub" in status(server)
    assert "mirror" not in threads_of(server)


def test_a_daemon_is_the_upstream_of_another(start):
    upstream = start("upstream")
    server = start(mirror=upstream.url)
    said = line(server)
    assert (said["upstream"], said["state"], said["answer"], said["rule"], said["message"]) == (upstream.url, "up", 404, None, None)
    assert said["asked"] > 0 and "mirror" in threads_of(server)
    told = status(server).splitlines()
    assert told[0].split() == ["up", upstream.url] and told[1].startswith("asked ") and len(told) == 2
    assert json.loads(status(server, "--json"))["state"] == "up"
    upstream.stop()
    other = start("other", mirror=upstream.url)
    assert line(other)["rule"] == "mirror.unreachable" and upstream.url in line(other)["message"]


@pytest.mark.parametrize("reply", [
    NO_REPOSITORY,
    answer(401, b'{"error":"Invalid username or password."}', X_Error_Code="RepoNotFound"),  # as the public hub answers
    answer(200, json.dumps({"id": "cairn/is-the-line-up", "sha": SHA, "tags": ["a"] * 1000}).encode()),
], ids=["404", "401", "200"])  # fmt: skip
def test_answers_of_a_hub(start, reply):
    with Upstream(reply) as upstream:
        server = start(mirror=upstream.url + "/")
        assert line(server)["state"] == "up" and line(server)["upstream"] == upstream.url
        head = upstream.asked[0].decode()
        assert len(upstream.asked) == 1 and head.startswith(PROBE) and f"Host: 127.0.0.1:{upstream.port}" in head
        assert "authorization" not in head.lower() and "accept-encoding" not in head.lower() and "cookie" not in head.lower()


def without_end(begin, piece):
    def serve(connection):
        connection.sendall(begin)
        while True:  # until the daemon stops reading
            connection.sendall(piece)

    return serve


def closing(text):
    def serve(connection):
        connection.sendall(text)
        connection.shutdown(socket.SHUT_RDWR)

    return serve


LONG_TRAILER_LINE = "mirror.unreachable mirror.long"  # one of them: libcurl says why since version 8.6
BAD = {
    "web": (answer(404, b"<html>"), "mirror.answer", 404),
    "page": (answer(200, b"<html>", Content_Type="text/html"), "mirror.answer", 200),
    "empty": (answer(200), "mirror.answer", 200),
    "no_sha": (answer(200, b'{"id":"a/b"}'), "mirror.answer", 200),
    "bomb": (answer(200, gzip.compress(bytes(64 * MB)), Content_Encoding="gzip"), "mirror.answer", 200),
    "brackets": (answer(200, b"[" * (MB - 1)), "mirror.answer", 200),
    "many": (answer(200, b"[" + b"1," * 400_000 + b"1]"), "mirror.answer", 200),
    "denied": (answer(403, b"{}"), "mirror.denied", 403),
    "later": (answer(429, b"{}", Retry_After="600"), "mirror.busy", 429),
    "broken": (answer(502, b""), "mirror.busy", 502),
    "long": (answer(200, bytes(MB + 1)), "mirror.long", 200),
    "long_body": (without_end(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536), "mirror.long", 200),
    "long_chunks": (without_end(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * 65536 + b"\r\n"), "mirror.long", 200),
    "long_head": (without_end(b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"x" * 900 + b"\r\n"), "mirror.long", 200),
    "long_line": (without_end(b"HTTP/1.1 404 No\r\nX-More: ", b"x" * 65536), "mirror.long", 404),
    "long_trailer_line": (without_end(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-More: ", b"x" * 65536), LONG_TRAILER_LINE, 200),
    "long_trailer": (without_end(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-More: " + b"x" * 900 + b"\r\n"), "mirror.long", 200),
    "half": (closing(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"), "mirror.unreachable", 200),
    "half_head": (closing(b"HTTP/1.1 404 No\r\nX-Error-Code: RepoNotFo"), "mirror.unreachable", 404),
    "half_head_whole_line": (closing(b"HTTP/1.1 404 No\r\nX-Error-Code: RepoNotFound\r\n"), "mirror.unreachable", 404),
    "garbage": (closing(b"\x00\xff" * 1000), "mirror.unreachable", 0),
    "closed": (closing(b""), "mirror.unreachable", 0),
}


@pytest.mark.parametrize("how", BAD)
def test_malformed_answers_of_an_upstream_are_reported(start, how):
    serve, rules, code = BAD[how]
    with Upstream(serve) as upstream:
        server = start(mirror=upstream.url)
        said = line(server)
        assert said["state"] == "down" and said["rule"] in rules.split(), said
        assert said["answer"] == code and said["message"]
        assert f"[{said['rule']}]" in status(server)


@pytest.mark.parametrize("drip", [b"", b"X-Drop: 1\r\n"], ids=["silent", "drips"])
def test_an_upstream_that_does_not_end_its_answer(start, drip):
    """An upstream that sends its answer byte by byte counts as silent: the time limit is for the whole answer."""
    ended = []

    def serve(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\n" if drip else b"")
        while not ended:
            if drip:
                connection.sendall(drip)
            select.select([], [], [], 0.2)

    with Upstream(serve) as upstream:
        server = start(mirror=upstream.url)
        said = line(server)
        ended.append(True)
        assert (said["state"], said["rule"]) == ("down", "mirror.silent"), said


def test_redirects_are_not_followed(start):
    """A redirect is not followed, even if its target listens. The status shows the operator where it led, without control characters for the terminal."""
    with socket.create_server(("127.0.0.1", 0)) as inner:
        targets = f"http://127.0.0.1:{inner.getsockname()[1]}/secret", "//169.254.169.254/latest", "file:///etc/passwd", "/api/models/other\x1b[31m"
        for i, target in enumerate(targets):
            with Upstream(answer(307, Location=target, X_Error_Code="RepoNotFound")) as upstream:
                server = start(f"server{i}", mirror=upstream.url)
                said = line(server)
                assert said["rule"] == "mirror.redirect" and target in said["message"], said
                assert "\x1b" not in status(server)
                assert len(upstream.asked) == 1
        inner.setblocking(False)
        with pytest.raises(BlockingIOError):
            inner.accept()


def test_names_that_lead_to_this_machine_are_not_connected_to(start):
    """127.1 and 2130706433 are not written as addresses, but they are names that resolve to 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as inner:
        port = inner.getsockname()[1]
        for i, name in enumerate(("127.1", "2130706433", "0x7f.1")):
            said = line(start(f"server{i}", mirror=f"https://{name}:{port}"))
            assert said["rule"] == "mirror.inward" and said["answer"] == 0, said
        inner.setblocking(False)
        with pytest.raises(BlockingIOError):
            inner.accept()


def test_only_trusted_certificates_are_accepted(start, tmp_path):
    authority = Authority(tmp_path / "authority")
    certificate, key = authority.issue("upstream")
    with Upstream(NO_REPOSITORY, certificate, key) as upstream:
        said = line(start("stranger", mirror=upstream.url))
        assert said["rule"] == "mirror.tls" and "mirror_ca" in said["message"], said
        assert line(start("friend", mirror=upstream.url, mirror_ca=authority.path))["state"] == "up"
        missing = line(start("missing", mirror=upstream.url, mirror_ca=tmp_path / "none.pem"))
        assert missing["rule"] == "mirror.tls" and missing["answer"] == 0
    asked = len(upstream.asked)
    with Upstream(NO_REPOSITORY, certificate, key, host="127.0.0.2") as other_name:
        said = line(start("name", mirror=other_name.url, mirror_ca=authority.path))
        assert said["rule"] == "mirror.tls", said
        assert asked == 1 and not other_name.asked


def proxy(answers, port=None):
    """A proxy whose tunnels all lead to this port. port: None: it opens no tunnel, and only answers."""

    def serve(connection):
        connection.sendall(answers)
        if port:
            with socket.create_connection(("127.0.0.1", port)) as inner:
                ends = {connection: inner, inner: connection}
                while True:
                    for source in select.select(list(ends), [], [])[0]:
                        data = source.recv(65536)
                        if not data:
                            return connection.shutdown(socket.SHUT_RDWR)
                        ends[source].sendall(data)

    return Upstream(serve)


def test_a_proxy_on_the_way(start, tmp_path):
    """The proxy tunnels TLS, whose certificate is verified as ever, so the proxy cannot answer in place of the hub. A proxy of the environment variables is
    not used."""
    authority = Authority(tmp_path / "authority")
    made = b"HTTP/1.1 200 Connection established\r\nX-Error-Code: RepoNotFound\r\n\r\n"
    target = {"mirror": "https://localhost:1", "mirror_ca": authority.path}
    with Upstream(NO_REPOSITORY, *authority.issue("upstream")) as upstream, proxy(made, upstream.port) as way, proxy(answer(403)) as closed:
        elsewhere = {"HTTPS_PROXY": closed.url, "https_proxy": closed.url, "NO_PROXY": "*"}
        server = start("way", variables=elsewhere, mirror_proxy=way.url, **target)
        assert line(server)["state"] == "up", line(server)
        assert way.asked[0].startswith(b"CONNECT localhost:1 HTTP/1.1\r\n") and upstream.asked[0].decode().startswith(PROBE)
        stranger = line(start("stranger", mirror="https://localhost:1", mirror_proxy=way.url))
        assert stranger["rule"] == "mirror.tls", stranger
        refused = line(start("refused", mirror_proxy=closed.url, **target))
        assert refused["rule"] == "mirror.unreachable" and "403" in refused["message"], refused
        assert len(closed.asked) == 1
        without = line(start("without", variables=elsewhere, **target))
        assert without["rule"] == "mirror.unreachable" and len(closed.asked) == 1, without


def test_simultaneous_questions_share_one_request_and_hold_no_worker(start):
    go = []

    def serve(connection):
        cairn.wait_until("the test", lambda: go)
        connection.sendall(NO_REPOSITORY)

    with Upstream(serve) as upstream:
        server = start(mirror=upstream.url, workers=1)
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            said = [pool.submit(line, server) for _ in range(40)]
            upstream.wait_until_asked()
            assert server.get("/health").status == 200 and server.get("/ready").status == 200
            assert server.get("/api/models?author=ann").status == 200  # by a worker
            go.append(True)
            assert {one.result()["state"] for one in said} == {"up"}
        assert line(server)["state"] == "up" and len(upstream.asked) == 1


def test_a_daemon_that_stops_does_not_wait_for_the_upstream(start):
    with Upstream(lambda connection: connection.recv(1)) as upstream:
        server = start(mirror=upstream.url, drain="0s")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(server.get, "/v1/mirror")
            upstream.wait_until_asked()
            server.stop()
            with contextlib.suppress(OSError):
                reply = asked.result()
                assert reply.status == 503 or reply.json()["rule"] == "mirror.stopped", reply


@pytest.mark.parametrize("settings, words", [
    ({"mirror": "http://huggingface.co"}, "has no TLS"),
    ({"mirror": "https://huggingface.co/models"}, "an upstream is https://HOST"),
    ({"mirror": "https://ann:secret@huggingface.co"}, "an upstream is https://HOST"),
    ({"mirror_ca": "/etc/ssl/ca.pem"}, "mirror_rules go with mirror"),
    ({"mirror_proxy": "http://proxy:3128"}, "mirror_rules go with mirror"),
    ({"mirror_hosts": "cdn.example"}, "mirror_rules go with mirror"),
    ({"mirror_offline": "yes"}, "mirror_rules go with mirror"),
    ({"mirror_pin": "sha256//x"}, "mirror_rules go with mirror"),
    ({"mirror": "https://huggingface.co", "mirror_pin": "sha256//x"}, "mirror_pin: \"sha256//x\" is not a pin"),
    ({"mirror": "http://localhost", "mirror_pin": "sha256//" + 43 * "A" + "="}, "not a pin of an upstream with TLS"),
    ({"mirror": "https://huggingface.co", "mirror_refresh": "0s"}, "use 1s to 365d"),
    ({"mirror": "https://huggingface.co", "mirror_hosts": "https://cdn.example"}, "mirror_hosts: \"https://cdn.example\" is not a list of hosts"),
    ({"mirror": "https://huggingface.co", "mirror_proxy": "http://ann:secret@proxy:3128"}, "mirror_proxy: a proxy is http://HOST:PORT"),
    ({"mirror": "https://huggingface.co", "hub": "no"}, "mirror takes a hub"),
])  # fmt: skip
def test_invalid_mirror_settings_are_refused(tmp_path, settings, words):
    options = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    done = subprocess.run([cairn.CAIRND, "--data-dir", tmp_path / "data", *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == EXIT_USAGE and words in done.stderr and "secret" not in done.stderr, done.stderr
