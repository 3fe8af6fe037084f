"""A signal interrupts each call on a file once (EINTR), wherever the command reads and writes. The command must not fail because of it."""

import json
import random

import pytest
from backups import put
from faults import CALLS, FOR_EVER, TWICE, Command

pytestmark = pytest.mark.files
INTERRUPTED = set(CALLS) - {"mmap"}  # mmap: SQLite's, which cannot be interrupted


@pytest.fixture
def folder(tmp_path):
    here = tmp_path / "files"
    for name, n in (("one", 300_000), ("sub/two", 5_000_000), ("empty", 0)):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(random.Random(name).randbytes(n))
    return here


@pytest.fixture
def run(tmp_path):
    """Runs the command. Each of its calls on files below the test's folder is interrupted once."""

    def one(*arguments, **variables):
        command = Command(tmp_path)
        command.arm(INTERRUPTED, TWICE, 1, FOR_EVER)
        done = command.run(*arguments, **variables)
        assert command.disarm() > 0
        assert command.given_up() == 0, done.stderr[-3000:]
        return done.stdout

    return one


def content(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_push_and_pull(start, folder, tmp_path, run):
    at = {"CAIRN_SERVER": start().url}
    run("push", "--manifest", tmp_path / "manifest", folder, **at)
    run("pull", tmp_path / "manifest", "-o", tmp_path / "back", **at)
    assert content(tmp_path / "back") == content(folder)
    [file] = [f for f in json.loads((tmp_path / "manifest").read_text())["files"] if f["path"] == "sub/two"]
    run("pull", file["hash"], "-o", tmp_path / "two", **at)
    assert (tmp_path / "two").read_bytes() == (folder / "sub/two").read_bytes()


def test_commands_on_a_data_folder(start, tmp_path, run):
    server, backups = start(), tmp_path / "backups"
    files = [put(server, i) for i in range(2)]
    for out in ("one.fold", "--incremental"):
        run("backup", "--data-dir", server.data, *([out, backups] if out.startswith("-") else [tmp_path / out]))
    run("backups", "list", backups)
    run("backups", "verify", backups)
    run("backups", "prune", "--keep-last", 1, backups)
    for name, source in (("restored", tmp_path / "one.fold"), ("again", backups)):
        (tmp_path / name).mkdir()
        run("restore", "--data-dir", tmp_path / name / "data", source)
    for form in ("csv", "tiledb"):
        run("export", "--data-dir", server.data, "--format", form, tmp_path / form)
    server.stop()
    run("fsck", "--data-dir", server.data)
    again = start("again")
    assert all(again.get(f"/v1/reconstructions/{f}").status == 200 for f in files)
