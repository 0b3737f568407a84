"""What changed for tests of a memory between two sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.memory_tests.case_file import parse_cases
from hermes_memory_store.memory_tests.case_run import CaseRunner
from hermes_memory_store.model import Millis
from hermes_memory_store.store import Store
from tests.tools.case_comparison import compare_outcomes, open_past_memory, print_case_changes


def test_what_changed_since_a_moment_is_said_test_by_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = parse_cases("[[test]]\nname = 'sign in'\nask = 'which auth method'\ngiven = ['D[auth.method]: cookies']")
    now = [Millis(1_790_000_000_000)]
    with Store.open(tmp_path / "memory.db", clock=lambda: now[0]) as store:
        store.facts.write("default", "D[auth.method]: cookies")
        moment = now[0]
        now[0] = Millis(moment + 1_000)
        store.facts.write("default", "D[auth.method]: SAML")
        with open_past_memory(store, moment) as past:
            changes = compare_outcomes(CaseRunner(past).run_all(cases), CaseRunner(store).run_all(cases))
    print_case_changes(changes, "then")
    assert capsys.readouterr().out.splitlines()[1:] == [
        "against then: 1 tests changed",
        "  sign in: passed → failed",
        "      D[auth.method]: cookies: place 1 → not ranked",
        "    + D[auth.method]: SAML",
        "    - D[auth.method]: cookies",
    ]
