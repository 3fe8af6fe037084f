"""Pages, requested as a browser without scripts does: who sees what, what forms change, and what is refused."""

import json
import re

import cairn
import pytest
import visitors
from hub_calls import ZEROS, add, make_key
from visitors import HOSTILE, Visitor, is_away, parsed, people_of, rows, text

FILLED = {"namespace": "ann", "name": "one", "number": "1", "place": "main"}


@pytest.fixture
def people(start, issuer, tmp_path):
    people = people_of(start, issuer, tmp_path / "home")
    people.make("ann/data")
    people.make("ann/secret", private=True)
    return people


def fill(people, bucket, *paths):
    reply = people.batch(bucket, *(add(path, ZEROS) for path in paths))
    assert reply.status == 200 and reply.json()["success"], reply


def test_home(people, enter):
    nobody = Visitor(people.server)
    assert [row[0] for row in rows(nobody.page("/"), "repos")] == ["ann/data bucket"]
    assert [row[0] for row in rows(enter("ann").page("/"), "repos")] == ["ann/secret bucketprivate", "ann/data bucket"]
    assert [row[0] for row in rows(enter("bob").page("/"), "repos")] == ["ann/data bucket"]
    assert len(rows(enter("operator").page("/"), "repos")) == 2
    assert rows(enter("ann").page("/?q=SECR"), "repos")[0][0].startswith("ann/secret")
    assert "No name here contains that" in text(enter("ann").page("/?q=%3Cscript%3E"))
    assert people.server.get("/").status == 200, "curl gets an answer, too"


def test_a_search_too_long(people, enter):
    """A search text that is too long is not taken for an empty one, which would find everything."""
    for n, status in ((200, 200), (201, 400), (10_000, 400)):
        page = enter("ann").page("/?q=" + "a" * n, status)
        assert rows(page, "repos") == [] and ("200" in text(page)) == (status == 400), n


def test_empty_home(start, issuer, tmp_path):
    people = people_of(start, issuer, tmp_path / "home")
    assert "Nothing public is here" in text(Visitor(people.server).page("/"))
    ann = Visitor(people.server).sign_in(people.keys["ann"])
    page = ann.page("/")
    assert "hf buckets create" in text(page) and "/new" in visitors.links(page)
    assert f"export HF_ENDPOINT={people.server.url}" in text(page)


def test_private_looks_absent(people, enter):
    """The page of a private repository equals that of one that does not exist, except for the names in it."""
    fill(people, "ann/secret", "f.txt")

    def told(who, name, rest):
        reply = who.get(f"/buckets/ann/{name}{rest}", **{"X-Request-Id": "same"})
        return reply.status, [h for h in reply.headers.items() if h[0] not in ("Date", "Content-Length")], reply.body.replace(name.encode(), b"*")

    for who in (Visitor(people.server), enter("bob"), Visitor(people.server, Accept="*/*")):
        for rest in ("", "/settings", "/tree/f.txt", "/tree/none"):
            assert told(who, "secret", rest) == told(who, "absent", rest)
            assert told(who, "secret", rest)[0] == 404
    reply = enter("bob").send("/buckets/ann/secret/settings", action="delete", confirm="ann/secret")
    assert reply.status == 404
    assert "secret" not in text(Visitor(people.server).page("/ann"))
    assert enter("ann").get("/buckets/ann/secret").status == 200


def test_programs_get_the_answers_without_pages(people, start):
    """A program's request to an address without a page gets the same answer as on a daemon without pages."""
    for path in ("/nothing", "/favicon.ico", "/buckets/ann/absent", "/assets/none.css"):
        cairn.is_error(people.server.get(path), 404, "route.unknown")
    cairn.is_error(people.server.get("/a/b/c"), 404, "route.unknown")
    assert people.server.post("/health").headers["Allow"] == "GET, HEAD"
    bare = start("bare", no_hub=True)
    for path in ("/", "/login", "/assets/style.css"):
        cairn.is_error(bare.get(path), 404, "route.unknown")


