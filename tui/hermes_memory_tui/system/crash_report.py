"""Crash reports: the location of an unexpected error, for maintainers, without any content of facts."""

from __future__ import annotations

import platform
import re
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from hermes_memory_store.database import driver
from hermes_memory_store.errors import shorten_value
from hermes_memory_store.system import filesystem
from hermes_memory_tui.system import inspector_settings

QUOTED = "[:'\"`]"

KEPT_REPORTS = 10
"""Crash reports that are kept, the newest."""


def write_crash_report(error: BaseException, details: Sequence[str] = ()) -> Path | None:
    """Write the types, files and lines of an error and its causes.

    Never their messages, which may quote a fact, except of SQLite the words before anything that it quotes.

    The file is readable by its owner only. None when it cannot be written.

    :param details: lines on what the program was doing; they must not contain anything that was typed
    """
    lines = [*version_lines(), *details]
    for cause in error_chain(error):
        words = f": {re.split(QUOTED, str(cause))[0]}" if isinstance(cause, driver.Error) else ""
        lines += ["", type(cause).__name__ + words, *traceback_lines(cause)]
    try:
        folder = inspector_settings.inspector_folder() / "logs"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        report = folder / f"hermes-memory-tui-crash-{time.time_ns()}.txt"
        with open(report, "x", encoding="utf-8", errors="replace", opener=filesystem.open_private) as file:
            file.write("\n".join(lines) + "\n")
        for old in sorted(folder.glob("hermes-memory-tui-crash-*.txt"))[:-KEPT_REPORTS]:
            old.unlink(missing_ok=True)
    except (OSError, RuntimeError):
        return None
    return report


def unwrap_worker_error(error: BaseException) -> BaseException:
    """Return the original error when Textual wraps one that a worker raised."""
    wrapped = getattr(error, "error", None)
    return wrapped if isinstance(wrapped, BaseException) else error


def version_lines() -> list[str]:
    from importlib.metadata import version

    versions = [f"{name} {version(name)}" for name in ("hermes-memory-tui", "textual")]
    return [*versions, f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"]


def error_chain(error: BaseException) -> Iterator[BaseException]:
    """Return an error and its causes, the most recent first."""
    cause: BaseException | None = unwrap_worker_error(error)
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def traceback_lines(error: BaseException) -> list[str]:
    """Return the traceback, the innermost frame last: file, line, function and source line."""
    return [
        f"{shorten_value(frame.filename)}:{frame.lineno} in {frame.name}: {frame.line}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
