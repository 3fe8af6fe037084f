"""What hf_xet promises to Python programs, kept with Cairn as its store.

The client's own tests do these against a store in its own process; here every byte goes to cairnd and comes back.

  XetConfig                    reading, changing, refusing                             test_config_*
  XetSession                   states, making groups, SIGINT                           test_session_*
  XetUploadCommit              bytes, files, streams; SHA-256 computed, given, left    test_upload_*
                               out; handles, reports, abort, leaving a with block
  XetStreamUpload              writes, finish, abort, leaving a with block             test_upload_stream_*
  XetFileDownloadGroup         files, handles, reports, cancel, abort                  test_download_*
  XetDownloadStreamGroup       both orders, ranges, cancel, finish, abort              test_stream_*
  progress                     group and item reports of both directions               test_progress_*
  what a real server adds      retries, refetch after 403, headers, telemetry, errors  test_server_*
  tokens                       see test_hf_hub.py
"""

import contextlib
import hashlib
import random
import threading
from datetime import timedelta

import cairn
import hf_client
import hf_xet
import pytest
from between import Between

SMALL = b"sixteen of bytes"
LARGE = random.Random(1).randbytes(400_000)  # enough for several chunks
DONE, RUNNING = hf_xet.XetTaskState.Completed, hf_xet.XetTaskState.Running
CANCELLED = hf_xet.XetTaskState.UserCancelled


@pytest.fixture(autouse=True)
def own_caches(tmp_path, monkeypatch):
    for name, value in hf_client.environment(tmp_path, client_retry_base_delay="10ms").items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with cairn.Daemon(tmp_path_factory.mktemp("behaviour")) as daemon:
        yield daemon


@pytest.fixture
def session():
    return hf_xet.XetSession()


def put(server, *contents, sha256=hf_xet.SKIP_SHA256):
    commit = hf_xet.XetSession().new_upload_commit(endpoint=server.url)
    handles = [commit.start_upload_bytes(c, sha256=sha256) for c in contents]
    commit.wait_to_finish()
    return [h.result().xet_info for h in handles]


def known(server, file_hash):
    return server.request("HEAD", f"/v1/files/{file_hash}").status == 200


def hash_of(tmp_path, content):
    """The file hash, as the client computes it without a server."""
    path = tmp_path / "hashed"
    path.write_bytes(content)
    return hf_xet.hash_files([str(path)])[0].hash


def test_config_reads_alike_in_every_way():
    config = hf_xet.XetConfig()
    keys = config.keys()
    assert len(keys) == len(config) == len(list(config)) == len(dict(config.items())) > 20
    assert dict(config.items()) == dict(iter(config))
    for key in keys:
        assert config[key] == config.get(key)


def test_config_changes_a_copy():
    config = hf_xet.XetConfig()
    was = config["client.retry_max_attempts"]
    other = config.with_config("client.retry_max_attempts", was + 2)
    assert (config["client.retry_max_attempts"], other["client.retry_max_attempts"]) == (was, was + 2)
    many = config.with_config({"client.read_timeout": "7s", "client.retry_base_delay": timedelta(milliseconds=3), "data.default_prefix": "other"})
    assert many["client.read_timeout"] == timedelta(seconds=7)
    assert many["client.retry_base_delay"] == timedelta(milliseconds=3)
    assert many["data.default_prefix"] == "other"


def test_config_refuses():
    config = hf_xet.XetConfig()
    with pytest.raises(TypeError):
        config.with_config("client.retry_max_attempts")
    with pytest.raises(TypeError):
        config.with_config({"client.retry_max_attempts": 1}, 2)
    for name in ("nodot", "no_group.field"):
        with pytest.raises(ValueError):
            config.get(name)
        with pytest.raises(KeyError):
            config[name]


