"""A part of a data folder is missing or somewhere else. The daemon refuses to start, names the part, and says what to do."""

import shutil
import subprocess

import cairn
import pytest
import xet

MIB = 1 << 20


def put_file(server, make, seed=1):
    x = make([9000], seed)
    file = xet.File([(x, 0, 1)])
    assert server.put_xorb(x).status == 200
    assert server.post("/v1/shards", xet.shard([file], [x])).status == 200
    return file


def is_there(server, file):
    return server.get(f"/v2/reconstructions/{xet.text(file.hash())}").status == 200


def refused(server):
    return cairn.refused(server.folder, "--data-dir", str(server.data), "--listen", "127.0.0.1:0")


def fsck(server, *options):
    done = subprocess.run([cairn.CAIRN, "fsck", "--data-dir", str(server.data), *options], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("packed", [False, True])
def test_without_an_index(start, make, packed, tmp_path):
    """The daemon and fsck do not make a new index when there are objects or packs. When the index is put back, everything is there."""
    server = start()
    file = put_file(server, make)
    if packed:
        assert server.post("/v1/packs?name=one.shard").status == 202
        cairn.wait_until("the folder to be empty", lambda: not server.objects())
    server.stop()
    shutil.move(server.data / "index.sqlite", tmp_path / "index.sqlite")
    line = refused(server)
    assert "there are objects and no index.sqlite" in line and "put it back" in line, line
    assert not (server.data / "index.sqlite").exists()
    for options in ((), ("--repair",)):
        code, text = fsck(server, *options)
        assert code != 0 and "index.sqlite" in text, text
        assert not (server.data / "index.sqlite").exists()
    shutil.move(tmp_path / "index.sqlite", server.data / "index.sqlite")
    server.start()
    assert is_there(server, file)


def test_starting_over_with_an_empty_index(start, make):
    """The operator gives up all files, as the documentation describes: they make an empty index by hand, and fsck registers the objects that verify."""
    server = start()
    file = put_file(server, make)
    server.stop()
    (server.data / "index.sqlite").unlink()
    (server.data / "index.sqlite").touch(0o600)
    code, text = fsck(server, "--repair")
    assert "object.alone" in text, (code, text)
    server.start()
    assert not is_there(server, file)
    assert put_file(server, make).hash() == file.hash()
    assert is_there(server, file)


def test_a_first_start_that_was_killed(start):
    """A first start was killed after it made the folders and before the index. The next start makes the index."""
    server = start()
    server.stop()
    (server.data / "index.sqlite").unlink()
    (server.data / "objects" / "ab" / "cd").mkdir(parents=True)
    server.start()


def bind(folder, *options):
    done = subprocess.run(["mount", "--bind", *options, str(folder), str(folder)], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"a folder cannot be mounted here: {done.stderr.strip().rsplit(': ', 1)[-1]}")


@pytest.mark.parametrize("kind, error", [("other", "Invalid cross-device link"), ("same", "Invalid cross-device link"), ("read-only", "Read-only file system")])
def test_objects_elsewhere(mount, start, make, kind, error):
    volume = mount("server/data", "tmpfs", 64 * MIB)
    server = start(reserve_bytes="1M")
    file = put_file(server, make)
    server.stop()
    objects = volume.folder / "objects"
    if kind == "other":
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=0700", "none", str(objects)], check=True)
    else:
        bind(objects, *(["-o", "ro"] if kind == "read-only" else []))
    try:
        line = refused(server)
        assert "cannot link from tmp into objects" in line and error in line and "mount" in line, line
        if kind == "read-only":
            code, text = fsck(server)
            assert code == 0, text  # it only reads
    finally:
        subprocess.run(["umount", "-l", str(objects)], check=True)
    server.start()
    assert is_there(server, file)
    assert put_file(server, make, 2)
    assert not list(objects.glob(".*"))


def test_objects_taken_away_under_a_daemon(mount, start, make):
    """The log has the operating system's error."""
    volume = mount("server/data", "tmpfs", 64 * MIB)
    server = start(reserve_bytes="1M", sandbox="off")
    objects = volume.folder / "objects"
    shutil.rmtree(objects)
    cairn.is_error(server.put_xorb(make([9000], 3)), 500, "store.write")
    assert "No such file or directory" in server.events("request_failed")[0]["cause"]
