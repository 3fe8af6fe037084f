"""Models, datasets and spaces: the stock command, library and file system, given nothing but the address."""

import hashlib
import json
import os
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import cairn
import hf_client
import pytest
from hub_calls import commit, deleted, done, keeps_conditions, lines, make, make_key, member, paths, stored, text, token_of, tree, upload
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, HfFileSystem, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    BadRequestError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)


def git_blob(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def pointer(data):
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(data).hexdigest()}\nsize {len(data)}\n".encode()


def test_hf_upload_and_download(people, data, tmp_path):
    """Uploads and downloads a folder. The same folder again makes no commit. Then a single file, a new branch, and a deleted file that stays in its commit."""
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "sub" / "deep").mkdir(parents=True)
    files = {"config.json": b'{"a": 1}\n', "empty": b"", "sub/model.safetensors": data, "sub/deep/ü +%&=,;@!'().txt": b"odd", "x.bin": b"small"}
    for name, body in files.items():
        (here / name).write_bytes(body)
    assert f"{people.server.url}/ann/one" in people.hf("upload", "ann/one", here, ".", "--private")
    api = people.api()
    first = api.repo_info("ann/one").sha
    people.hf("upload", "ann/one", here, ".")
    assert api.repo_info("ann/one").sha == first
    people.hf("download", "ann/one", "--local-dir", there)
    assert {str(p.relative_to(there)): p.read_bytes() for p in there.rglob("*") if p.is_file() and ".cache" not in p.parts and p.name != ".gitattributes"} == files
    (tmp_path / "new.txt").write_bytes(b"new")
    people.hf("upload", "ann/one", tmp_path / "new.txt", "new.txt", "--revision", "feat/new")
    assert "new.txt" in api.list_repo_files("ann/one", revision="feat/new") and "new.txt" not in api.list_repo_files("ann/one")
    got = people.hf("download", "ann/one", "sub/model.safetensors", "--revision", first).strip().splitlines()[-1].split("path: ")[-1]
    with open(got, "rb") as file:
        assert file.read() == data
    people.hf("repos", "delete-files", "ann/one", "sub/model.safetensors")
    assert not api.file_exists("ann/one", "sub/model.safetensors") and api.file_exists("ann/one", "sub/model.safetensors", revision=first)
    people.hf("download", "ann/one", "sub/model.safetensors", fails=True)
    people.hf("download", "ann/one", "--local-dir", tmp_path / "bob", who="bob", fails=True)


@pytest.mark.commands
def test_hf_repos(people):
    people.hf("repos", "create", "ann/data", "--type", "dataset", "--private")
    people.hf("repos", "create", "ann/data", "--type", "dataset", fails=True)
    people.hf("repos", "create", "ann/data", "--type", "dataset", "--exist-ok")
    people.hf("repos", "create", "one")
    people.hf("repos", "create", "team/space", "--type", "space", "--space-sdk", "static")
    assert "ann/one" in people.hf("models", "list", "--format", "json") and "ann/data" not in people.hf("datasets", "list", "--format", "json", who="bob")
    listed = people.hf("repos", "list", "--format", "json")
    assert "ann/data" in listed and "ann/one" in listed
    people.hf("repos", "settings", "ann/data", "--type", "dataset", "--public")
    assert "ann/data" in people.hf("datasets", "list", "--format", "json", who="bob")
    people.hf("repos", "branch", "create", "ann/one", "dev")
    people.hf("repos", "branch", "create", "ann/one", "dev", fails=True)
    people.hf("repos", "branch", "create", "ann/one", "dev", "--exist-ok")
    people.hf("repos", "tag", "create", "ann/one", "v1.0", "-m", "first")
    assert "v1.0" in people.hf("repos", "tag", "list", "ann/one")
    people.hf("repos", "tag", "delete", "ann/one", "v1.0", "-y")
    people.hf("repos", "branch", "delete", "ann/one", "dev")
    people.hf("repos", "move", "ann/one", "ann/two")
    assert "ann/two" in people.hf("models", "info", "ann/two", "--format", "json")
    people.hf("repos", "delete", "ann/two", "--yes")
    people.hf("repos", "delete", "ann/two", "--yes", fails=True)
    people.hf("repos", "delete", "ann/two", "--yes", "--missing-ok")


def test_the_library(people, data, tmp_path):
    api = people.api()
    url = api.create_repo("ann/one")
    assert (url, url.repo_id, url.repo_type) == (f"{people.server.url}/ann/one", "ann/one", "model")
    with pytest.raises(HfHubHTTPError) as known:
        api.create_repo("ann/one")
    assert known.value.response.status_code == 409
    api.create_repo("ann/one", exist_ok=True)
    made = api.create_commit("ann/one", [CommitOperationAdd("a.txt", b"text"), CommitOperationAdd("b/big.bin", data)], commit_message="First", commit_description="More of it")
    assert made.commit_url == f"{people.server.url}/ann/one/commit/{made.oid}" and len(made.oid) == 40
    info = api.model_info("ann/one", files_metadata=True)
    assert (info.sha, info.private, info.gated, info.id, info.author) == (made.oid, False, False, "ann/one", "ann")
    known = {s.rfilename: s for s in info.siblings}
    assert (known["a.txt"].size, known["a.txt"].blob_id) == (4, git_blob(b"text"))
    assert known["b/big.bin"].lfs.sha256 == hashlib.sha256(data).hexdigest() and known["b/big.bin"].blob_id == git_blob(pointer(data))
    commits = api.list_repo_commits("ann/one")
    assert [(c.title, c.authors) for c in commits][:1] == [("First", ["ann"])] and commits[0].message == "More of it"
    assert api.list_repo_commits("ann/one", formatted=True)[0].formatted_title == "First"
    with pytest.raises(HfHubHTTPError) as late:
        api.create_commit("ann/one", [CommitOperationAdd("x", b"x")], commit_message="x", parent_commit=commits[-1].commit_id)
    assert late.value.response.status_code == 412
    with pytest.raises(EntryNotFoundError):
        api.create_commit("ann/one", [CommitOperationDelete("none")], commit_message="x")
    with pytest.raises(RevisionNotFoundError):
        api.upload_file(path_or_fileobj=b"x", path_in_repo="x", repo_id="ann/one", revision="none")
    api.create_tag("ann/one", tag="v1", revision=made.oid)
    api.create_branch("ann/one", branch="dev", revision="v1")
    refs = api.list_repo_refs("ann/one")
    assert {(r.name, r.ref, r.target_commit) for r in refs.branches} == {("main", "refs/heads/main", made.oid), ("dev", "refs/heads/dev", made.oid)}
    assert [(r.name, r.ref, r.target_commit) for r in refs.tags] == [("v1", "refs/tags/v1", made.oid)] and refs.converts == []
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "new.bin").write_bytes(data[:90_000])
    api.upload_folder(repo_id="ann/one", folder_path=tmp_path / "more", path_in_repo="b", delete_patterns="*.bin", revision="dev")
    assert api.list_repo_files("ann/one", revision="dev") == [".gitattributes", "a.txt", "b/new.bin"]
    api.delete_folder("b", "ann/one", revision="dev")
    assert api.list_repo_files("ann/one", revision="dev") == [".gitattributes", "a.txt"]
    found = {f.path: f for f in api.get_paths_info("ann/one", ["a.txt", "b", "none", "b/big.bin"], expand=True)}
    assert sorted(found) == ["a.txt", "b", "b/big.bin"] and found["b/big.bin"].last_commit.oid == made.oid
    assert found["b"].last_commit.title == "First"
    folder = snapshot_download("ann/one", revision="v1", endpoint=people.server.url, token=people.keys["ann"], cache_dir=tmp_path / "cache")
    assert folder.endswith(made.oid) and open(f"{folder}/b/big.bin", "rb").read() == data
    path = hf_hub_download("ann/one", "a.txt", endpoint=people.server.url, token=people.keys["ann"], cache_dir=tmp_path / "other")
    assert open(path, "rb").read() == b"text"
    with pytest.raises(EntryNotFoundError):
        hf_hub_download("ann/one", "none", endpoint=people.server.url, token=people.keys["ann"], cache_dir=tmp_path / "other")
    assert list((tmp_path / "other").rglob(".no_exist/*/none")), "the client remembers that the file is missing in this commit"
    assert api.repo_exists("ann/one") and not api.repo_exists("ann/none") and api.revision_exists("ann/one", "v1") and not api.revision_exists("ann/one", "v2")
    assert people.api("nobody").auth_check("ann/one") is None
    with pytest.raises(RepositoryNotFoundError):
        people.api("nobody").auth_check("ann/none")
    api.update_repo_settings("ann/one", gated="manual")
    with pytest.raises(GatedRepoError):
        people.api("bob").auth_check("ann/one")
    with pytest.raises(GatedRepoError):
        hf_hub_download("ann/one", "a.txt", endpoint=people.server.url, token=people.keys["bob"], cache_dir=tmp_path / "bob")
    assert people.api("bob").model_info("ann/one").gated == "manual"
    api.delete_repo("ann/one")
    with pytest.raises(RepositoryNotFoundError):
        api.model_info("ann/one")


