"""The SQLite driver: the only module that names it and opens a database. Another driver takes its place here.

It imports nothing of the store, so that a hook can read with it.
"""

from __future__ import annotations

import sqlite3

SQLITE_BUSY = sqlite3.SQLITE_BUSY
SQLITE_CANTOPEN = sqlite3.SQLITE_CANTOPEN
SQLITE_CORRUPT = sqlite3.SQLITE_CORRUPT
SQLITE_CORRUPT_VTAB = sqlite3.SQLITE_CORRUPT_VTAB
SQLITE_ERROR = sqlite3.SQLITE_ERROR
SQLITE_FULL = sqlite3.SQLITE_FULL
SQLITE_INTERRUPT = sqlite3.SQLITE_INTERRUPT
SQLITE_IOERR = sqlite3.SQLITE_IOERR
SQLITE_LOCKED = sqlite3.SQLITE_LOCKED
SQLITE_NOMEM = sqlite3.SQLITE_NOMEM
SQLITE_NOTADB = sqlite3.SQLITE_NOTADB
SQLITE_READONLY = sqlite3.SQLITE_READONLY
SQLITE_TOOBIG = sqlite3.SQLITE_TOOBIG
Connection = sqlite3.Connection
Cursor = sqlite3.Cursor
DatabaseError = sqlite3.DatabaseError
DataError = sqlite3.DataError
Error = sqlite3.Error
IntegrityError = sqlite3.IntegrityError
OperationalError = sqlite3.OperationalError
ProgrammingError = sqlite3.ProgrammingError
Row = sqlite3.Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, TypeVar

    C = TypeVar("C", bound=Connection)


def connect(database: str | Path, kind: type[C], **options: Any) -> C:
    """Open a database, whose statements commit by themselves outside of `BEGIN` and `COMMIT`.

    :param database: a path, or a text: `:memory:`, empty for a temporary one, or a URI
    """
    is_uri = isinstance(database, str) and database.startswith("file:")
    return sqlite3.connect(database, isolation_level=None, uri=is_uri, factory=kind, **options)
