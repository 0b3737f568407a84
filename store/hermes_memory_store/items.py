"""The two kinds of items a theme remembers, facts and captured turns: where each kind stands, and what of it is indexed.

What is done to both in the same way (indexing, erasing, checking an index) is written once, for an `ItemKind`.
"""

from __future__ import annotations

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.text_indexes import FACTS, TURNS


@dataclass(frozen=True, slots=True)
class ItemKind:
    """One kind of items."""

    entity: str
    """What the journal calls one."""
    table: str
    index: str
    """Its full-text index."""
    texts: tuple[str, ...]
    """Columns whose words are indexed."""
    facets: tuple[str, ...] = ()
    """Columns that are indexed as terms to filter by."""

    @property
    def index_terms(self) -> str:
        """Adds the terms of one item to the index."""
        columns = ("rowid", *self.texts, *(("facets",) if self.facets else ()))
        return f"INSERT INTO {self.index} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"

    @property
    def unindex_terms(self) -> str:
        """Takes the words of one item out of the index."""
        columns = (self.index, "rowid", *self.texts, *(("facets",) if self.facets else ()))
        marks = ("'delete'", "?", *("?" for _ in self.texts), *(("''",) if self.facets else ()))
        return f"INSERT INTO {self.index} ({', '.join(columns)}) VALUES ({', '.join(marks)})"

    @property
    def indexed_rows(self) -> str:
        """Selects what is indexed, to be followed by `WHERE` or `ORDER BY`: key, texts, facets."""
        return f"SELECT {', '.join(('id', *self.texts, *self.facets))} FROM {self.table}"

    @property
    def rows_of_uid(self) -> str:
        """Selects what erasing an item needs: key, theme, texts."""
        return f"SELECT {', '.join(('id', 'theme_id', *self.texts))} FROM {self.table} WHERE uid = ?"


FACT = ItemKind("fact", "facts", FACTS, ("target", "content"), ("scope_id", "tier", "type"))

TURN = ItemKind("turn", "turns", TURNS, ("content",))

ITEM_KINDS = {kind.index: kind for kind in (FACT, TURN)}
"""By full-text index."""