def test_session_uses_its_configuration(server):
    """With no retry configured, one failed request of the server fails the upload."""
    config = hf_xet.XetConfig().with_config("client.retry_max_attempts", 0)
    with Between(server, lambda r, before: 503 if r.route == "/v1/xorbs" and before == 0 else None) as between:
        commit = hf_xet.XetSession(config=config).new_upload_commit(endpoint=between.url)
        commit.start_upload_bytes(random.Random(2).randbytes(1000), sha256=hf_xet.SKIP_SHA256)
        with pytest.raises(ConnectionError, match=r"503 Service Unavailable.*/v1/xorbs/"):
            commit.wait_to_finish()
        assert between.statuses("/v1/xorbs") == [503]


def test_session_states(server, session):
    assert session.status() == RUNNING
    assert session.new_upload_commit(endpoint=server.url).status() == RUNNING
    assert session.new_file_download_group(endpoint=server.url).status() == RUNNING
    assert session.new_download_stream_group(endpoint=server.url) is not None
    session.sigint_abort()


def upload_by(kind, commit, content, tmp_path, sha256):
    if kind == "bytes":
        return commit.start_upload_bytes(content, sha256=sha256, name="named")
    if kind == "file":
        path = tmp_path / "source"
        path.write_bytes(content)
        return commit.start_upload_file(str(path), sha256=sha256)
    stream = commit.start_upload_stream(name="named", sha256=sha256)
    for at in range(0, len(content), 70_001):
        stream.write(content[at : at + 70_001])
    return stream


@pytest.mark.parametrize("kind", ["bytes", "file", "stream"])
@pytest.mark.parametrize("policy", ["compute", "skip", "given"])
def test_upload_kinds_and_sha256(server, session, tmp_path, kind, policy):
    """A file is found by the SHA-256 that the client gave for it."""
    content = LARGE + f"{kind} {policy}".encode()
    true, given = hashlib.sha256(content).hexdigest(), hashlib.sha256(b"not " + content).hexdigest()
    sha256 = {"compute": hf_xet.COMPUTE_SHA256, "skip": hf_xet.SKIP_SHA256, "given": given}[policy]
    commit = session.new_upload_commit(endpoint=server.url)
    handle = upload_by(kind, commit, content, tmp_path, sha256)
    early = handle.finish() if kind == "stream" else None
    report = commit.wait_to_finish()
    told = report.uploads[handle.task_id()]
    info = told.xet_info
    assert (info.file_size, info.hash) == (len(content), hash_of(tmp_path, content))
    assert info.sha256 == {"compute": true, "skip": None, "given": given}[policy]
    assert (early or handle.result()).xet_info.hash == info.hash
    assert (handle.try_finish() if kind == "stream" else handle.try_result()).xet_info.hash == info.hash
    assert server.request("HEAD", f"/v1/files/{info.hash}").headers["Content-Length"] == str(len(content))
    for asked, there in ((true, policy == "compute"), (given, policy == "given")):
        found = server.get(f"/v1/files/by-sha256/{asked}")
        assert found.status == (200 if there else 404)
        assert not there or found.json()["hash"] == info.hash


def test_upload_sha256_words():
    assert repr(hf_xet.COMPUTE_SHA256) == "COMPUTE_SHA256" and repr(hf_xet.SKIP_SHA256) == "SKIP_SHA256"


def test_upload_many_in_one_commit(server, session, tmp_path):
    contents = [LARGE[: 1 + i * 31_000] for i in range(8)]
    commit = session.new_upload_commit(endpoint=server.url)
    handles = [commit.start_upload_bytes(c, name=f"f{i}", sha256=hf_xet.SKIP_SHA256) for i, c in enumerate(contents)]
    assert commit.status() == RUNNING and commit.progress().total_bytes_completed >= 0
    report = commit.wait_to_finish()
    assert len({h.task_id() for h in handles}) == len(report.uploads) == 8
    for handle, content in zip(handles, contents):
        assert handle.status() == DONE
        assert handle.result().xet_info.hash == hash_of(tmp_path, content)
        assert known(server, handle.result().xet_info.hash)
    assert report.dedup_metrics.total_bytes == sum(map(len, contents))


def test_upload_abort_registers_nothing(server, session, tmp_path):
    content = b"aborted " + LARGE
    commit = session.new_upload_commit(endpoint=server.url)
    commit.start_upload_bytes(content, sha256=hf_xet.SKIP_SHA256)
    commit.abort()
    with pytest.raises(RuntimeError, match="cancelled"):
        commit.wait_to_finish()
    assert not known(server, hash_of(tmp_path, content))


