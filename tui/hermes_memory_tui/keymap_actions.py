"""Every key binding of the app with its action id; the keymap may name any of them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from textual.binding import Binding

import hermes_memory_tui
from hermes_memory_tui.inspector import Inspector

PACKAGES = ("screens", "views", "dialogs", "commands", "widgets")


def all_bindings() -> Iterator[tuple[type, Binding]]:
    """Yield every binding of this app with the class that owns it."""
    yield from ((Inspector, binding) for binding in Inspector.BINDINGS if isinstance(binding, Binding))
    for module in binding_modules():
        for owner in vars(module).values():
            if inspect.isclass(owner) and owner.__module__ == module.__name__:
                yield from ((owner, entry) for entry in vars(owner).get("BINDINGS", ()) if isinstance(entry, Binding))


def binding_ids() -> set[str]:
    return {binding.id for _, binding in all_bindings() if binding.id}


def binding_modules() -> Iterator[ModuleType]:
    """Import and yield the modules that define screens and widgets."""
    for package in PACKAGES:
        for path in hermes_memory_tui.__path__:
            for module in pkgutil.walk_packages([f"{path}/{package}"], f"hermes_memory_tui.{package}."):
                yield importlib.import_module(module.name)
