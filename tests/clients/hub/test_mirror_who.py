"""Access to files of the mirrored hub: tokens of that hub, and its gates. The upstream is another daemon, with users, keys and gates; or a stub that lies."""

import concurrent.futures
import contextlib
import http.client
import itertools
import json
import os
import socket
import threading

import cairn
import pytest
from blake3 import blake3
from huggingface_hub import HfApi, hf_hub_download
from huggingface_hub.errors import GatedRepoError
from people import People
from upstream import LARGE, TEXT, Gates, Hub, Repo, answer, gated_hub as hub

TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
OTHER = "hf_" + "ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ"


def test_a_token_of_the_mirrored_hub_reads_what_is_public_there(start, issuer, tmp_path):
    """The token opens nothing of this server, which refuses it as an unknown key. For public repositories it is not sent upstream."""
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
            ("GET", "/api/models/ann/public/xet-read-token/main"), ("GET", "/api/models/far/open/xet-write-token/main"), ("GET", "/buckets/ann/b/resolve/x"),
            ("POST", "/api/models/far/open/commit/main"), ("POST", "/api/repos/create"), ("GET", "/api/models/far/open/auth-check/write"), ("GET", "/api/buckets/ann"),
        ):  # fmt: skip
            reply = server.request(method, path, token=TOKEN)
            assert reply.status == 401 and reply.json()["code"] in ("key.unknown", "key.missing"), (path, reply)
        assert upstream.sent(TOKEN) == ["/api/models/far/none/auth-check"]  # the repository might be private there


def test_revoked_and_malformed_keys_are_not_sent_upstream(start, issuer, tmp_path):
    """A key of this server that was revoked is refused, and is never sent upstream; neither is a text that no hub made as a token."""
    with hub() as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        key = people.keys["ann"]
        number = next(k["id"] for k in server.get("/v1/keys", token=issuer.token("admin")).json()["keys"] if k["account"] == "ann")
        assert server.request("DELETE", f"/v1/keys/{number}", headers={"Authorization": f"Bearer {issuer.token('admin')}"}).status in (200, 204)
        mistyped = key[:-1] + ("a" if key[-1] != "a" else "b")
        for token in (key, mistyped, "hf_short", "hf_" + "x" * 300, "other" + TOKEN, TOKEN + "%0d", "hf_cairn_" + "a" * 43):
            for path in ("/api/models/far/open", "/far/gated/resolve/main/secret.txt"):
                reply = server.get(path, token=token)
                assert reply.status == 401 and reply.json()["code"] == "key.unknown", (token, reply)
            assert not upstream.sent(token)
        assert start("shut", mirror=upstream.url, token_key=issuer.folder, no_hub_anonymous=True).get("/api/models/far/open", headers={"Authorization": f"Bearer {TOKEN}"}).status == 401


def test_the_mirrored_hub_decides_who_passes_its_gate(start, issuer, tmp_path):
    with hub(TOKEN) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        for token in (None, OTHER, TOKEN):
            assert server.get("/api/models/far/gated", token=token).json()["gated"] == "manual"
            assert {e["path"] for e in server.get("/api/models/far/gated/tree/main", token=token).json()} == {"secret.txt", "weights.bin"}
        for path in ("/far/gated/resolve/main/secret.txt", "/far/gated/raw/main/secret.txt", "/far/gated/resolve/main/weights.bin", "/api/models/far/gated/xet-read-token/main", "/api/models/far/gated/auth-check"):
            for token in (None, OTHER):
                reply = server.get(path, token=token)
                assert reply.status in (401, 403) and reply.headers["X-Error-Code"] == "GatedRepo" and b"secret" not in reply.body, (path, reply)
        assert not upstream.paths("/resolve/")
        how = {"endpoint": server.url, "cache_dir": tmp_path}
        for path, content in (("secret.txt", TEXT), ("weights.bin", LARGE)):
            with open(hf_hub_download("far/gated", path, token=TOKEN, **how), "rb") as file:
                assert file.read() == content
            assert server.get(f"/far/gated/resolve/main/{path}").status == 401  # even though the bytes are here now
            with pytest.raises(GatedRepoError):
                hf_hub_download("far/gated", path, token=OTHER, endpoint=server.url, cache_dir=tmp_path / "other")
        assert len(upstream.paths("/auth-check")) == 2  # one check for each token
        assert server.get("/api/models/far/gated/auth-check", token=TOKEN).status == 200
        assert TOKEN not in server.log() and OTHER not in server.log()


