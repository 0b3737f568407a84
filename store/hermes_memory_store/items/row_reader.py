"""Rows of facts as data: one reader, bound once, for every statement that begins with `FACTS_WITH_READS`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hermes_memory_store import uids
from hermes_memory_store.items.kinds import FACT, FactRow
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.model import Fact, FactType, Millis, Tier

FACT_TYPES = {kind.value: kind for kind in FactType}

TIERS = {tier.value: tier for tier in Tier}


LABEL = len(FactRow._fields)
"""Place of the first of `READ_COLUMNS`."""

OPTIONAL = tuple((name, FactRow._fields.index(name)) for name in FACT.optional)


class RowReader:
    """Make facts of rows: the columns of `FACT_COLUMNS`, and those of `READ_COLUMNS` after them.

    What `Names` has cached is looked up here in place, and `Names` is called only for the rest: a page has fifty
    rows, and each of them a theme and an actor.
    """

    __slots__ = ("_authors", "_names", "_origins", "_theme_names")

    def __init__(self, names: Names) -> None:
        self._names = names
        self._theme_names = names.known_theme_names
        self._authors = names.known_authors
        self._origins = names.origins

    def facts(self, rows: Iterable[Sequence[Any]]) -> list[Fact]:
        """Return the facts of these rows, in their order."""
        rows = list(rows)
        named = uids.to_texts([row[1] for row in rows])
        origins = {keys: self._origins.by_key(*keys) for keys in {(row[16], row[17]) for row in rows}}
        return [
            Fact(
                id=row[0],
                uid=uid,
                theme=self._theme_names.get(row[2]) or self._names.theme_name(row[2]),
                scope=row[LABEL] or None,
                type=FACT_TYPES[row[4]],
                target=row[5],
                content=row[6],
                tier=TIERS[row[7]],
                pinned=bool(row[8]),
                chars=row[9],
                tokens=row[10],
                actor=self._authors.get((row[11], row[2])) or self._names.author(row[11], row[2]),
                created_at=Millis(row[12]),
                updated_at=Millis(row[13]),
                superseded_by=None if row[14] is None else uids.format_uid(row[14]),
                reads=row[LABEL + 1] or 0,
                read_at=None if row[LABEL + 2] is None else Millis(row[LABEL + 2]),
                origin=origins[row[16], row[17]],
                **{name: row[place] for name, place in OPTIONAL},
            )
            for row, uid in zip(rows, named, strict=True)
        ]

    def by_id(self, rows: Iterable[Sequence[Any]]) -> dict[int, Fact]:
        """Return the facts of these rows by their keys."""
        return {fact.id: fact for fact in self.facts(rows)}
