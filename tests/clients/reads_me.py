"""Reads the blocks of commands in README.md."""

import re

import cairn
import pytest

PAGE = (cairn.ROOT / "README.md").read_text()
SECTIONS = {s.split("\n", 1)[0]: s for s in re.split(r"(?m)^## ", PAGE)[1:]}


def blocks(section):
    """The blocks of a section in order: [(commands, the output that the page shows, or None)]"""
    found = []
    for kind, text in re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", SECTIONS[section]):
        if kind == "console":
            for command, output in re.findall(r"(?m)^\$ (.*)\n((?:(?!\$ ).*\n)*)", text):
                found.append((command, output))
        elif kind == "sh":
            lines = re.sub(r"\\\n *", "", text).splitlines()  # a backslash at the end joins two
            found += [(re.sub(r" +# .*", "", line), None) for line in lines]
        else:
            pytest.fail(f"{section}: a block of kind {kind!r}, of which no line is typed")
    return found
