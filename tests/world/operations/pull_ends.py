"""A pull request is merged or closed while people commit to it. What was acknowledged before the end is in it, and what comes later is refused. Keys: as in
pulls.py."""

import itertools
from functools import partial

from ..memory import pick
from ..parts import Abandoned, operation, require
from ..store import tenant_of
from .hub import branch_key, lines, quoted, text
from .pulls import fair, merged, open_one, pull_branch

COMMITS_MAX, TIMES_MAX = 3, 3


def ask_at_once(world, ways):
    """Sends requests that meet where the index writes. ways: functions without arguments. @return their answers. An answer counts as none if the token has
    expired meanwhile"""
    replies, failures = {}, []

    def attempt(n, way):
        try:
            replies[n] = way()
        except Abandoned:
            replies[n] = None

    world.meet([partial(attempt, n, way) for n, way in enumerate(ways)], failures, "index-begun")
    return [replies[n] for n in range(len(ways))]


def trees_after(tree, files, replies):
    """The trees that the pull request may have: with what was taken, and perhaps with what got no answer."""
    sure = [file for file, reply in zip(files, replies, strict=True) if reply is not None and reply.status == 200]
    unsure = [file for file, reply in zip(files, replies, strict=True) if reply is None or reply.status >= 500]
    some = itertools.chain.from_iterable(itertools.combinations(unsure, n) for n in range(len(unsure) + 1))
    return [tuple(sorted({*tree, *sure, *more})) for more in some]


def open_pull_of(world, tenant, source):
    return pick(source, [k for k in world.memory.keys("pull", lambda r: r.certain() and r.value()[0] == "open") if k[1] == tenant.repo])


def note(register, values, late):
    register.wrote(values[0], True)
    for value in values[1:]:
        register.wrote(value, None)
    register.late = late


@operation(weight=2)
def end_pull_beside_commits(world, source):
    """Ends some pull requests of a tenant, one after the other."""
    tenant = tenant_of(world, source)
    for _ in range(source.randint(1, TIMES_MAX)):
        end_one(world, source, tenant)


def end_one(world, source, tenant):
    merges = source.randrange(3) > 0
    key, main = open_pull_of(world, tenant, source), branch_key(tenant, "main")
    if key is None:
        open_one(world, tenant, source)
        key = open_pull_of(world, tenant, source)
    if key is None:
        return
    with world.memory.writing(key, main) as free:
        register, branch = world.memory.of(key), world.memory.of(main)
        if not free or not register.certain() or not branch.certain() or register.value()[0] != "open":
            return
        end = (f"discussions/{key[2]}/merge", {"comment": "Thanks"}) if merges else (f"discussions/{key[2]}/status", {"status": "closed"})
        files = [(f"more/{source.getrandbits(48):012x}", b"%d" % n) for n in range(source.randint(1, COMMITS_MAX))]
        address = tenant.hub(f"commit/{quoted(pull_branch(key))}")
        ways = [partial(world.ask, "POST", address, tenant.key, lines(text(*file))) for file in files]
        ways.insert(source.randint(0, len(ways)), partial(world.ask, "POST", tenant.hub(end[0]), tenant.key, end[1]))
        at, replies = next(n for n, way in enumerate(ways) if way.args[1] != address), ask_at_once(world, ways)
        judge(world, key, (register, branch), files, replies.pop(at), replies, merges)


def judge(world, key, registers, files, ended, replies, merges):
    """Notes the answers. ended: to what ends the pull request. replies: to the commits"""
    register, branch = registers
    (_, tree), before = register.value(), branch.value() or ()
    conflicts = merged(world.memory.thing(key), tree, before) is None  # the new files have names of their own
    require(fair(ended, 200, 409, 412), "a_pull_request_is_merged_once", lambda: f"{key}: {ended} {ended.body!r}")
    require(ended is None or ended.status != 200 or not (merges and conflicts), "a_pull_request_is_merged_once", lambda: f"{key} conflicts: {ended} {ended.body!r}")
    open_ = ended is not None and ended.status in (409, 412)
    over = (ended is not None and ended.status == 200) or any(reply is not None and reply.status == 409 for reply in replies)
    for reply in replies:
        right = fair(reply, 200, 409) and not (open_ and reply is not None and reply.status == 409)
        require(right, "a_pull_request_takes_commits_until_it_ends", lambda reply=reply: f"{key}, {ended}: {reply} {reply.body!r}")
    trees, late = trees_after(tree, files, replies), ended is None or None in replies
    states = (["merged" if merges else "closed"] if not open_ else []) + (["open"] if not over else [])
    note(register, [(state, one) for state in states for one in trees], late)
    if merges and not open_ and not conflicts:
        mains = [merged(world.memory.thing(key), one, before) for one in trees]
        note(branch, mains if over else [branch.value(), *mains], late)
