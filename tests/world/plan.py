"""What happens in one life of a store, made from a seed: rounds of operations that run at once, with at most one fault in each.

A step is (name, number). The number seeds all choices of the operation itself, so a step does the same when other steps are left out."""

import json
import random
from dataclasses import dataclass

ROUNDS_MIN, ROUNDS_MAX = 8, 24
AT_ONCE_MAX = 4
FAULT_PER_CENT = 40
N_THEMES, THEME_FACTOR = 2, 6
BEGIN = (("upload",) * 4, ("upload_of_another_s", "commit", "upload_of_another_s", "upload"))  # a life begins with something to lose


@dataclass
class Round:
    operations: list  # of steps
    fault: tuple | None = None


@dataclass
class Plan:
    seed: int
    rounds: list

    def steps(self):
        """Returns the number of operations and faults."""
        return sum(len(r.operations) + (r.fault is not None) for r in self.rounds)

    def to_json(self):
        return json.dumps({"seed": self.seed, "rounds": [{"operations": r.operations, "fault": r.fault} for r in self.rounds]}, indent=1)

    @staticmethod
    def from_json(text):
        told = json.loads(text)
        rounds = [Round([tuple(step) for step in r["operations"]], tuple(r["fault"]) if r["fault"] else None) for r in told["rounds"]]
        return Plan(told["seed"], rounds)


def choose(source, weighted):
    """Chooses one name of {name: weight}."""
    return source.choices(list(weighted), list(weighted.values()))[0]


def make(seed, operations, faults, themes):
    """Makes the plan of a seed. operations, faults: {name: weight}. themes: lists of related operations. Each life prefers some operations and some
    themes, so that rare ones meet often in some lives."""
    source = random.Random(seed)
    step = lambda weighted: (choose(source, weighted), source.getrandbits(48))
    liked = {name: weight * source.choice((0.2, 1, 1, 4)) for name, weight in operations.items()}
    for theme in source.sample(themes, N_THEMES):
        liked |= {name: THEME_FACTOR * liked[name] for name in theme}
    hated = {name: weight * source.choice((1, 1, 4)) for name, weight in faults.items()}
    rounds = [Round([(name, source.getrandbits(48)) for name in names]) for names in BEGIN]
    for _ in range(source.randint(ROUNDS_MIN, ROUNDS_MAX)):
        fault = step(hated) if hated and source.randrange(100) < FAULT_PER_CENT else None
        rounds.append(Round([step(liked) for _ in range(source.randint(1, AT_ONCE_MAX))], fault))
    return Plan(seed, rounds)
