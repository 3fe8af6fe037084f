"""Pages of models, datasets and spaces, requested as a browser without scripts does."""

import hashlib
import os
import random
import re
import struct
import urllib.parse

import cairn
import pytest
import visitors
import xet
from hub_calls import commit, deleted, done, make, make_key, stored, token_of, upload
from hub_calls import text as file
from visitors import HOSTILE, Visitor, form_of, is_away, parsed, people_of, rows, tensors, text, upload_chunks

KINDS = {"model": ("models", "/ann/one"), "dataset": ("datasets", "/datasets/ann/one"), "space": ("spaces", "/spaces/ann/one")}


def hrefs(page, start):
    return [link for link in visitors.links(page) if link.startswith(start)]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind(start, issuer, tmp_path, kind):
    people = people_of(start, issuer, tmp_path / "home")
    api, at = KINDS[kind]
    ann = Visitor(people.server).sign_in(people.keys["ann"])
    is_away(ann.send("/new", kind=kind, namespace="ann", name="one"), at)
    done(commit(people, file("README.md", "# Hello\n\n[a](sub/a.txt)"), file("sub/a.txt", "one\r\ntwo\n"), repo=f"{api}/ann/one", summary="the second"))
    card = ann.page(at)
    assert "Hello" in [text(h) for h in card.iter("h2")] and f"{at}/blob/main/sub/a.txt" in visitors.links(card)
    assert "hf download ann/one" in text(card) and ("--repo-type" in text(card)) == (kind != "model")
    assert "the second" in text(card)
    tree = ann.page(f"{at}/tree/main")
    assert [row[0] for row in rows(tree, "files")] == ["sub/", ".gitattributes", "README.md"]
    assert [row[0] for row in rows(ann.page(f"{at}/tree/main/sub"), "files")] == ["a.txt"]
    blob = ann.page(f"{at}/blob/main/sub/a.txt")
    assert "one\ntwo\n" in "".join(blob.itertext()) and hashlib.sha256(b"one\r\ntwo\n").hexdigest() in text(blob)
    assert ann.get(hrefs(blob, f"{at}/resolve")[0]).body == b"one\r\ntwo\n"
    assert [row[0] for row in rows(ann.page(f"{at}/commits/main"), "commits")] == ["the second", "initial commit"]
    assert "main" in text(ann.page(f"{at}/refs"))
    home = [row[0] for row in rows(ann.page("/"), "repos")]
    assert home == [f"ann/one {kind}"] and at in visitors.links(ann.page("/ann"))
    assert [row[0] for row in rows(ann.page(f"/?kind={kind}"), "repos")] == home
    assert rows(ann.page("/?kind=bucket"), "repos") == [] and rows(ann.page(f"/?kind={kind}&q=none"), "repos") == []


def test_private_looks_absent(people, enter):  # noqa: F811
    make(people, "ann/secret", private=True)
    oid = done(commit(people, file("f.txt", "x"), repo="models/ann/secret"))

    def told(who, name, rest):
        reply = who.get(f"/ann/{name}{rest}", **{"X-Request-Id": "same"})
        return reply.status, [h for h in reply.headers.items() if h[0] not in ("Date", "Content-Length")], reply.body.replace(name.encode(), b"*")

    for who in (Visitor(people.server), enter("bob"), Visitor(people.server, Accept="*/*")):
        for rest in ("", "/settings", "/tree/main", "/tree/none", f"/tree/{oid}", "/blob/main/f.txt", "/commits/main", "/refs", f"/commit/{oid}", "/commit/main"):
            assert told(who, "secret", rest) == told(who, "absent", rest)
            assert told(who, "secret", rest)[0] == 404
    assert enter("bob").send("/ann/secret/settings", action="delete", confirm="ann/secret").status == 404
    assert "secret" not in text(Visitor(people.server).page("/ann")) and "secret" not in text(Visitor(people.server).page("/?kind=model"))
    assert enter("ann").get("/ann/secret/blob/main/f.txt").status == 200


def test_a_commit_of_another_repository(people, enter):  # noqa: F811
    """The id of a commit opens it only in its own repository."""
    make(people, "ann/secret", private=True)
    oid = done(commit(people, file("f.txt", "x"), repo="models/ann/secret"))
    for path in (f"/tree/{oid}", f"/blob/{oid}/f.txt", f"/commits/{oid}", f"/commit/{oid}", f"/tree/{oid[:8]}"):
        assert Visitor(people.server).get(f"/ann/one{path}").status == 404
        assert enter("ann").get(f"/ann/secret{path}").status == 200


def test_gated(people, enter):  # noqa: F811
    """Everybody sees that the repository exists; only members see what is in its files."""
    ann, bob, nobody = enter("ann"), enter("bob"), Visitor(people.server)
    done(commit(people, file("README.md", "the secret"), file("f.txt", "the secret")))
    is_away(ann.send("/ann/one/settings", action="visibility", visibility="gated"), "/ann/one/settings")
    for who in (bob, nobody):
        assert "gated" in text(who.page("/ann/one")) and "f.txt" in text(who.page("/ann/one/tree/main"))
        blob = who.page("/ann/one/blob/main/f.txt")
        assert not hrefs(blob, "/ann/one/resolve") and hashlib.sha256(b"the secret").hexdigest() not in text(blob)
        assert b"the secret" not in who.get("/ann/one").body + who.get("/ann/one/blob/main/f.txt").body
    assert "the secret" in text(ann.page("/ann/one")) and "the secret" in text(ann.page("/ann/one/blob/main/f.txt"))
    unseen, _ = upload(people, random.Random(5).randbytes(70_000))  # in no commit
    assert "ann/one" in text(ann.page(f"/search?q={unseen}").find(".//main"))
    assert all("ann/one" not in text(who.page(f"/search?q={unseen}").find(".//main")) for who in (bob, nobody))
    is_away(ann.send("/ann/one/settings", action="visibility", visibility="public"), "/ann/one/settings")
    assert "the secret" in text(nobody.page("/ann/one"))


def test_revisions(people, enter):  # noqa: F811
    ann = enter("ann")
    first = done(commit(people, file("a/b.txt", "old")))
    assert people.ask("POST", "/api/models/ann/one/branch/feat%2Fx", body={}).status == 200
    assert people.ask("POST", "/api/models/ann/one/tag/main", body={"tag": "v1"}).status == 200
    second = done(commit(people, file("a/b.txt", "new")))
    for revision in ("feat/x", "feat%2Fx", "v1", first, first[:10], "refs%2Fheads%2Ffeat%2Fx"):
        tree = ann.page(f"/ann/one/tree/{revision}/a")
        assert "old" in "".join(ann.page(hrefs(tree, "/ann/one/blob/")[0]).itertext()), revision
    assert "new" in "".join(ann.page(f"/ann/one/blob/{second}/a/b.txt").itertext())
    menu = ann.page("/ann/one/tree/v1")
    assert {"/ann/one/tree/main", "/ann/one/tree/feat/x", "/ann/one/tree/v1"} <= set(visitors.links(menu))
    assert len(rows(ann.page("/ann/one/commits/v1"), "commits")) == 2 and len(rows(ann.page("/ann/one/commits/main"), "commits")) == 3
    is_away(ann.get("/ann/one/tree/main/a/b.txt"), "/ann/one/blob/main/a/b.txt")
    for path in ("/tree/none", "/blob/main/none", "/tree/main/none", "/commits/none", "/commits/main/c", "/commits/main?skip=3", "/commits/main?skip=x1", "/tree/%ff", "/tree/a%zz"):
        assert ann.get("/ann/one" + path).status == (200 if "x1" in path else 404), path


