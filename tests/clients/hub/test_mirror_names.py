"""Names under which the mirrored hub has repositories besides their own: without an owner ("gpt2"), and former ones."""

import json

import pytest
from huggingface_hub import HfApi, hf_hub_download, snapshot_download
from huggingface_hub.errors import RepositoryNotFoundError
from upstream import SHA, Hub, Repo, answer

CONFIG = json.dumps({"model_type": "bert", "hidden_size": 32}).encode()
REPO = "far-community/gpt2"


def hub(**more):
    return Hub({REPO: Repo({"config.json": CONFIG, "a/b c.txt": b"text"})}, moved={"gpt2": REPO, "far/old": REPO}, **more)


def api(server):
    return HfApi(endpoint=server.url, token=False)


def where(server, path, method="GET"):
    reply = server.request(method, path)
    return reply.status, reply.headers.get("Location")


def test_stock_clients_find_a_name_without_an_owner(start, tmp_path):
    with hub() as upstream:
        server = start(mirror=upstream.url)
        how = {"endpoint": server.url, "token": False, "cache_dir": tmp_path}
        assert snapshot_download("gpt2", **how)
        with open(hf_hub_download("gpt2", "a/b c.txt", **how), "rb") as file:
            assert file.read() == b"text"
        assert api(server).model_info("gpt2").id == api(server).model_info("gpt2", revision=SHA).id == REPO
        assert api(server).repo_exists("gpt2") and not api(server).repo_exists("gpt3")
        assert api(server).file_exists("gpt2", "config.json") and not api(server).file_exists("gpt2", "none")
        assert api(server).revision_exists("gpt2", "main") and not api(server).revision_exists("gpt2", "none")
        assert {e.path for e in api(server).list_repo_tree("gpt2", recursive=True)} == {"config.json", "a", "a/b c.txt"}
        assert [e.path for e in api(server).get_paths_info("gpt2", ["config.json"])] == ["config.json"]
        assert [c.commit_id for c in api(server).list_repo_commits("gpt2")] == [SHA]
        assert [b.name for b in api(server).list_repo_refs("gpt2").branches] == ["main"]
        with pytest.raises(RepositoryNotFoundError):
            api(server).model_info("gpt3")
        assert len(upstream.paths("gpt3")) == 1


def test_any_first_call_resolves_the_name(start):
    """Each call asks the upstream for the name, and for nothing else."""
    for path in ("", "/refs", "/auth-check", "/revision/main", "/tree/main", "/commits/main", "/xet-read-token/main"):
        with hub() as upstream:
            server = start(f"of{path.replace('/', '-')}", mirror=upstream.url)
            assert where(server, f"/api/models/gpt2{path}") == (307, f"/api/models/{REPO}{path}")
            assert upstream.paths() == ["/api/models/gpt2/revision/main"]
            server.stop()


def test_a_name_redirects_to_the_same_call_of_todays_name(start):
    """A name redirects to the same call of today's name, with its arguments, on this server. No header of the client changes the target."""
    with hub() as upstream:
        upstream.moved["/datasets/squad"] = "far/squad"
        server = start(mirror=upstream.url)
        assert where(server, "/gpt2/resolve/main/a/b%20c.txt?download=true&x=%2F%0d%0aA:%20b") == (307, f"/{REPO}/resolve/main/a/b%20c.txt?download=true&x=%2F%0D%0AA%3A%20b")
        assert where(server, "/GPT2/raw/refs%2Fpr%2F1/a%0d%0aX:y") == (307, f"/{REPO}/raw/refs%2Fpr%2F1/a%0d%0aX:y")
        assert where(server, "/gpt2/resolve/main/x", "HEAD") == (307, f"/{REPO}/resolve/main/x")
        assert where(server, "/api/models/gpt2/tree/main/a?recursive=true") == (307, f"/api/models/{REPO}/tree/main/a?recursive=true")
        assert server.request("POST", "/api/models/gpt2/paths-info/main", b'{"paths":["a"]}').headers["Location"] == f"/api/models/{REPO}/paths-info/main"
        for path in ("//gpt2/resolve/main/x", "/gpt2%2F..%2Fevil/resolve/main/x", "/gpt2@evil.example/resolve/main/x", "//evil.example/resolve/main/x"):
            status, location = where(server, path)
            assert status == 404 or status == 401 or location == f"/{REPO}/resolve/main/x", path
        server.stop()
    server = start(mirror=upstream.url, public_url="https://house.example/cairn")
    assert where(server, "/gpt2/resolve/main/x") == (307, f"/cairn/{REPO}/resolve/main/x")  # the line is down, but the name is known already


@pytest.mark.parametrize("target", ["gpt2", "evil.example//x", "..%2F..%2Fx/y", "a/b?c", "api/models", "https://evil.example/api/models/a/b/revision/main"])
def test_a_redirect_to_an_invalid_name_is_not_followed(start, target):
    with hub() as upstream:
        location = target if "://" in target else f"/api/models/{target}/revision/main"
        upstream.instead["/gpt2/"] = answer(307, Location=location)
        reply = start(mirror=upstream.url).get("/gpt2/resolve/main/config.json")
        assert reply.headers.get("Location") in (None, "/a/b/resolve/main/config.json"), reply
        assert upstream.paths() == ["/api/models/gpt2/revision/main"]


