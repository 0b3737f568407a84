"""An error nobody foresaw: the inspector says so, keeps what was typed, and goes on; where it cannot, it ends in order."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyte
import pytest

from hermes_memory_tui.screens.facts_screen import MainScreen
from tests.processes import PATIENCE_S
from tests.tui.inspector.driving import fill, inspecting

SECRET = "mellon-9214"
"""Stands in a fact and in the errors: it may be shown, and written nowhere."""

RUN = """
import sys
from hermes_memory_tui.__main__ import main
main()
"""

IN_A_KEY = f"""
from hermes_memory_tui.screens.facts_screen import MainScreen
def fail(self): raise ValueError("{SECRET}")
MainScreen.action_copy_uid = fail
"""

IN_A_WORKER = f"""
from hermes_memory_tui.model.memory import Memory
def fail(self, theme=None): raise KeyError("{SECRET}")
Memory.undo = fail
"""

IN_A_RENDERER = f"""
from hermes_memory_tui.widgets.fact_table import FactTable
from hermes_memory_tui.widgets.title_bar import TitleBar
inner, mark = TitleBar.render, FactTable.action_mark
def action_mark(self):
    mark(self)
    self.screen.title_bar.refresh()
def render(self):
    if len(self.screen.table.marked) == 1: raise ZeroDivisionError("{SECRET}")
    return inner(self)
TitleBar.render, FactTable.action_mark = render, action_mark
"""

IN_A_TIMER = f"""
from hermes_memory_tui.screens.fact_listing import ListingScreen
inner = ListingScreen.check_for_changes
def poll(self):
    if self.app.was_touched: raise OverflowError("{SECRET}")
    inner(self)
ListingScreen.check_for_changes = poll
"""

ONCE_IN_A_TIMER = f"""
from hermes_memory_tui.screens.fact_listing import ListingScreen
inner, failed = ListingScreen.check_for_changes, []
def poll(self):
    if not failed and CONDITION:
        failed.append(1)
        raise OverflowError("{SECRET}")
    inner(self)