def test_deleted(people, enter):  # noqa: F811
    done(commit(people, file("a.txt", "x")))
    done(commit(people, deleted("a.txt"), deleted(".gitattributes")))
    page = enter("ann").page("/ann/one/tree/main")
    assert "Nothing is here" in text(page)


def test_stored_files(people, enter):  # noqa: F811
    data, table = os.urandom(100_000), b"a,b\n" + b"1,2\n" * 20_000
    files = {"weights.bin": data, "table.txt": table}
    done(commit(people, *(stored(path, upload(people, body)[0], len(body)) for path, body in files.items())))
    for path, body in files.items():
        page = enter("ann").page(f"/ann/one/blob/main/{path}")
        assert hashlib.sha256(body).hexdigest() in text(page)
        assert ("not text that can" in text(page)) == (path == "weights.bin")
    shown = int(re.search(r"the first (\d+) bytes", text(page))[1])
    (code,) = (node for node in page.iter("code") if node.text and node.text.startswith("a,b"))
    assert 15_000 < shown < 32_768 and code.text.rstrip("\n").encode() == table[:shown].rstrip(b"\n")


LONG = b"a,b\n" + b"1,2\n" * 20_000


def stands_without(ann, why):
    """Checks the pages of a repository whose README has lost its bytes: those of the repository and of the file say why, the others work."""
    for path in ("", "/blob/main/README.md"):
        said = text(ann.page("/ann/one" + path))
        assert why in said and "a,b" not in said, (path, said)
    for path in ("/tree/main", "/commits/main", "/refs"):
        assert ann.get("/ann/one" + path).status == 200


def test_bytes_that_were_deleted(people, enter, issuer):  # noqa: F811
    sha256, hash_ = upload(people, LONG)
    done(commit(people, stored("README.md", sha256, len(LONG))))
    assert "a,b" in text(enter("ann").page("/ann/one"))
    people.server.request("DELETE", f"/v1/files/{hash_}", token=issuer.token("admin"))
    stands_without(enter("ann"), "bytes of this file are not here")


@pytest.mark.files
@pytest.mark.parametrize("lose", ["damaged", "gone"])
def test_bytes_that_cannot_be_read(people, enter, lose):  # noqa: F811
    """The page is shown, and says so. The log has the cause, under the id of the request."""
    done(commit(people, stored("README.md", upload(people, LONG)[0], len(LONG))))
    for path in people.server.objects():
        if lose == "gone":
            path.unlink()
        else:
            path.chmod(0o600)
            path.write_bytes(bytes(b ^ 255 if 100 <= i < 200 else b for i, b in enumerate(path.read_bytes())))
    ann = enter("ann")
    stands_without(ann, "is lost")
    assert ann.get("/ann/one", **{"X-Request-Id": "find-me"}).status == 200
    cairn.wait_until("the log", lambda: any("find-me" in line and "request_failed" in line for line in people.server.log().splitlines()))


def test_long_paths(people, enter):  # noqa: F811
    ann = enter("ann")
    for path in ("/".join(["k" * 100] * 9), "/".join(["\u00e9" * 100] * 5), "/".join(["k"] * 60)):
        done(commit(people, file(path, "x")))
        at = urllib.parse.quote(path)
        is_away(ann.get(f"/ann/one/tree/main/{at}"), f"/ann/one/blob/main/{at}")
        folder = at.rpartition("/")[0]
        is_away(ann.get(f"/ann/one/blob/main/{folder}"), f"/ann/one/tree/main/{folder}")
        assert ann.get(f"/ann/one/blob/main/{at}").status == 200 and ann.get(f"/ann/one/tree/main/{folder}").status == 200


def test_links_to_folders(people, enter):  # noqa: F811
    done(commit(people, file("README.md", "[a](sub) [b](sub/)"), file("sub/a.txt", "x")))
    ann = enter("ann")
    for link in hrefs(ann.page("/ann/one"), "/ann/one/blob/main/sub"):
        is_away(ann.get(link), "/ann/one/tree/main/sub")
    is_away(ann.get("/ann/one/blob/main"), "/ann/one/tree/main")


def test_a_long_readme_is_cut_and_says_so(people, enter):  # noqa: F811
    body = b"word " * 20_000
    done(commit(people, stored("README.md", upload(people, body)[0], len(body))))
    page = enter("ann").page("/ann/one")
    assert "first 65536 bytes" in text(page) and "/ann/one/blob/main/README.md" in visitors.links(page)


def test_many_refs(people, enter):  # noqa: F811
    """Each branch and tag is on exactly one page, and no page is large."""
    names = [f"{i:03d}{'x' * 200}" for i in range(130)]
    for name in names:
        assert people.ask("POST", f"/api/models/ann/one/branch/{name}", body={}).status == 200
    assert people.ask("POST", "/api/models/ann/one/tag/main", body={"tag": "v1"}).status == 200
    ann, at, seen = enter("ann"), "/ann/one/refs", []
    while at:
        assert len(ann.get(at).body) < 50_000
        page = ann.page(at)
        seen += [text(row.find("th")) for table in page.iter("table") for row in table.find("tbody")]
        more = [link for link in hrefs(page, "?skip=") if link not in at and int(link[6:]) == len(seen)]
        at = more and "/ann/one/refs" + more[0]
    assert seen == [*names, "main", "v1"]
    assert ann.get("/ann/one/refs?skip=132").status == 404 and ann.get("/ann/one/refs?skip=0").status == 200


def test_hostile_names(people, enter):  # noqa: F811
    done(commit(people, *(file(f"{name}/{name}", name) for name in HOSTILE)))
    ann = enter("ann")
    folders, blobs = ["/ann/one/tree/main"], []
    for folder in folders:
        page = ann.page(folder).find(".//table")
        folders += hrefs(page, folder + "/")
        blobs += hrefs(page, "/ann/one/blob/main/")
    assert len(blobs) == len(HOSTILE) + 1
    for blob in blobs:
        reply = ann.get(blob)
        assert reply.status == 200, blob
        parsed(reply)
        assert b"<script>" not in reply.body and b"<img" not in reply.body and "\u202e".encode() not in reply.body
    hostile = '<script>alert(1)</script> [a](javascript:alert(1)) <img src=x onerror=alert(1)> ![](data:text/html,x) <b>\n\n<div onclick="x">\n'
    done(commit(people, file("README.md", hostile), summary='"><img src=x>', description="<script>"))
    for path in ("/ann/one", "/ann/one/commits/main", "/ann/one/tree/main"):
        reply = ann.get(path)
        parsed(reply)
        assert b"<img" not in reply.body and b"javascript:" not in reply.body.replace(b"(javascript:", b"") and b"<b>" not in reply.body


