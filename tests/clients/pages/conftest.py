"""What the tests of the pages share."""

import pytest
from hub_calls import make
from visitors import Visitor, people_of


@pytest.fixture
def enter(people):
    """enter("ann"): a visitor who is signed in with a key of hers."""
    return lambda who: Visitor(people.server).sign_in(people.keys[who])


@pytest.fixture
def people(start, issuer, tmp_path):
    people = people_of(start, issuer, tmp_path / "home")
    make(people)
    return people
