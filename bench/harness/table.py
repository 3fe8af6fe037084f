"""Rows of figures, written as tables into RESULTS.md; and the columns that most scenarios have."""

import json
from pathlib import Path

from harness.measure import MISSED, REACHED, Goal, Spread, median

RESULTS = Path(__file__).resolve().parents[1] / "RESULTS.md"


def markdown(rows):
    """Returns the rows as a table. Its columns are the keys of all rows, in the order in which they first came. A row without a key leaves the cell
    empty."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(str(row.get(column, "")) for column in columns) + " |" for row in rows]


def one_line(row):
    return "  " + "; ".join(f"{key}: {value}" for key, value in row.items())


def json_line(name, row):
    """Returns a row as JSON: its scenario, and its cells as text. A spread is an object of numbers."""
    cells = {key: vars(value) if isinstance(value, Spread) else str(value) for key, value in row.items()}
    return json.dumps({"scenario": name, **cells})


def _place(text, name):
    """Finds the lines of a scenario in RESULTS.md, which are between two comments; people write the words around them. A new scenario gets its place at the
    end. @return the text, and where the lines begin and end in it"""
    begin, end = f"<!-- {name}: written by bench/run -->\n", "<!-- end -->"
    if begin not in text:
        text += f"\n## {name}\n\n{begin}{end}\n"
    at = text.index(begin) + len(begin)
    return text, at, text.index(end, at)


def replace(name, lines):
    text, begin, end = _place(RESULTS.read_text(), name)
    RESULTS.write_text(text[:begin] + "\n".join(lines) + "\n" + text[end:])


def kept(name, column):
    """@return {first cell of a row: its cell in this column} of a scenario's table in RESULTS.md"""
    text, begin, end = _place(RESULTS.read_text(), name)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text[begin:end].splitlines() if line.startswith("|")]
    at = rows[0].index(column) if rows and column in rows[0] else None
    return {row[0]: row[at] for row in rows[2:]} if at else {}


def summary(names):
    """Yields rows that sum up the goals in the scenarios' tables in RESULTS.md."""
    for name in names:
        text, begin, end = _place(RESULTS.read_text(), name)
        lines = [line for line in text[begin:end].splitlines() if line.startswith("|")]
        missed = [line.split(" | ")[0].strip("| ") for line in lines if MISSED in line]
        reached = sum(line.count(REACHED) for line in lines)
        if reached or missed:
            missed = "; ".join(f"{what} ({missed.count(what)})" for what in dict.fromkeys(missed))
            yield {"scenario": f"[{name}](#{name})", "goals reached": reached, "missed by (rows)": missed or "none"}


def _syncs(runs):
    return median(r.syncs / r.requests for r in runs)


def load_row(head, sides, unit="requests/s", goals=()):
    """A row for a load on cairnd and on the servers that it is compared with. @param sides  {name: [Run]}, with "cairnd"; the i-th runs of all sides are of
    the same round @param goals  [(name of a side, least ratio of rates)]"""
    ours = sides["cairnd"]
    rate = (lambda run: run.mb_s) if unit == "MB/s" else (lambda run: run.rate)
    tail = (median(getattr(r, name) for r in ours) / 1000 for name in ("p50_us", "p99_us", "p999_us"))
    row = {
        **head,
        unit: f"{median(rate(r) for r in ours):,.0f}",
        "p50 / p99 / p99.9 ms": " / ".join(f"{ms:,.0f}" if ms >= 100 else f"{ms:.3g}" for ms in tail),
        "CPU µs a request": f"{median(r.cpu_us for r in ours):,.0f}",
        "peak RSS / anonymous MiB": f"{max(r.rss_mib for r in ours):.0f} / {max(r.anon_mib for r in ours):.0f}",
    }
    if ours[-1].syncs is not None:
        row["syncs a request"] = f"{_syncs(ours):.2g}"
        row["syncs/s"] = f"{median(r.syncs / r.seconds for r in ours):,.0f}"
        row["disk's own fdatasyncs/s"] = f"{median(r.disk_syncs for r in ours):,.0f}"
    ratios = {}
    for name, theirs in sides.items():
        if name == "cairnd":
            continue
        ratios[name] = row[f"rate, of {name}'s"] = Spread(rate(a) / rate(b) for a, b in zip(ours, theirs))
        row[f"CPU of {name}, of ours"] = f"{median(b.cpu_us / a.cpu_us for a, b in zip(ours, theirs)):.2f}"
        if ours[-1].syncs is not None and theirs[-1].syncs is not None:
            row[f"syncs a request of {name}"] = f"{_syncs(theirs):.2g}"
        row[f"p99, of {name}'s"] = f"{median(a.p99_us / max(1, b.p99_us) for a, b in zip(ours, theirs)):.2f}"
    row["cores used by others"] = f"{median(r.foreign for runs in sides.values() for r in runs):.2f}"
    if goals:
        row["goal"] = Goals(Goal(ratios[name], wanted, f"of {name}") for name, wanted in goals if name in ratios)
    return row


class Goals(list):
    """Several goals of a row."""

    def __str__(self):
        return ", ".join(map(str, self))