def test_upload_with_block(server, session, tmp_path):
    with session.new_upload_commit(endpoint=server.url) as commit:
        handle = commit.start_upload_bytes(b"kept", sha256=hf_xet.SKIP_SHA256)
    assert known(server, handle.result().xet_info.hash)
    with pytest.raises(ZeroDivisionError), session.new_upload_commit(endpoint=server.url) as commit:
        commit.start_upload_bytes(b"let go", sha256=hf_xet.SKIP_SHA256)
        raise ZeroDivisionError
    assert not known(server, hash_of(tmp_path, b"let go"))


def test_upload_stream_with_block(server, session, tmp_path):
    commit = session.new_upload_commit(endpoint=server.url)
    with commit.start_upload_stream(name="s") as stream:
        assert stream.status() == RUNNING and stream.try_finish() is None and stream.task_id() is not None
        for i in range(100):
            stream.write(bytes([i]) * 1000)
    with commit.start_upload_stream() as other:
        other.write(b"early")
        early = other.finish()
    commit.wait_to_finish()
    whole = b"".join(bytes([i]) * 1000 for i in range(100))
    assert stream.try_finish().xet_info.hash == hash_of(tmp_path, whole) and known(server, hash_of(tmp_path, whole))
    assert known(server, early.xet_info.hash)


def test_upload_stream_broken_off(server, session, tmp_path):
    """A commit fails if a stream that was begun in it is not finished."""
    for content, leave in ((b"thrown away", lambda stream: stream.abort()), (b"left open", lambda stream: None)):
        commit = session.new_upload_commit(endpoint=server.url)
        stream = commit.start_upload_stream()
        stream.write(content)
        leave(stream)
        assert stream.try_finish() is None
        with pytest.raises(RuntimeError, match="stream upload not finished"):
            commit.wait_to_finish()
        assert not known(server, hash_of(tmp_path, content))
    commit = session.new_upload_commit(endpoint=server.url)
    with pytest.raises(ZeroDivisionError), commit.start_upload_stream() as stream:
        stream.write(b"broken off")
        raise ZeroDivisionError
    assert stream.try_finish() is None
    assert not known(server, hash_of(tmp_path, b"broken off"))


def test_download_files(server, session, tmp_path):
    contents = [SMALL, LARGE, LARGE[5:], b"y"]
    group = session.new_file_download_group(endpoint=server.url)
    handles = [group.start_download_file(info, str(tmp_path / f"d{i}")) for i, info in enumerate(put(server, *contents))]
    assert group.status() == RUNNING
    report = group.wait_to_finish()
    assert set(report.downloads) == {h.task_id() for h in handles}
    for i, (handle, content) in enumerate(zip(handles, contents)):
        assert (tmp_path / f"d{i}").read_bytes() == content
        assert handle.status() == DONE
        assert handle.result().file_info.file_size == handle.try_result().file_info.file_size == len(content)


def test_download_with_block(server, session, tmp_path):
    [info] = put(server, LARGE)
    with session.new_file_download_group(endpoint=server.url) as group:
        group.start_download_file(info, str(tmp_path / "whole"))
    assert (tmp_path / "whole").read_bytes() == LARGE
    with pytest.raises(ZeroDivisionError), session.new_file_download_group(endpoint=server.url) as group:
        group.start_download_file(info, str(tmp_path / "broken"))
        raise ZeroDivisionError


def test_download_abort_and_cancel(server, session, tmp_path):
    [info] = put(server, LARGE)
    group = session.new_file_download_group(endpoint=server.url)
    assert group.progress().total_bytes_completed == 0
    group.start_download_file(info, str(tmp_path / "a")).cancel()
    group.abort()
    with pytest.raises(RuntimeError, match="cancelled"):
        group.wait_to_finish()


