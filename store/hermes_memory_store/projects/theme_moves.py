"""Move facts to another theme, a few by name or a whole theme sorted by project, each move as one change.

A fact's key belongs to its theme, and a theme is what a team exchanges. So a moved fact is a new one with the same words,
times, author and origin, and the old one links to it. Undo takes all of it back; history and sync need to know nothing new.

A split leaves what cannot be decided: where a fact was written says its project; else the session that wrote it, else the
other facts of its scope, else the words it shares with the facts of one project and of no other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from hermes_memory_store import errors, uids
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.intake import repeat_fact, repeat_text
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.kinds import FACT, FACT_COLUMNS, STANDS, FactRow
from hermes_memory_store.items.mutation import Mutation, find_standing_fact
from hermes_memory_store.items.name_keys import Names, to_theme_name
from hermes_memory_store.items.tier_columns import superseded_columns
from hermes_memory_store.memory.fact_lookup import find_facts_by_name
from hermes_memory_store.memory.scopes import record_change
from hermes_memory_store.model import (
    PERSON,
    STANDING_TIERS,
    Actor,
    ChangeResult,
    FactType,
    Notation,
    Uid,
    format_notation,
)
from hermes_memory_store.places.place_reading import PROJECT_OF_THEME
from hermes_memory_store.projects.place_themes import PlaceThemes
from hermes_memory_store.uids import Uids, list_uids
from hermes_memory_themes import ThemeName
from hermes_memory_themes.theme_identity import DEFAULT, PERSONAL

Progress = Callable[[int, int], None]
"""Called with the facts moved so far and the total."""


class ThemeMoves:
    def __init__(self, db: Db, names: Names, journal: Journal) -> None:
        self._db = db
        self._names = names
        self._journal = journal

    def move(self, names: Uids, theme: str, *, actor: Actor = PERSON, within: str | None = None) -> ChangeResult:
        """Move facts to another theme, as one change.

        :param names: one uid or many, whole or at least six digits of their beginning or end
        :param within: the theme they are looked up in; None for all
        :raises UnknownFact: AmbiguousUid, UnknownTheme, ThemeInvalid
        :raises FactConflict: one of them does not stand, as one that waits for a person; nothing was changed then
        """
        theme_id = None if within is None else self._names.theme(within)
        rows = find_facts_by_name(self._db, list_uids(names), theme_id)
        return self.move_rows([(row.uid, to_theme_name(theme)) for row in rows], op="move", actor=actor)

    @retry_without_index
    def move_rows(
        self,
        moves: Sequence[tuple[bytes, ThemeName]],
        *,
        op: str,
        actor: Actor = PERSON,
        progress: Progress | None = None,
        projects: Mapping[ThemeName, str | None] | None = None,
    ) -> ChangeResult:
        """Move facts, each to a theme of its own, as one change; one that is there already stays.

        :param moves: uids and themes
        :param projects: in which facts were written that go to a theme, where that is found out only now
        :raises UnknownFact: FactConflict; nothing was changed then
        """
        with self._db.write_transaction() as conn:
            change = Mutation(conn, self._names, self._journal, actor)
            keys = {theme: self._names.theme_for_writing(conn, theme, change.now) for _, theme in moves}
            for number, (uid, theme) in enumerate(moves, 1):
                row = change.fact_row(uid)
                if row is None:
                    raise errors.UnknownFact(uid.hex())
                if row.theme_id != keys[theme]:
                    move_row(change, row, keys[theme], op, (projects or {}).get(theme))
                if progress is not None and number % 500 == 0:
                    progress(number, len(moves))
            return record_change(change)


STANDING_ROWS = f"SELECT {FACT_COLUMNS} FROM facts f WHERE theme_id = ? AND {STANDS} ORDER BY id"

CARRIED = frozenset(FACT.names) - {"scope", "type", "target", "content", *FACT.links}
"""What a fact keeps besides what it says."""

COPY_READS = (
    "INSERT OR IGNORE INTO reads SELECT ?, times, last_at FROM reads WHERE fact_id = ?",
    "INSERT OR IGNORE INTO fact_uses SELECT ?, given, used, last_used_at, contradicted FROM fact_uses WHERE fact_id = ?",
)
"""How often it was read and used decides what an agent is given first."""


def move_row(change: Mutation, row: FactRow, theme_id: int, op: str, project: str | None) -> None:
    """Write a fact to another theme, unless one stands in its place there, and supersede the one it was."""
    if row.tier not in STANDING_TIERS:
        raise errors.FactConflict(
            f"{row.type}[{row.target}] is {row.tier} and cannot be moved to another theme; restore it first", row.tier
        )
    names = change.names
    (label,) = change.conn.execute("SELECT label FROM scopes WHERE id = ?", (row.scope_id,)).fetchone()
    scope = change.scope_for_writing(theme_id, repeat_text(label) if label else None)
    standing = find_standing_fact(change.conn, scope.id, row.type, row.target)
    uid = change.new_uid() if standing is None else standing.uid
    change.update_fact(row, op, keep_time=True, **superseded_columns(uid), pinned=0)
    if standing is not None:
        return
    origin = names.origins.by_key(row.origin_id, row.origin_detail)
    moved = change.insert_fact(
        theme_id,
        scope,
        repeat_fact(Notation(FactType(row.type), row.target, row.content)),
        uid=uid,
        by=names.actor_by_key(row.actor_id),
        origin=replace(origin, project=project) if project and origin.project else origin,
        **{name: getattr(row, name) for name in CARRIED},
    )
    for copy in COPY_READS:
        change.conn.execute(copy, (moved.id, row.id))


MIN_SHARED_WORDS = 2
"""Words that a fact must share with one project alone."""

MIN_WORD = 3
"""Characters of a word that counts."""

ORIGIN_PROJECTS = """
    SELECT o.id, coalesce(q.joined_id, q.id, p.joined_id, p.id) FROM origins o
      LEFT JOIN project_aliases a ON a.kind = 'path' AND a.value = o.root
        AND a.seen_at <= (SELECT min(created_at) FROM facts WHERE origin_id = o.id)
      LEFT JOIN projects q ON q.id = a.project_id LEFT JOIN projects p ON p.id = o.project_id
    WHERE o.theme_id = ? AND coalesce(q.id, p.id) IS NOT NULL
