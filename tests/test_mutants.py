"""`python -m tests.tools.mutants`: what it draws, what kills a mutant, and what is counted."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tools import mutants

RULE = '''"""A rule."""


def is_full(used: int, budget: int) -> bool:
    """Check whether a memory is full."""
    return used >= budget


def describe(used: int) -> str:
    message = f"{used} of {used + 1} used"
    return message
'''


@pytest.fixture
def rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of one rule with one test."""
    package = tmp_path / "store" / "hermes_memory_store"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "rule.py").write_text(RULE, encoding="utf-8")
    (tmp_path / "tests" / "tools").mkdir(parents=True)
    (tmp_path / "tests" / "__init__.py").touch()
    (tmp_path / "tests" / "tools" / "__init__.py").touch()
    (tmp_path / "tests" / "test_rule.py").write_text(
        "from hermes_memory_store.rule import describe, is_full\n\n\n"
        "def test_a_memory_at_its_budget_is_full():\n    assert is_full(5, 5)\n    assert not is_full(4, 5)\n\n\n"
        "def test_it_is_described():\n    describe(3)\n",
        encoding="utf-8",
    )
    shutil.copy(mutants.__file__, tmp_path / "tests" / "tools" / "mutants.py")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "KEPT", tmp_path / ".mutants")
    monkeypatch.setattr(mutants, "RULES", ("store/hermes_memory_store/rule.py",))
    return package / "rule.py"


def changes(found: list[mutants.Mutant]) -> list[str]:
    return [f"{mutant.before} -> {mutant.after}" for mutant in found]


def test_the_same_seed_draws_the_same_mutants_and_another_seed_others() -> None:
    drawn = mutants.draw(50, 11)

    assert len(drawn) == 50
    assert mutants.draw(50, 11) == drawn
    assert mutants.draw(50, 12) != drawn
    assert mutants.draw(20, 11) == drawn[:20]
    assert len({(mutant.file, mutant.line) for mutant in drawn}) == 50, "one mutant a line"


def test_every_place_of_the_rules_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert mutants.rule_files()
    monkeypatch.setattr(mutants, "RULES", ("store/gone",))
    with pytest.raises(FileNotFoundError):
        mutants.rule_files()


def test_a_mutant_changes_one_place_and_leaves_the_text_of_messages_alone(rule: Path) -> None:
    found = list(mutants.mutants_of(rule))

    assert changes(found) == [
        "return used >= budget -> return None",
        "used >= budget -> (used > budget)",
        "return message -> return None",
    ]
    assert found[1].apply(RULE) == RULE.replace("used >= budget", "(used > budget)")


def test_a_broken_rule_is_noticed_by_its_test_and_a_survivor_by_none(
    rule: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert mutants.main(["tests", "--jobs", "1"]) == 1

    said = capfd.readouterr().out
    assert "killed by tests/test_rule.py::test_a_memory_at_its_budget_is_full" in said
    assert "rule.py:11: return message -> return None\n    SURVIVED 1 tests" in said
    assert "1 of 2 killed (50%)" in said
    assert rule.read_text(encoding="utf-8") == RULE
    assert mutants.main(["tests", "--jobs", "1", "--count", "0"]) == 0, "what was measured is not measured again"
    assert "passed" not in capfd.readouterr().out


def test_an_equivalent_mutant_counts_on_neither_side(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = mutants.draw(10, 11)
    moved = replace(drawn[0], line=drawn[0].line + 100)
    monkeypatch.setattr(mutants, "EQUIVALENT", {drawn[0].key: "nobody can see it"})

    assert mutants.to_counted([moved, *drawn]) == drawn[1:], "wherever its line has moved"
    assert mutants.format_result(drawn[1:], drawn[1:4]).endswith("6 of 9 killed (67%)")


def test_there_are_few_equivalents_each_with_a_reason_and_still_in_the_tree() -> None:
    assert len(mutants.EQUIVALENT) <= 10
    assert all(mutants.EQUIVALENT.values())
    keys = {mutant.key for file in mutants.rule_files() for mutant in mutants.mutants_of(file)}
    assert mutants.EQUIVALENT.keys() <= keys
