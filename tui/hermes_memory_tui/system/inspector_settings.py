"""The person's settings of the inspector, in `$HERMES_HOME/inspector.toml`. A missing file means the defaults.

look = "hermes-light"
reduced_motion = true
home = "now"
notices = true

[keys]
"fact.archive" = "d"

[accents]
marketing = "#c4a7e7"
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from hermes_memory_store.errors import ArgumentError, shorten_value
from hermes_memory_store.frozen import dataclass

FILE_NAME = "inspector.toml"

TOPICS = ("look", "reduced_motion", "home", "notices", "keys", "accents")

PAST_TOPICS = ("command",)
"""Settings of earlier versions; they are ignored."""

RENAMED_ACTIONS = {"review.always": "review.rules", "review.never": "review.rules"}
"""Actions by their ids in earlier versions."""

PAST_ACTIONS = re.compile(
    r"app\.(command|jump)|basket\.empty|(main|view)\.columns|pane\.(narrower|wider)|time\.(play|hour_.*)"
    r"|(command|help|jump|program|ticking)\..*"
)
"""Actions of earlier versions that are no more; a key for one is ignored."""

HOMES = ("now", "facts")


@dataclass(frozen=True, slots=True)
class InspectorSettings:
    """The validated content of the settings file."""

    look: str | None = None
    reduced_motion: bool = False
    home: str | None = None
    """The view that opens first, of `HOMES`; None: facts, and *Now* where the inspector began with an empty memory."""
    notices: bool = False
    """Whether the terminal is asked for a notice on the desktop when something waits for the person."""
    keys: dict[str, str] = field(default_factory=dict)
    """Keys by the id of the action, as `?` and the palette name it."""
    accents: dict[str, str] = field(default_factory=dict)
    """The colour of a theme's mark, by the theme's name."""
    ignored: tuple[str, ...] = ()
    """Names of settings and actions of earlier versions."""
    path: Path | None = None

    @property
    def notice(self) -> str:
        """What a person is to know of the file; empty when all of it is in use."""
        names = ", ".join(self.ignored)
        return (
            f"{self.path}: {names} of an earlier version {'is' if len(self.ignored) == 1 else 'are'} ignored"
            if names
            else ""
        )


def inspector_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the inspector's own files: `$HERMES_HOME`, else `~/.hermes`."""
    env = os.environ if environ is None else environ
    return Path(env.get("HERMES_HOME", "").strip() or Path(env.get("HOME") or Path.home()) / ".hermes").expanduser()


def load_inspector_settings(environ: Mapping[str, str] | None = None) -> InspectorSettings:
    """Load the settings of this person. :raises ArgumentError: names the file and what is wrong in it"""
    path = inspector_folder(environ) / FILE_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return InspectorSettings()
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path} cannot be read: {error}", str(path)) from error
    import tomllib  # here, not above: most people have no such file, and every start waits for its imports

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError(f"{path}: {error}", str(path)) from error
    return parse_inspector_settings(document, path)


def parse_inspector_settings(document: dict[str, Any], path: Path) -> InspectorSettings:
    """Parse a document as settings. :raises ArgumentError:"""
    for name in document:
        if name not in TOPICS and name not in PAST_TOPICS:
            raise ArgumentError(f"{path}: there is no setting {shorten_value(name)!r}{suggestion(name, TOPICS)}", name)
    look, still = document.get("look"), document.get("reduced_motion", False)
    notices = document.get("notices", False)
    if look is not None and not isinstance(look, str):
        raise ArgumentError(f"{path}: look is the name of a look, not {look!r}", look)
    for name in ("reduced_motion", "notices"):
        if not isinstance(document.get(name, False), bool):
            raise ArgumentError(f"{path}: {name} is true or false, not {document[name]!r}", document[name])
    home = document.get("home")
    if home is not None and home not in HOMES:
        raise ArgumentError(f"{path}: home is {' or '.join(map(repr, HOMES))}, not {home!r}", home)
    keys, accents = text_table(document, "keys", path), text_table(document, "accents", path)
    for theme, colour in accents.items():
        reject_invalid_colour(theme, colour, path)
    ignored = tuple(name for name in PAST_TOPICS if name in document)
    return InspectorSettings(look, still, home, notices, keys, accents, ignored, path)


def text_table(document: dict[str, Any], name: str, path: Path) -> dict[str, str]:
    """Return a table whose values are texts. :raises ArgumentError:"""
    table = document.get(name, {})
    if not isinstance(table, dict) or not all(isinstance(value, str) and value for value in table.values()):
        raise ArgumentError(f"{path}: [{name}] holds texts, such as {EXAMPLES[name]}", name)
    return table


EXAMPLES = {"keys": '"fact.archive" = "d"', "accents": 'marketing = "#c4a7e7"'}


def reject_invalid_colour(theme: str, colour: str, path: Path) -> None:
    """Reject an invalid colour. :raises ArgumentError: when the value is not a colour"""
    from textual.color import Color, ColorParseError

    try:
        Color.parse(colour)
    except ColorParseError as error:
        raise ArgumentError(f"{path}: {colour!r} for {theme} is no colour; write it as #rrggbb", colour) from error


def resolve_actions(settings: InspectorSettings, ids: Iterable[str]) -> InspectorSettings:
    """Return the settings with the keys of actions that there are, by the ids of today.

    :raises ArgumentError: the keymap names an action that there never was
    """
    current = set(ids)
    keys: dict[str, str] = {}
    for name, key in settings.keys.items():
        action = RENAMED_ACTIONS.get(name, name)
        if action in current:
            keys[action] = f"{keys[action]},{key}" if action in keys else key
        elif PAST_ACTIONS.fullmatch(name) is None:
            raise ArgumentError(
                f"{settings.path}: there is no action {shorten_value(name)!r}{suggestion(name, current)}", name
            )
    past = tuple(name for name in settings.keys if name not in current and name not in RENAMED_ACTIONS)
    return replace(settings, keys=keys, ignored=(*settings.ignored, *past))


def suggestion(name: str, choices: Iterable[str]) -> str:
    names = sorted(choices)
    matches = difflib.get_close_matches(name, names, n=2)
    return f"; did you mean {' or '.join(map(repr, matches))}?" if matches else f"; there are {', '.join(names[:12])}"
