"""Note files of basic-memory: which folder is one of its projects, and which of its files are notes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.files.importers.import_batch import decode_source_text

FOREIGN_FOLDERS = frozenset({"node_modules", "bower_components", "vendor", "site-packages", "venv", "__pycache__"})
"""Folders of other people's code. Hidden ones, such as `.git`, are not part of a project either."""

SAMPLE = 400
"""Notes that are looked at to tell whether a folder is a project."""

HEAD_BYTES = 64 * 1024
"""Bytes of a note that are looked at for that."""

CONFIG = Path(".basic-memory", "config.json")
"""Of basic-memory, in the person's home: its projects and their folders."""


@dataclass(slots=True)
class NoteHeader:
    """One file: its frontmatter, and where its text begins."""

    settings: dict[str, str] = field(default_factory=dict)
    first: int = 1


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


def has_own_frontmatter(text: str) -> bool:
    """Check for what basic-memory writes at the head of a note; a site generator's page has a layout besides."""
    settings = parse_frontmatter(text.split("\n")).settings.keys()
    return "permalink" in settings and bool({"title", "type"} & settings) and "layout" not in settings


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


def validate_project_folder(path: Path, is_own_note: Callable[[str], bool]) -> None:
    """Check that a folder is a project of basic-memory: it says so itself, or most of its notes do.

    :param is_own_note: whether basic-memory wrote a note, by the beginning of its text
    :raises ImportFileError: it is none, and why
    """
    if (path / CONFIG.parent).is_dir() or is_configured_project(path):
        return
    foreign = next((part for part in path.resolve().parts if part in FOREIGN_FOLDERS or part == ".git"), None)
    if foreign is not None:
        raise errors.ImportFileError(f"{path} is not imported: it lies in {foreign}; {FORCE}", path)
    samples = [is_own_note(read_note_head(file)) for file in islice(find_note_files(path), SAMPLE)]
    seen, own = len(samples), sum(samples)
    if not seen:
        raise errors.ImportFileError(f"{path} is a directory without notes (files that end in .md)", path)
    if own * 2 < seen:
        raise errors.ImportFileError(
            f"{path} is not taken for a folder of basic-memory: {own} of {seen} notes have its frontmatter "
            f"(title, type, permalink) or its observations; {FORCE}",
            path,
        )


FORCE = "to import it all the same, name it with --format basic-memory"


def is_configured_project(path: Path) -> bool:
    """Check whether basic-memory's own settings name this folder as a project."""
    try:
        settings = json.loads((Path.home() / CONFIG).read_bytes())
        projects = settings["projects"].values()
        folders = [Path(project["path"] if isinstance(project, dict) else project).expanduser() for project in projects]
        return any(folder.resolve() == path.resolve() for folder in folders)
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError):  # none, or of another shape
        return False


def read_note_head(file: Path) -> str:
    """Read the beginning of a note; empty when it cannot be read."""
    try:
        with file.open("rb") as stream:
            return decode_source_text(stream.read(HEAD_BYTES), on_error="replace").replace("\r\n", "\n")
    except OSError:
        return ""
