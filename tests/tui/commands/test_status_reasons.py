"""`status --why`: fact by fact, why a session that starts in the working folder is given it or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.context.fence import MARK
from hermes_memory_store.notation.token_count import count_tokens, estimate_from_pieces
from tests.tui.commands.conftest import Ask, Tell


def test_what_is_given_depends_on_the_working_folder_and_says_why(
    ask: Ask, tell: Tell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_MEMORY_THEME", "ops")
    for scope in ("billing", "mobile"):
        for number in range(12):
            ask("write", f"D[{scope}.part{number}]: the decision about part number {number} of it", "--scope", scope)
    folder = home / "services" / "billing"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    told = tell("status", "--why")
    given = [one for one in told["why"] if one["given"]]
    assert [one["uid"] for one in given] == told["told"]
    assert {one["notation"][2:9] for one in given} == {"billing"}
    assert all(one["parts"]["scope"] > 1 for one in given)
    assert sum(one["tokens"] for one in given) == told["fact_tokens"] <= 180
    assert "left out: D[billing.part" in ask("status", "--why").out
    assert "of a scope near where the session works" in ask("status", "--why").out
    assert "why" not in tell("status")
    monkeypatch.chdir(home)
    assert "mobile" in tell("status", "--why")["why"][0]["notation"]


def test_tokens_are_estimated_unless_they_are_to_be_counted(tell: Tell) -> None:
    content = "invoices are rounded half up to two decimals, and never before the tax is added"
    for number in range(3):
        tell("write", f"D[billing.part{number}]: {content}, part {number}")

    estimate, count = tell("status", "--why"), tell("status", "--why", "--exact")

    lines = [f"\n{MARK}D[billing.part{number}]: {content}, part {number}" for number in range(3)]
    assert estimate.keys() == count.keys()
    assert estimate["fact_tokens"] == sum(map(estimate_from_pieces, lines))
    assert count["fact_tokens"] == sum(map(count_tokens, lines))
    assert all(shown["fact_tokens"] == sum(one["tokens"] for one in shown["why"]) for shown in (estimate, count))
