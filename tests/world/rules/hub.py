"""A branch is as its last answered change left it, when its tenant reads it, and does not exist for others."""

from ..operations.hub import BRANCHES, branch_key, escaped, quoted
from ..parts import require, rule

OWN = ".gitattributes"  # made by the hub itself


def tree_of(world, tenant, branch, key, server=None):
    """Returns the tree of a branch, ((path, bytes), ...); None: there is no such branch."""
    reply = world.ask("GET", tenant.hub(f"tree/{quoted(branch)}?recursive=true"), key, server=server)
    if reply.status == 404:
        return None
    require(reply.status == 200, "a_branch_is_what_was_last_answered", lambda: f"{tenant.name} {branch}: {reply} {reply.body!r}")
    paths, found = [e["path"] for e in reply.json() if e["type"] == "file"], []
    for path in sorted(set(paths) - {OWN}):
        got = world.ask("GET", f"/{tenant.name}/one/resolve/{quoted(branch)}/{escaped(path)}", key, server=server)
        require(got.status == 200, "what_is_listed_is_readable", lambda got=got, path=path: f"{tenant.name} {branch} {path}: {got}")
        found.append((path, got.body))
    return tuple(found)


def brief(tree):
    """Returns a short text of a tree for people: the first bytes of each file."""
    return None if tree is None else {path: content[:8].decode(errors="replace") for path, content in tree}


@rule
def a_branch_is_what_was_last_answered(world):
    for tenant in world.tenants:
        for branch in BRANCHES:
            register = world.memory.of(branch_key(tenant, branch))
            found = tree_of(world, tenant, branch, tenant.key)
            if branch == "main" and not found:
                found = None  # a main branch without files counts as none
            expected = [value or None if branch == "main" else value for value in register.values]
            require(found in expected, "a_branch_is_what_was_last_answered", lambda: f"{tenant.name} {branch} is {brief(found)}, and was told to be one of {[brief(e) for e in expected]}")
            register.saw(register.values[expected.index(found)])


@rule
def nobody_sees_a_private_repository(world):
    for tenant, other in zip(world.tenants, world.tenants[1:] + world.tenants[:1], strict=True):
        for path in (tenant.hub("tree/main"), tenant.hub("refs"), tenant.hub("commits/main"), tenant.hub("xet-read-token/main"), f"/{tenant.name}/one/resolve/main/a.txt"):
            for key in (other.key, None):
                reply = world.ask("GET", path, key)
                require(reply.status in (401, 403, 404), "nobody_sees_a_private_repository", lambda reply=reply, path=path: f"{path}: {reply} {reply.body!r}")
