"""A bridge with the fixtures that the MCP conformance suite asks for, for tests alone.

    python -m tests.bridge.conformance.server PORT DB http|line

It is the daemon as it runs everywhere, with its gate, its tokens and its dispatch; the fixtures are tools of it. The suite
can send no token and speaks HTTP alone, so it comes through a door of `doors.py`.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import mcp.types as types
import uvicorn
from mcp.server.lowlevel import NotificationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from hermes_memory_bridge.daemon.daemon import Daemon, DaemonSettings, open_loopback_socket
from hermes_memory_bridge.protocol.notices import ChangeNotices
from hermes_memory_bridge.toolkit.arguments import Arguments
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ConsentRequired, ToolResult
from hermes_memory_bridge.toolkit.tool_spec import ToolSpec
from hermes_memory_bridge.tools import TOOLS
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import Rights
from hermes_memory_store.store import Store
from tests.bridge.conformance import rounds
from tests.bridge.conformance.doors import LineDoor, TokenDoor

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


FIXTURE = "io.hermes-memory/fixture"
"""Argument by which a fixture's tool knows that the SDK, and so the fixture itself, has the call."""


def answer_in_text(connection: Connection, arguments: Arguments) -> ToolResult:
    """The fixture that is nothing but a text."""
    return ToolResult("This is a simple text response for testing.")


def answer_with_error(connection: Connection, arguments: Arguments) -> ToolResult:
    """The fixture that is refused."""
    raise ArgumentError("This tool intentionally returns an error for testing", None)


def admit_fixture(connection: Connection, arguments: Arguments) -> ToolResult:
    """Let a fixture answer that a text cannot: the fast path of the line socket leaves it to the SDK."""
    if FIXTURE not in arguments:
        raise ConsentRequired("only the SDK answers with more than a text")
    return ToolResult("the fixture answers")


IN_TEXT = {"test_simple_text": answer_in_text, "test_error_handling": answer_with_error}
"""Fixtures that our own dispatch answers from first to last."""


def to_fixture_spec(tool: types.Tool) -> ToolSpec:
    """A fixture as a tool of ours: found, permitted, run, counted and logged like any other."""
    return ToolSpec(
        name=tool.name,
        title=tool.name,
        description=tool.description or "",
        arguments=tool.input_schema.get("properties", {}),
        required=tuple(tool.input_schema.get("required", ())),
        gives={},
        handler=IN_TEXT.get(tool.name, admit_fixture),
        reads_only=True,
    )


def merge(server: Any, notices: ChangeNotices) -> None:
    """Let the fixtures answer for what is theirs; tools only after our own dispatch has let them."""
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

    ours = server.get_request_handler("tools/call").handler

    async def call(ctx: Any, params: Any) -> Any:
        if not params.name.startswith("test_") or params.name in IN_TEXT:
            return await ours(ctx, params)
        marked = {**(params.arguments or {}), FIXTURE: True}
        admitted = await ours(ctx, params.model_copy(update={"arguments": marked}))
        if admitted.is_error:
            return admitted
        if params.name in rounds.TOOLS or params.name in rounds.CHANGES:
            return await rounds.call(ctx, params, notices)
        return await theirs.get_request_handler("tools/call").handler(ctx, params)

    async def modern_prompt(ctx: Any, params: Any) -> Any:
        return rounds.prompt(params) if params.name == rounds.PROMPT else await earlier_prompt(ctx, params)

    async def set_level(_: Any, __: Any) -> types.EmptyResult:
        return types.EmptyResult()

    joined("resources/read", types.ReadResourceRequestParams, lambda params: str(params.uri).startswith("test://"))
    joined("prompts/get", types.GetPromptRequestParams, lambda params: params.name.startswith("test_"))
    listed("resources/list", "resources")
    listed("resources/templates/list", "resource_templates")
    listed("prompts/list", "prompts")
    earlier_prompt = server.get_request_handler("prompts/get").handler
    server.add_request_handler("tools/call", types.CallToolRequestParams, call)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, modern_prompt)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)


async def run_servers(port: int, db: Path, door: str) -> None:
    """Serve until killed: the bridge as it is, and the suite's door to it on the port."""
    for tool in [*(await fixtures.list_tools()), *rounds.described()]:
        TOOLS[tool.name] = to_fixture_spec(tool)
    paths = BridgePaths.of(db)
    paths.make_folder()
    with Store.open(db, create=True) as store:
        _, token = store.credentials.add("suite", "default", Rights(purge=False))
    with closing(open_loopback_socket(0)) as probe:
        inner = probe.getsockname()[1]
    bridge = Daemon(paths, DaemonSettings(tcp=inner))
    running = asyncio.create_task(bridge.run())
    while not hasattr(bridge, "mcp"):  # made once the SDK is loaded, behind the sockets
        await asyncio.sleep(0.01)
    merge(bridge.mcp.server, bridge.mcp.notices)
    bridge.mcp.options = bridge.mcp.server.create_initialization_options(NotificationOptions(resources_changed=True))
    app = TokenDoor(f"http://127.0.0.1:{inner}", token) if door == "http" else LineDoor(paths.line, token)
    config = uvicorn.Config(app, port=port, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
    serving = asyncio.create_task(uvicorn.Server(config).serve())
    await running
    await serving


if __name__ == "__main__":
    asyncio.run(run_servers(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
