"""Heavy requests of one token delay another token by at most one turn. Waiting is measured in answers that the crowd gets meanwhile, because seconds
depend as much on the machine."""

import itertools
import statistics
import threading

import pytest
import xet
from hub_calls import commit, deleted, done, lines, make, text
from people import People

N_CROWD, TERMS, ROUNDS = 12, 32, 11


@pytest.fixture
def strangers(start, issuer, make):
    """A server with two threads for heavy work. mallory has a file of 262,144 chunks, ann has a file of one chunk."""
    server = start(token_key=issuer.folder, workers=2, log_level="error")
    mallory, ann = issuer.token(repo="mallory/one", sub="mallory"), issuer.token(repo="ann/one", sub="ann")
    many = xet.Xorb([bytes([i % 256, i // 256]) for i in range(8192)])
    heavy = xet.File([(many, 0, 8192)] * TERMS)
    light = make([9000], 1)
    for token, xorb, file in ((mallory, many, heavy), (ann, light, xet.File([(light, 0, 1)]))):
        assert server.put_xorb(xorb, token=token).status == 200
        assert server.post("/v1/shards", xet.shard([file], []), token=token).status == 200
    return server, mallory, ann, xet.text(heavy.hash()), xet.text(xet.file_hash(light.nodes))


def cut(server, token, file):
    """Asks for the chunks around a change of the first bytes of a file, which is heavy work."""
    reply = server.get(f"/v2/file-chunk-hashes/{file}", token=token, headers={"X-Range-Dirty": "bytes=0-1"}, timeout=240)
    assert reply.status == 200, reply


def plan(server, token, file):
    reply = server.get(f"/v1/reconstructions/{file}", token=token, timeout=240)
    assert reply.status == 200, reply


def answers_meanwhile(crowd, ask):
    """N_CROWD clients call crowd() again and again. @return how many answers the crowd got until ask() had its own; the median of some rounds"""
    ending, all_busy, answers = threading.Event(), threading.Barrier(N_CROWD + 1), []

    def one():
        all_busy.wait()
        while not ending.is_set():
            crowd()
            answers.append(1)

    def round_of():
        before = len(answers)
        ask()
        return len(answers) - before

    threads = [threading.Thread(target=one) for _ in range(N_CROWD)]
    for t in threads:
        t.start()
    all_busy.wait()
    try:
        return statistics.median(round_of() for _ in range(ROUNDS))
    finally:
        ending.set()
        for t in threads:
            t.join()


def test_plans_overtake_heavy_work(strangers):
    server, mallory, ann, heavy, light = strangers
    assert answers_meanwhile(lambda: cut(server, mallory, heavy), lambda: plan(server, ann, light)) <= N_CROWD / 6


def test_turns_within_heavy_work(strangers):
    """Ann's heavy request waits for one turn. Without turns it would wait for all that mallory has queued, 11 of 12. A busy machine delays her own
    answer, too."""
    server, mallory, ann, heavy, light = strangers
    assert answers_meanwhile(lambda: cut(server, mallory, heavy), lambda: cut(server, ann, light)) <= N_CROWD * 2 / 3


@pytest.fixture
def committers(start, issuer, admin, tmp_path):
    """A server with few or with many threads. ann, adam and rita have a repository each."""

    def begin(workers):
        people = People(start(token_key=issuer.folder, workers=workers, log_level="error"), admin, tmp_path / "home")
        make(people)
        make(people, "adam/big", "adam")
        make(people, "rita/big", "rita")
        done(commit(people, text("a.txt", "a")))
        return people

    return begin


def refused_at_its_end(people, *senders):
    """A commit of many files that the writer refuses only at its last operation."""
    body = lines(*(text(f"{i // 100}/{i}", "x") for i in range(3000)), deleted("missing"))
    turn = itertools.cycle(senders)

    def send():
        who = next(turn)
        reply = people.ask("POST", f"/api/models/{who}/big/commit/main", who, body)
        assert reply.status == 404, reply

    return send


def test_turns_of_the_writer(committers):
    """Ann's commit waits for one of adam's commits, not for all that he has queued."""
    people, names = committers(N_CROWD + 4), itertools.count()
    ask = lambda: done(commit(people, text(f"{next(names)}.txt", "a")))  # noqa: E731
    assert answers_meanwhile(refused_at_its_end(people, "adam"), ask) <= N_CROWD / 4


def test_reads_do_not_wait_for_the_writer(committers):
    """A thread that waits for the writer lets another thread do other work."""
    people = committers(2)

    def ask():
        reply = people.ask("POST", "/api/models/ann/one/preupload/main", body={"files": [{"path": "a", "size": 1, "sample": ""}]})
        assert reply.status == 200, reply

    assert answers_meanwhile(refused_at_its_end(people, "adam", "rita"), ask) <= N_CROWD / 6


@pytest.mark.parametrize("proxy, turns", [("127.0.0.1", True), ("192.0.2.1", False)], ids=["trusted", "another"])
def test_turns_behind_a_proxy(start, issuer, admin, tmp_path, proxy, turns):
    """Strangers behind a trusted proxy take turns by their own addresses. A peer that is not a trusted proxy has one turn, whatever addresses it
    sends."""
    people = People(start(token_key=issuer.folder, workers=2, log_level="error", hub_trusted_proxies=proxy), admin, tmp_path / "home")
    make(people)
    done(commit(people, *(text(f"{i // 100}/{i}", "x") for i in range(6000))))

    def look(client):
        reply = people.ask("GET", "/api/models/ann/one", "nobody", **{"X-Forwarded-For": client})
        assert reply.status == 200, reply

    waited = answers_meanwhile(lambda: look("198.51.100.7"), lambda: look("198.51.100.8"))
    assert (waited <= N_CROWD * 2 / 3) == turns, waited
