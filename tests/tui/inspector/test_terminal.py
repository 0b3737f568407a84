"""A terminal that goes away, or that nobody reads: the inspector ends all the same, and leaves nothing."""

from __future__ import annotations

import fcntl
import os
import pty
import random
import select
import shlex
import signal
import struct
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pyte
import pytest
from textual import constants, events
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size

from hermes_memory_tui.app import ESCAPE_MS, SSH_ESCAPE_MS
from hermes_memory_tui.system.terminal import TerminalDriver, TerminalParser, keep_joiner
from tests.processes import PATIENCE_S, is_alive
from tests.tui.commands.conftest import COMMAND
from tests.tui.inspector.driving import fill, inspecting, until

ENDS_S = 10.0
"""Far more than it takes; without care it is for ever."""

FULL_S = 1.5
"""How long keys are pressed until more is drawn than a terminal keeps for who does not read it."""


ASK_MODE = b"\x1b[?2026$p"
"""What Textual asks the terminal, and pyte would show."""

ENTER = b"\x1b[?1049h"
"""Begins the screen of a program."""

STOPS = 12
"""How often it is stopped in one test."""


class Window:
    """A terminal in which a shell runs the inspector, as a grandchild: the hangup reaches the shell first."""

    def __init__(self, folder: Path, first: str) -> None:
        fill(folder / "memory.db", "C[db.id]: UUID mndtry")
        env = os.environ | {"TERM": "xterm-256color", "HOME": str(folder), "HERMES_HOME": str(folder)}
        env["TMPDIR"] = str(folder)
        self.shell, self.handle = pty.fork()
        if not self.shell:
            line = shlex.join([*COMMAND, "--db", str(folder / "memory.db")])
            os.execvpe("sh", ["sh", "-c", f"{first}; {line}; echo"], env)
        fcntl.ioctl(self.handle, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.screen = pyte.Screen(120, 40)
        self.stream = pyte.ByteStream(self.screen)
        self.drawn = b""
        self.until_shown("mndtry")
        (self.program,) = psutil.Process(self.shell).children()

    def until_shown(self, text: str) -> None:
        """Read what is drawn until a text stands on the screen: only cells that changed are sent."""
        deadline = time.monotonic() + PATIENCE_S
        while not any(text in line for line in self.screen.display):
            assert time.monotonic() < deadline, "\n".join(self.screen.display)
            self.read(0.1)

    def read(self, seconds: float) -> None:
        if select.select([self.handle], [], [], seconds)[0]:
            drawn = os.read(self.handle, 65_536)
            self.drawn += drawn
            self.stream.feed(drawn.replace(ASK_MODE, b""))

    def overflow(self) -> None:
        """Have so much drawn that the program waits for somebody to read it."""
        until = time.monotonic() + FULL_S
        while time.monotonic() < until:
            os.write(self.handle, b"4123")
            time.sleep(0.05)

    def close(self) -> None:
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    def ends(self, key: bytes = b"") -> bool:
        """Return whether the program ends, while a key is pressed again and again."""
        deadline = time.monotonic() + ENDS_S
        while time.monotonic() < deadline:
            if not is_alive(self.program):
                return True
            if key:
                os.write(self.handle, key)
            time.sleep(0.05)
        return False


@contextmanager
def opened(folder: Path, first: str = ":") -> Iterator[Window]:
    """A window whose shell does something else first."""
    window = Window(folder, first)
    try:
        yield window
    finally:
        with suppress(psutil.NoSuchProcess):
            window.program.kill()
        window.close()
        os.waitpid(window.shell, 0)


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Window]:
    with opened(tmp_path) as made:
        yield made


def beside(folder: Path) -> list[str]:
    """What SQLite left beside the file."""
    return [file.name for file in folder.glob("memory.db-*")]


@pytest.mark.slow
@pytest.mark.parametrize("keys", [b"", b"jjjj", b"4123", b"?"])
def test_it_ends_with_its_terminal(window: Window, tmp_path: Path, keys: bytes) -> None:
    os.write(window.handle, keys)
    window.close()
    assert window.ends()
    assert beside(tmp_path) == []


