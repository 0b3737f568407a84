"""Reversing one change of the journal row by row, inside the change that takes it back.

A fact is reversed only where it still is as the change left it, and comes back only to a place that is free; whatever
stands in the way is named, with the way out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hermes_memory_store import errors, uids
from hermes_memory_store.model import RELIEF, STANDING_TIERS, Change, ScopeStatus, Tier
from hermes_memory_store.names import UNSCOPED, ScopeKey
from hermes_memory_store.records import FactRow, Mutation, portable, standing_fact
from hermes_memory_store.scopes import way_out_of

UNDOABLE = frozenset({"fact", "scope"})
"""Entities that undo restores. A session's coming and going is a fact of life."""

DELIBERATE = ("archive", "edit", "move", "pin", "restore", "touch", "unpin")
"""Operations that are meant for the very fact: who does one of them has made it their own."""

OF_THE_TEAM = frozenset({"content", "scope", "updated_at"})
"""What changes of a fact when somebody elsewhere does one of them. Relief, and making room for another, leave its time."""

LATER = """
    SELECT j.change, j.op, j.after, j.undoes, j.actor_id, a.kind FROM journal j JOIN actors a ON a.id = j.actor_id
    WHERE j.uid = ? AND j.entity = ? AND j.seq > ? AND j.seq <= ? ORDER BY j.seq DESC
"""

LABEL_THEN = """
    SELECT after ->> 'label' FROM journal
    WHERE uid = scopes.uid AND entity = 'scope' AND seq <= ?1 AND after ->> 'label' IS NOT NULL ORDER BY seq DESC LIMIT 1
"""

SCOPE_CALLED = """
    SELECT id, uid, label, status FROM scopes
    WHERE theme_id = (SELECT theme_id FROM scopes WHERE id = ?1) AND label = ?2 AND id <> ?1
"""

SCOPE_CALLED_THEN = f"""
    SELECT id, uid, label, status FROM scopes WHERE theme_id = ?2 AND coalesce(({LABEL_THEN}), label) = ?3
"""

LABEL_OF_SCOPE_THEN = f"SELECT coalesce(({LABEL_THEN}), label) FROM scopes WHERE id = ?2"

SCOPE_COLUMNS = ("id", "label", "status", "opened_at", "closed_at", "closed_by")

OPENED = """
    SELECT change FROM journal
    WHERE uid = ? AND entity = 'scope' AND (before IS NULL OR before ->> 'status' = 'withdrawn') ORDER BY seq DESC LIMIT 1
"""

USED = "SELECT 1 FROM facts WHERE scope_id = ? AND tier <> 'withdrawn' LIMIT 1"


