"""The base of both clients: the tools as methods, and which of them write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hermes_memory_bridge.client.client_log import ClientTransactionLog
from hermes_memory_bridge.client.client_policies import RetryPolicy, SessionConfig
from hermes_memory_bridge.client.mcp_messages import BridgeAddress
from hermes_memory_store.errors import StoreError

REPEATABLE = frozenset(
    {
        "memory_search",
        "memory_status",
        "memory_reflect",
        "memory_export",
        "memory_history",
        "recall_memory",
        "recall_conversation",
        "memory_context",
        "session_heartbeat",
        "session_close",
    }
)
"""Tools that change nothing more when called again; every other call carries a key, so that it is never done twice."""


class ClientClosed(StoreError):
    """A call on a client that is not open."""

    code = "client.closed"

    def __init__(self) -> None:
        super().__init__("this client is closed, or was never opened; open it, or use it in a `with` statement")


class ClientBase:
    """Settings and state of a client."""

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

    def _check_open(self) -> None:
        if not self._is_open:
            raise ClientClosed

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _to_open_arguments(self) -> dict[str, Any]:
        config = self.session_config
        opening: dict[str, Any] = {"ttl": max(1, round(config.heartbeat_timeout_s)), "on_orphan": config.on_orphan}
        return opening | ({"resume": self._resume} if self._resume else {})

    @staticmethod
    def _key(tool: str) -> str | None:
        return None if tool in REPEATABLE else os.urandom(16).hex()


def drop_missing_arguments(**arguments: Any) -> dict[str, Any]:
    """Return the arguments that were given."""
    return {name: value for name, value in arguments.items() if value is not None}
