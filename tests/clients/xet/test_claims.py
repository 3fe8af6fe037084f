"""A SHA-256 is only a claim of the owner who uploaded it. Mallory's false claim neither hides Ann's true claim nor counts as Ann's."""

import hashlib

import pytest
import xet

CLAIMS_MAX = 4


@pytest.fixture
def two(start, issuer):
    """A server with tokens: the operator's, and those of the repositories of Ann, Mallory and Carol."""
    server = start(token_key=issuer.folder)
    people = {who: issuer.token(repo=f"{who}/one") for who in ("ann", "mallory", "carol")}
    return server, {"operator": issuer.token("admin"), **people}


def digest(content):
    return hashlib.sha256(content).hexdigest()


def upload(server, token, xorb, sha256, start=0):
    """Uploads a file of a xorb's chunks with a claimed SHA-256, which the shard holds in the byte order of hashes."""
    file = xet.File([(xorb, start, len(xorb.nodes))], sha256 and xet.raw(sha256))
    assert server.put_xorb(xorb, token=token).status == 200
    reply = server.post("/v1/shards", xet.shard([file], [xorb]), token=token)
    assert reply.status == 200, reply
    return xet.text(file.hash())


def found(server, token, sha256):
    """The file that the holder of this token finds by the SHA-256, or None."""
    reply = server.get(f"/v1/files/by-sha256/{sha256}", token=token)
    if reply.status == 404:
        return None
    assert (reply.status, reply.json()["sha256"]) == (200, sha256), reply
    return reply.json()["hash"]


@pytest.mark.parametrize("first", ["mallory", "ann"])
def test_false_claim_of_another_owner(two, make, first):
    server, tokens = two
    xorb = make([9000, 10000], 1)
    said = {"ann": digest(b"".join(xorb.data)), "mallory": digest(b"something that Ann wants to upload one day")}
    for who in (first, *said.keys() - {first}):
        file = upload(server, tokens[who], xorb, said[who])
    for who, other in (("ann", "mallory"), ("mallory", "ann")):
        assert found(server, tokens[who], said[who]) == file
        assert found(server, tokens[who], said[other]) is None
    assert {found(server, tokens[who], said[by]) for who in ("carol", "operator") for by in said} == {None}


def test_claim_on_another_content(two, make):
    """Mallory claims that her bytes have the SHA-256 of Ann's. Ann still finds her own file."""
    server, tokens = two
    true, false = make([9000], 1), make([9000], 2)
    sha256 = digest(true.data[0])
    mine = upload(server, tokens["ann"], true, sha256)
    theirs = upload(server, tokens["mallory"], false, sha256)
    assert found(server, tokens["ann"], sha256) == mine
    assert found(server, tokens["mallory"], sha256) == theirs


def test_the_operators_claim_counts_for_owners_without_one(two, make):
    server, tokens = two
    common, own = make([9000], 1), make([9000], 2)
    sha256 = digest(common.data[0])
    shared = upload(server, tokens["operator"], common, sha256)
    assert {found(server, token, sha256) for token in tokens.values()} == {shared}
    mine = upload(server, tokens["mallory"], own, sha256)
    assert {who: found(server, token, sha256) for who, token in tokens.items()} == {
        "operator": shared, "ann": shared, "carol": shared, "mallory": mine,
    }


def test_sharing_and_forgetting(two, make):
    """Sharing a file gives the right to read it, but not the claim of its former owner. Forgetting a file removes its owner's claim."""
    server, tokens = two
    xorb = make([9000], 1)
    sha256 = digest(xorb.data[0])
    file = upload(server, tokens["mallory"], xorb, sha256)
    assert server.post(f"/v1/files/{file}/share?repo=ann/one", token=tokens["operator"]).json() == {"shared": True}
    assert server.request("HEAD", f"/v1/files/{file}", token=tokens["ann"]).status == 200
    assert found(server, tokens["ann"], sha256) is None
    assert upload(server, tokens["ann"], xorb, sha256) == file
    assert found(server, tokens["ann"], sha256) == file
    assert server.request("DELETE", f"/v1/files/{file}?repo=mallory/one", token=tokens["operator"]).status == 200
    assert [found(server, tokens[who], sha256) for who in ("mallory", "ann")] == [None, file]
    assert upload(server, tokens["mallory"], xorb, None) == file
    assert found(server, tokens["mallory"], sha256) is None
    assert server.request("DELETE", f"/v1/files/{file}", token=tokens["operator"]).status == 200
    assert found(server, tokens["ann"], sha256) is None


def test_few_claims_for_a_file(two, make):
    """An owner whose first claim was wrong may make another, but not without end."""
    server, tokens = two
    xorb = make([9000], 1)
    words = [digest(bytes([i])) for i in range(CLAIMS_MAX + 1)]
    file = [upload(server, tokens["ann"], xorb, word) for word in words][0]
    assert [found(server, tokens["ann"], word) for word in words] == [file] * CLAIMS_MAX + [None]
    upload(server, tokens["mallory"], xorb, words[-1])
    assert found(server, tokens["mallory"], words[-1]) == file


def test_newest_of_several_files(two, make):
    server, tokens = two
    xorb = make([9000] * 3, 1)
    files = [upload(server, tokens["ann"], xorb, digest(b"all of them"), start) for start in range(3)]
    assert found(server, tokens["ann"], digest(b"all of them")) == files[-1]
    assert upload(server, tokens["ann"], xorb, digest(b"all of them"), 0) == files[0]
    assert found(server, tokens["ann"], digest(b"all of them")) == files[-1], "a file that is known already does not count as newer"
