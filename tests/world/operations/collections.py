"""Uploads, queries and new files of xorbs that a collection is about to remove. A xorb is retired when no file needs it, and removed later."""

from functools import partial

import plans
import xet

from ..parts import Abandoned, operation, require, run_at_once
from ..stage import GRACE_S, SLACK_S
from ..store import file_of, key_of, new_xorb, put_files, put_xorb, read, tenant_of
from .reads import ask_for, judge

COLLECTING = ("collecting",)  # reserved by an operation that must know when a collection runs
FILES, STEPS = 5, 20
OFFER_S = GRACE_S - SLACK_S  # how long clients can name a xorb that was offered
EARLIER = b"xorb."  # how codes of a 503 begin if the xorb was there when the request began, and has been collected since


class Beside:
    """The state that all steps share: a tenant with some files, each of one xorb."""

    def __init__(self, world, source, tenant, token):
        self.world, self.source, self.tenant, self.token = world, source, tenant, token
        self.files = [file_of([(xorb, 0, len(xorb.nodes))]) for xorb in (new_xorb(source) for _ in range(FILES))]
        self.keys = [key_of(tenant, file) for file in self.files]
        self.n_jumps, self.offered = 0, {}  # own jumps of the clock; {n: (when it was offered, jumps by others before)}
        for key, file in zip(self.keys, self.files, strict=True):
            world.memory.keep(key, file)

    def register(self, n):
        return self.world.memory.of(self.keys[n])

    def send(self, n):
        """Sends the xorb, and a file of it. The file must be accepted, because the xorb's grace time has just begun."""
        n_jumps = self.world.n_jumps
        if put_xorb(self.world, self.token, self.xorb(n), busy=EARLIER):
            reply = self.name(n)
            taken = reply is None or reply.status == 200 or reply.status >= 500 or self.world.n_jumps != n_jumps
            require(taken, "a_stored_xorb_is_there_for_its_grace", lambda: f"{self.keys[n]}: {reply} {reply.body!r}")

    def name(self, n):
        """Registers a file whose xorb may have been collected. A xorb that was offered can still be named, whatever was collected meanwhile. @return the answer"""
        reply = put_files(self.world, self.tenant, self.token, [self.files[n]], [self.xorb(n)], may_be_refused=True, busy=EARLIER)
        at, jumps = self.offered.get(n, (0, None))
        is_good = jumps == self.others_jumps() and self.world.now() - at < OFFER_S and not self.world.moment.damaged
        taken = reply is None or reply.status == 200 or reply.status >= 500
        require(taken or not is_good, "what_was_offered_can_be_named", lambda: f"{self.keys[n]}, {self.world.now() - at:.0f} s after the offer: {reply} {reply.body!r}")
        return reply

    def others_jumps(self):
        return self.world.n_jumps - self.n_jumps

    def xorb(self, n):
        return self.files[n].terms[0][0]

    def forget(self, n):
        if self.register(n).values != [None]:
            reply = self.world.ask("DELETE", f"/v1/files/{self.keys[n][2]}?repo={self.tenant.repo}", self.world.admin)
            if reply is None or reply.status != 404:
                self.world.answer(reply, self.register(n), None)

    def look(self, n):
        """Reads the file, if there is one."""
        if self.register(n).values == [True]:
            got = read(self.world, self.token, self.files[n])
            judge(self.world, self.keys[n], None, got, plans.content(self.files[n]))
            gone = got is not None and not isinstance(got, bytes) and got.status == 404
            require(not gone, "what_was_acknowledged_is_readable", lambda: f"{self.keys[n]}: {got}")

    def query(self, n):
        """Queries a chunk of the xorb. Every xorb that is offered must be there, since no collection runs now."""
        n_jumps, began, jumps = self.world.n_jumps, self.world.now(), self.others_jumps()
        _, answer = ask_for(self.world, self.xorb(n), 0, self.token)
        for name in sorted(answer.xorbs if answer else ()):
            found = self.world.ask("HEAD", f"/v1/xorbs/default/{xet.text(name)}", self.token)
            there = found is None or found.status != 404 or self.world.n_jumps != n_jumps
            require(there, "what_is_offered_is_there", lambda name=name, found=found: f"{xet.text(name)}: {found}")
        if answer and self.xorb(n).hash in answer.xorbs:
            self.offered[n] = (began, jumps)

    def rely(self, n):
        """Waits after an offer while others forget and collect, and names the xorb."""
        self.query(n)
        for step in self.source.choices((self.collect, lambda: self.forget(n), lambda: self.let_pass(self.source.randint(1, GRACE_S // 4))), k=3):
            step()
        if not self.register(n).late:
            self.name(n)

    def collect(self):
        self.world.ask("POST", "/v1/gc", self.world.admin, busy=b"gc.")

    def grow_old(self):
        self.let_pass(self.source.choice((self.source.randint(1, GRACE_S // 2), GRACE_S + 1, GRACE_S + 1)))

    def let_pass(self, seconds):
        self.n_jumps += 1
        self.world.jump(seconds)

    def meet(self):
        """Runs a collection while clients send what it removes."""
        failures = []
        ways = [partial(self.source.choice((self.send, self.send, self.name, self.look)), n) for n in range(FILES) if not self.register(n).late]
        run_at_once([partial(attempt, way, failures) for way in (self.collect, *ways)], failures)


def attempt(way, failures):
    try:
        way()
    except Abandoned:
        pass
    except Exception as error:
        failures.append(error)


@operation(weight=2, needs={"sqlite"})
def live_beside_collections(world, source):
    """Does some of these steps, in any order."""
    tenant = tenant_of(world, source)
    token = world.token(tenant)
    if token is None:
        return
    beside = Beside(world, source, tenant, token)
    with world.memory.writing(COLLECTING, *beside.keys) as free:
        if not free:
            return
        for n in range(FILES):
            beside.send(n)
        for _ in range(STEPS):
            step = source.choices(("forget", "query", "rely", "name", "send", "look", "grow_old", "collect", "meet"), (4, 5, 2, 1, 1, 2, 4, 5, 3))[0]
            some = [n for n in range(FILES) if source.randrange(2)]
            if step in ("grow_old", "collect", "meet"):
                getattr(beside, step)()
                continue
            for n in some:
                if not beside.register(n).late:
                    getattr(beside, step)(n)
