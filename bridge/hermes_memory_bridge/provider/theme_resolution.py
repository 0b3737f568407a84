"""The theme of an agent: the first of its names that is given, normalised as the bridge would.

The user's own choice, the key of a gateway's session, the profile, `default`. The workspace is not used: hosts
call every one `hermes`. `hermes_memory_themes` has the same rules; a test compares the two.
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


def normalize_theme_name(name: str) -> str | None:
    """Normalise a theme's name; None when nothing is left of it, or it is too long."""
    if len(name) > MAX_KEY:
        return None
    gateway = GATEWAY_KEY.fullmatch(name.strip())
    plain = f"{gateway[1]}-{gateway[2]}" if gateway else name
    letters = unicodedata.normalize("NFKD", plain).casefold()
    ascii_only = "".join(c for c in letters if not unicodedata.combining(c))
    dashed = re.sub(r"[^a-z0-9]+", "-", ascii_only)
    theme = re.sub(r"-+", "-", LONG_NUMBER.sub("-", dashed)).strip("-")
    return theme if 0 < len(theme) <= MAX_THEME else None


def find_profile_theme(theme: str | None, themes: Mapping[str, str], profile: str) -> str:
    """Return the theme of a profile, to which MEMORY.md and USER.md belong whoever talks to the agent.

    :param theme: the user's choice for everything
    :param themes: the user's choice for single profiles and session keys
    """
    if theme:
        return normalize_theme_name(theme) or DEFAULT
    if profile in themes:
        return normalize_theme_name(themes[profile]) or DEFAULT
    return DEFAULT if profile in UNNAMED else normalize_theme_name(profile) or DEFAULT


def find_session_theme(theme: str | None, themes: Mapping[str, str], profile: str, key: str) -> str:
    """Return the theme of a session, for its turns and its agent's writes.

    :param key: the gateway's session key
    """
    if not theme and key:
        chosen = themes.get(key, key)
        return normalize_theme_name(chosen) or find_profile_theme(theme, themes, profile)
    return find_profile_theme(theme, themes, profile)
