"""Measure the structure of the source tree: names that stand twice, import circles, sizes, and what variables are called.

`python -m tests.structure` prints the figures; `tests/test_structure.py` holds them to the limits that CONTRIBUTING names.
`--tree DIR` measures another tree, `--run` also what `tests.benchmarks.file_moves` counts while that tree works.
Imports are read from the syntax tree, so an import inside a function or under `TYPE_CHECKING` counts like any other.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(os.environ.get("STRUCTURE_TREE") or Path(__file__).parents[2])
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


VAGUE = frozenset(
    """
    said told kept asked known found wanted held given one others besides waiting stood stands concerned begun gone come came
    going what why who whose elsewhere
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""Names of variables that do not say what they hold."""

NOUNS = ("cooled_by", "superseded_by", "verdict")
"""Attributes of a fact whose files are counted: so many know the noun."""


def line_counts() -> Counter[str]:
    """Lines of Python by room: the four of the product, those of the tests, and what stands beside the tests."""
    counts: Counter[str] = Counter()
    for top in (*ROOMS, "tests"):
        for file in (ROOT / top).rglob("*.py"):
            inner = file.relative_to(ROOT).parts[1]
            room = top if top != "tests" else f"tests/{inner}" if not inner.endswith(".py") else "tests"
            counts[room] += len(file.read_bytes().splitlines())
    return counts


def bound_names(node: ast.AST) -> Iterator[str]:
    """Names that assignments, loops and parameters bind."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
        elif isinstance(inner, ast.arg):
            yield inner.arg


def vague_names(room: str) -> tuple[int, int]:
    """How many bound names of a room are of `VAGUE`, and how many there are."""
    modules = [module for module in source_files() if module.split(".")[0] == f"hermes_memory_{room}"]
    names = [name.strip("_") for module in modules for name in bound_names(syntax_tree(module))]
    return sum(name in VAGUE for name in names), len(names)


def functions_named_once() -> tuple[int, int]:
    """How many functions and methods are named in one place besides their definition, and how many there are."""
    defined: set[str] = set()
    named: Counter[str] = Counter()
    for module in source_files():
        for node in ast.walk(syntax_tree(module)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                defined.add(node.name)
            elif isinstance(node, ast.Name):
                named[node.id] += 1
            elif isinstance(node, ast.Attribute):
                named[node.attr] += 1
    return sum(named[name] == 1 for name in defined), len(defined)


def imported_names() -> int:
    """Names that modules import, from wherever."""
    return sum(
        len(node.names)
        for module in source_files()
        for node in ast.walk(syntax_tree(module))
        if isinstance(node, (ast.Import, ast.ImportFrom))
    )


def class_sizes() -> list[tuple[int, int, str]]:
    """Methods and attributes of each class, the largest first."""
    sizes = []
    for module in source_files():
        for node in ast.walk(syntax_tree(module)):
            if isinstance(node, ast.ClassDef):
                methods = [one for one in node.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
                attributes = {
                    inner.attr
                    for method in methods
                    for inner in ast.walk(method)
                    if isinstance(inner, ast.Attribute)
                    and isinstance(inner.ctx, ast.Store)
                    and isinstance(inner.value, ast.Name)
                    and inner.value.id == "self"
                }
                sizes.append((len(methods), len(attributes), node.name))
    return sorted(sizes, reverse=True)


def files_naming(word: str) -> list[str]:
    """The modules of the product that name a word anywhere in their text."""
    pattern = re.compile(rf"\b{word}\b")
    return [module for module, file in source_files().items() if pattern.search(file.read_text(encoding="utf-8"))]


def weight_report() -> str:
    """Sizes and names, with the counting rules of each in its function."""
    counts = line_counts()
    product = sum(counts[room] for room in ROOMS)
    tests = {room: lines for room, lines in sorted(counts.items()) if room.startswith("tests")}
    parts = [f"{room.removeprefix('tests/')} {count:,}" for room, count in tests.items()]
    beside = ("tests/tools", "tests/benchmarks")
    once, functions = functions_named_once()
    lines = [
        f"lines of the product: {product:,} ({', '.join(f'{room} {counts[room]:,}' for room in ROOMS)})",
        f"lines of tests without tools and benchmarks: {sum(tests.values()) - sum(counts[room] for room in beside):,}"
        f" ({', '.join(parts)})",
        f"files of the product: {len(source_files())}",
        f"functions that are named once: {once:,} of {functions:,} ({once / functions:.0%})",
        f"names imported per 100 lines: {100 * imported_names() / product:.1f}",
    ]
    for room in ROOMS:
        vague, names = vague_names(room)
        lines.append(f"variables that do not say what they hold: {room} {vague:,} of {names:,} ({vague / names:.1%})")
    largest = ", ".join(f"{name} {methods} / {attributes}" for methods, attributes, name in class_sizes()[:6])
    lines.append(f"largest classes, methods / attributes: {largest}")
    lines.append(f"files that name: {', '.join(f'{word} {len(files_naming(word))}' for word in NOUNS)}")
    return "\n".join(lines)


def main() -> None:
    """Print the report of this tree or another."""
    options = argparse.ArgumentParser(prog="python -m tests.structure", description=__doc__)
    options.add_argument("--tree", type=Path, help="the tree to measure; this one unless given")
    options.add_argument("--run", action="store_true", help="also count moves, statements and the lock while it works")
    chosen = options.parse_args()
    tree = (chosen.tree or ROOT).resolve()
    if tree != ROOT:
        again = [sys.executable, str(Path(__file__)), *(["--run"] if chosen.run else [])]
        sys.exit(subprocess.run(again, env=os.environ | {"STRUCTURE_TREE": str(tree)}, check=False).returncode)
    print(report())
    print(weight_report())
    if chosen.run:
        paths = os.pathsep.join([*(str(tree / room) for room in ROOMS), str(tree)])
        moves = Path(__file__).parents[1] / "benchmarks" / "file_moves.py"
        subprocess.run([sys.executable, str(moves)], env=os.environ | {"PYTHONPATH": paths}, check=True)


if __name__ == "__main__":
    main()
