"""cairn init makes, with one command, a server that others can use. The lines that it prints to type next work as printed."""

import fcntl
import json
import os
import re
import resource
import signal
import stat
import subprocess
from pathlib import Path

import authority
import cairn
import pytest

pytestmark = [pytest.mark.files, pytest.mark.sqlite]  # it makes a folder with files and SQLite

EXIT_USAGE, EXIT_CANT_CREATE, EXIT_DENIED = 64, 73, 77


def init(folder, *arguments, code=0):
    """Runs cairn init. @return its standard output or, when it fails, its standard error"""
    env = cairn.Daemon(folder).environment()
    done = subprocess.run([cairn.CAIRN, "init", *arguments], capture_output=True, text=True, timeout=60, env=env, cwd=folder)
    assert not cairn.REPORTS.search(done.stderr), done.stderr
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stderr if code else done.stdout


def settings_of(folder):
    lines = (folder / "cairnd.conf").read_text().splitlines()
    return dict(line.split(" = ", 1) for line in lines if line and not line.startswith("#"))


@pytest.fixture
def serve(tmp_path):
    """serve(folder) starts the daemon with the settings that cairn init wrote, on a free port."""
    running = []

    def begin(folder, **options):
        daemon = cairn.Daemon(tmp_path / "daemon", **options)
        daemon.command = [cairn.CAIRND, "--config", str(folder / "cairnd.conf"), "--listen", "127.0.0.1:0"]
        running.append(daemon.start())
        return daemon

    yield begin
    for daemon in running:
        daemon.stop()


def ask(daemon, method, path, key, body=None):
    return daemon.request(method, path, body=json.dumps(body).encode() if body else None, token=key)


def test_a_folder_of_ones_own(tmp_path, serve):
    store = tmp_path / "store"
    said = init(tmp_path, "ann", "--dir", "store")
    key = re.search(r"export HF_TOKEN=(hf_\w+)", said)[1]
    assert f"cairnd --config {store}/cairnd.conf" in said and "hf upload ann/first ./folder" in said
    assert "export HF_ENDPOINT=http://127.0.0.1:8080\n" in said
    assert settings_of(store) == {
        "data_dir": str(store),
        "listen": "127.0.0.1:8080",
        "token_key": f"{store}/keys",
        "token_audience": "http://127.0.0.1:8080",
        "token_issuer": "cairn",
        "hub_private": "*",
    }
    assert stat.S_IMODE((store / "keys").stat().st_mode) == 0o700 and stat.S_IMODE((store / "keys/1").stat().st_mode) == 0o600
    assert subprocess.run([cairn.CAIRND, "--check", "--config", str(store / "cairnd.conf")], timeout=60, check=False).returncode == 0

    daemon = serve(store)
    assert not daemon.events("tokens_not_bound"), "tokens are bound to this service"
    assert ask(daemon, "GET", "/api/whoami-v2", key).json()["name"] == "ann"
    assert ask(daemon, "POST", "/api/repos/create", key, {"name": "first"}).status == 200
    assert ask(daemon, "GET", "/api/models/ann/first", key).json()["private"] is True
    assert ask(daemon, "GET", "/api/models/ann/first", None).status in (401, 404)

    # The line that it prints for another user, run by a shell.
    lines = re.search(r"(?s)Another user.*?\n\n(.*)", said)[1].replace("http://127.0.0.1:8080", daemon.url, 1)
    path = f"{Path(cairn.CAIRN).parent}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-euc", lines], env=daemon.environment() | {"PATH": path}, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and done.stdout.startswith("hf_"), done
    assert ask(daemon, "GET", "/api/whoami-v2", done.stdout.strip()).json()["name"] == "ben"


def test_nothing_is_overwritten(tmp_path):
    init(tmp_path, "ann", "--dir", "store")
    tree = lambda: {p: p.read_bytes() for p in sorted((tmp_path / "store").rglob("*")) if p.is_file()}
    before = tree()
    assert "listen = 127.0.0.1:8080" in init(tmp_path, "ann", "--dir", "store", code=EXIT_CANT_CREATE)
    assert "[init.settings]" in init(tmp_path, "ben", "--dir", "store", "--public", code=EXIT_CANT_CREATE)
    assert tree() == before


