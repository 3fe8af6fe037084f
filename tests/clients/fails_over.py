"""Clients that work on a cluster whose parts fail."""

import concurrent.futures
import contextlib
import hashlib
import random
import threading
import time

import cairn
import hf_client
import ledger

UPLOADERS = 16
ANSWER_S = 10  # the daemon's 5 s, doubled for a busy machine
WITHIN_S = 90
AGAIN_S = 0.1  # seconds between a failed attempt and the next one


class Pace:
    """Records when something succeeded, and finds the longest time between two successes."""

    def __init__(self):
        self.lock = threading.Lock()
        self.at = [time.monotonic()]

    def tick(self):
        with self.lock:
            self.at.append(time.monotonic())

    def stall(self, since):
        with self.lock:
            at = [t for t in self.at if t >= since]
        return max((b - a for a, b in zip([since, *at], at)), default=time.monotonic() - since)


class Timed:
    """A server that must answer each request, and how long its slowest answer took."""

    def __init__(self, server):
        self.server = server
        self.slowest = 0.0

    def timed(self, ask):
        began = time.monotonic()
        try:
            return ask()
        finally:
            self.slowest = max(self.slowest, time.monotonic() - began)

    def put_xorb(self, xorb):
        return self.timed(lambda: self.server.put_xorb(xorb, timeout=3 * ANSWER_S))

    def post(self, path, body):
        return self.timed(lambda: self.server.post(path, body, timeout=3 * ANSWER_S))


class Work:
    """Clients that work from before a fault until after it: sixteen uploaders, the stock client, and one that asks the engine itself."""

    def __init__(self, server, folder, probe):
        self.server, self.folder, self.probe = server, folder, probe
        self.ending = threading.Event()
        self.acknowledged, self.engine = Pace(), Pace()
        self.books = [ledger.Ledger() for _ in range(UPLOADERS)]
        self.timed = [Timed(server) for _ in range(UPLOADERS)]
        self.sent = []  # by the stock client: (hash, SHA-256)
        self.pool = concurrent.futures.ThreadPoolExecutor(UPLOADERS + 2)

    def __enter__(self):
        self.jobs = [self.pool.submit(self.upload, i) for i in range(UPLOADERS)]
        self.jobs += [self.pool.submit(self.upload_by_client), self.pool.submit(self.ask_engine)]
        self.go_on()
        self.began = time.monotonic()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.pool.shutdown()

    def upload(self, i):
        """Uploads each file until it is acknowledged, as clients do."""
        seed = 0
        while not self.ending.is_set():
            file = ledger.new_file(f"{self.folder} {i} {seed}")
            with contextlib.suppress(*ledger.GONE):
                reply = self.books[i].upload(self.timed[i], file)
                assert reply.status in (200, 502, 503, 504), reply
                if reply.status == 200:
                    seed += 1
                    self.acknowledged.tick()
                    continue
            self.ending.wait(AGAIN_S)

    def upload_by_client(self):
        while not self.ending.is_set():
            content = random.Random(f"{self.folder} {len(self.sent)}").randbytes(1 << 20)
            path = self.folder / f"content{len(self.sent)}"
            path.write_bytes(content)
            info = self.send_by_client(path)
            self.sent.append((info["hash"], hashlib.sha256(content).hexdigest()))

    def send_by_client(self, path):
        """Uploads by the stock client, which tries again by itself."""
        settings = {"client_retry_base_delay": "300ms", "client_retry_max_attempts": 30}
        (info,) = hf_client.upload(self.server, self.folder / f"session{len(self.sent)}", [path], **settings)
        return info

    def ask_engine(self):
        while not self.ending.is_set():
            if self.probe():
                self.engine.tick()
            self.ending.wait(AGAIN_S)

    def files(self):
        return [len(book.files) for book in self.books]

    def go_on(self):
        """Waits until each uploader has had one more file acknowledged, and the stock client one of its own."""
        before, sent = self.files(), len(self.sent)
        more = lambda: all(n > m for n, m in zip(self.files(), before)) and len(self.sent) > sent
        cairn.wait_until("uploads", lambda: more() or any(job.done() for job in self.jobs), WITHIN_S)
        for job in self.jobs:
            assert not job.done() or job.result() is None

    def judge(self, capsys, what):
        for job in self.jobs:
            job.result()
        slowest = max(timed.slowest for timed in self.timed)
        stalls = self.acknowledged.stall(self.began), self.engine.stall(self.began)
        with capsys.disabled():
            print(f"\nfailover: {what}: longest stall {stalls[0]:.1f} s, the engine's own {stalls[1]:.1f} s, slowest answer {slowest:.1f} s", end="")
        assert slowest < ANSWER_S, "an answer took too long"
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            daemons = getattr(self.server, "daemons")
            list(pool.map(lambda one: one[1].check(daemons[one[0] % len(daemons)]), enumerate(self.books)))
        gets = [{"hash": name, "size": 1 << 20, "how": "file"} for name, _ in self.sent]
        got = hf_client.download(self.server, self.folder, gets)
        assert [one.get("sha256") for one in got] == [sha256 for _, sha256 in self.sent], got
