"""A daemon that ends at a named step."""

import cairn
import ledger


class Doomed:
    """A daemon that dies at the step named in a file, and the ledger of what it acknowledged."""

    def __init__(self, folder, **options):
        folder.mkdir()
        self.file = folder / "crash"
        self.file.write_text("")
        self.server = cairn.Daemon(folder / "server", variables={"CAIRND_CRASH_FILE": str(self.file)}, **options)
        self.ledger, self.n = ledger.Ledger(), 0

    def next_file(self):
        self.n += 1
        return ledger.new_file(self.n, xorbs=2)

    def arm(self, step):
        self.file.write_text(step)

    def is_dead(self):
        code = self.server.ended(seconds=20)
        assert code == -9, f"{self.file.read_text()} was never reached: it ended with {code}, {self.server.log()[-2000:]}"
        self.arm("")
