"""Change the rules in small ways, and count how many changes the tests notice.

`python -m tests.tools.mutants --count 200 --seed 11` draws mutants from the rules of memory, sync, trust and the actions of the
screens, runs for each the tests that reach its line, and names the survivors. The same seed draws the same mutants from the
same tree.

Which tests reach a line is measured by coverage with one context per test; processes that a test starts count for that test.
The measurement is one run of the fast tier over a copy of the tree in `.mutants/`, and is kept until the sources change.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from queue import SimpleQueue

import coverage
import pytest
from coverage.numbits import numbits_to_nums

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".mutants"
ROOMS = ("themes", "store", "bridge", "tui")

RULES = (
    "store/hermes_memory_store/memory",
    "store/hermes_memory_store/context",
    "store/hermes_memory_store/upkeep/purge.py",
    "store/hermes_memory_store/sync",
    "bridge/hermes_memory_bridge/team/sync_run.py",
    "bridge/hermes_memory_bridge/trust",
    "bridge/hermes_memory_bridge/access",
    "bridge/hermes_memory_bridge/tools",
    "tui/hermes_memory_tui/model/bulk_actions.py",
    "tui/hermes_memory_tui/dialogs/confirm_dialog.py",
    "tui/hermes_memory_tui/screens/memory_screen.py",
    "tui/hermes_memory_tui/screens/fact_editor.py",
)
"""Rules of memory, sync, trust, and the actions of the screens."""

EQUIVALENT: dict[str, str] = {}
"""Mutants that change nothing anybody can observe, by `file: change`, with the reason; they count on neither side."""

MOST_SECONDS = 30.0
"""Tests run for one mutant, the fastest first: enough to see a rule broken, few enough for 200 mutants an hour."""

MOST_SURVIVORS = 0.1

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult}


@dataclass(frozen=True)
class Mutant:
    """One change of one place."""

    file: str
    line: int
    before: str
    after: str
    span: tuple[int, int, int, int]
    """First line and byte in it, last line and the byte after the change."""

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}: {self.change}"

    @property
    def key(self) -> str:
        """The mutant without its line, which edits elsewhere in the file move."""
        return f"{self.file}: {self.change}"

    @property
    def change(self) -> str:
        return " -> ".join(" ".join(text.split())[:100] for text in (self.before, self.after))

    def apply(self, text: str) -> str:
        """Return the text of the file with the change."""
        lines = text.splitlines(keepends=True)
        head, _, tail = _cut(lines, self.span)
        return "".join([*lines[: self.span[0] - 1], head + self.after + tail, *lines[self.span[2] :]])


def _cut(lines: Sequence[str], span: tuple[int, int, int, int]) -> tuple[str, str, str]:
    """Cut the lines of a span into what stands before it, the span, and what stands after it."""
    first, start, last, end = span
    body = "".join(lines[first - 1 : last]).encode()
    end += len(body) - len(lines[last - 1].encode())
    return body[:start].decode(), body[start:end].decode(), body[end:].decode()


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Yield every mutant of the functions in one file."""
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for node in _nodes_in_functions(ast.parse(text)):
        for target, change in _changes_of(node):
            after = ast.unparse(change)
            if ast.unparse(target) == after:
                continue
            if isinstance(change, ast.expr):
                after = f"({after})"
            assert target.end_lineno is not None
            assert target.end_col_offset is not None
            span = (target.lineno, target.col_offset, target.end_lineno, target.end_col_offset)
            yield Mutant(str(file.relative_to(ROOT)), target.lineno, _cut(lines, span)[1], after, span)


def _nodes_in_functions(tree: ast.Module) -> Iterator[ast.AST]:
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside_text = {
                id(part) for node in ast.walk(function) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)
            }
            for statement in function.body:
                for node in ast.walk(statement):
                    if id(node) not in inside_text and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        yield node


