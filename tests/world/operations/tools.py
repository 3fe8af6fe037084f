"""Runs commands of `cairn` while the daemon is busy."""

import csv
import shutil

import plans

from ..parts import operation, require
from ..store import own_read
from .backups import steady

NOT_FOUND = 66  # exit code


@operation(weight=0.4)
def pull_file(world, source):
    """Fetches a file with `cairn pull`, which checks every chunk."""
    key, file, token = own_read(world, source)
    if token is None:
        return
    out, mark = world.folder / f"pulled{source.getrandbits(40)}", world.memory.mark(key)
    done = world.tool("pull", key[2], "-o", out, "--server", world.server.url, "--token", token, "--retries", 0, "-q", expect=range(256))
    moment = world.moment
    if done.returncode == 0:
        require(out.read_bytes() == plans.content(file), "what_is_read_is_what_was_written", f"{key} was pulled")
        require(world.memory.saw_since(key, mark, True), "what_was_deleted_is_gone", f"{key} was pulled")
    elif done.returncode == NOT_FOUND and moment.damaged and ("(410 " in done.stderr or ": xorb " in done.stderr):
        pass  # the bytes of a xorb are damaged or lost, and come back with a repair
    elif done.returncode == NOT_FOUND:
        require(world.memory.saw_since(key, mark, None), "what_was_acknowledged_is_readable", lambda: f"{key}: {done.stderr}")
    else:
        troubled = moment.may_fail or moment.may_vanish or moment.clock_moved or not world.memory.is_same(key, mark)
        require(troubled, "a_tool_does_its_work", lambda: f"pull {key}: {done.returncode} {done.stderr[-2000:]}")


@operation(weight=0.3, needs={"files", "sqlite"})
def export_tables(world, source):
    """Exports the index. The tables must have all files that existed the whole time."""
    out, before = world.folder / f"exported{source.getrandbits(40)}", steady(world)
    troubled = world.moment.may_fail or world.moment.may_vanish
    done = world.tool("export", "--data-dir", world.server.data, "--format", "csv", "-q", out, expect=range(256) if troubled else (0,))
    after = steady(world)
    if done.returncode == 0:
        with open(out / "files.csv", newline="") as file:
            header, *rows = csv.reader(file)
        found = {row[0] for row in rows}
        missing = [key for key, (value, n) in before.items() if key[0] == "file" and value and after.get(key) == (value, n) and key[2] not in found]
        require(not missing, "an_export_has_what_there_was", f"{missing} are not in {header}, {len(rows)} rows")
    shutil.rmtree(out, ignore_errors=True)
