"""Where a folder is and what its theme reads of others, by SQL and small files alone: for the store, and for programs without it.

A folder that is as the store saw it last takes the files of Git alone; a new repository, an odd one, or one whose
configuration has changed since takes a look at its remote, whose import takes as long as an interpreter's start.
"""

from __future__ import annotations

import os

from hermes_memory_store.fact_types import ANSWERS, OPEN_TYPES, TYPE_SYMBOLS, sql_types
from hermes_memory_store.places.git_files import MAX_PARENTS, find_repository, is_nowhere, read_head, read_mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Ask = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
    """Run one reading statement and return its rows."""

DEFAULT, PERSONAL = "default", "personal"

PERSONAL_TARGETS = frozenset({"user", "me", "my", "machine"})
"""First parts of the targets of a person's own facts: `user.name`, `my.editor`, `machine.gpu`."""

THEME_KEY = "SELECT id FROM themes WHERE name = ?"

PLACE_CHOICE = "SELECT places FROM place_choice"

THEME_OF_PROJECT = """
    SELECT t.theme FROM place_themes t JOIN projects p ON p.id = t.project_id
    WHERE coalesce(p.joined_id, p.id) = (SELECT coalesce(joined_id, id) FROM projects WHERE id = ?)
    ORDER BY p.joined_id IS NOT NULL, t.at, t.project_id
"""
"""Themes of a project: its own first, then those of projects that have joined it."""

PROJECT_OF_THEME = """
    SELECT coalesce(p.joined_id, p.id) FROM place_themes t JOIN projects p ON p.id = t.project_id WHERE t.theme = ?
"""

OTHERWISE = f"""
    NOT EXISTS (
      SELECT 1 FROM facts own WHERE own.theme_id IN ({{own}}) AND own.tier IN ('hot', 'cold', 'archived')
        AND own.type IN ({sql_types(TYPE_SYMBOLS)}) AND own.target = f.target
        AND (own.type = f.type OR (own.type IN ({sql_types(ANSWERS)}) AND f.type IN ('?', '~'))
          OR (own.type = '~' AND f.type IN ({sql_types(OPEN_TYPES)})))
    )
"""
"""Facts `f` that themes neither say themselves nor have settled, by the rules of a write."""

WRITTEN_HERE = """
    (f.origin_id IS NULL OR f.origin_id IN (
      SELECT id FROM origins WHERE theme_id = {source} AND (project_id IS NULL OR project_id IN ({projects}))))
"""
"""Facts `f` that were written in a project or in no known place."""

NEW_PROJECT = ""
"""The theme of a project that the store does not know yet: it reads what `default` says of no known place."""

OWN, JOINED, INHERITED, OF_PERSON = "own", "joined", "inherited", "personal"
"""Why a theme is read: it is the agent's own, that of a project which has joined its project, `default` as far as it was
written there or in no known place, or the person's."""

SEEN_PROJECT = """
    SELECT coalesce(p.joined_id, p.id), a.seen_at FROM project_aliases a JOIN projects p ON p.id = a.project_id
    WHERE a.kind = ? AND a.value = ?
"""

PLAIN_PROJECT = """
    SELECT coalesce(p.joined_id, p.id) FROM project_aliases a JOIN projects p ON p.id = a.project_id
    WHERE a.kind = 'path' AND a.value IN ({}) AND (a.value = ? OR EXISTS (
      SELECT 1 FROM place_themes WHERE project_id = p.id AND NOT EXISTS (
        SELECT 1 FROM project_aliases WHERE project_id = p.id AND kind = 'dir')))
    ORDER BY length(a.value) DESC LIMIT 1
"""

HAS_OTHER_REPOSITORY = """
    SELECT 1 FROM project_aliases WHERE project_id = ? AND (kind = 'mark' OR (kind = 'dir' AND value <> ?)) LIMIT 1
"""

ANY_PLACE_THEME = "SELECT 1 FROM place_themes LIMIT 1"


class FolderPlace:
    """Where a folder is: the key of its project, its branch and commit; None for what is not known."""

    __slots__ = ("branch", "commit", "is_plain", "project")

    def __init__(
        self,
        project: int | None = None,
        branch: str | None = None,
        commit: str | None = None,
        *,
        is_plain: bool = False,
    ) -> None:
        """:param is_plain: whether it is in no repository, so that its path is all that it is known by"""
        self.project, self.branch, self.commit, self.is_plain = project, branch, commit, is_plain


def find_known_folder(ask: Ask, folder: str) -> FolderPlace:
    """Find where a folder is, if the store knows its project and the repository is as it was."""
    try:
        path = os.path.realpath(folder)
    except (OSError, ValueError):
        return FolderPlace()
    repository = find_repository(path)
    if repository is None:
        return FolderPlace(find_plain_project(ask, path), is_plain=True)
    common = repository.common
    mark = read_mark(common)  # a path says less: another repository may lie there by now
    try:
        changed_at = os.stat(os.path.join(common, "config")).st_mtime_ns // 1_000_000
    except (OSError, ValueError):
        return FolderPlace()
    rows = ask(SEEN_PROJECT, ("dir", to_stored_path(common)) if mark is None else ("mark", mark))
    if not rows or changed_at > rows[0][1]:
        return FolderPlace()
    return FolderPlace(rows[0][0], *read_head(repository))


def find_folder_place(ask: Ask, folder: str) -> FolderPlace:
    """Find where a folder is, by its repository as it was or by all that it shows now."""
    place = find_known_folder(ask, folder)
    return look_at_folder(ask, folder) if place.project is None and not place.is_plain else place


