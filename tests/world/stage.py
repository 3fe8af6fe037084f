"""The store that the world uses: one daemon with its tenants, its clock and its disk, and the rules for every answer."""

import contextlib
import fcntl
import functools
import http.client
import json
import re
import shutil
import struct
import subprocess
import threading
import time
from pathlib import Path

import cairn
import faults
import power
import yaml
from issuer import Issuer

from .memory import Memory
from .parts import Abandoned, Broken, require

EPOCH_S, GRACE_S = 60, 120
SLACK_S = 5  # the time that a request may take from reading the clock to its answer
ANSWER_S_MAX = 40  # seconds of one request, on a busy machine
YEARS_S = 40 * 365 * 86400
NAMES = ("ann", "bob", "cyd", "dan", "eve", "fay", "gil", "hal")


@functools.cache
def documented():
    """[(method, pattern of paths, statuses)] of docs/openapi.yaml. None among the statuses allows any error."""
    found = []
    for pattern, path in yaml.load((cairn.ROOT / "docs" / "openapi.yaml").read_text(), Loader=yaml.CSafeLoader)["paths"].items():
        for method, operation in path.items():
            if method in ("get", "post", "head", "put", "delete", "options"):
                statuses = {None if s == "default" else int(s) for s in operation["responses"]}
                for each in (pattern, *path.get("x-older-paths", ())):
                    places = re.sub(r"\\\{(path|place|prefix|branch)\\\}", ".+", re.escape(each))
                    found.append((method.upper(), re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", places)), statuses))
    return found


def is_documented(method, path, status):
    named = [statuses for m, pattern, statuses in documented() if m == method and pattern.fullmatch(path.split("?")[0])]
    return any(status in statuses or (None in statuses and status >= 400) for statuses in named)


def parts_there():
    """The parts of this run's stores that some operations and faults need."""
    has_steps = b"CAIRND_CRASH_FILE" in Path(cairn.CAIRND).read_bytes()
    has = {"sqlite": not cairn.INDEX, "files": cairn.STORE in (None, "files"), "steps": has_steps, "own_memory": not cairn.is_sanitized()}
    return {part for part, there in has.items() if there}


class Tenant:
    def __init__(self, name):
        self.name, self.repo, self.key = name, f"models/{name}/one", None

    def hub(self, rest):
        return f"/api/{self.repo}/{rest}"


class Moment:
    """What may go wrong in this round. Faults set it in begin()."""

    def __init__(self):
        self.may_fail = self.may_vanish = self.clock_moved = False
        self.no_memory = False  # a body or a token may be called malformed then, because it could not be parsed
        self.threads = ()  # of the operations
        self.cut = None  # cut(request bytes) returns after how many bytes the client hangs up; None: it does not


class World:
    """A store with its tenants, and what the world knows of it. folder: an empty folder for it. tenants: how many."""

    def __init__(self, folder, tenants=3):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.memory, self.moment, self.where = folder, Memory(), Moment(), "at the start"
        self.lock, self.counts, self.answered = threading.Lock(), {}, threading.Condition()
        self.n_answers, self.n_jumps, self.shift_s = 0, 0, 0
        self.xorbs = {}  # xorbs whose grace time is not over, by name: (xorb, the daemon's time when it was stored)
        self.trimmed = set()  # repositories whose old commits may be gone
        self.descriptors = {}  # number of the daemon's open descriptors at its first rest, by the number of its start
        self.issuer = Issuer(folder / "keys")
        self.admin = self.issuer.token("admin", expires_s=2 * YEARS_S)
        self.secrets = {self.admin}
        self.tenants = [Tenant(name) for name in NAMES[:tenants]]
        self.clock = folder / "clock"
        self.clock.write_bytes(bytes(8))
        self.trace = folder / "trace"
        self.trace.write_bytes(b"")
        self.disk = power.Disk()
        self.steps = folder / "steps"  # lib/base/crash_point.h
        self.steps.write_text("")
        self.round_operations = ()  # their names
        self.faults = faults.Faults(
            folder / "daemon", trace=self.trace, token_key=self.issuer.folder, test_clock=self.clock, epoch=f"{EPOCH_S}s",
            gc_grace=f"{GRACE_S}s", reserve_bytes="1M", log_level="info",
        )  # fmt: skip
        self.server = self.faults.server
        self.server.variables["CAIRND_CRASH_FILE"] = str(self.steps)

    # --- requests ---

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def ask(self, method, path, token=None, body=None, server=None, busy=None, page=False, **headers):
        """Sends one request, whose answer must be one that the contract allows. busy: the code of a 503 that is allowed even without a fault begins with
        this. page: a page for people, which openapi.yaml does not name. @return the answer; None: there was none, and the request may be done or not"""
        self.count("requests")
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        moment, cut = self.moment, self.moment.cut
        if cut and server is None and self.hangs_up(cut, method, path, token, body, headers):
            return None
        began = time.monotonic()
        try:
            reply = (server or self.server).request(method, path, body=body, token=token, headers=headers, timeout=ANSWER_S_MAX)
        except TimeoutError:
            raise Broken("every_request_ends", f"{method} {path} had no answer in {ANSWER_S_MAX} s") from None
        except (OSError, http.client.HTTPException) as error:
            require(moment.may_vanish, "every_request_is_answered", f"{method} {path}: {error!r} {self.server.log()[-2000:]}")
            return None
        if moment.no_memory and reply.status in (400, 401):
            reply.status = 503
        took = time.monotonic() - began
        require(cairn.in_time(took, ANSWER_S_MAX / 2), "every_request_ends", f"{method} {path} took {took:.1f} s")
        require(page or is_documented(method, path, reply.status), "every_answer_is_documented", f"{method} {path}: {reply}")
        expected = reply.status < 500 or (busy is not None and reply.status == 503 and busy in reply.body)
        require(expected or moment.may_fail, "nothing_fails_by_itself", lambda: f"{method} {path}: {reply} {reply.body[:500]!r}")
        with self.answered:
            self.n_answers += 1
            self.answered.notify_all()
        if reply.status == 401 and moment.clock_moved and (method == "HEAD" or b"token.expired" in reply.body):
            raise Abandoned
        return reply

    def hangs_up(self, cut, method, path, token, body, headers):
        """Sends a part of the request and closes the connection, if the fault wants that. @return whether it did"""
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body or b'')}\r\n"
        if token:
            head += f"Authorization: Bearer {token}\r\n"
        request = (head + "".join(f"{n}: {v}\r\n" for n, v in headers.items()) + "\r\n").encode() + (body or b"")
        n = cut(request)
        if n is None:
            return False
        try:
            with self.server.socket() as s:
                s.sendall(request[:n])
        except OSError:
            pass  # the daemon answered and closed before everything was sent
        return True

    def token(self, tenant, kind="write", server=None):
        """A token of the tenant's repository for the store. None: there was no answer, or a fault kept the daemon from giving one."""
        reply = self.ask("GET", tenant.hub(f"xet-{kind}-token/main"), tenant.key, server=server)
        if reply is None or (self.moment.may_fail and reply.status >= 500):
            return None
        require(reply.status == 200, "a_key_is_good_until_it_is_revoked", lambda: f"{tenant.name}: {reply} {reply.body!r}")
        token = reply.json()["accessToken"]
        with self.lock:
            self.secrets.add(token)
        return token

    def answer(self, reply, register, value):
        """Notes what an answer says about a write. @return whether it is done"""
        done = None if reply is None or reply.status >= 500 else reply.status < 300
        register.wrote(value, done)
        if reply is None:
            register.late = True
        return bool(done)

    def until(self, n, seconds=1.0):
        """Waits until n more requests have been answered, or so long."""
        with self.answered:
            wanted = self.n_answers + n
            self.answered.wait_for(lambda: self.n_answers >= wanted, timeout=seconds)

    def until_over(self):
        """Waits until the daemon has ended, or until the operations of the round have."""
        while self.is_up() and any(thread.is_alive() for thread in self.moment.threads):
            self.until(1, 0.1)

    @contextlib.contextmanager
    def held_steps(self):
        """Yields hold(steps), which holds each thread of the daemon that comes by one of these steps, until the context ends."""
        with open(self.steps, "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield lambda steps: self.steps.write_text(f"hold {' '.join(steps)}")
            self.steps.write_text("")

    # --- the daemon

    def start(self):
        self.server.start()
        if self.server.starts == 1:
            for tenant in self.tenants:
                self.move_in(tenant)

    def move_in(self, tenant):
        require_ok = lambda reply: require(reply.status == 200, "a_tenant_can_move_in", lambda: f"{reply} {reply.body!r}")
        require_ok(self.ask("POST", "/v1/accounts", self.admin, {"kind": "user", "name": tenant.name}))
        made = self.ask("POST", "/v1/keys", self.admin, {"name": "world", "account": tenant.name, "scope": "write"})
        require_ok(made)
        tenant.key = made.json()["key"]
        self.secrets.add(tenant.key)
        require_ok(self.ask("POST", "/api/repos/create", tenant.key, {"name": "one", "organization": tenant.name, "type": "model", "private": True}))

    def is_up(self):
        return self.server.process is not None and self.server.process.poll() is None

    def stop(self):
        """Stops the daemon, which must end well. Nothing is under way afterwards."""
        if self.is_up():
            try:
                self.server.stop()
            except AssertionError as error:
                raise Broken("it_stops_well", str(error)) from None
        self.memory.settle()

    def kill(self):
        if self.server.process is not None:
            self.server.kill()
            self.catch_up()
        self.memory.settle()

    def give_up(self):
        """Ends the daemon for good, however it is."""
        if self.server.process is not None:
            self.server.kill()

    def start_again(self):
        self.memory.settle()
        try:
            self.server.start()
        except AssertionError as error:
            raise Broken("it_starts_again", str(error)) from None

    def lose_power(self, survives):
        """Replaces the folder of the ended daemon by what the disk has kept. survives(): does a change survive that was not synced?"""
        assert not self.is_up()
        found = self.disk.left(lambda what, path: survives())
        shutil.rmtree(self.server.data)
        self.server.data.mkdir(mode=0o700)
        power.fill(self.server.data, {path[len("data/") :]: content for path, content in found.items() if path.startswith("data/")})
        self.begin_trace()

    def catch_up(self):
        """Adds to the disk what the daemon did, including what it did not record before it was killed."""
        self.follow()
        self.disk.catch_up(self.server.folder, self.server.data)

    def follow(self):
        """Applies the records that the daemon has made since the last call."""
        data, at = self.trace.read_bytes(), 0
        while at + power.HEAD.size <= len(data):
            kind, inode, offset, n_path, n = power.HEAD.unpack_from(data, at)
            begin, end = at + power.HEAD.size, at + power.HEAD.size + n_path + n
            if end > len(data):
                break  # the daemon died while it wrote this record
            path = data[begin : begin + n_path].decode()
            self.disk.take(power.Record(kind, inode, offset, path, data[begin + n_path : end]))
            at = end
        self.trace.write_bytes(b"")  # no daemon runs that has the file open

    def begin_trace(self):
        """Begins a new trace, with the disk as the folder is now."""
        self.trace.write_bytes(b"")
        self.disk = power.Disk()
        root = self.server.folder
        for path in [self.server.data, *sorted(self.server.data.rglob("*"))]:
            file = None
            if path.is_file():
                file = power.File(bytearray(path.read_bytes()))
                self.disk.files[path.stat().st_ino] = file
            name = path.relative_to(root).as_posix()
            self.disk.names[name] = self.disk.durable[name] = file

    # --- the clock

    def now(self):
        return time.time() + self.shift_s

    def expire(self):
        """Forgets xorbs whose grace time is over: they may be gone for ever, even if the clock jumps back. Call it under the lock."""
        now = self.now()
        self.xorbs = {name: (xorb, at) for name, (xorb, at) in self.xorbs.items() if now - at < GRACE_S - SLACK_S}

    def jump(self, seconds):
        """Moves the daemon's wall clock."""
        with self.lock:
            self.expire()
            self.n_jumps += 1
            self.moment.clock_moved = self.moment.clock_moved or seconds != 0
            self.shift_s = min(max(self.shift_s + seconds, -YEARS_S // 4), YEARS_S)
            with open(self.clock, "r+b") as f:
                f.write(struct.pack("<q", self.shift_s))
            self.expire()

    # --- tools

    def tool(self, *words, expect=(0,)):
        done = subprocess.run([cairn.CAIRN, *map(str, words)], capture_output=True, text=True, timeout=120)
        require(not cairn.REPORTS.search(done.stderr), "no_sanitizer_complains", done.stderr[-3000:])
        require(done.returncode in expect, "a_tool_does_its_work", f"{words}: {done.returncode} {done.stdout[-2000:]} {done.stderr[-2000:]}")
        return done
