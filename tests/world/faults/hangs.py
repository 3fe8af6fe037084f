"""One of several daemons stands still, as a paused machine does, and goes on."""

import signal
import threading

import cairn

from ..daemons import is_stopped, is_up
from ..engines import end_leases
from ..operations.collections import COLLECTING
from ..parts import fault, require
from .steps import steps_of

IN_COLLECTION = ("gc-marked", "gc-listed", "gc-swept")  # after each of these a collection still writes under its lease
REACHED_S, STILL_S = 5.0, 1.0


class Still:
    """Finds daemons that stand still, and lets all go on."""

    def __init__(self, world):
        self.world = world

    def stopped(self):
        return [daemon for daemon in self.world.daemons.all if is_up(daemon) and is_stopped(daemon)]

    def go_on(self):
        self.world.steps.write_text("")
        for daemon in self.world.daemons.all:
            daemon.process.send_signal(signal.SIGCONT)


@fault(weight=2, needs={"daemons", "steps"})
class HungDaemon:
    """A daemon stands still at a step, or anywhere, while the others give some answers. Its leases may run out meanwhile. If it holds a transaction, the
    server ends its connection."""

    def __init__(self, world, source):
        self.world, self.still = world, Still(world)
        self.after, self.answers, self.leases_end = source.randint(0, 8), source.randint(1, 12), source.randrange(2)
        self.step, self.daemon = source.choice((None, *steps_of(world))), source.choice(world.daemons.all)

    def begin(self):
        self.world.moment.may_fail = self.world.moment.may_be_late = True
        if self.step:
            self.world.steps.write_text(f"{self.step}:0:stop")

    def meanwhile(self):
        self.world.until(self.after)
        if not self.still.stopped():
            self.daemon.process.send_signal(signal.SIGSTOP)
        self.world.steps.write_text("")
        if self.leases_end:
            end_leases(self.world)
        self.world.until(self.answers, STILL_S)
        self.still.go_on()

    def end(self):
        """Stops the daemons, because a request that was answered 5xx may still be under way. Stopped daemons have none."""
        self.world.stop()
        self.world.start_again()


@fault(weight=2, needs={"daemons", "steps"})
class OvertakenCollection:
    """A daemon stands still in a collection until its lease has run out, and another daemon collects. The first may not report its collection as done."""

    def __init__(self, world, source):
        self.world, self.still, self.step = world, Still(world), source.choice(IN_COLLECTION)
        self.first, self.second = source.sample(world.daemons.all, 2)

    def begin(self):
        self.world.moment.may_fail = self.world.moment.may_be_late = True

    def meanwhile(self):
        with self.world.memory.writing(COLLECTING) as free:
            if free:
                self.overtake()

    def overtake(self):
        replies, failures = {}, []
        first = threading.Thread(target=self.collect, args=(self.first, replies, failures))
        self.world.steps.write_text(f"{self.step}:0:stop")
        first.start()
        try:
            cairn.wait_until(self.step, lambda: self.still.stopped() or not first.is_alive(), REACHED_S)
            self.world.steps.write_text("")
            if self.first in self.still.stopped():
                end_leases(self.world)
                self.collect(self.second, replies, failures)
        finally:
            self.still.go_on()
            first.join()
        if failures:
            raise failures[0]
        told = {n: reply.status for n, reply in replies.items() if reply is not None}
        require(list(told.values()) != [200, 200], "one_daemon_collects_at_a_time", f"at {self.step}: {told}")

    def collect(self, daemon, replies, failures):
        try:
            replies[self.world.daemons.all.index(daemon)] = self.world.ask("POST", "/v1/gc", self.world.admin, server=daemon)
        except Exception as error:
            failures.append(error)

    def end(self):
        self.world.stop()
        self.world.start_again()
