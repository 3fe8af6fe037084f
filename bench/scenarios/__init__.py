"""The scenarios of `bench/run`: name, function, charts.

A scenario takes a harness.bench.Bench and yields rows: dictionaries from a column's head to its value (text, number, Spread,
Goal). RESULTS.md has a place for the table of each: two comments, `<!-- NAME: written by bench/run -->` and `<!-- end -->`.
"""

from dataclasses import dataclass, field
from typing import Callable

from scenarios import fetch, memory, plan, query, shards, verify, xorbs


@dataclass
class Scenario:
    run: Callable
    charts: dict = field(default_factory=dict)


SCENARIOS = {
    "verify": Scenario(verify.verify),
    "query": Scenario(query.query),
    "shards": Scenario(shards.shards),
    "commit": Scenario(shards.commit),
    "xorbs": Scenario(xorbs.xorbs),
    "fetch": Scenario(fetch.fetch),
    "download": Scenario(fetch.download),
    "plan": Scenario(plan.plan),
    "memory": Scenario(memory.memory),
}
