"""The key that makes a test of a memory from what a session was given."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from hermes_memory_store.clock import system_clock
from hermes_memory_store.memory_tests.case_file import FILE_NAME, read_case_file
from hermes_memory_store.memory_tests.case_run import CaseRunner, CaseStatus
from hermes_memory_store.memory_tests.memory_case import CaseStart
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.views.session_view import SessionView
from tests.bridge.running import Shim, bridge
from tests.tui.inspector.driving import (
    fill,
    frozen,
    inspecting,
    opened,
    rows_of,
    said,
    screen_text,
    to_row,
    until,
    until_shown,
    view_of,
)
from tests.tui.inspector.views.test_agents import recorder


@pytest.fixture
def path(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(path.parent)
    fill(path, "D[cache]: redis", "V[port]: 6379", theme="ops")
    with Store.open(path, clock=frozen) as store:
        who = store.sessions.open("ops", "worker", client="tests 1.0")
        store.context.status("ops", session=who)
        store.search.find("ops", "redis cache", session=who)
        store.facts.write("ops", "D[deploy]: by hand", scope="release", session=who)
        store.reads.flush()
    return path


async def choose(pilot: Pilot[int], *keys: str) -> None:
    """Choose in the list, and agree to the file that is proposed."""
    await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
    await pilot.press(*keys, "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, Question))
    await until_shown(pilot, "[[test]]")
    await pilot.press("enter")


async def test_what_a_question_was_given_becomes_a_test(path: Path) -> None:
    async with inspecting(path, size=(180, 50)) as pilot:
        view = await recorder(pilot)
        await until(pilot, lambda: any("redis cache" in row for row in rows_of(view)))
        await to_row(pilot, "redis cache")
        await pilot.press("T")
        await until(pilot, lambda: "must be given: D[cache]: redis" in screen_text(pilot))
        await choose(pilot)
        await until(pilot, lambda: "Test 'redis cache' added" in said(pilot))
        await pilot.press("T")
        await choose(pilot, "down")
        await until(pilot, lambda: "Test 'redis cache (2)' added" in said(pilot))
    given, never = read_case_file(path.parent / FILE_NAME).cases
    assert (given.ask, given.theme, [one.text for one in given.given]) == ("redis cache", "ops", ["D[cache]"])
    assert (never.name, [one.text for one in never.never]) == ("redis cache (2)", ["D[cache]: redis"])
    with Store.open(path, read_only=True, clock=frozen) as store:
        outcomes = CaseRunner(store).run_all([given, never])
    assert [one.status for one in outcomes] == [CaseStatus.PASSED, CaseStatus.FAILED]


async def test_something_else_should_have_been_given_at_a_start(path: Path) -> None:
    async with inspecting(path, size=(180, 50)) as pilot:
        view = await recorder(pilot)
        await until(pilot, lambda: any("status" in row for row in rows_of(view)))
        await to_row(pilot, "status")
        await pilot.press("T")
        await choose(pilot, "slash", *"V[zone]")
        await until(pilot, lambda: "added to" in said(pilot))
    (case,) = read_case_file(path.parent / FILE_NAME).cases
    assert case.start == CaseStart(scope="release")
    assert [one.text for one in case.given] == ["V[zone]"]


async def test_what_was_left_out_is_offered_first(path: Path) -> None:
    with Store.open(path, clock=frozen) as store:
        for number in range(12):
            store.facts.write(
                "ops", f"D[shelf.{number}]: a long line that says where book number {number} stands in the hall"
            )
        store.context.status("ops", session=store.sessions.get("ops", "worker"))
        store.reads.flush()
        left_out = [one.notation for one in store.context_records.left_out(store.context_records.list("ops")[0])]
    assert left_out
    async with inspecting(path, size=(180, 50)) as pilot:
        await recorder(pilot)
        await to_row(pilot, "status")
        await pilot.press("T")
        await until(pilot, lambda: "must be given: D[shelf" in screen_text(pilot))
        await choose(pilot)
        await until(pilot, lambda: "added to" in said(pilot))
    (case,) = read_case_file(path.parent / FILE_NAME).cases
    assert [one.text for one in case.given] == [str(left_out[0]).partition(":")[0]]


async def test_what_was_written_can_be_expected_of_the_question_before(path: Path) -> None:
    async with inspecting(path, size=(180, 50)) as pilot:
        await recorder(pilot)
        await to_row(pilot, "D[deploy]")
        await pilot.press("T")
        await choose(pilot)
        await until(pilot, lambda: "added to" in said(pilot))
    (case,) = read_case_file(path.parent / FILE_NAME).cases
    assert (case.ask, [one.text for one in case.given]) == ("redis cache", ["D[deploy]"])


async def test_a_call_that_asks_becomes_a_test_before_its_record_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "served.db"
    with Store.open(path):
        pass
    with bridge(path), Shim(path, "--theme", "ops") as shim:
        shim.open()
        shim.call("memory_write", content="D[cache]: redis", scope="release")
        shim.call("memory_search", query="which cache")
        with Store.open(path) as store:
            [session] = store.sessions.list()
        async with inspecting(path, clock=system_clock, size=(180, 50)) as pilot:
            await opened(pilot, "agents")
            await until(pilot, lambda: "bridge up" in screen_text(pilot))
            await to_row(pilot, session.title)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, SessionView))
            await until(pilot, lambda: any("memory_search" in row for row in rows_of(view_of(pilot))))
            await to_row(pilot, "memory_search")
            await pilot.press("T")
            await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
            is_typing = pilot.app.screen.query_one(Input).display
            await choose(pilot, *([] if is_typing else ["slash"]), *"D[cache]")
            await until(pilot, lambda: "Test 'which cache' added" in said(pilot))
    (case,) = read_case_file(tmp_path / FILE_NAME).cases
    assert (case.ask, [one.text for one in case.given]) == ("which cache", ["D[cache]"])


async def test_the_view_of_the_context_has_the_key_as_well(path: Path) -> None:
    async with inspecting(path, "ops", size=(180, 50), read_only=True) as pilot:
        await opened(pilot, "told")
        await to_row(pilot, "V[port]")
        await pilot.press("T")
        await choose(pilot)
        await until(pilot, lambda: "Test 'start' added" in said(pilot))
    (case,) = read_case_file(path.parent / FILE_NAME).cases
    assert (case.start, [one.text for one in case.given]) == (CaseStart(), ["V[port]"])


async def test_a_file_with_mistakes_is_left_as_it_is(path: Path) -> None:
    (path.parent / FILE_NAME).write_text("[[test]]\nask = 5\n", encoding="utf-8")
    async with inspecting(path, "ops", size=(180, 50)) as pilot:
        await opened(pilot, "told")
        await to_row(pilot, "V[port]")
        await pilot.press("T")
        await choose(pilot)
        await until(pilot, lambda: "ask is a text in quotes" in said(pilot))
    assert (path.parent / FILE_NAME).read_text(encoding="utf-8") == "[[test]]\nask = 5\n"