def _changes_of(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=comparators) if type(operator) in COMPARISONS:
            yield node, ast.Compare(left, [COMPARISONS[type(operator)]()], comparators)
        case ast.BoolOp(op=operator, values=values):
            yield node, ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, operand
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in ARITHMETIC and not _is_text(
            left, right
        ):
            yield node, ast.BinOp(left, ARITHMETIC[type(operator)](), right)
        case ast.Constant(value=bool() as value):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield node, ast.Constant(value + 1)
        case ast.IfExp(test=test, body=body, orelse=other):
            yield node, ast.IfExp(ast.UnaryOp(ast.Not(), test), body, other)
        case ast.If(test=ast.Name() | ast.Call() | ast.Attribute() as test):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield node, ast.Pass()
        case ast.Return(value=value) if value is not None and not (
            isinstance(value, ast.Constant) and value.value is None
        ):
            yield node, ast.Return(ast.Constant(None))
        case ast.Raise():
            yield node, ast.Pass()


def _is_text(*operands: ast.expr) -> bool:
    return any(
        isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        for node in operands
    )


def draw(count: int, seed: int, within: str = "") -> list[Mutant]:
    """Draw mutants: first a line, then one change of it, so that long expressions do not crowd out short ones.

    :param within: draw only from files whose path holds this text
    """
    by_line: dict[tuple[str, int], list[Mutant]] = {}
    for file in rule_files():
        if within in str(file):
            for mutant in mutants_of(file):
                by_line.setdefault((mutant.file, mutant.line), []).append(mutant)
    chooser = random.Random(seed)
    chosen = (chooser.choice(by_line[line]) for line in chooser.sample(sorted(by_line), len(by_line)))
    return list(islice(filter(_compiles, chosen), count))


def rule_files() -> list[Path]:
    """Return the files that hold rules. :raises FileNotFoundError: a place named in `RULES` is gone"""
    found: list[Path] = []
    for rule in RULES:
        path = ROOT / rule
        files = [path] if path.is_file() else sorted(path.rglob("*.py"))
        if not files:
            raise FileNotFoundError(path)
        found += files
    return found


def _compiles(mutant: Mutant) -> bool:
    try:
        compile(mutant.apply((ROOT / mutant.file).read_text(encoding="utf-8")), mutant.file, "exec")
    except SyntaxError:
        return False
    return True


class Reach:
    """Which tests reach a line, and how long each takes."""

    def __init__(self, folder: Path) -> None:
        self._seconds: dict[str, float] = json.loads((folder / "seconds.json").read_text(encoding="utf-8"))
        self._conn = sqlite3.connect(folder / "coverage.db", check_same_thread=False)
        self._contexts: dict[int, str] = dict(self._conn.execute("SELECT id, context FROM context"))
        self._tests_of_file: dict[str, set[str]] = {}
        for name in self._seconds:
            self._tests_of_file.setdefault(name.partition("::")[0], set()).add(name)

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that reach a mutant's line, fastest first."""
        sql = "SELECT context_id, numbits FROM line_bits JOIN file ON file.id = file_id WHERE path = ?"
        rows = self._conn.execute(sql, (str(copy_of_tree(0) / mutant.file),)).fetchall()
        names: set[str] = set()
        for context, bits in rows:
            if mutant.line in numbits_to_nums(bits):
                names |= self._tests_of(self._contexts[context])
        return sorted(names, key=lambda name: (self._seconds[name], name))

    def chosen(self, mutant: Mutant) -> tuple[list[str], float]:
        """Return the tests that are run for a mutant, and the seconds that they take."""
        chosen, seconds = [], 0.0
        for name in self.tests(mutant):
            if chosen and seconds + self._seconds[name] > MOST_SECONDS:
                break
            chosen.append(name)
            seconds += self._seconds[name]
        return chosen, seconds

    def _tests_of(self, context: str) -> set[str]:
        """Return the tests of a context. A process that a fixture started may serve every test of the file."""
        name, _, phase = context.rpartition(" (")
        if phase == "setup)":
            return self._tests_of_file.get(name.partition("::")[0], set())
        name = name if phase in ("call)", "teardown)") else context
        return {name} & self._seconds.keys()