def test_the_file_system(people, data):
    make(people, "ann/data", type="dataset")
    fs = HfFileSystem(endpoint=people.server.url, token=people.keys["ann"], skip_instance_cache=True)
    root = "datasets/ann/data"
    with fs.open(f"{root}/logs/one.bin", "wb") as file:
        file.write(data)
    fs.pipe(f"{root}/logs/sub/three.txt", b"three")
    assert sorted(fs.ls(f"{root}/logs", detail=False, refresh=True)) == [f"{root}/logs/one.bin", f"{root}/logs/sub"]
    assert fs.glob(f"{root}/**/*.txt") == [f"{root}/logs/sub/three.txt"]
    with fs.open(f"{root}/logs/one.bin", "rb", block_size=65536) as file:
        file.seek(1_234_567)
        assert file.read(1000) == data[1_234_567 : 1_234_567 + 1000]
    fs.rm(f"{root}/logs/one.bin")
    assert not fs.exists(f"{root}/logs/one.bin") and fs.info(f"{root}/logs/sub/three.txt")["size"] == 5
    assert fs.cat(f"{root}@main/logs/sub/three.txt") == b"three"


def test_eight_uploads_at_once_keep_eight_files(people, data):
    make(people)
    api = people.api()

    def put(i):
        return api.upload_file(path_or_fileobj=data[i * 1000 : i * 1000 + 1000] * (1 + 99 * (i % 2)), path_in_repo=f"{i}.bin", repo_id="ann/one").oid

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(put, range(8)))) == 8
    assert paths(people) == [f"{i}.bin" for i in range(8)]
    assert len(api.list_repo_commits("ann/one")) == 9


OLDER = """
import sys; sys.path.insert(0, sys.argv[1])
import huggingface_hub, os, pathlib
from huggingface_hub import HfApi, snapshot_download
api, home = HfApi(), pathlib.Path(os.environ["HF_HOME"])
(home / "here").mkdir(parents=True)
(home / "here/a.txt").write_bytes(b"text")
(home / "here/big.bin").write_bytes(bytes(range(256)) * 8000)
api.create_repo("ann/older", private=True)
api.upload_folder(repo_id="ann/older", folder_path=home / "here")
assert sorted(api.list_repo_files("ann/older")) == [".gitattributes", "a.txt", "big.bin"]
folder = pathlib.Path(snapshot_download("ann/older"))
assert (folder / "big.bin").read_bytes() == bytes(range(256)) * 8000 and (folder / "a.txt").read_bytes() == b"text"
assert len(api.list_repo_commits("ann/older")) == 2 and not api.file_exists("ann/older", "none")
api.delete_repo("ann/older")
print(huggingface_hub.__version__)
"""


def older(people, version):
    env = hf_client.hub_environment(people.folder / version, people.server, people.keys["ann"])
    folder = f"{sys.prefix}/older/{version}"
    ran = subprocess.run([sys.executable, "-c", OLDER, folder], env=env, capture_output=True, text=True, timeout=240)
    assert ran.stdout == f"{version}\n", ran.stderr[-3000:]


def test_the_newest_1x(people):
    older(people, "1.33.0")


def test_javascripts_exchanges(people, data):
    """The JavaScript client sends files with the first commit, does not escape revisions, repeats expand=, asks for the size of a file, and reads raw
    files."""
    body = {"name": "js", "organization": "ann", "type": "model", "private": True, "license": "mit",
            "files": [{"path": "a/b.txt", "content": "aGVsbG8=", "encoding": "base64"}]}  # fmt: skip
    made = people.ask("POST", "/api/repos/create", body=body)
    assert made.status == 200 and made.json()["url"] == f"{people.server.url}/ann/js"
    repo = "models/ann/js"
    assert paths(people, repo=repo) == ["README.md", "a/b.txt"]
    info = people.ask("GET", "/api/models/ann/js/revision/HEAD?expand=pipeline_tag&expand=private&expand=gated&expand=downloads&expand=likes&expand=sha").json()
    assert info["private"] is True and info["gated"] is False and {"_id", "downloads", "likes", "sha", "id"} <= set(info)
    assert people.ask("POST", f"/api/{repo}/branch/feat/js", body={}).status == 200
    sha256, hash_ = upload(people, data[:100_000], repo)
    body = lines(stored("b.bin", sha256, 100_000), text("empty", ""))
    assert people.ask("POST", f"/api/{repo}/commit/feat/js", body=body).status == 200
    assert "b.bin" in [e["path"] for e in tree(people, repo, "feat/js", "")] and "b.bin" not in paths(people, repo=repo)
    assert [e["path"] for e in tree(people, repo, "feat/js/a", "")] == ["a/b.txt"]
    look = {"Range": "bytes=0-0", "Accept": "application/vnd.xet-fileinfo+json, */*"}
    reply = people.ask("GET", "/ann/js/resolve/feat/js/b.bin", **look)
    assert reply.status == 200 and reply.headers["Content-Type"] == "application/vnd.xet-fileinfo+json"
    assert (reply.headers["X-Linked-Size"], reply.headers["X-Xet-Hash"], reply.headers["X-Linked-Etag"]) == ("100000", hash_, f'"{sha256}"')
    small = people.ask("GET", "/ann/js/resolve/main/a/b.txt", **look)
    assert (small.status, small.headers["Content-Range"], small.headers["ETag"]) == (206, "bytes 0-0/5", f'"{git_blob(b"hello")}"')
    empty = people.ask("GET", "/ann/js/resolve/feat%2Fjs/empty", **look)
    assert (empty.status, empty.headers["Content-Range"], empty.body) == (200, "bytes */0", b"")
    missing = people.ask("GET", "/ann/js/resolve/main/none", **look)
    assert (missing.status, missing.headers["X-Error-Code"]) == (404, "EntryNotFound")
    raw = people.ask("GET", "/ann/js/raw/feat/js/b.bin")
    assert (raw.status, raw.body, raw.headers["ETag"]) == (200, pointer(data[:100_000]), f'"{git_blob(pointer(data[:100_000]))}"')
    assert people.ask("GET", "/ann/js/raw/feat/js/b.bin", Range="bytes=0-6").body == b"version"
    assert people.ask("HEAD", "/ann/js/raw/main/a/b.txt").status == 200 and people.ask("HEAD", "/ann/js/raw/main/none").status == 404
    told = people.ask("POST", f"/api/{repo}/paths-info/main", body={"paths": ["a/b.txt", "x"], "expand": True}).json()
    assert [e["path"] for e in told] == ["a/b.txt"] and told[0]["lastCommit"]["id"] == info["sha"]
    counted = people.ask("GET", f"/api/{repo}/commits/feat/js?limit=1")
    assert counted.headers["X-Total-Count"] == "2" and len(counted.json()) == 1
    assert people.ask("DELETE", "/api/repos/delete", body={"name": "js", "organization": "ann", "type": "model"}).status == 200


