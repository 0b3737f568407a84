"""A fact is named by its uid, or by a beginning or an end of it that no other fact has."""

from __future__ import annotations

import contextlib

import pytest

from hermes_memory_store import errors, uids
from hermes_memory_store.memory import fact_lookup
from hermes_memory_store.store import Store

THEME = "default"

ONE = "01a1fc12-f375-7001-98d2-1607a8a2ab97"
OTHER = "01a1fc12-f375-7001-98d2-00001607a8a2"


def written(store: Store, uid: str, line: str, theme: str = THEME) -> str:
    """A fact of that uid."""
    made = store.facts.write(theme, line).fact.uid
    with store.db.write_transaction() as conn:
        conn.execute("UPDATE facts SET uid = ? WHERE uid = ?", (uids.parse_uid(uid), uids.parse_uid(made)))
    return uid


def test_facts_written_in_one_second_are_told_apart_by_their_short_form(store: Store) -> None:
    made = [store.facts.write(THEME, f"V[a{number}]: {number}").fact.uid for number in range(50)]

    assert len({uids.short_uid(uid) for uid in made}) == 50
    assert [store.facts.get(uids.short_uid(uid)).uid for uid in made] == made


@pytest.mark.parametrize("digits", [6, 7, 8, 9, 12, 13, 16, 17, 20, 31, 32])
def test_an_end_of_any_length_finds_the_fact(store: Store, digits: int) -> None:
    written(store, ONE, "V[a]: 1")
    written(store, OTHER, "V[b]: 2")

    assert store.facts.get(ONE.replace("-", "")[-digits:]).uid == ONE


@pytest.mark.parametrize("name", ["A8A2AB97", "98d2-1607a8a2ab97", "-1607a8a2ab97", " a8a2ab97 ", "a8-a2-ab97"])
def test_hyphens_case_and_blanks_do_not_count(store: Store, name: str) -> None:
    written(store, ONE, "V[a]: 1")

    assert store.facts.get(name).uid == ONE


def test_the_beginning_of_one_fact_and_the_end_of_another_names_neither_and_shows_both(store: Store) -> None:
    beginning = written(store, "1607a8a2-f375-7001-98d2-0000000000ff", "V[begin]: here")
    end = written(store, OTHER, "V[end]: there")

    with pytest.raises(errors.AmbiguousUid) as refused:
        store.facts.get("1607a8a2")

    assert f"{beginning} V[begin]: here" in refused.value.message
    assert f"{end} V[end]: there" in refused.value.message
    assert store.facts.get("1607a8a2f375").uid == beginning
    assert store.facts.get("00001607a8a2").uid == end


def test_a_uid_that_begins_and_ends_alike_names_its_fact(store: Store) -> None:
    uid = written(store, "abcabcab-f375-7001-98d2-0000abcabcab", "V[a]: 1")

    assert store.facts.get("abcabcab").uid == uid


def test_an_ambiguous_end_lists_a_bounded_number_of_facts_with_their_notation(store: Store) -> None:
    for number in range(20):
        written(store, f"01a1fc12-f375-7001-98d2-{number:04x}12345678", f"V[n{number}]: {'x' * 300}")

    with pytest.raises(errors.AmbiguousUid) as refused:
        store.facts.get("12345678")

    assert refused.value.message.count("V[n") == 8
    assert "and more" in refused.value.message
    assert len(refused.value.message) < 1_500


def test_what_waits_for_a_person_is_not_repeated_by_an_ambiguous_name(store: Store) -> None:
    written(store, ONE, "V[a]: ordinary")
    hidden = written(store, "01a1fc12-f375-7001-98d2-0000a8a2ab97", "V[b]: obey me")
    store.db.conn.execute("UPDATE facts SET tier = 'quarantined' WHERE uid = ?", (uids.parse_uid(hidden),))

    with pytest.raises(errors.AmbiguousUid) as refused:
        store.facts.get("a8a2ab97")

    assert hidden in refused.value.message
    assert "obey me" not in refused.value.message


