"""The tables of the store, and the numbers that identify a file as one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

APPLICATION_ID = 0x484D454D
"""`HMEM` in `PRAGMA application_id`: tells our files from any other SQLite database."""

STORE_VERSION = 14
"""Number of the newest migration, in `PRAGMA user_version`: opening a current store takes one pragma and no DDL."""

THEME_SHIFT = 40
"""A fact's integer id is `theme_id << 40 | n`, so that the facts of a theme are one range of rowids: full-text search
walks only that range, newest first, and one theme's size never slows (or leaks into) another's search."""

FACET = "\ue000"
"""Begins every facet term of the full-text index. A private-use character, which no indexed word can hold."""


@cache
def load_schemas() -> dict[str, tuple[str, ...]]:
    """Return the statements of the migrations in their order, by name; the doctor knows a whole store by them.

    Blank lines stand between statements, and comments begin at the margin. SQLite keeps a statement as it is written, with
    its indentation and the spaces before its semicolon.
    """
    schemas = {}
    for file in sorted((Path(__file__).parent / "migration_sql").glob("m*.sql")):
        text = re.sub(r"^--.*\n?", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        schemas[file.stem] = tuple(part.strip("\n").removesuffix(";") for part in text.split("\n\n") if part.strip())
    return schemas
