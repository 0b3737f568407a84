"""Reverse one change of the journal row by row, within the change that undoes it.

A fact is reversed only where it is still as the change left it, and returns only to a free place; a conflict names
what is in the way and how to resolve it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hermes_memory_store import errors, uids
from hermes_memory_store.host_files.file_changes import FILE, PendingFiles, put_text_back
from hermes_memory_store.items.journal import JournalEntry, is_change_undone
from hermes_memory_store.items.kinds import FactRow, to_portable
from hermes_memory_store.items.mutation import Mutation, find_standing_fact, has_facts, is_open_in_effect
from hermes_memory_store.items.name_keys import UNSCOPED, ScopeKey
from hermes_memory_store.items.project_rows import PLACES, write_place_choice
from hermes_memory_store.memory.scopes import format_label_conflict
from hermes_memory_store.model import RELIEF, STANDING_TIERS, Change, ScopeStatus, Tier
from hermes_memory_store.operations import find_operation

UNDOABLE = frozenset({"fact", "scope", PLACES, FILE})
"""Entities that undo restores. A session's coming and going is a fact of life."""

FACT_OF_TEAM = frozenset({"content", "scope", "updated_at"})
"""What changes of a fact when somebody elsewhere does one of them. Relief, and making room for another, leave its time."""

LATER_ROWS = """
    SELECT j.change, j.op, j.before, j.after, j.undoes, j.actor_id, a.kind FROM journal j JOIN actors a ON a.id = j.actor_id
    WHERE j.uid = ? AND j.entity = ? AND j.seq > ? AND j.seq <= ? ORDER BY j.seq DESC
"""

TIER_BEFORE_REPLACEMENT = """
    SELECT before ->> 'tier' FROM journal
    WHERE uid = ? AND entity = 'fact' AND after ->> 'superseded_by' = ? AND before ->> 'superseded_by' IS NULL
      AND before ->> 'tier' IS NOT NULL ORDER BY seq DESC LIMIT 1
"""

CREATION = """
    SELECT change FROM journal
    WHERE uid = ? AND entity = 'fact' AND before IS NULL AND undoes IS NULL ORDER BY seq LIMIT 1
"""

CHANGES_OF_FACT = """
    SELECT DISTINCT change FROM journal WHERE uid = ? AND entity = 'fact' AND undoes IS NULL ORDER BY change DESC
"""

LABEL_THEN = """
    iif(EXISTS (SELECT 1 FROM journal WHERE uid = scopes.uid AND entity = 'scope' AND seq > ?1 AND before IS NULL), NULL,
      coalesce((SELECT after ->> 'label' FROM journal
        WHERE uid = scopes.uid AND entity = 'scope' AND seq <= ?1 AND after ->> 'label' IS NOT NULL
        ORDER BY seq DESC LIMIT 1), label))
"""
"""None where the scope was opened later."""

SCOPE_CALLED = """
    SELECT id, uid, label, status FROM scopes
    WHERE theme_id = (SELECT theme_id FROM scopes WHERE id = ?1) AND label = ?2 AND id <> ?1
"""

SCOPE_CALLED_THEN = f"SELECT id, uid, label, status FROM scopes WHERE theme_id = ?2 AND {LABEL_THEN} = ?3"

LABEL_OF_SCOPE_THEN = f"SELECT {LABEL_THEN} FROM scopes WHERE id = ?2"

SCOPE_COLUMNS = ("id", "label", "status", "opened_at", "closed_at", "closed_by")

FACTS_IN_SCOPE = "SELECT count(*) FROM facts WHERE scope_id = ? AND tier <> 'withdrawn'"


