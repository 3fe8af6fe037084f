"""Files of the store in pull requests by people who may read a repository but not write in it."""

import hashlib
import io
import json
import signal

import cairn
import pytest
import xet
from hub_calls import PULLS, WRITE, collect, commit, deleted, done, lines, make, older, paths, stored, text, token_of, upload
from huggingface_hub import hf_hub_download
from people import People

NEW = "/api/models/ann/one/commit/main?create_pr=1"
BATCH = "/ann/one.git/info/lfs/objects/batch"
HIDDEN = "bob/.proposals"


def held(people, who):
    return people.ask("GET", "/api/whoami-v2", who).json()["usedStorage"]


def got(people, path, place="refs%2Fpr%2F1", who="rita", repo="ann/one"):
    return people.ask("GET", f"/{repo}/resolve/{place}/{path}", who)


def send(people, data, who="bob", said=None, place="main?create_pr=1", repo="models/ann/one"):
    """Uploads the bytes for a pull request, as hf_xet does. @return their claimed SHA-256, and the file's hash"""
    token = token_of(people.ask("GET", f"/api/{repo}/{WRITE}/{place}", who))
    xorb = xet.Xorb([data])
    said = said or hashlib.sha256(data).hexdigest()
    file = xet.File([(xorb, 0, 1)], xet.raw(said))
    assert people.server.put_xorb(xorb, token=token).status == 200
    assert people.server.post("/v1/shards", xet.shard([file], [xorb]), token=token).status == 200
    return said, xet.text(file.hash())


def propose(people, *operations, who="bob", to=NEW):
    return people.ask("POST", to, who, lines(*operations))


def is_opened(reply):
    return reply.status == 200 and "/discussions/" in reply.json()["pullRequestUrl"]


def asked(people, data, who="bob", transfers=("basic", "multipart"), path=BATCH):
    objects = [{"oid": hashlib.sha256(data).hexdigest(), "size": len(data)}]
    body = {"operation": "upload", "transfers": list(transfers), "objects": objects, "hash_algo": "sha256", "ref": {"name": "main"}}
    return people.ask("POST", path, who, body)


def limit(people, admin, quota_bytes, place="bob"):
    body = json.dumps({"place": place, "quota_bytes": quota_bytes}).encode()
    assert people.server.request("POST", "/v1/quotas", body=body, headers={"Authorization": f"Bearer {admin}"}).status == 200


