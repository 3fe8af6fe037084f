"""Look-ups: a file by its SHA-256, the meaning of a hash, and the surroundings of a change in a file."""

import xet

from ..parts import operation, require
from ..store import own_read
from .reads import boundaries

KEPT = "what_was_acknowledged_is_readable"


def is_answered(key, reply):
    """Checks that an answer is 200 or 404, unless the server failed. @return whether it is one of these"""
    if reply is None or reply.status >= 500:
        return False
    require(reply.status in (200, 404), KEPT, lambda: f"{key}: {reply} {reply.body!r}")
    return True


@operation(weight=1)
def find_by_sha256(world, source):
    key, file, token = own_read(world, source)
    if token is None:
        return
    mark = world.memory.mark(key)
    reply = world.ask("GET", f"/v1/files/by-sha256/{xet.text(file.sha256)}", token)
    if not is_answered(key, reply):
        return
    there = reply.status == 200
    require(world.memory.saw_since(key, mark, True if there else None), KEPT, lambda: f"{key} by its SHA-256: {reply}")
    told = reply.json() if there else None
    require(not there or (told["hash"], told["size"]) == (key[2], boundaries(file)[-1]), "an_answer_is_true", lambda: f"{key}: {told}")


@operation(weight=1)
def look_up(world, source):
    """Requests what the server knows of a file, and of one of its xorbs."""
    key, file, token = own_read(world, source)
    if token is None:
        return
    mark = world.memory.mark(key)
    reply = world.ask("GET", f"/v1/info/{key[2]}", token)
    if not is_answered(key, reply):
        return
    told = reply.json().get("file") if reply.status == 200 else None
    require(world.memory.saw_since(key, mark, True if told else None), KEPT, lambda: f"{key}: {reply} {reply.body!r}")
    if told:
        right = (told["size"], told["terms"], told["xorbs"]) == (boundaries(file)[-1], len(file.terms), len({x.hash for x, _, _ in file.terms}))
        require(right and (not told["lost"] or world.moment.may_fail), "an_answer_is_true", f"{key}: {told}")


@operation(weight=2)
def plan_edit(world, source):
    """Requests the surroundings of some changes in a file. The windows must contain the changes, and begin and end between chunks."""
    key, file, token = own_read(world, source)
    if token is None:
        return
    ends, mark = boundaries(file), world.memory.mark(key)
    size = ends[-1]
    ranges = []
    for _ in range(source.randint(1, 3)):
        first = source.randrange(size)
        ranges.append((first, min(first + source.randrange(3000), size - 1)))
    reply = world.ask("GET", f"/v2/file-chunk-hashes/{key[2]}", token, X_Range_Dirty="bytes=" + ",".join(f"{a}-{b}" for a, b in ranges))
    if not is_answered(key, reply):
        return
    require(world.memory.saw_since(key, mark, True if reply.status == 200 else None), KEPT, lambda: f"{key}: {reply}")
    if reply.status == 200:
        told = reply.json()
        windows = [w["dirtyByteRange"] for w in told["windows"]]
        true = (told["fileSize"], told["totalChunks"], len(told["hashRanges"])) == (size, len(ends) - 1, len(windows) + 1)
        require(true and all(a in ends and b in ends for a, b in windows), "an_answer_is_true", lambda: f"{key} {ranges}: {told}")
        held = all(any(first <= a and b < end for first, end in windows) for a, b in ranges)
        require(held, "an_answer_is_true", lambda: f"{key} {ranges}: {windows}")
