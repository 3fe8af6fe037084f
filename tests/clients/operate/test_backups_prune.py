"""`cairn backups prune` of archives that are needed in part: space that nothing needs is given back, and nothing else is lost, whenever it is killed."""

import json
import os
import pathlib
import subprocess

import pytest
from backups import Restored, backup, command, forget, listed, prune, put

pytestmark = pytest.mark.files

KEEP = ("--keep-last", 1)
MANY = 8


@pytest.fixture
def sparse(start, clock, tmp_path):
    """A folder with an archive of eight objects, of which the last moment needs one, and an archive of two objects, which it needs both."""
    server, folder = start(test_clock=clock.path, epoch="60s", gc_grace="120s"), tmp_path / "backups"
    files = [put(server, i) for i in range(MANY)]
    backup(server, folder, "--parity", 16)
    files += [put(server, 100 + i) for i in range(2)]
    backup(server, folder)
    for file in files[1:MANY]:
        forget(server, file)
    for n in range(2):
        clock.move(121 * (n + 1))
        assert server.post("/v1/gc").status == 200
    backup(server, folder)
    return server, folder, [files[0], *files[MANY:]], files[1:MANY]


@pytest.fixture
def restored(start, tmp_path):
    return Restored(start, tmp_path)


def size(folder):
    return sum(p.stat().st_size for p in folder.glob("*.fold"))


def test_the_space_of_unneeded_objects_is_freed(sparse, restored):
    server, folder, has, lacks = sparse
    before, names = size(folder), {a["file"] for a in listed(folder)}
    dry = prune(folder, *KEEP, "--dry-run")
    told = {a["time"]: a for a in dry["archives"] if a["kind"] == "objects"}
    first, second = sorted(told)
    assert told[first]["rewritten"] and told[first]["unused_bytes"] == 7 * 3 * 9008
    assert told[second]["kept"] and told[second]["unused_bytes"] == 0
    assert {a["file"] for a in listed(folder)} == names, "a dry run changes nothing"
    done = prune(folder, *KEEP)
    assert (done["archives_rewritten"], done["archives_removed"], done["moments_removed"], done["unused_bytes"]) == (1, 0, 2, 0)
    assert done["freed_bytes"] == before - size(folder) and done["left_bytes"] == size(folder)
    assert abs(dry["freed_bytes"] - done["freed_bytes"]) < 8000, "the estimate differs only by what an archive has besides objects"
    left = listed(folder)
    assert not {a["file"] for a in left} & {f"{first}.objects.fold"} and len(left) == 3
    [new] = [a["file"] for a in left if a["file"] not in names]
    shown = json.loads(command("inspect", "--json", folder / new).stdout)
    assert {c["parity"] for c in shown["records"] if c["record"] == "chunk"} == {16}, "an archive that had parity keeps it"
    command("backups", "verify", folder)
    restored.serves(folder, "back", has, lacks)
    # The next backup finds the objects in the rewritten archive.
    assert backup(server, folder)["objects"] == 0
    assert prune(folder, *KEEP)["archives_rewritten"] == 0
    assert not [p for p in folder.iterdir() if p.suffix != ".fold" and p.name != "lock"]


def test_how_much_may_be_unneeded(sparse):
    """7 of 8 objects are not needed, that is 87.5 %."""
    _, folder, _, _ = sparse
    assert prune(folder, *KEEP, "--max-unused", 88, "--dry-run")["archives_rewritten"] == 0
    assert prune(folder, *KEEP, "--max-unused", 87, "--dry-run")["archives_rewritten"] == 1
    never = prune(folder, *KEEP, "--max-unused", 100)
    assert never["archives_rewritten"] == 0 and never["unused_bytes"] == 7 * 3 * 9008
    for wrong in (("--max-unused", 101, *KEEP), ("--max-unused", "x", *KEEP), ("--max-unused", 10)):
        command("backups", "prune", *wrong, folder, expect=64)
    command("backups", "verify", "--max-unused", 10, folder, expect=64)
    said = command("backups", "prune", *KEEP, folder).stdout
    assert "rewrite " in said and "1 rewritten" in said and "0 bytes of objects that nobody needs" in said, said


@pytest.mark.parametrize("step", ["prune-removed", "prune-written", "prune-named", "prune-removed:2", "prune-removed:3"])
def test_killed(sparse, restored, tmp_path, step):
    """After the kill all remaining moments are whole, and the next pruning completes the work."""
    server, folder, has, lacks = sparse
    crash = tmp_path / "crash"
    crash.write_text(step)
    command("backups", "prune", *KEEP, folder, expect=-9, env={"CAIRND_CRASH_FILE": str(crash)})
    verified = json.loads(command("backups", "verify", "--json", folder).stdout)
    assert verified["bad"] == [] and verified["moments"] >= 1
    assert backup(server, folder)["objects"] == 0
    prune(folder, *KEEP)
    assert [a["kind"] for a in listed(folder)].count("objects") == 2
    assert not [p for p in folder.iterdir() if p.suffix != ".fold" and p.name != "lock"]
    assert prune(folder, *KEEP)["unused_bytes"] == 0
    command("backups", "verify", folder)
    restored.serves(folder, "back", has, lacks)


