"""Quotas: how much an account or a repository may hold, what the stock clients show of a refusal, and who learns of it."""

import hashlib
import json
import os
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor

import cairn
import pytest
import xet
from hub_calls import commit, done, make, run, stored, text, token_of, upload
from huggingface_hub import CommitOperationAdd
from lfs import Git, batch, helper, place, put

BYTES = 120_000
ROW, FILE_MIN = 128, 4096  # bytes that a row counts besides its texts, and that a small file counts at least
REPO, FORMER = 1024, 256  # bytes that a repository counts by itself, and each of its former names
HELD = BYTES + REPO  # what a bucket with one file counts
COMMIT = ROW + len("ann") + len("a commit")
ROWS = 2000  # more than all rows of one upload count, and less than a file counts


@pytest.fixture
def data():
    """Other bytes in each test: the client remembers what a daemon has by the daemon's address."""
    return os.urandom(BYTES)


@pytest.fixture
def quota(people, admin):  # noqa: F811
    """quota(place, bytes) sets a quota; quota(place) asks how much the place holds."""

    def ask(place, size=None):
        words = ["quota", place, *([str(size)] if size is not None else []), "--json"]
        return json.loads(run(people.server, admin, *words))["stored_bytes"]

    return ask


def is_refused(reply, place, limit, would_be):
    assert reply.status == 403, (reply, reply.body)
    assert reply.json()["error"] == (
        f"Quota exceeded: {place} may hold {limit} bytes, and would hold {would_be}. Delete what is not needed, or ask the operator for more"
    )


def test_the_command(people, admin, data):  # noqa: F811
    def ask(*words, code=0):
        return run(people.server, admin, "quota", *words, code=code)

    people.hf("buckets", "create", "ann/data")
    people.upload("ann/data", data)
    assert ask("ann") == f'"ann" holds {HELD / 1024:.1f} KiB, without a quota\n'
    assert ask("ANN", "1M") == f'"ANN" holds {HELD / 1024:.1f} KiB of 1.0 MiB ({HELD} of {1 << 20} bytes)\n'
    assert json.loads(ask("buckets/ann/data", "3T", "--json")) == {"place": "buckets/ann/data", "quota_bytes": 3 << 40, "stored_bytes": HELD}
    assert json.loads(ask("buckets/ann/data", "--json"))["quota_bytes"] == 3 << 40
    assert json.loads(ask("buckets/ann/data", "none", "--json")) == {"place": "buckets/ann/data", "stored_bytes": HELD}
    listed = {a["name"]: a for a in json.loads(run(people.server, admin, "user", "list", "--json"))["accounts"]}
    assert (listed["ann"]["quota_bytes"], listed["ann"]["stored_bytes"], listed["team"]["stored_bytes"]) == (1 << 20, HELD, 0)
    assert "quota_bytes" not in listed["bob"]
    assert str((1 << 63) - 1) in ask("team", str((1 << 63) - 1))
    assert ask() == f"ann {HELD} {1 << 20}\nteam 0 {(1 << 63) - 1}\n"
    for wrong in (["ann", "1", "2"], ["ann", "-1"], ["ann", "1x"], ["ann", "1GB"], ["ann", "K"], ["ann", str(1 << 63)], ["ann", "9999999T"], ["ann", "x" * 5000]):
        ask(*wrong, code=64)
    for wrong in ("models/ann", "models/ann/data/x", "other/ann/data", "models//data", "/", "a" * 250, "x" * 200 + "/ann/y", f"models/{'a' * 97}/x"):
        ask(wrong, "1", code=66 if wrong == "models//data" else 65)
    ask("nobody", "1", code=66)
    ask("models/ann/data", "1", code=66)


def test_invalid_quotas_are_refused(people, admin):  # noqa: F811
    def post(body):
        return people.server.request("POST", "/v1/quotas", body=body, headers={"Authorization": f"Bearer {admin}"})

    for body in (b"", b"[]", b'{"place":"ann"}', b'{"quota_bytes":1}', b'{"place":"ann","quota_bytes":-1}', b'{"place":"ann","quota_bytes":"some"}',
                 b'{"place":"ann","quota_bytes":null}', b'{"place":"","quota_bytes":1}'):  # fmt: skip
        reply = post(body)
        assert reply.status == 400 and reply.json()["error"]["code"] == "quota.body", (body, reply, reply.body)
    assert people.server.get("/v1/quotas?place=", token=admin).json()["error"]["code"] == "quota.body"
    assert people.server.get("/v1/quotas?place=a/b", token=admin).json()["error"]["code"] == "quota.place"


