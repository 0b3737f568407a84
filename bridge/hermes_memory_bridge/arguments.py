"""Reading a tool's arguments as models send them: numbers as text, missing keys, nulls.

What cannot be meant is refused with a sentence that names the argument and the value.
"""

from __future__ import annotations

from typing import Any

from hermes_memory_store.errors import ArgumentError

Arguments = dict[str, Any]


def text(arguments: Arguments, name: str) -> str:
    """A text that must be given. :raises ArgumentError: when it is missing or no text"""
    value = arguments.get(name)
    if value is None:
        raise ArgumentError(f"{name} is required", None)
    if not isinstance(value, str):
        raise ArgumentError(f"{name} must be a text, not {type(value).__name__}", value)
    return value


def text_or_none(arguments: Arguments, name: str) -> str | None:
    """A text that may be left out; an empty one counts as left out."""
    value = arguments.get(name)
    if value is None or value == "":
        return None
    return text(arguments, name)


def integer(arguments: Arguments, name: str, default: int, *, least: int, most: int) -> int:
    """A whole number, also as text. Below `least` it is refused; above `most` it means `most`."""
    value = arguments.get(name)
    if value is None or value == "":
        return default
    number = whole(name, value)
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, not {number}", number)
    return min(number, most)


def whole(name: str, value: Any) -> int:
    """A value as a whole number. :raises ArgumentError: when it is none"""
    if isinstance(value, str) and value.strip().lstrip("+-").isdecimal() and len(value) < 20:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise ArgumentError(f"{name} must be a whole number, not {value!r}"[:200], value)


def percent(arguments: Arguments, name: str, default: float) -> float:
    """A percentage, also as text. :raises ArgumentError: when it is none"""
    value = arguments.get(name)
    if value is None or value == "":
        return default
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be a number from 0 to 100, not {value!r}"[:200], value) from None
    if not 0 <= number <= 100:
        raise ArgumentError(f"{name} must be a number from 0 to 100, not {number}", number)
    return number


def flag(arguments: Arguments, name: str) -> bool:
    """A yes or no, also as text. :raises ArgumentError: when it is neither"""
    value = arguments.get(name)
    if value is None:
        return False
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in {"true", "yes", "1", "false", "no", "0", ""}:
        return value.strip().lower() in {"true", "yes", "1"}
    raise ArgumentError(f"{name} must be true or false, not {value!r}"[:200], value)
