"""Policy: what holds for a theme's memory, from `$HERMES_HOME/memory-themes.toml`, which a person edits by hand.

    [defaults]
    hot_chars = 10000

    [kinds.worker]
    retention_days = 2

    [themes.marketing]
    injection_tokens = 240

A theme's own table wins over its kind's, that over the defaults.
"""

from __future__ import annotations

import difflib
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from hermes_memory_themes import embedding
from hermes_memory_themes.embedding import Embedding
from hermes_memory_themes.errors import PolicyError, ThemeError
from hermes_memory_themes.identity import ThemeKind, classify, normalise_theme

FILE_NAME = "memory-themes.toml"

LOOK_AGAIN_S = 1.0
"""A running program looks for a changed file this often at most: every write asks for the policy."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for one theme."""

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
    sync: bool = False
    """Whether the theme is exchanged with the team database."""
    sync_turns: bool = False
    """With `sync`: whether its captured messages are exchanged, too."""
    turns: str = "filtered"
    """Which captured messages are kept: `all`, `filtered` (not those that only acknowledge, or are too short), or `none`."""
    turn_min_chars: int = 0
    """With `filtered`: shortest message that is kept, in characters."""
    turn_days: int = 0
    """How long a captured message is kept, in days; 0 for ever."""


RANGES = {
    "hot_chars": (1_000, 1_000_000),
    "injection_tokens": (20, 20_000),
    "fact_chars": (40, 4_000),
    "retention_days": (0, 3_650),
    "turn_min_chars": (0, 10_000),
    "turn_days": (0, 36_500),
}
"""Least and greatest value of each number."""

CHOICES = {"secrets": ("mask", "refuse", "allow"), "turns": ("all", "filtered", "none")}

KEYS = {field.name: field.type for field in fields(Policy)}


class Policies:
    """The policies of all themes. Reads the file again when it has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int] | None = None
        self._looked_at: float | None = None
        self._document: dict[str, Any] = {}
        self._known: dict[str, Policy] = {}

    @classmethod
    def load(cls, path: str | Path | None = None, *, environ: Mapping[str, str] | None = None) -> Self:
        """The policies of `path`, else of `$HERMES_HOME/memory-themes.toml`, else of `~/.hermes`.

        A file that does not exist means the defaults.

        :raises PolicyError: names the file, the line and what is wrong with it
        """
        variables = os.environ if environ is None else environ
        home = Path(variables.get("HERMES_HOME", "").strip() or Path.home() / ".hermes")
        policies = cls(Path(path) if path is not None else home / FILE_NAME)
        policies._read()
        return policies

    def for_theme(self, theme: str) -> Policy:
        """What holds for a theme, as the file stands now."""
        self._read()
        policy = self._known.get(theme)
        if policy is None:
            document = self._document
            policy = replace(Policy(), **document.get("defaults", {}))
            policy = replace(policy, **document.get("kinds", {}).get(classify(theme).value, {}))
            policy = replace(policy, **document.get("themes", {}).get(theme, {}))
            self._known[theme] = policy
        return policy

    def embedding(self, environ: Mapping[str, str] | None = None) -> Embedding:
        """How vectors are made, as the file and the environment say now. :raises PolicyError:"""
        self._read()
        said = Embedding(**self._document.get("embedding", {}))
        return said.in_environment(os.environ if environ is None else environ)

    def named(self) -> list[str]:
        """The themes the file names, in alphabetical order."""
        self._read()
        return sorted(self._document.get("themes", {}))

    def look_again(self) -> None:
        """Looks at the file at the next question, however short a time ago it was looked at."""
        self._looked_at = None

    def _read(self) -> None:
        now = time.monotonic()
        if self._looked_at is not None and now - self._looked_at < LOOK_AGAIN_S:
            return
        stamp = stamp_of(self.path)
        if stamp != self._stamp:
            self._document = {} if stamp is None else document_of(self.path)
            self._known.clear()
            self._stamp = stamp
        self._looked_at = now  # last: a file that is wrong stays refused, until it is right


def stamp_of(path: Path) -> tuple[int, int] | None:
    """By which a changed file is known; None when there is no file. :raises PolicyError: it cannot be looked at"""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PolicyError(f"{path} cannot be read: {error.strerror or error}", path) from error
    return status.st_mtime_ns, status.st_size


def document_of(path: Path) -> dict[str, Any]:
    """The file's tables, checked. :raises PolicyError: names the line of the mistake"""
    import tomllib  # here, not above: most machines have no such file, and every command waits for its imports

    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise PolicyError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start})", path) from error
    except tomllib.TOMLDecodeError as error:
        said = str(error).replace("at end of document", f"at the end of line {text.rstrip().count(chr(10)) + 1}")
        raise PolicyError(f"{path}: {said}", path) from error
    except OSError as error:
        raise PolicyError(f"{path} cannot be read: {error.strerror or error}", path) from error
    lines = Lines(path, text)
    known = ("defaults", "kinds", "themes", "embedding")
    for name, table in document.items():
        if name not in known:
            raise lines.error((), name, f"unknown table {name!r}{meant(name, known)}; known: {', '.join(known)}")
        if not isinstance(table, dict):
            raise lines.error((), name, f"{name!r} must be a table, not {table!r}")
    check_table(lines, ("defaults",), document.get("defaults", {}))
    for section in ("kinds", "themes"):
        for name, table in document.get(section, {}).items():
            if not isinstance(table, dict):
                raise lines.error((section,), name, f"{section}.{name} must be a table: [{section}.{name}]")
            check_name(lines, section, name)
            check_table(lines, (section, name), table)
    check_embedding(lines, document.get("embedding", {}))
    return document


