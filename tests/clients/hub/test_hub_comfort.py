"""Requests of the stock library beyond commits: squashing a branch, duplicating a repository, listing and deleting large files."""

import hashlib
import json
import os
import subprocess

import cairn
import pytest
import xet
from hub_calls import LEADS_OUT, collect, commit, deleted, done, make, older, paths, stored, text, tree, upload
from huggingface_hub import CommitOperationAdd
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError
from visitors import Visitor, people_of


def test_a_branch_is_squashed(people, admin, tmp_path):
    """The branch has one commit with the same files. The next collection takes its former commits. Only an admin of the repository may squash."""
    make(people, "team/one", "adam")
    first = done(commit(people, text("a", "1"), repo="models/team/one"))
    second = done(commit(people, text("b", "2"), deleted("a"), repo="models/team/one"))
    api = people.api("adam")
    before = tree(people, repo="models/team/one")
    with pytest.raises(HfHubHTTPError) as refused:
        people.api("ann").super_squash_history("team/one")
    assert refused.value.response.status_code == 403
    api.super_squash_history("team/one", commit_message="All of it")
    [only] = api.list_repo_commits("team/one")
    assert only.title == "All of it" and only.commit_id not in (first, second)
    assert tree(people, repo="models/team/one") == before
    api.super_squash_history("team/one")
    assert api.list_repo_commits("team/one")[0].commit_id == only.commit_id
    collect(people, admin)
    for gone in (first, second):
        with pytest.raises(RevisionNotFoundError):
            api.repo_info("team/one", revision=gone)
    assert people.ask("GET", "/team/one/resolve/main/b").body == b"2"
    api.create_branch("team/one", branch="dev/x")
    done(commit(people, text("c", "3"), repo="models/team/one", revision="dev%2Fx"))
    api.super_squash_history("team/one", branch="dev/x")
    assert len(api.list_repo_commits("team/one", revision="dev/x")) == 1
    for branch in ("none", "x" * 300):
        assert people.ask("POST", f"/api/models/team/one/super-squash/{branch}", "adam", {}).status == 404, branch
    assert cairn.is_hub_error(people.ask("POST", "/api/models/team/one/super-squash/main", "adam", b"x"), 400, "repo.body")
    long = people.ask("POST", "/api/models/team/one/super-squash/main", "adam", {"message": "x" * 2000})
    assert cairn.is_hub_error(long, 413, "commit.limit")
    done(commit(people, text("d", "4"), repo="models/team/one"))
    told = older(people, tmp_path, "api.super_squash_history('team/one'); print(json.dumps(len(api.list_repo_commits('team/one'))))", "adam")
    assert told == 1


@pytest.mark.parametrize("kept", ["tag", "branch"])
def test_commits_after_the_last_ref_are_collected(people, admin, kept):
    """A ref in the middle of the history keeps the commits before it. Later commits go, and nobody can read their files any more."""
    make(people, "ann/one")
    first = done(commit(people, text("a", "1")))
    second = done(commit(people, text("secret.env", "KEY=1")))
    third = done(commit(people, deleted("secret.env")))
    name = {"tag": f"/api/models/ann/one/tag/{first}", "branch": "/api/models/ann/one/branch/b"}[kept]
    assert people.ask("POST", name, "ann", {"tag": "v1", "startingPoint": first}).status == 200
    assert people.ask("GET", f"/ann/one/resolve/{second}/secret.env", "nobody").body == b"KEY=1"
    assert people.ask("POST", "/api/models/ann/one/super-squash/main", "ann", {}).status == 200
    collect(people, admin)
    assert [people.ask("GET", f"/api/models/ann/one/revision/{c}", "ann").status for c in (first, second, third)] == [200, 404, 404]
    assert people.ask("GET", f"/ann/one/resolve/{second}/secret.env", "nobody").status == 404
    assert people.ask("GET", f"/ann/one/resolve/{first}/a", "nobody").body == b"1"


