"""Repositories with a gate: accounts ask for access and admins decide, by the stock library, by pages and by requests made by hand; and who may then read."""

import datetime
import hashlib

import cairn
import pytest
import xet
from hub_calls import commit, done, make, make_key, older, stored, text, token_of, upload
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError
from visitors import Visitor, text as shown

FILE = b"what the gate is for" * 4000
CHUNK = xet.text(xet.Xorb([FILE]).nodes[0][0])


@pytest.fixture
def gated(people):
    """gated(gate) makes ann's model with a large and a small file, and this gate. @return the hashes of the large one"""

    def one(gate="manual", repo="ann/one", who="ann"):
        make(people, repo, who)
        hashes = upload(people, FILE, f"models/{repo}", who)
        done(commit(people, stored("w.bin", hashes[0], len(FILE)), text("config.json", '{"architectures":["secret"]}'), repo=f"models/{repo}", who=who))
        people.api(who).update_repo_settings(repo, gated=gate)
        return hashes

    return one


def ask(people, who="bob", repo="models/ann/one"):
    return people.ask("POST", f"/api/{repo}/ask-access", who, b"")


def asked(people, who="bob", repo="models/ann/one"):
    reply = ask(people, who, repo)
    assert reply.status == 200, (reply, reply.body)
    return reply.json()["status"]


def listed(people, state, who="ann", repo="ann/one"):
    return [r.username for r in getattr(people.api(who), f"list_{state}_access_requests")(repo)]


def lists(people):
    return {state: listed(people, state) for state in ("pending", "accepted", "rejected") if listed(people, state)}


def refused(call, status, rule):
    with pytest.raises(HfHubHTTPError) as error:
        call()
    assert (error.value.response.status_code, error.value.response.json()["code"]) == (status, rule), error.value.response.text
    return error


def reads(people, hashes, who, repo="ann/one"):
    """Can this person read the files? Every route to them must give the same answer."""
    sha256, hash_ = hashes
    copy = {"type": "copyFile", "path": f"{who}.bin", "xetHash": hash_, "sourceRepoType": "model", "sourceRepoId": repo}
    key = people.keys[who]
    ways = {
        "resolve": people.ask("GET", f"/{repo}/resolve/main/w.bin", who).status == 200,
        "head": people.ask("HEAD", f"/{repo}/resolve/main/config.json", who).status == 200,
        "raw": people.ask("GET", f"/{repo}/raw/main/config.json", who).status == 200,
        "token": people.ask("GET", f"/api/models/{repo}/xet-read-token/main", who).status == 200,
        "auth-check": people.ask("GET", f"/api/models/{repo}/auth-check", who).status == 200,
        "lfs": "actions" in people.ask("POST", f"/{repo}.git/info/lfs/objects/batch", who, {"operation": "download", "objects": [{"oid": sha256, "size": len(FILE)}]}).body.decode(),
        "config": "config" in people.ask("GET", f"/api/models/{repo}?expand=config", who).json(),
    }
    if key:
        visitor = Visitor(people.server).sign_in(key)
        ways["blob"] = b"secret" in visitor.get(f"/{repo}/blob/main/config.json").body
        ways["search"] = repo in shown(visitor.page(f"/search?q={CHUNK}").find(".//main"))
        name = "".join(c for c in who if c.isalnum())
        owner = {"operator": "bob"}.get(who, who.split()[-1])
        box = people.make(f"{owner}/{name}-box", who, private=True) if people.ask("GET", f"/api/buckets/{owner}/{name}-box", who).status != 200 else f"{owner}/{name}-box"
        ways["copy"] = people.batch(box, copy, who=who).status == 200
    assert len(set(ways.values())) == 1, (who, ways)
    return ways["resolve"]


