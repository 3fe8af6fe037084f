"""Buckets: the stock command, library and file system, given nothing but the address, and the requests of the JavaScript client."""

import contextlib
import json
import os
import random
import sqlite3
import subprocess
import time

import cairn
import pytest
import xet
from hub_calls import LEADS_OUT, ZEROS, add, delete, make_key, token_of
from huggingface_hub import HfApi, HfFileSystem
from huggingface_hub.errors import BucketNotFoundError, EntryNotFoundError
from people import People


def copy(path, hash_, source, kind="bucket"):
    return {"type": "copyFile", "path": path, "xetHash": hash_, "sourceRepoType": kind, "sourceRepoId": source}


@pytest.fixture
def data():
    return random.Random(5).randbytes(3_000_000)


@pytest.mark.commands
def test_hf_buckets(people):
    """The commands create, list, info, settings, move, remove and delete."""
    assert "ann/data" in people.hf("buckets", "create", "data", "--private")
    people.hf("buckets", "create", "ann/data", fails=True)
    people.hf("buckets", "create", "ann/data", "--exist-ok")
    people.hf("buckets", "create", "team/shared")
    assert "ann/data" in people.hf("buckets", "list") and "team/shared" in people.hf("buckets", "list", "team")
    info = people.api().bucket_info("ann/data")
    assert (info.id, info.private, info.size, info.total_files) == ("ann/data", True, 0, 0)
    assert abs(info.created_at.timestamp() - time.time()) < 300
    people.hf("buckets", "info", "ann/data")
    people.api().update_bucket_settings("ann/data", private=False)
    assert people.api("nobody").bucket_info("ann/data").private is False
    people.hf("buckets", "move", "ann/data", "ann/moved")
    assert people.api().bucket_info("ann/data").id == "ann/moved", "the former name leads to the bucket"
    people.hf("buckets", "delete", "ann/moved", "--yes")
    with pytest.raises(BucketNotFoundError):
        people.api().bucket_info("ann/data")
    people.hf("buckets", "delete", "ann/moved", "--yes", fails=True)
    people.hf("buckets", "delete", "ann/moved", "--yes", "--missing-ok")


def test_hf_sync_both_ways(people, data, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "sub" / "deep").mkdir(parents=True)
    files = {"a.txt": b"hello", "empty": b"", "sub/b.bin": data, "sub/deep/ü +%&=,;@!'().txt": b"odd name"}
    for name, body in files.items():
        (here / name).write_bytes(body)
        os.utime(here / name, (1600000000, 1600000000.123))
    people.hf("buckets", "create", "ann/data")
    people.hf("sync", here, "hf://buckets/ann/data/run")
    assert "othing to sync" in people.hf("sync", here, "hf://buckets/ann/data/run"), "the second sync has nothing to do"
    people.hf("sync", "hf://buckets/ann/data/run", there)
    assert {str(p.relative_to(there)): p.read_bytes() for p in there.rglob("*") if p.is_file()} == files
    assert "othing to sync" in people.hf("sync", "hf://buckets/ann/data/run", there)
    (here / "a.txt").unlink()
    (here / "sub/b.bin").write_bytes(data[:2_000_000] + b"changed" + data[2_000_000:])
    people.hf("sync", here, "hf://buckets/ann/data/run", "--delete")
    people.hf("sync", "hf://buckets/ann/data/run", there, "--delete")
    assert not (there / "a.txt").exists() and (there / "sub/b.bin").read_bytes() == (here / "sub/b.bin").read_bytes()
    info = people.api().bucket_info("ann/data")
    assert (info.total_files, info.size) == (3, len(data) + 7 + 8)


