"""A packing ends, however it ends, and keeps no collection away then."""

import cairn

from ..parts import require, rule

ENDS_S = 20


@rule
def a_packing_keeps_nothing_away_afterwards(world):
    if not world.packs:
        return
    running = lambda: any(job["running"] for job in world.ask("GET", "/v1/jobs", world.admin).json()["jobs"] if job["name"] in ("packing", "collection"))
    cairn.wait_until("the end of the packing", lambda: not running(), ENDS_S)
    reply = world.ask("POST", "/v1/gc", world.admin, busy=b"gc.")
    require(reply.status == 200, "a_packing_keeps_nothing_away_afterwards", lambda: f"{reply} {reply.body!r}")
