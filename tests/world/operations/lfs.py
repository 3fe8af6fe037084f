"""Git LFS: uploads and downloads of objects by their SHA-256. Keys: ("lfs", repository, sha256); the kept object is the bytes."""

import hashlib
import urllib.parse

from ..memory import pick
from ..parts import operation, require
from ..store import tenant_of

TYPE = "application/vnd.git-lfs+json"


def batch(world, tenant, operation, data):
    """Requests a batch of one object. @return the answer for this object, or None"""
    body = {"operation": operation, "transfers": ["basic"], "objects": [{"oid": hashlib.sha256(data).hexdigest(), "size": len(data)}]}
    reply = world.ask("POST", f"/{tenant.repo.removeprefix('models/')}.git/info/lfs/objects/batch", tenant.key, body, Content_Type=TYPE, Accept=TYPE)
    if reply is None or reply.status >= 500:
        return None
    require(reply.status == 200, "lfs_answers_for_each_object", lambda: f"{reply} {reply.body!r}")
    return reply.json()["objects"][0]


def place(action):
    parts = urllib.parse.urlsplit(action["href"])
    return f"{parts.path}?{parts.query}"


@operation(weight=2)
def lfs_upload(world, source):
    """Uploads new bytes, or bytes that do not match their SHA-256. The latter must be refused."""
    tenant, lies = tenant_of(world, source), source.randrange(5) == 0
    data = source.randbytes(source.randint(1, 20000))
    key = ("lfs", tenant.repo, hashlib.sha256(data).hexdigest())
    world.memory.keep(key, data)
    with world.memory.writing(key) as free:
        told = batch(world, tenant, "upload", data) if free else None
        if not told or "upload" not in told.get("actions", {}):
            return
        sent = data if not lies else data[:-1] + bytes([data[-1] ^ 1])
        reply = world.ask("PUT", place(told["actions"]["upload"]), body=sent)
        wrong = reply is not None and reply.status == 200 and lies
        require(not wrong, "a_lie_is_refused", f"{key} was taken with other bytes")
        fair = reply is None or reply.status == 200 or lies or reply.status >= 500 or world.moment.clock_moved
        require(fair, "a_valid_object_is_taken", lambda: f"{key}: {reply} {reply.body!r}")
        if not lies:
            world.answer(reply, world.memory.of(key), True)


@operation(weight=2)
def lfs_download(world, source):
    tenant = tenant_of(world, source)
    key = pick(source, [k for k in world.memory.there("lfs") if k[1] == tenant.repo])
    if key is None:
        return
    data = world.memory.thing(key)
    told = batch(world, tenant, "download", data)
    there = told is not None and "download" in told.get("actions", {})
    require(there or told is None or world.moment.may_fail, "what_was_acknowledged_is_readable", f"{key}: {told}")
    reply = world.ask("GET", place(told["actions"]["download"])) if there else None
    if reply is None or (reply.status != 200 and (world.moment.may_fail or world.moment.clock_moved)):
        return
    require(reply.status == 200 and reply.body == data, "what_is_read_is_what_was_written", lambda: f"{key}: {reply}")
