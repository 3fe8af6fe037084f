"""GET /v1/info and `cairn info`: the things that a hash names, those that refer to them, and how much a tenant
learns."""

import json
import os
import random
import subprocess

import cairn
import pytest
import xet

ANN, BOB = "ann/cats", "bob/dogs"


class Things:
    """ann has two files of one xorb. bob has one of them, too, and one of his own xorb. The operator has a public file."""

    def __init__(self, server, tokens):
        def xorb(seed):
            return xet.Xorb([random.Random(f"{seed} {i}").randbytes(9000) for i in range(12)])

        self.server, self.tokens = server, tokens
        self.shared, self.bobs, self.free = xorb(1), xorb(2), xorb(3)
        self.both = xet.File([(self.shared, 0, 5), (self.shared, 7, 9)], bytes(range(32)))
        self.anns = xet.File([(self.shared, 3, 4)])
        self.own = xet.File([(self.bobs, 0, 12), (self.shared, 1, 2)], bytes(range(1, 33)))
        self.public = xet.File([(self.free, 0, 2)], bytes(range(2, 34)))
        self.put("ann", [self.both, self.anns], [self.shared])
        self.put("bob", [self.both, self.own], [self.shared, self.bobs])
        self.put("admin", [self.public], [self.free])

    def put(self, who, files, xorbs):
        for x in xorbs:
            assert self.server.put_xorb(x, token=self.tokens[who]).status == 200
        assert self.server.post("/v1/shards", xet.shard(files, xorbs), token=self.tokens[who]).status == 200

    def ask(self, who, hash_, query=""):
        return self.server.get(f"/v1/info/{xet.text(hash_)}{query}", token=self.tokens[who])

    def told(self, who, hash_):
        reply = self.ask(who, hash_)
        assert reply.status == 200, reply.body
        return reply.json()


@pytest.fixture
def things(start, issuer):
    server = start(token_key=issuer.folder, dedupe_scope="repository")
    tokens = {"ann": issuer.token(repo=ANN), "bob": issuer.token(repo=BOB), "carl": issuer.token(repo="carl/none")}
    return Things(server, tokens | {"admin": issuer.token("admin"), "read": issuer.token("read")})


def rows(answer, name):
    return {(row["hash"], row.get("repo")) for row in answer[name]}


def test_a_file(things):
    told = things.told("admin", things.both.hash())
    assert told["file"] == {"size": 7 * 9000, "terms": 2, "xorbs": 1, "lost": False} and not told["more"]
    assert [(x["hash"], x["chunks"], x["size"]) for x in told["xorbs"]] == [(xet.text(things.shared.hash), 12, 12 * 9000)]
    assert {(o["repo"], o["sha256"]) for o in told["owners"]} == {(f"models/{r}", xet.text(bytes(range(32)))) for r in (ANN, BOB)}
    assert all(o["at"] > 1_600_000_000 for o in told["owners"]) and told["xorbs"][0]["at"] > 1_600_000_000
    assert "xorb" not in told and told["needed_by"] == told["places"] == told["of_sha256"] == []
    # Xorbs are listed in the order of the file, not of their uploads.
    told = things.told("admin", things.own.hash())
    assert [x["hash"] for x in told["xorbs"]] == [xet.text(things.bobs.hash), xet.text(things.shared.hash)]
    assert things.ask("admin", things.own.hash(), "?limit=1").json()["more"] is True


def test_a_sha256_and_a_xorb_and_a_chunk(things):
    file = xet.text(things.both.hash())
    assert rows(things.told("admin", bytes(range(32))), "of_sha256") == {(file, f"models/{r}") for r in (ANN, BOB)}
    told = things.told("admin", things.shared.hash)
    assert (told["xorb"]["chunks"], told["xorb"]["size"], told["xorb"]["retired"]) == (12, 12 * 9000, False)
    mine = {(xet.text(things.anns.hash()), f"models/{ANN}"), (xet.text(things.own.hash()), f"models/{BOB}")}
    assert rows(told, "needed_by") == mine | {(file, f"models/{r}") for r in (ANN, BOB)}
    told = things.ask("admin", things.shared.hash, "?limit=3").json()
    assert len(told["needed_by"]) == 3 and told["more"]
    places = things.told("admin", things.shared.nodes[0][0])["places"]
    assert {(p["xorb"], p["at"], p["size"]) for p in places} == {(xet.text(things.shared.hash), 0, 9000)}
    assert {p["scope"] for p in places} == {f"models/{ANN}", f"models/{BOB}"}


