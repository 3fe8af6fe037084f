"""A client asks about a chunk or a file that only another dedupe scope has. Neither the answer nor its time differs from those for one that does not
exist. The same holds for every route and every way to be refused, where whole answers are compared."""

import base64
import hashlib
import json
import random
import re
import statistics
from pathlib import Path

import cairn
import pytest
import tenants
import xet
from hub_calls import account, commit, done, make, make_key, stored, text, upload
from people import People
from upstream import Gates, Repo

N_CHUNKS, ROUNDS, PERMUTATIONS = 64, 30, 2000


@pytest.fixture
def strangers(start, issuer, make):
    """A server on which alice has files of a xorb of N_CHUNKS chunks, all of them offered in her scope. @return it, the tokens of alice and bob, and
    alice's xorb"""
    server = start(token_key=issuer.folder, dedupe_scope="repository", log_level="error")
    alice, bob = issuer.token(repo="alice/one"), issuer.token(repo="bob/one")
    for token, seed in ((alice, 1), (bob, 2)):
        xorb = make([9000] * N_CHUNKS, seed)
        files = [xet.File([(xorb, i, i + 1)]) for i in range(N_CHUNKS)]
        assert server.put_xorb(xorb, token=token).status == 200
        assert server.post("/v1/shards", xet.shard(files, [xorb]), token=token).status == 200
    return server, alice, bob, make([9000] * N_CHUNKS, 1)


def answers(server, token, chunk):
    file = xet.text(xet.file_hash([(chunk, 9000)]))
    headers = {"X-Request-Id": "the-same"}
    for method, path in (
        ("GET", f"/v1/chunks/default/{xet.text(chunk)}"),
        ("HEAD", f"/v1/chunks/default/{xet.text(chunk)}"),
        ("HEAD", f"/v1/files/{file}"),
        ("GET", f"/v1/info/{file}"),
        ("GET", f"/v1/info/{xet.text(chunk)}"),
        ("GET", f"/v1/reconstructions/{file}"),
        ("GET", f"/v2/reconstructions/{file}"),
        ("GET", f"/v1/reconstructions?file_id={file}"),
        ("GET", f"/v2/file-chunk-hashes/{file}"),
    ):
        more = {"X-Range-Dirty": "bytes=0-5"} if "chunk-hashes" in path else {}
        reply = server.request(method, path, token=token, headers=headers | more)
        yield reply.status, sorted((k, v) for k, v in reply.headers.items() if k != "Date"), reply.body


def test_the_same_answer(strangers):
    server, alice, bob, xorb = strangers
    foreign, absent = xorb.nodes[3][0], random.Random(5).randbytes(32)
    assert server.get(f"/v1/chunks/default/{xet.text(foreign)}", token=alice).status == 200
    # Also while alice's answer is in the cache, and for an absent hash that begins like hers.
    for other in (absent, foreign[:8] + absent[8:], foreign[:31] + b"\0"):
        assert list(answers(server, bob, foreign)) == list(answers(server, bob, other))


def processor_ns(server):
    """Processor time of all the daemon's threads, in nanoseconds. It excludes other load on the machine."""
    return sum(int((t / "schedstat").read_text().split()[0]) for t in Path(f"/proc/{server.process.pid}/task").iterdir())


def ask(server, connection, token, chunks):
    before = processor_ns(server)
    for chunk in chunks:
        server.get(f"/v1/chunks/default/{xet.text(chunk)}", token=token, connection=connection)
    return (processor_ns(server) - before) / len(chunks)


def likelihood(a, b, source):
    """The probability that chance alone makes the medians of two such groups differ that much (a permutation test)."""
    observed, both, more = abs(statistics.median(a) - statistics.median(b)), a + b, 0
    for _ in range(PERMUTATIONS):
        source.shuffle(both)
        more += abs(statistics.median(both[: len(a)]) - statistics.median(both[len(a) :])) >= observed
    return (more + 1) / (PERMUTATIONS + 1)


