"""Thousands of mutated shards: the daemon and a second implementation, written in Python from the documents, must accept and refuse the same ones."""

import os
import random
import struct

import cairn
import shard_judge
import xet

N_MUTANTS = int(os.environ.get("CAIRN_MUTANTS", "2000"))
NUMBERS = (0, 1, 2, 0x7F, 0x80, 0xFF, 8191, 8192, 8193, 131072, 131073, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 2, (1 << 32) - 1)


def stock(source):
    """Valid shards. The chunks of their xorbs exist only as hashes."""

    def xorb():
        x = object.__new__(xet.Xorb)
        x.nodes = [(source.randbytes(32), source.choice((1, 8192, 65536, 131072))) for _ in range(source.choice((1, 1, 2, 3, 9, 12)))]
        x.hash = xet.merkle_root(x.nodes)
        return x

    def term(x):
        start = source.randrange(len(x.nodes))
        return x, start, source.randint(start + 1, len(x.nodes))

    bodies = [cairn.DATA.joinpath(name).read_bytes() for name in ("shards/small.shard", "shards/dedupe.shard", "js/js_1.shard", "shards/empty_only.shard")]
    for _ in range(24):
        xorbs = [xorb() for _ in range(source.randint(1, 3))]
        sha256 = source.choice((None, bytes(32)))
        files = [xet.File([term(source.choice(xorbs)) for _ in range(source.randint(1, 4))], sha256) for _ in range(source.randint(0, 3))]
        bodies.append(xet.shard(files, xorbs))
    return bodies


def flip(source, body, _):
    at = source.randrange(len(body))
    body[at] ^= 1 << source.randrange(8)


def number(source, body, _):
    """Changes a number at a multiple of four bytes: a field of a record, or bytes near it, or a count."""
    at = source.randrange(len(body) // 4) * 4
    old = struct.unpack_from("<I", body, at)[0]
    struct.pack_into("<I", body, at, source.choice((*NUMBERS, (old + 1) & 0xFFFFFFFF, (old - 1) & 0xFFFFFFFF)))


def records(source, body, _):
    """Swaps two records. So bookends stand in the wrong place, or hashes that are right elsewhere."""
    n = len(body) // 48
    a, b = source.randrange(n) * 48, source.randrange(n) * 48
    body[a : a + 48], body[b : b + 48] = body[b : b + 48], body[a : a + 48]


def drop(source, body, _):
    at = source.randrange(len(body) // 48) * 48
    del body[at : at + 48 * source.randint(1, 2)]


def repeat(source, body, _):
    at = source.randrange(len(body) // 48) * 48
    body[at:at] = body[at : at + 48 * source.randint(1, 3)]


def cut(source, body, _):
    del body[source.randrange(len(body)) :]


def splice(source, body, bodies):
    other = source.choice(bodies)
    at = source.randrange(len(body) // 48 + 1) * 48
    body[at:] = other[source.randrange(len(other) // 48 + 1) * 48 :]


def footer(source, body, _):
    """Adds a footer that fits the body if that is valid, mostly with one field changed."""
    at = 48
    while body[at : at + 32] != xet.BOOKEND[:32] and at + 48 <= len(body):
        at += 48
    fields = [1, 48, at + 48, *[source.choice((0, len(body))), 0] * 3]
    fields[4] = fields[6] = fields[8] = 0
    if source.random() < 0.5:
        fields[source.randrange(9)] = source.choice((*NUMBERS, len(body), (1 << 64) - 1))
    key = bytes(32) if source.random() < 0.9 else source.randbytes(32)
    struct.pack_into("<Q", body, 40, 200)
    body += struct.pack("<9Q", *fields) + key + bytes(88) + struct.pack("<Q", len(body))


MUTATIONS = (flip, flip, number, number, number, records, drop, repeat, cut, splice, footer)


def mutants(source, bodies, n):
    yield from bodies
    for _ in range(n):
        body = bytearray(source.choice(bodies))
        for _ in range(source.choice((0, 1, 1, 1, 2, 3))):
            if len(body) >= 48:
                source.choice(MUTATIONS)(source, body, bodies)
        yield bytes(body)


def test_the_same_verdict(start):
    server = start(xorbs="external")
    source = random.Random(6)
    known, counts = {}, {True: 0, False: 0}
    connection = server.connect()
    for i, body in enumerate(mutants(source, stock(source), N_MUTANTS)):
        why_not = shard_judge.judge(body, known)
        reply = server.post("/v1/shards", body, connection=connection)
        if why_not is None:
            assert reply.status == 200, (i, reply, body.hex())
        else:
            assert reply.status == 400, (i, why_not, reply, body.hex())
        counts[why_not is None] += 1
    connection.close()
    assert counts[True] > N_MUTANTS / 20 and counts[False] > N_MUTANTS / 3, counts
