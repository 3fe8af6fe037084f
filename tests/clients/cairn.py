"""Starts the real daemon in a folder of its own and speaks HTTP to it.

CAIRND_BINARY and CAIRN_BINARY name the programs (meson sets them).
"""

import atexit
import contextlib
import functools
import hashlib
import http.client
import json
import os
import re
import secrets
import select
import signal
import socket
import sqlite3
import ssl
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
CAIRND = os.environ.get("CAIRND_BINARY", str(ROOT / "build-asan" / "server" / "cairnd"))
CAIRN = os.environ.get("CAIRN_BINARY", str(ROOT / "build-asan" / "cli" / "cairn"))
REPORTS = re.compile(r"(AddressSanitizer|LeakSanitizer|UndefinedBehaviorSanitizer|ThreadSanitizer|runtime error:)")
STORE = os.environ.get("CAIRN_STORE")  # store of all daemons; None: the default; s3: in the engine of tests/engines
ENGINE = os.environ.get("CAIRN_TEST_S3")  # the engine's endpoint, whose credentials are in the environment; None: there is none
POSTGRES = os.environ.get("CAIRN_TEST_POSTGRES")  # URL of a PostgreSQL server; None: there is none
INDEX = os.environ.get("CAIRN_INDEX")  # index of all daemons; None: SQLite; postgres: in that server
DAEMONS = os.environ.get("CAIRN_DAEMONS") == "3"  # run three daemons for each server; they share index and store (cluster.py)
RUN = secrets.token_hex(4)  # distinguishes what several runs leave in the same engine
START_S = 60
STOP_S = 60
REST_S = 0.06  # seconds that slowness() measures on an idle machine
launched = []  # all daemons of this test run


def routes():
    """All routes, from the sources: [(method, pattern, [older patterns], the scope of the token that it needs, or None)]"""
    kinds = re.findall(r'ROW\("([^"]+)" rest', (ROOT / "server/ask/hub_repo.h").read_text())  # of HUB_EACH_KIND
    found = []
    for path in sorted([*(ROOT / "server/route").glob("route_*.c"), *(ROOT / "server/hub").glob("hub_*.c")]):
        for table in re.findall(r"^const struct http_route \w+\[\] = \{(.*?)\n\t\{0\},\n\};", path.read_text(), re.M | re.S):
            for row in re.split(r"\n\t(?=\S)", table)[1:]:
                older = re.search(r"\.older = \(const char \*const\[\]\)\{([^;]*?), NULL\}", row)
                scope = re.search(r"\bCAIRN_TOKEN_([A-Z]+)", row)
                # a route is {.method, .pattern}, or HUB_GET("/pattern", ...), or HUB_EACH_KIND(HUB_GET, "/rest", ...)
                shape = r'{\.method = "([A-Z]+)",\s*\.pattern = "([^"]+)"|(HUB_EACH_KIND\()?[A-Z_]+_([A-Z]+)[(,]\s*"([^"]+)"'
                method, pattern, each, method_of_macro, rest = re.match(shape, row).groups()
                for begin in kinds if each else [""]:
                    whole = re.sub("[%*]}", "}", begin + (pattern or rest))  # a mark in a pattern only says which characters a part may have
                    names = re.findall(r'"([^"]+)"', older[1]) if older else []
                    found.append((method or method_of_macro, whole, names, scope[1].lower() if scope else None))
    return found


class Reply:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {dict(self.headers.items())} {self.body[:300]!r}>"


@functools.cache
def is_sanitized():
    """Is the program built with a sanitizer? Then limits in bytes are not checked, since a sanitizer takes memory, too, depending on the compiler."""
    program = Path(CAIRND).read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


def s3_url(folder, endpoint=None):
    """The S3 store of a data folder: the same one after a restart, and no other folder's."""
    prefix = hashlib.sha256(f"{RUN} {folder}".encode()).hexdigest()[:16]
    return f"s3://cairn/{prefix}?endpoint={endpoint or ENGINE}"


def postgres_url(folder):
    """The PostgreSQL index of a data folder: the same one after a restart, and no other folder's."""
    schema = hashlib.sha256(f"{RUN} {folder}".encode()).hexdigest()[:16]
    return f"{POSTGRES}?schema={schema}"


