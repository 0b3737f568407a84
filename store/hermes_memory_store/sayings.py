"""What facts and turns say, page by page, for whoever makes vectors of it.

Only what an agent may be told is handed out: what waits for a person, was withdrawn or archived is not. A text is bounded,
since no model reads more of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from hermes_memory_store import uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.db import Db
from hermes_memory_store.model import Uid
from hermes_memory_store.names import Names
from hermes_memory_store.schema import THEME_SHIFT

MOST_CHARS = 4_000
"""Of one text: some 1,000 tokens, within what embedding models take; local ones look at the first 256."""

FACTS = "SELECT f.id, f.uid, f.target, f.content FROM facts f WHERE {} ORDER BY f.id LIMIT ?"
TURNS = "SELECT t.id, t.uid, t.content FROM turns t WHERE {} ORDER BY t.id LIMIT ?"

TOLD = "f.tier IN ('hot', 'cold')"

NAMED = f"SELECT f.id, f.uid, f.target, f.content FROM facts f WHERE f.theme_id = ? AND {TOLD} AND f.uid IN ({{}})"


@dataclass(frozen=True, slots=True)
class Saying:
    """What one fact or turn says."""

    kind: str
    id: int
    uid: bytes
    text: str

    @property
    def digest(self) -> bytes:
        """By which it is known whether it still says the same."""
        return hashlib.sha256(self.text.encode("utf-8", "replace")).digest()[:16]


@dataclass(frozen=True, slots=True)
class FactSaid:
    """What one fact says, by the name others know it by."""

    uid: Uid
    content: str
    digest: bytes
    """As `Saying.digest`."""


class Sayings:
    """Reads what is said, never writes."""

    def __init__(self, db: Db, names: Names) -> None:
        self._db = db
        self._names = names

    def page(self, kind: str, after: int, limit: int) -> list[Saying]:
        """The next of a kind (`fact`, `turn`) by id."""
        where = f"f.id > ? AND {TOLD}" if kind == "fact" else "t.id > ?"
        return self._read(kind, where, (after, limit))

    def of_ids(self, kind: str, ids: Collection[int]) -> list[Saying]:
        """What these say now, whatever became of them; those that are gone are missing."""
        where = (
            "f.id IN (SELECT value FROM json_each(?))" if kind == "fact" else "t.id IN (SELECT value FROM json_each(?))"
        )
        return self._read(kind, where, (json.dumps(sorted(ids)), len(ids)))

    def of_uids(self, theme: str, wanted: Collection[Uid]) -> list[FactSaid]:
        """What these facts of a theme say now, as far as an agent may be told."""
        found = []
        for some in in_chunks(list(wanted)):
            sql = NAMED.format(", ".join("?" * len(some)))
            for key, uid, target, content in self._db.rows(
                sql, (self._names.theme_or_none(theme), *map(uids.to_bytes, some))
            ):
                said = Saying("fact", key, uid, said_by_fact(target, content))
                found.append(FactSaid(uids.to_text(uid), content, said.digest))
        return found

    def changed(self, since: int, limit: int) -> tuple[list[Saying], int]:
        """What was written or changed after a change of the journal, and the change up to which that is."""
        rows = self._db.rows("SELECT seq, entity, uid FROM journal WHERE seq > ? ORDER BY seq LIMIT ?", (since, limit))
        if not rows:
            return [], since
        found: list[Saying] = []
        for kind, where in (("fact", f"f.uid = ? AND {TOLD}"), ("turn", "t.uid = ?")):
            for uid in dict.fromkeys(row[2] for row in rows if row[1] == kind):
                found += self._read(kind, where, (uid, 1))
        return found, int(rows[-1][0])

    def last_change(self) -> int:
        """The newest change of the journal."""
        return int(self._db.value("SELECT max(seq) FROM journal") or 0)

    def count(self) -> int:
        """About how many there are, facts by the tallies."""
        facts = self._db.value("SELECT coalesce(sum(facts), 0) FROM tallies WHERE tier IN ('hot', 'cold')")
        return int(facts) + int(self._db.value("SELECT count(*) FROM turns"))

    def span(self, theme: str) -> tuple[int, int] | None:
        """The ids that facts and turns of a theme can have; None when nothing was ever written to it."""
        key = self._names.theme_or_none(theme)
        return None if key is None else (key << THEME_SHIFT, ((key + 1) << THEME_SHIFT) - 1)

    def _read(self, kind: str, where: str, args: tuple[Any, ...]) -> list[Saying]:
        if kind == "fact":
            rows = self._db.rows(FACTS.format(where), args)
            return [Saying(kind, key, uid, said_by_fact(target, content)) for key, uid, target, content in rows]
        rows = self._db.rows(TURNS.format(where), args)
        return [Saying(kind, key, uid, content[:MOST_CHARS]) for key, uid, content in rows]


def said_by_fact(target: str, content: str) -> str:
    """A fact as a sentence a model can read: its target's words, then its content."""
    words = target.replace(".", " ").replace("_", " ").replace("-", " ")
    return f"{words}: {content}"[:MOST_CHARS]
