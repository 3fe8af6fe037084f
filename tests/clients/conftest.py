"""What the client tests share."""

import random
import struct

import cairn
import pytest
import xet
from issuer import Issuer


@pytest.fixture
def start(tmp_path):
    """start(shard_bytes_max="4K", ...) starts a daemon; all are stopped, and must stop well, at the end of the test."""
    daemons = []

    def begin(name="server", **options):
        daemon = cairn.Daemon(tmp_path / name, **options).start()
        daemons.append(daemon)
        return daemon

    yield begin
    for daemon in daemons:
        daemon.stop()


@pytest.fixture
def server(start):
    return start()


@pytest.fixture
def make():
    """make(sizes, seed): a xorb of random chunks of those sizes."""

    def one(sizes, seed):
        source = random.Random(seed)
        return xet.Xorb([source.randbytes(n) for n in sizes])

    return one


@pytest.fixture
def issuer(tmp_path):
    return Issuer(tmp_path / "keys")


@pytest.fixture
def clock(tmp_path):
    """clock.move(seconds) moves the daemon's wall clock."""

    class Clock:
        path = tmp_path / "clock"

        def move(self, seconds):
            with open(self.path, "r+b") as f:
                f.write(struct.pack("<q", seconds))

    Clock.path.write_bytes(bytes(8))
    return Clock()