def test_stock_clients(people, data, tmp_path):
    """bob, who may only read, opens pull requests with files: by Xet, by Git LFS, with a folder, and with hf. Whoever may read the repository reads them there.
    ann merges one, and then her repository owns the file."""
    make(people)
    (tmp_path / "f").mkdir()
    for i in range(3):
        (tmp_path / "f" / f"{i}.bin").write_bytes(data[i * 100_000 : (i + 1) * 100_000])
    ann, bob = held(people, "ann"), people.api("bob")
    made = bob.upload_file(path_or_fileobj=tmp_path / "f" / "0.bin", path_in_repo="0.bin", repo_id="ann/one", create_pr=True)
    assert made.pr_num == 1
    before = held(people, "bob")
    assert 100_000 <= before < 110_000 and held(people, "ann") == ann
    # An object of io.BufferedIOBase goes by Git LFS.
    bob.upload_file(path_or_fileobj=io.BytesIO(data[300_000:400_000]), path_in_repo="lfs.bin", repo_id="ann/one", create_pr=True)
    bob.upload_folder(folder_path=tmp_path / "f", repo_id="ann/one", create_pr=True)
    people.hf("upload", "ann/one", tmp_path / "f" / "1.bin", "w.bin", "--create-pr", who="bob")
    people.hf("upload", "ann/one", tmp_path / "f", ".", "--create-pr", who="bob")
    bob.upload_file(path_or_fileobj=io.BytesIO(data[400_000:500_000]), path_in_repo="more.bin", repo_id="ann/one", revision="refs/pr/1")
    bob.upload_file(path_or_fileobj=tmp_path / "f" / "2.bin", path_in_repo="2.bin", repo_id="ann/one", revision="refs/pr/1")
    assert sorted(paths(people, place="refs%2Fpr%2F1")) == ["0.bin", "2.bin", "more.bin"]
    assert sorted(paths(people, place="refs%2Fpr%2F5")) == sorted(paths(people, place="refs%2Fpr%2F3")) == ["0.bin", "1.bin", "2.bin"]
    # A file counts once for the account, in however many pull requests.
    assert 500_000 <= held(people, "bob") < 530_000 and held(people, "ann") == ann
    for who in ("ann", "nobody", "rita", "bob"):
        assert got(people, "0.bin", who=who).body == data[:100_000] and got(people, "more.bin", who=who).body == data[400_000:500_000], who
        at = hf_hub_download("ann/one", "2.bin", revision="refs/pr/1", local_dir=tmp_path / who, endpoint=people.server.url, token=people.keys[who] or False)
        with open(at, "rb") as file:
            assert file.read() == data[200_000:300_000]
    assert got(people, "lfs.bin", "refs%2Fpr%2F2", "nobody").body == data[300_000:400_000]
    people.api().merge_pull_request("ann/one", 1)
    assert got(people, "0.bin", "main", "nobody").body == data[:100_000] and got(people, "more.bin", "main").body == data[400_000:500_000]
    assert 300_000 <= held(people, "ann") - ann < 310_000
    # Other pull requests still need 0.bin and 2.bin.
    assert 400_000 <= held(people, "bob") < 430_000
    for number in (2, 3, 4):
        people.api().merge_pull_request("ann/one", number)
    people.api().change_discussion_status("ann/one", 5, "closed")
    assert got(people, "lfs.bin", "main").body == data[300_000:400_000] and got(people, "1.bin", "main").body == data[100_000:200_000]
    assert [f.filename for f in people.api().list_lfs_files("ann/one")].count("1.bin") == 1


@pytest.mark.parametrize("version", ["1.33.0", "0.36.0"])
def test_older_libraries(people, tmp_path, data, version):
    make(people)
    (tmp_path / "w.bin").write_bytes(data[:100_000])
    code = (
        "import os\n"
        "w = os.environ['W']\n"
        "api.upload_file(path_or_fileobj=w, path_in_repo='a.bin', repo_id='ann/one', create_pr=True)\n"
        "api.upload_file(path_or_fileobj=open(w, 'rb'), path_in_repo='b.bin', repo_id='ann/one', revision='refs/pr/1')\n"
        "api.upload_folder(folder_path=os.path.dirname(w), allow_patterns='*.bin', repo_id='ann/one', create_pr=True)\n"
        "print(json.dumps(api.list_repo_files('ann/one', revision='refs/pr/1')))"
    )
    assert older(people, tmp_path, code, who="bob", version=version, W=str(tmp_path / "w.bin")) == [".gitattributes", "a.bin", "b.bin"]
    assert got(people, "b.bin").body == data[:100_000]


def test_a_private_repository(people, data):
    """A member who may only read proposes to a private repository of the team. Nobody else reads the file."""
    people.api().create_repo("team/own", private=True)
    said, hash_ = send(people, data[:80_000], who="rita", repo="models/team/own")
    assert people.ask("POST", "/api/models/team/own/commit/main?create_pr=1", "rita", lines(stored("w", said, 80_000))).status == 200
    assert got(people, "w", who="ann", repo="team/own").body == data[:80_000]
    for who in ("bob", "nobody"):
        assert got(people, "w", who=who, repo="team/own").status in (401, 404)
    assert people.ask("GET", f"/api/models/team/own/{WRITE}/main?create_pr=1", "bob").status == 404
    # A token for another repository reads nothing of it.
    make(people, "bob/two", "bob")
    token = token_of(people.ask("GET", "/api/models/bob/two/xet-write-token/main", "bob"))
    assert people.server.get(f"/v1/reconstructions/{hash_}", headers={"Authorization": f"Bearer {token}"}).status == 404


