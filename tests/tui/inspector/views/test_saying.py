"""Why did it say that? From an agent's words to the facts they came from."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Static

from hermes_memory_store.memory_tests.case_file import FILE_NAME, read_case_file
from hermes_memory_store.model import FactFilter, Millis
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.dialogs.saying_picker import SayingPicker
from hermes_memory_tui.views.sayings.saying_view import SayingView
from tests.tui.inspector.driving import (
    NOW,
    beside,
    facts_of,
    inspecting,
    main_screen,
    opened,
    rows_of,
    said,
    screen_text,
    to_row,
    type_text,
    until,
    until_shown,
)

SAID = "Sure: Redis listens on 6379.\nKubernetes will restart it."


@pytest.fixture
def path(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session that was given facts, was asked, and answered; a fact was changed after that."""
    monkeypatch.chdir(path.parent)
    times = iter(range(NOW - 10_000_000, NOW, 1_000))
    with Store.open(path, clock=lambda: Millis(next(times))) as store:
        for line in ("V[cache.port]: redis listens on 6379", "D[deploy]: deploys go out on tuesday"):
            store.facts.write("ops", line)
        who = store.sessions.open("ops", "0f9a1b2c-worker", client="claude-code 2.0")
        store.context.status("ops", session=who)
        store.reads.flush()
        store.turns.add("ops", "user", "Where does redis listen?", session=who)
        store.turns.add("ops", "assistant", SAID, session=who)
        port = next(one for one in store.facts.by_ids([*store.facts.ids(everything())]) if one.target == "cache.port")
        store.facts.edit(port.uid, "valkey is on 7000")
        store.facts.write("ops", "V[later]: redis listens on 6379 no more")
    return path


async def explained(pilot: Pilot[int], text: str) -> SayingView:
    """Paste a text, as a terminal does, and wait for what it came from."""
    await pilot.press("quotation_mark")
    await until(pilot, lambda: isinstance(pilot.app.screen, SayingPicker))
    pilot.app.post_message(events.Paste(text))
    await until(pilot, lambda: "explain: " in screen_text(pilot))
    await pilot.press("down", "enter")  # below the captured messages that hold the same words
    return await saying_view(pilot)


async def saying_view(pilot: Pilot[int]) -> SayingView:
    await until(pilot, lambda: isinstance(pilot.app.screen, SayingView) and pilot.app.screen.data is not None)
    view = pilot.app.screen
    assert isinstance(view, SayingView)
    return view


async def test_a_pasted_text_shows_the_fact_in_the_words_of_then_and_what_nothing_explains(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await explained(pilot, SAID)
        await until(pilot, lambda: bool(rows_of(view)))
        assert view.data is not None
        first = view.data.explanation.sources[0]
        assert first.then.notation == "V[cache.port]: redis listens on 6379"
        assert all("later" not in row for row in rows_of(view))
        await until(pilot, lambda: "since changed to V[cache.port]: valkey is on 7000" in beside(pilot))
        assert "kubernetes" in beside(pilot)
        await until_shown(pilot, "claude-code #1 said")
        shown = view.query_one("#saying Static", Static).render()
        assert "Kubernetes will restart it." in str(shown)


async def test_a_message_under_the_cursor_is_explained_at_once(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "turns")
        await to_row(pilot, "Sure: Redis")
        await pilot.press("quotation_mark")
        view = await saying_view(pilot)
        await until(pilot, lambda: view.source is not None and view.source.fact.target == "cache.port")
        await pilot.press("quotation_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, SayingPicker))
        await until_shown(pilot, "Sure: Redis listens on 6379. Kubernetes")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: pilot.app.screen is not view)


async def test_the_change_that_wrote_the_culprit_is_undone(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await explained(pilot, "deploys go out on tuesday")
        await until(pilot, lambda: view.source is not None and view.source.fact.target == "deploy")
        await pilot.press("U")
        await until(pilot, lambda: "deploy" not in facts_of(path))
        await until(pilot, lambda: "since undone" in beside(pilot))
        await pilot.press("u")
        await until(pilot, lambda: "undone" in said(pilot))


async def test_enter_goes_to_the_fact_and_a_test_is_made_of_the_question(path: Path) -> None:
    async with inspecting(path, size=(180, 50)) as pilot:
        await opened(pilot, "turns")
        await to_row(pilot, "Sure: Redis")
        await pilot.press("quotation_mark")
        view = await saying_view(pilot)
        await until(pilot, lambda: view.source is not None)
        await pilot.press("T")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: "added" in said(pilot))
        (case,) = read_case_file(path.parent / FILE_NAME).cases
        assert case.ask == "Where does redis listen?"
        await until(pilot, lambda: pilot.app.screen is view)
        await pilot.press("enter")
        main = main_screen(pilot)
        await until(pilot, lambda: pilot.app.screen is main)
        await until(pilot, lambda: main.table.fact is not None and main.table.fact.target == "cache.port")


async def test_where_the_session_is_unknown_no_fact_is_called_never_given(path: Path) -> None:
    async with inspecting(path, size=(100, 30)) as pilot:
        view = await explained(pilot, "I read that deploys go out on tuesday")
        await until(pilot, lambda: bool(rows_of(view)))
        assert "? unknown" in rows_of(view)[0]
        assert "never" not in rows_of(view)[0]
        await until_shown(pilot, "by whom is not known")


async def test_what_nothing_explains_is_said_to_be_so(path: Path) -> None:
    async with inspecting(path, size=(80, 24)) as pilot:
        view = await explained(pilot, "[bold]zebra[/] unicorn ‮ quux\n" * 30)
        assert rows_of(view) == []
        await until(pilot, lambda: "Nothing in this memory shares rare words with it." in screen_text(pilot))
        await until_shown(pilot, "session unknown")
        await pilot.press("U", "T", "enter", "l")
        await pilot.press("escape", "escape")


async def test_an_empty_memory_has_nothing_to_choose(tmp_path: Path) -> None:
    async with inspecting(tmp_path / "empty.db") as pilot:
        await pilot.press("quotation_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, SayingPicker))
        await until(pilot, lambda: "No message of an agent was captured" in screen_text(pilot))
        await type_text(pilot, "a")
        await pilot.press("enter")
        await saying_view(pilot)


def everything() -> FactFilter:
    return FactFilter(theme="ops")
