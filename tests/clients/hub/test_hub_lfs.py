"""Git LFS: the real git and git-lfs, requests recorded from other clients, and bodies that lie, break off or belong to another repository."""

import json
import random

import cairn
import pytest
import xet
from hub_calls import account, keeps_conditions, make_key
from lfs import Git, batch, get, helper, oid, place, put
from people import People
from rates import pieces


@pytest.fixture
def people(start, issuer, admin, tmp_path):
    return People(start(token_key=issuer.folder, hub_lfs_create=True), admin, tmp_path / "home")


def rows(server, *tables):
    return {table: cairn.look(server.data, f"SELECT count(*) FROM {table}") for table in tables}


def stored(server):
    return cairn.look(server.data, "SELECT coalesce(sum(stored), 0) FROM xorb")


@pytest.mark.parametrize("prefix,type", [("", "model"), ("datasets/", "dataset"), ("spaces/", "space"), ("kernels/", "kernel")])
def test_push_clone_pull(people, tmp_path, prefix, type):
    git = Git(tmp_path / "git")
    helper(git, people, people.keys["ann"])
    work = git.begin(f"{people.server.url}/{prefix}ann/weights.git/info/lfs")
    first, second, third = (random.Random(i).randbytes(n) for i, n in enumerate((3_000_000, 200, 1_500_000)))
    git.push(work, a=first, b=second)
    clone = git.clone("clone")
    assert (clone / "a.bin").read_bytes() == first and (clone / "b.bin").read_bytes() == second
    git.push(work, a=third)
    git.run("pull", at=clone)
    assert (clone / "a.bin").read_bytes() == third
    assert "objects" not in git.push(work, fails=False, c=first).split("Uploading LFS objects")[0]


@pytest.mark.parametrize("kind", ["address", "askpass", "netrc", "none", "wrong"])
def test_credentials(people, tmp_path, kind):
    """git takes credentials from the address, from a helper program, or from ~/.netrc. Without any, or with a wrong one, nothing is pushed."""
    key, url, env = people.keys["ann"], people.server.url + "/ann/weights.git/info/lfs", {}
    host = people.server.url.removeprefix("http://").split(":")[0]
    if kind == "address":
        url = url.replace("://", f"://ann:{key}@")
    elif kind == "askpass":
        script = tmp_path / "askpass"
        script.write_text(f'#!/bin/sh\ncase "$1" in Username*) echo ann ;; *) echo {key} ;; esac\n')
        script.chmod(0o755)
        env = {"GIT_ASKPASS": str(script)}
    git = Git(tmp_path / "git", **env)
    if kind in ("netrc", "wrong"):
        netrc = git.folder / "cache" / ".netrc"
        netrc.write_text(f"machine {host} login ann password {key if kind == 'netrc' else 'hf_cairn_' + 'x' * 43}\n")
        netrc.chmod(0o600)
    data, fails = random.Random(1).randbytes(5000), kind in ("none", "wrong")
    work = git.begin(url)
    git.push(work, fails=fails, a=data)
    assert rows(people.server, "file", "repo") == ({"file": 0, "repo": 0} if fails else {"file": 1, "repo": 1})
    if not fails:
        assert (git.clone("clone") / "a.bin").read_bytes() == data


def test_by_xet(people):
    """@huggingface/hub and older huggingface_hub ask for the xet transfer. They send the bytes to the store with the token of the answer; plain downloads
    give them back."""
    data = random.Random(2).randbytes(300_000)
    asked = {"transfers": ["basic", "multipart", "xet"], "hash_algo": "sha_256", "ref": {"name": "main"}}
    reply = batch(people, "ann/weights", "upload", data, **asked)
    assert (reply.status, reply.json()["transfer"]) == (200, "xet"), reply
    (item,) = reply.json()["objects"]
    assert (item["oid"], item["size"], item["authenticated"]) == (oid(data), len(data), True)
    header = item["actions"]["upload"]["header"]
    assert header["X-Xet-Cas-Url"] == people.server.url and header["X-Xet-Token-Expiration"].isdigit()
    assert item["actions"]["upload"]["href"] == people.server.url + "/api/models/ann/weights/xet-write-token/main"
    token = header["X-Xet-Access-Token"]
    xorb = xet.Xorb([data[i : i + 100_000] for i in range(0, len(data), 100_000)])
    assert people.server.put_xorb(xorb, token=token).status == 200
    file = xet.File([(xorb, 0, 3)], xet.raw(oid(data)))
    assert people.server.post("/v1/shards", xet.shard([file], [xorb]), token=token).status == 200
    reply = batch(people, "ann/weights", "upload", data, **asked)
    assert "actions" not in reply.json()["objects"][0], "bytes that are there are not sent again"
    reply = batch(people, "ann/weights", "download", data, transfers=["lfs-standalone-file", "xet", "basic", "ssh"])
    assert reply.json()["transfer"] == "basic"
    assert people.server.request("GET", place(people, reply)).body == data


