"""The systemd unit: how much it confines the daemon, and that it lets the daemon set up its own sandbox."""

import re
import shutil
import subprocess

import cairn
import pytest

UNIT = cairn.ROOT / "systemd" / "cairnd.service.in"
EXPOSURE = 1.2  # of 10, as docs/hardening.md says; less is better
pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed; ./dev test systems installs it")


def analyze(*arguments):
    return subprocess.run(["systemd-analyze", "--no-pager", *arguments], capture_output=True, text=True, timeout=60)


def calls_of(group):
    """The system calls of a systemd group, and of the groups in it."""
    out = set()
    for line in analyze("syscall-filter", group).stdout.splitlines()[1:]:
        name = line.strip()
        if name.startswith("@"):
            out |= calls_of(name)
        elif name and not name.startswith("#"):
            out.add(name)
    return out


@pytest.fixture
def unit(tmp_path):
    path = tmp_path / "cairnd.service"
    path.write_text(UNIT.read_text().replace("@bindir@", "/usr/bin").replace("@settings@", "/etc/cairn/cairnd.conf"))
    shutil.copy(UNIT.parent / "cairnd.socket", tmp_path)
    return path


def test_exposure(unit):
    done = analyze("security", "--offline=true", str(unit))
    assert done.returncode == 0, done.stderr
    level = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)[1])
    assert level <= EXPOSURE, done.stdout


def test_no_word_of_it_is_unknown(unit):
    done = analyze("verify", str(unit))
    said = [line for line in done.stderr.splitlines() if "not executable" not in line and "man " not in line]
    assert said == []


def test_the_unit_allows_the_daemon_s_system_calls(unit):
    """Two filters are in force, systemd's and the daemon's own. A call must be allowed by both."""
    allowed = set()
    for words in re.findall(r"^SystemCallFilter=(.*)$", unit.read_text(), re.M):
        for word in words.removeprefix("~").split():
            calls = calls_of(word) if word.startswith("@") else {word}
            allowed = allowed - calls if words.startswith("~") else allowed | calls
    assert len(allowed) > 200, "systemd-analyze lists its groups"
    source = (cairn.ROOT / "server/sandbox/sandbox_calls.c").read_text()
    made = set(re.findall(r'"(\w+)"', source[source.index(" CALLS[]") : source.index("CALLS_OF_SANITIZERS[]")]))
    made |= {"seccomp", "prctl", "mmap", "mprotect", "clone", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}
    made |= {"ioprio_set", "setpriority"}
    assert len(made) > 100
    assert made - allowed <= {"fchown"}, "SQLite calls fchown only as root"
