"""Draw the architecture picture from the imports, and list the packages from their docstrings.

`python -m tests.tools.reference` writes `docs/architecture.svg`; `tests/e2e/test_docs.py` compares it with the code.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from tests.tools import structure

PICTURE = structure.ROOT / "docs" / "architecture.svg"

TITLES = {
    "hermes_memory_tui": ("tui", "the inspector and the command line"),
    "hermes_memory_bridge": ("bridge", "the daemon that agents talk to, over MCP"),
    "hermes_memory_store": ("store", "the memory: one SQLite file"),
    "hermes_memory_themes": ("themes", "agent identities and their policies"),
}

WIDTH, MARGIN, BOX, ROW, GAP, HEAD, FLOOR_GAP = 1080, 24, 34, 64, 14, 40, 36
LETTER = 7.3
STYLE = """
svg { background: #ffffff }
.floor { fill: #f4f6f8; stroke: #d0d7de } .box { fill: #ffffff; stroke: #57606a } .file { fill: #eaeef2; stroke: #8c959f }
.title { fill: #1f2328; font: bold 17px sans-serif } .note, .nested { fill: #57606a; font: 13px sans-serif }
.name { fill: #1f2328; font: 13px monospace; text-anchor: middle }
.arrow { fill: none; stroke: #0969da; stroke-opacity: .5 } .between { stroke: #1f2328; stroke-width: 2 } .head { fill: #0969da }
@media (prefers-color-scheme: dark) {
svg { background: #0d1117 }
.floor { fill: #161b22; stroke: #30363d } .box { fill: #0d1117; stroke: #8b949e } .file { fill: #21262d; stroke: #6e7681 }
.title, .name { fill: #e6edf3 } .note, .nested { fill: #9da7b1 }
.arrow { stroke: #58a6ff } .between { stroke: #e6edf3 } .head { fill: #58a6ff }
}
"""


@dataclass(frozen=True)
class FloorPlan:
    """One room as the picture shows it: its boxes by row, top row first, and the arrows between them."""

    rows: list[list[str]]
    arrows: list[tuple[str, str]]


def packages() -> dict[str, str]:
    """Every package of the four rooms with the first sentence of its docstring."""
    return {
        module: first_sentence(structure.docstring(module) or "")
        for module, file in structure.source_files().items()
        if file.stem == "__init__"
    }


def first_sentence(text: str) -> str:
    """The text up to the first full stop that ends a sentence, on one line."""
    line = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", line, maxsplit=1)[0]


def floor_plan(room: str) -> FloorPlan:
    """Arrange a room so that every arrow points down: its folders, and the files that stand beside them."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for module, targets in structure.imports().items():
        here = box_of(room, module)
        if here is not None and here != "__main__":
            reached = {box for target in targets if (box := box_of(room, target)) is not None}
            arrows[here] |= reached - {here}
    together = {
        box: tuple(circle)
        for circle in structure.circles({box: frozenset(to) for box, to in arrows.items()})
        for box in circle
    }
    down = {box: {target for target in to if target not in together.get(box, ())} for box, to in arrows.items()}
    level: dict[str, int] = {}

    def level_of(box: str) -> int:
        if box not in level:
            side_by_side = together.get(box, (box,))
            depth = 1 + max((level_of(target) for one in side_by_side for target in down.get(one, ())), default=-1)
            level.update(dict.fromkeys(side_by_side, depth))
        return level[box]

    for box in sorted(arrows):
        level_of(box)
    short = [(here, there) for here in sorted(down) for there in sorted(direct_targets(down, here))]
    short += [(here, there) for here in sorted(arrows) for there in sorted(arrows[here] - down[here])]
    rows = [sorted(box for box in level if level[box] == row) for row in sorted(set(level.values()), reverse=True)]
    return FloorPlan(ordered_rows(rows, short), short)


def box_of(room: str, module: str) -> str | None:
    """The box that holds a module: its folder, its file, or one box for all files that import no folder of the room."""
    if not module.startswith(f"{room}.") or module == room:
        return None
    first = module.removeprefix(f"{room}.").partition(".")[0]
    return "foundation" if f"{room}.{first}" in foundation_files(room) else first


def foundation_files(room: str) -> frozenset[str]:
    """The files beside the folders of a room that reach no folder of it."""
    files = structure.source_files()
    beside = {module for module in files if module.rpartition(".")[0] == room and files[module].stem != "__init__"}
    reached = {
        module: {target for target in structure.imports()[module] if target.startswith(f"{room}.")} for module in beside
    }
    low = {module for module in beside if reached[module] <= beside}
    while rest := {module for module in low if not reached[module] <= low}:
        low -= rest
    return frozenset(low)


def direct_targets(arrows: dict[str, set[str]], box: str) -> set[str]:
    """The targets of a box that no other target of it reaches, so that the picture shows each way once."""

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        left = [start]
        while left:
            for target in arrows.get(left.pop(), set()) - found:
                found.add(target)
                left.append(target)
        return found

    return arrows.get(box, set()) - {far for near in arrows[box] for far in reached(near)}


def ordered_rows(rows: list[list[str]], arrows: list[tuple[str, str]]) -> list[list[str]]:
    """Order each row by the middle of what its boxes are joined to, so that few arrows cross."""
    neighbours = defaultdict(list)
    for here, there in arrows:
        neighbours[here].append(there)
        neighbours[there].append(here)
    for _ in range(8):
        place = {box: (index + 0.5) / len(row) for row in rows for index, box in enumerate(row)}
        middle = {
            box: sum(place[one] for one in neighbours[box]) / len(neighbours[box]) if neighbours[box] else place[box]
            for box in place
        }
        rows = [sorted(row, key=lambda box: (middle[box], box)) for row in rows]
    return rows


def room_arrows() -> list[tuple[str, str]]:
    """Which room imports which, without the ways that another room already shows."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for module, targets in structure.imports().items():
        here = module.partition(".")[0]
        arrows[here] |= {target.partition(".")[0] for target in targets} - {here}
    return [(here, there) for here in sorted(arrows) for there in sorted(direct_targets(arrows, here))]


def to_svg() -> str:
    """The picture: four floors, in each its folders from top to bottom, arrows from what imports to what is imported."""
    floors: list[str] = []
    tops: dict[str, tuple[int, int]] = {}
    y = MARGIN
    for room in TITLES:
        plan = floor_plan(room)
        height = HEAD + ROW * len(plan.rows)
        tops[room] = (y, y + height)
        floors += draw_floor(room, plan, y, height)
        y += height + FLOOR_GAP
    between = []
    for here, there in room_arrows():
        between.append(
            f'<path class="arrow between" marker-end="url(#head)" d="M {WIDTH // 2} {tops[here][1]} V {tops[there][0] - 2}"/>'
        )
    total = y - FLOOR_GAP + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" width="{WIDTH}" height="{total}" role="img">',
            "<title>The four rooms of hermes-memory-tui and their packages</title>",
            f"<style>{STYLE}</style>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
            ' markerUnits="userSpaceOnUse" orient="auto"><path class="head" d="M 0 0 L 8 4 L 0 8 z"/></marker></defs>',
            *floors,
            *between,
            "</svg>",
            "",
        ]
    )


def draw_floor(room: str, plan: FloorPlan, top: int, height: int) -> Iterator[str]:
    """One room: its frame, its arrows, and its boxes over them."""
    title, note = TITLES[room]
    yield f'<rect class="floor" x="{MARGIN}" y="{top}" width="{WIDTH - 2 * MARGIN}" height="{height}" rx="8"/>'
    yield (
        f'<text class="title" x="{MARGIN + 16}" y="{top + 26}">{title}'
        f'<tspan class="note" dx="12">{escape(note)}</tspan></text>'
    )
    places = {}
    for number, row in enumerate(plan.rows):
        widths = [box_width(room, box) for box in row]
        gap = min(60.0, (WIDTH - 2 * MARGIN - sum(widths)) / (len(row) + 1))
        x = (WIDTH - sum(widths) - gap * (len(row) - 1)) / 2
        for box, width in zip(row, widths, strict=True):
            places[box] = (round(x, 1), top + HEAD + ROW * number, width)
            x += width + gap
    for here, there in plan.arrows:
        (x1, y1, w1), (x2, y2, w2) = places[here], places[there]
        start, end, y1 = x1 + w1 / 2, x2 + w2 / 2, y1 + BOX
        bend = (y2 - y1) / 2
        yield (
            f'<path class="arrow" marker-end="url(#head)" d="M {start:.0f} {y1} C {start:.0f} {y1 + bend:.0f}'
            f' {end:.0f} {y2 - bend:.0f} {end:.0f} {y2}"/>'
        )
    for box, (x, y, width) in places.items():
        kind = "box" if f"{room}.{box}" in packages() else "file"
        yield f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{BOX}" rx="6"/>'
        yield f'<text class="name" x="{x + width / 2:.1f}" y="{y + 22}">{escape(box_label(room, box))}</text>'


def box_label(room: str, box: str) -> str:
    """What stands in a box: a folder with a slash, a file with its ending, or the names of the files at the bottom."""
    if box == "foundation":
        return ", ".join(sorted(file.rpartition(".")[2] for file in foundation_files(room)))
    return f"{box}/" if f"{room}.{box}" in packages() else f"{box}.py"


def box_width(room: str, box: str) -> int:
    return round(len(box_label(room, box)) * LETTER * 1.08) + 22


def package_table() -> str:
    """A table of every package and what it is for."""
    lines = []
    for room, (folder, _) in reversed(TITLES.items()):
        lines += [f"**`{folder}/{room}/`** · {packages()[room]}", "", "| folder | what it is for |", "| --- | --- |"]
        inner = {module: text for module, text in packages().items() if module.startswith(f"{room}.")}
        if not inner:
            del lines[-2:]
            lines[-1:] = [""]
        lines += [
            f"| `{module.removeprefix(f'{room}.').replace('.', '/')}/` | {text} |"
            for module, text in sorted(inner.items())
        ]
        lines += [""] if inner else []
    return "\n".join(lines)
