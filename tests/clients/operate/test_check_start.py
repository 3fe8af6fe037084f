"""cairnd --check tells whether the daemon would start, without starting it. It exits with the status that a start would have."""

import os
import sqlite3
import subprocess

import authority
import cairn
import pytest

EXIT_CANNOT, EXIT_USAGE = 1, 64


def check(tmp_path, *arguments, code=0):
    """Runs cairnd --check. @return the lines of standard output by their names, and those of standard error"""
    env = cairn.Daemon(tmp_path).environment()
    done = subprocess.run([cairn.CAIRND, *arguments, "--check"], capture_output=True, text=True, timeout=60, env=env, cwd=tmp_path)
    assert not cairn.REPORTS.search(done.stderr), done.stderr
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    refused = done.stderr.splitlines()
    assert all(line.startswith("cairnd: ") for line in refused), done.stderr
    assert bool(refused) == (code != 0)
    return said, refused


def tree(folder):
    """All files with their bytes, except SQLite's -shm file, which readers beside a daemon change, too."""
    return {p: p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*")) if not p.name.endswith("-shm")}


def test_a_folder_that_is_not_there(tmp_path):
    said, _ = check(tmp_path, "--data-dir", "new")
    assert said["data_dir"].startswith("new is not there") and "listen" in said and "none" in said["token_key"]
    assert not (tmp_path / "new").exists()
    check(tmp_path, "--data-dir", "no/such/folder", code=EXIT_CANNOT)


def test_an_empty_folder(tmp_path):
    """A start fills an empty folder that exists already, such as a mounted disk."""
    for name in ["empty", "mounted", "half"]:
        (tmp_path / name).mkdir()
    (tmp_path / "mounted" / "lost+found").mkdir()
    (tmp_path / "half" / "lock").touch()
    for name in ["empty", "mounted", "half"]:
        before = tree(tmp_path / name)
        said, _ = check(tmp_path, "--data-dir", name)
        assert said["data_dir"] == f"{name}, without an index, which is made at the start, not in use"
        assert tree(tmp_path / name) == before
        daemon = cairn.Daemon(tmp_path / f"of-{name}")
        daemon.command[daemon.command.index("--data-dir") + 1] = str(tmp_path / name)
        daemon.start().stop()


def test_beside_a_daemon(server, tmp_path):
    """The running daemon has the port and the folder, and keeps both."""
    before = tree(server.data)
    said, _ = check(tmp_path, "--data-dir", str(server.data), "--listen", f"127.0.0.1:{server.port}")
    assert said["data_dir"].endswith(", in use by another process") and "index of version " in said["data_dir"]
    assert tree(server.data) == before
    assert server.get("/ready").status == 200


@pytest.mark.files
def test_check_of_a_stopped_folder_changes_nothing(server, make, tmp_path):
    server.put_xorb(make([9000], 1))
    server.stop()
    before = tree(server.data)
    assert check(tmp_path, "--data-dir", str(server.data))[0]["data_dir"].endswith(", not in use")
    assert tree(server.data) == before and not list(server.data.glob("*-shm"))
    (server.data / "restore").touch()
    assert "half of a backup" in check(tmp_path, "--data-dir", str(server.data), code=EXIT_CANNOT)[1][0]
    (server.data / "restore").unlink()
    (server.data / "secret").chmod(0o644)
    assert "secret" in check(tmp_path, "--data-dir", str(server.data), code=EXIT_CANNOT)[1][0]
    (server.data / "secret").chmod(0o600)
    with sqlite3.connect(server.data / "index.sqlite") as db:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        db.execute(f"PRAGMA user_version = {version - 1}")
    db.close()
    assert f"version {version - 1}, migrated to {version}" in check(tmp_path, "--data-dir", str(server.data))[0]["data_dir"]
    with sqlite3.connect(server.data / "index.sqlite") as db:
        db.execute(f"PRAGMA user_version = {version + 1}")
    db.close()
    assert str(version + 1) in check(tmp_path, "--data-dir", str(server.data), code=EXIT_CANNOT)[1][0]
    for path in server.data.glob("index.sqlite*"):
        path.unlink()
    assert "index.sqlite" in check(tmp_path, "--data-dir", str(server.data), code=EXIT_CANNOT)[1][0]


def test_after_a_kill(server, make, tmp_path):
    server.put_xorb(make([9000], 1))
    server.kill()
    said, _ = check(tmp_path, "--data-dir", str(server.data))
    assert said["data_dir"].endswith(", not in use")
    server.start()


def test_keys_and_certificate(tmp_path, issuer, clock):
    ca = authority.Authority(tmp_path / "ca")
    certificate, key = ca.issue("server")
    good = ["--token-key", str(issuer.folder), "--tls-certificate", str(certificate), "--tls-key", str(key), "--listen", "0.0.0.0:8080"]
    said, _ = check(tmp_path, *good)
    assert "good until 20" in said["tls_certificate"] and str(issuer.folder) in said["token_key"]
    clock.move(100 * 366 * 86400)
    assert "expired at 20" in check(tmp_path, *good, "--test-clock", str(clock.path))[0]["tls_certificate"]
    assert "cannot read" in check(tmp_path, *good, "--token-key", "gone", code=EXIT_CANNOT)[1][0]
    assert "token" in check(tmp_path, "--listen", "0.0.0.0:8080", code=EXIT_USAGE)[1][0]


def test_check_reports_all_faults(tmp_path):
    """All faults are reported. The exit status is that of the faults which a change of the machine can mend, not of the settings."""
    _, refused = check(tmp_path, "--listen", "nowhere", "--token-key", "gone", "--data-dir", "no/such", code=EXIT_CANNOT)
    assert len(refused) == 3


def test_settings_are_read_as_by_a_start(tmp_path):
    (tmp_path / "conf").write_text("listen = nowhere\n")
    assert "nowhere" in check(tmp_path, "--config", "conf", code=EXIT_USAGE)[1][0]
    (tmp_path / "conf").write_text("lisssten = 127.0.0.1:1\n")
    assert "lisssten" in check(tmp_path, "--config", "conf", code=EXIT_USAGE)[1][0]
    check(tmp_path, "--gc-grace", "1h", code=EXIT_USAGE)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_as_the_user_to_become(tmp_path):
    (tmp_path / "mine").mkdir(mode=0o700)
    assert "mine" in check(tmp_path, "--user", "nobody", "--data-dir", str(tmp_path / "mine"), code=EXIT_CANNOT)[1][0]
    assert "nosuchuser" in check(tmp_path, "--user", "nosuchuser", code=EXIT_USAGE)[1][0]


@pytest.mark.parametrize("option", ["--help", "--version", "--print-settings", "--print-settings-file", "--print-settings-table", "--check"])
def test_a_failed_write_to_standard_output_is_reported(tmp_path, option):
    """The failed write is reported, and no daemon starts."""
    with open("/dev/full", "w") as full:
        done = subprocess.run([cairn.CAIRND, option], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30, cwd=tmp_path)
    assert done.returncode == EXIT_CANNOT and "cannot write to standard output" in done.stderr, done
    assert not (tmp_path / "cairn-data").exists()
