"""A moving picture of single ones: one SVG whose frames are shown in turn, by CSS alone, wherever an `<img>` is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
BODY = re.compile(r"</style>(.*)</svg>", re.DOTALL)
FONT = re.compile(r"@font-face \{.*?\}", re.DOTALL)
BOX = re.compile(r'viewBox="([^"]+)"')


@dataclass(frozen=True)
class Frame:
    """A picture as Textual exports it, and how long it is shown."""

    svg: str
    seconds: float


def join_frames(frames: Sequence[Frame]) -> str:
    """Return one SVG that shows the frames again and again.

    A reader who asks for less motion sees the last frame, which stands still.
    """
    total = sum(frame.seconds for frame in frames)
    box = BOX.search(frames[0].svg)
    assert box is not None
    fonts = "\n".join(FONT.findall(find_part(STYLE, frames[0].svg)))
    styles, bodies, at = [fonts], [], 0.0
    for number, frame in enumerate(frames):
        name, last = f"frame{number}", number == len(frames) - 1
        first_pct, end_pct = 100 * at / total, 100 * (at + frame.seconds) / total
        at += frame.seconds
        styles.append(
            f".{name} {{ animation: {name} {total:g}s step-end infinite; visibility: {'visible' if last else 'hidden'} }}\n"
            f"@keyframes {name} {{ 0% {{ visibility: {'hidden' if first_pct else 'visible'} }} "
            f"{first_pct:.3f}% {{ visibility: visible }} "
            + ("" if last else f"{end_pct:.3f}% {{ visibility: hidden }} ")
            + "}"
        )
        styles.append(FONT.sub("", find_part(STYLE, frame.svg)).replace("terminal", name))
        bodies.append(f'<g class="{name}">{find_part(BODY, frame.svg).replace("terminal", name)}</g>')
    styles.append("@media (prefers-reduced-motion: reduce) { g[class^=frame] { animation: none } }")
    return (
        f'<svg class="rich-terminal" viewBox="{box[1]}" xmlns="http://www.w3.org/2000/svg">\n'
        f"<style>{''.join(styles)}</style>\n{''.join(bodies)}\n</svg>\n"
    )


def find_part(pattern: re.Pattern[str], svg: str) -> str:
    """Return what a pattern encloses."""
    found = pattern.search(svg)
    assert found is not None, f"this is not a picture of Textual: {svg[:80]}"
    return found[1]