def look_at_folder(ask: Ask, folder: str) -> FolderPlace:
    """Find where a folder is by all that its repository shows, its remote too."""
    from hermes_memory_store.places.project_sighting import read_project  # here, not above: see the module's text

    seen = read_project(folder)
    return FolderPlace(find_seen_project(ask, seen.identities), seen.branch, seen.commit)


def find_plain_project(ask: Ask, path: str) -> int | None:
    """Find the project of a folder in no repository: its own, else that of the nearest folder above which has a theme."""
    above = [to_stored_path(path)]
    while len(above) <= MAX_PARENTS and os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    rows = ask(PLAIN_PROJECT.format(", ".join("?" * len(above))), (*above, above[0]))
    return rows[0][0] if rows else None


def find_seen_project(ask: Ask, identities: Sequence[tuple[str, str]]) -> int | None:
    """Find the project with these identities; None where it takes a look at its other repositories: `choose_project`."""
    stored = {kind: to_stored_path(value) for kind, value in identities}
    keys = {kind: key for kind, value in stored.items() for (key, _) in ask(SEEN_PROJECT, (kind, value))}
    key = next(iter(keys.values()), None)
    if key is not None and "mark" in stored and not keys.keys() & {"mark", "remote"}:
        return None if ask(HAS_OTHER_REPOSITORY, (key, stored["dir"])) else key
    return key


def to_stored_path(path: str) -> str:
    """Return a path as the store has it, whose names may be bytes that are no text."""
    if path.isprintable():
        return path
    from hermes_memory_store.safe_text import to_printable  # here, not above: few paths need it

    return to_printable(path)


def read_folder_theme(ask: Ask, folder: str) -> str:
    """Return the theme of a folder: `default` for one in no project, and none, which is empty, for one in a new project."""
    if not folder or ask(PLACE_CHOICE, ()) != [("projects",)]:
        return DEFAULT
    place = find_known_folder(ask, folder)
    if place.is_plain and is_nowhere(os.path.realpath(folder)):
        return DEFAULT
    if place.project is None and not place.is_plain and ask(ANY_PLACE_THEME, ()):
        place = look_at_folder(ask, folder)  # where no project has a theme yet, none need be recognised
    return find_project_theme(ask, place.project)


def find_project_theme(ask: Ask, project: int | None) -> str:
    """Return the theme of a project by its key; none, which is empty, for one that is new."""
    themes = [] if project is None else ask(THEME_OF_PROJECT, (project,))
    return str(themes[0][0]) if themes else NEW_PROJECT


def find_readable_themes(ask: Ask, theme: str, *, sealed: bool = False) -> list[tuple[str, str]]:
    """Return names of themes that an agent of this theme reads, and why, its own first; without the person's.

    :param sealed: it reads no theme but its own
    """
    themes = [(theme, OWN)]
    if sealed or theme == PERSONAL or ask(PLACE_CHOICE, ()) != [("projects",)]:
        return themes
    for (key,) in ask(PROJECT_OF_THEME, (theme,)):
        themes += [(name, JOINED) for (name,) in ask(THEME_OF_PROJECT, (key,)) if name != theme]
        themes.append((DEFAULT, INHERITED))
    if theme == NEW_PROJECT:
        themes.append((DEFAULT, INHERITED))
    return themes


def reads_personal(ask: Ask, theme: str) -> bool:
    """Check whether agents of a theme are given the person's own facts: not workers, benches, nor agents of other people."""
    if theme == PERSONAL or ask(PLACE_CHOICE, ()) != [("projects",)]:
        return False
    if theme in (DEFAULT, NEW_PROJECT) or ask(PROJECT_OF_THEME, (theme,)):
        return True
    from hermes_memory_themes.theme_identity import ThemeKind, classify_theme  # here, not above: few themes are named

    return classify_theme(theme) is ThemeKind.THEME


def format_start_parts(
    ask: Ask, theme: str, *, personal: bool = True, sealed: bool = False
) -> list[tuple[int, str, str]]:
    """Return (key of a theme, why it is read, condition for its facts `f`) for all that an agent is given, the person's last.

    :param personal: whether it may be given the person's own facts
    """
    own = next((key for (key,) in ask(THEME_KEY, (theme,))), None)
    sources = find_readable_themes(ask, theme, sealed=sealed)
    if personal and reads_personal(ask, theme):
        sources.append((PERSONAL, OF_PERSON))
    parts = []
    for name, relation in sources:
        for (key,) in ask(THEME_KEY, (name,)):
            default_id = key if name == DEFAULT else None
            parts.append((key, relation, "1" if name == theme else format_seen_from(ask, default_id, own, theme)))
    return parts


def is_person_target(target: str) -> bool:
    """Check whether a target is one of a person's own facts."""
    return target.partition(".")[0].casefold() in PERSONAL_TARGETS


def format_seen_from(ask: Ask, default_id: int | None, own_id: int | None, own: str) -> str:
    """Return the condition for facts `f` of another theme as the theme of a project reads them.

    :param default_id: key of `default` where that is the other theme
    :param own_id: key of the project's theme, None while nothing was written to it
    :param own: its name
    """
    speaking = [] if own_id is None else [own_id]
    if default_id is not None:
        speaking += [key for (key,) in ask(THEME_KEY, (PERSONAL,))]
    conditions = [OTHERWISE.format(own=", ".join(map(str, speaking)))] if speaking else []
    if default_id is not None:
        keys = ask(f"SELECT id FROM projects WHERE coalesce(joined_id, id) = ({PROJECT_OF_THEME.strip()})", (own,))
        projects = ", ".join(str(key) for (key,) in keys) or "0"
        conditions.append(WRITTEN_HERE.format(source=default_id, projects=projects))
    return " AND ".join(conditions) or "1"
