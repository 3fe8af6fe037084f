"""Small file systems run full: which requests are refused, which go on, and how an operator frees space."""

import random
import re
import shlex
import struct
import subprocess

import cairn
import plans
import pytest
import xet

MIB = 1 << 20


def test_inodes(mount, start, make):
    """When no inodes are left, uploads and /ready name that as the reason, early enough for the index to go on. Reading goes on."""
    volume = mount("small/data", "tmpfs", 64 * MIB, "nr_inodes=2000")
    server = start("small", reserve_bytes="1M")
    x = make([9000], 1)
    assert server.put_xorb(x).status == 200
    assert server.post("/v1/shards", xet.shard([xet.File([(x, 0, 1)])], [x])).status == 200
    assert server.get("/ready").status == 200
    free = server.metrics()["cairn_store_free_files"]
    taken = [volume.folder / f"taken{i}" for i in range(int(free) - 19)]
    for path in taken:
        path.touch()
    assert server.metrics()["cairn_store_free_files"] == 19
    refused = cairn.is_error(server.put_xorb(make([9000], 2)), 507, "disk.files")
    assert (refused["expected"], refused["actual"]) == ("20", "19"), refused
    cairn.wait_until("/ready to tell", lambda: server.get("/ready").status == 503)
    cairn.is_error(server.get("/ready"), 503, "disk.files")
    assert server.request("HEAD", x.path()).status == 200
    server.stop()
    server.start()
    for path in taken[:10]:
        path.unlink()
    assert server.put_xorb(make([9000], 2)).status == 200
    cairn.wait_until("/ready to tell", lambda: server.get("/ready").status == 200)


