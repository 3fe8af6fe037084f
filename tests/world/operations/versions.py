"""Clients that have an older version of a file, and lists of commits by pages."""

from ..parts import operation, require
from ..store import tenant_of
from .hub import PATHS, branch_key, escaped


def commits_by_pages(world, tenant, n):
    """Returns the commits of main, read by pages of n; None: an answer is missing."""
    found, page = [], None
    while page is None or len(page) == n:
        reply = world.ask("GET", tenant.hub(f"commits/main?limit={n}&p={len(found) // n}"), tenant.key)
        if reply is None or reply.status != 200:
            return None
        page = reply.json()
        found += page
    return found


def known_etags(world, tenant):
    """Returns {ETag: content} of the answers that the tenant has had."""
    key = ("etags", tenant.repo)
    with world.lock:
        if key not in world.memory.things:
            world.memory.keep(key, {})
    return world.memory.thing(key)


def read_version(world, tenant, path):
    """Reads a file of main, and notes what its ETag names. An ETag names one content."""
    reply = world.ask("GET", address_of(tenant, path), tenant.key)
    if reply is not None and reply.status == 200:
        known = known_etags(world, tenant).setdefault(reply.headers["ETag"], reply.body)
        require(known == reply.body, "an_etag_names_one_content", lambda: f"{tenant.repo} {path}: {reply}")


def address_of(tenant, path):
    return f"/{tenant.name}/one/resolve/main/{escaped(path)}"


@operation(weight=1.5)
def read_if_changed(world, source):
    """Reads the files of main. Then reads each again only if it differs from an earlier version of any of them."""
    some = [tenant for tenant in world.tenants if world.memory.of(branch_key(tenant, "main")).value()]
    tenant = source.choice(some or world.tenants)
    for path in PATHS:
        read_version(world, tenant, path)
    for path in PATHS if known_etags(world, tenant) else ():
        read_other_than(world, tenant, path, source.choice(sorted(known_etags(world, tenant))))


def read_other_than(world, tenant, path, etag):
    """Reads the file unless it is as this ETag names it."""
    main = branch_key(tenant, "main")
    mark = world.memory.mark(main)
    reply = world.ask("GET", address_of(tenant, path), tenant.key, If_None_Match=etag)
    register = world.memory.of(main)
    if reply is None or reply.status >= 500 or not register.certain():
        return
    is_same = dict(register.value() or ()).get(path) == known_etags(world, tenant)[etag]
    changed = not world.memory.is_same(main, mark)
    require(changed or (reply.status == 304) == is_same, "who_has_another_version_gets_this_one", lambda: f"{tenant.repo} {path} {etag}: {reply}")


@operation(weight=1)
def page_through_commits(world, source):
    """Reads the commits of main by short pages and in one page. Both must have the same commits."""
    tenant = tenant_of(world, source)
    mark, n = world.memory.mark(branch_key(tenant, "main")), source.randint(1, 4)
    whole = world.ask("GET", tenant.hub("commits/main?limit=1000"), tenant.key)
    found = commits_by_pages(world, tenant, n) if whole is not None and whole.status == 200 else None
    if found is None or not world.memory.is_same(branch_key(tenant, "main"), mark):
        return
    told, wanted = [[commit["id"] for commit in commits] for commits in (found, whole.json())]
    require(told == wanted, "a_list_has_all_and_no_more", lambda: f"{tenant.repo} by {n}: {told} instead of {wanted}")
