"""Change notifications to clients, in the way each protocol era provides.

Since 2026-07-28 a client listens on a stream; before, it subscribed to URIs on its connection. A client is
notified only about its own theme, so that not even the time of another theme's change leaks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import anyio
import mcp.types as types
from mcp.server import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError

from hermes_memory_bridge.protocol import sdk_internals
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.surface.change_watch import ChangeWatch, ThemeChanges
from hermes_memory_bridge.surface.resources import READING_TOOLS, STATUS
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_store.errors import StoreError

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]

LOOK_S = 0.1
"""How often to look for what other processes changed. Our own writes are told at once."""

GATHER_S = 0.05
"""How long changes are gathered before they are looked at: under load, looking after each write would cost what writing does."""

MOST_ADDRESSES = 1_000
"""Addresses one connection may subscribe to."""


class NoticeSubscriber:
    """A connection of the handshake eras with subscriptions.

    Its notifications are collected while it does not read, so that it delays nobody but itself.
    """

    def __init__(self, connection: Connection, session: ServerSession) -> None:
        self.connection = connection
        self.session = session
        self.uris: set[str] = set()
        self._changed_uris: set[str] = set()
        self._list_changed = False
        self._sending = False

    def add(self, uris: set[str], listed: bool) -> bool:
        """Collect notifications; return whether `send` has to be run."""
        self._changed_uris |= uris
        self._list_changed |= listed
        begins = not self._sending and bool(self._changed_uris or self._list_changed)
        self._sending = self._sending or begins
        return begins

    async def send(self) -> None:
        """Send the collected notifications until none are left or the connection has ended."""
        try:
            while self._changed_uris or self._list_changed:
                changed, self._changed_uris = self._changed_uris, set()
                listed, self._list_changed = self._list_changed, False
                for uri in changed:
                    await self.session.send_resource_updated(uri)
                if listed:
                    await self.session.send_resource_list_changed()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            log.info("a subscriber left before it heard of a change")
        finally:
            self._sending = False


class ChangeNotices:
    """Keep track of listeners, and notify them."""

    def __init__(self, worker: StoreWorker) -> None:
        self.worker = worker
        self._listeners: dict[tuple[str, bool], tuple[InMemorySubscriptionBus, ListenHandler]] = {}
        self._subscribers: dict[Connection, NoticeSubscriber] = {}

    def handlers(self, find_connection: Callable[[Context], Connection]) -> dict[str, Any]:
        """Return the handlers of `Server` for listening and subscribing."""

        async def listen(
            context: Context, params: types.SubscriptionsListenRequestParams
        ) -> types.SubscriptionsListenResult:
            connection = find_connection(context)
            if not may_hear_of_changes(connection):
                raise MCPError(code=types.INVALID_REQUEST, message="this token may not read")
            key = (connection.theme, connection.rights.other_themes)
            if key not in self._listeners:
                bus = InMemorySubscriptionBus()
                self._listeners[key] = bus, ListenHandler(bus)
            with anyio.CancelScope() as scope:
                connection.stream_enders.add(scope.cancel)
                try:
                    return await self._listeners[key][1](context, params)
                finally:
                    connection.stream_enders.discard(scope.cancel)
            reason = "this session was ended" if connection.rights.read else "this token is no longer good"
            raise MCPError(code=types.INVALID_REQUEST, message=reason)

        async def subscribe(context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
            subscriber = self.subscriber(find_connection(context), context)
            if len(subscriber.uris) < MOST_ADDRESSES:
                subscriber.uris.add(str(params.uri))
            return types.EmptyResult()

        async def unsubscribe(context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
            self.subscriber(find_connection(context), context).uris.discard(str(params.uri))
            return types.EmptyResult()

        return {
            "on_subscriptions_listen": listen,
            "on_subscribe_resource": subscribe,
            "on_unsubscribe_resource": unsubscribe,
        }

    async def watch(self) -> None:
        """Watch for changes and send notifications; run until cancelled."""
        reader = self.worker.store.reader()
        try:
            watching = ChangeWatch(reader)
            while True:
                try:
                    changed = await asyncio.to_thread(watching.look)
                except StoreError as error:
                    log.error("changes could not be looked for: %s", error.message)
                    await asyncio.sleep(1)
                    reader.close()
                    reader = self.worker.store.reader()
                    watching = ChangeWatch(reader)
                    continue
                for theme, changes in changed.items():
                    await self.tell(theme, changes)
                await self.worker.wait_for_write(LOOK_S)
                await asyncio.sleep(GATHER_S)
        finally:
            reader.close()

    async def tell(self, theme: str, changed: ThemeChanges) -> None:
        for (own, sees_others), (bus, _) in list(self._listeners.items()):
            for uri in find_visible_uris(changed, theme, own, sees_others):
                await bus.publish(ResourceUpdated(uri=uri))
            if changed.listed and own == theme:
                await bus.publish(ResourcesListChanged())
        for connection, subscriber in list(self._subscribers.items()):
            if not may_hear_of_changes(connection):
                continue
            sees_others = connection.rights.other_themes
            uris = subscriber.uris & find_visible_uris(changed, theme, connection.theme, sees_others)
            if subscriber.add(uris, changed.listed and connection.theme == theme):
                self.worker.run_in_background(subscriber.send())

    def close(self) -> None:
        """Close every stream in the orderly way, so that clients know the bridge stops."""
        for _, handler in self._listeners.values():
            handler.close()

    def subscriber(self, connection: Connection, context: Context) -> NoticeSubscriber:
        """Return the subscriber of a connection of the handshake eras, created on first use."""
        listener = self._subscribers.get(connection)
        if listener is None:
            listener = self._subscribers[connection] = NoticeSubscriber(connection, context.session)
            sdk_internals.on_request_close(context, lambda: self._forget(connection))
        return listener

    def _forget(self, connection: Connection) -> None:
        self._subscribers.pop(connection, None)


def may_hear_of_changes(connection: Connection) -> bool:
    """Check whether a connection may be told that a resource has changed: only if it may read resources."""
    return connection.rights.read and connection.rights.grants_any_tool(READING_TOOLS)


def find_visible_uris(changed: ThemeChanges, theme: str, own: str, sees_others: bool) -> set[str]:
    """Return the changed URIs in a theme that a connection of `own` may be told about."""
    if theme == own:
        return changed.uris
    return changed.uris - {STATUS.uri} if sees_others else set()
