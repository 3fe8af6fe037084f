"""What the tests of engines that fail share."""

import cluster
import pytest


@pytest.fixture
def three(tmp_path):
    made = cluster.Cluster(tmp_path / "three")
    yield made.start()
    made.stop()
