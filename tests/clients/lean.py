"""Daemons whose memory is measured."""

import threading

import cairn


class LeanDaemon(cairn.Daemon):
    """A daemon that gives freed memory back at once, also under AddressSanitizer. So the memory measured is what it holds."""

    def environment(self):
        env = super().environment()
        env["ASAN_OPTIONS"] += ":quarantine_size_mb=0:thread_local_quarantine_size_kb=0"
        return env


class Watch:
    """Measures the most anonymous memory of a process while something runs."""

    def __init__(self, pid):
        self.pid, self.peak_kib, self.done = pid, 0, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def now_kib(self):
        with open(f"/proc/{self.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("RssAnon"))

    def run(self):
        while not self.done.wait(0.003):
            self.peak_kib = max(self.peak_kib, self.now_kib())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()
