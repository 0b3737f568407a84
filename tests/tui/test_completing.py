"""What is offered at the cursor of a search line."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hermes_memory_tui.text.query_completion import complete_query, fixed_filter_values

SCOPES = ["launch", "Release 2", 'odd "quotes"', "a,b"]


def known(name: str, begun: str) -> Sequence[str]:
    """A small memory."""
    return SCOPES if name == "scope" else fixed_filter_values(name)


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("ty", ["type:"]),
        ("words t", ["type:", "tier:", "target:"]),
        ("type:v", ["value"]),
        ("type:decision,c", ["constraint", "decision"]),
        ("tier:a", ["archived", "all", "quarantined"]),
        ("scope:l", ["launch", '"Release 2"']),
        ('scope:"rel', ['"Release 2"']),
        ("scope:launch,rel", ['"Release 2"']),
        ("scope:a", ['"a,b"', "launch", '"Release 2"']),
        ("SCOPE:LAU", ["launch"]),
        ("-ty", []),
        ("zzz", []),
        ('"a phrase type:', []),
    ],
)
def test_what_is_offered(line: str, texts: list[str]) -> None:
    assert list(complete_query(line, len(line), known).texts) == texts


def test_only_what_stands_before_the_cursor_counts() -> None:
    offer = complete_query("x type:va later", len("x type:va"), known)
    assert (offer.start, offer.texts) == (len("x type:"), ("value",))
