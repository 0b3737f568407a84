"""MCP handlers for resources, prompts and completions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import mcp.types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError

from hermes_memory_bridge.runtime.call_origin import read_for_caller
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.surface import completions, prompts, resources
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import UnknownResource
from hermes_memory_store.errors import InputError, StoreError
from hermes_memory_store.model import Origin
from hermes_memory_store.store import Store

Context = ServerRequestContext[Any, Any]
T = TypeVar("T")

NO_RESOURCE = -32602
"""What the protocol answers for a resource that is not there, since 2026-07-28 and by us before."""


def to_resource_handlers(worker: StoreWorker, find_connection: Callable[[Context], Connection]) -> dict[str, Any]:
    """Return the handlers of `Server` for everything that can be read."""

    async def read_for_connection(context: Context, job: Callable[[Connection], T]) -> T:
        connection = find_connection(context)
        if not connection.rights.read:
            raise MCPError(code=types.INVALID_REQUEST, message="this token may not read")

        def run(store: Store, origin: Origin) -> T:
            return job(connection.with_store(store, origin=origin))

        try:
            return await read_for_caller(worker, connection, None, run)
        except (UnknownResource, InputError) as error:
            data = {"uri": error.value} if isinstance(error, UnknownResource) else {"code": error.code}
            raise MCPError(code=NO_RESOURCE, message=error.message, data=data) from error
        except StoreError as error:
            raise MCPError(code=types.INTERNAL_ERROR, message=error.message, data={"code": error.code}) from error

    async def list_resources(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = params.cursor if params else None
        page, following = await read_for_connection(
            context, lambda connection: resources.list_resources(connection, cursor)
        )
        listed = [
            types.Resource(
                uri=resource.uri,
                name=resource.name,
                title=resource.title,
                description=resource.description,
                mime_type=resources.KIND,
            )
            for resource in page
        ]
        return types.ListResourcesResult(resources=listed, next_cursor=following)

    async def list_templates(context: Context, _: Any) -> types.ListResourceTemplatesResult:
        rights = find_connection(context).rights
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=template.uri,
                    name=template.name,
                    title=template.title,
                    description=template.description,
                    mime_type=resources.KIND,
                )
                for template in resources.TEMPLATES
                if rights.grants_any_tool(template.tools)
            ]
        )

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = await read_for_connection(context, lambda connection: resources.read_resource(connection, uri))
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type=resources.KIND, text=text)]
        )

    async def list_prompts(context: Context, _: Any) -> types.ListPromptsResult:
        rights = find_connection(context).rights
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=prompt.name,
                    title=prompt.title,
                    description=prompt.description,
                    arguments=[
                        types.PromptArgument(name=name, description=meaning, required=prompt.requires_arguments)
                        for name, meaning in prompt.arguments.items()
                    ],
                )
                for prompt in prompts.PROMPTS.values()
                if rights.grants_any_tool(prompt.tools)
            ]
        )

    async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        arguments: dict[str, Any] = dict(params.arguments or {})
        text = await read_for_connection(
            context, lambda connection: prompts.render_prompt(connection, params.name, arguments)
        )
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=prompts.PROMPTS[params.name].description, messages=[message])

    async def complete(context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        argument = params.argument
        values = await read_for_connection(
            context, lambda connection: completions.complete_argument(connection, argument.name, argument.value)
        )
        return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))

    return {
        "on_list_resources": list_resources,
        "on_list_resource_templates": list_templates,
        "on_read_resource": read_resource,
        "on_list_prompts": list_prompts,
        "on_get_prompt": get_prompt,
        "on_completion": complete,
    }
