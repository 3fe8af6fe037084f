"""Plans of files: the expected plan, computed here from the terms of the file, and functions that read the server's."""

import re
import urllib.parse

import xet


def places(xorb):
    """Offsets of each chunk's header in the serialized xorb, and the end of the last chunk."""
    at, out = 0, [0]
    for _, n in xorb.nodes:
        at += 8 + n
        out.append(at)
    return out


def content(file):
    return b"".join(b"".join(x.data[start:end]) for x, start, end in file.terms)


def merge(ranges):
    """Sorts chunk ranges, and merges those that overlap or touch."""
    out = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def trim(term, at, first, end):
    """The chunks of a term that overlap bytes [first, end), and the offset at which these chunks begin. at: where the term begins in the file."""
    xorb, start, stop = term
    begins, keep = [], []
    for i in range(start, stop):
        n = xorb.nodes[i][1]
        if at < end and at + n > first:
            begins.append(at)
            keep.append(i)
        at += n
    return (xorb, keep[0], keep[-1] + 1), begins[0]


def expected(file, first=0, end=None):
    """The plan that the server should give: (offset into the first term, [(xorb, start, end, bytes)], {xorb: [(start, end, first byte, last byte)]})"""
    end = sum(n for _, n in file.nodes()) if end is None else end
    offset, terms, wanted, at = None, [], {}, 0
    for term in file.terms:
        after = at + sum(n for _, n in term[0].nodes[term[1] : term[2]])
        if at < end and after > first:
            (xorb, start, stop), begins = trim(term, at, first, end)
            offset = first - begins if offset is None else offset
            terms.append((xet.text(xorb.hash), start, stop, sum(n for _, n in xorb.nodes[start:stop])))
            wanted.setdefault(xorb.hash, (xorb, []))[1].append((start, stop))
        at = after
    xorbs = {}
    for xorb, ranges in wanted.values():
        where = places(xorb)
        xorbs[xet.text(xorb.hash)] = [(a, b, where[a], where[b] - 1) for a, b in merge(ranges)]
    return offset or 0, terms, xorbs


def terms_of(told):
    return [(t["hash"], t["range"]["start"], t["range"]["end"], t["unpacked_length"]) for t in told]


def fetches_of(plan):
    """The fetches of a plan of either version: {xorb: [(url, [(start, end, first byte, last byte)])]}"""
    if "xorbs" in plan:
        return {
            name: [
                (f["url"], [(r["chunks"]["start"], r["chunks"]["end"], r["bytes"]["start"], r["bytes"]["end"]) for r in f["ranges"]])
                for f in fetches
            ]
            for name, fetches in plan["xorbs"].items()
        }
    return {
        name: [(f["url"], [(f["range"]["start"], f["range"]["end"], f["url_range"]["start"], f["url_range"]["end"])]) for f in fetches]
        for name, fetches in plan["fetch_info"].items()
    }


def said(plan):
    """A plan of the server, in the form of expected()."""
    xorbs = {name: [r for _, ranges in fetches for r in ranges] for name, fetches in fetches_of(plan).items()}
    return plan["offset_into_first_range"], terms_of(plan["terms"]), xorbs


def path_of(url):
    parts = urllib.parse.urlsplit(url)
    return f"{parts.path}?{parts.query}"


def range_of(ranges):
    """The Range header for these ranges of a plan."""
    return "bytes=" + ",".join(f"{first}-{last}" for _, _, first, last in ranges)


def parts_of(reply):
    """Parses a multipart/byteranges reply strictly: [((first, last, size of the whole), bytes)]"""
    kind = re.fullmatch(r"multipart/byteranges; boundary=([0-9A-Za-z'()+_,./:=?-]{1,70})", reply.headers["Content-Type"])
    assert kind, reply
    boundary, body, out = kind.group(1).encode(), reply.body, []
    assert body.startswith(b"--" + boundary + b"\r\n")
    at = len(boundary) + 4
    while True:
        head_end = body.index(b"\r\n\r\n", at)
        found = re.search(rb"(?im)^Content-Range: bytes (\d+)-(\d+)/(\d+)\r?$", body[at:head_end])
        first, last, size = (int(n) for n in found.groups())
        at = head_end + 4
        out.append(((first, last, size), body[at : at + last - first + 1]))
        at += last - first + 1
        assert body[at : at + 4 + len(boundary)] == b"\r\n--" + boundary
        at += 4 + len(boundary)
        if body[at : at + 4] == b"--\r\n":
            assert at + 4 == len(body), "bytes follow the end"
            return out
        assert body[at : at + 2] == b"\r\n"
        at += 2


def chunks_of(packed, count):
    """The chunks in a piece of a serialized xorb, which are uncompressed or made by xet.packed()."""
    out, at = [], 0
    for _ in range(count):
        assert packed[at] == 0 and packed[at + 4] in (0, 1), "not the head of an uncompressed chunk"
        n, unpacked = (int.from_bytes(packed[at + i : at + i + 3], "little") for i in (1, 5))
        begin = at + 8 + (11 if packed[at + 4] else 0)  # skips the heads of the LZ4 frame and of its one block
        out.append(packed[begin : begin + unpacked])
        at += 8 + n
    assert at == len(packed)
    return out


class Refused(Exception):
    """A fetch of a plan was answered by an error, which is `reply`."""

    def __init__(self, reply):
        super().__init__(repr(reply))
        self.reply = reply


def download(server, plan):
    """Downloads a file by its plan: requests each fetch as the JavaScript client does, and puts the terms together. Raises Refused if a fetch is answered
    by an error."""
    chunks = {}
    for name, fetches in fetches_of(plan).items():
        for url, ranges in fetches:
            reply = server.get(path_of(url), headers={"Range": range_of(ranges)})
            if reply.status >= 400:
                raise Refused(reply)
            assert reply.status == 206, reply
            if len(ranges) == 1:
                parts = [reply.body]
            else:
                got = parts_of(reply)
                assert [(first, last) for (first, last, _), _ in got] == [r[2:] for r in ranges], "not in the order asked"
                parts = [data for _, data in got]
            for (start, end, _, _), data in zip(ranges, parts, strict=True):
                for i, chunk in enumerate(chunks_of(data, end - start)):
                    chunks[name, start + i] = chunk
    out = b"".join(chunks[name, i] for name, start, end, _ in terms_of(plan["terms"]) for i in range(start, end))
    return out[plan["offset_into_first_range"] :]
