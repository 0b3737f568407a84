"""`AsyncMemoryClient`, for code that runs in an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from types import TracebackType
from typing import Any, Self

import httpx

from hermes_memory_bridge.client.client_base import ClientBase, drop_missing_arguments
from hermes_memory_bridge.client.mcp_messages import (
    RETRY_STATUSES,
    BridgeUnreachable,
    Reply,
    parse_reply,
    to_request_headers,
    to_tool_request,
)
from hermes_memory_bridge.client.own_bridge import start_own_bridge
from hermes_memory_bridge.client.unix_transports import to_async_unix_transport
from hermes_memory_bridge.wire.peers import ForeignSocket
from hermes_memory_bridge.wire.silence import ListenerStopped
from hermes_memory_store.errors import StoreError

log = logging.getLogger(__name__)

TIMEOUT_S = 30.0


class AsyncMemoryClient(ClientBase):
    """A session with the memory. Use it as an async context manager: leaving it ends the session.

    async with AsyncMemoryClient(theme="marketing") as memory:
        await memory.write("D[cache]: redis", scope="speed")
    """

    _http: httpx.AsyncClient
    _beating: asyncio.Task[None] | None = None

    async def open(self) -> Self:
        """Connect, open or resume the session, and resend unacknowledged writes. Does nothing when it is open.

        :raises BridgeUnreachable: no bridge answers, or none of this user's own could be started
        """
        if self._is_open:
            return self
        if self.log is not None:
            self.log.open()
        socket = self.endpoint.socket
        transport = to_async_unix_transport(socket) if socket else None
        self._http = httpx.AsyncClient(transport=transport, timeout=TIMEOUT_S)
        try:
            with await asyncio.to_thread(start_own_bridge) if self._own else contextlib.nullcontext():
                opened = await self._call("session_open", self._to_open_arguments(), self._key("session_open"))
            self.session_id = opened.data["session_id"]
            self.checkpoint = opened.data["checkpoint"]
            for key, tool, arguments in self.log.open_writes() if self.log else []:
                await self._call_with_log(tool, arguments, key)
        except BaseException:
            await self._http.aclose()
            if self.log is not None:
                self.log.close()
            raise
        self._is_open = True
        self._beating = asyncio.create_task(self._beat())
        return self

    async def close(self) -> None:
        """Close the session properly, keeping its checkpoint. Does nothing when it is closed.

        :raises BridgeUnreachable: nobody took the farewell; the session ends with its lease then
        """
        if not self._is_open:
            return
        self._is_open = False
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        try:
            await self._call("session_close", {"session_id": self.session_id}, key=None)
        finally:
            await self._http.aclose()
            if self.log is not None:
                self.log.close()

    async def call_tool(self, tool: str, **arguments: Any) -> Reply:
        """Call any tool in this session.

        :raises StoreError: the refusal, by its code
        :raises ClientClosed: it is not open
        """
        self._check_open()
        return await self._call_with_log(tool, {**arguments, "session_id": self.session_id}, self._key(tool))

    async def write(self, content: str, *, scope: str | None = None, split: bool | None = None) -> Reply:
        """Write one fact in MEMORY_SPEC notation.

        :raises StoreError: by its code; nothing was stored then
        """
        return await self.call_tool("memory_write", **drop_missing_arguments(content=content, scope=scope, split=split))

    async def search(self, query: str, *, scope: str | None = None, limit: int | None = None) -> Reply:
        """Find facts."""
        return await self.call_tool("memory_search", **drop_missing_arguments(query=query, scope=scope, limit=limit))

    async def status(self) -> Reply:
        """Return the status block that an agent gets when it starts."""
        return await self.call_tool("memory_status")

    async def tick(self, turn: int, message: str | None = None) -> Reply:
        """Count a turn."""
        return await self.call_tool("memory_tick", **drop_missing_arguments(turn=turn, message=message))

    async def reflect(self, topic: str, *, limit: int | None = None) -> Reply:
        """Return everything known about a topic, by type."""
        return await self.call_tool("memory_reflect", **drop_missing_arguments(topic=topic, limit=limit))

    async def export(self, *, scope: str | None = None, status: str | None = None) -> Reply:
        """Export facts as notation lines."""
        return await self.call_tool("memory_export", **drop_missing_arguments(scope=scope, status=status))

    async def purge(self, *, scope: str | None = None, older_than_days: int | None = None, **wider: bool) -> Reply:
        """Purge superseded and archived facts.

        :param wider: everything and confirm, to include active facts
        """
        return await self.call_tool(
            "memory_purge",
            **drop_missing_arguments(scope=scope, older_than_days=older_than_days, **wider),
        )

    async def turn(self, role: str, content: str) -> Reply:
        """Capture one message."""
        return await self.call_tool("memory_turn", **drop_missing_arguments(role=role, content=content))

    async def recall(
        self, query: str, *, scope: str | None = None, target: str | None = None, limit: int | None = None
    ) -> Reply:
        """Find durable facts, including those of other themes if the token allows it."""
        return await self.call_tool(
            "recall_memory", **drop_missing_arguments(query=query, scope=scope, target=target, limit=limit)
        )

    async def recall_conversation(self, query: str, *, scope: str | None = None, limit: int | None = None) -> Reply:
        """Find captured messages."""
        return await self.call_tool(
            "recall_conversation", **drop_missing_arguments(query=query, scope=scope, limit=limit)
        )

    async def context(self, message: str, *, tokens: int | None = None) -> Reply:
        """Return facts and past turns relevant to a message, as one fenced text within a token budget.

        Empty when there are none.
        """
        return await self.call_tool("memory_context", **drop_missing_arguments(message=message, tokens=tokens))

    async def edit(self, uid: str, content: str) -> Reply:
        """Correct a fact in place."""
        return await self.call_tool("memory_edit", **drop_missing_arguments(uid=uid, content=content))

    async def history(self, uid: str) -> Reply:
        """Return every change of a fact."""
        return await self.call_tool("memory_history", **drop_missing_arguments(uid=uid))

    async def close_scope(self, scope: str) -> Reply:
        """Close a scope."""
        return await self.call_tool("memory_close_scope", **drop_missing_arguments(scope=scope))

    async def _call_with_log(self, tool: str, arguments: dict[str, Any], key: str | None) -> Reply:
        if self.log is None or key is None:
            return await self._call(tool, arguments, key)
        await asyncio.to_thread(self.log.note_request, key, tool, arguments)
        try:
            reply = await self._call(tool, arguments, key)
        except BridgeUnreachable:
            raise
        except StoreError:
            await asyncio.to_thread(self.log.note_outcome, key, "refused")
            raise
        await asyncio.to_thread(self.log.note_outcome, key, "done")
        return reply

    async def _call(self, tool: str, arguments: dict[str, Any], key: str | None) -> Reply:
        number = self._next()
        request, headers = (
            to_tool_request(number, tool, arguments, key, local=self.endpoint.socket is not None),
            to_request_headers(tool, self.token, self.theme),
        )
        pauses = self.retry_policy.pauses(self.session_id or "", number)
        with contextlib.ExitStack() as held:
            may_start = self._own
            while True:
                try:
                    answer = await self._http.post(self.endpoint.url, json=request, headers=headers)
                except (ForeignSocket, ListenerStopped) as error:
                    raise BridgeUnreachable(str(error), self.endpoint.socket) from error
                except httpx.TransportError as error:
                    failed: str = str(error) or type(error).__name__
                    if may_start:  # it was killed or stopped since; what is repeated carries a key, or changes nothing
                        may_start = False
                        held.enter_context(await asyncio.to_thread(start_own_bridge))
                        continue
                else:
                    if answer.status_code not in RETRY_STATUSES:
                        kind = answer.headers.get("content-type", "")
                        return parse_reply(number, answer.status_code, kind, answer.text)
                    failed = f"status {answer.status_code}"
                pause_s = next(pauses, None)
                if pause_s is None:
                    where = self.endpoint.socket or self.endpoint.url
                    raise BridgeUnreachable(
                        f"the memory bridge at {where} does not answer ({failed}); is it running?", where
                    )
                await asyncio.sleep(pause_s)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.session_config.heartbeat_interval_s)
            try:
                await self._call("session_heartbeat", {"session_id": self.session_id}, key=None)
            except StoreError as error:
                log.warning("a heartbeat failed: %s", error.message)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
