"""TOML and YAML, changed in place: one entry is added or taken out, and the rest stays byte for byte.

tomlkit and ruamel.yaml find the place; neither gives every document back unchanged, so the edit is a splice of lines of our own.
Both documents are parsed again: what is not equal outside the entry is refused with its line, and nothing is written.
Adding only ever adds text, and another text in each situation, so that taking out finds the one text it was added to: a file
without a last line end still has none, and a value that said "empty" is made a comment (`#{}`) and stands there again.
The caller takes a byte order mark and Windows line ends off and puts them back (`hosts.py`).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

Document = dict[str, Any]

EMPTY = r"\{\}|\[\]|null|~"
"""What a key without anything under it may say."""

SENTINEL = "\x1aplace\x1a"
"""A value no file holds: where it appears in a rendered document is where the value it replaced began."""


class NotUnderstood(ValueError):
    """The file is not one that can be changed safely; the message says why."""


def toml_with(text: str, table: str, name: str, entry: Document) -> str:
    """The text with `[table.name]` at its end, in the place of one that was there; or in the inline table that `table` is."""
    held = toml_read(text).get(table, {})
    if not isinstance(held, dict):
        raise refused_at(text, toml_line(text, table), f"{table} holds no named servers; remove it, and try again")
    if name in held:
        text = toml_without(text, table, name)
    inline = toml_value_span(text, (table,))
    if inline is not None:
        flat = f"{toml_key(name)} = {toml_inline(entry)}"
        after = with_flat(text, *inline, flat)
    else:
        lines = [f"[{table}.{name}]", *(f"{key} = {toml_value(value)}" for key, value in entry.items() if value != {})]
        for key, value in entry.items():
            if isinstance(value, dict) and value:
                lines += [f"[{table}.{name}.{key}]", *(f"{inner} = {toml_value(one)}" for inner, one in value.items())]
        lines = [line for line in lines if not line.endswith("= ")]
        after = appended(text, [""] * bool(text) + lines, newline_of(text))
    prove(
        toml_read(text),
        toml_read(after),
        table,
        lambda held: {**held, name: entry},
        refused_at(text, toml_line(text, table), f"{table}.{name} cannot be added safely; add it by hand"),
    )
    return after


def toml_without(text: str, table: str, name: str) -> str:
    """The text without `[table.name]` and what belongs to it. Comments above the next table belong to that one."""
    document = toml_read(text)
    held = document.get(table, {})
    if name not in held:
        return text
    said = refused_at(
        text,
        toml_line(text, name),
        f"{table}.{name} is written in a way that cannot be taken out safely; remove it by hand",
    )
    inline = toml_value_span(text, (table,))
    if inline is not None:
        after = toml_without_inline(text, inline, table, name)
        prove(document, toml_read(after), table, lambda held: without(held, name), said)
        return after
    kept, first = toml_kept(text, table, name)
    body = "".join(kept)
    for original in (*shorter(body), body):
        if not toml_has(original, table, name) and is_added(
            lambda one: toml_with(one, table, name, held[name]), original, text
        ):
            return original
    if 0 < first <= len(kept) and not kept[first - 1].strip():
        del kept[first - 1]  # the blank line above the block
    after = toml_without_lines("".join(kept), table, name)
    prove(document, toml_read(after), table, lambda held: without(held, name), said)
    return after


def toml_without_inline(text: str, span: tuple[int, int], table: str, name: str) -> str:
    """The text without an entry of the inline table at a place."""
    import tomlkit

    entry = toml_read(text)[table][name]
    flat = f"{toml_key(name)} = {toml_inline(entry)}"
    for added in (f" {flat} ", f", {flat}"):
        original = text[: span[0]] + text[span[0] : span[1]].replace(added, "", 1) + text[span[1] :]
        if not toml_has(original, table, name) and is_added(
            lambda one: toml_with(one, table, name, entry), original, text
        ):
            return original
    document = tomlkit.parse(text)
    inline: Any = document[table]
    del inline[name]
    return f"{text[: span[0]]}{inline.as_string()}{text[span[1] :]}"


def toml_without_lines(text: str, table: str, name: str) -> str:
    """The text without the lines `name = …` and `table.name.… = …` that hold the entry where it has no header of its own."""
    entry = toml_read(text).get(table, {}).get(name)
    paths = [(table, name), *((table, name, key) for key in (entry if isinstance(entry, dict) else {}))]
    spans = sorted({span for path in paths if (span := toml_value_span(text, path))}, reverse=True)
    for start, end in spans:
        begin = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", end)
        text = text[:begin] + ("" if line_end < 0 else text[line_end + 1 :])
    return text


def toml_value_span(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Where the value that a line gives to a key stands; None when there is none, or it is made of tables.

    tomlkit tells no positions: the value is replaced in its tree, and what changed in the rendered text tells where it stood.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import AoT, Table

    try:
        document: Any = tomlkit.parse(text)
        holder: Any = document
        for key in path[:-1]:
            holder = holder[key]
        value = holder[path[-1]]
        if isinstance(value, Table | AoT) or not hasattr(value, "as_string"):
            return None
        source = value.as_string()
        holder[path[-1]] = SENTINEL
        rendered = document.as_string()
    except (KeyError, TypeError, TOMLKitError):
        return None
    start = rendered.find(tomlkit.string(SENTINEL).as_string())
    end = start + len(source)
    if start < 0 or rendered != text[:start] + tomlkit.string(SENTINEL).as_string() + text[end:]:
        return None
    return start, end


def toml_has(text: str, table: str, name: str) -> bool:
    """Whether the text is TOML with an entry of that name in the table."""
    try:
        held = toml_read(text).get(table, {})
    except NotUnderstood:
        return False
    return isinstance(held, dict) and name in held


def toml_line(text: str, key: str) -> int:
    """The first line with that key, counted from 0."""
    return next(
        (n for n, line in enumerate(lines_of(text)) if re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", line)), 0
    )


def toml_key(name: str) -> str:
    """A key, quoted where TOML needs it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def toml_inline(value: Any) -> str:
    """A value as TOML on one line."""
    if isinstance(value, dict):
        inner = ", ".join(f"{toml_key(key)} = {toml_inline(one)}" for key, one in value.items() if one != {})
        return f"{{ {inner} }}" if inner else "{}"
    return json.dumps(value, ensure_ascii=False)


