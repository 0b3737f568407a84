"""A plugin of pytest that runs the tests of a memory: `pytest -p hermes_memory_tui.pytest_plugin memory-tests.toml`.

It is used only where it is named: nothing registers it. Each test of a file is an item, found by `-k` and `::name`, reported with
its line, and written to JUnit's XML by pytest itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hermes_memory_store.errors import CaseFileError, StoreError
from hermes_memory_store.memory_tests.case_file import FILE_NAME, read_case_file
from hermes_memory_store.memory_tests.case_run import CaseOutcome, CaseRunner, CaseStatus
from hermes_memory_store.memory_tests.memory_case import MemoryCase
from hermes_memory_tui.cli.common_options import CommandSettings
from hermes_memory_tui.cli.local_meaning import find_by_meaning
from hermes_memory_tui.cli.recall.memory_test_command import open_tested_store


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that say which memory is tested."""
    group = parser.getgroup("memory", "tests of a memory")
    group.addoption(
        "--memory-db", metavar="FILE", help="the store that is tested [$HERMES_MEMORY_DB, ~/.hermes/memory.db]"
    )
    group.addoption(
        "--memory-export", metavar="FILE", help="test an export (JSONL or MEMORY_SPEC lines) instead of a store"
    )
    group.addoption("--memory-theme", metavar="NAME", help="the theme of tests that name none")
    group.addoption(
        "--memory-words", action="store_true", help="rank by words alone, without the model on this machine"
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect files that are called `memory-tests.toml`, or end so: `shop.memory-tests.toml`."""
    if not file_path.name.endswith(FILE_NAME):
        return None
    return MemoryCaseFile.from_parent(parent, path=file_path)


class MemoryCaseFile(pytest.File):
    """A file of tests, and the memory they run on."""

    runner: CaseRunner
    _opened: ExitStack

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the tests. :raises CollectError: the file has mistakes; names their lines"""
        try:
            cases = read_case_file(self.path).cases
        except CaseFileError as error:
            raise self.CollectError(error.message) from None
        for case in cases:
            yield MemoryCaseItem.from_parent(self, name=case.name, case=case)

    def setup(self) -> None:
        """Open the memory, once for the tests of a file."""
        options = self.config.option
        export = None if options.memory_export is None else Path(options.memory_export)
        settings = CommandSettings(db=options.memory_db, theme=options.memory_theme, as_json=True)
        with ExitStack() as opening:
            try:
                store, theme = opening.enter_context(open_tested_store(settings, export))
            except StoreError as error:
                raise MemoryCaseFailed(error.message) from None
            near = opening.enter_context(find_by_meaning(store, by_words=options.memory_words))
            self.runner = CaseRunner(store, theme, near)
            self._opened = opening.pop_all()
        self.addfinalizer(self._opened.close)


class MemoryCaseFailed(Exception):
    """A test that does not pass, in words for a person."""


class MemoryCaseItem(pytest.Item):
    parent: MemoryCaseFile

    def __init__(self, *, case: MemoryCase, **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]  # what `from_parent` hands on
        self.case = case

    def runtest(self) -> None:
        """Run it. :raises MemoryCaseFailed: says what was not given, or given and must never be"""
        outcome = self.parent.runner.run(self.case)
        if outcome.status is not CaseStatus.PASSED:
            raise MemoryCaseFailed(format_failure(outcome))
        if outcome.given is not None:
            self.user_properties.append(("tokens", outcome.given.tokens))

    def repr_failure(  # type: ignore[override]  # pytest takes a text as well
        self, excinfo: pytest.ExceptionInfo[BaseException], style: str | None = None
    ) -> object:
        """Return the failure without a traceback, which would say nothing about a memory."""
        if isinstance(excinfo.value, MemoryCaseFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the test stands; pytest counts lines from 0."""
        return self.path, self.case.line - 1, self.case.name


def format_failure(outcome: CaseOutcome) -> str:
    """Return why a test did not pass, and what was given instead."""
    lines = list(outcome.failures)
    if outcome.given is not None:
        lines.append(f"given, {outcome.given.tokens} of {outcome.budget} tokens, by {outcome.given.ranked_by}:")
        lines += [f"  {item.line}" for item in outcome.given.items] or ["  nothing"]
    return "\n".join(lines)
