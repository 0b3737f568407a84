"""Theme identity: which theme a connection speaks for.

It is the first name given of header, token, flag or environment, profile, `default`. Session keys of gateways
carry chat ids and phone numbers; those never become part of a theme.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NewType

from hermes_memory_themes.theme_errors import ThemeError

ThemeName = NewType("ThemeName", str)
"""A theme's name in the one form in which anything is stored. Only `normalise_theme` makes one."""

DEFAULT = ThemeName("default")

PERSONAL = ThemeName("personal")
"""The theme of the person's own facts: about them, their machine and their way of working."""

MAX_THEME = 64
"""Characters of a theme's name."""

MAX_KEY = 256
"""Characters of a session key, as hermes-agent's gateway limits `X-Hermes-Session-Key`."""

GATEWAY_KEY = r"(?is)agent:[^:]+:([^:]+):([a-z_]+)(?::.*)?"
"""`agent:main:<platform>:<dm, group, …>:<chat id>[:…]`, the form hermes-agent's gateway builds."""

LONG_NUMBER = re.compile(r"\d(?:-?\d){6,}")
"""An id or a phone number: seven digits or more, however they were grouped."""


CHATS = ("-dm", "-group", "-channel", "-thread", "-forum", "-room")
"""How themes end that come from a gateway's chats."""


class ThemeKind(StrEnum):
    DEFAULT = "default"
    THEME = "theme"
    WORKER = "worker"
    USER = "user"
    BENCH = "bench"


def resolve_theme(
    *,
    header: str | None = None,
    token: str | None = None,
    flag: str | None = None,
    environ: Mapping[str, str] | None = None,
    profile: str | None = None,
) -> ThemeName:
    """Return the theme of a connection: the first name that is given, normalised.

    :param header: value of `X-Hermes-Session-Key`
    :param token: theme the access token is bound to
    :param flag: `--theme`; without it `$HERMES_MEMORY_THEME` of `environ` counts
    :param profile: hermes-agent's profile
    :raises ThemeError: a name was given and cannot be a theme; it is never silently replaced by another
    """
    variables = os.environ if environ is None else environ
    for name in (header, token, flag, variables.get("HERMES_MEMORY_THEME"), profile):
        if name is not None and name.strip():
            return normalise_theme(name)
    return DEFAULT


@lru_cache(maxsize=1024)
def normalise_theme(name: str) -> ThemeName:
    """Normalise a name: lower case, separated by dashes, at most 64 characters. A second call changes nothing.

    :raises ThemeError: nothing is left of it, or it is too long
    """
    if len(name) > MAX_KEY:
        raise ThemeError(
            f"a theme's name has at most {MAX_KEY} characters before it is shortened, this has {len(name)}", name
        )
    gateway = re.fullmatch(GATEWAY_KEY, name.strip()) if ":" in name else None
    plain = f"{gateway[1]}-{gateway[2]}" if gateway else name
    letters = unicodedata.normalize("NFKD", plain).casefold()
    ascii_only = "".join(c for c in letters if not unicodedata.combining(c))
    dashed = re.sub(r"[^a-z0-9]+", "-", ascii_only)
    # after the separators became dashes: a number written in groups is one number
    theme = re.sub(r"-+", "-", LONG_NUMBER.sub("-", dashed)).strip("-")
    if not theme:
        raise ThemeError(
            f"{name[:60]!r} cannot be a theme: it holds no letters a-z and no digits, leaving out ids and phone numbers; "
            "choose a name such as marketing or intraday-sre",
            name,
        )
    if len(theme) > MAX_THEME:
        raise ThemeError(f"a theme's name has at most {MAX_THEME} characters, {theme[:30]!r}… has {len(theme)}", name)
    return ThemeName(theme)


def find_normal_form(name: str) -> ThemeName | None:
    """Return a name as `normalise_theme` does; None where it can be no theme."""
    try:
        return normalise_theme(name)
    except ThemeError:
        return None


def classify_theme(theme: str) -> ThemeKind:
    """Return what kind of identity a normalised theme is, by the conventions of its name.

    `intraday-sre` and `worker-3` are workers, `user-ann` and `slack-dm` users, `bench-…` and `test-…` benches.
    """
    if theme == DEFAULT:
        return ThemeKind.DEFAULT
    head, _, tail = theme.partition("-")
    if head in {"bench", "benchmark", "test"}:
        return ThemeKind.BENCH
    if head in {"user", "usr"} or theme.endswith(CHATS):
        return ThemeKind.USER
    if tail and (head in {"intraday", "worker", "minion", "job", "cron"} or tail.isdigit()):
        return ThemeKind.WORKER
    return ThemeKind.THEME
