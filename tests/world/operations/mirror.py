"""The mirrored hub: clients read its files by commit and by branch, and it gets new commits. Answers have the right bytes, or give the reason why not."""

from ..far import LONG, MEDIUM, NAME, SMALL
from ..parts import operation, require
from ..store import tenant_of

LATER = b'"mirror.'  # how codes begin of a 502, 503 or 504 while the upstream fails, and for a while afterwards, and of a 507 while the disk is full


def get(world, source, revision, path, **headers):
    """Requests a file. @return the answer; None: there is none, or it says nothing of the bytes"""
    world.mirrored = True
    reply = world.ask("GET", f"/{NAME}/resolve/{revision}/{path}", tenant_of(world, source).key, busy=LATER, may_end=True, **headers)
    no_room = reply is not None and reply.status == 507
    require(not no_room or world.lacks_room or world.moment.may_fail, "a_mirror_has_room", lambda: f"{revision} {path}: {reply.body!r}")
    if reply is None or reply.status in (429, 502, 503, 504) or reply.status >= 500:
        return None
    return reply


def judge(world, revision, path, reply, first=0, end=None):
    """Checks the bytes of an answer. A commit must have the upstream's files. A branch must be one of the commits that it ever was."""
    if revision == "main":
        possible = [files[path][first:end] for files in list(world.far.of_sha.values())]
    else:
        possible = [world.far.of_sha[revision][path][first:end]]
    right = reply.status in (200, 206) and reply.body in possible
    require(right, "a_mirror_gives_the_right_bytes", lambda: f"{revision} {path} {first}-{end}: {reply.status} {len(reply.body)} bytes {reply.body[:200]!r}")


@operation(weight=0.6, needs={"mirror"})
def read_mirrored(world, source):
    """Reads a whole file."""
    revision, path = source.choice(("main", source.choice(list(world.far.of_sha)))), source.choice((LONG, LONG, SMALL, "README.md", *MEDIUM))
    reply = get(world, source, revision, path)
    if reply is not None:
        judge(world, revision, path, reply)


@operation(weight=1, needs={"mirror"})
def read_part_of_mirrored(world, source):
    """Reads a part of the long file by its commit. The file may still be arriving."""
    revision = source.choice(list(world.far.of_sha))
    size = len(world.far.of_sha[revision][LONG])
    first = source.choice((0, source.randrange(size), size - source.randint(1, 70_000)))
    end = min(first + source.choice((1, 100_000, 3 << 20)), size)
    reply = get(world, source, revision, LONG, Range=f"bytes={first}-{end - 1}")
    if reply is not None:
        judge(world, revision, LONG, reply, first, end)


@operation(weight=0.5, needs={"mirror"})
def commit_upstream(world, source):
    """Adds a commit to the upstream."""
    with world.lock:
        if len(world.far.of_sha) < source.randint(2, 4):
            world.far.commit()


@operation(weight=0.5, needs={"mirror"})
def write_in_mirrored(world, source):
    """Tries to write in a repository of the upstream, which must be refused."""
    tenant = tenant_of(world, source)
    ways = (("POST", f"/api/models/{NAME}/commit/main", b'{"key":"header","value":{"summary":"mine"}}'), ("DELETE", "/api/repos/delete", {"name": "model", "organization": "far", "type": "model"}),
            ("GET", f"/api/models/{NAME}/xet-write-token/main", None), ("PUT", f"/api/models/{NAME}/settings", {"private": True}))  # fmt: skip
    method, path, body = source.choice(ways)
    reply = world.ask(method, path, tenant.key, body, busy=LATER)
    require(reply is None or reply.status >= 400, "nobody_changes_what_is_another_s", lambda: f"{method} {path}: {reply} {reply.body!r}")
