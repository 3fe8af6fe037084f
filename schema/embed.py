#!/usr/bin/env python3
"""Turn the migrations into a C source: embed.py OUT.c 0001_first.sql 0002_second.sql ..."""
import os
import sys


def array(name, text):
    values = [str(b) for b in text.encode("ascii")] + ["0"]
    lines = [", ".join(values[i : i + 20]) for i in range(0, len(values), 20)]
    return "static const char %s[] = {\n\t%s,\n};\n" % (name, ",\n\t".join(lines))


def main(out, *paths):
    for version, path in enumerate(paths, 1):
        if not os.path.basename(path).startswith("%04d_" % version):
            sys.exit("%s: migration %d must be called %04d_NAME.sql" % (path, version, version))
    with open(out, "w", encoding="ascii") as c:
        c.write('#include "index/sqlite/migrate.h"\n\n')
        for version, path in enumerate(paths, 1):
            with open(path, encoding="ascii") as sql:
                c.write(array("schema_%04d" % version, sql.read()))
        names = ", ".join("schema_%04d" % v for v in range(1, len(paths) + 1))
        c.write("const char *const cairn_migrate_scripts[] = {%s};\n" % names)
        c.write("const int cairn_migrate_latest = %d;\n" % len(paths))


main(*sys.argv[1:])
