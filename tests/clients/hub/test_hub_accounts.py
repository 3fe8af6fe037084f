"""Accounts, organisations, keys of accounts, and what whoami answers to a client of the hub."""

import base64
import contextlib
import json
import re
import shutil
import sqlite3
import subprocess

import cairn
import pytest
from hub_calls import account, ask, make_key, member, post, run, token_of
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError


def whoami(server, key):
    return server.get("/api/whoami-v2", headers={"Authorization": f"Bearer {key}"} if key else {})


def test_whoami_names_the_account_and_its_organisations(guarded, admin):
    account(guarded, admin, "ann", fullname="Ann Ä", email="ann@example.org")
    for organisation in ("team", "other", "third"):
        account(guarded, admin, organisation, "organisation")
    assert member(guarded, admin, "team", "ann", "write").json() == {"changed": True}
    assert member(guarded, admin, "other", "ann", "admin").json() == {"changed": True}
    key = make_key(guarded, admin, name="laptop", account="ann", scope="write")["key"]
    me = HfApi(endpoint=guarded.url, token=key).whoami()
    assert (me["type"], me["name"], me["fullname"], me["email"]) == ("user", "ann", "Ann Ä", "ann@example.org")
    assert me["avatarUrl"] == me["orgs"][0]["avatarUrl"] == ""  # _get_mocked_oauth_info() of the library fails without it
    assert [(o["type"], o["name"], o["roleInOrg"]) for o in me["orgs"]] == [("org", "team", "write"), ("org", "other", "admin")]
    told = me["auth"]["accessToken"]
    assert me["auth"]["type"] == "access_token" and (told["displayName"], told["role"]) == ("laptop", "write")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", told["createdAt"])
    assert (me["usedStorage"], me["storageQuota"]) == (0, None)
    assert post(guarded, "/v1/quotas", {"place": "ann", "quota_bytes": 1000}, admin).status == 200
    assert HfApi(endpoint=guarded.url, token=key).whoami()["storageQuota"] == 1000
    for who in ({"account": "ann"}, {}):
        assert "storageQuota" not in whoami(guarded, make_key(guarded, admin, **who)["key"]).json(), "people who may not add to an account are not told its quota"
    assert whoami(guarded, make_key(guarded, admin, account="ann")["key"]).json()["auth"]["accessToken"]["role"] == "read"
    assert whoami(guarded, make_key(guarded, admin, account="team")["key"]).json()["type"] == "org"
    assert whoami(guarded, make_key(guarded, admin)["key"]).json()["name"] == "operator"


def test_the_key_may_be_a_password(guarded, admin):
    account(guarded, admin, "ann")
    key = make_key(guarded, admin, account="ann")["key"]
    for user in ("ann", "x", "", "~~~"):
        basic = base64.b64encode(f"{user}:{key}".encode()).decode()
        reply = guarded.get("/api/whoami-v2", headers={"Authorization": f"Basic {basic}"})
        assert reply.status == 200 and reply.json()["name"] == "ann", reply


def test_whoami_refuses_wrong_keys_and_headers(guarded, admin, issuer):
    account(guarded, admin, "ann")
    key = make_key(guarded, admin, account="ann")["key"]
    other = key[:-2] + ("A" if key[-2] != "A" else "B") + key[-1]
    words = "Invalid credentials in Authorization header"
    for wrong in (None, other, key[:-1], issuer.token("admin"), "hf_x"):
        reply = whoami(guarded, wrong)
        assert cairn.is_hub_error(reply, 401, "key.unknown") == words
        assert reply.headers["WWW-Authenticate"] == "Bearer"
    for header in ("", "Bearer", "Basic", "Basic !", "Basic " + base64.b64encode(b"no colon").decode(), f"Digest {key}", "Basic " + "A" * 4000):
        assert cairn.is_hub_error(guarded.get("/api/whoami-v2", headers={"Authorization": header}), 401, "key.unknown") == words
    for credentials in (f"u:{key}\0", f"u:{key}\0more", f"u\0:{key}"):
        basic = base64.b64encode(credentials.encode()).decode()
        reply = guarded.get("/api/whoami-v2", headers={"Authorization": f"Basic {basic}"})
        assert cairn.is_hub_error(reply, 401, "key.unknown") == words, "a zero byte does not end a header unnoticed"
    with pytest.raises(HfHubHTTPError) as refused:
        HfApi(endpoint=guarded.url, token=other).whoami()
    assert "Invalid user token" in str(refused.value)


