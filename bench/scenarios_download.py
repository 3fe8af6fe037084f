"""Scenarios of the download side: plans, fetched ranges, xorb uploads, whole files by the stock client."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from harness import HERE, compare, cpu_s, median, spread, wait_for_quiet
from scenarios_upload import goal

NGINX = """
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
  open_file_cache max=1000;
  max_ranges 1000;
  client_body_temp_path {dir}; proxy_temp_path {dir}; fastcgi_temp_path {dir}; uwsgi_temp_path {dir}; scgi_temp_path {dir};
  server {{
    listen 127.0.0.1:{port} backlog=1024;
    location ~ "^/v1/fetch/(..)(..)(.*)$" {{ alias {objects}/$1/$2/$1$2$3; }}
  }}
}}
"""


class Nginx:
    """nginx on the objects of a data folder, at the paths of signed URLs: what a CDN would do with them."""

    def __init__(self, bench, objects):
        import socket

        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        folder = bench.folder("nginx")
        user = "user root;" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(user + NGINX.format(dir=folder, port=self.port, objects=objects))
        self.process = subprocess.Popen(["nginx", "-p", folder, "-c", folder / "nginx.conf"], stderr=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except ConnectionRefusedError:
                if self.process.poll() is not None:
                    raise RuntimeError("nginx did not start") from None
                time.sleep(0.02)

    def cpu_s(self):
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return sum(cpu_s(int(pid)) for pid in children)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.terminate()
        self.process.wait(30)


def plan(bench):
    """A file of 10,000 terms: the plan and its JSON, in one process; and a whole request, with the reply's way to the client."""
    yield from (
        "| answer | bytes | plan alone, ms | plan and JSON, ms | whole request in the daemon, ms | goal 3 ms for plan and JSON |",
        "|---|---|---|---|---|---|",
    )
    for xorbs in (20, 160, 500):
        made = bench.make("uploads", 1, xorbs, 1000, 1, 10000, store=True)
        data, sent = bench.folder("data"), {}
        file = (made / "files").read_text().strip()
        with bench.cairnd(data, "--no-access-log") as server:
            bench.load(server, made / "xorbs.tsv", 8)
            bench.load(server, made / "shards.tsv", 1)
            for version in ("v2", "v1"):
                targets = bench.tmp / "plan.tsv"
                targets.write_text(f"GET\t/{version}/reconstructions/{file}\t-\t-\n")
                wait_for_quiet()
                results = [bench.load(server, targets, 1, seconds=2, warm_ms=0) for _ in range(3)]
                ms = min(1000 * r["server_cpu_s"] / r["requests"] for r in results)
                sent[version] = ms, results[0]["bytes"] / results[0]["requests"]
        wait_for_quiet()
        for line in subprocess.check_output([bench.program("bench_plan"), data, file, "100"], text=True).splitlines():
            version, ms, plan_ms = line.split()
            yield (
                f"| {version}, {xorbs} xorbs | {sent[version][1]:,.0f} | {plan_ms} | {ms} | {sent[version][0]:.2f} | "
                f"{goal(float(ms), 3, more=False)} |"
            )


def _xorb_rates(bench, made, n, data_option=()):
    files = [str(made / f"x{i}") for i in range(n)]
    decode_s = float(subprocess.check_output(["taskset", "-c", "1", bench.program("bench_xorb"), "decode", *files]))
    with bench.cairnd(bench.folder("data"), "--no-access-log", *data_option, core=1) as server:
        result = bench.load(server, made / "xorbs.tsv", 1)
        user_s = server.user_s()
    return decode_s, result["server_cpu_s"], result["seconds"], user_s


def xorb(bench):
    """Uploads of xorbs, the daemon bound to one core, against unpacking and hashing alone on the same core."""
    yield from (
        "| 64 MiB of | MB sent each | processor time of BLAKE3 + LZ4, of the daemon's | of the daemon's outside the kernel | time of it, of the whole upload's | goal 0.6 |",
        "|---|---|---|---|---|---|",
    )
    n = 8
    for kind in ("text", "floats", "random"):
        made = bench.folder("uploads")
        subprocess.run([bench.program("bench_xorb"), "make", made, str(n), kind], check=True)
        runs = []
        for _ in range(5):
            wait_for_quiet()
            runs.append(_xorb_rates(bench, made, n))
        size = (made / "x0").stat().st_size / 1e6
        cpu = [r[0] / r[1] for r in runs]
        yield f"| {kind} | {size:.0f} | {spread(cpu)} | {spread(r[0] / r[3] for r in runs)} | {spread(r[0] / r[2] for r in runs)} | {goal(median(cpu), 0.6)} |"


