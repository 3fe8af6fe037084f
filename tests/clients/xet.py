"""The protocol's formats, implemented once more in Python, so that the daemon is checked by other code than its own.

Hashes are 32 raw bytes here. text() and raw() convert to and from the form in paths."""

import struct
from dataclasses import dataclass, field

from blake3 import blake3

DATA_KEY = bytes.fromhex("6697f5775b9550de3135cbaca597181c9de421109beb2b58b4d0b04b93adf229")
NODE_KEY = bytes.fromhex("017ec5c7a5472996fd946666b48a02e65ddd536f37c76dd2f86352e64a53713f")
VERIFICATION_KEY = bytes.fromhex("7f1857d6ce56ed66127ff913e7a5c3f3a4cd26d5b5db49e64124987f28fb94c3")
TAG = b"HFRepoMetaData\0" + bytes([85, 105, 103, 69, 106, 123, 129, 87, 131, 165, 189, 217, 92, 205, 209, 74, 169])
BOOKEND = b"\xff" * 32 + bytes(16)
WITH_VERIFICATION = 0x80000000
WITH_METADATA = 0x40000000
ELIGIBLE = 0x80000000
ZERO = bytes(32)


def text(raw_hash):
    return "".join(f"{word:016x}" for word in struct.unpack("<4Q", raw_hash))


def raw(hash_text):
    return struct.pack("<4Q", *(int(hash_text[i : i + 16], 16) for i in range(0, 64, 16)))


def keyed(key, message):
    return blake3(message, key=key).digest()


def chunk_hash(data):
    return keyed(DATA_KEY, data)


def merkle_root(nodes):
    """The hash of the root. nodes: [(hash, length)]"""
    if not nodes:
        return ZERO
    while len(nodes) > 1:
        groups, at = [], 0
        while at < len(nodes):
            left = len(nodes) - at
            take = min(9, left)
            if left > 2:
                for i in range(2, take):
                    if int.from_bytes(nodes[at + i][0][24:], "little") % 4 == 0:
                        take = i + 1
                        break
            part = nodes[at : at + take]
            message = "".join(f"{text(h)} : {n}\n" for h, n in part).encode()
            groups.append((keyed(NODE_KEY, message), sum(n for _, n in part)))
            at += take
        nodes = groups
    return nodes[0][0]


def file_hash(nodes):
    return keyed(ZERO, merkle_root(nodes)) if nodes else ZERO


@dataclass
class Xorb:
    """A xorb of uncompressed chunks."""

    data: list
    nodes: list = field(init=False)
    hash: bytes = field(init=False)

    def __post_init__(self):
        self.nodes = [(chunk_hash(c), len(c)) for c in self.data]
        self.hash = merkle_root(self.nodes)

    def body(self):
        out = bytearray()
        for c in self.data:
            size = len(c).to_bytes(3, "little")
            out += b"\0" + size + b"\0" + size + c
        return bytes(out)

    def path(self, prefix="default"):
        return f"/v1/xorbs/{prefix}/{text(self.hash)}"


def packed(x, which):
    """The serialized xorb with one chunk as an LZ4 frame that compresses nothing. Its length is the same for each choice of the chunk."""
    out = bytearray()
    for i, c in enumerate(x.data):
        data = bytes.fromhex("04224d18604082") + (1 << 31 | len(c)).to_bytes(4, "little") + c + bytes(4) if i == which else c
        out += b"\0" + len(data).to_bytes(3, "little") + bytes([i == which]) + len(c).to_bytes(3, "little") + data
    return bytes(out)


@dataclass
class File:
    """A file of terms: (xorb, first chunk, end chunk)."""

    terms: list
    sha256: bytes | None = None

    def nodes(self):
        return [n for x, start, end in self.terms for n in x.nodes[start:end]]

    def hash(self):
        return file_hash(self.nodes())

    def record(self):
        flags = WITH_VERIFICATION | (WITH_METADATA if self.sha256 is not None else 0)
        out = bytearray(self.hash() + struct.pack("<II8x", flags, len(self.terms)))
        for x, start, end in self.terms:
            out += x.hash + struct.pack("<IIII", 0, sum(n for _, n in x.nodes[start:end]), start, end)
        for x, start, end in self.terms:
            out += keyed(VERIFICATION_KEY, b"".join(h for h, _ in x.nodes[start:end])) + bytes(16)
        if self.sha256 is not None:
            out += self.sha256 + bytes(16)
        return out


def shard(files, xorbs):
    """The bytes of a shard as it is uploaded, without a footer."""
    out = bytearray(TAG + struct.pack("<QQ", 2, 0))
    for f in files:
        out += f.record()
    out += BOOKEND
    for x in xorbs:
        out += x.hash + struct.pack("<IIII", 0, len(x.nodes), sum(n for _, n in x.nodes), 0)
        at = 0
        for h, n in x.nodes:
            out += h + struct.pack("<IIII", at, n, 0, 0)
            at += n
    return bytes(out + BOOKEND)


@dataclass
class Answer:
    """A parsed answer to a chunk query, which is a shard with a footer."""

    files: int
    xorbs: dict  # xorb hash: [(chunk hash, start, length, flags)]
    key: bytes
    created: int
    expiry: int


def parse_answer(body):
    assert body[:32] == TAG, "the answer is no shard"
    version, footer_bytes = struct.unpack_from("<QQ", body, 32)
    assert (version, footer_bytes) == (2, 200)
    footer = body[-200:]
    footer_at = len(body) - 200
    (fversion, file_at, cas_at, file_lut, n_file_lut, cas_lut, n_cas_lut, chunk_lut, n_chunk_lut) = struct.unpack_from("<9Q", footer)
    key = footer[72:104]
    created, expiry = struct.unpack_from("<QQ", footer, 104)
    assert fversion == 1 and struct.unpack_from("<Q", footer, 192)[0] == footer_at
    assert (file_at, n_file_lut, n_cas_lut, n_chunk_lut) == (48, 0, 0, 0)
    assert file_lut == cas_lut == chunk_lut == footer_at, "a lookup offset of zero breaks both stock clients"
    at, files = 48, 0
    while body[at : at + 32] != BOOKEND[:32]:
        raise AssertionError("an answer has no files")
    at += 48
    assert at == cas_at
    xorbs = {}
    while body[at : at + 32] != BOOKEND[:32]:
        name = body[at : at + 32]
        _, n, unpacked, _ = struct.unpack_from("<IIII", body, at + 32)
        chunks = []
        for i in range(n):
            entry = at + 48 * (i + 1)
            start, size, flags, _ = struct.unpack_from("<IIII", body, entry + 32)
            chunks.append((body[entry : entry + 32], start, size, flags))
        assert sum(c[2] for c in chunks) == unpacked
        xorbs[name] = chunks
        at += 48 * (n + 1)
    assert at + 48 == footer_at
    return Answer(files, xorbs, key, created, expiry)
