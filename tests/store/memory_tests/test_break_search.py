"""The change that broke a test is found in the journal."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable

import pytest

from hermes_memory_store.context.given import Nearest
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.memory_tests.break_search import BreakingChange, find_breaking_change
from hermes_memory_store.memory_tests.case_file import parse_cases
from hermes_memory_store.memory_tests.case_run import CaseRunner, CaseStatus
from hermes_memory_store.model import Actor, Change, Millis
from hermes_memory_store.store import Store
from hermes_memory_store.uids import parse_uid
from tests.store.conftest import HandClock
from tests.tools.case_comparison import open_past_memory

THEME = "default"


def search(store: Store, text: str, *, good: Millis | None = None) -> BreakingChange | None:
    (case,) = parse_cases("[[test]]\n" + text)
    return find_breaking_change(store, case, good=good)


def find_rows(store: Store, text: str, *, good: Millis | None = None) -> list[Change]:
    found = search(store, text, good=good)
    assert found is not None
    return list(found.rows)


def fill(store: Store, clock: HandClock, first: int, last: int) -> None:
    for number in range(first, last):
        store.facts.write(THEME, f"V[shelf{number}.load]: {number} books", scope=f"s{number % 4}")
        clock.forward(1000)


def uid_of(store: Store, words: str) -> str:
    return store.search.find(THEME, words, record=False).facts[0].uid


BREAKS: dict[str, Callable[[Store], object]] = {
    "supersede": lambda store: store.facts.write(THEME, "D[auth.method]: SAML", scope="login"),
    "obsolete": lambda store: store.facts.write(THEME, "~[auth.method]: nobody signs in", scope="login"),
    "archive": lambda store: store.facts.archive(uid_of(store, "cookies")),
    "edit": lambda store: store.facts.edit(uid_of(store, "cookies"), "tokens of an hour"),
    "undo": lambda store: store.undo.change(1),
}


@pytest.mark.parametrize("name", BREAKS)
@pytest.mark.parametrize("expected", ["D[auth.method]: session cookies", "session cookies"])
def test_the_change_that_broke_a_test_is_found(store: Store, clock: HandClock, name: str, expected: str) -> None:
    store.facts.write(THEME, "D[auth.method]: session cookies", scope="login")
    clock.forward(1000)
    fill(store, clock, 0, 37)
    last = store.journal.last_seq()
    BREAKS[name](store)
    rows = {change.seq for change in store.journal.changes(since=last)}
    fill(store, clock, 37, 80)
    before = store.path.read_bytes()
    found = search(store, f"ask = 'which auth method'\ngiven = ['{expected}']")
    assert found is not None
    assert {change.seq for change in found.rows} == rows
    assert (found.before.status, found.after.status) == (CaseStatus.PASSED, CaseStatus.FAILED)
    assert store.path.read_bytes() == before


def test_a_break_long_ago_and_soon_after_the_writing_is_found(store: Store, clock: HandClock) -> None:
    fill(store, clock, 0, 30)
    store.facts.write(THEME, "D[auth.method]: session cookies", scope="login")
    store.facts.write(THEME, "D[auth.method]: SAML", scope="login")
    broken = store.journal.last_seq()
    fill(store, clock, 30, 230)
    assert find_rows(store, "ask = 'which auth method'\ngiven = ['D[auth.method]: session cookies']")[-1].seq == broken


def test_what_must_never_be_given_is_traced_to_its_writing(store: Store, clock: HandClock) -> None:
    fill(store, clock, 0, 20)
    session = store.sessions.open(THEME, "agent")
    store.facts.write(THEME, "D[auth.method]: password in the clear", session=session)
    fill(store, clock, 20, 40)
    rows = find_rows(store, "ask = 'which auth method'\nnever = ['password in the clear']")
    (written,) = [change for change in rows if change.entity == "fact"]
    assert (written.op, written.actor) == ("create", Actor("session", "agent"))


def test_a_start_that_lost_a_fact_names_the_change(store: Store, clock: HandClock) -> None:
    store.facts.write(THEME, "C[billing.vat]: 19 %", scope="billing")
    fill(store, clock, 0, 5)
    store.facts.cool(uid_of(store, "vat"))
    cooled = store.journal.last_seq()
    fill(store, clock, 5, 9)
    rows = find_rows(store, "start = { scope = 'billing' }\ngiven = ['C[billing.vat]']\ntokens = 2000")
    assert [change.seq for change in rows] == [cooled]


def test_turns_that_crowd_out_what_was_given_are_a_change_too(store: Store, clock: HandClock) -> None:
    store.facts.write(THEME, "V[pelican.home]: roof of the harbour office")
    clock.forward(1000)
    store.turns.add(THEME, "user", "The pelican has flown away from the harbour office.")
    captured = store.journal.last_seq()
    clock.forward(1000)
    fill(store, clock, 0, 9)
    rows = find_rows(store, "ask = 'where is the pelican'\nnever = ['flown away']")
    assert captured in [change.seq for change in rows]


def test_a_test_that_passes_was_broken_by_nothing(store: Store) -> None:
    store.facts.write(THEME, "D[auth.method]: SAML")
    assert search(store, "ask = 'auth method'\ngiven = ['D[auth.method]']") is None


def test_a_test_that_never_passed_says_so(store: Store, clock: HandClock) -> None:
    fill(store, clock, 0, 9)
    with pytest.raises(ArgumentError, match="passed at none of"):
        search(store, "ask = 'auth method'\ngiven = ['D[auth.method]']")


def test_no_change_is_blamed_for_the_time_that_has_passed(store: Store, clock: HandClock) -> None:
    store.facts.write(THEME, "D[auth.method]: session cookies", scope="login")
    fill(store, clock, 0, 5)
    clock.forward(30 * 86_400_000)
    with pytest.raises(ArgumentError, match="no change broke 'auth after:7d': it still passed after the newest one"):
        search(store, "ask = 'auth after:7d'\ngiven = ['D[auth.method]']")


def test_a_purge_is_named_where_no_past_state_passes(store: Store, clock: HandClock) -> None:
    store.facts.write(THEME, "D[auth.method]: session cookies")
    fill(store, clock, 0, 9)
    store.purge.facts([parse_uid(uid_of(store, "cookies"))])
    purged = store.journal.last_seq()
    fill(store, clock, 9, 12)
    with pytest.raises(ArgumentError, match=rf"may be what it misses: change {store.journal.get(purged).change} \("):
        search(store, "ask = 'auth method'\ngiven = ['session cookies']")


def test_a_moment_that_is_named_must_be_good(store: Store, clock: HandClock) -> None:
    good = clock.now
    store.facts.write(THEME, "D[auth.method]: session cookies")
    clock.forward(1000)
    fill(store, clock, 0, 9)
    store.facts.write(THEME, "D[auth.method]: SAML")
    broken = store.journal.last_seq()
    text = "ask = 'auth method'\ngiven = ['session cookies']"
    assert find_rows(store, text, good=store.journal.get(1).at)[-1].seq == broken
    with pytest.raises(ArgumentError, match="did not pass at"):
        search(store, text, good=Millis(good - 1))


@pytest.mark.parametrize("seed", range(3))
def test_a_break_at_a_random_place_is_found(store: Store, clock: HandClock, seed: int) -> None:
    chance = random.Random(seed)
    lines = {number: f"D[gate{number}.key]: brass key of gate {number}" for number in range(12)}
    for number, line in lines.items():
        store.facts.write(THEME, line, scope=f"s{number % 3}")
    fill(store, clock, 0, chance.randrange(60))
    victim = chance.randrange(12)
    store.facts.write(THEME, f"D[gate{victim}.key]: iron", scope=f"s{victim % 3}")
    broken = store.journal.last_seq()
    fill(store, clock, 60, 60 + chance.randrange(60))
    rows = find_rows(store, f"ask = 'which key opens gate{victim}?'\ngiven = ['{lines[victim]}']")
    assert rows[-1].seq == broken


def test_the_past_has_the_turns_that_were_captured_by_then(store: Store, clock: HandClock) -> None:
    store.turns.add(THEME, "user", "The pelican sleeps.")
    then = clock.now
    clock.forward(1000)
    store.turns.add(THEME, "user", "The pelican flies.")
    with open_past_memory(store, then) as past:
        assert [turn.content for turn in past.turns.list(THEME)] == ["The pelican sleeps."]
        assert [hit.turn.content for hit in past.turns.search(THEME, "pelican")] == ["The pelican sleeps."]
    assert len(store.turns.list(THEME)) == 2


class NewerNearest:
    """Finds everything that the present store has, as near: what a vector file holds when a copy of the store is rewound."""

    ranked_by = "words and vectors"

    def __init__(self, store: Store) -> None:
        self._store = store

    def prepare(self, questions: Iterable[str]) -> None:
        """Need nothing."""

    def __call__(self, question: str) -> Nearest:
        def nearest(kind: str, theme: str, limit: int, keys: Collection[int]) -> list[tuple[int, float]]:
            return [(key, 0.9) for (key,) in self._store.db.rows(f"SELECT id FROM {kind}s")]

        return nearest


def test_vectors_of_what_was_written_later_do_not_disturb_the_past(store: Store, clock: HandClock) -> None:
    store.facts.write(THEME, "D[auth.method]: session cookies")
    then = clock.now
    clock.forward(1000)
    fill(store, clock, 0, 20)
    store.turns.add(THEME, "user", "The pelican flies.")
    store.facts.write(THEME, "D[auth.method]: SAML")
    broken = store.journal.last_seq()
    (case,) = parse_cases("[[test]]\nask = 'auth method'\ngiven = ['session cookies']")
    with open_past_memory(store, then) as past:
        outcome = CaseRunner(past, make_nearest=NewerNearest(store)).run(case)
    assert outcome.status is CaseStatus.PASSED
    found = find_breaking_change(store, case, make_nearest=NewerNearest(store))
    assert found is not None
    assert found.rows[-1].seq == broken
