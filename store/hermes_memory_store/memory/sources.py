"""Sources: the programs that facts come from, and a person's rules for their suspicious facts.

A source names itself: a rule spares a person questions about a known program, and is no security barrier.
"""

from __future__ import annotations

import builtins
import sqlite3
from collections import Counter
from functools import lru_cache
from typing import Any

from hermes_memory_store import errors, safe_text, uids
from hermes_memory_store.database.db import Db
from hermes_memory_store.intake.intake import RULE_SOURCE, split_rule, to_masked_name
from hermes_memory_store.items.journal import Journal, JournalEntry
from hermes_memory_store.items.name_keys import Names, to_theme_name
from hermes_memory_store.memory.second_look import LIFTED
from hermes_memory_store.model import (
    APPROVED,
    PERSON,
    Actor,
    LiftedRule,
    Rule,
    Session,
    SourceRule,
    split_client_version,
)

RULES = ("always", "never")

RULE_OPERATION = "rule"

MAX_NAME = 256
"""Characters of a source's name: as many as a session's."""

SELECT_RULES = """
    SELECT t.name, r.source, r.rule, r.at
    FROM source_rules r JOIN themes t ON t.id = r.theme_id
    WHERE ?1 IS NULL OR r.theme_id = ?1
    ORDER BY t.name, r.source
"""

WAITING_SOURCES = """
    SELECT DISTINCT json_extract(j.after, '$.source') AS source
    FROM facts f JOIN journal j ON j.seq = (SELECT min(seq) FROM journal WHERE uid = f.uid)
    WHERE f.tier = 'quarantined' AND (?1 IS NULL OR f.theme_id = ?1) AND source IS NOT NULL
"""

FIND_RULE = "SELECT rule, at FROM source_rules WHERE theme_id = ? AND source = ?"

UPSERT_RULE = """
    INSERT INTO source_rules VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET rule = excluded.rule, at = excluded.at
"""


class Sources:
    """Read and set a person's rules."""

    def __init__(self, db: Db, names: Names, journal: Journal) -> None:
        self._db = db
        self._names = names
        self._journal = journal

    def list(self, theme: str | None = None) -> builtins.list[SourceRule]:
        """Return every rule of one theme, or of all. :raises UnknownTheme:"""
        theme_id = None if theme is None else self._names.theme(theme)
        return [SourceRule(*row) for row in self._db.rows(SELECT_RULES, (theme_id,))]

    def rule(self, theme: str, source: str) -> Rule | None:
        """Return the rule for the suspicious facts of a source; None: each is quarantined."""
        theme_id = self._names.theme_or_none(theme)
        rule_found: Rule | None = None if theme_id is None else self._db.value(FIND_RULE, (theme_id, source))
        return rule_found

    def lifted(self, theme: str | None = None) -> builtins.list[LiftedRule]:
        """Return how often each rule held in vain, most often first, in one theme or all. :raises UnknownTheme:"""
        theme_id = None if theme is None else self._names.theme(theme)
        counts: Counter[tuple[str, str]] = Counter()
        for name, admitted, count in self._db.rows(LIFTED, (theme_id,)):
            for rule in split_rule(admitted.removeprefix(APPROVED)):
                counts[name, rule] += count
        return [
            LiftedRule(name, rule, count, self.rule(name, RULE_SOURCE + rule) == "always")
            for (name, rule), count in counts.most_common()
        ]

    def waiting(self, theme: str | None = None) -> builtins.list[str]:
        """Return the sources of quarantined facts, of one theme or of all. :raises UnknownTheme:"""
        theme_id = None if theme is None else self._names.theme(theme)
        return [source for (source,) in self._db.rows(WAITING_SOURCES, (theme_id,))]

    def set_rule(self, theme: str, source: str, rule: Rule | None, *, actor: Actor = PERSON) -> tuple[int, ...]:
        """Set the rule for a source, or silence a rule of the checks (`rule:score`, always); None removes it.

        Returns the journal rows written, none when nothing changed.

        :raises ThemeInvalid: ArgumentError, UnsafeText; it cannot be a theme or a source, or there is no such rule
        """
        theme_name, called = to_theme_name(theme), validate_source_name(source)
        if rule is not None and rule not in RULES:
            raise errors.ArgumentError(f"{rule!r} is no rule; choose from {', '.join(RULES)}", rule)
        if rule is None and self.rule(theme, called) is None:
            return ()
        with self._db.write_transaction() as conn:
            now = self._journal.now(conn)
            theme_id = self._names.theme_for_writing(conn, theme_name, now)
            former, since = conn.execute(FIND_RULE, (theme_id, called)).fetchone() or (None, None)
            if former == rule:
                return ()
            write_source_rule(conn, theme_id, called, rule, now)
            before, after = {"rule": former, "ruled_at": since}, {"source": called, "rule": rule}
            entry = JournalEntry(RULE_OPERATION, "source", uids.new_uid(now), theme_id, before, after)
            return self._journal.append(conn, [entry], actor=actor, at=now)


def write_source_rule(conn: sqlite3.Connection, theme_id: int, source: str, rule: Any, at: Any) -> None:
    """Write a rule from the journal to its table. :raises ValueError: it is not a rule"""
    if rule is None:
        conn.execute("DELETE FROM source_rules WHERE theme_id = ? AND source = ?", (theme_id, source))
    elif rule in RULES:
        conn.execute(UPSERT_RULE, (theme_id, source, rule, at))
    else:
        raise ValueError(f"{rule!r} is no rule")


def session_source(session: Session) -> str:
    return client_source(session.client, session.name)


@lru_cache(maxsize=256)
def client_source(client: str | None, otherwise: str) -> str:
    """Return the client program's name without its version; the fallback when it has none."""
    return split_client_version((client or "").strip())[0] or otherwise


def validate_source_name(source: str) -> str:
    """Validate the name of a source. :raises ArgumentError: it cannot be one"""
    called = to_masked_name(safe_text.validate_text(source.strip(), "the source"))
    if not 0 < len(called) <= MAX_NAME:
        raise errors.ArgumentError(
            f"a source's name has 1 to {MAX_NAME} characters, this one has {len(called)}", called
        )
    return called
