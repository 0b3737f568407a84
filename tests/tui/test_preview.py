"""What the dialog before an action shows is what the action then does, to the fact and to the character."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_memory_store.errors import Conflict
from hermes_memory_store.model import PERSON, Fact, FactFilter, FactType, Tier
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs import confirm_dialog
from hermes_memory_tui.dialogs.confirm_dialog import preview_text
from hermes_memory_tui.model import bulk_actions
from hermes_memory_tui.model.bulk_actions import BulkAction, preview_bulk_action


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "m.db") as opened:
        yield opened


def write(store: Store, *lines: str, scope: str | None = None, theme: str = "default") -> list[Fact]:
    return [store.facts.write(theme, line, scope=scope).fact for line in lines]


ACTIONS = {
    "archive": (bulk_actions.ARCHIVE, Tier.ARCHIVED),
    "cool": (bulk_actions.COOL, Tier.COLD),
    "pin": (bulk_actions.PIN, Tier.HOT),
    "move": (bulk_actions.move_to_scope("later"), Tier.HOT),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_a_preview_changes_nothing_and_foretells_the_gauge(store: Store, name: str) -> None:
    act, tier = ACTIONS[name]
    facts = write(store, "V[a]: one", "D[b]: two", "D[c]: three")[:2]
    seq = store.journal.last_seq()

    preview = preview_bulk_action(store, act, facts)

    assert store.journal.last_seq() == seq
    assert (preview.facts, preview.tiers, preview.types) == (
        2,
        {Tier.HOT: 2},
        {FactType.VALUE: 1, FactType.DECISION: 1},
    )
    assert (preview.same, preview.refused, preview.foretold) == (0, None, True)
    ((now, then),) = preview.gauges
    assert now == store.tiers.gauge("default")
    act.run(store, [fact.uid for fact in facts])
    assert then == store.tiers.gauge("default")
    assert {store.facts.get(fact.uid).tier for fact in facts} == {tier}


def test_a_preview_of_a_purge_foretells_the_gauge_of_each_theme(store: Store) -> None:
    facts = write(store, "V[a]: one", "D[b]: two") + write(store, "C[x]: other", theme="ops")
    write(store, "D[stays]: here")
    store.facts.pin([facts[0].uid])
    store.facts.cool([facts[1].uid])
    facts = [store.facts.get(fact.uid) for fact in facts]

    preview = preview_bulk_action(store, bulk_actions.PURGE, facts)

    assert [now for now, _ in preview.gauges] == [store.tiers.gauge("default"), store.tiers.gauge("ops")]
    bulk_actions.PURGE.run(store, [fact.uid for fact in facts])
    assert [then for _, then in preview.gauges] == [store.tiers.gauge("default"), store.tiers.gauge("ops")]


def test_facts_that_stay_as_they_are_are_counted(store: Store) -> None:
    facts = write(store, "V[a]: one", "V[b]: two", "V[c]: three")
    store.facts.cool([facts[0].uid])

    preview = preview_bulk_action(store, bulk_actions.COOL, facts)

    assert preview.same == 1
    assert "1 unchanged" in preview_text(preview).plain
    assert "stay as they are" not in preview_text(preview_bulk_action(store, bulk_actions.COOL, facts[1:])).plain


def test_what_is_refused_is_said_with_its_reason_and_nothing_else_is_foretold(store: Store) -> None:
    write(store, "V[a]: there", scope="later")
    facts = write(store, "V[a]: here", scope="now")

    preview = preview_bulk_action(store, bulk_actions.move_to_scope("later"), facts)

    assert isinstance(preview.refused, Conflict)
    assert preview.gauges == []
    assert preview.others == []


def test_what_happens_besides_is_named(store: Store) -> None:
    write(store, "V[a]: old")
    write(store, "V[a]: new")
    (old,) = store.facts.by_ids(list(store.facts.ids(FactFilter(tiers=frozenset({Tier.SUPERSEDED})))))

    said = preview_text(preview_bulk_action(store, bulk_actions.RESTORE, [old])).plain

    assert "side effects\n  ↷ V[a] superseded" in said
    moved = preview_text(preview_bulk_action(store, bulk_actions.move_to_scope("fresh"), [old])).plain
    assert "↷ scope fresh opened" in moved
    assert "more changes" not in moved


@pytest.mark.parametrize(("count", "more"), [(6, None), (7, "and 1 more change"), (9, "and 3 more changes")])
def test_changes_besides_are_listed_up_to_a_limit_and_the_rest_counted(
    store: Store, count: int, more: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confirm_dialog, "MAX_SIDE_EFFECTS", 6)
    write(store, *(f"V[n{n}]: old" for n in range(count)))
    write(store, *(f"V[n{n}]: new" for n in range(count)))
    old = store.facts.by_ids(list(store.facts.ids(FactFilter(tiers=frozenset({Tier.SUPERSEDED})))))

    said = preview_text(preview_bulk_action(store, bulk_actions.RESTORE, old)).plain

    assert said.partition("side effects")[2].count("\n  ↷ ") == 6
    assert ("more change" in said) == (more is not None)
    assert (more or "") in said


@pytest.mark.parametrize(("count", "more"), [(12, None), (13, "and 1 more"), (20, "and 8 more")])
def test_the_chosen_facts_are_listed_up_to_a_limit_and_the_rest_counted(
    store: Store, count: int, more: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_actions, "MAX_SAMPLES", 12)
    facts = write(store, *(f"V[n{n}]: text" for n in range(count)), scope="s")

    said = preview_text(preview_bulk_action(store, bulk_actions.ARCHIVE, facts)).plain

    assert said.count("V[n") == 12
    assert said.count("text  s") == 12, "with their scope"
    assert ("  and " in said) == (more is not None)
    assert (more or "") in said
    of_scope = preview_text(preview_bulk_action(store, bulk_actions.ARCHIVE, facts, scope="s")).plain
    assert "text  s" not in of_scope, "which the title names when a whole scope was chosen"


@pytest.mark.parametrize(("count", "foretold"), [(1_000, True), (1_001, False)])
def test_up_to_a_thousand_facts_are_tried_out_beforehand(store: Store, count: int, foretold: bool) -> None:
    store.facts.write_many("default", [(f"V[n{n}]: {n}", None) for n in range(count)], actor=PERSON)
    facts = store.facts.by_ids(list(store.facts.ids(FactFilter())))

    preview = preview_bulk_action(store, bulk_actions.ARCHIVE, facts)

    assert (preview.facts, preview.foretold, bool(preview.gauges)) == (count, foretold, foretold)
    assert ("Too many facts for a dry run" in preview_text(preview).plain) == (not foretold)


def test_only_a_purge_says_that_nothing_brings_it_back(store: Store) -> None:
    facts = write(store, "V[a]: one")
    finals: dict[BulkAction, bool] = {bulk_actions.PURGE: True, bulk_actions.ARCHIVE: False, bulk_actions.COOL: False}
    for act, final in finals.items():
        said = preview_text(preview_bulk_action(store, act, facts)).plain
        assert ("Purged from the store, its journal" in said) == final


def test_a_purge_says_what_it_erases_and_each_fact_of_the_same_words_once(store: Store) -> None:
    (fact,) = write(store, "V[way]: blue green deployment", scope="one")
    for scope in ("two", "three"):
        write(store, "V[way]: blue green deployment", scope=scope)
    write(store, "D[how]: blue green deployment", scope="two")
    write(store, "D[why]: blue green deployment", theme="work")
    said = preview_text(preview_bulk_action(store, bulk_actions.PURGE, [fact])).plain
    (stands,) = (line for line in said.splitlines() if line.startswith("The same words"))
    names = stands.removeprefix("The same words stand in: ").split(", ")
    assert set(names) == {"V[way] in 2 other scopes", "D[how] (two)", "D[why] (work › no scope)"}
    assert "With them: 1 present or former wording" in said
    assert " record," not in said