def test_every_header_of_resolve(people, data):
    make(people, private=True)
    sha256, hash_ = upload(people, data[:100_000])
    oid = done(commit(people, text("x/ü.txt", "hällo"), stored("x/big.bin", sha256, 100_000), text("page.html", "<script>"), text("pic.svg", "<svg/>")))
    head = people.ask("HEAD", "/ann/one/resolve/main/x/big.bin")
    token = f"{people.server.url}/api/models/ann/one/xet-read-token/{oid}"
    for name, value in {
        "X-Repo-Commit": oid, "ETag": f'"{sha256}"', "X-Linked-Etag": f'"{sha256}"', "X-Linked-Size": "100000", "X-Xet-Hash": hash_,
        "Content-Length": "100000", "Accept-Ranges": "bytes", "X-Xet-Refresh-Route": token, "Cache-Control": "private, max-age=0",
        "Link": f'<{token}>; rel="xet-auth", <{people.server.url}/v1/reconstructions/{hash_}>; rel="xet-reconstruction-info"',
    }.items():  # fmt: skip
        assert head.headers[name] == value, name
    assert head.status == 200 and head.body == b"" and token_of(people.ask("GET", token.removeprefix(people.server.url)))
    at_commit = f"/ann/one/resolve/{oid}/x/big.bin"
    assert "immutable" not in people.ask("HEAD", at_commit).headers["Cache-Control"], "the next user of the browser may be another person"
    assert people.ask("PUT", "/api/models/ann/one/settings", body={"private": False}).status == 200
    assert "immutable" in people.ask("HEAD", at_commit).headers["Cache-Control"]
    assert people.ask("PUT", "/api/models/ann/one/settings", body={"private": True}).status == 200
    whole = people.ask("GET", "/ann/one/resolve/main/x%2Fbig.bin")
    assert whole.body == data[:100_000] and whole.headers["X-Repo-Commit"] == oid
    content = "hällo".encode()
    small = people.ask("GET", "/ann/one/resolve/main/x/%C3%BC.txt")
    assert (small.status, small.body, small.headers["ETag"], small.headers["X-Repo-Commit"]) == (200, content, f'"{git_blob(content)}"', oid)
    assert "X-Xet-Hash" not in small.headers and "X-Linked-Size" not in small.headers
    assert people.ask("HEAD", "/ann/one/resolve/main/x/%C3%BC.txt").headers["Content-Length"] == str(len(content))
    for path, size, body in (("x/big.bin", 100_000, data[:100_000]), ("x/%C3%BC.txt", 6, content)):
        for range_, first, end in (("bytes=2-4", 2, 5), (f"bytes={size - 2}-", size - 2, size), ("bytes=-3", size - 3, size), ("bytes=0-0", 0, 1)):
            part = people.ask("GET", f"/ann/one/resolve/main/{path}", Range=range_)
            assert (part.status, part.body, part.headers["Content-Range"]) == (206, body[first:end], f"bytes {first}-{end - 1}/{size}")
        past = people.ask("GET", f"/ann/one/resolve/main/{path}", Range=f"bytes={size}-")
        assert past.status == 416 and past.headers["Content-Range"] == f"bytes */{size}"
        etag = people.ask("HEAD", f"/ann/one/resolve/main/{path}").headers["ETag"]
        for same, status in ((etag, 206), ('"another"', 200)):  # If-Range: the answer is a part of the file only if the ETag is the same
            part = people.ask("GET", f"/ann/one/resolve/main/{path}", **{"Range": "bytes=2-4", "If-Range": same})
            assert (part.status, part.body) == (status, body[2:5] if status == 206 else body)
        same = people.ask("GET", f"/ann/one/resolve/main/{path}", **{"If-None-Match": etag})
        assert (same.status, same.body, same.headers["ETag"]) == (304, b"", etag)
        keeps_conditions(lambda method, **headers: people.ask(method, f"/ann/one/resolve/main/{path}", **headers), body, etag)
    for name in ("page.html", "pic.svg"):
        shown = people.ask("GET", f"/ann/one/resolve/main/{name}")
        assert shown.headers["Content-Type"].startswith("text/plain") and shown.headers["X-Content-Type-Options"] == "nosniff"
        assert shown.headers["Content-Security-Policy"] == "sandbox"
    for method in ("HEAD", "GET"):
        missing = people.ask(method, "/ann/one/resolve/main/none")
        assert (missing.status, missing.headers["X-Error-Code"], missing.headers["X-Repo-Commit"]) == (404, "EntryNotFound", oid)
        assert people.ask(method, "/ann/one/resolve/main/x").status == 404, "a folder is no file"
        lost = people.ask(method, "/ann/one/resolve/none/f")
        assert (lost.status, lost.headers["X-Error-Code"]) == (404, "RevisionNotFound") and "X-Repo-Commit" not in lost.headers
    for revision in (oid, oid[:7], "HEAD", "refs%2Fheads%2Fmain", "refs/heads/main"):
        assert people.ask("GET", f"/ann/one/resolve/{revision}/x/big.bin", Range="bytes=0-1").status == 206, revision


@pytest.mark.parametrize("type,prefix", [("dataset", "/datasets"), ("space", "/spaces"), ("kernel", "/kernels")])
def test_other_kinds(people, type, prefix):
    """Each kind has its own namespace. A repository may have a name that is also a part of an address."""
    for name in ("resolve", "raw", "one"):
        make(people, f"ann/{name}", type=type)
        assert people.ask("GET", f"/api/models/ann/{name}").status == 404
        done(commit(people, text("f", type), repo=f"{type}s/ann/{name}"))
        for what in ("resolve", "raw"):
            assert people.ask("GET", f"{prefix}/ann/{name}/{what}/main/f").body == type.encode()
    made = people.ask("POST", "/api/repos/create", body={"name": "one", "organization": "ann", "type": type})
    assert made.status == 409 and made.json()["url"] == f"{people.server.url}{prefix}/ann/one"
    assert made.json()["error"] == f"A {type} repository called ann/one already exists"


def again_after_a_lost_answer(people):
    """A commit that deletes is recognised when it is sent again. Another commit with the same parent is a conflict, even if it deletes something that is
    gone."""
    head = people.ask("GET", "/api/models/ann/one/revision/main").json()["sha"]
    put = done(commit(people, text("f/g.txt", "g"), text("h.txt", "h"), parentCommit=head))
    gone = done(commit(people, deleted("f", "deletedFolder"), deleted("h.txt"), text("i.txt", "i"), parentCommit=put))
    assert done(commit(people, deleted("f", "deletedFolder"), deleted("h.txt"), text("i.txt", "i"), parentCommit=put)) == gone
    cairn.is_hub_error(commit(people, deleted("h.txt"), text("i.txt", "other"), parentCommit=put), 412, "commit.parent")
    cairn.is_hub_error(commit(people, deleted("h.txt"), parentCommit=gone), 404, "entry.unknown")
    done(commit(people, deleted("i.txt")))


