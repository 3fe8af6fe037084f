"""A disk that changes bits: fsck finds each, no download gets one, and an upload or a copy mends it. An index that is
damaged refuses or fails, and serves nothing wrong.
"""

import contextlib
import hashlib
import json
import random
import sqlite3
import struct
import subprocess

import cairn
import hf_client
import ledger
import plans
import pytest
import xet

ROUNDS, FLIPS = 2, 40


def contents(source):
    """One for each way in which a client packs chunks."""
    words = [bytes(source.choices(b"abcdefghij ", k=6)) for _ in range(100)]
    return {
        "lz4": b"".join(source.choices(words, k=60_000)),
        "none": source.randbytes(300_000),
        "grouped": b"".join(struct.pack("<f", 1 + i * 1e-6) for i in range(80_000)),
    }


def flip(content, source):
    out = bytearray(content)
    out[source.randrange(len(out))] ^= 1 << source.randrange(8)
    return out


def fsck(server, *options):
    command = [cairn.CAIRN, "fsck", "--json", "--data-dir", str(server.data), *options]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60).stdout)


def objects(server):
    return [p for p in (server.data / "objects").rglob("*") if p.is_file()]


def test_flipped_bits(tmp_path):
    """In each object, at each round another bit."""
    source, server = random.Random(8), cairn.Daemon(tmp_path / "server").start()
    files, hashes = contents(source), {}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        [info] = hf_client.upload(server, tmp_path / "up", [tmp_path / name])
        hashes[name] = info["hash"]
    server.stop()
    good = {p: p.read_bytes() for p in objects(server)}
    assert len(good) == 3
    for _ in range(ROUNDS):
        for path, content in good.items():
            path.write_bytes(flip(content, source))
        assert sorted(p["hash"] for p in fsck(server)["problems"] if p["kind"] == "xorb.damaged") == sorted(p.name for p in good)
        server.start()
        for name, content in files.items():
            plan = server.get(f"/v2/reconstructions/{hashes[name]}").json()
            for fetches in plans.fetches_of(plan).values():
                for url, ranges in fetches:
                    cairn.is_error(server.get(plans.path_of(url), headers={"Range": plans.range_of(ranges)}), 500, "object.damaged")
            out = tmp_path / "out"
            pull = subprocess.run([cairn.CAIRN, "pull", "--quiet", "--retries", "0", "--server", server.url, "-o", str(out), hashes[name]], capture_output=True)
            assert pull.returncode != 0 and not out.exists(), pull
        assert len(server.events("object_damaged")) >= 3
        server.stop()
    server.start()
    gets = [{"hash": h, "size": len(files[n]), "how": how} for n, h in hashes.items() for how in ("file", "stream")]
    for got in hf_client.download(server, tmp_path / "down", gets, client_retry_base_delay="1ms", client_retry_max_attempts="1"):
        assert "error" in got, "the stock client was given wrong bytes"
    server.stop()
    assert {p["kind"] for p in fsck(server, "--repair")["problems"] if not p["repaired"]} == {"file.lost"}
    server.start()
    hf_client.upload(server, tmp_path / "again", [tmp_path / n for n in files])
    for got, content in zip(hf_client.download(server, tmp_path / "down", gets), [c for c in files.values() for _ in range(2)], strict=True):
        assert got == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    server.stop()
    assert fsck(server)["problems"] == []


def test_part_of_a_damaged_object(start, make):
    """What is whole of it is served: only the chunks that are asked for are looked at."""
    server, xorb = start(), make([20_000] * 4, 1)
    file = xet.File([(xorb, 0, 4)])
    assert ledger.Ledger().upload(server, file).status == 200
    [path] = objects(server)
    content = bytearray(path.read_bytes())
    content[20_008 * 2 + 5_000] ^= 4
    path.write_bytes(content)
    for first, last, status in [(0, 19_999, 206), (40_000, 59_999, 500), (60_000, 79_999, 206)]:
        plan = server.get(f"/v2/reconstructions/{ledger.name(file)}", headers={"Range": f"bytes={first}-{last}"}).json()
        for fetches in plans.fetches_of(plan).values():
            for url, ranges in fetches:
                for _ in range(2):
                    assert server.get(plans.path_of(url), headers={"Range": plans.range_of(ranges)}).status == status


