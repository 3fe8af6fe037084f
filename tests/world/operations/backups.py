"""A backup of the busy store, restored at once into another folder. It must have everything that did not change meanwhile."""

import contextlib
import shutil

import cairn

from ..parts import operation, require
from ..rules.hub import tree_of
from ..rules.reading import is_there

KINDS = ("file", "branch")


def steady(world):
    """Returns {key: (value, number of writes)} of the things whose value is certain and which nobody is writing."""
    keys = [key for kind in KINDS for key in world.memory.keys(kind, lambda r: r.certain()) if not world.memory.is_taken(key)]
    return {key: (world.memory.of(key).values[0], world.memory.of(key).n_written) for key in keys}


@contextlib.contextmanager
def daemon_on(world, folder):
    server = cairn.Daemon(folder, token_key=world.issuer.folder, test_clock=world.clock, epoch="60s", gc_grace="120s", reserve_bytes="1M")
    server.start()
    try:
        yield server
    except BaseException:
        server.kill()
        raise
    server.stop()


@operation(weight=0.4, needs={"files", "sqlite"})
def backup(world, source):
    back_up(world, source)


def back_up(world, source):
    """Makes a backup, restores it, and compares it."""
    folder = world.folder / f"restored{source.getrandbits(40)}"
    folder.mkdir()
    before = steady(world)
    may_fail = world.moment.may_vanish or world.moment.may_fail
    made = world.tool("backup", "--data-dir", world.server.data, "--json", folder / "backup.fold", expect=range(256) if may_fail else (0,))
    after = steady(world)
    same = {key: value for key, (value, n) in before.items() if after.get(key) == (value, n)}
    if made.returncode == 0:
        world.tool("restore", "--data-dir", folder / "data", "--json", folder / "backup.fold")
        world.tool("fsck", "--data-dir", folder / "data")
        with daemon_on(world, folder) as server:
            for tenant in world.tenants:
                compare(world, server, tenant, {key: value for key, value in same.items() if key[1] == tenant.repo})
    shutil.rmtree(folder)


def compare(world, server, tenant, same):
    token = world.token(tenant, "read", server=server)
    if token is None:
        return
    for key, value in same.items():
        if key[0] == "file":
            found = True if is_there(world, key, token, server) else None
        else:
            found, value = tree_of(world, tenant, key[2], tenant.key, server) or None, value or None
        require(found == value, "a_backup_has_what_there_was", lambda key=key, found=found, value=value: f"{key}: {found} instead of {value}")
