"""A disk flips bits. fsck finds each, no download contains one, and an upload or a restored copy repairs the object. A damaged index refuses or fails, and
serves nothing wrong."""

import contextlib
import hashlib
import json
import random
import re
import sqlite3
import struct
import subprocess

import cairn
import faults
import hf_client
import ledger
import plans
import pytest
import xet
from between import Between

ROUNDS, FLIPS = 2, 40


def contents(source):
    """A content for each compression that a client uses."""
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


def damage(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def test_a_frame_that_clients_read_differently(start):
    """The flipped bit makes the distance of an LZ4 match 0. liblz4 decodes that to the same bytes, hf_xet refuses it."""
    server, content = start(), bytes(5) + b"0123456789abc"
    block = bytes.fromhex("10000100d0") + content[5:]
    frame = bytes.fromhex("04224d18604082") + len(block).to_bytes(4, "little") + block + bytes(4)
    x = xet.Xorb([content])
    file = xet.File([(x, 0, 1)])
    body = b"\0" + len(frame).to_bytes(3, "little") + b"\1" + len(content).to_bytes(3, "little") + frame
    assert server.request("POST", x.path(), body).status == 200
    assert server.post("/v1/shards", xet.shard([file], [x])).status == 200
    [[(url, ranges)]] = plans.fetches_of(server.get(f"/v2/reconstructions/{xet.text(file.hash())}").json()).values()
    target, headers = plans.path_of(url), {"Range": plans.range_of(ranges)}
    assert server.get(target, headers=headers).body == body
    [path] = server.objects()
    changed = bytearray(body)
    changed[body.index(block) + 2] = 0
    path.write_bytes(changed)
    cairn.is_error(server.get(target, headers=headers), 410, "object.damaged")


def test_flipped_bits(tmp_path):
    """Each round flips another bit in each object."""
    source, server = random.Random(8), cairn.Daemon(tmp_path / "server").start()
    files, hashes = contents(source), {}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        [info] = hf_client.upload(server, tmp_path / "up", [tmp_path / name])
        hashes[name] = info["hash"]
    server.stop()
    good = {p: p.read_bytes() for p in server.objects()}
    assert len(good) == 3
    for n in range(ROUNDS):
        for path, content in good.items():
            path.write_bytes(flip(content, source))
        problems = fsck(server)["problems"]
        assert sorted(p["hash"] for p in problems if p["kind"] == "file.lost") == sorted(hashes.values())
        damaged = sorted(p["hash"] for p in problems if p["kind"] == "xorb.damaged")
        assert damaged == (sorted(p.name for p in good) if n == 0 else []), "after the first round the index knows which xorbs are lost"
        server.start()
        for name, content in files.items():
            plan = server.get(f"/v2/reconstructions/{hashes[name]}").json()
            for fetches in plans.fetches_of(plan).values():
                for url, ranges in fetches:
                    cairn.is_error(server.get(plans.path_of(url), headers={"Range": plans.range_of(ranges)}), 410, "object.damaged")
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
    """Chunks of a damaged object that are whole are served, because only the requested chunks are verified."""
    server, xorb = start(), make([20_000] * 4, 1)
    file = xet.File([(xorb, 0, 4)])
    assert ledger.Ledger().upload(server, file).status == 200
    [path] = server.objects()
    content = bytearray(path.read_bytes())
    content[20_008 * 2 + 5_000] ^= 4
    path.write_bytes(content)
    for _ in range(2):
        for first, last, status in [(0, 19_999, 206), (40_000, 59_999, 410), (60_000, 79_999, 206)]:
            plan = server.get(f"/v2/reconstructions/{ledger.name(file)}", headers={"Range": f"bytes={first}-{last}"}).json()
            [(url, ranges)] = plans.fetches_of(plan)[xet.text(xorb.hash)]
            assert server.get(plans.path_of(url), headers={"Range": plans.range_of(ranges)}).status == status
    assert len(server.events("object_damaged")) == len(server.events("xorb_lost")) == 1


def store(server, file):
    """Uploads the file. @return the path of its only fetch, which covers the whole xorb"""
    assert ledger.Ledger().upload(server, file).status == 200
    [fetches] = plans.fetches_of(server.get(f"/v2/reconstructions/{ledger.name(file)}").json()).values()
    [(url, _)] = fetches
    return plans.path_of(url)


def test_repair_gives_up_only_unreadable_chunks(start, make):
    """After a repair, files of the sound chunks of a damaged object are read. Files of the damaged chunk are reported and refused; an upload heals them."""
    server, xorb = start(), make([20_000] * 4, 1)
    files = {name: xet.File([(xorb, *chunks)]) for name, chunks in {"front": (0, 2), "back": (2, 4), "last": (3, 4)}.items()}
    for file in files.values():
        assert ledger.Ledger().upload(server, file).status == 200
    server.stop()
    [path] = server.objects()
    content = path.read_bytes()
    path.write_bytes(content[:30_000] + bytes([content[30_000] ^ 1]) + content[30_001:])
    for _ in range(2):
        lost = [p["hash"] for p in fsck(server, "--repair")["problems"] if p["kind"] == "file.lost"]
        assert lost == [ledger.name(files["front"])]
        server.start()
        for name in ("back", "last"):
            plan = server.get(f"/v2/reconstructions/{ledger.name(files[name])}").json()
            assert plans.download(server, plan) == plans.content(files[name])
        server.stop()
    server.start()
    assert ledger.Ledger().upload(server, files["front"]).status == 200
    for file in files.values():
        plan = server.get(f"/v2/reconstructions/{ledger.name(file)}").json()
        assert plans.download(server, plan) == plans.content(file)
    server.stop()
    assert fsck(server)["problems"] == []


def test_only_requested_chunks_are_verified(start, make):
    """A fetch verifies the chunks that it asks for, not everything its address allows, which may be the whole xorb."""
    server, xorb = start(), make([20_000] * 40, 1)
    url = store(server, xet.File([(xorb, 0, 40)]))
    [path] = server.objects()
    damage(path, 20_008 * 30 + 5_000)
    for n in range(29):
        at = 20_008 * n + 500
        assert server.get(url, headers={"Range": f"bytes={at}-{at}"}).body == xorb.body()[at : at + 1]
    assert not server.events("object_damaged"), "nothing has read the damaged chunk"
    cairn.is_error(server.get(url, headers={"Range": f"bytes={20_008 * 30}-{20_008 * 30}"}), 410, "object.damaged")
    assert server.events("object_damaged")


def test_a_range_is_verified_again_after_a_write_to_its_object(start, make):
    server, xorb = start(), make([20_000] * 4, 1)
    url = store(server, xet.File([(xorb, 0, 4)]))
    [path] = server.objects()
    for _ in range(2):
        assert server.get(url, headers={"Range": "bytes=0-80031"}).body == xorb.body()
    damage(path, 20_008 * 2 + 5_000)
    cairn.is_error(server.get(url, headers={"Range": "bytes=0-80031"}), 410, "object.damaged")


def test_a_verification_that_fails_for_another_reason(start, make):
    """The row of the xorb is gone when it is verified. The disk is not to blame, so the log reports no damage."""
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


def push(server, path):
    done = subprocess.run([cairn.CAIRN, "push", "--quiet", "--retries", "0", "--server", server.url, str(path)], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


def send(way, server, folder, path):
    """Uploads the file with a client that remembers nothing."""
    if way == "push":
        push(server, path)
    else:
        hf_client.upload(server, folder, [path])


def fetch_of(server, name):
    """The answer to the file's first fetch, or to its plan when that is refused."""
    plan = server.get(f"/v2/reconstructions/{name}")
    if plan.status != 200:
        return plan
    [(url, ranges), *_] = next(iter(plans.fetches_of(plan.json()).values()))
    return server.get(plans.path_of(url), headers={"Range": plans.range_of(ranges)})


def whole(server, folder, name, path):
    """Checks that the stock client and `cairn pull` get the file as it was."""
    content = path.read_bytes()
    [got] = hf_client.download(server, folder, [{"hash": name, "size": len(content), "how": "file"}])
    assert got == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / "out").unlink(missing_ok=True)  # else pull compares it, and fetches nothing
    subprocess.run([cairn.CAIRN, "pull", "--quiet", "--server", server.url, "-o", str(folder / "out"), name], check=True)
    assert (folder / "out").read_bytes() == content


def metric(server, name):
    [line] = [line for line in server.get("/metrics").body.decode().splitlines() if line.startswith(name + " ")]
    return int(line.split()[1])


HARM = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "shorter": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "flipped": lambda path: damage(path, 1000),
    "swapped": lambda path: (path.with_name("x").write_bytes(bytes(path.stat().st_size)), path.with_name("x").rename(path)),
}