def test_files_of_others_cannot_be_proposed(people, data):
    """Knowing a file's hashes is not enough to propose it, whether it is hidden in this repository or in a private one."""
    make(people)
    make(people, "ann/secret", private=True)
    secrets = [upload(people, data[:80_000]), upload(people, data[100_000:180_000], "models/ann/secret")]
    done(commit(people, stored("s", secrets[1][0], 80_000), repo="models/ann/secret"))
    send(people, data[200_000:280_000])
    token = token_of(people.ask("GET", f"/api/models/ann/one/{WRITE}/main?create_pr=1", "bob"))
    for sha256, hash_ in secrets:
        assert cairn.is_hub_error(propose(people, stored("x", sha256, 80_000)), 400, "commit.sha256")
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize 80000\n"
        assert cairn.is_hub_error(propose(people, text("x", pointer)), 400, "commit.sha256")
        assert people.server.get(f"/v1/reconstructions/{hash_}", headers={"Authorization": f"Bearer {token}"}).status == 404
    # The answers are those for a file that nobody has.
    absent = hashlib.sha256(b"absent").hexdigest()

    def told(sha256):
        object_ = {"operation": "upload", "transfers": ["multipart"], "objects": [{"oid": sha256, "size": 80_000}]}
        ask = {"files": [{"path": "x", "size": 80_000, "sample": "AAAA"}]}
        said = (
            propose(people, stored("x", sha256, 80_000)).json() | {"request_id": 0},
            people.ask("POST", BATCH, "bob", object_).json()["objects"][0]["actions"]["upload"]["href"].split("?")[0].replace(sha256, "*"),
            people.ask("POST", "/api/models/ann/one/preupload/main?create_pr=1", "bob", ask).json(),
        )
        return json.dumps(said)

    assert told(secrets[0][0]) == told(secrets[1][0]) == told(absent)
    # The batch finds only files that bob has uploaded.
    for i in range(3):
        object_ = asked(people, data[i * 100_000 : i * 100_000 + 80_000]).json()["objects"][0]
        assert ("actions" in object_) == (i < 2), i
    # No file can be copied into the bucket, neither from a repository that bob may read nor through one of his own.
    make(people, "bob/two", "bob")
    body = {"target": {"type": "model", "name": HIDDEN}, "files": [{"xetHash": secrets[0][1], "sha256": secrets[0][0]}]}
    assert people.ask("POST", "/api/models/ann/one/lfs-files/duplicate", "bob", body).status in (400, 403, 404)
    assert people.ask("GET", PULLS).json()["count"] == 0
    # Nobody can copy a file of a pull request before the merge.
    said, hash_ = send(people, data[300_000:380_000])
    assert is_opened(propose(people, stored("p", said, 80_000)))
    body = {"target": {"type": "model", "name": "bob/two"}, "files": [{"xetHash": hash_, "sha256": said}]}
    assert len(people.ask("POST", "/api/models/ann/one/lfs-files/duplicate", "bob", body).json()["failed"]) == 1
    # Another stranger cannot propose it, either.
    assert cairn.is_hub_error(propose(people, stored("p", said, 80_000), who="rita"), 400, "commit.sha256")


def test_a_false_sha256_loses_the_proposed_file(start, issuer, admin, tmp_path, data):
    """bob claims that his own bytes have the SHA-256 of ann's file. Her upload is not skipped because of that. Once his claim is disproved, his pull request no
    longer has the file."""
    config = tmp_path / "cairnd.conf"
    config.write_text("proof_rate = 0\n")
    people = People(start(token_key=issuer.folder, config=config, variables={"CAIRN_PROOF_RATE": None}), admin, tmp_path / "home")
    make(people)
    sha256 = hashlib.sha256(data[:80_000]).hexdigest()
    send(people, data[100_000:180_000], said=sha256)
    assert is_opened(propose(people, stored("w", sha256, 80_000)))
    assert "actions" in asked(people, data[:80_000], who="ann").json()["objects"][0]
    assert upload(people, data[:80_000])[0] == sha256
    done(commit(people, stored("w", sha256, 80_000)))
    assert got(people, "w", "main").body == data[:80_000]
    config.write_text("proof_rate = 1G\n")
    people.server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("bob's claim is disproved", lambda: got(people, "w").status != 200)
    assert got(people, "w").status == 404
    assert got(people, "w", "main").body == data[:80_000]
    assert cairn.is_hub_error(propose(people, stored("w2", sha256, 80_000)), 400, "commit.sha256")