def test_a_request_is_answered_by_hand(people, gated):
    """Before the request is accepted and after it is rejected, bob cannot read. Errors have the words of the public hub."""
    hashes, bob, ann = gated(), people.api("bob"), people.api()
    with pytest.raises(GatedRepoError, match=f"Access to model ann/one is restricted and you are not in the authorized list. Visit {people.server.url}/ann/one to ask for access."):
        bob.auth_check("ann/one")
    assert not reads(people, hashes, "bob") and lists(people) == {}
    assert asked(people) == asked(people) == "pending" and lists(people) == {"pending": ["bob"]}
    with pytest.raises(GatedRepoError, match="Your request to access model ann/one is awaiting a review from the repo authors."):
        bob.hf_hub_download("ann/one", "config.json")
    assert not reads(people, hashes, "bob") and not reads(people, hashes, "nobody")
    (request,) = ann.list_pending_access_requests("ann/one")
    assert (request.username, request.email, request.status, request.fields) == ("bob", None, "pending", None)
    assert abs(request.timestamp - datetime.datetime.now(datetime.timezone.utc)) < datetime.timedelta(minutes=10)
    ann.accept_access_request("ann/one", "bob")
    assert lists(people) == {"accepted": ["bob"]} and asked(people) == "accepted" and reads(people, hashes, "bob")
    assert not reads(people, hashes, "rita") and not reads(people, hashes, "nobody")
    assert commit(people, text("x", "x"), who="bob").status == 403, "a user who is let in may not write"
    ann.cancel_access_request("ann/one", "bob")
    assert lists(people) == {"pending": ["bob"]} and not reads(people, hashes, "bob")
    ann.reject_access_request("ann/one", request_id=request.request_id, rejection_reason="nö, „<b>“")
    assert lists(people) == {"rejected": ["bob"]} and not reads(people, hashes, "bob")
    with pytest.raises(GatedRepoError, match="has been rejected by the repo's authors"):
        bob.auth_check("ann/one")
    assert cairn.is_hub_error(ask(people), 403, "access.rejected")
    ann.accept_access_request("ann/one", "BOB")
    assert reads(people, hashes, "bob") and bob.model_info("ann/one").gated == "manual"


def test_an_automatic_gate_accepts_at_once(people, gated):
    hashes = gated("auto")
    assert not reads(people, hashes, "bob") and asked(people) == "accepted" and reads(people, hashes, "bob")
    assert lists(people) == {"accepted": ["bob"]} and not reads(people, hashes, "rita")
    # A new request does not bring access back that was taken away.
    people.api().cancel_access_request("ann/one", "bob")
    assert asked(people) == "pending" and not reads(people, hashes, "bob")
    assert people.api("bob").model_info("ann/one").gated == "auto"


def test_access_is_granted_unasked(people, gated):
    hashes, ann = gated(), people.api()
    ann.grant_access("ann/one", "bob")
    (request,) = ann.list_accepted_access_requests("ann/one")
    assert (request.username, request.email, request.status) == ("bob", None, "accepted") and reads(people, hashes, "bob")
    refused(lambda: ann.grant_access("ann/one", "bob"), 400, "access.granted")
    refused(lambda: ann.grant_access("ann/one", "ann"), 400, "access.granted")
    refused(lambda: ann.accept_access_request("ann/one", "bob"), 404, "access.unknown")
    ann.cancel_access_request("ann/one", "bob")
    refused(lambda: ann.cancel_access_request("ann/one", "bob"), 404, "access.unknown")
    assert lists(people) == {"pending": ["bob"]}
    ann.reject_access_request("ann/one", "bob", rejection_reason="r" * 200)
    refused(lambda: ann.reject_access_request("ann/one", "bob", rejection_reason=None), 404, "access.unknown")
    ann.grant_access("ann/one", "bob")
    refused(lambda: ann.reject_access_request("ann/one", "bob", rejection_reason="r" * 201), 400, "access.reason")
    assert lists(people) == {"accepted": ["bob"]}
    for call in (ann.grant_access, ann.accept_access_request):
        for name in ("zoe", "team", "../x", ""):
            refused(lambda: call("ann/one", name), 404, "user.unknown")
    refused(lambda: ann.accept_access_request("ann/one", "rita"), 404, "access.unknown")
    for id_ in ("0" * 24, "x", "", "zz" * 12):
        refused(lambda: ann.accept_access_request("ann/one", request_id=id_), 404, "access.unknown")
    people.api("adam").create_repo("team/one"), people.api("adam").update_repo_settings("team/one", gated="auto")
    refused(lambda: people.api("adam").grant_access("team/one", "rita"), 400, "access.granted")


def test_without_a_gate(people, gated):
    """A repository without a gate has no requests to make or to answer. Earlier requests count again when the gate comes back."""
    hashes, ann = gated(), people.api()
    ann.grant_access("ann/one", "bob")
    ann.update_repo_settings("ann/one", gated=False)
    for call in (lambda: list(ann.list_pending_access_requests("ann/one")), lambda: ann.grant_access("ann/one", "rita"), lambda: ann.cancel_access_request("ann/one", "bob")):
        refused(call, 400, "access.open")
    assert asked(people) == "accepted", "users who may read need not ask"
    ann.update_repo_settings("ann/one", gated="manual")
    assert reads(people, hashes, "bob")
    # Nobody can ask for access to a private repository, not even those who had access before.
    ann.update_repo_settings("ann/one", private=True)
    assert people.ask("GET", "/ann/one/resolve/main/w.bin", "bob").status == 404 and ask(people).status == 404
    assert listed(people, "accepted") == ["bob"]
    ann.update_repo_settings("ann/one", private=False)
    assert reads(people, hashes, "bob")
    ann.delete_repo("ann/one"), gated()
    assert lists(people) == {} and not reads(people, hashes, "bob")


