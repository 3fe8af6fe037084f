"""A false claim of a SHA-256 on a hub: whom it harms, what each client is told, and how an upload of the true bytes repairs it."""

import hashlib
import signal

import cairn
import pytest
import visitors
import xet
from hub_calls import commit, done, make, make_key, older, stored, token_of, tree, upload
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import HfHubHTTPError
from lfs import batch, get, oid, put
from visitors import Visitor, people_of, text


@pytest.fixture
def people(start, issuer, tmp_path):
    """People of a hub, on a daemon that verifies no claimed SHA-256 until people.prove()."""
    config = tmp_path / "cairnd.conf"
    config.write_text("proof_rate = 0\n")
    people = people_of(start, issuer, tmp_path / "home", config=config, variables={"CAIRN_PROOF_RATE": None})
    people.keys["all"] = make_key(people.server, issuer.token("admin"), scope="admin")["key"]
    people.token = issuer.token("admin")

    def prove(proved, lies):
        config.write_text("proof_rate = 1G\n")
        people.server.process.send_signal(signal.SIGHUP)

        def settled():
            metrics = people.server.metrics()
            return (metrics["cairn_claims_proved_total"], metrics["cairn_claims_false_total"]) == (proved, lies)

        cairn.wait_until("the claims", settled)

    people.prove = prove
    return people


def lie(people, bytes_, about, repo="models/ann/one", who="ann"):
    """Uploads bytes under the SHA-256 of others. @return that SHA-256"""
    token = token_of(people.ask("GET", f"/api/{repo}/xet-write-token/main", who))
    xorb = xet.Xorb([bytes_])
    file = xet.File([(xorb, 0, 1)], xet.raw(oid(about)))
    assert people.server.put_xorb(xorb, token=token).status == 200
    assert people.server.post("/v1/shards", xet.shard([file], [xorb]), token=token).status == 200
    return oid(about)


def preupload(people, repo, path, size):
    reply = people.ask("POST", f"/api/models/{repo}/preupload/main", "ann", {"files": [{"path": path, "size": size, "sample": ""}]})
    assert reply.status == 200, reply
    return reply.json()["files"][0].get("oid")


def is_there(people, repo, bytes_):
    """Would an upload of these bytes be skipped, because the server has them?"""
    return "actions" not in batch(people, repo, "upload", bytes_).json()["objects"][0]


def test_a_lie_is_found_out(people, data, tmp_path):
    true, other = data[:70_000], data[100_000:170_000]
    make(people)
    make(people, "ann/two")
    sha256 = lie(people, other, true)
    done(commit(people, stored("w.bin", sha256, len(true))))
    upload(people, true, repo="models/ann/two")
    done(commit(people, stored("w.bin", sha256, len(true)), repo="models/ann/two"))
    resolve = "/ann/one/resolve/main/w.bin"
    assert people.ask("GET", resolve).body == other, "the claim counts until it is verified"
    assert preupload(people, "ann/one", "w.bin", len(true)) == sha256 and is_there(people, "ann/one", true)

    people.prove(1, 1)
    for path in (resolve, "/ann/one/raw/main/w.bin"):
        reply = people.ask("GET", path)
        assert reply.status == 409 and sha256 not in str(reply.headers), (path, reply)
    head = people.ask("HEAD", resolve)
    assert head.status == 200 and "X-Xet-Hash" not in head.headers and "Link" not in head.headers, "the answer to HEAD sends a client to a plain GET"
    assert cairn.is_hub_error(people.ask("GET", resolve), 409, "claim.false")
    get = {"repo_id": "ann/one", "filename": "w.bin", "endpoint": people.server.url, "token": people.keys["ann"], "cache_dir": tmp_path / "cache"}
    with pytest.raises(HfHubHTTPError, match="another SHA-256 than the commit says: upload it again") as refused:
        hf_hub_download(**get)
    assert refused.value.response.status_code == 409
    said = people.hf("download", "ann/one", "w.bin", "--local-dir", tmp_path / "there", fails=True)
    assert "another SHA-256 than the commit says" in " ".join(said.split()), said
    for version in ("1.33.0", "0.36.0"):
        code = "try:\n    api.hf_hub_download('ann/one', 'w.bin')\nexcept Exception as e:\n    print(json.dumps([type(e).__name__, str(e)]))"
        name, said = older(people, tmp_path / version, code, version=version)
        assert name == "HfHubHTTPError" and "another SHA-256 than the commit says" in said, said
    [entry] = [e for e in tree(people) if e["path"] == "w.bin"]
    assert "lfs" not in entry and "xetHash" not in entry and entry["size"] == len(true)
    [sibling] = [e for e in people.ask("GET", "/api/models/ann/one?blobs=true").json()["siblings"] if e["rfilename"] == "w.bin"]
    assert "lfs" not in sibling
    assert preupload(people, "ann/one", "w.bin", len(true)) is None and not is_there(people, "ann/one", true)
    assert batch(people, "ann/one", "download", true).json()["objects"][0]["error"]["code"] == 404
    assert cairn.is_hub_error(commit(people, stored("again.bin", sha256, len(true))), 400, "commit.sha256")
    with pytest.raises(HfHubHTTPError, match="w.bin"):
        people.api().duplicate_repo("ann/one", to_id="ann/copy")
    page = text(Visitor(people.server).sign_in(people.keys["ann"]).page("/ann/one/blob/main/w.bin"))
    assert "false: the uploaded bytes have another" in page

    # In a private repository, others do not learn that the claim is false.
    assert people.ask("PUT", "/api/models/ann/one/settings", body={"private": True}).status == 200
    for who, status in (("bob", 404), ("nobody", 401)):
        reply = people.ask("HEAD", resolve, who)
        assert (reply.status, reply.headers["X-Error-Code"]) == (status, "RepoNotFound")

    # It harmed nobody else. The true bytes are accepted, from the stock client.
    assert people.ask("GET", "/ann/two/resolve/main/w.bin").body == true
    (tmp_path / "w.bin").write_bytes(true)
    people.api().upload_file(path_or_fileobj=tmp_path / "w.bin", path_in_repo="w.bin", repo_id="ann/one")
    assert people.ask("GET", resolve).body == true
    with open(hf_hub_download(**get), "rb") as f:
        assert f.read() == true, "the client has not cached that the file is missing"
    [entry] = [e for e in tree(people) if e["path"] == "w.bin"]
    assert entry["lfs"]["oid"] == sha256
    people.prove(2, 1)
    assert people.ask("GET", resolve).body == true
    assert "proved" in text(Visitor(people.server).sign_in(people.keys["ann"]).page("/ann/one/blob/main/w.bin"))


