"""Commands of the person's own: their settings, what they run, and how it ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.store import Store
from hermes_memory_tui.commands.custom_command import FIELDS, CustomCommand, parse_custom_commands
from hermes_memory_tui.commands.program_panel import ProgramPanel
from hermes_memory_tui.commands.program_run import ProgramRun
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.inspector import Inspector
from hermes_memory_tui.keymap_actions import all_bindings, reject_clashes
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.system.inspector_settings import InspectorSettings, parse_inspector_settings
from tests.tui.inspector.driving import fill, frozen, main_screen, said, screen_text, type_text, until

PRINT = [sys.executable, "-c", "import sys; print(sys.argv[1:])"]
WHERE = Path("inspector.toml")


@asynccontextmanager
async def inspecting_with(path: Path, *tables: dict[str, Any]) -> AsyncIterator[Pilot[int]]:
    settings = parse_inspector_settings({"command": list(tables)}, WHERE)
    app = Inspector(Memory(lambda: Store.open(path, clock=frozen)), settings=settings)
    async with app.run_test(size=(110, 34), notifications=True) as pilot:
        await until(pilot, lambda: main_screen(pilot).table.fact is not None, "the facts")
        yield pilot


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "m.db", "V[port]: $(touch pwned); `id` \"'", scope="payments", session="worker")
    fill(tmp_path / "m.db", "V[host]: two words", scope="payments", session="worker")
    return tmp_path / "m.db"


def panel_of(pilot: Pilot[int]) -> ProgramPanel:
    assert isinstance(pilot.app.screen, ProgramPanel)
    return pilot.app.screen


async def run_by_key(pilot: Pilot[int], key: str) -> ProgramPanel:
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, Question), "the confirmation")
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ProgramPanel), "the panel")
    return panel_of(pilot)


# Running


async def test_a_command_runs_on_every_marked_fact_and_shows_what_it_prints(path: Path) -> None:
    table = {"name": "Show it", "key": "T", "on": "fact", "run": [*PRINT, "{uid}", "{notation}", "-s={scope}"]}
    async with inspecting_with(path, table) as pilot:
        await pilot.press("asterisk", "T")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question), "the confirmation")
        assert "2 programs" in screen_text(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ProgramPanel) and panel_of(pilot).end, "the end")
        await until(pilot, lambda: "✓ done" in screen_text(pilot), "its end shown")
        shown = panel_of(pilot)._pages.plain
        assert "V[port]: $(touch pwned); `id`" in shown
        assert "'V[host]: two words', '-s=payments']" in shown
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_screen(pilot), "closing")
    assert not Path("pwned").exists()


async def test_a_shell_gets_what_is_selected_in_its_environment_only(path: Path) -> None:
    table = {"name": "Sh", "key": "T", "on": "fact", "shell": True, "run": 'echo "<$SELECTED_CONTENT>" | tr w W'}
    async with inspecting_with(path, table) as pilot:
        panel = await run_by_key(pilot, "T")
        await until(pilot, lambda: panel.end is not None, "the end")
        await until(pilot, lambda: "<tWo Words>" in panel._pages.plain, "what it printed")


async def test_a_failure_shows_status_and_errors_without_control_characters(path: Path) -> None:
    program = "import sys; sys.stderr.write('bad \\x1b]0;x\\x07\\x1b[2J thing'); sys.exit(3)"
    table = {"name": "Fail", "key": "T", "on": "scope", "run": [sys.executable, "-c", program]}
    async with inspecting_with(path, table) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: getattr(pilot.app.screen, "data", None) is not None, "the scopes")
        panel = await run_by_key(pilot, "T")
        await until(pilot, lambda: "✗ ended with status 3" in panel._pages.plain, "the status")
        assert "bad" in panel._pages.plain
        assert "\x1b" not in panel._pages.plain
        assert "\x07" not in panel._pages.plain


async def test_escape_stops_a_program_that_hangs_with_all_it_started(path: Path) -> None:
    table = {
        "name": "Hang",
        "key": "T",
        "on": "session",
        "shell": True,
        "run": "trap '' TERM; sleep 600 & echo $!; wait",
    }
    async with inspecting_with(path, table) as pilot:
        await pilot.press("5")
        await until(pilot, lambda: getattr(pilot.app.screen, "data", None) is not None, "the agents")
        panel = await run_by_key(pilot, "T")
        await until(pilot, lambda: panel._runs[0][1].lines, "its first line")
        child = int(panel._runs[0][1].lines[0].text)
        await pilot.press("escape")
        await until(pilot, lambda: panel.end is not None, "the end")
        assert panel.end is not None
        assert panel.end.startswith("✗ stopped after")
        await until(pilot, lambda: not is_running(child), "what it started")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, ProgramPanel), "closing")


async def test_a_program_ends_with_the_inspector(path: Path) -> None:
    table = {"name": "Hang", "on": "fact", "shell": True, "run": "echo $$; exec sleep 600"}
    async with inspecting_with(path, table) as pilot:
        await pilot.press("colon")
        await type_text(pilot, "hang")
        panel = await run_by_key(pilot, "enter")
        await until(pilot, lambda: panel._runs[0][1].lines, "its first line")
        child = int(panel._runs[0][1].lines[0].text)
        left = [psutil.Process(child)]
    psutil.wait_procs(left, timeout=30)
    assert not is_running(child)


async def test_a_command_says_where_it_makes_no_sense(path: Path) -> None:
    table = {"name": "Show it", "key": "T", "on": "session", "run": [*PRINT, "{session}"]}
    async with inspecting_with(path, table) as pilot:
        await pilot.press("T")
        await until(pilot, lambda: "Show it: no session is selected here." in said(pilot), "the sentence")
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: pilot.app.is_past, "the past")  # type: ignore[attr-defined]
        await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") == "past", "the past")
        await pilot.press("T")
        await until(pilot, lambda: "Show it: this is the past" in said(pilot), "the refusal")


async def test_help_and_palette_name_a_command(path: Path) -> None:
    table = {"name": "Show it", "key": "T", "on": "fact", "run": [*PRINT, "{uid}"]}
    async with inspecting_with(path, table) as pilot:
        await pilot.press("ctrl+p", *"show it")
        await until(pilot, lambda: " own " in screen_text(pilot) and "Show it" in screen_text(pilot), "the palette")


def is_running(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_a_program_that_takes_too_long_is_stopped() -> None:
    assert "limit of 0.2 s" in ProgramRun(["sleep", "600"], {}, 0.2).run()


def test_a_program_that_closes_its_output_or_leaves_it_open_is_followed_to_its_end() -> None:
    assert ProgramRun(["/bin/sh", "-c", "exec >&- 2>&-; sleep 0.2; exit 4"], {}, 30).run() == "ended with status 4"
    begin = time.monotonic()
    run = ProgramRun(["/bin/sh", "-c", "sleep 20 & echo started"], {}, 30)
    assert run.run() == ""
    assert [line.text for line in run.lines] == ["started"]
    assert time.monotonic() - begin < 15


@pytest.mark.parametrize("arguments", [["/no/such/program"], ["/"], ["echo", "a\0b"]])
def test_a_program_that_cannot_be_run_says_so(arguments: list[str]) -> None:
    assert "cannot be run" in ProgramRun(arguments, {}, 1).run()


def test_of_endless_output_the_end_is_kept() -> None:
    run = ProgramRun(["/bin/sh", "-c", "yes | head -c 2000000; echo end"], {}, 30)
    assert run.run() == ""
    assert run.lines[-1].text == "end"
    assert len(run.lines) == 2_000


# Settings


GOOD = {"name": "Show it", "key": "T", "on": "fact", "run": ["echo", "{uid}"]}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": ""}, "name is what it is called"),
        ({"nmae": "x"}, "no setting 'nmae'; did you mean 'name'"),
        ({"on": "facts"}, 'on is "fact", "scope" or "session"'),
        ({"run": "echo {uid}"}, "run is a list"),
        ({"run": []}, "run is a list"),
        ({"run": ["echo", "{uit}"]}, "a fact has no {uit}; did you mean 'uid'"),
        ({"run": ["{content}"]}, "the program itself is not chosen"),
        ({"shell": True}, "run is the text for the shell"),
        ({"shell": True, "run": "echo {content}"}, '"$SELECTED_CONTENT" instead'),
        ({"shell": "yes"}, "shell is true or false"),
        ({"limit_s": 0}, "limit_s is a number"),
        ({"limit_s": True}, "limit_s is a number"),
        ({"key": "a, b"}, "key is one key"),
        ({"name": "\x1b[2J"}, "name is what it is called"),
    ],
)
def test_a_wrong_command_is_an_error_that_names_it(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parse_custom_commands([GOOD | change], WHERE)
    assert says in caught.value.message
    assert "[[command]] 1" in caught.value.message


@pytest.mark.parametrize("key", ["a", "ctrl+p", "1", "[", "@", "enter"])
def test_a_key_that_does_something_already_is_an_error_that_names_both(key: str) -> None:
    with pytest.raises(ArgumentError, match=r"of the command 'Show it' is the key of \w+\.\w+"):
        reject_clashes(InspectorSettings(commands=(GOOD | {"key": key},), path=WHERE))


def test_a_key_that_the_keymap_has_freed_can_be_had() -> None:
    table = GOOD | {"key": "e"}
    with pytest.raises(ArgumentError, match="is the key of"):
        reject_clashes(InspectorSettings(commands=(table,), path=WHERE))
    ids = {one.id for _, one in all_bindings() if "e" in one.key.split(",")}
    reject_clashes(InspectorSettings(commands=(table,), keys=dict.fromkeys(map(str, ids), "f12"), path=WHERE))
    with pytest.raises(ArgumentError, match=r"is the key of fact\.edit"):
        reject_clashes(InspectorSettings(commands=(GOOD | {"key": "f9"},), keys={"fact.edit": "f9"}, path=WHERE))


def test_a_key_of_a_dialog_can_be_had() -> None:
    reject_clashes(InspectorSettings(commands=(GOOD | {"key": "ctrl+t"},), path=WHERE))


def test_two_commands_cannot_share_a_key_or_a_name() -> None:
    with pytest.raises(ArgumentError, match="'Show it' and 'Other' have the same key"):
        parse_custom_commands([GOOD, GOOD | {"name": "Other"}], WHERE)
    with pytest.raises(ArgumentError, match="two commands are called 'show it'"):
        parse_custom_commands([GOOD, GOOD | {"name": "show it", "key": ""}], WHERE)


@given(st.fixed_dictionaries({name: st.text() for name in FIELDS["fact"]}))
def test_what_is_selected_is_never_more_than_its_own_argument(values: dict[str, str]) -> None:
    command = CustomCommand("x", ("prog", "{content}", "--t={target}", "{{x}}", "-"), "fact")
    assert len(command.run) == len(command.to_call(values | {"x": "y"}).arguments)
    call = command.to_call(values | {"x": "y"})
    assert call.arguments[:3] == ("prog", values["content"], f"--t={values['target']}")
    shell = CustomCommand("x", ('echo "$SELECTED_CONTENT"',), "fact", shell=True)
    assert shell.to_call(values).arguments == ("/bin/sh", "-c", 'echo "$SELECTED_CONTENT"')
    assert os.path.basename(call.arguments[0]) == "prog"
