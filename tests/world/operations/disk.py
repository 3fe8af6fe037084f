"""Others fill the disk on which the store is, and free it again. Nothing may fail because of that, as long as more than the reserve is free."""

from ..parts import operation

LITTLE_BYTES = 10 << 20  # less than a long file of the mirrored hub, and so little that the index's log is copied again and again


@operation(weight=2, needs={"files"})
def fill_disk(world, source):
    world.fill_disk(source.choice((0, LITTLE_BYTES, LITTLE_BYTES)))
