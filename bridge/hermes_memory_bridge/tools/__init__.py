"""What an agent can do. One module per kind of tool; each offers a `SPEC` or several.

The eight tools of hermes-memory 0.3.0 keep their names, arguments and text answers, so that an agent that knows it needs
to learn nothing.
"""

from __future__ import annotations

import difflib
from functools import cache

from hermes_memory_bridge.tools import (
    context,
    export,
    keeping,
    optimize,
    purge,
    recalling,
    reflect,
    reveal,
    search,
    sessions,
    status,
    tick,
    turn,
    write,
)
from hermes_memory_bridge.tools.spec import ToolSpec
from hermes_memory_store.errors import ArgumentError

TOOLS: dict[str, ToolSpec] = {
    spec.name: spec
    for spec in (
        write.SPEC,
        search.SPEC,
        tick.SPEC,
        status.SPEC,
        reflect.SPEC,
        export.SPEC,
        optimize.SPEC,
        purge.SPEC,
        turn.CAPTURE,
        recalling.SPEC,
        turn.RECALL,
        context.SPEC,
        keeping.EDIT,
        keeping.ARCHIVE,
        keeping.HISTORY,
        keeping.CLOSE_SCOPE,
        reveal.SPEC,
        sessions.OPEN,
        sessions.HEARTBEAT,
        sessions.CLOSE,
    )
}


@cache
def chosen(selection: str) -> dict[str, ToolSpec]:
    """The tools that a selection shows: `core`, `all`, or names with commas between.

    :raises ArgumentError: for a name that is no tool, with the nearest that is
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
