"""The store as of a past moment."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_store import errors
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.items.journal import load_records
from hermes_memory_store.journal import rewind, transaction_log
from hermes_memory_store.journal.past_wordings import find_wordings
from hermes_memory_store.journal.time_travel import count_purged_since, open_store_at
from hermes_memory_store.model import IMPORT, FactFilter, Tier
from hermes_memory_store.store import Store
from hermes_memory_store.uids import parse_uid
from tests.examples import example_count
from tests.store.conftest import HandClock
from tests.store.portraits import portrait
from tests.store.test_translog import STEP, fresh, live

ALL = FactFilter(theme="default", tiers=frozenset(Tier))


def said(store: Store) -> set[tuple[str, str]]:
    return {(fact.notation, str(fact.tier)) for fact in store.facts.page(ALL).facts}


@settings(max_examples=example_count(60), deadline=None)
@given(st.lists(STEP, max_size=25), st.integers(0, 400))
def test_rewinding_a_copy_and_replaying_the_journal_meet(steps: list[tuple[str, int, int, str]], ago: int) -> None:
    clock = HandClock()
    with fresh(clock) as store, fresh() as replayed, tempfile.TemporaryDirectory() as folder:
        live(store, steps, clock)
        moment = clock.now - ago
        last = rewind.last_change_before(store, moment)
        transaction_log.replay_records(replayed, load_records(store.db, until=moment))
        assert replayed.journal.last_seq() == last
        copy = Path(folder) / "copy.db"
        rewind.copy_unverified(store.path, copy)
        with Store.open(copy, force=True, policies=store.policies) as rewound:
            rewind.rewind(rewound, moment, last)
            assert all(check.ok for check in examine_store(rewound))
            without_lost_links(replayed)
            assert portrait(rewound) == portrait(replayed)


def without_lost_links(store: Store) -> None:
    """A purge takes links to what it took for good; a replay of what was before it still has them."""
    store.db.conn.execute("UPDATE facts SET superseded_by = NULL WHERE superseded_by NOT IN (SELECT uid FROM facts)")


def test_a_long_journal_is_rewound_and_a_short_way_from_the_start_replayed(store: Store, clock: HandClock) -> None:
    moments = []
    for part in range(4):
        store.facts.write_many("default", [(f"V[n{part}.{n}]: x", "bulk") for n in range(2000)], actor=IMPORT)
        moments.append(clock.now)
        clock.forward(1000)
    store.facts.write("default", "V[n0.1]: changed", scope="bulk")
    for part, moment in enumerate(moments):
        with open_store_at(store, moment) as past:
            assert past.facts.count(ALL) == 2000 * (part + 1)
            assert past.clock() == moment
            chosen = past.facts.page(FactFilter(theme="default", target="n0.1")).facts
            assert [fact.content for fact in chosen] == ["x"]
            assert all(check.ok for check in examine_store(past))


def test_before_the_first_change_it_is_empty(store: Store, clock: HandClock) -> None:
    store.facts.write("default", "D[auth]: JWT")
    with open_store_at(store, clock.now - 1) as past:
        assert past.themes() == []


def test_it_cannot_be_written(store: Store, clock: HandClock) -> None:
    store.facts.write("default", "D[auth]: JWT")
    with open_store_at(store, clock.now) as past, pytest.raises(errors.StoreReadOnly):
        past.facts.write("default", "D[auth]: SAML")


def test_it_is_removed_from_the_disk_when_it_is_closed(store: Store, clock: HandClock) -> None:
    store.facts.write("default", "D[auth]: JWT")
    past = open_store_at(store, clock.now)
    folder = past.path.parent
    with past.reader() as reader:
        assert said(reader) == {("D[auth]: JWT", "hot")}
    assert said(past) == {("D[auth]: JWT", "hot")}
    past.close()
    assert not folder.exists()


def test_an_altered_journal_shows_no_past(store: Store, clock: HandClock) -> None:
    store.facts.write("default", "D[auth]: JWT")
    store.db.conn.execute("UPDATE journal SET after = replace(after, 'JWT', 'jwt')")
    with pytest.raises(errors.JournalBroken):
        open_store_at(store, clock.now)


def test_a_purged_fact_is_gone_from_the_past_too(store: Store, clock: HandClock) -> None:
    uid = store.facts.write("default", "V[key]: sk-live-0000").fact.uid
    then = clock.now
    clock.forward(1000)
    store.facts.archive([uid])
    store.purge.execute("default")
    with open_store_at(store, then) as past:
        assert said(past) == set()


def test_what_was_purged_since_a_moment_is_counted_where_it_stood_then(store: Store, clock: HandClock) -> None:
    rows = []
    for theme, target in (("ops", "before"), ("ops", "held"), ("shop", "between"), ("ops", "stays")):
        store.facts.write(theme, f"V[{target}]: sk-live-0000")
        clock.forward(1000)
        if target == "held":
            store.purge.facts([parse_uid(store.facts.page(FactFilter(target="before")).facts[0].uid)])
            store.facts.archive([store.facts.page(FactFilter(target="held")).facts[0].uid])
            store.purge.soft_delete("ops", actor=IMPORT)
        rows.append(store.journal.last_seq())
    clock.forward(400 * DAY_MS)
    store.purge.erase_soft_deleted("ops", DAY_MS)
    store.purge.execute("shop", tiers=frozenset(Tier))
    assert [count_purged_since(store, seq) for seq in (0, *rows)] == [{}, {"ops": 1}, {}, {"shop": 1}, {"shop": 1}]


def test_a_look_at_the_past_erases_no_file_of_a_workspace(
    store: Store, clock: HandClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewind, "LONG_JOURNAL", 0)
    for number in range(9):
        store.facts.write("default", f"V[n{number}]: {number}")
        clock.forward(1000)
    rules = tmp_path / "work" / "rules.md"
    store.rules_files.write(rules, "cursor", "default", "V[n8]: 8")
    with open_store_at(store, clock.now - 1500) as past:
        assert len(said(past)) == 8
    assert rules.exists()


def test_rewinding_takes_away_turns_that_were_captured_later(
    store: Store, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewind, "LONG_JOURNAL", 0)
    for number in range(9):
        store.turns.add("default", "user", f"The pelican flew {number} times.")
        clock.forward(1000)
    with open_store_at(store, clock.now - 1500) as past:
        assert len(past.turns.list("default")) == 8
        assert len(past.turns.search("default", "pelican", limit=20)) == 8
        assert all(check.ok for check in examine_store(past))


@settings(max_examples=example_count(30), deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(("edit", "pin", "cool", "warm", "undo"))), max_size=20)
)
def test_each_row_of_a_fact_is_known_by_what_the_fact_said_then(steps: list[tuple[int, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "m.db") as store:
        facts = [store.facts.write("ops", f"V[f{number}]: first").fact.uid for number in range(3)]
        then = {row.seq: "first" for row in store.journal.changes(entities=("fact",))}
        for place, (number, step) in enumerate(steps):
            uid, since = facts[number], store.journal.last_seq()
            with suppress(errors.StoreError):
                if step == "edit":
                    store.facts.edit(uid, f"text {place}")
                elif step == "undo":
                    store.undo.last()
                else:
                    getattr(store.facts, step)(uid)
            contents = {uid: fact.content for uid, fact in store.facts.by_uids(facts).items()}
            then |= {row.seq: contents[row.uid] for row in store.journal.changes(since=since, entities=("fact",))}
        rows = store.journal.changes(entities=("fact",))
        found = find_wordings(store.db, rows)
        contents = {uid: fact.content for uid, fact in store.facts.by_uids(facts).items()}
        assert {row.seq: found.get(row.seq, contents[row.uid]) for row in rows} == then
