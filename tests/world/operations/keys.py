"""API keys: a key works from the answer that makes it until the answer that revokes it, and never again. Keys of the memory: ("key", id)."""

import time

from ..memory import pick
from ..parts import operation, require
from ..stage import KEY_KNOWN_S
from ..store import tenant_of

LEEWAY_S = 65  # a token may be good for a minute longer, and a request takes some seconds


@operation(weight=1)
def make_key(world, source):
    """Makes an API key. @return its key in the memory; None: it was not made"""
    tenant = tenant_of(world, source)
    scope = source.choice(("read", "write"))
    reply = world.ask("POST", "/v1/keys", world.admin, {"name": "another", "account": tenant.name, "scope": scope})
    if reply is None or reply.status >= 500:
        return None
    require(reply.status == 200, "a_key_is_made", lambda: f"{reply} {reply.body!r}")
    key = ("key", str(reply.json()["id"]))
    with world.lock:
        world.secrets.add(reply.json()["key"])
    world.memory.keep(key, (tenant, reply.json()["key"], scope))
    world.memory.of(key).wrote(True, True)
    writes_if_it_may(world, key)
    return key


def writes_if_it_may(world, key):
    """Requests a token to write. A key that only reads does not get one."""
    tenant, secret, scope = world.memory.thing(key)
    reply = world.ask("GET", tenant.hub("xet-write-token/main"), secret)
    fair = reply is None or scope == "write" or reply.status in (401, 403) or reply.status >= 500
    require(fair, "a_key_that_reads_does_not_write", lambda: f"{key}: {reply}")


@operation(weight=1)
def revoke_key(world, source):
    key = pick(source, world.memory.there("key")) or make_key(world, source)
    if key is None:
        return
    with world.memory.writing(key) as free:
        if not free:
            return
        tenant, secret, _ = world.memory.thing(key)
        token = granted(world, tenant, secret)
        reply = world.ask("DELETE", f"/v1/keys/{key[1]}", world.admin)
        if world.answer(reply, world.memory.of(key), None):
            is_dead(world, key, world.ask("GET", tenant.hub("xet-read-token/main"), secret))
            if token:
                is_dead(world, key, last_use(world, token["accessToken"]))


def granted(world, tenant, secret):
    """Requests a token to read with this key. @return the answer, {"accessToken", "exp"}; None: no token"""
    reply = world.ask("GET", tenant.hub("xet-read-token/main"), secret)
    if reply is None or reply.status != 200:
        return None
    with world.lock:
        world.secrets.add(reply.json()["accessToken"])
    return reply.json()


def last_use(world, token):
    """Uses a token of a revoked key until it is refused. Several daemons may accept it for a second (docs/engines.md)."""
    ends = time.monotonic() + (KEY_KNOWN_S if len(world.daemons.all) > 1 else 0)
    while True:
        used = world.ask("GET", f"/v1/reconstructions/{'0' * 64}", token)
        if used is None or used.status != 404 or time.monotonic() >= ends:
            return used
        world.until(1, 0.1)


def is_dead(world, key, used):
    dead = used is None or used.status == 401 or used.status >= 500
    require(dead, "a_key_is_good_until_it_is_revoked", lambda: f"{key} was revoked: {used}")


@operation(weight=2)
def use_key(world, source):
    """Uses any key that was ever made. A revoked key must be refused."""
    key = pick(source, world.memory.keys("key"))
    if key is None:
        return
    tenant, secret, _ = world.memory.thing(key)
    mark = world.memory.mark(key)
    reply = world.ask("GET", tenant.hub("xet-read-token/main"), secret)
    if reply is None or reply.status >= 500:
        return
    require(reply.status in (200, 401), "a_key_is_good_until_it_is_revoked", lambda: f"{key}: {reply} {reply.body!r}")
    works = True if reply.status == 200 else None
    require(world.memory.saw_since(key, mark, works), "a_key_is_good_until_it_is_revoked", lambda: f"{key}: {reply}, was told {world.memory.of(key).values}")


@operation(weight=0.7)
def use_old_token(world, source):
    """Gets a token, and uses one that was got some time ago. A token is good until its end, and not after it."""
    tenant = tenant_of(world, source)
    with world.lock:
        if ("tokens",) not in world.memory.things:
            world.memory.keep(("tokens",), [])
    known = world.memory.thing(("tokens",))
    new = granted(world, tenant, tenant.key)
    if new:
        known.append((new["accessToken"], world.now(), new["exp"]))
    if not known:
        return
    token, begins, ends = source.choice(known)
    n_jumps, began = world.n_jumps, world.now()
    used = world.ask("GET", f"/v1/reconstructions/{'0' * 64}", token)
    if used is None or used.status >= 500 or world.n_jumps != n_jumps:
        return
    require(used.status in (401, 404), "a_token_has_an_end", lambda: f"{used}")
    require(used.status == 401 or began - LEEWAY_S <= ends, "a_token_has_an_end", lambda: f"{began - ends:.0f} s after its end: {used}")
    may_be_refused = began < begins or world.now() + LEEWAY_S > ends
    require(used.status == 404 or may_be_refused, "a_token_is_good_until_its_end", lambda: f"{ends - began:.0f} s before its end: {used}")


@operation(weight=0.5, needs={"sqlite"})
def outlive_token(world, source):
    """Moves the clock past the end of a token, and uses it."""
    tenant = tenant_of(world, source)
    token = granted(world, tenant, tenant.key)
    if token is None:
        return
    world.jump(int(token["exp"] - world.now()) + LEEWAY_S + source.randint(1, 300))
    n_jumps = world.n_jumps
    used = world.ask("GET", f"/v1/reconstructions/{'0' * 64}", token["accessToken"])
    dead = used is None or used.status >= 500 or world.n_jumps != n_jumps
    require(dead, "a_token_has_an_end", lambda: f"{used} after its end")
