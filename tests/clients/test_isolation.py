"""A client of one dedupe scope asks about a chunk, a file, that only another scope has: nothing tells it from one that is
nowhere, neither the answer nor the time."""

import random
import statistics
from pathlib import Path

import pytest
import xet

N_CHUNKS, ROUNDS, PERMUTATIONS = 64, 30, 2000


@pytest.fixture
def strangers(start, issuer, make):
    """A server, the token of alice, who has files of a xorb of N_CHUNKS chunks, all of them offered in her scope, and bob's."""
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
    # Also while alice's answer is in the cache, and with the absent one's hash of the same start.
    for other in (absent, foreign[:8] + absent[8:], foreign[:31] + b"\0"):
        assert list(answers(server, bob, foreign)) == list(answers(server, bob, other))


def processor_ns(server):
    """Nanoseconds on a processor, of all threads of the daemon: what neighbours on the machine do is not in it."""
    return sum(int((t / "schedstat").read_text().split()[0]) for t in Path(f"/proc/{server.process.pid}/task").iterdir())


def ask(server, connection, token, chunks):
    before = processor_ns(server)
    for chunk in chunks:
        server.get(f"/v1/chunks/default/{xet.text(chunk)}", token=token, connection=connection)
    return (processor_ns(server) - before) / len(chunks)


def likelihood(a, b, source):
    """How often chance alone makes the medians of two such groups differ so much (a permutation test)."""
    observed, both, more = abs(statistics.median(a) - statistics.median(b)), a + b, 0
    for _ in range(PERMUTATIONS):
        source.shuffle(both)
        more += abs(statistics.median(both[: len(a)]) - statistics.median(both[len(a) :])) >= observed
    return (more + 1) / (PERMUTATIONS + 1)


def test_the_same_time(strangers):
    """Blocks of foreign and of absent chunks by turns, over HTTP. (test_index_dedupe.c measures the look-ups alone, and sees a
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
