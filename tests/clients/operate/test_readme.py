"""Types every line of the shell blocks in README.md, in order. Each prints what the page says."""

import os
import re
import subprocess
from pathlib import Path

import cairn
import pytest
from reads_me import PAGE, SECTIONS, blocks

pytestmark = [pytest.mark.files, pytest.mark.sqlite]  # they make a folder with files and SQLite

# Lines that another test types, or that are typed in another way, and why.
ELSEWHERE = {
    "./dev run ": "tests/systems/first_day types it, and the lines of the next two sections, with nothing in their place",
    "./dev test ": "it is what runs this",
    "./dev package ": "tests/systems/boot_packages types it, and the two lines below, in a bare system that is booted",
    "cairn init ann --url": "see above",
    "runuser -u cairn": "see above",
    "docker run ": "test_container types it",
}
INSTEAD = {"python3 -m venv ~/hub && ~/hub/bin/pip install huggingface_hub": f"ln -s {cairn.ROOT}/.venv ~/hub"}  # without a download


def shape(text):
    """Replaces hashes, sizes and counts, which differ from run to run."""
    text = re.sub(r"\b[0-9a-f]{64}\b", "HASH", text)
    return re.sub(r"\b[\d.]+( (bytes|KiB|MiB))?", "N", text)


def type_lines(folder, lines, env):
    """Types the lines into one shell, which ends at the first that fails. @return what each line prints"""
    script = "".join(f"{INSTEAD.get(line, line)}\nprintf '\\036'\n" for line in lines)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False)
    said = done.stdout.split("\036")
    assert done.returncode == 0 and len(said) == len(lines) + 1, f"{lines[min(len(said), len(lines)) - 1]}: {done.stdout[-2000:]}"
    return said


@pytest.fixture
def person(tmp_path):
    """A home folder, a clone as far as the lines need one, and the environment of a new terminal."""
    folder = tmp_path / "clone"
    (tmp_path / "home").mkdir()
    (folder / "build").mkdir(parents=True)
    (folder / "docs").symlink_to(cairn.ROOT / "docs")
    (folder / "build/cli").symlink_to(Path(cairn.CAIRN).parent)
    (folder / "folder").mkdir()
    (folder / "folder/README.md").write_text("# First\n")
    env = {name: value for name, value in cairn.Daemon(tmp_path).environment().items() if not name.startswith(("HF_", "CAIRN_"))}
    return folder, env | {"HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}


def test_the_lines_of_a_first_day(server, person):
    """One terminal types all sections, one after the other."""
    lines = blocks("A first upload") + blocks("The store below it")
    here = lambda text: text.replace("127.0.0.1:8080", f"127.0.0.1:{server.port}")
    said = type_lines(person[0], [here(command) for command, _ in lines], person[1])
    for (command, expected), printed in zip(lines, said):
        if expected is not None:
            assert shape(printed) == shape(expected), command
    assert "the same" in "".join(said)
    names = [repo["id"] for repo in server.get("/api/models").json()]
    assert names == ["operator/docs"]
    home = server.request("GET", "/", headers={"Accept": "text/html"}).body.decode()
    assert "/docs" in home and ">Files that no repository has<" in home


def test_the_commands_for_a_served_user(tmp_path, person, start):
    init, folder, env = [cairn.CAIRN, "init", "ann", "--dir", "store"], *person
    made = subprocess.run(init, cwd=tmp_path, env=env, check=True, capture_output=True, text=True, timeout=60).stdout
    daemon = cairn.Daemon(tmp_path / "daemon")
    daemon.command = [cairn.CAIRND, "--config", str(tmp_path / "store/cairnd.conf"), "--listen", "127.0.0.1:0"]
    daemon.start()
    try:
        key = re.search(r"HF_TOKEN=(\S+)", made)[1]
        lines = [c for c, _ in blocks("Serve others") if not c.startswith(tuple(ELSEWHERE))]
        assert lines[-1] == "hf upload ann/first ./folder"
        lines = [c.replace("https://hub.example.org", daemon.url).replace("hf_…", key) for c in lines]
        env["PATH"] = f"{cairn.ROOT}/.venv/bin:{os.environ['PATH']}"
        type_lines(folder, lines, env)
        assert daemon.request("GET", "/api/models/ann/first", token=key).json()["private"] is True
        # The page says this of new repositories.
        type_lines(folder, [*lines[:-1], "hf upload --no-private ann/second ./folder"], env)
        assert daemon.get("/api/models/ann/second").status == 200, "the repository is public"
    finally:
        daemon.stop()


def test_no_line_is_forgotten():
    typed = {command for section in ("A first upload", "The store below it") for command, _ in blocks(section)}
    for section in SECTIONS:
        for command, _ in blocks(section):
            known = command in typed or section == "Serve others" or (command + " ").startswith(tuple(ELSEWHERE))
            assert known, f"{section}: no test types {command!r}"
    for start in ELSEWHERE:
        assert any((command + " ").startswith(start) for section in SECTIONS for command, _ in blocks(section)), f"no line begins with {start!r}"


def test_the_version_is_this_one():
    version = re.search(r"version : '([^']+)'", (cairn.ROOT / "meson.build").read_text())[1]
    assert f"**Status**: version {version}" in PAGE
