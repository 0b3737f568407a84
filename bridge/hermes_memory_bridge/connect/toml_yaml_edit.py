"""In-place editing of TOML and YAML: one entry is added or removed, and the rest stays byte for byte.

tomlkit and ruamel.yaml find the position; neither reproduces every document unchanged, so the edit is a splice of
our own lines. Both documents are parsed again: if anything differs outside the entry, the edit is refused with the
line, and nothing is written.

Adding only ever inserts text, and a different text in each situation, so that removing can find the one text it
was added to: a file without a final line end still has none, and a value that said "empty" becomes a comment
(`#{}`) and is restored later. The caller strips a byte order mark and Windows line ends and puts them back
(`hosts.py`).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from hermes_memory_bridge.connect.jsonc_edit import find_newline_style, is_result_of

Document = dict[str, Any]

EMPTY = r"\{\}|\[\]|null|~"
"""What a key without anything under it may say."""

SENTINEL = "\x1aplace\x1a"
"""A value no file holds: where it appears in a rendered document is where the value it replaced began."""


class UneditableConfig(ValueError):
    """The file cannot be changed safely; the message says why."""


def add_toml_table(text: str, table: str, name: str, entry: Document) -> str:
    """Append `[table.name]` to the text, replacing an existing one; or add it to the inline table that `table` is."""
    held = parse_toml(text).get(table, {})
    if not isinstance(held, dict):
        raise refused_at(text, toml_line(text, table), f"{table} holds no named servers; remove it, and try again")
    if name in held:
        text = remove_toml_table(text, table, name)
    inline = toml_value_span(text, (table,))
    if inline is not None:
        flat = f"{toml_key(name)} = {toml_inline(entry)}"
        after = with_flat(text, *inline, flat)
    else:
        lines = format_toml_table([table, name], entry)
        after = append_lines(text, [""] * bool(text) + lines, find_newline_style(text))
    prove(
        parse_toml(text),
        parse_toml(after),
        table,
        lambda held: {**held, name: entry},
        refused_at(text, toml_line(text, table), f"{table}.{name} cannot be added safely; add it by hand"),
    )
    return after


def remove_toml_table(text: str, table: str, name: str) -> str:
    """Remove `[table.name]` and its contents from the text. Comments above the next table belong to that table."""
    document = parse_toml(text)
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
        prove(document, parse_toml(after), table, lambda held: drop_entry(held, name), said)
        return after
    kept, starts = find_other_toml_lines(text, table, name)
    body = "".join(kept)
    for original in (*to_trimmed_variants(body), body):
        if not toml_has(original, table, name) and is_result_of(
            lambda one: add_toml_table(one, table, name, held[name]), original, text
        ):
            return original
    for start in reversed(starts):
        if 0 < start <= len(kept) and not kept[start - 1].strip():
            del kept[start - 1]  # the blank line above the block
    after = toml_without_lines("".join(kept), table, name)
    prove(document, parse_toml(after), table, lambda held: drop_entry(held, name), said)
    return after


def toml_without_inline(text: str, span: tuple[int, int], table: str, name: str) -> str:
    import tomlkit

    entry = parse_toml(text)[table][name]
    flat = f"{toml_key(name)} = {toml_inline(entry)}"
    for added in (f" {flat} ", f", {flat}"):
        original = text[: span[0]] + text[span[0] : span[1]].replace(added, "", 1) + text[span[1] :]
        if not toml_has(original, table, name) and is_result_of(
            lambda one: add_toml_table(one, table, name, entry), original, text
        ):
            return original
    document = tomlkit.parse(text)
    inline: Any = document[table]
    del inline[name]
    return f"{text[: span[0]]}{inline.as_string()}{text[span[1] :]}"


def toml_without_lines(text: str, table: str, name: str) -> str:
    """Remove the lines `name = …` and `table.name.… = …` of an entry that has no header of its own."""
    entry = parse_toml(text).get(table, {}).get(name)
    paths = [(table, name), *((table, name, key) for key in (entry if isinstance(entry, dict) else {}))]
    spans = sorted({span for path in paths if (span := toml_value_span(text, path))}, reverse=True)
    for start, end in spans:
        begin = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", end)
        text = text[:begin] + ("" if line_end < 0 else text[line_end + 1 :])
    return text


def toml_value_span(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Return the span of the value a line assigns to a key; None when there is none, or it is made of tables.

    tomlkit has no positions: the value is replaced in its tree, and the difference in the rendered text shows where it
        was.
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
    try:
        held = parse_toml(text).get(table, {})
    except UneditableConfig:
        return False
    return isinstance(held, dict) and name in held


def toml_line(text: str, key: str) -> int:
    """Return the first line with that key, counted from 0."""
    return next(
        (
            n
            for n, line in enumerate(split_config_lines(text))
            if re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", line)
        ),
        0,
    )


def toml_key(name: str) -> str:
    """Format a key, quoted where TOML needs it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def toml_inline(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{toml_key(key)} = {toml_inline(one)}" for key, one in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_inline, value))}]"
    return json.dumps(value, ensure_ascii=False)


def with_flat(text: str, start: int, end: int, flat: str) -> str:
    """Add a last member to the braces or brackets from `start` to `end`, which have no trailing comma."""
    inside = text[start + 1 : end - 1]
    at = start + 1 + len(inside.rstrip())
    return f"{text[:at]}, {flat}{text[at:]}" if inside.strip() else f"{text[: end - 1]} {flat} {text[end - 1 :]}"


def find_other_toml_lines(text: str, table: str, name: str) -> tuple[list[str], list[int]]:
    """Return the lines outside `[table.name]`, and each index among them where it stood."""
    kept: list[str] = []
    ours: list[str] = []
    starts: list[int] = []
    inside = False
    read = ""
    for line in split_config_lines(text):
        parts = parse_toml_header(line, read)
        if parts is not None:
            kept += find_trailing_lines(ours)
            ours = []
            inside = parts[:2] == [table, name]
            if inside and starts[-1:] != [len(kept)]:
                starts.append(len(kept))
        (ours if inside else kept).append(line)
        read += line
    return kept + find_trailing_lines(ours), starts


def parse_toml_header(line: str, before: str) -> list[str] | None:
    """Parse the parts of a table's name; None for a line that is no header, including any line inside a value."""
    found = re.fullmatch(r"[ \t]*\[\[?([^\[\]]+)\]\]?[ \t]*(?:#.*)?\r?\n?", line)
    if found is None:
        return None
    try:
        tomllib.loads(before)
    except tomllib.TOMLDecodeError:
        return None
    return [part.strip().strip("\"'") for part in found[1].split(".")]


def find_trailing_lines(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return lines[end:]


def parse_toml(text: str) -> Document:
    """Parse a TOML document.

    :raises UneditableConfig: it is not valid TOML
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UneditableConfig(str(error)) from error


def format_toml_table(path: Sequence[str], entry: Document) -> list[str]:
    plain = [f"{toml_key(key)} = {toml_inline(value)}" for key, value in entry.items() if not isinstance(value, dict)]
    lines = [f"[{'.'.join(map(toml_key, path))}]", *plain] if plain or not entry else []
    inner = ((key, value) for key, value in entry.items() if isinstance(value, dict))
    return lines + [line for key, value in inner for line in format_toml_table([*path, key], value)]


def add_yaml_entry(text: str, key: str, name: str, entry: Document, *, listed: bool) -> str:
    """Add an entry under a top-level key: `key: {name: entry}`, or `key: [entry]` when entries are listed."""
    document = parse_yaml(text)
    held = document.get(key)
    if held and not isinstance(held, list if listed else dict):
        raise refused_at(text, yaml_line(text, key), f"{key} holds no {'list of' if listed else 'named'} servers")
    if has_yaml_entry(document, key, name):
        text = remove_yaml_entry(text, key, name, listed=listed)
        document = parse_yaml(text)
    after = yaml_spliced(text, key, name, entry, listed=listed)

    def add_to_entries(held: Any) -> Any:
        return [{"name": name, **entry}, *(held or [])] if listed else {**(held or {}), name: entry}

    said = refused_at(text, yaml_line(text, key), f"{name} cannot be added safely; add the entry by hand")
    prove(document, parse_yaml(after), key, add_to_entries, said)
    return after


def yaml_spliced(text: str, key: str, name: str, entry: Document, *, listed: bool) -> str:
    """Insert an entry where the layout of the key requires it."""
    root = yaml_node(text)
    pair = yaml_pair(root, key)
    flat = yaml_flat(name, entry, listed=listed)
    lines = split_config_lines(text)
    if pair is None:
        if root is not None and root.flow_style:
            inner = f"[{flat}]" if listed else f"{{{flat}}}"
            return yaml_with_flat(text, root, f"{json.dumps(key)}: {inner}")
        if root is not None and re.search(r"^(---|\.\.\.)", text[root.end_mark.index :], re.MULTILINE):
            raise refused_at(text, root.end_mark.line, "the document ends before the file does; add the entry by hand")
        return append_lines(
            text, [f"{key}:", *format_yaml_block(name, entry, "  ", listed=listed)], find_newline_style(text)
        )
    label, value = pair
    if getattr(value, "flow_style", False) and value.value:
        return yaml_with_flat(text, value, flat, first=listed)
    at = label.start_mark.line
    if isinstance(value.value, list) and value.value and first_line(value) > at:
        line, ending = lines[at].removesuffix(find_newline_style(text)), find_newline_style(text)
        added = format_yaml_block(name, entry, find_yaml_indent(lines[at + 1 :]), listed=listed)
        return "".join(lines[:at]) + append_lines(line + ending, added, ending) + "".join(lines[at + 1 :])
    head = re.fullmatch(rf"([^\n]*?:)([ \t]+(?:{EMPTY})(?=\s|$))?([ \t]*(?:#.*)?)(\r?\n?)", lines[at])
    if head is None or (root is not None and root.flow_style) or root.start_mark.column:
        if getattr(value, "flow_style", False):
            return yaml_with_flat(text, value, flat)
        raise refused_at(text, at, f"{key} is written in a way that cannot be changed safely; add the entry by hand")
    line = head[1] + re.sub(rf"({EMPTY})$", r"#\1", head[2] or "") + head[3]
    added = format_yaml_block(name, entry, "" if listed else "    ", listed=listed)
    return (
        "".join(lines[:at]) + append_lines(line + head[4], added, find_newline_style(text)) + "".join(lines[at + 1 :])
    )


def yaml_with_flat(text: str, holder: Any, flat: str, *, first: bool = False) -> str:
    """Add a member to a flow mapping or sequence: the first, or the last."""
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


def remove_yaml_entry(text: str, key: str, name: str, *, listed: bool) -> str:
    """Remove an entry. Comments behind it stay, and so does a key that existed before it."""
    document = parse_yaml(text)
    if not has_yaml_entry(document, key, name):
        return text
    said = refused_at(
        text, yaml_line(text, name), f"{name} is written in a way that cannot be taken out safely; remove it by hand"
    )
    pair = yaml_pair(yaml_node(text), key)
    if pair is None or not isinstance(pair[1].value, list):
        raise said
    label, holder = pair
    entry = find_yaml_entry(document, key, name)
    place, start, end = yaml_member(holder, name)
    if place is None:
        raise said
    if holder.flow_style:
        for original in yaml_without_flat(text, yaml_node(text), label, holder, place, start, end):
            if not yaml_reads_with(original, key, name) and is_result_of(
                lambda one: add_yaml_entry(one, key, name, entry, listed=listed), original, text
            ):
                return original
        after = next(yaml_without_flat(text, yaml_node(text), label, holder, place, start, end))
        prove(document, parse_yaml(after), key, lambda held: drop_entry(held, name), said)
        return after
    lines = split_config_lines(text)
    at, span = label.start_mark.line, find_yaml_span(lines, start.line)
    above, below = lines[: span[0]], lines[span[1] :]
    emptied = re.sub(rf"([ \t])#({EMPTY})(?=\s|$)", r"\1\2", lines[at])
    uncommented = "".join([*lines[:at], emptied, *above[at + 1 :], *below])
    without_key = "".join([*lines[:at], *above[at + 1 :], *below])
    plain = "".join([*above, *below])
    for body in (uncommented, plain, without_key):
        for original in (body, *to_trimmed_variants(body)):
            if not yaml_reads_with(original, key, name) and is_result_of(
                lambda one: add_yaml_entry(one, key, name, entry, listed=listed), original, text
            ):
                return original
    made_by_us = len(lines[span[0]]) - len(lines[span[0]].lstrip()) == 2 and lines[at].strip().removesuffix(":") == key
    after = plain if parse_yaml(plain).get(key) else without_key if made_by_us and emptied == lines[at] else uncommented
    prove(document, parse_yaml(after), key, lambda held: drop_entry(held, name), said)
    return after


def yaml_without_flat(text: str, root: Any, label: Any, holder: Any, place: int, start: Any, end: Any) -> Iterator[str]:
    """Return the texts into which a flow member may have been inserted; the last one fits any layout."""
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
    """Return the index of a named member of a mapping or sequence, and the marks of its start and end."""
    for place, one in enumerate(holder.value):
        if isinstance(one, tuple):
            if one[0].value == name:
                return place, one[0].start_mark, one[1].end_mark
        elif any(isinstance(part, tuple) and (part[0].value, part[1].value) == ("name", name) for part in one.value):
            return place, one.start_mark, one.end_mark
    return None, None, None


def yaml_node(text: str) -> Any:
    """Return the node tree of the only document, with positions; None when there is none."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).compose(text)
    except YAMLError as error:
        raise UneditableConfig(str(error)) from error


def yaml_pair(root: Any, key: str) -> tuple[Any, Any] | None:
    """Return a top-level key and its value in the node tree."""
    return next(((label, value) for label, value in root.value if label.value == key), None) if root else None


def first_line(holder: Any) -> int:
    """Return the line of the first member, regardless of an anchor."""
    first = holder.value[0]
    line: int = (first[0] if isinstance(first, tuple) else first).start_mark.line
    return line


def yaml_line(text: str, key: str) -> int:
    """Return the line of the first scalar with this value, counted from 0."""
    return next((n for n, line in enumerate(split_config_lines(text)) if key in line), 0)


def yaml_flat(name: str, entry: Document, *, listed: bool) -> str:
    """Format an entry in flow style. JSON on one line is YAML."""
    if listed:
        return json.dumps({"name": name, **entry}, ensure_ascii=False)
    return f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}"


def yaml_reads_with(text: str, key: str, name: str) -> bool:
    try:
        return has_yaml_entry(parse_yaml(text), key, name)
    except UneditableConfig:
        return False


def find_yaml_indent(lines: list[str]) -> str:
    """Return the indentation of the first entry below a key."""
    return next((found[1] for line in lines if (found := re.match(r"([ \t]*)[^\s#]", line))), "  ")


def find_yaml_span(lines: list[str], first: int) -> tuple[int, int]:
    """Return the lines of the block entry that begins at a line: the first, and the one after the last."""
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


def find_yaml_entry(document: Document, key: str, name: str) -> Document:
    """Return an entry as it stands under a key, without its name."""
    held = document.get(key) or {}
    if isinstance(held, dict):
        return dict(held[name])
    for one in held:
        if isinstance(one, dict) and one.get("name") == name:
            return {inner: value for inner, value in one.items() if inner != "name"}
    return {}


def format_yaml_block(name: str, entry: Document, indent: str, *, listed: bool) -> list[str]:
    """Format an entry as YAML lines. Values are written as JSON, which YAML reads alike."""
    lines = [f"{indent}- name: {name}"] if listed else [f"{indent}{name}:"]
    inner = indent + "  "
    return [*lines, *(f"{inner}{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items())]


def parse_yaml(text: str) -> Document:
    """Parse a YAML document.

    :raises UneditableConfig: it is not a YAML mapping
    """
    from ruamel.yaml import YAML  # here, not above: the bridge's start need not pay for it
    from ruamel.yaml.error import YAMLError

    reader = YAML(typ="safe", pure=True)
    reader.allow_duplicate_keys = True  # as the hosts read it: the last one counts
    try:
        document = reader.load(text)
    except (YAMLError, ValueError) as error:
        raise UneditableConfig(str(error)) from error
    if document is not None and not isinstance(document, dict):
        raise UneditableConfig("the file does not hold settings by name")
    return document or {}


def has_yaml_entry(document: Document, key: str, name: str) -> bool:
    held = document.get(key) or {}
    return (
        name in held
        if isinstance(held, dict)
        else any(isinstance(one, dict) and one.get("name") == name for one in held)
    )


def append_lines(text: str, lines: Iterable[str], newline: str) -> str:
    """Append lines to a text; one that ends without a line end still does."""
    said = newline.join(lines)
    return f"{text}{said}{newline}" if not text or text.endswith("\n") else f"{text}{newline}{said}"


def to_trimmed_variants(text: str) -> Iterator[str]:
    """Return the text without one and without two of its final line ends."""
    newline = find_newline_style(text)
    for ends in (newline, newline * 2):
        if text.endswith(ends):
            yield text.removesuffix(ends)


def prove(before: Document, after: Document, key: str, meant: Callable[[Any], Any], refusal: UneditableConfig) -> None:
    """Check that an edit changed what was intended and nothing else.

    :raises UneditableConfig: it did not
    """
    wanted = {**before, key: meant(before.get(key) or {})}
    order = [name for name in before if name in after and name != key] == [name for name in after if name != key]
    if not order or {**after, key: after.get(key) or None} != {**wanted, key: wanted[key] or None}:
        raise refusal


def refused_at(text: str, line: int, said: str) -> UneditableConfig:
    """Return the error for a text, with the line (counted from 0) that prevents the edit."""
    shown = split_config_lines(text)[line : line + 1]
    return UneditableConfig(f"line {line + 1}: {said}" + (f" ({shown[0].strip():.60})" if shown else ""))


def drop_entry(held: Any, name: str) -> Any:
    """Return entries, by name or in a list, without one of them."""
    if isinstance(held, dict):
        return {key: value for key, value in held.items() if key != name}
    return [one for one in held if not isinstance(one, dict) or one.get("name") != name]


def split_config_lines(text: str) -> list[str]:
    """Split a text into lines with their ends, at line feeds only: other separators may occur within a value."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
