"""The transaction log and its replay."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_store import errors
from hermes_memory_store.items import journal
from hermes_memory_store.items.journal import load_records
from hermes_memory_store.journal import transaction_log
from hermes_memory_store.model import IMPORT, FactFilter, Millis, Tier
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.examples import example_count
from tests.store.conftest import HandClock
from tests.store.portraits import portrait

STEP = st.tuples(
    st.sampled_from(
        [
            *("write", "write", "write", "edit", "pin", "archive", "restore", "cool", "move", "close", "reopen"),
            *("rename", "undo", "purge", "session", "many", "quarantine", "rule"),
        ]
    ),
    st.integers(0, 5),
    st.integers(0, 3),
    st.text('ab é日"\\\u2028', max_size=6),
)


@contextmanager
def fresh(clock: HandClock | None = None) -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with Store.open(
            place / "memory.db", clock=clock or HandClock(), policies=Policies.load(place / "memory-themes.toml")
        ) as store:
            yield store


def live(store: Store, steps: list[tuple[str, int, int, str]], clock: HandClock) -> None:
    """Do these things to a store; what is refused is part of life."""
    for verb, one, two, said in steps:
        clock.forward(one * 7 - 3)
        try:
            step(store, verb, one, two, said)
        except errors.StoreError:
            continue


def step(store: Store, verb: str, one: int, two: int, said: str) -> None:
    theme, scope = f"t{two % 2}", [None, "s1", "s2", "s 3"][two]
    ids = store.facts.ids(FactFilter(tiers=frozenset(Tier) - {Tier.WITHDRAWN}))
    uid = store.facts.by_ids([ids[one % len(ids)]])[0].uid if ids else "none"
    match verb:
        case "write":
            store.facts.write(theme, f"{'CDV?✓~'[one]}[n{two}]: x {said}", scope=scope)
        case "many":
            store.facts.write_many(theme, [(f"V[m{n}]: {said} {one}", scope) for n in range(3)], actor=IMPORT)
        case "edit":
            store.facts.edit(uid, f"edited {said}")
        case "move":
            store.facts.move([uid], scope)
        case "pin" | "archive" | "restore" | "cool":
            getattr(store.facts, verb)([uid])
        case "close" | "reopen":
            getattr(store.scopes, verb)(theme, scope or "s1")
        case "rename":
            store.scopes.rename(theme, scope or "s1", f"s{one}")
        case "undo":
            store.undo.last(1 + two)
        case "purge":
            store.purge.execute(theme, scope=scope if one > 3 else None)
        case "quarantine":
            store.facts.quarantine(theme, f"D[n{two}]: x {said}", why="override", scope=scope, source=f"agent{one}")
        case "rule":
            store.sources.set_rule(theme, f"agent{one % 2}", (None, "always", "never", "always")[two])  # type: ignore[arg-type]
        case "session":
            store.sessions.close(store.sessions.open(theme, f"agent{one}"))


@settings(max_examples=example_count(60), deadline=None)
@given(st.lists(STEP, max_size=25))
def test_a_replay_gives_the_identical_store(steps: list[tuple[str, int, int, str]]) -> None:
    clock = HandClock()
    with fresh(clock) as store, fresh() as other:
        live(store, steps, clock)
        done = transaction_log.replay_log(transaction_log.transaction_log_lines(store), other)
        assert portrait(other) == portrait(store)
        assert done.applied == store.journal.last_seq()
        assert other.journal.verify().ok


def test_a_log_that_was_kept_before_a_purge_ends_in_the_purged_store(store: Store, clock: HandClock) -> None:
    uid = store.facts.write("default", "V[key]: sk-live-0000").fact.uid
    store.facts.write("default", "V[other]: stays")
    kept = list(transaction_log.transaction_log_lines(store))
    store.facts.archive([uid])
    store.purge.execute("default")
    kept += list(transaction_log.transaction_log_lines(store, since=len(kept)))
    with fresh() as other:
        transaction_log.replay_log(kept, other)
        assert portrait(other) == portrait(store)
        assert "sk-live-0000" not in "".join(transaction_log.transaction_log_lines(other))


def test_an_altered_row_is_found_and_nothing_is_applied(store: Store) -> None:
    store.facts.write("default", "D[auth]: JWT")
    store.facts.write("default", "D[auth]: SAML")
    said = list(transaction_log.transaction_log_lines(store))
    said[0] = said[0].replace("JWT", "jwt")
    with fresh() as other:
        with pytest.raises(errors.JournalBroken, match="row 1 of the log was altered"):
            transaction_log.replay_log(said, other)
        assert other.journal.last_seq() == 0
        assert other.themes() == []


@pytest.mark.parametrize("missing", [0, 1])
def test_a_missing_row_is_found(store: Store, missing: int) -> None:
    for target in "abc":
        store.facts.write("default", f"D[{target}]: x")
    said = list(transaction_log.transaction_log_lines(store))
    del said[missing]
    with fresh() as other, pytest.raises(errors.JournalBroken, match="missing"):
        transaction_log.replay_log(said, other)


@pytest.mark.parametrize("junk", ["no JSON", "[]", "{}", "17", '{"seq": "one"}', "[" * 100_000, '{"seq":1e999}'])
def test_a_line_that_is_no_row_is_named(store: Store, junk: str) -> None:
    store.facts.write("default", "D[auth]: JWT")
    with fresh() as other:
        with pytest.raises(errors.ImportFileError, match="line 3"):
            transaction_log.replay_log(["", *transaction_log.transaction_log_lines(store), junk], other)
        assert other.journal.last_seq() == 0


def test_a_row_with_text_that_is_no_unicode_is_refused(store: Store) -> None:
    store.facts.write("default", "D[auth]: JWT")
    said = [line.replace("JWT", "\udcff") for line in transaction_log.transaction_log_lines(store)]
    with fresh() as other, pytest.raises(errors.ImportFileError, match="row 1"):
        transaction_log.replay_log(said, other)


def test_a_log_is_replayed_into_an_empty_store_only(store: Store) -> None:
    store.facts.write("default", "D[auth]: JWT")
    with pytest.raises(errors.ArgumentError, match="not empty"):
        transaction_log.replay_log(transaction_log.transaction_log_lines(store), store)


def test_a_forged_row_cannot_become_sql(store: Store) -> None:
    store.facts.write("default", "D[auth]: JWT")
    first = next(load_records(store.db))
    after = journal.to_journal_json({"content = 'forged', tier": "hot"})
    forged = first._replace(seq=2, op="edit", before="{}", after=after)
    forged = forged._replace(hash=forged.link(first.hash))
    with fresh() as other, pytest.raises(errors.ImportFileError, match="row 2"):
        transaction_log.replay_log(
            [*transaction_log.transaction_log_lines(store), transaction_log.to_log_line(forged)], other
        )


def test_the_log_has_the_documented_fields(store: Store) -> None:
    store.facts.write("default", "D[auth]: JWT", scope="login")
    opened, created = map(json.loads, transaction_log.transaction_log_lines(store))
    assert opened["entity"] == "scope"
    assert list(created) == [
        *("seq", "at", "theme", "actor", "op", "entity", "uid", "change", "undoes", "before", "after"),
        *("salt", "digest", "hash", "origin"),
    ]
    assert created["after"]["content"] == "JWT"
    assert created["at"] == "2026-09-21T14:13:20.000Z"


def test_progress_ends_at_the_number_of_rows(store: Store) -> None:
    store.facts.write_many("default", [(f"V[n{n}]: x", None) for n in range(1500)], actor=IMPORT)
    said: list[tuple[int, int]] = []
    with fresh() as other:
        transaction_log.replay_log(
            transaction_log.transaction_log_lines(store), other, progress=lambda *seen: said.append(seen), total=1500
        )
    assert said == [(1000, 1500), (1500, 1500)]


def test_a_moment_survives_the_log_to_the_millisecond() -> None:
    for moment in (0, 1, 999, 1_790_000_000_001, 253_402_300_799_999):
        assert transaction_log.parse_iso_millis(transaction_log.format_iso_time(moment)) == Millis(moment)