def with_flat(text: str, start: int, end: int, flat: str) -> str:
    """The text with a last member in the braces or brackets from `start` to `end`, which have no comma at their end."""
    inside = text[start + 1 : end - 1]
    at = start + 1 + len(inside.rstrip())
    return f"{text[:at]}, {flat}{text[at:]}" if inside.strip() else f"{text[: end - 1]} {flat} {text[end - 1 :]}"


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
    held = document.get(key)
    if held and not isinstance(held, list if listed else dict):
        raise refused_at(text, yaml_line(text, key), f"{key} holds no {'list of' if listed else 'named'} servers")
    if yaml_has(document, key, name):
        text = yaml_without(text, key, name, listed=listed)
        document = yaml_read(text)
    after = yaml_spliced(text, key, name, entry, listed=listed)

    def extended(held: Any) -> Any:
        return [{"name": name, **entry}, *(held or [])] if listed else {**(held or {}), name: entry}

    said = refused_at(text, yaml_line(text, key), f"{name} cannot be added safely; add the entry by hand")
    prove(document, yaml_read(after), key, extended, said)
    return after


def yaml_spliced(text: str, key: str, name: str, entry: Document, *, listed: bool) -> str:
    """The text with an entry put in where the layout of the key asks for it."""
    root = yaml_node(text)
    pair = yaml_pair(root, key)
    flat = yaml_flat(name, entry, listed=listed)
    lines = lines_of(text)
    if pair is None:
        if root is not None and root.flow_style:
            inner = f"[{flat}]" if listed else f"{{{flat}}}"
            return yaml_with_flat(text, root, f"{json.dumps(key)}: {inner}")
        if root is not None and re.search(r"^(---|\.\.\.)", text[root.end_mark.index :], re.MULTILINE):
            raise refused_at(text, root.end_mark.line, "the document ends before the file does; add the entry by hand")
        return appended(text, [f"{key}:", *block(name, entry, "  ", listed=listed)], newline_of(text))
    label, value = pair
    if getattr(value, "flow_style", False) and value.value:
        return yaml_with_flat(text, value, flat, first=listed)
    at = label.start_mark.line
    if isinstance(value.value, list) and value.value and first_line(value) > at:
        line, ending = lines[at].removesuffix(newline_of(text)), newline_of(text)
        added = block(name, entry, yaml_indent(lines[at + 1 :]), listed=listed)
        return "".join(lines[:at]) + appended(line + ending, added, ending) + "".join(lines[at + 1 :])
    head = re.fullmatch(rf"([^\n]*?:)([ \t]+(?:{EMPTY})(?=\s|$))?([ \t]*(?:#.*)?)(\r?\n?)", lines[at])
    if head is None or (root is not None and root.flow_style) or root.start_mark.column:
        if getattr(value, "flow_style", False):
            return yaml_with_flat(text, value, flat)
        raise refused_at(text, at, f"{key} is written in a way that cannot be changed safely; add the entry by hand")
    line = head[1] + re.sub(rf"({EMPTY})$", r"#\1", head[2] or "") + head[3]
    added = block(name, entry, "" if listed else "    ", listed=listed)
    return "".join(lines[:at]) + appended(line + head[4], added, newline_of(text)) + "".join(lines[at + 1 :])


