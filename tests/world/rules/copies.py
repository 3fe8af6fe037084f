"""A copied file is readable in its new repository, whatever becomes of the old one. Large files are listed."""

from ..operations.copies import copies_of, large_files
from ..operations.lfs import batch, place
from ..parts import require, rule


@rule
def copies_are_readable(world):
    for key in world.memory.keys("copy"):
        copies, data = copies_of(next(t for t in world.tenants if copies_of(t).repo == key[1])), world.memory.thing(key)
        if world.memory.of(key).values == [None]:
            continue  # the repository may not exist
        told = batch(world, copies, "download", data)
        there = "download" in told.get("actions", {})
        require(world.memory.of(key).saw(True if there else None), "what_was_acknowledged_is_readable", f"{key}: {told}")
        reply = world.ask("GET", place(told["actions"]["download"])) if there else None
        require(reply is None or (reply.status == 200 and reply.body == data), "what_is_read_is_what_was_written", lambda reply=reply, key=key: f"{key}: {reply}")


@rule
def large_files_are_listed(world):
    for tenant in world.tenants:
        keys = [key for key in world.memory.there("lfs") if key[1] == tenant.repo]
        listed = large_files(world, tenant) if keys else {}
        missing = [key for key in keys if key[2] not in listed]
        require(not missing, "large_files_are_listed", f"{tenant.repo}: {missing} are not listed")
