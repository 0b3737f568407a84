"""Theme policies, from `$HERMES_HOME/memory-themes.toml`, which a person edits by hand.

    [defaults]
    hot_chars = 10000

    [kinds.worker]
    retention_days = 2

    [themes.marketing]
    injection_tokens = 240

A theme's own table takes precedence over its kind's, and that over the defaults.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from hermes_memory_themes import embedding_settings, team_settings
from hermes_memory_themes.embedding_settings import EmbeddingSettings
from hermes_memory_themes.team_settings import TeamSettings
from hermes_memory_themes.theme_errors import PolicyError, ThemeError
from hermes_memory_themes.theme_identity import PERSONAL, ThemeKind, classify_theme, normalise_theme
from hermes_memory_themes.value_classes import dataclass

FILE_NAME = "memory-themes.toml"

LOOK_AGAIN_S = 1.0
"""A running program looks for a changed file this often at most: every write asks for the policy."""


class SyncCarrier(StrEnum):
    """What carries a theme to other machines."""

    DATABASE = "database"
    """The team database: `sync = true`."""
    FOLDER = "folder"
    """A shared folder: `sync = "folder"`."""


@dataclass(frozen=True, slots=True)
class ThemePolicy:
    hot_chars: int = 10_000
    """Budget of the hot tier in notation characters."""
    injection_tokens: int = 180
    """Budget of the injected facts in tokens."""
    fact_chars: int = 400
    """Longest content of one fact in characters."""
    retention_days: int = 7
    """How long what an agent purges can be brought back."""
    secrets: str = "mask"
    """What happens to a detected secret: `mask` into the keyring, `refuse` the write, or `allow` it."""
    quarantine: bool = True
    """Whether suspicious writes wait for a person."""
    review_days: int = 30
    """How long they wait in sight, in days; 0 for ever. What waits longer is folded away, and still given to nobody."""
    sync: bool | str = False
    """Whether the theme is exchanged with the team database, or, with `folder`, through a shared folder."""
    sync_turns: bool = False
    """With `sync`: whether its captured messages are exchanged, too."""
    turns: str = "filtered"
    """Which captured messages are kept: `all`, `filtered` (not those that only acknowledge, or are too short), or `none`."""
    turn_min_chars: int = 0
    """With `filtered`: shortest message that is kept, in characters."""
    turn_days: int = 0
    """How long a captured message is kept, in days; 0 for ever."""
    branches: str = "mark"
    """What happens to facts of a branch that is not merged and not the reader's: `mark` labels and ranks them lower, `hold`
    keeps them back, `off` gives them like all others."""
    stale: str = "label"
    """What happens to a fact whose cited lines changed in the working tree: `label` tells so and ranks it last, `hold` keeps it
    back."""
    hook_turn_days: int = 90
    """How long a message that a host's hooks brought is kept where `turn_days` is 0, in days; 0 for ever."""
    history_days: int = 0
    """How long a message of a session that was read from the disk afterwards is kept, in days since then; 0 for ever."""
    capture_subagents: bool = False
    """Whether what a host's subagents say is captured, too, where capture is allowed."""
    languages: tuple[str, ...] = ("en",)
    """Languages in which facts and turns are written, by code: a search finds other forms of their words, too. Those of English
    are always known, and those of the language that a question is asked in."""

    @property
    def carrier(self) -> SyncCarrier | None:
        """What carries the theme to other machines; None where it stays on this one."""
        return SyncCarrier(self.sync) if isinstance(self.sync, str) else SyncCarrier.DATABASE if self.sync else None


RANGES = {
    "hot_chars": (1_000, 1_000_000),
    "injection_tokens": (20, 20_000),
    "fact_chars": (40, 4_000),
    "retention_days": (0, 3_650),
    "review_days": (0, 3_650),
    "turn_min_chars": (0, 10_000),
    "turn_days": (0, 36_500),
    "hook_turn_days": (0, 36_500),
    "history_days": (0, 36_500),
}
"""Least and greatest value of each number."""

