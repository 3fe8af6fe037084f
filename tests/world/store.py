"""Files in the store: making, sending, reading and remembering them. Keys: ("file", repository, hash), ("xorb", hash)."""

import hashlib

import plans
import xet

from .memory import pick
from .parts import require

CHUNK_BYTES_MIN, CHUNK_BYTES_MAX = 300, 9000


def new_xorb(source, chunks=None):
    return xet.Xorb([source.randbytes(source.randint(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX)) for _ in range(chunks or source.randint(1, 6))])


def new_file(source, xorbs):
    """Makes a file of parts of some of the xorbs."""
    terms = []
    for _ in range(source.randint(1, 4)):
        xorb = source.choice(xorbs)
        start = source.randrange(len(xorb.nodes))
        terms.append((xorb, start, source.randint(start + 1, len(xorb.nodes))))
    return file_of(terms)


def file_of(terms):
    content = b"".join(b"".join(x.data[a:b]) for x, a, b in terms)
    return xet.File(terms, sha256=xet.raw(hashlib.sha256(content).hexdigest()))


def key_of(tenant, file):
    return ("file", tenant.repo, xet.text(file.hash()))


def put_xorb(world, token, xorb, busy=None):
    """Uploads a xorb. busy: as of World.ask(). @return whether it is stored for certain"""
    began, n_jumps = world.now(), world.n_jumps
    reply = world.ask("POST", xorb.path(), token, xorb.body(), busy=busy)
    if reply is not None and reply.status == 200:
        with world.lock:
            if world.n_jumps == n_jumps:  # otherwise nobody knows when the grace time began, and it may be over
                world.xorbs[xet.text(xorb.hash)] = (xorb, began)
        return True
    require(reply is None or reply.status >= 500, "a_valid_xorb_is_taken", lambda: f"{reply} {reply.body!r}")
    return False


def put_files(world, tenant, token, files, xorbs, may_be_refused=False, busy=None):
    """Registers new files, all or none, whose keys the caller has reserved. busy: as of World.ask(). @return the answer"""
    registers = [world.memory.of(key_of(tenant, file)) for file in files]
    for file in files:
        world.memory.keep(key_of(tenant, file), file)
    reply = world.ask("POST", "/v1/shards", token, xet.shard(files, xorbs), busy=busy)
    for register in registers:
        before = list(register.values)
        world.answer(reply, register, True)
        if reply is not None and 400 <= reply.status < 500:
            register.values = before
    if reply is not None and reply.status == 200:
        described = {xorb.hash for xorb in xorbs}
        with world.lock:
            world.withdrawn -= {key_of(tenant, file) for file in files if file.terms[0][0].hash in described}
    refused = reply is not None and 400 <= reply.status < 500
    require(not refused or may_be_refused or world.moment.clock_moved, "a_valid_shard_is_taken", lambda: f"{reply} {reply.body!r}")
    return reply


def own_file(world, tenant, source, certain=True):
    """The key of one of the tenant's files, and the file; None, None: it has none."""
    keys = world.memory.there("file") if certain else world.memory.keys("file")
    key = pick(source, [k for k in keys if k[1] == tenant.repo])
    return (key, world.memory.thing(key)) if key else (None, None)


def own_read(world, source, certain=True):
    """Chooses a tenant and one of its files to read. @return the file's key, the file, and a token; the token is None if there is no file, or if the daemon
    gave no token"""
    tenant = tenant_of(world, source)
    key, file = own_file(world, tenant, source, certain)
    return key, file, world.token(tenant, "read") if key else None


def tenant_of(world, source):
    return source.choice(world.tenants)


def read(world, token, file, first=0, end=None, form="v2", server=None):
    """Reads a file or a part. @return its bytes, or the answer that refused it; None: there was no answer"""
    headers = {} if end is None else {"Range": f"bytes={first}-{end - 1}"}
    reply = world.ask("GET", f"/{form}/reconstructions/{xet.text(file.hash())}", token, server=server, **headers)
    if reply is None or reply.status != 200:
        return reply
    return fetch(world, reply.json(), server, first, end)


def fetch(world, plan, server=None, first=0, end=None):
    asker = Asker(world, server)
    try:
        got = plans.download(asker, plan)
    except plans.Refused as refused:
        return refused.reply
    except AttributeError:
        if asker.vanished:
            return None
        raise
    return got if end is None else got[: end - first]


class Asker:
    """Stands for the server where plans.download() needs one."""

    def __init__(self, world, server):
        self.world, self.server, self.vanished = world, server, False

    def get(self, path, headers):
        reply = self.world.ask("GET", path, server=self.server, **headers)
        self.vanished = reply is None
        return reply


