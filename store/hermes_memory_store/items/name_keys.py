"""Names of themes, scopes and actors, and their integer keys."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace

from hermes_memory_store import errors, uids
from hermes_memory_store.database.db import Db
from hermes_memory_store.fact_types import TYPE_SYMBOLS
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.items.origin_rows import OriginRows
from hermes_memory_store.items.session_names import (
    CANDIDATES_SHOWN,
    fold_session_name,
    match_sessions,
    read_session_title,
)
from hermes_memory_store.model import Actor, FactFilter
from hermes_memory_store.places.place_reading import format_seen_from
from hermes_memory_themes import ThemeError, ThemeName, normalise_theme
from hermes_memory_themes.theme_identity import DEFAULT, find_normal_form

UNSCOPED = ""
"""Label of the scope that holds a theme's facts without a scope. It never closes and is never listed."""

SCOPE_BY_LABEL = "SELECT id, uid, label, status FROM scopes WHERE theme_id = ? AND label = ?"

MISNAMED_THEME = """
    SELECT id FROM themes t WHERE name = ?
      AND (EXISTS (SELECT 1 FROM facts WHERE theme_id = t.id AND tier <> 'withdrawn')
        OR EXISTS (SELECT 1 FROM turns WHERE theme_id = t.id)
        OR EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = t.id))
"""
"""A theme whose name is not in normal form, while it holds anything."""

MAX_COMPLETED = 500
"""The newest sessions that a completion looks at."""

KINDS = frozenset({"person", "session", "import", "relief", "sync"})
"""Kinds of actors: they mean something even where none of the kind has written yet."""


@dataclass(frozen=True, slots=True)
class ScopeKey:
    """A scope's key and what a write needs to know of it."""

    id: int
    uid: bytes
    label: str
    status: str


def to_theme_name(name: str) -> ThemeName:
    """Return the normal form of a theme's name, under which alone anything is stored.

    :raises ThemeInvalid: it has none: no agent can have this name
    """
    try:
        return normalise_theme(name)
    except ThemeError as error:
        raise errors.ThemeInvalid(error.message, error.value) from error


