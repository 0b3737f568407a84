"""The origin of a call: what the bridge sees of its client, what the client declares, and the project of its folder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.declared_folder import choose_folder, parse_folder
from hermes_memory_bridge.wire.messages import FOLDER, WAY
from hermes_memory_store.model import Origin, Session, Way
from hermes_memory_store.places.project_sighting import ProjectSighting
from hermes_memory_store.store import Store

T = TypeVar("T")

FolderReader = Callable[[str, int | None], Awaitable[ProjectSighting | None]]

DECLARED_WAYS = {way.value: way for way in (Way.HOOK, Way.HOST_FILE)}
"""Ways a client may declare. The others say more than it can know, such as that a person did it."""


@dataclass(frozen=True, slots=True)
class CallOrigin:
    """The origin of a call before its project has a name."""

    origin: Origin
    seen: ProjectSighting | None

    def resolve(self, store: Store, session: Session | None) -> Origin:
        """Return the origin with its project, noted when it is new, and with its session. Requires a writable store."""
        origin = self.origin if self.seen is None else store.projects.place(self.origin, self.seen)
        if session is None:
            return origin
        title = None if session.number is None else session.title
        return replace(origin, session=session.name, title=title, project=origin.project or session.project)


async def read_for_caller(
    worker: StoreWorker, connection: Connection, meta: Any, job: Callable[[Store, Origin], T]
) -> T:
    """Run a job that only reads, for where its caller is: facts of other branches are marked for it.

    :param meta: the call's `_meta`
    """
    called = await find_call_origin(connection, meta, worker.projects.read_recent)
    worker.branches.notice(called.seen)

    def run(store: Store) -> T:
        origin = called.resolve(store, None)
        with store.attribute(origin):
            return job(store, origin)

    return await worker.read(run)


async def find_call_origin(connection: Connection, meta: Any, read: FolderReader) -> CallOrigin:
    """Return where a call comes from.

    A folder is read for processes of this user. One that presented a token has its working folder read and no other;
    what is declared over a port is noted and not read.

    :param meta: the call's `_meta`
    :param read: reads what a folder shows; a method of `ProjectReader`
    """
    declared = meta if isinstance(meta, dict) else {}
    way = declared.get(WAY)
    origin = Origin(
        way=DECLARED_WAYS.get(way, Way.TOOL) if isinstance(way, str) else Way.TOOL,
        client=connection.client_name,
        client_version=connection.client_version,
        peer=connection.peer,
        program=connection.program,
    )
    folder = parse_folder(declared[FOLDER]) if FOLDER in declared else connection.folder
    if FOLDER not in declared and connection.credential is None:
        folder = choose_folder(folder, connection.roots)
    if folder is None:
        return CallOrigin(origin, None)
    if connection.transport == "tcp" or (connection.credential is not None and connection.pid is None):
        return CallOrigin(replace(origin, root=folder, folder="."), None)
    pid = connection.pid if connection.credential is not None else None
    return CallOrigin(origin, await read(folder, pid))
