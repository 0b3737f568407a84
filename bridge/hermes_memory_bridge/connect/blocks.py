"""TOML and YAML, changed in place: one block is added or taken out, and the rest stays byte for byte.

What comes of it is read back with a parser before it is written; a file in a layout this does not understand is left alone.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any


class NotUnderstood(ValueError):
    """The file is not one that can be changed safely; the message says why."""


def toml_with(text: str, table: str, name: str, entry: dict[str, Any]) -> str:
    """The text with `[table.name]` at its end, in the place of one that was there."""
    if name in toml_read(text).get(table, {}):
        text = toml_without(text, table, name)
    gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    lines = [f"[{table}.{name}]", *(f"{key} = {toml_value(value)}" for key, value in entry.items() if value != {})]
    for key, value in entry.items():
        if isinstance(value, dict) and value:
            lines += [f"[{table}.{name}.{key}]", *(f"{inner} = {toml_value(one)}" for inner, one in value.items())]
    return f"{text}{gap}" + "\n".join(line for line in lines if not line.endswith("= ")) + "\n"


def toml_without(text: str, table: str, name: str) -> str:
    """The text without `[table.name]` and what belongs to it."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line)
        if header:
            parts = [part.strip().strip("\"'") for part in header[1].split(".")]
            inside = parts[:2] == [table, name]
            if inside and kept and not kept[-1].strip():
                kept.pop()
        if not inside:
            kept.append(line)
    changed = "".join(kept)
    if name in toml_read(changed).get(table, {}):
        raise NotUnderstood(f"{table}.{name} is written in a way that cannot be taken out safely; remove it by hand")
    return changed


def toml_read(text: str) -> dict[str, Any]:
    """The document. :raises NotUnderstood: it is no TOML"""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotUnderstood(str(error)) from error


def toml_value(value: Any) -> str:
    """A text, number or list as TOML; nothing for a table, which has a header of its own."""
    return "" if isinstance(value, dict) else json.dumps(value, ensure_ascii=False)


def yaml_with(text: str, key: str, name: str, entry: dict[str, Any], *, listed: bool) -> str:
    """The text with an entry under a top-level key: `key: {name: entry}`, or `key: [entry]` when they are listed."""
    document = yaml_read(text)
    if yaml_has(document, key, name):
        text = yaml_without(text, key, name, listed=listed)
        document = yaml_read(text)
    lines = text.splitlines(keepends=True)
    at = next((n for n, line in enumerate(lines) if re.match(rf"{re.escape(key)}\s*:", line)), None)
    if at is None:
        if document.get(key) is not None:
            raise NotUnderstood(f"{key} is written in a way that cannot be changed safely; add the entry by hand")
        start = text if not text or text.endswith("\n") else text + "\n"
        return f"{start}{key}:\n{block(name, entry, '  ', listed=listed)}"
    inline = lines[at].split(":", 1)[1].split("#")[0].strip()
    if inline not in ("", "{}", "[]", "null", "~"):
        raise NotUnderstood(f"{key} is written on one line; write it as a block and try again")
    if inline:
        lines[at] = f"{key}:\n"
    if not lines[at].endswith("\n"):
        lines[at] += "\n"
    indent = next((m[1] for line in lines[at + 1 :] if (m := re.match(r"(\s*)[^\s#]", line))), "  ")
    if not document.get(key):
        indent = "  "
    elif listed and not indent:
        indent = ""
    lines.insert(at + 1, block(name, entry, indent, listed=listed))
    return "".join(lines)


def yaml_without(text: str, key: str, name: str, *, listed: bool) -> str:
    """The text without that entry, and without its key when nothing else stands under it."""
    lines = text.splitlines(keepends=True)
    at = next((n for n, line in enumerate(lines) if re.match(rf"{re.escape(key)}\s*:\s*(#.*)?$", line)), None)
    if at is None:
        raise NotUnderstood(f"{key} is written in a way that cannot be changed safely; remove {name} by hand")
    head = rf"(\s*)- name: {re.escape(name)}\s*$" if listed else rf"(\s+)[\"']?{re.escape(name)}[\"']?:\s*(#.*)?$"
    first, indent = next(
        ((n, m[1]) for n, line in enumerate(lines) if n > at and (m := re.match(head, line))), (None, "")
    )
    if first is None:
        raise NotUnderstood(f"{name} is written in a way that cannot be taken out safely; remove it by hand")
    last = first + 1
    while last < len(lines) and (not lines[last].strip() or len(lines[last]) - len(lines[last].lstrip()) > len(indent)):
        last += 1
    while last > first + 1 and not lines[last - 1].strip():
        last -= 1
    kept = lines[:first] + lines[last:]
    if not yaml_read("".join(kept)).get(key):
        kept = kept[:at] + kept[at + 1 :]
    return "".join(kept)


def block(name: str, entry: dict[str, Any], indent: str, *, listed: bool) -> str:
    """An entry as YAML lines. Values are written as JSON, which YAML reads alike."""
    lines = [f"{indent}- name: {name}"] if listed else [f"{indent}{name}:"]
    inner = indent + "  "
    lines += [f"{inner}{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return "\n".join(lines) + "\n"


def yaml_read(text: str) -> dict[str, Any]:
    """The document. :raises NotUnderstood: it is no YAML mapping"""
    import yaml  # here, not above: the bridge's start need not pay for it

    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise NotUnderstood(str(error)) from error
    if document is not None and not isinstance(document, dict):
        raise NotUnderstood("the file does not hold settings by name")
    return document or {}


def yaml_has(document: dict[str, Any], key: str, name: str) -> bool:
    """Whether an entry of that name stands under the key."""
    held = document.get(key) or {}
    return name in held if isinstance(held, dict) else any(one.get("name") == name for one in held)
