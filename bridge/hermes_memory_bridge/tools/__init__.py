"""The tools an agent can use, and their registry. One file per tool or family; each offers a `SPEC` or several.

The eight tools of hermes-memory 0.3.0 keep their names, arguments and text answers, so that an agent that knows it
has nothing to learn. Knows no MCP. May import recall, toolkit, trust and `embedding.query_vector`. Read
`write_tool.py` first.
"""

from __future__ import annotations

import difflib
from functools import cache

from hermes_memory_bridge.toolkit.tool_spec import ToolSpec
from hermes_memory_bridge.tools import (
    context_tool,
    conversation_tools,
    export_tool,
    fact_tools,
    optimize_tool,
    purge_tool,
    recall_tool,
    reflect_tool,
    reveal_tool,
    search_tool,
    session_tools,
    status_tool,
    tick_tool,
    write_tool,
)
from hermes_memory_store.errors import ArgumentError

TOOLS: dict[str, ToolSpec] = {
    spec.name: spec
    for spec in (
        write_tool.SPEC,
        search_tool.SPEC,
        tick_tool.SPEC,
        status_tool.SPEC,
        reflect_tool.SPEC,
        export_tool.SPEC,
        optimize_tool.SPEC,
        purge_tool.SPEC,
        conversation_tools.CAPTURE,
        recall_tool.SPEC,
        conversation_tools.RECALL,
        context_tool.SPEC,
        fact_tools.EDIT,
        fact_tools.ARCHIVE,
        fact_tools.HISTORY,
        fact_tools.CLOSE_SCOPE,
        reveal_tool.SPEC,
        session_tools.OPEN,
        session_tools.HEARTBEAT,
        session_tools.CLOSE,
    )
}


@cache
def select_tools(selection: str) -> dict[str, ToolSpec]:
    """Return the tools of a selection: `core`, `all`, or names separated by commas.

    :raises ArgumentError: for an unknown tool, with the nearest match
    """
    if selection == "all":
        return TOOLS
    if selection == "core":
        return {name: spec for name, spec in TOOLS.items() if spec.group == "core"}
    names = [name.strip() for name in selection.split(",") if name.strip()]
    for name in names:
        if name not in TOOLS:
            near = difflib.get_close_matches(name, TOOLS, n=1)
            meant = f", did you mean {near[0]}?" if near else f"; choose from core, all, {', '.join(TOOLS)}"
            raise ArgumentError(f"{name[:60]!r} is no tool{meant}", name)
    return {name: TOOLS[name] for name in names}
