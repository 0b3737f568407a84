"""`TerminalDriver`: the driver of a real terminal, which ends when the terminal is lost.

The input thread of Textual's own spins on a lost terminal, and SIGCONT, which the system sends after a hangup, starts
a second one. Of the output see `terminal_writer`.
"""

from __future__ import annotations

import math
import os
import re
import select
import signal
import sys
import termios
import threading
import time
from codecs import getincrementaldecoder
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from rich.color import ColorSystem
from textual import constants, events
from textual._compositor import CompositorUpdate
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message
from textual.messages import TerminalSupportsSynchronizedOutput
from textual.strip import Strip

from hermes_memory_tui.system.line_pace import ASK_CURSOR, ASK_MODE, REST_S, LinePace
from hermes_memory_tui.system.screen_cells import ScreenCells
from hermes_memory_tui.system.terminal_writer import LOOK_S, TerminalWriter

INPUT_S = 0.1
"""How long to wait for more input; a lone escape is told from the beginning of a sequence meanwhile."""

INPUT_ENDS_S = 1.0
"""So long after the last input the parser waits for nothing more, and the thread sleeps until something is typed."""

PASTE_ENDS_S = 2.0
"""So long after its last character a paste is over that the terminal did not end: no key would work any more."""

CONTROL_KEY = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1a]")
"""What a terminal sends by itself for ctrl and a letter, alone no piece of a paste."""

SWITCH_S = 0.0002
"""How long one thread may hold up another. The app goes on while a frame is written, for which Python lets it wait 5 ms."""

ESCAPE = "\x1b"

KEY_BEGINS = ("\x1b[", "\x1bO")
"""How the sequences of special keys begin; escape and another character are two keys."""

PART_OF_KEY = re.compile(r"\x1b(\[[0-9;:<?]*|O)?$")
"""The beginning of a sequence whose rest has not arrived."""

REST_OF_KEY = re.compile(r"\[[0-9;:]*[A-Za-z~]|O[A-Z]")
"""What a special key sends after its escape."""

SLOW_ESCAPE_S = 0.15
"""How long the rest of a key is waited for on a line that delivers keys in pieces."""

SLOW_TRIP_S = 0.1
"""A line that takes longer to answer may deliver a key in pieces."""

MOST_READ = 4096
"""Bytes of input that are read at once."""

LEAVE = (
    "\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1016l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"
    "\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
)
"""What gives a terminal back: everything that `TerminalDriver.stop_application_mode` writes."""

CELL_MOUSE = "\x1b[?1016l"
"""Lets the mouse be told in cells again, which Textual has told in pixels where the terminal can."""


WHOLE_SCREEN = "\x1b[r"
"""Lets go of margins that a program before has left: steps down would end at them (DECSTBM)."""

NO_COLOUR_ERASE = ("screen", "vt", "ansi", "cygwin")
"""How the names of terminals begin that erase with their default background; all with 256 colours use the current."""

JOINERS = "\u200c\u200d"
"""Characters that nobody sees, and without which emoji families and Persian words fall apart."""


def keep_joiner(event: Message) -> Message:
    """Return a typed joiner as a paste: text inputs drop keys that cannot be printed."""
    if isinstance(event, events.Key) and event.character and event.character in JOINERS:
        return events.Paste(event.character)
    return event


class TerminalParser(XTermParser):
    """Textual's parser, for terminals that do not know how many pixels they have, and say so with a zero.

    It tells whether what comes next belongs to a paste.
    """

    is_pasting = False

    def feed(self, data: str) -> Iterable[Message]:
        begin, end = data.rfind(BRACKETED_PASTE_START), data.rfind(BRACKETED_PASTE_END)
        self.is_pasting = begin > end or (begin == end and self.is_pasting)
        return super().feed(data)

    def parse_mouse_code(self, code: str) -> Message | None:
        if not all(size is None or (size[0] and size[1]) for size in (self.terminal_size, self.terminal_pixel_size)):
            self.terminal_pixel_size = None
        return super().parse_mouse_code(code)


