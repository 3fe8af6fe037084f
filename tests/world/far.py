"""The hub that the world's daemon mirrors, played by tests/clients/upstream.py: one repository, which gets commits, with small files and a long one."""

import hashlib
import random

from upstream import Hub, Repo

NAME, LONG, SMALL = "far/model", "weights.bin", "config.json"
MEDIUM = [f"parts/{n}.bin" for n in range(4)]  # each takes room before it comes
SHORT = [f"short/{n}.json" for n in range(8)]  # read while the upstream fails
LONG_BYTES = (33 << 20) + 4321  # longer than any file that is fetched in one piece
MEDIUM_BYTES = 3 << 20


def repeated(seed, n_bytes):
    """Bytes that repeat a piece of their own, so that they take little time to make and to store."""
    piece = random.Random(seed).randbytes(100_000)
    return (piece * (n_bytes // len(piece) + 1))[:n_bytes]


def contents(n):
    """Returns the files of the n-th commit. The longer files repeat a short piece, so that making and storing them takes little time."""
    short = {path: f"{path} of {n}".encode() for path in SHORT}
    medium = {path: repeated(f"{path} {n}", MEDIUM_BYTES) for path in MEDIUM}
    return short | medium | {LONG: repeated(f"far {n}", LONG_BYTES), SMALL: b'{"commit": %d}' % n, "README.md": b"# Model %d\n" % n}


def sha_of(n):
    return hashlib.sha1(b"far %d" % n).hexdigest()


class Commits(Hub):
    """A hub that also serves former commits by their ids. of_sha: {id: a hub that has only this commit}"""

    def __init__(self):
        super().__init__({})
        self.of_sha = {}

    def add(self, sha, files):
        self.repos[NAME] = Repo(files, stored={LONG, *MEDIUM}, sha=sha)
        self.of_sha[sha] = Hub(dict(self.repos))

    def answer(self, path, head):
        one = next((hub for sha, hub in list(self.of_sha.items()) if sha in path), None)
        return one.answer(path, head) if one else super().answer(path, head)


class Far:
    """The mirrored hub of one life. Its commits are numbered."""

    def __init__(self):
        self.of_sha, self.hub = {}, Commits()
        self.commit()
        self.hub.__enter__()

    def commit(self):
        """Moves main to a new commit. The former commits can still be read by their ids."""
        n = len(self.of_sha)
        self.of_sha[sha_of(n)] = contents(n)
        self.hub.add(sha_of(n), self.of_sha[sha_of(n)])

    def end(self):
        self.hub.__exit__()
