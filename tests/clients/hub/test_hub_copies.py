"""Files that are copied between repositories without sending their bytes, by the stock command and library; and who may do so."""

import cairn
from hub_calls import collect, commit, deleted, done, make, paths, stored, text, upload
from huggingface_hub import CommitOperationCopy


def test_files_are_copied_between_repositories(people, admin, data, tmp_path):
    """hf cp, and commits that copy: no byte is sent or stored, texts are copied too, and the copy outlives the source."""
    make(people, "team/one", "adam", private=True)
    make(people, private=True), make(people, "ann/data", type="dataset", private=True)
    repo, big, two = "models/team/one", data[:100_000], data[100_000:190_000]
    sums = [upload(people, body, repo=repo)[0] for body in (big, two)]
    head = done(commit(people, stored("d/w.bin", sums[0], 1), stored("x.bin", sums[1], 1), text("d/a.txt", "text"), repo=repo))
    done(commit(people, deleted("x.bin"), repo=repo))

    def stats():
        return people.server.get("/v1/stats", token=admin).json()["stored_bytes"]

    before = stats()
    people.hf("cp", "hf://models/team/one/d/", "hf://models/ann/one/e/")
    assert paths(people) == ["e/a.txt", "e/w.bin"]
    people.hf("cp", "hf://models/team/one/d/w.bin", "hf://datasets/ann/data/w.bin")
    copies = [CommitOperationCopy("x.bin", "old.bin", src_revision=head, src_repo_id="team/one", src_repo_type="model")]
    people.api().create_commit("ann/one", copies, commit_message="from history", create_pr=True)
    assert paths(people, place="refs%2Fpr%2F1") == ["old.bin", "e/a.txt", "e/w.bin"]
    # hf cp also copies to a bucket. There the client uploads text files.
    people.make("ann/box", private=True)
    people.hf("cp", "hf://models/team/one/d/", "hf://buckets/ann/box/d/")
    assert people.paths("ann/box") == ["d/a.txt", "d/w.bin"] and stats() <= before + 200, "no bytes of large files are stored again"
    people.api("adam").delete_repo("team/one")
    collect(people, admin)
    for place in ("ann/one/resolve/main/e/w.bin", "datasets/ann/data/resolve/main/w.bin", "buckets/ann/box/resolve/d/w.bin"):
        assert people.ask("GET", f"/{place}").body == big, place
    assert people.ask("GET", "/ann/one/resolve/refs%2Fpr%2F1/old.bin").body == two
    assert people.ask("GET", "/ann/one/resolve/main/e/a.txt").body == b"text"


def test_a_copied_file_keeps_its_guard(people, data):
    """A copied file keeps the guard of its source, as a copied repository does. Somebody who may read a private file cannot publish it by copying twice or
    three times."""
    for repo, who in (("team/one", "adam"), ("ann/open", "ann"), ("ann/shut", "ann"), ("team/own", "ann")):
        make(people, repo, who, private=not repo.endswith("open"))
    sha256, hash_ = upload(people, data[:70_000], repo="models/team/one", who="adam")
    done(commit(people, stored("x", sha256, 70_000), repo="models/team/one", who="adam"))

    def ask(target, who="ann"):
        body = {"target": {"type": "model", "name": target}, "files": [{"sha256": sha256, "xetHash": hash_, "filename": "x"}]}
        return people.ask("POST", "/api/models/team/one/lfs-files/duplicate", who, body)

    def open_it(repo, who="ann", kind="models"):
        return people.ask("PUT", f"/api/{kind}/{repo}/settings", who, {"private": False})

    assert cairn.is_hub_error(ask("ann/open"), 403, "repo.guarded")
    assert cairn.is_hub_error(commit(people, stored("x", sha256, 70_000), repo="models/ann/open"), 400, "commit.sha256")
    assert ask("ann/shut").json() == {"failed": []} and ask("team/own").json() == {"failed": []}
    assert cairn.is_hub_error(open_it("ann/shut"), 403, "repo.guarded")
    assert open_it("team/own", "adam").status == 200
    # A bucket keeps the guard, too.
    people.make("ann/box"), people.make("ann/closed", private=True)
    copy = {"type": "copyFile", "path": "x", "xetHash": hash_, "sourceRepoType": "model", "sourceRepoId": "team/one"}
    reply = people.batch("ann/box", copy)
    assert reply.status == 422 and "only an admin" in reply.json()["failed"][0]["error"] and people.paths("ann/box") == []
    assert people.batch("ann/closed", copy).json()["success"]
    refused = people.ask("PUT", "/api/buckets/ann/closed/settings", "ann", {"private": False})
    assert cairn.is_hub_error(refused, 403, "repo.guarded")
    # An admin of the source decides.
    make(people, "adam/open", "adam")
    assert ask("adam/open", "adam").json() == {"failed": []}


