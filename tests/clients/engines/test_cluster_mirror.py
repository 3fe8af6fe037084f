"""A mirrored hub behind several daemons that share an index in PostgreSQL and a store in S3: one daemon fetches a long file for all, and one fetches ahead
for all."""

import concurrent.futures
import http.client
import json
import os
import signal
import socket
import subprocess
import threading

import cairn
import postgres
import pytest
from cluster import NONE, Cluster, sql
from upstream import Hub, Repo, Slow, answer

pytestmark = pytest.mark.skipif(NONE, reason="that takes CAIRN_INDEX=postgres and CAIRN_STORE=s3")

MB = 1 << 20
CONTENT = os.urandom(200 * MB + 4321)
SHORTER = CONTENT[: 80 * MB + 321]
PATH = "/far/model/resolve/main/weights.bin"
PART = 16 * MB  # the longest part with these spools
SPOOLS = {"mirror_spool_max": "64M"}


@pytest.fixture
def begin(tmp_path):
    """Makes the daemons, which mirror an upstream. Each test asks them one by one, so there is no balancer."""
    made = []

    def make(upstream, n=3, **options):
        one = Cluster(tmp_path / "three", n=n, mirror=upstream.url, drain="1s", **options)
        made.append(one)
        for daemon in one.daemons:
            daemon.start()
        return one

    yield make
    for one in made:
        one.kill()


class Client:
    """Reads the file from a daemon, and resumes where it was cut off. cuts: how often that happened"""

    def __init__(self, daemon, content=SHORTER):
        self.daemon, self.content, self.got, self.cuts = daemon, content, bytearray(), 0

    def read_once(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=100)
        try:
            connection.request("GET", PATH, headers={"Range": f"bytes={len(self.got)}-"} if self.got else {})
            reply = connection.getresponse()
            if reply.status not in (200, 206):
                assert reply.status in (429, 502, 503, 504), reply.read()
                return
            while piece := reply.read1(MB):
                self.got += piece
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
        self.cuts += len(self.got) < len(self.content)

    def read(self):
        cairn.wait_until("the file", lambda: self.read_once() or len(self.got) == len(self.content), 100)
        return self.got == self.content


def name(daemon):
    return f"{socket.gethostname()}:{daemon.port}"


def holder(one):
    """Returns the daemon that fetches the file; None: no daemon does."""
    told = sql(one, "SELECT coalesce(max(holder), '') FROM mirror_lease WHERE until > clock_timestamp()")
    return next((daemon for daemon in one.daemons if name(daemon) == told), None)


def end_of_parts(one):
    return int(sql(one, "SELECT coalesce(max(p.first + f.size), 0) FROM mirror_part p JOIN file f ON f.id = p.file"))


def is_here(daemon):
    return "X-Xet-Hash" in daemon.request("HEAD", PATH).headers


def ask_all(pool, daemons, content=SHORTER):
    clients = [Client(daemon, content) for daemon in daemons]
    return clients, [pool.submit(client.read) for client in clients]


def await_bytes(clients, reads, n):
    def have_come():
        for read in reads:
            assert not read.done() or read.result()
        return all(len(client.got) >= n for client in clients)

    cairn.wait_until("bytes at all daemons", have_come, 60)


def test_one_daemon_fetches_for_all(begin):
    """Clients ask all daemons at once. The bytes come once, and every client gets them."""
    with Slow(CONTENT, come=100 * MB) as upstream, concurrent.futures.ThreadPoolExecutor(9) as pool:
        one = begin(upstream)
        clients, reads = ask_all(pool, one.daemons * 2, CONTENT)
        await_bytes(clients, reads, 30 * MB)
        assert not any(is_here(daemon) for daemon in one.daemons)
        upstream.comes_to(len(CONTENT))
        assert all(read.result() for read in reads)
        assert [client.cuts for client in clients] == [0] * 6
        assert upstream.sent <= len(CONTENT) * 1.01
        assert all(is_here(daemon) for daemon in one.daemons)
        assert end_of_parts(one) == 0
        # Clients get the end before the daemon has given its lease back and logged the fetch.
        cairn.wait_until("the end of the lease", lambda: holder(one) is None)
        fetched = lambda: sum(len(daemon.events("mirror_fetch")) for daemon in one.daemons)
        cairn.wait_until("the line of the fetch", lambda: fetched() > 0)
        assert fetched() == 1


