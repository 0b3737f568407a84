"""In-place editing of JSON with comments and trailing commas: everything outside one member or element stays byte for byte.

json-five could reproduce a parsed document with its comments, but its tree has no positions to splice at, it reads
all of JSON5, which hosts do not, and it is slow; the parser is the smaller part of this file. Setting a member
only ever inserts text, and a different text in each situation: on several lines where there are other members, on
one line in an object that was empty. So removing the member can find the one text it was set in and restore it
byte for byte.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

SPACE = re.compile(r"(?:[\s\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")


class JsoncSyntaxError(ValueError):
    """The text is not valid JSON; the message names the line."""


@dataclass(slots=True)
class JsoncNode:
    start: int
    end: int
    value: Any
    items: Sequence[JsoncMember] = ()
    """The members of an object, the elements of an array, in order."""


@dataclass(slots=True)
class JsoncMember:
    key: str | None
    """None for an element."""
    start: int
    node: JsoncNode
    comma: int | None = None
    """Where the comma after it stands."""


def parse_jsonc(text: str) -> JsoncNode:
    """Parse a whole text as a value. :raises JsoncSyntaxError: it is none"""
    start = skip_jsonc_space(text, 0)
    if start == len(text):
        return JsoncNode(start, start, None)
    try:
        node = parse_jsonc_value(text, start)
    except RecursionError:
        raise JsoncSyntaxError("line 1: its values are nested too deeply to be read") from None
    end = skip_jsonc_space(text, node.end)
    if end != len(text):
        raise to_jsonc_error(text, end)
    return node


@lru_cache(maxsize=4)
def find_jsonc_tree(text: str) -> JsoncNode:
    """Parse a text, or return its tree of before, which nobody may change: one edit looks at the same text several times.

    :raises JsoncSyntaxError: it is no JSON
    """
    return parse_jsonc(text)


def set_jsonc_member(text: str, path: Sequence[str], value: Any) -> str:
    """Set a member in a text, creating missing parent objects. :raises JsoncSyntaxError: the text is not valid JSON"""
    root = find_jsonc_tree(text)
    if root.start == len(text):
        newline = find_newline_style(text)
        return text + format_json_value(to_nested(path, value), "", "  ", newline) + newline
    node, rest = root, list(path)
    while True:
        if node.value is None and node is not root:
            # Its own form, with one space: taking out finds the null again.
            flat = f"{{{json.dumps(rest[0])}: {json.dumps(to_nested(rest[1:], value), ensure_ascii=False)} }}"
            return text[: node.start] + flat + text[node.end :]
        if not isinstance(node.value, dict):
            problem = f"{'.'.join(path[: len(path) - len(rest)]) or 'the document'} is no object"
            raise JsoncSyntaxError(f"line {text.count(chr(10), 0, node.start) + 1}: {problem}")
        present = next((member for member in node.items if member.key == rest[0]), None)
        if present is None:
            return insert_member(text, node, rest[0], to_nested(rest[1:], value))
        node = present.node
        rest = rest[1:]
        if not rest:
            indent, unit = find_line_indent(text, present.start), find_indent_unit(text)
            formatted = format_json_value(value, indent, unit, find_newline_style(text))
            return text[: node.start] + formatted + text[node.end :]


def to_nested(path: Sequence[str], value: Any) -> Any:
    """Return a value within objects of one member each."""
    for key in reversed(path):
        value = {key: value}
    return value


def append_jsonc_element(text: str, path: Sequence[str], value: Any) -> str:
    """Append an element to the array at a path, creating the array and missing parent objects.

    :raises JsoncSyntaxError: the text is not valid JSON, or holds something else there
    """
    root = find_jsonc_tree(text)
    chain = find_jsonc_chain(root, path)
    if len(chain) < len(path):
        return set_jsonc_member(text, path, [value])
    node = chain[-1][1].node if chain else root
    if not isinstance(node.value, list):
        raise JsoncSyntaxError(f"line {text.count(chr(10), 0, node.start) + 1}: {'.'.join(path)} is no list")
    return insert_member(text, node, None, value)


def remove_jsonc_member(text: str, path: Sequence[str | int]) -> str:
    """Remove a member, or an element by its index, from a text. Unchanged when there is none.

    If nobody has rewritten the file, the result is the text that it was set in or appended to. Otherwise objects and arrays
    around it stay, even empty ones, since they may have existed before it.
    """
    root = find_jsonc_tree(text)
    chain = find_jsonc_chain(root, path)
    if len(chain) < len(path):
        return text
    keys, value = [str(key) for key in path], chain[-1][1].node.value

    def put_back(original: str) -> str:
        if isinstance(path[-1], int):
            return append_jsonc_element(original, keys[:-1], value)
        return set_jsonc_member(original, keys, value)

    if not any(isinstance(key, int) for key in path[:-1]):
        original = find_original(text, find_possible_originals(text, root, chain), put_back)
        if original is not None:
            return original
    return remove_member(text, *chain[-1])


def find_jsonc_chain(root: JsoncNode, path: Sequence[str | int]) -> list[tuple[JsoncNode, JsoncMember]]:
    """Return each value on a path with the value that holds it, as far as the path leads."""
    chain: list[tuple[JsoncNode, JsoncMember]] = []
    node = root
    for key in path:
        if isinstance(key, int):
            matches = node.items[key : key + 1] if isinstance(node.value, list) else []
        else:
            matches = [member for member in node.items if member.key == key][:1]
        if not matches:
            break
        chain.append((node, matches[0]))
        node = matches[0].node
    return chain


def find_possible_originals(text: str, root: JsoncNode, chain: list[tuple[JsoncNode, JsoncMember]]) -> Iterator[str]:
    if all(len(holder.items) == 1 for holder, _ in chain):
        yield text[: root.start]
    for depth in range(len(chain)):
        if all(len(holder.items) == 1 for holder, _ in chain[depth + 1 :]):
            yield from find_texts_before_insertion(text, *chain[depth])
            if depth:
                holder = chain[depth][0]
                yield f"{text[: holder.start]}null{text[holder.end :]}"


def find_original(text: str, bodies: Iterable[str], edit: Callable[[str], str | None]) -> str | None:
    """Return the first of some texts of which an edit makes `text`; None where it makes it of none of them."""
    for body in bodies:
        with contextlib.suppress(ValueError):
            if edit(body) == text:
                return body
    return None


def insert_member(text: str, node: JsoncNode, key: str | None, value: Any) -> str:
    """Insert a new last member into an object, or without a key an element into an array; no text is removed."""
    unit, newline = find_indent_unit(text), find_newline_style(text)
    label = "" if key is None else f"{json.dumps(key)}: "
    flat = label + json.dumps(value, ensure_ascii=False)
    if not node.items:
        return f"{text[: node.end - 1]} {flat} {text[node.end - 1 :]}"
    last = node.items[-1]
    after = last.node.end if last.comma is None else last.comma + 1
    comma, trailing = (",", "") if last.comma is None else ("", ",")
    if text[text.rfind("\n", 0, last.start) + 1 : last.start].strip():
        return f"{text[:after]}{comma} {flat}{trailing}{text[after:]}"
    indent = find_line_indent(text, last.start)
    formatted = label + format_json_value(value, indent, unit, newline)
    # What stands behind the last member on its line is a comment about that one.
    line_end = text.find("\n", after)
    line_end = len(text) if line_end < 0 else line_end
    behind = text[after:line_end]
    stays = behind if not SPACE.sub("", behind) and skip_jsonc_space(text, after) >= line_end else ""
    at = after + len(stays.rstrip("\r"))
    return f"{text[:after]}{comma}{text[after:at]}{newline}{indent}{formatted}{trailing}{text[at:]}"


def find_texts_before_insertion(text: str, holder: JsoncNode, member: JsoncMember) -> Iterator[str]:
    """Find the texts into which `insert_member` may have put a last member."""
    if member is not holder.items[-1]:
        return
    end = member.node.end if member.comma is None else member.comma + 1
    if len(holder.items) == 1:
        yield text[: member.start - 1] + text[end + 1 :]
        return
    line = text.rfind("\n", 0, member.start)
    before = holder.items[-2].comma
    assert before is not None
    for start in (line, line - 1, member.start - 1):
        if start <= before:
            continue
        if member.comma is None:
            yield text[:before] + text[before + 1 : start] + text[end:]
        else:
            yield text[:start] + text[end:]


def remove_member(text: str, holder: JsoncNode, member: JsoncMember) -> str:
    place = holder.items.index(member)
    start, end = member.start, member.node.end if member.comma is None else member.comma + 1
    before = text.rfind("\n", 0, start)
    if not text[before + 1 : start].strip() and before >= 0:
        start = before - 1 if text[before - 1 : before] == "\r" else before
    elif place or len(holder.items) == 1:
        while text[start - 1] in " \t":
            start -= 1
    if len(holder.items) == 1:
        # A comment above may end with its line alone.
        while not text[holder.start + 1 : start].strip() and end < holder.end - 1 and text[end].isspace():
            end += 1
        return text[:start] + text[end:]
    text = text[:start] + text[end:]
    if place == len(holder.items) - 1 and member.comma is None:
        comma = holder.items[place - 1].comma
        assert comma is not None
        text = text[:comma] + text[comma + 1 :]
    return text


def format_json_value(value: Any, indent: str, unit: str, newline: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def find_indent_unit(text: str) -> str:
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "


def find_newline_style(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def find_line_indent(text: str, at: int) -> str:
    """Return the white space at the beginning of the line that contains a position."""
    line_start = text.rfind("\n", 0, at) + 1
    line = text[line_start:at]
    return line[: len(line) - len(line.lstrip())]


def parse_jsonc_value(text: str, at: int) -> JsoncNode:
    if text[at : at + 1] in ("{", "["):
        return parse_jsonc_items(text, at)
    match = STRING.match(text, at) or SCALAR.match(text, at)
    if match is None:
        raise to_jsonc_error(text, at)
    try:
        return JsoncNode(at, match.end(), json.loads(match[0]))
    except ValueError as error:
        raise to_jsonc_error(text, at) from error


def parse_jsonc_items(text: str, at: int) -> JsoncNode:
    is_object = text[at] == "{"
    end = "}" if is_object else "]"
    items: list[JsoncMember] = []
    place = skip_jsonc_space(text, at + 1)
    while text[place : place + 1] != end:
        name = STRING.match(text, place) if is_object else None
        if (is_object and name is None) or (items and items[-1].comma is None):
            raise to_jsonc_error(text, place)
        start = place
        if name is not None:
            colon = skip_jsonc_space(text, name.end())
            if text[colon : colon + 1] != ":":
                raise to_jsonc_error(text, colon)
            start = skip_jsonc_space(text, colon + 1)
        node = parse_jsonc_value(text, start)
        items.append(JsoncMember(None if name is None else json.loads(name[0]), place, node))
        place = skip_jsonc_space(text, node.end)
        if text[place : place + 1] == ",":
            items[-1].comma = place
            place = skip_jsonc_space(text, place + 1)
    values = [item.node.value for item in items]
    return JsoncNode(
        at, place + 1, dict(zip([item.key for item in items], values, strict=True)) if is_object else values, items
    )


def skip_jsonc_space(text: str, at: int) -> int:
    """Return the position after white space and comments."""
    match = SPACE.match(text, at)
    return match.end() if match else at


def to_jsonc_error(text: str, at: int) -> JsoncSyntaxError:
    return JsoncSyntaxError(f"line {text.count(chr(10), 0, at) + 1}: {text[at : at + 20]!r} is not expected here")
