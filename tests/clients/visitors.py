"""Who looks at pages: a browser without a window, and without scripts."""

import http.cookies
import urllib.parse

import html5lib
from test_hub_buckets import People

HTML = "text/html,application/xhtml+xml"


class Visitor:
    def __init__(self, server, **headers):
        self.server, self.session, self.headers, self.cookie = server, None, headers, "cairn_session"

    def request(self, method, path, body=None, **headers):
        headers = {"Accept": HTML} | self.headers | headers
        if self.session:
            headers["Cookie"] = f"other=1; {self.cookie}={self.session}"
        reply = self.server.request(method, path, body=body, headers=headers)
        for line in reply.headers.get_all("Set-Cookie") or ():
            (self.cookie, cookie), = http.cookies.SimpleCookie(line).items()
            self.session = cookie.value or None
        return reply

    def get(self, path, **headers):
        return self.request("GET", path, **headers)

    def send(self, path, origin="own", **fields):
        """A form of a page of this server, or of another."""
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
    """The tree of a page that is valid HTML, and safe."""
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
