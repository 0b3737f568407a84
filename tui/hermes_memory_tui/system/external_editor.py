"""Edit a text in the person's own editor. The terminal must be released first."""

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


class ExternalEditorError(Exception):
    """The text was not changed; the message says why."""


def edit_externally(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the text as saved by the editor, without line ends at its end.

    :raises Elsewhere: when there is no editor, it cannot be started, ends with an error, or leaves what is not text
    """
    editor = environ.get("VISUAL") or environ.get("EDITOR") or ""
    try:
        command = shlex.split(editor)
    except ValueError as error:
        raise ExternalEditorError(f"$VISUAL or $EDITOR cannot be read ({error}): {editor}") from error
    if not command:
        raise ExternalEditorError("Set $VISUAL or $EDITOR to your editor first.")
    # mkstemp makes it 0600.
    handle, name = tempfile.mkstemp(prefix="hermes-fact-", suffix=".txt")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        status = run_editor([*command, name])
        if status:
            raise ExternalEditorError(f"{command[0]} ended with status {status}; your text is as it was.")
        with Path(name).open("rb") as output:
            content = output.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ExternalEditorError("What the editor left is longer than any fact; your text is as it was.")
        return content.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ExternalEditorError("What the editor left is not UTF-8; your text is as it was.") from error
    except OSError as error:
        raise ExternalEditorError(
            f"{command[0]} cannot be used: {error.strerror or error}; your text is as it was."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)


def run_editor(command: list[str]) -> int:
    """Run a program until it exits, and return its exit status, negative for a signal.

    A termination signal, or the loss of the terminal, ends the program first: nobody could use it any more.
    """
    program = subprocess.Popen(command)
    with defer_signals() as signals:
        try:
            while True:
                try:
                    return program.wait(LOOK_S)
                except subprocess.TimeoutExpired:
                    if signals or is_terminal_lost():
                        return terminate_editor(program)
        finally:
            terminate_editor(program)


def terminate_editor(program: subprocess.Popen[bytes]) -> int:
    """Terminate a program: SIGHUP, then SIGTERM, then SIGKILL. Return its exit status."""
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
        if program.poll() is not None:
            break
        program.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.wait(ENDS_S)
    return program.wait()


def is_terminal_lost() -> bool:
    try:
        termios.tcgetattr(0)
    except termios.error as error:
        return bool(error.args[0] == errno.EIO)
    return False


@contextlib.contextmanager
def defer_signals() -> Iterator[list[int]]:
    """Defer termination signals and yield the list of those received; ctrl+c is meant for the program.

    Handlers, unlike SIG_IGN, are not inherited by the program.
    """
    numbers: list[int] = []
    ending: tuple[signal.Signals, ...] = (signal.SIGTERM, signal.SIGHUP)
    before = {signum: signal.signal(signum, lambda number, _: numbers.append(number)) for signum in ending}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda _, __: None)
    try:
        yield numbers
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
        for number in numbers[:1]:
            os.kill(os.getpid(), number)
