"""JSON for a program that lives for milliseconds: `json` imports `re`, which takes longer than all else that happens here.

The scanner and the quoting of texts are those that `json` itself uses. Where an interpreter lacks them, `json` does it.
As long as nothing has imported `json.decoder`, CPython's scanner finds no error that it could raise for invalid JSON, and the
interpreter raises SystemError in its place.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

try:
    from _json import encode_basestring_ascii, make_scanner, scanstring
except ImportError:  # another interpreter than CPython
    from json import dumps as encode_basestring_ascii
    from json.decoder import scanstring  # type: ignore[attr-defined,no-redef]
    from json.scanner import make_scanner

SPACE = " \t\n\r"

INVALID = (ValueError, StopIteration, RecursionError, SystemError)
"""What the scanner raises for invalid JSON."""


class ScannerSettings:
    """What the scanner of `json` asks of its decoder."""

    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float

    def __init__(self, *, strict: bool) -> None:
        """:param strict: whether control characters in a text are invalid"""
        self.strict = strict
        self.memo: dict[str, str] = {}
        self.parse_string = scanstring
        self.parse_object: Callable[..., Any] | None = None
        self.parse_array: Callable[..., Any] | None = None


def make_value_scanner(*, strict: bool = False) -> Callable[[str, int], tuple[Any, int]]:
    """Return a function that reads the value at a place of a text: the value, and where it ends.

    It raises one of `INVALID` where there is none.

    :param strict: whether control characters in a text are invalid
    """
    settings = ScannerSettings(strict=strict)
    if make_scanner.__module__ != "_json":
        from json.decoder import JSONArray, JSONObject  # type: ignore[attr-defined]

        settings.parse_object, settings.parse_array = JSONObject, JSONArray
    scanner: Callable[[str, int], tuple[Any, int]] = make_scanner(settings)  # type: ignore[arg-type]
    return scanner


scan_message = make_value_scanner(strict=True)


def parse_whole_object(text: str) -> dict[str, Any] | None:
    """Parse an object; None for anything else. What follows it is ignored."""
    try:
        value, _ = make_value_scanner()(text, skip_space(text, 0))
    except INVALID:
        return None
    return value if isinstance(value, dict) else None


def parse_wire_message(line: bytes) -> dict[str, Any] | None:
    """Parse a line of a host as `json.loads` does, if it is an object; None for any other, to which the bridge responds."""
    try:
        text = line.decode("utf-8").strip(SPACE)
        message, end = scan_message(text, 0)
    except INVALID:
        return None
    return message if end == len(text) and isinstance(message, dict) else None


def parse_half_object(text: str, most_text: int, mark: str = "") -> dict[str, Any]:
    """Parse the members of an object up to where it breaks off, and the beginning of the text that it breaks off in.

    >>> parse_half_object('{"session_id": "s1", "prompt": "Which data', 100)
    {'session_id': 's1', 'prompt': 'Which data'}

    :param most_text: characters of a text that breaks off
    :param mark: what is written behind that text
    """
    scan, at = make_value_scanner(), skip_space(text, 0)
    found: dict[str, Any] = {}
    if text[at : at + 1] != "{":
        return found
    name = None
    try:
        while True:
            name = None
            at = skip_space(text, at + 1)
            name, at = scan(text, at)
            at = skip_space(text, at)
            if not isinstance(name, str) or text[at] != ":":
                return found
            at = skip_space(text, at + 1)
            found[name], at = scan(text, at)
            at = skip_space(text, at)
            if text[at] != ",":
                return found
    except (*INVALID, IndexError):
        if isinstance(name, str) and text[at : at + 1] == '"':
            found[name] = parse_half_text(text[at + 1 :])[:most_text] + mark
    return found


def parse_half_text(text: str) -> str:
    """Return a text without its end: an escape that is cut off is dropped."""
    for shorter in range(min(7, len(text) + 1)):
        try:
            return str(scanstring(text[: len(text) - shorter] + '"', 0, False)[0])
        except (ValueError, SystemError):
            continue
    return ""


def skip_space(text: str, at: int) -> int:
    """Return the next place that holds no white space."""
    while at < len(text) and text[at] in SPACE:
        at += 1
    return at


def quote_text(text: str) -> str:
    """Return a text as JSON, in ASCII."""
    return encode_basestring_ascii(text)


def to_id_json(number: object) -> str | None:
    """Return a request's id as JSON; None for what cannot be one."""
    if isinstance(number, str):
        return quote_text(number)
    return str(number) if isinstance(number, int) and not isinstance(number, bool) else None


def to_json(value: Any) -> str:
    """Return the JSON of a value in ASCII. The names of an object must be texts, and numbers finite."""
    if isinstance(value, str):
        return quote_text(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "{" + ",".join([f"{quote_text(name)}:{to_json(one)}" for name, one in value.items()]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(to_json, value)) + "]"
    return repr(float(value)) if isinstance(value, float) else str(int(value))
