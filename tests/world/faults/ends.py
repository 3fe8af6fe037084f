"""Daemons, or the machine, end in the middle of a round."""

from ..parts import fault


@fault(weight=3)
class Kill:
    """Sends SIGKILL after some answers of the round: to the daemon, or to one of several, or to all."""

    def __init__(self, world, source):
        self.world, self.after = world, source.randint(0, 12)
        self.victims = world.daemons.some(source)

    def begin(self):
        self.world.moment.may_vanish = True

    def meanwhile(self):
        self.world.until(self.after)
        self.strike()

    def strike(self):
        for daemon in self.victims:
            daemon.process.kill()

    def end(self):
        self.world.kill([*self.victims, *self.world.daemons.down()])
        self.world.start_again()


@fault(weight=3, needs={"files"})
class PowerLoss(Kill):
    """Kills the daemon after some answers, and keeps only a part of what was not synced."""

    def __init__(self, world, source):
        super().__init__(world, source)
        self.source, self.share = source, source.choice((0, 0.5, 0.9))

    def end(self):
        self.world.kill()
        self.world.lose_power(lambda: self.source.random() < self.share)
        self.world.start_again()


@fault(weight=1)
class Restart(Kill):
    """Sends SIGTERM. Requests under way are answered or refused."""

    def begin(self):
        self.world.moment.may_vanish = self.world.moment.may_fail = True

    def strike(self):
        self.world.stop(self.victims)

    def end(self):
        self.world.start_again()
