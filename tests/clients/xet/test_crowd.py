"""Many small xorbs at once wait for the disk together, and each fails only if its own sync fails."""

import threading

import cairn
import ledger
import pytest
from faults import EIO, ENOSPC, FOR_EVER, HOLD, Faults

CROWD = 24  # more than the threads that verify, fewer than may wait for the disk


@pytest.fixture
def faults(tmp_path):
    found = Faults(tmp_path / "faults", workers=2)
    found.server.start()
    yield found
    found.disarm()
    found.server.stop()


class Crowd:
    """Parallel uploads of xorbs."""

    def __init__(self, server, xorbs):
        self.server, self.xorbs, self.statuses = server, xorbs, {}
        self.threads = [threading.Thread(target=self.put, args=(x,)) for x in xorbs]
        for t in self.threads:
            t.start()

    def put(self, xorb):
        self.statuses[xorb.hash] = self.server.put_xorb(xorb).status

    def end(self):
        """Waits for all uploads. @return statuses, in the order of the xorbs"""
        for t in self.threads:
            t.join()
        return [self.statuses[x.hash] for x in self.xorbs]


def wait_for_all(faults):
    """Waits until every upload has been received, and as many syncs are held as there are uploads. (One of these syncs may belong to something else.)"""
    in_flight = lambda: faults.server.metrics()["cairn_http_requests_in_flight"]
    cairn.wait_until("all of them to be in a sync", lambda: faults.fired() >= CROWD and in_flight() > CROWD)


def xorbs(n, seed=0):
    return [ledger.new_file(1000 * seed + i).terms[0][0] for i in range(n)]


@pytest.mark.files
def test_all_wait_together(faults):
    faults.arm({"fsync"}, HOLD, 1, FOR_EVER)
    crowd = Crowd(faults.server, xorbs(CROWD))
    wait_for_all(faults)
    assert faults.server.get("/health").status == 200
    faults.disarm()
    assert crowd.end() == [200] * CROWD


@pytest.mark.files
@pytest.mark.parametrize(("action", "status"), [(EIO, 500), (ENOSPC, 507)])
@pytest.mark.parametrize("n", [1, CROWD // 2, CROWD, 2 * CROWD])
def test_a_failed_sync_fails_one(faults, action, status, n):
    faults.arm({"fsync"}, action, n, n)
    crowd = Crowd(faults.server, xorbs(CROWD))
    found = crowd.end()
    assert faults.disarm() == 1
    assert sorted(found) == [200] * (CROWD - 1) + [status]
    assert faults.server.put_xorb(crowd.xorbs[found.index(status)]).status == 200
    assert all(faults.server.request("HEAD", x.path()).status == 200 for x in crowd.xorbs)
    assert faults.server.left_overs() == []


@pytest.mark.files
def test_a_stop_waits_for_them(faults):
    """Uploads sent before the stop are answered, and are there after the next start."""
    faults.arm({"fsync"}, HOLD, 1, FOR_EVER)
    crowd = Crowd(faults.server, xorbs(CROWD))
    wait_for_all(faults)
    stop = threading.Thread(target=faults.server.stop)
    stop.start()
    cairn.wait_until("the stop to begin", lambda: '"event":"stopping"' in faults.server.log())
    faults.disarm()
    assert crowd.end() == [200] * CROWD
    stop.join()
    faults.server.start()
    assert all(faults.server.request("HEAD", x.path()).status == 200 for x in crowd.xorbs)