def test_hf_cp(people, data, tmp_path):
    """Copies a file up, down, to the terminal, and between buckets, which moves no bytes."""
    (tmp_path / "one.bin").write_bytes(data)
    for bucket in ("ann/data", "team/copies"):
        people.hf("buckets", "create", bucket)
    people.hf("cp", tmp_path / "one.bin", "hf://buckets/ann/data/logs/")
    people.hf("cp", "hf://buckets/ann/data/logs/one.bin", tmp_path / "two.bin")
    assert (tmp_path / "two.bin").read_bytes() == data
    before = people.server.metrics()["cairn_xorbs_put_total"] if "cairn_xorbs_put_total" in people.server.metrics() else None
    people.hf("cp", "hf://buckets/ann/data/logs/", "hf://buckets/team/copies/kept/")
    assert people.paths("team/copies") == ["kept/one.bin"]
    if before is not None:
        assert people.server.metrics()["cairn_xorbs_put_total"] == before
    people.hf("buckets", "remove", "ann/data/logs/one.bin", "--yes")
    assert people.paths("ann/data") == []
    people.hf("cp", "hf://buckets/team/copies/kept/one.bin", tmp_path / "three.bin", who="rita")
    assert (tmp_path / "three.bin").read_bytes() == data


def test_the_file_system(people, data):
    """ls, glob, reading at an offset, and writing."""
    people.make("ann/data")
    fs = HfFileSystem(endpoint=people.server.url, token=people.keys["ann"], skip_instance_cache=True)
    root = "buckets/ann/data"
    with fs.open(f"{root}/logs/one.bin", "wb") as file:
        file.write(data)
    for name in ("logs/two.txt", "logs.json", "logs/sub/three.txt"):
        fs.pipe(f"{root}/{name}", name.encode())
    assert sorted(fs.ls(root, detail=False, refresh=True)) == [f"{root}/logs", f"{root}/logs.json"]
    assert sorted(fs.ls(f"{root}/logs", detail=False)) == [f"{root}/logs/one.bin", f"{root}/logs/sub", f"{root}/logs/two.txt"]
    assert sorted(fs.glob(f"{root}/**/*.txt")) == [f"{root}/logs/sub/three.txt", f"{root}/logs/two.txt"]
    with fs.open(f"{root}/logs/one.bin", "rb", block_size=65536) as file:
        file.seek(1_234_567)
        assert file.read(1000) == data[1_234_567 : 1_234_567 + 1000]
    assert fs.info(f"{root}/logs/one.bin")["size"] == len(data) and fs.isdir(f"{root}/logs")
    assert not fs.exists(f"{root}/none")
    fs.rm(f"{root}/logs/two.txt")
    assert people.paths("ann/data") == ["logs.json", "logs/one.bin", "logs/sub/three.txt"]


def test_without_tokens(server, tmp_path, data):
    """Clients are given nothing but the address. Everybody is then the operator, with buckets of their own. Deleting a file frees its bytes."""
    api = HfApi(endpoint=server.url, token=False)
    assert api.create_bucket("data").url == f"{server.url}/buckets/operator/data"
    (tmp_path / "f").write_bytes(data)
    api.batch_bucket_files("operator/data", add=[(str(tmp_path / "f"), "f")])
    assert server.get("/buckets/operator/data/resolve/f").body == data
    assert [b.id for b in api.list_buckets()] == ["operator/data"]
    hash_ = next(iter(api.list_bucket_tree("operator/data"))).xet_hash
    assert server.request("HEAD", f"/v1/files/{hash_}").status == 200
    api.batch_bucket_files("operator/data", delete=["f"])
    assert server.request("HEAD", f"/v1/files/{hash_}").status == 404


