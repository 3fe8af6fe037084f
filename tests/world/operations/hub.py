"""Commits and branches of the tenants' repositories. Keys: ("branch", repository, name), whose value is the tree: ((path, bytes), ...)."""

import base64
import json
from functools import partial

from ..memory import pick
from ..parts import Broken, operation, require
from ..store import tenant_of

BRANCHES = ("main", "dev", "old/er")
PATHS = ("a.txt", "b/c.txt", "b/d.txt", "ü &.md")


def branch_key(tenant, name):
    return ("branch", tenant.repo, name)


def lines(*operations, **header):
    head = {"key": "header", "value": {"summary": "a commit"} | header}
    return b"\n".join(json.dumps(line).encode() for line in (head, *operations))


def text(path, content):
    return {"key": "file", "value": {"path": path, "content": base64.b64encode(content).decode(), "encoding": "base64"}}


def head_of(world, tenant, branch):
    """@return the commit of the branch; None: there is none, or no answer"""
    reply = world.ask("GET", tenant.hub("refs"), tenant.key)
    if reply is None or reply.status != 200:
        return None
    return next((b["targetCommit"] for b in reply.json()["branches"] if b["name"] == branch), None)


def changed(tree, source):
    """Chooses some changes of the tree. @return the changes, and the tree after them"""
    tree, operations = dict(tree or ()), []
    for path in source.sample(PATHS, source.randint(1, 3)):
        if path in tree and source.randrange(3) == 0:
            del tree[path]
            operations.append({"key": "deletedFile", "value": {"path": path}})
        else:
            tree[path] = source.randbytes(source.randint(0, 300)).hex().encode()
            operations.append(text(path, tree[path]))
    return operations, tuple(sorted(tree.items()))


def quoted(name):
    return name.replace("/", "%2F")


def committed(world, tenant, reply, tree):
    """Remembers a commit, and its files, which never change."""
    if reply is not None and reply.status == 200:
        world.memory.keep(("commit", tenant.repo, reply.json()["commitOid"]), tree)
        world.memory.of(("commit", tenant.repo, reply.json()["commitOid"])).wrote(True, True)


@operation(weight=4)
def commit(world, source):
    """Commits to a branch, on its known state."""
    tenant, branch = tenant_of(world, source), source.choice(BRANCHES)
    key = branch_key(tenant, branch)
    with world.memory.changing(key) as register:
        if register is None or (register.value() is None and branch != "main"):
            return
        operations, tree = changed(register.value(), source)
        reply = world.ask("POST", tenant.hub(f"commit/{quoted(branch)}"), tenant.key, lines(*operations))
        require(reply is None or reply.status == 200 or reply.status >= 500, "a_valid_commit_is_taken", lambda: f"{key}: {reply} {reply.body!r}")
        world.answer(reply, register, tree)
        committed(world, tenant, reply, tree)


@operation(weight=2)
def commit_at_once(world, source):
    """Several clients commit on the same parent at once. At most one of them succeeds."""
    tenant, branch = tenant_of(world, source), source.choice(BRANCHES)
    key = branch_key(tenant, branch)
    with world.memory.changing(key) as register:
        if register is None or register.value() is None:
            return
        head = head_of(world, tenant, branch)
        if head is None:
            return
        tries = [changed(register.value(), source) for _ in range(3)]
        replies, failures = {}, []
        world.meet([partial(one_of_several, world, tenant, branch, head, n, tries[n][0], replies, failures) for n in range(3)], failures, "index-begun")
        judge_several(world, tenant, key, [(replies[n], tries[n][1]) for n in range(3)], register)


def one_of_several(world, tenant, branch, head, n, operations, replies, failures):
    try:
        replies[n] = world.ask("POST", tenant.hub(f"commit/{quoted(branch)}"), tenant.key, lines(*operations, parentCommit=head))
    except Exception as error:
        failures.append(error if isinstance(error, Broken) else Broken("commits_at_once", repr(error)))


def judge_several(world, tenant, key, told, register):
    """Judges the answers. Several may be 200 only if they name the same commit: one answer made it, and it already has all changes of the others."""
    won = [(reply, tree) for reply, tree in told if reply is not None and reply.status == 200]
    unknown = [tree for reply, tree in told if reply is None or reply.status >= 500]
    for reply, _ in told:
        require(reply is None or reply.status in (200, 412) or reply.status >= 500, "a_valid_commit_is_taken", lambda reply=reply: f"{key}: {reply} {reply.body!r}")
    require(len({reply.json()["commitOid"] for reply, _ in won}) <= 1, "one_of_several_gets_through", f"{key}: {len(won)} commits with the same parent were taken")
    if len(won) == 1 and not unknown:
        committed(world, tenant, *won[0])
    if won:
        register.wrote(won[0][1], True)
    for tree in [tree for _, tree in won[1:]] + unknown:
        register.wrote(tree, None)
    register.late = any(reply is None for reply, _ in told)


