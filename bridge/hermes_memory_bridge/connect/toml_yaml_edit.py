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

from hermes_memory_bridge.connect.jsonc_edit import find_newline_style, find_original

Document = dict[str, Any]

EMPTY = r"\{\}|\[\]|null|~"
"""What a key without anything under it may say."""

SENTINEL = "\x1aplace\x1a"
"""A value no file holds: where it appears in a rendered document is where the value it replaced began."""


class UneditableConfig(ValueError):
    """The file cannot be changed safely; the message says why."""


def add_toml_table(text: str, table: str, name: str, entry: Document) -> str:
    """Append `[table.name]` to the text, replacing an existing one; or add it to the inline table that `table` is."""
    entries = parse_toml(text).get(table, {})
    if not isinstance(entries, dict):
        raise refused_at(text, toml_line(text, table), f"{table} holds no named servers; remove it, and try again")
    if name in entries:
        text = remove_toml_table(text, table, name)
    inline = toml_value_span(text, (table,))
    if inline is not None:
        after = with_flat(text, *inline, f"{toml_key(name)} = {toml_inline(entry)}")
    else:
        after = append_lines(text, [""] * bool(text) + format_toml_table([table, name], entry))
    refusal = refused_at(text, toml_line(text, table), f"{table}.{name} cannot be added safely; add it by hand")
    prove(parse_toml(text), parse_toml(after), table, lambda entries: {**entries, name: entry}, refusal)
    return after


def set_toml_value(text: str, path: Sequence[str], value: bool) -> str:
    """Set a switch in a text, creating its tables. :raises ValueError: the text cannot be parsed, or more would change"""
    import tomlkit

    document: Any = tomlkit.parse(text)
    meant = parse_toml(text)
    table, plain = document, meant
    for key in path[:-1]:
        table = table.setdefault(key, tomlkit.table())
        plain = plain.setdefault(key, {})
    table[path[-1]] = plain[path[-1]] = value
    edited = tomlkit.dumps(document)
    if parse_toml(edited) != meant:
        raise UneditableConfig(f"{'.'.join(path)} cannot be set without changing more")
    return edited


def remove_toml_table(text: str, table: str, name: str) -> str:
    """Remove `[table.name]` and its contents from the text. Comments above the next table belong to that table."""
    document = parse_toml(text)
    entries = document.get(table, {})
    if name not in entries:
        return text

    def add_again(original: str) -> str | None:
        return None if toml_has(original, table, name) else add_toml_table(original, table, name, entries[name])

    inline = toml_value_span(text, (table,))
    if inline is not None:
        flat = f"{toml_key(name)} = {toml_inline(entries[name])}"
        value = text[slice(*inline)]
        bodies = [
            text[: inline[0]] + value.replace(added, "", 1) + text[inline[1] :] for added in (f" {flat} ", f", {flat}")
        ]
    else:
        body = without_toml_tables(text, lambda path: path[:2] == [table, name])
        bodies = [*to_trimmed_variants(body), body]
    original = find_original(text, bodies, add_again)
    if original is not None:
        return original
    after = toml_without_lines(body, table, name) if inline is None else toml_without_inline(text, inline, table, name)
    problem = f"{table}.{name} is written in a way that cannot be taken out safely; remove it by hand"
    refusal = refused_at(text, toml_line(text, name), problem)
    prove(document, parse_toml(after), table, lambda entries: drop_entry(entries, name), refusal)
    return after


def toml_without_inline(text: str, span: tuple[int, int], table: str, name: str) -> str:
    import tomlkit

    inline: Any = tomlkit.parse(text)[table]
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
    mark = tomlkit.string(SENTINEL).as_string()
    start = rendered.find(mark)
    end = start + len(source)
    return (start, end) if start >= 0 and rendered == text[:start] + mark + text[end:] else None


def toml_has(text: str, table: str, name: str) -> bool:
    try:
        entries = parse_toml(text).get(table, {})
    except UneditableConfig:
        return False
    return isinstance(entries, dict) and name in entries


def toml_line(text: str, key: str) -> int:
    whole_word = re.compile(rf"(?<![\w-]){re.escape(key)}(?![\w-])")
    return next((number for number, line in enumerate(split_config_lines(text)) if whole_word.search(line)), 0)


