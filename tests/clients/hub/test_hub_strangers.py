"""Pull requests by people who may read a repository but not write in it."""

import json

import cairn
import pytest
from hub_calls import PULLS, commit, done, lines, make, older, paths, text
from huggingface_hub import CommitOperationAdd, CommitOperationDelete
from huggingface_hub.errors import HfHubHTTPError

NEW = "/api/models/ann/one/commit/main?create_pr=1"
OWN = "/api/models/ann/one/commit/refs%2Fpr%2F1"


def held(people, who):
    return people.ask("GET", "/api/whoami-v2", who).json()["usedStorage"]


def limit(people, admin, quota_bytes):
    body = json.dumps({"place": "models/ann/one", "quota_bytes": quota_bytes}).encode()
    return people.server.request("POST", "/v1/quotas", body=body, headers={"Authorization": f"Bearer {admin}"})


def refused(call, status, words):
    with pytest.raises(HfHubHTTPError, match=words) as error:
        call()
    assert error.value.response.status_code == status


def propose(people, *operations, who="bob", title="Better", **more):
    return people.api(who).create_commit("ann/one", list(operations), commit_message=title, create_pr=True, **more)


def put(path, content):
    return CommitOperationAdd(path, content)


def test_a_stranger_opens_a_pull_request(people, tmp_path):
    """bob opens pull requests by the stock library and by hf, with a file and with a folder. The owner merges one."""
    make(people)
    done(commit(people, text("a", "1"), text("b", "2")))
    head = people.api().repo_info("ann/one").sha
    made = propose(people, put("a", b"one"), CommitOperationDelete("b"), commit_description="Why")
    assert (made.pr_num, made.pr_revision) == (1, "refs/pr/1")
    assert people.api("bob").get_discussion_details("ann/one", 1).author == "bob"
    assert people.api().repo_info("ann/one").sha == head and paths(people, place="refs%2Fpr%2F1") == ["a"]
    (tmp_path / "f").mkdir()
    for name in ("c", "d"):
        (tmp_path / "f" / name).write_text(name)
    people.hf("upload", "ann/one", tmp_path / "f" / "c", "c", "--create-pr", who="bob")
    people.hf("upload", "ann/one", tmp_path / "f", ".", "--create-pr", who="bob")
    assert sorted(paths(people, place="refs%2Fpr%2F3")) == ["a", "b", "c", "d"]
    # The person who opened a pull request may commit to it and close it.
    more = people.api("bob").create_commit("ann/one", [put("e", b"e")], commit_message="more", revision="refs/pr/1")
    people.api("bob").upload_file(path_or_fileobj=b"f", path_in_repo="f", repo_id="ann/one", revision="refs/pr/1")
    assert people.api().list_repo_commits("ann/one", revision="refs/pr/1")[1].commit_id == more.oid
    people.api("bob").change_discussion_status("ann/one", 2, "closed", comment="No")
    assert people.api().get_discussion_details("ann/one", 2).status == "closed"
    people.api().merge_pull_request("ann/one", 1)
    assert sorted(paths(people)) == ["a", "e", "f"] and people.ask("GET", "/ann/one/resolve/main/a").body == b"one"


@pytest.mark.parametrize("version", ["1.33.0", "0.36.0"])
def test_older_libraries(people, tmp_path, version):
    make(people)
    code = (
        "made = api.upload_file(path_or_fileobj=b'a', path_in_repo='a', repo_id='ann/one', create_pr=True)\n"
        "api.upload_file(path_or_fileobj=b'b', path_in_repo='b', repo_id='ann/one', revision='refs/pr/1')\n"
        "print(json.dumps(api.list_repo_files('ann/one', revision='refs/pr/1')))"
    )
    assert older(people, tmp_path, code, who="bob", version=version) == [".gitattributes", "a", "b"]


def test_only_its_author_commits_and_only_writers_merge(people):
    """Only the person who opened a pull request commits to it, and only people who may write merge it. A key that only reads, or opens one repository only,
    opens no pull request."""
    make(people)
    propose(people, put("a", b"1"))
    for who, status in (("rita", 403), ("nobody", 401)):
        for method, path, body in (("POST", OWN, lines(text("x", "x"))), ("POST", PULLS + "/1/status", {"status": "closed"}), ("POST", PULLS + "/1/merge", {})):
            assert people.ask(method, path, who, body).status == status, (who, path)
    assert people.ask("POST", PULLS + "/1/merge", "bob", {}).status == 403
    assert people.ask("POST", "/api/models/ann/one/super-squash/refs%2Fpr%2F1", "bob", {}).status == 403
    for place in ("main", "refs%2Fpr%2F2", "refs%2Fheads%2Fmain", "none", "refs%2Ftags%2F1"):
        for route in ("commit", "preupload"):
            body = lines(text("x", "x")) if route == "commit" else {"files": []}
            reply = people.ask("POST", f"/api/models/ann/one/{route}/{place}", "bob", body)
            assert cairn.is_hub_error(reply, 403, "repo.denied"), (route, place)
        assert cairn.is_hub_error(people.ask("GET", f"/api/models/ann/one/xet-write-token/{place}", "bob"), 403, "repo.denied"), place
    # A pull request of the owner is not open to strangers.
    people.api().create_pull_request("ann/one", "Ann's")
    assert cairn.is_hub_error(people.ask("POST", "/api/models/ann/one/commit/refs%2Fpr%2F2", "bob", lines(text("x", "x"))), 403, "repo.denied")
    # bob's key that only reads opens no pull request, and nobody opens one without a key.
    assert people.ask("POST", NEW, "nobody", lines(text("x", "x"))).status == 401
    assert people.ask("POST", NEW, "reading ann", lines(text("x", "x"))).status == 403
    # A member who may only read opens a pull request in a private repository. Others cannot see it.
    people.api().create_repo("team/own", private=True)
    assert people.ask("POST", "/api/models/team/own/commit/main?create_pr=1", "rita", lines(text("x", "x"))).status == 200
    for path, body in (("commit/main?create_pr=1", lines(text("x", "x"))), ("preupload/main?create_pr=1", {"files": []}), ("discussions", {"title": "x", "pullRequest": True})):
        assert cairn.is_hub_error(people.ask("POST", f"/api/models/team/own/{path}", "bob", body), 404, "repo.unknown"), path
    assert people.ask("PUT", "/api/models/ann/one/settings", body={"gated": "manual"}).status == 200
    for path, body in (("commit/main?create_pr=1", lines(text("x", "x"))), ("commit/refs%2Fpr%2F1", lines(text("x", "x"))), ("discussions", {"title": "x", "pullRequest": True})):
        assert cairn.is_hub_error(people.ask("POST", f"/api/models/ann/one/{path}", "bob", body), 403, "repo.gated"), path


