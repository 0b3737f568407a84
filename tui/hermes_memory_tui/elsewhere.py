"""Editing a text in the person's own editor. The terminal must have been given up before."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import signal
import subprocess
import tempfile
import termios
from collections.abc import Iterator, Mapping
from pathlib import Path

LOOK_S = 0.25
"""How often to look whether the terminal is still there while the editor has it."""

ENDS_S = 1.0
"""How long an editor may take to end when it is asked."""

LARGEST = 1024 * 1024
"""Bytes that are read back: a fact has 400 characters."""


class Elsewhere(Exception):
    """The text stays as it is; says why."""


def edited(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """The text as the editor left it, line ends at its end aside.

    :raises Elsewhere: when there is no editor, it cannot be started, ends with an error, or leaves what is no text
    """
    said = environ.get("VISUAL") or environ.get("EDITOR") or ""
    try:
        command = shlex.split(said)
    except ValueError as error:
        raise Elsewhere(f"$VISUAL or $EDITOR cannot be read ({error}): {said}") from error
    if not command:
        raise Elsewhere("Set $VISUAL or $EDITOR to your editor first.")
    # mkstemp makes it 0600.
    handle, name = tempfile.mkstemp(prefix="hermes-fact-", suffix=".txt")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        status = run([*command, name])
        if status:
            raise Elsewhere(f"{command[0]} ended with status {status}; your text is as it was.")
        with Path(name).open("rb") as left:
            found = left.read(LARGEST + 1)
        if len(found) > LARGEST:
            raise Elsewhere("What the editor left is longer than any fact; your text is as it was.")
        return found.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise Elsewhere("What the editor left is not UTF-8; your text is as it was.") from error
    except OSError as error:
        raise Elsewhere(f"{command[0]} cannot be used: {error.strerror or error}; your text is as it was.") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)


def run(command: list[str]) -> int:
    """Run a program to its end; its exit status, negative for a signal.

    What asks us to end ends the program first, and so does a terminal that goes away: nobody could use it any more.
    """
    program = subprocess.Popen(command)
    with deferring_signals() as heard:
        try:
            while True:
                try:
                    return program.wait(LOOK_S)
                except subprocess.TimeoutExpired:
                    if heard or is_terminal_gone():
                        return end(program)
        finally:
            end(program)


def end(program: subprocess.Popen[bytes]) -> int:
    """End a program: ask, ask again, then do not ask. Its exit status."""
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
        if program.poll() is not None:
            break
        program.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.wait(ENDS_S)
    return program.wait()


def is_terminal_gone() -> bool:
    """Whether there was a terminal to type on and it has gone."""
    try:
        termios.tcgetattr(0)
    except termios.error as error:
        return bool(error.args[0] == errno.EIO)
    return False


@contextlib.contextmanager
def deferring_signals() -> Iterator[list[int]]:
    """The signals that ask us to end, which are heard again afterwards; whoever presses ctrl+c means the program.

    Handlers, unlike SIG_IGN, are not inherited by it.
    """
    heard: list[int] = []
    ending: tuple[signal.Signals, ...] = (signal.SIGTERM, signal.SIGHUP)
    before = {one: signal.signal(one, lambda number, _: heard.append(number)) for one in ending}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda _, __: None)
    try:
        yield heard
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        for number in heard[:1]:
            os.kill(os.getpid(), number)
