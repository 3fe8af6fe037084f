"""Stands between a client and the daemon, and breaks fetches as it is told.

proxy.py URL FAULT: prints its port, then a line for each fetch that it broke. FAULT is one of
  none         passes everything on
  expire=N     answers the first N fetches with 403 fetch.expired
  stall=N      sends 256 KiB of the Nth fetch and then nothing more
  cut=N        closes the connection after 256 KiB of each of the first N fetches
  whole        leaves the Range header out of fetches' answers, and answers 200
Fetches that carry a token are answered with 500.
"""
import http.client
import http.server
import sys
import threading
import urllib.parse

upstream = urllib.parse.urlsplit(sys.argv[1])
fault, _, count = sys.argv[2].partition("=")
count = int(count or 0)
PART = 256 * 1024
lock = threading.Lock()
fetches = 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def broken(self, answer, body):
        """Answers a fetch wrongly, according to the fault. @return false: this fetch is to be answered correctly"""
        global fetches
        with lock:
            fetches += 1
            n = fetches
        if fault == "expire" and n <= count:
            text = b'{"error":{"code":"fetch.expired","message":"the signed URL has expired"}}'
            self.reply(403, [("Content-Type", "application/json")], text)
        elif (fault == "stall" and n == count) or (fault == "cut" and n <= count):
            self.reply(answer.status, answer.getheaders(), body[:PART], len(body))
            self.wfile.flush()
            if fault == "stall":
                print("stalled", flush=True)
                self.rfile.read()  # waits until the client hangs up
            self.close_connection = True
        elif fault == "whole":
            self.reply(200, [], body)
        else:
            return False
        if fault != "stall":
            print("broken", flush=True)
        return True

    def reply(self, code, headers, body, length=None):
        self.send_response(code)
        for name, value in headers:
            if name.lower() not in ("content-length", "connection", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def answer(self):
        is_fetch = self.path.startswith("/v1/fetch/")
        if is_fetch and self.headers.get("Authorization"):
            self.reply(500, [], b"a token was sent to a signed URL")
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        connection = http.client.HTTPConnection(upstream.hostname, upstream.port)
        connection.request(self.command, self.path, body or None, dict(self.headers))
        answer = connection.getresponse()
        data = answer.read()
        if not (is_fetch and self.broken(answer, data)):
            length = int(answer.getheader("Content-Length", 0)) if self.command == "HEAD" else None
            self.reply(answer.status, answer.getheaders(), data, length)
        connection.close()

    do_GET = do_POST = do_HEAD = do_DELETE = answer

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
server.handle_error = lambda *args: None  # the faults make clients hang up, which is no error
print(server.server_port, flush=True)
server.serve_forever()
