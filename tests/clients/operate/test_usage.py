"""Figures of disk usage, compared with a simple computation over the index, chunk by chunk and owner by owner."""

import collections
import json
import random
import struct
import subprocess

import cairn
import pytest
import visitors
import xet
from hub_calls import make_key
from people import People


def plain(data):
    """Computes from the rows alone, chunk by chunk. @return {owner: (files, seen, only, shared, frees)}, {pair of owners: bytes}"""
    ask = lambda question: cairn.rows(data, question)
    names = {i: name for i, name in ask("SELECT id, name FROM scope") if not name.startswith("gone/")}
    owners, files = collections.defaultdict(set), {}
    for file, scope in ask("SELECT file, scope FROM file_owner"):
        if scope in names:
            owners[file].add(names[scope])
    holders = collections.defaultdict(set)  # (xorb, chunk): owners
    for file, size, terms in ask("SELECT id, size, terms FROM file"):
        files[file] = size
        for at in range(0, len(terms), 24):
            xorb, start, end = struct.unpack_from("<QHH", terms, at)
            for place in range(start, end):
                holders[xorb, place] |= owners[file]
    lengths, whole = {}, {}
    for xorb, stored, spans in ask("SELECT x.id, x.stored, l.spans FROM xorb x JOIN list l ON l.xorb = x.id"):
        ends = [0] + [struct.unpack_from("<II", spans, at)[1] for at in range(0, len(spans), 8)]
        lengths |= {(xorb, place): ends[place + 1] - ends[place] for place in range(len(ends) - 1)}
        whole[xorb] = stored
    sums, pairs, of_xorb = collections.defaultdict(lambda: [0] * 5), collections.Counter(), collections.defaultdict(set)
    for file, who in owners.items():
        for owner in who:
            sums[owner][0] += 1
            sums[owner][1] += files[file]
    for (xorb, place), who in holders.items():
        of_xorb[xorb] |= who
        for owner in who:
            sums[owner][2 if len(who) == 1 else 3] += lengths[xorb, place]
            for other in who:
                if owner < other:
                    pairs[owner, other] += lengths[xorb, place]
    for xorb, who in of_xorb.items():
        if len(who) == 1:
            sums[min(who)][4] += whole[xorb]
    return {name: tuple(values) for name, values in sums.items()}, dict(pairs)


def told(answer, owner_of):
    owners = {owner_of(o["name"]): (o["files"], o["seen_bytes"], o["only_bytes"], o["shared_bytes"], o["frees_bytes"]) for o in answer["owners"]}
    return owners, {tuple(sorted((owner_of(p["a"]), owner_of(p["b"])))): p["bytes"] for p in answer["pairs"]}


def test_against_a_plain_computation(start, issuer, admin):
    """Random files of random owners over few xorbs, so that their terms overlap in every way."""
    server, source = start(token_key=issuer.folder), random.Random(11)
    xorbs = [xet.Xorb([source.randbytes(source.randrange(200, 3000)) for _ in range(40)]) for _ in range(6)]
    for xorb in xorbs:
        assert server.put_xorb(xorb, token=issuer.token()).status == 200
    for owner in [None, *(f"people/p{i}" for i in range(7))]:
        token, files = issuer.token(**({"repo": owner} if owner else {})), []
        for _ in range(source.randrange(1, 12)):
            terms = []
            for _ in range(source.randrange(1, 5)):
                first = source.randrange(40)
                terms.append((source.choice(xorbs), first, source.randrange(first + 1, 41)))
            files.append(xet.File(terms))
        reply = server.post("/v1/shards", xet.shard(files, xorbs), token=token)
        assert reply.status == 200, reply
    answer = server.get("/v1/usage", token=admin).json()
    owners, pairs = told(answer, lambda name: name)
    assert (owners, pairs) == plain(server.data)
    assert sum(o[3] for o in owners.values()) > 0 and len(pairs) > 10
    assert answer["held_bytes"] <= sum(o[2] + o[3] for o in owners.values())
    held = [o["only_bytes"] + o["shared_bytes"] for o in answer["owners"]]
    assert held == sorted(held, reverse=True)


@pytest.mark.files
def test_a_deletion_frees_the_announced_bytes(start, issuer, admin, tmp_path, clock):
    """Figures name the buckets. Deleting one, and two collections, free exactly the bytes that were announced."""
    people = People(start(token_key=issuer.folder, test_clock=clock.path, epoch="60s", gc_grace="120s"), admin, tmp_path / "home")
    server, source = people.server, random.Random(5)
    common, alone = source.randbytes(50_000), source.randbytes(30_000)
    for bucket in ("ann/one", "ann/two"):
        people.make(bucket)
        people.put(bucket, "common", common)
    people.put("ann/two", "alone", alone)
    answer = server.get("/v1/usage?fresh=true", token=admin).json()
    of = {o["name"]: o for o in answer["owners"]}
    two = of["buckets/ann/two"]
    assert two["only_bytes"] == two["frees_bytes"] > 30_000 - 100 and two["shared_bytes"] == of["buckets/ann/one"]["shared_bytes"] > 0
    assert answer["pairs"] == [{"a": answer["owners"][0]["name"], "b": answer["owners"][1]["name"], "bytes": two["shared_bytes"]}]
    before = server.get("/v1/stats", token=admin).json()["stored_bytes"]
    assert people.ask("DELETE", "/api/buckets/ann/two").status == 204
    for seconds in (200, 400):
        clock.move(seconds)
        assert server.post("/v1/gc", token=admin).status == 200
    freed = before - server.get("/v1/stats", token=admin).json()["stored_bytes"]
    assert freed == two["frees_bytes"]
    server.settle_log()
    cairn.wait_until("figures after the collections", lambda: [o["name"] for o in server.get("/v1/usage", token=admin).json()["owners"]] == ["buckets/ann/one"])


