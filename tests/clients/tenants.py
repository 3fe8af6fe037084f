"""Two servers that differ in one thing: the first has alice's things, about which bob asks; on the second, nobody has them. Also bob's requests:
every route of the code with every hash of alice's, and every way to be refused."""

import functools
import json
import random
import re
import struct
from dataclasses import dataclass, field

import cairn
import xet
import yaml

ALICE, BOB = "alice/one", "bob/one"
SECRET_BYTES = 32
EXPIRES = 9999999999


def pieces(sizes, seed):
    source = random.Random(seed)
    return xet.Xorb([source.randbytes(n) for n in sizes])


class Hers:
    """Alice's things that others may try to learn of: a xorb of n chunks, a xorb of a single chunk, and files of both."""

    def __init__(self, n, size, seed):
        self.shared = pieces([9500], seed + 2)  # the first chunk, which everybody knows
        self.xorb = xet.Xorb(self.shared.data + pieces([size] * (n - 1), seed).data)
        self.single = pieces([size + 1], seed + 1)
        self.sha256 = random.Random(seed).randbytes(32)
        self.files = [xet.File([(self.xorb, 0, n)], self.sha256), xet.File([(self.single, 0, 1)])]

    def names(self):
        """{name of the thing: hash}"""
        files = {"file": self.files[0].hash(), "file of one chunk": self.files[1].hash()}
        chunks = {"known chunk": self.xorb.nodes[0][0], "chunk": self.xorb.nodes[3][0]}
        return files | chunks | {"xorb": self.xorb.hash, "xorb of one chunk": self.single.hash}

    def secrets(self):
        return {h for h, _ in self.xorb.nodes[1:] + self.single.nodes}

    def put(self, server, token):
        for x in (self.xorb, self.single):
            assert server.put_xorb(x, token=token).status == 200
        assert server.post("/v1/shards", xet.shard(self.files, [self.xorb, self.single]), token=token).status == 200


HERS = [Hers(64, 9000, 1), Hers(20, 11000, 11)]

# Both servers have the captured xorbs and one of bob's own, so that his shards about them are true.
COMMON = sorted(p for p in (cairn.DATA / "xorbs").iterdir() if p.suffix == "")
BOBS = pieces([9100] * 30, 31)
BOBS_SHA256 = random.Random(31).randbytes(32)
BOBS_FILE = xet.File([(BOBS, 0, 30)], BOBS_SHA256)
LISTS = 3000  # list_chunks_max
LONG = pieces([16] * (LISTS - 40), 32)  # its list plus a list of alice's exceeds the limit for one of HERS, and not for the other


def put_common(server, token, sha256):
    for path in COMMON:
        assert server.post(f"/v1/xorbs/default/{path.name}", path.read_bytes(), token=token).status == 200
    for x in (BOBS, LONG, pieces([16] * 30, 33), pieces([16] * 30, 34)):
        assert server.put_xorb(x, token=token).status == 200
    file = xet.File(BOBS_FILE.terms, sha256)
    assert server.post("/v1/shards", xet.shard([file], [BOBS]), token=token).status == 200


class Worlds:
    """full: alice was here first and has all her things; she also has bob's file, with a false SHA-256. empty: bob is alone."""

    def __init__(self, start, issuer, tmp_path, dedupe_scope):
        secret = tmp_path / "secret"
        secret.write_bytes(random.Random(7).randbytes(SECRET_BYTES))
        secret.chmod(0o600)
        options = {
            "token_key": issuer.folder, "secret_file": secret, "public_url": "http://cairn.test", "dedupe_scope": dedupe_scope,
            "files_max": 500, "terms_max": 500, "xorbs_max": 50, "term_chunks_max": 9000, "list_chunks_max": LISTS,
            "log_level": "error", "idle_timeout": "10m",  # a kept connection must outlast requests on others, also on a busy machine
        }  # fmt: skip
        self.full, self.empty = start("full", **options), start("empty", **options)
        alice, bob = issuer.token(repo=ALICE), issuer.token(repo=BOB)
        self.tokens = {"bob": bob, "bob who reads": issuer.token("read", repo=BOB), "nobody": None}
        for hers in HERS:
            hers.put(self.full, alice)
        put_common(self.full, alice, HERS[0].sha256)
        for server in (self.full, self.empty):
            put_common(server, bob, BOBS_SHA256)
        self.connections = {server: server.connect() for server in (self.full, self.empty)}

    def ask(self, ask, server, who):
        return ask.of(server, self.tokens[who], self.connections[server])


