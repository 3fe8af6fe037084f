"""Sends the requests of recorded sessions again: of hf_xet (sessions.json), and of the JavaScript client (js/).

The JavaScript client needs npm packages, and git-xet is a program that no package registry has; its requests are those of hf_xet, which is the same
library. Uploads are sent byte for byte as recorded. The JavaScript client's downloads are made here as it makes them: one request for all ranges of an
address."""

import hashlib
import json
import struct

import cairn
import plans
import pytest
import xet

LEFT_OUT = {"host", "content-length"}


def data(path):
    return (cairn.DATA / path).read_bytes()


def read_json(path):
    return json.loads(data(path))


def body_of(exchange, session):
    """The body that the client sent. The recording has only its length; the bodies are in files of their own."""
    path, parts = exchange["path"], exchange["path"].split("/")
    if exchange["method"] == "GET":
        return None
    if path.startswith("/v1/xorb-grants/"):
        return b'{"length":%d,"checksum":{"algo":"crc64nvme","value":"1"}}' % len(data("xorbs/" + parts[-1]))
    if path.startswith("/v1/xorbs/"):
        return data("xorbs/" + parts[-1])
    if path == "/v2/shards":
        return data(f"shards/{session['session']}.shard")
    return data("telemetry_examples.jsonl").splitlines()[0]


def send(server, exchange, session):
    headers = {k: v for k, v in exchange["request_headers"] if k not in LEFT_OUT}
    body = body_of(exchange, session)
    if exchange["path"].startswith(("/v1/xorbs/", "/v2/shards")):
        assert len(body) == exchange["request_len"], "the recording and the files disagree"
    return server.request(exchange["method"], exchange["path"], body=body, headers=headers)


def test_recorded_sessions(server):
    """The requests come in the recorded order. Each answer has the status with which the client went on."""
    sent = 0
    for session in read_json("sessions.json"):
        for exchange in session["exchanges"]:
            reply = send(server, exchange, session)
            assert reply.status == exchange["status"], (session["session"], exchange["method"], exchange["path"], reply)
            kind = dict(exchange["response_headers"]).get("content-type", "")
            if reply.status == 200 and kind and not exchange["path"].startswith("/v1/telemetry"):
                assert reply.headers["Content-Type"].split(";")[0] == kind.split(";")[0]
            if exchange["path"].startswith("/v1/xorbs/"):
                assert reply.json() == {"was_inserted": True}
            if exchange["path"] == "/v2/shards":
                assert json.loads(reply.body.splitlines()[-1])["type"] == "result"
            sent += 1
        for told in session["result"]["files"]:
            reply = server.request("HEAD", f"/v1/files/{told['hash']}")
            assert int(reply.headers["Content-Length"]) == told["size"]
    assert sent == 46


def test_recorded_sessions_again(server):
    """The same sessions again, as of a client that lost its caches: chunks are found now, and xorbs need not be sent."""
    sessions = read_json("sessions.json")
    for session in sessions:
        for exchange in session["exchanges"]:
            send(server, exchange, session)
    for session in sessions:
        for exchange in session["exchanges"]:
            reply = send(server, exchange, session)
            if exchange["path"].startswith("/v1/xorb-grants/"):
                assert reply.status == 200, "the verified xorb is stored"
            if exchange["path"].startswith("/v1/xorbs/"):
                assert reply.json() == {"was_inserted": False}
            if exchange["path"] == "/v2/shards":
                assert json.loads(reply.body.splitlines()[-1])["type"] == "result"


JS = {"Accept-Encoding": "gzip, deflate", "Accept-Language": "*", "Sec-Fetch-Mode": "cors", "User-Agent": "node"}
JS_UPLOAD = {**JS, "X-Xet-Session-Id": "7e7b0d1c-0000-4000-8000-000000000001"}
JS_DOWNLOAD = {**JS, "Accept-Encoding": "identity"}


class Described:
    """A xorb, built from the description in a recorded shard."""

    def __init__(self, told):
        self.hash = xet.raw(told["cas_hash"])
        self.nodes = [(xet.raw(c["chunk_hash"]), c["unpacked_segment_bytes"]) for c in told["chunks"]]
        self.packed = data("js/xorbs/" + told["cas_hash"])
        self.places = [0]
        for _ in self.nodes:
            at = self.places[-1]
            self.places.append(at + 8 + int.from_bytes(self.packed[at + 1 : at + 4], "little"))
        assert self.places[-1] == len(self.packed)


