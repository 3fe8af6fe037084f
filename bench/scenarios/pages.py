"""Pages of a full store: the home page with many repositories, a file with its chunk map, and the disk's usage."""

import base64
import hashlib
import hmac
import json
import re
import time
import urllib.request

from harness.measure import Goal, median
from harness.table import Goals

PAGE_BYTES_MAX = 60_000
SECRET = bytes(range(32))
BUCKET = "operator/large"


def _base64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _token(**claims):
    body = {"scope": "admin", "exp": int(time.time()) + 3600, "sub": "bench", **claims}
    signed = b".".join(_base64(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, body))
    return (signed + b"." + _base64(hmac.digest(SECRET, signed, hashlib.sha256))).decode()


def _as(token):
    return f"Authorization: Bearer {token}"


def _post(server, path, body, token):
    request = urllib.request.Request(server.url + path, body, {"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def _fill_repositories(bench, server, key, n):
    bodies = bench.folder("bodies")
    for i in range(n):
        (bodies / str(i)).write_text(json.dumps({"name": f"model-{i:05}", "private": i % 10 == 0}))
    lines = [("POST", "/api/repos/create", _as(key), bodies / str(i), 200) for i in range(n)]
    bench.load(server, bench.targets("repositories", lines), 32)


def _as_whom(path, token):
    """Returns the targets that bench_make wrote, with this token in each."""
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    return [(method, target, _as(token), body, 200) for method, target, _, body in lines]


def _fill_owners(bench, server, n):
    """Uploads n shards of a thousand terms. Each has two owners, so that each owner shares with two others."""
    made = bench.make("shared", n, 4, 100, 100, 10, store=True)
    bench.load(server, bench.targets("xorbs", _as_whom(made / "xorbs.tsv", _token())), 8)
    shards = _as_whom(made / "shards.tsv", "")
    lines = [(*shards[i][:2], _as(_token(repo=f"people/p{owner % n:05}")), *shards[i][3:]) for i in range(n) for owner in (i, i + 1)]
    bench.load(server, bench.targets("shards", lines), 8)
    return n * 1000


def _fill_bucket(bench, server, key, n_terms, n_others):
    """Adds a file of many terms, and other files over the same xorbs."""
    _post(server, "/api/buckets/" + BUCKET, b"{}", key)
    token = json.loads(server.get(f"/api/buckets/{BUCKET}/xet-write-token", {"Authorization": f"Bearer {key}"}))["accessToken"]
    files = []
    for name, shape in (("large", (1, n_terms)), ("others", (n_others, 10))):
        made = bench.make(name, 1, bench.pick(160, 4), 1000, *shape, store=True)
        for targets in ("xorbs", "shards"):
            bench.load(server, bench.targets(targets, _as_whom(made / f"{targets}.tsv", token)), 1)
        files += [(f"{name}-{i}", line) for i, line in enumerate((made / "files").read_text().split())]
    for i in range(0, len(files), 1000):
        lines = [json.dumps({"type": "addFile", "path": path, "xetHash": xet}) for path, xet in files[i : i + 1000]]
        _post(server, f"/api/buckets/{BUCKET}/batch", "\n".join(lines).encode(), key)


def _page(bench, server, key, what, path, most_ms, must):
    """Measures one page. @param must  a pattern that the page must contain"""
    html = server.get(path, {"Authorization": f"Bearer {key}", "Accept": "text/html"}).decode()
    if not re.search(must, html):
        raise RuntimeError(f"the page of {what} is another one")
    parts = {path for path in re.findall(r'(?:href|src)="(/assets/[^"]*)"', html)}
    n_bytes = len(html.encode()) + sum(len(server.get(part)) for part in parts)
    targets = bench.targets("page", [("GET", path, _as(key), None, 200)])
    runs = []
    for _ in range(bench.rounds(3)):
        bench.quiet.wait()
        runs.append(bench.load(server, targets, 1, bench.seconds))
    p50, p99 = (median(getattr(r, name) for r in runs) / 1000 for name in ("p50_us", "p99_us"))
    return {
        "page": what,
        "median / p99 ms": f"{p50:.3g} / {p99:.3g}",
        "CPU ms": f"{median(r.cpu_us for r in runs) / 1000:.3g}",
        "HTML, bytes": f"{len(html.encode()):,}",
        "with its assets": f"{n_bytes:,}",
        "cores used by others": f"{median(r.foreign for r in runs):.2f}",
        "goal": Goals((Goal(p50, most_ms, "ms", most=True), Goal(n_bytes, PAGE_BYTES_MAX, "bytes", most=True))),
    }


def pages(bench):
    """Pages of an operator, one after the other on one connection, and the figures behind the page of the disk's usage."""
    n_repositories, n_owners, n_terms, n_others = bench.pick((10_000, 1000, 10_000, 999), (120, 10, 100, 20))
    keys = bench.folder("keys")
    secret = keys / "hs256"
    secret.write_bytes(_base64(SECRET) + b"\n")
    secret.chmod(0o600)
    with bench.cairnd(bench.folder("data"), "--token-key", keys) as server:
        key = _post(server, "/v1/keys", b'{"name":"bench","scope":"admin"}', _token())["key"]
        _fill_repositories(bench, server, key, n_repositories)
        n_all = _fill_owners(bench, server, n_owners) + n_terms + 10 * n_others
        _fill_bucket(bench, server, key, n_terms, n_others)
        ms = []
        for _ in range(bench.rounds(3)):
            bench.quiet.wait()
            ms.append(json.loads(server.get("/v1/usage?fresh=true", {"Authorization": f"Bearer {_token()}"}))["took_ms"])
        home = f"home, {n_repositories:,} repositories"
        yield _page(bench, server, key, home, "/", 50, "model-")
        yield _page(bench, server, key, home + ", one found", "/?q=model-00017", 50, "model-00017")
        large = f"file of {n_terms:,} terms, compared with {n_others:,} others"
        yield _page(bench, server, key, large, f"/buckets/{BUCKET}/tree/large-0", 50, f"compared with {n_others:,} other")
        yield _page(bench, server, key, f"storage, {n_owners:,} owners", "/storage", 100, "treemap")
        yield {"page": f"figures of {n_all:,} terms", "median / p99 ms": f"{median(ms):,.0f} / {max(ms):,.0f}", "goal": Goal(median(ms), 5000, "ms", most=True)}
