"""A moving picture of single ones: one SVG whose frames are shown in turn, by CSS alone, wherever an `<img>` is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
BODY = re.compile(r"</style>(.*)</svg>", re.DOTALL)
FONT = re.compile(r"@font-face \{.*?\}", re.DOTALL)
BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')

FADE_S = 0.25

BAND = 64
"""Height of the band below the terminal that shows the keys and says what happens."""

KEY = 'fill="#1b2538" stroke="#8ab4f8" stroke-width="1.5"'
"""Paint of a pressed key."""


@dataclass(frozen=True)
class Frame:
    """A picture as Textual exports it, how long it is shown, the keys that led to it, and what is said of it."""

    svg: str
    seconds: float
    keys: Sequence[str] = ()
    text: str = ""


def join_frames(frames: Sequence[Frame]) -> str:
    """Return one SVG that shows the frames again and again, each faded in over the one before.

    A reader who asks for less motion sees the last frame, which stands still.
    """
    total = sum(frame.seconds for frame in frames)
    box = BOX.search(frames[0].svg)
    assert box is not None
    width, height = float(box[1]), float(box[2])
    fonts = "\n".join(FONT.findall(find_part(STYLE, frames[0].svg)))
    styles, bodies, at = [fonts], [], 0.0
    fade = 100 * FADE_S / total
    for number, frame in enumerate(frames):
        name, is_last = f"frame{number}", number == len(frames) - 1
        first = 100 * at / total
        at += frame.seconds
        if number:  # the first lies below the others, which cover each other, and shows again as the last fades out
            gone = 100 if is_last else 100 - fade + 0.01
            styles.append(
                f".{name} {{ animation: {name} {total:g}s linear infinite; opacity: {int(is_last)} }}\n"
                f"@keyframes {name} {{ 0%, {first:.2f}% {{ opacity: 0 }} {first + fade:.2f}%, {100 - fade:.2f}% {{ opacity: 1 }}"
                f" {gone:.2f}%, 100% {{ opacity: 0 }} }}"
            )
        styles.append(FONT.sub("", find_part(STYLE, frame.svg)).replace("terminal", name))
        picture = find_part(BODY, frame.svg).replace("terminal", name)
        bodies.append(f'<g class="{name}">{picture}{draw_band(frame, name, width, height)}</g>')
    styles.append("@media (prefers-reduced-motion: reduce) { g[class^=frame] { animation: none } }")
    return (
        f'<svg class="rich-terminal" viewBox="0 0 {width:g} {height + BAND:g}" xmlns="http://www.w3.org/2000/svg">\n'
        f"<style>{''.join(styles)}</style>\n{''.join(bodies)}\n</svg>\n"
    )


def draw_band(frame: Frame, name: str, width: float, height: float) -> str:
    """Return the band of a frame: its keys as caps, and what is said of it."""
    x, parts = 24.0, [f'<rect width="{width:g}" height="{BAND}" y="{height:g}" fill="#0e1420"/>']
    for key in frame.keys:
        cap = 28 + 14.0 * len(key)
        parts.append(f'<rect x="{x:g}" y="{height + 10:g}" width="{cap:g}" height="44" rx="8" {KEY}/>')
        parts.append(draw_text(escape(key), name, x + 14, height + 40, "#f6c177"))
        x += cap + 14
    return "".join([*parts, draw_text(escape(frame.text), name, x + 6, height + 40, "#d6deeb")])


def draw_text(text: str, name: str, x: float, y: float, colour: str) -> str:
    style = f"text-anchor: start; font-size: 24px; fill: {colour}"
    return f'<text class="{name}-title" x="{x:g}" y="{y:g}" style="{style}">{text}</text>'


def find_part(pattern: re.Pattern[str], svg: str) -> str:
    """Return what a pattern encloses."""
    found = pattern.search(svg)
    assert found is not None, f"this is not a picture of Textual: {svg[:80]}"
    return found[1]