def test_a_name_may_lead_to_a_repository_of_this_server(start):
    """Names of this server take precedence, also over the target of a name. The upstream is not asked for them."""
    with hub() as upstream:
        server = start(mirror=upstream.url)
        assert server.post("/v1/accounts", b'{"kind":"organisation","name":"far-community"}').status == 200
        assert not api(server).repo_exists("gpt2")
        assert upstream.paths() == ["/api/models/gpt2/revision/main"]
        api(server).create_repo(REPO)
        assert api(server).model_info("gpt2").sha != SHA


def rename(upstream, server, old, new, content):
    """Renames a repository upstream, with another commit. Restarts the daemon, which forgets remembered look-ups."""
    server.stop()
    upstream.repos.pop(old)
    upstream.repos[new] = Repo({"config.json": content}, sha="f" * 40)
    upstream.moved[old] = new
    server.start()


@pytest.mark.parametrize("is_known", [False, True])
def test_a_repository_that_is_here_is_renamed(start, is_known):
    """Both names lead to the new commits of a repository that the upstream has renamed, also when the line is down. is_known: the new name is asked for first."""
    with hub() as upstream:
        server = start(mirror=upstream.url)
        assert server.get(f"/{REPO}/resolve/main/config.json").body == CONFIG
        rename(upstream, server, REPO, "far/new", b"{}")
        names = ("far/new", REPO) if is_known else (REPO, "far/new")
        for name in (*names, "far/old"):
            info = server.get(f"/api/models/{name}").json()
            assert (info["id"], info["sha"]) == ("far/new", "f" * 40), name
            assert server.get(f"/{name}/resolve/main/config.json").body == b"{}"
        assert [repo["id"] for repo in server.get("/api/models").json()] == ["far/new"]
        server.stop()
    server.start()
    for name in names:
        assert server.get(f"/{name}/resolve/main/config.json").body == b"{}"


def test_a_new_repository_takes_the_former_name(start):
    """The upstream gives the former name to another repository. An operator who adds it gets that one, beside the renamed one."""
    with hub() as upstream:
        server = start(mirror=upstream.url)
        assert server.get(f"/{REPO}/resolve/main/config.json").body == CONFIG
        rename(upstream, server, REPO, "far/new", b"{}")
        assert server.get(f"/api/models/{REPO}").json()["id"] == "far/new"
        del upstream.moved[REPO]
        upstream.repos[REPO] = Repo({"config.json": b"[]"}, sha="e" * 40)
        assert server.post(f"/v1/mirror/repositories/models/{REPO}", b"{}").status == 200
        assert server.get(f"/{REPO}/resolve/main/config.json").body == b"[]" and server.get("/far/new/resolve/main/config.json").body == b"{}"


def test_a_rename_to_a_name_that_the_rules_leave_out(start, rules):
    with hub() as upstream:
        server = start(mirror=upstream.url, mirror_rules=rules("deny far/*\nallow *"))
        assert server.get(f"/{REPO}/resolve/main/config.json").body == CONFIG
        rename(upstream, server, REPO, "far/new", b"{}")
        assert server.get(f"/{REPO}/resolve/main/config.json").body == CONFIG and server.get("/far/new/resolve/main/config.json").status in (401, 404)


def test_former_names(start, tmp_path):
    """Former names redirect to today's name, even in several steps."""
    with hub() as upstream:
        upstream.moved |= {"first": "far/older", "far/older": "far/old"}
        server = start(mirror=upstream.url)
        assert api(server).model_info("far/old").id == api(server).model_info("far/older").id == api(server).model_info("first").id == REPO
        assert where(server, "/first/resolve/main/x") == (307, f"/{REPO}/resolve/main/x")
        assert hf_hub_download("far/older", "config.json", endpoint=server.url, token=False, cache_dir=tmp_path)


def test_unknown_names(start, issuer):
    """Answers for unknown names, with and without a mirror, for every asker. When the line is down no answer says that the repository does not exist."""
    with hub() as upstream:
        for server, status in ((start(mirror=upstream.url, token_key=issuer.folder), 401), (start("alone", token_key=issuer.folder), 401), (start("open"), 404)):
            for path in ("/api/models/none", "/api/datasets/none/revision/main", "/none/resolve/main/x", "/datasets/none/resolve/main/x", "/none/raw/main/x", "/api/models/none/refs", "/api/models/none/tree/main"):
                reply = server.get(path)
                assert (reply.status, reply.headers["X-Error-Code"]) == (status, "RepoNotFound"), (path, reply)
    server = start("down", mirror=upstream.url)
    for path in ("/api/models/gpt2", "/gpt2/resolve/main/x", "/api/models/gpt2/refs"):
        reply = server.get(path)
        assert (reply.status, reply.json()["code"]) == (504, "mirror.unreachable") and "X-Error-Code" not in reply.headers, reply
