"""Chooses tests of a build folder by words, and says what they need. Prints four lines: names of the tests, names of those of the
suite `aside` among them, their suites, and the targets of ninja that they run.

    choose.py BUILD WORD...    WORD: a suite, a test, or a file of tests; -SUITE: without that suite

A word that names nothing is printed after `unknown:` on a fifth line; the other words still count.
"""

import json
import sys
from pathlib import Path


def suites_of(test):
    return {suite.split(":")[-1] for suite in test["suite"]}


def is_meant(test, word):
    """Does a word select this test? A path selects tests that have this file as an argument or are built from it. Any other word is a suite or a test."""
    if "/" not in word:
        return word in suites_of(test) or word == test["name"]
    path = Path(word)
    if any(Path(part).parts[-2:] == path.parts[-2:] for part in test["cmd"]):
        return True
    folders = path.parts[1:2] if path.parts[0] == "tests" else (path.parent.name,)
    return path.stem in (test["name"], f"test_{test['name']}") and any(folder in Path(part).parts for folder in folders for part in test["cmd"])


def chosen(tests, words):
    left_out = {word[1:] for word in words if word.startswith("-")}
    found, unknown = [], []
    for word in words:
        if word.startswith("-"):
            continue
        meant = [test for test in tests if is_meant(test, word)]
        found += [test for test in meant if test not in found and not suites_of(test) & left_out]
        unknown += [] if meant else [word]
    return found, unknown


def targets_of(build, tests):
    """Paths of the targets of ninja that the tests run. meson names them by its own ids."""
    wanted = {depend for test in tests for depend in test["depends"]}
    paths = []
    for target in json.loads((build / "meson-info" / "intro-targets.json").read_text()):
        if target["id"] in wanted:
            paths += [str(Path(name).resolve().relative_to(build.resolve())) for name in target["filename"]]
    return sorted(paths)


def main():
    build = Path(sys.argv[1])
    tests = json.loads((build / "meson-info" / "intro-tests.json").read_text())
    found, unknown = chosen(tests, sys.argv[2:])
    print(*dict.fromkeys(test["name"] for test in found))
    print(*dict.fromkeys(test["name"] for test in found if "aside" in suites_of(test)))
    print(*sorted({suite for test in found for suite in suites_of(test)}))
    print(*targets_of(build, found))
    if unknown:
        print("unknown:", *unknown)


if __name__ == "__main__":
    main()