def test_commits(people, data):
    make(people)
    sha256, _ = upload(people, data[:50_000])
    first = done(commit(people, text("a/b/c.txt", "x"), stored("a/big.bin", sha256, 50_000), text("d.txt", "d"), description="why"))
    assert done(commit(people, text("d.txt", "d"))) == first, "a commit without changes is the former one"
    second = done(commit(people, text("e.txt", "e"), parentCommit=first[:7]))
    assert done(commit(people, text("e.txt", "e"), parentCommit=first[:7])) == second, "a commit that is sent again is recognised"
    late = commit(people, text("e.txt", "other"), parentCommit=first[:7])
    assert cairn.is_hub_error(late, 412, "commit.parent") == "The branch was updated since you opened this page. Please refresh and try again."
    gone = commit(people, deleted("none"))
    assert "A file with this name doesn't exist" in cairn.is_hub_error(gone, 404, "entry.unknown") and gone.headers["X-Error-Code"] == "EntryNotFound"
    other = random.Random(3).randbytes(32).hex()
    assert commit(people, stored("x", other, 5)).status == 400
    lost = commit(people, text("x", "x"), revision="none")
    assert lost.status == 404 and lost.headers["X-Error-Code"] == "RevisionNotFound"
    done(commit(people, deleted("a/b"), deleted("a/big.bin"), text("a/big.bin", "small now")))
    assert sorted(paths(people)) == ["a/big.bin", "d.txt", "e.txt"]
    assert sorted(paths(people, place=first)) == ["a/b/c.txt", "a/big.bin", "d.txt"]
    done(commit(people, deleted("a", "deletedFolder")))
    assert sorted(paths(people)) == ["d.txt", "e.txt"]
    again_after_a_lost_answer(people)
    assert [c["id"] for c in people.ask("GET", "/api/models/ann/one/commits/main").json()][-3:-1] == [second, first]
    table = ",".join(map(str, range(5000))) + "\n[[{{" * 2000  # commas and brackets of a text are not parsed
    done(commit(people, text("table.csv", table)))
    assert people.ask("GET", "/ann/one/raw/main/table.csv").body == table.encode()
    many = b'{"key": "file", "value": {"path": "x", "content": "", "more": [' + b"1," * 1001 + b"1]}}"
    cairn.is_hub_error(people.ask("POST", "/api/models/ann/one/commit/main", body=lines() + b"\n" + many), 400, "commit.line")
    for wrong in (b"", b"x", b"{}", lines(text("../x", "x")), lines(text("..\\x", "x")), lines({"key": "file", "value": {}})):
        assert people.ask("POST", "/api/models/ann/one/commit/main", body=wrong).status in (400, 422), wrong


def test_preupload_says_how_each_file_is_uploaded(people, data):
    make(people)
    sha256, _ = upload(people, data[:50_000])
    oid = done(commit(people, stored("known.bin", sha256, 50_000), text("known.txt", "text"), text(".gitignore", "*.log\n!keep.log\n")))

    def asked(*files, **more):
        body = {"files": [{"path": p, "size": n, "sample": s} for p, n, s in files]} | more
        reply = people.ask("POST", "/api/models/ann/one/preupload/main", body=body)
        assert reply.status == 200 and reply.json()["commitOid"] == oid, reply.body
        return {f["path"]: f for f in reply.json()["files"]}

    got = asked(("a.txt", 5, "aGVsbG8="), ("a.safetensors", 5, "aGVsbG8="), ("b", 5, "AAECAwQ="), ("long.txt", 1 << 20, "aGVsbG8="), ("empty", 0, ""),
                ("x.log", 5, ""), ("keep.log", 5, ""), ("known.bin", 50_000, ""), ("known.txt", 4, "dGV4dA=="))  # fmt: skip
    modes = {path: f["uploadMode"] for path, f in got.items()}
    assert modes == {"a.txt": "regular", "a.safetensors": "lfs", "b": "lfs", "long.txt": "lfs", "empty": "regular", "x.log": "regular",
                     "keep.log": "regular", "known.bin": "lfs", "known.txt": "regular"}  # fmt: skip
    assert [path for path, f in got.items() if f["shouldIgnore"]] == ["x.log"]
    assert (got["known.bin"]["oid"], got["known.txt"]["oid"]) == (sha256, git_blob(b"text")) and "oid" not in got["a.txt"]
    assert [p for p, f in asked(("x.log", 1, ""), ("y", 1, ""), gitIgnore="y").items() if f["shouldIgnore"]] == ["y"]
    assert asked(("x.txt", 5, "aGVsbG8="), gitAttributes="*.txt filter=lfs")["x.txt"]["uploadMode"] == "lfs"
    for wrong in (b"", b"{}", b'{"files":1}', b'{"files":[{}]}', {"files": [{"path": "a"}] * 1001}):
        assert cairn.is_hub_error(people.ask("POST", "/api/models/ann/one/preupload/main", body=wrong), 400, "repo.body")
    assert cairn.is_hub_error(people.ask("POST", "/api/models/ann/one/preupload/main", body={"files": [{"path": "../a"}]}), 422, "commit.name")
    many = {"files": [{"path": f"{'d/' * 60}{i}", "size": 1} for i in range(1000)]}
    for wrong in ({"files": [], "gitIgnore": "x" * 65537}, {"files": [], "gitAttributes": "x" * 65537}, many | {"gitIgnore": "\n" * 65536},
                  many | {"gitAttributes": "*b x\n" * 13000}, many | {"gitIgnore": "*[" + "b" * 65000 + "]x"}):  # fmt: skip
        before_s = cairn.processor_s(people.server)
        assert cairn.is_hub_error(people.ask("POST", "/api/models/ann/one/preupload/main", body=wrong), 400, "preupload.patterns")
        assert cairn.processor_s(people.server) - before_s < 10, "it takes about a second, with sanitizers"
    assert len(asked(*((f"{i}.bin", 5, "") for i in range(1000)), gitIgnore="x" * 65536)) == 1000
    assert people.ask("POST", "/api/models/ann/one/preupload/none", body={"files": []}).headers["X-Error-Code"] == "RevisionNotFound"


def test_trees_in_pages(people):
    make(people)
    oid = done(commit(people, *(text(f"d/{i:04}.txt", str(i)) for i in range(1200)), text("e/f/g.txt", "g")))
    everything = sorted(e.path for e in people.api().list_repo_tree("ann/one", recursive=True))
    assert everything == sorted([".gitattributes", "d", "e", "e/f", "e/f/g.txt", *(f"d/{i:04}.txt" for i in range(1200))])
    page = people.ask("GET", "/api/models/ann/one/tree/main/d?limit=700&expand=true")
    assert len(page.json()) == 700 and page.json()[0]["lastCommit"]["id"] == oid
    link = page.headers["Link"]
    assert link.startswith(f"<{people.server.url}/api/models/ann/one/tree/{oid}/d?") and link.endswith('>; rel="next"')
    rest = people.ask("GET", link[1 : link.index(">")].removeprefix(people.server.url))
    assert [e["path"] for e in page.json() + rest.json()] == [f"d/{i:04}.txt" for i in range(1200)] and "Link" not in rest.headers
    assert {(e["type"], e["path"]) for e in tree(people, query="")} == {("directory", "d"), ("directory", "e"), ("file", ".gitattributes")}
    for place in ("none", "d/none"):
        reply = people.ask("GET", f"/api/models/ann/one/tree/main/{place}")
        assert (reply.status, reply.headers["X-Error-Code"]) == (404, "EntryNotFound"), place
    form = "paths=d%2F0001.txt&paths=e&paths=none&expand=True"
    told = people.ask("POST", "/api/models/ann/one/paths-info/main", body=form.encode(), **{"Content-Type": "application/x-www-form-urlencoded"}).json()
    assert [(e["type"], e["path"]) for e in told] == [("file", "d/0001.txt"), ("directory", "e")] and told[1]["lastCommit"]["id"] == oid
    assert cairn.is_hub_error(people.ask("POST", "/api/models/ann/one/paths-info/main", body=b"{}"), 400, "paths.body")
    asked = {"paths": ["none"] * 999 + ["e"]}
    assert len(people.ask("POST", "/api/models/ann/one/paths-info/main", body=asked).json()) == 1
    for wrong, type in ((json.dumps({"paths": ["none"] * 1001}), "application/json"), ("&".join(["paths="] * 1001), "application/x-www-form-urlencoded")):
        reply = people.ask("POST", "/api/models/ann/one/paths-info/main", body=wrong.encode(), **{"Content-Type": type})
        assert cairn.is_hub_error(reply, 400, "paths.body"), type


