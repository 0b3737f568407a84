"""Measure the structure of the source tree: names that stand twice, import circles, and the size of folders.

`python -m tests.structure` prints the figures; `tests/test_structure.py` holds them to the limits that CONTRIBUTING names.
Imports are read from the syntax tree, so an import inside a function or under `TYPE_CHECKING` counts like any other.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("themes", "store", "bridge", "tui")
PACKAGES = tuple(f"hermes_memory_{room}" for room in ROOMS)

# Participles that do not end in -ed or -ing.
IRREGULAR = frozenset(
    """
    told kept said shown found made done given taken seen known gone sent held left lost met put run set written drawn begun bound
    bought brought built chosen cut dealt fed felt fit hidden hurt laid led lent let meant paid quit read ridden risen sold split
    spent stood stuck struck taught thought torn thrown understood woken won worn wound
    """.split()  # noqa: SIM905 - a list of words reads better as words
)


@cache
def source_files() -> dict[str, Path]:
    """Every module of the four packages by its dotted name; a package stands under its own name."""
    return {
        module_name(file.relative_to(ROOT / room)): file
        for room in ROOMS
        for file in sorted((ROOT / room).rglob("*.py"))
    }


def module_name(path: Path) -> str:
    """The dotted name of a file: `store/x.py` is `store.x`, `store/__init__.py` is `store`."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


@cache
def syntax_tree(module: str) -> ast.Module:
    return ast.parse(source_files()[module].read_text(encoding="utf-8"))


def docstring(module: str) -> str | None:
    return ast.get_docstring(syntax_tree(module))


def class_definitions() -> dict[str, list[str]]:
    """Class names, nested ones included, with the modules that define them."""
    found = defaultdict(list)
    for module in source_files():
        for node in ast.walk(syntax_tree(module)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module)
    return found


def function_definitions() -> dict[str, list[str]]:
    """Names of module-level functions with the modules that define them. Both branches of a condition count as one."""
    found = defaultdict(set)
    for module in source_files():
        for name in _functions_of(syntax_tree(module).body):
            found[name].add(module)
    return {name: sorted(modules) for name, modules in found.items()}


def _functions_of(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, (ast.If, ast.Try)):
            yield from _functions_of([*node.body, *node.orelse])


def file_names() -> dict[str, list[str]]:
    """File names beside `__init__` and `__main__`, with the modules that have them."""
    found = defaultdict(list)
    for module, file in source_files().items():
        if file.stem not in {"__init__", "__main__"}:
            found[file.name].append(module)
    return found


def repeated(definitions: dict[str, list[str]]) -> dict[str, list[str]]:
    """Those names that stand in more than one place."""
    return {name: places for name, places in sorted(definitions.items()) if len(places) > 1}


def is_participle(name: str) -> bool:
    """Whether a name is one bare participle, such as `told`, `_listed` or `reporting`."""
    word = name.strip("_")
    if "_" in word:
        return False
    return word in IRREGULAR or (len(word) > 4 and word.endswith(("ed", "ing")))


def participles() -> list[str]:
    """Module-level functions that are named by a bare participle."""
    return sorted(
        f"{module}:{name}"
        for name, modules in function_definitions().items()
        for module in modules
        if is_participle(name)
    )


def folder_sizes() -> Counter[str]:
    """Files side by side in each folder of a package, besides its `__init__`."""
    return Counter(str(file.parent.relative_to(ROOT)) for file in source_files().values() if file.stem != "__init__")


@cache
def imports() -> dict[str, frozenset[str]]:
    """The modules of the four packages that each module imports anywhere in its text."""
    modules = set(source_files())
    return {module: frozenset(_imports_of(module, modules) - {module}) for module in modules}


def _imports_of(module: str, modules: set[str]) -> set[str]:
    found = set()
    for node in ast.walk(syntax_tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in modules}
        elif isinstance(node, ast.ImportFrom):
            base = _imported_base(module, node)
            for alias in node.names:
                target = f"{base}.{alias.name}"
                found.add(target if target in modules else base)
    return found & modules


def _imported_base(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module if source_files()[module].stem == "__init__" else module.rpartition(".")[0]
    for _ in range(node.level - 1):
        package = package.rpartition(".")[0]
    return f"{package}.{node.module}" if node.module else package


def circles(arrows: dict[str, frozenset[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other (strongly connected components of more than one node)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for target in arrows.get(node, ()):
            if target not in order:
                visit(target)
                lowest[node] = min(lowest[node], lowest[target])
            elif target in stack:
                lowest[node] = min(lowest[node], order[target])
        if lowest[node] == order[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(arrows):
        if node not in order:
            visit(node)
    return found


def import_circles() -> list[list[str]]:
    """Circles of modules."""
    return circles(imports())


def folder_circles() -> list[list[str]]:
    """Circles of the files and folders that stand side by side in one folder, so that each folder has floors."""
    found = []
    for folder in {module.rpartition(".")[0] for module in source_files()} - {""}:
        arrows: dict[str, set[str]] = defaultdict(set)
        for module, targets in imports().items():
            here = _child_of(folder, module)
            if here:
                arrows[here] |= {child for target in targets if (child := _child_of(folder, target)) and child != here}
        found += circles({node: frozenset(targets) for node, targets in arrows.items()})
    return sorted(found)


def _child_of(folder: str, module: str) -> str:
    """The file or folder side by side in `folder` that holds a module, `""` when it is elsewhere."""
    if not module.startswith(f"{folder}."):
        return ""
    return f"{folder}.{module.removeprefix(f'{folder}.').partition('.')[0]}"


def report() -> str:
    functions = function_definitions()
    count = sum(len(modules) for modules in functions.values())
    largest, size = folder_sizes().most_common(1)[0]
    lines = [
        f"class names that stand twice: {len(repeated(class_definitions()))} of {len(class_definitions())}",
        f"module functions whose name stands twice: {len(repeated(functions))} of {len(functions)}",
        f"file names that stand twice: {len(repeated(file_names()))}",
        f"module functions that are one bare participle: {len(participles())} of {count} ({len(participles()) / count:.1%})",
        f"import circles: {len(import_circles())} of modules, {len(folder_circles())} of folders",
        f"files side by side in the largest folder: {size} ({largest})",
    ]
    for title, names in (
        ("classes", repeated(class_definitions())),
        ("functions", repeated(functions)),
        ("files", repeated(file_names())),
    ):
        lines += [f"  {title}: {name}: {', '.join(places)}" for name, places in names.items()]
    lines += [f"  participle: {name}" for name in participles()]
    lines += [f"  circle: {' -> '.join(circle)}" for circle in [*import_circles(), *folder_circles()]]
    lines += [f"  folder: {folder}: {size}" for folder, size in folder_sizes().most_common() if size > 15]
    return "\n".join(lines)


def main() -> None:
    """Print the report."""
    print(report())


if __name__ == "__main__":
    main()
