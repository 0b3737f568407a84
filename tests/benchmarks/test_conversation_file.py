"""Files of conversations, and the curve of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.memory_tests.evidence_curve import AnswerShares
from tests.benchmarks.conversation_file import read_conversations
from tests.benchmarks.recall_curve import draw_curves, measure_file

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
        {
            "question": "Where does Ann's sister keep bees?",
            "evidence": ["D1:1"],
            "category": 1,
            "answer": "on the roof",
        },
        {"question": "What did Bob buy?", "evidence": ["D1:2"], "category": 1, "answer": "a red bicycle"},
        {"question": "What did nobody say?", "evidence": ["D1:3"], "category": 5},
    ],
}


def write_talk(folder: Path, talk: object) -> Path:
    path = folder / "talk.json"
    path.write_text(json.dumps(talk), encoding="utf-8")
    return path


def test_a_curve_counts_what_is_given_of_the_evidence(tmp_path: Path) -> None:
    path = write_talk(tmp_path, [TALK])
    curve = measure_file(path, [60, 180], "both", near_links=False, by_words=True)
    assert curve.cases == 2
    assert [point.budget for point in curve.points] == [60, 180]
    assert curve.points[1].shares == AnswerShares(1.0, 1.0, 1.0, 1.0)
    assert all(point.spent <= point.budget for point in curve.points)
    facts = measure_file(path, [180], "facts", near_links=True, by_words=True)
    assert facts.points[0].shares == AnswerShares(0.5, 0.5, 0.5, 0.5)
    assert draw_curves([curve, facts]).count("<polyline") == 2


@pytest.mark.parametrize(
    ("talk", "problem"),
    [
        ([], "no list of conversations"),
        ([{}], "sample 1 has no 'conversation'"),
        ([{"conversation": {"session_1": [], "session_1_date_time": "yesterday"}}], "sample 1 is not as expected"),
        ([TALK, {"conversation": {}}], "sample 2 has no 'qa'"),
    ],
)
def test_a_file_that_is_no_conversation_is_named_with_its_sample(tmp_path: Path, talk: object, problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        read_conversations(write_talk(tmp_path, talk))


def test_a_file_that_is_no_json_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_bytes(b"\xff\x00")
    with pytest.raises(ArgumentError, match="is not JSON"):
        read_conversations(tmp_path / "talk.json")
