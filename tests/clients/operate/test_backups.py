"""Folders of backups: `cairn backup --incremental`, `cairn backups`, `cairn restore --at`; and a warm standby that is fed by them."""

import json
import random
import re
import shutil
import signal
import subprocess
import textwrap

import cairn
import pytest
import xet
from backups import Restored, backup, command, forget, listed, prune, put, rename

pytestmark = pytest.mark.files


@pytest.fixture
def restored(start, tmp_path):
    return Restored(start, tmp_path)


@pytest.fixture
def moments(start, tmp_path):
    """A folder with three moments (backups of one time each). Each has one file more; the last one lacks the first file."""
    server, folder, files, told = start(), tmp_path / "backups", [], []
    for i in range(3):
        files.append(put(server, i))
        if i == 2:
            forget(server, files[0])
        told.append(backup(server, folder))
    return server, folder, files, told


def test_each_backup_has_the_new_objects(moments):
    server, folder, _, told = moments
    assert [(t["objects"], t["objects_earlier"]) for t in told] == [(1, 0), (1, 1), (1, 2)]
    assert [a["kind"] for a in listed(folder)] == ["objects", "moment"] * 3
    assert [a["time"] for a in listed(folder) if a["kind"] == "moment"] == [t["moment"] for t in told]
    again = backup(server, folder)
    assert again["objects"] == 0 and [a["kind"] for a in listed(folder)][6:] == ["moment"], "without new objects there is no archive of objects"
    verified = json.loads(command("backups", "verify", "--json", folder).stdout)
    assert verified["bad"] == [] and verified["moments"] == 4
    assert sorted(p.name for p in folder.iterdir() if p.suffix != ".fold") == ["lock"]
    for archive in listed(folder):
        command("fold", "verify", folder / archive["file"])


def test_each_moment_comes_back(moments, restored, tmp_path):
    _, folder, files, told = moments
    for i, (has, lacks) in enumerate((([0], [1, 2]), ([0, 1], [2]), ([1, 2], [0]))):
        made = restored.serves(folder, f"back{i}", [files[n] for n in has], [files[n] for n in lacks], "--at", told[i]["moment"])
        assert made["moment"] == told[i]["moment"]
    assert restored.serves(folder, "last", files[1:])["moment"] == told[2]["moment"]
    assert restored.serves(folder, "year", files[1:], (), "--at", told[2]["moment"][:4])["moment"] == told[2]["moment"], "a year stands for its last moment"
    assert "restore.moment" in command("restore", "--data-dir", tmp_path / "none", "--at", "1999", folder, expect=66).stderr
    for wrong in ("x", "2026112", "20261301", "20261123T25", "20261123T0610009"):
        command("restore", "--data-dir", tmp_path / "none", "--at", wrong, folder, expect=64)


def test_pruning_keeps_needed_objects(moments, start, restored):
    """Another store with the same identity and another history is backed up into the same folder. The folder has one of its two objects already. Pruning
    keeps that one."""
    server, folder, files, told = moments
    other = start("other")
    mine = [put(other, 1), put(other, 77)]
    shutil.copy(server.data / "identity", other.data)
    told.append(backup(other, folder))
    assert (told[3]["objects"], told[3]["objects_earlier"]) == (1, 1)
    dry = json.loads(command("backups", "prune", "--keep-last", 1, "--dry-run", "--json", folder).stdout)
    assert (dry["moments_kept"], dry["moments_removed"]) == (1, 3) and len(listed(folder)) == 8
    done = json.loads(command("backups", "prune", "--keep-last", 1, "--json", folder).stdout)
    assert done["freed_bytes"] == dry["freed_bytes"] > 0
    assert [(a["time"], a["kind"]) for a in listed(folder)] == [(told[1]["moment"], "objects"), (told[3]["moment"], "objects"), (told[3]["moment"], "moment")]
    restored.serves(folder, "again", mine, [files[0], files[2]])
    assert backup(server, folder)["objects"] == 2, "objects that pruning removed are saved again"
    restored.serves(folder, "first", files[1:], files[:1])


def test_rules(moments):
    _, folder, _, told = moments
    command("backups", "prune", folder, expect=64)
    command("backups", "prune", "--keep-daily", 0, folder, expect=64)
    command("backups", "verify", "--keep-daily", 1, folder, expect=64)
    command("backups", "list", folder.parent / "nothing", expect=66)
    # All moments are of one day, or of two. The newest of each day is kept.
    days = {t["moment"][:8] for t in told}
    done = json.loads(command("backups", "prune", "--keep-daily", 7, "--keep-yearly", 3, "--json", folder).stdout)
    assert done["moments_kept"] == len(days)
    assert told[2]["moment"] in {a["time"] for a in listed(folder)}


