"""Clients hang up in the middle."""

from ..parts import fault


@fault(weight=2)
class HangUp:
    """Of the round's requests one in some is cut at any byte, or sent whole and not waited for."""

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
        """What was sent may still be under way, and is known to be over once the daemon has ended."""
        self.world.stop()
        self.world.start_again()