def test_without_tokens_everybody_is_the_operator(server):
    for key in (None, "hf_anything"):
        assert whoami(server, key).json()["name"] == "operator"


def test_a_disabled_account(guarded, admin):
    """The keys of a disabled account are refused, and so are tokens that were got with them. When the account is enabled, both work again."""
    account(guarded, admin, "ann")
    key = make_key(guarded, admin, account="ann", scope="write")["key"]
    assert whoami(guarded, key).status == 200
    assert post(guarded, "/v1/accounts/ANN", {"disabled": True}, admin).json() == {"changed": True}
    assert post(guarded, "/v1/accounts/ann", {"disabled": True}, admin).json() == {"changed": False}
    cairn.is_hub_error(whoami(guarded, key), 401, "key.unknown")
    guarded.stop()
    guarded.start()
    assert whoami(guarded, key).status == 401
    assert post(guarded, "/v1/accounts/ann", {"disabled": False}, admin).json() == {"changed": True}
    assert whoami(guarded, key).status == 200


def test_an_accounts_key_has_the_hubs_repositories_only(guarded, admin):
    """An operator's key opens a repository by any name that a token may have, even one that the hub does not have. A key of an account opens only
    repositories of the hub."""
    account(guarded, admin, "ann")
    key = make_key(guarded, admin, account="ann", scope="admin")["key"]
    for repo in ("models/ann/one", "models/bob/one"):
        reply = ask(guarded, key, repo)
        assert reply.status == 404 and reply.headers["X-Error-Code"] == "RepoNotFound", reply
    assert token_of(ask(guarded, make_key(guarded, admin)["key"], "models/ann/one"))
    assert guarded.get("/v1/accounts", token=key).status == 401, "a key is no token"


def test_accounts_are_listed(guarded, admin):
    account(guarded, admin, "Ann", fullname="A", email="a@b")
    account(guarded, admin, "team", "organisation")
    post(guarded, "/v1/accounts/ann", {"disabled": True}, admin)
    first, second = guarded.get("/v1/accounts", token=admin).json()["accounts"]
    assert {k: first[k] for k in ("kind", "name", "fullname", "email", "disabled")} == {
        "kind": "user", "name": "Ann", "fullname": "A", "email": "a@b", "disabled": True}
    assert (second["kind"], second["name"], second["disabled"]) == ("organisation", "team", False)
    assert guarded.get("/v1/accounts/team/members", token=admin).json() == {"members": []}
    for role in ("read", "admin"):
        assert member(guarded, admin, "team", "ann", role).json() == {"changed": True}
    assert member(guarded, admin, "team", "ann", "admin").json() == {"changed": False}
    assert guarded.get("/v1/accounts/team/members", token=admin).json() == {"members": [{"name": "Ann", "role": "admin"}]}
    assert member(guarded, admin, "team", "ann", "none").json() == {"changed": True}
    assert guarded.get("/v1/accounts/team/members", token=admin).json() == {"members": []}
    assert guarded.get("/v1/keys", token=admin).json()["keys"] == []
    make_key(guarded, admin, account="ann")
    assert guarded.get("/v1/keys", token=admin).json()["keys"][0]["account"] == "Ann"


