"""A hub that a daemon mirrors, played by a test: it sends prepared answers, sends false bytes, is slow, or says nothing."""

import contextlib
import hashlib
import json
import re
import socket
import ssl
import threading
import urllib.parse

import cairn

SHA = "0123456789abcdef0123456789abcdef01234567"


def answer(status, body=b"", **headers):
    """Returns the bytes of an answer. headers: X_Error_Code="RepoNotFound" is X-Error-Code: RepoNotFound."""
    head = {"Content-Length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = [f"HTTP/1.1 {status} Words"] + [f"{name}: {value}" for name, value in head.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def part(content, head):
    """Returns the answer to the request with this head, which may ask for a range of the content."""
    found = re.search(rb"\r\nRange: bytes=(\d+)-(\d+)\r\n", head)
    if not found:
        return answer(200, content)
    first, end = int(found[1]), min(int(found[2]) + 1, len(content))
    return answer(206, content[first:end], Content_Range=f"bytes {first}-{end - 1}/{len(content)}")


NO_REPOSITORY = answer(404, b'{"error":"Repository not found"}', X_Error_Code="RepoNotFound")


class Upstream:
    """Serves prepared answers. serve: the bytes of every answer, or a function serve(connection) that answers one request on its own thread, after
    the head was read. certificate, key: for HTTPS."""

    def __init__(self, serve, certificate=None, key=None, host="127.0.0.1", port=0):
        self.serve = serve if callable(serve) else lambda connection: connection.sendall(serve)
        self.asked = []  # heads of requests
        self.connections = []
        self.tls = None
        self.host, self.port = host, port
        if certificate:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(certificate, key)

    def reply(self, connection, _head):
        self.serve(connection)

    def converse(self, connection):
        with contextlib.suppress(OSError, ssl.SSLError), connection:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
                self.connections.append(connection)
            while True:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    piece = connection.recv(1)
                    if not piece:
                        return
                    head += piece
                self.asked.append(head)
                self.reply(connection, head)

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection = self.listener.accept()[0]
                self.connections.append(connection)
                threading.Thread(target=self.converse, args=(connection,), daemon=True).start()

    def __enter__(self):
        self.listener = socket.create_server((self.host, self.port))
        self.port = self.listener.getsockname()[1]
        self.url = f"http{'s' if self.tls else ''}://{self.host}:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def wait_until_asked(self):
        cairn.wait_until("a request to the upstream", lambda: self.asked)

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


def blob(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Repo:
    """A repository of the hub below. files: {path: bytes}; stored: the paths whose files git has as pointers."""

    def __init__(self, files, stored=(), sha=SHA, **info):
        self.files, self.stored, self.sha, self.info = files, stored, sha, info
        self.older = []  # a Repo for each earlier commit

    def tree(self):
        for path, content in sorted(self.files.items()):
            entry = {"type": "file", "path": path, "size": len(content), "oid": blob(content)}
            if path in self.stored:
                sha256 = hashlib.sha256(content).hexdigest()
                pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {len(content)}\n".encode()
                entry |= {"oid": blob(pointer), "lfs": {"oid": sha256, "size": len(content), "pointerSize": len(pointer)}}
            yield entry


class Hub(Upstream):
    """A small hub. repos: {"account/name": Repo}; moved: {another name: "account/name"}; page: entries of a page of a tree. Two tables come before
    these: instead, {part of a path: answer, or function(connection)}, and ranged, {part of a path: function(connection, head)}."""

    def __init__(self, repos, moved=None, instead=None, page=1000, **more):
        super().__init__(b"", **more)
        self.repos, self.moved, self.instead, self.page = repos, moved or {}, instead or {}, page
        self.ranged = {}

    def paths(self, part=""):
        return [path for head in self.asked if part in (path := head.decode().split()[1])]

    def reply(self, connection, head):
        path = head.decode().split()[1]
        for piece, other in self.ranged.items():
            if piece in path:
                return other(connection, head)
        for piece, other in self.instead.items():
            if piece in path:
                return other(connection) if callable(other) else connection.sendall(other)
        connection.sendall(self.answer(path, head))

    def answer(self, path, head):
        path, _, query = path.partition("?")
        found = re.fullmatch(r"/api/models/([^/]+(?:/[^/]+)?)/(revision|tree)/([^/]+)", path)
        if found and found[1] in self.moved:
            return answer(307, Location=f"/api/models/{self.moved[found[1]]}/{found[2]}/{found[3]}")
        if found and found[1] in self.repos:
            return self.revision(found[1], found[3]) if found[2] == "revision" else self.tree(path, found[1], urllib.parse.parse_qs(query))
        found = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        repo = self.repos.get(found[1]) if found else None
        for commit in (repo, *repo.older) if repo else ():
            if found[2] == commit.sha:
                return part(commit.files[urllib.parse.unquote(found[3])], head)
        return NO_REPOSITORY

    def revision(self, name, revision):
        repo = self.repos[name]
        if revision not in ("main", "v1", repo.sha):
            return answer(404, b"{}", X_Error_Code="RevisionNotFound")
        return answer(200, json.dumps({"id": name, "sha": repo.sha, "private": False, "gated": False, **repo.info}).encode())

    def tree(self, path, name, query):
        entries = list(self.repos[name].tree())
        at = int(query.get("cursor", ["0"])[0])
        more = {"Link": f'<{self.url}{path}?recursive=true&cursor={at + self.page}>; rel="next"'} if at + self.page < len(entries) else {}
        return answer(200, json.dumps(entries[at : at + self.page]).encode(), **more)


class Gates(Hub):
    """A hub whose gated repositories give their files only to holders of some tokens, and whose private repositories exist only for them."""

    def __init__(self, *tokens, **more):
        super().__init__(**more)
        self.tokens = set(tokens)

    def sent(self, token):
        return [head.decode().split()[1] for head in self.asked if token.encode() in head]

    def reply(self, connection, head):
        path, token = head.decode().split()[1], re.search(rb"authorization: bearer (\S+)", head, re.I)
        asked = next((repo for name, repo in self.repos.items() if f"/{name}/" in path), None)
        may = token and token[1].decode() in self.tokens
        gated = asked and (asked.info.get("gated") or asked.info.get("private"))
        if asked and asked.info.get("private") and not may:
            return connection.sendall(answer(404 if token else 401, b"{}", X_Error_Code="RepoNotFound"))
        if not gated or any(part in path for part in self.instead) or not ("/auth-check" in path or "/resolve/" in path):
            return super().reply(connection, head)
        if not may:
            return connection.sendall(answer(403 if token else 401, b"{}", X_Error_Code="GatedRepo"))
        return connection.sendall(answer(200, b"{}")) if "/auth-check" in path else super().reply(connection, head)


TEXT, LARGE = b"the secret text\n", b"the secret weights\n" * 10_000


def gated_hub(*tokens, **more):
    """A hub with a gated repository, which has a text and a file of the store, and an open one."""
    gated = Repo({"secret.txt": TEXT, "weights.bin": LARGE}, stored={"weights.bin"}, gated="manual")
    return Gates(*tokens, repos={"far/gated": gated, "far/open": Repo({"a.txt": b"open"})}, **more)


class Slow(Hub):
    """A hub that sends a long file up to an offset, and waits there. sent: bytes sent so far; false: bytes that it sends in place of the right
    ones."""

    def __init__(self, content, come=None, false=None, **more):
        super().__init__({"far/model": Repo({"weights.bin": content, "config.json": b"{}"}, stored={"weights.bin"})}, **more)
        self.content, self.false, self.sent, self.over = content, false or content, 0, False
        self.come = len(content) if come is None else come
        self.more = threading.Condition()

    def comes_to(self, come):
        with self.more:
            self.come = come
            self.more.notify_all()

    def reply(self, connection, head):
        found = re.search(rb"\r\nRange: bytes=(\d+)-(\d+)\r\n", head)
        if b"/weights.bin" not in head.split(b"\r\n")[0] or not found:
            return super().reply(connection, head)
        first, end = int(found[1]), min(int(found[2]) + 1, len(self.content))
        connection.sendall(f"HTTP/1.1 206 Part\r\nContent-Length: {end - first}\r\nContent-Range: bytes {first}-{end - 1}/{len(self.content)}\r\n\r\n".encode())
        at = first
        while at < end:
            with self.more:
                self.more.wait_for(lambda: self.over or self.come > at)
                to = min(end, self.come, at + 65536)
            if self.over:
                raise OSError
            connection.sendall(self.false[at:to])
            with self.more:
                self.sent += to - at
            at = to

    def __exit__(self, *how):
        with self.more:
            self.over = True
            self.more.notify_all()
        super().__exit__(*how)
