"""Computes what a loss of power leaves of a folder: everything that was synced, and an arbitrary part of the rest. Uses the records of
tests/support/faults_trace.c.

The bytes of a file survive if the file was synced after they were written. A name survives if its folder was synced after the name was
made, changed or removed. Without a sync, each sector and each name survives or not by itself. A rename within a folder is done as a whole
or not at all; a rename to another folder is two changes."""

import os
import struct
from dataclasses import dataclass, field

CREATED, WRITTEN, TRUNCATED, SYNCED, DIR_SYNCED, LINKED, RENAMED, UNLINKED, DIR_MADE, MARK, ALL_SYNCED = range(1, 12)
SYNCS = (SYNCED, DIR_SYNCED, ALL_SYNCED)
SECTOR = 512
BYTES, NAME, GONE = "bytes", "name", "gone"  # changes that may survive without a sync: bytes of a file, a new name, a removed name
HEAD = struct.Struct("<5Q")


@dataclass
class Record:
    kind: int
    inode: int
    offset: int
    path: str
    data: bytes


def mark(trace, text):
    """Adds a record of the test to the daemon's trace: a request, or its answer."""
    data = text.encode()
    with open(trace, "ab", buffering=0) as f:
        f.write(HEAD.pack(MARK, 0, 0, 0, len(data)) + data)


def read_trace(trace):
    data, at, records = trace.read_bytes(), 0, []
    while at < len(data):
        kind, inode, offset, n_path, n = HEAD.unpack_from(data, at)
        at += HEAD.size
        path = data[at : at + n_path].decode()
        at += n_path
        records.append(Record(kind, inode, offset, path, data[at : at + n]))
        at += n
    assert at == len(data), "the last record is not whole"
    return records


@dataclass
class File:
    """The durable bytes of a file, and the changes since: (offset, bytes), or (length, None) for a truncation."""

    durable: bytearray = field(default_factory=bytearray)
    since: list = field(default_factory=list)


def grow(content, size):
    if len(content) < size:
        content += bytes(size - len(content))


def apply(content, change):
    offset, data = change
    if data is None:
        grow(content, offset)
        del content[offset:]
    else:
        grow(content, offset + len(data))
        content[offset : offset + len(data)] = data


class Disk:
    """The state of the disk after some records. Names are paths in the folder; a folder has the file None."""

    def __init__(self):
        self.files, self.names, self.durable, self.since = {}, {}, {}, []

    def change(self, parents, names):
        """Records a change of names, which a sync of the parent folder makes durable. Names are {path: file, or "" for a removed name}."""
        self.since.append((parents, names))
        self.rename(self.names, names)

    @staticmethod
    def rename(names, changes):
        for path, file in changes.items():
            if file == "":
                names.pop(path, None)
            else:
                names[path] = file

    @staticmethod
    def sync(file):
        for change in file.since:
            apply(file.durable, change)
        file.since = []

    def take(self, r, without=None):
        """Applies a record. without(r): treat this sync as not made?"""
        parent = os.path.dirname(r.path)
        if without and r.kind in SYNCS and without(r):
            return
        if r.kind == CREATED:
            self.files[r.inode] = file = File()
            if r.path:
                self.change({parent}, {r.path: file})
        elif r.kind == WRITTEN:
            assert r.inode in self.files, "something was written to a file that nobody has made"
            self.files[r.inode].since.append((r.offset, r.data))
        elif r.kind == TRUNCATED and r.inode in self.files:
            self.files[r.inode].since.append((r.offset, None))
        elif r.kind == SYNCED and r.inode in self.files:
            self.sync(self.files[r.inode])
        elif r.kind == ALL_SYNCED:
            for file in self.files.values():
                self.sync(file)
            self.durable, self.since = dict(self.names), []
        elif r.kind == DIR_SYNCED:
            kept = []
            for parents, names in self.since:
                if r.path in parents:
                    self.rename(self.durable, names)
                else:
                    kept.append((parents, names))
            self.since = kept
        elif r.kind == LINKED:
            self.change({parent}, {r.path: self.files[r.inode]})
        elif r.kind == RENAMED:
            new = r.data.decode()
            moved = self.names[r.path]
            if os.path.dirname(new) == parent:
                self.change({parent}, {r.path: "", new: moved})
            else:
                self.change({os.path.dirname(new)}, {new: moved})
                self.change({parent}, {r.path: ""})
        elif r.kind == UNLINKED:
            self.change({parent}, {r.path: ""})
        elif r.kind == DIR_MADE:
            self.change({parent}, {r.path: None})

    def catch_up(self, root, folder):
        """Adds changes that are in the folder and in no record, as not synced: a process was killed between a call and its record."""
        there = {path.relative_to(root).as_posix(): path for path in [folder, *folder.rglob("*")] if path.exists()}
        gone = {path for path in self.names if path and path not in there}
        for path, found in there.items():
            file = self.files.setdefault(found.stat().st_ino, File()) if found.is_file() else None
            if path not in self.names or self.names[path] is not file:
                before = {old: "" for old in gone if file and self.names[old] is file and os.path.dirname(old) == os.path.dirname(path)}
                self.change({os.path.dirname(path)}, {**before, path: file})
                gone -= set(before)
            if file and not path.endswith("-shm"):  # SQLite makes the -shm file anew
                self.catch_up_bytes(file, found.read_bytes())
        for path in gone:
            self.change({os.path.dirname(path)}, {path: ""})

    def catch_up_bytes(self, file, found):
        known = self.content(file, lambda at: True)
        if len(found) < len(known):
            file.since.append((len(found), None))
        differ = [at for at in range(0, len(found), SECTOR) if known[at : at + SECTOR] != found[at : at + SECTOR]]
        if differ:
            file.since.append((differ[0], found[differ[0] : differ[-1] + SECTOR]))

    def left(self, survives):
        """The files found after the loss: {path: bytes, or None for a folder}. survives(what, path): does this change survive without a sync?"""
        names = dict(self.durable)
        for _, changes in self.since:
            new = [path for path, file in changes.items() if file != ""]
            if survives(NAME if new else GONE, (new or list(changes))[0]):
                self.rename(names, changes)
        names.pop("", None)  # the folder itself
        found = {}
        for path in sorted(names):
            parent = os.path.dirname(path)
            if not parent or found.get(parent, b"") is None:  # else its folder does not exist
                found[path] = None if names[path] is None else self.content(names[path], lambda at, path=path: survives(BYTES, f"{path}@{at}"))
        return found

    def leave(self, folder, lucky):
        """Fills the folder with the files found after the loss. lucky(): does this sector, or this name, survive?"""
        fill(folder, self.left(lambda what, path: lucky()))

    @staticmethod
    def content(file, lucky):
        """The bytes of the file. lucky(at): does the change of the sector at this offset survive?"""
        content = bytearray(file.durable)
        for offset, data in file.since:
            if data is None:
                if lucky(offset):
                    apply(content, (offset, None))
                continue
            for at in range(offset - offset % SECTOR, offset + len(data), SECTOR):
                if lucky(at):
                    first, end = max(at, offset), min(at + SECTOR, offset + len(data))
                    apply(content, (first, data[first - offset : end - offset]))
        return content


def fill(folder, found):
    for path, content in found.items():
        at = folder / path
        if content is None:
            at.mkdir()
        else:
            at.write_bytes(content)
            at.chmod(0o600)
