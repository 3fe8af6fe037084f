"""Sends every mutant of the reference vectors over HTTP. Each gets the status and the cause that its line of the list names, and a refused one leaves nothing
behind."""

import json

import cairn
import pytest
import xet


def lines(name):
    return [json.loads(line) for line in (cairn.DATA / name).read_text().splitlines()]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with cairn.Daemon(tmp_path_factory.mktemp("mutants")) as daemon:
        for path in sorted((cairn.DATA / "xorbs").iterdir()):
            if path.suffix == "":
                assert daemon.post(f"/v1/xorbs/default/{path.name}", path.read_bytes()).status == 200
        yield daemon


def snapshot(server, body):
    """Queries every 32 bytes of the body that may be a hash, wherever they stand, because the structure of mutants is broken."""
    connection = server.connect()
    seen = {}
    for at in range(48, len(body) - 47, 48):
        name = xet.text(body[at : at + 32])
        if name not in seen:
            seen[name] = (
                server.request("HEAD", f"/v1/files/{name}", connection=connection).status,
                server.request("GET", f"/v1/chunks/default/{name}", connection=connection).status,
            )
    connection.close()
    return seen


SHARDS = lines("invalid.jsonl")


@pytest.mark.parametrize("line", [m for m in SHARDS if m["expect"] == 400], ids=lambda m: m["name"])
def test_refused_shard(server, line):
    body = (cairn.DATA / line["file"]).read_bytes()
    before = snapshot(server, body)
    for path in ("/v1/shards", "/v2/shards"):
        reply = server.post(path, body)
        if reply.status == 200:
            assert path == "/v2/shards"
            frame = json.loads(reply.body.splitlines()[-1])
            assert frame["type"] == "error" and frame["message"] and not frame.get("retryable"), frame
        else:
            error = cairn.is_error(reply, 400)
            assert len(error["message"]) > 15
            assert "offset" in error or not body, error
    assert snapshot(server, body) == before


@pytest.mark.parametrize("line", [m for m in SHARDS if m["expect"] == 200], ids=lambda m: m["name"])
def test_accepted_variant(tmp_path, line):
    body = (cairn.DATA / line["file"]).read_bytes()
    with cairn.Daemon(tmp_path) as server:
        for name in line["upload_first"]:
            assert server.post(f"/v1/xorbs/default/{name}", (cairn.DATA / "xorbs" / name).read_bytes()).status == 200
        first = server.post("/v1/shards", body)
        assert first.status == 200 and first.json()["result"] in (0, 1), first
        assert server.post("/v1/shards", body).json() == {"result": 0}
        frames = [json.loads(f) for f in server.post("/v2/shards", body).body.splitlines()]
        assert frames[-1]["type"] == "result", frames


XORBS = lines("invalid_xorbs.jsonl")


@pytest.mark.parametrize("line", XORBS, ids=lambda m: m["name"])
def test_xorb(tmp_path, line):
    path = f"/v1/xorbs/default/{line['path_hash']}"
    with cairn.Daemon(tmp_path) as server:
        reply = server.post(path, (cairn.DATA / line["file"]).read_bytes())
        assert reply.status == line["expect"], reply
        if line["expect"] == 200:
            assert reply.json() == {"was_inserted": True}
            assert server.request("HEAD", path).status == 200
        else:
            assert len(cairn.is_error(reply, 400)["message"]) > 15
            assert server.request("HEAD", path).status in (400, 404)
            assert server.post(path.replace("xorbs", "xorb-grants"), b"{}").status in (400, 404)
            assert not server.objects()
            assert server.left_overs() == []
