"""A chart of a scenario's ratios, as SVG: a dot for each figure, a line from its lowest to its highest round, and a mark for its goal. It is written by
hand, because a library for plots would be the largest thing that the benchmarks need."""

import math
import re
from html import escape
from pathlib import Path

from harness.measure import Goal, Spread

CHARTS = Path(__file__).resolve().parents[1] / "charts"
RATIO = re.compile(r"(?:rate|speed), of (.+)'s")
COLOURS = ("#1b6ca8", "#c4501b", "#3b8132", "#7d3c98")
WIDTH, LABELS, MARGIN, ROW, TOP = 960, 440, 20, 26, 64


def _points(rows):
    """@return [(label of the row, [(side, Spread, goal or None)])] of the rows that have ratios"""
    found = []
    for row in rows:
        goals = row.get("goal", [])
        goals = [goals] if isinstance(goals, Goal) else goals
        points = []
        for column, value in row.items():
            ratio = RATIO.fullmatch(column)
            if ratio and isinstance(value, Spread):
                goal = next((g.wanted for g in goals if g.what == f"of {ratio[1]}"), None)
                points.append((ratio[1], value, goal))
        if points:
            label = str(next(iter(row.values())))
            found.append((label + (f"; {row['connections']} conn." if "connections" in row else ""), points))
    return found


class _Axis:
    """Places ratios on a logarithmic axis to the base of two, which always includes 1."""

    def __init__(self, values):
        self.least = math.floor(math.log2(min(1, *values)))
        self.most = max(self.least + 1, math.ceil(math.log2(max(1, *values))))

    def x(self, ratio):
        share = (math.log2(ratio) - self.least) / (self.most - self.least)
        return LABELS + share * (WIDTH - LABELS - MARGIN)

    def ticks(self):
        return [2.0**power for power in range(self.least, self.most + 1)]


def _text(x, y, words, anchor="start", colour="#222", size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{escape(words)}</text>'


def _line(x1, y1, x2, y2, colour, width=1.0):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def _grid(axis, bottom):
    for tick in axis.ticks():
        yield _line(axis.x(tick), TOP - 8, axis.x(tick), bottom, "#222" if tick == 1 else "#ddd")
        yield _text(axis.x(tick), TOP - 12, f"{tick:g}", "middle", "#666")


def _point(axis, y, colour, value, goal):
    if goal:
        yield _line(axis.x(goal), y - 7, axis.x(goal), y + 7, colour, 3)
    yield _line(axis.x(value.low), y, axis.x(value.high), y, colour)
    hint = escape(str(value) + (f", goal {goal:g}" if goal else ""))
    yield f'<circle cx="{axis.x(value.median):.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{hint}</title></circle>'


def svg(title, rows):
    """@return the chart as SVG; None when no row has a ratio"""
    points = _points(rows)
    if not points:
        return None
    sides = list(dict.fromkeys(side for _, of in points for side, _, _ in of))
    colours = {side: COLOURS[i % len(COLOURS)] for i, side in enumerate(sides)}
    values = [v for _, of in points for _, s, goal in of for v in (s.low, s.high, goal or 1)]
    axis, bottom = _Axis([v for v in values if v > 0]), TOP + ROW * len(points)
    out = [_text(MARGIN, 22, title, size=14), *_grid(axis, bottom)]
    legend = LABELS
    for side, colour in colours.items():
        out.append(f'<circle cx="{legend}" cy="18" r="4" fill="{colour}"/>' + _text(legend + 8, 22, f"of {side}"))
        legend += 40 + 7 * len(side) + 20
    out.append(_text(legend, 22, "| goal", colour="#666"))
    for i, (label, of) in enumerate(points):
        y = TOP + ROW * i + ROW / 2
        out.append(_text(LABELS - 14, y + 4, label, "end"))
        for k, (side, value, goal) in enumerate(of):
            out += _point(axis, y + 5 * (k - (len(of) - 1) / 2), colours[side], value, goal)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom + MARGIN}" font-family="sans-serif">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *out, "</svg>", ""])


def write(name, rows):
    """Writes the chart of a scenario, if there is one. @return lines of Markdown that show it"""
    chart = svg(f"{name}: speed of cairnd", rows)
    if not chart:
        return []
    CHARTS.mkdir(exist_ok=True)
    (CHARTS / f"{name}.svg").write_text(chart)
    return ["", f"![The ratios of this table, with their spread](charts/{name}.svg)"]
