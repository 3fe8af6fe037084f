"""Servers under load: the daemon, and the servers that it is compared with."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

from harness.measure import cpu_s, user_s


# For builds with sanitizers: the library that counts syncs is loaded before ASan's.
SANITIZERS = {"ASAN_OPTIONS": "verify_asan_link_order=0", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A process that serves HTTP on loopback. Without a port it must print 'NAME listening on http://127.0.0.1:PORT' when it is ready; with a port,
    connections are tried until one succeeds. With syncs, its syncs are counted."""

    running = []

    def __init__(self, argv, port=None, stdin=None, log=None, syncs=None, env=None):
        self.syncs = syncs
        env = {**os.environ, **SANITIZERS, **(syncs.env() if syncs else {}), **(env or {})}
        out = subprocess.DEVNULL if port else subprocess.PIPE
        with open(log or os.devnull, "ab") as errors:
            self.process = subprocess.Popen(argv, stdin=stdin, stdout=out, stderr=errors, env=env, text=True)
        self.running.append(self)
        self.pid = self.process.pid
        self.log = log
        self.port = port or self._read_port()
        self.url = f"http://127.0.0.1:{self.port}"
        if port:
            self._knock()

    def _read_port(self):
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        if not found:
            raise RuntimeError(f"{self.process.args[0]} did not start: {line!r}")
        return int(found[1])

    def _knock(self):
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                if self.process.poll() is not None:
                    raise RuntimeError(f"{self.process.args[0]} did not start") from None
                time.sleep(0.02)

    def pids(self):
        return [self.pid]

    def cpu_s(self):
        return sum(cpu_s(pid) for pid in self.pids())

    def settle(self):
        """Waits until the server uses no processor time any more. Its work after a start, such as checking its index, does not belong to a load."""
        before = -1.0
        while self.cpu_s() > before:
            before = self.cpu_s()
            time.sleep(0.05)

    def user_s(self):
        return sum(user_s(pid) for pid in self.pids())

    def get(self, path, headers=None):
        with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=headers or {})) as reply:
            return reply.read()

    def metric(self, name):
        return float(re.search(rf"^{name} (\S+)$", self.get("/metrics").decode(), re.M)[1])

    def kill(self):
        """Kills the server, so that it cannot write anything more."""
        self.running.remove(self)
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    def stop(self):
        """Stops the server. Any exit status but success, or death by this signal, is a crash."""
        if self not in self.running:
            return
        self.running.remove(self)
        if self.process.stdin:
            self.process.stdin.close()
        else:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        if self.process.stdout:
            self.process.stdout.close()
        if status not in (0, -signal.SIGTERM):
            end = Path(self.log).read_text(errors="replace")[-4000:] if self.log else ""
            raise RuntimeError(f"{self.process.args[0]} ended with {status}\n{end}")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()


NGINX = """
{user}
worker_processes 2;
daemon off;
pid {dir}/nginx.pid;
error_log {dir}/error.log;
worker_rlimit_nofile 4096;
events {{ worker_connections 2048; }}
http {{
  access_log off;
  sendfile on;
  keepalive_requests 100000000;
  open_file_cache max=10000;
  max_ranges 1000;
  client_body_temp_path {dir}; proxy_temp_path {dir}; fastcgi_temp_path {dir}; uwsgi_temp_path {dir}; scgi_temp_path {dir};
  server {{
    listen 127.0.0.1:{port} backlog=1024{tls};
    {serves}
  }}
}}
"""


NGINX_TLS = " ssl; ssl_certificate {}; ssl_certificate_key {}; ssl_protocols TLSv1.3"


def nginx_objects(data):
    """The nginx rule that serves the objects of a data folder at the paths of signed URLs, as a CDN would do."""
    return f'location ~ "^/v1/fetch/(..)(..)(.*)$" {{ alias {data}/objects/$1/$2/$1$2$3; }}'


class Nginx(Server):
    """nginx with these lines in its server block. @param tls  certificate and key; None: plain HTTP"""

    program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    installed = program is not None

    def __init__(self, bench, serves, tls=None):
        port = free_port()
        folder = bench.folder(f"nginx-{port}")
        user = "user root;" if os.geteuid() == 0 else ""
        conf = folder / "nginx.conf"
        conf.write_text(NGINX.format(user=user, dir=folder, port=port, tls=NGINX_TLS.format(*tls) if tls else "", serves=serves))
        super().__init__([self.program, "-p", folder, "-c", conf], port=port)
        if tls:
            self.url = f"https://127.0.0.1:{port}"

    def pids(self):
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [int(pid) for pid in children]
