"""HTTPS for curl and the stock client. A new certificate is loaded without losing a connection; a certificate and key that do not belong together are
refused."""

import contextlib
import hashlib
import random
import shutil
import signal
import ssl
import subprocess
import time

import cairn
import hf_client
import pytest
import xet
from authority import Authority

EXIT_USAGE = 64
DAY_S = 86400


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "authority")


@pytest.fixture
def serve(start, authority, tmp_path):
    """Returns serve(...), which starts a daemon with HTTPS, on tmp_path/tls.pem and tls.key: copies of the authority's first certificate and key."""

    def begin(**options):
        install(authority.issue("first"), tmp_path)
        return start(trust=authority.path, tls_certificate=tmp_path / "tls.pem", tls_key=tmp_path / "tls.key", **options)

    return begin


def install(pair, folder):
    """Replaces the certificate and key by new ones, as tools that renew certificates do."""
    for path, name in zip(pair, ("tls.pem", "tls.key")):
        fresh = folder / f"{name}.fresh"
        shutil.copy(path, fresh)
        fresh.rename(folder / name)


def reload(server):
    """Sends SIGHUP. @return the log's event of it"""
    before = len(server.events("reload")) + len(server.events("reload_failed"))
    server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("the reload", lambda: len(server.events("reload")) + len(server.events("reload_failed")) > before)
    return [e for e in server.events() if e["event"].startswith("reload")][-1]


def name_of(connection):
    return dict(part[0] for part in connection.sock.getpeercert()["subject"])["commonName"]


def test_health_check_of_the_container(serve, start, tmp_path):
    """The health check connects by the scheme that the daemon serves, according to the environment variables that both read."""

    def healthy(server, **variables):
        environment = {"PATH": "/usr/bin:/bin", "CAIRND": cairn.CAIRND, "CAIRN_LISTEN": f"0.0.0.0:{server.port}", **variables}
        return subprocess.run([cairn.ROOT / "docker" / "healthcheck"], env=environment, capture_output=True, timeout=60).returncode == 0

    secret, plain = serve(), start("plain")
    assert healthy(plain) and healthy(plain, CAIRN_TLS_CERTIFICATE="")
    pair = {"CAIRN_TLS_CERTIFICATE": str(tmp_path / "tls.pem"), "CAIRN_TLS_KEY": str(tmp_path / "tls.key")}
    assert healthy(secret, **pair)
    plain.stop()
    secret.stop()
    plain.port, secret.port = 1, 1
    assert not healthy(plain) and not healthy(secret, **pair)


def test_curl(serve, authority):
    server = serve()
    assert server.url.startswith("https://")
    ask = ["curl", "-sS", "--http1.1", server.url + "/health"]
    trusted = subprocess.run([*ask, "--cacert", str(authority.path)], capture_output=True, text=True, timeout=60)
    assert trusted.returncode == 0 and '"ok"' in trusted.stdout, trusted.stderr
    assert subprocess.run(ask, capture_output=True, timeout=60).returncode == 60, "a client that does not know the authority refuses the certificate"
    for old in ("1.0", "1.1"):
        refused = subprocess.run([*ask, "-k", "--tls-max", old, "--ciphers", "DEFAULT@SECLEVEL=0"], capture_output=True, timeout=60)
        assert refused.returncode == 35, old
    with server.socket() as plain:
        plain.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"HTTP/1.1" not in cairn.read_all(plain)
    left_s = server.metrics()["cairn_tls_certificate_expires_seconds"] - time.time()
    assert 29 * DAY_S < left_s < 31 * DAY_S


def test_uploads_and_fetches(serve, make):
    """Bodies larger than any buffer, in both directions. Addresses that the server makes begin with https."""
    server = serve()
    x = make([100_000] * 80, 1)
    assert server.put_xorb(x).status == 200
    file = xet.File([(x, 0, 80)])
    assert server.post("/v2/shards", xet.shard([file], [x])).status == 200
    plan = server.get(f"/v2/reconstructions/{xet.text(file.hash())}").json()
    fetch = plan["xorbs"][xet.text(x.hash)][0]
    assert fetch["url"].startswith(server.url + "/")
    first, last = fetch["ranges"][0]["bytes"]["start"], fetch["ranges"][0]["bytes"]["end"]
    got = server.get(fetch["url"].removeprefix(server.url), headers={"Range": f"bytes={first}-{last}"})
    assert got.status == 206 and got.body == x.body()[first : last + 1]


