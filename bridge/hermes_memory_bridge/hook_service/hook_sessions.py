"""Sessions of ours for sessions of hosts: opened with the first event, joined with the host's MCP connection, ended by `end`.

A hook holds no connection. Its session's lease is renewed by events, and by the bridge as long as the host's process lives;
where nobody tells that process, by events alone, with a longer lease.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hermes_memory_bridge.hook_service.hook_moment import HookMoment
from hermes_memory_bridge.hook_service.host_processes import find_ancestors, find_host_process, is_process_alive
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_store.hosts.host_data import find_client_host, list_client_names
from hermes_memory_store.hosts.host_sessions import HostSession
from hermes_memory_store.model import Session, split_client_version
from hermes_memory_store.store import Store

LEASE_MS = 60_000
"""Of a session whose host's process is known: twice `RENEWAL_S`."""

LONE_LEASE_MS = 30 * 60_000
"""Of a session whose host's process nobody tells: as long as people leave an agent alone and come back."""

RENEWAL_S = 30.0


class HookSessions:
    def __init__(self, connections: Callable[[], Iterable[Connection]]) -> None:
        """:param connections: returns the MCP connections of the bridge"""
        self._connections = connections

    def take(self, store: Store, moment: HookMoment, host_session: HostSession | None, project: str | None) -> Session:
        """Return the session of ours that an event belongs to, renewed; open it when there is none. Within a write."""
        connection = self.find_connection(store, moment)
        name = None if host_session is None or host_session.theme != moment.theme else host_session.session
        if name is None and moment.event.agent:  # a subagent's work is that of the session it belongs to
            parent = store.host_sessions.find(moment.event.host, moment.event.session)
            name = None if parent is None or parent.theme != moment.theme else parent.session
        if name is None and connection is not None and connection.has_session(connection.name):
            name = connection.name  # the model spoke first: what hooks bring belongs to the same session
        running = None if name is None else store.sessions.find_running(moment.theme, name)
        if running is not None and running.client is not None:
            store.sessions.renew([running])
            session = running
        else:
            session = store.sessions.open(
                moment.theme,
                name,
                client=list_client_names(moment.event.host)[0],
                client_version=moment.event.version or None,
                project=project,
                pid=moment.process,
                lease_ms=LEASE_MS if moment.process is not None else LONE_LEASE_MS,
                heartbeat_ms=round(RENEWAL_S * 1000),
            )
        if connection is not None and connection.name != session.name:
            connection.add_session(session)
            connection.name = session.name
        return session

    def find_connection(self, store: Store, moment: HookMoment) -> Connection | None:
        """Return the MCP connection of an event's host process, where that is certain.

        It is when the process has one connection of this host's client and theme, and no other session that runs.
        """
        if moment.process is None:
            return None
        host = moment.event.host
        connections = [
            connection
            for connection in self._connections()
            if connection.pid is not None
            and connection.theme == moment.theme
            and find_client_host(connection.client_name or "") == host
            and find_host_process(find_ancestors(connection.pid)) == moment.process
        ]
        if len(connections) != 1:
            return None
        names = {session.name.split(" ")[0] for session in store.host_sessions.of_process(host, moment.process)}
        return connections[0] if names <= {moment.name.split(" ")[0]} else None

    def find_host_session(self, store: Store, connection: Connection) -> Session | None:
        """Return the running session that hooks opened for the host process of a connection, where that is certain."""
        host = find_client_host(connection.client_name or "")
        if host is None or connection.pid is None or connection.credential is not None:
            return None
        process = find_host_process(find_ancestors(connection.pid))
        sessions = [] if process is None else store.host_sessions.of_process(host, process)
        names = {
            session.session for session in sessions if session.theme == connection.theme and session.session is not None
        }
        if len(names) != 1 or len({session.name.split(" ")[0] for session in sessions}) != 1:
            return None
        if any(
            find_host_process(find_ancestors(other.pid)) == process
            for other in self._connections()
            if other is not connection and other.pid is not None and find_client_host(other.client_name or "") == host
        ):
            return None
        return store.sessions.find_running(connection.theme, next(iter(names)))

    def find_names(self, store: Store, moment: HookMoment, host_session: HostSession | None) -> set[str]:
        """Return the names of the sessions that wrote what this session's model decided.

        Where its MCP connection is not certain: all of the same client, in the same project, since it began.
        """
        names = set() if host_session is None or host_session.session is None else {host_session.session}
        connection = self.find_connection(store, moment)
        if connection is not None:
            return names | {connection.name} | {session.name for session in connection.sessions()}
        own_name = None if host_session is None else host_session.session
        mine = None if own_name is None else store.sessions.find_running(moment.theme, own_name)
        since = moment.at if host_session is None else host_session.started_at
        for session in store.sessions.list(moment.theme):
            client = split_client_version(session.client or "")[0]
            is_active = session.heartbeat_at >= since and find_client_host(client) == moment.event.host
            if is_active and (mine is None or session.project in (mine.project, None)):
                names.add(session.name)
        return names


def renew_living(store: Store) -> None:
    """Renew the leases of sessions whose host's process lives. Within a write."""
    sessions = [
        store.sessions.find_running(host_session.theme, host_session.session)
        for host_session in store.host_sessions.list_running()
        if host_session.theme is not None and host_session.session is not None and host_session.heard_event != "end"
        if host_session.pid is not None and is_process_alive(host_session.pid)
    ]
    living = [session for session in sessions if session is not None]
    if living:
        store.sessions.renew(living)
