"""The view of the team: what leaves this machine, which is nothing until a person says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_memory_store.model import FactFilter, Millis
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.views.team_view import TeamData, TeamView, sync_detail
from hermes_memory_tui.widgets.text_panel import Line
from tests.tui.inspector.driving import NOW, beside, fill, frozen, inspecting, opened, rows_of, said, until


async def test_every_theme_says_whether_it_may_be_shared(
    path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path, "V[a]: 1", theme="ops")
    fill(path, "V[b]: 1", theme="marketing")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "team")
        assert sorted(row.split("  ")[1] for row in rows_of(view)) == ["marketing", "ops"]
        assert all("local only" in row for row in rows_of(view))
        await until(pilot, lambda: "Nothing is shared yet." in beside(pilot))
        assert "no bridge is running" in beside(pilot)
        await pilot.press("j", "enter", "j", "k", "escape")
        assert pilot.app.screen is view


async def test_an_empty_memory_says_so(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "team")
        assert rows_of(view) == []
        await pilot.press("enter", "u", "y")
        await until(pilot, lambda: "hermes-memory-bridge install-service" in beside(pilot))


def shared(path: Path, home: Path) -> None:
    """Let the theme leave this machine, and have another machine say something else at once."""
    (home / "memory-themes.toml").write_text("[themes.ops]\nsync = true\n")
    later = Millis(NOW + 1000)  # their edit wins, whatever the last bits of both clocks are
    with Store.open(path, clock=frozen) as mine, Store.open(path.with_name("theirs.db"), clock=lambda: later) as theirs:
        fact = mine.facts.write("ops", "D[cache]: redis").fact
        exchange(mine, theirs)
        mine.facts.edit(fact.uid, "redis 7")
        theirs.facts.edit(fact.uid, "valkey")
        exchange(mine, theirs)
        exchange(theirs, mine)
        assert len(mine.sync.standing.conflicts()) == 1


def exchange(one: Store, other: Store) -> None:
    """Hand over everything that waits, as a server would."""
    rows = one.sync.outbox.pending_rows("ops", limit=100)
    one.sync.outbox.acknowledge("ops", [(row.uid, row.hlc) for row in rows])
    other.sync.inbox.apply("ops", list(enumerate(rows, 1)), cursor=other.sync.inbox.cursor("ops"))


async def test_what_two_machines_said_at_once_is_settled_and_undone(path: Path, home: Path) -> None:
    shared(path, home)
    async with inspecting(path) as pilot:
        view = await opened(pilot, "team")
        assert isinstance(view, TeamView)
        await until(pilot, lambda: view.conflicts.rows)
        stands, lost = view.conflicts.rows[0].cells[2].text, view.conflicts.rows[0].cells[3].text
        assert {stands, lost} == {"D[cache]: redis 7", "D[cache]: valkey"}
        await pilot.press("tab")
        await until(pilot, lambda: pilot.app.focused is view.conflicts)
        await until(pilot, lambda: "concurrent edits" in beside(pilot))
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: "conflict resolved: overridden version restored" in said(pilot))
        await until(pilot, lambda: not view.conflicts.rows)
    with Store.open(path) as store:
        assert f"D[cache]: {store.facts.page(FactFilter()).facts[0].content}" == lost


def plain(lines: Sequence[Line]) -> str:
    return "\n".join(line.plain for line in lines)


def test_how_the_exchange_of_a_theme_goes_is_told_in_numbers() -> None:
    told = {"theme": "ops", "waiting": 2, "behind": 0, "turns": 3}
    refused = [{"theme": "ops", "uid": "01a0", "why": "it holds a NUL character"}]
    sync = {"configured": True, "words": "idle", "themes": [told], "refused_count": 1, "refused": refused}
    state = TeamData([], {"ops": True}, {}, [], "memory-themes.toml", sync)
    text = plain(sync_detail("ops", state, 0))
    assert "shared; 3 pending" in text
    assert "NUL" not in text
    assert "erased" not in text

    sync |= {"collected": None, "warning": "who answers is not verified"}
    text = plain(sync_detail("ops", state, 0))
    assert "never: the owner runs `team collect`" in text
    assert "who answers is not verified" in text
    sync["collected"] = 0
    assert "purged words, from the database's files: 2h ago" in plain(sync_detail("ops", state, 7_200_000))

    told["turns"] = None  # type: ignore[assignment]
    text = plain(sync_detail("ops", state, 0))
    assert "local only (set sync_turns = true to share)" in text


def contents(path: Path) -> set[str]:
    with Store.open(path) as store:
        return {fact.content for fact in store.facts.page(FactFilter()).facts}


async def test_all_that_a_teammate_wrote_is_taken_back_with_a_key(path: Path, home: Path) -> None:
    (home / "memory-themes.toml").write_text("[themes.ops]\nsync = true\n")
    with Store.open(path) as mine, Store.open(path.with_name("theirs.db")) as theirs:
        mine.facts.write("ops", "D[cache]: redis")
        theirs.facts.write("ops", "D[queue]: files")
        rows = theirs.sync.outbox.pending_rows("ops", limit=100)
        by = {"teammate": "mallory/12345678", "worded_by": "mallory", "changed_by": "mallory"}
        came = [(seq, replace(row, **by)) for seq, row in enumerate(rows, 1)]
        mine.sync.inbox.apply("ops", came, cursor=mine.sync.inbox.cursor("ops"))
    async with inspecting(path) as pilot:
        view = await opened(pilot, "team")
        await pilot.press("U")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press(*"nobody", "enter")
        await until(pilot, lambda: "nothing that is here was written by 'nobody'" in said(pilot))
        await pilot.press("U")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press(*"mallory", "enter")
        await until(pilot, lambda: getattr(pilot.app.screen, "_heading", "") == "take back 1 fact")
        await pilot.press("enter")
        await until(pilot, lambda: contents(path) == {"redis"})
        assert pilot.app.screen is view
        await pilot.press("u")
        await until(pilot, lambda: contents(path) == {"redis", "files"})
