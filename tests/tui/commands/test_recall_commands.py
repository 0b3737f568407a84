"""`recall ask` and `recall curve`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_memory_store.model import FactType, Notation
from hermes_memory_store.recall_curve.evidence_curve import CurvePoint, RecallCurve
from hermes_memory_store.store import Store
from hermes_memory_tui.text.curve_plot import draw_curves, format_curve_lines
from tests.tui.commands.conftest import Ask, Tell

TALK = {
    "sample_id": "talk",
    "conversation": {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "My sister keeps bees on the roof of the library."},
            {"speaker": "Bob", "dia_id": "D1:2", "text": "I bought a red bicycle for the way to work."},
            {"speaker": "Ann", "dia_id": "D1:3", "text": "Nice weather today."},
        ],
    },
    "observation": {"session_1_observation": {"Bob": [["Bob bought a red bicycle.", "D1:2"]]}},
    "qa": [
        {"question": "Where does Ann's sister keep bees?", "evidence": ["D1:1"], "category": 1},
        {"question": "What did Bob buy?", "evidence": ["D1:2"], "category": 1},
        {"question": "What did nobody say?", "evidence": ["D1:3"], "category": 5},
    ],
}


def write_talk(folder: Path, talk: object) -> Path:
    path = folder / "talk.json"
    path.write_text(json.dumps(talk), encoding="utf-8")
    return path


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


def test_a_curve_counts_what_is_given_of_the_evidence(home: Path, ask: Ask, tell: Tell) -> None:
    path = write_talk(home, [TALK])
    document = tell("recall", "curve", str(path), "--budget", "180", "--budget", "60")
    assert document["questions"] == 2
    assert [one["tokens"] for one in document["points"]] == [60, 180]
    assert document["points"][1]["share"] == 1.0
    assert all(one["spent"] <= one["tokens"] for one in document["points"])
    drawing = home / "curve.svg"
    assert "100.0%" in ask("recall", "curve", str(path), "--svg", str(drawing)).out
    assert drawing.read_text(encoding="utf-8").startswith("<svg")
    facts = tell("recall", "curve", str(path), "--kind", "facts", "--budget", "180")
    assert facts["points"][0]["share"] == 0.5


@pytest.mark.parametrize(
    ("talk", "named"),
    [
        ([], "no list of conversations"),
        ([{}], "sample 1 has no 'conversation'"),
        ([{"conversation": {"session_1": [], "session_1_date_time": "yesterday"}}], "sample 1 is not as expected"),
        ([TALK, {"conversation": {}}], "sample 2 has no 'qa'"),
    ],
)
def test_a_file_that_is_no_conversation_is_named_with_its_sample(
    home: Path, ask: Ask, talk: object, named: str
) -> None:
    said = ask("recall", "curve", str(write_talk(home, talk)))
    assert said.code == 1
    assert named in said.err


def test_a_file_that_is_no_json_is_an_error(home: Path, ask: Ask) -> None:
    (home / "talk.json").write_bytes(b"\xff\x00")
    said = ask("recall", "curve", str(home / "talk.json"))
    assert said.code == 1
    assert "is not JSON" in said.err


def test_ones_own_tests_are_a_curve_too(db: Path, home: Path, tell: Tell) -> None:
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


def test_the_area_is_one_where_everything_is_given() -> None:
    full = RecallCurve("all", tuple(CurvePoint(budget, 1.0, 10, 1, 2) for budget in (90, 180, 500)), 3)
    half = RecallCurve("half", (CurvePoint(90, 0.0, 10, 1, 2), CurvePoint(180, 1.0, 10, 1, 2)), 3)
    assert full.area == pytest.approx(1.0)
    assert half.area == pytest.approx(0.5)
    assert len(format_curve_lines(full)) == 5
    assert draw_curves([full, half]).count("<polyline") == 2
