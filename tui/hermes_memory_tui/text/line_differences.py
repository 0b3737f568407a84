"""Compare two lists of lines: what was added, what went, and what only stands elsewhere."""

from __future__ import annotations

import difflib
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LineDifference:
    """A line of a comparison, with its places, from 0: `before` is None for an added line, `after` for a removed one."""

    text: str
    before: int | None
    after: int | None
    moved: bool = False
    """Whether it stands in another order than before among the lines that stayed."""


def diff_lines(before: Sequence[str], after: Sequence[str]) -> list[LineDifference]:
    """Return the lines of both, in the order of `after`; removed ones stand where they stood.

    A line that is in both is never removed and added: it stayed or it moved.
    """
    steps = difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    removed: dict[str, deque[int]] = defaultdict(deque)
    for op, begin, end, _, _ in steps:
        for place in range(begin, end) if op != "equal" else ():
            removed[before[place]].append(place)
    moved = {}
    for op, _, _, begin, end in steps:
        for place in range(begin, end) if op != "equal" else ():
            if removed[after[place]]:
                moved[place] = removed[after[place]].popleft()
    left = set(moved.values())
    lines: list[LineDifference] = []
    for op, begin, end, other, last in steps:
        if op == "equal":
            pairs = zip(range(begin, end), range(other, last), strict=True)
            lines += [LineDifference(before[was], was, now) for was, now in pairs]
            continue
        lines += [LineDifference(before[was], was, None) for was in range(begin, end) if was not in left]
        lines += [LineDifference(after[now], moved.get(now), now, now in moved) for now in range(other, last)]
    return lines
