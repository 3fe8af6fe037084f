"""Answers of the S3 service come late, twice, not at all, or belong to another request."""

import threading

import cairn

from ..parts import fault

LATE_S = 0.5
SILENT_S = 2.0
HEARD_S = 10  # docs/engines.md: a daemon goes on within 2 s of the service's return; a busy machine takes longer


def wait_for_daemons(world):
    """Waits until each daemon has noticed that the service answers again."""
    for daemon in world.daemons.all:
        cairn.wait_until("the store", lambda daemon=daemon: world.ask("GET", "/ready", server=daemon, busy=b"").status == 200, HEARD_S)


class OnTheWire:
    """A fault that the wire applies to some requests to the service."""

    def __init__(self, world, source):
        self.world, self.source, self.one_in, self.lock = world, source, source.choice((1, 2, 5)), threading.Lock()

    def begin(self):
        self.world.wire.rule = self.rule

    def hits(self):
        with self.lock:
            return self.source.randrange(self.one_in) == 0

    def meanwhile(self):
        pass

    def end(self):
        self.world.wire.rule = None
        wait_for_daemons(self.world)


@fault(weight=1, needs={"s3"})
class LateStore(OnTheWire):
    """Some requests are delayed. Nothing may fail because of that."""

    def rule(self, _request):
        with self.lock:
            seconds = self.source.random() * LATE_S if self.source.randrange(self.one_in) == 0 else 0
        return (lambda: threading.Event().wait(seconds) or None) if seconds else None


@fault(weight=1, needs={"s3"})
class RepeatedRequests(OnTheWire):
    """Some requests arrive twice, and the second answer counts, as behind a proxy that repeats. Nothing may fail because of that."""

    def rule(self, _request):
        return "twice" if self.hits() else None


@fault(weight=1, needs={"s3"})
class LostAnswers(OnTheWire):
    """Some requests are done, but the connection ends before the answer; others get an error."""

    def begin(self):
        super().begin()
        self.world.moment.may_fail = True

    def rule(self, _request):
        return self.source.choice(("drop", "lose", 500, 503)) if self.hits() else None


@fault(weight=1, needs={"s3"})
class AnotherAnswer(OnTheWire):
    """Some reads of an object get the answer to the last read of another object or part. A daemon may call that an error, or take an object for damaged.
    Nobody may get false bytes."""

    def __init__(self, world, source):
        super().__init__(world, source)
        self.former = {}  # the last request without (False) and with (True) a Range header

    def begin(self):
        super().begin()
        self.world.moment.may_fail = True

    def rule(self, request):
        if request.method != "GET" or "?" in request.path:
            return None
        with self.lock:
            former, hits = self.former.get("Range" in request.headers), self.source.randrange(self.one_in) == 0
            self.former["Range" in request.headers] = request
        same = former is None or former.reply is None or (former.path, former.headers.get("range")) == (request.path, request.headers.get("range"))
        return former.reply if hits and not same else None

    def end(self):
        super().end()
        self.world.withdraw(lambda name: True)


@fault(weight=1.5, needs={"s3"})
class SilentStore:
    """The service takes requests and answers none for some seconds."""

    def __init__(self, world, source):
        self.world, self.after = world, source.randint(0, 8)
        self.seconds = source.choice((0.2, SILENT_S, 4.5))  # a daemon waits 3 s for it

    def begin(self):
        self.world.moment.may_fail = True

    def meanwhile(self):
        self.world.until(self.after)
        self.world.wire.open.clear()
        self.world.until_all(self.seconds)
        self.world.wire.open.set()

    def end(self):
        self.world.wire.open.set()
        wait_for_daemons(self.world)
