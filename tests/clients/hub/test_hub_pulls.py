"""Pull requests: opened, committed to, read, merged and closed by the stock library; and who may do so."""

from concurrent.futures import ThreadPoolExecutor

import cairn
import pytest
from hub_calls import PULLS, collect, commit, done, lines, make, older, paths, stored, text, upload
from huggingface_hub import CommitOperationAdd, CommitOperationDelete
from huggingface_hub.errors import HfHubHTTPError, RevisionNotFoundError


def add(people, *operations, title="Better", **more):
    return people.api().create_commit("ann/one", list(operations), commit_message=title, create_pr=True, **more)


def put(path, content):
    return CommitOperationAdd(path, content)


def refused(call, status, words):
    with pytest.raises(HfHubHTTPError, match=words) as error:
        call()
    assert error.value.response.status_code == status


def test_a_commit_opens_one(people, data, tmp_path):
    make(people)
    done(commit(people, text("a", "1"), text("b", "2")))
    head = people.api().repo_info("ann/one").sha
    (tmp_path / "w.bin").write_bytes(data[:90_000])
    made = add(people, put("a", b"one"), put("w.bin", tmp_path / "w.bin"), CommitOperationDelete("b"), commit_description="Why\nso")
    assert made.pr_url == f"{people.server.url}/ann/one/discussions/1" and (made.pr_revision, made.pr_num) == ("refs/pr/1", 1)
    assert people.api().repo_info("ann/one").sha == head
    assert sorted(paths(people, place="refs%2Fpr%2F1")) == ["a", "w.bin"]
    people.hf("download", "ann/one", "--revision", "refs/pr/1", "--local-dir", tmp_path / "all")
    assert (tmp_path / "all" / "w.bin").read_bytes() == data[:90_000] and (tmp_path / "all" / "a").read_text() == "one"
    refs = people.api().list_repo_refs("ann/one", include_pull_requests=True)
    assert [(r.name, r.ref, r.target_commit) for r in refs.pull_requests] == [("refs/pr/1", "refs/pr/1", made.oid)]
    assert people.api().list_repo_refs("ann/one").pull_requests is None
    pull = people.api().get_discussion_details("ann/one", 1)
    assert (pull.title, pull.status, pull.author, pull.is_pull_request, pull.target_branch) == ("Better", "open", "ann", True, "refs/heads/main")
    assert pull.git_reference == "refs/pr/1" and pull.url == made.pr_url and pull.events[0].content == "Why\nso"
    # A commit of another person to it is listed.
    more = people.api().create_commit("ann/one", [put("c", b"3")], commit_message="more", revision="refs/pr/1")
    assert people.api().list_repo_commits("ann/one", revision="refs/pr/1")[0].commit_id == more.oid
    assert people.api().get_discussion_details("ann/one", 1).title == "Better"


def test_hf_opens_a_pull_request(people, data, tmp_path):
    """hf upload --create-pr, of a file and of a folder, opens a pull request first and then commits to it."""
    make(people)
    (tmp_path / "here").mkdir()
    for i in range(3):
        (tmp_path / "here" / f"{i}.bin").write_bytes(data[i * 1000 : i * 1000 + 90_000])
    people.hf("upload", "ann/one", tmp_path / "here" / "0.bin", "x.bin", "--create-pr")
    people.hf("upload", "ann/one", tmp_path / "here", ".", "--create-pr")
    assert sorted(paths(people)) == []
    assert sorted(paths(people, place="refs%2Fpr%2F1")) == ["x.bin"]
    assert sorted(paths(people, place="refs%2Fpr%2F2")) == ["0.bin", "1.bin", "2.bin"]
    people.hf("download", "ann/one", "1.bin", "--revision", "refs/pr/2", "--local-dir", tmp_path / "there")
    assert (tmp_path / "there" / "1.bin").read_bytes() == (tmp_path / "here" / "1.bin").read_bytes()


@pytest.mark.parametrize("version", ["1.33.0", "0.36.0"])
def test_older_libraries_open_and_merge_one(people, tmp_path, version):
    make(people)
    code = (
        "made = api.upload_file(path_or_fileobj=b'a' * 100, path_in_repo='a.bin', repo_id='ann/one', create_pr=True)\n"
        "made = api.create_commit('ann/one', [], commit_message='none') and api.get_discussion_details('ann/one', 1)\n"
        "api.merge_pull_request('ann/one', 1)\n"
        "print(json.dumps([made.status, api.get_discussion_details('ann/one', 1).status, api.list_repo_files('ann/one')]))"
    )
    assert older(people, tmp_path, code, version=version) == ["open", "merged", [".gitattributes", "a.bin"]]


