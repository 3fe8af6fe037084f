"""Repositories and small files come from the mirrored hub when somebody asks for them. test_mirror.py has the calls themselves."""

import concurrent.futures
import json
import os
import socket
from pathlib import Path

import cairn
import faults
import pytest
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError
from people import People, publish
from upstream import NO_REPOSITORY, SHA, Hub, Repo, answer

NEXT = "f" * 40
CONFIG = b'{"model_type": "bert"}\n'
FILES = {
    "README.md": b"# A model\n",
    "config.json": CONFIG,
    "empty.json": b"",
    "sub/a b+%ü.json": b"{}",
    "tokenizer.json": b'{"line": "of text"}\n' * 10_000,
    "vocab.bin": os.urandom(100_000),
}


def hub(**more):
    return Hub({"far/model": Repo(dict(FILES), stored={"vocab.bin"}, tags=["bert", "Fast"], pipeline_tag="fill-mask", **more)})


def download(server, folder, repo="far/model", **how):
    at = Path(snapshot_download(repo, endpoint=server.url, token=False, cache_dir=folder, **how))
    return {str(p.relative_to(at)): p.read_bytes() for p in at.rglob("*") if p.is_file()}


def api(server):
    return HfApi(endpoint=server.url, token=False)


def held(reply):
    """Returns a list, and a function for Hub.instead that answers with reply once the list has something."""
    go = []

    def serve(connection):
        cairn.wait_until("the test", lambda: go)
        connection.sendall(reply)

    return go, serve


def test_a_repository_comes_when_it_is_asked_for(start, tmp_path):
    with hub() as upstream:
        server = start(mirror=upstream.url)
        info = api(server).model_info("far/model")
        assert (info.id, info.sha, info.tags, info.pipeline_tag) == ("far/model", SHA, ["bert", "Fast"], "fill-mask")
        assert {s.rfilename for s in info.siblings} == set(FILES)
        assert not upstream.paths("/resolve/")
        assert download(server, tmp_path / "json", allow_patterns=["*.json"]) == {path: FILES[path] for path in FILES if path.endswith(".json")}
        assert download(server, tmp_path / "all") == FILES
        asked = upstream.paths("/resolve/")
        assert len(asked) == len(set(asked)) == len(FILES) - 1  # nobody asks for the bytes of an empty file
        assert len(upstream.paths("/revision/")) == len(upstream.paths("/tree/")) == 1
    assert download(server, tmp_path / "offline") == FILES
    server.stop()
    server.start()
    assert download(server, tmp_path / "again") == FILES
    assert api(server).model_info("far/model").sha == SHA


def test_a_page_says_what_has_not_come_yet(start, tmp_path):
    with hub() as upstream:
        server = start(mirror=upstream.url)
        api(server).model_info("far/model")
        for path in ("/far/model", "/far/model/blob/main/config.json", "/far/model/blob/main/vocab.bin"):
            page = server.get(path)
            assert page.status == 200 and b"have not come from the mirrored hub yet" in page.body, path
            assert b"deleted from this server" not in page.body and b"is lost" not in page.body, path
        download(server, tmp_path / "all")
        assert b"bert" in server.get("/far/model/blob/main/config.json").body
        assert b"not come" not in server.get("/far/model").body + server.get("/far/model/blob/main/vocab.bin").body


def test_a_daemon_mirrors_another(start, tmp_path):
    upstream = start("upstream")
    publish(upstream, "team/one", FILES.items())
    here = start(mirror=upstream.url)
    theirs = download(upstream, tmp_path / "theirs", "team/one")
    assert api(here).model_info("team/one").sha == api(upstream).model_info("team/one").sha
    assert download(here, tmp_path / "ours", "team/one") == theirs and FILES.items() <= theirs.items()
    upstream.stop()
    assert download(here, tmp_path / "offline", "team/one") == theirs