def test_invalid_accounts_are_refused(guarded, admin):
    account(guarded, admin, "ann")
    account(guarded, admin, "team", "organisation")
    for body in ({}, {"kind": "user"}, {"name": "x"}, {"kind": "thing", "name": "x"}, {"kind": "user", "name": 1}, [], "x",
                 {"kind": "user", "name": "x", "fullname": 7}, {"kind": "user", "name": "x", "email": "e" * 256}):  # fmt: skip
        cairn.is_error(post(guarded, "/v1/accounts", body, admin), 400, "account.body")
    for name in ("", "a/b", "-a", "a.", "a..b", "ä", "x" * 97):
        cairn.is_error(post(guarded, "/v1/accounts", {"kind": "user", "name": name}, admin), 400, "account.name")
    cairn.is_error(post(guarded, "/v1/accounts", {"kind": "organisation", "name": "ANN"}, admin), 409, "account.known")
    cairn.is_error(post(guarded, "/v1/accounts/bob", {"disabled": True}, admin), 404, "account.unknown")
    cairn.is_error(post(guarded, "/v1/accounts/ann", {"disabled": 1}, admin), 400, "account.body")
    cairn.is_error(guarded.get("/v1/accounts/bob/members", token=admin), 404, "account.unknown")
    cairn.is_error(guarded.get("/v1/accounts/ann/members", token=admin), 404, "account.unknown")  # a user has no members
    for organisation, user, role, status, code in (
        ("team", "bob", "read", 404, "user.unknown"),
        ("team", "team", "read", 404, "user.unknown"),
        ("ann", "ann", "read", 404, "account.unknown"),
        ("bob", "ann", "read", 404, "account.unknown"),
        ("team", "ann", "owner", 400, "account.body"),
        ("team", 1, "read", 400, "account.body"),
    ):
        cairn.is_error(member(guarded, admin, organisation, user, role), status, code)
    body = json.dumps({"name": "x", "account": "bob"}).encode()
    cairn.is_error(guarded.post("/v1/keys", body, token=admin), 404, "account.unknown")
    cairn.is_error(guarded.post("/v1/keys", b'{"name":"x","account":""}', token=admin), 400, "key.body")


def test_parts_of_routes_are_no_account_names(guarded, admin):
    """The first part of each route's path, and of each older path, cannot be the name of an account."""
    firsts = {p.split("/")[1] for _, pattern, older, _ in cairn.routes() for p in (pattern, *older)}
    assert {"api", "v1", "health"} <= firsts
    for name in (*(f for f in firsts if not f.startswith("{")), "models", "datasets", "spaces", "Buckets", "operator", "me"):
        cairn.is_error(post(guarded, "/v1/accounts", {"kind": "user", "name": name}, admin), 400, "account.reserved")


def test_overviews(guarded, admin):
    """Names are for everybody. The members of an organisation are for its members, and the organisations of a user are for that user."""
    account(guarded, admin, "ann", fullname="Ann Ä", email="ann@example.org")
    account(guarded, admin, "bob")
    account(guarded, admin, "team", "organisation", fullname="The team")
    member(guarded, admin, "team", "ann", "write")
    of = {name: HfApi(endpoint=guarded.url, token=make_key(guarded, admin, account=name)["key"]) for name in ("ann", "bob")}
    of["nobody"] = HfApi(endpoint=guarded.url, token=False)
    for who, api in of.items():
        ann, team = api.get_user_overview("ann"), api.get_organization_overview("team")
        assert (ann.username, ann.fullname, ann.user_type, [org.name for org in ann.orgs]) == ("ann", "Ann Ä", "user", ["team"] if who == "ann" else [])
        assert (team.name, team.fullname) == ("team", "The team") and "example.org" not in repr((ann, team))
        for call, name in ((api.get_user_overview, "team"), (api.get_organization_overview, "ann"), (api.get_user_overview, "none"), (api.get_organization_overview, "none")):
            with pytest.raises(HfHubHTTPError, match="404"):
                call(name)
    assert [user.username for user in of["ann"].list_organization_members("team")] == ["ann"]
    for who, why in (("bob", "only the members of an organisation"), ("nobody", "Send an API key")):
        with pytest.raises(HfHubHTTPError, match=why):
            list(of[who].list_organization_members("team"))