def test_the_quota_of_the_stranger_counts_before_the_merge(people, admin, data):
    """Files that exceed bob's quota are refused before they are sent, even if ann's quota has room. ann's quota decides about the merge."""
    make(people)
    said, _ = send(people, data[:80_000])
    assert is_opened(propose(people, stored("w", said, 80_000)))
    limit(people, admin, held(people, "ann"), "ann")
    limit(people, admin, 150_000)
    ask = {"files": [{"path": "big.bin", "size": 90_000, "sample": "AAAA"}]}
    refusal = people.ask("POST", "/api/models/ann/one/preupload/main?create_pr=1", "bob", ask)
    assert cairn.is_hub_error(refusal, 403, "quota.account") and "bob" in refusal.json()["error"]
    assert asked(people, data[100_000:180_000]).json()["objects"][0]["error"]["code"] == 403
    token = token_of(people.ask("GET", f"/api/models/ann/one/{WRITE}/main?create_pr=1", "bob"))
    xorb = xet.Xorb([data[100_000:180_000]])
    assert people.server.put_xorb(xorb, token=token).status == 200
    late = people.server.post("/v1/shards", xet.shard([xet.File([(xorb, 0, 1)])], [xorb]), token=token)
    assert late.status == 403 and late.json()["error"]["code"] == "quota.account"
    merge = people.ask("POST", f"{PULLS}/1/merge", body={})
    assert cairn.is_hub_error(merge, 403, "quota.account")
    before = held(people, "bob")
    limit(people, admin, "none", "ann")
    assert people.ask("POST", f"{PULLS}/1/merge", body={}).status == 200
    assert held(people, "bob") < before - 80_000 and got(people, "w", "main").body == data[:80_000]


@pytest.mark.skipif(cairn.DAEMONS, reason="daemons collect nothing while their clocks are not the index's")
def test_a_closed_pull_request_is_removed_with_its_files(start, issuer, clock, tmp_path, data):
    """Some time after bob closed his pull request, a collection removes it with its files, which no longer count for him. Its number is not reused. Files that
    ann took into a branch stay, and count for her."""
    server = start(token_key=issuer.folder, test_clock=clock.path, gc_grace="15d")
    admin = issuer.token("admin", expires_s=10**8)
    people = People(server, admin, tmp_path / "home")
    make(people)
    nothing, ann = held(people, "bob"), held(people, "ann")
    for i in range(3):
        said, _ = send(people, data[i * 100_000 : i * 100_000 + 80_000])
        assert is_opened(propose(people, stored("w", said, 80_000), text("t", f"{i}")))
    send(people, data[300_000:380_000])
    assert people.ask("POST", "/api/models/ann/one/branch/kept", body={"startingPoint": "refs/pr/2"}).status == 200
    for number in (1, 2, 3):
        assert people.ask("POST", f"{PULLS}/{number}/status", "bob", {"status": "closed"}).status == 200
    collect(people, admin)
    assert got(people, "w").body == data[:80_000] and held(people, "bob") > 4 * 80_000
    for days in (16, 32, 48):
        clock.move(days * 86400)
        collect(people, admin)
    for number in (1, 2, 3):
        assert cairn.is_hub_error(people.ask("GET", f"{PULLS}/{number}"), 404, "pr.unknown")
        assert got(people, "w", f"refs%2Fpr%2F{number}").status == 404
    assert held(people, "bob") == nothing + 1024, "the empty bucket of bob's files stays"
    assert server.get("/v1/stats", token=admin).json()["xorbs"] == 1
    assert got(people, "w", "kept").body == data[100_000:180_000] and held(people, "ann") - ann > 80_000
    made = propose(people, text("again", "x"))
    assert made.json()["pullRequestUrl"].endswith("/discussions/4")