MOST_GIVEN_TOKENS = 2_300
"""`injection_tokens` above it count as so many: Codex shows the beginning and the end of what takes more than 2,500."""

CHOICES = {
    "secrets": ("mask", "refuse", "allow"),
    "turns": ("all", "filtered", "none"),
    "branches": ("mark", "hold", "off"),
    "stale": ("label", "hold"),
}

LANGUAGES = ("en", "fr", "de", "es", "ru", "ar")
"""Languages whose word forms are known; see the store's `language/word_forms.py`."""

KEYS = {field.name: field.type for field in fields(ThemePolicy)}


class Policies:
    """The policies of all themes, reloaded when their file has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int] | None = None
        self._looked_at: float | None = None
        self._document: dict[str, Any] = {}
        self._known: dict[str, ThemePolicy] = {}
        self.project_checks: list[Callable[[str], bool]] = []
        """Whether a theme is that of a project, which is of kind `theme` whatever its name; one check for each open store."""

    @classmethod
    def load(cls, path: str | Path | None = None, *, environ: Mapping[str, str] | None = None) -> Self:
        """Load the policies of `path`, else of `$HERMES_HOME/memory-themes.toml`, else of `~/.hermes`.

        A file that does not exist means the defaults.

        :raises PolicyError: names the file, the line and what is wrong with it
        """
        variables = os.environ if environ is None else environ
        home = Path(variables.get("HERMES_HOME", "").strip() or Path.home() / ".hermes")
        policies = cls(Path(path) if path is not None else home / FILE_NAME)
        policies._load_document()
        return policies

    def for_theme(self, theme: str) -> ThemePolicy:
        """Return the policy of a theme, as the file stands now."""
        self._load_document()
        policy = self._known.get(theme)
        if policy is None:
            document = self._document
            kind = self.kind_of(theme)
            policy = replace(ThemePolicy(), **document.get("defaults", {}))
            policy = replace(policy, **document.get("kinds", {}).get(kind.value, {}))
            policy = replace(policy, **document.get("themes", {}).get(theme, {}))
            if theme == PERSONAL:  # what holds for all themes is not meant for the person's own facts
                named = document.get("themes", {}).get(theme, {})
                policy = replace(policy, sync=named.get("sync", False), sync_turns=named.get("sync_turns", False))
            tokens = min(policy.injection_tokens, MOST_GIVEN_TOKENS)
            policy = replace(policy, languages=tuple(policy.languages), injection_tokens=tokens)
            if kind in (ThemeKind.DEFAULT, ThemeKind.THEME) or "kinds" not in document:
                self._known[theme] = policy  # another may become the theme of a project
        return policy

    def search_languages(self, theme: str | None) -> tuple[str, ...]:
        """Return the languages whose word forms a search of a theme knows; English for all themes.

        A file that became wrong stops no search: it knows English until the file is mended.
        """
        if theme is None:
            return ThemePolicy().languages
        try:
            return Policies.for_theme(self, theme).languages
        except PolicyError:
            return ThemePolicy().languages

    def kind_of(self, theme: str) -> ThemeKind:
        """Return the kind of a theme: `theme` for that of a project, else by its name."""
        kind = classify_theme(theme)
        if kind in (ThemeKind.DEFAULT, ThemeKind.THEME):
            return kind
        # The first store alone is asked: two that waited for each other's locks would never go on.
        is_project = bool(self.project_checks) and self.project_checks[0](theme)
        return ThemeKind.THEME if is_project else kind

    @property
    def has_project_themes(self) -> bool:
        """Check whether projects may have themes of their own: unless the file says `projects = false`."""
        with suppress(
            PolicyError
        ):  # a mistake in the file is reported by what needs a policy; until then this is as it was
            self._load_document()
        return bool(self._document.get("projects", True))

    def embedding_settings(self, environ: Mapping[str, str] | None = None) -> EmbeddingSettings:
        """Return the embedding settings of the file and the environment as they are now. :raises PolicyError:"""
        self._load_document()
        settings = EmbeddingSettings(**self._document.get("embedding", {}))
        return settings.in_environment(os.environ if environ is None else environ)

    def team_settings(self) -> TeamSettings:
        """Return the settings of the sync with the team database as the file stands now. :raises PolicyError:"""
        self._load_document()
        return TeamSettings(**self._document.get("team", {}))

    def theme_names(self) -> list[str]:
        """Return the themes the file names, in alphabetical order."""
        self._load_document()
        return sorted(self._document.get("themes", {}))

    def is_outdated(self) -> bool:
        """Check whether the file was changed since it was read; the next call reads it again then."""
        with suppress(PolicyError):
            if policy_file_stamp(self.path) != self._stamp:
                self.reload()
                return True
        return False

    def reload(self) -> None:
        """Check the file again at the next call, however recently it was checked."""
        self._looked_at = None

    def _load_document(self) -> None:
        now = time.monotonic()
        if self._looked_at is not None and now - self._looked_at < LOOK_AGAIN_S:
            return
        stamp = policy_file_stamp(self.path)
        if stamp != self._stamp:
            self._document = {} if stamp is None else load_policy_document(self.path)
            self._known.clear()
            self._stamp = stamp
        self._looked_at = now  # last: a file that is wrong stays refused, until it is right


def policy_file_stamp(path: Path) -> tuple[int, int] | None:
    """Return a stamp that detects a changed file, None without a file. :raises PolicyError: it cannot be examined"""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PolicyError(f"{path} cannot be read: {error.strerror or error}", path) from error
    return status.st_mtime_ns, status.st_size


def load_policy_document(path: Path) -> dict[str, Any]:
    """Load and check the file's tables. :raises PolicyError: names the line of the mistake"""
    import tomllib  # here, not above: most machines have no such file, and every command waits for its imports

    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise PolicyError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start})", path) from error
    except tomllib.TOMLDecodeError as error:
        message = str(error).replace("at end of document", f"at the end of line {text.rstrip().count(chr(10)) + 1}")
        raise PolicyError(f"{path}: {message}", path) from error
    except OSError as error:
        raise PolicyError(f"{path} cannot be read: {error.strerror or error}", path) from error
    lines = TomlLines(path, text)
    sections = ("projects", "defaults", "kinds", "themes", "embedding", "team")
    for name, table in document.items():
        if name == "projects":
            if not isinstance(table, bool):
                raise lines.error((), name, f"projects must be true or false, not {table!r}")
            continue
        if name not in sections:
            raise lines.error(
                (), name, f"unknown table {name!r}{format_suggestion(name, sections)}; known: {', '.join(sections)}"
            )
        if not isinstance(table, dict):
            raise lines.error((), name, f"{name!r} must be a table, not {table!r}")
    check_policy_table(lines, ("defaults",), document.get("defaults", {}))
    for section in ("kinds", "themes"):
        for name, table in document.get(section, {}).items():
            if not isinstance(table, dict):
                raise lines.error((section,), name, f"{section}.{name} must be a table: [{section}.{name}]")
            check_table_name(lines, section, name)
            check_policy_table(lines, (section, name), table)
    if "key" in document.get("embedding", {}):
        raise lines.error(
            ("embedding",), "key", "a key does not belong into this file; see docs/recall.md for where it does"
        )
    check_settings_table(lines, "embedding", document, embedding_settings.KEYS, embedding_settings.find_setting_fault)
    check_settings_table(lines, "team", document, team_settings.KEYS, team_settings.find_team_fault)
    return document


