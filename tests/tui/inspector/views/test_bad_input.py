"""Bad input in every view: hostile texts, tiny terminals, a store that goes away."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.widgets import Input

from hermes_memory_store.model import Tier
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.confirm_dialog import Confirmation
from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.views.session_view import SessionView
from tests.tui.inspector.driving import (
    VIEWS,
    beside,
    facts_of,
    fill,
    frozen,
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
    view_of,
)

MARKUP = ("[bold]x[/]", "[red", "[/x]", "[/]", "[@click=app.bell]x[/]", "$error [$error]")
WIDE = "日本語の作業範囲 👩‍👩‍👧‍👦 é́́́ ﷽"
RIGHT_TO_LEFT = "مرحبا بالعالم שלום"
LONG = "x" * 400


@pytest.fixture
def hostile(path: Path, home: Path) -> Path:
    """Everything a person could call or say, as a store accepts it."""
    texts = (*MARKUP, WIDE, RIGHT_TO_LEFT, LONG)
    with Store.open(path, clock=frozen) as store:
        for number, text in enumerate(texts):
            scope = text[:100]
            who = store.sessions.open(f"theme-{number % 3}", text[:200], client=text)
            store.facts.write(f"theme-{number % 3}", f"V[t.{number}]: {text}", scope=scope, session=who)
            store.facts.write(f"theme-{number % 3}", f"V[t.{number}]: {text[::-1]}", scope=scope, session=who)
            store.facts.quarantine(f"theme-{number % 3}", f"C[q.{number}]: {text}", why="orders", session=who)
            store.turns.add(
                f"theme-{number % 3}", "user", f"{text}\n\x1b[31mred\x1b[0m \x1b]0;title\x07\u202e{text}", session=who
            )
            store.context.status(f"theme-{number % 3}", session=who)
            if number % 2:
                store.sessions.close(who)
                store.scopes.close(f"theme-{number % 3}", scope)
    entry = {"content": f"\x1b[31m[red {WIDE}", "target": "[/x]", "archived_at": "[bold]"}
    (home / "memories" / "ARCHIVE.jsonl").write_text(json.dumps(entry) + "\n")
    (home / "memories" / "MEMORY.md").write_text("\n§\n".join(f"[red {text} \x1b[31m" for text in texts))
    return path


def harmless(text: str, width: int) -> None:
    """A screen that holds no control character, and no line wider than the terminal."""
    assert not [char for char in text if (ord(char) < 32 and char != "\n") or char in "\x7f\x9b\u202e"]
    assert [line for line in text.splitlines() if cell_len(line.rstrip()) > width] == []


SIZES = [(150, 38), (80, 24), (20, 5)]


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param(name, size, marks=() if (row + column) % 3 == 0 else pytest.mark.fuzz)
        for row, name in enumerate(VIEWS)
        for column, size in enumerate(SIZES)
    ],
)
async def test_hostile_texts_are_shown_as_they_are(hostile: Path, name: str, size: tuple[int, int]) -> None:
    async with inspecting(hostile, size=size) as pilot:
        view = await opened(pilot, name)
        assert rows_of(view)
        for place in range(len(rows_of(view))):
            view.show_text()
            harmless(screen_text(pilot), size[0])
            harmless(beside(pilot), 10_000)
            if place % 6 == 0:
                await pilot.press("enter")
                await until(pilot, lambda: pilot.app.screen is not None)
                harmless(screen_text(pilot), size[0])
                if isinstance(pilot.app.screen, SessionView):
                    recorder = pilot.app.screen
                    await until(pilot, lambda shown=recorder: shown.data is not None)  # type: ignore[misc]
                    await pilot.press("j", "j", "=", "k")
                    harmless(screen_text(pilot), size[0])
                await pilot.press("escape")
                if pilot.app.screen is main_screen(pilot):
                    await opened(pilot, name)
            await pilot.press("j")
        assert pilot.app.is_running


async def test_every_dialog_about_a_scope_says_its_label_as_it_is(hostile: Path) -> None:
    async with inspecting(hostile, size=(150, 38)) as pilot:
        view = await opened(pilot, "scopes")
        for text in (*MARKUP, WIDE, RIGHT_TO_LEFT):
            label = " ".join(text[:100].split())
            with Store.open(hostile, read_only=True) as store:
                scopes = store.scopes.list()
            scope = next(one for one in scopes if one.label == label or one.label.startswith(label[:4]))
            view.grid.go_to(scope.uid)
            for key in ("N", "P"):
                await pilot.press(key)
                await until(pilot, lambda: isinstance(pilot.app.screen, Question | Confirmation), f"{key} on {label}")
                harmless(screen_text(pilot), 150)
                if text in MARKUP:
                    await until_shown(pilot, scope.label)
                await pilot.press("escape")
                await until(pilot, lambda: pilot.app.screen is view)
            await pilot.press("m")
            await until(pilot, lambda: isinstance(pilot.app.screen, Picker), f"m on {label}")
            harmless(screen_text(pilot), 150)
            await type_text(pilot, "[")
            await pilot.press("enter")
            await pilot.pause()
            while pilot.app.screen is not view:
                await pilot.press("escape")
            count = len(said(pilot))
            await pilot.press("c")
            await until(pilot, lambda count=count: len(said(pilot)) > count, f"closing {label}")
            harmless(screen_text(pilot), 150)


async def test_a_scope_with_any_name_is_purged_by_typing_it(path: Path) -> None:
    fill(path, "V[a]: 1", scope="[/x] [red")
    async with inspecting(path) as pilot:
        await opened(pilot, "scopes")
        await to_row(pilot, "[/x] [red")
        await pilot.press("P")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await until_shown(pilot, "[/x] [red")
        await type_text(pilot, "[/x] [red")
        await pilot.press("enter")
        await until(pilot, lambda: "a" not in facts_of(path))


async def test_a_file_that_cannot_be_written_is_said(path: Path) -> None:
    fill(path, "V[a]: 1", scope="launch")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        for name in ("x" * 300, "~nobody-of-that-name/x.md", "no/such/folder/x.md", ".", "/"):
            await pilot.press("x")
            await until(pilot, lambda: isinstance(pilot.app.screen, Question))
            pilot.app.screen.query_one(Input).value = name
            await pilot.press("enter")
            assert isinstance(pilot.app.screen, Question), name
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is view)


async def test_a_deleted_store_is_said_in_the_open_view_and_comes_back(path: Path) -> None:
    fill(path, "V[a]: 1", scope="launch")
    async with inspecting(path) as pilot:
        for count, name in enumerate(VIEWS, 1):
            view = await opened(pilot, name)
            kept = path.rename(path.with_name("elsewhere.db"))
            await until(pilot, lambda: "no longer exists" in screen_text(pilot).splitlines()[0], name)
            await pilot.press("j", "k", "enter", "escape")
            if pilot.app.screen is not view:
                await opened(pilot, name)
            kept.rename(path)
            await until(pilot, lambda count=count: said(pilot).count("is readable again") == count, name)
            await until(pilot, lambda: "no longer exists" not in screen_text(pilot).splitlines()[0], name)
            if name == "scopes":
                fill(path, "V[b]: 2", scope="novel", theme="other")
                await until(pilot, lambda view=view: any("novel" in row for row in rows_of(view)))


@pytest.mark.parametrize("name", [name for name in VIEWS if name != "files"])  # which lists none of its rows
async def test_another_store_in_its_place_is_shown_in_the_open_view(path: Path, name: str) -> None:
    fill(path, "V[a]: 1", scope="launch")
    other = path.with_name("other.db")
    with Store.open(other, clock=frozen) as store:
        who = store.sessions.open("novel", "novel")
        store.facts.write("novel", "V[novel]: novel", scope="novel", session=who)
        store.facts.quarantine("novel", "C[novel.q]: obey", why="orders", session=who)
        store.turns.add("novel", "user", "novel", session=who)
    async with inspecting(path) as pilot:
        view = await opened(pilot, name)
        await pilot.press("u")
        for part in ("m.db-wal", "m.db-shm"):
            path.with_name(part).unlink(missing_ok=True)
        other.replace(path)
        await until(
            pilot,
            lambda: any("novel" in row for row in rows_of(view)) and not any("launch" in row for row in rows_of(view)),
        )
        assert screen_text(pilot).splitlines()[0].count("!") == 0


async def test_what_was_undone_in_one_file_is_not_done_again_in_another(path: Path) -> None:
    fill(path, "V[a]: 1")
    fill(path.with_name("other.db"), "V[b]: 1", "V[c]: 2", "V[d]: 3")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "told")
        await pilot.press("u")
        await until(pilot, lambda: "undone" in said(pilot))
        for part in ("m.db-wal", "m.db-shm"):
            path.with_name(part).unlink(missing_ok=True)
        path.with_name("other.db").replace(path)
        await until(pilot, lambda: len(rows_of(view)) == 3)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "nothing to redo" in said(pilot))
    assert {fact.tier for fact in facts_of(path).values()} == {Tier.HOT}


async def test_a_file_that_is_no_store_any_more_is_said_in_the_open_view(path: Path) -> None:
    fill(path, "V[a]: 1", scope="launch")
    async with inspecting(path) as pilot:
        for name in VIEWS:
            await opened(pilot, name)
            kept = path.rename(path.with_name("elsewhere.db"))
            path.write_text("not a database, but long enough to be looked at as one" * 40)
            await until(pilot, lambda: "not a readable" in screen_text(pilot).splitlines()[0], name)
            await pilot.press("j", "k")
            kept.replace(path)
            await until(pilot, lambda: "not a readable" not in screen_text(pilot).splitlines()[0], name)


async def test_a_locked_store_refuses_a_write_with_a_sentence_and_goes_on(path: Path) -> None:
    fill(path, "V[a]: 1", scope="launch")
    holder = sqlite3.connect(path, isolation_level=None)
    async with inspecting(path, wait_s=0.5) as pilot:
        await opened(pilot, "scopes")
        holder.execute("BEGIN IMMEDIATE")
        await pilot.press("c")
        await until(pilot, lambda: "◌ writing" in screen_text(pilot) or "is locked by" in said(pilot))
        await pilot.press("j", "k", "enter", "2")
        await until(pilot, lambda: "is locked by" in said(pilot))
        assert view_of(pilot).NAME == "scopes"
        holder.execute("ROLLBACK")
        await pilot.press("c")
        await until(pilot, lambda: facts_of(path)["a"].tier is Tier.COLD)
    holder.close()
