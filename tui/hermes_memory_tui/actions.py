"""Every action that has a key, by its id: for the keymap, which may name any of them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from textual.binding import Binding

import hermes_memory_tui
from hermes_memory_tui.inspector import Inspector

PACKAGES = ("screens", "views", "dialogs", "widgets")


def bindings() -> Iterator[tuple[type, Binding]]:
    """Every binding of this app with the class it belongs to."""
    yield from ((Inspector, one) for one in Inspector.BINDINGS if isinstance(one, Binding))
    for module in modules():
        for owner in vars(module).values():
            if inspect.isclass(owner) and owner.__module__ == module.__name__:
                yield from ((owner, one) for one in vars(owner).get("BINDINGS", ()) if isinstance(one, Binding))


def known_ids() -> set[str]:
    """The ids of all of them."""
    return {one.id for _, one in bindings() if one.id}


def modules() -> Iterator[ModuleType]:
    """The modules that have screens and widgets, imported."""
    for package in PACKAGES:
        for path in hermes_memory_tui.__path__:
            for found in pkgutil.iter_modules([f"{path}/{package}"]):
                yield importlib.import_module(f"hermes_memory_tui.{package}.{found.name}")
