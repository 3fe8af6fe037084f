"""The operator's home page: its contents for a healthy and an unhealthy server, and who may see it."""

import re
import subprocess

import cairn
import pytest
import visitors
from hub_calls import account, make_key
from visitors import Visitor, people_of, rows, text


@pytest.fixture
def enter(start, issuer, tmp_path):
    """enter(option=...) starts a daemon and signs a visitor in with a key that may do everything."""

    def enter(**options):
        people = people_of(start, issuer, tmp_path / "home", **options)
        people.keys["all"] = make_key(people.server, issuer.token("admin"), scope="admin")["key"]
        visitor = Visitor(people.server).sign_in(people.keys["all"])
        visitor.people = people
        cairn.wait_until("the first look for lost files", lambda: "as after each start" not in text(visitor.page("/admin")))
        return visitor

    return enter


def notes(visitor):
    return [text(item) for ul in visitor.page("/admin").iter("ul") if ul.get("class") == "notes" for item in ul]


def alarms(visitor):
    page = visitor.page("/admin")
    return [text(item) for ul in page.iter("ul") if ul.get("class") == "plain" for item in ul]


def test_all_is_well(enter):
    operator = enter(gc_schedule="1d", scrub_period="7d")
    people = operator.people
    page = operator.page("/admin")
    assert alarms(operator) == [] and "Nothing is wrong" in text(page) and "No request failed" in text(page)
    assert [note.split(" See")[0] for note in notes(operator)] == ["No backup was ever made."]
    for said in ("None has ended so far", "No backup is known", "Stored xorbs", "Scrub"):
        assert said in text(page), said
    people.make("ann/data")
    people.put("ann/data", "f", b"x" * 9000)
    assert "page-admin" in [row[0] for row in rows(operator.page("/admin"), "routes")]
    assert "/admin" in visitors.links(operator.page("/"))


def test_switched_off_jobs_are_noted(enter):
    """Switched-off jobs raise no alarm, but the page does not say that all is well."""
    operator = enter(gc_schedule="off", scrub_period="0")
    said = dict(note.split(" See ") for note in notes(operator))
    assert alarms(operator) == [] and "All is well" not in text(operator.page("/admin"))
    assert list(said.values()) == ["Backup and restore", "Scrub and repair", "Collecting garbage"]


def test_the_page_is_the_operators_alone(enter):
    """For everybody else the page does not exist."""
    people = enter().people
    for who in ("ann", "operator", "nobody"):  # this operator's key only writes
        visitor = Visitor(people.server)
        if people.keys[who]:
            visitor.sign_in(people.keys[who])
        told = [visitor.get(path, **{"X-Request-Id": "same"}) for path in ("/admin", "/storage", "/storage/files", "/admin/help/tls", "/nobody-at-all")]
        assert [reply.status for reply in told] == [404] * 5
        assert told[0].body == told[1].body == told[2].body == told[3].body and "/admin" not in visitors.links(visitor.page("/"))


def test_uploads_are_refused(enter):
    """The page says that uploads are refused, as /ready does."""
    operator = enter(reserve_bytes="1024G")
    assert operator.people.server.get("/ready").status == 503
    (told,) = alarms(operator)
    assert told.startswith("Uploads are refused") and told.endswith("See Full disks")
    assert "/admin/help/full-disks" in visitors.links(operator.page("/admin"))
    assert "reserve" in text(operator.page("/admin/help/full-disks"))
    cairn.wait_until("the failure", lambda: [row[:2] for row in rows(operator.page("/admin"), "failed")] == [["ready", "503"]])


def test_a_failed_backup(enter):
    operator = enter()
    data = operator.people.server.data
    (data / "notes").mkdir(exist_ok=True)
    (data / "notes" / "backup").write_text("ran 1000000000\ngood 1000000000\nfailed 1\nbytes 5000\n")
    cairn.wait_until("word of a backup", lambda: len(alarms(operator)) == 2)
    assert all("See Backup and restore" in told for told in alarms(operator))
    assert "5.0 kB" in text(operator.page("/admin")) and "2001-09-09" in text(operator.page("/admin"))


def guide_headings():
    pages = ("operations.md", "troubleshooting.md", "engines.md")
    return [heading for page in pages for heading in re.findall(r"^##+ (.*)$", (cairn.ROOT / "docs" / page).read_text(), re.M)]


