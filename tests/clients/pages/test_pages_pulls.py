"""Pages of pull requests, requested as a browser without scripts does: the list, the changes of one, and merging and closing by a form."""

import os

import pytest
import visitors
from hub_calls import PULLS, commit, deleted, done, make, stored, upload
from hub_calls import text as file
from huggingface_hub import CommitOperationAdd
from visitors import HOSTILE, Visitor, is_away, rows, text

AT = "/ann/one/discussions"


def propose(people, *operations, repo="ann/one", title="Better", **more):
    return people.api().create_commit(repo, list(operations) or [CommitOperationAdd("x", b"x")], commit_message=title, create_pr=True, **more)


def test_a_pull_request_shows_its_changes(people, enter):  # noqa: F811
    body = os.urandom(80_000)
    done(commit(people, file("a.txt", "one\ntwo\n"), file("gone", "x")))
    begun = people.api().repo_info("ann/one").sha
    made = propose(people, CommitOperationAdd("a.txt", b"one\nthree\n"), title="The first", commit_description="Why\nso")
    done(commit(people, deleted("gone"), stored("w.bin", upload(people, body)[0], len(body)), revision="refs%2Fpr%2F1"))
    done(commit(people, file("later", "of main")))
    ann, nobody = enter("ann"), Visitor(people.server)
    assert AT in visitors.links(ann.page("/ann/one")) and "/ann/one/discussions/1" == made.pr_url.removeprefix(people.server.url)
    [row] = rows(nobody.page(AT), "pulls")
    assert row[:5] == ["The first", "open", "main", "ann", "1"]
    page = nobody.page(f"{AT}/1")
    assert {"The first", "Why so"} <= {text(e) for e in page.iter() if e.tag in ("h2", "p")}
    assert [r[:2] for r in rows(page, "changes")] == [["a.txt", "changed"], ["gone", "removed"], ["w.bin", "added"]], "later changes of main are not shown"
    assert {f"/ann/one/commit/{begun}", "/ann/one/commits/refs%2Fpr%2F1", "/ann/one/tree/refs%2Fpr%2F1"} <= set(visitors.links(page))
    assert "+three" in "".join(page.itertext()) and "-two" in "".join(page.itertext())
    for link in visitors.links(page):
        if link.startswith("/ann/one/"):
            assert nobody.get(link).status in (200, 302, 303), link
    assert not list(page.iter("form")) or "Merge" not in text(page)
    assert "Merge into main" in text(ann.page(f"{AT}/1"))


def test_merged_and_closed(people, enter):  # noqa: F811
    ann = enter("ann")
    done(commit(people, file("a", "1")))
    propose(people, CommitOperationAdd("a", b"one"), title="First")
    propose(people, CommitOperationAdd("a", b"uno"), title="Second")
    is_away(ann.send(f"{AT}/1", action="merge", comment="Thank you"), f"{AT}/1")
    [head] = [c for c in people.api().list_repo_commits("ann/one") if c.title.startswith("Merge")]
    assert (head.title, head.message) == ("Merge refs/pr/1: First", "Thank you")
    page = ann.page(f"{AT}/1")
    assert f"/ann/one/commit/{head.commit_id}" in visitors.links(page) and "Merge into main" not in text(page) and "merged" in text(page)
    assert [r[:2] for r in rows(page, "changes")] == [["a", "changed"]], "the change is shown as it was proposed"
    # The page says why it cannot be merged, and offers to close it.
    told = ann.send(f"{AT}/2", action="merge")
    assert told.status == 409 and '"a" was changed on main, too' in text(visitors.parsed(told)) and "Merge into main" in text(visitors.parsed(told))
    is_away(ann.send(f"{AT}/2", action="close", comment="No"), f"{AT}/2")
    assert "closed" in text(ann.page(f"{AT}/2")) and people.api().get_discussion_details("ann/one", 2).status == "closed"
    for action, status in (("merge", 409), ("close", 409), ("open", 400), ("", 400)):
        assert ann.send(f"{AT}/2", action=action).status == status, action
    assert "There is none that is open" in text(ann.page(AT)) and not rows(ann.page(AT), "pulls")
    assert [r[:2] for r in rows(ann.page(AT + "?status=closed"), "pulls")] == [["Second", "closed"], ["First", "merged"]]


def test_a_commit_after_the_page_was_read_is_not_merged(people, enter):  # noqa: F811
    ann = enter("ann")
    propose(people, CommitOperationAdd("a", b"seen"))

    def head():
        return ann.page(f"{AT}/1").find(".//input[@name='head']").get("value")

    seen = head()
    done(commit(people, file("b", "not seen\n"), revision="refs%2Fpr%2F1"))
    told = ann.send(f"{AT}/1", action="merge", head=seen)
    assert told.status in (409, 412) and "updated since you opened this page" in text(visitors.parsed(told))
    assert "Merge into main" in text(visitors.parsed(told)) and people.api().get_discussion_details("ann/one", 1).status == "open"
    is_away(ann.send(f"{AT}/1", action="merge", head=head()), f"{AT}/1")