def damage(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def test_a_granted_range_is_proved_as_one(start, make):
    """Whatever part of it is asked for: so an address has no more proofs in it than it was signed for."""
    server = start()
    for seed, hurt_before in ((1, True), (2, False)):
        xorb = make([20_000] * 4, seed)
        file, known = xet.File([(xorb, 0, 4)]), objects(server)
        assert ledger.Ledger().upload(server, file).status == 200
        [path] = set(objects(server)) - set(known)
        plan = server.get(f"/v2/reconstructions/{ledger.name(file)}").json()
        [(url, _)] = plans.fetches_of(plan)[xet.text(xorb.hash)]
        if hurt_before:
            damage(path, 20_008 * 2 + 5_000)
            cairn.is_error(server.get(plans.path_of(url), headers={"Range": "bytes=0-0"}), 500, "object.damaged")
        else:
            assert server.get(plans.path_of(url), headers={"Range": "bytes=0-0"}).status == 206
            damage(path, 20_008 * 2 + 5_000)
            for last in range(20_008 * 3 - 50, 20_008 * 3):
                assert server.get(plans.path_of(url), headers={"Range": f"bytes=1-{last}"}).status == 206, "it was proved a moment ago"


def test_a_proof_that_fails_for_another_reason(start, make):
    """The xorb was removed meanwhile: no disk is to blame, and the log does not say so."""
    server, xorb = start(), make([20_000], 1)
    file = xet.File([(xorb, 0, 1)])
    assert ledger.Ledger().upload(server, file).status == 200
    plan = server.get(f"/v2/reconstructions/{ledger.name(file)}").json()
    [(url, _)] = plans.fetches_of(plan)[xet.text(xorb.hash)]
    server.stop()
    with contextlib.closing(sqlite3.connect(server.data / "index.sqlite")) as index, index:
        index.execute("PRAGMA foreign_keys = OFF")
        assert index.execute("DELETE FROM xorb").rowcount == 1
    server.start()
    cairn.is_error(server.get(plans.path_of(url)), 404, "not_found")
    assert not server.events("object_damaged")


def answers(server, files):
    """How many files come whole; anything else must be an error."""
    whole = 0
    for file in files:
        reply = server.get(f"/v2/reconstructions/{ledger.name(file)}")
        assert reply.status in (200, 404, 500), reply
        if reply.status != 200:
            continue
        try:
            assert plans.download(server, reply.json()) == plans.content(file), "wrong bytes"
            whole += 1
        except AssertionError as e:
            assert "500" in str(e) or "404" in str(e), e
    return whole


@pytest.mark.parametrize("way", ["zeros", "noise", "bits"])
def test_damaged_index(tmp_path, way):
    """Each page made zeros or noise, and bits flipped anywhere."""
    source, server = random.Random(way), cairn.Daemon(tmp_path / "server").start()
    files = [ledger.new_file(i, xorbs=1 + i % 3) for i in range(12)]
    for file in files:
        assert ledger.Ledger().upload(server, file).status == 200
    server.stop()
    index = server.data / "index.sqlite"
    good, refused, failed = index.read_bytes(), 0, 0
    pages = len(good) // 4096
    for n in range(FLIPS if way == "bits" else pages):
        bad = bytearray(good)
        if way == "bits":
            bad = flip(good, source)
        else:
            bad[n * 4096 : n * 4096 + 4096] = bytes(4096) if way == "zeros" else source.randbytes(4096)
        index.write_bytes(bad)
        for rest in ("index.sqlite-wal", "index.sqlite-shm"):
            (server.data / rest).unlink(missing_ok=True)
        try:
            server.start()
        except AssertionError as e:
            assert server.process.returncode == 1 and "index" in str(e), e
            refused += 1
            continue
        failed += answers(server, files) < len(files)
        assert server.process.poll() is None, server.log()[-3000:]
        server.kill()
        assert not cairn.REPORTS.search(server.log()), server.log()[-3000:]
    if way != "bits":
        assert refused > 0 and failed > 0