def test_rules_over_years(start, tmp_path):
    """Moments of several years. Their time is in their names."""
    server, folder = start(), tmp_path / "backups"
    put(server, 1)
    times = ["20240229T120000Z", "20241231T235959Z", "20250101T000000Z", "20250105T100000Z", "20250106T100000Z", "20250106T110000Z"]
    for at in times:
        rename(folder, backup(server, folder)["moment"], at)

    def kept(*rules):
        done = json.loads(command("backups", "prune", "--dry-run", "--json", *rules, folder).stdout)
        return [a["time"] for a in done["archives"] if a.get("kept") and a["kind"] == "moment"]

    assert kept("--keep-last", 2) == times[4:]
    assert kept("--keep-yearly", 5) == [times[1], times[5]]
    assert kept("--keep-monthly", 2) == [times[1], times[5]]
    assert kept("--keep-weekly", 2) == [times[3], times[5]], "Sunday the 5th belongs to the week before Monday the 6th"
    assert kept("--keep-daily", 3) == [times[2], times[3], times[5]]
    assert kept("--keep-hourly", 2) == times[4:]
    assert kept("--keep-daily", 1, "--keep-yearly", 2) == [times[1], times[5]]


def test_verify_and_restore_name_a_damaged_or_absent_archive(moments, tmp_path):
    _, folder, _, told = moments
    path = folder / f"{told[0]['moment']}.objects.fold"
    whole = path.read_bytes()
    path.write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    done = json.loads(command("backups", "verify", "--json", folder, expect=65).stdout)
    assert {b["file"] for b in done["bad"]} == {path.name} | {f"{t['moment']}.moment.fold" for t in told}
    assert path.name in command("restore", "--data-dir", tmp_path / "back", folder, expect=65).stderr
    path.unlink()
    assert "restore.missing" in command("backups", "verify", folder, expect=65).stdout
    assert "restore.missing" in command("restore", "--data-dir", tmp_path / "back2", folder, expect=65).stderr


def test_a_lost_archive_is_made_again(moments):
    server, folder, _, told = moments
    (folder / f"{told[1]['moment']}.objects.fold").unlink()
    command("backups", "verify", folder, expect=65)
    assert backup(server, folder)["objects"] == 1
    command("backups", "verify", folder)


@pytest.mark.parametrize("seconds", [0.02, 0.08, 0.2, 0.5])
def test_killed_at_any_time(moments, restored, seconds):
    """Every archive that has its final name is whole, and the next backup continues."""
    server, folder, files, _ = moments
    more = [put(server, 100 + i) for i in range(20)]
    killed = subprocess.Popen([cairn.CAIRN, "backup", "--data-dir", server.data, "--incremental", folder], stderr=subprocess.PIPE)
    try:
        killed.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        killed.send_signal(signal.SIGKILL)
    killed.communicate()
    command("backups", "verify", folder)
    assert backup(server, folder)["objects_earlier"] + 20 >= 23
    command("backups", "verify", folder)
    restored.serves(folder, "again", files[1:] + more)


