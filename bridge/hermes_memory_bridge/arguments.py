"""Reading a tool's arguments as models send them: numbers as text, missing keys, nulls.

What cannot be meant is refused with a sentence that names the argument and the value. A null counts as left out; a blank does
so only for a text, never for a number or a yes or no.
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


def check_types(schema: dict[str, Any], arguments: Arguments) -> None:
    """Check the texts and the yes-or-noes among a tool's arguments, also those that the call at hand would not look at.

    :param schema: JSON Schema by name
    :raises ArgumentError: names the argument and the value
    """
    for name, one in schema.items():
        if arguments.get(name) is None:
            continue
        if one["type"] == "boolean":
            flag(arguments, name)
        elif one["type"] == "string":
            text(arguments, name)


def check_names(schema: dict[str, Any], arguments: Arguments) -> None:
    """Check that every argument is one the tool takes: a misspelt `dry_run` must not become a real run.

    :raises ArgumentError: names the argument
    """
    known = [*schema, *({"session_id"} - schema.keys())]
    for name in arguments:
        if name not in known:
            raise ArgumentError(f"{shown(name)} is no argument here; choose from {', '.join(known)}", name)


def text(arguments: Arguments, name: str) -> str:
    """A text that must be given. :raises ArgumentError: when it is missing or no text"""
    value = arguments.get(name)
    if value is None:
        raise ArgumentError(f"{name} is required", None)
    if not isinstance(value, str):
        raise ArgumentError(f"{name} must be a text, not {shown(value)}", shown(value))
    return value


def text_or_none(arguments: Arguments, name: str) -> str | None:
    """A text that may be left out; an empty one counts as left out."""
    value = arguments.get(name)
    if value is None or value == "":
        return None
    return text(arguments, name)


def name_or_none(arguments: Arguments, name: str) -> str | None:
    """A name that may be left out. :raises ArgumentError: it is nothing but white space"""
    value = text_or_none(arguments, name)
    if value is not None and not value.strip():
        raise ArgumentError(f"{name} must not be blank, as {shown(value)} is; leave it out instead", value)
    return value


def integer(arguments: Arguments, name: str, default: int, *, least: int, most: int) -> int:
    """A whole number, also as text. Below `least` it is refused; above `most` it means `most`."""
    value = arguments.get(name)
    if value is None:
        return default
    number = whole(name, value)
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, not {shown(number)}", number)
    return min(number, most)


def whole(name: str, value: Any) -> int:
    """A value as a whole number. :raises ArgumentError: when it is none"""
    if isinstance(value, str) and NUMBER.fullmatch(value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise ArgumentError(f"{name} must be a whole number, not {shown(value)}", shown(value))


def percent(arguments: Arguments, name: str, default: float) -> float:
    """A percentage, also as text. :raises ArgumentError: when it is none"""
    value = arguments.get(name)
    if value is None:
        return default
    number: float = math.nan
    if isinstance(value, str) and DECIMAL.fullmatch(value):
        number = float(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = value
    if not 0 <= number <= 100:
        raise ArgumentError(f"{name} must be a number from 0 to 100, not {shown(value)}", shown(value))
    return float(number)


def flag(arguments: Arguments, name: str) -> bool:
    """A yes or no, also as text. :raises ArgumentError: when it is neither, a blank included"""
    value = arguments.get(name)
    if value is None:
        return False
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in YES | NO:
        raise ArgumentError(f"{name} must be true or false, not {shown(value)}", shown(value))
    return word in YES


def shown(value: Any) -> str:
    """A value as a refusal repeats it: a text or a number, shortened; of anything else its kind."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    said = repr(value[: SHOWN + 1] if isinstance(value, str) else value)
    return said if len(said) <= SHOWN else said[:SHOWN] + "…"
