"""Looks: the colour schemes of the inspector. (A *theme* is an agent's identity, never a colour scheme.)

Every colour the app uses is one of these variables, so Textual's own schemes and the terminal's colours work as well.
"""

from __future__ import annotations

from collections.abc import Mapping

from textual.color import Color
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

LOOKS = (HERMES, HIGH_CONTRAST)

VARIABLE = "HERMES_MEMORY_LOOK"
"""Environment variable that names the look to begin with: one of ours or one of Textual's."""


def chosen(environ: Mapping[str, str]) -> str:
    """The look to begin with. :raises ArgumentError: when there is none of that name, with the names there are"""
    name = environ.get(VARIABLE) or DEFAULT_LOOK
    names = [*(look.name for look in LOOKS), *BUILTIN_THEMES]
    if name not in names:
        raise ArgumentError(f"{VARIABLE}: there is no look {name!r}; choose one of {', '.join(names)}", name)
    return name


def variable_defaults(generated: dict[str, str]) -> dict[str, str]:
    """Our variables as colours, for a look that does not define them, from the variables Textual generated for it."""
    hues = ("accent", "primary", "success", "secondary", "error", "warning", "primary", "accent")
    named = VARIABLES | {f"mark-{place}": f"${hue}" for place, hue in enumerate(hues)}
    own = {"dim": dimmed(generated), "track": track(generated)}
    return own | {name: generated[value.removeprefix("$")] for name, value in named.items()}


def dimmed(generated: dict[str, str]) -> str:
    """The colour of what is said in passing: between foreground and background, or the terminal's own grey."""
    foreground, background = Color.parse(generated["foreground"]), Color.parse(generated["background"])
    if foreground.ansi is not None or background.ansi is not None:
        return "ansi_bright_black"
    return background.blend(foreground, 0.62).hex


def track(generated: dict[str, str]) -> str:
    """The colour of the unfilled part of a bar."""
    return "ansi_bright_black" if Color.parse(generated["panel"]).ansi is not None else generated["panel"]