WHOAMI = {"type": "user", "id": "1", "name": "eve", "fullname": "Eve", "email": "eve@example.com", "orgs": [], "auth": {"type": "access_token", "accessToken": {"displayName": "laptop", "role": "read"}}}


def whoami(connection, head):
    connection.sendall(answer(200, json.dumps(WHOAMI).encode()) if TOKEN.encode() in head else answer(401, b"{}"))


def test_the_mirrored_hub_says_whose_a_token_is(start, issuer, tmp_path):
    """As for `hf auth login`. The answer is passed on to the asker, and not kept."""
    with hub(TOKEN) as upstream:
        upstream.ranged["/api/whoami-v2"] = whoami
        people = People(start(mirror=upstream.url, token_key=issuer.folder), issuer.token("admin"), tmp_path)
        server, people.keys["eve"] = people.server, TOKEN
        assert HfApi(endpoint=server.url, token=TOKEN).whoami() == WHOAMI
        reply = server.get("/api/whoami-v2", token=TOKEN)
        assert reply.json() == WHOAMI and reply.headers["Cache-Control"] == "no-store" and len(upstream.sent(TOKEN)) == 2
        assert "eve" in people.hf("auth", "whoami", who="eve")
        assert people.api("ann").whoami()["name"] == "ann"
        refused = server.get("/api/whoami-v2", token=OTHER)
        assert (refused.status, refused.json()["code"]) == (401, "key.unknown") and server.get("/api/whoami-v2", token=OTHER).status == 401
        assert len(upstream.sent(OTHER)) == 1
        assert not upstream.sent(people.keys["ann"]) and TOKEN not in server.log() and "eve@" not in server.log()
    assert server.get("/api/whoami-v2", token=TOKEN).status == 504


@pytest.mark.parametrize("bad", [b"<html>", b"[]", b"{}", b'{"name": "' + b"x" * 70_000 + b'"}', 500, 302])
def test_an_upstream_does_not_say_whose_a_token_is(start, issuer, bad):
    with hub(TOKEN) as upstream:
        upstream.instead["/api/whoami-v2"] = answer(200, bad) if isinstance(bad, bytes) else answer(bad, Location="/login")
        reply = start(mirror=upstream.url, token_key=issuer.folder).get("/api/whoami-v2", token=TOKEN)
        assert reply.status == (429 if bad == 500 else 504) and reply.json()["code"].startswith("mirror."), reply


def test_nobody_asks_whose_many_tokens_are(start, issuer):
    with hub() as upstream:
        upstream.ranged["/api/whoami-v2"] = whoami
        server = start(mirror=upstream.url, token_key=issuer.folder)
        replies = [server.get("/api/whoami-v2", token=f"{OTHER}{n}") for n in range(20)]
        assert {r.status for r in replies} == {401, 429} and len(upstream.paths("/api/whoami-v2")) < 15


def test_an_answer_about_a_removed_repository_admits_to_no_other(start, issuer):
    """While the upstream is asked whether a token may read a repository, the repository is removed and made anew. The next asker does not get that answer."""
    asked, go = [], threading.Event()

    def admit(connection):
        asked.append(connection)
        if len(asked) > 1:
            return connection.sendall(answer(403, b"{}", X_Error_Code="GatedRepo"))
        go.wait(60)
        return connection.sendall(answer(200, b"{}"))

    with hub(TOKEN) as upstream, concurrent.futures.ThreadPoolExecutor(1) as pool:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert server.get("/api/models/far/gated").status == 200
        upstream.instead["/auth-check"] = admit
        first = pool.submit(server.get, "/far/gated/resolve/main/secret.txt", token=TOKEN)
        cairn.wait_until("the question", lambda: asked)
        assert server.request("DELETE", "/v1/mirror/repositories/models/far/gated", token=issuer.token("admin")).status == 200
        assert server.get("/api/models/far/gated").status == 200
        second = server.get("/far/gated/resolve/main/secret.txt", token=TOKEN)
        assert second.status in (401, 403) and len(asked) == 2, second
        go.set()
        assert first.result().status in (401, 403) and not upstream.paths("/resolve/")


