"""`recall ask` and `recall curve`."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.memory_tests.evidence_curve import CurvePoint, RecallCurve
from hermes_memory_store.model import FactType, Notation
from hermes_memory_store.store import Store
from tests.tui.commands.conftest import Ask, Tell


def test_a_question_shows_what_an_agent_is_given_and_why(db: Path, ask: Ask, tell: Tell) -> None:
    with Store.open(db) as store:
        store.facts.write("default", Notation(FactType.DECISION, "db.engine", "PostgreSQL 16"))
        store.facts.write("default", Notation(FactType.VALUE, "db.port", "5432"))
        store.turns.add("default", "user", "The engine room is in Frankfurt.")
    said = ask("recall", "ask", "--why", "which", "engine", "--theme", "default")
    assert said.code == 0, said.err
    assert "D[db.engine]: PostgreSQL 16" in said.out
    assert "words" in said.out
    document = tell("recall", "ask", "which engine", "--tokens", "180")
    assert document["tokens"] <= document["budget"] == 180
    assert {one["kind"] for one in document["items"]} == {"fact", "turn"}
    assert document["ranked_by"] == "words only"
    assert ask("recall", "ask", "zebra").err.startswith("nothing answers that")


def test_ones_own_tests_are_a_curve_too(db: Path, home: Path, ask: Ask, tell: Tell) -> None:
    with Store.open(db) as store:
        for number in range(20):
            store.facts.write(
                "default", Notation(FactType.VALUE, f"port.{number}", f"the service listens on port {8000 + number}")
            )
    path = home / "memory-tests.toml"
    wanted = ", ".join(f'"V[port.{number}]"' for number in range(20))
    path.write_text(
        f'[[test]]\nname = "ports"\nask = "on which port does a service listen"\ngiven = [{wanted}]\n', encoding="utf-8"
    )
    document = tell("recall", "curve", str(path), "--words", "--budget", "90", "--budget", "2048")
    small, large = document["points"]
    assert 0 < small["share"] < large["share"] == 1.0
    assert document["questions"] == 1
    lines = ask("recall", "curve", str(path), "--words", "--budget", "2048").out.splitlines()
    assert [line.split()[0] for line in lines] == ["tokens", "2,048", "area"]
    assert "100.0%" in lines[1]


def test_the_area_is_one_where_everything_is_given() -> None:
    full = RecallCurve("all", tuple(CurvePoint(budget, 1.0, 10, 1, 2) for budget in (90, 180, 500)), 3)
    half = RecallCurve("half", (CurvePoint(90, 0.0, 10, 1, 2), CurvePoint(180, 1.0, 10, 1, 2)), 3)
    assert full.area == pytest.approx(1.0)
    assert half.area == pytest.approx(0.5)
