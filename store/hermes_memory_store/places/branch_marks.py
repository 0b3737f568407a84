"""Which facts were written on a branch that is not merged, by what is stored of it, and how that changes their places.

For a reader in the same project on the same branch, or on the default branch as far as it was looked at, a state is known;
whatever is not known is undecided, and given.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hermes_memory_store.places.git_files import USUAL_DEFAULTS
from hermes_memory_store.places.place_reading import PERSONAL, FolderPlace, find_folder_place

if TYPE_CHECKING:
    from hermes_memory_store.places.place_reading import Ask

UNMERGED, UNDECIDED = "unmerged", "undecided"

DETACHED = "@"
"""Stands for the branch of a reader whose HEAD is detached: no branch can have this name."""

ERASED = "(purged)"
"""What stands for a branch whose name was erased."""

MAX_NAME = 40
"""Characters of a branch's name in a label."""

STATES = """
    WITH wanted AS (
      SELECT key AS n, value ->> 0 AS project_id, coalesce(value ->> 1, '') AS branch, value ->> 2 AS commit_id
      FROM json_each(?1)
    )
    SELECT w.n, b.name, d.state, d.target_commit, r.state
    FROM wanted w
    LEFT JOIN project_branches b ON b.project_id = w.project_id AND b.is_default = 1
    LEFT JOIN branch_states d ON d.project_id = w.project_id AND d.branch = w.branch AND d.commit_id = w.commit_id
      AND d.target = ''
    LEFT JOIN branch_states r ON r.project_id = w.project_id AND r.branch = w.branch AND r.commit_id = w.commit_id
      AND r.target = ?2 AND r.target_commit = ?3
"""


class WrittenAt(NamedTuple):
    project: int | None
    """The key of its project, of the one that this has joined; None: unknown here."""
    branch: str | None
    commit: str | None


class BranchMark(NamedTuple):
    state: str
    """`unmerged`: known to be so, and elsewhere; `undecided`."""
    branch: str | None
    commit: str | None

    @property
    def label(self) -> str:
        """What stands behind the fact: `(branch pay)`, with a question mark where it is undecided."""
        unsure = "?" if self.state == UNDECIDED else ""
        if not self.branch:
            return f"(commit {(self.commit or '')[:7]}{unsure})"
        name = self.branch if len(self.branch) <= MAX_NAME else f"{self.branch[: MAX_NAME - 1]}…"
        return f"(branch {name}{unsure})"


class HotPlace(NamedTuple):
    """How a mark changes the place of a hot fact in a context block."""

    mark: BranchMark | None
    is_lowered: bool
    is_held: bool
    tokens: int
    """What the labels cost."""
    stale: str = ""
    """The label of a fact whose cited lines changed."""

    @property
    def labels(self) -> str:
        return " ".join(filter(None, (self.mark and self.mark.label, self.stale)))


def find_branch_marks(
    rows: Callable[[str, Sequence[Any]], Sequence[Sequence[Any]]], places: Collection[WrittenAt], reader: WrittenAt
) -> dict[WrittenAt, BranchMark]:
    """Return the marks of those of these places that have one: one statement, none where no fact is from another branch.

    :param rows: runs a statement on a store of this version
    :param reader: where the agent is that is given the facts
    """
    distant = [place for place in places if is_elsewhere(place, reader)]
    if not distant:
        return {}
    target = reader.branch or (DETACHED if reader.commit else "")
    marks: dict[WrittenAt, BranchMark] = {}
    arguments = (json.dumps([list(place) for place in distant]), target, reader.commit or "")
    for n, default, of_default, default_commits, of_reader in rows(STATES, arguments):
        place = distant[int(n)]
        if is_default_branch(place, default) or "merged" in (of_default, of_reader):
            continue
        unmerged = of_default == UNMERGED
        if unmerged and place.project == reader.project:
            on_default = reader.branch is not None and is_default_branch(reader, default)
            is_examined = (reader.commit or "") in default_commits if on_default else of_reader == UNMERGED
            unmerged = is_examined and reader.branch is not None
        marks[place] = BranchMark(UNMERGED if unmerged else UNDECIDED, place.branch, place.commit)
    return marks


