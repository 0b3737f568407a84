"""TOML and YAML, changed in place: one block is added or taken out, and the rest stays byte for byte.

What comes of it is read back with a parser before it is written; a file in a layout this does not understand is left alone.
Adding only ever adds text, and another text in each situation, so that taking out finds the one text it was added to: a file
without a last line end still has none, and a value that said "empty" is made a comment (`#{}`) and stands there again.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Document = dict[str, Any]

BOM = "\ufeff"

EMPTY = r"\{\}|\[\]|null|~"
"""What a key without anything under it may say."""


class NotUnderstood(ValueError):
    """The file is not one that can be changed safely; the message says why."""


def toml_with(text: str, table: str, name: str, entry: Document) -> str:
    """The text with `[table.name]` at its end, in the place of one that was there."""
    if name in toml_read(text).get(table, {}):
        text = toml_without(text, table, name)
    lines = [f"[{table}.{name}]", *(f"{key} = {toml_value(value)}" for key, value in entry.items() if value != {})]
    for key, value in entry.items():
        if isinstance(value, dict) and value:
            lines += [f"[{table}.{name}.{key}]", *(f"{inner} = {toml_value(one)}" for inner, one in value.items())]
    lines = [line for line in lines if not line.endswith("= ")]
    after = appended(text, [""] * bool(text) + lines, newline_of(text))
    check(
        toml_read(text),
        toml_read(after),
        table,
        lambda held: {**held, name: entry},
        f"{table}.{name} cannot be added safely",
    )
    return after


def toml_without(text: str, table: str, name: str) -> str:
    """The text without `[table.name]` and what belongs to it. Comments above the next table belong to that one."""
    document = toml_read(text)
    held = document.get(table, {})
    if name not in held:
        return text
    kept, first = toml_kept(text, table, name)
    body = "".join(kept)
    for original in (*shorter(body), body):
        if is_added(lambda one: toml_with(one, table, name, held[name]), original, text):
            return original
    if 0 < first <= len(kept) and not kept[first - 1].strip():
        del kept[first - 1]  # the blank line above the block
    after = "".join(kept)
    said = f"{table}.{name} is written in a way that cannot be taken out safely; remove it by hand"
    check(document, toml_read(after), table, lambda held: without(held, name), said)
    return after


def toml_kept(text: str, table: str, name: str) -> tuple[list[str], int]:
    """The lines that are not of `[table.name]`, and where among them its first one stood."""
    kept: list[str] = []
    ours: list[str] = []
    first = 0
    inside = False
    read = ""
    for line in lines_of(text):
        parts = toml_header(line, read)
        if parts is not None:
            kept += after_content(ours)
            ours = []
            inside = parts[:2] == [table, name]
            first = first or (len(kept) if inside else 0)
        (ours if inside else kept).append(line)
        read += line
    return kept + after_content(ours), first


def toml_header(line: str, before: str) -> list[str] | None:
    """The parts of a table's name, None for a line that is no header: a line within a value is none, whatever it looks like."""
    found = re.fullmatch(r"[ \t]*\[\[?([^\[\]]+)\]\]?[ \t]*(?:#.*)?\r?\n?", line)
    if found is None:
        return None
    try:
        tomllib.loads(before)
    except tomllib.TOMLDecodeError:
        return None
    return [part.strip().strip("\"'") for part in found[1].split(".")]


def after_content(lines: list[str]) -> list[str]:
    """The blank lines and comments at the end."""
    end = len(lines)
    while end and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return lines[end:]


def toml_read(text: str) -> Document:
    """The document. :raises NotUnderstood: it is no TOML"""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotUnderstood(str(error)) from error


def toml_value(value: Any) -> str:
    """A text, number or list as TOML; nothing for a table, which has a header of its own."""
    return "" if isinstance(value, dict) else json.dumps(value, ensure_ascii=False)


def yaml_with(text: str, key: str, name: str, entry: Document, *, listed: bool) -> str:
    """The text with an entry under a top-level key: `key: {name: entry}`, or `key: [entry]` when they are listed."""
    document = yaml_read(text)
    if yaml_has(document, key, name):
        text = yaml_without(text, key, name, listed=listed)
        document = yaml_read(text)
    lines = lines_of(text)
    at = yaml_key(lines, key)
    if at is None:
        if key in document:
            raise NotUnderstood(f"{key} is written in a way that cannot be changed safely; add the entry by hand")
        after = appended(text, [f"{key}:", *block(name, entry, "  ", listed=listed)], newline_of(text))
    else:
        head = re.fullmatch(
            rf"(\ufeff?{re.escape(key)}\s*:)([ \t]+(?:{EMPTY})(?=\s|$))?([ \t]*(?:#.*)?)(\r?\n?)", lines[at]
        )
        if head is None:
            raise NotUnderstood(f"{key} is written on one line; write it as a block and try again")
        line = head[1] + re.sub(rf"({EMPTY})$", r"#\1", head[2] or "") + head[3]
        indent = yaml_indent(lines[at + 1 :]) if document.get(key) else "" if listed else "    "
        added = block(name, entry, indent, listed=listed)
        after = "".join(lines[:at]) + appended(line + head[4], added, newline_of(text)) + "".join(lines[at + 1 :])

    def extended(held: Any) -> Any:
        return [{"name": name, **entry}, *(held or [])] if listed else {**(held or {}), name: entry}

    check(document, yaml_read(after), key, extended, f"{name} cannot be added safely; add the entry by hand")
    return after