def test_merged_and_closed(people, data, admin):
    make(people)
    done(commit(people, text("a", "1"), text("d/b", "2"), text("gone", "x")))
    sha256, _ = upload(people, data[:80_000])
    api = people.api()
    add(people, put("a", b"one"), CommitOperationDelete("gone"), title="First")
    done(commit(people, stored("d/w.bin", sha256, 80_000), revision="refs%2Fpr%2F1"))
    add(people, put("a", b"uno"), title="Second")
    add(people, put("new", b"new"), title="Third")
    done(commit(people, text("later", "1")))
    for wrong in ("1x", "0", "x"):
        assert people.ask("POST", f"{PULLS}/{wrong}/merge", body={}).status == 404, wrong
    assert api.get_discussion_details("ann/one", 1).status == "open"
    api.merge_pull_request("ann/one", 1, comment="Thank you")
    assert sorted(paths(people)) == ["a", "d/b", "d/w.bin", "later"]
    assert people.ask("GET", "/ann/one/resolve/main/a").body == b"one"
    assert people.ask("GET", "/ann/one/resolve/main/d/w.bin").body == data[:80_000]
    head = api.list_repo_commits("ann/one")[0]
    assert (head.title, head.message) == ("Merge refs/pr/1: First", "Thank you")
    first = api.get_discussion_details("ann/one", 1)
    assert (first.status, first.merge_commit_oid, first.title) == ("merged", head.commit_id, "First")
    # A merged pull request takes no more commits, and stays readable.
    refused(lambda: api.create_commit("ann/one", [put("z", b"z")], commit_message="z", revision="refs/pr/1"), 409, "merged or closed")
    refused(lambda: api.merge_pull_request("ann/one", 1), 409, "merged or closed")
    refused(lambda: api.change_discussion_status("ann/one", 1, "open"), 409, "merged or closed")
    assert people.ask("GET", "/ann/one/resolve/refs%2Fpr%2F1/a").body == b"one"
    # A file that main changed meanwhile is a conflict.
    refused(lambda: api.merge_pull_request("ann/one", 2), 409, '"a" was changed on main, too')
    assert api.get_discussion_details("ann/one", 2).status == "open"
    assert api.change_discussion_status("ann/one", 2, "closed", comment="No").new_status == "closed"
    assert api.get_discussion_details("ann/one", 2).merge_commit_oid is None
    listed = {kind: [(d.num, d.title, d.status) for d in api.get_repo_discussions("ann/one", discussion_status=kind)] for kind in ("open", "closed", None)}
    assert listed["open"] == [(3, "Third", "open")]
    assert listed["closed"] == [(2, "Second", "closed"), (1, "First", "merged")]
    assert listed[None] == listed["open"] + listed["closed"]
    assert list(api.get_repo_discussions("ann/one", discussion_type="discussion")) == []
    assert [d.num for d in api.get_repo_discussions("ann/one", author="ann")] == [3, 2, 1]
    assert list(api.get_repo_discussions("ann/one", author="bob")) == []
    # Changes that main has already are merged without a commit. All of it is still there after a collection.
    done(commit(people, text("new", "new")))
    before = api.repo_info("ann/one").sha
    api.merge_pull_request("ann/one", 3)
    assert api.repo_info("ann/one").sha == before and api.get_discussion_details("ann/one", 3).merge_commit_oid == before
    collect(people, admin)
    for number, body in ((1, b"one"), (2, b"uno"), (3, b"1")):
        assert people.ask("GET", f"/ann/one/resolve/refs%2Fpr%2F{number}/a").body == body
    assert api.get_discussion_details("ann/one", 1).status == "merged"


def test_many_are_listed_in_pages(people):
    make(people)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda i: people.api().create_pull_request("ann/one", f"Number {i}"), range(23)))
    assert sorted(p.num for p in made) == list(range(1, 24)) and {p.status for p in made} == {"open"}
    assert [d.num for d in people.api().get_repo_discussions("ann/one")] == list(range(23, 0, -1))
    assert sorted(d.title for d in people.api().get_repo_discussions("ann/one", author="ann")) == sorted(f"Number {i}" for i in range(23))
    reply = people.ask("GET", PULLS + "?p=2").json()
    assert (reply["count"], reply["start"], len(reply["discussions"])) == (23, 20, 3)


