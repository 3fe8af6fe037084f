"""What the client tests share."""

import random

import cairn
import pytest
import xet


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
