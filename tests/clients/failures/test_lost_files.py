"""Files whose bytes are lost: where they are reported, and to whom. The reports disappear when the bytes are back."""

import contextlib
import json
import os
import sqlite3
import subprocess

import cairn
import pytest
import xet
from hub_calls import commit, done, make, make_key, stored, text, upload
from visitors import Visitor, people_of, rows
from visitors import text as said

pytestmark = pytest.mark.files

BODY, SECRET, WHOLE = (bytes([n]) * 90_000 for n in (1, 2, 3))


@pytest.fixture
def people(start, issuer, tmp_path):
    """A hub with three files: one in a public repository, one in a private repository of bob's, and one that is never lost."""
    people = people_of(start, issuer, tmp_path / "home")
    people.keys["all"] = make_key(people.server, issuer.token("admin"), scope="admin")["key"]
    people.keys["bob"] = make_key(people.server, issuer.token("admin"), account="bob", scope="write")["key"]
    people.admin, people.hashes = issuer.token("admin"), {}
    for repo, who, path, body in (("ann/one", "ann", "d/w.bin", BODY), ("bob/two", "bob", "hidden.bin", SECRET), ("ann/whole", "ann", "x.bin", WHOLE)):
        make(people, repo, who, private=who == "bob")
        sha256, people.hashes[repo] = upload(people, body, f"models/{repo}", who)
        done(commit(people, stored(path, sha256, len(body)), text("small", "1"), repo=f"models/{repo}", who=who))
    return people


def sums(people):
    told = people.server.get("/v1/stats", token=people.admin).json()
    return told["lost_xorbs"], told["lost_files"]


def lose_unlooked(people):
    """Deletes the objects of two files and reads the files, so that the daemon notices."""
    for repo, who, path, body in (("ann/one", "ann", "d/w.bin", BODY), ("bob/two", "bob", "hidden.bin", SECRET)):
        people.server.object_of(xet.text(xet.Xorb([body]).hash)).unlink()
        reply = people.ask("GET", f"/{repo}/resolve/main/{path}", who)
        assert (reply.status, reply.json()["code"], reply.headers["Cache-Control"]) == (410, "object.missing", "no-store")


def lose(people):
    lose_unlooked(people)
    cairn.wait_until("the count of lost files", lambda: sums(people) == (2, 2))


def heal(people):
    upload(people, BODY)
    upload(people, SECRET, "models/bob/two", "bob")
    cairn.wait_until("the count without lost files", lambda: sums(people) == (0, 0))


def visitor(people, who):
    one = Visitor(people.server)
    return one.sign_in(people.keys[who]) if people.keys[who] else one