@pytest.mark.parametrize("way", ["hf_xet", "push"])
@pytest.mark.parametrize("harm", HARM)
def test_an_upload_heals_noticed_damage(start, tmp_path, harm, way):
    """A fetch notices the harm. From then on the xorb is not offered any more, and the next upload sends it as if it were new."""
    server, path = start(), tmp_path / "file"
    path.write_bytes(random.Random(3).randbytes(400_000))
    [info] = hf_client.upload(server, tmp_path / "up", [path])
    for _ in range(2):  # the second time, from what the daemon remembers of the first
        assert fetch_of(server, info["hash"]).status == 206
        hf_client.upload(server, tmp_path / "again", [path])
    [xorb] = server.objects()
    HARM[harm](xorb)
    rule = "object.missing" if harm == "gone" else "object.damaged"
    plan = server.get(f"/v2/reconstructions/{info['hash']}").json()
    cairn.is_error(fetch_of(server, info["hash"]), 410, rule)
    later = fetch_of(server, info["hash"])
    assert later.status == 410 and later.headers["Cache-Control"] == "no-store", later
    if harm in ("gone", "empty", "shorter"):
        cairn.is_error(later, 410, "file.damaged")
    [(url, ranges)] = plans.fetches_of(plan)[xorb.name]
    cairn.is_error(server.get(plans.path_of(url), headers={"Range": plans.range_of(ranges)}), 410, rule)
    assert server.request("HEAD", f"/v1/xorbs/default/{xorb.name}").status == 404
    assert len(server.events("xorb_lost")) == metric(server, "cairn_xorbs_lost_total") == 1
    assert len(server.events("object_damaged")) == metric(server, "cairn_objects_damaged_total") == (harm != "gone")
    send(way, server, tmp_path / "heal", path)
    whole(server, tmp_path, info["hash"], path)
    assert server.request("HEAD", f"/v1/xorbs/default/{xorb.name}").status == 200
    server.stop()
    assert fsck(server)["problems"] == []


