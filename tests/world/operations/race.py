"""Several clients commit to one branch and read its head, with and without naming the parent. The history of the whole life is judged (histories.py)."""

import time
from functools import partial

from ..histories import DONE, REFUSED, Commit, Read
from ..parts import Abandoned, operation, require, run_at_once
from ..stage import Tenant
from ..store import tenant_of
from .hub import lines, text
from .pulls import fair

CLIENTS, STEPS, COMMITS_MAX = 3, 3, 120
PATHS = ("r1", "r2")


class History:
    """The history of one branch. first: its head before the history."""

    def __init__(self, first):
        self.first, self.commits, self.reads, self.contents = first, [], [], {}


def race_of(tenant):
    other = Tenant(tenant.name)
    other.repo, other.key = f"models/{tenant.name}/race", tenant.key
    return other


def read_head(world, race):
    """@return the head, and when the request began and ended; None: there was no answer"""
    began = time.monotonic()
    reply = world.ask("GET", race.hub("refs"), race.key)
    if reply is None or reply.status >= 500:
        return None
    require(reply.status == 200, "a_head_is_linearizable", lambda: f"{race.repo}: {reply} {reply.body!r}")
    return Read(next(b["targetCommit"] for b in reply.json()["branches"] if b["name"] == "main"), began, time.monotonic())


def history_of(world, race):
    """Returns the history of the branch, which begins when the repository is made; None: it was not made, or another operation is making it."""
    key = ("race", race.repo)
    with world.memory.writing(key) as free:
        if free and world.memory.of(key).value() is None:
            made = world.ask("POST", "/api/repos/create", race.key, {"name": "race", "organization": race.name, "type": "model", "private": True})
            head = read_head(world, race) if made is not None and made.status in (200, 409) else None
            if head is not None:
                world.memory.keep(key, History(head.head))
                world.memory.of(key).wrote(True, True)
    return world.memory.thing(key) if world.memory.of(key).value() else None


def commit(world, race, history, title, path, content, parent):
    """Commits. A commit with a parent is sent again if there is no answer, as clients do."""
    one = Commit(title, parent, time.monotonic())
    with world.lock:
        history.commits.append(one)
        history.contents[title] = (path, content)
    header = {"summary": title} | ({"parentCommit": parent} if parent else {})
    for again in (False, True):
        reply = world.ask("POST", race.hub("commit/main"), race.key, lines(text(path, content), **header))
        if reply is not None or parent is None:
            break
    require(fair(reply, 200, 412) and (parent or fair(reply, 200)), "a_valid_commit_is_taken", lambda: f"{one}: {reply} {reply.body!r}")
    if reply is not None and reply.status == 200:
        one.oid, one.outcome, one.ended = reply.json()["commitOid"], DONE, time.monotonic()
    elif reply is not None and reply.status == 412 and not again:
        one.outcome, one.ended = REFUSED, time.monotonic()


def client(world, race, history, source, failures):
    seen = [history.first]
    try:
        for _ in range(STEPS):
            head = read_head(world, race)
            if head is not None:
                with world.lock:
                    history.reads.append(head)
                seen.append(head.head)
            parent = source.choice((seen[-1], seen[-1], source.choice(seen), None))
            commit(world, race, history, f"{source.getrandbits(64):016x}", source.choice(PATHS), source.randbytes(20).hex().encode(), parent)
    except Abandoned:
        pass
    except Exception as error:
        failures.append(error)


@operation(weight=1.5)
def race_for_head(world, source):
    race = race_of(tenant_of(world, source))
    history = history_of(world, race)
    if history is None or len(history.commits) >= COMMITS_MAX:
        return
    failures, sources = [], [type(source)(source.getrandbits(64)) for _ in range(CLIENTS)]
    run_at_once([partial(client, world, race, history, one, failures) for one in sources], failures)
