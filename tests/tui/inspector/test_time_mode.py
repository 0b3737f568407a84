"""Time is a mode: from anywhere one walks through the changes, and every view shows the moment."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_memory_store.journal.time_travel import TimeCursor
from hermes_memory_store.model import PERSON, ListOrder, Millis
from hermes_memory_store.store import Store
from hermes_memory_tui.model.memory import FIRST_PAGE, ListingInterrupted, ListingRequest, Memory
from hermes_memory_tui.model.past_memory import OPERATIONS, Destination, PastMemory, name_moment, step
from hermes_memory_tui.screens import past_screen, time_mode
from hermes_memory_tui.screens.past_screen import PastScreen
from tests.tui.inspector.driving import (
    NOW,
    PATIENCE_S,
    facts_of,
    fill,
    inspecting,
    main_screen,
    opened,
    rows_of,
    said,
    screen_text,
    targets,
    to_row,
    type_text,
    until,
)

HOUR = 3_600_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    hours = count(1)
    path = tmp_path / "m.db"
    with Store.open(path, clock=lambda: Millis(NOW - 20 * HOUR + next(hours) * HOUR // 4)) as store:
        for letter in "abcdef":
            store.facts.write("ops", f"V[{letter}]: 1", scope="release")
        store.scopes.close("ops", "release")
    return path


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the private copies of this test stand, and nobody else's."""
    folder = tmp_path / "copies"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def is_past(pilot: Pilot[int]) -> bool:
    app: Any = pilot.app
    return bool(app.is_past)


def past_targets(pilot: Pilot[int]) -> str:
    app: Any = pilot.app
    table = app.main.table
    return "".join(sorted(fact.target for row in range(table.row_count) if (fact := table.fact_at(row)) is not None))


async def test_a_step_back_is_a_change_and_a_step_forward_takes_it_back(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: is_past(pilot) and past_targets(pilot) == "abcdef")
        await until(pilot, lambda: "V[f]" in screen_text(pilot).splitlines()[0])
        for expected in ("abcde", "abcd", "abc"):
            await pilot.press("left_square_bracket")
            await until(pilot, lambda expected=expected: past_targets(pilot) == expected)
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: past_targets(pilot) == "abcd")