def test_a_command_that_was_interrupted_is_typed_again(tmp_path, serve):
    store = tmp_path / "store"
    first = json.loads(init(tmp_path, "ann", "--dir", "store", "--json"))
    secret = (store / "keys/1").read_bytes()
    (store / "cairnd.conf").unlink()  # the settings are written last
    said = init(tmp_path, "ann", "--dir", "store")
    assert f"kept      {store}/keys\n" in said and "kept      user ann\n" in said
    assert (store / "keys/1").read_bytes() == secret
    daemon = serve(store)
    for key in first["key"], re.search(r"HF_TOKEN=(\S+)", said)[1]:
        assert ask(daemon, "GET", "/api/whoami-v2", key).json()["name"] == "ann"


def test_a_command_that_was_killed_is_typed_again(tmp_path, serve):
    """The first command is killed while it writes the secret, when cairnd.conf.part exists."""
    store = tmp_path / "store"
    limits = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))  # noqa: E731
    env = cairn.Daemon(tmp_path).environment()
    done = subprocess.run([cairn.CAIRN, "init", "ann", "--dir", "store"], capture_output=True, timeout=60, env=env, cwd=tmp_path, preexec_fn=limits, check=False)
    assert done.returncode == -signal.SIGXFSZ, done
    assert (store / "cairnd.conf.part").exists() and not (store / "keys/1").exists()
    said = init(tmp_path, "ann", "--dir", "store")
    assert f"made      {store}/keys\n" in said
    assert not (store / "cairnd.conf.part").exists()
    assert ask(serve(store), "GET", "/api/whoami-v2", re.search(r"HF_TOKEN=(\S+)", said)[1]).json()["name"] == "ann"


def test_a_part_file_is_taken_over_unless_it_is_locked(tmp_path):
    """The settings are those of this command, whatever an earlier one left in cairnd.conf.part."""
    store = tmp_path / "store"
    store.mkdir()
    part = store / "cairnd.conf.part"
    with open(part, "wb") as held:
        held.write(b"x" * 10000)
        held.flush()
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "another cairn init is running" in init(tmp_path, "ann", "--dir", "store", code=EXIT_CANT_CREATE)
        assert list(store.iterdir()) == [part], "nothing is made beside the part file"
    init(tmp_path, "ann", "--dir", "store")
    assert settings_of(store)["data_dir"] == str(store) and "x" * 10 not in (store / "cairnd.conf").read_text()
    assert stat.S_IMODE((store / "cairnd.conf").stat().st_mode) == 0o644


@pytest.mark.parametrize("kind", ["link", "name", "pipe"])
def test_a_link_or_pipe_named_like_the_part_file_stays(tmp_path, kind):
    store, other = tmp_path / "store", tmp_path / "other"
    store.mkdir()
    other.write_text("precious")
    part = store / "cairnd.conf.part"
    {"link": lambda: part.symlink_to(other), "name": lambda: part.hardlink_to(other), "pipe": lambda: os.mkfifo(part)}[kind]()
    assert "cairnd.conf.part" in init(tmp_path, "ann", "--dir", "store", code=EXIT_CANT_CREATE)
    assert other.read_text() == "precious" and list(store.iterdir()) == [part]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file away")
def test_the_file_keeps_its_owner_and_group(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    settings = store / "cairnd.conf"
    settings.write_text("# mine\n")
    settings.chmod(0o640)
    os.chown(settings, 1234, 2345)
    init(tmp_path, "ann", "--dir", "store")
    found = settings.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 2345, 0o640)


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing"])
def test_a_link_is_not_replaced(tmp_path, there):
    store, target = tmp_path / "store", tmp_path / "target"
    store.mkdir()
    if there:
        target.write_text("# mine\n")
    (store / "cairnd.conf").symlink_to(target)
    assert "is a symbolic link" in init(tmp_path, "ann", "--dir", "store", code=EXIT_CANT_CREATE)
    assert [p.name for p in store.iterdir()] == ["cairnd.conf"] and (store / "cairnd.conf").is_symlink()
    assert target.exists() == there


def test_json(tmp_path):
    said = json.loads(init(tmp_path, "ann", "--dir", "store", "--json", "--public"))
    store = str(tmp_path / "store")
    assert said.pop("key").startswith("hf_")
    assert said == {"settings": f"{store}/cairnd.conf", "token_key": f"{store}/keys", "data_dir": store, "url": "http://127.0.0.1:8080", "user": "ann"}
    assert "hub_private" not in settings_of(tmp_path / "store")


