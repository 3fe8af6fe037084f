"""Buckets: paths that change in batches. A line that cannot be done fails by itself. Keys: ("bucket", repository). A value is ((path, hash of the file),
...); the kept object is the bucket's files."""

import json

import plans
import xet

from ..parts import operation, require
from ..stage import Tenant
from ..store import new_file, new_xorb, put_xorb, tenant_of

PATHS = ("a", "b/c", "b/d", "e.bin")


def bucket_of(tenant):
    other = Tenant(tenant.name)
    other.repo, other.key = f"buckets/{tenant.name}/data", tenant.key
    return other


def bucket_token(world, bucket, server=None):
    reply = world.ask("GET", f"/api/{bucket.repo}/xet-write-token", bucket.key, server=server)
    return reply.json()["accessToken"] if reply is not None and reply.status == 200 else None


def move_in(world, bucket):
    reply = world.ask("POST", f"/api/{bucket.repo}", bucket.key, {"private": True})
    if reply is not None and reply.status in (200, 201, 409):
        world.memory.of(("bucket", bucket.repo)).wrote((), True)
        world.memory.keep(("bucket", bucket.repo), {})
        return True
    return False


@operation(weight=2)
def change_bucket(world, source):
    """Adds a file and perhaps deletes another path, in one batch."""
    change(world, source, tenant_of(world, source))


def change(world, source, tenant):
    bucket = bucket_of(tenant)
    key, xorb = ("bucket", bucket.repo), new_xorb(source)
    file = new_file(source, [xorb])
    path, gone = source.sample(PATHS, 2)
    with world.memory.writing(key) as free:
        register = world.memory.of(key)
        if not free or (register.values == [None] and not move_in(world, bucket)) or not register.certain():
            return
        token = bucket_token(world, bucket)
        if token is None or not put_xorb(world, token, xorb):
            return
        stored = world.ask("POST", "/v1/shards", token, xet.shard([file], [xorb]))
        if stored is None or stored.status != 200:
            return
        world.memory.thing(key)[xet.text(file.hash())] = file
        before = dict(register.value())
        lines = [{"type": "addFile", "path": path, "xetHash": xet.text(file.hash())}]
        if gone in before and source.randrange(2):
            lines.append({"type": "deleteFile", "path": gone})
        reply = world.ask("POST", f"/api/{bucket.repo}/batch", bucket.key, b"\n".join(json.dumps(line).encode() for line in lines))
        failed = [f["path"] for f in reply.json()["failed"]] if reply is not None and reply.status == 200 else []
        refused = failed or (reply is not None and 400 <= reply.status < 500)
        require(not refused or world.moment.clock_moved, "a_valid_batch_is_taken", lambda: f"{key}: {reply} {reply.body!r}")
        world.answer(reply, register, changed(before, [line for line in lines if line["path"] not in failed]))
        if not register.certain() and world.moment.clock_moved:  # the file may have been collected before the batch named it
            register.wrote(changed(before, lines[1:]), None)


def changed(before, lines):
    """The bucket's tree after these lines of a batch."""
    tree = dict(before)
    for line in lines:
        if line["type"] == "addFile":
            tree[line["path"]] = line["xetHash"]
        else:
            tree.pop(line["path"], None)
    return tuple(sorted(tree.items()))


def tree_of_bucket(world, bucket, server=None):
    """Reads each file of the bucket whole. @return ((path, hash), ...); None: there is no such bucket"""
    reply = world.ask("GET", f"/api/{bucket.repo}/tree?recursive=true", bucket.key, server=server)
    if reply.status == 404:
        return None
    require(reply.status == 200, "a_bucket_is_what_was_last_answered", lambda: f"{bucket.repo}: {reply} {reply.body!r}")
    files = world.memory.thing(("bucket", bucket.repo))
    found = tuple(sorted((e["path"], e["xetHash"]) for e in reply.json() if e["type"] == "file"))
    for path, name in found:
        require(name in files, "a_bucket_is_what_was_last_answered", f"{bucket.repo} {path}: {name} was never sent")
        got = world.ask("GET", f"/{bucket.repo}/resolve/{path}", bucket.key, server=server)
        whole = got.status == 200 and got.body == plans.content(files[name])
        require(whole, "what_is_read_is_what_was_written", lambda got=got, path=path: f"{bucket.repo} {path}: {got}")
    return found
