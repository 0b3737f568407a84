"""The definition of a tool, independent of MCP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from hermes_memory_bridge.toolkit.arguments import Arguments
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult, to_refusal_result
from hermes_memory_store.errors import StoreError

Schema = dict[str, Any]

WHOLE = ["integer", "string"]
"""Models send numbers as text often enough."""

GAUGE: Schema = {"type": "object", "description": "used, budget (characters), pct, level"}

FACTS: Schema = {"type": "array", "items": {"type": "object"}}
REASONS: Schema = {"type": "object"}
"""By uid: what raised or lowered an item, and by how much."""


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

    @property
    def right(self) -> str:
        """Return the right that a token needs for it: `read`, `write`, `purge` or `secrets`."""
        return self.needs or ("read" if self.reads_only else "purge" if self.destroys else "write")

    @property
    def input_schema(self) -> Schema:
        return {"type": "object", "properties": self.arguments, "required": list(self.required)}

    @property
    def output_schema(self) -> Schema:
        return {"type": "object", "properties": {**self.gives, "error": {"type": "object"}}}
