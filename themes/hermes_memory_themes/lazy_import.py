"""Public names that a package hands on lazily (PEP 562). Imported on the first use of such a name, never with the package."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module


def import_public_name(package: str, homes: Mapping[str, str], name: str) -> object:
    """Import a public name from the module that defines it, and keep it in the package.

    :param homes: the defining module of each public name, relative to the package
    :raises AttributeError: the package has no such name
    """
    home = homes.get(name)
    if home is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{package}.{home}"), name)
    setattr(sys.modules[package], name, value)
    return value
