"""Notices on the desktop, by the terminal: OSC 9, or OSC 777 where the terminal knows only that. They hold counts only."""

from __future__ import annotations

from collections.abc import Mapping

TITLE = "hermes-memory"


def format_notice(text: str, environ: Mapping[str, str]) -> str:
    """Return the sequence that asks the terminal for a notice.

    VTE and rxvt know OSC 777 alone; iTerm2, WezTerm, kitty, ghostty, foot and Windows Terminal know OSC 9.
    """
    if "VTE_VERSION" in environ or environ.get("TERM", "").startswith("rxvt"):
        return f"\x1b]777;notify;{TITLE};{text}\x07"
    return f"\x1b]9;{TITLE}: {text}\x07"
