"""Clients hang up in the middle of a request."""

from ..parts import fault


@fault(weight=2)
class HangUp:
    """Some requests of the round are cut at any byte, or sent as a whole without waiting for the answer."""

    def __init__(self, world, source):
        self.world, self.source, self.one_in = world, source, source.choice((2, 4, 8))

    def begin(self):
        self.world.moment.may_vanish = True
        self.world.moment.cut = self.cut

    def cut(self, request):
        if self.source.randrange(self.one_in):
            return None
        return self.source.choice((len(request), self.source.randint(0, len(request)), max(len(request) - self.source.randint(0, 3), 0)))

    def meanwhile(self):
        pass

    def end(self):
        """Stops the daemon, because requests that were sent may still be under way. A stopped daemon has none."""
        self.world.stop()
        self.world.start_again()