def test_a_copy_does_not_bring_an_unproved_claim(people, data):
    """ann's copy has the wrong bytes that bob uploaded. But bob's claim does not make ann skip an upload to her copy, and her true bytes replace his."""
    true, other = data[:70_000], data[100_000:170_000]
    make(people, "bob/one", "bob")
    sha256 = lie(people, other, true, repo="models/bob/one", who="bob")
    done(commit(people, stored("w.bin", sha256, len(true)), repo="models/bob/one", who="bob"))
    people.api().duplicate_repo("bob/one", to_id="ann/copy")
    assert people.ask("GET", "/ann/copy/resolve/main/w.bin").body == other
    assert get(people, "ann/copy", true).body == other, "git-lfs compares the bytes itself"
    assert preupload(people, "ann/copy", "w.bin", len(true)) is None and not is_there(people, "ann/copy", true)
    done(commit(people, stored("more.bin", sha256, len(true)), repo="models/ann/copy"))
    put(people, "ann/copy", true)
    assert is_there(people, "ann/copy", true) and get(people, "ann/copy", true).body == true
    done(commit(people, stored("w.bin", sha256, len(true)), repo="models/ann/copy"))
    assert people.ask("GET", "/ann/copy/resolve/main/w.bin").body == true
    people.prove(0, 2)
    assert people.ask("GET", "/ann/copy/resolve/main/w.bin").body == true
    assert people.ask("GET", "/bob/one/resolve/main/w.bin", "bob").status == 409


def test_a_copy_brings_proved_claims(people, data):
    make(people)
    sha256, _ = upload(people, data[:70_000])
    done(commit(people, stored("w.bin", sha256, 70_000)))
    people.prove(1, 0)
    people.api().duplicate_repo("ann/one", to_id="ann/copy")
    assert preupload(people, "ann/copy", "w.bin", 70_000) == sha256 and is_there(people, "ann/copy", data[:70_000])
    assert people.server.get("/v1/stats", token=people.token).json()["unproved_claims"] == 0


def test_git_lfs_objects_count_as_proved(people, data):
    """The server hashed bytes that came by Git LFS itself, so it does not verify them again. They take precedence over bytes that somebody only claimed to
    have this SHA-256."""
    make(people)
    put(people, "ann/one", data[:70_000])
    assert people.server.get("/v1/stats", token=people.token).json()["unproved_claims"] == 0
    [row] = people.server.get("/v1/files", token=people.token).json()["files"]
    assert (row["sha256"], row["sha256_proved"]) == (oid(data[:70_000]), True)
    lie(people, data[70_000:140_000], data[:70_000])
    assert get(people, "ann/one", data[:70_000]).body == data[:70_000]
    people.prove(0, 1)
    assert get(people, "ann/one", data[:70_000]).body == data[:70_000]


def test_the_operator_is_told(people, data):
    make(people)
    said = lie(people, data[:9000], b"another")
    operator = Visitor(people.server).sign_in(people.keys["all"])
    before = text(operator.page("/admin"))
    assert "1 SHA-256 of 9.0 kB" in before and "False claims" not in before
    people.prove(0, 1)
    cairn.wait_until("the count of false claims", lambda: people.server.metrics()["cairn_claims_false"] == 1)
    page = operator.page("/admin")
    assert "False claims" in text(page) and "/admin/help/false-claims" in visitors.links(page)
    [row] = visitors.rows(page, "lies")
    assert row[0] == "models/ann/one" and said in row[1] and hashlib.sha256(data[:9000]).hexdigest() in row[1]
