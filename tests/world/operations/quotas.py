"""A second repository of each tenant, with a quota. Keys: ("room", repository), whose value is the bytes it holds; ("held", repository, hash)."""

import itertools
from functools import partial

import xet

from ..memory import pick
from ..parts import Abandoned, Broken, operation, require, run_at_once
from ..stage import Tenant
from ..store import new_xorb, put_xorb, tenant_of

QUOTA_BYTES = 60_000
FILE_BYTES_MIN = 4096  # a file counts at least this much


def second(tenant):
    other = Tenant(tenant.name)
    other.repo, other.key = f"models/{tenant.name}/two", tenant.key
    return other


def move_in(world, tenant):
    """Makes the repository and sets its quota. @return whether both are done"""
    made = world.ask("POST", "/api/repos/create", tenant.key, {"name": "two", "organization": tenant.name, "type": "model", "private": True})
    if made is None or made.status not in (200, 409):
        return False
    told = world.ask("POST", "/v1/quotas", world.admin, {"place": tenant.repo, "quota_bytes": QUOTA_BYTES})
    if told is None or told.status != 200:
        return False
    world.memory.of(("room", tenant.repo)).wrote(told.json()["stored_bytes"], True)
    return True


def register(world, tenant, token, xorb, replies, n):
    try:
        replies[n] = world.ask("POST", "/v1/shards", token, xet.shard([xet.File([(xorb, 0, len(xorb.nodes))])], [xorb]))
    except Exception as error:
        replies[n] = error


@operation(weight=2)
def fill_quota(world, source):
    """Registers some files at once. Files are accepted as far as there is room; a refused one changes nothing."""
    tenant = second(tenant_of(world, source))
    key = ("room", tenant.repo)
    xorbs = [new_xorb(source, 1 + source.randrange(4)) for _ in range(source.randint(1, 3))]
    with world.memory.writing(key) as free:
        room = world.memory.of(key)
        if not free or (room.value() is None and not move_in(world, tenant)) or not room.certain():
            return
        token = world.token(tenant)
        if token is None or not all([put_xorb(world, token, xorb) for xorb in xorbs]):
            return
        for xorb in xorbs:
            world.memory.keep(held_key(tenant, xorb), xet.File([(xorb, 0, len(xorb.nodes))]))
        replies = {}
        run_at_once([partial(register, world, tenant, token, xorb, replies, n) for n, xorb in enumerate(xorbs)])
        judge(world, tenant, room, xorbs, [replies[n] for n in range(len(xorbs))])


def counts(nodes):
    return max(FILE_BYTES_MIN, sum(n for _, n in nodes))


def held_key(tenant, xorb):
    return ("held", tenant.repo, xet.text(xet.File([(xorb, 0, len(xorb.nodes))]).hash()))


def judge(world, tenant, room, xorbs, replies):
    before, taken, unsure, refused = room.value(), 0, [], []
    for xorb, reply in zip(xorbs, replies, strict=True):
        if isinstance(reply, Abandoned):
            continue
        if isinstance(reply, Exception):
            raise reply if isinstance(reply, Broken) else Broken("a_quota_holds_to_the_byte", repr(reply))
        size = counts(xorb.nodes)
        world.answer(reply, world.memory.of(held_key(tenant, xorb)), True)
        if reply is None or reply.status >= 500:
            unsure.append(size)
        elif reply.status == 200:
            taken += size
        else:
            fair = reply.status == 403 and b"quota" in reply.body.lower() or world.moment.clock_moved
            require(fair, "a_valid_shard_is_taken", lambda reply=reply: f"{reply} {reply.body!r}")
            refused += [size] if reply.status == 403 else []
    require(before + taken <= QUOTA_BYTES, "a_quota_holds_to_the_byte", f"{tenant.repo} holds {before + taken} of {QUOTA_BYTES} bytes")
    for size in refused:
        full = before + taken + sum(unsure) + size > QUOTA_BYTES
        require(full, "a_quota_holds_to_the_byte", f"{tenant.repo} holds {before + taken}, and was refused {size} of {QUOTA_BYTES} bytes")
    sums = {sum(some) for n in range(len(unsure) + 1) for some in itertools.combinations(unsure, n)}
    room.values = sorted(before + taken + more for more in sums)
    room.late = None in replies


@operation(weight=1)
def free_room(world, source):
    """Forgets one of the files, which then no longer counts."""
    tenant = second(tenant_of(world, source))
    held = pick(source, [k for k in world.memory.there("held") if k[1] == tenant.repo])
    if held is None:
        return
    with world.memory.writing(("room", tenant.repo), held) as free:
        room, register_ = world.memory.of(("room", tenant.repo)), world.memory.of(held)
        if not free or not room.certain() or register_.values != [True]:
            return
        size = counts(world.memory.thing(held).nodes())
        reply = world.ask("DELETE", f"/v1/files/{held[2]}?repo={tenant.repo}", world.admin)
        world.answer(reply, register_, None)
        world.answer(reply, room, room.value() - size)