def test_a_private_copy_is_made_public_by_an_admin_of_the_source(people):
    """Only an admin of the source may make a private copy public. Otherwise somebody who may only read the source could show it to everybody by changing
    one setting."""
    make(people, "team/one", "adam", private=True)
    done(commit(people, text("a", "secret"), repo="models/team/one"))
    for source, copy, who in (("team/one", "ann/copy", "ann"), ("ann/copy", "ann/second", "ann")):
        people.api(who).duplicate_repo(source, to_id=copy)
        for body in ({"private": False}, {"visibility": "public"}, {"private": False, "gated": "auto"}):
            refused = people.ask("PUT", f"/api/models/{copy}/settings", who, body)
            assert cairn.is_hub_error(refused, 403, "repo.guarded"), (body, refused)
        assert people.ask("PUT", f"/api/models/{copy}/settings", who, {"gated": "auto"}).status == 200
    assert people.ask("POST", "/api/repos/move", "ann", {"fromRepo": "ann/copy", "toRepo": "ann/moved", "type": "model"}).status == 200
    assert people.ask("PUT", "/api/models/ann/moved/settings", "ann", {"private": False}).status == 403
    with pytest.raises(HfHubHTTPError) as refused:
        people.api("ann").duplicate_repo("ann/moved", to_id="ann/third", private=False)
    assert refused.value.response.status_code == 403
    assert people.ask("GET", "/api/models/ann/moved", "bob").status == 404
    # The admin who could have made a public copy may make the private one public. Then anybody may copy that.
    people.api("adam").duplicate_repo("team/one", to_id="team/copy")
    assert people.ask("PUT", "/api/models/team/copy/settings", "adam", {"private": False}).status == 200
    people.api("bob").duplicate_repo("team/copy", to_id="bob/copy", private=True)
    assert people.ask("PUT", "/api/models/bob/copy/settings", "bob", {"private": False}).status == 200
    # Owners may publish copies of their own repositories.
    make(people, "ann/mine", private=True)
    people.api("ann").duplicate_repo("ann/mine", to_id="ann/mine2")
    assert people.ask("PUT", "/api/models/ann/mine2/settings", "ann", {"private": False}).status == 200


def test_a_repository_is_duplicated(people, admin, data, tmp_path):
    """The copy shares the bytes, and keeps them when the source is deleted. A copy of a private repository is private unless the request says otherwise."""
    make(people, "team/one", "adam", private=True)
    data = data[:100_000]
    sha256, hash_ = upload(people, data, repo="models/team/one")
    done(commit(people, text("d/a", "1"), stored("w.bin", sha256, len(data)), text("empty", ""), repo="models/team/one"))
    stored_before = people.server.get("/v1/stats", token=admin).json()["stored_bytes"]
    url = people.api().duplicate_repo("team/one", to_id="ann/copy")
    assert str(url) == f"{people.server.url}/ann/copy"
    api = people.api()
    assert api.repo_info("ann/copy").private and [c.title for c in api.list_repo_commits("ann/copy")] == ["initial commit"]
    assert [(e["path"], e["oid"]) for e in tree(people, repo="models/ann/copy")] == [(e["path"], e["oid"]) for e in tree(people, repo="models/team/one")]
    assert people.server.get("/v1/stats", token=admin).json()["stored_bytes"] == stored_before
    with pytest.raises(HfHubHTTPError):
        api.duplicate_repo("team/one", to_id="ann/copy")
    assert str(api.duplicate_repo("team/one", to_id="ann/copy", exist_ok=True)) == f"{people.server.url}/ann/copy"
    people.api("adam").duplicate_repo("team/one", to_id="team/open", private=False)
    people.api("ann").duplicate_repo("team/open", to_id="ann/open")
    assert not api.repo_info("ann/open").private
    assert people.api("adam").delete_repo("team/one") is None
    collect(people, admin)
    assert people.ask("GET", "/ann/copy/resolve/main/w.bin").body == data
    # A copy needs the right to read the source and to write to the target account.
    with pytest.raises(RepositoryNotFoundError):
        people.api("bob").duplicate_repo("ann/copy", to_id="bob/copy")
    with pytest.raises(HfHubHTTPError) as refused:
        people.api("bob").duplicate_repo("ann/open", to_id="ann/stolen")
    assert refused.value.response.status_code == 403
    people.api("bob").duplicate_repo("ann/open", to_id="bob/copy")
    assert people.ask("GET", "/bob/copy/resolve/main/w.bin", "bob").body == data
    for wrong in ({}, {"repository": "one"}, {"repository": "x/" + "y" * 300}, b"x"):
        assert cairn.is_hub_error(people.ask("POST", "/api/models/ann/open/duplicate", body=wrong), 400, "repo.body")
    assert people.ask("POST", "/api/models/ann/open/duplicate", body={"repository": "ann/a/b"}).status == 400
    make(people, "ann/space", type="space", sdk="static")
    told = older(people, tmp_path, "print(json.dumps(str(api.duplicate_space('ann/space', to_id='ann/two', private=True))))")
    assert told == f"{people.server.url}/spaces/ann/two" and people.api().repo_info("ann/two", repo_type="space").private


