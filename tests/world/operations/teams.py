"""An organisation of each tenant, with a quota and two repositories, of which one has a quota of its own. What that one takes, the organisation holds, too.
Keys: as in quotas.py."""

from ..parts import operation
from ..stage import Tenant
from ..store import new_xorb, put_xorb, tenant_of
from .quotas import free, judge, limit, send_at_once

TEAM_BYTES, NARROW_BYTES = 70_000, 50_000
TIMES_MAX = 4


def repositories_of(tenant):
    """The repository with a quota of its own, and the other."""
    out = []
    for name in ("narrow", "wide"):
        one = Tenant(f"{tenant.name}team")
        one.repo, one.key = f"models/{one.name}/{name}", tenant.key
        out.append(one)
    return out


def places_of(repository):
    """Those whose room is taken by what the repository takes."""
    return [repository.name, repository.repo] if repository.repo.endswith("narrow") else [repository.name]


def move_in(world, tenant):
    """Makes the organisation and its repositories, and sets its quotas. @return whether all is done"""
    narrow, wide = repositories_of(tenant)
    ways = [("/v1/accounts", world.admin, {"kind": "organisation", "name": narrow.name}), (f"/v1/accounts/{narrow.name}/members", world.admin, {"user": tenant.name, "role": "admin"})]
    ways += [("/api/repos/create", tenant.key, {"name": one.repo.split("/")[2], "organization": one.name, "type": "model", "private": True}) for one in (narrow, wide)]
    for path, key, body in ways:
        made = world.ask("POST", path, key, body)
        if made is None or made.status not in (200, 409):
            return False
    return limit(world, narrow.repo, NARROW_BYTES) and limit(world, narrow.name, TEAM_BYTES)


@operation(weight=2)
def fill_team(world, source):
    """Registers some files in both repositories at once, some times. They are accepted as far as there is room in the repository and in the organisation."""
    tenant = tenant_of(world, source)
    for _ in range(source.randint(1, TIMES_MAX)):
        fill(world, source, tenant)


def fill(world, source, tenant):
    repositories = repositories_of(tenant)
    places = places_of(repositories[0])
    chosen = [(source.choice(repositories), new_xorb(source, 1 + source.randrange(5))) for _ in range(source.randint(1, 4))]
    with world.memory.writing(*(("room", place) for place in places)) as is_free:
        rooms = [world.memory.of(("room", place)) for place in places]
        if not is_free or (any(room.values == [None] for room in rooms) and not move_in(world, tenant)) or not all(room.certain() for room in rooms):
            return
        tokens = {one.repo: world.token(one) for one in repositories}
        if None in tokens.values() or not all([put_xorb(world, tokens[one.repo], xorb) for one, xorb in chosen]):
            return
        judge(world, places, send_at_once(world, [(one, tokens[one.repo], xorb, places_of(one)) for one, xorb in chosen]))


@operation(weight=1)
def free_team(world, source):
    """Forgets one of the files, which then counts nowhere."""
    one = source.choice(repositories_of(tenant_of(world, source)))
    free(world, source, one, places_of(one))