async def test_keys_that_are_held_end_where_their_number_says(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press(*["left_square_bracket"] * 5)
        await until(pilot, lambda: past_targets(pilot) == "ab")
        await pilot.press(*["right_square_bracket"] * 2)
        await until(pilot, lambda: past_targets(pilot) == "abcd")
        await pilot.press(*["right_square_bracket"] * 9)
        await until(pilot, lambda: not is_past(pilot), "the last step forward is the present")


async def test_before_the_first_change_there_is_nothing_and_no_way_back(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press(*["left_square_bracket"] * 8)
        await until(pilot, lambda: "The memory was empty at that time." in screen_text(pilot))
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: "the memory begins here" in said(pilot))
        assert is_past(pilot)


async def test_scopes_show_what_they_were(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await until(pilot, lambda: any("closed" in row for row in rows_of(view)))
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: any("open" in row for row in rows_of(view)))
        assert pilot.app.screen is view
        await pilot.press("c")
        await until(pilot, lambda: "nothing changes here" in said(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: any("closed" in row for row in rows_of(view)))
        assert pilot.app.screen is view


async def test_the_latest_change_is_called_so(path: Path) -> None:
    with Store.open(path, read_only=True) as store:
        last = store.journal.last_seq()
    async with inspecting(path) as pilot:
        for seq, after in ((last, "the latest change ·"), (last - 1, "1 before now ·")):
            await pilot.press("at")
            await type_text(pilot, f"#{seq}")
            await pilot.press("enter")
            await until(pilot, lambda seq=seq, after=after: f"#{seq}, {after}" in screen_text(pilot).splitlines()[0])


async def test_the_past_says_what_was_purged_since(path: Path) -> None:
    with Store.open(path) as store:
        store.facts.write("shop", "V[kept]: 1")
        last = store.journal.last_seq()
        store.purge.execute("ops", scope="release")
    async with inspecting(path) as pilot:
        await pilot.press("at")
        await type_text(pilot, f"#{last}")
        await pilot.press("enter")
        await until(pilot, lambda: "6 facts purged since" in screen_text(pilot).splitlines()[0])
        screen: Any = pilot.app.screen
        assert "6 purged since" in str(screen.table.border_subtitle)
        screen.go_to_scope("shop", None)
        await until(pilot, lambda: "purged" not in str(screen.table.border_subtitle))
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: f"#{last - 1}," in screen_text(pilot).splitlines()[0])
        assert "6 facts purged since" in screen_text(pilot).splitlines()[0]


NO_MOMENTS = {
    "#99999": "there is no change #99999; the journal has #1 to",
    "#0": "there is no change #0; the journal has #1 to",
    "#x": "write the number of the change",
    "2099-01-01": "2099-01-01 has not come yet; the latest change is #",
    "tomorrow": "'tomorrow' is not a time",
}


def joined_text(pilot: Pilot[int]) -> str:
    """The screen without the frames that cut a sentence in two."""
    return " ".join(screen_text(pilot).replace("│", " ").split())


async def test_a_moment_that_is_none_is_answered_and_stays_as_it_was_typed(path: Path) -> None:
    async with inspecting(path) as pilot:
        for moment, sentence in NO_MOMENTS.items():
            await pilot.press("at")
            await type_text(pilot, moment)
            await pilot.press("enter")
            dialog: Any = pilot.app.screen
            await until(pilot, lambda sentence=sentence: sentence in joined_text(pilot), sentence)
            assert dialog.line.value == moment
            await pilot.press("escape")
        assert not is_past(pilot)


async def test_what_was_said_then_is_said_again_now(path: Path) -> None:
    with Store.open(path) as store:
        store.facts.archive([facts_of(path)["c"].uid])
    async with inspecting(path) as pilot:
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: is_past(pilot) and "c" in past_targets(pilot))
        past = pilot.app.screen
        assert isinstance(past, PastScreen)
        while past.table.fact is None or past.table.fact.target != "c":
            await pilot.press("j")
        await pilot.press("r")
        await until(pilot, lambda: facts_of(path)["c"].tier.value != "archived")
        await until(pilot, lambda: "newer since" in screen_text(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: not is_past(pilot))


async def test_what_others_write_meanwhile_is_counted_and_shown_in_the_present(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: is_past(pilot))
        fill(path, "V[new]: 1", theme="ops")
        await until(pilot, lambda: "newer since" in screen_text(pilot))
        assert "new" not in past_targets(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: "new" in targets(pilot))
        assert main_screen(pilot) is pilot.app.screen


async def test_quitting_in_the_past_leaves_no_copy(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: is_past(pilot))
        app: Any = pilot.app
        copy = app.time.past.path
        assert copy.exists()
    assert not copy.exists()


async def test_a_step_marks_no_fact_as_new(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("left_square_bracket", "left_square_bracket")
        await until(pilot, lambda: past_targets(pilot) == "abcde")
        app: Any = pilot.app
        assert not app.main.table._flashing


@pytest.mark.parametrize("size", [(200, 40), (120, 35)])
async def test_the_activity_of_a_session_says_when_it_is(path: Path, size: tuple[int, int]) -> None:
    with Store.open(path, clock=lambda: Millis(NOW - HOUR)) as store:
        agent = store.sessions.open("ops", "a1", client="codex")
        for number in range(3):
            store.facts.write("ops", f"V[x{number}]: 1", session=agent)
        last = store.journal.last_seq()
    async with inspecting(path, size=size) as pilot:
        await pilot.press("at")
        await type_text(pilot, f"#{last - 1}")
        await pilot.press("enter")
        await until(pilot, lambda: is_past(pilot))
        await opened(pilot, "agents")
        await to_row(pilot, "codex #1")
        await pilot.press("enter")
        await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") == "agent")
        await until(pilot, lambda: f"17 Mar 13:00 · #{last - 1}" in screen_text(pilot).splitlines()[0])
        assert "read-only" not in screen_text(pilot).splitlines()[0]
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: f"· #{last - 2}" in screen_text(pilot).splitlines()[0])
        view: Any = pilot.app.screen
        await until(pilot, lambda: len(view.data.wrote) == 1)


async def test_what_is_of_the_present_is_not_shown_in_the_past(path: Path, tmp_path: Path) -> None:
    memories = tmp_path / ".hermes" / "memories"
    memories.mkdir(parents=True)
    (memories / "MEMORY.md").write_text("V[a]: 1")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "pressure")
        await until(pilot, lambda: any("MEMORY.md" in row for row in rows_of(view)))
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: not any("MEMORY.md" in row for row in rows_of(view)))
        await pilot.press("5")
        await until(pilot, lambda: "no bridge" not in screen_text(pilot) and "at work" in screen_text(pilot))
        await pilot.press("f9")
        await until(pilot, lambda: "is of the present" in screen_text(pilot))


