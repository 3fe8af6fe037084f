"""The store that the world uses: its daemons, its tenants, its clock and its disk, and the rules for every answer."""

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
import xet
import yaml
from issuer import Issuer

from . import engines
from .daemons import Daemons, is_up
from .far import Far
from .memory import Memory
from .parts import Abandoned, Broken, begin_thread, require, run_at_once

EPOCH_S, GRACE_S = 60, 120
MEET_S = 0.2
SLACK_S = 5  # the time that a request may take from reading the clock to its answer
ANSWER_S_MAX = 40  # seconds of one request, on a busy machine
YEARS_S = 40 * 365 * 86400
KEY_KNOWN_S = 3  # docs/engines.md: other daemons know a new key within a second; a busy machine takes longer
SLOW, HEARD_S = 3, 40  # on a machine that is so many times slower than idle, an engine may be silent; for how long a read is repeated then
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


def parts_there(daemons=1):
    """Returns the parts of this run's stores that some operations and faults need."""
    has_steps = b"CAIRND_CRASH_FILE" in Path(cairn.CAIRND).read_bytes()
    has = {"sqlite": not cairn.INDEX, "files": cairn.STORE in (None, "files"), "steps": has_steps, "own_memory": not cairn.is_sanitized()}
    has |= {"postgres": bool(cairn.INDEX), "s3": cairn.STORE == "s3", "daemons": daemons > 1, "mirror": daemons == 1}
    return {part for part, there in has.items() if there}


class Tenant:
    def __init__(self, name):
        self.name, self.repo, self.key = name, f"models/{name}/one", None

    def hub(self, rest):
        return f"/api/{self.repo}/{rest}"


class Moment:
    """The failures that this round allows. Faults set them in begin()."""

    def __init__(self):
        self.may_fail = self.may_vanish = self.clock_moved = False
        self.may_be_late = False  # a request that was answered 5xx may still be done later
        self.damaged = False  # a file whose bytes are lost is answered 410
        self.disk_is_full = False  # others have filled the disk in this round or before it: a request that needs room is refused
        self.no_memory = False  # a body or a token may be called malformed, because it could not be parsed
        self.threads = ()  # of the operations
        self.is_calm = True  # no fault is at work
        self.cut = None  # cut(request bytes) returns after how many bytes the client hangs up; None: it does not


