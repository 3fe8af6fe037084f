"""A hub that a daemon mirrors, played by a test: it gives prepared answers, lies, is slow, or says nothing."""

import contextlib
import socket
import ssl
import threading

import cairn

SHA = "0123456789abcdef0123456789abcdef01234567"


def answer(status, body=b"", **headers):
    """The bytes of an answer. headers: X_Error_Code="RepoNotFound" is X-Error-Code: RepoNotFound."""
    head = {"Content-Length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = [f"HTTP/1.1 {status} Words"] + [f"{name}: {value}" for name, value in head.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


NO_REPOSITORY = answer(404, b'{"error":"Repository not found"}', X_Error_Code="RepoNotFound")


class Upstream:
    """serve: the bytes of every answer, or a function serve(connection) that answers one request on its own thread, after the head was read. certificate,
    key: for HTTPS."""

    def __init__(self, serve, certificate=None, key=None, host="127.0.0.1"):
        self.serve = serve if callable(serve) else lambda connection: connection.sendall(serve)
        self.asked = []  # heads of requests
        self.connections = []
        self.tls = None
        self.host = host
        if certificate:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(certificate, key)

    def converse(self, connection):
        with contextlib.suppress(OSError, ssl.SSLError), connection:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
                self.connections.append(connection)
            while True:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    piece = connection.recv(1)
                    if not piece:
                        return
                    head += piece
                self.asked.append(head)
                self.serve(connection)

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection = self.listener.accept()[0]
                self.connections.append(connection)
                threading.Thread(target=self.converse, args=(connection,), daemon=True).start()

    def __enter__(self):
        self.listener = socket.create_server((self.host, 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http{'s' if self.tls else ''}://{self.host}:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def wait_until_asked(self):
        cairn.wait_until("a request to the upstream", lambda: self.asked)

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