def test_guide(enter):
    """Each section of the guide has a page, and links between sections lead to these pages."""
    operator = enter()
    parts = [at for at in visitors.links(operator.page("/admin/help")) if at.startswith("/admin/help/")]
    headings = guide_headings()
    assert [text(next(operator.page(at).iter("h1"))) for at in parts] == headings
    linked = {at for part in parts for at in visitors.links(operator.page(part)) if "/help/" in at}
    assert len(linked) >= 10 and linked <= {*parts, "/admin/help"}, linked - set(parts)
    assert operator.get("/admin/help/none").status == 404


def test_growth(enter):
    operator = enter()
    (chart,) = [svg for svg in operator.page("/admin").iter("{http://www.w3.org/2000/svg}svg") if svg.get("class") == "days"]
    assert len(list(chart.iter("{http://www.w3.org/2000/svg}rect"))) == 1 and re.fullmatch(r"[0-9-]{10} 00:00 UTC: 0 B", text(next(chart.iter("{http://www.w3.org/2000/svg}title"))))
    assert re.fullmatch(r"newest [0-9]+", (operator.people.server.data / "notes" / "growth").read_text().splitlines()[-1])


def svg_titles(page, class_):
    charts = [svg for svg in page.iter("{http://www.w3.org/2000/svg}svg") if svg.get("class") == class_]
    return [[text(t) for t in svg.iter("{http://www.w3.org/2000/svg}title")] for svg in charts]


def test_requests_and_latency(enter):
    """Requests that ended in the current step are counted at once. Failed requests are highlighted."""
    operator = enter(reserve_bytes="1024G")
    cairn.wait_until("the first look", lambda: len(svg_titles(operator.page("/admin"), "days pace")) == 1)
    for _ in range(20):
        assert operator.people.server.get("/health").status == 200
    assert operator.people.server.get("/ready").status == 503

    def told():
        page = operator.page("/admin")
        (pace,), (requests,) = svg_titles(page, "days pace"), svg_titles(page, "days requests")
        counts = [re.fullmatch(r"\d\d:\d\d: (\d+), (\d+) failed", title) for title in requests]
        assert len(pace) == len(requests) <= 2 and all(counts), requests
        assert all(re.fullmatch(r"\d\d:\d\d: half in [\d.]+ m?s, 95 of 100 in [\d.]+ m?s", title) for title in pace), pace
        n, failed = (sum(int(count[i]) for count in counts) for i in (1, 2))
        assert f"{n} requests, {failed} of them failed" in text(page)
        return n >= 21 and failed >= 1

    cairn.wait_until("the requests", told)


def holders(page):
    """{account: [[cell of a key]]} of the page."""
    sections = [part for part in page.iter("section") if part.get("class") == "holder"]
    return {text(next(part.iter("h2"))): [[text(cell) for cell in row] for body in part.iter("tbody") for row in body] for part in sections}


def test_accounts_and_keys(enter, issuer):
    operator = enter()
    people = operator.people
    made = make_key(people.server, issuer.token("admin"), account="ann", scope="read", name="<b>laptop")
    assert "/admin/accounts" in visitors.links(operator.page("/admin"))
    page = operator.page("/admin/accounts")
    told = holders(page)
    assert list(told)[:2] == ["The operator", "team"] and {"ann", "bob", "adam", "rita"} <= set(told) and told["team"] == []
    assert [row[:2] for row in told["ann"]] == [["test", "write"], ["test", "read"], ["<b>laptop", "read"]]
    assert told["ann"][2][2:5] == ["just now", "–", "never"]
    assert any("signed in with it" in row[0] and row[3] == "just now" for row in told["The operator"])
    shown = "".join(page.itertext())
    assert not re.search(r"\bhf_\w{20}", shown) and all(key not in shown for key in people.keys.values() if key) and made["key"] not in shown
    ann = Visitor(people.server).sign_in(made["key"])
    number = next(row.find(".//input").get("value") for row in page.iter("tr") if text(row).startswith("<b>laptop"))
    for who, status in ((ann, 404), (Visitor(people.server), 404)):
        assert who.get("/admin/accounts").status == who.send("/admin/accounts/revoke", id=number).status == status
    assert operator.send("/admin/accounts/revoke", origin="https://evil.example", id=number).status == 403
    for wrong in (number + "x", " " + number, "+" + number, "-" + number, "0", "x", ""):
        assert operator.send("/admin/accounts/revoke", id=wrong).status == 400, wrong
    assert len(holders(operator.page("/admin/accounts"))["ann"]) == 3
    visitors.is_away(operator.send("/admin/accounts/revoke", id=number), "/admin/accounts")
    assert [row[0] for row in holders(operator.page("/admin/accounts"))["ann"]] == ["test", "test"]
    visitors.is_away(ann.get("/"), "/login")
    assert operator.send("/admin/accounts/revoke", id="999999").status == 404