@dataclass
class Ask:
    route: tuple  # method and pattern
    what: str
    path: str
    headers: dict = field(default_factory=dict)
    body: bytes | None = None

    def of(self, server, token, connection=None):
        headers = {"X-Request-Id": "the-same"} | self.headers
        kept = connection if self.body is None else None  # a refused body may end the connection
        reply = server.request(self.route[0], self.path, body=self.body, token=token, headers=headers, connection=kept)
        headers = tuple(sorted((k, v) for k, v in reply.headers.items() if k != "Date"))
        return reply.status, headers, re.sub(rb"expires=\d+|signature=[0-9a-f]+", b"", reply.body)


@functools.cache  # parsing the document takes long
def parameters():
    """The parameters of each operation, from the document: {(method, pattern): [(name, in)]}, without those in the path."""
    document = yaml.safe_load((cairn.ROOT / "docs" / "openapi.yaml").read_text())
    found = {}
    for pattern, path in document["paths"].items():
        for method, operation in path.items():
            if method in ("get", "post", "head", "put", "delete"):
                named = path.get("parameters", []) + operation.get("parameters", [])
                whole = [document["components"]["parameters"][p["$ref"].rsplit("/", 1)[1]] if "$ref" in p else p for p in named]
                found[method.upper(), pattern] = [(p["name"], p["in"]) for p in whole if p["in"] != "path"]
    return found


