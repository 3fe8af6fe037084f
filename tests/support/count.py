"""Add up what the test programs of a `meson test` run counted: prints 'N passed, N failed' alone on the last line.

A Check program counts its checks, a pytest file its tests, anything else is one test. A program that was killed, or failed
without saying so, is one failure more. Exits 1 when anything failed or nothing ran.

    count.py [--more TEXT] LOG...    TEXT: stands before the last line
Each reason to skip has a line `skipped: PROGRAM: NUMBER: REASON`, which .ci/skips is about.
"""

import json
import re
import sys
from pathlib import Path

CHECK = re.compile(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)", re.M)
PYTEST = re.compile(r"^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in [0-9.]+s", re.M)
SKIPPED = re.compile(r"^SKIPPED \[(\d+)\] (.*)$", re.M)
WHAT_FAILED = re.compile(r"^(?:FAILED |ERROR |E   +).+|^.+:\d+:[FE]:.+|^.+: (?:error|warning): .+", re.M)  # of pytest, Check, a compiler
FIGURES = re.compile(r"^failover: .+", re.M)  # figures that a run exists to print
MOST_REASONS, REASON_CHARACTERS = 12, 300
UNSTEADY = re.compile(r"^unsteady: .+", re.M)  # tests that failed, and passed when they were run again
LINES = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)


def name_of(test):
    """The name of a test, from meson's `PROJECT:SUITE / NAME`."""
    return test["name"].split(" / ")[-1]


def counts(test):
    """(passed, failed, skipped) of one program."""
    out = test.get("stdout") or ""
    passed = failed = skipped = 0
    for checks, failures, errors in CHECK.findall(out):
        failed += int(failures) + int(errors)
        passed += int(checks) - int(failures) - int(errors)
    for summary in PYTEST.findall(out):
        for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", summary):
            passed += int(number) if word == "passed" else 0
            failed += int(number) if word in ("failed", "error") else 0
            skipped += int(number) if word == "skipped" else 0
    for own in LINES.findall(out):
        passed += int(own[0])
        failed += int(own[1])
        skipped += int(own[2] or 0)
    if test["result"] == "SKIP":
        return passed, failed, skipped or 1
    unsteady = len(UNSTEADY.findall(out))
    passed, failed = passed + unsteady, failed - unsteady
    if test["result"] in ("OK", "EXPECTEDFAIL"):
        return passed or (0 if skipped else 1), failed, skipped
    return passed, failed or 1, skipped


def reasons(test):
    """Returns a dozen lines with the reasons why a program failed or was unsteady. The end of a log is kept when the log is cut, so the reasons go
    there, without the passed tests."""
    out = (test.get("stdout") or "") + "\n" + (test.get("stderr") or "")
    said = list(dict.fromkeys(WHAT_FAILED.findall(out))) or [line for line in out.splitlines() if line.strip()]
    return [line.strip()[:REASON_CHARACTERS] for line in said[-MOST_REASONS:]]


def skips(test):
    """Returns [(number of tests, reason)] of the skipped tests."""
    out = test.get("stdout") or ""
    if test["result"] == "SKIP":
        lines = (out.strip() or (test.get("stderr") or "").strip()).splitlines()
        return [(1, lines[-1] if lines else "no reason given")]
    found = {}
    for number, reason in SKIPPED.findall(out):
        found[reason] = found.get(reason, 0) + int(number)
    return sorted((number, reason) for reason, number in found.items())


def main():
    total, logs, more = [0, 0, 0], sys.argv[1:], ""
    if logs[:1] == ["--more"]:
        more, logs = logs[1], logs[2:]
    for path in map(Path, logs):
        if not path.exists():
            print(f"failed: there is no {path}")
            total[1] += 1
            continue
        for result in path.read_text().splitlines():
            test = json.loads(result)
            name, one = name_of(test), counts(test)
            total = [a + b for a, b in zip(total, one)]
            if one[1]:
                print(f"failed: {name} ({test['result']})")
                for reason in reasons(test):
                    print(f"failed: {name}: {reason}")
            unsteady = UNSTEADY.findall(test.get("stdout") or "")
            for line in FIGURES.findall(test.get("stdout") or "") + unsteady:
                print(line)
            for reason in reasons(test) if unsteady else []:
                print(f"unsteady: {name}: {reason}")
            for number, reason in skips(test):
                print(f"skipped: {name}: {number}: {reason}")
    passed, failed, skipped = total
    print(more)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