@operation(weight=1.5)
def commit_again(world, source):
    """Commits some times, and sends each commit twice, as a client does that got no answer. The second answer must name the same commit."""
    tenant, branch = tenant_of(world, source), source.choice(BRANCHES)
    key = branch_key(tenant, branch)
    with world.memory.changing(key) as register:
        for _ in range(source.randint(1, 4) if register else 0):
            head = head_of(world, tenant, branch) if register.certain() else None
            if head is None:
                return
            operations, tree = changed(register.value(), source)
            body, done = lines(*operations, parentCommit=head), set()
            for _ in range(2):
                reply = world.ask("POST", tenant.hub(f"commit/{quoted(branch)}"), tenant.key, body)
                require(reply is None or reply.status == 200 or reply.status >= 500, "a_commit_may_be_sent_again", lambda reply=reply: f"{key}: {reply} {reply.body!r}")
                done |= {reply.json()["commitOid"]} if reply is not None and reply.status == 200 else set()
                if not (register.certain() and register.value() == tree):
                    world.answer(reply, register, tree)
                committed(world, tenant, reply, tree)
            require(len(done) < 2, "a_commit_may_be_sent_again", f"{key}: two commits {done}")
            if register.late:
                return


@operation(weight=1)
def make_branch(world, source):
    tenant, branch = tenant_of(world, source), source.choice(BRANCHES[1:])
    key, main = branch_key(tenant, branch), branch_key(tenant, "main")
    with world.memory.writing(key, main) as free:
        if not free or not world.memory.of(key).certain() or not world.memory.of(main).certain():
            return
        there = world.memory.of(key).value() is not None
        reply = world.ask("POST", tenant.hub(f"branch/{quoted(branch)}"), tenant.key, {})
        expected = (409,) if there else (200, 201)
        require(reply is None or reply.status in expected or reply.status >= 500, "a_branch_is_made_once", lambda: f"{key}: {reply} {reply.body!r}")
        if not there:
            world.answer(reply, world.memory.of(key), world.memory.of(main).value() or ())


@operation(weight=1)
def delete_branch(world, source):
    tenant, branch = tenant_of(world, source), source.choice(BRANCHES[1:])
    key = branch_key(tenant, branch)
    with world.memory.writing(key) as free:
        if not free or not world.memory.of(key).certain():
            return
        there = world.memory.of(key).value() is not None
        world.trimmed.add(tenant.repo)
        reply = world.ask("DELETE", tenant.hub(f"branch/{quoted(branch)}"), tenant.key)
        expected = (200, 204) if there else (404,)
        require(reply is None or reply.status in expected or reply.status >= 500, "a_branch_is_deleted_once", lambda: f"{key}: {reply} {reply.body!r}")
        if there:
            world.answer(reply, world.memory.of(key), None)


@operation(weight=2)
def read_commit(world, source):
    """Reads a file of a commit. It must be the same for ever once the commit was acknowledged."""
    tenant = tenant_of(world, source)
    key = pick(source, [k for k in world.memory.there("commit") if k[1] == tenant.repo])
    if key is None:
        return
    tree = dict(world.memory.thing(key))
    path = source.choice(PATHS)
    reply = world.ask("GET", f"/{tenant.name}/one/resolve/{key[2]}/{escaped(path)}", tenant.key)
    if reply is None or reply.status >= 500 or commits_may_go(world, tenant):
        return
    if path in tree:
        require(reply.status == 200 and reply.body == tree[path], "a_commit_stays_as_it_is", lambda: f"{key} {path}: {reply}")
    elif reply.status != 404:
        raise Broken("a_commit_stays_as_it_is", f"{key} {path}: {reply}")


def commits_may_go(world, tenant):
    """Notes that the commits of a deleted or squashed branch may be removed."""
    return tenant.repo in world.trimmed


def escaped(path):
    return path.replace("ü", "%C3%BC").replace(" ", "%20").replace("&", "%26")


@operation(weight=0.5)
def squash(world, source):
    """Squashes a branch. Its files stay, but its former commits may be removed."""
    tenant, branch = tenant_of(world, source), source.choice(BRANCHES)
    key = branch_key(tenant, branch)
    with world.memory.writing(key) as free:
        if not free or world.memory.of(key).values == [None]:
            return
        world.trimmed.add(tenant.repo)
        reply = world.ask("POST", tenant.hub(f"super-squash/{quoted(branch)}"), tenant.key, {})
        fair = reply is None or reply.status == 200 or reply.status >= 500 or (reply.status == 404 and not world.memory.of(key).certain())
        require(fair, "a_branch_is_squashed", lambda: f"{key}: {reply} {reply.body!r}")
