"""Recall curves as lines of a terminal, and as a drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from hermes_memory_store.recall_curve.evidence_curve import CurvePoint, RecallCurve

BAR_COLUMNS = 40

WIDTH, HEIGHT, MARGIN = 640, 360, 48
"""Of the drawing, in pixels."""

COLOURS = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#4b5563")
"""Of the lines, told apart by their names as well."""


def format_curve_lines(curve: RecallCurve) -> list[str]:
    """Return a curve as lines of text: a bar for each budget, and the area."""
    head = f"{'tokens':>7}  {'evidence given':<{BAR_COLUMNS + 8}}{'spent':>7}{'p50':>9}{'p95':>9}"
    area = f"{'area':>7}  {curve.area:.3f}  over {curve.cases:,} questions"
    return [head, *map(format_point, curve.points), area]


def format_point(point: CurvePoint) -> str:
    """Return one budget as a line."""
    bar = "█" * round(point.share * BAR_COLUMNS)
    shown = f"{bar:<{BAR_COLUMNS}} {point.share:6.1%} "
    return f"{point.budget:>7,}  {shown}{point.spent:>7,.0f}{point.p50_ms:>6.1f} ms{point.p95_ms:>6.1f} ms"


def draw_curves(curves: Sequence[RecallCurve]) -> str:
    """Return curves as an SVG: tokens on a logarithmic scale, the share of the evidence from 0 to 100 %."""
    budgets = sorted({point.budget for curve in curves for point in curve.points})
    parts = [draw_axes(budgets)]
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        places = [(place_budget(point.budget, budgets), place_share(point.share)) for point in curve.points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        named = escape(f"{curve.name}, area {curve.area:.3f}")
        at = HEIGHT - MARGIN - 14 * (len(curves) - number)
        parts.append(f'<text x="{WIDTH - MARGIN}" y="{at}" text-anchor="end" fill="{colour}">{named}</text>')
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


def draw_axes(budgets: Sequence[int]) -> str:
    """Return the axes: a line for each quarter, and a mark for each budget."""
    parts = []
    for quarter in range(5):
        y = place_share(quarter / 4)
        parts.append(f'<line x1="{MARGIN}" y1="{y}" x2="{WIDTH - MARGIN}" y2="{y}" stroke="#d1d5db"/>')
        parts.append(f'<text x="{MARGIN - 6}" y="{y + 4}" text-anchor="end">{25 * quarter} %</text>')
    for budget in budgets:
        x = place_budget(budget, budgets)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">{budget:,}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">tokens given</text>')
    return "\n".join(parts)


def place_budget(budget: int, budgets: Sequence[int]) -> float:
    """Return the pixels from the left of a budget."""
    if len(budgets) < 2:
        return WIDTH / 2
    share = math.log(budget / budgets[0]) / math.log(budgets[-1] / budgets[0])
    return MARGIN + share * (WIDTH - 2 * MARGIN)


def place_share(share: float) -> float:
    """Return the pixels from the top of a share."""
    return HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN)
