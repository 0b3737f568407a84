"""Arguments of tools: how a tool declares them, and how they are parsed as models send them.

A tool declares its arguments as the parameters of its function, with `text`, `whole_number` and the like as their defaults: the
schema that hosts are shown and the values of a call are both read from there. Numbers come as text, keys are missing, values are
null: what cannot be interpreted is refused with a message that names the argument and the value. Null counts as omitted; a blank
does so only for a text, never for a number or a boolean.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from hermes_memory_store.errors import ArgumentError

Arguments = dict[str, Any]
Schema = dict[str, Any]
Default = TypeVar("Default", bound=int | None)
Parser = Callable[[Arguments, str], Any]

WHOLE = ["integer", "string"]
"""Models send numbers as text often enough."""

NUMBER = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
DECIMAL = re.compile(r"\s*[+-]?[0-9]{1,19}(\.[0-9]{1,19})?\s*")

YES, NO = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})

SHOWN = 80
"""Characters of a value that a refusal repeats."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: its JSON Schema, its parser, and whether a call must have it."""

    schema: Schema
    parse: Parser
    required: bool


def argument(schema: Schema, parse: Parser, *, required: bool = False) -> Any:
    """Declare an argument with a parser of its own."""
    return Argument(schema, parse, required)


def text(description: str = "", *, required: bool = False, enum: Iterable[str] = (), **more: Any) -> Any:
    """Declare a text. :param enum: the values that hosts are shown; the tool itself refuses others"""
    schema = to_schema("string", description, **({"enum": list(enum)} if enum else {}), **more)
    return argument(schema, parse_text_argument if required else parse_optional_text, required=required)


def choice(names: Iterable[str], default: str | None = None) -> Any:
    """Declare a text that is one of these names."""
    shown = {} if default is None else {"default": default}
    parse = partial(parse_choice, names=tuple(names), default=default)
    return argument(to_schema("string", enum=list(names), **shown), parse)


def texts(description: str) -> Any:
    return argument(to_schema("array", description, items={"type": "string"}), parse_text_list)


def flag(description: str = "", **more: Any) -> Any:
    return argument(to_schema("boolean", description, **more), parse_flag)


def whole_number(description: str, default: int | None = None, *, least: int, most: int) -> Any:
    """Declare an integer, refused below `least` and capped at `most`."""
    shown = {} if default is None else {"default": default}
    parse = partial(parse_integer_argument, default=default, least=least, most=most)
    return argument(to_schema(WHOLE, description, **shown), parse)


def bounded_number(description: str, *, least: int, most: int, unit: str = "") -> Any:
    """Declare an optional integer, refused out of its bounds."""
    return argument(to_schema(WHOLE, description), partial(parse_bounded_number, least=least, most=most, unit=unit))


def to_schema(kind: str | list[str], description: str = "", **more: Any) -> Schema:
    described = {"description": description} if description else {}
    default = {"default": more.pop("default")} if "default" in more else {}
    return {"type": kind, **more, **described, **default}


def parse_arguments(declared: dict[str, Argument], arguments: Arguments) -> dict[str, Any]:
    """Return the values of a call's arguments. :raises ArgumentError: names the first that cannot be meant"""
    return {name: argument.parse(arguments, name) for name, argument in declared.items()}


def check_argument_types(schema: dict[str, Any], arguments: Arguments) -> None:
    """Check the text and boolean arguments of a tool, including those this call would not read.

    :param schema: JSON Schema by name
    :raises ArgumentError: names the argument and the value
    """
    for name, declared in schema.items():
        if arguments.get(name) is None:
            continue
        if declared["type"] == "boolean":
            parse_flag(arguments, name)
        elif declared["type"] == "string":
            parse_text_argument(arguments, name)


def check_argument_names(schema: dict[str, Any], arguments: Arguments) -> None:
    """Check that the tool takes every argument given: a misspelt `dry_run` must not become a real run.

    :raises ArgumentError: names the argument
    """
    names = [*schema, *({"session_id"} - schema.keys())]
    for name in arguments:
        if name not in names:
            raise ArgumentError(
                f"{format_argument_value(name)} is no argument here; choose from {', '.join(names)}", name
            )


def parse_text_argument(arguments: Arguments, name: str) -> str:
    """Return a required text argument. :raises ArgumentError: it is missing or no text"""
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


def parse_text_list(arguments: Arguments, name: str) -> tuple[str, ...]:
    """Return a list of texts, also given as one text with commas; empty when it is omitted.

    :raises ArgumentError: it is none
    """
    value = arguments.get(name)
    if value is None:
        return ()
    if isinstance(value, str) and value.strip():
        return tuple(part.strip() for part in value.split(","))
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise ArgumentError(f"{name} must be a list of texts", format_argument_value(value))
    return tuple(value)


def parse_optional_name(arguments: Arguments, name: str) -> str | None:
    """Return an optional name. :raises ArgumentError: it is nothing but white space"""
    value = parse_optional_text(arguments, name)
    if value is not None and not value.strip():
        raise ArgumentError(
            f"{name} must not be blank, as {format_argument_value(value)} is; leave it out instead", value
        )
    return value


def parse_choice(arguments: Arguments, name: str, names: tuple[str, ...], default: str | None) -> str | None:
    """Return a text argument that is one of some names. :raises ArgumentError: it is none of them"""
    value = (parse_optional_text(arguments, name) or default or "").strip()
    if value and value not in names:
        raise ArgumentError(f"{name} must be one of {', '.join(names)}, not {value[:40]!r}", value)
    return value or default


def parse_integer_argument(
    arguments: Arguments, name: str, default: Default, *, least: int, most: int
) -> int | Default:
    """Return an integer argument, also given as text. Below `least` it is refused; above `most` it is capped."""
    value = arguments.get(name)
    if value is None:
        return default
    number = parse_whole_number(name, value)
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, not {format_argument_value(number)}", number)
    return min(number, most)


def parse_bounded_number(arguments: Arguments, name: str, *, least: int, most: int, unit: str) -> int | None:
    """Return an optional integer. :raises ArgumentError: it is out of its bounds"""
    if arguments.get(name) is None:
        return None
    number = parse_whole_number(name, arguments[name])
    if not least <= number <= most:
        raise ArgumentError(f"{name} must be from {least} to {most}{unit}, not {format_argument_value(number)}", number)
    return number


def parse_whole_number(name: str, value: Any) -> int:
    """Return a value as an integer. :raises ArgumentError: it is none"""
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
    """Return a percentage argument, also given as text. :raises ArgumentError: it is none"""
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
    """Return a boolean argument, also given as text. :raises ArgumentError: it is neither true nor false, or blank"""
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
    shown = repr(value[: SHOWN + 1] if isinstance(value, str) else value)
    return shown if len(shown) <= SHOWN else shown[:SHOWN] + "…"