def _python():
    """An interpreter that has hf_xet: the one of the client tests."""
    python = os.environ.get("CAIRN_BENCH_PYTHON", str(HERE.parent / ".venv/bin/python"))
    if not os.access(python, os.X_OK):
        sys.exit(f"{python} is not there; ./dev bench makes it")
    return python


def _hf(bench, script, *arguments):
    home = bench.folder("home")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "XET_"))}
    env |= {"HOME": str(home), "HF_HOME": str(home), "HF_XET_CACHE": str(home)}
    return subprocess.check_output([_python(), HERE / script, *map(str, arguments)], env=env, text=True).strip()


def _stored_file(bench, data, size):
    """Upload random bytes with hf_xet. @return the file's hash"""
    path = bench.tmp / "file"
    numbers = random.Random(7)
    with open(path, "wb") as f:
        for _ in range(size >> 20):
            f.write(numbers.randbytes(1 << 20))
    with bench.cairnd(data, "--no-access-log") as server:
        name = _hf(bench, "hf_put.py", server.url, path)
    path.unlink()
    return name


def _fetch_targets(bench, server, name, size, n_bytes, n):
    """n signed URLs, each for the chunks that a piece of the file at a random place runs over."""
    numbers = random.Random(3)
    lines = []
    for _ in range(n):
        start = numbers.randrange(size - n_bytes)
        body = json.loads(
            server.get(f"/v2/reconstructions/{name}", {"Range": f"bytes={start}-{start + n_bytes - 1}"})
        )
        for fetch in [f for of in body["xorbs"].values() for f in of]:
            path = fetch["url"][len(server.url) :]
            ranges = ",".join(f"{r['bytes']['start']}-{r['bytes']['end']}" for r in fetch["ranges"])
            lines.append(f"GET\t{path}\tbytes={ranges}\t-\n")
    targets = bench.tmp / "fetch.tsv"
    targets.write_text("".join(lines))
    return targets


def ranges(bench):
    """Signed ranges of stored xorbs against nginx sending the same bytes of the same files."""
    yield from (
        "| pieces of | connections | bytes a second, of nginx's | processor time of nginx, of ours | p99, of nginx's | goal 0.8 |",
        "|---|---|---|---|---|---|",
    )
    data, size = bench.folder("data"), 256 << 20
    name = _stored_file(bench, data, size)
    with bench.cairnd(data, "--no-access-log") as server, Nginx(bench, data / "objects") as nginx:
        for label, n_bytes in (("64 KiB", 1 << 16), ("1 MiB", 1 << 20), ("16 MiB", 1 << 24)):
            targets = _fetch_targets(bench, server, name, size, n_bytes, 200)
            for connections in (16, 64):
                pairs = compare(
                    5,
                    lambda: bench.load(server, targets, connections, seconds=2, expect=206),
                    lambda: bench.load(nginx, targets, connections, seconds=2, expect=206),
                )
                ratios = [a["rate"] / b["rate"] for a, b in pairs]
                cpu = median(b["server_cpu_s"] / b["requests"] / (a["server_cpu_s"] / a["requests"]) for a, b in pairs)
                p99 = median(a["p99_us"] / b["p99_us"] for a, b in pairs)
                yield f"| {label} | {connections} | {spread(ratios)} | {cpu:.2f} | {p99:.2f} | {goal(median(ratios), 0.8)} |"


def _download(bench, data, name, size, public_url=None):
    out = (Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else bench.tmp) / f"cairn-bench-{os.getpid()}"  # not the disk
    options = ["--public-url", public_url] if public_url else []
    with bench.cairnd(data, "--no-access-log", *options) as server:
        seconds = float(_hf(bench, "hf_get.py", server.url, name, size, out))
    if out.stat().st_size != size:
        raise RuntimeError("not the whole file came")
    out.unlink()
    return seconds


def download(bench):
    """A file of 1 GiB by hf_xet. Plans come from cairnd both times; the bytes from it, or from nginx by --public-url."""
    data, size = bench.folder("data"), 1 << 30
    name = _stored_file(bench, data, size)
    with Nginx(bench, data / "objects") as nginx:
        pairs = compare(
            7, lambda: _download(bench, data, name, size), lambda: _download(bench, data, name, size, nginx.url)
        )
    ratios = [b / a for a, b in pairs]
    yield from (
        "| file | bytes from cairnd, MB/s | bytes from nginx, MB/s | speed, of nginx's | goal 0.9 |",
        "|---|---|---|---|---|",
        f"| 1 GiB, random | {size / 1e6 / median(a for a, _ in pairs):.0f} | {size / 1e6 / median(b for _, b in pairs):.0f} | "
        f"{spread(ratios)} | {goal(median(ratios), 0.9)} |",
    )
