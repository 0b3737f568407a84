"""What sessions did with the facts they were given: a fact is used where what is said or written afterwards touches it.

Counts alone are kept, by fact: `fact_uses` goes with its fact. What was given and never used is worth less at the next start.
"""

from __future__ import annotations

from hermes_memory_store.context.read_log import ReadLog
from hermes_memory_store.context.start_situation import SIGNS
from hermes_memory_store.database.db import Db
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.model import Fact, Session
from hermes_memory_store.search.touched_facts import LONGEST, find_touched_facts

MOST_TOUCHED = 12
"""Facts that one message may touch."""

SAME_TARGET = "SELECT id FROM facts WHERE id IN ({marks}) AND target = ?"


class FactUses:
    """Note which of the facts that a session was given it uses. What is noted is written with the next batch of reads."""

    def __init__(self, db: Db, names: Names, reads: ReadLog) -> None:
        self._db = db
        self._names = names
        self._reads = reads

    def note_said(self, session: Session, text: str) -> None:
        """Note that somebody said this in a session, user or assistant."""
        given = self._reads.given_keys(session)
        words = text[:LONGEST].translate(SIGNS) if given else ""
        if words.strip():
            touched = find_touched_facts(self._db, self._names, session.theme, words, limit=MOST_TOUCHED)
            self._reads.note_used(session, [one.fact.id for one in touched if one.fact.id in given])

    def note_written(self, session: Session, fact: Fact) -> None:
        """Note that a session wrote this fact: it used the ones that it was given of the same target."""
        given = [*self._reads.given_keys(session)]
        if given:
            sql = SAME_TARGET.format(marks=", ".join("?" * len(given)))
            self._reads.note_used(session, [key for (key,) in self._db.rows(sql, (*given, fact.target))])