def check_name(lines: Lines, section: str, name: str) -> None:
    """:raises PolicyError: when a table is named after no kind, or after what no theme can be called"""
    if section == "kinds":
        kinds = [kind.value for kind in ThemeKind]
        if name not in kinds:
            raise lines.error(
                (section, name), None, f"unknown kind {name!r}{meant(name, kinds)}; known: {', '.join(kinds)}"
            )
        return
    try:
        normal = normalise_theme(name)
    except ThemeError as error:
        raise lines.error((section, name), None, error.message) from error
    if normal != name:
        raise lines.error((section, name), None, f"theme {name!r} is written {normal!r}")


def check_table(lines: Lines, place: tuple[str, ...], table: Mapping[str, Any]) -> None:
    """:raises PolicyError: for the first key that is unknown or has a value it cannot have"""
    for key, value in table.items():
        if key not in KEYS:
            raise lines.error(place, key, f"unknown setting {key!r}{meant(key, KEYS)}; known: {', '.join(KEYS)}")
        if key in RANGES:
            low, high = RANGES[key]
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise lines.error(place, key, f"{key} must be a whole number from {low} to {high}, not {value!r}")
        elif key in CHOICES:
            if value not in CHOICES[key]:
                raise lines.error(place, key, f"{key} must be one of {', '.join(CHOICES[key])}, not {value!r}")
        elif not isinstance(value, bool):
            raise lines.error(place, key, f"{key} must be true or false, not {value!r}")


def check_embedding(lines: Lines, table: Mapping[str, Any]) -> None:
    """:raises PolicyError: for the first setting of `[embedding]` that is unknown or has a value it cannot have"""
    for key, value in table.items():
        if key == "key":
            raise lines.error(
                ("embedding",), key, "a key does not belong into this file; see docs/recall.md for where it does"
            )
        if key not in embedding.KEYS:
            known = ", ".join(embedding.KEYS)
            raise lines.error(
                ("embedding",), key, f"unknown setting {key!r}{meant(key, embedding.KEYS)}; known: {known}"
            )
        if wrong := embedding.wrong_setting(key, value):
            raise lines.error(("embedding",), key, wrong)


def meant(name: str, known: Mapping[str, Any] | tuple[str, ...] | list[str]) -> str:
    """`, did you mean …?` when something known is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f", did you mean {near[0]!r}?" if near else ""


@dataclass(frozen=True, slots=True)
class Lines:
    """Finds the line on which a table or a key stands."""

    path: Path
    text: str

    def error(self, place: tuple[str, ...], key: str | None, message: str) -> PolicyError:
        """The error for that place, with the number of its line."""
        return PolicyError(
            f"{self.path}, line {self.number(place, key)}: {message}", ".".join((*place, key or "")).strip(".")
        )

    def number(self, place: tuple[str, ...], key: str | None) -> int:
        """Number of the line, the first one of the file when it cannot be told."""
        wanted = tuple(place) if key is None else (*place, key)
        while wanted:
            number = self._written(wanted)
            if number:
                return number
            wanted = wanted[:-1]  # inside a table written on one line
        return 1

    def _written(self, wanted: tuple[str, ...]) -> int:
        table: tuple[str, ...] = ()
        for number, line in enumerate(self.text.splitlines(), 1):
            header = re.match(r"\s*\[{1,2}\s*([^\[\]]+?)\s*\]", line)
            if header:
                table = parts(header[1])
                if table == wanted:
                    return number
                continue
            setting = re.match(r"\s*([^=#]+?)\s*=", line)
            if setting and (*table, *parts(setting[1])) == wanted:
                return number
        return 0


def parts(dotted: str) -> tuple[str, ...]:
    """A dotted TOML key as its names, quotes removed."""
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def template() -> str:
    """A file with every setting at its default, each explained, for a person to edit."""
    explained = {
        "hot_chars": "budget of the hot tier, in characters of notation",
        "injection_tokens": "budget of the facts an agent is told at the start, in tokens",
        "fact_chars": "longest content of one fact, in characters",
        "retention_days": "how long what an agent purged can be brought back",
        "secrets": "a detected secret is masked into the keyring, or the write refused, or allowed: mask, refuse, allow",
        "quarantine": "suspicious writes wait for a person",
        "sync": "exchange the theme with the team database",
        "sync_turns": "with sync: exchange its captured messages, too, those captured before included",
        "turns": "which captured messages are kept: all, filtered (no acknowledgements), none",
        "turn_min_chars": "with filtered: shortest message that is kept, in characters",
        "turn_days": "how long a captured message is kept, in days; 0 for ever",
    }
    lines = [
        "# What holds for each theme's memory. A theme's own table wins over its kind's, that over the defaults.",
        "",
    ]
    lines.append("[defaults]")
    for field in fields(Policy):
        default = field.default
        value = str(default).lower() if isinstance(default, bool) else repr(default).replace("'", '"')
        lines.append(f"# {field.name} = {value}  # {explained[field.name]}")
    lines += [
        "",
        "# [kinds.worker]",
        "# retention_days = 2",
        "",
        "# [themes.marketing]",
        "# injection_tokens = 240",
        "",
        "# [embedding]  # finding by meaning; see docs/recall.md",
        '# provider = "auto"  # auto, off, local, openai, ollama',
        '# url = "http://127.0.0.1:11434"',
        '# model = "nomic-embed-text"',
        "# floor = 0.25  # least similarity that counts",
        "# batch = 64  # texts of one request",
        "# query_ms = 300  # how long a question waits for its own vector",
        "",
    ]
    return "\n".join(lines)