def test_its_author_closes_it_when_the_repository_was_hidden(people):
    """The pull request still counts for its author, who may no longer read the repository. Others learn nothing of it and cannot close it."""
    make(people)
    hide, show = {"private": True}, {"private": False}
    settings = "/api/models/ann/one/settings"
    for number, closed in ((1, hide), (2, {"gated": "manual"})):
        propose(people, put("a", b"1"))
        assert people.ask("PUT", settings, body=closed).status == 200
        close = ("POST", f"{PULLS}/{number}/status")
        for who, status in (("rita", 404 if closed == hide else 403), ("nobody", 401), ("reading ann", 403)):
            assert people.ask(*close, who, {"status": "closed"}).status == status, who
        for other in ("POST", f"{PULLS}/{number}/merge"), ("POST", f"/api/models/ann/one/commit/refs%2Fpr%2F{number}"):
            assert people.ask(*other, "bob", lines(text("x", "x")) if "commit" in other[1] else {}).status == (404 if closed == hide else 403), other
        for wrong in (number + 1, 0, "x"):
            assert people.ask("POST", f"{PULLS}/{wrong}/status", "bob", {"status": "closed"}).status == (404 if closed == hide else 403), wrong
        done_ = people.ask(*close, "bob", {"status": "closed", "comment": "Mine"}).json()["newStatus"]
        assert (done_["data"]["status"], done_["author"]) == ("closed", {"name": "bob"})
        assert people.ask(*close, "bob", {"status": "closed"}).status == 409
        assert people.api().get_discussion_details("ann/one", number).status == "closed"
        assert people.ask("PUT", settings, body=show | {"gated": False}).status == 200
    assert people.ask("POST", "/api/models/ann/none/discussions/1/status", "bob", {"status": "closed"}).status == 404


def test_it_counts_for_the_stranger(people, admin):
    """Before the merge a pull request counts for the stranger, not for the repository. It does not reveal the repository's quota."""
    make(people)
    done(commit(people, text("a", "known" * 100)))
    ann, bob = held(people, "ann"), held(people, "bob")
    assert limit(people, admin, ann).status == 200
    # The repository has one of the two texts already. The answers do not reveal which.
    cost = []
    for content in ("known" * 100, "knows" * 100):
        assert people.ask("POST", NEW, "bob", lines(text("b", content))).status == 200
        cost.append(held(people, "bob") - bob - sum(cost))
    assert cost[0] == cost[1] > 500
    assert held(people, "ann") <= ann
    refused(lambda: people.api().merge_pull_request("ann/one", 2), 403, "Quota exceeded")
    assert limit(people, admin, "none").status == 200
    people.api().merge_pull_request("ann/one", 2)
    assert held(people, "bob") == bob + cost[0] and held(people, "ann") > ann


def test_the_owner_switches_it_off(people):
    make(people)
    propose(people, put("a", b"1"))
    settings = "/api/models/ann/one/settings"
    assert people.ask("PUT", settings, "bob", {"discussionsDisabled": True}).status == 403
    assert people.ask("PUT", settings, body={"discussionsDisabled": True}).json()["discussionsDisabled"] is True
    refused(lambda: propose(people, put("b", b"1")), 403, "only from those who may write")
    refused(lambda: people.api("bob").create_pull_request("ann/one", "x"), 403, "only from those who may write")
    assert cairn.is_hub_error(people.ask("POST", OWN, "bob", lines(text("x", "x"))), 403, "pr.closed")
    propose(people, put("b", b"1"), who="ann")
    people.api("bob").change_discussion_status("ann/one", 1, "closed")
    assert people.ask("PUT", settings, body={"private": False}).json()["discussionsDisabled"] is True
    assert people.ask("PUT", settings, body={"discussionsDisabled": False}).status == 200
    propose(people, put("c", b"1"))


def test_so_many_and_no_more(people):
    make(people)
    for i in range(10):
        propose(people, put(f"f{i}", b"x"))
    refused(lambda: propose(people, put("last", b"x")), 403, "10 pull requests")
    propose(people, put("one", b"x"), who="rita")
    people.api("bob").change_discussion_status("ann/one", 3, "closed")
    propose(people, put("again", b"x"))
