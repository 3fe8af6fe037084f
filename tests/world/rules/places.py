"""Each name leads its owner to the repository that has or had it, and others to nothing."""

from ..operations.hub import escaped
from ..operations.places import NAMES, contents, places_key, seen
from ..parts import require, rule


def has_all(world, tenant, name, text):
    for path, content in contents(text).items():
        reply = world.ask("GET", f"/{tenant.name}/{name}/resolve/main/{escaped(path)}", tenant.key)
        whole = reply.status == 200 and reply.body.decode() == content
        require(whole, "what_was_acknowledged_is_readable", lambda reply=reply, path=path: f"{tenant.name}/{name} {path}: {reply}")


@rule
def a_name_leads_to_one_repository(world):
    for n, tenant in enumerate(world.tenants):
        register, found = world.memory.of(places_key(tenant)), {}
        if register.values == [None]:
            continue
        for name in NAMES:
            reply = world.ask("GET", f"/{tenant.name}/{name}/resolve/main/me.txt", tenant.key)
            require(reply.status in (200, 404), "a_name_leads_to_one_repository", lambda reply=reply: f"{reply} {reply.body!r}")
            if reply.status == 200:
                found[name] = reply.body.decode()
                has_all(world, tenant, name, found[name])
            other = world.ask("GET", f"/{tenant.name}/{name}/resolve/main/me.txt", world.tenants[n - 1].key)
            require(other.status == 404, "nobody_sees_a_private_repository", lambda other=other: f"{other} {other.body!r}")
        possible = [value for value in register.values if seen(value) == found]
        require(possible, "a_name_leads_to_one_repository", lambda: f"{tenant.name} has {found}, and was told {[seen(v) for v in register.values]}")
        if not register.late:
            register.values = possible
