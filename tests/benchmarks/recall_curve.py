"""How much of what answers a question of LoCoMo is given at one budget after another, with the model of this machine or without.

    python -m tests.benchmarks.recall_curve locomo.json [--kind facts|turns|both] [--near-links] [--words] [--svg curve.svg]

Each conversation is put into a temporary store of its own, and asked as `recall ask` asks. `--kind` says what it is kept as;
`--near-links` that the messages behind a fact are found as a store finds them, not as the file says. `--svg` draws the curves
of all files that are named.

`words` is the share of the answer's content words that the question does not have, `all` the share of questions with all of
them; constants are chosen by these. `evidence` counts a message as far as its text is given, `told` as soon as any of it is.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import astuple
from pathlib import Path
from xml.sax.saxutils import escape

from hermes_memory_bridge.embedding.local_nearest import open_local_nearest
from hermes_memory_store.context.given import WORDS_ONLY
from hermes_memory_store.memory_tests.evidence_curve import (
    BUDGETS,
    RecallCurve,
    ShareAt,
    measure_curve,
)
from tests.benchmarks.conversation_file import read_conversations
from tests.benchmarks.conversation_store import open_conversation_store
from tests.benchmarks.timing import table

KINDS = {"facts": ("fact",), "turns": ("turn",), "both": ("fact", "turn")}

WIDTH, HEIGHT, MARGIN = 640, 360, 48
"""Of the drawing, in pixels."""

COLOURS = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#4b5563")
"""Of the lines, told apart by their names as well."""


def main() -> None:
    """Measure each file and print its curve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--budget", dest="budgets", type=int, action="append", help=f"again for more  {list(BUDGETS)}")
    parser.add_argument("--kind", choices=list(KINDS), default="both")
    parser.add_argument("--near-links", action="store_true")
    parser.add_argument("--words", action="store_true", help="leave the model of this machine out")
    parser.add_argument("--svg", type=Path, help="also draw the curves into this file")
    options = parser.parse_args()
    budgets = sorted(options.budgets or BUDGETS)
    curves = [measure_file(file, budgets, options.kind, options.near_links, options.words) for file in options.files]
    for curve in curves:
        slowest = max(point.p95_ms for point in curve.points)
        print(f"\n{curve.name}: area {curve.area:.3f} over {curve.cases:,} questions, p95 up to {slowest:.0f} ms\n")
        rows = [
            (point.budget, *(f"{share:.3f}" for share in astuple(point.shares)), f"{point.spent:.0f}")
            for point in curve.points
        ]
        table(("tokens", "words", "all", "evidence", "told", "spent"), rows)
    if options.svg is not None:
        options.svg.write_text(draw_curves(curves), encoding="utf-8")


def measure_file(file: Path, budgets: Sequence[int], kind: str, near_links: bool, by_words: bool) -> RecallCurve:
    """Measure a file of conversations."""
    questions: list[ShareAt] = []
    ranked_by = WORDS_ONLY
    with ExitStack() as opened:
        for conversation in read_conversations(file):
            here = opened.enter_context(
                open_conversation_store(
                    conversation, facts=kind != "turns", turns=kind != "facts", are_links_named=not near_links
                )
            )
            nearest = None if by_words else open_local_nearest(here.store, create=True)
            if nearest is not None:
                opened.enter_context(nearest).fill()
                ranked_by = nearest.ranked_by
            questions += [here.to_question(one, KINDS[kind], nearest) for one in conversation.questions]
        return measure_curve(f"{file.stem}, {kind}, {ranked_by}", questions, budgets)


def draw_curves(curves: Sequence[RecallCurve]) -> str:
    """Return curves as an SVG: tokens on a logarithmic scale, the share of the answer's words from 0 to 100 %."""
    budgets = sorted({point.budget for curve in curves for point in curve.points})
    parts = [draw_axes(budgets)]
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        places = [
            (place_budget(point.budget, budgets), place_share(point.shares.answer_words)) for point in curve.points
        ]
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


if __name__ == "__main__":
    main()
