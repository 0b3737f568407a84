"""Whether a question asks when."""

from __future__ import annotations

import pytest

from hermes_memory_store.language.asked_times import is_asking_when


@pytest.mark.parametrize(
    ("question", "is_when"),
    [
        ("When did we deploy?", True),
        ("In which month did Ann move?", True),
        ("Quand a-t-elle déménagé ?", True),
        ("In welchem Monat?", True),
        ("¿Cuándo se mudó?", True),
        ("Which database do we use?", False),
        ("Whenever it rains, what fails?", False),
    ],
)
def test_a_question_asks_when(question: str, is_when: bool) -> None:
    assert is_asking_when(question) is is_when
