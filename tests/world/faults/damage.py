"""Objects are damaged or lost while the daemon runs, and come back from a backup (`cairn repair`)."""

import contextlib

import cairn

from ..parts import fault

ONE_IN = 4


@fault(weight=0.7, needs={"files", "sqlite"})
class DamagedObjects:
    """Some objects that a backup has are changed in one bit, or removed. Nobody gets false bytes. A repair brings all of them
    back."""

    def __init__(self, world, source):
        self.world, self.source, self.after = world, source, source.randint(0, 4)
        self.backup = world.folder / f"repair{source.getrandbits(40)}.fold"

    def begin(self):
        moment = self.world.moment
        moment.may_fail = moment.damaged = moment.clock_moved = True  # a xorb may be missing, as after its grace time
        self.world.tool("backup", "--data-dir", self.world.server.data, "--mirror", "--json", self.backup)
        self.objects = [path for path in sorted(self.world.server.objects()) if self.source.randrange(ONE_IN) == 0]

    def meanwhile(self):
        self.world.until(self.after)
        for path in self.objects:
            with contextlib.suppress(FileNotFoundError):  # the object was collected or packed
                self.harm(path)

    def harm(self, path):
        content = bytearray(path.read_bytes())
        with self.world.lock:
            self.world.xorbs.pop(path.name, None)  # a repair brings back only xorbs that files need
        if self.source.randrange(2):
            path.unlink()
            return
        content[self.source.randrange(len(content))] ^= 1
        path.chmod(0o600)
        path.write_bytes(content)

    def end(self):
        """Scrubs, so that all damage is known, and repairs it from the backup."""
        world = self.world
        scrubs = lambda: world.ask("GET", "/v1/scrub", world.admin).json()["now"] is not None
        for _ in range(1 + scrubs()):  # a scrub that runs already may have read an object before it was harmed, so another follows
            world.tool("scrub", "start", "--server", world.server.url, "--token", world.admin, "--within", "1s")
            cairn.wait_until("the scrub", lambda: not scrubs())
        world.withdraw({path.name for path in self.objects}.__contains__)
        world.tool("repair", "--from", self.backup, "--server", world.server.url, "--token", world.admin, "-q")
        world.stop()
        world.begin_trace()
        world.start_again()
        self.backup.unlink()
