"""A second repository of each tenant, with a quota. Keys: ("room", place), whose value is the bytes it holds, and whose kept object is its quota; ("held",
repository, hash)."""

import itertools
from functools import partial

import xet

from ..memory import pick
from ..parts import Abandoned, Broken, operation, require
from ..stage import Tenant
from ..store import new_xorb, put_xorb, tenant_of

QUOTA_BYTES = 60_000
FILE_BYTES_MIN = 4096  # a file counts at least this much


def second(tenant):
    other = Tenant(tenant.name)
    other.repo, other.key = f"models/{tenant.name}/two", tenant.key
    return other


def move_in(world, tenant):
    """Makes the repository and sets its quota. @return whether both succeeded"""
    made = world.ask("POST", "/api/repos/create", tenant.key, {"name": "two", "organization": tenant.name, "type": "model", "private": True})
    if made is None or made.status not in (200, 409):
        return False
    return limit(world, tenant.repo, QUOTA_BYTES)


def limit(world, place, quota_bytes):
    """Sets the quota of an account or a repository, and notes what it holds. @return whether it is done"""
    world.memory.keep(("room", place), quota_bytes)
    told = world.ask("POST", "/v1/quotas", world.admin, {"place": place, "quota_bytes": quota_bytes})
    if told is None or told.status != 200:
        return False
    world.memory.of(("room", place)).wrote(told.json()["stored_bytes"], True)
    return True


def register(world, tenant, token, xorb, replies, n):
    try:
        replies[n] = world.ask("POST", "/v1/shards", token, xet.shard([xet.File([(xorb, 0, len(xorb.nodes))])], [xorb]))
    except Exception as error:
        replies[n] = error


@operation(weight=2)
def fill_quota(world, source):
    """Registers some files at once. Files are accepted while there is room; a refused file changes nothing."""
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
        judge(world, [tenant.repo], send_at_once(world, [(tenant, token, xorb, [tenant.repo]) for xorb in xorbs]))


def counts(nodes):
    return max(FILE_BYTES_MIN, sum(n for _, n in nodes))


def held_key(tenant, xorb):
    return ("held", tenant.repo, xet.text(xet.File([(xorb, 0, len(xorb.nodes))]).hash()))


def send_at_once(world, sent):
    """Registers a file of each xorb. sent: [(tenant, token, xorb, places whose room it takes)]. @return what judge() needs: [(bytes, places, answer)]"""
    for tenant, _, xorb, _ in sent:
        world.memory.keep(held_key(tenant, xorb), xet.File([(xorb, 0, len(xorb.nodes))]))
    replies = {}
    world.meet([partial(register, world, tenant, token, xorb, replies, n) for n, (tenant, token, xorb, _) in enumerate(sent)], [], "index-begun")
    told = []
    for n, (tenant, _, xorb, places) in enumerate(sent):
        if isinstance(replies[n], Abandoned):
            continue
        if isinstance(replies[n], Exception):
            raise replies[n] if isinstance(replies[n], Broken) else Broken("a_quota_holds_to_the_byte", repr(replies[n]))
        world.answer(replies[n], world.memory.of(held_key(tenant, xorb)), True)
        told.append((counts(xorb.nodes), places, replies[n]))
    return told


class Room:
    """What a place holds after some files came at once."""

    def __init__(self, world, place, told):
        self.place, self.quota, self.register = place, world.memory.thing(("room", place)), world.memory.of(("room", place))
        mine = [(size, reply) for size, places, reply in told if place in places]
        self.sure = self.register.value() + sum(size for size, reply in mine if reply is not None and reply.status == 200)
        self.unsure = [size for size, reply in mine if reply is None or reply.status >= 500]
        self.late = any(reply is None for _, reply in mine)

    def may_lack(self, size):
        return self.sure + sum(self.unsure) + size > self.quota

    def note(self):
        sums = {sum(some) for n in range(len(self.unsure) + 1) for some in itertools.combinations(self.unsure, n)}
        self.register.values, self.register.late = sorted(self.sure + more for more in sums), self.late


def judge(world, places, told):
    """Judges the answers to files that came at once: each place takes as much as it has room for. places: whose room is known. told: as of send_at_once()"""
    rooms = {place: Room(world, place, told) for place in places}
    for room in rooms.values():
        require(room.sure <= room.quota, "a_quota_holds_to_the_byte", lambda room=room: f"{room.place} holds {room.sure} of {room.quota} bytes")
    for size, taken_from, reply in told:
        if reply is None or reply.status == 200 or reply.status >= 500:
            continue
        refused = reply.status == 403 and b"quota" in reply.body.lower()
        require(refused or world.moment.clock_moved, "a_valid_shard_is_taken", lambda reply=reply: f"{reply} {reply.body!r}")
        full = reply.status != 403 or any(rooms[place].may_lack(size) for place in taken_from)
        what = lambda size=size: f"{size} bytes were refused, and there is room: {[(r.place, r.sure, r.unsure, r.quota) for r in rooms.values()]}"
        require(full, "a_quota_holds_to_the_byte", what)
    for room in rooms.values():
        room.note()


@operation(weight=1)
def free_room(world, source):
    """Forgets one of the files, which then no longer counts."""
    tenant = second(tenant_of(world, source))
    free(world, source, tenant, [tenant.repo])


def free(world, source, tenant, places):
    """Forgets a file of the repository, which then takes no room of these places."""
    held, rooms = pick(source, [k for k in world.memory.there("held") if k[1] == tenant.repo]), [("room", place) for place in places]
    if held is None:
        return
    with world.memory.writing(held, *rooms) as is_free:
        registers = [world.memory.of(room) for room in rooms]
        if not is_free or not all(room.certain() for room in registers) or world.memory.of(held).values != [True]:
            return
        size = counts(world.memory.thing(held).nodes())
        reply = world.ask("DELETE", f"/v1/files/{held[2]}?repo={tenant.repo}", world.admin)
        world.answer(reply, world.memory.of(held), None)
        for room in registers:
            world.answer(reply, room, room.value() - size)
