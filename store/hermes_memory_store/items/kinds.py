"""The two kinds of items a theme remembers, facts and captured turns: where each kind stands, and what of it is indexed.

What is done to both in the same way (indexing, erasing, checking an index) is written once, for an `ItemKind`.
"""

from __future__ import annotations

from hermes_memory_store.database.index_health import FACTS, TURNS
from hermes_memory_store.frozen import dataclass


@dataclass(frozen=True, slots=True)
class ItemKind:
    """One kind of items, with the statements that differ by nothing but its names."""

    entity: str
    """What the journal calls one."""
    table: str
    index: str
    """Its full-text index."""
    texts: tuple[str, ...]
    """Columns whose words are indexed."""
    facets: tuple[str, ...]
    """Columns that are indexed as terms to filter by."""
    index_terms: str
    """Adds the terms of one item to the index: key, texts, and the facets in one text where it has any."""
    unindex_terms: str
    """Takes the words of one item out of the index: key, texts."""
    indexed_rows: str
    """Selects what is indexed, to be followed by `WHERE` or `ORDER BY`: key, texts, facets."""
    rows_of_uid: str
    """Selects what erasing an item needs: key, theme, texts."""


def item_kind(entity: str, table: str, index: str, texts: tuple[str, ...], facets: tuple[str, ...] = ()) -> ItemKind:
    """Return a kind of items with its statements."""
    words = ", ".join(texts)
    marks = ", ".join("?" for _ in texts)
    column, mark, empty = (", facets", ", ?", ", ''") if facets else ("", "", "")
    return ItemKind(
        entity,
        table,
        index,
        texts,
        facets,
        index_terms=f"INSERT INTO {index} (rowid, {words}{column}) VALUES (?, {marks}{mark})",
        unindex_terms=f"INSERT INTO {index} ({index}, rowid, {words}{column}) VALUES ('delete', ?, {marks}{empty})",
        indexed_rows=f"SELECT {', '.join(('id', *texts, *facets))} FROM {table}",
        rows_of_uid=f"SELECT id, theme_id, {words} FROM {table} WHERE uid = ?",
    )


FACT = item_kind("fact", "facts", FACTS, ("target", "content"), ("scope_id", "tier", "type"))

TURN = item_kind("turn", "turns", TURNS, ("content",))

ITEM_KINDS = {kind.index: kind for kind in (FACT, TURN)}
"""By full-text index."""
