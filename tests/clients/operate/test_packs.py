"""The cold tier: packs that swh.shard reads, shards of swh.shard that we read, and a server whose xorbs move into packs while it is used."""

import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import threading

import cairn
import faults
import hf_client
import ledger
import plans
import pytest
import xet

SHARDS = cairn.DATA / "archive" / "readshard"
PEER_S = 60  # seconds: the peer hangs, or dies by a signal, on many damaged files
PEER = """
import json, sys
from swh.shard import Shard, ShardCreator
order = json.load(sys.stdin)
path, objects = order["path"], [(bytes.fromhex(k), bytes.fromhex(v)) for k, v in order.get("objects", [])]
if order["do"] == "write":
    with ShardCreator(path, len(objects)) as s:
        for key, value in objects:
            s.write(key, value)
if order["do"] == "delete":
    Shard.delete(path, bytes.fromhex(order["key"]))
told = {}
with Shard(path) as s:
    told = {k.hex(): s[k].hex() for k in s}
    assert all(s.getsize(bytes.fromhex(k)) * 2 == len(v) for k, v in told.items())
    told = {"objects": told, "end": s.endpos + 1}
json.dump(told, sys.stdout)
"""


def peer(do, path, **order):
    """Runs swh.shard in a process of its own, which does this and then reads the whole file. @return {"objects": {key: bytes}, "end"}"""
    done = subprocess.run(
        [sys.executable, "-c", PEER],
        input=json.dumps({"do": do, "path": str(path), **order}),
        capture_output=True,
        text=True,
        timeout=PEER_S,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run(*args, code=0, server=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("CAIRN_")}
    command = [cairn.CAIRN, "pack", *map(str, args)]
    if server:
        command += ["--server", server.url]
    done = subprocess.run(command, capture_output=True, timeout=120, env=env)
    assert done.returncode == code, (command, done.returncode, done.stdout[-500:], done.stderr[-2000:])
    return done


def listed(path):
    """{key: (bytes, offset)} of a pack, as `cairn pack list` shows it."""
    rows = json.loads(run("list", "--raw", "--json", path).stdout)["objects"]
    return {row["key"]: (row["bytes"], row["offset"]) for row in rows}


def pack(server, name, *options):
    """Makes a pack, and waits until the packed xorbs have left the object folder."""
    made = json.loads(run("create", name, "--json", *options, server=server).stdout)
    job = {}

    def over():
        job.update(server.get("/v1/packs").json()["job"])
        return not job["running"]

    cairn.wait_until("the removal", over)
    assert job["durable"] is (made["xorbs"] > 0)
    return made | {"moved": job["moved"]}


def packs(server):
    return sorted(p for p in (server.data / "packs").iterdir())


@pytest.fixture
def stock(server):
    """A server with some files, and the ledger of what was acknowledged."""
    book = ledger.Ledger()
    for seed in range(20):
        assert book.upload(server, ledger.new_file(seed, xorbs=2)).status == 200
    return server, book


@pytest.mark.files
def test_peer_reads_ours(stock):
    server, book = stock
    made = pack(server, "cold.shard")
    assert made["xorbs"] == made["moved"] == len(book.xorbs)
    path = server.data / "packs" / "cold.shard"
    told = peer("read", path)
    assert told["objects"] == {x.hash.hex(): x.body().hex() for x in book.xorbs.values()}
    assert told["end"] == path.stat().st_size
    swh = os.path.join(os.path.dirname(sys.executable), "swh-shard")
    for verb in ("info", "ls", "check"):
        done = subprocess.run([swh, verb, str(path)], capture_output=True, text=True, timeout=PEER_S)
        assert done.returncode == 0, done.stderr
    book.check(server)


@pytest.mark.parametrize("count", [1, 2, 5, 100, 3000])
def test_ours_reads_peers(tmp_path, count):
    path = tmp_path / "peer"
    values = [b"%d," % i * (i % 50) for i in range(count)]
    values[0] = b"first"
    objects = {hashlib.sha256(v).hexdigest(): v for v in values}
    peer("write", path, objects=[(k, v.hex()) for k, v in objects.items()])
    assert {k: n for k, (n, _) in listed(path).items()} == {k: len(v) for k, v in objects.items()}
    assert b" 0 deleted" in run("verify", "--sha256", path).stdout
    for key in list(objects)[:10]:
        assert run("get", "--raw", path, key).stdout == objects[key]
    run("get", "--raw", path, "11" * 32, code=66)
    first = next(iter(objects))
    run("delete", "--raw", path, first)
    assert f"no object of this key: {first}" in run("delete", "--raw", path, first, code=66).stderr.decode()
    del objects[first]
    assert peer("read", path)["objects"] == {k: v.hex() for k, v in objects.items()}
    assert b" 1 deleted" in run("verify", "--sha256", path).stdout
    if objects:
        gone = next(iter(objects))
        peer("delete", path, key=gone)
        assert gone not in listed(path)
        assert b" 2 deleted" in run("verify", "--sha256", path).stdout


def test_get_to_a_file(tmp_path):
    key = next(k for k, v in json.loads((SHARDS / "expected.json").read_text())["peer_five.shard"].items() if v["size"] == 5)
    run("get", "--raw", SHARDS / "peer_five.shard", key, "-o", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"hello"
    run("get", "--raw", SHARDS / "peer_five.shard", key, "-o", tmp_path / "none" / "out", code=73)
    assert [p.name for p in tmp_path.iterdir()] == ["out"], "nothing is left behind"
    assert b"exists already" in run("get", "--raw", SHARDS / "peer_five.shard", key, "-o", tmp_path / "out", code=73).stderr
    (tmp_path / "to_out").symlink_to("out")
    assert b"exists already" in run("get", "--raw", SHARDS / "peer_five.shard", key, "-o", tmp_path / "to_out", code=73).stderr
    (tmp_path / "other.part").touch()  # of a command that was killed, or of one that runs
    said = run("get", "--raw", SHARDS / "peer_five.shard", key, "-o", tmp_path / "other", code=73).stderr.decode()
    assert "other.part: File exists; remove it if nobody writes it [file.target]" in said


BAD = [json.loads(line)["file"] for line in (SHARDS / "bad.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused(tmp_path, name):
    good = name == "bad_count.shard"  # it announces one object more than it has, as if that one had been deleted
    path = SHARDS / name
    done = run("verify", "--sha256", path, code=0 if good else 65)
    if good:
        return
    said = done.stderr.decode()
    assert str(path) in said and "offset" in said and ("[readshard." in said or "[pack.content" in said), said
    inspect = [cairn.CAIRN, "inspect", str(path)]
    if name not in ("bad_magic.shard", "bad_empty_file.shard", "bad_obj_data.shard"):
        shown = subprocess.run(inspect, capture_output=True, text=True, timeout=60)
        assert shown.returncode == 65 and "readshard" in shown.stdout and "[readshard." in shown.stderr, shown
    # Neither listing nor deleting crashes, whatever the pack contains.
    copy = tmp_path / name
    copy.write_bytes(path.read_bytes())
    for args in (["list", "--raw", copy], ["delete", "--raw", copy, "11" * 32]):
        code = subprocess.run([cairn.CAIRN, "pack", *map(str, args)], capture_output=True, timeout=60).returncode
        assert code in (0, 65, 66), (args, code)


@pytest.mark.files
def test_packed_files_read_as_before(stock):
    server, book = stock
    pack(server, "a.shard")
    assert server.objects() == [] and server.left_overs() == []
    book.check(server)
    for xorb in book.xorbs.values():
        reply = server.put_xorb(xorb)
        assert reply.status == 200 and reply.json()["was_inserted"] is False
    assert server.objects() == []
    more = ledger.new_file(100, xorbs=2)
    assert book.upload(server, more).status == 200
    assert pack(server, "none.shard", "--older-than", "1h")["xorbs"] == 0
    assert pack(server, "b.shard")["xorbs"] == 2
    assert [p.name for p in packs(server)] == ["a.shard", "b.shard"]
    shown = json.loads(run("list", "--json", server=server).stdout)
    assert [(p["name"], p["objects"], p["fault"]) for p in shown["packs"]] == [("a.shard", 40, None), ("b.shard", 2, None)]
    run("verify", *packs(server))
    assert "a.shard" in run("create", "a.shard", server=server, code=73).stderr.decode()
    run("create", "a b", server=server, code=64)
    server.stop()
    server.start()
    book.check(server)
    server.stop()
    done = subprocess.run([cairn.CAIRN, "fsck", "--data-dir", server.data], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


@pytest.mark.files
def test_packs_come_and_go_without_a_restart(stock):
    server, book = stock
    pack(server, "a.shard")
    (path,) = packs(server)
    path.rename(server.folder / "away")
    xorb = next(iter(book.xorbs.values()))
    assert server.request("HEAD", xorb.path()).status == 404
    (server.folder / "away").rename(path)
    book.check(server)
    (server.data / "packs" / "bad.shard").write_bytes(b"SWHShard")
    shown = json.loads(run("list", "--json", server=server).stdout)
    assert {p["name"]: p["fault"] for p in shown["packs"]} == {"a.shard": None, "bad.shard": "readshard.short"}
    assert "pack.in_use" in run("delete", path, xet.text(xorb.hash), code=73).stderr.decode()
    server.stop()
    run("delete", path, xet.text(xorb.hash))
    server.start()
    assert server.request("HEAD", xorb.path()).status == 404
    assert server.put_xorb(xorb).json()["was_inserted"] is True
    book.check(server)


@pytest.mark.files
def test_ranges_of_packed_xorbs(stock):
    server, book = stock
    pack(server, "a.shard")
    file = next(iter(book.files.values()))
    xorb = file.terms[0][0]
    plan = server.get(f"/v1/reconstructions/{ledger.name(file)}").json()
    (fetch,) = plan["fetch_info"][xet.text(xorb.hash)]
    target = plans.path_of(fetch["url"])
    body = xorb.body()
    for range_, want in (("bytes=0-0", [(0, 1)]), ("bytes=100-5099", [(100, 5100)]), ("bytes=5-9,20-39", [(5, 10), (20, 40)])):
        reply = server.get(target, headers={"Range": range_})
        assert reply.status == 206
        if len(want) == 1:
            assert reply.body == body[want[0][0] : want[0][1]]
            assert reply.headers["Content-Range"] == f"bytes {want[0][0]}-{want[0][1] - 1}/{len(body)}"
        else:
            assert all(body[a:b] in reply.body for a, b in want)


@pytest.mark.files
def test_packed_xorbs_are_collected(start, clock):
    server = start(test_clock=clock.path, epoch="60s", gc_grace="120s")
    book = ledger.Ledger()
    kept, gone = ledger.new_file(1, xorbs=2), ledger.new_file(2, xorbs=2)
    for file in (kept, gone):
        assert book.upload(server, file).status == 200
    pack(server, "a.shard")
    (path,) = packs(server)
    before = path.stat().st_blocks
    assert book.forget(server, gone).status == 200
    for xorb, _, _ in gone.terms:
        del book.xorbs[xorb.hash]
    for now in (121, 242):
        clock.move(now)
        assert server.post("/v1/gc").status == 200
    book.check(server)
    for xorb, _, _ in gone.terms:
        assert server.request("HEAD", xorb.path()).status == 404
        assert xorb.body()[:4000] not in path.read_bytes()
    assert path.stat().st_blocks < before, "the space was given back"
    told = peer("read", path)["objects"]
    assert set(told) == {x.hash.hex() for x, _, _ in kept.terms}
    assert b" 2 deleted" in run("verify", path).stdout


@pytest.mark.files
def test_packing_among_clients(server):
    """Clients upload and read while their xorbs move into one pack after the other."""
    books, failures, over = [ledger.Ledger() for _ in range(3)], [], threading.Event()

    def client(number):
        source = random.Random(number)
        try:
            for n in range(60):
                file = ledger.new_file(1000 * number + n, xorbs=2)
                assert books[number].upload(server, file).status == 200
                assert ledger.read(server, source.choice(list(books[number].files.values())))
        except BaseException as e:
            failures.append(e)
        over.set()

    threads = [threading.Thread(target=client, args=(i,)) for i in range(3)]
    for t in threads:
        t.start()
    made = 0
    while not over.is_set():
        made += pack(server, f"{made}.shard")["xorbs"] > 0
    for t in threads:
        t.join()
    assert not failures, failures
    assert made > 1
    pack(server, "last.shard")
    assert server.objects() == []
    for book in books:
        book.check(server)
    run("verify", *packs(server))


@pytest.mark.files
def test_packing_holds_nobody_up(tmp_path, make):
    """Packing has threads of its own. It waits for a disk that does not answer, while the only worker serves others."""
    disk = faults.Faults(tmp_path, workers=1)
    with disk.server as server:
        assert ledger.Ledger().upload(server, xet.File([(make([9000], 1), 0, 1)])).status == 200
        disk.arm(["fsync", "fdatasync"], faults.HOLD, 1, 1)
        assert server.post("/v1/packs?name=a.shard").status == 202
        try:
            cairn.wait_until("the pack to wait for the disk", disk.fired)
            assert server.get("/v1/packs", timeout=10).json()["job"]["running"]
            assert server.get("/ready", timeout=10).status == 200
            cairn.is_error(server.post("/v1/packs?name=b.shard", timeout=10), 409, "pack.running")
            cairn.is_error(server.post("/v1/gc", timeout=10), 503, "gc.running")
            book = ledger.Ledger()
            assert book.upload(server, ledger.new_file(2)).status == 200
            book.check(server)
        finally:
            disk.disarm()
        cairn.wait_until("the packing to end", lambda: not server.get("/v1/packs").json()["job"]["running"])


@pytest.mark.files
def test_stock_client_reads_packed_files(server, tmp_path):
    content = random.Random(7).randbytes(5 << 20) + b"packed " * 100000
    (tmp_path / "file").write_bytes(content)
    (info,) = hf_client.upload(server, tmp_path / "up", [tmp_path / "file"])
    assert pack(server, "cold.shard")["xorbs"] >= 1
    assert server.objects() == []
    gets = [{"hash": info["hash"], "size": info["size"], "how": "file"}]
    (got,) = hf_client.download(server, tmp_path, gets)
    assert got == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def test_only_an_admin_packs(start, issuer):
    server = start(token_key=issuer.folder)
    for token in (issuer.token("write"), issuer.token("read")):
        assert server.post("/v1/packs?name=a.shard", token=token).status == 403
        assert server.get("/v1/packs", token=token).status == 403
    for query in ("", "?name=", "?name=a", "?name=.shard", "?name=..%2Fa.shard", "?name=" + "a" * 123 + ".shard"):
        cairn.is_error(server.post(f"/v1/packs{query}", token=issuer.token("admin")), 400, "pack.name")
    for wrong in ("x", "", "-1", "+5", "%2B5", "%205", "5x", "99999999999"):
        cairn.is_error(server.post(f"/v1/packs?name=a.shard&older_than_s={wrong}", token=issuer.token("admin")), 400, "pack.age")
    assert server.post("/v1/packs?name=a.shard", token=issuer.token("admin")).status == 202


def one_packed(start, make, name="a.shard"):
    """A server with one file, whose xorb is in a pack. @return it, the file, the xorb, the pack"""
    server, xorb = start(), make([20_000] * 4, 1)
    file = xet.File([(xorb, 0, 4)])
    assert ledger.Ledger().upload(server, file).status == 200
    pack(server, name)
    [path] = packs(server)
    return server, file, xorb, path


def address(server, file):
    [[(url, _)]] = plans.fetches_of(server.get(f"/v2/reconstructions/{ledger.name(file)}").json()).values()
    return plans.path_of(url)


def hurt(path, xorb):
    """Flips a bit in the second chunk of the xorb."""
    content = bytearray(path.read_bytes())
    content[content.index(xorb.data[1]) + 500] ^= 4
    path.write_bytes(content)


@pytest.mark.files
def test_a_pack_that_is_swapped_is_verified_anew(start, make):
    """The pack is replaced by another file of the same name and length. The verification of the old file does not count for it."""
    server, file, xorb, path = one_packed(start, make)
    url = address(server, file)
    for _ in range(2):
        assert server.get(url).body == xorb.body()
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    hurt(other, xorb)
    other.rename(path)
    cairn.is_error(server.get(url), 410, "object.damaged")


@pytest.mark.files
def test_a_returned_pack_makes_its_xorbs_known_again(start, make):
    """A request for a xorb of the missing pack marks the xorb lost. A read after the pack is back makes the xorb known again."""
    server, file, xorb, path = one_packed(start, make)
    url, aside = address(server, file), server.folder / "aside"
    path.rename(aside)
    cairn.is_error(server.get(url), 410, "object.missing")
    cairn.is_error(server.get(f"/v2/reconstructions/{ledger.name(file)}"), 410, "file.damaged")
    assert server.request("HEAD", xorb.path()).status == 404
    aside.rename(path)
    assert server.get(address(server, file)).body == xorb.body()
    assert server.get(url).body == xorb.body()
    assert server.request("HEAD", xorb.path()).status == 200
    assert len(server.events("xorb_lost")) == len(server.events("xorb_found")) == 1


@pytest.mark.files
def test_a_truncated_pack_affects_no_other(start, make):
    """The next look-up finds the pack faulty. Other packs are served, also after a restart."""
    server, file, xorb, path = one_packed(start, make)
    other = make([20_000] * 4, 2)
    assert ledger.Ledger().upload(server, xet.File([(other, 0, 4)])).status == 200
    pack(server, "zz.shard")
    os.truncate(server.data / "packs" / "zz.shard", 4096)
    for _ in range(2):
        assert server.request("HEAD", make([20_000], 3).path()).status == 404
        assert server.request("HEAD", other.path()).status == 404
        assert server.get(address(server, file)).body == xorb.body()
        told = {p["name"]: p["fault"] for p in server.get("/v1/packs").json()["packs"]}
        assert told == {"a.shard": None, "zz.shard": "readshard.layout"}
        server.stop()
        server.start()


def spoil_slot(path):
    """Makes the first used slot of the pack's index point behind all objects. The pack is still served."""
    content = bytearray(path.read_bytes())
    index_at, index_bytes = struct.unpack_from(">2Q", content, 64)
    for at in range(index_at + 32, index_at + index_bytes, 40):
        if struct.unpack_from(">Q", content, at)[0] not in (0, 2**64 - 1):
            struct.pack_into(">Q", content, at, index_at)
            break
    path.write_bytes(content)


@pytest.mark.files
@pytest.mark.parametrize("spoil", [spoil_slot, lambda path: os.truncate(path, 4096)], ids=["slot", "cut"])
def test_fsck_names_a_damaged_pack(start, make, spoil):
    server, _, _, path = one_packed(start, make)
    assert ledger.Ledger().upload(server, xet.File([(make([20_000], 2), 0, 1)])).status == 200
    pack(server, "b.shard")
    server.stop()
    fsck = [cairn.CAIRN, "fsck", "--data-dir", str(server.data), "--skip-data"]
    assert subprocess.run(fsck, capture_output=True, timeout=60).returncode == 0
    spoil(path)
    done = subprocess.run(fsck, capture_output=True, text=True, timeout=60)
    [line] = [line for line in done.stdout.splitlines() if line.startswith("pack.damaged ")]
    assert done.returncode == 65 and "packs/a.shard: " in line and "[readshard." in line and "backup" in line, done
    told = json.loads(subprocess.run([*fsck, "--json"], capture_output=True, timeout=60).stdout)
    [problem] = [p for p in told["problems"] if p["kind"] == "pack.damaged"]
    assert "packs/a.shard" in problem["text"] and problem["repaired"] is False and "hash" not in problem


@pytest.mark.files
def test_more_packs_than_are_served(start, make):
    """The first 256 packs by name are served, whatever order the folder has. Faulty packs do not count."""
    server, file, xorb, path = one_packed(start, make, "m.shard")
    assert ledger.Ledger().upload(server, xet.File([(make([9000], 2), 0, 1)])).status == 200
    pack(server, "z.shard")
    body = path.with_name("z.shard").read_bytes()

    def faults_of(content, name, n):
        server.stop()
        for i in range(n):
            path.with_name(name % i).write_bytes(content)
        server.start()
        return {p["name"]: p["fault"] for p in server.get("/v1/packs").json()["packs"] if p["fault"]}

    assert len(faults_of(b"", "a%03d.shard", 300)) == 300
    assert server.get(address(server, file)).body == xorb.body()
    assert faults_of(body, "a%03d.shard", 256) == {name: "pack.many" for name in ["m.shard", "z.shard", *(f"a{i}.shard" for i in range(256, 300))]}
    assert server.request("HEAD", xorb.path()).status == 404
    for i in range(256, 300):
        path.with_name(f"a{i}.shard").unlink()
    path.with_name("a000.shard").unlink()
    assert server.get(address(server, file)).body == xorb.body()


@pytest.mark.files
@pytest.mark.parametrize("way", ["hf_xet", "push"])
def test_an_upload_while_a_pack_is_away(start, tmp_path, way):
    server = start()
    (tmp_path / "file").write_bytes(random.Random(7).randbytes(400_000))
    (info,) = hf_client.upload(server, tmp_path / "up", [tmp_path / "file"])
    hf_client.upload(server, tmp_path / "again", [tmp_path / "file"])
    pack(server, "cold.shard")
    [path] = packs(server)
    path.rename(server.folder / "aside")
    if way == "push":
        subprocess.run([cairn.CAIRN, "push", "--quiet", "--server", server.url, tmp_path / "file"], check=True)
    else:
        hf_client.upload(server, tmp_path / "heal", [tmp_path / "file"])
    gets = [{"hash": info["hash"], "size": info["size"], "how": "file"}]
    (got,) = hf_client.download(server, tmp_path, gets)
    assert got["bytes"] == info["size"]
    (server.folder / "aside").rename(path)
    (got,) = hf_client.download(server, tmp_path, gets)
    assert got["sha256"] == hashlib.sha256((tmp_path / "file").read_bytes()).hexdigest()


@pytest.mark.files
@pytest.mark.parametrize("first", ["pack", "folder", "empty"])
def test_a_sound_copy_behind_a_damaged_one(start, make, first):
    """Reading finds the sound copy, nothing is lost, and no repair removes it."""
    server, file, xorb, path = one_packed(start, make, "b.shard")
    url = address(server, file)
    if first == "pack":
        bad = path.with_name("a.shard")
        bad.write_bytes(path.read_bytes())
        hurt(bad, xorb)
        assert len(server.get("/v1/packs").json()["packs"]) == 2, "the daemon serves both packs"
    else:
        bad = server.object_of(xet.text(xorb.hash))
        bad.write_bytes(xorb.body())
        hurt(bad, xorb)
        if first == "empty":
            bad.write_bytes(b"")
    for _ in range(3):
        assert server.get(url).body == xorb.body()
    assert server.request("HEAD", xorb.path()).status == 200
    assert not server.events("xorb_lost")
    assert len(server.events("object_damaged")) == 1
    server.stop()
    fsck = [cairn.CAIRN, "fsck", "--json", "--data-dir", str(server.data)]
    for _ in range(2):
        subprocess.run([*fsck, "--repair"], capture_output=True, timeout=60)
    assert json.loads(subprocess.run(fsck, capture_output=True, timeout=60).stdout)["problems"] == []
    server.start()
    assert server.get(url).body == xorb.body()