def test_admins_and_the_operator_decide_on_requests(people, admin, gated):
    """Admins and the operator decide. Nobody else learns who asked, or that anybody did."""
    gated(), gated(repo="team/one", who="adam")
    people.keys["bound"] = make_key(people.server, admin, account="ann", repo="models/ann/one", scope="write")["key"]
    bodies = {"handle": {"user": "bob", "status": "accepted"}, "grant": {"user": "bob"}}

    def all_of(who, repo):
        yield people.ask("GET", f"/api/models/{repo}/user-access-request/pending", who)
        for what, body in bodies.items():
            yield people.ask("POST", f"/api/models/{repo}/user-access-request/{what}", who, body)

    before = {who: [(r.status, r.json().get("error")) for r in all_of(who, "ann/one")] for who in ("bob", "rita", "nobody")}
    assert asked(people, "bob") == asked(people, "adam") == asked(people, "bob", "models/team/one") == "pending"
    for who, status in (("bob", 403), ("rita", 403), ("reading ann", 403), ("bound", 403), ("nobody", 401)):
        replies = list(all_of(who, "ann/one"))
        assert {r.status for r in replies} == {status}, (who, replies)
        assert all(b"bob" not in r.body and b"adam" not in r.body for r in replies)
        if who in before:
            assert [(r.status, r.json().get("error")) for r in replies] == before[who]
    for who in ("ann", "rita"):  # they read or write in the team, and do not administer it
        assert {r.status for r in all_of(who, "team/one")} == {403}
    assert listed(people, "pending", "operator") == ["bob", "adam"] and listed(people, "pending", "adam", "team/one") == ["bob"]
    assert people.ask("GET", "/api/models/ann/one/user-access-request/waiting").status == 404
    for path in ("/api/models/ann/none/user-access-request/pending", "/api/datasets/ann/one/user-access-request/pending"):
        assert cairn.is_hub_error(people.ask("GET", path), 404, "repo.unknown")
    for wrong in (b"x", {}, {"user": "bob"}, {"status": "accepted"}, {"user": "bob", "status": "none"}, {"user": "bob", "requestId": "0" * 24, "status": "accepted"}, {"user": 1, "status": "accepted"}):
        assert cairn.is_hub_error(people.ask("POST", "/api/models/ann/one/user-access-request/handle", body=wrong), 400, "repo.body"), wrong
    for wrong in (b"x", {}, {"user": None}):
        assert cairn.is_hub_error(people.ask("POST", "/api/models/ann/one/user-access-request/grant", body=wrong), 400, "repo.body")


def test_accounts_with_an_unbound_writing_key_may_ask(people, admin, gated):
    """An account may ask, with a key that may write everywhere. A private repository looks as if it did not exist."""
    hashes = gated()
    make(people, "ann/secret", private=True)
    people.keys["reading bob"] = make_key(people.server, admin, account="bob", scope="read")["key"]
    people.keys["bound bob"] = make_key(people.server, admin, account="bob", repo="models/ann/one", scope="read")["key"]
    people.keys["bob elsewhere"] = make_key(people.server, admin, account="bob", repo="models/bob/two", scope="write")["key"]
    for who in ("reading bob", "bound bob", "bob elsewhere"):
        assert cairn.is_hub_error(ask(people, who), 403, "access.own"), who
    for who, repo, status in (("bob", "ann/secret", 404), ("bob", "ann/none", 404), ("nobody", "ann/one", 401), ("nobody", "ann/secret", 401)):
        assert cairn.is_hub_error(ask(people, who, f"models/{repo}"), status, "repo.unknown"), (who, repo)
    assert asked(people, "ann") == asked(people, "operator") == "accepted" and lists(people) == {}
    assert asked(people) == "pending"
    people.api().accept_access_request("ann/one", "bob")
    assert reads(people, hashes, "bob")
    assert people.ask("GET", "/ann/one/resolve/main/w.bin", "reading bob").status == 200
    assert people.ask("GET", "/ann/one/resolve/main/w.bin", "bound bob").status == 200
    elsewhere = people.ask("GET", "/ann/one/resolve/main/w.bin", "bob elsewhere")
    assert cairn.is_hub_error(elsewhere, 403, "repo.denied") and b"another repository" in elsewhere.body


