"""Find facts by what people and agents call them: a whole uid, or a beginning or an end of one that no other fact has.

The short form of a uid is its end: a time-ordered uid begins with the minute it was made in, which many facts share, and ends
with random digits. A beginning is a range of the index of uids. An end is looked for in that index from one end to the other,
which takes 70 ms at a million facts and 7 ms at 100,000; an index of ends would cost every write and every store instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_store import errors, text, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.db import Db
from hermes_memory_store.model import Tier, format_notation
from hermes_memory_store.records import FACT_COLUMNS, FactRow

MIN_DIGITS = 6
"""Digits of a uid that must be given, as in git."""

CANDIDATES_SHOWN = 8
"""Facts that an ambiguous name is answered with."""

NOTATION_SHOWN = 60
"""Characters of each candidate's notation: enough to choose by."""

ENDS_AT_ONCE = 400
"""Ends that one statement looks for, below SQLite's limit of 999 values in its oldest builds."""

BY_UID = f"SELECT {FACT_COLUMNS} FROM facts f WHERE uid = ? AND tier <> 'withdrawn'"

BY_BEGINNING = f"""
    SELECT {FACT_COLUMNS} FROM facts f
    WHERE uid BETWEEN ?1 AND ?2 AND tier <> 'withdrawn' AND (?3 IS NULL OR theme_id = ?3)
    LIMIT {CANDIDATES_SHOWN + 1}
"""

BY_END = f"""
    SELECT {FACT_COLUMNS} FROM facts f
    WHERE id IN (SELECT id FROM facts WHERE substr(uid, -{{width}}) IN ({{marks}}))
      AND tier <> 'withdrawn' AND (? IS NULL OR theme_id = ?)
"""
"""The inner question is answered by the index of uids alone, which is a tenth of the table."""


def find_facts(db: Db, names: Sequence[str], theme_id: int | None) -> list[FactRow]:
    """The fact of each name, in the order of the names; those of undone creations have none.

    :param names: whole uids, or at least `MIN_DIGITS` digits of their beginning or end; hyphens and case do not count
    :param theme_id: look in this theme only; None for all
    :raises UnknownFact: a name is of no fact, or too short
    :raises AmbiguousUid: a name is of several facts; the message lists them with their notation
    """
    digits = [checked_digits(name) for name in names]
    by_end = facts_by_end(db, [one for one in digits if len(one) < uids.DIGITS], theme_id)
    return [
        only_fact(name, whole_or_beginning(db, one, theme_id) + by_end.get(one, []))
        for name, one in zip(names, digits, strict=True)
    ]


def checked_digits(name: str) -> str:
    """The hexadecimal digits of a name. :raises UnknownFact: when it is none, or too short"""
    digits = uids.parse_digits(name[:64])
    if digits is None:
        hint = f"a fact is named by its uid, or by the first or last {MIN_DIGITS} digits of it or more"
        raise errors.UnknownFact(text.printable(name[:64]), hint=hint)
    if len(digits) < MIN_DIGITS:
        raise errors.UnknownFact(text.printable(name[:64]), hint=f"give at least {MIN_DIGITS} characters of the uid")
    return digits


def whole_or_beginning(db: Db, digits: str, theme_id: int | None) -> list[FactRow]:
    """The fact of a whole uid, or those whose uids begin with these digits."""
    if len(digits) == uids.DIGITS:
        rows = [FactRow(*row) for row in db.rows(BY_UID, (bytes.fromhex(digits),))]
        return [row for row in rows if theme_id in (None, row.theme_id)]
    return [FactRow(*row) for row in db.rows(BY_BEGINNING, (*uids.prefix_range(digits), theme_id))]


def facts_by_end(db: Db, wanted: Sequence[str], theme_id: int | None) -> dict[str, list[FactRow]]:
    """The facts whose uids end with each of these digits. One walk of the index answers for all ends of one length."""
    found: dict[str, list[FactRow]] = {digits: [] for digits in wanted}
    for length in sorted({len(digits) for digits in found}):
        ends = [end for digits in found if len(digits) == length for end in uids.byte_ends(digits)]
        for some in in_chunks(ends, ENDS_AT_ONCE):
            sql = BY_END.format(width=len(some[0]), marks=", ".join("?" * len(some)))
            for row in (FactRow(*one) for one in db.rows(sql, (*some, theme_id, theme_id))):
                found[row.uid.hex()[-length:]].append(row)
    return found


def only_fact(name: str, candidates: Sequence[FactRow]) -> FactRow:
    """The one fact of a name. :raises UnknownFact: AmbiguousUid:"""
    shown = text.printable(name[:64])
    rows = list({row.id: row for row in candidates}.values())
    if not rows:
        raise errors.UnknownFact(shown, hint="list them with: hermes-memory-tui facts")
    if len(rows) > 1:
        several = "; ".join(candidate_line(row) for row in rows[:CANDIDATES_SHOWN])
        more = "; and more" if len(rows) > CANDIDATES_SHOWN else ""
        raise errors.AmbiguousUid(
            f"the uids of several facts begin or end with {shown!r}: {several}{more}; give more characters", shown
        )
    return rows[0]


def candidate_line(row: FactRow) -> str:
    """A candidate by its uid and notation. What waits for a person is not repeated to whoever asks."""
    if row.tier == Tier.QUARANTINED:
        return f"{uids.to_text(row.uid)} (quarantined)"
    said = text.printable(format_notation(row.type, row.target, row.content))
    cut = said if len(said) <= NOTATION_SHOWN else said[: NOTATION_SHOWN - 1] + "…"
    return f"{uids.to_text(row.uid)} {cut}"