def test_the_comments_of_the_package_stay(tmp_path, serve):
    """Each new setting stands below the comment that explains its default."""
    store = tmp_path / "store"
    store.mkdir()
    env = cairn.Daemon(tmp_path).environment()
    env = {name: value for name, value in env.items() if not name.startswith("CAIRN_")}
    packaged = subprocess.run([cairn.CAIRND, "--data-dir", str(store), "--print-settings-file"], capture_output=True, text=True, timeout=60, check=True, env=env).stdout
    (store / "cairnd.conf").write_text(packaged)
    (store / "cairnd.conf").chmod(0o640)
    init(tmp_path, "ann", "--dir", "store", "--url", "http://hub.example.org:9000")
    changed = set((store / "cairnd.conf").read_text().splitlines()) - set(packaged.splitlines())
    assert changed == {f"{name} = {value}" for name, value in settings_of(store).items()} - {f"data_dir = {store}"}
    assert len((store / "cairnd.conf").read_text().splitlines()) == len(packaged.splitlines())
    assert stat.S_IMODE((store / "cairnd.conf").stat().st_mode) == 0o640
    serve(store)


@pytest.mark.parametrize(
    ("url", "listen", "public_url"),
    [
        ("http://localhost:8080/", "127.0.0.1:8080", None),
        ("http://127.0.0.2", "127.0.0.2:80", None),
        ("http://[::1]:81", "[::1]:81", None),
        ("http://[0000:0000:0000:0000:0000:0000:0000:0001]:81", "[::1]:81", None),
        ("http://LocalHost:8080", "127.0.0.1:8080", None),
        ("http://127.example.org:9000", "ALL:9000", None),
        ("http://hub.example.org:9000", "ALL:9000", None),
        ("https://hub.example.org", "127.0.0.1:8080", "https://hub.example.org"),
        ("https://example.org:444/hub/", "127.0.0.1:8080", "https://example.org:444/hub"),
    ],
)
def test_addresses(tmp_path, url, listen, public_url):
    said = init(tmp_path, "ann", "--dir", "store", "--url", url)
    found = settings_of(tmp_path / "store")
    assert re.sub(r"^(\[::\]|0\.0\.0\.0):", "ALL:", found["listen"]) == listen
    assert found.get("public_url") == public_url and found["token_audience"] == url.rstrip("/")
    assert ("unencrypted" in said) == (listen == "ALL:9000")
    assert ("Let the proxy" in said) == (public_url is not None)


@pytest.mark.parametrize("url", ["hub.example.org", "ftp://a", "http://", "http://a:0", "http://a:65536", "http://a:", "http://a/path", "http://a b", "http://a]", "http://[::1", "http://[:::]", "http://127.1", "http://127.0.0.256", "https://a/x y", "http://" + "a" * 300])
def test_an_invalid_url_is_refused(tmp_path, url):
    assert "[init.url]" in init(tmp_path, "ann", "--dir", "store", "--url", url, code=EXIT_USAGE)
    assert not (tmp_path / "store").exists()


def test_https(tmp_path, serve):
    ca = authority.Authority(tmp_path / "ca")
    certificate, key = ca.issue("127.0.0.1")
    said = init(tmp_path, "ann", "--dir", "store", "--url", "https://127.0.0.1:8443", "--tls-certificate", os.path.relpath(certificate, tmp_path), "--tls-key", str(key))
    found = settings_of(tmp_path / "store")
    assert found["tls_certificate"] == str(certificate) and found["tls_key"] == str(key) and found["listen"] == "127.0.0.1:8443"
    daemon = serve(tmp_path / "store", trust=str(ca.path))
    assert ask(daemon, "GET", "/api/whoami-v2", re.search(r"HF_TOKEN=(\S+)", said)[1]).status == 200


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], EXIT_USAGE),
        (["ann", "ben"], EXIT_USAGE),
        (["-ann"], EXIT_USAGE),
        (["api"], EXIT_USAGE),
        (["a--b"], EXIT_USAGE),
        (["ann", "--tls-key", "x"], EXIT_USAGE),
        (["ann", "--url", "http://a", "--tls-certificate", "x", "--tls-key", "x"], EXIT_USAGE),
        (["ann", "--tls-certificate", "gone", "--tls-key", "gone", "--url", "https://a:8443"], EXIT_DENIED),
        (["ann", "--dir", "no/such/folder"], EXIT_CANT_CREATE),
        (["ann", "--dir", "with;semicolon"], EXIT_USAGE),
        (["ann", "--dir", "blank at its end "], EXIT_USAGE),
        (["ann", "--dir", "d" * 200], EXIT_USAGE),
        (["ann", "--url", "https://a.example/" + "b" * 200], EXIT_USAGE),
    ],
    ids=str,
)
def test_a_refused_init_leaves_nothing(tmp_path, arguments, code):
    arguments += [] if "--dir" in arguments else ["--dir", "store"]
    assert init(tmp_path, *arguments, code=code).startswith("cairn")
    assert not list(tmp_path.rglob("cairnd.conf*")), "neither settings nor a part of them are left"
    if code == EXIT_USAGE:
        assert not list(tmp_path.iterdir()), "the refused command makes nothing"


