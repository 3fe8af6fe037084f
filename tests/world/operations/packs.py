"""Packs: xorbs move into one file while they are used. A packing may also fail."""

from ..parts import operation, require


def begin(world, name):
    with world.lock:
        world.packs.add(name)
    reply = world.ask("POST", f"/v1/packs?name={name}&older_than_s=0", world.admin, busy=b"gc.")
    fair = reply is None or reply.status in (202, 409) or reply.status >= 500
    require(fair, "a_packing_begins", lambda: f"{reply} {reply.body!r}")


@operation(weight=1, needs={"files"})
def pack(world, source):
    begin(world, f"p{source.getrandbits(40)}.shard")


@operation(weight=0.7, needs={"files"})
def pack_again(world, source):
    """Names a pack as one that is there. Such a packing fails, and changes nothing."""
    reply = world.ask("GET", "/v1/packs", world.admin)
    there = [one["name"] for one in reply.json()["packs"]] if reply is not None and reply.status == 200 else []
    begin(world, source.choice(there) if there else f"p{source.getrandbits(40)}.shard")
