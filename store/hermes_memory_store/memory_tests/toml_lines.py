"""Where in a TOML file a value stands, so that a mistake can name its line: the parser of the standard library does not say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

Path = tuple[str | int, ...]
"""Keys and places in arrays, from the top: `("test", 0, "given", 2)`."""

TOKEN = re.compile(
    r'''(?P<text>"""(?:\\[\s\S]|[^\\])*?"""(?:"{0,2})|\'\'\'[\s\S]*?\'\'\'(?:'{0,2})|"(?:\\.|[^"\\\n])*"|'[^'\n]*')'''
    r"""|(?P<space>[ \t\r]+|\#[^\n]*)|(?P<mark>[\n\[\]{},=.])|(?P<bare>[^\s"'\#\[\]{},=.]+|.)"""
)

ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)

ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}


class Token(NamedTuple):
    kind: str
    text: str
    line: int


class TomlPlaces:
    """The lines of a valid TOML file's tables, keys and elements of arrays."""

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {}
        self._arrays: dict[Path, int] = {}
        """How many tables there are of each array of tables so far."""
        table: Path = ()
        for statement in split_statements(text):
            if statement[0].text == "[":
                table = self._enter_table(statement)
            else:
                self._note_key(table, statement)

    def find(self, *path: str | int) -> int:
        """Return the line of a value, or of the nearest thing around it whose line is known; 1 for the file."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._lines:
                return self._lines[path[:length]]
        return 1

    def _enter_table(self, statement: list[Token]) -> Path:
        is_array = len(statement) > 1 and statement[1].text == "["
        path: Path = ()
        names = list(key_names(statement))
        for place, name in enumerate(names):
            path += (name,)
            if is_array and place == len(names) - 1:
                self._arrays[path] = self._arrays.get(path, 0) + 1
            if path in self._arrays:
                path += (self._arrays[path] - 1,)
        self._lines.setdefault(path, statement[0].line)
        return path

    def _note_key(self, table: Path, statement: list[Token]) -> None:
        equals = next((place for place, token in enumerate(statement) if token.text == "="), len(statement))
        path = (*table, *key_names(statement[:equals]))
        for length in range(len(table) + 1, len(path) + 1):
            self._lines.setdefault(path[:length], statement[0].line)
        value = statement[equals + 1 :]
        if not value or value[0].text != "[":
            return
        depth, number, awaits = 0, 0, False
        for token in value:
            if awaits and token.text not in ("\n", "]") and depth == 1:
                self._lines.setdefault((*path, number), token.line)
                number, awaits = number + 1, False
            if token.kind == "mark" and token.text in "[{":
                depth, awaits = depth + 1, awaits or depth == 0
            elif token.kind == "mark" and token.text in "]}":
                depth -= 1
            elif token.text == "," and depth == 1:
                awaits = True


def split_statements(text: str) -> Iterator[list[Token]]:
    """Yield the headings and keys with values of a file, each as its tokens without white space and comments."""
    statement: list[Token] = []
    depth, line = 0, 1
    for match in TOKEN.finditer(text):
        kind, word = match.lastgroup or "bare", match[0]
        if kind == "mark" and word == "\n" and depth == 0:
            if statement:
                yield statement
            statement = []
        elif kind != "space":
            depth += (word in "[{") - (word in "]}") if kind == "mark" else 0
            statement.append(Token(kind, word, line))
        line += word.count("\n")
    if statement:
        yield statement


def key_names(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.kind == "bare":
            yield token.text
        elif token.kind == "text":
            inner = token.text[1:-1]
            yield ESCAPE.sub(unescape, inner) if token.text.startswith('"') else inner


def unescape(match: re.Match[str]) -> str:
    letters = match[1]
    if letters[0] in "uU" and len(letters) > 1:
        return chr(int(letters[1:], 16))
    return ESCAPED.get(letters, letters)
