"""The index's PostgreSQL server falls silent, or ends and comes back."""

import cairn
import postgres

from ..engines import connections
from ..parts import fault

SILENT_S = 2.0
OVER_S = 20


@fault(weight=1.5, needs={"postgres"})
class SilentIndex:
    """The server stands still while some answers come, or for some seconds. Statements that it got may be executed
    later."""

    def __init__(self, world, source):
        self.world, self.after = world, source.randint(0, 8)
        self.seconds = source.choice((0.2, SILENT_S, SILENT_S, 4.5))  # a daemon waits 3 s for it

    def begin(self):
        self.world.moment.may_fail = self.world.moment.may_be_late = True

    def meanwhile(self):
        self.world.until(self.after)
        self.fail()

    def fail(self):
        postgres.engine("pause")
        try:
            self.world.until_all(self.seconds)
        finally:
            postgres.engine("resume")

    def end(self):
        """Stops the daemons and waits until the server has ended their connections. Then nothing is under way."""
        self.world.stop()
        cairn.wait_until("the end of all connections", lambda: connections(self.world) == 0, OVER_S)
        self.world.start_again()


@fault(weight=1.5, needs={"postgres"})
class RestartedIndex(SilentIndex):
    """The server ends as by a crash, and is started again at once or a little later."""

    def fail(self):
        with self.world.index_is_up:
            postgres.engine("kill")
            try:
                self.world.until_all(self.seconds / 2)
            finally:
                postgres.engine("revive")
