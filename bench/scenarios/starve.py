"""How one account's largest commits and copies delay another account's commits, pages, reads and sign-in."""

import contextlib
import http.client
import json
import subprocess
import threading
import time

from harness.measure import Goal

COMMIT_MS, READ_MS = 250, 50
N_CONNECTIONS, N_COPIES = 16, 8  # requests of the attacker at once
N_OPERATIONS, N_FOLDER = 50_000, 1000
PATIENCE_S = 240


class Person:
    """An account on the hub, with a key that may write. Each thread has a connection of its own."""

    def __init__(self, server, operator, name):
        self.server, self.name, self.own = server, name, threading.local()
        self.key = operator
        self.ask("POST", "/v1/accounts", {"kind": "user", "name": name})
        self.key = self.ask("POST", "/v1/keys", {"name": "bench", "account": name, "scope": "write"})["key"]

    def send(self, method, path, body=None, **headers):
        """Sends a request. @return the status and the body of the answer"""
        if not hasattr(self.own, "connection"):
            self.own.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE_S)
        self.own.connection.request(method, path, body, {"Authorization": f"Bearer {self.key}", **headers})
        reply = self.own.connection.getresponse()
        return reply.status, reply.read()

    def ask(self, method, path, body):
        status, answer = self.send(method, path, json.dumps(body))
        if status != 200:
            raise RuntimeError(f"{method} {path}: {status} {answer[:300]}")
        return json.loads(answer)

    def make(self, name):
        self.ask("POST", "/api/repos/create", {"name": name, "organization": self.name})
        return f"{self.name}/{name}"


def _commit(operations):
    lines = [{"key": "header", "value": {"summary": "a commit"}}, *operations]
    return "\n".join(json.dumps(line) for line in lines).encode()


def _file(path, content):
    return {"key": "file", "value": {"path": path, "content": content, "encoding": "utf-8"}}


def _files(n, content):
    """Operations of a commit that put a short text into each of n files."""
    return [_file(f"{i // N_FOLDER}/{i}.txt", content) for i in range(n)]


MISSING = {"key": "deletedFile", "value": {"path": "missing"}}


class Victim:
    """Sends small requests of one account, each kind on its own thread, and measures how long they take."""

    def __init__(self, person):
        self.person, self.took = person, {}
        self.repo = person.make("small")
        self._send_commit("")
        form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": person.server.url}
        self.kinds = {
            "commit": self._send_commit,
            "page": lambda i: person.send("GET", f"/{self.repo}", Accept="text/html"),
            "resolve": lambda i: person.send("GET", f"/{self.repo}/resolve/main/a.txt"),
            "sign-in": lambda i: person.send("POST", "/login", f"key={person.key}&next=%2F", **form),
        }

    def _send_commit(self, content):
        return self.person.send("POST", f"/api/models/{self.repo}/commit/main", _commit([_file("a.txt", content)]))

    def _repeat(self, kind, until):
        took = self.took.setdefault(kind, [])
        while time.monotonic() < until:
            began = time.monotonic()
            status, answer = self.kinds[kind](f"{began}")
            if status not in (200, 303):
                raise RuntimeError(f"{kind}: {status} {answer[:300]}")
            took.append((time.monotonic() - began) * 1000)

    def measure(self, seconds):
        """@return {kind: milliseconds of each request, sorted}"""
        self.took, until = {}, time.monotonic() + seconds
        threads = [threading.Thread(target=self._repeat, args=(kind, until)) for kind in self.kinds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {kind: sorted(took) for kind, took in self.took.items()}


@contextlib.contextmanager
def _under(bench, server, targets, connections, seconds):
    """Runs the attack with bench_load. Yields a function that waits for its end, and returns how many answers were as expected and how many were not, with
    the status of the last of these."""
    if not targets:
        yield lambda: {"requests": 0, "wrong": 0, "wrong_status": 0}
        return
    path = bench.targets("attack", targets)
    argv = [bench.program("bench_load"), "-c", str(connections), "-s", str(seconds), "127.0.0.1", str(server.port), path]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(min(1, seconds / 4))  # until the attack is at full speed
        yield lambda: json.loads(child.communicate()[0])
    finally:
        child.kill()
        child.wait()


def _attacks(bench, mallory, n_repos):
    """The attacks by name: {name: (connections, targets of bench_load)}"""
    n = bench.pick(N_OPERATIONS, 50)
    bodies, key = bench.folder("bodies"), f"Authorization: Bearer {mallory.key}"
    commits = {"refused": [*_files(n - 1, "x"), MISSING], "a": _files(n, "a"), "b": _files(n, "b"), "source": _files(n - 1, "a")}
    for name, operations in commits.items():
        (bodies / name).write_bytes(_commit(operations))
    places = [f"/api/models/{mallory.make(f'r{i}')}/commit/main" for i in range(n_repos)]
    source = mallory.make("source")
    mallory.send("POST", f"/api/models/{source}/commit/main", (bodies / "source").read_bytes())  # the repository has a .gitattributes, too
    copies = bench.pick(400, 20)
    for i in range(copies):
        (bodies / f"copy{i}").write_text(json.dumps({"repository": f"mallory/copy{i}"}))
    refused = [("POST", place, key, bodies / "refused", 404) for place in places]
    valid = [("POST", place, key, bodies / body, 200) for body in "ab" for place in places]
    copied = [("POST", f"/api/models/{source}/duplicate", key, bodies / f"copy{i}", 200) for i in range(copies)]
    return {
        "nothing": (0, []),
        f"{N_CONNECTIONS} commits at once, the last of {n:,} operations fails": (N_CONNECTIONS, refused),
        f"{N_CONNECTIONS} commits at once of {n:,} operations": (N_CONNECTIONS, valid),
        f"{N_COPIES} copies at once of a repository of {n:,} files": (N_COPIES, copied),
    }


def _at(took, share):
    return took[min(len(took) - 1, int(len(took) * share))]


def starve(bench):
    """Commits, pages, reads and sign-in of one account beside the largest commits and copies of another."""
    seconds, key, cairn = bench.pick(6, 2), bench.folder("keys") / "key", bench.build / "cli/cairn"
    subprocess.run([cairn, "token", "--new-key", key], check=True, stdout=subprocess.DEVNULL)
    operator = subprocess.check_output([cairn, "token", "--key", key, "--scope", "admin", "--sub", "bench"], text=True).strip()
    with bench.cairnd(bench.folder("data"), "--token-key", str(key)) as server:
        mallory, victim = Person(server, operator, "mallory"), Victim(Person(server, operator, "ann"))
        for name, (connections, targets) in _attacks(bench, mallory, N_CONNECTIONS).items():
            bench.quiet.wait()
            with _under(bench, server, targets, connections, seconds + 2) as end:
                took = victim.measure(seconds)
                answers = end()
            row = {"beside": name}
            for kind in victim.kinds:
                row[f"{kind}, p50 / p99 ms"] = f"{_at(took[kind], 0.5):.1f} / {_at(took[kind], 0.99):.0f}"
            reads = max(_at(took[kind], 0.99) for kind in ("page", "resolve"))
            yield row | {
                "answers to the other": answers["requests"] - answers["wrong"],
                "others": f"{answers['wrong']} ({answers['wrong_status']})" if answers["wrong"] else "0",
                "commits": Goal(_at(took["commit"], 0.99), COMMIT_MS, "ms at p99", most=True),
                "pages and reads": Goal(reads, READ_MS, "ms at p99", most=True),
            }
