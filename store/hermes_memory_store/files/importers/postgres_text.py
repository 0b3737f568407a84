"""Rows from the output of `pg_dump --data-only`.

That is COPY blocks, or INSERT statements (`--inserts`, `--column-inserts`). The syntax is that of PostgreSQL's
documentation: COPY's text format (https://www.postgresql.org/docs/16/sql-copy.html) and string constants
(https://www.postgresql.org/docs/16/sql-syntax-lexical.html). Every statement is read to its end, so that quoted
text is never mistaken for a statement.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

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


@dataclass(frozen=True, slots=True)
class DumpRow:
    """A row of a table, each column as text or None."""

    line: int
    table: str
    columns: dict[str, str | None]


def read_dump_rows(text: str, layouts: Mapping[str, Sequence[str]]) -> Iterator[DumpRow]:
    """Read the rows of these tables.

    :param layouts: columns of each table in its own order, for statements that name none
    :raises ImportFileError: a statement is incomplete, with its line
    """
    at = 0
    lines = LineNumbers(text)
    while statement := STATEMENT.search(text, at):
        table = unquote_name(
            statement["table"].rpartition(".")[2] if '"' not in statement["table"] else statement["table"]
        )
        column_list = statement["columns"]
        columns = (
            [unquote_name(name) for name in column_list.split(",")] if column_list else list(layouts.get(table, ()))
        )
        is_copy = statement["verb"].upper() == "COPY"
        start = (FROM_STDIN if is_copy else VALUES).match(text, statement.end())
        if start is None:
            if table in layouts:
                raise_broken_dump(
                    lines.of(statement.start()), f"a statement about {table} has no rows; the dump is not whole"
                )
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
        """Return the line of a position."""
        self._line += self._text.count("\n", self._at, at)
        self._at = at
        return self._line


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
            raise_broken_dump(lines.of(at), f"the rows of {table} end in the middle; the dump is not whole")
        if is_read:
            values = [parse_copy_field(field) for field in line.split("\t")]
            yield to_dump_row(lines.of(at), table, columns, values)
        at = end + 1


def parse_copy_field(field: str) -> str | None:
    """Parse a field of a COPY block."""
    if field == "\\N":
        return None
    return ESCAPE.sub(unescape_character, field) if "\\" in field else field


def read_insert_statement(
    text: str, at: int, lines: LineNumbers, table: str, columns: Sequence[str], *, is_read: bool
) -> Generator[DumpRow, None, int]:
    """Yield the rows of an INSERT statement; return the position after it."""
    while True:
        at = skip_sql_space(text, at)
        start = at
        if text[at : at + 1] != "(":
            raise_broken_dump(lines.of(at), f"a row of {table} is not written as values in parentheses")
        values: list[str | None] = []
        while text[at : at + 1] in ("(", ","):
            match = VALUE.match(text, at + 1)
            if match is None:
                raise_broken_dump(lines.of(start), f"a value of {table} cannot be read; the dump is not whole")
            values.append(parse_insert_value(match))
            at = match.end()
        if text[at : at + 1] != ")":
            raise_broken_dump(lines.of(start), f"a row of {table} ends in the middle; the dump is not whole")
        if is_read:
            yield to_dump_row(lines.of(start), table, columns, values)
        at = skip_sql_space(text, at + 1)
        if text[at : at + 1] == ",":
            at += 1
            continue
        end = text.find(";", at)
        if end < 0:
            raise_broken_dump(lines.of(at), f"a statement about {table} has no end; the dump is not whole")
        return end + 1


def parse_insert_value(match: re.Match[str]) -> str | None:
    """Parse a value of an INSERT statement."""
    if match["string"] is not None:
        return match["string"][1:-1].replace("''", "'")
    if match["escaped"] is not None:
        return ESCAPE.sub(unescape_character, match["escaped"][1:-1].replace("''", "'"))
    return None if match["bare"].upper() in ("NULL", "DEFAULT") else match["bare"]


def unescape_character(match: re.Match[str]) -> str:
    """Return the character that an escape stands for."""
    character = match[1]
    if len(character) > 1 and character[0] == "x":
        return chr(int(character[1:], 16))
    if character[0] in "01234567":
        return chr(int(character, 8) & 0xFF)
    return LETTERS.get(character, character)


def to_dump_row(line: int, table: str, columns: Sequence[str], values: Sequence[str | None]) -> DumpRow:
    """Return a row by the names of its columns."""
    if len(values) > len(columns) or (columns and len(values) < min(3, len(columns))):
        raise_broken_dump(line, f"a row of {table} has {len(values)} values for {len(columns)} columns")
    return DumpRow(line, table, dict(zip(columns, values, strict=False)))


def unquote_name(name: str) -> str:
    """Return a name without its quotes and schema."""
    name = name.strip()
    if name.endswith('"'):
        return name[name.rindex('"', 0, -1) + 1 : -1]
    return name.rpartition(".")[2].lower()


def skip_sql_space(text: str, at: int) -> int:
    """Return the next position that is not white space."""
    while text[at : at + 1].isspace():
        at += 1
    return at


def raise_broken_dump(line: int, message: str) -> NoReturn:
    """Report a broken dump. :raises ImportFileError: always"""
    raise errors.ImportFileError(f"line {line}: {message}", line)