def toml_key(name: str) -> str:
    """Format a key, quoted where TOML needs it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def toml_inline(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{toml_key(key)} = {toml_inline(member)}" for key, member in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_inline, value))}]"
    return json.dumps(value, ensure_ascii=False)


def with_flat(text: str, start: int, end: int, flat: str) -> str:
    """Add a last member to the braces or brackets from `start` to `end`, which have no trailing comma."""
    inside = text[start + 1 : end - 1]
    at = start + 1 + len(inside.rstrip())
    return f"{text[:at]}, {flat}{text[at:]}" if inside.strip() else f"{text[: end - 1]} {flat} {text[end - 1 :]}"


def without_toml_tables(text: str, is_ours: Callable[[list[str]], bool]) -> str:
    """Return a text without some tables and the blank line above each; comments above the next table stay.

    :param is_ours: picks a table by the path in its header
    """
    rest: list[str] = []
    ours: list[str] = []
    is_inside, read = False, ""
    for line in split_config_lines(text):
        path = parse_toml_header(line, read)
        if path is not None:
            behind = find_trailing_lines(ours)
            rest += behind
            is_first = not is_inside or bool(behind)
            ours, is_inside = [], is_ours(path)
            if is_inside and is_first and rest and not rest[-1].strip():
                rest.pop()
        (ours if is_inside else rest).append(line)
        read += line
    return "".join(rest + find_trailing_lines(ours))


def parse_toml_header(line: str, before: str) -> list[str] | None:
    """Parse the path in a table's header; None for a line that is no header, including any line inside a value."""
    if not line.lstrip().startswith("["):
        return None
    try:
        tomllib.loads(before)
        value: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    path = []
    while value:
        ((key, value),) = value.items()
        path.append(key)
        value = value[0] if isinstance(value, list) else value
    return path


def find_trailing_lines(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return lines[end:]


def parse_toml(text: str) -> Document:
    """Parse a TOML document. :raises UneditableConfig: it is not valid TOML"""
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
    entries = document.get(key)
    if entries and not isinstance(entries, list if listed else dict):
        raise refused_at(text, yaml_line(text, key), f"{key} holds no {'list of' if listed else 'named'} servers")
    if find_yaml_entry(document, key, name) is not None:
        text = remove_yaml_entry(text, key, name, listed=listed)
        document = parse_yaml(text)
    after = yaml_spliced(text, key, name, entry, listed=listed)

    def add_to_entries(entries: Any) -> Any:
        return [{"name": name, **entry}, *(entries or [])] if listed else {**(entries or {}), name: entry}

    refusal = refused_at(text, yaml_line(text, key), f"{name} cannot be added safely; add the entry by hand")
    prove(document, parse_yaml(after), key, add_to_entries, refusal)
    return after


def yaml_spliced(text: str, key: str, name: str, entry: Document, *, listed: bool) -> str:
    """Insert an entry where the layout of the key requires it."""
    root = yaml_node(text)
    label, value = find_yaml_pair(root, key)
    flat = (  # JSON on one line is YAML
        json.dumps({"name": name, **entry}, ensure_ascii=False)
        if listed
        else f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}"
    )
    if label is None:
        if root is not None and root.flow_style:
            return yaml_with_flat(text, root, f"{json.dumps(key)}: " + (f"[{flat}]" if listed else f"{{{flat}}}"))
        if root is not None and re.search(r"^(---|\.\.\.)", text[root.end_mark.index :], re.MULTILINE):
            raise refused_at(text, root.end_mark.line, "the document ends before the file does; add the entry by hand")
        return append_lines(text, [f"{key}:", *format_yaml_block(name, entry, "  ", listed=listed)])
    if getattr(value, "flow_style", False) and value.value:
        return yaml_with_flat(text, value, flat, first=listed)
    lines, at = split_config_lines(text), label.start_mark.line
    if isinstance(value.value, list) and value.value and to_marks(value.value[0])[0].line > at:
        head, indent = lines[at], find_yaml_indent(lines[at + 1 :])
    else:
        parts = re.fullmatch(rf"([^\n]*?:)([ \t]+(?:{EMPTY})(?=\s|$))?([ \t]*(?:#.*)?)(\r?\n?)", lines[at])
        if parts is None or root.flow_style or root.start_mark.column:
            if getattr(value, "flow_style", False):
                return yaml_with_flat(text, value, flat)
            raise refused_at(
                text, at, f"{key} is written in a way that cannot be changed safely; add the entry by hand"
            )
        head = parts[1] + re.sub(rf"({EMPTY})$", r"#\1", parts[2] or "") + parts[3] + parts[4]
        indent = "" if listed else "    "
    newline = find_newline_style(text)
    added = append_lines(head, format_yaml_block(name, entry, indent, listed=listed), newline)
    return "".join([*lines[:at], added, *lines[at + 1 :]])


