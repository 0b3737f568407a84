"""Importer of a basic-memory folder: one note per file, with frontmatter, observations and relations.

The list item `- [category] content #tags (context)` is an observation, `- relation [[Other note]] (context)` a
relation (of one or more words), wherever they stand (https://docs.basicmemory.com/concepts/knowledge-format and
`src/basic_memory/markdown/plugins.py` of https://github.com/basicmachines-co/basic-memory: times, tasks, links and
quoted text are no categories). Prose is not imported: it is no fact, and its note stays where it is.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.files.importers.import_batch import (
    ImportBatch,
    SourcePlace,
    decode_source_text,
    guess_fact_type,
    join_target_parts,
    parse_source_time,
    text_mark,
)
from hermes_memory_store.model import FactType

MOST_BYTES = 16 * 1024 * 1024
"""Of one note."""

ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+(?P<said>\S.*)")

OBSERVATION = re.compile(r"\[(?P<category>[^\[\]()]+)\]\s+(?P<content>.+)")

CLOCK = re.compile(r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s+-\s+[\d:.,]+)?")

MOST_RELATION_WORDS = 8
"""Of a relation's type that stands without quotes; more of them are a sentence with a link."""

FENCE = re.compile(r"\s*(?:```|~~~)")

FOREIGN_FOLDERS = frozenset({"node_modules", "bower_components", "vendor", "site-packages", "venv", "__pycache__"})
"""Folders of other people's code. Hidden ones, such as `.git`, are not part of a project either."""

SAMPLE_NOTES = 400
"""Notes that are looked at to tell whether a folder is a project."""

NOTE_HEAD_BYTES = 64 * 1024
"""Bytes of a note that are looked at for that."""

PROJECTS_FILE = Path(".basic-memory", "config.json")
"""Of basic-memory, in the person's home: its projects and their folders."""

FORCE = "to import it all the same, name it with --format basic-memory"


def read_basic_memory(path: Path, taken: ImportBatch) -> None:
    """Read all notes of a folder, or one note. :raises ImportFileError: there is none"""
    has_notes = False
    for file in find_note_files(path, lambda name, reason: taken.add_skip(SourcePlace(1, name), reason)):
        has_notes = True
        name = file.relative_to(path).as_posix() if path.is_dir() else ""
        text = read_note_text(file, name, taken)
        if text is not None:
            take_note(taken, file, name, text)
    if not has_notes:
        raise errors.ImportFileError(f"{path} is a directory without notes (files that end in .md)", path)


def read_note_text(file: Path, name: str, taken: ImportBatch) -> str | None:
    """Read a note's text; None when it cannot be read, which is reported."""
    try:
        if not file.is_file():
            taken.add_rejection(SourcePlace(1, name), "it is no regular file", name)
            return None
        if file.stat().st_size > MOST_BYTES:
            taken.add_rejection(SourcePlace(1, name), f"the note has more than {MOST_BYTES:,} bytes", name)
            return None
        return decode_source_text(file.read_bytes())
    except UnicodeDecodeError as error:
        taken.add_rejection(SourcePlace(1, name), f"the note is not UTF-8 (byte {error.start + 1})", name)
    except OSError as error:
        taken.add_rejection(SourcePlace(1, name), f"the note cannot be read: {error.strerror or error}", name)
    return None


