"""The store moves to another folder, and later back (`cairn migrate-store`)."""

from ..parts import fault, require


@fault(weight=0.7, needs={"files", "sqlite"})
class MovedStore:
    """Copies the store while the daemon is busy, and finishes the move at the end of the round. The daemon goes on in the other folder."""

    def __init__(self, world, source):
        self.world, self.after, self.frozen = world, source.randint(0, 8), source.randrange(2)
        names = {"data": "other", "other": "data"}
        self.here, self.ended = world.server.data, False
        self.there = self.here.with_name(names[self.here.name])

    def begin(self):
        self.world.moment.may_fail = self.frozen  # while a move is being finished, the store refuses writes

    def move(self, *options, expect=(0,)):
        return self.world.tool("migrate-store", "--data-dir", self.here, "--to", self.there, *options, "-q", expect=expect)

    def meanwhile(self):
        self.world.until(self.after)
        self.move()
        if self.frozen:
            self.ended = self.move("--finish", expect=(0, 73)).returncode == 0  # 73: the store was written to, so the move could not finish yet

    def end(self):
        self.world.stop()
        if not self.ended:
            self.move("--finish")
        self.world.settle_in(self.there)
        self.world.start_again()
        reply = self.world.ask("GET", "/ready")
        require(reply.status == 200, "a_moved_store_is_ready", lambda: f"{reply} {reply.body!r}")
