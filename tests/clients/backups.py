"""Commands for folders of backups, and daemons on what is restored from them."""

import hashlib
import json
import os
import random
import signal
import subprocess
import warnings

import cairn
import xet
from fold_peer import foldio


def command(*arguments, expect=0, **more):
    done = subprocess.run([cairn.CAIRN, *map(str, arguments)], capture_output=True, text=True, timeout=120, **more)
    assert not cairn.REPORTS.search(done.stderr), done.stderr[-6000:]
    assert done.returncode == expect, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def backup(server, folder, *options):
    return json.loads(command("backup", "--data-dir", server.data, "--incremental", "--json", *options, folder).stdout)


def prune(folder, *options, expect=0):
    return json.loads(command("backups", "prune", "--json", *options, folder, expect=expect).stdout)


def listed(folder):
    return json.loads(command("backups", "list", "--json", folder).stdout)["archives"]


def put(server, seed):
    source = random.Random(seed)
    x = xet.Xorb([source.randbytes(9000) for _ in range(3)])
    file = xet.File([(x, 0, 3)], sha256=hashlib.sha256(b"".join(x.data)).digest())
    assert server.put_xorb(x).status == 200
    assert server.post("/v1/shards", xet.shard([file], [x])).status == 200
    return xet.text(file.hash())


def forget(server, file):
    assert server.request("DELETE", f"/v1/files/{file}").status == 200


def rewrite(path, change, compress="none", **metadata):
    """Writes an archive anew. @param change: called with [name, ctype, bytes] of each chunk, which it may change"""
    with foldio.FoldReader(str(path)) as r:
        said, chunks = dict(r.index["metadata"]), [[c["name"], c["ctype"]] for c in r.index["chunks"]]
    for chunk in chunks:
        chunk.append(subprocess.run([cairn.CAIRN, "fold", "extract", path, chunk[0], "-o", "-"], capture_output=True, check=True).stdout)
        change(chunk)
    for own in ("chunk_hashes", "manifest_hash"):
        said.pop(own)
    path.unlink()
    with foldio.FoldWriter(str(path), compress=compress) as w:
        for chunk in chunks:
            w.add_chunk(*chunk)
        w.finalize(said | metadata)


def rename(folder, old, new):
    """Gives the archives of one moment the names of another time."""
    for path in list(folder.glob(f"{old}.*")):
        to = path.rename(folder / path.name.replace(old, new))
        if ".moment." in to.name:
            rewrite(to, lambda chunk: None, moment=new)


class Restored:
    """Restores backups into folders, and starts daemons on them."""

    def __init__(self, start, tmp_path):
        self.start, self.tmp_path = start, tmp_path

    def folder(self, name):
        (self.tmp_path / name).mkdir()
        return self.tmp_path / name / "data"

    def serves(self, backups, name, files, not_files=(), *options):
        """Restores a backup and starts a daemon on it, which must have `files` whole and lack `not_files`. @return the restore's JSON
        output"""
        folder = self.folder(name)
        told = json.loads(command("restore", "--data-dir", folder, "--json", *options, backups).stdout)
        server = self.start(name)
        for file in files:
            assert server.get(f"/v1/reconstructions/{file}").status == 200
        for file in not_files:
            assert server.request("HEAD", f"/v1/files/{file}").status == 404
        server.stop()
        command("fsck", "--data-dir", folder)
        return told


def register(server, xorbs):
    """Uploads xorbs, and a file for each."""
    files = [xet.File([(x, 0, len(x.data))], sha256=hashlib.sha256(b"".join(x.data)).digest()) for x in xorbs]
    for x in xorbs:
        assert server.put_xorb(x).status == 200
    assert server.post("/v1/shards", xet.shard(files, xorbs)).status == 200
    return files


def flip(path, at, count, step=3):
    data = bytearray(path.read_bytes())
    for i in range(count):
        data[at + i * step] ^= 0x5A
    path.write_bytes(data)


def peer_reads(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # a manifest that does not match its file
        warnings.filterwarnings("ignore", message="google-crc32c")  # it passes a bytearray, which google-crc32c refuses
        with foldio.FoldReader(str(path)) as r:
            return {name: r.read_chunk_bytes(name) for name in r.list_chunks()}


def killed(arguments, far_enough):
    """Starts the command, and kills it (SIGKILL) as soon as far_enough() is true, or when it has ended."""
    process = subprocess.Popen([cairn.CAIRN, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cairn.wait_until("the command", lambda: far_enough() or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.wait()


def piped(server, spool, *options, into=None):
    """Starts a backup into a pipe, or into the file `into`. @return the process"""
    given = [cairn.CAIRN, "backup", "--data-dir", server.data, *map(str, options), "-"]
    return subprocess.Popen(given, stdout=into or subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"TMPDIR": str(spool)})
