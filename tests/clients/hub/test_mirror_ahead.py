"""Repositories of the mirrored hub that are fetched in advance, at the operator's command: cairn mirror add."""

import json
import os
import signal
import subprocess
import threading

import cairn
import pytest
from between import Between
from test_mirror_operate import EXIT_DATA, EXIT_NO_INPUT, EXIT_UNAVAILABLE, EXIT_USAGE, FILES, NEXT, file_of, hub, listed, mirror, shown, states
from test_mirror_states import crash, dies_at  # noqa: F401
from upstream import SHA, Gates, Hub, Repo, Slow, answer

MB = 1 << 20
MANY = {f"{folder}{name}": os.urandom(50_000 + i) for folder in ("", "a/", "a/b/") for i, name in enumerate(("x.json", "y.bin", "z.bin"))}

REFRESH = "/v1/mirror/repositories/models/far/model/refresh"


def many(**more):
    return Hub({"far/model": Repo(dict(MANY), stored={path for path in MANY if path.endswith(".bin")})}, **more)


def here(server):
    return {path for path, state in states(server).items() if state == "here"}


def ahead(server):
    return shown(server)["repository"]["ahead"]


def wishes(server):
    return [(row["kept"], row["ahead"]["every_s"], row["ahead"]["include"]) for row in listed(server)["repositories"]]


def wait_until_done(server):
    cairn.wait_until("what is fetched ahead", lambda: (ahead(server) or {"state": "done"})["state"] == "done")


def test_all_files_of_a_repository_come(start):
    with many() as upstream:
        server = start(mirror=upstream.url)
        assert mirror(server, "add", "far/model").startswith("far/model: 9 of 9 files, ")
        assert here(server) == set(MANY) and len(upstream.paths("/resolve/")) == 9
        asked = len(upstream.asked)
        for path, content in MANY.items():
            assert file_of(server, path).body == content
        assert len(upstream.asked) == asked
        added = server.events("mirror_add")
        assert [(line["repo"], line["revision"], line["every_s"], line["keep"]) for line in added] == [("models/far/model", "main", 0, "no")]
        said = json.loads(mirror(server, "add", "far/model", "--json"))
        assert (said["done"], said["files"], said["files_here"], said["failed"]) == (True, 9, 9, 0)
        assert len(upstream.paths("/resolve/")) == 9
        state = ahead(server)
        assert (state["state"], state["every_s"], state["revision"], state["include"]) == ("done", 0, "main", [])
        assert listed(server)["repositories"][0]["ahead"]["state"] == "done"


def test_only_some_files_come(start):
    with many() as upstream:
        server = start(mirror=upstream.url)
        said = mirror(server, "add", "models/far/model", "--include", "*.json", "--include", "a/b/?.bin")
        assert said.startswith("models/far/model: 5 of 5 files, ")
        wanted = {path for path in MANY if path.endswith(".json")} | {"a/b/y.bin", "a/b/z.bin"}
        assert here(server) == wanted and ahead(server)["include"] == ["*.json", "a/b/?.bin"]
        assert mirror(server, "add", "far/model", "--include", "nothing").startswith("far/model: 0 of 0 files")
        assert here(server) == wanted


def test_what_came_is_told_after_a_restart(start):
    """After a restart the daemon still reports the files as complete, although it has not fetched them: the command
    asks about the files that it named."""
    with many() as upstream:
        server = start(mirror=upstream.url)
        assert mirror(server, "add", "far/model", "--include", "*.json")
        server.stop()
        server.start()
        state = ahead(server)
        assert (state["state"], state["include"], state["files"], state["files_here"]) == ("done", ["*.json"], 3, 3)
        taken = cairn.Reply(200, {}, b"{}")  # another daemon has fetched the repository
        with Between(server, lambda request, _: taken if request.method == "POST" else None) as balanced:
            assert mirror(balanced, "add", "far/model", "--include", "*.json").startswith("far/model: 3 of 3 files, ")
        assert listed(server)["repositories"][0]["ahead"]["state"] == "done"


