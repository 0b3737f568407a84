"""The tables of the store, and the numbers that identify a file as one.

`STORE_VERSION` is in `PRAGMA user_version`, so that opening a current store takes one pragma and no DDL, and a
store from a newer program is refused before anything is touched. `migrations.py` applies what is defined here.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

APPLICATION_ID = 0x484D454D
"""`HMEM` in `PRAGMA application_id`: tells our files from any other SQLite database."""

STORE_VERSION = 10
"""Number of the newest migration."""

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
    files = sorted((Path(__file__).parent / "migration_sql").glob("m*.sql"))
    return {file.stem: parse_statements(file.read_text(encoding="utf-8")) for file in files}


def parse_statements(text: str) -> tuple[str, ...]:
    """Return the statements of a migration without its comments."""
    parts = ["\n".join(line for line in part.split("\n") if not line.startswith("--")) for part in text.split("\n\n")]
    return tuple(part.strip("\n").removesuffix(";") for part in parts if part.strip())
