"""A proxy in front of the daemon that records requests and, where a test wants it, makes something go wrong.

A rule is a function of (Request, how often its route was asked before). It returns None to pass the request on, an int to answer with that status, "drop"
to close the connection, "lose" to pass the request on and close the connection, "twice" to pass it on twice, a Reply to answer with, or another path to ask for. It may also return a function, which is
called without delaying other requests, and returns one of these."""

import contextlib
import http.client
import http.server
import socketserver
import sys
import threading
from dataclasses import dataclass

import cairn


@dataclass
class Request:
    method: str
    path: str
    headers: dict
    status: int | None = None
    reply: cairn.Reply | None = None

    @property
    def route(self):
        """The path without the parts that differ between files: /v1/fetch, /v2/reconstructions, ..."""
        return "/".join(self.path.split("?")[0].split("/")[:3])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def pass_on(self):
        between = self.server.between
        request = Request(self.command, self.path, {k.lower(): v for k, v in self.headers.items()})
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        outcome = between.note(request)
        if callable(outcome):
            outcome = outcome()
        if outcome == "drop":
            self.close_connection = True
            return
        if isinstance(outcome, int):
            self.answer(request, outcome, {}, b"")
            return
        if isinstance(outcome, cairn.Reply):
            self.answer(request, outcome.status, dict(outcome.headers.items()), outcome.body)
            return
        if outcome == "twice":
            self.ask(self.path, body)
        request.reply = reply = self.ask(self.path if outcome in (None, "twice", "lose") else outcome, body)
        if outcome == "lose":
            self.close_connection = True
            return
        self.answer(request, reply.status, dict(reply.headers.items()), reply.body)

    def ask(self, path, body):
        """Asks the daemon behind. @return its answer"""
        c = http.client.HTTPConnection("127.0.0.1", self.server.between.server.port, timeout=60)
        with contextlib.closing(c):
            c.request(self.command, path, body=body or None, headers=dict(self.headers.items()))
            reply = c.getresponse()
            return cairn.Reply(reply.status, reply.headers, reply.read())

    def answer(self, request, status, headers, body):
        request.status = status
        self.send_response_only(status)
        length = headers.get("Content-Length", "0") if request.method == "HEAD" else len(body)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = pass_on


class Listener(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, *arguments):
        if not isinstance(sys.exception(), ConnectionError):  # the client may give up
            super().handle_error(*arguments)


class Between:
    def __init__(self, server, rule=lambda request, before: None):
        self.server, self.rule, self.requests, self.lock = server, rule, [], threading.Lock()

    def note(self, request):
        with self.lock:
            before = sum(r.route == request.route for r in self.requests)
            self.requests.append(request)
            return self.rule(request, before)

    def statuses(self, route):
        return [r.status for r in self.requests if r.route == route]

    def __enter__(self):
        self.listener = Listener(("127.0.0.1", 0), Handler)
        self.listener.between = self
        self.url = f"http://127.0.0.1:{self.listener.server_port}"
        self.thread = threading.Thread(target=self.listener.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown()
        self.thread.join()
        self.listener.server_close()
