"""A visitor of the pages: a browser without a window and without scripts."""

import hashlib
import http.cookies
import json
import struct
import urllib.parse

import html5lib
import visitors
import xet
from hub_calls import make_key, token_of
from people import People

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "\U0001f600" * 63, "\u202egnp.exe", "שלום", "a b&c=d?e#f%25", "it's"]

HTML = "text/html,application/xhtml+xml"


class Visitor:
    def __init__(self, server, **headers):
        self.server, self.session, self.headers, self.cookie = server, None, headers, "cairn_session"

    def request(self, method, path, body=None, timeout=60, **headers):
        headers = {"Accept": HTML} | self.headers | headers
        if self.session:
            headers["Cookie"] = f"other=1; {self.cookie}={self.session}"
        reply = self.server.request(method, path, body=body, headers=headers, timeout=timeout)
        for line in reply.headers.get_all("Set-Cookie") or ():
            (self.cookie, cookie), = http.cookies.SimpleCookie(line).items()
            self.session = cookie.value or None
        return reply

    def get(self, path, **headers):
        return self.request("GET", path, **headers)

    def send(self, path, origin="own", **fields):
        """Sends a form, as from a page of this server or of another origin."""
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if origin:
            headers["Origin"] = self.server.url if origin == "own" else origin
        return self.request("POST", path, urllib.parse.urlencode(fields).encode(), **headers)

    def page(self, path, status=200):
        reply = self.get(path)
        assert reply.status == status, (path, reply)
        return parsed(reply)

    def sign_in(self, key, **more):
        reply = self.send("/login", key=key, **more)
        assert reply.status == 303, reply
        return self


def parsed(reply, root=""):
    """Parses a page, and checks that it is valid HTML and safe."""
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8", reply
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert reply.headers["X-Content-Type-Options"] == "nosniff" and reply.headers["Cache-Control"] == "no-store"
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    tree = parser.parse(reply.body.decode())
    scripts = [s.get("src") for s in tree.iter("script")]
    assert len(scripts) == 1 and scripts[0].startswith(f"{root}/assets/"), scripts
    for node in tree.iter():
        wrong = [a for a in node.attrib if a.startswith("on") or a == "style"]
        assert not wrong, (node.tag, wrong)
    return tree


def text(node):
    return " ".join("".join(node.itertext()).split())


def links(tree):
    return [a.get("href") for a in tree.iter("a")]


def is_away(reply, to):
    assert reply.status == 303 and reply.headers["Location"] == to, reply


def rows(tree, id_):
    for table in tree.iter("table"):
        if table.get("id") == id_:
            return [[text(cell) for cell in row] for row in table.find("tbody")]
    return []


def people_of(start, issuer, folder, **options):
    return People(start(token_key=issuer.folder, **options), issuer.token("admin"), folder)


class Operator:
    def __init__(self, begin, issuer, folder):
        people = people_of(begin, issuer, folder)
        key = make_key(people.server, issuer.token("admin"), scope="admin")["key"]
        self.server, self.admin, self.visitor = people.server, issuer.token("admin"), Visitor(people.server).sign_in(key)

    def jobs(self):
        return {job["name"]: job for job in self.server.get("/v1/jobs", token=self.admin).json()["jobs"]}

    def row(self, name):
        return next(row[1] for row in visitors.rows(self.visitor.page("/admin"), "job-rows") if row[0] == name)

    def bar(self):
        (bar,) = self.visitor.page("/admin").iter("progress")
        return int(bar.get("value")), bar.get("aria-label")

    def metric(self, name, job):
        return self.server.metrics().get(f'cairn_job_{name}{{job="{job}"}}')


def tensors(**parts):
    head = json.dumps({"__metadata__": {"format": "pt"}} | parts).encode()
    return struct.pack("<Q", len(head)) + head


def upload_chunks(people, body, repo="models/ann/one", who="ann", size=131072):
    """Does the same as upload(), for a file of any length."""
    token = token_of(people.ask("GET", f"/api/{repo}/xet-write-token/main", who))
    pieces = [body[i : i + size] for i in range(0, len(body), size)]
    xorb, sha256 = xet.Xorb(pieces), hashlib.sha256(body)
    assert people.server.put_xorb(xorb, token=token).status == 200
    file_ = xet.File([(xorb, 0, len(pieces))], xet.raw(sha256.hexdigest()))
    assert people.server.post("/v1/shards", xet.shard([file_], [xorb]), token=token).status == 200
    return sha256.hexdigest()


def form_of(files, **fields):
    """Encodes fields as multipart/form-data, as browsers do."""
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode() for name, value in fields.items()]
    parts += [f'Content-Disposition: form-data; name="files"; filename="{name}"\r\nContent-Type: text/plain\r\n\r\n'.encode() + body for name, body in files]
    return b"".join(b"--7f\r\n" + part + b"\r\n" for part in parts) + b"--7f--\r\n"
