"""The wall clock jumps back and forth, by minutes or years. Tokens, addresses, keys of answers and the grace time of collections are right again once the clock
is, and no file is lost meanwhile."""

import random
import time

import cairn
import ledger
import plans
import xet

HOUR, DAY, YEAR = 3600, 86400, 365 * 86400
EPOCH, GRACE = 7 * DAY, 14 * DAY
JUMPS = [60, -60, GRACE + HOUR, -GRACE, YEAR, -YEAR, 30 * YEAR, -30 * YEAR]


def test_tokens(start, issuer, clock):
    """A token is valid, expired or not yet valid by the clock as it is now."""
    server = start(token_key=issuer.folder, test_clock=clock.path)
    now = int(time.time())
    token = issuer.token("read", nbf=now - HOUR, expires_s=HOUR)
    for jump in (0, 2 * HOUR, 0, -2 * HOUR, 0, YEAR, -YEAR, 0):
        clock.move(jump)
        reply = server.get("/v1/chunks/default/" + "12" * 32, token=token)
        assert reply.status == (404 if jump == 0 else 401), (jump, reply)


def test_addresses(start, make, clock):
    """An address is valid until it expires, and again when the clock goes back. A client that is refused asks for a new plan."""
    server = start(test_clock=clock.path)
    file = ledger.new_file(1)
    assert ledger.Ledger().upload(server, file).status == 200
    plan = server.get(f"/v2/reconstructions/{ledger.name(file)}").json()
    for jump in (0, 2 * DAY, YEAR, 0, -DAY, -YEAR, 0):
        clock.move(jump)
        for fetches in plans.fetches_of(plan).values():
            for url, ranges in fetches:
                reply = server.get(plans.path_of(url), headers={"Range": plans.range_of(ranges)})
                if jump > 0:
                    cairn.is_error(reply, 403, "fetch.expired")
                else:
                    assert reply.status == 206
        assert ledger.read(server, file)


def test_keys_of_answers(start, clock):
    """After a jump answers have another key, and the same key again for the same time. Each answer expires after it was made."""
    server = start(test_clock=clock.path)
    file, keys = ledger.new_file(2), {}
    assert ledger.Ledger().upload(server, file).status == 200
    xorb = file.terms[0][0]
    path = f"/v1/chunks/default/{xet.text(xorb.nodes[0][0])}"
    for jump in (0, EPOCH, 0, 5 * YEAR, -5 * YEAR, EPOCH, -30 * YEAR, 0):
        clock.move(jump)
        answer = xet.parse_answer(server.get(path).body)
        assert [c[0] for c in answer.xorbs[xorb.hash]] == [xet.keyed(answer.key, h) for h, _ in xorb.nodes]
        assert answer.expiry > answer.created
        keys.setdefault(jump, set()).add(answer.key)
    assert all(len(k) == 1 for k in keys.values()), "the same time gives the same key"
    assert len(set.union(*keys.values())) == len(keys), "another epoch gives another key"


def test_collections(start, clock):
    """Clients upload and forget, and collections run, while the clock jumps. Each file that was not forgotten is whole. Once the clock has been right for
    two grace times, everything that no file needs is gone."""
    server = start(test_clock=clock.path)
    source, book, now, n = random.Random(7), ledger.Ledger(), 0, 0
    for jump in JUMPS + source.choices(JUMPS, k=40):
        now = min(max(now + jump, -40 * YEAR), 40 * YEAR)
        clock.move(now)
        for _ in range(2):
            n += 1
            assert book.upload(server, ledger.new_file(n, xorbs=1 + n % 2)).status == 200
        if len(book.files) > 4:
            assert book.forget(server, source.choice(list(book.files.values()))).status == 200
        assert server.post("/v1/gc").status == 200
        book.xorbs.clear()
        book.check(server)
    for days in (0, 15, 30):
        clock.move(80 * YEAR + days * DAY)  # later than any time that was stored
        assert server.post("/v1/gc").status == 200
    book.check(server)
    stats = server.get("/v1/stats").json()
    assert (stats["files"], stats["unreferenced_xorbs"], stats["retired_xorbs"]) == (len(book.files), 0, 0), stats