def take_note(taken: ImportBatch, file: Path, name: str, text: str) -> None:
    lines = text.split("\n")
    settings, first = parse_frontmatter(lines)
    title = settings.get("title") or file.stem
    aim = (settings.get("permalink") or (name.removesuffix(".md") if name else title)).replace("/", ".")
    scope = name.rpartition("/")[0] or None
    made_at = find_note_time(settings, "created", "created_at", "date")
    changed_at = find_note_time(settings, "modified", "updated", "updated_at")
    # A note that says no times of its own is as old as its file.
    written_at = min(round(file.stat().st_mtime * 1000), taken.now)
    prose: list[int] = []
    for number, line in list_items(lines, first, prose):
        place = SourcePlace(number, name)
        relation, observation = parse_relation(line), parse_observation(line)
        if observation is not None:
            category, content = observation
            target = join_target_parts(aim, category, text_mark(aim, category, " ".join(content.split())))
            label, kind = f"observation [{category}]" if category else "observation", guess_fact_type(category)
        elif relation is not None:
            verb, other, context = relation
            content = " ".join([title, verb.replace("_", " "), other, context]).strip()
            target, label, kind = join_target_parts(aim, verb, text_mark(aim, verb, other)), "relation", FactType.VALUE
        else:
            prose.append(number)
            continue
        taken.add_fact(
            place,
            label,
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


def find_note_time(settings: dict[str, str], *names: str) -> int | None:
    return next((when for name in names if (when := parse_source_time(settings.get(name))) is not None), None)


def list_items(lines: list[str], first: int, prose: list[int]) -> Iterator[tuple[int, str]]:
    """Yield the list items of a note, by line number; other non-empty lines are recorded as prose."""
    fenced = False
    for number, line in enumerate(lines[first - 1 :], first):
        if FENCE.match(line):
            fenced = not fenced
            continue
        match = None if fenced else ITEM.fullmatch(line.strip())
        if match is not None:
            yield number, match["said"]
        elif line.strip() and not line.lstrip().startswith("#"):
            prose.append(number)


def parse_relation(text: str) -> tuple[str, str, str] | None:
    """Parse a relation into its type, the other note and the context.

    The type may be of several words, quoted or not: earlier versions of basic-memory wrote it without quotes, and so do
    people. A link alone is one that links. With text behind the link other than a context it is a sentence.
    """
    before, link, rest = text.partition("[[")
    other, end, after = rest.partition("]]")
    verb, other, context = " ".join(before.split()), " ".join(other.split()), after.strip()
    if not (link and end and other) or any(c in "[]" for c in verb + other):
        return None
    if len(verb) > 1 and verb[0] in "\"'" and verb[-1] == verb[0]:
        verb = verb[1:-1].strip()
    elif verb[:1] in ("'", '"') or len(verb.split()) > MOST_RELATION_WORDS:
        return None
    if (before.strip() and not verb) or (context and not (context[0] == "(" and context[-1] == ")")):
        return None
    return verb or "links_to", other, context


def is_basic_memory_note(text: str) -> bool:
    """Check whether basic-memory wrote a note: by its frontmatter, or by a title and an observation with a category."""
    lines = text.split("\n")
    settings, first = parse_frontmatter(lines)
    if "layout" in settings:  # a page of a site generator
        return False
    if "permalink" in settings and {"title", "type"} & settings.keys():
        return True
    items = (parse_observation(item_text) for _, item_text in list_items(lines, first, []) if "title" in settings)
    return any(observation is not None and observation[0] for observation in items)


def parse_observation(text: str) -> tuple[str, str] | None:
    """Parse an observation into category and content; the category may be empty where there are tags."""
    if re.fullmatch(r"\[[^\]]*\]\(.*\)", text):
        return None
    match = OBSERVATION.fullmatch(text)
    if match is not None:
        category = match["category"].strip()
        is_task_box = len(category) == 1 and (category in "xX" or not category.isalnum())
        if category and not CLOCK.fullmatch(category) and not is_task_box:
            return category, match["content"]
    if text.startswith(("[ ]", "[x]", "[-]", "[X]")):
        return None
    tagged = any(part.startswith("#") and len(part) > 1 for part in text.split())
    return ("", text) if tagged and "[[" not in text else None


def parse_frontmatter(lines: list[str]) -> tuple[dict[str, str], int]:
    """Parse the frontmatter of a note, and find its first line after that.

    Only plain settings are read, no lists and blocks.
    """
    settings: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2) if lines and lines[0].rstrip() == "---" else ():
        if line.rstrip() in ("---", "..."):
            return settings, number + 1
        name, colon, value = line.partition(":")
        if colon and name[:1].strip():
            settings[name.strip().casefold()] = value.strip().strip("\"'").strip()
    return {}, 1  # what has no end is a rule, and no frontmatter


def find_note_files(path: Path, pass_over: Callable[[str, str], None] | None = None) -> Iterator[Path]:
    """Find the note files of a folder, in order; a file is found as it is.

    :param pass_over: called with the name of what is passed over, and why
    """
    if not path.is_dir():
        yield path
        return

    def leave(place: Path, reason: str) -> None:
        if pass_over is not None:
            pass_over(place.relative_to(path).as_posix(), reason)

    walk = os.walk(path, onerror=lambda error: leave(Path(error.filename), f"it cannot be read: {error.strerror}"))
    for folder, inner, files in walk:
        here = Path(folder)
        for name in sorted(inner):
            if name in FOREIGN_FOLDERS:
                leave(here / name, "it is a folder of other people's code")
            elif not name.startswith(".") and (here / name).is_symlink():
                leave(here / name, "it is a symbolic link")
        inner[:] = sorted(name for name in inner if not name.startswith(".") and name not in FOREIGN_FOLDERS)
        for name in sorted(files):
            file = here / name
            if not name.endswith(".md") or name.startswith("."):
                continue
            if file.is_symlink() or not file.is_file():
                leave(file, "it is a symbolic link" if file.is_symlink() else "it is no regular file")
            else:
                yield file


def validate_project_folder(path: Path) -> None:
    """Check that a folder is a project of basic-memory: it says so itself, or most of its notes do.

    :raises ImportFileError: it is none, and why
    """
    if (path / PROJECTS_FILE.parent).is_dir() or is_configured_project(path):
        return
    foreign = next((part for part in path.resolve().parts if part in FOREIGN_FOLDERS or part == ".git"), None)
    if foreign is not None:
        raise errors.ImportFileError(f"{path} is not imported: it lies in {foreign}; {FORCE}", path)
    samples = [is_basic_memory_note(read_note_head(file)) for file in islice(find_note_files(path), SAMPLE_NOTES)]
    seen, own = len(samples), sum(samples)
    if not seen:
        raise errors.ImportFileError(f"{path} is a directory without notes (files that end in .md)", path)
    if own * 2 < seen:
        raise errors.ImportFileError(
            f"{path} is not taken for a folder of basic-memory: {own} of {seen} notes have its frontmatter "
            f"(title, type, permalink) or its observations; {FORCE}",
            path,
        )


def is_configured_project(path: Path) -> bool:
    """Check whether basic-memory's own settings name this folder as a project."""
    try:
        settings = json.loads((Path.home() / PROJECTS_FILE).read_bytes())
        projects = settings["projects"].values()
        folders = [Path(project["path"] if isinstance(project, dict) else project).expanduser() for project in projects]
        return any(folder.resolve() == path.resolve() for folder in folders)
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError):  # none, or of another shape
        return False


def read_note_head(file: Path) -> str:
    """Read the beginning of a note; empty when it cannot be read."""
    try:
        with file.open("rb") as stream:
            return decode_source_text(stream.read(NOTE_HEAD_BYTES), on_error="replace").replace("\r\n", "\n")
    except OSError:
        return ""
