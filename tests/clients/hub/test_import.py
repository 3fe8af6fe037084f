"""cairn import turns a folder, or the cache of huggingface_hub, into a repository that stock clients read."""

import hashlib
import json
import os
import signal
import subprocess
from pathlib import Path

import cairn
import hf_client
import pytest
from hub_calls import commit, deleted, done, make, paths, stored, text, tree, upload
from huggingface_hub import snapshot_download


def import_(people, *words, who="ann", code=0):
    """Runs the import. @return its JSON output"""
    env = os.environ | {"CAIRN_SERVER": people.server.url, "CAIRN_TOKEN": people.keys[who] or ""}
    run = subprocess.run([cairn.CAIRN, "import", "--json", *map(str, words)], env=env, capture_output=True, text=True, timeout=120)
    assert run.returncode == code, (words, run.returncode, run.stdout, run.stderr[-3000:])
    return json.loads(run.stdout)


@pytest.fixture
def folder(tmp_path):
    here = tmp_path / "here"
    for name, body in {
        "config.json": b'{"a": 1}\n',
        "empty": b"",
        "sub/model.safetensors": os.urandom(300_000),
        "sub/a b+%ü.txt": b"odd",
        "long.txt": b"line of text\n" * 20_000,
        ".gitignore": b"*.log\n",
        "x.log": b"left out",
        ".git/HEAD": b"ref: refs/heads/main\n",
        "sub/.git": b"gitdir: elsewhere\n",
        "deep/.GIT/config": b"left out, too: no commit may have it\n",
        ".cache/huggingface/x": b"left out",
    }.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(body)
    (here / "link").symlink_to("/etc/passwd")
    (here / ".git" / os.fsdecode(b"\xff\xfe")).write_bytes(b"left out")
    return here


FILES = {"config.json", "empty", "sub/model.safetensors", "sub/a b+%ü.txt", "long.txt", ".gitignore"}


def read(people, folder, repo, revision="main", who="ann"):
    """Downloads with the stock client into a cache of its own: {path: bytes}"""
    at = Path(snapshot_download(repo, revision=revision, endpoint=people.server.url, token=people.keys[who], cache_dir=folder))
    return {str(p.relative_to(at)): p.read_bytes() for p in at.rglob("*") if p.is_file() and p.name != ".gitattributes"}


def test_a_folder(people, folder, tmp_path):
    """All files come down again, byte for byte. Importing the same folder again makes no commit, one more file makes one, and --revision makes a branch."""
    first = import_(people, folder, "ann/one", "--private")
    assert first["made"] and (first["files"], first["ignored"]) == (len(FILES), 1) and [c["revision"] for c in first["commits"]] == ["main"]
    assert first["commits"][0]["snapshot"] is None and not first["commits"][0]["id_kept"]
    assert people.api().repo_info("ann/one").private
    assert read(people, tmp_path / "there", "ann/one") == {name: (folder / name).read_bytes() for name in FILES}
    again = import_(people, folder, "ann/one")
    assert again["commits"][0]["commit"] == first["commits"][0]["commit"] and not again["made"]
    (folder / "more").write_bytes(b"1")
    import_(people, folder, "ann/one", "--revision", "dev", "--message", "What is more")
    assert "more" in paths(people, place="dev") and "more" not in paths(people)
    assert people.api().list_repo_commits("ann/one", revision="dev")[0].title == "What is more"
    import_(people, folder, "ann/table", "--type", "dataset")
    assert people.api().repo_info("ann/table", repo_type="dataset")


def cached(people, tmp_path):
    """A cache with three commits of ann/one, one of them main and one v1. @return it, and their ids"""
    make(people)
    data = os.urandom(120_000)
    ids = [done(commit(people, text("a", "1"), text("gone", "x"), stored("w.bin", upload(people, data)[0], len(data))))]
    people.api().create_tag("ann/one", tag="v1")
    ids.append(done(commit(people, text("a", "2"), deleted("gone"))))
    ids.append(done(commit(people, text("a", "3"))))
    cache = tmp_path / "cache"
    for revision in ("v1", ids[1], "main"):
        read(people, cache, "ann/one", revision)
    return cache, ids