def test_each_kind_has_a_name(start, issuer, admin, tmp_path):
    people = People(start(token_key=issuer.folder), admin, tmp_path / "home")
    xorb = xet.Xorb([b"x" * 3000])
    for kind in ("model", "dataset", "space", "kernel"):
        assert people.ask("POST", "/api/repos/create", "ann", {"name": "one", "type": kind, "sdk": "static"}).status == 200
        token = people.ask("GET", f"/api/{kind}s/ann/one/xet-write-token/main").json()["accessToken"]
        assert people.server.put_xorb(xorb, token=token).status == 200
        assert people.server.post("/v1/shards", xet.shard([xet.File([(xorb, 0, 1)])], [xorb]), token=token).status == 200
    names = {o["name"] for o in people.server.get("/v1/usage?fresh=true", token=admin).json()["owners"]}
    assert names == {f"{kind}s/ann/one" for kind in ("model", "dataset", "space", "kernel")}


def test_command(start, issuer, admin, tmp_path):
    people = People(start(token_key=issuer.folder), admin, tmp_path / "home")
    people.make("ann/one")
    people.put("ann/one", "f", b"x" * 5000)
    base = [cairn.CAIRN, "usage", "--server", people.server.url, "--token", admin]
    shown = subprocess.run(base, capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0 and "buckets/ann/one" in shown.stdout, shown
    people.put("ann/one", "g", b"y" * 5000)
    answers = [json.loads(subprocess.run([*base, "--json", *more], capture_output=True, check=True, timeout=60).stdout) for more in ([], ["--fresh"])]
    assert [a["owners"][0]["files"] for a in answers] == [1, 2], "the last figures, then fresh ones"
    assert subprocess.run([*base[:-1], issuer.token("write")], capture_output=True, timeout=60).returncode == 77


def test_page(start, issuer, admin, tmp_path):
    """The page is for the operator, with a key that may do everything. For others it does not exist."""
    people = People(start(token_key=issuer.folder), admin, tmp_path / "home")
    people.make("ann/one")
    people.put("ann/one", "f", b"x" * 5000)
    key = make_key(people.server, admin, scope="admin")["key"]
    operator = visitors.Visitor(people.server).sign_in(key)
    assert "being computed" in visitors.text(operator.page("/storage"))
    cairn.wait_until("the figures", lambda: "buckets/ann/one" in visitors.text(operator.page("/storage")))
    assert "/storage" in visitors.links(operator.page("/"))
    for who in ("ann", "operator"):  # these keys only write
        assert visitors.Visitor(people.server).sign_in(people.keys[who]).get("/storage").status == 404
    assert visitors.Visitor(people.server).get("/storage").status == 404


def test_charts(start, issuer, admin, tmp_path):
    """A chart shows each repository, within its account, by the bytes that only it has. A matrix has a field for each two that share bytes, darker for
    more."""
    people = People(start(token_key=issuer.folder), admin, tmp_path / "home")
    operator = visitors.Visitor(people.server).sign_in(make_key(people.server, admin, scope="admin")["key"])
    shared = random.Random(1).randbytes(90_000)
    sizes = {"one": 100_000, "two": 50_000, "three": 20_000, "four": 1_000}
    for name, size in sizes.items():
        people.make(f"ann/{name}")
        people.put(f"ann/{name}", "own", random.Random(name).randbytes(size))
        if name in ("one", "two"):
            people.put(f"ann/{name}", "shared", shared)
    told = people.server.get("/v1/usage?fresh=true", token=admin).json()
    page = operator.page("/storage")
    treemap, matrix = (next(svg for svg in page.iter("{http://www.w3.org/2000/svg}svg") if svg.get("class") == name) for name in ("treemap", "matrix"))
    fields = {}
    for group in treemap:
        rect = next(node for node in group if node.tag.endswith("rect"))
        fields[visitors.text(next(node for node in group if node.tag.endswith("title"))).split(":")[0]] = [float(rect.get(a)) for a in ("x", "y", "width", "height")]
    only = {o["name"].split("/")[-1]: o["only_bytes"] for o in told["owners"] if o["only_bytes"]}
    assert fields.pop("ann") == [0, 0, 1000, 380]  # the account, with its repositories in a frame
    assert fields.keys() == only.keys()
    for name, (x, y, width, height) in fields.items():
        assert width * height == pytest.approx(992 * 354 * only[name] / sum(only.values()), rel=0.03)
        assert 3.8 <= x and x + width <= 996.2 and 21.8 <= y and y + height <= 376.2
        for other, (x2, y2, width2, height2) in fields.items():
            assert other == name or x + width <= x2 + 0.2 or x2 + width2 <= x + 0.2 or y + height <= y2 + 0.2 or y2 + height2 <= y + 0.2, (name, other)
    classes = [rect.get("class") for rect in matrix.iter("{http://www.w3.org/2000/svg}rect")]
    assert classes == ["self", "h5", "h5", "self"]
    assert "1, 2: 90.0 kB" in visitors.text(matrix)


def test_usage_needs_admin(start, issuer, admin):
    server = start(token_key=issuer.folder)
    cairn.is_error(server.get("/v1/usage"), 401)
    cairn.is_error(server.get("/v1/usage", token=issuer.token("write")), 403)
    assert server.get("/v1/usage", token=admin).json()["owners"] == []
