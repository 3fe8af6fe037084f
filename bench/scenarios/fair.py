"""The delay of everybody else's small requests by one client's heavy work."""

import contextlib
import json
import subprocess
import threading
import urllib.error
import urllib.request

from harness.measure import Goal, Spread, in_turns, median

GOAL_MS = 50
N_EDITS, N_SHARDS = 12, 8  # requests of the attacker at once


def _token(bench, key, who, repo):
    command = [bench.build / "cli/cairn", "token", "--key", key, "--scope", "write", "--sub", who, "--repo", repo]
    return subprocess.check_output(command, text=True).strip()


def _upload(bench, server, made, token):
    """Uploads what bench_make made, with this token."""
    for name in ("xorbs", "shards"):
        lines = [line.split("\t") for line in (made / f"{name}.tsv").read_text().splitlines()]
        targets = bench.targets(name, [(line[0], line[1], f"Authorization: Bearer {token}", *line[3:]) for line in lines])
        bench.load(server, targets, 4)


@contextlib.contextmanager
def _attack(requests):
    """Sends each request again and again, on a thread of its own, while the block runs. Yields the list of statuses of the answers."""
    ending, under_way, statuses = threading.Event(), threading.Barrier(len(requests) + 1), []

    def one(request):
        under_way.wait()
        while not ending.is_set():
            try:
                with urllib.request.urlopen(request(), timeout=240) as reply:
                    reply.read()
                    statuses.append(reply.status)
            except urllib.error.HTTPError as refusal:  # 429 and 503 are answers, too
                statuses.append(refusal.code)

    threads = [threading.Thread(target=one, args=(request,)) for request in requests]
    for thread in threads:
        thread.start()
    under_way.wait()
    try:
        yield statuses
    finally:
        ending.set()
        for thread in threads:
            thread.join()


def _edits(server, token, file):
    """Requests for the chunks around an edit. For each the server reads the lists of a file of 262,144 chunks."""
    headers = {"Authorization": f"Bearer {token}", "X-Range-Dirty": "bytes=0-1"}
    return [lambda: urllib.request.Request(f"{server.url}/v2/file-chunk-hashes/{file}", headers=headers)] * N_EDITS


def _shards(server, tokens, shards):
    """Uploads of the shard of a file of 8,000 terms, each in another xorb than the one before, with one owner after the other."""
    bodies = [shard.read_bytes() for shard in shards]

    def one(i):
        turns = iter(range(i, 1 << 30, N_SHARDS))

        def request():
            at = next(turns)
            headers = {"Authorization": f"Bearer {tokens[at % len(tokens)]}"}
            body = bodies[at // len(tokens) % len(bodies)]
            return urllib.request.Request(f"{server.url}/v1/shards", body, headers, method="POST")

        return request

    return [one(i) for i in range(N_SHARDS)]


def _plans(bench, server, targets):
    """Requests plans on one connection, again and again. Bench.load() would first wait until the server rests."""
    for seconds in bench.pick((bench.seconds,), (bench.seconds, 10, 60)):  # a quick run measures nothing, so it may take longer on a busy machine
        argv = [bench.program("bench_load"), "-c", "1", "-e", "200", "-s", str(seconds), "127.0.0.1", str(server.port), targets]
        run = json.loads(subprocess.check_output(argv, text=True))
        if run["requests"]:
            break
    if run["wrong"] or run["broken"] or not run["requests"]:
        raise RuntimeError(f"not all replies were right: {run}")
    return run


def fair(bench):
    """One client requests plans beside the heavy work of another, which uses all connections and threads that it can get."""
    key = bench.folder("keys") / "key"
    subprocess.run([bench.build / "cli/cairn", "token", "--new-key", key], check=True, stdout=subprocess.DEVNULL)
    mallory = [_token(bench, key, "mallory", f"mallory/r{i}") for i in range(bench.pick(64, 2))]
    ann = _token(bench, key, "ann", "ann/one")
    edited = bench.make("edited", 1, bench.pick(32, 2), 8192, 1, bench.pick(32, 2), store=True)
    hopping = bench.make("hopping", bench.pick(4, 1), 16, 1024, 1, bench.pick(8000, 100), store=True)
    light = bench.make("light", 1, 1, 20, 1, 1, store=True)
    with bench.cairnd(bench.folder("data"), "--token-key", str(key)) as server:
        for made, token in ((edited, mallory[0]), (hopping, mallory[0]), (light, ann)):
            _upload(bench, server, made, token)
        file, heavy = ((made / "files").read_text().split()[0] for made in (light, edited))
        plans = bench.targets("plans", [("GET", f"/v2/reconstructions/{file}", f"Authorization: Bearer {ann}", None, 200)])
        attacks = {
            "nothing": [],
            f"{N_EDITS} plans of edits at once, 262,144 chunks each": _edits(server, mallory[0], heavy),
            f"{N_SHARDS} shards at once, 8,000 terms over 16 xorbs each": _shards(server, mallory, sorted(hopping.glob("s[0-9]*"))),
        }

        def beside(requests):
            with _attack(requests) as statuses:
                return {**_plans(bench, server, plans), "attacker": statuses.count(200), "refused": len(statuses) - statuses.count(200)}

        runs = in_turns(bench, bench.rounds(5), {name: lambda r=requests: beside(r) for name, requests in attacks.items()})
    for name in attacks:
        p99 = Spread(run["p99_us"] / 1000 for run in runs[name])
        yield {
            "beside": name,
            "plans of one chunk/s": f"{median(run['requests'] / run['seconds'] for run in runs[name]):,.0f}",
            "p50 ms": Spread(run["p50_us"] / 1000 for run in runs[name]),
            "p99 ms": p99,
            "answers to the other/s": f"{median(run['attacker'] / run['seconds'] for run in runs[name]):.1f}",
            "refused": sum(run["refused"] for run in runs[name]),
            "goal": Goal(p99, GOAL_MS, "ms at p99", most=True),
        }