def yaml_with_flat(text: str, holder: Any, flat: str, *, first: bool = False) -> str:
    """The text with a member in a flow mapping or sequence: the first, or the last."""
    start, end = holder.start_mark.index, holder.end_mark.index
    if not holder.value and not text[start + 1 : end - 1].strip():
        return with_flat(text, start, end, flat)
    if not holder.value:
        return f"{text[: start + 1]} {flat}{text[start + 1 :]}"  # a comment stands within
    if first:
        at = holder.value[0].start_mark.index
        return f"{text[:at]}{flat}, {text[at:]}"
    last = holder.value[-1]
    at = (last[1] if isinstance(last, tuple) else last).end_mark.index
    return f"{text[:at]}, {flat}{text[at:]}"


def yaml_without(text: str, key: str, name: str, *, listed: bool) -> str:
    """The text without that entry. Comments behind it stay, and so does a key that had been there before it."""
    document = yaml_read(text)
    if not yaml_has(document, key, name):
        return text
    said = refused_at(
        text, yaml_line(text, name), f"{name} is written in a way that cannot be taken out safely; remove it by hand"
    )
    pair = yaml_pair(yaml_node(text), key)
    if pair is None or not isinstance(pair[1].value, list):
        raise said
    label, holder = pair
    entry = yaml_entry(document, key, name)
    place, start, end = yaml_member(holder, name)
    if place is None:
        raise said
    if holder.flow_style:
        for original in yaml_without_flat(text, yaml_node(text), label, holder, place, start, end):
            if not yaml_reads_with(original, key, name) and is_added(
                lambda one: yaml_with(one, key, name, entry, listed=listed), original, text
            ):
                return original
        after = next(yaml_without_flat(text, yaml_node(text), label, holder, place, start, end))
        prove(document, yaml_read(after), key, lambda held: without(held, name), said)
        return after
    lines = lines_of(text)
    at, span = label.start_mark.line, yaml_span(lines, start.line)
    above, below = lines[: span[0]], lines[span[1] :]
    emptied = re.sub(rf"([ \t])#({EMPTY})(?=\s|$)", r"\1\2", lines[at])
    uncommented = "".join([*lines[:at], emptied, *above[at + 1 :], *below])
    without_key = "".join([*lines[:at], *above[at + 1 :], *below])
    plain = "".join([*above, *below])
    for body in (uncommented, plain, without_key):
        for original in (body, *shorter(body)):
            if not yaml_reads_with(original, key, name) and is_added(
                lambda one: yaml_with(one, key, name, entry, listed=listed), original, text
            ):
                return original
    made_by_us = len(lines[span[0]]) - len(lines[span[0]].lstrip()) == 2 and lines[at].strip().removesuffix(":") == key
    after = plain if yaml_read(plain).get(key) else without_key if made_by_us and emptied == lines[at] else uncommented
    prove(document, yaml_read(after), key, lambda held: without(held, name), said)
    return after


def yaml_without_flat(text: str, root: Any, label: Any, holder: Any, place: int, start: Any, end: Any) -> Iterator[str]:
    """The texts a member of a flow mapping or sequence may have been put in; the last one fits any layout."""
    spans = [
        (one[0].start_mark.index, one[1].end_mark.index)
        if isinstance(one, tuple)
        else (one.start_mark.index, one.end_mark.index)
        for one in holder.value
    ]
    if place:
        yield text[: spans[place - 1][1]] + text[end.index :]
    elif len(spans) > 1:
        yield text[: start.index] + text[spans[1][0] :]
    else:
        yield text[: start.index] + text[end.index :]
        yield text[: start.index - 1] + text[end.index + 1 :]
        yield text[: start.index - 1] + text[end.index :]
        if root.flow_style:
            keys = [one[0].start_mark.index for one in root.value]
            number = keys.index(label.start_mark.index)
            if number:
                yield text[: root.value[number - 1][1].end_mark.index] + text[holder.end_mark.index :]
            else:
                yield text[: label.start_mark.index - 1] + text[holder.end_mark.index + 1 :]


def yaml_member(holder: Any, name: str) -> tuple[int | None, Any, Any]:
    """Which member of a mapping or sequence has a name, and the marks of its beginning and end."""
    for place, one in enumerate(holder.value):
        if isinstance(one, tuple):
            if one[0].value == name:
                return place, one[0].start_mark, one[1].end_mark
        elif any(isinstance(part, tuple) and (part[0].value, part[1].value) == ("name", name) for part in one.value):
            return place, one.start_mark, one.end_mark
    return None, None, None