def test_lists_go_on(people, enter):  # noqa: F811
    """Each file of a folder is on exactly one page. With long names a page has fewer files."""
    names = [f"{i:03d}-{'x' * 200}" for i in range(150)]
    done(commit(people, *(file(f"many/{name}", "x") for name in names)))
    ann, at, seen = enter("ann"), "/ann/one/tree/main/many", []
    while at:
        assert len(ann.get(at).body) < 50_000
        page = ann.page(at)
        seen += [row[0] for row in rows(page, "files")]
        more = hrefs(page, "?after=")
        at = more and "/ann/one/tree/main/many" + more[0]
    assert seen == names
    for i in range(60):
        done(commit(people, file("n", str(i)), summary=f"number {i}"))
    first = rows(ann.page("/ann/one/commits/main"), "commits")
    second = rows(ann.page("/ann/one/commits/main?skip=50"), "commits")
    assert len(first) == 50 and len(second) == 12 and first[0][0] == "number 59" and second[-1][0] == "initial commit"


def test_settings(people, enter):  # noqa: F811
    ann, at = enter("ann"), "/ann/one/settings"
    for who in ("bob", "reading ann"):
        assert enter(who).get(at).status == 403 and enter(who).send(at, action="visibility", visibility="private").status == 403
    is_away(ann.send(at, action="visibility", visibility="private"), at)
    assert Visitor(people.server).get("/ann/one").status == 404
    assert ann.send(at, origin="http://evil.example", action="delete", confirm="ann/one").status == 403
    is_away(ann.send(at, action="move", namespace="team", name="moved"), "/team/moved/settings")
    assert "moved" in text(ann.page("/ann/one")), "the former name leads to the repository, too"
    assert ann.send("/team/moved/settings", action="delete", confirm="ann/one").status == 403, "ann writes in the team, and is no admin"
    adam = enter("adam")
    assert adam.send("/team/moved/settings", action="delete", confirm="moved").status == 400
    is_away(adam.send("/team/moved/settings", action="delete", confirm="team/moved"), "/team")
    assert ann.get("/team/moved").status == 404


def test_names_that_no_account_can_have_are_not_found(people):
    """Names that no account can have are not looked up, whichever key is shown."""
    for path in ("/v1/nothing", "/admin/nothing", "/storage/nothing/settings"):
        cairn.is_error(people.server.get(path, token="not-a-key"), 404, "route.unknown")
    assert people.server.get("/ann/none").status == 404


def test_weight(people, enter):  # noqa: F811
    done(commit(people, *(file(f"a-rather-long-name-of-a-file-{i:04d}.json", "x" * 60_000 if i == 0 else "x") for i in range(150)), file("README.md", "word " * 4000)))
    ann = enter("ann")
    loads = [node.get("href") or node.get("src") for node in ann.page("/").iter() if node.tag in ("link", "script")]
    assets = sum(len(ann.get(path).body) for path in loads)
    for path in ("", "/tree/main", "/commits/main", "/refs", "/settings", "/blob/main/a-rather-long-name-of-a-file-0000.json"):
        assert assets + len(ann.get("/ann/one" + path).body) < 60_000, path


def changes(page):
    return {row[0]: row[1] for row in rows(page, "changes")}


def lines_of(page):
    """{path: the lines that the page shows}"""
    return {text(s.find("h3")): "".join(s.find("pre").itertext()).splitlines() for s in page.iter("section") if s.get("class") == "diff"}


def test_a_commit(people, enter):  # noqa: F811
    """The page of a commit shows added, removed and changed files, with their lines. Each commit of a branch has a page, the first one too."""
    ann, many = enter("ann"), "".join(f"{i}\n" for i in range(30))
    first = done(commit(people, file("a.txt", "one\ntwo\n"), file("deep/er/b.txt", many), file("gone.txt", "x"), file("same/c.txt", "c"), summary="first"))
    second = done(commit(people, file("a.txt", "one\n<b>2</b>\n"), file("deep/er/b.txt", many.replace("15\n", "")), deleted("gone.txt"), file("new", "n"), summary="second", description="why\nand how"))
    page = ann.page(f"/ann/one/commit/{second}")
    assert changes(page) == {"a.txt": "changed", "deep/er/b.txt": "changed", "gone.txt": "removed", "new": "added"}
    assert "why and how" in text(page) and f"/ann/one/commit/{first}" in visitors.links(page) and f"/ann/one/tree/{second}" in visitors.links(page)
    assert lines_of(page) == {
        "a.txt": [" one", "-two", "+<b>2</b>"],
        "deep/er/b.txt": ["Line 13", " 12", " 13", " 14", "-15", " 16", " 17", " 18"],
        "gone.txt": ["-x"],
        "new": ["+n"],
    }
    for link in hrefs(page, "/ann/one/blob/"):
        assert ann.get(link).status == 200, link
    assert hrefs(page, f"/ann/one/blob/{first}/gone.txt")
    start = rows(ann.page("/ann/one/commits/main"), "commits")[-1]
    begun = next(link for link in reversed(hrefs(ann.page("/ann/one/commits/main"), "/ann/one/commit/")))
    assert start[0] == "initial commit" and changes(ann.page(begun)) == {".gitattributes": "added"} and "the first one" in text(ann.page(begun))
    assert text(ann.page("/ann/one/commit/main")) == text(page) and ann.get(f"/ann/one/commit/{second[:8]}").status == 200
    for wrong in ("none", f"{second}/a.txt", f"{second}?skip=4", "%ff"):
        assert ann.get(f"/ann/one/commit/{wrong}").status == 404, wrong


def test_a_commit_between_files_and_folders(people, enter):  # noqa: F811
    ann = enter("ann")
    done(commit(people, file("a", "x"), file("b/c", "x"), file("b/d", "x")))
    oid = done(commit(people, deleted("a"), deleted("b", "deletedFolder")))
    assert changes(ann.page(f"/ann/one/commit/{oid}")) == {"a": "removed", "b/c": "removed", "b/d": "removed"}
    oid = done(commit(people, file("a/a", "x"), file("b", "x")))
    assert changes(ann.page(f"/ann/one/commit/{oid}")) == {"a/a": "added", "b": "added"}
    data = os.urandom(100_000)
    oid = done(commit(people, stored("w.bin", upload(people, data)[0], len(data))))
    page = ann.page(f"/ann/one/commit/{oid}")
    assert rows(page, "changes") == [["w.bin", "added", "–", "100 kB", "+100 kB", "100 kB"]] and lines_of(page) == {}


def test_a_commit_after_a_squash(people, enter):  # noqa: F811
    done(commit(people, file("a", "x")))
    assert people.ask("POST", "/api/models/ann/one/super-squash/main", body={}).status == 200
    page = enter("ann").page("/ann/one/commit/main")
    assert changes(page) == {".gitattributes": "added", "a": "added"} and "the first one" in text(page)