def test_branches_and_tags(people):
    make(people)
    api = "/api/models/ann/one"
    first = done(commit(people, text("f", "1")))
    done(commit(people, text("f", "2")))
    assert people.ask("POST", f"{api}/branch/dev%2Fx", body={"startingPoint": first}).status == 200
    known = people.ask("POST", f"{api}/branch/dev%2Fx", body={})
    assert cairn.is_hub_error(known, 409, "ref.known") == "Reference refs/heads/dev/x already exists"
    assert people.ask("GET", "/ann/one/resolve/dev/x/f").body == b"1"
    assert people.ask("POST", f"{api}/branch/dev%2Fx", body={"overwrite": True}).status == 200
    assert people.ask("GET", "/ann/one/resolve/dev%2Fx/f").body == b"2"
    assert people.ask("POST", f"{api}/branch/bare", body={"emptyBranch": True}).status == 200
    assert tree(people, place="bare") == []
    assert people.ask("POST", f"{api}/branch/null", body={"startingPoint": None}).status == 200
    cairn.is_hub_error(people.ask("POST", f"{api}/branch/y", body={"startingPoint": 1}), 400, "repo.body")
    assert people.ask("POST", f"{api}/branch/y", body={"startingPoint": "none"}).headers["X-Error-Code"] == "RevisionNotFound"
    assert "Cannot delete refs/heads/main" in cairn.is_hub_error(people.ask("DELETE", f"{api}/branch/main"), 403, "ref.main")
    assert people.ask("DELETE", f"{api}/branch/dev%2Fx").status == 200
    gone = people.ask("DELETE", f"{api}/branch/dev%2Fx")
    assert cairn.is_hub_error(gone, 404, "revision.unknown") == "Invalid rev id: dev/x" and gone.headers["X-Error-Code"] == "RevisionNotFound"
    assert people.ask("POST", f"{api}/tag/{first}", body={"tag": "v1", "message": "x"}).status == 200
    assert cairn.is_hub_error(people.ask("POST", f"{api}/tag/main", body={"tag": "v1"}), 409, "ref.known")
    assert people.ask("GET", "/ann/one/resolve/v1/f").body == b"1"
    for wrong in ("a..b", "a b", "~", "x.lock"):
        assert 400 <= people.ask("POST", f"{api}/tag/main", body={"tag": wrong}).status < 500, wrong
    assert people.ask("POST", f"{api}/tag/none", body={"tag": "a b"}).headers["X-Error-Code"] == "RevisionNotFound"
    for body in (b"x", b"[]", b"{}"):
        assert people.ask("POST", f"{api}/tag/main", body=body).status == 400
    assert people.ask("POST", f"{api}/branch/z", body=b"[]").status == 400
    assert people.ask("DELETE", f"{api}/tag/v1").status == 200 and people.ask("DELETE", f"{api}/tag/v1").status == 404
    refs = people.ask("GET", f"{api}/refs?include_prs=1").json()
    assert sorted(r["name"] for r in refs["branches"]) == ["bare", "main", "null"] and (refs["tags"], refs["converts"], refs["pullRequests"]) == ([], [], [])


def test_an_unreachable_commit_is_shown_to_writers_only(people):
    """After a squash the branch's former commits are hidden at once. People who may not write learn nothing of them, whether they guess four digits or know
    the whole id."""
    make(people, "team/one", "ann")
    at = dict(repo="models/team/one")
    done(commit(people, text("a", "1"), **at))
    secret = done(commit(people, text("secret.env", "KEY=1"), **at))
    last = done(commit(people, deleted("secret.env"), **at))
    for who in ("nobody", "bob", "rita", "ann"):
        for digits in (4, 7, 40):
            assert people.ask("GET", f"/team/one/resolve/{secret[:digits]}/secret.env", who).body == b"KEY=1", (who, digits)
    assert b"team/one" in people.ask("GET", f"/search?q={secret}", "nobody").body
    assert people.ask("POST", "/api/models/team/one/super-squash/main", "adam", {}).status == 200
    api = "/api/models/team/one"
    for oid in (secret[:4], secret[:7], secret):
        for who, status in (("nobody", 404), ("bob", 404), ("rita", 404), ("reading ann", 404), ("ann", 200), ("operator", 200)):
            for path in (f"/team/one/resolve/{oid}/secret.env", f"{api}/revision/{oid}", f"{api}/tree/{oid}", f"{api}/commits/{oid}", f"/team/one/raw/{oid}/secret.env"):
                reply = people.ask("GET", path, who)
                assert reply.status == status, (who, path, reply)
                assert status == 200 or reply.headers["X-Error-Code"] == "RevisionNotFound", (who, path, reply)
            assert people.ask("HEAD", f"/team/one/resolve/{oid}/secret.env", who).status == status, (who, oid)
            assert people.ask("POST", f"{api}/paths-info/{oid}", who, {"paths": ["secret.env"]}).status == status, (who, oid)
    assert b"team/one" not in people.ask("GET", f"/search?q={secret}", "nobody").body
    # When somebody who may write makes a branch of it, everybody sees it again.
    assert people.ask("POST", f"{api}/branch/again", "ann", {"startingPoint": secret}).status == 200
    assert people.ask("GET", f"/team/one/resolve/{secret[:4]}/secret.env", "nobody").body == b"KEY=1"
    assert people.ask("GET", f"/team/one/resolve/{last}/a", "nobody").status == 404


def test_lists(people):
    for name in ("b", "a", "c"):
        make(people, f"ann/{name}")
    make(people, "team/private", private=True)
    make(people, "ann/data", type="dataset", visibility="private")

    def ids(query="", who="ann", type="models"):
        reply = people.ask("GET", f"/api/{type}{query}", who)
        assert reply.status == 200, reply
        return [r["id"] for r in reply.json()]

    assert sorted(ids()) == ["ann/a", "ann/b", "ann/c", "team/private"] and sorted(ids(who="nobody")) == ["ann/a", "ann/b", "ann/c"]
    for sort in ("trendingScore", "lastModified", "downloads", "likes", "anything"):
        assert len(ids(f"?sort={sort}&direction=-1")) == 4, sort
    assert ids("?sort=createdAt&author=ann") == ["ann/c", "ann/a", "ann/b"]
    assert ids(f"?search={'a' * 255}") == [] and ids(f"?search={'a' * 256}") == [] and ids(f"?author={'a' * 256}") == []
    assert ids("?search=PRIV") == ["team/private"] and ids("?author=none") == [] and ids("?author=bob") == []
    page = people.ask("GET", "/api/models?author=ann&limit=2&sort=createdAt")
    link = page.headers["Link"]
    rest = people.ask("GET", link[1 : link.index(">")].removeprefix(people.server.url))
    assert [r["id"] for r in page.json() + rest.json()] == ["ann/c", "ann/a", "ann/b"] and "Link" not in rest.headers
    assert [m.id for m in people.api().list_models(author="ann", search="a", limit=1)] != []
    assert ids(type="datasets", who="bob") == [] and ids(type="datasets") == ["ann/data"]
    people.make("ann/bucket")
    told = {(r["id"], r["type"], r["visibility"]) for r in people.ask("GET", "/api/settings/repositories").json()}
    assert told == {("ann/a", "model", "public"), ("ann/b", "model", "public"), ("ann/c", "model", "public"), ("ann/data", "dataset", "private"), ("ann/bucket", "bucket", "public")}
    people.put("ann/bucket", "x", b"x" * 9 * sum(r["storage"] for r in people.ask("GET", "/api/settings/repositories").json()))
    shares = [(r["id"], r["storagePercent"]) for r in people.ask("GET", "/api/settings/repositories").json()]
    assert shares[0] == ("ann/bucket", 90) and 98 <= sum(share for _, share in shares) <= 102, shares
    assert people.ask("GET", "/api/settings/repositories", "nobody").status == 401
    assert [r["id"] for r in people.ask("GET", "/api/organizations/team/settings/repositories").json()] == ["team/private"]
    assert people.ask("GET", "/api/organizations/team/settings/repositories", "bob").json() == []
    first = people.ask("GET", "/api/organizations/ann/settings/repositories?limit=4")
    rest = people.ask("GET", first.headers["Link"].removeprefix(f"<{people.server.url}").split(">")[0])
    assert len({r["id"] for r in first.json() + rest.json()}) == 5 and not any("storagePercent" in r for r in first.json() + rest.json())
    assert people.ask("GET", "/api/agent-harnesses").status == 404