def read(group, ordered, info, *range_):
    if ordered:
        return b"".join(group.download_stream(info, *range_))
    pieces = sorted(group.download_unordered_stream(info, *range_))
    at = pieces[0][0] if pieces else 0
    for offset, piece in pieces:
        assert offset == at, "a gap or an overlap"
        at += len(piece)
    return b"".join(piece for _, piece in pieces)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("content, start, end", [(SMALL, 3, 9), (LARGE, 50_001, 250_003)], ids=["small", "large"])
def test_stream_ranges(server, session, content, start, end, ordered):
    [info] = put(server, content)
    group = session.new_download_stream_group(endpoint=server.url)
    for range_ in ((None, None), (start, end), (start, None), (None, end), (0, 1), (len(content) - 1, None)):
        assert read(group, ordered, info, *range_) == content[slice(*range_)], range_
    group.finish()


def test_stream_several_at_once(server, session):
    infos = put(server, LARGE, LARGE[::-1])
    group = session.new_download_stream_group(endpoint=server.url)
    streams = [group.download_stream(i) for i in infos]
    got = [bytearray(), bytearray()]
    while any(len(g) < len(LARGE) for g in got):
        for g, s in zip(got, streams):
            g += next(s, b"")
    assert got == [LARGE, LARGE[::-1]]


def test_stream_cancel(server, session):
    [info] = put(server, LARGE)
    group = session.new_download_stream_group(endpoint=server.url)
    stream = group.download_stream(info)
    stream.cancel()
    assert len(b"".join(stream)) <= len(LARGE)
    assert read(group, True, info) == LARGE, "the other streams go on"


def test_stream_finish_closes(server, session):
    [info] = put(server, SMALL)
    with session.new_download_stream_group(endpoint=server.url) as group:
        assert read(group, True, info) == SMALL
    group.finish()
    for open_one in (group.download_stream, group.download_unordered_stream):
        with pytest.raises(Exception, match="finalized"):
            open_one(info)


def test_stream_abort_closes(server, session):
    [info] = put(server, LARGE)
    group = session.new_download_stream_group(endpoint=server.url)
    stream = group.download_stream(info)
    group.abort()
    group.abort()
    assert b"".join(stream) == b""
    for call in (lambda: group.download_stream(info), lambda: group.download_unordered_stream(info), group.finish):
        with pytest.raises(Exception, match="(?i)cancelled"):
            call()
    with pytest.raises(ZeroDivisionError), session.new_download_stream_group(endpoint=server.url) as other:
        next(iter(other.download_stream(info)))
        raise ZeroDivisionError
    with pytest.raises(Exception, match="(?i)cancelled"):
        other.download_stream(info)


class Progress:
    def __init__(self):
        self.reports, self.names, self.done, self.total, self.came = [], set(), {}, {}, threading.Event()

    def __call__(self, group, items):
        self.reports.append((group.total_bytes_completed, group.total_bytes))
        for key, item in items.items():
            self.names.add(item.item_name)
            self.done[key], self.total[key] = item.bytes_completed, item.total_bytes
        self.came.set()

    def check(self, names, sizes):
        assert self.came.wait(5)
        assert {n.rsplit("/", 1)[-1] for n in self.names} == names
        assert sorted(self.total.values()) == sorted(self.done.values()) == sorted(sizes)
        completed = [done for done, _ in self.reports]
        assert completed == sorted(completed) and self.reports[-1] == (sum(sizes), sum(sizes))


def test_progress_of_uploads_and_downloads(server, session, tmp_path):
    contents = {"a.bin": LARGE, "b.bin": SMALL, "c.bin": LARGE[7:]}
    sizes = [len(c) for c in contents.values()]
    up = Progress()
    commit = session.new_upload_commit(endpoint=server.url, progress_callback=up, progress_interval_ms=10)
    handles = [commit.start_upload_bytes(c, name=n, sha256=hf_xet.SKIP_SHA256) for n, c in contents.items()]
    commit.wait_to_finish()
    up.check(set(contents), sizes)
    down = Progress()
    with session.new_file_download_group(endpoint=server.url, progress_callback=down, progress_interval_ms=10) as group:
        for handle, name in zip(handles, contents):
            group.start_download_file(handle.result().xet_info, str(tmp_path / name))
    down.check(set(contents), sizes)


