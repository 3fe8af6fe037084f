"""Operations on a running server: forgetting and sharing files, collecting, counting; and how much of that other
tenants see."""

import re
import signal
import subprocess
import time

import cairn
import plans
import pytest
import xet
from plain_calls import read, seen, upload

TIMES = {"epoch": "60s", "gc_grace": "120s"}
GRACE = 120


def forget(server, file, query="", **more):
    return server.request("DELETE", f"/v1/files/{xet.text(file.hash())}{query}", **more)


def share(server, file, query="", **more):
    return server.post(f"/v1/files/{xet.text(file.hash())}/share{query}", **more)


def object_bytes(server):
    return sum(p.stat().st_size for p in server.objects())


@pytest.fixture
def repos(start, issuer):
    """A server with tokens of an operator and of three repositories."""
    server = start(token_key=issuer.folder)
    names = {"alice": "alice/one", "bob": "bob/one", "carol": "datasets/carol/one"}
    return server, {"admin": issuer.token("admin"), **{who: issuer.token(repo=name) for who, name in names.items()}}


def test_forgotten_file_is_gone(server, make):
    file, other = upload(server, make([9000, 9001], 1)), upload(server, make([9002], 2))
    assert seen(server, file) == 200
    reply = forget(server, file)
    assert (reply.status, reply.json()) == (200, {"forgotten": True})
    assert seen(server, file) == 404
    cairn.is_error(forget(server, file), 404, "file.unknown")
    assert read(server, other) == plans.content(other)
    again = server.post("/v1/shards", xet.shard([file], [file.terms[0][0]]))
    assert again.json() == {"result": 1}, "the file is not known any more"
    assert read(server, file) == plans.content(file)


def test_bad_hash_is_400(server):
    for method, path in (("DELETE", "/v1/files/zz"), ("POST", "/v1/files/zz/share")):
        cairn.is_error(server.request(method, path, body=b""), 400)


def test_forget_for_one_repository(repos, make):
    server, tokens = repos
    file = upload(server, make([9000], 3), tokens["alice"])
    upload(server, make([9000], 3), tokens["bob"])
    assert forget(server, file, "?repo=alice/one", token=tokens["admin"]).status == 200
    assert seen(server, file, tokens["alice"]) == 404
    assert seen(server, file, tokens["bob"]) == 200
    assert forget(server, file, "?repo=", token=tokens["admin"]).status == 404, "the file never belonged to the operator"
    assert forget(server, file, "?repo=carol/one", token=tokens["admin"]).status == 404
    cairn.is_error(forget(server, file, "?repo=carol", token=tokens["admin"]), 400, "repo.name")
    assert forget(server, file, "?repo=models/bob/one", token=tokens["admin"]).status == 200
    assert seen(server, file, tokens["admin"]) == 404


def test_hash_and_sha256_are_no_right_to_read(repos, make):
    server, tokens = repos
    file = upload(server, make([9000, 10000], 4), tokens["alice"])
    assert seen(server, file, tokens["alice"]) == 200
    assert seen(server, file, tokens["bob"]) == 404
    assert seen(server, file, tokens["admin"]) == 200, "the operator reads all files"
    by_sha256 = f"/v1/files/by-sha256/{xet.text(file.sha256)}"
    assert {who: server.get(by_sha256, token=token).status for who, token in tokens.items()} == {
        "alice": 200, "bob": 404, "carol": 404, "admin": 404,
    }, "alice's word is not the operator's"
    shared = upload(server, make([9000, 10001], 5), tokens["admin"])
    assert [seen(server, shared, tokens[who]) for who in ("alice", "bob", "carol")] == [200] * 3, "everybody may read what the operator uploads"


def test_share(repos, make):
    server, tokens = repos
    file = upload(server, make([9000, 10000], 6), tokens["alice"])
    reply = share(server, file, "?repo=bob/one", token=tokens["admin"])
    assert (reply.status, reply.json()) == (200, {"shared": True})
    assert share(server, file, "?repo=bob/one", token=tokens["admin"]).json() == {"shared": False}
    assert [seen(server, file, tokens[who]) for who in ("alice", "bob", "carol")] == [200, 200, 404]
    assert read(server, file, tokens["bob"]) == plans.content(file)
    assert share(server, file, "?repo=carol/one", token=tokens["admin"]).status == 200
    assert seen(server, file, tokens["carol"]) == 404, "a model and a dataset of one name are two repositories"
    assert share(server, file, token=tokens["admin"]).status == 200
    assert seen(server, file, tokens["carol"]) == 200
    cairn.is_error(share(server, file, "?repo=a/b/c", token=tokens["admin"]), 400, "repo.name")
    unknown = xet.File([(make([7], 7), 0, 1)])
    cairn.is_error(share(server, unknown, token=tokens["admin"]), 404, "file.unknown")


