"""Objects in an S3 service: tests that make sense only there. The engine is real, started by tests/engines/s3.sh; s3.SERVICE says how it differs from
others."""

import concurrent.futures
import contextlib
import hashlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.parse

import cairn
import cluster
import hf_client
import ledger
import plans
import pytest
import s3
import xet
from authority import Authority
from between import Between

GRACE = 120
STEPS = ["put-begun", "put-written", "xorb-verified", "xorb-cleared", "put-durable", "xorb-stored"]
STEPS += ["index-begun", "index-applied", "index-committed", "index-answered"]
ENGINE_PID = os.environ.get("CAIRN_TEST_S3_PID")

pytestmark = pytest.mark.skipif(not cairn.ENGINE, reason="there is no S3 service; tests/engines/s3.sh starts one")


@pytest.fixture
def begin(tmp_path):
    """begin(name, ...) starts a daemon whose objects are in the engine. @return it and its bucket"""
    daemons = []

    def one(name="server", variables=None, **options):
        folder = tmp_path / name
        store = options.pop("store", cairn.s3_url(folder / "data"))
        daemon = cairn.Daemon(folder, variables=variables, store=store, **options)
        daemons.append(daemon)
        daemon.start()
        return daemon, s3.Bucket(store)

    yield one
    for daemon in daemons:
        daemon.stop()