PATH_VALUES = {"kind": "run", "prefix": "default", "id": "1", "repo": "1", "account": "alice", "type": "models", "namespace": "alice", "name": "one", "revision": "main", "path": "f", "branch": "x", "place": "main/f", "rest": "main/f", "number": "1", "state": "pending"}
# The values to try for each parameter; other parameters have their first value meanwhile. A parameter of the document that is missing here fails the
# test.
VALUES = {
    "file_id": lambda h: [xet.text(h), f"{xet.text(h)}&file_id={xet.text(BOBS_FILE.hash())}", "x"],
    "recursive": lambda h: ["true", "false"],
    "cursor": lambda h: ["x", "1"],
    "since": lambda h: ["2020-01-01T00:00:00.000Z", "x"],
    "place": lambda h: ["alice", "models/alice/one", "x/y"],
    "search": lambda h: ["o"],
    "expand": lambda h: ["tags", "true"],
    "filter": lambda h: ["x", "1,2,3,4,5,6,7"],
    "pipeline_tag": lambda h: ["x"],
    "library": lambda h: ["x"],
    "language": lambda h: ["x"],
    "license": lambda h: ["x"],
    "gated": lambda h: ["false", "x"],
    "private": lambda h: ["true"],
    "full": lambda h: ["true"],
    "cardData": lambda h: ["true"],
    "config": lambda h: ["true"],
    "author": lambda h: ["alice"],
    "sort": lambda h: ["createdAt"],
    "direction": lambda h: ["1"],
    "blobs": lambda h: ["true"],
    "include_prs": lambda h: ["1"],
    "p": lambda h: ["0"],
    "status": lambda h: ["open", "closed"],
    "type": lambda h: ["pull_request", "discussion"],
    "create_pr": lambda h: ["0", "1"],
    "repo": lambda h: [ALICE, BOB],
    "fresh": lambda h: ["true"],
    "limit": lambda h: ["5", "0"],
    "after": lambda h: [xet.text(bytes(32)), xet.text(h), "x"],
    "lost": lambda h: ["1", "0"],
    "before": lambda h: ["1"],
    "within": lambda h: ["60", "0"],
    "name": lambda h: ["pack"],
    "older_than_s": lambda h: ["0"],
    "size": lambda h: ["9"],
    "to": lambda h: ["0", "x"],
    "alone": lambda h: ["1"],
    "by": lambda h: ["u1"],
    "exp": lambda h: [str(EXPIRES)],
    "sig": lambda h: ["0" * 64],
    "ranges": lambda h: ["0-8"],
    "expires": lambda h: [str(EXPIRES), "5"],
    "signature": lambda h: ["0" * 64],
    "Range": lambda h: [None, "bytes=0-5", "bytes=1000000000-", "bytes=0-1,5-6"],
    "If-Match": lambda h: [None, "*"],
    "If-None-Match": lambda h: [None, "*"],
    "If-Range": lambda h: [None, f'"{xet.text(h)}"'],
    "X-Range-Dirty": lambda h: ["bytes=0-5", None, "bytes=1000000000-1000000001", "bytes=" + ",".join(f"{i}-{i}" for i in range(0, 4000, 2))],
}
TELEMETRY = b'{"event":"x","metrics":{}}'
BODIES = {
    "/v1/reconstructions": [lambda h: b'[{"prefix":"default","hash":"%s"}]' % xet.text(h).encode(), b"{}"],
    "/v1/files/{hash}/share": [b""],
    "/v1/gc": [b""],
    "/v1/packs": [b""],
    "/v1/scrub/start": [b""],
    "/v1/scrub/pause": [b""],
    "/v1/mirror/repositories/{type}/{namespace}/{name}": [b"{}", b"x"],
    "/v1/mirror/prune": [b""],
    "/v1/mirror/repositories/{type}/{namespace}/{name}/prune": [b""],
    "/v1/mirror/repositories/{type}/{namespace}/{name}/refresh": [b""],
    "/v1/keys": [b'{"name":"k","repo":"alice/one","scope":"read"}', b"{}"],
    "/v1/accounts": [b'{"kind":"user","name":"alice"}', b"{}"],
    "/v1/accounts/{account}": [b'{"disabled":true}', b"{}"],
    "/v1/accounts/{account}/members": [b'{"user":"alice","role":"read"}', b"{}"],
    "/v1/quotas": [b'{"place":"alice","quota_bytes":1}', b"{}"],
    "/v1/telemetry": [TELEMETRY, b"[]"],
    "/v1/xorb-grants/{prefix}/{hash}": [b"{}"],
    "/api/buckets/{namespace}/{name}": [b"{}", b"x"],
    "/api/buckets/{namespace}/{name}/settings": [b'{"private":false}', b"{}"],
    "/api/buckets/{namespace}/{name}/paths-info": [b'{"paths":["f"]}', b"{}"],
    "/api/buckets/{namespace}/{name}/batch": [b'{"type":"deleteFile","path":"f"}', b"x"],
    **{
        f"{web}/{{namespace}}/{{name}}/info/lfs/objects/batch": [
            b'{"operation":"download","objects":[{"oid":"%s","size":9}]}' % (b"0" * 64),
            b'{"operation":"upload","objects":[]}',
            b"{}",
        ]
        for web in ("", "/datasets", "/spaces", "/kernels")
    },
    "/oauth/device": [b"client_id=", b"%zz"],
    "/oauth/token": [b"grant_type=urn:ietf:params:oauth:grant-type:device_code&client_id=x&device_code=x", b"grant_type=refresh_token", b"%zz"],
    "/api/repos/create": [b'{"name":"one","organization":"alice"}', b"{}"],
    "/api/{type}/{namespace}/{name}/paths-info/{revision}": [b'{"paths":["f"]}', b"{}"],
    "/api/{type}/{name}/paths-info/{rest}": [b'{"paths":["f"]}'],
    "/api/{type}/{namespace}/{name}/branch/{branch}": [b"{}", b"[]"],
    "/api/{type}/{namespace}/{name}/super-squash/{branch}": [b"{}", b"[]"],
    "/api/{type}/{namespace}/{name}/duplicate": [b'{"repository":"bob/two"}', b"{}"],
    "/api/{type}/{namespace}/{name}/lfs-files/duplicate": [
        b'{"target":{"type":"model","name":"bob/one"},"files":[{"xetHash":"%s","sha256":"%s"}]}' % (b"0" * 64, b"0" * 64), b"{}",
    ],
    "/api/{type}/{namespace}/{name}/lfs-files/batch": [b'{"deletions":{"sha":["%s"]}}' % (b"0" * 64), b"{}"],
    "/api/{type}/{namespace}/{name}/tag/{revision}": [b'{"tag":"t"}', b"{}"],
    "/api/{type}/{namespace}/{name}/preupload/{revision}": [b'{"files":[{"path":"f","size":1}]}', b"{}"],
    "/api/{type}/{namespace}/{name}/commit/{revision}": [
        b'{"key":"header","value":{"summary":"s"}}', b"x", b'{"key":"header","value":{"summary":"s","commitId":"x"}}',
        b'{"key":"header","value":{"summary":"s","commitId":"%s"}}\n{"key":"file","value":{"path":"z","content":""}}' % (b"ab" * 20),
    ],
    "/api/{type}/{namespace}/{name}/ask-access": [b""],
    "/api/{type}/{namespace}/{name}/user-access-request/handle": [b'{"user":"bob","status":"accepted"}', b"{}"],
    "/api/{type}/{namespace}/{name}/user-access-request/grant": [b'{"user":"bob"}', b"{}"],
    "/api/{type}/{namespace}/{name}/like": [b""],
    "/api/spaces/{namespace}/{name}/restart": [b"{}"],
    "/api/spaces/{namespace}/{name}/pause": [b"{}"],
    "/api/spaces/{namespace}/{name}/hardware": [b"{}"],
    "/api/spaces/{namespace}/{name}/sleeptime": [b"{}"],
    "/api/spaces/{namespace}/{name}/dev-mode": [b"{}"],
    "/api/spaces/{namespace}/{name}/secrets": [b"{}"],
    "/api/spaces/{namespace}/{name}/variables": [b"{}"],
    "/api/spaces/{namespace}/{name}/volumes": [b"{}"],
    "/api/{type}/{namespace}/{name}/discussions": [b'{"title":"t","pullRequest":true}', b'{"title":"t"}', b"{}"],
    "/api/{type}/{namespace}/{name}/discussions/{number}/merge": [b"{}"],
    "/api/{type}/{namespace}/{name}/discussions/{number}/status": [b'{"status":"closed"}', b"{}"],
    "/api/{type}/{namespace}/{name}/discussions/{number}/comment": [b"{}"],
    "/api/{type}/{namespace}/{name}/discussions/{number}/title": [b"{}"],
    "/api/collections": [b"{}"],
    "/api/settings/webhooks": [b"{}"],
    "/api/jobs/{namespace}": [b"{}"],
    "/api/validate-yaml": [b'{"content":"","repoType":"model"}', b"{}"],
    "/api/repos/move": [b'{"fromRepo":"alice/one","toRepo":"bob/one","type":"bucket"}', b"{}"],
}  # shards and xorbs: below