async def test_steps_that_go_too_far_at_once_end_at_the_beginning_and_say_so(path: Path, copies: Path) -> None:
    async with inspecting(path) as pilot:
        app: Any = pilot.app
        for _ in range(12):
            app.action_step(-1)
        await until(pilot, lambda: "the memory begins here" in said(pilot))
        await until(pilot, lambda: is_past(pilot) and "The memory was empty at that time." in screen_text(pilot))
        for _ in range(3):
            app.action_step(1)
        await until(pilot, lambda: past_targets(pilot) == "abc")
        assert len(list(copies.iterdir())) == 1


async def test_a_way_that_is_given_up_leaves_no_copy(path: Path, copies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with inspecting(path) as pilot:
        app: Any = pilot.app

        def give_up(*_: object) -> None:
            app.time.cancel()
            raise time_mode.LoadCancelled

        monkeypatch.setattr(time_mode, "describe_moment", lambda *_: "")
        app.action_step(-1)
        monkeypatch.setattr(PastMemory, "go_to", give_up)
        app.action_step(-1)
        await until(pilot, lambda: not app.time._is_moving)
        assert not is_past(pilot)
        assert not list(copies.iterdir())


async def test_to_leave_while_a_step_is_on_its_way_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.db"
    fill(path, *(f"V[a{number}]: {number}" for number in range(5)))
    async with inspecting(path) as pilot:
        app: Any = pilot.app
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: app.is_past and not app.time._is_moving)
        go_one_way, begun, may_go = app.time._go_one_way, threading.Event(), threading.Event()

        def go_when_left(*args: Any) -> Any:
            begun.set()
            may_go.wait(PATIENCE_S)
            return go_one_way(*args)

        monkeypatch.setattr(app.time, "_go_one_way", go_when_left)
        app.time.go(step(-1))
        await until(pilot, begun.is_set)
        app.time.leave()
        may_go.set()
        await until(pilot, lambda: not app.time._is_moving)
        assert not app.is_past
        assert app.screen is app.present_main


async def test_verifying_the_journal_in_the_past_leaves_the_past_readable(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: isinstance(pilot.app.screen, PastScreen))
        await opened(pilot, "journal")
        await pilot.press("H")
        await until(pilot, lambda: "✓" in said(pilot), "the verification")
        await opened(pilot, "scopes")
        await pilot.press("1", "j", "k", "left_square_bracket")
        await pilot.pause(0.2)
        assert pilot.app._exception is None
        await until(pilot, lambda: isinstance(pilot.app.screen, PastScreen) and pilot.app.screen.title_bar.past != "")


async def test_the_past_is_ordered_as_the_present_was_by_any_column(path: Path) -> None:
    async with inspecting(path) as pilot:
        main_screen(pilot)._sort_by(ListOrder.TOKENS, descending=True)
        await until(pilot, lambda: len(targets(pilot)) == 6, "the order")
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: is_past(pilot) and past_targets(pilot) == "abcdef")


