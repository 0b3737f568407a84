"""`MemoryClient` and `AsyncMemoryClient`: one client; only the steps that wait are written with and without an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import httpx

from hermes_memory_bridge.client.client_log import ClientTransactionLog
from hermes_memory_bridge.client.client_policies import RetryPolicy, SessionConfig
from hermes_memory_bridge.client.mcp_messages import (
    MODERN,
    RETRY_STATUSES,
    BridgeAddress,
    BridgeUnreachable,
    Reply,
    parse_reply,
    to_request_headers,
    to_tool_request,
)
from hermes_memory_bridge.client.own_bridge import start_own_bridge
from hermes_memory_bridge.client.unix_transports import to_async_unix_transport, to_unix_transport
from hermes_memory_bridge.wire.early_answers import load_shipped_answers
from hermes_memory_bridge.wire.peers import ForeignSocket
from hermes_memory_bridge.wire.silence import ListenerStopped
from hermes_memory_store.errors import StoreError

log = logging.getLogger(__name__)

TIMEOUT_S = 30.0

Result = TypeVar("Result")
ToolReply = TypeVar("ToolReply")
"""What calling a tool returns: a reply, or the coroutine of one."""


class ClientClosed(StoreError):
    """A call on a client that is not open."""

    code = "client.closed"

    def __init__(self) -> None:
        super().__init__("this client is closed, or was never opened; open it, or use it in a `with` statement")


class BaseClient(Generic[ToolReply]):
    """A session with the memory: its settings, its steps, and a method for each tool that programs use most."""

    _http: Any
    """`httpx.Client`, or `httpx.AsyncClient`."""
    _sleep: Callable[[float], Any]

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        session_config: Any = None,
        retry_policy: Any = None,
        transaction_log: str | Path | None = None,
        theme: str | None = None,
        token: str | None = None,
        session_id: str | None = None,
    ) -> None:
        """Configure a client, with the sidecar's arguments.

        :param endpoint: `unix:///path`, `http://…`, or None for this user's own bridge, started when it is not running
        :param session_config: heartbeat_interval_s, heartbeat_timeout_s, on_orphan
        :param retry_policy: max_retries, base_delay_ms, cap_delay_s, jitter_factor
        :param transaction_log: a file that records every write, when sent and when acknowledged
        :param theme: the theme to use; the token's unless given
        :param session_id: a session to resume from its checkpoint
        :raises ArgumentError: names the setting and the value
        """
        self.endpoint = BridgeAddress.parse(endpoint)
        self.session_config = SessionConfig.parse(session_config)
        self.retry_policy = RetryPolicy.parse(retry_policy)
        self.theme = theme
        self.token = token or os.environ.get("HERMES_MEMORY_TOKEN")
        self.session_id: str | None = session_id
        self.checkpoint: dict[str, Any] | None = None
        """Where the resumed session was left."""
        self.log = None if transaction_log is None else ClientTransactionLog(transaction_log)
        self._is_open = False
        self._own = endpoint is None
        self._resume = session_id
        self._number = 0

    def call_tool(self, tool: str, **arguments: Any) -> ToolReply:
        """Call any tool in this session. An argument that is None counts as omitted.

        :raises StoreError: the refusal, by its code; nothing was changed then
        :raises ClientClosed: it is not open
        """
        raise NotImplementedError

    def write(self, content: str, *, scope: str | None = None, split: bool | None = None) -> ToolReply:
        """Write one fact in MEMORY_SPEC notation."""
        return self.call_tool("memory_write", content=content, scope=scope, split=split)

    def search(self, query: str, *, scope: str | None = None, limit: int | None = None) -> ToolReply:
        """Find facts."""
        return self.call_tool("memory_search", query=query, scope=scope, limit=limit)

    def status(self) -> ToolReply:
        """Return the status block that an agent gets when it starts."""
        return self.call_tool("memory_status")

    def tick(self, turn: int, message: str | None = None) -> ToolReply:
        """Count a turn."""
        return self.call_tool("memory_tick", turn=turn, message=message)

    def reflect(self, topic: str, *, limit: int | None = None) -> ToolReply:
        """Return all facts about a topic, by type."""
        return self.call_tool("memory_reflect", topic=topic, limit=limit)

    def export(self, *, scope: str | None = None, status: str | None = None) -> ToolReply:
        """Export facts as notation lines."""
        return self.call_tool("memory_export", scope=scope, status=status)

    def purge(self, *, scope: str | None = None, older_than_days: int | None = None, **wider: bool) -> ToolReply:
        """Purge superseded and archived facts.

        :param wider: everything and confirm, to include active facts
        """
        return self.call_tool("memory_purge", scope=scope, older_than_days=older_than_days, **wider)

    def turn(self, role: str, content: str) -> ToolReply:
        """Capture one message."""
        return self.call_tool("memory_turn", role=role, content=content)

    def recall(
        self, query: str, *, scope: str | None = None, target: str | None = None, limit: int | None = None
    ) -> ToolReply:
        """Find durable facts, including those of other themes if the token allows it."""
        return self.call_tool("recall_memory", query=query, scope=scope, target=target, limit=limit)

    def recall_conversation(self, query: str, *, scope: str | None = None, limit: int | None = None) -> ToolReply:
        """Find captured messages."""
        return self.call_tool("recall_conversation", query=query, scope=scope, limit=limit)

    def context(self, message: str, *, tokens: int | None = None) -> ToolReply:
        """Return facts and past turns relevant to a message, as one fenced text within a token budget.

        Empty when there are none.
        """
        return self.call_tool("memory_context", message=message, tokens=tokens)

    def edit(self, uid: str, content: str) -> ToolReply:
        """Correct a fact in place."""
        return self.call_tool("memory_edit", uid=uid, content=content)

    def history(self, uid: str) -> ToolReply:
        """Return every change of a fact."""
        return self.call_tool("memory_history", uid=uid)

    def close_scope(self, scope: str) -> ToolReply:
        """Close a scope."""
        return self.call_tool("memory_close_scope", scope=scope)

    def _to_http_client(self, socket: str | None) -> Any:
        raise NotImplementedError

    async def _run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Run a function that takes its time."""
        raise NotImplementedError

    async def _finish(self, step: Any) -> Any:
        """Return the result of a step that is done, or of its coroutine."""
        raise NotImplementedError

    def _close_http(self) -> Any:
        raise NotImplementedError

    def _begin_heartbeats(self) -> None:
        raise NotImplementedError

    async def _end_heartbeats(self) -> None:
        raise NotImplementedError

    async def _open(self) -> Self:
        if self._is_open:
            return self
        if self.log is not None:
            self.log.open()
        self._http = self._to_http_client(self.endpoint.socket)
        config = self.session_config
        opening: dict[str, Any] = {"ttl": max(1, round(config.heartbeat_timeout_s)), "on_orphan": config.on_orphan}
        if self._resume:
            opening["resume"] = self._resume
        try:
            with await self._run(start_own_bridge) if self._own else contextlib.nullcontext():
                opened = await self._call("session_open", opening, new_key())
            self.session_id = opened.data["session_id"]
            self.checkpoint = opened.data["checkpoint"]
            for key, tool, arguments in self.log.open_writes() if self.log else []:
                await self._call_with_log(tool, arguments, key)
        except BaseException:
            await self._disconnect()
            raise
        self._is_open = True
        self._begin_heartbeats()
        return self

    async def _close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        await self._end_heartbeats()
        try:
            await self._call("session_close", {"session_id": self.session_id}, key=None)
        finally:
            await self._disconnect()

    async def _disconnect(self) -> None:
        await self._finish(self._close_http())
        if self.log is not None:
            self.log.close()

    async def _call_tool(self, tool: str, arguments: dict[str, Any]) -> Reply:
        if not self._is_open:
            raise ClientClosed
        named = {name: value for name, value in arguments.items() if value is not None}
        key = None if tool in load_reading_tools() else new_key()
        return await self._call_with_log(tool, {**named, "session_id": self.session_id}, key)

    async def _call_with_log(self, tool: str, arguments: dict[str, Any], key: str | None) -> Reply:
        if self.log is None or key is None:
            return await self._call(tool, arguments, key)
        await self._run(self.log.note_request, key, tool, arguments)
        try:
            reply = await self._call(tool, arguments, key)
        except BridgeUnreachable:
            raise
        except StoreError:
            await self._run(self.log.note_outcome, key, "refused")
            raise
        await self._run(self.log.note_outcome, key, "done")
        return reply

    async def _call(self, tool: str, arguments: dict[str, Any], key: str | None) -> Reply:
        self._number += 1
        number = self._number
        request = to_tool_request(number, tool, arguments, key, local=self.endpoint.socket is not None)
        headers = to_request_headers(tool, self.token, self.theme)
        pauses = self.retry_policy.pauses(self.session_id or "", number)
        with contextlib.ExitStack() as connections:
            may_start = self._own
            while True:
                try:
                    response = await self._finish(self._http.post(self.endpoint.url, json=request, headers=headers))
                except (ForeignSocket, ListenerStopped) as error:
                    raise BridgeUnreachable(str(error), self.endpoint.socket) from error
                except httpx.TransportError as error:
                    failure: str = str(error) or type(error).__name__
                    if may_start:  # it was killed or stopped since; what is repeated carries a key, or changes nothing
                        may_start = False
                        connections.enter_context(await self._run(start_own_bridge))
                        continue
                else:
                    if response.status_code not in RETRY_STATUSES:
                        kind = response.headers.get("content-type", "")
                        return parse_reply(number, response.status_code, kind, response.text)
                    failure = f"status {response.status_code}"
                pause_s = next(pauses, None)
                if pause_s is None:
                    where = self.endpoint.socket or self.endpoint.url
                    raise BridgeUnreachable(
                        f"the memory bridge at {where} does not answer ({failure}); is it running?", where
                    )
                await self._finish(self._sleep(pause_s))

    async def _beat(self) -> None:
        try:
            await self._call("session_heartbeat", {"session_id": self.session_id}, key=None)
        except StoreError as error:
            log.warning("a heartbeat failed: %s", error.message)