def rows(data, question):
    """The rows of an SQL query on the index of a data folder."""
    if not INDEX:
        with contextlib.closing(sqlite3.connect(f"file:{data / 'index.sqlite'}?mode=ro", uri=True)) as db:
            return db.execute(question).fetchall()
    schema = postgres_url(data).split("=")[1]
    script = [ROOT / "tests/engines/postgresql.sh", "sql", os.environ["CAIRN_TEST_POSTGRES_FOLDER"], f'SET search_path = "{schema}"; {question}']
    lines = subprocess.run(script, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()[1:]
    value = lambda text: bytes.fromhex(text[2:]) if text.startswith("\\x") else int(text) if re.fullmatch(r"-?\d+", text) else text
    return [tuple(value(text) for text in line.split("|")) for line in lines]


def look(data, question):
    """The single number of an SQL query on the index of a data folder."""
    return rows(data, question)[0][0]


def slowness():
    """How many times slower this machine is now than when it is idle."""
    began, x = time.monotonic(), 1
    for i in range(1_000_000):
        x = (x * 31 + i) & 0xFFFF
    return (time.monotonic() - began) / REST_S


def processor_s(server):
    """Processor seconds that a server, with all its daemons, has used so far."""
    total = 0
    for daemon in getattr(server, "daemons", [server]):
        fields = Path(f"/proc/{daemon.process.pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def in_time(took, seconds):
    """Did something take at most this long? On a busy machine it may take longer, by as much as one second of work takes longer now. So the program is
    judged, and not what else runs on the machine."""
    return took < seconds or took < seconds + max(0.0, slowness() - 1)


def wait_until(what, check, seconds=30.0):
    """Waits until check() is true, and fails after some seconds."""
    began = time.monotonic()
    while not check():
        assert in_time(time.monotonic() - began, seconds), f"waited {seconds} s for {what}"
        select.select([], [], [], 0.01)  # wait a little, then check again


class Daemon:
    """cairnd on a free port. Options are those of the command line: shard_bytes_max="4K" is --shard-bytes-max 4K. variables: more environment variables, or
    None for one that is to be unset. trust: serve HTTPS; the file of the authority that clients believe."""

    def __init__(self, folder, binary=CAIRND, listen="127.0.0.1:0", variables=None, trust=None, **options):
        self.folder = Path(folder)
        self.variables = variables or {}
        self.trust = ssl.create_default_context(cafile=trust) if trust else None
        self.data = self.folder / "data"
        self.command = [binary, "--data-dir", str(self.data), "--listen", listen]
        for name, value in options.items():
            option = "--" + name.replace("_", "-")
            self.command += [option] if value is True else [option, str(value)]
        self.process = None
        self.starts = 0

    def environment(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith("CAIRN_")}
        env["ASAN_OPTIONS"] = "detect_leaks=1:abort_on_error=0:exitcode=99"
        env["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1:exitcode=99"
        if STORE:
            env["CAIRN_STORE"] = s3_url(self.data) if STORE.startswith("s3") else STORE
        if INDEX:
            env["CAIRN_INDEX"] = postgres_url(self.data)
        if STORE == "s3-fetch":  # clients fetch from the engine
            env |= {"CAIRN_FETCH_FROM_STORE": "yes", "CAIRN_PROVE_READS": "no"}
        env |= {"CAIRN_SCRUB_PERIOD": "0", "CAIRN_GC_SCHEDULE": "off", "CAIRN_PROOF_RATE": "0"}  # switch periodic jobs off; their own tests switch them on
        return {name: value for name, value in (env | self.variables).items() if value is not None}

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.launch()
        ready, _, _ = select.select([self.process.stdout], [], [], START_S)
        line = self.process.stdout.readline().decode() if ready else ""
        found = re.search(r"cairnd listening on https?://(\S+):(\d+)", line)
        if not found:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"cairnd did not start: {line!r} {self.log()}")
        self.port = int(found.group(2))
        self.url = f"http{'s' if self.trust else ''}://127.0.0.1:{self.port}"
        return self

    def launch(self):
        """Starts the process, and does not wait until it listens."""
        self.starts += 1
        launched.append(self)
        self.log_path = self.folder / f"log{self.starts}"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, env=self.environment(), cwd=self.folder
            )

    def ended(self, seconds=STOP_S):
        """Waits until the process ends by itself. @return its status, as of subprocess; None: it still runs"""
        process, self.process = self.process, None
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def log(self):
        return self.log_path.read_text(errors="replace")

    def settle_log(self):
        """Waits until everything logged before now is in the file."""
        if self.process is not None and self.process.poll() is None:
            lines = self.metrics()["cairn_log_lines_total"]
            wait_until("the log", lambda: self.log_path.read_bytes().count(b"\n") >= lines)

    def events(self, name=None):
        """The events logged before now. The line of a request comes after its reply, so wait for it, or ask when the daemon has ended."""
        if name != "request":
            self.settle_log()
        out = []
        for line in self.log().splitlines():
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if name is None or event.get("event") == name:
                    out.append(event)
        return out

    def stop(self, expect=0):
        """Sends SIGTERM. The daemon must drain and exit 0, and no sanitizer may have reported anything."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        self.finish(expect)

    def finish(self, expect=0):
        process, self.process = self.process, None
        try:
            code = process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"cairnd did not stop in {STOP_S} s: {self.log()[-3000:]}") from None
        finally:
            process.stdout.close()
        log = self.log()
        assert not REPORTS.search(log), log[-6000:]
        assert code == expect, f"exit {code}: {log[-3000:]}"

    def kill(self):
        process, self.process = self.process, None
        process.kill()
        process.wait()
        process.stdout.close()

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        elif self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            print(self.log()[-3000:])

    def connect(self, timeout=60):
        if self.trust:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.trust)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def socket(self, timeout=30):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def request(self, method, path, body=None, headers=None, token=None, connection=None, timeout=60):
        headers = dict(headers or {})
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        c = connection or self.connect(timeout)
        try:
            c.request(method, path, body=body, headers=headers)
            r = c.getresponse()
            return Reply(r.status, r.headers, r.read())
        finally:
            if connection is None:
                c.close()

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body=b"", **more):
        return self.request("POST", path, body=body, **more)

    def raw(self, request, timeout=30):
        """Sends raw bytes. @return everything that comes until the peer closes or the timeout"""
        with self.socket(timeout) as s:
            s.sendall(request)
            return read_all(s)

    def metrics(self):
        """{name with labels: value}"""
        out = {}
        for line in self.get("/metrics").body.decode().splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                out[name] = float(value)
        return out

    def received(self, route):
        """Bytes of bodies that the daemon received for a route."""
        return sum(v for k, v in self.metrics().items() if k.startswith("cairn_http_request_bytes_total") and f'route="{route}"' in k)

    def put_xorb(self, xorb, **more):
        return self.post(xorb.path(), xorb.body(), **more)

    def objects(self):
        """The files of all objects that are not in a pack."""
        return [p for p in (self.data / "objects").rglob("*") if p.is_file()]

    def object_of(self, name):
        """The file of an object. name: its hash in text form."""
        return self.data / "objects" / name[:2] / name[2:4] / name

    def left_overs(self):
        """Files of the data folder that should not be there when nothing is under way."""
        known = re.compile(r"(store|index|index\.sqlite(-wal|-shm)?|index\.reserve|secret|identity|lock|hold|objects/[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{64}|packs/.+\.shard|notes/[a-z]+)$")
        paths = [p.relative_to(self.data).as_posix() for p in self.data.rglob("*") if p.is_file()]
        return [p for p in paths if not known.fullmatch(p)]


@atexit.register
def kill_left_behind():
    """Kills daemons that a failed test did not stop."""
    for daemon in launched:
        if daemon.process is not None:
            daemon.kill()


def refused(folder, *arguments, env=None, code=1):
    """Runs cairnd, which must exit with this code and print one line on standard error."""
    daemon = Daemon(folder)
    done = subprocess.run([CAIRND, *arguments], capture_output=True, text=True, timeout=60, env=daemon.environment() | (env or {}), cwd=folder)
    assert not REPORTS.search(done.stderr), done.stderr
    assert done.returncode == code, (done.returncode, done.stderr)
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, done.stderr
    assert done.stdout == ""
    return lines[0]


def read_all(s):
    out = bytearray()
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while piece := s.recv(65536):
            out += piece
    return bytes(out)


def read_reply(s):
    """Reads one reply from a plain socket, after which nothing may follow."""
    response = http.client.HTTPResponse(s, method="POST")
    response.begin()
    return Reply(response.status, response.headers, response.read())


def is_hub_error(reply, status, code=None):
    """Checks an error of the hub's routes: JSON with the message, the code and the request id. @return the message"""
    assert reply.status == status, reply
    assert reply.headers["Content-Type"].startswith("application/json"), reply
    body = reply.json()
    assert set(body) == {"error", "code", "request_id"}, body
    assert isinstance(body["error"], str) and body["error"], body
    assert body["request_id"] == reply.headers["X-Request-Id"]
    assert reply.headers["X-Error-Message"] == body["error"][:255]
    assert code is None or body["code"] == code, body
    return body["error"]


def is_error(reply, status, code=None):
    """Checks an error as it is documented: JSON with code and message, and the request id. @return the error"""
    assert reply.status == status, reply
    assert reply.headers["Content-Type"].startswith("application/json"), reply
    body = reply.json()
    error = body["error"]
    assert error["code"] and error["message"] and body["request_id"], body
    assert body["request_id"] == reply.headers["X-Request-Id"]
    if code is not None:
        assert error["code"] == code, body
    return error