@pytest.fixture
def long_past(tmp_path: Path) -> Iterator[PastMemory]:
    """A moment one change ago, of more facts than SQLite lists between two looks at who waits."""
    path = tmp_path / "long.db"
    with Store.open(path) as store:
        store.facts.write_many(
            "ops", [(f"V[{number}]: 1", None) for number in range(3 * OPERATIONS // 10)], actor=PERSON
        )
        store.facts.write("ops", "V[last]: 1")
        store.facts.write("ops", "V[later]: 1")
    present = Memory.open(path)
    with present.open_reader() as reader:
        cursor = TimeCursor.open(reader, reader.journal.last_seq() - 1)
    past = PastMemory(cursor, present)
    yield past
    past.close()
    present.close()


def test_a_listing_that_is_read_gives_way_to_a_step_and_harms_nothing(
    long_past: PastMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = long_past.load_listing(ListingRequest())
    looks = count(1)
    with monkeypatch.context() as patch:
        patch.setattr(long_past, "_is_paused", SimpleNamespace(is_set=lambda: next(looks) > 2))
        with pytest.raises(ListingInterrupted):
            long_past.load_listing(ListingRequest())
    assert next(looks) > 3  # it was being read

    long_past.pause_listings()
    with pytest.raises(ListingInterrupted):
        long_past.load_listing(ListingRequest())
    here = long_past.cursor.seq
    long_past.go_to(Destination(here - 1), lambda *_: None)
    long_past.resume_listings()
    assert len(long_past.load_listing(ListingRequest()).keys) == len(whole.keys) - 1
    long_past.go_to(Destination(here), lambda *_: None)
    assert long_past.load_listing(ListingRequest()).keys == whole.keys


def test_leaving_a_moment_does_not_wait_for_the_listing_that_is_read(
    long_past: PastMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, interrupted, paused = threading.Event(), threading.Event(), long_past._is_paused

    def look() -> bool:
        if not reading.is_set():  # the first look, before the reading begins
            reading.set()
            return False
        return paused.wait(PATIENCE_S)

    def read() -> None:
        try:
            long_past.load_listing(ListingRequest())
        except ListingInterrupted:
            interrupted.set()

    monkeypatch.setattr(long_past, "_is_paused", SimpleNamespace(is_set=look, set=paused.set))
    reader = threading.Thread(target=read)
    reader.start()
    assert reading.wait(PATIENCE_S)
    long_past.close()
    reader.join(PATIENCE_S)
    assert interrupted.is_set()


async def test_after_a_way_that_leads_nowhere_the_whole_list_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_screen, "FAR", 0)
    monkeypatch.setattr(past_screen, "RESTS_S", 0.05)
    path = tmp_path / "m.db"
    with Store.open(path) as store:
        store.facts.write_many("ops", [(f"V[{number}]: 1", None) for number in range(3 * FIRST_PAGE)], actor=PERSON)
        store.facts.write("ops", "V[last]: 1")
    async with inspecting(path, size=(140, 40)) as pilot:
        app: Any = pilot.app
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: is_past(pilot) and len(app.main.table.keys) == 3 * FIRST_PAGE)
        app.time.go(name_moment("#9999"))
        await until(pilot, lambda: "9999" in said(pilot))
        await until(pilot, lambda: len(app.main.table.keys) == 3 * FIRST_PAGE)


async def test_a_moment_at_the_beginning_of_the_calendar_is_before_the_first_change(path: Path) -> None:
    async with inspecting(path) as pilot:
        for moment in ("0001-01-01", "0001-01-01T20:00", "0001-01-02", "1969-12-31"):
            await pilot.press("at")
            await type_text(pilot, moment)
            await pilot.press("enter")
            await until(pilot, lambda: is_past(pilot) and "before the first change" in screen_text(pilot), moment)
            await pilot.press("escape")
            await until(pilot, lambda: not is_past(pilot))
