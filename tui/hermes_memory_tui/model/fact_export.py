"""Export listed facts to a file: as JSONL with all fields, or as readable MEMORY_SPEC lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hermes_memory_store.database.filesystem import atomic_write
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.store import Store
from hermes_memory_store.transfer import export_import, jsonl_format

FORMATS = {".jsonl": "JSONL", ".md": "MEMORY_SPEC"}
"""Formats by the end of a file's name."""

Progress = Callable[[int], None]


def export_name_problem(text: str) -> str:
    """Return what is wrong with a file name, or a question when the file exists."""
    file = Path(text).expanduser()
    if file.suffix.lower() not in FORMATS:
        return "Use the suffix .jsonl for everything, or .md for readable text."
    if not file.parent.is_dir():
        return f"No such folder: {file.parent}"
    if file.is_dir():
        return f"{file} is a folder."
    return f"{file} exists: replace it?" if os.path.lexists(file) else ""


def export_facts(store: Store, keys: Sequence[int], text: str, *, replace: bool, progress: Progress) -> int:
    """Export facts by key, in this order, and return their number. The file is replaced whole, or not at all.

    :param text: the file name as typed
    :param replace: whether an existing file may be replaced
    :param progress: called with the number of facts written so far
    :raises ArgumentError: when the file cannot be written
    """
    file = Path(text).expanduser()
    lines = (
        jsonl_format.selected_jsonl_lines
        if FORMATS.get(file.suffix.lower()) == "JSONL"
        else export_import.selected_spec_lines
    )
    try:
        return write_export(lines(store, keys), file, replace, progress)
    except FileExistsError as error:
        raise ArgumentError(f"{file} exists; nothing was written", text) from error
    except OSError as error:
        raise ArgumentError(f"cannot write {file}: {error.strerror or error}", text) from error


def write_export(lines: Iterator[tuple[str, int]], file: Path, replace: bool, progress: Progress) -> int:
    """Write lines to a temporary file next to the target, and replace the target once complete."""
    done = 0
    with atomic_write(file, encoding="utf-8", encoding_errors="backslashreplace", overwrite=replace) as out:
        for line, facts in lines:
            out.write(line + "\n")
            if facts // 2_000 > done // 2_000:
                progress(facts)
            done = facts
    return done
