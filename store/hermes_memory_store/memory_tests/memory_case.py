"""One test of a memory: what is asked, or how a session starts, and what must or must never be given for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from hermes_memory_store.context.given import GivenItem
from hermes_memory_store.fact_types import TYPE_SYMBOLS
from hermes_memory_store.model import Fact, FactType
from hermes_memory_store.notation import memory_spec
from hermes_memory_store.uids import DIGITS, SHORT_DIGITS, has_uid_part, parse_uid_digits

ANY_TYPE = "*"

TARGET = re.compile(rf"([{TYPE_SYMBOLS}{re.escape(ANY_TYPE)}]?)\[([^\[\]]+)\]")
"""`D[db.id]`, or `[db.id]` for a fact of any type."""


class ExpectedBy(Enum):
    """By what an expectation names a fact or turn."""

    UID = "uid"
    """A whole uid, or at least eight digits of one."""
    TARGET = "target"
    NOTATION = "notation"
    WORDS = "words"
    """A part of the line as it is given, whatever its case and white space."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must be given, or must never be."""

    text: str
    by: ExpectedBy
    line: int = 0
    """Of the file, from 1; 0 when it comes from no file."""
    type: FactType | None = None
    """Of a target or notation; None for any but obsolete, which says that nothing holds any more."""
    target: str = ""
    content: str = ""
    """Of a notation; otherwise the words in lower case, or the digits of the uid."""

    def is_met_by(self, item: GivenItem) -> bool:
        if self.by is ExpectedBy.UID and has_uid_part(item.uid, self.content):
            return True
        if self.by in (ExpectedBy.TARGET, ExpectedBy.NOTATION):
            return item.fact is not None and self.is_about(item.fact)
        # Eight digits may be a date.
        return (self.by is ExpectedBy.WORDS or len(self.content) < DIGITS) and self.has_words(item.line)

    def is_about(self, fact: Fact) -> bool:
        """Check whether it names this fact, wherever it stands."""
        match self.by:
            case ExpectedBy.UID:
                return has_uid_part(fact.uid, self.content)
            case ExpectedBy.WORDS:
                return self.has_words(fact.notation)
        is_type = fact.type is self.type or (self.type is None and fact.type is not FactType.OBSOLETE)
        return is_type and fact.target == self.target and (self.by is ExpectedBy.TARGET or fact.content == self.content)

    def has_words(self, line: str) -> bool:
        return fold_line(self.text) in fold_line(line)


@dataclass(frozen=True, slots=True)
class CaseStart:
    """How the session of a test starts; what is not said is unknown."""

    project: str | None = None
    folder: str = ""
    branch: str | None = None
    scope: str | None = None
    at: str | None = None
    """A time, or an age such as `2d`; now unless given."""


@dataclass(frozen=True, slots=True)
class MemoryCase:
    """A test of a memory: a question or a start, and what is expected."""

    name: str
    ask: str | None = None
    start: CaseStart | None = None
    """One of both."""
    theme: str | None = None
    """The theme asked; that of the run unless given."""
    tokens: int | None = None
    """The budget; the theme's `injection_tokens` unless given."""
    given: tuple[Expectation, ...] = ()
    never: tuple[Expectation, ...] = ()
    line: int = 0


def parse_expectation(text: str, line: int = 0) -> Expectation:
    """Return what a text of a test expects: a uid, a target, a line of notation, or words.

    >>> parse_expectation("D[db.id]").by, parse_expectation("[db.id]").by
    (<ExpectedBy.TARGET: 'target'>, <ExpectedBy.TARGET: 'target'>)
    >>> parse_expectation("D[db.id]: UUID").content
    'UUID'

    :raises NotationError: ContentTooLong, UnsafeText: it begins as a line of notation and is none
    """
    stripped = text.strip()
    digits = parse_uid_digits(stripped)
    if digits is not None and len(digits) >= SHORT_DIGITS:
        return Expectation(text, ExpectedBy.UID, line, content=digits)
    if parts := TARGET.fullmatch(stripped):
        kind = memory_spec.SYMBOLS.get(parts[1])
        return Expectation(text, ExpectedBy.TARGET, line, kind, " ".join(parts[2].split()))
    if memory_spec.line_pattern().match(stripped):
        noted = memory_spec.parse_notation(stripped, limit=memory_spec.MAX_LINE)
        return Expectation(text, ExpectedBy.NOTATION, line, noted.type, noted.target, noted.content)
    return Expectation(text, ExpectedBy.WORDS, line, content=fold_line(stripped))


def fold_line(text: str) -> str:
    return " ".join(text.split()).casefold()