def test_javascripts_exchanges(people, data):
    """The JavaScript client asks for a token without a revision, sends lines without mtime and without a last newline, uses expand=…, and asks for the size
    of a file."""
    assert people.ask("POST", "/api/buckets/ann/js", body={}).json()["url"] == f"{people.server.url}/buckets/ann/js"
    assert people.ask("GET", "/api/buckets/ann/js?expand[]=likes").status == 200
    hash_ = people.upload("ann/js", data[:100_000])
    assert people.batch("ann/js", add("a/b.bin", hash_), add("empty", ZEROS)).json()["succeeded"] == 2
    assert people.paths("ann/js", query="?recursive=true&expand=false") == ["a/b.bin", "empty"]
    entry = people.ask("GET", "/api/buckets/ann/js/tree").json()[0]
    assert "mtime" not in entry and entry["xetHash"] == hash_ and entry["size"] == 100_000
    look = {"Range": "bytes=0-0", "Accept": "application/vnd.xet-fileinfo+json, */*"}
    reply = people.ask("GET", "/buckets/ann/js/resolve/a/b.bin", **look)
    assert reply.status == 200 and reply.headers["Content-Type"] == "application/vnd.xet-fileinfo+json"
    assert (reply.headers["X-Linked-Size"], reply.headers["X-Xet-Hash"]) == ("100000", hash_)
    refresh, plan = [part.split(">; rel=") for part in reply.headers["Link"].split(", ")]
    assert refresh == [f"<{people.server.url}/api/buckets/ann/js/xet-read-token", '"xet-auth"']
    assert plan == [f"<{people.server.url}/v1/reconstructions/{hash_}", '"xet-reconstruction-info"']
    token = token_of(people.ask("GET", "/api/buckets/ann/js/xet-read-token"))
    assert people.server.get(f"/v2/reconstructions/{hash_}", token=token, headers={"Range": "bytes=0-99999"}).status == 200
    empty = people.ask("GET", "/buckets/ann/js/resolve/empty", **look)
    assert (empty.status, empty.headers["Content-Range"], empty.body) == (200, "bytes */0", b"")
    missing = people.ask("GET", "/buckets/ann/js/resolve/none", **look)
    assert (missing.status, missing.headers["X-Error-Code"]) == (404, "EntryNotFound")
    assert people.batch("ann/js", delete("a/b.bin"), delete("a/b.bin")).json() == {"success": True, "processed": 2, "succeeded": 2, "failed": []}


def test_resolve(people, data):
    people.make("ann/data", private=True)
    hash_ = people.put("ann/data", "x/ü.bin", data[:100_000], contentType="image/png")
    path = "/buckets/ann/data/resolve/x%2F%C3%BC.bin"
    head = people.ask("HEAD", path)
    assert head.status == 200 and head.body == b""
    for name, value in {
        "Content-Length": "100000", "X-Linked-Size": "100000", "X-Xet-Hash": hash_, "ETag": f'"{hash_}"', "X-Linked-Etag": f'"{hash_}"',
        "Accept-Ranges": "bytes", "X-Xet-Refresh-Route": f"{people.server.url}/api/buckets/ann/data/xet-read-token",
    }.items():  # fmt: skip
        assert head.headers[name] == value, name
    whole = people.ask("GET", "/buckets/ann/data/resolve/x/%C3%BC.bin")
    assert (whole.status, whole.body, whole.headers["Content-Type"]) == (200, data[:100_000], "image/png")
    assert whole.headers["Content-Security-Policy"] == "sandbox" and whole.headers["X-Content-Type-Options"] == "nosniff"
    assert "private" in whole.headers["Cache-Control"]
    for range_, first, end in (("bytes=5-9", 5, 10), ("bytes=99990-", 99990, 100_000), ("bytes=-7", 99993, 100_000), ("bytes=0-0", 0, 1)):
        part = people.ask("GET", path, Range=range_)
        assert (part.status, part.body) == (206, data[first:end])
        assert part.headers["Content-Range"] == f"bytes {first}-{end - 1}/100000"
    past = people.ask("GET", path, Range="bytes=100000-")
    assert past.status == 416 and past.headers["Content-Range"] == "bytes */100000"
    assert cairn.is_hub_error(past, 416, "range.past_end")
    assert people.ask("GET", path, Range="bytes=1-2,4-5").body == data[:100_000]
    assert people.ask("GET", path, **{"If-None-Match": f'"{hash_}"'}).status == 304
    assert cairn.is_hub_error(people.ask("GET", path, **{"If-Match": '"other"'}), 412, "etag.other")
    for name in ("none", "x", "x%2F..%2Fx", "%FF", "%zz", "a" * 2000):
        reply = people.ask("GET", f"/buckets/ann/data/resolve/{name}")
        assert cairn.is_hub_error(reply, 404, "entry.unknown") and reply.headers["X-Error-Code"] == "EntryNotFound", name
    people.put("ann/data", "page.html", b"<script>", contentType="text/html")
    assert people.ask("GET", "/buckets/ann/data/resolve/page.html").headers["Content-Type"].startswith("text/plain")
    with pytest.raises(EntryNotFoundError):
        people.api().get_bucket_file_metadata("ann/data", "none")


