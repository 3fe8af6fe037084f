"""A backup begins in the middle of a collection, and reads what the collection removes."""

from ..operations.backups import back_up
from ..operations.collections import COLLECTING, EARLIER
from ..parts import begin_thread, fault
from ..stage import GRACE_S
from ..store import new_xorb, put_xorb, tenant_of

XORBS, PAUSE_S = 12, 0.3
STEPS = ("gc-marked", "gc-marked", "gc-swept", "remove-unlinked")


@fault(weight=2, needs={"files", "sqlite", "steps"})
class BackupInCollection:
    """Holds a collection that has something to remove, and begins a backup meanwhile. The backup has all that there was, and can be restored."""

    def __init__(self, world, source):
        self.world, self.source, self.tenant, self.step, self.failures = world, source, tenant_of(world, source), source.choice(STEPS), []
        self.pause_s = PAUSE_S * source.random()  # a backup reads the index first, and then the objects

    def begin(self):
        self.world.moment.clock_moved = True

    def meanwhile(self):
        token = self.world.token(self.tenant)
        with self.world.memory.writing(COLLECTING) as free:
            if free and token and all([put_xorb(self.world, token, new_xorb(self.source), busy=EARLIER) for _ in range(XORBS)]):
                self.meet()
        if self.failures:
            raise self.failures[0]

    def collect(self):
        self.world.ask("POST", "/v1/gc", self.world.admin, busy=b"gc.")

    def meet(self):
        """The first collection retires what the second removes."""
        self.world.jump(GRACE_S + 1)
        self.collect()
        self.world.jump(GRACE_S + 1)
        with self.world.held_steps() as hold:
            hold([self.step])
            collection = begin_thread(self.collect, self.failures)
            collection.join(PAUSE_S)
            backup = begin_thread(lambda: back_up(self.world, self.source), self.failures)
            backup.join(self.pause_s)
        collection.join()
        backup.join()

    def end(self):
        pass
