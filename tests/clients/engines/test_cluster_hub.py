"""The hub of several daemons that share an index in PostgreSQL and a store in S3: each request may reach another daemon."""

import concurrent.futures
import copy

import cluster
import pytest
from cluster import NONE
from hub_calls import commit, done, make, text, tree, upload
from people import People
from visitors import Visitor, is_away

pytestmark = pytest.mark.skipif(NONE, reason="that takes CAIRN_INDEX=postgres and CAIRN_STORE=s3")


class Hub(People):
    def __init__(self, server, admin, folder):
        super().__init__(server, admin, folder)
        self.admin = admin

    def of(self, daemon):
        """Returns the same people, who send their requests to this daemon."""
        other = copy.copy(self)
        other.server = daemon
        return other

    def revoke_anns(self, daemon):
        """Revokes ann's key that may write."""
        keys = daemon.get("/v1/keys", token=self.admin).json()["keys"]
        (number,) = (key["id"] for key in keys if key["account"] == "ann" and "write" in key["scope"])
        assert daemon.request("DELETE", f"/v1/keys/{number}", token=self.admin).status in (200, 204)


@pytest.fixture
def hub(tmp_path, issuer):
    if not cluster.HAPROXY.exists():
        pytest.skip("there is no haproxy")
    server = cluster.Cluster(tmp_path / "three", token_key=issuer.folder).start()
    yield Hub(server, issuer.token("admin"), tmp_path / "home")
    server.stop()


def at(visitor, daemon):
    """Returns the same browser, whose next request goes to this daemon."""
    visitor.server = daemon
    return visitor


def test_a_session_is_known_to_all(hub):
    """A browser signs in at one daemon, sends a form to the next, and signs out at the third. The session has then ended at all of them."""
    first, second, third = hub.server.daemons
    ann = Visitor(first).sign_in(hub.keys["ann"])
    is_away(at(ann, second).send("/new", kind="model", namespace="ann", name="one"), "/ann/one")
    for daemon in hub.server.daemons:
        assert at(ann, daemon).get("/ann/one").status == 200
        assert at(ann, daemon).get("/settings/keys").status == 200
    shown = ann.session
    is_away(at(ann, third).send("/logout"), "/")
    for daemon in hub.server.daemons:
        ann.session = shown
        is_away(at(ann, daemon).get("/settings/keys"), "/login?next=/settings/keys")


def test_sessions_are_bounded(hub):
    """Too many sessions of one account end its own oldest ones, and nobody else's."""
    bob = Visitor(hub.server).sign_in(hub.keys["bob"])
    anns = [Visitor(hub.server).sign_in(hub.keys["ann"]) for _ in range(33)]
    is_away(anns[0].get("/settings/keys"), "/login?next=/settings/keys")
    assert anns[1].get("/settings/keys").status == 200 and anns[32].get("/settings/keys").status == 200
    assert bob.get("/settings/keys").status == 200


def test_a_session_ends_with_its_key(hub):
    first, second, _ = hub.server.daemons
    ann = Visitor(second).sign_in(hub.keys["ann"])
    assert ann.get("/settings/keys").status == 200
    hub.revoke_anns(first)
    is_away(ann.get("/settings/keys"), "/login")


def test_commits_of_eight(hub):
    """Eight people commit at once, and each names the parent commit. People who were too slow are refused and try again; in the end all files are there."""
    make(hub)
    first = done(commit(hub, text("base", "0\n")))

    def work(i):
        n_conflicts = 0
        parent = first
        for j in range(4):
            while True:
                daemon = hub.server.daemons[(i + j + n_conflicts) % 3]
                reply = commit(hub.of(daemon), text(f"f{i}/{j}", f"{i} {j}\n"), parentCommit=parent)
                if reply.status == 200:
                    parent = done(reply)
                    break
                assert reply.status in (412, 503), (reply, reply.body)
                n_conflicts += 1
                parent = hub.of(daemon).ask("GET", "/api/models/ann/one").json()["sha"]
        return n_conflicts

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        n_conflicts = sum(pool.map(work, range(8)))
    assert n_conflicts > 0
    wanted = {"base"} | {f"f{i}/{j}" for i in range(8) for j in range(4)}
    for daemon in hub.server.daemons:
        found = {entry["path"] for entry in tree(hub.of(daemon)) if entry["type"] == "file"}
        assert wanted <= found, wanted - found


def test_commits_without_a_parent_follow_each_other(hub):
    """Commits that name no parent follow each other, whichever daemon they reach."""
    make(hub)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda i: commit(hub, text(f"f{i}", f"{i}\n")), range(24)))
    assert {reply.status for reply in replies} <= {200, 503}, replies
    kept = {f"f{i}" for i, reply in enumerate(replies) if reply.status == 200}
    assert len(kept) > 12
    assert kept <= {entry["path"] for entry in tree(hub)}


def test_a_change_at_one_daemon_shows_at_all(hub):
    """All daemons see at once that a repository was made, filled, changed or deleted. A large file uploaded to one daemon can be committed through another."""
    first, second, third = hub.server.daemons
    make(hub.of(first), private=True)
    for daemon in hub.server.daemons:
        assert hub.of(daemon).ask("GET", "/api/models/ann/one").status == 200
        assert hub.of(daemon).ask("GET", "/api/models/ann/one", "bob").status == 404
    sha256, _ = upload(hub.of(second), b"large" * 20000)
    file = {"key": "lfsFile", "value": {"path": "large.bin", "algo": "sha256", "oid": sha256, "size": 100000}}
    done(commit(hub.of(third), file))
    assert first.get("/ann/one/resolve/main/large.bin", token=hub.keys["ann"]).body == b"large" * 20000
    assert hub.of(second).ask("PUT", "/api/models/ann/one/settings", "ann", {"private": False}).status == 200
    assert hub.of(third).ask("GET", "/api/models/ann/one", "bob").status == 200
    assert hub.of(third).ask("DELETE", "/api/repos/delete", "ann", {"name": "one", "organization": "ann", "type": "model"}).status == 200
    for daemon in hub.server.daemons:
        assert hub.of(daemon).ask("GET", "/api/models/ann/one").status == 404


def test_a_revoked_key_of_the_hub(hub):
    """Every daemon refuses a revoked key at once, and a token that was got with it within a second."""
    first, second, third = hub.server.daemons
    make(hub)
    token = hub.of(second).ask("GET", "/api/models/ann/one/xet-read-token/main").json()["accessToken"]
    asked = lambda: third.get("/v1/chunks/default/" + "12" * 32, token=token).status
    assert asked() == 404
    hub.revoke_anns(first)
    assert hub.of(second).ask("GET", "/api/whoami-v2").status == 401
    cluster.soon("its end", lambda: asked() == 401)