def test_one_at_a_time(moments):
    server, folder, _, _ = moments
    lock = subprocess.Popen(["flock", "--exclusive", folder / "lock", "sh", "-c", "echo; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    lock.stdout.readline()
    for arguments in (("backup", "--data-dir", server.data, "--incremental", folder), ("backups", "prune", "--keep-last", 1, folder), ("backups", "verify", folder)):
        assert "backup.in_use" in command(*arguments, expect=73).stderr
    lock.communicate()
    command("backups", "verify", folder)


def test_a_warm_standby(moments, restored, tmp_path):
    """Runs the lines of docs/operations.md. Archives are copied only once they have their final names, after which they never change. Pruned archives are
    removed from the copy, too."""
    server, folder, files, _ = moments
    copy = tmp_path / "copied"
    copy.mkdir()
    lines = (cairn.ROOT / "docs/operations.md").read_text().split("    flock --shared ")[1].split("    COPY\n")[0] + "COPY\n"
    script = "flock --shared " + textwrap.dedent(lines).replace("standby:/backup/cairn", str(copy)).replace("/backup/cairn", str(folder))

    def feed():
        (folder / "next.part").write_bytes(b"half of one")
        subprocess.run(["sh", "-ec", script], check=True, timeout=60)
        (folder / "next.part").unlink()
        assert {p.name for p in copy.iterdir()} - {"lock"} == {p.name for p in folder.iterdir()} - {"lock"}

    feed()
    restored.serves(copy, "standby", files[1:])
    files.append(put(server, 9))
    backup(server, folder)
    feed()
    restored.serves(copy, "next", files[1:])
    prune(folder, "--keep-last", 1, "--max-unused", 0)
    feed()
    restored.serves(copy, "pruned", files[1:])


def identity(data):
    [text] = (data / "identity").read_text().splitlines()
    assert re.fullmatch("[0-9a-f]{32}", text) and (data / "identity").stat().st_mode & 0o777 == 0o600
    return text


def test_a_folder_is_of_one_store(moments, start, restored):
    """A backup of another store is refused before anything is written, and names both identities. A store that was restored from the folder may continue in
    it."""
    server, folder, files, told = moments
    other, before = start("other"), {p.name: p.read_bytes() for p in folder.iterdir()}
    put(other, 50)
    said = command("backup", "--data-dir", other.data, "--incremental", folder, expect=73).stderr
    assert "backup.store" in said and identity(server.data) in said and identity(other.data) in said
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    # One archive of either kind is enough to know the store.
    for kind in ("objects", "moment"):
        alone = folder.parent / kind
        alone.mkdir()
        shutil.copy(folder / f"{told[1]['moment']}.{kind}.fold", alone)
        assert "backup.store" in command("backup", "--data-dir", other.data, "--incremental", alone, expect=73).stderr
    restored.serves(folder, "back", files[1:])
    again = restored.tmp_path / "back" / "data"
    assert identity(again) == identity(server.data)
    done = json.loads(command("backup", "--data-dir", again, "--incremental", "--json", folder).stdout)
    assert (done["objects"], done["objects_earlier"]) == (0, 3)
    # An archive that does not say its store is accepted: one from before there were identities, or a moment that was cut off.
    (folder / f"{done['moment']}.moment.fold").write_bytes(b"cut")
    assert backup(server, folder)["objects"] == 0


@pytest.mark.parametrize("pipe", [False, True])
def test_one_backup_brings_the_identity_back(moments, tmp_path, pipe):
    server, _, _, _ = moments
    out = tmp_path / "one.fold"
    command("backup", "--data-dir", server.data, *(["--with-secret"] if pipe else []), out)
    with open(out, "rb") as stream:
        done = subprocess.run([cairn.CAIRN, "restore", "--data-dir", tmp_path / "back", "-" if pipe else out], stdin=stream, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert identity(tmp_path / "back") == identity(server.data)


def test_a_malformed_identity_is_refused(moments):
    server, folder, _, _ = moments
    mine = (server.data / "identity").read_bytes()
    for wrong in (mine[:-1] + b"x", mine + b"\n", mine.upper().replace(b"0", b"G"), mine[:7], b"\n"):
        (server.data / "identity").write_bytes(wrong)
        assert "data_dir.identity" in command("backup", "--data-dir", server.data, "--incremental", folder, expect=65).stderr
        assert (server.data / "identity").read_bytes() == wrong
    (server.data / "identity").write_bytes(mine[:-1])  # as an operator might write it, without a newline at its end
    command("backup", "--data-dir", server.data, "--incremental", folder)
    # A killed backup left an empty file. No archive has that identity yet, so the next backup makes a new one, which is another store's.
    (server.data / "identity").write_bytes(b"")
    assert "backup.store" in command("backup", "--data-dir", server.data, "--incremental", folder, expect=73).stderr
    assert identity(server.data) != mine.decode().strip()


def test_invalid_times_are_refused(moments, tmp_path):
    """The first second of 1970 is a time and the 31st of February is not. A single backup file has one moment."""
    server, folder, _, _ = moments
    for before in ("19700101T000000Z", "19691231", "1969"):
        assert "restore.moment" in command("restore", "--data-dir", tmp_path / "none", "--at", before, folder, expect=66).stderr
    for before in ("1970-01-01T00:00:00Z", "1969-12-31", "1969-12-31T06:10"):
        assert "restore.moment" in command("restore", "--data-dir", tmp_path / "none", "--at", before, folder, expect=66).stderr
    for wrong in ("20260229", "20260431T12", "20260100", "2026-02-29", "20-260101", "2026-01-01T06:1", "2026-01-01T06:10:00Z0000"):
        command("restore", "--data-dir", tmp_path / "none", "--at", wrong, folder, expect=64)
    command("backup", "--data-dir", server.data, tmp_path / "one.fold")
    assert "restore.time" in command("restore", "--data-dir", tmp_path / "none", "--at", "2026", tmp_path / "one.fold", expect=64).stderr
    assert not (tmp_path / "none").exists()


def test_a_backup_into_its_own_source_is_refused(moments, tmp_path):
    server, _, _, _ = moments
    (tmp_path / "link").symlink_to(server.data)
    (server.data / "there").mkdir()
    before = set(server.data.iterdir())
    for folder in (server.data, server.data / "there", server.data / "not-there", tmp_path / "link"):
        assert "backup.folder" in command("backup", "--data-dir", server.data, "--incremental", folder, expect=64).stderr
    assert set(server.data.iterdir()) == before and not list((server.data / "there").iterdir())


def test_an_archive_that_is_not_needed(moments, restored):
    """One archive is cut off, another has a flipped bit. The restored moment needs neither, or finds its objects elsewhere."""
    server, folder, files, told = moments
    later = folder / f"{told[2]['moment']}.objects.fold"
    later.write_bytes(later.read_bytes()[:-100])
    for i, has in enumerate(([0], [0, 1])):
        made = restored.serves(folder, f"half{i}", [files[n] for n in has], (), "--at", told[i]["moment"])
        assert made["archives_damaged"] == 0, "archives that the moment does not need are not opened"
    assert later.name in command("restore", "--data-dir", folder.parent / "x", folder, expect=65).stderr
    assert later.name in command("backup", "--data-dir", server.data, "--incremental", folder, expect=65).stderr
    assert later.name in command("backups", "prune", "--keep-last", 1, folder, expect=65).stderr
    aside = folder.parent / later.name
    later.rename(aside)
    assert backup(server, folder)["objects"] == 1
    aside.rename(later)
    assert restored.serves(folder, "elsewhere", files[1:])["archives_damaged"] == 1


def test_a_moment_after_a_future_one_gets_a_later_name(moments, restored):
    """A moment is dated in the future. The next one gets a later name than it, and the command warns of the clock."""
    server, folder, files, told = moments
    rename(folder, told[2]["moment"], "20991231T235959Z")
    files.append(put(server, 40))
    done = command("backup", "--data-dir", server.data, "--incremental", "--json", folder)
    assert json.loads(done.stdout)["moment"] == "21000101T000000Z" and "21000101T000000Z" in done.stderr and "clock" in done.stderr
    restored.serves(folder, "last", files[1:])


def test_others_may_not_read(moments, tmp_path):
    """All files are readable by the owner only, whatever the umask."""
    _, folder, _, _ = moments
    command("restore", "--data-dir", tmp_path / "back", folder)
    command("backups", "verify", folder)
    for top in (folder, tmp_path / "back"):
        for path in (top, *top.rglob("*")):
            assert path.stat().st_mode & 0o077 == 0, path


def test_the_same_xorb_packed_otherwise(start, clock, restored):
    """A xorb is collected and uploaded again in another compression of the same length. Each moment restores the bytes that its index describes."""
    server, folder = start(test_clock=clock.path, epoch="60s", gc_grace="120s"), restored.tmp_path / "backups"
    source = random.Random(5)
    x = xet.Xorb([source.randbytes(9000) for _ in range(3)])
    file = xet.File([(x, 0, 3)], sha256=bytes(32))
    name, told = xet.text(file.hash()), []
    for i in range(3):
        assert server.request("POST", x.path(), xet.packed(x, i % 2)).status == 200
        assert server.post("/v1/shards", xet.shard([file], [x])).status == 200
        told.append(backup(server, folder))
        forget(server, name)
        for n in range(2):
            clock.move(121 * (2 * i + n + 1))
            assert server.post("/v1/gc").status == 200
    assert [(t["objects"], t["objects_earlier"]) for t in told] == [(1, 0), (1, 0), (0, 1)]
    command("backups", "verify", folder)
    for i, t in enumerate(told):
        restored.serves(folder, f"back{i}", [name], (), "--at", t["moment"])
        assert [p.read_bytes() for p in (restored.tmp_path / f"back{i}" / "data" / "objects").rglob("*") if p.is_file()] == [xet.packed(x, i % 2)]
    assert json.loads(command("backups", "prune", "--keep-last", 1, "--json", folder).stdout)["moments_kept"] == 1
    assert [a["time"] for a in listed(folder)] == [told[0]["moment"], told[2]["moment"]]


def test_pruning_a_full_disk(mount, start):
    """An interrupted backup filled the disk. The next one fails and says so; pruning makes room again."""
    volume = mount("full", "tmpfs", 4 << 20)
    server, folder = start(), volume.folder
    for i in range(2):
        put(server, i)
        backup(server, folder)
    with open(folder / "next.part", "wb") as f:
        f.write((folder / listed(folder)[0]["file"]).read_bytes()[:8])
        with pytest.raises(OSError):
            while f.write(bytes(1 << 16)):
                f.flush()
    put(server, 3)
    assert "full" in command("backup", "--data-dir", server.data, "--incremental", folder, expect=73).stderr
    before = listed(folder)
    command("backups", "prune", "--keep-last", 1, "--dry-run", folder, expect=73)
    command("backups", "prune", "--keep-last", 1, folder)
    assert [a["file"] for a in listed(folder)] == [a["file"] for a in before if a["file"] != before[1]["file"]]
    assert backup(server, folder)["objects"] == 1
    command("backups", "verify", folder)