def test_the_end_is_held_back_at_all(begin):
    """No daemon sends the end of a file whose bytes are false."""
    false = SHORTER[: 20 * MB] + b"\0" + SHORTER[20 * MB + 1 :]
    with Slow(SHORTER, false=false, come=60 * MB) as upstream, concurrent.futures.ThreadPoolExecutor(9) as pool:
        one = begin(upstream, n=2, **SPOOLS)
        clients = [Client(daemon) for daemon in one.daemons]
        reads = [pool.submit(lambda client=client: cairn.wait_until("bytes", lambda: client.read_once() or client.got)) for client in clients]
        await_bytes(clients, [], 2 * (PART - MB))
        upstream.comes_to(len(SHORTER))
        for read in reads:
            read.result()
        assert all(len(client.got) <= len(SHORTER) - 65536 for client in clients)
        assert not any(is_here(daemon) for daemon in one.daemons)


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_the_fetching_daemon_ends(begin, how):
    """Another daemon continues after the last part. The clients of all others are not cut off."""
    come = 50 * MB
    with Slow(SHORTER, come=come) as upstream, concurrent.futures.ThreadPoolExecutor(9) as pool:
        one = begin(upstream, **SPOOLS)
        clients, reads = ask_all(pool, one.daemons)
        cairn.wait_until("two parts", lambda: upstream.sent >= come and end_of_parts(one) >= 2 * (PART - MB), 60)
        fetching = holder(one)
        end = end_of_parts(one)
        getattr(fetching, how)()
        cairn.wait_until("another daemon to fetch", lambda: holder(one) not in (None, fetching), 30)
        upstream.comes_to(len(SHORTER))
        assert all(read.result() for client, read in zip(clients, reads, strict=True) if client.daemon is not fetching)
        assert [client.cuts for client in clients if client.daemon is not fetching] == [0, 0]
        assert upstream.sent - len(SHORTER) <= come - end + MB
        one.revive(one.daemons.index(fetching))
        assert all(read.result() for read in reads)


def test_the_fetching_daemon_stands_still(begin):
    """Another daemon takes over. When the first one runs again, it writes no part, and fetches nothing more."""
    with Slow(SHORTER, come=40 * MB) as upstream, concurrent.futures.ThreadPoolExecutor(9) as pool:
        one = begin(upstream, n=2, **SPOOLS)
        clients, reads = ask_all(pool, one.daemons)
        cairn.wait_until("a part", lambda: end_of_parts(one) > 0, 60)
        fetching = holder(one)
        fetching.process.send_signal(signal.SIGSTOP)
        try:
            cairn.wait_until("another daemon to fetch", lambda: holder(one) not in (None, fetching), 30)
            upstream.comes_to(75 * MB)
            cairn.wait_until("the parts of the other daemon", lambda: end_of_parts(one) > 72 * MB, 60)
            end = end_of_parts(one)
        finally:
            fetching.process.send_signal(signal.SIGCONT)
        (cut,) = [client for client in clients if client.daemon is fetching]
        cairn.wait_until("the end of its fetch", lambda: cut.cuts == 1 or end_of_parts(one) < end, 60)
        assert end_of_parts(one) >= end
        assert holder(one) is not fetching
        upstream.comes_to(len(SHORTER))
        assert all(read.result() for read in reads)
        assert [client.cuts for client in clients if client is not cut] == [0]


def test_the_database_is_gone_for_a_moment(begin):
    """The clients of a daemon that follows the fetching one are not cut off."""
    come = 40 * MB
    with Slow(SHORTER, come=come) as upstream, concurrent.futures.ThreadPoolExecutor(9) as pool:
        one = begin(upstream, n=2, **SPOOLS)
        clients, reads = ask_all(pool, one.daemons)
        cairn.wait_until("parts", lambda: end_of_parts(one) >= come - 2 * MB, 60)
        end = end_of_parts(one)
        (following,) = [client for client in clients if client.daemon is not holder(one)]
        await_bytes([following], reads, end)
        postgres.engine("kill")
        postgres.engine("revive")
        upstream.comes_to(len(SHORTER))
        assert all(read.result() for read in reads)
        assert following.cuts == 0


def test_a_repository_that_another_daemon_removed(begin):
    """The repository is fetched again, with all its revisions, as soon as somebody asks any daemon for it."""
    files = {"config.json": b"{}"}
    with Hub({"far/model": Repo(files)}) as upstream:
        one = begin(upstream, n=2)
        ask = lambda daemon, revision: daemon.get(f"/far/model/resolve/{revision}/config.json")
        for daemon in one.daemons:
            assert [ask(daemon, revision).status for revision in ("main", "v1")] == [200, 200]
        first, second = one.daemons
        remove = [cairn.CAIRN, "mirror", "remove", "far/model"]
        subprocess.run(remove, env={**os.environ, "CAIRN_SERVER": first.url}, check=True, timeout=60)
        cairn.wait_until("the repository", lambda: ask(second, "main").status == 200, 20)
        assert ask(second, "v1").status == 200


