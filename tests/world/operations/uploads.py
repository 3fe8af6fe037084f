"""Uploads of xorbs and shards, and uploads that must be refused."""

import xet

from ..parts import operation, require
from ..store import key_of, new_file, new_xorb, own_file, put_files, put_xorb, tenant_of

LIES = 24


@operation(weight=6)
def upload(world, source):
    """Uploads new xorbs, and files of them."""
    tenant = tenant_of(world, source)
    xorbs = [new_xorb(source) for _ in range(source.randint(1, 3))]
    files = [new_file(source, xorbs) for _ in range(source.randint(1, 3))]
    files = list({file.hash(): file for file in files}.values())
    token = world.token(tenant)
    if token is None or not all([put_xorb(world, token, xorb) for xorb in xorbs]):
        return
    with world.memory.writing(*(key_of(tenant, file) for file in files)) as free:
        if free:
            put_files(world, tenant, token, files, xorbs)


@operation(weight=2)
def upload_of_parts(world, source):
    """Registers a file made of parts of the tenant's xorbs, without sending a xorb."""
    tenant = tenant_of(world, source)
    key, known = own_file(world, tenant, source)
    if key is None:
        return
    xorbs = [xorb for xorb, _, _ in known.terms]
    file = new_file(source, xorbs)
    token = world.token(tenant)
    if token is None:
        return
    with world.memory.writing(key, key_of(tenant, file)) as free:
        if free and world.memory.of(key).values == [True]:
            put_files(world, tenant, token, [file], [])


@operation(weight=1)
def upload_again(world, source):
    """Sends an earlier upload again, forgotten or not, as a client does that got no answer."""
    tenant = tenant_of(world, source)
    key, file = own_file(world, tenant, source, certain=False)
    if key is None:
        return
    xorbs = list({xorb.hash: xorb for xorb, _, _ in file.terms}.values())
    token = world.token(tenant)
    if token is None or not all([put_xorb(world, token, xorb) for xorb in xorbs]):
        return
    with world.memory.writing(key) as free:
        if free:
            put_files(world, tenant, token, [file], xorbs)


@operation(weight=2)
def upload_of_another_s(world, source):
    """Uploads the same bytes as another tenant. Then each has the file independently."""
    tenant, other = source.sample(world.tenants, 2)
    key, file = own_file(world, other, source)
    if key is None:
        return
    xorbs = list({xorb.hash: xorb for xorb, _, _ in file.terms}.values())
    token = world.token(tenant)
    if token is None or not all([put_xorb(world, token, xorb) for xorb in xorbs]):
        return
    with world.memory.writing(key_of(tenant, file)) as free:
        if free:
            put_files(world, tenant, token, [file], xorbs)


def flipped(source, body):
    out = bytearray(body)
    out[source.randrange(len(out))] ^= 1 << source.randrange(8)
    return bytes(out)


@operation(weight=1)
def lie(world, source):
    """Sends xorbs under another's name, cut or changed, or shards over a xorb that does not exist or has other chunks. All must be refused."""
    tenant = tenant_of(world, source)
    token = world.token(tenant)
    for _ in range(LIES if token else 0):
        tell_lie(world, source, tenant, token)


def tell_lie(world, source, tenant, token):
    xorb = new_xorb(source, 3)
    other = new_xorb(source)
    file = new_file(source, [xorb])
    how = source.randrange(5)
    if how == 0:
        reply = world.ask("POST", xorb.path(), token, xorb.body()[: -source.randint(1, 100)])
    elif how == 1:
        reply = world.ask("POST", xorb.path(), token, other.body())
    elif how == 2:
        data = [flipped(source, xorb.data[0]), *xorb.data[1:]]
        reply = world.ask("POST", xorb.path(), token, xet.Xorb(data).body())
    elif how == 3:
        with world.memory.writing(key_of(tenant, file)) as free:
            reply = put_files(world, tenant, token, [file], [xorb], may_be_refused=True) if free else None
    else:
        reply = world.ask("POST", "/v1/shards", token, source.randbytes(source.randint(0, 600)))
    require(reply is None or reply.status >= 400, "a_lie_is_refused", lambda: f"lie {how}: {reply} {reply.body!r}")
    if reply is not None and reply.status < 500 and how < 3:
        found = world.ask("HEAD", xorb.path(), token)
        require(found is None or found.status == 404 or found.status >= 500, "what_was_refused_left_nothing", lambda: f"xorb after lie {how}: {found}")