"""
"""The project whose path it was written at, if that was seen by then, says more than what the two were taken for."""

STRAYS = f"""
    SELECT t.theme, count(*) FROM place_themes t JOIN projects own ON own.id = t.project_id JOIN themes n ON n.name = t.theme
      JOIN origins o ON o.theme_id = n.id JOIN project_aliases a ON a.kind = 'path' AND a.value = o.root
      JOIN projects q ON q.id = a.project_id JOIN facts f ON f.origin_id = o.id JOIN projects p ON p.id = o.project_id
    WHERE coalesce(p.joined_id, p.id) = coalesce(own.joined_id, own.id)
      AND f.tier IN ('hot', 'cold', 'archived') AND a.seen_at <= f.created_at
      AND coalesce(q.joined_id, q.id) <> coalesce(own.joined_id, own.id)
      AND (t.theme = ?1 OR coalesce(q.joined_id, q.id) = ({PROJECT_OF_THEME.strip().replace("?", "?1")}))
    GROUP BY 1 ORDER BY 1
"""

ORIGIN_SESSIONS = "SELECT id, session FROM origins WHERE theme_id = ? AND session IS NOT NULL"

SESSION_PROJECTS = """
    SELECT n.name, coalesce(p.joined_id, p.id) FROM sessions n JOIN projects p ON p.id = n.project_id WHERE n.theme_id = ?
"""

LABELLED_SCOPES = "SELECT id FROM scopes WHERE theme_id = ? AND label <> ''"

PROJECT_NAMES = "SELECT id, name FROM projects WHERE joined_id IS NULL"


class Reason(StrEnum):
    """By what the project of a fact was decided."""

    ORIGIN = "written there"
    SESSION = "written by a session there"
    SCOPE = "of a scope whose other facts were written there"
    WORDS = "shares words with that project alone"
    PERSONAL = "about the person, their machine or their way of working"


@dataclass(frozen=True, slots=True)
class SplitMove:
    uid: Uid
    notation: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class SplitGroup:
    theme: ThemeName
    project: str | None
    """None for the person's own facts."""
    moves: tuple[SplitMove, ...]


@dataclass(frozen=True, slots=True)
class SplitPlan:
    source: ThemeName
    groups: tuple[SplitGroup, ...]
    left: tuple[tuple[Uid, str], ...]
    """Uids and notations of facts that nothing decides; every project is still given them."""

    @property
    def moved_count(self) -> int:
        return sum(len(group.moves) for group in self.groups)


