"""API keys: a key works from the answer that makes it until the answer that revokes it, and never again. Keys of the memory: ("key", id)."""

from ..memory import pick
from ..parts import operation, require
from ..store import tenant_of


@operation(weight=1)
def make_key(world, source):
    tenant = tenant_of(world, source)
    scope = source.choice(("read", "write"))
    reply = world.ask("POST", "/v1/keys", world.admin, {"name": "another", "account": tenant.name, "scope": scope})
    if reply is None or reply.status >= 500:
        return
    require(reply.status == 200, "a_key_is_made", lambda: f"{reply} {reply.body!r}")
    key = ("key", str(reply.json()["id"]))
    with world.lock:
        world.secrets.add(reply.json()["key"])
    world.memory.keep(key, (tenant, reply.json()["key"], scope))
    world.memory.of(key).wrote(True, True)
    writes_if_it_may(world, key)


def writes_if_it_may(world, key):
    """Asks for a token that writes. A key that reads does not get it."""
    tenant, secret, scope = world.memory.thing(key)
    reply = world.ask("GET", tenant.hub("xet-write-token/main"), secret)
    fair = reply is None or scope == "write" or reply.status in (401, 403) or reply.status >= 500
    require(fair, "a_key_that_reads_does_not_write", lambda: f"{key}: {reply}")


@operation(weight=1)
def revoke_key(world, source):
    key = pick(source, world.memory.there("key"))
    if key is None:
        return
    with world.memory.writing(key) as free:
        if not free:
            return
        reply = world.ask("DELETE", f"/v1/keys/{key[1]}", world.admin)
        if world.answer(reply, world.memory.of(key), None):
            tenant, secret, _ = world.memory.thing(key)
            used = world.ask("GET", tenant.hub("xet-read-token/main"), secret)
            dead = used is None or used.status == 401 or used.status >= 500
            require(dead, "a_key_is_good_until_it_is_revoked", lambda: f"{key} was revoked: {used}")


@operation(weight=2)
def use_key(world, source):
    """Uses any key that was ever made."""
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