def yaml_without(text: str, key: str, name: str, *, listed: bool) -> str:
    """The text without that entry. Comments behind it stay, and so does a key that had been there before it."""
    document = yaml_read(text)
    lines = lines_of(text)
    at = yaml_key(lines, key)
    span = None if at is None else yaml_span(lines, at, name, listed=listed)
    if at is None or span is None:
        raise NotUnderstood(f"{name} is written in a way that cannot be taken out safely; remove it by hand")
    entry = yaml_entry(document, key, name)
    above, below = lines[: span[0]], lines[span[1] :]
    emptied = re.sub(rf"([ \t])#({EMPTY})(?=\s|$)", r"\1\2", lines[at])
    uncommented = "".join([*lines[:at], emptied, *above[at + 1 :], *below])
    without_key = "".join([*lines[:at], BOM * lines[at].startswith(BOM), *above[at + 1 :], *below])
    plain = "".join([*above, *below])
    for body in (uncommented, plain, without_key):
        for original in (body, *shorter(body)):
            if is_added(lambda one: yaml_with(one, key, name, entry, listed=listed), original, text):
                return original
    said = f"{name} is written in a way that cannot be taken out safely; remove it by hand"
    made_by_us = len(lines[span[0]]) - len(lines[span[0]].lstrip()) == 2 and lines[at].strip().removesuffix(":") == key
    after = plain if yaml_read(plain).get(key) else without_key if made_by_us and emptied == lines[at] else uncommented
    check(document, yaml_read(after), key, lambda held: without(held, name), said)
    return after


def yaml_key(lines: list[str], key: str) -> int | None:
    """The line of a top-level key."""
    return next((n for n, line in enumerate(lines) if re.match(rf"\ufeff?{re.escape(key)}\s*:", line)), None)


def yaml_indent(lines: list[str]) -> str:
    """How far the first entry below a key is indented."""
    return next((found[1] for line in lines if (found := re.match(r"([ \t]*)[^\s#]", line))), "  ")


def yaml_span(lines: list[str], at: int, name: str, *, listed: bool) -> tuple[int, int] | None:
    """The lines of an entry below the key at a line: the first, and the one after the last."""
    head = rf"([ \t]*)- name: {re.escape(name)}\s*$" if listed else rf"([ \t]+)[\"']?{re.escape(name)}[\"']?:\s*(#.*)?$"
    found = next(((n, m[1]) for n, line in enumerate(lines) if n > at and (m := re.match(head, line))), None)
    if found is None:
        return None
    first, indent = found
    last = first + 1
    for number in range(first + 1, len(lines)):
        line = lines[number]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(line) - len(line.lstrip()) <= len(indent):
            break
        last = number + 1
    return first, last


def yaml_entry(document: Document, key: str, name: str) -> Document:
    """An entry as it stands under a key, without its name."""
    held = document.get(key) or {}
    if isinstance(held, dict):
        return dict(held[name])
    return {inner: value for one in held if one.get("name") == name for inner, value in one.items() if inner != "name"}


def block(name: str, entry: Document, indent: str, *, listed: bool) -> list[str]:
    """An entry as YAML lines. Values are written as JSON, which YAML reads alike."""
    lines = [f"{indent}- name: {name}"] if listed else [f"{indent}{name}:"]
    inner = indent + "  "
    return [*lines, *(f"{inner}{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items())]


def yaml_read(text: str) -> Document:
    """The document. :raises NotUnderstood: it is no YAML mapping"""
    import yaml  # here, not above: the bridge's start need not pay for it

    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise NotUnderstood(str(error)) from error
    if document is not None and not isinstance(document, dict):
        raise NotUnderstood("the file does not hold settings by name")
    return document or {}


def yaml_has(document: Document, key: str, name: str) -> bool:
    """Whether an entry of that name stands under the key."""
    held = document.get(key) or {}
    return name in held if isinstance(held, dict) else any(one.get("name") == name for one in held)


def appended(text: str, lines: Iterable[str], newline: str) -> str:
    """The text with these lines at its end; one that ends without a line end still does."""
    said = newline.join(lines)
    return f"{text}{said}{newline}" if not text.removeprefix(BOM) or text.endswith("\n") else f"{text}{newline}{said}"


def shorter(text: str) -> Iterator[str]:
    """The text without one and without two line ends at its end."""
    newline = newline_of(text)
    for ends in (newline, newline * 2):
        if text.endswith(ends):
            yield text.removesuffix(ends)


def is_added(add: Callable[[str], str], original: str, text: str) -> bool:
    """Whether adding to `original` gives `text`."""
    try:
        return add(original) == text
    except NotUnderstood:
        return False


def check(before: Document, after: Document, key: str, meant: Callable[[Any], Any], said: str) -> None:
    """Make sure that a change changed what it was meant to, and nothing else. :raises NotUnderstood: it did not"""
    wanted = {**before, key: meant(before.get(key) or {})}
    if {**after, key: after.get(key) or None} != {**wanted, key: wanted[key] or None}:
        raise NotUnderstood(said)


def without(held: Any, name: str) -> Any:
    """Entries by name, or in a list, without one."""
    if isinstance(held, dict):
        return {key: value for key, value in held.items() if key != name}
    return [one for one in held if one.get("name") != name]


def lines_of(text: str) -> list[str]:
    """The lines with their ends, cut at line feeds alone: other separators may stand within a value."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def newline_of(text: str) -> str:
    """The text's own line ends."""
    return "\r\n" if "\r\n" in text else "\n"
