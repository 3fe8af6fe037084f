"""Files that get other paths in a bucket. A file whose last path goes in a batch stays, if another line of that batch gives it a path. Keys: as in buckets.py."""

import json

from ..parts import operation, require
from ..store import tenant_of
from .buckets import PATHS, bucket_of, change, changed

LINES_MAX, BATCHES_MAX = 4, 4


def line_of(source, before):
    """A line that gives a path, taken or not, to a file that the bucket has, or deletes a path."""
    path = source.choice(PATHS)
    if source.randrange(3) == 0:
        return {"type": "deleteFile", "path": path}
    return {"type": "addFile", "path": path, "xetHash": source.choice(sorted(before.values()))}


def moved(source, before):
    """The lines that move a file, in either order."""
    old = source.choice(sorted(before))
    new = source.choice([path for path in PATHS if path != old])
    lines = [{"type": "deleteFile", "path": old}, {"type": "addFile", "path": new, "xetHash": before[old]}]
    return lines[:: source.choice((1, -1))]


@operation(weight=1.5)
def rearrange_bucket(world, source):
    """Moves, copies, swaps and deletes, in some batches, without sending a byte."""
    tenant = tenant_of(world, source)
    if not world.memory.of(("bucket", bucket_of(tenant).repo)).value():
        change(world, source, tenant)
    for _ in range(source.randint(1, BATCHES_MAX)):
        rearrange(world, source, bucket_of(tenant))


def rearrange(world, source, bucket):
    key = ("bucket", bucket.repo)
    with world.memory.changing(key) as register:
        if register is None or not register.value():
            return
        before = dict(register.value())
        lines = moved(source, before) if source.randrange(2) else [line_of(source, before) for _ in range(source.randint(1, LINES_MAX))]
        reply = world.ask("POST", f"/api/{bucket.repo}/batch", bucket.key, b"\n".join(json.dumps(line).encode() for line in lines))
        done = reply is None or reply.status >= 500 or (reply.status == 200 and not reply.json()["failed"])
        require(done, "a_valid_batch_is_taken", lambda: f"{key} {before} {lines}: {reply} {reply.body!r}")
        world.answer(reply, register, changed(before, lines))
