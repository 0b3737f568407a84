"""Colour palettes of the inspector; a *theme* is an agent's identity, never a colour scheme.

Every colour in the app is one of these variables, so Textual's own schemes and the terminal's colours work as
well.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import BUILTIN_THEMES
from textual.theme import Theme as Look

from hermes_memory_store.errors import ArgumentError

DEFAULT_LOOK = "hermes"

MARKS = 8
"""How many hues tell themes apart (`$mark-0` … `$mark-7`); a theme's is the place of its name in the store."""

VARIABLES = {
    "hot": "$success",
    "cold": "$secondary",
    "calm": "$success",
    "merge": "$warning",
    "archive": "$warning",
    "consolidate": "$error",
}
"""What our own variables fall back to in looks that do not define them: names of Textual's variables."""

HERMES = Look(
    name="hermes",
    primary="#8ab4f8",
    secondary="#9aa7bd",
    accent="#f6c177",
    success="#7bd88f",
    warning="#f6c177",
    error="#eb6f92",
    foreground="#d6deeb",
    background="#0e1420",
    surface="#131b2a",
    panel="#1b2538",
    dark=True,
    variables={
        "block-cursor-background": "#26375c",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-blurred-background": "#1b2538",
        "border": "#8ab4f8",
        "border-blurred": "#2a3750",
        "footer-background": "#131b2a",
        "input-selection-background": "#8ab4f8 35%",
        "archive": "#f59e6c",
        "track": "#3a4866",
        **{
            f"mark-{place}": hue
            for place, hue in enumerate(
                ("#f6c177", "#8ab4f8", "#c4a7e7", "#7fd6d0", "#e79ac0", "#d3c38b", "#a9bcd0", "#8fb573")
            )
        },
    },
)

HIGH_CONTRAST = Look(
    name="high-contrast",
    primary="#ffff00",
    secondary="#ffffff",
    accent="#ffff00",
    success="#ffffff",
    warning="#ffff00",
    error="#ffff00",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#000000",
    dark=True,
    text_alpha=1.0,
    variables={
        "block-cursor-background": "#ffff00",
        "block-cursor-foreground": "#000000",
        "block-cursor-blurred-background": "#333333",
        "border": "#ffff00",
        "border-blurred": "#ffffff",
        "dim": "#ffffff",
        "track": "#333333",
    },
)

HERMES_LIGHT = Look(
    name="hermes-light",
    primary="#2457a6",
    secondary="#5b6575",
    accent="#9a5b00",
    success="#1c7c3c",
    warning="#9a5b00",
    error="#b3214f",
    foreground="#1d2430",
    background="#fbfaf7",
    surface="#f3f1ec",
    panel="#e6e3db",
    dark=False,
    variables={
        "block-cursor-background": "#cfdcf3",
        "block-cursor-foreground": "#0d1420",
        "block-cursor-blurred-background": "#e6e3db",
        "border": "#2457a6",
        "border-blurred": "#c9c4b8",
        "footer-background": "#f3f1ec",
        "input-selection-background": "#2457a6 25%",
        "archive": "#b4520b",
        "track": "#c9c4b8",
        **{
            f"mark-{place}": hue
            for place, hue in enumerate(
                ("#b4700b", "#2457a6", "#7a4fb5", "#0f7d78", "#b0387a", "#857400", "#55697f", "#4d7a2f")
            )
        },
    },
)

REVERSED, UNDERLINED = "ansi_white", "ansi_bright_black"
"""Backgrounds of the look without colours, as `TwoColours` draws them."""

NO_COLOUR = replace(
    BUILTIN_THEMES["ansi-dark"],
    name="no-colour",
    primary="ansi_default",
    secondary="ansi_default",
    accent="ansi_default",
    success="ansi_default",
    warning="ansi_default",
    error="ansi_default",
    variables=BUILTIN_THEMES["ansi-dark"].variables
    | dict.fromkeys(("dim", "track", "block-cursor-foreground"), "ansi_default")
    | dict.fromkeys(("block-cursor-background", "border", "border-blurred"), REVERSED)
    | dict.fromkeys(("input-cursor-background", "input-selection-background"), REVERSED)
    | {"block-cursor-blurred-background": UNDERLINED},
)
"""The terminal's own two colours: shapes, words and weight say everything, as they do in every look."""