def test_the_bucket_is_hidden(people, data):
    """Nobody can find the bucket by its name, list it, create it, or put something else into it."""
    make(people)
    said, hash_ = send(people, data[:80_000])
    assert is_opened(propose(people, stored("w", said, 80_000)))
    for who in ("bob", "ann", "operator"):
        for method, path, body in (
            ("GET", f"/api/buckets/{HIDDEN}", None),
            ("GET", f"/api/buckets/{HIDDEN}/tree", None),
            ("GET", f"/api/buckets/{HIDDEN}/{WRITE}", None),
            ("DELETE", f"/api/buckets/{HIDDEN}", None),
            ("PUT", f"/api/buckets/{HIDDEN}/settings", {"private": False}),
            ("GET", f"/buckets/{HIDDEN}", None),
        ):
            assert people.ask(method, path, who, body).status in (404, 405), (who, method, path)
        assert people.ask("POST", f"/api/buckets/{HIDDEN}/batch", who, b"").status in (400, 404)
    assert people.ask("POST", f"/api/buckets/{HIDDEN}", "bob", {"private": True}).status in (400, 422)
    moved = people.ask("POST", "/api/repos/move", "bob", {"fromRepo": HIDDEN, "toRepo": "bob/mine", "type": "bucket"})
    assert moved.status in (400, 404)
    assert people.ask("GET", "/api/buckets/bob", "bob").json() == []
    assert ".proposals" not in str(people.ask("GET", "/bob", "bob").body)
    # bob cannot copy a file of the hidden bucket into another one; he must upload it.
    people.make("bob/data", "bob")
    copy = {"type": "copyFile", "path": "x", "xetHash": hash_, "sourceRepoType": "bucket", "sourceRepoId": HIDDEN}
    reply = people.batch("bob/data", copy, who="bob")
    assert reply.status >= 400 or not reply.json()["success"]


def test_refusals_say_how_to_propose(people, data):
    """Refusals say how to propose a change. Git LFS, which would commit nothing, does not upload for a proposal."""
    make(people)
    for reply in (
        asked(people, data[:80_000], transfers=("basic", "ssh")),
        asked(people, data[:80_000], who="reading ann", path="/team/own.git/info/lfs/objects/batch"),
        people.ask("GET", f"/api/models/ann/one/{WRITE}/main", "bob"),
        commit(people, text("x", "x"), who="bob"),
    ):
        if b"repo.unknown" not in reply.body:
            assert reply.status == 403 and b"create_pr=True" in reply.body, reply.body
    assert people.ask("PUT", "/api/models/ann/one/settings", body={"discussionsDisabled": True}).status == 200
    assert asked(people, data[:80_000]).status == 403 and b"only from those who may write" in asked(people, data[:80_000]).body
    assert cairn.is_hub_error(people.ask("GET", f"/api/models/ann/one/{WRITE}/main?create_pr=1", "bob"), 403, "pr.closed")
    assert people.ask("PUT", "/api/models/ann/one/settings", body={"discussionsDisabled": False}).status == 200
    for many in (lines(*(stored(f"f{i}", "0" * 64, 1) for i in range(1001))), lines(*(text(f"f{i}", "x") for i in range(1001)))):
        assert cairn.is_hub_error(people.ask("POST", NEW, "bob", many), 413, "commit.lines")
    assert people.ask("POST", NEW, body=many).status == 200


def test_bytes_that_were_deleted(people, data):
    """ann deleted the bytes of a file for good. A proposal of the same bytes does not give them back to main."""
    make(people)
    sha256, _ = upload(people, data[:80_000])
    done(commit(people, stored("w", sha256, 80_000)))
    ann = people.api()
    files = list(ann.list_lfs_files("ann/one"))
    ann.permanently_delete_lfs_files("ann/one", files, rewrite_history=False)
    assert got(people, "w", "main").status == 404
    send(people, data[:80_000])
    assert people.ask("POST", NEW, "bob", lines(stored("w", sha256, 80_000), stored("v", sha256, 80_000))).status == 200
    assert got(people, "w", "main").status == 404 and got(people, "v").body == data[:80_000]
    assert people.ask("POST", NEW, "bob", lines(deleted("w"))).status == 200
