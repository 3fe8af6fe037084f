"""Bytes of a long file are fetched as ranges of xorbs if these are shorter, and are unpacked while they come."""

import contextlib
import json
import os
import re
from http.client import IncompleteRead

import cairn
import pytest
from huggingface_hub import hf_hub_download
from people import publish
from test_mirror_long import MB, fetch, ranges_of
from test_mirror_operate import mirror
from upstream import SHA, Gates, Repo, Upstream, answer, part

CHUNK = 65536
HALF = CHUNK // 2
CHUNKS = [half + half for half in (os.urandom(HALF) for _ in range(960))]
CONTENT = b"".join(CHUNKS)
PATH = f"/far/model/resolve/{SHA}/weights.bin"
NAME, XORB = "a" * 64, "b" * 64
TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"


def length(n):
    """Returns the further bytes of a length in LZ4; the token itself counts to 15."""
    return b"\xff" * ((n - 15) // 255) + bytes([(n - 15) % 255])


def frame(chunk):
    """Returns a chunk of two equal halves as an LZ4 frame."""
    block = b"\xff" + length(HALF) + chunk[:HALF] + HALF.to_bytes(2, "little") + length(HALF - 12 - 4) + b"\xc0" + chunk[-12:]
    return bytes.fromhex("04224d18604082") + len(block).to_bytes(4, "little") + block + bytes(4)


STORED = 8 + len(frame(CHUNKS[0]))  # bytes of a chunk in a xorb


def chunk_of(data, scheme, size):
    return b"\0" + len(data).to_bytes(3, "little") + bytes([scheme]) + size.to_bytes(3, "little") + data


def serialized(chunks):
    return b"".join(chunk_of(frame(chunk), 1, CHUNK) for chunk in chunks)


class Packed(Gates):
    """A hub whose store has the chunks of the file in one xorb. xorb: its bytes; token: the one that the store
    accepts."""

    def __init__(self, **more):
        super().__init__(TOKEN, repos={"far/model": Repo({"weights.bin": CONTENT}, stored={"weights.bin"})}, **more)
        self.xorb, self.token, self.store = serialized(CHUNKS), "for-the-store", None
        self.has_plan, self.gave_plan = True, False

    def plan(self, form, first, end):
        """Returns a plan with terms of one chunk each: those that overlap a range of the file."""
        terms = range(first // CHUNK, -(-end // CHUNK))
        at, past = terms[0], terms[-1] + 1
        span, said = {"start": at, "end": past}, {"start": at * STORED, "end": past * STORED - 1}
        url = f"{self.store or self.url}/store/{at}-{past}"
        plan = {"offset_into_first_range": first % CHUNK, "terms": [{"hash": XORB, "unpacked_length": CHUNK, "range": {"start": i, "end": i + 1}} for i in terms]}
        if form == "v1":
            return plan | {"fetch_info": {XORB: [{"range": span, "url": url, "url_range": said}]}}
        return plan | {"xorbs": {XORB: [{"url": url, "ranges": [{"chunks": span, "bytes": said}]}]}}

    def answer(self, path, head):
        found = re.fullmatch(r"/(v[12])/reconstructions/a{64}", path)
        if found and f"Bearer {self.token}\r\n".encode() not in head:
            return answer(401, b"{}")
        if found:
            return answer(200, json.dumps(self.plan(found[1], *ranges_of([head])[0])).encode())
        if "/xet-read-token/" in path:
            return answer(200, json.dumps({"accessToken": self.token, "exp": 2**31, "casUrl": self.url}).encode())
        if path.startswith("/store/"):
            return part(self.xorb, head)
        if "/resolve/" in path and ranges_of([head])[0][0] > 0 and self.has_plan:
            cairn.wait_until("the plan", lambda: self.gave_plan)
        reply = super().answer(path, head)
        return reply.replace(b"\r\n", f"\r\nX-Xet-Hash: {NAME}\r\n".encode(), 1) if "/resolve/" in path else reply

    def reply(self, connection, head):
        super().reply(connection, head)
        self.gave_plan = self.gave_plan or b"/v2/" in head.split(b"\r\n")[0]

    def fetched(self, part):
        return sum(end - first for first, end in ranges_of(head for head in self.asked if part in head.split(b"\r\n")[0].decode()))


def slow():
    """Options that let few bytes come before the plan is read, even on a busy machine."""
    return {"mirror_rate_max": f"{max(4, int(20 / cairn.slowness()))}M"}


# Blocks are short, and begin close to the bytes that the store has. So most are asked for after the daemon has read the plan.
SHORT = {"mirror_spool_max": "256M"}


def come(server, name="far/model@" + SHA):
    """Lets the operator fetch all files. No client waits for bytes, which would come plain."""
    assert mirror(server, "add", name)


def came(server):
    """Returns how many bytes came plain, and how many as ranges of xorbs."""
    metrics = server.metrics()
    return [metrics[f'cairn_mirror_fetched_bytes_total{{source="{source}"}}'] for source in ("plain", "xet")]


def test_a_file_that_compresses_comes_packed(start):
    """The upstream is another daemon. The file can also be read by Xet afterwards."""
    upstream = start("upstream")
    numbers = bytearray(b"\0\0\x3f\x80" * (8 * MB))
    numbers[::4], numbers[1::4] = os.urandom(8 * MB), os.urandom(8 * MB)
    content = os.urandom(16 * MB).hex().encode() + numbers + os.urandom(8 * MB)
    (commit,) = publish(upstream, "team/one", [("weights.bin", content)])
    here = start(mirror=upstream.url, **slow())
    come(here, "team/one")
    assert fetch(here, f"/team/one/resolve/{commit}/weights.bin").body == content
    plain, packed = came(here)
    assert plain + packed < 0.85 * len(content) and packed > 12 * MB, (plain, packed)
    assert fetch(here, f"/team/one/resolve/{commit}/weights.bin").body == content


def test_a_plan_spares_bytes(start):
    """The signed addresses need no token, so none is sent to them."""
    with Packed() as upstream:
        server = start(mirror=upstream.url, **slow())
        come(server)
        assert fetch(server, PATH).body == CONTENT
        plain, packed = came(server)
        assert upstream.fetched("/resolve/") + CHUNK / STORED * upstream.fetched("/store/") < 1.03 * len(CONTENT)
        assert packed == upstream.fetched("/store/") > 0.25 * len(CONTENT) and plain < 0.5 * len(CONTENT), (plain, packed)
        for head in upstream.asked:
            line = head.split(b"\r\n")[0]
            assert (b"Authorization: Bearer for-the-store\r\n" in head) == (b"/reconstructions/" in line), line
            assert b"uthorization" not in head or b"/store/" not in line


def test_a_gated_file_comes_packed(start, issuer):
    """The asker's own token goes only to the hub, and the store gets the token made for it."""
    with Packed() as upstream, Packed(host="127.0.0.2", port=upstream.port) as store:
        upstream.repos["far/model"].info["gated"], upstream.store = "auto", store.url
        server = start(mirror=upstream.url, **slow(), mirror_hosts="127.0.0.2", token_key=issuer.folder)
        assert fetch(server, PATH, token=TOKEN).body == CONTENT
        assert store.paths("/store/") and not upstream.paths("/store/")
        assert all(b"uthorization" not in head for head in store.asked)


def test_an_address_is_over(start):
    """When a signed address has expired, the daemon asks for a new plan, once."""
    refused = set()

    def once(connection, head):
        path = head.split()[1]
        reply = part(upstream.xorb, head) if path in refused else answer(403, b"{}")
        refused.add(path)
        connection.sendall(reply)

    with Packed() as upstream:
        upstream.ranged["/store/"] = once
        server = start(mirror=upstream.url, **slow())
        come(server)
        assert fetch(server, PATH).body == CONTENT
        assert came(server)[1] > 0.25 * len(CONTENT)
        assert len(upstream.paths("/v1/")) == 2 * len(refused) == len(upstream.paths("/store/"))


def test_the_token_for_the_store_is_over(start):
    with Packed() as upstream:

        def renewed(connection, head):
            if not upstream.paths("/store/"):
                upstream.token = "another-one"
            del upstream.ranged["/v1/"]
            connection.sendall(answer(401, b"{}"))

        upstream.ranged["/v1/"] = renewed
        server = start(mirror=upstream.url, **slow())
        come(server)
        assert fetch(server, PATH).body == CONTENT
        assert came(server)[1] > 0.25 * len(CONTENT)
        assert len(upstream.paths("/xet-read-token/")) > 1


# --- bad upstreams ----------------------------------------------------------------------------------------------------


def spoilt(change, shift=0):
    """Answers about a range with change(the true bytes of the range), and names a range that begins so many bytes later."""

    def spoil(upstream, connection, head):
        first, end = ranges_of([head])[0]
        body = change(upstream.xorb[first:end])
        connection.sendall(answer(206, body, Content_Range=f"bytes {first + shift}-{end - 1 + shift}/{len(upstream.xorb)}"))

    return spoil


def with_chunk(size, scheme, data):
    """Returns a range whose first chunk is replaced, with a header that announces size bytes."""
    chunk = chunk_of(data, scheme, size)
    return spoilt(lambda body: (chunk + body[max(len(chunk), STORED) :])[: len(body)])


def said(reply):
    return lambda _upstream, connection, _head: connection.sendall(reply)


def endless(_upstream, connection, _head):
    connection.sendall(b"HTTP/1.1 206 Part\r\nConnection: close\r\n\r\n")
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(b"\0" * 65536)


BOMB = bytes.fromhex("04224d18604082") + (1024).to_bytes(4, "little") + b"\x1f\0\1\0" + b"\xff" * 1020  # each of the last bytes stands for 255 zeros
RANGES = {
    "gone": said(answer(404, b"{}")),
    "failed": said(answer(500)),
    "whole": said(answer(200, b"x" * 1000)),
    "inward": lambda upstream, connection, _head: connection.sendall(answer(302, Location=f"http://127.0.0.2:{upstream.port}/")),
    "shifted": spoilt(lambda body: body, shift=1),
    "shorter": spoilt(lambda body: body[: len(body) // 2]),
    "longer": spoilt(lambda body: body + b"\0" * 100),
    "endless": endless,
    "no_chunks": spoilt(lambda body: b"\xff" * len(body)),
    "long_chunk": with_chunk(CHUNK + 1, 0, bytes(CHUNK + 1)),
    "short_chunk": with_chunk(CHUNK - 1, 0, bytes(CHUNK - 1)),
    "bomb": with_chunk((1 << 24) - 1, 1, BOMB),
    "broken_frame": with_chunk(CHUNK, 1, BOMB),
    "broken_group": with_chunk(CHUNK, 2, BOMB),
}


@pytest.mark.parametrize("how", RANGES)
def test_a_store_sends_no_ranges(start, how):
    """If the store sends no ranges, the file comes plain, and no other machine is connected to."""
    with Packed() as upstream, Upstream(answer(200), host="127.0.0.2", port=upstream.port) as inner:
        upstream.ranged["/store/"] = lambda connection, head: RANGES[how](upstream, connection, head)
        server = start(mirror=upstream.url, **SHORT)
        come(server)
        assert fetch(server, PATH).body == CONTENT
        assert 0 < len(upstream.paths("/store/")) < 32
        assert not inner.connections and (how != "shifted" or came(server)[1] == 0)


def changed(change):
    """Answers a request for the plan of a range with change(the true plan, the range)."""

    def answered(upstream, connection, head):
        plan = upstream.plan("v1", *ranges_of([head])[0])
        change(plan, plan["fetch_info"][XORB][0])
        connection.sendall(answer(200, json.dumps(plan).encode()))

    return answered


PLANS = {
    "refused": said(answer(403, b"{}")),
    "failed": said(answer(500)),
    "no_json": said(answer(200, b"{")),
    "elsewhere": changed(lambda plan, found: found.update(url="http://127.0.0.2:1/")),
    "inward_by_name": changed(lambda plan, found: found.update(url="http://localhost:1/")),
    "nowhere": changed(lambda plan, found: plan.update(fetch_info={})),
    "shorter": changed(lambda plan, found: plan["terms"].pop()),
    "longer": changed(lambda plan, found: plan["terms"].extend(plan["terms"][-1:] * 8)),
    "spares_nothing": changed(lambda plan, found: found.update(url_range={"start": 0, "end": len(CONTENT)})),
    "other_chunks": changed(lambda plan, found: found.update(range={"start": found["range"]["start"], "end": found["range"]["end"] + 1})),
}


@pytest.mark.parametrize("how", PLANS)
def test_a_store_gives_no_plan_of_a_stretch(start, how):
    with Packed() as upstream, Upstream(answer(200), host="127.0.0.2") as inner:
        upstream.ranged["/v1/"] = lambda connection, head: PLANS[how](upstream, connection, head)
        server = start(mirror=upstream.url, **SHORT)
        come(server)
        assert fetch(server, PATH).body == CONTENT
        assert upstream.paths("/v1/") and not inner.connections


def test_false_bytes_are_found(start):
    """Nobody gets the false file to its end. The next fetch takes the plain bytes."""
    with Packed() as upstream:
        upstream.xorb = serialized([*CHUNKS[:500], *[bytes(CHUNK)] * 460])
        server = start(mirror=upstream.url, **SHORT)
        with pytest.raises(IncompleteRead) as cut_off:
            server.get(PATH)
        assert len(cut_off.value.partial) <= len(CONTENT) - 65536
        reply = server.get(PATH)
        assert (reply.status, reply.json()["code"]) == (502, "mirror.plan"), reply
        upstream.has_plan = False
        upstream.asked.clear()
        cairn.wait_until("another fetch", lambda: server.get(PATH, headers={"Range": "bytes=0-0"}).status == 206, 60)
        assert fetch(server, PATH).body == CONTENT
        assert not upstream.paths("/store/") and not upstream.paths("/xet-read-token/")


class Claims(Packed):
    """A hub that claims that a file is very long."""

    def tree(self, path, name, query):
        size = str(len(CONTENT)).encode()
        reply = super().tree(path, name, query)
        return answer(200, reply.split(b"\r\n\r\n", 1)[1].replace(size, b"60000000000"))


def test_hf_refuses_a_file_that_it_takes_by_xet_alone(start, tmp_path):
    """The file is not here, so the answer to HEAD has no Xet hash."""
    with Claims() as upstream:
        server = start(mirror=upstream.url)
        head = server.request("HEAD", PATH)
        assert (head.status, head.headers["Content-Length"]) == (200, "60000000000") and "X-Xet-Hash" not in head.headers
        with pytest.raises(ValueError, match="too large"):
            hf_hub_download("far/model", "weights.bin", endpoint=server.url, cache_dir=tmp_path, token=False)
        assert not upstream.paths("/resolve/")
