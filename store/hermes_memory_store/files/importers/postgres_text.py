"""Rows from the output of `pg_dump --data-only`.

That is COPY blocks, or INSERT statements (`--inserts`, `--column-inserts`). The syntax is that of PostgreSQL's
documentation: COPY's text format (https://www.postgresql.org/docs/16/sql-copy.html) and string constants
(https://www.postgresql.org/docs/16/sql-syntax-lexical.html). Every statement is read to its end, so that quoted
text is never mistaken for a statement.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence

from hermes_memory_store import errors

NAME = r'(?:"(?:[^"]|"")+"|[A-Za-z_]\w*)'

STATEMENT = re.compile(
    rf"^[ \t]*(?P<verb>COPY|INSERT[ \t]+INTO)[ \t]+(?P<table>{NAME}(?:\.{NAME})?)[ \t]*(?:\((?P<columns>[^()']*)\))?",
    re.MULTILINE | re.IGNORECASE,
)

FROM_STDIN = re.compile(r"[ \t]+FROM[ \t]+stdin\b[^;\n]*;[ \t]*\r?\n", re.IGNORECASE)

VALUES = re.compile(r"\s*(?:OVERRIDING\s+\w+\s+VALUE\s*)?VALUES\s*", re.IGNORECASE)

VALUE = re.compile(
    r"\s*(?:[eE](?P<escaped>'(?:[^'\\]++|\\.|'')*+')|(?P<string>'(?:[^']++|'')*+')|(?P<bare>[^\s',();:]+))"
    r"(?:\s*::\s*[\w\". ]+(?:\(\d+\))?(?:\[\])?)?\s*",
    re.DOTALL,
)
"""A value. What a string holds is never given back (`++`, `*+`): one without an end would take for ever to be known as such."""

ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)

LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


DumpRow = tuple[int, str, dict[str, str | None]]
"""A row: its line, its table, each of its columns as text or None."""


def read_dump_rows(text: str, layouts: Mapping[str, Sequence[str]]) -> Iterator[DumpRow]:
    """Read the rows of these tables.

    :param layouts: columns of each table in its own order, for statements that name none
    :raises ImportFileError: a statement is incomplete, with its line
    """
    at = 0
    lines = LineNumbers(text)
    while statement := STATEMENT.search(text, at):
        table, column_list = unquote_name(statement["table"]), statement["columns"]
        columns = [unquote_name(name) for name in column_list.split(",")] if column_list else layouts.get(table, ())
        is_copy = statement["verb"].upper() == "COPY"
        start = (FROM_STDIN if is_copy else VALUES).match(text, statement.end())
        if start is None:
            if table in layouts:
                raise lines.error(statement.start(), f"a statement about {table} has no rows; the dump is not whole")
            at = statement.end()
            continue
        read_rows = read_copy_block if is_copy else read_insert_statement
        at = yield from read_rows(text, start.end(), lines, table, columns, is_read=table in layouts)


class LineNumbers:
    """Line numbers of positions, for positions in ascending order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1

    def of(self, at: int) -> int:
        self._line += self._text.count("\n", self._at, at)
        self._at = at
        return self._line

    def error(self, at: int, message: str) -> errors.ImportFileError:
        return errors.ImportFileError(f"line {self.of(at)}: {message}", self._line)


def read_copy_block(
    text: str, at: int, lines: LineNumbers, table: str, columns: Sequence[str], *, is_read: bool
) -> Generator[DumpRow, None, int]:
    """Yield the rows of a COPY block; return the position after it."""
    while True:
        end = text.find("\n", at)
        line = (text[at:] if end < 0 else text[at:end]).removesuffix("\r")
        if line == "\\.":
            return len(text) if end < 0 else end + 1
        if end < 0:
            raise lines.error(at, f"the rows of {table} end in the middle; the dump is not whole")
        if is_read:
            values = [None if field == "\\N" else ESCAPE.sub(unescape_character, field) for field in line.split("\t")]
            yield to_dump_row(lines, at, table, columns, values)
        at = end + 1


def read_insert_statement(
    text: str, at: int, lines: LineNumbers, table: str, columns: Sequence[str], *, is_read: bool
) -> Generator[DumpRow, None, int]:
    """Yield the rows of an INSERT statement; return the position after it."""
    while True:
        at = skip_sql_space(text, at)
        start = at
        if text[at : at + 1] != "(":
            raise lines.error(at, f"a row of {table} is not written as values in parentheses")
        values: list[str | None] = []
        while text[at : at + 1] in ("(", ","):
            match = VALUE.match(text, at + 1)
            if match is None:
                raise lines.error(start, f"a value of {table} cannot be read; the dump is not whole")
            value = match["bare"]
            if match["string"] is not None:
                value = match["string"][1:-1].replace("''", "'")
            elif match["escaped"] is not None:
                value = ESCAPE.sub(unescape_character, match["escaped"][1:-1].replace("''", "'"))
            elif value.upper() in ("NULL", "DEFAULT"):
                value = None
            values.append(value)
            at = match.end()
        if text[at : at + 1] != ")":
            raise lines.error(start, f"a row of {table} ends in the middle; the dump is not whole")
        if is_read:
            yield to_dump_row(lines, start, table, columns, values)
        at = skip_sql_space(text, at + 1)
        if text[at : at + 1] == ",":
            at += 1
            continue
        end = text.find(";", at)
        if end < 0:
            raise lines.error(at, f"a statement about {table} has no end; the dump is not whole")
        return end + 1


def unescape_character(match: re.Match[str]) -> str:
    character = match[1]
    if len(character) > 1 and character[0] == "x":
        return chr(int(character[1:], 16))
    if character[0] in "01234567":
        return chr(int(character, 8) & 0xFF)
    return LETTERS.get(character, character)


def to_dump_row(
    lines: LineNumbers, at: int, table: str, columns: Sequence[str], values: Sequence[str | None]
) -> DumpRow:
    if len(values) > len(columns) or (columns and len(values) < min(3, len(columns))):
        raise lines.error(at, f"a row of {table} has {len(values)} values for {len(columns)} columns")
    return lines.of(at), table, dict(zip(columns, values, strict=False))


def unquote_name(name: str) -> str:
    """Return a name without its quotes and schema."""
    name = name.strip()
    if name.endswith('"'):
        return name[name.rindex('"', 0, -1) + 1 : -1]
    return name.rpartition(".")[2].lower()


def skip_sql_space(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at
