"""A page in a browser, of another origin than the server, uploads and downloads with fetch(). Needs Chromium."""

import http.server
import json
import queue
import shutil
import subprocess
import threading
import time
from pathlib import Path

import cairn
import jwt
import pytest
import xet

CHROMIUM = shutil.which("chromium")
PAGES = Path(__file__).with_name("browser")
TYPES = {".html": "text/html", ".js": "text/javascript", ".json": "application/json"}
XORB = "c1cbf254519b03aa1156bef0db91741e5d97522de940ee342201c7e7fd7b0018"
# terms of a second file over the same xorb: three parts of it, one of them twice
TERMS = [(0, 5), (10, 20), (30, 43), (10, 12)]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; ./dev test browser installs it")


class Described:
    """The captured xorb, built from its description alone."""

    def __init__(self, dump):
        self.nodes = [(xet.raw(c["hash"]), c["uncompressed_length"]) for c in dump]
        self.hash = xet.merkle_root(self.nodes)


@pytest.fixture
def site():
    """The page's own web server. site.files: the files that it serves; site.said: what pages send to it."""
    files = {"/" + p.name: (TYPES[p.suffix], p.read_bytes()) for p in PAGES.iterdir()}
    said = queue.Queue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            kind, body = files.get(self.path, (None, b""))
            self.send_response(200 if kind else 404)
            self.send_header("Content-Type", kind or "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            said.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    server.files, server.said = files, said
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def visit(tmp_path, site):
    """visit(host) opens the page in a browser, under that name of the site. @return what the page sends"""
    browsers = []

    def one(host, seconds=120):
        log = open(tmp_path / "chromium.log", "wb")
        browser = subprocess.Popen(
            [
                CHROMIUM,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--disable-component-update",
                "--no-first-run",
                "--no-proxy-server",
                "--enable-logging=stderr",
                f"--user-data-dir={tmp_path / 'profile'}",
                f"http://{host}:{site.server_port}/index.html",
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        browsers.append((browser, log))
        try:
            return site.said.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError((tmp_path / "chromium.log").read_text(errors="replace")[-4000:]) from None

    yield one
    for browser, log in browsers:
        browser.terminate()
        try:
            browser.wait(20)
        except subprocess.TimeoutExpired:
            browser.kill()
            browser.wait()
        log.close()


@pytest.fixture
def served(start, tmp_path, site):
    """A server that needs tokens and accepts pages of http://localhost:PORT, and what the page is told to do there."""
    key = tmp_path / "key"
    key.write_text("A" * 43 + "\n")
    key.chmod(0o600)
    server = start(token_key=key, cors_origins=f"http://localhost:{site.server_port}")
    folder = cairn.DATA / "js"
    known = json.loads((folder / "js_2.json").read_text())["files"][0]
    xorb = Described(json.loads((folder / "xorbs" / f"{XORB}.json").read_text())["chunks"])
    assert xet.text(xorb.hash) == XORB
    second = xet.File([(xorb, start_at, end) for start_at, end in TERMS])
    order = {
        "cas": server.url,
        "token": jwt.encode({"scope": "write", "exp": int(time.time()) + 600}, bytes(32), algorithm="HS256"),
        "xorb": XORB,
        "unknown_chunk": "12" * 32,
        "first": {"hash": known["file_hash"], "sha256": known["metadata_ext"]["sha256_u64le_hex"]},
        "second": {"hash": xet.text(second.hash()), "terms": TERMS, "ranges": 3},
    }
    binary = "application/octet-stream"
    site.files |= {
        "/order.json": ("application/json", json.dumps(order).encode()),
        "/xorb": (binary, (folder / "xorbs" / XORB).read_bytes()),
        "/first.shard": (binary, (folder / "js_2.shard").read_bytes()),
        "/second.shard": (binary, xet.shard([second], [])),
    }
    return server


def test_page_uploads_and_downloads(served, visit):
    said = visit("localhost")
    assert said.get("done"), said
    assert said["done"]["ranges"] == 3 and said["done"]["whole"] == 2073364 and said["done"]["part"] == 800000
    served.stop()
    asked = [event["status"] for event in served.events("request") if event["method"] == "OPTIONS"]
    assert asked and set(asked) == {204}, "the browser sent no successful preflight"


def test_page_of_another_origin_gets_nothing(served, visit):
    said = visit("127.0.0.1")
    assert "TypeError" in said.get("error", ""), said
    served.stop()
    seen = [(event["method"], event["status"]) for event in served.events("request")]
    assert seen == [("OPTIONS", 405)], "the browser asked, got no permission, and sent no more"