@pytest.mark.slow
def test_it_ends_with_its_terminal_while_it_waits_to_draw(window: Window, tmp_path: Path) -> None:
    window.overflow()
    window.close()
    assert window.ends()
    assert beside(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_while_nobody_reads_what_it_draws(
    window: Window, tmp_path: Path, number: signal.Signals
) -> None:
    window.overflow()
    window.program.send_signal(number)
    assert window.ends()
    assert beside(tmp_path) == []


@pytest.mark.slow
def test_a_terminal_that_goes_without_a_signal_ends_it(tmp_path: Path) -> None:
    """A shell that lives on keeps the hangup from what it runs."""
    with opened(tmp_path, "trap '' HUP") as window:
        window.close()
        assert window.ends()
    assert beside(tmp_path) == []


MOMENTS = int(os.environ.get("HERMES_MEMORY_MOMENTS", "6"))
SEED = int(os.environ.get("HERMES_MEMORY_SEED", "1"))

EDITOR = "sh -c 'exec sleep 600'"

KEYS = (b"", b"j", b"6", b"3", b"?", b"/port", b"n", b"e\x05", b"6b", b"\x10", b"q", b"qq")
"""What was pressed just before: lists, views, dialogs, an editor of the person's own, the past, the palette, quitting."""

WAYS = ("close", "hangup", "continue and close", "stop and close", "stop hard and close", "terminate", "quit and close")

FAULT = """
import hermes_memory_tui.screens.facts_screen as main
def fail(self): raise ValueError
main.MainScreen.action_copy_uid = fail
import sys
from hermes_memory_tui.__main__ import main as run
run()
"""
"""The inspector, failing at `y`."""


@pytest.mark.soak
@pytest.mark.slow
def test_no_process_stays_whenever_its_terminal_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HERMES_MEMORY_MOMENTS=200 HERMES_MEMORY_SEED=7 pytest ... tries more moments, and others."""
    monkeypatch.setenv("EDITOR", EDITOR)
    monkeypatch.setenv("VISUAL", EDITOR)
    pick = random.Random(SEED)
    print(f"seed {SEED}, {MOMENTS} moments")
    for number in range(MOMENTS):
        keys, way = pick.choice((*KEYS, b"y", b"yq")), pick.choice(WAYS)
        after_s = pick.choice((pick.uniform(0, 0.6), pick.uniform(0, 0.05), pick.uniform(0, 1.5)))
        folder = tmp_path / str(number)
        folder.mkdir()
        left = leave_terminal(folder, keys, way, after_s, starting=pick.random() < 0.15)
        assert left == [], f"seed {SEED}, moment {number}: {keys!r}, {way}, after {after_s:.3f} s"


def leave_terminal(folder: Path, keys: bytes, way: str, after_s: float, *, starting: bool) -> list[list[str]]:
    """Let the terminal go at a moment; what is left running, which is killed. :param starting: before anything is shown"""
    fill(folder / "memory.db", "V[port]: mndtry")
    env = os.environ | {
        "TERM": "xterm-256color",
        "HOME": str(folder),
        "HERMES_HOME": str(folder),
        "TMPDIR": str(folder),
    }
    leader, handle = pty.fork()
    if not leader:
        os.execve(sys.executable, [sys.executable, "-c", FAULT, "--db", str(folder / "memory.db")], env)
    fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    process = psutil.Process(leader)
    if not starting:
        read_until(handle, b"mndtry")
        os.write(handle, keys)
    time.sleep(after_s)  # the moment itself
    family = [process, *children_of(process)]
    for number in {
        "hangup": (signal.SIGHUP, signal.SIGCONT),
        "continue and close": (signal.SIGCONT,),
        "stop and close": (signal.SIGTSTP,),
        "stop hard and close": (signal.SIGSTOP,),
        "terminate": (signal.SIGTERM,),
    }.get(way, ()):
        os.kill(leader, number)
    if way == "quit and close":
        os.write(handle, b"\x1bqq")
    os.close(handle)
    deadline = time.monotonic() + ENDS_S
    while os.waitpid(leader, os.WNOHANG) == (0, 0) and time.monotonic() < deadline:
        family = list({*family, *children_of(process)})
        time.sleep(0.02)
    _, alive = psutil.wait_procs(family[1:], timeout=2)
    if time.monotonic() >= deadline:
        alive.append(process)
    left = []
    for one in alive:
        with suppress(psutil.NoSuchProcess):  # it ended just now
            left.append(one.cmdline())
            one.kill()
    return left


def children_of(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def read_until(handle: int, text: bytes) -> None:
    """Read what is drawn until a text was."""
    seen, deadline = b"", time.monotonic() + PATIENCE_S
    while text not in seen:
        assert time.monotonic() < deadline, seen[-2000:]
        if select.select([handle], [], [], 0.1)[0]:
            seen += os.read(handle, 65_536)


@pytest.mark.slow
def test_a_stop_at_any_moment_leaves_it_answering(window: Window) -> None:
    pick = random.Random(SEED)
    for _ in range(STOPS):
        os.write(window.handle, b"jkjk3\x1b1")
        fcntl.ioctl(window.handle, termios.TIOCSWINSZ, struct.pack("HHHH", 40, pick.choice((110, 120)), 0, 0))
        window.read(pick.choice((0.0, 0.01, 0.03)))
        for _ in range(pick.choice((1, 3))):
            window.program.send_signal(signal.SIGTSTP)
        window.read(0.05)
        window.program.send_signal(signal.SIGCONT)
    until = time.monotonic() + PATIENCE_S
    while not any("No scopes yet." in line for line in window.screen.display):
        assert time.monotonic() < until, "\n".join(window.screen.display)
        os.write(window.handle, b"2")  # what is typed as it stops is thrown away
        window.read(0.2)


def test_all_that_was_seen_is_seen_again_after_a_stop(window: Window) -> None:
    drawn = -1
    while drawn != len(window.drawn):
        drawn = len(window.drawn)
        window.read(0.5)
    before = [line.rstrip() for line in window.screen.display if "─" in line or "mndtry" in line]
    window.program.send_signal(signal.SIGTSTP)
    while window.drawn.count(ENTER) < 2:
        window.read(PATIENCE_S)
    window.program.send_signal(signal.SIGCONT)
    window.screen.reset()
    window.stream.feed(window.drawn.rpartition(ENTER)[2].replace(ASK_MODE, b""))
    for line in before:
        window.until_shown(line)


@pytest.mark.slow
def test_a_signal_gives_the_terminal_back(window: Window) -> None:
    os.write(window.handle, b"jjjj")
    window.read(0.15)
    window.program.send_signal(signal.SIGTERM)
    with suppress(OSError):  # it has gone
        until = time.monotonic() + PATIENCE_S
        while b"\x1b[?1049l" not in window.drawn and time.monotonic() < until:
            window.read(0.1)
    for given_back in (b"\x1b[?1049l", b"\x1b[?1003l", b"\x1b[?2004l", b"\x1b[?25h"):
        assert given_back in window.drawn
    assert window.ends()


@pytest.mark.slow
def test_an_editor_that_ends_with_an_error_gives_the_screen_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "false")
    monkeypatch.setenv("VISUAL", "false")
    with opened(tmp_path) as window:
        os.write(window.handle, b"e")
        window.until_shown("edit fact")
        os.write(window.handle, b"\x05")
        window.until_shown("ended with status")
        os.write(window.handle, b" qwx")
        window.until_shown("qwx")


def read_typed(
    pieces: list[bytes], monkeypatch: pytest.MonkeyPatch, *, apart_s: float | None = None, escape_ms: str = ESCAPE_MS
) -> list[str]:
    """What the driver makes of bytes: names of keys, and what is pasted.

    :param apart_s: the time between two pieces; else each is typed once the one before has arrived
    :param escape_ms: how long the rest of a key is waited for
    """
    monkeypatch.setattr(constants, "ESCAPE_DELAY", int(escape_ms) / 1000)
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    seen: list[str] = []
    driver: Any = TerminalDriver.__new__(TerminalDriver)
    driver._debug, driver.fileno, driver.exit_event = False, theirs, threading.Event()
    driver.process_message = lambda event: seen.append(event.key if isinstance(event, events.Key) else event.text)
    reader = threading.Thread(target=driver.run_input_thread)
    reader.start()
    deadline = time.monotonic() + PATIENCE_S
    for number, piece in enumerate(pieces, 1):
        os.write(ours, piece)
        if apart_s is not None:
            time.sleep(apart_s)
            continue
        while len(seen) < number and time.monotonic() < deadline:
            time.sleep(0.001)
    if apart_s is not None:
        os.write(ours, b"x")
        while "x" not in seen and time.monotonic() < deadline:
            time.sleep(0.001)
        seen.remove("x")
    driver.exit_event.set()
    reader.join()
    os.close(ours)
    os.close(theirs)
    return seen


@pytest.mark.parametrize("size", ["24;100;0;0", "24;100;0;700", "0;0;0;0", "24;100;480;0"])
def test_where_no_pixels_are_known_the_mouse_is_told_in_cells(size: str) -> None:
    typed = list(TerminalParser().feed(f"\x1b[48;{size}t\x1b[<0;5;7M"))
    assert [(event.x, event.y) for event in typed if isinstance(event, events.MouseDown)] == [(4, 6)]


def test_escape_and_then_a_key_is_not_alt_and_that_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_typed([b"\x1b", b"j", b"\x1b", b"\x1b[A"], monkeypatch) == ["escape", "j", "escape", "up"]


@pytest.mark.parametrize("gap_s", [0.0, 0.01, 0.06])
@pytest.mark.parametrize("pieces", [[b"\x1b", b"[B"], [b"\x1b[", b"B"], [b"\x1b", b"OB"]])
def test_on_a_slow_line_an_arrow_in_pieces_is_an_arrow(
    pieces: list[bytes], gap_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_typed(pieces, monkeypatch, apart_s=gap_s, escape_ms=SSH_ESCAPE_MS) == ["down"]


@pytest.mark.parametrize("escape_ms", [ESCAPE_MS, SSH_ESCAPE_MS])
def test_escape_and_a_key_soon_after_it_are_two_keys(escape_ms: str, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = read_typed([b"\x1b", b"j", b"\x1b", b"\x1b[A", b"\x1b"], monkeypatch, apart_s=0.01, escape_ms=escape_ms)
    assert typed == ["escape", "j", "escape", "up", "escape"]


def test_what_joins_emoji_and_persian_words_is_typed_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = ["\U0001f468", "\u200d", "\U0001f469", "\u200c"]
    found = read_typed([one.encode() for one in typed], monkeypatch)
    assert [found[1], found[3]] == ["\u200d", "\u200c"]


@pytest.mark.parametrize("sequence", ["\x1b[1114112;5u", "\x1b[999999999999;5u"])
def test_what_no_terminal_sends_is_nothing(sequence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = read_typed([sequence.encode(), b"j", b"k"], monkeypatch, apart_s=0.05)
    assert typed == ["j", "k"]


def test_a_terminal_without_cells_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(LinuxDriver, "process_message", lambda _, message: seen.append(message))
    driver: Any = TerminalDriver.__new__(TerminalDriver)
    for size in (Size(0, 0), Size(80, 0), Size(80, 24)):
        driver.process_message(events.Resize(size, size))
    assert [event.size for event in seen] == [Size(80, 24)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("key", ["1", "5"])
async def test_sizes_that_come_while_the_screen_is_busy_end_with_the_last(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each layout Textual tells the screen its size once more: it would lay out old sizes in turn, for ever."""
    fill(tmp_path / "memory.db", "V[a]: 1")
    async with inspecting(tmp_path / "memory.db") as pilot:
        await pilot.press(key)
        screen, laid_out, sizes = pilot.app.screen, list[Size](), [Size(80, 24), Size(41, 13), Size(101, 31)]
        lay_out = screen._screen_resized

        def count(size: Size) -> None:
            laid_out.append(size)
            assert len(laid_out) <= 2 * len(sizes), laid_out
            lay_out(size)

        monkeypatch.setattr(screen, "_screen_resized", count)
        for size in sizes:
            pilot.app._size = size
            screen.post_message(events.Resize(size, size))
            screen.call_later(lambda: None)  # what stands between keeps Textual from making one of them
        await until(pilot, lambda: screen.size == sizes[-1])
        await pilot.pause()
        assert laid_out[-1] == screen.size == sizes[-1]


async def test_a_typed_joiner_arrives_in_a_search(tmp_path: Path) -> None:
    fill(tmp_path / "memory.db", "V[a]: 1")
    async with inspecting(tmp_path / "memory.db") as pilot:
        await pilot.press("slash", "x")
        assert pilot.app.focused is not None
        pilot.app.focused.post_message(keep_joiner(events.Key("zero_width_joiner", "\u200d")))
        await until(pilot, lambda: getattr(pilot.app.focused, "value", "") == "x\u200d")


@pytest.mark.slow
def test_without_a_terminal_to_type_on_it_says_so(tmp_path: Path) -> None:
    """It would find the end of its input for ever, and keep a core busy."""
    fill(tmp_path / "memory.db", "C[db.id]: UUID")
    leader, handle = pty.fork()
    if not leader:
        line = shlex.join([*COMMAND, "--db", str(tmp_path / "memory.db")])
        os.execvpe("sh", ["sh", "-c", f"{line} </dev/null"], os.environ | {"TERM": "xterm", "HOME": str(tmp_path)})
    read_until(handle, b"needs a terminal")
    assert os.waitstatus_to_exitcode(os.waitpid(leader, 0)[1]) == 1
    os.close(handle)


def leave_while_it_ends(folder: Path, keys: bytes, after_s: float) -> bool:
    """Let the terminal go once the inspector gives it back; return whether the process ended."""
    fill(folder / "memory.db", "V[port]: mndtry")
    env = os.environ | {"TERM": "xterm-256color", "HOME": str(folder), "HERMES_HOME": str(folder)}
    leader, handle = pty.fork()
    if not leader:
        os.execve(sys.executable, [sys.executable, "-c", FAULT, "--db", str(folder / "memory.db")], env)
    fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    process = psutil.Process(leader)
    try:
        read_until(handle, b"mndtry")
        os.write(handle, keys)
        read_until(handle, b"\x1b[?1049l")  # the exit has begun: its screen is the shell's again
        time.sleep(after_s)  # the moment itself
    finally:
        os.close(handle)
    try:
        process.wait(ENDS_S)
    except psutil.TimeoutExpired:
        process.kill()
        os.waitpid(leader, 0)
        return False
    return True


@pytest.mark.slow
def test_it_ends_when_its_terminal_goes_while_it_ends(tmp_path: Path) -> None:
    for number in range(MOMENTS):
        folder = tmp_path / str(number)
        folder.mkdir()
        after_s = random.Random(SEED + number).choice((0.0, 0.005, 0.02, 0.05, 0.1, 0.2))
        assert leave_while_it_ends(folder, (b"q", b":q\r")[number % 2], after_s), f"moment {number}, after {after_s} s"
        assert beside(folder) == []


PASTE, PASTE_END = b"\x1b[200~", b"\x1b[201~"


@pytest.mark.slow
def test_a_paste_that_never_ends_gives_its_text_and_the_keys_back(window: Window) -> None:
    os.write(window.handle, b"/")
    os.write(window.handle, PASTE + "mndtry caf\u00e9".encode())
    window.until_shown("mndtry caf\u00e9")  # in the search line, once nothing more has come
    os.write(window.handle, b"\x7f")
    window.until_shown("mndtry caf ")
    os.write(window.handle, b"\x11")
    assert window.ends()


@pytest.mark.slow
def test_ctrl_q_ends_it_at_once_within_a_paste_that_never_ends(window: Window) -> None:
    os.write(window.handle, PASTE)
    for _ in range(3):
        os.write(window.handle, b"x")
        window.read(0.2)
    assert window.ends(b"\x11")  # on a busy machine the first may be read with what was pasted


@pytest.mark.slow
def test_a_paste_that_comes_in_pieces_is_one_text(window: Window) -> None:
    """No piece is taken for keys: `q` would end it, and escape close the line."""
    os.write(window.handle, b"/")
    for piece in (PASTE + b"mnd", b"q", b"tab\tq\n", b"\x1b", PASTE_END[1:3], PASTE_END[3:]):
        os.write(window.handle, piece)
        deadline = time.monotonic() + 3 * constants.ESCAPE_DELAY * piece.startswith(b"\x1b")  # as on a slow line
        window.read(0.02)
        while time.monotonic() < deadline:
            window.read(0.02)
    window.until_shown("mndqtab q")
    os.write(window.handle, b"\x1b\x11")
    assert window.ends()
