"""GET /v1/files and `cairn ls`: the files that a token lists, in pages, and how much it learns of other tenants."""

import hashlib
import json
import os
import random
import subprocess

import cairn
import pytest
import xet

ANN, BOB = "ann/cats", "bob/dogs"


def put(server, token, seeds, said=True):
    """Uploads a file of one xorb for each seed. @return {its hash as text: (size, SHA-256 or None)}"""
    made = {}
    for seed in seeds:
        data = random.Random(seed).randbytes(9000 + seed)
        x = xet.Xorb([data])
        sha256 = hashlib.sha256(data).hexdigest() if said else None
        file = xet.File([(x, 0, 1)], xet.raw(sha256) if said else None)
        assert server.put_xorb(x, token=token).status == 200
        assert server.post("/v1/shards", xet.shard([file], [x]), token=token).status == 200
        made[xet.text(file.hash())] = (len(data), sha256)
    return made


def pages(server, token, query="", limit=2):
    """All rows, page by page. Every page but the last must be full."""
    rows, after = [], None
    while True:
        reply = server.get(f"/v1/files?limit={limit}{query}" + (f"&after={after}" if after else ""), token=token)
        assert reply.status == 200, reply.body
        page = reply.json()
        rows += page["files"]
        after = page["next"]
        if after is None:
            return rows
        assert len(page["files"]) == limit


@pytest.fixture
def shared(start, issuer):
    server = start(token_key=issuer.folder)
    tokens = {"ann": issuer.token(repo=ANN), "bob": issuer.token(repo=BOB), "admin": issuer.token("admin"), "read": issuer.token("read")}
    tokens["bob who reads"] = issuer.token("read", repo=BOB)
    return server, tokens


def told(rows):
    return {row["hash"]: (row["size"], row["sha256"]) for row in rows}


def test_a_token_of_a_repository_lists_its_own(shared):
    server, tokens = shared
    ann, common = put(server, tokens["ann"], range(5)), put(server, tokens["ann"], [50])
    bob = put(server, tokens["bob"], range(10, 14)) | put(server, tokens["bob"], [50])
    mine = pages(server, tokens["bob who reads"])
    assert told(mine) == bob and [r["hash"] for r in mine] == sorted(bob, key=xet.raw)
    assert {r["repo"] for r in mine} == {f"models/{BOB}"}
    assert not any("at" in row for row in mine), "a time would reveal what ann had before"
    assert told(pages(server, tokens["bob"], f"&repo={BOB}")) == bob
    assert told(pages(server, tokens["ann"])) == ann | common
    cairn.is_error(server.get(f"/v1/files?repo={ANN}", token=tokens["bob"]), 403, "files.repo")
    cairn.is_error(server.get("/v1/files?repo=", token=tokens["bob"]), 403, "files.repo")


def test_the_operator_lists_all(shared):
    server, tokens = shared
    ann, bob = put(server, tokens["ann"], range(3)), put(server, tokens["bob"], [2, 7])
    own = put(server, tokens["admin"], [20])
    rows = pages(server, tokens["admin"])
    assert len(rows) == 6 and all(row["at"] > 1_600_000_000 for row in rows)
    assert told(r for r in rows if r["repo"] == f"models/{BOB}") == bob
    assert told(r for r in rows if r["repo"] == f"models/{ANN}") == ann
    assert told(r for r in rows if r["repo"] == "") == own
    assert told(pages(server, tokens["admin"], f"&repo={ANN}")) == ann
    assert told(pages(server, tokens["admin"], "&repo=")) == own
    # A reader without a repository who is no operator sees public files.
    assert told(pages(server, tokens["read"])) == own
    cairn.is_error(server.get(f"/v1/files?repo={ANN}", token=tokens["read"]), 403, "files.repo")
    assert server.request("DELETE", f"/v1/files/{[*ann][0]}?repo={ANN}", token=tokens["admin"]).status == 200
    assert len(pages(server, tokens["admin"])) == 5


def test_absent_sha256_and_invalid_list_arguments(shared):
    server, tokens = shared
    made = put(server, tokens["ann"], [1], said=False)
    assert told(pages(server, tokens["ann"])) == made and [*made.values()][0][1] is None
    for query in ("limit=0", "limit=513", "limit=x", "limit=", "after=x", f"after={'1' * 63}", f"after={'1' * 64}:", f"after={'1' * 65}"):
        cairn.is_error(server.get(f"/v1/files?{query}", token=tokens["ann"]), 400, "files.argument")
    cairn.is_error(server.get("/v1/files?after=" + "1" * 64 + ":" + "r" * 256, token=tokens["admin"]), 400, "files.argument")
    cairn.is_error(server.get("/v1/files?repo=x", token=tokens["ann"]), 400, "repo.name")
    assert pages(server, tokens["bob"]) == []


def run(server, token, *args, code=0):
    env = {**os.environ, "CAIRN_SERVER": server.url, "CAIRN_TOKEN": token}
    done = subprocess.run([cairn.CAIRN, "ls", *args], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stdout


def test_ls(shared):
    server, tokens = shared
    ann = put(server, tokens["ann"], range(3))
    put(server, tokens["bob"], [2])
    listed = json.loads(run(server, tokens["ann"], "--json"))
    assert told(listed["files"]) == ann and listed["more"] is False
    assert json.loads(run(server, tokens["ann"], "--json", "--limit", "2"))["more"] is True
    lines = run(server, tokens["admin"]).splitlines()
    assert len(lines) == 4
    for line in run(server, tokens["ann"]).splitlines():
        name, size, when, sha256, repo = line.split()
        assert ann[name] == (int(size), sha256) and (when, repo) == ("-", f"models/{ANN}")
    assert run(server, tokens["admin"], "--repo", BOB).split()[2].startswith("20"), "the time since when bob has the file"
    assert json.loads(run(server, tokens["bob"], "--json", "--repo", ANN, code=77))["error"]["status"] == "denied"


def test_more_than_a_page_of_ls(shared):
    """`cairn ls` requests pages of 512. There are more files than that, of one chunk each, in one shard."""
    server, tokens = shared
    source = random.Random(9)
    x = xet.Xorb([source.randbytes(64) for _ in range(600)])
    files = [xet.File([(x, i, i + 1)]) for i in range(600)]
    assert server.put_xorb(x, token=tokens["ann"]).status == 200
    assert server.post("/v1/shards", xet.shard(files, [x]), token=tokens["ann"]).status == 200
    listed = json.loads(run(server, tokens["ann"], "--json"))["files"]
    assert {row["hash"] for row in listed} == {xet.text(f.hash()) for f in files} and len(listed) == 600
