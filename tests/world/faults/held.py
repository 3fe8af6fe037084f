"""Calls on the disk wait while others go on, so that threads meet in rare orders."""

import faults as calls

from ..parts import fault

TIMES_MAX = 3


@fault(weight=2, needs={"files"})
class HeldCalls:
    """Holds a call while some answers come, again and again. Nothing may fail because of that."""

    def __init__(self, world, source):
        self.world = world
        kinds = (["fsync", "fdatasync"], ["pwrite"], ["link", "rename"], ["unlink"], ["open"], ["pread", "read"], calls.CALLS)
        self.holds = [(source.choice(kinds), source.randint(1, 20), source.randint(1, 4)) for _ in range(source.randint(1, TIMES_MAX))]

    def begin(self):
        self.hold(self.holds[0])

    def hold(self, one):
        kinds, first, _ = one
        self.world.faults.arm(kinds, calls.HOLD, first, first)

    def meanwhile(self):
        for n, one in enumerate(self.holds):
            if n > 0:
                self.hold(one)
            self.world.until(one[2])
            self.world.faults.disarm()

    def end(self):
        self.world.faults.disarm()


@fault(weight=1, needs={"files"})
class StuckDisk(HeldCalls):
    """Holds all calls of some kinds from some moment on, for a second at most."""

    def hold(self, one):
        kinds, first, _ = one
        self.world.faults.arm(kinds, calls.HOLD, first, calls.FOR_EVER)