def test_a_token_goes_to_the_mirrored_hub_alone(start, issuer):
    """Redirects within the hub get the token. Other hosts do not, even those that hold its files."""
    with hub(TOKEN) as upstream, Hub({}, host="127.0.0.2", port=upstream.port) as files, Hub({}) as elsewhere:
        server = start(mirror=upstream.url, mirror_hosts="127.0.0.2", token_key=issuer.folder)
        upstream.instead["/secret.txt"] = answer(302, Location="/cached/x")
        upstream.instead["/cached/"] = answer(302, Location=f"{files.url}/signed")
        files.instead["/signed"] = answer(200, TEXT)
        assert server.get("/far/gated/resolve/main/secret.txt", token=TOKEN).body == TEXT
        assert [path for path in upstream.sent(TOKEN) if "/cached/" in path] == upstream.paths("/cached/") != []
        assert files.paths() == ["/signed"] and TOKEN.encode() not in files.asked[0] and b"uthorization" not in files.asked[0]
        upstream.instead["/weights.bin"] = answer(302, Location=f"{elsewhere.url}/x")
        assert server.get("/far/gated/resolve/main/weights.bin", token=TOKEN).status == 504
        assert not elsewhere.asked


@pytest.mark.parametrize("bad", [answer(500), answer(429, Retry_After="1"), answer(302, Location="/login"), b"HTTP/1.1 200"])
def test_an_upstream_without_an_answer_lets_nobody_in(start, issuer, bad):
    with hub(TOKEN) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert server.get("/api/models/far/gated").status == 200
        upstream.instead["/auth-check"] = bad if bad != b"HTTP/1.1 200" else (lambda connection: connection.close())
        reply = server.get("/far/gated/resolve/main/secret.txt", token=TOKEN)
        assert reply.status in (429, 504) and b"secret text" not in reply.body, reply


def test_an_admitted_token_stays_admitted_while_the_line_is_down(start, issuer):
    with hub(TOKEN) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert server.get("/far/gated/resolve/main/secret.txt", token=TOKEN).body == TEXT
    assert server.get("/far/gated/resolve/main/secret.txt", token=TOKEN).body == TEXT
    reply = server.get("/far/gated/resolve/main/secret.txt", token=OTHER)
    assert reply.status == 504, reply


def test_a_yes_does_not_hold_for_another_repository_of_the_name(start, issuer):
    with hub(TOKEN, OTHER) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert server.get("/far/gated/resolve/main/secret.txt", token=TOKEN).body == TEXT
        assert server.request("DELETE", "/v1/mirror/repositories/models/far/gated", token=issuer.token("admin")).status == 200
        upstream.tokens.remove(TOKEN)
        assert server.get("/far/gated/resolve/main/secret.txt", token=OTHER).body == TEXT
        reply = server.get("/far/gated/resolve/main/secret.txt", token=TOKEN)
        assert reply.status in (401, 403) and TEXT not in reply.body, reply
        assert len([path for path in upstream.sent(TOKEN) if "/auth-check" in path]) == 2


def test_a_refusal_for_one_token_is_not_one_for_others(start, issuer):
    with hub(TOKEN, OTHER) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        upstream.instead["/secret.txt"] = answer(403, b"{}", X_Error_Code="GatedRepo")
        reply = server.get("/far/gated/resolve/main/secret.txt", token=TOKEN)
        assert (reply.status, reply.json()["code"]) == (403, "mirror.denied"), reply
        del upstream.instead["/secret.txt"]
        assert server.get("/far/gated/resolve/main/secret.txt", token=OTHER).body == TEXT


def test_a_token_that_is_put_off_puts_nobody_else_off(start, issuer):
    with hub(TOKEN) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        upstream.instead["/auth-check"] = answer(429, Retry_After="600")
        reply = server.get("/far/gated/resolve/main/secret.txt", token=OTHER)
        assert (reply.status, reply.json()["code"]) == (429, "mirror.later"), reply
        del upstream.instead["/auth-check"]
        assert server.get("/far/gated/resolve/main/secret.txt", token=TOKEN).body == TEXT


def test_nobody_tries_many_tokens(start, issuer):
    """One address may have eight tokens checked at once, and then about one a second."""
    with hub() as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert server.get("/api/models/far/gated").status == 200
        replies = [server.get("/far/gated/resolve/main/secret.txt", token=f"{OTHER}{n}") for n in range(20)]
        assert {r.status for r in replies} == {401, 429}, replies
        assert len(upstream.paths("/auth-check")) < 15


