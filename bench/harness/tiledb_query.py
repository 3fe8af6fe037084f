"""Runs TileDB for the scenario `tiledb`, in a process of its own.

tiledb_query.py copy OURS PEER      writes an array of the same schema and rows with libtiledb
tiledb_query.py ask SECONDS ARRAY   times opening and queries; prints {query: [rows, wall s, processor s]}, as medians"""

import json
import statistics
import sys
import time

import tiledb


def copy(ours, peer):
    with tiledb.open(ours) as array:
        schema, rows = array.schema, dict(array[:])
    keys = rows.pop(schema.domain.dim(0).name)
    tiledb.Array.create(peer, schema)
    with tiledb.open(peer, "w") as array:
        array[keys] = rows


def queries(path):
    """The queries by name. Each opens the array anew, in a context of its own, so that nothing stays in memory from one to the next."""
    with tiledb.open(path) as array:
        some = array.query(cond="chunk_index == 7")[:]
        key, xorb = some["chunk_hash"][0].decode(), some["xorb_hash"][0].decode()
        high = int(some["xorb_number"].max())

    def opened():
        return tiledb.open(path, ctx=tiledb.Ctx())

    def open_only():
        with opened() as array:
            return array.schema.nattr

    def point():
        with opened() as array:
            return len(array.multi_index[key]["length"])

    def filtered(cond, attrs):
        with opened() as array:
            return len(array.query(cond=cond, attrs=attrs)[:][attrs[0]])

    def aggregate():
        with opened() as array:
            return int(array.query().agg({"length": ["sum", "max"]})[:]["sum"])

    return {
        "open": open_only,
        "one hash": point,
        "filter by number": lambda: filtered(f"length > 60000 and xorb_number == {high // 2}", ["length", "offset"]),
        "filter by hash": lambda: filtered(f"xorb_hash == '{xorb}'", ["length"]),
        "sum and maximum": aggregate,
    }


def ask(seconds, path):
    results = {}
    for name, query in queries(path).items():
        answer, walls, cpus, until = query(), [], [], time.monotonic() + seconds
        while time.monotonic() < until or len(walls) < 3:
            wall, cpu = time.perf_counter(), time.process_time()
            if query() != answer:
                raise RuntimeError(f"{name}: another answer than before")
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
        results[name] = [answer, statistics.median(walls), statistics.median(cpus)]
    return results


if sys.argv[1] == "copy":
    copy(*sys.argv[2:])
else:
    print(json.dumps(ask(float(sys.argv[2]), sys.argv[3])))
