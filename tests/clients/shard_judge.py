"""A second implementation that accepts or refuses uploaded shards by the rules of docs/errors.md, in plain Python and from the bytes alone. It is
written to be read beside the format documents, not to be fast, and covers a server that keeps only an index."""

import struct

import xet

CHUNKS_MAX, CHUNK_BYTES_MAX = 8192, 131072
LOOKUP_ENTRY_BYTES = (12, 12, 16)  # of the footer's look-up tables for files, xorbs and chunks


class Refused(Exception):
    pass


def must(right, why):
    if not right:
        raise Refused(why)


class Bytes:
    def __init__(self, body):
        self.body, self.at = body, 0

    def take(self, n):
        must(n <= len(self.body) - self.at, "ends too early")
        self.at += n
        return self.body[self.at - n : self.at]

    def records(self, n):
        block = self.take(48 * n)
        return [block[i : i + 48] for i in range(0, len(block), 48)]


def section(source):
    """The first record of each block of a section, until its bookend."""
    while (record := source.take(48))[:32] != xet.BOOKEND[:32]:
        yield record


def read_files(source):
    files = []
    for record in section(source):
        flags, n = struct.unpack_from("<II", record, 32)
        terms = [(r[:32], *struct.unpack_from("<III", r, 36)) for r in source.records(n)]
        ranges = [r[:32] for r in source.records(n)] if flags & xet.WITH_VERIFICATION else None
        if flags & xet.WITH_METADATA:
            source.take(48)
        files.append((record[:32], terms, ranges))
    return files


def read_xorbs(source):
    xorbs = []
    for record in section(source):
        n, unpacked = struct.unpack_from("<II", record, 36)
        chunks = [(r[:32], *struct.unpack_from("<II", r, 32)) for r in source.records(n)]
        xorbs.append((record[:32], unpacked, chunks))
    return xorbs


def judge_footer(rest, tables_at, xorbs_at):
    must(len(rest) >= 200, "no room for the footer")
    footer, footer_at = rest[-200:], tables_at + len(rest) - 200
    fields = struct.unpack_from("<9Q", footer)
    must(fields[:3] == (1, 48, xorbs_at), "version or offsets of the footer")
    must(struct.unpack_from("<Q", footer, 192)[0] == footer_at, "footer_offset")
    used = 0
    for i, entry_bytes in enumerate(LOOKUP_ENTRY_BYTES):
        offset, count = fields[3 + 2 * i : 5 + 2 * i]
        if (offset, count) != (0, 0):
            must(tables_at <= offset and offset + count * entry_bytes <= footer_at, "a lookup table outside")
            used += count * entry_bytes
    must(used == footer_at - tables_at, "bytes of no lookup table")
    must(footer[72:104] == xet.ZERO, "keyed")


def judge_xorb(name, unpacked, chunks, known):
    must(1 <= len(chunks) <= CHUNKS_MAX, "chunks of a xorb")
    at = 0
    for _, start, size in chunks:
        must(1 <= size <= CHUNK_BYTES_MAX and start == at, "a chunk's length or place")
        at += size
    must(at == unpacked, "sum of the chunks")
    nodes = [(h, size) for h, _, size in chunks]
    must(xet.merkle_root(nodes) == name, "hash of a xorb")
    must(known.setdefault(name, nodes) == nodes, "described otherwise before")


def judge_file(name, terms, ranges, known):
    must(terms or name == xet.ZERO, "no terms")
    must(ranges is not None, "no verification")
    nodes = []
    for (xorb, unpacked, start, end), claimed in zip(terms, ranges, strict=True):
        must(xorb in known, "a xorb nobody knows")
        must(start < end <= len(known[xorb]), "range of a term")
        part = known[xorb][start:end]
        must(sum(n for _, n in part) == unpacked, "length of a term")
        must(xet.keyed(xet.VERIFICATION_KEY, b"".join(h for h, _ in part)) == claimed, "range hash")
        nodes += part
    must(xet.file_hash(nodes) == name, "hash of a file")


def judge(body, known):
    """Judges a shard. @param known  {xorb: [(chunk, length)]}; the xorbs of an accepted shard are added @return None: accepted; else the reason"""
    source, known_after = Bytes(body), dict(known)
    try:
        must(source.take(32) == xet.TAG, "tag")
        version, footer_bytes = struct.unpack("<QQ", source.take(16))
        must(version == 2 and footer_bytes in (0, 200), "version or footer size")
        files = read_files(source)
        xorbs_at = source.at
        xorbs = read_xorbs(source)
        rest = body[source.at :]
        if footer_bytes:
            judge_footer(rest, source.at, xorbs_at)
        must(footer_bytes or not rest, "bytes after the end")
        for xorb in xorbs:
            judge_xorb(*xorb, known_after)
        for file in files:
            judge_file(*file, known_after)
    except Refused as why:
        return str(why)
    known.update(known_after)
    return None
