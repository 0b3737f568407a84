"""`MemoryClient`, for code without an event loop."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
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
from hermes_memory_bridge.client.unix_transports import to_unix_transport
from hermes_memory_bridge.wire.peers import ForeignSocket
from hermes_memory_bridge.wire.silence import ListenerStopped
from hermes_memory_store.errors import StoreError

log = logging.getLogger(__name__)

TIMEOUT_S = 30.0


class MemoryClient(ClientBase):
    """A session with the memory. Use it as a context manager: leaving it ends the session.

    with MemoryClient(theme="marketing") as memory:
        memory.write("D[cache]: redis", scope="speed")
    """

    _http: httpx.Client
    _beating: threading.Thread | None = None

    def open(self) -> Self:
        """Connect, open or resume the session, and resend unacknowledged writes. Does nothing when it is open.

        :raises BridgeUnreachable: no bridge answers, or none of this user's own could be started
        """
        if self._is_open:
            return self
        if self.log is not None:
            self.log.open()
        socket = self.endpoint.socket
        transport = to_unix_transport(socket) if socket else None
        self._http = httpx.Client(transport=transport, timeout=TIMEOUT_S)
        try:
            with start_own_bridge() if self._own else contextlib.nullcontext():
                opened = self._call("session_open", self._to_open_arguments(), self._key("session_open"))
            self.session_id = opened.data["session_id"]
            self.checkpoint = opened.data["checkpoint"]
            for key, tool, arguments in self.log.open_writes() if self.log else []:
                self._call_with_log(tool, arguments, key)
        except BaseException:
            self._http.close()
            if self.log is not None:
                self.log.close()
            raise
        self._is_open = True
        self._ended = threading.Event()
        self._beating = threading.Thread(target=self._beat, name="memory-heartbeat", daemon=True)
        self._beating.start()
        return self

    def close(self) -> None:
        """Close the session properly, keeping its checkpoint. Does nothing when it is closed.

        :raises BridgeUnreachable: nobody took the farewell; the session ends with its lease then
        """
        if not self._is_open:
            return
        self._is_open = False
        if self._beating is not None:
            self._ended.set()
            self._beating.join()
        try:
            self._call("session_close", {"session_id": self.session_id}, key=None)
        finally:
            self._http.close()
            if self.log is not None:
                self.log.close()

    def call_tool(self, tool: str, **arguments: Any) -> Reply:
        """Call any tool in this session.

        :raises StoreError: the refusal, by its code
        :raises ClientClosed: it is not open
        """
        self._check_open()
        return self._call_with_log(tool, {**arguments, "session_id": self.session_id}, self._key(tool))

    def write(self, content: str, *, scope: str | None = None, split: bool | None = None) -> Reply:
        """Write one fact in MEMORY_SPEC notation.

        :raises StoreError: by its code; nothing was stored then
        """
        return self.call_tool("memory_write", **drop_missing_arguments(content=content, scope=scope, split=split))

    def search(self, query: str, *, scope: str | None = None, limit: int | None = None) -> Reply:
        """Find facts."""
        return self.call_tool("memory_search", **drop_missing_arguments(query=query, scope=scope, limit=limit))

    def status(self) -> Reply:
        """Return the status block that an agent gets when it starts."""
        return self.call_tool("memory_status")

    def tick(self, turn: int, message: str | None = None) -> Reply:
        """Count a turn."""
        return self.call_tool("memory_tick", **drop_missing_arguments(turn=turn, message=message))

    def reflect(self, topic: str, *, limit: int | None = None) -> Reply:
        """Return everything known about a topic, by type."""
        return self.call_tool("memory_reflect", **drop_missing_arguments(topic=topic, limit=limit))

    def export(self, *, scope: str | None = None, status: str | None = None) -> Reply:
        """Export facts as notation lines."""
        return self.call_tool("memory_export", **drop_missing_arguments(scope=scope, status=status))

    def purge(self, *, scope: str | None = None, older_than_days: int | None = None, **wider: bool) -> Reply:
        """Purge superseded and archived facts.

        :param wider: everything and confirm, to include active facts
        """
        return self.call_tool(
            "memory_purge",
            **drop_missing_arguments(scope=scope, older_than_days=older_than_days, **wider),
        )

    def turn(self, role: str, content: str) -> Reply:
        """Capture one message."""
        return self.call_tool("memory_turn", **drop_missing_arguments(role=role, content=content))

    def recall(
        self, query: str, *, scope: str | None = None, target: str | None = None, limit: int | None = None
    ) -> Reply:
        """Find durable facts, including those of other themes if the token allows it."""
        return self.call_tool(
            "recall_memory", **drop_missing_arguments(query=query, scope=scope, target=target, limit=limit)
        )

    def recall_conversation(self, query: str, *, scope: str | None = None, limit: int | None = None) -> Reply:
        """Find captured messages."""
        return self.call_tool("recall_conversation", **drop_missing_arguments(query=query, scope=scope, limit=limit))

    def context(self, message: str, *, tokens: int | None = None) -> Reply:
        """Return facts and past turns relevant to a message, as one fenced text within a token budget.

        Empty when there are none.
        """
        return self.call_tool("memory_context", **drop_missing_arguments(message=message, tokens=tokens))

    def edit(self, uid: str, content: str) -> Reply:
        """Correct a fact in place."""
        return self.call_tool("memory_edit", **drop_missing_arguments(uid=uid, content=content))

    def history(self, uid: str) -> Reply:
        """Return every change of a fact."""
        return self.call_tool("memory_history", **drop_missing_arguments(uid=uid))

    def close_scope(self, scope: str) -> Reply:
        """Close a scope."""
        return self.call_tool("memory_close_scope", **drop_missing_arguments(scope=scope))

    def _call_with_log(self, tool: str, arguments: dict[str, Any], key: str | None) -> Reply:
        if self.log is None or key is None:
            return self._call(tool, arguments, key)
        self.log.note_request(key, tool, arguments)
        try:
            reply = self._call(tool, arguments, key)
        except BridgeUnreachable:
            raise
        except StoreError:
            self.log.note_outcome(key, "refused")
            raise
        self.log.note_outcome(key, "done")
        return reply

    def _call(self, tool: str, arguments: dict[str, Any], key: str | None) -> Reply:
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
                    answer = self._http.post(self.endpoint.url, json=request, headers=headers)
                except (ForeignSocket, ListenerStopped) as error:
                    raise BridgeUnreachable(str(error), self.endpoint.socket) from error
                except httpx.TransportError as error:
                    failed: str = str(error) or type(error).__name__
                    if may_start:  # it was killed or stopped since; what is repeated carries a key, or changes nothing
                        may_start = False
                        held.enter_context(start_own_bridge())
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
                time.sleep(pause_s)

    def _beat(self) -> None:
        while not self._ended.wait(self.session_config.heartbeat_interval_s):
            try:
                self._call("session_heartbeat", {"session_id": self.session_id}, key=None)
            except StoreError as error:
                log.warning("a heartbeat failed: %s", error.message)

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
