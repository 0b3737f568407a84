"""Find facts by the names people and agents use: a whole uid, or a unique beginning or end of one.

An end is found by a walk through the index of uids. Within a small theme only its own facts are walked, so that the time
of an answer tells an agent of one theme nothing of how many facts others have.
"""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_store import errors, safe_text, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.database.db import Db
from hermes_memory_store.items.kinds import FACT_COLUMNS, FactRow
from hermes_memory_store.model import Tier, format_notation

MIN_DIGITS = 6

CANDIDATES_SHOWN = 8

NOTATION_SHOWN = 60
"""Characters of each candidate's notation: enough to choose by."""

MAX_SUFFIXES = 400
"""Ends that one statement looks for, below SQLite's limit of 999 values in its oldest builds."""

SMALL_THEME = 5_000
"""Facts of a theme up to which it is walked alone."""

IS_SMALL = f"SELECT count(*) <= {SMALL_THEME} FROM (SELECT 1 FROM facts WHERE theme_id = ? LIMIT {SMALL_THEME + 1})"

PRESENT = f"SELECT {FACT_COLUMNS} FROM facts f WHERE tier <> 'withdrawn' AND"

BY_UID = f"{PRESENT} uid = ?"

BY_BEGINNING = f"{PRESENT} (?1 IS NULL OR theme_id = ?1) AND uid BETWEEN ?2 AND ?3 LIMIT {CANDIDATES_SHOWN + 1}"

IN_THEME = f"{PRESENT} theme_id = ?1 AND +uid BETWEEN ?2 AND ?3 LIMIT {CANDIDATES_SHOWN + 1}"

BY_END = f"""
    {PRESENT} (?1 IS NULL OR theme_id = ?1)
      AND id IN (SELECT id FROM facts WHERE substr(uid, -{{width}}) IN ({{marks}}))
"""
"""The inner question is answered by the index of uids alone, which is a tenth of the table."""

IN_THEME_BY_END = f"{PRESENT} theme_id = ?1 AND substr(uid, -{{width}}) IN ({{marks}})"


def find_facts_by_name(db: Db, names: Sequence[str], theme_id: int | None) -> list[FactRow]:
    """Find the fact of each name, in the order of the names; undone creations have none.

    :param names: whole uids, or at least `MIN_DIGITS` digits of their beginning or end; hyphens and case do not count
    :param theme_id: search this theme only; None for all
    :raises UnknownFact: a name belongs to no fact, or is too short
    :raises AmbiguousUid: a name belongs to several facts; the message lists them with their notation
    """
    digits = [validate_uid_digits(name) for name in names]
    partial = [part for part in digits if len(part) < uids.DIGITS]
    is_small = bool(partial) and theme_id is not None and bool(db.value(IS_SMALL, (theme_id,)))
    by_end = facts_by_end(db, partial, theme_id, is_small=is_small)
    return [
        single_fact(name, facts_by_start(db, part, theme_id, is_small=is_small) + by_end.get(part, []))
        for name, part in zip(names, digits, strict=True)
    ]


def validate_uid_digits(name: str) -> str:
    """Return the hexadecimal digits of a name. :raises UnknownFact: when it is not a uid, or too short"""
    digits = uids.parse_uid_digits(name[:64])
    if digits is not None and len(digits) >= MIN_DIGITS:
        return digits
    hint = f"give at least {MIN_DIGITS} characters of the uid"
    if digits is None:
        hint = f"a fact is named by its uid, or by the first or last {MIN_DIGITS} digits of it or more"
    raise errors.UnknownFact(safe_text.to_printable(name[:64]), hint=hint)


def facts_by_start(db: Db, digits: str, theme_id: int | None, *, is_small: bool) -> list[FactRow]:
    """Find the fact with this whole uid, or those whose uids begin so. :param is_small: walk the theme alone"""
    if len(digits) == uids.DIGITS:
        rows = [FactRow(*row) for row in db.rows(BY_UID, (bytes.fromhex(digits),))]
        return [row for row in rows if theme_id in (None, row.theme_id)]
    within = [bytes.fromhex(digits.ljust(uids.DIGITS, last)) for last in "0f"]
    sql = IN_THEME if is_small else BY_BEGINNING
    return [FactRow(*row) for row in db.rows(sql, (theme_id, *within))]


def facts_by_end(db: Db, endings: Sequence[str], theme_id: int | None, *, is_small: bool) -> dict[str, list[FactRow]]:
    """Find the facts whose uids end so, in one walk for all ends of one length. :param is_small: walk the theme alone"""
    facts: dict[str, list[FactRow]] = {digits: [] for digits in endings}
    for length in sorted({len(digits) for digits in facts}):
        halves = uids.HEX_DIGITS if length % 2 else ("",)  # bytes end in two digits
        ends = [bytes.fromhex(half + digits) for digits in facts if len(digits) == length for half in halves]
        for some in in_chunks(ends, MAX_SUFFIXES):
            sql = IN_THEME_BY_END if is_small else BY_END
            sql = sql.format(width=len(some[0]), marks=", ".join("?" * len(some)))
            for row in map(FactRow._make, db.rows(sql, (theme_id, *some))):
                facts[row.uid.hex()[-length:]].append(row)
    return facts


def single_fact(name: str, candidates: Sequence[FactRow]) -> FactRow:
    shown = safe_text.to_printable(name[:64])
    rows = list({row.id: row for row in candidates}.values())
    if not rows:
        raise errors.UnknownFact(shown, hint="list them with: hermes-memory-tui facts")
    if len(rows) > 1:
        several = "; ".join(format_candidate(row) for row in rows[:CANDIDATES_SHOWN])
        more = "; and more" if len(rows) > CANDIDATES_SHOWN else ""
        raise errors.AmbiguousUid(
            f"the uids of several facts begin or end with {shown!r}: {several}{more}; give more characters", shown
        )
    return rows[0]


def format_candidate(row: FactRow) -> str:
    """Format a candidate as its uid and notation. The text of a quarantined fact is not repeated."""
    if row.tier == Tier.QUARANTINED:
        return f"{uids.format_uid(row.uid)} (quarantined)"
    notation = safe_text.to_printable(format_notation(row.type, row.target, row.content))
    cut = notation if len(notation) <= NOTATION_SHOWN else notation[: NOTATION_SHOWN - 1] + "…"
    return f"{uids.format_uid(row.uid)} {cut}"