@pytest.mark.parametrize("guard", [{"private": True}, {"gated": "manual"}, {"gated": "auto"}])
def test_a_copy_does_not_publish(people, guard):
    """A reader's copy of something that only members may read is private, even if they ask for a public one. An admin of the source may make a public copy."""
    make(people, "team/one", "adam")
    done(commit(people, text("a", "secret"), repo="models/team/one", who="adam"))
    assert people.ask("PUT", "/api/models/team/one/settings", "adam", guard).status == 200

    def copy(who, to, **say):
        return people.ask("POST", "/api/models/team/one/duplicate", who, {"repository": to} | say)

    assert copy("rita", "rita/copy").status == 200
    assert people.ask("GET", "/rita/copy/resolve/main/a", "rita").body == b"secret"
    assert people.ask("GET", "/api/models/rita/copy", "nobody").status == 401
    assert people.ask("GET", "/rita/copy/resolve/main/a", "bob").status == 404
    for say in ({"private": False}, {"visibility": "public"}):
        assert cairn.is_hub_error(copy("rita", "rita/open", **say), 403, "repo.guarded"), say
    assert people.ask("GET", "/api/models/rita/open", "rita").status == 404
    assert copy("adam", "team/copy").status == 200 and people.ask("GET", "/api/models/team/copy", "nobody").status == 401
    assert copy("adam", "team/open", private=False).status == 200
    assert people.ask("GET", "/team/open/resolve/main/a", "nobody").body == b"secret"


def test_accounts_with_private_new_repositories(start, issuer, tmp_path):
    """New repositories and copies in such accounts are private unless the request says otherwise. In other accounts they are public."""
    people = people_of(start, issuer, tmp_path / "home", hub_private=" team,ANN")
    make(people, "bob/open", "bob")
    api = people.api()
    for repo, more in (("ann/one", {}), ("one2", {}), ("team/one", {"repo_type": "dataset"})):
        api.create_repo(repo, **more)
    api.create_bucket("ann/box"), api.duplicate_repo("bob/open", to_id="ann/copy")
    for path in ("models/ann/one", "models/ann/one2", "datasets/team/one", "buckets/ann/box", "models/ann/copy"):
        assert people.ask("GET", f"/api/{path}").json()["private"] and people.ask("GET", f"/api/{path}", "nobody").status == 401, path
    api.create_repo("ann/open", private=False), api.create_bucket("ann/open", private=False), people.api("bob").create_bucket("bob/box")
    people.api("bob").duplicate_repo("bob/open", to_id="bob/copy")
    for path in ("models/ann/open", "buckets/ann/open", "buckets/bob/box", "models/bob/copy", "models/bob/open"):
        assert people.ask("GET", f"/api/{path}", "nobody").status == 200, path
    ann = Visitor(people.server).sign_in(people.keys["ann"])
    for name, said in (("unsaid", {}), ("said", {"visibility": "public"})):
        assert ann.send("/new", kind="model", namespace="team", name=name, **said).status == 303
        assert people.ask("GET", f"/api/models/team/{name}", "nobody").status == (200 if said else 401), name
    people = people_of(start, issuer, tmp_path / "other", name="other", hub_private="*")
    people.api("bob").create_repo("bob/one")
    assert people.ask("GET", "/api/models/bob/one", "nobody").status == 401


