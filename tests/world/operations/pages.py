"""Pages for people. Each must be well-formed HTML, and answered in time."""

import re
import urllib.parse

import html5lib

from ..memory import pick
from ..parts import operation, require
from ..store import own_file, tenant_of

HTML = "text/html,application/xhtml+xml"
GENERAL = ("/", "/new", "/settings/keys", "/search?q={name}", "/{name}")
OWN = ("", "/tree/main", "/commits/main", "/refs", "/discussions", "/storage", "/settings", "/tree/main/b", "/blob/main/a.txt", "/upload/main")


def send_form(world, path, body, **headers):
    daemon = world.daemons.next()
    headers |= {"Content_Type": "application/x-www-form-urlencoded", "Origin": daemon.url, "Accept": HTML}
    return world.ask("POST", path, body=body, page=True, server=daemon, **headers)


def sign_in(world, tenant):
    """Signs in with the tenant's key. @return the cookie, or None"""
    body = urllib.parse.urlencode({"key": tenant.key}).encode()
    reply = send_form(world, "/login", body)
    if reply is None or reply.status >= 500:
        return None
    require(reply.status == 303, "people_can_sign_in", lambda: f"{tenant.name}: {reply} {reply.body!r}")
    cookie = reply.headers["Set-Cookie"].split(";")[0]
    with world.lock:
        world.secrets.add(cookie.partition("=")[2])
    return cookie


def look_at(world, cookie, path, *statuses):
    """Gets a page, which must have one of these statuses."""
    reply = world.ask("GET", path, page=True, Cookie=cookie, Accept=HTML)
    if reply is None or reply.status >= 500:
        return
    right = reply.status in statuses or (reply.status in (303, 404) and world.moment.clock_moved)  # 303, 404: the session has ended
    require(right, "a_page_is_shown", lambda: f"{path}: {reply} {reply.body!r}")
    if reply.status == 200:
        html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(reply.body.decode())


@operation(weight=1)
def look_at_pages(world, source):
    tenant = tenant_of(world, source)
    cookie = sign_in(world, tenant)
    if cookie is None:
        return
    for path in source.sample(GENERAL, 2):
        look_at(world, cookie, path.format(name=tenant.name), 200)
    for rest in source.sample(OWN, 3):
        look_at(world, cookie, f"/{tenant.name}/one{rest}", *((200, 404) if re.search("/b$|/blob", rest) else (200,)))
    key, _ = own_file(world, tenant, source)
    if key:
        look_at(world, cookie, f"/search?q={key[2]}", 200)
    pull = pick(source, [k for k in world.memory.keys("pull") if k[1] == tenant.repo])
    if pull:
        look_at(world, cookie, f"/{tenant.name}/one/discussions/{pull[2]}", 200)


@operation(weight=0.5)
def look_at_another_s_pages(world, source):
    """The pages of a private repository do not exist for others, and their search finds nothing of it."""
    tenant, other = source.sample(world.tenants, 2)
    cookie = sign_in(world, other)
    if cookie is None:
        return
    for rest in source.sample(OWN, 3):
        look_at(world, cookie, f"/{tenant.name}/one{rest}", 404)


@operation(weight=0.4)
def sign_out(world, source):
    """Signs in and out. Afterwards no daemon accepts the cookie."""
    cookie = sign_in(world, tenant_of(world, source))
    reply = send_form(world, "/logout", b"", Cookie=cookie) if cookie else None
    if reply is None or reply.status >= 500:
        return
    require(reply.status == 303, "people_can_sign_out", lambda: f"{reply} {reply.body!r}")
    left = world.ask("GET", "/settings/keys", page=True, Cookie=cookie, Accept=HTML)
    gone = left is None or left.status in (303, 401, 404) or left.status >= 500
    require(gone, "a_session_ends_when_it_is_ended", lambda: f"{left}")
