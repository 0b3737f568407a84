"""The rules of a write, which keep one standing fact per scope, type and target.

- same notation again: the standing fact is touched, and returns to hot if it had cooled;
- other content: the standing fact becomes superseded, linked to the new one;
- `~[t]` supersedes every open fact about `t` in that scope; a `C`, `D` or `V` on `t` answers an open `?[t]`,
  and takes the place of a `~[t]`;
- `✓[…]` closes the scope it is written to, and in a closed one is cooled with the rest; any other write
  reopens it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hermes_memory_store.fact_types import SETTLED
from hermes_memory_store.intake.intake import AdmittedFact
from hermes_memory_store.items.kinds import FactRow
from hermes_memory_store.items.mutation import Mutation, standing_facts
from hermes_memory_store.items.name_keys import UNSCOPED, ScopeKey
from hermes_memory_store.items.tier_columns import COOLED_BY_CLOSING, cold_columns, hot_columns, superseded_columns
from hermes_memory_store.memory.scopes import close_scope, reopen_scope
from hermes_memory_store.model import FactType, ScopeStatus, Tier


class WriteOutcome(NamedTuple):
    row: FactRow
    created: bool
    superseded: list[bytes]
    closed: list[str]


def write_fact(
    change: Mutation,
    theme_id: int,
    scope: ScopeKey,
    admitted: AdmittedFact,
    *,
    tier: Tier = Tier.HOT,
    line: int | None = None,
) -> WriteOutcome:
    """Apply the rules for one notation within a running change. :param line: of the imported file, of a new fact"""
    notation = admitted.said
    if notation.type is not FactType.DONE and scope.status != ScopeStatus.OPEN:
        reopen_scope(change, scope)
    settles = SETTLED.get(notation.type, {})
    stand = standing_facts(change.conn, scope.id, (notation.type.value, *settles), notation.target)
    standing = stand.get(notation.type.value)
    outdated = [(stand[kind], op) for kind, op in settles.items() if kind in stand]
    # A closed scope stays closed when it is said to be done again, and nothing of it is told.
    is_closed = notation.type is FactType.DONE and scope.status == ScopeStatus.CLOSED and scope.label != UNSCOPED
    cooled = cold_columns(COOLED_BY_CLOSING) if is_closed else None
    if standing is not None and standing.content == notation.content:
        fact, created = touch_fact(change, standing, cooled), False
        supersede_facts(change, outdated, standing.uid)
    else:
        if standing is not None:
            outdated.append((standing, "supersede"))
        uid = change.new_uid() if outdated else None
        if uid is not None:
            supersede_facts(change, outdated, uid)
        columns = cooled or {"tier": tier.value}
        fact, created = change.insert_fact(theme_id, scope, admitted, uid=uid, line=line, **columns), True
    is_closing = notation.type is FactType.DONE and close_scope(change, scope, why="done")
    return WriteOutcome(fact, created, [row.uid for row, _ in outdated], [scope.label] if is_closing else [])


def supersede_facts(change: Mutation, outdated: list[tuple[FactRow, str]], by: bytes) -> None:
    """Supersede replaced facts in the transaction in which their replacement comes to stand."""
    for row, op in outdated:
        change.update_fact(row, op, **superseded_columns(by))


def touch_fact(change: Mutation, standing: FactRow, cooled: dict[str, Any] | None = None) -> FactRow:
    """Touch a fact whose notation was repeated. :param cooled: its tier columns in a closed scope"""
    if standing.tier == Tier.HOT:
        return change.update_fact(standing, "touch")
    if cooled is not None:
        return change.update_fact(standing, "touch", **cooled)
    return change.update_fact(standing, "warm", **hot_columns())
