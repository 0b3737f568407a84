"""Embedding inputs: the texts of facts and turns, page by page, for the code that makes vectors of them.

Only what an agent may see is returned: quarantined, withdrawn or archived facts are not. A text is bounded, since
no model reads more of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from hermes_memory_store import uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.model import Uid

MOST_CHARS = 4_000
"""Of one text: some 1,000 tokens, within what embedding models take; local ones look at the first 256."""

ITEMS = {
    "fact": "SELECT id, uid, content, target FROM facts WHERE {} ORDER BY id LIMIT ?",
    "turn": "SELECT id, uid, content, NULL FROM turns WHERE {} ORDER BY id LIMIT ?",
}

PUBLISHED = {"fact": "tier IN ('hot', 'cold')", "turn": "TRUE"}
"""What an agent may see."""


@dataclass(frozen=True, slots=True)
class EmbeddingInput:
    kind: str
    id: int
    uid: bytes
    text: str

    @property
    def digest(self) -> bytes:
        """Digest by which a changed text is detected."""
        return hashlib.sha256(self.text.encode("utf-8", "replace")).digest()[:16]


@dataclass(frozen=True, slots=True)
class NamedEmbeddingInput:
    """The text of one fact or turn, with the uid that other stores know."""

    uid: Uid
    content: str
    digest: bytes
    """As `EmbeddingInput.digest`."""


class EmbeddingInputs:
    def __init__(self, db: Db, names: Names) -> None:
        self._db = db
        self._names = names

    def page(self, kind: str, after: int, limit: int) -> list[EmbeddingInput]:
        """Return the next inputs of a kind (`fact`, `turn`) by id."""
        return self._load_inputs(kind, f"id > ? AND {PUBLISHED[kind]}", (after, limit))

    def by_ids(self, kind: str, ids: Collection[int]) -> list[EmbeddingInput]:
        """Return the current inputs of these ids, whatever their state; those that no longer exist are omitted."""
        where = "id IN (SELECT value FROM json_each(?))"
        return self._load_inputs(kind, where, (json.dumps(sorted(ids)), len(ids)))

    def by_uids(self, theme: str, kind: str, wanted: Collection[Uid]) -> list[NamedEmbeddingInput]:
        """Return the current inputs of these facts or turns of a theme, as far as an agent may see them."""
        inputs = []
        for some in in_chunks(list(wanted)):
            where = f"theme_id = ? AND {PUBLISHED[kind]} AND uid IN ({', '.join('?' * len(some))})"
            args = (self._names.theme_or_none(theme), *map(uids.parse_uid, some), len(some))
            for row in self._db.rows(ITEMS[kind].format(where), args):
                embedding_input = to_embedding_input(kind, *row)
                inputs.append(NamedEmbeddingInput(uids.format_uid(row[1]), row[2], embedding_input.digest))
        return inputs

    def find_ids(self, kind: str, wanted: Collection[Uid]) -> dict[Uid, int]:
        """Return the ids of these facts or turns, as far as they are here."""
        ids: dict[Uid, int] = {}
        for some in in_chunks(list(wanted)):
            sql = f"SELECT uid, id FROM {kind}s WHERE uid IN ({', '.join('?' * len(some))})"
            ids |= {uids.format_uid(uid): key for uid, key in self._db.rows(sql, list(map(uids.parse_uid, some)))}
        return ids

    def changed_since(self, since: int, limit: int) -> tuple[list[EmbeddingInput], int]:
        """Return what was written or changed after a change of the journal, and the last change considered."""
        rows = self._db.rows("SELECT seq, entity, uid FROM journal WHERE seq > ? ORDER BY seq LIMIT ?", (since, limit))
        if not rows:
            return [], since
        inputs: list[EmbeddingInput] = []
        for kind in ITEMS:
            for uid in dict.fromkeys(row[2] for row in rows if row[1] == kind):
                inputs += self._load_inputs(kind, f"uid = ? AND {PUBLISHED[kind]}", (uid, 1))
        return inputs, int(rows[-1][0])

    def last_change(self) -> int:
        return int(self._db.value("SELECT max(seq) FROM journal") or 0)

    def count(self) -> int:
        """Return the approximate number of inputs, facts by the tallies."""
        facts = self._db.value("SELECT coalesce(sum(facts), 0) FROM tallies WHERE tier IN ('hot', 'cold')")
        return int(facts) + int(self._db.value("SELECT count(*) FROM turns"))

    def id_range(self, theme: str) -> tuple[int, int] | None:
        """Return the ids that facts and turns of a theme can have; None when nothing was ever written to it."""
        key = self._names.theme_or_none(theme)
        return None if key is None else (key << THEME_SHIFT, ((key + 1) << THEME_SHIFT) - 1)

    def _load_inputs(self, kind: str, where: str, args: tuple[Any, ...]) -> list[EmbeddingInput]:
        return [to_embedding_input(kind, *row) for row in self._db.rows(ITEMS[kind].format(where), args)]


def to_embedding_input(kind: str, key: int, uid: bytes, content: str, target: str | None) -> EmbeddingInput:
    """Return a turn's text, or a fact as a sentence a model can read: its target's words, then its content."""
    words = "" if target is None else f"{target.replace('.', ' ').replace('_', ' ').replace('-', ' ')}: "
    return EmbeddingInput(kind, key, uid, f"{words}{content}"[:MOST_CHARS])