def test_the_command_shows_that_it_waits(start, tmp_path):
    """On a terminal the command shows that it waits and tries again. Into a pipe it writes only the final error."""
    server = start("full", reserve_bytes="1000G")
    file = tmp_path / "file"
    file.write_bytes(b"0123456789" * 1000)
    push = [str(cairn.CAIRN), "push", "--retries", "3", "--server", server.url, str(file)]
    piped = subprocess.Popen(push, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seen = subprocess.run(["script", "-qec", shlex.join(push), "/dev/null"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    assert re.findall(r"507 disk\.reserve, .*; trying again in (\d)\.\d s", seen) == ["2"], seen
    told = piped.communicate()[0]
    assert piped.returncode == 69 and "disk.reserve" in told and "trying again" not in told


def files_until_full(server):
    """Uploads files until the disk is full. @return them"""
    files = []
    for seed in range(1000):
        source = random.Random(seed)
        x = xet.Xorb([source.randbytes(100000) for _ in range(9)])
        file = xet.File([(x, 0, 9)])
        reply = server.put_xorb(x)
        if reply.status == 200:
            reply = server.post("/v1/shards", xet.shard([file], [x]))
        if reply.status != 200:
            cairn.is_error(reply, 507, "disk.reserve")
            return files
        files.append(file)
    raise AssertionError("the disk did not run full")


def reads(server, file):
    plan = server.get(f"/v2/reconstructions/{xet.text(file.hash())}").json()
    return plans.download(server, plan) == plans.content(file)


def forget_and_collect(server, clock, files):
    for file in files:
        assert server.request("DELETE", f"/v1/files/{xet.text(file.hash())}").status == 200
    for _ in range(2):
        clock.move(struct.unpack("<q", clock.path.read_bytes())[0] + 200)
        assert server.post("/v1/gc").status == 200


SMALL = {"reserve_bytes": "4M", "epoch": "1m", "gc_grace": "2m"}


@pytest.mark.parametrize("kind", ["tmpfs", "ext4"])
def test_a_full_disk_is_freed_by_rm_and_gc(mount, start, clock, kind):
    """The disk has no free byte. Without a restart, reading goes on and uploads are refused. After cairn rm and cairn gc they work again."""
    volume = mount("small/data", kind, 64 * MIB)
    server = start("small", test_clock=clock.path, **SMALL)
    kept = volume.folder / "index.reserve"
    assert kept.stat().st_blocks * 512 >= kept.stat().st_size >= 3 * MIB
    files = files_until_full(server)
    volume.fill()
    shares = 0
    while server.post(f"/v1/files/{xet.text(files[0].hash())}/share?repo=a/r{shares}").status == 200:
        shares += 1  # until there is no space for the index's log either
    volume.fill()  # takes the space of the log, which was truncated
    assert volume.free() == 0 and kept.stat().st_size >= 3 * MIB
    assert reads(server, files[0])
    cairn.is_error(server.get("/ready"), 503, "disk.reserve")
    cairn.is_error(server.post("/v1/shards", xet.shard([xet.File([])], [])), 507)
    forget_and_collect(server, clock, files[:20])
    assert volume.free() > 8 * MIB
    assert reads(server, files[20])
    assert files_until_full(server)
    volume.empty()
    assert files_until_full(server)
    assert kept.stat().st_size >= 3 * MIB, "the reserve takes its space again"


@pytest.mark.parametrize("kind", ["tmpfs", "ext4"])
def test_a_start_when_nothing_is_free(mount, start, clock, kind):
    volume = mount("small/data", kind, 64 * MIB)
    server = start("small", test_clock=clock.path, **SMALL)
    kept = volume.folder / "index.reserve"
    files = files_until_full(server)
    for stop in (server.stop, server.kill):
        stop()
        (volume.folder / "index.sqlite-shm").unlink(missing_ok=True)
        volume.fill()
        assert volume.free() == 0 and kept.stat().st_size >= 3 * MIB
        server.start()
        assert kept.stat().st_size == 0
        volume.fill()
        assert volume.free() == 0
        assert reads(server, files.pop())
        cairn.is_error(server.get("/ready"), 503)
        volume.empty()
        forgotten, files = files[:10], files[10:]
        forget_and_collect(server, clock, forgotten)
        assert kept.stat().st_size >= 3 * MIB, "the reserve takes its space again"
    assert files_until_full(server)


def test_no_space_was_kept(mount, start):
    """A store on a full disk that has no index.reserve does not start. The message says why, and nothing is lost."""
    volume = mount("small/data", "tmpfs", 64 * MIB)
    server = start("small", reserve_bytes="4M")
    files = files_until_full(server)
    server.stop()
    (volume.folder / "index.reserve").unlink()
    (volume.folder / "index.reserve").touch()
    volume.fill()
    line = cairn.refused(server.folder, "--data-dir", str(server.data), "--listen", "127.0.0.1:0")
    assert "the disk is full, and no space is left that was kept for the index" in line
    volume.empty()
    server.start()
    assert reads(server, files[0])


def test_the_log_is_bounded_by_free_space(mount, start, make):
    volume = mount("small/data", "tmpfs", 64 * MIB)
    server = start("small", reserve_bytes="4M", xorbs="external")
    log, longest = volume.folder / "index.sqlite-wal", 0
    for seed in range(250):
        x = make([50] * 2000, seed)
        assert server.post("/v1/shards", xet.shard([xet.File([(x, 0, 2000)])], [x])).status == 200
        longest = max(longest, log.stat().st_size)
    assert (volume.folder / "index.sqlite").stat().st_size > 2 * longest, longest
    assert longest < 8 * MIB, longest


def test_a_commit_that_does_not_fit_leaves_no_log_behind(mount, start, make):
    """A shard does not fit when the log has taken all free space. The refusal gives the space of the log back."""
    volume = mount("small/data", "tmpfs", 64 * MIB)
    server = start("small", reserve_bytes="0", xorbs="external")
    x = make([50] * 8000, 1)
    assert server.post("/v1/shards", xet.shard([xet.File([(x, i, i + n)]) for n in (1, 2, 3, 4) for i in range(7000)], [x])).status == 200
    server.stop()
    server.start()  # the log is empty
    # The index keeps files in the order of their hashes: some thousands of them change every page that the others use.
    body = xet.shard([xet.File([(x, i, i + 5)]) for i in range(7000)], [])
    volume.filler.write_bytes(bytes(volume.free() - len(body) - MIB // 4))
    before = volume.free()
    cairn.is_error(server.post("/v1/shards", body), 507, "index.database")
    cairn.wait_until("the body to be gone", lambda: server.metrics()["cairn_spool_bytes"] == 0)
    assert volume.free() > before - MIB // 8
    volume.empty()
    assert server.post("/v1/shards", body).status == 200
    assert (volume.folder / "index.sqlite-wal").stat().st_size > before, "the log has not grown, so the shard would have fitted"
