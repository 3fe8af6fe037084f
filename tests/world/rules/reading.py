"""Acknowledged files are readable as a whole by their tenant, and by nobody else. Refused or deleted files do not exist."""

import plans
import xet

from ..operations.lfs import batch, place
from ..parts import Abandoned, require, rule
from ..store import read


def is_there(world, key, token, server=None):
    """Reads the file with this token. @return whether it is there; if so, it must be whole"""
    file = world.memory.thing(key)
    got = read(world, token, file, server=server)
    if isinstance(got, bytes):
        require(got == plans.content(file), "what_is_read_is_what_was_written", lambda: f"{key}: {len(got)} bytes, and others")
        return True
    if got.status == 403 and world.moment.clock_moved:
        raise Abandoned  # the address expired, because a backup is read while the clock jumps
    require(got.status == 404, "what_was_acknowledged_is_readable", lambda: f"{key}: {got} {got.body!r}")
    return False


@rule
def what_was_acknowledged_is_readable(world):
    tokens = {tenant.repo: world.token(tenant, "read") for tenant in world.tenants}
    for key in world.memory.keys("file"):
        found = is_there(world, key, tokens[key[1]])
        register = world.memory.of(key)
        require(register.saw(True if found else None), "what_was_acknowledged_is_readable" if not found else "what_was_refused_left_nothing", f"{key}: it is {'there' if found else 'not there'}")


@rule
def nobody_reads_what_is_another_s(world):
    """One token of each tenant requests everybody's files, by every route to a file."""
    ways = ("/v1/reconstructions/{}", "/v2/reconstructions/{}", "/v1/info/{}", "/v1/files/{}", "/v1/reconstructions?file_id={}", "/v1/files/by-sha256/{sha256}")
    sha256 = {key[2]: xet.text(world.memory.thing(key).sha256) for key in world.memory.keys("file")}
    for tenant in world.tenants:
        token = world.token(tenant, "read")
        own = {key[2] for key in world.memory.keys("file") if key[1] == tenant.repo}
        others = sorted({key[2] for key in world.memory.keys("file")} - own)
        for n, name in enumerate(others):
            way = ways[n % len(ways)]
            reply = world.ask("HEAD" if "/v1/files/{}" in way else "GET", way.format(name, sha256=sha256[name]), token)
            hidden = reply.status == 404 or (reply.status == 200 and reply.json().get("files") == {})
            require(hidden, "nobody_reads_what_is_another_s", lambda reply=reply, name=name, tenant=tenant: f"{tenant.name} asked about {name}: {reply} {reply.body!r}")


@rule
def a_list_has_all_and_no_more(world):
    """Compares GET /v1/files of each tenant with what the world knows."""
    for tenant in world.tenants:
        token, after, listed = world.token(tenant), "", []
        while after is not None:
            reply = world.ask("GET", f"/v1/files?limit=7{'&after=' + after if after else ''}", token)
            require(reply.status == 200, "a_list_has_all_and_no_more", lambda reply=reply: f"{reply} {reply.body!r}")
            require(len(reply.json()["files"]) <= 7, "a_list_has_all_and_no_more", f"{tenant.name}: {len(reply.json()['files'])} of 7 in a page")
            listed += [file["hash"] for file in reply.json()["files"]]
            after = reply.json()["next"]
        keys = [key for key in world.memory.keys("file") if key[1] == tenant.repo]
        must = {key[2] for key in keys if world.memory.of(key).values == [True]}
        may = {key[2] for key in keys if True in world.memory.of(key).values}
        require(len(listed) == len(set(listed)), "a_list_has_all_and_no_more", f"{tenant.name}: a file is listed twice")
        n_lfs = len(world.memory.keys("lfs", lambda r: True in r.values))  # the world does not know their hashes as files
        missing, more = must - set(listed), set(listed) - may
        require(not missing and len(more) <= n_lfs, "a_list_has_all_and_no_more", f"{tenant.name}: missing {missing}, too many {more}")


@rule
def objects_of_git_lfs_are_readable(world):
    """Each tenant reads their own objects."""
    for key in world.memory.keys("lfs"):
        data = world.memory.thing(key)
        told = batch(world, next(t for t in world.tenants if t.repo == key[1]), "download", data)
        there = "download" in told.get("actions", {})
        require(world.memory.of(key).saw(True if there else None), "what_was_acknowledged_is_readable", f"{key}: {told}")
        reply = world.ask("GET", place(told["actions"]["download"])) if there else None
        require(reply is None or (reply.status == 200 and reply.body == data), "what_is_read_is_what_was_written", lambda reply=reply, key=key: f"{key}: {reply}")
