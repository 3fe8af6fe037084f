"""Records what a server acknowledged, so that a test can check it after a fault: acknowledged files and xorbs are there and whole. Others are whole or
absent."""

import http.client
import random

import plans
import xet

GONE = (OSError, http.client.HTTPException)  # errors of a connection whose daemon is gone


def new_file(seed, xorbs=1):
    """A file over some new xorbs, all different for each seed."""
    source = random.Random(seed)
    made = [xet.Xorb([source.randbytes(source.randint(8192, 12000)) for _ in range(3)]) for _ in range(xorbs)]
    return xet.File([(x, 0, 3) for x in made], sha256=source.randbytes(32))


def name(file):
    return xet.text(file.hash())


class Ledger:
    def __init__(self):
        self.xorbs, self.files, self.forgotten, self.unsure = {}, {}, {}, {}

    def put_xorb(self, server, xorb):
        reply = server.put_xorb(xorb)
        if reply.status == 200:
            self.xorbs[xorb.hash] = xorb
        return reply

    def put_shard(self, server, file):
        self.files.pop(name(file), None)
        self.forgotten.pop(name(file), None)
        self.unsure[name(file)] = file
        reply = server.post("/v1/shards", xet.shard([file], [x for x, _, _ in file.terms]))
        if reply.status == 200:
            self.files[name(file)] = self.unsure.pop(name(file))
        return reply

    def upload(self, server, file):
        """Uploads xorbs and shard. @return the first answer that is not 200, or the last"""
        for xorb, _, _ in file.terms:
            reply = self.put_xorb(server, xorb)
            if reply.status != 200:
                return reply
        return self.put_shard(server, file)

    def forget(self, server, file):
        self.files.pop(name(file), None)
        self.unsure[name(file)] = file
        reply = server.request("DELETE", f"/v1/files/{name(file)}")
        if reply.status in (200, 404):
            self.forgotten[name(file)] = self.unsure.pop(name(file))
        return reply

    def check(self, server):
        for xorb in self.xorbs.values():
            assert server.request("HEAD", xorb.path()).status == 200, "an acknowledged xorb is gone"
        for file in self.files.values():
            assert read(server, file), "an acknowledged file is gone"
        for file in self.forgotten.values():
            assert not read(server, file), "a forgotten file is back"
        for file in self.unsure.values():
            read(server, file)


def read(server, file):
    """Is the file there? If so, it must be whole."""
    reply = server.get(f"/v2/reconstructions/{name(file)}")
    assert reply.status in (200, 404), reply
    if reply.status == 200:
        assert plans.download(server, reply.json()) == plans.content(file), "wrong bytes"
    return reply.status == 200