# --- fetching ahead ---------------------------------------------------------------------------------------------------

NAME = "models/far/model"
FILES = {f"{i}.bin": os.urandom(70_000 + i) for i in range(6)}
TAKEN_OVER_S = 40  # a lease of 10 s, and two looks at what is due, on a busy machine


def many(files=FILES, sha="1" * 40):
    return Repo(dict(files), stored=set(files), sha=sha)


def changed(upstream, path, sha):
    """Adds a file at the upstream."""
    upstream.repos["far/model"] = many({**upstream.repos["far/model"].files, path: os.urandom(80_000)}, sha)


def add(daemon, name=NAME, **wishes):
    reply = daemon.post(f"/v1/mirror/repositories/{name}", json.dumps(wishes).encode())
    assert reply.status == 200, reply.body


def told(daemon, name=NAME):
    """Returns what a daemon tells of a repository: how fetching ahead has come, and the state of its files."""
    reply = daemon.get(f"/v1/mirror/repositories/{name}").json()
    return reply["repository"]["ahead"], {file["path"]: file["state"] for file in reply["files"]}


def all_have(one, paths, daemons=None, name=NAME, seconds=TAKEN_OVER_S):
    """Waits until all daemons tell the same: that these files, and no others, are here, and that there is nothing left to do."""
    want = {"state": "done", "files_here": len(paths), "files": len(paths), "failed": 0}

    def have():
        said = [told(daemon, name) for daemon in daemons or one.daemons]
        return all({key: ahead[key] for key in want} == want and here == dict.fromkeys(paths, "here") and ahead == said[0][0] for ahead, here in said)

    cairn.wait_until("what is fetched ahead", have, seconds)
    listed = [daemon.get("/v1/mirror/repositories").json() for daemon in daemons or one.daemons]
    assert listed == [listed[0]] * len(listed)


def hour_passes(one):
    """A moved daemon's clock would be refused, so the times in the index are moved."""
    sql(one, "UPDATE mirror_repo SET fetched = fetched - 3600 WHERE fetched > 0; SELECT 1")


def fetches_ahead(one):
    """Returns the daemon that fetches ahead for all; None: no daemon does."""
    held = sql(one, "SELECT coalesce(max(who), '') FROM job WHERE name = 'ahead' AND until > clock_timestamp()")
    return next((daemon for daemon in one.daemons if name(daemon) == held), None)


def looks(upstream, repo="far/model"):
    return len(upstream.paths(f"/api/models/{repo}/revision/main"))


def each_once(upstream):
    paths = upstream.paths("/resolve/")
    return len(paths) == len(set(paths))


def test_one_daemon_fetches_ahead_for_all(begin):
    """The daemon that fetches ahead learns of wishes that others were told, also of those that end. Every daemon tells how it went."""
    with Hub({"far/model": many(), "far/other": many({"a.bin": b"a" * 70_000})}) as upstream:
        one = begin(upstream)
        add(one.daemons[0], every_s=3600)
        all_have(one, FILES)
        first = fetches_ahead(one)
        others = [daemon for daemon in one.daemons if daemon is not first]
        add(others[0], "models/far/other", every_s=3600)
        all_have(one, ["a.bin"], name="models/far/other")
        for i in range(3):
            changed(upstream, f"new{i}.bin", str(i + 2) * 40)
            before = looks(upstream), looks(upstream, "far/other")
            hour_passes(one)
            all_have(one, upstream.repos["far/model"].files)
            cairn.wait_until("the other repository", lambda before=before: looks(upstream, "far/other") == before[1] + 1)
            assert looks(upstream) == before[0] + 1 and fetches_ahead(one) is first
        upstream.instead["/0.txt"] = answer(404, b"{}", X_Error_Code="EntryNotFound")
        upstream.repos["far/model"] = many({"0.txt": b"0" * 70_000, "1.txt": b"1" * 70_000}, "a" * 40)
        add(others[1], every_s=3600, include=["*.txt"])
        failed = lambda ahead, files: (ahead["state"], ahead["failed"], ahead["rule"], files["1.txt"]) == ("done", 1, "mirror.unknown", "here")
        cairn.wait_until("the failure", lambda: all(failed(*told(daemon)) for daemon in one.daemons), TAKEN_OVER_S)
        assert each_once(upstream)
        assert others[0].request("DELETE", f"/v1/mirror/repositories/{NAME}").status == 200
        before = looks(upstream), looks(upstream, "far/other")
        hour_passes(one)
        cairn.wait_until("the other repository", lambda: looks(upstream, "far/other") == before[1] + 1, TAKEN_OVER_S)
        assert looks(upstream) == before[0]


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_the_daemon_that_fetches_ahead_ends(begin, how):
    """Another daemon fetches what is due, and a daemon that comes back leaves it to that one."""
    with Hub({"far/model": many()}) as upstream:
        one = begin(upstream)
        add(one.daemons[0], every_s=3600)
        all_have(one, FILES)
        first, before = fetches_ahead(one), looks(upstream)
        changed(upstream, "new.bin", "2" * 40)
        getattr(first, how)()
        hour_passes(one)
        all_have(one, upstream.repos["far/model"].files, [daemon for daemon in one.daemons if daemon is not first])
        second = fetches_ahead(one)
        assert second not in (None, first) and looks(upstream) == before + 1
        one.revive(one.daemons.index(first))
        changed(upstream, "newer.bin", "3" * 40)
        hour_passes(one)
        all_have(one, upstream.repos["far/model"].files)
        assert fetches_ahead(one) is second and looks(upstream) == before + 2 and each_once(upstream)