class InputEnd(threading.Event):
    """The end of an input thread, which `select` notices at once."""

    def __init__(self) -> None:
        super().__init__()
        self._reading, self._writing = os.pipe()

    def fileno(self) -> int:
        """Return what can be read from once the end is there."""
        return self._reading

    def set(self) -> None:
        writing, self._writing = self._writing, -1
        super().set()
        if writing >= 0:
            os.close(writing)

    def close(self) -> None:
        """Let go of it; called by the thread that has ended."""
        os.close(self._reading)


class TerminalDriver(LinuxDriver):
    """Textual's driver with an output that can be abandoned. A lost terminal counts as SIGHUP."""

    _output: TerminalWriter | None = None
    _has_slow_input = False
    _is_suspending = False
    exit_event: InputEnd

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        terminal = os.environ.get("TERM", "")
        erases_in_colour = "256" in terminal or not terminal.startswith(NO_COLOUR_ERASE)
        self._cells = ScreenCells(erases_in_colour=erases_in_colour)
        """Kept while another program has the terminal: all of it is sent again afterwards."""

    def start_application_mode(self) -> None:
        if self._key_thread is not None and self._key_thread.is_alive():
            return
        assert sys.__stderr__ is not None  # which is drawn on
        self.exit_event = InputEnd()
        if self._output is None:
            self._output = self._start_output(sys.__stderr__.fileno(), sys.__stderr__.encoding)
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual left its type out
        self.write(WHOLE_SCREEN)
        self._output.start_drawing()

    def _start_output(self, handle: int, encoding: str) -> TerminalWriter:
        sys.setswitchinterval(SWITCH_S)
        pace = LinePace(is_remote="SSH_CONNECTION" in os.environ)
        output = TerminalWriter(handle, encoding, self._cells, pace, self._fail)
        output.start()
        return output

    def _request_terminal_sync_mode_support(self) -> None:
        if self._output is not None:  # before the question that fewer terminals answer
            self._output.ask()
        super()._request_terminal_sync_mode_support()

    def stop_application_mode(self) -> None:
        if self._output is not None:
            self._output.stop_drawing()
        if self._mouse_pixels:
            self.write(CELL_MOUSE)
            self._mouse_pixels = False
        super().stop_application_mode()
        self._in_band_window_resize = False  # another terminal may be there when it goes on, as a client of tmux

    def show(
        self,
        update: CompositorUpdate,
        size: tuple[int, int],
        cursor: tuple[int, int],
        colours: ColorSystem,
        chosen: int | None,
    ) -> None:
        """Show what an update draws, once the line takes it; what it draws over meanwhile is never sent.

        :param size: columns and rows of the screen
        :param cursor: column and row where the cursor belongs
        :param chosen: row of the chosen line of a list, drawn first while there is no time for all
        """
        self._cells.put(update, size, cursor, colours, chosen)
        if self._output is not None:
            self._output.show()

    def prepare(self, strip: Strip, colours: ColorSystem) -> None:
        """Turn a strip that may be shown soon into cells, ahead of time."""
        self._cells.prepare(strip, colours)

    @property
    def rest_s(self) -> float:
        """Seconds after the last key after which none is held, as fast as keys come."""
        return self._output.rest_s if self._output is not None else REST_S

    @property
    def holds_back(self) -> bool:
        """Whether little more than the chosen line of a list is sent: a key is held, and the line is slow."""
        return self._output is not None and self._output.holds_back

    def redraw(self) -> None:
        """Send the whole screen again: another program may have written over it."""
        self._cells.forget_shown()
        if self._output is not None:
            self._output.show()

    def process_message(self, message: Message) -> None:
        output = self._output
        if isinstance(message, TerminalSupportsSynchronizedOutput) and output is not None:
            output.is_synchronised = True
            output.answer(ASK_MODE)
        elif isinstance(message, events.CursorPosition) and output is not None:
            output.answer(ASK_CURSOR)
        elif not (isinstance(message, events.Resize) and not message.size):  # a terminal without cells is none
            if isinstance(message, events.Key) and output is not None:
                output.press()
            super().process_message(message)

    def _fail(self, error: Exception) -> None:
        """Let the app fail. May be called from any thread."""

        def fail() -> None:
            raise error

        self._app.call_later(fail)

    def write(self, data: str) -> None:
        if self._output is not None:
            self._output.write(data)

    def _sigtstp_application(self, *_: object) -> None:
        """Suspend once nothing is held that the threads of the terminal wait for: the signal may come at any moment."""
        if not self._auto_restart:  # another program has the terminal, and the app does nothing until that ends
            self._suspend()
        elif not self._is_suspending:
            self._is_suspending = True
            self._loop.call_soon_threadsafe(self._suspend)

    def _suspend(self) -> None:
        """Suspend as the system would, but not where no shell is left to resume the process, as SIGSTOP would."""
        has_terminal = self._auto_restart
        if has_terminal:
            self.suspend_application_mode()
            self._must_signal_resume = True
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)  # returns when the process goes on
        signal.signal(signal.SIGTSTP, self._sigtstp_application)
        self._is_suspending = False
        if has_terminal:
            self.resume_application_mode()

    def _sigcont_application(self, *_: object) -> None:
        """Do nothing: who was suspended goes on by itself, and a SIGCONT after SIGSTOP or a hangup finds nobody suspended."""

    def _run_input_thread(self) -> None:
        ended = self.exit_event
        try:
            self.run_input_thread()
        except OSError:
            self.give_up()
            os.kill(os.getpid(), signal.SIGHUP)
        except Exception as error:
            self._fail(error)
        finally:
            ended.close()

    def run_input_thread(self) -> None:
        """Read input until this thread's `exit_event`.

        :raises OSError: when the terminal has gone
        """
        ended, parser = self.exit_event, TerminalParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode  # a terminal may send any byte
        held, escaped_at, typed_at = "", -math.inf, -math.inf
        while not ended.is_set():
            text = ""
            is_typing = time.monotonic() - typed_at < INPUT_ENDS_S
            wait_s = self._find_wait_s() if held else INPUT_S if is_typing or parser.is_pasting else None
            if self.fileno in select.select([self.fileno, ended], [], [], wait_s)[0]:
                typed = os.read(self.fileno, MOST_READ)
                if not typed:
                    raise OSError("the terminal has gone")
                text, typed_at = decode(typed), time.monotonic()  # a character may come in two reads
                if parser.is_pasting and CONTROL_KEY.fullmatch(text):
                    text = BRACKETED_PASTE_END + text
            elif parser.is_pasting and time.monotonic() - typed_at > PASTE_ENDS_S:
                text = BRACKETED_PASTE_END
            for event in parser.tick():
                self.process_message(event)
            is_rest = bool(text) and (held + text).startswith(KEY_BEGINS)
            if held and not is_rest:
                self.process_message(events.Key("escape", ESCAPE))
                escaped_at = time.monotonic()
                held = held[1:]
            elif REST_OF_KEY.match(text) and time.monotonic() - escaped_at < SLOW_ESCAPE_S:
                self._has_slow_input = True
            text, held = held + text, ""
            if part := PART_OF_KEY.search(text):
                text, held = text[: part.start()], part[0]
            try:
                typed_events = list(parser.feed(text)) if text else []
            except (
                ValueError,
                ArithmeticError,
            ):  # a number that is no character: no terminal's, and the parser is broken
                typed_events, parser = [], TerminalParser(self._debug)
            for event in typed_events:
                self.process_message(keep_joiner(event))

    def _find_wait_s(self) -> float:
        """Return how long the rest of a key is waited for; what has not come by then is no part of it."""
        round_trip_s = self._output.round_trip_s if self._output is not None else None
        is_slow = self._has_slow_input or (round_trip_s or 0.0) >= SLOW_TRIP_S
        return max(SLOW_ESCAPE_S, constants.ESCAPE_DELAY) if is_slow else constants.ESCAPE_DELAY

    def close(self) -> None:
        super().close()
        self.exit_event.set()
        if self._output is not None:
            self._output.stop()
            self._output = None

    def give_up(self) -> None:
        """Stop writing, and do not wait for pending output. May be called from any thread."""
        output = self._output
        if output is not None:
            output.lost.set()

    def restore(self) -> None:
        """Restore the terminal at once, for an exit that waits for nothing. May be called from any thread."""
        assert sys.__stderr__ is not None
        self.give_up()
        handle = sys.__stderr__.fileno()
        with suppress(OSError, termios.error):  # it has gone, which is why
            if self.attrs_before is not None:
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
            if select.select([], [handle], [], LOOK_S)[1]:
                os.write(handle, LEAVE.encode())
