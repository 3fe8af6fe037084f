"""Memory is short for a moment."""

import faults as calls

from ..parts import fault, require

ENOMEM = 12


@fault(weight=1, needs={"own_memory"})
class NoMemory:
    """Some allocations fail. The daemon answers 5xx, or ends and says why, and breaks no promise."""

    def __init__(self, world, source):
        self.world = world
        self.first = source.randint(1, source.choice((100, 1000, 5000)))
        self.last = self.first + source.choice((0, 0, 3, 100))

    def begin(self):
        self.world.moment.may_fail = self.world.moment.may_vanish = self.world.moment.no_memory = True
        self.world.faults.arm([calls.MALLOC], ENOMEM, self.first, self.last)

    def meanwhile(self):
        pass

    def end(self):
        self.world.faults.disarm()
        for daemon in self.world.daemons.down():
            code, log = daemon.process.returncode, daemon.log()[-3000:]
            require(code > 0 and "memory" in log, "it_says_why_it_ends", f"{code}: {log}")
            self.world.kill([daemon])
        self.world.start_again()
