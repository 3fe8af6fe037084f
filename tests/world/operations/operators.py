"""What an operator does: forgets, collects, restarts."""

from ..parts import operation, require
from ..stage import GRACE_S
from ..store import own_file, tenant_of


@operation(weight=3)
def forget(world, source):
    """A file of one repository; another who has it keeps it."""
    tenant = tenant_of(world, source)
    key, _ = own_file(world, tenant, source)
    if key is None:
        return
    with world.memory.writing(key) as free:
        if not free:
            return
        reply = world.ask("DELETE", f"/v1/files/{key[2]}?repo={tenant.repo}", world.admin)
        if reply is not None and reply.status == 404:
            require(world.memory.of(key).saw(None), "what_was_acknowledged_is_readable", f"{key} cannot be forgotten: it is not there")
        else:
            world.answer(reply, world.memory.of(key), None)


@operation(weight=2)
def collect(world, source):
    """Often after the grace of what nobody needs."""
    if source.randrange(3):
        world.jump(source.randint(1, GRACE_S + 1))
    for _ in range(source.randint(1, 2)):
        reply = world.ask("POST", "/v1/gc", world.admin, busy=b"gc.running")
        require(reply is None or reply.status == 200 or reply.status >= 500, "a_collection_runs", lambda: f"{reply} {reply.body!r}")
