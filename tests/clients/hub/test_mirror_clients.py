"""Stock clients, given nothing but the address. They ask for a file that the mirror does not have yet, one that it has, over a line that
breaks, and behind a gate."""

import json
import os
import re
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import hf_client
import lfs
import pytest
from people import publish
from relay import Line
from upstream import Gates, Repo

MB = 1 << 20
WEIGHTS, CONFIG = os.urandom(40 * MB + 12345), b'{"model_type": "bert"}'
REPO, FILES = "far/one", {"weights.bin": WEIGHTS, "config.json": CONFIG}
TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
RUST = Path(sys.prefix) / "rust" / "client"
OLDER = Path(sys.prefix) / "older"
SCRIPT = """
import json, sys
repo, version, *rest = sys.argv[1:]
at = rest.index("--")
sys.path[:0] = rest[:at]
from huggingface_hub import hf_hub_download, __version__
assert __version__ == version, __version__
print(json.dumps([hf_hub_download(repo, name) for name in rest[at + 1:]]))
"""


class Client:
    """A client. get(server, folder, names, token) downloads files into a cache in this folder. @return (bytes of each, or None; what it said)"""

    goes_on = True  # continues by itself after the line broke; else when it runs again
    lost_bytes = 0  # received and not written yet when the line breaks
    by_xet = False

    def run(self, argv, server, folder, token, **variables):
        folder.mkdir(parents=True, exist_ok=True)
        env = hf_client.hub_environment(folder, server, token) | variables
        return subprocess.run([str(word) for word in argv], env=env, cwd=folder, capture_output=True, text=True, timeout=200)


@dataclass
class Library(Client):
    version: str
    by_xet: bool
    xet_version: str | None = None  # None: the one of the tests
    goes_on: bool = True
    lost_bytes: int = 10 * MB

    def get(self, server, folder, names, token=None):
        folders = [OLDER / version for version in (self.version, self.xet_version) if version and (OLDER / version).exists()]
        argv = [sys.executable, "-c", SCRIPT, REPO, self.version, *folders, "--", *names]
        done = self.run(argv, server, folder, token, **({} if self.by_xet else {"HF_HUB_DISABLE_XET": "1"}))
        if done.returncode:
            return None, done.stderr
        return [Path(path).read_bytes() for path in json.loads(done.stdout)], done.stderr


class Rust(Client):
    goes_on = False

    def get(self, server, folder, names, token=None):
        if not RUST.exists():
            pytest.skip("there is no .venv/rust/client; ./dev test libraries makes it where cargo is")
        done = self.run([RUST, server.url, folder / "files", REPO, *names], server, folder, token)
        if done.returncode:
            return None, done.stdout + done.stderr
        return [Path(path).read_bytes() for path in done.stdout.split()], done.stderr


class Curl(Client):
    goes_on = False

    def get(self, server, folder, names, token=None):
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            argv = ["curl", "-sS", "--fail-with-body", "-C", "-", "-o", name, "-D", "head", f"{server.url}/{REPO}/resolve/main/{name}"]
            done = self.run([*argv, *(["-H", f"Authorization: Bearer {token}"] if token else [])], server, folder, None)
            if done.returncode:
                return None, done.stderr + (folder / "head").read_text() + (folder / name).read_bytes()[:1000].decode(errors="replace")
        return [(folder / name).read_bytes() for name in names], ""


XET = "1.1.3"  # the hf_xet that huggingface_hub 0.36 came with
BREAKS_AFTER = 15 * MB
CLIENTS = {
    "hub 2.4.0, hf_xet": Library("2.4.0", True),
    "hub 2.4.0": Library("2.4.0", False),
    "hub 1.33.0, hf_xet": Library("1.33.0", True),
    "hub 1.33.0": Library("1.33.0", False),
    "hub 0.36.0, hf_xet": Library("0.36.0", True, XET, goes_on=False, lost_bytes=BREAKS_AFTER),
    "hub 0.36.0": Library("0.36.0", False, goes_on=False),
    "hf-hub 0.5.0 of Rust": Rust(),
    "curl -C -": Curl(),
}
each_client = pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)


