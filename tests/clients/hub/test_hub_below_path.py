"""Real clients at an address with a path, behind a proxy that strips it. All addresses that the daemon hands out lead through the proxy."""

import random

import pytest
from between import Between
from huggingface_hub import CommitOperationAdd, HfFileSystem
from lfs import Git, helper
from people import People

PATH = "/hub"


def cut(request, before):
    """Strips the path, as the proxy does. Any address outside of it is answered 404."""
    return request.path.removeprefix(PATH) if request.path.startswith(PATH + "/") else 404


@pytest.fixture
def people(start, issuer, admin, tmp_path):
    with Between(None, cut) as between:
        address = between.url + PATH
        between.server = start(token_key=issuer.folder, public_url=address)
        people = People(between.server, admin, tmp_path / "home")
        people.server.url = address  # for tools; the tests' own requests go to its port
        people.between = between
        yield people


def strays(people):
    """Requests of clients outside of the path. hf_xet sends its telemetry to the host, whatever address it was given."""
    return [(r.method, r.path) for r in people.between.requests if not r.path.startswith(PATH + "/") and r.path != "/v1/telemetry"]


def test_hub_clients(people, tmp_path):
    data = random.Random(1).randbytes(300_000)
    (tmp_path / "one").mkdir()
    (tmp_path / "one/model.bin").write_bytes(data)
    (tmp_path / "one/config.json").write_text("{}")
    assert f"{people.server.url}/ann/one" in people.hf("upload", "ann/one", tmp_path / "one")
    people.hf("download", "ann/one", "--local-dir", tmp_path / "again")
    assert (tmp_path / "again/model.bin").read_bytes() == data and (tmp_path / "again/config.json").read_text() == "{}"
    api = people.api()
    for name in ("two", "three", "four"):
        api.create_repo(f"ann/{name}")
    assert [m.id for m in api.list_models(author="ann", limit=3)] and len(list(api.list_models(author="ann"))) == 4
    api.move_repo("ann/two", "ann/five")
    assert api.model_info("ann/two").id == "ann/five"
    pull = api.create_commit("ann/one", [CommitOperationAdd("a", b"b")], commit_message="a", create_pr=True)
    assert pull.pr_url.startswith(people.server.url + "/")
    assert api.upload_file(path_or_fileobj=data, path_in_repo="x.bin", repo_id="ann/two").startswith(people.server.url + "/ann/")
    people.hf("download", "ann/two", "x.bin", "--local-dir", tmp_path / "moved")
    assert (tmp_path / "moved/x.bin").read_bytes() == data
    files = HfFileSystem(endpoint=people.server.url, token=people.keys["ann"])
    assert files.cat("ann/one/config.json") == b"{}" and files.find("ann/five") == ["ann/five/.gitattributes", "ann/five/x.bin"]
    assert strays(people) == []


def test_lists_by_pages(people):
    for i in range(5):
        people.api().create_repo(f"ann/r{i}")
    reply = people.ask("GET", "/api/models?author=ann&limit=2")
    assert reply.headers["Link"].startswith(f"<{people.server.url}/api/models?"), reply.headers["Link"]
    assert len(list(people.api().list_models(author="ann", limit=None))) == 5
    operations = [CommitOperationAdd(f"f{i}", b"x") for i in range(1001)]
    people.api().create_commit("ann/r0", operations, commit_message="many")
    assert len(list(people.api().list_repo_tree("ann/r0"))) == 1002, "the list has two pages"
    assert strays(people) == []


def test_buckets(people, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/a.bin").write_bytes(random.Random(2).randbytes(200_000))
    people.make("ann/data")
    people.hf("sync", tmp_path / "folder", "hf://buckets/ann/data/run")
    people.hf("sync", "hf://buckets/ann/data/run", tmp_path / "again")
    assert (tmp_path / "again/a.bin").read_bytes() == (tmp_path / "folder/a.bin").read_bytes()
    assert strays(people) == []


def test_git_lfs(people, tmp_path):
    people.api().create_repo("ann/weights")
    git = Git(tmp_path / "git")
    helper(git, people, people.keys["ann"])
    work = git.begin(f"{people.server.url}/ann/weights.git/info/lfs")
    data = random.Random(3).randbytes(500_000)
    git.push(work, a=data)
    assert (git.clone("clone") / "a.bin").read_bytes() == data
    assert strays(people) == []
