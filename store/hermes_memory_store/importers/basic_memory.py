"""A folder of basic-memory: a note a file, with frontmatter, observations and relations as items of lists.

`- [category] content #tags (context)` is an observation, `- relation [[Other note]] (context)` a relation, wherever they stand
(https://docs.basicmemory.com/concepts/knowledge-format and `src/basic_memory/markdown/plugins.py` of
https://github.com/basicmachines-co/basic-memory: times, tasks, links and what stands in quotes are no categories). Prose is not
taken: it is no fact, and its note is where it was.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.importers.taking import Place, Taken, mark, moment, named, type_of
from hermes_memory_store.model import FactType

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
class Note:
    """One file: what its frontmatter says, and where its text begins."""

    settings: dict[str, str] = field(default_factory=dict)
    first: int = 1


def read(path: Path, taken: Taken) -> None:
    """Take all notes of a folder, or one. :raises ImportFileError: there is none"""
    found = False
    for file in notes(path):
        found = True
        name = file.relative_to(path).as_posix() if path.is_dir() else ""
        text = text_of(file, name, taken)
        if text is not None:
            take_note(taken, file, name, text)
    if not found:
        raise errors.ImportFileError(f"{path} is a directory without notes (files that end in .md)", path)


def notes(path: Path) -> Iterator[Path]:
    """The files of notes, in order; what is hidden, and what links lead to, is no part of the folder."""
    if not path.is_dir():
        yield path
        return
    for folder, inner, files in os.walk(path):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(files):
            file = Path(folder, name)
            if name.endswith(".md") and not name.startswith(".") and not file.is_symlink():
                yield file


def text_of(file: Path, name: str, taken: Taken) -> str | None:
    """A note's text; None when it cannot be read, which is reported."""
    try:
        if file.stat().st_size > MOST_BYTES:
            taken.refuse(Place(1, name), f"the note has more than {MOST_BYTES:,} bytes", name)
            return None
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        taken.refuse(Place(1, name), f"the note is not UTF-8 (byte {error.start + 1})", name)
    except OSError as error:
        taken.refuse(Place(1, name), f"the note cannot be read: {error.strerror or error}", name)
    return None


def take_note(taken: Taken, file: Path, name: str, text: str) -> None:
    """Take the observations and relations of a note."""
    lines = text.split("\n")
    note = frontmatter(lines)
    title = note.settings.get("title") or file.stem
    aim = (note.settings.get("permalink") or (name.removesuffix(".md") if name else title)).replace("/", ".")
    scope = name.rpartition("/")[0] or None
    made_at = moment_of(note, "created", "created_at", "date")
    changed_at = moment_of(note, "modified", "updated", "updated_at")
    # A note that says no times of its own is as old as its file.
    written_at = min(round(file.stat().st_mtime * 1000), taken.now)
    prose: list[int] = []
    for number, line in listed(lines, note.first, prose):
        place = Place(number, name)
        relation, observation = RELATION.fullmatch(line), observed(line)
        if observation is not None:
            category, content = observation
            target = named(aim, category, mark(aim, category, " ".join(content.split())))
            what, kind = f"observation [{category}]" if category else "observation", type_of(category)
        elif relation is not None:
            verb, other = relation["kind"] or relation["quoted"], " ".join(relation["other"].split())
            content = " ".join([title, verb.replace("_", " "), other, relation["context"] or ""]).strip()
            target, what, kind = named(aim, verb, mark(aim, verb, other)), "relation", FactType.VALUE
        else:
            prose.append(number)
            continue
        taken.fact(
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
        taken.skip(Place(min(prose), name), f"{several} neither observations nor relations")


def frontmatter(lines: list[str]) -> Note:
    """The settings above a note's text: plain ones; lists and blocks mean nothing here."""
    note = Note()
    if not lines or lines[0].rstrip() != "---":
        return note
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() in ("---", "..."):
            note.first = number + 1
            return note
        name, colon, value = line.partition(":")
        if colon and name[:1].strip():
            note.settings[name.strip().casefold()] = value.strip().strip("\"'").strip()
    return Note()  # a rule, and no frontmatter


def moment_of(note: Note, *names: str) -> int | None:
    """The first of these settings that is a time."""
    return next((when for name in names if (when := moment(note.settings.get(name))) is not None), None)


def listed(lines: list[str], first: int, prose: list[int]) -> Iterator[tuple[int, str]]:
    """The items of a note's lists, by number; other lines that say something are noted as prose."""
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


def observed(said: str) -> tuple[str, str] | None:
    """An item's category and content, when it is an observation; the category may be empty where tags tell."""
    if re.fullmatch(r"\[[^\]]*\]\(.*\)", said):
        return None
    found = OBSERVATION.fullmatch(said)
    if found is not None:
        category = found["category"].strip()
        if category and not CLOCK.fullmatch(category) and not is_task(category):
            return category, found["content"]
    if said.startswith(("[ ]", "[x]", "[-]", "[X]")):
        return None
    tagged = any(part.startswith("#") and len(part) > 1 for part in said.split())
    return ("", said) if tagged and "[[" not in said else None


def is_task(category: str) -> bool:
    """Whether it is the box of a task."""
    return len(category) == 1 and (category in "xX" or not category.isalnum())
