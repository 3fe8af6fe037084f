"""Accounts that an operator disables and enables. Each tenant has a guest, whose account nobody else uses. Keys: ("account", name), whose value is GOOD or
DISABLED; the kept object is the guest, with the tokens that were got with its key."""

import time

from ..memory import pick
from ..parts import operation, require
from ..stage import KEY_KNOWN_S, Tenant
from ..store import tenant_of
from .keys import LEEWAY_S, granted

GOOD, DISABLED = "good", "disabled"
RULE = "a_disabled_account_does_nothing"


class Guest(Tenant):
    def __init__(self, host):
        super().__init__(f"{host.name}guest")
        self.tokens = []  # {"accessToken", "exp"}


def move_in(world, guest):
    """Makes the account, a key of it and a repository, unless they are there. @return whether all is done"""
    made = world.ask("POST", "/v1/accounts", world.admin, {"kind": "user", "name": guest.name})
    if made is None or made.status not in (200, 409):
        return False
    key = world.ask("POST", "/v1/keys", world.admin, {"name": "guest", "account": guest.name, "scope": "write"})
    if key is None or key.status != 200:
        return False
    guest.key = key.json()["key"]
    with world.lock:
        world.secrets.add(guest.key)
    repo = world.ask("POST", "/api/repos/create", guest.key, {"name": "one", "organization": guest.name, "type": "model", "private": True})
    return repo is not None and repo.status in (200, 409)


def guest_of(world, host):
    """The guest of a tenant. None: the account is not there yet, or another operation is making it."""
    key = ("account", Guest(host).name)
    with world.memory.writing(key) as free:
        if free and world.memory.of(key).values == [None]:
            guest = Guest(host)
            if move_in(world, guest):
                world.memory.keep(key, guest)
                world.memory.of(key).wrote(GOOD, True)
    return world.memory.things.get(key)


def get_token(world, guest):
    token = granted(world, guest, guest.key)
    if token:
        guest.tokens.append(token)


def good_tokens(world, guest):
    return [token["accessToken"] for token in guest.tokens if world.now() + LEEWAY_S < token["exp"]]


def uses(world, guest, token=None):
    """Uses the key, or a token. @return whether it is good; None: there was no answer"""
    if token:
        reply = world.ask("GET", f"/v1/reconstructions/{'0' * 64}", token)
    else:
        reply = world.ask("GET", guest.hub("xet-read-token/main"), guest.key)
    if reply is None or reply.status >= 500:
        return None
    good = 404 if token else 200
    require(reply.status in (good, 401, 403), RULE, lambda: f"{guest.name}: {reply} {reply.body!r}")
    return reply.status == good


def is_as_told(world, guest, told, token=None):
    """Requires that the key or the token is good or not. Several daemons may take a second to know it (docs/engines.md)."""
    ends = time.monotonic() + (KEY_KNOWN_S if len(world.daemons.all) > 1 else 0)
    while (found := uses(world, guest, token)) is not None and found != (told == GOOD) and time.monotonic() < ends:
        world.until(1, 0.1)
    wrong = found is not None and found != (told == GOOD) and not (token and world.moment.clock_moved)
    require(not wrong, RULE, lambda: f"{guest.name} is {told}, and {'a token' if token else 'its key'} is good: {found}")


@operation(weight=1.5)
def switch_account(world, source):
    """Disables an account, or enables it. Its key and its tokens are good or not from the answer on."""
    guest = guest_of(world, tenant_of(world, source))
    if guest is None:
        return
    key = ("account", guest.name)
    with world.memory.changing(key) as register:
        if register is None or register.value() is None:
            return
        if register.value() == GOOD:
            get_token(world, guest)
        told = DISABLED if register.value() == GOOD else GOOD
        reply = world.ask("POST", f"/v1/accounts/{guest.name}", world.admin, {"disabled": told == DISABLED})
        require(reply is None or reply.status == 200 or reply.status >= 500, "an_account_is_switched", lambda: f"{guest.name}: {reply} {reply.body!r}")
        if world.answer(reply, register, told):
            is_as_told(world, guest, told)
            for token in good_tokens(world, guest)[-1:]:
                is_as_told(world, guest, told, token)


@operation(weight=1)
def use_account(world, source):
    """Uses the key of an account, or one of its tokens, at any time."""
    guest = guest_of(world, tenant_of(world, source))
    if guest is None:
        return
    key, tokens = ("account", guest.name), good_tokens(world, guest)
    mark, n_jumps = world.memory.mark(key), world.n_jumps
    token = pick(source, tokens) if source.randrange(2) else None
    found = uses(world, guest, token)
    if found is None or len(world.daemons.all) > 1 or world.n_jumps != n_jumps:
        return
    require(world.memory.saw_since(key, mark, GOOD if found else DISABLED), RULE, lambda: f"{guest.name} was told {world.memory.of(key).values}, and is good: {found}")
