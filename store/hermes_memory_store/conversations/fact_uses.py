"""What sessions do with the facts they were given: use them in words or acts, or act against them.

Counted without a model, by the same names and values, and nothing of an act is kept. What cannot be told for certain is counted
as neither: that a fact was left alone, or that an act has a part of what the fact forbids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hermes_memory_store.context.read_log import ReadLog
from hermes_memory_store.context.start_situation import SIGNS
from hermes_memory_store.database.db import Db
from hermes_memory_store.find.ranking import text_terms
from hermes_memory_store.find.touched_facts import CLAUSE_ENDS, LONGEST, MOST_USED, find_touched_facts
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.items import fact_pages
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.language.stop_words import is_common_term, stop_terms
from hermes_memory_store.model import LIVE_TIERS, Fact, Session, Uid
from hermes_memory_store.uids import format_uid

SAME_TARGET = "SELECT id FROM facts WHERE id IN ({marks}) AND target = ?"

USES = """
    SELECT f.uid, t.name, f.target, u.given, u.used, u.contradicted
    FROM fact_uses u JOIN facts f ON f.id = u.fact_id JOIN themes t ON t.id = f.theme_id
    WHERE f.tier IN ('hot', 'cold') AND (?1 IS NULL OR t.name = ?1) AND (?2 IS NULL OR f.id = ?2)
    ORDER BY u.contradicted DESC, u.given DESC, f.id LIMIT ?3
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
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
NUMBERED = re.compile(r"([^\W\d][\w.-]*)[\"'\])]?(?: *[=:(] *| +(?:is |on )?)[\"']?(\d[\d.]*\d)(?![\w.]*\w)")
ASSIGNED = re.compile(r"([^\W\d][\w.-]*)[\"']? *[=:] *[\"']?([^\W\d_][\w-]*)[\"']?(?=[\s,;]|$)")
NUMBER = re.compile(r"\d[\d.]*\d")
FORBIDDING = re.compile(
    r"\b(?:(is |are |be )?never|no|avoid|not (?=(?:to|in|on|with|from|for|via|through|into|an?|the) ))\b *(.*)",
    re.IGNORECASE,
)
NAMED = re.compile(r"(?<!\S)[\w~-]*[./][\w./-]*\w|--?[a-z][\w-]*")
"""In prose a path, a file or an option: it stands in an act as it is written."""

LEAVES_IT_OPEN = frozenset({"true", "false", "null", "none", "str", "int", "string", "number", "env"})


@dataclass(frozen=True, slots=True)
class FactUse:
    """How often a fact was given, and in how many sessions it was used and contradicted."""

    uid: Uid
    theme: str
    target: str
    given: int
    used: int
    contradicted: int


class FactUses:
    """Count which of the facts that a session was given it uses, and which its acts contradict."""

    def __init__(self, db: Db, names: Names, reads: ReadLog) -> None:
        self._db = db
        self._names = names
        self._reads = reads

    def list(self, theme: str | None = None, *, key: int | None = None, limit: int = -1) -> list[FactUse]:
        """Return the uses of hot and cold facts: those that were contradicted first, then those given most.

        :param key: of one fact
        """
        return [FactUse(format_uid(row[0]), *row[1:]) for row in self._db.rows(USES, (theme, key, limit))]

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
        facts = [fact for fact in fact_pages.load_facts(self._db, self._names, newest) if fact.tier in LIVE_TIERS]
        place = "" if act == "run" else subject
        lines = [*find_commands(subject)] if act == "run" else find_added_lines(text)
        outcomes = {fact.id: compare_act(fact, place, lines) for fact in facts}
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


def find_added_lines(text: str) -> list[str]:
    """Return the lines that an edit wrote; of a patch those that it adds."""
    lines = text[: MOST_LINES * LINE_CHARS].split("\n")[:MOST_LINES]
    if PATCHED.search(text):
        lines = [line[1:] for line in lines if line.startswith("+")]
    return [line[:LINE_CHARS] for line in lines if line.strip()]