def test_a_hidden_repository_is_answered_as_absent_by_each_route(people):
    """A repository that somebody may not see is answered as if it did not exist, whatever is asked, by any method."""
    make(people, "team/private", private=True)
    make(people, "team/public")
    for name in ("private", "public"):
        done(commit(people, text("f", "bytes"), repo=f"models/team/{name}"))
    asks = [
        ("GET", "/api/models/team/{}", None), ("GET", "/api/models/team/{}/revision/main", None), ("GET", "/api/models/team/{}/tree/main", None),
        ("GET", "/api/models/team/{}/refs", None), ("GET", "/api/models/team/{}/commits/main", None), ("GET", "/team/{}/resolve/main/f", None),
        ("HEAD", "/team/{}/resolve/main/f", None), ("GET", "/team/{}/raw/main/f", None), ("GET", "/api/models/team/{}/auth-check", None),
        ("GET", "/api/models/team/{}/auth-check/write", None), ("GET", "/api/models/team/{}/xet-read-token/main", None),
        ("GET", "/api/models/team/{}/xet-write-token/main", None), ("POST", "/api/models/team/{}/paths-info/main", b'{"paths":["f"]}'),
        ("POST", "/api/models/team/{}/preupload/main", b'{"files":[]}'), ("POST", "/api/models/team/{}/commit/main", lines(text("g", "g"))),
        ("POST", "/api/models/team/{}/branch/x", b"{}"), ("DELETE", "/api/models/team/{}/branch/x", None), ("POST", "/api/models/team/{}/tag/main", b'{"tag":"t"}'),
        ("DELETE", "/api/models/team/{}/tag/t", None), ("PUT", "/api/models/team/{}/settings", b'{"private":false}'),
        ("POST", "/api/models/team/{}/super-squash/main", b"{}"), ("POST", "/api/models/team/{}/duplicate", b'{"repository":"team/copy"}'),
        ("GET", "/api/models/team/{}/lfs-files?write", None), ("POST", "/api/models/team/{}/lfs-files/batch", b'{"deletions":{"sha":[]}}'),
    ]  # fmt: skip
    same = {"X-Request-Id": "same"}
    for method, path, body in asks:
        for who, status in (("nobody", 401), ("bob", 404)):
            hidden, absent = (people.ask(method, path.format(name), who, body, **same) for name in ("private", "absent"))
            assert hidden.status == absent.status == status, (method, path, who)
            assert (hidden.body, hidden.headers["X-Error-Code"]) == (absent.body, "RepoNotFound")
        for who in ("rita", "reading ann"):
            seen = people.ask(method, path.format("private"), who, body)
            reads = (method != "POST" and method not in ("DELETE", "PUT") and "write" not in path) or "paths-info" in path
            assert seen.status == (200 if reads else 403), (method, path, who, seen.body)
    for name in ("private", "absent"):
        refused = people.ask("DELETE", "/api/repos/delete", "bob", {"name": name, "organization": "team"}, **same)
        assert refused.status == 404, name
    for who, status in (("nobody", 401), ("bob", 403), ("rita", 403), ("reading ann", 403), ("ann", 200)):
        body = {"name": f"by-{who.replace(' ', '-')}", "organization": "team", "type": "model"}
        assert people.ask("POST", "/api/repos/create", who, body).status == status, who
    assert people.ask("DELETE", "/api/repos/delete", "ann", {"name": "public", "organization": "team"}).status == 403
    assert people.ask("DELETE", "/api/repos/delete", "adam", {"name": "public", "organization": "team"}).status == 200


def test_knowing_a_sha256_is_no_right_to_it(people, data):
    make(people)
    sha256, hash_ = upload(people, data[:50_000])
    done(commit(people, stored("f", sha256, 50_000)))
    make(people, "bob/one", "bob")
    refused = commit(people, stored("f", sha256, 50_000), repo="models/bob/one", who="bob")
    absent = commit(people, stored("f", "ab" * 32, 50_000), repo="models/bob/one", who="bob")
    assert refused.status == absent.status == 400
    token = token_of(people.ask("GET", "/api/models/bob/one/xet-read-token/main", "bob"))
    assert people.server.request("HEAD", f"/v1/files/{hash_}", token=token).status == 404


def test_ids_reveal_no_counts(people):
    """Ids are as long as those of the public hub and never change. They do not reveal how many others there are."""
    repos = [make(people, f"ann/n{i}") for i in range(3)]
    ids = [people.ask("GET", f"/api/models/{repo}").json()["_id"] for repo in repos]
    ids.append(people.ask("GET", "/api/whoami-v2").json()["id"])
    assert all(re.fullmatch("[0-9a-f]{24}", id) for id in ids) and len(set(ids)) == 4
    assert min(abs(int(a, 16) - int(b, 16)) for a in ids for b in ids if a != b) > 2**32
    listed = {repo["id"]: repo["_id"] for repo in people.ask("GET", "/api/models?author=ann").json()}
    assert [listed[repo] for repo in repos] == ids[:3]
    people.server.stop()
    people.server.start()
    assert people.ask("GET", f"/api/models/{repos[0]}").json()["_id"] == ids[0]
    moved = {"fromRepo": "ann/n0", "toRepo": "ann/moved", "type": "model"}
    assert people.ask("POST", "/api/repos/move", body=moved).status == 200
    assert people.ask("GET", "/api/models/ann/moved").json()["_id"] == ids[0], "a renamed repository keeps its id"


def test_former_names_belong_to_the_account_that_had_them(people, admin):
    """Somebody who moved a repository away does not control its old name for ever."""
    for name in ("one", "two"):
        make(people, f"team/{name}", "adam")
        body = {"fromRepo": f"team/{name}", "toRepo": f"adam/{name}", "type": "model"}
        assert people.ask("POST", "/api/repos/move", "adam", body).status == 200
        assert people.ask("GET", f"/api/models/team/{name}").json()["id"] == f"adam/{name}"
    # The account takes the name back for good.
    make(people, "team/one", "ann")
    assert people.ask("GET", "/api/models/team/one").json()["id"] == "team/one"
    assert people.ask("DELETE", "/api/repos/delete", "operator", {"name": "one", "organization": "team", "type": "model"}).status == 200
    assert people.ask("GET", "/api/models/team/one").status == 404
    assert people.ask("GET", "/api/models/adam/one").status == 200
    # A former admin has lost the old names, and nothing else.
    assert people.ask("GET", "/api/models/team/two").json()["id"] == "adam/two"
    assert member(people.server, admin, "team", "bob", "admin").status == 200
    assert member(people.server, admin, "team", "adam", "read").status == 200
    assert people.ask("GET", "/api/models/team/two").status == 404
    assert people.ask("GET", "/api/models/adam/two").status == 200


