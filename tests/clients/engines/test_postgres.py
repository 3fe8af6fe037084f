"""The index in PostgreSQL: tests that make sense only there. The server is real, started by tests/engines/postgresql.sh."""

import concurrent.futures
import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import time

import cairn
import ledger
import pytest
import xet
from authority import Authority
from postgres import FOLDER, engine, sql

GRACE = 120

pytestmark = pytest.mark.skipif(not cairn.POSTGRES, reason="there is no PostgreSQL; tests/engines/postgres.sh starts one")


@pytest.fixture
def begin(tmp_path):
    """begin(name, ...) starts a daemon whose index is in the server."""
    daemons = []

    def one(name="server", **options):
        folder = tmp_path / name
        index = options.pop("index", cairn.postgres_url(folder / "data"))
        if not options.pop("with_hub", False):
            options["no_hub"] = True
        daemon = cairn.Daemon(folder, index=index, **options)
        daemons.append(daemon)
        return daemon.start()

    yield one
    for daemon in daemons:
        daemon.stop()


@contextlib.contextmanager
def paused():
    """Pauses the server: it accepts connections and answers nothing."""
    engine("pause")
    try:
        yield
    finally:
        engine("resume")


@contextlib.contextmanager
def killed():
    engine("kill")
    try:
        yield
    finally:
        engine("revive")


