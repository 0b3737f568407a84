"""Themes of places: each project has one of its own, unless the store's person keeps `default` for every place.

A store that was there before keeps `default` until its person chooses; a new one starts with projects. What stands in
`default` is still given and found where it was written, and what was written in no known place everywhere, until it is split.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from enum import StrEnum

from hermes_memory_store import uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.database.db import Db
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.items.journal import Journal, JournalEntry
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.items.project_rows import PLACES, project_key, to_project_name, write_place_choice
from hermes_memory_store.model import PERSON, Actor, Fact, FactFilter, Millis
from hermes_memory_store.places.place_reading import (
    PLACE_CHOICE,
    PROJECT_OF_THEME,
    THEME_OF_PROJECT,
    find_readable_themes,
    is_person_target,
    reads_personal,
)
from hermes_memory_store.places.project_sighting import ProjectSighting, to_project
from hermes_memory_store.projects.projects import Projects
from hermes_memory_themes import Policies, ThemeName
from hermes_memory_themes.theme_identity import DEFAULT, MAX_THEME, PERSONAL, find_normal_form

NAMELESS_THEME = ThemeName("project")
"""Theme of a project whose name cannot be one."""

IS_TAKEN = """
    SELECT 1 FROM themes WHERE name = ?1 UNION ALL SELECT 1 FROM place_themes WHERE theme = ?1
    UNION ALL SELECT 1 FROM credentials WHERE theme = ?1 LIMIT 1
"""

CAME_FROM_TEAM = """
    SELECT 1 FROM themes t JOIN sync_themes y ON y.theme_id = t.id
    WHERE t.name = ?1 AND y.seq > 0 AND t.name NOT IN (SELECT theme FROM place_themes) AND EXISTS (
      SELECT 1 FROM facts f JOIN origins o ON o.id = f.origin_id JOIN projects p ON p.id = o.project_id
      WHERE f.theme_id = t.id AND o.way = 'team' AND coalesce(p.joined_id, p.id) = ?2
    )
"""
"""Finds an exchanged theme of no project with facts that others wrote in this one."""

WRITTEN_IN = """
    SELECT coalesce(p.joined_id, p.id), count(*) FROM facts f JOIN origins o ON o.id = f.origin_id
      JOIN projects p ON p.id = o.project_id
    WHERE f.theme_id = ? AND f.tier <> 'withdrawn' GROUP BY 1 ORDER BY 2 DESC
"""

STANDING_ELSEWHERE = """
    SELECT t.name, count(*) FROM facts f JOIN themes t ON t.id = f.theme_id
    WHERE f.tier IN ('hot', 'cold', 'archived') AND t.name NOT IN (?, 'personal') GROUP BY 1 ORDER BY 2 DESC, 1
"""

PORTABLE_IDENTITIES = """
    SELECT kind, value FROM project_aliases
    WHERE project_id = ? AND kind IN ('remote', 'root') AND value NOT LIKE 'file:%' ORDER BY seen_at, kind, value LIMIT 100
"""


class Places(StrEnum):
    """By what a theme is chosen where nobody names one."""

    DEFAULT = "default"
    PROJECTS = "projects"


class Relation(StrEnum):
    """Why a theme is read."""

    OWN = "own"
    JOINED = "joined"
    """The theme of a project that has joined this one."""
    INHERITED = "inherited"
    """`default`, as far as it was written here or in no known place."""
    PERSONAL = "personal"


@dataclass(frozen=True, slots=True)
class ReadableTheme:
    """A theme that an agent of some theme reads, and what of it."""

    name: ThemeName
    relation: Relation
    seen_from: ThemeName | None = None
    """The agent's own theme where this is another: see `FactFilter.seen_from`."""

    @property
    def filter(self) -> FactFilter:
        return FactFilter(theme=self.name, seen_from=self.seen_from)


@dataclass(frozen=True, slots=True)
class PlannedPlace:
    project: str
    theme: ThemeName
    facts: int
    """How many of `default` were written there."""


@dataclass(frozen=True, slots=True)
class AdoptionPlan:
    """What is so once projects have themes of their own."""

    places: tuple[PlannedPlace, ...]
    unplaced: int
    """Facts of `default` that were written in no known place: every project is given them until they are split."""
    is_adopted: bool
    """Whether it is so already."""


