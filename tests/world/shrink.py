"""Shortens a failing plan as long as it still breaks the same rule."""

import time

from .plan import Plan, Round


def without(plan, gone):
    """Returns the plan without these rounds."""
    return Plan(plan.seed, [r for n, r in enumerate(plan.rounds) if n not in gone])


def halves(plan):
    """Yields plans without half of the rounds, without a quarter, and so on: large pieces first."""
    size = len(plan.rounds) // 2
    while size:
        for at in range(0, len(plan.rounds), size):
            yield without(plan, range(at, at + size))
        size //= 2


def steps(plan):
    """Yields plans without one fault or one operation."""
    for n, r in enumerate(plan.rounds):
        fewer = [Round(r.operations, None)] if r.fault else []
        if len(r.operations) > 1:
            fewer += [Round(r.operations[:i] + r.operations[i + 1 :], r.fault) for i in range(len(r.operations))]
        for one in fewer:
            yield Plan(plan.seed, [*plan.rounds[:n], one, *plan.rounds[n + 1 :]])


def shrink(plan, fails, seconds, tries=2):
    """Shortens a plan. fails(plan): does it break the rule? A shorter plan is given up only after `tries` calls, because threads do not repeat
    exactly."""
    ends, shorter = time.monotonic() + seconds, True
    while shorter and time.monotonic() < ends:
        shorter = False
        for candidate in [*halves(plan), *steps(plan)]:
            if time.monotonic() >= ends:
                break
            if any(fails(candidate) for _ in range(tries)):
                plan, shorter = candidate, True
                break
    return plan
