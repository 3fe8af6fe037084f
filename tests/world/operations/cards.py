"""Cards: the README.md of a repository names a tag, by which lists find the repository. Keys: ("card", repository), whose value is the tag."""

from ..parts import operation, require
from ..stage import Tenant
from ..store import tenant_of
from .hub import lines, text
from .pulls import fair

TAGS = ("red", "green", "blue")


def card_of(tenant):
    other = Tenant(tenant.name)
    other.repo, other.key = f"models/{tenant.name}/card", tenant.key
    return other


@operation(weight=1)
def write_card(world, source):
    """Commits a README.md, once or several times. A daemon that ends right after a commit may list the card later, so under a fault several tags are possible
    until the next card."""
    card = card_of(tenant_of(world, source))
    for _ in range(source.randint(1, 3)):
        write_one(world, source, card, source.choice(TAGS))


def write_one(world, source, card, tag):
    key = ("card", card.repo)
    with world.memory.writing(key) as free:
        register = world.memory.of(key)
        if not free:
            return
        if register.values == [None]:
            made = world.ask("POST", "/api/repos/create", card.key, {"name": "card", "organization": card.name, "type": "model", "private": True})
            if made is None or made.status not in (200, 409):
                return
        before, calm = list(register.values), not (world.moment.may_fail or world.moment.may_vanish)
        reply = world.ask("POST", card.hub("commit/main"), card.key, lines(text("README.md", f"---\ntags: [{tag}]\n---\n# {source.getrandbits(32)}\n".encode())))
        require(fair(reply, 200), "a_valid_commit_is_taken", lambda: f"{key}: {reply} {reply.body!r}")
        register.wrote(tag, calm)
        register.late = reply is None
        register.values = [tag] if calm else [*before, *([tag] if tag not in before else [])]


def tags_found(world, card, key):
    """Returns the tags by which a list with this key finds the repository; None: some list was not answered."""
    found = []
    for tag in TAGS:
        reply = world.ask("GET", f"/api/models?author={card.name}&filter={tag}", key)
        if reply is None or reply.status >= 500:
            return None
        require(reply.status == 200, "a_list_follows_the_card", lambda reply=reply: f"{card.repo}: {reply} {reply.body!r}")
        found += [tag] if f"{card.name}/card" in [one["id"] for one in reply.json()] else []
    return found


@operation(weight=1)
def find_card(world, source):
    """Searches for a repository by each tag. Exactly one tag finds it for its owner, and none for others."""
    card, other = card_of(tenant_of(world, source)), tenant_of(world, source)
    key = ("card", card.repo)
    register = world.memory.of(key)
    mark, values = world.memory.mark(key), list(register.values)
    found = tags_found(world, card, other.key)
    if found is None:
        return
    require(other.name == card.name or not found, "nobody_sees_a_private_repository", f"{other.name} finds {card.repo} by {found}")
    if other.name == card.name and world.memory.is_same(key, mark):
        require(found in [[value] if value else [] for value in values], "a_list_follows_the_card", f"{card.repo} is found by {found}, was told {values}")