@pytest.fixture
def pause():
    """with pause(): the engine accepts connections and answers nothing."""

    @contextlib.contextmanager
    def paused():
        os.kill(int(ENGINE_PID), signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(int(ENGINE_PID), signal.SIGCONT)

    return paused


def fsck(server, *options):
    command = [cairn.CAIRN, "fsck", "--json", "--data-dir", str(server.data), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert not cairn.REPORTS.search(done.stderr), done.stderr
    return json.loads(done.stdout)


def address_of(server, file):
    """The path and headers of the first fetch of a file's plan."""
    plan = server.get(f"/v1/reconstructions/{ledger.name(file)}").json()
    fetch = plan["fetch_info"][xet.text(file.terms[0][0].hash)][0]
    return plans.path_of(fetch["url"]), {"Range": "bytes={start}-{end}".format(**fetch["url_range"])}


def test_names_are_used_once(begin):
    """Each copy of a xorb has a name of its own. The daemon finds the row's copy again after a restart, and ignores an older one."""
    server, bucket = begin()
    file = ledger.new_file(1)
    book = ledger.Ledger()
    assert book.upload(server, file).status == 200
    (name,) = bucket.objects()
    hash_text, copy = name.split("/")[2].split(".")
    assert hash_text == xet.text(file.terms[0][0].hash) and name.startswith(f"x/{hash_text[:2]}/") and len(copy) == 32
    # A PUT that the client had given up, and that took effect in the end: another layout of the same xorb, by an older name.
    status, _ = bucket.request("PUT", f"{name[:-32]}{0:032x}", body=b"late")
    assert status == 200
    server.stop()
    server.start()
    book.check(server)
    server.stop()
    assert fsck(server)["problems"] == []
    server.start()


def requests_of(server):
    """Returns a function (metric, request) -> how many requests of that kind to the engine the daemon has counted."""
    metrics = server.metrics()
    return lambda name, request: metrics[f'cairn_store_{name}{{request="{request}"}}']


def test_engine_is_silent(begin, pause):
    server, _ = begin()
    file, book = ledger.new_file(2), ledger.Ledger()
    assert book.upload(server, file).status == 200
    asked = requests_of(server)
    assert asked("requests_total", "put") >= 1 and asked("request_seconds_total", "put") > 0
    assert [asked("request_failures_total", what) for what in ("put", "get", "list", "delete")] == [0, 0, 0, 0]
    server.stop()
    server.start()  # forgets the cached place of the object
    address, headers = address_of(server, file)
    with pause():
        asked = [
            lambda: server.put_xorb(ledger.new_file(3).terms[0][0], timeout=20),
            lambda: server.get(address, headers=headers, timeout=20),
            lambda: server.get("/ready", timeout=20),
        ]
        for ask in asked:
            began = time.monotonic()
            reply = ask()
            assert cairn.in_time(time.monotonic() - began, 5)
            assert int(reply.headers["Retry-After"]) > 0
            assert cairn.is_error(reply, 503)["code"] == "store.silent"
        assert server.get("/health").status == 200
        failed = requests_of(server)
        assert failed("request_failures_total", "list") >= 1  # a start begins with a list
    cairn.wait_until("the store", lambda: server.get("/ready").status == 200, seconds=2)
    book.check(server)
    assert book.upload(server, ledger.new_file(3)).status == 200
    assert fsck_after(server) == []


def test_engine_is_silent_after_a_xorb_was_read(begin, pause):
    """The bytes are verified already. Still the daemon sends no status 206 before it has the first of them: it answers 503."""
    server, _ = begin()
    file, book = ledger.new_file(80), ledger.Ledger()
    assert book.upload(server, file).status == 200
    book.check(server)
    address, headers = address_of(server, file)
    with pause():
        for method in ("GET", "HEAD"):
            began = time.monotonic()
            reply = server.request(method, address, headers=headers, timeout=20)
            assert reply.status == 503 and cairn.in_time(time.monotonic() - began, 5), reply
    cairn.wait_until("the store", lambda: server.get("/ready").status == 200, seconds=2)
    book.check(server)


def test_ready_names_the_engine_when_all_workers_wait(begin, pause):
    server, _ = begin(workers=1, worker_queue_max=4)
    files, book = [ledger.new_file(81 + i) for i in range(6)], ledger.Ledger()
    assert [book.upload(server, file).status for file in files] == [200] * len(files)
    addresses = [address_of(server, file) for file in files]
    with concurrent.futures.ThreadPoolExecutor(len(files)) as pool, pause():
        asked = [pool.submit(server.get, address, headers=headers) for address, headers in addresses * 2]
        cairn.wait_until("a request to be refused", lambda: any(one.done() for one in asked))
        assert cairn.is_error(server.get("/ready", timeout=20), 503)["code"] == "store.silent"
        assert {one.result().status for one in asked} == {503}


def fsck_after(server):
    server.stop()
    problems = fsck(server)["problems"]
    server.start()
    return problems


@pytest.mark.parametrize("step", STEPS)
def test_killed(tmp_path, begin, step):
    """Nothing acknowledged is lost, and an upload that was not acknowledged leaves nothing behind."""
    crash = tmp_path / "crash"
    crash.write_text("")
    server, bucket = begin(variables={"CAIRND_CRASH_FILE": str(crash)})
    book = ledger.Ledger()
    assert book.upload(server, ledger.new_file(4)).status == 200
    file = ledger.new_file(5)
    crash.write_text(step)
    with contextlib.suppress(*ledger.GONE):
        book.put_xorb(server, file.terms[0][0])
    assert server.ended(seconds=20) == -9, server.log()
    crash.write_text("")
    server.start()
    book.check(server)
    assert book.upload(server, file).status == 200
    book.check(server)
    assert len(bucket.objects()) == 2
    assert server.left_overs() == []


def test_orphan_is_adopted(tmp_path, begin):
    """An orphan is a xorb without a row that nobody uploads again."""
    crash = tmp_path / "crash"
    crash.write_text("xorb-stored")
    server, bucket = begin(variables={"CAIRND_CRASH_FILE": str(crash)})
    with contextlib.suppress(*ledger.GONE):
        server.put_xorb(ledger.new_file(6).terms[0][0])
    assert server.ended(seconds=20) == -9
    crash.write_text("")
    assert [p["kind"] for p in fsck(server)["problems"]] == ["object.alone"]
    assert [p["repaired"] for p in fsck(server, "--repair")["problems"]] == [True]
    assert fsck(server)["problems"] == [] and len(bucket.objects()) == 1


def test_collection(begin, clock):
    server, bucket = begin(test_clock=clock.path, epoch="60s", gc_grace=f"{GRACE}s")
    kept, gone, book = ledger.new_file(7), ledger.new_file(8, xorbs=2), ledger.Ledger()
    assert book.upload(server, kept).status == 200 and book.upload(server, gone).status == 200
    assert len(bucket.objects()) == 3
    assert book.forget(server, gone).status == 200
    for xorb, _, _ in gone.terms:
        del book.xorbs[xorb.hash]
    for i in range(2):
        clock.move((i + 1) * (GRACE + 1))
        assert server.post("/v1/gc").status == 200
    assert len(bucket.objects()) == 1
    book.check(server)
    assert book.upload(server, gone).status == 200
    book.check(server)


@s3.needs_policies
def test_a_collection_goes_on_after_a_refused_delete(begin, clock):
    """The service refuses to delete one object. The collection reports it and goes on with the others; nothing is lost, and a later collection tries again."""
    server, bucket = begin(test_clock=clock.path, epoch="60s", gc_grace=f"{GRACE}s")
    kept, gone, book = ledger.new_file(70), ledger.new_file(71, xorbs=3), ledger.Ledger()
    assert book.upload(server, kept).status == 200 and book.upload(server, gone).status == 200
    (name,) = [n for n in bucket.objects() if xet.text(kept.terms[0][0].hash) in n]
    stays = sorted(set(bucket.objects()) - {name})[0]
    assert book.forget(server, gone).status == 200
    for xorb, _, _ in gone.terms:
        del book.xorbs[xorb.hash]
    clock.move(GRACE + 1)
    assert server.post("/v1/gc").status == 200
    clock.move(2 * (GRACE + 1))
    with bucket.keeping(stays):
        told = cairn.is_error(server.post("/v1/gc"), 500, "gc.unremoved")["message"]
        assert stays.split("/")[2].split(".")[0] in told and "1 object" in told and "403" in told, told
        assert sorted(bucket.objects()) == sorted([name, stays])
        after = server.metrics()
        assert after["cairn_gc_last_run_successful"] == 0 and after["cairn_gc_swept_xorbs_total"] == 3
        assert after["cairn_xorbs_lost_total"] == 0
        book.check(server)
        clock.move(3 * 86400)  # an object without a row for a day is a left-over
        behind = s3.copy_name(ledger.new_file(72).terms[0][0], 0)
        behind = "x/ff/" + "f" * 64 + behind[behind.index(".") :]
        assert bucket.request("PUT", behind, body=b"left over")[0] == 200
        cairn.is_error(server.post("/v1/gc"), 500, "gc.unremoved")
        assert sorted(bucket.objects()) == sorted([name, stays])
    reply = server.post("/v1/gc")
    assert reply.status == 200 and reply.json()["left_overs"] == 1, reply
    assert bucket.objects() == [name]
    assert server.metrics()["cairn_gc_last_run_successful"] == 1
    assert book.upload(server, gone).status == 200
    book.check(server)


def test_left_overs(tmp_path, begin):
    """A collection removes what a killed upload left long ago, and also an older copy of a xorb that is stored."""
    crash, book, file = tmp_path / "crash", ledger.Ledger(), ledger.new_file(60)
    crash.write_text("")
    server, bucket = begin(variables={"CAIRND_CRASH_FILE": str(crash)}, epoch="60s", gc_grace=f"{GRACE}s")
    assert book.upload(server, file).status == 200
    kept, xorb = bucket.objects(), ledger.new_file(61).terms[0][0]
    for name in (s3.copy_name(xorb, 2 * 86400), s3.copy_name(file.terms[0][0], 2 * 86400)):
        assert bucket.request("PUT", name, body=b"left over")[0] == 200
    crash.write_text("xorb-stored")
    with contextlib.suppress(*ledger.GONE):
        server.put_xorb(ledger.new_file(62).terms[0][0])
    assert server.ended(seconds=20) == -9
    crash.write_text("")
    server.start()
    reply = server.post("/v1/gc")
    assert (reply.json()["left_overs"], reply.json()["bytes_freed"]) == (2, 18)
    assert len(bucket.objects()) == 2 and set(kept) < set(bucket.objects())
    book.check(server)


def test_damage_is_set_aside(begin):
    server, bucket = begin()
    file, book = ledger.new_file(9), ledger.Ledger()
    assert book.upload(server, file).status == 200
    (name,) = bucket.objects()
    assert bucket.request("PUT", name, body=bytes(len(file.terms[0][0].body())))[0] == 200
    server.stop()
    assert [p["kind"] for p in fsck(server, "--repair")["problems"]][0] == "xorb.damaged"
    assert sorted(bucket.objects()) == [name, f"{name}.aside"]
    server.start()
    assert book.upload(server, file).status == 200
    book.check(server)
    assert len(bucket.objects()) == 3


def test_missing_object(begin):
    """Somebody else deletes an object. The xorb counts as lost and is reported; when it is uploaded again, it is back."""
    server, bucket = begin()
    file, book = ledger.new_file(10), ledger.Ledger()
    assert book.upload(server, file).status == 200
    assert bucket.request("DELETE", bucket.objects()[0])[0] == 204
    address, headers = address_of(server, file)
    assert server.get(address, headers=headers).status == 410
    assert book.upload(server, file).status == 200
    book.check(server)


def test_folder_and_store_belong_together(tmp_path, begin):
    server, bucket = begin()
    url, first = cairn.s3_url(server.data), server.data
    server.stop()
    taken = "belongs to another data folder"
    assert taken in cairn.refused(tmp_path, "--data-dir", str(tmp_path / "other"), "--listen", "127.0.0.1:0", "--store", url)
    assert not (tmp_path / "other" / "store").exists()
    common = ["--data-dir", str(first), "--listen", "127.0.0.1:0", "--store"]
    assert f"are in {url}" in cairn.refused(tmp_path, *common, "files")
    assert "are not in that bucket" in cairn.refused(tmp_path, *common, cairn.s3_url(tmp_path / "elsewhere"))
    assert "are not in that bucket" in cairn.refused(tmp_path, *common, url.replace("cairn/", "no-such-bucket/"))
    common[1] = str(tmp_path / "new")
    assert "has no such bucket" in cairn.refused(tmp_path, *common, "s3://no-such-bucket?endpoint=" + cairn.ENGINE)
    assert not (tmp_path / "new" / "store").exists()
    assert bucket.names() == ["owner"]
    server.start()
    plain = cairn.Daemon(tmp_path / "plain", store="files").start()
    plain.stop()
    common[1] = str(plain.data)
    assert "has its objects in files" in cairn.refused(tmp_path, *common, cairn.s3_url(plain.data))


def test_credentials(tmp_path, begin):
    good = f"[default]\naws_access_key_id = {os.environ['AWS_ACCESS_KEY_ID']}\n"
    good += f"aws_secret_access_key={os.environ['AWS_SECRET_ACCESS_KEY']}\n[other]\naws_access_key_id = x\n"
    file = tmp_path / "credentials"
    file.write_text(good.replace("aws_secret_access_key=", "aws_secret_access_key=0"))
    common = ["--data-dir", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--store", cairn.s3_url(tmp_path)]
    line = cairn.refused(tmp_path, *common, "--store-credentials", str(file))
    assert "403 " in line
    none = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    assert "needs an access key" in cairn.refused(tmp_path, *common, env=none)
    file.write_text(good)
    server, _ = begin(variables=none, store_credentials=file)
    book = ledger.Ledger()
    assert book.upload(server, ledger.new_file(11)).status == 200
    file.write_text(good.replace("aws_secret_access_key=", "aws_secret_access_key=0"))
    server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("the reload", lambda: server.events("reload"))
    assert cairn.is_error(server.put_xorb(ledger.new_file(12).terms[0][0]), 503)
    file.write_text(good)
    server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("the other reload", lambda: len(server.events("reload")) == 2)
    assert book.upload(server, ledger.new_file(12)).status == 200
    book.check(server)
    server.stop()
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in server.log()


@s3.needs_sessions
def test_session_tokens(tmp_path, begin):
    """The session token is sent with each request and is part of each address. Without it nothing works."""
    file = tmp_path / "credentials"
    session = s3.Bucket(cairn.s3_url(tmp_path)).session()
    none = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    file.write_text(session[: session.index("aws_session_token")])
    common = ["--data-dir", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--store", cairn.s3_url(tmp_path)]
    assert "403" in cairn.refused(tmp_path, *common, "--store-credentials", str(file))
    file.write_text(session)
    server, bucket = begin(variables=none | {"CAIRN_PROVE_READS": "no"}, store_credentials=file, fetch_from_store=True)
    book, kept = ledger.Ledger(), ledger.new_file(15)
    assert book.upload(server, kept).status == 200
    plan = server.get(f"/v2/reconstructions/{ledger.name(kept)}").json()
    ((url, ((_, _, first, last),)),) = plans.fetches_of(plan)[xet.text(kept.terms[0][0].hash)]
    token = re.search("aws_session_token = (.*)", session)[1]
    assert f"X-Amz-Security-Token={urllib.parse.quote(token, safe='')}" in url
    assert fetch_raw(url, Range=f"bytes={first}-{last}") == (206, kept.terms[0][0].body()[first : last + 1])
    assert fetch_raw(re.sub("&X-Amz-Security-Token=[^&]*", "", url), Range=f"bytes={first}-{last}")[0] == 403
    file.write_text(bucket.session())
    server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("the reload", lambda: server.events("reload"))
    assert book.upload(server, ledger.new_file(16)).status == 200
    server.stop()
    assert token not in server.log()


def test_a_key_is_replaced(tmp_path, begin):
    """The operator replaces the key in the same file, or removes it. The daemon goes on by itself."""
    file = tmp_path / "credentials"

    def use(name, secret):
        fresh = tmp_path / "fresh"
        fresh.write_text(f"aws_access_key_id = {name}\naws_secret_access_key = {secret}\n")
        fresh.rename(file)

    keys = [s3.administer("key").split() for _ in range(2)]
    use(*keys[0])
    server, _ = begin(variables={"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, store_credentials=file)
    book = ledger.Ledger()
    assert book.upload(server, ledger.new_file(17)).status == 200
    use(*keys[1])
    s3.administer("no-key", keys[0][0])
    assert book.upload(server, ledger.new_file(18)).status == 200
    book.check(server)
    assert server.events("reload") == []
    s3.administer("no-key", keys[1][0])
    assert cairn.is_error(server.put_xorb(ledger.new_file(19).terms[0][0]), 503)


@pytest.fixture
def over_tls(tmp_path):
    """over_tls(certificate and key) serves the engine by HTTPS. @return its endpoint"""
    balancers = []
    if not cluster.HAPROXY.exists():
        pytest.skip("there is no haproxy")

    def begin(pair):
        listening = socket.create_server(("127.0.0.1", 0))
        both, file = tmp_path / "both.pem", tmp_path / "haproxy.cfg"
        both.write_bytes(b"".join(path.read_bytes() for path in pair))
        where = urllib.parse.urlsplit(cairn.ENGINE).netloc
        lines = ["defaults", "  mode http", "  timeout connect 2s", "  timeout client 60s", "  timeout server 60s"]
        lines += ["listen engine", f"  bind fd@{listening.fileno()} ssl crt {both}", f"  server engine {where}"]
        file.write_text("\n".join(lines) + "\n")
        balancers.append(subprocess.Popen([cluster.HAPROXY, "-db", "-f", str(file)], stderr=subprocess.DEVNULL, pass_fds=[listening.fileno()]))
        port = listening.getsockname()[1]
        listening.close()
        return f"https://127.0.0.1:{port}"

    yield begin
    for balancer in balancers:
        balancer.kill()
        balancer.wait()


def test_tls(tmp_path, begin, over_tls):
    """The daemon trusts the authorities of the given file, and no others."""
    authority, other = Authority(tmp_path / "authority"), Authority(tmp_path / "other")
    url = cairn.s3_url(tmp_path / "server" / "data", over_tls(authority.issue("engine")))
    for more in ("", f"&ca={other.path}", f"&ca={tmp_path}/missing.pem"):
        line = cairn.refused(tmp_path, "--data-dir", str(tmp_path / f"new{len(more)}"), "--listen", "127.0.0.1:0", "--store", url + more)
        assert "store" in line and ("certificate" in line or "CA" in line), line
    server, _ = begin(store=f"{url}&ca={authority.path}")
    book = ledger.Ledger()
    assert book.upload(server, ledger.new_file(20)).status == 200
    book.check(server)
    server.stop()
    server.start()
    book.check(server)


def fetch_raw(url, method="GET", **headers):
    """Fetches from the engine, as a client does. @return (status, body)"""
    parts = urllib.parse.urlsplit(url)
    assert f"{parts.scheme}://{parts.netloc}" == cairn.ENGINE
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    connection.request(method, f"{parts.path}?{parts.query}", headers=headers)
    reply = connection.getresponse()
    out = reply.status, reply.read()
    connection.close()
    return out


def test_addresses(begin):
    """Addresses that lead to the engine allow one range, one method (GET), and only for a while."""
    server, bucket = begin(variables={"CAIRN_PROVE_READS": "no"}, fetch_from_store=True)
    file, book = ledger.new_file(14), ledger.Ledger()
    assert book.upload(server, file).status == 200
    body = file.terms[0][0].body()
    for version in ("v1", "v2"):
        plan = server.get(f"/{version}/reconstructions/{ledger.name(file)}").json()
        assert plan == server.get(f"/{version}/reconstructions/{ledger.name(file)}").json()
        ((url, ((_, _, first, last),)),) = plans.fetches_of(plan)[xet.text(file.terms[0][0].hash)]
        assert os.environ["AWS_SECRET_ACCESS_KEY"] not in url
        assert fetch_raw(url, Range=f"bytes={first}-{last}") == (206, body[first : last + 1])
        for others in (f"bytes={first}-{last + 1}", f"bytes={first + 1}-{last}", f"bytes={first}-{last},0-0", "bytes=-1"):
            assert fetch_raw(url, Range=others)[0] == 403, others
        assert fetch_raw(url)[0] == s3.SERVICE.unsigned
        for method in ("HEAD", "PUT", "DELETE"):
            assert fetch_raw(url, method, Range=f"bytes={first}-{last}")[0] == 403, method
        longer = re.sub("X-Amz-Expires=[0-9]+", "X-Amz-Expires=604800", url)
        assert longer != url and fetch_raw(longer, Range=f"bytes={first}-{last}")[0] == 403
    # The object is gone: later plans lead to the daemon, which finds that out.
    (name,) = bucket.objects()
    server.stop()
    assert bucket.request("DELETE", name)[0] == 204
    server.start()
    address, headers = address_of(server, file)
    assert address.startswith("/v1/fetch/") and server.get(address, headers=headers).status == 410


def test_expired_address(begin):
    """The engine refuses an expired address. Other code signs it, because the daemon cannot sign for the past."""
    _, bucket = begin()
    date, scope = "20260101T000000Z", f"20260101/{s3.REGION}/s3/aws4_request"
    query = f"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={bucket.id}%2F{scope.replace('/', '%2F')}&X-Amz-Date={date}"
    query += "&X-Amz-Expires=3600&X-Amz-SignedHeaders=host%3Brange"
    path = f"{bucket.path}/{bucket.prefix}owner"
    text = f"GET\n{path}\n{query}\nhost:{bucket.host}\nrange:bytes=0-9\n\nhost;range\nUNSIGNED-PAYLOAD"
    url = f"{cairn.ENGINE}{path}?{query}&X-Amz-Signature={s3.signature(text, date, bucket.secret)}"
    assert fetch_raw(url, Range="bytes=0-9")[0] == s3.SERVICE.expired


def test_a_plan_is_too_old(tmp_path, clock, begin):
    """The client uses its addresses after they have expired. It asks for another plan if the service answers 403, and gives up otherwise."""
    server, _ = begin(variables={"CAIRN_PROVE_READS": "no", **clock.of_daemon()}, fetch_from_store=True)
    content = random.Random(26).randbytes(400_000)
    (tmp_path / "file").write_bytes(content)
    (info,) = hf_client.upload(server, tmp_path / "up", [tmp_path / "file"])

    def rule(request, before):
        if request.route.endswith("/reconstructions"):
            clock.move(-2 * 86400 if before == 0 else 0)

    with Between(server, rule) as between:
        get = {"hash": info["hash"], "size": info["size"], "how": "file"}
        (got,) = hf_client.download(between, tmp_path / "down", [get], client_retry_base_delay="10ms")
        asked = sum(request.route.endswith("/reconstructions") for request in between.requests)
    clock.move(0)
    if s3.SERVICE.expired == 403:
        assert got == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()} and asked >= 2
    else:
        assert str(s3.SERVICE.expired) in got["error"], got


def test_addresses_are_not_verified(tmp_path):
    common = ["--data-dir", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--fetch-from-store"]
    assert "prove_reads = no" in cairn.refused(tmp_path, *common, "--store", cairn.s3_url(tmp_path), code=64)
    assert "an S3 store" in cairn.refused(tmp_path, *common, "--store", "files", "--prove-reads=no", code=64)


def test_leaving(tmp_path, begin):
    """A backup of the store becomes a store in files again."""
    server, _ = begin()
    book = ledger.Ledger()
    assert book.upload(server, ledger.new_file(13, xorbs=2)).status == 200
    server.stop()
    out = tmp_path / "backup.fold"
    subprocess.run([cairn.CAIRN, "backup", "--data-dir", server.data, out], check=True, capture_output=True)
    other = cairn.Daemon(tmp_path / "other", store="files")
    other.folder.mkdir()
    subprocess.run([cairn.CAIRN, "restore", "--data-dir", other.data, out], check=True, capture_output=True)
    with other:
        book.check(other)
    server.start()


def test_no_packs(begin):
    server, _ = begin()
    assert server.post("/v1/packs?name=a.shard").status == 202
    cairn.wait_until("the end of the packing", lambda: not server.get("/v1/packs").json()["job"]["running"])
    assert "pack.none" in json.dumps(server.get("/v1/packs").json())


class SlowEngine:
    """The engine behind a proxy that delays each answer by 1.5 s, which is too short to count as silence."""

    def __init__(self):
        self.listening, self.ended = socket.create_server(("127.0.0.1", 0)), threading.Event()
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.slow = False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listening.accept()[0]
                engine = socket.create_connection(urllib.parse.urlsplit(cairn.ENGINE).netloc.split(":"))
                asked = threading.Event()  # set while a request waits for its answer
                threading.Thread(target=self.pump, args=(client, engine, asked, False), daemon=True).start()
                threading.Thread(target=self.pump, args=(engine, client, asked, True), daemon=True).start()

    def pump(self, source, sink, asked, answers):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 20):
                if not answers:
                    asked.set()
                elif self.slow and asked.is_set():
                    asked.clear()
                    self.ended.wait(1.5)
                sink.sendall(piece)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.ended.set()
        self.listening.close()


def new_objects(n):
    bodies = [random.Random(i).randbytes(100_000) for i in range(n)]
    return bodies, [{"oid": hashlib.sha256(body).hexdigest(), "size": len(body)} for body in bodies]


def places_of(server, operation, objects):
    """The addresses of Git LFS objects."""
    reply = server.post("/operator/one.git/info/lfs/objects/batch", json.dumps({"operation": operation, "objects": objects}).encode())
    return [one["actions"][operation]["href"].removeprefix(server.url) for one in reply.json()["objects"]]


def put(server, place, body):
    return server.request("PUT", place, body=body, timeout=120)


def objects_of(server, n):
    """Uploads n Git LFS objects. @return their addresses"""
    assert server.post("/api/repos/create", b'{"name":"one"}').status == 200
    bodies, objects = new_objects(n)
    assert {put(server, *one).status for one in zip(places_of(server, "upload", objects), bodies, strict=True)} == {200}
    return places_of(server, "download", objects)


def test_engine_is_slow(tmp_path, begin):
    """A request that has waited 4 s for a worker is told to come again, so that it does not wait for all before it."""
    with contextlib.closing(SlowEngine()) as engine:
        server, _ = begin(store=cairn.s3_url(tmp_path / "server" / "data", engine.url), workers=2)
        book, files = ledger.Ledger(), [ledger.new_file(90 + i) for i in range(12)]
        assert [book.upload(server, file).status for file in files] == [200] * len(files)
        addresses = [address_of(server, file) for file in files]
        places = objects_of(server, len(files))
        engine.slow = True
        with concurrent.futures.ThreadPoolExecutor(len(files)) as pool:
            replies = list(pool.map(lambda address: server.get(address[0], headers=address[1]), addresses))
            objects = list(pool.map(lambda place: server.get(place), places))
        refused = [reply for reply in replies if reply.status == 503]
        assert 0 < len(refused) < len(files), [reply.status for reply in replies]
        late = [reply for reply in objects if reply.status == 503]
        assert 0 < len(late) < len(objects), [reply.status for reply in objects]
        assert all(b"workers.slow" in reply.body and int(reply.headers["Retry-After"]) > 0 for reply in late)
        for reply in refused:
            assert int(reply.headers["Retry-After"]) > 0
            cairn.is_error(reply, 503, "workers.slow")
        engine.slow = False
        book.check(server)


def test_engine_is_slow_for_uploads(tmp_path, begin):
    """An upload that no worker has begun within 4 s must be sent again. Acknowledged uploads are kept."""
    with contextlib.closing(SlowEngine()) as engine:
        server, _ = begin(store=cairn.s3_url(tmp_path / "server" / "data", engine.url), workers=2)
        assert server.post("/api/repos/create", b'{"name":"one"}').status == 200
        bodies, objects = new_objects(12)
        places = places_of(server, "upload", objects)
        engine.slow = True
        with concurrent.futures.ThreadPoolExecutor(len(places)) as pool:
            replies = list(pool.map(lambda place, body: put(server, place, body), places, bodies))
        engine.slow = False
        late = [reply for reply in replies if reply.status == 503]
        assert 0 < len(late) < len(replies), [reply.status for reply in replies]
        assert all(b"workers.slow" in reply.body and int(reply.headers["Retry-After"]) > 0 for reply in late)
        assert [put(server, *one).status for one in zip(places, bodies, strict=True)] == [200] * len(places)
