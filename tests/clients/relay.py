"""Lines to another place on which something goes wrong."""

import contextlib
import socket
import threading
import urllib.parse

import cairn


class Line:
    """A port that leads to a place, which is (host, port). A subclass changes how bytes pass on."""

    def __init__(self, place):
        self.place, self.sockets = place, []

    def pump(self, source, to):
        while data := source.recv(65536):
            to.sendall(data)

    def down(self, source, to):
        """Passes on what comes from the place."""
        self.pump(source, to)

    def safely(self, move, *ends):
        with contextlib.suppress(OSError):
            move(*ends)

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, place = self.listener.accept()[0], socket.create_connection(self.place)
                self.sockets += [client, place]
                for ends in ((self.pump, client, place), (self.down, place, client)):
                    threading.Thread(target=self.safely, args=ends, daemon=True).start()

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for s in self.sockets:
            s.close()


class Relay(Line):
    """A proxy in front of PostgreSQL. It passes bytes on until a statement with these words comes. Then it calls the test's function, or passes nothing
    any more, as if the machine were gone."""

    def __init__(self, words, happen=None):
        at = urllib.parse.urlsplit(cairn.POSTGRES)
        super().__init__((at.hostname, at.port))
        self.words, self.silent = words.encode(), threading.Event()
        self.happened, self.happen = threading.Event(), happen or self.silent.set

    def pump(self, source, to):
        while data := source.recv(65536):
            if self.words in data and not self.happened.is_set():
                self.happen()
                self.happened.set()
            if not self.silent.is_set():
                to.sendall(data)
        if not self.silent.is_set():
            to.shutdown(socket.SHUT_WR)

    def url(self, folder):
        return cairn.postgres_url(folder).replace(f":{self.place[1]}/", f":{self.port}/")
