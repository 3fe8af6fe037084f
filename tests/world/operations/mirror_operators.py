"""What operators do with the mirrored repository: they fetch it ahead, look at it, evict its files, and remove it. It comes again when somebody asks."""

from ..far import MEDIUM, NAME, SHORT, SMALL
from ..parts import operation, require
from .mirror import LATER

PLACE = f"/v1/mirror/repositories/models/{NAME}"


def answered(reply, *statuses):
    """Requires one of these statuses, unless the upstream fails. 404: the repository is not here."""
    fair = reply is None or reply.status >= 500 or reply.status in (200, 404, 429, *statuses)
    require(fair, "an_operator_is_answered", lambda: f"{reply} {reply.body!r}")


@operation(weight=0.5, needs={"mirror"})
def fetch_ahead(world, source):
    """Wants some files to come before somebody asks for them, and perhaps to be kept."""
    include = source.sample((*MEDIUM, "short/*.json", SMALL, SHORT[0]), 2)
    answered(world.ask("POST", PLACE, world.admin, {"include": include, "keep": source.randrange(4) == 0}, busy=LATER))


@operation(weight=0.5, needs={"mirror"})
def evict_mirrored(world, source):
    """Evicts the files of the repository, or the least recently read ones. One that is kept is refused."""
    if source.randrange(2):
        answered(world.ask("POST", f"{PLACE}/prune", world.admin, busy=LATER), 400, 409)
    else:
        answered(world.ask("POST", f"/v1/mirror/prune?to={source.choice((0, 1 << 20, 20 << 20))}", world.admin, busy=LATER))


@operation(weight=0.3, needs={"mirror"})
def look_at_mirrored(world, source):
    """Looks whether the upstream has moved, and how much is here."""
    answered(world.ask("POST", f"{PLACE}/refresh", world.admin, busy=LATER))
    answered(world.ask("GET", PLACE, world.admin, busy=LATER))


@operation(weight=0.2, needs={"mirror"})
def remove_mirrored(world, source):
    answered(world.ask("DELETE", PLACE, world.admin, busy=LATER))