def check_table_name(lines: TomlLines, section: str, name: str) -> None:
    """Check the name of a table.

    :raises PolicyError: when a table is named after no kind, or after an invalid theme name
    """
    if section == "kinds":
        kinds = [kind.value for kind in ThemeKind]
        if name not in kinds:
            raise lines.error(
                (section, name),
                None,
                f"unknown kind {name!r}{format_suggestion(name, kinds)}; known: {', '.join(kinds)}",
            )
        return
    try:
        normal = normalise_theme(name)
    except ThemeError as error:
        raise lines.error((section, name), None, error.message) from error
    if normal != name:
        raise lines.error((section, name), None, f"theme {name!r} is written {normal!r}")


def check_policy_table(lines: TomlLines, place: tuple[str, ...], table: Mapping[str, Any]) -> None:
    """Check the keys and values of a table.

    :raises PolicyError: for the first key that is unknown or has an invalid value
    """
    for key, value in table.items():
        if key not in KEYS:
            raise lines.error(
                place, key, f"unknown setting {key!r}{format_suggestion(key, KEYS)}; known: {', '.join(KEYS)}"
            )
        if key in RANGES:
            low, high = RANGES[key]
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise lines.error(place, key, f"{key} must be a whole number from {low} to {high}, not {value!r}")
        elif key in CHOICES:
            if value not in CHOICES[key]:
                raise lines.error(place, key, f"{key} must be one of {', '.join(CHOICES[key])}, not {value!r}")
        elif key == "languages":
            if not isinstance(value, list) or not value or any(language not in LANGUAGES for language in value):
                raise lines.error(place, key, f"{key} must be a list of {', '.join(LANGUAGES)}, not {value!r}")
        elif key == "sync":
            if not isinstance(value, bool) and value != SyncCarrier.FOLDER:
                raise lines.error(place, key, f'{key} must be true, false or "folder", not {value!r}')
        elif not isinstance(value, bool):
            raise lines.error(place, key, f"{key} must be true or false, not {value!r}")


