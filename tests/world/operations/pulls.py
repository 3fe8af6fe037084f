"""Pull requests in a tenant's repository. Keys: ("pull", repository, number). A value is (status, tree); the kept object is the tree at which it began."""

from ..memory import pick
from ..parts import operation, require
from ..store import tenant_of
from .hub import branch_key, changed, lines, quoted

PULLS_MAX = 8  # of a repository


def pull_branch(key):
    return f"refs/pr/{key[2]}"


def own_pull(world, tenant, source):
    return pick(source, [k for k in world.memory.keys("pull") if k[1] == tenant.repo])


def fair(reply, *statuses):
    """Has the answer one of these statuses? No answer and 5xx count as such, because World.ask() judges them."""
    return reply is None or reply.status in statuses or reply.status >= 500


@operation(weight=1)
def open_pull(world, source):
    open_one(world, tenant_of(world, source), source)


def open_one(world, tenant, source):
    """Opens a pull request for main, or sends a commit that opens one."""
    main, with_commit = branch_key(tenant, "main"), source.randrange(2)
    with world.memory.writing(main) as free:
        if not free or not world.memory.of(main).certain() or len([k for k in world.memory.keys("pull") if k[1] == tenant.repo]) >= PULLS_MAX:
            return
        base = world.memory.of(main).value() or ()
        operations, tree = changed(base, source)
        if with_commit:
            reply = world.ask("POST", tenant.hub("commit/main?create_pr=1"), tenant.key, lines(*operations))
        else:
            reply = world.ask("POST", tenant.hub("discussions"), tenant.key, {"title": "Better", "description": "than before", "pullRequest": True})
        require(fair(reply, 200), "a_pull_request_is_opened", lambda: f"{main}: {reply} {reply.body!r}")
        if reply is None or reply.status != 200:
            return
        told = reply.json()
        number = told["pullRequestUrl"].rsplit("/", 1)[1] if with_commit else str(told["num"])
        key = ("pull", tenant.repo, number)
        require(key not in world.memory.things, "a_number_is_given_once", f"{key} was opened twice")
        world.memory.keep(key, base)
        world.memory.of(key).wrote(("open", tree if with_commit else base), True)


@operation(weight=2)
def commit_to_pull(world, source):
    """Commits to a pull request. A pull request that has ended takes no commit."""
    tenant = tenant_of(world, source)
    key = own_pull(world, tenant, source)
    if key is None:
        open_one(world, tenant, source)
        return
    with world.memory.changing(key) as register:
        if register is None:
            return
        status, before = register.value()
        operations, tree = changed(before, source)
        reply = world.ask("POST", tenant.hub(f"commit/{quoted(pull_branch(key))}"), tenant.key, lines(*operations))
        require(fair(reply, 200 if status == "open" else 409), "a_pull_request_takes_commits_until_it_ends", lambda: f"{key} {status}: {reply} {reply.body!r}")
        if status == "open":
            world.answer(reply, register, (status, tree))


@operation(weight=1)
def close_pull(world, source):
    tenant = tenant_of(world, source)
    key = own_pull(world, tenant, source)
    if key is None:
        open_one(world, tenant, source)
        return
    with world.memory.changing(key) as register:
        if register is None or register.value()[0] != "open":
            return
        reply = world.ask("POST", tenant.hub(f"discussions/{key[2]}/status"), tenant.key, {"status": "closed", "comment": "No"})
        require(fair(reply, 200), "a_pull_request_is_closed", lambda: f"{key}: {reply} {reply.body!r}")
        if world.answer(reply, register, ("closed", register.value()[1])):
            late = world.ask("POST", tenant.hub(f"commit/{quoted(pull_branch(key))}"), tenant.key, lines(*changed((), source)[0]))
            require(fair(late, 409), "a_pull_request_takes_commits_until_it_ends", lambda: f"{key} was closed: {late} {late.body!r}")


def merged(base, tree, main):
    """Merges the changes from base to tree into main. @return the tree, or None if both sides changed a file differently"""
    base, tree, out = dict(base), dict(tree), dict(main)
    for path in sorted({*base, *tree}):
        before, after, now = base.get(path), tree.get(path), out.get(path)
        if before == after or now == after:
            continue
        if now != before:
            return None
        out.pop(path, None)
        if after is not None:
            out[path] = after
    return tuple(sorted(out.items()))


@operation(weight=2)
def merge_pull(world, source):
    """Merges a pull request, or gets a conflict."""
    tenant = tenant_of(world, source)
    key, main = own_pull(world, tenant, source), branch_key(tenant, "main")
    if key is None:
        open_one(world, tenant, source)
        return
    with world.memory.writing(key, main) as free:
        register, branch = world.memory.of(key), world.memory.of(main)
        if not free or not register.certain() or not branch.certain():
            return
        status, tree = register.value()
        after = merged(world.memory.thing(key), tree, branch.value() or ())
        reply = world.ask("POST", tenant.hub(f"discussions/{key[2]}/merge"), tenant.key, {"comment": "Thank you"})
        taken = status == "open" and after is not None
        require(fair(reply, 200 if taken else 409), "a_pull_request_is_merged_once", lambda: f"{key} {status}, {after is not None}: {reply} {reply.body!r}")
        if taken:
            world.answer(reply, register, ("merged", tree))
            world.answer(reply, branch, after)