@pytest.mark.parametrize("name", ["token_audience", "token_key"])
def test_the_longest_line(tmp_path, name):
    """cairnd can read the longest line that cairn init accepts."""
    room = 198 - len(f"{name} = ")
    if name == "token_key":
        store = tmp_path / ("d" * (room - len(f"{tmp_path}//keys")))
        longer, arguments = [f"{store}d"], ["--dir"]
    else:
        store = tmp_path / "store"
        url = "https://a.example/".ljust(room, "b")
        longer, arguments = [f"{url}b"], ["--dir", str(store), "--url"]
    said = init(tmp_path, "ann", *arguments, *longer, code=EXIT_USAGE)
    assert f"{name}" in said and "199 bytes" in said and not list(tmp_path.iterdir())
    init(tmp_path, "ann", *arguments, *[text[:-1] for text in longer])
    assert max(map(len, (store / "cairnd.conf").read_text().splitlines())) == 198
    assert subprocess.run([cairn.CAIRND, "--check", "--config", str(store / "cairnd.conf")], timeout=60, check=False, env=cairn.Daemon(tmp_path).environment()).returncode == 0


def test_a_comment_that_cairnd_does_not_read(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    (store / "cairnd.conf").write_text("#" * 199 + "\n")
    assert "199 bytes" in init(tmp_path, "ann", "--dir", "store", code=EXIT_CANT_CREATE)
    assert not (store / "keys").exists()


def test_init_warns_of_variables_that_override_settings(tmp_path):
    """In the container image, environment variables override the settings that init writes, so init warns. It does not warn of a variable with the same
    value, or an empty one."""
    variables = {"CAIRN_LISTEN": "0.0.0.0:8080", "CAIRN_DATA_DIR": str(tmp_path / "store"), "CAIRN_TOKEN_AUDIENCE": "cairn", "CAIRN_TOKEN_ISSUER": ""}

    def warned(folder, *arguments):
        env = cairn.Daemon(tmp_path).environment() | variables
        done = subprocess.run([cairn.CAIRN, "init", "ann", "--dir", folder, *arguments], capture_output=True, text=True, timeout=60, env=env, cwd=tmp_path, check=True)
        return re.findall(r"variable (CAIRN_\w+) is (\S+),.*\"(.*?)\"", done.stderr)

    audience = ("CAIRN_TOKEN_AUDIENCE", "cairn", "token_audience = http://127.0.0.1:8080")
    assert warned("store", "--json") == [("CAIRN_LISTEN", "0.0.0.0:8080", "listen = 127.0.0.1:8080"), audience]
    variables |= {"CAIRN_DATA_DIR": "", "CAIRN_TOKEN_AUDIENCE": ""}
    assert warned("other", "--url", "http://hub.example.org:8080") == [], "both stand for all addresses"
    assert [name for name, *_ in warned("third", "--url", "http://hub.example.org:8081")] == ["CAIRN_LISTEN"]


def test_beside_a_daemon(server, tmp_path):
    said = init(tmp_path, "ann", "--dir", str(server.data), code=EXIT_CANT_CREATE)
    assert "data_dir.in_use" in said and "cairn user add" in said
    assert not list(server.data.glob("cairnd.conf*"))
