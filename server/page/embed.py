#!/usr/bin/env python3
"""Turn what pages load into a C source: embed.py OUT.c style.css page.js ..."""
import hashlib
import os
import sys

TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


def array(name, data):
    values = [str(b) for b in data]
    lines = [", ".join(values[i : i + 20]) for i in range(0, len(values), 20)]
    return "static const unsigned char %s[] = {\n\t%s,\n};\n" % (name, ",\n\t".join(lines))


def main(out, *paths):
    arrays, entries = [], []
    for number, path in enumerate(paths):
        with open(path, "rb") as f:
            data = f.read()
        kind, version = TYPES[os.path.splitext(path)[1]], hashlib.sha256(data).hexdigest()[:12]
        arrays.append(array("asset_%d" % number, data))
        entries.append('\t{"%s", "%s", "%s", asset_%d, %d},\n' % (os.path.basename(path), kind, version, number, len(data)))
    with open(out, "w", encoding="ascii") as c:
        c.write('#include "server/page/page_assets.h"\n\n' + "".join(arrays))
        c.write("const struct page_asset PAGE_ASSETS[] = {\n" + "".join(entries) + "\t{0},\n};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
