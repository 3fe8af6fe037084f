"""Copies of large files into another repository of the same tenant, without sending bytes. Keys: ("copy", repository, sha256); the kept object is the
bytes."""

from ..memory import pick
from ..parts import operation, require
from ..stage import Tenant
from ..store import tenant_of
from .lfs import lfs_upload
from .pulls import fair


def copies_of(tenant):
    other = Tenant(tenant.name)
    other.repo, other.key = f"models/{tenant.name}/copies", tenant.key
    return other


def large_files(world, tenant):
    """Returns {sha256: row} of the tenant's large files, as listed; None: there was no answer."""
    reply = world.ask("GET", tenant.hub("lfs-files"), tenant.key)
    if reply is None or reply.status >= 500:
        return None
    require(reply.status == 200, "large_files_are_listed", lambda: f"{tenant.repo}: {reply} {reply.body!r}")
    return {row["oid"]: row for row in reply.json()}


@operation(weight=1)
def copy_large_file(world, source):
    """Copies an object of Git LFS."""
    tenant = tenant_of(world, source)
    to, lfs = copies_of(tenant), pick(source, [k for k in world.memory.there("lfs") if k[1] == tenant.repo])
    if lfs is None:
        lfs_upload(world, source)
        return
    made = world.ask("POST", "/api/repos/create", tenant.key, {"name": "copies", "organization": tenant.name, "type": "model", "private": True})
    listed = large_files(world, tenant) if made is not None and made.status in (200, 409) else None
    if listed is None:
        return
    require(lfs[2] in listed, "large_files_are_listed", f"{lfs} is not listed")
    key, data = ("copy", to.repo, lfs[2]), world.memory.thing(lfs)
    require(listed[lfs[2]]["size"] == len(data), "large_files_are_listed", f"{lfs}: {listed[lfs[2]]}")
    world.memory.keep(key, data)
    with world.memory.writing(key) as free:
        if not free:
            return
        file = {"sha256": lfs[2], "xetHash": listed[lfs[2]]["xetHash"], "filename": "x"}
        body = {"target": {"type": "model", "name": f"{tenant.name}/copies"}, "files": [file]}
        reply = world.ask("POST", tenant.hub("lfs-files/duplicate"), tenant.key, body)
        require(fair(reply, 200), "a_large_file_is_copied", lambda: f"{key}: {reply} {reply.body!r}")
        failed = reply is not None and reply.status == 200 and reply.json()["failed"]
        require(not failed or world.moment.may_fail, "a_large_file_is_copied", lambda: f"{key}: {reply.body!r}")
        if not failed:
            world.answer(reply, world.memory.of(key), True)
