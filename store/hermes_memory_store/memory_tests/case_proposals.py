"""Propose tests from what a person and sessions did: pins, corrections, and what was asked, given and used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hermes_memory_store.context.context_records import ContextRecord
from hermes_memory_store.memory_tests.memory_case import CaseStart, MemoryCase, fold_line, parse_expectation
from hermes_memory_store.model import LIVE_TIERS, Fact, FactFilter, FactType, Tier, Uid
from hermes_memory_store.store import Store
from hermes_memory_store.uids import parse_uid, to_texts

RECORDS_READ = 2_000
"""Newest context records that are read."""

MOST_PROPOSED = 40
"""Tests that are proposed at once: what a person reads through."""

MOST_EXPECTED = 5
"""Facts that one proposed test asks for."""

MOST_QUESTION = 300
"""Characters of a question that can be one: what is longer is a pasted text."""

LAST_USES = "SELECT fact_id, last_used_at FROM fact_uses WHERE last_used_at IS NOT NULL"

CHANGED_FACTS = """
    SELECT DISTINCT j.uid FROM journal j JOIN actors a ON a.id = j.actor_id
    WHERE j.entity = 'fact' AND (a.kind = 'session' OR j.op = 'edit')
"""
"""Facts that a session wrote or changed, or that anybody edited: of all others, no history is read."""

TOUCHED_SINCE = """
    SELECT 1 FROM journal j JOIN actors a ON a.id = j.actor_id
    WHERE j.uid = ? AND j.at >= ? AND a.kind = 'session' AND a.name = ? LIMIT 1
"""
"""Whether a session changed a fact after it was given it."""


class LaterTraces(NamedTuple):
    """What happened to facts at some time, read once for all records."""

    uses: dict[int, int]
    """When a fact was last used, by its key."""
    changed: frozenset[Uid]


@dataclass(slots=True)
class QuestionLesson:
    question: str
    given: dict[str, None] = field(default_factory=dict)
    never: dict[str, None] = field(default_factory=dict)
    reasons: dict[str, None] = field(default_factory=dict)


def propose_cases(store: Store, theme: str, present: Iterable[MemoryCase] = ()) -> list[tuple[MemoryCase, str]]:
    """Return tests that the file does not hold yet, each with the reason for it, the most telling first.

    :param present: the tests that there are
    """
    there = list(present)
    questions = {fold_line(item.ask) for item in there if item.ask is not None}
    expected = {item.text for case in there if case.start is not None for item in case.given}
    lessons = [item for item in learn_from_records(store, theme) if fold_line(item.question) not in questions]
    lessons.sort(key=lambda item: -len(item.never))  # corrections before what was used
    proposals = list(propose_from_pins(store, theme, expected))
    for lesson in lessons:
        required, forbidden = (tuple(map(parse_expectation, lines)) for lines in (lesson.given, lesson.never))
        case = MemoryCase(lesson.question, ask=lesson.question, theme=theme, given=required, never=forbidden)
        proposals.append((case, ", ".join(lesson.reasons)))
    return proposals[:MOST_PROPOSED]


def propose_from_pins(store: Store, theme: str, expected: set[str]) -> Iterator[tuple[MemoryCase, str]]:
    """Yield a start for each scope that has pinned facts: a person pinned them so that they are given."""
    page = store.facts.page(FactFilter(theme=theme, pinned=True, tiers=frozenset({Tier.HOT})), limit=200)
    by_scope: dict[str | None, list[Fact]] = {}
    for fact in page.facts:
        if fact.notation not in expected:
            by_scope.setdefault(fact.scope, []).append(fact)
    for scope, facts in by_scope.items():
        required = tuple(parse_expectation(fact.notation) for fact in facts[:MOST_EXPECTED])
        name = "what is pinned is given at the start" + (f" in {scope}" if scope else "")
        yield MemoryCase(name, start=CaseStart(scope=scope), theme=theme, given=required), "pinned"


def learn_from_records(store: Store, theme: str) -> list[QuestionLesson]:
    changed = (uid for (uid,) in store.db.rows(CHANGED_FACTS))
    traces = LaterTraces(dict(store.db.rows(LAST_USES)), frozenset(to_texts(changed)))
    lessons: dict[str, QuestionLesson] = {}
    for record in store.context_records.list(theme, limit=RECORDS_READ):
        question = " ".join((record.why or "").split())
        if not question or len(question) > MOST_QUESTION:
            continue
        key = fold_line(question)
        is_new = key not in lessons
        lesson = lessons.get(key) or QuestionLesson(question)
        facts = store.facts.by_uids(record.facts)
        for fact in (facts[uid] for uid in record.facts if uid in facts):
            if fact.tier in LIVE_TIERS:
                learn_from_live_fact(store, record, fact, traces, lesson)
            elif fact.updated_at >= record.at:
                learn_from_correction(store, fact, lesson)
        if is_new and (lesson.given or lesson.never):
            lessons[key] = lesson
    return list(lessons.values())


def learn_from_live_fact(
    store: Store, record: ContextRecord, fact: Fact, traces: LaterTraces, lesson: QuestionLesson
) -> None:
    """Note a fact that was used after it was given, or said something else then."""
    is_used = traces.uses.get(fact.id, -1) >= record.at
    if fact.uid in traces.changed:
        edits = [edit for edit in store.journal.changes(uid=fact.uid, ops=("edit",)) if edit.at >= record.at]
        former = next((edit.before["content"] for edit in edits if edit.before and "content" in edit.before), None)
        if former is not None and former != fact.content:
            lesson.never[f"{fact.type.value}[{fact.target}]: {former}"] = None
            lesson.reasons["corrected after it was given"] = None
            note_wanted(lesson, fact)
            return
        is_used = is_used or bool(store.db.value(TOUCHED_SINCE, (parse_uid(fact.uid), record.at, record.session)))
    if is_used:
        lesson.reasons["used after it was given"] = None
        note_wanted(lesson, fact)


def learn_from_correction(store: Store, fact: Fact, lesson: QuestionLesson) -> None:
    """Note a fact that was replaced, archived or undone after it was given."""
    lesson.never[fact.notation] = None
    lesson.given.pop(fact.notation, None)
    heir = next((other for other in store.facts.chain(fact.uid) if other.tier in LIVE_TIERS), None)
    lesson.reasons["replaced after it was given" if heir is not None else "taken away after it was given"] = None
    if heir is not None and heir.type is not FactType.OBSOLETE:
        note_wanted(lesson, heir)


def note_wanted(lesson: QuestionLesson, fact: Fact) -> None:
    """Note a fact that must be given, if there is room for one."""
    if len(lesson.given) < MOST_EXPECTED and fact.notation not in lesson.never:
        lesson.given[fact.notation] = None
