"""Settings of the mirror: how often it looks at a branch, offline, the certificates that it trusts, and how fast bytes come."""

import base64
import hashlib
import os
import time
from pathlib import Path

import cairn
from authority import Authority
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from upstream import NO_REPOSITORY, SHA, Hub, Repo, Upstream

MB = 1 << 20
NEXT = "89abcdef0123456789abcdef0123456789abcdef"
FILES = {"config.json": b'{"model_type": "bert"}', "vocab.txt": b"a\nb\n"}


def hub(files=FILES, **more):
    return Hub({"far/model": Repo(files, stored={path for path in files if path.endswith(".bin")})}, **more)


def resolve(server, path="config.json"):
    return server.get(f"/far/model/resolve/main/{path}")


def line(server):
    return server.get("/v1/mirror").json()


def pin(certificate):
    key = x509.load_pem_x509_certificate(Path(certificate).read_bytes()).public_key()
    spki = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return "sha256//" + base64.b64encode(hashlib.sha256(spki).digest()).decode()


def test_a_branch_is_looked_at_again_when_the_last_look_is_old(start):
    with hub() as upstream:
        server = start(mirror=upstream.url, mirror_refresh="1s")
        assert server.get("/api/models/far/model").json()["sha"] == SHA
        upstream.repos["far/model"] = Repo({"config.json": b"{}"}, sha=NEXT)
        cairn.wait_until("the next look", lambda: server.get("/api/models/far/model").json()["sha"] == NEXT)
        patient = start("patient", mirror=upstream.url, mirror_refresh="1d")
        assert patient.get("/api/models/far/model").json()["sha"] == NEXT
        upstream.asked.clear()
        assert patient.get("/api/models/far/model").json()["sha"] == NEXT and not upstream.asked


def test_offline_it_serves_what_is_here_and_asks_nobody(start):
    """A file that is not here is never answered with "not found", because clients would believe that."""
    with hub() as upstream:
        server = start(mirror=upstream.url)
        assert resolve(server).body == FILES["config.json"]
        server.stop()
        asked, connections = len(upstream.asked), len(upstream.connections)
        server.command += ["--mirror-offline"]
        server.start()
        reply = resolve(server)
        assert (reply.status, reply.body, reply.headers["X-Cairn-Mirror"]) == (200, FILES["config.json"], "stale")
        for path in ("/far/model/resolve/main/vocab.txt", "/api/models/far/other", "/api/models/gpt2", f"/api/models/far/model/revision/{NEXT}"):
            reply = server.get(path)
            assert (reply.status, reply.json()["code"]) == (504, "mirror.offline") and "X-Error-Code" not in reply.headers, (path, reply)
        said = line(server)
        assert (said["state"], said["rule"], said["answer"]) == ("down", "mirror.offline", 0)
        figures = server.metrics()
        assert "cairn_mirror_up" not in figures and figures['cairn_mirror_fetched_bytes_total{source="plain"}'] == 0
        assert not any(value for name, value in figures.items() if name.startswith("cairn_mirror_failures_total"))
        assert (len(upstream.asked), len(upstream.connections)) == (asked, connections)


def test_only_the_pinned_key_is_trusted(start, tmp_path):
    """An authority that the machine trusts may sign another key for the name. The daemon sends nothing to its owner."""
    authority = Authority(tmp_path / "authority")
    certificate, key = authority.issue("upstream")
    other = pin(authority.issue("other")[0])
    with Upstream(NO_REPOSITORY, certificate, key) as upstream:
        trusted = {"mirror": upstream.url, "mirror_ca": authority.path}
        said = line(start("other", mirror_pin=other, **trusted))
        assert said["rule"] == "mirror.tls" and "mirror_pin" in said["message"] and not upstream.asked, said
        assert line(start("same", mirror_pin=pin(certificate), **trusted))["state"] == "up"
        assert line(start("either", mirror_pin=f"{other};{pin(certificate)}", **trusted))["state"] == "up"


def test_bytes_come_no_faster_than_allowed(start):
    content, rate = os.urandom(40 * MB), 10 * MB
    with hub(FILES | {"weights.bin": content}) as upstream:
        server = start(mirror=upstream.url, mirror_rate_max=rate)
        began = time.monotonic()
        weights = server.get("/far/model/resolve/main/weights.bin")
        took_s = time.monotonic() - began
        assert weights.body == content and resolve(server).body == FILES["config.json"]
    assert took_s > (len(content) - rate) / rate, f"{len(content)} bytes in {took_s} s"
