"""The bytes that an account or a repository holds are counted exactly, and never exceed its quota."""

from ..operations.quotas import second
from ..operations.teams import repositories_of
from ..parts import require, rule
from .reading import is_there


@rule
def a_quota_holds_to_the_byte(world):
    reply = world.ask("GET", "/v1/quotas?limit=512", world.admin)
    for quota in reply.json()["quotas"]:
        key, told = ("room", quota["place"]), quota["stored_bytes"]
        room = world.memory.of(key)
        known = room.values != [None]  # else the answer to the request that set the quota was lost
        require(told <= world.memory.thing(key), "a_quota_holds_to_the_byte", f"{quota}")
        require(not known or room.saw(told), "a_quota_holds_to_the_byte", f"{quota}, was told {room.values}")


@rule
def what_is_held_under_a_quota_is_readable(world):
    for tenant in [*map(second, world.tenants), *(one for tenant in world.tenants for one in repositories_of(tenant))]:
        keys = [key for key in world.memory.keys("held") if key[1] == tenant.repo]
        token = world.token(tenant, "read") if keys else None
        for key in keys:
            found = is_there(world, key, token)
            name = "what_was_refused_left_nothing" if found else "what_was_acknowledged_is_readable"
            require(world.memory.of(key).saw(True if found else None), name, f"{key}: it is {'there' if found else 'not there'}")
