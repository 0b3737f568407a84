"""Run tests of a memory on a store: nothing is written, no connection is opened, and no model is loaded here."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from hermes_memory_store.clock import parse_moment
from hermes_memory_store.context.given import Given, MakeNearest, StartSituation
from hermes_memory_store.errors import FileError, StoreError
from hermes_memory_store.items.project_rows import project_key
from hermes_memory_store.memory_tests.memory_case import CaseStart, Expectation, ExpectedBy, MemoryCase
from hermes_memory_store.model import LIVE_TIERS, Fact, Tier
from hermes_memory_store.projects.place_themes import find_project_themes
from hermes_memory_store.store import Store
from hermes_memory_themes.theme_identity import DEFAULT

MOST_EXPLAINED = 20
"""Facts that are looked at to say why none of them was given."""

FACTS_OF_TARGET = "SELECT id FROM facts WHERE target = ? ORDER BY id DESC LIMIT ?"

FACTS_OF_WORDS = """
    SELECT id FROM facts WHERE instr(lower(type || '[' || target || ']: ' || content), lower(?)) ORDER BY id DESC LIMIT ?
"""

FACTS_OF_UID_PART = """
    SELECT id FROM facts WHERE hex(uid) LIKE ?1 || '%' OR hex(uid) LIKE '%' || ?1 ORDER BY id DESC LIMIT ?2
"""


class CaseStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    """It could not be asked: its scope, project or theme is gone, or the question cannot be understood."""


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    case: MemoryCase
    status: CaseStatus
    budget: int = 0
    given: Given | None = None
    """What was given; None for an error."""
    failures: tuple[str, ...] = ()
    """Why it did not pass, a sentence each."""
    seconds: float = 0.0

    def find_rank(self, expectation: Expectation) -> int | None:
        """Return the place of the first item that meets an expectation, from 1, what was left out behind what was given."""
        if self.given is None:
            return None
        items = (*self.given.items, *self.given.left_out)
        return next((place for place, item in enumerate(items, 1) if expectation.is_met_by(item)), None)


class CaseRunner:
    def __init__(self, store: Store, theme: str = DEFAULT, make_nearest: MakeNearest | None = None) -> None:
        """Prepare to run tests.

        :param theme: of the tests that name neither a theme nor a project
        :param make_nearest: finds by meaning; None for words alone
        """
        self._store = store
        self._theme = theme
        self._make_nearest = make_nearest
        self._themes: dict[str, list[str]] = {}

    def run_all(self, cases: Iterable[MemoryCase]) -> list[CaseOutcome]:
        cases = list(cases)
        if self._make_nearest is not None:
            self._make_nearest.prepare([case.ask for case in cases if case.ask is not None])
        return [self.run(case) for case in cases]

    def run(self, case: MemoryCase) -> CaseOutcome:
        """Run one test. What is wrong with it alone is its outcome, not an exception; a damaged store is one."""
        start = time.perf_counter()
        try:
            theme = self.theme_of(case)
            budget = case.tokens or self._store.policies.for_theme(theme).injection_tokens
            answer = self._give(case, theme, budget)
        except FileError:
            raise
        except StoreError as error:
            seconds = time.perf_counter() - start
            return CaseOutcome(case, CaseStatus.ERROR, failures=(error.message,), seconds=seconds)
        seconds = time.perf_counter() - start
        failures = tuple(self._find_failures(case, answer, budget))
        status = CaseStatus.FAILED if failures else CaseStatus.PASSED
        return CaseOutcome(case, status, budget, answer, failures, seconds)

    def theme_of(self, case: MemoryCase) -> str:
        """Return the theme that a test asks: its own, that of its project, or that of the run.

        :raises StoreError: the theme or project is gone
        """
        if case.theme is not None:
            theme = self._store.names.find_theme_name(case.theme)
            self._store.names.theme(theme)
            return theme
        if case.start is not None and case.start.project is not None:
            name = self._store.projects.get(case.start.project).name
            if not self._store.place_themes.is_by_project:
                return DEFAULT
            with self._store.db.snapshot() as conn:
                themes = find_project_themes(conn, project_key(conn, name))
            return themes[0] if themes else self._theme
        return self._theme

    def _give(self, case: MemoryCase, theme: str, budget: int) -> Given:
        if theme not in self._themes:
            self._themes[theme] = [place.name for place in self._store.place_themes.readable(theme)]
        themes = self._themes[theme]
        if case.start is not None:
            return self._store.session_start.give(self._to_situation(case.start, theme), budget)
        assert case.ask is not None
        if self._make_nearest is None:
            return self._store.recall.give(themes, case.ask, budget, explains=True)
        nearest, ranked_by = self._make_nearest(case.ask), self._make_nearest.ranked_by
        return self._store.recall.give(themes, case.ask, budget, nearest=nearest, ranked_by=ranked_by, explains=True)

    def _to_situation(self, start: CaseStart, theme: str) -> StartSituation:
        if start.scope is not None:
            self._store.names.scope(theme, start.scope)
        if start.project is not None:
            self._store.projects.get(start.project)
        at = None if start.at is None else parse_moment(start.at, self._store.clock())
        return StartSituation(theme, start.folder, start.branch, start.scope, at=at)

    def _find_failures(self, case: MemoryCase, answer: Given, budget: int) -> Iterable[str]:
        for expectation in case.given:
            if not any(map(expectation.is_met_by, answer.items)):
                yield f"not given: {expectation.text} ({self._explain_missing(expectation, answer, budget, case)})"
        for unwanted in case.never:
            item = next(filter(unwanted.is_met_by, answer.items), None)
            if item is not None:
                yield f"given, and must never be: {unwanted.text} ({item.line})"
        if answer.tokens > budget:
            yield f"{answer.tokens} tokens were given, {answer.tokens - budget} more than the budget of {budget}"

    def _explain_missing(self, expectation: Expectation, answer: Given, budget: int, case: MemoryCase) -> str:
        for place, item in enumerate(answer.left_out, len(answer.items) + 1):
            if expectation.is_met_by(item):
                return f"ranked {place}, left out: it takes {item.tokens} tokens, {answer.tokens} of {budget} are taken"
        facts = self.find_facts(expectation)
        live = next((fact for fact in facts if fact.tier in LIVE_TIERS), None)
        if live is not None:
            if case.start is not None and live.tier is not Tier.HOT:
                return f"it is {live.tier}: pin or warm it if sessions must start with it"
            return f"it stands in the memory, theme {live.theme}, but no word or rule brings it here"
        if facts:
            return f"it is {facts[0].standing}"
        return "nothing in the memory matches it"

    def find_facts(self, expectation: Expectation) -> list[Fact]:
        """Return the facts that an expectation names, wherever they stand, the newest first, at most `MOST_EXPLAINED`."""
        sql, named = FACTS_OF_TARGET, expectation.target
        if expectation.by is ExpectedBy.UID:
            sql, named = FACTS_OF_UID_PART, expectation.content.upper()
        elif expectation.by is ExpectedBy.WORDS:
            sql, named = FACTS_OF_WORDS, expectation.text.strip()
        keys = [key for (key,) in self._store.db.rows(sql, (named, MOST_EXPLAINED))]
        return [fact for fact in self._store.facts.by_ids(keys) if expectation.is_about(fact)]
