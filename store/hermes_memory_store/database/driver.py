"""The SQLite driver: the only module that names it and opens a database. Another driver takes its place here.

It imports nothing of the store, so that a hook can read with it.
"""

from __future__ import annotations

import sqlite3
from sqlite3 import (
    SQLITE_BUSY,
    SQLITE_CANTOPEN,
    SQLITE_CORRUPT,
    SQLITE_CORRUPT_VTAB,
    SQLITE_ERROR,
    SQLITE_FULL,
    SQLITE_INTERRUPT,
    SQLITE_IOERR,
    SQLITE_LOCKED,
    SQLITE_NOMEM,
    SQLITE_NOTADB,
    SQLITE_READONLY,
    SQLITE_TOOBIG,
    Connection,
    Cursor,
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    OperationalError,
    ProgrammingError,
)

__all__ = [
    "SQLITE_BUSY",
    "SQLITE_CANTOPEN",
    "SQLITE_CORRUPT",
    "SQLITE_CORRUPT_VTAB",
    "SQLITE_ERROR",
    "SQLITE_FULL",
    "SQLITE_INTERRUPT",
    "SQLITE_IOERR",
    "SQLITE_LOCKED",
    "SQLITE_NOMEM",
    "SQLITE_NOTADB",
    "SQLITE_READONLY",
    "SQLITE_TOOBIG",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "OperationalError",
    "ProgrammingError",
    "connect",
]

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