def test_repository_of_a_token_decides_not_the_query(repos, make):
    server, tokens = repos
    file = upload(server, make([9000], 8), tokens["alice"])
    path = f"/v2/reconstructions/{xet.text(file.hash())}?repo=alice/one"
    assert server.get(path, token=tokens["bob"]).status == 404


@pytest.mark.files
def test_collection_takes_two_grace_times(start, make, clock):
    server = start(test_clock=clock.path, **TIMES)
    kept, gone = upload(server, make([9000, 9001], 1)), upload(server, make([20000, 9001], 2))
    size = [len(f.terms[0][0].body()) for f in (kept, gone)]
    chunk = f"/v1/chunks/default/{xet.text(gone.nodes()[0][0])}"
    plan = server.get(f"/v1/reconstructions/{xet.text(gone.hash())}").json()
    assert object_bytes(server) == sum(size)
    assert forget(server, gone).status == 200
    stats = server.get("/v1/stats").json()
    assert (stats["files"], stats["xorbs"], stats["stored_bytes"]) == (1, 2, sum(size))
    assert (stats["unreferenced_xorbs"], stats["unreferenced_bytes"], stats["retired_xorbs"]) == (1, size[1], 0)
    nothing = {"retired": 0, "swept": 0, "left_overs": 0, "bytes_freed": 0, "grace_s": GRACE}
    assert server.post("/v1/gc").json() == nothing, "the xorb has not been retired for long enough"

    clock.move(GRACE + 5)
    assert server.get(chunk).status == 200
    assert server.post("/v1/gc").json() == {**nothing, "retired": 1}
    assert server.get(chunk).status == 404, "a retired xorb is not offered, from the cache neither"
    assert server.request("HEAD", gone.terms[0][0].path()).status == 404
    assert server.post("/v1/gc").json() == nothing
    assert object_bytes(server) == sum(size)
    assert server.get("/v1/stats").json()["retired_bytes"] == size[1]

    clock.move(2 * (GRACE + 5))
    assert server.post("/v1/gc").json() == {**nothing, "swept": 1, "bytes_freed": size[1]}
    assert object_bytes(server) == size[0]
    fetch = next(iter(plan["fetch_info"].values()))[0]["url"]
    assert server.get(plans.path_of(fetch)).status == 404, "a signed address of a removed xorb is refused"
    refused = server.post("/v1/shards", xet.shard([gone], [gone.terms[0][0]]))
    cairn.is_error(refused, refused.status, "xorb.not_stored")
    assert read(server, kept) == plans.content(kept)
    again = upload(server, gone.terms[0][0])
    assert read(server, again) == plans.content(gone)
    assert server.left_overs() == []


def test_retired_xorb_is_used_again(start, make, clock):
    """A client that was offered a xorb before it was retired may use it until the grace time is over."""
    server = start(test_clock=clock.path, **TIMES)
    file = upload(server, make([9000, 9001], 3))
    xorb = file.terms[0][0]
    forget(server, file)
    clock.move(GRACE + 5)
    assert server.post("/v1/gc").json()["retired"] == 1
    part = xet.File([(xorb, 1, 2)])
    assert server.post("/v1/shards", xet.shard([part], [])).json() == {"result": 1}
    clock.move(4 * GRACE)
    assert server.post("/v1/gc").json()["swept"] == 0
    assert read(server, part) == plans.content(part)


def signed(server, file):
    plan = server.get(f"/v1/reconstructions/{xet.text(file.hash())}").json()
    return plans.path_of(next(iter(plan["fetch_info"].values()))[0]["url"])


def test_signed_address_expires(start, make, clock):
    server = start(test_clock=clock.path, fetch_ttl="60s")
    path = signed(server, upload(server, make([9000], 1)))
    assert server.get(path).status == 206
    clock.move(45)
    assert server.get(path).status == 206
    clock.move(61)
    cairn.is_error(server.get(path), 403, "fetch.expired")
    assert server.request("HEAD", path).status == 403