@pytest.mark.parametrize("way", ["hf_xet", "push"])
@pytest.mark.parametrize("asked", [False, True])
def test_an_upload_heals_unnoticed_damage(start, tmp_path, asked, way):
    """A chunk query does not offer an object that is gone, even if the answer with it is still in the cache."""
    server, path = start(), tmp_path / "file"
    path.write_bytes(random.Random(3).randbytes(400_000))
    [info] = hf_client.upload(server, tmp_path / "up", [path])
    if asked:
        hf_client.upload(server, tmp_path / "again", [path])
        push(server, path)
    [xorb] = server.objects()
    xorb.unlink()
    send(way, server, tmp_path / "heal", path)
    whole(server, tmp_path, info["hash"], path)
    assert len(server.events("xorb_lost")) == 1
    server.stop()
    assert fsck(server)["problems"] == []


def test_a_shard_over_a_missing_xorb_is_refused(start, make):
    """A client sends a shard that relies on a chunk offered earlier, whose object is gone. The shard is refused, and later clients are not offered the
    chunk."""
    server, xorb = start(), make([20_000] * 4, 1)
    file, part = xet.File([(xorb, 0, 4)]), xet.File([(xorb, 1, 3)])
    store(server, file)
    [path] = server.objects()
    path.unlink()
    cairn.is_error(server.post("/v1/shards", xet.shard([part], [])), 400, "term.unknown_xorb")
    assert len(server.events("xorb_lost")) == 1
    cairn.is_error(fetch_of(server, ledger.name(file)), 410, "file.damaged")
    assert ledger.Ledger().upload(server, part).status == 200
    assert fetch_of(server, ledger.name(file)).status == 206