class PlaceThemes:
    def __init__(
        self, db: Db, names: Names, journal: Journal, policies: Policies, clock: Clock, projects: Callable[[], Projects]
    ) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._policies = policies
        self._clock = clock
        self._projects = projects

    @property
    def choice(self) -> Places:
        """Return what was chosen; `default` where nothing says."""
        return Places.PROJECTS if self._db.value(PLACE_CHOICE) == Places.PROJECTS else Places.DEFAULT

    @property
    def chosen_at(self) -> Millis | None:
        """Return when the store's person chose; None: nobody has."""
        at = self._db.value("SELECT chosen_at FROM place_choice")
        return None if at is None else Millis(at)

    @property
    def is_by_project(self) -> bool:
        """Check whether projects have themes of their own: chosen so, and not turned off in memory-themes.toml."""
        return self._policies.has_project_themes and self.choice is Places.PROJECTS

    @property
    def is_undecided(self) -> bool:
        """Check whether the person of a store that was there before has still to choose."""
        return self._policies.has_project_themes and self.choice is Places.DEFAULT and self.chosen_at is None

    def theme_of(self, seen: ProjectSighting | None) -> ThemeName:
        """Return the theme of a place; that of a project which is seen for the first time is made.

        `default` for a place in no project, and for all where projects have none of their own. A store that is open for
        reading names the theme that a new project would have.

        :raises StoreLocked: DiskFull; the theme of a new project could not be written down
        """
        theme = self.find_known(seen)
        if theme is not None:
            return theme
        assert seen is not None
        project = self._projects().recognise(seen)
        if project is None:
            with self._db.snapshot() as conn:
                return find_free_theme(conn, to_project_name(seen.label))
        return self.theme_of_project(project)

    def find_known(self, seen: ProjectSighting | None) -> ThemeName | None:
        """Return the theme of a place as `theme_of` does, None where it is still to be made. Nothing is written."""
        seen = to_project(seen)
        if seen is None or not self.is_by_project:
            return DEFAULT
        project = self._projects().find(seen)
        if project is None:
            return None
        with self._db.snapshot() as conn:
            return next(iter(find_project_themes(conn, project_key(conn, project))), None)

    def theme_of_project(self, project: str) -> ThemeName:
        """Return the theme of a project by its name, made when it has none. :raises StoreLocked: DiskFull"""
        with self._db.snapshot() as conn:
            key = project_key(conn, project)
            themes = find_project_themes(conn, key)
            if themes or self._db.read_only:
                return themes[0] if themes else find_free_theme(conn, project)
        with self._db.write_transaction() as conn:
            themes = find_project_themes(conn, key)
            if themes:
                return themes[0]
            theme = find_team_theme(conn, key, project) or find_free_theme(conn, project)
            conn.execute("INSERT INTO place_themes VALUES (?, ?, ?)", (key, theme, self._clock()))
        return theme

    def plan_theme(self, conn: sqlite3.Connection, key: int, planned: list[ThemeName]) -> ThemeName:
        """Return the theme that the project with a key has, or would have beside others that are planned."""
        themes = find_project_themes(conn, key)
        (name,) = conn.execute("SELECT name FROM projects WHERE id = ?", (key,)).fetchone()
        return themes[0] if themes else find_team_theme(conn, key, name) or find_free_theme(conn, name, planned)

    def project_of(self, theme: str) -> str | None:
        """Return the name of the project whose theme this is; None where it is none of a project."""
        key = self._db.value(PROJECT_OF_THEME, (theme,))
        return None if key is None else str(self._db.value("SELECT name FROM projects WHERE id = ?", (key,)))

    def readable(self, theme: str, *, personal: bool = True, sealed: bool = False) -> tuple[ReadableTheme, ...]:
        """Return what an agent of a theme reads: its own theme first, then `default` as far as it concerns it, then personal.

        :param personal: whether it may read the person's own facts
        :param sealed: it reads no theme but its own and, with `personal`, the person's, as agents with a token do
        """
        own = find_normal_form(theme) or ThemeName(theme)
        if not self._policies.has_project_themes:
            return (ReadableTheme(own, Relation.OWN),)
        themes = [
            ReadableTheme(ThemeName(name), Relation(relation), None if name == own else own)
            for name, relation in find_readable_themes(self._db.rows, own, sealed=sealed)
        ]
        if personal and reads_personal(self._db.rows, own):
            themes.append(ReadableTheme(PERSONAL, Relation.PERSONAL, own))
        return tuple(themes)

    def count_elsewhere(self, theme: str) -> dict[str, int]:
        """Return how many facts stand in other themes, the most first: for a person, and none of an agent's business."""
        return dict(self._db.rows(STANDING_ELSEWHERE, (theme,)))

    def list_identities(self, theme: str) -> list[str] | None:
        """Return what the project of a theme is recognised by on every machine, each as its kind and value.

        None for a theme of no project. Empty for one that only this machine can recognise, by its path, and for that of a
        project which has joined another one: of two themes of one project, the first stands for it.
        """
        key = self._db.value(PROJECT_OF_THEME, (theme,))
        if key is None:
            return None
        is_first = self._db.value(THEME_OF_PROJECT, (key,)) == theme
        return [f"{kind} {value}" for kind, value in self._db.rows(PORTABLE_IDENTITIES, (key,))] if is_first else []

    def is_seen(self, fact: Fact, own: str) -> bool:
        """Check whether a fact of another theme was written where the project of a theme is, or in no known place."""
        if fact.theme != DEFAULT or fact.theme == own:
            return True
        condition = self._names.seen_from_condition([fact.theme], own)
        return self._db.value(f"SELECT 1 FROM facts f WHERE f.id = ? AND {condition}", (fact.id,)) is not None

    def is_personal_target(self, target: str) -> bool:
        """Check whether facts of this target belong to the personal theme: only where projects have themes of their own."""
        return self.is_by_project and is_person_target(target)

    def plan_adoption(self) -> AdoptionPlan:
        """Return what is so once projects have themes of their own. Nothing is changed."""
        with self._db.snapshot() as conn:
            default_id = self._names.theme_or_none(DEFAULT) or 0
            written = conn.execute(WRITTEN_IN, (default_id,)).fetchall()
            sql = "SELECT count(*) FROM facts WHERE theme_id = ? AND tier <> 'withdrawn'"
            total = conn.execute(sql, (default_id,)).fetchone()[0]
            taken: list[ThemeName] = []
            places = []
            for key, facts in written:
                (name,) = conn.execute("SELECT name FROM projects WHERE id = ?", (key,)).fetchone()
                taken.append(self.plan_theme(conn, key, taken))
                places.append(PlannedPlace(name, taken[-1], facts))
            return AdoptionPlan(
                tuple(places), total - sum(place.facts for place in places), self.choice is Places.PROJECTS
            )

    def adopt(self, *, actor: Actor = PERSON) -> tuple[int, ...]:
        """Choose projects: each has a theme of its own from now on. No fact is moved; undo returns to `default`.

        :return: sequence numbers of the journal; none where it was chosen before
        """
        return self.choose(Places.PROJECTS, actor=actor)

    def keep_default(self, *, actor: Actor = PERSON) -> tuple[int, ...]:
        """Choose `default` for every place, as stores were before. Undo returns to what was chosen."""
        return self.choose(Places.DEFAULT, actor=actor)

    def choose(self, places: Places, *, actor: Actor = PERSON) -> tuple[int, ...]:
        """Choose by what themes are chosen, as one change of the journal."""
        planned = self.plan_adoption().places if places is Places.PROJECTS else ()
        with self._db.write_transaction() as conn:
            if self.choice is places and (self.chosen_at is not None or places is Places.PROJECTS):
                return ()
            now = self._journal.now(conn)
            before = {"places": self.choice.value, "chosen_at": self.chosen_at}
            after = {"places": places.value, "chosen_at": now}
            write_place_choice(conn, places.value, now)
            theme_id = self._names.recorded_theme(conn, DEFAULT, now)
            for place in planned:  # so that what only reads finds them, too
                self.theme_of_project(place.project)
            op = "adopt" if places is Places.PROJECTS else "keep"
            entry = JournalEntry(op, PLACES, uids.new_uid(now), theme_id, before, after)
            return self._journal.append(conn, [entry], actor=actor, at=now)


