"""Read and write `memory-tests.toml`: every mistake names its line and the way out.

[[test]]
ask = "how do we log in"
given = ["D[auth.login]"]
never = ["D[auth.old]: basic auth"]
tokens = 180

[[test]]
start = { project = "shop", scope = "billing", branch = "main" }
given = ["C[billing.vat]"]
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import date, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from hermes_memory_store.clock import parse_moment
from hermes_memory_store.errors import CaseFileError, FileError, StoreError, closest_names, shorten_value
from hermes_memory_store.memory_tests.memory_case import (
    CaseStart,
    Expectation,
    MemoryCase,
    fold_line,
    parse_expectation,
)
from hermes_memory_store.memory_tests.toml_lines import TomlPlaces

FILE_NAME = "memory-tests.toml"

HEAD = "# Tests of a memory; run them with: hermes-memory-tui test\n"

MAX_FILE_BYTES = 4 * 1024 * 1024

MAX_NAME = 120
"""Characters of a question by which a test is named."""

LEAST_TOKENS, MOST_TOKENS = 20, 1_000_000
"""Of a budget, as `recall ask` takes it."""

FILE_KEYS = ("test", "theme", "tokens")

CASE_KEYS = ("name", "ask", "start", "theme", "given", "never", "tokens")

START_KEYS = tuple(field.name for field in fields(CaseStart))

PLACE_IN_TOML = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


class CaseMistake(NamedTuple):
    line: int
    said: str


@dataclass(frozen=True, slots=True)
class CaseFile:
    path: Path
    cases: tuple[MemoryCase, ...]


def read_case_file(path: Path) -> CaseFile:
    """Return the tests of a file. :raises CaseFileError: names every mistake with its line :raises FileError: unreadable"""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)  # the size of a device or a pipe says nothing
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}", str(path)) from None
    if len(data) > MAX_FILE_BYTES:
        raise CaseFileError(path, [CaseMistake(1, f"the file is larger than {MAX_FILE_BYTES:,} bytes; split it")])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CaseFileError(path, [CaseMistake(line, "this is not UTF-8; save the file as UTF-8")]) from None
    return CaseFile(path, parse_cases(text, path))


def parse_cases(text: str, path: Path = Path(FILE_NAME)) -> tuple[MemoryCase, ...]:
    """Return the tests that a text holds. :raises CaseFileError: names every mistake with its line"""
    text = text.replace("\r\n", "\n")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CaseFileError(path, [to_syntax_mistake(str(error), text)]) from None
    except RecursionError:
        raise CaseFileError(path, [CaseMistake(1, "the values are nested too deeply; a test needs no depth")]) from None
    reader = CaseReader(document, TomlPlaces(text))
    cases = tuple(reader.read())
    if reader.mistakes:
        raise CaseFileError(path, sorted(reader.mistakes, key=itemgetter(0)))
    return cases


def to_syntax_mistake(message: str, text: str) -> CaseMistake:
    place = PLACE_IN_TOML.search(message)
    line = int(place[1]) if place and place[1] else max(1, text.rstrip("\n").count("\n") + 1)
    message = PLACE_IN_TOML.sub("", message)
    return CaseMistake(line, f"this is not TOML: {message[:1].lower()}{message[1:]}")


class CaseReader:
    def __init__(self, document: dict[str, Any], lines: TomlPlaces) -> None:
        self.mistakes: list[CaseMistake] = []
        self._document = document
        self._lines = lines
        self._names: dict[str, int] = {}

    def read(self) -> Iterator[MemoryCase]:
        self._refuse_unknown(self._document, FILE_KEYS, "a file of tests", ())
        theme = self._read_text(self._document, "theme", ())
        tokens = self._read_tokens(self._document, ())
        tests = self._document.get("test", [])
        if not isinstance(tests, list):
            self._note("tests are written as [[test]], with two brackets on either side", "test")
            return
        if not tests and not self.mistakes:
            self._note('there is no test; begin one with a line that says [[test]], then ask = "…" or start = { … }')
        for number, table in enumerate(tests):
            if not isinstance(table, dict):
                self._note(f"a test is a table, not {shorten_value(table)!r}; begin it with [[test]]", "test", number)
                continue
            before = len(self.mistakes)
            case = self._read_case(table, ("test", number), theme, tokens)
            if len(self.mistakes) == before:
                yield case

    def _read_case(
        self, table: dict[str, Any], path: tuple[str | int, ...], theme: str | None, tokens: int | None
    ) -> MemoryCase:
        self._refuse_unknown(table, CASE_KEYS, "a test", path)
        ask = self._read_text(table, "ask", path)
        start = self._read_start(table, path)
        if "ask" in table and "start" in table:
            self._note("a test has ask or start, not both; make two of it", *path, "start")
        elif "ask" not in table and "start" not in table:
            self._note('a test needs ask = "a question" or start = { scope = "…" }', *path)
        required = tuple(self._read_expectations(table, "given", path))
        never = tuple(self._read_expectations(table, "never", path))
        if not table.get("given") and not table.get("never"):
            self._note("nothing is expected; say what must be given = […], or never = […]", *path)
        texts = {fold_line(expectation.text) for expectation in required}
        for expectation in never:
            if fold_line(expectation.text) in texts:
                problem = f"{shorten_value(expectation.text)!r} stands in given and in never; leave one out"
                self.mistakes.append(CaseMistake(expectation.line, problem))
        return MemoryCase(
            self._read_name(table, path, ask, start),
            ask,
            start,
            self._read_text(table, "theme", path) or theme,
            self._read_tokens(table, path) or tokens,
            required,
            never,
            self._lines.find(*path),
        )

    def _read_name(
        self, table: dict[str, Any], path: tuple[str | int, ...], ask: str | None, start: CaseStart | None
    ) -> str:
        """Return the name of a test: its own, else what it asks or where it starts, made distinct."""
        name = self._read_text(table, "name", path)
        if name is None:
            base = format_case_name(ask, start)
            numbered = (f"{base} ({number})" if number > 1 else base for number in itertools.count(1))
            name = next(name for name in numbered if name not in self._names)
        elif name in self._names:
            taken = f"the name {shorten_value(name)!r} is that of the test in line {self._names[name]}, too; change one"
            self._note(taken, *path, "name")
        self._names[name] = self._lines.find(*path, "name")
        return name

    def _read_start(self, table: dict[str, Any], path: tuple[str | int, ...]) -> CaseStart | None:
        if "start" not in table:
            return None
        start = table["start"]
        if not isinstance(start, dict):
            self._note('start is a table: start = { project = "shop", scope = "billing" }', *path, "start")
            return None
        path = (*path, "start")
        self._refuse_unknown(start, START_KEYS, "a start", path)
        moment = start.get("at")
        if isinstance(moment, datetime | date):
            start = start | {"at": moment.isoformat()}
        places = {key: self._read_text(start, key, path) for key in START_KEYS}
        if places["at"] is not None:
            try:
                parse_moment(places["at"], 0)
            except StoreError as error:
                self._note(error.message, *path, "at")
        return CaseStart(**(places | {"folder": places["folder"] or ""}))  # type: ignore[arg-type]  # the keys are the fields

    def _read_expectations(self, table: dict[str, Any], key: str, path: tuple[str | int, ...]) -> Iterator[Expectation]:
        texts = table.get(key, [])
        if isinstance(texts, str):
            texts = [texts]
        if not isinstance(texts, list):
            self._note(f'{key} is a list of texts: {key} = ["D[db.id]", "words of a line"]', *path, key)
            return
        for number, text in enumerate(texts):
            place = (*path, key, number)
            if not isinstance(text, str) or not text.strip():
                self._note(f"{key} expects a text such as D[db.id], not {shorten_value(text)!r}", *place)
                continue
            try:
                yield parse_expectation(text, self._lines.find(*place))
            except StoreError as error:
                self._note(error.message, *place)

    def _read_text(self, table: dict[str, Any], key: str, path: tuple[str | int, ...]) -> str | None:
        value = table.get(key)
        if key not in table:
            return None
        if not isinstance(value, str):
            self._note(f"{key} is a text in quotes, not {shorten_value(value)!r}", *path, key)
            return None
        if not value.strip():
            self._note(f"{key} is empty; leave it out, or say what it is", *path, key)
            return None
        return value.strip()

    def _read_tokens(self, table: dict[str, Any], path: tuple[str | int, ...]) -> int | None:
        value = table.get("tokens")
        if value is None or (type(value) is int and LEAST_TOKENS <= value <= MOST_TOKENS):
            return value
        limits = f"tokens is a number from {LEAST_TOKENS} to {MOST_TOKENS:,}, not {shorten_value(value)!r}"
        self._note(limits, *path, "tokens")
        return None

    def _refuse_unknown(
        self, table: dict[str, Any], keys: tuple[str, ...], owner: str, path: tuple[str | int, ...]
    ) -> None:
        for key in table.keys() - set(keys):
            near = closest_names(key, keys)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(keys)}"
            self._note(f"{shorten_value(key)!r} is no key of {owner}; {hint}", *path, key)

    def _note(self, message: str, *path: str | int) -> None:
        self.mistakes.append(CaseMistake(self._lines.find(*path), message))


def format_case_name(ask: str | None, start: CaseStart | None) -> str:
    """Return the name of a test that has none of its own."""
    if start is None:
        name = " ".join((ask or "").split())
        return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"
    places = (start.project, start.scope, start.branch, start.folder, start.at)
    return "start " + " ".join(place for place in places if place) if any(places) else "start"


def format_case(case: MemoryCase, *, comment: str | None = None) -> str:
    """Return a test as TOML, with an empty line before it. :param comment: why it is there"""
    lines = ["", *([] if comment is None else [f"# {' '.join(comment.split())}"]), "[[test]]"]
    name = None if case.name == format_case_name(case.ask, case.start) else case.name
    values: list[tuple[str, object]] = [("name", name), ("ask", case.ask), ("theme", case.theme)]
    lines += [f"{key} = {to_toml(value)}" for key, value in values if value]
    if case.start is not None:
        places = [f"{key} = {to_toml(value)}" for key in START_KEYS if (value := getattr(case.start, key))]
        lines.append(f"start = {{ {', '.join(places)} }}" if places else "start = {}")
    for key, expectations in (("given", case.given), ("never", case.never)):
        if expectations:
            lines.append(f"{key} = [{', '.join(to_toml(expectation.text) for expectation in expectations)}]")
    if case.tokens is not None:
        lines.append(f"tokens = {case.tokens}")
    return "\n".join(lines) + "\n"


def to_toml(value: object) -> str:
    """Return a text as a TOML value on one line."""
    import tomlkit  # here, not above: most read a file and write none

    return tomlkit.item(str(value)).as_string()


def append_case(path: Path, case: MemoryCase, *, comment: str | None = None) -> str:
    """Add a test at the end of a file, made when there is none; return what was written.

    :raises CaseFileError: the file has mistakes, or has a test of that name; it stays as it is
    """
    present = path.read_text(encoding="utf-8") if path.exists() else HEAD
    if path.exists():
        read_case_file(path)
    text = format_case(case, comment=comment)
    gap = "" if present.endswith("\n") else "\n"
    parse_cases(present + gap + text, path)
    with path.open("a" if path.exists() else "x", encoding="utf-8") as file:
        file.write((gap if path.exists() else present) + text)
    return text