def test_pages_without_tokens(start):
    """Without tokens, everybody is the operator."""
    visitor = Visitor(start())
    assert "operator" in text(visitor.page("/"))
    assert "/settings/keys" not in [link.get("href") for link in visitor.page("/").iter("a")], "the operator has no keys of an account"
    is_away(visitor.send("/new", kind="bucket", namespace="operator", name="data", visibility="public"), "/buckets/operator/data")
    assert rows(visitor.page("/"), "repos")[0][0] == "operator/data bucket"
    assert "HF_TOKEN" not in text(visitor.page("/"))
    assert visitor.send("/new", origin="http://evil.example", namespace="operator", name="more").status == 403


def test_nothing_is_public(start, issuer, tmp_path):
    """Without hub_anonymous, only people who are signed in see public repositories."""
    people = people_of(start, issuer, tmp_path / "home", no_hub_anonymous=True)
    people.make("ann/data")
    nobody = Visitor(people.server)
    assert rows(nobody.page("/"), "repos") == []
    assert nobody.get("/ann").status == nobody.get("/nobody-at-all").status == 404
    assert nobody.get("/buckets/ann/data").status == 404
    assert Visitor(people.server).sign_in(people.keys["bob"]).get("/buckets/ann/data").status == 200


def test_hostile_names(people, enter):
    paths = [f"{name}/{name}" for name in HOSTILE]
    fill(people, "ann/data", *paths)
    ann = enter("ann")
    listed = visitors.links(ann.page("/buckets/ann/data"))
    folders = [link for link in listed if "/tree/" in link]
    assert len(folders) == len(HOSTILE)
    for folder in folders:
        page = ann.page(folder)
        assert "alert(1)" not in "".join(s.text or "" for s in page.iter("script"))
        for link in visitors.links(page):
            if link.startswith(folder) and "resolve" not in link:
                assert ann.get(link).status == 200
    reply = ann.get("/buckets/ann/data")
    assert b"<script>" not in reply.body and b"<img" not in reply.body and "\u202e".encode() not in reply.body
    for query in ("<script>", '"><img src=x>', "\u202e"):
        assert b"<img" not in ann.get("/?q=" + "".join(f"%{b:02x}" for b in query.encode())).body


def test_lists_go_on(people, enter):
    paths = [f"many/{i:04d}" for i in range(250)] + ["other"]
    fill(people, "ann/data", *paths)
    ann, at, seen = enter("ann"), "/buckets/ann/data/tree/many", []
    while at:
        page = ann.page(at)
        seen += [row[0] for row in rows(page, "files")]
        more = [link for link in visitors.links(page) if link.startswith("?from=")]
        at = more and "/buckets/ann/data/tree/many" + more[0]
    assert seen == [f"{i:04d}" for i in range(250)]
    for i in range(120):
        people.make(f"bob/b{i}", "bob")
    at, names = "/bob", []
    while at:
        page = ann.page(at)
        names += [row[0] for row in rows(page, "repos")]
        at = next((link for link in visitors.links(page) if "cursor" in link), None)
    assert names == [f"b{i} bucket" for i in reversed(range(120))]


def test_files(people, enter):
    people.put("ann/secret", "a/b.txt", b"content", contentType="text/html")
    ann = enter("ann")
    page = ann.page("/buckets/ann/secret/tree/a/b.txt")
    assert "7 bytes" in text(page) and "hf cp 'hf://buckets/ann/secret/a/b.txt' ." in text(page)
    reply = ann.get("/buckets/ann/secret/resolve/a/b.txt")
    assert (reply.status, reply.body) == (200, b"content"), "a session may download"
    assert reply.headers["Content-Security-Policy"] == "sandbox" and reply.headers["Content-Type"].startswith("text/plain")
    assert Visitor(people.server).get("/buckets/ann/secret/resolve/a/b.txt").status == 401
    assert ann.get("/buckets/ann/secret/tree/a/none").status == 404
    assert ann.get("/buckets/ann/secret/tree/..").status == 404
    reply = ann.request("DELETE", "/api/buckets/ann/secret")
    assert reply.status == 401, "a session is for pages, and makes no request of a program"


