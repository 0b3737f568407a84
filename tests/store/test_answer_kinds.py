"""What kind of thing a question asks for."""

from __future__ import annotations

import pytest

from hermes_memory_store.language.answer_kinds import find_answer_tests


@pytest.mark.parametrize(
    ("question", "text", "kinds"),
    [
        ("How many hives does Ann keep?", "Ann keeps four hives", {"amount"}),
        ("How long is the lease?", "the lease runs for 90 days", {"amount"}),
        ("Combien de ruches a-t-elle ?", "elle a quatre ruches", {"amount"}),
        ("Wie viele Stöcke hat sie?", "sie hat vier Stöcke", {"amount"}),
        ("¿Cuántas colmenas tiene?", "tiene cuatro colmenas", {"amount"}),
        ("Who reviewed the plan?", "the plan was read by Bob", {"person"}),
        ("Who came with Ann?", "Ann came with her sister", {"person"}),
        ("Wer hat den Plan gelesen?", "gelesen von Bob", {"person"}),
        ("Where is the server?", "it stands in Frankfurt", {"place"}),
        ("Où est le serveur ?", "il est à Francfort", {"place"}),
        ("¿Dónde está el servidor?", "está en Madrid", {"place"}),
        ("Which database do we use?", "PostgreSQL", set()),
    ],
)
def test_what_is_asked_for_is_found(question: str, text: str, kinds: set[str]) -> None:
    tests = dict(find_answer_tests(question))
    assert set(tests) == kinds
    assert all(has_answer(text) for has_answer in tests.values())


def test_a_text_without_it_has_none() -> None:
    assert not dict(find_answer_tests("How many hives?"))["amount"]("Ann keeps hives")
    assert not dict(find_answer_tests("Who saw Ann?"))["person"]("Ann was seen")
    assert not dict(find_answer_tests("Where is it?"))["place"]("it stands upright")
