"""Operators check, list and remove mirrored repositories: cairn mirror and /v1/mirror/repositories."""

import json
import os
import subprocess

import cairn
from hub_calls import account
from upstream import SHA, Hub, Repo, Slow, answer

NEXT = "f" * 40
FILES = {"config.json": b'{"model_type": "bert"}\n', "weights.bin": os.urandom(100_000)}
EXIT_USAGE, EXIT_DATA, EXIT_NO_INPUT, EXIT_UNAVAILABLE = 64, 65, 66, 69


def hub(*names, **more):
    return Hub({name: Repo(dict(FILES), stored={"weights.bin"}) for name in names or ("far/model",)}, **more)


def mirror(server, *arguments, code=0):
    """Returns the output of `cairn mirror`: standard output or, if it fails, standard error."""
    done = subprocess.run([cairn.CAIRN, "mirror", *arguments], env={**os.environ, "CAIRN_SERVER": server.url}, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


def file_of(server, path="weights.bin", repo="far/model"):
    return server.get(f"/{repo}/resolve/main/{path}")


def test_a_repository_is_removed_and_comes_again(start):
    with hub("far/model", "far/other", moved={"short": "far/model"}) as upstream:
        server = start(mirror=upstream.url)
        assert file_of(server).body == FILES["weights.bin"]
        assert server.get("/api/models/far/other").status == 200
        assert server.get("/short/resolve/main/config.json").status == 307
        assert mirror(server, "remove", "models/FAR/model") == "removed 1 repository\n"
        assert "far/model" not in server.get("/api/models").body.decode() and "far/other" in server.get("/api/models").body.decode()
        asked = len(upstream.asked)
        assert "repo.unknown" in mirror(server, "remove", "far/model", code=EXIT_NO_INPUT)
        assert len(upstream.asked) == asked
        assert file_of(server).body == FILES["weights.bin"] and len(upstream.paths("/resolve/")) == 2
        assert server.get("/api/models/far/model").json()["sha"] == SHA
        assert server.get("/short/resolve/main/config.json").status == 307


def test_a_namespace_is_removed_and_its_name_is_free(start, tmp_path):
    with hub("far/model", "far/other", moved={"short": "far/other"}) as upstream:
        server = start(mirror=upstream.url)
        for name in ("far/model", "far/other", "short"):
            server.get(f"/api/models/{name}")
        assert server.post("/v1/accounts", b'{"kind":"user","name":"far"}').status == 409
        assert json.loads(mirror(server, "remove", "Far", "--json")) == {"removed": 2}
        assert "account.unknown" in mirror(server, "remove", "far", code=EXIT_NO_INPUT)
        assert server.get("/v1/accounts").json() == {"accounts": []}
        account(server, None, "far")
        asked = len(upstream.asked)
        assert server.get("/api/models/far/model").status == 404 and len(upstream.asked) == asked
        server.post("/v1/gc", b"")
        assert server.get("/api/models/far/model").status == 404


def test_nothing_else_is_removed(start):
    with hub() as upstream:
        server = start(mirror=upstream.url)
        account(server, None, "near")
        assert server.post("/api/repos/create", b'{"name":"own","organization":"near"}').status == 200
        for place, code in {"near/own": EXIT_NO_INPUT, "near": EXIT_NO_INPUT, "buckets/near/own": EXIT_USAGE, "a/../b": EXIT_USAGE, "": EXIT_USAGE,
                            "datasets/far": EXIT_USAGE, "a/b/c/d": EXIT_USAGE}.items():  # fmt: skip
            mirror(server, "remove", place, code=code)
        assert server.get("/api/models/near/own").status == 200
        assert server.request("DELETE", "/v1/mirror/repositories/buckets/near/own").status == 404
        assert not upstream.asked


def test_what_came_is_removed_without_a_mirror(start):
    with hub() as upstream:
        server = start(mirror=upstream.url)
        assert server.get("/api/models/far/model").status == 200
        server.stop()
    server = start()
    assert "mirror.off" in mirror(server, "refresh", "far/model", code=EXIT_DATA)
    assert mirror(server, "remove", "far") == "removed 1 repository\n"


def test_a_branch_is_looked_at_now(start):
    with hub() as upstream:
        server = start(mirror=upstream.url)
        assert server.get("/api/models/far/model").json()["sha"] == SHA
        upstream.repos["far/model"] = Repo({"config.json": b"{}"}, sha=NEXT)
        assert server.get("/api/models/far/model").json()["sha"] == SHA
        assert mirror(server, "refresh", "far/model") == f"models/far/model: main is {NEXT}\n"
        assert server.get("/api/models/far/model").json()["sha"] == NEXT
        assert "mirror.unknown" in mirror(server, "refresh", "far/nothing", code=EXIT_NO_INPUT)
    assert "mirror.unreachable" in mirror(server, "refresh", "far/model", "--retries", "0", code=EXIT_UNAVAILABLE)
    assert server.get("/api/models/far/model").json()["sha"] == NEXT


def listed(server, *more):
    return json.loads(mirror(server, "list", "--json", *more))


def shown(server, *more, repo="far/model"):
    return json.loads(mirror(server, "show", repo, "--json", *more))


def states(server):
    return {file["path"]: file["state"] for file in shown(server)["files"]}


def test_repositories_are_listed_with_what_is_here(start):
    with hub("far/model", "far/other") as upstream:
        server = start(mirror=upstream.url)
        assert listed(server) == {"repositories": [], "more": False} and mirror(server, "list") == ""
        account(server, None, "near")
        assert server.post("/api/repos/create", b'{"name":"own","organization":"near"}').status == 200
        assert file_of(server).status == 200 and server.get("/api/models/far/other").status == 200
        one, other = listed(server)["repositories"]
        figures = ("files", "files_here", "bytes", "bytes_here")
        sizes = sum(map(len, FILES.values()))
        assert [one[name] for name in figures] == [2, 1, sizes, 100_000] and [other[name] for name in figures] == [2, 0, sizes, 0]
        assert (one["type"], one["name"], one["main"], one["state"], one["kept"], one["gated"]) == ("models", "far/model", SHA, "there", False, False)
        assert one["stored_bytes"] >= 100_000 > other["stored_bytes"] and one["looked"] > 1_700_000_000
        said = mirror(server, "list").splitlines()
        assert said[0].startswith("models/far/model: 1 of 2 files, 97.7 KiB of 97.7 KiB, main as of 2") and len(said) == 2
        page = listed(server, "--limit", "1")
        assert [repo["name"] for repo in page["repositories"]] == ["far/model"] and page["more"]
        first = server.get("/v1/mirror/repositories?limit=1").json()
        assert [repo["name"] for repo in server.get(f"/v1/mirror/repositories?after={first['next']}").json()["repositories"]] == ["far/other"]
        for argument in ("limit=0", "limit=513", "after=x", "after=0"):
            assert cairn.is_error(server.get(f"/v1/mirror/repositories?{argument}"), 400, "mirror.argument"), argument


def test_files_are_shown_with_their_states(start):
    with hub() as upstream:
        server = start(mirror=upstream.url)
        assert "repo.unknown" in mirror(server, "show", "far/model", code=EXIT_NO_INPUT)
        assert not upstream.asked
        assert server.get("/api/models/far/model").status == 200
        assert states(server) == {"config.json": "absent", "weights.bin": "absent"}
        upstream.instead["config.json"] = answer(500)
        assert file_of(server).status == 200 and file_of(server, "config.json").status == 429
        said = shown(server)
        failed, here = said["files"]
        assert (failed["state"], failed["rule"], here["state"], here["bytes_here"]) == ("failed", "mirror.busy", "here", 100_000)
        assert 0 < failed["until"] - server.get("/v1/mirror/repositories").json()["repositories"][0]["looked"] < 120
        assert said["repository"]["files_here"] == 1 and not said["more"]
        lines = mirror(server, "show", "far/model").splitlines()
        assert lines[0].startswith("models/far/model: 1 of 2 files") and "config.json: " in lines[1] and "[mirror.busy], until 2" in lines[1]
        assert lines[2].split() == ["here", "97.7", "KiB", "weights.bin"]
        assert shown(server, "--limit", "1")["more"]
        path = "/v1/mirror/repositories/models/far/model"
        rest = server.get(f"{path}?after=config.json").json()
        assert [file["path"] for file in rest["files"]] == ["weights.bin"] and "repository" not in rest
        for argument in ("limit=0", "after=" + "a" * 1025):
            assert cairn.is_error(server.get(f"{path}?{argument}"), 400, "mirror.argument"), argument


def test_a_file_on_its_way_is_shown_with_what_has_come(start):
    content = os.urandom(40 * 1024 * 1024)
    with Slow(content, come=5 * 1024 * 1024) as upstream:
        server = start(mirror=upstream.url)
        with server.socket() as s:
            s.sendall(b"GET /far/model/resolve/main/weights.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
            cairn.wait_until("bytes", lambda: server.get("/api/models/far/model").status == 200 and shown(server)["files"][-1]["bytes_here"] >= 1024 * 1024)
            file = shown(server)["files"][-1]
            assert file["state"] == "coming" and file["bytes_here"] <= 5 * 1024 * 1024
            one = listed(server)["repositories"][0]
            assert one["files_coming"] == 1 and 1024 * 1024 <= one["bytes_coming"] <= 5 * 1024 * 1024
            assert "coming " in mirror(server, "show", "far/model")
        upstream.comes_to(len(content))
        cairn.wait_until("the file", lambda: states(server)["weights.bin"] == "here")


def test_lists_go_with_their_options(start):
    server = start()
    for arguments in (["status", "--limit", "1"], ["list", "far/model"], ["show"], ["show", "far"], ["list", "--limit", "0"]):
        mirror(server, *arguments, code=EXIT_USAGE)
    assert mirror(server, "list") == ""


def test_a_hub_that_puts_off_is_asked_again_later(start):
    with hub() as upstream:
        upstream.instead["/revision/main"] = answer(429, Retry_After="600")
        server = start(mirror=upstream.url)
        for call, rule, retry_after_s in (("", "mirror.busy", "30"), ("/refresh", "mirror.later", "2")):
            reply = server.post(f"/v1/mirror/repositories/models/far/model{call}", b"{}" if not call else b"")
            assert cairn.is_error(reply, 429, rule) and reply.headers["Retry-After"] == retry_after_s, reply
        assert len(upstream.asked) == 1
        assert "mirror.later" in mirror(server, "add", "far/model", "--retries", "0", code=EXIT_UNAVAILABLE)