def test_a_pull_request_begins_at_a_branch(people):
    make(people)
    first = done(commit(people, text("a", "1")))
    done(commit(people, text("a", "2")))
    people.api().create_branch("ann/one", branch="dev")
    for revision in (first, "none"):
        reply = people.ask("POST", f"/api/models/ann/one/commit/{revision}?create_pr=1", body=lines(text("x", "x")))
        assert cairn.is_hub_error(reply, 404, "revision.unknown") and reply.headers["X-Error-Code"] == "RevisionNotFound"
    people.api().create_tag("ann/one", tag="v1")
    for revision in ("refs%2Ftags%2Fv1", "refs%2Fpr%2F1"):
        other = people.ask("POST", f"/api/models/ann/one/commit/{revision}?create_pr=1", body=lines(text("x", "x")))
        assert cairn.is_hub_error(other, 400, "pr.base"), revision
    # A refused commit leaves no pull request behind.
    reply = people.ask("POST", "/api/models/ann/one/commit/main?create_pr=1", body=lines(stored("x", "0" * 64, 5)))
    assert cairn.is_hub_error(reply, 400, "commit.sha256")
    assert people.ask("GET", PULLS).json()["count"] == 0
    assert people.ask("GET", "/api/models/ann/one/refs?include_prs=1").json()["pullRequests"] == []
    made = add(people, put("b", b"b"), parent_commit=first)
    assert people.ask("GET", f"/ann/one/resolve/{made.oid}/a").body == b"1"
    with pytest.raises(RevisionNotFoundError):
        people.api().repo_info("ann/one", revision="refs/pr/2")


def test_one_for_another_branch(people):
    make(people)
    api = people.api()
    done(commit(people, text("a", "1"), text("b", "1")))
    api.create_branch("ann/one", branch="test_branch")
    done(commit(people, text("a", "2"), revision="test_branch"))
    made = add(people, put("a", b"3"), title="For the branch", revision="test_branch")
    add(people, put("b", b"2"), title="For the branch, too", revision="refs/heads/test_branch")
    pull = api.get_discussion_details("ann/one", 1)
    assert (pull.target_branch, pull.status) == ("refs/heads/test_branch", "open")
    assert people.ask("GET", f"/ann/one/resolve/{made.oid}/a").body == b"3"
    main = api.repo_info("ann/one").sha
    api.merge_pull_request("ann/one", 1)
    assert api.repo_info("ann/one").sha == main
    merged = api.repo_info("ann/one", revision="test_branch").sha
    assert api.get_discussion_details("ann/one", 1).merge_commit_oid == merged
    assert people.ask("GET", "/ann/one/resolve/test_branch/a").body == b"3"
    # The refusal names the files that the branch changed meanwhile, and the branch.
    done(commit(people, text("b", "3"), revision="test_branch"))
    refused(lambda: api.merge_pull_request("ann/one", 2), 409, '"b" was changed on test_branch, too')
    api.delete_branch("ann/one", branch="test_branch")
    refused(lambda: api.merge_pull_request("ann/one", 2), 404, "the branch that the pull request is for was deleted")
    assert api.change_discussion_status("ann/one", 2, "closed").new_status == "closed"


def test_opening_and_closing_add_no_commits(people):
    """As on the public hub: opening, closing and merging a pull request add no commits to it."""
    make(people)
    api = people.api()
    api.upload_file(repo_id="ann/one", path_or_fileobj=b"content", path_in_repo="content.txt")
    api.upload_file(repo_id="ann/one", path_or_fileobj=b"on_pr", path_in_repo="on_pr.txt", create_pr=True)
    api.upload_file(repo_id="ann/one", path_or_fileobj=b"on_main", path_in_repo="on_main.txt")

    def titles(number):
        return [c.title for c in api.list_repo_commits("ann/one", revision=f"refs/pr/{number}")]

    assert titles(1) == ["Upload on_pr.txt with huggingface_hub", "Upload content.txt with huggingface_hub", "initial commit"]
    empty = api.create_pull_request("ann/one", title="Nothing yet", description="later")
    assert len(titles(empty.num)) == 3 and titles(empty.num)[0] == "Upload on_main.txt with huggingface_hub"
    assert api.get_discussion_details("ann/one", empty.num).title == "Nothing yet"
    api.change_discussion_status("ann/one", empty.num, "closed", comment="Never")
    api.merge_pull_request("ann/one", 1)
    assert len(titles(1)) == len(titles(empty.num)) == 3
    closed = api.get_discussion_details("ann/one", empty.num)
    assert [e.type for e in closed.events] == ["comment", "comment", "status-change"] and closed.events[1].content == "Never"
    assert [e.id for e in closed.events] == [f"{closed.num}-{n}" for n in range(3)], "ids do not reveal how many repositories there are"


