"""cairn export writes the index as TileDB arrays and as CSV. TileDB itself reads them and SQL checks them; our code also reads arrays that TileDB made of
them."""

import csv
import fcntl
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
from pathlib import Path

import cairn
import numpy as np
import pytest
import tiledb
import xet

TABLES = ("chunks", "xorbs", "files", "references")
META = "__fragment_metadata.tdb"
KEYS = {"chunks": "chunk_hash", "xorbs": "xorb_hash", "files": "file_hash", "references": "file_hash"}


def run(*argv, expect=0, **more):
    done = subprocess.run([cairn.CAIRN, *map(str, argv)], capture_output=True, text=True, **more)
    assert done.returncode == expect, (argv, done.returncode, done.stdout[-500:], done.stderr)
    return done.stdout if expect == 0 else done.stderr


def export(data, out, form="tiledb", expect=0, **more):
    text = run("export", "--data-dir", data, "--format", form, "--json", out, expect=expect, **more)
    return {t["name"]: t for t in json.loads(text)["tables"]} if expect == 0 else text


def inspect(path, expect=0):
    done = subprocess.run([cairn.CAIRN, "inspect", "--json", str(path)], capture_output=True, text=True)
    assert done.returncode == expect, (done.stdout[-500:], done.stderr)
    return json.loads(done.stdout)


FILES = """SELECT id, hash, (SELECT min(sha256) FROM file_owner WHERE file = f.id AND scope = o.scope), size, terms, at
    FROM file f LEFT JOIN (SELECT file, min(scope) scope FROM file_owner GROUP BY file) o ON o.file = f.id"""