def test_a_large_commit(people, enter):  # noqa: F811
    """Each file of the commit is on exactly one page, and no page is large."""
    paths = [f"{i % 3}/{i:04d}-{'x' * 100}" for i in range(900)]
    oid = done(commit(people, *(file(path, f"{i}\n" * 2000 if i < 9 else "x") for i, path in enumerate(paths))))
    ann, at, seen = enter("ann"), f"/ann/one/commit/{oid}", []
    while at:
        assert len(ann.get(at).body) < 50_000, at
        page = ann.page(at)
        seen += [row[0] for row in rows(page, "changes")]
        more = [link for link in hrefs(page, "?skip=") if int(link[6:]) == len(seen)]
        at = more and f"/ann/one/commit/{oid}{more[0]}"
    assert seen == sorted(paths)
    oid = done(commit(people, *(file(f"m/{i:04d}", "y") for i in range(1100))))
    assert "1,000 files and more" in text(ann.page(f"/ann/one/commit/{oid}"))


def test_lines_of_a_gated_repository_are_not_shown(people, enter):  # noqa: F811
    oid = done(commit(people, file("f.txt", "the secret")))
    is_away(enter("ann").send("/ann/one/settings", action="visibility", visibility="gated"), "/ann/one/settings")
    assert "the secret" in text(enter("ann").page(f"/ann/one/commit/{oid}"))
    for who in (Visitor(people.server), enter("bob")):
        page = who.page(f"/ann/one/commit/{oid}")
        assert changes(page) == {"f.txt": "added"} and "the secret" not in text(page)


def named(page):
    return [text(row.find("th")) for table in page.iter("table") for row in table.find("tbody")]


def test_branches_and_tags_by_form(people, enter):  # noqa: F811
    ann, at = enter("ann"), "/ann/one/refs"
    first = done(commit(people, file("f", "1")))
    done(commit(people, file("f", "2")))
    is_away(ann.send(at, action="add", kind="branch", name="feat/x", start=first[:10]), at)
    is_away(ann.send(at, action="add", kind="tag", name="v1", start="feat/x"), at)
    is_away(ann.send(at, action="add", kind="branch", name="more"), at)
    assert named(ann.page(at)) == ["feat/x", "main", "more", "v1"]
    assert "1" in lines_of_blob(ann, "feat/x") and "1" in lines_of_blob(ann, "v1") and "2" in lines_of_blob(ann, "more")
    for status, fields in (
        (409, {"action": "add", "kind": "branch", "name": "more"}),
        (400, {"action": "add", "kind": "branch", "name": "a..b"}),
        (400, {"action": "add", "kind": "tag", "name": "v2", "start": "none"}),
        (403, {"action": "drop", "kind": "branch", "name": "main"}),
        (400, {"action": "drop", "kind": "tag", "name": "feat/x"}),
        (400, {"action": "rename"}),
    ):
        reply = ann.send(at, **fields)
        assert reply.status == status and "alert" in [n.get("role") for n in parsed(reply).iter()], fields
    is_away(ann.send(at, action="drop", kind="branch", name="feat/x"), at)
    is_away(ann.send(at, action="drop", kind="tag", name="v1"), at)
    assert named(ann.page(at)) == ["main", "more"]


def lines_of_blob(ann, revision):
    return text(ann.page(f"/ann/one/blob/{revision}/f"))


def test_only_writers_make_branches(people, enter):  # noqa: F811
    """Others see no form. They are refused as in a repository that they may not write, or that does not exist if it is private."""
    make(people, "ann/secret", private=True)
    for who, name, status in (("bob", "one", 403), ("reading ann", "one", 403), ("bob", "secret", 404), ("bob", "absent", 404)):
        visitor = enter(who)
        for action in ("add", "drop"):
            assert visitor.send(f"/ann/{name}/refs", action=action, kind="branch", name="x").status == status, (who, name)
    assert Visitor(people.server).send("/ann/one/refs", action="add", kind="branch", name="x").status == 403
    assert "New branch" not in text(enter("bob").page("/ann/one/refs")) and "New branch" in text(enter("ann").page("/ann/one/refs"))
    assert enter("ann").send("/ann/one/refs", origin="http://evil.example", action="add", kind="branch", name="x").status == 403
    assert named(enter("ann").page("/ann/one/refs")) == ["main"]


def put_tensors(people, body):
    done(commit(people, stored("m.safetensors", upload_chunks(people, body), len(body))))


def test_tensors(people, enter):  # noqa: F811
    put_tensors(people, tensors(**{"a.<b>": {"dtype": "F32", "shape": [2, 300], "data_offsets": [0, 2400]}, "c": {"dtype": "BF16", "shape": [], "data_offsets": [2400, 2402]}}) + bytes(2402))
    page = enter("ann").page("/ann/one/blob/main/m.safetensors")
    assert rows(page, "tensors") == [["a.<b>", "F32", "2 × 300", "600"], ["c", "BF16", "", "1"]]
    assert "601" in text(page) and "Of them F32" in text(page)


def test_parameters_of_a_model_in_several_files(people, enter):  # noqa: F811
    """The page adds up the tensors of all model files in the top folder. It also shows the lines for Git LFS."""
    at = "/ann/one"
    assert "Parameters" not in text(enter("ann").page(at))
    for i, (type_, n) in enumerate((("F32", 4), ("BF16", 2), ("F32", 4))):
        body = tensors(**{f"l{i}": {"dtype": type_, "shape": [10 + i], "data_offsets": [0, (10 + i) * n]}}) + bytes((10 + i) * n)
        done(commit(people, stored(f"m-{i}.safetensors", upload_chunks(people, body), len(body))))
    for name, body in (("x.safetensors", b"no head at all, but some more bytes"), ("sub/m.safetensors", body)):
        done(commit(people, stored(name, upload_chunks(people, body), len(body))))
    page = text(enter("ann").page(at))
    assert "Parameters33Tensors3Of them F3222Of them BF1611" in page
    assert f"url = {people.server.url}/ann/one.git/info/lfs" in page
    is_away(enter("ann").send("/ann/one/settings", action="visibility", visibility="gated"), "/ann/one/settings")
    assert "Parameters" not in text(enter("bob").page(at))