def test_hf_upload_says_why(people, quota, data, tmp_path):
    """One file of a folder is too large for the quota, so nothing of the folder is sent. Within the quota it is accepted, and again; deleting files for
    good makes room."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "a.bin").write_bytes(data)
    (here / "b.bin").write_bytes(os.urandom(BYTES))
    make(people)
    first = quota("ann")
    assert first > 0
    quota("ann", first + 2 * BYTES - 1)
    said = people.hf("upload", "ann/one", here, ".", fails=True)
    assert f"the account ann may hold {first + 2 * BYTES - 1} bytes, and would hold {first + 2 * BYTES}" in " ".join(said.split()), said
    assert quota("ann") == first
    quota("models/ann/one", first + 2 * BYTES + ROWS)
    quota("ann", "none")
    people.hf("upload", "ann/one", here, ".")
    held = quota("models/ann/one")
    people.hf("upload", "ann/one", here, ".")
    assert first + 2 * BYTES < held == quota("models/ann/one")
    (tmp_path / "more.bin").write_bytes(b"\0" * 10)
    said = people.hf("upload", "ann/one", tmp_path / "more.bin", "more.bin", fails=True)
    assert "models/ann/one may hold" in " ".join(said.split()), said
    # The same bytes under another name need no room. Deleting them for good gives it back.
    os.rename(here / "a.bin", here / "c.bin")
    api = people.api()
    assert done(commit(people, stored("c.bin", hashlib.sha256(data).hexdigest(), BYTES)))
    held = quota("ann")
    api.permanently_delete_lfs_files("ann/one", [f for f in api.list_lfs_files("ann/one") if f.file_oid == hashlib.sha256(data).hexdigest()])
    assert held - BYTES <= quota("ann") < held - BYTES + ROWS, "the bytes are free, and the commit that removed the file counts"
    people.hf("upload", "ann/one", tmp_path / "more.bin", "more.bin")


def test_a_renamed_folder_goes_up_again(people, quota, data, tmp_path):
    """Files that are stored already do not count when a client asks how to send them, although only their sizes are known then."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "a.bin").write_bytes(data)
    (here / "same.bin").write_bytes(data)
    make(people)
    quota("ann", quota("ann") + BYTES + ROWS)
    people.hf("upload", "ann/one", here, ".")
    os.rename(here / "a.bin", here / "b.bin")
    people.hf("upload", "ann/one", here, "other")
    assert {"other/b.bin", "other/same.bin"} <= set(people.api().list_repo_files("ann/one"))


def test_text_in_a_commit(people, quota):
    make(people)
    """Its bytes, its path and the words of the commit count. Over the quota one may still delete."""
    room = COMMIT + ROW + len("a") + 5
    limit = quota("models/ann/one") + room
    quota("models/ann/one", limit)
    is_refused(commit(people, text("a", "123456")), "models/ann/one", limit, limit + 1)
    with pytest.raises(Exception, match="Quota exceeded: models/ann/one may hold"):
        people.api().create_commit("ann/one", [CommitOperationAdd("a", b"123456")], commit_message="a commit")
    is_refused(commit(people, text("a", "12345"), summary="a commit."), "models/ann/one", limit, limit + 1)
    done(commit(people, text("a", "12345")))
    done(commit(people, {"key": "deletedFile", "value": {"path": "a"}}))
    assert commit(people, text("b", "12345")).status == 403