def is_elsewhere(place: WrittenAt, reader: WrittenAt) -> bool:
    """Check whether a fact may be from another branch than the reader's."""
    if (place.branch is None and place.commit is None) or ERASED in (place.branch, place.commit):
        return False
    return (
        place.project != reader.project
        or place.project is None
        or (place.branch or place.commit) != (reader.branch if place.branch else reader.commit)
    )


def is_default_branch(place: WrittenAt, default: str | None) -> bool:
    """Check whether a place is on its project's default branch. :param default: its name; None: it is not known"""
    return place.branch == default if default is not None else place.branch in USUAL_DEFAULTS


def is_lowered(mark: BranchMark | None, fact_type: str, author: str, theme: str, *, is_pinned: bool = False) -> bool:
    """Check whether a fact is ranked lower, or held back where the theme says so.

    Constraints, what a person wrote, the person's own facts, and what is pinned never are.

    :param author: the kind of its actor
    :param theme: the name of the theme it is in
    """
    if mark is None or mark.state != UNMERGED:
        return False
    return not (fact_type == "C" or author == "person" or theme == PERSONAL or is_pinned)


def place_marked_facts(
    rows: Iterable[tuple[Any, ...]],
    marks: Mapping[Any, BranchMark],
    author_of: Callable[[int], str],
    theme: str,
    count: Callable[[str], int],
    *,
    holds: bool,
) -> dict[int, HotPlace]:
    """Return how marks change the places of hot facts, by key; facts without a mark are missing.

    :param rows: of `START_FACTS`
    :param marks: by key of the origin
    :param author_of: returns the kind of an actor
    :param theme: the agent's own
    :param count: counts the tokens of a label
    :param holds: whether what is lowered is held back
    """
    places: dict[int, HotPlace] = {}
    for key, kind, pinned, _, _, _, actor_id, origin_id, *_ in rows:
        mark = marks.get(origin_id)
        if mark is not None:
            lowered = is_lowered(mark, kind, author_of(actor_id), theme, is_pinned=bool(pinned))
            places[key] = HotPlace(mark, lowered, lowered and holds, count(mark.label))
    return places


def add_stale_places(
    places: Mapping[int, HotPlace], stale: Mapping[int, str], count: Callable[[str], int], *, holds: bool
) -> dict[int, HotPlace]:
    """Return places with those of facts whose cited lines changed, which come behind all others."""
    added: dict[int, HotPlace] = dict(places)
    for key, label in stale.items():
        place = places.get(key) or HotPlace(None, is_lowered=True, is_held=False, tokens=0)
        is_held, tokens = place.is_held or holds, place.tokens + count(label)
        added[key] = HotPlace(place.mark, is_lowered=True, is_held=is_held, tokens=tokens, stale=label)
    return added


def read_hot_places(
    ask: Ask,
    rows: list[tuple[Any, ...]],
    written: list[tuple[Any, ...]],
    theme: str,
    folder: str,
    count: Callable[[str], int],
    *,
    holds: bool,
) -> dict[int, HotPlace]:
    """Return how branches change the places of facts, by key, for a reader without the store.

    :param written: key of an origin, its project, branch and commit
    """
    places = {key: WrittenAt(project, branch, commit) for key, project, branch, commit in written}
    marks = find_branch_marks(ask, set(places.values()), find_reader(ask, folder))
    actors = sorted({row[6] for row in rows})
    sql = f"SELECT id, kind FROM actors WHERE id IN ({', '.join('?' * len(actors))})"
    authors: dict[int, str] = dict(ask(sql, actors))
    by_origin = {key: marks[place] for key, place in places.items() if place in marks}
    return place_marked_facts(rows, by_origin, lambda actor: str(authors.get(actor)), theme, count, holds=holds)


def find_reader(ask: Ask, folder: str) -> WrittenAt:
    place = find_folder_place(ask, folder) if folder else FolderPlace()
    return WrittenAt(place.project, place.branch, place.commit)
