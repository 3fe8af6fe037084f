"""A xorb is sent again after its row was removed, and before its object is."""

import faults as calls
import xet

from ..operations.collections import COLLECTING, EARLIER
from ..parts import begin_thread, fault, require
from ..stage import GRACE_S
from ..store import new_xorb, put_xorb, tenant_of

SYNCS_MAX, PAUSE_S = 6, 0.3  # an upload syncs its object, folders and the row, one after the other


@fault(weight=1, needs={"files", "sqlite", "steps"})
class SweptAndSent:
    """Holds a collection that has removed the row. Holds a sync of the upload, and lets the collection go on meanwhile. Nothing may fail because of that."""

    def __init__(self, world, source):
        self.world, self.tenant, self.xorb, self.sync = world, tenant_of(world, source), new_xorb(source), source.randint(1, SYNCS_MAX)
        self.failures = []

    def begin(self):
        self.world.moment.clock_moved = True

    def meanwhile(self):
        token = self.world.token(self.tenant)
        with self.world.memory.writing(COLLECTING) as free:
            if free and token and put_xorb(self.world, token, self.xorb, busy=EARLIER):
                self.meet(token)
        if self.failures:
            raise self.failures[0]

    def collect(self):
        self.world.ask("POST", "/v1/gc", self.world.admin, busy=b"gc.")

    def meet(self, token):
        self.world.jump(GRACE_S + 1)
        self.collect()
        self.world.jump(GRACE_S + 1)
        with self.world.held_steps() as hold:
            hold(["gc-swept"])
            collection = begin_thread(self.collect, self.failures)
            collection.join(PAUSE_S)
            self.world.faults.arm(["fsync", "fdatasync"], calls.HOLD, self.sync, self.sync)
            upload = begin_thread(lambda: self.send(token), self.failures)
            upload.join(PAUSE_S)
        collection.join(PAUSE_S)
        self.world.faults.disarm()
        collection.join()
        upload.join()

    def send(self, token):
        if not put_xorb(self.world, token, self.xorb, busy=EARLIER):
            return
        found = self.world.ask("HEAD", self.xorb.path(), token)
        require(found.status == 200, "a_stored_xorb_is_there_for_its_grace", lambda: f"{xet.text(self.xorb.hash)}: {found}")

    def end(self):
        pass