def test_many_accounts_and_keys(enter, issuer):
    """Accounts come in pages. An account with more keys than are shown says so."""
    operator = enter()
    server, admin = operator.people.server, issuer.token("admin")
    for i in range(60):
        account(server, admin, f"user{i:02}")
    for i in range(105):
        make_key(server, admin, account="bob", scope="read", name=f"{i} " + "&" * 200)
    seen, at = [], "/admin/accounts"
    while at:
        reply = operator.get(at)
        assert len(reply.body) < 40_000
        page = visitors.parsed(reply)
        seen += [name for name in holders(page) if name != "The operator"]
        at = next((f"/admin/accounts{link}" for link in visitors.links(page) if link.startswith("?from=")), None)
        if "bob" in holders(page):
            assert re.search(r"And [0-9]+ more, which cairn key list shows", text(page))
    assert seen[:3] == ["team", "ann", "bob"] and seen[-60:] == [f"user{i:02}" for i in range(60)] and len(seen) == len(set(seen)) == 65


def test_each_part_is_there():
    """The guide has each section that an alarm refers to."""
    headings = guide_headings()
    anchors = {re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in headings}
    source = (cairn.ROOT / "server" / "page" / "page_alarms.c").read_text()
    named = set(re.findall(r'alarms_add\([^;]*"([a-z-]+)"\);', source)) | set(re.findall(r'\{"[a-z]+\.", "([a-z-]+)"\}', source)) | {"troubleshooting"}
    assert len(named) > 8 and named <= anchors, named - anchors


def test_files_that_no_repository_has(enter, issuer, tmp_path):
    """A file sent by `cairn push` belongs to no repository of the hub. The operator finds it on the page, and nobody else does."""
    operator = enter()
    people, page = operator.people, operator.page("/storage/files")
    assert "There is none" in text(page) and "cairn push" in text(page)
    assert "/storage/files" not in visitors.links(operator.page("/")) + visitors.links(operator.page("/storage"))
    sizes = {}
    for i in range(101):  # one more than the rows of a page
        (tmp_path / f"f{i}").write_bytes(str(i).encode() * (i + 1))
    push = [cairn.CAIRN, "push", "--server", people.server.url, "--token", issuer.token("write"), *(str(tmp_path / f"f{i}") for i in range(101))]
    done = subprocess.run(push, check=True, capture_output=True, text=True, timeout=60, env=people.server.environment())
    for line in done.stdout.splitlines()[:-1]:
        name, size, _ = line.split()
        sizes[name] = int(size)
    people.make("ann/data")
    people.put("ann/data", "f", b"x" * 9000)  # a file that a repository has

    first = operator.page("/storage/files")
    more, = [link for link in visitors.links(first) if "cursor=" in link]
    listed = rows(first, "files") + rows(operator.page(more), "files")
    assert {row[0]: row[1] for row in listed} == {name: f"{size} B" for name, size in sizes.items()} and len(listed) == 101
    assert all(row[2] == "just now" for row in listed)
    assert f"cairn pull {rows(first, 'files')[-1][0]} -o FILE" in text(first)
    assert "behind this place" in text(operator.page("/storage/files?cursor=" + "f" * 64))
    for path in ("/", "/storage", f"/search?q={'0' * 64}"):
        assert "/storage/files" in visitors.links(operator.page(path)), path
    for who in ("ann", "bob"):
        visitor = Visitor(people.server).sign_in(people.keys[who])
        assert "/storage/files" not in visitors.links(visitor.page("/"))
