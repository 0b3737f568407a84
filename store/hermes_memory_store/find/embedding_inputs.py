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

FACTS = "SELECT f.id, f.uid, f.target, f.content FROM facts f WHERE {} ORDER BY f.id LIMIT ?"
TURNS = "SELECT t.id, t.uid, t.content FROM turns t WHERE {} ORDER BY t.id LIMIT ?"

PUBLISHED_FACTS = "f.tier IN ('hot', 'cold')"

NAMED = {
    "fact": f"SELECT f.uid, f.target, f.content FROM facts f WHERE f.theme_id = ? AND {PUBLISHED_FACTS} AND f.uid IN ({{}})",
    "turn": "SELECT t.uid, NULL, t.content FROM turns t WHERE t.theme_id = ? AND t.uid IN ({})",
}


@dataclass(frozen=True, slots=True)
class EmbeddingInput:
    """The text of one fact or turn."""

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
    """Read embedding inputs; never write."""

    def __init__(self, db: Db, names: Names) -> None:
        self._db = db
        self._names = names

    def page(self, kind: str, after: int, limit: int) -> list[EmbeddingInput]:
        """Return the next inputs of a kind (`fact`, `turn`) by id."""
        where = f"f.id > ? AND {PUBLISHED_FACTS}" if kind == "fact" else "t.id > ?"
        return self._load_inputs(kind, where, (after, limit))

    def by_ids(self, kind: str, ids: Collection[int]) -> list[EmbeddingInput]:
        """Return the current inputs of these ids, whatever their state; those that no longer exist are omitted."""
        where = (
            "f.id IN (SELECT value FROM json_each(?))" if kind == "fact" else "t.id IN (SELECT value FROM json_each(?))"
        )
        return self._load_inputs(kind, where, (json.dumps(sorted(ids)), len(ids)))

    def by_uids(self, theme: str, kind: str, wanted: Collection[Uid]) -> list[NamedEmbeddingInput]:
        """Return the current inputs of these facts or turns of a theme, as far as an agent may see them."""
        inputs = []
        for some in in_chunks(list(wanted)):
            sql = NAMED[kind].format(", ".join("?" * len(some)))
            for uid, target, content in self._db.rows(
                sql, (self._names.theme_or_none(theme), *map(uids.parse_uid, some))
            ):
                text = content[:MOST_CHARS] if target is None else fact_sentence(target, content)
                embedding_input = EmbeddingInput(kind, 0, uid, text)
                inputs.append(NamedEmbeddingInput(uids.format_uid(uid), content, embedding_input.digest))
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
        for kind, where in (("fact", f"f.uid = ? AND {PUBLISHED_FACTS}"), ("turn", "t.uid = ?")):
            for uid in dict.fromkeys(row[2] for row in rows if row[1] == kind):
                inputs += self._load_inputs(kind, where, (uid, 1))
        return inputs, int(rows[-1][0])

    def last_change(self) -> int:
        """Return the number of the newest change of the journal."""
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
        if kind == "fact":
            rows = self._db.rows(FACTS.format(where), args)
            return [
                EmbeddingInput(kind, key, uid, fact_sentence(target, content)) for key, uid, target, content in rows
            ]
        rows = self._db.rows(TURNS.format(where), args)
        return [EmbeddingInput(kind, key, uid, content[:MOST_CHARS]) for key, uid, content in rows]


def fact_sentence(target: str, content: str) -> str:
    """Return a fact as a sentence a model can read: its target's words, then its content."""
    words = target.replace(".", " ").replace("_", " ").replace("-", " ")
    return f"{words}: {content}"[:MOST_CHARS]
