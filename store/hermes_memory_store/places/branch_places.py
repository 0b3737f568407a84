"""How branches change the places of hot facts, for a reader without the store: where some are from another branch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hermes_memory_store.places.branch_marks import HotPlace, WrittenAt, find_branch_marks, is_lowered
from hermes_memory_store.places.place_reading import find_seen_project
from hermes_memory_store.places.project_sighting import read_project, to_project

if TYPE_CHECKING:
    from hermes_memory_store.places.place_queries import Ask

AUTHORS = "SELECT id, kind FROM actors WHERE id IN ({marks})"


def find_hot_places(
    ask: Ask, rows: list[tuple[Any, ...]], written: list[tuple[Any, ...]], theme: str, folder: str, branches: str
) -> dict[int, HotPlace]:
    """Return how marks change the places of facts, by key; facts without a mark are missing.

    :param rows: of `START_FACTS`
    :param written: key of an origin, its project, branch and commit
    :param theme: the agent's own
    """
    places = {key: WrittenAt(project, branch, commit) for key, project, branch, commit in written}
    # By name: a reader without the store imports no other part of it, but where it must.
    estimate_tokens = import_module("hermes_memory_store.notation.token_estimate").estimate_tokens
    marks = find_branch_marks(ask, set(places.values()), find_reader(ask, folder))
    actors = sorted({row[6] for row in rows})
    kinds: dict[int, str] = dict(ask(AUTHORS.format(marks=", ".join("?" * len(actors))), actors))
    found: dict[int, HotPlace] = {}
    for key, kind, pinned, _, _, _, actor_id, origin_id, *_ in rows:
        place = places.get(origin_id)
        mark = None if place is None else marks.get(place)
        if mark is not None:
            lowered = is_lowered(mark, kind, str(kinds.get(actor_id)), theme, is_pinned=bool(pinned))
            found[key] = HotPlace(mark, lowered, lowered and branches == "hold", estimate_tokens(mark.label))
    return found


def find_reader(ask: Ask, folder: str) -> WrittenAt:
    """Return where the agent is that is given the facts."""
    seen = to_project(read_project(folder)) if folder else None
    if seen is None:
        return WrittenAt(None, None, None)
    return WrittenAt(find_seen_project(ask, seen.identities), seen.branch, seen.commit)
