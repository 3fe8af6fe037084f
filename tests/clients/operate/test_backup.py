"""Backups in FOLD files: read and repaired by pyfolds, made beside a busy daemon, restored and served again."""

import fcntl
import hashlib
import json
import os
import pty
import random
import subprocess
import threading
from pathlib import Path

import cairn
import hf_client
import ledger
import pytest
import xet
from backups import command, flip, killed, peer_reads, register
from fold_peer import ecc, foldio

EXIT_DATA, EXIT_CREATE = 65, 73


def backup(server, out, *options):
    return json.loads(command("backup", "--data-dir", server.data, "--json", *options, out).stdout)


def restore(out, folder, expect=0):
    return command("restore", "--data-dir", folder, "--json", out, expect=expect)


def chunks_of(path):
    return json.loads(command("fold", "list", "--json", path).stdout)["chunks"]


def extracted(path, name):
    return subprocess.run([cairn.CAIRN, "fold", "extract", path, name, "-o", "-"], capture_output=True, check=True).stdout


@pytest.mark.files
@pytest.mark.parametrize("options", [(), ("--zstd", 0), ("--parity", 16), ("--zstd", 3, "--parity", 64, "--with-secret")])
def test_the_peer_reads_ours(start, make, tmp_path, options):
    server = start()
    register(server, [make([900, 1100], seed) for seed in range(3)])
    out = tmp_path / "b.fold"
    told = backup(server, out, *options)
    assert told["objects"] == 3 and told["file_bytes"] == out.stat().st_size
    got = peer_reads(out)
    assert got.keys() == {c["name"] for c in chunks_of(out)}
    for name, data in got.items():
        assert data == extracted(out, name), name
    assert ("secret" in got) == ("--with-secret" in options)
    assert got["index/000000"].startswith(b"SQLite format 3\0")
    peek = foldio.peek_fold_or_mind(str(out))
    assert peek["metadata"]["kind"] == "cairn.backup" and peek["is_mind"] is False
    assert "valid" in command("inspect", out).stdout


@pytest.mark.files
def test_both_repair_damage_within_the_parity(start, make, tmp_path):
    server = start()
    register(server, [make([900, 1100], 1)])
    out, copy = tmp_path / "b.fold", tmp_path / "copy.fold"
    backup(server, out, "--parity", 16)
    whole = peer_reads(out)
    for c in chunks_of(out):
        for word in range(0, c["stored_bytes"], 255):  # in each code word as many bytes as its parity can repair
            flip(out, c["offset"] + 32 + word, 8)
    assert peer_reads(out) == whole
    told = json.loads(command("fold", "verify", "--json", out, expect=EXIT_DATA).stdout)
    assert told["repairable"] == told["chunks"] == 2 and told["lost"] == 0
    assert "fold.repairable" in command("inspect", out, expect=EXIT_DATA).stderr
    assert "repaired objects/000000" in command("fold", "repair", out, "-o", copy).stdout
    command("fold", "verify", copy)
    assert peer_reads(copy) == whole
    assert json.loads(restore(out, tmp_path / "new").stdout)["repaired_bytes"] > 0


@pytest.mark.files
def test_damage_beyond_the_parity_is_told(start, make, tmp_path):
    server = start()
    register(server, [make([900, 1100], 1)])
    out, copy = tmp_path / "b.fold", tmp_path / "copy.fold"
    backup(server, out, "--parity", 16)
    chunk = next(c for c in chunks_of(out) if c["name"] == "objects/000000")
    flip(out, chunk["offset"] + 32 + 255, 9)
    for arguments in (("verify", out), ("repair", out, "-o", copy)):
        done = command("fold", *arguments, expect=EXIT_DATA)
        assert "lost objects/000000: chunk \"objects/000000\" is damaged beyond its parity" in done.stdout
        assert f"[fold.parity, offset {chunk['offset'] + 32 + 255}]" in done.stdout
    assert not copy.exists() and not list(tmp_path.glob("copy*"))
    refused = restore(out, tmp_path / "new", expect=EXIT_DATA)
    assert "fold.parity" in refused.stderr and str(out) in refused.stderr
    assert extracted(out, "index/000000").startswith(b"SQLite")  # the undamaged chunks can be extracted


