"""What facts and scopes said when a row of the journal was written, where the row itself does not repeat it."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence

from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.database.db import Db
from hermes_memory_store.model import Change
from hermes_memory_store.uids import parse_uid

COLUMN_OF = {"fact": "content", "scope": "label"}
"""The column that a change may give another wording, by entity."""

REWORDINGS = """
    SELECT uid, seq, before ->> ? FROM journal
    WHERE uid IN ({marks}) AND seq > ? AND before IS NOT NULL AND before ->> ? IS NOT NULL
    ORDER BY seq
"""


def find_wordings(db: Db, rows: Iterable[Change]) -> dict[int, str]:
    """Return what each row's fact or scope said after it, by the row's number.

    A row that gave a wording says it itself; of another, the next change of the wording says what stood before. A row
    that nothing reworded since is left out: its fact or scope still says the same.
    """
    wordings: dict[int, str] = {}
    silent: dict[str, list[Change]] = {"fact": [], "scope": []}
    for row in rows:
        column = COLUMN_OF.get(row.entity)
        if column is not None and column in (row.after or {}):
            wordings[row.seq] = str((row.after or {})[column])
        elif column is not None:
            silent[row.entity].append(row)
    for entity, some in silent.items():
        wordings |= find_replaced_wordings(db, COLUMN_OF[entity], some)
    return wordings


def find_replaced_wordings(db: Db, column: str, rows: Sequence[Change]) -> dict[int, str]:
    """Return what the first change of a column after each of these rows replaced."""
    oldest = min((row.seq for row in rows), default=0)
    numbers: dict[bytes, list[int]] = {parse_uid(row.uid): [] for row in rows}
    texts: dict[bytes, list[str]] = {uid: [] for uid in numbers}
    for some in in_chunks(list(numbers)):
        sql = REWORDINGS.format(marks=", ".join("?" * len(some)))
        for uid, seq, text in db.rows(sql, (column, *some, oldest, column)):
            numbers[uid].append(seq)
            texts[uid].append(text)
    wordings: dict[int, str] = {}
    for row in rows:
        uid = parse_uid(row.uid)
        place = bisect(numbers[uid], row.seq)
        if place < len(numbers[uid]):
            wordings[row.seq] = texts[uid][place]
    return wordings