def yaml_with_flat(text: str, holder: Any, flat: str, *, first: bool = False) -> str:
    """Add a member to a flow mapping or sequence: the first, or the last."""
    start, end = holder.start_mark.index, holder.end_mark.index
    if not holder.value and not text[start + 1 : end - 1].strip():
        return with_flat(text, start, end, flat)
    if not holder.value:
        return f"{text[: start + 1]} {flat}{text[start + 1 :]}"  # a comment stands within
    if first:
        at = to_marks(holder.value[0])[0].index
        return f"{text[:at]}{flat}, {text[at:]}"
    at = to_marks(holder.value[-1])[1].index
    return f"{text[:at]}, {flat}{text[at:]}"


def remove_yaml_entry(text: str, key: str, name: str, *, listed: bool) -> str:
    """Remove an entry. Comments behind it stay, and so does a key that existed before it."""
    document = parse_yaml(text)
    entry = find_yaml_entry(document, key, name)
    if entry is None:
        return text
    problem = f"{name} is written in a way that cannot be taken out safely; remove it by hand"
    refusal = refused_at(text, yaml_line(text, name), problem)
    root = yaml_node(text)
    label, holder = find_yaml_pair(root, key)
    members = holder.value if label is not None and isinstance(holder.value, list) else []
    place = next((place for place, member in enumerate(members) if is_yaml_member(member, name)), None)
    if place is None:
        raise refusal

    def add_again(original: str) -> str | None:
        if yaml_has(original, key, name):
            return None
        return add_yaml_entry(original, key, name, entry, listed=listed)

    if holder.flow_style:
        bodies = list(yaml_without_flat(text, root, label, holder, place))
        after = bodies[0]
    else:
        lines, at = split_config_lines(text), label.start_mark.line
        first, end = find_yaml_span(lines, to_marks(members[place])[0].line)
        emptied = re.sub(rf"([ \t])#({EMPTY})(?=\s|$)", r"\1\2", lines[at])
        rest = "".join(lines[at + 1 : first] + lines[end:])
        uncommented, plain, without_key = ("".join(lines[:at]) + head + rest for head in (emptied, lines[at], ""))
        bodies = [
            variant for body in (uncommented, plain, without_key) for variant in (body, *to_trimmed_variants(body))
        ]
        made_by_us = len(lines[first]) - len(lines[first].lstrip()) == 2 and lines[at].strip().removesuffix(":") == key
        is_bare = made_by_us and emptied == lines[at]
        after = plain if parse_yaml(plain).get(key) else without_key if is_bare else uncommented
    original = find_original(text, bodies, add_again)
    if original is not None:
        return original
    prove(document, parse_yaml(after), key, lambda entries: drop_entry(entries, name), refusal)
    return after


def yaml_without_flat(text: str, root: Any, label: Any, holder: Any, place: int) -> Iterator[str]:
    """Yield the texts into which a flow member may have been inserted; the first one fits any layout."""
    spans = [tuple(mark.index for mark in to_marks(member)) for member in holder.value]
    start, end = spans[place]
    if place:
        yield text[: spans[place - 1][1]] + text[end:]
    elif len(spans) > 1:
        yield text[:start] + text[spans[1][0] :]
    else:
        yield text[:start] + text[end:]
        yield text[: start - 1] + text[end + 1 :]
        yield text[: start - 1] + text[end:]
        if root.flow_style:
            keys = [pair[0].start_mark.index for pair in root.value]
            number = keys.index(label.start_mark.index)
            if number:
                yield text[: root.value[number - 1][1].end_mark.index] + text[holder.end_mark.index :]
            else:
                yield text[: label.start_mark.index - 1] + text[holder.end_mark.index + 1 :]


def is_yaml_member(member: Any, name: str) -> bool:
    """Check whether a member of a mapping, or an element of a sequence, has this name."""
    if isinstance(member, tuple):
        return bool(member[0].value == name)
    return any(isinstance(part, tuple) and (part[0].value, part[1].value) == ("name", name) for part in member.value)


