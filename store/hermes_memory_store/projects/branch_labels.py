"""Facts marked with the branch they were written on, for the reader whom the current origin names.

The reader is where the present change or read comes from (`Store.attribute`): project, branch and commit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from hermes_memory_store.database.db import Db
from hermes_memory_store.errors import PolicyInvalid
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.items.project_rows import FIND_PROJECT, fold_project_name
from hermes_memory_store.model import Fact, Origin
from hermes_memory_store.notation.token_estimate import estimate_tokens
from hermes_memory_store.places.branch_marks import (
    BranchMark,
    HotPlace,
    WrittenAt,
    add_stale_places,
    find_branch_marks,
    is_lowered,
    place_marked_facts,
)
from hermes_memory_themes import Policies, PolicyError

MARK, HOLD, OFF = "mark", "hold", "off"
"""Values of a theme's `branches`."""

Whereabouts = tuple[str | None, str | None, str | None]
"""Name of a project, branch and commit."""

LOWERED_SCORE = 0.5
"""What the score of a fact of an unmerged branch is worth beside others."""


@dataclass(frozen=True, slots=True)
class MarkedFact:
    fact: Fact
    mark: BranchMark | None = None
    is_lowered: bool = False
    """Whether it is ranked behind others."""
    stale: str = ""
    """The label of one whose cited lines changed."""

    @property
    def line(self) -> str:
        """The fact's notation, and behind it the labels of its branch and of its citations."""
        return " ".join(filter(None, (self.fact.notation, self.mark and self.mark.label, self.stale)))


def to_marked_fact(fact: Fact, place: HotPlace | None) -> MarkedFact:
    return MarkedFact(fact) if place is None else MarkedFact(fact, place.mark, place.is_lowered, place.stale)


@dataclass(frozen=True, slots=True)
class MarkedFacts:
    """Facts as they are given, in their order, without those that are held back."""

    given: Sequence[MarkedFact]
    held: Sequence[MarkedFact] = ()

    @property
    def held_note(self) -> str | None:
        """A sentence that counts what is held back, and says how to see it."""
        if not self.held:
            return None
        names = sorted(
            {marked.fact.origin.branch for marked in self.held if marked.fact.origin.branch and not marked.stale}
        )
        count = f"{len(self.held)} fact{'s' if len(self.held) > 1 else ''}"
        if all(marked.stale for marked in self.held):
            return f"{count} with changed citations held back; `hermes-memory-tui verify` shows them"
        return f"{count} of unmerged branches held back; to see them search with branch:{names[0] if names else 'NAME'}"


StartRow = tuple[Any, ...]
"""A row of `START_FACTS`: of a fact its key, type, whether it is pinned …, with the keys of its actor and origin."""


CITING = """
    SELECT id, cites, origin_id, target, content FROM facts WHERE id IN (SELECT value FROM json_each(?)) AND cites IS NOT NULL
"""

Key = TypeVar("Key")


