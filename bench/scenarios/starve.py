"""The delay of one account's commits, pages, reads and sign-in by another account's largest commits and copies."""

import contextlib
import http.client
import json
import os
import subprocess
import threading
import time

from harness.measure import Goal, busy_s, cpu_s

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
def _under(bench, server, targets, connections, seconds, once):
    """Runs the attack with bench_load. Yields a function that waits for its end. It returns how many answers were as expected and how many were not, and
    the status of the last of the latter."""
    if not targets:
        yield lambda: {"requests": 0, "wrong": 0, "wrong_status": 0}
        return
    path = bench.targets("attack", targets)
    repeat = ["-o"] if once else []  # some requests succeed only once
    argv = [bench.program("bench_load"), "-c", str(connections), "-s", str(seconds), *repeat, "127.0.0.1", str(server.port), path]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(min(1, seconds / 4))  # until the attack is at full speed
        yield lambda: json.loads(child.communicate()[0])
    finally:
        child.kill()
        child.wait()


class Attack:
    """Mallory's requests, and the repositories that they need."""

    def __init__(self, bench, mallory):
        self.bench, self.mallory, self.n = bench, mallory, bench.pick(N_OPERATIONS, 50)
        self.bodies, self.key = bench.folder("bodies"), f"Authorization: Bearer {mallory.key}"
        drops = [{"key": "deletedFolder", "value": {"path": str(i)}} for i in range((self.n + N_FOLDER - 1) // N_FOLDER)]
        commits = {
            "refused": [*_files(self.n - 1, "x"), MISSING],
            "a": _files(self.n, "a"),
            "b": _files(self.n, "b"),
            "source": _files(self.n - 1, "a"),
            "drop": drops,
            "one": [_file("one.txt", "1")],
            "other": [_file("one.txt", "2")],
        }
        for name, operations in commits.items():
            self._body(name, _commit(operations))
        self.source = self.full("source")

    def _body(self, name, content):
        (self.bodies / name).write_bytes(content)
        return self.bodies / name

    def send(self, path, body, status=200, method="POST"):
        return (method, path, self.key, self.bodies / body, status)

    def full(self, name):
        """Makes a repository with as many files as it may have."""
        repo = self.mallory.make(name)  # it has a .gitattributes, too
        self._ask(f"/api/models/{repo}/commit/main", "source")
        return repo

    def _ask(self, path, body):
        status, answer = self.mallory.send("POST", path, (self.bodies / body).read_bytes())
        if status != 200:
            raise RuntimeError(f"{path}: {status} {answer[:300]}")
        return json.loads(answer)

    def commits(self, bodies, status=200):
        repos = [self.mallory.make(f"{bodies}{i}") for i in range(N_CONNECTIONS)]
        return [self.send(f"/api/models/{repo}/commit/main", body, status) for body in bodies.split("-") for repo in repos]

    def copies(self):
        n = self.bench.pick(400, 20)
        for i in range(n):
            self._body(f"copy{i}", json.dumps({"repository": f"mallory/copy{i}"}).encode())
        return [self.send(f"/api/models/{self.source}/duplicate", f"copy{i}") for i in range(n)]

    def squashes(self):
        """Each squash comes after a small commit, so that there is something to squash."""
        self._body("squash", json.dumps({"message": "squashed"}).encode())
        sends = []
        for repo in [self.full(f"squashed{i}") for i in range(N_COPIES)]:
            for body in ("one", "other"):
                sends += [self.send(f"/api/models/{repo}/commit/main", body), self.send(f"/api/models/{repo}/super-squash/main", "squash")]
        return sends

    def merges(self):
        self._body("merge", b"{}")
        sends = []
        for i in range(N_COPIES):
            repo = self.mallory.make(f"merged{i}")
            self._ask(f"/api/models/{repo}/commit/main?create_pr=1", "a")
            sends.append(self.send(f"/api/models/{repo}/discussions/1/merge", "merge"))
        return sends

    def deletions(self):
        """Each commit of a deletion is on a branch of its own, because it succeeds only once."""
        sends = []
        for i in range(self.bench.pick(200, 20)):
            self.mallory.ask("POST", f"/api/models/{self.source}/branch/b{i}", {})
            sends.append(self.send(f"/api/models/{self.source}/commit/b{i}", "drop"))
        return sends

    def pulls(self):
        return [self.send(f"/api/models/{self.source}/commit/main?create_pr=1", body) for body in ("b", "drop")]


def _attacks(attack):
    """@return the attacks by name: connections, and the function that makes the targets of bench_load"""
    n = f"{attack.n:,}"
    return {
        "nothing": (0, list),
        f"{N_CONNECTIONS} commits at once, the last of {n} operations fails": (N_CONNECTIONS, lambda: attack.commits("refused", 404)),
        f"{N_CONNECTIONS} commits at once of {n} operations": (N_CONNECTIONS, lambda: attack.commits("a-b")),
        f"{N_COPIES} copies at once of a repository of {n} files": (N_COPIES, attack.copies),
        f"{N_COPIES} squashes at once of {n} files": (N_COPIES, attack.squashes),
        f"{N_COPIES} merges at once of {n} files": (N_COPIES, attack.merges),
        f"{N_COPIES} commits at once that delete folders of {n} files": (N_COPIES, attack.deletions),
        f"{N_COPIES} pull requests at once, opened with {n} files": (N_COPIES, attack.pulls),
    }


def _at(took, share):
    return took[min(len(took) - 1, int(len(took) * share))]


def starve(bench):
    """Commits, pages, reads and sign-in of one account beside the largest commits and copies of another."""
    seconds, key, cairn = bench.pick(6, 2), bench.folder("keys") / "key", bench.build / "cli/cairn"
    subprocess.run([cairn, "token", "--new-key", key], check=True, stdout=subprocess.DEVNULL)
    operator = subprocess.check_output([cairn, "token", "--key", key, "--scope", "admin", "--sub", "bench"], text=True).strip()
    postgres = os.environ.get("CAIRN_TEST_POSTGRES")  # else SQLite
    index = ["--index", f"{postgres}?schema=starve{os.getpid()}"] if postgres else []
    with bench.cairnd(bench.folder("data"), "--token-key", str(key), *index) as server:
        mallory, victim = Person(server, operator, "mallory"), Victim(Person(server, operator, "ann"))
        attack = Attack(bench, mallory)
        for name, (connections, make) in _attacks(attack).items():
            targets = make()
            bench.quiet.wait()
            once = make in (attack.copies, attack.merges, attack.deletions)
            with _under(bench, server, targets, connections, seconds + 2, once) as end:
                began, used, busy = time.monotonic(), cpu_s(server.pid), busy_s()
                took = victim.measure(seconds)
                wall = time.monotonic() - began
                used, busy = (cpu_s(server.pid) - used) / wall, (busy_s() - busy) / wall
                answers = end()
            row = {"beside": name}
            for kind in victim.kinds:
                row[f"{kind}, p50 / p99 ms"] = f"{_at(took[kind], 0.5):.1f} / {_at(took[kind], 0.99):.0f}"
            reads = max(_at(took[kind], 0.99) for kind in ("page", "resolve"))
            yield row | {
                "answers to the other": answers["requests"] - answers["wrong"],
                "daemon's cores": f"{used:.2f}",
                "all cores": f"{busy:.2f}",
                "others": f"{answers['wrong']} ({answers['wrong_status']})" if answers["wrong"] else "0",
                "commits": Goal(_at(took["commit"], 0.99), COMMIT_MS, "ms at p99", most=True),
                "pages and reads": Goal(reads, READ_MS, "ms at p99", most=True),
            }
