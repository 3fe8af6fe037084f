"""What a power loss leaves of a folder: what was synced, and of the rest anything. Read from the records that
tests/support/faults_trace.c made.

A file's bytes survive when the file was synced after they were written, a name when its folder was synced after it was
made, changed or removed. Of bytes that were not synced each sector survives or not by itself, of names likewise; a rename
is whole or not done.
"""

import os
import struct
from dataclasses import dataclass, field

CREATED, WRITTEN, TRUNCATED, SYNCED, DIR_SYNCED, LINKED, RENAMED, UNLINKED, DIR_MADE, MARK = range(1, 11)
SECTOR = 512
HEAD = struct.Struct("<5Q")


@dataclass
class Record:
    kind: int
    inode: int
    offset: int
    path: str
    data: bytes


def mark(trace, text):
    """The test's own record among those of the daemon: what it asked for, what it was told."""
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
    """Durable bytes, and what was done since: (offset, bytes), or (length, None)."""

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
    """The state after some records. Names are paths in the folder; folders are the file None."""

    def __init__(self):
        self.files, self.names, self.durable, self.since = {}, {}, {}, []

    def change(self, parents, names):
        """One change of names, {path: file, or "" for a name that is removed}, which the sync of a parent makes durable."""
        self.since.append((parents, names))
        self.rename(self.names, names)

    @staticmethod
    def rename(names, changes):
        for path, file in changes.items():
            if file == "":
                names.pop(path, None)
            else:
                names[path] = file

    def take(self, r):
        parent = os.path.dirname(r.path)
        if r.kind == CREATED:
            self.files[r.inode] = file = File()
            if r.path:
                self.change({parent}, {r.path: file})
        elif r.kind == WRITTEN and r.inode in self.files:
            self.files[r.inode].since.append((r.offset, r.data))
        elif r.kind == TRUNCATED and r.inode in self.files:
            self.files[r.inode].since.append((r.offset, None))
        elif r.kind == SYNCED and r.inode in self.files:
            file = self.files[r.inode]
            for change in file.since:
                apply(file.durable, change)
            file.since = []
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
            self.change({parent, os.path.dirname(new)}, {r.path: "", new: self.names[r.path]})
        elif r.kind == UNLINKED:
            self.change({parent}, {r.path: ""})
        elif r.kind == DIR_MADE:
            self.change({parent}, {r.path: None})

    def leave(self, folder, lucky):
        """Fill the folder as it is found after the loss. lucky(): does this sector, or this name, survive?"""
        names = dict(self.durable)
        for _, changes in self.since:
            if lucky():
                self.rename(names, changes)
        names.pop("", None)  # the folder itself
        for path in sorted(names):
            at = folder / path
            if not at.parent.is_dir():
                continue  # a name in a folder that is not there
            if names[path] is None:
                at.mkdir()
            else:
                at.write_bytes(self.content(names[path], lucky))
                at.chmod(0o600)

    @staticmethod
    def content(file, lucky):
        content = bytearray(file.durable)
        for offset, data in file.since:
            if data is None:
                if lucky():
                    apply(content, (offset, None))
                continue
            for at in range(offset - offset % SECTOR, offset + len(data), SECTOR):
                if lucky():
                    first, end = max(at, offset), min(at + SECTOR, offset + len(data))
                    apply(content, (first, data[first - offset : end - offset]))
        return content