class Reversal:
    """Revert the rows of one change, newest row first."""

    def __init__(
        self,
        mutation: Mutation,
        first: int,
        newest: int,
        withdrawn: Collection[str],
        files: PendingFiles,
        *,
        sparing: bool,
    ) -> None:
        """:param first: number of the change
        :param newest: the journal's last row before any of this: a conflict never names a row of the undo itself
        :param withdrawn: uids of the facts that the change withdrew, and that come back
        :param files: takes the new contents of files
        :param sparing: refuse what a person or a teammate has touched since, even in columns that are not reverted
        """
        self._mutation = mutation
        self._conn = mutation.conn
        self._first = first
        self._newest = newest
        self._withdrawn = withdrawn
        self._files = files
        self._sparing = sparing
        self.left: list[str] = []
        """What of the change is left as it is, and why."""

    def reverse(self, row: Change) -> bool:
        """Revert one row; return False where it is left as it is. :raises UndoConflict: when something is in the way"""
        if row.entity not in UNDOABLE:
            return False
        if row.entity == PLACES:
            return self._reverse_choice(row)
        if row.entity == FILE:
            return self._reverse_file(row)
        if is_erased(row):
            self.left.append(f"fact {row.uid} of change {row.change} was purged, and nothing brings it back")
            return False
        if row.actor != RELIEF:
            return self._reverse_fact(row) if row.entity == "fact" else self._reverse_scope(row)
        try:  # relief only moved facts: what was done to them since is no reason to refuse the rest
            return self._reverse_fact(row)
        except errors.UndoConflict as conflict:
            self.left.append(f"what relief did is left as it is: {conflict.message}")
            return False

    def _reverse_choice(self, row: Change) -> bool:
        before, after = row.before or {}, row.after or {}
        present = self._conn.execute("SELECT places, chosen_at FROM place_choice").fetchone()
        if present != (after.get("places"), after.get("chosen_at")):
            raise errors.UndoConflict(
                f"change {row.change} was followed by another choice of how projects get their themes; undo that first",
                row.seq,
            )
        write_place_choice(self._conn, before["places"], before["chosen_at"])
        theme_id = self._mutation.names.theme(row.theme)
        entry = JournalEntry("undo", row.entity, uids.parse_uid(row.uid), theme_id, after, before)
        self._mutation.entries.append(entry)
        return True

    def _reverse_file(self, row: Change) -> bool:
        if row.before is None or row.after is None:
            raise errors.UndoConflict(f"what change {row.change} did to a file was erased by a purge", row.seq)
        path = Path(row.after["path"])
        if path != self._files.unwritten:
            content = self._files.read(path)
            former = put_text_back(content.decode("utf-8", "surrogateescape"), row.after, row.before)
            if former is None:
                message = f"{path} has changed since change {row.change}, and what it wrote stands there no more"
                raise errors.UndoConflict(message, path)
            self._files.put(path, former.encode("utf-8", "surrogateescape"))
        theme_id = self._mutation.names.theme(row.theme)
        entry = JournalEntry("undo", FILE, uids.parse_uid(row.uid), theme_id, row.after, row.before)
        self._mutation.entries.append(entry)
        return True

    def _reverse_fact(self, row: Change) -> bool:
        stored = self._mutation.fact_row(uids.parse_uid(row.uid))
        if stored is None:
            raise errors.UndoConflict(f"fact {row.uid} was purged; change {row.change} cannot be undone", row.uid)
        differs = self._differences(stored, row)
        if differs and self._is_uncreated(stored):
            self.left.append(f"{format_fact_name(stored)} is there no more: its creation is undone")
            return False
        if differs:
            raise self._conflict(row, differs, format_fact_name(stored))
        if row.before is not None:
            self._refuse_repeated(row, format_fact_name(stored))
        self._refuse_touched(stored, row)
        columns = self._former_columns(stored, row)
        scope = columns.get("scope") or self._scope(stored.scope_id)
        tier = columns.get("tier", stored.tier)
        if tier in STANDING_TIERS:
            self._refuse_second(stored, scope, row)
        if tier != Tier.WITHDRAWN and scope.status == ScopeStatus.WITHDRAWN:
            self._mutation.update_scope(scope.id, "open", status=ScopeStatus.OPEN, closed_at=None, closed_by=None)
        self._mutation.update_fact(stored, "undo", keep_time=True, **columns)
        return True

    def _is_uncreated(self, stored: FactRow) -> bool:
        """Check whether a fact is withdrawn because its creation is undone, and not held for a purge."""
        if stored.tier != Tier.WITHDRAWN:
            return False
        created = self._conn.execute(CREATION, (stored.uid,)).fetchone()
        return created is not None and is_change_undone(self._conn, created[0])

    def _differences(self, stored: FactRow, row: Change) -> list[str]:
        """Return the columns of a fact that are no longer as the change left them."""
        expected = dict(row.after or {})
        if row.before is None:
            expected = {name: expected.get(name) for name in ("tier", "content", "scope")} | {
                "pinned": expected.get("pinned", 0)
            }
        if expected.get("superseded_by") is not None and stored.superseded_by is None:
            expected |= self._without_replacement(stored, expected["superseded_by"])
        present = {name: to_portable(getattr(stored, name)) for name in expected if name in stored._fields}
        if "scope" in expected:
            then = self._conn.execute(LABEL_OF_SCOPE_THEN, (row.seq, stored.scope_id)).fetchone()[0]
            present["scope"] = None if then == UNSCOPED else then or self._scope(stored.scope_id)
        return [name for name in expected if name != "updated_at" and present[name] != expected[name]]

    def _refuse_repeated(self, row: Change, name: str, present: dict[str, Any] | None = None) -> None:
        """Refuse to revert columns that a later change set again, though they are as this one left them by now.

        Undone beneath it, they would never again be as the later change left them, which could then not be undone. A scope
        and whether a fact stands in it are one place: neither returns beneath a later change of the other.

        :param present: a scope as it is; a later change of which all is as before it has nothing left to undo
        """
        columns = [column for column in row.after or {} if column != "updated_at"]
        moves, crosses = "scope" in columns, enters_or_leaves(row.before, row.after)
        for change, _, before, after, *_ in self._effective_later(row):
            then, now = json.loads(before or "{}"), json.loads(after or "{}")
            if present is not None and all(present[column] == value for column, value in then.items()):
                continue
            again = [column for column in columns if column in now]
            if row.entity == "fact" and not again:
                is_of_place = (moves and enters_or_leaves(then, now)) or (crosses and "scope" in now)
                again = [column for column in ("scope", "tier") if is_of_place and column in now]
            if again:
                raise self._conflict(row, again, name, change)

    def _refuse_touched(self, stored: FactRow, row: Change) -> None:
        if row.before is not None and not self._sparing:
            return
        kinds = ("person",) if row.before is not None else ("person", "session")
        author = self._mutation.names.actor(self._conn, row.actor)
        for change, op, _, after, undoes, actor_id, kind in self._effective_later(row):
            if undoes is not None or actor_id == author:
                continue
            from_team = kind == "sync" and not FACT_OF_TEAM.isdisjoint(json.loads(after or "{}"))
            if from_team or (find_operation(op).is_deliberate and kind in kinds):
                raise self._conflict(row, ["from the team" if from_team else op], format_fact_name(stored), change)

    def _former_columns(self, stored: FactRow, row: Change) -> dict[str, Any]:
        """Return the former columns that a fact gets back.

        A renamed scope is still the same scope; a link to a purged fact is dropped.
        """
        if row.before is None:
            return {"tier": Tier.WITHDRAWN.value}
        patch = dict(row.before)
        former_scope = None
        if "scope" in patch:
            label = patch["scope"] or UNSCOPED
            former_scope = self._conn.execute(SCOPE_CALLED_THEN, (row.seq, stored.theme_id, label)).fetchone()
        if former_scope is not None:
            del patch["scope"]
        if patch.get("superseded_by") is not None:
            patch |= self._without_replacement(stored, patch["superseded_by"])
        columns = self._mutation.columns_of(stored, patch)
        return columns if former_scope is None else columns | {"scope": ScopeKey(*former_scope)}

    def _without_replacement(self, stored: FactRow, by: str) -> dict[str, Any]:
        """Return what a fact gets back instead of a link to a replacement that is there no more.

        Where the replacement was purged, the link is dropped; where its creation is undone, the fact is as before it.
        """
        replacement = self._mutation.fact_row(uids.parse_uid(by))
        if replacement is None:
            return {"superseded_by": None}
        if by in self._withdrawn or not self._is_uncreated(replacement):
            return {}
        before = self._conn.execute(TIER_BEFORE_REPLACEMENT, (stored.uid, by)).fetchone()
        return {} if before is None else {"tier": before[0], "superseded_by": None}

    def _refuse_second(self, stored: FactRow, scope: ScopeKey, row: Change) -> None:
        standing = find_standing_fact(self._conn, scope.id, stored.type, stored.target, ignored=stored.uid)
        if standing is None:
            return
        changes = [change for (change,) in self._conn.execute(CHANGES_OF_FACT, (standing.uid,)).fetchall()]
        later = next((change for change in changes if not is_change_undone(self._conn, change)), changes[-1])
        where = f"scope {scope.label!r}" if scope.label else "no scope"
        raise errors.UndoConflict(
            f"change {row.change} cannot be undone: {format_fact_name(stored)} would come back to {where}, "
            f"and {format_fact_name(standing)} "
            f"stands in its place by now; move that one to another scope, or undo {later} first",
            row.seq,
        )

    def _reverse_scope(self, row: Change) -> bool:
        uid = uids.parse_uid(row.uid)
        values = self._conn.execute(f"SELECT {', '.join(SCOPE_COLUMNS)} FROM scopes WHERE uid = ?", (uid,)).fetchone()
        present = dict(zip(SCOPE_COLUMNS, values, strict=True))
        name = f"scope {present['label']!r}"
        former = row.before or {"status": ScopeStatus.WITHDRAWN.value}
        if all(present[column] == value for column, value in former.items()):
            if present["status"] != ScopeStatus.WITHDRAWN:
                self._refuse_repeated(row, name, present)
            return False
        if former.get("status") != ScopeStatus.WITHDRAWN:
            differs = [column for column, value in (row.after or {}).items() if present[column] != value]
            if differs and present["status"] == ScopeStatus.WITHDRAWN and not is_open_in_effect(self._conn, uid):
                self.left.append(f"{name} is there no more: its opening is undone")
                return False
            if differs:
                raise self._conflict(row, differs, name)
            self._refuse_repeated(row, name, present)
            self._refuse_taken(present, row)
        elif row.before is not None and not has_facts(self._conn, present["id"]):
            # What closed it since would wait for it for ever.
            self._refuse_repeated(row, name, present)
        elif has_facts(self._conn, present["id"]):
            facts = self._conn.execute(FACTS_IN_SCOPE, (present["id"],)).fetchone()[0]
            amount = "1 fact is" if facts == 1 else f"{facts} facts are"
            self.left.append(f"{name}, which change {row.change} opened, stays: {amount} in it")
            return False
        self._mutation.update_scope(present["id"], "undo", **former)
        self._mutation.abandoned[present["id"]] = None
        return True

    def _refuse_taken(self, present: dict[str, Any], row: Change) -> None:
        label = (row.before or {}).get("label", present["label"])
        taken = self._conn.execute(SCOPE_CALLED, (present["id"], label)).fetchone()
        if taken is not None:
            raise errors.UndoConflict(
                f"change {row.change} cannot be undone: scope {present['label']!r} would be named {label!r} again, and there is "
                f"by now {format_label_conflict(ScopeKey(*taken), present['label'])}",
                row.seq,
            )

    def _conflict(self, row: Change, differs: list[str], name: str, later: int | None = None) -> errors.UndoConflict:
        """Return the conflict with the newest change still in effect. :param later: that change, where known"""
        later = later or self._newest_of(row, differs)
        message = f"change {row.change} was followed by change {later} of the same {row.entity}, {name} ({', '.join(differs)}); "
        if later is None:
            message = f"{name} is no longer as change {row.change} left it ({', '.join(differs)}); "
        return errors.UndoConflict(message + ("change it by hand" if later is None else f"undo {later} first"), row.seq)

    def _newest_of(self, row: Change, differs: list[str]) -> int | None:
        later = [later_row for later_row in self._later(row) if later_row[3] is not None]
        of_it = [later_row for later_row in later if any(f'"{name}":' in later_row[3] for name in differs)]
        undo_of_older = (later_row[0] for later_row in of_it if later_row[4] is not None and later_row[4] < self._first)
        in_effect = (later_row[0] for later_row in of_it if later_row[4] is None)
        for change in (*in_effect, *undo_of_older):
            if not is_change_undone(self._conn, change):
                return int(change)
        return None

    def _effective_later(self, row: Change) -> Iterator[tuple[Any, ...]]:
        """Yield the later rows of the same thing whose changes hold and are to be undone before this one, newest first."""
        for later_row in self._later(row):
            change, undoes = later_row[0], later_row[4]
            # What one undo did, another that came between does again; what a change did, an undo of an older one does not.
            counts = undoes is None or (row.undoes is not None and undoes < self._first)
            if counts and change != self._first and not is_change_undone(self._conn, change):
                yield later_row

    def _later(self, row: Change) -> list[tuple[Any, ...]]:
        return self._conn.execute(LATER_ROWS, (uids.parse_uid(row.uid), row.entity, row.seq, self._newest)).fetchall()

    def _scope(self, scope_id: int) -> ScopeKey:
        sql = "SELECT id, uid, label, status FROM scopes WHERE id = ?"
        return ScopeKey(*self._conn.execute(sql, (scope_id,)).fetchone())


