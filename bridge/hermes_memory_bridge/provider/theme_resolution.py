"""The theme of an agent: the first of its names that is given, normalised as the bridge does.

The user's own choice, the key of a gateway's session, the profile, `default`. The workspace is not used: hosts
call every one `hermes`.
"""

from __future__ import annotations

from hermes_memory_themes.theme_identity import DEFAULT, find_normal_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

UNNAMED = frozenset({"", "default", "custom"})
"""What a host calls a profile that has no name of its own."""


def find_profile_theme(theme: str | None, themes: Mapping[str, str], profile: str) -> str:
    """Return the theme of a profile, to which MEMORY.md and USER.md belong whoever talks to the agent.

    :param theme: the user's choice for everything
    :param themes: the user's choice for single profiles and session keys
    """
    if theme:
        return find_normal_form(theme) or DEFAULT
    if profile in themes:
        return find_normal_form(themes[profile]) or DEFAULT
    return DEFAULT if profile in UNNAMED else find_normal_form(profile) or DEFAULT


def find_session_theme(theme: str | None, themes: Mapping[str, str], profile: str, key: str) -> str:
    """Return the theme of a session, for its turns and its agent's writes. :param key: the gateway's session key"""
    if not theme and key:
        chosen = themes.get(key, key)
        return find_normal_form(chosen) or find_profile_theme(theme, themes, profile)
    return find_profile_theme(theme, themes, profile)