def test_squashed(people, admin):
    make(people)
    api = people.api()
    pull = api.create_pull_request("ann/one", title="Many steps", description="why")
    for i in range(3):
        api.upload_file(repo_id="ann/one", path_in_repo="file.txt", path_or_fileobj=b"%d" % i, revision=pull.git_reference)
    assert people.ask("POST", "/api/models/ann/one/super-squash/refs%2Fpr%2F1", "bob", {}).status == 403
    api.super_squash_history("ann/one", branch=pull.git_reference)
    assert len(api.list_repo_commits("ann/one", revision=pull.git_reference)) == 1
    now = api.get_discussion_details("ann/one", 1)
    assert (now.title, now.events[0].content, now.status) == ("Many steps", "why", "open")
    collect(people, admin)
    api.merge_pull_request("ann/one", 1)
    assert people.ask("GET", "/ann/one/resolve/main/file.txt").body == b"2"
    refused(lambda: api.super_squash_history("ann/one", branch="refs/pr/1"), 409, "merged or closed")
    with pytest.raises(RevisionNotFoundError):
        api.super_squash_history("ann/one", branch="refs/pr/9")
    # Once its branch is deleted, too, nothing shows what it changed.
    api.create_commit("ann/one", [put("a", b"a")], commit_message="more", create_pr=True)
    for branch in ("main", "refs/pr/2"):
        api.super_squash_history("ann/one", branch=branch)
    collect(people, admin)
    refused(lambda: api.merge_pull_request("ann/one", 2), 409, "not kept any more")


def test_writers_may_merge_and_close_any_pull_request(people):
    """Everybody who may write in the repository may merge, close and commit to any pull request. Others learn nothing of those of a private one."""
    make(people)
    add(people, put("a", b"1"))
    opens = ("POST", PULLS, {"title": "x", "pullRequest": True})
    ends = [("POST", PULLS + "/1/merge", {}), ("POST", PULLS + "/1/status", {"status": "closed"})]
    for who, status in (("bob", 403), ("nobody", 401), ("reading ann", 403)):
        for ask in ends if who == "bob" else [opens, *ends]:
            assert people.ask(*ask[:2], who, ask[2]).status == status, (who, ask)
        made = people.ask("POST", "/api/models/ann/one/commit/refs%2Fpr%2F1", who, lines(text("x", "x")))
        assert made.status == status
        assert people.ask("GET", PULLS + "/1", who).json()["status"] == "open"
    assert people.ask("PUT", "/api/models/ann/one/settings", body={"private": True}).status == 200
    for who, status in (("bob", 404), ("nobody", 401)):
        for ask in (opens, *ends, ("GET", PULLS, None), ("GET", PULLS + "/1", None), ("GET", PULLS + "/7", None)):
            reply = people.ask(*ask[:2], who, ask[2])
            assert (reply.status, reply.headers["X-Error-Code"]) == (status, "RepoNotFound"), (who, ask)


def test_invalid_pull_requests_are_refused(people):
    make(people)
    for number in ("1", "0", "x", "-1", "99999999999999999999"):
        assert cairn.is_hub_error(people.ask("GET", f"{PULLS}/{number}"), 404, "pr.unknown"), number
    for body in ({}, {"title": ""}, {"title": 1, "pullRequest": True}, []):
        assert cairn.is_hub_error(people.ask("POST", PULLS, body=body), 400, "repo.body"), body
    assert cairn.is_hub_error(people.ask("POST", PULLS, body={"title": "x" * 2000, "pullRequest": True}), 413, "commit.limit")
    talk = people.ask("POST", PULLS, body={"title": "Hello", "pullRequest": False})
    assert cairn.is_hub_error(talk, 501, "hub.left_out") and talk.headers["X-Error-Code"] == "NotImplemented"
    people.api().create_pull_request("ann/one", "One")
    assert cairn.is_hub_error(people.ask("POST", PULLS + "/1/status", body={"status": "merged"}), 400, "repo.body")
    for what in ("comment", "title"):
        assert cairn.is_hub_error(people.ask("POST", f"{PULLS}/1/{what}", body={}), 501, "hub.left_out")
    open_ = people.ask("POST", PULLS + "/1/status", body={"status": "open"}).json()["newStatus"]
    begun = people.ask("GET", PULLS + "/1").json()
    assert (open_["data"]["status"], open_["author"], open_["createdAt"]) == ("open", {"name": "ann"}, begun["createdAt"])


@pytest.mark.sqlite
def test_a_backup_has_them(people, start, issuer):
    make(people)
    add(people, put("a", b"1"))
    people.api().merge_pull_request("ann/one", 1)
    people.server.stop()
    people.server.start()
    assert people.api().get_discussion_details("ann/one", 1).status == "merged"
    assert people.ask("GET", "/ann/one/resolve/refs%2Fpr%2F1/a").body == b"1"