ListingScreen.check_for_changes = poll
"""

IN_A_VIEW = f"""
from hermes_memory_tui.views.journal_view import JournalView
def load(self, store): raise LookupError("{SECRET}")
JournalView.load = load
"""

ALWAYS = f"""
from hermes_memory_tui.widgets.fact_table import FactTable
def render_line(self, y): raise RuntimeError("{SECRET}")
FactTable.render_line = render_line
"""

BY_ITSELF = f"""
from hermes_memory_tui.screens.fact_listing import ListingScreen
def poll(self): raise RuntimeError("{SECRET}")
ListingScreen.check_for_changes = poll
"""


class Terminal:
    """A terminal with the inspector in it, and a fault in the inspector."""

    def __init__(self, folder: Path, fault: str) -> None:
        self.folder = folder
        fill(folder / "memory.db", f"C[db.id]: UUID {SECRET}", "V[tone]: plain")
        env = os.environ | {"TERM": "xterm-256color", "HOME": str(folder), "HERMES_HOME": str(folder)}
        self.pid, self.handle = pty.fork()
        if not self.pid:
            args = ["--db", str(folder / "memory.db")]
            os.execve(sys.executable, [sys.executable, "-c", fault + RUN, *args], env)
        fcntl.ioctl(self.handle, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 130, 0, 0))
        self.screen = pyte.Screen(130, 40)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""

    @property
    def text(self) -> str:
        return "\n".join(self.screen.display)

    def read(self) -> bool:
        """Draw what came within a moment; whether the program still has the terminal."""
        if select.select([self.handle], [], [], 0.05)[0]:
            try:
                piece = os.read(self.handle, 65_536)
            except OSError:
                return False
            self.raw += piece
            self.stream.feed(re.sub(rb"\x1b\[[<>][0-9]*u", b"", piece))  # pyte takes these for text
        return True

    def until(self, *texts: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not all(text in self.text for text in texts):
            assert time.monotonic() < deadline, (texts, self.text)
            assert self.read(), (texts, self.text, self.raw[-600:])

    def press(self, keys: str, *shown: str) -> None:
        os.write(self.handle, keys.encode())
        self.until(*shown)

    def ends(self) -> int:
        deadline = time.monotonic() + PATIENCE_S
        while self.read():
            assert time.monotonic() < deadline, self.text
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def reports(self) -> list[Path]:
        return sorted(self.folder.glob("logs/hermes-memory-tui-crash-*.txt"))


@contextmanager
def faulty(folder: Path, fault: str) -> Iterator[Terminal]:
    made = Terminal(folder, fault)
    try:
        yield made
    finally:
        os.close(made.handle)
        with suppress(ChildProcessError):  # it was waited for
            os.waitpid(made.pid, 0)


WRONG = "Internal error"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "keys", "name"),
    [
        (IN_A_KEY, "y", "ValueError"),
        (IN_A_WORKER, "u", "KeyError"),
        (IN_A_RENDERER, " ", "ZeroDivisionError"),
        (IN_A_TIMER, "j", "OverflowError"),
        (IN_A_VIEW, "6", "LookupError"),
    ],
    ids=["key", "worker", "renderer", "timer", "view"],
)
def test_an_error_shows_a_sentence_and_the_memory_anew(tmp_path: Path, fault: str, keys: str, name: str) -> None:
    with faulty(tmp_path, fault) as terminal:
        terminal.until(SECRET, "plain")
        terminal.press(keys, f"({name})", "plain")
        for report in terminal.reports():
            assert report.stat().st_mode & 0o777 == 0o600
            said = report.read_text()
            assert name in said
            assert SECRET not in said
        assert terminal.reports()
        terminal.press("!", "Copy")
        os.write(terminal.handle, b"qq")
        if fault in (IN_A_TIMER,):
            return  # fails again with the key, and is shown anew again
        assert terminal.ends() == 0
        assert b"Traceback" not in terminal.raw


@pytest.mark.slow
def test_what_was_typed_in_an_editor_is_there_again(tmp_path: Path) -> None:
    fault = ONCE_IN_A_TIMER.replace(
        "CONDITION", "'abcd' in getattr(getattr(self.app.screen, 'area', None), 'text', '')"
    )
    with faulty(tmp_path, fault) as terminal:
        terminal.until(SECRET)
        terminal.press("n", "new fact")
        terminal.press("D[x.y]: abcd", WRONG)
        terminal.until("D[x.y]: abcd", "new fact")
        kept = json.loads((tmp_path / "inspector-state.json").read_text())
        assert list(kept["drafts"].values()) == [{"new": "D[x.y]: abcd"}]


@pytest.mark.slow
def test_the_search_line_is_there_again(tmp_path: Path) -> None:
    with faulty(tmp_path, IN_A_KEY) as terminal:
        terminal.until(SECRET, "plain")
        terminal.press("/", "To the list")
        terminal.press("plain", "1 found")
        terminal.press("\r", "e Edit")  # the keys of the list: it has the focus
        terminal.press("y", WRONG)
        terminal.until("1 found")


@pytest.mark.slow
def test_what_was_gathered_is_there_again_and_gathering_goes_on(tmp_path: Path) -> None:
    with faulty(tmp_path, IN_A_KEY) as terminal:
        terminal.until(SECRET, "plain")
        terminal.press("b", "basket: gathering")
        terminal.press("p", "→ pin", "basket: 1 change, gathering")
        terminal.press("y", WRONG)
        terminal.until("→ pin", "basket: 1 change, gathering")
        terminal.press("W", "→ cool")
        os.kill(terminal.pid, signal.SIGKILL)
    with faulty(tmp_path, "") as terminal:
        terminal.until("→ cool", "basket: 1 change")


@pytest.mark.slow
def test_what_was_typed_in_a_dialog_stands_in_it_again(tmp_path: Path) -> None:
    fault = ONCE_IN_A_TIMER.replace("CONDITION", "getattr(self.app.screen, 'typed_text', '').endswith('here.md')")
    with faulty(tmp_path, fault) as terminal:
        terminal.until(SECRET)
        terminal.press("x", "facts.jsonl")
        terminal.press("here.md", WRONG)
        terminal.press("x", "here.md")


@pytest.mark.slow
@pytest.mark.parametrize("fault", [ALWAYS, BY_ITSELF], ids=["at once", "after a moment"])
def test_an_error_that_comes_again_by_itself_ends_it_in_order(tmp_path: Path, fault: str) -> None:
    with faulty(tmp_path, fault) as terminal:
        assert terminal.ends() == 1
        assert 2 <= len(terminal.reports()) <= 4
        last = terminal.raw.rpartition(b"\x1b[?1049l")[2]
        assert b"RuntimeError" in last
        assert b"offered at the next start" in last
        assert SECRET.encode() not in last
        assert terminal.raw.count(b"\x1b[?1049h") == terminal.raw.count(b"\x1b[?1049l")


async def test_a_test_sees_the_error_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: MainScreen) -> None:
        raise ValueError("seen")

    monkeypatch.setattr(MainScreen, "action_copy_uid", fail)
    fill(tmp_path / "m.db", "C[db.id]: UUID")
    with pytest.raises(ValueError, match="seen"):
        async with inspecting(tmp_path / "m.db") as pilot:
            await pilot.press("y")


@pytest.mark.slow
def test_bytes_that_are_no_text_and_broken_sequences_end_nothing(tmp_path: Path) -> None:
    with faulty(tmp_path, "") as terminal:
        terminal.until(SECRET)
        for typed in (b"\xff\xfe\x80", b"\x1b[<99;1;", b"M", b"\x1b[200~\xff\xff\x1b[201~", b"\xc3", b"\xa9"):
            os.write(terminal.handle, typed)
        terminal.press("!", "Copy")
        assert terminal.reports() == []
