"""kill -9 during concurrent uploads. Everything acknowledged is there; every other upload is there as a whole, or not at all."""

import http.client
import random
import threading

import cairn
import xet

UPLOADS = 50
ROUNDS = 20


class Upload(threading.Thread):
    """Uploads two xorbs, then one shard of two files, one on each xorb."""

    def __init__(self, server, seed, acknowledged):
        super().__init__()
        source = random.Random(seed)
        self.xorbs = [xet.Xorb([source.randbytes(source.randint(8192, 20000)) for _ in range(3)]) for _ in range(2)]
        self.files = [xet.File([(x, 0, 3)], sha256=source.randbytes(32)) for x in self.xorbs]
        self.shard = xet.shard(self.files, self.xorbs)
        self.server = server
        self.acknowledged = acknowledged
        self.xorbs_done = []
        self.shard_done = False

    def run(self):
        connection = self.server.connect(timeout=30)
        try:
            for x in self.xorbs:
                if self.server.put_xorb(x, connection=connection).status != 200:
                    return
                self.xorbs_done.append(x)
                self.acknowledged.release()
            if self.server.post("/v1/shards", self.shard, connection=connection).status == 200:
                self.shard_done = True
                self.acknowledged.release()
        except (OSError, http.client.HTTPException):
            pass  # the daemon was killed
        finally:
            connection.close()


def check(server, upload):
    for x in upload.xorbs_done:
        assert server.request("HEAD", x.path()).status == 200, "an acknowledged xorb is gone"
    state = {server.get(f"/v1/chunks/default/{xet.text(x.nodes[0][0])}").status for x in upload.xorbs}
    state |= {server.request("HEAD", f"/v1/files/{xet.text(f.hash())}").status for f in upload.files}
    assert len(state) == 1, f"half a shard is there: {state}"
    assert state == {200} or not upload.shard_done, "an acknowledged shard is gone"
    for x in upload.xorbs:
        assert server.put_xorb(x).status == 200
    again = server.post("/v1/shards", upload.shard)
    assert again.status == 200 and again.json()["result"] == (0 if state == {200} else 1), again
    return state == {200}


def test_kill_in_the_middle(tmp_path):
    server = cairn.Daemon(tmp_path)
    whole = absent = 0
    for round_ in range(ROUNDS):
        server.start()
        acknowledged = threading.Semaphore(0)
        uploads = [Upload(server, 1000 * round_ + i, acknowledged) for i in range(UPLOADS)]
        for u in uploads:
            u.start()
        # Each round kills at another moment, from hardly any to nearly all of the 150 answers.
        for _ in range(3 + round_ * 7):
            assert acknowledged.acquire(timeout=60)
        server.kill()
        for u in uploads:
            u.join()
        server.start()
        assert server.left_overs() == []
        # All queries come first, because checking an upload sends it again.
        states = [check(server, u) for u in uploads]
        whole += sum(states)
        absent += UPLOADS - sum(states)
        server.stop()
        assert server.left_overs() == []
    assert whole > 0 and absent > 0, f"no round was in the middle: {whole} whole, {absent} absent"
