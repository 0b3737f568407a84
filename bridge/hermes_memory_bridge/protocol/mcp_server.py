"""The tools, resources and prompts as an MCP server, for all protocol eras and transports at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import mcp.types as types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from hermes_memory_bridge.protocol import elicitation
from hermes_memory_bridge.protocol.error_flags import is_marked_as_error, to_client_text
from hermes_memory_bridge.protocol.given_instructions import to_instructions_middleware
from hermes_memory_bridge.protocol.notices import ChangeNotices
from hermes_memory_bridge.protocol.resource_handlers import to_resource_handlers
from hermes_memory_bridge.runtime.call_dispatch import dispatch_call, introduce_client
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.runtime.tool_access import find_offered_tools, to_unknown_tool_result
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ConsentRequired, ToolResult
from hermes_memory_bridge.toolkit.tool_spec import ToolSpec
from hermes_memory_bridge.version import __version__
from hermes_memory_bridge.wire.instructions import WORDS
from hermes_memory_bridge.wire.messages import ESSENTIAL

WHOLE_LISTS = ("tools/list", "prompts/list", "resources/templates/list")

Context = ServerRequestContext[Any, Any]
ConnectionFinder = Callable[[Context], Connection]


def build_mcp_server(worker: StoreWorker, find_connection: ConnectionFinder, notices: ChangeNotices) -> Server[Any]:
    """Build an MCP server for one store. :param whose: finds the connection that a request belongs to"""

    async def list_tools(context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        connection = find_connection(context)
        describe = to_brief_mcp_tool if connection.tools == ESSENTIAL else to_mcp_tool
        return types.ListToolsResult(tools=[describe(spec) for spec in find_offered_tools(connection).values()])

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        connection = find_connection(context)
        if connection.client is None:
            introduce_client(connection, find_client_info(context))
        spec = find_offered_tools(connection).get(params.name)
        if spec is None:
            return to_call_tool_result(to_unknown_tool_result(params.name), connection)
        arguments = params.arguments or {}
        try:
            return to_call_tool_result(
                await dispatch_call(worker, connection, spec, arguments, context.meta), connection
            )
        except ConsentRequired as needed:
            consent = await elicitation.request_consent(context, params, needed.message)
        if isinstance(consent, types.InputRequiredResult):
            return consent
        if isinstance(consent, ToolResult):
            return to_call_tool_result(consent, connection)
        return to_call_tool_result(
            await dispatch_call(worker, connection, spec, {**arguments, "confirm": True}, context.meta), connection
        )

    server: Server[Any] = Server(
        "hermes-memory",
        title="Hermes memory",
        version=__version__,
        instructions=WORDS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        **to_resource_handlers(worker, find_connection),
        **notices.handlers(find_connection),
    )
    server.middleware.append(to_activity_middleware(find_connection, notices))
    server.middleware.append(to_instructions_middleware(worker, find_connection))
    return server


def to_activity_middleware(find_connection: ConnectionFinder, notices: ChangeNotices) -> Any:
    """Return middleware that counts every request as activity; a client that keeps listening is active meanwhile."""

    async def note_activity(context: Context, call_next: Any) -> Any:
        cursor = context.params.get("cursor") if isinstance(context.params, dict) else None
        if context.method in WHOLE_LISTS and cursor is not None:
            message = f"{str(cursor)[:60]!r} is no cursor of {context.method}, which is one page: ask without a cursor"
            raise MCPError(code=types.INVALID_PARAMS, message=message)
        if context.method == "resources/list" and context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            notices.subscriber(find_connection(context), context)  # who has seen the list is told when it changes
        if context.method not in ("ping", "subscriptions/listen"):
            return await call_next(context)
        connection = find_connection(context)
        connection.last_activity = time.monotonic()
        connection.streams += 1
        try:
            return await call_next(context)
        finally:
            connection.streams -= 1

    return note_activity


def to_call_tool_result(answer: ToolResult, connection: Connection) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=to_client_text(answer, connection))],
        structured_content=answer.data,
        is_error=is_marked_as_error(answer, connection),
    )


def to_mcp_tool(spec: ToolSpec) -> types.Tool:
    return types.Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input_schema=spec.input_schema,
        output_schema=spec.output_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=spec.reads_only,
            destructive_hint=spec.destroys or spec.overwrites,
            idempotent_hint=spec.repeatable,
            open_world_hint=False,
        ),
    )


def to_brief_mcp_tool(spec: ToolSpec) -> types.Tool:
    """Return a tool without what no model is shown: its title, the form of its answers, and the hints that are the usual ones."""
    hints = types.ToolAnnotations(read_only_hint=True)
    if spec.destroys or spec.overwrites:
        hints = types.ToolAnnotations(destructive_hint=True)
    elif not spec.reads_only:
        hints = types.ToolAnnotations(destructive_hint=False, open_world_hint=False)
    return types.Tool(
        name=spec.name,
        description=spec.brief,
        input_schema=spec.brief_input_schema,
        annotations=hints,
    )


def find_client_info(context: Context) -> dict[str, Any] | None:
    params = context.session.client_params
    return params.client_info.model_dump() if params is not None else None
