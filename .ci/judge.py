"""Compares lines of a test run (standard input) with the lists beside this file, and prints the lines for which CI must
fail.

    judge.py skips      lines `skipped: PROGRAM: NUMBER: REASON`; .ci/skips has what is allowed
    judge.py unsteady   lines `unsteady: FILE::TEST`; .ci/unsteady has those that were seen before
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent


def entries(name):
    lines = (HERE / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def judge_skips(lines):
    """An entry is a number, and an expression that matches `PROGRAM: REASON`. The number bounds the skips of one program in one run."""
    allowed = [line.split(" ", 1) for line in entries("skips")]
    for line in lines:
        _, program, number, reason = line.split(": ", 3)
        fits = [int(most) for most, pattern in allowed if re.search(pattern, f"{program}: {reason}")]
        if int(number) > max(fits, default=0):
            yield line


def judge_unsteady(lines):
    known = {line.split()[0] for line in entries("unsteady")}
    return [line for line in lines if line.removeprefix("unsteady: ").split()[0] in known]


if __name__ == "__main__":
    begins, judge = {"skips": ("skipped: ", judge_skips), "unsteady": ("unsteady: ", judge_unsteady)}[sys.argv[1]]
    sys.stdin.reconfigure(errors="replace")
    lines = [line.rstrip("\n") for line in sys.stdin]
    for line in judge([line for line in lines if line.startswith(begins)]):
        print(line)
