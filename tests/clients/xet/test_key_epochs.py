"""Keyed answers to chunk queries: right for every chunk, the same within an epoch, and different in the next."""

import re
import time

import cairn
import pytest
import xet

DAY = 86400


def put_file(server, xorb, **more):
    assert server.put_xorb(xorb, **more).status == 200
    reply = server.post("/v1/shards", xet.shard([xet.File([(xorb, 0, len(xorb.nodes))])], [xorb]), **more)
    assert reply.status == 200, reply
    return f"/v1/chunks/default/{xet.text(xorb.nodes[0][0])}"


def check_keys(body, xorb):
    """Checks that every chunk of the xorb is there under the footer's key, with its order and size."""
    answer = xet.parse_answer(body)
    assert answer.key != xet.ZERO
    chunks = answer.xorbs[xorb.hash]
    assert [(c[0], c[2]) for c in chunks] == [(xet.keyed(answer.key, h), n) for h, n in xorb.nodes]
    assert [c[1] for c in chunks] == [sum(n for _, n in xorb.nodes[:i]) for i in range(len(chunks))]
    assert chunks[0][3] & xet.ELIGIBLE, "the queried chunk counts as one that may be queried"
    return answer


def test_every_chunk_is_keyed(start, make, clock):
    server = start(test_clock=clock.path)
    xorb = make([9000 + i for i in range(300)], 1)
    path = put_file(server, xorb)
    first = server.get(path)
    assert first.status == 200 and first.headers["Content-Type"] == "application/octet-stream"
    answer = check_keys(first.body, xorb)
    assert answer.expiry > answer.created
    assert server.get(path).body == first.body, "equal queries give equal bytes within an hour"
    assert server.get(path.replace("/default/", "/default-merkledb/")).body == first.body
    for h, _ in xorb.nodes[1:]:
        eligible = int.from_bytes(h[24:], "little") % 1024 == 0
        assert server.get(f"/v1/chunks/default/{xet.text(h)}").status == (200 if eligible else 404)


def test_the_answer_says_when_it_was_made(start, make, clock):
    """The time is rounded to the hour. Clients need it to drop the oldest answers first; rounded, it does not reveal whether others asked
    before."""
    server = start(test_clock=clock.path, epoch="7d")
    path = put_file(server, make([10000, 20000], 5))
    first = xet.parse_answer(server.get(path).body)
    began = first.expiry - 2 * 7 * DAY
    clock.move(began + 3 * DAY + 60 - int(time.time()))
    third = xet.parse_answer(server.get(path).body)
    clock.move(began + 3 * DAY + 5 * 3600 + 60 - int(time.time()))
    later = xet.parse_answer(server.get(path).body)
    assert third.created == began + 3 * DAY and later.created == third.created + 5 * 3600
    assert (third.key, third.expiry) == (later.key, later.expiry) == (first.key, first.expiry)


def test_expired_key_is_replaced(start, make, clock):
    server = start(test_clock=clock.path, epoch="7d")
    xorb = make([10000, 20000, 30000], 2)
    path = put_file(server, xorb)
    first = server.get(path)
    now = check_keys(first.body, xorb)
    clock.move(now.expiry - now.created + 15 * DAY)
    second = server.get(path)
    later = check_keys(second.body, xorb)
    assert later.key != now.key and second.body != first.body
    assert second.headers["ETag"] != first.headers["ETag"]
    assert later.expiry > now.expiry
    assert server.get(path, headers={"If-None-Match": first.headers["ETag"]}).status == 200


def test_validators(start, make, clock):
    server = start(test_clock=clock.path)
    path = put_file(server, make([10000], 3))
    reply = server.get(path)
    etag = reply.headers["ETag"]
    assert re.fullmatch(r'"[^"]+"', etag)
    assert server.get(path, headers={"If-None-Match": etag}).status == 304
    assert server.get(path, headers={"If-None-Match": etag}).body == b""
    assert server.get(path, headers={"If-None-Match": '"other"'}).body == reply.body
    assert server.get(path, headers={"If-Match": etag}).body == reply.body
    assert cairn.is_error(server.get(path, headers={"If-Match": '"other"'}), 412, "etag.other")
    answer = xet.parse_answer(reply.body)
    assert 0 < age(reply) <= answer.expiry - answer.created


def plain(reply):
    """The parts of an answer that are the same for all who ask."""
    return reply.status, reply.body, {k: v for k, v in reply.headers.items() if k not in ("Date", "Content-Length")}


def age(reply):
    return int(re.search(r"max-age=(\d+)", reply.headers["Cache-Control"]).group(1))


def leave_the_last_hour(server, path, clock):
    """Moves the clock out of the last hour of an epoch. @return by how many seconds"""

    def age_after(seconds):
        clock.move(seconds)
        return age(server.get(path))

    return next(s for s in (0, 7200) if age_after(s) == 3600)


