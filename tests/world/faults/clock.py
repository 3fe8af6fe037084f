"""The wall clock jumps."""

from ..parts import fault

HOUR_S, DAY_S, YEAR_S = 3600, 86400, 365 * 86400


@fault(weight=1, needs={"sqlite"})  # over PostgreSQL the clock of its server counts
class ClockJump:
    def __init__(self, world, source):
        self.world, self.after = world, source.randint(0, 6)
        self.seconds = source.choice((-HOUR_S, -60, 59, HOUR_S, 3 * DAY_S, YEAR_S))

    def begin(self):
        self.world.moment.clock_moved = True

    def meanwhile(self):
        self.world.until(self.after)
        self.world.jump(self.seconds)

    def end(self):
        pass
