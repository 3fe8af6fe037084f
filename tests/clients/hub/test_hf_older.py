"""Older releases of the client, as they stay in environments that nobody updates. They use other paths, and some send shards whose header announces a
footer that they cut off."""

import hashlib
import random
from pathlib import Path

import cairn
import hf_client
import pytest
import xet

VERSIONS = [line.split("==")[1].strip() for line in (cairn.ROOT / "tests/clients/requirements-older-xet.txt").read_text().splitlines() if line.startswith("hf_xet==")]
MIB = 1 << 20


def session(server, folder, version, token, paths=(), gets=()):
    order = {"version": version, "endpoint": server.url, "token": token, "files": [str(p) for p in paths], "gets": list(gets)}
    return hf_client.run("hf_older.py", folder, order)["hashes"]


def kept(folder, name, content):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("version", VERSIONS)
def test_uploads_deduplicates_and_downloads(start, issuer, tmp_path, version):
    server, token = start(token_key=issuer.folder), issuer.token("write", repo="ann/cats")
    source = random.Random(version)
    noise, text = source.randbytes(6 * MIB), b"".join(b"line %d of some text\n" % source.randrange(1000) for _ in range(100_000))
    contents = [noise, text, b"tiny"]
    paths = [kept(tmp_path, f"file{i}", content) for i, content in enumerate(contents)]
    hashes = session(server, tmp_path / "first", version, token, paths)

    gets = [{"hash": h, "size": len(c), "path": str(tmp_path / f"old{i}")} for i, (h, c) in enumerate(zip(hashes, contents))]
    session(server, tmp_path / "second", version, token, gets=gets)
    for get, content in zip(gets, contents):
        assert Path(get["path"]).read_bytes() == content

    before = server.received("xorbs")
    longer = kept(tmp_path, "longer", noise + b"and a new end" * 1000)
    [longer_hash] = session(server, tmp_path / "third", version, token, [longer])
    assert server.received("xorbs") - before < MIB, "the server received bytes that it had"

    reply = hf_client.download(server, tmp_path / "today", [{"hash": longer_hash, "size": longer.stat().st_size, "how": "file"}], token)
    assert reply == [{"bytes": longer.stat().st_size, "sha256": hashlib.sha256(longer.read_bytes()).hexdigest()}]


@pytest.mark.parametrize("version", VERSIONS)
def test_old_clients_read_uploads_of_the_current_client(server, tmp_path, version):
    content = random.Random(version + "today").randbytes(3 * MIB)
    [sent] = hf_client.upload(server, tmp_path / "today", [kept(tmp_path, "file", content)])
    session(server, tmp_path / "old", version, None, gets=[{"hash": sent["hash"], "size": len(content), "path": str(tmp_path / "got")}])
    assert (tmp_path / "got").read_bytes() == content


def test_a_missing_footer_is_refused_at_current_paths(server, start, make):
    """The header announces a footer that is not there. The server accepts that only at the older paths, and not if it is strict."""
    xorb = make([9000, 9001], 1)
    shard = bytearray(xet.shard([xet.File([(xorb, 0, 2)])], [xorb]))
    shard[40:48] = (200).to_bytes(8, "little")
    strict = start("strict", strict=True)
    for daemon in (server, strict):
        assert daemon.put_xorb(xorb).status == 200
    named = "/shard/default-merkledb/" + "0" * 64
    for daemon, path in ((server, "/v1/shards"), (server, "/v2/shards"), (strict, "/shards"), (strict, named)):
        refused = daemon.post(path, bytes(shard))
        assert refused.status == 400 and refused.json()["error"]["code"] == "shard.footer_missing", path
    assert server.post("/shard/other/" + "0" * 64, bytes(shard)).status == 404
    assert server.post("/shard/default/00", bytes(shard)).status == 400
    assert server.post("/shards", bytes(shard) + b"x").status == 400
    assert server.post("/shards", bytes(shard)).json() == {"result": 1}
    assert server.post(named, bytes(shard)).json() == {"result": 0}
