"""Writing listed facts to a file: as JSONL with everything, or as MEMORY_SPEC lines that people read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hermes_memory_store import exchange, portable
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.filesystem import atomic_write
from hermes_memory_store.store import Store

FORMATS = {".jsonl": "JSONL", ".md": "MEMORY_SPEC"}
"""Formats by the end of a file's name."""

Progress = Callable[[int], None]


def wrong(text: str) -> str:
    """What is wrong with a file name; a question when the file is there already."""
    file = Path(text).expanduser()
    if file.suffix.lower() not in FORMATS:
        return "End the name with .jsonl to keep everything, or with .md for lines to read."
    if not file.parent.is_dir():
        return f"There is no folder {file.parent}."
    if file.is_dir():
        return f"{file} is a folder."
    return f"{file} is there already: replace it?" if os.path.lexists(file) else ""


def export(store: Store, keys: Sequence[int], text: str, *, replace: bool, progress: Progress) -> int:
    """Write facts by key, in this order; how many there were. The file stands there whole, or not at all.

    :param text: the file's name as it was typed
    :param replace: whether a file of that name may be replaced
    :param progress: called with the number of facts written so far
    :raises ArgumentError: when the file cannot be written
    """
    file = Path(text).expanduser()
    lines = portable.chosen_lines if FORMATS.get(file.suffix.lower()) == "JSONL" else exchange.chosen_lines
    try:
        return written(lines(store, keys), file, replace, progress)
    except FileExistsError as error:
        raise ArgumentError(f"{file} is there already; nothing was written", text) from error
    except OSError as error:
        raise ArgumentError(f"{file} cannot be written: {error.strerror or error}", text) from error


def written(lines: Iterator[tuple[str, int]], file: Path, replace: bool, progress: Progress) -> int:
    """Write lines beside the file and put them in its place when all are there."""
    done = 0
    with atomic_write(file, encoding="utf-8", encoding_errors="backslashreplace", overwrite=replace) as out:
        for line, facts in lines:
            out.write(line + "\n")
            if facts // 2_000 > done // 2_000:
                progress(facts)
            done = facts
    return done
