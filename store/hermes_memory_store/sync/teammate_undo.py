"""Take back all that a teammate wrote: words, tiers, pins, scopes of facts, whatever others did in between.

Each column of a fact that is as the teammate left it returns to what it was before him. A fact whose words are his and
that had none before is withdrawn. What others have changed since stays theirs. It is one change, which can be undone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from hermes_memory_store.items.kinds import FACT, FactRow
from hermes_memory_store.items.mutation import Mutation, find_standing_fact
from hermes_memory_store.memory.reversal import format_fact_name
from hermes_memory_store.model import STANDING_TIERS, Tier

ORIGINS_OF_TEAMMATE = "SELECT id FROM origins WHERE teammate >= ?1 || '/' AND teammate < ?1 || '0'"

FACTS_OF_TEAMMATE = f"""
    SELECT uid FROM journal WHERE entity = 'fact' AND (?2 IS NULL OR theme_id = ?2)
      AND actor_id = (SELECT id FROM actors WHERE kind = 'sync' AND name = ?1)
    UNION
    SELECT uid FROM facts WHERE (?2 IS NULL OR theme_id = ?2)
      AND origin_id IN ({ORIGINS_OF_TEAMMATE})
"""

HISTORY = """
    SELECT j.seq, j.before IS NULL, j.after, a.kind, a.name FROM journal j JOIN actors a ON a.id = j.actor_id
    WHERE j.uid = ? AND j.entity = 'fact' AND j.after IS NOT NULL ORDER BY j.seq
"""

MOVES = ("scope", "tier", *FACT.links, "pinned")
"""What is moved of a fact whose words stay. What replaced it belongs to its tier."""


@dataclass(slots=True)
class ColumnHistory:
    """What a column of a fact was before the teammate set it last, and whether it is as he left it."""

    value: Any = None
    is_his: bool = False
    former: Any = None
    has_former: bool = False
    """Whether anybody else ever set it."""

    def note(self, value: Any, is_his: bool) -> None:
        """Note that somebody set it."""
        if is_his and not self.is_his:
            self.former = self.value
        self.has_former = self.has_former or not is_his
        self.value, self.is_his = value, is_his


@dataclass(slots=True)
class TeammateUndo:
    """Take back what one teammate wrote, within a running change."""

    change: Mutation
    role: str
    undone: list[int] = field(default_factory=list)
    """Rows of the journal that are his and were taken back."""
    touched: list[bytes] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """What is left as it is, and why."""
    _origins: frozenset[int] = frozenset()
    """Of facts that he brought first."""

    def take_back(self, theme_id: int | None) -> None:
        """Take back all of it, in one theme or in all."""
        conn = self.change.conn
        self._origins = frozenset(key for (key,) in conn.execute(ORIGINS_OF_TEAMMATE, (self.role,)))
        remaining = []
        for (uid,) in conn.execute(FACTS_OF_TEAMMATE, (self.role, theme_id)).fetchall():
            row = self.change.fact_row(uid)
            if row is None or row.tier == Tier.WITHDRAWN:
                continue
            history, numbers = self._load_history(row)
            words = history["content"]
            if words.is_his and not words.has_former:
                self.change.update_fact(row, "withdraw", keep_time=True, tier=Tier.WITHDRAWN.value, pinned=0)
                self._note(row, numbers)
            else:
                remaining.append((row, history, numbers))
        for row, history, numbers in remaining:  # places are free by now
            self._restore(row, history, numbers)

    def _restore(self, row: FactRow, history: dict[str, ColumnHistory], numbers: list[int]) -> None:
        """Return the columns that are as he left them to what they were before him."""
        former = {name: column.former for name, column in history.items() if column.is_his and column.has_former}
        for link in FACT.links:
            former.pop(link, None)
            if "tier" in former:
                former[link] = history[link].former
        if "pinned" in former:
            former["pinned"] = int(bool(former["pinned"]))
        present = {"content": row.content, "tier": row.tier, "pinned": row.pinned}
        changed = {name: value for name, value in former.items() if name not in present or present[name] != value}
        if not changed:
            return
        columns = self.change.columns_of(row, changed)
        for link in columns.keys() & set(FACT.links):
            if not self._is_standing(columns[link]):
                columns[link] = None
        scope_id = columns["scope"].id if "scope" in columns else row.scope_id
        other = find_standing_fact(self.change.conn, scope_id, row.type, row.target, ignored=row.uid)
        if columns.get("tier", row.tier) in STANDING_TIERS and other is not None:
            self.left.append(f"{format_fact_name(row)} stays as it is: {format_fact_name(other)} stands in its place")
            return
        self.change.update_fact(row, "restore", keep_time=True, **columns)
        self._note(row, numbers)

    def _is_standing(self, link: bytes | None) -> bool:
        row = None if link is None else self.change.fact_row(link)
        return row is not None and row.tier != Tier.WITHDRAWN

    def _note(self, row: FactRow, numbers: list[int]) -> None:
        self.undone += numbers
        self.touched.append(row.uid)

    def _load_history(self, row: FactRow) -> tuple[dict[str, ColumnHistory], list[int]]:
        """Return the history of each column, and the numbers of the rows that are his."""
        history = {name: ColumnHistory() for name in ("content", *MOVES)}
        numbers = []
        for seq, is_creation, after, kind, name in self.change.conn.execute(HISTORY, (row.uid,)).fetchall():
            words = json.loads(after)
            # Before the server said whose words they are, it named only who had brought a fact first.
            is_his = kind == "sync" and (
                name == self.role or (is_creation and not name and row.origin_id in self._origins)
            )
            numbers += [seq] if is_his else []
            for column in history if is_creation else history.keys() & words.keys():
                history[column].note(words.get(column), is_his)
        return history, numbers
