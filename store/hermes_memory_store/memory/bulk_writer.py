"""Bulk writing: many facts in few transactions, by the same rules as single writes.

Most lines of an import are independent: no fact stands in their place, and no other line of the batch is about
their target. Those are inserted together. Every other line is written like a single fact.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hermes_memory_store import errors
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.fact_types import OPEN_TYPES
from hermes_memory_store.intake.intake import Admission, AdmittedFact, AdmittedText, Intake, Writer, repeat_text
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.kinds import STANDS
from hermes_memory_store.items.mutation import Mutation, count_notation_chars
from hermes_memory_store.items.name_keys import Names, ScopeKey, to_theme_name
from hermes_memory_store.memory.quarantine import hold_fact
from hermes_memory_store.memory.scopes import admit_label
from hermes_memory_store.memory.tiers import Tiers
from hermes_memory_store.memory.write_rules import write_fact
from hermes_memory_store.model import Actor, Notation, Origin, ScopeStatus, Tier
from hermes_memory_themes import Policies, ThemeName

BATCH = 2_000
"""Facts one transaction holds: long enough to be fast, short enough (about 0.2 s) that others get their turn."""

HOT_FILL_LIMIT_PCT = 85.0
"""A bulk write fills the hot tier up to here; what comes after starts cold, and nothing that was hot is pushed out."""

Line = tuple[str | Notation, str | None]
"""A notation, and the label of its scope."""

FACTS_IN_PLACE = f"""
    SELECT j.key FROM (
      SELECT key, value ->> 0 AS scope_id, value ->> 1 AS type, value ->> 2 AS target FROM json_each(?)
    ) j
    CROSS JOIN facts f ON f.scope_id = j.scope_id AND f.type IN (j.type, '?', '~') AND f.target = j.target
      AND f.{STANDS}