@contextlib.contextmanager
def no_standby():
    """Removes the standby that must confirm each commit, so that no commit is acknowledged."""
    sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    sql("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        sql("ALTER SYSTEM RESET synchronous_standby_names")
        sql("SELECT pg_reload_conf()")


def is_ready(server):
    return server.get("/ready").status == 200


def chunk(file):
    return f"/v1/chunks/default/{xet.text(file.terms[0][0].nodes[0][0])}"


def test_whole_way(begin, clock):
    server = begin(test_clock=clock.path, epoch="60s", gc_grace=f"{GRACE}s")
    book = ledger.Ledger()
    files = [ledger.new_file(seed, xorbs=2) for seed in range(5)]
    for file in files:
        assert book.upload(server, file).status == 200
        assert server.get(chunk(file)).status == 200
    assert book.upload(server, files[0]).status == 200, "again"
    assert server.get("/v1/chunks/default/" + "12" * 32).status == 404
    assert server.post("/v1/telemetry", b'{"event":"e","metrics":{"n":1}}').status in (200, 202, 204)
    cairn.wait_until("the telemetry", lambda: server.get("/v1/telemetry").json()["telemetry"])
    key = server.post("/v1/keys", b'{"name":"k","repo":"a/b","scope":"read"}').json()
    assert [k["id"] for k in server.get("/v1/keys").json()["keys"]] == [key["id"]]
    book.forget(server, files[0])
    clock.move(GRACE + 60)
    reply = server.post("/v1/gc")
    assert reply.json().get("retired") == 2, reply
    clock.move(2 * (GRACE + 60))
    assert server.post("/v1/gc").json()["swept"] == 2
    for xorb, _, _ in files[0].terms:
        del book.xorbs[xorb.hash]
    book.check(server)
    stats, metrics = server.get("/v1/stats").json(), server.metrics()
    assert stats["files"] == 4 and metrics["cairn_index_xorbs"] == 8
    assert metrics["cairn_index_requests_total"] > 0 and metrics["cairn_index_request_failures_total"] == 0
    server.stop()
    server.start()
    book.check(server)
    assert server.request("DELETE", f"/v1/keys/{key['id']}").status in (200, 204)
    assert server.left_overs() == []


def asks_of(server, file, new):
    """Requests that need the index. Each must be answered within 20 s."""
    return [
        lambda: server.put_xorb(new.terms[0][0], timeout=20),
        lambda: server.post("/v1/shards", xet.shard([file], [x for x, _, _ in file.terms]), timeout=20),
        lambda: server.get(f"/v1/reconstructions/{ledger.name(file)}", timeout=20),
        lambda: server.get("/v1/chunks/default/" + "34" * 32, timeout=20),
        lambda: server.request("HEAD", file.terms[0][0].path(), timeout=20),
        lambda: server.get("/v1/files", timeout=20),
        lambda: server.request("DELETE", f"/v1/files/{ledger.name(file)}", timeout=20),
        lambda: server.post("/v1/keys", b'{"name":"k","repo":"a/b","scope":"read"}', timeout=20),
        lambda: server.get("/v1/keys", timeout=20),
        lambda: server.get(f"/v1/info/{ledger.name(file)}", timeout=20),
        lambda: server.get("/v1/telemetry", timeout=20),
        lambda: server.get("/ready", timeout=20),
    ]


def timed(ask):
    began = time.monotonic()
    return ask(), time.monotonic() - began


def all_refused(server, file, new):
    """Checks that all requests are refused, many at once so that they queue up, while other requests are still answered."""
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        asked = [pool.submit(timed, ask) for _ in range(4) for ask in asks_of(server, file, new)]
        while not all(one.done() for one in asked):
            reply, seconds = timed(lambda: server.get("/health"))
            assert reply.status == 200 and cairn.in_time(seconds, 2), "a thread that serves others waits for the index"
    for one in asked:
        reply, seconds = one.result()
        assert reply.status == 503 and int(reply.headers["Retry-After"]) > 0, reply
        assert cairn.in_time(seconds, 5), reply
        if reply.body and "ready" not in reply.json():
            assert cairn.is_error(reply, 503)["code"] != "busy", reply
    assert '"rule":"busy"' not in server.log(), "the log names the cause of the wait, not a busy worker"
    assert cairn.is_error(server.post("/v1/gc"), 503, "index.silent")
    body = server.get("/ready").json()
    assert "index" in json.dumps(body["error"]), body


def test_the_hub_names_the_silent_engine(begin):
    server = begin(with_hub=True)
    assert server.post("/api/repos/create", b'{"name":"one"}').status == 200
    with paused():
        for path in ("/api/models/operator/one", "/api/models?search=one", "/operator/one/resolve/main/f"):
            assert "PostgreSQL" in cairn.is_hub_error(server.get(path, timeout=20), 503, "index.silent")


@pytest.mark.parametrize("fault", [paused, killed])
def test_server_is_gone(begin, fault):
    server = begin()
    file, new, book = ledger.new_file(20), ledger.new_file(21), ledger.Ledger()
    assert book.upload(server, file).status == 200
    with fault():
        all_refused(server, file, new)
        assert server.metrics()["cairn_index_request_failures_total"] > 0
    cairn.wait_until("the index", lambda: is_ready(server), seconds=2)
    book.check(server)
    assert book.upload(server, new).status == 200
    book.check(server)


def test_nothing_acknowledged_is_lost(begin):
    """Uploads go on while the server is stopped and started."""
    server = begin()
    book = ledger.Ledger()
    seed = 100

    def some():
        nonlocal seed
        for _ in range(5):
            seed += 1
            book.upload(server, ledger.new_file(seed))

    for fault in (killed, paused, killed):
        some()
        with fault():
            some()
        some()
    cairn.wait_until("the index", lambda: is_ready(server), seconds=2)
    some()
    assert len(book.files) >= 5
    book.check(server)
    server.stop()
    server.start()
    book.check(server)


def test_tokens_of_keys(begin, issuer):
    """Threads that must not wait for the index check whether the key of a token is still valid."""
    server = begin(token_key=issuer.folder)
    admin = issuer.token(scope="admin")
    key = server.post("/v1/keys", b'{"name":"k","repo":"a/b","scope":"write"}', token=admin).json()
    reply = server.get("/api/models/a/b/xet-read-token/main", token=key["key"])
    assert reply.status == 200, reply
    token = reply.json()["accessToken"]
    assert server.get("/v1/chunks/default/" + "12" * 32, token=token).status == 404
    with paused(), concurrent.futures.ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(server.get, "/v1/chunks/default/" + "12" * 32, token=token) for _ in range(20)]
        reply, seconds = timed(lambda: server.get("/health"))
        assert reply.status == 200 and cairn.in_time(seconds, 2)
        assert {one.result().status for one in asked} == {503}
    cairn.wait_until("the index", lambda: is_ready(server), seconds=2)
    assert server.request("DELETE", f"/v1/keys/{key['id']}", token=admin).status in (200, 204)
    assert server.get("/v1/chunks/default/" + "12" * 32, token=token).status == 401
    server.stop()
    server.start()
    assert server.get("/v1/chunks/default/" + "12" * 32, token=token).status == 401


