"""Whose memory an agent has: the first of its names that is given, as the bridge would normalise it.

The user's own choice, the key of a gateway's session, the profile, `default`. The workspace is no name: hosts call every one
`hermes`. The same rules stand in `hermes_memory_themes`; a test holds the two alike.
"""

from __future__ import annotations

import re
import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT = "default"

MAX_THEME = 64
MAX_KEY = 256

GATEWAY_KEY = re.compile(r"agent:[^:]+:([^:]+):([a-z_]+)(?::.*)?", re.IGNORECASE | re.DOTALL)
"""`agent:main:<platform>:<dm, group, …>:<chat id>[:…]`."""

LONG_NUMBER = re.compile(r"\d(?:-?\d){6,}")
"""An id or a phone number, which never becomes part of a theme."""

UNNAMED = frozenset({"", "default", "custom"})
"""What a host calls a profile that has no name of its own."""


def normalised(name: str) -> str | None:
    """A theme's name; None when nothing is left of it, or too much."""
    if len(name) > MAX_KEY:
        return None
    gateway = GATEWAY_KEY.fullmatch(name.strip())
    plain = f"{gateway[1]}-{gateway[2]}" if gateway else name
    letters = unicodedata.normalize("NFKD", plain).casefold()
    ascii_only = "".join(c for c in letters if not unicodedata.combining(c))
    dashed = re.sub(r"[^a-z0-9]+", "-", ascii_only)
    theme = re.sub(r"-+", "-", LONG_NUMBER.sub("-", dashed)).strip("-")
    return theme if 0 < len(theme) <= MAX_THEME else None


def profile_theme(theme: str | None, themes: Mapping[str, str], profile: str) -> str:
    """The theme of a profile, to which MEMORY.md and USER.md belong whoever talks to the agent.

    :param theme: what the user chose for everything
    :param themes: what the user chose for single profiles and session keys
    """
    if theme:
        return normalised(theme) or DEFAULT
    if profile in themes:
        return normalised(themes[profile]) or DEFAULT
    return DEFAULT if profile in UNNAMED else normalised(profile) or DEFAULT


def session_theme(theme: str | None, themes: Mapping[str, str], profile: str, key: str) -> str:
    """The theme of a session: what is said in it, and what its agent writes. :param key: the gateway's session key"""
    if not theme and key:
        chosen = themes.get(key, key)
        return normalised(chosen) or profile_theme(theme, themes, profile)
    return profile_theme(theme, themes, profile)
