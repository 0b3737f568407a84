"""Rows out of what `pg_dump --data-only` writes: COPY blocks, or INSERT statements (`--inserts`, `--column-inserts`).

The forms are those of Postgres's own documentation: COPY's text format (https://www.postgresql.org/docs/16/sql-copy.html) and
string constants (https://www.postgresql.org/docs/16/sql-syntax-lexical.html). Every statement is read to its end, so that
what a text quotes is never taken for a statement.
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
class Row:
    """A row of a table, each column as text or None."""

    line: int
    table: str
    columns: dict[str, str | None]


def rows(text: str, layouts: Mapping[str, Sequence[str]]) -> Iterator[Row]:
    """The rows of these tables.

    :param layouts: columns of each table in its own order, for statements that name none
    :raises ImportFileError: a statement is not whole, with its line
    """
    at = 0
    lines = Lines(text)
    while found := STATEMENT.search(text, at):
        table = unquoted(found["table"].rpartition(".")[2] if '"' not in found["table"] else found["table"])
        given = found["columns"]
        columns = [unquoted(name) for name in given.split(",")] if given else list(layouts.get(table, ()))
        if found["verb"].upper() == "COPY":
            start = FROM_STDIN.match(text, found.end())
            if start is None:
                if table in layouts:
                    broken(lines.of(found.start()), f"a statement about {table} has no rows; the dump is not whole")
                at = found.end()
                continue
            at = yield from copied(text, start.end(), lines, table, columns, wanted=table in layouts)
        else:
            start = VALUES.match(text, found.end())
            if start is None:
                if table in layouts:
                    broken(lines.of(found.start()), f"a statement about {table} has no rows; the dump is not whole")
                at = found.end()
                continue
            at = yield from inserted(text, start.end(), lines, table, columns, wanted=table in layouts)


class Lines:
    """Numbers of lines by place, for places asked in order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1

    def of(self, at: int) -> int:
        """The line on which a place is."""
        self._line += self._text.count("\n", self._at, at)
        self._at = at
        return self._line


def copied(
    text: str, at: int, lines: Lines, table: str, columns: Sequence[str], *, wanted: bool
) -> Generator[Row, None, int]:
    """The rows of a COPY block; returns the place after it."""
    while True:
        end = text.find("\n", at)
        line = (text[at:] if end < 0 else text[at:end]).removesuffix("\r")
        if line == "\\.":
            return len(text) if end < 0 else end + 1
        if end < 0:
            broken(lines.of(at), f"the rows of {table} end in the middle; the dump is not whole")
        if wanted:
            values = [copied_value(field) for field in line.split("\t")]
            yield row(lines.of(at), table, columns, values)
        at = end + 1


def copied_value(field: str) -> str | None:
    """A field of a COPY block."""
    if field == "\\N":
        return None
    return ESCAPE.sub(unescaped, field) if "\\" in field else field


def inserted(
    text: str, at: int, lines: Lines, table: str, columns: Sequence[str], *, wanted: bool
) -> Generator[Row, None, int]:
    """The rows of an INSERT statement; returns the place after it."""
    while True:
        at = after_space(text, at)
        begun = at
        if text[at : at + 1] != "(":
            broken(lines.of(at), f"a row of {table} is not written as values in parentheses")
        values: list[str | None] = []
        while text[at : at + 1] in ("(", ","):
            found = VALUE.match(text, at + 1)
            if found is None:
                broken(lines.of(begun), f"a value of {table} cannot be read; the dump is not whole")
            values.append(value(found))
            at = found.end()
        if text[at : at + 1] != ")":
            broken(lines.of(begun), f"a row of {table} ends in the middle; the dump is not whole")
        if wanted:
            yield row(lines.of(begun), table, columns, values)
        at = after_space(text, at + 1)
        if text[at : at + 1] == ",":
            at += 1
            continue
        end = text.find(";", at)
        if end < 0:
            broken(lines.of(at), f"a statement about {table} has no end; the dump is not whole")
        return end + 1


def value(found: re.Match[str]) -> str | None:
    """A value of an INSERT statement."""
    if found["string"] is not None:
        return found["string"][1:-1].replace("''", "'")
    if found["escaped"] is not None:
        return ESCAPE.sub(unescaped, found["escaped"][1:-1].replace("''", "'"))
    return None if found["bare"].upper() in ("NULL", "DEFAULT") else found["bare"]


def unescaped(found: re.Match[str]) -> str:
    """One escape as the character it stands for."""
    said = found[1]
    if len(said) > 1 and said[0] == "x":
        return chr(int(said[1:], 16))
    if said[0] in "01234567":
        return chr(int(said, 8) & 0xFF)
    return LETTERS.get(said, said)


def row(line: int, table: str, columns: Sequence[str], values: Sequence[str | None]) -> Row:
    """A row by the names of its columns."""
    if len(values) > len(columns) or (columns and len(values) < min(3, len(columns))):
        broken(line, f"a row of {table} has {len(values)} values for {len(columns)} columns")
    return Row(line, table, dict(zip(columns, values, strict=False)))


def unquoted(name: str) -> str:
    """A name without its quotes and schema."""
    name = name.strip()
    if name.endswith('"'):
        return name[name.rindex('"', 0, -1) + 1 : -1]
    return name.rpartition(".")[2].lower()


def after_space(text: str, at: int) -> int:
    """The next place that is no white space."""
    while text[at : at + 1].isspace():
        at += 1
    return at


def broken(line: int, message: str) -> NoReturn:
    """:raises ImportFileError: always"""
    raise errors.ImportFileError(f"line {line}: {message}", line)
