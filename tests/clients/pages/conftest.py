"""Fixtures for the tests of the pages."""

import pytest
from hub_calls import make
from visitors import Visitor, people_of


@pytest.fixture
def enter(people):
    """enter("ann") signs a visitor in with a key of ann's."""
    return lambda who: Visitor(people.server).sign_in(people.keys[who])


@pytest.fixture
def people(start, issuer, tmp_path):
    people = people_of(start, issuer, tmp_path / "home")
    make(people)
    return people