def test_many_tensors_make_no_heavy_page(people, enter):  # noqa: F811
    parts = {f"layer.{i}.{'x' * 200}": {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i in range(3000)}
    put_tensors(people, tensors(**parts) + bytes(3000))
    reply = enter("ann").get("/ann/one/blob/main/m.safetensors")
    assert len(reply.body) < 45_000 and len(rows(parsed(reply), "tensors")) > 20 and "3,000" in text(parsed(reply)) and "more." in text(parsed(reply))


@pytest.mark.parametrize("body, why", [(tensors(a=1), "tensor was expected"), (b"\xff" * 64, "length of a head"), (tensors() + b"x" * 2_000_000, "Parameters"), (struct.pack("<Q", 2_000_000) + b" " * 2_000_000, "longer than")], ids=["no tensor", "no head", "none", "long"])
def test_odd_tensors(people, enter, body, why):  # noqa: F811
    put_tensors(people, body)
    assert why in text(enter("ann").page("/ann/one/blob/main/m.safetensors"))


def found(visitor, hash_):
    """{(where, what)} of the results."""
    return {tuple(row[:2]) for row in rows(visitor.page(f"/search?q={hash_}"), "found")}


def test_search_by_hash(people, enter):  # noqa: F811
    """People who may see a file find it by its hash, SHA-256, xorb, chunk or commit. Nobody else finds it."""
    ann, bob, nobody, data = enter("ann"), enter("bob"), Visitor(people.server), os.urandom(9000)
    make(people, "ann/secret", private=True)
    for repo in ("ann/one", "ann/secret"):
        sha256, hash_ = upload(people, data, f"models/{repo}")
        oid = done(commit(people, stored("a/w.bin", sha256, len(data)), repo=f"models/{repo}", summary=repo))
    xorb = xet.Xorb([data])
    where = {"ann/one": "ann/one a/w.bin model", "ann/secret": "ann/secret a/w.bin model"}
    for what, text_ in (("SHA-256 of", sha256), ("Xet hash of", hash_), ("Xorb with bytes of", xet.text(xorb.hash)), ("Chunk in a xorb with bytes of", xet.text(xet.chunk_hash(data)))):
        open_, all_ = {(where["ann/one"], what)}, {(place, what) for place in where.values()}
        assert {f for f in found(ann, text_) if f[1] == what} == all_ and all_ & found(bob, text_) == open_ == all_ & found(nobody, text_), what
        assert found(ann, text_.upper()) == found(ann, text_)
    assert found(ann, oid) == found(ann, oid[:7]) == {("ann/secret model", "Commit")} and found(bob, oid) == found(nobody, oid) == set()
    assert "/ann/one/blob/main/a/w.bin" in visitors.links(nobody.page(f"/search?q={sha256}"))
    is_away(nobody.get(f"/?q={sha256}"), f"/search?q={sha256}")
    done(commit(people, deleted("a/w.bin")))
    assert [w for w in found(nobody, hash_) if w[0] == "ann/one model" and "main has no more" in w[1]]
    absent = os.urandom(32).hex()
    said = [nobody.get(f"/search?q={q}").body.replace(q.encode(), b"*") for q in (oid, absent[:40])]
    assert said[0] == said[1], "a private thing looks like one that does not exist"
    for other in ("x", "abc", "a" * 41, "a" * 65, "<script>", "a" * 64 + " b"):  # looked up as a part of a path (test_pages_paths.py)
        assert rows(nobody.page("/search?q=" + urllib.parse.quote(other, safe="%")), "found") == [], other
    assert rows(nobody.page("/search"), "found") == [] and nobody.get(f"/search?q=+{sha256}+").status == 200


def test_search_for_a_chunk_of_a_private_repository(people, enter):  # noqa: F811
    """The chunk is in the dedupe scope of one of several private repositories."""
    make(people, "ann/secret", private=True)
    make(people, "ann/other", private=True)
    data = os.urandom(9000)
    for repo, body in (("ann/secret", data), ("ann/other", os.urandom(9000))):
        sha256, _ = upload(people, body, f"models/{repo}")
        done(commit(people, stored("w.bin", sha256, len(body)), repo=f"models/{repo}"))
    chunk = xet.text(xet.chunk_hash(data))
    assert ("ann/secret w.bin model", "Chunk in a xorb with bytes of") in found(enter("ann"), chunk)
    assert {place for place, _ in found(enter("ann"), chunk)} == {"ann/secret w.bin model"} and found(enter("bob"), chunk) == set()


def test_search_in_buckets_and_behind_gates(people, enter):  # noqa: F811
    ann, nobody = enter("ann"), Visitor(people.server)
    people.make("ann/data")
    hash_ = people.put("ann/data", "x/y.bin", b"y" * 500)
    is_away(ann.send("/ann/one/settings", action="visibility", visibility="gated"), "/ann/one/settings")
    sha256, gated = upload(people, b"z" * 900)
    done(commit(people, stored("z.bin", sha256, 900)))
    assert ("ann/data x/y.bin bucket", "Xet hash of") in found(nobody, hash_)
    chunk = xet.text(xet.chunk_hash(b"z" * 900))
    assert ("ann/one z.bin model", "Xet hash of") in found(nobody, gated) and found(nobody, chunk) == set() != found(ann, chunk)


def put_bytes(people, repo, path, body, who="ann"):
    """Uploads a file in chunks of 1,000 bytes."""
    done(commit(people, stored(path, upload_chunks(people, body, f"models/{repo}", who, 1000), len(body)), repo=f"models/{repo}", who=who))


def shares(visitor, path):
    return {row[0]: row[2] for row in rows(visitor.page(path), "chunks")}


def bar(visitor, path):
    return [(field.get("class"), field.get("width")) for node in visitor.page(path).iter() if node.get("class") == "room" for field in node]


def test_chunk_map(people, enter):  # noqa: F811
    """A file is compared only with files that the reader may read. Others do not learn that more files share its chunks."""
    ann, bob = enter("ann"), enter("bob")
    for name, private in (("base", False), ("secret", True)):
        make(people, f"ann/{name}", private=private)
    body = os.urandom(10_000)
    put_bytes(people, "ann/one", "w.bin", body)
    assert shares(bob, "/ann/one/blob/main/w.bin") == {"Only here": "10.0 kB"}
    put_bytes(people, "ann/secret", "s.bin", body)
    at = "/ann/one/blob/main/w.bin"
    assert shares(bob, at) == {"Only here": "10.0 kB"} and "compared with 0 other files" in text(bob.page(at))
    assert shares(ann, at) == {"Only here": "0 B", "Shared with ann/secret": "10.0 kB"}
    assert [mark for mark, width in bar(bob, at)] == ["m0"]


def test_chunk_map_of_parts(people, enter):  # noqa: F811
    """A file has the first chunks of another file of its own repository."""
    token = token_of(people.ask("GET", "/api/models/ann/one/xet-write-token/main"))
    pieces = [os.urandom(1000) for _ in range(10)]
    xorb, made = xet.Xorb(pieces), []
    assert people.server.put_xorb(xorb, token=token).status == 200
    for last in (10, 4, 2):
        body = b"".join(pieces[:last])
        made.append(xet.File([(xorb, 0, last)], xet.raw(hashlib.sha256(body).hexdigest())))
        assert people.server.post("/v1/shards", xet.shard([made[-1]], [xorb]), token=token).status == 200
        done(commit(people, stored(f"{last}.bin", hashlib.sha256(body).hexdigest(), len(body))))
    ann = enter("ann")
    assert shares(ann, "/ann/one/blob/main/10.bin") == {"Only here": "6.0 kB", "Shared with other files of this repository": "4.0 kB"}
    assert bar(ann, "/ann/one/blob/main/10.bin") == [("m1", "400.0"), ("m0", "600.0")]
    assert shares(ann, "/ann/one/blob/main/2.bin") == {"Only here": "0 B", "Shared with other files of this repository": "2.0 kB"}
    people.make("ann/data")
    hash_ = people.put("ann/data", "b.bin", b"q" * 5000)
    assert shares(ann, "/buckets/ann/data/tree/b.bin") == {"Only here": "5.0 kB"} and hash_


def put_pieces(people, repo, *lists):
    """Uploads files made of numbered pieces. Each piece is once in one of two xorbs. @return (SHA-256, size) of each file"""
    pieces = [random.Random(i).randbytes(700 + 10 * i) for i in range(20)]
    xorbs = [xet.Xorb(pieces[:12]), xet.Xorb(pieces[12:])]
    token, made = token_of(people.ask("GET", f"/api/{repo}/xet-write-token/main")), []
    for xorb in xorbs:
        assert people.server.put_xorb(xorb, token=token).status == 200
    for numbers in lists:
        body = b"".join(pieces[n] for n in numbers)
        terms = [(xorbs[n >= 12], n % 12, n % 12 + 1) for n in numbers]
        joined = []
        for xorb, start, end in terms:  # join neighbours into one term
            if joined and joined[-1][0] is xorb and joined[-1][2] == start:
                joined[-1] = (xorb, joined[-1][1], end)
            else:
                joined.append((xorb, start, end))
        sha256 = hashlib.sha256(body).hexdigest()
        assert people.server.post("/v1/shards", xet.shard([xet.File(joined, xet.raw(sha256))], xorbs), token=token).status == 200
        made.append((sha256, len(body)))
    return made


def lengths(numbers):
    return sum(700 + 10 * n for n in numbers)


def shown_size(n):
    return f"{n} B" if n < 1000 else f"{n / 1000:.1f} kB"


def test_new_bytes_of_a_commit(people, enter):  # noqa: F811
    """Changes random files at random. Of each file in a commit, the page shows as new the bytes that neither the former commit nor a file above it in the
    list had."""
    ann, source, tree = enter("ann"), random.Random(3), {}
    for _ in range(8):
        before, operations = {n for numbers in tree.values() for n in numbers}, []
        changed = source.sample(["a.bin", "b.bin", "c.bin", "d.bin"], source.randrange(1, 4))
        for path in sorted(changed):
            if path in tree and source.random() < 0.3:
                del tree[path]
                operations.append(deleted(path))
                continue
            first = source.randrange(20)
            numbers = [*range(first, source.randrange(first, 20) + 1), *source.sample(range(20), 2)]
            if numbers == tree.get(path):
                continue
            tree[path] = numbers
            ((sha256, size),) = put_pieces(people, "models/ann/one", numbers)
            operations.append(stored(path, sha256, size))
        done(commit(people, *operations))
        page = ann.page("/ann/one/commit/main")
        told = {row[0]: row[-1] for row in rows(page, "changes")}
        expected, all_new = {}, 0
        for path in sorted(told):
            new = set(tree.get(path, ())) - before
            expected[path] = shown_size(lengths(new)) if path in tree else "–"
            before |= new
            all_new += lengths(new)
        assert told == expected
        assert f"{shown_size(all_new)} are new" in text(page)


def test_new_text_of_a_commit(people, enter):  # noqa: F811
    """Text in the index counts as new as a whole and once, unless it is a copy of an older text. The page shows no numbers to people who may not read the
    repository."""
    done(commit(people, file("a", "one\n")))
    done(commit(people, file("b", "one\n"), file("c", "two, and more\n"), file("d", "two, and more\n"), deleted("a")))
    told = {row[0]: row[-1] for row in rows(enter("ann").page("/ann/one/commit/main"), "changes")}
    assert told == {"a": "–", "b": "0 B", "c": "14 B", "d": "0 B"}
    is_away(enter("ann").send("/ann/one/settings", action="visibility", visibility="gated"), "/ann/one/settings")
    assert {row[-1] for row in rows(enter("bob").page("/ann/one/commit/main"), "changes")} == {"–"}


def test_a_commit_names_the_files_that_had_its_bytes(people, enter):  # noqa: F811
    """For each file, the page names the file of the commit before that has most of its bytes. Of several, it is the file itself, else the first."""
    ann = enter("ann")

    def put(tree, *gone):
        made = put_pieces(people, "models/ann/one", *tree.values())
        done(commit(people, *(deleted(path) for path in gone), *(stored(path, *one) for path, one in zip(tree, made))))
        return {row[0]: (row[1], row[2]) for row in rows(ann.page("/ann/one/commit/main"), "old")}

    def part(old, numbers):
        return f"{lengths(old) * 100 // lengths(numbers)} %"

    assert put({"a.bin": [0, 1, 2, 3], "b.bin": [4, 5, 12, 13]}) == {}
    told = put({"a.bin": [0, 1, 2, 6], "c.bin": [1, 4, 5, 7], "d.bin": [8, 9], "e.bin": [0, 1, 2, 3]})
    assert {path: source for path, (source, _) in told.items()} == {"a.bin": "the same file", "c.bin": "b.bin", "e.bin": "a.bin"}
    assert told["e.bin"][1] == "100 %" and abs(int(told["a.bin"][1][:-2]) - int(part([0, 1, 2], [0, 1, 2, 6])[:-2])) <= 1
    assert put({"moved.bin": [8, 9]}, "d.bin") == {"moved.bin": ("d.bin", "100 %")}
    assert put({"e.bin": [1, 2], "f.bin": [1, 2]})["e.bin"] == ("the same file", "100 %")
    done(commit(people, file("one.txt", "some text\n")))
    done(commit(people, deleted("one.txt"), file("two.txt", "some text\n"), file("three.txt", "some\n")))
    page = ann.page("/ann/one/commit/main")
    assert rows(page, "old") == [["two.txt", "one.txt", "100 %"]]
    (source,) = [link for link in visitors.links(page) if link.endswith("/one.txt") and "/blob/" in link][-1:]
    assert ann.get(source.replace("/blob/", "/resolve/")).body == b"some text\n"
    is_away(ann.send("/ann/one/settings", action="visibility", visibility="gated"), "/ann/one/settings")
    assert rows(enter("bob").page("/ann/one/commit/main"), "old") == []


def takes(visitor, path="/ann/one/storage"):
    return {row[0].split(":")[0]: tuple(row[1:]) for row in rows(visitor.page(path), "bytes")}


def test_storage_of_a_repository_by_branches_and_history(people, enter):  # noqa: F811
    """A repository with random versions of a file, a branch, and an upload without a commit. The page shows how much branches have, and how much only the
    past has."""
    ann, source, has = enter("ann"), random.Random(9), {}
    assert "no files in the store" in text(ann.page("/ann/one/storage"))
    for i in range(5):
        numbers = sorted(source.sample(range(20), 6))
        ((sha256, size),) = put_pieces(people, "models/ann/one", numbers)
        has[tuple(numbers)] = size
        done(commit(people, stored("w.bin", sha256, size), stored("same.bin", sha256, size)))
        if i == 2:
            branched = numbers
            is_away(ann.send("/ann/one/refs", action="add", kind="branch", name="old", start="main"), "/ann/one/refs")
    never = sorted(source.sample(range(20), 8))
    ((_, has[tuple(never)]),) = put_pieces(people, "models/ann/one", never)
    named = {*branched, *numbers}
    past = {n for one in has for n in one} - named
    assert past, "only the past has some of the pieces"
    assert takes(ann) == {"Branches and tags, as they are now": ("2", shown_size(lengths(named))), "The past alone": (f"{len(has) - 2}", shown_size(lengths(past)))}
    page = ann.page("/ann/one/storage")
    assert f"As seen {shown_size(sum(has.values()))}; each chunk counted once, {shown_size(lengths(named | past))}." in text(page)
    assert [row[0] for row in rows(page, "largest")][:2] == ["same.bin", "w.bin (the same as one above: counted once)"]


def test_storage_figures_reveal_no_other_repository(people, enter, issuer):  # noqa: F811
    """Only the operator learns who else has the same bytes. The figures of the list count the repository's own chunks."""
    ann, bob, admin = enter("ann"), enter("bob"), issuer.token("admin")
    make(people, "bob/secret", who="bob", private=True)
    body = os.urandom(40_000)
    put_bytes(people, "ann/one", "w.bin", body)
    said = []
    for owners in (1, 2):
        if owners == 2:
            put_bytes(people, "bob/secret", "s.bin", body, who="bob")
        assert people.server.get("/v1/usage?fresh=true", token=admin).status == 200
        page = ann.page("/ann/one/storage")
        said.append((takes(ann), "For the operator" in text(page), [row[3] for row in rows(ann.page("/"), "repos") if row[0].startswith("ann/one")], re.search("on the disk ([^ ]+ .?B)", text(page))[1]))
    assert said[0] == said[1] and not said[0][1] and said[0][2] == [said[0][3]] != ["–"]
    operator = Visitor(people.server).sign_in(make_key(people.server, admin, scope="admin")["key"])
    assert "Deleting it frees" in text(operator.page("/ann/one/storage"))
    assert bob.get("/ann/one/storage").status == 200 and ann.get("/bob/secret/storage").status == ann.get("/bob/absent/storage").status == 404
    is_away(ann.send("/ann/one/settings", action="visibility", visibility="gated"), "/ann/one/settings")
    page = bob.page("/ann/one/storage")
    assert "gated" in text(page) and rows(page, "bytes") == rows(page, "largest") == []


def only_there(tree):
    """How many bytes of each folder and file are nowhere outside of it, computed in the simplest way. tree: {path: pieces} @return {path: bytes}"""
    told, paths = {}, {path[: i + 1] for path in tree for i, c in enumerate(path) if c == "/"} | set(tree)
    for path in paths:
        inside = {n for other, numbers in tree.items() if other == path or (path[-1] == "/" and other.startswith(path)) for n in numbers}
        outside = {n for other, numbers in tree.items() if not (other == path or (path[-1] == "/" and other.startswith(path))) for n in numbers}
        told[path] = lengths(inside - outside)
    return told


def test_storage_of_folders(people, enter):  # noqa: F811
    """Random files of pieces in folders. Each folder has the bytes that are nowhere outside of it; bytes of several folders count for the one around them."""
    ann, source = enter("ann"), random.Random(5)
    assert rows(ann.page("/ann/one/storage"), "folders") == []
    paths = ["a/x.bin", "a/y.bin", "a/sub/z.bin", "a.bin", "b/deep/er/still/w.bin", "b/v.bin"]
    for _ in range(3):
        tree = {}
        for path in paths:
            first = source.randrange(16)
            tree[path] = [*range(first, first + 4), *source.sample(range(20), 2)]
        made = put_pieces(people, "models/ann/one", *tree.values())
        done(commit(people, file("b/README.md", "short"), *(stored(path, *one) for path, one in zip(tree, made))))
        expected = sorted(((path, shown_size(n)) for path, n in only_there(tree).items() if n), key=lambda one: one[0])
        page = ann.page("/ann/one/storage")
        told = rows(page, "folders")
        assert sorted((row[0], row[2]) for row in told) == expected
        assert "/ann/one/tree/main/b/deep/er" in visitors.links(page) and "/ann/one/blob/main/a/x.bin" in visitors.links(page)
        (chart,) = [svg for svg in page.iter("{http://www.w3.org/2000/svg}svg") if svg.get("class") == "treemap"]
        titles = [text(t) for t in chart.iter("{http://www.w3.org/2000/svg}title")]
        assert f"b: {dict(expected)['b/']}" in titles and not any("w.bin" in title or "README" in title for title in titles)


def test_folders_are_not_told_of_a_gated_repository(people, enter):  # noqa: F811
    put_bytes(people, "ann/one", "a/w.bin", os.urandom(5000))
    assert [row[0] for row in rows(enter("bob").page("/ann/one/storage"), "folders")] == ["a/", "a/w.bin"]
    is_away(enter("ann").send("/ann/one/settings", action="visibility", visibility="gated"), "/ann/one/settings")
    assert rows(enter("bob").page("/ann/one/storage"), "folders") == []


def history(visitor, path):
    page = visitor.page(path)
    return [row[0] for row in rows(page, "history")], [link for link in visitors.links(page) if "/commits/" in link and link.endswith("f.txt")]


def test_history_of_a_path(people, enter):  # noqa: F811
    """The commits that changed the file, and no others. Each leads to the file as it was. The history ends where the file was added."""
    ann = enter("ann")
    done(commit(people, file("sub/f.txt", "gone"), summary="too early"))
    done(commit(people, deleted("sub/f.txt"), summary="away"))
    for i in range(4):
        done(commit(people, file("sub/f.txt", f"{i}"), summary=f"f {i}"))
        done(commit(people, file("sub/g.txt", f"{i}"), summary=f"g {i}"))
    assert people.ask("POST", "/api/models/ann/one/branch/side", body={"startingPoint": "main"}).status == 200
    done(commit(people, file("sub/f.txt", "on the side"), summary="side", revision="side"))
    assert "/ann/one/commits/main/sub/f.txt" in visitors.links(ann.page("/ann/one/blob/main/sub/f.txt"))
    assert history(ann, "/ann/one/commits/main/sub/f.txt")[0] == ["f 3", "f 2", "f 1", "f 0"]
    assert history(ann, "/ann/one/commits/side/sub/f.txt")[0] == ["side", "f 3", "f 2", "f 1", "f 0"]
    assert history(ann, "/ann/one/commits/main/sub")[0] == [f"{name} {i}" for i in (3, 2, 1, 0) for name in "gf"]
    page = ann.page("/ann/one/commits/main/sub/f.txt")
    assert [ann.get(link.replace("/blob/", "/resolve/")).body for link in hrefs(page, "/ann/one/blob/")] == [b"3", b"2", b"1", b"0"]
    for absent in ("sub/none", "none", "sub/f.txt/x"):
        assert ann.get(f"/ann/one/commits/main/{absent}").status == 404


def test_a_long_history_goes_on(people, enter):  # noqa: F811
    for i in range(60):
        done(commit(people, file("f.txt", f"{i}"), summary=f"{i}"))
    seen, at = [], "/ann/one/commits/main/f.txt"
    while at:
        told, more = history(enter("ann"), at)
        seen += told
        at = more[-1] if more and more[-1] != at and "main" not in more[-1] else None
    assert seen == [f"{i}" for i in reversed(range(60))]


def cells(visitor, path):
    page = visitor.page(path)
    (table,) = [t for t in page.iter("table") if t.get("id") == "rows"] or [None]
    return table is not None and [[text(cell) for cell in row] for part in ("thead", "tbody") for row in table.find(part)], text(page)


def test_first_rows_of_a_table(people, enter):  # noqa: F811
    ann = enter("ann")
    hostile = '"<script>alert(1)</script>","=cmd()|x","\u202egnp","' + "\U0001f600" * 30 + '"'
    done(commit(people, file("a.csv", f'name,"of ""it""",n,x\r\nann,"two\r\nlines",1.5,\r\n{hostile}\r\n'), file("b.TSV", "a;b\tc,d\n1\t2\n"), file("c.csv", "a;b\n1;2\n")))
    told, page = cells(ann, "/ann/one/blob/main/a.csv")
    assert told[:2] == [["name", 'of "it"', "n", "x"], ["ann", "two lines", "1.5", ""]] and "2 rows." in page
    assert told[2] == ["<script>alert(1)</script>", "=cmd()|x", "\ufffdgnp", "\U0001f600" * 15 + "…"]
    assert cells(ann, "/ann/one/blob/main/b.TSV")[0] == [["a;b", "c,d"], ["1", "2"]]
    assert cells(ann, "/ann/one/blob/main/c.csv")[0] == [["a", "b"], ["1", "2"]]


def test_tables_are_bounded(people, enter):  # noqa: F811
    """Tables that are long, wide, or both, are cut. A file that is not a table is shown as text."""
    ann = enter("ann")
    long = "a,b\n" + "".join(f"{i},x\n" for i in range(20_000))
    wide = ",".join(f"c{i}" for i in range(300)) + "\n" + ",".join("&" * 90 for _ in range(300)) + "\n"
    for path, body in (("long.csv", long), ("wide.csv", wide), ("one.csv", "a\nb\n"), ("cut.csv", 'a,"' + "b" * 40_000 + '"\n')):
        put_bytes(people, "ann/one", path, body.encode())
    told, page = cells(ann, "/ann/one/blob/main/long.csv")
    assert len(told) == 25 and told[-1] == ["23", "x"] and "The first 24 rows" in page
    told, page = cells(ann, "/ann/one/blob/main/wide.csv")
    assert [len(row) for row in told] == [12, 12] and "12 of 300 columns" in page and told[1][0] == "&" * 60 + "…"
    for path in ("one.csv", "cut.csv"):
        assert cells(ann, f"/ann/one/blob/main/{path}")[0] is False
    assert "a\nb\n" in "".join(ann.page("/ann/one/blob/main/one.csv").itertext())


def send_files(visitor, path, files, origin="own", body=None, **fields):
    headers = {"Content-Type": "multipart/form-data; boundary=7f", "Origin": visitor.server.url if origin == "own" else origin}
    return visitor.request("POST", path, body or form_of(files, **fields), **headers)


def test_upload_by_form(people, enter):  # noqa: F811
    """Text goes into the commit and other files into the store. Both come back as they were sent."""
    ann, at, data = enter("ann"), "/ann/one/upload/main", os.urandom(300_000)
    assert "/ann/one/upload/main" in visitors.links(ann.page("/ann/one/tree/main"))
    files = [("a.txt", b"one\ntwo\n"), ("w.bin", data), ("e", b""), ("model.safetensors", b"text, and a pointer all the same"), ("C:\\x\\b.txt", b"b")]
    is_away(send_files(ann, at, files, folder="sub/dir", title="By form"), "/ann/one/tree/main")
    for name, body in files:
        path = "sub/dir/" + name.rpartition("\\")[2]
        assert ann.get(f"/ann/one/resolve/main/{path}").body == body, path
    page = ann.page("/ann/one/commit/main")
    assert "By form" in text(page) and changes(page) == {f"sub/dir/{n}": "added" for n in ("a.txt", "b.txt", "e", "model.safetensors", "w.bin")}
    for name in ("w.bin", "model.safetensors"):
        assert "Xet hash" in text(ann.page(f"/ann/one/blob/main/sub/dir/{name}")), name
    assert people.ask("POST", "/api/models/ann/one/branch/feat%2Fx", body={}).status == 200
    is_away(send_files(ann, "/ann/one/upload/feat/x/sub", [("n", b"n")], folder="sub"), "/ann/one/tree/feat/x/sub")
    assert 'value="sub"' in ann.get("/ann/one/upload/feat/x/sub").body.decode() and ann.get("/ann/one/resolve/feat%2Fx/sub/n").body == b"n"


def test_uploads_that_are_refused(people, enter):  # noqa: F811
    ann, at = enter("ann"), "/ann/one/upload/main"
    head = text(ann.page("/ann/one/commit/main"))
    for status, files, fields in (
        (400, [], {}),
        (400, [("", b"")], {}),
        (400, [(".git", b"x")], {}),
        (400, [("a", b"x")], {"folder": "../b"}),
        (400, [("a", b"x")], {"folder": "f" * 2000}),
        (400, [(f"{i}", b"x") for i in range(33)], {}),
        (409, [("a", b"x")], {"folder": ".gitattributes"}),
    ):
        reply = send_files(ann, at, files, **fields)
        assert reply.status == status and "alert" in [n.get("role") for n in parsed(reply).iter()], (files[:2], reply.status)
    assert send_files(ann, at, [], body=b"--7f\r\nContent-Disp").status == 400
    long = b"POST /ann/one/upload/main HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nContent-Length: 9000000\r\nConnection: close\r\n\r\n"
    told = people.server.raw(long)
    assert told.startswith(b"HTTP/1.1 413") and b"<h1>That was not done</h1>" in told
    for origin in ("http://evil.example", "null"):
        assert send_files(ann, at, [("a", b"x")], origin=origin).status == 403
    make(people, "ann/secret", private=True)
    for who, name, status in (("bob", "one", 403), ("reading ann", "one", 403), ("bob", "secret", 404), ("bob", "absent", 404)):
        there = f"/ann/{name}/upload/main"
        assert send_files(enter(who), there, [("a", b"x")]).status == enter(who).get(there).status == status, (who, name)
    first = done(commit(people, file("f", "1")))
    for revision in ("none", first, "refs%2Fpr%2F1"):
        assert ann.get(f"/ann/one/upload/{revision}").status == 404, revision
    assert head and [row[0] for row in rows(ann.page("/ann/one/tree/main"), "files")] == [".gitattributes", "f"]