def test_the_tree(people):
    """Paths are sorted by letters, not by folders. The tree comes whole or one level deep, in pages."""
    people.make("ann/data")
    names = ["logs.json", "logs/a", "logs/sub/b", "logs/sub/c", "logs_old/d", "other", "sub/"[:-1] + "/e"]
    assert people.batch("ann/data", *[add(n, ZEROS) for n in names]).status == 200
    assert people.paths("ann/data") == sorted(names)
    assert people.paths("ann/data", query="?recursive=false") == ["logs.json", "logs/", "logs_old/", "other", "sub/"]
    assert people.paths("ann/data", "/logs") == [n for n in sorted(names) if n.startswith("logs")]
    assert people.paths("ann/data", "/logs", "?recursive=False") == ["logs.json", "logs/a", "logs/sub/", "logs_old/"]
    assert people.paths("ann/data", "/logs%2F", "?recursive=false") == ["logs/a", "logs/sub/"]
    assert people.paths("ann/data", "/logs%2Fsub", "?recursive=0") == ["logs/sub/b", "logs/sub/c"]
    for nothing in ("/none", "/%FF", "/%zz", "/" + "a" * 2000):
        assert people.paths("ann/data", nothing) == []
    many = [f"many/{i:05d}/x" for i in range(2300)]
    for i in range(0, len(many), 1000):
        assert people.batch("ann/data", *[add(n, ZEROS) for n in many[i : i + 1000]]).status == 200
    assert [f.path for f in people.api().list_bucket_tree("ann/data", prefix="many/", recursive=True)] == many
    folders = list(people.api().list_bucket_tree("ann/data", prefix="many", recursive=False))
    assert [f.path for f in folders] == [n[:-2] for n in many] and all(f.uploaded_at for f in folders)
    first = people.ask("GET", "/api/buckets/ann/data/tree/many%2F?recursive=true")
    assert len(first.json()) == 1000 and first.headers["Link"].endswith('cursor=many%2F01000%2Fx>; rel="next"')
    assert "Link" not in people.ask("GET", "/api/buckets/ann/data/tree/many%2F023?recursive=true").headers
    told = people.ask("POST", "/api/buckets/ann/data/paths-info", body={"paths": ["other", "none", "logs/a", "sub", "x" * 3000]})
    assert [e["path"] for e in told.json()] == ["other", "logs/a"]
    for wrong in (b"", b"[]", b"{}", {"paths": "x"}, {"paths": ["x"] * 1001}):
        assert cairn.is_hub_error(people.ask("POST", "/api/buckets/ann/data/paths-info", body=wrong), 400, "paths.body")