def test_a_tenant_is_told_of_his_own(things):
    told = things.told("bob", things.both.hash())
    assert [o["repo"] for o in told["owners"]] == [f"models/{BOB}"]
    assert not any("at" in row for row in told["owners"] + told["xorbs"]), "a time would reveal what ann had before"
    told = things.told("bob", things.shared.hash)
    assert rows(told, "needed_by") == {(xet.text(f.hash()), f"models/{BOB}") for f in (things.both, things.own)}
    assert {*told["xorb"]} == {"chunks", "size", "stored", "lost"}
    assert rows(things.told("bob", bytes(range(32))), "of_sha256") == {(xet.text(things.both.hash()), None)}
    assert [p["xorb"] for p in things.told("bob", things.bobs.nodes[0][0])["places"]] == [xet.text(things.bobs.hash)]
    # bob may read the public file, but is told of no owner.
    told = things.told("bob", things.public.hash())
    assert told["file"]["size"] == 18000 and told["owners"] == []


def test_things_of_others_look_absent(things):
    """Things of others are answered exactly like a hash that does not exist. (test_isolation.py tests this for every route, and the time, too.)"""
    absent = random.Random(7).randbytes(32)
    for who, hashes in (
        ("ann", [things.own.hash(), things.bobs.hash, things.bobs.nodes[0][0], bytes(range(1, 33)), things.free.hash]),
        ("carl", [things.both.hash(), things.shared.hash, things.shared.nodes[0][0], bytes(range(32))]),
    ):
        for hash_ in hashes:
            cairn.is_error(things.ask(who, hash_), 404, "info.unknown")
            same = [(r.status, r.body) for r in (things.server.get(f"/v1/info/{xet.text(h)}", token=things.tokens[who], headers={"X-Request-Id": "1"}) for h in (hash_, absent))]
            assert same[0] == same[1]
    # A token to read without a repository reads files, and is told of no owner.
    told = things.told("read", things.both.hash())
    assert told["owners"] == [] and "at" not in told["xorbs"][0]
    cairn.is_error(things.ask("read", things.shared.hash), 404, "info.unknown")


def test_invalid_limits_and_hashes_are_refused(things):
    for limit in ("0", "513", "x", "", "-1", "99999999999999999999"):
        cairn.is_error(things.ask("ann", bytes(32), f"?limit={limit}"), 400, "info.argument")
    assert things.server.get("/v1/info/x", token=things.tokens["ann"]).status == 400


def run(things, who, hash_, *args, code=0):
    env = {**os.environ, "CAIRN_SERVER": things.server.url, "CAIRN_TOKEN": things.tokens[who]}
    done = subprocess.run([cairn.CAIRN, "info", *args, hash_], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stdout


def test_the_command(things):
    shown = run(things, "admin", xet.text(things.both.hash()))
    assert "a file of 63000 bytes, 2 terms over 1 xorbs" in shown and f"registered, models/{ANN}, SHA-256 {xet.text(bytes(range(32)))}, since 20" in shown
    assert f"xorb {xet.text(things.shared.hash)}: 12 chunks, 105.5 KiB, " in shown
    assert f"the SHA-256 of, as uploaders said\n  file {xet.text(things.both.hash())}, 63000 bytes" in run(things, "ann", xet.text(bytes(range(32))))
    shown = run(things, "admin", xet.text(things.shared.hash), "--limit", "2")
    assert shown.startswith("a xorb of 12 chunks") and ", needed by\n  file " in shown and shown.endswith("and more: see --limit\n")
    assert f"a chunk of\n  9000 bytes, the one after 0 others in xorb {xet.text(things.shared.hash)}\n" == run(things, "ann", xet.text(things.shared.nodes[0][0]))
    assert json.loads(run(things, "bob", xet.text(things.own.hash()), "--json"))["file"]["xorbs"] == 2
    run(things, "ann", xet.text(things.own.hash()), code=66)
    run(things, "ann", "12", code=64)
