"""HTTPS: signed ranges of whole xorbs by one curl with one cipher, from the daemon and from nginx."""

import subprocess
import time

from harness.bench import LeftOut
from harness.measure import Goal, Spread, in_turns, median
from harness.server import Nginx, Server, free_port, nginx_objects
from scenarios.fetch import _fetches, _header, _stored_file

CIPHER = "TLS_AES_128_GCM_SHA256"
PROXY = 'location /v1 {{ proxy_pass http://127.0.0.1:{}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }}'


def _certificate(folder):
    key, certificate = folder / "key", folder / "certificate"
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    argv += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    subprocess.run(argv, check=True, capture_output=True)
    return certificate, key


def _curl(bench, servers, fetches, certificate):
    """Runs curl. @return seconds, and the servers' processor time"""
    options = f'tls13-ciphers = "{CIPHER}"\ncacert = "{certificate}"\noutput = "/dev/null"\nfail\n'
    config = bench.tmp / "curl.conf"
    config.write_text("next\n".join(f'url = "{servers[0].url}{path}"\nheader = "{_header(ranges)}"\n{options}' for path, ranges in fetches))
    served, began = sum(s.cpu_s() for s in servers), time.monotonic()
    subprocess.run(["curl", "-s", "-K", config], check=True)
    return time.monotonic() - began, sum(s.cpu_s() for s in servers) - served


def tls(bench):
    """Signed ranges of nearly whole xorbs by one curl with one cipher, against nginx that serves the same files by TLS, and against nginx as a proxy before
    the daemon."""
    if not Nginx.installed:
        raise LeftOut("there is no nginx")
    data, folder, size = bench.folder("data"), bench.folder("tls"), bench.pick(256, 8) << 20
    certificate, key = _certificate(folder)
    name = _stored_file(bench, data, size)
    port = free_port()
    program = str(bench.build / "server/cairnd")
    argv = [program, "--data-dir", str(data), "--listen", f"127.0.0.1:{port}"]
    with bench.cairnd(data) as server:
        fetches = [f for f in _fetches(server, name, size, size - 1, 1) if len(f[1]) == 1] * bench.pick(4, 1)
    n_bytes = sum(end - start + 1 for _, ranges in fetches for start, end in ranges)
    nginx = Nginx(bench, nginx_objects(data), (certificate, key))
    runs = {}

    def daemon(*options, before=None):
        with Server([*argv, *options], port=port, log=bench.tmp / "cairnd.log") as server:
            server.url = f"{'https' if options else 'http'}://127.0.0.1:{port}"
            server.settle()
            _curl(bench, [before, server] if before else [server], fetches[:1], certificate)
            return _curl(bench, [before, server] if before else [server], fetches, certificate)

    proxy = Nginx(bench, PROXY.format(port), (certificate, key))
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