def test_files_of_a_revision_come(start):
    with many() as upstream:
        old = {"old.bin": b"o" * 70_000, "@x": b"x"}
        upstream.repos["far/model"].older = [Repo(old, stored={"old.bin"}, sha=NEXT)]
        repo = upstream.repos["far/model"]
        server = start(mirror=upstream.url)
        upstream.revision = lambda name, revision: Hub.revision(upstream, name, revision) if revision != NEXT else answer(200, json.dumps({"id": name, "sha": NEXT, "private": False, "gated": False}).encode())
        upstream.tree = lambda path, name, query: answer(200, json.dumps(list((repo.older[0] if NEXT in path else repo).tree())).encode())
        assert mirror(server, "add", f"far/model@{NEXT}").startswith("far/model: 2 of 2 files")
        assert ahead(server)["revision"] == NEXT and not here(server)
        assert server.get(f"/far/model/resolve/{NEXT}/old.bin").headers["X-Cairn-Mirror"] == "here"
        assert mirror(server, "add", "far/model", "--include", "@x").startswith("far/model: 0 of 0")
        assert ahead(server)["include"] == ["@x"] and ahead(server)["revision"] == "main"
        assert "mirror.unknown" in mirror(server, "add", "far/model@nosuch", code=EXIT_NO_INPUT)


def test_an_add_goes_on_after_a_restart(start):
    content = os.urandom(40 * MB)
    with Slow(content, come=6 * MB) as upstream:
        server = start(mirror=upstream.url)
        said = mirror(server, "add", "far/model", "--no-wait")
        assert said.startswith("far/model: ") and said.endswith("; the server fetches the others\n")
        cairn.wait_until("some bytes", lambda: upstream.sent >= 4 * MB)
        server.kill()
        upstream.comes_to(len(content))
        server.start()
        wait_until_done(server)
        assert here(server) == {"weights.bin", "config.json"}
        server.stop()
        asked = len(upstream.asked)
        server.start()
        assert ahead(server)["state"] == "done"
        assert file_of(server).body == content and not [head for head in upstream.asked[asked:] if b"resolve" in head]


@pytest.mark.skipif(cairn.DAEMONS, reason="a moved daemon's clock differs from the index's")
def test_what_is_new_comes_after_a_time(start, clock):
    with many() as upstream:
        upstream.repos["far/other"] = Repo({"a.txt": b"a"})
        server = start(mirror=upstream.url, test_clock=clock.path)
        assert mirror(server, "add", "far/other", "--every", "20m")
        assert mirror(server, "add", "far/model", "--every", "1h", "--include", "*.bin")
        upstream.repos["far/model"] = Repo({**MANY, "new.bin": b"n" * 80_000, "new.json": b"{}"}, stored={"new.bin"}, sha=NEXT)
        upstream.repos["far/other"] = Repo({"a.txt": b"other"}, sha=NEXT)
        asked = len(upstream.paths("/far/model/"))
        clock.move(1800)
        cairn.wait_until("what is due", lambda: shown(server, repo="far/other")["repository"]["main"] == NEXT)  # both are looked at, if both are due
        assert "new.bin" not in states(server) and len(upstream.paths("/far/model/")) == asked
        clock.move(3601)
        cairn.wait_until("the new file", lambda: states(server).get("new.bin") == "here")
        assert states(server)["new.json"] == "absent" and ahead(server)["every_s"] == 3600
        server.stop()
        upstream.repos["far/model"] = Repo({"newest.bin": b"n" * 90_000}, stored={"newest.bin"}, sha=SHA[::-1])
        upstream.repos["far/other"] = Repo({"a.txt": b"newest"}, sha=SHA[::-1])
        asked = len(upstream.paths("/far/model/"))
        clock.move(3601 + 1800)
        server.start()
        cairn.wait_until("what is due", lambda: shown(server, repo="far/other")["repository"]["main"] == SHA[::-1])
        assert len(upstream.paths("/far/model/")) == asked  # a restart alone is no reason to ask
        server.stop()
        clock.move(7203)
        server.start()
        cairn.wait_until("the newest file", lambda: states(server).get("newest.bin") == "here")
        server.stop()
        upstream.repos["far/model"] = Repo({"again.bin": b"n" * 90_000}, stored={"again.bin"}, sha="d" * 40)
        clock.move(0)  # somebody set the clock back
        server.start()
        cairn.wait_until("the file", lambda: states(server).get("again.bin") == "here")