def damaged(path: pathlib.Path, at):
    whole = path.read_bytes()
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])


def test_a_damaged_archive_is_not_rewritten(sparse):
    """The damaged archive has no parity, so its objects cannot be copied. Pruning then changes nothing."""
    _, folder, _, _ = sparse
    first = sorted(folder.glob("*.objects.fold"))[0]
    command("fold", "verify", first)
    for at in range(200, 400, 2):  # damages more than the parity of a code word can repair
        damaged(first, at)
    before = {p.name for p in folder.glob("*.objects.fold")}
    said = command("backups", "prune", *KEEP, folder, expect=65).stderr
    assert first.name in said
    assert {p.name for p in folder.glob("*.objects.fold")} == before and not (folder / "prune.part").exists()


def test_the_new_archive_is_read_before_the_old_one_is_removed(sparse, tmp_path):
    """A killed pruning had written the new archive, which was then damaged. The next pruning reads the new archive before it removes the old one, and keeps
    both."""
    _, folder, _, _ = sparse
    crash = tmp_path / "crash"
    crash.write_text("prune-named")
    before = {p.name for p in folder.glob("*.objects.fold")}
    command("backups", "prune", *KEEP, folder, expect=-9, env={"CAIRND_CRASH_FILE": str(crash)})
    [new] = [p for p in folder.glob("*.objects.fold") if p.name not in before]
    for at in range(200, 400, 2):
        damaged(new, at)
    said = command("backups", "prune", *KEEP, folder, expect=65).stderr
    assert new.name in said
    assert {p.name for p in folder.glob("*.objects.fold")} == before | {new.name}
    new.unlink()
    assert prune(folder, *KEEP)["archives_rewritten"] == 1
    command("backups", "verify", folder)


def test_a_full_disk(mount, start, clock, tmp_path):
    """There is no space for the new archive. Archives that nothing needs are removed, the others stay, and the command says so."""
    volume = mount("full", "tmpfs", 4 << 20)
    server, folder = start(test_clock=clock.path, epoch="60s", gc_grace="120s"), volume.folder / "backups"
    files = [put(server, i) for i in range(60)]
    backup(server, folder)
    for file in files[:40]:
        forget(server, file)
    for n in range(2):
        clock.move(121 * (n + 1))
        assert server.post("/v1/gc").status == 200
    backup(server, folder)
    before = listed(folder)
    volume.fill()
    room = (server.data / "index.sqlite").stat().st_size + (48 << 10)  # enough to read a moment, and not enough for twenty objects
    os.truncate(volume.filler, volume.filler.stat().st_size - room)
    said = command("backups", "prune", *KEEP, folder, expect=73)
    assert "full" in said.stderr
    assert [a["file"] for a in listed(folder)] == [before[0]["file"], before[-1]["file"]], "the removed moment is gone"
    assert not (folder / "prune.part").exists()
    command("backups", "verify", folder)
    volume.empty()
    assert prune(folder, *KEEP)["archives_rewritten"] == 1
    command("backups", "verify", folder)


def test_one_reader_at_a_time(sparse):
    """Somebody who copies the folder holds its lock. Nothing is rewritten meanwhile."""
    _, folder, _, _ = sparse
    copying = subprocess.Popen(["flock", "--shared", folder / "lock", "sh", "-c", "echo; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    copying.stdout.readline()
    assert "backup.in_use" in command("backups", "prune", *KEEP, folder, expect=73).stderr
    copying.communicate()
    prune(folder, *KEEP)


def test_verifying_does_not_write_to_the_folder(mount, start, tmp_path):
    """On a full disk, on a read-only medium, and beside another reader: the temporary copy of an index is in TMPDIR."""
    volume = mount("medium", "tmpfs", 4 << 20)
    server, folder, spool = start(), volume.folder / "backups", tmp_path / "spool"
    spool.mkdir()
    put(server, 1)
    backup(server, folder)
    volume.fill()
    env = os.environ | {"TMPDIR": str(spool)}
    command("backups", "verify", folder, env=env)
    command("backups", "verify", folder, expect=74, env=env | {"TMPDIR": str(tmp_path / "nowhere")})
    subprocess.run(["mount", "-o", "remount,ro", volume.folder], check=True)
    with subprocess.Popen(["flock", "--shared", folder / "lock", "sh", "-c", "echo; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        reader.stdout.readline()
        command("backups", "verify", folder, env=env)
        reader.stdin.close()
    subprocess.run(["mount", "-o", "remount,rw", volume.folder], check=True)
    assert list(spool.iterdir()) == [] and {p.name for p in folder.iterdir() if p.suffix != ".fold"} == {"lock"}
