#!/usr/bin/env python3
"""Turn the paragraphs of a document into a C source, each under the name that links to it have: embed_help.py OUT.c operations.md

A paragraph's own headings move up, since the page has its title; links inside the document lead to the page of their paragraph, and
those to other documents, which are not on the server, say where they are."""
import posixpath
import re
import sys

from embed import array

AT = "/admin/help/"


def anchor(title):
    """As forges make them."""
    return re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-")


def linked(text, home):
    text = re.sub(r"\]\(#([^)]*)\)", rf"]({AT}\1)", text)
    return re.sub(r"\[([^\]]*)\]\((?!/|https?:)([^)#]*)[^)]*\)", lambda m: f"{m[1]} (`{posixpath.normpath(posixpath.join(home, m[2]))}`)" if m[2] not in m[1] else m[1], text)


def parts(text):
    """(level, title, text) of each paragraph, with those below it."""
    outside = re.sub(r"^```.*?^```", lambda m: re.sub(r"(?m)^#", "\0", m[0]), text, flags=re.M | re.S)  # a comment is no heading
    found = list(re.finditer(r"^(##+) (.*)\n", outside, re.M))
    for i, heading in enumerate(found):
        level = len(heading[1])
        end = next((h.start() for h in found[i + 1 :] if len(h[1]) <= level), len(outside))
        body = re.sub(r"(?m)^#{%d}(#+ )" % level, r"\1", outside[heading.end() : end])
        yield heading[2], body.replace("\0", "#").strip() + "\n"


def main(out, path):
    with open(path, encoding="utf-8") as f:
        found = list(parts(f.read()))
    arrays, entries = [], []
    for number, (title, text) in enumerate(found):
        data = linked(text, "docs").encode()
        arrays.append(array("part_%d" % number, data))
        entries.append('\t{"%s", "%s", part_%d, %d},\n' % (anchor(title), title.replace('"', '\\"'), number, len(data)))
    with open(out, "w", encoding="ascii") as c:
        c.write('#include "server/page/help.h"\n\n' + "".join(arrays))
        c.write("const struct help_part HELP_PARTS[] = {\n" + "".join(entries) + "\t{0},\n};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
