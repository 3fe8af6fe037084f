"""Plans: of small files under load, and of a file of many terms alone."""

import json
import subprocess

from harness.measure import Goal, in_turns
from harness.table import load_row

N_TERMS = 10000
GOAL_MS = {20: 1, 160: 1.5, 500: 1.5}  # milliseconds of processor time for the plan and its JSON, by the number of xorbs


def _targets(bench, version, files):
    return bench.targets("plans", [("GET", f"/{version}/reconstructions/{file}", None, None, 200) for file in files])


def _small(bench):
    """Plans of files of one term, requested on many connections."""
    made = bench.make("uploads", bench.pick(200, 10), 1, 20, 10, 1, store=True)
    files = (made / "files").read_text().split()
    with bench.cairnd(bench.folder("data")) as server:
        bench.load(server, made / "xorbs.tsv", 8)
        bench.load(server, made / "shards.tsv", 8)
        reply = server.get(f"/v2/reconstructions/{files[0]}")
        if len(json.loads(reply)["terms"]) != 1:
            raise RuntimeError("a plan of a file of one term has another number of them")
        targets = _targets(bench, "v2", files)
        with bench.bare(200, len(reply)) as bare:
            for connections in bench.pick((16, 128), (16,)):
                sides = {
                    "cairnd": lambda: bench.load(server, targets, connections, bench.seconds),
                    "bare": lambda: bench.load(bare, targets, connections, bench.seconds),
                }
                runs = in_turns(bench, bench.rounds(5), sides)
                yield load_row({"plan": f"v2, 1 term, {len(reply):,} bytes", "connections": connections}, runs)


def _large(bench, xorbs):
    made = bench.make("uploads", 1, xorbs, 1000, 1, N_TERMS, store=True)
    data, runs = bench.folder("data"), {}
    file = (made / "files").read_text().strip()
    with bench.cairnd(data, syncs=bench.syncs(-1)) as server:
        bench.load(server, made / "xorbs.tsv", 8)
        bench.load(server, made / "shards.tsv", 1)
    with bench.cairnd(data) as server:
        for version in ("v2", "v1"):
            targets = _targets(bench, version, [file])
            reply = server.get(f"/{version}/reconstructions/{file}")
            if len(json.loads(reply)["terms"]) != N_TERMS:
                raise RuntimeError(f"a plan does not have its {N_TERMS} terms")
            with bench.bare(200, len(reply)) as bare:
                sides = {
                    "cairnd": lambda: bench.load(server, targets, 1, bench.seconds),
                    "bare": lambda: bench.load(bare, targets, 1, bench.seconds),
                }
                head = {"plan": f"{version}, {N_TERMS:,} terms over {xorbs} xorbs, {len(reply):,} bytes", "connections": 1}
                runs[version] = load_row(head, in_turns(bench, bench.rounds(3), sides))
    bench.quiet.wait()
    alone = subprocess.check_output([bench.program("bench_plan"), data, file, bench.pick("100", "2")], text=True)
    for line in alone.splitlines():
        version, ms, plan_ms = line.split()
        goal = Goal(float(ms), GOAL_MS[xorbs], "ms for plan and JSON", most=True)
        yield {**runs[version], "plan alone, CPU ms": plan_ms, "plan and JSON, CPU ms": ms, "goal": goal}


def plan(bench):
    """Plans of files, against libmicrohttpd alone that answers as many bytes. Plans of 10,000 terms are also measured in one process without HTTP."""
    yield from _small(bench)
    for xorbs in bench.pick((20, 160, 500), (20,)):
        yield from _large(bench, xorbs)