def test_a_private_pull_request_looks_absent_to_others(people, enter):  # noqa: F811
    make(people, "ann/secret", private=True)
    for name in ("one", "secret"):
        propose(people, repo=f"ann/{name}")
    ann, bob, nobody = enter("ann"), enter("bob"), Visitor(people.server)

    def told(who, name, rest, **form):
        reply = who.send(f"/ann/{name}/discussions{rest}", **form) if form else who.get(f"/ann/{name}/discussions{rest}", **{"X-Request-Id": "same"})
        return reply.status, [h for h in reply.headers.items() if h[0] not in ("Date", "Content-Length", "X-Request-Id")], reply.body.replace(name.encode(), b"*")

    for who in (nobody, bob, Visitor(people.server, Accept="*/*")):
        for rest in ("", "?status=closed", "/1", "/7", "/x"):
            assert told(who, "secret", rest) == told(who, "absent", rest) and told(who, "secret", rest)[0] == 404, rest
    for action in ("merge", "close"):
        assert told(bob, "secret", "/1", action=action)[0] == told(bob, "absent", "/1", action=action)[0] == 404
        assert bob.send(f"{AT}/1", action=action).status == 403 and nobody.send(f"{AT}/1", action=action).status == 403
        assert ann.send(f"{AT}/1", origin="http://evil.example", action=action).status == 403
    assert "Merge into main" not in text(bob.page(f"{AT}/1")) + text(nobody.page(f"{AT}/1"))
    for who in ("one", "secret"):
        assert people.api().get_discussion_details(f"ann/{who}", 1).status == "open"
    assert [ann.get(f"{AT}/{n}").status for n in ("0", "-1", "x", "2", "1x", "9" * 30)] == [404] * 6
    # In a gated repository the names of changed files are shown, and none of their content.
    done(commit(people, file("a", "the secret\n"), revision="refs%2Fpr%2F1"))
    for state in ("closed", "open"):
        is_away(ann.send("/ann/one/settings", action="pulls", pulls=state), "/ann/one/settings")
        assert ("Only those who may write here can open them" in ann.get("/ann/one/settings").body.decode()) == (state == "closed")
        made = people.ask("POST", PULLS, "bob", {"title": state, "pullRequest": True})
        assert made.status == (403 if state == "closed" else 200), state
    is_away(ann.send("/ann/one/settings", action="visibility", visibility="gated"), "/ann/one/settings")
    for who in (bob, nobody):
        page = who.page(f"{AT}/1")
        assert [r[0] for r in rows(page, "changes")] == ["a", "x"] and "the secret" not in "".join(page.itertext())
    assert "the secret" in "".join(ann.page(f"{AT}/1").itertext())


def test_the_asker_closes_it(people, enter):  # noqa: F811
    """bob, who may not write, can close his own pull request on its page, and no other. He cannot merge it."""
    api = people.api("bob")
    for title in ("His", "Another"):
        api.create_commit("ann/one", [CommitOperationAdd("y", b"y")], commit_message=title, create_pr=True)
    propose(people, title="Ann's")
    bob, rita = enter("bob"), enter("rita")
    page = text(bob.page(f"{AT}/1"))
    assert "You opened it" in page and "Merge into" not in page
    for who, number in ((bob, 3), (rita, 1), (Visitor(people.server), 1)):
        assert "You opened it" not in text(who.page(f"{AT}/{number}"))
        assert who.send(f"{AT}/{number}", action="close").status == 403
    for action, status in (("merge", 403), ("open", 403), ("", 403)):
        assert bob.send(f"{AT}/1", action=action).status == status
    assert bob.send(f"{AT}/1", origin="http://evil.example", action="close").status == 403
    is_away(bob.send(f"{AT}/1", action="close", comment="Never mind"), f"{AT}/1")
    assert people.api().get_discussion_details("ann/one", 1).status == "closed" and "Never mind" in text(rita.page(f"{AT}/1"))
    assert "You opened it" not in text(bob.page(f"{AT}/1")) and bob.send(f"{AT}/1", action="close").status == 409
    # Once he may no longer read the repository, he can close nothing there.
    assert people.ask("PUT", "/api/models/ann/one/settings", body={"gated": "manual"}).status == 200
    assert bob.send(f"{AT}/2", action="close").status == 403


@pytest.mark.parametrize("type", ["dataset", "space"])
def test_each_kind(people, enter, type):  # noqa: F811
    make(people, "ann/two", type=type)
    propose(people, repo="ann/two", repo_type=type)
    at = f"/{type}s/ann/two/discussions"
    assert [r[0] for r in rows(enter("ann").page(at), "pulls")] == ["Better"]
    is_away(enter("ann").send(f"{at}/1", action="merge"), f"{at}/1")
    assert "x" in people.api().list_repo_files("ann/two", repo_type=type)


def test_many_and_hostile(people, enter):  # noqa: F811
    ann = enter("ann")
    assert "There is none that is open" in text(ann.page(AT))
    for i in range(51):
        people.api().create_pull_request("ann/one", "".join(HOSTILE) if i == 50 else f"Number {i}", description="".join(HOSTILE))
    page = ann.page(AT)
    listed = rows(page, "pulls")
    assert len(listed) == 50 and listed[1][0] == "Number 49"
    [more] = [link for link in visitors.links(page) if link.startswith("?skip=")]
    assert [r[0] for r in rows(ann.page(AT + more), "pulls")] == ["Number 0"]
    assert ann.get(AT + "?skip=51").status == 404 and ann.get(AT + "?status=closed&skip=1").status == 404
    # The parsed document has the hostile names only as text.
    for page in (ann.page(AT), ann.page(f"{AT}/51")):
        assert not list(page.iter("script")) or all(s.get("src") for s in page.iter("script"))
        assert not [e for e in page.iter("img") if e.get("onerror")]
    assert "No file was changed" in text(ann.page(f"{AT}/51"))
