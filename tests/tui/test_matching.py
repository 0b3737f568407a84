"""What stands out in a text is what the search looked for."""

from __future__ import annotations

import pytest

from hermes_memory_tui.text.highlight import SearchHighlighter, highlight_text


@pytest.mark.parametrize(
    ("line", "text", "found"),
    [
        ("deploy", "Deployed before the deployment", ["Deployed", "deployment"]),
        ("deplo", "the deployment", ["deployment"]),
        ("DEPLOIEMENT", "le Déploiement d'été", ["Déploiement"]),
        ("été", "d'ete l'Été", ["ete", "Été"]),
        ("auth", "authentication by passkey", ["authentication"]),
        ('"blue green"', "a blue green and a blue one", ["blue green"]),
        ("blue type:value -green", "blue green", ["blue"]),
        ("時間", "取引時間は九時", ["時間"]),
        ("redis", "no such word", []),
        ("type:value", "value", []),
        ("type:nonsense word", "word", []),
        ("[bold]", "[bold]x[/bold]", ["bold", "bold"]),
        ("", "x", []),
    ],
)
def test_words_stand_out(line: str, text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in SearchHighlighter(line).match_spans(text)] == found


def test_no_text_is_markup() -> None:
    content = highlight_text("[red]x[/red] \\[", SearchHighlighter("x"))
    assert content.plain == "[red]x[/red] \\["
    assert [(span.start, span.end) for span in content.spans if "underline" in str(span.style)] == [(5, 6)]


def test_a_long_text_costs_little() -> None:
    assert len(SearchHighlighter("k b c").match_spans("k " * 100_000)) == 1_000