def test_a_copy_is_whole_or_none(people, data):
    """If the bytes of a file were deleted, the copy is refused and names the file, even where a copy may exist already."""
    make(people, "ann/one")
    sha256, _ = upload(people, data[:90_000])
    done(commit(people, text("d/a", "1"), stored("d/w.bin", sha256, 90_000)))
    api = people.api()
    api.permanently_delete_lfs_files("ann/one", list(api.list_lfs_files("ann/one")), rewrite_history=False)
    with pytest.raises(HfHubHTTPError) as refused:
        api.duplicate_repo("ann/one", to_id="ann/copy", exist_ok=True)
    assert refused.value.response.status_code == 400 and "d/w.bin" in str(refused.value)
    assert refused.value.response.json()["code"] == "commit.bytes"
    assert people.ask("GET", "/api/models/ann/copy").status == 404
    upload(people, data[:90_000])
    done(commit(people, stored("d/w.bin", sha256, 90_000)))
    api.duplicate_repo("ann/one", to_id="ann/copy")
    assert people.ask("GET", "/ann/copy/resolve/main/d/w.bin").body == data[:90_000]


def test_large_files_are_listed_and_deleted(people, admin, data, tmp_path):
    """The list also has files that no commit names. A deleted file disappears from the branches; older commits still list it, without bytes."""
    make(people, "team/one", "adam")
    repo, api = "models/team/one", people.api("adam")
    bodies = [data[:100_000], data[100_000:190_000], data[200_000:280_000]]
    sums = [upload(people, body, repo=repo)[0] for body in bodies]
    before = done(commit(people, stored("d/w.bin", sums[0], 1), stored("x.bin", sums[1], 1), text("a", "1"), repo=repo))
    api.create_branch("team/one", branch="dev")
    listed = {f.oid: f for f in people.api("ann").list_lfs_files("team/one")}
    assert {s: (listed[s].filename, listed[s].size, listed[s].ref) for s in listed} == {
        sums[0]: ("d/w.bin", 100_000, "main"), sums[1]: ("x.bin", 90_000, "main"), sums[2]: ("", 80_000, None),
    }  # fmt: skip
    for who in ("rita", "bob"):
        with pytest.raises(HfHubHTTPError):
            list(people.api(who).list_lfs_files("team/one"))
    with pytest.raises(HfHubHTTPError):
        people.api("ann").permanently_delete_lfs_files("team/one", [listed[sums[0]]])
    api.permanently_delete_lfs_files("team/one", [listed[sums[0]], listed[sums[2]]])
    assert [f.oid for f in api.list_lfs_files("team/one")] == [sums[1]]
    for place in ("main", "dev"):
        assert paths(people, repo=repo, place=place) == ["a", "x.bin"], place
        with pytest.raises(EntryNotFoundError):
            api.get_paths_info("team/one", "d", revision=place) or api.hf_hub_download("team/one", "d/w.bin", revision=place, cache_dir=tmp_path)
    assert people.ask("GET", f"/team/one/resolve/{before}/d/w.bin").status == 404
    assert people.ask("GET", f"/team/one/resolve/{before}/x.bin").body == bodies[1]
    api.permanently_delete_lfs_files("team/one", [listed[sums[1]]], rewrite_history=False)
    assert paths(people, repo=repo) == ["a", "x.bin"] and people.ask("GET", "/team/one/resolve/main/x.bin").status == 404
    # An upload brings its bytes back.
    upload(people, bodies[1], repo=repo)
    done(commit(people, stored("x.bin", sums[1], 1), repo=repo))
    assert people.ask("GET", "/team/one/resolve/main/x.bin").body == bodies[1]
    code = "files = list(api.list_lfs_files('team/one')); api.permanently_delete_lfs_files('team/one', files); print(json.dumps(len(files)))"
    assert older(people, tmp_path, code, "adam") == 1 and paths(people, repo=repo) == ["a"]
    for wrong in ({}, {"deletions": {"sha": ["x"]}}, {"deletions": {"sha": ["ab" * 32] * 1001}}, b"x"):
        assert cairn.is_hub_error(people.ask("POST", f"/api/{repo}/lfs-files/batch", "adam", wrong), 400, "repo.body")
    assert people.ask("POST", f"/api/{repo}/lfs-files/batch", "adam", {"deletions": {"sha": ["ab" * 32]}}).status == 200