def test_a_known_shard_without_a_standby_is_not_acknowledged(begin):
    """A shard whose commit is on no standby is visible, but must not be acknowledged as already known."""
    server = begin()
    file, book = ledger.new_file(40), ledger.Ledger()
    assert book.put_xorb(server, file.terms[0][0]).status == 200
    shard = xet.shard([file], [x for x, _, _ in file.terms])
    waits = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    with no_standby():
        for _ in range(2):
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                asked = pool.submit(server.post, "/v1/shards", shard)
                cairn.wait_until("the commit", lambda: asked.done() or sql(f"SELECT count(*) {waits}") == "1")
                sql(f"SELECT pg_terminate_backend(pid) {waits}")
                assert asked.result().status == 503
        assert server.get(f"/v1/reconstructions/{ledger.name(file)}").status == 200, "the commit is visible"
    cairn.wait_until("the index", lambda: is_ready(server))
    assert server.post("/v1/shards", shard).json()["result"] == 0


def refused(tmp_path, *options, folder=None, code=1, env=None):
    common = ["--data-dir", str(folder or tmp_path / "new"), "--listen", "127.0.0.1:0"]
    return cairn.refused(tmp_path, *common, *options, code=code, env=env)


def test_the_daemon_goes_on_when_querying_clients_leave(begin):
    """Clients leave while their query is on its way to the server. The daemon ends their connections and goes on."""
    server = begin()
    path = "/v1/chunks/default/" + "56" * 32
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    for _ in range(300):
        with server.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.sendall(request)
    assert server.get(path).status == 404
    cairn.wait_until("no connection is left", lambda: server.metrics()["cairn_http_connections"] <= 1)


def test_an_index_belongs_to_one_data_folder(tmp_path, begin):
    server = begin()
    url = cairn.postgres_url(server.data)
    assert ledger.Ledger().upload(server, ledger.new_file(50)).status == 200
    assert "another daemon writes the index" in refused(tmp_path, "--no-hub", "--index", url)
    server.stop()
    assert "that of another data folder" in refused(tmp_path, "--no-hub", "--index", url)
    assert not (tmp_path / "new" / "index").exists(), "the index is not taken for another folder"
    assert f"is in {url}" in refused(tmp_path, folder=server.data)
    other = cairn.postgres_url(tmp_path / "other")
    assert "and no index" in refused(tmp_path, "--no-hub", "--index", other, folder=server.data)
    plain = cairn.Daemon(tmp_path / "plain").start()
    plain.stop()
    assert "has its index in a file" in refused(tmp_path, "--no-hub", "--index", other, folder=plain.data)
    sql("CREATE SCHEMA foreigner; CREATE TABLE foreigner.t(x int)")
    assert "is not an index of Cairn" in refused(tmp_path, "--no-hub", "--index", f"{cairn.POSTGRES}?schema=foreigner")
    server.start()


def test_commands_on_the_folder(tmp_path, begin):
    """Commands that read or repair the index find it through the data folder. PostgreSQL's own tools make the backup."""
    server, book, out = begin(), ledger.Ledger(), tmp_path / "out"

    def run(name, *rest, code=0):
        done = subprocess.run([cairn.CAIRN, name, "--data-dir", server.data, *rest], capture_output=True, text=True, timeout=60)
        assert done.returncode == code and not cairn.REPORTS.search(done.stderr), (done.returncode, done.stdout, done.stderr)
        return done.stdout if code == 0 else done.stderr

    assert book.upload(server, ledger.new_file(30)).status == 200
    assert "data_dir.in_use" in run("fsck", code=73)
    assert "files      1 rows" in run("export", "--format", "tiledb", out)
    server.stop()
    assert " 0 problems" in run("fsck") and " 0 problems" in run("fsck", "--repair")
    assert "files      0 rows" in run("export", "--format", "tiledb", out)
    refused = run("backup", tmp_path / "backup", code=73)
    assert "data_dir.index" in refused and "back that up as PostgreSQL does" in refused
    server.start()
    book.check(server)


def test_check(tmp_path, begin):
    def check(url, *options):
        command = [cairn.CAIRND, "--check", "--data-dir", str(tmp_path / "server" / "data"), "--no-hub", "--index", url, *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, env=cairn.Daemon(tmp_path).environment())

    server = begin()
    done = check(cairn.postgres_url(server.data))
    version = len(list((cairn.ROOT / "schema" / "postgres").glob("*.sql")))
    assert done.returncode == 0 and f"index of version {version}, in use" in done.stdout, done
    server.stop()
    with killed():
        done = check(cairn.postgres_url(server.data))
        assert done.returncode == 1 and "PostgreSQL" in done.stderr, done
        assert "PostgreSQL" in refused(tmp_path, "--no-hub", "--index", cairn.postgres_url(server.data), folder=server.data)
    server.start()


