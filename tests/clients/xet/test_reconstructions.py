"""Plans to put files together (reconstructions) over plain HTTP, compared with plans computed here."""

import json
import random

import cairn
import plans
import pytest
import xet
from lean import LeanDaemon, Watch

FORMS = ("v1", "v2")


def put(server, files, xorbs):
    for x in xorbs:
        assert server.put_xorb(x).status == 200
    assert server.post("/v1/shards", xet.shard(files, xorbs)).status == 200


def ask(server, form, file, range_=None):
    return server.get(f"/{form}/reconstructions/{xet.text(file.hash())}", headers={"Range": range_} if range_ else {})


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A server with a file of ten terms over three xorbs. Some terms overlap, some touch, some repeat."""
    source = random.Random(7)
    a, b, c = (xet.Xorb([source.randbytes(source.randint(100, 3000)) for _ in range(n)]) for n in (40, 12, 1))
    file = xet.File([(a, 0, 5), (b, 2, 4), (a, 20, 25), (c, 0, 1), (a, 3, 9), (b, 4, 6), (a, 30, 31), (b, 9, 12), (a, 0, 5), (c, 0, 1)])
    other = xet.File([(b, 0, 12), (a, 4, 6)])
    with cairn.Daemon(tmp_path_factory.mktemp("plans")) as server:
        put(server, [file, other], [a, b, c])
        yield server, file, other


@pytest.mark.parametrize("form", FORMS)
def test_whole_file(stored, form):
    server, file, _ = stored
    reply = ask(server, form, file)
    assert reply.status == 200 and reply.headers["Content-Type"] == "application/json"
    assert "no-store" in reply.headers["Cache-Control"], "the addresses expire, so nobody may cache the plan"
    assert plans.said(reply.json()) == plans.expected(file)
    assert plans.download(server, reply.json()) == plans.content(file)


def waited(server):
    """The number of requests that have waited for a worker."""
    return server.metrics()["cairn_http_request_queue_seconds_count"]


@pytest.mark.sqlite
@pytest.mark.parametrize("form", FORMS)
def test_a_small_plan_waits_for_nobody(tmp_path, form):
    """A plan of sixteen terms is answered at once. Other plans wait for a worker: those of more terms, those of a range, which may cut a term, and every
    plan of a remote store."""
    x = xet.Xorb([bytes([i]) * 100 for i in range(20)])
    small, large = (xet.File([(x, i, i + 2) for i in range(n)]) for n in (16, 17))
    with cairn.Daemon(tmp_path) as server:
        put(server, [small, large], [x])
        n = 2  # the uploads of xorb and shard
        cairn.wait_until("the uploads to be counted", lambda: waited(server) == n)
        for file, range_, waits in ((small, None, 0), (None, None, 0), (large, None, 1), (small, "bytes=50-149", 1)):
            reply = ask(server, form, file or xet.File([(x, 0, 9)]), range_)
            assert reply.status == (200 if file else 404)
            n += waits or cairn.STORE not in (None, "files")
            cairn.wait_until("the request to be counted, which is after its reply", lambda: waited(server) >= n)
            assert waited(server) == n
            if file and not range_:
                assert plans.said(reply.json()) == plans.expected(file)


def test_touching_and_overlapping_ranges_are_merged(stored):
    server, file, _ = stored
    a = xet.text(file.terms[0][0].hash)
    _, _, xorbs = plans.said(ask(server, "v2", file).json())
    assert [r[:2] for r in xorbs[a]] == [(0, 9), (20, 25), (30, 31)]


@pytest.mark.parametrize("form", FORMS)
def test_ranges(stored, form):
    server, file, _ = stored
    whole, source = plans.content(file), random.Random(8)
    size = len(whole)
    ends, at = set(), 0
    for _, n in file.nodes():
        at += n
        ends.add(at)
    cuts = [c for e in ends for c in (e - 1, e) if c < size]  # the last byte of a chunk, and the first of the next
    asked = [(0, 0), (size - 1, size - 1), (0, size - 1), (0, size + 100)]
    asked += [(c, c) for c in source.sample(cuts, 12)]
    asked += [tuple(sorted(source.sample(range(size), 2))) for _ in range(25)]
    for first, last in asked:
        reply = ask(server, form, file, f"bytes={first}-{last}")
        assert reply.status == 200, reply
        assert plans.said(reply.json()) == plans.expected(file, first, min(last + 1, size)), (first, last)
        if last - first < 5000:
            assert plans.download(server, reply.json())[: last + 1 - first] == whole[first : last + 1]
    for text, first in ((f"bytes={size - 5}-", size - 5), ("bytes=-1", size - 1), ("bytes=-4000", size - 4000), (f"bytes=-{size + 7}", 0), ("Bytes=0-", 0)):
        assert plans.said(ask(server, form, file, text).json()) == plans.expected(file, first, size), text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("past", [0, 1, 10**9, 2**64 - 1])
def test_range_past_the_end(stored, form, past):
    server, file, _ = stored
    size = len(plans.content(file))
    first = min(size + past, 2**64 - 1)
    for text in (f"bytes={first}-", f"bytes={first}-{first}", "bytes=-0"):
        reply = ask(server, form, file, text)
        cairn.is_error(reply, 416, "range.past_end")
        assert reply.headers["Content-Range"] == f"bytes */{size}"


@pytest.mark.parametrize("form", FORMS)
def test_invalid_ranges_are_ignored(stored, form):
    server, file, _ = stored
    for text in ("bytes=", "bytes=5-3", "items=0-1", "bytes=x-", "bytes=-", f"bytes={2**64}-"):
        assert plans.said(ask(server, form, file, text).json()) == plans.expected(file), text
    cairn.is_error(ask(server, form, file, "bytes=0-1,5-6"), 400, "range.many")


@pytest.mark.parametrize("form", FORMS)
def test_unknown_file_is_404_with_any_range(stored, form):
    """A status 416 would end a stream of the stock client as if the file was empty."""
    server, _, _ = stored
    for text in ({}, {"Range": "bytes=0-10"}, {"Range": "bytes=999999999-"}, {"Range": "bytes=-5"}):
        cairn.is_error(server.get(f"/{form}/reconstructions/{'12' * 32}", headers=text), 404, "file.unknown")
    cairn.is_error(server.get(f"/{form}/reconstructions/12"), 400)


@pytest.mark.parametrize("form", FORMS)
def test_empty_file(server, form):
    """An empty file is known once somebody has registered it. Its plan is empty, also for the range that clients request by habit. Later ranges get 416,
    because debug builds of the stock client stop on a plan."""
    empty = xet.File([])
    cairn.is_error(ask(server, form, empty), 404)
    put(server, [empty], [])
    for range_ in (None, "bytes=0-", "bytes=0-0", "bytes=0-255999999", "bytes=-5"):
        plan = ask(server, form, empty, range_).json()
        assert plans.said(plan) == (0, [], {})
    for range_ in ("bytes=1-", "bytes=1-1", "bytes=256000000-511999999"):
        reply = ask(server, form, empty, range_)
        cairn.is_error(reply, 416, "range.past_end")
        assert reply.headers["Content-Range"] == "bytes */0"


def batch(server, *names):
    return server.get("/v1/reconstructions?" + "&".join(f"file_id={n}" for n in names))


def test_batch(stored):
    server, file, other = stored
    names = [xet.text(f.hash()) for f in (file, other)]
    told = batch(server, *names).json()
    assert set(told) == {"files", "fetch_info"}
    for f, name in zip((file, other), names):
        assert plans.terms_of(told["files"][name]) == plans.expected(f)[1]
    both = xet.File(file.terms + other.terms)
    got = {xorb: [r for _, ranges in fetches for r in ranges] for xorb, fetches in plans.fetches_of(told).items()}
    assert got == plans.expected(both)[2], "the ranges of all files are merged as those of one file"
    assert plans.download(server, {"offset_into_first_range": 0, "terms": told["files"][names[1]], "fetch_info": told["fetch_info"]}) == plans.content(other)


def test_batch_names_a_file_twice(stored):
    server, file, _ = stored
    name = xet.text(file.hash())
    once, twice = batch(server, name).json(), batch(server, name, name, name).json()
    assert plans.said({**twice, "terms": twice["files"][name], "offset_into_first_range": 0}) == plans.expected(file)
    assert list(twice["files"]) == list(once["files"]) == [name]


def post(server, *files):
    return server.post("/v1/reconstructions", json.dumps([{"prefix": "default", "hash": name} for name in files]).encode())


def test_batch_posted(stored):
    """The protocol allows a list in the body since 1.1.0. The answer is the same as for a list in the query."""
    server, file, other = stored
    names = [xet.text(f.hash()) for f in (file, other)]
    asked, posted = batch(server, *names).json(), post(server, *names).json()
    assert posted["files"] == asked["files"] and plans.fetches_of(posted).keys() == plans.fetches_of(asked).keys()
    assert list(post(server, names[0], "12" * 32).json()["files"]) == names[:1]
    assert post(server, *[f"{i:064x}" for i in range(256)]).status == 200
    cairn.is_error(post(server, *[f"{i:064x}" for i in range(257)]), 400, "file_id")
    for body in (b"", b"[]", b"{}", b"no json", b'[{"hash":"12"}]', b'[{"prefix":"default"}]', b'["' + b"12" * 32 + b'"]'):
        cairn.is_error(server.post("/v1/reconstructions", body), 400, "file_id")
    assert server.post("/v1/reconstructions", b" " * 65537).status == 413


def test_batch_leaves_out_missing_files(stored):
    """A batch answers the files that exist, as that of the reference's server does."""
    server, file, _ = stored
    name = xet.text(file.hash())
    for names in ((name, "12" * 32), ("12" * 32, name), ("12" * 32, name, "34" * 32)):
        told = batch(server, *names)
        assert told.status == 200, told
        assert list(told.json()["files"]) == [name]
        assert plans.terms_of(told.json()["files"][name]) == plans.expected(file)[1]
    assert batch(server, "12" * 32, "34" * 32).json() == {"files": {}, "fetch_info": {}}


