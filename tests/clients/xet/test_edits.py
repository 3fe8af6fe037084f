"""Range edits: the server says what surrounds a change in a file, and the client computes the edited file's hash. Here a merge implemented in Python
checks the hash."""

import json
import random

import cairn
import pytest
import xet

KIB = 1024


class Described:
    """A xorb without bytes, of which only the chunks' hashes are known."""

    def __init__(self, n, seed):
        source = random.Random(seed)
        lengths = (8 * KIB, 16 * KIB - 1, 16 * KIB, 50 * KIB, 90 * KIB, 120 * KIB - 1, 120 * KIB, 128 * KIB)
        self.nodes = [(source.randbytes(32), source.choice(lengths)) for _ in range(n)]
        self.hash = xet.merkle_root(self.nodes)


@pytest.fixture
def described(start):
    """A server that keeps only an index, and a file of eight terms over three xorbs."""
    server = start(xorbs="external")
    a, b, c = (Described(n, seed) for seed, n in enumerate((900, 500, 40)))
    file = xet.File([(a, 0, 300), (b, 100, 101), (a, 200, 900), (c, 0, 40), (b, 0, 500), (a, 7, 9), (c, 3, 40), (b, 250, 500)])
    assert server.post("/v1/shards", xet.shard([file], [a, b, c])).status == 200
    return server, file


def ask(server, file_hash, dirty, **more):
    headers = {} if dirty is None else {"X-Range-Dirty": dirty}
    return server.get(f"/v2/file-chunk-hashes/{file_hash}", headers=headers, **more)


def is_cut(node):
    return int.from_bytes(node[0][24:], "little") % 4 == 0


def boundaries(nodes):
    """Places where a group of the hash tree certainly starts: after the middle one of three cuts in a row, each 3 to 7 nodes from the next."""
    cuts = [i for i, node in enumerate(nodes) if is_cut(node)]
    return [q + 1 for p, q, r in zip(cuts, cuts[1:], cuts[2:]) if 3 <= q - p <= 7 and 3 <= r - q <= 7]


def join(nodes):
    """Joins the nodes of a hash tree, which begin and end with a group, into their parent nodes."""
    above = []
    while nodes:
        take = next((i + 1 for i in range(2, min(9, len(nodes))) if is_cut(nodes[i])), min(9, len(nodes)))
        message = "".join(f"{xet.text(h)} : {n}\n" for h, n in nodes[:take]).encode()
        above.append((xet.keyed(xet.NODE_KEY, message), sum(n for _, n in nodes[:take])))
        nodes = nodes[take:]
    return above


class Range:
    """The part of a hash tree over a range of chunks: (left nodes, right nodes) for each level, from an answer or from chunks."""

    def __init__(self, levels, at_start, at_end):
        self.levels, self.at_start, self.at_end = levels, at_start, at_end

    @classmethod
    def of_answer(cls, told):
        nodes = [(xet.raw(node["hash"]), node["size"]) for node in told["nodes"]]
        assert len(nodes) == sum(map(sum, told["levels"]))
        lefts, rights = [], []
        for left, _ in told["levels"]:
            lefts.append(nodes[:left])
            nodes = nodes[left:]
        for _, right in reversed(told["levels"]):
            rights.append(nodes[:right])
            nodes = nodes[right:]
        return cls(list(zip(lefts, reversed(rights))), told["at_start"], told["at_end"])

    @classmethod
    def of_chunks(cls, nodes, at_start, at_end):
        return cls([], at_start, False).then(cls([(nodes, [])], False, at_end))

    def then(self, right):
        """Joins this range and its right neighbour into one."""
        assert not self.at_end and not right.at_start
        out, carry, level = [], [], 0
        while level < max(len(self.levels), len(right.levels)) or carry:
            mine = self.levels[level] if level < len(self.levels) else ([], [])
            theirs = right.levels[level] if level < len(right.levels) else ([], [])
            full = mine[0] + mine[1] + carry + theirs[0] + theirs[1]
            starts = self.at_start and not any(left for left, _ in out)
            ends = right.at_end and not any(r for _, r in out)
            begin = 0 if starts else next(iter(boundaries(full)), None)
            end = None
            if begin is not None:
                end = len(full) if ends else next((begin + x for x in reversed(boundaries(full[begin:]))), None)
            if len(full) < 2 or begin is None or end is None or end <= begin:
                out.append((full, []))
                carry = []
            else:
                out.append((full[:begin], full[end:]))
                carry = join(full[begin:end])
            level += 1
        return Range(out, self.at_start, right.at_end)

    def root(self):
        assert self.at_start and self.at_end
        nodes = [node for left, right in self.levels for node in left + right]
        assert len(nodes) == 1
        return nodes[0][0]


