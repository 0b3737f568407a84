"""What an agent can do. One module per kind of tool; each offers a `SPEC` or several.

The eight tools of hermes-memory 0.3.0 keep their names, arguments and text answers, so that an agent that knows it needs
to learn nothing.
"""

from __future__ import annotations

from hermes_memory_bridge.tools import export, optimize, purge, reflect, search, status, tick, write
from hermes_memory_bridge.tools.spec import ToolSpec

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
    )
}