def test_a_large_file_is_named_by_any_commit(people, data):
    """The list names a commit for files of other branches and tags, too. Otherwise somebody who cleans up by the list would delete those files."""
    make(people)
    sums = [upload(people, data[i * 100_000 : (i + 1) * 100_000])[0] for i in range(6)]
    api = people.api()
    done(commit(people, stored("old.bin", sums[1], 1)))
    api.create_tag("ann/one", tag="v1")
    api.create_branch("ann/one", branch="feat/x")
    done(commit(people, deleted("old.bin"), stored("now.bin", sums[0], 1), stored("d/passing.bin", sums[2], 1)))
    done(commit(people, deleted("d/passing.bin")))
    done(commit(people, deleted("old.bin"), stored("d/branch.bin", sums[3], 1), revision="feat%2Fx"))
    api.create_commit("ann/one", [CommitOperationAdd("pull.bin", data[400_000:500_000])], commit_message="x", create_pr=True)
    for i in range(70):
        done(commit(people, text("a", f"{i}")))
    listed = {f.oid: (f.filename, f.ref) for f in api.list_lfs_files("ann/one")}
    assert listed == {
        sums[0]: ("now.bin", "main"), sums[1]: ("old.bin", "refs/tags/v1"), sums[2]: ("d/passing.bin", "main"), sums[3]: ("d/branch.bin", "feat/x"),
        sums[4]: ("pull.bin", "refs/pr/1"), sums[5]: ("", None),
    }  # fmt: skip
    for oid, (name, ref) in listed.items():
        if oid not in (sums[2], sums[5]):
            assert hashlib.sha256(people.ask("GET", f"/ann/one/resolve/{ref}/{name}").body).hexdigest() == oid


def test_pages_of_large_files(people, data):
    """Each file is listed once, also when there are several pages."""
    make(people)
    token = people.ask("GET", "/api/models/ann/one/xet-write-token/main").json()["accessToken"]
    xorb = xet.Xorb([data[i * 10 : i * 10 + 10] for i in range(600)])
    files = [xet.File([(xorb, i, i + 1)], (i + 1).to_bytes(32, "big")) for i in range(600)]
    assert people.server.put_xorb(xorb, token=token).status == 200
    assert people.server.post("/v1/shards", xet.shard(files, [xorb]), token=token).status == 200
    assert len({f.oid for f in people.api().list_lfs_files("ann/one")}) == 600
    assert len(people.ask("GET", "/api/models/ann/one/lfs-files?cursor=x").json()) == 500


def test_main_is_set_to_another_commit_by_an_admin_alone(people):
    """A person who may write adds commits to main but cannot set it to another commit. Other branches may be set by everybody who may write."""
    make(people, "team/one", "adam")
    first = done(commit(people, text("a", "1"), repo="models/team/one"))
    done(commit(people, text("a", "2"), repo="models/team/one"))
    api, body = "/api/models/team/one", {"overwrite": True, "startingPoint": first}
    assert people.ask("POST", f"{api}/branch/main", "ann", body).status == 403
    assert people.ask("POST", f"{api}/branch/%6dain", "ann", body).status == 403
    assert people.ask("POST", f"{api}/branch/main", "ann", {"startingPoint": first}).status == 409
    assert people.ask("GET", "/team/one/resolve/main/a").body == b"2"
    for _ in range(2):
        assert people.ask("POST", f"{api}/branch/dev", "ann", body).status == 200
    assert people.ask("DELETE", f"{api}/branch/dev", "ann").status == 200
    assert people.ask("POST", f"{api}/branch/main", "adam", body).status == 200
    assert people.ask("GET", "/team/one/resolve/main/a").body == b"1"


