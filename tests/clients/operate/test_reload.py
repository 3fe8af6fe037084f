"""SIGHUP: which settings are read again and what is reported; settings that cannot be read change nothing. (Keys and certificates: test_access.py,
test_tls.py.) Also the log of slow requests, which a reload turns on here."""

import os
import re
import signal
import subprocess
import threading
import time

import cairn
import pytest
import xet


@pytest.fixture
def server(start, tmp_path):
    (tmp_path / "cairnd.conf").write_text("worker_queue_max = 100\n")
    one = start(config=tmp_path / "cairnd.conf", reserve_bytes="1M")

    def reload(text):
        (tmp_path / "cairnd.conf").write_text(text)
        before = len(reloads(one))
        one.process.send_signal(signal.SIGHUP)
        cairn.wait_until("the reload", lambda: len(reloads(one)) > before)
        return reloads(one)[-1]

    one.reload = reload
    return one


def reloads(server):
    return [e for e in server.events() if e["event"].startswith("reload")]


def ask(server, name):
    assert server.get("/v1/nothing", headers={"X-Request-Id": name}).status == 404


def test_one_line_names_the_changed_settings(server, tmp_path):
    ask(server, "before")
    event = server.reload("worker_queue_max = 200\naccess_log = no\ndrain = 7s\nlisten = 127.0.0.1:9\nreserve_bytes = 2M\n")
    assert event["event"] == "reload" and event["what"] == "settings" and event["file"] == str(tmp_path / "cairnd.conf")
    assert event["changed"] == "drain=7s access_log=no"
    assert event["needs_restart"] == "worker_queue_max=200", "options still override the file"
    ask(server, "after")
    event = server.reload("worker_queue_max = 200\naccess_log = yes\ndrain = 7\n")
    assert (event["changed"], event["needs_restart"]) == ("access_log=yes", "worker_queue_max=200")
    ask(server, "again")
    event = server.reload("worker_queue_max = 100\n")
    assert event["changed"] == "drain=30s" and "needs_restart" not in event
    event = server.reload("worker_queue_max = 100\n")
    assert event["changed"] == "nothing" and "needs_restart" not in event
    server.stop()
    assert [e["request_id"] for e in server.events("request")] == ["before", "again"]


@pytest.mark.parametrize("text, why", [("drain = 7s\nno_such = 1\n", "no_such"), ("gc_grace = 1h\n", "gc_grace"), ("drain = 7 years\n", "drain")])
def test_a_wrong_file_changes_nothing(server, text, why):
    event = server.reload(text)
    assert (event["event"], event["what"], event["rule"], event["level"]) == ("reload_failed", "settings", "settings", "error")
    assert why in event["cause"]
    assert server.reload("worker_queue_max = 100\ndrain = 8s\n")["changed"] == "drain=8s"


def test_a_reload_without_the_file_changes_nothing(server, tmp_path):
    (tmp_path / "cairnd.conf").unlink()
    server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("the reload", lambda: server.events("reload_failed"))
    assert str(tmp_path / "cairnd.conf") in server.events("reload_failed")[0]["cause"]
    assert server.reload("worker_queue_max = 100\n")["changed"] == "nothing"


def test_a_pipe_in_the_place_of_the_file(server, tmp_path):
    """Nothing writes to the pipe. A reload that waited for a writer would also keep SIGTERM from stopping the daemon."""
    (tmp_path / "cairnd.conf").unlink()
    os.mkfifo(tmp_path / "cairnd.conf")
    server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("the reload", lambda: server.events("reload_failed"))
    assert "is not a file" in server.events("reload_failed")[0]["cause"]
    (tmp_path / "cairnd.conf").unlink()
    assert server.reload("worker_queue_max = 100\n")["changed"] == "nothing"


def test_the_level_of_the_log(server, tmp_path):
    """The line that reports the change is written at either level."""
    assert server.reload("worker_queue_max = 100\nlog_level = warning\n")["changed"] == "log_level=warning"
    ask(server, "unseen")
    assert server.reload("worker_queue_max = 100\nlog_level = info\n")["changed"] == "log_level=info"
    ask(server, "seen")
    server.stop()
    assert [e["request_id"] for e in server.events("request")] == ["seen"]


def test_telemetry_that_is_not_kept(server):
    def send():
        assert server.post("/v1/telemetry", b'{"event":"e","metrics":{}}').status == 200

    def kept():
        return server.get("/v1/telemetry?limit=10").body.count(b"metrics")

    server.reload("telemetry_rows = 0\nworker_queue_max = 100\n")
    send()
    before = kept()
    server.reload("telemetry_rows = 5\nworker_queue_max = 100\n")
    send()
    assert before == 0
    cairn.wait_until("the message", lambda: kept() == 1)


def test_the_settings_that_sighup_reads_again_are_documented():
    table = subprocess.run([cairn.CAIRND, "--print-settings-table"], capture_output=True, text=True, check=True).stdout
    named = {line.split("`")[1] for line in table.splitlines() if "SIGHUP reads it again" in line}
    source = (cairn.ROOT / "server" / "settings.c").read_text()
    live = {entry.split('"')[0] for entry in re.split(r'\n\t\{"', source) if ".live = true" in entry}
    assert live == named - {"token_key", "tls_certificate", "mirror_rules"} and len(live) > 8


def slow(server):
    return server.events("slow_request")


def test_slow_requests_are_told(server, make):
    """An upload that takes long is logged. The other requests are fast."""
    xorb = make([9000, 10000], 3)
    body = xorb.body()
    server.reload("slow_request_ms = 300\naccess_log = no\nworker_queue_max = 100\n")
    with server.socket() as s:
        s.sendall(f"POST {xorb.path()}?signature=secret HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: slow-1\r\nAuthorization: Bearer secret\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:100])
        until = time.monotonic() + 0.4
        cairn.wait_until("the request to have taken long", lambda: time.monotonic() > until)
        s.sendall(body[100:])
        assert cairn.read_reply(s).status == 200
    assert server.put_xorb(make([9000], 4)).status == 200
    cairn.wait_until("the line about the slow request", lambda: slow(server))
    [event] = [e for e in slow(server) if e["request_id"] == "slow-1"]
    assert event["level"] == "warning" and event["status"] == 200 and event["method"] == "POST" and event["route"] == "xorbs"
    assert event["duration_us"] >= 400_000 and 0 <= event["queued_us"] < event["duration_us"] - 400_000
    assert event["request_bytes"] == len(body) and event["reply_bytes"] > 0
    assert event["target"].startswith(xorb.path()) and "secret" not in server.log()


def test_none_is_slow_unless_asked_for(server, make):
    assert server.put_xorb(make([9000], 5)).status == 200
    server.stop()
    assert not slow(server)


def test_the_wait_for_a_worker_is_counted(start, make):
    """With one worker and many uploads, each upload that waited is in the histogram once."""
    server = start(workers=1)
    xorbs = [make([90000] * 20, 10 + i) for i in range(8)]
    threads = [threading.Thread(target=server.put_xorb, args=(x,)) for x in xorbs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert server.post("/v2/shards", xet.shard([xet.File([(xorbs[0], 0, 20)])], [xorbs[0]])).status == 200
    cairn.wait_until("the ends of all uploads", lambda: server.metrics()["cairn_http_request_queue_seconds_count"] >= 9)
    metrics = server.metrics()
    assert metrics["cairn_http_request_queue_seconds_count"] == 9 == metrics['cairn_http_request_queue_seconds_bucket{le="+Inf"}']
    assert metrics["cairn_http_request_queue_seconds_sum"] > 0