class Names:
    """Look up keys by name, and cache those that never change."""

    def __init__(self, db: Db) -> None:
        self._db = db
        self.known_themes: dict[str, int] = {}
        self._known_theme_names: dict[int, str] = {}
        self._known_actors: dict[int, Actor] = {}
        self._known_actor_keys: dict[tuple[str, str], int] = {}
        """By kind and name."""
        self._known_authors: dict[tuple[int, int], Actor] = {}
        """By the keys of the actor and of a theme, in which a session has its title."""
        self._known_titles: dict[tuple[int, str], str] = {}
        self.origins = OriginRows(db)
        db.on_rollback(self.forget)

    def forget(self) -> None:
        for cache in (self.known_themes, self._known_theme_names, self._known_actors, self._known_actor_keys):
            cache.clear()
        self.forget_titles()

    def forget_titles(self) -> None:
        """Clear what is cached of sessions and projects: another process may have given a project another name."""
        self._known_authors.clear()
        self._known_titles.clear()
        self.origins.forget()

    def theme(self, name: str) -> int:
        """Return the key of a theme, as `theme_or_none` finds it.

        :raises UnknownTheme: nothing was ever written to it; with the nearest existing names
        """
        key = self.theme_or_none(name)
        if key is None:
            raise errors.UnknownTheme(name, map(to_given_name, self.all_themes()))
        return key

    def theme_or_none(self, name: str) -> int | None:
        """Return the key of a theme, None when nothing was ever written to it.

        Any name means its normal form. Only a theme that an older version stored under another form is found under exactly
        that form, so that it stays readable until the doctor has moved what it holds.
        """
        if not self._db.conn.in_transaction:
            self._db.look_for_replacement()
        key = self.known_themes.get(name)
        if key is None:
            normal = find_normal_form(name)
            if normal != name:
                key = self._db.value(MISNAMED_THEME, (name,))
                return key if key is not None or normal is None else self.theme_or_none(normal)
            key = self._db.value("SELECT id FROM themes WHERE name = ?", (name,))
            if key is not None:
                self.known_themes[name] = key
                self._known_theme_names[key] = name
        return key

    def find_theme_name(self, name: str) -> str:
        """Return the name by which statements find a theme, which `theme_or_none` finds by its key."""
        if name in self.known_themes:
            return name
        key = self.theme_or_none(name)
        return find_normal_form(name) or name if key is None else self.theme_name(key)

    def theme_for_writing(self, conn: sqlite3.Connection, name: ThemeName, now: int) -> int:
        """Return the key of a theme, created when it is new."""
        return self.recorded_theme(conn, name, now)

    def recorded_theme(self, conn: sqlite3.Connection, name: str, now: int) -> int:
        """Return the key of a theme of exactly this name, created when it is new.

        For names that are fixed elsewhere: the chain of a transaction log covers them, a team's rows are asked for by them.
        """
        key = self.known_themes.get(name) or self._db.value("SELECT id FROM themes WHERE name = ?", (name,))
        if key is None:
            key = conn.execute("INSERT INTO themes (name, created_at) VALUES (?, ?)", (name, now)).lastrowid
            assert key is not None
        self._known_theme_names[key] = name
        if find_normal_form(name) == name:
            self.known_themes[name] = key
        return int(key)

    def theme_name(self, key: int) -> str:
        name = self._known_theme_names.get(key)
        if name is None:
            name = str(self._db.value("SELECT name FROM themes WHERE id = ?", (key,)))
            self._known_theme_names[key] = name
        return name

    def all_themes(self) -> list[str]:
        return [row[0] for row in self._db.rows("SELECT name FROM themes ORDER BY name")]

    def known_theme_keys(self, names: Iterable[str]) -> list[int]:
        return [key for key in map(self.theme_or_none, names) if key is not None]

    def seen_from_condition(self, themes: Iterable[str], seen_from: str) -> str:
        """Return the condition for facts `f` of themes as the theme of a project reads them, as SQL."""
        own_id, parts = self.theme_or_none(seen_from), ["0"]
        for theme in themes:
            for key in self.known_theme_keys([theme]):
                default_id = key if theme == DEFAULT else None
                seen = "1" if theme == seen_from else format_seen_from(self._db.rows, default_id, own_id, seen_from)
                parts.append(f"(f.theme_id = {key} AND {seen})")
        return f"({' OR '.join(parts)})"

    def actor(self, conn: sqlite3.Connection, actor: Actor) -> int:
        """Return the key of an actor, created when it is new. Call it inside a write transaction."""
        key = self._known_actor_keys.get((actor.kind, actor.name))
        if key is None:
            row = conn.execute("SELECT id FROM actors WHERE kind = ? AND name = ?", (actor.kind, actor.name)).fetchone()
            if row is None:
                cursor = conn.execute("INSERT INTO actors (kind, name) VALUES (?, ?)", (actor.kind, actor.name))
                row = (cursor.lastrowid,)
            key = int(row[0])
            self._known_actor_keys[actor.kind, actor.name] = key
            self._known_actors[key] = actor
        return key

    def actor_by_key(self, key: int) -> Actor:
        actor = self._known_actors.get(key)
        if actor is None:
            kind, name = self._db.row("SELECT kind, name FROM actors WHERE id = ?", (key,)) or ("unknown", "")
            actor = Actor(kind, name)
            self._known_actors[key] = actor
        return actor

    def author(self, key: int, theme_id: int) -> Actor:
        """Return the actor with a key, a session with its title in this theme."""
        author = self._known_authors.get((key, theme_id))
        if author is None:
            author = self.actor_by_key(key)
            if author.kind == "session":
                author = replace(author, title=self.session_title(theme_id, author.name))
            self._known_authors[key, theme_id] = author
        return author

    def session_title(self, theme_id: int, name: str) -> str:
        title = self._known_titles.get((theme_id, name))
        if title is None:
            title = self._known_titles[theme_id, name] = read_session_title(self._db, theme_id, name)
        return title

    def title_in_theme(self, theme: str, name: str | None) -> str | None:
        theme_id = None if name is None else self.theme_or_none(theme)
        return name if name is None or theme_id is None else self.session_title(theme_id, name)

    def actors_called(self, text: str, theme: str | None = None) -> list[int]:
        """Return the keys of the actors that a `by:` filter matches: a kind (`person`), a name, or `kind:name`; else sessions.

        Sessions are found by their title, their client, or a beginning of one of their names that only one has.

        :param theme: only actors who wrote in this theme; those of other themes must not be disclosed
        :raises UnknownSession: when nobody of that name ever wrote, with the nearest who did
        :raises AmbiguousSession: several sessions begin with it; with their names
        """
        kind, _, name = text.partition(":")
        wrote = "(?4 IS NULL OR EXISTS (SELECT 1 FROM journal WHERE actor_id = actors.id AND theme_id = ?4))"
        theme_id = None if theme is None else self.theme_or_none(theme) or 0
        rows = self._db.rows(
            "SELECT id FROM actors WHERE (kind = ?1 OR name = ?1 OR (kind = ?2 AND name = ?3)) AND " + wrote,
            (text, kind, name, theme_id),
        )
        if not rows and text in KINDS:
            return []
        rows = rows or self._actors_of_sessions(text, theme_id, wrote)
        if not rows and not self.origins.keys_of_client(theme_id, text):
            named = self._db.rows(
                "SELECT DISTINCT name FROM sessions WHERE (?1 IS NULL OR theme_id = ?1) ORDER BY id DESC LIMIT 1000",
                (theme_id,),
            )
            raise errors.UnknownSession(text, sorted({*(row[0] for row in named), *KINDS}))
        return list(dict.fromkeys(row[0] for row in rows))

    def authors_called(self, text: str, theme: str | None = None) -> tuple[list[int], list[int]]:
        """Return the keys of actors that a `by:` filter matches, and of origins of a client or teammate that none of them covers.

        :raises UnknownSession: as `actors_called`
        """
        actors = self.actors_called(text, theme)
        theme_id = None if theme is None else self.theme_or_none(theme) or 0
        written = {self.actor_by_key(key).name for key in actors}
        return actors, [key for key, name in self.origins.keys_of_client(theme_id, text) if name not in written]

    def authors_in(self, text: str, themes: Sequence[str]) -> tuple[list[int], list[int]]:
        """Return the keys as `authors_called` does, of all that one of these themes knows; of all themes where none is named.

        :raises UnknownSession: none of them knows one; as `authors_called`
        """
        keys_by_theme: list[tuple[list[int], list[int]]] = []
        unknown: errors.UnknownSession | None = None
        for theme in themes or (None,):
            try:
                keys_by_theme.append(self.authors_called(text, theme))
            except errors.UnknownSession as error:
                unknown = unknown or error
        if unknown is not None and not keys_by_theme:
            raise unknown
        return [key for actors, _ in keys_by_theme for key in actors], [
            key for _, origins in keys_by_theme for key in origins
        ]

    def _actors_of_sessions(self, text: str, theme_id: int | None, wrote: str) -> list[tuple[int]]:
        """Return the keys of the actors of sessions by title, client or a unique beginning; candidates when ambiguous."""
        sessions = {match.name: match for match in match_sessions(self._db, theme_id, text)}
        if not sessions:
            return []
        whole = fold_session_name(text)
        named = {
            fold_session_name(name)
            for session in sessions.values()
            for name in (session.name, session.title, session.client)
            if name
        }
        if len(sessions) > 1 and whole not in named:
            shown = "; ".join(session.shown for session in list(sessions.values())[:CANDIDATES_SHOWN])
            raise errors.AmbiguousSession(
                f"{errors.shorten_value(text)!r} is the beginning of several sessions: {shown}", text
            )
        sql = f"SELECT id FROM actors WHERE kind = 'session' AND name IN (SELECT value FROM json_each(?1)) AND {wrote}"
        return self._db.rows(sql, (json.dumps(list(sessions)), None, None, theme_id))

    def scope(self, theme: str, label: str | None) -> ScopeKey:
        """Return the key of an existing scope. :raises UnknownScope: with the nearest labels of that theme"""
        theme_id = self.theme_or_none(theme)
        if theme_id is not None:
            key = self.scope_or_none(theme_id, label)
            if key is not None and key.status != "withdrawn":
                return key
        raise errors.UnknownScope(label or "(no scope)", map(to_given_name, self.labels(theme)))

    def scope_or_none(self, theme_id: int, label: str | None) -> ScopeKey | None:
        args = (theme_id, label or UNSCOPED)
        conn = self._db.conn
        row = (
            conn.execute(SCOPE_BY_LABEL, args).fetchone() if conn.in_transaction else self._db.row(SCOPE_BY_LABEL, args)
        )
        return ScopeKey(*row) if row else None

    def labels(self, theme: str | None = None) -> list[str]:
        """Return the scope labels of a theme, or of all themes."""
        sql = (
            "SELECT DISTINCT label FROM scopes JOIN themes ON themes.id = theme_id"
            " WHERE status <> 'withdrawn' AND label <> '' AND (?1 IS NULL OR name = ?1) ORDER BY label"
        )
        return [row[0] for row in self._db.rows(sql, (None if theme is None else self.find_theme_name(theme),))]

    def scope_of_fact(self, uid: str) -> str | None:
        """Return the label of a fact's current scope; None when it has none, or no longer exists."""
        sql = "SELECT s.label FROM facts f JOIN scopes s ON s.id = f.scope_id WHERE f.uid = ?"
        return self._db.value(sql, (uids.parse_uid(uid),)) or None

    def label_of_scope(self, uid: str) -> str | None:
        """Return the label of a scope by its uid; None when it has none, or no longer exists."""
        return self._db.value("SELECT label FROM scopes WHERE uid = ?", (uids.parse_uid(uid),)) or None

    def targets(self, theme: str, beginning: str, most: int) -> list[str]:
        """Return the targets of a theme's live facts that begin with these characters, in alphabetical order.

        Skips from one target to the next in the index, so a target with many facts costs no more than one with few.
        """
        theme_id = self.theme_or_none(theme)
        if theme_id is None:
            return []
        sql = (
            "SELECT min(target) FROM facts WHERE theme_id = ?1 AND tier = ?2 AND type = ?3"
            " AND target > ?4 AND target >= ?5 AND target < ?6"
        )
        targets: set[str] = set()
        for tier, kind in itertools.product(("hot", "cold"), TYPE_SYMBOLS):
            last, count = "", 0
            while count < most:
                last = self._db.value(sql, (theme_id, tier, kind, last, beginning, beginning + "\U0010ffff"))
                if last is None:
                    break
                targets.add(last)
                count += 1
        return sorted(targets, key=str.casefold)[:most]

    def authors(self, beginning: str, most: int, theme: str | None = None) -> list[str]:
        """Return clients, teammates, sessions by their names for a person, and kinds of actors with this beginning.

        The newest sessions come first; one is also found by the beginning of the name that its client gave it.
        """
        theme_id = None if theme is None else self.theme_or_none(theme) or 0
        sql = "SELECT theme_id, name FROM sessions WHERE ?1 IS NULL OR theme_id = ?1 ORDER BY id DESC LIMIT ?2"
        sessions = [
            (name, self.session_title(key, name)) for key, name in self._db.rows(sql, (theme_id, MAX_COMPLETED))
        ]
        folded = fold_session_name(beginning)
        titles = [
            title
            for name, title in sessions
            if name.startswith(beginning) or fold_session_name(title).startswith(folded)
        ]
        kinds = (kind for kind in sorted(KINDS) if kind.startswith(beginning))
        named = self.origins.authors_beginning(theme_id, beginning, most)
        return list(dict.fromkeys([*named, *titles, *kinds]))[:most]

    def scope_ids(self, fact_filter: FactFilter) -> list[int] | None:
        """Return the keys of the scopes a filter names, None when it names none.

        :raises UnknownScope: when one of them does not exist
        """
        if not fact_filter.scopes:
            return None
        themes = json.dumps([self.find_theme_name(theme) for theme in fact_filter.themes])
        keys: list[int] = []
        for label in fact_filter.scopes:
            sql = (
                "SELECT scopes.id FROM scopes JOIN themes ON themes.id = theme_id"
                " WHERE label = ?1 AND status <> 'withdrawn' AND (?2 = '[]' OR name IN (SELECT value FROM json_each(?2)))"
            )
            ids = [row[0] for row in self._db.rows(sql, (label or UNSCOPED, themes))]
            if not ids and label:
                raise errors.UnknownScope(label, map(to_given_name, self.labels(fact_filter.theme)))
            keys += ids
        return keys