def test_a_branch_does_not_hide_a_folder(people):
    """main/x names the path x of the branch main. So a branch or tag called main/x is refused, even with exist_ok."""
    make(people)
    done(commit(people, text("x/f", "of main")))
    for kind, body in (("branch/main%2Fx", {}), ("tag/main", {"tag": "main/x"})):
        assert cairn.is_hub_error(people.ask("POST", f"/api/models/ann/one/{kind}", body=body), 400, "ref.nested"), kind
    with pytest.raises(HfHubHTTPError):
        people.api().create_branch("ann/one", branch="main/x", exist_ok=True)
    assert people.ask("GET", "/ann/one/resolve/main/x/f").body == b"of main"


def test_a_path_that_leads_out_is_refused(people):
    make(people)
    for path in ("..\\ddd", "../x", "a//b", *LEADS_OUT):
        assert cairn.is_hub_error(commit(people, text(path, "x")), 422, "commit.name"), path
    with pytest.raises(HfHubHTTPError) as refused:
        people.api().upload_file(path_or_fileobj=b"x", path_in_repo="..\\ddd", repo_id="ann/one")
    assert refused.value.response.status_code == 422
    assert paths(people) == []
    done(commit(people, text("10:00/b\\c", "x")))
    assert paths(people) == ["10:00/b\\c"]


def test_git_finds_nothing_of_its_own(people, data):
    """Paths that git would take for its own files (.git) are refused, so that a downloaded repository cannot steer git. Deleting such a path is not
    refused, should one exist."""
    make(people)
    sha256, _ = upload(people, data[:90_000])
    for path in (".git/config", ".GIT/HEAD", "sub/.git", ".git\u200c/config", "git~1/x", "a\\.git\\x"):
        for operation in (text(path, "x"), stored(path, sha256, 90_000)):
            assert cairn.is_hub_error(commit(people, operation), 422, "commit.name"), path
        asked = people.ask("POST", "/api/models/ann/one/preupload/main", body={"files": [{"path": path, "size": 1, "sample": ""}]})
        assert cairn.is_hub_error(asked, 422, "commit.name"), path
        assert commit(people, deleted(path)).status == 404, path
    made = people.ask("POST", "/api/repos/create", body={"name": "two", "type": "model", "files": [{"path": ".git/config", "content": "x"}]})
    assert cairn.is_hub_error(made, 422, "commit.name")
    done(commit(people, text(".gitignore", "x"), text(".github/w.yml", "x")))
    assert paths(people) == [".gitignore", ".github/w.yml"]