def test_a_batch(people, data):
    """A line that cannot be done fails alone. A body that is not a batch changes nothing."""
    people.make("ann/data"), people.make("ann/other")
    hash_ = people.put("ann/data", "a", b"some bytes", mtime=1234567890123)
    entry = people.ask("GET", "/api/buckets/ann/data/tree").json()[0]
    assert entry["mtime"] == "2009-02-13T23:31:30.123Z" and entry["uploadedAt"].endswith("Z")
    mixed = people.batch("ann/data", add("b", hash_, mtime=-1), add("c", "1" * 64), add("../d", hash_), delete("none"), add("e", hash_[1:]))
    told = mixed.json()
    assert (mixed.status, told["success"], told["processed"], told["succeeded"]) == (200, False, 5, 2)
    assert [f["path"] for f in told["failed"]] == ["c", "../d", "e"] and all(f["error"] for f in told["failed"])
    assert people.paths("ann/data") == ["a", "b"]
    for path in ("..\\ddd", "", "/a", "a/", "a//b", ".", "a/./b", "a\nb", "a\x7f"):
        reply = people.batch("ann/data", add(path, hash_))
        assert reply.status == (422 if path else 400), (path, reply)
    for path in LEADS_OUT:
        assert people.batch("ann/data", add(path, hash_)).status == 422, path
    assert people.paths("ann/data") == ["a", "b"]
    # The file must be the bucket's own, or a copy from where the asker may read.
    assert people.batch("ann/other", add("x", hash_)).status == 422
    assert people.batch("ann/other", copy("x", hash_, "ann/data")).json()["success"]
    assert people.batch("ann/other", copy("y", hash_, "ann/none")).status == 422
    assert people.batch("ann/other", copy("y", hash_, "ann/data", "model")).status == 422
    assert people.batch("ann/other", copy("y", ZEROS, "ann/data")).status == 422, "the source has no empty file to copy"
    assert people.ask("GET", "/buckets/ann/other/resolve/x").body == b"some bytes"
    path = "/api/buckets/ann/data/batch"
    for wrong in (b"x", b"[]", b'{"type":"addFile"}', b'{"type":"addfile","path":"q"}', b'{"path":"q"}', b"\xff"):
        body = json.dumps(delete("a")).encode() + b"\n" + wrong + b"\n"
        assert cairn.is_hub_error(people.ask("POST", path, body=body), 400, "batch.line")
    assert cairn.is_hub_error(people.batch("ann/data", delete("a"), delete("x" * 1025)), 400, "batch.path")
    assert cairn.is_hub_error(people.batch("ann/data", *[delete("a")] * 1001), 413, "batch.lines")
    assert "a" in people.paths("ann/data")
    assert people.batch("ann/data").json() == {"success": True, "processed": 0, "succeeded": 0, "failed": []}
    assert people.batch("ann/data", delete("a")).json()["success"]


