"""Repositories of the mirrored hub that are not public, or no longer: private, disabled, removed, and back again."""

import concurrent.futures
import contextlib
import json
import threading

import cairn
import ledger
import pytest
from huggingface_hub import HfApi, hf_hub_download
from people import People
from upstream import LARGE, SHA, TEXT, Gates, Repo, answer

OPERATORS, ASKERS, OTHERS = ("hf_" + letter * 34 for letter in "oab")
HIDDEN = ("/api/models/far/private", "/api/models/far/private/tree/main", "/api/models/far/private/refs", "/far/private/resolve/main/secret.txt", "/api/models/far/private/xet-read-token/main",
          "/api/models/far/private/auth-check", "/far/private/raw/main/secret.txt", "/api/models/far/private/revision/main")  # fmt: skip


def hub(*tokens):
    private = Repo({"secret.txt": TEXT, "weights.bin": LARGE}, stored={"weights.bin"}, private=True)
    return Gates(*tokens, repos={"far/private": private, "far/open": Repo({"a.txt": b"open", "b.txt": b"more"}), "far/gated": Repo({"a.txt": TEXT}, gated="auto")})


def same(one, other, names):
    """Are two replies the same, except for the name that was asked for?"""
    of = lambda reply, name: (reply.status, reply.body.replace(name.encode(), b"-").split(b"request_id")[0], {k: v for k, v in reply.headers.items() if k not in ("Date", "X-Request-Id", "Content-Length")})
    return of(one, names[0]) == of(other, names[1])


def hidden(server, *tokens):
    """Does the private repository look like one that does not exist?"""
    for path in HIDDEN:
        for token in tokens:
            reply, none = server.get(path, token=token), server.get(path.replace("private", "nothing"), token=token)
            assert reply.status in (401, 404) and reply.headers["X-Error-Code"] == "RepoNotFound" and same(reply, none, ("private", "nothing")), (path, token, reply, none)


def look_again(server):
    """Restarts the daemon, which forgets remembered lookups."""
    server.stop()
    server.start()


def test_a_private_repository_is_there_for_whom_the_mirrored_hub_lets_in(start, issuer, tmp_path):
    """An asker's own token fetches the repository. To all others it looks like one that does not exist, before and after it was fetched, and the mirrored hub is asked the same for both."""
    with hub(ASKERS) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        hidden(server, None, OTHERS, people.keys["ann"])
        for path, content in (("secret.txt", TEXT), ("weights.bin", LARGE)):
            with open(hf_hub_download("far/private", path, token=ASKERS, endpoint=server.url, cache_dir=tmp_path / "asker"), "rb") as file:
                assert file.read() == content
        assert HfApi(endpoint=server.url, token=ASKERS).model_info("far/private").private
        hidden(server, None, OTHERS, people.keys["ann"])
        calls = lambda name, token: sorted(head.split()[1].decode().replace(name, "-") for head in upstream.asked if name.encode() in head.split()[1] and (token or "none").encode() in head)
        assert calls("private", OTHERS) == calls("nothing", OTHERS) != []
        for path in ("/api/models?author=far", "/api/models?search=priv", "/far", "/search?q=priv", "/", "/models?search=priv"):
            for token in (None, OTHERS, people.keys["ann"]):
                assert b"far/private" not in server.get(path, token=token).body, path
        assert len([path for path in upstream.sent(ASKERS) if "/auth-check" in path]) == 1 and ASKERS not in server.log()


