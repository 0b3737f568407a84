"""JSON with comments and trailing commas, changed in place: everything outside the one member stays byte for byte.

json-five (1.1.2) gives a document back byte for byte and tells the place of each node, too. It is left out since it reads all of
JSON5 (bare keys, single quotes, `+1`), which the hosts refuse, and takes 0.65 s for 80 kB where this takes 0.03 s; the layout of
an added member, which is most of this file, would still be ours. Setting a member only ever adds
text, and adds another text in each situation: on several lines where there are other members, on one line in an object that was
empty. So taking the member out can find the one text that it was set in, and give it back byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

SPACE = re.compile(r"(?:[\s\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")


class NotJson(ValueError):
    """The text is no JSON; the message names the line."""


@dataclass(slots=True)
class Node:
    """A value and where it stands."""

    start: int
    end: int
    value: Any
    members: list[Member] | None = None
    """For an object: its members in order."""


@dataclass(slots=True)
class Member:
    """A member of an object."""

    key: str
    start: int
    node: Node
    comma: int | None = field(default=None)
    """Where the comma after it stands."""


def parse(text: str) -> Node:
    """The whole text as a value. :raises NotJson: it is none"""
    start = skip(text, 0)
    if start == len(text):
        return Node(start, start, None)
    node = value_at(text, start)
    end = skip(text, node.end)
    if end != len(text):
        raise mistake(text, end)
    return node


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a member set, its objects made where they are missing. :raises NotJson:"""
    root = parse(text)
    if root.start == len(text):
        made = value
        for key in reversed(path):
            made = {key: made}
        newline = newline_of(text)
        return text + written(made, "", "  ", newline) + newline
    node, rest = root, list(path)
    while True:
        if node.members is None and node.value is None and node is not root:
            # Its own form, with one space: taking out finds the null again.
            for key in reversed(rest[1:]):
                value = {key: value}
            flat = f"{{{json.dumps(rest[0])}: {json.dumps(value, ensure_ascii=False)} }}"
            return text[: node.start] + flat + text[node.end :]
        if node.members is None:
            said = f"{'.'.join(path[: len(path) - len(rest)]) or 'the document'} is no object"
            raise NotJson(f"line {text.count(chr(10), 0, node.start) + 1}: {said}")
        found = next((one for one in node.members if one.key == rest[0]), None)
        if found is None:
            for key in reversed(rest[1:]):
                value = {key: value}
            return inserted(text, node, rest[0], value)
        node = found.node
        rest = rest[1:]
        if not rest:
            indent = line_indent(text, found.start)
            return text[: node.start] + written(value, indent, unit_of(text), newline_of(text)) + text[node.end :]


def without_member(text: str, path: Sequence[str]) -> str:
    """The text without a member. Unchanged when there is none.

    As long as nobody has rewritten the file, it is the text that the member was set in. Else objects around the member stay, even
    empty ones, since they may have been there before it.
    """
    root = parse(text)
    chain: list[tuple[Node, Member]] = []
    node = root
    for key in path:
        found = next((one for one in node.members or [] if one.key == key), None)
        if found is None:
            return text
        chain.append((node, found))
        node = found.node
    for original in originals(text, root, chain):
        if is_set_in(original, path, node.value, text):
            return original
    return removed(text, *chain[-1])


def originals(text: str, root: Node, chain: list[tuple[Node, Member]]) -> Iterator[str]:
    """The texts that the last member of a chain may have been set in."""
    if all(len(holder.members or []) == 1 for holder, _ in chain):
        yield text[: root.start]
    for depth in range(len(chain)):
        if all(len(holder.members or []) == 1 for holder, _ in chain[depth + 1 :]):
            yield from uninserted(text, *chain[depth])
            if depth:
                holder = chain[depth][0]
                yield f"{text[: holder.start]}null{text[holder.end :]}"


def is_set_in(original: str, path: Sequence[str], value: Any, text: str) -> bool:
    """Whether setting the member in `original` gives `text`."""
    try:
        return with_member(original, path, value) == text
    except NotJson:
        return False


def inserted(text: str, node: Node, key: str, value: Any) -> str:
    """The text with a new last member in an object; nothing of the text is taken away."""
    assert node.members is not None
    unit, newline = unit_of(text), newline_of(text)
    flat = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
    if not node.members:
        return f"{text[: node.end - 1]} {flat} {text[node.end - 1 :]}"
    last = node.members[-1]
    after = last.node.end if last.comma is None else last.comma + 1
    comma, trailing = (",", "") if last.comma is None else ("", ",")
    if text[text.rfind("\n", 0, last.start) + 1 : last.start].strip():
        return f"{text[:after]}{comma} {flat}{trailing}{text[after:]}"
    indent = line_indent(text, last.start)
    said = f"{json.dumps(key)}: {written(value, indent, unit, newline)}"
    # What stands behind the last member on its line is a comment about that one.
    line_end = text.find("\n", after)
    line_end = len(text) if line_end < 0 else line_end
    behind = text[after:line_end]
    stays = behind if not SPACE.sub("", behind) and skip(text, after) >= line_end else ""
    at = after + len(stays.rstrip("\r"))
    return f"{text[:after]}{comma}{text[after:at]}{newline}{indent}{said}{trailing}{text[at:]}"