def test_roles_of_a_team_at_its_bucket(people):
    """What each role of a team may see and do with its bucket. A bucket that somebody may not see is answered as if it did not exist."""
    people.make("team/private", "adam", private=True)
    people.make("team/public", "adam")
    hash_ = people.put("team/private", "f", b"secret", "adam")
    people.put("team/public", "f", b"secret", "adam")
    reads = [
        ("GET", ""), ("GET", "/tree"), ("GET", "/tree/f"), ("POST", "/paths-info", {"paths": ["f"]}), ("GET", "/xet-read-token"),
        ("HEAD", "resolve"), ("GET", "resolve"),
    ]  # fmt: skip
    writes = [("GET", "/xet-write-token"), ("POST", "/batch", delete("none"))]
    admins = [("PUT", "/settings", {"private": True})]

    def ask(bucket, who, method, rest, body=None):
        path = f"/buckets/{bucket}/resolve/f" if rest == "resolve" else f"/api/buckets/{bucket}{rest}"
        return people.ask(method, path, who, body)

    may = {"nobody": 0, "bob": 0, "rita": 1, "reading ann": 1, "ann": 2, "adam": 3, "operator": 3}
    for who, level in may.items():
        for needed, asks in ((1, reads), (2, writes), (3, admins)):
            for one in asks:
                seen, absent = ask("team/private", who, *one), ask("team/absent", who, *one)
                if level >= needed:
                    assert seen.status == 200, (who, one, seen)
                elif level > 0:
                    assert seen.status == 403, (who, one, seen)
                else:
                    same = [{k: v for k, v in r.headers.items() if k.lower() not in ("date", "x-request-id")} for r in (seen, absent)]
                    assert same[0] == same[1], (who, one)
                    assert seen.status == absent.status == (401 if who == "nobody" else 404)
                    assert seen.headers["X-Error-Code"] == "RepoNotFound"
                if needed == 1:
                    assert ask("team/public", who, *one).status == 200, (who, one)
    public = ask("team/public", "nobody", *writes[0])
    assert public.status == 401 and "X-Error-Code" not in public.headers
    assert ask("team/public", "bob", *writes[0]).status == 403
    listed = {who: [b["id"] for b in people.ask("GET", "/api/buckets/team", who).json()] for who in may}
    assert all(listed[who] == (["team/private", "team/public"] if level else ["team/public"]) for who, level in may.items())
    assert people.ask("GET", "/api/buckets/none").status == people.ask("DELETE", "/api/buckets/team").status == 404
    assert people.ask("GET", "/api/buckets/me", "nobody").status == 401
    for who, status in (("nobody", 401), ("bob", 403), ("rita", 403), ("reading ann", 403), ("ann", 200)):
        assert people.ask("POST", f"/api/buckets/team/of-{who.replace(' ', '-')}", who, {}).status == status, who
    assert people.ask("POST", "/api/buckets/none/x", "bob", {}).status == 403
    for who, status in (("nobody", 401), ("bob", 404), ("ann", 403)):
        assert people.ask("DELETE", "/api/buckets/team/private", who).status == status
    # Knowing the hash does not give the right to the file.
    people.make("bob/own", "bob")
    assert people.batch("bob/own", add("f", hash_), copy("g", hash_, "team/private"), copy("h", hash_, "team/absent"), who="bob").status == 422
    token = token_of(people.ask("GET", "/api/buckets/bob/own/xet-write-token", "bob"))
    assert people.server.request("HEAD", f"/v1/files/{hash_}", token=token).status == 404
    wrong = people.ask("GET", "/api/buckets/team/public", "bob", **{"X-Other": "x"})
    assert wrong.status == 200
    people.keys["wrong"] = people.keys["bob"][:-2] + ("A" if people.keys["bob"][-2] != "A" else "B") + people.keys["bob"][-1]
    assert cairn.is_hub_error(people.ask("GET", "/api/buckets/team/public", "wrong"), 401, "key.unknown")


def test_without_a_key_nothing_is_seen_if_so_set(start, issuer, admin, tmp_path):
    people = People(start(token_key=issuer.folder, no_hub_anonymous=True), admin, tmp_path / "home")
    people.make("ann/public")
    people.put("ann/public", "f", b"bytes")
    for path in ("/api/buckets/ann/public", "/api/buckets/ann/public/tree", "/buckets/ann/public/resolve/f"):
        absent = people.ask("GET", path.replace("public", "absent"), "nobody", **{"X-Request-Id": "same"})
        shut = people.ask("GET", path, "nobody", **{"X-Request-Id": "same"})
        assert shut.status == 401 and shut.body == absent.body, path
        assert people.ask("GET", path, "bob").status == 200
    for account in ("ann", "who-is-this"):
        assert people.ask("GET", f"/api/buckets/{account}", "nobody").json() == [], "without a key nobody learns who has an account"


def test_a_key_for_another_repository_opens_no_bucket(people, admin):
    people.make("ann/private", private=True)
    people.keys["narrow"] = make_key(people.server, admin, repo="models/ann/one", scope="write")["key"]
    assert people.ask("GET", "/api/buckets/ann/private", "narrow").status == 404


