"""A pull request is as its last answered change left it."""

from ..operations.pulls import pull_branch
from ..parts import require, rule
from .hub import brief, tree_of


@rule
def a_pull_request_is_what_was_last_answered(world):
    for key in world.memory.keys("pull"):
        tenant = next(t for t in world.tenants if t.repo == key[1])
        reply = world.ask("GET", tenant.hub(f"discussions/{key[2]}"), tenant.key)
        require(reply.status == 200, "a_pull_request_is_what_was_last_answered", lambda reply=reply, key=key: f"{key}: {reply} {reply.body!r}")
        status, tree, register = reply.json()["status"], tree_of(world, tenant, pull_branch(key), tenant.key), world.memory.of(key)
        told = lambda register=register: [(status, brief(tree)) for status, tree in register.values]
        what = lambda key=key, status=status, tree=tree, told=told: f"{key} is {status} {brief(tree)}, and was told to be one of {told()}"
        require(register.saw((status, tree)), "a_pull_request_is_what_was_last_answered", what)
