"""JSON with the lines its records stand on, so that what is wrong with one can be found.

A file holds one document, a list or an object of lists, or a record a line (JSONL).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_memory_store import errors
from hermes_memory_store.importers.taking import Place, Taken

MOST_BYTES = 512 * 1024 * 1024
"""Of a file that is read whole."""

SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(slots=True)
class Document:
    """What a file of JSON says."""

    words: dict[str, Any] = field(default_factory=dict)
    """The object it is; empty for a list, and for records a line."""
    lists: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)
    """The records of each list with their lines; under "" those of a list, or of lines."""


def text_of(path: Path) -> str:
    """A file's whole text. :raises ImportFileError: it cannot be read, is too large, or is not UTF-8"""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise errors.ImportFileError(
                f"{path} has {path.stat().st_size:,} bytes; at most {MOST_BYTES:,} are read", path
            )
        raw = path.read_bytes()
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise errors.ImportFileError(f"{path}, line {line}: it is not UTF-8 text", path) from error
    except OSError as error:
        raise errors.ImportFileError(f"{path} cannot be read: {error.strerror or error}", path) from error


def records(path: Path, taken: Taken) -> Document:
    """What a file of JSON says; a line of JSONL that is none is reported.

    :raises ImportFileError: it is neither one document nor records a line; nothing of it is taken then
    """
    text = text_of(path)
    try:
        whole = loaded(text)
    except ValueError as error:
        if not is_lines(text):
            raise errors.ImportFileError(f"{path} is not whole JSON: {error}", path) from error
        return Document(lists={"": list(lines(text, taken))})
    if isinstance(whole, list):
        return Document(lists={"": list(elements(text, SPACE.match(text).end()))})  # type: ignore[union-attr]
    if isinstance(whole, dict):
        return Document(whole, members(text))
    raise errors.ImportFileError(f"{path} holds neither records nor a list of them", path)


def loaded(text: str) -> Any:
    """Parse JSON. :raises ValueError: also where it is nested too deep"""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def is_lines(text: str) -> bool:
    """Whether the first line that holds something is a record of its own."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    try:
        return isinstance(loaded(first), dict)
    except ValueError:
        return False


def lines(text: str, taken: Taken) -> Iterator[tuple[int, Any]]:
    """The records of JSONL."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield number, loaded(line)
            except ValueError as error:
                taken.refuse(Place(number), f"the line is not JSON: {error}", line)


def members(text: str) -> dict[str, list[tuple[int, Any]]]:
    """The lists that an object, known to be one, holds by name."""
    decoder, found = json.JSONDecoder(), {}
    at = skipped(text, skipped(text, 0) + 1)
    while text[at] != "}":
        key, at = decoder.raw_decode(text, at)
        at = skipped(text, skipped(text, at) + 1)
        if text[at] == "[":
            found[key] = list(elements(text, at))
        _, at = decoder.raw_decode(text, at)
        at = skipped(text, at)
        if text[at] == ",":
            at = skipped(text, at + 1)
    return found


def elements(text: str, at: int) -> Iterator[tuple[int, Any]]:
    """The elements of a list, known to be one, that begins at a place."""
    decoder = json.JSONDecoder()
    line, counted = 1 + text.count("\n", 0, at), at
    at = skipped(text, at + 1)
    while text[at] != "]":
        line, counted = line + text.count("\n", counted, at), at
        value, at = decoder.raw_decode(text, at)
        yield line, value
        at = skipped(text, at)
        if text[at] == ",":
            at = skipped(text, at + 1)


def skipped(text: str, at: int) -> int:
    """The next place that is no white space."""
    found = SPACE.match(text, at)
    return found.end() if found else at