def round_trip(url, content, tmp_path):
    session = hf_xet.XetSession()
    with session.new_upload_commit(endpoint=url) as commit:
        handle = commit.start_upload_bytes(content, sha256=hf_xet.SKIP_SHA256)
    with session.new_file_download_group(endpoint=url) as group:
        group.start_download_file(handle.result().xet_info, str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == content
    return handle.result().xet_info


ROUTES = ("/v1/xorb-grants", "/v1/xorbs", "/v2/shards", "/v2/reconstructions", "/v1/fetch")


@pytest.mark.parametrize("outcome", [503, 429, "drop"])
def test_server_away_for_a_while(server, tmp_path, outcome):
    """Every request fails twice and then succeeds. The program notices nothing."""
    with Between(server, lambda r, before: outcome if before < 2 and r.route in ROUTES else None) as between:
        round_trip(between.url, f"{outcome}".encode() + LARGE, tmp_path)
        for route in ROUTES:
            answered = [s for s in between.statuses(route) if s not in (outcome, None)]
            assert len(between.statuses(route)) >= len(answered) + 2 and answered[-1] in (200, 206, 404)


def test_server_refuses_an_address_and_is_asked_for_another(server, tmp_path):
    """The proxy changes addresses. Cairn answers 403, and the client asks for the plan again."""

    def bend(request, before):
        if request.route == "/v1/fetch" and before == 0:
            return request.path[:-1] + ("0" if request.path[-1] != "0" else "1")
        return None

    with Between(server, bend) as between:
        round_trip(between.url, b"bent " + LARGE, tmp_path)
        assert between.statuses("/v1/fetch")[0] == 403
        assert len(between.statuses("/v2/reconstructions")) >= 2


def test_server_lets_an_address_expire(start, clock, tmp_path):
    """Addresses expire between the plan and the first fetch. The client asks for the plan again and goes on."""
    slow = start(test_clock=clock.path, fetch_ttl="60s")

    def pause(request, before):
        if request.route == "/v1/fetch" and before == 0:
            clock.move(61)

    with Between(slow, pause) as between:
        round_trip(between.url, b"expired " + LARGE, tmp_path)
        assert between.statuses("/v1/fetch")[0] == 403 and between.statuses("/v1/fetch")[-1] == 206
        assert len(between.statuses("/v2/reconstructions")) >= 2


def test_server_gets_custom_headers_and_telemetry(server, session):
    with Between(server) as between:
        commit = session.new_upload_commit(endpoint=between.url, custom_headers={"X-Team": "blue"})
        commit.start_upload_bytes(b"with headers", sha256=hf_xet.SKIP_SHA256)
        commit.wait_to_finish()
        cairn.wait_until("telemetry", lambda: between.statuses("/v1/telemetry") == [200])
        for request in between.requests:
            assert request.headers["x-team"] == "blue", request
            assert "x-xet-session-id" in request.headers


def test_server_without_the_file(server, session, tmp_path):
    missing = hf_xet.XetFileInfo("ab" * 32, 1000)
    group = session.new_file_download_group(endpoint=server.url)
    handle = group.start_download_file(missing, str(tmp_path / "none"))
    with pytest.raises(RuntimeError, match=r"404 Not Found.*/v1/reconstructions/"):
        group.wait_to_finish()
        handle.result()
    assert not (tmp_path / "none").exists() or (tmp_path / "none").stat().st_size == 0
    streams = session.new_download_stream_group(endpoint=server.url)
    for ordered in (True, False):
        with contextlib.suppress(ConnectionError, hf_xet.XetObjectNotFoundError):  # the client may end before it sees the error
            assert read(streams, ordered, missing) == b""


def test_server_refuses_a_malformed_file_hash(server, session, tmp_path):
    with pytest.raises(RuntimeError, match="no hash"):
        group = session.new_file_download_group(endpoint=server.url)
        group.start_download_file(hf_xet.XetFileInfo("no hash", 1), str(tmp_path / "none"))
        group.wait_to_finish()