def variants(wanted, hash_):
    """Yields {name: value} of the parameters, so that at most one differs from its first value."""
    options = {name: VALUES[name](hash_) for name, _ in wanted}
    first = {name: values[0] for name, values in options.items()}
    yield first
    for name, values in options.items():
        for value in values[1:]:
            yield first | {name: value}


def asks_by_hash(hers, method, pattern, path_pattern, bodies=(None,)):
    wanted = parameters()[method, pattern]
    by_hash = "{hash}" in pattern or ("file_id", "query") in wanted or any(map(callable, bodies))
    names = hers.names() | {"mine": BOBS_FILE.hash()} if by_hash else {"nothing": bytes(32)}
    if "/v1/info/" in pattern:
        names |= {"sha256": hers.sha256, "my sha256": BOBS_SHA256}
    if "{sha256}" in pattern:
        names = {"sha256": hers.sha256, "my sha256": BOBS_SHA256}
    for what, hash_ in names.items():
        path = path_of(path_pattern, hash_)
        for values in variants(wanted, hash_):
            headers = {n: values[n] for n, place in wanted if place == "header" and values[n] is not None}
            query = "&".join(f"{n}={values[n]}" for n, place in wanted if place == "query")
            for body in bodies:
                body = body(hash_) if callable(body) else body
                yield Ask((method, pattern), f"{what} {values}", path + (f"?{query}" if query else ""), headers, body)
    for broken in re.findall(r"\{(hash|sha256|prefix)\}", pattern):
        path = path_of(re.sub(r"\{%s\}" % broken, "x", path_pattern), BOBS_FILE.hash())
        yield Ask((method, pattern), f"no {broken}", path, {}, bodies[0])
    if method == "GET":
        yield Ask((method, pattern), "a body", path_of(path_pattern, BOBS_FILE.hash()), {}, b"x")


XORBS = ("POST", "/v1/xorbs/{prefix}/{hash}")


