"""The daemon or its machine ends in the middle of a round."""

from ..parts import fault


@fault(weight=3)
class Kill:
    """Sends SIGKILL after some answers of the round."""

    def __init__(self, world, source):
        self.world, self.after = world, source.randint(0, 12)

    def begin(self):
        self.world.moment.may_vanish = True

    def meanwhile(self):
        self.world.until(self.after)
        self.world.server.process.kill()

    def end(self):
        self.world.kill()
        self.world.start_again()


@fault(weight=3, needs={"files"})
class PowerLoss(Kill):
    """Kills the daemon after some answers, and leaves only a part of what was not synced."""

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

    def meanwhile(self):
        self.world.until(self.after)
        self.world.stop()

    def end(self):
        self.world.start_again()
