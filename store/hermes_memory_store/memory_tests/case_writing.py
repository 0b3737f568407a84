"""Write tests as TOML, and add one to a file without touching what stands there."""

from __future__ import annotations

from pathlib import Path

import tomlkit

from hermes_memory_store.memory_tests.case_file import format_case_name, parse_cases, read_case_file
from hermes_memory_store.memory_tests.memory_case import MemoryCase

HEAD = "# Tests of a memory; run them with: hermes-memory-tui test\n"


def format_case(case: MemoryCase, *, comment: str | None = None) -> str:
    """Return a test as TOML, with an empty line before it.

    :param comment: why it is there
    """
    lines = ["", *([] if comment is None else [f"# {' '.join(comment.split())}"]), "[[test]]"]
    name = None if case.name == format_case_name(case.ask, case.start) else case.name
    values: list[tuple[str, object]] = [("name", name), ("ask", case.ask), ("theme", case.theme)]
    lines += [f"{key} = {to_toml(value)}" for key, value in values if value]
    if case.start is not None:
        places = ("project", "folder", "branch", "scope", "at")
        known_places = [(key, value) for key in places if (value := getattr(case.start, key))]
        inside = ", ".join(f"{key} = {to_toml(value)}" for key, value in known_places)
        lines.append(f"start = {{ {inside} }}" if known_places else "start = {}")
    for key, expectations in (("given", case.given), ("never", case.never)):
        if expectations:
            lines.append(f"{key} = [{', '.join(to_toml(expectation.text) for expectation in expectations)}]")
    if case.tokens is not None:
        lines.append(f"tokens = {case.tokens}")
    return "\n".join(lines) + "\n"


def to_toml(value: object) -> str:
    """Return a text as a TOML value on one line."""
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