def is_shards(pattern):
    return "shard" in pattern


def path_of(pattern, hash_):
    path = pattern.replace("{sha256}", xet.text(hash_)).replace("{hash}", xet.text(hash_))
    return re.sub(r"\{(\w+)\}", lambda m: PATH_VALUES[m[1]], path)


def asks_of_route(hers, method, pattern, path_pattern):
    """Requests to a route by one of its paths, with all hashes of alice's. A POST for which no body is defined is an error here."""
    if is_shards(pattern):
        for what, body in shards_over_theirs(hers).items():
            yield Ask((method, pattern), what, path_of(path_pattern, bytes(32)), {}, body)
    elif (method, pattern) == XORBS:
        yield Ask((method, pattern), "xorb of nothing", path_of(path_pattern, hers.xorb.hash), {}, b"")
    else:
        bodies = BODIES[pattern] if method == "POST" else (None,)
        yield from asks_by_hash(hers, method, pattern, path_pattern, bodies)


def asks(hers):
    for method, pattern, older, _ in cairn.routes():
        for path_pattern in (pattern, *older):
            yield from asks_of_route(hers, method, pattern, path_pattern)


def refusals():
    """Every way to be refused for a body: shards that bob may send, and false bodies for a xorb that alice has, too."""
    for method, pattern, older, _ in cairn.routes():
        for path_pattern in (pattern, *older):
            bodies = {**shards_of_bobs(), **broken_shards()} if is_shards(pattern) else {}
            if (method, pattern) == XORBS:
                bodies = broken_xorbs(HERS[0].xorb)
            for what, body in bodies.items():
                yield Ask((method, pattern), what, path_of(path_pattern, HERS[0].xorb.hash), {}, body)


AT_FILE, AT_TERMS, AT_HASHES = 48, 96, 192  # offsets in a shard with one file of two terms


def patched(body, *changes):
    out = bytearray(body)
    for at, value in changes:
        value = struct.pack("<I", value) if isinstance(value, int) else value
        out[at : at + len(value)] = value
    return bytes(out)


def described(hash_, nodes):
    """A shard without files that describes a xorb with these chunks."""
    out = xet.TAG + struct.pack("<QQ", 2, 0) + xet.BOOKEND + hash_ + struct.pack("<IIII", 0, len(nodes), sum(n for _, n in nodes), 0)
    at = 0
    for h, n in nodes:
        out += h + struct.pack("<IIII", at, n, 0, 0)
        at += n
    return out + xet.BOOKEND


def shards_over_theirs(hers):
    """Shards over a xorb of alice's that bob does not describe, or describes by its hash alone: {name: body}. The numbers in them do not depend on
    her things."""
    good = xet.shard([xet.File([(hers.xorb, 2, 5), (hers.xorb, 7, 8)])], [])
    wrong, length, start, end = (AT_HASHES, b"\1" * 32), AT_TERMS + 36, AT_TERMS + 40, AT_TERMS + 44
    return {
        "theirs range_hash": patched(good, wrong),
        "theirs range_hash of the second": patched(good, (AT_HASHES + 48, b"\1" * 32)),
        "theirs range_hash, length": patched(good, wrong, (length, 12345)),
        "theirs length": patched(good, (length, 12345)),
        "theirs length of the second": patched(good, (length + 48, 12345)),
        "theirs file hash": patched(good, (AT_FILE, b"\1" * 32)),
        "theirs all but the range hashes": patched(good, (AT_FILE, b"\1" * 32), (length, 1), (length + 48, 1)),
        # The xorb has 64 chunks, or 20:
        "theirs 0 to 30": patched(good, wrong, (start, 0), (end, 30)),
        "theirs 30 to 60": patched(good, wrong, (start, 30), (end, 60)),
        "theirs 19 to 8192": patched(good, (start, 19), (end, 8192)),
        "theirs 8191 to 8192": patched(good, (start, 8191), (end, 8192)),
        "theirs after a long list": patched(xet.shard([xet.File([(LONG, 0, 1), (hers.xorb, 2, 5)])], []), (AT_HASHES + 48, b"\1" * 32)),
        "theirs 0 to 8193": patched(good, (end, 8193)),
        "theirs 5 to 5": patched(good, (start, 5)),
        "theirs 6 to 5": patched(good, (start, 6), (end, 5)),
        "theirs too many": patched(good, (end, 8192), (start + 48, 0), (end + 48, 8192)),
        "theirs too many chunks": patched(good, (start, 0), (end, 8192), (AT_HASHES, b"\1" * 32)),
        "theirs described as one chunk": described(hers.xorb.hash, [(hers.xorb.hash, 500)]),
        "theirs described as another": described(hers.xorb.hash, [(BOBS.hash, 500)]),
        "theirs of one chunk, of another length": described(hers.single.hash, [(hers.single.hash, 500)]),
    }


