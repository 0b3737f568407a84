"""Bulk writing: facts that no other is about are inserted together, all others are written one by one."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import NamedTuple

from hermes_memory_store import errors
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.fact_types import OPEN_TYPES
from hermes_memory_store.intake.intake import Admission, AdmittedFact, AdmittedText, Intake, Writer, repeat_text
from hermes_memory_store.items.batch_mutation import BatchMutation
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.kinds import STANDS
from hermes_memory_store.items.mutation import count_notation_chars
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


class AdmittedLine(NamedTuple):
    admission: Admission
    label: AdmittedText | None
    number: int | None
    """Its line in the imported file."""


class AcceptedFact(NamedTuple):
    """A fact of a line that need not wait for a person."""

    admitted: AdmittedFact
    scope: ScopeKey
    line: int | None
    """Of the imported file."""

    @property
    def chars(self) -> int:
        return count_notation_chars(self.admitted.said.target, self.admitted.said.content)


class BulkWriter:
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
        theme = to_theme_name(theme)
        result = BulkResult()
        for start in range(0, len(lines), BATCH):
            end = min(start + BATCH, len(lines))
            with self._intake.hold_secrets():
                with self._intake.gather_secrets():
                    policy, batch = self._policies.for_theme(theme), []
                    for index in range(start, end):
                        line, label = lines[index]
                        try:
                            admission = self._intake.admit_line(theme, line, policy, writer=writer, confirmed=True)
                            listed = None if label is None else admit_label(self._intake, theme, label, writer=writer)
                        except errors.InputError as error:
                            result.errors.append((index, error))
                            continue
                        batch.append(AdmittedLine(admission, listed, numbers[index] if numbers else None))
                        result.masked += bool(admission.masked_names or admission.unkept)
                        result.unkept += admission.unkept
                self._write_batch(theme, batch, actor, result, origin)
            if progress is not None:
                progress(end)
        return result

    @retry_without_index
    def _write_batch(
        self,
        theme: ThemeName,
        lines: Sequence[AdmittedLine],
        actor: Actor,
        result: BulkResult,
        origin: Origin | None,
    ) -> None:
        suspicious = [line for line in lines if line.admission.suspicion is not None]
        with self._db.write_transaction() as conn:
            change = BatchMutation(conn, self._names, self._journal, actor, origin)
            theme_id = self._names.theme_for_writing(conn, theme, change.now)
            scopes: dict[str | None, ScopeKey] = {}
            facts = []
            for admission, label, number in lines:
                if admission.suspicion is None:
                    if label not in scopes:
                        scopes[label] = change.scope_for_writing(theme_id, label)
                    facts += [AcceptedFact(fact, scopes[label], number) for fact in admission.facts]
            gauge = self._tiers.gauge_within(conn, theme_id)
            room = int(gauge.budget * HOT_FILL_LIMIT_PCT / 100) - gauge.used
            independent, dependent = split_independent_facts(conn, facts)
            for fact in independent:
                tier = Tier.HOT if room >= fact.chars else Tier.COLD
                room -= fact.chars if tier is Tier.HOT else 0
                change.insert_fact(theme_id, fact.scope, fact.admitted, tier=tier.value, line=fact.line)
            change.stop_holding()  # what the others meet or close is looked for in the table
            created = len(independent)
            for fact in dependent:
                scope = change.scope_for_writing(theme_id, repeat_text(fact.scope.label))
                tier = Tier.HOT if room >= fact.chars else Tier.COLD
                written = write_fact(change, theme_id, scope, fact.admitted, tier=tier, line=fact.line)
                room -= fact.chars if written.row.tier == Tier.HOT else 0
                created += written.created
            for admission, label, number in suspicious:
                scope = change.scope_for_writing(theme_id, label)
                hold_fact(change, theme_id, scope, admission, line=number)
            change.record()
        result.created += created
        result.deduplicated += len(facts) - created
        result.waiting += len(suspicious)


def split_independent_facts(
    conn: sqlite3.Connection, facts: Sequence[AcceptedFact]
) -> tuple[list[AcceptedFact], list[AcceptedFact]]:
    """Split facts, each in their order, into those that no other is about, of the store or beside them, and the rest."""
    lines = [(fact.scope.id, fact.admitted.said.type, fact.admitted.said.target) for fact in facts]
    times = Counter((scope_id, target.lower()) for scope_id, _, target in lines)
    closing = {scope_id for scope_id, kind, _ in lines if kind not in OPEN_TYPES}
    alone = [
        times[scope_id, target.lower()] == 1 and scope_id not in closing and fact.scope.status == ScopeStatus.OPEN
        for fact, (scope_id, _, target) in zip(facts, lines, strict=True)
    ]
    for (key,) in conn.execute(FACTS_IN_PLACE, (json.dumps(lines, ensure_ascii=False),)):
        alone[key] = False
    return list(compress(facts, alone)), [fact for fact, free in zip(facts, alone, strict=True) if not free]
