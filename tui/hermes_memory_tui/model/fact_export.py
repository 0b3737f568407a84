"""Export listed facts to a file: as JSONL with all fields, as MEMORY_SPEC lines, or the columns shown as CSV."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.files import export_import, jsonl_format
from hermes_memory_store.model import Fact
from hermes_memory_store.store import Store
from hermes_memory_store.system.filesystem import atomic_write
from hermes_memory_tui.text.fact_columns import BEFORE, COLUMNS
from hermes_memory_tui.text.separated_values import to_csv_line

FORMATS = {".jsonl": "JSONL", ".md": "MEMORY_SPEC", ".csv": "CSV"}
"""Formats by the end of a file's name."""

ALWAYS_SHOWN: dict[str, Callable[[Fact], str]] = {
    "target": lambda fact: fact.target,
    "content": lambda fact: fact.content,
}
"""What every row of the list says, besides the columns that are chosen."""

IN_WORDS: dict[str, Callable[[Fact], str]] = {"tier": lambda fact: fact.tier.value, "type": lambda fact: fact.type.word}
"""Columns that show a sign for a word."""

AT_ONCE = 2_000
"""Facts that are read at once, and after which it is said how many are written."""

Progress = Callable[[int], None]


def export_name_problem(text: str) -> str:
    """Return what is wrong with a file name, or a question when the file exists."""
    file = Path(text).expanduser()
    if file.suffix.lower() not in FORMATS:
        return "Use the suffix .jsonl for everything, .md for readable text, or .csv for the columns shown."
    if not file.parent.is_dir():
        return f"No such folder: {file.parent}"
    if file.is_dir():
        return f"{file} is a folder."
    return f"{file} exists: replace it?" if os.path.lexists(file) else ""


def export_facts(
    store: Store, keys: Sequence[int], text: str, *, columns: Sequence[str], replace: bool, progress: Progress
) -> int:
    """Export facts by key, in this order, and return their number. The file is replaced whole, or not at all.

    :param text: the file name as typed
    :param columns: names of the columns that CSV has, besides the target and the content
    :param replace: whether an existing file may be replaced
    :param progress: called with the number of facts written so far
    :raises ArgumentError: when the file cannot be written
    """
    file = Path(text).expanduser()
    form = FORMATS.get(file.suffix.lower())
    if form == "JSONL":
        lines = jsonl_format.selected_jsonl_lines(store, keys)
    elif form == "CSV":
        lines = selected_csv_lines(store, keys, columns)
    else:
        lines = export_import.selected_spec_lines(store, keys)
    try:
        return write_export(lines, file, replace, progress)
    except FileExistsError as error:
        raise ArgumentError(f"{file} exists; nothing was written", text) from error
    except OSError as error:
        raise ArgumentError(f"cannot write {file}: {error.strerror or error}", text) from error


def selected_csv_lines(store: Store, keys: Sequence[int], columns: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield single facts by key as the list shows them, each line with the number of facts so far."""
    chosen = [column for column in COLUMNS if column.name in columns]
    before = [column for column in chosen if column.name in BEFORE]
    after = [column for column in chosen if column.name not in BEFORE]
    titles = [*(column.name for column in before), *ALWAYS_SHOWN, *(column.name for column in after)]
    now = store.clock()

    def cells(fact: Fact) -> list[str]:
        return [
            *(IN_WORDS[column.name](fact) for column in before),
            *(text(fact) for text in ALWAYS_SHOWN.values()),
            *(column.text(fact, now) for column in after),
        ]

    with store.reader() as reader, reader.db.snapshot():
        yield to_csv_line(titles).removesuffix("\n"), 0
        done = 0
        for some in in_chunks(keys, AT_ONCE):
            for fact in reader.facts.by_ids(some):
                done += 1
                yield to_csv_line(cells(fact)).removesuffix("\n"), done


def write_export(lines: Iterator[tuple[str, int]], file: Path, replace: bool, progress: Progress) -> int:
    """Write lines to a temporary file next to the target, and replace the target once complete."""
    done = 0
    with atomic_write(file, encoding="utf-8", encoding_errors="backslashreplace", overwrite=replace) as out:
        for line, facts in lines:
            out.write(line + "\n")
            if facts // AT_ONCE > done // AT_ONCE:
                progress(facts)
            done = facts
    return done