def plans_of(server):
    return sum(value for name, value in server.metrics().items() if name.startswith("cairn_http_requests_total") and 'route="reconstructions-' in name)


@each_client
def test_cold_and_warm(start, tmp_path, client):
    """The first download streams what comes from the mirrored hub. The second needs no connection to it, and goes by Xet where the client can."""
    upstream = start("upstream")
    publish(upstream, REPO, FILES.items())
    server = start(mirror=upstream.url)
    for cache in ("cold", "warm"):
        got, said = client.get(server, tmp_path / cache, FILES)
        assert got == list(FILES.values()), said
        if cache == "cold":
            assert plans_of(server) == 0
            upstream.stop()
    assert (plans_of(server) > 0) == client.by_xet


class Breaking(Line):
    """A line to a daemon on which the first long answer breaks off. n_down: bytes that came."""

    def __init__(self, server):
        super().__init__(("127.0.0.1", server.port))
        self.n_down, self.broke = 0, False

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def down(self, source, to):
        n = 0
        while data := source.recv(65536):
            n += len(data)
            self.n_down += len(data)
            if n > BREAKS_AFTER and not self.broke:
                self.broke = True
                break
            to.sendall(data)
        to.shutdown(socket.SHUT_RDWR)


@each_client
def test_goes_on_where_the_line_broke(start, tmp_path, client):
    """A client continues a broken download, even while the file is still being fetched from the mirrored hub."""
    upstream = start("upstream")
    publish(upstream, REPO, FILES.items())
    server = start(mirror=upstream.url)
    with Breaking(server) as line:
        got, said = client.get(line, tmp_path / "cache", ["weights.bin"])
        assert line.broke and (got is not None) == client.goes_on, said
        if not client.goes_on:
            got, said = client.get(line, tmp_path / "cache", ["weights.bin"])
        assert got == [WEIGHTS], said
        assert line.n_down < len(WEIGHTS) + client.lost_bytes + 3 * MB, "bytes came twice"


@each_client
def test_a_gate(start, issuer, tmp_path, client):
    """Without a token that the mirrored hub admits, the client shows the reason, or at least the status. With one it gets the file, before
    and after it was fetched."""
    gated = Repo(FILES, stored={"weights.bin"}, gated="manual")
    with Gates(TOKEN, repos={REPO: gated}) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        got, said = client.get(server, tmp_path / "none", ["config.json"])
        assert got is None and re.search("gated|restricted|401|403", said), said
        assert (f"{upstream.url}/{REPO}" in said) == isinstance(client, (Library, Curl)), said
        for cache in ("cold", "warm"):
            got, said = client.get(server, tmp_path / cache, FILES, TOKEN)
            assert got == list(FILES.values()), said
        got, said = client.get(server, tmp_path / "none", ["weights.bin"])
        assert got is None and "WEIGHTS" not in said


def test_git_lfs_fetches_what_is_not_here(start, tmp_path):
    """Of a repository of which the mirror knows nothing yet. Later git lfs gets the file without the upstream."""
    upstream = start("upstream")
    publish(upstream, REPO, FILES.items())
    server = start(mirror=upstream.url)
    git = lfs.Git(tmp_path / "git", GIT_LFS_SKIP_PUSH="1")
    work = git.begin(f"{server.url}/{REPO}.git/info/lfs")
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{lfs.oid(WEIGHTS)}\nsize {len(WEIGHTS)}\n"
    (work / "weights.bin").write_text(pointer)
    git.run("add", ".", at=work)
    git.run("commit", "-m", "a pointer", at=work)
    git.run("push", "origin", "HEAD:main", at=work)
    git.run("lfs", "pull", at=work)
    assert (work / "weights.bin").read_bytes() == WEIGHTS
    upstream.stop()
    assert (git.clone("clone") / "weights.bin").read_bytes() == WEIGHTS
