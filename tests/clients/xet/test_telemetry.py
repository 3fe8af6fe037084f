"""Reports of clients on their transfers: validated, kept up to a number, and read by an operator."""

import json

import cairn
import pytest

PATH = "/v1/telemetry"
KEPT_BYTES = 16384
BODY_BYTES = 1024 * 1024


def body(n, size=0):
    text = {"event": "upload", "metrics": {"n": n}}
    if size:
        text["pad"] = "x" * (size - len(json.dumps({**text, "pad": ""})))
    return json.dumps(text).encode()


def newest(server, query="", **more):
    return server.get(PATH + query, **more).json()


def numbers(answer):
    return [row["body"]["metrics"]["n"] for row in answer["telemetry"]]


def post(server, *ns, **more):
    for n in ns:
        assert server.post(PATH, body(n, **more)).status == 200


def wait_for(server, ns):
    """Waits until the message is stored, which happens after its answer."""
    cairn.wait_until(f"{ns}", lambda: numbers(newest(server, "?limit=512")) == ns)


def test_bodies_of_the_real_client(server):
    examples = [json.loads(line) for line in (cairn.DATA / "telemetry_examples.jsonl").read_text().splitlines()]
    assert examples
    for example in examples:
        assert server.post(PATH, json.dumps(example).encode(), headers={"Content-Type": "application/json"}).status == 200
    cairn.wait_until("all messages", lambda: len(newest(server)["telemetry"]) == len(examples))
    assert [row["body"] for row in newest(server)["telemetry"]] == examples[::-1]
    assert {row["sender"] for row in newest(server)["telemetry"]} == {"operator"}


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"{}",
        b'{"event":"x"}',
        b'{"metrics":{}}',
        b'{"event":1,"metrics":{}}',
        b'{"event":"x","metrics":[]}',
        b'{"event":"x","metrics":null}',
        b'{"event":"\xff","metrics":{}}',
        b'{"event":"x","metrics":{}} {}',
        b'{"event":"x","metrics":{"a":NaN}}',
        b"[" * 100000,
        b'{"event":"x","metrics":' + b'{"a":' * 5000 + b"1" + b"}" * 5001,
    ],
    ids=lambda b: b[:40].decode(errors="replace"),
)
def test_invalid_telemetry_is_refused(server, wrong):
    cairn.is_error(server.post(PATH, wrong), 400, "telemetry.body")
    post(server, 1)
    wait_for(server, [1])


def test_sizes(server):
    post(server, 1, size=KEPT_BYTES)
    post(server, 2, size=KEPT_BYTES + 1)  # accepted, but too long to keep
    post(server, 3, size=BODY_BYTES)
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {BODY_BYTES + 1}\r\n\r\n"
    assert server.raw(head.encode()).split()[1] == b"413", "the message is refused before its body"
    post(server, 5)
    wait_for(server, [5, 1])


def test_pages(server):
    post(server, *range(1, 8))
    wait_for(server, [7, 6, 5, 4, 3, 2, 1])
    first = newest(server, "?limit=3")
    assert numbers(first) == [7, 6, 5]
    post(server, 8)
    wait_for(server, [8, 7, 6, 5, 4, 3, 2, 1])
    second = newest(server, f"?limit=3&before={first['next']}")
    assert numbers(second) == [4, 3, 2], "newer messages do not shift the pages"
    third = newest(server, f"?limit=3&before={second['next']}")
    assert (numbers(third), third["next"]) == ([1], 0)
    assert newest(server)["next"] == 0
    ids = [row["id"] for row in newest(server)["telemetry"]]
    assert ids == sorted(ids, reverse=True)


@pytest.mark.parametrize("query", ["limit=0", "limit=513", "limit=-1", "limit=x", "limit=", "limit=1x", "before=-1", "before=x", "before=99999999999999999999"])
def test_bad_pages(server, query):
    cairn.is_error(server.get(f"{PATH}?{query}"), 400, "telemetry.argument")


def test_no_more_rows_than_asked_for(start):
    server = start(telemetry_rows=5)
    post(server, *range(1, 13))
    wait_for(server, [12, 11, 10, 9, 8])
    server.stop()
    server.start()
    assert numbers(newest(server)) == [12, 11, 10, 9, 8]


def test_none_are_kept(start):
    server = start(telemetry_rows=0)
    post(server, 1)
    assert server.post(PATH, b"{").status == 400
    server.stop()
    server.start()
    assert newest(server) == {"telemetry": [], "next": 0}


def test_only_operators_read_it(start, issuer):
    server = start(token_key=issuer.folder)
    assert server.post(PATH, body(1), token=issuer.token("read", repo="a/b")).status == 200
    assert server.get(PATH, token=issuer.token("write")).status == 403
    cairn.wait_until("the message", lambda: numbers(newest(server, token=issuer.token("admin"))) == [1])


def test_one_sender_cannot_fill_the_table(start, issuer):
    """One subject may fill an eighth of the rows, with a message a second. Messages with the token that anybody can get are not kept."""
    server = start(token_key=issuer.folder, telemetry_rows=24)
    ann, bob, nobody, admin = (issuer.token(scope, sub=sub) for scope, sub in (("read", "ann"), ("read", "bob"), ("read", "anonymous"), ("admin", "admin")))
    post_as = lambda n, token: server.post(PATH, body(n), token=token).status
    assert post_as(1, ann) == 200
    assert [post_as(n, nobody) for n in range(100, 120)] == [200] * 20
    assert [post_as(n, bob) for n in range(200, 400)] == [200] * 200
    assert post_as(2, ann) == 200
    cairn.wait_until("ann's message", lambda: 2 in numbers(newest(server, token=admin)))
    kept = numbers(newest(server, token=admin))
    assert len(kept) == 5 and {1, 2} < set(kept) and not set(kept) & set(range(100, 200)), kept
    assert max(n for n in kept) < 300, "messages over the rate are not written"


def test_an_answer_too_large_is_told(server):
    ns = list(range(515))
    post(server, *ns, size=KEPT_BYTES)
    cairn.wait_until("all messages", lambda: server.get(f"{PATH}?limit=1").json()["telemetry"][0]["body"]["metrics"]["n"] == ns[-1])
    cairn.is_error(server.get(f"{PATH}?limit=512"), 400, "telemetry.limit")
    assert numbers(newest(server, "?limit=100")) == ns[:-101:-1]
