"""What is selected on a screen, as the values that a custom command takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import Fact, Scope, Session
from hermes_memory_tui.text.display_formats import pluralise

MOST_CALLS = 100
"""Things that one command runs on, each in a program of its own."""


def selected_values(screen: Any, kind: str) -> list[dict[str, str]]:
    """Return the values of the marked rows, else of the one under the cursor.

    :param kind: fact, scope or session
    :raises ArgumentError: nothing of that kind is selected here, or too much
    """
    find: dict[str, Callable[[Any], Iterable[Fact | Scope | Session]]] = {
        "fact": find_facts,
        "scope": find_scopes,
        "session": find_sessions,
    }
    found = list(find[kind](screen))
    if not found:
        raise ArgumentError(f"no {kind} is selected here", kind)
    if len(found) > MOST_CALLS:
        raise ArgumentError(f"{pluralise(len(found), kind)} are marked; a command runs on {MOST_CALLS} at most", kind)
    db = str(screen.memory.path)
    return [values | {"db": db} for values in map(to_values, found)]


def find_facts(screen: Any) -> Iterable[Fact]:
    table = getattr(screen, "table", None)
    if table is not None:
        keys = table.selected_keys[: MOST_CALLS + 1]
        return screen.load_facts(keys) or () if keys else ()
    waiting = getattr(getattr(screen, "data", None), "waiting", ())
    keys = screen.grid.selected_keys if waiting else ()
    return [one.fact for one in waiting if one.fact.uid in keys]


def find_scopes(screen: Any) -> Iterator[Scope]:
    """Yield the selected scopes; in the facts the one of the tree, else that of the fact."""
    tree = getattr(screen, "tree_pane", None)
    if tree is None:
        scopes = getattr(getattr(screen, "data", None), "scopes", ())
        keys = set(screen.grid.selected_keys) if scopes else set()
        yield from (scope for scope in scopes if scope.uid in keys)
    elif tree.place.scope is not None:
        yield tree.place.scope
    elif screen.table.fact is not None and not tree.has_focus:
        of = screen.table.fact
        yield from (one for one in screen.overview.scopes if (one.theme, one.label) == (of.theme, of.scope))


def find_sessions(screen: Any) -> Iterator[Session]:
    data = getattr(screen, "data", None)
    sessions = getattr(data, "sessions", ())
    if sessions:
        keys = set(screen.grid.selected_keys)
        yield from (session for session in sessions if session.uid in keys)
    elif isinstance(getattr(screen, "session", None), Session):
        yield screen.session


def to_values(one: Fact | Scope | Session) -> dict[str, str]:
    """Return what a command may name of a fact, a scope or a session; see `FIELDS`."""
    if isinstance(one, Fact):
        return {
            "uid": one.uid,
            "notation": one.notation,
            "type": one.type.value,
            "target": one.target,
            "content": one.content,
            "tier": one.tier.value,
            "theme": one.theme,
            "scope": one.scope or "",
        }
    if isinstance(one, Scope):
        return {"scope": one.label, "status": one.status.value, "uid": one.uid, "theme": one.theme}
    return {
        "session": one.name,
        "title": one.title,
        "client": one.client or "",
        "project": one.project or "",
        "status": one.status.value,
        "uid": one.uid,
        "theme": one.theme,
        "scope": one.scope or "",
    }
