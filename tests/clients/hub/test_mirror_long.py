"""Long files come from the mirrored hub by blocks, through the spool."""

import hashlib
import os
import socket
import struct
import threading

import cairn
import pytest
from huggingface_hub import HfApi, hf_hub_download
from upstream import NO_REPOSITORY, Hub, Repo, answer, part

MB = 1 << 20
WEIGHTS = os.urandom(40 * MB + 12345)
PATH = "/far/model/resolve/main/weights.bin"


def hub(content=WEIGHTS, **more):
    return Hub({"far/model": Repo({"weights.bin": content, "config.json": b"{}"}, stored={"weights.bin"})}, **more)


def fetch(server, path=PATH, seconds=60, **more):
    """Asks until the answer is not "later"."""
    replies = []

    def has_come():
        replies.append(server.get(path, **more))
        return replies[-1].status != 429 or replies[-1].json()["code"] != "mirror.later"

    cairn.wait_until("the file", has_come, seconds)
    return replies[-1]


def ranges(upstream):
    """The ranges that the upstream was asked for: [(first, end)]."""
    heads = [head.decode() for head in upstream.asked if b"\r\nRange: bytes=" in head]
    return [(int(first), int(last) + 1) for first, last in (head.split("\r\nRange: bytes=")[1].split("\r\n")[0].split("-") for head in heads)]


def spooled(server):
    """Bytes of the daemon's open files without a name."""
    total = 0
    for entry in os.scandir(f"/proc/{server.process.pid}/fd"):
        try:
            if "(deleted)" in os.readlink(entry.path) and "/tmp/" in os.readlink(entry.path):
                total += os.stat(entry.path).st_blocks * 512
        except FileNotFoundError:
            pass
    return total


def test_a_long_file_comes_once_by_blocks(start):
    with hub() as upstream:
        server = start(mirror=upstream.url)
        assert server.request("HEAD", PATH).headers["Content-Length"] == str(len(WEIGHTS))
        assert fetch(server).body == WEIGHTS
        asked = sorted(ranges(upstream))
        assert asked[0][0] == 0 and asked[-1][1] == len(WEIGHTS)
        assert all(one[1] == next_one[0] for one, next_one in zip(asked, asked[1:]))  # each byte once
        assert max(end - first for first, end in asked) <= 32 * MB
        assert spooled(server) == 0
        count = len(upstream.asked)
    assert server.get(PATH).body == WEIGHTS
    assert server.get(PATH, headers={"Range": "bytes=7-99"}).body == WEIGHTS[7:100]
    assert len(upstream.asked) == count
    server.stop()
    server.start()
    assert server.get(PATH).body == WEIGHTS


def test_a_long_file_of_another_daemon(start, tmp_path):
    upstream = start("upstream")
    assert upstream.post("/v1/accounts", b'{"kind":"organisation","name":"team"}').status == 200
    theirs = HfApi(endpoint=upstream.url, token=False)
    theirs.create_repo("team/one")
    theirs.upload_file(path_or_fileobj=WEIGHTS, path_in_repo="weights.bin", repo_id="team/one")
    here = start(mirror=upstream.url)
    assert fetch(here, "/team/one/resolve/main/weights.bin").body == WEIGHTS
    upstream.stop()
    at = hf_hub_download("team/one", "weights.bin", endpoint=here.url, token=False, cache_dir=tmp_path)
    assert hashlib.sha256(open(at, "rb").read()).digest() == hashlib.sha256(WEIGHTS).digest()