def composed_hash(answer, nodes, edit):
    """The file's hash after the chunks of each window were replaced by edit(chunks)."""
    total = sum(n for _, n in nodes)
    pieces = []
    for i, told in enumerate(answer["hashRanges"]):
        if told is not None:
            pieces.append(Range.of_answer(told))
        if i == len(answer["windows"]):
            break
        first, end = answer["windows"][i]["dirtyByteRange"]
        inside, at = [], 0
        for node in nodes:
            if first <= at < end:
                inside.append(node)
            at += node[1]
        assert sum(n for _, n in inside) == end - first, "a window ends within a chunk"
        pieces.append(Range.of_chunks(edit(inside), first == 0, end == total))
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = whole.then(piece)
    return xet.keyed(xet.ZERO, whole.root())


def random_ranges(source, size):
    out = []
    for _ in range(source.randint(1, 5)):
        first = source.randrange(size)
        out.append((first, min(size - 1, first + source.randrange(2_000_000))))
    return out


def test_unchanged_windows_give_the_file_hash(described):
    server, file = described
    nodes, source = file.nodes(), random.Random(1)
    size = sum(n for _, n in nodes)
    for ranges in [[(0, 0)], [(size - 1, size - 1)], [(0, size - 1)]] + [random_ranges(source, size) for _ in range(20)]:
        reply = ask(server, xet.text(file.hash()), "bytes=" + ",".join(f"{a}-{b}" for a, b in ranges))
        assert reply.status == 200 and reply.headers["Content-Type"] == "application/json"
        answer = reply.json()
        assert (answer["totalChunks"], answer["fileSize"]) == (len(nodes), size)
        assert len(answer["hashRanges"]) == len(answer["windows"]) + 1
        windows = [w["dirtyByteRange"] for w in answer["windows"]]
        for a, b in ranges:
            assert any(first <= a and b < end for first, end in windows), (a, b, windows)
        assert composed_hash(answer, nodes, lambda chunks: chunks) == file.hash()


def test_changed_windows_give_the_changed_files_hash(described):
    server, file = described
    nodes, source = file.nodes(), random.Random(2)
    size = sum(n for _, n in nodes)
    middle = size // 2
    answer = ask(server, xet.text(file.hash()), f"bytes=1000-2000,{middle}-{middle + 5}").json()
    fresh = {i: [(source.randbytes(32), source.randint(9000, 70000)) for _ in range(n)] for i, n in enumerate((5, 0))}
    made = iter(fresh.values())
    changed, at, used = [], 0, set()
    windows = [w["dirtyByteRange"] for w in answer["windows"]]
    assert len(windows) == 2
    for node in nodes:
        inside = [i for i, (first, end) in enumerate(windows) if first <= at < end]
        if not inside:
            changed.append(node)
        elif inside[0] not in used:
            used.add(inside[0])
            changed += fresh[inside[0]]
        at += node[1]
    assert composed_hash(answer, nodes, lambda _: next(made)) == xet.file_hash(changed)


def test_verification_of_the_terms_that_stay(described):
    server, file = described
    at, third = 0, None
    for i, (x, start, end) in enumerate(file.terms):
        third = at if i == 3 else third
        at += sum(n for _, n in x.nodes[start:end])
    answer = ask(server, xet.text(file.hash()), f"bytes={third}-{third}").json()
    first, end = answer["windows"][0]["dirtyByteRange"]
    assert first == third, "the client cuts windows at terms"
    kept, at = [], 0
    for x, start, stop in file.terms:
        after = at + sum(n for _, n in x.nodes[start:stop])
        if after <= first or at >= end:
            kept.append(xet.text(xet.keyed(xet.VERIFICATION_KEY, b"".join(h for h, _ in x.nodes[start:stop]))))
        at = after
    assert answer["gapVerification"] == kept and 0 < len(kept) < len(file.terms)