def test_a_cache_keeps_its_ids_for_an_operator(people, tmp_path):
    cache, ids = cached(people, tmp_path)
    got = import_(people, cache / "models--ann--one", "team/copy", who="operator")
    commits = {c["snapshot"]: c for c in got["commits"]}
    assert set(commits) == set(ids) and all(c["id_kept"] and not c["was_there"] for c in commits.values())
    assert [commits[i]["revision"] for i in ids] == ["v1", f"snapshot-{ids[1]}", "main"]
    for revision, id_ in (("main", ids[2]), ("v1", ids[0]), *((i, i) for i in ids)):
        assert people.api().repo_info("team/copy", revision=revision).sha == id_
        assert read(people, tmp_path / "there" / revision, "team/copy", revision) == read(people, cache, "ann/one", id_)
    refs = people.api().list_repo_refs("team/copy")
    assert [b.name for b in refs.branches] == ["main"] and sorted(t.name for t in refs.tags) == [f"snapshot-{ids[1]}", "v1"]
    again = import_(people, cache / "models--ann--one", "team/copy", who="operator")
    assert all(c["was_there"] for c in again["commits"]) and again["sent_bytes"] == 0
    # A newer main removes files that it does not have.
    newest = done(commit(people, deleted("w.bin"), text("b", "4")))
    read(people, cache, "ann/one")
    import_(people, cache / "models--ann--one", "team/copy", who="operator")
    assert people.api().repo_info("team/copy").sha == newest and paths(people, repo="models/team/copy") == ["a", "b"]
    assert people.api().repo_info("team/copy", revision=ids[2]).sha == ids[2]


def test_a_cache_gets_new_ids_from_others(people, tmp_path):
    """Imports by others than an operator get new commit ids, also from a cache of several repositories. Only an operator may keep the ids of the cache."""
    cache, ids = cached(people, tmp_path)
    import_(people, cache, "team/absent", code=66)
    before = read(people, cache, "ann/one")
    assert people.ask("DELETE", "/api/repos/delete", "ann", {"name": "one", "organization": "ann"}).status == 200
    got = import_(people, cache, "ann/one")
    assert [c["snapshot"] for c in got["commits"]][-1] == ids[2] and not any(c["id_kept"] for c in got["commits"])
    assert read(people, tmp_path / "there", "ann/one") == before
    assert read(people, tmp_path / "v1", "ann/one", "v1")["gone"] == b"x"
    assert import_(people, cache, "ann/one")["commits"][-1]["commit"] == got["commits"][-1]["commit"]
    reply = commit(people, text("c", "5"), commitId="ab" * 20)
    assert cairn.is_hub_error(reply, 403, "commit.id")
    assert cairn.is_hub_error(commit(people, text("c", "5"), who="operator", commitId=ids[2].upper()), 400, "commit.id_text")