def js_upload(server, number):
    """Sends a chunk query, xorbs, and the shard with its footer to /v1/shards. @return what the shard contains, and the result"""
    dump = read_json(f"js/js_{number}.json")
    shard = data(f"js/js_{number}.shard")
    assert dump["footer"] and struct.unpack_from("<Q", shard, 40)[0] == 200
    for told in dump["xorbs"]:
        query = server.get(f"/v1/chunks/default/{told['chunks'][0]['chunk_hash']}", headers=JS_UPLOAD)
        assert query.status == 404
        reply = server.post(f"/v1/xorbs/default/{told['cas_hash']}", data("js/xorbs/" + told["cas_hash"]), headers=JS_UPLOAD)
        assert reply.json() == {"was_inserted": True}
    first = server.post("/v1/shards", shard, headers=JS_UPLOAD)
    assert first.status == 200 and first.json()["result"] in (0, 1)
    return dump, first.json()["result"]


def js_download(server, file_hash, size, first=0, last=None):
    """Downloads with one request an address: [(xorb, [(start, end, first byte, last byte)], [bytes])]"""
    last = size - 1 if last is None else last
    reply = server.get(f"/v2/reconstructions/{file_hash}", headers={**JS_DOWNLOAD, "Range": f"bytes={first}-{last}"})
    assert reply.status == 200, reply
    got = []
    for name, fetches in plans.fetches_of(reply.json()).items():
        for url, ranges in fetches:
            reply = server.get(plans.path_of(url), headers={**JS_DOWNLOAD, "Range": plans.range_of(ranges)})
            assert reply.status == 206 and "Content-Encoding" not in reply.headers
            if len(ranges) == 1:
                parts = [reply.body]
            else:
                told = plans.parts_of(reply)
                assert [p[0][:2] for p in told] == [r[2:] for r in ranges]
                parts = [p[1] for p in told]
            got.append((name, ranges, parts))
    return got


def test_js_uploads(server):
    """Three shards are sent after their xorbs. Of four more, some repeat what is known, and some are empty. All are accepted."""
    results = [js_upload(server, n)[1] for n in range(1, 4)]
    assert results == [1, 1, 1]
    for number in range(4, 8):
        dump = read_json(f"js/js_{number}.json")
        assert dump["xorbs"] == [], "the client has nothing left to upload"
        assert server.post("/v1/shards", data(f"js/js_{number}.shard"), headers=JS_UPLOAD).status == 200
    for number in range(1, 8):
        for told in read_json(f"js/js_{number}.json")["files"]:
            size = sum(e["unpacked_segment_bytes"] for e in told["entries"])
            reply = server.request("HEAD", f"/v1/files/{told['file_hash']}")
            assert int(reply.headers["Content-Length"]) == size
            sha256 = told["metadata_ext"]["sha256_u64le_hex"]
            assert size == 0 or server.get(f"/v1/files/by-sha256/{sha256}").json()["hash"] == told["file_hash"]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_js_downloads(server, number):
    dump, _ = js_upload(server, number)
    [told] = dump["files"]
    [xorb] = [Described(x) for x in dump["xorbs"]]
    size = sum(n for _, n in xorb.nodes)
    [(name, ranges, parts)] = js_download(server, told["file_hash"], size)
    assert name == xet.text(xorb.hash) and ranges == [(0, len(xorb.nodes), 0, len(xorb.packed) - 1)]
    assert parts == [xorb.packed]
    assert hashlib.sha256(parts[0]).digest() == hashlib.sha256(data("js/xorbs/" + name)).digest()


def test_js_download_of_many_ranges(server):
    """A file of many parts of a xorb, in no order. Fetched as a whole and in ranges, its parts come as the plan lists them."""
    dump, _ = js_upload(server, 2)
    [xorb] = [Described(x) for x in dump["xorbs"]]
    file = xet.File([(xorb, 30, 35), (xorb, 2, 4), (xorb, 10, 11), (xorb, 3, 6), (xorb, 40, 43)])
    assert server.post("/v1/shards", xet.shard([file], [xorb])).status == 200
    size = sum(n for _, n in file.nodes())
    name = xet.text(file.hash())
    [(_, ranges, parts)] = js_download(server, name, size)
    assert [r[:2] for r in ranges] == [(2, 6), (10, 11), (30, 35), (40, 43)]
    assert parts == [xorb.packed[xorb.places[a] : xorb.places[b]] for a, b, _, _ in ranges]
    skipped = sum(n for _, n in file.nodes()[:6])
    [(_, ranges, parts)] = js_download(server, name, size, skipped, size - 1)
    assert [r[:2] for r in ranges] == [(3, 6), (10, 11), (40, 43)]
    assert parts == [xorb.packed[xorb.places[a] : xorb.places[b]] for a, b, _, _ in ranges]
