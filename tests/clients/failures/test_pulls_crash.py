"""kill -9 while a pull request is made or merged. Afterwards it is made or merged as a whole, or not at all."""

import ledger
import pytest
from crashes import Doomed
from hub_calls import PULLS, commit, done, lines, make, paths, text
from people import People

MADE = ["pull-opened", "commit-edited", "index-applied", "index-committed"]
MERGED = ["commit-edited", "merge-committed", "commit-edited:2", "index-applied", "index-committed"]


@pytest.fixture
def doomed(tmp_path, issuer, admin):
    doomed = Doomed(tmp_path / "doomed", token_key=issuer.folder)
    doomed.server.start()
    doomed.people = People(doomed.server, admin, tmp_path / "home")
    make(doomed.people)
    done(commit(doomed.people, text("a", "1")))
    yield doomed
    doomed.server.stop()


def die(doomed, step, path, body):
    doomed.arm(step)
    with pytest.raises(ledger.GONE):
        doomed.people.ask("POST", path, body=body)
    doomed.is_dead()
    doomed.server.start()


def open_one(people, name):
    reply = people.ask("POST", "/api/models/ann/one/commit/main?create_pr=1", body=lines(text(name, "new")))
    assert reply.status == 200, (reply, reply.body)
    return int(reply.json()["pullRequestUrl"].rsplit("/", 1)[1])


def numbers(people):
    return sorted(d.num for d in people.api().get_repo_discussions("ann/one"))


def test_a_kill_makes_a_whole_pull_request_or_none(doomed):
    for step in MADE:
        before = numbers(doomed.people)
        die(doomed, step, "/api/models/ann/one/commit/main?create_pr=1", lines(text("new", step)))
        made = [n for n in numbers(doomed.people) if n not in before]
        assert len(made) == (step == "index-committed"), step
        for number in made:
            assert sorted(paths(doomed.people, place=f"refs%2Fpr%2F{number}")) == ["a", "new"]
        assert doomed.people.api().get_discussion_details("ann/one", open_one(doomed.people, "next")).status == "open"


def test_a_kill_merges_and_ends_one_or_does_neither(doomed):
    for i, step in enumerate(MERGED):
        number = open_one(doomed.people, f"new{i}")
        die(doomed, step, f"{PULLS}/{number}/merge", {})
        merged = step == "index-committed"
        assert (f"new{i}" in paths(doomed.people)) == merged, step
        pull = doomed.people.api().get_discussion_details("ann/one", number)
        head = doomed.people.api().repo_info("ann/one").sha
        assert (pull.status, pull.merge_commit_oid) == (("merged", head) if merged else ("open", None)), step
        # A second request succeeds, or answers that it was done already.
        assert doomed.people.ask("POST", f"{PULLS}/{number}/merge", body={}).status == (409 if merged else 200), step
        assert f"new{i}" in paths(doomed.people)
