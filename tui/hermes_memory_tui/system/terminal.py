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

from hermes_memory_tui.system.screen_cells import ScreenCells
from hermes_memory_tui.system.terminal_writer import CHECK_INTERVAL_S, TerminalWriter

INPUT_INTERVAL_S = 0.1
"""How often to check whether input is still read, and what of it is over."""

PASTE_TIMEOUT_S = 2.0
"""So long after its last character a paste is over that the terminal did not end: no key would work any more."""

CONTROL_KEY = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1a]")
"""What a terminal sends by itself for ctrl and a letter, alone no piece of a paste."""

ESCAPE = "\x1b"

KEY_BEGINS = ("\x1b[", "\x1bO")
"""How the sequences of special keys begin; escape and another character are two keys."""

PART_OF_KEY = re.compile(r"\x1b(\[[0-9;:<?]*|O)?$")
"""The beginning of a sequence whose rest has not arrived."""

MAX_READ = 4096

RESTORE = (
    "\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1016l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"
    "\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
)
"""What gives a terminal back: everything that `TerminalDriver.stop_application_mode` writes."""

CELL_MOUSE = "\x1b[?1016l"
"""Lets the mouse be told in cells again, which Textual has told in pixels where the terminal can."""

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


class TerminalDriver(LinuxDriver):
    """Textual's driver with an output that can be abandoned. A lost terminal counts as SIGHUP."""

    _output: TerminalWriter | None = None
    _is_suspending = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._cells = ScreenCells()
        """They outlive an output: all of it is sent again when another program has had the terminal."""

    def start_application_mode(self) -> None:
        if self._key_thread is not None and self._key_thread.is_alive():
            return
        assert sys.__stderr__ is not None  # which is drawn on
        if self._output is None:
            self._output = TerminalWriter(sys.__stderr__.fileno(), sys.__stderr__.encoding, self._cells, self._fail)
            self._output.start()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual left its type out
        self._output.redraw()

    def stop_application_mode(self) -> None:
        if self._output is not None:
            self._output.stop_drawing()
        if self._mouse_pixels:
            self.write(CELL_MOUSE)
            self._mouse_pixels = False
        super().stop_application_mode()
        self._in_band_window_resize = False  # another terminal may be there when it goes on, as a client of tmux

    def show(
        self, update: CompositorUpdate, size: tuple[int, int], cursor: tuple[int, int], colours: ColorSystem
    ) -> None:
        """Show what an update draws. See `TerminalWriter.show`."""
        if self._output is not None:
            self._output.show(update, size, cursor, colours)

    def redraw(self) -> None:
        """Send the whole screen again: another program may have written over it."""
        if self._output is not None:
            self._output.redraw()

    def process_message(self, message: Message) -> None:
        if isinstance(message, TerminalSupportsSynchronizedOutput) and self._output is not None:
            self._output.is_synchronised = True
        elif not (isinstance(message, events.Resize) and not message.size):  # a terminal without cells is none
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
        try:
            self.run_input_thread()
        except OSError:
            self.give_up()
            os.kill(os.getpid(), signal.SIGHUP)
        except Exception as error:
            self._fail(error)

    def run_input_thread(self) -> None:
        """Read input until `exit_event`. :raises OSError: when the terminal has gone"""
        parser = TerminalParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode  # a terminal may send any byte
        prefix, typed_at = "", -math.inf
        while not self.exit_event.is_set():
            text = ""
            if select.select([self.fileno], [], [], constants.ESCAPE_DELAY if prefix else INPUT_INTERVAL_S)[0]:
                data = os.read(self.fileno, MAX_READ)
                if not data:
                    raise OSError("the terminal has gone")
                text, typed_at = decode(data), time.monotonic()  # a character may come in two reads
                if parser.is_pasting and CONTROL_KEY.fullmatch(text):
                    text = BRACKETED_PASTE_END + text
            elif parser.is_pasting and time.monotonic() - typed_at > PASTE_TIMEOUT_S:
                text = BRACKETED_PASTE_END
            for event in parser.tick():
                self.process_message(event)
            if prefix and not parser.is_pasting and not (text and (prefix + text).startswith(KEY_BEGINS)):
                self.process_message(events.Key("escape", ESCAPE))
                prefix = prefix[1:]
            text, prefix = prefix + text, ""
            if part := PART_OF_KEY.search(text):
                text, prefix = text[: part.start()], part[0]
            try:
                typed_events = list(parser.feed(text)) if text else []
            except (
                ValueError,
                ArithmeticError,
            ):  # a number that is no character: no terminal's, and the parser is broken
                typed_events, parser = [], TerminalParser(self._debug)
            for event in typed_events:
                self.process_message(keep_joiner(event))

    def close(self) -> None:
        super().close()
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
            if select.select([], [handle], [], CHECK_INTERVAL_S)[1]:
                os.write(handle, RESTORE.encode())
