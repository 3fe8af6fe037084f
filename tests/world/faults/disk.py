"""The disk fails for some calls, and works again afterwards."""

import faults as calls

from ..parts import fault

FAILING = [name for name in calls.CALLS if name != "sendfile"]  # docs/reliability.md: libmicrohttpd takes a short sendfile() for a full socket, and waits up to idle_timeout


@fault(weight=3, needs={"files"})
class Disk:
    """Some calls of some kinds fail with EIO or ENOSPC, once or for the rest of the round."""

    def __init__(self, world, source):
        self.world = world
        self.calls = source.choice((FAILING, ["fsync", "fdatasync"], ["write"], ["write", "pwrite"], ["rename", "link", "open"], ["read", "pread"], [source.choice(FAILING)]))
        self.action = source.choice((calls.EIO, calls.EIO, calls.ENOSPC))
        self.first = source.choice((source.randint(1, 8), source.randint(1, 60)))  # a round makes few calls of some kinds
        self.last = self.first + source.choice((0, 0, 3, calls.FOR_EVER))

    def begin(self):
        self.world.moment.may_fail = self.world.moment.may_vanish = True
        self.world.faults.arm(self.calls, self.action, self.first, self.last)

    def meanwhile(self):
        pass

    def end(self):
        self.world.faults.disarm()


@fault(weight=1, needs={"files"})
class ShortCalls(Disk):
    """Calls read or write half of what they could. Nobody may notice."""

    def begin(self):
        self.world.faults.arm(["read", "write", "pread", "pwrite"], calls.SHORT, self.first, self.last)
