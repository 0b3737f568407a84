"""The theme of a folder and what an agent of a theme reads, by SQL alone: for the store, and for programs without it."""

from __future__ import annotations

import os

from hermes_memory_store.places.known_folder import find_known_folder, to_stored_path
from hermes_memory_store.places.place_queries import (
    DEFAULT,
    PERSONAL,
    PLACE_CHOICE,
    PROJECT_OF_THEME,
    THEME_KEY,
    THEME_OF_PROJECT,
    format_seen_from,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_memory_store.places.place_queries import Ask

NEW_PROJECT = ""
"""The theme of a project that the store does not know yet: it reads what `default` says of no known place."""

PERSONAL_TOKENS = 40
"""Tokens of the person's own facts in a context block, at most: they are given in every project."""

OWN, JOINED, INHERITED, OF_PERSON = "own", "joined", "inherited", "personal"
"""Why a theme is read: it is the agent's own, that of a project which has joined its project, `default` as far as it was
written there or in no known place, or the person's."""

PROJECT_BY_IDENTITY = "SELECT project_id FROM project_aliases WHERE kind = ? AND value = ?"

HAS_OTHER_REPOSITORY = """
    SELECT 1 FROM project_aliases WHERE project_id = ? AND (kind = 'mark' OR (kind = 'dir' AND value <> ?)) LIMIT 1
"""

ANY_PLACE_THEME = "SELECT 1 FROM place_themes LIMIT 1"


def find_readable_themes(ask: Ask, theme: str, *, sealed: bool = False) -> list[tuple[str, str]]:
    """Return names of themes that an agent of this theme reads, and why, its own first; without the person's.

    :param sealed: it reads no theme but its own
    """
    found = [(theme, OWN)]
    if sealed or theme == PERSONAL or ask(PLACE_CHOICE, ()) != [("projects",)]:
        return found
    for (key,) in ask(PROJECT_OF_THEME, (theme,)):
        found += [(name, JOINED) for (name,) in ask(THEME_OF_PROJECT, (key,)) if name != theme]
        found.append((DEFAULT, INHERITED))
    if theme == NEW_PROJECT:
        found.append((DEFAULT, INHERITED))
    return found


def reads_personal(ask: Ask, theme: str) -> bool:
    """Check whether agents of a theme are given the person's own facts: not workers, benches, nor agents of other people."""
    if theme == PERSONAL or ask(PLACE_CHOICE, ()) != [("projects",)]:
        return False
    if theme in (DEFAULT, NEW_PROJECT) or ask(PROJECT_OF_THEME, (theme,)):
        return True
    from hermes_memory_themes.theme_identity import ThemeKind, classify_theme  # here, not above: few themes are named

    return classify_theme(theme) is ThemeKind.THEME


def read_folder_theme(ask: Ask, folder: str) -> str:
    """Return the theme of a folder: `default` for one in no project, and none, which is empty, for one in a new project."""
    if not folder or ask(PLACE_CHOICE, ()) != [("projects",)]:
        return DEFAULT
    known = find_known_folder(ask, folder)
    if known.is_plain and os.path.realpath(folder) in ("/", os.path.realpath(os.path.expanduser("~"))):
        return DEFAULT  # as `to_project` has it
    if known.project is not None:
        themes = ask(THEME_OF_PROJECT, (known.project,))
        return str(themes[0][0]) if themes else NEW_PROJECT
    if known.is_plain or not ask(ANY_PLACE_THEME, ()):
        return NEW_PROJECT  # where no project has a theme yet, none need be recognised
    # Here, not above: it imports `re`, which takes as long as an interpreter's start.
    from hermes_memory_store.places.project_sighting import read_project, to_project

    seen = to_project(read_project(folder))
    return find_folder_theme(ask, None if seen is None else seen.identities)


def find_folder_theme(ask: Ask, identities: Sequence[tuple[str, str]] | None) -> str:
    """Return the theme of a folder: `default` for one in no project, and none, which is empty, for one in a new project.

    :param identities: kinds and values by which its project is known (`ProjectSighting.identities`); None: it is in no project
    """
    if identities is None or ask(PLACE_CHOICE, ()) != [("projects",)]:
        return DEFAULT
    key = find_seen_project(ask, identities)
    themes = [] if key is None else ask(THEME_OF_PROJECT, (key,))
    return str(themes[0][0]) if themes else NEW_PROJECT


def find_seen_project(ask: Ask, identities: Sequence[tuple[str, str]]) -> int | None:
    """Find the project with these identities; None where it takes a look at its other repositories: `choose_project`."""
    stored = {kind: to_stored_path(value) for kind, value in identities}
    keys = {kind: key for kind, value in stored.items() for (key,) in ask(PROJECT_BY_IDENTITY, (kind, value))}
    key = next(iter(keys.values()), None)
    if key is not None and "mark" in stored and not keys.keys() & {"mark", "remote"}:
        return None if ask(HAS_OTHER_REPOSITORY, (key, stored["dir"])) else key
    return key


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
    found = []
    for name, why in sources:
        for (key,) in ask(THEME_KEY, (name,)):
            default_id = key if name == DEFAULT else None
            found.append((key, why, "1" if name == theme else format_seen_from(ask, default_id, own, theme)))
    return found
