"""Serves on a Unix socket: one of its own, or one that the service manager passes."""

import contextlib
import http.client
import os
import pwd
import select
import socket
import subprocess

import authority
import cairn
import pytest
from rates import healthy


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(str(self.path))


class Daemon(cairn.Daemon):
    def __init__(self, folder, path, **options):
        super().__init__(folder, listen=f"unix:{path}", **options)
        self.path = path

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.launch()
        ready, _, _ = select.select([self.process.stdout], [], [], cairn.START_S)
        self.line = self.process.stdout.readline().decode() if ready else ""
        assert self.line == f"cairnd listening on http://unix:{self.path}\n", self.log()
        return self

    def connect(self, timeout=60):
        return Connection(self.path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sock"


@pytest.fixture
def begin(tmp_path, path):
    with contextlib.ExitStack() as held:
        yield lambda name="server", **options: held.enter_context(Daemon(tmp_path / name, path, **options))


@pytest.mark.parametrize("mode", ["0600", "0660", "0666", None])
def test_it_serves(begin, make, path, mode):
    server = begin(**({"listen_mode": mode} if mode else {}), access_log_probes=True, rate_per_address=1, connections_per_address_max=1)
    assert path.stat().st_mode & 0o777 == int(mode or "660", 8)
    xorb = make([9000, 20000], 1)
    assert server.put_xorb(xorb).json() == {"was_inserted": True}
    with contextlib.closing(server.connect()) as held:
        for _ in range(30):  # clients without an address have neither limit
            assert server.get("/health", connection=held).status == 200
            assert server.request("HEAD", xorb.path()).status == 200
    server.settle_log()
    assert {e["address"] for e in server.events("request")} == {"-"}
    assert server.get("/health", headers={"Host": "evil.example"}).status == 421
    with contextlib.closing(server.connect()) as c:
        c.connect()
        c.sock.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert b" 200 " in cairn.read_all(c.sock)


def test_the_socket_of_a_killed_daemon_is_replaced(begin, path, tmp_path):
    server = begin()
    line = cairn.refused(tmp_path, "--data-dir", str(tmp_path / "other"), "--listen", f"unix:{path}")
    assert f"unix:{path}" in line and "in use" in line
    assert server.get("/health").status == 200, "the socket of a running daemon is not replaced"
    server.kill()
    assert path.exists()
    server.start()
    assert server.get("/health").status == 200


def test_a_file_in_place_of_the_socket_stays(tmp_path, path):
    path.write_text("precious")
    assert "in use" in cairn.refused(tmp_path, "--listen", f"unix:{path}")
    assert path.read_text() == "precious"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_it_is_the_users(begin, path, tmp_path):
    for folder in [tmp_path, *tmp_path.parents[:-1]]:
        if folder.stat().st_uid == os.geteuid() and folder != tmp_path.parents[-2]:
            folder.chmod(0o755)
    begin(user="nobody")
    assert path.stat().st_uid == pwd.getpwnam("nobody").pw_uid


def test_health_check(begin, path):
    server = begin()
    assert healthy("--listen", f"unix:{path}")
    server.stop()
    assert not healthy("--listen", f"unix:{path}")


def test_health_check_of_tls(tmp_path, path):
    certificate, key = authority.Authority(tmp_path / "ca").issue("server")
    server = cairn.Daemon(tmp_path / "server", listen=f"unix:{path}", tls_certificate=certificate, tls_key=key)
    server.folder.mkdir()
    server.launch()
    assert server.process.stdout.readline().decode() == f"cairnd listening on https://unix:{path}\n"
    assert healthy("--listen", f"unix:{path}", "--tls-certificate", str(certificate), "--tls-key", str(key))
    server.process.terminate()
    server.finish()


@contextlib.contextmanager
def handed_over(tmp_path, listening):
    """Starts a daemon with the socket as its descriptor 3, although `listen` names another."""
    daemon = cairn.Daemon(tmp_path / "server", listen="127.0.0.1:1")
    daemon.folder.mkdir()
    command = ["bash", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@" 3<&"$FD"', "bash", *daemon.command]
    env = daemon.environment() | {"FD": str(listening.fileno())}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[listening.fileno()], env=env, cwd=daemon.folder)
    try:
        line = process.stdout.readline().decode()
        assert line, process.stderr.read()
        yield line
    finally:
        process.terminate()
        said = process.communicate(timeout=cairn.STOP_S)[1].decode()
        assert process.returncode == 0 and not cairn.REPORTS.search(said), said


def test_a_socket_of_the_file_system_is_handed_over(tmp_path, path):
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(path))
        listening.listen()
        path.chmod(0o640)
        with handed_over(tmp_path, listening) as line, contextlib.closing(Connection(path)) as c:
            assert line == f"cairnd listening on http://unix:{path}\n"
            c.request("GET", "/health")
            assert c.getresponse().status == 200
            assert path.stat().st_mode & 0o777 == 0o640, "the daemon does not change the mode of a socket that was passed"


def test_a_port_is_handed_over(tmp_path):
    """Connections that came before the daemon started are served, too."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as early:
            early.request("GET", "/health")
            with handed_over(tmp_path, listening) as line:
                assert line == f"cairnd listening on http://127.0.0.1:{port}\n"
                assert early.getresponse().status == 200