def footer(body, **changes):
    at = len(body)
    value = {"version": 1, "files": 48, "xorbs": 96, "lookup": at, "key": xet.ZERO, "at": at} | changes
    places = (value["version"], value["files"], value["xorbs"], value["lookup"], 0, value["lookup"], 0, value["lookup"], 0)
    return patched(body, (40, 200)) + struct.pack("<9Q", *places) + value["key"] + bytes(88) + struct.pack("<Q", value["at"])


def shards_of_bobs():
    """Shards of bob's own files, and of files that alice has, too."""
    whole = xet.File([(BOBS, 0, 30)])
    again = xet.shard([whole], [BOBS])
    file = xet.shard([whole], [])
    none = xet.TAG + struct.pack("<QQ", 2, 0) + xet.BOOKEND * 2
    empty_files = xet.shard([xet.File([])] * 501, [])
    many_terms = xet.shard([xet.File([(BOBS, 0, 1)] * 501)], [])
    many_xorbs = xet.shard([], [BOBS] * 51)
    many_chunks = xet.shard([xet.File([(BOBS, 0, 30)] * 301)], [])
    return {
        "mine again, without its SHA-256": again,
        "mine, not described": file,
        "mine, another": xet.shard([xet.File([(BOBS, 3, 9)], bytes(range(32)))], [BOBS]),
        "mine, not there": xet.shard([xet.File([(pieces([9000], 77), 0, 1)])], []),
        "mine, described and not there": xet.shard([], [pieces([9000], 77)]),
        "limit.files": empty_files,
        "limit.terms": many_terms,
        "limit.xorbs": many_xorbs,
        "limit.term_chunks": many_chunks,
        "limit.list_chunks": xet.shard([xet.File([(LONG, 0, 1), (BOBS, 0, 1), (pieces([16] * 30, 33), 0, 1), (pieces([16] * 30, 34), 0, 1)])], []),
        "chunk count": described(BOBS.hash, [(BOBS.hash, 1)] * 8193),
        "footer version": footer(none, version=2),
        "footer place": footer(none, at=7),
        "footer lookup": footer(none, lookup=1 << 40),
        "footer keyed": footer(none, key=b"\1" * 32),
    }


def broken_shards():
    """The reference's mutants: every way in which a shard alone can be wrong."""
    lines = [json.loads(line) for line in (cairn.DATA / "invalid.jsonl").read_text().splitlines()]
    return {f"mutant {m['name']}": (cairn.DATA / m["file"]).read_bytes() for m in lines if m["expect"] == 400}


def chunk(data, scheme=0, raw=None, version=0):
    return bytes([version]) + len(data).to_bytes(3, "little") + bytes([scheme]) + (len(data) if raw is None else raw).to_bytes(3, "little") + data


def broken_xorbs(x):
    """Bodies that do not match the name of a xorb: {name: body}"""
    body, big = x.body(), 131072
    ends = b"XETBLOB" + bytes(60)
    return {
        "of nothing": b"",
        "cut in a head": body[:5],
        "cut": body[:-1],
        "another": chunk(b"another"),
        "one chunk more": body + chunk(b"more"),
        "version": chunk(b"x", version=7),
        "scheme": chunk(b"x", scheme=9),
        "empty chunk": chunk(b""),
        "large chunk": chunk(bytes(big + 1)),
        "length": chunk(b"abc", raw=2),
        "packed": chunk(b"abc", scheme=1, raw=5),
        "padded": chunk(bytes(big + 5000), scheme=1, raw=5),
        "many chunks": chunk(b"x") * 8193,
        "footer": body + ends,
    } | {f"mutant {m.name}": m.read_bytes() for m in sorted((cairn.DATA / "invalid").glob("x_*.xorb"))}