def test_files_that_fail_are_tried_again_or_told(start):
    with many() as upstream:
        upstream.instead["/a/x.json"] = answer(404, b"{}", X_Error_Code="EntryNotFound")
        server = start(mirror=upstream.url)
        said = mirror(server, "add", "far/model", code=EXIT_DATA)
        assert "8 of 9 files are here" in said and "[mirror.unknown]" in said
        assert here(server) == set(MANY) - {"a/x.json"} and ahead(server)["failed"] == 1


def test_a_command_that_does_not_wait_fails_for_no_file(start):
    with many() as upstream:
        goes_on = threading.Event()
        upstream.instead |= {"/a/x.json": answer(404, b"{}", X_Error_Code="EntryNotFound"), "/y.bin": lambda connection: goes_on.wait(60)}
        server = start(mirror=upstream.url)
        failed = lambda: cairn.wait_until("the failure", lambda: ahead(server)["failed"] == 1)
        with Between(server, lambda request, _: failed if request.method == "GET" else None) as late:
            said = json.loads(mirror(late, "add", "far/model", "--no-wait", "--json"))
        assert (said["done"], said["failed"], said["rule"]) == (False, 1, "mirror.unknown")
        goes_on.set()


def test_an_interrupted_command_leaves_the_server_going(start):
    content = os.urandom(40 * MB)
    with Slow(content, come=2 * MB) as upstream:
        server = start(mirror=upstream.url)
        with Between(server) as between:
            command = subprocess.Popen([cairn.CAIRN, "mirror", "add", "far/model", "--include", "weights.bin"], env={**os.environ, "CAIRN_SERVER": between.url}, stderr=subprocess.PIPE, text=True)
            cairn.wait_until("some bytes", lambda: upstream.sent >= MB)
            assert ahead(server)["state"] == "fetching" and ahead(server)["files_coming"] == 1
            cairn.wait_until("the command to wait", lambda: any(request.method == "GET" for request in between.requests))
            command.send_signal(signal.SIGINT)
            assert "the server goes on with it: cairn mirror show" in command.communicate(timeout=60)[1] and command.returncode == -signal.SIGINT
        upstream.comes_to(len(content))
        wait_until_done(server)
        assert "weights.bin" in here(server)


def test_clients_come_first(start):
    """Four files at once are fetched in advance, and clients get other files meanwhile."""
    files = {f"{i:02}.bin": os.urandom(30_000 + i) for i in range(40)}
    goes_on = threading.Event()

    def held(connection, head):
        assert goes_on.wait(60)
        path = head.decode().split()[1]
        connection.sendall(answer(200, files[path.rpartition("/")[2]]))

    with Hub({"far/model": Repo(files, stored=set(files)), "far/other": Repo(dict(FILES), stored={"weights.bin"})}) as upstream:
        upstream.ranged["/far/model/resolve/"] = held
        server = start(mirror=upstream.url)
        assert mirror(server, "add", "far/model", "--no-wait")
        cairn.wait_until("four calls", lambda: len(upstream.paths("/far/model/resolve/")) == 4)
        assert file_of(server, repo="far/other").body == FILES["weights.bin"]
        assert len(upstream.paths("/far/model/resolve/")) == 4 and ahead(server)["files_coming"] == 4
        goes_on.set()
        assert file_of(server, "39.bin").body == files["39.bin"]
        wait_until_done(server)
        assert len(upstream.paths("/far/model/resolve/")) == 40


def test_a_gate_opens_for_the_token_of_a_rule_alone(start, rules):
    repos = {"far/gated": Repo(dict(FILES), stored={"weights.bin"}, gated="auto"), "far/hidden": Repo(dict(FILES), stored={"weights.bin"}, private=True)}
    with Gates("hf_goodTokenOfTheRule", repos=repos) as upstream:
        server = start(mirror=upstream.url, mirror_rules=rules("allow *\n", token="hf_goodTokenOfTheRule\n"))
        assert "409 mirror.denied" in mirror(server, "add", "far/gated", code=EXIT_DATA)
        assert "mirror.unknown" in mirror(server, "add", "far/hidden", code=EXIT_NO_INPUT)
        assert not upstream.paths("/resolve/")
        rules("deny far/no*\nallow * token=token\n")
        server.stop()
        server.start()
        for name in ("far/gated", "far/hidden"):
            assert mirror(server, "add", name).startswith(f"{name}: 2 of 2 files"), name
        assert len(upstream.sent("hf_goodTokenOfTheRule")) >= 4
        asked = len(upstream.asked)
        assert "409 mirror.denied" in mirror(server, "add", "far/nothing", code=EXIT_DATA) and len(upstream.asked) == asked


