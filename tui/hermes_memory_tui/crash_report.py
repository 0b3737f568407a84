"""Crash reports: where an unexpected error arose, for who mends it, and never what a fact says."""

from __future__ import annotations

import platform
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from hermes_memory_store import filesystem
from hermes_memory_store.errors import shorten
from hermes_memory_tui import settings

KEPT_REPORTS = 10
"""Crash reports that are kept, the newest."""


def write_crash_report(error: BaseException, details: Sequence[str] = ()) -> Path | None:
    """Write the types, files and lines of an error and of what caused it, never their messages, which may quote a fact.

    The file may be read by its owner alone. None when it cannot be written either.

    :param details: lines that say what the program was doing; they must hold nothing that anybody typed
    """
    lines = [*versions(), *details]
    for one in causes(error):
        lines += ["", type(one).__name__, *frames(one)]
    try:
        folder = settings.folder() / "logs"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        report = folder / f"hermes-memory-tui-crash-{time.time_ns()}.txt"
        with open(report, "x", encoding="utf-8", errors="replace", opener=filesystem.private) as file:
            file.write("\n".join(lines) + "\n")
        for old in sorted(folder.glob("hermes-memory-tui-crash-*.txt"))[:-KEPT_REPORTS]:
            old.unlink(missing_ok=True)
    except (OSError, RuntimeError):
        return None
    return report


def unwrap_error(error: BaseException) -> BaseException:
    """The error itself where Textual wraps one that a worker raised."""
    wrapped = getattr(error, "error", None)
    return wrapped if isinstance(wrapped, BaseException) else error


def versions() -> list[str]:
    """What ran, line by line."""
    from importlib.metadata import version

    ours = [f"{name} {version(name)}" for name in ("hermes-memory-tui", "textual")]
    return [*ours, f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"]


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and those it arose from, the last first."""
    one: BaseException | None = unwrap_error(error)
    seen: set[int] = set()
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def frames(error: BaseException) -> list[str]:
    """Where an error came through, the innermost last: file, line, function and that line of the program."""
    return [
        f"{shorten(frame.filename)}:{frame.lineno} in {frame.name}: {frame.line}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
