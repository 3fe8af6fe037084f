"""kill -9 between a commit that changes README.md and the writing of the repository's card, which lists and descriptions show."""

import cairn
import ledger
import pytest
from crashes import Doomed
from hub_calls import commit, done, lines, make, text
from people import People


@pytest.fixture
def doomed(tmp_path, issuer, admin):
    doomed = Doomed(tmp_path / "doomed", token_key=issuer.folder)
    doomed.server.start()
    doomed.people = People(doomed.server, admin, tmp_path / "home")
    yield doomed
    doomed.server.stop()


def tagged(tag):
    return text("README.md", f"---\ntags: [{tag}]\n---\n")


def test_a_card_that_a_kill_left_old_is_renewed(doomed):
    """The commit stands, and its card is the old one, until the next start reads README.md again."""
    people = doomed.people
    make(people)
    done(commit(people, tagged("old")))
    listed = lambda tag: [one.id for one in people.api().list_models(filter=tag)]  # noqa: E731
    assert listed("old") == ["ann/one"]
    doomed.arm("index-committed")
    with pytest.raises(ledger.GONE):
        people.ask("POST", "/api/models/ann/one/commit/main", body=lines(tagged("new")))
    doomed.is_dead()
    doomed.server.start()
    assert "new" in people.ask("GET", "/ann/one/resolve/main/README.md").body.decode(), "the commit is durable"
    cairn.wait_until("the card is renewed", lambda: listed("new") == ["ann/one"])
    assert listed("old") == [] and people.api().model_info("ann/one").tags == ["new"]