def test_other_revisions(start, tmp_path):
    """A tag, or a commit that is requested by its id, becomes a branch here. The upstream is not asked again for a revision that it does not have."""
    with hub() as upstream:
        server = start(mirror=upstream.url)
        assert api(server).model_info("far/model", revision="v1").sha == SHA
        before = upstream.repos["far/model"]
        upstream.repos["far/model"] = Repo({**FILES, "config.json": b"{}", "new.json": b"[]"}, sha=NEXT)
        upstream.repos["far/model"].older = [before]
        assert api(server).model_info("far/model", revision=NEXT).sha == NEXT
        assert download(server, tmp_path / "new", revision=NEXT, allow_patterns=["*.json"])["new.json"] == b"[]"
        assert download(server, tmp_path / "old", allow_patterns=["config.json"]) == {"config.json": CONFIG}
        asked = len(upstream.asked)
        for _ in range(3):
            with pytest.raises(RevisionNotFoundError):
                api(server).model_info("far/model", revision="none")
        assert len(upstream.asked) == asked + 1


def test_main_is_requested_again_after_a_restart(start, tmp_path):
    """A restarted daemon asks the upstream for main again. A file that the next commit does not change is not fetched again."""
    with hub() as upstream:
        server = start(mirror=upstream.url)
        assert download(server, tmp_path / "old") == FILES
        server.stop()
        # Each content is of one path: the client requests a content once, so it would ask for only one of two paths.
        now = {path: content for path, content in FILES.items() if path != "README.md"} | {"config.json": b'{"model_type": "gpt2"}', "more/x.json": b"[]"}
        assert len(set(now.values())) == len(now)
        upstream.repos["far/model"] = Repo(now, stored={"vocab.bin"}, sha=NEXT, tags=["new"])
        upstream.asked.clear()
        server.start()
        info = api(server).model_info("far/model")
        assert (info.sha, info.tags) == (NEXT, ["new"])
        assert download(server, tmp_path / "new") == now
        assert {path.rsplit("/", 1)[1] for path in upstream.paths("/resolve/")} == {"config.json", "x.json"}


def test_pages_of_a_tree(start):
    with hub() as upstream:
        upstream.page = 2
        assert {s.rfilename for s in api(start(mirror=upstream.url)).model_info("far/model").siblings} == set(FILES)
        assert len(upstream.paths("/tree/")) == 3


def test_a_missing_file_is_not_requested_again(start):
    with hub() as upstream:
        server = start(mirror=upstream.url)
        for _ in range(3):
            with pytest.raises(RepositoryNotFoundError):
                api(server).model_info("far/none")
        assert len(upstream.asked) == 1
        reply = server.get("/far/model/resolve/main/none.json")
        assert (reply.status, reply.headers["X-Error-Code"]) == (404, "EntryNotFound"), reply
        assert not upstream.paths("/resolve/")


def test_many_clients_share_one_fetch_and_hold_no_worker(start):
    go, slow = held(answer(200, CONFIG))
    with hub() as upstream:
        upstream.instead["/resolve/"] = slow
        server = start(mirror=upstream.url, workers=1)
        assert api(server).model_info("far/model").sha == SHA
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            asked = [pool.submit(server.get, "/far/model/resolve/main/config.json") for _ in range(40)]
            cairn.wait_until("the request of a file", lambda: upstream.paths("/resolve/"))
            assert server.get("/health").status == 200 and server.get("/ready").status == 200
            assert server.request("HEAD", "/far/model/resolve/main/config.json").headers["Content-Length"] == str(len(CONFIG))
            go.append(True)
            assert {one.result().body for one in asked} == {CONFIG}
        assert len(upstream.paths("/resolve/")) == 1


