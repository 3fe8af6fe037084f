"""A store was restored from a backup and lacks xorbs that a stock client remembers: the error that the client gets, and its remedy."""

import json
import random
import shutil
import subprocess
import sys

import cairn
import hf_client
import pytest
import xet


@pytest.fixture
def server(start):
    """A server on a fixed port, because the client remembers by address which xorbs a server has."""
    server = start()
    server.command[server.command.index("--listen") + 1] = f"127.0.0.1:{server.port}"
    return server


def upload(server, home, path):
    """Uploads with a home that is kept, so that the client remembers earlier uploads."""
    order = json.dumps({"endpoint": server.url, "files": [{"path": str(path)}]})
    environment = hf_client.environment(home, client_retry_max_attempts=1, client_retry_base_delay="10ms")
    script = [sys.executable, str(hf_client.HERE / "hf_session.py")]
    return subprocess.run(script, input=order, env=environment, capture_output=True, text=True, timeout=300)


def command(server, *words):
    return subprocess.run([cairn.CAIRN, words[0], "--server", server.url, *map(str, words[1:])], capture_output=True, text=True, timeout=100)


@pytest.mark.files
@pytest.mark.parametrize("by", ["the cache", "push"])
def test_a_xorb_in_the_clients_cache_is_gone_from_the_store(server, tmp_path, by):
    """The upload is refused for good. It works once the client's cache is removed, and so does cairn push, which has no cache."""
    home, path = tmp_path / "home", tmp_path / "a.bin"
    path.write_bytes(random.Random(3).randbytes(2_000_000))
    assert upload(server, home, path).returncode == 0
    server.stop()
    shutil.rmtree(server.data)
    server.start()
    for _ in range(2):
        refused = upload(server, home, path)
        assert refused.returncode != 0 and "$HF_HOME/xet" in refused.stderr, refused
    if by == "push":
        assert command(server, "push", path).returncode == 0
    else:
        shutil.rmtree(home / "cache")
    healed = upload(server, home, path)
    assert healed.returncode == 0, healed.stderr
    done = command(server, "pull", json.loads(healed.stdout)["files"][0]["hash"], "-o", tmp_path / "got")
    assert done.returncode == 0 and (tmp_path / "got").read_bytes() == path.read_bytes()


def test_the_refusal_names_the_remedy(server):
    """The refusal says what to do. It comes in a frame, because clients show a frame's text; of a status they show only the number."""
    xorb = xet.Xorb([b"x" * 9000])
    shard = xet.shard([xet.File([(xorb, 0, 1)])], [])
    error = cairn.is_error(server.post("/v1/shards", shard), 400, "term.unknown_xorb")
    assert "upload the xorb first" in error["message"] and error["message"].endswith("~/.cache/huggingface/xet or $HF_HOME/xet")
    framed = server.post("/v2/shards", shard)
    frame = json.loads(framed.body.splitlines()[-1])
    assert framed.status == 200 and frame == {"type": "error", "message": error["message"], "code": "term.unknown_xorb", "retryable": False}


@pytest.mark.parametrize(("grace", "warned"), [("10d", 1), ("252h", 0)])
def test_a_grace_shorter_than_clients_remember(start, grace, warned):
    assert len(start(gc_grace=grace, epoch="1h").events("gc_grace_short")) == warned
