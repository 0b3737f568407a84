"""The guards of facts as their person changes them, and the copy of them for hooks: see `hosts/guards.py`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hermes_memory_store import errors, uids
from hermes_memory_store.database.db import Db
from hermes_memory_store.hosts.guards import (
    MOST_PATTERN,
    Guard,
    find_pattern_kind,
    parse_guards,
    read_guards_file,
    to_guards_path,
)
from hermes_memory_store.intake.intake import Intake
from hermes_memory_store.items.fact_pages import to_facts
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.kinds import FactRow
from hermes_memory_store.items.mutation import FACTS_WITH_READS, Mutation
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.memory.fact_lookup import find_facts_by_name
from hermes_memory_store.memory.scopes import change_attribute
from hermes_memory_store.model import PERSON, STANDING_TIERS, ChangeResult, Fact, Uid
from hermes_memory_store.system.filesystem import atomic_write
from hermes_memory_store.uids import short_uid


class FactGuards:
    """What a person wants to be asked about, with which facts as the reasons. No tool of an agent changes it."""

    def __init__(self, db: Db, names: Names, journal: Journal, intake: Intake) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._intake = intake

    def add(
        self, name: str, pattern: str, *, kind: str = "", answer: str = "ask", theme: str | None = None
    ) -> ChangeResult:
        """Let hooks ask before an agent runs a command, or edits a file, that a pattern fits, with this fact as the reason.

        >>> fact = store.facts.write("ops", "C[deploy]: tests first").fact
        >>> store.facts.get(store.guards.add(fact.uid, "git push*").uids[0]).guards
        'ask run git push*'

        :param kind: `run` or `edit`; what the pattern looks like unless given
        :param answer: `ask`, or `deny`
        :raises UnknownFact: AmbiguousUid, FactConflict, SecretRefused
        :raises ArgumentError: it is no pattern; nothing was changed then
        """
        pattern = " ".join(pattern.split())
        if not pattern.strip("*/ ") or not pattern.isprintable() or len(pattern) > MOST_PATTERN:
            raise errors.ArgumentError(
                f"{errors.shorten_value(pattern)!r} is no pattern of a command or a file; give one such as 'git push*', of at"
                f" most {MOST_PATTERN} characters",
                pattern,
            )
        row = self._find(name, theme)
        if row.tier not in STANDING_TIERS:
            raise errors.FactConflict(f"{uids.format_uid(row.uid)} is {row.tier}, so its guards ask nothing", row.tier)
        self._intake.admit_name(self._names.theme_name(row.theme_id), "the pattern", pattern)
        added = Guard("", kind or find_pattern_kind(pattern), pattern, answer)
        return self._change(row.uid, "guard", lambda guards: [*leave_out(guards, pattern, added.kind), added])

    def remove(self, name: str, pattern: str = "", *, theme: str | None = None) -> ChangeResult:
        """Take a guard away from a fact, or all of them; of a purged fact, the note that it had some.

        :raises UnknownFact: AmbiguousUid
        :raises ArgumentError: it has no such guard; nothing was changed then
        """
        noted = read_guards_file(self._db.path)
        purged = [uid for uid, lines in noted.items() if not lines and short_uid(uid) == short_uid(name)]
        if purged:
            write_guards(self._db.path, {uid: lines for uid, lines in noted.items() if uid not in purged})
            return ChangeResult(tuple(map(Uid, purged)), ())
        row = self._find(name, theme)
        present = {guard.pattern for guard in parse_guards("", row.guards)}
        if not present or (pattern and pattern not in present):
            lacking = f"no guard {errors.shorten_value(pattern)!r}" if pattern else "no guard"
            raise errors.ArgumentError(f"{uids.format_uid(row.uid)} has {lacking}; `guard list` shows all", pattern)
        return self._change(row.uid, "unguard", lambda guards: leave_out(guards, pattern))

    def list(self) -> list[tuple[Guard, Fact | None, str]]:
        """Return every guard with its fact, and why it asks no more, if so; without a fact one that was purged."""
        facts = to_facts(self._names, self._db.rows(f"{FACTS_WITH_READS} WHERE f.guards IS NOT NULL ORDER BY f.id"))
        listed: list[tuple[Guard, Fact | None, str]] = [
            (guard, fact, "" if fact.tier in STANDING_TIERS else f"its fact is {fact.standing}")
            for fact in facts
            for guard in parse_guards(fact.uid, fact.guards)
        ]
        purged = (uid for uid, lines in read_guards_file(self._db.path).items() if not lines)
        return listed + [(Guard(uid, "", "", ""), None, "its fact was purged") for uid in purged]

    def _find(self, name: str, theme: str | None) -> FactRow:
        return find_facts_by_name(self._db, [name], None if theme is None else self._names.theme(theme))[0]

    def _change(self, uid: bytes, op: str, change_of: Callable[[Sequence[Guard]], Sequence[Guard]]) -> ChangeResult:
        def rewrite(lines: str | None) -> str | None:
            return "\n".join(guard.line for guard in change_of(parse_guards("", lines))) or None

        with self._db.write_transaction() as conn:
            change = Mutation(conn, self._names, self._journal, PERSON)
            return change_attribute(change, uid, op, "guards", rewrite)


def leave_out(guards: Sequence[Guard], pattern: str, kind: str = "") -> Sequence[Guard]:
    """Return guards without those of a pattern, or without any. :param kind: those about this alone"""
    return [guard for guard in guards if pattern not in ("", guard.pattern) or kind not in ("", guard.kind)]


def follow_guards(conn: sqlite3.Connection, store_path: Path, guarded: Sequence[tuple[bytes, str]]) -> None:
    """Make the copy what the facts say, before their change is committed. Of a purged fact it keeps that it had guards.

    :param guarded: uid and guards of each fact that has any
    :raises FileError: the copy cannot be written
    """
    before = read_guards_file(store_path)
    after: dict[str, str] = {uids.format_uid(uid): lines for uid, lines in guarded}
    for uid in before.keys() - after.keys():
        if conn.execute("SELECT 1 FROM tombstones WHERE uid = ?", (uids.parse_uid(uid),)).fetchone():
            after[uid] = ""
    if before != after:
        write_guards(store_path, after)


def write_guards(store_path: Path, guards: Mapping[str, str]) -> None:
    """Write the copy, or remove one without guards. :raises FileError: it cannot be written"""
    path = Path(to_guards_path(store_path))
    try:
        if not guards:
            path.unlink(missing_ok=True)
            return
        with atomic_write(path, encoding="utf-8") as file:
            json.dump({"guards": guards}, file, indent=2)
            file.write("\n")
    except OSError as error:
        raise errors.FileError(f"{path} cannot be written: {error.strerror or error}", path) from error