def uninserted(text: str, holder: Node, member: Member) -> Iterator[str]:
    """The texts that `inserted` may have put a last member in."""
    assert holder.members is not None
    if member is not holder.members[-1]:
        return
    end = member.node.end if member.comma is None else member.comma + 1
    if len(holder.members) == 1:
        yield text[: member.start - 1] + text[end + 1 :]
        return
    line = text.rfind("\n", 0, member.start)
    before = holder.members[-2].comma
    assert before is not None
    for start in (line, line - 1, member.start - 1):
        if start <= before:
            continue
        if member.comma is None:
            yield text[:before] + text[before + 1 : start] + text[end:]
        else:
            yield text[:start] + text[end:]


def removed(text: str, holder: Node, member: Member) -> str:
    """The text without one member of an object, in whatever layout."""
    assert holder.members is not None
    place = holder.members.index(member)
    start, end = member.start, member.node.end if member.comma is None else member.comma + 1
    before = text.rfind("\n", 0, start)
    if not text[before + 1 : start].strip() and before >= 0:
        start = before - 1 if text[before - 1 : before] == "\r" else before
    elif place or len(holder.members) == 1:
        while text[start - 1] in " \t":
            start -= 1
    if len(holder.members) == 1:
        # A comment above may end with its line alone.
        while not text[holder.start + 1 : start].strip() and end < holder.end - 1 and text[end].isspace():
            end += 1
        return text[:start] + text[end:]
    text = text[:start] + text[end:]
    if place == len(holder.members) - 1 and member.comma is None:
        comma = holder.members[place - 1].comma
        assert comma is not None
        text = text[:comma] + text[comma + 1 :]
    return text


def written(value: Any, indent: str, unit: str, newline: str) -> str:
    """A value as text, its further lines indented."""
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def unit_of(text: str) -> str:
    """One step of indentation, as the file has it."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def newline_of(text: str) -> str:
    """The file's own line ends."""
    return "\r\n" if "\r\n" in text else "\n"


def line_indent(text: str, at: int) -> str:
    """The white space that begins the line of a place."""
    begun = text.rfind("\n", 0, at) + 1
    line = text[begun:at]
    return line[: len(line) - len(line.lstrip())]


def value_at(text: str, at: int) -> Node:
    """The value that begins here."""
    if text[at : at + 1] == "{":
        return object_at(text, at)
    if text[at : at + 1] == "[":
        return array_at(text, at)
    match = STRING.match(text, at) or SCALAR.match(text, at)
    if match is None:
        raise mistake(text, at)
    try:
        return Node(at, match.end(), json.loads(match[0]))
    except ValueError as error:
        raise mistake(text, at) from error


def object_at(text: str, at: int) -> Node:
    """The object that begins here."""
    members: list[Member] = []
    place = skip(text, at + 1)
    while text[place : place + 1] != "}":
        name = STRING.match(text, place)
        if name is None or (members and members[-1].comma is None):
            raise mistake(text, place)
        colon = skip(text, name.end())
        if text[colon : colon + 1] != ":":
            raise mistake(text, colon)
        node = value_at(text, skip(text, colon + 1))
        members.append(Member(json.loads(name[0]), place, node))
        place = skip(text, node.end)
        if text[place : place + 1] == ",":
            members[-1].comma = place
            place = skip(text, place + 1)
    return Node(at, place + 1, {one.key: one.node.value for one in members}, members)


def array_at(text: str, at: int) -> Node:
    """The array that begins here."""
    values: list[Any] = []
    place = skip(text, at + 1)
    separated = True
    while text[place : place + 1] != "]":
        if not separated:
            raise mistake(text, place)
        node = value_at(text, place)
        values.append(node.value)
        place = skip(text, node.end)
        separated = text[place : place + 1] == ","
        if separated:
            place = skip(text, place + 1)
    return Node(at, place + 1, values)


def skip(text: str, at: int) -> int:
    """Where white space and comments end."""
    found = SPACE.match(text, at)
    return found.end() if found else at


def mistake(text: str, at: int) -> NotJson:
    """The error for a place."""
    return NotJson(f"line {text.count(chr(10), 0, at) + 1}: {text[at : at + 20]!r} is not expected here")
