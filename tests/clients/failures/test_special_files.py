"""A file in a data folder, or an argument of a command, is not a regular file: a FIFO, on which open() would block, a folder or a link."""

import json
import os
import subprocess

import cairn
import ledger
import plans
import pytest
import xet

pytestmark = pytest.mark.files


def stored(server, make, seed=1):
    """Uploads a file of one xorb. @return the file, the xorb, the path of its object"""
    xorb = make([20_000] * 4, seed)
    file = xet.File([(xorb, 0, 4)])
    assert ledger.Ledger().upload(server, file).status == 200
    text = xet.text(xorb.hash)
    return file, xorb, server.data / "objects" / text[:2] / text[2:4] / text


def address(server, file):
    [[(url, _)]] = plans.fetches_of(server.get(f"/v2/reconstructions/{ledger.name(file)}").json()).values()
    return plans.path_of(url)


def run(*args, **more):
    return subprocess.run([cairn.CAIRN, *map(str, args)], capture_output=True, text=True, timeout=10, **more)


def test_a_fifo_for_an_object_holds_nobody_up(start, make):
    server = start()
    file, xorb, path = stored(server, make)
    other, other_xorb, _ = stored(server, make, 2)
    url = address(server, file)
    path.unlink()
    os.mkfifo(path)
    for _ in range(20):  # more than the daemon has threads that could block
        assert server.get(url, timeout=10).status in (410, 500)
    assert server.get(address(server, other), timeout=10).body == other_xorb.body()
    server.stop()
    assert run("fsck", "--data-dir", server.data).returncode != 0


def with_fifo(start, name):
    server = start()
    server.stop()
    (server.data / name).unlink(missing_ok=True)
    os.mkfifo(server.data / name)
    return server


@pytest.mark.parametrize("name", ["secret", "store", "index", "restore"])
def test_a_fifo_in_a_data_folder_is_refused_at_once(start, name):
    server = with_fifo(start, name)
    server.launch()
    assert server.ended() not in (0, None), server.log()


@pytest.mark.parametrize("name", ["lock", "identity"])
def test_a_fifo_in_place_of_an_unread_file_blocks_no_start(start, name):
    with_fifo(start, name).start()


@pytest.mark.parametrize("name", ["secret", "identity", "lock", "store", "index"])
@pytest.mark.parametrize("command", ["fsck", "backup"])
def test_tools_are_not_kept_by_a_fifo_in_a_data_folder(start, name, command):
    server = with_fifo(start, name)
    options = [server.folder / "out.fold", "--with-secret"] if command == "backup" else []
    done = run(command, "--data-dir", server.data, *options)
    assert name == "lock" or (name in ("secret", "identity") and command == "fsck") or done.returncode != 0, done


@pytest.mark.parametrize("what", ["folder", "full folder", "link", "fifo"])
def test_an_object_that_is_no_file_is_damaged(start, make, what):
    """fsck names it and goes on. A repair sets it aside, and the next upload takes its place."""
    server = start()
    file, xorb, path = stored(server, make)
    other, other_xorb, other_path = stored(server, make, 2)
    server.stop()
    path.unlink()
    if what == "link":
        path.symlink_to(other_path)
    elif what == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
        if what == "full folder":
            (path / "file").write_bytes(b"x")
    for repair in ([], ["--repair"]):
        done = run("fsck", "--json", "--data-dir", server.data, *repair)
        problems = {(p["kind"], p["hash"]) for p in json.loads(done.stdout)["problems"]}
        assert problems == {("xorb.damaged", xet.text(xorb.hash)), ("file.lost", ledger.name(file))}, done
    assert not os.path.lexists(path)
    server.start()
    assert server.put_xorb(xorb).status == 200
    for f, x in ((file, xorb), (other, other_xorb)):
        assert server.get(address(server, f)).body == x.body()


@pytest.mark.parametrize("command", ["inspect", "verify", "fold list", "fold verify", "pack list", "pack verify", "repair --from", "restore"])
def test_tools_refuse_a_fifo(tmp_path, command):
    os.mkfifo(tmp_path / "fifo")
    more = ["--data-dir", tmp_path / "data"] if command == "restore" else []
    done = run(*command.split(), tmp_path / "fifo", *more)
    assert done.returncode not in (0, 64) and "regular file" in done.stderr, done


def test_a_pipe_is_hashed(tmp_path):
    """`cairn hash` reads a pipe like any other file."""
    content = os.urandom(200_000)
    (tmp_path / "file").write_bytes(content)
    want = run("hash", tmp_path / "file").stdout.split()[0]
    piped = subprocess.run([cairn.CAIRN, "hash", "/dev/stdin"], input=content, capture_output=True, timeout=30)
    assert piped.stdout.decode().split()[0] == want, piped
