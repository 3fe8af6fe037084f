"""The real client. Each session is a new process with empty caches, so it deduplicates only by what cairnd answers."""

import hashlib
import json
import os
import random
import subprocess
import sys

import cairn
import pytest

MIB = 1 << 20
SESSION = cairn.ROOT / "tests/clients/hf_session.py"


def text_like(n, seed):
    source = random.Random(seed)
    words = [source.randbytes(source.randint(2, 6)).hex() for _ in range(4000)]
    out = bytearray()
    while len(out) < n:
        out += (" ".join(source.choices(words, k=10000)) + "\n").encode()
    return bytes(out[:n])


@pytest.fixture
def upload(tmp_path):
    """Returns upload(server, (content, sha256), ...), which runs one session. A content may be bytes or (bytes,
    "skip")."""
    sessions = []

    def one(server, *contents, token=None):
        folder = tmp_path / f"session{len(sessions)}"
        sessions.append(folder)
        folder.mkdir()
        files = []
        for i, content in enumerate(contents):
            data, sha256 = content if isinstance(content, tuple) else (content, "compute")
            path = folder / f"file{i}"
            path.write_bytes(data)
            files.append({"path": str(path), "sha256": sha256})
        env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "XET_"))}
        cache = str(folder / "cache")
        env |= {"HOME": cache, "HF_HOME": cache, "HF_XET_CACHE": cache, "XDG_CACHE_HOME": cache}
        done = subprocess.run(
            [sys.executable, str(SESSION)],
            input=json.dumps({"endpoint": server.url, "token": token, "files": files}),
            capture_output=True,
            text=True,
            timeout=240,
            env=env,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)

    return one


def known_size(server, file_hash):
    reply = server.request("HEAD", f"/v1/files/{file_hash}")
    return int(reply.headers["Content-Length"]) if reply.status == 200 else None


def test_second_cold_client_deduplicates(server, upload):
    noise = random.Random(1).randbytes(20 * MIB)
    text = text_like(30 * MIB, 2)
    first = upload(server, noise, text, b"tiny")
    assert [f["size"] for f in first["files"]] == [20 * MIB, 30 * MIB, 4]
    for f, content in zip(first["files"], (noise, text, b"tiny")):
        assert known_size(server, f["hash"]) == len(content)
        found = server.get("/v1/files/by-sha256/" + hashlib.sha256(content).hexdigest())
        assert found.status == 200 and found.json()["hash"] == f["hash"], found

    before = server.received("xorbs")
    assert before > 20 * MIB, "random bytes do not compress"
    shared = noise[: 16 * MIB] + random.Random(3).randbytes(4 * MIB)
    second = upload(server, shared)
    metrics = second["metrics"]
    assert metrics["total_bytes"] == 20 * MIB
    assert metrics["deduped_bytes"] >= 0.75 * 20 * MIB, metrics
    assert server.received("xorbs") - before <= 0.25 * 20 * MIB, "the server received bytes that it had"
    assert known_size(server, second["files"][0]["hash"]) == 20 * MIB

    again_text = text[: 24 * MIB] + text_like(6 * MIB, 4)
    before = server.received("xorbs")
    third = upload(server, again_text)
    assert third["metrics"]["deduped_bytes"] >= 0.75 * 30 * MIB, third["metrics"]


def test_repeat_is_idempotent(server, upload):
    content = random.Random(5).randbytes(3 * MIB)
    first = upload(server, content)
    before = server.received("xorbs")
    second = upload(server, content)
    assert second["files"] == first["files"]
    assert server.received("xorbs") == before
    assert second["metrics"]["deduped_bytes"] == 3 * MIB


def test_empty_skipped_and_false_sha256(server, upload):
    lie = "aa" * 32
    skipped, lied = random.Random(6).randbytes(100000), random.Random(7).randbytes(100001)
    done = upload(server, b"", (skipped, "skip"), (lied, lie))
    assert done["files"][0]["hash"] == "0" * 64
    assert [known_size(server, f["hash"]) for f in done["files"]] == [0, 100000, 100001]
    assert server.get("/v1/files/by-sha256/" + hashlib.sha256(skipped).hexdigest()).status == 404
    assert server.get("/v1/files/by-sha256/" + lie).json()["hash"] == done["files"][2]["hash"]


@pytest.mark.files
def test_answer_outlives_restart(server, upload):
    content = random.Random(8).randbytes(2 * MIB)
    upload(server, content)
    server.stop()
    server.start()
    before = server.received("xorbs")
    assert upload(server, content + b"x" * 1000)["metrics"]["deduped_bytes"] >= 0.9 * 2 * MIB
    assert server.received("xorbs") - before < 0.1 * 2 * MIB
