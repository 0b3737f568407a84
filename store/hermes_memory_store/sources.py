"""Sources: the programs that facts come from, and what a person has ruled about their suspicious ones.

A source names itself, so a rule is as good as the programs on the machine are honest. It spares a person questions about a
program they know; it is no lock.
"""

from __future__ import annotations

import builtins
import re
import sqlite3
from typing import Any

from hermes_memory_store import errors, text, uids
from hermes_memory_store.db import Db
from hermes_memory_store.journal import Entry, Journal
from hermes_memory_store.model import PERSON, Actor, Rule, Session, SourceRule
from hermes_memory_store.names import Names

RULES = ("always", "never")

RULED = "rule"
"""Operation of the journal by which a rule is set or taken away."""

MAX_NAME = 256
"""Characters of a source's name: as many as a session's."""

VERSION = re.compile(r"\s+v?\d\S*$")
"""What follows a client's name when it says its version: `hermes-agent 0.19.1`."""

LISTED = """
    SELECT t.name, r.source, r.rule, r.at
    FROM source_rules r JOIN themes t ON t.id = r.theme_id
    WHERE ?1 IS NULL OR r.theme_id = ?1
    ORDER BY t.name, r.source
"""

FOUND = "SELECT rule, at FROM source_rules WHERE theme_id = ? AND source = ?"

RULE = """
    INSERT INTO source_rules VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET rule = excluded.rule, at = excluded.at
"""


class Sources:
    """Reads and sets what a person has ruled."""

    def __init__(self, db: Db, names: Names, journal: Journal) -> None:
        self._db = db
        self._names = names
        self._journal = journal

    def list(self, theme: str | None = None) -> builtins.list[SourceRule]:
        """Every rule of one theme, or of all. :raises UnknownTheme:"""
        theme_id = None if theme is None else self._names.theme(theme)
        return [SourceRule(*row) for row in self._db.rows(LISTED, (theme_id,))]

    def rule(self, theme: str, source: str) -> Rule | None:
        """What holds for the suspicious facts of a source; None: each waits for a person."""
        theme_id = self._names.theme_or_none(theme)
        found: Rule | None = None if theme_id is None else self._db.value(FOUND, (theme_id, source))
        return found

    def set(self, theme: str, source: str, rule: Rule | None, *, actor: Actor = PERSON) -> tuple[int, ...]:
        """Rule on a source; None takes the rule away. The journal's rows that say so, none when nothing changed.

        :raises ArgumentError: UnsafeText; it cannot be a source, or there is no such rule
        """
        called = checked_name(source)
        if rule is not None and rule not in RULES:
            raise errors.ArgumentError(f"{rule!r} is no rule; choose from {', '.join(RULES)}", rule)
        if rule is None and self.rule(theme, called) is None:
            return ()
        with self._db.writing() as conn:
            now = self._journal.now(conn)
            theme_id = self._names.theme_for_writing(conn, theme, now)
            stood, since = conn.execute(FOUND, (theme_id, called)).fetchone() or (None, None)
            if stood == rule:
                return ()
            put(conn, theme_id, called, rule, now)
            before, after = {"rule": stood, "ruled_at": since}, {"source": called, "rule": rule}
            entry = Entry(RULED, "source", uids.new_uid(now), theme_id, before, after)
            return self._journal.append(conn, [entry], actor=actor, at=now)


def put(conn: sqlite3.Connection, theme_id: int, source: str, rule: Any, at: Any) -> None:
    """A rule as the journal says it, in its table. :raises ValueError: it is none"""
    if rule is None:
        conn.execute("DELETE FROM source_rules WHERE theme_id = ? AND source = ?", (theme_id, source))
    elif rule in RULES:
        conn.execute(RULE, (theme_id, source, rule, at))
    else:
        raise ValueError(f"{rule!r} is no rule")


def source_of(session: Session) -> str:
    """The source of what a session writes."""
    return named(session.client, session.name)


def named(client: str | None, otherwise: str) -> str:
    """The client program's name without its version; the other name when it has none."""
    return VERSION.sub("", (client or "").strip()) or otherwise


def checked_name(source: str) -> str:
    """:raises ArgumentError: it cannot be a source"""
    called = text.check(source.strip(), "the source")
    if not 0 < len(called) <= MAX_NAME:
        raise errors.ArgumentError(
            f"a source's name has 1 to {MAX_NAME} characters, this one has {len(called)}", called
        )
    return called
