"""HTTPS: signed ranges of whole xorbs by one curl, from the daemon and from nginx, with one cipher."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from harness.bench import LeftOut
from harness.measure import Goal, Spread, in_turns, median
from harness.server import NGINX, Nginx, Server, free_port
from scenarios.fetch import _fetches, _header, _stored_file

CIPHER = "TLS_AES_128_GCM_SHA256"
TLS = "ssl_certificate {dir}/certificate; ssl_certificate_key {dir}/key; ssl_protocols TLSv1.3;"
PROXY = 'location /v1 {{ proxy_pass http://127.0.0.1:{upstream}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }}'


def _certificate(folder):
    key, certificate = folder / "key", folder / "certificate"
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    argv += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    subprocess.run(argv, check=True, capture_output=True)
    return certificate, key


class _NginxTls(Nginx):
    """nginx on the objects, or before a daemon; with TLS."""

    def __init__(self, bench, folder, objects=None, upstream=None):
        port = free_port()
        user = "user root;" if os.geteuid() == 0 else ""
        text = NGINX.replace("backlog=1024;", "backlog=1024 ssl; " + TLS)
        if upstream:
            start = text.index("    location")
            text = text[:start] + "    " + PROXY + text[text.index("\n", start) :]
        conf = folder / f"nginx-{port}.conf"
        conf.write_text(text.format(user=user, dir=folder, port=port, objects=objects, upstream=upstream))
        program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
        Server.__init__(self, [program, "-p", folder, "-c", conf], port=port)
        self.url = f"https://127.0.0.1:{port}"


def _curl(bench, servers, fetches, certificate):
    """@return seconds, and the servers' processor time"""
    options = f'tls13-ciphers = "{CIPHER}"\ncacert = "{certificate}"\noutput = "/dev/null"\nfail\n'
    config = bench.tmp / "curl.conf"
    config.write_text("next\n".join(f'url = "{servers[0].url}{path}"\nheader = "{_header(ranges)}"\n{options}' for path, ranges in fetches))
    served, began = sum(s.cpu_s() for s in servers), time.monotonic()
    subprocess.run(["curl", "-s", "-K", config], check=True)
    return time.monotonic() - began, sum(s.cpu_s() for s in servers) - served


def tls(bench):
    """Signed ranges of nearly whole xorbs by one curl with one cipher, against nginx that sends the same files by TLS, also where it stands before the daemon."""
    if not Nginx.installed:
        raise LeftOut("there is no nginx")
    data, folder, size = bench.folder("data"), bench.folder("nginx"), bench.pick(256, 8) << 20
    certificate, key = _certificate(folder)
    name = _stored_file(bench, data, size)
    port = free_port()
    program = str(bench.build / "server/cairnd")
    argv = [program, "--data-dir", str(data), "--listen", f"127.0.0.1:{port}", "--no-access-log"]
    with bench.cairnd(data) as server:
        fetches = [f for f in _fetches(server, name, size, size - 1, 1) if len(f[1]) == 1] * bench.pick(4, 1)
    n_bytes = sum(end - start + 1 for _, ranges in fetches for start, end in ranges)
    nginx = _NginxTls(bench, folder, objects=data / "objects")
    runs = {}

    def daemon(*options, before=None):
        with Server([*argv, *options], port=port, log=bench.tmp / "cairnd.log") as server:
            server.url = f"{'https' if options else 'http'}://127.0.0.1:{port}"
            server.settle()
            _curl(bench, [before, server] if before else [server], fetches[:1], certificate)
            return _curl(bench, [before, server] if before else [server], fetches, certificate)

    proxy = _NginxTls(bench, folder, upstream=port) if Path(program).exists() else None
    sides = {
        "cairnd": lambda: daemon("--tls-certificate", certificate, "--tls-key", key),
        "nginx": lambda: _curl(bench, [nginx], fetches, certificate),
        "nginx before cairnd": lambda: daemon(before=proxy),
        "cairnd without TLS": lambda: daemon(),
    }
    runs = in_turns(bench, bench.rounds(5), sides)
    for server in (nginx, proxy):
        server.stop()
    for side, took in runs.items():
        rate, cpu = (Spread(b[i] / a[i] for a, b in zip(took, runs["nginx"])) for i in range(2))
        row = {"HTTPS from": side, "MB/s": f"{n_bytes / 1e6 / median(t[0] for t in took):.0f}", "server's CPU s a GiB": f"{median(t[1] for t in took) / n_bytes * (1 << 30):.2f}"}
        if side != "nginx":
            row |= {"rate, of nginx's": rate, "CPU of nginx, of theirs": cpu}
        if side == "cairnd":
            row["goal"] = Goal(cpu, 0.8, "of nginx")
        yield row