class ThemeSplit:
    def __init__(self, db: Db, names: Names, places: PlaceThemes, moves: ThemeMoves) -> None:
        self._db = db
        self._names = names
        self._places = places
        self._moves = moves

    def plan(self, source: str = DEFAULT) -> SplitPlan:
        """Return what the split of a theme would move, and why. Nothing is changed.

        :raises ArgumentError: projects have no themes of their own here
        :raises UnknownTheme: there is no such theme
        """
        self._refuse_unplaced()
        with self._db.snapshot() as conn:
            theme_id = self._names.theme(source)
            own = ThemeName(self._names.theme_name(theme_id))
            rows = [FactRow(*row) for row in conn.execute(STANDING_ROWS, (theme_id,))]
            of_places = (ORIGIN_PROJECTS, ORIGIN_SESSIONS, SESSION_PROJECTS)
            places = KnownPlaces(*(dict(conn.execute(sql, (theme_id,)).fetchall()) for sql in of_places))
            decided = {row.uid: decision for row in rows if (decision := self._decide_by_itself(places, row))}
            labelled = {key for (key,) in conn.execute(LABELLED_SCOPES, (theme_id,))}
            decide_by_scope(rows, decided, labelled)
            decide_by_words(rows, decided)
            projects = dict(conn.execute(PROJECT_NAMES).fetchall())
            taken: dict[int, ThemeName] = {}
            groups: dict[ThemeName, tuple[str | None, list[SplitMove]]] = {}
            left = []
            for row in rows:
                project, reason = decided.get(row.uid, (None, None))
                notation = format_notation(row.type, row.target, row.content)
                theme = None
                if reason is Reason.PERSONAL:
                    theme = PERSONAL
                elif project is not None:
                    theme = taken.get(project) or self._places.plan_theme(conn, project, list(taken.values()))
                    taken[project] = theme
                uid = uids.format_uid(row.uid)
                if theme is None or reason is None:
                    left.append((uid, notation))
                elif theme != own:
                    name = None if project is None else projects.get(project)
                    groups.setdefault(theme, (name, []))[1].append(SplitMove(uid, notation, reason))
        made = [SplitGroup(theme, project, tuple(moves)) for theme, (project, moves) in groups.items()]
        made.sort(key=lambda group: (-len(group.moves), group.theme))
        return SplitPlan(own, tuple(made), tuple(left))

    def count_strays(self, theme: str) -> dict[str, int]:
        """Return how many facts that were written at the path of another project stand in a theme, or where its own do."""
        return dict(self._db.rows(STRAYS, (theme,)))

    def split(self, plan: SplitPlan, *, actor: Actor = PERSON, progress: Progress | None = None) -> ChangeResult:
        """Move the facts of a plan as one change, which one undo takes back.

        :raises FactConflict: one of them changed meanwhile so that it cannot be moved; nothing was changed then
        """
        self._refuse_unplaced()
        moves: list[tuple[bytes, ThemeName]] = []
        projects: dict[ThemeName, str | None] = {}
        with self._db.write_transaction():
            for group in plan.groups:
                theme = group.theme if group.project is None else self._places.theme_of_project(group.project)
                projects[theme] = group.project
                moves += [(uids.parse_uid(move.uid), theme) for move in group.moves]
            return self._moves.move_rows(moves, op="split", actor=actor, progress=progress, projects=projects)

    def _refuse_unplaced(self) -> None:
        if not self._places.is_by_project:
            raise errors.ArgumentError(
                "every place has one theme here, so there is nothing to split it by; choose projects first with `theme adopt`",
                DEFAULT,
            )

    def _decide_by_itself(self, places: KnownPlaces, row: FactRow) -> tuple[int | None, Reason] | None:
        if self._places.is_personal_target(row.target):
            return None, Reason.PERSONAL
        if row.origin_id in places.of_origins:
            return places.of_origins[row.origin_id], Reason.ORIGIN
        author = self._names.actor_by_key(row.actor_id)
        for session in (places.sessions.get(row.origin_id or 0), author.name if author.kind == "session" else None):
            if session in places.of_sessions:
                return places.of_sessions[session], Reason.SESSION
        return None


@dataclass(frozen=True, slots=True)
class KnownPlaces:
    of_origins: dict[int, int]
    sessions: dict[int, str]
    """Names of sessions by origin."""
    of_sessions: dict[str, int]


Decided = dict[bytes, tuple[int | None, Reason]]
"""Projects of facts by uid, and why."""


def decide_by_scope(rows: Sequence[FactRow], decided: Decided, labelled: Collection[int]) -> None:
    """Decide the rest of each scope whose decided facts are all of one project.

    :param labelled: keys of scopes with a label: facts of none have nothing in common
    """
    projects: dict[int, set[int]] = defaultdict(set)
    for row in rows:
        project = decided.get(row.uid, (None, None))[0]
        if project is not None:
            projects[row.scope_id].add(project)
    for row in rows:
        if row.uid not in decided and row.scope_id in labelled and len(projects[row.scope_id]) == 1:
            decided[row.uid] = next(iter(projects[row.scope_id])), Reason.SCOPE


def decide_by_words(rows: Sequence[FactRow], decided: Decided) -> None:
    """Decide facts that share several words with the facts of one project, and none that are another's alone."""
    owners: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        project = decided.get(row.uid, (None, None))[0]
        for word in fact_words(row):
            if project is not None:
                owners[word].add(project)
    telling = {word: next(iter(projects)) for word, projects in owners.items() if len(projects) == 1}
    several = {project for projects in owners.values() for project in projects}
    if len(several) < 2:
        return  # with a single project every word is its own
    for row in rows:
        if row.uid not in decided:
            shared = Counter(telling[word] for word in fact_words(row) if word in telling)
            if len(shared) == 1 and shared.total() >= MIN_SHARED_WORDS:
                decided[row.uid] = next(iter(shared)), Reason.WORDS


def fact_words(row: FactRow) -> Iterable[str]:
    # Here, not above: these take milliseconds to import, which only a split should cost.
    from hermes_memory_store.language.stop_words import stop_forms
    from hermes_memory_store.language.tokenizer import split_runs

    words = set(split_runs(f"{row.target} {row.content}")) - stop_forms()
    return {word for word in words if len(word) >= MIN_WORD and not word.isdigit()}