class MemoryClient(BaseClient[Reply]):
    """A session with the memory. Use it as a context manager: leaving it ends the session.

    with MemoryClient(theme="marketing") as memory:
        memory.write("D[cache]: redis", scope="speed")
    """

    _http: httpx.Client
    _sleep = staticmethod(time.sleep)

    def open(self) -> Self:
        """Connect, open or resume the session, and resend unacknowledged writes. Does nothing when it is open.

        :raises BridgeUnreachable: no bridge answers, or none of this user's own could be started
        """
        return run_without_waiting(self._open())

    def close(self) -> None:
        """Close the session properly, keeping its checkpoint. Does nothing when it is closed.

        :raises BridgeUnreachable: nobody took the farewell; the session ends with its lease then
        """
        run_without_waiting(self._close())

    def call_tool(self, tool: str, **arguments: Any) -> Reply:
        return run_without_waiting(self._call_tool(tool, arguments))

    def _to_http_client(self, socket: str | None) -> httpx.Client:
        return httpx.Client(transport=to_unix_transport(socket) if socket else None, timeout=TIMEOUT_S)

    async def _run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        return function(*arguments)

    async def _finish(self, step: Any) -> Any:
        return step

    def _close_http(self) -> None:
        self._http.close()

    def _begin_heartbeats(self) -> None:
        self._ended = threading.Event()
        self._beating = threading.Thread(target=self._keep_beating, name="memory-heartbeat", daemon=True)
        self._beating.start()

    async def _end_heartbeats(self) -> None:
        self._ended.set()
        self._beating.join()

    def _keep_beating(self) -> None:
        while not self._ended.wait(self.session_config.heartbeat_interval_s):
            run_without_waiting(self._beat())

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncMemoryClient(BaseClient[Coroutine[Any, Any, Reply]]):
    """A session with the memory. Use it as an async context manager: leaving it ends the session.

    async with AsyncMemoryClient(theme="marketing") as memory:
        await memory.write("D[cache]: redis", scope="speed")
    """

    _http: httpx.AsyncClient
    _sleep = staticmethod(asyncio.sleep)

    async def open(self) -> Self:
        """Open the client as `MemoryClient.open` does."""
        return await self._open()

    async def close(self) -> None:
        """Close the client as `MemoryClient.close` does."""
        await self._close()

    async def call_tool(self, tool: str, **arguments: Any) -> Reply:
        return await self._call_tool(tool, arguments)

    def _to_http_client(self, socket: str | None) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=to_async_unix_transport(socket) if socket else None, timeout=TIMEOUT_S)

    async def _run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        return await asyncio.to_thread(function, *arguments)

    async def _finish(self, step: Any) -> Any:
        return await step

    def _close_http(self) -> Any:
        return self._http.aclose()

    def _begin_heartbeats(self) -> None:
        self._beating = asyncio.create_task(self._keep_beating())

    async def _end_heartbeats(self) -> None:
        self._beating.cancel()
        await asyncio.gather(self._beating, return_exceptions=True)

    async def _keep_beating(self) -> None:
        while True:
            await asyncio.sleep(self.session_config.heartbeat_interval_s)
            await self._beat()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def run_without_waiting(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that hands over to no event loop, and return its result."""
    try:
        work.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    raise RuntimeError("the client waited for an event loop")


def new_key() -> str:
    """Return an idempotency key: a call that carries one is never done twice."""
    return os.urandom(16).hex()


@cache
def load_reading_tools() -> frozenset[str]:
    """Return the names of tools that change nothing, of which a repeated call needs no key."""
    answer = load_shipped_answers(MODERN, "all").get("tools/list", '{"tools":[]}')
    return frozenset(tool["name"] for tool in json.loads(answer)["tools"] if tool["annotations"]["readOnlyHint"])