def to_marks(member: Any) -> tuple[Any, Any]:
    """Return where a member of a mapping, or an element of a sequence, starts and ends."""
    first, last = member if isinstance(member, tuple) else (member, member)
    return first.start_mark, last.end_mark


def yaml_node(text: str) -> Any:
    """Return the node tree of the only document, with positions; None when there is none."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).compose(text)
    except YAMLError as error:
        raise UneditableConfig(str(error)) from error


def find_yaml_pair(root: Any, key: str) -> tuple[Any, Any]:
    """Return a top-level key and its value in the node tree; None for both when there is none."""
    return (
        next(((label, value) for label, value in root.value if label.value == key), (None, None))
        if root
        else (None, None)
    )


def yaml_line(text: str, key: str) -> int:
    return next((n for n, line in enumerate(split_config_lines(text)) if key in line), 0)


def yaml_has(text: str, key: str, name: str) -> bool:
    try:
        return find_yaml_entry(parse_yaml(text), key, name) is not None
    except UneditableConfig:
        return False


def find_yaml_indent(lines: list[str]) -> str:
    """Return the indentation of the first entry below a key."""
    return next((match[1] for line in lines if (match := re.match(r"([ \t]*)[^\s#]", line))), "  ")


def find_yaml_span(lines: list[str], first: int) -> tuple[int, int]:
    """Return the lines of the block entry that begins at a line: the first, and the one after the last."""
    indent = len(lines[first]) - len(lines[first].lstrip())
    end = first + 1
    for number, line in enumerate(lines[end:], end):
        if line.strip() and not line.lstrip().startswith("#"):
            if len(line) - len(line.lstrip()) <= indent:
                break
            end = number + 1
    return first, end


def find_yaml_entry(document: Document, key: str, name: str) -> Document | None:
    """Return an entry as it stands under a key, without its name; None where there is none."""
    entries = document.get(key) or {}
    if isinstance(entries, dict):
        return dict(entries[name] or {}) if name in entries else None
    entry = next((entry for entry in entries if isinstance(entry, dict) and entry.get("name") == name), None)
    return None if entry is None else {inner: value for inner, value in entry.items() if inner != "name"}


def format_yaml_block(name: str, entry: Document, indent: str, *, listed: bool) -> list[str]:
    """Format an entry as YAML lines. Values are written as JSON, which YAML reads alike."""
    lines = [f"{indent}- name: {name}"] if listed else [f"{indent}{name}:"]
    return [*lines, *(f"{indent}  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items())]


def parse_yaml(text: str) -> Document:
    """Parse a YAML document. :raises UneditableConfig: it is not a YAML mapping"""
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


def append_lines(text: str, lines: Iterable[str], newline: str | None = None) -> str:
    """Append lines to a text; one that ends without a line end still does. :param newline: as the text has it unless given"""
    newline = newline or find_newline_style(text)
    added = newline.join(lines)
    return f"{text}{added}{newline}" if not text or text.endswith("\n") else f"{text}{newline}{added}"


def to_trimmed_variants(text: str) -> Iterator[str]:
    """Yield the text without one and without two of its final line ends."""
    newline = find_newline_style(text)
    for ends in (newline, newline * 2):
        if text.endswith(ends):
            yield text.removesuffix(ends)


def prove(before: Document, after: Document, key: str, meant: Callable[[Any], Any], refusal: UneditableConfig) -> None:
    """Check that an edit changed what was intended and nothing else. :raises UneditableConfig: it did not"""
    expected = {**before, key: meant(before.get(key) or {})}
    order = [name for name in before if name in after and name != key] == [name for name in after if name != key]
    if not order or {**after, key: after.get(key) or None} != {**expected, key: expected[key] or None}:
        raise refusal


def refused_at(text: str, line: int, problem: str) -> UneditableConfig:
    """Return the error for a text, with the line (counted from 0) that prevents the edit."""
    shown = split_config_lines(text)[line : line + 1]
    return UneditableConfig(f"line {line + 1}: {problem}" + (f" ({shown[0].strip():.60})" if shown else ""))


def drop_entry(entries: Any, name: str) -> Any:
    """Return entries, by name or in a list, without one of them."""
    if isinstance(entries, dict):
        return {key: value for key, value in entries.items() if key != name}
    return [entry for entry in entries if not isinstance(entry, dict) or entry.get("name") != name]


def split_config_lines(text: str) -> list[str]:
    """Split a text into lines with their ends, at line feeds only: other separators may occur within a value."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
