"""Parsing of tool arguments as models send them: numbers as text, missing keys, nulls.

What cannot be interpreted is refused with a message that names the argument and the value. Null counts as omitted;
a blank does so only for a text, never for a number or a boolean.
"""

from __future__ import annotations

import math
import re
from typing import Any

from hermes_memory_store.errors import ArgumentError

Arguments = dict[str, Any]

NUMBER = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
DECIMAL = re.compile(r"\s*[+-]?[0-9]{1,19}(\.[0-9]{1,19})?\s*")

YES, NO = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})

SHOWN = 80
"""Characters of a value that a refusal repeats."""


def check_argument_types(schema: dict[str, Any], arguments: Arguments) -> None:
    """Check the text and boolean arguments of a tool, including those this call would not read.

    :param schema: JSON Schema by name
    :raises ArgumentError: names the argument and the value
    """
    for name, one in schema.items():
        if arguments.get(name) is None:
            continue
        if one["type"] == "boolean":
            parse_flag(arguments, name)
        elif one["type"] == "string":
            parse_text_argument(arguments, name)


def check_argument_names(schema: dict[str, Any], arguments: Arguments) -> None:
    """Check that the tool takes every argument given: a misspelt `dry_run` must not become a real run.

    :raises ArgumentError: names the argument
    """
    known = [*schema, *({"session_id"} - schema.keys())]
    for name in arguments:
        if name not in known:
            raise ArgumentError(
                f"{format_argument_value(name)} is no argument here; choose from {', '.join(known)}", name
            )


def parse_text_argument(arguments: Arguments, name: str) -> str:
    """Return a required text argument.

    :raises ArgumentError: it is missing or no text
    """
    value = arguments.get(name)
    if value is None:
        raise ArgumentError(f"{name} is required", None)
    if not isinstance(value, str):
        raise ArgumentError(f"{name} must be a text, not {format_argument_value(value)}", format_argument_value(value))
    return value


def parse_optional_text(arguments: Arguments, name: str) -> str | None:
    """Return an optional text argument; an empty one counts as omitted."""
    value = arguments.get(name)
    if value is None or value == "":
        return None
    return parse_text_argument(arguments, name)


def parse_text_list(arguments: Arguments, name: str) -> list[str]:
    """Return a list of texts, also given as one text with commas; empty when it is omitted.

    :raises ArgumentError: it is none
    """
    value = arguments.get(name)
    if value is None:
        return []
    if isinstance(value, str) and value.strip():
        return [part.strip() for part in value.split(",")]
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise ArgumentError(f"{name} must be a list of texts", format_argument_value(value))
    return value


def parse_optional_name(arguments: Arguments, name: str) -> str | None:
    """Return an optional name.

    :raises ArgumentError: it is nothing but white space
    """
    value = parse_optional_text(arguments, name)
    if value is not None and not value.strip():
        raise ArgumentError(
            f"{name} must not be blank, as {format_argument_value(value)} is; leave it out instead", value
        )
    return value


def parse_integer_argument(arguments: Arguments, name: str, default: int, *, least: int, most: int) -> int:
    """Return an integer argument, also given as text. Below `least` it is refused; above `most` it is capped."""
    value = arguments.get(name)
    if value is None:
        return default
    number = parse_whole_number(name, value)
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, not {format_argument_value(number)}", number)
    return min(number, most)


def parse_whole_number(name: str, value: Any) -> int:
    """Return a value as an integer.

    :raises ArgumentError: it is none
    """
    if isinstance(value, str) and NUMBER.fullmatch(value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise ArgumentError(
        f"{name} must be a whole number, not {format_argument_value(value)}", format_argument_value(value)
    )


def parse_percentage(arguments: Arguments, name: str, default: float) -> float:
    """Return a percentage argument, also given as text.

    :raises ArgumentError: it is none
    """
    value = arguments.get(name)
    if value is None:
        return default
    number: float = math.nan
    if isinstance(value, str) and DECIMAL.fullmatch(value):
        number = float(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = value
    if not 0 <= number <= 100:
        raise ArgumentError(
            f"{name} must be a number from 0 to 100, not {format_argument_value(value)}", format_argument_value(value)
        )
    return float(number)


def parse_flag(arguments: Arguments, name: str) -> bool:
    """Return a boolean argument, also given as text.

    :raises ArgumentError: it is neither true nor false, or blank
    """
    value = arguments.get(name)
    if value is None:
        return False
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in YES | NO:
        raise ArgumentError(
            f"{name} must be true or false, not {format_argument_value(value)}", format_argument_value(value)
        )
    return word in YES


def format_argument_value(value: Any) -> str:
    """Format a value for a refusal message: a text or number, shortened; of anything else its type."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    said = repr(value[: SHOWN + 1] if isinstance(value, str) else value)
    return said if len(said) <= SHOWN else said[:SHOWN] + "…"