def test_bodies_of_all_lengths(people):
    for n in (0, 1, 8191, 131072, 1 << 20, (1 << 20) + 1, 3_456_789):
        data = random.Random(n).randbytes(n)
        put(people, "ann/weights", data)
        assert get(people, "ann/weights", data).body == data
        assert "actions" not in batch(people, "ann/weights", "upload", data).json()["objects"][0]
    part = get(people, "ann/weights", data, Range="bytes=1000000-1000099")
    assert (part.status, part.body, part.headers["Content-Range"]) == (206, data[1000000:1000100], f"bytes 1000000-1000099/{n}")
    assert get(people, "ann/weights", data, Range=f"bytes={n}-").status == 416
    head = people.server.request("HEAD", place(people, batch(people, "ann/weights", "download", data)))
    assert (head.status, head.headers["Content-Length"]) == (200, str(n))


def test_conditions(people):
    """A client that resumes a download continues with the same object. A proxy may ask whether its cached object is current."""
    data = random.Random(11).randbytes(100_000)
    put(people, "ann/weights", data)
    where, etag = place(people, batch(people, "ann/weights", "download", data)), f'"{oid(data)}"'

    def ask(method, **headers):
        return people.server.request(method, where, headers=headers)

    keeps_conditions(ask, data, etag)
    for same, status in ((etag, 206), ('"another"', 200), (f"W/{etag}", 200)):
        part = ask("GET", **{"Range": "bytes=2-4", "If-Range": same})
        assert (part.status, part.body) == (status, data[2:5] if status == 206 else data)


