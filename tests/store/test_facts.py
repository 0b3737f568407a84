"""The rules of DESIGN for one fact at a time."""

from __future__ import annotations

import pytest

from hermes_memory_store import errors
from hermes_memory_store.model import IMPORT, PERSON, FactFilter, FactType, ScopeStatus, Tier
from hermes_memory_store.store import Store

THEME = "default"


def test_a_written_fact_is_hot_and_on_the_gauge(store: Store) -> None:
    result = store.facts.write(THEME, "C[db.id]: UUID mndtry", scope="schema")

    assert result.status == "created"
    assert result.fact.tier is Tier.HOT
    assert result.fact.scope == "schema"
    assert result.gauge.used == len("C[db.id]: UUID mndtry")
    assert store.facts.get(result.fact.uid).content == "UUID mndtry"


@pytest.mark.parametrize("tier", ["hot", "cold", "archived"])
def test_other_content_supersedes_whatever_tier_the_old_fact_is_in(store: Store, tier: str) -> None:
    old = store.facts.write(THEME, "D[auth]: JWT 7j")
    if tier != "hot":
        {"cold": store.facts.cool, "archived": store.facts.archive}[tier]([old.fact.uid])

    new = store.facts.write(THEME, "D[auth]: sessions in redis")

    assert new.superseded == (old.fact.uid,)
    assert store.facts.get(old.fact.uid).tier is Tier.SUPERSEDED
    assert store.facts.get(old.fact.uid).superseded_by == new.fact.uid
    assert [fact.uid for fact in store.facts.chain(new.fact.uid)] == [old.fact.uid, new.fact.uid]


def test_targets_do_not_differ_by_case(store: Store) -> None:
    store.facts.write(THEME, "D[Auth]: A")
    assert len(store.facts.write(THEME, "D[auth]: B").superseded) == 1


@pytest.mark.parametrize("answer", ["C", "D", "V"])
def test_an_open_question_is_resolved_by_an_answer(store: Store, answer: str) -> None:
    asked = store.facts.write(THEME, "?[db]: which one")
    answered = store.facts.write(THEME, f"{answer}[db]: postgres")

    assert answered.superseded == (asked.fact.uid,)


def test_an_answer_said_again_settles_a_question_asked_since(store: Store) -> None:
    store.facts.write(THEME, "D[db]: postgres")
    asked = store.facts.write(THEME, "?[db]: still sure")
    again = store.facts.write(THEME, "D[db]: postgres")

    assert again.status == "deduplicated"
    assert again.superseded == (asked.fact.uid,)


def test_writing_to_a_closed_scope_reopens_it_and_warms_what_closing_cooled(store: Store) -> None:
    kept = store.facts.write(THEME, "D[auth]: JWT", scope="login")
    by_hand = store.facts.write(THEME, "V[port]: 3005", scope="login")
    store.facts.cool([by_hand.fact.uid])
    store.scopes.close(THEME, "login")

    store.facts.write(THEME, "V[host]: db1", scope="login")

    assert store.scopes.get(THEME, "login").status is ScopeStatus.OPEN
    assert store.facts.get(kept.fact.uid).tier is Tier.HOT
    assert store.facts.get(by_hand.fact.uid).tier is Tier.COLD


def test_over_long_content_is_refused_whole(store: Store) -> None:
    with pytest.raises(errors.ContentTooLong, match=r"401.*400"):
        store.facts.write(THEME, "V[x]: " + "a" * 401)

    assert store.themes() == [] or store.facts.count(FactFilter(theme=THEME)) == 0


def test_over_long_content_is_stored_in_parts_when_asked(store: Store) -> None:
    words = " ".join(f"word{n}" for n in range(120))
    result = store.facts.write(THEME, f"V[x]: {words}", split=True)

    assert len(result.parts) > 1
    assert " ".join(part.content for part in result.parts) == words


def test_an_invalid_write_opens_no_scope(store: Store) -> None:
    with pytest.raises(errors.NotationError):
        store.facts.write(THEME, "not a fact", scope="typo")

    assert store.scopes.list() == []


def test_edit_keeps_the_uid_and_the_journal_keeps_what_stood_there(store: Store) -> None:
    fact = store.facts.write(THEME, "V[srv]: api.example.com:3005").fact

    changed = store.facts.edit(fact.uid, "api.example.com:4005")

    assert changed.uids == (fact.uid,)
    assert store.facts.get(fact.uid).content == "api.example.com:4005"
    assert [change.op for change in store.facts.history(fact.uid)] == ["create", "edit"]
    assert store.facts.history(fact.uid)[1].before is not None
    assert store.facts.history(fact.uid)[1].before["content"] == "api.example.com:3005"  # type: ignore[index]
    assert [found.uid for found in store.search.find(THEME, "4005").facts] == [fact.uid]
    assert store.search.find(THEME, "3005").facts == []