def test_a_token_reads_that_repository_alone(people, gated):
    """The token opens this repository only, also in the store, whose bytes lie in one place for all."""
    hashes, others = gated(), None
    gated(repo="ann/two")
    people.api().grant_access("ann/one", "bob")
    token = token_of(people.ask("GET", "/api/models/ann/one/xet-read-token/main", "bob"))
    assert people.server.get(f"/v1/reconstructions/{hashes[1]}", token=token).status == 200
    assert people.server.get(f"/v1/reconstructions/{xet.text(bytes(32))}", token=token).status == 404
    make(people, "ann/three"), people.api().update_repo_settings("ann/three", gated="manual")
    others = upload(people, FILE[::-1], "models/ann/three")
    assert people.server.get(f"/v1/reconstructions/{others[1]}", token=token).status == 404
    assert people.ask("GET", "/api/models/ann/three/xet-read-token/main", "bob").status == 403
    assert people.ask("GET", "/api/models/ann/one/xet-write-token/main", "bob").status == 403


def test_a_gate_does_not_publish_copies(people, gated):
    """A copy of a gated repository is private. Copying into a repository with another gate is no way around the first: the admins of the source decide who
    gets access."""
    hashes = gated()
    people.api().grant_access("ann/one", "bob")
    people.api("bob").duplicate_repo("ann/one", to_id="bob/copy")
    assert people.ask("GET", "/bob/copy/resolve/main/w.bin", "bob").body == FILE
    for body in ({"private": False}, {"private": False, "gated": "auto"}):
        assert cairn.is_hub_error(people.ask("PUT", "/api/models/bob/copy/settings", "bob", body), 403, "repo.guarded")
    assert cairn.is_hub_error(people.ask("POST", "/api/models/ann/one/duplicate", "bob", {"repository": "bob/open", "private": False}), 403, "repo.guarded")
    make(people, "bob/own", "bob"), people.api("bob").update_repo_settings("bob/own", gated="auto")
    assert asked(people, "rita", "models/bob/own") == "accepted"
    file = {"sha256": hashes[0], "xetHash": hashes[1], "filename": "x"}
    into = people.ask("POST", "/api/models/ann/one/lfs-files/duplicate", "bob", {"target": {"type": "model", "name": "bob/own"}, "files": [file]})
    assert cairn.is_hub_error(into, 403, "repo.guarded")
    # The operator shows the copy behind a gate. Only an admin of the source lets people in; the owner of the copy cannot, but may reject.
    people.api("bob").update_repo_settings("bob/copy", gated="auto")
    assert people.ask("PUT", "/api/models/bob/copy/settings", "operator", {"private": False}).status == 200
    assert asked(people, "rita", "models/bob/copy") == "pending"
    refused(lambda: people.api("bob").accept_access_request("bob/copy", "rita"), 403, "repo.guarded")
    refused(lambda: people.api("bob").grant_access("bob/copy", "adam"), 403, "repo.guarded")
    people.api("operator").accept_access_request("bob/copy", "rita")
    assert people.ask("GET", "/bob/copy/resolve/main/w.bin", "rita").status == 200
    people.api("bob").reject_access_request("bob/copy", "rita", rejection_reason=None)
    assert people.ask("GET", "/bob/copy/resolve/main/w.bin", "rita").status == 403


def test_lists_are_paged(people, admin, gated):
    """Requests come in the order in which they were made. No page says how many requests other repositories have."""
    gated()
    names = [f"user-{i:03}" for i in range(103)]
    for name in names:
        reply = people.server.post("/v1/accounts", b'{"kind":"user","name":"%s","fullname":"Anna %s","email":"a@example.org"}' % (name.encode(), name.encode()), token=admin)
        assert reply.status == 200
        people.api().grant_access("ann/one", name)
    assert listed(people, "accepted") == names
    first = people.ask("GET", "/api/models/ann/one/user-access-request/accepted")
    assert len(first.json()) == 100 and "a@example.org" not in first.body.decode() and first.json()[3]["user"]["fullname"] == "Anna user-003"
    assert f'{people.server.url}/api/models/ann/one/user-access-request/accepted?cursor={first.json()[-1]["requestId"]}>; rel="next"' in first.headers["Link"]
    for cursor in ("x", "0" * 24, ""):
        assert people.ask("GET", f"/api/models/ann/one/user-access-request/accepted?cursor={cursor}").json() == first.json()
    ann = Visitor(people.server).sign_in(people.keys["ann"])
    more, seen = "?state=accepted", []
    while more:
        page = ann.page(f"/ann/one/settings/access{more}")
        seen += [a.text for a in page.iter("a") if a.get("href", "").startswith("/user-")]
        more = next((a.get("href") for a in page.iter("a") if "cursor=" in a.get("href", "")), None)
    assert seen == names