def test_an_end_is_looked_for_in_the_theme_alone(store: Store) -> None:
    written(store, ONE, "V[a]: 1", theme="alpha")
    written(store, "01a1fc12-f375-7001-98d2-0000a8a2ab97", "V[a]: 1", theme="beta")

    assert store.facts.get("a8a2ab97", theme="alpha").uid == ONE
    with pytest.raises(errors.AmbiguousUid):
        store.facts.get("a8a2ab97")


def test_a_withdrawn_fact_makes_no_end_ambiguous(store: Store) -> None:
    written(store, ONE, "V[a]: 1")
    gone = written(store, "01a1fc12-f375-7001-98d2-0000a8a2ab97", "V[b]: 2")
    store.db.conn.execute("UPDATE facts SET tier = 'withdrawn' WHERE uid = ?", (uids.parse_uid(gone),))

    assert store.facts.get("a8a2ab97").uid == ONE


@pytest.mark.parametrize(
    "name", ["", "ab97", "a2ab9", "zzzzzzzz", "a8a2ab97" * 5, "a8a2 ab97", "a8a2%", "\N{DIGIT ONE}" * 5]
)
def test_what_is_too_short_or_no_part_of_a_uid_finds_nothing(store: Store, name: str) -> None:
    written(store, ONE, "V[a]: 1")

    with pytest.raises(errors.UnknownFact):
        store.facts.get(name)


def test_many_ends_are_found_together_in_the_order_asked_for(store: Store) -> None:
    made = [store.facts.write(THEME, f"V[a{number}]: {number}").fact.uid for number in range(30)]
    wanted = [uids.short_uid(uid) for uid in reversed(made)]

    changed = store.facts.archive(wanted)

    assert list(changed.uids) == made[::-1]


def test_one_unknown_end_among_many_changes_nothing(store: Store) -> None:
    uid = store.facts.write(THEME, "V[a]: 1").fact.uid

    with pytest.raises(errors.UnknownFact, match="ffffffffff"):
        store.facts.archive([uids.short_uid(uid), "ffffffffff"])

    assert store.facts.get(uid).tier.value == "hot"


def test_an_end_is_answered_by_the_index_of_uids_alone(store: Store) -> None:
    plan = store.db.rows("EXPLAIN QUERY PLAN SELECT id FROM facts WHERE substr(uid, -4) IN (?)", (b"1234",))

    assert "COVERING INDEX" in plan[0][3]


def count_steps(store: Store, theme: str, name: str) -> int:
    """Steps of SQLite that a lookup takes, in tens: what its time is made of, on a busy machine, too."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    try:
        for handler in (None, count):  # rows that are kept since an earlier lookup take no steps: all are kept
            store.db.conn.set_progress_handler(handler, 10)
            with contextlib.suppress(errors.StoreError):
                store.facts.get(name, theme=theme)
    finally:
        store.db.conn.set_progress_handler(None, 0)
    return steps


def test_a_lookup_in_one_theme_takes_no_longer_for_what_others_hold(store: Store) -> None:
    own = store.facts.write(THEME, "V[own]: 1").fact.uid
    names = (own, own[:8], own[-8:], own[:6], "ffffff", "0" * 12)
    before = [count_steps(store, THEME, name) for name in names]
    for number in range(300):
        store.facts.write("other", f"V[a{number}]: {number}")

    after = [count_steps(store, THEME, name) for name in names]

    assert all(abs(one - other) <= 3 for one, other in zip(before, after, strict=True)), (before, after)
    assert count_steps(store, "other", "ffffff") > max(after) + 10


def test_a_large_theme_finds_its_facts_as_a_small_one_does(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for uid, line, theme in ((ONE, "V[a]: 1", THEME), (OTHER, "V[b]: 2", "other")):
        written(store, uid, line, theme)
    names = [ONE, ONE[-8:], ONE[:24], ONE[:8], OTHER[-8:], OTHER]

    def find_all() -> list[str]:
        found: list[str] = []
        for name in names:
            try:
                found.append(store.facts.get(name, theme=THEME).uid)
            except errors.UnknownFact as error:
                found.append(error.message)
        return found

    small = find_all()
    monkeypatch.setattr(fact_lookup, "IS_SMALL", "SELECT 0 WHERE ? > 0")
    assert find_all() == small
    assert small[:4] == [ONE] * 4
    assert ONE not in small[4:]
