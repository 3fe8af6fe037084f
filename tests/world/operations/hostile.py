"""Tenants who try to get or change what is another's, and tenants who send everything at once."""

import xet

from ..memory import pick
from ..parts import Abandoned, operation, require, run_at_once
from ..store import new_file, new_xorb, own_file, tenant_of
from .hub import lines, text
from .lfs import TYPE

REFUSED = (400, 401, 403, 404, 405, 409, 413, 415, 416, 422)
AT_ONCE = 8


def refused(world, what, reply):
    require(reply is None or reply.status >= 500 or reply.status in REFUSED, "nobody_changes_what_is_another_s", lambda: f"{what}: {reply} {reply.body!r}")


@operation(weight=2)
def write_in_another_s(world, source):
    """Tries several ways to change another tenant's private repository. All must be refused."""
    tenant, other = source.sample(world.tenants, 2)
    name = f"{tenant.name}/one"
    ways = (
        ("POST", tenant.hub("commit/main"), lines(text("a.txt", b"mine"))),
        ("POST", tenant.hub("commit/main?create_pr=1"), lines(text("a.txt", b"mine"))),
        ("POST", tenant.hub("branch/mine"), {}),
        ("DELETE", tenant.hub("branch/dev"), None),
        ("POST", tenant.hub("super-squash/main"), {}),
        ("POST", tenant.hub("tag/main"), {"tag": "mine"}),
        ("POST", tenant.hub("discussions"), {"title": "mine", "pullRequest": True}),
        ("POST", tenant.hub("discussions/1/merge"), {}),
        ("POST", tenant.hub("discussions/1/status"), {"status": "closed"}),
        ("PUT", tenant.hub("settings"), {"private": False}),
        ("POST", tenant.hub("lfs-files/batch"), {"deletions": {"sha": ["0" * 64]}}),
        ("POST", tenant.hub("duplicate"), {"repository": f"{other.name}/stolen"}),
        ("POST", "/api/repos/move", {"fromRepo": name, "toRepo": f"{other.name}/stolen", "type": "model"}),
        ("POST", "/api/repos/create", {"name": "mine", "organization": tenant.name, "type": "model"}),
        ("DELETE", "/api/repos/delete", {"name": "one", "organization": tenant.name, "type": "model"}),
        ("GET", tenant.hub("xet-write-token/main"), None),
        ("GET", tenant.hub("lfs-files"), None),
        ("POST", "/v1/keys", {"name": "mine", "account": tenant.name, "scope": "write"}),
        ("POST", "/v1/gc", None),
        ("GET", "/v1/keys", None),
    )
    for method, path, body in source.sample(ways, 3):
        refused(world, f"{other.name}: {method} {path}", world.ask(method, path, other.key, body))
    body = {"operation": source.choice(("upload", "download")), "objects": [{"oid": "0" * 64, "size": 1}]}
    refused(world, f"{other.name}: LFS of {name}", world.ask("POST", f"/{name}.git/info/lfs/objects/batch", other.key, body, Content_Type=TYPE, Accept=TYPE))


@operation(weight=1)
def write_with_what_reads(world, source):
    """Uploads with a token that only reads. Afterwards nothing of the upload may be there."""
    tenant, xorb = tenant_of(world, source), new_xorb(source)
    token = world.token(tenant, "read")
    if token is None:
        return
    refused(world, "a xorb by a token that reads", world.ask("POST", xorb.path(), token, xorb.body()))
    found = world.ask("HEAD", xorb.path(), token)
    require(found is None or found.status == 404 or found.status >= 500, "what_was_refused_left_nothing", lambda: f"{xet.text(xorb.hash)}: {found}")
    refused(world, "a shard by a token that reads", world.ask("POST", "/v1/shards", token, xet.shard([new_file(source, [xorb])], [xorb])))


@operation(weight=1)
def take_another_s(world, source):
    """Reads another tenant's file, whose hashes are known. It is there only if the asker registered it, too."""
    tenant, other = source.sample(world.tenants, 2)
    key, file = own_file(world, tenant, source)
    own = ("file", other.repo, key[2]) if key else None
    token = world.token(other, "read") if key else None
    if token is None:
        return
    mark = world.memory.mark(own)
    ways = (("GET", f"/v1/reconstructions/{key[2]}"), ("GET", f"/v2/reconstructions/{key[2]}"), ("HEAD", f"/v1/files/{key[2]}"), ("GET", f"/v1/files/by-sha256/{xet.text(file.sha256)}"))
    method, path = source.choice(ways)
    reply = world.ask(method, path, token)
    if reply is None or reply.status >= 500:
        return
    require(reply.status in (200, 206, 404), "nobody_reads_what_is_another_s", lambda: f"{other.name}: {path}: {reply}")
    there = True if reply.status < 300 else None
    require(world.memory.saw_since(own, mark, there), "nobody_reads_what_is_another_s", lambda: f"{other.name}: {path}: {reply}")


@operation(weight=0.7)
def want_everything(world, source):
    """Sends many requests at once, again and again. Other tenants must still be answered; their own operations check that."""
    tenant = tenant_of(world, source)
    key = pick(source, [k for k in world.memory.there("file") if k[1] == tenant.repo])
    token = world.token(tenant, "read") if key else None
    if token is None:
        return
    failures = []

    def ask_much():
        try:
            for path in (f"/v2/reconstructions/{key[2]}", "/v1/files?limit=512", f"/v1/info/{key[2]}", f"/v1/chunks/default/{'0' * 63}1"):
                world.ask("GET", path, token)
        except Abandoned:
            pass
        except Exception as error:
            failures.append(error)

    run_at_once([ask_much] * AT_ONCE, failures)


@operation(weight=0.5)
def report_transfer(world, source):
    """Reports a transfer, and reads the newest reports as an operator."""
    tenant = tenant_of(world, source)
    token = world.token(tenant, "read")
    if token is None:
        return
    reply = world.ask("POST", "/v1/telemetry", token, {"event": "upload", "metrics": {"n": source.getrandbits(20)}})
    require(reply is None or reply.status == 200 or reply.status >= 500, "a_report_is_taken", lambda: f"{reply} {reply.body!r}")
    listed = world.ask("GET", f"/v1/telemetry?limit={source.randint(1, 20)}", world.admin)
    require(listed is None or listed.status == 200 or listed.status >= 500, "an_operator_is_answered", lambda: f"{listed} {listed.body!r}")