def test_the_same_time(strangers):
    """Queries over HTTP for alice's chunks and for absent chunks alternate in blocks. (test_index_dedupe.c measures the look-ups alone, and detects a
    fifth of a microsecond.)"""
    server, alice, bob, xorb = strangers
    source = random.Random(9)
    foreign = [h for h, _ in xorb.nodes]
    absent = [source.randbytes(32) for _ in range(N_CHUNKS)]
    connection = server.connect()
    ask(server, connection, alice, foreign)
    ask(server, connection, bob, foreign + absent)
    times = {"foreign": [], "absent": []}
    for _ in range(ROUNDS):
        blocks = [("foreign", foreign), ("absent", absent)]
        source.shuffle(blocks)
        for name, chunks in blocks:
            times[name].append(ask(server, connection, bob, chunks))
    connection.close()
    medians = {name: statistics.median(t) for name, t in times.items()}
    chance = likelihood(times["foreign"], times["absent"], source)
    print({name: f"{m / 1000:.1f} us" for name, m in medians.items()}, f"by chance {chance:.3f}")
    ratio = medians["foreign"] / medians["absent"]
    assert chance > 0.001 or 0.95 < ratio < 1.05, (medians, chance)


def test_a_range_that_is_not_there_takes_the_same_time(start, issuer, make):
    """Neither the answer nor the time of hashing reveals whether a xorb has the last chunk of a range. The two xorbs differ by one chunk, because
    reading a list takes time by its length."""
    server = start(token_key=issuer.folder, log_level="error")
    bob, bodies = issuer.token(repo="bob/one"), {}
    for name, n, seed in (("there", 4096, 1), ("not there", 4095, 2)):
        xorb = make([16] * n, seed)
        assert server.put_xorb(xorb, token=issuer.token(repo="alice/one")).status == 200
        good = xet.shard([xet.File([(xorb, 0, 1)])], [])
        bodies[name] = tenants.patched(good, (96 + 44, 4096), (144, b"\1" * 32))
    times, source = {name: [] for name in bodies}, random.Random(9)
    for _ in range(ROUNDS):
        for name in source.sample(list(bodies), 2):
            before = processor_ns(server)
            for _ in range(10):
                reply = server.post("/v1/shards", bodies[name], token=bob)
            times[name].append((processor_ns(server) - before) / 10)
            assert reply.json()["error"]["code"] == "term.range_hash"
    medians = {name: statistics.median(t) for name, t in times.items()}
    chance = likelihood(*times.values(), source)
    print({name: f"{m / 1000:.1f} us" for name, m in medians.items()}, f"by chance {chance:.3f}")
    ratio = medians["there"] / medians["not there"]
    assert chance > 0.001 or 0.95 < ratio < 1.05, (medians, chance)


# SECURITY.md says that everybody who may ask learns whether a xorb of a given hash is stored, and how large the store is. All other answers must be
# the same whether another tenant has the thing or nobody has it.
XORB_IS_STORED = {
    ("HEAD", "/v1/xorbs/{prefix}/{hash}"),
    ("POST", "/v1/xorb-grants/{prefix}/{hash}"),
}
WHOLE_STORE = {("GET", "/metrics")}
LENGTHS = {("HEAD", "/v1/xorbs/{prefix}/{hash}")}  # these also reveal its length


def is_of_chunk(ask):
    """Does this request ask about a chunk by its hash? A xorb of one chunk has the hash of its chunk."""
    return "/chunks/" in ask.route[1] or ("/v1/info/" in ask.route[1] and ask.what.startswith(("chunk", "known chunk", "xorb of one chunk")))


def is_told(ask, dedupe_scope):
    if ask.route in WHOLE_STORE or ask.what.startswith("theirs"):
        return True
    return ask.route in XORB_IS_STORED or (dedupe_scope == "global" and is_of_chunk(ask))


def rules_of_the_page():
    """The rules of docs/errors.md that can come over HTTP."""
    page = (cairn.ROOT / "docs" / "errors.md").read_text().split("\n## ")
    over_http = ("Requests", "Tokens and API keys", "Files, chunks and bytes", "Uploads: the", "Why a shard", "Why a xorb")
    rules = {r for part in page if part.startswith(over_http) for r in re.findall(r"^\| `([a-z0-9_.]+)` \| (?!–)", part, re.M)}
    assert len(rules) > 100
    return rules


