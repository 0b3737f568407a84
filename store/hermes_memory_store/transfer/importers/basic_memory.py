"""Importer of a basic-memory folder: one note per file, with frontmatter, observations and relations.

The list item `- [category] content #tags (context)` is an observation, `- relation [[Other note]] (context)` a
relation, wherever they stand (https://docs.basicmemory.com/concepts/knowledge-format and
`src/basic_memory/markdown/plugins.py` of https://github.com/basicmachines-co/basic-memory: times, tasks, links and
quoted text are no categories). Prose is not imported: it is no fact, and its note stays where it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.model import FactType
from hermes_memory_store.transfer.importers.import_batch import (
    ImportBatch,
    SourcePlace,
    guess_fact_type,
    join_target_parts,
    parse_source_time,
    text_mark,
)

MOST_BYTES = 16 * 1024 * 1024
"""Of one note."""

ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+(?P<said>\S.*)")

OBSERVATION = re.compile(r"\[(?P<category>[^\[\]()]+)\]\s+(?P<content>.+)")

CLOCK = re.compile(r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s+-\s+[\d:.,]+)?")

RELATION = re.compile(
    r"(?:(?P<kind>[^\s\[\]\"'][^\s\[\]]*)|(?P<quote>[\"'])(?P<quoted>[^\"'\[\]]+)(?P=quote))\s*"
    r"\[\[(?P<other>[^\[\]]+)\]\]\s*(?P<context>\(.*\))?"
)

FENCE = re.compile(r"\s*(?:```|~~~)")


@dataclass(slots=True)
class NoteHeader:
    """One file: its frontmatter, and where its text begins."""

    settings: dict[str, str] = field(default_factory=dict)
    first: int = 1


def read_basic_memory(path: Path, taken: ImportBatch) -> None:
    """Read all notes of a folder, or one note. :raises ImportFileError: there is none"""
    found = False
    for file in find_note_files(path):
        found = True
        name = file.relative_to(path).as_posix() if path.is_dir() else ""
        text = read_note_text(file, name, taken)
        if text is not None:
            take_note(taken, file, name, text)
    if not found:
        raise errors.ImportFileError(f"{path} is a directory without notes (files that end in .md)", path)


def find_note_files(path: Path) -> Iterator[Path]:
    """Find the note files, in order; hidden files and symbolic links are not part of the folder."""
    if not path.is_dir():
        yield path
        return
    for folder, inner, files in os.walk(path):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(files):
            file = Path(folder, name)
            if name.endswith(".md") and not name.startswith(".") and not file.is_symlink():
                yield file


def read_note_text(file: Path, name: str, taken: ImportBatch) -> str | None:
    """Read a note's text; None when it cannot be read, which is reported."""
    try:
        if file.stat().st_size > MOST_BYTES:
            taken.add_rejection(SourcePlace(1, name), f"the note has more than {MOST_BYTES:,} bytes", name)
            return None
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        taken.add_rejection(SourcePlace(1, name), f"the note is not UTF-8 (byte {error.start + 1})", name)
    except OSError as error:
        taken.add_rejection(SourcePlace(1, name), f"the note cannot be read: {error.strerror or error}", name)
    return None


def take_note(taken: ImportBatch, file: Path, name: str, text: str) -> None:
    """Add the observations and relations of a note."""
    lines = text.split("\n")
    note = parse_frontmatter(lines)
    title = note.settings.get("title") or file.stem
    aim = (note.settings.get("permalink") or (name.removesuffix(".md") if name else title)).replace("/", ".")
    scope = name.rpartition("/")[0] or None
    made_at = find_note_time(note, "created", "created_at", "date")
    changed_at = find_note_time(note, "modified", "updated", "updated_at")
    # A note that says no times of its own is as old as its file.
    written_at = min(round(file.stat().st_mtime * 1000), taken.now)
    prose: list[int] = []
    for number, line in list_items(lines, note.first, prose):
        place = SourcePlace(number, name)
        relation, observation = RELATION.fullmatch(line), parse_observation(line)
        if observation is not None:
            category, content = observation
            target = join_target_parts(aim, category, text_mark(aim, category, " ".join(content.split())))
            what, kind = f"observation [{category}]" if category else "observation", guess_fact_type(category)
        elif relation is not None:
            verb, other = relation["kind"] or relation["quoted"], " ".join(relation["other"].split())
            content = " ".join([title, verb.replace("_", " "), other, relation["context"] or ""]).strip()
            target, what, kind = join_target_parts(aim, verb, text_mark(aim, verb, other)), "relation", FactType.VALUE
        else:
            prose.append(number)
            continue
        taken.add_fact(
            place,
            what,
            kind,
            target,
            content,
            names=(aim,),
            scope=scope,
            created_at=written_at if made_at is None else made_at,
            updated_at=changed_at,
        )
    if prose:
        several = f"{len(prose):,} lines are" if len(prose) > 1 else "1 line is"
        taken.add_skip(SourcePlace(min(prose), name), f"{several} neither observations nor relations")


def parse_frontmatter(lines: list[str]) -> NoteHeader:
    """Parse the frontmatter of a note: plain settings only; lists and blocks are ignored."""
    note = NoteHeader()
    if not lines or lines[0].rstrip() != "---":
        return note
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() in ("---", "..."):
            note.first = number + 1
            return note
        name, colon, value = line.partition(":")
        if colon and name[:1].strip():
            note.settings[name.strip().casefold()] = value.strip().strip("\"'").strip()
    return NoteHeader()  # a rule, and no frontmatter


def find_note_time(note: NoteHeader, *names: str) -> int | None:
    """Return the first of these settings that is a time."""
    return next((when for name in names if (when := parse_source_time(note.settings.get(name))) is not None), None)


def list_items(lines: list[str], first: int, prose: list[int]) -> Iterator[tuple[int, str]]:
    """Yield the list items of a note, by line number; other non-empty lines are recorded as prose."""
    fenced = False
    for number, line in enumerate(lines[first - 1 :], first):
        if FENCE.match(line):
            fenced = not fenced
            continue
        found = None if fenced else ITEM.fullmatch(line.strip())
        if found is not None:
            yield number, found["said"]
        elif line.strip() and not line.lstrip().startswith("#"):
            prose.append(number)


def parse_observation(said: str) -> tuple[str, str] | None:
    """Parse an observation into category and content; the category may be empty where there are tags."""
    if re.fullmatch(r"\[[^\]]*\]\(.*\)", said):
        return None
    found = OBSERVATION.fullmatch(said)
    if found is not None:
        category = found["category"].strip()
        if category and not CLOCK.fullmatch(category) and not is_task_box(category):
            return category, found["content"]
    if said.startswith(("[ ]", "[x]", "[-]", "[X]")):
        return None
    tagged = any(part.startswith("#") and len(part) > 1 for part in said.split())
    return ("", said) if tagged and "[[" not in said else None


def is_task_box(category: str) -> bool:
    """Check whether it is a task checkbox."""
    return len(category) == 1 and (category in "xX" or not category.isalnum())
