"""Git LFS gets files of a mirrored repository, also those that were not fetched yet."""

import base64
import json

import lfs
import pytest
from upstream import SHA, Gates, Hub, Repo, answer
from visitors import people_of

BIG, OTHER_BIG = b"m" * 200_000, b"n" * 150_000
TOKEN, OTHER = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH", "hf_" + "ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ"
PATH = "sub dir/é#1?.bin"
LATER = "f" * 40


def repo(**info):
    return Repo({PATH: BIG, "a.txt": b"text"}, stored={PATH}, **info)


def item(reply, n=0):
    assert reply.status == 200, reply
    return reply.json()["objects"][n]


def fetched(people, action):
    assert action["href"].startswith(people.server.url + "/")
    return people.server.get(action["href"].removeprefix(people.server.url), headers=action.get("header", {}))


def asker(people, token):
    """@return the name of somebody with a token of the mirrored hub, for people.ask()"""
    people.keys[token] = token
    return token


def test_the_batch_says_where_an_absent_file_is(start, issuer, tmp_path):
    """The address is that of the file at its commit. The repository need not have been looked up before. Once the file is here, the object has an address
    of its own."""
    with Hub({"far/model": repo()}) as upstream:
        people = people_of(start, issuer, tmp_path / "home", mirror=upstream.url)
        reply = lfs.batch(people, "far/model", "download", BIG, OTHER_BIG)
        assert reply.headers["X-Cairn-Mirror"] == "fetching" and not upstream.paths("/resolve/")
        found, missing = reply.json()["objects"]
        assert missing["error"]["code"] == 404
        assert found["actions"] == {"download": {"href": f"{people.server.url}/far/model/resolve/{SHA}/sub%20dir/%C3%A9%231%3F.bin"}} and found["authenticated"]
        wrong = people.ask("POST", "/far/model.git/info/lfs/objects/batch", body={"operation": "download", "objects": [{"oid": lfs.oid(BIG), "size": 5}]})
        assert item(wrong)["error"]["code"] == 422
        assert fetched(people, found["actions"]["download"]).body == BIG and len(upstream.paths("/resolve/")) == 1
        later = lfs.batch(people, "far/model", "download", BIG)
        assert later.headers["X-Cairn-Mirror"] == "here" and "/lfs/" in item(later)["actions"]["download"]["href"]
        assert lfs.get(people, "far/model", BIG).body == BIG and len(upstream.paths("/resolve/")) == 1


def test_a_revision_that_is_not_here_is_looked_up(start, issuer, tmp_path):
    """The client names the branch that it has checked out. What only other revisions have is found once they were looked up."""
    with Hub({"far/model": repo()}) as upstream:
        people = people_of(start, issuer, tmp_path / "home", mirror=upstream.url)
        assert "actions" in item(lfs.batch(people, "far/model", "download", BIG))
        upstream.repos["far/model"] = Repo({"new.bin": OTHER_BIG}, stored={"new.bin"}, sha=LATER)
        upstream.repos["far/model"].older = [repo()]
        for ref in ({}, {"ref": {"name": "refs/heads/main"}}, {"ref": {"name": "refs/heads/none"}}, {"ref": {"name": "refs/pull/1"}}, {"ref": {"name": "x" * 999}}):
            assert item(lfs.batch(people, "far/model", "download", OTHER_BIG, **ref))["error"]["code"] == 404, ref
        found = item(lfs.batch(people, "far/model", "download", OTHER_BIG, ref={"name": "refs/heads/v1"}))
        assert f"/resolve/{LATER}/new.bin" in found["actions"]["download"]["href"]
        assert fetched(people, found["actions"]["download"]).body == OTHER_BIG
        older = item(lfs.batch(people, "far/model", "download", BIG, ref={"name": "refs/heads/v1"}))
        assert fetched(people, older["actions"]["download"]).body == BIG


@pytest.mark.parametrize("gate", [{"gated": "manual"}, {"private": True}], ids=["gated", "private"])
def test_a_gate_is_one_for_git_lfs_too(start, issuer, tmp_path, gate):
    """Who may not read the files gets no address. Who may gets the own Authorization header back, since without it the address gives nothing."""
    with Gates(TOKEN, repos={"far/model": repo(**gate)}) as upstream:
        people = people_of(start, issuer, tmp_path / "home", mirror=upstream.url)
        basic = "Basic " + base64.b64encode(f"any:{TOKEN}".encode()).decode()
        body = json.dumps({"operation": "download", "objects": [{"oid": lfs.oid(BIG), "size": len(BIG)}]}).encode()
        for again in (False, True):  # before anybody was let in, and afterwards
            for who in ("nobody", "ann", asker(people, OTHER)):
                reply = lfs.batch(people, "far/model", "download", BIG, who=who)
                assert reply.status in (401, 403, 404) and b"href" not in reply.body and b"resolve" not in reply.body, (who, reply)
            for header in (f"Bearer {TOKEN}", basic):
                reply = people.server.request("POST", "/far/model.git/info/lfs/objects/batch", body=body, headers={"Authorization": header})
                action = item(reply)["actions"]["download"]
                assert action["header"] == {"Authorization": header} and reply.headers["Cache-Control"] == "no-store"
                if header == basic:
                    without = {"href": action["href"]}
                    assert fetched(people, without).status in (401, 404)
                    assert fetched(people, without | {"header": {"Authorization": f"Bearer {OTHER}"}}).status in (401, 403, 404)
        assert fetched(people, action).body == BIG
        assert lfs.get(people, "far/model", BIG, who=asker(people, TOKEN)).body == BIG
        assert lfs.batch(people, "far/model", "download", BIG, who="nobody").status in (401, 404)
        assert TOKEN not in people.server.log()