def test_moves_and_settings(people):
    make(people)
    make(people, "ann/two")
    done(commit(people, text("f", "bytes")))

    def move(source, target, who="ann", **more):
        return people.ask("POST", "/api/repos/move", who, {"fromRepo": source, "toRepo": target, "type": "model"} | more)

    assert cairn.is_hub_error(move("ann/one", "ann/two"), 409, "repo.known") == "A model repository called ann/two already exists"
    assert move("ann/one", "bob/x").status == 403 and move("ann/none", "ann/x").status == 404 and move("ann/one", "ann/x", type="dataset").status == 404
    assert move("ann/one", "team/three").status == 200
    assert people.ask("GET", "/team/three/resolve/main/f").body == b"bytes"
    assert people.ask("GET", "/api/models/ann/one").json()["id"] == "team/three", "the former name still leads there"
    assert people.ask("GET", "/ann/one/resolve/main/f").body == b"bytes"
    make(people)
    assert people.ask("GET", "/api/models/ann/one").json()["id"] == "ann/one", "a former name leads there only until it is given again"
    assert people.ask("PUT", "/api/models/ann/two/settings", body={"visibility": "private"}).json()["private"] is True
    assert people.ask("GET", "/api/models/ann/two", "bob").status == 404
    assert people.ask("PUT", "/api/models/ann/two/settings", body=b"x").status == 400
    for body in ({}, {"name": "x", "type": "thing"}, {"name": "x", "type": "bucket"}, {"name": 1}):
        assert cairn.is_hub_error(people.ask("POST", "/api/repos/create", body=body), 400, "repo.body"), body
    for name in ("-a", "a..b", "a" * 97):
        assert people.ask("POST", "/api/repos/create", body={"name": name}).status == 400
    made = people.ask("POST", "/api/repos/create", body={"name": "mine", "organization": None}).json()
    assert (made["name"], made["url"]) == ("ann/mine", f"{people.server.url}/ann/mine")
    assert people.ask("DELETE", "/api/repos/delete", body={"name": "mine", "organization": None}).status == 200


def test_readmes_are_judged(people):
    def judged(content, **headers):
        return people.ask("POST", "/api/validate-yaml", "nobody", {"content": content, "repoType": "model"}, **headers)

    assert judged("---\nlicense: mit\n---\n").json() == {"errors": [], "warnings": []}
    empty = judged("# Title")
    assert empty.status == 200 and empty.json()["warnings"] == [{"message": "empty or missing yaml metadata in repo card"}]
    wrong = judged("---\nmodel-index: foo\n---\n")
    assert wrong.status == 400 and wrong.json()["errors"] == [{"message": '"model-index" must be an array'}]
    assert judged("\n \n---\nmodel-index: foo\n---\n").status == 400
    told = judged("---\nlicense: asdf\n---\n", Accept="text/plain")
    assert told.status == 400 and told.body.startswith(b'- Error: "license" must be one of')
    assert people.ask("POST", "/api/validate-yaml", body=b"{}").status == 400
    make(people)
    with pytest.raises((ValueError, BadRequestError), match="Invalid metadata in README.md"):
        people.api().upload_file(path_or_fileobj=b"---\nmodel-index: foo\n---\n", path_in_repo="README.md", repo_id="ann/one")


def test_routes_that_are_left_out_answer_501(people):
    for method, path in (("GET", "/api/collections"), ("POST", "/api/models/ann/one/like"), ("GET", "/api/spaces/ann/one/runtime"), ("GET", "/api/settings/webhooks"),
                         ("GET", "/api/jobs/ann"), ("GET", "/api/papers/1234.5678"), ("POST", "/api/models/ann/one/discussions/1/comment"),
                         ("GET", "/api/daily_papers?limit=50"), ("GET", "/api/spaces/hardware"), ("POST", "/api/spaces/ann/one/restart"), ("DELETE", "/api/spaces/ann/one/secrets"),
                         ("PUT", "/api/spaces/ann/one/volumes"), ("GET", "/api/spaces/ann/one/logs/run"), ("GET", "/api/models/ann/one/likers"), ("GET", "/api/users/ann/likes"),
                         ("GET", "/api/models-tags-by-type"), ("GET", "/api/datasets-tags-by-type")):  # fmt: skip
        reply = people.ask(method, path, body=b"{}" if method != "GET" else None)
        assert reply.headers["X-Error-Code"] == "NotImplemented" and cairn.is_hub_error(reply, 501, "hub.left_out"), path


def test_the_guide_lists_missing_routes():
    """docs/hub.md lists exactly the routes of hub_left_out.c, without the name of the repository."""
    source = (cairn.ROOT / "server/hub/hub_left_out.c").read_text().split("ROUTES_LEFT_OUT[] = {")[1]
    routes = set(re.findall(r'"(/[^"]+)"', source))
    guide = (cairn.ROOT / "docs/hub.md").read_text().split("## What is not there")[1].split("\n## ")[0]
    table = [line.split("|")[2] for line in guide.splitlines() if line.startswith("| ") and "`/" in line]
    listed = {address for cell in table for address in re.findall(r"`(/[^`]+)`", cell)}
    assert {route.replace("/api/{type}/{namespace}/{name}/", "/api/*/").replace("/api/spaces/{namespace}/{name}/", "/") for route in routes} == listed


def test_options_that_narrow_access_are_refused(people):
    for more in ({"resourceGroupId": "66670e5163145ca562cb1988"}, {"region": "eu"}):
        for path, body in (("/api/repos/create", {"name": "one"}), ("/api/buckets/ann/one", {})):
            assert cairn.is_hub_error(people.ask("POST", path, body=body | more), 400, "repo.narrow"), (path, more)
    assert people.ask("GET", "/api/models/ann/one").status == 404 and people.ask("GET", "/api/buckets/ann/one").status == 404
    assert people.ask("POST", "/api/repos/create", body={"name": "one", "resourceGroupId": None}).status == 200


def test_the_library_shows_the_reason_for_missing_routes(people):
    api = people.api()
    for call in (api.restart_space, api.pause_space, api.get_space_variables, api.get_space_runtime, api.unlike):
        with pytest.raises(HfHubHTTPError, match="Nothing is run here|Likes are not kept here"):
            call("ann/one")
    with pytest.raises(HfHubHTTPError, match="Nothing is run here"):
        api.add_space_secret("ann/one", "KEY", "value")


def test_an_address_without_a_route_is_refused_as_the_hub_refuses(people):
    """The library shows an error that is an object as raw JSON, so addresses of the hub answer a text. Those of the store still answer objects, and a
    browser gets a page."""
    for method, path in (("POST", "/api/models/ann/one/nothing/main"), ("GET", "/api/nothing"), ("GET", "/api/a/b/c/d"),
                         ("GET", "/api/users/ann/nothing"), ("GET", "/api/organizations/team/nothing"), ("POST", "/api/things/ann/one/commit/main")):  # fmt: skip
        reply = people.ask(method, path, body=b"{}" if method == "POST" else None)
        assert cairn.is_hub_error(reply, 404, "route.unknown") and b"name its owner" in reply.body, path
    for path in ("/api/models/ann/one/refs", "/api/spaces/hardware", "/api/spaces/hardware?a"):
        wrong = people.ask("PUT", path, body=b"")
        assert cairn.is_hub_error(wrong, 405, "route.method") and wrong.headers["Allow"]
    cairn.is_error(people.ask("GET", "/v1/nothing"), 404, "route.unknown")
    cairn.is_error(people.ask("GET", "/apis/nothing/at/all"), 404, "route.unknown")


def test_git_is_told_to_use_hf(people):
    make(people)
    for path in ("/ann/one", "/ann/one.git", "/datasets/ann/none", "/spaces/ann/none", "/kernels/ann/none"):
        told = subprocess.run(["git", "ls-remote", people.server.url + path], capture_output=True, text=True, env={"PATH": os.environ["PATH"], "GIT_TERMINAL_PROMPT": "0"})
        assert told.returncode != 0 and "remote: Cairn keeps no git repository" in told.stderr and "hf download" in told.stderr, told.stderr


def test_tokens_of_repositories(people, admin):
    """A token is for the repository, whatever its name or revision. A public repository is read without a key."""
    make(people)
    for revision in ("main", "refs%2Fpr%2F1", "None", "feat/x"):
        assert people.ask("GET", f"/api/models/ann/one/xet-read-token/{revision}", "nobody").status == 200, revision
    assert people.ask("GET", "/api/models/ann/one/xet-write-token/main", "nobody").status == 401
    assert people.ask("GET", "/api/models/ann/one/xet-write-token/main", "bob").status == 403


