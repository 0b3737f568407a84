"""The transaction log: the journal as JSONL, one row a line, and its replay into an empty store, which verifies its chain.

`docs/formats.md` describes the fields.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from hermes_memory_store import errors, uids
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.database.database_copies import Progress
from hermes_memory_store.items import journal, origin_rows
from hermes_memory_store.items.batch_mutation import defer_indexing
from hermes_memory_store.items.journal import JournalRecord, load_records
from hermes_memory_store.journal.record_applier import Replayer
from hermes_memory_store.model import UNKNOWN_ORIGIN, Millis, parse_actor

if TYPE_CHECKING:
    from hermes_memory_store.store import Store

PROGRESS_ROWS = 1_000

REPLAYED = "replayed_journal"

REPLAYED_TABLE = f"CREATE TABLE IF NOT EXISTS {REPLAYED} (last INTEGER NOT NULL) STRICT"
"""There only in a store made by a replay: up to this row of its journal the texts of captured turns never were here."""


def parse_iso_millis(moment: str) -> Millis:
    return Millis(round(datetime.fromisoformat(moment).timestamp() * 1000))


CODECS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "seq": (int, int),
    "at": (format_iso_time, parse_iso_millis),
    "theme": (str, str),
    "actor": (str, parse_actor),
    "op": (str, str),
    "entity": (str, str),
    "uid": (uids.format_uid, uids.parse_uid),
    "change": (int, int),
    "undoes": (int, int),
    "before": (json.loads, journal.to_journal_json),
    "after": (json.loads, journal.to_journal_json),
    "salt": (bytes.hex, bytes.fromhex),
    "digest": (bytes.hex, bytes.fromhex),
    "hash": (bytes.hex, bytes.fromhex),
}
"""Fields of a record: how a line says one, and how that is read."""

MAY_BE_EMPTY = frozenset({"undoes", "before", "after", "digest"})


@dataclass(frozen=True, slots=True)
class ReplayReport:
    applied: int
    """Rows of the journal that were applied."""
    head: str
    """Hexadecimal hash of the last one."""


def transaction_log_lines(store: Store, *, since: int = 0) -> Iterator[str]:
    """Yield the transaction log after row `since`, one JSON text a row, without line ends."""
    return map(to_log_line, load_records(store.db, since=since))


def replay_log(said: Iterable[str], store: Store, *, progress: Progress | None = None, total: int = 0) -> ReplayReport:
    """Apply a whole transaction log to an empty store, all of it or nothing.

    :param said: the lines, from row 1 on; blank ones are ignored
    :param progress: called with the rows done and `total`
    :raises ArgumentError: when the store is not empty
    :raises ImportFileError: when a line is not a row, with its number
    :raises JournalBroken: when a row was altered, is missing or is out of order
    """
    rows = (parse_log_line(line, number) for number, line in enumerate(said, 1) if line.strip())
    return replay_records(store, rows, progress=progress, total=total)


def replay_records(
    store: Store, rows: Iterable[JournalRecord], *, progress: Progress | None = None, total: int = 0
) -> ReplayReport:
    """Apply records to an empty store in one transaction, verifying each link of the chain."""
    # Nothing of this program's own: the project it runs in would take the name that the log gives to the same one.
    with store.attribute(UNKNOWN_ORIGIN), store.db.write_transaction() as conn:
        if conn.execute("SELECT EXISTS (SELECT 1 FROM journal) OR EXISTS (SELECT 1 FROM themes)").fetchone()[0]:
            raise errors.ArgumentError(f"{store.path} is not empty; a log is replayed into a new store", store.path)
        replayer = Replayer(store, conn)
        with defer_indexing(conn):
            for record in rows:
                replayer.apply(record)
                if progress is not None and record.seq % PROGRESS_ROWS == 0:
                    progress(record.seq, total)
            replayer.finish()
        if conn.execute("SELECT 1 FROM journal WHERE entity = 'turn' LIMIT 1").fetchone():
            conn.execute(REPLAYED_TABLE)
            conn.execute(f"INSERT INTO {REPLAYED} VALUES (?)", (replayer.seq,))
    if progress is not None:
        progress(replayer.seq, total)
    return ReplayReport(replayer.seq, replayer.hash.hex())


def to_log_line(record: JournalRecord) -> str:
    fields = ((name, write, getattr(record, name)) for name, (write, _) in CODECS.items())
    words = {name: None if value is None else write(value) for name, write, value in fields}
    words["origin"] = record.origin_id
    if record.origins:
        words["origins"] = [to_log_origin(origin) for origin in record.origins]
    return json.dumps(words, ensure_ascii=False, separators=(",", ":"))


def to_log_origin(words: dict[str, Any]) -> dict[str, Any]:
    """Return an origin as a log tells of it outside this machine: without paths."""
    origin = origin_rows.parse_origin_words({**words, "project": None})
    portable = origin_rows.to_origin_words(replace(origin, root=words.get("root")), local=False)
    if words.get("root") == origin_rows.ERASED:
        portable["root"] = words["root"]
    return {**portable, **{name: words[name] for name in ("id", "digest", "salt", "project") if name in words}}


def parse_log_line(line: str, number: int) -> JournalRecord:
    """Parse the record of one line. :raises ImportFileError: when it is none, naming the line"""
    try:
        words = json.loads(line)
        fields: dict[str, Any] = {
            name: None if words[name] is None and name in MAY_BE_EMPTY else read(words[name])
            for name, (_, read) in CODECS.items()
        }
        return JournalRecord(**fields, origin_id=words.get("origin"), origins=tuple(words.get("origins", ())))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise errors.ImportFileError(
            f"line {number} is not a row of a transaction log: {line[:60]!r}", number
        ) from error