class TwoColours(LineFilter):
    """Draws backgrounds of `NO_COLOUR` as reversed or underlined text, and everything in the terminal's own two colours."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(text, style and to_two_colours(style), control) for text, style, control in segments]


@cache
def to_two_colours(style: Style) -> Style:
    behind = None if style.bgcolor is None else style.bgcolor.number
    if behind == Color.parse(REVERSED).rich_color.number:
        return style.without_color + Style(reverse=True)
    is_underlined = behind == Color.parse(UNDERLINED).rich_color.number
    return style.without_color + Style(underline=True if is_underlined else None)


TWO_COLOURS = (TwoColours(),)

LOOKS = (HERMES, HERMES_LIGHT, HIGH_CONTRAST, NO_COLOUR)

VARIABLE = "HERMES_MEMORY_LOOK"
"""Environment variable that names the look to begin with: one of ours or one of Textual's."""


def initial_look(environ: Mapping[str, str], wished: str | None = None, saved_look: str | None = None) -> str:
    """Return the initial look: the environment variable's, else `wished`, else none where colour is not wanted.

    :param saved_look: the look that was chosen in an earlier run; ignored where it no longer exists
    :raises ArgumentError: when there is no such look; the message lists the available ones
    """
    names = [*(look.name for look in LOOKS), *BUILTIN_THEMES]
    default = NO_COLOUR.name if environ.get("NO_COLOR") else saved_look if saved_look in names else DEFAULT_LOOK
    name = environ.get(VARIABLE) or wished or default
    if name not in names:
        raise ArgumentError(f"{VARIABLE}: there is no look {name!r}; choose one of {', '.join(names)}", name)
    return name


_accented: dict[str, str] = {}
_allotted: dict[str, int] = {}


def set_accents(colours: Mapping[str, str]) -> None:
    """Set the accent colours of themes, replacing those of the previous call."""
    _accented.clear()
    _accented.update(colours)


def allot_hues(themes: Iterable[str], hues: Mapping[str, int]) -> dict[str, int]:
    """Give each theme that has no number one that the fewest have, and return the numbers of all.

    :param hues: the numbers that were given before
    """
    _allotted.clear()
    _allotted.update({theme: number for theme, number in hues.items() if 0 <= number < MARKS})
    for theme in themes:
        if theme not in _allotted:
            taken, own = Counter(_allotted.values()), zlib.crc32(theme.encode())
            _allotted[theme] = min(((own + step) % MARKS for step in range(MARKS)), key=taken.__getitem__)
    return dict(_allotted)


def theme_hues(themes: Iterable[str]) -> dict[str, int]:
    """Return the number of each theme's accent (`$mark-0` …): the configured one, else the one that was allotted.

    A colour belongs to its name: another theme, or fewer of them, changes no colour.
    """
    own = {theme: MARKS + place for place, theme in enumerate(_accented)}
    return {theme: own.get(theme, _allotted.get(theme, zlib.crc32(theme.encode()) % MARKS)) for theme in themes}


def default_variables(generated: dict[str, str]) -> dict[str, str]:
    """Return defaults for the app's colour variables, derived from those Textual generated for a look."""
    hues = ("accent", "primary", "success", "secondary", "error", "warning", "primary", "accent")
    named = VARIABLES | {f"mark-{place}": f"${hue}" for place, hue in enumerate(hues)}
    own = {"dim": dim_colour(generated), "track": track_colour(generated)}
    own |= {f"mark-{MARKS + place}": colour for place, colour in enumerate(_accented.values())}
    return own | {name: generated[value.removeprefix("$")] for name, value in named.items()}


def dim_colour(generated: dict[str, str]) -> str:
    """Return the colour of secondary text: between foreground and background, or the terminal's own grey."""
    foreground, background = Color.parse(generated["foreground"]), Color.parse(generated["background"])
    if foreground.ansi is not None or background.ansi is not None:
        return "ansi_bright_black"
    return background.blend(foreground, 0.62).hex


def track_colour(generated: dict[str, str]) -> str:
    return "ansi_bright_black" if Color.parse(generated["panel"]).ansi is not None else generated["panel"]
