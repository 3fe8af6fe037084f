"""Who gets what of the mirrored hub: tokens of that hub, and its gates. The upstream is another daemon, with users, keys and gates; or a stub that lies."""

import os

import pytest
from huggingface_hub import HfApi, hf_hub_download
from huggingface_hub.errors import GatedRepoError
from people import People
from upstream import Gates, Hub, Repo, answer

TEXT, LARGE = b"the secret text\n", b"the secret weights\n" * 10_000
TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
OTHER = "hf_" + "ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ"


def hub(*tokens, **more):
    gated = Repo({"secret.txt": TEXT, "weights.bin": LARGE}, stored={"weights.bin"}, gated="manual")
    return Gates(*tokens, repos={"far/gated": gated, "far/open": Repo({"a.txt": b"open"})}, **more)


def get(server, path, token=None, method="GET"):
    return server.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})


def test_a_token_of_the_mirrored_hub_reads_what_is_public_there(start, issuer, tmp_path):
    """It opens nothing of this server, where it is refused as any unknown key; and it is sent nowhere for what is public."""
    with hub() as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        people.api("ann").create_repo("ann/own", private=True)
        people.api("ann").create_repo("ann/public", private=False)
        people.api("ann").upload_file(path_or_fileobj=b"x", path_in_repo="x", repo_id="ann/public")
        api = HfApi(endpoint=server.url, token=TOKEN)
        assert api.model_info("far/open").id == "far/open" and api.repo_exists("far/open") and not api.repo_exists("far/none")
        assert open(hf_hub_download("far/open", "a.txt", endpoint=server.url, token=TOKEN, cache_dir=tmp_path), "rb").read() == b"open"
        assert [p.path for p in api.get_paths_info("far/open", ["a.txt"])] == ["a.txt"]
        for method, path in (
            ("GET", "/api/models/ann/own"), ("GET", "/api/models/ann/public"), ("GET", "/ann/public/resolve/main/x"), ("GET", "/ann/none/resolve/main/x"), ("GET", "/api/models"),
            ("GET", "/api/whoami-v2"), ("GET", "/api/models/ann/public/xet-read-token/main"), ("GET", "/api/models/far/open/xet-write-token/main"), ("GET", "/buckets/ann/b/resolve/x"),
            ("POST", "/api/models/far/open/commit/main"), ("POST", "/api/repos/create"), ("GET", "/api/models/far/open/auth-check/write"), ("GET", "/api/buckets/ann"),
        ):  # fmt: skip
            reply = get(server, path, TOKEN, method)
            assert reply.status == 401 and reply.json()["code"] in ("key.unknown", "key.missing"), (path, reply)
        assert not upstream.sent(TOKEN)


def test_what_is_no_token_of_the_mirrored_hub(start, issuer, tmp_path):
    """A key of this server that was revoked is refused, and is never sent upstream; so is what no hub made."""
    with hub() as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        key = people.keys["ann"]
        number = next(k["id"] for k in server.get("/v1/keys", token=issuer.token("admin")).json()["keys"] if k["account"] == "ann")
        assert server.request("DELETE", f"/v1/keys/{number}", headers={"Authorization": f"Bearer {issuer.token('admin')}"}).status in (200, 204)
        mistyped = key[:-1] + ("a" if key[-1] != "a" else "b")
        for token in (key, mistyped, "hf_short", "hf_" + "x" * 300, "other" + TOKEN, TOKEN + "%0d", "hf_cairn_" + "a" * 43):
            for path in ("/api/models/far/open", "/far/gated/resolve/main/secret.txt"):
                reply = get(server, path, token)
                assert reply.status == 401 and reply.json()["code"] == "key.unknown", (token, reply)
            assert not upstream.sent(token)
        assert start("shut", mirror=upstream.url, token_key=issuer.folder, no_hub_anonymous=True).get("/api/models/far/open", headers={"Authorization": f"Bearer {TOKEN}"}).status == 401


def test_the_mirrored_hub_says_who_passes_its_gate(start, issuer, tmp_path):
    with hub(TOKEN) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        for token in (None, OTHER, TOKEN):
            assert get(server, "/api/models/far/gated", token).json()["gated"] == "manual"
            assert {e["path"] for e in get(server, "/api/models/far/gated/tree/main", token).json()} == {"secret.txt", "weights.bin"}
        for path in ("/far/gated/resolve/main/secret.txt", "/far/gated/raw/main/secret.txt", "/far/gated/resolve/main/weights.bin", "/api/models/far/gated/xet-read-token/main", "/api/models/far/gated/auth-check"):
            for token in (None, OTHER):
                reply = get(server, path, token)
                assert reply.status in (401, 403) and reply.headers["X-Error-Code"] == "GatedRepo" and b"secret" not in reply.body, (path, reply)
        assert not upstream.paths("/resolve/")
        how = {"endpoint": server.url, "cache_dir": tmp_path}
        for path, content in (("secret.txt", TEXT), ("weights.bin", LARGE)):
            with open(hf_hub_download("far/gated", path, token=TOKEN, **how), "rb") as file:
                assert file.read() == content
            assert get(server, f"/far/gated/resolve/main/{path}").status == 401  # also now that the bytes are here
            with pytest.raises(GatedRepoError):
                hf_hub_download("far/gated", path, token=OTHER, endpoint=server.url, cache_dir=tmp_path / "other")
        assert len(upstream.paths("/auth-check")) == 2  # one for each token
        assert get(server, "/api/models/far/gated/auth-check", TOKEN).status == 200
        assert TOKEN not in server.log() and OTHER not in server.log()


