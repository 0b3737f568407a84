"""The definition of a tool, independent of MCP.

A function decorated by `tool` in a module of the package `tools` is all there is to a tool: hosts are shown it, its rights are
checked on the way of every call, and a client calls it by its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal

from hermes_memory_bridge.toolkit.arguments import Argument, Arguments, Schema, parse_arguments
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult, to_refusal_result
from hermes_memory_store.errors import StoreError

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer"}
YES: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
TEXTS: Schema = {"type": "array", "items": TEXT}
OBJECTS: Schema = {"type": "array", "items": OBJECT}
GAUGE: Schema = {"type": "object", "description": "used, budget (characters), pct, level"}


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool: its name, arguments and results, the rights it needs, and the function that implements it."""

    name: str
    title: str
    description: str
    arguments: Schema
    required: tuple[str, ...]
    gives: Schema
    """Properties of its structured answer; a refusal gives `error` instead."""
    handler: Callable[[Connection, Arguments], ToolResult]
    reads_only: bool = False
    destroys: bool = False
    overwrites: bool = False
    """Changes or hides what stood before, so that hosts are told it is destructive; it needs no right but `write`."""
    hides: bool = False
    """Takes out of sight what stood before, so that hosts go on asking for it."""
    repeatable: bool = False
    """Calling it twice with the same arguments changes nothing more."""
    refuses: Callable[[StoreError], ToolResult] = to_refusal_result
    """Builds the answer for a refused call."""
    alone: bool = False
    """Runs in transactions of its own, never grouped with other writes: it also changes files."""
    own_session: bool = True
    """Whether a session is opened for its calls; the session tools open their own."""
    group: str = "core"
    """`core`: shown unless a host asks for less; `all`: only when it asks for more."""

    brief: str = ""
    """Its description in the selection `essential`, which stands in each request of a host with hooks of ours; a tool without
    one is not of that selection."""

    unshown: tuple[str, ...] = ()
    """Arguments that it takes there, too, but does not show."""

    files: tuple[str, ...] = ()
    """The host's files it reads or writes besides the store; no token reaches any."""

    needs: str | None = None
    """The right it needs, if it differs from what `reads_only` and `destroys` imply."""

    query_to_embed: Callable[[Arguments], object] | None = None
    """Returns the question to embed before the tool runs, if any: on this machine, or as it was embedded before."""

    waits_for_endpoint: bool = False
    """Whether an endpoint may be asked for that vector."""

    words_suffice: Callable[[Connection, Arguments], bool] | None = None
    """Checks whether no vector would add to what the words find."""

    asks_team: Literal["fact", "turn"] | None = None
    """The kind of item to search for in the team database before the tool runs, if this store does not hold it."""

    about: str | None = None
    """The argument that says what a call is about, shown to whoever follows the calls: a question, a scope, a name. None where
    the answer says it (a fact, as it was kept), or where it may be anything."""

    place: int = 100
    """Its place in the list that hosts show; those of one place follow each other by name."""

    @property
    def right(self) -> str:
        """Return the right that a token needs for it: `read`, `write`, `purge` or `secrets`."""
        return self.needs or ("read" if self.reads_only else "purge" if self.destroys else "write")

    @property
    def runs_unasked(self) -> bool:
        """Check whether a host may let it run without a question: it destroys, hides and reveals nothing."""
        return not (self.destroys or self.overwrites or self.hides or self.needs)

    @property
    def input_schema(self) -> Schema:
        return {"type": "object", "properties": self.arguments, "required": list(self.required)}

    @property
    def brief_input_schema(self) -> Schema:
        """Return what a model must know of the arguments, in as few bytes as that takes."""
        shown = {name: schema for name, schema in self.arguments.items() if name not in (*self.unshown, "session_id")}
        return {
            "type": "object",
            "properties": {
                name: {key: value for key, value in schema.items() if key != "default"}
                for name, schema in shown.items()
            },
            **({"required": list(self.required)} if self.required else {}),
        }

    @property
    def output_schema(self) -> Schema:
        return {"type": "object", "properties": {**self.gives, "error": {"type": "object"}}}


def tool(*, is_in_session: bool = True, **declared: Any) -> Callable[[Callable[..., ToolResult]], ToolSpec]:
    """Declare a function as the tool of its name, whose arguments are the parameters beside the connection.

    :param is_in_session: whether hosts are shown that a call may name its session
    :param declared: the other attributes of its `ToolSpec`
    """

    def declare(run: Callable[..., ToolResult]) -> ToolSpec:
        parameters = list(signature(run).parameters.values())[1:]
        arguments: dict[str, Argument] = {parameter.name: parameter.default for parameter in parameters}
        schema = {name: argument.schema for name, argument in arguments.items()}
        return ToolSpec(
            name=run.__name__,
            arguments=schema | ({"session_id": TEXT} if is_in_session and declared.get("own_session", True) else {}),
            required=tuple(name for name, argument in arguments.items() if argument.required),
            handler=lambda connection, call: run(connection, **parse_arguments(arguments, call)),
            **declared,
        )

    return declare