class Reversal:
    """Takes the rows of one change back. The newest row comes first."""

    def __init__(
        self, mutation: Mutation, first: int, newest: int, is_undone: Callable[[int], bool], *, sparing: bool
    ) -> None:
        """:param first: number of the change
        :param newest: the journal's last row before any of this: a conflict never names a row of the very undo
        :param sparing: refuse what a person or a teammate has touched since, even in other columns than those that are taken back
        """
        self._mutation = mutation
        self._conn = mutation.conn
        self._first = first
        self._newest = newest
        self._is_undone = is_undone
        self._sparing = sparing
        self._left: dict[int, None] = {}
        """Scopes that a fact has left."""

    def reverse(self, row: Change) -> bool:
        """Take one row back; False where it is left as it is. :raises UndoConflict: when something stands in the way"""
        if row.entity not in UNDOABLE:
            return False
        if row.after is None and row.before is None:
            raise errors.UndoConflict(f"change {row.seq} was erased by a purge and cannot be undone", row.seq)
        return self._reverse_fact(row) if row.entity == "fact" else self._reverse_scope(row)

    def finish(self) -> None:
        """Withdraw the scopes whose last fact has left, where what opened them is taken back."""
        for scope_id in self._left:
            uid, label, status = self._conn.execute(
                "SELECT uid, label, status FROM scopes WHERE id = ?", (scope_id,)
            ).fetchone()
            if label == UNSCOPED or status == ScopeStatus.WITHDRAWN or self._is_used(scope_id):
                continue
            opened = self._conn.execute(OPENED, (uid,)).fetchone()
            if opened is not None and (opened[0] == self._first or self._is_undone(opened[0])):
                self._mutation.update_scope(scope_id, "undo", status=ScopeStatus.WITHDRAWN)

    def _reverse_fact(self, row: Change) -> bool:
        stored = self._mutation.fact_row(uids.to_bytes(row.uid))
        if stored is None:
            raise errors.UndoConflict(f"fact {row.uid} was purged; change {row.seq} cannot be undone", row.uid)
        differs = self._differences(stored, row)
        if differs and row.actor == RELIEF:
            return False
        if differs:
            raise self._conflict(row, differs, name_of(stored))
        self._refuse_touched(stored, row)
        columns = self._former_columns(stored, row)
        scope = columns.get("scope") or self._scope(stored.scope_id)
        tier = columns.get("tier", stored.tier)
        if tier in STANDING_TIERS:
            self._refuse_second(stored, scope, row)
        if tier != Tier.WITHDRAWN and scope.status == ScopeStatus.WITHDRAWN:
            self._bring_back(scope)
        if tier == Tier.WITHDRAWN or scope.id != stored.scope_id:
            self._left[stored.scope_id] = None
        self._mutation.update_fact(stored, "undo", keep_time=True, **columns)
        return True

    def _differences(self, stored: FactRow, row: Change) -> list[str]:
        """Columns of a fact that are no longer as the change left them."""
        expected = dict(row.after or {})
        if row.before is None:
            expected = {name: expected.get(name) for name in ("tier", "content", "scope")} | {
                "pinned": expected.get("pinned", 0)
            }
        if expected.get("superseded_by") is not None and not self._is_here(expected["superseded_by"]):
            expected["superseded_by"] = None  # it was purged since, and its links with it
        stands = {name: portable(getattr(stored, name)) for name in expected if name in stored._fields}
        if "scope" in expected:
            then = self._conn.execute(LABEL_OF_SCOPE_THEN, (row.seq, stored.scope_id)).fetchone()[0]
            stands["scope"] = then or None
        return [name for name in expected if name != "updated_at" and stands[name] != expected[name]]

    def _refuse_touched(self, stored: FactRow, row: Change) -> None:
        """What somebody else has made their own since is not taken away beneath them."""
        if row.before is not None and not self._sparing:
            return
        kinds = ("person",) if row.before is not None else ("person", "session")
        author = self._mutation.names.actor(self._conn, row.actor)
        for change, op, after, undoes, actor_id, kind in self._later(row):
            if undoes is not None or actor_id == author:
                continue
            from_team = kind == "sync" and not OF_THE_TEAM.isdisjoint(json.loads(after or "{}"))
            deliberate = from_team or (op in DELIBERATE and kind in kinds)
            if deliberate and change != self._first and not self._is_undone(change):
                raise self._conflict(row, ["from the team" if from_team else op], name_of(stored), change)

    def _former_columns(self, stored: FactRow, row: Change) -> dict[str, Any]:
        """What a fact gets back. A scope that was renamed since is still the same, and what was purged is no link."""
        if row.before is None:
            return {"tier": Tier.WITHDRAWN.value}
        patch = dict(row.before)
        found = None
        if "scope" in patch:
            label = patch["scope"] or UNSCOPED
            found = self._conn.execute(SCOPE_CALLED_THEN, (row.seq, stored.theme_id, label)).fetchone()
        if found is not None:
            del patch["scope"]
        if patch.get("superseded_by") is not None and not self._is_here(patch["superseded_by"]):
            patch["superseded_by"] = None
        columns = self._mutation.columns_of(stored.theme_id, patch)
        return columns if found is None else columns | {"scope": ScopeKey(*found)}

    def _refuse_second(self, stored: FactRow, scope: ScopeKey, row: Change) -> None:
        """A fact may only come back to a place that no other fact has taken."""
        standing = standing_fact(self._conn, scope.id, stored.type, stored.target, besides=stored.uid)
        if standing is None:
            return
        later = self._conn.execute("SELECT max(change) FROM journal WHERE uid = ?", (standing.uid,)).fetchone()[0]
        where = f"scope {scope.label!r}" if scope.label else "no scope"
        raise errors.UndoConflict(
            f"change {row.seq} cannot be undone: {name_of(stored)} would come back to {where}, and {name_of(standing)} "
            f"stands in its place by now; move that one to another scope, or undo {later} first",
            row.seq,
        )

    def _reverse_scope(self, row: Change) -> bool:
        found = self._conn.execute(
            f"SELECT {', '.join(SCOPE_COLUMNS)} FROM scopes WHERE uid = ?", (uids.to_bytes(row.uid),)
        ).fetchone()
        stands = dict(zip(SCOPE_COLUMNS, found, strict=True))
        former = row.before or {"status": ScopeStatus.WITHDRAWN.value}
        if former.get("status") == ScopeStatus.WITHDRAWN and self._is_used(stands["id"]):
            return False
        if all(stands[name] == value for name, value in former.items()):
            return False
        if row.before is not None:
            differs = [name for name, value in (row.after or {}).items() if stands[name] != value]
            if differs and row.actor == RELIEF:
                return False
            if differs:
                raise self._conflict(row, differs, f"scope {stands['label']!r}")
            self._refuse_taken(stands, row)
        self._mutation.update_scope(stands["id"], "undo", **former)
        return True

    def _refuse_taken(self, stands: dict[str, Any], row: Change) -> None:
        """A scope may only get a former label back that no other scope has taken."""
        label = (row.before or {}).get("label", stands["label"])
        taken = self._conn.execute(SCOPE_CALLED, (stands["id"], label)).fetchone()
        if taken is not None:
            raise errors.UndoConflict(
                f"change {row.seq} cannot be undone: scope {stands['label']!r} would be named {label!r} again, and there is "
                f"by now {way_out_of(ScopeKey(*taken), stands['label'])}",
                row.seq,
            )

    def _conflict(self, row: Change, differs: list[str], name: str, later: int | None = None) -> errors.UndoConflict:
        """Names the newest change that still holds of what differs. :param later: it, where it is known"""
        later = later or self._newest_of(row, differs)
        said = (
            f"change {row.seq} was followed by change {later} of the same {row.entity}, {name} ({', '.join(differs)}); "
        )
        if later is None:
            said = f"{name} is no longer as change {row.seq} left it ({', '.join(differs)}); "
        return errors.UndoConflict(said + ("change it by hand" if later is None else f"undo {later} first"), row.seq)

    def _newest_of(self, row: Change, differs: list[str]) -> int | None:
        later = [one for one in self._later(row) if one[2] is not None]
        of_it = [one[0] for one in later if any(f'"{name}":' in one[2] for name in differs)]
        return next((change for change in of_it if not self._is_undone(change)), of_it[0] if of_it else None)

    def _later(self, row: Change) -> list[tuple[Any, ...]]:
        """What the journal says of the same thing after a row, newest first."""
        return self._conn.execute(LATER, (uids.to_bytes(row.uid), row.entity, row.seq, self._newest)).fetchall()

    def _bring_back(self, scope: ScopeKey) -> None:
        """A scope that was withdrawn meanwhile is open again for the fact that comes back to it."""
        self._mutation.update_scope(scope.id, "open", status=ScopeStatus.OPEN, closed_at=None, closed_by=None)

    def _scope(self, scope_id: int) -> ScopeKey:
        sql = "SELECT id, uid, label, status FROM scopes WHERE id = ?"
        return ScopeKey(*self._conn.execute(sql, (scope_id,)).fetchone())

    def _is_used(self, scope_id: int) -> bool:
        return self._conn.execute(USED, (scope_id,)).fetchone() is not None

    def _is_here(self, uid: str) -> bool:
        return self._mutation.fact_row(uids.to_bytes(uid)) is not None


def name_of(fact: FactRow) -> str:
    """A fact as a refusal names it."""
    return f"{fact.type}[{fact.target}] ({uids.to_text(fact.uid)})"
