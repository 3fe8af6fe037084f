"""A proxy in front of PostgreSQL, on which something goes wrong at a statement that the test names."""

import contextlib
import socket
import threading
import urllib.parse

import cairn


class Relay:
    """Passes bytes to and from the server until a statement with these words comes. Then nothing passes any more, as if the machine were gone, or the
    test's function is called."""

    def __init__(self, words, happen=None):
        self.words, self.silent, self.sockets = words.encode(), threading.Event(), []
        self.happened, self.happen = threading.Event(), happen or self.silent.set

    def pump(self, source, to):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.words in data and not self.happened.is_set():
                    self.happen()
                    self.happened.set()
                if not self.silent.is_set():
                    to.sendall(data)
            if not self.silent.is_set():
                to.shutdown(socket.SHUT_WR)

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                server = socket.create_connection(self.place)
                self.sockets += [client, server]
                for source, to in ((client, server), (server, client)):
                    threading.Thread(target=self.pump, args=(source, to), daemon=True).start()

    def __enter__(self):
        at = urllib.parse.urlsplit(cairn.POSTGRES)
        self.place = (at.hostname, at.port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def url(self, folder):
        return cairn.postgres_url(folder).replace(f":{self.place[1]}/", f":{self.port}/")

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for s in self.sockets:
            s.close()
