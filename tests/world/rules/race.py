"""The history of a branch on which several clients work at once is linearizable, and its files are the result of its commits in order."""

from ..histories import fault_of
from ..operations.race import race_of
from ..operations.versions import commits_by_pages
from ..parts import require, rule

PAGE = 8  # commits, so that a history has several pages


@rule
def a_head_is_linearizable(world):
    for race in map(race_of, world.tenants):
        if not world.memory.of(("race", race.repo)).value():
            continue
        history = world.memory.thing(("race", race.repo))
        listed = commits_by_pages(world, race, PAGE)
        require(listed is not None, "a_head_is_linearizable", f"{race.repo} does not list its commits")
        chain = [(c["id"], c["title"]) for c in reversed(listed)]
        ids = [oid for oid, _ in chain]
        require(history.first in ids, "a_head_is_linearizable", f"{race.repo}: {history.first} is not in {chain}")
        fault = fault_of(chain[ids.index(history.first) :], history.commits, history.reads)
        require(fault is None, "a_head_is_linearizable", f"{race.repo}: {fault}\n{chain}\n{history.commits}\n{history.reads}")
        files = dict(history.contents[title] for _, title in chain[ids.index(history.first) + 1 :])
        for path, content in sorted(files.items()):
            got = world.ask("GET", f"/{race.name}/race/resolve/main/{path}", race.key)
            require(got.status == 200 and got.body == content, "what_is_read_is_what_was_written", lambda got=got, path=path: f"{race.repo} {path}: {got}")
