"""./dev world [--seed N] [--minutes M] [--pair P] [--tenants K] [--daemons 3] [--replay FILE] [--out FOLDER]"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import cairn

from . import parts, plan, shrink
from .life import live
from .stage import parts_there

OF_BUILDS = {"steps", "own_memory"}  # parts that only some builds of the daemon have; plans assume them, so that a seed means the same for all builds
SHRINK_S = 120
FAST = "/dev/shm"  # in memory, where syncs take no time; the records of syncs show whether they suffice (power.py)
TRIES = 5  # runs of a failed seed, to tell how often it fails


class Watch:
    """Runs lives, and counts what was done in them."""

    def __init__(self, tenants, daemons):
        self.tenants, self.daemons, self.counts, self.lives = tenants, daemons, {}, 0

    def options(self):
        """The options of ./dev world that give such lives again."""
        pair = f"{'postgres' if cairn.INDEX else 'sqlite'}+{cairn.STORE or 'files'}"
        return f"--pair {pair} --daemons {self.daemons} --tenants {self.tenants}"

    def fails(self, one):
        """Runs one life by this plan. @return the rule that it breaks, or None"""
        folder = Path(tempfile.mkdtemp(prefix="cairn-world-", dir=FAST if os.access(FAST, os.W_OK) else None))
        self.lives += 1
        try:
            self.add(live(one, folder, self.tenants, self.daemons))
            return None
        except parts.Broken as error:
            if hasattr(error, "world"):
                self.add(error.world)
                error.where = error.world.where
            return error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def add(self, world):
        for what, n in world.counts.items():
            self.counts[what] = self.counts.get(what, 0) + n

    def told(self):
        operations = sum(self.counts.get(name, 0) for name in parts.OPERATIONS)
        faults = sum(self.counts.get(name, 0) for name in parts.FAULTS)
        return f"{self.lives} lives, {operations} operations, {faults} faults, {self.counts.get('requests', 0)} requests"


def report(watch, broken, one, out, shrink_s):
    """Prints the seed and the broken rule, shortens the plan, and writes a script that replays it."""
    print(f"world: seed {one.seed} breaks a rule: {broken}\nworld: that was {getattr(broken, 'where', 'nowhere')}", flush=True)
    if broken.__cause__ is not None:
        traceback.print_exception(broken.__cause__)
    again = lambda candidate: (found := watch.fails(candidate)) is not None and found.rule == broken.rule
    short = shrink.shrink(one, again, shrink_s)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{one.seed}.json").write_text(short.to_json())
    script = out / f"{one.seed}.sh"
    script.write_text(f'#!/bin/sh\n# {broken.rule}\ncd "$(dirname "$0")" && exec "{Path(__file__).resolve().parents[2]}/dev" world {watch.options()} --replay "$PWD/{one.seed}.json"\n')
    script.chmod(0o755)
    times = sum(again(short) for _ in range(TRIES)) if shrink_s else "?"
    print(f"world: shortened from {one.steps()} steps to {short.steps()}, which fail in {times} of {TRIES} tries; again: {script}")


def choose_plans(arguments):
    """Yields plans: the one of a file, or those of a seed and the following seeds, or those of random seeds."""
    if arguments.replay:
        yield plan.Plan.from_json(Path(arguments.replay).read_text())
        return
    has = parts_there(arguments.daemons)
    of_any_build = has | OF_BUILDS
    operations, faults = parts.weights(parts.OPERATIONS, of_any_build), parts.weights(parts.FAULTS, of_any_build)
    possible = parts.weights(parts.FAULTS, has)
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().getrandbits(32)
    while True:
        one = plan.make(seed, operations, faults, parts.themes(operations))
        for round_ in one.rounds:
            if round_.fault and round_.fault[0] not in possible:
                round_.fault = None
        yield one
        seed += 1


def main():
    arguments = parse()
    parts.load()
    watch = Watch(arguments.tenants, arguments.daemons)
    try:
        return watch_lives(watch, arguments)
    except KeyboardInterrupt:
        print(f"world: {watch.told()}; interrupted")
        return 130


def parse():
    parser = argparse.ArgumentParser(prog="./dev world", description="A world of seeds: tests/world/README.md")
    parser.add_argument("--seed", type=int, help="of the first life; the next has the next one. Not given: any")
    parser.add_argument("--minutes", type=float, default=1, help="begin no further life after so many")
    parser.add_argument("--tenants", type=int, default=3, choices=range(2, 9))
    parser.add_argument("--daemons", type=int, default=1, choices=(1, 3), help="3 share an index in PostgreSQL and a store in S3")
    parser.add_argument("--replay", metavar="FILE", help="live the plan of this file, once")
    parser.add_argument("--out", type=Path, default=Path("build/world"), help="folder for the scripts that replay failures")
    parser.add_argument("--shrink", type=float, metavar="SECONDS", help=f"for shortening a failure at most; 0: not at all, as with --replay; else {SHRINK_S}")
    return parser.parse_args()


def watch_lives(watch, arguments):
    """Runs lives until one breaks a rule, or until the time is over. @return the exit status"""
    ends = time.monotonic() + 60 * arguments.minutes
    for one in choose_plans(arguments):
        if watch.lives == 0:
            print(f"world: the first seed is {one.seed}", flush=True)
        broken = watch.fails(one)
        if broken:
            usual_s = 0 if arguments.replay else SHRINK_S
            report(watch, broken, one, arguments.out.resolve(), usual_s if arguments.shrink is None else arguments.shrink)
            print(f"world: {watch.told()}")
            return 1
        if time.monotonic() >= ends:
            break
    print(f"world: {watch.told()}; nothing broke")
    return 0


if __name__ == "__main__":
    sys.exit(main())