# Rules that the requests below do not provoke, each with the reason why it cannot reveal another tenant's things. A new rule needs a request in
# tenants.py, or a reason here.
NOT_ASKED = {
    r"http\.(?!body$).*|host\.unknown|connections|rate\..*|route\..*|origin\..*": "said of the head, the connection or the path alone",
    r"auth\..*|token.*|key\.(missing|unknown|expired|scope|repo|body|id|known|own|many|name)|account\..*|user\.(unknown|refused)|repo\..*": "said of a credential, or to one without repository alone",
    r"stopping|not_ready|workers\.slow|index\..*|lease\..*|disk\..*|store\..*|spool\..*|verify\.stopped|gc\..*|usage\..*": "of the machine, or of what the sender himself has under way",
    r"object\.(damaged|missing|unreadable|changing)|(file|content)\.damaged|xorb\.unreadable|xorb\.(gone|differs|lost|replaced|late)": "to whom may read it, or of what was removed meanwhile: no content",
    r"bucket\.(body|events)": "of the body or the query alone, before the bucket is looked for",
    r"access\..*": "of a repository with a gate, to whom may see it (test_hub_access.py asks about one that they may not)",
    r"device\..*": "of a code, to whom has it, or of what the sender has under way (test_device_login.py asks as others)",
    r"form\..*": "of what a page was sent (test_pages.py asks pages as others)",
    r"member\..*": "to an admin of the organisation alone, who sees its members (test_pages.py)",
    r"lfs\.(expired|unknown|hash|scan)|ingest\..*": "of an address that was signed for who asks (test_hub_lfs.py asks about a repository that he may not see)",
    r"batch\..*|paths\.body|entry\.unknown|revision\..*|ref\..*|commit\..*|pr\..*|preupload\..*": "of a repository or bucket, to whom may see it or change it (test_hub_repos.py and test_hub_buckets.py ask about one that he may not)",
    r"claim\.false": "of a file of a repository, to whom may read it (test_hub_proof.py asks as others)",
    r"claims\.argument": "to an operator alone",
    r"mirror\..*|content\.unknown|alias\.name": "of a repository of the mirrored hub, to whom may see it (test_mirror.py)",
    r"tensors\..*": "of a file of a repository, to whom may read it",
    r"quota\..*": "to whom may write there, or to an operator (test_hub_quotas.py asks as others)",
    r"telemetry\..*|scrub\..*|lost\..*|xorbs\.external|plan\.bytes|dirty\.(too_regular|too_long)|fetch\.(expired|range|if_range)|etag\.other": "to an operator, or of a file or address that he may read",
    r"shard\.(bytes|footer_unwanted)|file\.metadata_missing|xorb\.(too_long|described_twice)": "of the sender's bytes under other settings",
    r"xorb\.(trailing|chunk_padded|footer_[a-z]+)": "of the sender's bytes alone (test_xorb.c)",
    r"upload\.refused": "never alone: every refusal has a finer rule",
}


def rule_of(answer):
    found = re.search(rb'"code":"([a-z0-9_.]+)"', answer[2])
    return {found[1].decode()} if found else set()


def without_names(ask, answer, hers):
    """The answer with each of alice's hashes replaced by its name, so that answers about two of her things can be compared."""
    status, headers, body = answer
    for what, name in hers.names().items():
        body = body.replace(xet.text(name).encode(), f"<{what}>".encode())
    return status, tuple(h for h in headers if h[0] != "Content-Length" or ask.route not in LENGTHS), body


def tells_secret(ask, answer):
    """Does the answer have a hash of one of alice's chunks that bob did not send, or, in a refusal, any hash that he did not send?"""
    sent = ask.path.encode() + (ask.body or b"")
    for hers in tenants.HERS:
        for secret in hers.secrets():
            text = xet.text(secret).encode()
            if not (secret in sent or text in sent) and (secret in answer[2] or text in answer[2]):
                return True
    refusals = re.findall(rb"\b[0-9a-f]{64}\b", answer[2]) if ask.what.startswith("theirs") else []
    return any(xet.raw(text.decode()) not in sent for text in refusals)


def assert_all_rules(rules):
    forgotten = {r for r in rules_of_the_page() - rules if not any(re.fullmatch(p, r) for p in NOT_ASKED)}
    assert not forgotten, f"{forgotten}: provoke it by a request in tenants.py, or say here why it reveals nothing"