def test_nobody_tries_many_names(start, issuer, tmp_path):
    """One sender may look for 64 names that are not here, and then about one a second. Several requests for one name count once. Names of
    repositories that are here count only if they are hidden from the asker."""
    with hub(TOKEN) as upstream:
        hidden = [f"far/hidden{n}" for n in range(4)]
        upstream.repos |= {name: Repo({"a.txt": b"hidden"}, private=True) for name in hidden}
        server = start(mirror=upstream.url, token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        assert {server.get(f"/api/models/{name}", token=TOKEN).status for name in hidden} == {200}
        ann, bob = people.keys["ann"], people.keys["bob"]
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            assert {reply.status for reply in pool.map(lambda _: server.get("/api/models/far/open", token=ann), range(40))} == {200}
        assert {server.get(f"/api/models/far/none{n}", token=ann).status for n in range(50)} == {404}
        begun = len(upstream.asked)
        replies = [server.get(f"/api/models/far/open/revision/none{n}", token=ann) for n in range(150)]
        refused = [reply for reply in replies if reply.status == 429]
        assert refused and {reply.json()["code"] for reply in refused} == {"mirror.full"} and {reply.headers["Retry-After"] for reply in refused} == {"5"}
        assert len(upstream.asked) - begun == len(replies) - len(refused)
        for path in ("/api/models/far/open", "/api/models/far/none1", "/api/models/far/open/revision/none0"):
            assert server.get(path, token=ann).status in (200, 404), path
        for names in (hidden, [f"unowned{n}" for n in range(4)]):  # a second may pass between two requests, but not between all of them
            codes = []
            for name in names:
                while server.get(f"/api/models/far/more{len(upstream.asked)}", token=ann).status != 429:
                    pass
                codes.append(server.get(f"/api/models/{name}", token=ann).status)
            assert 429 in codes, names
        assert server.get("/api/models/far/other", token=bob).status == 404


def place(address):
    """The number of an address, as anybody can compute it."""
    digest = blake3(socket.inet_aton(address) + bytes(12), key=b"a" + bytes(31)).digest()
    return int.from_bytes(digest[:8], "little") % 256


def asked_from(server, address, name):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60, source_address=(address, 0))) as connection:
        connection.request("GET", f"/api/models/far/{name}")
        return connection.getresponse().status


def test_nobody_uses_up_what_others_may(start, issuer, tmp_path):
    """Limits for each sender. The attacker chooses an address whose number ends like that of the victim's."""
    with hub() as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        account = next(a["id"] for a in server.get("/v1/accounts", token=issuer.token("admin")).json()["accounts"] if a["name"] == "ann")
        addresses = [f"127.0.{i}.{k}" for i, k in itertools.product(range(1, 80), range(1, 250))]
        for key, number in ((people.keys["ann"], account % 256), (None, place("127.0.0.1"))):
            codes = []
            for attacker in [a for a in addresses if place(a) == number][:3]:  # one of them may share the victim's limit by chance
                while asked_from(server, attacker, f"none{len(upstream.asked)}") != 429:
                    pass
                codes.append(server.get(f"/api/models/far/more{len(upstream.asked)}", token=key).status)
            assert set(codes) != {429}


def test_a_gate_of_another_daemon(start, issuer, tmp_path):
    """Users of the upstream daemon pass its gate by their keys of that daemon."""
    upstream = start("upstream", token_key=issuer.folder)
    people = People(upstream, issuer.token("admin"), tmp_path / "people")
    ann = people.api("ann")
    ann.create_repo("ann/gated", private=False)
    ann.upload_file(path_or_fileobj=LARGE, path_in_repo="weights.bin", repo_id="ann/gated")
    ann.update_repo_settings("ann/gated", gated="manual")
    here = start(mirror=upstream.url, token_key=issuer.folder)
    assert here.get("/api/models/ann/gated").json()["gated"] == "manual"
    assert here.get("/ann/gated/resolve/main/weights.bin").status == 401


def test_a_long_file_behind_a_gate(start, issuer):
    """The right to read the file is checked again while it is sent. The request for each block has the token."""
    long = os.urandom(40 << 20)
    with Gates(TOKEN, repos={"far/long": Repo({"w.bin": long}, stored={"w.bin"}, gated="auto")}) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert server.get("/far/long/resolve/main/w.bin", token=TOKEN).body == long
        assert upstream.paths("/resolve/") and upstream.paths("/resolve/") == [path for path in upstream.sent(TOKEN) if "/resolve/" in path]
        for token in (None, OTHER):
            assert server.get("/far/long/resolve/main/w.bin", token=token).status == 401
