"""The kinds of items that a theme remembers, each declared once: its table, its attributes, and what of it is indexed.

What stores, journals, replays, reverts, compares, restores, exports and sends items derives from these rows. A new
attribute of a fact is a column of the schema, a field of `FactRow` and of `model.Fact`, and a row of `FACT` here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from enum import Enum, auto
from functools import cached_property
from typing import Any, NamedTuple

from hermes_memory_store import uids
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.database.index_health import FACTS, TURNS
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import FactType, Millis


class Form(Enum):
    """How the value of an attribute is stored, and how it is said outside its table."""

    TEXT = auto()
    COUNT = auto()
    FLAG = auto()
    """Stored and journaled as 0 or 1, elsewhere true or false."""
    TIME = auto()
    """UTC milliseconds, in files ISO 8601."""
    LINK = auto()
    """The uid of another item: stored as 16 bytes, elsewhere as text."""
    TYPE = auto()
    """Stored and journaled as the symbol of MEMORY_SPEC, in files by its word."""
    SCOPE = auto()
    """Stored as the key of a scope, elsewhere as its label, None where it has none."""


class Start(Enum):
    """What an attribute begins with where no value is a default."""

    REQUIRED = auto()
    NOW = auto()
    """The time of the change that makes the item."""


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    form: Form = Form.TEXT
    default: Any = Start.REQUIRED
    """What a new item has, and its words leave out."""
    is_fixed: bool = False
    """Whether no change gives it another value."""
    is_optional: bool = False
    """Whether it is left out of files, versions and answers where it has its default: what came after the formats were fixed.
    It is a field of `model.Fact`, too."""
    is_local: bool = False
    """Whether neither teammates nor agents nor scripts are told of it."""
    is_untold: bool = False
    """Whether agents and scripts are not told of it, though it goes with the item everywhere."""
    is_incidental: bool = False
    """Whether it only says when another was changed, or by what."""
    phrase: str = ""
    """What a person is told that it is."""


class TurnRow(NamedTuple):
    """A row of the table of turns, with the names of its theme and session."""

    id: int
    uid: bytes
    theme: str
    session: str | None
    role: str
    content: str
    at: Millis
    origin_id: int | None
    verdict: str | None
    session_id: int | None


class FactRow(NamedTuple):
    """A row of the table of facts, in the order of `FACT_COLUMNS`."""

    id: int
    uid: bytes
    theme_id: int
    scope_id: int
    type: str
    target: str
    content: str
    tier: str
    pinned: int
    chars: int
    tokens: int
    actor_id: int
    created_at: int
    updated_at: int
    superseded_by: bytes | None
    cooled_by: str | None
    origin_id: int | None = None
    origin_detail: str | None = None
    verdict: str | None = None
    guards: str | None = None
    cites: str | None = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ItemKind:
    entity: str
    """What the journal calls one."""
    table: str
    attributes: tuple[Attribute, ...]
    """What the journal says of one, in the order in which it says it."""
    index: str = ""
    """Its full-text index."""
    texts: tuple[str, ...] = ()
    """Columns whose words are indexed."""
    facets: tuple[str, ...] = ()
    """Columns that are indexed as terms to filter by."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        return {
            attribute.name: attribute.default
            for attribute in self.attributes
            if not isinstance(attribute.default, Start)
        }

    @cached_property
    def _times(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes if attribute.default is Start.NOW)

    @cached_property
    def links(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes if attribute.form is Form.LINK)

    @cached_property
    def incidental(self) -> frozenset[str]:
        return frozenset(attribute.name for attribute in self.attributes if attribute.is_incidental)

    @cached_property
    def _changing(self) -> frozenset[str]:
        return frozenset(attribute.name for attribute in self.attributes if not attribute.is_fixed)

    def form(self, name: str) -> Form:
        return next(attribute.form for attribute in self.attributes if attribute.name == name)

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """Names of the attributes that came after the formats were fixed."""
        return tuple(attribute.name for attribute in self.attributes if attribute.is_optional)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """Names of those that scripts and agents are told besides what an answer spells out."""
        untold = {attribute.name for attribute in self.attributes if attribute.is_untold}
        return tuple(name for name in self.carried if name not in untold)

    @cached_property
    def carried(self) -> tuple[str, ...]:
        """Names of those that go with an item into files and to teammates."""
        return tuple(
            attribute.name for attribute in self.attributes if attribute.is_optional and not attribute.is_local
        )

    def optional_words(self, values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
        """Return optional attributes in portable words, without those that have their default."""
        return {name: to_portable(values[name]) for name in names if values[name] != self.defaults.get(name)}

    @cached_property
    def index_terms(self) -> str:
        """Add the terms of one item to the index: key, texts, and the facets in one text where it has any."""
        columns = (*self.texts, "facets") if self.facets else self.texts
        return f"INSERT INTO {self.index} (rowid, {', '.join(columns)}) VALUES (?{', ?' * len(columns)})"

    @cached_property
    def unindex_terms(self) -> str:
        """Take the words of one item out of the index: key, texts."""
        column, empty = (", facets", ", ''") if self.facets else ("", "")
        columns, marks = ", ".join(self.texts) + column, ", ".join("?" for _ in self.texts) + empty
        return f"INSERT INTO {self.index} ({self.index}, rowid, {columns}) VALUES ('delete', ?, {marks})"

    @cached_property
    def indexed_rows(self) -> str:
        """Select what is indexed, to be followed by `WHERE` or `ORDER BY`: key, texts, facets."""
        return f"SELECT {', '.join(('id', *self.texts, *self.facets))} FROM {self.table}"

    @cached_property
    def rows_of_uid(self) -> str:
        """Select what erasing an item needs: key, theme, texts."""
        return f"SELECT id, theme_id, {', '.join(self.texts)} FROM {self.table} WHERE uid = ?"

    def initial(self, at: int) -> dict[str, Any]:
        """Return the attributes of an item that begins, as far as they have a default. :param at: UTC milliseconds"""
        return self.defaults | dict.fromkeys(self._times, at)

    def new_words(self, values: Mapping[str, Any], at: int) -> dict[str, Any]:
        """Return what the journal says of a new item: its attributes, without those that have their default.

        :param values: stored ones, but for a scope, which is a label
        """
        initial = self.initial(at)
        return {
            name: to_portable(values[name])
            for name in self.names
            if name not in initial or values[name] != initial[name]
        }

    def select_changes(self, words: Mapping[str, Any]) -> dict[str, Any]:
        """Return the stored values of what a change says; a scope stays a label.

        :raises ValueError: it says something that no change of such an item does, and names become part of SQL
        """
        if unknown := words.keys() - self._changing:
            raise ValueError(f"unknown words {sorted(unknown)}")
        return self.to_columns(words)

    def to_columns(self, words: Mapping[str, Any]) -> dict[str, Any]:
        """Return attributes in portable words as they are stored; a scope stays a label. :raises ValueError: a link is no uid"""
        stored = dict(words)
        for name in self.links:
            if stored.get(name) is not None:
                stored[name] = uids.parse_uid(str(stored[name]))
        return stored

    def fold(self, columns: dict[str, Any], words: Mapping[str, Any]) -> None:
        """Take over what a row of the journal says; what is unknown or damaged in it counts for nothing."""
        for attribute in self.attributes:
            if attribute.name in words:
                try:
                    columns |= self.to_columns({attribute.name: words[attribute.name]})
                except ValueError:
                    columns[attribute.name] = None


FACT = ItemKind(
    "fact",
    "facts",
    (
        Attribute("scope", Form.SCOPE, phrase="its scope"),
        Attribute("type", Form.TYPE, is_fixed=True),
        Attribute("target", is_fixed=True),
        Attribute("content", phrase="its content"),
        Attribute("tier", phrase="its tier"),
        Attribute("pinned", Form.FLAG, 0, phrase="its pin"),
        Attribute("created_at", Form.TIME, Start.NOW),
        Attribute("updated_at", Form.TIME, Start.NOW, is_incidental=True),
        Attribute("superseded_by", Form.LINK, None, phrase="what replaced it"),
        Attribute("cooled_by", default=None, is_incidental=True, phrase="what cooled it"),
        Attribute("verdict", default=None, is_optional=True, is_local=True, phrase="its check"),
        Attribute("guards", default=None, is_optional=True, is_local=True, phrase="its guards"),
        Attribute("cites", default=None, is_optional=True, is_untold=True, phrase="what it cites"),
    ),
    FACTS,
    ("target", "content"),
    ("scope_id", "tier", "type"),
)

SCOPE = ItemKind(
    "scope",
    "scopes",
    (
        Attribute("label", phrase="its name"),
        Attribute("status", phrase="its status"),
        Attribute("opened_at", Form.TIME, phrase="its opening"),
        Attribute("closed_at", Form.TIME, None, phrase="its closing"),
        Attribute("closed_by", default=None, phrase="its closing"),
    ),
)

SESSION = ItemKind(
    "session",
    "sessions",
    (
        Attribute("name"),
        Attribute("client", default=None),
        Attribute("status", default="open"),
        Attribute("turn", Form.COUNT, 0),
    ),
)

TURN = ItemKind(
    "turn",
    "turns",
    (
        Attribute("role", is_fixed=True),
        Attribute("content", is_fixed=True),
        Attribute("at", Form.TIME, is_fixed=True),
        Attribute("verdict", default=None, is_optional=True, is_local=True),
    ),
    TURNS,
    ("content",),
)

ITEM_KINDS = {kind.index: kind for kind in (FACT, TURN)}
"""By full-text index."""

FACT_COLUMNS = ", ".join(f"f.{name}" for name in FactRow._fields)

STANDS = "tier IN ('hot', 'cold', 'archived')"
"""`STANDING_TIERS` in the words of the index `facts_standing`: in other words SQLite would not use it."""


def to_portable(value: Any) -> Any:
    """Return a column in the journal's form: uids as text, enums as their values."""
    if isinstance(value, bytes):
        return uids.format_uid(value)
    return str(value) if isinstance(value, str) else value


def to_file_value(form: Form, value: Any) -> Any:
    """Return the value of an attribute as files and scripts are told it."""
    if form is Form.FLAG:
        return bool(value)
    if value is None:
        return None
    if form is Form.TIME:
        return format_iso_time(value)
    return FactType(value).word if form is Form.TYPE else to_portable(value)