def test_batch_of_ranges(stored):
    """The range applies to each file. A file that ends before it is left out."""
    server, file, other = stored
    names = [xet.text(f.hash()) for f in (file, other)]
    short, long = sorted((file, other), key=lambda f: len(plans.content(f)))
    first = len(plans.content(short))

    def told(range_):
        query = "/v1/reconstructions?" + "&".join(f"file_id={n}" for n in names)
        return server.get(query, headers={"Range": range_})

    reply = told("bytes=100-4999").json()
    for f, name in zip((file, other), names):
        plan = {"offset_into_first_range": reply["offsets_into_first_range"][name], "terms": reply["files"][name]}
        alone = ask(server, "v1", f, "bytes=100-4999").json()
        assert plan == {key: alone[key] for key in plan}
    assert list(told(f"bytes={first}-").json()["files"]) == [xet.text(long.hash())]
    assert told(f"bytes={10**9}-").status == 416
    assert told("bytes=0-1,3-4").status == 400


def test_batch_limits(stored):
    server, _, _ = stored
    many = [f"{i:064x}" for i in range(257)]
    assert batch(server, *many[:256]).status == 200
    cairn.is_error(batch(server, *many), 400, "file_id")
    cairn.is_error(server.get("/v1/reconstructions"), 400, "file_id")
    cairn.is_error(batch(server, "12"), 400, "file_id")


