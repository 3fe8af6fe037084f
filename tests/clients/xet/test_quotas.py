"""Quotas without a hub, for a repository as tokens name it: what counts, what is refused, and what an operator sees."""

import json
import os
import subprocess
import sys

import cairn
import pytest
import xet

CATS, DOGS = "models/ann/cats", "datasets/ann/dogs"


class Store:
    def __init__(self, start, issuer):
        self.server = start(token_key=issuer.folder, no_hub=True)
        self.tokens = {name: issuer.token(repo=name) for name in (CATS, DOGS)} | {"": issuer.token()}
        self.admin = issuer.token("admin")

    def cairn(self, *words, code=0, token=None):
        env = os.environ | {"CAIRN_SERVER": self.server.url, "CAIRN_TOKEN": token or self.admin}
        done = subprocess.run([cairn.CAIRN, *map(str, words)], env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done.stderr if code else done.stdout

    def quota(self, place, size=None):
        return json.loads(self.cairn("quota", place, *([size] if size is not None else []), "--json"))

    def upload(self, owner, xorb):
        assert self.server.put_xorb(xorb, token=self.tokens[owner]).status == 200
        return self.server.post("/v1/shards", xet.shard([xet.File([(xorb, 0, len(xorb.nodes))])], [xorb]), token=self.tokens[owner])


@pytest.fixture
def store(start, issuer):
    return Store(start, issuer)


def test_set_told_and_refused(store, make):
    """A quota can be set before the first upload. Each file counts once, with its full length. An upload that does not fit is refused as a whole, with both
    numbers."""
    one, two = make([9000, 1000], 1), make([5000], 2)
    store.cairn("quota", CATS, code=66)
    assert store.quota(CATS, 14_999) == {"place": CATS, "quota_bytes": 14_999, "stored_bytes": 0}
    assert store.upload(CATS, one).status == store.upload(CATS, one).status == 200
    assert store.cairn("quota", CATS) == f'"{CATS}" holds 9.8 KiB of 14.6 KiB (10000 of 14999 bytes)\n'
    refused = store.upload(CATS, two)
    cairn.is_error(refused, 403, "quota.repo")
    assert refused.json()["error"]["message"] == (
        f"Quota exceeded: {CATS} may hold 14999 bytes, and would hold 15000. Delete what is not needed, or ask the operator for more"
    )
    assert store.upload(DOGS, two).status == store.upload("", two).status == 200, "other repositories have no quota"
    assert store.upload(CATS, two).status == 403, "bytes that others have cost the same"
    store.quota(CATS, "15000")
    assert store.upload(CATS, two).status == 200 and store.quota(CATS)["stored_bytes"] == 15_000
    file = xet.text(xet.File([(one, 0, 2)]).hash())
    store.cairn("rm", file, "--repo", CATS)
    assert store.quota(CATS)["stored_bytes"] == 5000


def test_the_command_says_why(store, tmp_path):
    (tmp_path / "file").write_bytes(os.urandom(5000))
    store.quota(CATS, 4999)
    assert f"Quota exceeded: {CATS} may hold 4999 bytes, and would hold 5000." in store.cairn("push", tmp_path / "file", code=77, token=store.tokens[CATS])
    store.quota(CATS, 5000)
    store.cairn("push", tmp_path / "file", token=store.tokens[CATS])


def test_a_quota_on_a_repository_with_files(store, make):
    """A quota is set on a repository with files, lowered, removed, and set again. Over its quota a repository can still be read and deleted from."""
    xorbs = [make([5000 + i], i) for i in range(3)]
    for xorb in xorbs:
        assert store.upload(CATS, xorb).status == 200
    assert store.quota(CATS) == {"place": CATS, "stored_bytes": 15_003}
    assert store.quota(CATS, 10)["stored_bytes"] == 15_003
    name = xet.text(xet.File([(xorbs[0], 0, 1)]).hash())
    assert store.server.request("HEAD", f"/v1/files/{name}", token=store.tokens[CATS]).status == 200
    assert store.upload(CATS, xorbs[0]).status == 200, "the repository holds no more bytes than before"
    assert store.upload(CATS, make([1], 9)).status == 403
    assert store.quota(CATS, "none") == {"place": CATS, "stored_bytes": 15_003}
    assert store.upload(CATS, make([1], 9)).status == 200
    assert store.quota(CATS, "1M")["stored_bytes"] == 15_003 + 4096, "a small file counts as 4 KiB"
    store.server.stop()
    store.server.start()
    assert store.quota(CATS) == {"place": CATS, "quota_bytes": 1 << 20, "stored_bytes": 15_003 + 4096}


def test_listed(store):
    places = [f"models/ann/{i:02}" for i in range(7)]
    for place in places:
        store.quota(place, 5)
    store.quota(places[3], "none")
    del places[3]
    assert store.cairn("quota") == "".join(f"{place} 0 5\n" for place in places)
    listed = json.loads(store.cairn("quota", "--limit", 4, "--json"))
    assert listed == {"quotas": [{"place": place, "quota_bytes": 5, "stored_bytes": 0} for place in places[:4]], "more": True}
    page = store.server.get("/v1/quotas?limit=4", token=store.admin).json()
    rest = store.server.get(f"/v1/quotas?limit=2&after={page['next']}", token=store.admin).json()
    assert [q["place"] for q in page["quotas"] + rest["quotas"]] == places and rest["next"] is None
    for query in ("limit=0", "limit=513", "limit=x", "after=" + "x" * 500):
        cairn.is_error(store.server.get(f"/v1/quotas?{query}", token=store.admin), 400, "quota.argument")
    for words in (["quota", CATS, "--limit", 1], ["quota", "--limit", 0], ["quota", CATS, "1", "2"]):
        store.cairn(*words, code=64)


def test_malformed_quota_places_are_refused(store):
    for place in ("ann", "ann/cats", "others/ann/cats", "models/ann/cats/x"):
        assert "models/account/name" in store.cairn("quota", place, "1", code=65), place
    store.cairn("quota", "models//x", "1", code=66)
    store.cairn("quota", "ann", code=66)
    cairn.is_error(store.server.get("/v1/quotas", token=store.tokens[CATS]), 403, "token.scope")


def test_the_stock_client_says_why(store, tmp_path):
    """The token comes from an API key. The stock client does not ask for the room before it uploads."""
    key = json.loads(store.cairn("key", "add", "ann's", "--scope", "write", "--json"))["key"]
    (tmp_path / "file").write_bytes(os.urandom(5000))
    store.quota(CATS, 4999)
    reply = store.server.get(f"/api/{CATS}/xet-write-token/main", token=key)
    assert reply.status == 200
    code = "import sys, hf_xet\nprint(hf_xet.upload_files([sys.argv[1]], sys.argv[2], (sys.argv[3], 1 << 40), None, None, None)[0].hash)"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "file", store.server.url, reply.json()["accessToken"]], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and f"Quota exceeded: {CATS} may hold 4999 bytes, and would hold 5000." in done.stderr, done


