"""Is the history of a branch linearizable? Several clients commit to it and read its head at once, and note when each request began and ended.

The branch itself gives the order of its commits, so the check only has to find a moment for each. A commit takes effect between the beginning and the end of
its request, in the order of the branch. A reader sees the head of some moment of its request. A commit is refused only if its parent was not the head at some
moment of its request. The check tries the earliest possible moments: if these fit not all requests, no others do."""

import math
from dataclasses import dataclass

DONE, REFUSED, UNKNOWN = "done", "refused", "unknown"


@dataclass
class Commit:
    title: str  # unlike all others
    parent: str | None  # the head that it names as its parent; None: it names none
    began: float
    ended: float = math.inf
    outcome: str = UNKNOWN
    oid: str | None = None


@dataclass
class Read:
    head: str
    began: float
    ended: float


def fault_of(chain, commits, reads):
    """Finds what contradicts linearizability. chain: (id, title) of each commit of the branch, the oldest first; the first one was there before the history.
    @return a text, or None"""
    by_title, place = {c.title: c for c in commits}, {oid: n for n, (oid, _) in enumerate(chain)}
    titles = [title for _, title in chain[1:]]
    if len(set(titles)) < len(titles):
        return f"a commit took effect twice: {titles}"
    for n, (oid, title) in enumerate(chain[1:], 1):
        commit = by_title.get(title)
        if commit is None or commit.outcome == REFUSED or (commit.outcome == DONE and commit.oid != oid):
            return f"the branch has {oid} {title}, but {commit}"
        if commit.parent is not None and commit.parent != chain[n - 1][0]:
            return f"{commit} follows {chain[n - 1]}"
    lost = [c for c in commits if c.outcome == DONE and c.title not in titles]
    strange = [r for r in reads if r.head not in place]
    if lost or strange:
        return f"not on the branch: {lost} {strange}"
    return fault_of_moments(chain, by_title, place, commits, reads)


def fault_of_moments(chain, by_title, place, commits, reads):
    at, earliest = -math.inf, []  # when each commit of the chain can take effect at the earliest
    for n, (_, title) in enumerate(chain):
        if n > 0:
            commit = by_title[title]
            at = max(at, commit.began)
            if at > commit.ended:
                return f"{commit} took effect after its answer"
        earliest.append(at)
        for read in [r for r in reads if place[r.head] == n]:
            if max(earliest[n], read.began) > read.ended:
                return f"{read} saw what was not there yet"
            at = max(at, read.began)
    for commit in [c for c in commits if c.outcome == REFUSED]:
        after = place[commit.parent] + 1
        if after == len(chain) or earliest[after] > commit.ended:
            return f"{commit} was refused, though its parent was the head"
    return None
