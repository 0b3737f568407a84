"""`TerminalDriver`: the driver of a real terminal, which ends when the terminal is lost.

Textual's own passes output to a thread through a bounded queue. When the terminal is lost, that thread dies
at the first write, and the main thread waits forever for room in the queue: signals are no longer handled.
Its input thread spins on a lost terminal, and SIGCONT, which the system sends after a hangup, starts a second
one.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
from codecs import getincrementaldecoder
from contextlib import suppress
from queue import Empty, Full, Queue

from textual import constants, events
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

MOST_QUEUED = 30
"""Pieces of output that may wait for the terminal."""

LOOK_S = 0.5
"""How often to look whether the terminal is still there, and whether whoever waits for it still should."""

INPUT_S = 0.1
"""How long to wait for input at a time; a lone escape is told from the beginning of a sequence meanwhile."""

MOST_READ = 4096
"""Bytes of input that are read at once."""

LEAVE = (
    "\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
)
"""What gives a terminal back: everything that `LinuxDriver.stop_application_mode` writes."""


JOINERS = "\u200c\u200d"
"""Characters that nobody sees, and without which emoji families and Persian words fall apart."""


def keep_joiner(event: Message) -> Message:
    """Return a typed joiner as a paste: text inputs drop keys that cannot be printed."""
    if isinstance(event, events.Key) and event.character and event.character in JOINERS:
        return events.Paste(event.character)
    return event


class TerminalDriver(LinuxDriver):
    """Textual's driver with an output that can be abandoned. A lost terminal counts as SIGHUP."""

    _output: TerminalWriter | None = None

    def start_application_mode(self) -> None:
        if self._key_thread is not None and self._key_thread.is_alive():
            return
        assert sys.__stderr__ is not None  # which is drawn on
        self.exit_event = threading.Event()
        if self._output is None:
            self._output = TerminalWriter(sys.__stderr__.fileno(), sys.__stderr__.encoding)
            self._output.start()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual left its type out

    def write(self, data: str) -> None:
        if self._output is not None:
            self._output.write(data)

    def _sigtstp_application(self, *_: object) -> None:
        """Suspend as the system would, but not where no shell is left to resume the process, as SIGSTOP would."""
        if self._auto_restart:
            self.suspend_application_mode()
            self._must_signal_resume = True
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._sigtstp_application)
        self._sigcont_application()

    def _sigcont_application(self, *_: object) -> None:
        """Resume after SIGTSTP. A SIGCONT alone, after SIGSTOP or with a hangup, finds nothing suspended."""
        if self._auto_restart and self._must_signal_resume:
            self.resume_application_mode()

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except OSError:
            self.give_up()
            os.kill(os.getpid(), signal.SIGHUP)
        except Exception as error:
            failed = error  # the name above ends with its block

            def fail() -> None:
                raise failed

            self._app.call_later(fail)

    def run_input_thread(self) -> None:
        """Read input until this thread's `exit_event`.

        :raises OSError: when the terminal has gone
        """
        ended, parser = self.exit_event, XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode  # a terminal may send any byte
        is_escape = False
        while not ended.is_set():
            wait_s = constants.ESCAPE_DELAY if is_escape else INPUT_S
            text = ""
            if select.select([self.fileno], [], [], wait_s)[0]:
                typed = os.read(self.fileno, MOST_READ)
                if not typed:
                    raise OSError("the terminal has gone")
                text = decode(typed)  # a character may come in two reads
            # An escape that has waited long enough is a key, whatever has come since.
            for event in parser.tick():
                self.process_message(event)
            for event in parser.feed(text) if text else ():
                self.process_message(keep_joiner(event))
            is_escape = text.endswith("\x1b")

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


class TerminalWriter(threading.Thread):
    """Writes to the terminal, and watches whether it is still there."""

    def __init__(self, handle: int, encoding: str) -> None:
        super().__init__(daemon=True, name="terminal-output")
        self.lost = threading.Event()
        """Whether nobody takes what is written."""
        self._handle = handle
        self._encoding = encoding
        self._queue: Queue[str | None] = Queue(MOST_QUEUED)

    def write(self, text: str | None) -> None:
        """Queue a piece of output; waits while the queue is full."""
        while not self.lost.is_set():
            try:
                self._queue.put(text, timeout=LOOK_S)
            except Full:
                continue
            return

    def stop(self) -> None:
        """Wait until everything is written, unless nobody reads it."""
        self.write(None)
        while self.is_alive() and not self.lost.is_set():
            self.join(LOOK_S)

    def run(self) -> None:
        try:
            while not self.lost.is_set():
                pieces = self._next_pieces()
                self._write("".join(piece for piece in pieces if piece is not None))
                if None in pieces:
                    return
        except (OSError, termios.error):
            self.lost.set()
            os.kill(os.getpid(), signal.SIGHUP)

    def _next_pieces(self) -> list[str | None]:
        """Return the pending pieces, at least one, or none when nothing arrived for a while."""
        try:
            pieces = [self._queue.get(timeout=LOOK_S)]
        except Empty:
            termios.tcgetattr(self._handle)  # refused once the terminal has gone
            return []
        while pieces[-1] is not None and not self._queue.empty():
            pieces.append(self._queue.get())
        return pieces

    def _write(self, text: str) -> None:
        # To the system itself: a file would be locked by a write that never ends when the interpreter wants to flush it.
        rest = text.encode(self._encoding, "backslashreplace")
        while rest and not self.lost.is_set():
            try:
                rest = rest[os.write(self._handle, rest) :]
            except BlockingIOError:  # another program that shares the terminal made it so
                select.select([], [self._handle], [], LOOK_S)
