"""Limits of the memory, exactly: what stands on the limit is allowed, one step beyond it is refused or moved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.memory.tiers import find_crossed_levels
from hermes_memory_store.model import FactFilter, PressureLevel, Relief, ScopeStatus, Tier
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.store.conftest import HandClock

THEME = "default"
DAY_MS = 24 * 3_600_000


def open_scope(store: Store, name: str) -> object:
    return store.facts.write(THEME, "V[a]: 1", scope=name)


def rename_scope(store: Store, name: str) -> object:
    store.facts.write(THEME, "V[a]: 1", scope="s")
    return store.scopes.rename(THEME, "s", name)


def open_session(store: Store, name: str) -> object:
    return store.sessions.open(THEME, name)


def trust_source(store: Store, name: str) -> object:
    return store.sources.set_rule(THEME, name, "always")


@pytest.mark.parametrize(
    ("use", "most"), [(open_scope, 128), (rename_scope, 128), (open_session, 256), (trust_source, 256)]
)
def test_a_name_of_just_the_limit_is_taken_and_one_more_character_refused(
    store: Store, use: Callable[[Store, str], object], most: int
) -> None:
    with pytest.raises(errors.ArgumentError, match=f"{most} characters, this one has {most + 1}"):
        use(store, "x" * (most + 1))
    with pytest.raises(errors.ArgumentError):
        use(store, "")
    use(store, "x")
    use(store, "y" * most)


def test_blanks_around_a_label_do_not_count_against_its_limit(store: Store) -> None:
    store.facts.write(THEME, "V[a]: 1", scope=f"  {'x' * 120}   long  ")
    assert [scope.label for scope in store.scopes.list(THEME)] == [f"{'x' * 120} long"]
    with pytest.raises(errors.ArgumentError, match="has at most 128 characters, this one has 12801"):
        store.facts.write(THEME, "V[a]: 1", scope=" " * 12_800 + "x")


@pytest.mark.parametrize("count", [0, -1, 10_001])
def test_the_number_of_changes_to_undo_has_bounds(store: Store, count: int) -> None:
    store.facts.write(THEME, "V[a]: 1")
    with pytest.raises(errors.ArgumentError, match="between 1 and 10000"):
        store.undo.last(count)
    assert len(store.undo.last(10_000).undone) == 1


def test_closing_a_scope_lets_go_of_the_session_that_writes_to_it(store: Store) -> None:
    session = store.sessions.open(THEME, "agent")
    store.facts.write(THEME, "V[a]: 1", session=session, scope="s")
    assert store.sessions.get(THEME, "agent").scope == "s"

    store.scopes.close(THEME, "s")

    assert store.sessions.get(THEME, "agent").scope is None


# Pressure. A budget of 1000 characters, and facts of 50 each.


@pytest.fixture
def small(path: Path, clock: HandClock, tmp_path: Path) -> Store:
    (tmp_path / "small.toml").write_text("[defaults]\nhot_chars = 1000\n")
    return Store.open(path, clock=clock, policies=Policies.load(tmp_path / "small.toml"))


def write_chars(store: Store, name: str, chars: int = 50, *, scope: str | None = None, kind: str = "V") -> str:
    """Write a fact whose notation takes that many characters; return its uid."""
    notation = f"{kind}[{name}]: "
    return store.facts.write(THEME, notation + "x" * (chars - len(notation)), scope=scope).fact.uid


def test_relief_says_how_much_it_merged_cooled_and_archived(small: Store, clock: HandClock) -> None:
    with small as store:
        write_chars(store, "auth", scope="s")
        write_chars(store, "authentication", scope="s")
        unread = [write_chars(store, f"u{n}", scope="old") for n in range(3)]
        store.scopes.close(THEME, "old")
        clock.forward(DAY_MS + 1)
        warm = [write_chars(store, f"w{n}", scope="done") for n in range(2)]
        store.scopes.close(THEME, "done")
        store.facts.restore(warm)
        for n in range(14):
            result = store.facts.write(THEME, f"V[n{n:02}]: {'y' * 41}", scope="t")
        assert store.tiers.relieve(THEME) == Relief()
        assert result.gauge.pct < 85
        assert {store.facts.get(uid).tier for uid in unread} == {Tier.ARCHIVED}
        assert {store.facts.get(uid).tier for uid in warm} == {Tier.COLD}


def test_relief_by_hand_takes_every_step_up_to_the_level_of_the_gauge(
    path: Path, clock: HandClock, tmp_path: Path
) -> None:
    with Store.open(path, clock=clock) as store:
        for name in ("auth", "authentication"):
            write_chars(store, name, scope="s")
            clock.forward(1)
        closed = [write_chars(store, f"c{n}", scope="done") for n in range(3)]
        unread = write_chars(store, "unread", scope="done")
        store.scopes.close(THEME, "done")
        clock.forward(DAY_MS + 1)
        store.facts.restore(closed)
        for n in range(16):
            write_chars(store, f"n{n:02}")
        used = store.tiers.gauge(THEME).used
    (tmp_path / "small.toml").write_text("[defaults]\nhot_chars = 1000\n")
    with Store.open(path, clock=clock, policies=Policies.load(tmp_path / "small.toml")) as store:
        assert store.tiers.gauge(THEME).level is PressureLevel.CONSOLIDATE
        assert store.tiers.relieve(THEME) == Relief(cooled=3, archived=1), "then 90 % are full, and nothing more moves"
        assert store.facts.get(unread).tier is Tier.ARCHIVED
        assert store.tiers.gauge(THEME).used == used - 150


def test_relief_by_hand_says_how_many_duplicates_it_merged(path: Path, clock: HandClock, tmp_path: Path) -> None:
    with Store.open(path, clock=clock) as store:
        for target in ("auth", "authentication"):
            clock.forward(1)
            store.facts.write(THEME, f"D[{target}]: cfg in env")
        for n in range(16):
            write_chars(store, f"n{n:02}")
    (tmp_path / "small.toml").write_text("[defaults]\nhot_chars = 1000\n")
    with Store.open(path, clock=clock, policies=Policies.load(tmp_path / "small.toml")) as store:
        assert store.tiers.relieve(THEME) == Relief(merged=1)
        assert store.tiers.relieve(THEME) == Relief()


@pytest.mark.parametrize("count", [19, 20, 25])
def test_relief_by_hand_says_how_many_facts_it_cooled(path: Path, clock: HandClock, tmp_path: Path, count: int) -> None:
    with Store.open(path, clock=clock) as store:
        for n in range(count):
            write_chars(store, f"n{n:02}")
    (tmp_path / "small.toml").write_text("[defaults]\nhot_chars = 1000\n")
    with Store.open(path, clock=clock, policies=Policies.load(tmp_path / "small.toml")) as store:
        assert store.tiers.relieve(THEME) == Relief(cooled=count - 17)
        assert store.tiers.gauge(THEME).used == 850


@pytest.mark.parametrize(
    ("away_ms", "tier"), [(DAY_MS - 1, Tier.COLD), (DAY_MS, Tier.COLD), (DAY_MS + 1, Tier.ARCHIVED)]
)
def test_a_fact_of_a_closed_scope_is_archived_once_it_was_unread_for_more_than_a_day(
    small: Store, clock: HandClock, away_ms: int, tier: Tier
) -> None:
    with small as store:
        uid = write_chars(store, "unread", scope="done")
        store.scopes.close(THEME, "done")
        filler = [write_chars(store, f"n{n}") for n in range(16)]
        clock.now = (store.scopes.get(THEME, "done").closed_at or 0) + away_ms
        store.pressure.relieve(THEME, PressureLevel.ARCHIVE)
        assert store.facts.get(uid).tier is tier
        assert {store.facts.get(one).tier for one in filler} == {Tier.HOT}


def test_consolidation_stops_at_85_percent(small: Store) -> None:
    with small as store:
        for n in range(18):
            write_chars(store, f"n{n}")
        assert store.tiers.gauge(THEME).used == 900
        write_chars(store, "last")
        assert store.tiers.gauge(THEME).used == 850, "95 % were reached, and 85 % are calm again"


def test_pinned_facts_may_fill_the_budget_to_the_last_character(small: Store) -> None:
    with small as store:
        for n in range(19):
            store.facts.pin([write_chars(store, f"n{n}")])
        with pytest.raises(errors.MemoryFull, match=r"pinned facts hold 950 of 1000 .* no room for 51 more"):
            write_chars(store, "more", 51)
        uid = write_chars(store, "more", 50)
        assert store.facts.get(uid).tier is Tier.HOT
        assert len(store.facts.page(FactFilter(theme=THEME, tiers=frozenset({Tier.HOT}))).facts) == 20


@pytest.mark.parametrize(
    ("before", "now", "crossed"),
    [
        (PressureLevel.CALM, PressureLevel.MERGE, [PressureLevel.MERGE]),
        (PressureLevel.CALM, PressureLevel.ARCHIVE, [PressureLevel.MERGE, PressureLevel.ARCHIVE]),
        (PressureLevel.MERGE, PressureLevel.MERGE, []),
        (PressureLevel.ARCHIVE, PressureLevel.MERGE, []),
    ],
)
def test_a_level_is_crossed_when_pressure_rises_to_it_or_past_it(
    before: PressureLevel, now: PressureLevel, crossed: list[PressureLevel]
) -> None:
    levels = (PressureLevel.MERGE, PressureLevel.ARCHIVE)
    assert [level for level in levels if level in find_crossed_levels(before, now)] == crossed


def test_a_merge_lists_the_scope_it_emptied_no_more(store: Store) -> None:
    store.facts.write(THEME, "V[a]: 1", scope="s")
    store.facts.write(THEME, "V[b]: 2", scope="t")
    session = store.sessions.open(THEME, "agent")
    store.facts.write(THEME, "V[c]: 3", session=session, scope="s")

    store.scopes.merge(THEME, "s", "t")

    assert {scope.label: scope.status for scope in store.scopes.list(THEME)} == {"t": ScopeStatus.OPEN}
    assert store.sessions.get(THEME, "agent").scope == "t", "who wrote to the one writes to the other"
    with pytest.raises(errors.ArgumentError, match="cannot be merged into itself"):
        store.scopes.merge(THEME, "t", "t")