def test_names_and_moves(people):
    for name in ("-a", "a..b", "a--b", "a" * 97):
        assert cairn.is_hub_error(people.ask("POST", f"/api/buckets/ann/{name}", body={}), 400, "repo.name"), name
    people.make("ann/One")
    taken = people.ask("POST", "/api/buckets/ANN/one", body={})
    assert taken.status == 409 and taken.json()["url"] == f"{people.server.url}/buckets/ann/One" and isinstance(taken.json()["error"], str)
    people.make("ann/two")
    hash_ = people.put("ann/One", "f", b"bytes")

    def move(source, target, who="ann", **more):
        return people.ask("POST", "/api/repos/move", who, {"fromRepo": source, "toRepo": target, "type": "bucket"} | more)

    assert cairn.is_hub_error(move("ann/one", "ann/two"), 409, "repo.known") == "A bucket called ann/two already exists"
    assert move("ann/one", "bob/x").status == 403 and move("ann/one", "ann/x", "bob").status == 403
    assert move("ann/none", "ann/x").status == 404 and move("ann/one", "ann/x", type="model").status == 404
    assert cairn.is_hub_error(people.ask("POST", "/api/repos/move", body={"fromRepo": "x", "toRepo": "a/b"}), 400, "repo.body")
    token = token_of(people.ask("GET", "/api/buckets/ann/one/xet-read-token"))
    assert move("ann/one", "team/three").status == 200
    assert people.ask("GET", "/buckets/team/three/resolve/f").body == b"bytes"
    assert people.server.request("HEAD", f"/v1/files/{hash_}", token=token).status == 200, "a token is for the repository, whatever its name"
    for wrong in (b"x", b"[]"):
        assert cairn.is_hub_error(people.ask("POST", "/api/buckets/ann/x", body=wrong), 400, "bucket.body")
    assert cairn.is_hub_error(people.ask("PUT", "/api/buckets/ann/two/settings", body={}), 400, "bucket.body")


@pytest.mark.sqlite
def test_a_list_in_pages(people):
    for i in range(3):
        people.make(f"ann/b{i}")
    assert [b.id for b in people.api().list_buckets("ann", search="B1")] == ["ann/b1"]
    db = sqlite3.connect(people.server.data / "index.sqlite")
    row = db.execute("SELECT account, scope FROM repo LIMIT 1").fetchone()
    with db:
        rows = [(row[0], f"many{i}", row[1]) for i in range(1200)]
        db.executemany("INSERT INTO repo(kind, account, name, private, scope, created, updated, files, bytes) VALUES(4, ?, ?, 0, ?, 0, 0, 0, 0)", rows)
    db.close()
    assert [b.id for b in people.api().list_buckets("ann", search="many")] == [f"ann/many{i}" for i in range(1200)]


def collect(server, admin):
    reply = server.post("/v1/gc", b"", token=admin)
    assert reply.status == 200, reply


@pytest.mark.skipif(cairn.DAEMONS, reason="daemons collect nothing while their clocks are not the index's")
def test_a_collection_removes_files_without_a_path(start, issuer, clock, tmp_path, data):
    """A file under a path stays. Files that were deleted, overwritten, or dropped with their bucket go after two collections."""
    server = start(token_key=issuer.folder, test_clock=clock.path, gc_grace="15d")
    admin = issuer.token("admin", expires_s=10**8)
    people = People(server, admin, tmp_path / "home")

    def xorbs():
        return server.get("/v1/stats", token=admin).json()["xorbs"]

    for bucket in ("ann/data", "ann/gone"):
        people.make(bucket)
    people.put("ann/data", "keep", data[:100_000])
    people.put("ann/data", "over", data[100_000:200_000])
    people.put("ann/data", "deleted", data[200_000:300_000])
    people.put("ann/gone", "f", data[300_000:400_000])
    people.upload("ann/gone", data[400_000:500_000])
    token = token_of(people.ask("GET", "/api/buckets/ann/gone/xet-write-token"))
    people.put("ann/data", "over", data[500_000:600_000])
    assert people.batch("ann/data", delete("deleted")).status == 200
    assert people.ask("DELETE", "/api/buckets/ann/gone").status == 204
    xorb = xet.Xorb([b"late"])
    server.put_xorb(xorb, token=token)
    late = server.post("/v1/shards", xet.shard([xet.File([(xorb, 0, 1)])], [xorb]), token=token)
    assert late.status == 403 and late.json()["error"]["code"] == "repo.gone"
    before = xorbs()
    for days in (16, 32):
        clock.move(days * 86400)
        collect(server, admin)
    assert (before, xorbs()) == (7, 2)
    assert people.ask("GET", "/buckets/ann/data/resolve/keep").body == data[:100_000]
    assert people.ask("GET", "/buckets/ann/data/resolve/over").body == data[500_000:600_000]
    server.stop()
    assert cairn.look(server.data, "SELECT count(*) FROM repo WHERE dropped IS NOT NULL") == 0


