"""Requests for access to a public repository with a gate. Keys: ("gate", repository), and ("access", repository, user) with the value None before
anybody asked, then "pending", "accepted" or "rejected"."""

from ..parts import operation, require
from ..stage import Tenant
from ..store import tenant_of
from .hub import lines, text
from .pulls import fair

CONTENT = b"what the gate is for"
STATES = ("pending", "accepted", "rejected")


def gate_of(tenant):
    other = Tenant(tenant.name)
    other.repo, other.key = f"models/{tenant.name}/gate", tenant.key
    return other


def access_key(gate, user):
    return ("access", gate.repo, user.name)


def is_set_up(world, gate):
    """Makes the repository with its gate and its file, unless they exist. @return whether all exist"""
    with world.memory.writing(("gate", gate.repo)) as free:
        register = world.memory.of(("gate", gate.repo))
        if not free or register.value():
            return free
        made = world.ask("POST", "/api/repos/create", gate.key, {"name": "gate", "organization": gate.name, "type": "model", "private": False})
        if made is None or made.status not in (200, 409):
            return False
        shut = world.ask("PUT", gate.hub("settings"), gate.key, {"gated": "manual"})
        if shut is None or shut.status != 200:
            return False
        put = world.ask("POST", gate.hub("commit/main"), gate.key, lines(text("gate.txt", CONTENT)))
        return world.answer(put, register, True)


def two_of(world, source):
    owner, user = source.sample(world.tenants, 2)
    return gate_of(owner), user


@operation(weight=1)
def ask_for_access(world, source):
    gate, user = two_of(world, source)
    key = access_key(gate, user)
    if not is_set_up(world, gate):
        return
    with world.memory.changing(key) as register:
        if register is None:
            return
        before = register.value()
        reply = world.ask("POST", gate.hub("ask-access"), user.key, b"")
        require(fair(reply, 403 if before == "rejected" else 200), "a_request_for_access_is_noted", lambda: f"{key} {before}: {reply} {reply.body!r}")
        if reply is not None and reply.status == 200:
            require(reply.json()["status"] == (before or "pending"), "a_request_for_access_is_noted", lambda: f"{key} was {before}: {reply.body!r}")
        if before is None:
            world.answer(reply, register, "pending")


@operation(weight=2)
def decide_on_access(world, source):
    """Answers a request, or lets a user in who did not ask."""
    gate, user = two_of(world, source)
    key = access_key(gate, user)
    if not is_set_up(world, gate):
        return
    with world.memory.changing(key) as register:
        if register is None:
            return
        state = source.choice([s for s in STATES if s != register.value()])
        if register.value() is None:
            state = "accepted"
            reply = world.ask("POST", gate.hub("user-access-request/grant"), gate.key, {"user": user.name})
        else:
            reply = world.ask("POST", gate.hub("user-access-request/handle"), gate.key, {"user": user.name, "status": state})
        require(fair(reply, 200), "a_request_for_access_is_answered", lambda: f"{key} {register.values}: {reply} {reply.body!r}")
        world.answer(reply, register, state)


def reads(world, gate, user):
    """Requests the file. @return whether the user may read it; None: there was no answer"""
    reply = world.ask("GET", f"/{gate.name}/gate/resolve/main/gate.txt", user.key)
    if reply is None or reply.status >= 500:
        return None
    require(reply.status in (200, 403), "a_gate_lets_in_who_may", lambda: f"{gate.repo} {user.name}: {reply} {reply.body!r}")
    require(reply.status == 403 or reply.body == CONTENT, "what_is_read_is_what_was_written", lambda: f"{gate.repo}: {reply.body!r}")
    return reply.status == 200


@operation(weight=1)
def read_behind_gate(world, source):
    gate, user = two_of(world, source)
    key = access_key(gate, user)
    if not world.memory.there("gate") or not is_set_up(world, gate):
        return
    mark = world.memory.mark(key)
    values, late = list(world.memory.of(key).values), world.memory.of(key).late
    found = reads(world, gate, user)
    if found is None or late or not world.memory.is_same(key, mark):
        return
    require(found in [value == "accepted" for value in values], "a_gate_lets_in_who_may", f"{key} reads: {found}, was told {values}")