def expected(data):
    """The rows of all four tables, from SQL, with columns in the order of the arrays and None for nulls."""
    db = sqlite3.connect(f"file:{data}/index.sqlite?mode=ro", uri=True)
    rows, names = {t: [] for t in TABLES}, {}
    query = "SELECT id, hash, chunks, unpacked, stored, at, spans, hashes FROM xorb JOIN list ON list.xorb = xorb.id"
    for number, raw, n, unpacked, stored, at, spans, hashes in db.execute(query):
        names[number] = xet.text(raw)
        rows["xorbs"].append((names[number], n, unpacked, stored, at * 1000, number))
        offset = before = 0
        for i in range(n):
            length, end = struct.unpack_from("<II", spans, 8 * i)
            chunk = xet.text(hashes[32 * i : 32 * i + 32])
            rows["chunks"].append((chunk, names[number], i, offset, length, end - before if end else None, at * 1000, number))
            offset, before = offset + length, end
    for number, raw, sha256, size, terms, at in db.execute(FILES):
        name = xet.text(raw)
        rows["files"].append((name, sha256 and sha256.hex(), size, len(terms) // 24, at * 1000, number))
        for i, (xorb, start, end, length, _, _) in enumerate(struct.iter_unpack("<QHHIII", terms)):
            rows["references"].append((name, names[xorb], i, start, end, length, number))
    db.close()
    return {t: sorted(r, key=lambda row: (row[0], row[-1], row[2] if t in ("chunks", "references") else 0)) for t, r in rows.items()}


def columns(array):
    return [array.schema.domain.dim(0).name, *(array.schema.attr(i).name for i in range(array.schema.nattr))]


def plain(column):
    """The values of an array's column as Python objects: texts, integers, milliseconds, None."""
    if isinstance(column, np.ma.MaskedArray):
        return [None if m else v for v, m in zip(plain(column.data), np.ma.getmaskarray(column))]
    if column.dtype.kind == "M":
        return column.astype("int64").tolist()
    return [v.decode() if isinstance(v, bytes) else v for v in column.tolist()]


def actual(out, table, timestamp=None):
    with tiledb.open(str(out / table), timestamp=timestamp) as array:
        got = array[:]
        rows = list(zip(*(plain(got[name]) for name in columns(array))))
    return sorted(rows, key=lambda row: (row[0], row[-1], row[2] if table in ("chunks", "references") else 0))


def expect_all(data, out):
    want = expected(data)
    for table in TABLES:
        assert actual(out, table) == want[table], table
    assert inspect(out)["valid"]


def push(server, folder, seed, sizes):
    source = random.Random(seed)
    for i, size in enumerate(sizes):
        (folder / f"{seed}-{i}").write_bytes(source.randbytes(size))
    run("push", "--server", server.url, "--quiet", *(folder / f"{seed}-{i}" for i in range(len(sizes))))


def fill(data, first, n_xorbs, n_chunks):
    """Inserts rows into the tables, because uploading so many would take too long. Every third xorb is kept elsewhere; every fourth file has no SHA-256,
    and others have several."""
    source = random.Random(first)
    db = sqlite3.connect(data / "index.sqlite")
    db.executemany("INSERT OR IGNORE INTO scope(id, name) VALUES(?, ?)", ((1, "models/a/one"), (2, "models/b/one")))
    shared = [hashlib.sha256(b"shared%d" % i).digest() for i in range(10)]
    for number in range(first, first + n_xorbs):
        lengths = [source.randrange(8192, 131073) for _ in range(n_chunks)]
        elsewhere = number % 3 == 0
        ends, end = [], 0
        for length in lengths:
            end += length // 2
            ends.append(0 if elsewhere else end)
        hashes = [source.randbytes(32) for _ in range(n_chunks - 1)] + [shared[number % 10]]
        db.execute("INSERT INTO xorb(id, hash, chunks, unpacked, stored, at) VALUES(?, ?, ?, ?, ?, ?)",
                   (number, source.randbytes(32), n_chunks, sum(lengths), None if elsewhere else end, 1700000000 + number))
        spans = b"".join(struct.pack("<II", *s) for s in zip(lengths, ends))
        db.execute("INSERT INTO list VALUES(?, ?, ?)", (number, spans, b"".join(hashes)))
        terms = struct.pack("<QHHIII", number, 0, 5, sum(lengths[:5]), 0, ends[4])
        terms += struct.pack("<QHHIII", number, 3, 4, lengths[3], ends[2], ends[3])
        db.execute("INSERT INTO file VALUES(?, ?, ?, ?, ?)",
                   (number, source.randbytes(32), sum(lengths[:5]) + lengths[3], terms, 1700000500 + number))
        for scope in ((), (1, 2), (0,), (0, 1))[number % 4]:
            db.executemany("INSERT INTO file_owner(file, scope, sha256) VALUES(?, ?, ?)", ((number, scope, source.randbytes(32)) for _ in range(2)))
    db.commit()
    db.close()


@pytest.fixture
def data(tmp_path):
    """A data folder with an empty index, and no daemon."""
    cairn.Daemon(tmp_path / "server").start().stop()
    return tmp_path / "server" / "data"


@pytest.mark.parametrize("form", ["tiledb", "csv"])
def test_exports_are_their_owner_s(data, tmp_path, form):
    """The exports contain hashes of all tenants, so only their owner may read them, whatever the umask."""
    out = tmp_path / "out"
    export(data, out, form, umask=0o022)
    found = list(out.rglob("*"))
    assert found and {p.stat().st_mode & 0o077 for p in (out, *found)} == {0}


def test_beside_a_running_daemon(server, tmp_path):
    data, out = server.data, tmp_path / "out"
    assert {t["rows"] for t in export(data, out).values()} == {0}
    for table in TABLES:
        with tiledb.open(str(out / table)) as array:
            assert array.schema.version == 22 and array.schema.sparse and array.schema.allows_duplicates
            assert len(array[:][KEYS[table]]) == 0
    push(server, tmp_path, 1, [3 << 20, 70000, 10])
    first = export(data, out)
    assert first["files"]["rows"] == 3
    expect_all(data, out)
    before = {t: actual(out, t) for t in TABLES}
    push(server, tmp_path, 2, [2 << 20])
    assert export(data, out)["files"]["rows"] == 1
    expect_all(data, out)
    assert {t["rows"] for t in export(data, out).values()} == {0}
    for table in TABLES:
        fragments = tiledb.array_fragments(str(out / table))
        assert len(fragments) == 2 and set(fragments.version) == {22}
        moment = fragments.timestamp_range[0][0]
        assert fragments.timestamp_range[0] == (moment, moment) < fragments.timestamp_range[1]
        assert actual(out, table, timestamp=moment) == before[table]


def test_filters_and_statistics(data, tmp_path):
    out = tmp_path / "out"
    fill(data, 1, 310, 200)  # 62,000 chunks: 7 tiles, two levels of the tree
    assert export(data, out)["chunks"]["rows"] == 62000
    expect_all(data, out)
    want = expected(data)["chunks"]
    with tiledb.open(str(out / "chunks")) as array:
        names = columns(array)

        def ask(condition):
            got = array.query(cond=condition)[:]
            return sorted(zip(*(plain(got[n]) for n in names)), key=lambda row: (row[0], row[-1], row[2]))

        assert ask("length > 120000 and chunk_index < 7") == [r for r in want if r[4] > 120000 and r[2] < 7]
        assert ask(f"xorb_hash == '{want[77][1]}'") == [r for r in want if r[1] == want[77][1]]
        assert ask("stored_length == None and xorb_number == 33") == [r for r in want if r[7] == 33]
        for row in want[::3989]:  # single hashes, one of which is in 31 xorbs
            got = array.multi_index[row[0]]
            assert sorted(plain(got["xorb_number"])) == [r[7] for r in want if r[0] == row[0]]
        low, high = want[20000][0], want[20100][0]
        assert plain(array.multi_index[low:high]["chunk_hash"]) == [r[0] for r in want if low <= r[0] <= high]
        known = [r[5] for r in want if r[5] is not None]
        assert array.query().agg({"length": ["sum", "min", "max", "count"], "stored_length": ["null_count", "sum", "min", "max"],
                                  "xorb_number": ["max"]})[:] == {
            "length": {"sum": sum(r[4] for r in want), "min": min(r[4] for r in want), "max": max(r[4] for r in want), "count": 62000},
            "stored_length": {"null_count": 62000 - len(known), "sum": sum(known), "min": min(known), "max": max(known)},
            "xorb_number": {"max": 310}}


def test_peer_goes_on_with_our_arrays(data, tmp_path):
    """TileDB consolidates the arrays that we wrote. We read the result, verify it, and add new rows."""
    out = tmp_path / "out"
    fill(data, 1, 20, 30)
    export(data, out)
    fill(data, 21, 20, 30)
    export(data, out)
    for table in ("chunks", "files"):
        tiledb.consolidate(str(out / table))
        assert inspect(out / table)["records"][0]["fragments"] == 1  # the old fragments are ignored
        tiledb.vacuum(str(out / table))
    expect_all(data, out)
    fill(data, 41, 5, 30)
    assert export(data, out)["chunks"]["rows"] == 150
    expect_all(data, out)
    assert inspect(out / "chunks")["records"][0]["fragments"] == 2


def peer_array(path, kind):
    zstd, rows = tiledb.FilterList([tiledb.ZstdFilter(5)]), 50
    keys, numbers = np.array(["k%03d" % (i // 2) for i in range(rows)], dtype="O"), np.arange(rows)
    if kind == "gzip_checksums":
        filters = tiledb.FilterList([tiledb.GzipFilter(6), tiledb.ChecksumMD5Filter(), tiledb.ChecksumSHA256Filter()])
    elif kind == "rle":
        filters = tiledb.FilterList([tiledb.RleFilter()])
    elif kind == "rle_texts":
        filters = tiledb.FilterList([tiledb.RleFilter(), tiledb.ZstdFilter(5), tiledb.ChecksumSHA256Filter()])
    elif kind == "bzip2":
        filters = tiledb.FilterList([tiledb.Bzip2Filter()])
    else:
        filters = zstd
    values = {"n": (numbers // 7 - 3).astype("int16"), "f": (numbers / 3 - 5).astype("float64"), "t": keys.astype("U8"),
              "b": (numbers % 3 == 0)}
    attrs = [tiledb.Attr("n", dtype="int16", filters=filters), tiledb.Attr("f", dtype="float64", filters=filters),
             tiledb.Attr("t", dtype="U0", filters=zstd), tiledb.Attr("b", dtype="bool", filters=zstd)]
    if kind == "rle_texts":  # runs of more than 255, texts of more than 255 bytes, empty texts, nulls
        rows, zstd = 2000, tiledb.FilterList([tiledb.RleFilter()])
        keys, numbers = np.array(["k%03d" % (i // 400) for i in range(rows)], dtype="O"), np.arange(rows)
        texts = np.array(["é" * 200] * 300 + [""] * 700 + ["x", "y"] * 500, dtype="O")
        attrs = [tiledb.Attr("n", dtype="int16", filters=filters), tiledb.Attr("a", dtype="ascii", var=True, filters=filters),
                 tiledb.Attr("b", dtype="ascii", var=True, filters=zstd), tiledb.Attr("u", dtype="U0", filters=zstd),
                 tiledb.Attr("c", dtype="S0", filters=zstd)]
        values = {"n": numbers.astype("int16"), "a": np.array([b"long" * 100] * rows), "b": keys.astype("S"), "u": texts,
                  "c": np.array([t.encode() for t in texts], dtype="O")}
    if kind == "two_dimensions":
        dims = [tiledb.Dim("x", domain=(0, 99), tile=10, dtype="int32"), tiledb.Dim("y", domain=(-5.0, 99.0), tile=7.0, dtype="float64")]
        coords = (numbers, (numbers % 11).astype("float64"))
    elif kind == "dense":
        dims, coords = [tiledb.Dim("i", domain=(0, 99), tile=30, dtype="int64")], None
        attrs, values = attrs[:2], {"n": values["n"], "f": values["f"]}
    elif kind == "integers":
        dims, coords = [tiledb.Dim("i", domain=(-9, 999), tile=100, dtype="int16")], (numbers.astype("int16") * 3 - 9,)
    else:
        dims, coords = [tiledb.Dim("k", dtype="ascii", filters=zstd)], (keys,)
    schema = tiledb.ArraySchema(tiledb.Domain(*dims), attrs, sparse=coords is not None, capacity=900 if kind == "rle_texts" else 7,
                                allows_duplicates=coords is not None)
    tiledb.Array.create(str(path), schema)
    with tiledb.open(str(path), "w") as array:
        if coords is None:
            array[0:rows] = values
        else:
            array[coords] = values
    return values


@pytest.mark.parametrize("kind", ["zstd", "gzip_checksums", "rle", "rle_texts", "two_dimensions", "integers", "dense"])
def test_inspect_reads_arrays_of_the_peer(kind, tmp_path):
    values = peer_array(tmp_path / "a", kind)
    seen = inspect(tmp_path / "a")
    assert seen["valid"] and seen["type"] == "tiledb"
    fragment = next(r for r in seen["records"] if r["record"] == "fragment")
    by_name = {r["name"]: r for r in seen["records"] if r["record"] == "column"}
    assert int(by_name["n"]["sum"]) == values["n"].sum() and int(by_name["n"]["max"]) == values["n"].max()
    assert fragment["cells"] == {"dense": 60, "rle_texts": 2000}.get(kind, 50)
    assert len([r for r in seen["records"] if r["record"] == "tile"]) == fragment["tiles"]
    folder = tmp_path / "a" / "__fragments" / fragment["name"]
    assert inspect(folder)["records"] == seen["records"]
    assert inspect(folder / META)["records"] == seen["records"]


def test_inspect_knows_single_files_of_an_array(tmp_path):
    peer_array(tmp_path / "a", "zstd")
    (schema,) = [p for p in (tmp_path / "a" / "__schema").iterdir() if p.is_file()]
    alone = tmp_path / "schema"
    alone.write_bytes(schema.read_bytes())
    of_array = [r for r in inspect(tmp_path / "a")["records"] if r["record"] in ("dimension", "attribute")]
    for path in (schema, alone):
        seen = inspect(path)
        assert seen["valid"] and seen["type"] == "tiledb"
        assert seen["records"][0]["name"] == path.name and seen["records"][1:] == of_array
    (metadata,) = (tmp_path / "a" / "__fragments").glob(f"*/{META}")
    for name in (META, "metadata"):
        alone = tmp_path / name
        alone.write_bytes(metadata.read_bytes())
        seen = inspect(alone, expect=65)
        assert seen["type"] == "tiledb" and seen["error"]["rule"] == "tiledb.alone"
    alone.write_bytes(schema.read_bytes()[:40])
    assert inspect(alone, expect=65)["error"]["rule"] == "tiledb.truncated"


def test_inspect_refuses_unsupported_arrays(tmp_path):
    peer_array(tmp_path / "bzip2", "bzip2")
    assert inspect(tmp_path / "bzip2", expect=65)["error"]["rule"] == "tiledb.filter"
    peer_array(tmp_path / "deleted", "zstd")
    with tiledb.open(str(tmp_path / "deleted"), "d") as array:
        array.query(cond="n == 2").submit()
    assert inspect(tmp_path / "deleted", expect=65)["error"]["rule"] == "tiledb.unsupported"
    (tmp_path / "nothing").mkdir()
    assert inspect(tmp_path / "nothing", expect=66)["error"]["rule"] == "tiledb.array"


def test_inspect_finds_false_statistics(data, tmp_path):
    """The metadata is not compressed, so the test can change a number in place."""
    out = tmp_path / "out"
    fill(data, 1, 4, 30)
    export(data, out)
    folder = next((out / "chunks" / "__fragments").iterdir())
    meta, rows = folder / "__fragment_metadata.tdb", expected(data)["chunks"]
    good = meta.read_bytes()
    total = struct.pack("<Q", sum(r[4] for r in rows))
    for what in (total, struct.pack("<I", max(r[4] for r in rows)), rows[-1][0].encode()):
        places = [i for i in range(len(good)) if good.startswith(what, i)]
        assert len(places) >= 2  # of the tile and of the fragment
        for at in places:
            meta.write_bytes(good[:at] + bytes([what[0] ^ 1]) + good[at + 1 :])
            error = inspect(out / "chunks", expect=65)["error"]
            assert error["rule"] in ("tiledb.checksum", "tiledb.rtree"), error  # the second rule is for the footer, which has no checksum
            assert "__fragment_metadata.tdb" in error["message"]
    meta.write_bytes(good)
    assert inspect(out)["valid"]


FLIPS = """
import json, resource, sys, tiledb
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))  # for lengths of some gigabytes
one = {"sm.compute_concurrency_level": "1", "sm.io_concurrency_level": "1", "py.init_buffer_bytes": "4096"}
tiledb.default_ctx(one)
path, array, begin, end, step = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
def read():
    with tiledb.open(array) as a:
        rows, of = a[:], {}
        for attr in map(a.schema.attr, range(a.schema.nattr)):
            of[attr.name] = ["min", "max"] * (attr.dtype.kind != "M") + ["sum"] * (attr.dtype.kind == "u") + ["null_count"] * attr.isnullable
        stats = a.query().agg({name: asked for name, asked in of.items() if asked})[:]
        return repr((a.schema, a.nonempty_domain(), rows, a.multi_index[rows[a.schema.domain.dim(0).name][0]], stats))
right, good, unseen = read(), open(path, "rb").read(), []
for i in range(begin, end, step):
    bit = i // step % 8
    with open(path, "r+b") as f:
        f.seek(i)
        f.write(bytes([good[i] ^ 1 << bit]))
    try:
        assert read() == right, f"bit {bit} of byte {i} of {path} makes TileDB tell something else"
        unseen.append(i)
    except (tiledb.TileDBError, MemoryError):
        pass
    with open(path, "r+b") as f:
        f.write(good)
print(json.dumps(unseen))
"""


def unseen_by_tiledb(array, path, begin, end, step=1):
    """Flips a bit in each byte, or in each step-th byte, one after the other. @return the bytes at which TileDB does not refuse the file, and reads
    everything as before. If it ever reads anything else, the test fails."""
    argv = [sys.executable, "-c", FLIPS, str(path), str(array), *map(str, (begin, end, step))]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def blocks(metadata):
    """The offsets of the generic tiles of a metadata file, and of its footer."""
    places, at = [], 0
    footer = len(metadata) - 8 - int.from_bytes(metadata[-8:], "little")
    while at < footer:
        places.append(at)
        at += 34 + int.from_bytes(metadata[at + 30 : at + 34], "little") + int.from_bytes(metadata[at + 4 : at + 12], "little")
    assert at == footer
    return places, footer


# Bytes in the head of a generic tile that TileDB reads and does not use: version, stored length, type and length of a cell, length of chunks, the numbers
# of filters and of checksums. `cairn inspect` reports them all the same.
UNUSED = {*range(12), *range(20, 29), *range(34, 42), *range(67, 75)}
# Blocks of the metadata of xorbs that TileDB reads for rows, a range and statistics, by their number: the R-tree, offsets of five attributes and of the
# dimension, var offsets and sizes, validity, minima, maxima, sums, nulls. It does not read blocks of fields without such a thing, nor the totals, which it
# computes.
READ = {0, 1, 2, 3, 4, 5, 7, 14, 21, 24, 29, 30, 31, 33, 36, 37, 38, 40, 43, 44, 45, 47, 52}


def test_tiledb_finds_flipped_bits(data, tmp_path):
    """Each file has checksums, except for the bytes around them. (test_tiledb_writer.c flips every bit for `cairn inspect`, which finds them all.) The
    footer of the metadata has none, because the format has no place for it, and TileDB believes the footer."""
    out = tmp_path / "out"
    fill(data, 1, 4, 6)
    export(data, out)
    array = out / "xorbs"
    (schema,) = (p for p in (array / "__schema").iterdir() if p.is_file())
    assert set(unseen_by_tiledb(array, schema, 0, schema.stat().st_size)) <= UNUSED
    (fragment,) = (array / "__fragments").iterdir()
    for path in sorted(fragment.iterdir()):
        if path.name != META:
            assert unseen_by_tiledb(array, path, 0, path.stat().st_size) == [], path.name
    places, footer = blocks((fragment / META).read_bytes())
    unseen = set(unseen_by_tiledb(array, fragment / META, 0, footer, 7))
    unread = set()
    for number, (begin, end) in enumerate(zip(places, [*places[1:], footer])):
        if unseen.issuperset(i for i in range(begin, end) if i % 7 == 0):
            unread.add(number)
        else:
            assert {i - begin for i in unseen if begin <= i < end} <= UNUSED, number
    assert not unread & READ
    assert inspect(out)["valid"]


def test_older_exports_go_on_without_checksums(data, tmp_path):
    """A fragment is stored as its array's schema says. Arrays of older exports have no checksums, so new fragments of them have none."""
    out = tmp_path / "out"
    fill(data, 1, 20, 30)
    export(data, out)
    bare = tiledb.FilterList([tiledb.ZstdFilter(3)])
    with tiledb.open(str(out / "chunks")) as array:
        schema = array.schema
        attrs = [tiledb.Attr(a.name, dtype="ascii" if a.isvar else a.dtype, var=a.isvar, nullable=a.isnullable, filters=bare)
                 for a in (schema.attr(i) for i in range(schema.nattr))]
    shutil.rmtree(out / "chunks")
    dim = tiledb.Dim("chunk_hash", dtype="ascii", filters=bare)
    tiledb.Array.create(str(out / "chunks"), tiledb.ArraySchema(tiledb.Domain(dim), attrs, sparse=True, allows_duplicates=True,
                                                                offsets_filters=bare, validity_filters=bare, capacity=schema.capacity))
    assert export(data, out)["chunks"]["rows"] == 600
    fill(data, 21, 5, 30)
    assert export(data, out)["chunks"]["rows"] == 150
    expect_all(data, out)
    assert {r["filters"] for r in inspect(out / "chunks")["records"] if r["record"] == "attribute"} == {"ZSTD:3"}
    assert {r["filters"] for r in inspect(out / "xorbs")["records"] if r["record"] == "attribute"} == {"ZSTD:3,SHA256"}


def test_csv(data, tmp_path):
    out = tmp_path / "out"
    fill(data, 1, 9, 30)
    assert export(data, out, "csv")["chunks"]["rows"] == 270
    fill(data, 10, 2, 30)
    assert export(data, out, "csv")["chunks"]["rows"] == 330  # all rows, replacing the older file
    want = expected(data)
    for table in TABLES:
        with open(out / f"{table}.csv", newline="") as f:
            header, *rows = csv.reader(f)
        assert header[0] == KEYS[table]
        time = header.index("time") if "time" in header else None
        for row, exact in zip(rows, want[table], strict=True):
            if time is not None:
                assert np.datetime64(row[time].rstrip("Z"), "ms").astype("int64") == exact[time]
                row[time] = str(exact[time])
            assert row == ["" if v is None else str(v) for v in exact]
    assert sorted(p.name for p in out.iterdir()) == sorted(f"{t}.csv" for t in TABLES)


def test_invalid_folders_and_targets_are_refused(data, tmp_path):
    out = tmp_path / "out"
    assert "data_dir.missing" in export(tmp_path / "absent", out, expect=66)
    assert not out.exists()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "index.sqlite").write_bytes(b"no database at all, but as long as a header of one would be" * 10)
    assert "index.foreign" in export(tmp_path / "foreign", out, expect=73)
    assert not out.exists()
    fill(data, 1, 3, 30)
    export(data, out)
    held = os.open(out, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "export.in_use" in export(data, out, expect=73)
    finally:
        os.close(held)
    db = sqlite3.connect(data / "index.sqlite")  # the index is as if it was restored from an older backup
    db.executescript("DELETE FROM file; DELETE FROM list; DELETE FROM xorb; DELETE FROM sqlite_sequence")
    db.close()
    assert "export.older" in export(data, out, expect=73)
    shutil.rmtree(out / "xorbs")
    tiledb.Array.create(str(out / "xorbs"), tiledb.ArraySchema(tiledb.Domain(tiledb.Dim("x", domain=(0, 9), tile=1, dtype="int32")),
                                                               [tiledb.Attr("v", dtype="int32")], sparse=True))
    assert "export.schema" in export(data, out, expect=73)
    meta = next((out / "chunks" / "__fragments").iterdir()) / "__fragment_metadata.tdb"
    meta.write_bytes(meta.read_bytes()[:-1])
    assert "tiledb." in export(data, out, expect=65)
    assert not (out / ".export.tmp").exists()


@pytest.mark.parametrize("what", ["as it is", "capacity", "filters"])
def test_fragments_are_stored_as_their_array_says(data, tmp_path, what):
    """Somebody made our array anew with other filters or another capacity. TileDB reads each fragment by the array's schema, so export refuses such an
    array."""
    out = tmp_path / "out"
    fill(data, 1, 3, 30)
    export(data, out)
    ours = tiledb.ArraySchema.load(str(out / "xorbs"))
    attrs = [ours.attr(i) for i in range(ours.nattr)]
    if what == "filters":
        attrs[0] = tiledb.Attr(attrs[0].name, dtype=attrs[0].dtype, filters=tiledb.FilterList([tiledb.GzipFilter(6)]))
    again = tiledb.ArraySchema(ours.domain, attrs, sparse=True, allows_duplicates=True, capacity=77 if what == "capacity" else ours.capacity,
                               offsets_filters=ours.offsets_filters, validity_filters=ours.validity_filters)
    shutil.rmtree(out / "xorbs")
    tiledb.Array.create(str(out / "xorbs"), again)
    if what == "as it is":
        assert export(data, out)["xorbs"]["rows"] == 3
        expect_all(data, out)
    else:
        assert "export.schema" in export(data, out, expect=73)


def no_room():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in Path(folder).rglob("*")}


@pytest.mark.parametrize("form", ["tiledb", "csv"])
def test_failed_write_leaves_nothing(data, tmp_path, form):
    out = tmp_path / "out"
    fill(data, 1, 100, 100)
    export(data, out, form, expect=74, preexec_fn=no_room)
    assert not out.exists()
    export(data, out, form)
    before = tree(out)
    fill(data, 101, 100, 100)
    export(data, out, form, expect=74, preexec_fn=no_room)
    assert tree(out) == before
    export(data, out, form)
    if form == "tiledb":
        expect_all(data, out)


def test_killed_anywhere(data, tmp_path):
    """SIGKILL later and later. What is there opens and is complete, and the next export adds the rest."""
    out = tmp_path / "out"
    fill(data, 1, 100, 100)
    whole = expected(data)
    for ms in range(0, 60, 6):
        child = subprocess.Popen([cairn.CAIRN, "export", "--data-dir", data, "--format", "tiledb", out], stdout=subprocess.DEVNULL)
        try:
            child.wait(ms / 1000)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        for table in TABLES:
            if (out / table).exists():
                assert actual(out, table) in ([], whole[table])
        if (out / "references").exists():
            shutil.rmtree(out)
    export(data, out)
    expect_all(data, out)
    assert sorted(p.name for p in out.iterdir()) == sorted(TABLES)
