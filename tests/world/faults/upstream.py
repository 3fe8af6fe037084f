"""The mirrored hub fails: it answers late, wrongly or with errors, or ends connections."""

import threading

import cairn
from upstream import answer

from ..far import LONG, MEDIUM, SHORT
from ..operations.disk import LITTLE_BYTES
from ..operations.mirror import get, judge
from ..parts import fault

LATE_S = 1.0
READS = 4


def false_bytes(_connection, right):
    """Returns the right answer with its last byte changed."""
    return right[:-1] + bytes([right[-1] ^ 1])


def cut(connection, _right):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n" + bytes(1000))
    connection.close()
    return b""


def late(_connection, _right):
    threading.Event().wait(LATE_S)
    return answer(503)


@fault(weight=1.5, needs={"mirror"})
class FarFails:
    """Some answers of the mirrored hub fail, all in the same way."""

    def __init__(self, world, source):
        self.world, self.source, self.lock, self.one_in = world, source, threading.Lock(), source.choice((1, 2, 3))
        self.after, self.reader = source.randint(0, 4), type(source)(source.getrandbits(64))
        self.how = source.choice((false_bytes, false_bytes, cut, late, lambda *_: answer(500), lambda *_: answer(429, Retry_After="1"), lambda *_: answer(200, b"{")))
        self.where = source.choice(("/resolve/", "/resolve/", "/api/", "/"))
        self.paths = SHORT

    def begin(self):
        self.world.far.hub.ranged[self.where] = self.serve

    def serve(self, connection, head):
        right = self.world.far.hub.answer(head.decode().split()[1], head)
        with self.lock:
            hits = self.source.randrange(self.one_in) == 0
        connection.sendall(self.how(connection, right) if hits else right)

    def meanwhile(self):
        """Reads some files, some of which have never been fetched before."""
        self.world.until(self.after)
        for _ in range(READS):
            revision, path = self.reader.choice(list(self.world.far.of_sha)), self.reader.choice(self.paths)
            reply = get(self.world, self.reader, revision, path)
            if reply is not None:
                judge(self.world, revision, path, reply)

    def end(self):
        self.world.far.hub.ranged.clear()


@fault(weight=2, needs={"mirror"})
class FarFailsLongFiles(FarFails):
    """The same happens to files that take room. Afterwards others may fill the disk: what failed must not take room any more."""

    def __init__(self, world, source):
        super().__init__(world, source)
        self.paths, self.fills = source.choice((MEDIUM, (LONG,))), cairn.STORE != "s3" and source.randrange(2) == 0

    def end(self):
        super().end()
        if self.fills:
            self.world.fill_disk(LITTLE_BYTES)
