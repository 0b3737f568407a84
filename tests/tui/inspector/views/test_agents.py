"""The views of agents: sessions, processes, and the activity of one session."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_memory_bridge.connect.hooks.installation_record import to_record_path
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.clock import system_clock
from hermes_memory_store.items.action_rows import Action, keep_actions
from hermes_memory_store.model import Millis, Rights, Session, SessionStatus
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.views import agents_view
from hermes_memory_tui.views.session_view import SessionView
from tests.bridge.running import Shim, bridge
from tests.tui.inspector.driving import (
    beside,
    facts_of,
    fill,
    frozen,
    inspecting,
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


@pytest.fixture
def path(path: Path) -> Path:
    fill(path, "V[mine]: 1", theme="ops")
    with Store.open(path, clock=frozen) as store:
        who = store.sessions.open("ops", "worker", client="tests 1.0")
        store.facts.write("ops", "D[cache]: redis", scope="release", session=who)
        store.context.status("ops", session=who)
        store.facts.write("ops", "V[port]: 6379", scope="release", session=who)
        store.context.status("ops", session=who)
    return path


def session_of(path: Path, name: str = "worker") -> Session:
    with Store.open(path, clock=frozen) as store:
        return store.sessions.get("ops", name)


async def recorder(pilot: Pilot[int]) -> SessionView:
    """The activity of the worker, opened as a person does."""
    await opened(pilot, "agents")
    await to_row(pilot, "tests #1")
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, SessionView) and pilot.app.screen.data is not None)
    view = pilot.app.screen
    assert isinstance(view, SessionView)
    return view


async def test_a_session_is_shown_with_what_it_was_told_and_wrote(path: Path) -> None:
    async with inspecting(path, size=(180, 50)) as pilot:
        await opened(pilot, "agents")
        await to_row(pilot, "tests #1")
        await until(pilot, lambda: "tests 1.0" in beside(pilot))
        assert "status" in beside(pilot)
        assert "V[port]: 6379" in beside(pilot)
        assert str(os.getpid()) in screen_text(pilot), "this process holds the file"
        await until_shown(pilot, "no bridge")


async def test_every_session_that_runs_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    with Store.open(path, clock=frozen) as store:
        for number in range(601):
            store.sessions.open("ops", f"s{number}", client="codex")
    async with inspecting(path, size=(180, 50)) as pilot:
        view = await opened(pilot, "agents")
        assert view.grid.row_count == 601
        await until_shown(pilot, "601 at work · no bridge")
        await pilot.press("G")
        assert rows_of(view)[view.grid.cursor].split("  ")[1] == "codex #1"
        await pilot.press("slash")
        await type_text(pilot, "#601")
        await until(pilot, lambda: "1 of 601" in screen_text(pilot))
        await pilot.press("escape")


async def test_how_many_that_ended_are_left_out_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_memory_tui.views.agents_view.MOST_ENDED", 2)
    with Store.open(path, clock=frozen) as store:
        for number in range(5):
            store.sessions.close(store.sessions.open("ops", f"s{number}", client="codex"))
    async with inspecting(path, size=(180, 50)) as pilot:
        view = await opened(pilot, "agents")
        assert [row.split("  ")[1] for row in rows_of(view)] == ["tests #1", "codex #5", "codex #4"]
        await until_shown(pilot, "1 at work · the last 2 of 5 ended · no bridge")
        await pilot.press("slash")
        await type_text(pilot, "codex")
        await until(pilot, lambda: "2 of 3 listed, 3 that ended are not" in screen_text(pilot))


async def test_only_rows_on_the_screen_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "many.db"
    with Store.open(path, clock=frozen) as store:
        for number in range(200):
            store.sessions.open("ops", f"s{number}", client="codex")
    made: list[str] = []
    plain = agents_view.lease_cell
    monkeypatch.setattr(agents_view, "lease_cell", lambda one, now: made.append(one.uid) or plain(one, now))
    async with inspecting(path, size=(180, 50)) as pilot:
        view = await opened(pilot, "agents")
        await pilot.pause()
        view.redraw()
        await pilot.pause()
        assert 0 < len(set(made)) < 60


async def test_undoing_all_of_a_session_leaves_what_others_wrote(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "agents")
        await to_row(pilot, "tests #1")
        await pilot.press("U")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until_shown(pilot, "D[cache]: redis")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is view)
        assert sorted(facts_of(path)) == ["cache", "mine", "port"]
        await pilot.press("U")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: sorted(facts_of(path)) == ["mine"])
        await until(pilot, lambda: "of tests #1 undone" in said(pilot))
        await pilot.press("U")
        await until(pilot, lambda: "Nothing to undo in this session" in said(pilot))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: sorted(facts_of(path)) == ["cache", "mine", "port"])


async def test_an_undo_of_all_shows_before_and_after_what_it_leaves(path: Path) -> None:
    with Store.open(path, clock=frozen) as store:
        store.facts.pin([fact.uid for fact in store.search.find("ops", "redis").facts])
    async with inspecting(path) as pilot:
        await opened(pilot, "agents")
        await to_row(pilot, "tests #1")
        await pilot.press("U")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until(pilot, lambda: "left as is (1):" in screen_text(pilot))
        await until_shown(pilot, "V[port]: 6379")
        assert "D[cache]: redis" not in screen_text(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: sorted(facts_of(path)) == ["cache", "mine"])
        await until(pilot, lambda: "left as is: " in said(pilot))
        assert "D[cache]" in said(pilot)


async def test_ending_a_session_without_a_bridge(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "agents")
        await to_row(pilot, "tests #1")
        await pilot.press("K")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: session_of(path).status is SessionStatus.CLOSED)
        await until(pilot, lambda: "session tests #1 ended" in said(pilot))
        await to_row(pilot, "tests #1")
        await until(pilot, lambda: "checkpoint" in beside(pilot))
        await pilot.press("K")
        await until(pilot, lambda: "already ended" in said(pilot))


async def test_no_token_is_revoked_when_none_was_shown(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "agents")
        await to_row(pilot, "tests #1")
        await pilot.press("X")
        await until(pilot, lambda: "known only while it is connected" in said(pilot))


async def test_the_flight_recorder_lists_what_was_told_and_written(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await recorder(pilot)
        kinds = [row.split("  ")[1] for row in rows_of(view)]
        assert kinds.count("● context") == 2
        assert kinds.count("✎ write") >= 2
        await pilot.press("l")
        assert rows_of(view) == []
        await pilot.press("l")
        assert {row.split("  ")[1] for row in rows_of(view)} == {"● context"}
        await pilot.press("right")
        assert {row.split("  ")[1] for row in rows_of(view)} == {"✎ write"}
        await pilot.press("left", "h", "h")
        assert len(rows_of(view)) == len(kinds)


async def test_the_flight_recorder_shows_what_was_run_and_edited_in_its_time(path: Path) -> None:
    with Store.open(path, clock=frozen) as store:
        session, at = store.sessions.get("ops", "worker"), Millis(store.clock() + 1)
        failed = Action(b"r" * 16, "run", "make test\n-k all", "/src/shop", at, 2, 1_500, "first line\nlast line")
        edited = Action(b"e" * 16, "edit", "app.py", "/src/shop", Millis(at - 60_000), None, None, None)
        keep_actions(store.db, session, "claude-code", [failed, edited], None, at)
    async with inspecting(path, size=(180, 50)) as pilot:
        view = await recorder(pilot)
        rows = rows_of(view)
        assert ("make test -k all" in rows[0], "app.py" in rows[-1]) == (True, True)
        await to_row(pilot, "» action")
        await until(pilot, lambda: "last line" in beside(pilot))
        assert {"exit 2", "1.5 s", "/src/shop", "-k all"} <= set(re.split(r"  +|\n", beside(pilot)))
        await pilot.press("h")
        assert {row.split("  ")[1] for row in rows_of(view)} == {"» action"}


async def test_an_activity_that_is_cut_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_memory_tui.views.session_view.MAX_EVENTS", 1)
    async with inspecting(path) as pilot:
        await recorder(pilot)
        await until(pilot, lambda: "all · 2, the newest 1 of each kind" in screen_text(pilot))


async def test_two_tellings_are_compared(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await recorder(pilot)
        await pilot.press("l", "l")
        await until(pilot, lambda: len(rows_of(view)) == 2)
        await pilot.press("g")
        await until(pilot, lambda: "+ V[port]: 6379" in beside(pilot))
        assert "  D[cache]: redis" in beside(pilot)
        await pilot.press("=")
        await until(pilot, lambda: "content" in beside(pilot))
        assert "+ V[port]: 6379" not in beside(pilot)
        await pilot.press("=")
        await until(pilot, lambda: "+ V[port]: 6379" in beside(pilot))


async def test_undo_all_and_end_from_the_flight_recorder(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await recorder(pilot)
        await pilot.press("U")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: sorted(facts_of(path)) == ["mine"])
        await until(pilot, lambda: pilot.app.screen is view)
        await pilot.press("K")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: session_of(path).status is SessionStatus.CLOSED)
        await to_row(pilot, "✎ write")
        await until(pilot, lambda: "✓ closed" in beside(pilot))


async def test_escape_leads_from_the_recorder_to_the_agents(path: Path) -> None:
    async with inspecting(path) as pilot:
        await recorder(pilot)
        await pilot.press("enter", "escape", "escape")
        await until(pilot, lambda: view_of(pilot).NAME == "agents")


async def test_what_an_agent_writes_shows_in_the_recorder(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await recorder(pilot)
        fill(path, "D[new]: blue", theme="ops", session="worker")
        await until(pilot, lambda: any("D[new]: blue" in row for row in rows_of(view)))


@pytest.fixture
def connected(tmp_path: Path) -> Iterator[tuple[Path, Shim]]:
    """A store that a real bridge serves, with one agent connected."""
    path = tmp_path / "served.db"
    with Store.open(path):
        pass
    with bridge(path):
        shim = Shim(path, "--theme", "ops")
        shim.open()
        shim.call("memory_write", content="D[cache]: redis", scope="release")
        try:
            yield path, shim
        finally:
            shim.close()


async def test_with_a_bridge_calls_are_seen_and_a_session_ends_through_it(connected: tuple[Path, Shim]) -> None:
    path, shim = connected
    with Store.open(path) as store:
        [session] = store.sessions.list()
    async with inspecting(path, clock=system_clock, size=(180, 50)) as pilot:
        await opened(pilot, "agents")
        await until(pilot, lambda: "bridge up" in screen_text(pilot))
        await to_row(pilot, session.title)
        shim.call("memory_search", query="cache")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionView) and pilot.app.screen.data is not None)
        await until(pilot, lambda: any("▸ call" in row and "memory_search" in row for row in rows_of(view_of(pilot))))
        await to_row(pilot, "memory_search")
        await until(pilot, lambda: " ms" in beside(pilot))
        await pilot.press("K")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")

        def ended() -> bool:
            with Store.open(path) as store:
                return any(one.uid == session.uid and one.ended_at is not None for one in store.sessions.list())

        await until(pilot, ended)
        await pilot.press("escape")
        await until(pilot, lambda: view_of(pilot).NAME == "agents")
        await to_row(pilot, session.title)
        await pilot.press("X")
        await until(pilot, lambda: "has no token" in said(pilot) or "known only while" in said(pilot))


async def test_a_token_is_revoked_after_a_question_and_its_session_ends(tmp_path: Path) -> None:
    path = tmp_path / "served.db"
    with Store.open(path) as store:
        _, secret = store.credentials.add("ci bot", "ops", Rights())

    def works() -> bool:
        with Store.open(path) as store:
            return store.credentials.verify(secret) is not None

    with bridge(path), Shim(path, "--token", secret) as shim:
        shim.open()
        shim.call("memory_write", content="D[cache]: redis")
        with Store.open(path) as store:
            [session] = store.sessions.list()
        async with inspecting(path, clock=system_clock, size=(180, 50)) as pilot:
            view = await opened(pilot, "agents")
            await until(pilot, lambda: "bridge up" in screen_text(pilot))
            await to_row(pilot, session.title)
            await pilot.press("X")
            await until(pilot, lambda: isinstance(pilot.app.screen, Question))
            await until(pilot, lambda: "ci bot" in screen_text(pilot))
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is view)
            assert works()
            await pilot.press("X")
            await until(pilot, lambda: isinstance(pilot.app.screen, Question))
            await pilot.press("enter")
            await until(pilot, lambda: "token ci bot revoked" in said(pilot))
            assert not works()


async def test_a_bridge_that_never_answers_holds_up_no_key(path: Path) -> None:
    places = BridgePaths.of(path)
    Path(places.folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as deaf:
        deaf.bind(places.line)
        deaf.listen(100)
        async with inspecting(path) as pilot:
            view = await opened(pilot, "agents")
            worst = 0.0
            for _ in range(12):
                view.reload()
                await pilot.pause(0.1)
                begin = time.perf_counter()
                view.show_text()
                worst = max(worst, time.perf_counter() - begin)
            assert "worker" in beside(pilot) or rows_of(view)
            assert worst < 0.5


async def test_hosts_say_when_they_were_heard_and_which_is_silent(path: Path) -> None:
    to_record_path(path).write_text('{"codex": {"/home/ann/.codex/hooks.json": 1}}', encoding="utf-8")
    with Store.open(path, clock=frozen) as store:
        store.host_sessions.note("claude-code", "s1", "start", given_at=frozen(), given_facts=3, given_tokens=61)
    async with inspecting(path) as pilot:
        await opened(pilot, "agents")
        await until(pilot, lambda: "3 facts in 61 tokens" in screen_text(pilot))
        assert "silent: its hooks are installed and were never heard" in screen_text(pilot)


async def test_a_record_says_why_each_fact_was_given_and_which_were_left_out(path: Path) -> None:
    fill(path, *(f"V[filler.{number}]: {'word ' * 30}{number}" for number in range(12)), theme="ops")
    with Store.open(path, clock=frozen) as store:
        who = store.sessions.get("ops", "worker")
        store.context.status("ops", session=who)
        store.reads.flush()
        (newest, *_) = store.context_records.list("ops", "worker")
        assert newest.reasons is not None
        assert [one.uid for one in newest.reasons.given] == [*newest.facts]
        assert newest.reasons.left_out
        erased = newest.reasons.left_out[0].uid
        store.purge.erase([erased])
    async with inspecting(path, size=(180, 60)) as pilot:
        await recorder(pilot)
        await to_row(pilot, "● context")
        await pilot.press("=")
        await until(pilot, lambda: "left out" in beside(pilot))
        shown = beside(pilot)
        assert "status: worth most a token where the session works" in shown
        assert "scope +" in shown
        assert shown.index("V[port]: 6379") < shown.index("left out") < shown.index("(purged)")