def ls(people, *args, key="all"):
    env = {k: v for k, v in os.environ.items() if not k.startswith("CAIRN_")}
    token = people.admin if key == "all" else people.keys[key]
    env |= {"CAIRN_SERVER": people.server.url, "CAIRN_TOKEN": token}
    ended = subprocess.run([cairn.CAIRN, *args], env=env, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_operator_is_told(people):
    operator = visitor(people, "all")
    assert "lost" not in [s.get("id") for s in operator.page("/admin").iter("h2")]
    lose(people)
    page = operator.page("/admin")
    assert "2 files are lost" in said(page) and "Nothing is wrong" not in said(page)
    assert sorted(row[:2] for row in rows(page, "lost-repos")) == [["models/ann/one", "1"], ["models/bob/two", "1"]]
    (files,) = [ul for ul in page.iter("ul") if ul.get("id") == "lost-files"]
    assert sorted(said(item) for item in files) == ["d/w.bin in ann/one, 90.0 kB", "hidden.bin in bob/two, 90.0 kB"]
    assert {a.get("href") for a in files.iter("a")} == {"/ann/one/blob/main/d/w.bin", "/bob/two/blob/main/hidden.bin"}
    metrics = people.server.metrics()
    assert (metrics["cairn_lost_xorbs"], metrics["cairn_lost_files"], metrics["cairn_lost_stale"]) == (2, 2, 0)
    heal(people)
    page = operator.page("/admin")
    assert "lost-repos" not in [t.get("id") for t in page.iter("table")] and "Nothing is wrong" in said(page)
    assert "nothing that files need is lost now" in said(page)  # the text adds that the disk may be failing all the same


def test_no_page_says_that_nothing_is_lost_before_a_count(people):
    operator = visitor(people, "all")
    cairn.wait_until("the first count of lost files", lambda: "Nothing is wrong" in said(operator.page("/admin")))
    lose_unlooked(people)
    pages = []

    def looked():
        pages.append(said(operator.page("/admin")))
        return "2 files are lost" in pages[-1]

    cairn.wait_until("the count of lost files", looked)
    assert not [page for page in pages if "Nothing is wrong" in page or "nothing that files need is lost" in page]


def test_the_page_leaves_out_unreadable_places(people):
    """If the daemon cannot read where lost files are, the page still shows their hashes, and everything else."""
    operator = visitor(people, "all")
    lose(people)
    with contextlib.closing(sqlite3.connect(people.server.data / "index.sqlite", isolation_level=None)) as db:
        db.execute("ALTER TABLE ref RENAME TO away")
    page = operator.page("/admin")
    (files,) = [ul for ul in page.iter("ul") if ul.get("id") == "lost-files"]
    assert sorted(said(item) for item in files) == sorted(people.hashes[repo] for repo in ("ann/one", "bob/two"))
    assert "The search for the places of these files failed" in said(page)


def test_a_list_says_whether_it_is_complete(people):
    lose_unlooked(people)
    lists = []

    def looked():
        lists.append(people.server.get("/v1/files?lost=1", token=people.admin).json())
        return lists[-1]["complete"]

    cairn.wait_until("a complete list", looked)
    assert len(lists[-1]["files"]) == 2 and lists[-1]["next"] is None
    assert "complete" not in people.server.get("/v1/files", token=people.admin).json()
    assert json.loads(ls(people, "ls", "--lost", "--json"))["complete"] is True


def test_lists_and_cards_mark_them(people):
    lose(people)
    for who, repo in (("nobody", "ann/one"), ("ann", "ann/one"), ("bob", "bob/two")):
        repos = {row[0].split()[0]: row[0] for row in rows(visitor(people, who).page("/"), "repos")}
        assert "1 file lost" in repos[repo] and "lost" not in repos["ann/whole"]
        assert ("bob/two" in repos) == (who == "bob")
    nobody = visitor(people, "nobody")
    assert "1 file lost" in said(nobody.page("/ann/one"))
    assert "bob" not in said(nobody.page("/")) and nobody.get("/bob/two/blob/main/hidden.bin").status == 404
    [row] = rows(nobody.page("/ann/one/tree/main/d"), "files")
    assert row[0] == "w.bin lost" and row[-1] == ""
    heal(people)
    [row] = rows(nobody.page("/ann/one/tree/main/d"), "files")
    assert row[0] == "w.bin" and "lost" not in said(nobody.page("/ann/one")) and "lost" not in said(nobody.page("/"))


def test_the_files_page_says_so(people):
    at = "/ann/one/blob/main/d/w.bin"
    nobody = visitor(people, "nobody")
    assert "Download" in said(nobody.page(at))
    lose(people)
    page = nobody.page(at)
    assert "This file is lost" in said(page) and "proved" not in said(page) and "Download" not in said(page)
    assert "hf download" not in said(page)
    heal(people)
    assert "Download" in said(nobody.page(at)) and "lost" not in said(nobody.page(at))


def test_the_command_lists_them(people):
    assert ls(people, "ls", "--lost") == ""
    lose(people)
    told = [line.split() for line in ls(people, "ls", "--lost").splitlines()]
    assert sorted((row[0], row[4], row[5]) for row in told) == sorted(
        [(people.hashes["ann/one"], "models/ann/one", "lost"), (people.hashes["bob/two"], "models/bob/two", "lost")]
    )
    one = json.loads(ls(people, "ls", "--lost", "--repo", "models/ann/one", "--json"))
    assert [(f["hash"], f["lost"]) for f in one["files"]] == [(people.hashes["ann/one"], True)]
    assert ls(people, "ls", "--lost", "--repo", "models/ann/whole") == ""
    assert sum(line.endswith(" lost") for line in ls(people, "ls").splitlines()) == 2
    assert len(ls(people, "ls", "--lost", "--limit", "1").splitlines()) == 1
    assert "its bytes are lost" in ls(people, "info", people.hashes["ann/one"])
    assert "lost" in ls(people, "info", xet.text(xet.Xorb([BODY]).hash))
    assert "lost" not in ls(people, "info", people.hashes["ann/whole"])
    heal(people)
    assert ls(people, "ls", "--lost") == "" and "lost" not in ls(people, "info", people.hashes["ann/one"])


def test_a_page_after_the_other(people):
    lose(people)
    seen, after = [], ""
    while after is not None:
        page = people.server.get(f"/v1/files?lost=1&limit=1{after and '&after=' + after}", token=people.admin).json()
        seen += [f["hash"] for f in page["files"]]
        after = page["next"]
    assert sorted(seen) == sorted([people.hashes["ann/one"], people.hashes["bob/two"]])
    for wrong in ("lost=0", "lost=yes", "lost="):
        assert people.server.get(f"/v1/files?{wrong}", token=people.admin).status == 400


def test_lost_files_of_others_are_not_listed(people, issuer):
    """The token of a repository lists the lost files of that repository, and no others."""
    lose(people)
    token = issuer.token("read write", repo="models/ann/one")
    reply = people.server.get("/v1/files?lost=1", token=token)
    assert people.hashes["bob/two"].encode() not in reply.body
    assert people.server.get("/v1/files?lost=1&repo=models/bob/two", token=token).status == 403


def test_a_restart_knows(people):
    lose(people)
    people.server.stop()
    people.server.start()
    cairn.wait_until("the count of lost files", lambda: sums(people) == (2, 2))
    heal(people)


def test_bytes_that_come_back_by_hand(people):
    """An operator puts the object back without an upload. The next read finds it."""
    at = people.server.object_of(xet.text(xet.Xorb([BODY]).hash))
    kept = at.read_bytes()
    lose(people)
    at.write_bytes(kept)
    assert people.ask("GET", "/ann/one/resolve/main/d/w.bin").body == BODY
    cairn.wait_until("the count after one file is back", lambda: sums(people) == (1, 1))
