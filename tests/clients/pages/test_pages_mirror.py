"""Pages about the mirrored hub: the origin of a repository, which of its files are stored here, and whether the hub
answers."""

import cairn
import pytest
from hub_calls import make_key
from upstream import Hub, Repo, Slow
from visitors import Visitor, links, people_of, rows, text

FILES = {"config.json": b'{"model_type": "bert"}', "model.bin": b"m" * 200_000}


def hub():
    return Hub({"far/model": Repo(FILES, stored={"model.bin"})})


@pytest.fixture
def upstream():
    with hub() as one:
        yield one


def names(visitor):
    return [row[0] for row in rows(visitor.page("/far/model/tree/main"), "files")]


def test_a_mirrored_repository_says_where_it_is_from(start, upstream):
    server = start(mirror=upstream.url)
    visitor = Visitor(server)
    assert server.get("/api/models/far/model").status == 200
    page = visitor.page("/far/model")
    place = f"{upstream.url.removeprefix('http://')}/far/model"
    assert f"Mirror of {place}. Files come when they are first asked for." in text(page) and f"{upstream.url}/far/model" in links(page)
    assert names(visitor) == ["config.json not here yet", "model.bin not here yet"]
    assert server.get("/far/model/resolve/main/model.bin").status == 200
    assert names(visitor) == ["config.json not here yet", "model.bin"]
    assert "main as of just now; 1 of 2 files here, 200 kB." in text(visitor.page("/far/model"))
    server.stop()
    server.command += ["--mirror-offline"]
    server.start()
    assert "The hub cannot be asked now, so this is as it was known" in text(visitor.page("/far/model"))


def test_repositories_of_this_server_are_no_mirrors(start, upstream, issuer, tmp_path):
    people = people_of(start, issuer, tmp_path / "home", mirror=upstream.url)
    people.make("ann/cats")
    assert "Mirror of" not in text(Visitor(people.server).sign_in(people.keys["ann"]).page("/buckets/ann/cats"))


def test_the_operator_sees_the_line(start, issuer, tmp_path):
    with hub() as upstream:
        people = people_of(start, issuer, tmp_path / "home", mirror=upstream.url)
        operator = Visitor(people.server).sign_in(make_key(people.server, issuer.token("admin"), scope="admin")["key"])
        for _ in range(3):
            assert people.server.get("/far/model/resolve/main/model.bin").status == 200
        page = operator.page("/admin")
        assert f"{upstream.url.removeprefix('http://')} answered the last call. Since the start:" in text(page)
        figures = dict(rows(page, "mirrored"))
        assert (figures["Came over the line"], figures["Sent to clients"], figures["Saved"]) == ("200 kB", "600 kB", "400 kB"), figures
        assert not [name for name in figures if name.startswith("Failed")]
    assert people.server.get("/far/other/resolve/main/x").status == 504
    page = operator.page("/admin")
    assert "did not answer the last call" in text(page) and dict(rows(page, "mirrored"))["Failed: no connection, or no trust in it"] == "1"


def test_the_operator_sees_the_largest_and_the_oldest(start, issuer, tmp_path, clock):
    repos = {f"far/{name}": Repo({"model.bin": name.encode() * size}, stored={"model.bin"}) for name, size in (("large", 60_000), ("small", 14_000), ("absent", 20_000))}
    with Hub(repos) as upstream:
        people = people_of(start, issuer, tmp_path / "home", mirror=upstream.url, test_clock=clock.path)
        key = make_key(people.server, issuer.token("admin"), scope="admin")["key"]
        operator = Visitor(people.server).sign_in(key)
        assert not rows(operator.page("/admin"), "largest") and not rows(operator.page("/admin"), "oldest")
        for name in ("absent", "large"):
            assert people.server.get(f"/api/models/far/{name}").status == 200
        assert people.server.get("/far/large/resolve/main/model.bin").status == 200
        token = issuer.token("admin")
        assert people.server.post("/v1/mirror/repositories/models/far/small", b'{"keep":true,"every_s":7200}', token=token).status == 200
        clock.move(86400)
        assert people.server.get("/far/small/resolve/main/model.bin").status == 200
        page = operator.sign_in(key).page("/admin")
        large, small, absent = rows(page, "largest")
        assert (large[0], large[2:4], large[5]) == ("far/large", ["1 of 1", ""], "yesterday") and large[1].startswith("30"), large
        assert (small[0], small[2:4], small[5]) == ("far/small kept", ["1 of 1", "every 2 h"], "today") and small[1].startswith("7"), small
        assert (absent[0], absent[2:4], absent[5]) == ("far/absent", ["0 of 1", ""], ""), absent
        assert [row[0] for row in rows(page, "oldest")] == ["far/large", "far/small kept"]
        assert "/far/large" in links(page)


def test_without_a_mirror_the_operator_sees_none(start, issuer, tmp_path):
    people = people_of(start, issuer, tmp_path / "home")
    operator = Visitor(people.server).sign_in(make_key(people.server, issuer.token("admin"), scope="admin")["key"])
    assert not rows(operator.page("/admin"), "mirrored")


def test_what_is_on_its_way_is_shown(start, issuer, tmp_path):
    content = bytes(40_000_000)
    with Slow(content, come=5_000_000) as upstream:
        people = people_of(start, issuer, tmp_path / "home", mirror=upstream.url)
        token = issuer.token("admin")
        operator = Visitor(people.server).sign_in(make_key(people.server, token, scope="admin")["key"])
        added = people.server.post("/v1/mirror/repositories/models/far/model", b'{"keep":true,"include":["*.bin"]}', token=token)
        assert added.status == 200
        coming = lambda: [(name, figure.endswith(" MB of 40.0 MB, ahead")) for name, figure in rows(operator.page("/admin"), "coming")]
        cairn.wait_until("bytes", lambda: coming() == [("far/model weights.bin", True)])
        assert "0 of 2 files here, 0 B; 1 on the way; kept." in text(Visitor(people.server).page("/far/model"))
        assert names(Visitor(people.server)) == ["config.json not here yet", "weights.bin coming"]
        upstream.comes_to(len(content))
        cairn.wait_until("the file", lambda: "1 of 2 files here, 40.0 MB; kept." in text(Visitor(people.server).page("/far/model")))
        cairn.wait_until("the end", lambda: not rows(operator.page("/admin"), "coming"))
