"""The public library: importable names that cost nothing until they are used, and docstrings that say truly what is raised."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import hermes_memory_store
import hermes_memory_themes

PACKAGES = (hermes_memory_store, hermes_memory_themes)

RAISED = re.compile(r":raises ([A-Za-z_]+):(?: ((?:[A-Z][a-z]+[A-Z]\w+)(?:, [A-Z]\w+)*)(?:;|$))?", re.MULTILINE)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda one: one.__name__)
def test_every_public_name_can_be_imported_and_no_other(package: ModuleType) -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Stoer'"):
        _ = package.Stoer


@pytest.mark.parametrize("package", PACKAGES, ids=lambda one: one.__name__)
def test_type_checkers_see_the_same_names_in_the_same_places(package: ModuleType) -> None:
    assert package.__file__ is not None
    stub = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = [(node.module, alias) for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(alias.asname or "" for _, alias in imported) == package.__all__
    for module, alias in imported:
        assert getattr(importlib.import_module(str(module)), alias.name) is getattr(package, str(alias.asname))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda one: one.__name__)
def test_the_package_alone_loads_nothing(package: ModuleType) -> None:
    program = (
        f"import sys; before = set(sys.modules); import {package.__name__}; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == [package.__name__]


def public_objects() -> Iterator[tuple[str, object]]:
    """Public functions and classes, and the public methods of the classes, by their names."""
    for package in PACKAGES:
        for name in package.__all__:
            found = getattr(package, name)
            if inspect.isclass(found) or inspect.isroutine(found):
                yield name, found
            if inspect.isclass(found):
                own = {
                    key: value
                    for kind in found.__mro__
                    if kind.__module__.startswith("hermes")
                    for key, value in vars(kind).items()
                }
                yield from (
                    (f"{name}.{key}", value)
                    for key, value in own.items()
                    if not key.startswith("_") and callable(value)
                )


def test_what_a_docstring_says_is_raised_is_a_public_error() -> None:
    errors = {
        name
        for package in PACKAGES
        for name in package.__all__
        if inspect.isclass(getattr(package, name)) and issubclass(getattr(package, name), Exception)
    }
    checked, unknown = 0, []
    for name, found in public_objects():
        said = RAISED.findall(inspect.getdoc(found) or "")
        for error in (name for first, others in said for name in [first, *re.findall(r"\w+", others)]):
            checked += 1
            if error not in errors | {"ValueError"}:
                unknown.append(f"{name} raises {error}")
    assert checked > 40
    assert unknown == []
