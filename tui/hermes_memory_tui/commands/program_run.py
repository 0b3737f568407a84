"""`ProgramRun`: runs a program in a process group of its own, with a time limit, and keeps what it prints."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

from hermes_memory_store.frozen import dataclass

LOOK_S = 0.05
"""How often to look whether it ended, is to be stopped or takes too long."""

ENDS_S = 1.0
"""How long the group may take to end when it is asked, before it is killed."""

AFTER_S = 0.2
"""How long to read on once the program has ended: what it left running may hold its output open for ever."""

MOST_LINES = 2_000
"""Lines that are kept, the newest."""

LONGEST_LINE = 4_000
"""Characters of a line that are kept."""

MOST_READ = 65_536
"""Bytes that are read at once."""


@dataclass(frozen=True, slots=True)
class OutputLine:
    """A line that a program printed, as it came: not yet fit to be shown."""

    text: str
    is_error: bool


class ProgramRun:
    """One run. `run` blocks in a thread of its own; everything else may be called from any thread."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], limit_s: float) -> None:
        self._arguments = arguments
        self._environment = environment
        self._limit_s = limit_s
        self._stopped = threading.Event()
        self._parts = {False: "", True: ""}
        self.lines: deque[OutputLine] = deque(maxlen=MOST_LINES)

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> str:
        """Run until it ends, and return what went wrong; empty when it ended with status 0."""
        try:
            program = subprocess.Popen(
                self._arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=os.environ | dict(self._environment),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a character that no argument can hold
            return f"cannot be run: {getattr(error, 'strerror', None) or error}"
        with program:
            try:
                trouble = self._follow(program)
            finally:
                if program.poll() is None:
                    end_group(program)
        for is_error, rest in self._parts.items():
            if rest:
                self._add(rest, is_error)
        return trouble or describe_status(program.returncode)

    def _follow(self, program: subprocess.Popen[bytes]) -> str:
        """Read until the program ends; return why it has to be stopped, or nothing."""
        begin, ended = time.monotonic(), 0.0
        assert program.stdout is not None
        assert program.stderr is not None
        with selectors.DefaultSelector() as selector:
            for pipe, is_error in ((program.stdout, False), (program.stderr, True)):
                selector.register(pipe, selectors.EVENT_READ, (is_error, getincrementaldecoder("utf-8")("replace")))
            while True:
                for key, _ in selector.select(LOOK_S if selector.get_map() else 0):
                    pipe_read: IO[bytes] = key.fileobj  # type: ignore[assignment]  # a pipe, as registered
                    found = os.read(pipe_read.fileno(), MOST_READ)
                    is_error, decoder = key.data
                    self._take(decoder.decode(found, final=not found), is_error)
                    if not found:
                        selector.unregister(pipe_read)
                now = time.monotonic()
                if not selector.get_map() and program.poll() is None:
                    self._stopped.wait(LOOK_S)  # it closed its output, and goes on
                if program.poll() is not None:
                    ended = ended or now
                    if not selector.get_map() or now - ended > AFTER_S:
                        return ""
                elif self._stopped.is_set():
                    return "stopped"
                elif now - begin > self._limit_s:
                    return f"stopped at its limit of {self._limit_s:g} s"

    def _take(self, text: str, is_error: bool) -> None:
        *lines, rest = (self._parts[is_error] + text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")
        for line in lines:
            self._add(line, is_error)
        self._parts[is_error] = rest[:LONGEST_LINE]

    def _add(self, line: str, is_error: bool) -> None:
        self.lines.append(OutputLine(line[:LONGEST_LINE], is_error))


def end_group(program: subprocess.Popen[bytes]) -> None:
    """End a program with all that it has started: SIGTERM, then SIGKILL."""
    with suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGTERM)
        deadline = time.monotonic() + ENDS_S
        # Not waited for yet: until it is, its number, which is the group's, belongs to nobody else.
        while os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if time.monotonic() > deadline:
                break
            time.sleep(LOOK_S)
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()


def describe_status(status: int) -> str:
    """Return what an exit status means; empty when it is 0."""
    if status >= 0:
        return f"ended with status {status}" if status else ""
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"
