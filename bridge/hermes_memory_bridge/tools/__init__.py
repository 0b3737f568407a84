"""The tools an agent can use, one file a subject. A function that `tool` decorates in a module of this folder is one.

The eight tools of hermes-memory 0.3.0 keep their names, arguments and text answers, so that an agent that knows it
has nothing to learn. Knows no MCP. May import recall, toolkit, trust and `embedding.query_vector`. Read
`write_tool.py` first.
"""

from __future__ import annotations

import difflib
import pkgutil
from functools import cache
from importlib import import_module

from hermes_memory_bridge.toolkit.tool_spec import ToolSpec
from hermes_memory_bridge.wire.messages import ESSENTIAL
from hermes_memory_store.errors import ArgumentError


def load_tools() -> dict[str, ToolSpec]:
    """Return the tools of every module in this folder, in the order in which hosts show them."""
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    specs = [spec for module in modules for spec in vars(module).values() if isinstance(spec, ToolSpec)]
    return {spec.name: spec for spec in sorted(specs, key=lambda spec: (spec.place, spec.name))}


TOOLS = load_tools()


@cache
def select_tools(selection: str) -> dict[str, ToolSpec]:
    """Return the tools of a selection: `essential`, `core`, `all`, or names separated by commas.

    :raises ArgumentError: for an unknown tool, with the nearest match
    """
    if selection == "all":
        return TOOLS
    if selection == "core":
        return {name: spec for name, spec in TOOLS.items() if spec.group == "core"}
    if selection == ESSENTIAL:
        return {name: spec for name, spec in TOOLS.items() if spec.brief}
    names = [name.strip() for name in selection.split(",") if name.strip()]
    for name in names:
        if name not in TOOLS:
            near = difflib.get_close_matches(name, TOOLS, n=1)
            meant = (
                f", did you mean {near[0]}?" if near else f"; choose from {ESSENTIAL}, core, all, {', '.join(TOOLS)}"
            )
            raise ArgumentError(f"{name[:60]!r} is no tool{meant}", name)
    return {name: TOOLS[name] for name in names}