@pytest.mark.parametrize("protection", ["off", "low", "med", "high"])
@pytest.mark.parametrize("compress", ["none", "zstd"])
def test_ours_reads_the_peer(tmp_path, protection, compress):
    source = random.Random(protection)
    payloads = {"one": b"\0", "empty": b"", "a\u00e7\u00e3o \U0001f600": b'{"a":1}', "data": bytes(range(256)) * 8 + source.randbytes(700)}
    path, copy = tmp_path / "p.fold", tmp_path / "copy.fold"
    with foldio.FoldWriter(str(path), compress=compress, ecc=ecc.ecc_from_protection(protection)) as w:
        for name, data in payloads.items():
            w.add_chunk(name, "DATA", data)
        w.finalize({"f": 1e-07, "n": None, "big": 2**70, "text": "\u00e7\x7f\U0001f600", "nested": {"z": 1, "a": [1.5, True]}})
    assert {c["name"] for c in chunks_of(path)} == payloads.keys()
    for name, data in payloads.items():
        assert extracted(path, name) == data
    command("fold", "verify", path)
    # The peer cannot read its own long chunks with parity. It can once our command has rewritten the file.
    command("fold", "repair", path, "-o", copy)
    assert copy.stat().st_mode & 0o777 == 0o600, "the copy is readable by as few as the backup, whose content it has"
    assert peer_reads(copy) == payloads


def test_names_of_chunks_do_not_steer_a_terminal(tmp_path):
    path, name, shown = tmp_path / "p.fold", "a\x1b[2Jb\x7f", "a\\x1b[2Jb\\x7f"
    with foldio.FoldWriter(str(path), compress="none") as w:
        w.add_chunk(name, "DATA", b"some bytes")
        w.finalize({})
    assert f" {shown}\n" in command("fold", "list", path).stdout
    assert f" name={shown} " in command("inspect", path).stdout
    flip(path, path.read_bytes().index(b"some bytes"), 1)
    for arguments in (("verify", path), ("repair", path, "-o", tmp_path / "copy")):
        done = command("fold", *arguments, expect=EXIT_DATA)
        assert f"lost {shown}: " in done.stdout and "\x1b" not in done.stdout
    done = command("fold", "extract", path, name, "-o", "-", expect=EXIT_DATA)
    assert shown in done.stderr and "\x1b" not in done.stderr


def test_a_part_file_of_a_killed_command_is_named(tmp_path):
    """A .part file may belong to a running process, so the command does not continue it. It names the file."""
    path = tmp_path / "p.fold"
    with foldio.FoldWriter(str(path), compress="none") as w:
        w.add_chunk("one", "DATA", b"some bytes")
        w.finalize({})
    (tmp_path / "out.part").write_bytes(b"")
    for arguments in (("repair", path), ("extract", path, "one")):
        done = command("fold", *arguments, "-o", tmp_path / "out", expect=EXIT_CREATE)
        assert "out.part: File exists; remove it if nobody writes it [file.target]" in done.stderr


class Uploads(threading.Thread):
    """Uploads xorbs and files, one after the other, until it is told to stop."""

    def __init__(self, server):
        super().__init__()
        self.server, self.files, self.stopping, self.failure = server, [], threading.Event(), None

    def run(self):
        try:
            source = random.Random(7)
            while not self.stopping.is_set():
                x = xet.Xorb([source.randbytes(2000) for _ in range(4)])
                self.files += register(self.server, [x])
                self.server.post("/v1/gc")
        except Exception as e:  # a thread's failure fails the test
            self.failure = e


@pytest.mark.files
def test_backup_of_a_busy_daemon(start, tmp_path):
    server = start()
    source = random.Random(3)
    paths = []
    for i, size in enumerate((3_000_000, 70_000, 1, 0)):
        paths.append(tmp_path / f"file{i}")
        paths[-1].write_bytes(source.randbytes(size))
    wanted = hf_client.upload(server, tmp_path / "hf", paths)
    uploads = Uploads(server)
    uploads.start()
    cairn.wait_until("some uploads", lambda: len(uploads.files) >= 5 or uploads.failure)
    before = list(uploads.files)
    out = tmp_path / "b.fold"
    backup(server, out, "--parity", 32)
    uploads.stopping.set()
    uploads.join()
    assert uploads.failure is None, uploads.failure
    command("fold", "verify", out)
    (tmp_path / "new").mkdir()
    assert json.loads(restore(out, tmp_path / "new" / "data").stdout)["secret"] is False
    command("fsck", "--data-dir", tmp_path / "new" / "data")
    assert not [p for p in tmp_path.iterdir() if p.name.startswith("b.fold.")]

    other = start(name="new")
    for f in before:
        assert other.request("HEAD", f"/v1/files/{xet.text(f.hash())}").status == 200
    gets = [{"hash": w["hash"], "size": w["size"], "how": "file"} for w in wanted]
    for got, path in zip(hf_client.download(other, tmp_path / "down", gets), paths, strict=True):
        data = path.read_bytes()
        assert got == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