def test_a_fact_is_found_by_a_unique_prefix(store: Store, clock: object) -> None:
    # Later than any uid that this process has made by the system's clock: uids only ever count up.
    clock.forward(2_000_000_000_000)  # type: ignore[attr-defined]
    uid = store.facts.write(THEME, "V[a]: 1").fact.uid
    clock.forward(100_000)  # type: ignore[attr-defined]
    store.facts.write(THEME, "V[b]: 2")

    assert store.facts.get(uid[:8]).uid == uid
    with pytest.raises(errors.AmbiguousUid):
        store.facts.get(uid[:6])
    with pytest.raises(errors.UnknownFact, match="at least 6"):
        store.facts.get(uid[:5])


def test_one_theme_cannot_name_the_facts_of_another(store: Store) -> None:
    uid = store.facts.write("alpha", "V[a]: 1").fact.uid
    store.facts.write("beta", "V[a]: 1")

    with pytest.raises(errors.UnknownFact):
        store.facts.get(uid, theme="beta")


def test_bulk_writing_fills_the_hot_tier_without_pushing_anything_out(store: Store) -> None:
    kept = store.facts.write(THEME, "?[first]: stays hot").fact
    lines: list[tuple[str, str | None]] = [(f"V[bulk.n{n}]: {'x' * 80}", "bulk") for n in range(300)]
    lines.insert(7, ("nonsense", None))

    result = store.facts.write_many(THEME, lines, actor=kept.actor)

    assert (result.created, result.deduplicated, [index for index, _ in result.errors]) == (300, 0, [7])
    assert store.facts.get(kept.uid).tier is Tier.HOT
    assert store.tiers.gauge(THEME).pct <= 85
    assert store.facts.count(FactFilter(theme=THEME, types=frozenset({FactType.VALUE}))) == 300


def test_what_a_fact_replaced_is_found_without_reading_every_fact(store: Store) -> None:
    store.facts.write("t", "D[cache]: redis")
    newer = store.facts.write("t", "D[cache]: none").fact
    plans: list[str] = []
    real = store.db.conn
    real.set_trace_callback(lambda sql: plans.append(sql) if "WITH RECURSIVE" in sql else None)
    store.facts.chain(newer.uid)
    real.set_trace_callback(None)
    assert plans
    for sql in plans:
        steps = " ".join(row[3] for row in real.execute(f"EXPLAIN QUERY PLAN {sql}"))
        assert "facts_replaced" in steps
        assert "SCAN facts" not in steps


def test_a_line_of_many_that_closes_a_scope_cools_itself_too(store: Store) -> None:
    store.facts.write_many("default", [("D[a]: b", "s"), ("✓[s]: merged", "s")], actor=IMPORT)
    assert [fact.tier for fact in store.facts.page(FactFilter(theme="default")).facts] == [Tier.COLD, Tier.COLD]


def test_a_scope_said_to_be_done_again_tells_nothing_more(store: Store) -> None:
    store.facts.write("default", "D[a]: b", scope="s")
    store.facts.write("default", "✓[s]: merged", scope="s")
    for line in ("✓[s]: and deployed", "✓[s]: and deployed"):
        fact = store.facts.write("default", line, scope="s").fact
        assert fact.tier is Tier.COLD
    assert store.tiers.gauge("default").used == 0
    store.scopes.reopen("default", "s")
    assert store.facts.get(fact.uid).tier is Tier.HOT


def test_what_was_obsolete_and_is_decided_again_is_obsolete_no_more(store: Store) -> None:
    store.facts.write("default", "D[cache]: memcached")
    gone = store.facts.write("default", "~[cache]: no cache").fact
    again = store.facts.write("default", "D[cache]: redis")
    assert gone.uid in again.superseded
    assert store.facts.get(gone.uid).tier is Tier.SUPERSEDED
    store.facts.write_many("default", [("~[queue]: none", None)], actor=PERSON)
    store.facts.write_many("default", [("D[queue]: nats", None)], actor=PERSON)
    assert [fact.notation for fact in store.search.find("default", "target:queue").facts] == ["D[queue]: nats"]
