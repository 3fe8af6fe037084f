#!/usr/bin/env python3
"""Turn an engine's migrations into a C source: embed.py OUT.c HEADER NAME 0001_first.sql 0002_second.sql ...
HEADER declares NAME_scripts and NAME_latest."""
import os
import sys


def array(name, text):
    values = [str(b) for b in text.encode("ascii")] + ["0"]
    lines = [", ".join(values[i : i + 20]) for i in range(0, len(values), 20)]
    return "static const char %s[] = {\n\t%s,\n};\n" % (name, ",\n\t".join(lines))


def main(out, header, name, *paths):
    for version, path in enumerate(paths, 1):
        if not os.path.basename(path).startswith("%04d_" % version):
            sys.exit("%s: migration %d must be called %04d_NAME.sql" % (path, version, version))
    with open(out, "w", encoding="ascii") as c:
        c.write('#include "%s"\n\n' % header)
        for version, path in enumerate(paths, 1):
            with open(path, encoding="ascii") as sql:
                c.write(array("schema_%04d" % version, sql.read()))
        names = ", ".join("schema_%04d" % v for v in range(1, len(paths) + 1))
        c.write("const char *const %s_scripts[] = {%s};\n" % (name, names))
        c.write("const int %s_latest = %d;\n" % (name, len(paths)))


main(*sys.argv[1:])