def test_an_operator_uses_names_of_the_hub(people, admin, data):
    """For an operator, lists show the name of the repository that has a file, and accept such names. A tenant learns no more than before."""
    make(people, "ann/one", private=True)
    make(people, "ann/some", type="dataset")
    _, hash_ = upload(people, data[:90_000])
    ask = people.server.get

    def run(*args):
        env = os.environ | {"CAIRN_SERVER": people.server.url, "CAIRN_TOKEN": admin}
        return subprocess.run([cairn.CAIRN, *args], env=env, capture_output=True, text=True, timeout=60)

    for query in ("?", "?repo=ann/one", "?repo=models/ANN/one&"):
        [row] = ask(f"/v1/files{query}", token=admin).json()["files"]
        assert (row["hash"], row["repo"].lower()) == (hash_, "models/ann/one"), query
    assert ask("/v1/files?repo=datasets/ann/some", token=admin).json()["files"] == []
    assert ask("/v1/files?repo=", token=admin).json()["files"] == []
    cairn.is_error(ask("/v1/files?repo=ann/none", token=admin), 404, "repo.unknown")
    cairn.is_error(ask("/v1/files?repo=buckets/ann/one", token=admin), 404, "repo.unknown")
    cairn.is_error(ask("/v1/files?repo=buckets/ann", token=admin), 404, "repo.unknown")
    cairn.is_error(ask("/v1/files?repo=hub/1/2", token=admin), 400, "repo.name")
    assert [o["repo"] for o in ask(f"/v1/info/{hash_}", token=admin).json()["owners"]] == ["models/ann/one"]
    reading, token = (people.ask("GET", f"/api/models/ann/one/xet-{may}-token/main").json()["accessToken"] for may in ("read", "write"))
    # Everybody may get a token to read a public repository. Files that were uploaded and are in no commit are listed only for a token to write.
    cairn.is_error(ask("/v1/files", token=reading), 403, "files.repo")
    for own in ("", "?repo=ann/one", "?repo=ann/none"):
        reply = ask(f"/v1/files{own}", token=token)
        assert reply.status == (403 if own else 200) and b"ann/one" not in reply.body, own
    assert b"ann/one" not in ask(f"/v1/info/{hash_}", token=token).body
    listed = run("ls", "--repo", "ann/one")
    assert listed.returncode == 0 and listed.stdout.split()[::4] == [hash_, "models/ann/one"]
    assert run("ls", "--repo", "ann/none").returncode == 66
    assert run("rm", hash_, "--repo", "ann/some").returncode != 0
    # The file is shared with a repository of the hub: tokens of that repository read it, and it counts there.
    some = people.ask("GET", "/api/datasets/ann/some/xet-read-token/main").json()["accessToken"]
    assert ask(f"/v2/reconstructions/{hash_}", token=some).status == 404
    held = json.loads(run("quota", "datasets/ann/some", "--json").stdout)["stored_bytes"]
    assert run("quota", "datasets/ann/some", str(held + 89_999)).returncode == 0
    refused = run("share", hash_, "--repo", "datasets/ann/some")
    assert refused.returncode == 77 and f"Quota exceeded: datasets/ann/some may hold {held + 89_999} bytes" in refused.stderr, refused
    assert run("quota", "datasets/ann/some", "none").returncode == 0
    assert run("share", hash_, "--repo", "datasets/ANN/some").stdout == "shared\n"
    assert run("share", hash_, "--repo", "datasets/ann/some").stdout == "was shared already\n"
    assert ask(f"/v2/reconstructions/{hash_}", token=some).status == 200
    assert json.loads(run("quota", "datasets/ann/some", "--json").stdout)["stored_bytes"] == held + 90_000
    assert [row["repo"] for row in ask("/v1/files", token=admin).json()["files"]] == ["models/ann/one", "datasets/ann/some"]
    assert run("rm", hash_, "--repo", "datasets/ann/some").returncode == 0
    assert ask(f"/v2/reconstructions/{hash_}", token=some).status == 404
    # A name that the hub does not know is a repository of tokens only.
    assert run("share", hash_, "--repo", "ann/none").returncode == 0
    assert run("rm", hash_, "--repo", "ann/none").returncode == 0
    assert run("rm", hash_, "--repo", "ann/one").returncode == 0
    assert ask("/v1/files", token=admin).json()["files"] == []


def test_036_uploads_and_downloads(people, data, tmp_path):
    """Release 0.36 of huggingface_hub, as it stays in environments that nobody updates: it uploads through the store, and as plain bytes."""
    here = tmp_path / "here"
    (here / "sub").mkdir(parents=True)
    (here / "config.json").write_text('{"a": 1}')
    (here / "sub" / "w.bin").write_bytes(data[:200_000])
    code = (
        "from huggingface_hub import snapshot_download\n"
        "api.create_repo('ann/one', private=True, exist_ok=True)\n"
        f"api.upload_folder(repo_id='ann/one', folder_path={str(here)!r})\n"
        "api.create_tag('ann/one', tag='v1')\n"
        "at = snapshot_download('ann/one', revision='v1')\n"
        "print(json.dumps([open(at + '/config.json').read(), len(open(at + '/sub/w.bin', 'rb').read()), api.file_exists('ann/one', 'none')]))"
    )
    assert older(people, tmp_path / "xet", code, version="0.36.0") == ['{"a": 1}', 200_000, False]
    before = people.server.received("xorbs")
    plain = code.replace("ann/one", "ann/two").replace("'v1')", "'v1'); from huggingface_hub import constants; assert constants.HF_HUB_DISABLE_XET", 1)
    assert older(people, tmp_path / "plain", plain, version="0.36.0", HF_HUB_DISABLE_XET="1") == ['{"a": 1}', 200_000, False]
    assert people.server.received("xorbs") == before
    for repo in ("ann/one", "ann/two"):
        assert people.ask("GET", f"/{repo}/resolve/main/sub/w.bin").body == data[:200_000]
