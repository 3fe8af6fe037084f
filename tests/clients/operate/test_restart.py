"""A server ends between upload and download, by SIGTERM or SIGKILL, and starts again on the same folder."""

import hashlib
import random
import re
import subprocess
from pathlib import Path

import cairn
import hf_client
import plans
import pytest

pytestmark = pytest.mark.files
MIB = 1 << 20


@pytest.fixture
def daemon(tmp_path):
    d = cairn.Daemon(tmp_path / "server")
    yield d
    if d.process is not None:
        d.kill()


def leave(daemon, how):
    daemon.stop() if how == "SIGTERM" else daemon.kill()


def fetch_everything(daemon, folder, known):
    for how in ("file", "stream", "unordered"):
        gets = [{"hash": h, "size": len(content), "how": how} for h, content in known.items()]
        for got, content in zip(hf_client.download(daemon, folder / how, gets), known.values(), strict=True):
            assert got == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL"])
def test_between_upload_and_download(daemon, tmp_path, how):
    """Files that were acknowledged are there after the next start, three times in a row."""
    source, known = random.Random(how), {}
    for start in range(3):
        daemon.start()
        contents = [source.randbytes(6 * MIB), source.randbytes(9), b""]
        if known:
            contents.append(next(iter(known.values()))[MIB:])  # most of it is stored already
        paths = []
        for i, content in enumerate(contents):
            paths.append(tmp_path / f"up{start}-{i}")
            paths[-1].write_bytes(content)
        for info, content in zip(hf_client.upload(daemon, tmp_path / f"u{start}", paths), contents):
            assert info["size"] == len(content)
            known[info["hash"]] = content
        leave(daemon, how)
        daemon.start()
        fetch_everything(daemon, tmp_path / f"d{start}", known)
        assert daemon.left_overs() == []
        daemon.stop()


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL"])
def test_addresses_outlive_the_process(daemon, tmp_path, how):
    """Addresses are signed with a key of the data folder, so a download continues after a restart."""
    content = random.Random(1).randbytes(MIB)
    path = tmp_path / "up"
    path.write_bytes(content)
    daemon.start()
    [info] = hf_client.upload(daemon, tmp_path / "u", [path])
    plan = daemon.get(f"/v2/reconstructions/{info['hash']}").json()
    leave(daemon, how)
    daemon.start()
    assert daemon.get(f"/v2/reconstructions/{info['hash']}").json()["terms"] == plan["terms"]
    for fetches in plans.fetches_of(plan).values():
        for url, ranges in fetches:
            assert daemon.get(plans.path_of(url), headers={"Range": plans.range_of(ranges)}).status == 206
    daemon.stop()


def again_on(daemon, port):
    """Starts the daemon on its former port, because the command knows one address."""
    daemon.command[daemon.command.index("--listen") + 1] = f"127.0.0.1:{port}"
    daemon.start()


def state_of(process):
    """The state of a process: R runs, S sleeps, and others."""
    return Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL"])
def test_the_command_waits_for_the_next_start(daemon, tmp_path, how):
    """`cairn push` loses its connection and is refused others until the daemon listens again. It succeeds all the same."""
    path = tmp_path / "file"
    source = random.Random(how)
    path.write_bytes(b"".join(source.randbytes(MIB) for _ in range(300)))  # five xorbs
    daemon.start()
    port = daemon.port
    push = subprocess.Popen(
        [cairn.CAIRN, "push", "--server", daemon.url, "--quiet", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=daemon.environment(),
    )
    try:
        cairn.wait_until("the first xorb", lambda: any(e["method"] == "POST" for e in daemon.events("request")))
        leave(daemon, how)
        # The push sleeps only if it waits for its next try.
        cairn.wait_until("the push to wait, or to give up", lambda: push.poll() is not None or state_of(push) == "S")
        again_on(daemon, port)
        out, err = push.communicate(timeout=120)
    finally:
        push.kill()
        push.wait()
    assert (push.returncode, err) == (0, "")
    file = re.match(r"[0-9a-f]{64}", out)[0]
    assert daemon.request("HEAD", f"/v1/files/{file}").headers["Content-Length"] == str(300 * MIB)
    daemon.stop()
