"""Backups of a store with mirrored repositories. They leave out what the mirrored hub has, or carry it to a machine without a
connection."""

import hashlib
import json
import os

import cairn
import pytest
from backups import command
from huggingface_hub import HfApi
from upstream import SHA, Hub, Repo

MB = 1 << 20
SHARED, ALONE = os.urandom(3 * MB), os.urandom(3 * MB)
FILES = {"config.json": b'{"model_type": "bert"}', "vocab.txt": b"a\n" * 50_000, "shared.bin": SHARED, "alone.bin": ALONE}

pytestmark = [pytest.mark.files, pytest.mark.sqlite]


@pytest.fixture
def upstream():
    with Hub({"far/model": Repo(FILES, stored={"shared.bin", "alone.bin"})}) as hub:
        yield hub


def read(server, path, repo="far/model"):
    return server.get(f"/{repo}/resolve/main/{path}")


def fetch_all(server):
    for path, content in FILES.items():
        assert read(server, path).body == content


def own(server):
    """Makes a fine-tune on this server, which also has a file of the mirrored model."""
    api = HfApi(endpoint=server.url, token="no-key")
    api.create_repo("operator/tuned")
    api.upload_file(path_or_fileobj=SHARED, path_in_repo="shared.bin", repo_id="operator/tuned")


def backup(server, out, *options):
    return json.loads(command("backup", "--data-dir", server.data, "--json", *options, out).stdout)


def restored(start, folder, out, **settings):
    """Starts a daemon on a restored backup, after fsck found no fault in it."""
    data = folder / "restored" / "data"
    data.parent.mkdir()
    command("restore", "--data-dir", data, out)
    command("fsck", "--data-dir", data)
    return start("restored", **settings)


@pytest.mark.parametrize("options", [(), ("--incremental",)])
def test_what_only_the_mirror_has_is_left_out_and_comes_again(start, upstream, tmp_path, options):
    server = start(mirror=upstream.url)
    fetch_all(server)
    own(server)
    out = tmp_path / "backup"
    told = backup(server, out, *options)
    assert (told["mirrored_left_out"], told["mirrored_bytes_left_out"]) == (4, sum(map(len, FILES.values())))
    assert len(SHARED) <= told["object_bytes"] < len(SHARED) + MB
    fetch_all(server)  # the store itself has lost nothing
    server.stop()
    command("fsck", "--data-dir", server.data)
    upstream.asked.clear()
    other = restored(start, tmp_path, out, mirror=upstream.url)
    assert read(other, "shared.bin", "operator/tuned").body == SHARED and not upstream.asked
    head = other.request("HEAD", "/far/model/resolve/main/alone.bin")
    assert head.headers["X-Cairn-Mirror"] == "fetching" and head.headers["ETag"] == f'"{hashlib.sha256(ALONE).hexdigest()}"'
    assert other.get("/api/models/far/model").json()["sha"] == SHA and not upstream.paths("/resolve/")
    fetch_all(other)
    assert len(upstream.paths("/resolve/")) == len(FILES)
    other.stop()
    command("fsck", "--data-dir", other.data)


def test_a_backup_goes_where_no_line_is(start, upstream, tmp_path):
    server = start(mirror=upstream.url)
    fetch_all(server)
    out = tmp_path / "backup"
    assert backup(server, out, "--mirror")["mirrored_left_out"] == 0
    assert "mirrored" not in command("backup", "--data-dir", server.data, "--mirror", tmp_path / "told").stderr
    assert "4 files of mirrored repositories" in command("backup", "--data-dir", server.data, tmp_path / "without").stderr
    upstream.asked.clear()
    inside = restored(start, tmp_path, out, mirror="https://huggingface.co", mirror_offline=True)
    fetch_all(inside)
    assert read(inside, "none.bin").status == 404
    assert inside.get("/api/models/far/other").json()["code"] == "mirror.offline" and not upstream.asked


def test_what_is_fetched_ahead_comes_at_once_after_a_restore(start, upstream, tmp_path):
    """The restored store lacks the files, so it does not wait for the next time."""
    place = "/v1/mirror/repositories/models/far/model"
    here = lambda daemon: daemon.get(place).json()["repository"]["files_here"]
    server = start(mirror=upstream.url)
    assert server.post(place, b'{"every_s":86400}').status == 200
    cairn.wait_until("the files", lambda: here(server) == len(FILES))
    server.stop()
    out = tmp_path / "backup"
    backup(server, out)
    other = restored(start, tmp_path, out, mirror=upstream.url)
    cairn.wait_until("the files again", lambda: here(other) == len(FILES))
