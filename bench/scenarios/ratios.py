"""What `bench/run --quick` judges: uploads of shards, each shape by one figure that neighbours can make worse but hardly better."""

from contextlib import contextmanager

from harness.bench import Slower
from harness.measure import in_turns
from harness.table import kept
from scenarios.shards import SHAPES, Prepared

# Of the figure in the table, and of rounds until one comes up to that: a build that is slower never does.
LEAST, ROUNDS, TRIES, SECONDS = 0.9, 4, 4, 0.3
ALL_S = 60  # shards are sent once, all of them: what one costs depends on how many were before
# Shapes of shards, and how many. What the bare daemon takes for longer bodies moves twofold on a machine with neighbours.
N_SHARDS = {"small: 1 xorb of 20 chunks, 1 file": 1200, "1 xorb of 1,000 chunks, 10 files": 400}
COLUMN = "CPU of bare, of ours"


def _load(bench, server, targets, connections):
    return bench.load(server, targets, connections, SECONDS, warm_ms=20)


def _shards(numbers, n):
    @contextmanager
    def sides(bench):
        of = Prepared(bench, numbers, n if bench.measures else 10, ALL_S)
        with bench.bare(200, 12) as bare:
            yield {"cairnd": lambda: of.load(32), "bare": lambda: _load(bench, bare, of.targets, 32)}

    return sides


PATHS = {f"shards: {name}": _shards(SHAPES[name][0], n) for name, n in N_SHARDS.items()}


def _least_us(runs):
    return min(run.cpu_us for run in runs)


def _ratio(bench, sides, wanted):
    """Of the least processor times of all rounds; with something to come up to, no more rounds than that takes."""
    runs = {name: [] for name in sides}
    for _ in range(TRIES if bench.measures else 1):
        for name, more in in_turns(bench, ROUNDS if bench.measures else 1, sides).items():
            runs[name] += more
        ratio = _least_us(runs["bare"]) / _least_us(runs["cairnd"])
        if wanted and ratio >= wanted:
            break
    return ratio, runs


def ratios(bench):
    """A figure for each path, to be compared with later; with --quick it is, and a tenth less is a failure."""
    before, slower = kept("ratios", COLUMN) if bench.judges else {}, []
    for name, path in PATHS.items():
        wanted = LEAST * before.get(name, 0)
        with path(bench) as sides:
            ratio, runs = _ratio(bench, sides, wanted)
        row = {"path": name, "CPU µs a request": f"{_least_us(runs['cairnd']):.1f}", COLUMN: f"{ratio:.3g}"}
        if before:
            row["table"] = f"{before[name]:.3g}"
        if ratio < wanted:
            slower.append(f"{name}: {ratio:.3g} of {before[name]:.3g}")
        yield row
    if slower:
        raise Slower(f"more than a tenth below bench/RESULTS.md: {'; '.join(slower)}")