def test_fetches_of_one_sender_are_limited(start, issuer, tmp_path):
    """One sender may have 16 fetches, of which 8 run at once. The next one is refused, while another sender's fetch begins."""
    go, slow = held(NO_REPOSITORY)
    with hub() as upstream:
        upstream.instead["/slow"] = slow
        server = start(mirror=upstream.url, token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        ask = lambda who, name: people.ask("GET", f"/api/models/{name}", who)
        with concurrent.futures.ThreadPoolExecutor(17) as pool:
            asked = [pool.submit(ask, "ann", f"far/slow{n}") for n in range(17)]
            done, waiting = concurrent.futures.wait(asked, return_when=concurrent.futures.FIRST_COMPLETED)
            refused = done.pop().result()
            assert (refused.status, refused.json()["code"]) == (429, "mirror.full") and "16 fetches" in refused.json()["error"], refused
            assert ask("bob", "far/model").status == 200
            assert len(upstream.paths("/slow")) == 8
            go.append(True)
            assert {one.result().status for one in waiting} == {404}


LIES = {
    "other": answer(200, CONFIG.replace(b"bert", b"BERT")),
    "short": answer(200, CONFIG[:-1]),
    "longer": answer(200, CONFIG + b"x"),
    "empty": answer(200),
    "endless": answer(200, bytes(100_000)),
    "broken": b"HTTP/1.1 200 OK\r\nContent-Length: 23\r\nConnection: close\r\n\r\n{",
    "part": answer(206, CONFIG),
    "denied": answer(403, b"{}"),
    "gone": answer(404, b"{}", X_Error_Code="EntryNotFound"),
    "failed": answer(500),
    "later": answer(429, Retry_After="60"),
}


@pytest.mark.parametrize("how", LIES)
@pytest.mark.parametrize("stored", [False, True])
def test_bytes_unlike_the_tree_are_not_sent(start, how, stored):
    """False bytes are neither sent nor kept, and the upstream is not asked again at once."""
    with hub() as upstream:
        upstream.repos["far/model"].stored = {"config.json"} if stored else set()
        closing = how == "broken"
        upstream.instead["/resolve/"] = (lambda c: (c.sendall(LIES[how]), c.shutdown(socket.SHUT_RDWR))) if closing else LIES[how]
        server = start(mirror=upstream.url)
        first, second = (server.get("/far/model/resolve/main/config.json") for _ in range(2))
        assert first.status == second.status != 200 and b"bert" not in first.body.lower(), first
        assert first.status == {"other": 502, "short": 502, "longer": 502, "empty": 502, "denied": 403, "gone": 404, "failed": 429, "later": 429}.get(how, 504), first
        assert len(upstream.paths("/resolve/")) == 1
        assert server.request("HEAD", "/far/model/resolve/main/config.json").status == 200


def redirect(target):
    return answer(302, Location=target)


@pytest.mark.parametrize("target", ["http://127.0.0.1:{port}/secret", "https://127.0.0.1:{port}/secret", "https://localhost:{port}/x", "//127.0.0.1:{port}/x", "file:///etc/passwd", "https://cdn.hf.co/x"])
def test_redirects_lead_to_no_other_machine(start, target):
    """Redirects are followed only to the upstream's own host, or to the hosts of a known hub's files."""
    with hub() as upstream, socket.create_server(("127.0.0.1", 0)) as inner:
        upstream.instead["/resolve/"] = redirect(target.format(port=inner.getsockname()[1]))
        server = start(mirror=upstream.url)
        reply = server.get("/far/model/resolve/main/config.json")
        assert (reply.status, reply.json()["code"]) == (504, "mirror.elsewhere"), reply
        inner.setblocking(False)
        with pytest.raises(BlockingIOError):
            inner.accept()


def test_redirects_within_the_upstream(start):
    """At most three redirects are followed, to a path or a whole address."""
    with hub() as upstream:
        upstream.instead |= {"/resolve/": redirect("/hop1"), "/hop1": redirect(f"{upstream.url}/hop2?x=%2F"), "/hop2": redirect("/hop3"), "/hop3": answer(200, CONFIG)}
        server = start(mirror=upstream.url)
        assert server.get("/far/model/resolve/main/config.json").body == CONFIG
        assert upstream.paths()[-3:] == ["/hop1", "/hop2?x=%2F", "/hop3"]
        upstream.instead["/hop3"] = redirect("/hop4")
        reply = server.get("/far/model/resolve/main/README.md")
        assert (reply.status, reply.json()["code"]) == (504, "mirror.redirect"), reply


@pytest.mark.parametrize("tree", [
    b"{}", b"[{}]", b'[{"type":"file","path":"a","size":-1,"oid":"' + b"a" * 40 + b'"}]', b'[{"type":"file","path":"a","size":1,"oid":"x"}]',
    *(json.dumps([{"type": "file", "path": path, "size": 1, "oid": "a" * 40}]).encode() for path in ("../x", "/x", ".git/config", "a//b", "a\u0001", "x" * 300)),
    json.dumps([{"type": "file", "path": "a", "size": 1, "oid": "a" * 40}] * 2).encode(),
    json.dumps([{"type": "file", "path": path, "size": 1, "oid": "a" * 40} for path in ("a", "a/b")]).encode(),
])  # fmt: skip
def test_malformed_trees_are_refused(start, tree):
    with hub() as upstream:
        upstream.instead["/tree/"] = answer(200, tree)
        server = start(mirror=upstream.url)
        reply = server.get("/api/models/far/model")
        assert reply.status == 504 and "X-Error-Code" not in reply.headers, reply
        assert server.get("/api/models?author=far").json() == []


@pytest.mark.sqlite
@pytest.mark.files
def test_what_the_disk_refused_is_requested_again_at_once(tmp_path):
    """Only what the upstream did is remembered for a while."""
    with hub() as upstream:
        broken = faults.Faults(tmp_path / "broken", mirror=upstream.url)
        server = broken.server.start()
        try:
            broken.arm(["write", "pwrite"], faults.EIO, 1, faults.FOR_EVER)
            assert server.get("/api/models/far/model").status == 500
            broken.disarm()
            assert server.get("/api/models/far/model").status == 200
        finally:
            server.stop()


def test_an_unreachable_upstream_is_not_a_404(start):
    """Clients believe "not found", so that is never the answer when the line is down, nor for as long as the upstream is not asked again."""
    with hub() as upstream:
        server = start(mirror=upstream.url)
        assert api(server).model_info("far/model").sha == SHA
    for path in ("/api/models/far/other", "/far/other/resolve/main/config.json", "/far/model/resolve/main/config.json", f"/api/models/far/model/revision/{NEXT}") * 2:
        reply = server.get(path)
        assert (reply.status, reply.json()["code"]) == (504, "mirror.unreachable") and "X-Error-Code" not in reply.headers, reply
    assert api(server).model_info("far/model").sha == SHA
    server.stop()
    server.start()
    assert api(server).model_info("far/model").sha == SHA


@pytest.mark.parametrize("info, status", [({"private": True}, 401), ({"disabled": True}, 401), ({"gated": "manual"}, 200), ({"gated": "auto"}, 200)])
def test_private_and_gated_repositories_without_a_token(start, issuer, info, status):
    """Without a token of the upstream, private repositories do not exist here. Gated ones show the names of their files to everybody, as upstream."""
    with hub(**info) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert server.get("/api/models/far/model").status == status
        assert server.get("/api/models/far/model/tree/main").status == status
        reply = server.get("/far/model/resolve/main/config.json")
        assert reply.status == 401 and reply.headers["X-Error-Code"] == ("GatedRepo" if status == 200 else "RepoNotFound"), reply
        assert server.request("HEAD", "/far/model/resolve/main/config.json").status == 401
        assert server.get("/api/models/far/model/xet-read-token/main").status == 401
        assert not upstream.paths("/resolve/")


def test_local_repositories_take_precedence_over_the_mirror(start):
    with Hub({"far/model": Repo(FILES), "operator/own": Repo(FILES)}) as upstream:
        server = start(mirror=upstream.url)
        operator = api(server)
        operator.create_repo("operator/mine")
        with pytest.raises(RepositoryNotFoundError):
            operator.model_info("operator/own")
        assert not upstream.asked
        assert operator.model_info("far/model").sha == SHA
        for write in (
            lambda: operator.upload_file(path_or_fileobj=b"x", path_in_repo="config.json", repo_id="far/model"),
            lambda: operator.delete_file("config.json", "far/model"),
            lambda: operator.create_branch("far/model", branch="x"),
            lambda: operator.create_tag("far/model", tag="x"),
            lambda: operator.create_repo("far/new"),
            lambda: operator.move_repo("operator/mine", "far/mine"),
            lambda: operator.move_repo("far/model", "operator/model"),
            lambda: operator.update_repo_settings("far/model", private=True),
            lambda: operator.upload_file(path_or_fileobj=b"x", path_in_repo="x", repo_id="far/model", create_pr=True),
        ):
            with pytest.raises(HfHubHTTPError) as refused:
                write()
            assert refused.value.response.status_code == 403 and refused.value.response.json()["code"] == "mirror.readonly", refused.value
        assert server.get("/api/models/far/model/xet-write-token/main").status == 403
        with pytest.raises(RepositoryNotFoundError):  # a write fetches nothing
            operator.upload_file(path_or_fileobj=b"x", path_in_repo="x", repo_id="other/model")
        assert not upstream.paths("other")


def test_strangers_cause_no_fetch(start, issuer):
    with hub() as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder, no_hub_anonymous=True)
        assert server.get("/api/models/far/model").status == 401
        assert server.get("/far/model/resolve/main/config.json").status == 401
        assert server.get("/api/models/far/model", headers={"Authorization": "Bearer hf_none"}).status == 401
        assert not upstream.asked