def test_without_a_hub(start, issuer, admin):
    server = start(token_key=issuer.folder, no_hub=True)
    assert server.get("/api/whoami-v2").status == 404
    assert server.get("/v1/accounts", token=admin).status == 404
    assert ask(server, make_key(server, admin)["key"]).status == 200


@pytest.mark.sqlite
def test_they_survive_a_backup(guarded, admin, tmp_path):
    account(guarded, admin, "ann")
    account(guarded, admin, "team", "organisation")
    member(guarded, admin, "team", "ann", "write")
    key = make_key(guarded, admin, account="ann")["key"]
    guarded.stop()
    copy, data = tmp_path / "copy.fold", tmp_path / "restored"
    for command in (["backup", "--data-dir", guarded.data, copy], ["restore", "--data-dir", data, copy], ["fsck", "--data-dir", data]):
        done = subprocess.run([cairn.CAIRN, *command], capture_output=True, text=True)
        assert done.returncode == 0, done
    with contextlib.closing(sqlite3.connect(data / "index.sqlite")) as index:
        assert index.execute("SELECT a.name, m.role FROM membership m JOIN account a ON a.id = m.user").fetchall() == [("ann", 2)]
        assert index.execute("SELECT count(*) FROM api_key WHERE account IS NOT NULL").fetchone() == (1,)
    shutil.rmtree(guarded.data)
    data.rename(guarded.data)
    guarded.start()
    assert whoami(guarded, key).json()["orgs"][0]["name"] == "team"


def test_the_commands(guarded, admin):
    key = run(guarded, admin, "user", "add", "ann", "--fullname", "Ann B.", "--key").strip()
    assert whoami(guarded, key).json()["fullname"] == "Ann B."
    assert run(guarded, admin, "user", "add", "bob") == "made bob\n"
    assert run(guarded, admin, "org", "add", "team") == "made team\n"
    assert run(guarded, admin, "org", "member", "team", "ann", "write") == "changed\n"
    assert run(guarded, admin, "org", "member", "team", "ann", "write") == "was so already\n"
    assert run(guarded, admin, "org", "members", "team") == '"write" "ann"\n'
    assert whoami(guarded, key).json()["orgs"][0]["name"] == "team"
    assert re.fullmatch(r'\S+ enabled  "ann" "Ann B."\n\S+ enabled  "bob" ""\n', run(guarded, admin, "user", "list"))
    assert re.fullmatch(r'\S+ enabled  "team" ""\n', run(guarded, admin, "org", "list"))
    assert run(guarded, admin, "user", "disable", "ann") == "changed\n"
    assert whoami(guarded, key).status == 401
    assert run(guarded, admin, "user", "enable", "ann") == "changed\n"
    second = run(guarded, admin, "key", "add", "ci", "--account", "team", "--scope", "write").strip()
    assert whoami(guarded, second).json()["name"] == "team"
    assert '"ci" "team"' in run(guarded, admin, "key", "list")
    assert json.loads(run(guarded, admin, "user", "list", "--json"))["accounts"][0]["name"] == "ann"
    run(guarded, admin, "user", "add", "api", code=65)
    run(guarded, admin, "user", "disable", "nobody", code=66)
    for wrong in (["user"], ["user", "add"], ["user", "list", "x"], ["user", "list", "--key"], ["user", "disable", "a/b"], ["org", "member", "team", "ann"],
                  ["org", "member", "team", "ann", "boss"], ["org", "list", "--fullname", "x"], ["key", "list", "--account", "ann"]):  # fmt: skip
        run(guarded, admin, *wrong, code=64)
