"""What a project's theme reads of other themes, as SQL: for the store, and for programs that read it without the store."""

from __future__ import annotations

from hermes_memory_store.fact_types import ANSWERS, OPEN_TYPES, TYPE_SYMBOLS, sql_types

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
