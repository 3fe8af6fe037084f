"""Fixtures for tests in which an engine (PostgreSQL or the S3 service) fails."""

import cluster
import pytest


@pytest.fixture
def three(tmp_path):
    made = cluster.Cluster(tmp_path / "three")
    yield made.start()
    made.stop()
