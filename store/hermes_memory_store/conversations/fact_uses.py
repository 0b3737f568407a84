"""What sessions do with the facts they were given: use them in words or acts, or act against them.

Counted without a model, by the same names and values, and nothing of an act is kept. What cannot be told for certain is counted
as neither: that a fact was left alone, or that an act has a part of what the fact forbids.
"""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hermes_memory_store.context.packing import LINE_TOKENS
from hermes_memory_store.context.read_log import ReadLog
from hermes_memory_store.context.start_situation import SIGNS
from hermes_memory_store.database.db import Db
from hermes_memory_store.find.fact_comparison import compare_lines
from hermes_memory_store.find.touched_facts import LONGEST, MOST_USED, find_touched_facts
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.items.fact_pages import load_facts, to_facts
from hermes_memory_store.items.mutation import FACTS_WITH_READS
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.items.tier_columns import COUNT_REPLACED
from hermes_memory_store.memory.near_duplicates import words_of
from hermes_memory_store.model import LIVE_TIERS, Fact, Session

SAME_TARGET = "SELECT id FROM facts WHERE id IN ({marks}) AND target = ?"

USES = FACTS_WITH_READS.replace(
    " FROM facts f",
    f""", coalesce(u.given, 0), coalesce(u.used, 0), coalesce(u.contradicted, 0), u.last_used_at,
      {COUNT_REPLACED}
      + (SELECT count(*) FROM journal j WHERE j.uid = f.uid AND j.op = 'edit' AND j.undoes IS NULL)
    FROM ({{keys}}) k JOIN facts f ON f.id = k.id LEFT JOIN fact_uses u ON u.fact_id = f.id""",
)

GIVEN_FACTS = """
    WHERE u.given > 0 AND f.tier IN ('hot', 'cold') AND (?1 IS NULL OR f.theme_id = ?1)
    ORDER BY u.contradicted DESC, u.given DESC, f.id LIMIT ?2
"""

MOST_COMPARED, MOST_LINES, LINE_CHARS, LINES_MEASURED = 60, 400, 400, 3
"""Newest of a session's facts that an act is compared with; lines of an act that are looked at, the characters of each, and those
lines that are measured against all facts."""

LOOKING = re.compile(
    r"\s*(?:cat|cd|date|diff|echo|find|git (?:blame|diff|grep|log|show|status)|grep|head|less|ls|man|rg|tail|wc|which)\b"
)
"""A command that only looks: naming something there neither follows nor breaks a fact."""

