"""The rules of a mirror: whose token fetches repositories of another hub, and who gets those that are not public. SIGHUP reads the rules
again."""

import re
import signal
import subprocess

import cairn
import hf_client
from huggingface_hub import hf_hub_download
from hub_calls import HF, account, make_key, member
from issuer import Issuer
from people import People
from upstream import LARGE, SHA, TEXT, gated_hub as hub

EXIT_USAGE = 64
OPERATORS = "hf_" + "OPERATORSoperatorsOPERATORSoperato"
ASKERS = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"


def reload(server, what="mirror_rules"):
    """@return the log's line about it"""
    lines = lambda: [line for line in server.events() if line["event"] in ("reload", "reload_failed") and line.get("what") == what]
    before = len(lines())
    server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("the reload", lambda: len(lines()) > before)
    return lines()[-1]


def refused(server, path, *tokens):
    for token in tokens:
        reply = server.get(path, token=token)
        assert reply.status in (401, 403) and reply.headers["X-Error-Code"] == "GatedRepo" and b"secret" not in reply.body, (token, reply)
    return reply


def test_the_token_of_a_rule_fetches_for_an_organisation(start, issuer, tmp_path, rules):
    """Members of the organisation need no token of the mirrored hub. Others do, and an answer to those without one says where to ask for access."""
    with hub(OPERATORS, ASKERS) as upstream:
        server = start(mirror=upstream.url, mirror_rules=rules("allow far/open\nallow far/* token=key gated=org:Team\nallow *", key=OPERATORS + "\n"), token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        assert server.get("/api/models/far/gated").json()["gated"] == "manual"
        where = f"Visit {upstream.url}/far/gated to ask for access."
        for path in ("secret.txt", "weights.bin"):
            assert where in refused(server, f"/far/gated/resolve/main/{path}", None, people.keys["bob"]).json()["error"]
        one = make_key(server, issuer.token("admin"), account="rita", scope="read", repo="models/rita/x")["key"]
        refused(server, "/far/gated/resolve/main/secret.txt", one)
        assert not upstream.paths("/resolve/") and not upstream.paths("/auth-check")
        for path, content in (("secret.txt", TEXT), ("weights.bin", LARGE)):
            with open(hf_hub_download("far/gated", path, token=people.keys["rita"], endpoint=server.url, cache_dir=tmp_path / "rita"), "rb") as file:
                assert file.read() == content
        assert server.get("/api/models/far/gated/auth-check", token=people.keys["adam"]).status == 200
        refused(server, "/far/gated/resolve/main/weights.bin", None, people.keys["bob"])
        assert server.get("/far/gated/resolve/main/secret.txt", token=ASKERS).body == TEXT  # the mirrored hub admits them
        assert {path for path in upstream.paths("far/gated") if "auth-check" not in path} == {path for path in upstream.sent(OPERATORS)}
        assert [path for path in upstream.sent(ASKERS)] == upstream.paths("/auth-check")
        assert server.get("/api/models/far/open").status == 200 and not [path for path in upstream.sent(OPERATORS) if "open" in path]
        assert f'ask for access at <a href="{upstream.url}/far/gated"'.encode() in people.ask("GET", "/far/gated", "bob").body
        assert member(server, issuer.token("admin"), "team", "rita", "none").status == 200  # a member who leaves gets nothing more
        refused(server, "/far/gated/resolve/main/secret.txt", people.keys["rita"])
        assert OPERATORS not in server.log()


def test_a_rules_token_opens_no_gate_that_came_since_the_last_look(start, rules):
    with hub(OPERATORS) as upstream:
        server = start(mirror=upstream.url, mirror_rules=rules("allow * token=key", key=OPERATORS))
        assert server.get(f"/api/models/far/open/revision/{SHA}").status == 200
        upstream.repos["far/open"].info["gated"] = "manual"
        reply = server.get(f"/far/open/resolve/{SHA}/a.txt")
        assert reply.status in (401, 403) and reply.body != b"open", reply


def test_nothing_is_asked_about_names_that_the_rules_leave_out(start, issuer, rules):
    with hub(ASKERS) as upstream:
        server = start(mirror=upstream.url, mirror_rules=rules("deny far/gated\nallow *"), token_key=issuer.folder)
        assert server.get("/api/models/far/gated", token=ASKERS).status in (401, 404)
        assert not upstream.paths("far/gated")


def test_a_gate_that_the_rules_shut(start, issuer, tmp_path, rules):
    with hub(OPERATORS, ASKERS) as upstream:
        server = start(mirror=upstream.url, mirror_rules=rules("allow * token=key", key=OPERATORS), token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        assert server.get("/far/gated/resolve/main/secret.txt", token=ASKERS).body == TEXT
        refused(server, "/far/gated/resolve/main/secret.txt", people.keys["rita"])
        rules("allow * token=key gated=nobody")
        assert reload(server)["event"] == "reload"
        refused(server, "/far/gated/resolve/main/secret.txt", ASKERS, None, people.keys["rita"], people.keys["operator"])
        assert server.get("/api/models/far/gated").status == 200


def test_the_rules_are_read_again(start, issuer, tmp_path, rules):
    """A file that is wrong changes nothing."""
    with hub(OPERATORS) as upstream:
        path = rules("allow far/open token=key", key="hf_" + "o" * 34)
        server = start(mirror=upstream.url, mirror_rules=path, token_key=issuer.folder)
        people = People(server, issuer.token("admin"), tmp_path)
        assert server.get("/api/models/far/open").status == 200 and upstream.sent("hf_" + "o" * 34)
        assert server.get("/api/models/far/gated").headers.get("X-Error-Code") == "RepoNotFound"
        for text, mode, why in (("allow * tokens=key", 0o600, "line 1: "), ("allow * token=none", 0o600, "No such file"), ("allow * token=key", 0o604, "mode 0604"), ("allow * token=key", 0o600, "has no token")):
            rules(text, mode, key=OPERATORS if mode != 0o600 or "none" in text else "two words")
            line = reload(server)
            assert line["event"] == "reload_failed" and line["rule"] == "mirror.rules" and why in line["cause"], line
            assert server.get("/api/models/far/gated").headers.get("X-Error-Code") == "RepoNotFound"
        assert "cairn_config_last_reload_successful 0" in server.get("/metrics", token=issuer.token("admin")).body.decode()
        rules("allow * token=key gated=org:team", key=OPERATORS)
        assert reload(server)["event"] == "reload"
        assert people.ask("GET", "/far/gated/resolve/main/secret.txt", "rita").body == TEXT
        assert all(OPERATORS in head.decode() for head in upstream.asked if b"far/gated" in head)


def test_a_daemon_does_not_start_with_a_token_that_others_can_read(tmp_path, rules):
    for mode, text, why in ((0o644, "allow * token=key", "is open to everybody"), (0o600, "allow * token=absent", "absent"), (0o600, "allow * gated=org:team", "token=")):
        options = ["--data-dir", tmp_path / "data", "--mirror", "http://127.0.0.1:9", "--mirror-rules", rules(text, mode, key=OPERATORS)]
        done = subprocess.run([cairn.CAIRND, *options], capture_output=True, text=True, timeout=60)
        assert done.returncode == EXIT_USAGE and why in done.stderr and OPERATORS not in done.stderr, done.stderr


def test_a_token_file_may_be_anywhere(start, tmp_path, rules):
    """The daemon reads a token file in a folder that the settings do not name, despite its sandbox, and reads it again at a reload."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "key").write_text(OPERATORS)
    (elsewhere / "key").chmod(0o600)
    with hub(OPERATORS) as upstream:
        server = start(mirror=upstream.url, mirror_rules=rules(f"allow * token={elsewhere}/key"))
        assert server.get("/far/gated/resolve/main/secret.txt").body == TEXT  # everybody is the operator of a daemon without keys
        (elsewhere / "key").unlink()
        (elsewhere / "key").write_text("hf_" + "n" * 34)
        (elsewhere / "key").chmod(0o600)
        assert reload(server)["event"] == "reload"
        assert server.get("/api/models/far/open").status == 200 and upstream.sent("hf_" + "n" * 34)


def test_the_key_of_a_rule_opens_a_gate_of_another_daemon(start, issuer, tmp_path, rules):
    """The rule's token is a key of the other daemon, of an account to which its gate is open."""
    upstream = start("upstream", token_key=issuer.folder)
    theirs = People(upstream, issuer.token("admin"), tmp_path / "theirs")
    ann = theirs.api("ann")
    ann.create_repo("ann/gated", private=False)
    ann.upload_file(path_or_fileobj=LARGE, path_in_repo="weights.bin", repo_id="ann/gated")
    ann.update_repo_settings("ann/gated", gated="manual")
    ann.grant_access("ann/gated", "bob") if theirs.ask("POST", "/api/models/ann/gated/ask-access", "bob", b"").status else None
    here = start(mirror=upstream.url, mirror_rules=rules("allow * token=key gated=org:house", key=theirs.keys["bob"]), token_key=issuer.folder)
    admin = issuer.token("admin")
    for kind, name in (("organisation", "house"), ("user", "eve")):
        assert here.post("/v1/accounts", f'{{"kind": "{kind}", "name": "{name}"}}'.encode(), token=admin).status == 200
    key = make_key(here, admin, account="eve", scope="read")["key"]
    refused(here, "/ann/gated/resolve/main/weights.bin", None, key)
    assert here.post("/v1/accounts/house/members", b'{"user": "eve", "role": "read"}', token=admin).status == 200
    assert here.get("/ann/gated/resolve/main/weights.bin", token=key).body == LARGE
    assert not re.search(theirs.keys["bob"], here.log())


def test_a_key_of_another_daemon_fetches_what_its_gate_and_its_door_keep(start, issuer, tmp_path, rules):
    """The upstream is another daemon. The rule has a key of a person there, who may read what is gated and private; members of the organisation here get it by
    their own keys of this server, by `hf auth` too. A key of the upstream opens nothing here, and is not sent there."""
    there = People(start("upstream", token_key=issuer.folder), issuer.token("admin"), tmp_path / "there")
    ann = there.api("ann")
    for name, how in (("gated", {"gated": "manual"}), ("private", {"private": True}), ("open", {})):
        ann.create_repo(f"ann/{name}", private=False)
        ann.upload_file(path_or_fileobj=LARGE + name.encode(), path_in_repo="weights.bin", repo_id=f"ann/{name}")
        if how:
            ann.update_repo_settings(f"ann/{name}", **how)
    own = Issuer(tmp_path / "own")
    path = rules("allow ann/open\nallow ann/* token=key gated=org:house", key=there.keys["ann"])
    here = start(mirror=there.server.url, mirror_rules=path, token_key=own.folder)
    admin = own.token("admin")
    account(here, admin, "house", "organisation")
    keys = {}
    for name in ("mia", "max"):
        account(here, admin, name)
        keys[name] = make_key(here, admin, account=name, scope="read")["key"]
    assert member(here, admin, "house", "mia", "read").status == 200
    assert here.get("/ann/open/resolve/main/weights.bin").body == LARGE + b"open"
    for name in ("gated", "private"):
        file = f"/ann/{name}/resolve/main/weights.bin"
        for token in (None, keys["max"], there.keys["ann"], there.keys["bob"]):
            reply = here.get(file, token=token)
            assert reply.status in (401, 403, 404) and LARGE not in reply.body, (name, token, reply)
        env = hf_client.hub_environment(tmp_path / name, here)
        for words in (["auth", "login", "--token", keys["mia"]], ["download", f"ann/{name}", "weights.bin", "--local-dir", str(tmp_path / name)]):
            done = subprocess.run([*HF, *words], env=env, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, (words, done.stderr[-2000:])
        assert (tmp_path / name / "weights.bin").read_bytes() == LARGE + name.encode()
        assert here.get(file, token=keys["max"]).status in (401, 403, 404), "others are refused although the file is here now"
    there.server.stop()
    assert here.get("/ann/gated/resolve/main/weights.bin", token=keys["mia"]).body == LARGE + b"gated"
    assert there.keys["ann"] not in here.log() and keys["mia"] not in there.server.log()
