"""A wide-area line between servers of this machine (programs/bench_line.c)."""

import signal

from harness.server import Server

RTT_MS = 40
HANDSHAKES = 2  # round trips before the first bytes of a connection: TCP's and those of TLS 1.3


class Line(Server):
    """A port that leads to a server over a line of this rate. Each connection has at most this window."""

    rtt_s = RTT_MS / 1000

    def __init__(self, bench, server, mbit=1000, window_kib=6144):
        super().__init__([bench.program("bench_line"), *map(str, (server.port, RTT_MS, mbit, window_kib, HANDSHAKES))])

    def n_down(self):
        """@return the bytes that came to the client's side since the last call"""
        self.process.send_signal(signal.SIGUSR1)
        return int(self.process.stdout.readline())