def test_a_token_goes_to_the_mirrored_hub_alone(start, issuer):
    """Redirects within it get the token. Other hosts that hold its files do not, nor a third one."""
    with hub(TOKEN) as upstream, Hub({}, host="127.0.0.2", port=upstream.port) as files, Hub({}) as elsewhere:
        server = start(mirror=upstream.url, mirror_hosts="127.0.0.2", token_key=issuer.folder)
        upstream.instead["/secret.txt"] = answer(302, Location="/cached/x")
        upstream.instead["/cached/"] = answer(302, Location=f"{files.url}/signed")
        files.instead["/signed"] = answer(200, TEXT)
        assert get(server, "/far/gated/resolve/main/secret.txt", TOKEN).body == TEXT
        assert [path for path in upstream.sent(TOKEN) if "/cached/" in path] == upstream.paths("/cached/") != []
        assert files.paths() == ["/signed"] and TOKEN.encode() not in files.asked[0] and b"uthorization" not in files.asked[0]
        upstream.instead["/weights.bin"] = answer(302, Location=f"{elsewhere.url}/x")
        assert get(server, "/far/gated/resolve/main/weights.bin", TOKEN).status == 504
        assert not elsewhere.asked


@pytest.mark.parametrize("bad", [answer(500), answer(429, Retry_After="1"), answer(302, Location="/login"), b"HTTP/1.1 200"])
def test_an_upstream_that_does_not_say_lets_nobody_in(start, issuer, bad):
    with hub(TOKEN) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert get(server, "/api/models/far/gated").status == 200
        upstream.instead["/auth-check"] = bad if bad != b"HTTP/1.1 200" else (lambda connection: connection.close())
        reply = get(server, "/far/gated/resolve/main/secret.txt", TOKEN)
        assert reply.status in (429, 504) and b"secret text" not in reply.body, reply


def test_whom_it_let_in_stays_let_in_while_the_line_is_down(start, issuer):
    with hub(TOKEN) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert get(server, "/far/gated/resolve/main/secret.txt", TOKEN).body == TEXT
    assert get(server, "/far/gated/resolve/main/secret.txt", TOKEN).body == TEXT
    reply = get(server, "/far/gated/resolve/main/secret.txt", OTHER)
    assert reply.status == 504, reply


def test_what_is_refused_to_one_token_is_not_refused_to_others(start, issuer):
    with hub(TOKEN, OTHER) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        upstream.instead["/secret.txt"] = answer(403, b"{}", X_Error_Code="GatedRepo")
        reply = get(server, "/far/gated/resolve/main/secret.txt", TOKEN)
        assert (reply.status, reply.json()["code"]) == (403, "mirror.denied"), reply
        del upstream.instead["/secret.txt"]
        assert get(server, "/far/gated/resolve/main/secret.txt", OTHER).body == TEXT


def test_nobody_tries_many_tokens(start, issuer):
    """An address asks about eight at once, then about one a second."""
    with hub() as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert get(server, "/api/models/far/gated").status == 200
        replies = [get(server, "/far/gated/resolve/main/secret.txt", f"{OTHER}{n}") for n in range(20)]
        assert {r.status for r in replies} == {401, 429}, replies
        assert len(upstream.paths("/auth-check")) < 15


def test_a_gate_of_another_daemon(start, issuer, tmp_path):
    """Its users, by their keys of that daemon."""
    upstream = start("upstream", token_key=issuer.folder)
    people = People(upstream, issuer.token("admin"), tmp_path / "people")
    ann = people.api("ann")
    ann.create_repo("ann/gated", private=False)
    ann.upload_file(path_or_fileobj=LARGE, path_in_repo="weights.bin", repo_id="ann/gated")
    ann.update_repo_settings("ann/gated", gated="manual")
    here = start(mirror=upstream.url, token_key=issuer.folder)
    assert get(here, "/api/models/ann/gated").json()["gated"] == "manual"
    assert get(here, "/ann/gated/resolve/main/weights.bin").status == 401


def test_a_long_file_behind_a_gate(start, issuer):
    """The right to read it is asked again while it is sent. The token comes with each of its blocks."""
    long = os.urandom(40 << 20)
    with Gates(TOKEN, repos={"far/long": Repo({"w.bin": long}, stored={"w.bin"}, gated="auto")}) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert get(server, "/far/long/resolve/main/w.bin", TOKEN).body == long
        assert upstream.paths("/resolve/") and upstream.paths("/resolve/") == [path for path in upstream.sent(TOKEN) if "/resolve/" in path]
        for token in (None, OTHER):
            assert get(server, "/far/long/resolve/main/w.bin", token).status == 401
