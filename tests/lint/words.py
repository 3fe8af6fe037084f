"""Lists sentences of comments and messages that are hard to read, because they do not begin with the thing that they speak of.

usage: words.py ALLOWED [FILE...]   (C files; ALLOWED has a line "FOLDER NUMBER" for each top folder)

The list is a place to look, not a verdict on each sentence. So a folder may have as many as ALLOWED says. The number only shrinks.
CONTRIBUTING.md, "Plain English", says how we write."""

import collections
import re
import sys

SLACK = 0  # sentences by which a folder may be better than its allowance

COMMENT = re.compile(r"/\*.*?\*/", re.S)
MESSAGE = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"')
OPENS = re.compile(
    r"^(What|Of|Who|Whose|Which|One|Whoever|Whatever|So many|So much|As of|As|Likewise|That|Those|Also|Where|By|Behind|Like|From|Such)\b"
)
FINE = re.compile(r"^(What this|One of|As soon as|Where the|From here|By default|That is|Those are)\b")


def sentences(text):
    """@return [(offset, sentence)] of comments, and of messages of several words"""
    for match in COMMENT.finditer(text):
        said = re.sub(r"\s*\n\s*\*?\s*", " ", match[0][2:-2]).strip(" *-")
        said = re.sub(r"@(param|return)\S*.*", "", said)
        if len(said) >= 15:
            for sentence in re.split(r"(?<=[.;:])\s+(?=[A-Z])", said):
                yield match.start(), sentence
    for match in MESSAGE.finditer(COMMENT.sub(lambda m: " " * len(m[0]), text)):
        if match[1].count(" ") >= 4:
            yield match.start(), match[1]


def main(allowed_path, paths):
    with open(allowed_path) as f:
        allowed = {line.split()[0]: int(line.split()[1]) for line in f if line.strip() and not line.startswith("#")}
    found = collections.defaultdict(list)
    for path in paths:
        folder = path.split("/")[0]
        found[folder] += []
        with open(path, errors="replace") as f:
            text = f.read()
        for offset, sentence in sentences(text):
            if OPENS.match(sentence) and not FINE.match(sentence):
                found[folder].append(f"{path}:{text.count(chr(10), 0, offset) + 1}: {sentence[:120]}")
    for folder, places in sorted(found.items()):
        most = allowed.get(folder, 0)
        if len(places) > most:
            print(*places, sep="\n")
            print(f"{folder}: {len(places)} sentences are hard to read, and {most} are allowed; begin with the thing that is spoken of")
        elif len(places) < most - SLACK:
            print(f"{allowed_path}: {folder} has {len(places)} sentences that are hard to read; lower its {most} to that")


main(sys.argv[1], sys.argv[2:])
