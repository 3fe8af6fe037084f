"""Full mixed load on one cairnd for some minutes (`./dev soak 30`): uploads, verified downloads, queries, bad requests, vanishing clients, forgetting and
collecting, with hf_xet and `cairn` in between. Memory and descriptors must not grow, nothing may fail, and the questions of the beginning must have the
same answers at the end."""

import argparse
import contextlib
import hashlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

import cairn
import hf_client
import ledger
import plans
import xet

MIB = 1 << 20
EPOCH, GRACE = 60, 120
WRITERS, READERS = 3, 3
LIVE = 60  # files that a writer keeps; older ones are forgotten
WITNESSES = 20
SAMPLE_S = 5
OBJECTS_OPEN_MAX = 128  # lib/store/files/open_files.h
GROWTH, GROWTH_MIB = 0.10, 16  # of memory, between the second quarter and the last; only an increase by more than both fails


class Soak:
    def __init__(self, folder, minutes):
        self.folder = folder
        self.ends = time.monotonic() + minutes * 60
        self.server = cairn.Daemon(folder / "server", epoch=f"{EPOCH}s", gc_grace=f"{GRACE}s")
        self.counts, self.samples, self.failures = {}, [], []
        self.lock, self.live, self.longest_gc_s = threading.Lock(), {}, 0

    def over(self):
        return self.failures or time.monotonic() > self.ends

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def run(self, work, *args):
        try:
            while not self.over():
                work(*args)
        except BaseException:  # a thread's failure fails the program
            self.failures.append(traceback.format_exc())

    def write(self, source, mine):
        file = ledger.new_file(source.random(), xorbs=source.randint(1, 4))
        assert ledger.Ledger().upload(self.server, file).status == 200
        mine.append(file)
        with self.lock:
            self.live[ledger.name(file)] = file
        self.count("uploads")
        if len(mine) > LIVE:
            self.forget(mine.pop(0))

    def forget(self, file):
        with self.lock:
            del self.live[ledger.name(file)]
        reply = self.server.request("DELETE", f"/v1/files/{ledger.name(file)}")
        assert reply.status == 200, reply
        self.count("forgotten")

    def read(self, source):
        with self.lock:
            file = source.choice(list(self.live.values()))
        reply = self.server.get(f"/v2/reconstructions/{ledger.name(file)}")
        if reply.status == 404 and ledger.name(file) not in self.live:
            return  # forgotten meanwhile
        assert reply.status == 200, reply
        assert plans.download(self.server, reply.json()) == plans.content(file), "wrong bytes"
        for xorb, _, _ in file.terms:
            for chunk in (xorb.nodes[0][0], source.randbytes(32)):
                assert self.server.get(f"/v1/chunks/default/{xet.text(chunk)}").status in (200, 404)
        self.count("downloads")

    def annoy(self, source):
        """Sends requests that are refused, and some that are cut short."""
        file = ledger.new_file(source.random())
        xorb = file.terms[0][0]
        assert self.server.post(xorb.path(), xorb.body()[:-1]).status == 400
        assert self.server.post("/v1/shards", xet.shard([file], [xorb])).status == 400
        assert self.server.post("/v1/shards", source.randbytes(500)).status == 400
        assert self.server.get("/v2/reconstructions/" + "ab" * 32).status == 404
        assert self.server.get("/nothing").status == 404
        with self.server.socket() as s:
            s.sendall(f"POST {xorb.path()} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n".encode() + bytes(1000))
        with self.server.socket() as s:
            s.sendall(b"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.count("bad requests")
        threading.Event().wait(0.05)

    def hf_session(self, source):
        """Uploads and downloads with the stock client, and with cairn on the same file."""
        work = Path(tempfile.mkdtemp(dir=self.folder))
        path = work / "file"
        content = source.randbytes(3 * MIB) + b"".join(source.choices([b"alpha ", b"beta ", b"gamma "], k=300_000))
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        [info] = hf_client.upload(self.server, work / "up", [path])
        got = hf_client.download(self.server, work / "down", [{"hash": info["hash"], "size": len(content), "how": how} for how in ("file", "stream")])
        assert got == [{"bytes": len(content), "sha256": digest}] * 2, got
        out = work / "pulled"
        subprocess.run([cairn.CAIRN, "pull", "--quiet", "--server", self.server.url, "--output", str(out), info["hash"]], check=True, timeout=300, stdout=subprocess.DEVNULL)
        assert out.read_bytes() == content
        subprocess.run([cairn.CAIRN, "push", "--quiet", "--server", self.server.url, str(path)], check=True, timeout=300, stdout=subprocess.DEVNULL)
        assert self.server.request("DELETE", f"/v1/files/{info['hash']}").status == 200
        subprocess.run(["rm", "-rf", str(work)], check=True)
        self.count("sessions of hf_xet")

    def collect(self):
        began = time.monotonic()
        reply = self.server.post("/v1/gc", timeout=600)
        assert reply.status == 200, reply
        for path in ("/metrics", "/v1/stats", "/ready"):
            assert self.server.get(path).status == 200
        self.count("collections")
        self.longest_gc_s = max(self.longest_gc_s, time.monotonic() - began)
        self.wait(20)

    def wait(self, seconds):
        end = min(time.monotonic() + seconds, self.ends)
        while not self.failures and time.monotonic() < end:
            threading.Event().wait(0.2)

    def sample(self):
        status = Path(f"/proc/{self.server.process.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        sizes = [p.stat().st_size for p in self.server.data.rglob("*") if p.is_file() and p.exists()] if not self.over() else []
        self.samples.append(
            {
                "rss_mib": int(fields["VmRSS"].split()[0]) / 1024,
                "descriptors": len(os.listdir(f"/proc/{self.server.process.pid}/fd")),
                "threads": int(fields["Threads"]),
                "disk_mib": sum(sizes) / MIB,
            }
        )
        self.wait(SAMPLE_S)

    def descriptors(self):
        """The number of open descriptors, without two kinds: those of the index, whose connections for reading are opened as needed and kept, and
        those of objects that are kept open."""
        folder = Path(f"/proc/{self.server.process.pid}/fd")
        n = objects = 0
        for fd in folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                name = os.readlink(fd)
                objects += "/objects/" in name
                n += "/objects/" not in name and "/index.sqlite" not in name
        return n + max(0, objects - OBJECTS_OPEN_MAX)

    def answers(self, witnesses):
        """Answers that must be the same at the end, without keys and addresses, which are new in each epoch."""
        out = []
        for file in witnesses:
            plan = self.server.get(f"/v2/reconstructions/{ledger.name(file)}").json()
            out.append(plans.said(plan))
            out.append(hashlib.sha256(plans.download(self.server, plan)).hexdigest())
            chunk = file.terms[0][0].nodes[0][0]
            answer = xet.parse_answer(self.server.get(f"/v1/chunks/default/{xet.text(chunk)}").body)
            listed = answer.xorbs[file.terms[0][0].hash]
            assert [c[0] for c in listed] == [xet.keyed(answer.key, h) for h, _ in file.terms[0][0].nodes]
            out.append([(c[1], c[2], c[3]) for c in listed])
            out.append(self.server.request("HEAD", f"/v1/files/{ledger.name(file)}").headers["Content-Length"])
        return out

    def work(self):
        self.server.start()
        witnesses = [ledger.new_file(f"witness {i}", xorbs=1 + i % 3) for i in range(WITNESSES)]
        for file in witnesses:
            assert ledger.Ledger().upload(self.server, file).status == 200
            self.live[ledger.name(file)] = file
        before = self.answers(witnesses)
        idle = self.descriptors()
        jobs = [(self.write, random.Random(i), []) for i in range(WRITERS)]
        jobs += [(self.read, random.Random(100 + i)) for i in range(READERS)]
        jobs += [(self.annoy, random.Random(200)), (self.hf_session, random.Random(300)), (self.collect,), (self.sample,)]
        threads = [threading.Thread(target=self.run, args=job) for job in jobs]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not self.failures, self.failures[0]
        assert self.answers(witnesses) == before, "an answer has changed"
        cairn.wait_until("descriptors to be given back", lambda: self.descriptors() <= idle + 2)
        self.server.stop()
        errors = [e for e in self.server.events() if e["level"] == "error"]
        assert not errors, errors[:3]
        judged = subprocess.run([cairn.CAIRN, "fsck", "--data-dir", str(self.server.data)], capture_output=True, text=True)
        assert judged.returncode == 0, judged.stdout

    def quarter(self, n, name):
        at = len(self.samples) // 4
        return statistics.median(s[name] for s in self.samples[n * at : (n + 1) * at])

    def judge(self):
        print(", ".join(f"{n} {what}" for what, n in sorted(self.counts.items())) + f"; the longest collection took {self.longest_gc_s:.1f} s")
        for name in self.samples[0]:
            print(f"{name}: " + " ".join(f"{self.quarter(q, name):.1f}" for q in range(4)) + " (medians of the quarters)")
        second, last = self.quarter(1, "rss_mib"), self.quarter(3, "rss_mib")
        assert last <= second * (1 + GROWTH) or last <= second + GROWTH_MIB, f"memory grows: {second:.0f} MiB, then {last:.0f}"
        for name in ("threads", "descriptors"):
            assert self.quarter(3, name) <= self.quarter(1, name) * (1 + GROWTH) + 4, f"{name} grow"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", type=float, nargs="?", default=30)
    minutes = parser.parse_args().minutes
    with tempfile.TemporaryDirectory(prefix="cairn-soak-") as folder:
        soak = Soak(Path(folder), minutes)
        try:
            soak.work()
        finally:
            if soak.server.process is not None:
                soak.server.kill()
        soak.judge()
    print(f"soak: {minutes:g} minutes, nothing failed")


if __name__ == "__main__":
    sys.exit(main())
