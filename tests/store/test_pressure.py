"""Pressure ahead and behind: the plan is what relief does then, and the history ends at the gauge."""

from __future__ import annotations

from pathlib import Path

from hermes_memory_store.model import FactFilter, Millis, PressureLevel, Tier
from hermes_memory_store.store import Store
from hermes_memory_store.upkeep import backup
from hermes_memory_themes import Policies

POLICY = "[defaults]\nhot_chars = 1000\n"


def opened(path: Path, clock: list[int]) -> Store:
    """A store with a small budget and a clock that a test moves."""
    path.with_name("memory-themes.toml").write_text(POLICY)
    return Store.open(
        path, clock=lambda: Millis(clock[0]), policies=Policies.load(path.with_name("memory-themes.toml"))
    )


def hot(store: Store) -> set[str]:
    keys = store.facts.ids(FactFilter(theme="t", tiers=frozenset({Tier.HOT})))
    return {fact.target for fact in store.facts.by_ids(list(keys))}


def test_the_plan_of_each_level_is_what_that_level_does(tmp_path: Path) -> None:
    clock = [1_000_000]
    with opened(tmp_path / "m.db", clock) as store:
        store.facts.write("t", "D[auth]: use authentication", scope="s")
        store.facts.write("t", "D[authentication]: use auth", scope="s")
        store.facts.write("t", "V[kept]: in a closed scope", scope="done")
        store.scopes.close("t", "done")
        store.facts.restore([store.facts.by_ids(list(store.facts.ids(FactFilter(target="kept"))))[0].uid])
        for number in range(10):
            clock[0] += 1000
            store.facts.write("t", f"V[n{number}]: {'x' * 30}", scope="s")
        plan = store.pressure.plan("t")
        merged = [move.fact.target for move in plan[PressureLevel.MERGE]]
        cooled = [move.fact.target for move in plan[PressureLevel.ARCHIVE]]
        next_ones = [move.fact.target for move in plan[PressureLevel.CONSOLIDATE]]
        assert len(merged) == 1
        assert merged[0] in ("auth", "authentication")
        assert cooled == ["kept"]
        assert next_ones == ["n0", "n1", "n2"]
        before = hot(store)
        changed = store.pressure.relieve("t", PressureLevel.ARCHIVE)
        assert before - hot(store) == {merged[0], "kept"}
        store.pressure.relieve("t", PressureLevel.CONSOLIDATE)
        assert {"n0", "n1", "n2"} <= before - hot(store)
        store.undo.last()
        store.undo.change(changed.seqs[0])
        assert hot(store) == before


def test_a_plan_writes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", [1_000_000]) as store:
        store.facts.write("t", "V[a]: 1")
        seq = store.journal.last_seq()
        store.pressure.plan("t")
        assert store.pressure.plan("nobody") == {}
        assert store.journal.last_seq() == seq


def test_the_history_of_the_gauge_is_reckoned_from_the_journal(tmp_path: Path) -> None:
    clock = [1_000_000]
    with opened(tmp_path / "m.db", clock) as store:
        seen = []
        for number in range(6):
            clock[0] += 1000
            fact = store.facts.write("t", f"V[n{number}]: {'x' * (10 + number)}", scope="s").fact
            if number == 3:
                store.facts.edit(fact.uid, "short")
            if number == 4:
                store.facts.cool([fact.uid])
            seen.append(store.tiers.gauge("t").used)
        assert store.pressure.history("t", since=1_001_000, points=6) == seen
        assert store.pressure.history("nobody", since=0, points=3) == [0, 0, 0]
        store.facts.write("other", "V[beside]: it", scope="s")
        assert store.pressure.histories(since=1_001_000, points=6) == {
            "t": seen,
            "other": [0] * 5 + [store.tiers.gauge("other").used],
        }


def test_a_theme_that_goes_just_before_its_plan_is_read_has_none(tmp_path: Path) -> None:
    """As when a screen asks while time travel moves the one connection of the past."""
    with opened(tmp_path / "m.db", [1_000_000]) as store:
        store.facts.write("t", "V[a]: 1")
        backup.create_backup(store, tmp_path / "copy.db")
        store.facts.write("late", "V[b]: 2")

        def restore(statement: str) -> None:
            if statement == "BEGIN":
                store.db.conn.set_trace_callback(None)
                backup.restore_backup(tmp_path / "copy.db", store.path)

        store.db.conn.set_trace_callback(restore)
        assert store.pressure.plan("late") == {}