COMMAND_ENDS = re.compile(r"&&|\|\||[;|\n]")
PATCHED = re.compile(r"^(?:\*\*\* |@@ |\+\+\+ )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FactUse:
    """What became of a fact: how often it was given, and in how many sessions it was used and contradicted."""

    fact: Fact
    given: int
    used: int
    contradicted: int
    used_at: int | None
    """When it was used last, UTC milliseconds."""
    corrected: int
    """How often its wording was edited, and how many facts it took the place of."""

    @property
    def tokens(self) -> int:
        """Of all its lines that were given, as it is worded now."""
        return self.given * (self.fact.tokens + LINE_TOKENS)

    def to_counts(self) -> dict[str, Any]:
        return {"given": self.given, "used": self.used, "contradicted": self.contradicted}


class FactUses:
    """Count which of the facts that a session was given it uses, and which its acts contradict."""

    def __init__(self, db: Db, names: Names, reads: ReadLog) -> None:
        self._db = db
        self._names = names
        self._reads = reads

    def list(self, theme: str | None = None, *, limit: int = -1) -> list[FactUse]:
        """Return the uses of hot and cold facts that were given: those that were contradicted first, then those given most."""
        theme_id = None if theme is None else self._names.theme_or_none(theme) or 0
        return self._load("SELECT fact_id AS id FROM fact_uses", GIVEN_FACTS, (theme_id, limit))

    def of_facts(self, keys: Iterable[int]) -> builtins.list[FactUse]:
        """Return what became of each of these facts, by their keys, in the order of these."""
        return self._load("SELECT value AS id FROM json_each(?)", "ORDER BY f.id", (json.dumps([*keys]),))

    def _load(self, keys: str, where: str, args: tuple[Any, ...]) -> builtins.list[FactUse]:
        rows = self._db.rows(f"{USES.format(keys=keys)} {where}", args)
        return [FactUse(fact, *row[-5:]) for fact, row in zip(to_facts(self._names, rows), rows, strict=True)]

    def note_said(self, session: Session, text: str) -> None:
        """Note that somebody said this in a session, user or assistant."""
        given_keys = self._reads.given_keys(session)
        self._reads.note_used(session, given_keys.intersection(self._find_touched(session, text) if given_keys else ()))

    def note_written(self, session: Session, fact: Fact) -> None:
        """Note that a session wrote this fact: it used the ones that it was given of the same target."""
        given_keys = [*self._reads.given_keys(session)]
        if given_keys:
            sql = SAME_TARGET.format(marks=", ".join("?" * len(given_keys)))
            self._reads.note_used(session, [key for (key,) in self._db.rows(sql, (*given_keys, fact.target))])

    def note_act(self, session: Session, act: str, subject: str, text: str) -> None:
        """Note what a session's agent did: `run` or `edit`; other acts follow no fact and break none.

        :param subject: the command, or the paths, one a line
        :param text: what was written into them
        """
        given_keys = self._reads.given_keys(session)
        if act not in ("run", "edit") or not given_keys:
            return
        newest = sorted(given_keys, reverse=True)[:MOST_COMPARED]
        facts = [fact for fact in load_facts(self._db, self._names, newest) if fact.tier in LIVE_TIERS]
        place = "" if act == "run" else subject
        lines = [*find_commands(subject)] if act == "run" else find_added_lines(text)
        outcomes = {fact.id: compare_lines(fact, place, lines) for fact in facts}
        used = {key for key, outcome in outcomes.items() if outcome == "agrees"}
        touched: set[int] = set()
        name = " ".join(path.rpartition("/")[2] for path in place.split("\n"))
        for line in choose_act_lines(facts, lines) or [""]:
            touched.update(self._find_touched(session, f"{name} {line}"))
        used |= {key for key in touched if outcomes.get(key) == "silent"}
        self._reads.note_used(session, used)
        self._reads.note_contradicted(session, [key for key, outcome in outcomes.items() if outcome == "contradicts"])

    def _find_touched(self, session: Session, text: str) -> set[int]:
        words = text[:LONGEST].translate(SIGNS)
        if not words.strip():
            return set()
        touched = find_touched_facts(self._db, self._names, session.theme, words, limit=MOST_USED)
        return {touch.fact.id for touch in touched}


def find_commands(command: str) -> Iterator[str]:
    """Yield the simple commands that do more than look."""
    for simple in COMMAND_ENDS.split(command[: MOST_LINES * LINE_CHARS])[:MOST_LINES]:
        if simple.strip() and not LOOKING.match(simple):
            yield simple[:LINE_CHARS]


def find_added_lines(text: str, most: int = MOST_LINES) -> list[str]:
    """Return the first lines that an edit wrote; of a patch those that it adds."""
    lines = text[: most * LINE_CHARS].split("\n")[:most]
    if PATCHED.search(text):
        lines = [line[1:] for line in lines if line.startswith("+")]
    return [line[:LINE_CHARS] for line in lines if line.strip()]


def choose_act_lines(facts: Sequence[Fact], lines: Sequence[str]) -> list[str]:
    """Return the lines that share most words with facts: few of a long text are measured."""
    terms = {term for fact in facts for term in words_of(fact.notation)}
    shared = {line: len(terms & words_of(line)) for line in lines}
    return [line for line in sorted(shared, key=lambda line: -shared[line])[:LINES_MEASURED] if shared[line]]