def test_long_files_without_a_sha256_do_not_come(start):
    with hub() as upstream:
        upstream.repos["far/model"].files["text.txt"] = bytes((32 << 20) + 1)
        server = start(mirror=upstream.url)
        reply = server.get("/far/model/resolve/main/text.txt")
        assert (reply.status, reply.json()["code"]) == (501, "mirror.large") and "huggingface" not in reply.json()["error"], reply
        assert server.request("HEAD", "/far/model/resolve/main/text.txt").headers["Content-Length"] == str((32 << 20) + 1)
        assert not upstream.paths("/resolve/")


def test_a_slow_upstream_lets_clients_ask_again(start):
    """A request waits for 8 s at most. The fetch goes on meanwhile."""
    go, slow = held(answer(200, CONFIG))
    with hub() as upstream:
        upstream.instead["/resolve/"] = slow
        server = start(mirror=upstream.url)
        reply = server.get("/far/model/resolve/main/config.json")
        assert (reply.status, reply.json()["code"], reply.headers["Retry-After"]) == (429, "mirror.later", "2"), reply
        go.append(True)
        assert server.get("/far/model/resolve/main/config.json").body == CONFIG
        assert len(upstream.paths("/resolve/")) == 1


def test_rules(start, rules):
    """Repositories that the rules leave out are not asked for, and no more of their files are fetched."""
    with Hub({"far/model": Repo(FILES), "far/other": Repo(FILES), "else/model": Repo(FILES)}) as upstream:
        server = start(mirror=upstream.url, mirror_rules=rules("deny models:far/other\nallow FAR/*\n"))
        assert api(server).model_info("far/model").sha == SHA
        for name in ("far/other", "else/model"):
            with pytest.raises(RepositoryNotFoundError):
                api(server).model_info(name)
        assert not upstream.paths("other") and not upstream.paths("else")
        server.stop()
        rules("")
        server.start()
        assert api(server).model_info("far/model").sha == SHA
        assert server.get("/far/model/resolve/main/config.json").status == 403
        assert not upstream.paths("/resolve/")
