"""The bridge over HTTP with the fixtures that the MCP conformance suite asks for, for tests alone.

    python -m tests.bridge.conformance.server PORT DB

The suite can send no token, so the gate lets everybody in here; Host and Origin are checked as ever.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from pathlib import Path
from typing import Any

import mcp.types as types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from hermes_memory_bridge.access.gate import ClientLimits, Gate
from hermes_memory_bridge.access.http_sessions import HttpSessions
from hermes_memory_bridge.access.peer_connections import PeerConnections
from hermes_memory_bridge.access.request_identity import Identity
from hermes_memory_bridge.protocol import sdk_internals
from hermes_memory_bridge.protocol.descriptors import DescriptorShares
from hermes_memory_bridge.protocol.http_server import (
    HttpFront,
    build_http_app,
    build_http_server,
    open_loopback_socket,
)
from hermes_memory_bridge.protocol.mcp_server import build_mcp_server
from hermes_memory_bridge.protocol.notices import ChangeNotices
from hermes_memory_bridge.runtime.connection_registry import ConnectionRegistry
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.connection import LeaseTimes
from tests.bridge.conformance import rounds

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

fixtures = MCPServer("fixtures", log_level="ERROR")


def embedded(uri: str, text: str, kind: str = "text/plain") -> types.EmbeddedResource:
    """A resource inside an answer."""
    inner = types.TextResourceContents(uri=uri, mime_type=kind, text=text)
    return types.EmbeddedResource(type="resource", resource=inner)


@fixtures.tool(description="A fixture of the conformance suite.")
def test_simple_text() -> str:
    return "This is a simple text response for testing."


@fixtures.tool(description="A fixture of the conformance suite.")
def test_image_content() -> list[types.ImageContent]:
    return [types.ImageContent(type="image", data=PIXEL, mime_type="image/png")]


@fixtures.tool(description="A fixture of the conformance suite.")
def test_audio_content() -> list[types.AudioContent]:
    return [types.AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")]


@fixtures.tool(description="A fixture of the conformance suite.")
def test_embedded_resource() -> list[types.EmbeddedResource]:
    return [embedded("test://embedded-resource", "This is an embedded resource content.")]


@fixtures.tool(description="A fixture of the conformance suite.")
def test_multiple_content_types() -> list[types.TextContent | types.ImageContent | types.EmbeddedResource]:
    return [
        types.TextContent(type="text", text="Multiple content types test:"),
        types.ImageContent(type="image", data=PIXEL, mime_type="image/png"),
        embedded("test://mixed-content-resource", '{"test": "data", "value": 123}', "application/json"),
    ]


@fixtures.tool(description="A fixture of the conformance suite.")
async def test_tool_with_logging(ctx: Context[Any]) -> str:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", said, related_request_id=ctx.request_id)
    return "logged"


@fixtures.tool(description="A fixture of the conformance suite.")
async def test_tool_with_progress(ctx: Context[Any]) -> str:
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100, f"step {done}")
    return "done"


@fixtures.tool(description="A fixture of the conformance suite.")
def test_error_handling() -> str:
    raise ToolError("This tool intentionally returns an error for testing")


@fixtures.tool(description="A fixture of the conformance suite.")
async def test_sampling(prompt: str, ctx: Context[Any]) -> str:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
    said = await ctx.session.create_message(messages=[message], max_tokens=100, related_request_id=ctx.request_id)
    return f"LLM response: {getattr(said.content, 'text', '')}"


class Response(BaseModel):
    response: str = Field(description="User's response")


class Defaults(BaseModel):
    name: str = Field(default="John Doe")
    age: int = Field(default=30)
    score: float = Field(default=95.5)
    status: str = Field(default="active", json_schema_extra={"enum": ["active", "inactive", "pending"]})
    verified: bool = Field(default=True)


class Choices(BaseModel):
    untitledSingle: str = Field(json_schema_extra={"enum": ["active", "inactive", "pending"]})
    titledSingle: str = Field(
        json_schema_extra={"oneOf": [{"const": "low", "title": "Low"}, {"const": "high", "title": "High"}]}
    )
    untitledMulti: list[str] = Field(
        json_schema_extra={"items": {"type": "string", "enum": ["read", "write", "execute"]}}
    )
    titledMulti: list[str] = Field(json_schema_extra={"items": {"anyOf": [{"const": "bug", "title": "Bug"}]}})
    legacyEnum: str = Field(json_schema_extra={"enum": ["small", "large"], "enumNames": ["Small", "Large"]})


@fixtures.tool(description="A fixture of the conformance suite.")
async def test_elicitation(message: str, ctx: Context[Any]) -> str:
    return f"User response: {(await ctx.elicit(message=message, schema=Response)).action}"


@fixtures.tool(description="A fixture of the conformance suite.")
async def test_elicitation_sep1034_defaults(ctx: Context[Any]) -> str:
    return f"Elicitation: {(await ctx.elicit(message='Please provide information', schema=Defaults)).action}"


@fixtures.tool(description="A fixture of the conformance suite.")
async def test_elicitation_sep1330_enums(ctx: Context[Any]) -> str:
    return f"Elicitation: {(await ctx.elicit(message='Please select', schema=Choices)).action}"


@fixtures.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    return "This is the content of the static text resource."


@fixtures.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    import base64

    return base64.b64decode(PIXEL)


@fixtures.resource("test://template/{id}/data", mime_type="application/json")
def template_data(id: str) -> str:
    return f'{{"id": "{id}", "templateTest": true, "data": "Data for ID: {id}"}}'


@fixtures.prompt(description="A fixture of the conformance suite.")
def test_simple_prompt() -> str:
    return "This is a simple prompt for testing."


@fixtures.prompt(description="A fixture of the conformance suite.")
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@fixtures.prompt(description="A fixture of the conformance suite.")
def test_prompt_with_embedded_resource(resourceUri: str) -> list[Any]:
    from mcp.server.mcpserver.prompts.base import UserMessage

    return [
        UserMessage(embedded(resourceUri, "Embedded resource content for testing.")),
        UserMessage("Please process it."),
    ]


@fixtures.prompt(description="A fixture of the conformance suite.")
def test_prompt_with_image() -> list[Any]:
    from mcp.server.mcpserver.prompts.base import UserMessage

    return [
        UserMessage(types.ImageContent(type="image", data=PIXEL, mime_type="image/png")),
        UserMessage("Analyze it."),
    ]


class OpenGate(Gate):
    """Lets everybody in."""

    async def _identified(self, scope: Any, headers: Any, peer: str) -> Identity:
        return Identity("default")


def merge(server: Any, notices: ChangeNotices) -> None:
    """Let the fixtures answer for what is theirs."""
    theirs = fixtures._lowlevel_server

    def joined(method: str, params_type: Any, is_theirs: Any) -> None:
        ours = server.get_request_handler(method).handler
        other = theirs.get_request_handler(method).handler

        async def handler(ctx: Any, params: Any) -> Any:
            return await (other if is_theirs(params) else ours)(ctx, params)

        server.add_request_handler(method, params_type, handler)

    def listed(method: str, field: str) -> None:
        ours = server.get_request_handler(method).handler
        other = theirs.get_request_handler(method).handler

        async def handler(ctx: Any, params: Any) -> Any:
            mine, more = await ours(ctx, params), await other(ctx, params)
            return mine.model_copy(update={field: [*getattr(mine, field), *getattr(more, field)]})

        server.add_request_handler(method, types.PaginatedRequestParams, handler)

    async def modern_call(ctx: Any, params: Any) -> Any:
        if params.name in rounds.TOOLS or params.name in rounds.CHANGES:
            return await rounds.call(ctx, params, notices)
        return await earlier_call(ctx, params)

    async def modern_list(ctx: Any, params: Any) -> Any:
        listed = await earlier_list(ctx, params)
        return listed.model_copy(update={"tools": [*listed.tools, *rounds.described()]})

    async def modern_prompt(ctx: Any, params: Any) -> Any:
        return rounds.prompt(params) if params.name == rounds.PROMPT else await earlier_prompt(ctx, params)

    async def set_level(_: Any, __: Any) -> types.EmptyResult:
        return types.EmptyResult()

    joined("tools/call", types.CallToolRequestParams, lambda params: params.name.startswith("test_"))
    joined("resources/read", types.ReadResourceRequestParams, lambda params: str(params.uri).startswith("test://"))
    joined("prompts/get", types.GetPromptRequestParams, lambda params: params.name.startswith("test_"))
    listed("tools/list", "tools")
    listed("resources/list", "resources")
    listed("resources/templates/list", "resource_templates")
    listed("prompts/list", "prompts")
    earlier_call = server.get_request_handler("tools/call").handler
    earlier_list = server.get_request_handler("tools/list").handler
    earlier_prompt = server.get_request_handler("prompts/get").handler
    server.add_request_handler("tools/call", types.CallToolRequestParams, modern_call)
    server.add_request_handler("tools/list", types.PaginatedRequestParams, modern_list)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, modern_prompt)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)


async def main(port: int, db: Path) -> None:
    """Serve until killed."""
    hub = StoreWorker(db)
    agents = ConnectionRegistry(hub, LeaseTimes())
    front = HttpFront(agents)
    notices = ChangeNotices(hub)
    server = build_mcp_server(hub, front.find_request_connection, notices)
    merge(server, notices)
    peers = PeerConnections(DescriptorShares().http)
    sessions = HttpSessions(
        functools.partial(sdk_internals.is_http_session_open, server),
        functools.partial(sdk_internals.end_http_session, server),
    )
    web = build_http_server(
        build_http_app(server, lambda app: OpenGate(app, hub, ClientLimits(), peers, sessions)), peers, ClientLimits()
    )
    await web.serve(sockets=[open_loopback_socket(port)])


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2])))