def batch_behind_a_proxy(people, header):
    body = json.dumps({"operation": "download", "objects": [{"oid": lfs.oid(BIG), "size": len(BIG)}]}).encode()
    reply = people.server.request("POST", "/far/model.git/info/lfs/objects/batch", body=body, headers={"Authorization": f"Bearer {TOKEN}", header: "x"})
    return reply, item(reply)


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "Via"])
def test_a_token_is_not_sent_in_clear(start, issuer, tmp_path, header):
    """Behind a proxy the address might begin with http:// although clients use https://, unless the operator says what it is."""
    with Gates(TOKEN, repos={"far/model": repo(gated="auto")}) as upstream:
        people = people_of(start, issuer, tmp_path / "home", mirror=upstream.url)
        reply, found = batch_behind_a_proxy(people, header)
        assert found["error"]["code"] == 403 and "public_url" in found["error"]["message"]
        assert TOKEN.encode() not in reply.body and b"resolve" not in reply.body


def test_a_token_is_sent_to_the_public_address(start, issuer, tmp_path):
    with Gates(TOKEN, repos={"far/model": repo(gated="auto")}) as upstream:
        people = people_of(start, issuer, tmp_path / "home", mirror=upstream.url, public_url="https://hub.example.com")
        action = batch_behind_a_proxy(people, "X-Forwarded-For")[1]["actions"]["download"]
        assert action["href"].startswith("https://hub.example.com/far/model/resolve/") and action["header"] == {"Authorization": f"Bearer {TOKEN}"}


def test_a_server_without_anonymous_readers(start, issuer, tmp_path):
    with Hub({"far/model": repo()}) as upstream:
        people = people_of(start, issuer, tmp_path / "home", mirror=upstream.url, no_hub_anonymous=True)
        action = item(lfs.batch(people, "far/model", "download", BIG))["actions"]["download"]
        assert action["header"] == {"Authorization": f"Bearer {people.keys['ann']}"}
        assert fetched(people, {"href": action["href"]}).status == 401 and fetched(people, action).body == BIG
        begun = len(upstream.asked)
        assert lfs.batch(people, "far/none", "download", BIG, who="nobody").status == 401 and len(upstream.asked) == begun


def test_uploads_ask_for_nothing_upstream(start, issuer, tmp_path):
    with Hub({"far/model": repo()}) as upstream:
        people = people_of(start, issuer, tmp_path / "home", mirror=upstream.url, hub_lfs_create=True)
        for who, code in (("ann", 404), ("nobody", 401), (asker(people, TOKEN), 401)):
            assert lfs.batch(people, "far/model", "upload", BIG, who=who).status == code, who
        assert not upstream.asked
        assert "actions" in item(lfs.batch(people, "far/model", "download", BIG))
        assert lfs.batch(people, "far/model", "upload", BIG).status == 403
        assert lfs.batch(people, "ann/own", "download", BIG, who=asker(people, TOKEN)).status == 401


def test_git_lfs_fetches_through_a_gate(start, issuer, tmp_path):
    """The real git lfs, with a token of the mirrored hub. It asks again when it is put off."""
    asked = []

    def busy_once(connection):
        asked.append(connection)
        connection.sendall(answer(429, Retry_After="1") if len(asked) == 1 else answer(200))

    with Gates(TOKEN, repos={"far/model": Repo({"m.bin": BIG}, stored={"m.bin"}, gated="auto")}) as upstream:
        upstream.instead["/auth-check"] = busy_once
        people = people_of(start, issuer, tmp_path / "home", mirror=upstream.url)
        git = lfs.Git(tmp_path / "git")
        work = git.begin(f"{people.server.url}/far/model.git/info/lfs")
        (work / "m.bin").write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{lfs.oid(BIG)}\nsize {len(BIG)}\n")
        git.run("add", ".", at=work)
        git.run("commit", "-m", "a pointer", at=work)
        git.run("lfs", "pull", at=work, fails=True)
        assert not asked
        lfs.helper(git, people, TOKEN)
        git.run("lfs", "pull", at=work)
        assert (work / "m.bin").read_bytes() == BIG and len(asked) == 2
        assert TOKEN not in people.server.log()
