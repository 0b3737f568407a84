"""The theme of a connection for which nobody named one: that of the project it works in."""

from __future__ import annotations

import logging

from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.declared_folder import choose_folder
from hermes_memory_store.errors import StoreError
from hermes_memory_store.places.project_sighting import ProjectSighting
from hermes_memory_themes import ThemeName
from hermes_memory_themes.theme_identity import DEFAULT

log = logging.getLogger(__name__)


async def find_place_theme(worker: StoreWorker, folder: str | None) -> ThemeName:
    """Return the theme of a folder; `default` where it is in no project, or its project has no theme of its own.

    Only for processes of this user: the folder is read.

    :raises StoreError: the theme of a new project could not be written down
    """
    return await find_sighting_theme(worker, None if folder is None else await worker.projects.read(folder))


async def find_sighting_theme(worker: StoreWorker, seen: ProjectSighting | None) -> ThemeName:
    """Return the theme of what a folder showed, made for a project that is seen for the first time.

    :raises StoreError: it could not be written down
    """
    if seen is None:
        return DEFAULT
    theme: ThemeName | None = await worker.read(lambda store: store.place_themes.find_known(seen))
    if theme is None:
        traced = await worker.read(lambda store: store.projects.trace(seen))
        theme = await worker.write(lambda store: store.place_themes.theme_of(traced))
    return theme


async def follow_roots(worker: StoreWorker, connection: Connection) -> None:
    """Let a connection that nobody named a theme for speak for the project of its host's roots, until it has a session."""
    if not connection.is_placed or connection.sessions() or not connection.roots:
        return
    try:
        theme = await find_place_theme(worker, choose_folder(connection.folder, connection.roots))
    except StoreError as error:
        log.warning("the theme of a folder could not be found, so %s is used: %s", connection.theme, error.message)
        return
    if not connection.sessions():
        connection.theme = theme