def kinds_of_query(server, path):
    """@return [(path, headers, status)]: a hit, two hits that the client knows already (304), and a miss"""
    etag = server.get(path).headers["ETag"]
    known = [(path, {"If-None-Match": text}, 304) for text in (etag, f'"other", {etag}')]
    return [(path, {}, 200), *known, ("/v1/chunks/default/" + "12" * 32, {}, 404)]


def test_answers_without_a_client_id_are_made_once(start, make, clock):
    server = start(test_clock=clock.path, cors_origins="https://app.example http://b.example")
    path = put_file(server, make([9000] * 40, 6))
    leave_the_last_hour(server, path, clock)
    for asked, sent, status in kinds_of_query(server, path):
        first, second = server.get(asked, headers=sent), server.get(asked, headers=sent)
        mine = server.get(asked, headers=sent | {"X-Request-Id": "mine"})
        page = server.get(asked, headers=sent | {"Origin": "http://b.example"})
        assert [r.status for r in (first, second, mine, page)] == [status] * 4
        assert first.body == second.body == mine.body == page.body
        assert mine.headers["X-Request-Id"] == "mine", "a client finds the request id that it sent"
        assert page.headers["Access-Control-Allow-Origin"] == "http://b.example"
    server = start("closed", test_clock=clock.path, epoch="7d")
    path = put_file(server, make([9000] * 40, 6))
    leave_the_last_hour(server, path, clock)
    for asked, sent, status in kinds_of_query(server, path):
        first = server.get(asked, headers=sent)
        assert plain(first) == plain(server.get(asked, headers=sent)) and first.status == status
        assert "X-Request-Id" not in first.headers
        mine = server.get(asked, headers=sent | {"X-Amzn-Trace-Id": "trace"})
        assert plain(mine) == (first.status, first.body, plain(first)[2] | {"X-Request-Id": "trace"})
    server.stop()
    ids = [e["request_id"] for e in server.events("request") if e["route"] == "chunks"]
    made = [i for i in ids if i != "trace"]
    assert len(ids) - len(made) == 4 and len({*made}) == len(made), "the log has the id of each request, sent or made"


def test_the_age_is_counted_down_in_the_last_hour(start, make, clock):
    server = start(test_clock=clock.path, epoch="7d")
    path = put_file(server, make([10000], 7))
    begin_s = leave_the_last_hour(server, path, clock)
    first = server.get(path)
    key, known = xet.parse_answer(first.body).key, {"If-None-Match": first.headers["ETag"]}
    for end_s in range(begin_s, begin_s + 7 * DAY, 1800):
        clock.move(end_s)
        left_s = age(server.get(path))
        if left_s < 3600:
            break
    clock.move(end_s + 600)
    for headers in ({}, known):
        assert left_s - 660 <= age(server.get(path, headers=headers)) <= left_s - 600 < 3000
    assert xet.parse_answer(server.get(path).body).key == key, "the answer comes from the cache"


@pytest.mark.parametrize("size", ["64K", "8K"])
def test_an_answer_outlives_its_eviction_from_the_cache(start, make, clock, size):
    """Answers are evicted from the cache all the time. With the smaller size none is cached, because each exceeds an eighth of the cache."""
    server = start(cache_bytes_max=size, test_clock=clock.path)
    paths = [put_file(server, make([9000] * 60, seed)) for seed in range(10, 40)]
    leave_the_last_hour(server, paths[0], clock)
    replies = [server.get(path) for path in paths]
    request = "".join(
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{known}\r\n"
        for path, reply in zip(paths, replies)
        for known in ("", f"If-None-Match: {reply.headers['ETag']}\r\n")
    )
    last = f"GET {paths[0]} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    for _ in range(5):
        answers = server.raw((request * 4 + last).encode())
        assert answers.count(b"HTTP/1.1 200 ") == 4 * len(paths) + 1
        assert answers.count(b"HTTP/1.1 304 ") == 4 * len(paths)
        assert all(answers.count(reply.body) >= 4 for reply in replies)


def test_unknown_chunk_and_prefix(server):
    reply = server.get("/v1/chunks/default/" + "12" * 32)
    assert (reply.status, reply.body) == (404, b""), "a miss has no body, because clients get millions of them"
    assert server.get("/v1/chunks/other/" + "12" * 32).status in (400, 404)
    cairn.is_error(server.get("/v1/chunks/default/" + "zz" * 32), 400)


@pytest.mark.files
def test_secret_survives_restart(server, make):
    xorb = make([10000, 11000], 4)
    path = put_file(server, xorb)
    first = xet.parse_answer(server.get(path).body)
    assert (server.data / "secret").stat().st_mode & 0o777 == 0o600
    server.stop()
    server.start()
    assert xet.parse_answer(server.get(path).body).key == first.key


def test_two_servers_use_other_keys(start, make):
    xorb = make([10000, 11000], 5)
    keys = {xet.parse_answer(s.get(put_file(s, xorb)).body).key for s in (start("a"), start("b"))}
    assert len(keys) == 2