def test_a_second_version_adds_little(people):
    """When 1 % of a file changes in two places, less than 3 % is stored anew. A copy with another first byte adds about one chunk."""
    data = bytearray(random.Random(3).randbytes(24 << 20))
    put(people, "ann/weights", bytes(data))
    before = stored(people.server)
    assert before >= len(data)
    for at in (5_000_000, 17_000_000):
        data[at : at + len(data) // 200] = random.Random(at).randbytes(len(data) // 200)
    put(people, "ann/weights", bytes(data))
    assert stored(people.server) - before < 0.03 * len(data)
    before = stored(people.server)
    data[0] ^= 1
    put(people, "ann/weights", bytes(data))
    assert stored(people.server) - before < 2 << 20
    assert get(people, "ann/weights", bytes(data)).body == bytes(data)


def test_bad_batches(people):
    assert batch(people, "ann/weights", "verify").status == 400
    assert batch(people, "ann/weights", "upload", b"x", hash_algo="sha512").status == 409
    assert batch(people, "ann/weights", "download", b"x").json()["message"] == "Repository not found"
    objects = [{"oid": "x", "size": 1}, {"oid": oid(b"x").upper(), "size": -1}, {"oid": oid(b"x"), "size": 1 << 41}, 5]
    found = batch(people, "ann/weights", "upload", objects=objects).json()["objects"]
    assert [o["error"]["code"] for o in found] == [422] * 4
    assert [o["oid"] for o in batch(people, "ann/weights", "upload", b"a", b"b", b"a").json()["objects"]] == [oid(b"a"), oid(b"b")]
    (gone,) = batch(people, "ann/weights", "download", b"nowhere").json()["objects"]
    assert gone["error"]["code"] == 404 and "actions" not in gone
    put(people, "ann/weights", b"data")
    for operation in ("upload", "download"):
        (other,) = batch(people, "ann/weights", operation, objects=[{"oid": oid(b"data"), "size": 5}]).json()["objects"]
        assert other["error"]["code"] == 422
    for path in ("locks/verify", "verify"):
        assert people.ask("POST", f"/ann/weights.git/info/lfs/{path}", body={}).status == 404


def is_lfs_error(reply, status, code):
    return reply.status == status and reply.json()["code"] == code and reply.json()["message"]


@pytest.mark.parametrize("n", [1000, 3_000_000])
def test_a_body_with_other_bytes_is_refused(people, n):
    """A body with other bytes or another length is refused. It makes no file and no claim; the chunks stored meanwhile are garbage for the next collection."""
    data = random.Random(4).randbytes(n)
    where = place(people, batch(people, "ann/weights", "upload", data))
    for lie in (bytes([data[0] ^ 1]) + data[1:], data[:-1] + bytes([data[-1] ^ 1])):
        assert is_lfs_error(people.server.request("PUT", where, body=lie), 422, "ingest.sha256")
    assert is_lfs_error(people.server.request("PUT", where, body=b"x"), 422, "ingest.size")
    assert rows(people.server, "file", "file_owner") == {"file": 0, "file_owner": 0}
    put(people, "ann/weights", data)
    assert rows(people.server, "file", "file_owner") == {"file": 1, "file_owner": 1}


def test_a_body_without_a_length(people):
    """A proxy removed the Content-Length; oid and size are known without it. Each window of a body is processed while the next one arrives."""
    data = random.Random(12).randbytes(5_000_000)
    where = place(people, batch(people, "ann/weights", "upload", data))
    head = f"PUT {where} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    for lie, rule in ((data + b"x", b"ingest.size"), (data[:-1], b"ingest.size"), (data[:-1] + b"\0", b"ingest.sha256"), (b"", b"ingest.size")):
        reply = people.server.raw(head + pieces(lie, [99_999, 1, 40_000]))
        assert reply.startswith(b"HTTP/1.1 422") and rule in reply, (len(lie), reply[:300])
    assert rows(people.server, "file", "file_owner") == {"file": 0, "file_owner": 0}
    assert people.server.raw(head + pieces(data, [99_999, 1, 40_000])).startswith(b"HTTP/1.1 200")
    assert get(people, "ann/weights", data).body == data


def test_addresses_are_signed(people):
    data = b"some data"
    where = place(people, batch(people, "ann/weights", "upload", data))
    put(people, "ann/other", b"something else")
    number = int(where.split("/")[2])
    wrong = [where[:-1] + ("0" if where[-1] != "0" else "1"), where.replace(oid(data), oid(b"x")), where.split("&sig")[0]]
    wrong += [where.replace(f"/lfs/{number}/", f"/lfs/{number + 1}/"), where.replace("alone=1", "alone=0"), where.replace("exp=", "exp=9")]
    for path in wrong:
        assert is_lfs_error(people.server.request("PUT", path, body=data), 403, "lfs.signature"), path
    assert is_lfs_error(people.server.request("GET", where), 403, "lfs.signature"), "the address was signed for PUT"
    assert people.server.request("PUT", where, body=data).status == 200


def test_an_address_expires(start, issuer, admin, tmp_path, clock):
    people = People(start(token_key=issuer.folder, hub_lfs_create=True, test_clock=clock.path), admin, tmp_path / "home")
    where = place(people, batch(people, "ann/weights", "upload", b"late"))
    clock.move(2 * 3600)
    assert is_lfs_error(people.server.request("PUT", where, body=b"late"), 403, "lfs.expired")
    clock.move(0)
    assert people.server.request("PUT", where, body=b"late").status == 200


def send_half(people, where, data):
    s = people.server.socket()
    s.sendall(f"PUT {where} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data[: len(data) // 2])
    return s


def test_a_body_that_breaks_off(people):
    data = random.Random(6).randbytes(6_000_000)
    where = place(people, batch(people, "ann/weights", "upload", data))
    for _ in range(3):
        send_half(people, where, data).close()
    cairn.wait_until("the bytes to count no more", lambda: people.server.metrics()["cairn_spool_bytes"] == 0)
    assert rows(people.server, "file", "file_owner", "xorb") == {"file": 0, "file_owner": 0, "xorb": 0}
    put(people, "ann/weights", data)
    assert get(people, "ann/weights", data).body == data


def test_kill_in_the_middle(people):
    data = random.Random(7).randbytes(6_000_000)
    where = place(people, batch(people, "ann/weights", "upload", data))
    s = send_half(people, where, data)
    cairn.wait_until("a part of the body", lambda: people.server.metrics()["cairn_spool_bytes"] > 0)
    people.server.kill()
    s.close()
    people.server.start()
    assert rows(people.server, "file", "file_owner", "xorb") == {"file": 0, "file_owner": 0, "xorb": 0}
    put(people, "ann/weights", data)
    assert get(people, "ann/weights", data).body == data


def test_collections_keep_objects(start, issuer, admin, tmp_path):
    """Git LFS objects are kept although no commit here names them: the commits are elsewhere."""
    people = People(start(token_key=issuer.folder, hub_lfs_create=True, hub_upload_grace="0s"), admin, tmp_path / "home")
    data = random.Random(9).randbytes(100_000)
    put(people, "ann/weights", data)
    for _ in range(2):
        assert people.server.post("/v1/gc", token=admin).status == 200
    assert get(people, "ann/weights", data).body == data


def test_a_gate(people):
    """Somebody who may only see that the repository exists gets none of its objects."""
    data = b"behind the gate" * 100
    put(people, "ann/weights", data)
    assert people.ask("PUT", "/api/models/ann/weights/settings", "ann", {"private": False, "gated": "manual"}).status == 200
    assert is_lfs_error(batch(people, "ann/weights", "download", data, who="bob"), 403, "repo.gated")
    assert is_lfs_error(batch(people, "ann/weights", "download", data, who="nobody"), 401, "repo.gated"), "a 401 makes git-lfs ask for a key"
    assert get(people, "ann/weights", data).body == data


def test_objects_are_of_their_repository(people):
    data = random.Random(8).randbytes(400_000)
    put(people, "ann/weights", data)
    for operation in ("upload", "download"):
        reply = batch(people, "ann/weights", operation, data, who="bob")
        assert is_lfs_error(reply, 404, "repo.unknown")
        assert reply.json() | {"request_id": 0} == batch(people, "ann/nothing", operation, data, who="bob").json() | {"request_id": 0}
        nobody = batch(people, "ann/weights", operation, data, who="nobody")
        assert nobody.status == 401 and nobody.headers["WWW-Authenticate"].startswith("Basic realm="), nobody
    put(people, "bob/own", b"x", who="bob")
    assert batch(people, "bob/own", "download", data, who="bob").json()["objects"][0]["error"]["code"] == 404
    assert "actions" in batch(people, "bob/own", "upload", data, who="bob").json()["objects"][0], "bytes that only another repository has must be sent"
    before = rows(people.server, "file_owner")["file_owner"]
    put(people, "bob/own", data, who="bob")
    assert rows(people.server, "file", "file_owner") == {"file": 2, "file_owner": before + 1}
    assert is_lfs_error(batch(people, "ann/weights", "upload", b"y", who="reading ann"), 403, "repo.denied")
    people.keys["wrong"] = "hf_cairn_" + "x" * 43
    assert batch(people, "ann/weights", "download", data, who="wrong").status == 401
    assert batch(people, "team/new", "upload", data, who="rita").status == 404, "rita may read in the team, and make nothing"


def test_none_is_made_unless_allowed(start, issuer, admin, tmp_path):
    server = start(token_key=issuer.folder)
    account(server, admin, "ann")
    key = make_key(server, admin, account="ann", scope="write")["key"]
    body = json.dumps({"operation": "upload", "objects": []})
    reply = server.request("POST", "/ann/weights.git/info/lfs/objects/batch", body=body, headers={"Authorization": f"Bearer {key}"})
    assert is_lfs_error(reply, 404, "repo.unknown")