def test_a_refusal_comes_in_a_frame(store, make):
    """The refusal may be ready before the request's thread has seen that the verification succeeded. With 100 uploads that happens often."""
    store.quota(CATS, 1)
    xorb = make([9000], 1)
    assert store.server.put_xorb(xorb, token=store.tokens[CATS]).status == 200
    shard = xet.shard([xet.File([(xorb, 0, 1)])], [xorb])
    for _ in range(100):
        reply = store.server.post("/v2/shards", shard, token=store.tokens[CATS])
        frame = json.loads(reply.body.splitlines()[-1])
        assert reply.status == 200 and (frame["code"], frame["retryable"]) == ("quota.repo", False), reply


@pytest.mark.sqlite
def test_fsck_counts_again(store, make):
    """fsck compares the counters, and the columns of card words, with the rows that they are computed from, and repairs both."""
    import sqlite3

    store.quota(CATS, 20_000)
    assert store.upload(CATS, make([9000], 1)).status == 200
    store.server.stop()

    def fsck(*options):
        return subprocess.run([cairn.CAIRN, "fsck", "--data-dir", store.server.data, *options], capture_output=True, text=True)

    assert fsck().returncode == 0
    with sqlite3.connect(store.server.data / "index.sqlite") as index:
        index.execute("UPDATE scope SET stored = 5 WHERE name = ?", (CATS,))
        index.execute("INSERT INTO account(id, kind, name, fullname, email, created) VALUES(9, 1, 'zoe', '', '', 1)")
        index.execute("INSERT INTO repo(id, kind, account, name, private, scope, created, updated, files, bytes, dropped) VALUES(7, 1, 9, 'gone', 1, 1, 1, 1, 0, 0, 5)")
        index.execute("INSERT INTO repo(id, kind, account, name, private, scope, created, updated, files, bytes) VALUES(8, 4, 9, 'kept', 1, 1, 1, 1, 0, 0)")
        index.execute("INSERT INTO former(kind, account, name, repo) VALUES(4, 9, 'before', 8)")
        index.execute("INSERT INTO tag(repo, tag, kind, private) VALUES(7, 'x', 1, 1), (8, 'x', 4, 0)")
    index.close()
    said = fsck().stdout
    assert "1 repositories that count other bytes for their quota than they hold" in said
    assert "owners that count other bytes for their quota" in said and "2 words of cards that disagree with their repository about whether it is private" in said
    fsck("--repair")
    assert fsck().returncode == 0
    with sqlite3.connect(store.server.data / "index.sqlite") as index:
        assert index.execute("SELECT repo, private FROM tag").fetchall() == [(8, 1)]
        assert index.execute("SELECT stored FROM repo WHERE id = 8").fetchall() == [(1024 + 256 + 9000,)], "a repository, a former name, and the file of its scope"
    index.close()
    store.server.start()
    assert store.quota(CATS)["stored_bytes"] == 9000


