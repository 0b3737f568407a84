"""The origin of what a person does in this process: the way, and the project of the folder it runs in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hermes_memory_store.model import Origin, Way
from hermes_memory_store.store import Store

if TYPE_CHECKING:
    from hermes_memory_store.places.project_sighting import ProjectSighting
    from hermes_memory_themes import ThemeName


def attribute_to_working_folder(store: Store, way: Way) -> None:
    """Attribute what is changed through this store to the working folder, read anew for each change: branches change."""
    store.set_origin_source(lambda: locate_working_folder(store, way))


def locate_working_folder(store: Store, way: Way) -> Origin:
    """Return an origin with the project of the working folder, without one where the folder is gone or none of a project."""
    from hermes_memory_store.places.project_sighting import to_project

    seen = to_project(see_working_folder())
    if seen is None:
        return Origin(way=way)
    origin = store.projects.place(Origin(way=way), store.projects.trace(seen))
    store.projects.note_first_commit(seen)
    return origin


def find_working_theme(store: Store) -> ThemeName:
    """Return the theme of the working folder, which a new project gets where the store may be written."""
    seen = see_working_folder()
    return store.place_themes.theme_of(None if seen is None else store.projects.trace(seen))


def see_working_folder() -> ProjectSighting | None:
    """Return what the working folder shows of its project; None where it is gone."""
    from hermes_memory_store.places.project_sighting import read_project

    try:
        return read_project(os.getcwd())  # noqa: PTH109 - a path that is gone is no error of pathlib's
    except OSError:
        return None