def test_passwords(tmp_path, begin):
    url = cairn.postgres_url(tmp_path / "server" / "data").replace("cairn@", "locked@")
    shown = [url.replace("locked@", "locked:s3cret@"), f"{url}&password=s3cret", f"{url}&pass%77ord=s3cret"]
    for bad in shown:
        for more in ([], ["--check"], ["--print-settings"]):
            line = refused(tmp_path, "--no-hub", "--index", bad, *more, code=64)
            assert "no password" in line and "s3cret" not in line
    host, port = cairn.POSTGRES.split("@")[1].split("/")[0].split(":")
    file = tmp_path / "pass"
    for password in ("s3cretwrong", "s3cret"):
        file.write_text(f"{host}:{port}:*:locked:{password}\n")
        file.chmod(0o600)
        if password != "s3cret":
            line = refused(tmp_path, "--no-hub", "--index", url, env={"PGPASSFILE": str(file)})
            assert "password authentication failed" in line and password not in line
    server = begin(index=url, variables={"PGPASSFILE": str(file)})
    book = ledger.Ledger()
    assert book.upload(server, ledger.new_file(60)).status == 200
    with killed():  # new connections read the file again
        ready = server.get("/ready")
        assert ready.status == 503
    cairn.wait_until("the index", lambda: is_ready(server), seconds=2)
    book.check(server)
    said = server.get("/metrics").body + ready.body + server.log().encode()
    assert b"s3cret" not in said


@pytest.fixture
def certified(tmp_path):
    """Makes the server accept TLS. @return the authority that signed its certificate"""
    authority = Authority(tmp_path / "authority")
    for path, name in zip(authority.issue("engine"), ("tls.pem", "tls.key")):
        shutil.copy(path, f"{FOLDER}/data/{name}")
        owner = os.stat(f"{FOLDER}/data")
        os.chown(f"{FOLDER}/data/{name}", owner.st_uid, owner.st_gid)
        os.chmod(f"{FOLDER}/data/{name}", 0o600)
    for name, value in (("ssl_cert_file", "tls.pem"), ("ssl_key_file", "tls.key"), ("ssl", "on")):
        sql(f"ALTER SYSTEM SET {name} = '{value}'")
    sql("SELECT pg_reload_conf()")
    cairn.wait_until("TLS", lambda: sql("SHOW ssl") == "on")
    yield authority
    for name in ("ssl", "ssl_cert_file", "ssl_key_file"):
        sql(f"ALTER SYSTEM RESET {name}")
    sql("SELECT pg_reload_conf()")


def test_tls(tmp_path, certified, begin):
    """The server's certificate must be signed by an authority of the file that the URL names. New connections check that, too."""
    url = cairn.postgres_url(tmp_path / "server" / "data") + "&sslmode=verify-full"
    other = Authority(tmp_path / "other")
    assert "certificate verify failed" in refused(tmp_path, "--no-hub", "--index", f"{url}&sslrootcert={other.path}")
    server = begin(index=f"{url}&sslrootcert={certified.path}")
    ours = "FROM pg_stat_activity WHERE application_name = 'cairn'"
    for seed in (70, 71):
        book = ledger.Ledger()
        assert book.upload(server, ledger.new_file(seed)).status == 200
        book.check(server)
        assert sql(f"SELECT count(*) > 0 AND bool_and((SELECT ssl FROM pg_stat_ssl s WHERE s.pid = a.pid)) {ours.replace('activity', 'activity a')}") == "t"
        sql(f"SELECT pg_terminate_backend(pid) {ours}")


def test_by_socket(tmp_path, begin):
    """Connects through a Unix socket, and by the name of a service file."""
    port = cairn.POSTGRES.split(":")[-1].split("/")[0]
    service = tmp_path / "service"
    service.write_text(f"[here]\nhost={FOLDER}\nport={port}\nuser=cairn\ndbname=cairn\n")
    schema = cairn.postgres_url(tmp_path / "server" / "data").split("?")[1]
    server = begin(index=f"postgres://?service=here&{schema}", variables={"PGSERVICEFILE": str(service)})
    book = ledger.Ledger()
    assert book.upload(server, ledger.new_file(70)).status == 200
    book.check(server)
