"""One life of a store: its rounds one after the other, with the rules checked whenever it is at rest."""

import random
import threading

from . import parts
from .parts import Abandoned, Broken, require
from .stage import World

REST_EVERY = 4  # rounds


def source_of(step):
    return random.Random(f"{step[0]} {step[1]}")


def operate(world, step, failures):
    try:
        world.count(step[0])
        parts.OPERATIONS[step[0]][0](world, source_of(step))
    except Abandoned:
        world.count("abandoned")
    except Broken as error:
        failures.append(error)
    except Exception as error:  # a fault of the world itself, or an answer in an undocumented form
        failures.append(Broken(f"the_operation_{step[0]}_understands", repr(error)))
        failures[-1].__cause__ = error


def meanwhile(world, fault):
    try:
        fault.meanwhile()
    except Abandoned:
        world.count("abandoned")


def live_round(world, round_):
    """Runs the operations of a round at once, with the fault among them."""
    world.new_moment()
    world.round_operations = [name for name, _ in round_.operations]
    fault = parts.FAULTS[round_.fault[0]][0](world, source_of(round_.fault)) if round_.fault else None
    world.moment.is_calm = fault is None
    failures = []
    threads = [threading.Thread(target=operate, args=(world, tuple(step), failures)) for step in round_.operations]
    world.moment.threads = threads
    if fault:
        world.count(round_.fault[0])
        fault.begin()
    for thread in threads:
        thread.start()
    if fault:
        meanwhile(world, fault)
    for thread in threads:
        thread.join()
    if fault:
        fault.end()
    if failures:
        raise failures[0]
    require(world.is_up(), "it_does_not_end_by_itself", lambda: world.daemons.log())
    world.new_moment()


def rest(world):
    for name, function in parts.RULES.items():
        try:
            function(world)
        except Broken:
            raise
        except Exception as error:  # as in operate()
            raise Broken(f"the_rule_{name}_understands", repr(error)) from error


def live(plan, folder, tenants=3, daemons=1):
    """Lives by a plan. @return the world afterwards. Raises Broken."""
    world = World(folder, tenants, daemons)
    try:
        world.start()
        for n, round_ in enumerate(plan.rounds):
            world.where = f"in round {n} of {len(plan.rounds)}: {[name for name, _ in round_.operations]}, {round_.fault and round_.fault[0]}"
            live_round(world, round_)
            world.where = f"at rest after round {n}"
            if n % REST_EVERY == REST_EVERY - 1:
                rest(world)
        rest(world)
        finish(world)
        return world
    except Broken as error:
        error.world = world
        raise
    finally:
        world.give_up()


def finish(world):
    """Checks the rules for the end on the stopped store, and then a daemon that starts on it."""
    world.stop()
    for function in parts.RULES_OF_THE_END.values():
        function(world)
    world.start_again()
    rest(world)
    world.stop()