def check_settings_table(
    lines: TomlLines,
    name: str,
    document: Mapping[str, Any],
    defaults: Mapping[str, Any],
    find_fault: Callable[[str, Any], str | None],
) -> None:
    """Check the settings of a table that no theme is meant by.

    :raises PolicyError: for the first setting that is unknown or has an invalid value
    """
    for key, value in document.get(name, {}).items():
        if key not in defaults:
            raise lines.error(
                (name,), key, f"unknown setting {key!r}{format_suggestion(key, defaults)}; known: {', '.join(defaults)}"
            )
        if wrong := find_fault(key, value):
            raise lines.error((name,), key, wrong)


def format_suggestion(name: str, names: Mapping[str, Any] | tuple[str, ...] | list[str]) -> str:
    """Format `, did you mean …?` when a known name is similar."""
    import difflib  # here, not above: few names are wrong

    near = difflib.get_close_matches(name, list(names), n=1)
    return f", did you mean {near[0]!r}?" if near else ""


@dataclass(frozen=True, slots=True)
class TomlLines:
    path: Path
    text: str

    def error(self, place: tuple[str, ...], key: str | None, message: str) -> PolicyError:
        return PolicyError(
            f"{self.path}, line {self.number(place, key)}: {message}", ".".join((*place, key or "")).strip(".")
        )

    def number(self, place: tuple[str, ...], key: str | None) -> int:
        """Return the line number, that of the file's first line when it cannot be found."""
        address = tuple(place) if key is None else (*place, key)
        while address:
            number = self._find_line(address)
            if number:
                return number
            address = address[:-1]  # inside a table written on one line
        return 1

    def _find_line(self, address: tuple[str, ...]) -> int:
        table: tuple[str, ...] = ()
        for number, line in enumerate(self.text.splitlines(), 1):
            header = re.match(r"\s*\[{1,2}\s*([^\[\]]+?)\s*\]", line)
            if header:
                table = split_dotted_key(header[1])
                if table == address:
                    return number
                continue
            setting = re.match(r"\s*([^=#]+?)\s*=", line)
            if setting and (*table, *split_dotted_key(setting[1])) == address:
                return number
        return 0


def split_dotted_key(dotted: str) -> tuple[str, ...]:
    """Split a dotted TOML key into its names, quotes removed."""
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
