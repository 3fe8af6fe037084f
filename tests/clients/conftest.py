"""Fixtures for the client tests."""

import os
import random
import shutil
import tempfile

import cairn
import cluster
import pytest
import volume
import xet
from clocks import Clock
from issuer import Issuer

# hf_xet remembers what a server has by its address, and a later server may get the same port. So each run of a file has a cache of its own, set before
# anything of the library is imported.
HF_FOLDER = tempfile.mkdtemp(prefix="cairn-hf-")
os.environ |= {"HF_HOME": HF_FOLDER, "HF_XET_CACHE": HF_FOLDER}

from people import People


def pytest_configure(config):
    config.addinivalue_line("filterwarnings", "error::pytest.PytestUnhandledThreadExceptionWarning")  # a failed assertion in a thread fails the test
    config.addinivalue_line("markers", "files: looks at objects as files, or needs them to outlast the daemon")
    config.addinivalue_line("markers", "sqlite: opens the index by hand, or wants a command that works on such a folder alone")
    config.addinivalue_line("markers", "commands: the tool's commands, of which others here ask the same of each index and store by its library")


def pytest_unconfigure(config):
    shutil.rmtree(HF_FOLDER, ignore_errors=True)


def pytest_collection_modifyitems(items):
    skipped = {}
    if cairn.INDEX:
        skipped["sqlite"] = "the index is in PostgreSQL"
    if cairn.STORE not in (None, "files"):
        skipped["files"] = f"objects are no files in the store {cairn.STORE}"
    if skipped:
        skipped["commands"] = "what the commands ask is tried by the library here"
    for item in items:
        for marker, reason in skipped.items():
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def start(tmp_path):
    """start(shard_bytes_max="4K", ...) starts a daemon. All are stopped at the end of the test, and must stop well."""
    daemons = []

    def begin(name="server", **options):
        if cairn.DAEMONS and "store" in options:
            pytest.skip("daemons share a store of S3 alone")
        daemon = (cluster.Cluster if cairn.DAEMONS else cairn.Daemon)(tmp_path / name, **options).start()
        daemons.append(daemon)
        return daemon

    yield begin
    for daemon in daemons:
        daemon.stop()


@pytest.fixture
def start_cluster(tmp_path):
    """start_cluster(n=3, ...) starts daemons that share everything, behind a balancer. All must stop well."""
    made = []
    if not cluster.HAPROXY.exists():
        pytest.skip("there is no haproxy")

    def begin(**options):
        made.append(cluster.Cluster(tmp_path / "three", **options))
        return made[-1].start()

    yield begin
    for one in made:
        one.stop()


@pytest.fixture
def server(start):
    return start()


@pytest.fixture
def make():
    """make(sizes, seed) makes a xorb of random chunks of these sizes."""

    def one(sizes, seed):
        source = random.Random(seed)
        return xet.Xorb([source.randbytes(n) for n in sizes])

    return one


@pytest.fixture
def issuer(tmp_path):
    return Issuer(tmp_path / "keys")


@pytest.fixture
def guarded(start, issuer):
    """A daemon that accepts tokens of that issuer only."""
    return start(token_key=issuer.folder)


@pytest.fixture
def admin(issuer):
    """The operator's token."""
    return issuer.token("admin")


@pytest.fixture
def clock(tmp_path):
    """clock.move(seconds) moves the daemon's wall clock."""
    return Clock(tmp_path / "clock")


@pytest.fixture
def mount(tmp_path):
    """mount(name, kind, n_bytes, *options) mounts a new volume. @return its folder. Ask for this fixture before `start`: then volumes are unmounted after
    the daemons have stopped."""
    volumes = []

    def one(name, kind, n_bytes, *options):
        if os.geteuid() != 0:
            pytest.skip("only root may mount")
        volumes.append(volume.Volume(tmp_path / name, kind, n_bytes, options))
        return volumes[-1]

    yield one
    for one_volume in reversed(volumes):
        one_volume.close()


@pytest.fixture
def people(guarded, admin, tmp_path):
    return People(guarded, admin, tmp_path / "home")


@pytest.fixture
def data():
    """Other bytes in each test: the client remembers what a daemon has by the daemon's address."""
    return os.urandom(3_000_000)
