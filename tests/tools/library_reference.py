"""The reference of the library, from signatures and docstrings: `docs/reference/library.md`, which `reference.py` writes."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import hermes_memory_store
import hermes_memory_themes

FIELD = re.compile(r":(param [\w, ]+|raises \w+|return):", re.MULTILINE)

MORE_ERRORS = re.compile(r"((?:[A-Z][a-z]+[A-Z]\w+|Conflict|InputError|NotFound)(?:, [A-Z]\w+)*)(?:; (.*)|)")
"""The further errors of a `:raises` field, and what is said of them all."""

INTERNAL = re.compile(r"\b(sqlite3\.Connection|Mutation|ItemKind|Db)\b")
"""Parameters of methods that run inside a transaction of the package."""


def reference_lines() -> list[str]:
    """The lines of the reference."""
    lines: list[str] = []
    for package in (hermes_memory_store, hermes_memory_themes):
        lines += [f"## `{package.__name__}`", ""]
        names = {name: getattr(package, name) for name in package.__all__}
        errors = {name: one for name, one in names.items() if inspect.isclass(one) and issubclass(one, Exception)}
        classes = {name: one for name, one in names.items() if inspect.isclass(one) and name not in errors}
        values = {name: one for name, one in classes.items() if is_value(one)}
        functions = {name: one for name, one in names.items() if inspect.isroutine(one) or hasattr(one, "__wrapped__")}
        parts = {name: one for name, one in classes.items() if name not in values}
        rest = {name: one for name, one in names.items() if name not in {*errors, *classes, *functions}}
        for title, found in (("Parts", parts), ("Functions", functions)):
            if found:
                lines += [f"### {title}", ""]
                for name in sorted(found, key=lambda one: (one != "Store", one)):
                    lines += (
                        class_section(name, found[name])
                        if title == "Parts"
                        else function_section(name, found[name], "####")
                    )
        if values:
            lines += ["### Values", ""]
            for name, one in values.items():
                lines += value_section(name, one)
        if errors:
            lines += ["### Errors", "", *error_lines(errors), ""]
        if rest:
            lines += ["### Names", ""]
            lines += [f"- `{name}`: {variable_purpose(package, name)}" for name in rest] + [""]
    return lines


def is_value(kind: type) -> bool:
    """Whether it is a class of data: a dataclass, an enumeration, or one of the package's own frozen classes."""
    has_slots = "__slots__" in vars(kind) and bool(getattr(kind, "__annotations__", None))
    return has_slots or dataclasses.is_dataclass(kind) or issubclass(kind, enum.Enum)


def class_section(name: str, kind: type) -> Iterator[str]:
    yield from (f"#### `{name}`", "", prose(kind), "")
    for method, found in public_members(kind):
        if isinstance(found, property) or type(found).__name__ == "cached_property":
            function = getattr(found, "func", None) or getattr(found, "fget", None)
            yield from (f"- `.{method}`: {one_line(function)}",)
    yield ""
    for method, found in public_members(kind):
        function = getattr(found, "__func__", found)
        if inspect.isfunction(function) and not INTERNAL.search(signature(function)):
            yield from function_section(f"{name}.{method}", function, "#####")


def public_members(kind: type) -> Iterator[tuple[str, object]]:
    seen = set()
    for owner in kind.__mro__:
        if owner.__module__.startswith("hermes_memory"):
            for name, found in vars(owner).items():
                is_bare_override = inspect.isfunction(found) and not found.__doc__
                if not name.startswith("_") and name not in seen and not is_bare_override:
                    seen.add(name)
                    yield name, found


def function_section(name: str, function: object, level: str) -> Iterator[str]:
    if function.__doc__:
        call = name.rpartition(".")[2] + signature(function)
        yield from (f"{level} `{name}`", "", "```python", call, "```", "", prose(function), "")


def signature(function: object) -> str:
    """The parameters and the answer as the source writes them."""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))  # type: ignore[arg-type]
    node = next(one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef))
    arguments = re.sub(r"^(self|cls)(, |$)", "", ast.unparse(node.args))
    answer = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    return re.sub(r"(?<=[\w\]])=(?=\S)", " = ", f"({arguments}){answer}".replace("builtins.list", "list"))


def prose(found: object) -> str:
    """A docstring as Markdown: its fields as a list, its examples as code."""
    text = inspect.getdoc(found) or ""
    first = FIELD.search(text)
    body = text if first is None else text[: first.start()].rstrip()
    body = re.sub(r"(?m)^(>>> (?:.+\n?)+)", lambda example: f"```python\n{example[1].rstrip()}\n```\n", body).rstrip()
    fields = "" if first is None else text[first.start() :]
    entries = re.split(r"(?=:(?:param [\w, ]+|raises \w+|return):)", fields)
    listed = [field_line(" ".join(entry.split())) for entry in entries if entry.strip()]
    return "\n\n".join(part for part in (body, "\n".join(listed)) if part)


def field_line(entry: str) -> str:
    """One field of a docstring; `:raises A: B, C; when` names three errors."""
    kind, name, rest = re.fullmatch(r":(param|raises|return) ?([\w, ]*): ?(.*)", entry).groups()  # type: ignore[union-attr]
    if kind != "raises":
        return f"- `{name}`: {rest}"
    others, rest = (found[1], found[2] or "") if (found := MORE_ERRORS.fullmatch(rest)) else ("", rest)
    names = ", ".join(f"`{one}`" for one in [name, *re.findall(r"\w+", others)])
    return f"- raises {names}" + (f": {rest}" if rest else "")


def one_line(found: object) -> str:
    return (inspect.getdoc(found) or "").partition("\n")[0]


def value_section(name: str, kind: type) -> Iterator[str]:
    yield from (
        f"#### `{name}`",
        "",
        prose(kind) if kind.__doc__ and not kind.__doc__.startswith(f"{name}(") else "",
        "",
    )
    tree = class_node(kind)
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        if isinstance(node, ast.AnnAssign) or (isinstance(node, ast.Assign) and issubclass(kind, enum.Enum)):
            text = ast.unparse(node).replace("'", '"')
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            text, said = f".{node.name}", (ast.get_docstring(node) or "").partition("\n")[0]
        else:
            continue
        yield f"- `{text}`" + (f": {' '.join(str(said).split())}" if said else "")
    yield ""


def class_node(kind: type) -> ast.ClassDef:
    tree = ast.parse(Path(str(sys.modules[kind.__module__].__file__)).read_text(encoding="utf-8"))
    return next(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == kind.__name__)


def error_lines(errors: dict[str, type]) -> Iterator[str]:
    """The tree of errors; each with its code and what it says of itself."""

    def entry(name: str, kind: type, depth: int) -> Iterator[str]:
        own = (kind.__dict__.get("__doc__") or "").partition("\n")[0]
        yield f"{'  ' * depth}- `{name}` (`{kind.code}`)" + (f": {own}" if own else "")  # type: ignore[attr-defined]
        for child, one in errors.items():
            if next((up for up in one.__mro__[1:] if up in errors.values()), None) is kind:
                yield from entry(child, one, depth + 1)

    for name, kind in errors.items():
        if not any(up in errors.values() for up in kind.__mro__[1:]):
            yield from entry(name, kind, 0)


def variable_purpose(package: ModuleType, name: str) -> str:
    """The string under a module's variable."""
    module = import_module(f"{package.__name__}.{package._HOMES[name]}")
    body = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in node.targets):
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                return " ".join(str(after.value.value).split())
            return f"`{ast.unparse(node.value)}`"
    return ""