def find_project_themes(conn: sqlite3.Connection, key: int) -> list[ThemeName]:
    """Return the themes of a project: its own first, then those of projects that have joined it."""
    return [ThemeName(name) for (name,) in conn.execute(THEME_OF_PROJECT, (key,))]


def find_team_theme(conn: sqlite3.Connection, key: int, project: str) -> ThemeName | None:
    """Return the theme of a new project's name where it came from the team before the project was seen here; else None."""
    theme = make_theme_name(project)
    is_common = theme in (DEFAULT, PERSONAL)
    return None if is_common or conn.execute(CAME_FROM_TEAM, (theme, key)).fetchone() is None else theme


def find_free_theme(conn: sqlite3.Connection, project: str, planned: list[ThemeName] | None = None) -> ThemeName:
    """Return the theme that a new project of this name has: its name, or the next that nothing has: `shop-2` …"""
    base = make_theme_name(project)
    theme, number = base, 1
    while theme in (DEFAULT, PERSONAL, *(planned or ())) or conn.execute(IS_TAKEN, (theme,)).fetchone():
        number += 1
        theme = ThemeName(f"{base[: MAX_THEME - len(str(number)) - 1].rstrip('-')}-{number}")
    return theme


def make_theme_name(project: str) -> ThemeName:
    """Return a project's name as a theme can have it; `project` where nothing of it can be one."""
    whole = find_normal_form(project)
    words = [word for word in project.replace("_", "-").replace(" ", "-").split("-") if find_normal_form(word)]
    while whole is None and words:  # too long: as many of its words as fit
        words.pop()
        whole = find_normal_form("-".join(words)) if words else None
    return whole or find_normal_form(project[:MAX_THEME]) or NAMELESS_THEME
