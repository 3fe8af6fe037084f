"""A thread waits, or the daemon ends, at a named step between a check and its use, or between two changes (lib/base/crash_point.h)."""

from ..parts import fault
from .ends import Kill, PowerLoss

WRITE = ("index-begun", "index-applied", "index-committed", "index-answered")
SHARD = ("shard-spooled", "shard-verified")
XORB = ("put-begun", "put-written", "xorb-verified", "xorb-cleared", "put-synced", "put-folder-made", "put-linked", "put-durable", "xorb-stored")
COLLECT = ("gc-marked", "gc-swept", "remove-unlinked", "gc-removed", "index-begun", "index-committed")
PACK = ("pack-copied", "pack-written", "pack-linked", "pack-durable", "pack-moved", "pack-buried", "pack-zeroed")
COMMIT = ("commit-edited", "index-applied", "index-committed")
OF_OPERATIONS = {  # the steps that these operations reach; any other operation reaches those of a write
    "upload": XORB + SHARD, "upload_again": XORB + SHARD, "upload_of_another_s": XORB + SHARD, "upload_of_parts": SHARD, "fill_quota": XORB + SHARD,
    "lfs_upload": XORB, "collect": COLLECT, "live_beside_collections": COLLECT + XORB + SHARD, "pack": PACK, "pack_again": PACK,
    "fill_team": XORB + SHARD,
    "commit": COMMIT, "commit_at_once": COMMIT, "race_for_head": COMMIT, "commit_again": COMMIT, "commit_to_pull": COMMIT,
    "open_pull": ("pull-opened", *COMMIT), "merge_pull": ("merge-committed", *COMMIT),
    "end_pull_beside_commits": ("merge-committed", *COMMIT),
}  # fmt: skip
HELD_MAX, PAUSE_S = 3, 0.3


def steps_of(world):
    """The steps that the operations of this round reach, in a fixed order."""
    return sorted({step for name in world.round_operations for step in OF_OPERATIONS.get(name, WRITE)})


@fault(weight=3, needs={"steps"})
class HeldSteps:
    """Holds every thread that reaches a step, then also those that reach another, and releases all at once. Nothing may fail because of that."""

    def __init__(self, world, source):
        self.world, self.after = world, source.randint(0, 8)
        steps = steps_of(world)
        self.holds = [(source.choice(steps), source.randint(1, 4)) for _ in range(source.randint(1, HELD_MAX))]

    def begin(self):
        pass

    def meanwhile(self):
        self.world.until(self.after, PAUSE_S)
        held = []
        with self.world.held_steps() as hold:
            for step, answers in self.holds:
                held.append(step)
                hold(held)
                self.world.until(answers, PAUSE_S)

    def end(self):
        pass


@fault(weight=3, needs={"steps"})
class RareOrders:
    """Delays threads for a moment at any step, so that they meet in orders that are rare otherwise. Nothing may fail because of that."""

    def __init__(self, world, source):
        self.world, self.how = world, (source.choice((5, 20, 50)), source.choice((5, 20, 60)))

    def begin(self):
        self.world.steps.write_text(f"delay {self.how[0]} {self.how[1]}")

    def meanwhile(self):
        self.world.until_over()

    def end(self):
        self.world.steps.write_text("")


class AtStep:
    """Ends the daemon that reaches a step first. If no thread reaches it, ends some daemons after the round."""

    def __init__(self, world, source):
        super().__init__(world, source)
        self.step, self.which = source.choice(steps_of(world)), source.choice((1, 1, 2, 4))

    def begin(self):
        super().begin()
        self.world.steps.write_text(f"{self.step}:{self.which}")

    def meanwhile(self):
        self.world.until_over()
        self.world.steps.write_text("")
        if self.world.is_up():
            self.strike()


@fault(weight=2, needs={"steps"})
class KillAtStep(AtStep, Kill):
    pass


@fault(weight=2, needs={"steps", "files"})
class PowerLossAtStep(AtStep, PowerLoss):
    pass