def yaml_node(text: str) -> Any:
    """The tree of the only document, with the place of each node; None when there is none."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).compose(text)
    except YAMLError as error:
        raise NotUnderstood(str(error)) from error


def yaml_pair(root: Any, key: str) -> tuple[Any, Any] | None:
    """A top-level key and its value in the tree."""
    return next(((label, value) for label, value in root.value if label.value == key), None) if root else None


def first_line(holder: Any) -> int:
    """The line of the first member, which an anchor does not move."""
    first = holder.value[0]
    line: int = (first[0] if isinstance(first, tuple) else first).start_mark.line
    return line


def yaml_line(text: str, key: str) -> int:
    """The line of the first scalar that says this, counted from 0."""
    return next((n for n, line in enumerate(lines_of(text)) if key in line), 0)


def yaml_flat(name: str, entry: Document, *, listed: bool) -> str:
    """An entry in flow style. JSON on one line is YAML."""
    if listed:
        return json.dumps({"name": name, **entry}, ensure_ascii=False)
    return f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}"


def yaml_reads_with(text: str, key: str, name: str) -> bool:
    """Whether the text is YAML with an entry of that name under the key."""
    try:
        return yaml_has(yaml_read(text), key, name)
    except NotUnderstood:
        return False


def yaml_indent(lines: list[str]) -> str:
    """How far the first entry below a key is indented."""
    return next((found[1] for line in lines if (found := re.match(r"([ \t]*)[^\s#]", line))), "  ")


def yaml_span(lines: list[str], first: int) -> tuple[int, int]:
    """The lines of the block entry that begins at a line: the first, and the one after the last."""
    indent = len(lines[first]) - len(lines[first].lstrip())
    last = first + 1
    for number in range(first + 1, len(lines)):
        line = lines[number]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(line) - len(line.lstrip()) <= indent:
            break
        last = number + 1
    return first, last


def yaml_entry(document: Document, key: str, name: str) -> Document:
    """An entry as it stands under a key, without its name."""
    held = document.get(key) or {}
    if isinstance(held, dict):
        return dict(held[name])
    for one in held:
        if isinstance(one, dict) and one.get("name") == name:
            return {inner: value for inner, value in one.items() if inner != "name"}
    return {}


def block(name: str, entry: Document, indent: str, *, listed: bool) -> list[str]:
    """An entry as YAML lines. Values are written as JSON, which YAML reads alike."""
    lines = [f"{indent}- name: {name}"] if listed else [f"{indent}{name}:"]
    inner = indent + "  "
    return [*lines, *(f"{inner}{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items())]


def yaml_read(text: str) -> Document:
    """The document. :raises NotUnderstood: it is no YAML mapping"""
    from ruamel.yaml import YAML  # here, not above: the bridge's start need not pay for it
    from ruamel.yaml.error import YAMLError

    reader = YAML(typ="safe", pure=True)
    reader.allow_duplicate_keys = True  # as the hosts read it: the last one counts
    try:
        document = reader.load(text)
    except (YAMLError, ValueError) as error:
        raise NotUnderstood(str(error)) from error
    if document is not None and not isinstance(document, dict):
        raise NotUnderstood("the file does not hold settings by name")
    return document or {}


def yaml_has(document: Document, key: str, name: str) -> bool:
    """Whether an entry of that name stands under the key."""
    held = document.get(key) or {}
    return (
        name in held
        if isinstance(held, dict)
        else any(isinstance(one, dict) and one.get("name") == name for one in held)
    )


def appended(text: str, lines: Iterable[str], newline: str) -> str:
    """The text with these lines at its end; one that ends without a line end still does."""
    said = newline.join(lines)
    return f"{text}{said}{newline}" if not text or text.endswith("\n") else f"{text}{newline}{said}"


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


def prove(before: Document, after: Document, key: str, meant: Callable[[Any], Any], refusal: NotUnderstood) -> None:
    """Make sure that a change changed what it was meant to, and nothing else. :raises NotUnderstood: it did not"""
    wanted = {**before, key: meant(before.get(key) or {})}
    order = [name for name in before if name in after and name != key] == [name for name in after if name != key]
    if not order or {**after, key: after.get(key) or None} != {**wanted, key: wanted[key] or None}:
        raise refusal


def refused_at(text: str, line: int, said: str) -> NotUnderstood:
    """The refusal of a text, with the line (counted from 0) that stands in the way."""
    shown = lines_of(text)[line : line + 1]
    return NotUnderstood(f"line {line + 1}: {said}" + (f" ({shown[0].strip():.60})" if shown else ""))


def without(held: Any, name: str) -> Any:
    """Entries by name, or in a list, without one."""
    if isinstance(held, dict):
        return {key: value for key, value in held.items() if key != name}
    return [one for one in held if not isinstance(one, dict) or one.get("name") != name]


def lines_of(text: str) -> list[str]:
    """The lines with their ends, cut at line feeds alone: other separators may stand within a value."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def newline_of(text: str) -> str:
    """The text's own line ends."""
    return "\r\n" if "\r\n" in text else "\n"