class Walk:
    """Sends requests to both servers, and collects what their answers reveal against the rules."""

    def __init__(self, worlds, dedupe_scope):
        self.worlds, self.dedupe_scope = worlds, dedupe_scope
        self.rules, self.faults, self.told = set(), set(), {}

    def fault(self, ask, who, what, *answers):
        self.faults.add((*ask.route, ask.what, who, what, *answers))

    def ask(self, ask, who, hers, place=None):
        """Sends one request. place: its number among the requests about these things of alice, to compare it with the same request about her other
        things."""
        full = self.worlds.ask(ask, self.worlds.full, who)
        self.rules |= rule_of(full)
        if tells_secret(ask, full):
            self.fault(ask, who, "tells a hash", full)
        if not is_told(ask, self.dedupe_scope):
            empty = self.worlds.ask(ask, self.worlds.empty, who)
            if full != empty:
                self.fault(ask, who, "tells that it is there", full, empty)
        elif ask.route not in WHOLE_STORE and not is_of_chunk(ask):
            bare = without_names(ask, full, hers)
            if self.told.setdefault((place, who), bare) != bare:
                self.fault(ask, who, "tells what it is", self.told[place, who], full)


@pytest.mark.parametrize("dedupe_scope", ["repository", "global"])
def test_every_route_and_every_rule(start, issuer, tmp_path, dedupe_scope):
    """bob gets the same whole answers with and without alice. Where the server may reveal that a xorb is stored, each of alice's xorbs gets the same
    answer."""
    walk = Walk(tenants.Worlds(start, issuer, tmp_path, dedupe_scope), dedupe_scope)
    for hers in tenants.HERS:
        for place, ask in enumerate(tenants.asks(hers)):
            for who in walk.worlds.tokens if (hers, dedupe_scope) == (tenants.HERS[0], "repository") else ("bob",):
                walk.ask(ask, who, hers, place)
    for ask in tenants.refusals() if dedupe_scope == "repository" else ():
        walk.ask(ask, "bob", tenants.HERS[0])
    print(*sorted(map(repr, walk.faults)), sep="\n")
    assert not walk.faults, sorted({fault[:5] for fault in walk.faults})
    if dedupe_scope == "repository":
        assert_all_rules(walk.rules)


SECRET = b"what the gate is for "
BEHIND = SECRET * 4000


def gated_asks(sha256):
    """Requests to each route about a gated repository, alice/one, whose file "f" has a secret, and about its large file."""
    yield from tenants.asks(tenants.HERS[0])
    batch = json.dumps({"operation": "download", "objects": [{"oid": sha256, "size": len(BEHIND)}]}).encode()
    yield tenants.Ask(("POST", "lfs"), "her file", "/alice/one.git/info/lfs/objects/batch", {}, batch)
    for path in ("/alice/one", "/alice/one/blob/main/f", "/alice/one/blob/main/w.bin", "/alice/one/tree/main", "/alice/one/storage", "/alice/one/settings/access"):
        yield tenants.Ask(("GET", "page"), "", path, {"Accept": "text/html"})


def lets_in(reply):
    """Does an answer contain bytes of alice's files, or means to get them: a token, a signed address, a chunk's hash?"""
    chunk = xet.text(xet.Xorb([BEHIND]).nodes[0][0]).encode()
    signs = [SECRET, base64.b64encode(SECRET[:18]), b'"accessToken":"', b"signature=", b"/lfs/", chunk]
    return any(sign in reply.body + str(reply.headers).encode() for sign in signs)


def mirrored_asks(file, sha256, chunk):
    """Requests about the large file of a mirrored repository with a gate, by each name that the file has."""
    yield from gated_asks(sha256)
    yield tenants.Ask(("HEAD", "file"), "", "/alice/one/resolve/main/w.bin", {}, None)
    for path in (f"/v1/reconstructions/{file}", f"/v2/reconstructions/{file}", f"/v1/reconstructions?file_id={file}", f"/v1/files/{file}", f"/v1/files/by-sha256/{sha256}", f"/v1/info/{file}", f"/v1/info/{sha256}",
                 f"/v2/file-chunk-hashes/{file}", "/v1/files", f"/v1/chunks/default-merkledb/{chunk}"):  # fmt: skip
        yield tenants.Ask(("GET", "store"), "", path, {}, None)


