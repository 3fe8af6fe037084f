"""The small file of each commit of the mirrored hub has the right bytes. The mirror has room for another file, as far as the disk has."""

import time

import cairn

from ..far import LONG, MEDIUM, NAME, SMALL
from ..operations.mirror import LATER, judge
from ..parts import require, rule

SOON_S = 15  # the daemon looks for room every five seconds


@rule
def a_mirror_gives_the_right_bytes(world):
    for sha in list(world.far.of_sha) if world.mirrored else ():
        reply = world.ask("GET", f"/{NAME}/resolve/{sha}/{SMALL}", world.tenants[0].key, busy=LATER, may_end=True)
        if reply is not None and reply.status not in (429, 502, 503, 504):
            judge(world, sha, SMALL, reply)


@rule
def a_mirror_has_room(world):
    """While others fill the disk, it has room for one of the shorter files at any time. Once it is free again, for every file. No other file is being fetched
    now. Afterwards, the mirror lacks room only if others fill the disk again."""
    if not world.mirrored or not world.lacks_room:
        return
    sha, end, has_all = list(world.far.of_sha)[-1], 100_000, True
    for path in (*MEDIUM[:2], *([] if world.free_bytes else [LONG])):
        reply = soon(world, lambda path=path: world.ask("GET", f"/{NAME}/resolve/{sha}/{path}", world.tenants[0].key, busy=LATER, may_end=True, Range=f"bytes=0-{end - 1}"))
        if reply is not None and reply.status in (200, 206):
            judge(world, sha, path, reply, 0, end)
        else:
            has_all = False
    if has_all:
        world.lacks_room = world.free_bytes > 0


def soon(world, ask):
    """Asks until there is room. @return the answer"""
    reply, began = ask(), time.monotonic()
    while reply is not None and reply.status == 507:
        require(cairn.in_time(time.monotonic() - began, SOON_S), "a_mirror_has_room", lambda: f"{reply.body!r}")
        world.until(1, 0.5)
        reply = ask()
    return reply