def measure(tests: Sequence[str], jobs: int) -> Reach:
    """Run tests with coverage in a copy of the tree; those of unchanged files over unchanged sources are not run again."""
    copy = copy_tree(0)
    sources = _digest_of(file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py")))
    folder = KEPT / "reach"
    known = json.loads((folder / "known.json").read_text()) if (folder / "known.json").exists() else {}
    if known.pop("", None) != sources:
        shutil.rmtree(folder, ignore_errors=True)
        known = {}
    folder.mkdir(parents=True, exist_ok=True)
    files = {str(file.relative_to(ROOT)): _digest_of([file]) for place in tests for file in _test_files(ROOT / place)}
    changed = sorted(file for file, digest in files.items() if known.get(file) != digest)
    if changed:
        _run_with_coverage(copy, folder, changed, jobs)
        (folder / "known.json").write_text(json.dumps(known | files | {"": sources}))
    return Reach(folder)


def _test_files(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob("test_*.py"))


def _digest_of(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _run_with_coverage(copy: Path, folder: Path, tests: Sequence[str], jobs: int) -> None:
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir()
    settings = folder / "coveragerc"
    settings.write_text(
        # Every process starts to measure by itself (COVERAGE_PROCESS_START). What a test starts bears the test's name.
        "[run]\nparallel = true\nbranch = false\npatch = _exit\nsigterm = true\n"
        f"source_pkgs = {', '.join(f'hermes_memory_{room}' for room in ROOMS)}\n"
        f"data_file = {data}/coverage.db\n"
        "disable_warnings = no-data-collected, module-not-imported, no-sysmon, module-not-measured\n"
        "context = ${PYTEST_CURRENT_TEST-}\n",
        encoding="utf-8",
    )
    environment = _environment(copy) | {
        "COVERAGE_PROCESS_START": str(settings),
        "MUTANTS_SECONDS": str(folder / "seconds.json"),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.tools.mutants", *tests]
    if jobs > 1:
        command += ["--numprocesses", str(jobs)]
    subprocess.run(command, cwd=copy, env=environment, check=False)
    combine = [
        sys.executable,
        "-m",
        "coverage",
        "combine",
        "-q",
        "--append",
        f"--data-file={folder}/coverage.db",
        str(data),
    ]
    subprocess.run(combine, cwd=copy, check=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Name the lines that a process runs after the test that runs in it (this module is a plugin of the measurement)."""
    measured = coverage.Coverage.current()
    if measured is not None:
        measured.switch_context(item.nodeid)
    return (yield)


class Stopwatch:
    """Add up the seconds of each test that passes."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seconds: Counter[str] = Counter()
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration
        if not report.passed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        before = json.loads(self._file.read_text()) if self._file.exists() else {}
        files = {name.partition("::")[0] for name in self._seconds}
        others = {name: time for name, time in before.items() if name.partition("::")[0] not in files}
        passed = {name: time for name, time in self._seconds.items() if name not in self._failed}
        self._file.write_text(json.dumps(others | passed))


def pytest_configure(config: pytest.Config) -> None:
    """Start the stopwatch in the process that hears of every test."""
    if "MUTANTS_SECONDS" in os.environ:
        config.pluginmanager.register(Stopwatch(Path(os.environ["MUTANTS_SECONDS"])))


def _environment(copy: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return ours | {"PYTHONPATH": os.pathsep.join(str(copy / room) for room in ROOMS)}


def find_failure(mutant: Mutant, tests: Sequence[str], copy: Path, timeout_s: float) -> str | None:
    """Run tests over a copy of the tree that has the mutant; return the first that fails, or None when none does."""
    target = copy / mutant.file
    before, then = target.read_text(encoding="utf-8"), target.stat()
    target.write_text(mutant.apply(before), encoding="utf-8")
    # Byte code is told apart by size and second of the source: no two mutants of a file share a second.
    moment = then.st_mtime + 1 + zlib.crc32(mutant.name.encode()) % 10**8
    os.utime(target, (moment, moment))
    command = [
        sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=no", "-rfE", *tests,
    ]  # fmt: skip
    process = subprocess.Popen(
        command, cwd=copy, env=_environment(copy), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return "timeout"
    finally:
        target.write_text(before, encoding="utf-8")
        os.utime(target, (then.st_atime, then.st_mtime))
    if process.returncode == 0:
        return None
    if "ERROR: not found" in said or process.returncode == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise RuntimeError(said)
    failed = [line for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return failed[0].split(" ", 1)[1].partition(" - ")[0] if failed else f"pytest ended with {process.returncode}"


def copy_of_tree(number: int) -> Path:
    return KEPT / f"copy-{number}"


def copy_tree(number: int) -> Path:
    """Copy the tree to where the tests run, so that nobody who works in it meets a mutant."""
    target = copy_of_tree(number)
    shutil.rmtree(target, ignore_errors=True)
    ignored = shutil.ignore_patterns(".git", ".venv", "venv*", ".mutants", ".hypothesis", ".*_cache")
    return Path(shutil.copytree(ROOT, target, ignore=ignored, symlinks=True))


def find_survivors(mutants: Sequence[Mutant], reach: Reach, jobs: int) -> list[Mutant]:
    """Run the tests of each mutant; print each fate, and return those that no test noticed."""
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(jobs):
        copies.put(copy_tree(number))

    def fate(mutant: Mutant) -> str | None:
        tests, seconds = reach.chosen(mutant)
        copy = copies.get()
        try:
            killer = find_failure(mutant, tests, copy, 90 + 3 * seconds) if tests else None
        finally:
            copies.put(copy)
        what = f"killed by {killer}" if killer else f"SURVIVED {len(tests)} tests"
        print(f"{mutant.name}\n    {what}", flush=True)
        return killer

    with ThreadPoolExecutor(jobs) as pool:
        return [mutant for mutant, killer in zip(mutants, pool.map(fate, mutants), strict=True) if killer is None]


def format_result(counted: Sequence[Mutant], survivors: Sequence[Mutant]) -> str:
    """Format what was killed, by folder and in all."""
    drawn = Counter(str(Path(mutant.file).parent) for mutant in counted)
    alive = Counter(str(Path(mutant.file).parent) for mutant in survivors)
    lines = [f"{count - alive[folder]:4} of {count:4}  {folder}" for folder, count in sorted(drawn.items())]
    killed = len(counted) - len(survivors)
    return "\n".join([*lines, f"{killed} of {len(counted)} killed ({killed / max(len(counted), 1):.0%})"])


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", default=["tests"], help="files and folders of tests to choose from")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--within", default="", help="draw only from files whose path holds this text")
    parser.add_argument("--list", action="store_true", help="print the mutants, and run nothing")
    options = parser.parse_args(words)
    drawn = draw(options.count, options.seed, options.within)
    if options.list:
        print("\n".join(mutant.name for mutant in drawn))
        return 0
    began = time.monotonic()
    reach = measure(options.tests, options.jobs)
    print(f"measured in {time.monotonic() - began:.0f} s", flush=True)
    counted = to_counted(drawn)
    survivors = find_survivors(counted, reach, options.jobs)
    print(format_result(counted, survivors))
    print(f"in {(time.monotonic() - began) / 60:.0f} min")
    return 0 if len(survivors) <= MOST_SURVIVORS * len(counted) else 1


def to_counted(drawn: Iterable[Mutant]) -> list[Mutant]:
    """Leave out the mutants that nobody could notice."""
    return [mutant for mutant in drawn if mutant.key not in EQUIVALENT]


if __name__ == "__main__":
    sys.exit(main())