def test_the_daemon_that_fetches_ahead_is_killed_at_it(begin):
    """Another daemon fetches what is left, although the repository was to be fetched once, and by the daemon that was killed."""
    held, goes_on = [], threading.Event()

    def hold(connection):
        held.append(connection)
        goes_on.wait(60)

    with Hub({"far/model": many()}, instead={"/5.bin": hold}) as upstream:
        one = begin(upstream)
        add(one.daemons[0])
        cairn.wait_until("the last file", lambda: held, TAKEN_OVER_S)
        first = fetches_ahead(one)
        others = [daemon for daemon in one.daemons if daemon is not first]
        cairn.wait_until("word of it", lambda: [told(daemon)[0]["state"] for daemon in one.daemons] == ["fetching"] * 3)
        first.kill()
        del upstream.instead["/5.bin"]
        goes_on.set()
        all_have(one, FILES, others)
        assert len(upstream.paths("/resolve/")) <= len(FILES) + 1 + 4  # files that came as it was killed may come again
        assert sql(one, "SELECT count(*) FROM mirror_repo WHERE every > 0") == "0"
        cairn.wait_until("the end of the lease", lambda: fetches_ahead(one) is None, TAKEN_OVER_S)
        one.revive(one.daemons.index(first))
        all_have(one, FILES)


def test_the_daemon_that_fetches_ahead_stands_still(begin):
    """Another daemon takes over. The first one fetches nothing more when it runs again, and its outcome does not count."""
    held, goes_on = [], threading.Event()

    def hold(connection):
        held.append(connection)
        goes_on.wait(90)
        connection.sendall(answer(200, b"x" * len(FILES["5.bin"])))

    with Hub({"far/model": many(), "far/other": many({"a.bin": b"a" * 70_000})}, instead={"/5.bin": hold}) as upstream:
        one = begin(upstream, n=2)
        add(one.daemons[0], every_s=3600)
        cairn.wait_until("the last file", lambda: held, TAKEN_OVER_S)
        first = fetches_ahead(one)
        (second,) = [daemon for daemon in one.daemons if daemon is not first]
        first.process.send_signal(signal.SIGSTOP)
        try:
            del upstream.instead["/5.bin"]
            all_have(one, FILES, [second])
        finally:
            first.process.send_signal(signal.SIGCONT)
        assert fetches_ahead(one) is second
        goes_on.set()
        failures = lambda: sum(n for key, n in first.metrics().items() if key.startswith("cairn_mirror_failures_total"))
        cairn.wait_until("the false file", lambda: failures() > 0, TAKEN_OVER_S)
        add(first, "models/far/other", every_s=3600)
        all_have(one, ["a.bin"], name="models/far/other")
        before = looks(upstream)
        all_have(one, FILES)  # no daemon tells of the failure
        changed(upstream, "new.bin", "2" * 40)
        hour_passes(one)
        all_have(one, upstream.repos["far/model"].files)
        assert fetches_ahead(one) is second and looks(upstream) == before + 1 and len(upstream.paths("/new.bin")) == 1
