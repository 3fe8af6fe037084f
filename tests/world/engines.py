"""The engines of a world beside its daemons: a PostgreSQL server, and an S3 service behind a wire on which things go wrong."""

import contextlib
import threading
import urllib.parse
from pathlib import Path

import cairn
import postgres
from between import Between

LEASE_S = 10  # CAIRN_INDEX_LEASE_S


def sql(world, statement):
    """Runs a statement in the schema of the world's index. @return the first line of its answer"""
    schema = cairn.postgres_url(world.server.data).split("schema=")[1]
    with world.index_is_up:
        return postgres.engine("sql", f'SET search_path TO "{schema}"; {statement}').split("\n")[1].strip()


def let_pass(world, seconds):
    """Moves the times of all xorbs back. Moving the daemons' clocks instead would not do: a daemon refuses a clock that differs from
    the server's."""
    sql(world, f"UPDATE xorb SET at = at - {seconds}, retired = retired - {seconds}; SELECT 1")


def end_leases(world):
    """Lets the leases of a daemon that does not renew them run out."""
    sql(world, f"UPDATE job SET until = until - interval '{LEASE_S + 1} s' WHERE until > '-infinity'; SELECT 1")


def connections(world):
    """The number of connections that the daemons of this world, and of others on the same server, have."""
    return int(sql(world, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cairn'"))


def sockets_to_engines(world):
    """The sockets of this machine that are connected to the world's engines, named as in /proc/PID/fd, and the nameless pairs that libcurl opens beside its own."""
    urls = [*([world.wire.url] if world.wire else []), *([cairn.POSTGRES] if cairn.INDEX else [])]
    if not urls:
        return set()
    ports = {urllib.parse.urlsplit(url).port for url in urls}
    tcp, unix = ([line.split() for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]] for kind in ("tcp", "unix"))
    inodes = [row[9] for row in tcp if int(row[2].rpartition(":")[2], 16) in ports] + [row[6] for row in unix if len(row) == 7]
    return {f"socket:[{inode}]" for inode in inodes}


class Wire:
    """The wire between the daemons and the S3 service. rule(request) says what happens to a request (between.py); None: nothing."""

    def __init__(self):
        self.rule = None
        self.open = threading.Event()  # requests wait while it is not set
        self.open.set()
        self.port = int(cairn.ENGINE.rpartition(":")[2])
        self.ends = contextlib.ExitStack()
        self.url = self.ends.enter_context(Between(self, self.judge)).url

    def judge(self, request, _before):
        rule = self.rule
        if not self.open.is_set():
            return self.wait_and_drop
        return rule(request) if rule else None

    def wait_and_drop(self):
        self.open.wait()
        return "drop"

    def end(self):
        self.open.set()
        self.ends.close()


def wire_of(server):
    """Puts a wire between the daemon and its S3 service. @return the wire; None: the store is not on S3"""
    if cairn.STORE != "s3":
        return None
    wire = Wire()
    server.variables["CAIRN_STORE"] = cairn.s3_url(server.data, wire.url)
    return wire
