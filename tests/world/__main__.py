"""./dev world [--seed N] [--minutes M] [--pair P] [--tenants K] [--replay FILE] [--out FOLDER]"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from . import parts, plan, shrink
from .life import live
from .stage import parts_there

SHRINK_S = 120
FAST = "/dev/shm"  # in memory syncs take no time; that they suffice is judged by their records (power.py)
TRIES = 5  # runs of a failed seed, to tell how often it fails


class Watch:
    """Runs lives, and counts what was done in them."""

    def __init__(self, tenants):
        self.tenants, self.counts, self.lives = tenants, {}, 0

    def fails(self, one):
        """Runs one life by this plan. @return the rule that it breaks, or None"""
        folder = Path(tempfile.mkdtemp(prefix="cairn-world-", dir=FAST if os.access(FAST, os.W_OK) else None))
        self.lives += 1
        try:
            self.add(live(one, folder, self.tenants))
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
    script.write_text(f'#!/bin/sh\n# {broken.rule}\ncd "$(dirname "$0")" && exec "{Path(__file__).resolve().parents[2]}/dev" world --replay "$PWD/{one.seed}.json"\n')
    script.chmod(0o755)
    times = sum(again(short) for _ in range(TRIES)) if shrink_s else "?"
    print(f"world: shortened from {one.steps()} steps to {short.steps()}, which fail in {times} of {TRIES} tries; again: {script}")


def choose_plans(arguments):
    """Yields plans: the one of a file, or those of a seed and the following seeds, or those of random seeds."""
    if arguments.replay:
        yield plan.Plan.from_json(Path(arguments.replay).read_text())
        return
    has = parts_there()
    operations, faults = parts.weights(parts.OPERATIONS, has), parts.weights(parts.FAULTS, has)
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().getrandbits(32)
    while True:
        yield plan.make(seed, operations, faults, parts.themes(operations))
        seed += 1


def main():
    parser = argparse.ArgumentParser(prog="./dev world", description="A world of seeds: tests/world/README.md")
    parser.add_argument("--seed", type=int, help="of the first life; the next has the next one. Not given: any")
    parser.add_argument("--minutes", type=float, default=1, help="begin no further life after so many")
    parser.add_argument("--tenants", type=int, default=3, choices=range(2, 9))
    parser.add_argument("--replay", metavar="FILE", help="live the plan of this file, once")
    parser.add_argument("--out", type=Path, default=Path("build/world"), help="folder for the scripts that replay failures")
    parser.add_argument("--shrink", type=float, metavar="SECONDS", help=f"for shortening a failure at most; 0: not at all, as with --replay; else {SHRINK_S}")
    arguments = parser.parse_args()
    parts.load()
    watch, ends = Watch(arguments.tenants), time.monotonic() + 60 * arguments.minutes
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
