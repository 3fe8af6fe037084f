"""Whole files and parts of them: one process of the real client uploads them, and others that remember nothing download them."""

import hashlib
import os
import random

import cairn
import hf_client
import pytest

MIB = 1 << 20
# Ways to download: settings of hf_xet, and the route from which it must then have got its plans.
MODES = {
    "v2": ({}, "reconstructions-v2"),
    "v1": ({"client_reconstruction_api_version": 1}, "reconstructions-v1"),
    "multirange": ({"client_enable_multirange_fetching": "true"}, "reconstructions-v2"),
}


def floats(n, seed):
    """Numbers from 1.0 to 2.0 with random low halves, as in model weights: compressible once their bytes are grouped."""
    noise = random.Random(seed).randbytes(n // 2)
    out = bytearray(n)
    out[0::4], out[1::4] = noise[0::2], noise[1::2]
    out[2::4], out[3::4] = b"\x80" * (n // 4), b"\x3f" * (n // 4)
    return bytes(out)


def text(n, seed):
    source = random.Random(seed)
    words = [source.randbytes(source.randint(2, 6)).hex() for _ in range(4000)]
    return " ".join(source.choices(words, k=n // 4)).encode()[:n]


def make_contents():
    noise = random.Random(1).randbytes(100 * MIB)
    return {
        "empty": b"",
        "one byte": b"x",
        "one chunk": random.Random(2).randbytes(8192),
        "random": noise,
        "floats": floats(100 * MIB, 3),
        "text": text(2 * MIB, 4),
        # Every third piece of 2 MiB of the random file: one xorb, many ranges of it.
        "slices": b"".join(noise[at : at + 2 * MIB] for at in range(0, 96 * MIB, 6 * MIB)),
    }


class Stored:
    """A server with the files, and their contents."""

    def __init__(self, server, contents, infos):
        self.server, self.contents, self.infos = server, contents, infos

    def get(self, name, how, **range_):
        info = self.infos[name]
        return {"hash": info["hash"], "size": info["size"], "how": how, **range_}

    def wanted(self, name, start=None, end=None):
        part = memoryview(self.contents[name])[start:end]
        return {"bytes": len(part), "sha256": hashlib.sha256(part).hexdigest()}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored")
    contents = make_contents()
    paths = []
    for name, content in contents.items():
        paths.append(folder / name)
        paths[-1].write_bytes(content)
    with cairn.Daemon(folder / "server") as server:
        # A later session with the same caches uploads the slices, whose chunks are known by then.
        infos = hf_client.upload(server, folder / "uploader", paths[:-1])
        infos += hf_client.upload(server, folder / "uploader", paths[-1:])
        for path in paths:
            path.unlink()
        assert [i["size"] for i in infos] == [len(c) for c in contents.values()]
        yield Stored(server, contents, dict(zip(contents, infos)))


def requests(server, route):
    return sum(v for k, v in server.metrics().items() if k.startswith("cairn_http_requests_total") and f'route="{route}"' in k)


def check(stored, folder, cases, **settings):
    """Downloads each case and compares its bytes. cases: [(name, how, {"start", "end"})]"""
    gets = [stored.get(name, how, **range_) for name, how, range_ in cases]
    for case, got in zip(cases, hf_client.download(stored.server, folder, gets, **settings), strict=True):
        assert got == stored.wanted(case[0], **case[2]), case


def schemes(server):
    """How many chunks of all stored xorbs have each compression scheme."""
    found = {}
    for path in server.objects():
        with open(path, "rb") as f:
            while (head := f.read(8)) and head[:1] == b"\0":
                packed = int.from_bytes(head[1:4], "little")
                found[head[4]] = found.get(head[4], 0) + 1
                f.seek(packed, os.SEEK_CUR)
    return found


@pytest.mark.files
def test_all_schemes_occur(stored):
    assert set(schemes(stored.server)) == {0, 1, 2}


@pytest.mark.parametrize("mode", MODES)
def test_whole_files(stored, tmp_path, mode):
    settings, route = MODES[mode]
    others = {r for _, r in MODES.values()} - {route}
    before = {r: requests(stored.server, r) for r in others | {route}}
    check(stored, tmp_path, [(name, "file", {}) for name in stored.contents], **settings)
    assert requests(stored.server, route) > before[route]
    assert all(requests(stored.server, r) == before[r] for r in others), "the client got plans by the other route, too"


@pytest.mark.parametrize("how", ["stream", "unordered"])
@pytest.mark.parametrize("mode", MODES)
def test_streams(stored, tmp_path, mode, how):
    big = "floats" if how == "stream" else "random"
    cases = [(name, how, {}) for name in ("one byte", "one chunk", "text", "slices", big)]
    check(stored, tmp_path, cases, **MODES[mode][0])


@pytest.mark.parametrize("how", ["stream", "unordered"])
@pytest.mark.parametrize("mode", MODES)
def test_ranges(stored, tmp_path, mode, how):
    source = random.Random(f"{mode} {how}")
    cases = [("one byte", how, {"start": 0, "end": 1}), ("text", how, {"start": 5}), ("text", how, {"end": 70000})]
    for name in ("random", "floats", "slices"):
        size = len(stored.contents[name])
        cases += [(name, how, {"start": 0, "end": 1}), (name, how, {"start": size - 1, "end": size}), (name, how, {"start": size - 3 * MIB - 7})]
        first = source.randrange(size - 8 * MIB)
        cases.append((name, how, {"start": first, "end": first + source.randrange(1, 8 * MIB)}))
        first = source.randrange(size - 300)
        cases.append((name, how, {"start": first, "end": first + 300}))
    check(stored, tmp_path, cases, **MODES[mode][0])


def test_size_not_known(stored, tmp_path):
    """A client that does not know the size requests far more than there is, also ahead. Parts past the end are no error."""
    gets = [stored.get(name, "stream") | {"size": None} for name in ("empty", "one byte", "text", "slices")]
    for get, name, got in zip(gets, ("empty", "one byte", "text", "slices"), hf_client.download(stored.server, tmp_path, gets)):
        assert got == stored.wanted(name), get


def test_many_ranges_in_one_request(stored, tmp_path):
    """With multi-range fetching, all ranges of a xorb come in one reply, each as planned."""
    info = stored.infos["slices"]
    plan = stored.server.get(f"/v2/reconstructions/{info['hash']}").json()
    most = max(len(fetch["ranges"]) for fetches in plan["xorbs"].values() for fetch in fetches)
    assert most >= 4, "the file does not need many ranges of one xorb"
    counts = []
    for mode in ("v2", "multirange"):
        before = requests(stored.server, "fetch")
        check(stored, tmp_path / mode, [("slices", "file", {})], **MODES[mode][0])
        counts.append(requests(stored.server, "fetch") - before)
    assert counts[1] < counts[0], counts


def test_few_ranges_in_one_address(start, tmp_path):
    """Ranges that do not fit one address get several addresses. The client still puts them together."""
    server = start(fetch_ranges_max=2)
    noise = random.Random(5).randbytes(24 * MIB)
    contents = [noise, b"".join(noise[at : at + 2 * MIB] for at in range(0, 24 * MIB, 4 * MIB))]
    infos = []
    for i, content in enumerate(contents):
        (tmp_path / str(i)).write_bytes(content)
        infos += hf_client.upload(server, tmp_path / "uploader", [tmp_path / str(i)])
    plan = server.get(f"/v2/reconstructions/{infos[1]['hash']}").json()
    [fetches] = [f for f in plan["xorbs"].values() if len(f) > 1]
    assert len(fetches) >= 3 and max(len(f["ranges"]) for f in fetches) == 2
    gets = [{"hash": i["hash"], "size": i["size"], "how": "file"} for i in infos]
    for got, content in zip(hf_client.download(server, tmp_path / "d", gets, **MODES["multirange"][0]), contents, strict=True):
        assert got == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def test_file_that_is_not_there(stored, tmp_path):
    """The download fails, and makes no empty file. A stream of the client may end, without bytes, before it sees the error."""
    before = requests(stored.server, "reconstructions-v1")
    for how in ("file", "stream", "unordered"):
        [got] = hf_client.download(stored.server, tmp_path / how, [{"hash": "ab" * 32, "size": 1000, "how": how}])
        assert "error" in got or (how != "file" and got["bytes"] == 0), got
    assert requests(stored.server, "reconstructions-v1") > before, "404 makes the client try the first form"