class World:
    """A store with its tenants, and what the world knows of it. folder: an empty folder for it. tenants, daemons: how many"""

    def __init__(self, folder, tenants=3, daemons=1):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.memory, self.moment, self.where = folder, Memory(), Moment(), "at the start"
        self.lock, self.counts, self.answered = threading.Lock(), {}, threading.Condition()
        self.n_answers, self.n_jumps, self.shift_s = 0, 0, 0
        self.xorbs = {}  # xorbs whose grace time is not over, by name: (xorb, the daemon's time when it was stored)
        self.withdrawn = set()  # keys of files whose first xorb was lost: queries offer it again when a shard next describes it
        self.trimmed = set()  # repositories whose old commits may be gone
        self.packs = set()  # names of packs that were asked for
        self.free_bytes = 0  # how much room others have left on the disk; 0: as much as it has
        self.lacks_room = False  # may the mirror be without room, because others have filled the disk?
        self.index_is_up = threading.Lock()  # held while the server of the index is down, and by those who need it
        self.descriptors = {}  # {(daemon, number of its start): its open descriptors at its first rest}
        self.issuer = Issuer(folder / "keys")
        self.admin = self.issuer.token("admin", expires_s=2 * YEARS_S)
        self.secrets = {self.admin}
        self.tenants = [Tenant(name) for name in NAMES[:tenants]]
        self.clock = folder / "clock"
        self.clock.write_bytes(bytes(8))
        self.trace = folder / "trace"
        self.trace.write_bytes(b"")
        self.disk = power.Disk()
        self.far, self.mirrored = Far(), False  # the mirrored hub; has any operation used it?
        self.steps = folder / "steps"  # lib/base/crash_point.h
        self.steps.write_text("")
        self.round_operations = ()  # names of the operations
        options = {"token_key": self.issuer.folder, "test_clock": self.clock, "epoch": f"{EPOCH_S}s", "gc_grace": f"{GRACE_S}s", "reserve_bytes": "1M", "log_level": "info", "mirror": self.far.hub.url}
        self.faults = faults.Faults(folder / "daemon", trace=self.trace, **options)
        self.server = self.faults.server  # the only one, or the first
        self.server.variables["CAIRND_CRASH_FILE"] = str(self.steps)
        self.wire = engines.wire_of(self.server)
        self.daemons = Daemons(self.server, daemons, folder, options)

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def ask(self, method, path, token=None, body=None, server=None, busy=None, page=False, may_end=False, **headers):
        """Sends one request, and checks that the contract allows its answer. busy: a 502, 503, 504 or 507 with these bytes is allowed even without a fault.
        page: a page for people, which openapi.yaml does not name. may_end: the answer may be cut off. @return the answer; None: there was none, and the request
        may be done or not"""
        self.count("requests")
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        moment, cut = self.moment, self.moment.cut
        server = server or self.daemons.next()
        if cut and server in self.daemons.all and self.hangs_up(server, cut, method, path, token, body, headers):
            return None
        began = time.monotonic()
        try:
            reply = self.send(server, method, path, body=body, token=token, headers=headers, timeout=ANSWER_S_MAX)
        except TimeoutError:
            raise Broken("every_request_ends", f"{method} {path} had no answer in {ANSWER_S_MAX} s") from None
        except (OSError, http.client.HTTPException) as error:
            cut_off = may_end and isinstance(error, http.client.IncompleteRead)
            require(moment.may_vanish or cut_off, "every_request_is_answered", lambda: f"{method} {path}: {error!r} {server.log()[-2000:]}")
            return None
        if moment.no_memory and reply.status in (400, 401):
            reply.status = 503
        if moment.damaged and (reply.status == 410 or (reply.status == 404 and "/v1/xorbs/" in path)):
            reply.status = 503
        took = time.monotonic() - began
        require(cairn.in_time(took, ANSWER_S_MAX / 2), "every_request_ends", f"{method} {path} took {took:.1f} s")
        require(page or is_documented(method, path, reply.status), "every_answer_is_documented", f"{method} {path}: {reply}")
        expected = reply.status < 500 or (busy is not None and reply.status in (502, 503, 504, 507) and busy in reply.body)
        is_full = reply.status == 507 and b'"disk.reserve"' in reply.body and moment.disk_is_full
        require(expected or is_full or moment.may_fail, "nothing_fails_by_itself", lambda: f"{method} {path}: {reply} {reply.body[:500]!r}")
        with self.answered:
            self.n_answers += 1
            self.answered.notify_all()
        if reply.status == 401 and moment.clock_moved and (method == "HEAD" or b"token.expired" in reply.body):
            raise Abandoned
        return reply

    def send(self, server, method, path, **request):
        """Sends the request until its token's API key is known to the daemon: others make keys, too. Repeats a read to which an engine is silent on a slow
        machine: then the engine is to blame, and a daemon says so within 3 s."""
        began = time.monotonic()
        while True:
            reply = server.request(method, path, **request)
            took = time.monotonic() - began
            is_new = reply.status == 503 and b"token.api_key" in reply.body and len(self.daemons.all) > 1 and took < KEY_KNOWN_S
            if not is_new and not (self.is_unheard(method, reply) and took < HEARD_S):
                return reply
            self.until(1, 0.1)

    def is_unheard(self, method, reply):
        """Is an engine silent, without a fault, because the machine is slow?"""
        silent = reply.status == 503 and (method == "HEAD" or b".silent" in reply.body)
        return silent and method in ("GET", "HEAD") and (cairn.INDEX or self.wire) and not self.moment.may_fail and cairn.slowness() > SLOW

    def hangs_up(self, server, cut, method, path, token, body, headers):
        """If the fault wants it, sends a part of the request and closes the connection. @return whether it did"""
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body or b'')}\r\n"
        if token:
            head += f"Authorization: Bearer {token}\r\n"
        request = (head + "".join(f"{n}: {v}\r\n" for n, v in headers.items()) + "\r\n").encode() + (body or b"")
        n = cut(request)
        if n is None:
            return False
        try:
            with server.socket() as s:
                s.sendall(request[:n])
        except OSError:
            pass  # the daemon answered and closed before everything was sent
        return True

    def token(self, tenant, kind="write", server=None):
        """Gets a token for the tenant's repository. None: there was no answer, or a fault kept the daemon from giving one."""
        reply = self.ask("GET", tenant.hub(f"xet-{kind}-token/main"), tenant.key, server=server)
        if reply is None or (self.moment.may_fail and reply.status >= 500):
            return None
        require(reply.status == 200, "a_key_is_good_until_it_is_revoked", lambda: f"{tenant.name}: {reply} {reply.body!r}")
        token = reply.json()["accessToken"]
        with self.lock:
            self.secrets.add(token)
        return token

    def answer(self, reply, register, value):
        """Notes the outcome of a write. @return whether the answer says that it is done"""
        done = None if reply is None or reply.status >= 500 else reply.status < 300
        register.wrote(value, done)
        if reply is None or (done is None and self.moment.may_be_late):
            register.late = True
        return bool(done)

    def until(self, n, seconds=1.0):
        """Waits until n more requests have been answered, or for this time."""
        with self.answered:
            wanted = self.n_answers + n
            self.answered.wait_for(lambda: self.n_answers >= wanted, timeout=seconds)

    def until_over(self):
        """Waits until a daemon has ended, or all operations of the round have."""
        while self.is_up() and any(thread.is_alive() for thread in self.moment.threads):
            self.until(1, 0.1)

    def until_all(self, seconds):
        """Waits for this time, or until all operations of the round have ended."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0 and any(thread.is_alive() for thread in self.moment.threads):
            self.until(1000, min(left, 0.1))

    @contextlib.contextmanager
    def held_steps(self):
        """Yields hold(steps), which holds each thread of a daemon that reaches one of these steps, until the context ends."""
        with open(self.steps, "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield lambda steps: self.steps.write_text(f"hold {' '.join(steps)}")
            self.steps.write_text("")

    def meet(self, functions, failures, step):
        """Runs functions at once. Holds each thread of a daemon that comes to this step, until all have come as far as they can. A fault may hold threads
        itself, so beside one the functions only begin at the same time."""
        if not self.moment.is_calm:
            run_at_once(functions, failures)
            return
        with self.held_steps() as hold:
            hold([step])
            threads = [begin_thread(function, failures) for function in functions]
            threading.Event().wait(MEET_S)
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def start(self):
        """Starts the daemons for the first time, and makes the tenants."""
        for daemon in self.daemons.all:
            self.begin(daemon, "it_starts")
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
        """Are all daemons up?"""
        return not self.daemons.down()

    def stop(self, daemons=None):
        """Stops these daemons, or all. Each must end well. Afterwards nothing is under way in them."""
        for daemon in filter(is_up, daemons or self.daemons.all):
            try:
                daemon.stop()
            except AssertionError as error:
                raise Broken("it_stops_well", str(error)) from None
        self.memory.settle()

    def kill(self, daemons=None):
        for daemon in daemons or self.daemons.all:
            if daemon.process is not None:
                daemon.kill()
        if len(self.daemons.all) == 1:  # the disk of a single daemon alone is recorded
            self.catch_up()
        self.memory.settle()

    def give_up(self):
        """Kills the daemons in whatever state they are, and ends the mirrored hub and the wire."""
        for daemon in self.daemons.all:
            if daemon.process is not None:
                daemon.kill()
        self.far.end()
        if self.wire:
            self.wire.end()

    def start_again(self):
        """Starts the daemons that are down."""
        self.memory.settle()
        for daemon in self.daemons.down():
            self.begin(daemon, "it_starts_again")

    def begin(self, daemon, rule):
        try:
            daemon.start()
        except AssertionError as error:
            raise Broken(rule, str(error)) from None

    def lose_power(self, survives):
        """Replaces the folder of the ended daemon by what the disk has kept. survives(): does a change that was not synced survive?"""
        assert not self.is_up()
        found = self.disk.left(lambda what, path: survives())
        shutil.rmtree(self.server.data)
        self.server.data.mkdir(mode=0o700)
        inside = f"{self.server.data.name}/"
        power.fill(self.server.data, {path.removeprefix(inside): content for path, content in found.items() if path.startswith(inside)})
        self.begin_trace()

    def settle_in(self, data):
        """Lets the ended daemon continue in another data folder."""
        self.server.data = data
        self.server.command[self.server.command.index("--data-dir") + 1] = str(data)
        self.begin_trace()

    def catch_up(self):
        """Applies to the recorded disk what the daemon did, including changes that it did not record before it was killed."""
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
        self.trace.write_bytes(b"")  # safe, because no daemon has the file open now

    def begin_trace(self):
        """Begins a new trace: the recorded disk is the folder as it is now."""
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

    def now(self):
        return time.time() + self.shift_s

    def expire(self):
        """Forgets xorbs whose grace time is over: they may be gone for ever, even if the clock jumps back. Call it under the lock."""
        now = self.now()
        self.xorbs = {name: (xorb, at) for name, (xorb, at) in self.xorbs.items() if now - at < GRACE_S - SLACK_S}

    def withdraw(self, is_lost):
        """Notes the files that begin with a lost xorb. is_lost: called with the name of a xorb"""
        with self.lock:
            self.withdrawn |= {key for key in self.memory.keys("file") if is_lost(xet.text(self.memory.thing(key).terms[0][0].hash))}

    def fill_disk(self, free_bytes):
        """Lets the disk have so many free bytes from now on; 0: as many as it has."""
        with self.lock:
            self.free_bytes = free_bytes
            self.moment.disk_is_full = self.moment.disk_is_full or free_bytes > 0
            self.lacks_room = self.lacks_room or free_bytes > 0
            self.faults.leave_free(free_bytes)

    def new_moment(self):
        self.moment = Moment()
        self.moment.disk_is_full = self.free_bytes > 0

    def jump(self, seconds):
        """Moves the daemon's wall clock. With PostgreSQL, whose server's clock counts, moves the times of xorbs instead."""
        with self.lock:
            self.expire()
            self.n_jumps += 1
            self.moment.clock_moved = self.moment.clock_moved or seconds != 0
            before, self.shift_s = self.shift_s, min(max(self.shift_s + seconds, -YEARS_S // 4), YEARS_S)
            if cairn.INDEX:
                engines.let_pass(self, self.shift_s - before)
            else:
                with open(self.clock, "r+b") as f:
                    f.write(struct.pack("<q", self.shift_s))
            self.expire()

    def tool(self, *words, expect=(0,)):
        done = subprocess.run([cairn.CAIRN, *map(str, words)], capture_output=True, text=True, timeout=120)
        require(not cairn.REPORTS.search(done.stderr), "no_sanitizer_complains", done.stderr[-3000:])
        require(done.returncode in expect, "a_tool_does_its_work", f"{words}: {done.returncode} {done.stdout[-2000:]} {done.stderr[-2000:]}")
        return done