def test_hf_buckets_say_why(people, quota, data, tmp_path):
    """A client does not announce sizes to a bucket. So a file over the quota is refused when it is registered, also when the bucket is exactly full."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "a.bin").write_bytes(data)
    people.hf("buckets", "create", "ann/data")
    quota("ann", HELD - 1)
    said = people.hf("sync", tmp_path / "here", "hf://buckets/ann/data", fails=True)
    print(said)
    assert f"the account ann may hold {HELD - 1} bytes, and would hold {HELD}" in " ".join(said.split())
    assert quota("ann") == REPO
    full = HELD + ROW + len("a.bin")
    quota("ann", full)
    people.hf("sync", tmp_path / "here", "hf://buckets/ann/data")
    (tmp_path / "here" / "b.bin").write_bytes(b"b")
    said = people.hf("sync", tmp_path / "here", "hf://buckets/ann/data", fails=True)
    assert f"the account ann may hold {full} bytes, and would hold {full + FILE_MIN}" in " ".join(said.split()), said
    people.hf("buckets", "rm", "ann/data/a.bin", "--yes")
    assert quota("ann") == REPO
    (tmp_path / "here" / "b.bin").unlink()
    people.hf("sync", tmp_path / "here", "hf://buckets/ann/data")


def test_git_lfs_says_why(people, quota, data, tmp_path):
    git = Git(tmp_path / "git")
    helper(git, people, people.keys["ann"])
    make(people, "ann/weights")
    first = quota("ann")
    quota("ann", first + BYTES)
    work = git.begin(f"{people.server.url}/ann/weights.git/info/lfs")
    said = git.push(work, fails=True, a=data, b=b"b")
    assert f"Quota exceeded: the account ann may hold {first + BYTES} bytes, and would hold {first + BYTES + FILE_MIN}" in " ".join(said.split()), said
    quota("ann", first + BYTES + FILE_MIN)
    git.run("push", "origin", "HEAD:main", at=work)
    assert quota("ann") == first + BYTES + FILE_MIN
    said = git.push(work, fails=True, c=b"c")
    assert "Quota exceeded: the account ann" in " ".join(said.split()), said


def test_an_object_of_git_lfs(people, quota, data):
    """Objects that are asked for together must fit together. An address from an earlier answer does not bypass the quota."""
    make(people)
    first = quota("models/ann/one")
    quota("models/ann/one", first + 2 * BYTES)
    others = [os.urandom(BYTES) for _ in range(3)]
    reply = batch(people, "ann/one", "upload", *others)
    assert ["actions" in o for o in reply.json()["objects"]] == [True, True, False]
    assert reply.json()["objects"][2]["error"]["code"] == 403 and "Quota exceeded" in reply.json()["objects"][2]["error"]["message"]
    put(people, "ann/one", others[0])
    quota("models/ann/one", first + 2 * BYTES - 1)
    late = people.server.request("PUT", place(people, reply, 1), body=others[1])
    assert late.status == 403 and late.json()["message"].startswith("Quota exceeded: models/ann/one may hold"), late.body
    put_again = batch(people, "ann/one", "upload", others[0]).json()["objects"][0]
    assert "actions" not in put_again and "error" not in put_again
    assert quota("models/ann/one") == first + BYTES


def test_a_write_token_is_given_over_the_quota(people, quota, data):
    """A token to write is given even when nothing fits: the files may be stored already, and clients do not show why a token is refused."""
    people.hf("buckets", "create", "ann/data")
    people.upload("ann/data", data)
    make(people)
    full = quota("ann")
    quota("ann", full + 1)
    assert people.ask("GET", "/api/buckets/ann/data/xet-write-token").status == 200
    quota("ann", full)
    assert people.ask("GET", "/api/buckets/ann/data/xet-write-token").status == 200
    people.upload("ann/data", data)
    assert people.ask("GET", "/api/buckets/ann/data/xet-read-token").status == 200
    assert people.ask("GET", "/api/models/ann/one/xet-write-token/main").status == 200


def test_many_at_once(people, quota):
    """Six uploads at once to two repositories of one account, with tokens given before. There is room for four."""
    make(people), make(people, "ann/two")
    limit = quota("ann") + 4 * BYTES + 1
    quota("ann", limit)
    tokens = [token_of(people.ask("GET", f"/api/models/ann/{name}/xet-write-token/main")) for name in ("one", "two")]
    bodies = []
    for i in range(6):
        xorb = xet.Xorb([random.Random(i).randbytes(BYTES)])
        assert people.server.put_xorb(xorb, token=tokens[i % 2]).status == 200
        bodies.append(xet.shard([xet.File([(xorb, 0, 1)])], [xorb]))
    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(lambda i: people.server.post("/v1/shards", bodies[i], token=tokens[i % 2]), range(6)))
    assert sorted(r.status for r in replies) == [200] * 4 + [403] * 2
    for reply in replies:
        if reply.status == 403:
            error = reply.json()["error"]
            assert error["code"] == "quota.account" and error["message"].startswith(f"Quota exceeded: the account ann may hold {limit} bytes")
    assert quota("ann") == limit - 1


def test_moved_and_copied(people, quota, data):
    """ann moves her repository to her team, or copies it. The quota of the team refuses both without room. A moved repository counts for the team, and no
    longer for ann."""
    make(people)
    sha256, _ = upload(people, data)
    done(commit(people, stored("a.bin", sha256, BYTES)))
    size = quota("models/ann/one")
    moved = size + FORMER
    quota("team", moved - 1)
    move = {"fromRepo": "ann/one", "toRepo": "team/one", "type": "model"}
    is_refused(people.ask("POST", "/api/repos/move", body=move), "the account team", moved - 1, moved)
    copy = {"repository": "team/copy"}
    quota("team", BYTES)
    refused = people.ask("POST", "/api/models/ann/one/duplicate", body=copy)
    assert refused.status == 403 and f"the account team may hold {BYTES} bytes" in refused.json()["error"], refused.body
    quota("team", moved)
    assert people.ask("POST", "/api/repos/move", body=move).status == 200
    assert (quota("ann"), quota("team")) == (0, moved)
    assert people.ask("DELETE", "/api/repos/delete", "adam", {"name": "one", "organization": "team"}).status == 200
    assert quota("team") == 0


def test_empty_buckets_and_names_count(people, quota):
    """Buckets and names take rows of the index. A new bucket and a new name are refused where there is no room; the deletion of a bucket makes room."""

    def create(name):
        return people.ask("POST", f"/api/buckets/ann/{name}", body={})

    def move(old, new):
        return people.ask("POST", "/api/repos/move", body={"fromRepo": f"ann/{old}", "toRepo": f"ann/{new}", "type": "bucket"})

    quota("ann", REPO + FORMER)
    assert create("one").status == 200
    is_refused(create("two"), "the account ann", REPO + FORMER, 2 * REPO)
    said = people.hf("buckets", "create", "ann/two", fails=True)
    assert f"the account ann may hold {REPO + FORMER} bytes" in " ".join(said.split()), said
    assert move("one", "uno").status == 200
    is_refused(move("uno", "eins"), "the account ann", REPO + FORMER, REPO + 2 * FORMER)
    assert move("uno", "one").status == 200, "a former name needs no further room"
    assert quota("ann") == REPO + FORMER
    assert people.ask("DELETE", "/api/buckets/ann/one").status == 204
    assert quota("ann") == 0
    assert create("two").status == 200


def test_only_writers_and_operators_learn_of_a_quota(people, quota, data):
    """People who may write there learn of the quota. Others get the same answers as without a quota, and only operators may ask for it."""
    make(people)
    upload(people, data)
    people.hf("buckets", "create", "ann/data")
    asks = [("GET", "/api/buckets/ann/data/xet-write-token", None), ("GET", "/api/models/ann/one/xet-read-token/main", None), ("GET", "/api/models/ann/one", None),
            ("POST", "/api/models/ann/one/preupload/main", {"files": [{"path": "x.bin", "size": 1 << 40, "sample": ""}]}),
            ("POST", "/ann/one.git/info/lfs/objects/batch", {"operation": "upload", "objects": [{"oid": "0" * 64, "size": 1 << 40}]}),
            ("GET", "/v1/quotas?place=ann", None), ("POST", "/v1/quotas", {"place": "ann", "quota_bytes": 5}), ("GET", "/ann", None), ("GET", "/ann/one", None)]  # fmt: skip

    def heard(who):
        replies = [people.ask(*ask[:2], who, ask[2]) for ask in asks]
        return [(r.status, b"uota" in r.body, r.headers.get("X-Error-Code")) for r in replies]

    before = {who: heard(who) for who in ("bob", "rita", "nobody", "reading ann")}
    quota("ann", 1)
    quota("models/ann/one", 1)
    assert {who: heard(who) for who in before} == before
    assert not any(told for replies in before.values() for _, told, _ in replies)
    assert [h[0] for h in heard("ann")][3:7] == [403, 200, 401, 401]


def test_an_operator_without_tokens(server):
    """A server without tokens may have a quota for the operator's own account, too."""
    for name, code in (("data", 200), ("more", 200)):
        assert server.request("POST", f"/api/buckets/me/{name}", body=b"{}").status == code
    assert server.request("POST", "/v1/quotas", body=b'{"place":"operator","quota_bytes":0}').json() == {"place": "operator", "quota_bytes": 0, "stored_bytes": 2 * REPO}
    xorb = xet.Xorb([b"one byte and more"])
    token = token_of(server.request("GET", "/api/buckets/operator/data/xet-write-token"))
    assert server.put_xorb(xorb, token=token).status == 200
    assert server.post("/v1/shards", xet.shard([xet.File([(xorb, 0, 1)])], [xorb]), token=token).json()["error"]["code"] == "quota.account"


@pytest.mark.sqlite
@pytest.mark.files
def test_they_survive_and_are_whole(people, quota, data, tmp_path):
    make(people)
    upload(people, data)
    held = quota("ann", 10)
    people.server.stop()
    people.server.start()
    is_refused(commit(people, text("a", "b")), "the account ann", 10, held + COMMIT + ROW + len("ab"))
    people.server.stop()
    done = subprocess.run([cairn.CAIRN, "fsck", "--data-dir", people.server.data], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