def test_the_stock_client_gives_up_at_once(start, tmp_path):
    """The stock client runs with its default of six tries and long waits. It makes one request, which is answered 410, and gives up."""
    server, path = start(), tmp_path / "file"
    path.write_bytes(random.Random(3).randbytes(400_000))
    [info] = hf_client.upload(server, tmp_path / "up", [path])
    [xorb] = server.objects()
    xorb.unlink()
    for n, route in enumerate(["/v1/fetch", "/v2/reconstructions"]):
        for how in ("file", "stream", "unordered"):
            with Between(server) as between:
                [got] = hf_client.download(between, tmp_path / f"down{n}", [{"hash": info["hash"], "size": info["size"], "how": how}])
                # A stream of the client was once seen to end before its first byte without an error.
                assert "error" in got or (how != "file" and got["bytes"] < info["size"]), got
                seen = "/v1/fetch" if n == 0 and how == "file" else "/v2/reconstructions"
                assert between.statuses(seen) == [410], route
                assert between.statuses("/v1/reconstructions") == []


def test_a_xorb_that_cannot_be_opened_now_is_not_lost(tmp_path, make):
    """A disk error may go away, so the xorb does not count as lost."""
    disk, xorb = faults.Faults(tmp_path), make([20_000] * 4, 1)
    with disk.server as server:
        url = store(server, xet.File([(xorb, 0, 4)]))
        disk.arm(["open"], faults.EIO, 1, faults.FOR_EVER)
        assert server.get(url).status == 500
        assert disk.disarm() > 0
        assert server.get(url).body == xorb.body()
        assert not server.events("xorb_lost") and not server.events("object_damaged")
        assert server.request("HEAD", xorb.path()).status == 200


def answers(server, files):
    """Counts the files that come whole. Any other answer must be an error."""
    whole = 0
    for file in files:
        reply = server.get(f"/v2/reconstructions/{ledger.name(file)}")
        assert reply.status in (200, 404, 500), reply
        if reply.status != 200:
            continue
        try:
            got = plans.download(server, reply.json())
        except plans.Refused as e:
            assert e.reply.status in (404, 500), e.reply
            continue
        assert got == plans.content(file), "wrong bytes"
        whole += 1
    return whole


REFUSALS = re.compile(r"cairnd: (cannot (read|open|examine) the index: |the index |\S+/index\.sqlite is not an index of Cairn)")


def starts(server):
    """Does the daemon start? If not, the index must be named as the reason. The folder's path also contains that word, so it does not count."""
    try:
        server.start()
    except AssertionError:
        last = server.log().splitlines()[-1]
        assert server.process.returncode == 1 and REFUSALS.match(last), last
        return False
    return True


@pytest.mark.parametrize("way", ["zeros", "noise", "bits"])
def test_damaged_index(tmp_path, way):
    """Each page is overwritten with zeros or noise; then bits are flipped anywhere."""
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
        if not starts(server):
            refused += 1
            continue
        failed += answers(server, files) < len(files)
        assert server.process.poll() is None, server.log()[-3000:]
        server.kill()
        assert not cairn.REPORTS.search(server.log()), server.log()[-3000:]
    if way != "bits":
        assert refused > 0 and failed > 0