def test_signed_address_cannot_be_changed(start, make):
    server = start()
    file, other = upload(server, make([9000, 9001, 9002], 1)), upload(server, make([9000, 9001, 9003], 2))
    path = signed(server, xet.File([(file.terms[0][0], 0, 3)]))
    base, query = path.split("?")
    args = dict(part.split("=") for part in query.split("&"))
    assert set(args) == {"ranges", "expires", "signature"}

    def status(base=base, **change):
        return server.get(base + "?" + "&".join(f"{k}={v}" for k, v in {**args, **change}.items() if v is not None)).status

    assert status() == 206
    last = args["signature"][-1]
    assert status(signature=args["signature"][:-1] + ("0" if last != "0" else "1")) == 403
    assert status(signature=args["signature"][:-1]) == 403
    assert status(signature="") == 403
    assert status(expires=str(int(args["expires"]) + 1)) == 403
    assert status(expires="0" + args["expires"]) == 403
    assert status(ranges="0-1") == 403
    assert status(ranges=args["ranges"] + ",0-0") == 403
    assert status(base=base.replace(xet.text(file.terms[0][0].hash), xet.text(other.terms[0][0].hash))) == 403
    for name in args:
        assert status(**{name: None}) == 403
    assert server.get(base).status == 403


def test_signed_address_of_another_server(start, make):
    xorb = make([9000], 1)
    one, two = start("one"), start("two")
    path = signed(one, upload(one, xorb))
    upload(two, xorb)
    assert (one.get(path).status, two.get(path).status) == (206, 403)


def documented(heading):
    """The first cells of the table below a heading of docs/operations.md."""
    section = (cairn.ROOT / "docs/operations.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return " ".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))


@pytest.mark.files
def test_stats_gives_up_on_a_stopped_daemon(server):
    """`cairn stats` gives up a try after half a minute, and says so."""
    server.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    try:
        done = subprocess.run([cairn.CAIRN, "stats", "--server", server.url, "--retries", "0"], capture_output=True, text=True, timeout=250)
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert time.monotonic() - began > 27
    assert done.returncode == 69 and "server.connection" in done.stderr, done


def test_documented_metrics(start):
    """The table in operations.md has each metric, and no other. Some appear only with TLS, an S3 service, PostgreSQL, a running job, or a mirror; the test's mirror
    has an address that is not asked."""
    elsewhere = {"cairn_tls_certificate_expires_seconds", "cairn_index_clock_ahead_seconds", "cairn_job_done_ratio"}
    elsewhere |= {f"cairn_{of}_request{what}_total" for of in ("store", "index") for what in ("s", "_seconds", "_failures")}
    server = start(mirror="http://127.0.0.1:9")
    assert server.post("/v1/gc").status == 200  # the metrics of collections and scrubs appear with the first one
    assert server.post("/v1/scrub/start").status == 200
    (server.data / "notes" / "backup").write_text("ran 9\ngood 9\nfailed 0\nbytes 9\n")
    cairn.wait_until("the scrub and the backup", lambda: server.get("/v1/scrub").json()["now"] is None and "cairn_backup_last_run_successful" in server.metrics())
    cairn.wait_until("a request that is counted", lambda: b"cairn_http_requests_total" in server.get("/metrics").body)
    told = re.sub(r"(?m)^#.*$", "", server.get("/metrics").body.decode())
    names = {re.sub(r"_seconds_(bucket|sum|count)$", "_seconds", name) for name in re.findall(r"(?m)^(\w+)", told)}
    assert names | elsewhere == set(re.findall(r"`((?:cairn|process)_\w+)", documented("Health and metrics")))


def test_documented_limits():
    """Each setting that is a limit has a heading with its name in troubleshooting.md. Each heading there that looks like a setting is one."""
    section = (cairn.ROOT / "docs/troubleshooting.md").read_text().split("\n## Limits, and what a client sees\n")[1].split("\n## ")[0]
    headings = set(re.findall(r"(?m)^### ([a-z_]+)$", section))
    settings = set(re.findall(r'(?m)^\t\{"(\w+)", SETTING_', (cairn.ROOT / "server/settings.c").read_text()))
    assert len(settings) > 50 and headings <= settings, headings - settings
    assert {name for name in settings if name.endswith("_max")} <= headings, settings - headings


def test_documented_events():
    """The table in operations.md has each event of the log, and no other."""
    code = "".join(path.read_text() for path in (cairn.ROOT / "server").rglob("*.c"))
    assert set(re.findall(r'(?:LOG|log_event)\([^,]+,\s*"(\w+)"', code)) == set(re.findall(r"`(\w+)`", documented("Logs")))
