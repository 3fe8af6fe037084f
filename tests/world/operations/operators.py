"""Operations of an operator: forgetting, collecting, packing, scrubbing, reloading."""

import signal

from ..parts import operation, require
from ..stage import GRACE_S
from ..store import own_file, tenant_of
from .collections import COLLECTING


@operation(weight=3)
def forget(world, source):
    """Forgets a file of one repository. Other repositories that have the file keep it."""
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
    """Runs a collection at once, shortly before the grace time of unneeded xorbs is over, or after it."""
    with world.memory.writing(COLLECTING) as free:
        if free:
            world.jump(source.choice((0, source.randint(1, GRACE_S // 2), GRACE_S + 1)))
        for _ in range(2 if free else 0):  # the first collection retires xorbs that the second removes
            reply = world.ask("POST", "/v1/gc", world.admin, busy=b"gc.")
            require(reply is None or reply.status == 200 or reply.status >= 500, "a_collection_runs", lambda reply=reply: f"{reply} {reply.body!r}")


@operation(weight=1, needs={"files"})
def scrub(world, source):
    """Starts a scrub, which reads and verifies everything stored."""
    reply = world.ask("POST", f"/v1/scrub/start?within={source.randint(1, 3)}", world.admin)
    require(reply is None or reply.status == 200 or reply.status >= 500, "a_scrub_begins", lambda: f"{reply} {reply.body!r}")


@operation(weight=1)
def look_around(world, source):
    """Requests the pages that an operator and a monitor read."""
    for path in source.sample(("/health", "/ready", "/metrics", "/v1/stats", "/v1/usage", "/v1/jobs", "/v1/scrub", "/v1/lost-xorbs", "/v1/quotas", "/v1/keys", "/v1/files?limit=5"), 3):
        busy = b"" if path == "/ready" else b"usage.running"  # /ready reports a check that failed on a faulty disk until the next start
        reply = world.ask("GET", path, world.admin, busy=busy)
        require(reply is None or reply.status == 200 or reply.status >= 500, "an_operator_is_answered", lambda reply=reply, path=path: f"{path}: {reply} {reply.body!r}")


@operation(weight=1)
def reload(world, source):
    """Sends SIGHUP to a daemon."""
    process = world.daemons.some(source)[0].process
    if process is not None and process.poll() is None:
        process.send_signal(signal.SIGHUP)
