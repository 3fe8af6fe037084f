"""Notifications of the daemon to the service manager, over a real datagram socket, as with systemd (sd_notify(3))."""

import os
import select
import signal
import socket
import time

import authority
import cairn
import pytest

WATCHDOG_US = 2_000_000


class Manager:
    """systemd's end of NOTIFY_SOCKET."""

    def __init__(self, address):
        self.variable = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address.replace("@", "\0", 1))

    def told(self, seconds=30):
        """Returns the next datagram as {name: value}; None: none came."""
        ready, _, _ = select.select([self.socket], [], [], seconds)
        return dict(line.split("=", 1) for line in self.socket.recv(4096).decode().split("\n")) if ready else None

    def told_until(self, name):
        """Returns all datagrams up to the first one that has this name."""
        out, end = [], time.monotonic() + 30
        while not out or name not in out[-1]:
            assert time.monotonic() < end, f"{name} did not come, but {out}"
            out.append(self.told() or {})
        return out


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    address = str(tmp_path / "notify") if request.param == "path" else f"@cairn-{os.getpid()}-{tmp_path.name}"
    one = Manager(address)
    yield one
    one.socket.close()


def variables(manager, **more):
    return {"NOTIFY_SOCKET": manager.variable} | {name: str(value) for name, value in more.items()}


def test_start_reload_stop(start, manager, issuer):
    server = start(variables=variables(manager), token_key=issuer.folder)
    first = manager.told()
    assert first["READY"] == "1" and str(server.port) in first["STATUS"]
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    server.process.send_signal(signal.SIGHUP)
    reloading, ready = manager.told(), manager.told()
    assert reloading["RELOADING"] == "1" and before - 1000 <= int(reloading["MONOTONIC_USEC"]) <= before + 60_000_000
    assert ready["READY"] == "1"
    assert len(server.events("reload")) == 1, "the reload is done between the two messages"
    server.process.send_signal(signal.SIGTERM)
    stopping = manager.told()
    assert stopping["STOPPING"] == "1" and int(stopping["EXTEND_TIMEOUT_USEC"]) > 60_000_000, "draining may take 30 s, and the last writes as long"
    server.finish()
    assert manager.told(0) is None, "without WATCHDOG_USEC no watchdog is fed"


def test_ready_is_not_told_before_it_serves(tmp_path, manager):
    """A start that fails does not report READY."""
    with pytest.raises(AssertionError, match="cairnd did not start"):
        cairn.Daemon(tmp_path / "server", variables=variables(manager), token_key=str(tmp_path / "none")).start()
    assert manager.told(0) is None


@pytest.mark.parametrize("encrypted", [False, True], ids=["http", "https"])
def test_the_watchdog_is_fed_while_requests_are_served(start, manager, tmp_path, encrypted):
    more = {}
    if encrypted:
        certificate, key = authority.Authority(tmp_path / "ca").issue("server")
        more = {"tls_certificate": certificate, "tls_key": key, "trust": str(tmp_path / "ca" / "authority.pem")}
    server = start(variables=variables(manager, WATCHDOG_USEC=WATCHDOG_US), **more)
    manager.told_until("WATCHDOG")
    asked = server.metrics()['cairn_http_requests_total{route="health",status="200"}']
    for _ in range(3):
        manager.told_until("WATCHDOG")
    after = server.metrics()['cairn_http_requests_total{route="health",status="200"}']
    threads = -(-1008 // 112)
    assert after - asked >= threads, "each thread answered a request of the watchdog"
    cairn.wait_until("the connections of the watchdog to be closed", lambda: server.metrics()["cairn_http_connections"] <= 2)
    server.process.send_signal(signal.SIGTERM)
    told = manager.told_until("STOPPING")[-1]
    assert int(told["WATCHDOG_USEC"]) > 60_000_000
    server.finish()
    assert manager.told(0) is None, "the watchdog is not fed any more"


def test_a_stopped_process_sends_no_watchdog(start, manager):
    server = start(variables=variables(manager, WATCHDOG_USEC=WATCHDOG_US))
    manager.told_until("WATCHDOG")
    server.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, server.process.pid, os.WSTOPPED | os.WNOWAIT)
    while manager.told(0):
        pass
    assert manager.told(1.5 * WATCHDOG_US / 1e6) is None
    server.process.send_signal(signal.SIGCONT)
    manager.told_until("WATCHDOG")


def test_another_process_is_watched(start, manager):
    start(variables=variables(manager, WATCHDOG_USEC=WATCHDOG_US, WATCHDOG_PID=os.getpid()))
    assert "READY" in manager.told()
    assert manager.told(1.5 * WATCHDOG_US / 1e6) is None


@pytest.mark.parametrize("address", ["relative", "/no/such/socket", "@" + "x" * 200])
def test_a_socket_that_is_not_there(start, address):
    server = start(variables={"NOTIFY_SOCKET": address})
    assert [e["level"] for e in server.events("service_unheard")] == ["warning"]
    assert server.get("/health").status == 200
