"""Signing in with a browser: `hf auth login`, Enter, and a page on which a person confirms. And attempts of others to get the key."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
import urllib.parse

import cairn
import hf_client
import pytest
from hub_calls import HF, make_key
from visitors import Visitor, is_away, parsed, people_of, text

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
CLIENT = "a-client"
LIFE_S = 600
OF_ONE_MAX = 16


@pytest.fixture
def people(start, issuer, tmp_path):
    return people_of(start, issuer, tmp_path / "home")


@pytest.fixture
def enter(people):
    return lambda who: Visitor(people.server).sign_in(people.keys[who])


def form(server, path, **fields):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return server.post(path, urllib.parse.urlencode(fields).encode(), headers=headers)


def begin(server, **fields):
    reply = form(server, "/oauth/device", **{"client_id": CLIENT, **fields})
    assert reply.status == 200 and reply.headers["Cache-Control"] == "no-store", reply
    return reply.json()


def ask(server, device_code, **fields):
    return form(server, "/oauth/token", **{"grant_type": GRANT, "device_code": device_code, "client_id": CLIENT, **fields})


def error_of(reply):
    assert reply.status == 400 and reply.headers["Cache-Control"] == "no-store", reply
    assert reply.json()["error_description"], reply
    return reply.json()["error"]


def outcome(server, device_code):
    """Polls at the prescribed pace, as a program does. An answer slow_down makes it ask again, and loses nothing. @return the final answer"""
    heard = []
    cairn.wait_until("the pace", lambda: heard.append(ask(server, device_code)) or heard[-1].status == 200 or error_of(heard[-1]) != "slow_down")
    return heard[-1]


def answer(visitor, codes, action="allow", **fields):
    fields = {"user_code": codes["user_code"], "name": "laptop", "may": "write", "days": "30", "action": action} | fields
    return visitor.send("/login/device", **fields)


def keys_of(visitor):
    """{name: number} of the keys that the page lists."""
    rows = [row for row in visitor.page("/settings/keys").iter("tr") if row.find(".//input[@name='id']") is not None]
    return {text(row[0]): row.find(".//input[@name='id']").get("value") for row in rows}


class Terminal:
    """`hf` in a terminal of its own, so that it asks questions and reads keys."""

    def __init__(self, people, *words):
        env = hf_client.hub_environment(people.folder, people.server) | {"NO_COLOR": "1", "TERM": "xterm"}
        # Without these variables: hf speaks differently to an agent, which may be running these tests.
        env = {name: value for name, value in env.items() if not re.search("AGENT|CLAUDE|CODEX|CURSOR|GEMINI|^AI", name)}
        self.end, inner = pty.openpty()
        self.process = subprocess.Popen([*HF, *words], env=env, stdin=inner, stdout=inner, stderr=inner, close_fds=True)
        os.close(inner)
        self.seen = ""

    def read(self, wanted, seconds=90):
        ends = time.monotonic() + seconds
        while not (found := re.search(wanted, self.seen)):
            assert time.monotonic() < ends and select.select([self.end], [], [], seconds)[0], self.seen
            try:
                self.seen += os.read(self.end, 65536).decode(errors="replace")
            except OSError:  # the program has ended
                found = re.search(wanted, self.seen)
                assert found, self.seen
                break
        return found

    def press(self, what, wanted):
        """Presses a key again and again until hf shows the text. hf forgets keys that were pressed before it reads them."""
        ends = time.monotonic() + 90
        while not re.search(wanted, self.seen):
            assert time.monotonic() < ends, self.seen
            os.write(self.end, what.encode())
            if select.select([self.end], [], [], 0.3)[0]:
                self.seen += os.read(self.end, 65536).decode(errors="replace")

    def ends(self):
        return self.process.wait(60)


def test_hf_auth_login_with_enter(people, enter):
    ann, hf = enter("ann"), Terminal(people, "auth", "login")
    hf.read("Paste an access token")
    hf.press("\r", "enter the code")
    address = hf.read(r"https?://\S+")[0]
    code = hf.read(r"enter the code: (\S+)")[1]
    assert address == f"{people.server.url}/login/device?user_code={code}"
    page = ann.page(address.removeprefix(people.server.url))
    assert code in text(page) and "127.0.0.1" in text(page) and "ann" in text(page)
    name = page.find(".//input[@name='name']").get("value")
    assert re.fullmatch(r"hf auth login, \d{4}-\d\d-\d\d", name), name
    reply = answer(ann, {"user_code": code}, name=name)
    assert reply.status == 200 and "let in" in text(parsed(reply))
    hf.read("expires in (29|30) days")
    assert hf.ends() == 0
    env = hf_client.hub_environment(people.folder, people.server)
    said = subprocess.run([*HF, "auth", "whoami", "--format", "json"], env=env, capture_output=True, text=True, timeout=60)
    assert json.loads(said.stdout)["user"] == "ann", said
    listed = subprocess.run([*HF, "auth", "list"], env=env, capture_output=True, text=True, timeout=60).stdout
    assert name in listed, listed
    stored = (people.folder / "cache" / "token").read_text().strip()
    assert people.server.get("/api/whoami-v2", token=stored).json()["name"] == "ann"
    is_away(ann.send("/settings/keys/revoke", id=keys_of(ann)[name]), "/settings/keys")
    assert people.server.get("/api/whoami-v2", token=stored).status == 401


def test_hf_shows_that_the_sign_in_was_denied(people, enter):
    hf = Terminal(people, "auth", "login")
    hf.read("Paste an access token")
    hf.press("\r", "enter the code")
    code = hf.read(r"enter the code: (\S+)")[1]
    assert "denied" in text(parsed(answer(enter("ann"), {"user_code": code}, "deny")))
    hf.read("Authorization was denied")
    assert hf.ends() != 0


@pytest.mark.parametrize("options, words", [({"no_hub": True}, "hf auth login --token"), ({"token_key": None}, "leave HF_TOKEN out")])
def test_a_server_without_accounts_refuses_device_login(start, issuer, tmp_path, options, words):
    """hf shows the server's sentence, which has the reason."""
    server = start(**{name: value for name, value in ({"token_key": issuer.folder} | options).items() if value})
    for path in ("/oauth/device", "/oauth/token"):
        reply = form(server, path, client_id=CLIENT)
        assert reply.status == 501 and reply.json()["code"] == "hub.left_out", reply
    env = hf_client.hub_environment(tmp_path / "home", server)
    script = "from huggingface_hub import interpreter_login; interpreter_login()"
    done = subprocess.run([sys.executable, "-c", script], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and words in done.stderr, done.stderr[-2000:]


def test_codes(people, enter):
    codes = begin(people.server)
    assert re.fullmatch("[A-Za-z0-9_-]{43}", codes["device_code"])
    assert re.fullmatch("[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}", codes["user_code"])
    assert (codes["interval"], codes["expires_in"]) == (5, LIFE_S)
    assert codes["verification_uri"] == f"{people.server.url}/login/device"
    assert error_of(ask(people.server, codes["device_code"])) == "authorization_pending"
    assert error_of(ask(people.server, codes["device_code"])) == "slow_down"
    assert error_of(outcome(people.server, codes["device_code"])) == "authorization_pending"
    ann = enter("ann")
    typed = codes["user_code"].replace("-", " ").lower()  # as people type it
    assert codes["user_code"] in text(ann.page("/login/device?" + urllib.parse.urlencode({"user_code": typed})))
    assert answer(ann, codes, may="read", days="0").status == 200
    reply = outcome(people.server, codes["device_code"])
    assert reply.status == 200 and reply.headers["Cache-Control"] == "no-store", reply
    given = reply.json()
    assert given["token_type"] == "bearer" and set(given) == {"access_token", "token_type"}, "a key without an end has no expires_in"
    me = people.server.get("/api/whoami-v2", token=given["access_token"]).json()
    assert me["auth"]["accessToken"]["displayName"] == "laptop" and me["auth"]["accessToken"]["role"] == "read"
    assert "laptop" in keys_of(ann)
    assert error_of(outcome(people.server, codes["device_code"])) == "expired_token", "a key is given only once"


def test_nothing_of_a_code_is_stored(people, enter):
    codes, denied = begin(people.server), begin(people.server)
    answer(enter("ann"), denied, "deny")
    people.server.settle_log()
    assert codes["device_code"] not in people.server.log() and codes["user_code"] not in people.server.log()
    if not cairn.INDEX:
        people.server.stop()
        held = b"".join(p.read_bytes() for p in people.server.data.rglob("*") if p.is_file())
        for code in (codes["device_code"], codes["user_code"], codes["user_code"].replace("-", "")):
            assert code.encode() not in held


def test_a_denied_device_code_stays_denied(people, enter):
    codes, ann = begin(people.server), enter("ann")
    assert answer(ann, codes, "deny").status == 200
    for who in (ann, enter("bob")):
        assert answer(who, codes).status == 400
    assert error_of(ask(people.server, codes["device_code"])) == "access_denied"
    assert error_of(outcome(people.server, codes["device_code"])) == "access_denied"


def test_the_first_answer_counts(people, enter):
    """Only the first confirmation counts. Somebody who learns the code later can neither get the key nor change whose it is."""
    codes, ann, bob = begin(people.server), enter("ann"), enter("bob")
    assert answer(ann, codes).status == 200
    for action in ("allow", "deny"):
        assert "answered" in text(parsed(answer(bob, codes, action)))
    assert bob.get(f"/login/device?user_code={codes['user_code']}").status == 400
    key = outcome(people.server, codes["device_code"]).json()["access_token"]
    assert people.server.get("/api/whoami-v2", token=key).json()["name"] == "ann"


def test_codes_end(start, issuer, tmp_path, clock):
    people = people_of(start, issuer, tmp_path / "home", test_clock=clock.path)
    ann = Visitor(people.server).sign_in(people.keys["ann"])
    waits, allowed = begin(people.server), begin(people.server)
    assert answer(ann, allowed).status == 200
    clock.move(LIFE_S + 1)
    assert answer(ann, waits).status == 400
    for codes in (waits, allowed):
        assert error_of(outcome(people.server, codes["device_code"])) == "expired_token"
    begin(people.server)  # removes expired codes
    assert error_of(outcome(people.server, waits["device_code"])) == "expired_token"


@pytest.mark.parametrize(
    "fields, error",
    [
        ({"grant_type": ""}, "unsupported_grant_type"),
        ({"grant_type": "refresh_token"}, "unsupported_grant_type"),
        ({"device_code": ""}, "invalid_grant"),
        ({"device_code": "x" * 44}, "invalid_grant"),
        ({"device_code": "x" * 43}, "expired_token"),
        ({"client_id": ""}, "invalid_request"),
        ({"client_id": "x" * 128}, "invalid_request"),
        ({"client_id": "another-client"}, "expired_token"),
    ],
)
def test_bad_questions(people, enter, fields, error):
    """A device code works only with the client that got it."""
    codes = begin(people.server)
    assert answer(enter("ann"), codes).status == 200
    assert error_of(ask(people.server, **{"device_code": codes["device_code"]} | fields)) == error
    assert outcome(people.server, codes["device_code"]).status == 200, "the client with the right code still gets the key"


def test_bad_beginnings(people):
    for client_id in ("", "x" * 128):
        cairn.is_hub_error(form(people.server, "/oauth/device", client_id=client_id), 400)
    for path in ("/oauth/device", "/oauth/token"):
        for body in (b"client_id=%zz", b"client_id=a%00b"):
            assert people.server.post(path, body).status == 400
        assert people.server.post(path, b"client_id=" + b"x" * 5000).status == 413
        assert people.server.get(path).status in (404, 405)


def test_strangers_learn_nothing_of_codes(people):
    """Without an account nobody can look up a code: the sign-in page is the same whether the code exists or not."""
    codes = begin(people.server)
    for code in (codes["user_code"], "BCDF-BCDF"):
        is_away(Visitor(people.server).get(f"/login/device?user_code={code}"), f"/login?next=/login/device?user_code={code}")
    is_away(Visitor(people.server).get("/login/device?user_code=//evil.example/"), "/login?next=/login/device")
    is_away(answer(Visitor(people.server), codes), "/login?next=/login/device")
    back = Visitor(people.server).send("/login", key=people.keys["ann"], next=f"/login/device?user_code={codes['user_code']}")
    is_away(back, f"/login/device?user_code={codes['user_code']}")
    assert error_of(ask(people.server, codes["device_code"])) == "authorization_pending"


@pytest.mark.parametrize("origin", [None, "https://evil.example", "null"])
def test_no_other_page_confirms(people, enter, origin):
    codes, ann = begin(people.server), enter("ann")
    assert answer(ann, codes, origin=origin).status == 403
    ann.get(f"/login/device?user_code={codes['user_code']}&action=allow&name=x&may=write&days=30")
    assert error_of(ask(people.server, codes["device_code"])) == "authorization_pending"


def test_guessing_is_slow(people, enter):
    """An account may look up 30 codes at once. Another account that guesses does not use up that number."""
    codes, bob = begin(people.server), enter("bob")
    statuses = [bob.get("/login/device?user_code=BCDF-BCDF").status for _ in range(40)]
    assert statuses[:30] == [400] * 30 and 403 in statuses[30:], statuses
    assert 403 in [answer(bob, codes).status for _ in range(3)], "after too many guesses even the right code is refused"
    assert answer(enter("ann"), codes).status == 200


def test_the_page_shows_the_program_behind_a_proxy(start, issuer, tmp_path):
    """The person decides by the address of the program, not by that of a trusted proxy."""
    people = people_of(start, issuer, tmp_path / "home", hub_trusted_proxies="127.0.0.1")
    headers = {"Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-For": "192.0.2.7"}
    codes = people.server.post("/oauth/device", f"client_id={CLIENT}".encode(), headers=headers).json()
    ann = Visitor(people.server).sign_in(people.keys["ann"])
    shown = text(ann.page(f"/login/device?user_code={codes['user_code']}"))
    assert "192.0.2.7" in shown and "127.0.0.1" not in shown, shown


def test_waiting_codes_are_limited(people, enter):
    """The number of waiting codes of one address is limited, so that it cannot fill the table. Beyond the limit a request is refused before its
    transaction, so that it does not keep the index's writer busy."""
    waiting = [begin(people.server) for _ in range(OF_ONE_MAX)]
    reply = form(people.server, "/oauth/device", client_id=CLIENT)
    cairn.is_hub_error(reply, 429)
    assert reply.json()["code"] == "device.many" and "address" in reply.json()["error"] and reply.headers["Retry-After"]
    assert answer(enter("ann"), waiting[0]).status == 200
    assert outcome(people.server, waiting[0]["device_code"]).status == 200
    begin(people.server)


def test_a_key_that_makes_no_keys_confirms_no_code(people, enter):
    """A key that only reads cannot make keys, and an operator's key belongs to no account."""
    codes = begin(people.server)
    for who in ("reading ann", "operator"):
        visitor = enter(who)
        assert visitor.get(f"/login/device?user_code={codes['user_code']}").status == 403
        for action in ("allow", "deny"):
            assert answer(visitor, codes, action).status == 403
    assert error_of(ask(people.server, codes["device_code"])) == "authorization_pending"


def test_the_key_is_revoked_with_the_session_key(people, enter, issuer):
    key = make_key(people.server, issuer.token("admin"), account="ann", scope="write", name="first")["key"]
    ann, first = enter("ann"), Visitor(people.server).sign_in(key)
    before, after = begin(people.server), begin(people.server)
    for codes in (before, after):
        assert answer(first, codes, name="child").status == 200
    child = outcome(people.server, before["device_code"]).json()["access_token"]
    assert people.server.get("/api/whoami-v2", token=child).status == 200
    is_away(ann.send("/settings/keys/revoke", id=keys_of(ann)["first"]), "/settings/keys")
    assert people.server.get("/api/whoami-v2", token=child).status == 401
    assert error_of(outcome(people.server, after["device_code"])) == "invalid_grant", "after the revocation a confirmed code gives no key"


def test_an_account_has_as_many_keys_as_may_be(people, enter):
    codes, ann = begin(people.server), enter("ann")
    assert answer(ann, codes, name="last").status == 200
    made = 0
    while ann.send("/settings/keys", name="x", may="read").status == 200:
        made += 1
    assert made > 90
    refused = outcome(people.server, codes["device_code"])
    assert error_of(refused) == "invalid_grant" and "revoke one" in refused.json()["error_description"]
    keys = keys_of(ann)
    is_away(ann.send("/settings/keys/revoke", id=keys["x"]), "/settings/keys")
    assert outcome(people.server, codes["device_code"]).status == 200


@pytest.mark.parametrize("fields", [{"name": ""}, {"name": "x" * 256}, {"days": "366"}, {"days": "-1"}, {"days": ""}, {"action": "x"}, {"user_code": "x"}])
def test_bad_answers(people, enter, fields):
    codes = begin(people.server)
    action = fields.pop("action", "allow")
    assert answer(enter("ann"), codes, action, **fields).status == 400
    assert error_of(ask(people.server, codes["device_code"])) == "authorization_pending"


def test_the_key_ends_when_it_was_said(start, issuer, tmp_path, clock):
    people = people_of(start, issuer, tmp_path / "home", test_clock=clock.path)
    short = make_key(people.server, issuer.token("admin"), account="ann", scope="write", expires_s=3600)["key"]
    week, hour = begin(people.server), begin(people.server)
    assert answer(Visitor(people.server).sign_in(people.keys["ann"]), week, days="7").status == 200
    assert answer(Visitor(people.server).sign_in(short), hour, days="7").status == 200
    given = {name: outcome(people.server, codes["device_code"]).json() for name, codes in (("week", week), ("hour", hour))}
    assert 7 * 86400 - 60 <= given["week"]["expires_in"] <= 7 * 86400
    assert 3500 <= given["hour"]["expires_in"] <= 3600, "the key ends no later than the key of the session"
    clock.move(7 * 86400 + 1)
    assert people.server.get("/api/whoami-v2", token=given["week"]["access_token"]).status == 401


def test_through_a_proxy_below_a_path(start, issuer):
    server = start(token_key=issuer.folder, public_url="https://hub.example/cairn")
    assert begin(server)["verification_uri"] == "https://hub.example/cairn/login/device"