def test_an_older_client_reads_it(people, folder, tmp_path):
    """An older client reads it, and a cache that an older client made can be imported."""
    import_(people, folder, "ann/one")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from huggingface_hub import snapshot_download, __version__; assert __version__[0] == '1';"
        "print(snapshot_download('ann/one', cache_dir=sys.argv[2]))"
    )
    older = next((Path(os.sys.prefix) / "older").glob("1.33.0"))
    env = hf_client.hub_environment(tmp_path, people.server, people.keys["ann"])
    run = subprocess.run([os.sys.executable, "-c", code, older, tmp_path / "old"], env=env, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr[-3000:]
    at = Path(run.stdout.strip().splitlines()[-1])
    assert {name: (at / name).read_bytes() for name in FILES} == {name: (folder / name).read_bytes() for name in FILES}
    import_(people, tmp_path / "old" / "models--ann--one", "ann/two")
    assert [e["oid"] for e in tree(people, repo="models/ann/two")] == [e["oid"] for e in tree(people)]


def test_refused(people, folder, tmp_path):
    make(people, "team/one", "adam", private=True)
    import_(people, folder, "team/one", who="rita", code=77)
    import_(people, folder, "team/one", who="reading ann", code=77)
    import_(people, folder, "team/one", who="bob", code=77)  # refused as if the repository did not exist
    import_(people, folder, "team/one", who="nobody", code=77)
    import_(people, folder, "nobody/one", code=77)
    import_(people, tmp_path / "absent", "ann/one", code=66)
    for wrong in (["ann"], ["ann/one/two"], ["ann/one", "--type", "bucket"], ["ann/one", "--jobs", "0"], ["ann/ö"]):
        import_(people, folder, *wrong, code=64)
    import_(people, folder, "ann/one", "--revision", "..", code=64)
    for name in ("a..b", "a b", "a" * 40, ""):
        import_(people, folder, "ann/new", "--revision", name, code=64)
    assert people.ask("GET", "/api/models/ann/new").status == 404
    (folder / "sub" / "config.json").mkdir()
    (folder / "sub" / "config.json" / "x\x01").write_bytes(b"")
    refused = import_(people, folder, "ann/new", code=65)["error"]
    assert refused["rule"] == "import.path" and "sub/config.json/x" in refused["message"]
    assert people.ask("GET", "/api/models/ann/new").status == 404
    refused = import_(people, folder / "empty", "ann/new", code=66)["error"]
    assert "Not a directory" in refused["message"]


def a_cache(folder, snapshots, refs):
    """Makes a cache as huggingface_hub does. @param snapshots  {id: {path: bytes}}, the oldest first @param refs  {name: id}"""
    for age, (id_, files) in enumerate(snapshots.items()):
        for name, body in files.items():
            blob, link = folder / "blobs" / hashlib.sha256(body).hexdigest(), folder / "snapshots" / id_ / name
            blob.parent.mkdir(parents=True, exist_ok=True)
            blob.write_bytes(body)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.path.relpath(blob, link.parent))
        os.utime(folder / "snapshots" / id_, (1000 + age, 1000 + age))
    for name, id_ in refs.items():
        (folder / "refs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "refs" / name).write_text(id_)
    return folder


A, B, C = "a" * 40, "b" * 40, "c" * 40


@pytest.mark.parametrize("to", ["../../blobs/../../secret", "ABSOLUTE", "/etc", "k", "../../blobs/c", "../../blobs/missing", "../../blobs", ""])
def test_links_of_a_cache_lead_into_it_alone(people, tmp_path, to):
    """A link in somebody else's cache must not bring in a file from outside of it. The import is refused, rather than leaving the file out of the snapshot."""
    cache = a_cache(tmp_path / "models--x--y", {A: {"good": b"inside", "sub/good": b"2"}}, {"around": A})
    (tmp_path / "secret").write_bytes(b"secret")
    (cache / "refs" / "loop").symlink_to(".")
    (cache / "blobs" / "c").symlink_to(tmp_path / "secret")
    if to:
        (cache / "snapshots" / A / "k").symlink_to(tmp_path / "secret" if to == "ABSOLUTE" else to)
        refused = import_(people, cache, "ann/one", code=65)["error"]
        assert refused["rule"] == "import.blob" and refused["message"].startswith("k ")
    else:
        assert import_(people, cache, "ann/one")["files"] == 2 and paths(people) == ["good", "sub/good"]


@pytest.mark.parametrize("part", ["blobs", "snapshots", f"snapshots/{A}", f"snapshots/{A}/sub"])
def test_no_folder_of_a_cache_is_a_link(people, tmp_path, part):
    cache = a_cache(tmp_path / "models--x--y", {A: {"sub/good": b"inside"}, B: {"a": b"1"}}, {"main": A})
    (cache / part).rename(tmp_path / "elsewhere")
    (cache / part).symlink_to(tmp_path / "elsewhere")
    rule, code = ("import.blob", 65) if part in ("blobs", f"snapshots/{A}/sub") else ("folder.read", 66)
    assert import_(people, cache, "ann/one", code=code)["error"]["rule"] == rule


@pytest.mark.parametrize("blob, becomes", [("sha256", "less"), ("sha256", "other"), ("sha256 inline", "less"), ("oid", "less"), ("oid inline", "other")])
def test_a_blob_with_other_bytes_than_its_name_is_refused(people, tmp_path, blob, becomes):
    """An operator's import keeps the commit id that people have pinned. A blob with other bytes than its name says is refused."""
    body = b"text\n" * 5 if "inline" in blob else os.urandom(100_000)
    cache = a_cache(tmp_path / "models--x--y", {A: {"sub/w.bin": body}}, {"main": A})
    name = hashlib.sha256(body).hexdigest()
    if "oid" in blob:
        name = hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()
        next((cache / "blobs").iterdir()).rename(cache / "blobs" / name)
        (cache / "snapshots" / A / "sub" / "w.bin").unlink()
        (cache / "snapshots" / A / "sub" / "w.bin").symlink_to(f"../../../blobs/{name}")
    import_(people, cache, "ann/good", who="operator")
    assert people.ask("GET", f"/ann/good/resolve/{A}/sub/w.bin").body == body
    (cache / "blobs" / name).write_bytes(body[:-1] if becomes == "less" else b"x" + body[1:])
    refused = import_(people, cache, "ann/bad", who="operator", code=65)["error"]
    assert refused["rule"] == "import.blob" and "sub/w.bin" in refused["message"] and name in refused["message"]
    assert not refused["message"].endswith(name) and paths(people, repo="models/ann/bad") == []


def test_a_cache_with_blobs_for_all(people, tmp_path):
    """Newer clients keep blobs in one folder for all repositories. The blob of a repository is then a link into that folder, which has a marker file."""
    body = os.urandom(100_000)
    cache = a_cache(tmp_path / "models--x--y", {A: {"w.bin": body}}, {"main": A})
    shared = tmp_path / "blobs" / "ab" / ("ab" * 32)
    shared.parent.mkdir(parents=True)
    blob = next((cache / "blobs").iterdir())
    blob.rename(shared)
    blob.symlink_to(f"../../blobs/ab/{shared.name}")
    assert import_(people, cache, "ann/one", code=65)["error"]["rule"] == "import.blob"
    (tmp_path / "blobs" / ".huggingface-shared-blobs").write_text("1")
    import_(people, cache, "ann/two")
    assert people.ask("GET", "/ann/two/resolve/main/w.bin").body == body
    shared.write_bytes(body[1:])
    assert import_(people, cache, "ann/three", code=65)["error"]["rule"] == "import.blob"


def texts(people, repo="ann/one", revision="main"):
    """{path: text} of all files of the repository."""
    names = paths(people, repo=f"models/{repo}", place=revision)
    return {name: people.ask("GET", f"/{repo}/resolve/{revision}/{name}").body.decode() for name in names}


@pytest.mark.parametrize("who", ["ann", "operator"])
def test_an_import_keeps_commits_of_others(people, tmp_path, who):
    """An import replaces all files of a branch. So it does that only to commits of the same cache, or with --force."""
    cache = a_cache(tmp_path / "models--x--y", {A: {"a.txt": b"1"}}, {"main": A})
    import_(people, cache, "ann/one", who=who)
    head = done(commit(people, text("later", "by a colleague"), text("a.txt", "changed")))
    again = import_(people, cache, "ann/one", who=who)["commits"]
    assert [(c["was_there"], c["head"]) for c in again] == [(True, head)] and again[0]["commit"] != head
    a_cache(cache, {B: {"a.txt": b"2"}}, {"main": B})
    assert import_(people, cache, "ann/one", who=who, code=65)["error"]["rule"] == "import.branch"
    assert texts(people) == {"later": "by a colleague", "a.txt": "changed"}
    import_(people, cache, "ann/one", "--force", who=who)
    assert texts(people) == {"a.txt": "2"}
    assert import_(people, cache, "ann/one", who=who)["commits"][-1]["was_there"]
    # Commits from another cache are somebody's work, too. The first cache can still be imported.
    other = a_cache(tmp_path / "models--x--z", {C: {"a.txt": b"3"}}, {"main": C})
    assert import_(people, other, "ann/one", who=who, code=65)["error"]["rule"] == "import.branch"
    make(people, "ann/full")
    done(commit(people, text("precious", "x"), repo="models/ann/full"))
    assert import_(people, other, "ann/full", who=who, code=65)["error"]["rule"] == "import.branch"
    assert texts(people, "ann/full") == {"precious": "x"}
    assert import_(people, cache, "ann/full", who=who, code=65)["error"]["rule"] == "import.branch"
    assert people.api().list_repo_refs("ann/full").tags == []
    # So is a branch whose name an import would use.
    make(people, "ann/named")
    people.api().create_branch("ann/named", branch=f"import-{A}")
    done(commit(people, text("mine", "x"), repo="models/ann/named", revision=f"import-{A}"))
    assert import_(people, cache, "ann/named", who=who, code=65)["error"]["rule"] == "import.branch"
    assert "mine" in texts(people, "ann/named", f"import-{A}")


@pytest.mark.parametrize("who", ["ann", "operator"])
def test_refs_that_move_in_a_cache(people, tmp_path, who):
    """The import moves main to its new snapshot and reports where it is. Tags that exist stay, and every snapshot can be reached by a name that was free."""
    cache = a_cache(tmp_path / "models--x--y", {A: {"a.txt": b"1"}, B: {"a.txt": b"2"}}, {"main": B, "v2": B, "v1": A, "v1.0": A, "feat ure": A})
    import_(people, cache, "ann/one", who=who)
    refs = {t.name: t.target_commit for t in people.api().list_repo_refs("ann/one").tags}
    assert set(refs) == {"v1", "v1.0", "v2"} and refs["v1"] == refs["v1.0"] and refs["v2"] == people.api().repo_info("ann/one").sha
    (cache / "refs" / "main").write_text(A)
    got = import_(people, cache, "ann/one", who=who)["commits"]
    assert texts(people) == {"a.txt": "1"} and texts(people, revision="v2") == {"a.txt": "2"}
    assert next(c for c in got if c["revision"] == "main")["head"] == people.api().repo_info("ann/one").sha
    assert {t.name: t.target_commit for t in people.api().list_repo_refs("ann/one").tags} == refs
    import_(people, cache, "ann/one", "--revision", "dev", who=who)
    assert texts(people, revision="dev") == {"a.txt": "1"}
    a_cache(cache, {C: {"a.txt": b"3"}}, {"v1": C})
    os.utime(cache / "snapshots" / C, (900, 900))
    for was_there in (False, True):
        got = import_(people, cache, "ann/one", who=who)["commits"]
        assert [c["was_there"] for c in got if c["snapshot"] == C] == [was_there]
    assert texts(people, revision="v1") == {"a.txt": "1"} and texts(people, revision=f"snapshot-{C}") == {"a.txt": "3"}
    if who == "operator":
        assert texts(people, revision=C) == {"a.txt": "3"} and texts(people, revision=A) == {"a.txt": "1"}
    assert [b.name for b in people.api().list_repo_refs("ann/one").branches] == ["dev", "main"]


def test_nothing_private_goes_to_a_public_repository(people, folder):
    make(people)
    assert import_(people, folder, "ann/one", "--private", code=65)["error"]["rule"] == "import.public"
    assert paths(people) == []
    make(people, "ann/two", private=True)
    import_(people, folder, "ann/two", "--private")
    import_(people, folder, "ann/two")


def test_two_at_once(people, tmp_path):
    """Four imports at once find no repository. Together they make it, and its files are those of all four."""
    env = os.environ | {"CAIRN_SERVER": people.server.url, "CAIRN_TOKEN": people.keys["ann"]}
    runs = []
    for n in range(4):
        (tmp_path / f"{n}").mkdir()
        (tmp_path / f"{n}" / f"{n}.txt").write_text("x")
        runs.append(subprocess.Popen([cairn.CAIRN, "import", tmp_path / f"{n}", "ann/one"], env=env, stderr=subprocess.PIPE, text=True))
    assert [run.communicate()[1] for run in runs] == [""] * 4
    assert paths(people) == [f"{n}.txt" for n in range(4)]


@pytest.mark.parametrize("becomes", ["link", "fifo", "longer", "gone"])
def test_a_file_that_changes_before_its_commit_is_refused(people, tmp_path, becomes):
    """Text is read when it is committed, after the other files. By then it has changed."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"1")
    (folder / "w.bin").write_bytes(os.urandom(8_000_000))
    (tmp_path / "secret").write_bytes(b"s")
    env = os.environ | {"CAIRN_SERVER": people.server.url, "CAIRN_TOKEN": people.keys["ann"]}
    run = subprocess.Popen([cairn.CAIRN, "import", "-v", folder, "ann/one"], env=env, stderr=subprocess.PIPE, text=True)
    next(line for line in run.stderr if "/preupload/" in line)
    run.send_signal(signal.SIGSTOP)
    (folder / "a.txt").unlink()
    if becomes == "link":
        (folder / "a.txt").symlink_to(tmp_path / "secret")
    elif becomes == "fifo":
        os.mkfifo(folder / "a.txt")
    elif becomes == "longer":
        (folder / "a.txt").write_bytes(b"y" * 3_000_000)
    run.send_signal(signal.SIGCONT)
    told = run.communicate(timeout=60)[1]
    *_, failed, advice = told.splitlines()
    assert run.returncode == (65 if becomes == "longer" else 66) and "a.txt" in failed, told
    assert "ann/one was made" in advice and "run the same command again" in advice
    assert paths(people) == []
    (folder / "a.txt").unlink(missing_ok=True)
    (folder / "a.txt").write_bytes(b"2")
    assert not import_(people, folder, "ann/one")["made"] and paths(people) == ["a.txt", "w.bin"]
    os.rename(folder / "a.txt", folder / "b\n.txt")
    again = subprocess.run([cairn.CAIRN, "import", folder, "ann/one"], env=env, capture_output=True, text=True, timeout=60)
    assert again.returncode != 0 and "was made" not in again.stderr, "a repository that existed before is no left-over"


def test_an_import_continues_after_a_kill(people, tmp_path):
    """Whenever an import was killed, the next one completes it and leaves nothing over."""
    cache, ids = cached(people, tmp_path)
    env = os.environ | {"CAIRN_SERVER": people.server.url, "CAIRN_TOKEN": people.keys["operator"]}
    for requests in (6, 9, 11):
        run = subprocess.Popen([cairn.CAIRN, "import", "-v", cache / "models--ann--one", "team/copy"], env=env, stderr=subprocess.PIPE, text=True)
        for _ in range(requests):
            run.stderr.readline()
        run.send_signal(signal.SIGKILL)
        run.communicate()
    import_(people, cache / "models--ann--one", "team/copy", who="operator")
    refs = people.api().list_repo_refs("team/copy")
    assert [b.name for b in refs.branches] == ["main"] and people.api().repo_info("team/copy").sha == ids[2]
    assert {t.target_commit for t in refs.tags} == set(ids[:2])