class BranchLabels:
    def __init__(self, db: Db, names: Names, policies: Policies) -> None:
        self._db = db
        self._names = names
        self._policies = policies
        self._version: tuple[Whereabouts, tuple[int, int]] | None = None
        self._marks: dict[Whereabouts, BranchMark | None] = {}
        """What was found for the newest reader, in that state of the store."""
        self._keys: dict[str, int] = {}
        """Keys of projects by name: a name that a project had is never that of another one."""
        db.on_rollback(self._keys.clear)

    def find_marks(self, theme: str, origins: Iterable[Origin]) -> Mapping[Whereabouts, BranchMark]:
        """Return the marks of those of these origins that have one, by `whereabouts`."""
        reader = whereabouts(self._names.origins.current())
        places = {place for origin in origins if is_apart(place := whereabouts(origin), reader)}
        if not places or self._setting(theme) == OFF:
            return {}
        version = reader, self._db.state()
        if version != self._version:  # what was found for the same reader holds until the store changes
            self._version, self._marks = version, {}
        missing = [place for place in places if place not in self._marks]
        if missing:
            keys = {name: self._project_key(name) for name in {place[0] for place in (*missing, reader)}}
            written = {place: WrittenAt(keys[place[0]], *place[1:]) for place in (*missing, reader)}
            marks = find_branch_marks(self._db.rows, {written[place] for place in missing}, written[reader])
            self._marks |= {place: marks.get(written[place]) for place in missing}
        return {place: mark for place in places if (mark := self._marks[place]) is not None}

    def _setting(self, theme: str) -> str:
        """Return what a theme's policy says of branches; with a mistake in the file nothing is held back, and reads go on."""
        try:
            return self._policies.for_theme(theme).branches
        except (PolicyError, PolicyInvalid):
            return MARK

    def mark(self, facts: Iterable[Fact], *, shown_branches: frozenset[str] = frozenset()) -> MarkedFacts:
        """Return the facts with their marks, without those that their theme holds back.

        :param shown_branches: branches of which nothing is held back, since they were asked for by name
        """
        facts = list(facts)
        given: list[MarkedFact] = []
        held: list[MarkedFact] = []
        marks = {
            theme: self.find_marks(theme, [fact.origin for fact in facts if fact.theme == theme])
            for theme in {fact.theme for fact in facts}
        }
        labels = self._find_stale(
            (fact, fact.cites, fact.origin, fact.target, fact.content) for fact in facts if fact.cites is not None
        )
        for fact in facts:
            mark, stale = marks[fact.theme].get(whereabouts(fact.origin)), labels.get(fact, "")
            lowered = is_lowered(mark, fact.type.value, fact.actor.kind, fact.theme, is_pinned=fact.pinned)
            holds = lowered and fact.origin.branch not in shown_branches and self._setting(fact.theme) == HOLD
            holds = holds or (bool(stale) and self._policies.for_theme(fact.theme).stale == HOLD)
            (held if holds else given).append(MarkedFact(fact, mark, lowered or bool(stale), stale))
        return MarkedFacts(given, held)

    def _find_stale(self, citing: Iterable[tuple[Key, str, Origin, str, str]]) -> dict[Key, str]:
        """Return the labels of facts of the reader's project whose cited lines are not in his working tree as they were."""
        reader = self._names.origins.current()
        cited = [row for row in citing if row[2].project == reader.project]
        if not cited or reader.root is None or reader.project is None:
            return {}
        # Here, not above: few facts cite anything.
        from hermes_memory_store.places.citations import find_stale
        from hermes_memory_store.places.cited_values import FactWords

        return find_stale(reader.root, [(row[0], row[1], FactWords(row[3], row[4])) for row in cited])

    def mark_named(self, fact: Fact) -> MarkedFact:
        """Return one fact with its mark: one that was asked for by its name is never held back."""
        marks = self.find_marks(fact.theme, [fact.origin])
        return MarkedFact(fact, marks.get(whereabouts(fact.origin)))

    def place_hot_facts(self, theme: str, rows: Sequence[StartRow]) -> dict[int, HotPlace]:
        """Return how marks change the places of hot facts, by key; facts without a mark are missing."""
        by_key = self._names.origins.by_key
        origins = {key: by_key(key) for key in {row[7] for row in rows} if key is not None}
        marks = self.find_marks(theme, origins.values())
        places = place_marked_facts(
            rows,
            {key: mark for key, origin in origins.items() if (mark := marks.get(whereabouts(origin)))},
            lambda actor: self._names.actor_by_key(actor).kind,
            theme,
            estimate_tokens,
            holds=self._setting(theme) == HOLD,
        )
        keys = json.dumps([row[0] for row in rows])
        citing = [(row[0], row[1], by_key(row[2]), row[3], row[4]) for row in self._db.rows(CITING, (keys,))]
        stale: dict[int, str] = self._find_stale(citing)
        return add_stale_places(places, stale, estimate_tokens, holds=self._policies.for_theme(theme).stale == HOLD)

    def _project_key(self, name: str | None) -> int | None:
        if name is not None and name not in self._keys:
            key = self._db.value(FIND_PROJECT, (fold_project_name(name),))
            if key is None:
                return None
            self._keys[name] = key
        return None if name is None else self._keys[name]


def whereabouts(origin: Origin) -> Whereabouts:
    return origin.project, origin.branch, origin.commit


def is_apart(place: Whereabouts, reader: Whereabouts) -> bool:
    """Check whether something was written at a branch or commit that is not the reader's, by their names alone."""
    project, branch, commit = place
    if branch is None and commit is None:
        return False
    same = branch == reader[1] if branch is not None else commit == reader[2]
    return not same or project is None or project != reader[0]