def test_a_copy_needs_read_at_the_source_and_write_at_the_target(people, data):
    """A copy needs the right to read the source and to write to the target. A private repository looks as if it did not exist, and knowing hashes gives no
    right to a file."""
    make(people), make(people, "ann/secret", private=True), make(people, "bob/own", "bob"), make(people, "team/gated", "adam")
    assert people.ask("PUT", "/api/models/team/gated/settings", "adam", {"gated": "manual"}).status == 200
    known = {repo: upload(people, data[i * 70_000 :][:70_000], repo=f"models/{repo}") for i, repo in enumerate(("ann/one", "ann/secret", "team/gated"))}

    def ask(source, target, *repos, who="bob", type="model"):
        files = [{"sha256": known[r][0], "xetHash": known[r][1], "filename": "x"} for r in repos]
        body = {"target": {"type": type, "name": target}, "files": files}
        return people.ask("POST", f"/api/models/{source}/lfs-files/duplicate", who, body)

    reply = ask("ann/one", "bob/own", "ann/one", "ann/secret", "team/gated")
    assert reply.status == 200 and [f["sha256"] for f in reply.json()["failed"]] == [known["ann/secret"][0], known["team/gated"][0]]
    done(commit(people, stored("x", known["ann/one"][0], 1), repo="models/bob/own", who="bob"))
    assert cairn.is_hub_error(commit(people, stored("y", known["ann/secret"][0], 1), repo="models/bob/own", who="bob"), 400, "commit.sha256")
    gated = ask("team/gated", "bob/own", "team/gated")
    assert cairn.is_hub_error(gated, 403, "repo.gated") and gated.headers["X-Error-Code"] == "GatedRepo"
    # Whoever may not see the source or the target is answered as if it did not exist.
    for who, status in (("bob", 404), ("nobody", 401)):
        for source, target in (("ann/secret", "bob/own"), ("ann/one", "ann/secret")):
            replies = [ask(s, t, "ann/secret", who=who) for s, t in ((source, target), (source.replace("secret", "none"), target.replace("secret", "none")))]
            seen = [(r.status, r.json()["error"], {k: v for k, v in r.headers.items() if k not in ("Date", "X-Request-Id")}) for r in replies]
            assert seen[0] == seen[1] and seen[0][0] == status and replies[0].headers["X-Error-Code"] == "RepoNotFound", (who, source, target)
    for who, status in (("bob", 403), ("nobody", 401), ("reading ann", 403)):
        assert ask("ann/one", "ann/one", "ann/one", who=who).status == status, who
    copy = {"type": "copyFile", "path": "x", "xetHash": known["ann/secret"][1], "sourceRepoType": "model"}
    people.make("bob/box", "bob")
    for source in ("ann/secret", "ann/none", "team/gated", "ann/one", "bob/own"):
        reply = people.batch("bob/box", copy | {"sourceRepoId": source}, who="bob")
        assert reply.status == 422 and reply.json()["failed"] == [{"path": "x", "error": "there is no such file in the source"}], source
    closed = people.batch("bob/box", copy | {"sourceRepoId": "team/gated", "xetHash": known["team/gated"][1]}, who="bob")
    assert closed.status == 422 and people.paths("bob/box", who="bob") == []
    assert people.batch("bob/box", copy | {"sourceRepoId": "ann/one", "xetHash": known["ann/one"][1]}, who="bob").status == 200
    file = {"xetHash": "1" * 64, "sha256": "2" * 64}
    target = {"type": "model", "name": "bob/own"}
    for wrong in (
        b"x", {}, {"target": target}, {"files": [file]}, {"target": target, "files": {}}, {"target": target, "files": [{"xetHash": "1" * 64}]},
        {"target": target, "files": [file | {"sha256": "x"}]}, {"target": target | {"type": "bucket"}, "files": [file]},
        {"target": target | {"name": "own"}, "files": [file]}, {"target": target | {"type": "models"}, "files": [file]},
        {"target": target | {"name": "bob/" + "x" * 300}, "files": [file]}, {"target": target, "files": [file] * 1001},
    ):  # fmt: skip
        assert cairn.is_hub_error(people.ask("POST", "/api/models/ann/one/lfs-files/duplicate", "bob", wrong), 400, "repo.body"), wrong
    many = people.ask("POST", "/api/models/ann/one/lfs-files/duplicate", "bob", {"target": target, "files": [file] * 1000})
    assert many.status == 200 and len(many.json()["failed"]) == 1000