"""
"""Which of these lines meet a fact that stands in their place, asks about their target or calls it obsolete."""


@dataclass(slots=True)
class BulkResult:
    """The result of a bulk write: counts, and the index and error of every refused line."""

    created: int = 0
    deduplicated: int = 0
    waiting: int = 0
    """Lines that read like instructions: they wait for a person."""
    masked: int = 0
    """Lines whose secrets were masked."""
    unkept: int = 0
    """Secrets that were masked and that nothing keeps."""
    errors: list[tuple[int, errors.StoreError]] = field(default_factory=list)


@dataclass(slots=True)
class AdmittedLine:
    """One line that passed the intake."""

    admission: Admission
    label: AdmittedText | None
    number: int | None
    """Its line in the imported file."""


@dataclass(slots=True)
class AcceptedLine:
    """One accepted line."""

    admitted: AdmittedFact
    scope: ScopeKey
    line: int | None
    """Of the imported file."""

    @property
    def said(self) -> Notation:
        """Its notation."""
        return self.admitted.said

    @property
    def place(self) -> tuple[int, str]:
        """The scope, type and target it is about."""
        return self.scope.id, self.said.target.lower()


class BulkWriter:
    """Write many facts of one theme."""

    def __init__(
        self, db: Db, names: Names, journal: Journal, policies: Policies, tiers: Tiers, intake: Intake
    ) -> None:
        self._intake = intake
        self._db = db
        self._names = names
        self._journal = journal
        self._policies = policies
        self._tiers = tiers

    def write(
        self,
        theme: str,
        lines: Sequence[Line],
        *,
        actor: Actor,
        writer: Writer | None = None,
        progress: Callable[[int], None] | None = None,
        origin: Origin | None = None,
        numbers: Sequence[int] | None = None,
    ) -> BulkResult:
        """Write facts; see `Facts.write_many`."""
        called = to_theme_name(theme)
        result = BulkResult()
        for start in range(0, len(lines), BATCH):
            some = [] if numbers is None else numbers[start : start + BATCH]
            with self._intake.hold_secrets():
                with self._intake.gather_secrets():
                    batch = self._admit_lines(called, lines[start : start + BATCH], start, writer, result, some)
                self._write_batch(called, batch, actor, result, origin)
            if progress is not None:
                progress(min(start + BATCH, len(lines)))
        return result

    def _admit_lines(
        self,
        theme: ThemeName,
        lines: Sequence[Line],
        start: int,
        writer: Writer | None,
        result: BulkResult,
        numbers: Sequence[int],
    ) -> list[AdmittedLine]:
        """Check the lines of a batch before its transaction; report those that are refused."""
        policy = self._policies.for_theme(theme)
        admitted = []
        for index, (line, label) in enumerate(lines, start):
            try:
                admission = self._intake.admit_line(theme, line, policy, writer=writer, confirmed=True)
                listed = None if label is None else admit_label(self._intake, theme, label, writer=writer)
            except errors.InputError as error:
                result.errors.append((index, error))
            else:
                admitted.append(AdmittedLine(admission, listed, numbers[index - start] if numbers else None))
                result.masked += bool(admission.masked_names or admission.unkept)
                result.unkept += admission.unkept
        return admitted

    @retry_without_index
    def _write_batch(
        self,
        theme: ThemeName,
        lines: Sequence[AdmittedLine],
        actor: Actor,
        result: BulkResult,
        origin: Origin | None,
    ) -> None:
        created = deduplicated = 0
        suspicious = [line for line in lines if line.admission.suspicion is not None]
        with self._db.write_transaction() as conn:
            change = Mutation(conn, self._names, self._journal, actor, origin)
            theme_id = self._names.theme_for_writing(conn, theme, change.now)
            items = self._accept_lines(change, theme_id, lines)
            gauge = self._tiers.gauge_within(conn, theme_id)
            room = int(gauge.budget * HOT_FILL_LIMIT_PCT / 100) - gauge.used
            fresh, dependent = split_independent_lines(conn, items)
            tiers = []
            for item in fresh:
                chars = count_notation_chars(item.said.target, item.said.content)
                tiers.append(Tier.HOT if room >= chars else Tier.COLD)
                room -= chars if room >= chars else 0
            change.insert_facts(
                theme_id,
                [
                    (accepted.admitted, accepted.scope, tier, accepted.line)
                    for accepted, tier in zip(fresh, tiers, strict=True)
                ],
            )
            created += len(fresh)
            for item in dependent:
                scope = change.scope_for_writing(theme_id, repeat_text(item.scope.label))
                chars = count_notation_chars(item.said.target, item.said.content)
                tier = Tier.HOT if room >= chars else Tier.COLD
                written = write_fact(change, theme_id, scope, item.admitted, tier=tier, line=item.line)
                room -= chars if written.row.tier == Tier.HOT else 0
                created += written.created
                deduplicated += not written.created
            for line in suspicious:
                scope = change.scope_for_writing(theme_id, line.label)
                hold_fact(change, theme_id, scope, line.admission, line=line.number)
            change.record()
        result.created += created
        result.deduplicated += deduplicated
        result.waiting += len(suspicious)

    def _accept_lines(self, change: Mutation, theme_id: int, lines: Sequence[AdmittedLine]) -> list[AcceptedLine]:
        scopes: dict[str | None, ScopeKey] = {}
        items = []
        for line in lines:
            if line.admission.suspicion is None:
                scope = scopes.get(line.label)
                if scope is None:
                    scope = scopes[line.label] = change.scope_for_writing(theme_id, line.label)
                items += [AcceptedLine(fact, scope, line.number) for fact in line.admission.facts]
        return items


def split_independent_lines(
    conn: sqlite3.Connection, items: Sequence[AcceptedLine]
) -> tuple[list[AcceptedLine], list[AcceptedLine]]:
    """Split lines into independent ones and others, each in their order."""
    spoken = Counter(item.place for item in items)
    closing = {item.scope.id for item in items if item.said.type not in OPEN_TYPES}
    alone = [
        spoken[item.place] == 1 and item.scope.id not in closing and item.scope.status == ScopeStatus.OPEN
        for item in items
    ]
    places = [(item.scope.id, item.said.type.value, item.said.target) for item in items]
    for (key,) in conn.execute(FACTS_IN_PLACE, (json.dumps(places, ensure_ascii=False),)):
        alone[key] = False
    fresh = [item for item, free in zip(items, alone, strict=True) if free]
    dependent = [item for item, free in zip(items, alone, strict=True) if not free]
    return fresh, dependent
