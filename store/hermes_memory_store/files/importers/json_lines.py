"""JSON documents with the line numbers of their records, so that an error in one can be located.

A file holds one document, a list or an object of lists, or one record per line (JSONL).
"""

from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_memory_store import errors
from hermes_memory_store.files.importers.import_batch import ImportBatch, SourcePlace, decode_source_text

MOST_BYTES = 512 * 1024 * 1024
"""Of a file that is read whole."""

SAMPLE = 100
"""Lines that are looked at to tell whether a file has one record a line."""

SPACE = re.compile(r"[ \t\r\n]*")

WRAPPERS = frozenset({"data", "export", "graph", "knowledge_graph", "knowledgeGraph", "result"})
"""Members that hold the object with the lists."""


@dataclass(slots=True)
class JsonDocument:
    words: dict[str, Any] = field(default_factory=dict)
    """The object it is; empty for a list, and for records a line."""
    lists: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)
    """The records of each list with their lines; under "" those of a list, or of lines."""

    def records(self, name: str, taken: ImportBatch) -> list[tuple[int, Any]]:
        """Return the records of a list with their lines; anything else of that name is reported."""
        value = self.words.get(name)
        if value is not None and not isinstance(value, list):
            taken.add_rejection(SourcePlace(1), f"{name} is not a list", value)
        return self.lists.get(name, [])

    def note_other_lists(self, taken: ImportBatch, *names: str) -> None:
        for name, left in self.lists.items():
            if name not in names and left:
                taken.notes.append(f"{len(left):,} of {errors.shorten_value(name)} are left out: no fact says the same")


def read_json_text(path: Path) -> str:
    """Read a file's whole text. :raises ImportFileError: it cannot be read, is too large, or is not UTF-8"""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise errors.ImportFileError(
                f"{path} has {path.stat().st_size:,} bytes; at most {MOST_BYTES:,} are read", path
            )
        raw = path.read_bytes()
        return decode_source_text(raw)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise errors.ImportFileError(f"{path}, line {line}: it is not UTF-8 text", path) from error
    except OSError as error:
        raise errors.ImportFileError(f"{path} cannot be read: {error.strerror or error}", path) from error


def load_json_document(path: Path, taken: ImportBatch) -> JsonDocument:
    """Load a JSON file; an invalid line of JSONL is reported.

    :raises ImportFileError: it is neither one document nor one record per line; nothing of it is imported then
    """
    text = read_json_text(path)
    try:
        whole = parse_json(text)
    except ValueError as error:
        if not is_jsonl(text):
            try:
                return JsonDocument(lists={"": [*find_json_elements(text, -1, end="")]})  # one document after another
            except (ValueError, RecursionError):
                raise errors.ImportFileError(f"{path} is not whole JSON: {error}", path) from error
        records = []
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    records.append((number, parse_json(line)))
                except ValueError as refusal:
                    taken.add_rejection(SourcePlace(number), f"the line is not JSON: {refusal}", line)
        return JsonDocument(lists={"": records})
    if isinstance(whole, list):
        return JsonDocument(lists={"": list(find_json_elements(text, SPACE.match(text).end()))})  # type: ignore[union-attr]
    if isinstance(whole, dict):
        return JsonDocument(whole, find_json_members(text))
    raise errors.ImportFileError(f"{path} holds neither records nor a list of them", path)


def parse_json(text: str) -> Any:
    """Parse JSON. :raises ValueError: also where it is nested too deep"""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def is_jsonl(text: str) -> bool:
    """Check whether most of the first non-empty lines are records of their own: whole JSON objects."""

    def is_record(line: str) -> bool:
        try:
            return isinstance(parse_json(line), dict)
        except ValueError:
            return False

    lines = list(itertools.islice((line for line in io.StringIO(text, newline="\n") if line.strip()), SAMPLE))
    return 2 * sum(map(is_record, lines)) >= len(lines) > 0 and not lines[0].lstrip().startswith("[")


def find_json_members(text: str, at: int = 0) -> dict[str, list[tuple[int, Any]]]:
    decoder = json.JSONDecoder()
    members: dict[str, list[tuple[int, Any]]] = {}
    at = skip_json_space(text, skip_json_space(text, at) + 1)
    while text[at] != "}":
        key, at = decoder.raw_decode(text, at)
        at = skip_json_space(text, skip_json_space(text, at) + 1)
        if text[at] == "[":
            members.setdefault(key, []).extend(find_json_elements(text, at))  # a name may stand there twice
        elif text[at] == "{" and key in WRAPPERS:
            members |= find_json_members(text, at)
        _, at = decoder.raw_decode(text, at)
        at = skip_json_space(text, at)
        if text[at] == ",":
            at = skip_json_space(text, at + 1)
    return members


def find_json_elements(text: str, at: int, end: str = "]") -> Iterator[tuple[int, Any]]:
    """Find the elements of a list with their lines. :param at: where it begins; before them where no bracket does"""
    decoder = json.JSONDecoder()
    line, counted = 1 + text.count("\n", 0, max(0, at)), max(0, at)
    at = skip_json_space(text, at + 1)
    while text[at : at + 1] != end:
        line, counted = line + text.count("\n", counted, at), at
        value, at = decoder.raw_decode(text, at)
        yield line, value
        at = skip_json_space(text, at)
        if text[at : at + 1] == ",":
            at = skip_json_space(text, at + 1)


def format_first_record(path: Path) -> str:
    try:
        value, _ = json.JSONDecoder().raw_decode(read_json_text(path).strip())
    except (ValueError, RecursionError, errors.ImportFileError):
        return ""
    if isinstance(value, dict):
        lists = (member for member in value.values() if isinstance(member, list))
        value = next((records for records in lists if records and isinstance(records[0], dict)), value)
    value = value[0] if isinstance(value, list) and value else value
    return f"; of the first record, {format_member_names(value)}"


def format_member_names(record: Any) -> str:
    return f"its members are {errors.shorten_value(', '.join(record))}" if isinstance(record, dict) else "it has none"


def skip_json_space(text: str, at: int) -> int:
    match = SPACE.match(text, at)
    return match.end() if match else at