@pytest.mark.parametrize("hides", [{"gated": "manual"}, {"private": True}])
def test_a_gate_of_a_mirrored_hub_lets_nobody_in_by_any_route(start, issuer, tmp_path, hides):
    """Asks once the bytes are here: without a key, with a key or a token of this server, and with a token that the mirrored hub refuses. A private
    repository looks like one that does not exist."""
    good, bad = "hf_" + "g" * 34, "hf_" + "b" * 34
    files = {"f": SECRET, "w.bin": BEHIND}
    with Gates(good, repos={"alice/one": Repo(files, stored={"w.bin"}, **hides), "far/open": Repo({"a": b"a"})}) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder, dedupe_scope="global")
        people = People(server, issuer.token("admin"), tmp_path)
        people.api("ann").create_repo("ann/own", private=True)
        ask = lambda path, key, method="GET", **more: server.request(method, path, headers={"Authorization": f"Bearer {key}"} if key else {}, **more)
        for path, content in files.items():
            assert ask(f"/alice/one/resolve/main/{path}", good).body == content
        file = ask("/alice/one/resolve/main/w.bin", good, "HEAD").headers["X-Xet-Hash"]
        token = ask("/api/models/alice/one/xet-read-token/main", good).json()["accessToken"]
        assert lets_in(server.get(f"/v1/reconstructions/{file}", token=token))
        keys = {"nobody": None, "refused": bad, "ann": people.keys["ann"], "public": ask("/api/models/far/open/xet-read-token/main", bad).json()["accessToken"]}
        keys["own"] = ask("/api/models/ann/own/xet-write-token/main", people.keys["ann"]).json()["accessToken"]
        chunk = xet.text(xet.Xorb([BEHIND]).nodes[0][0])
        for who, key in keys.items():
            for one in mirrored_asks(file, hashlib.sha256(BEHIND).hexdigest(), chunk):
                reply = server.request(one.route[0], one.path, body=one.body, headers=one.headers | ({"Authorization": f"Bearer {key}"} if key else {}))
                assert not lets_in(reply) and reply.headers.get("X-Xet-Hash") is None, (who, one.path, reply)
                if "private" in hides and "alice/one" in one.path:
                    none = server.request(one.route[0], one.path.replace("alice/one", "alice/not"), body=one.body, headers=one.headers | ({"Authorization": f"Bearer {key}"} if key else {}))
                    assert (reply.status, reply.headers.get("X-Error-Code"), reply.headers.get("X-Cairn-Mirror")) == (none.status, none.headers.get("X-Error-Code"), None), (who, one.path, reply, none)


def test_a_gate_lets_nobody_in_by_any_route(people, admin):
    """Asks without a key, as a user who waits for access, as a user who was rejected, and with a key for another repository."""
    account(people.server, admin, "alice")
    people.keys["alice"] = make_key(people.server, admin, account="alice", scope="write")["key"]
    people.keys["ann elsewhere"] = make_key(people.server, admin, account="ann", repo="models/ann/two", scope="write")["key"]
    make(people, "alice/one", "alice")
    sha256, _ = upload(people, BEHIND, "models/alice/one", "alice")
    done(commit(people, text("f", SECRET.decode()), stored("w.bin", sha256, len(BEHIND)), repo="models/alice/one", who="alice"))
    alice = people.api("alice")
    alice.update_repo_settings("alice/one", gated="manual")
    for who in ("bob", "rita"):
        assert people.ask("POST", "/api/models/alice/one/ask-access", who, b"").status == 200
    alice.reject_access_request("alice/one", "rita", rejection_reason=None)
    alice.grant_access("alice/one", "ann")
    let_in = {}
    for who in ("nobody", "bob", "rita", "ann elsewhere", "ann"):
        connection, let_in[who] = people.server.connect(), set()
        for ask in gated_asks(sha256):
            key = {"Authorization": f"Bearer {people.keys[who]}"} if people.keys[who] else {}
            reply = people.server.request(ask.route[0], ask.path, body=ask.body, headers=ask.headers | key, connection=connection if ask.body is None else None)
            if lets_in(reply):
                let_in[who].add(ask.path)
        connection.close()
    assert {who: paths for who, paths in let_in.items() if paths and who != "ann"} == {}
    assert {"/alice/one/resolve/main/f", "/api/models/alice/one/xet-read-token/main", "/alice/one.git/info/lfs/objects/batch", "/alice/one/blob/main/f"} <= {path.split("?")[0] for path in let_in["ann"]}
    assert [r.username for r in alice.list_accepted_access_requests("alice/one")] == ["ann"]