@pytest.mark.sqlite
@pytest.mark.files
def test_fsck_knows_buckets(people):
    """fsck reports and repairs an object whose file does not belong to the bucket, and wrong counters."""
    people.make("ann/data")
    people.put("ann/data", "f", b"some bytes")
    server = people.server
    server.stop()

    def fsck(*options):
        command = [cairn.CAIRN, "fsck", "--json", "--data-dir", str(server.data), *options]
        return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60).stdout)["problems"]

    assert fsck() == []
    db = sqlite3.connect(server.data / "index.sqlite")
    stored = db.execute("SELECT stored FROM repo").fetchall()
    with db:
        db.execute("UPDATE repo SET files = 7, stored = 7")
        db.execute("UPDATE file_owner SET scope = 0")
    db.close()
    assert [p["kind"] for p in fsck()] == ["index.link"] * 3
    fsck("--repair")
    assert fsck() == []
    with contextlib.closing(sqlite3.connect(server.data / "index.sqlite")) as db:
        assert db.execute("SELECT stored FROM repo").fetchall() == stored
    server.start()
    assert people.api().bucket_info("ann/data").total_files == 1
    assert people.ask("GET", "/buckets/ann/data/resolve/f").body == b"some bytes"


@pytest.mark.sqlite
@pytest.mark.files
def test_a_backup_has_buckets(people, start, issuer, tmp_path, data):
    people.make("ann/data", private=True)
    people.put("ann/data", "a/f", data[:100_000], mtime=1234567890123)
    out, folder = tmp_path / "b.fold", tmp_path / "new" / "data"
    folder.parent.mkdir()
    for words in (("backup", "--data-dir", people.server.data, out), ("restore", "--data-dir", folder, out), ("fsck", "--data-dir", folder)):
        subprocess.run([cairn.CAIRN, *map(str, words)], check=True, capture_output=True, timeout=120)
    before = people.ask("GET", "/api/buckets/ann/data/tree").json()
    people.server = start(name="new", token_key=issuer.folder)
    assert people.ask("GET", "/api/buckets/ann/data/tree").json() == before
    assert people.ask("GET", "/buckets/ann/data/resolve/a/f").body == data[:100_000]
    assert people.ask("GET", "/api/buckets/ann/data", "bob").status == 404


@pytest.mark.sqlite
@pytest.mark.parametrize("age_s, young", [(60, False), (7200, True)])
def test_an_upload_that_is_known_becomes_young_again(people, data, age_s, young):
    """A client that uploads a known file relies on the answer. If the last upload is more than an hour old, the file counts as new again, so that no
    collection takes it."""
    people.make("ann/one")
    people.upload("ann/one", data[:100_000])
    with contextlib.closing(sqlite3.connect(people.server.data / "index.sqlite")) as db, db:
        db.execute("UPDATE shard SET at = at - ?", (age_s,))
        db.execute("UPDATE file_owner SET at = 1")
    people.upload("ann/one", data[:100_000])
    with contextlib.closing(sqlite3.connect(people.server.data / "index.sqlite")) as db:
        ((at,),) = db.execute("SELECT at FROM file_owner").fetchall()
    assert (at > 1) == young
