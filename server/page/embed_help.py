#!/usr/bin/env python3
"""Turn the sections of the guide into a C source, each under the name that links to it have: embed_help.py OUT.c DOCUMENT...

Headings inside a section move up, since the page has the section's title. Links within the guide lead to the page of their section. Links to other documents,
which are not on the server, become the documents' names."""
import posixpath
import re
import sys

from embed import array

AT = "/admin/help/"


def anchor(title):
    """Returns the anchor of a heading, as forges make it."""
    return re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-")


def linked(text, home, guide):
    """Replaces links by those between pages. guide: the names of its documents"""
    text = re.sub(r"\]\((?:%s)?#([^)]*)\)" % "|".join(map(re.escape, guide)), rf"]({AT}\1)", text)
    return re.sub(r"\[([^\]]*)\]\((?!/|https?:)([^)#]*)[^)]*\)", lambda m: f"{m[1]} (`{posixpath.normpath(posixpath.join(home, m[2]))}`)" if m[2] not in m[1] else m[1], text)


def parts(text):
    """Returns (title, text) of each section, with its subsections."""
    outside = re.sub(r"^```.*?^```", lambda m: re.sub(r"(?m)^#", "\0", m[0]), text, flags=re.M | re.S)  # a comment is no heading
    found = list(re.finditer(r"^(##+) (.*)\n", outside, re.M))
    for i, heading in enumerate(found):
        level = len(heading[1])
        end = next((h.start() for h in found[i + 1 :] if len(h[1]) <= level), len(outside))
        body = re.sub(r"(?m)^#{%d}(#+ )" % level, r"\1", outside[heading.end() : end])
        yield heading[2], body.replace("\0", "#").strip() + "\n"


def main(out, *paths):
    found = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            found += parts(f.read())
    guide = [posixpath.basename(path) for path in paths]
    arrays, entries = [], []
    for number, (title, text) in enumerate(found):
        data = linked(text, "docs", guide).encode()
        arrays.append(array("part_%d" % number, data))
        entries.append('\t{"%s", "%s", part_%d, %d},\n' % (anchor(title), title.replace('"', '\\"'), number, len(data)))
    with open(out, "w", encoding="ascii") as c:
        c.write('#include "server/page/help.h"\n\n' + "".join(arrays))
        c.write("const struct help_part HELP_PARTS[] = {\n" + "".join(entries) + "\t{0},\n};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