def test_pages(people, gated):
    """The page of the repository has the form, shows the state of a request, and lists the requests for an admin."""
    hashes = gated()
    bob, ann, nobody = Visitor(people.server).sign_in(people.keys["bob"]), Visitor(people.server).sign_in(people.keys["ann"]), Visitor(people.server)
    assert "Sign in to ask for access" in shown(nobody.page("/ann/one")) and "Ask for access" in shown(bob.page("/ann/one"))
    assert "Ask for access" not in shown(ann.page("/ann/one"))
    reply = nobody.send("/ann/one/ask-access")
    assert (reply.status, reply.headers["Location"]) == (303, "/login?next=/ann/one")
    assert bob.send("/ann/one/ask-access", origin="http://elsewhere.example").status == 403 and lists(people) == {}
    reply = bob.send("/ann/one/ask-access")
    assert (reply.status, reply.headers["Location"]) == (303, "/ann/one") and "request is pending" in shown(bob.page("/ann/one"))
    assert bob.get("/ann/one/settings/access").status == nobody.get("/ann/one/settings/access").status == 403
    assert "/ann/one/settings/access" in ann.get("/ann/one/settings").body.decode()
    page = ann.page("/ann/one/settings/access")
    assert "bob" in shown(page) and "bob" not in shown(ann.page("/ann/one/settings/access?state=accepted").find(".//main"))
    assert bob.send("/ann/one/settings/access", action="answer", user="bob", state="accepted").status == 403
    assert ann.send("/ann/one/settings/access", action="answer", user="bob", state="accepted").status == 303 and reads(people, hashes, "bob")
    assert ann.send("/ann/one/settings/access", action="answer", user="bob", state="rejected", reason="too <b>soon</b>").status == 303
    assert "rejected your request" in shown(bob.page("/ann/one")) and "too <b>soon</b>" in shown(bob.page("/ann/one")) and not reads(people, hashes, "bob")
    assert "too <b>soon</b>" not in shown(nobody.page("/ann/one"))
    assert bob.send("/ann/one/ask-access").status == 403
    for fields in ({"state": "accepted", "user": "zoe"}, {"state": "rejected", "user": "rita"}, {"state": "x", "user": "bob"}, {"state": "rejected", "user": "bob", "reason": "\udcff"}):
        fields = {k: v.encode("utf-8", "surrogateescape") for k, v in fields.items()}
        assert ann.send("/ann/one/settings/access", action="answer", **fields).status in (400, 404, 200), fields
    assert ann.send("/ann/one/settings/access", action="grant", user="rita").status == 303
    assert lists(people) == {"accepted": ["rita"], "rejected": ["bob"]}
    assert ann.send("/ann/one/settings", action="visibility", visibility="auto").status == 303
    assert people.api("bob").model_info("ann/one").gated == "auto" and "checked" in ann.get("/ann/one/settings").body.decode().split('value="auto"')[1][:9]


def test_requests_move_with_the_repository(people, gated):
    hashes = gated()
    people.api().grant_access("ann/one", "bob")
    people.api().move_repo("ann/one", "team/moved")
    assert reads(people, hashes, "bob", "team/moved") and listed(people, "accepted", "adam", "team/moved") == ["bob"]
    assert hashlib.sha256(people.ask("GET", "/ann/one/resolve/main/w.bin", "bob").body).hexdigest() == hashes[0]


def test_by_hf_and_by_an_older_library(people, gated, tmp_path):
    hashes = gated()
    assert "Model 'ann/one' requires approval" in people.hf("download", "ann/one", "config.json", who="bob", fails=True)
    calls = "api.grant_access('ann/one', 'bob'); api.grant_access('ann/one', 'rita'); api.reject_access_request('ann/one', 'rita', rejection_reason='x')\n"
    told = older(people, tmp_path, calls + "print(json.dumps([(r.username, r.status, r.email) for s in ('accepted', 'rejected') for r in getattr(api, f'list_{s}_access_requests')('ann/one')]))")
    assert told == [["bob", "accepted", None], ["rita", "rejected", None]] and reads(people, hashes, "bob")
    people.hf("download", "ann/one", "--local-dir", tmp_path / "all", who="bob")
    assert (tmp_path / "all" / "w.bin").read_bytes() == FILE
    people.hf("repos", "settings", "ann/one", "--gated", "auto")
    assert people.api("bob").model_info("ann/one").gated == "auto"
