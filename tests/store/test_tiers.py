"""Pressure: what makes room, in which order, and what never moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.model import FactFilter, FactType, PressureLevel, Tier
from hermes_memory_store.store import Store
from tests.store.conftest import HandClock

THEME = "default"
FACT = "x" * 90


def fill(store: Store, pct: float, *, scope: str | None = None, kind: str = "V", name: str = "n") -> None:
    n = 0
    while store.tiers.gauge(THEME).pct < pct:
        store.facts.write(THEME, f"{kind}[{name}{n}]: {FACT}", scope=scope)
        n += 1


@pytest.mark.parametrize(
    ("pct", "level"),
    [(10, PressureLevel.CALM), (70, PressureLevel.MERGE), (85, PressureLevel.ARCHIVE)],
)
def test_the_level_follows_the_gauge(store: Store, pct: float, level: PressureLevel) -> None:
    fill(store, pct)
    assert store.tiers.gauge(THEME).level is level


def test_merge_folds_facts_that_say_the_same_thing_in_other_words(store: Store) -> None:
    store.facts.write(THEME, "D[auth]: cfg in env")
    fill(store, 68)
    store.facts.write(THEME, "D[authentication]: Config in env")
    fill(store, 71, name="m")

    found = store.facts.page(FactFilter(theme=THEME, types=frozenset({FactType.DECISION}))).facts
    assert [fact.target for fact in found] == ["authentication"]


def test_at_85_percent_hot_facts_of_closed_scopes_are_cooled_first(store: Store) -> None:
    kept = store.facts.write(THEME, "V[old]: of a closed scope", scope="done").fact
    store.scopes.close(THEME, "done")
    store.facts.restore([kept.uid])
    fill(store, 86)
    assert store.facts.get(kept.uid).tier is Tier.COLD


def test_cold_facts_of_closed_scopes_are_archived_only_when_unread_for_a_day(store: Store, clock: HandClock) -> None:
    unread = store.facts.write(THEME, "V[unread]: lamp", scope="done").fact
    read = store.facts.write(THEME, "V[read]: candle", scope="done").fact
    store.scopes.close(THEME, "done")
    clock.forward(25 * 3_600_000)
    store.reads.note("search", THEME, [read])
    store.reads.flush()

    fill(store, 86)

    assert store.facts.get(unread.uid).tier is Tier.ARCHIVED
    assert store.facts.get(read.uid).tier is Tier.COLD


def test_consolidation_cools_the_least_binding_first_and_constraints_last(store: Store) -> None:
    law = store.facts.write(THEME, f"C[law]: {FACT}").fact
    question = store.facts.write(THEME, f"?[open]: {FACT}").fact
    fill(store, 94)

    store.facts.write(THEME, f"V[more]: {FACT}")

    assert store.facts.get(law.uid).tier is Tier.HOT
    assert store.facts.get(question.uid).tier is Tier.COLD
    assert store.tiers.gauge(THEME).pct <= 85


def test_a_full_memory_still_takes_a_write_and_keeps_it_hot(store: Store) -> None:
    for n in range(200):
        result = store.facts.write(THEME, f"C[n{n}]: {FACT}")
        assert result.fact.tier is Tier.HOT
        assert result.gauge.used <= result.gauge.budget


def test_what_was_told_is_recorded(store: Store, path: Path) -> None:
    session = store.sessions.open(THEME, "s1")
    fact = store.facts.write(THEME, "C[law]: never drop a table").fact

    store.context.status(THEME, session=session)
    store.reads.flush()

    row = store.db.row("SELECT kind, tokens, facts, session_id FROM injections")
    assert row is not None
    assert (row[0], row[2], row[3]) == ("status", f'["{fact.uid}"]', 1)
    assert store.facts.get(fact.uid).reads == 1