def test_xorbs_that_no_shard_registers_have_a_limit(start, issuer, make):
    """A client that sends xorbs and no shard, or only shards without files, is refused after a limit. A refused xorb leaves nothing on the disk."""
    server = start(unregistered_bytes_max="20000", token_key=issuer.folder, no_hub=True)
    cats, dogs = issuer.token(repo=CATS), issuer.token(repo=DOGS)
    xorbs = [make([8000], seed) for seed in range(5)]
    assert [server.put_xorb(x, token=cats).status for x in xorbs[:3]] == [200, 200, 403]
    refused = server.put_xorb(xorbs[3], token=cats)
    cairn.is_error(refused, 403, "quota.unregistered")
    assert refused.json()["error"]["message"].startswith("Quota exceeded: uploads that no file needs yet may have 20000 bytes, and would have 24384.")
    assert sorted(p.name for p in server.objects()) == sorted(xet.text(x.hash) for x in xorbs[:2])
    assert server.post("/v1/shards", xet.shard([], xorbs[:2]), token=cats).status == 200
    assert server.put_xorb(xorbs[2], token=cats).status == 403, "the xorbs that no file needs have reached the limit"
    assert server.put_xorb(xorbs[0], token=cats).status == 200, "a xorb that is there is accepted"
    assert server.put_xorb(xorbs[2], token=dogs).status == 200, "other repositories have limits of their own"
    file = xet.File([(xorbs[0], 0, 1)])
    assert server.post("/v1/shards", xet.shard([file], xorbs[:1]), token=cats).status == 200
    assert server.put_xorb(xorbs[3], token=cats).status == 200
    assert server.put_xorb(xorbs[4], token=cats).status == 403
