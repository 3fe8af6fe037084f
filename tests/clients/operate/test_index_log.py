"""A program goes on reading the index, so that SQLite's log cannot be reset and grows. The daemon says which process it is."""

import json
import subprocess
import sys

import cairn
import pytest
from hub_calls import lines, text

pytestmark = pytest.mark.sqlite

READ = """
import sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True, isolation_level=None)
db.execute("BEGIN")
db.execute("SELECT count(*) FROM commit_").fetchall()
print("reads", flush=True)
sys.stdin.read()
"""
ROUND = 125 << 20  # bytes of log after which a checkpoint is due


@pytest.fixture
def server(tmp_path):
    daemon = cairn.Daemon(tmp_path)
    yield daemon.start()
    daemon.stop()


def grow(server, commits):
    """Lets the log grow, by some 65 MB for each commit."""
    for _ in range(commits):
        grow.n += 1
        operations = [text(f"{i % 50}/{i}", f"{grow.n} {i} ".ljust(65000, ".")) for i in range(1000)]
        assert server.post("/api/models/operator/one/commit/main", lines(*operations)).status == 200


grow.n = 0


def test_a_program_that_goes_on_reading_is_named(server):
    assert server.post("/api/repos/create", json.dumps({"name": "one", "type": "model"}).encode()).status == 200
    program = subprocess.Popen([sys.executable, "-c", READ, server.data / "index.sqlite"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with program:
        assert program.stdout.readline() == b"reads\n"
        grow(server, 6)
        assert server.metrics()["cairn_index_log_bytes"] > 2 * ROUND
        assert server.metrics()["cairn_index_log_held_seconds"] > 0
        cairn.wait_until("the line in the log", lambda: server.events("index_log_held"))
        [line] = server.events("index_log_held")
        assert line["holder"] == f"process {program.pid}" and line["log_bytes"] > 2 * ROUND, line
    assert server.metrics()["cairn_index_log_held_seconds"] == 0, "no program reads any more"
    cairn.wait_until("the end in the log", lambda: server.events("index_log_free"))
