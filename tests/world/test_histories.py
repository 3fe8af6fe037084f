"""The checker of histories finds every contradiction in a history, and none in a right one."""

import pytest
from world.histories import DONE, REFUSED, UNKNOWN, Commit, Read, fault_of

CHAIN = [("0", "before"), ("1", "a"), ("2", "b")]


def done(title, parent, began, ended, oid):
    return Commit(title, parent, began, ended, DONE, oid)


A, B = done("a", "0", 0, 2, "1"), done("b", "1", 3, 4, "2")


@pytest.mark.parametrize(
    "commits, reads",
    [
        ([A, B], []),
        ([A, done("b", "1", 1, 4, "2")], [Read("0", 0, 1), Read("1", 1, 2), Read("2", 1, 4)]),
        ([A, Commit("b", "1", 1)], [Read("1", 5, 6)]),
        ([A, B, Commit("c", "2", 0)], []),
        ([A, B, Commit("c", "0", 0, 1, REFUSED)], []),
        ([A, B, Commit("c", "1", 2, 3, REFUSED)], [Read("1", 0, 3)]),
    ],
)
def test_a_right_history(commits, reads):
    assert fault_of(CHAIN, commits, reads) is None


@pytest.mark.parametrize(
    "commits, reads, words",
    [
        ([done("a", "0", 5, 6, "1"), done("b", "1", 1, 3, "2")], [], "after its answer"),
        ([A, B], [Read("1", 5, 6)], "after its answer"),
        ([A, B], [Read("2", 0, 2)], "not there yet"),
        ([A, B], [Read("9", 0, 2)], "not on the branch"),
        ([A, done("b", "0", 3, 4, "2")], [], "follows"),
        ([A, Commit("b", "1", 3, 4, REFUSED)], [], "the branch has"),
        ([A], [], "the branch has"),
        ([A, B, done("c", "2", 5, 6, "3")], [], "not on the branch"),
        ([A, B, done("c", "2", 5, 6, "2")], [], "not on the branch"),
        ([A, B, Commit("c", "2", 5, 6, REFUSED)], [], "was refused"),
        ([done("a", "0", 2, 3, "1"), B, Commit("c", "0", 0, 1, REFUSED)], [], "was refused"),
    ],
)
def test_a_wrong_history(commits, reads, words):
    assert words in (fault_of(CHAIN, commits, reads) or "nothing is wrong")


def test_a_commit_twice():
    assert "twice" in fault_of([*CHAIN, ("3", "b")], [A, B, Commit("c", None, 0, 1, UNKNOWN)], [])