def test_nothing_else_is_added(start):
    with hub(moved={"far/former": "far/model"}) as upstream:
        server = start(mirror=upstream.url)
        assert server.post("/v1/accounts", b'{"kind":"user","name":"near"}').status == 200
        asked = len(upstream.asked)
        assert "mirror.local" in mirror(server, "add", "near/own", code=EXIT_NO_INPUT) and len(upstream.asked) == asked
        assert "mirror.unknown" in mirror(server, "add", "far/nothing", code=EXIT_NO_INPUT)
        assert "far/model now" in mirror(server, "add", "far/former", code=EXIT_NO_INPUT)
        path = "/v1/mirror/repositories/models/far/model"
        for body in ("x", "[]", '{"every_s":59}', '{"every_s":"1h"}', '{"keep":1}', '{"include":"x"}', '{"include":[""]}', '{"include":["a\\nb"]}', '{"revision":"a b"}', json.dumps({"include": ["x" * 1025]})):
            assert cairn.is_error(server.post(path, body.encode()), 400, "mirror.argument"), body
        assert not listed(server)["repositories"]
        for arguments in (["add"], ["add", "far"], ["add", "far/model@"], ["add", "far/model", "--every", "30s"], ["add", "far/model", "--limit", "1"], ["list", "--keep"]):
            mirror(server, *arguments, code=EXIT_USAGE)
    assert "mirror.unreachable" in mirror(server, "add", "far/model", "--retries", "0", code=EXIT_UNAVAILABLE)


def test_a_kept_repository_says_so(start):
    with many() as upstream:
        server = start(mirror=upstream.url)
        assert mirror(server, "add", "far/model", "--keep", "--include", "x.json")
        assert listed(server)["repositories"][0]["kept"] and ", kept" in mirror(server, "list")
        assert mirror(server, "add", "far/model", "--include", "x.json") and not listed(server)["repositories"][0]["kept"]
        assert mirror(server, "remove", "far/model") == "removed 1 repository\n"
        assert not listed(server)["repositories"]


def test_a_repository_that_is_made_anew_stays_kept(start):
    """What the operator wants fetched belongs to the name. A repository whose gate opens is made anew, and keeps it."""
    with many() as upstream:
        server = start(mirror=upstream.url)
        assert mirror(server, "add", "far/model", "--keep", "--every", "1h", "--include", "x.json")
        for files, gated, here_as in ((MANY, "auto", "manual"), ({"a/../b": b""}, False, "manual"), (MANY, False, False)):
            upstream.repos["far/model"] = Repo(dict(files), gated=gated)
            mirror(server, "refresh", "far/model", "--retries", "0", code=0 if files is MANY else EXIT_UNAVAILABLE)
            assert server.get("/api/models/far/model").json()["gated"] == here_as
            assert wishes(server) == [(True, 3600, ["x.json"])]
        cairn.wait_until("what is fetched ahead", lambda: "x.json" in here(server))


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_kill_loses_no_wish(start, crash, nth):  # noqa: F811
    """The daemon is killed after one of its writes while a lookup makes a repository anew."""
    with many() as upstream:
        server = start(mirror=upstream.url, variables={"CAIRND_CRASH_FILE": str(crash)})
        assert mirror(server, "add", "far/model", "--keep", "--every", "1h", "--include", "x.json")
        upstream.repos["far/model"] = Repo(dict(MANY), gated="auto")
        mirror(server, "refresh", "far/model")
        upstream.repos["far/model"] = Repo(dict(MANY))
        dies_at(server, crash, f"index-committed:{nth}", lambda: server.post(REFRESH, b""))
        assert server.post(REFRESH, b"").status == 200
        assert server.get("/api/models/far/model").json()["gated"] is False
        assert wishes(server) == [(True, 3600, ["x.json"])]