def test_a_private_repository_comes_with_the_token_of_a_rule(start, issuer, tmp_path, rules):
    """Members of the organisation that the rule names find the repository. Others do not, with or without bytes here."""
    with hub(OPERATORS) as upstream:
        server = start(mirror=upstream.url, mirror_rules=rules("allow * token=key gated=org:team", key=OPERATORS), token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        hidden(server, None, people.keys["bob"], OTHERS)
        assert not [path for path in upstream.paths("far/private") if "/tree/" in path]
        assert server.get("/far/private/resolve/main/weights.bin", token=people.keys["rita"]).body == LARGE
        assert server.get("/api/models/far/private", token=people.keys["adam"]).json()["private"]
        hidden(server, None, people.keys["bob"], OTHERS)
        look_again(server)
        hidden(server, None, people.keys["bob"], OTHERS)
        assert server.get("/far/private/resolve/main/weights.bin", token=people.keys["rita"]).body == LARGE


def test_a_namespace_does_not_tell_of_what_is_hidden(start, issuer, tmp_path):
    """A namespace in which everything is hidden from the asker looks as if nobody had it, but not if something in it is public."""
    with hub(ASKERS) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        assert server.get("/far/private/resolve/main/secret.txt", token=ASKERS).body == TEXT

        def ask(name, who):
            new = json.dumps({"type": "model", "name": "x", "organization": name}).encode()
            moved = json.dumps({"fromRepo": "ann/own", "toRepo": f"{name}/own", "type": "model"}).encode()
            for path in (f"/{name}", f"/api/organizations/{name}/overview", f"/api/organizations/{name}/members", f"/api/users/{name}/overview", f"/api/buckets/{name}", f"/api/models?author={name}"):
                yield server.get(path, headers={"Authorization": f"Bearer {people.keys[who]}"} if who else {})
            if who:
                yield from (people.ask("POST", path, who, body) for path, body in (("/api/repos/create", new), ("/api/repos/move", moved)))

        people.api("ann").create_repo("ann/own")
        for who in (None, "ann"):
            for one, none in zip(ask("far", who), ask("fax", who), strict=True):
                assert same(one, none, ("far", "fax")), (who, one, none)
        assert people.ask("GET", "/api/organizations/far/overview", "operator").status == 200
        assert server.get("/api/models/far/open").status == 200
        assert [reply.status for reply in ask("far", "ann")][:3] == [200, 200, 403]


def states(server):
    return [(event["repo"], event["state"]) for event in server.events("mirror_state")]


def test_what_is_gone_upstream(start, issuer):
    """A public repository that the mirrored hub no longer has stays. One with a gate is hidden, even from askers whom the gate let in. Both come back when that hub has them again."""
    with hub(ASKERS) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert server.get("/far/open/resolve/main/a.txt").body == b"open" and server.get("/far/gated/resolve/main/a.txt", token=ASKERS).body == TEXT
        kept = {name: upstream.repos.pop(name) for name in ("far/open", "far/gated")}
        look_again(server)
        assert server.get("/far/open/resolve/main/a.txt").body == b"open"
        assert b"mirrored hub no longer has it" in server.get("/far/open").body
        for token in (None, ASKERS):
            assert server.get("/api/models/far/gated", token=token).headers["X-Error-Code"] == "RepoNotFound"
        assert states(server) == [("far/open", "gone"), ("far/gated", "gone")]
        upstream.repos |= kept
        look_again(server)
        assert server.get("/api/models/far/gated").json()["gated"] == "manual" and server.get("/far/gated/resolve/main/a.txt", token=ASKERS).body == TEXT
        assert server.get("/api/models/far/open").status == 200 and b"no longer" not in server.get("/far/open").body
        assert states(server) == [("far/gated", "there"), ("far/open", "there")]


@pytest.mark.parametrize("before, now", [({"private": True}, {}), ({"gated": "auto"}, {}), ({"private": True}, {"gated": "auto"}),
                                         ({"gated": "auto", "createdAt": "2024-01-02T03:04:05.000Z"}, {"gated": "auto", "createdAt": "2026-01-02T03:04:05.000Z"})])  # fmt: skip
def test_what_came_for_few_does_not_become_everybodys(start, issuer, before, now):
    """A repository that becomes public, or that now belongs to somebody else, is made anew: its owner may have removed earlier files."""
    with hub(ASKERS) as upstream:
        upstream.repos["far/old"] = Repo({"secret.txt": TEXT, "config.json": b"{}"}, **before)
        server = start(mirror=upstream.url, token_key=issuer.folder)
        old = f"/far/old/resolve/{SHA}/secret.txt"
        assert server.get(old.replace(SHA, "main"), token=ASKERS).body == TEXT and server.get(old, token=ASKERS).body == TEXT
        created = server.get("/api/models/far/old", token=ASKERS).json()["createdAt"]
        assert created == before.get("createdAt", created)
        upstream.repos["far/old"] = Repo({"config.json": b"{}"}, sha="f" * 40, **now)
        look_again(server)
        assert server.get("/api/models/far/old", token=ASKERS).json()["sha"] == "f" * 40
        assert server.get("/far/old/resolve/main/config.json", token=ASKERS).body == b"{}"
        for token in (None, OTHERS, ASKERS):
            reply = server.get(old, token=token)
            assert reply.status in (401, 404) and TEXT not in reply.body, (token, reply)


def test_what_was_for_everybody_stays_for_everybody(start, issuer):
    """Bytes that were fetched while the repository was public are not fetched again."""
    with hub() as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert server.get("/far/open/resolve/main/a.txt").body == b"open"
        upstream.repos["far/open"].info["createdAt"] = "2026-01-02T03:04:05.000Z"
        look_again(server)
        assert server.get("/far/open/resolve/main/a.txt").body == b"open" and len(upstream.paths("/a.txt")) == 1


@pytest.mark.parametrize("what", ["private", "disabled"])
def test_what_is_no_longer_for_everybody(start, issuer, tmp_path, rules, what):
    """The repository is hidden at the next lookup. Only a lookup with the token of a rule shows that it is private; without one it counts
    as removed."""
    with hub(OPERATORS) as upstream:
        server = start(mirror=upstream.url, mirror_rules=rules("allow * token=key gated=org:team", key=OPERATORS), token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        assert server.get("/far/open/resolve/main/a.txt").body == b"open"
        upstream.repos["far/open"].info[what] = True
        look_again(server)
        for token in (None, people.keys["bob"]):
            reply = server.get("/far/open/resolve/main/a.txt", token=token)
            assert reply.headers["X-Error-Code"] == "RepoNotFound" and b"open" not in reply.body.replace(b"far/open", b""), reply
        assert server.get("/far/open/resolve/main/a.txt", token=people.keys["rita"]).status == (200 if what == "private" else 404)
        assert ("far/open", what) in states(server)
        del upstream.repos["far/open"].info[what]
        look_again(server)
        assert server.get("/far/open/resolve/main/b.txt").body == b"more"


@pytest.fixture
def crash(tmp_path):
    """The file that names the step at which a daemon dies (CAIRND_CRASH_FILE)."""
    file = tmp_path / "crash"
    file.write_text("")
    return file


def dies_at(server, crash, step, ask):
    """Kills the daemon at a step of this request, and starts it again."""
    crash.write_text(step)
    with contextlib.suppress(*ledger.GONE):
        ask()
    assert server.ended(seconds=20) == -9, step
    crash.write_text("")
    server.start()


@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_a_kill_leaves_no_repository_without_its_gate(start, crash, nth):
    """The daemon is killed after one of its writes while a lookup brings a repository. If the repository is here, so is its gate, while the upstream cannot be asked."""
    with hub() as upstream:
        server = start(mirror=upstream.url, variables={"CAIRND_CRASH_FILE": str(crash)})
        dies_at(server, crash, f"index-committed:{nth}", lambda: server.get("/api/models/far/gated"))
    reply = server.get("/api/models/far/gated")
    assert reply.status == 504 or reply.json()["gated"] == "manual", reply


def test_a_kill_leaves_no_disabled_repository_half_open(start, issuer, crash, tmp_path, rules):
    """The daemon is killed after its first write while a lookup finds a repository disabled. Once the repository is closed, no member of the rule's organisation reads it, either."""
    with hub(OPERATORS) as upstream:
        server = start(mirror=upstream.url, mirror_rules=rules("allow * token=key gated=org:team", key=OPERATORS), token_key=issuer.folder, variables={"CAIRND_CRASH_FILE": str(crash)})
        people = People(server, issuer.token("admin"), tmp_path)
        assert server.get("/far/open/resolve/main/a.txt").body == b"open"
        upstream.repos["far/open"].info["disabled"] = True
        look_again(server)
        dies_at(server, crash, "index-committed", lambda: server.get("/api/models/far/open"))
    replies = [server.get("/far/open/resolve/main/a.txt", token=key).status for key in (None, people.keys["rita"])]
    assert replies[0] == 200 or replies[1] in (401, 404, 504), replies


@pytest.mark.parametrize("info", [{"gated": "auto"}, {"private": True}])
def test_a_gate_is_there_before_the_new_tree(start, issuer, rules, info):
    """The upstream closes a repository, and then does not give its tree. Files that are here are closed at once, too."""
    with hub(OPERATORS) as upstream:
        server = start(mirror=upstream.url, mirror_rules=rules("allow * token=key", key=OPERATORS), token_key=issuer.folder)
        assert server.get("/far/open/resolve/main/a.txt").body == b"open"
        upstream.repos["far/open"] = Repo({"a.txt": b"open"}, sha="f" * 40, **info)
        upstream.instead["/far/open/tree/"] = answer(500)
        assert server.post("/v1/mirror/repositories/models/far/open/refresh", b"", token=issuer.token("admin")).status == 429
        assert upstream.paths("/far/open/tree/" + "f" * 40)
        for path in (f"/far/open/resolve/{SHA}/a.txt", "/far/open/resolve/main/a.txt"):
            reply = server.get(path)
            assert reply.status in (401, 403) and reply.body != b"open", (path, reply)


def test_a_slow_look_opens_nothing_that_was_closed_meanwhile(start):
    """The upstream gives a repository a gate while it is slow to send the tree of main. Another look closes the repository meanwhile. The slow one does not open it again."""
    asked, go = [], threading.Event()
    with hub() as upstream:

        def slow(connection, head):
            asked.append(head)
            if len(asked) == 1:
                go.wait()
            connection.sendall(upstream.answer(head.decode().split()[1], head))

        server = start(mirror=upstream.url)
        assert server.get("/far/open/resolve/main/a.txt").body == b"open"
        look_again(server)
        upstream.repos["far/open"] = Repo({"a.txt": b"newer"}, sha="f" * 40)
        upstream.ranged["/far/open/tree/"] = slow
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            late = pool.submit(server.get, "/api/models/far/open")
            cairn.wait_until("the call for the tree", lambda: asked)
            upstream.repos["far/open"].info["gated"] = "auto"
            assert server.get("/far/open/resolve/v1/a.txt").status in (401, 403)
            go.set()
            assert late.result().status in (200, 429)
        assert server.get("/api/models/far/open").json()["gated"] == "manual"


def test_a_gate_closes_a_former_name(start, issuer):
    """The upstream renames a repository, and gives it a gate. Files that are here under the former name are behind the gate, too."""
    with hub() as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert server.get("/far/open/resolve/main/a.txt").body == b"open"
        upstream.repos["far/newer"] = upstream.repos.pop("far/open")
        upstream.repos["far/newer"].info["gated"] = "auto"
        upstream.moved["far/open"] = "far/newer"
        assert server.post("/v1/mirror/repositories/models/far/open/refresh", b"", token=issuer.token("admin")).status == 200
        for path in (f"/far/open/resolve/{SHA}/a.txt", "/far/open/resolve/main/a.txt"):
            reply = server.get(path)
            assert reply.status in (401, 403) and reply.body != b"open", (path, reply)


def test_a_private_repository_that_was_disabled_for_a_while(start, issuer):
    with hub(ASKERS) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        path = "/far/private/resolve/main/secret.txt"
        assert server.get(path, token=ASKERS).body == TEXT
        upstream.repos["far/private"].info["disabled"] = True
        look_again(server)
        assert server.get("/api/models/far/private", token=ASKERS).status in (401, 404) and server.get(path, token=ASKERS).status in (401, 404)
        del upstream.repos["far/private"].info["disabled"]
        look_again(server)
        hidden(server, None, OTHERS)
        assert server.get(path, token=ASKERS).body == TEXT


def test_a_former_name_does_not_tell_of_what_is_hidden(start, issuer, tmp_path, rules):
    """The upstream may redirect a request with a token to a private repository. The redirect becomes no alias, which would show the target
    to everybody."""
    with hub(OPERATORS) as upstream:
        upstream.moved |= {"far/was": "far/private", "far/before": "far/open", "was": "far/private", "before": "far/open"}
        server = start(mirror=upstream.url, mirror_rules=rules("allow * token=key gated=org:team", key=OPERATORS), token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        for name, key in (("was", None), ("far/was", None), ("far/was", people.keys["rita"]), ("was", people.keys["rita"])):
            for _ in range(2):
                reply = server.get(f"/api/models/{name}", token=key)
                assert reply.status in (401, 404) and b"private" not in reply.body + str(reply.headers).encode(), (name, reply)
        assert server.get("/api/models/before").headers["Location"].endswith("/far/open")
        assert server.get("/api/models/far/before").json()["id"] == "far/open"


def test_the_log_tells_what_came_and_by_whose_token(start, issuer, tmp_path, rules):
    with hub(OPERATORS, ASKERS) as upstream:
        server = start(mirror=upstream.url, mirror_rules=rules("allow far/gated\nallow * token=key", key=OPERATORS), token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        assert server.get("/far/open/resolve/main/a.txt", token=people.keys["ann"]).body == b"open"
        assert server.get("/far/gated/resolve/main/a.txt", token=ASKERS).body == TEXT
        upstream.instead["/b.txt"] = answer(200, b"less")
        assert server.get("/far/open/resolve/main/b.txt").status == 502
        assert server.events("mirror_wrong")[0]["path"] == "b.txt"
        first, second = server.events("mirror_fetch")
        assert (first["repo"], first["path"], first["bytes"], first["fetched_bytes"], first["asked_by"]) == ("far/open", "a.txt", 4, 4, "ann")
        assert "token" not in first  # files of public repositories come without
        assert second["repo"] == "far/gated" and len(second["token"]) == 8 and "asked_by" not in second
        upstream.tokens.clear()
        upstream.repos["far/open"].info["gated"] = "auto"
        look_again(server)
        upstream.instead = {"/b.txt": answer(403, b"{}", X_Error_Code="GatedRepo")}
        assert server.get("/far/open/resolve/main/b.txt", token=people.keys["operator"]).headers["X-Error-Code"] == "GatedRepo"
        assert server.events("mirror_denied")[0]["token"] == "rule of line 2" and OPERATORS not in server.log()
