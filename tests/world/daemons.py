"""The daemons of a world: one, or several that share an index in PostgreSQL and a store in S3."""

import secrets
import threading
from pathlib import Path

import cairn


def is_up(daemon):
    process = daemon.process
    return process is not None and process.poll() is None


def is_stopped(daemon):
    """Does SIGSTOP hold the daemon?"""
    return Path(f"/proc/{daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


class Daemons:
    """The daemons of one world. first: a daemon. n: how many there are with it. folder: for the data of the others.
    options: settings of the others."""

    def __init__(self, first, n, folder, options):
        self.all, self.lock, self.turns = [first], threading.Lock(), 0
        if n == 1:
            return
        secret = folder / "secret"
        secret.write_bytes(secrets.token_bytes(32))
        secret.chmod(0o600)
        first.variables |= {"CAIRN_INDEX": cairn.postgres_url(first.data), "CAIRN_SECRET_FILE": str(secret)}
        self.all += [cairn.Daemon(folder / str(i), variables=dict(first.variables), **options) for i in range(1, n)]

    def next(self):
        """Returns a daemon that is up. The daemons take turns, as behind a balancer."""
        with self.lock:
            self.turns += 1
            order = [self.all[(self.turns + i) % len(self.all)] for i in range(len(self.all))]
        return next(filter(is_up, order), order[0])

    def down(self):
        return [one for one in self.all if not is_up(one)]

    def some(self, source):
        """Chooses the daemons that a fault strikes: one, or sometimes all."""
        if len(self.all) == 1:
            return self.all
        return source.choice(([source.choice(self.all)], [source.choice(self.all)], self.all))

    def log(self):
        return "\n".join(one.log()[-3000:] for one in self.all)
