"""Finding files by a part of their paths: from the home page in everything that the reader may see, and within a repository or bucket."""

import urllib.parse

import pytest
import visitors
from hub_calls import ZEROS, add, commit, deleted, done, make
from hub_calls import text as file
from visitors import HOSTILE, Visitor, people_of, rows, text


@pytest.fixture
def people(start, issuer, tmp_path):
    people = people_of(start, issuer, tmp_path / "home")
    make(people)
    make(people, "ann/secret", private=True)
    people.make("ann/data")
    done(commit(people, file("runs/Epoch-1/loss.csv", "a"), file("runs/epoch-2/loss.csv", "b"), file("README.md", "epoch")))
    done(commit(people, file("epoch.txt", "a"), repo="models/ann/secret"))
    assert people.batch("ann/data", *(add(path, ZEROS) for path in ("logs/epoch-3.txt", "logs/other.txt"))).json()["success"]
    return people


def found(visitor, at):
    return [row[0] for row in rows(visitor.page(at), "paths")]


def test_everywhere(people, enter):  # noqa: F811
    """Upper and lower case count alike, and the file changed last comes first. Nobody finds files that they may not see."""
    ann, bob, nobody = enter("ann"), enter("bob"), Visitor(people.server)
    open_ = ["ann/data logs/epoch-3.txt bucket", "ann/one runs/Epoch-1/loss.csv model", "ann/one runs/epoch-2/loss.csv model"]
    assert found(bob, "/search?q=EPOCH") == found(nobody, "/search?q=epoch") == found(nobody, "/?q=epoch") == open_
    assert sorted(found(ann, "/search?q=epoch")) == sorted([*open_, "ann/secret epoch.txt model"])
    assert visitors.links(nobody.page("/?q=epoch-2"))[-6:].count("/ann/one/blob/main/runs/epoch-2/loss.csv") == 1
    assert nobody.get("/ann/one/blob/main/runs/epoch-2/loss.csv").status == 200
    said = [nobody.get(f"/search?q={q}").body.replace(q.encode(), b"*") for q in ("epoch.txt", "epoch.not")]
    assert said[0] == said[1] and "No path" in text(nobody.page("/search?q=epoch.txt"))
    done(commit(people, deleted("runs/epoch-2/loss.csv")))
    assert found(nobody, "/search?q=epoch-2") == []
    assert "In paths" not in text(nobody.page("/")) and "In paths" not in text(nobody.page("/?q=one&kind=model"))


def test_long_and_odd_search_texts(people):
    nobody = Visitor(people.server)
    for n, status in ((200, 200), (201, 400), (10_000, 400)):
        page = nobody.page("/search?q=" + "a" * n, status)
        assert rows(page, "paths") == [] and ("at most 200" in text(page)) == (status == 400), n
    for odd in ("<script>", '"><img', "%", "\x01", "a b", "a" * 41, "a" * 65, "\U0001f600" * 20):
        assert nobody.get("/search?q=" + urllib.parse.quote(odd)).status == 200, odd
    assert len(found(nobody, "/search?q=+loss.csv+")) == 2


def test_in_a_folder(people, enter):  # noqa: F811
    """The search looks into the revision that is shown. Each result leads to the file of that revision."""
    bob = enter("bob")
    assert people.ask("POST", "/api/models/ann/one/branch/feat%2Fnew", body={}).status == 200
    done(commit(people, file("runs/epoch-9/loss.csv", "c")))
    assert found(bob, "/ann/one/tree/main?find=EPOCH-") == ["runs/Epoch-1/loss.csv", "runs/epoch-2/loss.csv", "runs/epoch-9/loss.csv"]
    assert found(bob, "/ann/one/tree/feat%2Fnew/runs?find=loss") == ["Epoch-1/loss.csv", "epoch-2/loss.csv"]
    assert "/ann/one/blob/feat/new/runs/epoch-2/loss.csv" in visitors.links(bob.page("/ann/one/tree/feat%2Fnew/runs?find=loss"))
    assert found(bob, "/buckets/ann/data?find=epoch") == ["logs/epoch-3.txt"] and found(bob, "/buckets/ann/data/tree/logs?find=E") == ["epoch-3.txt", "other.txt"]
    for at in ("/ann/one/tree/main", "/buckets/ann/data", "/buckets/ann/data/tree/logs"):
        assert found(bob, at + "?find=") == [] and "has “nosuch” in it" in text(bob.page(at + "?find=nosuch"))
        assert "find" in [field.get("name") for field in bob.page(at).iter("input")]
    assert enter("bob").get("/ann/secret/tree/main?find=epoch").status == 404


def test_many(people, enter):  # noqa: F811
    """Results come in pages, each file exactly once. The search over everything shows at most a hundred, and says so."""
    ann = enter("ann")
    names = [f"many/{i:03}-{'x' * (150 if i % 2 else 5)}" for i in range(230)]
    done(commit(people, *(file(name, "a") for name in names)))
    assert people.batch("ann/data", *(add(name, ZEROS) for name in names)).json()["success"]
    for at in ("/ann/one/tree/main/many", "/buckets/ann/data/tree/many"):
        seen, to = [], at + "?find=-x"
        while to:
            page = ann.page(to)
            seen += [f"many/{row[0]}" for row in rows(page, "paths")]
            to = next((at + link for link in visitors.links(page) if "&after=" in link), None)
        assert seen == names
    page = ann.page("/search?q=-x")
    n = len(rows(page, "paths"))
    assert 50 < n <= 100 and f"These are the first {n}" in text(page)


def test_names(people, enter):  # noqa: F811
    """File names that contain markup are shown as text, and their links work."""
    ann = enter("ann")
    done(commit(people, *(file(f"odd/{name}", "a") for name in HOSTILE)))
    page = ann.page("/search?q=odd/")
    links = [link for link in visitors.links(page) if "/blob/main/odd/" in link]
    assert len(links) == len(HOSTILE) == len(rows(page, "paths"))
    assert all(ann.get(link).status == 200 for link in links)
    assert not list(page.iter("script"))[1:] and not [node for node in page.iter("img")]