@pytest.mark.files
def test_backup_of_packed_xorbs(start, tmp_path):
    server, book = start(), ledger.Ledger()
    for seed in range(6):
        assert book.upload(server, ledger.new_file(seed, xorbs=2)).status == 200
    packed = len(book.xorbs)
    assert server.post("/v1/packs?name=a.shard").status == 202
    cairn.wait_until("the packing", lambda: not server.get("/v1/packs").json()["job"]["running"])
    assert not server.objects()
    assert book.upload(server, ledger.new_file(100, xorbs=2)).status == 200
    out = tmp_path / "b.fold"
    assert backup(server, out)["objects"] == len(book.xorbs) == packed + 2
    (tmp_path / "new").mkdir()
    restore(out, tmp_path / "new" / "data")
    command("fsck", "--data-dir", tmp_path / "new" / "data")
    book.check(start(name="new"))


def test_nothing_is_collected_meanwhile(start):
    server = start()
    with open(server.data / "hold", "a+b") as hold:  # as a running backup holds it
        fcntl.flock(hold, fcntl.LOCK_SH)
        cairn.is_error(server.post("/v1/gc"), 503, "gc.held")
    assert server.post("/v1/gc").status == 200


@pytest.mark.files
def test_kill_and_go_on(start, make, tmp_path):
    server = start()
    xorbs = [make([120_000] * 170, seed) for seed in range(8)]  # 20 MB each: three to a chunk of the FOLD file
    register(server, xorbs)
    out, part, folder = tmp_path / "b.fold", tmp_path / "b.fold.part", tmp_path / "new" / "data"
    arguments = ("backup", "--data-dir", server.data, out)
    killed(arguments, lambda: part.exists() and part.stat().st_size > 70_000_000)
    assert not out.exists()
    kept = backup(server, out)
    assert kept["objects"] == 8 and kept["objects_kept"] >= 3
    server.stop()

    folder.parent.mkdir()
    objects = folder / "objects"
    killed(("restore", "--data-dir", folder, out), lambda: objects.exists() and len(list(objects.rglob("?" * 64))) >= 2)
    refused = subprocess.run([cairn.CAIRND, "--data-dir", str(folder), "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "cairn restore" in refused.stderr
    told = json.loads(restore(out, folder).stdout)
    assert told["objects"] == 8 and told["objects_found"] >= 2
    command("fsck", "--data-dir", folder)
    assert "restore.folder" in restore(out, folder, expect=EXIT_CREATE).stderr
    assert start(name="new").request("HEAD", xorbs[5].path()).status == 200


@pytest.mark.files
def test_inspecting_has_a_bar(start, make, tmp_path):
    server, out = start(), tmp_path / "b.fold"
    register(server, [make([9000], 1)])
    backup(server, out)
    for options, drawn in (((), True), (("-q",), False)):
        terminal, end = pty.openpty()
        with open(terminal, "rb", buffering=0) as told:
            assert subprocess.run([cairn.CAIRN, "inspect", *options, out], stdout=subprocess.DEVNULL, stderr=end, timeout=60).returncode == 0
            os.write(end, b"END")
            os.close(end)
            assert (b"] 28 bytes of" in told.read(4096)) == drawn


# enough to show such a comparison, and few, because fsck also runs a statement for each


@pytest.mark.files
def test_refusals(start, make, tmp_path):
    server = start()
    register(server, [make([900], 1)])
    out = tmp_path / "b.fold"
    out.write_bytes(b"mine")
    assert "backup.exists" in command("backup", "--data-dir", server.data, out, expect=EXIT_CREATE).stderr
    out.unlink()
    part = Path(f"{out}.part")
    part.write_bytes(b"mine too")
    assert "backup.part" in command("backup", "--data-dir", server.data, out, expect=EXIT_CREATE).stderr
    assert part.read_bytes() == b"mine too"
    part.unlink()
    [xorb] = server.data.glob("objects/*/*/*")
    data = xorb.read_bytes()
    xorb.write_bytes(data[:-1])
    assert "backup.object" in command("backup", "--data-dir", server.data, out, expect=EXIT_DATA).stderr
    xorb.unlink()
    assert "backup.missing" in command("backup", "--data-dir", server.data, out, expect=EXIT_DATA).stderr
    xorb.write_bytes(data)
    backup(server, out)

    mind = tmp_path / "other.fold"
    with foldio.FoldWriter(str(mind), compress="none") as w:
        w.finalize({})
    assert "restore.kind" in restore(mind, tmp_path / "new", expect=EXIT_DATA).stderr
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").touch()
    assert "restore.folder" in restore(out, full, expect=EXIT_CREATE).stderr
    assert [p.name for p in full.iterdir()] == ["mine"]
    assert "file.open" in restore(tmp_path / "none", tmp_path / "new", expect=66).stderr
    assert not (tmp_path / "new").exists()