def test_stock_client(serve, authority, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    server = serve()
    content = random.Random(1).randbytes(3_000_000)
    path = tmp_path / "content"
    path.write_bytes(content)
    (info,) = hf_client.upload(server, tmp_path / "up", [path])
    for how in ("file", "stream"):
        (got,) = hf_client.download(server, tmp_path / how, [{"hash": info["hash"], "size": info["size"], "how": how}])
        assert got == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def test_command(serve, authority, tmp_path, monkeypatch):
    server = serve()
    push = [cairn.CAIRN, "push", "--server", server.url, str(authority.path)]
    assert subprocess.run(push, capture_output=True, timeout=60).returncode != 0, "a command that does not know the authority refuses the certificate"
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    done = subprocess.run(push, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_reload(serve, authority, tmp_path, make):
    """Open connections and uploads under way keep their certificate. New connections get the new one."""
    server = serve()
    x = make([100_000] * 5, 2)
    body = x.body()
    with contextlib.closing(server.connect()) as old, contextlib.closing(server.connect()) as uploading:
        assert server.get("/health", connection=old).status == 200 and name_of(old) == "first"
        uploading.putrequest("POST", x.path())
        uploading.putheader("Content-Length", str(len(body)))
        uploading.endheaders(body[:1000])
        install(authority.issue("second"), tmp_path)
        assert reload(server)["event"] == "reload"
        with contextlib.closing(server.connect()) as new:
            assert server.get("/health", connection=new).status == 200 and name_of(new) == "second"
        uploading.send(body[1000:])
        assert uploading.getresponse().status == 200
        assert server.get("/health", connection=old).status == 200 and name_of(old) == "first"


def test_reload_of_no_pair(serve, authority, tmp_path):
    """A certificate and key that do not belong together are reported, and the old certificate stays."""
    server = serve()
    second, third = authority.issue("second"), authority.issue("third")
    for certificate, key, rule in (
        (second[0], third[1], "tls.pair"),
        (second[0], second[0], "tls.format"),
        (second[1], second[1], "tls.format"),
    ):
        install((certificate, key), tmp_path)
        (tmp_path / "tls.key").chmod(0o600)
        event = reload(server)
        assert event["event"] == "reload_failed" and event["rule"] == rule, event
        with contextlib.closing(server.connect()) as c:
            assert server.get("/health", connection=c).status == 200 and name_of(c) == "first"
    install(second, tmp_path)
    (tmp_path / "tls.key").chmod(0o644)
    assert reload(server)["rule"] == "tls.mode"
    (tmp_path / "tls.key").unlink()
    assert reload(server)["rule"] == "tls.read"
    install(second, tmp_path)
    assert reload(server)["event"] == "reload"


def test_start_with_no_pair(authority, tmp_path):
    first, second = authority.issue("first"), authority.issue("second")
    base = ["--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "d")]
    line = cairn.refused(tmp_path, *base, "--tls-certificate", str(first[0]), "--tls-key", str(second[1]))
    assert str(second[1]) in line and str(first[0]) in line
    assert str(first[1]) in cairn.refused(tmp_path, *base, "--tls-certificate", str(first[1]), "--tls-key", str(first[1]))
    assert "no-such" in cairn.refused(tmp_path, *base, "--tls-certificate", "no-such", "--tls-key", str(first[1]))
    for one in (["--tls-certificate", str(first[0])], ["--tls-key", str(first[1])]):
        assert "together" in cairn.refused(tmp_path, *base, *one, code=EXIT_USAGE)


def test_curl_is_told_in_the_middle_of_a_body(serve, authority, tmp_path):
    server = serve()
    (tmp_path / "bad").write_bytes(b"\xff" * (60 << 20))
    send = ["curl", "-sS", "--http1.1", "--cacert", str(authority.path), "-X", "POST", "-H", "Expect:", "-T", str(tmp_path / "bad")]
    send += ["--limit-rate", "4M", "-w", "\n%{http_code} %{size_upload}", server.url + "/v1/xorbs/default/" + "ab" * 32]
    done = subprocess.run(send, capture_output=True, text=True, timeout=60)
    reply, numbers = done.stdout.rsplit("\n", 1)
    status, sent = (int(n) for n in numbers.split())
    assert status == 400 and "xorb.chunk_version" in reply and sent < 16 << 20, (done, sent)


def test_limits_over_tls_send_nothing_in_clear(serve, authority, make):
    """When a body takes too long, the watching thread answers a plain connection with a status, but only closes an encrypted one."""
    server = serve(xorb_bytes_max="64K", idle_timeout="1s")
    x = make([200_000] * 8, 3)
    with contextlib.closing(server.connect()) as c, pytest.raises((OSError, ssl.SSLError)):
        c.request("POST", x.path(), body=iter([x.body()]), headers={"Transfer-Encoding": "chunked"}, encode_chunked=True)
        c.getresponse()
        raise ConnectionError  # getting a status is also fine
    with contextlib.closing(server.connect()) as slow:
        slow.putrequest("POST", x.path())
        slow.putheader("Content-Length", "5000")
        slow.endheaders(b"x")
        with pytest.raises((OSError, cairn.http.client.HTTPException)):
            slow.getresponse()
    assert server.get("/health").status == 200