def choose_act_lines(facts: Sequence[Fact], lines: Sequence[str]) -> list[str]:
    """Return the lines that share most words with facts: few of a long text are measured."""
    terms = {term for fact in facts for term in find_terms(fact.notation)}
    shared = {line: len(terms & find_terms(line)) for line in lines}
    return [line for line in sorted(shared, key=lambda line: -shared[line])[:LINES_MEASURED] if shared[line]]


def compare_act(fact: Fact, place: str, lines: Sequence[str]) -> str:
    """Return whether an act `agrees` with a fact by its value, `contradicts` it, is `silent`, or is `unsure`.

    :param place: the paths that an edit wrote
    """
    outcomes = {compare_line(fact, place, line) for line in lines} or {"silent"}
    # Where a text has the value as well as another, which one holds is not known.
    outcomes = {"unsure"} if {"agrees", "contradicts"} <= outcomes else outcomes
    return next(outcome for outcome in ("contradicts", "unsure", "agrees", "silent") if outcome in outcomes)


def compare_line(fact: Fact, place: str, line: str) -> str:
    line, content = CAMEL.sub(" ", line), CAMEL.sub(" ", fact.content)
    terms = find_terms(f"{place} {line}")
    rejection = compare_rejections(fact, content, f"{place} {line}", terms)
    return rejection if rejection != "silent" else compare_values(fact, content, line, terms)


def compare_values(fact: Fact, content: str, line: str, terms: set[str]) -> str:
    """Compare the numbers and words that a line gives to the names of a fact."""
    target = find_terms(CAMEL.sub(" ", fact.target))
    last = text_terms(fact.target)[-1:]
    subjects: dict[tuple[str, ...], set[str]] = {last: target} if NUMBER.match(content) else {}
    for clause in CLAUSE_ENDS.split(content):
        subjects |= {text_terms(name)[-1:]: target | find_terms(clause) for name, _ in NUMBERED.findall(clause)}
    numbers, words = set(NUMBER.findall(content)), find_terms(content)
    is_plain = len(content.split()) <= 3
    for name, number in NUMBERED.findall(line):
        key = text_terms(name)[-1:]
        if key in subjects:
            named = {term for term in subjects[key].difference(key) if not is_common_term(term) and not term.isdigit()}
            if named & terms or target <= {*text_terms(name)}:
                return "agrees" if number in numbers else "contradicts"
            if number not in numbers:  # of something else, or of this in lines around
                return "unsure"
    for name, value in ASSIGNED.findall(line) if is_plain and not numbers else ():
        if text_terms(name)[-1:] == last and target <= terms and value.casefold() not in LEAVES_IT_OPEN:
            return "agrees" if words & find_terms(value) else "contradicts"
    long_numbers = {number for number in NUMBER.findall(line) if len(number) > 2}
    own_words = {term for term in target | words if not is_common_term(term)}
    is_other = long_numbers and any(len(number) > 2 for number in numbers) and numbers.isdisjoint(long_numbers)
    return "unsure" if is_other and own_words & terms else "silent"


def compare_rejections(fact: Fact, content: str, line: str, terms: set[str]) -> str:
    """Check whether a line has all that one clause of a fact forbids, or a part of it."""
    outcome, target = "silent", find_terms(fact.target)
    for clause in CLAUSE_ENDS.split(content):
        forbidding = FORBIDDING.search(clause)
        if forbidding is None:
            continue
        phrase = clause.replace("never", "") if forbidding[1] else forbidding[2]
        rejected = find_terms(phrase)
        others = {term for term in target | find_terms(content) if term not in rejected and not is_common_term(term)}
        is_whole = rejected and rejected <= terms and all(has_name(line, name) for name in NAMED.findall(phrase))
        is_sure = not all(map(is_common_term, rejected)) or others & terms
        if is_whole and is_sure and not FORBIDDING.search(line):
            return "contradicts"
        if rejected & terms:
            outcome = "unsure"
    return outcome


def has_name(line: str, name: str) -> bool:
    return re.search(rf"(?<![\w]){re.escape(name)}(?!\w)", line, re.IGNORECASE) is not None


def find_terms(text: str) -> set[str]:
    return {*text_terms(text)} - stop_terms()
