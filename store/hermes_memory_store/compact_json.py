"""Objects as programs exchange them in JSON: on one line of ASCII, and read as far as they are whole."""

from __future__ import annotations

import json
from json.decoder import scanstring  # type: ignore[attr-defined]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SPACE = " \t\n\r"

DECODER = json.JSONDecoder(strict=False)
"""Takes control characters in a text for what they are."""


def parse_whole_object(text: str) -> dict[str, Any] | None:
    """Parse an object; None for anything else. What follows it is ignored."""
    try:
        value, _ = DECODER.raw_decode(text.lstrip(SPACE))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def parse_wire_message(line: bytes) -> dict[str, Any] | None:
    """Parse a line of a host, if it is an object; None for any other, to which the bridge responds."""
    try:
        message = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def parse_half_object(text: str, most_text: int, mark: str = "") -> dict[str, Any]:
    """Parse the members of an object up to where it breaks off, and the beginning of the text that it breaks off in.

    >>> parse_half_object('{"session_id": "s1", "prompt": "Which data', 100)
    {'session_id': 's1', 'prompt': 'Which data'}

    :param most_text: characters of a text that breaks off
    :param mark: what is written behind that text
    """
    at = skip_space(text, 0)
    members: dict[str, Any] = {}
    if text[at : at + 1] != "{":
        return members
    name = None
    try:
        while True:
            name = None
            name, at = DECODER.raw_decode(text, skip_space(text, at + 1))
            at = skip_space(text, at)
            if not isinstance(name, str) or text[at] != ":":
                return members
            at = skip_space(text, at + 1)
            members[name], at = DECODER.raw_decode(text, at)
            at = skip_space(text, at)
            if text[at] != ",":
                return members
    except (ValueError, RecursionError, IndexError):
        if isinstance(name, str) and text[at : at + 1] == '"':
            members[name] = parse_half_text(text[at + 1 :])[:most_text] + mark
        return members


def parse_half_text(text: str) -> str:
    """Return a text without its end: an escape that is cut off is dropped."""
    for shorter in range(min(7, len(text) + 1)):
        try:
            return str(scanstring(text[: len(text) - shorter] + '"', 0, False)[0])
        except ValueError:
            continue
    return ""


def skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in SPACE:
        at += 1
    return at


def to_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def to_members(item: object, names: str) -> dict[str, Any]:
    """Return attributes of an item as the members of their names. :param names: in order, with spaces between them"""
    return {name: getattr(item, name) for name in names.split()}
