"""Editing a text in the person's own editor. The terminal must have been given up before."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

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
    """Run a program to its end; its exit status, negative for a signal."""
    with unharmed():
        return subprocess.run(command, check=False).returncode


@contextlib.contextmanager
def unharmed() -> Iterator[None]:
    """Whoever presses ctrl+c in the editor means the editor. A handler, unlike SIG_IGN, is not inherited by it."""
    before = signal.signal(signal.SIGINT, lambda _, __: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