def test_signing_in(people):
    visitor = Visitor(people.server)
    is_away(visitor.get("/new"), "/login?next=/new")
    is_away(visitor.get("/settings/keys"), "/login?next=/settings/keys")
    for wrong in ("", "x", people.keys["ann"][:-1], "hf_cairn_" + "A" * 43):
        reply = visitor.send("/login", key=wrong)
        assert reply.status == 403 and "alert" in [n.get("role") for n in parsed(reply).iter()]
        assert not visitor.session
    reply = visitor.send("/login", key=people.keys["ann"], next="/new")
    is_away(reply, "/new")
    cookie = reply.headers["Set-Cookie"]
    assert re.fullmatch(r"cairn_session=[\w-]{43}; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200", cookie), cookie
    assert people.keys["ann"] not in cookie
    assert text(visitor.page("/new")).startswith("New repository")
    is_away(visitor.get("/login"), "/")
    session = visitor.session
    is_away(visitor.send("/logout"), "/")
    assert visitor.session is None
    visitor.session = session
    is_away(visitor.get("/new"), "/login?next=/new")


@pytest.mark.parametrize("next_", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/a\r\nX: y", "/\x0b/evil.example", "/a\x01", "/a\x80", "/a b", "/\u00e9"])
def test_signing_in_leads_nowhere_else(people, next_):
    is_away(Visitor(people.server).send("/login", key=people.keys["ann"], next=next_), "/")


def test_session_ends_with_its_key(people, enter, issuer):
    ann, bob = enter("ann"), enter("bob")
    listed = people.server.get("/v1/keys", token=issuer.token("admin")).json()["keys"]
    number = next(k["id"] for k in listed if k["account"] == "ann")
    assert people.server.request("DELETE", f"/v1/keys/{number}", token=issuer.token("admin")).status == 200
    is_away(ann.get("/"), "/login")
    assert ann.session is None and ann.get("/").status == 200
    assert "Sign out" in text(bob.page("/"))


def test_session_ends_after_half_a_day(start, issuer, tmp_path, clock):
    people = people_of(start, issuer, tmp_path / "home", test_clock=clock.path)
    ann = Visitor(people.server).sign_in(people.keys["ann"])
    clock.move(12 * 3600 - 60)
    assert ann.get("/new").status == 200
    clock.move(12 * 3600 + 60)
    is_away(ann.get("/new"), "/login?next=/new")


def test_cookie_of_https_is_secure(start, issuer, tmp_path):
    people = people_of(start, issuer, tmp_path / "home", public_url="https://hub.example")
    visitor = Visitor(people.server)
    reply = visitor.send("/login", origin="https://hub.example", key=people.keys["ann"])
    assert reply.status == 303 and reply.headers["Set-Cookie"].endswith("; Secure") and "Domain" not in reply.headers["Set-Cookie"]
    assert visitor.cookie == "__Host-cairn_session" and visitor.get("/new").status == 200
    visitor.cookie = "cairn_session"
    is_away(visitor.get("/new"), "/login?next=/new")
    visitor.cookie = "__Host-cairn_session"
    assert visitor.send("/logout", origin="https://hub.example").headers["Set-Cookie"].startswith("__Host-cairn_session=; Path=/;")
    assert "max-age" in visitor.get("/").headers["Strict-Transport-Security"]


def test_the_scheme_of_a_form_counts(start, issuer, tmp_path):
    """A page loaded by HTTP may have been forged on the way. If public_url is HTTPS, a form from an HTTP page of that host is refused."""
    people = people_of(start, issuer, tmp_path / "home", public_url="https://hub.example/")
    key, own = people.keys["ann"], people.server.url
    for origin, host, status in (
        ("https://hub.example", "hub.example", 303),
        ("https://hub.example", "127.0.0.1:1", 303),
        ("http://hub.example", "hub.example", 403),
        ("https://other.example", "other.example", 303),
        (own, own[7:], 303),
        ("ftp" + own[4:], own[7:], 403),
    ):
        reply = Visitor(people.server, Host=host).send("/login", origin=origin, key=key)
        assert reply.status == status, (origin, host, reply)


def test_other_cookies(people, enter):
    """Other cookies of the same host may stand before or behind the session. If the session's name occurs twice, neither counts."""
    session, bob = enter("ann").session, enter("bob").session
    for good in (f"x=1; cairn_session={session}", f"xcairn_session=a; cairn_session={session}", f"cairn_session={session};b", f"a=cairn_session=x;cairn_session={session}"):
        assert Visitor(people.server).get("/new", Cookie=good).status == 200, good
    for wrong in (f"cairn_session={bob}; cairn_session={session}", f"xcairn_session={session}", f"cairn_session={session}x", "cairn_session=" + "a" * 500, f"__Host-cairn_session={session}"):
        is_away(Visitor(people.server).get("/new", Cookie=wrong), "/login?next=/new")


def test_user_of_a_trusted_proxy(start, issuer, tmp_path):
    people = people_of(start, issuer, tmp_path / "home", hub_user_header="X-User", hub_trusted_proxies="10.0.0.0/8, 127.0.0.1")
    people.make("ann/secret", private=True)
    ann = Visitor(people.server, **{"X-User": "ann"})
    assert "ann/secret" in text(ann.page("/")) and "Sign out" not in text(ann.page("/"))
    is_away(ann.send("/new", kind="bucket", namespace="ann", name="more"), "/buckets/ann/more")
    assert ann.get("/admin").status == 404 and ann.get("/storage").status == 404
    operators = make_key(people.server, issuer.token("admin"), scope="write")["key"]
    made = people.server.post("/api/repos/create", b'{"name":"x","private":true}', token=operators)
    assert made.status == 200, made  # in the account "operator", which this makes and which belongs to nobody
    for unknown in ("eve", "team", "operator", "Operator", "a" * 200):
        assert Visitor(people.server, **{"X-User": unknown}).get("/").status == 403, unknown
    assert people.server.request("DELETE", "/api/buckets/ann/more", headers={"X-User": "ann"}).status == 401
    twice = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: text/html\r\nX-User: %s\r\nx-user: ann\r\n\r\n"
    for other in (b"ann", b"bob", b""):
        assert people.server.raw(twice % other).startswith(b"HTTP/1.1 403"), "two names in one request are refused, because it is unclear which counts"
    far = start("far", token_key=issuer.folder, hub_user_header="X-User", hub_trusted_proxies="10.0.0.0/8")
    assert "Sign in" in text(Visitor(far, **{"X-User": "ann"}).page("/"))


@pytest.mark.parametrize("options", [["--hub-user-header", "X-User"], ["--hub-user-header", "X", "--hub-trusted-proxies", "far"]])
def test_proxy_settings(tmp_path, options):
    assert "hub_trusted_proxies" in cairn.refused(tmp_path, *options, code=64)


def test_refused_before_a_page(people):
    """A request refused before its page is made gets an HTML page if a browser sent it, and JSON otherwise. Paths below /v1 always answer JSON."""
    visitor = Visitor(people.server)
    for method, path, status, headers in (
        ("GET", "/a/b/c/d", 404, {}),
        ("GET", "/ann/", 404, {}),
        ("DELETE", "/login", 405, {}),
        ("BREW", "/login", 501, {}),
        ("POST", "/login", 403, {"Origin": "http://evil.example"}),
    ):
        reply = visitor.request(method, path, **headers)
        assert reply.status == status and f"{status}" in text(parsed(reply)), (path, reply)
        assert "/" in visitors.links(parsed(reply)), path
        told = people.server.request(method, path, headers=headers | {"Accept": "*/*"})
        assert told.status == status and told.json()["error"]["code"], path
        assert reply.headers["Allow"] == told.headers["Allow"], path
    cairn.is_error(visitor.get("/v1/chunks/default/x"), 401, "auth.missing")


def forms():
    """The addresses of the forms, from the sources of the pages."""
    kinds = re.findall(r'ROW\("([^"]+)" rest', (cairn.ROOT / "server/ask/hub_repo.h").read_text())
    code = "".join(path.read_text() for path in sorted((cairn.ROOT / "server/page").glob("page_*.c")))
    patterns = set(re.findall(r'^\t[A-Z]+_FORM\(\s*"([^"]+)"', code, re.M))
    patterns |= {kind + rest for rest in re.findall(r'HUB_EACH_KIND\([A-Z]+_FORM,\s*"([^"]+)"', code) for kind in kinds}
    return sorted(re.sub(r"\{(\w+)[%*]?}", lambda found: FILLED[found[1]], pattern) for pattern in patterns)


def test_forms_are_of_this_server(people, enter):
    ann, paths = enter("ann"), forms()
    assert len(paths) >= 24 and {"/login", "/ann/one/discussions/1", "/datasets/ann/one/upload/main"} <= set(paths), paths
    fields = {"key": people.keys["ann"], "namespace": "ann", "name": "x", "action": "delete", "confirm": "ann/data"}
    for path in paths:
        for origin in (None, "null", "http://evil.example", people.server.url + "0", "https" + people.server.url[4:], people.server.url + "/"):
            assert ann.send(path, origin=origin, **fields).status == 403, (path, origin)
        assert "a page of another server" in text(parsed(ann.send(path, origin=None, **fields))), path
        cairn.is_error(ann.request("POST", path, b"a=1", Accept="*/*"), 403, "origin.form")
        if "/upload/" in path:  # a form with files: multipart
            continue
        reply = ann.request("POST", path, b"a=%", Origin=people.server.url)
        assert reply.status == 400 and "as a browser does" in text(parsed(reply)), path
        cairn.is_error(ann.request("POST", path, b"a=%", Origin=people.server.url, Accept="*/*"), 400, "form.body")
    assert len(rows(ann.page("/ann"), "repos")) == 2 and ann.get("/new").status == 200, "the refused form changed nothing"


def test_new_bucket(people, enter):
    ann = enter("ann")
    page = ann.page("/new")
    assert [text(option) for option in page.iter("option")] == ["model", "dataset", "space", "bucket", "ann", "team"]
    is_away(ann.send("/new", kind="bucket", namespace="team", name="shared", visibility="private"), "/buckets/team/shared")
    assert "private" in text(ann.page("/buckets/team/shared"))
    for fields, status in (({"namespace": "ann", "name": "data"}, 409), ({"namespace": "ann", "name": "<b>"}, 400), ({"namespace": "bob", "name": "x"}, 403)):
        reply = ann.send("/new", kind="bucket", **fields)
        assert reply.status == status
        assert fields["name"] in [field.get("value") for field in parsed(reply).iter("input")], "the page keeps what was typed"
    assert enter("reading ann").send("/new", namespace="ann", name="x").status == 403


def test_settings(people, enter):
    ann = enter("ann")
    at = "/buckets/ann/data/settings"
    is_away(ann.send(at, action="visibility", visibility="private"), at)
    assert Visitor(people.server).get("/buckets/ann/data").status == 404
    is_away(ann.send(at, action="visibility", visibility="public"), at)
    for who in ("bob", "reading ann"):
        assert enter(who).get(at).status == 403 and enter(who).send(at, action="visibility", visibility="private").status == 403
    assert Visitor(people.server).get(at).status == 403
    assert ann.send(at, action="move", namespace="ann", name="secret").status == 409
    assert ann.send(at, action="move", namespace="bob", name="data").status == 403
    assert ann.send(at, action="nothing").status == 400
    is_away(ann.send(at, action="move", namespace="team", name="moved"), "/buckets/team/moved/settings")
    assert "team/moved" in text(ann.page("/buckets/ann/data")) and ann.get("/buckets/team/moved").status == 200, "the former name leads to the bucket"


def test_deletion(people, enter):
    ann, at = enter("ann"), "/buckets/ann/data/settings"
    for typed in ("", "data", "ann/Data"):
        reply = ann.send(at, action="delete", confirm=typed)
        assert reply.status == 400 and "nothing was deleted" in text(parsed(reply))
    is_away(ann.send(at, action="delete", confirm="ann/data"), "/ann")
    assert ann.get("/buckets/ann/data").status == 404


def test_keys_of_an_account_are_bounded(people, enter):
    ann = enter("ann")
    made = [ann.send("/settings/keys", name=f"{i}", may="read") for i in range(101)]
    refused = [reply for reply in made if reply.status != 200]
    assert {reply.status for reply in refused} == {409} and "may have 100" in text(parsed(refused[0]))
    numbers = [row.find(".//input").get("value") for row in ann.page("/settings/keys").iter("tr") if row.find(".//input") is not None]
    is_away(ann.send("/settings/keys/revoke", id=numbers[-1]), "/settings/keys")
    assert ann.send("/settings/keys", name="again", may="read").status == 200


def test_long_names_of_keys(people, enter):
    """Long names are cut. The list continues on further pages."""
    ann, seen, at = enter("ann"), [], "/settings/keys"
    for i in range(60):
        assert ann.send("/settings/keys", name=f"{i} " + "&" * 240, may="read").status == 200
    while at:
        page = ann.page(at)
        seen += [text(row).split()[0] for row in page.iter("tr") if "&" in text(row)]
        at = next((link for link in visitors.links(page) if "?after=" in link), None)
    assert seen == [str(i) for i in range(60)]


def test_keys(people, enter):
    ann = enter("ann")
    reply = ann.send("/settings/keys", name="<b>laptop", may="write")
    key = re.search(rb"hf_[A-Za-z0-9]{49}", reply.body)[0].decode()
    assert "<b>laptop" in text(parsed(reply)) and key not in text(ann.page("/settings/keys"))
    laptop = Visitor(people.server).sign_in(key)
    is_away(laptop.send("/new", kind="bucket", namespace="ann", name="mine"), "/buckets/ann/mine")
    numbers = {text(row): row.find(".//input").get("value") for row in ann.page("/settings/keys").iter("tr") if row.find(".//input") is not None}
    number = next(n for name, n in numbers.items() if "laptop" in name)
    assert enter("bob").send("/settings/keys/revoke", id=number).status == 404
    assert enter("reading ann").send("/settings/keys/revoke", id=number).status == 403
    for wrong in (number + "x", " " + number, "+" + number, "-" + number, "0", "x", ""):
        reply = ann.send("/settings/keys/revoke", id=wrong)
        assert reply.status == 400 and "as a browser does" in text(parsed(reply)), wrong
    assert laptop.get("/").status == 200
    is_away(ann.send("/settings/keys/revoke", id=number), "/settings/keys")
    is_away(laptop.get("/"), "/login")
    assert ann.send("/settings/keys", name="", may="read").status == 400
    reading = enter("reading ann")
    assert reading.send("/settings/keys", name="more", may="write").status == 403
    assert reading.send("/settings/keys", name="more", may="read").status == 403, "the new key would outlive the revocation of this one"
    page = reading.page("/settings/keys")
    assert "neither make nor revoke keys" in text(page) and [td.find(".//button") for td in page.iter("td")] == [None] * len(list(page.iter("td")))
    assert enter("operator").get("/settings/keys").status == 403


def test_revoking_a_key_revokes_keys_made_with_it(people, enter):
    """Revoking a key also revokes keys that were made with it, and with those. Tokens and sessions of all of them end."""
    ann = enter("ann")

    def more(visitor):
        return re.search(rb"hf_[A-Za-z0-9]{49}", visitor.send("/settings/keys", name="more", may="write").body)[0].decode()

    first = more(ann)
    child = more(Visitor(people.server).sign_in(first))
    visitor = Visitor(people.server).sign_in(child)
    rows = [row for row in ann.page("/settings/keys").iter("tr") if row.find(".//input") is not None]
    numbers = sorted(int(row.find(".//input").get("value")) for row in rows)
    is_away(ann.send("/settings/keys/revoke", id=numbers[-2]), "/settings/keys")
    for key in (first, child):
        assert people.server.get("/api/whoami-v2", token=key).status == 401
    is_away(visitor.get("/settings/keys"), "/login")
    assert ann.get("/settings/keys").status == 200
    assert "revokes the keys that were made with it" in text(ann.page("/settings/keys"))


def test_a_key_does_not_outlive_the_one_it_was_made_with(start, issuer, tmp_path, clock):
    people = people_of(start, issuer, tmp_path / "home", test_clock=clock.path)
    short = make_key(people.server, issuer.token("admin"), account="ann", scope="write", expires_s=3600)["key"]
    visitor = Visitor(people.server).sign_in(short)
    made = re.search(rb"hf_[A-Za-z0-9]{49}", visitor.send("/settings/keys", name="more", may="write").body)[0].decode()
    assert Visitor(people.server).sign_in(made).get("/new").status == 200
    clock.move(3700)
    assert Visitor(people.server).send("/login", key=made).status == 403
    is_away(visitor.get("/new"), "/login")


def test_room_of_an_account(people, enter, issuer):
    """Those who may add to an account see how much it holds, with its path, and how much it may hold."""
    people.put("ann/data", "f", b"x" * 5000)
    assert "Holds 7.2 kB." in text(enter("ann").page("/ann"))
    reply = people.server.post("/v1/quotas", b'{"place":"ann","quota_bytes":2000000}', token=issuer.token("admin"))
    assert reply.status == 200, reply
    assert "Holds 7.2 kB of 2.0 MB that it may hold." in text(enter("ann").page("/ann"))
    for other in (enter("bob"), enter("reading ann"), Visitor(people.server)):
        assert "Holds" not in text(other.page("/ann"))


def test_members(people, enter, issuer):
    adam, ann = enter("adam"), enter("ann")
    is_away(adam.send("/settings/members", organisation="team", user="bob", role="read"), "/team")
    assert "bob" in text(ann.page("/team"))
    assert ann.send("/settings/members", organisation="team", user="bob", role="admin").status == 403
    assert adam.send("/settings/members", organisation="team", user="nosuch", role="read").status == 400
    assert adam.send("/settings/members", organisation="team", user="bob", role="king").status == 400
    assert adam.send("/settings/members", organisation="none", user="bob", role="read").status == 404
    is_away(adam.send("/settings/members", organisation="team", user="bob", role="none"), "/team")
    assert "bob" not in text(ann.page("/team").find(".//main"))
    # An organisation keeps its last admin. The last but one may leave, and an operator may change anything.
    for role in ("write", "none"):
        reply = adam.send("/settings/members", organisation="TEAM", user="Adam", role=role)
        assert reply.status == 409 and "only admin" in text(parsed(reply)), role
    is_away(adam.send("/settings/members", organisation="team", user="adam", role="admin"), "/team")
    is_away(adam.send("/settings/members", organisation="team", user="ann", role="admin"), "/team")
    is_away(adam.send("/settings/members", organisation="team", user="adam", role="none"), "/team")
    assert ann.send("/settings/members", organisation="team", user="ann", role="read").status == 409
    for scope, user in (("admin", "ann"), ("write", "bob")):  # a key that only writes cannot give rights that outlast it
        key = make_key(people.server, issuer.token("admin"), scope=scope)["key"]
        reply = Visitor(people.server).sign_in(key).send("/settings/members", organisation="team", user=user, role="write")
        assert reply.status == (303 if scope == "admin" else 403), (scope, reply)
    assert "Members" not in text(Visitor(people.server).page("/team")) and "Members" not in text(enter("bob").page("/team"))


def test_weight(people, enter):
    fill(people, "ann/data", *(f"a-rather-long-name-of-a-file-{i:04d}.safetensors" for i in range(150)))
    ann = enter("ann")
    loads = [node.get("href") or node.get("src") for node in ann.page("/").iter() if node.tag in ("link", "script")]
    assets = 0
    for path in loads:
        reply = ann.get(path)
        assert reply.status == 200 and "immutable" in reply.headers["Cache-Control"]
        assets += len(reply.body)
    for path in ("/", "/buckets/ann/data", "/buckets/ann/data/settings", "/settings/keys", "/new", "/team"):
        assert assets + len(ann.get(path).body) < 60_000 + (40_000 if path == "/buckets/ann/data" else 0), path


def test_behind_a_proxy_that_cuts_a_path(start, issuer, tmp_path):
    """All addresses on a page lie below the path of public_url, and so do the targets of forms."""
    base = "https://example.org/hub"
    people = people_of(start, issuer, tmp_path, public_url=base)
    ann = Visitor(people.server)
    reply = ann.send("/login", key=people.keys["ann"], next="/new")
    assert (reply.status, reply.headers["Location"]) == (303, "/hub/new")
    assert people.ask("POST", "/api/repos/create", body={"name": "one"}).json()["url"] == f"{base}/ann/one"
    readme = {"key": "file", "value": {"path": "README.md", "content": "[a](x.md) ![i](/i.png) `href=\"/x`", "encoding": "utf-8"}}
    lines = b"\n".join(json.dumps(line).encode() for line in ({"key": "header", "value": {"summary": "s"}}, readme))
    assert people.ask("POST", "/api/models/ann/one/commit/main", body=lines).json()["commitUrl"].startswith(base)
    for path in ("/", "/ann/one", "/ann/one/tree/main", "/ann/one/settings", "/settings/keys", "/none/none", "/a/b/c"):
        page = ann.get(path)
        places = [e.get(name) for e in parsed(page, "/hub").iter() for name in ("href", "src", "action") if e.get(name)]
        local = [p for p in places if p.startswith("/")]
        assert len(local) > 3 and all(p.startswith("/hub/") and not p.startswith("/hub/hub/") for p in local), (path, local)
        for asset in {p for p in local if p.startswith("/hub/assets/")}:
            assert people.server.get(asset.removeprefix("/hub")).status == 200, asset