def test_captured_file(server):
    """A file of the stock client, which computed its hash."""
    known = {f["file_hash"]: f for f in json.loads((cairn.DATA / "files.json").read_text())}
    body = (cairn.DATA / "shards" / "medium.shard").read_bytes()
    dump = json.loads((cairn.DATA / "shards" / "medium.json").read_text())
    for x in dump["xorbs"]:
        name = x["cas_hash"]
        assert server.post(f"/v1/xorbs/default/{name}", (cairn.DATA / "xorbs" / name).read_bytes()).status == 200
    assert server.post("/v1/shards", body).status == 200
    asked = 0
    for told in dump["files"]:
        f = known[told["file_hash"]]
        if f["size"] == 0:
            cairn.is_error(ask(server, f["file_hash"], "bytes=0-0"), 400, "dirty.outside")
            continue
        nodes = [(xet.raw(h), n) for h, n in f["chunks"]]
        for dirty in ("bytes=0-0", f"bytes={f['size'] // 2}-{f['size'] // 2}", "bytes=-1"):
            answer = ask(server, f["file_hash"], dirty).json()
            assert xet.text(composed_hash(answer, nodes, lambda chunks: chunks)) == f["file_hash"]
            asked += 1
    assert asked == 18


@pytest.mark.parametrize("dirty", [None, "", "bytes=", "bytes=5-3", "items=0-1", "bytes=0-1;2-3", "bytes=x-1", "0-1", "bytes=0-1,"])
def test_a_header_without_ranges_is_refused(described, dirty):
    server, file = described
    cairn.is_error(ask(server, xet.text(file.hash()), dirty), 400, "dirty.header")


def test_limits(described):
    server, file = described
    name, size = xet.text(file.hash()), sum(n for _, n in file.nodes())
    at_limit = "bytes=" + ",".join(f"{i * 20000}-{i * 20000}" for i in range(1024))
    assert ask(server, name, at_limit).status == 200
    cairn.is_error(ask(server, name, at_limit + ",1-1"), 400, "dirty.many")
    cairn.is_error(ask(server, name, f"bytes={size}-{size + 5}"), 400, "dirty.outside")
    assert ask(server, name, f"bytes={size - 1}-{size + 5}").status == 200
    cairn.is_error(ask(server, "12" * 32, "bytes=0-0"), 404, "file.unknown")
    cairn.is_error(ask(server, "12", "bytes=0-0"), 400)


def test_too_regular_a_file_is_left_to_the_client(start):
    """Between two changes the same chunk repeats, so nothing shows where the groups of the hash tree begin. The server leaves that to the client."""
    server = start(xorbs="external")
    x = Described(1, 1)
    zero = bytes(24) + b"\1" + bytes(7)
    x.nodes = [(zero, 50000)] * 8192
    x.hash = xet.merkle_root(x.nodes)
    file = xet.File([(x, 0, 8192)] * 9)
    assert server.post("/v1/shards", xet.shard([file], [x])).status == 200
    size = 9 * 8192 * 50000
    cairn.is_error(ask(server, xet.text(file.hash()), f"bytes=0-0,{size - 1}-{size - 1}"), 501, "dirty.too_regular")
    answer = ask(server, xet.text(file.hash()), f"bytes={size - 1}-{size - 1}").json()
    assert answer["hashRanges"][1] is None and len(answer["hashRanges"][0]["nodes"]) < 5000
    assert composed_hash(answer, file.nodes(), lambda chunks: chunks) == file.hash()


def test_an_answer_over_plan_bytes_max(start):
    """The answer has a hash for each unchanged term. If it is too large, the refusal makes the client read the whole file."""
    server = start(xorbs="external", plan_bytes_max="1M")
    x = Described(8192, 2)
    file = xet.File([(x, i, i + 1) for i in range(8192)] * 3)
    assert server.post("/v1/shards", xet.shard([file], [x])).status == 200
    error = cairn.is_error(ask(server, xet.text(file.hash()), "bytes=0-0"), 501, "plan.bytes")
    assert error["expected"] == str(1 << 20) and int(error["actual"]) > 1 << 20, error