def test_a_key_for_one_repository(people, admin, data, tmp_path):
    """The key works in its repository, private or not, as far as its account may. It gives no rights anywhere else."""
    for repo, private in (("ann/one", True), ("ann/two", True), ("ann/open", False)):
        make(people, repo, private=private)
        done(commit(people, text("f", repo), repo=f"models/{repo}"))
    make(people, "ann/one", type="dataset")
    narrow = {"repo": "models/Ann/One", "account": "ann"}
    people.keys |= {scope: make_key(people.server, admin, scope=scope, **narrow)["key"] for scope in ("write", "read", "admin")}
    people.keys["bob's"] = make_key(people.server, admin, repo="models/ann/one", scope="write", account="bob")["key"]
    people.keys["operator's"] = make_key(people.server, admin, repo="models/ann/one", scope="write")["key"]
    (tmp_path / "up").mkdir()
    (tmp_path / "up" / "big.bin").write_bytes(data)
    (tmp_path / "up" / "a.txt").write_bytes(b"text")
    people.hf("upload", "ann/one", tmp_path / "up", ".", who="write")
    assert people.ask("GET", "/ann/one/resolve/main/big.bin", "read").body == data
    lfs = {"operation": "upload", "transfers": ["basic"], "objects": [{"oid": "0" * 64, "size": 1}]}
    for who, status in (("write", 200), ("admin", 200), ("operator's", 200), ("read", 403), ("bob's", 404), ("bob", 404)):
        assert commit(people, text("g", who), who=who).status == status, who
        assert people.ask("GET", "/api/models/ann/one/xet-write-token/main", who).status == status, who
        assert people.ask("POST", "/ann/one.git/info/lfs/objects/batch", who, lfs).status == status, who
    for who in ("write", "admin", "operator's", "read"):
        assert people.ask("GET", "/ann/one/resolve/main/f", who).body == b"ann/one"
        assert people.ask("GET", "/ann/two/resolve/main/f", who).status == 404 and commit(people, text("g", "x"), repo="models/ann/two", who=who).status == 404
        assert people.ask("GET", "/ann/open/resolve/main/f", who).body == b"ann/open", "a public repository is open to everybody"
        for repo in ("models/ann/open", "datasets/ann/one"):
            assert commit(people, text("g", "x"), repo=repo, who=who).status == 403, (who, repo)
            assert people.ask("GET", f"/api/{repo}/xet-write-token/main", who).status == 403
        assert people.ask("PUT", "/api/models/ann/one/settings", who, {"private": False}).status == 403, "the key may not change settings"
        assert people.ask("DELETE", "/api/repos/delete", who, {"name": "one", "organization": "ann"}).status == 403
        assert people.ask("POST", "/api/repos/create", who, {"name": "new", "organization": "ann"}).status == 403
    assert people.ask("POST", "/api/repos/move", "ann", {"fromRepo": "ann/one", "toRepo": "ann/three", "type": "model"}).status == 200
    assert people.ask("GET", "/ann/one/resolve/main/f", "write").status == 404, "the key does not follow a repository that is moved"


def test_without_tokens(server, tmp_path, data):
    """Clients are given nothing but the address. Everybody is then the operator."""
    api = HfApi(endpoint=server.url, token=False)
    assert api.create_repo("one").repo_id == "operator/one"
    api.create_commit("operator/one", [CommitOperationAdd("big.bin", data), CommitOperationAdd("a.txt", b"text")], commit_message="x")
    folder = snapshot_download("operator/one", endpoint=server.url, token=False, cache_dir=tmp_path)
    assert open(f"{folder}/big.bin", "rb").read() == data
    assert [m.id for m in api.list_models()] == ["operator/one"]


def test_an_error_names_its_request(people):
    """The error contains the request id that the library made and has in its own log."""
    with pytest.raises(RepositoryNotFoundError) as error:
        people.api().repo_info("ann/none")
    sent = error.value.response.request.headers["X-Amzn-Trace-Id"]
    assert error.value.request_id == sent and f"Request ID: {sent}" in str(error.value)


def test_a_name_without_an_owner_is_a_repository_that_is_not_there(people):
    """A name such as "gpt2" of the public hub gets X-Error-Code. Clients blame the network for a 404 without it."""
    api = people.api()
    assert not api.repo_exists("gpt2") and not api.repo_exists("squad", repo_type="dataset")
    assert not api.file_exists("gpt2", "config.json") and not api.revision_exists("gpt2", "main")
    for ask in (
        lambda: api.model_info("gpt2"),
        lambda: api.list_repo_tree("gpt2", revision="main").__next__(),
        lambda: api.list_repo_commits("gpt2"),
        lambda: api.get_paths_info("gpt2", ["a"]),
        lambda: api.upload_file(path_or_fileobj=b"a", path_in_repo="a", repo_id="gpt2"),
        lambda: hf_hub_download("gpt2", "config.json", endpoint=people.server.url, token=people.keys["ann"], cache_dir=people.folder / "cache"),
        lambda: hf_hub_download("squad", "a", repo_type="dataset", endpoint=people.server.url, token=people.keys["ann"], cache_dir=people.folder / "cache"),
    ):
        with pytest.raises(RepositoryNotFoundError):
            ask()


def routes_of_repositories():
    """[(method, path)] of the API's routes below a repository called gpt2, a name without an owner."""
    of = [re.fullmatch(r"/api/(\{type\}|spaces)/\{namespace\}/\{name\}/(.+)", pattern) and (method, pattern) for method, pattern, _, _ in cairn.routes()]
    return [(m, re.sub(r"\{\w+\}", "1", p.replace("{type}", "models").replace("{namespace}/{name}", "gpt2"))) for m, p in filter(None, of)]


def test_each_route_says_that_a_name_without_an_owner_is_not_there(people):
    asked = routes_of_repositories()
    assert ("DELETE", "/api/models/gpt2/like") in asked and len(asked) > 50
    for method, path in asked:
        reply = people.ask(method, path, body={"repository": "ann/copy"} if method != "GET" else None)
        assert cairn.is_hub_error(reply, 404, "repo.unknown") and reply.headers["X-Error-Code"] == "RepoNotFound", (method, path, reply)
    for call in (lambda: people.api().unlike("gpt2"), lambda: people.api().create_tag("gpt2", tag="v1")):
        with pytest.raises(RepositoryNotFoundError, match="Name its owner, too, as in ann/cats"):
            call()


def test_an_endpoint_with_a_slash_at_its_end(people):
    make(people)
    done(commit(people, text("a.txt", "a")))
    assert people.server.get("//ann/one/resolve/main/a.txt").body == b"a"
    assert people.server.get("//api/models/ann/one").status == 200
    for path in ("//metrics", "//health", "//v1/stats", "//admin", "//ann/one"):  # a proxy may guard these by their paths
        assert people.server.get(path).status == 404, path
    assert [f.path for f in HfApi(endpoint=people.server.url + "/", token=people.keys["ann"]).list_repo_tree("ann/one") if f.path == "a.txt"]


# HAProxy, which stands before several daemons, refuses UTF-8 in a path.
@pytest.mark.parametrize("name", ["a[1].txt", "a{b}.txt", "a|b^c.txt", *([] if cairn.DAEMONS else ["é世.txt"])])
def test_names_that_clients_send_unescaped(people, name):
    """Node's fetch leaves these characters unescaped, and so do some proxies with UTF-8."""
    make(people)
    done(commit(people, text(name, name)))
    with people.server.socket() as s:
        s.sendall(f"GET /ann/one/resolve/main/{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        reply = b"".join(iter(lambda: s.recv(65536), b""))
    assert reply.startswith(b"HTTP/1.1 200 ") and reply.endswith(b"\r\n\r\n" + name.encode()), reply