def test_terms_of_a_batch(start, make):
    """A batch may have as many terms as a shard, so that it takes no more memory than one large file."""
    server = start(terms_max=4)
    xorb = make([100 + i for i in range(12)], 12)
    files = [xet.File([(xorb, at + 2 * i, at + 2 * i + 1) for i in range(n)]) for at, n in ((0, 4), (1, 2), (4, 2), (5, 3))]
    put(server, [files[0]], [xorb])
    for file in files[1:]:
        put(server, [file], [])
    names = [xet.text(f.hash()) for f in files]
    assert list(batch(server, *names[1:3]).json()["files"]) == names[1:3]
    assert list(batch(server, names[0]).json()["files"]) == names[:1]
    error = cairn.is_error(batch(server, *names[1:]), 400, "file_id")
    assert (error["expected"], error["actual"]) == ("4", "7") and "fewer" in error["message"], error
    query = "/v1/reconstructions?" + "&".join(f"file_id={n}" for n in names)
    assert server.get(query, headers={"Range": "bytes=0-0"}).status == 200, "only the requested terms count"


@pytest.mark.parametrize("most", [1, 2, 5, 256])
def test_ranges_of_one_address_are_bounded(start, make, most):
    server = start(fetch_ranges_max=most)
    xorb = make([100 + i for i in range(25)], 9)
    file = xet.File([(xorb, i, i + 1) for i in range(0, 25, 2)])
    put(server, [file], [xorb])
    plan = ask(server, "v2", file).json()
    counts = [len(ranges) for _, ranges in plans.fetches_of(plan)[xet.text(xorb.hash)]]
    assert sum(counts) == 13 and max(counts) == min(most, 13)
    assert len(counts) == -(-13 // most), "there are no more addresses than needed"
    assert plans.said(plan) == plans.expected(file)
    assert plans.download(server, plan) == plans.content(file)


def test_public_url(start, make):
    """With public_url, addresses have its host and path. Otherwise they have the host that the client sent."""
    xorb = make([9000], 10)
    file = xet.File([(xorb, 0, 1)])
    for name, options in (("a", {"public_url": "https://cdn.example.org/xet"}), ("b", {})):
        server = start(name, **options)
        put(server, [file], [xorb])
        base = options.get("public_url", "http://localhost:99")
        for form in FORMS:
            reply = server.get(f"/{form}/reconstructions/{xet.text(file.hash())}", headers={"Host": "localhost:99"})
            for url, _ in plans.fetches_of(reply.json())[xet.text(xorb.hash)]:
                assert url.startswith(f"{base}/v1/fetch/{xet.text(xorb.hash)}?"), url
                got = server.get(plans.path_of(url).removeprefix("/xet"))
                assert got.status == 206 and got.body == xorb.body()


TERMS = 100_000
ROUNDS = 10
PEAK_KIB_MAX = 64 * 1024
PLAN_KIB_MAX = 32 * 1024  # some hundred bytes for each term; the answer itself, 42 MB, is never in memory
KEPT_KIB_MAX = 8 * 1024  # by so much a later round may exceed the first


def peak_of(server, ask_once):
    """@return the daemon's memory before ask_once() and at its peak meanwhile, and what ask_once() returned"""
    watch = Watch(server.process.pid)
    before = watch.now_kib()
    with watch:
        reply = ask_once()
    assert reply.status == 200, reply
    return before, watch.peak_kib, reply


def test_file_of_many_terms(tmp_path):
    source = random.Random(11)
    xorbs = [xet.Xorb([source.randbytes(24) for _ in range(8192)]) for _ in range(25)]
    # Every second chunk in random order, so that neither terms nor ranges can be merged.
    picks = [(x, i) for x in xorbs for i in range(0, 8192, 2)]
    source.shuffle(picks)
    file = xet.File([(x, i, i + 1) for x, i in picks[:TERMS]])
    size = 24 * TERMS
    with LeanDaemon(tmp_path / "server") as server:
        put(server, [file], xorbs)
        for form in FORMS:
            ask(server, form, file, "bytes=0-100")  # the first request also makes what is made only once
            before, first, reply = peak_of(server, lambda: ask(server, form, file))  # noqa: B023
            for _ in range(ROUNDS - 1):
                _, peak, _ = peak_of(server, lambda: ask(server, form, file))  # noqa: B023
            assert peak - first < KEPT_KIB_MAX, (before, first, peak)
            if not cairn.is_sanitized():
                assert first < PEAK_KIB_MAX and first - before < PLAN_KIB_MAX, (before, first)
            assert len(reply.body) > 20_000_000
            assert plans.said(reply.json()) == plans.expected(file)
            first, last = size // 3, size // 3 + 30_000
            reply = ask(server, form, file, f"bytes={first}-{last}")
            assert plans.said(reply.json()) == plans.expected(file, first, last + 1)
            assert len(reply.json()["terms"]) == 1251


def test_answers_over_plan_bytes_max(start):
    """Too large answers are refused with both numbers. Ranges of such a file are answered."""
    server = start(plan_bytes_max="1M")
    xorb = xet.Xorb([i.to_bytes(4, "big") * 6 for i in range(8192)])
    file = xet.File([(xorb, i, i + 1) for i in range(0, 8192, 2)] * 5)
    put(server, [file], [xorb])
    for path in ("/v1/reconstructions/", "/v2/reconstructions/", "/v1/reconstructions?file_id="):
        error = cairn.is_error(server.get(path + xet.text(file.hash())), 400, "plan.bytes")
        assert error["expected"] == str(1 << 20) and int(error["actual"]) > 1 << 20 and "plan_bytes_max" in error["message"], error
    for form in FORMS:
        assert ask(server, form, file, "bytes=0-9999").status == 200


@pytest.mark.parametrize("host", ['a"b', "a b", "a/b", "a\\b", "x" * 2000, "", "a@b"], ids=lambda h: h[:5])
def test_an_invalid_host_is_refused(stored, host):
    """The host becomes a part of the addresses. A value that cannot be a host is refused, and the refusal does not repeat it."""
    server, file, _ = stored
    path = f"/v2/reconstructions/{xet.text(file.hash())}"
    reply = server.raw(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert reply.startswith(b"HTTP/1.1 400 "), reply[:2000]
