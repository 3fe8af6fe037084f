"""Backups through pipes: `cairn backup … - | cairn restore … -`, and what happens when the stream is cut, changed, or not read."""

import json
import os
import subprocess

import cairn
import pytest
import xet
from backups import command, flip, killed, peer_reads, piped, register

pytestmark = pytest.mark.files
EXIT_DATA, EXIT_CREATE, EXIT_IO = 65, 73, 74


@pytest.fixture
def spool(tmp_path):
    """The folder for the temporary copy of the index. Afterwards nothing is left in it."""
    folder = tmp_path / "spool"
    folder.mkdir()
    yield folder
    assert not list(folder.iterdir())


def taken(process, expect=0):
    out, err = process.communicate(timeout=120)
    assert not cairn.REPORTS.search(err.decode()), err.decode()[-6000:]
    assert process.returncode == expect, err
    return out, err.decode()


def restored(source, folder, expect=0, *options):
    done = subprocess.run([cairn.CAIRN, "restore", "--data-dir", folder, *options, "-"], stdin=source, capture_output=True, timeout=120)
    assert not cairn.REPORTS.search(done.stderr.decode()), done.stderr.decode()[-6000:]
    assert done.returncode == expect, done.stderr
    return done


@pytest.mark.parametrize("options", [(), ("--parity", 16, "--with-secret")])
def test_from_one_to_the_other(start, make, tmp_path, spool, options):
    server = start()
    files = register(server, [make([120_000] * 170, seed) for seed in range(4)] + [make([n], n) for n in (900, 901)])
    process = piped(server, spool, *options)
    (tmp_path / "new").mkdir()
    done = restored(process.stdout, tmp_path / "new" / "data", 0, "--json")
    assert "6 objects" in taken(process)[1]
    told = json.loads(done.stdout)
    assert told["objects"] == 6 and told["secret"] == bool(options)
    cairn.wait_until("the backup in the metrics", lambda: server.metrics().get("cairn_backup_last_run_successful") == 1)
    command("fsck", "--data-dir", tmp_path / "new" / "data")
    again = start(name="new")
    for file in files:
        assert again.get(f"/v1/reconstructions/{xet.text(file.hash())}").status == 200


def test_a_piped_backup_is_a_file_like_any_other(start, make, tmp_path, spool):
    """The stream is a backup file like any other: it is verified, repaired, read by pyfolds, and restored as a file. A file can also be restored from a
    pipe."""
    server, out = start(), tmp_path / "b.fold"
    register(server, [make([9000] * 3, 1)])
    with open(out, "wb") as f:
        taken(piped(server, spool, "--parity", 16, into=f))
    command("fold", "verify", out)
    assert {"objects/000000", "index/000000"} == set(peer_reads(out))
    command("restore", "--data-dir", tmp_path / "a", out)
    packed = tmp_path / "packed.fold"
    command("backup", "--data-dir", server.data, "--zstd", 3, "--with-secret", packed)
    for i, path in enumerate((out, packed)):
        with open(path, "rb") as f:
            restored(f, tmp_path / f"b{i}")
        command("fsck", "--data-dir", tmp_path / f"b{i}")
    assert (tmp_path / "b1" / "secret").read_bytes() == (server.data / "secret").read_bytes()

    flip(out, 200, 1)
    with open(out, "rb") as f:
        assert "fold.crc32c" in restored(f, tmp_path / "c", EXIT_DATA).stderr.decode()
    command("restore", "--data-dir", tmp_path / "d", out)  # restoring from a file repairs it


def test_cut_or_not_taken(start, make, tmp_path, spool):
    server, folder = start(), tmp_path / "back"
    register(server, [make([120_000] * 30, seed) for seed in range(2)])
    whole = taken(piped(server, spool))[0]
    cut = tmp_path / "cut"
    cut.write_bytes(whole[:-1])
    with open(cut, "rb") as f:
        assert "fold.truncated" in restored(f, folder, EXIT_DATA).stderr.decode()
    refused = subprocess.run([cairn.CAIRND, "--data-dir", str(folder), "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "restore" in refused.stderr, "the daemon refuses a folder that is half restored"
    cut.write_bytes(whole)
    with open(cut, "rb") as f:
        assert "pipe" in restored(f, folder, EXIT_CREATE).stderr.decode(), "a restore from a pipe cannot be continued"

    process = piped(server, spool)
    process.stdout.read(1000)
    process.stdout.close()
    process.wait(timeout=60)
    assert process.returncode == EXIT_IO and "standard output" in process.stderr.read().decode()
    cairn.wait_until("the failed backup in the metrics", lambda: server.metrics().get("cairn_backup_last_run_successful") == 0)


def test_collected_objects_are_not_restored(start, make, tmp_path, spool, clock):
    """An interrupted backup, when continued, may have an object that its index does not name any more. Restoring from a pipe leaves it out, too."""
    server, out, part = start(test_clock=clock.path, epoch="60s", gc_grace="120s"), tmp_path / "b.fold", tmp_path / "b.fold.part"
    files = register(server, [make([120_000] * 170, seed) for seed in range(5)])
    killed(("backup", "--data-dir", server.data, out), lambda: part.exists() and part.stat().st_size > 61_200_000)
    assert server.request("DELETE", f"/v1/files/{xet.text(files[0].hash())}").status == 200
    for n in (1, 2):
        clock.move(121 * n)
        assert server.post("/v1/gc").status == 200
    command("backup", "--data-dir", server.data, out)
    with open(out, "rb") as f:
        restored(f, tmp_path / "back")
    assert len([p for p in (tmp_path / "back" / "objects").rglob("*") if p.is_file()]) == 4
    command("fsck", "--data-dir", tmp_path / "back")


def test_usage(start, tmp_path, spool):
    server = start()
    for options in (("--json",), ("--incremental",), ("--zstd", 3)):
        assert "usage" not in taken(piped(server, spool, *options), 64)[1]
    with open(os.devnull, "rb") as f:
        assert "fold.truncated" in restored(f, tmp_path / "new", EXIT_DATA).stderr.decode()
        restored(f, tmp_path / "new", 64, "--at", "2026")
    assert not (tmp_path / "new").exists()
    nowhere = piped(server, spool / "none")
    assert "copy of the index" in taken(nowhere, EXIT_IO)[1]