def merge_rows(rows: Sequence[Change]) -> list[tuple[Change, list[int]]]:
    """Merge the rows of one change, newest first, that are about the same thing; return each with the numbers of its rows.

    What a change did to a thing is what it was before the first of them and after the last.
    """
    merged: dict[tuple[str, str], Change] = {}
    numbers: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        thing = (row.entity, row.uid)
        newer = merged.get(thing)
        numbers.setdefault(thing, []).append(row.seq)
        if newer is None:
            merged[thing] = row
        elif not is_erased(row):
            before = None if row.before is None else {**(newer.before or {}), **row.before}
            actor = row.actor if newer.actor == RELIEF else newer.actor
            after = {**(row.after or {}), **(newer.after or {})}
            merged[thing] = replace(newer, before=before, after=after, actor=actor)
    return [(row, numbers[thing]) for thing, row in merged.items()]


def enters_or_leaves(before: dict[str, Any] | None, after: dict[str, Any] | None) -> bool:
    """Check whether a change took a fact out of its place or brought it to one: made, replaced, withdrawn or restored it."""
    if before is None:
        return True
    then, now = before.get("tier"), (after or {}).get("tier")
    return "superseded_by" in before or (then in STANDING_TIERS) != (now in STANDING_TIERS)


def is_erased(row: Change) -> bool:
    """Check whether a purge took the text out of a row of the journal."""
    return row.before is None and row.after is None


def format_fact_name(fact: FactRow) -> str:
    return f"{fact.type}[{fact.target}] ({uids.format_uid(fact.uid)})"
